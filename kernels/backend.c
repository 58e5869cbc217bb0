/* The backends of this build: see backend.h. The one for GPUs is always there,
 * so that a build without CUDA can say so. */
#include "kernels/backend.h"

#include <string.h>

#include "config.h"
#include "engine/dev/cuda.h"

static rlf_status
one(int *out, rlf_err *err)
{
    (void)err;
    *out = 1;
    return RLF_OK;
}

static rlf_status
of_host(int index, uint64_t *left, uint64_t *all, rlf_err *err)
{
    (void)index, (void)err;
    *left = *all = 0;
    return RLF_OK;
}

static rlf_status
open_cpu(const rlf_backend_options *o, rlf_device **out, rlf_err *err)
{
    const rlf_cpu_options options = {.n_threads = o->n_threads,
                                     .n_run_threads = o->n_run_threads,
                                     .memory_limit = o->memory_limit};
    return rlf_device_cpu_new(&options, out, err);
}

static const rlf_kernels *
kernels_cpu(const char *isa)
{
    return isa ? rlf_kernels_cpu_isa(isa) : rlf_kernels_cpu();
}

static const rlf_backend cpu = {.name = "cpu",
                                .doc = "the cores of this machine",
                                .count = one,
                                .memory = of_host,
                                .open = open_cpu,
                                .kernels = kernels_cpu};

static rlf_status
open_cuda(const rlf_backend_options *o, rlf_device **out, rlf_err *err)
{
    const rlf_cuda_options options = {.index = o->index,
                                      .n_threads = o->n_threads,
                                      .n_run_threads = o->n_run_threads,
                                      .memory_limit = o->memory_limit};
    return rlf_device_cuda_new(&options, out, err);
}

static const rlf_kernels *
kernels_cuda(const char *isa)
{
#ifdef RLF_HAVE_CUDA
    return isa ? NULL : rlf_kernels_cuda();
#else
    (void)isa;
    return NULL;
#endif
}

static const rlf_backend cuda = {.name = "cuda",
                                 .doc = "GPUs with CUDA",
                                 .count = rlf_device_cuda_count,
                                 .memory = rlf_device_cuda_memory,
                                 .open = open_cuda,
                                 .kernels = kernels_cuda};

const rlf_backend *const rlf_backends[] = {&cpu, &cuda, NULL};

const rlf_backend *
rlf_backend_find(const rlf_backend *const *list, const char *name)
{
    while (*list && strcmp((*list)->name, name) != 0)
        list++;
    return *list;
}
