/* Fused pipelines: the evaluator of the search against the validator and the
 * clock of engine/plan on thousands of random tables, the published bounds and
 * greedy schedules, the search against enumeration and proved optima. */
#include "tests/fused.h"
#include "tests/zero_bubble.h"

#include "engine/fuse/dispatch.h"
#include "engine/fuse/orders.h"
#include "tests/tap.h"

static rlf_arena *arena;
static rlf_splitmix chance;

static int
pick(int least, int most)
{
    return least + rlf_splitmix_below(&chance, most - least + 1);
}

static bool
equal(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* The most memory that a place holds. */
static double
peak_of(const rlf_fuse_rows *rows, const rlf_row_number *table)
{
    double most = 0;
    for (int p = 0; p < rows->places; p++) {
        double held = 0;
        for (int i = rows->start[p]; i < rows->start[p + 1]; i++) {
            held += rows->row[table[i]].delta;
            if (held > most)
                most = held;
        }
    }
    return most;
}

/* ---- random problems ---- */

/* A path of some stages through the places in any order, often a place twice.
 */
static void
random_path(const rlf_fuse *fuse, bool chunks, rlf_pipe_model *m)
{
    int n = chunks ? pick(1, 2 * fuse->places) : pick(1, fuse->places);
    int *path = RLF_NEW_ARRAY(arena, int, n);
    for (int k = 0; k < n; k++) {
        bool again = true;
        while (again) {
            again = false;
            path[k] = pick(0, fuse->places - 1);
            for (int i = 0; i < k && !chunks; i++)
                again |= path[i] == path[k];
        }
    }
    m->path = path;
    m->stages = n;
}

/* Up to three models, some split, some only forward, costs by stage. */
static void
random_problem(int places, int micros, bool simple, rlf_fuse *out)
{
    int n = pick(1, 3);
    int *turn = RLF_NEW_ARRAY(arena, int, n);
    *out = (rlf_fuse){.n_models = n, .places = places, .turn = turn};
    out->models = RLF_NEW_ARRAY(arena, rlf_pipe_model, n);
    const rlf_pipe_cost **cost = RLF_NEW_ARRAY(arena, const rlf_pipe_cost *, n);
    out->cost = cost;
    for (int m = 0; m < n; m++) {
        rlf_pipe_model *model = &out->models[m];
        *model = (rlf_pipe_model){.name = rlf_arena_printf(arena, "m%d", m),
                                  .micros = pick(1, micros)};
        model->forward_only = !simple && !pick(0, 5);
        model->split = !simple && !model->forward_only && !pick(0, 2);
        random_path(out, !simple && pick(0, 1), model);
        rlf_pipe_cost *at = RLF_NEW_ARRAY(arena, rlf_pipe_cost, model->stages);
        for (int k = 0; k < model->stages; k++)
            at[k] = (rlf_pipe_cost){.forward = pick(1, 5),
                                    .backward = pick(1, 9),
                                    .send = pick(0, 1) * 0.5,
                                    .memory = pick(0, 8) * 0.25,
                                    .weights = pick(1, 4)};
        cost[m] = at;
        turn[m] = m;
    }
}

/* Any order in which operations can be done. */
static void
random_table(const rlf_fuse_rows *rows, rlf_row_number *table)
{
    int *passed = RLF_NEW_ARRAY(arena, int, rows->n + 1);
    int *next = RLF_NEW_ARRAY(arena, int, rows->places);
    passed[rows->n] = INT32_MAX;
    for (int p = 0; p < rows->places; p++)
        next[p] = rows->start[p];
    for (int left = rows->operations; left;) {
        int r = pick(0, rows->n - 1);
        const rlf_row *row = &rows->row[r];
        if (passed[r] == row->micros || passed[row->cross] <= passed[r] ||
            passed[row->same] <= passed[r])
            continue;
        passed[r]++;
        table[next[row->place]++] = (rlf_row_number)r;
        left--;
    }
}

/* Exchange two of a place: the order may be one that cannot be. */
static void
disturb(const rlf_fuse_rows *rows, rlf_row_number *table)
{
    int p = pick(0, rows->places - 1);
    int n = rows->start[p + 1] - rows->start[p];
    if (n < 2)
        return;
    int a = rows->start[p] + pick(0, n - 1);
    int b = rows->start[p] + pick(0, n - 1);
    rlf_row_number t = table[a];
    table[a] = table[b];
    table[b] = t;
}

/* Checks a table whose places go on apart: its report has the latest end after
 * the moment at which the place could begin, in both directions of time. */
static bool
is_apart(const rlf_fuse *fuse, const rlf_row_number *table,
         const rlf_pipe_report *report, const rlf_pipe *pipe)
{
    rlf_fuse other = *fuse;
    rlf_fuse_rows rows, reversed;
    rlf_timing timing;
    double longest = 0, last = 0;
    double **start = RLF_NEW_ARRAY(arena, double *, fuse->places);
    rlf_pipe_report again;
    rlf_row_number *turned;
    other.apart = true;
    other.cap = NULL;
    rlf_fuse_rows_make(&other, arena, &rows);
    rlf_fuse_rows_reverse(&rows, arena, &reversed);
    rlf_timing_make(&rows, arena, &timing);
    turned = RLF_NEW_ARRAY(arena, rlf_row_number, rows.operations);
    memcpy(turned, table, sizeof *table * (size_t)rows.operations);
    rlf_fuse_rows_turn(&rows, turned);
    rlf_pipe_time(pipe, fuse->cost, arena, &again, start);
    for (int p = 0; p < fuse->places; p++) {
        const rlf_pipe_list *list = &pipe->lists[p];
        if (!list->count)
            continue;
        const rlf_row *row = &rows.row[table[rows.start[p + 1] - 1]];
        double end = start[p][list->count - 1] + row->takes;
        longest = fmax(longest, end - rows.lead[p]);
        last = fmax(last, rows.lead[p]);
    }
    return rlf_fuse_rows_time(&rows, table, RLF_NO_LIMIT, RLF_NO_LIMIT,
                              &timing) &&
           equal(timing.makespan, longest + last) &&
           report->span <= longest + 1e-9 &&
           rlf_fuse_bound(&other, arena) <= longest + 1e-9 &&
           rlf_fuse_rows_time(&reversed, turned, RLF_NO_LIMIT, RLF_NO_LIMIT,
                              &timing) &&
           equal(timing.makespan, longest + last);
}

static void
test_evaluator(void)
{
    bool times = true, verdicts = true, turned = true, caps = true;
    bool apart = true, memory = true;
    int good = 0, bad = 0;
    int n = quick() ? 100 : 400;
    for (int i = 0; i < n; i++) {
        rlf_fuse fuse;
        rlf_fuse_rows rows, reversed;
        rlf_timing timing;
        random_problem(pick(1, 5), 6, false, &fuse);
        rlf_fuse_rows_make(&fuse, arena, &rows);
        rlf_fuse_rows_reverse(&rows, arena, &reversed);
        rlf_timing_make(&rows, arena, &timing);
        rlf_row_number *table =
            RLF_NEW_ARRAY(arena, rlf_row_number, rows.operations);
        random_table(&rows, table);
        for (int k = 0; k < 12; k++) {
            rlf_pipe pipe;
            rlf_pipe_report report;
            rlf_err err = RLF_ERR_NONE;
            rlf_fuse_rows_pipe(&fuse, &rows, table, arena, &pipe);
            bool can = rlf_pipe_check(&pipe, NULL, NULL, &err) == RLF_OK;
            verdicts &= can == (rlf_fuse_rows_sound(&rows, table, &timing) &&
                                rlf_fuse_rows_time(&rows, table, RLF_NO_LIMIT,
                                                   RLF_NO_LIMIT, &timing));
            good += can;
            bad += !can;
            if (!can)
                break;
            double makespan = timing.makespan, mean = 0;
            double peak = peak_of(&rows, table), most = 0;
            rlf_pipe_time(&pipe, fuse.cost, arena, &report, NULL);
            for (int p = 0; p < fuse.places; p++)
                most = report.peak[p] > most ? report.peak[p] : most;
            times &= equal(makespan, report.makespan) && equal(peak, most) &&
                     rlf_fuse_rows_bound(&rows) <= makespan * (1 + 1e-12) &&
                     !rlf_fuse_rows_time(&rows, table, makespan - 1e-6,
                                         RLF_NO_LIMIT, &timing);
            double *cap = RLF_NEW_ARRAY(arena, double, fuse.places);
            for (int p = 0; p < fuse.places; p++)
                cap[p] = most * pick(5, 10) / 10;
            fuse.cap = cap;
            rlf_fuse_rows capped;
            rlf_fuse_rows_make(&fuse, arena, &capped);
            err = (rlf_err)RLF_ERR_NONE;
            caps &= rlf_fuse_rows_sound(&capped, table, &timing) ==
                    (rlf_pipe_check(&pipe, fuse.cost, cap, &err) == RLF_OK);
            fuse.cap = report.peak;
            memory &= rlf_fuse_bound(&fuse, arena) <= makespan * (1 + 1e-12);
            apart &= is_apart(&fuse, table, &report, &pipe);
            rlf_fuse_rows_turn(&rows, table);
            turned &= rlf_fuse_rows_sound(&reversed, table, &timing) &&
                      rlf_fuse_rows_time(&reversed, table, RLF_NO_LIMIT,
                                         RLF_NO_LIMIT, &timing) &&
                      equal(timing.makespan, makespan) &&
                      equal(peak_of(&reversed, table), peak);
            mean = timing.mean;
            turned &= mean <= makespan * (1 + 1e-12);
            rlf_fuse_rows_turn(&rows, table);
            fuse.cap = NULL;
            disturb(&rows, table);
        }
    }
    note("%d tables that can be run, %d that cannot", good, bad);
    ok(good > n && 2 * bad > n, "there are some of both");
    ok(verdicts, "a table can be run where rlf_pipe_check says so");
    ok(times, "it takes what rlf_pipe_time says, and the bound is none above");
    ok(memory, "below caps that it keeps, the bound is none above either");
    ok(caps, "caps are kept where rlf_pipe_check says so");
    ok(apart, "apart, it takes what the last place does that begins late");
    ok(turned, "time reversed, it takes as long and holds as much");
}

/* A problem with caps, its rows in either direction of time, and a rule for
 * their dispatch. */
typedef struct trial {
    rlf_fuse fuse;
    rlf_fuse_rows forward, reversed;
    const rlf_fuse_rows *rows; /* one of them */
    rlf_dispatch dispatch;
    rlf_timing timing;
    rlf_dispatch_rule rule;
} trial;

static void
random_trial(bool reversed, bool apart, int look, trial *t)
{
    random_problem(pick(1, 5), 6, false, &t->fuse);
    double *cap = RLF_NEW_ARRAY(arena, double, t->fuse.places);
    for (int p = 0; p < t->fuse.places; p++)
        cap[p] = pick(8, 40) * 0.25;
    t->fuse.cap = cap;
    t->fuse.apart = apart && pick(0, 1);
    rlf_fuse_rows_make(&t->fuse, arena, &t->forward);
    rlf_fuse_rows_reverse(&t->forward, arena, &t->reversed);
    t->rows = reversed ? &t->reversed : &t->forward;
    rlf_timing_make(t->rows, arena, &t->timing);
    rlf_dispatch_make(t->rows, arena, &t->dispatch);
    t->rule = (rlf_dispatch_rule){.look = look ? pick(0, look) : 0};
    t->rule.due = RLF_NEW_ARRAY(arena, double, t->rows->n);
    t->rule.slope = RLF_NEW_ARRAY(arena, double, t->rows->n);
    t->rule.most = RLF_NEW_ARRAY(arena, int, t->rows->n);
    for (int r = 0; r < t->rows->n; r++) {
        t->rule.due[r] = pick(0, 20);
        t->rule.slope[r] = pick(0, 10);
        t->rule.most[r] = pick(1, 9);
    }
}

/* Dispatching makes a table, and takes what it says. */
static void
test_dispatch(void)
{
    bool good = true;
    int made = 0;
    for (int i = 0; i < 300; i++) {
        trial t;
        random_trial(i % 2, false, 2, &t);
        if (!rlf_dispatch_run(&t.dispatch, &t.rule, RLF_NO_LIMIT))
            continue;
        made++;
        double makespan = t.dispatch.timing.makespan;
        good &= rlf_fuse_rows_sound(t.rows, t.dispatch.table, &t.timing) &&
                rlf_fuse_rows_time(t.rows, t.dispatch.table, RLF_NO_LIMIT,
                                   RLF_NO_LIMIT, &t.timing) &&
                equal(t.timing.makespan, makespan) &&
                equal(t.timing.mean, t.dispatch.timing.mean);
        good &= rlf_dispatch_run(&t.dispatch, &t.rule, makespan + 1e-6) &&
                !rlf_dispatch_run(&t.dispatch, &t.rule, makespan - 1e-6);
    }
    ok(made > 150, "dispatching makes tables (%d of 300)", made);
    ok(good, "they can be run, keep caps, and take what it says");
}

/* The annealing of orders ends with a table below the caps that takes what it
 * says, in either direction of time, apart or not. */
static void
test_orders(void)
{
    bool sound = true, times = true;
    int better = 0, made = 0, n = quick() ? 60 : 300;
    for (int i = 0; i < n; i++) {
        trial t;
        bool stopped = false;
        random_trial(i % 2, true, 0, &t);
        if (!rlf_dispatch_run(&t.dispatch, &t.rule, RLF_NO_LIMIT))
            continue;
        double begin = t.dispatch.timing.makespan, best = begin;
        const rlf_orders_job job = {.rows = t.rows,
                                    .moves = 4000,
                                    .bound = rlf_fuse_rows_bound(&t.forward),
                                    .hot = 3,
                                    .cold = 0.1,
                                    .weight = 0.5,
                                    .best = &best,
                                    .table = t.dispatch.table,
                                    .dice = &chance,
                                    .stopped = &stopped};
        rlf_orders_anneal(&job, arena);
        sound &= rlf_fuse_rows_sound(t.rows, t.dispatch.table, &t.timing);
        times &= rlf_fuse_rows_time(t.rows, t.dispatch.table, RLF_NO_LIMIT,
                                    RLF_NO_LIMIT, &t.timing) &&
                 equal(t.timing.makespan, best) && best <= begin + 1e-9;
        better += best < begin - 1e-9;
        made++;
    }
    note("%d tables of %d have become shorter", better, made);
    ok(6 * better > n && 2 * made > n, "orders become better");
    ok(sound, "they can be run and keep caps");
    ok(times, "they take what the annealing says");
}

/* ---- published numbers ---- */

static void
test_published(void)
{
    for (int i = 0; i < FUSED_CASES; i++) {
        const struct fused *x = &fused_cases[i];
        rlf_fuse fuse;
        rlf_fuse_answer serial, greedy;
        rlf_err err = RLF_ERR_NONE;
        fused_make(x, 0, arena, &fuse);
        rlf_fuse_serial(&fuse, arena, &serial);
        if (rlf_fuse_greedy(&fuse, arena, &err, &greedy) < 0)
            bail("%s", err.sentence);
        ok(equal(rlf_fuse_bound(&fuse, arena), x->bound), "case %d: bound %g",
           i, x->bound);
        ok(equal(serial.makespan, x->serial) &&
               equal(serial.peak, x->serial_peak),
           "one after the other: %g with %g", x->serial, x->serial_peak);
        if (!ok(equal(greedy.makespan, x->greedy) &&
                    equal(greedy.peak, x->greedy_peak),
                "greedy: %g with %g", x->greedy, x->greedy_peak))
            note("%g with %g", greedy.makespan, greedy.peak);
    }
}

/* ---- the search ---- */

static rlf_fuse_answer
search(const rlf_fuse *fuse, uint64_t seed, int64_t moves)
{
    const rlf_fuse_options options = {.seed = seed, .moves = moves};
    rlf_fuse_answer out;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_fuse_check(fuse, &err) < 0 ||
        rlf_fuse_search(fuse, &options, arena, &err, &out) < 0)
        bail("%s", err.sentence);
    return out;
}

/* The shortest of all orders below the caps. */
typedef struct enumeration {
    const rlf_fuse_rows *rows;
    rlf_timing timing;
    rlf_row_number *table;
    int *passed;
    double best;
} enumeration;

/* May row r come next at its place, which keeps `held`? */
static bool
can_follow(const enumeration *e, int place, int r, double held)
{
    const rlf_row *row = &e->rows->row[r];
    return e->passed[r] < row->micros && e->passed[row->same] > e->passed[r] &&
           held + row->delta <= e->rows->cap[place];
}

/* The orders of a place behind what it has at `at`, counted up to `most`. */
static int
count_orders(enumeration *e, int place, int at, double held, int most)
{
    const rlf_fuse_rows *rows = e->rows;
    int n = 0;
    if (at == rows->start[place + 1])
        return 1;
    for (int r = rows->first[place]; r < rows->first[place + 1] && n < most;
         r++) {
        if (!can_follow(e, place, r, held))
            continue;
        e->passed[r]++;
        n +=
            count_orders(e, place, at + 1, held + rows->row[r].delta, most - n);
        e->passed[r]--;
    }
    return n;
}

/* Few enough to look at all of them? A place may have a thousand million. */
static bool
has_few_orders(enumeration *e)
{
    const int most = 1000000;
    int64_t all = 1;
    for (int p = 0; p < e->rows->places && all <= most; p++)
        all *= count_orders(e, p, e->rows->start[p], 0, most + 1);
    return all <= most;
}

static void
enumerate(enumeration *e, int place, int at, double held)
{
    const rlf_fuse_rows *rows = e->rows;
    while (place < rows->places && at == rows->start[place + 1]) {
        place++;
        held = 0;
    }
    if (place == rows->places) {
        if (rlf_fuse_rows_time(rows, e->table, e->best - 1e-9, RLF_NO_LIMIT,
                               &e->timing))
            e->best = e->timing.makespan;
        return;
    }
    for (int r = rows->first[place]; r < rows->first[place + 1]; r++) {
        if (!can_follow(e, place, r, held))
            continue;
        e->passed[r]++;
        e->table[at] = (rlf_row_number)r;
        enumerate(e, place, at + 1, held + rows->row[r].delta);
        e->passed[r]--;
    }
}

static void
test_enumeration(void)
{
    int shortest = 0, above = 0, never = 0, n = quick() ? 8 : 40;
    bool bounds = true;
    for (int i = 0; i < n; i++) {
        rlf_fuse fuse;
        rlf_fuse_rows rows;
        enumeration e = {.best = RLF_NO_LIMIT};
        do {
            random_problem(2, 2, i % 2, &fuse);
            double *cap = RLF_NEW_ARRAY(arena, double, 2);
            cap[0] = cap[1] = pick(16, 32) * 0.25;
            fuse.cap = cap;
            rlf_fuse_rows_make(&fuse, arena, &rows);
            e.rows = &rows;
            e.passed = RLF_NEW_ARRAY(arena, int, rows.n + 1);
            e.passed[rows.n] = INT32_MAX;
        } while (rows.operations > 18 || rows.operations < 8 ||
                 !has_few_orders(&e));
        rlf_timing_make(&rows, arena, &e.timing);
        e.table = RLF_NEW_ARRAY(arena, rlf_row_number, rows.operations);
        enumerate(&e, 0, 0, 0);
        if (e.best >= RLF_NO_LIMIT) {
            never++;
            continue;
        }
        rlf_fuse_answer a = search(&fuse, (uint64_t)i, 400000);
        shortest += equal(a.makespan, e.best);
        if (!equal(a.makespan, e.best))
            note("problem %d: %g, not %g", i, a.makespan, e.best);
        double bound = rlf_fuse_bound(&fuse, arena);
        above += e.best > bound * (1 + 1e-9);
        bounds &= bound <= e.best * (1 + 1e-12);
    }
    ok(bounds, "no order is shorter than the bound");
    note("%d of these are above the bound", above);
    is_int(shortest, n - never,
           "the search finds the shortest of all orders, 2 places");
}

static void
test_optima(void)
{
    rlf_fuse fuse;
    fused_make(&fused_two, 7.8, arena, &fuse);
    near(rlf_fuse_bound(&fuse, arena), 180, 0, "4, 2, 8, 4: bound 180");
    if (quick())
        skip("20 million moves: in full passes");
    else
        near(search(&fuse, 1, 20000000).makespan, 186, 0,
             "186 with 7.80, which is the shortest");
    fused_make(&fused_two, 8, arena, &fuse);
    near(search(&fuse, 1, 5000000).makespan, 180, 0, "180 with 8.00");
    fused_make(&fused_even, 4 * 1.64, arena, &fuse);
    near(rlf_fuse_bound(&fuse, arena), 42, 0, "4, 4, 4, 4: bound 42");
    if (quick())
        skip("5 million moves: in full passes");
    else
        near(search(&fuse, 1, 5000000).makespan, 43, 0, "43, the shortest");
}

/* Sizes that nobody published. */
static void
test_sizes(void)
{
    static const struct fused sizes[] = {
        {.p = 3, .p1 = 3, .m0 = 7, .m1 = 5, .f0 = 3, .f1 = 2},
        {.p = 6, .p1 = 3, .m0 = 9, .m1 = 4, .f0 = 2, .f1 = 3},
        {.p = 6, .p1 = 2, .m0 = 11, .m1 = 5, .f0 = 7, .f1 = 3},
        {.p = 5, .p1 = 5, .m0 = 13, .m1 = 13, .f0 = 1, .f1 = 1},
        {.p = 4, .p1 = 1, .m0 = 6, .m1 = 3, .f0 = 2, .f1 = 2},
        {.p = 1, .p1 = 1, .m0 = 3, .m1 = 4, .f0 = 2, .f1 = 5},
        {.p = 7, .p1 = 7, .m0 = 1, .m1 = 1, .f0 = 2, .f1 = 1},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fused x = sizes[i];
        rlf_fuse fuse;
        rlf_fuse_answer serial;
        x.memory0 = 1.5;
        x.memory1 = 1;
        fused_make(&x, 0, arena, &fuse);
        rlf_fuse_serial(&fuse, arena, &serial);
        double bound = rlf_fuse_bound(&fuse, arena), before = 0;
        bool good = true, falls = true;
        for (int k = 2; k >= 0; k--) {
            double cap = serial.peak * (4 + k) / 4;
            fused_make(&x, cap, arena, &fuse);
            rlf_fuse_answer a = search(&fuse, 7, 60000);
            good &= a.makespan >= bound * (1 - 1e-12) &&
                    a.makespan <= serial.makespan && a.peak <= cap * (1 + 1e-9);
            falls &= k == 2 || a.makespan >= before * 0.98;
            before = a.makespan;
        }
        ok(good && falls, "%d places: between the bound %g and %g", x.p, bound,
           serial.makespan);
    }
    /* one model alone: 1F1B cannot be beaten */
    struct fused x = {
        .p = 6, .p1 = 6, .m0 = 9, .f0 = 3, .memory0 = 1, .m1 = 1, .f1 = 1};
    rlf_fuse fuse;
    fused_make(&x, 6, arena, &fuse);
    fuse.n_models = 1;
    near(search(&fuse, 1, 1000).makespan, 9.0 * (9 + 6 - 1), 0,
         "one model: (m + p - 1) 3 f");
}

/* Those of the twelve that take a second together; bench/papers has all. */
static void
test_twelve(void)
{
    int at = 0, tried = 0;
    for (int i = 0; i < FUSED_CASES; i++) {
        rlf_fuse fuse;
        if (i != 2 && i != 4 && i != 5)
            continue;
        fused_make(&fused_cases[i], fused_cases[i].cap, arena, &fuse);
        rlf_fuse_answer a = search(&fuse, 0, 100000000);
        at += a.makespan <= fused_cases[i].bound;
        tried++;
    }
    is_int(at, tried,
           "published problems end at the bound below the published "
           "memory");
}

/* Schedules with the backward in two, in one chunk a place, in two as a V, and
 * two models towards each other. */
static void
test_zero_bubbles(void)
{
    for (int i = 0; i < ZERO_BUBBLES; i++) {
        const struct zero_bubble *x = &zero_bubbles[i];
        rlf_fuse fuse;
        double least, bubble;
        if (quick() && strcmp(x->name, "V-Min") == 0) {
            skip("%s: in full passes", x->name);
            continue;
        }
        zero_bubble_make(x, 4, 8, arena, &fuse, &least, &bubble);
        rlf_fuse_answer a = search(&fuse, 2, 5000000);
        double waits = (x->apart ? a.span : a.makespan) - least;
        if (!ok(waits <= bubble && a.peak <= fuse.cap[0] &&
                    rlf_fuse_bound(&fuse, arena) <= least + waits,
                "%s: waits no longer than published, with no more memory",
                x->name))
            note("%g, published %g", waits, bubble);
    }
}

/* ZB-V is a table that the search begins with, whatever the number of places
 * and wherever they are. */
static void
test_vee(void)
{
    static const struct zero_bubble *x = &zero_bubbles[2];
    static const rlf_fuse_options once = {.moves = 1};
    bool good = true;
    for (int p = 2; p <= 16; p++) {
        rlf_fuse fuse;
        rlf_fuse_answer a;
        rlf_err err = RLF_ERR_NONE;
        double least, bubble;
        zero_bubble_make(x, p, 2 * p, arena, &fuse, &least, &bubble);
        int *path = (int *)fuse.models[0].path;
        for (int k = 0; k < 2 * p && p % 2; k++)
            path[k] = p - 1 - path[k];
        if (rlf_fuse_search(&fuse, &once, arena, &err, &a) < 0)
            bail("%s", err.sentence);
        good &= equal(a.span, least) && a.peak <= fuse.cap[0];
    }
    ok(good, "%s: no place of 2 to 16 waits", x->name);
}

/* A third of 1F1B's memory is too little for V-Min's bubble: what a micro-batch
 * holds from its first operation to its last, alone, is more than that for as
 * long, even where micro-batches never wait. */
static void
test_least_memory(void)
{
    static const struct zero_bubble *x = &zero_bubbles[4];
    for (int p = 4; p <= 12; p += 4)
        for (int m = p; m <= 8 * p; m *= 8) {
            rlf_fuse fuse;
            double least, bubble, *caps = RLF_NEW_ARRAY(arena, double, p);
            zero_bubble_make(x, p, m, arena, &fuse, &least, &bubble);
            for (int i = 0; i < p; i++)
                caps[i] = 2 * p / 3;
            fuse.cap = caps;
            double waits = rlf_fuse_bound(&fuse, arena) - least;
            double alone = m * (4.0 * p + 4) / (2 * p / 3) - least;
            ok(waits >= alone && (m == p || waits > bubble),
               "%d places, %d micro-batches, a third of the memory: waits at "
               "least %g, published %g",
               p, m, waits, bubble);
        }
}

/* Half of 1F1B's memory and no more, where V-Half is published for one
 * micro-batch above it, is too little for its bubble: of two places with two
 * micro-batches no order waits so little. */
static void
test_half_memory(void)
{
    rlf_fuse fuse;
    rlf_fuse_rows rows;
    double least, bubble, caps[2] = {2, 2}, first = 0;
    enumeration e = {.best = RLF_NO_LIMIT};
    if (quick()) {
        skip("V-Half with half of the memory: in full passes");
        return;
    }
    zero_bubble_make(&zero_bubbles[3], 2, 2, arena, &fuse, &least, &bubble);
    fuse.cap = caps;
    rlf_fuse_rows_make(&fuse, arena, &rows);
    e.rows = &rows;
    e.passed = RLF_NEW_ARRAY(arena, int, rows.n + 1);
    e.passed[rows.n] = INT32_MAX;
    e.table = RLF_NEW_ARRAY(arena, rlf_row_number, rows.operations);
    rlf_timing_make(&rows, arena, &e.timing);
    enumerate(&e, 0, 0, 0);
    for (int p = 0; p < 2; p++)
        first = fmax(first, rows.lead[p]);
    double waits = e.best - first - least;
    rlf_fuse_answer a = search(&fuse, 0, 100000);
    ok(waits > bubble && equal(a.span, least + waits),
       "V-Half with half of the memory: no order waits less than %g, which the "
       "search finds; published %g",
       waits, bubble);
}

static int stops;

static bool
stop_soon(void *user)
{
    (void)user;
    return ++stops > 3;
}

static void
test_budgets(void)
{
    rlf_fuse fuse;
    rlf_buf a = {0}, b = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_fuse_answer out;
    fused_make(&fused_cases[1], 15.75, arena, &fuse);
    out = search(&fuse, 3, 20000);
    rlf_pipe_print(&out.pipe, &a);
    out = search(&fuse, 3, 20000);
    rlf_pipe_print(&out.pipe, &b);
    ok(strcmp(a.p, b.p) == 0, "the same seed and moves give the same table");
    rlf_buf_clear(&b);
    out = search(&fuse, 4, 20000);
    rlf_pipe_print(&out.pipe, &b);
    ok(strcmp(a.p, b.p) != 0, "another seed another one");
    out = search(&fuse, 3, 0);
    ok(out.makespan <= 477 && out.moves == 0,
       "without moves it is no longer than one after the other");
    const rlf_fuse_options options = {.moves = 1 << 30, .stop = stop_soon};
    ok(rlf_fuse_search(&fuse, &options, arena, &err, &out) == RLF_OK &&
           out.stopped && out.makespan <= 477,
       "stopped, it has the best so far");
    rlf_buf_free(&a);
    rlf_buf_free(&b);
}

static void
test_refused(void)
{
    rlf_fuse fuse;
    rlf_err err = RLF_ERR_NONE;
    fused_make(&fused_cases[0], 1.5, arena, &fuse);
    ok(rlf_fuse_check(&fuse, &err) == RLF_USER, "%s", err.sentence);
    is_str(err.sentence,
           "a micro-batch of big keeps 1.95 of memory at place 0, which may "
           "hold 1.5",
           "a cap that holds nothing");
    err = (rlf_err)RLF_ERR_NONE;
    fused_make(&fused_cases[0], 1.95, arena, &fuse);
    fuse.models[1].forward_only = fuse.models[2].forward_only = true;
    is_int(rlf_fuse_check(&fuse, &err), RLF_OK,
           "what has no backward keeps nothing: it fits below any cap");
}

int
main(void)
{
    arena = rlf_arena_new();
    chance = rlf_splitmix_begin(20, 1);
    test_evaluator();
    test_dispatch();
    test_orders();
    test_published();
    test_enumeration();
    test_optima();
    test_sizes();
    test_twelve();
    test_zero_bubbles();
    test_vee();
    test_least_memory();
    test_half_memory();
    test_budgets();
    test_refused();
    rlf_arena_free(arena);
    return done();
}
