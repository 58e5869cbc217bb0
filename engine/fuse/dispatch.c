/* Schedules by due dates: see dispatch.h. */
#include "engine/fuse/dispatch.h"

#include "engine/base/fmath.h"

#include <stdlib.h>
#include <string.h>

/* ---- one schedule ---- */

/* The last bits of a time, for the number of a place. */
#define PLACE_BITS ((uint64_t)0xfff)
#define NEVER UINT64_MAX

void
rlf_dispatch_make(const rlf_fuse_rows *rows, rlf_arena *arena,
                  rlf_dispatch *out)
{
    int n = rows->n + 1;
    *out = (rlf_dispatch){.rows = rows};
    rlf_timing_make(rows, arena, &out->timing);
    out->table = RLF_NEW_ARRAY(arena, rlf_row_number, rows->operations);
    out->ready = RLF_NEW_ARRAY(arena, double, n);
    out->due = RLF_NEW_ARRAY(arena, double, n);
    out->needs = RLF_NEW_ARRAY(arena, int, n);
    out->after = RLF_NEW_ARRAY(arena, int, n);
    out->wakes = RLF_NEW_ARRAY(arena, int, n);
    out->held = RLF_NEW_ARRAY(arena, double, rows->places);
    out->late = RLF_NEW_ARRAY(arena, double, rows->places);
    out->pick = RLF_NEW_ARRAY(arena, int, rows->places);
    out->begin = RLF_NEW_ARRAY(arena, uint64_t, rows->places);
    for (int r = 0; r < n; r++)
        out->wakes[r] = rows->n;
    for (int r = 0; r < n; r++) {
        const rlf_row *row = &rows->row[r], *cross = &rows->row[row->cross];
        bool implied =
            row->cross < rows->n && rows->row[cross->same].cross == row->same;
        out->needs[r] = implied ? rows->n : row->same;
        out->after[r] = row->cross < rows->n ? row->cross : row->same;
        if (row->cross == rows->n && row->same < rows->n)
            out->wakes[row->same] = r;
    }
}

/* True: a row that is ready may go on as far as its own place is concerned.
 */
static inline bool
may_pass(const rlf_dispatch *d, const rlf_dispatch_rule *rule, int r,
         const rlf_row *row)
{
    const int *passed = d->timing.passed;
    if (row->delta > 0 &&
        (row->delta > d->rows->cap[row->place] - d->held[row->place] ||
         passed[r] - passed[row->frees] >= rule->most[r]))
        return false;
    return passed[d->needs[r]] > passed[r];
}

static inline void
set_pick(rlf_dispatch *d, int place, int r, double begin)
{
    d->pick[place] = r;
    d->begin[place] = (rlf_f64_bits(begin) & ~PLACE_BITS) | (uint64_t)place;
}

/* Chooses what a place does next, and when. */
static void
choose(rlf_dispatch *d, const rlf_dispatch_rule *rule, int place)
{
    const rlf_fuse_rows *rows = d->rows;
    double idle = d->timing.idle[place], until = RLF_NO_LIMIT;
    double least = RLF_NO_LIMIT, begin = 0;
    int pick = -1, first = rows->first[place], last = rows->first[place + 1];
    for (int turn = 0; turn < 1 + (rule->look > 0); turn++) {
        least = RLF_NO_LIMIT;
        for (int r = first; r < last; r++) {
            double at = d->ready[r] > idle ? d->ready[r] : idle;
            if (at > until || at >= RLF_NO_LIMIT ||
                !may_pass(d, rule, r, &rows->row[r]))
                continue;
            if (turn == 0 ? at == until && d->due[r] >= least
                          : d->due[r] >= least)
                continue;
            least = d->due[r];
            pick = r;
            begin = at;
            until = turn == 0 ? at : until;
        }
        until += rule->look;
    }
    d->begin[place] = NEVER;
    if (pick >= 0)
        set_pick(d, place, pick, begin);
}

/* Row r has become ready: its place may do that instead. */
static inline void
reconsider(rlf_dispatch *d, const rlf_dispatch_rule *rule, int r)
{
    const rlf_row *row = &d->rows->row[r];
    int p = row->place;
    if (rule->look > 0) {
        choose(d, rule, p);
        return;
    }
    double at =
        d->ready[r] > d->timing.idle[p] ? d->ready[r] : d->timing.idle[p];
    uint64_t key = (rlf_f64_bits(at) & ~PLACE_BITS) | (uint64_t)p;
    if (key > d->begin[p] ||
        (key == d->begin[p] && d->due[r] >= d->due[d->pick[p]]) ||
        !may_pass(d, rule, r, row))
        return;
    set_pick(d, p, r, at);
}

/* Row r has passed one more: when can its next one begin? */
static void
set_ready(rlf_dispatch *d, int r)
{
    const rlf_row *row = &d->rows->row[r];
    int after = d->after[r], micro = d->timing.passed[r];
    d->ready[r] =
        micro < row->micros && d->timing.passed[after] > micro
            ? d->timing.end[d->rows->row[after].base + micro] + row->lag
            : RLF_NO_LIMIT;
}

static void
start_run(rlf_dispatch *d, const rlf_dispatch_rule *rule, double limit)
{
    const rlf_fuse_rows *rows = d->rows;
    rlf_timing *t = &d->timing;
    for (int r = 0; r < rows->n; r++)
        t->passed[r] = 0;
    t->passed[rows->n] = INT32_MAX;
    for (int r = 0; r < rows->n; r++) {
        d->due[r] = rule->due[r];
        set_ready(d, r);
    }
    for (int p = 0; p < rows->places; p++) {
        t->idle[p] = rows->lead[p];
        d->held[p] = 0;
        t->next[p] = rows->start[p];
        d->late[p] = limit - rows->rest[p] - rows->work[p];
        choose(d, rule, p);
    }
}

/* Do what a place has picked, and let those that it concerns pick again. */
static bool
do_next(rlf_dispatch *d, const rlf_dispatch_rule *rule, int p)
{
    const rlf_fuse_rows *rows = d->rows;
    rlf_timing *t = &d->timing;
    int r = d->pick[p], micro = t->passed[r]++;
    const rlf_row *row = &rows->row[r];
    double now = d->ready[r] > t->idle[p] ? d->ready[r] : t->idle[p];
    if (now > d->late[p])
        return false;
    now += row->takes;
    t->end[row->base + micro] = t->idle[p] = now;
    d->late[p] += row->takes;
    d->held[p] += row->delta;
    d->due[r] += rule->slope[r];
    d->table[t->next[p]++] = (rlf_row_number)r;
    set_ready(d, r);
    int same = d->wakes[r], next = row->next;
    if (same < rows->n && t->passed[same] == micro)
        d->ready[same] = now;
    if (next < rows->n && t->passed[next] == micro) {
        d->ready[next] = now + rows->row[next].lag;
        if (rows->row[next].place != p)
            reconsider(d, rule, next);
    }
    choose(d, rule, p);
    return true;
}

bool
rlf_dispatch_run(rlf_dispatch *d, const rlf_dispatch_rule *rule, double limit)
{
    const rlf_fuse_rows *rows = d->rows;
    rlf_timing *t = &d->timing;
    start_run(d, rule, limit);
    for (int left = rows->operations; left; left--) {
        uint64_t first = NEVER;
        for (int p = 0; p < rows->places; p++)
            first = d->begin[p] < first ? d->begin[p] : first;
        if (first == NEVER || !do_next(d, rule, (int)(first & PLACE_BITS)))
            return false;
    }
    double sum = 0, last = 0;
    for (int p = 0; p < rows->places; p++) {
        sum += t->idle[p];
        if (t->idle[p] + rows->after[p] > last)
            last = t->idle[p] + rows->after[p];
    }
    t->makespan = last;
    t->mean = sum / rows->places;
    return true;
}

/* ---- annealing ---- */

/* Of the mean end of places in the energy; temperatures at the beginning and
 * the end, in mean durations; how often a start is tried that gets nowhere. */
#define MEAN_WEIGHT 0.6
#define HOT 0.6
#define COLD 0.03
enum { STARTS = 64 };

typedef struct annealing {
    const rlf_dispatch_job *job;
    rlf_dispatch run;
    rlf_dispatch_rule now, trial;
    double energy;
    double least; /* the mean end of places is never less */
    double grain; /* the mean duration of an operation */
} annealing;

static void
make_rule(const rlf_fuse_rows *rows, rlf_arena *arena, rlf_dispatch_rule *out)
{
    out->due = RLF_NEW_ARRAY(arena, double, rows->n);
    out->slope = RLF_NEW_ARRAY(arena, double, rows->n);
    out->most = RLF_NEW_ARRAY(arena, int, rows->n);
}

static void
copy_rule(const rlf_fuse_rows *rows, const rlf_dispatch_rule *from,
          rlf_dispatch_rule *to)
{
    size_t n = (size_t)rows->n;
    memcpy(to->due, from->due, n * sizeof *to->due);
    memcpy(to->slope, from->slope, n * sizeof *to->slope);
    memcpy(to->most, from->most, n * sizeof *to->most);
    to->look = from->look;
}

/* Returns how many micro-batches are in flight at a row if one comes every
 * `period`, and no more than fit. */
static int
in_flight(const rlf_fuse_rows *rows, const rlf_row *row, double period)
{
    const rlf_row *frees = &rows->row[row->frees];
    double stays = frees->head + frees->takes - row->head;
    int most = (int)(stays / period + 0.999);
    if (row->delta > 0 && most * row->delta > rows->cap[row->place])
        most = (int)(rows->cap[row->place] / row->delta);
    return most < 1 ? 1 : most;
}

/* A rule to begin with, another one for each number. A model's micro-batches
 * are due in a steady period, the one that ends at the bound, or one time of
 * three something between that and what the busiest place takes. Limits of what
 * is in flight are those of that period and some more, or none. */
static void
start_rule(annealing *a, rlf_dispatch_rule *rule)
{
    static const int extras[] = {INT16_MAX, 2, INT16_MAX, 4, 1, 8, INT16_MAX};
    const rlf_fuse_rows *rows = a->job->rows;
    int extra = extras[a->job->number % 7];
    double busiest = 0, part = 0;
    if (a->job->number % 3 == 2)
        part = rlf_splitmix_uniform(a->job->dice);
    for (int p = 0; p < rows->places; p++)
        busiest = rows->work[p] > busiest ? rows->work[p] : busiest;
    for (int r = 0; r < rows->n; r++) {
        const rlf_row *row = &rows->row[r];
        double chain = row->head + row->takes + row->tail;
        double period = busiest / row->micros;
        if (row->micros > 1)
            period = part * period +
                     (1 - part) * (a->job->bound - chain) / (row->micros - 1);
        rule->due[r] = row->head;
        rule->slope[r] = period;
        rule->most[r] = in_flight(rows, row, period) + extra;
    }
    rule->look = 0;
}

/* Another rule that differs in one respect. */
static void
change_rule(annealing *a, rlf_dispatch_rule *rule)
{
    const rlf_fuse_rows *rows = a->job->rows;
    rlf_splitmix *dice = a->job->dice;
    int r = rlf_splitmix_below(dice, rows->n),
        kind = rlf_splitmix_below(dice, 100);
    const rlf_row *row = &rows->row[r];
    double step = rlf_splitmix_uniform(dice) + rlf_splitmix_uniform(dice) - 1;
    double scale = a->grain * (rlf_splitmix_below(dice, 4) ? 4 : 16);
    if (kind < 55) {
        rule->due[r] += step * scale;
    } else if (kind < 65) { /* all of the kind, more the further away */
        for (int i = 0; i < rows->n; i++)
            if (rows->row[i].model == row->model &&
                rows->row[i].kind == row->kind)
                rule->due[i] += step * scale / 4 *
                                (1 + abs(rows->row[i].stage - row->stage));
    } else if (kind < 75) {
        for (int i = 0; i < rows->n; i++)
            if (rows->row[i].model == row->model &&
                rows->row[i].kind == row->kind)
                rule->slope[i] *= 1 + 0.1 * step;
    } else if (kind < 97) {
        int by = rlf_splitmix_below(dice, 2) ? 1 : -1;
        rule->most[r] += by;
        if (rule->most[r] < 1)
            rule->most[r] = 1;
    } else {
        rule->look =
            a->grain * rlf_splitmix_uniform(dice) * rlf_splitmix_below(dice, 3);
    }
}

static void
start_annealing(annealing *a, const rlf_dispatch_job *job, rlf_arena *arena)
{
    const rlf_fuse_rows *rows = job->rows;
    double work = 0;
    *a = (annealing){.job = job};
    rlf_dispatch_make(rows, arena, &a->run);
    make_rule(rows, arena, &a->now);
    make_rule(rows, arena, &a->trial);
    for (int p = 0; p < rows->places; p++)
        work += rows->work[p];
    a->least = work / rows->places;
    a->grain = work / rows->operations;
}

static double
energy_of(const annealing *a)
{
    const rlf_timing *t = &a->run.timing;
    return t->makespan + MEAN_WEIGHT * t->mean;
}

/* Keep the table of the last run, if it is the best. */
static void
keep_best(annealing *a)
{
    const rlf_dispatch_job *job = a->job;
    if (a->run.timing.makespan >= *job->best)
        return;
    *job->best = a->run.timing.makespan;
    memcpy(job->table, a->run.table,
           sizeof *job->table * (size_t)job->rows->operations);
}

/* Tries another rule at temperature t. */
static void
try_rule(annealing *a, double t)
{
    const rlf_dispatch_job *job = a->job;
    double limit = a->energy - t * rlf_ln(1 - rlf_splitmix_uniform(job->dice));
    copy_rule(job->rows, &a->now, &a->trial);
    change_rule(a, &a->trial);
    if (!rlf_dispatch_run(&a->run, &a->trial, limit - MEAN_WEIGHT * a->least) ||
        energy_of(a) > limit)
        return;
    rlf_dispatch_rule other = a->now;
    a->now = a->trial;
    a->trial = other;
    a->energy = energy_of(a);
    keep_best(a);
}

int64_t
rlf_dispatch_anneal(const rlf_dispatch_job *job, rlf_arena *arena)
{
    const rlf_fuse_options *options = job->options;
    annealing a;
    bool any = false;
    int64_t move = 0;
    start_annealing(&a, job, arena);
    for (; !any && move < job->moves && move < STARTS; move++) {
        start_rule(&a, &a.now);
        for (int64_t i = 0; i < move; i++) /* away from where it got stuck */
            change_rule(&a, &a.now);
        any = rlf_dispatch_run(&a.run, &a.now, RLF_NO_LIMIT);
    }
    if (!any)
        return move;
    a.energy = energy_of(&a);
    keep_best(&a);
    double hot = rlf_ln(HOT * a.grain), cold = rlf_ln(COLD * a.grain);
    for (; move<job->moves && * job->best> job->bound; move++) {
        double part = (double)move / (double)job->moves;
        if (move % 16 == 0 && options->stop && options->stop(options->user)) {
            *job->stopped = true;
            break;
        }
        try_rule(&a, rlf_exp(hot + (cold - hot) * part));
    }
    return move;
}
