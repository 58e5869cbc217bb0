/* `keep c`: the end of a round of a collect.
 *
 * It computes nothing: it is what all that the round gives must be complete
 * for. The collect around it reads the condition and what it is about to keep,
 * which are the inputs of this node (engine/graph/class.h). */
#include "engine/graph/class.h"

static const rlf_formal formals[] = {
    {.name = "condition",
     .kind = RLF_FORMAL_COLUMN,
     .required = true,
     .doc = "one per prompt: kept if it is not 0"},
};

const rlf_node_class rlf_node_keep = {
    .name = "keep",
    .doc = "keeps the prompts of a collect for which the condition holds",
    .form = RLF_FORM_SYNTAX,
    .ends_round = true,
    .formals = formals,
    .n_formals = 1,
    .gives = RLF_GIVES_NOTHING,
    .level = RLF_LEVEL_PROMPT,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = rlf_class_no_step,
    RLF_CLASS_PLAIN,
};
