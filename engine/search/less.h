/* Placements that are found with less: on fewer of the first ranks, and in less
 * memory than there is.
 *
 * More of either never finds less: the walks are the same for all clusters of
 * the same machines, and more ranks or more memory only add some. So do more
 * moves. */
#ifndef RLF_SEARCH_LESS_H
#define RLF_SEARCH_LESS_H

#include "engine/base/vec.h"
#include "engine/search/placed.h"
#include "engine/search/search.h"

/* Ranks; on more than these walks are fewer and shorter, and no answer is found
 * by them alone. */
enum { RLF_LESS_MANY = 256 };
/* Sizes at most. */
enum { RLF_LESS_SIZES = 48 };

struct rlf_less {
    RLF_VEC(int *) list; /* choices of placements, each once; some may not fit
                            into the memory that there is */
    RLF_VEC(int *) answers; /* of these the best of each walk */
    bool stopped;
    int64_t looks;
};

/* In `arena`. */
void rlf_less_find(const rlf_problem *problem,
                   const rlf_search_options *options, rlf_arena *arena,
                   rlf_less *out);
/* The numbers of ranks on which walks are made: of the devices of the first
 * machine powers of two and three times these, any number of whole machines up
 * to 8, from there on likewise, of more than 32 powers of two, and all; of more
 * than 256 ranks no less than a sixteenth. Ascending; returns how many. */
int rlf_less_sizes(const rlf_problem *problem, int sizes[RLF_LESS_SIZES]);
/* Bytes of the k-th of the memories in which walks are made, of which four are
 * between a power of two GB and the next; k may be negative. */
double rlf_less_level(int k);
/* The first level that is not less than so many bytes. */
int rlf_less_level_of(double bytes);

#endif
