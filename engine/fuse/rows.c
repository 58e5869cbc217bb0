/* Flat fused pipelines, timed and reversed: see rows.h. */
#include "engine/fuse/rows.h"

#include <math.h>
#include <string.h>

/* ---- a problem as rows ---- */

/* Returns how many kinds of operations a stage has, in the order of
 * rlf_pipe_kind. */
static int
kinds_of(const rlf_pipe_model *model)
{
    return model->forward_only ? 1 : model->split ? 3 : 2;
}

static double
duration(const rlf_pipe_cost *cost, int kind)
{
    return kind == RLF_PIPE_FORWARD    ? cost->forward
           : kind == RLF_PIPE_BACKWARD ? cost->backward
                                       : cost->weights;
}

/* The stage that a kind of operation of a stage waits for; -1: none. */
static int
stage_before(const rlf_pipe_model *model, int stage, int kind)
{
    if (kind == RLF_PIPE_FORWARD)
        return stage - 1;
    if (kind == RLF_PIPE_BACKWARD && stage + 1 < model->stages)
        return stage + 1;
    return -1;
}

/* The stage whose operation of that kind waits for it; -1: none. */
static int
stage_after(const rlf_pipe_model *model, int stage, int kind)
{
    if (kind == RLF_PIPE_BACKWARD)
        return stage - 1;
    if (kind == RLF_PIPE_FORWARD && stage + 1 < model->stages)
        return stage + 1;
    return -1;
}

/* The rows of one model from row[first], stage by stage; returns how many. */
static int
add_model(const rlf_fuse *fuse, int m, int first, rlf_fuse_rows *rows)
{
    const rlf_pipe_model *model = &fuse->models[m];
    const rlf_pipe_cost *cost = fuse->cost[m];
    int kinds = kinds_of(model), n = model->stages * kinds;
    for (int i = 0; i < n; i++) {
        int stage = i / kinds, kind = i % kinds;
        int before = stage_before(model, stage, kind);
        int after = stage_after(model, stage, kind);
        rlf_row *row = &rows->row[first + i];
        *row = (rlf_row){.takes = duration(&cost[stage], kind),
                         .place = model->path[stage],
                         .micros = model->micros,
                         .base = rows->operations,
                         .model = m,
                         .kind = kind,
                         .stage = stage};
        if (kinds > 1 && kind == RLF_PIPE_FORWARD)
            row->delta = cost[stage].memory;
        else if (kinds > 1 && kind == kinds - 1)
            row->delta = -cost[stage].memory;
        row->cross = before < 0 ? rows->n : first + before * kinds + kind;
        row->next = after < 0 ? rows->n : first + after * kinds + kind;
        row->same = kind == RLF_PIPE_FORWARD ? rows->n : first + i - 1;
        row->frees = first + stage * kinds + kinds - 1;
        if (before >= 0 && model->path[before] != row->place)
            row->lag = cost[before < stage ? before : stage].send;
        rows->operations += model->micros;
    }
    return n;
}

/* Sets what one micro-batch needs before each row, if all else waits. */
static void
set_heads(rlf_fuse_rows *rows)
{
    for (bool more = true; more;) { /* as many rounds as there are stages */
        more = false;
        for (int r = 0; r < rows->n; r++) {
            rlf_row *row = &rows->row[r];
            const rlf_row *cross = &rows->row[row->cross];
            const rlf_row *same = &rows->row[row->same];
            double head = cross->head + cross->takes + row->lag;
            if (same->head + same->takes > head)
                head = same->head + same->takes;
            if (head > row->head) {
                row->head = head;
                more = true;
            }
        }
    }
}

/* Sets the seconds after each row, its tail. */
static void
set_tails(rlf_fuse_rows *rows)
{
    for (int r = 0; r < rows->n; r++)
        rows->row[r].tail = rows->after[rows->row[r].place];
    for (bool more = true; more;) {
        more = false;
        for (int r = 0; r < rows->n; r++) {
            const rlf_row *row = &rows->row[r];
            rlf_row *cross = &rows->row[row->cross];
            rlf_row *same = &rows->row[row->same];
            double tail = row->takes + row->tail;
            if (row->cross < rows->n && tail + row->lag > cross->tail) {
                cross->tail = tail + row->lag;
                more = true;
            }
            if (row->same < rows->n && tail > same->tail) {
                same->tail = tail;
                more = true;
            }
        }
    }
}

/* Sets the moments at which places can begin; apart, one that begins later may
 * end later. */
static void
set_leads(const rlf_fuse *fuse, rlf_fuse_rows *rows)
{
    double last = 0;
    for (int p = 0; p < rows->places; p++)
        rows->lead[p] = RLF_NO_LIMIT;
    for (int r = 0; r < rows->n; r++) {
        const rlf_row *row = &rows->row[r];
        if (row->head < rows->lead[row->place])
            rows->lead[row->place] = row->head;
    }
    for (int p = 0; p < rows->places; p++) {
        if (rows->lead[p] >= RLF_NO_LIMIT)
            rows->lead[p] = 0; /* it has no rows */
        last = rows->lead[p] > last ? rows->lead[p] : last;
    }
    for (int p = 0; p < rows->places; p++)
        rows->after[p] = fuse->apart ? last - rows->lead[p] : 0;
}

/* Give rows their numbers by place. */
static void
sort_rows(rlf_fuse_rows *rows, rlf_arena *arena)
{
    rlf_row *old = rows->row;
    int *to = RLF_NEW_ARRAY(arena, int, rows->n + 1), count = 0;
    rows->row = RLF_NEW_ARRAY(arena, rlf_row, rows->n + 1);
    for (int p = 0; p < rows->places; p++) {
        rows->first[p] = count;
        for (int r = 0; r < rows->n; r++)
            if (old[r].place == p)
                to[r] = count++;
    }
    rows->first[rows->places] = to[rows->n] = count;
    for (int r = 0; r <= rows->n; r++) {
        rlf_row *row = &rows->row[to[r]];
        *row = old[r];
        row->cross = to[row->cross];
        row->next = to[row->next];
        row->same = to[row->same];
        row->frees = to[row->frees];
    }
}

/* Sets the work of each place. */
static void
set_places(const rlf_fuse *fuse, rlf_fuse_rows *rows)
{
    rows->start[0] = 0;
    for (int p = 0; p < rows->places; p++) {
        rows->start[p + 1] = rows->start[p];
        rows->rest[p] = RLF_NO_LIMIT;
        rows->cap[p] = fuse->cap ? fuse->cap[p] * (1 + 1e-9) : RLF_NO_LIMIT;
        for (int r = rows->first[p]; r < rows->first[p + 1]; r++) {
            const rlf_row *row = &rows->row[r];
            rows->start[p + 1] += row->micros;
            rows->work[p] += row->micros * row->takes;
            if (row->tail < rows->rest[p])
                rows->rest[p] = row->tail;
        }
        if (rows->first[p] == rows->first[p + 1])
            rows->rest[p] = 0;
    }
}

void
rlf_fuse_rows_make(const rlf_fuse *fuse, rlf_arena *arena, rlf_fuse_rows *out)
{
    *out = (rlf_fuse_rows){.places = fuse->places};
    for (int m = 0; m < fuse->n_models; m++) {
        const rlf_pipe_model *model = &fuse->models[m];
        out->n += model->stages * kinds_of(model);
        if (model->micros > out->most_micros)
            out->most_micros = model->micros;
    }
    out->row = RLF_NEW_ARRAY(arena, rlf_row, out->n + 1);
    out->first = RLF_NEW_ARRAY(arena, int, out->places + 1);
    out->start = RLF_NEW_ARRAY(arena, int, out->places + 1);
    out->lead = RLF_NEW_ARRAY(arena, double, out->places);
    out->work = RLF_NEW_ARRAY(arena, double, out->places);
    out->rest = RLF_NEW_ARRAY(arena, double, out->places);
    out->after = RLF_NEW_ARRAY(arena, double, out->places);
    out->cap = RLF_NEW_ARRAY(arena, double, out->places);
    for (int m = 0, first = 0; m < fuse->n_models; m++)
        first += add_model(fuse, m, first, out);
    out->row[out->n] = (rlf_row){.base = out->operations,
                                 .cross = out->n,
                                 .next = out->n,
                                 .same = out->n,
                                 .frees = out->n};
    set_heads(out);
    set_leads(fuse, out);
    set_tails(out);
    sort_rows(out, arena);
    set_places(fuse, out);
}

void
rlf_fuse_rows_pipe(const rlf_fuse *fuse, const rlf_fuse_rows *rows,
                   const rlf_row_number *table, rlf_arena *arena, rlf_pipe *out)
{
    int *passed = RLF_NEW_ARRAY(arena, int, rows->n);
    *out = (rlf_pipe){.models = fuse->models,
                      .n_models = fuse->n_models,
                      .places = fuse->places};
    out->lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, rows->places);
    for (int p = 0; p < rows->places; p++) {
        rlf_pipe_list *list = &out->lists[p];
        list->count = rows->start[p + 1] - rows->start[p];
        list->ops = RLF_NEW_ARRAY(arena, rlf_pipe_op, list->count);
        for (int i = 0; i < list->count; i++) {
            int r = table[rows->start[p] + i], chunk = 0;
            const rlf_row *row = &rows->row[r];
            const int *path = fuse->models[row->model].path;
            for (int k = 0; k < row->stage; k++)
                chunk += path[k] == p;
            list->ops[i] = (rlf_pipe_op){row->model, passed[r]++, chunk,
                                         (rlf_pipe_kind)row->kind};
        }
    }
}

/* ---- the bound ---- */

/* The time of the work of a place's stages that begin at `head` or later and
 * have `tail` or more behind them, with both. */
static double
bound_of(const rlf_fuse_rows *rows, int place, double head, double tail)
{
    double work = 0;
    for (int r = rows->first[place]; r < rows->first[place + 1]; r++) {
        const rlf_row *row = &rows->row[r];
        if (row->head >= head && row->tail >= tail)
            work += row->micros * row->takes;
    }
    return work > 0 ? head + work + tail : 0;
}

/* Returns how long a place has to hold memory: every micro-batch holds its own
 * from a stage's first operation to its last, alone at the least, and together
 * no more than the cap. Nor is the cap in use at once: what comes first takes
 * the time of other first operations until there is as much, and so at the
 * end. */
static double
held_of(const rlf_fuse_rows *rows, int place)
{
    double area = 0, delta = 0, in = RLF_NO_LIMIT, out = RLF_NO_LIMIT;
    double cap = rows->cap[place];
    bool alike = true;
    for (int r = rows->first[place]; r < rows->first[place + 1]; r++) {
        const rlf_row *row = &rows->row[r], *frees = &rows->row[row->frees];
        if (row->delta <= 0)
            continue;
        alike &= delta <= 0 || row->delta == delta;
        delta = row->delta > delta ? row->delta : delta;
        in = row->takes < in ? row->takes : in;
        out = frees->takes < out ? frees->takes : out;
        area += row->micros * row->delta *
                (frees->head + frees->takes - row->head);
    }
    if (delta <= 0 || cap >= RLF_NO_LIMIT)
        return 0;
    double n = floor(cap / delta); /* micro-batches at once */
    cap = alike ? n * delta : cap;
    double lacks = (n - 1) * cap - delta * n * (n - 1) / 2;
    return area / cap >= n * (in + out) ? (area + lacks * (in + out)) / cap
                                        : area / cap;
}

double
rlf_fuse_rows_bound(const rlf_fuse_rows *rows)
{
    double most = 0;
    for (int p = 0; p < rows->places; p++) {
        double held = rows->lead[p] + held_of(rows, p) + rows->after[p];
        most = held > most ? held : most;
    }
    for (int p = 0; p < rows->places; p++)
        for (int i = rows->first[p]; i < rows->first[p + 1]; i++)
            for (int k = rows->first[p]; k < rows->first[p + 1]; k++) {
                double bound =
                    bound_of(rows, p, rows->row[i].head, rows->row[k].tail);
                most = bound > most ? bound : most;
            }
    return most;
}

/* ---- time reversed ---- */

void
rlf_fuse_rows_reverse(const rlf_fuse_rows *rows, rlf_arena *arena,
                      rlf_fuse_rows *out)
{
    *out = *rows;
    out->row = RLF_NEW_ARRAY(arena, rlf_row, rows->n + 1);
    out->after = RLF_NEW_ARRAY(arena, double, rows->places);
    out->lead = rows->rest; /* `after` of the other is part of that */
    out->rest = rows->lead;
    for (int r = 0; r <= rows->n; r++) {
        const rlf_row *from = &rows->row[r];
        rlf_row *row = &out->row[r];
        *row = *from;
        row->delta = -from->delta;
        row->head = from->tail;
        row->tail = from->head;
        row->cross = from->next;
        row->next = from->cross;
        row->lag = from->next < rows->n ? rows->row[from->next].lag : 0;
        row->same = row->frees = rows->n;
    }
    for (int r = 0; r < rows->n; r++)
        if (rows->row[r].same < rows->n)
            out->row[rows->row[r].same].same = r;
    for (int r = 0; r < rows->n; r++) {
        int first = r; /* of its stage, which is the last one now */
        while (rows->row[first].same < rows->n)
            first = rows->row[first].same;
        out->row[r].frees = first;
    }
}

void
rlf_fuse_rows_turn(const rlf_fuse_rows *rows, rlf_row_number *table)
{
    for (int p = 0; p < rows->places; p++)
        for (int a = rows->start[p], b = rows->start[p + 1] - 1; a < b;
             a++, b--) {
            rlf_row_number t = table[a];
            table[a] = table[b];
            table[b] = t;
        }
}

/* ---- time ---- */

void
rlf_timing_make(const rlf_fuse_rows *rows, rlf_arena *arena, rlf_timing *out)
{
    int n = rows->n + 1;
    *out = (rlf_timing){0};
    out->end =
        RLF_NEW_ARRAY(arena, double, rows->operations + rows->most_micros);
    out->idle = RLF_NEW_ARRAY(arena, double, rows->places);
    out->passed = RLF_NEW_ARRAY(arena, int, n);
    out->next = RLF_NEW_ARRAY(arena, int, rows->places);
    out->waiter = RLF_NEW_ARRAY(arena, int, n);
    out->queue = RLF_NEW_ARRAY(arena, int, rows->places);
    out->late = RLF_NEW_ARRAY(arena, double, rows->places);
    out->order = RLF_NEW_ARRAY(arena, int, rows->operations);
    for (int r = 0; r < n; r++)
        out->waiter[r] = -1;
}

bool
rlf_fuse_rows_time(const rlf_fuse_rows *rows, const rlf_row_number *table,
                   double limit, double waits, rlf_timing *timing)
{
    const rlf_row *row = rows->row;
    double *end = timing->end, *idle = timing->idle;
    int *passed = timing->passed, *waiter = timing->waiter;
    int *queue = timing->queue, queued = rows->places, done = 0;
    int *order = timing->order;
    for (int r = 0; r < rows->n; r++) {
        passed[r] = 0;
        waiter[r] = -1;
    }
    passed[rows->n] = rows->most_micros;
    for (int p = 0; p < rows->places; p++) {
        idle[p] = rows->lead[p];
        timing->late[p] = limit - rows->rest[p] - rows->work[p];
        timing->next[p] = rows->start[p];
        queue[p] = rows->places - 1 - p;
    }
    double sum = 0, last = 0;
    while (queued) {
        int p = queue[--queued], at = timing->next[p];
        int until = rows->start[p + 1];
        double now = idle[p], late = timing->late[p];
        for (; at < until; at++) {
            int r = table[at], micro = passed[r];
            const rlf_row *this = &row[r];
            int from = this->cross;
            if (passed[from] <= micro) {
                waiter[from] = p;
                break;
            }
            double ready = end[row[from].base + micro] + this->lag;
            if (ready > now) {
                waits -= ready - now;
                now = ready;
                if (now > late || waits < 0)
                    return false;
            }
            now += this->takes;
            late += this->takes;
            end[this->base + micro] = now;
            *order++ = at;
            passed[r] = micro + 1;
            if (waiter[r] >= 0) {
                queue[queued++] = waiter[r];
                waiter[r] = -1;
            }
        }
        timing->next[p] = at;
        timing->late[p] = late;
        idle[p] = now;
        if (at == until) {
            done++;
            sum += now;
            if (now + rows->after[p] > last)
                last = now + rows->after[p];
        }
    }
    timing->makespan = last;
    timing->mean = sum / rows->places;
    return done == rows->places && last <= limit;
}

/* ---- order and memory ---- */

bool
rlf_fuse_rows_sound(const rlf_fuse_rows *rows, const rlf_row_number *table,
                    rlf_timing *timing)
{
    int *passed = timing->passed;
    for (int r = 0; r < rows->n; r++)
        passed[r] = 0;
    passed[rows->n] = rows->most_micros;
    for (int p = 0; p < rows->places; p++) {
        double held = 0;
        for (int i = rows->start[p]; i < rows->start[p + 1]; i++) {
            int r = table[i];
            held += rows->row[r].delta;
            if (passed[rows->row[r].same] <= passed[r]++ || held > rows->cap[p])
                return false;
        }
    }
    return true;
}

void
rlf_fuse_rows_shift(rlf_row_number *table, int from, int to)
{
    rlf_row_number moved = table[from];
    if (from < to)
        memmove(table + from, table + from + 1,
                (size_t)(to - from) * sizeof *table);
    else
        memmove(table + to + 1, table + to,
                (size_t)(from - to) * sizeof *table);
    table[to] = moved;
}
