/* See pools.h. */
#include "engine/plan/pools.h"

#include <stdlib.h>

#include "engine/base/memory.h"

void
rlf_opened_pools(const rlf_opened *o, rlf_pools *out)
{
    const rlf_graph *graph = o->plan->graph;
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_model_class *model = graph->resources.data[i].class->model;
        if (model)
            model->pools((int)i, o->resource[i], out);
    }
}

uint64_t
rlf_pools_bytes(const rlf_pools *pools)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < pools->list.count; i++)
        bytes += pools->list.data[i].bytes * *pools->list.data[i].units;
    return bytes;
}

/* A pool leaves what it has no use for to the others. */
void
rlf_pools_divide(const rlf_pools *pools, uint64_t left, uint64_t *units)
{
    size_t n = pools->list.count, open = n;
    bool *full = rlf_calloc(n + 1, sizeof *full);
    for (size_t i = 0; i < n; i++) {
        const rlf_pool *p = &pools->list.data[i];
        if (full[i] || p->most > left / open / p->bytes)
            continue;
        full[i] = true;
        units[i] = p->most;
        left -= p->most * p->bytes;
        open--;
        i = (size_t)-1; /* the share of the others is larger now */
    }
    for (size_t i = 0; i < n; i++) {
        const rlf_pool *p = &pools->list.data[i];
        if (!full[i])
            units[i] = left / open / p->bytes;
        if (units[i] < p->least)
            units[i] = p->least;
    }
    free(full);
}
