/* Answers from sizes: see answer.h. Bytes are as engine/sched/exchange.c packs
 * them. */
#include "engine/order/answer.h"

#include "engine/graph/class.h"

#include <math.h>
#include <string.h>

enum {
    UNKNOWN_ROWS = 16,        /* of each rank, where nothing says how many */
    MOST_ROWS = 1 << 20,      /* that are played */
    SAMPLE_BYTES = 4 + 1 + 8, /* of a sample: counts and whether it ended */
    TOKEN_BYTES = 4 + 8,      /* of its tokens: id and text */
    NUMBER_BYTES = 8,
    COUNT_BYTES = 4, /* of a row of tokens: how many */
};

/* ---- how many ---- */

uint64_t
rlf_answer_period(const rlf_node *node)
{
    if (!node->class->period)
        return 0;
    const rlf_arg *steps = rlf_node_arg(node, node->class->period);
    return steps->kind == RLF_ARG_NUMBER ? (uint64_t)steps->number : 0;
}

/* Steps that no run has. */
static const uint64_t never = UINT64_C(1) << 40;

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t
rlf_answer_interval(const rlf_graph *graph, const rlf_node *node)
{
    uint64_t interval = 1;
    for (;;) {
        uint64_t period = rlf_answer_period(node);
        if (period)
            interval *= period / common_divisor(interval, period);
        if (interval > never)
            return 0;
        int outer = graph->regions.data[node->region].node;
        if (outer < 0)
            return interval;
        node = &graph->nodes.data[outer];
    }
}

uint32_t
rlf_answer_count(const rlf_answers *a, double size)
{
    if (isfinite(size))
        return size < MOST_ROWS ? (uint32_t)size : MOST_ROWS;
    return UNKNOWN_ROWS * (uint32_t)a->plan->ranks;
}

/* Returns how often the body of the node runs for each time that the node
 * does. */
static uint32_t
answer_turns(const rlf_answers *a, const rlf_node *node)
{
    const rlf_region *body = &a->plan->graph->regions.data[node->regions[0]];
    if (!body->n_nodes)
        return 0;
    double n = a->sizes->runs[body->nodes[0]] / a->sizes->runs[node->id];
    return isfinite(n) && n < MOST_ROWS ? (uint32_t)(n + 0.5) : 1;
}

/* ---- late steps ---- */

static bool late_value(const rlf_graph *graph, int value, double *out);

/* The same of an operation of a node's program. */
static bool
late_op(const rlf_graph *graph, const rlf_node *node, int op, double *out)
{
    const rlf_expr_op *o = &node->expr->ops.data[op];
    double a = 0, b = 0;
    switch (o->code) {
    case RLF_EXPR_CONST:
        *out = o->constant;
        return !o->text;
    case RLF_EXPR_INPUT:
        return late_value(graph, node->inputs[o->index], out);
    case RLF_EXPR_LT:
    case RLF_EXPR_LE:
    case RLF_EXPR_EQ:
    case RLF_EXPR_NE:
    case RLF_EXPR_AND:
    case RLF_EXPR_OR:
    case RLF_EXPR_NOT:
        break;
    default:
        return false;
    }
    if (!late_op(graph, node, o->arg[0], &a) ||
        (o->arg[1] >= 0 && !late_op(graph, node, o->arg[1], &b)))
        return false;
    *out = rlf_expr_apply(o->code, a, b, 0);
    return true;
}

/* The value of a number in late steps, whose number is above all others.
 * False: nothing says. */
static bool
late_value(const rlf_graph *graph, int value, double *out)
{
    const rlf_value *v = &graph->values.data[value];
    const rlf_node *node = v->node < 0 ? NULL : &graph->nodes.data[v->node];
    if (!node)
        return false;
    if (node->class->is_step_number)
        *out = INFINITY;
    else if (!node->expr)
        return false;
    else
        return late_op(graph, node, node->expr->outputs.data[v->port].op, out);
    return true;
}

bool
rlf_answer_late(const rlf_graph *graph, const rlf_node *node, int *branch)
{
    double condition;
    if (!node->class->condition || !node->n_regions)
        return false;
    const rlf_arg *arg = rlf_node_arg(node, node->class->condition);
    if (arg->kind == RLF_ARG_NUMBER)
        condition = arg->number;
    else if (arg->kind != RLF_ARG_VALUE ||
             !late_value(graph, arg->value, &condition))
        return false;
    if (condition != 0)
        *branch = 0;
    else
        *branch = node->n_regions > 1 ? 1 : -1;
    return true;
}

bool
rlf_answer_taken(const rlf_graph *graph, const rlf_node *node)
{
    for (;;) {
        int region = node->region, outer = graph->regions.data[region].node;
        int branch = 0;
        if (outer < 0)
            return true;
        node = &graph->nodes.data[outer];
        if (!node->class->condition)
            continue;
        rlf_answer_late(graph, node, &branch);
        if (branch < 0 || node->regions[branch] != region)
            return false;
    }
}

/* ---- reports ---- */

rlf_rank_event
rlf_answer_open(const rlf_answers *a, const rlf_rank_command *command,
                const rlf_node *node, rlf_arena *arena)
{
    const rlf_domain *d = rlf_domains_get(&a->plan->graph->domains, node->rows);
    uint32_t n = rlf_answer_count(a, a->sizes->values[node->rows]),
             *owner = NULL;
    if (d->owner >= 0) {
        uint32_t prompts = rlf_answer_count(a, a->sizes->values[d->owner]);
        owner = RLF_NEW_ARRAY(arena, uint32_t, n + 1);
        for (uint32_t i = 0; i < n; i++)
            owner[i] = (uint32_t)((uint64_t)i * prompts / n);
    }
    return (rlf_rank_event){
        .kind = RLF_EVENT_OPENED, .n = command->n, .n_rows = n, .owner = owner};
}

rlf_rank_event
rlf_answer_done(const rlf_answers *a, const rlf_rank_command *command,
                const rlf_instance *in, int rank)
{
    rlf_rank_event event = {
        .kind = RLF_EVENT_DONE, .rank = rank, .n = command->n};
    if (!in) {
        event.kind = RLF_EVENT_ENDED;
        return event;
    }
    rlf_control_flow flow = in->node->class->control_flow;
    if (flow == RLF_CONTROL_FLOW_LOOP && !in->loop)
        event.count = answer_turns(a, in->node);
    uint64_t period = rlf_answer_period(in->node);
    if (period && a->number % period)
        event.branch = -1;
    if (a->number)
        rlf_answer_late(a->plan->graph, in->node, &event.branch);
    if (flow == RLF_CONTROL_FLOW_ROUNDS && in->loop &&
        command->turn >= answer_turns(a, in->node))
        event.branch = -1;
    return event;
}

/* ---- bytes ---- */

/* The number of tokens of one row. */
static double
row_tokens(const rlf_answers *a, int domain)
{
    int rows = rlf_domain_rows(&a->plan->graph->domains, domain);
    double all = a->sizes->values[domain], n = a->sizes->values[rows];
    return isfinite(all) ? all / n : INFINITY;
}

static double
value_bytes(const rlf_answers *a, const rlf_value *value, bool by_rows,
            double response)
{
    const rlf_graph *graph = a->plan->graph;
    if (value->kind == RLF_VALUE_SET) {
        const rlf_set *set = &graph->sets.data[value->set];
        int token =
            TOKEN_BYTES + (set->kind == RLF_SET_SAMPLED ? NUMBER_BYTES : 0);
        if (response < 0)
            response = a->sizes->set[value->set].response;
        return SAMPLE_BYTES + response * token;
    }
    if (value->kind == RLF_VALUE_TEXT)
        return INFINITY;
    if (!by_rows)
        return NUMBER_BYTES * a->sizes->values[value->domain];
    const rlf_domain *d = rlf_domains_get(&graph->domains, value->domain);
    if (d->kind != RLF_DOMAIN_TOKENS)
        return NUMBER_BYTES;
    if (response < 0)
        response = row_tokens(a, value->domain);
    return COUNT_BYTES + NUMBER_BYTES * response;
}

double
rlf_answer_bytes(const rlf_answers *a, const rlf_node *node, double response)
{
    double bytes = 0;
    for (int i = 0; i < node->n_outputs; i++)
        bytes += value_bytes(a, &a->plan->graph->values.data[node->outputs[i]],
                             node->rows >= 0, response);
    return bytes;
}
