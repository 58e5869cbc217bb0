/* A session: one program from its text to its last step. See rlflow.h. */
#include "engine/api/session.h"

#include "config.h"
#include "engine/api/searching/auto.h"
#include "engine/api/searching/prediction.h"
#include "engine/api/machines/profile.h"
#include "engine/api/searching/memory_advice.h"
#include "engine/api/rundir/rundir.h"
#include "engine/api/sinks/sinks.h"
#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/graph/step_arguments.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/plan/weight_copies.h"
#include "grammar/compile.h"
#include "nodes/table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>

/* Rows that make a generation yield to what waits for them. On one rank there
 * is nothing to overlap with, so pieces are large; ranks that have done their
 * share go on with what is complete while others still generate. */
enum { PIECE = 256, PIECE_OF_MANY = 8 };
enum { SAMPLES = 16, PATIENCE = 120, GRACE = 10, MAX_NEW = 512 };

void
rlf_log_to_stderr(void *arg, rlf_log_level level, const char *line)
{
    const rlf_session *s = arg;
    (void)level;
    rlf_diag_print_log(line, s->options.json);
}

/* A line at a time, so that those of several threads and processes stand
 * whole. */
static void
log_to_file(void *arg, rlf_log_level level, const char *line)
{
    rlf_session *s = arg;
    (void)level;
    if (dprintf(s->logging.file, "%s\n", line) < 0)
        __atomic_store_n(&s->logging.failed, errno, __ATOMIC_RELAXED);
}

/* Cells of a terminal that the character at p takes, of n bytes at most. */
static size_t
width(const char *p, size_t n)
{
    utf8proc_int32_t c = -1;
    utf8proc_iterate((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, &c);
    return c < 0 ? 1 : (size_t)utf8proc_charwidth(c);
}

void
rlf_session_screen(rlf_session *s, size_t columns)
{
    if (!s)
        return;
    s->program.sources.columns = columns;
    s->program.sources.width = width;
}

rlf_session *
rlf_session_open_text(const char *path, const char *text, size_t n)
{
    rlf_session *s = rlf_session_open(path);
    if (!rlf_call_begins(s, __func__, RLF_POINTERS({"text", text})))
        return s;
    if (n > RLF_SOURCE_MOST) { /* as of a call of read() that failed */
        rlf_call_refuse(s, "%s: a program of %zu bytes is larger than 16 MiB",
                        __func__, n);
        return s;
    }
    s->program.text = rlf_arena_strndup(s->arena, text, n);
    s->program.size = n;
    if (!*s->program.path)
        s->program.path = "program.rlf";
    return s;
}

rlf_session *
rlf_session_open(const char *path)
{
    rlf_memory_reserve();
    if (rlf_memory_failed())
        return NULL;
    rlf_json_take_memory();
    rlf_session *s = rlf_calloc(1, sizeof *s);
    s->arena = rlf_arena_new();
    s->locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    s->program.path = rlf_arena_strdup(s->arena, path ? path : "");
    s->program.classes = &rlf_node_classes;
    s->program.sources.arena = s->arena;
    s->program.diags.arena = s->arena;
    s->program.diags.sources = &s->program.sources;
    s->options.grace = GRACE;
    s->options.max_new = MAX_NEW;
    s->options.samples = SAMPLES;
    s->options.moves = RLF_SEARCH_MOVES;
    s->options.patience = PATIENCE;
    s->options.save_seconds = RLF_SAVE_SECONDS;
    s->options.save_gently = true;
    s->leads = rlf_comm_launcher_process() == 0;
    pthread_mutex_init(&s->opening.mutex, NULL);
    pthread_mutex_init(&s->input_errors.mutex, NULL);
    rlf_err_clear(&s->err);
    rlf_err_clear(&s->end_err);
    s->answer.why = RLF_NEW(s->arena, rlf_buf);
    rlf_log_init(&s->logging.log, rlf_log_to_stderr, s, 0);
    s->logging.file = -1;
    s->directory.accepted = "";
    rlf_call_begins(s, __func__, RLF_POINTERS({"path", path}));
    return s;
}

rlf_result
rlf_session_result(rlf_status status)
{
    switch (status) {
    case RLF_OK:
    case RLF_AGAIN:
        return RLF_RESULT_OK;
    case RLF_USER:
    case RLF_IMPURE:
        return RLF_RESULT_PROGRAM;
    case RLF_USAGE:
        return RLF_RESULT_USAGE;
    case RLF_MEMORY:
        return RLF_RESULT_MEMORY;
    case RLF_STOPPED:
        return RLF_RESULT_CUT;
    default:
        return RLF_RESULT_FAILED;
    }
}

const char *
rlf_launcher(int *processes)
{
    if (processes)
        *processes = rlf_comm_launcher_size();
    return rlf_comm_launcher();
}

void
rlf_session_choose_directory(rlf_session *s)
{
    if (s)
        s->options.leaves = true;
}

/* ---- compiling ---- */

locale_t
rlf_locale_enter(locale_t own)
{
    return own ? uselocale(own) : (locale_t)0;
}

void
rlf_locale_leave(locale_t before)
{
    if (before)
        uselocale(before);
}

void
rlf_locale_end(locale_t *before)
{
    rlf_locale_leave(*before);
}

rlf_compile_options
rlf_session_compiling(rlf_session *s)
{
    return (rlf_compile_options){
        .path = s->program.path,
        .text = s->program.text,
        .size = s->program.size,
        .stdlib = rlf_session_stdlib(s),
        .settings = s->settings.data,
        .n_settings = s->settings.count,
        .classes = s->program.classes,
    };
}

static rlf_status
compile(rlf_session *s, bool params_only)
{
    bool known = s->graph && (params_only || !s->program.params_only);
    if (known)
        return RLF_OK;
    if (s->err.status < 0 || s->program.diags.errors) /* it is told once */
        return s->err.status < 0 ? s->err.status : RLF_USER;
    if (!*s->program.path)
        return rlf_fail(&s->err, RLF_USAGE,
                        "the session has no program: its path is empty");
    rlf_program_forget(s); /* of its parameters alone */
    s->program.params_only = params_only;
    rlf_status status = rlf_classes_check(s->program.classes, &s->err);
    if (status < 0)
        return status;
    rlf_compile_options options = rlf_session_compiling(s);
    options.evaluate = rlf_evaluating_options(s);
    options.plan = s->options.plan;
    options.kept = &s->program.compiled;
    options.params_only = params_only;
    return rlf_compile(&options, s->arena, &s->program.sources,
                       &s->program.diags, &s->err, &s->graph);
}

rlf_result
rlf_session_compile(rlf_session *s, bool params_only)
{
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = compile(s, params_only);
    rlf_locale_leave(before);
    if (status >= 0)
        status = rlf_memory_check(&s->err);
    return rlf_session_result(status);
}

rlf_result
rlf_session_check(rlf_session *s)
{
    return rlf_call_begins(s, __func__, NULL) ? rlf_session_compile(s, false)
                                              : rlf_session_status(s);
}

/* ---- running ---- */

rlf_result
rlf_session_plan(rlf_session *s)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    rlf_result result = rlf_session_compile(s, false);
    if (result != RLF_RESULT_OK || s->plan)
        return result;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = rlf_planning_begin(s, false, &s->err);
    if (status >= 0)
        status = rlf_outputs_check(&s->outputs, s, &s->err);
    status = rlf_planning_end(s, status, &s->err);
    rlf_locale_leave(before);
    if (status >= 0)
        status = rlf_memory_check(&s->err);
    return rlf_session_result(status);
}

const char *
rlf_session_own_file(rlf_session *s, const char *path)
{
    int process = s->world ? rlf_comm_world_process(s->world) : 0;
    return process > 0 ? rlf_arena_printf(s->arena, "%s.%d", path, process)
                       : path;
}

/* Each process writes a trace of its own ranks. */
static rlf_status
open_trace(rlf_session *s, rlf_err *err)
{
    if (!s->options.trace)
        return RLF_OK;
    const char *path = rlf_session_own_file(s, s->options.trace);
    bool there;
    RLF_TRY(rlf_file_find(path, err, &there));
    rlf_mutex_lock(&s->opening.mutex);
    s->opening.trace = there ? NULL : path;
    rlf_status status =
        rlf_trace_open(path, rlf_clock_now(), err, &s->logging.trace);
    rlf_mutex_unlock(&s->opening.mutex);
    return status;
}

static rlf_status
open_log(rlf_session *s, rlf_err *err)
{
    if (s->options.log) {
        const char *path = rlf_session_own_file(s, s->options.log);
        int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
        bool there;
        RLF_TRY(rlf_file_find(path, err, &there));
        rlf_mutex_lock(&s->opening.mutex);
        s->opening.log = there ? NULL : path;
        /* a named pipe that nobody reads does not keep the run waiting */
        s->logging.file = open(path, flags | O_NONBLOCK, 0666);
        rlf_mutex_unlock(&s->opening.mutex);
        if (s->logging.file < 0)
            return rlf_fail_errno(err, "cannot write the log %s", path);
        fcntl(s->logging.file, F_SETFL, flags & (O_ACCMODE | O_APPEND));
        s->logging.log.sink = log_to_file;
        RLF_TRY(rlf_log_set(&s->logging.log, "info", err));
    }
    return s->options.dry ? RLF_OK : rlf_log_from_env(&s->logging.log, err);
}

/* Returns the steps of a run if nobody gives them: an epoch of what the flow
 * draws; of a flow that draws nothing one, unless it ends by itself. 0: no
 * end. */
static uint64_t
steps_of(rlf_session *s)
{
    if (s->calls.evaluating)
        return rlf_evaluating_steps(s);
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        const rlf_arg *count =
            node->class->draws
                ? rlf_args_find(node->args, node->n_args, "count")
                : NULL;
        bool all = !count || count->kind == RLF_ARG_ABSENT;
        if (node->class->control_flow == RLF_CONTROL_FLOW_LEAVE ||
            (node->region == 0 && !all))
            return rlf_run_epoch(s->run);
    }
    s->steps.one = true;
    return 1;
}

/* A run that was killed before its first checkpoint begins again, as the run
 * that it was. */
static rlf_status
begin_again(rlf_session *s, rlf_err *err)
{
    const char *directory = rlf_session_origin(s);
    bool holds,
        copies = rlf_dir_exists(rlf_path_join(s->arena, directory, "inputs"));
    json_t *begun = rlf_record_inputs(s, s->arena);
    if (begun) {
        rlf_status status = rlf_run_compare(s->run, begun, directory, 0, err,
                                            &s->directory.accepted);
        json_decref(begun);
        return status;
    }
    RLF_TRY(rlf_directory_holds_run(s, directory, err, &holds));
    if (holds || copies)
        rlf_buf_line(&s->warned.lines,
                     "--resume: %s has no checkpoint, and no run.json that "
                     "is whole: nothing is known of the inputs that the "
                     "run began with, so they are not compared, and it "
                     "begins at step 1\n",
                     directory);
    return RLF_OK;
}

/* run.json tells which plans are the run's, so it has this one before the plan
 * stands there: a run may be killed between the two. */
static rlf_status
begin_record(rlf_session *s, rlf_err *err)
{
    RLF_TRY(rlf_directory_blame(s, rlf_rundir_keep_plan(s, err), err));
    RLF_TRY(rlf_record_begin(s, err));
    RLF_TRY(rlf_directory_blame(s, rlf_rundir_plan(s, err), err));
    return rlf_directory_blame(s, rlf_prediction_write(s, err), err);
}

/* An input of which a part is not known is not known to be what it was. */
static rlf_status
check_loaded(const rlf_session *s, rlf_err *err)
{
    if (!s->directory.inputs.unloaded.count)
        return RLF_OK;
    const rlf_unloaded *u = &s->directory.inputs.unloaded.data[0];
    return rlf_fail(err, RLF_USER,
                    "whether %s is what it was is not known, for %s could not "
                    "be loaded: %s",
                    u->name, u->path, u->why);
}

/* Resume and what the run leaves behind are the business of process 0. */
static rlf_status
begin_run(rlf_session *s, rlf_err *err)
{
    if (s->options.directory || s->retraced.directory) {
        RLF_TRY(rlf_inputs_collect(s, true, err, &s->directory.inputs));
        RLF_TRY(rlf_inputs_same(s, &s->directory.inputs, err));
    }
    if (rlf_session_origin(s)) {
        rlf_resumed from;
        RLF_TRY(rlf_run_resume(s->run, err, &from));
        RLF_TRY(check_loaded(s, err));
        s->steps.resumed = s->directory.saved.step = from.step;
        s->directory.metadata = from.metadata;
        s->directory.accepted = from.accepted;
        rlf_buf_puts(&s->warned.lines, from.warning);
        if (!from.step)
            RLF_TRY(begin_again(s, err));
    }
    s->steps.wanted = s->options.steps ? s->options.steps : steps_of(s);
    RLF_TRY(rlf_step_arguments_check(s->graph, s->steps.resumed + 1,
                                     s->steps.wanted, err));
    if (!s->steps.resumed) {
        rlf_warn_rates(s);
        rlf_warn_conditions(s);
    }
    rlf_host_warn(s);
    rlf_opening_begun(s);
    if (s->options.directory) {
        rlf_status status = rlf_journals_open(s, s->steps.resumed, err);
        RLF_TRY(rlf_directory_blame(s, status, err));
        RLF_TRY(rlf_inputs_copy(s, &s->directory.inputs, err));
        rlf_saving_begin(s);
    }
    return s->options.directory ? begin_record(s, err) : RLF_OK;
}

rlf_policy
rlf_session_policy(const rlf_session *s)
{
    bool many = s->plan->ranks > 1;
    return (rlf_policy){.piece = many ? PIECE_OF_MANY : PIECE,
                        .parts = many ? RLF_PIECES : 0,
                        .shown = s->options.samples};
}

/* A file that a resume cannot open may be another one than the run began with:
 * that is told first, and what is wrong in the file behind it. */
static rlf_status
tell_inputs(rlf_session *s, rlf_err *err)
{
    rlf_err why = RLF_ERR_NONE, found = *err;
    rlf_inputs inputs = {.accept = s->directory.inputs.accept};
    if (!s->options.resume || !s->options.directory || s->options.dry ||
        rlf_inputs_collect(s, true, &why, &inputs) < 0)
        return err->status;
    json_t *begun = rlf_record_inputs(s, s->arena);
    rlf_status status =
        rlf_run_inputs(&inputs, s->options.directory, begun, s->arena, &why);
    json_decref(begun);
    if (status != RLF_USER)
        return err->status;
    *err = why;
    rlf_buf text = {0};
    bool json = s->options.json;
    s->options.json = false;
    rlf_input_errors_print(s, &found, &text);
    s->options.json = json;
    s->input_errors.list.count = 0;
    rlf_err_detail(err, "what was found when it was opened:\n%s", text.p);
    rlf_buf_free(&text);
    return err->status;
}

static rlf_status
open_run(rlf_session *s, rlf_err *err)
{
    if (s->options.directory) /* which a log may lie in */
        RLF_TRY(rlf_rundir_open(s, err));
    RLF_TRY(open_log(s, err));
    RLF_TRY(open_trace(s, err));
    RLF_TRY(rlf_retraced_begin(s, err));
    if (s->options.directory && s->leads && !s->options.dry && !s->collector)
        s->collector = rlf_collector_new();
    const rlf_measure *measure = NULL;
    if (s->collector)
        RLF_TRY(rlf_collector_begin(s->collector, s->plan, err, &measure));
    RLF_PUSH_IN(s->arena, &s->host.hooks, (rlf_host_hook){0}); /* its end */
    rlf_run_options run = {.measure = measure,
                                 .seed = s->options.seed,
                                 .day = s->steps.day,
                                 .threads = s->options.threads,
                                 .backend = s->options.backend,
                                 .real = s->options.real,
                                 .isa = s->options.isa,
                                 .memory = s->options.memory,
                                 .dry = s->options.dry,
                                 .policy = rlf_session_policy(s),
                                 .directory = s->options.directory,
                                 .origin = s->retraced.directory,
                                 .origin_step = s->retraced.from,
                                 .sample_trace = s->retraced.trace,
                                 .mutex = &s->opening.mutex,
                                 .keep = (uint32_t)s->options.keep,
                                 .inputs = &s->directory.inputs,
                                 .world = s->world,
                                 .patience = s->options.patience,
                                 .log = &s->logging.log,
                                 .call_seconds = s->planning.searched,
                                 .check_pure = s->options.check_pure,
                                 .hooks = s->host.hooks.data,
                                 .stops = rlf_stop_asked,
                                 .input_error = rlf_input_errors_add,
                                 .sink = s,
                                 .trace = s->logging.trace};
    rlf_tracing_nodes(s, &run);
    if ((s->options.directory || s->retraced.directory) && s->leads &&
        !s->options.dry)
        rlf_inputs_note(s);
    __atomic_store_n(&s->opening.ranks, true, __ATOMIC_RELEASE);
    rlf_status status = rlf_run_open(s->plan, &run, err, &s->closable);
    if (status < 0 && s->leads)
        rlf_memory_advise_run(s, err);
    if (status == RLF_USER && s->leads)
        status = tell_inputs(s, err);
    RLF_TRY(status);
    s->run = s->closable;
    __atomic_store_n(&s->opening.ranks, false, __ATOMIC_RELEASE);
    return s->leads ? begin_run(s, err) : RLF_OK;
}

/* A run needs its devices before it leaves anything behind. */
static rlf_status
compile_and_plan(rlf_session *s, rlf_err *err)
{
    int n;
    rlf_status status = compile(s, false);
    RLF_TRY(status < 0 ? status : rlf_planning_begin(s, true, err));
    RLF_TRY(rlf_saving_check(s, err));
    RLF_TRY(rlf_tokens_check(s, err));
    RLF_TRY(rlf_sinks_check(s, err));
    RLF_TRY(rlf_outputs_check(&s->outputs, s, err));
    return s->options.backend ? s->options.backend->count(&n, err) : RLF_OK;
}

/* All processes have the day of process 0. */
static rlf_status
know_day(rlf_session *s, rlf_err *err)
{
    const char *text =
        rlf_arena_printf(s->arena, "%" PRIu32, rlf_record_day(s));
    RLF_TRY(rlf_processes_share(s, &text, err));
    s->steps.day = (uint32_t)strtoul(text, NULL, 10);
    return RLF_OK;
}

static rlf_status
make_ready(rlf_session *s, rlf_err *err)
{
    if (s->directory.inputs.accept.count && !s->options.resume) {
        rlf_fail(err, RLF_USAGE, "--accept goes with --resume");
        rlf_err_hint(err, "a new run takes its inputs as they are");
        return RLF_USAGE;
    }
    RLF_TRY(rlf_processes_world(s, err));
    rlf_status status = RLF_OK;
    if (s->options.leaves && !s->options.directory && s->leads) {
        s->directory.chose = !s->options.resume;
        status = rlf_rundir_default(s, err, &s->options.directory);
    }
    RLF_TRY(rlf_processes_share(s, &s->options.directory, err));
    RLF_TRY(know_day(s, err));
    if (status >= 0)
        status = compile_and_plan(s, err);
    status = rlf_planning_end(s, status, err);
    RLF_TRY(rlf_processes_agree(s, status, err));
    status = open_run(s, err);
    if (status >= 0)
        status = rlf_memory_check(err);
    if (status < 0 && s->world) {
        rlf_comm_abort(s->world, err);
        rlf_processes_succeed(s);
        status = err->status;
    }
    return status;
}

static rlf_result
ready(rlf_session *s)
{
    if (s->ended)
        return RLF_RESULT_END;
    if (s->stop.before_step)
        return RLF_RESULT_STOPPED;
    if (s->run)
        return RLF_RESULT_OK;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = rlf_stop_watch(s, &s->err);
    if (status >= 0)
        status = make_ready(s, &s->err);
    if (status < 0 || s->leads)
        rlf_stop_unwatch(s);
    rlf_locale_leave(before);
    if (status < 0) {
        rlf_retraced_hint(s, &s->err);
        rlf_evaluating_place(s, &s->err);
        return rlf_session_result(status);
    }
    return rlf_stop_opened(s) ? RLF_RESULT_STOPPED : RLF_RESULT_OK;
}

rlf_result
rlf_session_ready(rlf_session *s)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    if (s->run && s->options.dry)
        return rlf_call_refuse(s, "a dry run does not become ready for a step");
    return ready(s);
}

rlf_result
rlf_session_dry_run(rlf_session *s)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    if (s->stop.before_step && !s->ended)
        return RLF_RESULT_STOPPED;
    if (!s->options.dry && (s->run || s->ended))
        return rlf_call_refuse(s, s->run ? "a dry run is made of a session "
                                           "that is not ready yet"
                                         : "a dry run is made of a session "
                                           "that was not finished");
    s->options.dry = true;
    return ready(s);
}

static rlf_status
finish(rlf_session *s, rlf_err *err)
{
    if (s->directory.complete)
        return RLF_OK;
    s->directory.complete = true;
    if (!s->options.directory || rlf_run_steps(s->run) <= s->steps.resumed)
        return RLF_OK;
    RLF_TRY(rlf_saving_now(s, err));
    RLF_TRY(rlf_prediction_write(s, err));
    const rlf_best *best = &s->directory.metadata.best;
    if (best->metric && !best->step)
        rlf_buf_line(&s->warned.lines,
                     "--keep-best %s: no step reported it, so none was "
                     "kept\n",
                     best->metric);
    return rlf_profile_leave(s, err);
}

/* A process without the controller has one step, which is the whole run. */
static rlf_status
follow(rlf_session *s, rlf_err *err)
{
    s->directory.complete = true;
    rlf_status status = rlf_run_follow(s->run, err);
    if (status < 0)
        rlf_run_rescue_follow(s->run);
    rlf_stop_followed(s);
    return status;
}

static void
trace_step(const rlf_session *s, uint64_t from)
{
    char name[32];
    snprintf(name, sizeof name, "step %u", rlf_run_steps(s->run));
    rlf_tracing_span(s, "step", name, from);
}

static rlf_status
take_step(rlf_session *s, rlf_err *err)
{
    uint64_t from = rlf_clock_now();
    size_t told = s->warned.lines.n;
    rlf_status status = rlf_run_step(s->run, err);
    if (status < 0) {
        rlf_saving_rescue(s, status);
        return status;
    }
    s->steps.seconds = rlf_clock_since(from);
    trace_step(s, from);
    s->steps.tokens = rlf_run_tokens(s->run);
    if (s->steps.taken.steps++ == 1) {
        s->steps.taken.count = 0;
        s->steps.taken.seconds = s->steps.taken.tokens = 0;
    }
    s->steps.taken.count++;
    s->steps.taken.seconds += s->steps.seconds;
    s->steps.taken.tokens += (double)s->steps.tokens;
    if (s->calls.evaluating)
        return rlf_evaluating_step(s, err);
    rlf_warn_step(s);
    RLF_TRY(rlf_retraced_step(s, err));
    if (!s->options.directory)
        return RLF_OK;
    RLF_TRY(rlf_rundir_step(s, err));
    RLF_TRY(rlf_directory_blame(s, rlf_sinks_step(s, err), err));
    RLF_TRY(rlf_saving_step(s, err));
    return rlf_record_warned(s, told, err);
}

static rlf_status
step(rlf_session *s, rlf_err *err)
{
    rlf_stop_relay(s, true);
    rlf_status status = take_step(s, err);
    rlf_stop_relay(s, false);
    return status;
}

bool
rlf_session_over(const rlf_session *s)
{
    return rlf_run_ended(s->run) ||
           (s->steps.wanted && rlf_run_steps(s->run) >= s->steps.wanted);
}

/* It was told to end before its last step. */
static rlf_result
stop_early(rlf_session *s)
{
    if (s->stop.ended_by)
        return RLF_RESULT_STOPPED;
    rlf_result result =
        s->options.directory ? rlf_session_save(s) : RLF_RESULT_OK;
    s->stop.ended_by = s->stop.signal;
    return result == RLF_RESULT_OK ? RLF_RESULT_STOPPED : result;
}

rlf_result
rlf_session_step(rlf_session *s)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    rlf_result result = ready(s);
    if (result != RLF_RESULT_OK)
        return result;
    if (s->options.dry && s->leads) /* others end with process 0 */
        return rlf_call_refuse(s, "a dry run takes no step");
    bool over = s->leads && rlf_session_over(s), done = !s->leads || over;
    if (!over && rlf_stop_before_step(s))
        return RLF_RESULT_STOPPED;
    if (s->stop.ended_by || (s->leads && rlf_stop_due(s) && !over))
        return stop_early(s);
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = !s->leads ? follow(s, &s->err)
                        : done    ? finish(s, &s->err)
                                  : step(s, &s->err);
    if (status >= 0)
        status = rlf_memory_check(&s->err);
    if (status < 0) {
        rlf_processes_succeed(s);
        rlf_stop_cut(s);
    }
    rlf_locale_leave(before);
    return status < 0 ? rlf_session_status(s)
           : done     ? RLF_RESULT_END
                      : RLF_RESULT_OK;
}
