/* `break if e`: leaves the innermost loop; outside one, ends the run after the
 * step. */
#include "engine/graph/class.h"

static const rlf_formal formals[] = {
    {.name = "condition",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .doc = "leaves if it is not 0"},
};

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    double condition;
    RLF_TRY(rlf_call_number(call, "condition", err, &condition));
    if (condition != 0)
        call->raised |= RLF_RAISE_BREAK;
    return RLF_OK;
}

const rlf_node_class rlf_node_break = {
    .name = "break",
    .doc = "leaves a loop, or ends the run after the step",
    .form = RLF_FORM_SYNTAX,
    .control_flow = RLF_CONTROL_FLOW_LEAVE,
    .condition = "condition",
    .formals = formals,
    .n_formals = 1,
    .gives = RLF_GIVES_NOTHING,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};
