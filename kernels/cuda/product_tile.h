/* Products of bf16 by tiles: what product_mma.cu and product_wgmma.cu share. A
 * block makes a tile of c; its warps bring tiles of a and b to shared memory,
 * some stages ahead, and multiply them. See product_mma.cu for the bits. */
#ifndef RLF_KERNELS_CUDA_PRODUCT_TILE_H
#define RLF_KERNELS_CUDA_PRODUCT_TILE_H

#include "kernels/cuda/measure.h"
#include "kernels/cuda/mma.h"

static constexpr int DEPTH = 64; /* of a tile along k */
static constexpr int LOAD = 8;   /* numbers of a copy of 16 bytes */

typedef enum result {
    RESULT_REAL, /* bf16: start + sum */
    RESULT_F32,  /* the same in f32 */
} result;

/* c[m, n] = start + a b^T. a is [m][k], or [k][m] if its template says so, b
 * likewise [n][k] or [k][n]. */
typedef struct matmul {
    int64_t m, n, k;
    const uint16_t *a, *b;
    int64_t lda, ldb;
    bool a_whole, b_whole; /* loads of 16 bytes are aligned, and within */
    const float *bias;     /* [n] or NULL */
    void *c;               /* NULL: only what is measured of it is wanted */
    int64_t ldc;
    result out;
    bool add;           /* start is c, else 0 */
    int parts;          /* parts that k is cut in */
    bool in_turn;       /* a block takes them in turn, however few blocks */
    int64_t part_tiles; /* tiles of DEPTH in each part but the last */
    float *partial;     /* [blocks][parts][tile] where blocks share the parts,
                           else NULL */
    int32_t *finished;  /* [blocks] parts so far; 0 before and after */
    measures measured;  /* measures of logits */
} matmul;

/* ---- tiles in shared memory -------------------------------------------- *
 *
 * Rows of 16-byte pieces; piece p of row r is kept at p ^ (r % 8), so that the
 * eight rows that a matrix of ldmatrix takes lie in different banks. */

template <int WIDTH> /* numbers a row */
static __device__ __forceinline__ int
place(int row, int p)
{
    return (row * (WIDTH / LOAD) + (p ^ (row % 8))) * 16;
}

template <int WIDTH>
static __device__ __forceinline__ char *
piece(char *tile, int row, int p)
{
    return tile + place<WIDTH>(row, p);
}

/* 8 numbers at x[row][col], zeros beyond rows and cols. */
static __device__ __forceinline__ void
load_piece(char *to, const uint16_t *x, int64_t ld, bool whole, int64_t row,
           int64_t rows, int64_t col, int64_t cols)
{
    const uint16_t *from = x + row * ld + col;
    if (whole) {
        bool valid = row < rows && col < cols;
        copy_async16(to, valid ? from : x, valid);
        return;
    }
    several<uint16_t, LOAD> some;
    RLF_UNROLL
    for (int i = 0; i < LOAD; i++)
        some.x[i] = row < rows && col + i < cols ? from[i] : (uint16_t)0;
    give<LOAD>((uint16_t *)to, some);
}

/* A tile of ROWS x WIDTH at x[row][col], by BLOCK threads, whatever x is. */
template <int ROWS, int WIDTH, int BLOCK>
static __device__ __forceinline__ void
load_tile(char *tile, const uint16_t *x, int64_t ld, bool whole, int64_t row,
          int64_t rows, int64_t col, int64_t cols)
{
    constexpr int EACH_ROW = WIDTH / LOAD, PIECES = ROWS * EACH_ROW;
    for (int i = (int)threadIdx.x; i < PIECES; i += BLOCK) {
        int r = i / EACH_ROW, p = i % EACH_ROW;
        load_piece(piece<WIDTH>(tile, r, p), x, ld, whole, row + r, rows,
                   col + p * LOAD, cols);
    }
}

/* Tiles of ROWS x WIDTH one after the other along k, each DEPTH of it, by BLOCK
 * threads 16 bytes at a time. All that a thread needs to know is found out
 * once: a load is an address, a comparison and a copy, for there is no time for
 * more beside the products. ALONG_ROWS: k are x's rows, else its columns. */
template <int ROWS, int WIDTH, int BLOCK, bool ALONG_ROWS> struct tiles {
    static constexpr int EACH_ROW = WIDTH / LOAD, PIECES = ROWS * EACH_ROW;
    static constexpr int STEP = BLOCK / EACH_ROW; /* rows between a thread's */
    static_assert(PIECES % BLOCK == 0, "pieces of a tile");
    static_assert(STEP % 8 == 0, "a thread's pieces are swizzled alike");

    const uint16_t *from; /* the thread's first piece in the next tile */
    int64_t step, next; /* distances to its next piece, and to the next tile */
    int to;               /* its place in shared memory */
    /* Numbers left of it, along k and along the other dimension. */
    int left, across;

    __device__ __forceinline__ tiles(const uint16_t *x, int64_t ld, int64_t row,
                                     int64_t n_rows, int64_t col,
                                     int64_t n_cols)
    {
        int r = (int)threadIdx.x / EACH_ROW, p = (int)threadIdx.x % EACH_ROW;
        int64_t more_rows = n_rows - row - r;
        int64_t more_cols = n_cols - col - p * LOAD;
        int64_t most = more_rows < ROWS ? more_rows : ROWS;
        from = x + (row + r) * ld + col + p * LOAD;
        step = STEP * ld;
        next = ALONG_ROWS ? DEPTH * ld : DEPTH;
        to = place<WIDTH>(r, p);
        left = (int)(ALONG_ROWS ? more_rows : more_cols);
        across = ALONG_ROWS ? more_cols > 0 : (int)most;
    }

    /* Of rows that are two halves of x beside each other, half by half: 8 rows
     * of the one, 8 of the other. */
    __device__ __forceinline__ void beside(int64_t ld, int64_t half,
                                           int64_t row)
    {
        static_assert(!ALONG_ROWS && STEP % 16 == 0, "a thread has one half");
        int r = (int)threadIdx.x / EACH_ROW, own = r / 16 * 8 + r % 8;
        int64_t more = 2 * (half - row / 2 - own);
        from += (own - r - row / 2 + (r % 16 < 8 ? 0 : half)) * ld;
        step = STEP / 2 * ld;
        across = (int)(more < ROWS ? more : ROWS);
    }

    __device__ __forceinline__ void load(char *tile)
    {
        int there = ALONG_ROWS ? across ? left : 0 : left > 0 ? across : 0;
        RLF_UNROLL
        for (int i = 0; i < PIECES / BLOCK; i++)
            copy_async16(tile + to + i * BLOCK * 16, from + i * step,
                         i * STEP < there);
        from += next;
        left -= DEPTH;
    }
};

/* ---- a block ----------------------------------------------------------- */

/* A tile of BM x BN of c by WARPS_M x WARPS_N warps. A_TURNED: a is [k][m];
 * B_TURNED: b is [k][n]. ONE: for products whose k is one part; there need be
 * no room in registers for the sum of parts before. Who multiplies
 * (product_mma.cu, product_wgmma.cu) adds `multiply`, which may be under way
 * when it returns, `keep_up`, after which it is in LAG stages at most,
 * `settle`, after which it is not, and `see`, that a thread calls for what it
 * has put into shared memory. */
template <int BM_, int BN_, int WARPS_M_, int WARPS_N_, int STAGES_,
          bool A_ = false, bool B_ = false, bool ONE_ = false>
struct shape {
    static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_;
    static constexpr int WARPS_M = WARPS_M_, WARPS_N = WARPS_N_;
    static constexpr bool A_TURNED = A_, B_TURNED = B_, ONE = ONE_;
    static constexpr int BLOCK = WARPS_M * WARPS_N * WARP;
    static constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N; /* of a warp */
    static constexpr int MT = WM / 16, NT = WN / 8;
    static constexpr int A_BYTES = BM * DEPTH * 2, B_BYTES = BN * DEPTH * 2;
    static constexpr int ALIGN = 1024;
    static constexpr int SHARED = STAGES * (A_BYTES + B_BYTES) + ALIGN;
    static_assert(MT > 0 && NT % 2 == 0, "tiles of a warp");
    static_assert(!A_TURNED || BM >= 64, "pieces of a turned tile");
    static_assert(!B_TURNED || BN >= 64, "pieces of a turned tile");
};

/* The source of a and of b for a thread, from a tile of k on. */
template <class S> struct fast_source {
    static constexpr bool GATED = false;
    tiles<S::A_TURNED ? DEPTH : S::BM, S::A_TURNED ? S::BM : DEPTH, S::BLOCK,
          S::A_TURNED>
        a;
    tiles<S::B_TURNED ? DEPTH : S::BN, S::B_TURNED ? S::BN : DEPTH, S::BLOCK,
          S::B_TURNED>
        b;

    __device__ __forceinline__ fast_source(const matmul &p, int64_t row,
                                           int64_t col, int64_t k)
        : a(p.a, p.lda, S::A_TURNED ? k : row, S::A_TURNED ? p.k : p.m,
            S::A_TURNED ? row : k, S::A_TURNED ? p.m : p.k),
          b(p.b, p.ldb, S::B_TURNED ? k : col, S::B_TURNED ? p.k : p.n,
            S::B_TURNED ? col : k, S::B_TURNED ? p.n : p.k)
    {
    }

    __device__ __forceinline__ void load(char *stage)
    {
        a.load(stage);
        b.load(stage + S::A_BYTES);
    }
};

/* The same, where columns of c are gates beside ups: a tile has 8 gates, the 8
 * ups that go with them, and so on, and a thread both of each. */
template <class S> struct gated_source : fast_source<S> {
    static constexpr bool GATED = true;

    __device__ __forceinline__ gated_source(const matmul &p, int64_t row,
                                            int64_t col, int64_t k)
        : fast_source<S>(p, row, col, k)
    {
        this->b.beside(p.ldb, p.n / 2, col);
    }
};

/* The same of matrices that cannot be loaded 16 bytes at a time. */
template <class S> struct any_source {
    static constexpr bool GATED = false;
    const matmul &p;
    int64_t row, col, k;

    __device__ __forceinline__ any_source(const matmul &p_, int64_t row_,
                                          int64_t col_, int64_t k_)
        : p(p_), row(row_), col(col_), k(k_)
    {
    }

    __device__ __forceinline__ void load(char *stage)
    {
        char *a = stage, *b = stage + S::A_BYTES;
        if (S::A_TURNED)
            load_tile<DEPTH, S::BM, S::BLOCK>(a, p.a, p.lda, p.a_whole, k, p.k,
                                              row, p.m);
        else
            load_tile<S::BM, DEPTH, S::BLOCK>(a, p.a, p.lda, p.a_whole, row,
                                              p.m, k, p.k);
        if (S::B_TURNED)
            load_tile<DEPTH, S::BN, S::BLOCK>(b, p.b, p.ldb, p.b_whole, k, p.k,
                                              col, p.n);
        else
            load_tile<S::BN, DEPTH, S::BLOCK>(b, p.b, p.ldb, p.b_whole, col,
                                              p.n, k, p.k);
        k += DEPTH;
    }
};

template <class S> using sums = float[S::MT][S::NT][4];

template <class S>
static __device__ __forceinline__ void
clear(sums<S> &sum)
{
    RLF_UNROLL
    for (int i = 0; i < S::MT; i++)
        RLF_UNROLL
    for (int j = 0; j < S::NT; j++)
        RLF_UNROLL
    for (int e = 0; e < 4; e++)
        sum[i][j][e] = 0;
}

template <class S>
static __device__ __forceinline__ void
add_part(sums<S> &total, const sums<S> &part)
{
    RLF_UNROLL
    for (int i = 0; i < S::MT; i++)
        RLF_UNROLL
    for (int j = 0; j < S::NT; j++)
        RLF_UNROLL
    for (int e = 0; e < 4; e++)
        total[i][j][e] = total[i][j][e] + part[i][j][e];
}

/* The position of a block in its tiles of k: stages of shared memory in turn.
 */
template <class S, template <class> class SOURCE> struct walk {
    static constexpr int STAGE = S::A_BYTES + S::B_BYTES;
    static constexpr int AHEAD = S::STAGES - 1 - S::LAG;
    static_assert(AHEAD > 0, "stages");
    SOURCE<S> source;
    char *shared;
    int at, to;  /* the stage that is multiplied, the one that is filled */
    int to_load; /* tiles that are still to be asked for */

    __device__ __forceinline__ walk(const matmul &p, char *shared_, int64_t row,
                                    int64_t col, int64_t begin, int64_t end)
        : source(p, row, col, begin * DEPTH), shared(shared_), at(0), to(0),
          to_load((int)(end - begin))
    {
        for (int i = 0; i < AHEAD; i++)
            load();
    }

    __device__ __forceinline__ void load(void)
    {
        if (to_load > 0)
            source.load(shared + to * STAGE);
        to_load--;
        copy_async_commit();
        to = to + 1 == S::STAGES ? 0 : to + 1;
    }

    /* sum += the products of the next n tiles. The barrier says that the next
     * one is there, and that all have done with the stage that is filled.
     * Copies are on their way before a warp multiplies, but a group's products
     * wait for nobody. */
    __device__ __forceinline__ void multiply(int n, int warp_row, int warp_col,
                                             sums<S> &sum)
    {
        for (; n > 0; n--) {
            copy_async_wait<AHEAD - 1>();
            S::see();
            __syncthreads();
            if (S::LAG == 0)
                load();
            S::multiply(shared + at * STAGE, warp_row, warp_col, sum);
            if (S::LAG > 0)
                load();
            S::keep_up();
            at = at + 1 == S::STAGES ? 0 : at + 1;
        }
        S::settle(sum);
    }
};

/* total = the sum of the parts first..last-1 of k, in order. */
template <class S, template <class> class SOURCE>
static __device__ __forceinline__ void
sum_parts(const matmul &p, char *shared, int64_t row, int64_t col, int first,
          int last, int warp_row, int warp_col, sums<S> &total)
{
    int64_t tiles = (p.k + DEPTH - 1) / DEPTH;
    int64_t begin = first * p.part_tiles, end = last * p.part_tiles;
    end = end < tiles ? end : tiles;
    walk<S, SOURCE> w(p, shared, row, col, begin, end);
    clear<S>(total);
    if constexpr (S::ONE) {
        w.multiply((int)(end - begin), warp_row, warp_col, total);
        RLF_UNROLL
        for (int i = 0; i < S::MT; i++)
            RLF_UNROLL
        for (int j = 0; j < S::NT; j++)
            RLF_UNROLL
        for (int e = 0; e < 4; e++)
            total[i][j][e] = 0 + total[i][j][e]; /* as add_part does */
    } else {
        for (int64_t t = begin; t < end; t += p.part_tiles) {
            sums<S> part;
            clear<S>(part);
            int64_t n = end - t < p.part_tiles ? end - t : p.part_tiles;
            w.multiply((int)n, warp_row, warp_col, part);
            add_part<S>(total, part);
        }
    }
    copy_async_wait<0>();
}

/* ---- results ----------------------------------------------------------- */

/* Two neighbours of a row as they lie in memory: 32 bits of bf16, or these. */
typedef struct alignas(8) two {
    float x, y;
} two;

static __device__ __forceinline__ void
unpack(uint32_t pair, float &x, float &y)
{
    x = bf16_float((uint16_t)pair);
    y = bf16_float((uint16_t)(pair >> 16));
}

static __device__ __forceinline__ void
unpack(two pair, float &x, float &y)
{
    x = pair.x;
    y = pair.y;
}

static __device__ __forceinline__ void
pack(uint32_t &pair, float x, float y)
{
    pair = bf16_pair(x, y);
}

static __device__ __forceinline__ void
pack(two &pair, float x, float y)
{
    pair = {x, y};
}

static __device__ __forceinline__ float
read_one(const uint16_t *x)
{
    return bf16_float(*x);
}

static __device__ __forceinline__ float
read_one(const float *x)
{
    return *x;
}

static __device__ __forceinline__ void
write_one(uint16_t *to, float x)
{
    *to = (uint16_t)bf16_pair(x, 0);
}

static __device__ __forceinline__ void
write_one(float *to, float x)
{
    *to = x;
}

/* A lane's share of a row, two numbers in every eight from `col` on, where
 * pairs are not aligned or the matrix ends. */
template <typename T, int NT>
static __device__ __forceinline__ void
put_some(const matmul &p, T *c, int64_t col, const float (&sum)[NT][4], int h)
{
    RLF_UNROLL
    for (int j = 0; j < NT; j++)
        RLF_UNROLL
    for (int e = 0; e < 2; e++) {
        int64_t at = col + j * 8 + e;
        if (at >= p.n)
            continue;
        float x = sum[j][2 * h + e];
        x = p.bias ? x + p.bias[at] : x;
        x = p.add ? x + read_one(c + at) : x;
        write_one(c + at, x);
    }
}

/* The same of whole pairs: all that is added is asked for before any is used.
 */
template <typename T, typename PAIR, int NT>
static __device__ __forceinline__ void
put_pairs(const matmul &p, T *c, int64_t col, const float (&sum)[NT][4], int h)
{
    PAIR *to = (PAIR *)(c + col), was[NT];
    if (p.add)
        RLF_UNROLL
    for (int j = 0; j < NT; j++)
        was[j] = to[j * 4];
    RLF_UNROLL
    for (int j = 0; j < NT; j++) {
        float x = sum[j][2 * h], y = sum[j][2 * h + 1];
        if (p.bias) {
            x = x + p.bias[col + j * 8];
            y = y + p.bias[col + j * 8 + 1];
        }
        if (p.add) {
            float a, b;
            unpack(was[j], a, b);
            x = x + a;
            y = y + b;
        }
        pack(to[j * 4], x, y);
    }
}

/* A warp's tile at c[row][col]. */
template <class S, typename T, typename PAIR>
static __device__ __forceinline__ void
put_tile(const matmul &p, int64_t row, int64_t col, const sums<S> &total)
{
    int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    bool pairs = p.ldc % 2 == 0 && (uintptr_t)p.c % sizeof(PAIR) == 0 &&
                 col + S::WN <= p.n;
    col += 2 * t;
    RLF_UNROLL
    for (int i = 0; i < S::MT; i++)
        RLF_UNROLL
    for (int h = 0; h < 2; h++) {
        int64_t r = row + i * 16 + 8 * h + g;
        if (r >= p.m)
            continue;
        T *c = (T *)p.c + r * p.ldc;
        if (pairs)
            put_pairs<T, PAIR>(p, c, col, total[i], h);
        else
            put_some(p, c, col, total[i], h);
    }
}

/* One of a gated tile: rounded as what a product gives, and then glu's. */
static __device__ __forceinline__ float
gated(const matmul &p, int64_t at, float gate, float up)
{
    float ignored;
    if (p.bias && at < p.n / 2) {
        gate = gate + p.bias[at];
        up = up + p.bias[p.n / 2 + at];
    }
    unpack(bf16_pair(gate, 0), gate, ignored);
    unpack(bf16_pair(up, 0), up, ignored);
    return activate_1(RLF_ACT_SILU, gate) * up;
}

/* A warp's tile of gates and ups, as half as many columns of c. */
template <class S>
static __device__ __forceinline__ void
put_gated(const matmul &p, int64_t row, int64_t col, const sums<S> &total)
{
    int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    bool pairs = p.ldc % 2 == 0 && (uintptr_t)p.c % sizeof(uint32_t) == 0 &&
                 col + S::WN <= p.n;
    RLF_UNROLL
    for (int i = 0; i < S::MT; i++)
        RLF_UNROLL
    for (int h = 0; h < 2; h++) {
        int64_t r = row + i * 16 + 8 * h + g;
        if (r >= p.m)
            continue;
        uint16_t *c = (uint16_t *)p.c + r * p.ldc;
        RLF_UNROLL
        for (int j = 0; j < S::NT; j += 2) {
            int64_t at = col / 2 + j * 4 + 2 * t;
            float y[2];
            RLF_UNROLL
            for (int e = 0; e < 2; e++)
                y[e] = gated(p, at + e, total[i][j][2 * h + e],
                             total[i][j + 1][2 * h + e]);
            if (pairs)
                *(uint32_t *)(c + at) = bf16_pair(y[0], y[1]);
            RLF_UNROLL
            for (int e = 0; e < 2 && !pairs; e++)
                if (at + e < p.n / 2)
                    write_one(c + at + e, y[e]);
        }
    }
}

/* Puts what a lane has of row r, from column col on, near the pieces' maxima.
 */
template <class S>
static __device__ __forceinline__ void
put_near(const matmul &p, int64_t r, int64_t col, const float (&z)[S::NT][4],
         int h, const float (&tops)[S::NT * 8 / PIECE])
{
    uint16_t *c = (uint16_t *)p.c + r * p.ldc + col;
    bool aligned = (uintptr_t)c % sizeof(uint32_t) == 0;
    RLF_UNROLL
    for (int j = 0; j < S::NT; j++) {
        int64_t left = p.n - col - j * 8;
        uint32_t two = near(z[j][2 * h], z[j][2 * h + 1], tops[j * 8 / PIECE]);
        give_two(c + j * 8, two, left, aligned && left > 1);
    }
}

/* A warp's tile as logits: over their rows' temperatures, pieces measured, the
 * targets among them found. */
template <class S>
static __device__ __forceinline__ void
measure_tile(const matmul &p, int64_t row, int64_t col, sums<S> &total)
{
    const measures &o = p.measured;
    int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    RLF_UNROLL
    for (int i = 0; i < S::MT; i++)
        RLF_UNROLL
    for (int h = 0; h < 2; h++) {
        int64_t r = row + i * 16 + 8 * h + g;
        bool there = r < p.m;
        float heat =
            there && o.temperatures ? o.temperatures[r] : o.temperature;
        float scale = heat == 0 ? 1 : 1 / heat;
        int64_t target = there && o.targets ? o.targets[r] - o.first - col : -1;
        RLF_UNROLL
        for (int j = 0; j < S::NT; j++)
            RLF_UNROLL
        for (int e = 2 * h; e < 2 * h + 2; e++)
            total[i][j][e] = total[i][j][e] * scale;
        float tops[S::NT * 8 / PIECE];
        RLF_UNROLL
        for (int j = 0; j < S::NT; j += PIECE / 8) {
            int64_t at = col + j * 8;
            part of = measure(total[i], j, h, p.n - at, o.mean);
            tops[j * 8 / PIECE] = of.m;
            if (t == 0 && there && at < p.n)
                o.pieces[r * o.ld + at / PIECE] = of;
        }
        if (there && p.c && o.near)
            put_near<S>(p, r, col + 2 * t, total[i], h, tops);
        if (target >= 0 && target < S::WN && col + target < p.n) {
            RLF_UNROLL
            for (int j = 0; j < S::NT; j++)
                RLF_UNROLL
            for (int e = 0; e < 2; e++)
                if (target == j * 8 + 2 * t + e)
                    o.found[r] = total[i][j][2 * h + e];
        }
    }
}

/* Keep the block's part; if all are there, their sum in order becomes total.
 * A thread adds what the same thread of other blocks has kept. */
template <class S>
static __device__ bool
gather_parts(const matmul &p, int64_t block, int part, sums<S> &total)
{
    constexpr int EACH = S::MT * S::NT * 4, TILE = EACH * S::BLOCK;
    __shared__ int32_t before;
    float *all = p.partial + block * p.parts * TILE;
    float *own = all + (int64_t)part * TILE + threadIdx.x;
    const float *sum = &total[0][0][0];
    for (int e = 0; e < EACH; e++)
        own[e * S::BLOCK] = sum[e];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        before = atomicAdd(&p.finished[block], 1);
    __syncthreads();
    if (before != p.parts - 1)
        return false;
    __threadfence();
    clear<S>(total);
    float *out = &total[0][0][0];
    for (int s = 0; s < p.parts; s++) {
        const float *from = all + (int64_t)s * TILE + threadIdx.x;
        RLF_UNROLL
        for (int e = 0; e < EACH; e++)
            out[e] = out[e] + from[e * S::BLOCK];
    }
    if (threadIdx.x == 0)
        p.finished[block] = 0;
    return true;
}

/* Blocks that run at the same time share rows and columns: bands of BAND tiles
 * of rows are walked through column by column. */
static constexpr int64_t BAND = 8;

template <class S, template <class> class SOURCE, bool MEASURES>
static __global__ void
__launch_bounds__(S::BLOCK) matmul_kernel(matmul p)
{
    RLF_DYNAMIC_SHARED(char, memory);
    char *shared = memory + (-(uintptr_t)memory & (S::ALIGN - 1));
    int64_t m_tiles = (p.m + S::BM - 1) / S::BM;
    int64_t n_tiles = (p.n + S::BN - 1) / S::BN;
    int64_t block = blockIdx.x, band = block / (BAND * n_tiles);
    int64_t high = m_tiles - band * BAND;
    high = high < BAND ? high : BAND;
    int64_t within = block - band * BAND * n_tiles;
    int64_t row = (band * BAND + within % high) * S::BM;
    int64_t col = within / high * S::BN;
    int warp = threadIdx.x / WARP;
    int warp_row = warp % S::WARPS_M * S::WM,
        warp_col = warp / S::WARPS_M * S::WN;
    bool shares = !S::ONE && p.partial;
    int first = shares ? (int)blockIdx.y : 0;
    int last = shares ? first + 1 : p.parts;
    sums<S> total;
    sum_parts<S, SOURCE>(p, shared, row, col, first, last, warp_row, warp_col,
                         total);
    if constexpr (!S::ONE) {
        if (shares && !gather_parts<S>(p, block, first, total))
            return;
    }
    if constexpr (MEASURES) {
        measure_tile<S>(p, row + warp_row, col + warp_col, total);
        if (!p.c || p.measured.near)
            return;
    }
    if constexpr (SOURCE<S>::GATED)
        put_gated<S>(p, row + warp_row, col + warp_col, total);
    else if (p.out == RESULT_REAL)
        put_tile<S, uint16_t, uint32_t>(p, row + warp_row, col + warp_col,
                                        total);
    else
        put_tile<S, float, two>(p, row + warp_row, col + warp_col, total);
}

/* ---- launching --------------------------------------------------------- */

/* Have the parts summed side by side if there is room for them. */
template <class S>
static rlf_status
share_parts(rlf_queue *queue, matmul *p, int64_t blocks, rlf_err *err)
{
    size_t bytes = (size_t)(blocks * p->parts * S::BM * S::BN) * sizeof(float);
    if (p->parts == 1 || p->in_turn || blocks >= CUDA(multiprocessors)(queue) ||
        blocks > RLF_CUDA_COUNTERS || bytes > CUDA(scratch_bytes)())
        return RLF_OK;
    void *scratch;
    RLF_TRY(CUDA(scratch)(queue, bytes, &scratch, err));
    p->partial = (float *)scratch;
    p->finished = CUDA(counters)(queue);
    return RLF_OK;
}

template <class S, template <class> class SOURCE = fast_source,
          bool MEASURES = false>
static rlf_status
launch(rlf_queue *queue, matmul p, rlf_err *err)
{
    const void *kernel = (const void *)matmul_kernel<S, SOURCE, MEASURES>;
    int64_t blocks = ((p.m + S::BM - 1) / S::BM) * ((p.n + S::BN - 1) / S::BN);
    RLF_TRY(share_parts<S>(queue, &p, blocks, err));
    RLF_TRY(CUDA(allow_shared)(queue, kernel, S::SHARED, err));
    dim3 grid((unsigned)blocks, p.partial ? (unsigned)p.parts : 1);
    RLF_LAUNCH((matmul_kernel<S, SOURCE, MEASURES>), grid, S::BLOCK, S::SHARED,
               queue, p);
    return CUDA(launched)("product", err);
}

#endif
