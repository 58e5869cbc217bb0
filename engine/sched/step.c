/* One step: the controller's posts to the ranks, what they report back to it.
 *
 * With one rank there is no mail: a post is a call, and what it did is told at
 * once. */
#include "engine/graph/class.h"
#include "engine/sched/state.h"

rlf_status
rlf_run_hear(rlf_run *run, const rlf_notice *notice, rlf_err *err)
{
    (void)err;
    if (notice->kind == RLF_NOTICE_SAVED) {
        run->left--;
    } else if (notice->kind == RLF_NOTICE_REPORT) {
        rlf_control_tell(run->control, &notice->report);
        if (notice->at_end)
            run->tokens += notice->tokens;
    }
    return RLF_OK;
}

static rlf_status
tell_rank(rlf_run *run, int rank, const rlf_task *task, rlf_err *err)
{
    return run->crew ? rlf_crew_tell(run->crew, rank, task, err)
                     : rlf_rank_carry_out(&run->ranks[rank], task, err);
}

static rlf_status
hear_next(rlf_run *run, rlf_err *err)
{
    rlf_notice notice;
    RLF_TRY(rlf_crew_hear(run->crew, run->arena, err, &notice));
    return rlf_run_hear(run, &notice, err);
}

rlf_status
rlf_run_tell_all(rlf_run *run, const rlf_task *task, rlf_err *err)
{
    bool answers =
        task->kind == RLF_TASK_SAVE || task->kind == RLF_TASK_RESTORE;
    run->left = answers ? run->plan->ranks : 0;
    for (int r = 0; r < run->plan->ranks; r++)
        RLF_TRY(tell_rank(run, r, task, err));
    while (run->left > 0)
        RLF_TRY(hear_next(run, err));
    return RLF_OK;
}

static rlf_status
post(rlf_run *run, const rlf_post *post, rlf_err *err)
{
    for (int r = 0; r < run->plan->ranks; r++) {
        rlf_task task;
        if (rlf_task_of(run->control, run->graph, post, r, run->arena, &task))
            RLF_TRY(tell_rank(run, r, &task, err));
    }
    return RLF_OK;
}

/* Nothing can be posted before a rank has done more. */
static rlf_status
await(rlf_run *run, rlf_err *err)
{
    if (run->crew)
        return hear_next(run, err);
    if (run->ranks[0].generation.instance >= 0)
        return rlf_rank_turn(&run->ranks[0], err);
    return rlf_fail(err, RLF_BUG,
                    "step %u: nothing can run and the step is not complete",
                    run->step + 1);
}

static rlf_status
run_posts(rlf_run *run, rlf_err *err)
{
    while (!rlf_control_ended(run->control)) {
        const rlf_post *next = rlf_control_next(run->control);
        RLF_TRY(next->kind == RLF_POST_WAIT ? await(run, err)
                                            : post(run, next, err));
    }
    return RLF_OK;
}

rlf_status
rlf_run_step(rlf_run *run, rlf_err *err)
{
    if (run->failed || run->ended)
        return rlf_fail(err, RLF_BUG, "a run that has ended takes no step");
    rlf_arena_reset(run->arena);
    run->tokens = 0;
    rlf_control_begin(run->control);
    const rlf_task begin = {
        .kind = RLF_TASK_BEGIN, .instance = -1, .step = run->step + 1};
    rlf_status status = rlf_run_tell_all(run, &begin, err);
    if (status >= 0)
        status = run_posts(run, err);
    if (status < 0) {
        run->failed = true;
        return status == RLF_PEER ? rlf_crew_cause(run->crew, err) : status;
    }
    run->step++;
    run->ended = rlf_order_left(rlf_control_order(run->control));
    return RLF_OK;
}
