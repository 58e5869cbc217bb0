/* Numbers by numbers from 0: for the few terms, of the many of a program, that
 * one expression is made of. */
#ifndef RLF_GRAMMAR_NUMBERS_H
#define RLF_GRAMMAR_NUMBERS_H

#include "engine/base/arena.h"

#include <stddef.h>
#include <stdint.h>

/* {.arena = a} is empty. */
typedef struct rlf_numbers {
    rlf_arena *arena;
    struct rlf_number_pair {
        int key, value; /* key: plus 1; 0: free */
    } * pairs;
    size_t count, room;
} rlf_numbers;

/* The number of `key`, or `none`. */
int rlf_numbers_get(const rlf_numbers *n, int key, int none);
void rlf_numbers_put(rlf_numbers *n, int key, int value);

#endif
