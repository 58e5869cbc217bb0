/* Durations of a simulated run from the counts of nodes (rlf_cost) and the
 * speeds of a cluster's devices and links (seconds.h).
 *
 * Work is counted by the classes themselves, for the very pieces that are asked
 * for; a turn of a generation in stages is as many passes as there are stages,
 * each of a part of the samples. A move of weights takes its rounds one after
 * the other (engine/plan/realloc.h), each as long as its busiest rank. A sample
 * in the making goes over by what is quicker, its pages or its tokens. */
#ifndef RLF_SIMULATE_COSTS_H
#define RLF_SIMULATE_COSTS_H

#include "engine/base/map.h"
#include "engine/plan/memory.h"
#include "engine/timing/profile.h"
#include "engine/timing/seconds.h"
#include "engine/simulate/simulate.h"

typedef struct rlf_costs rlf_costs;

typedef struct rlf_costs_options {
    const rlf_opened *ranks; /* the ranks of the plan, one each, in order */
    const rlf_sizes *sizes;  /* sizes with nothing left open */
    const rlf_speeds *speeds;
    size_t real; /* bytes of an activation */
    /* Moves of weights that were timed for other plans of the same program with
     * the same speeds, links and activations, to which those of this plan are
     * added; NULL: each is timed. */
    rlf_map *moves;
} rlf_costs_options;

/* Pieces of work that were asked for, where speeds have profiles: what they
 * have a line for takes what that says. */
typedef struct rlf_costs_asked {
    uint64_t measured; /* had a line of their own */
    uint64_t alike;    /* had that of another cut */
    uint64_t counted;  /* had none */
    double seconds; /* seconds by lines; of these, seconds where a line goes on
                       beyond what was measured */
    double beyond;     /* the sizes that were measured */
} rlf_costs_asked;

/* Makes costs in `arena`; what the options name must live as long. */
rlf_status rlf_costs_new(const rlf_costs_options *options, rlf_arena *arena,
                         rlf_err *err, rlf_costs **out);
rlf_durations rlf_costs_durations(rlf_costs *costs);
rlf_costs_asked rlf_costs_asked_of(const rlf_costs *costs);
/* Per node: samples that a replica can have at work (rlf_simulate_options). */
const uint32_t *rlf_costs_seats(const rlf_costs *costs);
/* Likewise: tokens of a micro-batch of those that read or train a model. */
const uint32_t *rlf_costs_rooms(const rlf_costs *costs);

#endif
