/* Placements downhill, one call at a time: what search.h declares of it, and
 * choices next to a placement, for whoever looks at them all. */
#ifndef RLF_SEARCH_DESCEND_H
#define RLF_SEARCH_DESCEND_H

#include "engine/search/search.h"

/* Copies choices and numbers. */
void rlf_placing_copy(const rlf_problem *problem, rlf_placing *to,
                      const rlf_placing *from);

/* The choices of a call where the others stay, one after the other: what is
 * known of all on the same ranks is found once. */
typedef struct rlf_neighbours {
    const rlf_estimator *e;
    const rlf_choice *last;
    rlf_others others;
    rlf_around around;
} rlf_neighbours;

void rlf_neighbours_begin(rlf_neighbours *n, const rlf_estimator *e,
                          const int *choice, int call);
/* A choice that is surely longer than `period`, or does not fit by `over` bytes
 * or more, need not be looked at; what rounding may change is looked at. */
bool rlf_neighbours_may(rlf_neighbours *n, const rlf_choice *c, double period,
                        double over);

#endif
