/* A plan of a session's program, simulated in full: does it fit into the
 * devices, how long do its steps take, and what does their time go to? */
#ifndef RLF_API_SIMULATING_TRIAL_H
#define RLF_API_SIMULATING_TRIAL_H

#include "engine/api/session.h"
#include "engine/mesh/outline.h"
#include "engine/simulate/account.h"
#include "engine/simulate/costs.h"
#include "engine/simulate/step_kinds.h"
#include "engine/timing/seconds.h"

typedef struct rlf_trial {
    /* The session that is simulated, which has a cluster. */
    const rlf_session *session;
    const rlf_plan *plan;
    rlf_arena *arena;
    rlf_opened *ranks; /* one each */
    rlf_sizes sizes;
    double *memory; /* per rank: bytes that it takes of its device */
    int fullest;    /* the rank that takes the largest part of its device */
    double fill; /* the part of its device that this rank takes; above 1 it does
                    not fit */
    double lacks;   /* bytes that the device of a rank lacks, of the one that
                       lacks most; below 0 each has as many to spare */
    double *host;   /* per rank: bytes of offloaded weights in its machine */
    rlf_page_room *pages; /* per node, of generations: of a replica */
    rlf_costs *costs; /* seconds of pieces, once rlf_trial_prepare was called */
    /* What rlf_trial_run found, or the last rlf_trial_simulate: */
    rlf_simulated out;
    rlf_costs_asked asked;
    rlf_timeline timeline;
    rlf_account account; /* seconds by purpose, of the steps that are counted */
    const uint32_t *seats; /* per node: of a replica; 0: no limit */
    double seated; /* seconds of a step if no sample waited for a seat or for
                      pages; 0: none does */
    rlf_step_kind *kinds; /* the kinds of steps, if not all steps are alike */
    int n_kinds;
} rlf_trial;

typedef struct rlf_trial_options {
    const rlf_speeds *speeds;
    const rlf_workload *workload; /* NULL: all rows as long as can be */
    uint64_t seed;
    /* Steps that are not counted, and steps that are; at least 1. */
    uint32_t warm, steps;
    double spread; /* as in rlf_simulate_options: fewer steps are enough; 0: all
                      are taken */
    rlf_map *moves; /* as in rlf_costs_options */
} rlf_trial_options;

/* Resources and memory of a plan of the session's program, or of a copy of it.
 * All in `arena`, which must end before the outline does. */
rlf_status rlf_trial_open(const rlf_session *session,
                          const rlf_outline *outline, const rlf_plan *plan,
                          rlf_arena *arena, rlf_err *err, rlf_trial *out);
/* The same of memory alone, on one rank of each kind
 * (engine/plan/rank_classes.h): nothing can be run of it. Scratch is made of
 * `arena`. */
rlf_status rlf_trial_weigh(const rlf_session *session,
                           const rlf_outline *outline, const rlf_plan *plan,
                           rlf_arena *arena, rlf_err *err, rlf_trial *out);
/* RLF_USER, if it does not fit, with how much is missing: of a device. */
rlf_status rlf_trial_fits(const rlf_trial *trial, rlf_err *err);
/* The same of the memory of a machine's host, which all of its ranks share, at
 * the row that offloads. */
rlf_status rlf_trial_host_fits(const rlf_trial *trial, rlf_err *err);
/* Makes the costs, and the options of the simulations that follow: steps with
 * the blocks of all `every`, unless `number` is set. */
rlf_status rlf_trial_prepare(rlf_trial *trial, const rlf_trial_options *options,
                             rlf_err *err, rlf_simulate_options *out);
/* One simulation: `out`, `timeline` and `account`, instead of those of an
 * earlier one. */
rlf_status rlf_trial_simulate(rlf_trial *trial,
                              const rlf_simulate_options *options,
                              rlf_err *err);
/* Both, and then those that `seated` and `kinds` take. */
rlf_status rlf_trial_run(rlf_trial *trial, const rlf_trial_options *options,
                         rlf_err *err);
/* Frees what is not in the arena; may be called of one that is all 0. */
void rlf_trial_close(rlf_trial *trial);

#endif
