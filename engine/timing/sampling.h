/* The turns of a generation in expectation, where responses differ in length:
 * how many, and how many samples are at work in them.
 *
 * A replica has so many samples and so many seats. As long as samples wait, one
 * that is complete gives its seat to the next; then fewer and fewer are at
 * work, until the longest of all replicas is complete. Which samples are short
 * is not known: they come mixed. Samples that go to other replicas are not
 * looked at. */
#ifndef RLF_TIMING_SAMPLING_H
#define RLF_TIMING_SAMPLING_H

#include "engine/timing/lengths.h"

enum { RLF_SAMPLING_PARTS = 16 };

/* Turns that are much alike. */
typedef struct rlf_sampling_part {
    double turns;
    double rows;  /* at work, on average */
    double made;  /* tokens that each of them has already, on average */
    double fresh; /* samples that begin in each turn, but for the first turn of
                     all */
    double complete; /* part of all samples that is complete after it */
} rlf_sampling_part;

typedef struct rlf_sampling {
    const rlf_length_distribution *lengths;
    double most; /* tokens of a response at most */
    double rows; /* of a replica, at least 1 */
    double seats;
    double replicas;
} rlf_sampling;

/* In the order of time; their number is at least 1. */
int rlf_sampling_parts(const rlf_sampling *sampling,
                       rlf_sampling_part out[RLF_SAMPLING_PARTS]);

#endif
