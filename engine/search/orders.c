/* Annealing over orders: see orders.h. */
#include "engine/search/orders.h"

#include "engine/base/fmath.h"

#include <string.h>

enum { FURTHEST = 14 };

typedef struct annealing {
    const rlf_orders_job *job;
    rlf_timing now_timing, timing; /* of `now`, and of what is tried */
    rlf_row_number *now;
    int *place;           /* by index in a table: its place */
    int *index;           /* by operation: where it is in `now` */
    int *micro;           /* by index in `now`: which micro-batch it is of */
    int *path;            /* indices in `now` along a critical path */
    int on_path;          /* how many; 0: it has to be followed again */
    double energy, least; /* least: the mean end of places is never less */
} annealing;

/* ---- critical paths ---- */

static void
number_operations(annealing *a)
{
    const rlf_rows *rows = a->job->rows;
    int *passed = a->timing.passed;
    for (int r = 0; r < rows->n; r++)
        passed[r] = 0;
    for (int i = 0; i < rows->operations; i++) {
        int r = a->now[i];
        a->micro[i] = passed[r]++;
        a->index[rows->row[r].base + a->micro[i]] = i;
    }
}

/* Follow one from a place that ends last; where both the operation before and
 * the stage before end when an operation begins, either. */
static void
follow_path(annealing *a)
{
    const rlf_rows *rows = a->job->rows;
    const rlf_timing *t = &a->now_timing;
    int at = -1;
    number_operations(a);
    for (int p = 0; p < rows->places; p++)
        if (t->idle[p] >= t->makespan && rows->start[p + 1] > rows->start[p] &&
            (at < 0 || rlf_chance_below(a->job->dice, 2)))
            at = rows->start[p + 1] - 1;
    for (a->on_path = 0; at >= 0;) {
        a->path[a->on_path++] = at;
        const rlf_row *row = &rows->row[a->now[at]];
        const rlf_row *cross = &rows->row[row->cross];
        double end = t->end[row->base + a->micro[at]], begin = end - row->takes;
        int before = -1, other = -1;
        if (at > rows->start[row->place]) {
            const rlf_row *last = &rows->row[a->now[at - 1]];
            if (t->end[last->base + a->micro[at - 1]] >= begin - 1e-9 * end)
                before = at - 1;
        }
        if (row->cross < rows->n &&
            t->end[cross->base + a->micro[at]] + row->lag >= begin - 1e-9 * end)
            other = a->index[cross->base + a->micro[at]];
        if (before < 0 || (other >= 0 && rlf_chance_below(a->job->dice, 2)))
            before = other;
        at = before;
    }
}

/* ---- moves ---- */

/* Whether a place still has its operations in an order that can be and holds no
 * more than its cap. */
static bool
is_sound(annealing *a, int place)
{
    const rlf_rows *rows = a->job->rows;
    int *passed = a->timing.passed;
    double held = 0, cap = rows->cap[place];
    for (int r = rows->first[place]; r < rows->first[place + 1]; r++)
        passed[r] = 0;
    for (int i = rows->start[place]; i < rows->start[place + 1]; i++) {
        int r = a->now[i];
        const rlf_row *row = &rows->row[r];
        held += row->delta;
        if (passed[row->same] <= passed[r]++ || held > cap)
            return false;
    }
    return true;
}

/* Try to shift something; whether `now` is another. */
static bool
try_move(annealing *a, double t)
{
    const rlf_orders_job *job = a->job;
    const rlf_rows *rows = job->rows;
    rlf_chance *dice = job->dice;
    if (!a->on_path)
        follow_path(a);
    int from = rlf_chance_below(dice, 8)
                   ? a->path[rlf_chance_below(dice, a->on_path)]
                   : rlf_chance_below(dice, rows->operations);
    int past = 1 + rlf_chance_below(dice, FURTHEST), p = a->place[from];
    int to = rlf_chance_below(dice, 2) ? from - past : from + past;
    if (to < rows->start[p])
        to = rows->start[p];
    if (to > rows->start[p + 1] - 1)
        to = rows->start[p + 1] - 1;
    /* nothing changes where all on the way are alike */
    int step = from < to ? -1 : 1;
    while (to != from && a->now[to] == a->now[from])
        to += step;
    if (to == from)
        return false;
    double limit = a->energy - t * rlf_ln(1 - rlf_chance_uniform(dice));
    double ends = job->weight;
    rlf_rows_shift(a->now, from, to);
    if (is_sound(a, p) &&
        rlf_rows_time(rows, a->now, limit - ends * a->least, &a->timing) &&
        a->timing.makespan + ends * a->timing.mean <= limit)
        return true;
    rlf_rows_shift(a->now, to, from);
    return false;
}

static void
accept(annealing *a)
{
    const rlf_orders_job *job = a->job;
    rlf_timing t = a->now_timing;
    a->now_timing = a->timing;
    a->timing = t;
    a->timing.passed[job->rows->n] = INT32_MAX;
    a->energy = a->now_timing.makespan + job->weight * a->now_timing.mean;
    a->on_path = 0;
    if (a->now_timing.makespan >= *job->best)
        return;
    *job->best = a->now_timing.makespan;
    memcpy(job->table, a->now, sizeof *a->now * (size_t)job->rows->operations);
}

static void
start(annealing *a, const rlf_orders_job *job, rlf_arena *arena)
{
    const rlf_rows *rows = job->rows;
    int n = rows->operations;
    *a = (annealing){.job = job};
    rlf_timing_make(rows, arena, &a->timing);
    rlf_timing_make(rows, arena, &a->now_timing);
    a->now = RLF_NEW_ARRAY(arena, rlf_row_number, n);
    a->place = RLF_NEW_ARRAY(arena, int, n);
    a->index = RLF_NEW_ARRAY(arena, int, n);
    a->micro = RLF_NEW_ARRAY(arena, int, n);
    a->path = RLF_NEW_ARRAY(arena, int, n);
    memcpy(a->now, job->table, sizeof *a->now * (size_t)n);
    for (int p = 0; p < rows->places; p++) {
        a->least += rows->work[p] / rows->places;
        for (int i = rows->start[p]; i < rows->start[p + 1]; i++)
            a->place[i] = p;
    }
    rlf_rows_time(rows, a->now, RLF_NO_LIMIT, &a->timing);
    accept(a);
}

int64_t
rlf_orders_anneal(const rlf_orders_job *job, rlf_arena *arena)
{
    annealing a;
    int64_t move = 0;
    start(&a, job, arena);
    double hot = rlf_ln(job->hot), cold = rlf_ln(job->cold), t = 0;
    for (; move<job->moves && * job->best> job->bound; move++) {
        if (move % 64 == 0) {
            double part = (double)move / (double)job->moves;
            t = rlf_exp(hot + (cold - hot) * part);
            if (job->options && job->options->stop &&
                job->options->stop(job->options->user)) {
                *job->stopped = true;
                break;
            }
        }
        if (try_move(&a, t))
            accept(&a);
    }
    return move;
}
