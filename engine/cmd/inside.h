/* What subcommands still see of the library's inside, that rlflow.h does not
 * have: plans, simulations, the world of a run. */
#ifndef RLF_CMD_INSIDE_H
#define RLF_CMD_INSIDE_H

#include "engine/api/session.h"
#include "engine/api/workload.h"
#include "engine/cmd/cmd.h"
#include "engine/order/rehearse.h"
#include "engine/plan/holds.h"
#include "engine/simulate/simulate.h"

/* `plan --search`: the placements of the search and of others, then the plan of
 * the best. Closes the session; the exit status. */
int rlf_cmd_search(rlf_session *session, const rlf_command_line *line);

/* Before long work: could the files that options name be written, and are they
 * none of a run, and not the same? A session's files: see rlf_outputs_check. */
rlf_status rlf_cmd_outputs(const rlf_command_line *line, rlf_err *err);
/* Print what the data and models of a session that is ready have to say, to the
 * standard error. */
void rlf_cmd_notes(const rlf_session *session);
/* Print a number with three digits and the prefix of its size: "12.3 G". */
void rlf_cmd_put_scaled(double x, double base, const char *unit);
/* Print the cluster that is planned for, as comments. */
void rlf_cmd_put_cluster(const rlf_session *session);
/* Print what the search of `place auto` promised, a line that begins so, if it
 * placed the calls. */
void rlf_cmd_put_promise(const rlf_session *session, const char *begin);
/* Say on the standard error how long which rows are nobody knows. */
void rlf_cmd_warn_lengths(const rlf_session *session,
                          const rlf_session_workload *workload);
/* Print the plan as a place block. */
void rlf_cmd_put_plan(const rlf_session *session);
/* What a node is called in messages: actor.update, or its class. */
const char *rlf_cmd_node_name(rlf_session *session, const rlf_node *node);
/* A line for each generation of a simulation in which samples waited for pages.
 * Both per node. */
void rlf_cmd_put_pages(rlf_session *session, const char *begin,
                       const rlf_paged *paged, const rlf_page_room *pages);
/* How the weights of a flow move, as on one machine. `object`: the model if it
 * is open, or NULL. */
rlf_status rlf_cmd_weights(rlf_session *session, const rlf_weight_flow *flow,
                           const void *object, rlf_realloc_job *job,
                           rlf_realloc_plan *out, rlf_err *err);

#endif
