/* The state of a run, shared by the files of this folder only. */
#ifndef RLF_SCHED_STATE_H
#define RLF_SCHED_STATE_H

#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "engine/order/control.h"
#include "engine/sched/rank_threads.h"
#include "engine/sched/rank.h"
#include "engine/sched/run.h"

/* Reports of all ranks about a step under way; of step s in steps[s % n_steps].
 */
typedef struct run_step {
    rlf_metrics metrics;
    uint64_t tokens; /* generated for it */
} run_step;

struct rlf_run {
    const rlf_plan *plan;
    const rlf_graph *graph;
    rlf_run_options options;
    rlf_control *control;
    rlf_arena *arena; /* the arena of what is told and heard in one step */
    rlf_arena *kept;  /* the arena of what lasts as long as the run */
    rlf_needs *needs; /* per rank, in `kept` */
    /* The other ranks; NULL: there is one, run inline. */
    rlf_rank_threads *rank_threads;
    rlf_rank *ranks; /* the ranks of this process */
    int n_local;
    run_step *steps;
    uint32_t n_steps;
    rlf_rank_event *ends; /* per rank: the last one with metrics */
    int left;         /* ranks that have not answered a SAVE, RESTORE or GATHER */
    uint32_t step;    /* the last one done */
    uint32_t saved_step; /* the newest checkpoint that this run has saved, or
                            went on from; 0: there is none */
    double seconds[RLF_TIMES]; /* seconds of the last step, of all ranks
                                  together, by purpose */
    rlf_rank_use *own; /* per rank: the last step, as the rank told of it */
    /* Since the run was opened, but for its first step where there are more:
     * [ranks][nodes] seconds, and steps in which it took any. */
    double *calls;
    uint32_t *called;
    uint32_t *ended_steps; /* per rank */
    rlf_buf accepted; /* JSON objects with commas: the differences that --accept
                         accepted */
    bool begun;          /* a step has begun since the run was opened */
    bool ahead_complete; /* when the present step began, all that is made
                            ahead was complete */
    bool ended;
    bool failed;
    bool stands; /* it failed because a rank does not get anywhere */
};

/* step.c: what a rank has to say. */
rlf_status rlf_run_hear(rlf_run *run, const rlf_rank_event *event,
                        rlf_err *err);
/* step.c: after a step, until what is made ahead in it is there, and rank 0 has
 * it. */
rlf_status rlf_run_settle(rlf_run *run, rlf_err *err);
/* ahead.c: what was made ahead, as rank 0 has it, into files of a checkpoint;
 * when all ranks wait. */
rlf_status rlf_run_save_ahead(const rlf_run *run, const char *directory,
                              rlf_arena *arena, rlf_err *err);
/* rescue.c: of the last step that is done, what ranks have, into `directory`.
 * RLF_AGAIN: it cannot be had again, and *err says why. */
rlf_status rlf_run_rescue_ranks(rlf_run *run, const char *directory,
                                rlf_err *err);
/* step.c: after an error in the controller's thread: all ranks stop; the status
 * and, where another rank failed first, that one's error. */
rlf_status rlf_run_fail(rlf_run *run, rlf_status status, rlf_err *err);
/* step.c: the same command for every rank; returns when all have said that they
 * are done (SAVE, RESTORE, GATHER) or at once (others). */
rlf_status rlf_run_tell_all(rlf_run *run, const rlf_rank_command *command,
                            rlf_err *err);
/* controller.c: what control.h has of the same names; RLF_MEMORY if its lists
 * find none, after which the run is over. */
rlf_status rlf_controller_begin(rlf_run *run, rlf_err *err, uint32_t *fresh);
rlf_status rlf_controller_next(rlf_run *run, rlf_err *err,
                               const rlf_rank_command **out);
rlf_status rlf_controller_tell(rlf_run *run, const rlf_rank_event *event,
                               rlf_err *err);
rlf_status rlf_controller_gather(rlf_run *run, rlf_err *err);
rlf_status rlf_controller_restore(rlf_run *run, uint32_t step, rlf_err *err);

#endif
