/* The backends of this build: see backend.h. The one for GPUs is always there,
 * so that a build without CUDA can say so. */
#include "kernels/backend.h"

#include <string.h>

#include "config.h"
#include "engine/dev/cuda.h"
#include "kernels/cuda/algorithms.h"

static rlf_status
one(int *out, rlf_err *err)
{
    (void)err;
    *out = 1;
    return RLF_OK;
}

static rlf_status
of_host(int index, rlf_device_memory *out, rlf_err *err)
{
    (void)index, (void)err;
    *out = (rlf_device_memory){0};
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
kernels_cpu(const char *isa, rlf_cast_type real)
{
    if (real == RLF_CAST_F16)
        return NULL;
    if (real == RLF_CAST_BF16)
        return rlf_kernels_cpu_bf16(isa);
    return isa ? rlf_kernels_cpu_isa(isa) : rlf_kernels_cpu();
}

/* The bits of a CPU are those of any. */
static rlf_status
prepare_cpu(rlf_queue *queue, rlf_cast_type real, uint32_t *algorithms,
            rlf_buf *notes, rlf_err *err)
{
    (void)queue, (void)real, (void)notes, (void)err;
    *algorithms = 0;
    return RLF_OK;
}

static void
choose_cpu(rlf_queue *queue, rlf_cast_type real, uint32_t algorithms,
           rlf_buf *out)
{
    (void)queue, (void)real, (void)algorithms, (void)out;
}

const rlf_backend rlf_backend_cpu = {
    .name = "cpu",
    .doc = "the cores of this machine",
    .count = one,
    .memory = of_host,
    .open = open_cpu,
    .reals = {RLF_CAST_F32, RLF_CAST_BF16, RLF_CAST_TYPES},
    .kernels = kernels_cpu,
    .prepare = prepare_cpu,
    .choose = choose_cpu};

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
kernels_cuda(const char *isa, rlf_cast_type real)
{
#ifdef RLF_HAVE_CUDA
    if (!isa && real != RLF_CAST_F16)
        return real == RLF_CAST_F32 ? rlf_kernels_cuda()
                                    : rlf_kernels_cuda_bf16();
#endif
    (void)isa, (void)real;
    return NULL;
}

#ifdef RLF_HAVE_CUDA
#define PREPARE_CUDA rlf_cuda_prepare
#define CHOOSE_CUDA rlf_cuda_choose
#else /* no device of its opens */
#define PREPARE_CUDA prepare_cpu
#define CHOOSE_CUDA choose_cpu
#endif

const rlf_backend rlf_backend_cuda = {
    .name = "cuda",
    .doc = "GPUs with CUDA",
    .count = rlf_device_cuda_count,
    .memory = rlf_device_cuda_memory,
    .open = open_cuda,
    .reals = {RLF_CAST_BF16, RLF_CAST_F32, RLF_CAST_TYPES},
    .kernels = kernels_cuda,
    .prepare = PREPARE_CUDA,
    .choose = CHOOSE_CUDA};

const rlf_backend *
rlf_backend_find(const rlf_backend *const *list, const char *name)
{
    while (*list && strcmp((*list)->name, name) != 0)
        list++;
    return *list;
}

const char *
rlf_cast_name(rlf_cast_type type)
{
    static const char *const names[RLF_CAST_TYPES] = {[RLF_CAST_F32] = "f32",
                                                      [RLF_CAST_BF16] = "bf16",
                                                      [RLF_CAST_F16] = "f16"};
    return names[type];
}

size_t
rlf_cast_bytes(rlf_cast_type type)
{
    return type == RLF_CAST_F32 ? 4 : 2;
}

rlf_status
rlf_backend_real(const rlf_backend *backend, const char *name,
                 rlf_cast_type *out, rlf_err *err)
{
    const rlf_cast_type *real = backend->reals;
    while (name && *real != RLF_CAST_TYPES &&
           strcmp(rlf_cast_name(*real), name) != 0)
        real++;
    *out = *real;
    if (*real != RLF_CAST_TYPES)
        return RLF_OK;
    rlf_fail(err, RLF_USAGE, "device %s does not compute in %s", backend->name,
             name);
    rlf_err_hint(err, "leave out --dtype: it computes in %s",
                 rlf_cast_name(*backend->reals));
    return RLF_USAGE;
}

rlf_status
rlf_backend_kernels(const rlf_backend *backend, const char *isa,
                    rlf_cast_type real, rlf_err *err, const rlf_kernels **out)
{
    *out = backend->kernels(isa, real);
    if (*out)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "this machine or build has no kernels for \"%s\" in %s on device "
             "%s",
             isa ? isa : "", rlf_cast_name(real), backend->name);
    for (int i = 0; isa && backend->reals[i] != RLF_CAST_TYPES; i++)
        if (backend->reals[i] != real &&
            backend->kernels(isa, backend->reals[i]))
            rlf_err_hint(err, "they are for --dtype %s",
                         rlf_cast_name(backend->reals[i]));
    return RLF_USER;
}
