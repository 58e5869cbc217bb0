/* Ids to text, one at a time.
 *
 * Each id gives the text that is complete with it, always whole characters; the
 * sum of all equals rlf_tokenizer_decode of all ids. A struct to be copied and
 * dropped freely: it owns nothing. */
#ifndef RLF_TEXT_DETOKENIZER_H
#define RLF_TEXT_DETOKENIZER_H

#include "engine/text/clean.h"
#include "engine/text/tokenizer.h"

typedef struct rlf_detokenizer {
    const rlf_tokenizer *tokenizer;
    unsigned flags;     /* RLF_DECODE_... */
    bool begun;         /* some id gave a token */
    uint32_t strip;     /* leading characters still to drop */
    uint32_t waits;     /* the token whose end is written otherwise if it is the
                           last; RLF_NO_ID: none */
    uint32_t n_written; /* bytes of it that are written */
    bool waits_first;   /* the token that waits is the first one */
    uint8_t n_held;     /* bytes of a character that is not complete */
    char held[4];
    uint8_t cleaned[RLF_CLEAN_STEPS]; /* bytes that wait in each (clean.h) */
} rlf_detokenizer;

void rlf_detokenizer_begin(rlf_detokenizer *state,
                           const rlf_tokenizer *tokenizer, unsigned flags);
/* Append to `out` the text that is complete with this id. */
void rlf_detokenizer_feed(rlf_detokenizer *state, uint32_t id, rlf_buf *out);
/* No more ids: append what is left over (U+FFFD, or nothing). */
void rlf_detokenizer_end(rlf_detokenizer *state, rlf_buf *out);

/* Can the text be in what some ids give that go on after others
 * (RLF_DECODE_CONTINUE), special tokens left out? False only where it cannot,
 * true also where that is not known. */
bool rlf_tokenizer_gives(const rlf_tokenizer *tokenizer, const char *text,
                         size_t n);

#endif
