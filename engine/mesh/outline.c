/* See outline.h. A model's groups of ranks are only numbers there, so what
 * lays out a model asks them for sizes and places as in a run. */
#include "engine/mesh/outline.h"

#include <stdlib.h>

#include "engine/comm/comm.h"
#include "engine/mesh/groups.h"

struct rlf_outline {
    const rlf_graph *graph;
    rlf_arena *arena;
    rlf_env env;    /* of no plan */
    void **known;   /* per resource */
    bool *is_known; /* it is open */
    int *layers;
};

rlf_status
rlf_outline_open(const rlf_graph *graph, const struct rlf_kernels *kernels,
                 rlf_err *err, rlf_outline **out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_outline *o = RLF_NEW(arena, rlf_outline);
    size_t n = graph->resources.count;
    *o = (rlf_outline){.graph = graph,
                       .arena = arena,
                       .known = RLF_NEW_ARRAY(arena, void *, n),
                       .is_known = RLF_NEW_ARRAY(arena, bool, n),
                       .layers = RLF_NEW_ARRAY(arena, int, n)};
    o->env = (rlf_env){.graph = graph,
                       .kernels = kernels,
                       .n_ranks = 1,
                       .planned = true,
                       .resource = o->known,
                       .pool = rlf_arena_new()};
    rlf_status status = RLF_OK;
    size_t i = 0;
    for (; i < n && status >= 0; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        status = r->class->open(&o->env, r, err, &o->known[i]);
        o->is_known[i] = status >= 0;
        if (status < 0)
            rlf_err_place(err, r->span, r->name);
    }
    for (i = 0; i < n && status >= 0; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        rlf_shapes shapes = {0};
        status = r->class->settle(&o->env, r, o->known[i], err);
        if (status >= 0 && r->class->model)
            status = r->class->model->shapes(graph, r, o->known[i], arena, err,
                                             &shapes);
        o->layers[i] = shapes.layers;
        if (status < 0)
            rlf_err_place(err, r->span, r->name);
    }
    if (status < 0) {
        rlf_outline_close(o);
        return status;
    }
    *out = o;
    return RLF_OK;
}

void
rlf_outline_close(rlf_outline *o)
{
    if (!o)
        return;
    for (size_t i = o->graph->resources.count; i-- > 0;)
        if (o->is_known[i])
            o->graph->resources.data[i].class->close(o->known[i]);
    rlf_arena_free(o->env.pool);
    rlf_arena_free(o->arena);
}

const rlf_env *
rlf_outline_env(const rlf_outline *o)
{
    return &o->env;
}

const int *
rlf_outline_layers(const rlf_outline *o)
{
    return o->layers;
}

/* ---- a rank ---- */

static void
end_groups(void *groups)
{
    rlf_mesh_groups_free(groups);
}

/* An object that ends with the arena. */
typedef struct ending {
    void (*close)(void *object);
    void *object;
} ending;

static void
end_object(void *p)
{
    const ending *e = p;
    e->close(e->object);
}

rlf_status
rlf_outline_rank(const rlf_outline *o, const rlf_plan *plan, int rank,
                 rlf_arena *arena, rlf_err *err, rlf_opened *out)
{
    size_t n = o->graph->resources.count;
    rlf_mesh_groups *groups = RLF_NEW(arena, rlf_mesh_groups);
    *groups = (rlf_mesh_groups){.rank = rank};
    rlf_arena_defer(arena, end_groups, groups);
    rlf_env *env = RLF_NEW(arena, rlf_env);
    *env = o->env;
    env->graph = plan->graph;
    env->rank = rank;
    env->resource = RLF_NEW_ARRAY(arena, void *, n);
    RLF_TRY(rlf_meshes_make(groups, plan, arena, err, env));
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &plan->graph->resources.data[i];
        env->resource[i] = o->known[i];
        if (!r->class->model)
            continue; /* the same everywhere */
        void *object = NULL;
        rlf_status status =
            r->class->model->outline(env, r, o->known[i], err, &object);
        if (status < 0) {
            rlf_err_place(err, r->span, r->name);
            return status;
        }
        env->resource[i] = object;
        ending *e = RLF_NEW(arena, ending);
        *e = (ending){r->class->close, object};
        rlf_arena_defer(arena, end_object, e);
    }
    *out = (rlf_opened){.plan = plan, .resource = env->resource, .rank = rank};
    return RLF_OK;
}
