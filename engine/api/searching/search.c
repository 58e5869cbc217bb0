/* See search.h. What is searched counts memory by calls; the plan that is found
 * is then asked for all that a run would take, and if that is too much the
 * search is made again with as much less. */
#include "engine/api/searching/candidate.h"

#include <math.h>
#include <string.h>

#include "engine/api/searching/auto.h"
#include "engine/api/machines/planned_device.h"
#include "engine/base/memory.h"
#include "engine/plan/rank_classes.h"
#include "engine/plan/candidate.h"
#include "engine/plan/pipe_memory.h"
#include "engine/search/fixed_rows.h"
#include "engine/search/measure.h"
#include "nodes/table.h"

enum { TRIES = 6 };

/* Once the search is stopped only the first one is simulated. */
bool
rlf_search_stopped(rlf_searching *s, int done)
{
    const rlf_search_options *o = &s->options->search;
    rlf_session_found *f = s->out;
    if (!f->stopped && done && o->stop)
        f->stopped = o->stop(o->arg, f->found.best.period, f->found.bound);
    return f->stopped && done;
}

static rlf_status
simulate_all(rlf_searching *s, rlf_err *err)
{
    rlf_session_found *f = s->out;
    int done = 0;
    for (int i = 0; i < f->n_candidates; i++) {
        rlf_search_candidate *j = &f->candidates[i];
        if (!rlf_search_candidate_fits(j) ||
            rlf_search_candidate_take_same(f, j))
            continue;
        if (rlf_search_stopped(s, done))
            break;
        if (s->options->simulating)
            s->options->simulating(s->options->search.arg, i + 1,
                                   f->n_candidates);
        RLF_TRY(
            rlf_search_candidate_simulate(s, j, s->options->search.seed, err));
        done++;
    }
    return RLF_OK;
}

/* Of two that differ by less than is printed, the search's own is the best. */
static double
tie(const rlf_search_candidate *j, const rlf_search_candidate *best)
{
    double own = (j->place > 0) - (best->place > 0);
    return 1 + 5e-4 * own;
}

/* The shortest step by the simulation, where there was one; else by the
 * estimate. */
static void
choose(rlf_session_found *f)
{
    for (int i = 0; i < f->n_candidates; i++) {
        const rlf_search_candidate *j = &f->candidates[i], *best = f->best;
        if (!rlf_search_candidate_fits(j))
            continue;
        bool better = !best || (j->simulated && !best->simulated);
        if (best && j->simulated && best->simulated)
            better = j->step < best->step * tie(j, best);
        else if (best && !j->simulated && !best->simulated)
            better = j->is_known && j->placing.period < best->placing.period;
        if (better)
            f->best = j;
    }
}

/* ---- placements ---- */

static rlf_search_candidate *
add(rlf_searching *s, const char *name, int place, const rlf_placing *placing)
{
    rlf_search_candidate *j = &s->out->candidates[s->out->n_candidates++];
    *j = (rlf_search_candidate){.name = name,
                                .place = place,
                                .is_known = true,
                                .placing = *placing,
                                .base = -1};
    return j;
}

/* Puts the result of a trial of these lanes in front of the kept ones, if the
 * search found nothing shorter: it has another budget, so it may end
 * elsewhere. */
static void
keep_tried(rlf_searching *s)
{
    rlf_found *f = &s->out->found;
    const rlf_placing *tried = s->tried;
    s->tried = NULL;
    if (!tried || !rlf_placing_better(tried, &f->best))
        return;
    f->n_kept += f->n_kept < RLF_SEARCH_KEPT;
    for (int i = f->n_kept - 1; i > 0; i--)
        f->kept[i] = f->kept[i - 1];
    f->best = f->kept[0] = *tried;
}

/* A plan that does not fit tells what is missing. */
static void
note_lack(rlf_searching *s, const rlf_search_candidate *j)
{
    if (j->lacks > 0 && (s->lacks <= 0 || j->lacks < s->lacks))
        s->lacks = j->lacks;
}

/* Of what was found, where nothing fits: the placement that comes closest. A
 * plan of it may take more than the search counts. */
static void
weigh_closest(rlf_searching *s)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_search_candidate j = {.placing = s->out->found.best};
    if (isfinite(j.placing.over) &&
        rlf_search_candidate_plan(s, &j, &ignored) >= 0)
        note_lack(s, &j);
}

/* The search's placements, and plans of them; where none fits, those with the
 * fewest lanes. */
static rlf_status
search_once(rlf_searching *s, rlf_err *err)
{
    rlf_session_found *f = s->out;
    rlf_search_options options = s->options->search;
    rlf_search_ask ask = {s, &f->pareto, &s->plan, RLF_SEARCH_ASKED};
    options.may = rlf_search_may;
    options.may_arg = &ask;
    options.less = s->less;
    rlf_search(&f->pareto.problem, &options, s->session->arena, &f->found);
    s->less = f->found.less;
    keep_tried(s);
    f->stopped = f->found.stopped || s->cut;
    f->n_candidates = 0;
    if (!isfinite(f->found.best.period)) {
        bool again = false;
        if (!f->stopped)
            RLF_TRY(rlf_search_fewest_lanes(s, err, &again));
        if (again)
            return search_once(s, err);
        weigh_closest(s);
        rlf_search_room_lack(s);
        return rlf_search_room_fail(s, err);
    }
    bool many = s->plan.ranks <= RLF_SEARCH_SIMULATED;
    for (int i = 0; i < (many ? f->found.n_kept : 1); i++) {
        rlf_err why = RLF_ERR_NONE;
        if (rlf_search_stopped(s, i))
            break;
        rlf_search_candidate *j = add(s, "search", i + 1, &f->found.kept[i]);
        if (rlf_search_candidate_plan(s, j, &why) < 0 && !i) {
            *err = why;
            return why.status;
        }
    }
    return RLF_OK;
}

/* Until the plan of the best one fits as a run would count it. */
static rlf_status
search_until_fit(rlf_searching *s, rlf_err *err)
{
    rlf_pareto *pareto = &s->out->pareto;
    const rlf_cluster *cluster = s->ordered.cluster;
    double part = 1;
    double *memory = RLF_NEW_ARRAY(s->session->arena, double, s->plan.ranks);
    for (int try = 0; try < TRIES; try++) {
        for (int r = 0; r < s->plan.ranks; r++)
            memory[r] =
                part * rlf_cluster_part_of(cluster, r)->machine->device->memory;
        pareto->problem.memory = memory;
        RLF_TRY(search_once(s, err));
        const rlf_search_candidate *first = &s->out->candidates[0];
        if (rlf_search_candidate_fits(first))
            return RLF_OK;
        note_lack(s, first);
        part *= 0.98 / fmax(1, first->fill);
    }
    for (int i = 0; i < s->out->n_candidates; i++)
        if (rlf_search_candidate_fits(&s->out->candidates[i]))
            return RLF_OK;
    rlf_fail(err, RLF_USER,
             "no placement was found whose plan fits into the devices of the "
             "cluster '%s'",
             cluster->name);
    if (rlf_fixed_rows_any(pareto))
        rlf_err_hint(err, "leave out some of the rows that are kept");
    return RLF_USER;
}

/* The observer sees the best so far, also while others' placements are made. */
static bool
stop_others(void *arg, double period, double bound)
{
    const rlf_searching *s = arg;
    const rlf_search_options *o = &s->options->search;
    (void)period, (void)bound;
    return o->stop &&
           o->stop(o->arg, s->out->found.best.period, s->out->found.bound);
}

/* The program's own plan and those of others, to stand beside it. What the
 * program would have without a search does not keep the rows that are beside
 * `auto`, unless by chance. */
static void
add_others(rlf_searching *s)
{
    rlf_session_found *f = s->out;
    rlf_session *session = s->session;
    const rlf_problem *p = &f->pareto.problem;
    rlf_err ignored = RLF_ERR_NONE;
    rlf_search_options options = s->options->search;
    options.stop = stop_others;
    options.arg = s;
    rlf_placing own = {.period = INFINITY, .over = INFINITY};
    own.choice = RLF_NEW_ARRAY(session->arena, int, p->n_calls);
    bool known = rlf_pareto_find(&f->pareto, session->plan, own.choice);
    rlf_search_candidate *j;
    if (known)
        rlf_placing_look(rlf_estimator_new(p, session->arena), &own);
    if (known || s->options->keeps || !rlf_fixed_rows_any(&f->pareto)) {
        j = add(s, "program", 0, &own);
        j->is_known = known;
        j->plan = session->plan;
        rlf_search_candidate_plan(s, j, &ignored);
    }
    for (int i = 0; i < f->found.n_lesser && !rlf_search_stopped(s, 1); i++) {
        j = add(s, "less", 0, &f->found.lesser[i]);
        rlf_search_candidate_plan(s, j, &ignored);
    }
    if (f->found.here.period < f->found.best.period &&
        !rlf_search_stopped(s, 1)) {
        j = add(s, "here", 0, &f->found.here);
        rlf_search_candidate_plan(s, j, &ignored);
    }
    for (int n = p->devices / 2; n && !rlf_search_stopped(s, 1); n /= 2) {
        rlf_placing at;
        rlf_baseline_first(p, n, session->arena, &at);
        if (!isfinite(at.period))
            continue;
        j = add(s, rlf_arena_printf(session->arena, "first-%d", n), 0, &at);
        j->first = true;
        rlf_search_candidate_plan(s, j, &ignored);
    }
    for (int b = 0; b < RLF_BASELINES && !rlf_search_stopped(s, 1); b++) {
        rlf_placing at;
        if (b == RLF_BASELINE_REAL && options.moves < 1)
            continue; /* that is all moves */
        rlf_baseline_make(p, (rlf_baseline)b, &options, session->arena, &at);
        j = add(s, rlf_baseline_word((rlf_baseline)b), 0, &at);
        if (isfinite(at.period))
            rlf_search_candidate_plan(s, j, &ignored);
    }
}

/* ---- what its seconds are made of ---- */

/* Of the choice for a call, as it was measured. */
static rlf_status
find_terms_of(const rlf_searching *s, int call, rlf_err *err)
{
    rlf_session_found *f = s->out;
    const rlf_pareto *pareto = &f->pareto;
    const rlf_choice *at =
        &pareto->problem.calls[call].choices[f->best->placing.choice[call]];
    rlf_call_measure m;
    rlf_arena *scratch = rlf_arena_new();
    rlf_status status =
        rlf_measure_begin(&m, pareto, pareto->calls[call].model, scratch, err);
    m.only = call;
    if (status >= 0)
        status = rlf_measure_layout(&m, at, err);
    if (status >= 0)
        f->terms[call] = m.terms[call];
    rlf_measure_end(&m);
    rlf_arena_free(scratch);
    return status;
}

static rlf_status
find_terms(const rlf_searching *s, rlf_err *err)
{
    rlf_session_found *f = s->out;
    f->terms = RLF_NEW_ARRAY(s->session->arena, rlf_seconds,
                             f->pareto.problem.n_calls);
    for (int c = 0; c < f->pareto.problem.n_calls && f->best->is_known; c++)
        RLF_TRY(find_terms_of(s, c, err));
    return RLF_OK;
}

/* Once it was stopped it stays so: what was measured is then not all. */
static bool
stop_measuring(void *arg, int done, int all)
{
    rlf_searching *s = arg;
    const rlf_session_search_options *o = s->options;
    if (!s->cut && o->measuring)
        s->cut = o->measuring(o->search.arg, (double)done / all);
    return s->cut;
}

/* Rows beside `auto` are there to be kept. */
static bool
keeps_rows(const rlf_searching *s)
{
    return s->options->keeps || rlf_auto_asked(s->session);
}

/* The search gets its machines, rows and options. */
static rlf_status
prepare(rlf_searching *s, rlf_err *err)
{
    const rlf_pareto_options options = {
        .graph = s->session->graph,
        .outline = s->outline,
        .speeds = &s->ordered,
        .rank_of = s->rank_of,
        .plan = &s->plan,
        .workload = &s->out->workload.workload,
        .keeps = keeps_rows(s),
        .pipelines = s->pipelines,
        .moves = s->weights,
        .real = (int)rlf_cast_bytes(s->session->options.real),
        .stop = stop_measuring,
        .arg = s};
    RLF_TRY(rlf_session_workload_make(s->session, s->outline, err,
                                      &s->out->workload));
    s->out->pareto.options = options;
    return RLF_OK;
}

/* All layouts are measured. */
rlf_status
rlf_search_measure(rlf_searching *s, rlf_err *err)
{
    const rlf_pareto_options options = s->out->pareto.options;
    return rlf_pareto_make(&options, s->session->arena, err, &s->out->pareto);
}

rlf_status
rlf_search_placements(rlf_searching *s, rlf_err *err)
{
    bool again;
    RLF_TRY(search_until_fit(s, err));
    RLF_TRY(rlf_search_lanes(s, err, &again));
    return again ? search_until_fit(s, err) : RLF_OK;
}

static rlf_status
search_all(rlf_searching *s, rlf_err *err)
{
    bool again;
    RLF_TRY(prepare(s, err));
    RLF_TRY(rlf_search_room_check(s, err));
    RLF_TRY(rlf_search_measure(s, err));
    RLF_TRY(rlf_search_placements(s, err));
    RLF_TRY(rlf_search_kinds(s, err, &again));
    if (again)
        RLF_TRY(search_until_fit(s, err));
    if (!s->options->estimate)
        add_others(s);
    if (!s->options->estimate && s->plan.ranks <= RLF_SEARCH_SIMULATED) {
        RLF_TRY(simulate_all(s, err));
        RLF_TRY(rlf_search_fused(s, err));
        RLF_TRY(rlf_search_generations(s, err));
        int before = s->out->n_candidates;
        RLF_TRY(rlf_search_layouts(s, err));
        if (s->out->n_candidates > before)
            RLF_TRY(rlf_search_generations_last(s, err));
    }
    choose(s->out);
    return find_terms(s, err);
}

/* Is a row to be kept that says on which ranks a call is, or into how many it
 * is cut, which may be ranks of several kinds? */
static bool
names_ranks(const rlf_searching *s)
{
    const rlf_placement *p =
        keeps_rows(s) ? s->session->graph->placement : NULL;
    bool any = false;
    for (int i = 0; p && i < p->n_pins; i++) {
        const rlf_place_row *row = &p->pins[i];
        any |= row->n_ranks > 0 || row->tp > 0 || row->pp > 0 || row->dp > 0;
    }
    return any;
}

/* In which order a cluster names its machines decides only how their ranks are
 * called: where it names nothing else, the problem has them in an order of its
 * own. */
static void
order_machines(rlf_searching *s)
{
    const rlf_cluster *named = s->speeds.cluster;
    rlf_arena *arena = s->session->arena;
    s->ordered = s->speeds;
    if (named->n_parts == 1 || s->plan.ranks < named->ranks || names_ranks(s))
        return;
    s->ordered.cluster = rlf_cluster_ordered(named, arena, &s->rank_of);
    if (!s->speeds.profiles)
        return;
    const struct rlf_profile **profiles =
        RLF_NEW_ARRAY(arena, const struct rlf_profile *, named->ranks);
    for (int r = 0; r < named->ranks; r++)
        profiles[r] = s->speeds.profiles[s->rank_of[r]];
    s->ordered.profiles = profiles;
}

/* *found points into the answer, in the session's arena. */
static rlf_status
begin(rlf_session *session, const rlf_session_search_options *options,
      rlf_err *err, rlf_session_found *out, rlf_searching **found)
{
    const rlf_plan *plan = session->plan;
    rlf_searching *s = *found = RLF_NEW(session->arena, rlf_searching);
    *out = (rlf_session_found){0};
    *s = (rlf_searching){
        .session = session,
        .options = options,
        .speeds = rlf_planned_speeds(session),
        .plan = {.ranks = plan->ranks,
                 .same = plan,
                 .backend = plan->numerics.backend,
                 .dtype = plan->numerics.dtype,
                 .sums = options->sums,
                 .links = plan->links,
                 .kepts = rlf_pipe_memories_new(session->arena)},
        .moves = {.arena = session->arena},
        .timed = rlf_arena_new(),
        .out = out};
    s->pipelines = rlf_pipelines_new(s->timed);
    order_machines(s);
    s->weights = rlf_moves_new(&s->ordered, s->rank_of ? NULL : plan->links,
                               session->arena);
    return rlf_outline_open(session->graph,
                            rlf_planned_kernels(session, session->arena), err,
                            &s->outline);
}

static void
end(rlf_searching *s)
{
    s->out->pareto.options.pipelines = NULL;
    rlf_arena_free(s->timed);
    rlf_outline_close(s->outline);
}

int
rlf_session_machines(rlf_session *session)
{
    const rlf_session_search_options options = {0};
    rlf_session_found *out = RLF_NEW(session->arena, rlf_session_found);
    rlf_err err = RLF_ERR_NONE;
    rlf_searching *s;
    int machines = 0;
    if (begin(session, &options, &err, out, &s) >= 0 && prepare(s, &err) >= 0 &&
        rlf_search_measure(s, &err) >= 0)
        machines =
            rlf_search_room_machines(s, session->planning.cluster->machines);
    end(s);
    return machines;
}

rlf_status
rlf_session_find(rlf_session *session,
                 const rlf_session_search_options *options, rlf_err *err,
                 rlf_session_found *out)
{
    rlf_searching *s;
    rlf_status status = begin(session, options, err, out, &s);
    if (status >= 0)
        status = search_all(s, err);
    end(s);
    if (status >= 0)
        status = rlf_memory_check(err);
    return status;
}
