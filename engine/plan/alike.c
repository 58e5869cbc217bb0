/* See alike.h. Each rank has a number that is mixed of where it is in every
 * layout. */
#include "engine/plan/alike.h"

#include <stdlib.h>

#include "engine/layout/lanes.h"

static uint64_t
mix(uint64_t x, uint64_t y)
{
    x = (x ^ y) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 29;
}

/* Of a layout's replicas: how many lanes, and whether it is at an end. */
static uint64_t
replica(const rlf_layout *layout, int lanes, int dp)
{
    int64_t held = lanes >= layout->dp
                       ? rlf_range_size(rlf_lanes_part(lanes, layout->dp, dp))
                       : 0;
    int end = dp == 0 ? 1 : dp == layout->dp - 1 ? 2 : 0;
    return (uint64_t)held * 4 + (uint64_t)end;
}

static void
add_layout(const rlf_layout *layout, int lanes, uint64_t what, uint64_t *of)
{
    for (int i = 0; i < layout->n_ranks; i++) {
        rlf_coordinates at = rlf_layout_at(layout, i);
        uint64_t *to = &of[layout->ranks[i]];
        *to = mix(mix(*to, what), (uint64_t)at.tp << 32 | (uint64_t)at.pp);
        *to = mix(*to, replica(layout, lanes, at.dp));
    }
}

typedef struct numbered {
    uint64_t of;
    int rank;
} numbered;

static int
by_number(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    if (x->of != y->of)
        return x->of < y->of ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int
by_rank(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int
rlf_plan_alike(const rlf_plan *plan, rlf_arena *arena, const int **ranks)
{
    const rlf_graph *graph = plan->graph;
    uint64_t *of = RLF_NEW_ARRAY(arena, uint64_t, plan->ranks);
    for (size_t i = 0; i < graph->resources.count; i++)
        for (int k = 0; k < plan->holds[i].n; k++)
            add_layout(&plan->holds[i].list[k].mesh.layout, plan->sums[i].lanes,
                       i * 64 + (uint64_t)k, of);
    for (size_t i = 0; i < graph->nodes.count; i++)
        add_layout(&plan->place[i].layout, 0, i << 32, of);
    numbered *all = RLF_NEW_ARRAY(arena, numbered, plan->ranks);
    int *list = RLF_NEW_ARRAY(arena, int, plan->ranks), n = 0;
    for (int r = 0; r < plan->ranks; r++)
        all[r] = (numbered){of[r], r};
    qsort(all, (size_t)plan->ranks, sizeof *all, by_number);
    for (int r = 0; r < plan->ranks; r++)
        if (!r || all[r].of != all[r - 1].of)
            list[n++] = all[r].rank;
    qsort(list, (size_t)n, sizeof *list, by_rank);
    *ranks = list;
    return n;
}
