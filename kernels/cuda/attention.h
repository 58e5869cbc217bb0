/* Declarations that attention and its gradient share. */
#ifndef RLF_KERNELS_CUDA_ATTENTION_H
#define RLF_KERNELS_CUDA_ATTENTION_H

#include "kernels/cuda/ops.h"

static constexpr int BLOCK = 64, MOST_D = RLF_MOST_HEAD,
                     MOST_GROUP = RLF_MOST_GROUP;

/* The sequence that a row belongs to. */
static __device__ __forceinline__ int64_t
sequence_of(const int32_t *offsets, int64_t n_seqs, int64_t row)
{
    int64_t low = 0, high = n_seqs; /* offsets[low] <= row < offsets[high] */
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (offsets[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* rlf_prefixes_row on the device: the row of `position` of sequence s. */
static __device__ __forceinline__ int64_t
prefix_row(const rlf_prefixes &p, const int32_t *offsets, int64_t s,
           int64_t position)
{
    int64_t start = 0;
    for (; p.starts && (start = p.starts[s]) > position; s = p.parents[s])
        continue;
    return offsets[s] + position - start;
}

static __device__ __forceinline__ int64_t
prefix_start(const rlf_prefixes &p, int64_t s)
{
    return p.starts ? p.starts[s] : 0;
}

/* rlf_prefixes_sees on the device. */
static __device__ __forceinline__ int64_t
prefix_sees(const rlf_prefixes &p, int64_t s, int64_t from)
{
    while (p.parents[s] > from)
        s = p.parents[s];
    return p.parents[s] == from ? p.starts[s] : 0;
}

static inline rlf_status
check_heads(int64_t heads, int64_t kv_heads, int64_t d, int64_t window,
            const char *op, rlf_err *err)
{
    if (kv_heads <= 0 || heads % kv_heads || heads / kv_heads > MOST_GROUP ||
        d <= 0 || d % 8 || d > MOST_D || window < 0)
        return rlf_fail(err, RLF_USER,
                        "%s: %lld heads, %lld key/value heads of %lld with "
                        "window %lld are not supported",
                        op, (long long)heads, (long long)kv_heads, (long long)d,
                        (long long)window);
    return RLF_OK;
}

/* A host's array becomes its copy on the device. */
static inline rlf_status
stage_offsets(rlf_queue *queue, const int32_t **array, int64_t n, rlf_err *err)
{
    return CUDA(stage)(queue, *array, (size_t)n * sizeof **array,
                       (const void **)array, err);
}

static inline rlf_status
stage_prefixes(rlf_queue *queue, rlf_prefixes *p, int64_t n_seqs, rlf_err *err)
{
    if (!p->starts)
        return RLF_OK;
    RLF_TRY(stage_offsets(queue, &p->starts, n_seqs, err));
    return stage_offsets(queue, &p->parents, n_seqs, err);
}

/* Finds the offsets, or takes those that the caller has there. */
static inline rlf_status
place_offsets(rlf_queue *queue, const int32_t **array, const int32_t *there,
              int64_t n, rlf_err *err)
{
    if (!there)
        return stage_offsets(queue, array, n, err);
    *array = there;
    return RLF_OK;
}

#endif
