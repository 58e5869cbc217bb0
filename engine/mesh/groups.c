/* See groups.h. */
#include "engine/mesh/groups.h"

#include <stdlib.h>

#include "engine/comm/comm.h"

void
rlf_mesh_groups_free(rlf_mesh_groups *groups)
{
    for (size_t i = 0; i < groups->list.count; i++)
        rlf_group_free(groups->list.data[i]);
    RLF_VEC_FREE(&groups->list);
}

/* The group of these ranks; NULL where the rank is alone. */
static rlf_status
group_of(rlf_mesh_groups *groups, const int *ranks, int n, rlf_err *err,
         rlf_group **out)
{
    *out = NULL;
    if (n <= 1)
        return RLF_OK;
    for (size_t i = 0; i < groups->list.count; i++) {
        rlf_group *g = groups->list.data[i];
        int k = 0;
        while (rlf_group_size(g) == n && k < n &&
               rlf_group_rank(g, k) == ranks[k])
            k++;
        if (k == n) {
            *out = g;
            return RLF_OK;
        }
    }
    RLF_TRY(groups->make(groups->ctx, ranks, n, err, out));
    if (*out)
        RLF_PUSH(&groups->list, *out);
    return RLF_OK;
}

/* Axes of a mesh's groups; the last has all its ranks. */
enum { KINDS = 6 };

static const int kinds[KINDS] = {
    RLF_AXIS_TP,
    RLF_AXIS_PP,
    RLF_AXIS_DP,
    RLF_AXIS_TP | RLF_AXIS_PP,
    RLF_AXIS_PP | RLF_AXIS_DP,
    RLF_AXIS_TP | RLF_AXIS_PP | RLF_AXIS_DP,
};

/* Members of a group are those that differ in its axes alone, tp first; of all
 * ranks, as they stand in the layout. */
static void
plan_group(rlf_mesh_groups *groups, const rlf_layout *l, rlf_coordinates at,
           int axes, rlf_group **out)
{
    const struct {
        rlf_axis axis;
        int size, at;
    } digits[] = {{RLF_AXIS_TP, l->tp, at.tp},
                  {RLF_AXIS_PP, l->pp, at.pp},
                  {RLF_AXIS_DP, l->dp, at.dp}};
    int n = 1, index = 0;
    for (size_t i = 0; i < RLF_COUNT(digits); i++)
        if (axes & (int)digits[i].axis) {
            index += digits[i].at * n;
            n *= digits[i].size;
        }
    *out = NULL;
    if (n <= 1)
        return;
    if (n == l->n_ranks && axes == kinds[KINDS - 1])
        index = rlf_layout_place(l, at);
    *out = rlf_group_planned(n, index);
    RLF_PUSH(&groups->list, *out);
}

static rlf_status
make_groups(rlf_mesh_groups *groups, rlf_group **const *wanted, rlf_err *err,
            const rlf_mesh *mesh)
{
    const rlf_layout *layout = &mesh->layout;
    int *ranks = rlf_calloc((size_t)layout->n_ranks, sizeof *ranks);
    rlf_status status = RLF_OK;
    for (int i = 0; i < KINDS - 1 && status >= 0; i++) {
        int n = rlf_layout_group(layout, groups->rank, kinds[i], ranks);
        status = group_of(groups, ranks, n, err, wanted[i]);
    }
    free(ranks);
    RLF_TRY(status);
    return group_of(groups, layout->ranks, layout->n_ranks, err,
                    wanted[KINDS - 1]);
}

/* `flights` and `owed`: those of all stages, or NULL. */
static rlf_status
make_mesh(rlf_mesh_groups *groups, const rlf_layout *layout, int zero,
          const int *flights, const int *owed, rlf_err *err, rlf_mesh *mesh)
{
    *mesh = (rlf_mesh){.layout = *layout,
                       .zero = zero,
                       .at = rlf_layout_find(layout, groups->rank)};
    if (mesh->at.tp < 0)
        return RLF_OK;
    if (flights)
        mesh->flights = flights + mesh->at.pp * layout->chunks;
    if (owed)
        mesh->owed = owed + mesh->at.pp * layout->chunks;
    rlf_group **const wanted[KINDS] = {&mesh->tp,    &mesh->pp,
                                       &mesh->dp,    &mesh->replica,
                                       &mesh->slice, &mesh->all};
    if (groups->make)
        return make_groups(groups, wanted, err, mesh);
    for (int i = 0; i < KINDS; i++)
        plan_group(groups, layout, mesh->at, kinds[i], wanted[i]);
    return RLF_OK;
}

/* The copies of a model, with meshes that have groups. */
static rlf_status
make_copies(rlf_mesh_groups *groups, const rlf_weight_copies *from,
            rlf_arena *arena, rlf_err *err, rlf_weight_copies *out)
{
    rlf_weight_copy *list = RLF_NEW_ARRAY(arena, rlf_weight_copy, from->n);
    for (int i = 0; i < from->n; i++) {
        const rlf_mesh *mesh = &from->list[i].mesh;
        list[i] = from->list[i];
        RLF_TRY(make_mesh(groups, &mesh->layout, mesh->zero, mesh->flights,
                          mesh->owed, err, &list[i].mesh));
    }
    *out = (rlf_weight_copies){list, from->n};
    return RLF_OK;
}

/* Nodes that run alike have one mesh: the first of them, or i. */
static size_t
first_alike(const rlf_plan *plan, size_t i)
{
    const rlf_node_place *x = &plan->place[i];
    for (size_t k = 0; k < i; k++) {
        const rlf_node_place *y = &plan->place[k];
        if (x->layout.ranks == y->layout.ranks &&
            rlf_layout_same_cut(&x->layout, &y->layout) &&
            x->layout.n_ranks == y->layout.n_ranks && x->zero == y->zero &&
            !x->flights && !y->flights)
            return k;
    }
    return i;
}

rlf_status
rlf_meshes_make(rlf_mesh_groups *groups, const rlf_plan *plan, rlf_arena *arena,
                rlf_err *err, rlf_env *env)
{
    size_t nodes = plan->graph->nodes.count;
    size_t resources = plan->graph->resources.count;
    rlf_mesh *meshes = RLF_NEW_ARRAY(arena, rlf_mesh, nodes);
    rlf_weight_copies *copies =
        RLF_NEW_ARRAY(arena, rlf_weight_copies, resources);
    const int **copy = RLF_NEW_ARRAY(arena, const int *, nodes);
    for (size_t i = 0; i < nodes; i++) {
        const rlf_node_place *place = &plan->place[i];
        size_t first = first_alike(plan, i);
        if (first < i)
            meshes[i] = meshes[first];
        else
            RLF_TRY(make_mesh(groups, &place->layout, place->zero,
                              place->flights, place->owed, err, &meshes[i]));
        copy[i] = place->copy;
    }
    for (size_t i = 0; i < resources; i++)
        RLF_TRY(make_copies(groups, &plan->copies[i], arena, err, &copies[i]));
    env->caps = plan->caps;
    env->sums = plan->sums;
    env->n_ranks = plan->ranks;
    env->mesh = meshes;
    env->copies = copies;
    env->copy = copy;
    return RLF_OK;
}
