/* The vocabulary of a tokenizer: see vocabulary.h. */
#include "engine/text/vocabulary.h"

#include "engine/base/hash.h"

size_t
rlf_vocabulary_slots(size_t n)
{
    size_t size = 16;
    while (size < 2 * n)
        size *= 2;
    return size;
}

static size_t
find_slot(const rlf_vocabulary *v, const char *p, size_t n)
{
    size_t i = rlf_hash_mix(rlf_hash(RLF_HASH_INIT, p, n)) & (v->n_slots - 1);
    while (v->slots[i] != RLF_NO_ID) {
        rlf_str token = v->tokens[v->slots[i]];
        if (token.n == n && memcmp(token.p, p, n) == 0)
            break;
        i = (i + 1) & (v->n_slots - 1);
    }
    return i;
}

rlf_status
rlf_vocabulary_init(rlf_vocabulary *v, rlf_arena *arena, const rlf_str *tokens,
                    uint32_t n_tokens, rlf_err *err)
{
    *v = (rlf_vocabulary){.tokens = tokens,
                          .n_tokens = n_tokens,
                          .n_slots = rlf_vocabulary_slots(n_tokens)};
    RLF_TRY(rlf_arena_try(arena, v->n_slots * sizeof *v->slots,
                          "the vocabulary of a tokenizer", err, &v->slots));
    memset(v->slots, 0xff, v->n_slots * sizeof *v->slots);
    for (uint32_t id = 0; id < n_tokens; id++)
        if (tokens[id].p)
            v->slots[find_slot(v, tokens[id].p, tokens[id].n)] = id;
    return RLF_OK;
}

uint32_t
rlf_vocabulary_find(const rlf_vocabulary *vocabulary, const char *p, size_t n)
{
    return vocabulary->slots[find_slot(vocabulary, p, n)];
}
