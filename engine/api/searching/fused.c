/* Updates of two models in one pipeline: two that do not need each other's
 * results, on the same ranks and in stages, which a table fuses (engine/fuse;
 * RLHFuse's intra-stage fusion).
 *
 * Pairs of cuts are ranked by their seconds one after the other, which is too
 * long by what fusion saves; all other calls are placed around the best of
 * these. Then the pieces of stages are timed, the bytes of a micro-batch are
 * found by plans that keep one and two, a table is searched for below the
 * memory that is left, and the step is simulated, with the table and without.
 * The rows that run it have the table in them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/api/searching/candidate.h"
#include "engine/fuse/fuse.h"
#include "engine/plan/candidate.h"
#include "engine/search/calls.h"
#include "engine/search/measure.h"
#include "engine/search/fixed_rows.h"
#include "engine/simulate/costs.h"

enum {
    LOOKED = 64,    /* pairs of cuts around which the others are placed */
    MOVES = 100000, /* schedules that are tried for each table of a pair: */
    FULL = 2,       /* of the first ones; then for each pair half as many */
    MOST_OPERATIONS = 1 << 13, /* of a table */
    LOWER = 3, /* times that less memory is taken where a plan does not fit */
};
/* A gain below that part of a step is none. */
#define WORTH 0.01
/* A table needs little more than what is kept one model after the other. Its
 * memory is none for keys and values, so it first has that much of it alone. */
#define TIGHT 1.25
/* The least that a table takes of the work of its places: not all stages have
 * as much as the slowest, by which choices are timed. */
#define LEAST 0.9

/* Choices for two updates on one mesh. */
typedef struct pair {
    int call[2], choice[2]; /* the first has at least as many stages */
    double seconds;         /* one after the other */
    rlf_placing placing;    /* with all other calls */
} pair;

typedef struct fusing {
    rlf_searching *s;
    rlf_arena *arena;
    pair best[LOOKED];
    int n;
    double limit; /* seconds of a step by the estimate: longer ones lose */
    int64_t moves; /* schedules to try for each table of the pair at hand */
} fusing;

/* ---- pairs ---- */

static const rlf_choice *
choice_of(const rlf_searching *s, int call, int choice)
{
    return &s->out->pareto.problem.calls[call].choices[choice];
}

/* The node of a call, in that region or (-1) the first; NULL: none. */
static const rlf_node *
node_of(const rlf_searching *s, int call, int region)
{
    const rlf_graph *graph = s->session->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (rlf_pareto_call_of(&s->out->pareto, node) == call &&
            (region < 0 || node->region == region))
            return node;
    }
    return NULL;
}

/* Does a place row that is kept say in which schedule the update runs? */
static bool
keeps_schedule(const rlf_searching *s, int call)
{
    const rlf_place_row *pin = rlf_fixed_rows_call(&s->out->pareto, call);
    return pin && pin->schedule;
}

/* May the two go together? They stand in one block, and the later one does not
 * need the earlier one. */
static bool
may_fuse(const rlf_searching *s, int a, int b)
{
    const rlf_problem *p = &s->out->pareto.problem;
    const rlf_graph *graph = s->session->graph;
    bool together = false;
    if (p->calls[a].kind != RLF_STAGE_UPDATE ||
        p->calls[b].kind != RLF_STAGE_UPDATE ||
        p->calls[a].model == p->calls[b].model || keeps_schedule(s, a) ||
        keeps_schedule(s, b))
        return false;
    for (size_t r = 0; r < graph->regions.count; r++)
        together |= node_of(s, a, (int)r) && node_of(s, b, (int)r);
    int last = a > b ? a : b, first = a + b - last;
    for (int k = 0; k < p->calls[last].n_needs; k++)
        together &= p->calls[last].needs[k] != first;
    return together;
}

/* Copies of the second that a table has; 0: no table has the two. */
static int
copies_of(const rlf_choice *a, const rlf_choice *b)
{
    int copies = a->pp / b->pp;
    bool good = a->first == b->first && a->count == b->count && a->pp > 1 &&
                a->pp % b->pp == 0 && b->dp % copies == 0;
    bool plain = !((a->variant | b->variant) & RLF_VARIANT_SCHEDULES);
    return good && plain ? copies : 0;
}

/* Keeps those that take least, in order. */
static void
keep(fusing *u, const pair *p)
{
    int at = u->n;
    if (u->n == LOOKED && u->best[at - 1].seconds <= p->seconds)
        return;
    if (u->n < LOOKED)
        u->n++;
    for (at = u->n - 1; at && u->best[at - 1].seconds > p->seconds; at--)
        u->best[at] = u->best[at - 1];
    u->best[at] = *p;
}

/* Pairs of cuts of two updates. */
static void
find_pairs(fusing *u, int a, int b)
{
    const rlf_problem *problem = &u->s->out->pareto.problem;
    for (int i = 0; i < problem->calls[a].n_choices; i++)
        for (int k = 0; k < problem->calls[b].n_choices; k++) {
            const rlf_choice *x = &problem->calls[a].choices[i];
            const rlf_choice *y = &problem->calls[b].choices[k];
            double seconds = x->seconds + y->seconds;
            /* the other way round is its mirror image */
            bool mirrored = x->pp == y->pp && a > b;
            if (copies_of(x, y) && !mirrored)
                keep(u, &(pair){.call = {a, b},
                                .choice = {i, k},
                                .seconds = seconds});
        }
}

/* Seconds of a step that a table of the pair can save at most, by the estimate:
 * all that its places wait for. */
static double
most_saved(const fusing *u, const pair *p)
{
    double work = 0;
    for (int i = 0; i < 2; i++)
        work += choice_of(u->s, p->call[i], p->choice[i])->filled;
    return p->seconds - LEAST * work;
}

/* Seconds of the best step so far. */
static double
shortest(const rlf_session_found *f)
{
    double best = INFINITY;
    for (int i = 0; i < f->n_candidates; i++)
        if (f->candidates[i].simulated)
            best = fmin(best, f->candidates[i].step);
    return best;
}

/* A step that the estimate says to be longer is longer than the best one also
 * if the simulation takes as little of what the estimate says as of any
 * placement so far. */
static double
longest(const rlf_session_found *f)
{
    double least = INFINITY;
    for (int i = 0; i < f->n_candidates; i++) {
        const rlf_search_candidate *j = &f->candidates[i];
        if (j->simulated && j->is_known)
            least = fmin(least, j->step / j->placing.period);
    }
    return isfinite(least) ? shortest(f) / least : INFINITY;
}

/* No placement with the choices that are known, and any for this call, has a
 * shorter period. */
static double
bound_with(const fusing *u, rlf_estimator *e, int *choice, int call)
{
    const rlf_problem_call *of = &u->s->out->pareto.problem.calls[call];
    double least = INFINITY;
    for (int k = 0; k < of->n_choices; k++) {
        choice[call] = k;
        least = fmin(least, rlf_estimate_bound(e, choice));
    }
    choice[call] = -1;
    return least;
}

/* No placement around the pair has a shorter period; not looked for further
 * where that is more than `limit`. */
static double
bound_around(const fusing *u, rlf_estimator *e, const pair *p, double limit)
{
    int n = u->s->out->pareto.problem.n_calls, choice[RLF_SEARCH_CALLS];
    for (int c = 0; c < n; c++)
        choice[c] = -1;
    for (int i = 0; i < 2; i++)
        choice[p->call[i]] = p->choice[i];
    double bound = rlf_estimate_bound(e, choice);
    for (int c = 0; c < n && bound <= limit; c++)
        if (choice[c] < 0)
            bound = fmax(bound, bound_with(u, e, choice, c));
    return bound;
}

/* Do both have the same numbers of ranks and stages? Of those one is enough. */
static bool
same_cut(const rlf_searching *s, const pair *a, const pair *b)
{
    bool same = true;
    for (int i = 0; i < 2; i++) {
        const rlf_choice *x = choice_of(s, a->call[i], a->choice[i]);
        const rlf_choice *y = choice_of(s, b->call[i], b->choice[i]);
        same &= a->call[i] == b->call[i] && x->count == y->count &&
                x->tp == y->tp && x->pp == y->pp;
    }
    return same;
}

/* With a longer period pair i is not tried: others of its cut, or of as many
 * cuts as are, have been placed better; or it is hopeless even if its table
 * leaves nobody idle. */
static double
worth_placing(const fusing *u, int i)
{
    const pair *p = &u->best[i], *first[RLF_FUSED_PAIRS];
    double most = u->limit + most_saved(u, p);
    int n = 0; /* cuts, by their periods */
    for (int k = 0; k < i; k++) {
        const pair *other = &u->best[k];
        double period = other->placing.period;
        if (!isfinite(period))
            continue;
        if (same_cut(u->s, p, other))
            most = fmin(most, period);
        int at = 0;
        while (at < n && !same_cut(u->s, first[at], other))
            at++;
        if (at < n && first[at]->placing.period <= period)
            continue;
        if (at == n && n == RLF_FUSED_PAIRS &&
            first[--at]->placing.period <= period)
            continue;
        n += at == n;
        for (; at && first[at - 1]->placing.period > period; at--)
            first[at] = first[at - 1];
        first[at] = other;
    }
    return n == RLF_FUSED_PAIRS ? fmin(most, first[n - 1]->placing.period)
                                : most;
}

/* The placement of the other calls from which a descent begins: where they are
 * in a candidate, or (NULL) on the pair's ranks. */
static void
start_beside(const fusing *u, const pair *p, const rlf_search_candidate *from,
             int *choice)
{
    const rlf_problem *problem = &u->s->out->pareto.problem;
    const rlf_choice *there = choice_of(u->s, p->call[0], p->choice[0]);
    for (int c = 0; c < problem->n_calls; c++) {
        const rlf_mesh_span *mesh =
            rlf_search_mesh(&problem->calls[c], there->first, there->count);
        choice[c] = from   ? from->placing.choice[c]
                    : mesh ? mesh->from
                           : u->s->out->found.best.choice[c];
    }
    for (int i = 0; i < 2; i++)
        choice[p->call[i]] = p->choice[i];
}

/* The other calls: as they are best beside the pair, from where they are in the
 * placements that were simulated, and from the pair's ranks. */
static void
place_others(const fusing *u, rlf_estimator *e, pair *p, double limit)
{
    const rlf_session_found *f = u->s->out;
    const rlf_problem *problem = &f->pareto.problem;
    size_t n = (size_t)problem->n_calls;
    rlf_mesh_span within[RLF_SEARCH_CALLS];
    p->placing = (rlf_placing){.period = INFINITY, .over = INFINITY};
    p->placing.choice = RLF_NEW_ARRAY(u->arena, int, n);
    if (bound_around(u, e, p, limit) > limit)
        return;
    rlf_descents *before = rlf_descents_new(problem, u->arena);
    for (int c = 0; c < problem->n_calls; c++)
        within[c] = (rlf_mesh_span){.to = problem->calls[c].n_choices};
    for (int i = 0; i < 2; i++)
        within[p->call[i]] =
            (rlf_mesh_span){.from = p->choice[i], .to = p->choice[i] + 1};
    for (int start = 0; start <= f->n_candidates; start++) {
        const rlf_search_candidate *from =
            start < f->n_candidates ? &f->candidates[start] : NULL;
        if (from && (!from->simulated || !from->is_known))
            continue;
        rlf_placing at = {.choice = RLF_NEW_ARRAY(u->arena, int, n)};
        start_beside(u, p, from, at.choice);
        rlf_placing_look(e, &at);
        if (rlf_search_descend(e, problem, within, before, &at) &&
            rlf_placing_better(&at, &p->placing))
            p->placing = at;
    }
    if (p->placing.period - most_saved(u, p) > u->limit)
        p->placing.period = INFINITY;
}

static int
by_period(const void *a, const void *b)
{
    double x = ((const pair *)a)->placing.period;
    double y = ((const pair *)b)->placing.period;
    return (x > y) - (x < y);
}

/* Places those that fit, by their periods. */
static void
place_all(fusing *u)
{
    rlf_estimator *e = rlf_estimator_new(&u->s->out->pareto.problem, u->arena);
    for (int i = 0; i < u->n && !rlf_search_stopped(u->s, 1); i++)
        place_others(u, e, &u->best[i], worth_placing(u, i));
    qsort(u->best, (size_t)u->n, sizeof *u->best, by_period);
    while (u->n && !isfinite(u->best[u->n - 1].placing.period))
        u->n--;
}

/* ---- plans ---- */

/* Rows of the pair's placement; both updates have tables. */
static rlf_place_row *
rows_of(const fusing *u, const pair *p, const char *const table[2],
        rlf_arena *arena, int *n)
{
    const rlf_pareto *f = &u->s->out->pareto;
    rlf_place_row *rows = rlf_pareto_rows(f, p->placing.choice, arena, n);
    for (int i = 0; i < 2; i++) {
        const rlf_pareto_call *of = &f->calls[p->call[i]];
        for (int r = 0; r < *n; r++) {
            if (rows[r].model != of->model || rows[r].call != of->class)
                continue;
            rows[r].schedule = "table";
            rows[r].table = table[i];
        }
    }
    return rows;
}

/* A plan of the pair in which the stages of each keep so many micro-batches,
 * and what each rank then takes. */
static rlf_status
weigh(const fusing *u, const pair *p, const int keeps[2], rlf_arena *arena,
      rlf_err *err, rlf_trial *out)
{
    const rlf_searching *s = u->s;
    const char *table[2];
    rlf_plan *plan;
    int n;
    for (int i = 0; i < 2; i++) {
        rlf_pipe pipe;
        rlf_buf text = {0};
        rlf_pipe_gpipe(choice_of(s, p->call[i], p->choice[i])->pp, keeps[i],
                       arena, &pipe);
        rlf_pipe_print_row(&pipe, &text);
        table[i] = rlf_arena_strdup(arena, text.p);
        rlf_buf_free(&text);
    }
    const rlf_place_row *rows = rows_of(u, p, table, arena, &n);
    RLF_TRY(rlf_plan_candidate(s->session->graph, rows, n, &s->plan, arena, err,
                               &plan));
    return rlf_trial_open(s->session, s->outline, plan, arena, err, out);
}

/* ---- problems ---- */

/* A table to be searched for. */
typedef struct posed {
    rlf_fuse fuse;
    double room; /* memory of a place */
    double peak; /* of that, what one model after the other takes */
    /* Of a step for each second of the table: where it is gone through several
     * times it drains before each. */
    double seconds;
} posed;

/* The set whose rows an update goes through. */
static int
set_of(const rlf_graph *graph, const rlf_node *node)
{
    bool calls = node->loss && node->loss->n_calls;
    int input = calls ? node->loss->calls[0].set_input : 0;
    return graph->values.data[node->inputs[input]].set;
}

/* Of the stages of one of the pair: seconds of a micro-batch that has the mean
 * number of rows, and the bytes that it leaves. Returns how many a replica has
 * on average. */
static double
cost_stages(const fusing *u, const rlf_trial *one, const rlf_trial *two,
            const rlf_node *node, rlf_costs *costs, rlf_pipe_cost *cost)
{
    const rlf_searching *s = u->s;
    const rlf_layout *l = &one->plan->place[node->id].layout;
    const rlf_expected_set *expected = rlf_workload_expect(
        &s->out->workload.workload, s->session->graph, &one->sizes, one->arena);
    const rlf_opened *opened = &one->ranks[l->ranks[l->n_ranks - 1]];
    int set = set_of(s->session->graph, node);
    rlf_call_cut cut = rlf_call_cut_of(opened, &one->sizes, expected, node);
    double rows =
        ceil(one->sizes.set[set].samples * rlf_node_sets(node) / l->dp);
    rlf_durations d = rlf_costs_durations(costs);
    for (int k = 0; k < l->pp; k++) {
        int rank = l->ranks[k * l->tp];
        int next = l->ranks[(k + 1 < l->pp ? k + 1 : k) * l->tp];
        rlf_portion portion = {.kind = RLF_PORTION_FORWARD,
                               .node = node,
                               .rank = rank,
                               .rows = rows / fmax(cut.micros, 1),
                               .prompt = expected[set].prompt,
                               .response = expected[set].response};
        cost[k].forward = d.portion(d.self, &portion);
        cost[k].send = next != rank ? d.stage(d.self, &portion, next) : 0;
        portion.kind = RLF_PORTION_BACKWARD;
        cost[k].backward = d.portion(d.self, &portion);
        cost[k].memory = fmax(two->memory[rank] - one->memory[rank], 1);
    }
    return cut.micros;
}

/* The models of the table: the first forward through all places, copies of the
 * second each backward through places of its own. */
static void
lay_models(const fusing *u, const pair *p, const double micros[2], rlf_fuse *f)
{
    const rlf_choice *a = choice_of(u->s, p->call[0], p->choice[0]);
    const rlf_choice *b = choice_of(u->s, p->call[1], p->choice[1]);
    const rlf_graph *graph = u->s->session->graph;
    int copies = copies_of(a, b);
    int *turn = RLF_NEW_ARRAY(u->arena, int, copies + 1);
    f->n_models = copies + 1;
    f->places = a->pp;
    f->models = RLF_NEW_ARRAY(u->arena, rlf_pipe_model, f->n_models);
    for (int m = 0; m < f->n_models; m++) {
        int which = m > 0, stages = which ? b->pp : a->pp;
        int model = u->s->out->pareto.calls[p->call[which]].model;
        const char *name = graph->resources.data[model].name;
        int *path = RLF_NEW_ARRAY(u->arena, int, stages);
        for (int k = 0; k < stages; k++)
            path[k] = which ? m * stages - 1 - k : k;
        f->models[m] = (rlf_pipe_model){
            .name = which && copies > 1
                        ? rlf_arena_printf(u->arena, "%s.%d", name, m)
                        : name,
            .micros = (int)fmax(ceil(micros[which]), 1),
            .stages = stages,
            .path = path};
        turn[m] = which;
    }
    f->turn = turn;
}

/* Memory of a place beside micro-batches, the least of all of them: copies of
 * the second stand elsewhere than without a table. */
static double
room_for(const fusing *u, const pair *p, const rlf_trial *one,
         const rlf_node *const node[2], const rlf_pipe_cost *const cost[2])
{
    const rlf_cluster *cluster = u->s->session->planning.cluster;
    const rlf_choice *at = choice_of(u->s, p->call[0], p->choice[0]);
    double room = INFINITY;
    for (int k = 0; k < at->count; k++) {
        int r = rlf_pareto_rank(&u->s->out->pareto, at->first + k);
        double held = 0;
        for (int i = 0; i < 2; i++) {
            const rlf_layout *l = &one->plan->place[node[i]->id].layout;
            held += cost[i][rlf_layout_find(l, r).pp].memory;
        }
        double memory =
            rlf_cluster_part_of(cluster, r)->machine->device->memory;
        room = fmin(room, memory - (one->memory[r] - held));
    }
    return room;
}

/* A table of all micro-batches, or of so many that it is gone through several
 * times. */
static int
cut_rounds(rlf_fuse *f)
{
    int operations = 0;
    for (int m = 0; m < f->n_models; m++)
        operations += 2 * f->models[m].stages * f->models[m].micros;
    int rounds = (operations + MOST_OPERATIONS - 1) / MOST_OPERATIONS;
    for (int m = 0; m < f->n_models; m++)
        f->models[m].micros = (f->models[m].micros + rounds - 1) / rounds;
    return rounds;
}

/* Poses the problem: the costs of both models' stages, and the memory for them.
 */
static rlf_status
pose(const fusing *u, const pair *p, rlf_err *err, posed *out)
{
    const rlf_node *node[2];
    rlf_trial one, two[2];
    rlf_pipe_cost *cost[2];
    rlf_costs *costs;
    double micros[2];
    RLF_TRY(weigh(u, p, (int[2]){1, 1}, u->arena, err, &one));
    const rlf_costs_options counted = {
        .ranks = one.ranks,
        .sizes = &one.sizes,
        .speeds = &u->s->speeds,
        .real = rlf_cast_bytes(u->s->session->options.real),
        .moves = &u->s->moves};
    RLF_TRY(rlf_costs_new(&counted, u->arena, err, &costs));
    for (int i = 0; i < 2; i++) {
        int pp = choice_of(u->s, p->call[i], p->choice[i])->pp;
        RLF_TRY(weigh(u, p, (int[2]){1 + !i, 1 + i}, u->arena, err, &two[i]));
        node[i] = node_of(u->s, p->call[i], -1);
        cost[i] = RLF_NEW_ARRAY(u->arena, rlf_pipe_cost, pp);
        micros[i] = cost_stages(u, &one, &two[i], node[i], costs, cost[i]);
    }
    *out = (posed){0};
    lay_models(u, p, micros, &out->fuse);
    const rlf_pipe_cost **list =
        RLF_NEW_ARRAY(u->arena, const rlf_pipe_cost *, out->fuse.n_models);
    for (int m = 0; m < out->fuse.n_models; m++)
        list[m] = cost[m > 0];
    out->fuse.cost = list;
    out->room = room_for(u, p, &one, node, (const rlf_pipe_cost *const *)cost);
    rlf_fuse_answer serial;
    rlf_fuse_serial(&out->fuse, u->arena, &serial);
    out->peak = serial.peak;
    out->seconds = p->seconds * cut_rounds(&out->fuse) / serial.makespan;
    return rlf_fuse_check(&out->fuse, err);
}

/* ---- tables ---- */

static bool
is_late(void *user)
{
    return rlf_search_stopped(user, 1);
}

/* A table below so much memory, and its text in a row, or NULL: there is none.
 */
static const char *
search_table(const fusing *u, posed *t, double room, rlf_fuse_answer *out)
{
    rlf_err none = RLF_ERR_NONE;
    rlf_buf text = {0};
    const rlf_fuse_options options = {.seed = u->s->options->search.seed,
                                      .moves = u->moves,
                                      .stop = is_late,
                                      .user = u->s};
    double *cap = RLF_NEW_ARRAY(u->arena, double, t->fuse.places);
    for (int i = 0; i < t->fuse.places; i++)
        cap[i] = room;
    t->fuse.cap = cap;
    if (!(room > 0) ||
        rlf_fuse_search(&t->fuse, &options, u->arena, &none, out) < 0)
        return NULL;
    rlf_pipe_print_row(&out->pipe, &text);
    const char *row = rlf_arena_strdup(u->s->session->arena, text.p);
    rlf_buf_free(&text);
    return row;
}

/* The plan that runs a table of the pair below so much memory; what it takes of
 * all decides how much the table may hold. *span: seconds of the table;
 * INFINITY: no plan fits. */
static void
plan_table(const fusing *u, const pair *p, posed *wanted, double room,
           rlf_search_candidate *out, double *span)
{
    rlf_searching *s = u->s;
    *span = INFINITY;
    for (int try = 0; try < LOWER; try++) {
        rlf_fuse_answer found;
        const char *table = search_table(u, wanted, room, &found);
        rlf_err none = RLF_ERR_NONE;
        if (!table)
            return;
        *out = (rlf_search_candidate){.name = "fused",
                                      .is_known = true,
                                      .placing = p->placing,
                                      .base = -1};
        out->rows = rows_of(u, p, (const char *const[2]){table, table},
                            s->session->arena, &out->n_rows);
        if (rlf_search_candidate_plan(s, out, &none) < 0)
            return;
        *span = found.makespan;
        if (rlf_search_candidate_fits(out))
            return;
        *span = INFINITY;
        room -= 1.05 * out->memory * (1 - 1 / out->fill);
    }
}

/* The best of two tables by simulation; the second has all memory, and is made
 * where the first one gains and is not as short as any. Not simulated: none can
 * be worth it beside a step of `without` seconds. */
static rlf_status
simulate_tables(const fusing *u, const pair *p, double without,
                rlf_search_candidate *out, rlf_err *err)
{
    rlf_err none = RLF_ERR_NONE;
    posed wanted;
    *out = (rlf_search_candidate){.step = INFINITY};
    if (pose(u, p, &none, &wanted) < 0)
        return RLF_OK;
    double bound = rlf_fuse_bound(&wanted.fuse, u->arena);
    double least = without - (p->seconds - wanted.seconds * bound);
    if (least > (1 - WORTH) * without || least > shortest(u->s->out))
        return RLF_OK;
    double rooms[2] = {fmin(TIGHT * wanted.peak, wanted.room), wanted.room};
    for (int i = 0; i < 2 && rooms[i] > rooms[0] * i; i++) {
        rlf_search_candidate j;
        double span;
        plan_table(u, p, &wanted, rooms[i], &j, &span);
        if (!isfinite(span))
            break;
        RLF_TRY(rlf_search_candidate_simulate(u->s, &j,
                                              u->s->options->search.seed, err));
        if (j.step < out->step)
            *out = j;
        if (j.step > without || span <= bound * (1 + 1e-9))
            break;
    }
    return RLF_OK;
}

/* "actor.update (tp: 2, pp: 8) and critic.update (tp: 2, pp: 4)" */
static const char *
words_of(const rlf_searching *s, const pair *p)
{
    const rlf_problem *problem = &s->out->pareto.problem;
    const rlf_choice *a = choice_of(s, p->call[0], p->choice[0]);
    const rlf_choice *b = choice_of(s, p->call[1], p->choice[1]);
    int first = rlf_pareto_rank(&s->out->pareto, a->first);
    return rlf_arena_printf(
        s->session->arena,
        "%s (tp: %d, pp: %d) and %s (tp: %d, pp: %d) in one pipeline on %d..%d",
        problem->calls[p->call[0]].name, a->tp, a->pp,
        problem->calls[p->call[1]].name, b->tp, b->pp, first,
        first + a->count - 1);
}

/* The step of the same placement with the two one after the other. It is
 * evaluated for itself, too: the search may not have come upon it. */
static rlf_status
step_without(const fusing *u, const pair *p, rlf_err *err, double *out)
{
    rlf_session_found *f = u->s->out;
    rlf_search_candidate *j = &f->candidates[f->n_candidates];
    rlf_err none = RLF_ERR_NONE;
    *out = INFINITY;
    *j = (rlf_search_candidate){
        .name = "unfused", .is_known = true, .placing = p->placing, .base = -1};
    if (rlf_search_candidate_plan(u->s, j, &none) < 0 ||
        !rlf_search_candidate_fits(j))
        return RLF_OK;
    bool same = rlf_search_candidate_take_same(f, j);
    if (!same)
        RLF_TRY(rlf_search_candidate_simulate(u->s, j,
                                              u->s->options->search.seed, err));
    f->n_candidates += !same;
    *out = j->step;
    return RLF_OK;
}

static rlf_status
try_pair(const fusing *u, const pair *p, rlf_err *err)
{
    rlf_session_found *f = u->s->out;
    rlf_search_candidate j;
    double without;
    RLF_TRY(step_without(u, p, err, &without));
    double part = most_saved(u, p) / p->placing.period; /* of a step */
    double step = isfinite(without) ? without : p->placing.period;
    if (isfinite(without) && without * (1 - part) > shortest(f))
        return RLF_OK;
    RLF_TRY(simulate_tables(u, p, step, &j, err));
    if (!j.simulated)
        return RLF_OK;
    j.without = without;
    j.words = words_of(u->s, p);
    f->fused[f->n_fused++] = (rlf_fused_point){j.words, j.step, j.without};
    if (j.step < (1 - WORTH) * j.without)
        f->candidates[f->n_candidates++] = j;
    return RLF_OK;
}

static rlf_status
try_pairs(fusing *u, rlf_err *err)
{
    rlf_session_found *f = u->s->out;
    f->fused =
        RLF_NEW_ARRAY(u->s->session->arena, rlf_fused_point, RLF_FUSED_PAIRS);
    for (int i = 0, tried = 0; i < u->n && tried < RLF_FUSED_PAIRS; i++) {
        bool known = false;
        for (int k = 0; k < i; k++)
            known |= same_cut(u->s, &u->best[k], &u->best[i]);
        if (known)
            continue;
        if (rlf_search_stopped(u->s, 1))
            return RLF_OK;
        u->moves = tried++ < FULL ? MOVES : u->moves / 2;
        rlf_arena *all = u->arena;
        u->arena = rlf_arena_new();
        rlf_status status = try_pair(u, &u->best[i], err);
        rlf_arena_free(u->arena);
        u->arena = all;
        RLF_TRY(status);
    }
    return RLF_OK;
}

rlf_status
rlf_search_fused(rlf_searching *s, rlf_err *err)
{
    rlf_session_found *f = s->out;
    const rlf_problem *problem = &f->pareto.problem;
    fusing u = {.s = s, .arena = s->session->arena, .limit = longest(f)};
    for (int a = 0; a < problem->n_calls; a++)
        for (int b = 0; b < problem->n_calls; b++)
            if (may_fuse(s, a, b))
                find_pairs(&u, a, b);
    if (!u.n || f->stopped)
        return RLF_OK;
    place_all(&u);
    return try_pairs(&u, err);
}
