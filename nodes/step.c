/* `step`: the number of the present step, from 1 on. */
#include "engine/graph/class.h"

static rlf_status
open(rlf_call *call, rlf_err *err)
{
    (void)err;
    rlf_arena *pool = call->env->pool;
    rlf_column column = rlf_column_new(
        pool, rlf_space_rows(pool, call->env->graph, 0, 1), false);
    column.number[0] = call->env->step;
    call->out[0].column = column;
    return RLF_OK;
}

const rlf_node_class rlf_node_step = {
    .name = "step",
    .doc = "the number of the present step, from 1 on",
    .form = RLF_FORM_FIELD,
    .is_step_number = true,
    .receiver = RLF_RECEIVER_NONE,
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_SCALAR,
    .granularity = RLF_GRAIN_BATCH,
    .open = open,
    .step = rlf_class_no_step,
    RLF_CLASS_PLAIN,
};
