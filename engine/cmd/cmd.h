/* The subcommands of `rlflow`: one file each, one row in main.c's table. Each
 * prints, and returns the exit status: 0 done, 1 the program or its data is
 * wrong, 2 wrong usage, 3 failed while running. */
#ifndef RLF_CMD_CMD_H
#define RLF_CMD_CMD_H

#include "engine/api/session.h"
#include "engine/api/workload.h"
#include "engine/base/option.h"
#include "engine/order/rehearse.h"
#include "engine/plan/holds.h"
#include "engine/simulate/simulate.h"

#include <stdio.h>

/* The whole command, with the devices that it may compute on: a list ended by
 * NULL. */
int rlf_cmd_main(int argc, char **argv, const rlf_backend *const *backends);

int rlf_cmd_run(const rlf_command_line *line);
int rlf_cmd_check(const rlf_command_line *line);
int rlf_cmd_cluster(const rlf_command_line *line);
int rlf_cmd_plan(const rlf_command_line *line);
int rlf_cmd_simulate(const rlf_command_line *line);
int rlf_cmd_profile(const rlf_command_line *line);
int rlf_cmd_schedule(const rlf_command_line *line);
int rlf_cmd_graph(const rlf_command_line *line);
int rlf_cmd_params(const rlf_command_line *line);
int rlf_cmd_fmt(const rlf_command_line *line);
int rlf_cmd_version(const rlf_command_line *line);

/* `plan --search`: the placements of the search and of others, then the plan of
 * the best. Closes the session; the exit status. */
int rlf_cmd_search(rlf_session *session, const rlf_command_line *line);

/* Check the file if it is a cluster file; false: it is none, and nothing was
 * said. */
bool rlf_cmd_check_cluster(const rlf_command_line *line, int *exit_status);

/* run(arg), with a stack of at least 8 MB. Threads that it starts have as
 * much. */
int rlf_cmd_with_stack(int (*run)(void *), void *arg);

/* A session for the one file of the command line, with its settings and the
 * options that sessions know. NULL after a message: then *status is the exit
 * status. */
rlf_session *rlf_cmd_session(const rlf_command_line *line, int *status);
/* Before long work: could the files that options name be written, and are they
 * none of a run, and not the same? A session's files: see rlf_outputs_check. */
rlf_status rlf_cmd_outputs(const rlf_command_line *line, rlf_err *err);
/* Show the warnings about the program, once. */
void rlf_cmd_warn(rlf_session *session);
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
/* Does the terminal behind a descriptor have colours, and are they wanted
 * (NO_COLOR)? */
bool rlf_cmd_colors(int fd);
/* Columns of the terminal `fd`; 0: it is none, or does not tell. */
size_t rlf_cmd_columns(int fd);
/* Print a text that may have names and texts of the user's in it: what a
 * terminal would act on is written as escapes. */
void rlf_cmd_put_text(const char *text, FILE *to);
/* ---- the standard error (message.c) ---- */

/* Before anything else: does the command line or RLFLOW_DIAG ask for JSON? Also
 * where the command line is wrong. */
void rlf_cmd_diag(int argc, char *const *argv);
bool rlf_cmd_diag_json(void);
/* Print a text so, coloured where that is a terminal. */
void rlf_cmd_put_colored(const char *text);
/* Print messages, a line or several each: "warning: TEXT", "hint: TEXT", lines
 * of the one before that begin with blanks, remarks. As JSON an object each. */
void rlf_cmd_put_message(const char *text);
/* Print a remark, or a piece of one: it ends with its line. By the main thread
 * only. */
void rlf_cmd_aside(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Print an error, with its place if there are sources. */
void rlf_cmd_say(const rlf_err *err, const rlf_sources *sources);
/* The exit status for a result. */
int rlf_cmd_status(rlf_result result);
/* Print the session's message to stderr; close it; the exit status for
 * `result`. */
int rlf_cmd_end(rlf_session *session, rlf_result result);
/* The same with more text behind the message: closing a session may end all
 * processes of a run, this one among them. */
int rlf_cmd_end_saying(rlf_session *session, rlf_result result,
                       const char *more);

#endif
