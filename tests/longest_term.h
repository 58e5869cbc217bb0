/* The term of some seconds that takes most, for tests of seconds. */
#ifndef RLF_TESTS_LONGEST_TERM_H
#define RLF_TESTS_LONGEST_TERM_H

#include "engine/timing/seconds.h"

/* Of compute and memory the lesser counts nothing. */
static inline rlf_seconds_term
longest_term(const rlf_seconds *s)
{
    rlf_seconds_term most = RLF_SECONDS_COMPUTE;
    for (int i = 0; i < RLF_SECONDS_TERMS; i++)
        if (s->term[i] > s->term[most])
            most = (rlf_seconds_term)i;
    return most;
}

#endif
