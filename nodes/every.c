/* `every k steps { }`: runs its block when k divides the step. */
#include "engine/graph/class.h"

#include <math.h>

static const rlf_formal formals[] = {
    {.name = "steps",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .least = 1,
     .most = 4294967295.0,
     .doc = "the block runs in the steps that this divides"},
};

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    double k;
    RLF_TRY(rlf_call_number(call, "steps", err, &k));
    if (!(k >= 1) || k != floor(k)) {
        rlf_fail(err, RLF_USER, "every %g steps: not a whole number from 1 on",
                 k);
        rlf_err_place(err, call->node->span, "every");
        return RLF_USER;
    }
    call->branch = fmod((double)call->env->step, k) == 0 ? 0 : -1;
    return RLF_OK;
}

/* A number that the program writes out is known before it runs. */
static void
infer(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    (void)graph;
    const rlf_arg *k = rlf_node_arg(node, "steps");
    if (k->kind != RLF_ARG_NUMBER || k->number == floor(k->number))
        return;
    rlf_diag_error(diags, "argument", k->span.source ? k->span : node->span,
                   "every %g steps: not a whole number from 1 on", k->number);
}

const rlf_node_class rlf_node_every = {
    .name = "every",
    .doc = "runs its block in every k-th step",
    .form = RLF_FORM_SYNTAX,
    .control_flow = RLF_CONTROL_FLOW_CHOICE,
    .period = "steps",
    .formals = formals,
    .n_formals = 1,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    .infer = infer,
    .cost = rlf_class_no_cost,
    RLF_CLASS_STATELESS,
};
