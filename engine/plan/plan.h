/* The plan: where and how each node runs, and in how much memory.
 *
 * Made once after the graph, read-only from then on; what changes lives in
 * sched's state, mirrored by node index. Its text form is a place block, its
 * hash (no paths, no host names) is what ranks compare before the first step
 * and what a checkpoint remembers. */
#ifndef RLF_PLAN_PLAN_H
#define RLF_PLAN_PLAN_H

#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "engine/layout/layout.h"
#include "engine/plan/caps.h"
#include "engine/plan/pipe.h"

/* Everything that determines the bits of a run besides program, parameters,
 * data and seed. */
typedef struct rlf_numerics {
    const char *backend; /* kernels/backend.h: "cpu" */
    const char *dtype;   /* the type of activations: "f32", "bf16" */
    const char *version; /* rlflow's */
    /* Shards and lanes of models about which no place row says more; no part of
     * the digest, which has those of each model. */
    int shards, lanes;
} rlf_numerics;

/* The place of a node: where it runs, and how its work is cut there. */
typedef struct rlf_node_place {
    rlf_partition partition;
    rlf_layout layout;
    int asked_dp; /* the dp that its place row or the ranks ask for; layout.dp
                     is less where the checkpoint has fewer lanes */
    int zero;     /* stage of the optimizer's sharding over dp */
    const char *schedule; /* the schedule of the pipeline, as in rlf_place_row;
                             "1f1b" if nothing is said */
    const char *table;
    int chunks;
    bool vee;             /* the second chunk is on the way back */
    const rlf_pipe *pipe; /* the pipeline of the table's file, or NULL */
    int pipe_model; /* the number of its model in that pipeline, or of the first
                       of its models */
    int pipe_copies; /* copies, each of which so many of its replicas run */
    const rlf_node *lead; /* the first of those updates that share the pipeline
                             when they are ready together; NULL: it is alone */
    int fused;            /* the number of updates that share it */
    const int *ranks;     /* ranks of the layout, as the place row lists them */
    int *flights; /* micro-batches of an update that a stage keeps at once,
                     [pp][chunks]; 0: all */
    int *owed;            /* [pp][chunks] of those between backward and weights,
                             at most; NULL: backward is not split */
    int tokens;           /* tokens of a micro-batch; 0: not said, see caps.h */
    bool recompute;       /* an update keeps only each layer's input */
    /* Of a generation, as in rlf_place_row: gather what is left on few replicas
     * when it is fewer samples than `migrate`. */
    int migrate; /* 0: never; -1: not said, found from what the run sees */
    int seats;   /* 0: not said, the same */
    rlf_carry carry;
    int *copy; /* per resource: which copy of it the node reads, or -1 */
} rlf_node_place;

typedef struct rlf_plan_options {
    int ranks;
    const char *backend; /* NULL: "cpu" */
    const char *dtype;   /* NULL: "f32" */
    /* Per resource: of the checkpoint that the run goes on from, a number of 0
     * as without one; NULL: none. */
    const rlf_sums *sums;
    const struct rlf_links *links; /* the links of the cluster, which have to
                                      stay; NULL: not known */
    /* Of the same graph, elsewhere placed: what it knows of the graph alone is
     * taken over; NULL: none. */
    const struct rlf_plan *same;
    /* The memory of stages by the schedule's name, remembered from plan to plan
     * (pipe_memory.h); NULL: nothing is remembered. */
    struct rlf_pipe_memories *kepts;
} rlf_plan_options;

typedef struct rlf_plan {
    const rlf_graph *graph;
    rlf_node_place *place; /* per node */
    const rlf_caps *caps;  /* per resource */
    const rlf_sums *sums;  /* per resource */
    rlf_weight_copies *copies; /* per resource; meshes have layouts alone */
    int *no_copy; /* per resource: -1; `copy` of nodes that read none */
    const struct rlf_links *links; /* no part of the digest; NULL: not known */
    rlf_numerics numerics;
    int ranks;
    rlf_digest program; /* the digest of the graph alone */
    rlf_digest shape;   /* the digest of what a plan depends on of the graph */
    const rlf_digest *values; /* per value: what it is made of; NULL: nothing is
                               made ahead */
    rlf_digest digest;
} rlf_plan;

rlf_status rlf_plan_make(const rlf_graph *graph,
                         const rlf_plan_options *options, rlf_arena *arena,
                         rlf_err *err, rlf_plan **out);
/* The node with whose place row another one is placed: of what is reduced over
 * vocab that of the logprobs, else itself. */
const rlf_node *rlf_plan_placed_as(const rlf_graph *graph,
                                   const rlf_node *node);
/* Does a row of the call change where anything is computed? Not if it only
 * names distributions over the vocabulary, which nothing reads but updates of
 * other models: these compute them where they are. */
bool rlf_plan_runs(const rlf_graph *graph, const rlf_node *call);
/* The row that says where a node runs, its own or the model's; NULL: none. */
const rlf_place_row *rlf_plan_row(const rlf_graph *graph, const rlf_node *node);
/* A line for every model that trains on fewer replicas than there could be, or
 * than it has. */
void rlf_plan_notes(const rlf_plan *plan, rlf_buf *out);
/* Writes the place block that would give this plan, and the numerics. */
void rlf_plan_print(const rlf_plan *plan, rlf_buf *out);
/* The place rows, in `arena`: *n of them. Where the place rows of calls
 * would give a model other shards or lanes than it has, a place row of the
 * whole model says them; `all`: of each model. */
rlf_place_row *rlf_plan_rows(const rlf_plan *plan, bool all, rlf_arena *arena,
                             int *n);
/* Writes that block alone. */
void rlf_plan_print_place(const rlf_plan *plan, bool all, rlf_buf *out);

#endif
