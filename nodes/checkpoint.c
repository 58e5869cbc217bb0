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
    .role = RLF_ROLE_CHECKPOINT,
    .gives = RLF_GIVES_NOTHING,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = rlf_class_no_cost,
    .init = rlf_class_no_init,
    .fini = rlf_class_no_fini,
    .open = rlf_class_no_open,
    .step = step,
    .trainable = &rlf_trainable_none,
    .handover = &rlf_handover_none,
};
