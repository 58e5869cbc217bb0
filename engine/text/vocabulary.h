/* The vocabulary of a tokenizer: tokens by id, and ids by token. */
#ifndef RLF_TEXT_VOCABULARY_H
#define RLF_TEXT_VOCABULARY_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"

#define RLF_NO_ID UINT32_MAX

typedef RLF_VEC(uint32_t) rlf_ids;

typedef struct rlf_vocabulary {
    /* Tokens by id, as words have them; p NULL: no token. */
    const rlf_str *tokens;
    uint32_t n_tokens;
    uint32_t *slots; /* hash table of ids by token; RLF_NO_ID: free */
    size_t n_slots;
} rlf_vocabulary;

/* Index `tokens`, which are kept by reference. Of equal ones the last counts.
 */
rlf_status rlf_vocabulary_init(rlf_vocabulary *vocabulary, rlf_arena *arena,
                               const rlf_str *tokens, uint32_t n_tokens,
                               rlf_err *err);
/* The id of a token, or RLF_NO_ID. */
uint32_t rlf_vocabulary_find(const rlf_vocabulary *vocabulary, const char *p,
                             size_t n);
/* A power of two at least twice as large as n: slots of a hash table. */
size_t rlf_vocabulary_slots(size_t n);

#endif
