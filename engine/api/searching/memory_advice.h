/* Advice for a plan that does not fit into memory: placements beside it are
 * tried out, and only those that were seen to fit are named. */
#ifndef RLF_API_SEARCHING_MEMORY_ADVICE_H
#define RLF_API_SEARCHING_MEMORY_ADVICE_H

#include "engine/api/session.h"
#include "engine/simulate/ranks.h"

/* The hint of an error about a session that is planned for this machine, whose
 * ranks may take so many bytes each. `rank` takes `bytes` (below 0:
 * what an outline takes), and does not fit. */
void rlf_memory_advise_here(rlf_session *session, int rank, double bytes,
                            const double *limit, rlf_err *err);
/* The same, of a run that was not opened, if that error is why: where its ranks
 * are those of one process and compute on CPUs. */
void rlf_memory_advise_run(rlf_session *session, rlf_err *err);
/* Does the session's plan fit into the devices of its cluster? RLF_USER if not,
 * with the rank, how much it lacks and what would help. RLF_AGAIN if that
 * cannot be known: then `why` says what cannot be read. */
rlf_status rlf_memory_plan_fits(rlf_session *session, rlf_err *why,
                                rlf_err *err);

/* Per node, of generations, what a replica of the session's plan has of pages
 * of keys and values on the devices of its cluster, in `arena`. */
rlf_status rlf_memory_plan_pages(rlf_session *session, rlf_arena *arena,
                                 rlf_err *err, const rlf_page_room **out);

#endif
