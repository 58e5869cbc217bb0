/* The traffic of a plan: the edges of a step, and the messages and bytes that
 * go along them. A step of the controller is simulated with ranks that have
 * done everything at the moment when nothing more can be posted. It is the
 * second step, so that weights which the first one changed at its end are sent,
 * too.
 *
 * It is the controller of a run itself that is asked (control.h), so what is
 * said here is what it does, in a step at the caps: every set as large and
 * every sequence as long as it can be, `every` taken, the first side of every
 * `if`, nothing computed in pieces while a generation goes on. No clock, no
 * threads, no data. */
#ifndef RLF_ORDER_TRAFFIC_H
#define RLF_ORDER_TRAFFIC_H

#include "engine/graph/sizes.h"
#include "engine/order/control.h"
#include "engine/plan/edge.h"

/* An edge: what node `from` makes, for node `to`. */
typedef struct rlf_flow {
    int from, to; /* nodes; to -1: the samples that are written by rank 0 */
    rlf_side have, need;
    int times;        /* the number of times in the step */
    int rounds;       /* rounds of one time, at most */
    int64_t messages; /* messages of all times together, as is what follows */
    /* Of the rows' content; INFINITY: nothing bounds it. */
    double bytes;
    /* Bytes that the rank with the most sends, and receives. */
    double sent, received;
} rlf_flow;

/* The newest weights of a model go from its first copy to another. */
typedef struct rlf_weight_flow {
    int model, copy;
    int times; /* the number of times in the step */
} rlf_weight_flow;

/* The traffic of one step. */
typedef struct rlf_traffic {
    rlf_flow *list; /* flows, in the order in which they are first met */
    int count;
    /* Flows of weights by model and copy, of those that are met. */
    rlf_weight_flow *weights;
    int n_weights;
    double *sent; /* per rank, along all flows; those without a bound apart */
} rlf_traffic;

/* Counts the traffic of a step at the caps. `shown`: as in rlf_policy. The
 * lists are in `arena`. */
void rlf_traffic_count(const rlf_plan *plan, const rlf_sizes *sizes,
                       uint32_t shown, rlf_arena *arena, rlf_traffic *out);

#endif
