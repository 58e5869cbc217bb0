/* See step_arguments.h. */
#include "engine/graph/step_arguments.h"

#include "engine/graph/class.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 100000 }; /* that are looked at, and the last one */

/* A value, or the result of an operation, in the step. */
typedef struct known {
    bool is; /* false: not by the step alone */
    double number;
} known;

typedef struct steps {
    const rlf_graph *graph;
    rlf_arena *arena;
    double step;
    known *values; /* of the graph, as far as `done` */
    bool *done;
} steps;

static known value_at(steps *f, int value);

/* Input i of the node's program. */
static known
input_at(steps *f, const rlf_node *node, int i)
{
    int input = node->loss ? node->loss->constant_input[i] : i;
    return input < 0 ? (known){0} : value_at(f, node->inputs[input]);
}

static known
op_at(steps *f, const rlf_node *node, const rlf_expr_op *op,
      const known *before)
{
    double arg[3] = {0};
    if (op->code == RLF_EXPR_INPUT)
        return input_at(f, node, op->index);
    if (op->text)
        return (known){0};
    if (op->code == RLF_EXPR_CONST)
        return (known){true, op->constant};
    if (!rlf_expr_is_pointwise(op->code))
        return (known){0};
    for (int i = 0; i < rlf_expr_arity(op->code); i++) {
        if (!before[op->arg[i]].is)
            return (known){0};
        arg[i] = before[op->arg[i]].number;
    }
    return (known){true, rlf_expr_apply(op->code, arg[0], arg[1], arg[2])};
}

/* The results of the operations of the node's program. */
static known *
run_program(steps *f, const rlf_node *node, const rlf_expr *p)
{
    known *results = RLF_NEW_ARRAY(f->arena, known, p->ops.count);
    for (size_t i = 0; i < p->ops.count; i++)
        results[i] = op_at(f, node, &p->ops.data[i], results);
    return results;
}

/* Computes all outputs of an expression node. */
static void
run_expr(steps *f, const rlf_node *node)
{
    const rlf_expr *p = node->expr;
    const known *results = run_program(f, node, p);
    for (int i = 0; i < node->n_outputs; i++) {
        f->values[node->outputs[i]] = results[p->outputs.data[i].op];
        f->done[node->outputs[i]] = true;
    }
}

/* Of the scalar domain; of others, what is there is more than one number. */
static known
value_at(steps *f, int value)
{
    const rlf_value *v = &f->graph->values.data[value];
    const rlf_node *node = v->node < 0 ? NULL : &f->graph->nodes.data[v->node];
    if (v->kind != RLF_VALUE_NUMBER || v->domain != 0 || !node)
        return (known){0};
    if (f->done[value])
        return f->values[value];
    if (node->class->is_step_number)
        f->values[value] = (known){true, f->step};
    else if (node->expr)
        run_expr(f, node);
    f->done[value] = true;
    return f->values[value];
}

static known
arg_at(steps *f, const rlf_arg *arg)
{
    return arg->kind == RLF_ARG_NUMBER  ? (known){true, arg->number}
           : arg->kind == RLF_ARG_VALUE ? value_at(f, arg->value)
                                        : (known){0};
}

/* Is the region carried out in the step? Not known: false in `is`. A loop has a
 * piece. */
static known
runs_at(steps *f, int region)
{
    int by = f->graph->regions.data[region].node;
    if (by < 0)
        return (known){true, 1};
    const rlf_node *node = &f->graph->nodes.data[by];
    const char *name =
        node->class->condition ? node->class->condition : node->class->period;
    known runs = runs_at(f, node->region), c;
    if (!name || !runs.is || runs.number == 0)
        return runs;
    c = arg_at(f, rlf_node_arg(node, name));
    bool first =
        node->class->condition ? c.number != 0 : fmod(f->step, c.number) == 0;
    c.number = first == (region == node->regions[0]);
    return c;
}

/* May this `break` leave what it stands in, for all that the step decides? */
static bool
may_leave(steps *f, const rlf_node *node)
{
    const char *name = node->class->condition;
    known runs = runs_at(f, node->region), c = {0};
    if (name)
        c = arg_at(f, rlf_node_arg(node, name));
    return (!runs.is || runs.number != 0) && (!c.is || c.number != 0);
}

/* Is there a `break` outside of loops, whatever it depends on? */
static bool
has_end(const rlf_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->class->control_flow == RLF_CONTROL_FLOW_LEAVE &&
            rlf_graph_once(graph, node->region))
            return true;
    }
    return false;
}

/* May a `break` outside of loops end the run with this step? */
static bool
may_end(steps *f)
{
    for (size_t i = 0; i < f->graph->nodes.count; i++) {
        const rlf_node *node = &f->graph->nodes.data[i];
        if (node->class->control_flow == RLF_CONTROL_FLOW_LEAVE &&
            rlf_graph_once(f->graph, node->region) && may_leave(f, node))
            return true;
    }
    return false;
}

static const rlf_node *
node_around(const rlf_graph *graph, const rlf_node *node)
{
    int by = graph->regions.data[node->region].node;
    return by < 0 ? NULL : &graph->nodes.data[by];
}

/* Does the node, or what it stands in, come after `first` in its region? */
static bool
comes_after(const rlf_graph *graph, const rlf_node *node, const rlf_node *first)
{
    const rlf_region *region = &graph->regions.data[first->region];
    while (node && node->region != first->region)
        node = node_around(graph, node);
    bool passed = false;
    for (int i = 0; node && i < region->n_nodes; i++) {
        if (region->nodes[i] == node->id)
            return passed;
        passed |= region->nodes[i] == first->id;
    }
    return false;
}

/* Does the node stand behind the `break` in the loop, or the flow, that this
 * leaves? */
static bool
is_behind(const rlf_graph *graph, const rlf_node *node, const rlf_node *leave)
{
    const rlf_node *at = leave;
    do {
        if (comes_after(graph, node, at))
            return true;
        at = node_around(graph, at);
    } while (at && at->class->control_flow == RLF_CONTROL_FLOW_CHOICE);
    return false;
}

/* May a `break` come before the node in the step? What is made ahead is begun
 * before the rest of a step. */
static bool
may_be_left_out(steps *f, const rlf_node *node)
{
    for (size_t i = 0; i < f->graph->nodes.count; i++) {
        const rlf_node *leave = &f->graph->nodes.data[i];
        if (leave->class->control_flow == RLF_CONTROL_FLOW_LEAVE &&
            leave->ahead == node->ahead && is_behind(f->graph, node, leave) &&
            may_leave(f, leave))
            return true;
    }
    return false;
}

/* An update that carries out no `minimize` makes no use of its arguments. */
static bool
may_be_idle(steps *f, const rlf_node *node)
{
    const rlf_loss *loss = node->loss;
    if (!loss || loss->taken < 0)
        return false;
    const known *results = run_program(f, node, loss->program);
    known taken = results[loss->program->outputs.data[loss->taken].op];
    return !taken.is || taken.number == 0;
}

/* Is it an argument that only a run has, and of which the step decides? */
static bool
is_decided(steps *f, const rlf_node *node, int i)
{
    return i < node->class->n_formals && node->args[i].kind == RLF_ARG_VALUE &&
           value_at(f, node->args[i].value).is;
}

static rlf_status
check_node(steps *f, const rlf_node *node, rlf_err *err)
{
    known runs = {0};
    char why[RLF_FORMAL_WHY + 40];
    for (int i = 0; i < node->n_args; i++) {
        const rlf_arg *arg = &node->args[i];
        if (!is_decided(f, node, i))
            continue;
        const rlf_formal *formal = rlf_node_formal(node, i);
        double number = value_at(f, arg->value).number;
        runs = runs_at(f, node->region);
        if (!runs.is || runs.number == 0)
            return RLF_OK;
        if (isnan(number))
            snprintf(why, sizeof why, "is not a number");
        else if (rlf_formal_takes(formal, number, why))
            continue;
        if (may_be_left_out(f, node) || may_be_idle(f, node))
            return RLF_OK;
        size_t used = strlen(why);
        snprintf(why + used, sizeof why - used, "; it is so in step %.0f",
                 f->step);
        rlf_node_refuse(node, i, why, err);
        if (err)
            err->hint[0] = 0;
        rlf_err_hint(err,
                     "keep it in its bounds, as by min and max, or end the run "
                     "before by --steps (%s)",
                     formal->doc);
        return RLF_USER;
    }
    return RLF_OK;
}

/* Nothing of which the step decides: then no step has to be looked at. */
static bool
has_any(steps *f)
{
    bool any = false;
    for (size_t i = 0; i < f->graph->nodes.count; i++) {
        const rlf_node *node = &f->graph->nodes.data[i];
        for (int k = 0; k < node->n_args; k++)
            any |= is_decided(f, node, k);
    }
    return any;
}

static void
begin(steps *f, uint64_t step)
{
    size_t n = f->graph->values.count;
    rlf_arena_reset(f->arena);
    f->step = (double)step;
    f->values = RLF_NEW_ARRAY(f->arena, known, n);
    f->done = RLF_NEW_ARRAY(f->arena, bool, n);
}

/* Looks at what a run makes ahead, for k steps behind its last one too. */
static rlf_status
look_ahead(steps *f, uint64_t last, rlf_err *err)
{
    for (uint64_t step = last + 1; step <= last + f->graph->ahead; step++) {
        begin(f, step);
        for (size_t i = 0; i < f->graph->nodes.count; i++)
            if (f->graph->nodes.data[i].ahead)
                RLF_TRY(check_node(f, &f->graph->nodes.data[i], err));
    }
    return RLF_OK;
}

static rlf_status
look(steps *f, uint64_t first, uint64_t last, rlf_err *err)
{
    begin(f, first);
    if (!has_any(f))
        return RLF_OK;
    for (uint64_t step = first; !last || step <= last; step++) {
        if (step - first >= MOST_STEPS && (!last || has_end(f->graph)))
            break;
        if (step - first >= MOST_STEPS)
            step = last;
        begin(f, step);
        for (size_t i = 0; i < f->graph->nodes.count; i++)
            RLF_TRY(check_node(f, &f->graph->nodes.data[i], err));
        if (step == last || may_end(f))
            return look_ahead(f, step, err);
    }
    return RLF_OK;
}

rlf_status
rlf_step_arguments_check(const rlf_graph *graph, uint64_t first, uint64_t last,
                         rlf_err *err)
{
    steps f = {.graph = graph, .arena = rlf_arena_new()};
    rlf_status status = look(&f, first, last, err);
    rlf_arena_free(f.arena);
    return status;
}

uint64_t
rlf_step_arguments_always(const rlf_graph *graph, const rlf_node *node,
                          const char *name, double value, uint64_t first,
                          uint64_t last)
{
    steps f = {.graph = graph, .arena = rlf_arena_new()};
    const rlf_arg *arg = rlf_node_arg(node, name);
    uint64_t count = 0;
    bool always = last >= first && last - first < MOST_STEPS;
    for (uint64_t step = first; always && step <= last; step++) {
        begin(&f, step);
        known runs = runs_at(&f, node->region), k = arg_at(&f, arg);
        if (runs.is && runs.number == 0)
            continue;
        always = k.is && k.number <= value && k.number >= value;
        count++;
    }
    rlf_arena_free(f.arena);
    return always ? count : 0;
}
