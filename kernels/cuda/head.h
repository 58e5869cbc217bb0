/* A tile of the language-model head: shared by head.cu and sample.cu. All
 * arrays are on the device; a tile goes to kernels by value. */
#ifndef RLF_KERNELS_CUDA_HEAD_H
#define RLF_KERNELS_CUDA_HEAD_H

#include "kernels/cuda/measure.h"

extern "C" {
#include "kernels/head.h"
#include "kernels/sample.h"
}

typedef struct tile {
    head_args a;
    int64_t rows;        /* the number of rows at most */
    int64_t first, n;    /* the rows now in it */
    int64_t token, held; /* the first token held here, and how many */
    int n_slices, n_chunks;
    bool in_product;   /* logits are measured there; only then a.brief */
    int places, place; /* the number of places that share the vocabulary, and
                          this one */
    int64_t ld, ldv; /* leading dimensions of the places' parts of rows, and of
                        whole rows, padded */
    float *z;          /* [rows, ld] logits / temperature; NULL if a.brief */
    rlf_real *dz;      /* [rows, ld] derivatives by them; z where it is as wide;
                          with a.near these as near() has them before */
    part *parts;       /* [rows, n_chunks] */
    part *pieces;  /* [rows, n_chunks, CHUNK / PIECE] that they are made of, if
                      activations are bf16 */
    float *found;  /* [rows] with a.brief or a.near: the target's logit, if it
                      is held */
    whole *wholes; /* [rows] */
    double *known; /* [places, n, 3 n_slices + 1]: what each place measured of
                      its slices, then z of the target if it holds that */
    pick *picks;   /* [places, n] */
    float *logprob, *entropy, *dlogprob, *dentropy; /* [rows] */
    float *gathered;   /* [places, n, most held] with whole_rows */
    float *full;       /* [rows, ldv] with whole_rows and several places */
    sample_bins *bins; /* [rows] with whole_rows */
    float *words;      /* [rows, v] with words: log-probabilities, and then the
                          derivatives by them */
    double *sums;      /* [rows] with words: of those derivatives */
} tile;

/* A slice that is held here; tokens are counted among those held. */
typedef struct slice {
    int64_t from, n;
    int chunk, n_chunks;
} slice;

typedef struct chunk {
    int64_t from, n;
} chunk;

static __host__ __device__ __forceinline__ int64_t
shard_from(const tile &t, int64_t shard)
{
    return t.a.v * shard / t.a.part.shards.of;
}

static __host__ __device__ __forceinline__ slice
slice_of(const tile &t, int s)
{
    slice l = {0, 0, 0, 0};
    for (int i = 0; i <= s; i++) {
        int64_t shard = t.a.part.shards.first + i;
        l.chunk += l.n_chunks;
        l.from = shard_from(t, shard) - t.token;
        l.n = shard_from(t, shard + 1) - t.token - l.from;
        l.n_chunks = (int)((l.n + CHUNK - 1) / CHUNK);
    }
    return l;
}

/* Chunk c of those held. */
static __host__ __device__ __forceinline__ chunk
chunk_of(const tile &t, int c)
{
    int s = 0;
    slice l = slice_of(t, 0);
    while (c >= l.chunk + l.n_chunks)
        l = slice_of(t, ++s);
    int64_t at = (int64_t)(c - l.chunk) * CHUNK;
    return {l.from + at, l.n - at < CHUNK ? l.n - at : CHUNK};
}

static constexpr unsigned ALL_LANES = 0xffffffff;

/* The numbers that `place` knows of a row. */
static __device__ __forceinline__ double *
known_of(const tile &t, int64_t place, int64_t row)
{
    return t.known + (place * t.n + row) * (3 * t.n_slices + 1);
}

/* The measure of a slice of the whole vocabulary. */
static __device__ __forceinline__ const measured *
slice_measure(const tile &t, int64_t row, int s)
{
    return (const measured *)known_of(t, s / t.n_slices, row) + s % t.n_slices;
}

/* The factor of a row's logits when they are capped, if they are: 1 /
 * temperature, and scale where there is no cap. */
static __device__ __forceinline__ float
scale_of(const head_args &a, int64_t row)
{
    float t = a.temperatures ? a.temperatures[row] : a.temperature;
    float cold = a.greedy || t == 0 ? 1 : 1 / t;
    return a.scale == 0 || a.cap != 0 ? cold : a.scale * cold;
}

/* A product with the weights under the cap, if there is one. */
static __device__ __forceinline__ float
capped(const head_args &a, float z)
{
    if (a.cap == 0)
        return z;
    return tanh_1(z * ((a.scale == 0 ? 1 : a.scale) / a.cap)) * a.cap;
}

/* The log-probability of a token with logit z in a row of the tile. */
static __device__ __forceinline__ float
logprob_of(const tile &t, int64_t row, float z)
{
    const whole &o = t.wholes[row];
    return (float)(((double)z - o.m) - o.log_s);
}

/* Place the tile in `work`. a->brief: logits need not be kept where their
 * product can measure them. */
rlf_status TYPED(head_open)(rlf_queue *queue, const head_args *a, void *work,
                            size_t work_bytes, tile *t, rlf_err *err);
/* z, parts, wholes and entropy of the rows first..first+n-1. */
rlf_status TYPED(head_logits)(rlf_queue *queue, tile *t, rlf_err *err);

#endif
