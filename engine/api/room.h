/* What would make a plan fit into memory: placements beside it are tried out,
 * and only what was seen to fit is told. */
#ifndef RLF_API_ROOM_H
#define RLF_API_ROOM_H

#include "engine/api/session.h"
#include "engine/mesh/outline.h"
#include "engine/simulate/ranks.h"

typedef struct rlf_room {
    rlf_session *session;       /* with a plan that does not fit */
    const rlf_outline *outline; /* of its program */
    bool gpu;            /* only bytes of devices count, not the host's */
    const double *limit; /* per rank: bytes that it may take */
    double more; /* bytes that a rank takes beside those of an outline */
} rlf_room;

/* The same, of a session that is planned for this machine: its ranks may take
 * so many bytes each. `rank` takes `bytes` (below 0:
 * what an outline takes), and does not fit. */
void rlf_room_help_here(rlf_session *session, int rank, double bytes,
                        const double *limit, rlf_err *err);
/* The same, of a run that was not opened, if that error is why: where its ranks
 * are those of one process and compute on CPUs. */
void rlf_room_help_run(rlf_session *session, rlf_err *err);
/* Does the session's plan fit into the devices of its cluster? RLF_USER if not,
 * with the rank, how much it lacks and what would help. RLF_AGAIN if that
 * cannot be known: then `why` says what cannot be read. */
rlf_status rlf_room_check(rlf_session *session, rlf_err *why, rlf_err *err);

/* Per node, of generations, what a replica of the session's plan has of pages
 * of keys and values on the devices of its cluster, in `arena`. */
rlf_status rlf_room_pages(rlf_session *session, rlf_arena *arena, rlf_err *err,
                          const rlf_page_room **out);

#endif
