/* Finds how long a step of a plan is on average over the steps of a run: a
 * simulation of each kind of step that the program's `every` makes
 * (engine/simulate/step_kinds.h), in which what stands in an `every N steps`
 * counts 1/N.
 *
 * All simulations of a search draw the same lengths for the same steps, so two
 * placements are compared step by step, which needs far fewer steps than to
 * know how long a step is. One that is clearly behind the best is given up. */
#ifndef RLF_API_SIMULATING_MEAN_STEP_H
#define RLF_API_SIMULATING_MEAN_STEP_H

#include "engine/api/simulating/trial.h"

/* After n counted steps of a kind a placement is given up that is behind by
 * more than that part of the best one's step, divided by n: of 211 that were
 * simulated to the end none that came within 1.6 % of the best would have been
 * (bench/RESULTS.md). */
#define RLF_MEAN_STEP_BEHIND 0.06

typedef struct rlf_mean_step {
    rlf_step_kind *kinds; /* one at least, by number; those that take no time
                             of their own left out; 0: all steps are alike */
    int n;
    double **took; /* per kind that was simulated: seconds of its `steps` */
    uint32_t steps;
    /* Given up: `step` is what the best one takes and what this one was behind,
     * with as many tokens; what is told of its time is of `done` kinds alone.
     */
    bool behind;
    int done;      /* kinds that were simulated, the last one in part */
    double step;   /* seconds */
    double tokens; /* a second: generated, or trained where none are */
    double idle;   /* part of all ranks' time */
    double spent[RLF_SPENTS]; /* seconds of a step, on average over ranks */
    double *calls;            /* per node: seconds of a step that has it */
    rlf_page_waits *paged;    /* per node: of the steps that have it */
} rlf_mean_step;

/* In `kept`; `trial` is open. `best`: the best so far of the same program,
 * lengths, seed and steps; NULL: nothing is given up. */
rlf_status rlf_mean_step_make(rlf_trial *trial,
                              const rlf_trial_options *options,
                              const rlf_mean_step *best, rlf_arena *kept,
                              rlf_err *err, rlf_mean_step **out);

#endif
