/* The subcommands of `rlflow`: one file each, one row in main.c's table. They
 * use the library as others do, by rlflow.h. Of the tree they share reading of
 * the command line and the form of messages (engine/base). Each prints, and
 * returns the exit status: 0 done, 1 the program or its data is wrong, 2 wrong
 * usage, 3 failed while running. */
#ifndef RLF_CMD_CMD_H
#define RLF_CMD_CMD_H

#include "engine/base/diag.h"
#include "engine/base/option.h"
#include "engine/rlflow.h"

#include <stdio.h>

/* The whole command. */
int rlf_cmd_main(int argc, char **argv);

int rlf_cmd_run(const rlf_command_line *line);
int rlf_cmd_check(const rlf_command_line *line);
int rlf_cmd_cluster(const rlf_command_line *line);
int rlf_cmd_plan(const rlf_command_line *line);
int rlf_cmd_simulate(const rlf_command_line *line);
int rlf_cmd_profile(const rlf_command_line *line);
int rlf_cmd_schedule(const rlf_command_line *line);
int rlf_cmd_explain(const rlf_command_line *line);
int rlf_cmd_graph(const rlf_command_line *line);
int rlf_cmd_params(const rlf_command_line *line);
int rlf_cmd_fmt(const rlf_command_line *line);
int rlf_cmd_data(const rlf_command_line *line);
int rlf_cmd_generate(const rlf_command_line *line);
int rlf_cmd_eval(const rlf_command_line *line);
int rlf_cmd_inspect(const rlf_command_line *line);
int rlf_cmd_lsp(const rlf_command_line *line);
int rlf_cmd_merge(const rlf_command_line *line);
int rlf_cmd_report(const rlf_command_line *line);
int rlf_cmd_tokenize(const rlf_command_line *line);
int rlf_cmd_version(const rlf_command_line *line);
int rlf_cmd_doctor(const rlf_command_line *line);
int rlf_cmd_watch(const rlf_command_line *line);
int rlf_cmd_samples(const rlf_command_line *line);
int rlf_cmd_trace_sample(const rlf_command_line *line);
int rlf_cmd_compare(const rlf_command_line *line);

/* The record of a run's directory; what was left out is told. NULL after a
 * message: then *status is the exit status. */
rlf_record *rlf_cmd_record(const char *directory, int *status);
/* Print what a run is, and how far. */
void rlf_cmd_put_run(rlf_record *record);

/* `plan --search`, of a session with a plan, which it closes. */
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
/* The same for a program `path`, "" where the command has none. */
rlf_session *rlf_cmd_session_of(const rlf_command_line *line, const char *path,
                                int *status);
/* Show the warnings about the program, once; all others since the last time. */
void rlf_cmd_warn(rlf_session *session);
void rlf_cmd_warnings(rlf_session *session);
/* An option as the command line has it, "-o" or "--table", into name. */
enum { RLF_CMD_NAME = 64 };
const char *rlf_cmd_spelled(const rlf_command_line *line, int option,
                            char name[RLF_CMD_NAME]);
/* One without options, for a file. */
rlf_session *rlf_cmd_open(const char *path);
/* Seconds of a clock that only goes forward. */
double rlf_cmd_now(void);
/* Opens the run of the session only to be looked at. True: it is this process
 * that prints what is found, and warnings are shown; else *result is that of
 * the whole command. */
bool rlf_cmd_dry(rlf_session *session, rlf_result *result);
/* Does the terminal behind a descriptor have colours, and are they wanted
 * (NO_COLOR)? */
bool rlf_cmd_colors(int fd);
/* Columns of the terminal `fd`; 0: it is none, or does not tell. */
size_t rlf_cmd_columns(int fd);
/* Print a text that may have names and texts of the user's in it: what a
 * terminal would act on is written as escapes. */
void rlf_cmd_put_text(const char *text, FILE *to);
/* Print a line of results, or a piece of one (rlf_buf_line). */
void rlf_cmd_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
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
/* Print what the library has made of an error: text, or JSON already. */
void rlf_cmd_put_whole(const char *text);
/* Print a line of a session's log, by any thread. */
void rlf_cmd_put_log(const char *line);
/* Print a remark, or a piece of one: it ends with its line. By the main thread
 * only. */
void rlf_cmd_aside(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Print an error of the command's own. */
void rlf_cmd_say(const rlf_err *err);
/* Print a text of the session, if there is one. */
void rlf_cmd_put(rlf_session *session, rlf_text which);
/* The same of its notes, to the standard error. */
void rlf_cmd_notes(rlf_session *session);
/* The exit status for a result. */
int rlf_cmd_status(rlf_result result);
/* Print the session's message to stderr; close it; the exit status for
 * `result`. */
int rlf_cmd_end(rlf_session *session, rlf_result result);
/* The same with more text behind the message: closing a session may end all
 * processes of a run, this one among them. */
int rlf_cmd_end_saying(rlf_session *session, rlf_result result,
                       const char *more);

/* Of the directory of a run its last checkpoint, or of a checkpoint, the only
 * model there that writes text: its directory, of the heap; NULL: it is neither,
 * or there are several or none. */
char *rlf_cmd_model_of(const char *directory);

/* In which order metrics are shown: 0 the reward, then what says how good the
 * model is, all else that the program reports, what the engine does, and last
 * losses and gradients: RLF_CMD_METRIC_RANKS in all. */
enum { RLF_CMD_METRIC_RANKS = 5 };
int rlf_cmd_metric_rank(const char *name);

#endif
