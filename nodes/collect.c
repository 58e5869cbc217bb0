/* `collect batch (rounds: r) { ... keep c }`: fresh draws until enough prompts
 * were kept. Its arguments are checked; it cannot run yet. */
#include "engine/graph/class.h"

static const rlf_formal formals[] = {
    {.name = "rounds",
     .kind = RLF_FORMAL_INT,
     .required = true,
     .labelled = true,
     .least = 1,
     .most = 1e6,
     .doc = "after so many draws it goes on with what there is"},
    {.name = "draw",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .least = 1,
     .most = 1e9,
     .doc = "prompts drawn in a round; else as many as are still wanted"},
};

const rlf_node_class rlf_node_collect = {
    .name = "collect",
    .doc = "runs its block on fresh draws until it has kept a batch",
    .role = RLF_ROLE_COLLECT,
    .formals = formals,
    .n_formals = 2,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .unsupported = "collect cannot run yet",
    .infer = rlf_class_no_infer,
    .cost = rlf_class_no_cost,
    .init = rlf_class_no_init,
    .fini = rlf_class_no_fini,
    .open = rlf_class_unsupported,
    .step = rlf_class_unsupported,
    .trainable = &rlf_trainable_none,
};
