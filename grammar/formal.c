/* Formals that were meant: by a label that is none, by an argument without one.
 *
 * Guesses for messages alone; what fits a formal stands in args.c. */
#include "grammar/sema.h"

#include <string.h>

/* What other programs call an argument of ours. */
static const struct {
    const char *other, *ours;
} other_names[] = {
    {"max_tokens", "max_new"},     {"max_new_tokens", "max_new"},
    {"max_length", "max_new"},     {"num", "n"},
    {"num_samples", "n"},          {"samples", "n"},
    {"num_return_sequences", "n"}, {"do_sample", "greedy"},
    {"learning_rate", "lr"},       {"betas", "beta1"},
    {"weight_decay", "decay"},     {"max_grad_norm", "clip"},
    {"grad_clip", "clip"},         {"n_layers", "layers"},
    {"num_layers", "layers"},      {"hidden_size", "hidden"},
    {"num_heads", "heads"},        {"n_heads", "heads"},
    {"intermediate_size", "ffn"},  {"max_position_embeddings", "context"},
    {"num_parts", "parts"},        {"batch_size", "size"},
};

static int
find(const rlf_formal *formals, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(formals[i].name, name))
            return i;
    return -1;
}

int
rlf_formal_meant(rlf_sema *s, const rlf_formal *formals, int n,
                 const char *label)
{
    const char **names = RLF_NEW_ARRAY(s->arena, const char *, n + 1);
    for (int i = 0; i < n; i++)
        names[i] = formals[i].name;
    for (size_t k = 0; k < RLF_COUNT(other_names); k++) {
        int i = strcmp(other_names[k].other, label) == 0
                    ? find(formals, n, other_names[k].ours)
                    : -1;
        if (i >= 0)
            return i;
    }
    const char *nearest = rlf_str_nearest(label, names, (size_t)n);
    return nearest ? find(formals, n, nearest) : -1;
}

bool
rlf_formal_could_take(const rlf_formal *f, const rlf_ast_expr *e)
{
    switch (f->kind) {
    case RLF_FORMAL_NUMBER:
    case RLF_FORMAL_INT:
        return e->kind != RLF_AST_STRING && e->kind != RLF_AST_LIST &&
               e->kind != RLF_AST_TRUTH;
    case RLF_FORMAL_FLAG:
        return e->kind == RLF_AST_TRUTH;
    case RLF_FORMAL_TEXT:
    case RLF_FORMAL_PATH:
        return e->kind == RLF_AST_STRING;
    case RLF_FORMAL_TEXTS:
    case RLF_FORMAL_NUMBERS:
        return e->kind == RLF_AST_LIST;
    default:
        return false;
    }
}
