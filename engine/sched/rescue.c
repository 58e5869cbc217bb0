/* A step has failed: the one before is saved, if what a checkpoint has of it is
 * still there.
 *
 * When a step begins every rank marks what lasts (rlf_resource_class.mark):
 * cursors and states are copied, of weights it is noted whether anything has
 * begun to change them. After an error no message can be sent any more, so each
 * rank writes what it has by itself, and what would have to be gathered is not
 * saved. Not here: files of a checkpoint besides those of the resources
 * (checkpoint.c). */
#include "engine/graph/class.h"
#include "engine/sched/state.h"

void
rlf_rank_mark(rlf_rank *rank, uint32_t step)
{
    for (size_t i = 0; i < rank->graph->resources.count; i++) {
        rlf_resource_kind kind = rank->graph->resources.data[i].kind;
        if (kind == RLF_RESOURCE_MODEL || rank->rank == 0)
            rank->classes->resource[kind]->mark(rank->env.resource[i]);
    }
    for (int i = 0; i < rank->n_steps; i++)
        rank->steps[i].marked = rank->steps[i].tokens;
    rank->marked = step;
}

/* The rank that writes resource i; -1: several would have to. */
static int
writer_of(const rlf_plan *plan, size_t i)
{
    if (plan->graph->resources.data[i].kind != RLF_RESOURCE_MODEL)
        return 0;
    const rlf_layout *layout = &plan->holds[i].list[0].mesh.layout;
    return layout->n_ranks == layout->dp ? layout->ranks[0] : -1;
}

static bool
is_fixed(const rlf_plan *plan, size_t i)
{
    return plan->graph->resources.data[i].kind == RLF_RESOURCE_MODEL &&
           plan->holds[i].list[0].fixed;
}

/* Where the step has not begun yet nothing has changed. */
static rlf_status
rescue_one(rlf_rank *rank, size_t i, uint32_t step, const char *directory,
           rlf_err *err)
{
    const rlf_resource *r = &rank->graph->resources.data[i];
    const rlf_resource_class *class = rank->classes->resource[r->kind];
    if (rank->marked == step && !class->back(rank->env.resource[i])) {
        rlf_fail(err, RLF_AGAIN, "'%s' had begun to change in step %u", r->name,
                 step);
        return RLF_AGAIN;
    }
    return class->save(&rank->env, r, rank->env.resource[i], directory, err);
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
    if (many && rlf_comm_world_caps(run->options.world)->n_processes > 1)
        return fail_again(err, "ranks of several processes cannot agree on a "
                               "checkpoint after an error");
    bool begun = run->ranks[0].marked == run->step + 1;
    if (run->graph->ahead && (many || !run->whole || !begun))
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

rlf_status
rlf_run_rescue_ranks(rlf_run *run, const char *directory, rlf_err *err)
{
    rlf_status status = check(run, err);
    if (status != RLF_OK)
        return status;
    if (run->crew)
        return rlf_crew_rescue(run->crew, run->step + 1, directory, err);
    status = rlf_rank_rescue(&run->ranks[0], run->step + 1, directory, err);
    if (status == RLF_OK)
        take_ahead(run);
    return status;
}
