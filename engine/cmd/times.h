/* What ranks did with the time of their last steps, read from a record, for who
 * draws it on a terminal. */
#ifndef RLF_CMD_TIMES_H
#define RLF_CMD_TIMES_H

#include "engine/rlflow.h"

enum { RLF_TIME_PARTS = 7 };
/* "generate" ..., "wait" last; a letter for each, and the number of a terminal's
 * background. */
typedef struct rlf_time_part {
    const char *name;
    char letter;
    const char *color;
} rlf_time_part;
extern const rlf_time_part rlf_time_parts[RLF_TIME_PARTS];

typedef struct rlf_rank_seconds {
    uint64_t rank;
    double seconds[RLF_TIME_PARTS]; /* means of a step */
    double all, busy;               /* of them together; without waiting */
} rlf_rank_seconds;

/* Ranks in the last `steps` steps, but those before the number of ranks last
 * changed, the busiest first: *n of them, the caller's (free). NULL: there are
 * none. */
rlf_rank_seconds *rlf_rank_times_read(rlf_record *record, uint64_t steps,
                                   size_t *n);
/* The mean of n ranks, at least one. */
rlf_rank_seconds rlf_rank_times_mean(const rlf_rank_seconds *times, size_t n);

#endif
