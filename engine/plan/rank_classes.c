/* See rank_classes.h. Each rank has a number that is mixed of where it is in
 * every layout. */
#include "engine/plan/rank_classes.h"

#include <stdlib.h>

#include "engine/layout/lanes.h"

static uint64_t
mix(uint64_t x, uint64_t y)
{
    x = (x ^ y) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 29;
}

/* Is it the first, the last, or one between? */
static uint64_t
end_of(int at, int n)
{
    return at == 0 ? 1 : at == n - 1 ? 2 : 0;
}

/* Of a layout's replicas: how many lanes, and whether it is at an end. */
static uint64_t
replica(const rlf_layout *layout, int lanes, int dp)
{
    int64_t held = lanes >= layout->dp
                       ? rlf_range_size(rlf_lanes_part(lanes, layout->dp, dp))
                       : 0;
    return (uint64_t)held * 4 + end_of(dp, layout->dp);
}

/* A layout, and what its stages keep of micro-batches. */
typedef struct cut {
    const rlf_layout *layout;
    const int *flights, *owed; /* as in rlf_node_place */
    int layers, lanes;         /* of the model; 0: none */
} cut;

static uint64_t
stage_of(const cut *c, int stage)
{
    const rlf_layout *l = c->layout;
    int chunks = l->chunks > 1 ? l->chunks : 1, parts = l->pp * chunks;
    uint64_t of = end_of(stage, l->pp);
    if (!c->layers)
        return (uint64_t)stage;
    for (int k = 0; k < chunks; k++) {
        int part = k * l->pp + stage, at = stage * chunks + k;
        rlf_range range = rlf_range_part(c->layers, parts, part);
        of = mix(of, (uint64_t)rlf_range_size(range));
        of = mix(of, c->flights ? (uint64_t)c->flights[at] : 0);
        of = mix(of, c->owed ? (uint64_t)c->owed[at] : 0);
    }
    return of;
}

static void
add_layout(const cut *c, uint64_t what, rlf_arena *scratch, uint64_t *of)
{
    const rlf_layout *l = c->layout;
    uint64_t *stage = RLF_NEW_ARRAY(scratch, uint64_t, l->pp);
    uint64_t *dp = RLF_NEW_ARRAY(scratch, uint64_t, l->dp);
    for (int i = 0; i < l->pp; i++)
        stage[i] = mix(what, stage_of(c, i));
    for (int i = 0; i < l->dp; i++)
        dp[i] = replica(l, c->lanes, i);
    for (int i = 0; i < l->n_ranks; i++) {
        rlf_coordinates at = rlf_layout_at(l, i);
        uint64_t *to = &of[l->ranks[i]];
        *to = mix(mix(*to, stage[at.pp]), dp[at.dp] * 4 + end_of(at.tp, l->tp));
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
rlf_rank_classes(const rlf_plan *plan, const int *layers, rlf_arena *arena,
                 const int **ranks)
{
    const int *like;
    return rlf_rank_classes_each(plan, layers, arena, ranks, &like);
}

int
rlf_rank_classes_each(const rlf_plan *plan, const int *layers, rlf_arena *arena,
                      const int **ranks, const int **like)
{
    const rlf_graph *graph = plan->graph;
    uint64_t *of = RLF_NEW_ARRAY(arena, uint64_t, plan->ranks);
    for (size_t i = 0; i < graph->resources.count; i++)
        for (int k = 0; k < plan->copies[i].n; k++)
            add_layout(&(cut){.layout = &plan->copies[i].list[k].mesh.layout,
                              .layers = layers[i],
                              .lanes = plan->sums[i].lanes},
                       i * 64 + (uint64_t)k, arena, of);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node_place *place = &plan->place[i];
        int model = graph->nodes.data[i].receiver;
        add_layout(&(cut){.layout = &place->layout,
                          .flights = place->flights,
                          .owed = place->owed,
                          .layers = model < 0 ? 0 : layers[model]},
                   (uint64_t)i << 32, arena, of);
    }
    numbered *all = RLF_NEW_ARRAY(arena, numbered, plan->ranks);
    int *list = RLF_NEW_ARRAY(arena, int, plan->ranks), n = 0;
    int *same = RLF_NEW_ARRAY(arena, int, plan->ranks);
    for (int r = 0; r < plan->ranks; r++)
        all[r] = (numbered){of[r], r};
    qsort(all, (size_t)plan->ranks, sizeof *all, by_number);
    for (int r = 0; r < plan->ranks; r++) {
        if (!r || all[r].of != all[r - 1].of)
            list[n++] = all[r].rank;
        same[all[r].rank] = list[n - 1];
    }
    qsort(list, (size_t)n, sizeof *list, by_rank);
    *ranks = list;
    *like = same;
    return n;
}
