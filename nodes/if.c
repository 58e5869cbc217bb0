/* `if e { } else { }`: which of its regions runs. */
#include "engine/graph/class.h"

static const rlf_formal formals[] = {
    {.name = "condition",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .doc = "the first block runs if it is not 0, else the second"},
};

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    double condition;
    RLF_TRY(rlf_call_number(call, "condition", err, &condition));
    if (condition != 0)
        call->branch = 0;
    else
        call->branch = call->node->n_regions > 1 ? 1 : -1;
    return RLF_OK;
}

const rlf_node_class rlf_node_if = {
    .name = "if",
    .doc = "runs one of two blocks",
    .form = RLF_FORM_SYNTAX,
    .control_flow = RLF_CONTROL_FLOW_CHOICE,
    .condition = "condition",
    .formals = formals,
    .n_formals = 1,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};
