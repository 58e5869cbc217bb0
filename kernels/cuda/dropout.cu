/* Dropout: see kernels/cpu/dropout.c. */
#include "kernels/cuda/ops.h"

/* The words of counter (block, module, 0, 0): engine/base/philox.c. */
static __device__ __forceinline__ void
draw(uint32_t block, uint32_t module, uint64_t key, uint32_t words[4])
{
    uint32_t c0 = block, c1 = module, c2 = 0, c3 = 0;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    RLF_UNROLL
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0;
        uint64_t b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

/* Without an array that is indexed at run time. */
static __device__ __forceinline__ uint32_t
word_of(const uint32_t words[4], int64_t column)
{
    uint32_t low = column & 1 ? words[1] : words[0];
    uint32_t high = column & 1 ? words[3] : words[2];
    return column & 2 ? high : low;
}

/* V columns a thread: counters of their own, or a word of one. */
template <int V>
static __global__ void
dropout_kernel(rlf_dropout_args a)
{
    int64_t per = a.d / V;
    EACH(i, a.m * per)
    {
        spot p = spot_of(i, per);
        uint64_t key = a.keys[a.index ? a.index[p.row] : p.row];
        int64_t column = a.first + p.at * V;
        rlf_real *to = a.y + p.row * a.ldy + p.at * V;
        several<rlf_real, V> x = take<V>(a.x + p.row * a.ldx + p.at * V), y;
        if (a.add)
            y = take<V>(to);
        RLF_UNROLL
        for (int e = 0; e < V; e += 4) {
            uint32_t words[4];
            draw((uint32_t)((column + e) / 4), a.module, key, words);
            RLF_UNROLL
            for (int w = 0; w < 4 && e + w < V; w++) {
                uint32_t word = V == 1 ? word_of(words, column) : words[w];
                bool kept = word >= a.below;
                float v = widen(x.x[e + w]);
                if (a.add && kept)
                    y.x[e + w] = narrow(fmaf(a.scale, v, widen(y.x[e + w])));
                else if (!a.add)
                    y.x[e + w] = narrow(kept ? v * a.scale : 0.0f);
            }
        }
        give<V>(to, y);
    }
}

rlf_status
TYPED(dropout)(rlf_queue *queue, const rlf_dropout_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0 && args->first >= 0, "dropout");
    rlf_dropout_args a = *args;
    a.scale = a.scale == 0 ? 1 : a.scale;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    bool wide = is_wide(a.x, a.ldx) && is_wide(a.y, a.ldy) &&
                a.d % WIDE == 0 && a.first % 4 == 0;
    if (a.m * a.d > 0)
        LAUNCH_WIDE(dropout_kernel, wide, a.m * a.d, queue, a);
    return CUDA(launched)("dropout", err);
}
