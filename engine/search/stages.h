/* The stages of a layout's replicas, by kinds: stages that have as many layers,
 * and whose neighbours and tensor-parallel ranks are in their machine or not,
 * are alike, and so are replicas that lie on their machines in the same way. */
#ifndef RLF_SEARCH_STAGES_H
#define RLF_SEARCH_STAGES_H

#include "engine/base/arena.h"
#include "engine/layout/cluster.h"
#include "engine/layout/layout.h"

/* Kinds of a replica, at most: what more there are count as the last one. */
enum { RLF_STAGES_KINDS = 32 };

typedef struct rlf_stages {
    int n_kinds;
    const int *rank; /* per kind: the first rank of a stage of it */
    const int *of;   /* per stage: its kind */
} rlf_stages;

/* Of each kind of replicas one, in `arena`, the last replica first: it has the
 * most lanes and rows where these do not divide evenly. `layers`: of the model;
 * `trained`: the layout of its update, NULL: it has none. Returns how many. */
int rlf_stages_find(const rlf_cluster *cluster, const rlf_layout *layout,
                    int layers, const rlf_layout *trained, rlf_arena *arena,
                    rlf_stages **out);

#endif
