/* Finds how many lanes a trained model gets before anything is searched: those
 * with which an update is fastest on most of the ranks, all or a few less. More
 * must be worth it: a rank with several keeps sums that wait. */
#ifndef RLF_SEARCH_LANES_H
#define RLF_SEARCH_LANES_H

#include "engine/layout/cluster.h"
#include "engine/search/pareto.h"

typedef struct rlf_search_lanes_ask {
    const rlf_cluster_mesh *meshes; /* [n] of the cluster */
    int n;
    int machine; /* ranks of one */
    int least;   /* no fewer than so many */
    bool (*may_train)(void *arg, const rlf_cluster_mesh *mesh);
    /* Seconds of the fastest update on a mesh that fits by itself into so many
     * bytes of a device; INFINITY: none does. */
    double (*fastest)(void *arg, const rlf_cluster_mesh *mesh, int lanes,
                      double memory);
    void *arg;
} rlf_search_lanes_ask;

/* Returns the best lanes on the ranks of `largest` with so much memory. */
int rlf_search_lanes_best(const rlf_search_lanes_ask *ask,
                          const rlf_cluster_mesh *largest, double memory);

/* Lists all problems that are less than this one: fewer ranks, less memory. */
void rlf_search_lanes_list_lesser(rlf_pareto *pareto, rlf_arena *arena);
/* Bytes of a device, up to the next level of rlf_less_level: as many for all
 * between two of them. */
double rlf_search_lanes_memory(const rlf_problem *problem, int device);
/* A model's lanes there. */
void rlf_search_lanes_choose_lesser(rlf_pareto *pareto, int model,
                                    const rlf_search_lanes_ask *ask,
                                    const rlf_cluster_mesh *largest);
/* Once all models have theirs: only those that differ are left. */
void rlf_search_lanes_keep_lesser(rlf_pareto *pareto);

#endif
