/* Programs over dense columns, interpreted: kernels/expr_dense.h.
 *
 * A program with words has a block of threads a row. A step goes over up to
 * 1,024 words at a time, four a thread, and a reduction has 256 lanes: a thread
 * folds what it has made, no one waits, and only at the end warps fold the
 * lanes. A program without words has a thread a row. All threads of a warp are
 * at the same step, so what it is costs a jump; registers are in shared memory,
 * in columns of threads. */
#include "kernels/cuda/ops.h"

extern "C" {
#include "engine/base/arena.h"
#include "engine/base/fmath.h"
#include "kernels/expr_dense.h"
}

/* A program and its columns; on the device but for `image`. */
typedef struct run {
    rlf_dense_image image;
    const rlf_dense_pass *passes;
    const rlf_dense_step *steps;
    const double *values;
    const rlf_dense_column *columns; /* inputs, then outputs */
    const bool *of_words;            /* of each */
    uint32_t n_inputs;
    int64_t first, m, v; /* rows first..first+m-1 */
    int each;            /* words of a thread at a time */
    double *kept;        /* [m, n_kept + ranks, v] */
    rlf_nonfinite *nonfinite;
} run;

/* The view of a thread: its row, or of a row's words the one and, THREADS
 * from one to the next, the others that it takes at a time. */
typedef struct view {
    int64_t row;  /* of all */
    int64_t word; /* of the row */
    int n;        /* words; 1 for a row */
    double *rows, *block, *kept;
    const double *length;
    int stride; /* from one register of the row to the next */
    rlf_nonfinite nonfinite;
} view;

static __device__ __forceinline__ void
prefetch(const void *p)
{
#ifdef RLF_CUDA_EMULATED
    (void)p;
#else
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

/* ---- operands ---------------------------------------------------------- */

/* The places of a thread's words. Finding out costs more than most
 * operations, so it is done once for all that a thread takes at a time. */
typedef struct place {
    char *at;
    int step; /* bytes from one to the next; of the row 0 */
    bool f32;
} place;

static __device__ place
column_place(const run &r, const view &t, int column)
{
    const rlf_dense_column c = r.columns[column];
    if (r.of_words[column])
        return {(char *)((float *)c.data + t.row * r.v + t.word),
                THREADS * (int)sizeof(float), true};
    if (c.f32)
        return {(char *)((float *)c.data + t.row), 0, true};
    return {(char *)((double *)c.data + t.row), 0, false};
}

static __device__ place
place_of(const run &r, const view &t, rlf_dense_operand o)
{
    constexpr int STEP = THREADS * (int)sizeof(double);
    switch (o.place) {
    case RLF_DENSE_ROW:
        return {(char *)(t.rows + o.index * t.stride), 0, false};
    case RLF_DENSE_BLOCK:
        return {(char *)(t.block + o.index * r.each * THREADS), STEP, false};
    case RLF_DENSE_KEPT:
        return {(char *)(t.kept + o.index * r.v + t.word), STEP, false};
    case RLF_DENSE_INPUT:
        return column_place(r, t, o.index);
    case RLF_DENSE_OUTPUT:
        return column_place(r, t, (int)r.n_inputs + o.index);
    case RLF_DENSE_CONST:
        return {(char *)(r.values + o.index), 0, false};
    case RLF_DENSE_LENGTH:
        return {(char *)t.length, 0, false};
    default: /* none; what is read there is not used */
        return {(char *)r.columns, 0, false};
    }
}

static __device__ __forceinline__ double
number(const place &p, int k)
{
    const char *at = p.at + k * p.step;
    return p.f32 ? (double)*(const float *)at : *(const double *)at;
}

/* Of a column of words, those that the thread takes next are on their way to
 * the L2 cache meanwhile. */
static __device__ __forceinline__ void
fetch_next(const run &r, const view &t, const place &p)
{
    if (!p.f32 || !p.step)
        return;
    for (int k = r.each; k < 2 * r.each; k++)
        if (t.word + k * THREADS < r.v)
            prefetch(p.at + k * p.step);
}

/* A register. */
static __device__ __forceinline__ void
put(const place &p, int k, double x)
{
    *(double *)(p.at + k * p.step) = x;
}

static __device__ double
value(const run &r, const view &t, rlf_dense_operand o)
{
    return number(place_of(r, t, o), 0);
}

/* Into a column: the step is a copy. */
static __device__ void
give(const run &r, view &t, const rlf_dense_step &s)
{
    const place from = place_of(r, t, s.arg[0]), to = place_of(r, t, s.y);
    bool of_words = r.of_words[r.n_inputs + s.y.index];
    for (int k = 0; k < t.n; k++) {
        double x = number(from, k);
        float is = (float)x, *y = (float *)(to.at + k * to.step);
        if (!to.f32) {
            *(double *)to.at = x;
            continue;
        }
        if (of_words && r.nonfinite && !isfinite(is) && t.nonfinite.word < 0)
            t.nonfinite = {(int32_t)t.word + k * THREADS, is, *y};
        *y = of_words ? is : is + 0.0f; /* of rows a zero is positive */
    }
}

/* A step that looks at its own row or word alone. */
static __device__ void
carry_out(const run &r, view &t, const rlf_dense_step &s)
{
    if (s.y.place == RLF_DENSE_OUTPUT) {
        give(r, t, s);
        return;
    }
    const place of_a = place_of(r, t, s.arg[0]),
                of_b = place_of(r, t, s.arg[1]),
                of_c = place_of(r, t, s.arg[2]), of_y = place_of(r, t, s.y);
    fetch_next(r, t, of_a);
    fetch_next(r, t, of_b);
    fetch_next(r, t, of_c);
    switch (s.code) {
#define POINTWISE(name, value)                                                \
    case RLF_EXPR_##name:                                                     \
        RLF_UNROLL_BY(1)                                                      \
        for (int k = 0; k < t.n; k++) {                                       \
            [[maybe_unused]] double a = number(of_a, k), b = number(of_b, k), \
                                    c = number(of_c, k);                      \
            put(of_y, k, value);                                              \
        }                                                                     \
        break;
#include "engine/expr/pointwise.def"
#undef POINTWISE
    case RLF_EXPR_AT_LAST:
        for (int k = 0; k < t.n; k++)
            put(of_y, k, t.word + k * THREADS + 1 == r.v ? number(of_a, k) : 0);
        break;
    }
}

/* Of the thread's words, from t.word on, those that it takes now. */
static __device__ void
take_words(const run &r, view &t)
{
    int64_t n = (r.v - t.word + THREADS - 1) / THREADS;
    t.n = (int)(n < r.each ? n : r.each);
}

/* ---- reductions -------------------------------------------------------- */

static __device__ double
fold_start(uint32_t code)
{
    return code == RLF_EXPR_SUM     ? 0
           : code == RLF_EXPR_LEAST ? (double)INFINITY
                                    : -(double)INFINITY;
}

/* One more value of a reduction. */
static __device__ double
fold(uint32_t code, double x, double y)
{
    if (code == RLF_EXPR_SUM)
        return x + y;
    bool stays = code == RLF_EXPR_LEAST ? x <= y : x >= y;
    return stays || x != x ? x : y;
}

/* By a warp: the lanes of a reduction in a tree. */
static __device__ double
fold_lanes(uint32_t code, const double *lanes)
{
    constexpr int EACH = THREADS / WARP;
    double x[EACH];
    for (int i = 0; i < EACH; i++)
        x[i] = lanes[i * WARP + threadIdx.x % WARP];
    RLF_UNROLL
    for (int w = EACH / 2; w >= 1; w /= 2)
        for (int i = 0; i < w; i++)
            x[i] = fold(code, x[i], x[i + w]);
    for (int w = WARP / 2; w >= 1; w /= 2) /* thread 0 has what is asked for */
        x[0] = fold(code, x[0], __shfl_xor_sync(0xffffffffu, x[0], w));
    return x[0];
}

/* The words of a row, 256 at a time. `lanes` are those of the first reduction.
 */
static __device__ void
words_pass(const run &r, view &t, const rlf_dense_pass p, double *lanes)
{
    const rlf_dense_step *s = r.steps + p.first, *sums = s + p.count;
    double *own = lanes + threadIdx.x;
    for (uint32_t k = 0; k < p.reductions; k++)
        own[k * THREADS] = fold_start(sums[k].code);
    for (t.word = threadIdx.x; t.word < r.v; t.word += r.each * THREADS) {
        take_words(r, t);
        for (uint32_t i = 0; i < p.count; i++)
            carry_out(r, t, s[i]);
        for (uint32_t k = 0; k < p.reductions; k++) {
            const place from = place_of(r, t, sums[k].arg[0]);
            double x = own[k * THREADS];
            for (int i = 0; i < t.n; i++)
                x = fold(sums[k].code, x, number(from, i));
            own[k * THREADS] = x;
        }
    }
    t.n = 1;
    __syncthreads();
    for (uint32_t k = threadIdx.x / WARP; k < p.reductions;
         k += THREADS / WARP) {
        double x = fold_lanes(sums[k].code, lanes + k * THREADS);
        if (threadIdx.x % WARP == 0)
            t.rows[sums[k].y.index] = x;
    }
}

/* ---- scans ------------------------------------------------------------- */

static __device__ double
value_at(const run &r, view t, rlf_dense_operand o, int64_t word)
{
    t.word = word;
    return value(r, t, o);
}

static __device__ void
put_at(const run &r, view t, rlf_dense_operand o, int64_t word, double x)
{
    t.word = word;
    put(place_of(r, t, o), 0, x);
}

/* Numbers that a chain adds up at a time, and as many factors. */
enum { CHAIN = 512 };

/* The sums of a tile take the place of its numbers; the chain goes on from
 * `sum`. Eight are read before they are needed. */
template <bool FACTORS>
static __device__ __forceinline__ double
chain_tile(double *x, double sum)
{
    RLF_UNROLL_BY(2)
    for (int i = 0; i < CHAIN; i += 8) {
        double a[8], b[8];
        RLF_UNROLL
        for (int k = 0; k < 8; k++) {
            a[k] = x[i + k];
            b[k] = FACTORS ? x[CHAIN + i + k] : 1;
        }
        RLF_UNROLL
        for (int k = 0; k < 8; k++) {
            sum = FACTORS ? a[k] + b[k] * sum : sum + a[k];
            x[i + k] = sum;
        }
    }
    return sum;
}

/* Running sums, in order or backwards. One thread adds up a tile while the
 * other warps take away the one before and bring the next; `tiles` are two. The
 * first number is its own sum: -0 + a, or a + 0 * -0. */
static __device__ void
chain(const run &r, view &t, const rlf_dense_step &s, double *tiles)
{
    bool back = s.code == RLF_EXPR_DISCOUNT;
    bool factors = s.code != RLF_EXPR_CUMSUM;
    int64_t n = (r.v + CHAIN - 1) / CHAIN;
    double sum = -0.0;
    for (int64_t i = -1; i <= n; i++) {
        double *now = tiles + (i & 1) * 2 * CHAIN;
        double *other = tiles + (~i & 1) * 2 * CHAIN;
        if (threadIdx.x == 0 && i >= 0 && i < n)
            sum = factors ? chain_tile<true>(now, sum)
                          : chain_tile<false>(now, sum);
        for (int k = (int)threadIdx.x - WARP; k >= 0 && k < CHAIN;
             k += THREADS - WARP) {
            int64_t gone = (i - 1) * CHAIN + k, next = gone + 2 * CHAIN;
            if (gone >= 0 && gone < r.v)
                put_at(r, t, s.y, back ? r.v - 1 - gone : gone, other[k]);
            t.word = back ? r.v - 1 - next : next;
            bool there = next < r.v;
            other[k] = there ? value(r, t, s.arg[0]) : 0;
            if (factors)
                other[CHAIN + k] =
                    there && next > 0 ? value(r, t, s.arg[1]) : 0;
        }
        __syncthreads();
    }
}

/* Does x, at word i, come before y, at word j? The largest first, NaN last,
 * ties in order. */
static __device__ bool
before(double x, int64_t i, double y, int64_t j)
{
    bool x_nan = x != x, y_nan = y != y;
    if (x_nan != y_nan)
        return y_nan;
    if (!x_nan && x != y)
        return x > y;
    return i < j;
}

/* Words sorted in runs of 1, 2, 4...: each finds its place in the run beside
 * its own by bisection. `list` is two lists. */
static __device__ void
rank(const run &r, view &t, const rlf_dense_step &s, int32_t *list)
{
    int32_t *from = list, *to = list + r.v;
    for (int64_t i = threadIdx.x; i < r.v; i += THREADS)
        from[i] = (int32_t)i;
    for (int64_t w = 1; w < r.v; w *= 2) {
        __syncthreads();
        for (int64_t i = threadIdx.x; i < r.v; i += THREADS) {
            int64_t mine = i / w * w,
                    other = mine / w % 2 ? mine - w : mine + w;
            int64_t low = other < r.v ? other : r.v;
            int64_t high = low + w < r.v ? low + w : r.v, begin = low;
            double x = value_at(r, t, s.arg[0], from[i]);
            while (low < high) {
                int64_t mid = (low + high) / 2;
                if (before(value_at(r, t, s.arg[0], from[mid]), from[mid], x,
                           from[i]))
                    low = mid + 1;
                else
                    high = mid;
            }
            to[(mine < other ? mine : other) + (i - mine) + (low - begin)] =
                from[i];
        }
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < r.v; i += THREADS)
        put_at(r, t, s.y, from[i], (double)i);
}

/* Each word gets its neighbour's number; at the end another, or that of the
 * other end. */
static __device__ void
shift(const run &r, view &t, const rlf_dense_step &s)
{
    bool ahead = s.code == RLF_EXPR_NEXT || s.code == RLF_EXPR_ROTATE;
    bool round = s.code == RLF_EXPR_ROTATE || s.code == RLF_EXPR_UNROTATE;
    for (t.word = threadIdx.x; t.word < r.v; t.word += THREADS) {
        int64_t from = ahead ? t.word + 1 : t.word - 1;
        bool ends = from < 0 || from == r.v;
        if (ends)
            from = ahead ? 0 : r.v - 1;
        put(place_of(r, t, s.y), 0,
            ends && !round ? value(r, t, s.arg[1])
                           : value_at(r, t, s.arg[0], from));
    }
}

static __device__ void
scan(const run &r, view &t, const rlf_dense_step &s, int32_t *list,
     double *tiles)
{
    switch (s.code) {
    case RLF_EXPR_CUMSUM:
    case RLF_EXPR_DISCOUNT:
    case RLF_EXPR_COMPOUND:
        chain(r, t, s, tiles);
        return;
    case RLF_EXPR_RANK:
        rank(r, t, s, list);
        return;
    case RLF_EXPR_NEXT:
    case RLF_EXPR_PREV:
    case RLF_EXPR_ROTATE:
    case RLF_EXPR_UNROTATE:
        shift(r, t, s);
        return;
    }
    for (t.word = threadIdx.x; t.word < r.v; t.word += r.each * THREADS) {
        take_words(r, t);
        carry_out(r, t, s);
    }
    t.n = 1;
}

/* ---- kernels ----------------------------------------------------------- */

/* The first of the row's nonfinite words. */
static __device__ void
tell_odd(const run &r, const view &t)
{
    __shared__ int32_t first;
    if (threadIdx.x == 0)
        first = INT32_MAX;
    __syncthreads();
    if (t.nonfinite.word >= 0)
        atomicMin(&first, t.nonfinite.word);
    __syncthreads();
    if (first == (t.nonfinite.word < 0 ? INT32_MAX : t.nonfinite.word) &&
        (t.nonfinite.word >= 0 || threadIdx.x == 0))
        r.nonfinite[t.row] = t.nonfinite;
    __syncthreads();
}

static __global__ void
__launch_bounds__(THREADS, 4) words_kernel(run r)
{
    RLF_DYNAMIC_SHARED(double, registers);
    double *length = registers + r.image.n_rows, *block = length + 1;
    double *lanes = block + r.image.n_blocks * r.each * THREADS;
    if (threadIdx.x == 0)
        *length = (double)r.v;
    __syncthreads();
    for (int64_t i = blockIdx.x; i < r.m; i += gridDim.x) {
        double *kept =
            r.kept + i * (int64_t)(r.image.n_kept + r.image.ranks) * r.v;
        view t = {r.first + i, 0,      1, registers, block + threadIdx.x,
                  kept,        length, 1, {-1, 0, 0}};
        int32_t *list = (int32_t *)(kept + (int64_t)r.image.n_kept * r.v);
        for (uint32_t k = 0; k < r.image.n_passes; k++) {
            const rlf_dense_pass p = r.passes[k];
            const rlf_dense_step *s = r.steps + p.first;
            if (p.kind == RLF_DENSE_WORDS)
                words_pass(r, t, p, lanes);
            for (uint32_t j = 0; p.kind == RLF_DENSE_SCANS && j < p.count;
                 j++) {
                scan(r, t, s[j], list, block);
                __syncthreads();
            }
            for (uint32_t j = 0;
                 p.kind == RLF_DENSE_ROWS && threadIdx.x == 0 && j < p.count;
                 j++)
                carry_out(r, t, s[j]);
            __syncthreads();
        }
        if (r.nonfinite)
            tell_odd(r, t);
    }
}

enum { ROW_THREADS = 64 };

static __global__ void
rows_kernel(run r)
{
    RLF_DYNAMIC_SHARED(double, registers);
    EACH(i, r.m)
    {
        view t = {r.first + i, 0,    1,    registers + threadIdx.x,
                  NULL,        NULL, NULL, ROW_THREADS,
                  {-1, 0, 0}};
        for (uint32_t k = 0; k < r.image.n_passes; k++)
            for (uint32_t j = 0; j < r.passes[k].count; j++)
                carry_out(r, t, r.steps[r.passes[k].first + j]);
    }
}

/* ---- launching --------------------------------------------------------- */

static rlf_status
stage_program(rlf_queue *queue, const rlf_expr_dense *d, run *r, rlf_err *err)
{
    const void *at;
    r->image = *d->image;
    RLF_TRY(CUDA(stage)(queue, d->image, d->image->bytes, &at, err));
    const char *image = (const char *)at;
    r->passes = (const rlf_dense_pass *)(image + r->image.passes);
    r->steps = (const rlf_dense_step *)(image + r->image.steps);
    r->values = (const double *)(image + r->image.values);
    RLF_TRY(CUDA(stage)(queue, d->of_words,
                        (d->n_inputs + d->n_outputs) * sizeof(bool), &at, err));
    r->of_words = (const bool *)at;
    r->n_inputs = d->n_inputs;
    return RLF_OK;
}

/* `columns` has room for all. */
static rlf_status
stage_columns(rlf_queue *queue, const rlf_expr_dense_args *a,
              rlf_dense_column *columns, run *r, rlf_err *err)
{
    const rlf_expr_dense *d = a->program;
    const void *at;
    for (uint32_t i = 0; i < d->n_inputs; i++) {
        columns[i] = a->inputs[i];
        if (d->of_words[i] || columns[i].f32 || !CUDA(on_host)(columns[i].data))
            continue;
        RLF_TRY(CUDA(stage)(queue, columns[i].data,
                            (size_t)a->m * sizeof(double), &at, err));
        columns[i].data = (void *)at;
    }
    memcpy(columns + d->n_inputs, a->outputs, d->n_outputs * sizeof *columns);
    RLF_TRY(CUDA(stage)(queue, columns,
                        (d->n_inputs + d->n_outputs) * sizeof *columns, &at,
                        err));
    r->columns = (const rlf_dense_column *)at;
    return RLF_OK;
}

/* Numbers in shared memory: the row's registers and length, and those of blocks
 * with the lanes of reductions, or the tiles of a chain. */
static size_t
shared_numbers(const rlf_dense_image *image, int each)
{
    const rlf_dense_pass *p =
        (const rlf_dense_pass *)((const char *)image + image->passes);
    uint32_t reductions = 0;
    for (uint32_t i = 0; i < image->n_passes; i++)
        reductions =
            p[i].reductions > reductions ? p[i].reductions : reductions;
    size_t n = ((size_t)image->n_blocks * each + reductions) * THREADS;
    size_t tiles = image->chains ? 4 * CHAIN : 0;
    return image->n_rows + 1 + (n > tiles ? n : tiles);
}

/* Bytes of each of four blocks on a multiprocessor of 164 KB, which need not
 * wait for memory. */
static constexpr size_t SHARED_WANTED = 40 << 10;

/* As many rows at a time as there is room for what they keep. */
static rlf_status
launch_words(rlf_queue *queue, run r, const rlf_dense_image *image,
             rlf_err *err)
{
    size_t shared = shared_numbers(image, r.each = 4) * sizeof(double);
    while (r.each > 1 && shared > SHARED_WANTED)
        shared = shared_numbers(image, r.each /= 2) * sizeof(double);
    size_t row =
        (size_t)(r.image.n_kept + r.image.ranks) * (size_t)r.v * sizeof(double);
    int64_t rows = r.m, most = rows;
    if (row)
        most = (int64_t)(CUDA(scratch_bytes)() / row);
    if (most < 1)
        most = 1;
    if (most < rows)
        rows = most;
    RLF_TRY(CUDA(allow_shared)(queue, (const void *)words_kernel, shared, err));
    if (row) {
        void *kept;
        RLF_TRY(CUDA(scratch)(queue, (size_t)rows * row, &kept, err));
        r.kept = (double *)kept;
    }
    for (int64_t left = r.m; left > 0; left -= rows, r.first += rows) {
        r.m = left < rows ? left : rows;
        RLF_LAUNCH(words_kernel, blocks_for(r.m, 1), THREADS, shared, queue, r);
    }
    return RLF_OK;
}

static rlf_status
launch(rlf_queue *queue, const rlf_expr_dense_args *a,
       rlf_dense_column *columns, rlf_err *err)
{
    run r = {};
    RLF_TRY(stage_program(queue, a->program, &r, err));
    RLF_TRY(stage_columns(queue, a, columns, &r, err));
    r.m = a->m;
    r.v = a->v;
    r.nonfinite = a->nonfinite;
    if (a->program->words >= 0)
        return launch_words(queue, r, a->program->image, err);
    size_t shared = (size_t)r.image.n_rows * ROW_THREADS * sizeof(double);
    RLF_TRY(CUDA(allow_shared)(queue, (const void *)rows_kernel, shared, err));
    RLF_LAUNCH(rows_kernel, blocks_for(r.m, ROW_THREADS), ROW_THREADS, shared,
               queue, r);
    return RLF_OK;
}

rlf_status
CUDA(expr_dense)(rlf_queue *queue, const rlf_expr_dense_args *a, rlf_err *err)
{
    const rlf_expr_dense *d = a->program;
    NEED(a->m >= 0 && a->v >= 0 && a->v <= INT32_MAX, "expr_dense");
    NEED(!d->has_words || a->v > 0, "expr_dense of words");
    NEED(!a->nonfinite || d->of_words[d->n_inputs], "expr_dense");
    if (a->m == 0)
        return RLF_OK;
    rlf_dense_column *columns = (rlf_dense_column *)rlf_malloc(
        (d->n_inputs + d->n_outputs) * sizeof *columns);
    rlf_status status = launch(queue, a, columns, err);
    free(columns);
    RLF_TRY(status);
    return CUDA(launched)("expr_dense", err);
}
