/* A rank's part in all that a plan places: the meshes of nodes and of the
 * copies of weights, with their groups of ranks. */
#ifndef RLF_MESH_GROUPS_H
#define RLF_MESH_GROUPS_H

#include "engine/base/vec.h"
#include "engine/plan/plan.h"

/* A rank's groups: each is made once, when it is asked for. */
typedef struct rlf_mesh_groups {
    int rank;
    /* Of ranks that the rank is one of, two at least; *out NULL: it has none.
     * `make` NULL: meshes have groups that are planned (comm.h), and nobody can
     * ask for one of ranks. */
    rlf_status (*make)(void *ctx, const int *ranks, int n, rlf_err *err,
                       struct rlf_group **out);
    void *ctx;
    RLF_VEC(struct rlf_group *) list; /* groups that have to be freed */
} rlf_mesh_groups;

/* Every group and the list. */
void rlf_mesh_groups_free(rlf_mesh_groups *groups);
/* Sets of `env` what it has of the plan: caps, sums, ranks, meshes and holds,
 * in `arena`. */
rlf_status rlf_meshes_make(rlf_mesh_groups *groups, const rlf_plan *plan,
                           rlf_arena *arena, rlf_err *err, rlf_env *env);

#endif
