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
    double rows;  /* rows at work, on average */
    double made;  /* tokens that each of them has already, on average */
    double fresh; /* prompts that are computed in each turn, but for the first
                     turn of all: samples that begin in the same turn share
                     theirs */
    double complete; /* part of all samples that is complete after it */
    double burst; /* those of a turn in which samples begin */
} rlf_sampling_part;

/* Pages of keys and values of a replica. */
typedef struct rlf_sampling_pages {
    double pages;  /* pages that there are; INFINITY: enough */
    double tokens; /* tokens of one sample in a page */
    double prompt; /* tokens of each prompt */
} rlf_sampling_pages;

typedef struct rlf_sampling {
    const rlf_length_distribution *lengths; /* NULL: all have `most`,
                                               for rlf_sampling_play alone */
    double most;                            /* tokens of a response at most */
    double rows;                            /* rows of a replica, at least 1 */
    double seats;
    double replicas;
    double group; /* neighbouring samples that share a prompt; less than 1: none
                     do */
} rlf_sampling;

/* Finds the parts in the order of time; returns their number, at least 1. */
int rlf_sampling_parts(const rlf_sampling *sampling,
                       rlf_sampling_part out[RLF_SAMPLING_PARTS]);

/* The length of the i-th sample, a whole number of tokens: of neighbours as
 * many are long as of all, by the golden section. */
double rlf_sampling_typical(const rlf_sampling *sampling, uint32_t i);

/* The same where samples begin as there are pages for them, and the last ones
 * at work give up theirs where those before them need them: one replica is
 * played, turn by turn as a simulation does (engine/simulate/pages.c), of many
 * samples a part. What is computed again counts as so many prompts as it is
 * long. */
typedef struct rlf_sampling_paged {
    rlf_sampling_part part[RLF_SAMPLING_PARTS];
    int n;
    double first; /* samples that begin in the first turn */
    double peak;  /* pages that were taken at once */
} rlf_sampling_paged;
void rlf_sampling_play(const rlf_sampling *sampling,
                       const rlf_sampling_pages *pages,
                       rlf_sampling_paged *out);

#endif
