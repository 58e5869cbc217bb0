/* One step: the controller's commands to the ranks, what they report back to
 * it.
 *
 * With one rank there is no mail: a command is a call, and what it did is told
 * at once. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/graph/class.h"
#include "engine/sched/state.h"

#include <stdio.h>

/* Adds the seconds of calls in the step that a rank has ended. */
static void
add_calls(rlf_run *run, const rlf_rank_event *event)
{
    size_t n = run->graph->nodes.count, first = (size_t)event->rank * n;
    if (event->n_calls != n)
        return;
    if (run->ended_steps[event->rank]++ == 1) {
        memset(run->calls + first, 0, n * sizeof *run->calls);
        memset(run->called + first, 0, n * sizeof *run->called);
    }
    for (size_t i = 0; i < n; i++) {
        run->calls[first + i] += event->calls[i];
        run->called[first + i] += event->calls[i] > 0;
    }
}

/* Keeps what a rank tells of its own time and memory in the step. */
static void
keep_own(rlf_run *run, const rlf_rank_event *event)
{
    rlf_rank_use *own = &run->own[event->rank];
    if (event->n_own != RLF_OWN_TIMES)
        return;
    memcpy(own->seconds, event->own, sizeof own->seconds);
    own->device = event->device_peak;
    own->pools = event->pools;
    own->process = event->process_peak;
}

static void
log_event(const rlf_run *run, const rlf_rank_event *event)
{
    if (!rlf_log_says(run->options.log, RLF_LOG_TRACE, RLF_SUB_SCHED))
        return;
    rlf_buf line = {0};
    rlf_rank_event_print(event, &line);
    rlf_log_trace(run->options.log, SCHED, "event%s", line.p);
    rlf_buf_free(&line);
}

static void
log_command(const rlf_run *run, int rank, const rlf_rank_command *command)
{
    if (!rlf_log_says(run->options.log, RLF_LOG_TRACE, RLF_SUB_SCHED))
        return;
    rlf_buf line = {0};
    rlf_rank_command_print(command, &line);
    rlf_log_trace(run->options.log, SCHED, "command to rank %d%s", rank,
                  line.p);
    rlf_buf_free(&line);
}

rlf_status
rlf_run_hear(rlf_run *run, const rlf_rank_event *event, rlf_err *err)
{
    log_event(run, event);
    if (event->n_steps > run->n_steps)
        return rlf_fail(err, RLF_BUG, "rank %d tells of %u steps", event->rank,
                        event->n_steps);
    if (event->n_steps)
        run->ends[event->rank] = *event;
    if (event->kind == RLF_EVENT_SAVED) {
        run->left--;
        return RLF_OK;
    }
    add_calls(run, event);
    keep_own(run, event);
    for (uint32_t i = 0; i < RLF_TIMES && i < event->n_spent; i++)
        run->seconds[i] += event->spent[i];
    return rlf_controller_tell(run, event, err);
}

static rlf_status
tell_rank(rlf_run *run, int rank, const rlf_rank_command *command, rlf_err *err)
{
    log_command(run, rank, command);
    return run->rank_threads
               ? rlf_rank_threads_tell(run->rank_threads, rank, command, err)
               : rlf_rank_execute(&run->ranks[rank], command, err);
}

/* The first rank whose process has not been heard of for half of `seconds`, or
 * -1. */
static int
silent_rank(const rlf_run *run, double seconds)
{
    for (int r = 0; r < run->plan->ranks; r++)
        if (rlf_comm_world_silence(run->options.world, r) > seconds / 2)
            return r;
    return -1;
}

/* Writes what the run waits for, in words for people; the first rank that has
 * not reported is err's, and the node. */
static void
say_waiting(const rlf_run *run, char *text, size_t room, rlf_err *err)
{
    uint64_t n;
    int instance, rank;
    if (run->left > 0) {
        snprintf(text, room, "%d %s not finished a checkpoint", run->left,
                 run->left == 1 ? "has" : "have");
    } else if (rlf_control_waits(run->control, &n, &instance, &rank) &&
               instance >= 0) {
        const rlf_order *order = rlf_control_order(run->control);
        const rlf_node *node = rlf_order_instance(order, instance)->node;
        char name[96];
        rlf_node_words(run->graph, node, name, sizeof name);
        snprintf(text, room,
                 "rank %d has not finished its part of %s in step %u", rank,
                 name, run->step + 1);
        rlf_err_place(err, node->span, name);
        err->rank = rank;
    } else {
        snprintf(text, room, "this is the end of step %u", run->step + 1);
    }
}

/* No rank made progress for longer than the run's patience. */
static rlf_status
stands_still(rlf_run *run, double seconds, rlf_err *err)
{
    run->stands = true;
    char waiting[192];
    int silent = silent_rank(run, run->options.patience);
    rlf_err at = RLF_ERR_NONE;
    say_waiting(run, waiting, sizeof waiting, &at);
    if (silent >= 0)
        rlf_fail(err, RLF_ENV,
                 "for %g s no rank made progress, and rank %d does not "
                 "respond: %s",
                 seconds, silent, waiting);
    else
        rlf_fail(err, RLF_ENV, "for %g s no rank made progress: %s", seconds,
                 waiting);
    rlf_err_place(err, at.span, at.node);
    err->rank = silent >= 0 ? silent : at.rank;
    if (run->options.directory && err->rank >= 0)
        rlf_flight_lost(run->options.directory, err->rank, false);
    rlf_rank_threads_waits(run->rank_threads, err);
    rlf_err_hint(err, "see what that rank is doing; if it is working, give "
                      "more seconds by --patience");
    return RLF_ENV;
}

/* Seconds that a wait takes too long only if its process did not run. */
#define STOPPED 0.5

static rlf_status
hear_next(rlf_run *run, rlf_err *err)
{
    rlf_rank_event event;
    double patience =
        run->options.patience * (run->left > 0 ? RLF_PATIENCE_FILES : 1);
    uint64_t began = rlf_clock_now();
    rlf_status status = rlf_rank_threads_hear(run->rank_threads, patience,
                                              run->arena, err, &event);
    /* who was stopped meanwhile has not listened for so long */
    if (status == RLF_AGAIN && rlf_clock_since(began) > patience + STOPPED)
        status = rlf_rank_threads_hear(run->rank_threads, patience, run->arena,
                                       err, &event);
    if (status == RLF_AGAIN)
        return stands_still(run, patience, err);
    RLF_TRY(status);
    return rlf_run_hear(run, &event, err);
}

rlf_status
rlf_run_fail(rlf_run *run, rlf_status status, rlf_err *err)
{
    if (status >= 0 || !run->rank_threads)
        return status;
    if (status == RLF_PEER)
        return rlf_rank_threads_cause(run->rank_threads, err);
    rlf_comm_abort(run->options.world, err);
    return status;
}

static void
add_totals(run_step *to, const rlf_step_totals *from)
{
    to->tokens += from->tokens;
    for (uint32_t i = 0; i < from->n_metrics; i++)
        if (rlf_metric_reported(&from->metrics[i]))
            rlf_metrics_merge(&to->metrics, &from->metrics[i]);
}

/* Gathers the reports of the ranks about their steps, in the order of ranks. */
static void
gather(rlf_run *run)
{
    for (int r = 0; r < run->plan->ranks; r++) {
        rlf_rank_event *end = &run->ends[r];
        for (uint32_t i = 0; i < end->n_steps; i++)
            add_totals(&run->steps[i], &end->steps[i]);
        end->n_steps = 0;
    }
}

static void
begin_step(run_step *s)
{
    rlf_metrics_begin(&s->metrics);
    s->tokens = 0;
}

rlf_status
rlf_run_tell_all(rlf_run *run, const rlf_rank_command *command, rlf_err *err)
{
    bool answers = command->kind == RLF_DO_SAVE ||
                   command->kind == RLF_DO_RESTORE ||
                   command->kind == RLF_DO_GATHER;
    run->left = answers ? run->plan->ranks : 0;
    for (int r = 0; r < run->plan->ranks; r++)
        RLF_TRY(tell_rank(run, r, command, err));
    while (run->left > 0)
        RLF_TRY(hear_next(run, err));
    if (answers)
        gather(run);
    return RLF_OK;
}

static rlf_status
post(rlf_run *run, const rlf_rank_command *command, rlf_err *err)
{
    for (int r = 0; r < run->plan->ranks; r++) {
        rlf_rank_command own;
        RLF_TRY(rlf_arena_room(
            run->arena, (size_t)command->n_moves * sizeof *command->moves,
            "a command to a rank", err));
        if (rlf_rank_command_for(run->control, command, r, run->arena, &own))
            RLF_TRY(tell_rank(run, r, &own, err));
    }
    return RLF_OK;
}

/* Takes all mail that is there already: more is posted with all that is known.
 */
static rlf_status
hear_all(rlf_run *run, rlf_err *err)
{
    rlf_rank_event event;
    while (!rlf_control_ended(run->control)) {
        rlf_status status = rlf_rank_threads_hear(run->rank_threads,
                                                  RLF_RANK_THREADS_NOT_AT_ALL,
                                                  run->arena, err, &event);
        if (status == RLF_AGAIN)
            break;
        RLF_TRY(status);
        RLF_TRY(rlf_run_hear(run, &event, err));
    }
    return RLF_OK;
}

/* Nothing is posted any more, and nobody has anything to do. */
static rlf_status
stuck(const rlf_run *run, rlf_err *err)
{
    const rlf_order *order = rlf_control_order(run->control);
    uint32_t complete = 0, n_rows = 0;
    int undone = rlf_order_undone(order, &complete, &n_rows);
    const rlf_node *node =
        undone >= 0 ? rlf_order_instance(order, undone)->node : NULL;
    char name[96] = "", rows[64] = "";
    if (node)
        rlf_node_words(run->graph, node, name, sizeof name);
    if (n_rows)
        snprintf(rows, sizeof rows, ", %u of %u rows are there", complete,
                 n_rows);
    rlf_fail(err, RLF_BUG,
             "step %u: nothing can run and the step is not complete%s%s%s",
             run->step + 1, node ? ": it lacks " : "", name, rows);
    if (node)
        rlf_err_place(err, node->span, name);
    return RLF_BUG;
}

/* Nothing can be posted before a rank has done more. */
static rlf_status
await(rlf_run *run, rlf_err *err)
{
    if (rlf_control_stands(run->control))
        return stuck(run, err);
    if (run->rank_threads) {
        RLF_TRY(hear_next(run, err));
        return hear_all(run, err);
    }
    if (run->ranks[0].generation >= 0)
        return rlf_rank_turn(&run->ranks[0], err);
    return stuck(run, err);
}

static rlf_status
run_posts(rlf_run *run, rlf_err *err)
{
    while (!rlf_control_ended(run->control)) {
        const rlf_rank_command *next;
        RLF_TRY(rlf_controller_next(run, err, &next));
        RLF_TRY(next ? post(run, next, err) : await(run, err));
    }
    return RLF_OK;
}

rlf_status
rlf_run_settle(rlf_run *run, rlf_err *err)
{
    const rlf_rank_command *next;
    if (!run->begun)
        return RLF_OK;
    rlf_control_settle(run->control);
    RLF_TRY(run_posts(run, err));
    gather(run);
    RLF_TRY(rlf_controller_gather(run, err));
    for (;;) {
        RLF_TRY(rlf_controller_next(run, err, &next));
        if (!next)
            return RLF_OK;
        RLF_TRY(post(run, next, err));
    }
}

static rlf_status
take_step(rlf_run *run, rlf_err *err)
{
    rlf_rank_command begin = {.kind = RLF_DO_BEGIN,
                              .instance = -1,
                              .node = -1,
                              .step = run->step + 1};
    run->ahead_complete = rlf_order_made_before(
        rlf_control_order(run->control), run->step + run->graph->ahead + 1);
    RLF_TRY(rlf_controller_begin(run, err, &begin.fresh));
    run->begun = true;
    uint32_t last = begin.step + run->graph->ahead;
    for (uint32_t i = 0; i < begin.fresh; i++)
        begin_step(&run->steps[(last - i) % run->n_steps]);
    RLF_TRY(rlf_run_tell_all(run, &begin, err));
    RLF_TRY(run_posts(run, err));
    gather(run);
    return RLF_OK;
}

static rlf_status
gather_weights(rlf_run *run, int model, rlf_err *err)
{
    const rlf_rank_command command = {
        .kind = RLF_DO_GATHER, .instance = -1, .node = -1, .model = model};
    RLF_TRY(rlf_run_settle(run, err));
    return rlf_run_tell_all(run, &command, err);
}

rlf_status
rlf_run_gather(rlf_run *run, int model, rlf_gathered *out, rlf_err *err)
{
    *out = (rlf_gathered){.arena = rlf_arena_new()};
    run->options.gathered = out; /* ranks read it once they are told */
    rlf_status status =
        rlf_run_fail(run, gather_weights(run, model, err), err);
    run->options.gathered = NULL;
    run->failed = run->failed || status < 0;
    return status;
}

rlf_status
rlf_run_step(rlf_run *run, rlf_err *err)
{
    if (run->failed || run->ended)
        return rlf_fail(err, RLF_BUG, "a run that has ended takes no step");
    rlf_arena_reset(run->arena);
    memset(run->seconds, 0, sizeof run->seconds);
    rlf_status status = take_step(run, err);
    if (status < 0) {
        run->failed = true;
        return rlf_run_fail(run, status, err);
    }
    run->step++;
    run->ended = rlf_order_left(rlf_control_order(run->control));
    return RLF_OK;
}
