/* `report name = e, ...`: scalars for the metrics. The mean over the step is
 * written by whoever holds env->sink. */
#include "engine/graph/class.h"

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    (void)err;
    const rlf_node *node = call->node;
    for (int i = 0; i < node->n_args; i++) {
        const rlf_arg *arg = &node->args[i];
        double value = arg->kind == RLF_ARG_VALUE
                           ? call->in[arg->input].column.number[0]
                           : arg->number;
        call->env->report(call->env->sink, arg->name, value);
    }
    return RLF_OK;
}

const rlf_node_class rlf_node_report = {
    .name = "report",
    .doc = "writes scalars to the metrics",
    .form = RLF_FORM_SYNTAX,
    .reports = true,
    .extra = true,
    .taken = "step|tokens|seconds",
    .gives = RLF_GIVES_NOTHING,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};
