/* `m.logprobs(s)`: the log-probability of every word of the vocabulary at every
 * response token. It never leaves the head's kernels; the expressions that
 * reduce it there cannot run yet. */
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "nodes/model.h"

static const rlf_formal formals[] = {
    {.name = "set",
     .kind = RLF_FORMAL_SET,
     .required = true,
     .doc = "its responses are read"},
};

const rlf_node_class rlf_node_logprobs = {
    .name = "logprobs",
    .doc = "log-probability of each word of the vocabulary, at each token",
    .role = RLF_ROLE_METHOD,
    .receiver = RLF_RECEIVER_MODEL,
    .formals = formals,
    .n_formals = RLF_COUNT(formals),
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_VOCAB,
    .live = true,
    .needs_tokens = true,
    .granularity = RLF_GRAIN_SAMPLE,
    .unsupported =
        "one value for each word of the vocabulary cannot be computed yet",
    .infer = rlf_model_check_tokens,
    .cost = rlf_class_no_cost,
    .init = rlf_class_no_init,
    .fini = rlf_class_no_fini,
    .open = rlf_class_unsupported,
    .step = rlf_class_unsupported,
    .trainable = &rlf_trainable_none,
};
