/* Unigram models: one word to token ids.
 *
 * Of all ways to write a word as tokens the one with the largest sum of scores
 * is taken (Kudo 2018), found from left to right (Viterbi). A character that is
 * no token costs ten more than the least of all scores. Built once, then
 * read-only. */
#ifndef RLF_TEXT_UNIGRAM_H
#define RLF_TEXT_UNIGRAM_H

#include "engine/text/trie.h"
#include "engine/text/vocabulary.h"

typedef struct rlf_unigram {
    const rlf_vocabulary *vocabulary;
    rlf_trie trie;
    const double *scores;   /* log-probabilities by id */
    double unknown;         /* the score of a character that is no token */
    uint32_t unk;           /* RLF_NO_ID: none */
    uint32_t byte_ids[256]; /* byte_fallback: of each <0xHH> */
    bool bytes;             /* words are bytes, not characters */
    bool byte_fallback;
} rlf_unigram;

/* A word's best paths, up to each of its bytes. */
typedef struct rlf_unigram_work {
    RLF_VEC(struct rlf_unigram_path) paths;
    rlf_ids ids; /* backwards */
} rlf_unigram_work;
void rlf_unigram_work_free(rlf_unigram_work *work);

/* Append the ids of the word p[0..n): valid UTF-8, or bytes. Neighbours that
 * are no tokens are one unknown token together. RLF_USER where there is no
 * unknown token for them. */
rlf_status rlf_unigram_encode(const rlf_unigram *unigram,
                              rlf_unigram_work *work, const char *p, size_t n,
                              rlf_err *err, rlf_ids *out);

#endif
