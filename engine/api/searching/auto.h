/* `place auto`: the plan of a run as the search finds it for the ranks at hand.
 *
 * Process 0 searches before the run begins, and all take its answer as a text.
 * The answer of the search depends on program, cluster, seed and moves, never
 * on time. Shards and lanes are fixed before, so no bit of the results depends
 * on what is found; on GPUs they follow from it, as from any plan there. The
 * answer and what it promises stay in the run's directory (prediction.h), from
 * where a resume takes them. */
#ifndef RLF_API_SEARCHING_AUTO_H
#define RLF_API_SEARCHING_AUTO_H

#include "engine/api/searching/search.h"

/* Does the program, or its plan file, leave it to the search where calls run?
 */
bool rlf_auto_asked(const rlf_session *session);
/* The cluster of a session that nobody named one for: the ranks of this
 * machine. RLF_USAGE if they are GPUs, of which nothing is known. */
rlf_status rlf_auto_cluster(rlf_session *session, int ranks,
                            const rlf_backend *backend, rlf_err *err);
/* After a plan in which all calls are on all ranks, of a session with a
 * cluster: the text of the plan that is found, or was before the run was
 * resumed; and session->planning.prediction. */
rlf_status rlf_auto_find(rlf_session *session, rlf_err *err, const char **text);
/* Shards and lanes that every plan of the search has, per resource; 0: as the
 * search finds them. */
const rlf_sums *rlf_auto_sums(const rlf_session *session, bool gpu);

#endif
