/* A step has failed: the one before is saved, if what a checkpoint has of it is
 * still there.
 *
 * At the beginning of a step every rank marks what lasts
 * (rlf_resource_class.mark): cursors and states are copied, of weights it is
 * noted whether anything has begun to change them. After an error no message
 * can be sent any more, so each rank writes what it has by itself, and what
 * would have to be gathered is not saved. Processes that write something learn
 * of it by files beside what they write. Not here: files of a checkpoint
 * besides those of the resources (checkpoint.c). */
#include "engine/base/clock.h"
#include "engine/graph/class.h"
#include "engine/io/file.h"
#include "engine/sched/retention.h"
#include "engine/sched/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void
rlf_rank_mark(rlf_rank *rank, uint32_t step)
{
    for (size_t i = 0; i < rank->graph->resources.count; i++) {
        const rlf_resource_class *class = rank->graph->resources.data[i].class;
        if (class->model || rank->rank == 0)
            class->mark(rank->env.resource[i]);
    }
    for (int i = 0; i < rank->n_steps; i++)
        rank->steps[i].marked = rank->steps[i].tokens;
    rank->marked = step;
}

/* The rank that writes resource i; -1: several would have to. */
static int
writer_of(const rlf_plan *plan, size_t i)
{
    if (!plan->graph->resources.data[i].class->model)
        return 0;
    const rlf_layout *layout = &plan->copies[i].list[0].mesh.layout;
    return layout->n_ranks == layout->dp ? layout->ranks[0] : -1;
}

static bool
is_fixed(const rlf_plan *plan, size_t i)
{
    return plan->graph->resources.data[i].class->model &&
           plan->copies[i].list[0].fixed;
}

/* Saves a resource as it was before the step: unchanged, where the step has not
 * begun yet. */
static rlf_status
rescue_one(rlf_rank *rank, size_t i, uint32_t step, const char *directory,
           rlf_err *err)
{
    const rlf_resource *r = &rank->graph->resources.data[i];
    if (rank->marked == step && !r->class->back(rank->env.resource[i])) {
        rlf_fail(err, RLF_AGAIN, "'%s' had begun to change in step %u", r->name,
                 step);
        return RLF_AGAIN;
    }
    return r->class->save(&rank->env, r, rank->env.resource[i], directory, err);
}

rlf_status
rlf_rank_rescue(rlf_rank *rank, uint32_t step, const char *directory,
                rlf_err *err)
{
    RLF_TRY(rlf_queue_sync(rank->queue, err));
    for (size_t i = 0; i < rank->graph->resources.count; i++) {
        if (is_fixed(rank->plan, i) || writer_of(rank->plan, i) != rank->rank)
            continue;
        rlf_status status = rescue_one(rank, i, step, directory, err);
        if (status != RLF_OK)
            return status;
    }
    return RLF_OK;
}

/* ---- the run ---- */

/* Of what is made ahead only what was complete when the step began: metrics of
 * its nodes, and its tokens. */
static void
take_ahead(rlf_run *run)
{
    const rlf_rank *rank = &run->ranks[0];
    for (uint32_t later = 1; later <= run->graph->ahead; later++) {
        size_t lane = (run->step + later) % run->n_steps;
        const rank_step *from = &rank->steps[lane];
        run_step *to = &run->steps[lane];
        for (size_t k = 0; k < from->metrics.count; k++) {
            const rlf_metric *m = &from->metrics.data[k];
            if (rlf_metric_reported(m) && run->graph->nodes.data[m->node].ahead)
                rlf_metrics_merge(&to->metrics, m);
        }
        to->tokens += from->marked;
    }
}

static rlf_status
fail_again(rlf_err *err, const char *why)
{
    rlf_fail(err, RLF_AGAIN, "%s", why);
    return RLF_AGAIN;
}

static rlf_status
check(const rlf_run *run, rlf_err *err)
{
    bool many = run->plan->ranks > 1;
    if (run->stands)
        return fail_again(err, "a rank has not come to its end");
    if (many && rlf_comm_lost(run->options.world) >= 0)
        return fail_again(err, "a process was lost");
    bool begun = run->ranks[0].marked == run->step + 1;
    if (run->graph->ahead && (many || !run->ahead_complete || !begun))
        return fail_again(err, "what is made ahead was not complete on rank 0 "
                               "when the step began");
    for (size_t i = 0; i < run->graph->resources.count; i++)
        if (!is_fixed(run->plan, i) && writer_of(run->plan, i) < 0) {
            rlf_fail(err, RLF_AGAIN, "several ranks have parts of '%s'",
                     run->graph->resources.data[i].name);
            return RLF_AGAIN;
        }
    return RLF_OK;
}

/* ---- several processes ---- */

/* Process 0 writes DIRECTORY/rescue, which says which step failed; process P,
 * which has to write something there, DIRECTORY/rescue-P: "begun", then "done"
 * or why not. None of them stays. */

/* Seconds that a process has to see that it is asked, and process 0 that it is
 * heard: as long as processes wait for process 0 to end all
 * (engine/api/processes.c).
 */
#define ASKED 4.0

enum { LOOK_NS = 20000000, MOST = 1 << 16 };

/* Does the process have to write something? */
static bool
has_part(const rlf_run *run, int process)
{
    int local = rlf_comm_world_local(run->options.world);
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        int writer = writer_of(run->plan, i);
        if (!is_fixed(run->plan, i) && writer >= 0 && writer / local == process)
            return true;
    }
    return false;
}

static int
count_processes(const rlf_run *run)
{
    return run->rank_threads
               ? rlf_comm_world_caps(run->options.world)->n_processes
               : 1;
}

static const char *
answer_path(const char *directory, int process, rlf_arena *arena)
{
    return rlf_path_join(arena, directory,
                         rlf_arena_printf(arena, "rescue-%d", process));
}

static rlf_status
ask_others(const rlf_run *run, const char *directory, rlf_arena *arena,
           rlf_err *err)
{
    const char *text = rlf_arena_printf(arena, "%" PRIu32 "\n", run->step + 1);
    bool any = false;
    for (int p = 1; p < count_processes(run); p++)
        any |= has_part(run, p);
    return any ? rlf_file_write(rlf_path_join(arena, directory, "rescue"), text,
                                strlen(text), err)
               : RLF_OK;
}

/* Wait for what process p says at last. */
static rlf_status
hear_other(const rlf_run *run, const char *directory, int p, rlf_arena *arena,
           rlf_err *err)
{
    const char *path = answer_path(directory, p, arena);
    double patience = run->options.patience * RLF_PATIENCE_FILES;
    uint64_t from = rlf_clock_now();
    for (;;) {
        rlf_buf text = {0};
        rlf_err ignored = RLF_ERR_NONE;
        bool there = rlf_file_read(path, MOST, &ignored, &text) >= 0 && text.n;
        bool begun = there && !strcmp(text.p, "begun");
        bool done = there && !strcmp(text.p, "done");
        if (there && !begun && !done)
            rlf_fail(err, RLF_AGAIN, "process %d: %s", p, text.p);
        rlf_buf_free(&text);
        if (done || err->status)
            return err->status;
        double most = !begun ? ASKED : patience > 0 ? patience : INFINITY;
        if (rlf_clock_since(from) > most)
            break;
        rlf_clock_sleep(LOOK_NS);
    }
    rlf_fail(err, RLF_AGAIN, "process %d does not answer", p);
    return RLF_AGAIN;
}

static rlf_status
hear_others(const rlf_run *run, const char *directory, rlf_arena *arena,
            rlf_err *err)
{
    for (int p = 1; p < count_processes(run); p++) {
        if (!has_part(run, p))
            continue;
        rlf_status status = hear_other(run, directory, p, arena, err);
        if (status != RLF_OK)
            return status;
        RLF_TRY(rlf_dir_remove(answer_path(directory, p, arena), err));
    }
    return rlf_dir_remove(rlf_path_join(arena, directory, "rescue"), err);
}

/* The step that failed, once process 0 asks; 0: it does not. */
static uint32_t
await_asked(const char *path)
{
    uint64_t from = rlf_clock_now();
    uint32_t step = 0;
    while (!step && rlf_clock_since(from) < ASKED) {
        rlf_buf text = {0};
        rlf_err ignored = RLF_ERR_NONE;
        if (rlf_file_exists(path) &&
            rlf_file_read(path, MOST, &ignored, &text) >= 0 && text.n)
            step = (uint32_t)strtoul(text.p, NULL, 10);
        rlf_buf_free(&text);
        if (!step)
            rlf_clock_sleep(LOOK_NS);
    }
    return step;
}

static void
answer(const char *path, const char *text)
{
    rlf_err ignored = RLF_ERR_NONE; /* process 0 notices that none comes */
    rlf_file_write(path, text, strlen(text), &ignored);
}

void
rlf_run_rescue_follow(rlf_run *run)
{
    const rlf_comm_world *world = run->options.world;
    int me = rlf_comm_world_process(world);
    if (!run->options.directory || rlf_comm_lost(world) >= 0 ||
        !has_part(run, me))
        return;
    rlf_arena *arena = rlf_arena_new();
    const char *directory =
        rlf_path_join(arena, run->options.directory, RLF_CHECKPOINT_WRITING);
    const char *path = answer_path(directory, me, arena);
    uint32_t step = await_asked(rlf_path_join(arena, directory, "rescue"));
    if (step) {
        rlf_err err = RLF_ERR_NONE;
        answer(path, "begun");
        rlf_status status =
            rlf_rank_threads_rescue(run->rank_threads, step, directory, &err);
        answer(path, status == RLF_OK ? "done" : err.sentence);
        rlf_err_clear(&err);
    }
    rlf_arena_free(arena);
}

rlf_status
rlf_run_rescue_ranks(rlf_run *run, const char *directory, rlf_err *err)
{
    rlf_status status = check(run, err);
    if (status != RLF_OK)
        return status;
    if (run->rank_threads) {
        rlf_arena *arena = rlf_arena_new();
        status = ask_others(run, directory, arena, err);
        if (status == RLF_OK)
            status = rlf_rank_threads_rescue(run->rank_threads, run->step + 1,
                                             directory, err);
        if (status == RLF_OK)
            status = hear_others(run, directory, arena, err);
        rlf_arena_free(arena);
        return status;
    }
    status = rlf_rank_rescue(&run->ranks[0], run->step + 1, directory, err);
    if (status == RLF_OK)
        take_ahead(run);
    return status;
}
