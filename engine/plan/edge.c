/* Data edges: see edge.h.
 *
 * Rows with the same part on both sides travel together: each such bucket is
 * one message for every rank that needs it and has it not. Then the messages,
 * largest first, choose their sources. */
#include "engine/plan/edge.h"

#include "engine/base/vec.h"

#include <stdlib.h> /* qsort */

/* The rows of a message and who could send it. */
typedef struct message {
    rlf_transfer transfer;
    int have_part;
} message;

typedef RLF_VEC(message) messages;

const char *
rlf_side_protocol(const rlf_side *side)
{
    const rlf_layout *l = side->layout;
    if (side->assignment != RLF_ASSIGN_DP)
        return side->assignment == RLF_ASSIGN_ALL  ? "ONE_TO_ALL"
               : side->assignment == RLF_ASSIGN_PP ? "3D_PP_ONLY"
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
    const rlf_parts *have, *need;
    int *has_part; /* per rank: the last part of `have` seen with it, + 1 */
    messages list;
    rlf_arena *scratch; /* that all of this is in */
} maker;

static int
ranks_above(const rlf_parts *parts, int n)
{
    for (int i = 0; i < parts->first[parts->count]; i++)
        n = parts->list[i] >= n ? parts->list[i] + 1 : n;
    return n;
}

/* One message for each rank that needs the bucket's rows and has them not. */
static void
add_bucket(maker *m, int have_part, int need_part, rlf_transfer transfer)
{
    const rlf_parts *have = m->have, *need = m->need;
    for (int i = have->first[have_part]; i < have->first[have_part + 1]; i++)
        m->has_part[have->list[i]] = have_part + 1;
    for (int i = need->first[need_part]; i < need->first[need_part + 1]; i++) {
        transfer.to = need->list[i];
        if (m->has_part[transfer.to] != have_part + 1)
            RLF_PUSH_IN(m->scratch, &m->list, (message){transfer, have_part});
    }
}

/* Sort the rows by (part they are in, part they go to), then by number. */
static void
collect(maker *m, int64_t n, const int64_t *bytes, rlf_arena *arena)
{
    const rlf_parts *have = m->have, *need = m->need;
    int64_t parts = need->count, buckets = have->count * parts;
    int64_t *start = RLF_NEW_ARRAY(m->scratch, int64_t, buckets + 1);
    int64_t *size = RLF_NEW_ARRAY(m->scratch, int64_t, buckets);
    int64_t *rows = RLF_NEW_ARRAY(arena, int64_t, n);
#define PART(side, row) ((side)->part ? (side)->part[row] : 0)
#define BUCKET(row) (PART(have, row) * parts + PART(need, row))
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
#undef PART
    for (int64_t b = 0, first = 0; b < buckets; first = start[b++])
        if (start[b] > first)
            add_bucket(m, (int)(b / parts), (int)(b % parts),
                       (rlf_transfer){.n_rows = start[b] - first,
                                      .rows = rows + first,
                                      .bytes = size[b]});
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
 * receiver's machine if any is there. */
static int
choose_source(const maker *m, const message *x, const int *machine,
              const int64_t *load)
{
    const int *first = m->have->first + x->have_part;
    int best = -1;
    bool best_near = false;
    for (int k = first[0]; k < first[1]; k++) {
        int rank = m->have->list[k];
        bool near = machine && machine[rank] == machine[x->transfer.to];
        if (best < 0 || near > best_near ||
            (near == best_near && load[rank] < load[best])) {
            best = rank;
            best_near = near;
        }
    }
    RLF_ASSERT(best >= 0);
    return best;
}

void
rlf_edge_between(const rlf_parts *have, const rlf_parts *need, int64_t n,
                 const int64_t *bytes, const int *machine, rlf_arena *arena,
                 rlf_edge *out)
{
    rlf_arena *scratch = rlf_arena_scratch(arena);
    maker m = {.have = have, .need = need, .scratch = scratch};
    int n_ranks = ranks_above(need, ranks_above(have, 1));
    m.has_part = RLF_NEW_ARRAY(scratch, int, n_ranks);
    int64_t *load = RLF_NEW_ARRAY(scratch, int64_t, n_ranks);
    collect(&m, n, bytes, arena);
    if (m.list.count)
        qsort(m.list.data, m.list.count, sizeof *m.list.data, largest_first);
    out->count = (int)m.list.count;
    out->list = RLF_NEW_ARRAY(arena, rlf_transfer, m.list.count);
    for (int i = 0; i < out->count; i++) {
        rlf_transfer *t = &out->list[i];
        *t = m.list.data[i].transfer;
        t->from = choose_source(&m, &m.list.data[i], machine, load);
        load[t->from] += t->bytes;
    }
    qsort(out->list, (size_t)out->count, sizeof *out->list, by_receiver);
    rlf_arena_free(scratch);
}
