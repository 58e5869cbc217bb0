/* Scratch memory for encoding a text: buffers, and the words that were encoded
 * of late with their ids. A tokenizer keeps a few of them, so that short texts
 * find them warm; each thread takes one that no other has. */
#ifndef RLF_TEXT_SCRATCH_H
#define RLF_TEXT_SCRATCH_H

#include "engine/text/model.h"
#include "engine/text/pre_tokenizer.h"

typedef struct rlf_scratch {
    rlf_pretokens words;
    rlf_word_model_work work;
} rlf_scratch;

typedef struct rlf_scratches rlf_scratches;

/* Freed with the arena. */
rlf_scratches *rlf_scratches_new(rlf_arena *arena);
/* One that nobody else has; `own` (zero) where all are taken. */
rlf_scratch *rlf_scratch_take(rlf_scratches *all, rlf_scratch *own);
/* Give it back. Large buffers are freed, and all of what is the caller's own.
 */
void rlf_scratch_give(rlf_scratches *all, rlf_scratch *scratch);

#endif
