/* A run: a plan with its mutable state, one step at a time.
 *
 * sched opens the resources (models, data, hooks, states), keeps the state of
 * nodes, and in each step carries out the controller's commands (engine/order)
 * on this rank. It writes no metrics and no samples to files: engine/api asks
 * for them between steps. It does write checkpoints and the flight record. */
#ifndef RLF_SCHED_RUN_H
#define RLF_SCHED_RUN_H

#include "engine/base/mutex.h"
#include "engine/comm/comm.h"
#include "engine/graph/measure.h"
#include "engine/order/order.h"
#include "engine/plan/memory.h"
#include "engine/sched/inputs.h"
#include "engine/sched/metrics.h"
#include "kernels/backend.h"

typedef struct rlf_run rlf_run;

/* The needs of a rank: its memory by purpose, what it may have of it, and the
 * work of a step at the caps with the runs of nodes that it is made of. */
typedef struct rlf_needs {
    rlf_memory memory;
    rlf_memory_room limit;
    rlf_cost work;
    double runs;
} rlf_needs;

/* The kinds of a rank's time in a step, besides all else: sampling, calls that
 * read a model (logprob, value, score), updates, hooks. */
enum {
    RLF_TIME_GENERATE,
    RLF_TIME_READ,
    RLF_TIME_TRAIN,
    RLF_TIME_LUA,
    RLF_TIMES
};
extern const char *const rlf_time_names[RLF_TIMES]; /* "generate" */

/* What a rank's own time in a step goes to: the kinds above, without waiting
 * for others in them; rows and weights from rank to rank; waiting; and all
 * else: expressions, data, the controller where there is one rank. */
enum {
    RLF_OWN_MOVE = RLF_TIMES,
    RLF_OWN_WAIT,
    RLF_OWN_REST,
    RLF_OWN_TIMES
};
extern const char *const rlf_own_time_names[RLF_OWN_TIMES];

/* The last step of one rank. */
typedef struct rlf_rank_use {
    double seconds[RLF_OWN_TIMES]; /* that add up to those of the step */
    uint64_t device; /* bytes of its device that it has had at most, since it
                        was opened */
    uint64_t pools;  /* bytes of the machine's memory that the values of the
                        steps under way take when the step ends */
    uint64_t process; /* bytes of the machine that its process has had resident
                         at most; 0: not known */
} rlf_rank_use;

enum { RLF_PATIENCE_FILES = 10 };

/* The files beside the checkpoints that a run appends to. */
enum {
    RLF_JOURNAL_METRICS,
    RLF_JOURNAL_SAMPLES,
    RLF_JOURNAL_TOKENS, /* the list of the files in tokens/ */
    RLF_JOURNAL_RANKS,
    RLF_JOURNALS
};
extern const char *const rlf_journal_names[RLF_JOURNALS];

/* The best step so far by a metric, which keeps its checkpoint. */
typedef struct rlf_best {
    const char *metric; /* NULL: none was asked for */
    bool least;         /* the lowest value is the best */
    uint32_t step;      /* 0: the metric had no value yet */
    double value;
} rlf_best;

/* The metadata of a checkpoint: the journals that its run keeps beside it, the
 * best step so far, and how many checkpoints stay. */
typedef struct rlf_checkpoint_metadata {
    struct {
        uint64_t size;     /* bytes that the journal had */
        uint32_t checksum; /* (io/checksum.h) of those that the run wrote */
        struct {
            struct rlf_foreign {
                uint64_t from, to; /* bytes that others wrote, in order */
            } * data;              /* in an arena */
            size_t count, room;
        } foreign;
    } journals[RLF_JOURNALS];
    rlf_best best;
    uint32_t keep; /* newest checkpoints that stay; 0: as 1 */
} rlf_checkpoint_metadata;

/* The state that a run went on from. */
typedef struct rlf_resumed {
    uint32_t step; /* 0: there was no checkpoint, nothing changed */
    rlf_checkpoint_metadata metadata;
    const char *warning; /* lines about checkpoints that were damaged, so that
                            an older one was taken; "" if none was */
    const char *accepted; /* JSON objects with commas between them: the
                             differences that --accept accepted */
} rlf_resumed;

typedef struct rlf_run_options {
    uint64_t seed;
    uint32_t day; /* see rlf_env */
    int threads;  /* threads of all ranks of this process; 0: all cores that it
                     may use */
    /* The back end that ranks compute on; NULL: the first. */
    const rlf_backend *backend;
    rlf_cast_type real;         /* the type of activations */
    const char *isa;            /* "v4", "v3", "portable"; NULL: the best */
    const rlf_kernels *kernels; /* instead of those of `isa`; NULL */
    uint64_t memory; /* bytes that it may take of the machine's memory, and of
                        each device that has its own; 0: what there is */
    bool dry; /* only to be looked at: takes no step, so nothing as large as
                 its caps is made, and it need not fit; what every rank needs
                 is known then */
    rlf_policy policy;     /* the policy of the controller */
    const char *directory; /* the directory of the run; NULL: it leaves nothing
                              behind */
    rlf_mutex *mutex; /* entered to make a file there while the run opens; NULL:
                         none */
    /* Instead of `directory`: the run of which rlf_run_resume reads the newest
     * checkpoint up to that step, and changes nothing; NULL: none. */
    const char *origin;
    uint32_t origin_step;
    uint32_t keep;         /* newest checkpoints that stay; 0: as many as the run
                              was begun with */
    rlf_inputs *inputs;    /* inputs, in process 0 of a run with a directory */
    /* The world of a run of more than one rank, which outlives the run. */
    rlf_comm_world *world;
    double patience; /* seconds in which no rank gets anywhere end the run; 0:
                        never. RLF_PATIENCE_FILES times as many where files are
                        read and written, which is done without a heartbeat */
    struct rlf_log *log;
    bool call_seconds; /* measure rlf_run_call_seconds: on all ranks or none */
    bool check_pure;   /* make every call of a Lua function twice */
    const rlf_host_hook *hooks; /* see rlf_env */
    /* Is the run to end? RLF_OK: no; RLF_AGAIN: yes, but a Lua function that is
     * called may go on, if those of this rank took so many seconds since;
     * RLF_STOPPED: it may not. Any rank's thread may ask. NULL: it waits. */
    rlf_status (*stops)(void *sink, double seconds);
    /* A resource cannot be opened, by a fault of the input: called with each of
     * them by the threads of ranks, which return the first. NULL: a rank stops
     * at the first. */
    void (*input_error)(void *sink, const rlf_err *err);
    void *sink;
    struct rlf_trace *trace; /* NULL: no trace */
    /* Per node, for the trace: what it is called, and its line, as in
     * "actor.generate" and "ppo.rlf:23"; NULL: its class, and none. */
    const char *const *node_names, *const *node_lines;
    const rlf_measure *measure; /* NULL: nobody wants to know; it outlives the
                                   run */
    /* A sample that is looked at, which outlives the run; NULL: none is. */
    struct rlf_sample_trace *sample_trace;
    struct rlf_gathered *gathered; /* set by rlf_run_gather, for the ranks of
                                      this process; else NULL */
    struct rlf_spools *spools;  /* set by rlf_run_open, in `directory` */
} rlf_run_options;

/* Open every resource and node on every rank of this process. The plan, its
 * graph and the classes must outlive the run; the options' texts too. A plan
 * for one rank runs in the calling thread; else each rank has a thread of its
 * own and the calling thread of process 0 is the controller's. In the other
 * processes a run that is open can only be followed, and closed. After an error
 * *out is a run that can only be closed. */
rlf_status rlf_run_open(const rlf_plan *plan, const rlf_run_options *options,
                        rlf_err *err, rlf_run **out);
/* False: a rank's thread is stuck in somebody else's code and could not be
 * ended within `patience`, so nothing was freed, and what the run was given has
 * to stay. NULL is fine. */
bool rlf_run_close(rlf_run *run);

/* The next step. After an error the step's state is void and the run can only
 * be rescued and closed. */
rlf_status rlf_run_step(rlf_run *run, rlf_err *err);
/* Waits, in a process without the controller, until the run has ended. */
rlf_status rlf_run_follow(rlf_run *run, rlf_err *err);
/* Steps done so far, also before a resume. */
uint32_t rlf_run_steps(const rlf_run *run);
/* A break outside of all loops was taken: no further step. */
bool rlf_run_ended(const rlf_run *run);
/* The last step asked for a checkpoint that is not written yet. */
bool rlf_run_wants_checkpoint(const rlf_run *run);
/* Steps of one epoch of the data that the flow draws from; 0: none. */
uint64_t rlf_run_epoch(const rlf_run *run);

/* Writes what the first rank of this process is doing now, in words for people:
 * "actor.generate", "" if nothing. From any thread. */
void rlf_run_doing(const rlf_run *run, char *text, size_t room);

/* Finds a rank of this process whose work could not be noted in its flight
 * record: true once a rank, and *err says why. */
bool rlf_run_unnoted(const rlf_run *run, rlf_err *err);

/* Between steps: what the last step reported. */
const rlf_metrics *rlf_run_metrics(const rlf_run *run);
/* One JSON object a line for the first `most` samples of each set that the
 * flow generated in the last step: step, set, prompt, response, its named
 * columns of one value a sample, and the fields of its data row. Given to
 * `take`, with `arg`, some whole lines at a time; its first error ends it. */
typedef rlf_status (*rlf_take_lines)(void *arg, const char *lines, size_t n,
                                     rlf_err *err);
rlf_status rlf_run_samples(const rlf_run *run, uint32_t most,
                           rlf_take_lines take, void *arg, rlf_err *err);
/* The set that these lines call so, or, if name is NULL, the first that does not
 * only serve metrics; else the set of given responses that the program calls
 * so, or the first; -1: there is none. */
int rlf_sampled_set(const rlf_graph *graph, const char *name);
/* A named number of each sample, or of each token: that of token t of a sample
 * is at rows->tokens->offset[row] + t. */
typedef struct rlf_recorded_value {
    const char *name;
    const double *number;
} rlf_recorded_value;

typedef struct rlf_recorded_values {
    rlf_recorded_value *data;
    size_t count, room;
} rlf_recorded_values;

/* A set that the flow generated, by its name in those lines, with its first n
 * samples and what nodes of the step made for each of them, and for each of
 * their tokens. */
typedef struct rlf_recorded_set {
    const char *name;
    const struct rlf_rows *rows;
    uint32_t n;
    rlf_recorded_values numbers; /* of samples: number[row] */
    rlf_recorded_values values;  /* of tokens */
} rlf_recorded_set;

typedef struct rlf_recorded_sets {
    rlf_recorded_set *data;
    size_t count, room;
} rlf_recorded_sets;

/* Between steps: the sets of the last step whose lines rlf_run_samples gives,
 * appended to *out in that order. In `arena`, but for the rows and the numbers,
 * which are the step's. */
rlf_status rlf_run_recorded(const rlf_run *run, uint32_t most, rlf_arena *arena,
                            rlf_err *err, rlf_recorded_sets *out);
/* A number value of the graph as the last step left it on the first rank; NULL:
 * it is not there. */
const rlf_column *rlf_run_column(const rlf_run *run, int value);
/* Seconds of the last step that went to one of RLF_TIMES: the mean of all
 * ranks, so that with the rest they add up to the step's. */
double rlf_run_seconds(const rlf_run *run, int which);
/* The last step of a rank, whose seconds add up to `seconds`, those of the
 * step. It waits while it has nothing to do before its next command, or for
 * messages of other ranks; what a device waits for by itself counts to what it
 * does. */
rlf_rank_use rlf_run_rank(const rlf_run *run, int rank, double seconds);
/* Seconds that a node keeps the rank which it keeps longest, waiting in it for
 * others included: the mean of the steps since the run was opened in which it
 * took any; the first step, in which much is done for the first time, counts
 * only where it is alone. 0 unless the options ask for it. */
double rlf_run_call_seconds(const rlf_run *run, int node);
/* Response tokens generated for the last step, whenever that was. */
uint64_t rlf_run_tokens(const rlf_run *run);
/* The plan and the resources as the first rank of this process opened them. */
rlf_opened rlf_run_opened(const rlf_run *run);
/* Between steps: puts the weights of the model that is resource `model` into
 * *out, which has none where the rank that has gathered them is of another
 * process; the caller frees it (rlf_gathered_free), also after an error, which
 * ends the run. */
rlf_status rlf_run_gather(rlf_run *run, int model, struct rlf_gathered *out,
                          rlf_err *err);
/* The needs of any rank of the run, in process 0; work and runs only where it
 * is dry. */
const rlf_needs *rlf_run_needs(const rlf_run *run, int rank);
/* The text of what decides the bits of products on the run's devices, beside
 * their kind and the type (rlf_backend.choose), the same on all ranks, or "".
 */
const char *rlf_run_products(const rlf_run *run);
/* Threads of the first rank of this process, and the instruction set of its
 * kernels (NULL: they have none). */
int rlf_run_threads(const rlf_run *run);
const char *rlf_run_isa(const rlf_run *run);
/* Data that could be read only once is known by its rows: from here on inputs
 * say so. */
void rlf_run_settle_inputs(rlf_run *run);
/* Notes of the resources for who starts a run, in lines. */
void rlf_run_notes(const rlf_run *run, rlf_buf *out);
/* For tests that hold what plans count against what runs take: the memory of
 * the first rank of this process by purpose, as its plan counts it; */
void rlf_run_memory(const rlf_run *run, rlf_memory *out);
/* device bytes that it had allocated at most, from opening on; */
uint64_t rlf_run_device_bytes(const rlf_run *run);
/* bytes of its pools: what the last step, and those made ahead, left there; of
 * a program whose steps begin and end together (at most one ahead). */
uint64_t rlf_run_pool_bytes(const rlf_run *run);

/* ---- checkpoints (checkpoint.c) ---- */

/* Write DIRECTORY/checkpoints/step-N: beside, fsynced, renamed; older ones than
 * are to be kept go only then, but never that of the best step. `said` gets lines
 * about files of others that were in those. */
rlf_status rlf_run_save(rlf_run *run, const rlf_checkpoint_metadata *metadata,
                        rlf_err *err, rlf_buf *said);
/* After a step that failed: as rlf_run_save for the step before. RLF_AGAIN: what
 * a checkpoint has of that one is not there any more, or not in one place, and
 * *err says why in a clause. */
rlf_status rlf_run_rescue(rlf_run *run, const rlf_checkpoint_metadata *metadata,
                          rlf_err *err, rlf_buf *said);
/* In a process without the controller, after an error in a step: what its ranks
 * have of the step before goes into that checkpoint, if process 0 asks. */
void rlf_run_rescue_follow(rlf_run *run);
/* Go on from the newest checkpoint that is whole: verifies that, and that it is
 * of these inputs. Damaged newer ones are set aside, and told of. Texts of *out last as long as the run. Call before the
 * first step. */
rlf_status rlf_run_resume(rlf_run *run, rlf_err *err, rlf_resumed *out);

/* Are the inputs those of the list `was`, which stands in `file`? Else RLF_USER
 * names what differs and was not accepted. What was accepted is in *accepted,
 * as in rlf_resumed, and is written into later checkpoints: `step` steps were
 * done with the former. */
rlf_status rlf_run_compare(rlf_run *run, const json_t *was, const char *file,
                           uint32_t step, rlf_err *err, const char **accepted);

/* Are these the inputs of the newest checkpoint in the run's directory, or if
 * there is none, those that the run recorded when it began (`begun`; NULL: that
 * is not known)? As a resume asks, but before anything is opened, and so
 * without the inputs that are known only then, which are taken out of both
 * lists: RLF_USER names what differs. */
rlf_status rlf_run_inputs(rlf_inputs *inputs, const char *directory,
                          json_t *begun, rlf_arena *arena, rlf_err *err);

/* Shards and lanes per resource of the newest checkpoint in the run's
 * directory, or if there is none, of the inputs that the run `begun` with, for
 * the plan of the run that goes on from it, on whatever ranks; *out is NULL if
 * neither is known. */
rlf_status rlf_run_sums(const rlf_graph *graph, const char *directory,
                        const json_t *begun, rlf_arena *arena, rlf_err *err,
                        const rlf_sums **out);

#endif
