/* Ranks of a simulated run that do the same at the same time: what a picture
 * has one bar for. */
#ifndef RLF_SIMULATE_TIMELINE_GROUPS_H
#define RLF_SIMULATE_TIMELINE_GROUPS_H

#include "engine/simulate/timeline.h"

typedef struct rlf_timeline_group {
    int *ranks; /* [n] ascending; the first one's spans are those of all */
    int n;
} rlf_timeline_group;

/* Each rank is in one of the *n groups, which come in the order of their first
 * ranks. Times between `from` and `to` may differ by `tolerance` seconds; what
 * is no longer than that is left out. In `arena`. */
rlf_timeline_group *rlf_timeline_groups(const rlf_timeline *timeline,
                                        double from, double to,
                                        double tolerance, rlf_arena *arena,
                                        int *n);
/* "rank 3", "ranks 0-7", "ranks 0-3, 8-11"; of more than `most` runs of
 * neighbours the first ones, and how many ranks they are: "ranks 0-3, 8-11, ...
 * (32)". */
void rlf_timeline_group_text(const rlf_timeline_group *group, int most,
                             rlf_buf *out);

#endif
