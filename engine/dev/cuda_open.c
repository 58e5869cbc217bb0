/* The GPUs that there are, the ones that are refused, and the meaning of their
 * errors: see cuda.h. A build without CUDA has only this file of them. */
#include "engine/dev/cuda.h"

#include "config.h"

#ifndef RLF_HAVE_CUDA

static rlf_status
built_without(rlf_err *err)
{
    rlf_fail(err, RLF_ENV, "this rlflow was built without CUDA");
    rlf_err_hint(err, "build it where nvcc is found, or with --with-cuda=DIR");
    return RLF_ENV;
}

rlf_status
rlf_device_cuda_new(const rlf_cuda_options *options, rlf_device **out,
                    rlf_err *err)
{
    (void)options;
    *out = NULL;
    return built_without(err);
}

rlf_status
rlf_device_cuda_count(int *out, rlf_err *err)
{
    *out = 0;
    return built_without(err);
}

rlf_status
rlf_device_cuda_memory(int index, rlf_device_memory *out, rlf_err *err)
{
    (void)index;
    *out = (rlf_device_memory){0};
    return built_without(err);
}

#else

#include "engine/dev/cuda_internal.h"

#include "engine/base/vec.h"

#include <stdlib.h>
#include <string.h>

/* The oldest architecture that our kernels are compiled for. */
#define OLDEST 80

/* Hints for errors whose own words do not say what to do. */
static const struct {
    cudaError_t error;
    const char *hint;
} advice[] = {
    {cudaErrorDevicesUnavailable,
     "another process has this GPU for itself (see nvidia-smi)"},
    {cudaErrorMemoryAllocation,
     "others have the memory of this GPU (see nvidia-smi)"},
    {cudaErrorNoKernelImageForDevice,
     "this rlflow has kernels for " RLF_CUDA_ARCHS
     ": configure it with CUDA_ARCHS for this GPU"},
    {cudaErrorUnsupportedPtxVersion,
     "the driver is older than the toolkit that rlflow was built with"},
    {cudaErrorSystemDriverMismatch,
     "the driver was replaced while it was in use: restart the machine"},
    {cudaErrorCompatNotSupportedOnDevice,
     "the compatibility libraries do not serve this GPU: install the driver "
     "that the toolkit asks for"},
    {cudaErrorECCUncorrectable,
     "the memory of this GPU is defective (see nvidia-smi -q)"},
};

rlf_status
rlf_cuda_fail(cudaError_t error, const char *what, rlf_err *err)
{
    cudaGetLastError();
    rlf_fail(err, RLF_ENV, "%s: %s", what, cudaGetErrorString(error));
    for (size_t i = 0; i < RLF_COUNT(advice); i++)
        if (advice[i].error == error)
            rlf_err_hint(err, "%s", advice[i].hint);
    return RLF_ENV;
}

rlf_status
rlf_device_cuda_count(int *out, rlf_err *err)
{
    *out = 0;
    cudaError_t error = cudaGetDeviceCount(out);
    if (error == cudaSuccess && *out > 0)
        return RLF_OK;
    *out = 0;
    rlf_cuda_fail(error == cudaSuccess ? cudaErrorNoDevice : error,
                  "no GPU can be used", err);
    rlf_err_hint(err,
                 "a GPU and a driver for CUDA %d.%d or later are needed "
                 "(nvidia-smi shows those there are); CUDA_VISIBLE_DEVICES may "
                 "hide it",
                 CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
    return RLF_ENV;
}

/* Kernels of sm_XY run where the major number is X and the minor one at least
 * Y. */
static bool
has_kernels(int major, int minor)
{
    const char *at = RLF_CUDA_ARCHS;
    for (; (at = strstr(at, "sm_")); at++) {
        int n = atoi(at + 3);
        if (n / 10 == major && n % 10 <= minor)
            return true;
    }
    return false;
}

rlf_status
rlf_cuda_open(int index, struct cudaDeviceProp *out, rlf_err *err)
{
    int n;
    RLF_TRY(rlf_device_cuda_count(&n, err));
    if (index < 0 || index >= n) {
        rlf_fail(err, RLF_ENV, "there is no GPU %d: this process sees %d",
                 index, n);
        rlf_err_hint(err, "CUDA_VISIBLE_DEVICES says which ones it sees");
        return RLF_ENV;
    }
    RLF_CUDA_TRY(cudaGetDeviceProperties(out, index), "looking at a GPU");
    if (10 * out->major + out->minor < OLDEST)
        return rlf_fail(err, RLF_ENV,
                        "GPU %d (%s) has compute capability %d.%d; %d.%d is "
                        "the oldest that is supported",
                        index, out->name, out->major, out->minor, OLDEST / 10,
                        OLDEST % 10);
    if (!has_kernels(out->major, out->minor)) {
        rlf_fail(err, RLF_ENV,
                 "GPU %d (%s) has compute capability %d.%d, but this rlflow "
                 "has kernels for %s",
                 index, out->name, out->major, out->minor, RLF_CUDA_ARCHS);
        rlf_err_hint(err, "configure it with CUDA_ARCHS=sm_%d%d", out->major,
                     out->minor);
        return RLF_ENV;
    }
    RLF_CUDA_TRY(cudaSetDevice(index), "choosing a GPU");
    RLF_CUDA_TRY(cudaFree(NULL), "starting a GPU"); /* makes its context */
    return RLF_OK;
}

rlf_status
rlf_device_cuda_memory(int index, rlf_device_memory *out, rlf_err *err)
{
    size_t now = 0, ever = 0;
    struct cudaDeviceProp prop;
    *out = (rlf_device_memory){0};
    RLF_TRY(rlf_cuda_open(index, &prop, err));
    RLF_CUDA_TRY(cudaMemGetInfo(&now, &ever), "looking at the memory of a GPU");
    out->left = now > RLF_CUDA_SPARE ? now - RLF_CUDA_SPARE : 1;
    out->all = ever;
    memcpy(out->id, &prop.uuid, sizeof out->id);
    return RLF_OK;
}

#endif
