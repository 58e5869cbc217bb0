/* See planned_device.h. */
#include "engine/api/machines/planned_device.h"

#include "engine/graph/place.h"

#include <string.h>

static size_t
bytes_f32(int64_t rows, int64_t cols, rlf_product_form form)
{
    return form == RLF_PRODUCT_FORWARD ? (size_t)(rows * cols) * 4 : 0;
}

static size_t
bytes_bf16(int64_t rows, int64_t cols, rlf_product_form form)
{
    return form == RLF_PRODUCT_FORWARD ? (size_t)(rows * cols) * 2 : 0;
}

/* On a GPU one packed matrix serves both forms of product. */
const rlf_kernels *
rlf_planned_gpu(rlf_cast_type real, rlf_arena *arena)
{
    rlf_kernels *gpu = RLF_NEW(arena, rlf_kernels);
    *gpu = *rlf_kernels_cpu();
    gpu->backend = "cuda";
    gpu->real = real;
    gpu->one_pack = true;
    gpu->product_packed_bytes = real == RLF_CAST_F32 ? bytes_f32 : bytes_bf16;
    return gpu;
}

const rlf_kernels *
rlf_planned_kernels(const rlf_session *s, rlf_arena *arena)
{
    if (strcmp(s->plan->numerics.backend, "cpu") == 0)
        return rlf_backend_cpu.kernels(NULL, s->options.real);
    return rlf_planned_gpu(s->options.real, arena);
}

rlf_speeds
rlf_planned_speeds(const rlf_session *s)
{
    rlf_speeds speeds =
        rlf_speeds_of(s->planning.cluster, s->options.real != RLF_CAST_F32);
    speeds.profiles = s->planning.profiles;
    return speeds;
}

/* A GPU has nothing but what its resources say. */
double
rlf_planned_memory(const rlf_opened *opened, bool gpu, rlf_arena *arena)
{
    const rlf_graph *graph = opened->plan->graph;
    rlf_memory memory = {.arena = arena};
    double bytes = 0;
    if (!gpu) {
        rlf_opened_memory(opened, &memory);
        return (double)rlf_memory_total(&memory);
    }
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        r->class->memory(graph, r, opened->resource[i], &memory);
    }
    for (size_t i = 0; i < memory.rows.count; i++)
        bytes += (double)memory.rows.data[i].device;
    return bytes;
}

double
rlf_planned_offloaded(const rlf_opened *opened, rlf_arena *arena)
{
    const rlf_graph *graph = opened->plan->graph;
    rlf_memory memory = {.arena = arena};
    double bytes = 0;
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        const rlf_place_row *row =
            rlf_placement_find(graph->placement, (int)i, NULL);
        if (row && row->offload == 1)
            r->class->memory(graph, r, opened->resource[i], &memory);
    }
    for (size_t i = 0; i < memory.rows.count; i++)
        if (memory.rows.data[i].offloaded)
            bytes += (double)memory.rows.data[i].host;
    return bytes;
}
