/* The end of readings whose ranks read the samples of a generation as they are
 * complete: an eighth at a time, as in a run. */
#ifndef RLF_SEARCH_READING_H
#define RLF_SEARCH_READING_H

#include "engine/search/problem.h"

/* The work of these ranks, on all of them together. */
typedef struct rlf_reading {
    double seconds; /* seconds if all of it is read at once */
    double anew;    /* seconds more for each piece that is read by itself */
    double free;    /* the time from which on there is time for it */
    double part;    /* the part of the ranks that have time for it while samples
                       are made */
    double late;    /* that part from `gathered` on, which is no less */
    double gathered;
    bool known; /* the placement is; else this is a bound */
} rlf_reading;

/* The moment at which the last part is read of what is made from `begin` to
 * `over`. complete[k]: after which part of that time each part of the samples
 * is complete; NULL: not known. */
double rlf_reading_end(const rlf_reading *reading, double begin, double over,
                       const double *complete);

#endif
