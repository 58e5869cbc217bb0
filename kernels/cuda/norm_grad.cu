/* The gradient of RMSNorm in bf16: x and dy are read once.
 *
 * A team of threads has a row, WIDE columns each, which it keeps in registers
 * from the sum over the row to dx; on the way it adds what the row gives to the
 * weight's gradient to sums of its own. A block has a tile of rows: its teams'
 * sums are added in order and written, and a second kernel adds up the tiles,
 * 32 running lanes and a tree. What a tile is depends on the number of rows and
 * the width alone, so the same call gives the same bits on every GPU.
 *
 * Bytes an element: 6 (x, dy, dx), 8 with what dx is added to, and 8 for a
 * column of a tile, of which there are at most 512; in two passes over x and dy
 * (norm.cu) it was 10, or 12, and the weight's pass was a chain of as many
 * additions as there are rows.
 *
 * Whoever needs the order of the rows, so that micro-batches change no bit, is
 * f32 and has norm.cu, as have rows that these teams do not fit. */
#include "kernels/cuda/norm_grad.h"

#include "kernels/cuda/mma.h"

/* Rows that a team takes at least, tiles at most. */
static constexpr int LEAST_ROWS = 8, MOST_TILES = 512;
static constexpr int MOST_TEAM = 1024, MOST_TERMS = 1 << 30;

typedef struct tiling {
    rlf_rmsnorm_grad_args a;
    int each, terms; /* groups of a row, and rows of them, that a sum has */
    int tiles;       /* of a sum */
    int per_team;    /* rows */
    float one_of_d;  /* 1 / d; of rows that lie in several places, whole */
    float *sums;     /* [shards, tiles, d], or NULL: not wanted */
} tiling;

typedef struct spot_32 {
    int row, at;
} spot_32;

/* WIDE numbers in pairs, the first of each in the lower half of its word. */
typedef several<uint32_t, WIDE / 2> piece;

static __device__ __forceinline__ piece
take_piece(const rlf_real *p)
{
    return take<WIDE / 2>((const uint32_t *)p);
}

/* Number i of it; a constant, so that it stays in registers. */
static __device__ __forceinline__ float
number(const piece &x, int i)
{
    uint32_t pair = x.x[i / 2];
    return bits_float(i % 2 ? pair & 0xffff0000u : pair << 16);
}

/* Of T threads beside each other; `turn` goes from 0 to 1 and back. */
template <int T>
static __device__ __forceinline__ float
team_sum(float x, int turn)
{
    constexpr int WARPS = T / WARP; /* of a team; 0: it is a part of one */
    constexpr int SHUFFLED = T < WARP ? T : WARP;
    RLF_UNROLL
    for (int w = SHUFFLED / 2; w >= 1; w /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, w);
    if constexpr (WARPS > 1) {
        /* who is here has read what was written two turns ago */
        __shared__ float sums[2][MOST_TEAM / WARP];
        int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        float *now = sums[turn];
        if (lane == 0)
            now[warp] = x;
        __syncthreads();
        x = now[warp / WARPS * WARPS + lane % WARPS];
        RLF_UNROLL
        for (int w = WARPS / 2; w >= 1; w /= 2)
            x += __shfl_xor_sync(0xffffffffu, x, w);
    }
    return x;
}

/* The sums of a block's teams in order, as those of its tile. */
template <int T, int TEAMS>
static __device__ __forceinline__ void
give_sums(const tiling &p, const several<float, WIDE> &own)
{
    float *to = p.sums + blockIdx.x * p.a.d;
    int64_t col = threadIdx.x % T * WIDE;
    if constexpr (TEAMS == 1) {
        if (col < p.a.d)
            give_floats<WIDE>(to + col, own);
    } else {
        alignas(16) __shared__ float all[TEAMS][T * WIDE];
        give_floats<WIDE>(&all[threadIdx.x / T][col], own);
        __syncthreads();
        for (int64_t j = threadIdx.x; j < p.a.d; j += T * TEAMS) {
            float sum = all[0][j];
            for (int i = 1; i < TEAMS; i++)
                sum += all[i][j];
            to[j] = sum;
        }
    }
}

/* Threads of a block of teams of T. */
template <int T> static constexpr int BLOCK = T < THREADS ? THREADS : T;

/* Row `term` of a sum, and which of its groups. */
static __device__ __forceinline__ spot_32
spot_of_term(const tiling &p, int shard, int term)
{
    uint32_t row = (uint32_t)term / (uint32_t)p.each;
    return {(int)row, term - (int)row * p.each + shard * p.each};
}

/* The part of a row's dot product that is of these columns. */
static __device__ __forceinline__ float
dot_of(const piece &x, const piece &dy, const float *weight)
{
    several<float, WIDE> w = take_floats<WIDE>(weight);
    float dot = 0;
    RLF_UNROLL
    for (int e = 0; e < WIDE; e++)
        dot = fmaf(number(x, e), number(dy, e) * w.x[e], dot);
    return dot;
}

/* At most 64 registers a thread, so that 1024 threads of a multiprocessor are
 * there and the next row of each is on its way. */
template <int T>
static __global__ void
__launch_bounds__(BLOCK<T>, MOST_TEAM / BLOCK<T>) norm_grad_kernel(tiling p)
{
    constexpr int TEAMS = BLOCK<T> / T;
    const rlf_rmsnorm_grad_args &a = p.a;
    int shard = blockIdx.x / p.tiles, tile = blockIdx.x % p.tiles;
    int k = tile * TEAMS * p.per_team + (int)threadIdx.x / T;
    int end = k + TEAMS * p.per_team, col = threadIdx.x % T * WIDE;
    int last = col < a.d ? p.terms : 0; /* none but the columns that are */
    several<float, WIDE> sum = {};
    piece x = {}, dy = {}, next_x = {}, next_dy = {}, was = {};
    auto fetch = [&](int term, piece &to_x, piece &to_dy) {
        if (term >= last)
            return;
        spot_32 at = spot_of_term(p, shard, term);
        int64_t j = at.at * a.d + col;
        to_x = take_piece(a.x + at.row * a.ldx + j);
        to_dy = take_piece(a.dy + at.row * a.lddy + j);
    };
    fetch(k, x, dy);
    RLF_UNROLL_BY(1)
    for (int turn = 0; k < end; k += TEAMS, turn ^= 1) {
        float rstd = 0, dot = 0;
        spot_32 at = spot_of_term(p, shard, k);
        rlf_real *dx = a.dx + at.row * a.lddx + at.at * a.d + col;
        if (k + TEAMS < end)
            fetch(k + TEAMS, next_x, next_dy);
        if (k < last) {
            rstd = a.rstd[at.row * a.groups + at.at];
            if (a.add)
                was = take_piece(dx);
            dot = dot_of(x, dy, a.weight + col);
        }
        if (!a.sums)
            dot = team_sum<T>(dot, turn);
        else if (k < last)
            dot = a.sums[at.row];
        float coef = -(rstd * rstd * (dot * p.one_of_d));
        if (k < last) {
            several<float, WIDE> w = take_floats<WIDE>(a.weight + col);
            piece z;
            RLF_UNROLL
            for (int e = 0; e < WIDE; e += 2) {
                float out[2];
                RLF_UNROLL
                for (int h = 0; h < 2; h++) {
                    float xe = number(x, e + h), de = number(dy, e + h);
                    float t = fmaf(xe, coef, de * w.x[e + h]);
                    out[h] =
                        a.add ? fmaf(rstd, t, number(was, e + h)) : t * rstd;
                    sum.x[e + h] = fmaf(de, xe * rstd, sum.x[e + h]);
                }
                z.x[e / 2] = bf16_pair(out[0], out[1]);
            }
            give<WIDE / 2>((uint32_t *)dx, z);
        }
        x = next_x;
        dy = next_dy;
    }
    if (p.sums)
        give_sums<T, TEAMS>(p, sum);
}

/* 32 columns a block: a warp's threads add neighbours, the warps are lanes. */
static __global__ void
__launch_bounds__(WARP *WARP) tiles_kernel(tiling p)
{
    __shared__ float lanes[WARP][WARP + 1];
    int lane = threadIdx.x / WARP, at = threadIdx.x % WARP;
    int64_t blocks = (p.a.d + WARP - 1) / WARP, shard = blockIdx.x / blocks;
    int64_t col = blockIdx.x % blocks * WARP, j = col + at;
    const float *from = p.sums + shard * p.tiles * p.a.d;
    float sum = 0;
    RLF_UNROLL_BY(8)
    for (int t = lane; t < p.tiles && j < p.a.d; t += WARP)
        sum += from[t * p.a.d + j];
    lanes[lane][at] = sum;
    __syncthreads();
    sum = lanes[at][lane]; /* now a warp has a column, its threads the lanes */
    for (int w = WARP / 2; w >= 1; w /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, w);
    if (at == 0 && col + lane < p.a.d)
        p.a.dweight[shard * p.a.d + col + lane] += sum;
}

template <int T>
static rlf_status
launch(rlf_queue *queue, tiling p, rlf_err *err)
{
    constexpr int TEAMS = BLOCK<T> / T;
    int most = TEAMS * MOST_TILES, rows = p.terms / most + 1;
    p.per_team = rows > LEAST_ROWS ? rows : LEAST_ROWS;
    int tile = TEAMS * p.per_team, shards = p.a.shards;
    p.tiles = (p.terms - 1) / tile + 1;
    if (p.a.dweight)
        RLF_TRY(CUDA(scratch)(
            queue, (size_t)(shards * p.tiles) * p.a.d * sizeof(float),
            (void **)&p.sums, err));
    RLF_LAUNCH(norm_grad_kernel<T>, dim3((unsigned)(shards * p.tiles)),
               BLOCK<T>, 0, queue, p);
    if (p.sums)
        RLF_LAUNCH(tiles_kernel,
                   dim3((unsigned)(shards * ((p.a.d + WARP - 1) / WARP))),
                   WARP * WARP, 0, queue, p);
    return CUDA(launched)("rmsnorm_grad", err);
}

/* The smallest team from T on that has a thread for every WIDE columns. */
template <int T>
static rlf_status
launch_from(rlf_queue *queue, const tiling &p, rlf_err *err)
{
    if constexpr (T < MOST_TEAM)
        if (p.a.d > T * WIDE)
            return launch_from<T * 2>(queue, p, err);
    return launch<T>(queue, p, err);
}

rlf_status
CUDA(rmsnorm_grad_tiles)(rlf_queue *queue, const rlf_rmsnorm_grad_args *args,
                         rlf_err *err)
{
    rlf_rmsnorm_grad_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.shards = a.shards ? a.shards : 1;
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.lddy = or_dense(a.lddy, a.groups * a.d);
    a.lddx = or_dense(a.lddx, a.groups * a.d);
    bool fits = a.d <= MOST_TEAM * WIDE && a.m * a.groups <= MOST_TERMS;
    bool wide = a.d % WIDE == 0 && is_wide(a.x, a.ldx) &&
                is_wide(a.dy, a.lddy) && is_wide(a.dx, a.lddx) &&
                is_wide(a.weight, 0);
    if (!fits || !wide || a.m <= 0 || a.d <= 0 || a.shards <= 0 ||
        a.groups <= 0 || a.groups % a.shards)
        return TYPED(rmsnorm_grad)(queue, args, err);
    int each = (int)(a.groups / a.shards);
    tiling p = {.a = a,
                .each = each,
                .terms = (int)a.m * each,
                .one_of_d = 1 / (float)(a.sums ? a.whole : a.d)};
    return launch_from<8>(queue, p, err);
}
