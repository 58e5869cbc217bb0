/* Byte pair encoding: one word to token ids.
 *
 * A word starts as its characters (or bytes); the neighbours whose merge has
 * the lowest rank, leftmost first, are merged until no merge applies (Sennrich
 * et al. 2016). With a heap of candidates a word of n costs O(n log n), so that
 * whole texts may be words, as sentencepiece's models have it. Built once, then
 * read-only: any number of threads may encode, each with its own work. */
#ifndef RLF_TEXT_BPE_H
#define RLF_TEXT_BPE_H

#include "engine/text/vocabulary.h"

typedef struct rlf_merge {
    uint32_t left, right; /* left RLF_NO_ID: a free slot */
    uint32_t rank, id;    /* id of the token they become */
} rlf_merge;

typedef struct rlf_bpe {
    const rlf_vocabulary *vocabulary;
    rlf_merge *merges; /* hash table by (left, right) */
    size_t n_merge_slots;
    uint32_t byte_ids[256]; /* byte_level: of each byte; byte_fallback: of each
                               <0xHH>; else RLF_NO_ID */
    uint32_t unk;           /* RLF_NO_ID: none */
    rlf_str prefix; /* the text before all symbols of a word but the first */
    rlf_str suffix; /* the text behind the last symbol of a word */
    bool byte_level, byte_fallback, fuse_unk, ignore_merges;
    const char *built; /* the class that has built it without unk, or NULL */
    bool cuts;        /* a word may be cut before a sign of a space, ... */
    bool joined[256]; /* ... but behind these bytes, where tokens go on */
} rlf_bpe;

/* Set up an empty table for n_merges. The flags, byte_ids, unk, prefix and
 * suffix are for the caller to set. */
rlf_status rlf_bpe_init(rlf_bpe *bpe, rlf_arena *arena,
                        const rlf_vocabulary *vocabulary, size_t n_merges,
                        rlf_err *err);
/* A later merge of the same pair replaces the earlier one. */
void rlf_bpe_add_merge(rlf_bpe *bpe, rlf_merge merge);

/* Find out where words may be cut: when all else of it is set. */
void rlf_bpe_find_cuts(rlf_bpe *bpe);
/* Bytes of the first part of the word p[0..n): its parts, encoded one after the
 * other, have the ids of the whole. */
size_t rlf_bpe_cut(const rlf_bpe *bpe, const char *p, size_t n);

typedef struct rlf_bpe_work {
    RLF_VEC(struct rlf_bpe_symbol) symbols;
    RLF_VEC(struct rlf_bpe_candidate) heap;
    rlf_buf spelled; /* a symbol with what stands around it */
} rlf_bpe_work;
void rlf_bpe_work_free(rlf_bpe_work *work);

/* Append the ids of the word p[0..n): valid UTF-8, or bytes if byte_level. A
 * character that the vocabulary cannot express and that no unk stands for is
 * RLF_USER. */
rlf_status rlf_bpe_encode(const rlf_bpe *bpe, rlf_bpe_work *work, const char *p,
                          size_t n, rlf_err *err, rlf_ids *out);

#endif
