/* Kinds of steps: a usual one, and those that have blocks of `every N steps`.
 *
 * A run decides by the number of the step, so that what each block adds to a
 * usual step is shared by N of them. Of an `every` in the block of another one
 * the steps count that both divide. A block whose N is known only in a run
 * is in each step here. Of an `if` that compares `step` with numbers a usual
 * step has what late steps have; of every other `if` it has the first block. */
#ifndef RLF_SIMULATE_STEP_KINDS_H
#define RLF_SIMULATE_STEP_KINDS_H

#include "engine/base/arena.h"
#include "engine/graph/graph.h"

typedef struct rlf_step_kind {
    /* A step of this number is one of the kind: that of a usual step is 1, else
     * the least with the block (rlf_simulate_options.number). */
    uint64_t number;
    /* Nothing in its own blocks takes time, as in those that only write a
     * checkpoint. */
    bool empty;
    double seconds; /* seconds of a step of the kind, which the caller sets */
    double added;   /* of that, seconds of blocks that no kind has whose number
                       divides this one; rlf_step_kinds_mean sets it */
} rlf_step_kind;

/* The kinds of a program's steps by number, from the usual one on, which is
 * always there. In `arena`; returns how many, or 0: all steps are alike, with
 * all blocks. */
int rlf_step_kinds(const rlf_graph *graph, rlf_arena *arena,
                   rlf_step_kind **out);
/* Seconds of a step on average over many. Blocks that fall into one step add
 * what each of them adds alone. */
double rlf_step_kinds_mean(rlf_step_kind *kinds, int n);

#endif
