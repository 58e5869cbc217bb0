/* Turns in expectation: see sampling.h. */
#include "engine/timing/sampling.h"

#include "engine/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
    CUTS = 8,      /* of the time in which fewer and fewer are at work */
    PLAYED = 4096, /* samples of which each is looked at */
    STARTS = 64,   /* parts of these, by when they begin */
};

typedef struct parts {
    rlf_sampling_part *list;
    int n;
} parts;

static void
add(parts *p, rlf_sampling_part part)
{
    part.rows = fmax(part.rows, 1);
    part.made = fmax(part.made, 0);
    if (part.turns > 0)
        p->list[p->n++] = part;
}

/* ---- a seat for each ---- */

/* The samples that are still at work after some turns are those that are
 * longer. Cut where equal parts of them are complete, and where the longest is.
 */
static void
play_at_once(const rlf_sampling *s, parts *p)
{
    double end =
        rlf_lengths_longest(s->lengths, s->rows * s->replicas, s->most);
    double at = 0, under = 0;
    for (int k = 1; k <= CUTS; k++) {
        double to = end;
        if (k < CUTS)
            to = rlf_lengths_quantile(s->lengths, (double)k / CUTS);
        to = fmin(to, end);
        double mean = rlf_lengths_mean(s->lengths, fmax(to, 0x1p-20));
        double turns = to - at;
        if (turns > 0)
            add(p, (rlf_sampling_part){.turns = turns,
                                       .rows = s->rows * (mean - under) / turns,
                                       .made = at + turns / 2,
                                       .complete =
                                           to < end ? (double)k / CUTS : 1});
        under = turns > 0 ? mean : under;
        at = fmax(at, to);
    }
}

/* ---- seats that are taken again ---- */

/* Of a sample at work: when it began, and when it is complete. */
typedef struct seat {
    double from, to;
} seat;

/* The seat that is free first to the top of the heap, after seat i was taken
 * for longer. */
static void
sink(seat *seats, int n, int i)
{
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && seats[child + 1].to < seats[child].to)
            child++;
        if (seats[i].to <= seats[child].to)
            return;
        seat was = seats[i];
        seats[i] = seats[child];
        seats[child] = was;
    }
}

static int
by_end(const void *a, const void *b)
{
    double x = ((const seat *)a)->to, y = ((const seat *)b)->to;
    return (x > y) - (x < y);
}

/* Samples that begin at about the same time. */
typedef struct start {
    double n, sum; /* of the turns in which they do */
} start;

/* The turn in which the last sample of `times` as many is complete, on average:
 * where so many are expected to be at work that there are none with the
 * probability exp(-exp(-g)), with Euler's g, as of the largest of many. */
static double
last_end(const rlf_sampling *s, const start *starts, double times, double begun)
{
    double least = begun, most = begun + s->most;
    for (int step = 0; step < 32; step++) {
        double at = (least + most) / 2, left = 0;
        for (int k = 0; k < STARTS; k++) {
            if (!(starts[k].n > 0))
                continue;
            double has = at - starts[k].sum / starts[k].n;
            if (has < s->most)
                left += starts[k].n * rlf_lengths_above(s->lengths, has);
        }
        *(times * left > exp(-0.5772) ? &least : &most) = at;
    }
    return most;
}

/* Those at work when the last one began, until all are complete at `end`;
 * `before`: the part of all samples that is complete before. */
static void
play_ends(seat *seats, int n, double begun, double scale, double before,
          double end, parts *p)
{
    double at = begun;
    for (int i = 0; i < n; i++)
        seats[i].to = fmin(seats[i].to, fmax(end, begun));
    qsort(seats, (size_t)n, sizeof *seats, by_end);
    for (int k = 0; k < CUTS; k++) {
        int first = k * n / CUTS, last = (k + 1) * n / CUTS;
        if (last == first)
            continue;
        double to = seats[last - 1].to, rows = 0, made = 0;
        for (int i = first; i < n; i++) {
            double until = fmin(seats[i].to, to) - at;
            rows += until;
            made += until * ((at + fmin(seats[i].to, to)) / 2 - seats[i].from);
        }
        if (to > at)
            add(p, (rlf_sampling_part){.turns = to - at,
                                       .rows = scale * rows / (to - at),
                                       .made = made / fmax(rows, 1),
                                       .complete =
                                           before + (1 - before) * last / n});
        at = fmax(at, to);
    }
    add(p, (rlf_sampling_part){.turns = end - at,
                               .rows = 1,
                               .made = at - seats[n - 1].from,
                               .complete = 1});
}

double
rlf_sampling_typical(const rlf_sampling *s, uint32_t i)
{
    if (!s->lengths)
        return s->most;
    double q = fmod((i + 0.5) * 0.61803398874989485, 1);
    double length = rlf_lengths_quantile(s->lengths, fmax(q, 0x1p-53));
    return fmin(fmax(floor(length + 0.5), 1), s->most);
}

/* Prompts that are computed as samples take seats. */
typedef struct begun_prompts {
    double at, n;  /* a turn, and samples that begin in it */
    double all;    /* prompts of the turns before, of a replica */
    double bursts; /* turns in which it has any */
} begun_prompts;

/* `part` of those who begin in the turn are of one replica, which has any in as
 * many such turns as if each came by chance. The first of them reads its prompt,
 * and so does the first of each group behind it. */
static void
end_turn(const rlf_sampling *s, double part, begun_prompts *b)
{
    double n = part * b->n, some = 1 - exp(-n);
    b->all += some + (n - some) / fmax(1, s->group);
    b->bursts += some;
    b->n = 0;
}

/* All replicas are one that has the seats of all, which changes little: where
 * they end is where the last of them does. Of many seats so many in a smaller
 * one, with as many samples a seat. */
static void
play_seats(const rlf_sampling *s, parts *p)
{
    double scale = fmax(1, s->seats * s->replicas / (PLAYED / 4));
    double part = scale / s->replicas; /* of a replica is what is played */
    int n = (int)fmax(1, s->seats / part + 0.5);
    double all = fmax(s->rows / part, n);
    uint32_t rows = (uint32_t)fmin(all, PLAYED);
    seat *seats = rlf_calloc((size_t)n, sizeof *seats);
    double begun = 0, busy = 0, made = 0;
    begun_prompts prompts = {0};
    start starts[STARTS] = {0};
    for (uint32_t i = 0; i < rows; i++) {
        double length = rlf_sampling_typical(s, i);
        start *at = &starts[(uint64_t)i * STARTS / rows];
        at->n++;
        at->sum += i < (uint32_t)n ? 0 : seats[0].to;
        if (i < (uint32_t)n) {
            seats[i].to = length;
            for (int k = n / 2; i + 1 == (uint32_t)n && k-- > 0;)
                sink(seats, n, k);
            continue;
        }
        double was = seats[0].to - seats[0].from;
        busy += was;
        made += was * was / 2;
        if (seats[0].to > begun)
            end_turn(s, part, &prompts);
        begun = seats[0].to;
        prompts.n++;
        seats[0] = (seat){begun, begun + length};
        sink(seats, n, 0);
    }
    end_turn(s, part, &prompts);
    for (int k = 0; k < n; k++) { /* what those had made that are at work */
        double had = begun - seats[k].from;
        busy += had;
        made += had * had / 2;
    }
    double mean = rlf_lengths_mean(s->lengths, s->most);
    double turns = begun + (all - rows) * mean / n;
    double waiting = s->rows - s->seats;
    double played = fmax(1, part * ((double)rows - n)); /* of these */
    add(p, (rlf_sampling_part){
               .turns = turns,
               .rows = s->seats,
               .made = busy > 0 ? made / busy : 0,
               .fresh = turns > 0 ? waiting / played * prompts.all / turns : 0,
               .burst = prompts.all / fmax(prompts.bursts, 0x1p-20),
               .complete = waiting / s->rows});
    double end = last_end(s, starts, scale, begun);
    play_ends(seats, n, begun, part, waiting / s->rows, end, p);
    free(seats);
}

int
rlf_sampling_parts(const rlf_sampling *s,
                   rlf_sampling_part out[RLF_SAMPLING_PARTS])
{
    parts p = {.list = out};
    if (s->rows <= s->seats)
        play_at_once(s, &p);
    else
        play_seats(s, &p);
    RLF_ASSERT(p.n > 0 && p.n <= RLF_SAMPLING_PARTS);
    return p.n;
}
