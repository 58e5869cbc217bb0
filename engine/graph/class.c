/* Node and resource classes: finding them, checking the tables, stubs. */
#include "engine/graph/class.h"

#include "engine/base/diag.h"
#include "engine/base/vec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const rlf_node_class *
rlf_classes_find(const rlf_classes *classes, rlf_form form,
                 rlf_receiver receiver, const char *name)
{
    for (int i = 0; i < classes->n_nodes; i++) {
        const rlf_node_class *c = classes->node[i];
        if (c->form == form && c->receiver == receiver &&
            strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

const rlf_node_class *
rlf_classes_syntax(const rlf_classes *classes, const char *name)
{
    for (int i = 0; i < classes->n_nodes; i++) {
        const rlf_node_class *c = classes->node[i];
        if (c->form == RLF_FORM_SYNTAX && strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

const rlf_constructor *
rlf_classes_constructor(const rlf_classes *classes, rlf_resource_kind kind,
                        const char *within, const char *name)
{
    const rlf_resource_class *c = classes->resource[kind];
    for (int i = 0; i < c->n_constructors; i++) {
        const rlf_constructor *k = &c->constructors[i];
        if (strcmp(k->name, name) == 0 && !k->within == !within &&
            (!within || strcmp(k->within, within) == 0))
            return k;
    }
    return NULL;
}

bool
rlf_formal_takes(const rlf_formal *f, double value, char *why)
{
    if (f->kind == RLF_FORMAL_FLAG && value != 0 && value != 1)
        snprintf(why, RLF_FORMAL_WHY, "is true or false, not %.12g", value);
    else if (f->kind == RLF_FORMAL_INT && value != floor(value))
        snprintf(why, RLF_FORMAL_WHY, "is a whole number, not %.12g", value);
    else if (f->most == INFINITY && !(value >= f->least))
        snprintf(why, RLF_FORMAL_WHY, "is %.12g, and must be %.12g or more",
                 value, f->least);
    else if (f->least < f->most && !(value >= f->least && value <= f->most))
        snprintf(why, RLF_FORMAL_WHY,
                 "is %.12g, and must be from %.12g to %.12g", value, f->least,
                 f->most);
    else
        return true;
    return false;
}

const rlf_formal *
rlf_node_formal(const rlf_node *node, int i)
{
    return node->args[i].formal ? node->args[i].formal
                                : &node->class->formals[i];
}

rlf_status
rlf_node_refuse(const rlf_node *node, int i, const char *why, rlf_err *err)
{
    const rlf_formal *f = rlf_node_formal(node, i);
    if (f->owner)
        rlf_fail(err, RLF_USER, "the argument '%s' of '%s' %s", f->name,
                 f->owner, why);
    else
        rlf_fail(err, RLF_USER, "'%s%s' %s", f->name, f->labelled ? ":" : "",
                 why);
    rlf_err_hint(err, "%s", f->doc);
    rlf_err_place(err, node->args[i].span,
                  f->owner ? f->owner : node->class->name);
    return RLF_USER;
}

static rlf_status
check_formals(const char *owner, const rlf_formal *formals, int n, rlf_err *err)
{
    for (int i = 0; i < n; i++)
        if (!formals[i].name || !formals[i].doc || !formals[i].doc[0])
            return rlf_fail(err, RLF_BUG, "%s: formal %d lacks name or doc",
                            owner, i);
    return RLF_OK;
}

static bool
has_formal(const rlf_node_class *c, const char *name)
{
    bool found = false;
    for (int i = 0; i < c->n_formals; i++)
        found |= strcmp(c->formals[i].name, name) == 0;
    return found;
}

/* Of which of its traits the engine could do nothing; NULL: of none. */
static const char *
fault_of(const rlf_node_class *c)
{
    bool by_hook = c->form == RLF_FORM_HOOK;
    bool on_hook = c->receiver == RLF_RECEIVER_HOOK;
    bool on_model = c->receiver == RLF_RECEIVER_MODEL;
    bool on_data = c->receiver == RLF_RECEIVER_DATA;
    bool lasts = on_model || on_data || c->receiver == RLF_RECEIVER_STATE;
    bool samples = c->work == RLF_WORK_GENERATE;
    bool trains = c->work == RLF_WORK_TRAIN;
    bool changes = trains || c->work == RLF_WORK_WEIGHTS;
    bool weights = samples || changes || c->work == RLF_WORK_READ;
    bool hands_over = c->handover != NULL;
    bool passes = c->trainable != NULL;
    bool joint = c->partition == RLF_PARTITION_JOINT;
    bool assigned = c->partition == RLF_PARTITION_ROWS ||
                    c->partition == RLF_PARTITION_NEAR;
    bool decides = c->control_flow != RLF_CONTROL_FLOW_NONE;
    bool chooses = c->control_flow == RLF_CONTROL_FLOW_CHOICE;
    bool leaves = c->control_flow == RLF_CONTROL_FLOW_LEAVE;
    bool batch = c->granularity == RLF_GRAIN_BATCH;
    const struct {
        bool broken;
        const char *fault;
    } rules[] = {
        {by_hook && !on_hook,
         "is called by the name of a hook, which is not its receiver"},
        {on_hook && !by_hook,
         "has a hook as receiver, and is not called by its name"},
        {c->gives == RLF_GIVES_OTHER && c->form != RLF_FORM_SYNTAX,
         "gives what only syntax of its own can make, and has none"},
        {weights && !on_model, "works with weights of what is no model"},
        {samples && !hands_over, "generates samples and cannot hand them over"},
        {hands_over && !samples, "hands over samples and generates none"},
        {samples && c->gives != RLF_GIVES_SET,
         "generates samples and gives no set"},
        {trains && !passes, "trains and has no passes of micro-batches"},
        {passes && !trains, "has passes of micro-batches and does not train"},
        {trains && c->program != RLF_PROGRAM_LOSS, "trains without a loss"},
        {c->program == RLF_PROGRAM_LOSS && !trains,
         "has a loss and does not train"},
        {c->live && c->work != RLF_WORK_READ,
         "is live in an update and reads no model"},
        {changes && !c->writes, "changes weights and does not write its model"},
        {changes && !joint, "changes weights, but not on all ranks together"},
        {joint && !changes, "is on all ranks together and changes no weights"},
        {c->writes && !lasts, "writes a receiver that does not last"},
        {c->writes && c->form == RLF_FORM_FIELD,
         "writes its receiver, which a field only reads"},
        {assigned && batch,
         "assigns rows to ranks and needs all of them at once"},
        {decides && c->control_flow != RLF_CONTROL_FLOW_LEAVE &&
             c->form != RLF_FORM_SYNTAX,
         "decides about blocks, for which it has no syntax"},
        {decides && c->partition != RLF_PARTITION_WHOLE,
         "decides the control flow on some ranks only"},
        {decides && !batch, "decides the control flow by some of the rows"},
        {c->period && !(chooses && has_formal(c, c->period)),
         "has a period without choice, or one that is no formal of it"},
        {c->condition && !((chooses || leaves) && has_formal(c, c->condition)),
         "has a condition and decides nothing by it, or one that is no formal "
         "of it"},
        {c->texts_formal &&
             !(c->gives == RLF_GIVES_SET && has_formal(c, c->texts_formal)),
         "has texts and gives no set, or has them from no formal of it"},
        {c->gives_turns && (c->gives != RLF_GIVES_SET || c->texts_formal),
         "has conversations and gives no set, or has texts, too"},
        {c->ends_round && (decides || !batch),
         "keeps prompts by more than a condition on all of them"},
        {c->draws && !on_data && c->control_flow != RLF_CONTROL_FLOW_ROUNDS,
         "draws rows of what is no data"},
        {c->reports && !c->extra, "reports metrics and takes no labels"},
        {c->view && c->form != RLF_FORM_FIELD,
         "is a view of a set whose field it is not"},
        {c->is_step_number && (c->form != RLF_FORM_FIELD || c->level),
         "counts the steps and is no scalar"},
    };
    for (size_t i = 0; i < RLF_COUNT(rules); i++)
        if (rules[i].broken)
            return rules[i].fault;
    return NULL;
}

static rlf_status
check_node_class(const rlf_classes *classes, int i, rlf_err *err)
{
    const rlf_node_class *c = classes->node[i];
    if (!c || !c->name || !c->doc || !c->doc[0])
        return rlf_fail(err, RLF_BUG, "node class %d lacks name or doc", i);
    if (!c->infer || !c->cost || !c->init || !c->fini || !c->open || !c->step)
        return rlf_fail(err, RLF_BUG, "node class %s has a NULL member",
                        c->name);
    const rlf_trainable *t = c->trainable;
    if (t && (!t->begin || !t->ports || !t->forward || !t->backward ||
              !t->weights || !t->gather || !t->finish))
        return rlf_fail(err, RLF_BUG, "node class %s: NULL in trainable",
                        c->name);
    if (c->handover && (!c->handover->give || !c->handover->take))
        return rlf_fail(err, RLF_BUG, "node class %s: NULL in handover",
                        c->name);
    const char *fault = fault_of(c);
    if (fault)
        return rlf_fail(err, RLF_BUG, "node class %s %s", c->name, fault);
    for (int k = 0; k < i; k++)
        if (classes->node[k]->form == c->form &&
            classes->node[k]->receiver == c->receiver &&
            strcmp(classes->node[k]->name, c->name) == 0)
            return rlf_fail(err, RLF_BUG, "two node classes are named %s",
                            c->name);
    RLF_TRY(check_formals(c->name, c->options, c->n_options, err));
    return check_formals(c->name, c->formals, c->n_formals, err);
}

rlf_status
rlf_classes_check(const rlf_classes *classes, rlf_err *err)
{
    for (int i = 0; i < classes->n_nodes; i++)
        RLF_TRY(check_node_class(classes, i, err));
    for (int kind = 0; kind < RLF_RESOURCE_KINDS; kind++) {
        const rlf_resource_class *c = classes->resource[kind];
        if (!c || c->kind != (rlf_resource_kind)kind ||
            !rlf_resource_complete(c))
            return rlf_fail(err, RLF_BUG, "resource class %d is incomplete",
                            kind);
        for (int i = 0; i < c->n_constructors; i++)
            RLF_TRY(check_formals(c->constructors[i].name,
                                  c->constructors[i].formals,
                                  c->constructors[i].n_formals, err));
    }
    return RLF_OK;
}

void
rlf_class_no_infer(const rlf_graph *graph, const rlf_node *node,
                   rlf_diags *diags)
{
    (void)graph, (void)node, (void)diags;
}

void
rlf_cost_add(rlf_cost *to, const rlf_cost *more, double times)
{
    to->flops += times * more->flops;
    to->read += times * more->read;
    to->written += times * more->written;
    to->calls += times * more->calls;
    to->brought += times * more->brought;
    for (int axes = 0; axes < RLF_AXIS_SETS; axes++) {
        to->meets[axes].n += times * more->meets[axes].n;
        to->meets[axes].bytes += times * more->meets[axes].bytes;
    }
}

rlf_meets
rlf_cost_meets(const rlf_cost *cost)
{
    rlf_meets sum = {0};
    for (int axes = 0; axes < RLF_AXIS_SETS; axes++) {
        sum.n += cost->meets[axes].n;
        sum.bytes += cost->meets[axes].bytes;
    }
    return sum;
}

void
rlf_class_no_cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    (void)load, (void)node;
    *out = (rlf_cost){0};
}

rlf_status
rlf_class_no_init(const rlf_env *env, const rlf_node *node, rlf_err *err,
                  void **state)
{
    (void)env, (void)node, (void)err;
    *state = NULL;
    return RLF_OK;
}

void
rlf_class_no_fini(void *state)
{
    (void)state;
}

rlf_status
rlf_class_no_open(rlf_call *call, rlf_err *err)
{
    (void)call, (void)err;
    return RLF_OK;
}

rlf_status
rlf_class_no_step(rlf_call *call, rlf_err *err)
{
    (void)call, (void)err;
    return RLF_OK;
}

rlf_status
rlf_class_unsupported(rlf_call *call, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "%s cannot run yet", call->node->class->name);
    rlf_err_place(err, call->node->span, call->node->class->name);
    return RLF_USER;
}

void *
rlf_class_arena_state(size_t bytes)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_arena **state = rlf_arena_alloc(arena, bytes);
    memset(state, 0, bytes);
    *state = arena;
    return state;
}

void
rlf_class_arena_fini(void *state)
{
    if (state)
        rlf_arena_free(*(rlf_arena **)state);
}
