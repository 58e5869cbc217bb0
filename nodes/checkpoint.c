/* `checkpoint`: everything that lasts is saved at the step's end. */
#include "engine/graph/class.h"

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    (void)err;
    call->raised |= RLF_RAISE_CHECKPOINT;
    return RLF_OK;
}

const rlf_node_class rlf_node_checkpoint = {
    .name = "checkpoint",
    .doc = "saves the run at the end of the step",
    .form = RLF_FORM_SYNTAX,
    .gives = RLF_GIVES_NOTHING,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};
