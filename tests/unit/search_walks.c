/* What holds of the walks of a search, however random its problem: more moves
 * only add to what is found, no start of a walk ends shorter downhill than the
 * answer, and fewer ranks are no better. And the memory of placements whose
 * updates are in stages, of which not every rank is looked at. */
#include "engine/search/baseline.h"
#include "engine/search/less.h"

#include <math.h>
#include <string.h>

#include "engine/base/splitmix.h"
#include "tests/tap.h"

enum { CALLS = 5, DEVICES = 8, MOST = 256, STAGES = 8, PROBLEMS = 8 };

static const double gb = 1e9;

/* A problem, and all that it points to. */
typedef struct made {
    rlf_problem problem;
    rlf_problem_call calls[CALLS];
    int needs[CALLS][CALLS];
    rlf_choice choices[CALLS][MOST];
    rlf_choice_stage stages[CALLS][MOST][STAGES];
    double memory[DEVICES];
} made;

static double
move(void *arg, const rlf_problem_move *at)
{
    (void)arg;
    uint32_t from = (uint32_t)(64 * at->from->first + 8 * at->from->tp +
                               at->from->pp),
             to = (uint32_t)(64 * at->to->first + 8 * at->to->tp + at->to->pp);
    rlf_splitmix chance = rlf_splitmix_begin(from, to);
    return from == to ? 0 : 2 * rlf_splitmix_uniform(&chance);
}

/* A way to run a call: fewer bytes take longer. */
static rlf_choice
make_choice(made *m, rlf_splitmix *chance, int call, int n, rlf_choice at,
            double work)
{
    double saved = 0.3 + 0.7 * rlf_splitmix_uniform(chance);
    bool trains = m->calls[call].kind == RLF_STAGE_UPDATE;
    double bytes = 4 * gb * (1 + m->calls[call].model) / (at.tp * at.pp);
    at.seconds = work / (at.count * (0.4 + 0.6 * saved)) +
                 0.05 * rlf_splitmix_uniform(chance);
    at.kept = bytes;
    at.own = trains ? 4 * bytes : 0;
    at.work = 3 * gb * saved;
    if (!trains || at.pp == 1)
        return at;
    double most = 0;
    rlf_choice_stage *stages = m->stages[call][n];
    for (int s = 0; s < at.pp; s++) {
        stages[s].all =
            (at.kept + at.own) * (0.7 + 0.3 * rlf_splitmix_uniform(chance));
        stages[s].lends = 0.2 * stages[s].all;
        most = fmax(most, stages[s].all);
    }
    at.own = most - at.kept;
    at.lends = 0.2 * most;
    at.stages = stages;
    return at;
}

static void
add_choices(made *m, rlf_splitmix *chance, int i)
{
    rlf_problem_call *call = &m->calls[i];
    double work = 4 + 20 * rlf_splitmix_uniform(chance);
    call->choices = m->choices[i];
    for (int count = DEVICES; count; count /= 2)
        for (int first = 0; first < DEVICES; first += count)
            for (int tp = 1; tp <= count; tp *= 2)
                for (int pp = 1; tp * pp <= count; pp *= 2) {
                    const rlf_choice at = {.first = first,
                                           .count = count,
                                           .tp = tp,
                                           .pp = pp,
                                           .dp = count / tp / pp};
                    m->choices[i][call->n_choices] =
                        make_choice(m, chance, i, call->n_choices, at, work);
                    call->n_choices++;
                }
}

static void
make(made *m, uint32_t number, double memory, rlf_arena *arena)
{
    static const rlf_stage_kind kinds[CALLS] = {
        RLF_STAGE_GENERATE, RLF_STAGE_READ, RLF_STAGE_READ, RLF_STAGE_UPDATE,
        RLF_STAGE_UPDATE};
    static const int models[CALLS] = {0, 1, 2, 0, 1};
    rlf_splitmix chance = rlf_splitmix_begin(5, number);
    rlf_err err = RLF_ERR_NONE;
    *m = (made){.problem = {.calls = m->calls,
                            .n_calls = CALLS,
                            .n_models = 3,
                            .devices = DEVICES,
                            .memory = m->memory,
                            .move = move}};
    for (int i = 0; i < DEVICES; i++)
        m->memory[i] = memory;
    for (int i = 0; i < CALLS; i++) {
        m->calls[i] = (rlf_problem_call){.name = "call",
                                         .kind = kinds[i],
                                         .model = models[i],
                                         .needs = m->needs[i]};
        for (int k = 0; k < i && k < 3; k++)
            if (!k || kinds[i] == RLF_STAGE_UPDATE)
                m->needs[i][m->calls[i].n_needs++] = k;
        add_choices(m, &chance, i);
    }
    if (rlf_problem_close(&m->problem, arena, &err) < 0)
        bail("%s", err.sentence);
}

/* ---- what is found ---- */

static double
search(const rlf_problem *p, int64_t moves, rlf_arena *arena)
{
    const rlf_search_options options = {.seed = 3, .moves = moves};
    rlf_found found;
    rlf_search(p, &options, arena, &found);
    return found.best.period;
}

/* The level of memory of a problem: some are tight. */
static double
memory_of(uint32_t number)
{
    return rlf_less_level(rlf_less_level_of(12 * gb) + (int)(number % 5));
}

static void
test_moves(void)
{
    static const int64_t moves[] = {0, 100, 900, 4000, 7000, 13000, 60000};
    int fit = 0, longer = 0, shorter = 0;
    for (uint32_t number = 0; number < PROBLEMS; number++) {
        static made m;
        rlf_arena *arena = rlf_arena_new();
        double last = INFINITY;
        make(&m, number, memory_of(number) * 0.97, arena);
        for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
            double now = search(&m.problem, moves[i], arena);
            longer += now > last;
            shorter += now < last && isfinite(last);
            last = now;
        }
        fit += isfinite(last);
        rlf_arena_free(arena);
    }
    ok(longer == 0, "more moves are never longer, of %d problems that fit",
       fit);
    ok(shorter > 3 && fit > PROBLEMS / 2, "... and %d times shorter", shorter);
}

/* The shortest to which a start goes downhill. */
static double
start_downhill(const rlf_problem *p, rlf_arena *arena)
{
    rlf_estimator *e = rlf_estimator_new(p, arena);
    rlf_placing at = {.choice = RLF_NEW_ARRAY(arena, int, CALLS)};
    double least = INFINITY;
    for (int which = 0; which <= RLF_BASELINE_SEPARATE; which++) {
        rlf_baseline_start(p, e, (rlf_baseline)which, &at);
        rlf_search_descend(e, p, NULL, NULL, &at);
        least = fmin(least, at.period);
    }
    return least;
}

static void
test_starts(void)
{
    int fit = 0, longer = 0, fewer = 0;
    for (uint32_t number = 0; number < PROBLEMS; number++) {
        static made m;
        rlf_arena *arena = rlf_arena_new();
        make(&m, number, memory_of(number), arena);
        double found = search(&m.problem, 0, arena);
        double start = start_downhill(&m.problem, arena);
        rlf_problem half = m.problem;
        half.devices /= 2;
        half.calls = RLF_NEW_ARRAY(arena, rlf_problem_call, CALLS);
        rlf_err err = RLF_ERR_NONE;
        for (int i = 0; i < CALLS; i++) {
            rlf_problem_call *c = &half.calls[i];
            *c = m.calls[i];
            c->choices = RLF_NEW_ARRAY(arena, rlf_choice, c->n_choices);
            int n = 0;
            for (int k = 0; k < m.calls[i].n_choices; k++)
                if (m.choices[i][k].first + m.choices[i][k].count <=
                    half.devices)
                    c->choices[n++] = m.choices[i][k];
            c->n_choices = n;
        }
        if (rlf_problem_close(&half, arena, &err) < 0)
            bail("%s", err.sentence);
        fewer += found > search(&half, 0, arena) * (1 + 1e-9);
        longer += found > start * (1 + 1e-9);
        fit += isfinite(start);
        rlf_arena_free(arena);
    }
    ok(longer == 0, "no start is shorter downhill, of %d that fit", fit);
    is_int(fewer, 0, "nor is what is found on half of the ranks");
}

/* ---- memory by stage ---- */

/* Bytes that a rank needs, call by call. */
static double
used(const rlf_problem *p, const rlf_placed *l, int rank)
{
    double stays = 0, work = 0;
    for (int k = 0; k < p->n_calls; k++) {
        const rlf_choice *c = l->at[k];
        if (!rlf_placed_has(c, rank))
            continue;
        int s = (rank - c->first) / c->tp % c->pp;
        double lends = c->stages ? c->stages[s].lends : c->lends, others = 0;
        stays += l->kept[k] + (c->stages ? c->stages[s].all - c->kept : c->own);
        for (int i = 0; i < p->n_calls; i++)
            if (rlf_placed_has(l->at[i], rank) &&
                p->calls[i].model == p->calls[k].model &&
                l->at[i]->copy != c->copy)
                others += l->kept[i];
        stays -= fmin(others, lends);
        work = fmax(work, c->work);
    }
    return stays + work;
}

static void
test_stages(void)
{
    static made m;
    rlf_arena *arena = rlf_arena_new();
    rlf_splitmix chance = rlf_splitmix_begin(6, 0);
    int differ = 0, staged = 0;
    make(&m, 0, 40 * gb, arena);
    for (int trial = 0; trial < 20000; trial++) {
        int choice[CALLS];
        double most = -INFINITY, by_call = -INFINITY;
        rlf_placed l;
        for (int i = 0; i < CALLS; i++)
            choice[i] = rlf_splitmix_below(&chance, m.calls[i].n_choices);
        for (int r = 0; r < DEVICES; r++)
            m.memory[r] = (20 + 20 * rlf_splitmix_below(&chance, 3) / 2) * gb;
        if (trial % 2)
            for (int r = 1; r < DEVICES; r++)
                m.memory[r] = m.memory[0];
        rlf_placed_lay(&m.problem, choice, &l);
        double over = rlf_placed_over(&m.problem, &l);
        for (int r = 0; r < DEVICES; r++) {
            most = fmax(most, used(&m.problem, &l, r) - m.memory[r]);
            by_call =
                fmax(by_call, rlf_placed_used(&m.problem, &l, r) - m.memory[r]);
        }
        if (by_call <= 0 || by_call > 0.05 * m.memory[0] || !(trial % 2))
            continue;
        staged += most < by_call;
        differ += fabs(over - most) > 1;
    }
    ok(differ == 0 && staged > 50,
       "bytes of the fullest rank by stage, in %d placements", staged);
    rlf_arena_free(arena);
}

int
main(void)
{
    test_moves();
    test_starts();
    test_stages();
    return done();
}
