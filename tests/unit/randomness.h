/* Chance in a test: the same in every run. */
#ifndef RLF_TESTS_UNIT_RANDOMNESS_H
#define RLF_TESTS_UNIT_RANDOMNESS_H

#include "engine/base/philox.h"
#include "tests/tap.h"

typedef struct randomness {
    rlf_random_key key;
    uint64_t next;
} randomness;

/* One of 0 .. n - 1. */
TAP_FUNCTION int
draw(randomness *r, int n)
{
    return (int)rlf_draw_below(&r->key, r->next++, (uint64_t)n);
}

#endif
