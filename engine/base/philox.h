/* Philox4x32-10 (Salmon et al. 2011): counter-based random numbers.
 *
 * A run's randomness is keyed by (seed, purpose, call site, step, sample,
 * position), never by rank, time or order: see rlf_draw. */
#ifndef RLF_BASE_PHILOX_H
#define RLF_BASE_PHILOX_H

#include <stdint.h>

/* The purpose of a random number; it is part of its key, so never renumber. */
typedef enum rlf_purpose {
    RLF_PURPOSE_SAMPLE = 1,  /* tokens of a response */
    RLF_PURPOSE_SHUFFLE = 2, /* the order of data rows in an epoch */
    RLF_PURPOSE_SPLIT = 3,   /* the order of minibatch pieces */
    RLF_PURPOSE_INIT = 4,    /* initial weights */
    RLF_PURPOSE_UNIFORM = 5, /* uniform(x) of the language */
    RLF_PURPOSE_LUA = 6,     /* math.random of a hook */
    RLF_PURPOSE_WEIGHT = 7,  /* the rows that a draw by weight takes */
    RLF_PURPOSE_LENGTH = 8,  /* the length of a response, in a simulation */
    RLF_PURPOSE_DROPOUT = 9, /* the elements of a token that dropout keeps */
} rlf_purpose;

typedef struct rlf_random_key {
    uint64_t seed;
    uint32_t purpose; /* rlf_purpose */
    uint32_t site;    /* the number of the call in the program */
    uint32_t step;
    uint64_t sample; /* draw from the data and place in the group */
} rlf_random_key;

/* The 4 words of counter block (c0..c3) under key (k0, k1). Outside of philox.c
 * only tests call it, to hold it against published values. */
void rlf_philox(const uint32_t counter[4], const uint32_t key[2],
                uint32_t out[4]);
/* 64 random bits for `position` of what the key names. */
uint64_t rlf_draw(const rlf_random_key *key, uint64_t position);
/* Uniform in [0, 1) with 53 bits: rlf_draw >> 11 over 2^53. */
double rlf_draw_uniform(const rlf_random_key *key, uint64_t position);
/* Uniform in 0..n-1 (n > 0; bias below n / 2^64). */
uint64_t rlf_draw_below(const rlf_random_key *key, uint64_t position,
                        uint64_t n);
/* A permutation of 0..n-1 into out[n] (Fisher and Yates). */
void rlf_draw_shuffle(const rlf_random_key *key, uint32_t n, uint32_t *out);

#endif
