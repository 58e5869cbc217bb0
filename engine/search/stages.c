/* See stages.h. */
#include "engine/search/stages.h"

#include <string.h>

/* Replicas of other kinds than the last one, at most. */
enum { REPLICAS = 15 };

static int
rank_at(const rlf_layout *l, int dp, int pp, int tp)
{
    const rlf_coordinates at = {.tp = tp, .pp = pp, .dp = dp};
    return l->ranks[rlf_layout_place(l, at)];
}

/* Layers of a stage, in all chunks that it is trained in. */
static int64_t
layers_of(const rlf_layout *l, int layers, const rlf_layout *trained, int stage)
{
    int chunks = trained && trained->chunks > 1 ? trained->chunks : 1;
    int64_t n = 0;
    for (int chunk = 0; chunk < chunks; chunk++) {
        int part =
            rlf_stage_part(l->pp, chunks > 1 && trained->vee, stage, chunk);
        n += rlf_range_size(rlf_range_part(layers, l->pp * chunks, part));
    }
    return n;
}

typedef struct stage_kind {
    int64_t layers;
    bool first, last, comes, goes, torn; /* from or to another machine; its own
                                            ranks are on several */
} stage_kind;

static stage_kind
kind_of(const rlf_cluster *c, const rlf_layout *l, int layers,
        const rlf_layout *trained, int dp, int stage)
{
    stage_kind k = {.layers = layers_of(l, layers, trained, stage),
                    .first = stage == 0,
                    .last = stage == l->pp - 1};
    int machine = rlf_cluster_machine(c, rank_at(l, dp, stage, 0));
    k.comes = !k.first &&
              rlf_cluster_machine(c, rank_at(l, dp, stage - 1, 0)) != machine;
    k.goes = !k.last &&
             rlf_cluster_machine(c, rank_at(l, dp, stage + 1, 0)) != machine;
    for (int tp = 1; tp < l->tp && !k.torn; tp++)
        k.torn = rlf_cluster_machine(c, rank_at(l, dp, stage, tp)) != machine;
    return k;
}

static bool
alike(const stage_kind *a, const stage_kind *b)
{
    return a->layers == b->layers && a->first == b->first &&
           a->last == b->last && a->comes == b->comes && a->goes == b->goes &&
           a->torn == b->torn;
}

static void
find_kinds(const rlf_cluster *c, const rlf_layout *l, int layers,
           const rlf_layout *trained, int dp, rlf_arena *arena, rlf_stages *out)
{
    stage_kind known[RLF_STAGES_KINDS];
    int *rank = RLF_NEW_ARRAY(arena, int, RLF_STAGES_KINDS), n = 0;
    int *of = RLF_NEW_ARRAY(arena, int, l->pp);
    for (int s = 0; s < l->pp; s++) {
        const stage_kind is = kind_of(c, l, layers, trained, dp, s);
        int k = 0;
        while (k < n && !alike(&known[k], &is))
            k++;
        if (k == n && n < RLF_STAGES_KINDS) {
            known[n] = is;
            rank[n++] = rank_at(l, dp, s, 0);
        }
        of[s] = k < n ? k : n - 1;
    }
    *out = (rlf_stages){.n_kinds = n, .rank = rank, .of = of};
}

/* A number that replicas have in common which lie on their machines in the same
 * way, where a replica's ranks follow each other: how many ranks of its first
 * machine come before it; -1: all its ranks are on one. */
static int
lie_of(const rlf_cluster *c, const rlf_layout *l, int dp)
{
    int first = rank_at(l, dp, 0, 0);
    int last = rank_at(l, dp, l->pp - 1, l->tp - 1);
    const rlf_cluster_part *part = rlf_cluster_part_of(c, first);
    if (rlf_cluster_machine(c, first) == rlf_cluster_machine(c, last))
        return -1;
    return (first - part->first_rank) % part->machine->count;
}

int
rlf_stages_find(const rlf_cluster *cluster, const rlf_layout *layout,
                int layers, const rlf_layout *trained, rlf_arena *arena,
                rlf_stages **out)
{
    int lies[REPLICAS + 1], n = 0;
    int count = rlf_cluster_part_of(cluster, layout->ranks[0])->machine->count;
    int size = layout->tp * layout->pp;
    bool even = size % count == 0 || count % size == 0;
    *out = RLF_NEW_ARRAY(arena, rlf_stages, REPLICAS + 1);
    for (int dp = layout->dp - 1; dp >= 0 && n <= REPLICAS; dp--) {
        int lie = even ? 0 : lie_of(cluster, layout, dp), k = 0;
        while (k < n && lies[k] != lie)
            k++;
        if (k < n)
            continue;
        lies[n] = lie;
        find_kinds(cluster, layout, layers, trained, dp, arena, &(*out)[n++]);
        if (even)
            break;
    }
    return n;
}
