/* The session as the files of this folder have it: the compiled program,
 * its plan, the run. */
#ifndef RLF_API_SESSION_H
#define RLF_API_SESSION_H

#include "engine/base/log.h"
#include "engine/base/option.h"
#include "engine/base/trace.h"
#include "engine/comm/comm.h"
#include "engine/layout/cluster.h"
#include "engine/plan/fit.h"
#include "engine/plan/plan.h"
#include "engine/rlflow.h"
#include "engine/sched/run.h"
#include "grammar/compile.h"

#include <locale.h>
#include <pthread.h>
#include <semaphore.h>

/* Seconds from one checkpoint to the next if nothing is said. */
enum { RLF_SAVE_SECONDS = 600 };

/* Options of a run; texts live in the session's arena. */
typedef struct rlf_session_options {
    uint64_t seed;
    int threads;
    int ranks;                  /* ranks in all; 0: one a process */
    uint64_t steps;             /* 0: what the program says */
    const char *directory;      /* NULL: the run leaves nothing behind */
    const char *trace;          /* file, or NULL */
    const char *log;            /* file that the log goes to, or NULL: stderr */
    const rlf_backend *backend; /* NULL: the first of rlf_backends */
    bool any_device;            /* the last of these that can be used */
    /* Type of activations; NULL: what the backend does best. */
    const char *dtype;
    rlf_cast_type real; /* the same, once there is a plan */
    const char *isa;    /* instructions of the kernels; NULL: the best */
    uint64_t memory;  /* bytes that the run may take of each memory; 0: what is
                         there */
    /* The ports that process 0 of several may listen at; 0: any. */
    int first_port, last_port;
    double patience;  /* seconds without progress that end a run of many ranks;
                         0: no limit */
    bool dry;         /* only to be looked at: see rlf_run_options */
    const char *plan; /* file with a place block, or NULL */
    /* The cluster that it is planned for, by name; or NULL. */
    const char *cluster;
    const char *profile; /* a file with the profile of its devices; or NULL */
    const char *like; /* a run whose profile and lengths are taken; or NULL */
    uint64_t moves;   /* moves that a search makes */
    bool search;      /* a search is asked for: none is made for `place auto` */
    bool keep_rows;   /* the search keeps what the program's rows say */
    /* Seconds that the search takes at most; 0: no limit. */
    uint64_t time_limit;
    const char *svg;   /* file for the picture of a simulation, or NULL */
    const char *table; /* file for a profile, or NULL */
    /* The lengths of rows for a search, as texts (lengths.h); NULL: as
     * --like or the data say, or as long as can be. */
    const char *prompts, *responses;
    bool resume;
    uint64_t keep;       /* newest checkpoints that stay */
    uint64_t save_steps; /* between two checkpoints; 0: no matter */
    double save_seconds; /* seconds between two checkpoints; 0: no matter */
    bool save_gently;    /* saving takes a small part of the time at most */
    rlf_best best;       /* metric and direction of the best; else NULL */
    bool check_pure;     /* make every call of a Lua function twice */
    bool leaves;         /* it leaves a directory behind, of its own choice if
                            none is named */
    bool json;           /* diagnostics as JSON */
    const char *stdlib;  /* directory of std/..., of a run that has kept it;
                            NULL: rlf_session_stdlib finds one */
    uint32_t samples;    /* samples of each set and step in samples.jsonl */
    const char *record;  /* "tokens", or NULL: nothing beside samples.jsonl */
    uint64_t grace; /* seconds that a call may take once the run is to end */
    /* Options of rlf_session_generate, by the names of the language; 0: not
     * given. */
    uint64_t max_new;
    uint32_t each, top_k;
    bool greedy;
    const char *stop;          /* or NULL */
    const char *lora;          /* the directory of an adapter, or NULL */
    const char *template_name; /* the name among the chat templates; NULL: the
                                  default */
    uint64_t limit;            /* rows that are evaluated; 0: all */
    const char *answers; /* file for the answers of an evaluation, or NULL */
    struct {
        double temperature, top_p, min_p;
    } sampling;
} rlf_session_options;

/* An option as it was given: "--seed" and "3". */
typedef struct rlf_option_set {
    const char *name, *value;
} rlf_option_set;

/* Files that options name to be written: "--trace" and the path. */
typedef struct rlf_output {
    const char *option, *path;
} rlf_output;

typedef struct rlf_outputs {
    rlf_output *data;
    size_t count, room;
} rlf_outputs;

/* run.json, where this process writes it (rundir/record.c). */
typedef struct rlf_run_record {
    const char *path; /* NULL: not begun, or ended */
    rlf_buf text;     /* all but what is below, and how the start ends */
    rlf_mutex mutex;  /* taken to change or read what is below */
    rlf_buf warned;   /* JSON objects with commas: warnings while it runs */
} rlf_run_record;

/* The gradient of one update of a model (warnings.c). */
typedef struct rlf_seen_gradient {
    const char *name; /* the name of its metric */
    uint32_t steps;   /* counted steps that reported it */
    double most;      /* the largest norm in these steps */
    bool learns;      /* the norm of one of these steps was not 0 */
} rlf_seen_gradient;

/* A sink that --report-to names (sinks/sinks.h). */
typedef struct rlf_sink {
    const struct rlf_sink_class *class;
    void *state; /* NULL: no step was written since this start */
} rlf_sink;

typedef struct rlf_sinks {
    rlf_sink *data;
    size_t count, room;
} rlf_sinks;

/* A journal as this process left it (rundir/journal.c). */
typedef struct rlf_appended {
    uint64_t length; /* bytes of the file */
    bool changed; /* others have changed it since it was opened, other than by
                     lines that they added */
} rlf_appended;

/* The number of parts that opening a run writes (rundir/rollback.c lists them),
 * and where run.json is in that; the bytes of a small file. */
enum { RLF_OPENING_PARTS = 4, RLF_OPENING_RECORD = 2 };
enum { RLF_OPENING_MOST = 1 << 20 };

/* A small file as it was. */
typedef struct rlf_kept_file {
    const char *path, *text;
    size_t n;
} rlf_kept_file;

/* The program of a session, as text and compiled. */
typedef struct rlf_session_program_state {
    const char *path;
    const char *text; /* `size` bytes; NULL: they are in the file */
    size_t size;
    const rlf_classes *classes; /* the classes that programs are compiled with:
                                   all of nodes/, if nobody gives others */
    bool params_only;           /* the graph has parameters and no more */
    rlf_sources sources;
    rlf_diags diags;
    struct rlf_compiled *compiled;
    const struct rlf_clusters *clusters; /* of a file that describes clusters
                                            instead; NULL: not asked for */
    bool told;                           /* the program's warnings were shown */
} rlf_session_program_state;

/* What the plan of a session was made for, and how. */
typedef struct rlf_session_planning_state {
    /* The cluster that options.cluster names, or that `place auto` plans for;
     * else NULL. */
    rlf_cluster *cluster;
    const struct rlf_profile **profiles; /* per rank of the cluster, or NULL */
    const struct rlf_profile *like;      /* the one of options.like, or NULL */
    rlf_plan_options options;            /* as the plan was made with them */
    bool searched; /* the plan is what a search found for `place auto` */
    struct rlf_prediction *prediction; /* the run's; NULL: there is none */
    const char *unsure; /* why it is not known whether the plan fits, or NULL */
} rlf_session_planning_state;

/* The objects of calls of the library, each made by the first such call. */
typedef struct rlf_session_calls_state {
    struct rlf_session_found *found;   /* of rlf_session_search, or NULL */
    struct rlf_simulating *simulating; /* of rlf_session_simulate, or NULL */
    struct rlf_answering *answering;   /* of rlf_session_prompt, or NULL */
    struct rlf_evaluating *evaluating; /* of rlf_session_evaluate, or NULL */
    struct rlf_editing *editing; /* of rlf_session_edit and look, or NULL */
    struct rlf_inspected_text *inspected_text; /* of rlf_session_tokenize,
                                            detokenize and chat, or NULL */
    struct rlf_session *last; /* the last one that rlf_session_profile opened,
                                 whose errors are this one's; or NULL */
    const char *profile, *profiled; /* texts of rlf_session_profile; or NULL */
} rlf_session_calls_state;

/* The log and the trace of a session. */
typedef struct rlf_session_logging_state {
    rlf_log log;
    int file;   /* descriptor of the file of --log, or -1 */
    int failed; /* atomic: errno of the last line of the log that could not be
                   written, or 0 */
    rlf_trace *trace;
    rlf_trace_lane *steps; /* in process 0, once the run opens; or NULL */
} rlf_session_logging_state;

/* The steps of a run. */
typedef struct rlf_session_steps_state {
    uint64_t wanted;  /* steps in all; 0: until the program's break */
    bool one;         /* the run has one step, since the flow draws nothing */
    uint32_t resumed; /* the step that the run went on from; 0: none */
    uint32_t day;     /* the date on which the run began: 20241231 */
    double seconds;   /* seconds of the last step */
    uint64_t tokens;  /* tokens generated for the last step */
    struct {
        uint32_t steps; /* steps since this start */
        uint32_t count; /* counted steps: all but the first, if there are more
                           than one */
        double seconds, tokens; /* sums over the counted steps */
    } taken;
} rlf_session_steps_state;

/* The directory of a run (rundir/). */
typedef struct rlf_session_directory_state {
    struct rlf_lock *lock; /* the lock on it; NULL: another process has it, or
                              there is none */
    bool chose; /* the session chose the directory by itself, for a new run */
    int made; /* number of directories that the run made, from options.directory
                 up */
    rlf_inputs noted;   /* files as they were before the run opened them */
    rlf_inputs inputs;  /* with what --accept named; the list is made where the
                           run leaves something behind */
    const char *killed; /* what the run before was doing when it was killed, or
                           NULL */
    const char *processes; /* process 0: JSON objects with commas for run.json,
                              once there is a directory */
    const char *accepted;  /* JSON objects with commas for run.json: the
                              differences that this resume accepted */
    rlf_run_record record;
    rlf_checkpoint_metadata metadata; /* journals and the best step so far */
    rlf_appended appended[RLF_JOURNALS];
    struct {
        uint32_t
            *data; /* steps whose files in tokens/ may not be on the disk */
        size_t count, room;
    } unsynced;
    struct {
        uint64_t at;   /* clock, ns, when the last checkpoint was written, or at
                          the start */
        double took;   /* seconds that writing the last checkpoint took */
        uint32_t step; /* step of the last checkpoint; 0: there is none */
        bool failed;   /* a checkpoint could not be written */
        const char *why_not; /* the reason why the last complete step has no
                                checkpoint, after an error; NULL: it has one */
    } saved;                 /* checkpoints of this run */
    bool complete;           /* the final checkpoint is written */
} rlf_session_directory_state;

/* A session that makes steps of a run again, and writes nothing
 * (retracing/retracing.c). */
typedef struct rlf_session_retraced_state {
    const char *directory; /* the run's; NULL: it is no such session */
    uint32_t from; /* the step whose checkpoint it goes on from; 0: none */
    uint32_t step; /* the step that is looked at */
    const char *set; /* the name of the sample's set; NULL: the first */
    uint64_t sample;
    bool one_rank; /* it is placed on one rank, whatever the program says */
    struct rlf_sample_trace *trace; /* once there is a graph */
    rlf_record *record;
    rlf_buf text; /* what rlf_session_sample_trace returned last */
} rlf_session_retraced_state;

/* State that is kept while a run opens, so that it leaves nothing behind where
 * it does not begin (rundir/rollback.c). */
typedef struct rlf_session_opening_state {
    rlf_mutex mutex;       /* taken to make files, and for what follows */
    rlf_comm_world *world; /* the world once all processes have met; else NULL
                            */
    const char *trace;     /* path of the trace that opening made; NULL: none */
    const char *log;       /* path of the log that opening made; NULL: none */
    bool claimed;          /* directory, lock and `made` are known */
    bool begun;            /* the run has begun to write what it leaves */
    bool found[RLF_OPENING_PARTS]; /* by part: it was there before */
    struct {
        rlf_kept_file *data;
        size_t count, room;
    } flights;  /* flight records of a killed run, which were removed: they are
                   put back if this run does not begin */
    bool ranks; /* atomic: ranks make their flight records */
} rlf_session_opening_state;

/* Signals and calls that tell the run to end (stopping.c). */
typedef struct rlf_session_stop_state {
    int number;    /* atomic: signal that this process got; 0: none */
    int64_t since; /* atomic: time, ns, when this process got it */
    int64_t heard; /* atomic: time, ns, when another process's came here */
    bool joined;   /* atomic: `world` tells the signals of others */
    rlf_comm_world *hears; /* atomic: the world that tells others of ours */
    int signal;            /* the signal for which the run ends; 0: none */
    bool before_step;      /* it ended while it opened, so it leaves nothing */
    bool in_call;          /* it ended by giving up a call in a step */
    rlf_leave_function *leave; /* NULL: it cannot be left */
    void *arg;
    bool watched; /* atomic: a thread waits for it, while the run opens */
    sem_t wake;
    pthread_t thread;
    int ended_by; /* number of the signal that ended the run; 0: none */
} rlf_session_stop_state;

/* The warnings of a run, and what they are made of (warnings.c). */
typedef struct rlf_session_warned_state {
    rlf_buf lines; /* lines since rlf_session_warnings was last asked */
    rlf_buf given; /* the lines that rlf_session_warnings returned last */
    struct {
        const char **data;
        size_t count, room;
    } nonfinite; /* metrics of whose infinite or NaN values a warning told */
    struct {
        rlf_seen_gradient *data;
        size_t count, room;
    } gradients; /* gradients of the updates' models, as metrics reported them
                  */
} rlf_session_warned_state;

/* The place of a span in the files of the program. */
rlf_program_place rlf_session_place(const rlf_session *session, rlf_span span);

/* The last result of each kind that a call returned (results.c). */
typedef struct rlf_session_answer_state {
    rlf_diagnostic diagnostic;
    rlf_diagnostic_note note;
    rlf_parameter parameter;
    rlf_info info;
    rlf_need need;
    rlf_candidate candidate;
    rlf_cluster_text cluster;
    rlf_buf text;    /* a graph, a program */
    rlf_buf message; /* the text of rlf_session_message */
    rlf_weight weight;
    rlf_gathered gathered; /* the weights of rlf_session_gather */
    struct {
        struct rlf_model **data; /* models whose weights may be looked at */
        size_t count, room;
    } shown;
    struct {
        void **data; /* blocks that they had, once the run was finished */
        size_t count, room;
    } kept;
    rlf_buf samples; /* the samples of `step`, each with a 0 behind it */
    struct {
        size_t *data;
        size_t count, room;
    } at; /* by sample: its offset in `samples` */
    uint32_t step;
    rlf_buf *why; /* why the last question had no answer, or empty; questions
                     about a constant session write it, too */
} rlf_session_answer_state;

struct rlf_session {
    rlf_arena *arena;
    locale_t locale; /* numbers are read and written with a point, whatever the
                        host program's locale is */
    rlf_err err;     /* the first error, which stays */
    rlf_err end_err; /* of the end of a run that had failed before */

    /* The caller's requests. */
    rlf_session_options options;
    rlf_sinks sinks;
    struct {
        rlf_log_function *log; /* NULL: the standard error */
        void *log_arg;
        struct {
            rlf_host_hook *data;
            size_t count, room;
        } hooks;
    } host; /* the functions that the program which uses the library gave */
    struct {
        struct rlf_compile_setting *data;
        size_t count, room;
    } settings;
    struct {
        rlf_option_set *data;
        size_t count, room;
    } given;             /* options, in the order that they were set */
    rlf_outputs outputs; /* the options that name files to be written */

    /* The program, its graph and its plan. */
    rlf_session_program_state program;
    rlf_graph *graph; /* NULL: not compiled yet */
    rlf_session_planning_state planning;
    rlf_plan *plan;
    rlf_session_calls_state calls;

    /* The run. */
    rlf_comm_world *world; /* the world of more than one rank or process; else
                              NULL */
    bool leads;            /* this process writes and speaks */
    rlf_run *run;          /* NULL: it is not open */
    rlf_run *closable;     /* the run, also one that could not be opened, which
                              can only be closed; or NULL */
    bool ended;            /* there is no run any more */
    rlf_result end_result; /* once it has ended: how that went */
    bool stuck; /* a thread of the run hangs: nothing that it may use is freed
                 */
    struct rlf_collector *collector; /* the collector of what ranks measure, to
                      the end of the session; NULL: nobody wants to know */
    struct {
        rlf_mutex mutex; /* taken by the threads of ranks */
        struct {
            rlf_err *data;
            size_t count, room;
        } list;
    } input_errors; /* inputs that could not be opened, as ranks met them */
    rlf_session_steps_state steps;
    rlf_session_stop_state stop;

    /* Files and messages of the session. */
    rlf_session_logging_state logging;
    rlf_session_directory_state directory;
    rlf_session_opening_state opening;
    rlf_session_retraced_state retraced;
    rlf_session_warned_state warned;
    rlf_session_answer_state answer;
};

/* The directory of the run that the session goes on from, or whose steps it
 * makes again; NULL: there is none. */
static inline const char *
rlf_session_origin(const rlf_session *s)
{
    return s->retraced.directory ? s->retraced.directory
           : s->options.resume   ? s->options.directory
                                 : NULL;
}

/* ---- steps of a run again (retracing/retracing.c) ---- */

/* Once there is a graph, where the session looks at a sample: its trace. */
rlf_status rlf_retraced_begin(rlf_session *session, rlf_err *err);
/* After a step: RLF_USER if it was the one, and had no such sample. */
rlf_status rlf_retraced_step(rlf_session *session, rlf_err *err);
/* Replaces a hint to go on with other inputs, which such a session cannot. */
void rlf_retraced_hint(const rlf_session *session, rlf_err *err);
void rlf_retraced_close(rlf_session *session);

/* ---- all calls (calling.c) ---- */

/* A pointer that a call was given, by the name that rlflow.h has for it. */
typedef struct rlf_call_pointer {
    const char *name;
    const void *p;
} rlf_call_pointer;

#define RLF_POINTERS(...)      \
    (const rlf_call_pointer[]) \
    {                          \
        __VA_ARGS__,           \
        {                      \
            NULL, NULL         \
        }                      \
    }

/* Begins a call that does something. False: it does nothing and returns what
 * rlf_session_status has, for the session has failed: before, or now with
 * RLF_USAGE, since one of these pointers is NULL. `pointers`: RLF_POINTERS, or
 * NULL for none; `call`: its name. */
bool rlf_call_begins(rlf_session *session, const char *call,
                     const rlf_call_pointer *pointers);
/* Fails the session, which has not failed yet, with RLF_USAGE. */
rlf_result rlf_call_refuse(rlf_session *session, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Begins a question: nothing is known of why it has no answer. */
void rlf_why_clear(const rlf_session *session);
/* Says why a question has no answer (rlf_session_why). */
void rlf_why(const rlf_session *session, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the rest of this folder ---- */

/* Takes the memory of weights that may be looked at out of a run that is about
 * to be closed (weights.c). */
void rlf_weights_keep(rlf_session *session);
/* Frees that, and weights that were gathered. */
void rlf_weights_free(rlf_session *session);
/* Frees what answers hold. */
void rlf_answers_free(rlf_session *session);
void rlf_simulating_close(struct rlf_simulating *simulating);
void rlf_inspected_text_close(struct rlf_inspected_text *looked);
/* Makes the tokenizer at `path` that of this call and the next ones: it lives
 * until another is asked. */
rlf_status rlf_inspected_text_open(rlf_session *session, const char *path,
                                   rlf_err *err);
/* Opens as rlf_inspected_text_open does; RLF_USER too if the tokenizer has no
 * chat template that can be used. */
rlf_status rlf_inspected_chat_open(rlf_session *session, const char *path,
                                   rlf_err *err);
const struct rlf_tokenizer *rlf_inspected_tokenizer(const rlf_session *session);
void rlf_answering_close(struct rlf_answering *answering);
void rlf_evaluating_close(struct rlf_evaluating *evaluating);
/* Takes the place in the program off a message that names the directory of the
 * model that is evaluated, which the program does not. */
void rlf_evaluating_place(const rlf_session *session, rlf_err *err);
/* Returns the options by which the program is compiled for an evaluation; NULL:
 * it is compiled as it is. */
const struct rlf_evaluate *rlf_evaluating_options(rlf_session *session);
/* Returns the steps in which all rows are evaluated, once data is open. */
uint64_t rlf_evaluating_steps(rlf_session *session);
/* Takes what the last step has evaluated. */
rlf_status rlf_evaluating_step(rlf_session *session, rlf_err *err);
/* Setters of --temperature, --top_p and --min_p. */
rlf_status rlf_answering_temperature(rlf_session *session, const char *text,
                                     rlf_err *err);
rlf_status rlf_answering_top_p(rlf_session *session, const char *text,
                               rlf_err *err);
rlf_status rlf_answering_min_p(rlf_session *session, const char *text,
                               rlf_err *err);
/* Returns the back end that options name for ranks to compute on. */
const rlf_backend *rlf_session_backend(rlf_session *session);

/* Takes the lines of the log that nobody else takes; `session`: whose they are.
 */
void rlf_log_to_stderr(void *session, rlf_log_level level, const char *line);
/* Calls that read or write numbers run in a locale with a point, whatever that
 * of the host program is. */
locale_t rlf_locale_enter(locale_t own);
void rlf_locale_leave(locale_t before);
void rlf_locale_end(locale_t *before);
/* The same until the end of the block. */
#define RLF_IN_LOCALE(session)                                               \
    __attribute__((cleanup(rlf_locale_end), unused)) locale_t outer_locale = \
        rlf_locale_enter((session) ? (session)->locale : (locale_t)0)
/* Compiles (parses, checks, lowers) if that was not done. With `params_only`
 * the graph has only its parameters. */
rlf_result rlf_session_compile(rlf_session *session, bool params_only);
/* Warns of functions that were given for no host() of the program. */
void rlf_host_warn(rlf_session *session);
/* Forgets what was compiled, if that was the parameters alone. */
void rlf_program_forget(rlf_session *session);
/* What every compilation of the session's program is given. */
rlf_compile_options rlf_session_compiling(rlf_session *session);
/* Returns the policy by which a generation at work yields to what follows its
 * samples. */
rlf_policy rlf_session_policy(const rlf_session *session);
/* Makes a plan of what was compiled (planning.c), as every process can by
 * itself; nothing is written. `runs`: on the devices that are here. */
rlf_status rlf_planning_begin(rlf_session *session, bool runs, rlf_err *err);
/* Called then by all processes, each of which has come so far with `status`:
 * process 0 finds the plan of `place auto`, and all make it. */
rlf_status rlf_planning_end(rlf_session *session, rlf_status status,
                            rlf_err *err);
/* Says whether no step is left to do, once it is ready, in the process that
 * leads. */
bool rlf_session_over(const rlf_session *session);
/* Makes another session that is given the same, which has to end before this
 * one; NULL: there is no memory for it. */
rlf_session *rlf_session_again(const rlf_session *session);
void rlf_session_close_last(rlf_session *session);
/* Was it set, "--moves" as an example? */
bool rlf_session_given(const rlf_session *session, const char *option);
/* Returns the name of a file of each process: in the first as it is given. */
const char *rlf_session_own_file(rlf_session *session, const char *path);
/* Returns the result that rlflow.h has for a call's status. */
rlf_result rlf_session_result(rlf_status status);

/* ---- the other processes (processes.c) ---- */

/* Meets them, if a launcher started this process as one of several or there is
 * more than one rank: makes session->world. */
rlf_status rlf_processes_world(rlf_session *session, rlf_err *err);
/* Called by each process when it has come this far, with its status. RLF_OK:
 * all came with RLF_OK, and with the same version, program, parameters and
 * options. Else every process fails, and the one that has to say why leads. */
rlf_status rlf_processes_agree(rlf_session *session, rlf_status status,
                               rlf_err *err);
/* Write the fingerprint of this process, of what has to be the same in all of
 * them; and fail with the first difference, RLF_USER, to what `rank` has. */
void rlf_fingerprint_write(rlf_session *session, rlf_buf *out);
rlf_status rlf_fingerprint_compare(const char *first, const char *other,
                                   int rank, rlf_err *err);
/* Gives all processes the `text` of process 0. */
rlf_status rlf_processes_share(rlf_session *session, const char **text,
                               rlf_err *err);
/* Lists the texts of all processes with commas between them, in the order of
 * processes: `mine` where there is one only. */
rlf_status rlf_processes_list(rlf_session *session, const rlf_buf *mine,
                              rlf_err *err, const char **out);
/* Called after an error: if that is the end of process 0, the next process that
 * has not come to its own end leads. */
void rlf_processes_succeed(rlf_session *session);
/* Leaves the world: in order, or after an error by its end. `closed`: no thread
 * of a rank is left that may use it. RLF_PEER: another process was lost
 * meanwhile; the one that leads has that in *err. */
rlf_status rlf_processes_leave(rlf_session *session, bool closed, rlf_err *err);

/* ---- a run that is told to end (stopping.c) ---- */

/* Writes a line, "SIGTERM ends the run while it opens". */
void rlf_stop_print(int number, rlf_buf *out);
/* Starts a thread that waits for signals until the run has begun, or in a
 * process that does not lead until it has ended. Called before the run opens,
 * if it can be left meanwhile. */
rlf_status rlf_stop_watch(rlf_session *session, rlf_err *err);
void rlf_stop_unwatch(rlf_session *session);
/* Called when the run is open. True: it was told to end in that moment, and
 * nothing is left. */
bool rlf_stop_opened(rlf_session *session);
/* Has process 0, while `on`, tell all processes what it or any other is told,
 * in a step that may not end by itself. */
void rlf_stop_relay(rlf_session *session, bool on);
/* rlf_run_options.stops, of a session. */
rlf_status rlf_stop_asked(void *session, double seconds);
/* Says whether this process was told to end the run. */
bool rlf_stop_told(const rlf_session *session);
/* Says before the first step, in process 0, whether the run is to end, of which
 * nothing is left then. */
bool rlf_stop_before_step(rlf_session *session);
/* Says between steps, in process 0, whether the run is to end; then the others
 * know, too. */
bool rlf_stop_due(rlf_session *session);
/* Called after an error: if that is a call that was given up, the run ends for
 * that. */
void rlf_stop_cut(rlf_session *session);
/* Called when the run has ended, in a process that does not lead. */
void rlf_stop_followed(rlf_session *session);
/* Called before the world ends. */
void rlf_stop_forget(rlf_session *session);
/* Called by another thread, once the run was aborted, when the thread that took
 * a step of a run in one process hangs. */
void rlf_stop_hangs(rlf_session *session);

/* ---- the trace of a run (tracing.c) ---- */

/* Before the run opens: what its trace calls nodes, if there is one. */
void rlf_tracing_nodes(rlf_session *session, rlf_run_options *options);
/* The clock, where there is a trace, and a span in the lane of the steps that
 * ends now: does nothing where there is none. */
uint64_t rlf_tracing_now(const rlf_session *session);
void rlf_tracing_span(const rlf_session *session, const char *kind,
                      const char *name, uint64_t from);

/* ---- warnings of what a step reported (warnings.c) ---- */

/* Warns before the first step of learning rates that are 0 in all steps, though
 * they are made of the step's number, among the program's warnings. */
void rlf_warn_rates(rlf_session *session);
/* Warns likewise of conditions that hold in none of many steps, or in each. */
void rlf_warn_conditions(rlf_session *session);
/* Warns of rows of `place` that change nothing. */
void rlf_warn_rows(rlf_session *session);
/* After a step that is done: into the session's warnings. */
void rlf_warn_step(rlf_session *session);

#endif
