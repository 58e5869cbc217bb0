/* See search.h. What is searched counts memory by calls; the plan that is found
 * is then asked for all that a run would take, and if that is too much the
 * search is made again with as much less. */
#include "engine/api/search_candidate.h"

#include <math.h>
#include <string.h>

#include "engine/api/auto.h"
#include "engine/api/planned_device.h"
#include "engine/base/memory.h"
#include "engine/plan/rank_classes.h"
#include "engine/plan/candidate.h"
#include "engine/plan/pipe_memory.h"
#include "engine/search/calls.h"
#include "engine/search/fixed_rows.h"
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

/* Ranks; of those all words are tried; placements. */
enum { MOST_TRIED = 512, MOST_WORDS = 32, TRIED_MOVES = 4000 };

/* Bytes of the plan of a placement, on the rank that takes most; INFINITY:
 * there is no plan. */
static double
plan_bytes(const rlf_searching *s, const rlf_pareto *pareto, const int *choice,
           bool gpu, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_plan *plan;
    rlf_opened opened;
    const int *ranks;
    double most = 0;
    int n;
    rlf_place_row *rows = rlf_pareto_rows(pareto, choice, arena, &n);
    if (rlf_plan_candidate(s->session->graph, rows, n, pareto->options.plan,
                           arena, &err, &plan) < 0)
        return INFINITY;
    n = rlf_rank_classes(plan, rlf_outline_layers(s->outline), arena, &ranks);
    for (int i = 0; i < n; i++) {
        if (rlf_outline_rank(s->outline, plan, ranks[i], arena, &err, &opened) <
            0)
            return INFINITY;
        most = fmax(most, rlf_planned_memory(&opened, gpu, arena));
    }
    return most;
}

/* Is a placement found whose plan fits, into devices that are alike? Where it
 * does not the search is made again with as much less. */
static bool
fits_anyhow(const rlf_searching *s, rlf_pareto *pareto, rlf_arena *arena)
{
    const rlf_search_options few = {.moves = TRIED_MOVES};
    const rlf_device_kind *device =
        pareto->options.speeds->cluster->parts[0].machine->device;
    int ranks = pareto->problem.devices;
    double *memory = RLF_NEW_ARRAY(arena, double, ranks), part = 1;
    pareto->problem.memory = memory;
    for (int try = 0; try < TRIES; try++) {
        rlf_found found;
        for (int r = 0; r < ranks; r++)
            memory[r] = part * device->memory;
        rlf_search(&pareto->problem, &few, arena, &found);
        if (!isfinite(found.best.period))
            return false;
        double bytes =
            plan_bytes(s, pareto, found.best.choice, device->gpu, arena);
        if (bytes <= device->memory)
            return true;
        part *= 0.98 * device->memory / bytes;
    }
    return false;
}

/* Does the program fit into so many machines of the cluster's kind? */
static bool
fits_into(const rlf_searching *s, int machines, rlf_arena *arena)
{
    rlf_cluster cluster = *s->session->cluster;
    rlf_cluster_part part = cluster.parts[0];
    rlf_err err = RLF_ERR_NONE;
    part.count = machines;
    part.link = isfinite(part.link) ? part.link : part.machine->link;
    cluster.parts = &part;
    if (rlf_cluster_number(&cluster, &err) < 0)
        return false;
    rlf_speeds speeds = s->speeds;
    rlf_plan_options plan = s->plan;
    speeds.cluster = &cluster;
    plan.ranks = cluster.ranks;
    plan.sums = s->options->sums;
    rlf_pareto_options options = s->out->pareto.options;
    options.speeds = &speeds;
    options.plan = &plan;
    options.like = NULL;
    rlf_pareto pareto;
    /* Words that take least of one call may leave more to a stage than others:
     * chunks divide layers more evenly. */
    for (int room = 1; room >= (cluster.ranks > MOST_WORDS); room--) {
        options.room = room;
        if (rlf_pareto_make(&options, arena, &err, &pareto) >= 0 &&
            fits_anyhow(s, &pareto, arena))
            return true;
    }
    return false;
}

static bool
fits_alone(const rlf_searching *s, int machines)
{
    rlf_arena *arena = rlf_arena_new();
    bool fits = fits_into(s, machines, arena);
    rlf_arena_free(arena);
    return fits;
}

/* Bytes that all devices together hold at least: what each model keeps for one
 * of its calls where it is cut into the fewest in all. */
static double
least_bytes(const rlf_problem *p)
{
    double sum = 0;
    for (int model = 0; model < p->n_models; model++) {
        double most = 0;
        for (int c = 0; c < p->n_calls; c++) {
            double least = INFINITY;
            if (p->calls[c].model != model)
                continue;
            for (int k = 0; k < p->calls[c].n_choices; k++) {
                const rlf_choice *at = &p->calls[c].choices[k];
                least = fmin(least, (at->kept + at->own) * at->count);
            }
            most = fmax(most, least);
        }
        sum += most;
    }
    return sum;
}

/* Cuts on more devices, with other lanes, may take less than those that are
 * known, but not less than this part. */
#define SURELY (2.0 / 3)

/* Machines below which a cluster of its kind has too little memory for the
 * program, however it is placed. */
static int
machines_too_few(const rlf_searching *s)
{
    const rlf_machine_kind *m = s->session->cluster->parts[0].machine;
    double bytes = SURELY * least_bytes(&s->out->pareto.problem);
    return (int)fmin(bytes / (m->count * m->device->memory), MOST_TRIED);
}

/* Up to so many machines it is said to one. */
#define EXACT 32

/* The fewest machines of its kind, from so many on, that were found to do: of
 * those between two powers of two, of which the smaller does not do, by halves,
 * of many until they differ by an eighth; so wherever one begins the answer is
 * the same. 0: not known. */
static int
machines_that_fit(const rlf_searching *s, int first)
{
    const rlf_cluster *c = s->session->cluster;
    int each = c->parts[0].machine->count, does = 1;
    if (c->n_parts != 1)
        return 0;
    int few = machines_too_few(s);
    if (few < first)
        few = first - 1;
    while (does <= few)
        does *= 2;
    while (!s->cut && does * each <= MOST_TRIED && !fits_alone(s, does))
        does *= 2;
    if (s->cut || does * each > MOST_TRIED)
        return 0;
    int lacks = does / 2;
    while (does - lacks > 1 && !s->cut &&
           (does <= EXACT || 8 * (does - lacks) > does)) {
        int middle = lacks + (does - lacks) / 2;
        if (middle > few && fits_alone(s, middle))
            does = middle;
        else
            lacks = middle;
    }
    return does;
}

static rlf_status
fail_to_fit(const rlf_searching *s, rlf_err *err)
{
    if (s->out->stopped)
        return rlf_fail(err, RLF_STOPPED,
                        "the search was stopped before anything was found "
                        "that fits");
    RLF_TRY(rlf_fixed_rows_fit(&s->out->pareto, err));
    bool kept = rlf_fixed_rows_any(&s->out->pareto);
    char lacks[RLF_BYTES_TEXT];
    rlf_fail(err, RLF_USER,
             "the program does not fit into the cluster '%s'%s: the fullest "
             "device lacks %s",
             s->session->cluster->name, kept ? " as its rows say" : "",
             rlf_gb_text(s->out->found.best.over, 3, lacks));
    if (kept) {
        rlf_err_hint(err, "leave out some of the rows, or take more machines");
        return RLF_USER;
    }
    int machines = machines_that_fit(s, s->session->cluster->machines + 1);
    if (machines)
        rlf_err_hint(err,
                     "it fits into %d of these machines; or take smaller "
                     "models, or lower caps (max_new:, tokens:, rows of "
                     "the draw)",
                     machines);
    else
        rlf_err_hint(err, "take more machines, smaller models, or lower caps "
                          "(max_new:, tokens:, rows of the draw)");
    return RLF_USER;
}

/* The search's placements, and plans of them; where none fits, those with the
 * fewest lanes. */
static rlf_status
search_once(rlf_searching *s, rlf_err *err)
{
    rlf_session_found *f = s->out;
    rlf_search(&f->pareto.problem, &s->options->search, s->session->arena,
               &f->found);
    f->stopped = f->found.stopped || s->cut;
    f->n_candidates = 0;
    if (!isfinite(f->found.best.period)) {
        bool again = false;
        if (!f->stopped)
            RLF_TRY(rlf_search_fewest_lanes(s, err, &again));
        return again ? search_once(s, err) : fail_to_fit(s, err);
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
    const rlf_cluster *cluster = s->session->cluster;
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

static void
add_seconds(rlf_seconds *to, const rlf_seconds *s, double share)
{
    for (int k = 0; k < RLF_SECONDS_TERMS; k++)
        to->term[k] += share * s->term[k];
    to->total += share * s->total;
}

/* All nodes of a call on one rank of the answer. */
static rlf_status
count_terms(const rlf_searching *s, int call, int rank, rlf_seconds *out,
            rlf_err *err)
{
    const rlf_pareto *f = &s->out->pareto;
    const rlf_graph *graph = s->session->graph;
    rlf_arena *scratch = rlf_arena_new();
    rlf_opened opened;
    rlf_status status = rlf_outline_rank(s->outline, s->out->best->plan, rank,
                                         scratch, err, &opened);
    *out = (rlf_seconds){0};
    if (status >= 0) {
        rlf_sizes sizes = rlf_opened_sizes(&opened, scratch);
        const rlf_expected_set *expected =
            rlf_workload_expect(f->options.workload, graph, &sizes, scratch);
        for (size_t i = 0; i < graph->nodes.count; i++) {
            const rlf_node *node = &graph->nodes.data[i];
            rlf_seconds seconds;
            if (rlf_pareto_call_of(f, node) != call)
                continue;
            rlf_call_seconds(&opened, &sizes, expected, node,
                             rlf_call_cut_of(&opened, &sizes, expected, node),
                             &s->speeds, &seconds, NULL);
            add_seconds(out, &seconds, rlf_pareto_share(f, node));
        }
    }
    rlf_arena_free(scratch);
    return status;
}

static rlf_status
find_terms(const rlf_searching *s, rlf_err *err)
{
    rlf_session_found *f = s->out;
    const rlf_graph *graph = s->session->graph;
    f->terms = RLF_NEW_ARRAY(s->session->arena, rlf_seconds,
                             f->pareto.problem.n_calls);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        int c = rlf_pareto_call_of(&f->pareto, &graph->nodes.data[i]);
        const rlf_layout *l = &f->best->plan->place[i].layout;
        if (c < 0 || f->terms[c].total > 0)
            continue;
        rlf_seconds most = {0};
        for (int stage = 0; stage < l->pp; stage++) {
            rlf_seconds seconds;
            RLF_TRY(count_terms(s, c, l->ranks[stage * l->tp], &seconds, err));
            if (seconds.total > most.total)
                most = seconds;
        }
        f->terms[c] = most;
    }
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
    const rlf_pareto_options pareto = {.graph = s->session->graph,
                                       .outline = s->outline,
                                       .speeds = &s->speeds,
                                       .plan = &s->plan,
                                       .workload = &s->out->workload.workload,
                                       .keeps = keeps_rows(s),
                                       .pipelines = s->pipelines,
                                       .stop = stop_measuring,
                                       .arg = s};
    RLF_TRY(rlf_session_workload_make(s->session, s->outline, err,
                                      &s->out->workload));
    return rlf_pareto_make(&pareto, s->session->arena, err, &s->out->pareto);
}

static rlf_status
search_all(rlf_searching *s, rlf_err *err)
{
    bool again;
    RLF_TRY(prepare(s, err));
    RLF_TRY(search_until_fit(s, err));
    RLF_TRY(rlf_search_lanes(s, err, &again));
    if (again)
        RLF_TRY(search_until_fit(s, err));
    add_others(s);
    if (s->plan.ranks <= RLF_SEARCH_SIMULATED) {
        RLF_TRY(simulate_all(s, err));
        RLF_TRY(rlf_search_fused(s, err));
        RLF_TRY(rlf_search_generations(s, err));
        RLF_TRY(rlf_search_layouts(s, err));
    }
    choose(s->out);
    return find_terms(s, err);
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
    if (begin(session, &options, &err, out, &s) >= 0 && prepare(s, &err) >= 0)
        machines = machines_that_fit(s, session->cluster->machines);
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
