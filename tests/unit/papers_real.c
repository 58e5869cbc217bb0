/* ReaL's settings (tests/papers/real_table.h): its options and its count of
 * operations, exact; then seconds, with constants fitted to its heuristic plans
 * alone: how near they come to these, and to the plans that its search found,
 * which the fit has not seen; and that the plan found here is never slower than
 * the heuristic. RLFLOW_TEST_QUICK leaves out more than 16 devices. */
#include "tests/papers/hybridflow.h"
#include "tests/tap.h"
#include "tests/fit_errors.h"

#include <math.h>

/* ---- options ---- */

/* All ways of a call on all runs of devices that ReaL looks at. */
static int
count_options(int machines, bool trains, int *meshes)
{
    int n = 8 * machines, options = 0;
    *meshes = 0;
    for (int first = 0; first < n; first++)
        for (int count = 1; first + count <= n; count++) {
            int before = options;
            rlf_choice c = {.first = first, .count = count};
            for (c.tp = 1; c.tp <= count; c.tp++)
                for (c.pp = 1; c.tp * c.pp <= count; c.pp++) {
                    c.dp = count / c.tp / c.pp;
                    if (c.tp * c.pp * c.dp == count)
                        options += papers_is_real(&c, trains, machines, 512);
                }
            *meshes += options > before;
        }
    return options;
}

static void
test_options(void)
{
    static const struct {
        int machines, meshes, reads, trains;
        double plans; /* plans of six calls, as a power of ten */
    } rows[] = {
        {1, 3, 22, 22, 8.1},         {2, 7, 57, 53, 10.5},
        {4, 18, 164, 136, 13.1},     {8, 52, 520, 356, 16.0},
        {16, 168, 2095, 1183, 19.4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int meshes, n = rows[i].machines;
        int reads = count_options(n, false, &meshes);
        int trains = count_options(n, true, &meshes);
        double plans = 4 * log10(reads) + 2 * log10(trains);
        ok(meshes == rows[i].meshes && reads == rows[i].reads &&
               trains == rows[i].trains && fabs(plans - rows[i].plans) < 0.051,
           "%d machines: %d meshes, %d options of a reading, %d of an update, "
           "10^%.1f plans",
           n, meshes, reads, trains, plans);
    }
}

/* ---- operations ---- */

static void
test_flops(real_families *all)
{
    static const struct {
        papers_size actor, critic;
        int response, batch;
        double is; /* 10^15 */
    } rows[] = {
        {PAPERS_7B, PAPERS_7B, 128, 512, 21.401},
        {PAPERS_7B, PAPERS_7B, 896, 128, 22.006},
        {PAPERS_7B, PAPERS_34B, 896, 128, 74.192},
        {PAPERS_7B, PAPERS_70B, 384, 256, 135.115},
        {PAPERS_34B, PAPERS_34B, 896, 128, 126.309},
        {PAPERS_70B, PAPERS_70B, 128, 512, 247.555},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const papers_lengths l = {rows[i].batch, 128, rows[i].response};
        double is = papers_real_flops(rows[i].actor, rows[i].critic, l) / 1e15;
        ok(fabs(is - rows[i].is) < 0.0006, "%s and %s: %.3f PFLOP",
           papers_models[rows[i].actor].name,
           papers_models[rows[i].critic].name, is);
    }
    /* 1600 steps of 70B, 128 responses, 128 devices: hours of three systems */
    const papers_lengths l = {512, 128, 128};
    static const double rates[] = {0.778, 0.720, 6.454};
    static const double hours[] = {141.5, 152.8, 17.0};
    for (int i = 0; i < 3; i++) {
        double is = papers_real_flops(PAPERS_70B, PAPERS_70B, l) / rates[i] /
                    1e15 * 1600 / 3600;
        ok(fabs(is - hours[i]) < 0.2, "%.1f hours of 1600 steps", is);
    }
    int good = 0;
    for (int i = 0; i < REAL_SETTINGS; i++) {
        const real_setting *s = &real_settings[i];
        const papers_lengths of = {s->batch, 128, s->response};
        double flops = papers_real_flops(s->actor, s->critic, of) / 1e15;
        bool fine = fabs(flops / s->heuristic_rate / s->heuristic - 1) < 3e-3 &&
                    fabs(flops / s->searched_rate / s->searched - 1) < 3e-3;
        good += fine;
        if (!fine)
            note("setting %d: %.3f and %.3f s", i, flops / s->heuristic_rate,
                 flops / s->searched_rate);
    }
    is_int(good, REAL_SETTINGS, "seconds and rates of the table agree");
    real_flops_check check = real_flops(all);
    ok(check.least > 0.97 && check.most < 1.03,
       "rlflow counts %.3f to %.3f of these operations, attention to what lies "
       "before, narrow keys and values, scalar heads, and what is not "
       "recomputed "
       "taken as they are",
       check.least, check.most);
}

/* ---- seconds ---- */

static void
test_seconds(real_families *all)
{
    double predicted[REAL_SETTINGS], is[REAL_SETTINGS];
    double own[REAL_SETTINGS], theirs[REAL_SETTINGS], searched[REAL_SETTINGS];
    for (int i = 0; i < REAL_SETTINGS; i++)
        is[i] = real_settings[i].heuristic;
    real_predict(all, predicted);
    fit_errors e = fit_errors_of(predicted, is, REAL_SETTINGS);
    ok(e.mean > 0.3, "peaks of data sheets are %.0f %% off", 100 * e.mean);
    real_fit(all, PAPERS_SIZES, predicted);
    e = fit_errors_of(predicted, is, REAL_SETTINGS);
    ok(e.mean <= 0.05 && e.rank > 0.98,
       "heuristic plans, fitted: %.1f %% off on average, %.1f %% at most, rank "
       "correlation %.3f",
       100 * e.mean, 100 * e.worst, e.rank);
    int n = 0, worse = 0;
    real_gain gain = {0};
    for (int i = 0; i < REAL_SETTINGS; i++) {
        const real_setting *s = &real_settings[i];
        if (quick() && s->devices > 16)
            continue;
        real_found f = real_search(all, s, false);
        worse += f.same > predicted[i] * (1 + 1e-9);
        real_gain_add(&gain, s, predicted[i] / f.same);
        own[n] = f.same;
        theirs[n] = f.published;
        searched[n++] = s->searched;
    }
    is_int(worse, 0, "the plan found is never slower than the heuristic");
    e = fit_errors_of(theirs, searched, n);
    ok(e.mean <= 0.12 && e.rank >= 0.95,
       "what ReaL's search finds, not seen by the fit: %.1f %% off on average, "
       "%.1f %% at most, rank correlation %.3f",
       100 * e.mean, 100 * e.worst, e.rank);
    e = fit_errors_of(own, searched, n);
    ok(e.mean <= 0.15 && e.rank >= 0.94,
       "what rlflow's finds: %.1f %% off on average, rank correlation %.3f",
       100 * e.mean, e.rank);
    /* the heuristic's deep pipelines wait for messages by our count, which
     * makes our gain the larger one */
    ok(fabs(gain.ours - gain.published) < 0.15 * gain.weight,
       "a gain over the heuristic, by devices, of %.0f %%; "
       "published: %.0f %%",
       100 * gain.ours / gain.weight, 100 * gain.published / gain.weight);
}

/* A smaller space, wrong seconds, and constants that the fit cannot know: each
 * changes the gain as it must. */
static void
test_spaces(real_families *all)
{
    const real_setting *s = &real_settings[8]; /* 7B on 8, responses of 896 */
    double found[REAL_SPACES], ignored[REAL_SETTINGS], gains[REAL_BLAMED];
    int worse = 0;
    for (int k = 0; k < REAL_SPACES; k++) {
        found[k] = real_search_in(all, s, (real_space)k, 0, 1);
        worse += k && found[k] < found[k - 1] * (1 - 1e-9);
        note("%s: %.1f s", real_space_words[k], found[k]);
    }
    ok(!worse && found[REAL_ONE_CUT] > found[REAL_EVERYTHING] * 1.01,
       "a smaller space has no better plan");
    double wrong = real_search_in(all, s, REAL_OPTIONS, 0.25, 1);
    ok(wrong >= found[REAL_OPTIONS] * (1 - 1e-9),
       "chosen by seconds 25 %% wrong: %.1f s", wrong);
    for (int b = 0; b < REAL_BLAMED; b++) {
        all->blamed = (real_blamed)b;
        real_fit(all, PAPERS_SIZES, ignored);
        gains[b] = ignored[8] / real_search_in(all, s, REAL_OPTIONS, 0, 1) - 1;
    }
    ok(gains[REAL_OPERATIONS] < gains[REAL_BOTH] &&
           gains[REAL_BOTH] < gains[REAL_COLLECTIVES],
       "a gain of %.0f %% if operations start late, %.0f %% if collectives do, "
       "%.0f %% if both",
       100 * gains[REAL_OPERATIONS], 100 * gains[REAL_COLLECTIVES],
       100 * gains[REAL_BOTH]);
}

/* HybridFlow's figure 12 for 34B: on 128 devices splitting them is better; by
 * these seconds not yet on 96. */
static void
test_crossover(const real_families *all, rlf_arena *arena)
{
    papers_family *f = hybridflow_open(PAPERS_34B, &all->speeds, arena);
    hybridflow_placed few = hybridflow_place(f, f, 96, 0);
    hybridflow_placed many = hybridflow_place(f, f, 128, 0);
    ok(few.split.period > few.colocate.period,
       "34B on 96 devices: sharing all takes %.1f s, "
       "splitting %.1f",
       few.colocate.period, few.split.period);
    ok(many.split.period < many.colocate.period,
       "34B on 128 devices: %.1f and %.1f s", many.colocate.period,
       many.split.period);
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    real_families all;
    test_options();
    real_open(arena, &all);
    test_flops(&all);
    test_seconds(&all);
    test_crossover(&all, arena);
    test_spaces(&all);
    rlf_arena_free(arena);
    return done();
}
