/* Annealing over orders: see orders.h. */
#include "engine/fuse/orders.h"

#include "engine/base/fmath.h"

#include <string.h>

enum { FURTHEST = 14 };

typedef struct annealing {
    const rlf_orders_job *job;
    rlf_timing now_timing, timing; /* of `now`, and of what is tried */
    rlf_row_number *now;
    int *place;    /* by index in a table: its place */
    int *index;    /* by operation: where it is in `now` */
    int *micro;    /* by index in `now`: which micro-batch it is of */
    double *held;  /* by index: the memory in use after it */
    int *spare;    /* by index: how many more of `same` came before it */
    double *cross; /* by index: when what it waits for elsewhere has come */
    double *tail;  /* by index: from its end to the end of all.. */
    double *away;  /* ..through other places */
    int *passed;   /* by row, scratch */
    int *path;     /* indices in `now` along a critical path */
    int on_path;   /* how many; 0: it has to be followed again */
    double energy, least; /* least: the mean end of places is never less */
} annealing;

/* ---- critical paths ---- */

/* Sets what is kept by index, of one place. */
static void
number_operations(annealing *a, int place)
{
    const rlf_fuse_rows *rows = a->job->rows;
    int *passed = a->passed;
    double held = 0;
    for (int r = rows->first[place]; r < rows->first[place + 1]; r++)
        passed[r] = 0;
    for (int i = rows->start[place]; i < rows->start[place + 1]; i++) {
        int r = a->now[i];
        const rlf_row *row = &rows->row[r];
        held += row->delta;
        a->held[i] = held;
        a->spare[i] = passed[row->same] - passed[r] - 1;
        a->micro[i] = passed[r]++;
        a->index[row->base + a->micro[i]] = i;
    }
}

/* Counts what `now` takes behind each operation, and when what it waits for has
 * come.
 */
static void
set_tails(annealing *a)
{
    const rlf_fuse_rows *rows = a->job->rows;
    const rlf_timing *t = &a->now_timing;
    for (int k = rows->operations - 1; k >= 0; k--) {
        int i = t->order[k], micro = a->micro[i], p = a->place[i];
        const rlf_row *row = &rows->row[a->now[i]];
        double away = 0, tail = rows->after[p];
        if (row->next < rows->n) {
            const rlf_row *next = &rows->row[row->next];
            away =
                next->lag + next->takes + a->tail[a->index[next->base + micro]];
        }
        if (i + 1 < rows->start[p + 1])
            tail = rows->row[a->now[i + 1]].takes + a->tail[i + 1];
        a->away[i] = away;
        a->tail[i] = away > tail ? away : tail;
        a->cross[i] = 0;
        if (row->cross < rows->n)
            a->cross[i] = t->end[rows->row[row->cross].base + micro] + row->lag;
    }
}

/* Follow one from a place that ends last; where both the operation before and
 * the stage before end when an operation begins, either. */
static void
follow_path(annealing *a)
{
    const rlf_fuse_rows *rows = a->job->rows;
    const rlf_timing *t = &a->now_timing;
    int at = -1;
    for (int p = 0; p < rows->places; p++)
        if (t->idle[p] + rows->after[p] >= t->makespan &&
            rows->start[p + 1] > rows->start[p] &&
            (at < 0 || rlf_splitmix_below(a->job->dice, 2)))
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
        if (before < 0 || (other >= 0 && rlf_splitmix_below(a->job->dice, 2)))
            before = other;
        at = before;
    }
}

/* ---- moves ---- */

/* True: the place would still have its operations in an order that can be,
 * and hold no more than its cap, if the one at `from` were at `to`. The others
 * on the way are as many micro-batches of `same` nearer to the limit as the one
 * that is shifted takes from them. */
static bool
may_shift(const annealing *a, int from, int to)
{
    const rlf_fuse_rows *rows = a->job->rows;
    int r = a->now[from], spare = a->spare[from];
    const rlf_row *row = &rows->row[r];
    double cap = rows->cap[row->place];
    if (from < to) {
        for (int i = from + 1; i <= to; i++)
            if (a->held[i] - row->delta > cap ||
                (rows->row[a->now[i]].same == r && a->spare[i] < 1))
                return false;
        return true;
    }
    for (int i = to; i < from; i++) {
        int other = a->now[i];
        if (a->held[i] + row->delta > cap || (other == r && a->spare[i] < 1))
            return false;
        spare += (other == r) - (other == row->same);
    }
    return spare >= 0 &&
           (to == rows->start[row->place] ? 0 : a->held[to - 1]) + row->delta <=
               cap;
}

/* True: all would end after `limit` if the operation at `from` were at `to`,
 * and what the place waits for and what waits for it elsewhere were as they are
 * now. That is so of most moves, and otherwise not far from it. */
static bool
seems_late(const annealing *a, int from, int to, double limit)
{
    const rlf_fuse_rows *rows = a->job->rows;
    int r = a->now[from], p = rows->row[r].place;
    int first = from < to ? from : to, last = from < to ? to : from;
    int same = first; /* of row r the times stay in order */
    double now = rows->lead[p];
    if (first > rows->start[p]) {
        const rlf_row *before = &rows->row[a->now[first - 1]];
        now = a->now_timing.end[before->base + a->micro[first - 1]];
    }
    for (int i = first; i <= last; i++) {
        int at = i == to ? from : from < to ? i + 1 : i - 1;
        if (a->now[at] == r) {
            while (a->now[same] != r)
                same++;
            at = same++;
        }
        if (a->cross[at] > now)
            now = a->cross[at];
        now += rows->row[a->now[at]].takes;
        if (now + a->away[at] > limit)
            return true;
    }
    if (last + 1 < rows->start[p + 1])
        now += rows->row[a->now[last + 1]].takes + a->tail[last + 1];
    else
        now += rows->after[p];
    return now > limit;
}

/* Draws the operation that moves and its new place in the order: mostly one on
 * a critical path. False: nothing changes, since all on the way are alike. */
static bool
draw_move(annealing *a, int *from, int *to)
{
    const rlf_fuse_rows *rows = a->job->rows;
    rlf_splitmix *dice = a->job->dice;
    *from = rlf_splitmix_below(dice, 8)
                ? a->path[rlf_splitmix_below(dice, a->on_path)]
                : rlf_splitmix_below(dice, rows->operations);
    int past = 1 + rlf_splitmix_below(dice, FURTHEST), p = a->place[*from];
    *to = rlf_splitmix_below(dice, 2) ? *from - past : *from + past;
    if (*to < rows->start[p])
        *to = rows->start[p];
    if (*to > rows->start[p + 1] - 1)
        *to = rows->start[p + 1] - 1;
    int step = *from < *to ? -1 : 1;
    while (*to != *from && a->now[*to] == a->now[*from])
        *to += step;
    return *to != *from;
}

/* Try to shift something; whether `now` is another. Its place's numbers are
 * then those of the new order. */
static bool
try_move(annealing *a, double t)
{
    const rlf_orders_job *job = a->job;
    const rlf_fuse_rows *rows = job->rows;
    int from, to;
    if (!a->on_path) {
        follow_path(a);
        set_tails(a);
    }
    if (!draw_move(a, &from, &to) || !may_shift(a, from, to))
        return false;
    double part = job->weight; /* of the mean in the energy */
    double limit = a->energy - t * rlf_ln(1 - rlf_splitmix_uniform(job->dice));
    if (seems_late(a, from, to, limit - part * a->now_timing.mean))
        return false;
    double waits = (limit - job->bound) / part - a->least + 1e-9 * limit;
    rlf_fuse_rows_shift(a->now, from, to);
    if (rlf_fuse_rows_time(rows, a->now, limit - part * a->least,
                           waits * rows->places, &a->timing) &&
        a->timing.makespan + part * a->timing.mean <= limit) {
        number_operations(a, a->place[from]);
        return true;
    }
    rlf_fuse_rows_shift(a->now, to, from);
    return false;
}

static void
accept(annealing *a)
{
    const rlf_orders_job *job = a->job;
    rlf_timing t = a->now_timing;
    a->now_timing = a->timing;
    a->timing = t;
    a->energy = a->now_timing.makespan + job->weight * a->now_timing.mean;
    a->on_path = 0;
    if (a->now_timing.makespan > *job->best)
        return;
    *job->best = a->now_timing.makespan;
    memcpy(job->table, a->now, sizeof *a->now * (size_t)job->rows->operations);
}

static void
start(annealing *a, const rlf_orders_job *job, rlf_arena *arena)
{
    const rlf_fuse_rows *rows = job->rows;
    int n = rows->operations;
    *a = (annealing){.job = job};
    rlf_timing_make(rows, arena, &a->timing);
    rlf_timing_make(rows, arena, &a->now_timing);
    a->now = RLF_NEW_ARRAY(arena, rlf_row_number, n);
    a->place = RLF_NEW_ARRAY(arena, int, n);
    a->index = RLF_NEW_ARRAY(arena, int, n);
    a->micro = RLF_NEW_ARRAY(arena, int, n);
    a->path = RLF_NEW_ARRAY(arena, int, n);
    a->held = RLF_NEW_ARRAY(arena, double, n);
    a->spare = RLF_NEW_ARRAY(arena, int, n);
    a->cross = RLF_NEW_ARRAY(arena, double, n);
    a->tail = RLF_NEW_ARRAY(arena, double, n);
    a->away = RLF_NEW_ARRAY(arena, double, n);
    a->passed = RLF_NEW_ARRAY(arena, int, rows->n + 1);
    a->passed[rows->n] = INT32_MAX;
    memcpy(a->now, job->table, sizeof *a->now * (size_t)n);
    for (int p = 0; p < rows->places; p++) {
        a->least += (rows->lead[p] + rows->work[p]) / rows->places;
        for (int i = rows->start[p]; i < rows->start[p + 1]; i++)
            a->place[i] = p;
        number_operations(a, p);
    }
    rlf_fuse_rows_time(rows, a->now, RLF_NO_LIMIT, RLF_NO_LIMIT, &a->timing);
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
