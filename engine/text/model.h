/* The "model" of a tokenizer file: one word to token ids, by byte pair encoding
 * (bpe.h), a unigram model (unigram.h), WordPiece (wordpiece.h), or as a whole
 * (WordLevel). Built once, then read-only: any number of threads may encode,
 * each with its own work. */
#ifndef RLF_TEXT_MODEL_H
#define RLF_TEXT_MODEL_H

#include "engine/text/bpe.h"
#include "engine/text/unigram.h"
#include "engine/text/wordpiece.h"

typedef enum rlf_word_model_kind {
    RLF_WORD_MODEL_BPE,
    RLF_WORD_MODEL_UNIGRAM,
    RLF_WORD_MODEL_WORDPIECE,
    RLF_WORD_MODEL_WORDLEVEL
} rlf_word_model_kind;

typedef struct rlf_word_model {
    rlf_word_model_kind kind;
    rlf_vocabulary vocabulary;
    rlf_bpe bpe;             /* the model of a BPE */
    rlf_unigram unigram;     /* the model of a UNIGRAM */
    rlf_wordpiece wordpiece; /* the models of the other kinds */
} rlf_word_model;

/* The memory of one model at work. */
typedef struct rlf_word_model_work {
    rlf_bpe_work bpe;
    rlf_unigram_work unigram;
    rlf_buf spelled;
    struct rlf_known_word
        *known; /* words with their ids, by hash; NULL: none */
} rlf_word_model_work;
void rlf_word_model_work_free(rlf_word_model_work *work);

/* Append the ids of the word p[0..n): valid UTF-8, or bytes behind ByteLevel.
 * RLF_USER for what the vocabulary cannot express where it has no unknown
 * token. */
rlf_status rlf_word_model_encode(const rlf_word_model *model,
                                 rlf_word_model_work *work, const char *p,
                                 size_t n, rlf_err *err, rlf_ids *out);
/* The unknown token, or RLF_NO_ID. */
uint32_t rlf_word_model_unknown(const rlf_word_model *model);
/* The most bytes of a text that one token stands for, as the model sees them;
 * 0: there is no such number. */
size_t rlf_word_model_longest(const rlf_word_model *model);

#endif
