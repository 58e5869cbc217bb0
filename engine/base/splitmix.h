/* Random numbers of a search: quick ones, from a seed that Philox makes.
 * splitmix64 (Steele, Lea, Flood 2014). */
#ifndef RLF_BASE_SPLITMIX_H
#define RLF_BASE_SPLITMIX_H

#include "engine/base/philox.h"

typedef struct rlf_splitmix {
    uint64_t state;
} rlf_splitmix;

/* Walk `number` of those with that seed. */
static inline rlf_splitmix
rlf_splitmix_begin(uint64_t seed, uint32_t number)
{
    rlf_random_key key = {.seed = seed, .site = number};
    return (rlf_splitmix){rlf_draw(&key, 0)};
}

static inline uint64_t
rlf_splitmix_next(rlf_splitmix *c)
{
    uint64_t x = c->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Returns a number in 0..n-1, n > 0. */
static inline int
rlf_splitmix_below(rlf_splitmix *c, int n)
{
    return (int)((rlf_splitmix_next(c) >> 32) * (uint64_t)n >> 32);
}

/* Returns a number in [0, 1). */
static inline double
rlf_splitmix_uniform(rlf_splitmix *c)
{
    return (double)(rlf_splitmix_next(c) >> 11) * 0x1p-53;
}

#endif
