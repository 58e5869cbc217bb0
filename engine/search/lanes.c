/* Numbers of lanes: see lanes.h. */
#include "engine/search/lanes.h"

#include <math.h>

#include "engine/layout/lanes.h"
#include "engine/search/less.h"

/* More lanes must save that part of an update. */
#define WORTH 0.02

enum {
    LESS_MESHES = 4,  /* below the largest one, of any size */
    LESS_LEVELS = 24, /* of memory, down from what there is */
    LESS_RANKS = 256, /* on more than these it is as it is */
};

/* Is it a power of two, or three times one? */
static bool
divides_well(int n)
{
    while (n % 2 == 0)
        n /= 2;
    return n == 1 || n == 3;
}

/* The mesh of so many ranks from `first` on that may train, or NULL. */
static const rlf_cluster_mesh *
mesh_of(const rlf_search_lanes_ask *ask, int first, int size)
{
    for (int i = 0; i < ask->n; i++)
        if (ask->meshes[i].first == first && ask->meshes[i].n == size &&
            ask->may_train(ask->arg, &ask->meshes[i]))
            return &ask->meshes[i];
    return NULL;
}

/* The meshes on which lanes are compared: the largest one of all, and of those
 * that begin with it
 *
 * - more than its half the next ones, and those whose size has many divisors:
 *   eleven ranks are two replicas of five and one left, so that more ranks
 * never have lanes that do worse than those of fewer;
 * - its half, a quarter ... down to a machine, for where machines are far from
 *   each other models are trained on few of them, with few replicas. */
static int
list_trained(const rlf_search_lanes_ask *ask, const rlf_cluster_mesh *largest,
             const rlf_cluster_mesh **out)
{
    int count = 0, half = largest->n / 2;
    int least = ask->machine <= half ? ask->machine : half + 1;
    out[count++] = largest;
    for (int size = largest->n - 1; size >= least; size--) {
        bool wanted = largest->n - size <= LESS_MESHES || divides_well(size);
        if (2 * size <= largest->n)
            wanted = size == half;
        if (size == half)
            half /= 2;
        const rlf_cluster_mesh *mesh =
            wanted ? mesh_of(ask, largest->first, size) : NULL;
        if (mesh)
            out[count++] = mesh;
    }
    return count;
}

int
rlf_search_lanes_best(const rlf_search_lanes_ask *ask,
                      const rlf_cluster_mesh *largest, double memory)
{
    enum { MOST = 1 + LESS_MESHES + 2 + 32 };
    const rlf_cluster_mesh *trained[MOST];
    int n = list_trained(ask, largest, trained);
    int lanes = ask->least, best = lanes;
    double least = INFINITY;
    for (; lanes <= RLF_MOST_LANES && lanes < 2 * largest->n; lanes *= 2) {
        double seconds = INFINITY;
        for (int i = 0; i < n; i++)
            if (lanes < 2 * trained[i]->n)
                seconds = fmin(
                    seconds, ask->fastest(ask->arg, trained[i], lanes, memory));
        if (seconds < least * (1 - WORTH)) {
            least = seconds;
            best = lanes;
        }
    }
    return best;
}

/* ---- less ---- */

/* The most memory of a device, as a level of rlf_less_level. */
static int
top_level(const rlf_problem *p)
{
    double most = 0;
    for (int r = 0; r < p->devices; r++)
        most = fmax(most, p->memory[r]);
    return rlf_less_level_of(most);
}

void
rlf_search_lanes_list_lesser(rlf_pareto *f, rlf_arena *arena)
{
    size_t models = f->options.graph->resources.count;
    int sizes[RLF_LESS_SIZES], n = rlf_less_sizes(&f->problem, sizes);
    int top = top_level(&f->problem);
    f->lesser = RLF_NEW_ARRAY(arena, rlf_pareto_lesser, n * LESS_LEVELS);
    for (int i = n - 1; i >= 0 && !f->options.room; i--)
        for (int k = i == n - 1; k < (sizes[i] > LESS_RANKS ? 1 : LESS_LEVELS);
             k++)
            f->lesser[f->n_lesser++] = (rlf_pareto_lesser){
                sizes[i], top - k, RLF_NEW_ARRAY(arena, int, models)};
}

double
rlf_search_lanes_memory(const rlf_problem *p, int device)
{
    return rlf_less_level(rlf_less_level_of(p->memory[device]));
}

void
rlf_search_lanes_choose_lesser(rlf_pareto *f, int model,
                               const rlf_search_lanes_ask *ask,
                               const rlf_cluster_mesh *largest)
{
    for (int i = 0; i < f->n_lesser; i++) {
        rlf_pareto_lesser *less = &f->lesser[i];
        const rlf_cluster_mesh *mesh =
            less->ranks <= largest->n
                ? mesh_of(ask, largest->first, less->ranks)
                : NULL;
        less->lanes[model] =
            mesh ? rlf_search_lanes_best(ask, mesh, rlf_less_level(less->level))
                 : 0;
    }
}

static bool
same_lanes(const rlf_pareto *f, const rlf_pareto_lesser *a,
           const rlf_pareto_lesser *b)
{
    bool same = true;
    for (size_t m = 0; m < f->options.graph->resources.count; m++) {
        int own = f->sums[m].lanes, of_a = a->lanes[m] ? a->lanes[m] : own;
        int of_b = b && b->lanes[m] ? b->lanes[m] : own;
        same &= of_a == of_b;
    }
    return same;
}

/* Of those with the same lanes the first has most ranks. */
void
rlf_search_lanes_keep_lesser(rlf_pareto *f)
{
    int n = 0;
    for (int i = 0; i < f->n_lesser; i++) {
        bool known = same_lanes(f, &f->lesser[i], NULL);
        for (int k = 0; k < n && !known; k++)
            known = same_lanes(f, &f->lesser[i], &f->lesser[k]);
        if (!known)
            f->lesser[n++] = f->lesser[i];
    }
    f->n_lesser = n;
}
