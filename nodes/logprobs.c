/* `m.logprobs(s)`: the log-probability of every word of the vocabulary at every
 * response token. Nothing is computed or stored here: what reduces it
 * (vocab.c, update.c) reads the model and the set off this node. */
#include "engine/base/vec.h"
#include "nodes/sequences.h"

static const rlf_formal formals[] = {
    {.name = "set",
     .kind = RLF_FORMAL_SET,
     .required = true,
     .doc = "its responses are read"},
};

static void
infer(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    rlf_model_check_head(graph, node, false, diags);
    rlf_model_check_tokens(graph, node, diags);
}

/* A column without numbers. */
static rlf_status
open(rlf_call *call, rlf_err *err)
{
    (void)err;
    call->out[0].column = (rlf_column){.space = call->in[0].rows->tokens};
    return RLF_OK;
}

const rlf_node_class rlf_node_logprobs = {
    .name = "logprobs",
    .doc = "log-probability of each word of the vocabulary, at each token",
    .form = RLF_FORM_CALL,
    .partition = RLF_PARTITION_NEAR,
    .work = RLF_WORK_READ,
    .receiver = RLF_RECEIVER_MODEL,
    .formals = formals,
    .n_formals = RLF_COUNT(formals),
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_VOCAB,
    .live = true,
    .needs_tokens = true,
    .granularity = RLF_GRAIN_SAMPLE,
    .infer = infer,
    .cost = rlf_class_no_cost,
    .open = open,
    .step = rlf_class_no_step,
    RLF_CLASS_STATELESS,
};
