/* The flight record: what a rank is doing, in a small file.
 *
 * A process that is killed cannot say anything. The kernel keeps what it has
 * written all the same, so whoever reads the run's directory next learns which
 * rank died in which node of which step. Plain text in a fixed form. It is
 * written and not mapped: a store into a mapping of which the disk has no room
 * for a page ends the process by SIGBUS. */
#ifndef RLF_SCHED_FLIGHT_H
#define RLF_SCHED_FLIGHT_H

#include "engine/base/status.h"

typedef struct rlf_flight rlf_flight;

/* Make DIRECTORY/flight-RANK, in its full size: RLF_ENV if the disk is full. */
rlf_status rlf_flight_open(const char *directory, int rank, rlf_err *err,
                           rlf_flight **out);
/* Now at this node (a name, a place "file:line" or "") with this many rows. */
void rlf_flight_note(rlf_flight *flight, uint32_t step, uint64_t command,
                     const char *node, const char *place, uint32_t rows);
/* A note could not be written: true once, and *err says why. From any one
 * thread. NULL is fine. */
bool rlf_flight_failed(rlf_flight *flight, rlf_err *err);
/* The process of this rank died before those of the others, or stood still: say
 * so in its record. `opening`: the run was opening, so the process may have had
 * none yet; then it gets one. */
void rlf_flight_lost(const char *directory, int rank, bool opening);
/* The run ended in an orderly way: the record goes, unless the others took this
 * process for lost (it stood still). NULL is fine. */
void rlf_flight_close(rlf_flight *flight);

typedef struct rlf_flight_report {
    int rank;
    uint32_t step;
    bool lost;
    char text[256]; /* "step 7, actor.generate (ppo.rlf:21), 64 rows" */
} rlf_flight_report;
/* Could a run have left this file, however early it was killed? */
bool rlf_flight_is(const char *path);
/* The record in the file `path` that a run which was killed left behind. False:
 * it is none. */
bool rlf_flight_read(const char *path, rlf_flight_report *out);

#endif
