/* The measure of 64 neighbouring logits of a row of bf16's head: their maximum
 * m, the sum of e^(z - m), and that of e^(z - m) (z - m). Four lanes have a row
 * as the tile of a product lies in registers: lane t columns 2 t and 2 t + 1 of
 * every eight. The same arithmetic whether logits are still in registers
 * (product_tile.h) or come from memory (head.cu); what a chunk and a row are
 * made of is head.cu's. */
#ifndef RLF_KERNELS_CUDA_MEASURE_H
#define RLF_KERNELS_CUDA_MEASURE_H

#include "kernels/cuda/mma.h"

extern "C" {
#include "kernels/head.h"
}

static constexpr int PIECE = 64;
static_assert(CHUNK % PIECE == 0, "pieces of a chunk");

/* Arguments that a product which measures has of a head, and its results for
 * it. */
typedef struct measures {
    part *pieces; /* [m][ld]; NULL: none of this */
    int64_t ld;
    const float *temperatures; /* [m], or NULL: */
    float temperature;
    const int32_t *targets; /* [m] or NULL */
    int64_t first;          /* the token of column 0 */
    float *found;           /* [m]: the target's logit, where it is a column */
    bool mean;              /* the third sum too */
    bool near;              /* c: f16 of logits as near() has them */
} measures;

/* Two neighbouring logits less their piece's maximum m. Of those that matter
 * little is left, so f16 has them to less than what a slope is rounded by. */
static __device__ __forceinline__ uint32_t
near(float z1, float z2, float m)
{
    constexpr float LEAST = -60000;
    return f16_pair(max_1(z1 - m, LEAST), max_1(z2 - m, LEAST));
}

/* Two neighbours of which `left` are there; whole: they are, and aligned. */
static __device__ __forceinline__ uint32_t
take_two(const uint16_t *from, int64_t left, bool whole)
{
    uint32_t low, high;
    if (whole)
        return *(const uint32_t *)from;
    low = left > 0 ? from[0] : 0;
    high = left > 1 ? from[1] : 0;
    return high << 16 | low;
}

static __device__ __forceinline__ void
give_two(uint16_t *to, uint32_t two, int64_t left, bool whole)
{
    if (whole)
        *(uint32_t *)to = two;
    if (!whole && left > 0)
        to[0] = (uint16_t)two;
    if (!whole && left > 1)
        to[1] = (uint16_t)(two >> 16);
}

/* x[0]: a tree over the lane's eight and then over the four lanes. */
static __device__ __forceinline__ void
piece_sum(float (&x)[8])
{
    RLF_UNROLL
    for (int step = 1; step < 8; step *= 2)
        RLF_UNROLL
    for (int j = 0; j < 8; j += 2 * step)
        x[j] = x[j] + x[j + step];
    x[0] += __shfl_xor_sync(0xffffffffu, x[0], 1);
    x[0] += __shfl_xor_sync(0xffffffffu, x[0], 2);
}

/* Of the n (at most 64) columns from x[at][..] on; x[j][2 h], x[j][2 h + 1] is
 * what the lane has of the eight columns j. All lanes of a warp call. */
template <int NT>
static __device__ __forceinline__ part
measure(const float (&x)[NT][4], int at, int h, int64_t n, bool mean)
{
    int t = threadIdx.x % 4, left = (int)(n < PIECE ? n : PIECE) - 2 * t;
    float m = -INFINITY, y[8][2], s[8], w[8];
    RLF_UNROLL
    for (int j = 0; j < 8; j++)
        RLF_UNROLL
    for (int e = 0; e < 2; e++)
        if (j * 8 + e < left)
            m = max_1(x[at + j][2 * h + e], m);
    m = max_1(m, __shfl_xor_sync(0xffffffffu, m, 1));
    m = max_1(m, __shfl_xor_sync(0xffffffffu, m, 2)) + 0.0f; /* no -0 */
    RLF_UNROLL
    for (int j = 0; j < 8; j++) {
        float terms[2];
        RLF_UNROLL
        for (int e = 0; e < 2; e++) {
            float u = x[at + j][2 * h + e] - m;
            terms[e] = j * 8 + e < left ? exp2_fast(u * 0x1.715476p0f) : 0;
            y[j][e] = terms[e];
        }
        s[j] = terms[0] + terms[1];
    }
    piece_sum(s);
    if (!mean)
        return {m, s[0], 0};
    RLF_UNROLL
    for (int j = 0; j < 8; j++) {
        float terms[2];
        RLF_UNROLL
        for (int e = 0; e < 2; e++)
            terms[e] = y[j][e] == 0 ? 0 : y[j][e] * (x[at + j][2 * h + e] - m);
        w[j] = terms[0] + terms[1];
    }
    piece_sum(w);
    return {m, s[0], w[0]};
}

#endif
