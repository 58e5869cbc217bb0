/* One rank of a run: a device with its resources, the states of its nodes, and
 * what the instances of the present step have made here.
 *
 * A rank belongs to one thread, which opens it, carries out its commands one by
 * one and closes it. Nothing is shared between ranks but the plan, the graph
 * and the classes, which do not change. Private to this folder. */
#ifndef RLF_SCHED_RANK_H
#define RLF_SCHED_RANK_H

#include "engine/base/vec.h"
#include "engine/comm/device.h"
#include "engine/order/part.h"
#include "engine/mesh/groups.h"
#include "engine/sched/flight.h"
#include "engine/sched/run.h"

/* The outputs of one instance (engine/order). */
typedef struct slot {
    rlf_call call;
    const rlf_space *space; /* the rows that its pieces are made of, or NULL */
    bool opened;
    uint64_t n; /* the number of its last RUN; of a generation, of the first */
    bool reports; /* that RUN says that this rank reports */
} slot;

/* The state on a rank of one of the steps that are under way. */
typedef struct rank_step {
    rlf_env env; /* the environment of its calls, with a pool of its own */
    rlf_metrics metrics; /* metrics of nodes whose command says that they are
                            reported, since they were told */
    uint64_t tokens;     /* tokens that were generated since they were told */
    uint64_t marked;     /* tokens when the present step began */
} rank_step;

/* The number of what a rank does when it is at no node. */
static inline int
rlf_doing_of(rlf_do kind)
{
    return -1 - (int)kind;
}

/* Rows, or samples, that a rank has packed for others, until they were sent. */
typedef struct rank_message {
    rlf_batch *batch[2]; /* that of the sizes and that of the bytes; NULL: it
                            was sent, or nothing is */
    uint64_t *sizes;
    rlf_buf *bytes; /* per move: empty, or lent, where room is 0 */
    int n;
    uint64_t kept; /* bytes of memory that it takes */
} rank_message;

typedef struct rlf_rank {
    int rank;
    const rlf_plan *plan;
    const rlf_graph *graph;
    const rlf_run_options *options;
    rlf_device *device;
    rlf_memory_room limit; /* bytes that the run may take of its machine and of
                              its device, which the ranks there share alike */
    rlf_queue *queue;
    /* What decides the bits of products: rlf_backend.choose. */
    rlf_buf products;
    uint64_t scratch; /* device bytes of the queue itself */
    rlf_flight *flight;
    int doing; /* atomic: a node, or rlf_doing_of a command that is of none */
    rlf_env env;
    double called;       /* see rlf_env */
    void **node_state;   /* per node */
    bool *node_ready;    /* per node: init was called */
    RLF_VEC(slot) slots; /* per instance of the steps under way */
    rank_step *steps;    /* step s has number s % n_steps, and so has any
                            instance of it (engine/order/order.h) */
    int n_steps;
    rank_step *now;            /* the step of the command in hand */
    double seconds[RLF_TIMES]; /* seconds since the present step began, by
                                  purpose */
    double own[RLF_OWN_TIMES]; /* seconds since then, without waiting */
    uint64_t began, waited;    /* clock, and nanoseconds waited, then */
    double *calls;   /* per node: seconds since then; NULL: not asked for */
    int generation;  /* the instance that is a generation at work; -1: none */
    /* Turns of the generation that were not reported yet. */
    rlf_turns turns, decodes;
    RLF_VEC(int)
    joint;          /* trained instances that are to be carried out with
                       the next one */
    bool recording; /* the command in hand says so */
    bool wants_checkpoint;
    uint32_t marked; /* the step at whose begin all was marked; 0: none */
    RLF_VEC(rank_message)
    sent; /* messages that perhaps not all receivers have, the oldest first */
    uint64_t keeps; /* bytes that these may take before an edge waits */
    uint64_t received;       /* bytes of rows, by the last edge; */
    uint64_t exchanged; /* bytes of rows received and sent by the last edge */
    double
        taken; /* seconds that were measured of pieces of the command in hand */
    rlf_comm *comm;          /* NULL: the only rank */
    /* The transport to others, as it is foreseen. */
    rlf_device_transport transport;
    rlf_arena *arena;        /* the arena of what follows */
    rlf_weight_edge **edges; /* per resource and copy: to it, from the first */
    rlf_weight_edge **later; /* per resource and copy: from it, if it keeps
                                weights for another */
    uint64_t *passing; /* per resource: host bytes that weights pass through on
                          their way between processes */
    rlf_mesh_groups groups; /* groups of meshes and copies */
    /* Takes reports. */
    rlf_status (*tell)(void *sink, const rlf_rank_event *event, rlf_err *err);
    void *sink;
} rlf_rank;

/* Everything is in place already but device, resources, nodes and meshes.
 * `threads`: of its team; `run_threads`: of all ranks on this machine. */
rlf_status rlf_rank_open(rlf_rank *rank, int threads, int run_threads,
                         rlf_err *err);
/* Frees all that rlf_rank_open made, also after an error of it. */
void rlf_rank_close(rlf_rank *rank);
/* The plan and the resources as this rank opened them. */
rlf_opened rlf_rank_opened(const rlf_rank *rank);
/* Adds its memory by purpose. */
void rlf_rank_memory(const rlf_rank *rank, rlf_memory *out);
/* Counts its memory by purpose and its limit, and of a dry run its work, in
 * `arena`. */
void rlf_rank_needs(const rlf_rank *rank, rlf_arena *arena, rlf_needs *out);
/* Bytes of its pools, of all steps under way. */
uint64_t rlf_rank_pool_bytes(const rlf_rank *rank);
/* Ranks on the machine of this one, itself among them. */
int rlf_rank_neighbours(const rlf_comm_world *world, int rank);

/* ---- algorithms.c ---- */

/* Readies the rank's device for its operations, and agrees with all other ranks
 * on the algorithms they are made by: rank->products. All ranks make the call.
 */
rlf_status rlf_rank_choose_algorithms(rlf_rank *rank,
                                      const rlf_backend *backend, rlf_err *err);

/* ---- budget.c ---- */

/* Finds the device of the backend that is this rank's, and what it may take of
 * it and of the machine: rank->limit. All ranks make the call. */
rlf_status rlf_rank_find_limit(rlf_rank *rank, const rlf_backend *backend,
                               rlf_err *err, int *index);
/* Pools get what is left of a device's memory. All ranks make the call, once
 * their resources are open. */
rlf_status rlf_rank_fill_pools(rlf_rank *rank, rlf_err *err);

/* ---- execute.c ---- */

/* A node in words, for people: "actor.generate". */
void rlf_node_words(const rlf_graph *graph, const rlf_node *node, char *text,
                    size_t room);

/* The step that an instance is of. */
static inline rank_step *
rlf_rank_step(const rlf_rank *rank, int instance)
{
    return &rank->steps[instance % rank->n_steps];
}

/* One command, reporting what the controller needs to know. */
rlf_status rlf_rank_execute(rlf_rank *rank, const rlf_rank_command *command,
                            rlf_err *err);
/* What the trace calls a node. */
const char *rlf_rank_node_name(const rlf_rank *rank, const rlf_node *node);
/* One quantum of the open generation. */
rlf_status rlf_rank_turn(rlf_rank *rank, rlf_err *err);

/* There are n slots at least. */
rlf_status rlf_rank_slots(rlf_rank *rank, size_t n, rlf_err *err);
/* Step `step` takes the place of one that is over; what is made of it ahead is
 * made of weights and states with which step `since` begins. */
void rlf_rank_begin_step(rlf_rank *rank, uint32_t step, uint32_t since);

/* ---- sample_trace.c ---- */

/* Before an update, where the trace of a sample asks for it and the update
 * reads that: the gradient of the sample alone, which leaves no mark. */
rlf_status rlf_rank_train_alone(rlf_rank *rank, rlf_call *const *calls, int n,
                                rlf_err *err);
/* At the end of a step: what its nodes have at the sample that is looked at. */
void rlf_rank_trace_sample(rlf_rank *rank);

/* ---- rescue.c ---- */

/* The step `step` begins: what rlf_rank_rescue returns to. */
void rlf_rank_mark(rlf_rank *rank, uint32_t step);
/* After the step `step` failed, when no rank works any more: the part of this
 * rank in a checkpoint of the step before, into `directory`, without messages
 * to others. RLF_AGAIN: that cannot be had again, and *err says why; else the
 * error is that of writing. */
rlf_status rlf_rank_rescue(rlf_rank *rank, uint32_t step, const char *directory,
                           rlf_err *err);

/* ---- ahead.c ---- */

/* Restores what was made ahead for the steps after that of the checkpoint. */
rlf_status rlf_rank_restore_ahead(rlf_rank *rank,
                                  const rlf_rank_command *command,
                                  rlf_err *err);

/* ---- weights.c ---- */

/* The edges between a model's copies, once their shapes are known. */
rlf_status rlf_rank_open_edges(rlf_rank *rank, rlf_err *err);
/* One of them, carried out. */
rlf_status rlf_rank_move(rlf_rank *rank, const rlf_rank_command *command,
                         rlf_err *err);

/* ---- exchange.c ---- */

/* Samples in the making go to another replica: MOVE. */
rlf_status rlf_rank_hand_over(rlf_rank *rank, slot *s,
                              const rlf_rank_command *command, rlf_err *err);

/* The moves of an edge: rows of what an instance has made, between ranks. It
 * waits for those that send something to this rank, and for no receiver. */
rlf_status rlf_rank_exchange(rlf_rank *rank, slot *s,
                             const rlf_rank_command *command, rlf_err *err);
/* Frees messages that were sent, and waits for the oldest ones while all take
 * more than `most` bytes; with 0 for all of them. */
rlf_status rlf_rank_keep_sent(rlf_rank *rank, uint64_t most, rlf_err *err);

#endif
