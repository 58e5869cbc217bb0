/* The texts that a session makes of what it knows (rlf_session_text): each
 * appends to `out`; false: what it is about is not there yet. */
#ifndef RLF_API_REPORTING_TEXTS_H
#define RLF_API_REPORTING_TEXTS_H

#include "engine/api/searching/search.h"
#include "engine/order/traffic.h"
#include "engine/plan/weight_copies.h"
#include "engine/simulate/simulate.h"

bool rlf_text_edges(rlf_session *session, rlf_buf *out);
bool rlf_text_updates(rlf_session *session, rlf_buf *out);
bool rlf_text_needs(rlf_session *session, rlf_buf *out);
bool rlf_text_explain(rlf_session *session, rlf_buf *out);
bool rlf_text_simulation(rlf_session *session, rlf_buf *out);
bool rlf_text_search(rlf_session *session, rlf_buf *out);
bool rlf_text_searched(rlf_session *session, rlf_buf *out);

/* ---- parts of them ---- */

/* Says whether its run was opened to be looked at, in the process that leads.
 */
bool rlf_text_is_dry(const rlf_session *session);
/* The name of a node in messages: actor.update, or its class. */
const char *rlf_text_node(rlf_session *session, const rlf_node *node);
/* A line for each generation of a simulation in which samples waited for pages.
 * Both per node. */
void rlf_text_pages(rlf_session *session, const char *begin,
                    const rlf_page_waits *paged, const rlf_page_room *pages,
                    rlf_buf *out);
/* Plans the moves of a flow's weights, as on one machine. `object`: the model
 * if it is open, or NULL. */
rlf_status rlf_text_weights(rlf_session *session, const rlf_weight_flow *flow,
                            const void *object, rlf_realloc_job *job,
                            rlf_realloc_plan *out, rlf_err *err);

/* ---- the simulation of a session (simulation.c); NULL: there is none ---- */

const rlf_session_workload *
rlf_simulating_lengths(const struct rlf_simulating *simulating);
/* The files that options name. */
rlf_status rlf_simulating_write(const rlf_session *session, rlf_err *err);

#endif
