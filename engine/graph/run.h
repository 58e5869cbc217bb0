/* The surroundings of a node when it runs: sets, columns, and the rest.
 *
 * These are the run-time twins of graph.h. Sets and spaces of a step live in
 * the step's pool and are gone after it. */
#ifndef RLF_GRAPH_RUN_H
#define RLF_GRAPH_RUN_H

#include "engine/expr/space.h"
#include "engine/graph/caps.h"
#include "engine/graph/graph.h"
#include "engine/layout/layout.h"

/* A prompt: its text, and its tokens as the reader of its set writes them; in a
 * set without a reader there are no tokens, and of chats no text. Every model
 * writes prompts by itself: rlf_rows_prompts in nodes/rows.h. */
typedef struct rlf_prompt {
    rlf_str text; /* the text of chat messages, as the model's template wrote
                     them */
    const struct rlf_message *messages; /* chat messages of the data row */
    uint32_t n_messages;                /* 0: the prompt is a plain text */
    rlf_str tools; /* a JSON list of those that its row has; n 0: none */
    const uint32_t *ids;
    uint32_t n_ids;
    struct rlf_written **written; /* as models wrote it so far: a list that all
                                     copies share; NULL: it is not kept */
} rlf_prompt;

/* Tokens from..to-1. */
typedef struct rlf_token_run {
    uint32_t from, to;
} rlf_token_run;

/* All tokens behind a prompt where others speak between the model's turns, and
 * the runs of them that are the model's: in order, apart and not empty. */
typedef struct rlf_dialog {
    const uint32_t *ids;
    const rlf_token_run *runs;
    uint32_t n_ids, n_runs;
} rlf_dialog;

/* A response: tokens that the model wrote (end token included), and text. */
typedef struct rlf_sample {
    rlf_str text; /* the text of a response: sampled, without special tokens;
                     given, as it was given */
    const uint32_t *ids;
    uint32_t n_ids;
    bool finished; /* false: max_new or the context cut it off */
    const rlf_dialog *dialog; /* NULL: all that follows the prompt is `ids` */
} rlf_sample;

/* Tokens behind the prompt. */
static inline uint32_t
rlf_sample_length(const rlf_sample *sample)
{
    return sample->dialog ? sample->dialog->n_ids : sample->n_ids;
}

/* A sample set of one step. Arrays have one entry a row of their space. Parts
 * (where, split) have arrays of their own that point to the same contents. */
typedef struct rlf_rows {
    const rlf_set *set;
    rlf_space *prompts;  /* space of set->prompts */
    rlf_space *samples;  /* space of set->samples; == prompts if the same */
    rlf_space *tokens;   /* NULL: no responses */
    rlf_prompt *prompt;  /* per row of `prompts` */
    rlf_sample *sample;  /* per row of `samples`; NULL: no responses */
    uint32_t *data_row;  /* per row of `prompts`: row of the data resource */
    double *logprob; /* log-probabilities of its tokens, as sampled; NULL: it
                        was not sampled */
    float temperature;   /* at which logprobs of this set are taken; 1 if greedy
                            or not sampled */
    uint32_t lag; /* steps by which the weights that sampled it are older than
                     those that its step begins with */
    const struct rlf_reader *reader; /* the model that wrote the tokens of its
                                        prompts and responses; NULL: none did */
} rlf_rows;

/* The run-time content of one graph value. */
typedef union rlf_content {
    rlf_column column;
    rlf_rows *rows;
} rlf_content;

/* This rank's part in a node that several ranks carry out. Groups hold the
 * ranks in the order of their coordinates; one of a single rank is NULL. */
typedef struct rlf_mesh {
    rlf_layout layout;
    int zero;             /* 1: its replicas share the optimizer's state */
    rlf_coordinates at;   /* -1s: the rank is not in it, the groups are NULL */
    struct rlf_group *tp; /* ranks of the same pipeline stage and replica */
    struct rlf_group *pp; /* ranks with the same slice in every stage */
    struct rlf_group *dp; /* ranks with the same part of the weights */
    struct rlf_group *replica; /* all parts of the weights: tp and pp */
    struct rlf_group
        *slice; /* ranks with the same slice in all stages and replicas */
    struct rlf_group *all;     /* the whole mesh, in the order of its ranks */
    /* [chunks] of an update's: micro-batches under way at once at this stage,
     * 0: all that there are; NULL: 1 each. */
    const int *flights;
    /* [chunks] of those, at most so many between backward and weights; NULL:
     * backward is not split. */
    const int *owed;
} rlf_mesh;

/* The weights of a model as one layout has them. Calls whose ranks find the
 * same parts in a layout share its copy. */
typedef struct rlf_weight_copy {
    rlf_mesh mesh; /* the mesh; in a plan its layout alone */
    bool bare;     /* only `:=` on another model reads it */
    bool by_layer; /* its weights come layer by layer, and only what calls read
                      of them is kept */
    bool fixed;    /* nothing changes them: they are what was read */
    /* The class of the call that it is for. */
    const struct rlf_node_class *call;
    int later_of; /* > 0: only keeps weights until that copy takes them for what
                     is made ahead, once nobody reads its older ones */
} rlf_weight_copy;

/* All of a model's: the first is the one that changes, that of the update or,
 * without one, of a call. The others get its weights before they are read. */
typedef struct rlf_weight_copies {
    rlf_weight_copy *list;
    int n; /* >= 1 of a model, else 0 */
} rlf_weight_copies;

/* The division of a model's sums, whichever rank computes them: part of the
 * numerics (nodes/model/README.md, Shards and Lanes). */
typedef struct rlf_sums {
    int shards; /* partial sums where tensor parallelism would split */
    int lanes;  /* lanes of the gradients of a minibatch */
} rlf_sums;

/* The place where a value that is not finite was made. */
typedef struct rlf_nonfinite_place {
    rlf_span span;      /* source 0: that is not known */
    rlf_expr_code code; /* the operation */
    double value;       /* the value that it gave */
    bool known;         /* the values of its arguments are known: `argument` */
    double arg[3];
    /* Of what is infinite: the operation that made of it what is not a number,
     * as infinity minus infinity. */
    struct {
        bool made;
        rlf_expr_code code;
        bool known;
        double arg[3];
    } nan;
} rlf_nonfinite_place;

struct rlf_hook_sample;

/* A function of the program that uses the library, which a hook calls (see
 * rlf_hook_function in rlflow.h). */
typedef struct rlf_host_hook {
    const char *name; /* the name of the hook; NULL: the end of a list */
    const char *(*call)(void *arg, const struct rlf_hook_sample *sample,
                        double *value);
    void *arg;
} rlf_host_hook;

/* The surroundings of a call, constant during a step. */
typedef struct rlf_env {
    const rlf_graph *graph;
    bool planned;     /* nothing is run: no queue, groups can only be asked,
                         weights and tokenizers need not be there */
    struct rlf_queue *queue; /* this rank's device queue and team */
    const struct rlf_kernels *kernels; /* the kernels of its backend */
    int rank, n_ranks;          /* this one, of all */
    struct rlf_comm *comm;      /* its end of the world; NULL: it is alone */
    const rlf_mesh *mesh;       /* per node; NULL: all on this rank */
    const rlf_sums *sums;       /* per resource; NULL: 1 and 1 */
    const rlf_weight_copies *copies; /* per resource; NULL: one, on this rank */
    const int *const *copy; /* [node][resource] whose weights a node takes; -1:
                               none; NULL: the first */
    uint64_t seed;
    uint32_t day;         /* the date on which the run began: 20241231 */
    uint32_t step;        /* 1, 2, ... */
    uint32_t weights_step; /* the step that began with the weights and states
                              from which nodes that are computed ahead
                              (rlf_node.ahead) make their part of `step` */
    rlf_arena *pool;      /* reset after the step */
    void **resource;      /* per graph resource: what its class's open made */
    struct rlf_spools *spools; /* where rows of data go that memory does not
                                  copy; NULL: each rank has its own */
    const rlf_caps *caps; /* per graph resource, of models; NULL: defaults */
    struct rlf_log *log;
    bool check_pure; /* make every call of a Lua function twice */
    const rlf_host_hook *hooks; /* ended by one without a name; NULL: none */
    /* See rlf_run_options; NULL: never. */
    rlf_status (*stops)(void *arg, double seconds);
    void *stops_arg;
    double *called; /* seconds of Lua calls since the run is to end; NULL: it is
                       never asked, or each call is looked at by itself */
    struct rlf_trace_lane *trace; /* NULL: no trace */
    const struct rlf_measure *measure; /* NULL: nobody wants to know */
    /* A sample that is looked at (sample_trace.h); NULL: none is. */
    struct rlf_sample_trace *sample_trace;
    /* Metrics: report() calls it; the mean over the step is written. */
    void (*report)(void *sink, const char *name, double value);
    void *sink;
    /* Per value that is not finite: what made it so, as far as nodes have found
     * that out; NULL: nobody wants to know. */
    rlf_nonfinite_place *nonfinite;
} rlf_env;

/* The step that random numbers are keyed by: an evaluation is one, whatever
 * pieces its data comes in. */
static inline uint32_t
rlf_env_step(const rlf_env *env)
{
    return env->graph->evaluation.rows ? 1 : env->step;
}

/* Flags that a node raises for the scheduler. */
enum {
    RLF_RAISE_CHECKPOINT = 1, /* save at the end of the step */
    RLF_RAISE_BREAK = 2,      /* leave the innermost loop, or end the run */
};

/* One execution of a node (of one piece of it). */
typedef struct rlf_call {
    const rlf_env *env;
    const rlf_node *node;
    uint64_t iteration; /* hash of the loop counters around it; 0 outside */
    void *state;        /* what the class's init made for this node */
    rlf_content *in;    /* per input */
    rlf_content *out;   /* per output; storage made by `open` */
    /* The piece: rows of the node's granularity domain, ascending. NULL: all.
     * A batch class always gets NULL. */
    const uint32_t *rows;
    uint32_t n_rows;
    uint32_t raised; /* out: RLF_RAISE_* */
    /* Control. for: open sets `count` to its number of iterations, and step is
     * called once an iteration with `branch` = 0, 1, ... to make the contents
     * of the region's args (its outputs). if: step sets `branch` to the index
     * of the region to run or -1. every: step sets branch to 0 or -1. collect:
     * step is called with `branch` = -1 when the step comes to it, then with 0,
     * 1, ... before each round; what the region gave in the round before comes
     * after the inputs. It sets branch to 0 and the region's arg, behind its
     * outputs, for another round, else to -1 and makes its outputs. */
    uint32_t count;
    int branch;
    /* Streaming classes: more rows of the inputs have become complete since
     * the last step; `inputs_done`: no more will come. */
    bool inputs_done;
    /* Out, of what feeds a model: tokens that the step, or the operation of an
     * update, fed to it. Of those that generate, too: how
     * many samples can be at work here at once, however long they become. */
    uint32_t fed, seats;
    double keys; /* tokens that these looked at, each at those before it and
                    itself */
    bool alone; /* of what trains: of the loss's derivatives only those by the
                   sample that is looked at count (sample_trace.h) */
    uint32_t prefilled; /* tokens of prompts among those fed, and tokens fed
                           before and lost */
} rlf_call;

/* ---- making spaces and columns in a pool ---- */

/* A column of numbers (or texts) on `space`, zeroed. */
rlf_column rlf_column_new(rlf_arena *pool, const rlf_space *space, bool text);
/* As rlf_column_new, but RLF_MEMORY with the words `what` if there is none. */
rlf_status rlf_column_try(rlf_arena *pool, const rlf_space *space, bool text,
                          const char *what, rlf_err *err, rlf_column *out);
/* Room ahead for a set of so many rows (prompts and samples) and tokens, with
 * its spaces and lists of its rows: RLF_MEMORY, or making it cannot fail. */
rlf_status rlf_rows_room(rlf_arena *pool, const char *name, uint64_t rows,
                         uint64_t tokens, rlf_err *err);
/* A rows space of `count` rows with identities and, per direct up-domain, maps
 * that the caller fills in. */
rlf_space *rlf_space_rows(rlf_arena *pool, const rlf_graph *graph, int domain,
                          uint32_t count);
/* A tokens space over `rows` with room for `cap` tokens in each row (lengths
 * 0), or, if lengths is not NULL, packed with those lengths. */
rlf_space *rlf_space_tokens(rlf_arena *pool, const rlf_graph *graph, int domain,
                            rlf_space *rows, uint32_t cap,
                            const uint32_t *lengths);
/* The rows `keep` of `rows`'s samples (and, if prompts is not NULL, those
 * prompts) as an instance of the part `set`: prompts, samples and tokens with
 * their up maps, and all arrays. With prompts NULL the prompts stay. */
rlf_rows *rlf_rows_part(rlf_arena *pool, const rlf_graph *graph,
                        const rlf_set *set, const rlf_rows *rows,
                        const uint32_t *prompts, uint32_t n_prompts,
                        const uint32_t *samples, uint32_t n_samples);
/* The part of `whole` that belongs to `to`, as an instance of `set`, whose
 * prompts are those of `to`. Its samples are the rows of `to` (its samples, or
 * its prompts if `whole` has one sample a prompt), or, if `set` has samples of
 * its own, all that `whole` has for the prompts of `to`. */
rlf_rows *rlf_rows_belonging(rlf_arena *pool, const rlf_graph *graph,
                             const rlf_set *set, const rlf_rows *whole,
                             const rlf_rows *to);
/* Rows of several rounds put together (gather.c): of each round those that
 * belong to the prompts that it keeps, in order, round after round.
 *
 * `to` is made as `from` is, domain by domain: its domains, where they are not
 * the same, go up to one another as those of `from` do. Spaces are made once,
 * so that sets and columns of one gathering share them. */
typedef struct rlf_round_gather rlf_round_gather;
/* `prompts`: per round the space that the kept prompts, `kept[r][n_kept[r]]`
 * ascending, are rows of. */
rlf_round_gather *rlf_round_gather_new(rlf_arena *pool, const rlf_graph *graph,
                                       uint32_t n_rounds,
                                       const rlf_space *const *prompts,
                                       uint32_t *const *kept,
                                       const uint32_t *n_kept);
/* Per round a set; all must be of one temperature: RLF_USER if they are not. */
rlf_status rlf_round_gather_rows(rlf_round_gather *g, const rlf_set *to,
                                 rlf_rows *const *rounds, rlf_err *err,
                                 rlf_rows **out);
/* Per round a column; the result is on domain `to`. */
rlf_status rlf_round_gather_column(rlf_round_gather *g, int to,
                                   const rlf_column *rounds, rlf_err *err,
                                   rlf_column *out);

/* This rank's part in the call; of one rank where a run has no meshes. */
const rlf_mesh *rlf_call_mesh(const rlf_call *call);
/* Number of an argument: a constant, or the scalar that it names now, which is
 * held to the formal's bounds as a constant is while compiling. RLF_USER with
 * its place if it is out of them. */
rlf_status rlf_call_number(const rlf_call *call, const char *arg, rlf_err *err,
                           double *out);
/* The first place of a column of numbers that is not finite, in all rows or in
 * n; UINT64_MAX: all are. */
uint64_t rlf_column_nonfinite(const rlf_column *column, const uint32_t *rows,
                              uint32_t n);
/* Place an error of a node about a value that was made there, with a hint about
 * the operation that made it. */
void rlf_nonfinite_blame(const rlf_nonfinite_place *nonfinite,
                         const char *class, rlf_err *err);
/* Place an error about a value that is not finite at the expression that made
 * the first such input; false: there is none, or it is not known. */
bool rlf_call_place_nonfinite(const rlf_call *call, rlf_err *err);

#endif
