/* See search.h. What is searched counts memory by calls; the plan that is found
 * is then asked for all that a run would take, and if that is too much the
 * search is made again with as much less. */
#include "engine/api/search.h"

#include <math.h>

#include "engine/api/planned.h"
#include "engine/base/memory.h"
#include "engine/plan/candidate.h"
#include "nodes/table.h"

enum { TRIES = 6 };

/* Bytes that a rank of the plan takes of its device. */
static rlf_status
rank_memory(const rlf_outline *outline, const rlf_plan *plan, int rank,
            bool gpu, rlf_err *err, double *out)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_opened opened;
    rlf_status status =
        rlf_outline_rank(outline, plan, rank, scratch, err, &opened);
    if (status >= 0)
        *out = rlf_planned_memory(&opened, gpu, scratch);
    rlf_arena_free(scratch);
    return status;
}

/* The part of its memory that the fullest device would need. */
static rlf_status
fill(const rlf_session_found *f, const rlf_outline *outline, bool gpu,
     rlf_err *err, double *most, double *bytes)
{
    *most = 0;
    for (int r = 0; r < f->plan->ranks; r++) {
        const rlf_cluster *c = f->fronts.options.speeds->cluster;
        double room = rlf_cluster_part_of(c, r)->machine->device->memory;
        double takes;
        RLF_TRY(rank_memory(outline, f->plan, r, gpu, err, &takes));
        *bytes = fmax(*bytes, takes);
        *most = fmax(*most, takes / room);
    }
    return RLF_OK;
}

static rlf_status
search_once(rlf_session *s, const rlf_search_options *options,
            rlf_session_found *f, rlf_err *err)
{
    const rlf_problem *p = &f->fronts.problem;
    for (int b = 0; b < RLF_BASELINES; b++)
        rlf_baseline_make(p, (rlf_baseline)b, options, s->arena,
                          &f->baseline[b]);
    f->program.choice = RLF_NEW_ARRAY(s->arena, int, p->n_calls);
    f->is_known = rlf_fronts_find(&f->fronts, s->plan, f->program.choice);
    if (f->is_known)
        rlf_placing_look(rlf_estimator_new(p, s->arena), &f->program);
    rlf_search(p, options, s->arena, &f->found);
    const rlf_placing *best = &f->found.best;
    if (!isfinite(best->period)) {
        rlf_fail(err, RLF_USER,
                 "the program does not fit into the cluster '%s': of a device "
                 "with most %.1f GB are missing",
                 s->cluster->name, best->over / 1e9);
        rlf_err_hint(err, "take more machines, smaller models, or lower caps "
                          "(max_new:, tokens:, rows of the draw)");
        return RLF_USER;
    }
    rlf_place_row *rows = rlf_fronts_rows(&f->fronts, best->choice, s->arena);
    RLF_TRY(rlf_plan_candidate(s->graph, rows, p->n_calls,
                               f->fronts.options.plan, s->arena, err,
                               &f->plan));
    return rlf_plan_fits(f->plan, &rlf_node_classes, err);
}

static rlf_status
search(rlf_session *s, const rlf_search_options *options,
       const rlf_outline *outline, rlf_session_found *f, rlf_err *err)
{
    bool gpu = s->cluster->parts[0].machine->device->gpu;
    rlf_speeds *speeds = RLF_NEW(s->arena, rlf_speeds);
    rlf_plan_options *plan = RLF_NEW(s->arena, rlf_plan_options);
    *speeds = rlf_speeds_of(s->cluster, s->options.real != RLF_CAST_F32);
    *plan = (rlf_plan_options){.ranks = s->plan->ranks,
                               .backend = s->plan->numerics.backend,
                               .dtype = s->plan->numerics.dtype};
    const rlf_fronts_options fronts = {.graph = s->graph,
                                       .classes = &rlf_node_classes,
                                       .outline = outline,
                                       .speeds = speeds,
                                       .plan = plan};
    RLF_TRY(rlf_fronts_make(&fronts, s->arena, err, &f->fronts));
    double part = 1;
    double *memory = RLF_NEW_ARRAY(s->arena, double, plan->ranks);
    for (int try = 0; try < TRIES; try++) {
        double most;
        for (int r = 0; r < plan->ranks; r++)
            memory[r] =
                part *
                rlf_cluster_part_of(s->cluster, r)->machine->device->memory;
        f->fronts.problem.memory = memory;
        f->memory = 0;
        RLF_TRY(search_once(s, options, f, err));
        RLF_TRY(fill(f, outline, gpu, err, &most, &f->memory));
        if (most <= 1)
            return RLF_OK;
        part *= 0.98 / most;
    }
    return rlf_fail(err, RLF_USER,
                    "no placement was found whose plan fits into the devices "
                    "of the cluster '%s'",
                    s->cluster->name);
}

rlf_result
rlf_session_search(rlf_session *s, const rlf_search_options *options,
                   rlf_session_found *out)
{
    rlf_outline *outline = NULL;
    *out = (rlf_session_found){0};
    rlf_status status =
        rlf_outline_open(s->graph, &rlf_node_classes,
                         rlf_planned_kernels(s, s->arena), &s->err, &outline);
    if (status >= 0)
        status = search(s, options, outline, out, &s->err);
    rlf_outline_close(outline);
    if (status >= 0)
        status = rlf_memory_check(&s->err);
    return rlf_session_result(status);
}
