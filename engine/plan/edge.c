/* Data edges: see edge.h.
 *
 * Rows with the same part on both sides travel together: each such bucket is
 * one message for every rank that needs it and has it not. Then the messages,
 * largest first, choose their sources. */
#include "engine/plan/edge.h"

#include "engine/base/vec.h"

#include <stdlib.h>

/* The rows of a message and who could send it. */
typedef struct message {
    rlf_transfer transfer;
    int have_part;
} message;

typedef RLF_VEC(message) messages;

/* Sides */

static int
part_count(const rlf_side *side)
{
    const rlf_layout *l = side->layout;
    return side->deal == RLF_DEAL_DP     ? l->dp
           : side->deal == RLF_DEAL_PP   ? l->pp
           : side->deal == RLF_DEAL_LIST ? l->n_ranks
                                         : 1;
}

static int
part_of(const rlf_side *side, int64_t n, int64_t row)
{
    if (side->deal == RLF_DEAL_ALL)
        return 0;
    if (side->part)
        return side->part[row];
    return rlf_range_owner(n, part_count(side), row);
}

/* Who has which part: the places of part k are list[first[k]] up to
 * list[first[k + 1]]. A place has one part, or none (-1). */
typedef struct members {
    int *first, *list, *part;
} members;

/* The part of the rank at `place`, -1 if it has none. */
static int
part_at(const rlf_side *side, int place)
{
    rlf_coordinates at = rlf_layout_at(side->layout, place);
    if (side->last && at.pp != side->layout->pp - 1)
        return -1;
    return side->deal == RLF_DEAL_ALL  ? 0
           : side->deal == RLF_DEAL_DP ? at.dp
           : side->deal == RLF_DEAL_PP ? at.pp
                                       : place;
}

static members
find_members(const rlf_side *side)
{
    int parts = part_count(side), n = side->layout->n_ranks;
    members m = {.first = rlf_calloc((size_t)parts + 2, sizeof(int)),
                 .list = rlf_malloc(sizeof(int) * (size_t)n),
                 .part = rlf_malloc(sizeof(int) * (size_t)n)};
    for (int i = 0; i < n; i++) {
        m.part[i] = part_at(side, i);
        m.first[m.part[i] + 2]++; /* two ahead; that of -1 is no part's */
    }
    m.first[1] = 0;
    for (int k = 2; k <= parts + 1; k++)
        m.first[k] += m.first[k - 1];
    for (int i = 0; i < n; i++)
        if (m.part[i] >= 0)
            m.list[m.first[m.part[i] + 1]++] = i;
    return m;
}

static void
free_members(members *m)
{
    free(m->first);
    free(m->list);
    free(m->part);
}

/* The place of each place's rank in the other layout, -1 if not there. */
static int *
places_in(const rlf_layout *other, const rlf_layout *layout)
{
    int world = 0;
    for (int i = 0; i < other->n_ranks; i++)
        world = other->ranks[i] >= world ? other->ranks[i] + 1 : world;
    int *place = rlf_malloc(sizeof *place * (size_t)(world + 1));
    int *out = rlf_malloc(sizeof *out * (size_t)layout->n_ranks);
    for (int i = 0; i < world; i++)
        place[i] = -1;
    for (int i = 0; i < other->n_ranks; i++)
        place[other->ranks[i]] = i;
    for (int i = 0; i < layout->n_ranks; i++)
        out[i] = layout->ranks[i] < world ? place[layout->ranks[i]] : -1;
    free(place);
    return out;
}

const char *
rlf_side_protocol(const rlf_side *side)
{
    const rlf_layout *l = side->layout;
    if (side->deal != RLF_DEAL_DP)
        return side->deal == RLF_DEAL_ALL  ? "ONE_TO_ALL"
               : side->deal == RLF_DEAL_PP ? "3D_PP_ONLY"
                                           : "ALL_TO_ALL";
    if (l->tp * l->pp == 1)
        return "DP_PROTO";
    bool inner = false; /* a digit of dp was met */
    for (int i = 0; i < l->n_order; i++) {
        bool dp = l->order[i].axis == RLF_AXIS_DP;
        if (l->order[i].size > 1 && inner && !dp)
            return "3D_ALL_MICRO_DP";
        inner |= dp && l->order[i].size > 1;
    }
    return "3D_PROTO";
}

/* Messages without sources */

typedef struct maker {
    const rlf_side *have, *need;
    members holders, receivers;
    int *place; /* by place of need: that in have */
    messages list;
} maker;

/* One message for each rank that needs the bucket's rows and has them not. */
static void
add_bucket(maker *m, int have_part, int need_part, rlf_transfer transfer)
{
    const members *r = &m->receivers;
    for (int i = r->first[need_part]; i < r->first[need_part + 1]; i++) {
        int there = m->place[r->list[i]];
        transfer.to = m->need->layout->ranks[r->list[i]];
        if (there < 0 || m->holders.part[there] != have_part)
            RLF_PUSH(&m->list, (message){transfer, have_part});
    }
}

/* Sort the rows by (part they are in, part they go to), then by number. */
static void
collect(maker *m, int64_t n, const int64_t *bytes, rlf_arena *arena)
{
    const rlf_side *have = m->have, *need = m->need;
    int64_t parts = part_count(need), buckets = part_count(have) * parts;
    int64_t *start = rlf_calloc((size_t)buckets + 1, sizeof *start);
    int64_t *size = rlf_calloc((size_t)buckets, sizeof *size);
    int64_t *rows = RLF_NEW_ARRAY(arena, int64_t, n);
#define BUCKET(row) (part_of(have, n, row) * parts + part_of(need, n, row))
    for (int64_t i = 0; i < n; i++)
        start[BUCKET(i) + 1]++;
    for (int64_t b = 0; b < buckets; b++)
        start[b + 1] += start[b];
    for (int64_t i = 0; i < n; i++) {
        int64_t b = BUCKET(i);
        rows[start[b]++] = i; /* now the end of what is there */
        size[b] += bytes ? bytes[i] : 1;
    }
#undef BUCKET
    for (int64_t b = 0, first = 0; b < buckets; first = start[b++])
        if (start[b] > first)
            add_bucket(m, (int)(b / parts), (int)(b % parts),
                       (rlf_transfer){.n_rows = start[b] - first,
                                      .rows = rows + first,
                                      .bytes = size[b]});
    free(size);
    free(start);
}

/* Sources */

static int
largest_first(const void *a, const void *b)
{
    const rlf_transfer *x = &((const message *)a)->transfer;
    const rlf_transfer *y = &((const message *)b)->transfer;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->rows[0] < y->rows[0] ? -1 : 1;
}

static int
by_receiver(const void *a, const void *b)
{
    const rlf_transfer *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->rows[0] < y->rows[0] ? -1 : 1;
}

/* The rank with the least to send among those that have the rows, on the
 * receiver's machine if any is there. Returns its place. */
static int
choose_source(const maker *m, const message *x, const int *machine,
              const int64_t *load)
{
    const int *ranks = m->have->layout->ranks;
    const int *list = m->holders.list, *first = m->holders.first + x->have_part;
    int best = -1;
    bool best_near = false;
    for (int k = first[0]; k < first[1]; k++) {
        int i = list[k];
        bool near = machine && machine[ranks[i]] == machine[x->transfer.to];
        if (best < 0 || near > best_near ||
            (near == best_near && load[i] < load[best])) {
            best = i;
            best_near = near;
        }
    }
    RLF_ASSERT(best >= 0);
    return best;
}

void
rlf_edge_make(const rlf_side *have, const rlf_side *need, int64_t n,
              const int64_t *bytes, const int *machine, rlf_arena *arena,
              rlf_edge *out)
{
    maker m = {.have = have,
               .need = need,
               .holders = find_members(have),
               .receivers = find_members(need),
               .place = places_in(have->layout, need->layout)};
    int64_t *load = rlf_calloc((size_t)have->layout->n_ranks, sizeof *load);
    collect(&m, n, bytes, arena);
    if (m.list.count)
        qsort(m.list.data, m.list.count, sizeof *m.list.data, largest_first);
    out->count = (int)m.list.count;
    out->list = RLF_NEW_ARRAY(arena, rlf_transfer, m.list.count);
    for (int i = 0; i < out->count; i++) {
        int place = choose_source(&m, &m.list.data[i], machine, load);
        out->list[i] = m.list.data[i].transfer;
        out->list[i].from = have->layout->ranks[place];
        load[place] += out->list[i].bytes;
    }
    qsort(out->list, (size_t)out->count, sizeof *out->list, by_receiver);
    RLF_VEC_FREE(&m.list);
    free_members(&m.holders);
    free_members(&m.receivers);
    free(m.place);
    free(load);
}

void
rlf_edge_load(const rlf_edge *edge, int rank, int64_t *sent, int64_t *received)
{
    *sent = *received = 0;
    for (int i = 0; i < edge->count; i++) {
        *sent += edge->list[i].from == rank ? edge->list[i].bytes : 0;
        *received += edge->list[i].to == rank ? edge->list[i].bytes : 0;
    }
}
