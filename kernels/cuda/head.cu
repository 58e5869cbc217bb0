/* The language-model head with the bits of kernels/cpu/head.c: logits of a tile
 * of rows over the whole vocabulary, and what is made of them at once. Logits
 * never exist for more than a tile.
 *
 * The vocabulary is cut at fixed places, every CHUNK tokens. Per row and chunk
 * the maximum m and s = sum of exp(z - m) (64 lanes) are kept; the row's sum
 * adds s exp(m - M) over chunks in order, in double precision. Slices (shards
 * of the vocabulary) are cut into chunks one by one, and their sums are added
 * in a binary tree, wherever they were made. */
#include "kernels/cuda/add.h"
#include "kernels/cuda/head.h"
#include "kernels/cuda/product_mma.h"

extern "C" {
#include "engine/base/fmath.h"
}

/* Is a chunk measured by pieces? The f32 table has the CPU's 64 lanes. */
static constexpr bool BY_PIECES = sizeof(rlf_real) == sizeof(uint16_t);
static constexpr int PIECES = CHUNK / PIECE;

/* ---- a tile ------------------------------------------------------------ */

/* Sizes are the most that a place has, so that all places have the same tiles.
 */
static void
divide(tile *t)
{
    rlf_shards s = t->a.part.shards = rlf_shards_of(t->a.part.shards);
    int64_t v = t->a.v, longest = (v + s.of - 1) / s.of;
    t->n_slices = s.count;
    t->places = s.of / s.count;
    t->place = s.first / s.count;
    t->token = rlf_shard_first(v, s.of, s.first);
    t->held = rlf_shards_held(s, v);
    t->ld = (v * s.count + s.of - 1) / s.of;
    t->ld = (t->ld + LANES - 1) / LANES * LANES;
    t->ldv = (v + LANES - 1) / LANES * LANES;
    t->n_chunks = (int)((longest + CHUNK - 1) / CHUNK) * t->n_slices;
}

/* `n` elements of the work at *used; base NULL: only count. */
template <typename T>
static void
carve(T **out, char *base, size_t *used, int64_t n)
{
    *out = base ? (T *)(base + *used) : NULL;
    *used += ((size_t)n * sizeof(T) + 63) / 64 * 64;
}

/* Give out the work for tiles of t->rows rows; how much that is. */
static size_t
carve_tile(tile *t, char *base)
{
    size_t used = 0;
    int64_t rows = t->rows, places = t->places;
    if (!t->a.brief)
        carve(&t->z, base, &used, rows * t->ld);
    if constexpr (!BY_PIECES)
        t->dz = (rlf_real *)t->z;
    else if (!t->a.brief || t->a.near)
        carve(&t->dz, base, &used, rows * t->ld);
    carve(&t->parts, base, &used, rows * t->n_chunks);
    if (BY_PIECES) {
        carve(&t->pieces, base, &used, rows * t->n_chunks * PIECES);
        carve(&t->found, base, &used, rows);
    }
    carve(&t->wholes, base, &used, rows);
    carve(&t->known, base, &used, places * rows * (3 * t->n_slices + 1));
    carve(&t->picks, base, &used, places * rows);
    carve(&t->logprob, base, &used, rows);
    carve(&t->entropy, base, &used, rows);
    carve(&t->dlogprob, base, &used, rows);
    carve(&t->dentropy, base, &used, rows);
    if (t->a.whole_rows)
        carve(&t->bins, base, &used, rows);
    if (t->a.whole_rows && places > 1) {
        carve(&t->gathered, base, &used, places * rows * t->ld);
        carve(&t->full, base, &used, rows * t->ldv);
    }
    if (t->a.words) {
        carve(&t->words, base, &used, rows * t->a.v);
        carve(&t->sums, base, &used, rows);
    }
    return used;
}

static size_t
tile_bytes(const void *of, int64_t rows)
{
    tile counted = *(const tile *)of;
    counted.rows = rows;
    return carve_tile(&counted, NULL);
}

size_t
TYPED(head_work_bytes)(int64_t rows, int64_t v, int64_t d,
                       const rlf_head_part *held)
{
    tile t = {.a = {.v = v, .d = d}};
    if (held)
        t.a.part = *held;
    divide(&t);
    size_t bytes = tile_bytes(&t, (rows + 15) / 16 * 16);
    t.a.whole_rows = true; /* sampling may need them, of 16 rows at least */
    size_t least = tile_bytes(&t, 16);
    return bytes > least ? bytes : least;
}

/* Finds out whether the product measures its logits. */
static rlf_status
measures_itself(rlf_queue *queue, const head_args &a, bool *out, rlf_err *err)
{
    *out = BY_PIECES && a.cap == 0 && (a.scale == 0 || a.scale == 1) && !a.bias;
    return *out ? CUDA(mma_measures)(queue, a.x, a.ldx, a.d, out, err) : RLF_OK;
}

rlf_status
TYPED(head_open)(rlf_queue *queue, const head_args *a, void *work,
                 size_t work_bytes, tile *t, rlf_err *err)
{
    NEED(a->m >= 0 && a->v > 0 && a->d > 0, "the head");
    NEED(head_part_is_sound(&a->part, a->v), "the head");
    *t = (tile){.a = *a};
    t->a.ldx = or_dense(a->ldx, a->d);
    RLF_TRY(measures_itself(queue, t->a, &t->in_product, err));
    t->a.brief = a->brief && t->in_product;
    divide(t);
    RLF_TRY(head_rows(a->m, t, tile_bytes, work_bytes, err, &t->rows));
    carve_tile(t, (char *)work);
    slice last = slice_of(*t, t->n_slices - 1);
    t->n_chunks = last.chunk + last.n_chunks;
    return RLF_OK;
}

/* ---- logits and their measures ----------------------------------------- */

/* Of a chunk, what a thread of a warp has: tokens lane, lane + WARP, ... */
static constexpr int OWN = CHUNK / WARP;

/* A warp a row and chunk: scale in place and measure. The chunk lies in
 * registers meanwhile. */
static __global__ void
measure_kernel(tile t)
{
    int lane = threadIdx.x % WARP;
    EACH_WARP(i, t.n * t.n_chunks)
    {
        spot p = spot_of(i, t.n_chunks);
        chunk c = chunk_of(t, (int)p.at);
        float *z = t.z + p.row * t.ld + c.from + lane;
        float scale = scale_of(t.a, t.first + p.row), own[OWN];
        float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
        float mean[2] = {0, 0};
        int n = (int)c.n - lane;
        RLF_UNROLL
        for (int k = 0; k < OWN; k++)
            own[k] = k * WARP < n ? capped(t.a, z[k * WARP]) * scale : 0;
        RLF_UNROLL
        for (int k = 0; k < OWN; k++)
            if (k * WARP < n) {
                if (scale != 1 || t.a.cap != 0)
                    z[k * WARP] = own[k];
                top[k % 2] = max_1(top[k % 2], own[k]);
            }
        float m = lanes_max(top[0], top[1]);
        RLF_UNROLL
        for (int k = 0; k < OWN; k++)
            if (k * WARP < n) {
                float u = own[k] - m, e = exp_1(u);
                sum[k % 2] += e;
                mean[k % 2] += e == 0 ? 0 : e * u;
            }
        part out = {m, lanes_sum(sum[0], sum[1]), lanes_sum(mean[0], mean[1])};
        if (lane == 0)
            t.parts[i] = out;
    }
}

/* The values that a lane has of a piece, for slopes: see put_near() of
 * product_tile.h. */
static __device__ __forceinline__ void
keep_near(const tile &t, int64_t row, int64_t from, const float (&x)[8][4],
          int64_t left, float m)
{
    uint16_t *to = (uint16_t *)t.dz + row * t.ld + from;
    bool aligned = (uintptr_t)to % sizeof(uint32_t) == 0;
    int64_t target = t.a.targets[t.first + row] - t.token - from;
    RLF_UNROLL
    for (int j = 0; j < 8; j++) {
        give_two(to + j * 8, near(x[j][0], x[j][1], m), left - j * 8,
                 aligned && left - j * 8 > 1);
        for (int e = 0; e < 2; e++)
            if (target == j * 8 + e && target < left)
                t.found[row] = x[j][e];
    }
}

/* Four lanes a row and piece: scale in place and measure. */
static __global__ void
pieces_kernel(tile t)
{
    int64_t per = (int64_t)t.n_chunks * PIECES, n = t.n * per;
    int g = threadIdx.x % WARP / 4, own = threadIdx.x % 4 * 2;
    EACH_WARP(i, (n + 7) / 8)
    {
        bool there = i * 8 + g < n;
        spot p = spot_of(there ? i * 8 + g : 0, per);
        chunk c = chunk_of(t, (int)(p.at / PIECES));
        int64_t at = p.at % PIECES * PIECE, left = there ? c.n - at : 0;
        float *z = t.z + p.row * t.ld + c.from + at + own, x[8][4];
        float scale = scale_of(t.a, t.first + p.row);
        RLF_UNROLL
        for (int j = 0; j < 8; j++)
            RLF_UNROLL
        for (int e = 0; e < 2; e++)
            x[j][e] =
                own + j * 8 + e < left ? capped(t.a, z[j * 8 + e]) * scale : 0;
        part of = measure(x, 0, 0, left, t.a.with_entropy);
        if (own == 0 && left > 0)
            t.pieces[p.row * per + p.at] = of;
        if (t.a.near)
            keep_near(t, p.row, c.from + at + own, x, left - own, of.m);
        if (t.a.near || (scale == 1 && t.a.cap == 0))
            continue;
        RLF_UNROLL
        for (int j = 0; j < 8; j++)
            RLF_UNROLL
        for (int e = 0; e < 2; e++)
            if (own + j * 8 + e < left)
                z[j * 8 + e] = x[j][e];
    }
}

/* A chunk's pieces in order. */
static __global__ void
join_kernel(tile t)
{
    EACH(i, t.n * t.n_chunks)
    {
        int n =
            (int)((chunk_of(t, (int)(i % t.n_chunks)).n + PIECE - 1) / PIECE);
        const part *x = t.pieces + i * PIECES;
        part o = {x->m, 0, 0};
        for (int k = 1; k < n; k++)
            o.m = max_1(x[k].m, o.m);
        for (int k = 0; k < n; k++) {
            float down = x[k].m - o.m, w = exp_1(down);
            o.s = fmaf(x[k].s, w, o.s);
            if (t.a.with_entropy && w > 0)
                o.t = fmaf(fmaf(x[k].s, down, x[k].t), w, o.t);
        }
        t.parts[i] = o;
    }
}

/* Of a slice, by a warp: over its chunks in order, each of which a thread looks
 * at and all threads add. */
static __device__ measured
measure_slice(const tile &t, int64_t r, slice l)
{
    const part *parts = t.parts + r * t.n_chunks + l.chunk;
    int lane = threadIdx.x % WARP;
    double top = (double)parts[0].m, sum = 0, mean = 0;
    for (int c = 0; c < l.n_chunks; c += WARP) {
        float m = parts[c + lane < l.n_chunks ? c + lane : 0].m;
        for (int k = 0; k < WARP && c + k < l.n_chunks; k++) {
            double x = (double)__shfl_sync(ALL_LANES, m, k);
            top = x > top ? x : top;
        }
    }
    for (int c = 0; c < l.n_chunks; c += WARP) {
        part own = parts[c + lane < l.n_chunks ? c + lane : 0];
        double down = (double)own.m - top, w = rlf_exp(down);
        double inner = rlf_fma((double)own.s, down, (double)own.t);
        for (int k = 0; k < WARP && c + k < l.n_chunks; k++) {
            float s = __shfl_sync(ALL_LANES, own.s, k);
            double wk = __shfl_sync(ALL_LANES, w, k);
            double x = __shfl_sync(ALL_LANES, inner, k);
            sum = rlf_fma((double)s, wk, sum);
            if (t.a.with_entropy && wk > 0)
                mean = rlf_fma(x, wk, mean);
        }
    }
    return {top, sum, mean};
}

/* A warp a row. */
static __global__ void
known_kernel(tile t, int32_t *fault)
{
    EACH_WARP(r, t.n)
    {
        bool first = threadIdx.x % WARP == 0;
        double *own = known_of(t, t.place, r);
        for (int s = 0; s < t.n_slices; s++) {
            measured m = measure_slice(t, r, slice_of(t, s));
            if (first)
                ((measured *)own)[s] = m;
        }
        int32_t target = t.a.targets ? t.a.targets[t.first + r] : -1;
        int64_t at = t.a.targets ? target - t.token : -1;
        if (first && t.a.targets && target >= t.a.v)
            *fault = 1;
        if (first)
            own[3 * t.n_slices] = at < 0 || at >= t.held ? 0
                                  : t.a.brief || t.a.near
                                      ? (double)t.found[r]
                                      : (double)t.z[r * t.ld + at];
    }
}

static __device__ measured
join(measured a, measured b)
{
    measured j = {a.m > b.m ? a.m : b.m, 0, 0};
    double wa = rlf_exp(a.m - j.m), wb = rlf_exp(b.m - j.m);
    j.s = rlf_fma(a.s, wa, b.s * wb);
    if (wa > 0)
        j.t = rlf_fma(a.s, a.m - j.m, a.t) * wa;
    if (wb > 0)
        j.t = rlf_fma(rlf_fma(b.s, b.m - j.m, b.t), wb, j.t);
    return j;
}

/* The place that holds a token. */
static __device__ int
place_of(const tile &t, int64_t token)
{
    int place = 0;
    while (place + 1 < t.places &&
           token >= shard_from(t, (int64_t)(place + 1) * t.n_slices))
        place++;
    return place;
}

static __device__ __forceinline__ measured
of_lane(measured x, int lane)
{
    return {__shfl_sync(ALL_LANES, x.m, lane),
            __shfl_sync(ALL_LANES, x.s, lane),
            __shfl_sync(ALL_LANES, x.t, lane)};
}

/* The n slices of a row in a binary tree, by a warp: a lane joins two
 * neighbours, and then with the lanes behind it. Lane 0 has the result. */
static __device__ measured
join_slices(const tile &t, int64_t r, int n)
{
    static_assert(RLF_MOST_SHARDS <= 2 * WARP, "two slices a lane");
    int lane = threadIdx.x % WARP, own = 2 * lane < n ? 2 * lane : 0;
    measured x = *slice_measure(t, r, own);
    if (2 * lane + 1 < n)
        x = join(x, *slice_measure(t, r, own + 1));
    for (int step = 1; 2 * step < n; step *= 2) {
        bool there = lane % (2 * step) == 0 && 2 * (lane + step) < n;
        measured next = of_lane(x, (lane + step) % WARP);
        if (there)
            x = join(x, next);
    }
    return x;
}

/* A warp a row: all slices as one; entropy H = L - sum p (z - M), L = log S;
 * and the target's log-probability. */
static __global__ void
whole_kernel(tile t)
{
    int n = t.places * t.n_slices;
    EACH_WARP(r, t.n)
    {
        measured x = join_slices(t, r, n);
        if (threadIdx.x % WARP != 0)
            continue;
        whole o = {x.m, x.s, rlf_ln(x.s)};
        t.wholes[r] = o;
        t.entropy[r] = t.a.with_entropy ? (float)(o.log_s - x.t / x.s) : 0;
        int32_t target = t.a.targets ? t.a.targets[t.first + r] : -1;
        const double *known = known_of(t, place_of(t, target), r);
        t.logprob[r] =
            target < 0 ? 0 : logprob_of(t, r, (float)known[3 * t.n_slices]);
    }
}

/* The logits of a slice, measured if their product can. */
static rlf_status
slice_logits(rlf_queue *queue, const tile *t, slice l, const char *packed,
             rlf_err *err)
{
    const head_args &a = t->a;
    rlf_product_args product = {.m = t->n,
                                .n = l.n,
                                .k = a.d,
                                .x = a.x + t->first * a.ldx,
                                .ldx = a.ldx,
                                .packed = packed,
                                .bias = a.bias ? a.bias + l.from : NULL,
                                .c = (rlf_real *)(t->z + l.from),
                                .ldc = t->ld,
                                .c_f32 = true};
    if (!t->in_product)
        return TYPED(rows).product(queue, &product, err);
    measures of = {.pieces = t->pieces + l.chunk * PIECES,
                   .ld = (int64_t)t->n_chunks * PIECES,
                   .temperature = a.greedy ? 1 : a.temperature,
                   .first = t->token + l.from,
                   .found = t->found,
                   .mean = a.with_entropy,
                   .near = a.near};
    if (a.temperatures && !a.greedy)
        of.temperatures = a.temperatures + t->first;
    if (a.targets)
        of.targets = a.targets + t->first;
    if (a.near) {
        product.c = t->dz + l.from;
        product.c_f32 = false;
    } else if (a.brief) {
        product.c = NULL;
    }
    return CUDA(mma_logits)(queue, &product, &of, err);
}

/* The measures of all chunks. */
static void
measure_chunks(rlf_queue *queue, const tile *t)
{
    int64_t n = t->n * t->n_chunks;
    if (!BY_PIECES) {
        RLF_LAUNCH(measure_kernel, blocks_for(n, THREADS / WARP), THREADS, 0,
                   queue, *t);
        return;
    }
    if (!t->in_product)
        RLF_LAUNCH(pieces_kernel, blocks_for(n * PIECES, THREADS / 4), THREADS,
                   0, queue, *t);
    RLF_LAUNCH(join_kernel, blocks_for(n, THREADS), THREADS, 0, queue, *t);
}

rlf_status
TYPED(head_logits)(rlf_queue *queue, tile *t, rlf_err *err)
{
    const rlf_head_part *p = &t->a.part;
    const char *packed = (const char *)t->a.packed;
    for (int s = 0; s < t->n_slices; s++) {
        slice l = slice_of(*t, s);
        RLF_TRY(slice_logits(queue, t, l, packed, err));
        packed +=
            TYPED(rows).product_packed_bytes(l.n, t->a.d, RLF_PRODUCT_FORWARD);
    }
    measure_chunks(queue, t);
    RLF_LAUNCH(known_kernel, blocks_for(t->n, THREADS / WARP), THREADS, 0,
               queue, *t, CUDA(fault)(queue));
    if (t->places > 1)
        RLF_TRY(p->share(
            p->ctx, queue, t->known,
            (size_t)(t->n * (3 * t->n_slices + 1)) * sizeof(double), err));
    RLF_LAUNCH(whole_kernel, blocks_for(t->n, THREADS / WARP), THREADS, 0,
               queue, *t);
    return CUDA(launched)("logits of the head", err);
}

/* ---- log-probabilities ------------------------------------------------- */

/* Whole rows as log-probabilities, of the tokens that are held. */
static __global__ void
words_kernel(tile t, float *out)
{
    EACH(i, t.n * t.held)
    {
        spot p = spot_of(i, t.held);
        out[p.row * t.a.v + t.token + p.at] =
            logprob_of(t, p.row, t.z[p.row * t.ld + p.at]);
    }
}

static head_args
forward_args(const rlf_head_logprob_args *a, bool entropy)
{
    return (head_args){.m = a->m,
                       .v = a->v,
                       .d = a->d,
                       .part = a->part,
                       .x = a->x,
                       .ldx = a->ldx,
                       .packed = a->packed,
                       .bias = a->bias,
                       .scale = a->scale,
                       .cap = a->cap,
                       .temperature = a->temperature,
                       .temperatures = a->temperatures,
                       .targets = a->targets,
                       .with_entropy = entropy};
}

static rlf_status
copy_floats(rlf_queue *queue, float *to, const float *from, int64_t n,
            rlf_err *err)
{
    return to ? rlf_queue_copy(queue, to, from, (size_t)n * sizeof *to,
                               RLF_COPY_ON_DEVICE, err)
              : RLF_OK;
}

/* Gives what a tile found to the caller's arrays (NULL: not wanted). */
static rlf_status
give_tile(rlf_queue *queue, const tile *t, float *logprob, float *entropy,
          rlf_err *err)
{
    float *l = logprob ? logprob + t->first : NULL;
    float *e = entropy ? entropy + t->first : NULL;
    RLF_TRY(copy_floats(queue, l, t->logprob, t->n, err));
    return copy_floats(queue, e, t->entropy, t->n, err);
}

rlf_status
TYPED(head_logprob)(rlf_queue *queue, const rlf_head_logprob_args *args,
                    rlf_err *err)
{
    tile t;
    head_args a = forward_args(args, args->entropy != NULL);
    a.brief = !args->words;
    RLF_TRY(TYPED(head_open)(queue, &a, args->work, args->work_bytes, &t, err));
    for (t.first = 0; t.first < a.m; t.first += t.rows) {
        t.n = a.m - t.first < t.rows ? a.m - t.first : t.rows;
        RLF_TRY(TYPED(head_logits)(queue, &t, err));
        RLF_TRY(give_tile(queue, &t, args->logprob, args->entropy, err));
        if (args->words)
            RLF_LAUNCH(words_kernel, blocks_for(t.n * t.held, THREADS), THREADS,
                       0, queue, t, args->words + t.first * a.v);
    }
    return CUDA(launched)("head_logprob", err);
}

/* ---- gradient ---------------------------------------------------------- */

/* The factors that the derivatives of a row and chunk have in common. */
typedef struct slopes {
    float m, factor, scale; /* e^(z - m) factor is -p / temperature */
    float g, h, all;        /* by the target's logprob, entropy; sum of all */
    float shift;            /* log p + H = z + shift */
    int64_t target;         /* among those held */
} slopes;

static __device__ __forceinline__ slopes
slopes_of(const tile &t, int64_t r, int chunk)
{
    slopes s;
    const whole o = t.wholes[r];
    int64_t target = t.a.targets[t.first + r];
    s.m = t.parts[r * t.n_chunks + chunk].m;
    s.scale = scale_of(t.a, t.first + r);
    s.g = target < 0 ? 0 : t.dlogprob[r];
    s.h = t.a.with_entropy ? t.dentropy[r] : 0;
    s.all = t.a.words ? (float)((double)s.g + t.sums[r]) : s.g;
    s.target = target - t.token;
    double share = rlf_exp((double)s.m - o.m) / o.s;
    s.factor = (float)(-share * (double)s.scale);
    s.shift = (float)((double)t.entropy[r] - o.m - o.log_s);
    return s;
}

/* The derivative by logit z, where e^(z - m) is e, but for what a target has.
 */
static __device__ __forceinline__ float
slope_of(const slopes &s, float z, float e)
{
    float sum = s.all;
    e *= s.factor;
    if (s.h != 0)
        sum = fmaf(s.h, z + s.shift, sum);
    return e == 0 ? 0 : e * sum;
}

/* The derivatives by a row's logits in the place of these, which are near their
 * pieces' maxima; a warp a row and chunk, a lane two of every piece. */
static __global__ void
near_slope_kernel(tile t)
{
    constexpr int AT_ONCE = 6;
    static_assert(PIECES % AT_ONCE == 0 && PIECE == 2 * WARP, "two a lane");
    int own = threadIdx.x % WARP * 2;
    EACH_WARP(i, t.n * t.n_chunks)
    {
        spot p = spot_of(i, t.n_chunks);
        chunk c = chunk_of(t, (int)p.at);
        slopes s = slopes_of(t, p.row, (int)p.at);
        bool none = s.g == 0 && s.h == 0;
        const part *pieces = t.pieces + i * PIECES;
        uint16_t *dz = (uint16_t *)t.dz + p.row * t.ld + c.from;
        bool aligned = (uintptr_t)dz % sizeof(uint32_t) == 0;
        for (int from = 0; from * PIECE < (int)c.n; from += AT_ONCE) {
            uint32_t held[AT_ONCE];
            RLF_UNROLL
            for (int k = 0; k < AT_ONCE; k++) {
                int j = (from + k) * PIECE + own, left = (int)c.n - j;
                held[k] = take_two(dz + j, left, aligned && left > 1);
            }
            RLF_UNROLL
            for (int k = 0; k < AT_ONCE; k++) {
                int j = (from + k) * PIECE + own, left = (int)c.n - j;
                float m = left > 0 ? pieces[from + k].m : 0, x[2];
                RLF_UNROLL
                for (int e = 0; e < 2; e++) {
                    float z = m + f16_float((uint16_t)(held[k] >> 16 * e));
                    float y = exp2_fast((z - s.m) * 0x1.715476p0f);
                    x[e] = slope_of(s, z, y);
                    if (s.target == c.from + j + e)
                        x[e] = fmaf(s.g, s.scale, x[e]);
                    x[e] = none ? 0 : x[e];
                }
                give_two(dz + j, bf16_pair(x[0], x[1]), left,
                         aligned && left > 1);
            }
        }
    }
}

/* The same of logits in f32, and with losses on whole distributions. */
static __global__ void
slope_kernel(tile t)
{
    int lane = threadIdx.x % WARP;
    EACH_WARP(i, t.n * t.n_chunks)
    {
        spot p = spot_of(i, t.n_chunks);
        chunk c = chunk_of(t, (int)p.at);
        slopes s = slopes_of(t, p.row, (int)p.at);
        bool none = !t.a.words && s.g == 0 && s.h == 0;
        const float *z = t.z + p.row * t.ld + c.from;
        rlf_real *dz = t.dz + p.row * t.ld + c.from;
        float back = 1 / (t.a.cap * s.scale);
        float steep = t.a.scale == 0 ? 1 : t.a.scale;
        RLF_UNROLL_BY(8)
        for (int j = lane; j < (int)c.n; j += WARP) {
            float x = slope_of(s, z[j], exp_1(z[j] - s.m));
            if (t.a.words)
                x = fmaf(t.words[p.row * t.a.v + t.token + c.from + j], s.scale,
                         x);
            if (s.target == c.from + j)
                x = fmaf(s.g, s.scale, x);
            if (t.a.cap != 0) {
                float y = z[j] * back;
                x *= fmaf(-y, y, 1.0f) * steep;
            }
            dz[j] = narrow(none ? 0 : x);
        }
    }
}

/* Of each row the sum of its derivatives, in the order of the tokens: a block a
 * row fetches what one thread of it adds. */
static __global__ void
sums_kernel(tile t)
{
    __shared__ float words[THREADS];
    for (int64_t r = blockIdx.x; r < t.n; r += gridDim.x) {
        double sum = 0;
        for (int64_t at = 0; at < t.a.v; at += THREADS) {
            int n = (int)(t.a.v - at < THREADS ? t.a.v - at : THREADS);
            if ((int)threadIdx.x < n)
                words[threadIdx.x] = t.words[r * t.a.v + at + threadIdx.x];
            __syncthreads();
            if (threadIdx.x == 0)
                sum = add_up(sum, words, n);
            __syncthreads();
        }
        if (threadIdx.x == 0)
            t.sums[r] = sum;
    }
}

static rlf_status
words_loss(rlf_queue *queue, const rlf_head_loss_args *a, tile *t, rlf_err *err)
{
    RLF_LAUNCH(words_kernel, blocks_for(t->n * t->held, THREADS), THREADS, 0,
               queue, *t, t->words);
    RLF_TRY(a->words_loss(a->loss_ctx, queue, t->first, t->n, t->logprob,
                          t->words, t->dlogprob, err));
    RLF_LAUNCH(sums_kernel, blocks_for(t->n, 1), THREADS, 0, queue, *t);
    return RLF_OK;
}

/* The tile's derivatives by logprob and entropy, from the loss or given. */
static rlf_status
tile_loss(rlf_queue *queue, const rlf_head_loss_args *a, tile *t, rlf_err *err)
{
    if (a->words_loss)
        return words_loss(queue, a, t, err);
    if (a->loss) {
        bool h = a->with_entropy;
        return a->loss(a->loss_ctx, queue, t->first, t->n, t->logprob,
                       h ? t->entropy : NULL, t->dlogprob,
                       h ? t->dentropy : NULL, err);
    }
    const float *h = a->dentropy ? a->dentropy + t->first : NULL;
    RLF_TRY(copy_floats(queue, t->dlogprob, a->dlogprob + t->first, t->n, err));
    return h ? copy_floats(queue, t->dentropy, h, t->n, err) : RLF_OK;
}

/* The derivatives by its logits. */
static void
slope(rlf_queue *queue, const tile *t)
{
    dim3 blocks = blocks_for(t->n * t->n_chunks, THREADS / WARP);
    if (t->a.near)
        RLF_LAUNCH(near_slope_kernel, blocks, THREADS, 0, queue, *t);
    else
        RLF_LAUNCH(slope_kernel, blocks, THREADS, 0, queue, *t);
}

static rlf_status
tile_products(rlf_queue *queue, const rlf_head_loss_args *args, const tile *t,
              rlf_err *err)
{
    const head_args *a = &t->a;
    rlf_product_args dx = {.m = t->n,
                           .n = a->d,
                           .k = t->held,
                           .x = t->dz,
                           .ldx = t->ld,
                           .packed = a->packed,
                           .form = RLF_PRODUCT_BACKWARD,
                           .c = args->dx + t->first * args->lddx,
                           .ldc = args->lddx,
                           .shards = a->part.shards,
                           .parts = &a->v,
                           .n_parts = 1};
    RLF_TRY(TYPED(rows).product(queue, &dx, err));
    rlf_product_grad_args dw = {.m = t->n,
                                .n = t->held,
                                .k = a->d,
                                .dy = t->dz,
                                .lddy = t->ld,
                                .x = a->x + t->first * a->ldx,
                                .ldx = a->ldx,
                                .dw = args->dw};
    if (args->dw)
        RLF_TRY(TYPED(rows).product_grad(queue, &dw, err));
    rlf_bias_grad_args db = {.m = t->n,
                             .n = t->held,
                             .dy = t->dz,
                             .lddy = t->ld,
                             .db = args->dbias};
    return args->dbias ? TYPED(rows).bias_grad(queue, &db, err) : RLF_OK;
}

rlf_status
TYPED(head_loss)(rlf_queue *queue, const rlf_head_loss_args *args, rlf_err *err)
{
    tile t;
    rlf_head_loss_args l = *args;
    const rlf_head_logprob_args *f = &l.forward;
    NEED(l.loss || l.words_loss || l.dlogprob || f->m == 0, "head_loss");
    bool entropy = l.loss ? l.with_entropy : l.dentropy != NULL;
    NEED(!l.words_loss || !(f->words || entropy), "head_loss of words");
    head_args a = forward_args(f, entropy || f->entropy);
    a.words = l.words_loss != NULL;
    a.near = BY_PIECES && !a.words && a.cap == 0;
    a.brief = a.near;
    l.lddx = or_dense(l.lddx, a.d);
    RLF_TRY(TYPED(head_open)(queue, &a, f->work, f->work_bytes, &t, err));
    RLF_TRY(rlf_queue_set(queue, t.dentropy, 0, (size_t)t.rows * 4, err));
    for (t.first = 0; t.first < a.m; t.first += t.rows) {
        t.n = a.m - t.first < t.rows ? a.m - t.first : t.rows;
        RLF_TRY(TYPED(head_logits)(queue, &t, err));
        RLF_TRY(give_tile(queue, &t, f->logprob, f->entropy, err));
        RLF_TRY(tile_loss(queue, &l, &t, err));
        slope(queue, &t);
        RLF_TRY(tile_products(queue, &l, &t, err));
    }
    return CUDA(launched)("head_loss", err);
}
