/* Rows that every one of some ranks needs: see rlf_edge_all_gather.
 *
 * One message for every pair of ranks would be right, but with many ranks each
 * has too many to send and to take. So what ranks have doubles: in a round each
 * gets from the one `distance` behind it what that has and it lacks, with
 * distances of half a ring, a quarter, and so on down to 1. Whatever each began
 * with, after the last round it has what all of them had: every row goes along
 * a binomial tree of its own, each to all ranks in as many rounds as the number
 * of ranks has bits. Nobody is a root that all has to go through, and most
 * bytes go in the last rounds, between neighbours. */
#include "engine/plan/edge.h"

#include "engine/base/vec.h"

#include <stdlib.h>

typedef uint64_t word;
enum { BITS = 64 };

typedef struct spreader {
    const rlf_parts *have;
    const int *to;
    int n_to;
    int64_t n;
    rlf_arena *arena;
    int n_words;    /* of a set of parts */
    int64_t *first; /* rows of part k: row[first[k]] up to row[first[k + 1]] */
    int64_t *row;
    word *now, *next; /* [n_to][n_words]: the parts that each has */
    word *marks;      /* scratch: a bit of each row, all 0 */
} spreader;

static int
part_of(const spreader *s, int64_t row)
{
    return s->have->part ? s->have->part[row] : 0;
}

static bool
has(const word *set, int part)
{
    return set[part / BITS] >> (part % BITS) & 1;
}

static void
put(word *set, int part)
{
    set[part / BITS] |= (word)1 << (part % BITS);
}

static word *
set_of(const spreader *s, word *sets, int place)
{
    return sets + (size_t)place * (size_t)s->n_words;
}

static bool
is_used(const spreader *s, int part)
{
    return s->first[part + 1] > s->first[part];
}

static void
sort_rows(spreader *s)
{
    int parts = s->have->count;
    s->first = RLF_NEW_ARRAY(s->arena, int64_t, parts + 2);
    s->row = RLF_NEW_ARRAY(s->arena, int64_t, s->n);
    for (int64_t i = 0; i < s->n; i++)
        s->first[part_of(s, i) + 2]++; /* two ahead */
    for (int k = 2; k < parts + 2; k++)
        s->first[k] += s->first[k - 1];
    for (int64_t i = 0; i < s->n; i++)
        s->row[s->first[part_of(s, i) + 1]++] = i;
}

/* The parts that each of the ranks has before. */
static void
begin(spreader *s)
{
    const rlf_parts *have = s->have;
    int most = 0;
    for (int i = 0; i < s->n_to; i++)
        most = s->to[i] > most ? s->to[i] : most;
    int *place = RLF_NEW_ARRAY(s->arena, int, most + 1); /* + 1; 0: none */
    for (int i = 0; i < s->n_to; i++)
        place[s->to[i]] = i + 1;
    s->n_words = (have->count + BITS - 1) / BITS;
    size_t words = (size_t)s->n_to * (size_t)s->n_words;
    s->marks = RLF_NEW_ARRAY(s->arena, word, s->n / BITS + 1);
    s->now = RLF_NEW_ARRAY(s->arena, word, words);
    s->next = RLF_NEW_ARRAY(s->arena, word, words);
    for (int k = 0; k < have->count; k++)
        for (int i = have->first[k]; i < have->first[k + 1]; i++)
            if (is_used(s, k) && have->list[i] <= most && place[have->list[i]])
                put(set_of(s, s->now, place[have->list[i]] - 1), k);
}

static int
rounds_for(int n)
{
    int rounds = 0;
    while (1 << rounds < n)
        rounds++;
    return rounds;
}

/* A round and its parting take about as long as two messages more do, so few
 * of them go at once. The one with most to do: who lacks most parts, or if the
 * work is even, who has some. */
static bool
goes_at_once(const spreader *s)
{
    int64_t all = 0, most = 0, holders = 0;
    for (int i = 0; i < s->n_to; i++) {
        int64_t lacks = 0;
        for (int k = 0; k < s->have->count; k++)
            lacks += is_used(s, k) && !has(set_of(s, s->now, i), k);
        all += lacks;
        most = lacks > most ? lacks : most;
    }
    int n_listed = s->have->first[s->have->count], top = -1;
    for (int i = 0; i < n_listed; i++)
        top = s->have->list[i] > top ? s->have->list[i] : top;
    bool *counted = RLF_NEW_ARRAY(s->arena, bool, top + 1);
    for (int k = 0; k < s->have->count; k++)
        for (int i = s->have->first[k]; i < s->have->first[k + 1]; i++) {
            holders += is_used(s, k) && !counted[s->have->list[i]];
            counted[s->have->list[i]] |= is_used(s, k);
        }
    int64_t each = holders ? (all + holders - 1) / holders : 0;
    most = each > most ? each : most;
    return most <= 2 * rounds_for(s->n_to);
}

static void
mark_rows(const spreader *s, int part)
{
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++)
        s->marks[s->row[i] / BITS] |= (word)1 << (s->row[i] % BITS);
}

/* The rows of the parts in `from` that are not in `to`, ascending. */
static rlf_transfer
difference(const spreader *s, const word *from, const word *to)
{
    rlf_transfer t = {0};
    int parts = 0;
    for (int w = 0; w < s->n_words; w++)
        for (word more = from[w] & ~to[w]; more; more &= more - 1) {
            int k = w * BITS + __builtin_ctzll(more);
            if (!is_used(s, k))
                continue;
            t.n_rows += s->first[k + 1] - s->first[k];
            t.rows = s->row + s->first[k];
            parts++;
        }
    if (parts < 2)
        return t;
    int64_t *rows = RLF_NEW_ARRAY(s->arena, int64_t, t.n_rows), n = 0;
    for (int w = 0; w < s->n_words; w++)
        for (word more = from[w] & ~to[w]; more; more &= more - 1)
            mark_rows(s, w * BITS + __builtin_ctzll(more));
    for (int64_t w = 0; n < t.n_rows; w++) {
        for (word left = s->marks[w]; left; left &= left - 1)
            rows[n++] = w * BITS + __builtin_ctzll(left);
        s->marks[w] = 0;
    }
    t.rows = rows;
    return t;
}

/* Parts that none of the ranks has: each comes to one of them, in turn. */
static void
bring_in(spreader *s, rlf_edge *out)
{
    int parts = s->have->count, missing = 0, n = 0;
    bool *there = RLF_NEW_ARRAY(s->arena, bool, parts);
    for (int k = 0; k < parts; k++) {
        there[k] = !is_used(s, k);
        for (int i = 0; i < s->n_to && !there[k]; i++)
            there[k] = has(set_of(s, s->now, i), k);
        missing += !there[k];
    }
    if (!missing)
        return;
    int *first = RLF_NEW_ARRAY(s->arena, int, s->n_to + 1);
    int *part = RLF_NEW_ARRAY(s->arena, int, s->n), *by;
    for (int i = 0; i <= s->n_to; i++)
        first[i] = i;
    by = RLF_NEW_ARRAY(s->arena, int, parts);
    for (int k = 0; k < parts; k++) {
        by[k] = -1;
        if (there[k])
            continue;
        by[k] = (int)((int64_t)n++ * s->n_to / missing);
        put(set_of(s, s->now, by[k]), k);
    }
    int64_t rows = 0;
    int *have = RLF_NEW_ARRAY(s->arena, int, s->n);
    int64_t *list = RLF_NEW_ARRAY(s->arena, int64_t, s->n);
    for (int64_t i = 0; i < s->n; i++)
        if (by[part_of(s, i)] >= 0) {
            part[rows] = by[part_of(s, i)];
            have[rows] = part_of(s, i);
            list[rows++] = i;
        }
    rlf_parts from = *s->have;
    from.part = have;
    rlf_edge_between(
        &from,
        &(rlf_parts){
            .count = s->n_to, .first = first, .list = s->to, .part = part},
        rows, NULL, NULL, s->arena, out);
    for (int i = 0; i < out->count; i++) {
        int64_t *named = RLF_NEW_ARRAY(s->arena, int64_t, out->list[i].n_rows);
        for (int64_t k = 0; k < out->list[i].n_rows; k++)
            named[k] = list[out->list[i].rows[k]];
        out->list[i].rows = named;
    }
}

static int
by_receiver(const void *a, const void *b)
{
    const rlf_transfer *x = a, *y = b;
    return (x->to > y->to) - (x->to < y->to);
}

/* Each gets what the one so far behind it has. */
static void
pass_on(spreader *s, int distance, rlf_edge *out)
{
    size_t bytes = sizeof(word) * (size_t)s->n_to * (size_t)s->n_words;
    out->list = RLF_NEW_ARRAY(s->arena, rlf_transfer, s->n_to);
    memcpy(s->next, s->now, bytes);
    for (int i = 0; i < s->n_to; i++) {
        int other = (i + distance) % s->n_to;
        const word *from = set_of(s, s->now, other);
        word *to = set_of(s, s->next, i);
        rlf_transfer t = difference(s, from, to);
        if (!t.n_rows)
            continue;
        t.from = s->to[other];
        t.to = s->to[i];
        t.bytes = t.n_rows;
        out->list[out->count++] = t;
        for (int w = 0; w < s->n_words; w++)
            to[w] |= from[w];
    }
    qsort(out->list, (size_t)out->count, sizeof *out->list, by_receiver);
    memcpy(s->now, s->next, bytes);
}

int
rlf_edge_all_gather(const rlf_parts *have, const int *to, int n_to, int64_t n,
                    rlf_arena *arena, rlf_edge **rounds)
{
    spreader s = {.have = have, .to = to, .n_to = n_to, .n = n, .arena = arena};
    int most = rounds_for(n_to) + 1, count = 0;
    rlf_edge *list = *rounds = RLF_NEW_ARRAY(arena, rlf_edge, most + 1);
    sort_rows(&s);
    begin(&s);
    if (goes_at_once(&s)) {
        const int first[] = {0, n_to};
        rlf_edge_between(have,
                         &(rlf_parts){.count = 1, .first = first, .list = to},
                         n, NULL, NULL, arena, list);
        return list->count > 0;
    }
    bring_in(&s, &list[count]);
    count += list[count].count > 0;
    for (int distance = 1 << rounds_for(n_to) >> 1; distance; distance /= 2) {
        list[count] = (rlf_edge){0};
        pass_on(&s, distance, &list[count]);
        count += list[count].count > 0;
    }
    return count;
}
