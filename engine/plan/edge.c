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

/* Whether the rank at `place` has the rows of `part`. */
static bool
has_part(const rlf_side *side, int place, int part)
{
    rlf_coordinates at = rlf_layout_at(side->layout, place);
    if (side->last && at.pp != side->layout->pp - 1)
        return false;
    return side->deal == RLF_DEAL_ALL  ? true
           : side->deal == RLF_DEAL_DP ? at.dp == part
           : side->deal == RLF_DEAL_PP ? at.pp == part
                                       : place == part;
}

static bool
rank_has_part(const rlf_side *side, int rank, int part)
{
    for (int i = 0; i < side->layout->n_ranks; i++)
        if (side->layout->ranks[i] == rank)
            return has_part(side, i, part);
    return false;
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

/* One message for each rank that needs the bucket's rows. */
static void
add_bucket(const rlf_side *have, const rlf_side *need, int have_part,
           int need_part, rlf_transfer transfer, messages *out)
{
    for (int i = 0; i < need->layout->n_ranks; i++) {
        transfer.to = need->layout->ranks[i];
        if (has_part(need, i, need_part) &&
            !rank_has_part(have, transfer.to, have_part))
            RLF_PUSH(out, (message){transfer, have_part});
    }
}

/* Sort the rows by (part they are in, part they go to), then by number. */
static void
collect(const rlf_side *have, const rlf_side *need, int64_t n,
        const int64_t *bytes, rlf_arena *arena, messages *out)
{
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
            add_bucket(have, need, (int)(b / parts), (int)(b % parts),
                       (rlf_transfer){.n_rows = start[b] - first,
                                      .rows = rows + first,
                                      .bytes = size[b]},
                       out);
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
choose_source(const rlf_side *have, const message *m, const int *machine,
              const int64_t *load)
{
    const int *ranks = have->layout->ranks;
    int best = -1;
    bool best_near = false;
    for (int i = 0; i < have->layout->n_ranks; i++) {
        if (!has_part(have, i, m->have_part))
            continue;
        bool near = machine && machine[ranks[i]] == machine[m->transfer.to];
        if (best < 0 || near > best_near ||
            (near == best_near && load[i] < load[best])) {
            best = i;
            best_near = near;
        }
    }
    return best;
}

void
rlf_edge_make(const rlf_side *have, const rlf_side *need, int64_t n,
              const int64_t *bytes, const int *machine, rlf_arena *arena,
              rlf_edge *out)
{
    messages list = {0};
    int64_t *load = rlf_calloc((size_t)have->layout->n_ranks, sizeof *load);
    collect(have, need, n, bytes, arena, &list);
    if (list.count)
        qsort(list.data, list.count, sizeof *list.data, largest_first);
    out->count = (int)list.count;
    out->list = RLF_NEW_ARRAY(arena, rlf_transfer, list.count);
    for (int i = 0; i < out->count; i++) {
        int place = choose_source(have, &list.data[i], machine, load);
        out->list[i] = list.data[i].transfer;
        out->list[i].from = have->layout->ranks[place];
        load[place] += out->list[i].bytes;
    }
    qsort(out->list, (size_t)out->count, sizeof *out->list, by_receiver);
    RLF_VEC_FREE(&list);
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
