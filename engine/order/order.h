/* The controller: what runs next, as a pure state machine.
 *
 *     (state, what ranks have done) -> what can run
 *
 * It knows the graph, and of the run only metadata: which nodes were issued,
 * how many rows each has and which of them are complete. It has no clock, no
 * threads, no transport and never sees a tensor, so that a simulator can drive
 * the very code that drives a run.
 *
 * Nodes are *issued* in the order of the program, loops unrolled as they go; an
 * issued node is an *instance*. Each instance waits for the instances that make
 * its inputs and, through the resources that it reads or writes, for earlier
 * users of those. A node of grain SAMPLE or GROUP may run on the rows that are
 * complete while its producer is still at work; a node of grain BATCH waits for
 * all. Control nodes (for, if, every, break) stop the issuing until they are
 * answered, nothing else does. Of the instances that are ready the one issued
 * first runs first; a generation in flight yields to a piece once enough rows
 * wait for it (policy.piece).
 *
 * A collect is a loop whose end is not known before: when a round's keep is
 * done, a LOOP instance, which also takes what the round gave, answers `branch`
 * 0 for another round or -1. The last LOOP instance makes the collect's
 * outputs.
 *
 * Nodes that work k steps ahead (rlf_node.ahead) are a part of their own: in
 * step n that part of step n + k is issued first, then the rest of step n,
 * whose part was made k steps before; the first step begins with that of the
 * steps 1 to k besides. What is made ahead reads states and models as the step
 * begins with them: changes wait for it, but those of a model whose weights it
 * reads from a copy (policy.separate). A step is over when the rest of it is,
 * and what the next one begins with is there; what is made ahead for later ones
 * may still be at work, or wait.
 *
 * The order in which pieces run never changes what is computed. */
#ifndef RLF_ORDER_ORDER_H
#define RLF_ORDER_ORDER_H

#include "engine/graph/graph.h"

typedef struct rlf_order rlf_order;

typedef enum rlf_next {
    RLF_NEXT_RUN,  /* compute `rows` of the instance (all if NULL); the first
                      RUN of an instance also makes its outputs */
    RLF_NEXT_LOOP, /* make what iteration `turn` of a for is given; of a
                      collect, or say that there is none */
    RLF_NEXT_TURN, /* let the open generation take one turn */
    RLF_NEXT_WAIT, /* nothing to do before the next event */
    RLF_NEXT_END,  /* the step is complete */
} rlf_next;

typedef struct rlf_decision {
    rlf_next kind;
    int instance;
    uint32_t turn;        /* LOOP */
    const uint32_t *rows; /* RUN: a piece, ascending; NULL: all */
    /* The length of `rows`, which are good until the next call. */
    uint32_t n_rows;
} rlf_decision;

/* An instance and one of its outputs. */
typedef struct rlf_origin {
    int instance, port;
} rlf_origin;

/* An issued node. In a program that makes nothing ahead, indices count from 0
 * in each step; else index i of step s is i * (k + 1) + s % (k + 1). */
typedef struct rlf_instance {
    const rlf_node *node;
    uint64_t iteration; /* hash of the loop counters around it; the pieces of
                           all iterations of a for have the for's own */
    /* Per input of the node: the instance and output that make it. A piece of
     * a for is output `port` of the LOOP instance of that iteration (behind the
     * outputs of the node, which a for has none of). A LOOP instance of a
     * collect has as further inputs what its region gave in the round before;
     * instance -1 before the first. */
    rlf_origin *input;
    bool loop; /* it is one iteration, not the for or collect itself */
} rlf_instance;

/* The pieces of a generation's samples in runs of many ranks: those that have
 * done their share go on with a piece when it is complete, while others make
 * the rest. */
enum { RLF_PIECES = 8 };

/* In runs of many ranks a part may have more than the best possible by this part
 * of it, so that rows stay where they are, and those of a prompt together. */
enum { RLF_DEAL_SLACK = 16 };

typedef struct rlf_policy {
    uint32_t piece; /* rows that make a generation in flight yield; 0: it
                       never does, pieces run when it is over */
    uint32_t parts; /* pieces have at least this part of all rows */
    uint32_t shown; /* in runs of many ranks: rows of what the flow generated
                       and named that must be on rank 0 when a step ends */
    /* Of what is made ahead. Per resource: it reads this model only from copies
     * that it has when a step begins and that no update changes; per node that
     * is not: it reads such a copy, or what shares its memory. NULL: none. */
    const bool *separate, *copies;
} rlf_policy;

rlf_order *rlf_order_new(const rlf_graph *graph, rlf_policy policy);
/* Returns how many complete rows, of n that are being generated, are worth a
 * piece of what follows them; 0: it waits for all. */
uint32_t rlf_order_piece(const rlf_order *order, uint32_t n);
void rlf_order_free(rlf_order *order);
/* Begin a step; whatever was left of the one before is forgotten, but not what
 * is made ahead of it. Returns how many steps this begins with: 1, that of
 * step n + k, or in the first one, with all before that, k + 1. */
int rlf_order_begin(rlf_order *order);
/* The present step, which may have ended, is over only when all that is made
 * ahead in it is there as well. */
void rlf_order_settle(rlf_order *order);
/* True: what is made ahead for all steps before `step` is there. */
bool rlf_order_made_before(const rlf_order *order, uint64_t step);
/* Called before the first begin: `step` was the last one, and what is made
 * ahead for the k after it is there. The instances of each:
 * rlf_order_restored's nodes, in order. */
void rlf_order_restore(rlf_order *order, uint64_t step);
/* The i-th node of the flow itself that works ahead, or NULL. */
const rlf_node *rlf_order_restored(const rlf_graph *graph, int i);
/* The next thing that can be done. RUN, LOOP and TURN must be carried out, and
 * the order told of it, before the step can end, but more may be asked for
 * first. */
rlf_decision rlf_order_next(rlf_order *order);
/* The instance's outputs exist: n_rows rows; `owner` (which is kept) has the
 * prompt row of each if the rows belong to prompts, else it is NULL. */
void rlf_order_opened(rlf_order *order, int index, uint32_t n_rows,
                      const uint32_t *owner);
/* These rows are complete. */
void rlf_order_rows(rlf_order *order, int index, const uint32_t *rows,
                    uint32_t n_rows);
/* All rows are. Of a for: its iterations. Of if, every: the region to enter, or
 * -1; of a collect's LOOP: 0 for a round, or -1. Of a break: it is taken. */
void rlf_order_done(rlf_order *order, int index, uint32_t count, int branch,
                    bool leave);
/* Nothing of the step is left to be issued, but for what is made ahead. */
bool rlf_order_issued(const rlf_order *order);
/* The first instance that is not done, or -1: what a step that stands still
 * lacks. So many of its rows are complete, if they are known. */
int rlf_order_undone(const rlf_order *order, uint32_t *complete,
                     uint32_t *n_rows);
/* The next instance behind `after` (-1: the first) of those that come before
 * `id` in its step and of which not all was given out, or -1. */
int rlf_order_pending(const rlf_order *order, int id, int after);
/* The instance that was issued behind `id` in its step, or -1. */
int rlf_order_behind(const rlf_order *order, int id);
/* The next instance of the present step behind `after` (-1: the first) that has
 * all that it reads of others, and waits for who reads or writes the models and
 * states that it does; or -1. */
int rlf_order_held(const rlf_order *order, int after);
/* The generation that was given out and is not over, or -1. */
int rlf_order_generation(const rlf_order *order);
/* The first generation that was ready at the last rlf_order_next but for the
 * one that is not over, or -1. */
int rlf_order_next_generation(const rlf_order *order);
const rlf_instance *rlf_order_instance(const rlf_order *order, int index);
/* Returns how many instances the step has had until now; for tests. */
int rlf_order_count(const rlf_order *order);
/* The step was left by a break outside of all loops: the run ends after it. */
bool rlf_order_left(const rlf_order *order);
/* The newest instance and output of the step that make a value, or -1 (for what
 * is shown after the step). */
rlf_origin rlf_order_latest(const rlf_order *order, int value);
/* The same, of the step that is `later` (at most k) after the present one. */
rlf_origin rlf_order_later(const rlf_order *order, int later, int value);

#endif
