/* The directory of a run: the files that options name and that are written, the
 * inputs of the run and their copies, its journals, its record and its
 * checkpoints; what a run does there when it is told to end while it opens. */
#ifndef RLF_API_RUNDIR_RUNDIR_H
#define RLF_API_RUNDIR_RUNDIR_H

#include "engine/api/session.h"

/* ---- files that options name to be written (outputs.c) ---- */

/* Is it one of these options? */
bool rlf_outputs_has(rlf_option option);
void rlf_outputs_add(rlf_outputs *outputs, rlf_arena *arena, const char *option,
                     const char *path);
/* Before long work: could they be written, and are they none of a run, and not
 * the same? */
rlf_status rlf_outputs_try(const rlf_outputs *outputs, rlf_err *err);
/* Before anything is written: RLF_USAGE, with the option, the file and what
 * that is, if one of them is a file that the session reads, that a run keeps in
 * its directory, or another one of them; if a run would write over, move or
 * remove what it reads, except the plan.rlf that it wrote itself before a
 * resume; or if a new run would replace files in its directory that no run has
 * left there. Of a session that is compiled, and knows its cluster and its
 * directory; NULL: nothing is read. */
rlf_status rlf_outputs_check(const rlf_outputs *outputs, rlf_session *session,
                             rlf_err *err);
/* Does what stands there begin as what the option writes? RLF_USAGE: it is
 * somebody's own. A part of rlf_outputs_check with a session; NULL: there is
 * none. */
rlf_status rlf_outputs_kinds(const rlf_outputs *outputs, rlf_session *session,
                             rlf_err *err);

/* ---- the inputs (inputs.c) ---- */

/* Everything that the run's results are a function of, of a session that is
 * planned; in the session's arena. `whole`: large files byte for byte, as a run
 * is known by; else in places (rlf_digest_file). */
rlf_status rlf_inputs_collect(rlf_session *session, bool whole, rlf_err *err,
                              rlf_inputs *out);
/* The states of the files alone, before the run opens them; what cannot be
 * found out is left out. */
void rlf_inputs_note(rlf_session *session);
/* RLF_USER: a file of `inputs`, collected since, is not what it was when the
 * states were noted, so that the run may have read another than is known. */
rlf_status rlf_inputs_same(const rlf_session *session, const rlf_inputs *inputs,
                           rlf_err *err);
/* Copies of the texts into the run's directory. */
rlf_status rlf_inputs_copy(rlf_session *session, const rlf_inputs *inputs,
                           rlf_err *err);

/* ---- the run's directory as a place (directory.c) ---- */

/* Have steps of a run left anything in it? One that ended before its first step
 * did not: another run may begin there. */
rlf_status rlf_directory_holds_run(const rlf_session *session,
                                   const char *directory, rlf_err *err,
                                   bool *out);
/* The directory of a run in which `path` lies, at whatever depth and whether it
 * is there or not; NULL: in none. */
const char *rlf_directory_around(const char *path, rlf_arena *arena);
/* Is that (n bytes) the name of what a run keeps in its directory? */
bool rlf_directory_keeps(const char *name, size_t n);
/* Is that the name of something there that a run writes over, moves or removes?
 * All that it keeps but copies of inputs: it adds some, each to a place that is
 * in the list. */
bool rlf_directory_changes(const char *name);
/* Is that the name of a rank's record, as in "flight-0"? */
bool rlf_directory_is_flight(const char *name);
/* The names of files there that a new run replaces: i = 0, 1, ...; NULL after
 * the last. */
const char *rlf_directory_replaces(size_t i);
/* RLF_ENV: `path` has a name that a run writes, and is somebody's own. */
rlf_status rlf_directory_in_way(const char *path, rlf_err *err);
/* For a new run, before it is asked whether there is one already: RLF_ENV if
 * what stands where a run keeps a file or a folder is a link, of another kind,
 * or of somebody else. */
rlf_status rlf_directory_kinds(const rlf_session *session, rlf_err *err);
/* Can what stands in the run's directory be what a run keeps there? RLF_ENV. */
rlf_status rlf_directory_look(const rlf_session *session, rlf_err *err);
/* Before anything is written: RLF_ENV if the directory or its lock was moved,
 * removed or replaced since it was opened. */
rlf_status rlf_directory_check(const rlf_session *session, rlf_err *err);
/* The status of a write there that ended with `status`: never RLF_USER; and the
 * error of rlf_directory_check, if that is why. */
rlf_status rlf_directory_blame(const rlf_session *session, rlf_status status,
                               rlf_err *err);

/* ---- the run's directory (rundir.c) ---- */

/* runs/NAME, or the first of runs/NAME-2, -3... that holds no run; to resume,
 * the last one that does. */
rlf_status rlf_rundir_default(const rlf_session *session, rlf_err *err,
                              const char **out);

/* Process 0 makes it, or with `resume` looks at what a run before left:
 * session->directory.killed says what that one was doing when it was killed.
 * The others see that they have it too. */
rlf_status rlf_rundir_open(rlf_session *session, rlf_err *err);
/* Lets the directory go. What it made goes again where nothing was put in: a
 * run that is refused before its first step leaves nothing behind. */
void rlf_rundir_undo(rlf_session *session);
/* A plan.rlf that the run did not write, or not so, is put aside; before
 * run.json is written. */
rlf_status rlf_rundir_keep_plan(rlf_session *session, rlf_err *err);
/* plan.rlf, once the plan is known. */
rlf_status rlf_rundir_plan(rlf_session *session, rlf_err *err);
/* One line in metrics.jsonl, some in samples.jsonl. */
rlf_status rlf_rundir_step(rlf_session *session, rlf_err *err);

/* ---- inputs that cannot be opened (input_errors.c) ---- */

/* See rlf_run_options.input_error; `sink` is the session. */
void rlf_input_errors_add(void *sink, const rlf_err *err);
/* The error of a run, and all else that was found when its inputs were opened:
 * first by the same rank, then by others. */
void rlf_input_errors_print(rlf_session *session, const rlf_err *first,
                            rlf_buf *out);

/* ---- a run that is told to end while it opens (rollback.c) ---- */

/* Called by a thread of its own while the run opens, every now and then and
 * when this process got the signal `number` (else 0): the signal that is to end
 * this process now, or 0. Of several processes 0 hears of it first. */
int rlf_opening_told(rlf_session *session, int number);
/* The same thread, with that: remove what the run has made until now, and put
 * back what it removed. The process is to end then: nothing more is made.
 * False: it has begun, so it is to end as a run does. */
bool rlf_opening_interrupt(rlf_session *session, int number);
/* Process 0 has said that the run ends before it has begun. */
bool rlf_opening_refused(const rlf_comm_world *world);
/* Called once the run has begun. Does not return where it was interrupted. */
void rlf_opening_begun(rlf_session *session);
/* A run that has begun takes no step after all: of a new one nothing stays that
 * was not there. Before it is closed. */
void rlf_opening_forget(rlf_session *session);
/* Remember the record of a killed run, before it is removed; write those that
 * are remembered again. */
void rlf_opening_keep(rlf_session *session, const char *path);
void rlf_opening_restore(rlf_session *session);

/* ---- run.json (record.c) ---- */

/* "SIGTERM". */
const char *rlf_record_signal(int number);

/* A JSON object of this process: host, number, directory, command line. */
void rlf_record_process(rlf_buf *out);
/* Is there one in the session's directory, damaged or not? */
bool rlf_record_is_there(const rlf_session *session);
/* Does it say that one of its starts wrote a plan.rlf with that digest? */
bool rlf_record_has_plan(const rlf_session *session, rlf_digest digest);
/* Does it say that the input whose copy is `copy` had that digest, or any if it
 * is null? */
bool rlf_record_has_copy(const rlf_session *session, const char *copy,
                         const char *digest);
/* The day of the run: that on which it began, where run.json has it and the run
 * is resumed, else today; 20241231. */
uint32_t rlf_record_day(const rlf_session *session);
/* A JSON list of the inputs that it has; NULL: it is not there, damaged, or
 * cannot be read. The caller's. */
json_t *rlf_record_inputs(const rlf_session *session, rlf_arena *arena);
/* The last step of which the run can have written lines, by what run.json says
 * of the end of its latest start; UINT32_MAX: nothing, as of a killed run. */
uint32_t rlf_record_reached(const rlf_session *session);
/* Once a run with a directory is open and went on from where it did. */
rlf_status rlf_record_begin(rlf_session *session, rlf_err *err);
/* Writes how the start ended; does nothing if it was not begun, or has
 * ended. */
rlf_status rlf_record_end(rlf_session *session, rlf_err *err);
/* The same by `cause`, beside a thread that hangs in the session. */
rlf_status rlf_record_fail(rlf_session *session, const rlf_err *cause,
                           rlf_err *err);
/* Called after a step: notes what the session's warnings have behind `from`
 * bytes. */
rlf_status rlf_record_warned(rlf_session *session, size_t from, rlf_err *err);

/* ---- its journals (journal.c) ---- */

/* PATH.old, or the first of PATH.old-2 and so on that is not there. */
rlf_status rlf_journal_free_name(const rlf_session *session, const char *path,
                                 rlf_err *err, const char **out);

/* Before the first step, after a resume at `step` (0: none) whose checkpoint
 * knows session->directory.metadata: hold the files against that, cut what was
 * written about later steps, and put a file aside that has anything else. That
 * and what is damaged is told of in session->warned.lines. */
rlf_status rlf_journals_open(rlf_session *session, uint32_t step, rlf_err *err);
/* Append whole lines. */
rlf_status rlf_journal_add(rlf_session *session, int which, const char *p,
                           size_t n, rlf_err *err);
/* Calls `take` for each line, its first error ends it. */
rlf_status rlf_journal_each(rlf_session *session, int which,
                            rlf_status (*take)(void *arg, const char *line,
                                               size_t n, rlf_err *err),
                            void *arg, rlf_err *err);
/* All lines are on the disk, and the files that they name. */
rlf_status rlf_journals_sync(rlf_session *session, rlf_err *err);

/* ---- what stands beside tokens (tokens.c) ---- */

/* RLF_USAGE: --record asks for what there is none of. */
rlf_status rlf_tokens_check(const rlf_session *session, rlf_err *err);
/* After a step: a file in tokens/, if --record asks for it. */
rlf_status rlf_tokens_step(rlf_session *session, rlf_err *err);
/* The files since the last call are on the disk. */
rlf_status rlf_tokens_sync(rlf_session *session, rlf_err *err);
/* Once the journals are open, after a resume at `step` (0: none): removes the
 * files of later steps up to `most`, which are done again, and puts others
 * aside; of the steps before, files that are gone or damaged are told of. */
rlf_status rlf_tokens_open(rlf_session *session, uint32_t step, uint32_t most,
                           rlf_err *err);

/* ---- its checkpoints (saving.c) ---- */

/* Setters of --save-every and --keep-best. */
rlf_status rlf_saving_every(rlf_session *session, const char *text,
                            rlf_err *err);
rlf_status rlf_saving_best(rlf_session *session, const char *text,
                           rlf_err *err);
/* The program reports what --keep-best names, as far as can be known. */
rlf_status rlf_saving_check(const rlf_session *session, rlf_err *err);
/* Called after a resume from a checkpoint that knows
 * session->directory.metadata. */
void rlf_saving_begin(rlf_session *session);
/* Called after each step: saves if it is time, or the best so far. */
rlf_status rlf_saving_step(rlf_session *session, rlf_err *err);
rlf_status rlf_saving_now(rlf_session *session, rlf_err *err);
/* Called after an error in a step: saves the step before, if it is still there.
 */
void rlf_saving_rescue(rlf_session *session, rlf_status cause);
/* The last step that this process saved or went on from, if its checkpoint is
 * still there; else 0. */
uint32_t rlf_saving_last(const rlf_session *session);

#endif
