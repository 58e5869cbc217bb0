/* RLHFuse's own way to a fused schedule (Optimizing RLHF Training for Large
 * Language Models with Stage Fusion, NSDI 2025), to compare with: a greedy
 * first schedule, an annealing for latency, one for memory. It knows no caps.
 */
#include "engine/fuse/rows.h"

#include "engine/base/fmath.h"

#include <string.h>

/* ---- greedy ---- */

/* Returns the moment at which a row's next micro-batch could begin;
 * RLF_NO_LIMIT: it is not yet known. */
static double
begin_of(const rlf_fuse_rows *rows, const rlf_timing *t, int r)
{
    const rlf_row *row = &rows->row[r];
    int micro = t->passed[r];
    if (micro == row->micros || t->passed[row->cross] <= micro ||
        t->passed[row->same] <= micro)
        return RLF_NO_LIMIT;
    double ready = t->end[rows->row[row->cross].base + micro] + row->lag;
    return ready > t->idle[row->place] ? ready : t->idle[row->place];
}

/* The row that goes next at any place; *begin: when. */
static int
greedy_next(const rlf_fuse *fuse, const rlf_fuse_rows *rows,
            const rlf_timing *t, double *begin)
{
    int best = -1;
    for (int p = 0; p < rows->places; p++) {
        double first = RLF_NO_LIMIT; /* of turn 0 */
        for (int r = rows->first[p]; r < rows->first[p + 1]; r++) {
            double at = begin_of(rows, t, r);
            if (fuse->turn[rows->row[r].model] == 0 && at < first)
                first = at;
        }
        for (int r = rows->first[p]; r < rows->first[p + 1]; r++) {
            const rlf_row *row = &rows->row[r];
            double at = begin_of(rows, t, r);
            if (at >= RLF_NO_LIMIT ||
                (fuse->turn[row->model] > 0 && at + row->takes > first))
                continue;
            if (best >= 0 &&
                (at > *begin ||
                 (at == *begin && row->kind <= rows->row[best].kind)))
                continue;
            best = r;
            *begin = at;
        }
    }
    return best;
}

void
rlf_greedy_table(const rlf_fuse *fuse, const rlf_fuse_rows *rows, rlf_timing *t,
                 rlf_row_number *table)
{
    double begin = 0;
    memset(t->passed, 0, (size_t)rows->n * sizeof *t->passed);
    t->passed[rows->n] = INT32_MAX;
    for (int p = 0; p < rows->places; p++) {
        t->idle[p] = 0;
        t->next[p] = rows->start[p];
    }
    for (int left = rows->operations; left; left--) {
        int r = greedy_next(fuse, rows, t, &begin);
        const rlf_row *row = &rows->row[r];
        double end = begin + row->takes;
        t->end[row->base + t->passed[r]++] = t->idle[row->place] = end;
        table[t->next[row->place]++] = (rlf_row_number)r;
    }
}

/* ---- annealing ---- */

/* The score that the published annealing prefers by, in this order. */
typedef struct score {
    double latency, peak, peaks, ends;
} score;

typedef struct annealing {
    const rlf_fuse_rows *rows;
    rlf_timing timing;
    rlf_row_number *now, *best;
    double *peak; /* by place, of `now` */
    score is, least;
    rlf_splitmix dice;
} annealing;

static bool
is_better(const score *a, const score *b)
{
    if (a->latency != b->latency)
        return a->latency < b->latency;
    if (a->peak != b->peak)
        return a->peak < b->peak;
    if (a->peaks != b->peaks)
        return a->peaks < b->peaks;
    return a->ends < b->ends;
}

/* The most that a place holds; negative if its order is none. */
static double
peak_at(annealing *a, int place)
{
    const rlf_fuse_rows *rows = a->rows;
    int *passed = a->timing.passed;
    double held = 0, most = 0;
    for (int r = rows->first[place]; r < rows->first[place + 1]; r++)
        passed[r] = 0;
    passed[rows->n] = INT32_MAX;
    for (int i = rows->start[place]; i < rows->start[place + 1]; i++) {
        int r = a->now[i];
        const rlf_row *row = &rows->row[r];
        held += row->delta;
        most = held > most ? held : most;
        /* `same` may be a row of the same place only */
        if (passed[row->same] <= passed[r]++)
            return -1;
    }
    return most;
}

/* Score what there is now, after the order of one place has changed. */
static bool
score_now(annealing *a, int place, double limit, score *out)
{
    double was = a->peak[place], peak = peak_at(a, place);
    if (peak < 0 ||
        !rlf_fuse_rows_time(a->rows, a->now, limit, RLF_NO_LIMIT, &a->timing))
        return false;
    *out = (score){.latency = a->timing.makespan};
    a->peak[place] = peak;
    for (int p = 0; p < a->rows->places; p++) {
        out->peaks += a->peak[p];
        out->peak = a->peak[p] > out->peak ? a->peak[p] : out->peak;
    }
    a->peak[place] = was;
    for (int i = 0; i < a->rows->operations; i++)
        out->ends += a->timing.end[i];
    return true;
}

static void
keep(annealing *a, const score *s, int place, double peak)
{
    a->is = *s;
    a->peak[place] = peak;
}

static void
swap(rlf_row_number *a, rlf_row_number *b)
{
    rlf_row_number t = *a;
    *a = *b;
    *b = t;
}

/* Take the change of a place, or not: exp((is - would) / t). */
static bool
takes(annealing *a, double is, double would, double t)
{
    return rlf_splitmix_uniform(&a->dice) < rlf_exp((is - would) / t);
}

/* The table as place p was changed is the present one, and maybe the best. */
static void
go_on(annealing *a, const score *s, int p)
{
    keep(a, s, p, peak_at(a, p));
    if (!is_better(s, &a->least))
        return;
    a->least = *s;
    memcpy(a->best, a->now, sizeof *a->now * (size_t)a->rows->operations);
}

/* Exchange two different neighbours, for latency. */
static void
move_for_latency(annealing *a, double t)
{
    const rlf_fuse_rows *rows = a->rows;
    int p = rlf_splitmix_below(&a->dice, rows->places);
    int n = rows->start[p + 1] - rows->start[p];
    if (n < 2)
        return;
    int i = rows->start[p] + rlf_splitmix_below(&a->dice, n - 1);
    if (a->now[i] == a->now[i + 1])
        return;
    score s;
    swap(&a->now[i], &a->now[i + 1]);
    if (!score_now(a, p, RLF_NO_LIMIT, &s) ||
        (!is_better(&s, &a->is) && !takes(a, a->is.latency, s.latency, t))) {
        swap(&a->now[i], &a->now[i + 1]);
        return;
    }
    go_on(a, &s, p);
}

/* Put an operation anywhere at its place, for memory: no longer than the best
 * latency. */
static void
move_for_memory(annealing *a, double t)
{
    const rlf_fuse_rows *rows = a->rows;
    int p = rlf_splitmix_below(&a->dice, rows->places);
    int n = rows->start[p + 1] - rows->start[p];
    if (n < 2)
        return;
    int from = rows->start[p] + rlf_splitmix_below(&a->dice, n);
    int to = rows->start[p] + rlf_splitmix_below(&a->dice, n);
    if (from == to)
        return;
    score s;
    rlf_fuse_rows_shift(a->now, from, to);
    if (!score_now(a, p, a->least.latency, &s) ||
        (s.peaks > a->is.peaks && !takes(a, a->is.peaks, s.peaks, t))) {
        rlf_fuse_rows_shift(a->now, to, from);
        return;
    }
    go_on(a, &s, p);
}

/* The best table so far, as the one that goes on. */
static void
restart(annealing *a)
{
    memcpy(a->now, a->best, sizeof *a->now * (size_t)a->rows->operations);
    for (int p = 0; p < a->rows->places; p++)
        a->peak[p] = peak_at(a, p);
    score_now(a, 0, RLF_NO_LIMIT, &a->is);
}

/* As published: from a temperature of 100 down to 1e-12, or 1e-25 for memory,
 * in steps of one factor. */
static bool
anneal(annealing *a, const rlf_fuse_options *options, int64_t moves,
       void (*move)(annealing *, double), double cold, int64_t *tried)
{
    const double hot = 100;
    double t = hot;
    double factor = rlf_exp(rlf_ln(cold / hot) / (double)(moves ? moves : 1));
    bool stopped = false;
    int64_t i = 0;
    for (; i < moves && !stopped; i++, t *= factor) {
        move(a, t);
        stopped = i % 256 == 0 && options->stop && options->stop(options->user);
    }
    *tried += i;
    restart(a);
    return !stopped;
}

bool
rlf_published_table(const rlf_fuse *fuse, const rlf_fuse_rows *rows,
                    const rlf_fuse_options *options, rlf_arena *arena,
                    rlf_row_number *table, int64_t *tried)
{
    annealing a = {.rows = rows, .now = table};
    a.dice = rlf_splitmix_begin(options->seed, 0);
    a.best = RLF_NEW_ARRAY(arena, rlf_row_number, rows->operations);
    a.peak = RLF_NEW_ARRAY(arena, double, rows->places);
    rlf_timing_make(rows, arena, &a.timing);
    rlf_greedy_table(fuse, rows, &a.timing, a.best);
    restart(&a);
    a.least = a.is;
    *tried = 0;
    return anneal(&a, options, options->moves / 2, move_for_latency, 1e-12,
                  tried) &&
           anneal(&a, options, options->moves - options->moves / 2,
                  move_for_memory, 1e-25, tried);
}
