/* See real.h. */
#include "tests/papers/real.h"

#include "engine/base/splitmix.h"
#include "engine/search/baseline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETTINGS = 64, ROUNDS = 8 };

static const int responses[] = {128, 384, 896};

void
real_open(rlf_arena *arena, real_families *out)
{
    out->blamed = REAL_BOTH;
    out->speeds = papers_speeds_of("a100x8", 25e9); /* 200 Gb/s a machine */
    out->speeds.start = 2e-5;
    out->speeds.piece = 0.03; /* as in ReaL's own estimate */
    double *both[] = {out->speeds.pass, out->speeds.generate};
    for (int i = 0; i < 2; i++) {
        both[i][RLF_SECONDS_MEMORY] = 1 / 0.8;
        both[i][RLF_SECONDS_SUM_INSIDE] = 300.0 / 250;
        both[i][RLF_SECONDS_SUM_ACROSS] = 25.0 / 20;
        both[i][RLF_SECONDS_SEND_ACROSS] = 25.0 / 20;
    }
    for (int s = 0; s <= PAPERS_70B; s++)
        for (int k = 0; k < 3; k++) {
            const papers_lengths lengths = {(1 << 17) / (128 + responses[k]),
                                            128, responses[k]};
            out->of[s][k] = papers_open(s, lengths, &out->speeds, arena);
        }
}

papers_family *
real_family(const real_families *all, papers_size size, int response)
{
    int k = 0;
    while (responses[k] != response)
        k++;
    return all->of[size][k];
}

static void
set_speeds(real_families *all)
{
    for (int s = 0; s <= PAPERS_70B; s++)
        for (int k = 0; k < 3; k++)
            papers_set_speeds(all->of[s][k], &all->speeds);
}

/* ---- what is fitted ---- */

/* Terms that share a factor, of generation, of all else, or of both; what calls
 * take in them is added up, with the factors taken out. With the largest
 * tensor-parallel groups everywhere, the heuristic's times cannot tell a
 * layer's operations from its collectives, nor either from memory and links:
 * what is usually reached of these is given (tests/ppo_problem.h has the same),
 * and an operation and a collective share the factor by which a start takes
 * longer than on the data sheet. */
#define TERM(t) (1u << RLF_SECONDS_##t)
static const struct {
    unsigned terms;
    bool passes, generates;
} columns[] = {
    {TERM(COMPUTE), true, true},
    {TERM(LAUNCH) | TERM(MEET_INSIDE), true, false},
    {TERM(LAUNCH) | TERM(MEET_INSIDE), false, true},
    {TERM(WAIT_ACROSS) | TERM(MEET_ACROSS), true, true},
};
enum { TERM_COLUMNS = sizeof columns / sizeof *columns };
enum { COLUMNS = TERM_COLUMNS + 1 }; /* the last one: `sequence` */

/* Is a term of such calls in the column? */
static bool
has(real_blamed blamed, int column, int term, bool generates)
{
    static const unsigned not_blamed[REAL_BLAMED] = {0, TERM(MEET_INSIDE),
                                                     TERM(LAUNCH)};
    unsigned terms = columns[column].terms & ~not_blamed[blamed];
    return terms >> term & 1 &&
           (generates ? columns[column].generates : columns[column].passes);
}

static void
set_factor(real_families *all, int column, double factor)
{
    papers_speeds *speeds = &all->speeds;
    for (int t = 0; t < RLF_SECONDS_TERMS; t++) {
        if (has(all->blamed, column, t, false))
            speeds->pass[t] = factor;
        if (has(all->blamed, column, t, true))
            speeds->generate[t] = factor;
    }
}

static void
heuristic(const real_families *all, const real_setting *s,
          papers_call out[PAPERS_CALLS])
{
    papers_family *actor = real_family(all, s->actor, s->response);
    papers_family *critic = real_family(all, s->critic, s->response);
    const papers_lengths lengths = {s->batch, 128, s->response};
    papers_cut cut =
        papers_cut_as_real(&lengths, s->devices, 8, s->devices / 8);
    papers_call of[PAPERS_CALLS];
    if (!papers_measure(actor, &cut, false, out) ||
        !papers_measure(critic, &cut, false, of))
        exit(1);
    out[PAPERS_REWARD] = of[PAPERS_REWARD];
    out[PAPERS_VALUE] = of[PAPERS_VALUE];
    out[PAPERS_CRITIC] = of[PAPERS_CRITIC];
}

void
real_predict(real_families *all, double *predicted)
{
    set_speeds(all);
    for (int i = 0; i < REAL_SETTINGS; i++) {
        papers_call calls[PAPERS_CALLS];
        heuristic(all, &real_settings[i], calls);
        predicted[i] = 0;
        for (int c = 0; c < PAPERS_CALLS; c++)
            predicted[i] += calls[c].seconds.total;
    }
}

/* Returns the seconds of all calls in a column, with the factors taken out. */
static double
sum_column(const papers_call *calls, const real_families *all, int column)
{
    const papers_speeds *speeds = &all->speeds;
    double sum = 0;
    for (int c = 0; c < PAPERS_CALLS; c++)
        for (int t = 0; t < RLF_SECONDS_TERMS; t++) {
            bool generates = c == PAPERS_GENERATE;
            const double *factor = generates ? speeds->generate : speeds->pass;
            if (has(all->blamed, column, t, generates))
                sum += calls[c].seconds.term[t] / factor[t];
        }
    return sum;
}

/* Returns the seconds of all calls that are in no column. */
static double
sum_fixed(const papers_call *calls, const real_families *all)
{
    double sum = -all->speeds.sequence * calls[PAPERS_GENERATE].sequences;
    for (int c = 0; c < PAPERS_CALLS; c++) {
        sum += calls[c].seconds.total;
        for (int t = 0; t < RLF_SECONDS_TERMS; t++)
            for (int k = 0; k < TERM_COLUMNS; k++)
                if (has(all->blamed, k, t, c == PAPERS_GENERATE))
                    sum -= calls[c].seconds.term[t];
    }
    return sum;
}

/* One round: factors for the pieces as they wait with those of now. */
static void
fit_once(real_families *all, papers_size left)
{
    double terms[MOST_SETTINGS * COLUMNS], seconds[MOST_SETTINGS];
    double factor[COLUMNS], least[COLUMNS] = {0};
    rlf_err err = RLF_ERR_NONE;
    int n = 0;
    set_speeds(all);
    for (int i = 0; i < REAL_SETTINGS; i++) {
        const real_setting *s = &real_settings[i];
        papers_call calls[PAPERS_CALLS];
        if (s->actor == left || s->critic == left)
            continue;
        heuristic(all, s, calls);
        double *row = &terms[n * COLUMNS];
        for (int k = 0; k < TERM_COLUMNS; k++)
            row[k] = sum_column(calls, all, k);
        row[TERM_COLUMNS] = calls[PAPERS_GENERATE].sequences;
        seconds[n++] = s->heuristic - sum_fixed(calls, all);
    }
    for (int k = 0; k < TERM_COLUMNS; k++)
        least[k] = 1; /* nothing is faster than its data sheet */
    if (rlf_fit_above(terms, n, COLUMNS, least, seconds, &err, factor) < 0) {
        fprintf(stderr, "%s\n", err.sentence);
        exit(1);
    }
    for (int k = 0; k < TERM_COLUMNS; k++)
        set_factor(all, k, factor[k]);
    all->speeds.sequence = factor[TERM_COLUMNS];
}

/* Of the settings that were fitted. */
static double
error_of(const double *predicted, papers_size left)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < REAL_SETTINGS; i++) {
        const real_setting *s = &real_settings[i];
        if (s->actor == left || s->critic == left)
            continue;
        sum += fabs(predicted[i] / s->heuristic - 1);
        n++;
    }
    return sum / n;
}

/* Nothing is slower than its data sheet, of what an earlier fit may have said.
 */
static void
forget(real_families *all)
{
    for (int k = 0; k < TERM_COLUMNS; k++)
        for (int t = 0; t < RLF_SECONDS_TERMS; t++)
            if (columns[k].terms >> t & 1)
                all->speeds.pass[t] = all->speeds.generate[t] = 1;
    all->speeds.sequence = 0;
}

/* Fits the factors several times and keeps the best, because they decide
 * whether a piece waits for computing or for memory. */
void
real_fit(real_families *all, papers_size left, double *predicted)
{
    forget(all);
    papers_speeds best = all->speeds;
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        fit_once(all, left);
        real_predict(all, predicted);
        double error = error_of(predicted, left);
        if (error < least) {
            least = error;
            best = all->speeds;
        }
    }
    all->speeds = best;
    real_predict(all, predicted);
}

/* ---- search ---- */

static const rlf_search_options searching = {.seed = 1, .moves = 100000};

real_found
real_search(real_families *all, const real_setting *s, bool everything)
{
    papers_family *actor = real_family(all, s->actor, s->response);
    papers_family *critic = real_family(all, s->critic, s->response);
    real_found out = {0};
    for (int k = 0; k <= everything; k++) {
        rlf_arena *arena = rlf_arena_new();
        papers_problem *p = RLF_NEW(arena, papers_problem);
        rlf_search_options options = searching;
        rlf_found found;
        rlf_placing at;
        options.branches = k ? options.moves : 0;
        papers_problem_make(actor, critic, s->devices,
                            k ? PAPERS_ALL : PAPERS_REAL, arena, p);
        rlf_search(&p->problem, &options, arena, &found);
        if (k) {
            out.all = found.best.period;
            out.gap = 1 - found.bound / found.best.period;
        } else {
            out.same = found.best.period;
            rlf_baseline_make(&p->problem, RLF_BASELINE_REAL, &searching, arena,
                              &at);
            out.published = at.period;
        }
        rlf_arena_free(arena);
    }
    return out;
}

/* ---- parts of the space ---- */

const char *const real_space_words[REAL_SPACES] = {
    "all meshes and cuts",   "those that ReaL looks at",
    "its count of memory",   "all calls on all devices",
    "all of them cut alike",
};

/* All calls on all devices, cut in the same way: as ReaL's memory allows. */
static double
search_alike(real_families *all, const real_setting *s)
{
    papers_family *actor = real_family(all, s->actor, s->response);
    papers_family *critic = real_family(all, s->critic, s->response);
    const papers_lengths lengths = {s->batch, 128, s->response};
    double least = INFINITY;
    for (int tp = 1; tp <= 8; tp *= 2)
        for (int pp = 1; tp * pp <= s->devices; pp++) {
            rlf_choice at = {.count = s->devices,
                             .tp = tp,
                             .pp = pp,
                             .dp = s->devices / tp / pp};
            papers_cut cut = papers_cut_as_real(&lengths, s->devices, tp, pp);
            papers_call calls[PAPERS_CALLS], of[PAPERS_CALLS];
            double sum = 0, own = 0, work = 0;
            if (tp * pp * at.dp != s->devices ||
                !papers_is_real(&at, true, s->devices / 8, s->batch) ||
                !papers_measure(actor, &cut, false, calls) ||
                !papers_measure(critic, &cut, false, of))
                continue;
            for (int c = 0; c < PAPERS_CALLS; c++) {
                bool small = c == PAPERS_REWARD || c == PAPERS_VALUE ||
                             c == PAPERS_CRITIC;
                papers_real_memory(small ? s->critic : s->actor, lengths, c,
                                   &at);
                own += at.own;
                work = fmax(work, at.work);
                sum += (small ? of : calls)[c].seconds.total;
            }
            if (own + work <= 80e9)
                least = fmin(least, sum);
        }
    return least;
}

/* Box and Muller. */
static double
normal(rlf_splitmix *dice)
{
    double u = 1 - rlf_splitmix_uniform(dice), v = rlf_splitmix_uniform(dice);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* The choices of one mesh alone, where `whole`; seconds told wrong. */
static void
change_choices(papers_problem *p, bool whole, double wrong, uint64_t seed,
               rlf_arena *arena)
{
    rlf_splitmix dice = rlf_splitmix_begin(seed, 0);
    rlf_err err = RLF_ERR_NONE;
    for (int c = 0; c < PAPERS_CALLS; c++) {
        rlf_problem_call *call = &p->calls[c];
        int n = 0;
        for (int k = 0; k < call->n_choices; k++) {
            rlf_choice at = call->choices[k];
            at.seconds *= exp(wrong * normal(&dice));
            if (!whole || at.count == p->problem.devices)
                call->choices[n++] = at;
        }
        call->n_choices = n;
    }
    if (rlf_problem_close(&p->problem, arena, &err) < 0) {
        fprintf(stderr, "%s\n", err.sentence);
        exit(1);
    }
}

/* Seconds of a placement by the problem with the right ones: choices are
 * sorted, so they are found again by ranks and cut. */
static double
as_it_is(const papers_problem *p, const rlf_problem *right, const int *choice,
         rlf_arena *arena)
{
    int again[PAPERS_CALLS];
    for (int c = 0; c < PAPERS_CALLS; c++) {
        const rlf_choice *is = &p->calls[c].choices[choice[c]];
        const rlf_choice *of = right->calls[c].choices;
        int k = 0;
        while (of[k].first != is->first || of[k].count != is->count ||
               of[k].tp != is->tp || of[k].pp != is->pp ||
               of[k].variant != is->variant)
            k++;
        again[c] = k;
    }
    return rlf_estimate_period(rlf_estimator_new(right, arena), again);
}

double
real_search_in(real_families *all, const real_setting *s, real_space space,
               double wrong, uint64_t seed)
{
    if (space == REAL_ONE_CUT)
        return search_alike(all, s);
    rlf_arena *arena = rlf_arena_new();
    papers_problem *p = RLF_NEW(arena, papers_problem);
    rlf_search_options options = searching;
    rlf_found found;
    options.branches = 0;
    papers_problem_make(real_family(all, s->actor, s->response),
                        real_family(all, s->critic, s->response), s->devices,
                        space == REAL_EVERYTHING ? PAPERS_ALL
                        : space == REAL_OPTIONS  ? PAPERS_REAL
                                                 : PAPERS_REAL_MEMORY,
                        arena, p);
    rlf_problem right = p->problem;
    right.calls = RLF_NEW_ARRAY(arena, rlf_problem_call, PAPERS_CALLS);
    for (int c = 0; c < PAPERS_CALLS; c++) {
        size_t n = (size_t)p->calls[c].n_choices;
        right.calls[c] = p->calls[c];
        right.calls[c].choices = RLF_NEW_ARRAY(arena, rlf_choice, n);
        memcpy(right.calls[c].choices, p->calls[c].choices,
               n * sizeof *right.calls[c].choices);
    }
    change_choices(p, space == REAL_ONE_MESH, wrong, seed, arena);
    rlf_search(&p->problem, &options, arena, &found);
    double period = found.best.period;
    if (isfinite(period) && wrong > 0)
        period = as_it_is(p, &right, found.best.choice, arena);
    rlf_arena_free(arena);
    return period;
}

void
real_gain_add(real_gain *gain, const real_setting *s, double ours)
{
    double weight = s->devices == 8 ? 2 * s->devices : s->devices;
    gain->ours += weight * (ours - 1);
    gain->published += weight * (s->heuristic / s->searched - 1);
    gain->weight += weight;
}

real_flops_check
real_flops(real_families *all)
{
    real_flops_check out = {INFINITY, 0};
    for (int s = 0; s <= PAPERS_70B; s++)
        for (int k = 0; k < 3; k++) {
            const papers_lengths lengths = {(1 << 17) / (128 + responses[k]),
                                            128, responses[k]};
            const papers_cut one = papers_cut_as_real(&lengths, 1, 1, 1);
            papers_call calls[PAPERS_CALLS];
            double sum = 0;
            if (!papers_measure(all->of[s][k], &one, false, calls))
                exit(1);
            for (int c = 0; c < PAPERS_CALLS; c++)
                sum += calls[c].flops;
            double part = sum / papers_model_flops(s, s, lengths);
            out.least = fmin(out.least, part);
            out.most = fmax(out.most, part);
        }
    return out;
}
