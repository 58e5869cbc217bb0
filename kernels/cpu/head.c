/* The language-model head: logits of a tile of rows over the whole vocabulary,
 * and what is made of them at once: logprobs, entropies, their gradients, a
 * sampled token. Logits never exist for more than a tile.
 *
 * The vocabulary is cut at fixed places, every CHUNK tokens. Per row and chunk
 * the maximum m and s = sum of exp(z - m) (64 lanes) are kept; the row's sum
 * adds s exp(m - M) over chunks in order, in double precision. All operations
 * here share that code, so a row's logprob has the same bits in all. A
 * vocabulary in slices is cut into chunks slice by slice, and the slices' sums
 * are added in a binary tree, wherever they were made. */
#include "kernels/cpu/head.h"
#include "kernels/cpu/ops.h"

/* The vocabulary as this place sees it. Sizes are the most that a place has, so
 * that all places have the same tiles. */
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
    t->n_chunks = (longest + CHUNK - 1) / CHUNK * t->n_slices;
}

/* `bytes` of the work at *used; base NULL: only count. */
static void *
carve(char *base, size_t *used, int64_t bytes)
{
    void *p = base ? base + *used : NULL;
    *used += ((size_t)bytes + 63) / 64 * 64;
    return p;
}

/* Give out the work for tiles of t->rows rows; how much that is. */
static size_t
carve_tile(tile *t, char *base)
{
    size_t used = 0;
    int64_t rows = t->rows, n = t->n_slices;
    int64_t known = t->places * rows * (3 * n + 1);
    t->slices = carve(base, &used, n * (int64_t)sizeof(slice));
    t->chunks = carve(base, &used, t->n_chunks * (int64_t)sizeof(chunk));
    t->z = carve(base, &used, rows * t->ld * 4);
    t->parts = carve(base, &used, rows * t->n_chunks * (int64_t)sizeof(part));
    t->wholes = carve(base, &used, rows * (int64_t)sizeof(whole));
    t->known = carve(base, &used, known * (int64_t)sizeof(double));
    t->picks = carve(base, &used, t->places * rows * (int64_t)sizeof(pick));
    t->logprob = carve(base, &used, rows * 4);
    t->entropy = carve(base, &used, rows * 4);
    t->dlogprob = carve(base, &used, rows * 4);
    t->dentropy = carve(base, &used, rows * 4);
    if (t->a.whole_rows && t->places > 1) {
        t->gathered = carve(base, &used, t->places * rows * t->ld * 4);
        t->full = carve(base, &used, rows * t->a.v * 4);
    }
    if (t->a.words) {
        t->words = carve(base, &used, rows * t->a.v * 4);
        t->sums = carve(base, &used, rows * (int64_t)sizeof(double));
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
ISA(head_work_bytes)(int64_t rows, int64_t v, int64_t d,
                     const rlf_head_part *held)
{
    tile t = {.a = {.v = v, .d = d}};
    if (held)
        t.a.part = *held;
    divide(&t);
    size_t bytes = tile_bytes(&t, (rows + 15) / 16 * 16);
    t.a.whole_rows = true; /* sampling may need them, of 16 rows at least */
    size_t least = t.places > 1 ? tile_bytes(&t, 16) : 0;
    return bytes > least ? bytes : least;
}

/* Fill in slices and chunks. */
static void
cut(tile *t)
{
    rlf_shards h = t->a.part.shards;
    int64_t c = 0;
    const char *packed = t->a.packed;
    for (int64_t s = 0; s < t->n_slices; s++) {
        slice *l = &t->slices[s];
        int shard = h.first + (int)s;
        int64_t from = rlf_shard_first(t->a.v, h.of, shard);
        l->from = from - t->token;
        l->n = rlf_shard_first(t->a.v, h.of, shard + 1) - from;
        l->packed = packed;
        l->chunk = c;
        packed += ISA(product_packed_bytes)(l->n, t->a.d, RLF_PRODUCT_FORWARD) /
                  (t->a.bf16 ? 2 : 1);
        for (int64_t at = 0; at < l->n; at += CHUNK)
            t->chunks[c++] = (chunk){.from = l->from + at,
                                     .n = l->n - at < CHUNK ? l->n - at : CHUNK,
                                     .slice = s};
        l->n_chunks = c - l->chunk;
    }
    t->n_chunks = c;
}

rlf_status
ISA(head_open)(const head_args *a, void *work, size_t work_bytes, tile *t,
               rlf_err *err)
{
    NEED(a->m >= 0 && a->v > 0 && a->d > 0, "the head");
    NEED(head_part_is_sound(&a->part, a->v), "the head");
    *t = (tile){.a = *a};
    t->a.ldx = or_dense(a->ldx, a->d);
    divide(t);
    RLF_TRY(head_rows(a->m, t, tile_bytes, work_bytes, err, &t->rows));
    carve_tile(t, work);
    cut(t);
    return RLF_OK;
}

float
ISA(head_scale)(const head_args *a, int64_t row)
{
    float t = a->temperatures ? a->temperatures[row] : a->temperature;
    float cold = a->greedy || t == 0 ? 1 : 1 / t;
    return a->scale == 0 || a->cap != 0 ? cold : a->scale * cold;
}

/* Of products with the weights: what tanh is taken of under the cap. */
static float
cap_scale(const head_args *a)
{
    return (a->scale == 0 ? 1 : a->scale) / a->cap;
}

static void
cap_row(float *z, int64_t n, const head_args *a)
{
    vf in = vset(cap_scale(a)), cap = vset(a->cap);
    for (int64_t i = 0; i < n; i += VL)
        store_part(z + i, vtanh(load_part(z + i, n - i) * in) * cap, n - i);
}

/* z *= scale; top: the maximum of each lane. */
INLINE void
scale_lanes(float *z, int64_t n, float scale, lanes *top)
{
    vf t[NL];
    UNROLL for (int j = 0; j < NL; j++) t[j] = top->v[j];
    for (int64_t i = 0; i < n; i += LANES)
        UNROLL for (int j = 0; j < NL; j++)
        {
            vf x = vload(z + i + j * VL) * scale;
            vstore(z + i + j * VL, x);
            t[j] = vmax(t[j], x);
        }
    UNROLL for (int j = 0; j < NL; j++) top->v[j] = t[j];
}

/* Add e^u, and e^u u if `entropy`, a constant. */
INLINE void
add_exp(vf u, vf *sum, vf *mean, const bool entropy)
{
    vf e = vexp(u);
    *sum += e;
    if (entropy)
        *mean += vselect((vi)(e == 0), vset(0), e * u);
}

/* The sums over all z - m whose lanes are full, n of them. */
INLINE void
sum_lanes(const float *z, int64_t n, float m, lanes *sum, lanes *mean,
          const bool entropy)
{
    vf s[NL], t[NL];
    UNROLL for (int j = 0; j < NL; j++) s[j] = t[j] = vset(0);
    for (int64_t i = 0; i < n; i += LANES)
        UNROLL for (int j = 0; j < NL; j++)
            add_exp(vload(z + i + j * VL) - m, &s[j], &t[j], entropy);
    UNROLL for (int j = 0; j < NL; j++)
    {
        sum->v[j] = s[j];
        mean->v[j] = t[j];
    }
}

/* Scale the chunk's logits in place and measure them. */
static void
measure(float *z, int64_t n, float scale, bool entropy, part *out)
{
    const float none = -__builtin_inff();
    lanes top = lanes_set(none), sum, mean;
    int64_t full = n / LANES * LANES, vectors = n / VL * VL;
    scale_lanes(z, full, scale, &top);
    for (int64_t i = full; i < vectors; i += VL) {
        vf x = vload(z + i) * scale;
        vstore(z + i, x);
        vf *t = &top.v[(i - full) / VL];
        *t = vmax(*t, x);
    }
    float m = lanes_max(&top);
    for (int64_t i = vectors; i < n; i++) {
        z[i] *= scale;
        m = z[i] > m ? z[i] : m;
    }
    if (entropy)
        sum_lanes(z, full, m, &sum, &mean, true);
    else
        sum_lanes(z, full, m, &sum, &mean, false);
    for (int64_t i = full; i < n; i += VL) {
        int64_t j = (i - full) / VL;
        float rest[VL];
        for (int l = 0; l < VL; l++)
            rest[l] = i + l < n ? z[i + l] - m : none;
        add_exp(vload(rest), &sum.v[j], &mean.v[j], true);
    }
    *out = (part){
        .m = m, .s = lanes_sum(&sum), .t = entropy ? lanes_sum(&mean) : 0};
}

/* Rows of a logits task; the chunk's weights are reused across them. */
#define TASK_ROWS 64

static void
logits_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const tile *t = ctx;
    int64_t blocks = (t->n + TASK_ROWS - 1) / TASK_ROWS;
    for (int64_t i = first; i < last; i++) {
        const chunk *c = &t->chunks[i / blocks];
        const slice *l = &t->slices[c->slice];
        int64_t row = i % blocks * TASK_ROWS;
        int64_t rows = t->n - row < TASK_ROWS ? t->n - row : TASK_ROWS;
        int64_t from = c->from - l->from;
        rlf_product_args product = {.m = t->n,
                                    .n = l->n,
                                    .k = t->a.d,
                                    .x = t->a.x + t->first * t->a.ldx,
                                    .ldx = t->a.ldx,
                                    .packed = l->packed,
                                    .bf16 = t->a.bf16,
                                    .bias =
                                        t->a.bias ? t->a.bias + l->from : NULL,
                                    .c = (rlf_real *)(t->z + l->from),
                                    .c_f32 = true,
                                    .ldc = t->ld};
        ISA(product_part)(&product, row, rows, from, from + c->n, scratch);
        for (int64_t r = row; t->a.cap != 0 && r < row + rows; r++)
            cap_row(t->z + r * t->ld + c->from, c->n, &t->a);
        for (int64_t r = row; r < row + rows; r++)
            measure(t->z + r * t->ld + c->from, c->n,
                    ISA(head_scale)(&t->a, t->first + r), t->a.with_entropy,
                    &t->parts[r * t->n_chunks + i / blocks]);
    }
}

/* Of a slice: over its chunks in order. */
static measured
measure_slice(const tile *t, int64_t r, const slice *l)
{
    const part *parts = t->parts + r * t->n_chunks + l->chunk;
    double top = (double)parts[0].m, sum = 0, mean = 0;
    for (int64_t c = 1; c < l->n_chunks; c++)
        top = (double)parts[c].m > top ? (double)parts[c].m : top;
    for (int64_t c = 0; c < l->n_chunks; c++) {
        double down = (double)parts[c].m - top, w = rlf_exp(down);
        sum = rlf_fma((double)parts[c].s, w, sum);
        if (t->a.with_entropy && w > 0)
            mean = rlf_fma(
                rlf_fma((double)parts[c].s, down, (double)parts[c].t), w, mean);
    }
    return (measured){top, sum, mean};
}

/* The numbers that `place` knows of a row. */
static double *
known_of(const tile *t, int64_t place, int64_t r)
{
    return t->known + (place * t->n + r) * (3 * t->n_slices + 1);
}

static void
measure_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const tile *t = ctx;
    for (int64_t r = first; r < last; r++) {
        double *own = known_of(t, t->place, r);
        for (int64_t s = 0; s < t->n_slices; s++)
            ((measured *)own)[s] = measure_slice(t, r, &t->slices[s]);
        int64_t at = t->a.targets ? t->a.targets[t->first + r] - t->token : -1;
        own[3 * t->n_slices] =
            at >= 0 && at < t->held ? (double)t->z[r * t->ld + at] : 0;
    }
}

const measured *
ISA(head_slice)(const tile *t, int64_t row, int64_t s)
{
    const double *known = known_of(t, s / t->n_slices, row);
    return (const measured *)known + s % t->n_slices;
}

static measured
join(measured a, measured b)
{
    measured j = {.m = a.m > b.m ? a.m : b.m};
    double wa = rlf_exp(a.m - j.m), wb = rlf_exp(b.m - j.m);
    j.s = rlf_fma(a.s, wa, b.s * wb);
    if (wa > 0)
        j.t = rlf_fma(a.s, a.m - j.m, a.t) * wa;
    if (wb > 0)
        j.t = rlf_fma(rlf_fma(b.s, b.m - j.m, b.t), wb, j.t);
    return j;
}

/* Slices in a binary tree; entropy H = L - sum p (z - M), L = log S. */
static void
whole_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const tile *t = ctx;
    int64_t n = t->places * t->n_slices;
    for (int64_t r = first; r < last; r++) {
        measured x[RLF_MOST_SHARDS];
        for (int64_t s = 0; s < n; s++)
            x[s] = *ISA(head_slice)(t, r, s);
        for (int64_t step = 1; step < n; step *= 2)
            for (int64_t s = 0; s + step < n; s += 2 * step)
                x[s] = join(x[s], x[s + step]);
        whole *o = &t->wholes[r];
        *o = (whole){.m = x->m, .s = x->s, .log_s = rlf_ln(x->s)};
        t->entropy[r] = t->a.with_entropy ? (float)(o->log_s - x->t / x->s) : 0;
    }
}

rlf_status
ISA(head_logits)(rlf_queue *queue, tile *t, rlf_err *err)
{
    const rlf_head_part *p = &t->a.part;
    int64_t blocks = (t->n + TASK_ROWS - 1) / TASK_ROWS;
    double cells = (double)t->n * (double)t->held;
    rlf_cpu_share(queue, blocks * t->n_chunks, 1,
                  cells * (2 * (double)t->a.d + 20), logits_tasks, t);
    double sums = (double)(t->n * t->n_chunks) * 400;
    rlf_cpu_share(queue, t->n, 8, sums, measure_rows, t);
    if (t->places > 1)
        RLF_TRY(p->share(
            p->ctx, queue, t->known,
            (size_t)(t->n * (3 * t->n_slices + 1)) * sizeof(double), err));
    rlf_cpu_share(queue, t->n, 8,
                  (double)(t->n * t->n_slices * t->places) * 400, whole_rows,
                  t);
    return RLF_OK;
}

float
ISA(head_logprob_of)(const tile *t, int64_t row, float z)
{
    const whole *o = &t->wholes[row];
    return (float)(((double)z - o->m) - o->log_s);
}

/* Whole rows as log-probabilities: a task is a row and chunk. */
typedef struct spelling {
    const tile *t;
    float *out; /* [n, v] */
} spelling;

static void
word_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const spelling *s = ctx;
    const tile *t = s->t;
    for (int64_t i = first; i < last; i++) {
        int64_t r = i / t->n_chunks;
        const chunk *c = &t->chunks[i % t->n_chunks];
        const float *z = t->z + r * t->ld + c->from;
        float *out = s->out + r * t->a.v + t->token + c->from;
        for (int64_t j = 0; j < c->n; j++)
            out[j] = ISA(head_logprob_of)(t, r, z[j]);
    }
}

static void
tile_words(rlf_queue *queue, const tile *t, float *out)
{
    spelling s = {t, out};
    rlf_cpu_share(queue, t->n * t->n_chunks, 4,
                  3.0 * (double)t->n * (double)t->held, word_tasks, &s);
}

static rlf_status
check_targets(const int32_t *targets, int64_t m, int64_t v, rlf_err *err)
{
    for (int64_t i = 0; i < m; i++)
        if (targets[i] >= v)
            return rlf_fail(err, RLF_BUG,
                            "target %d of row %lld is not in a vocabulary of "
                            "%lld",
                            (int)targets[i], (long long)i, (long long)v);
    return RLF_OK;
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
                       .bf16 = a->bf16,
                       .bias = a->bias,
                       .scale = a->scale,
                       .cap = a->cap,
                       .temperature = a->temperature,
                       .temperatures = a->temperatures,
                       .targets = a->targets,
                       .with_entropy = entropy};
}

/* The place that holds a token. */
static int64_t
place_of(const tile *t, int64_t token)
{
    int64_t place = 0;
    while (place + 1 < t->places &&
           token >= rlf_shard_first(t->a.v, t->a.part.shards.of,
                                    (int)((place + 1) * t->n_slices)))
        place++;
    return place;
}

static void
tile_logprobs(const tile *t)
{
    for (int64_t r = 0; r < t->n; r++) {
        int32_t target = t->a.targets[t->first + r];
        const double *known = known_of(t, place_of(t, target), r);
        t->logprob[r] =
            target < 0
                ? 0
                : ISA(head_logprob_of)(t, r, (float)known[3 * t->n_slices]);
    }
}

rlf_status
ISA(head_logprob)(rlf_queue *queue, const rlf_head_logprob_args *args,
                  rlf_err *err)
{
    tile t;
    head_args a = forward_args(args, args->entropy != NULL);
    RLF_TRY(check_targets(args->targets, args->m, args->v, err));
    RLF_TRY(ISA(head_open)(&a, args->work, args->work_bytes, &t, err));
    for (t.first = 0; t.first < a.m; t.first += t.rows) {
        t.n = a.m - t.first < t.rows ? a.m - t.first : t.rows;
        RLF_TRY(ISA(head_logits)(queue, &t, err));
        tile_logprobs(&t);
        memcpy(args->logprob + t.first, t.logprob, (size_t)t.n * 4);
        if (args->entropy)
            memcpy(args->entropy + t.first, t.entropy, (size_t)t.n * 4);
        if (args->words)
            tile_words(queue, &t, args->words + t.first * a.v);
    }
    return RLF_OK;
}

/* ---- gradient ---------------------------------------------------------- */

/* Computes what logits z of a row's chunk, over its temperature, rise by with
 * the products that they were made of, under the cap: [n]. */
static void
cap_slopes(const float *z, int64_t n, float cold, const head_args *a,
           float *out)
{
    vf back = vset(1 / (a->cap * cold));
    vf scale = vset(a->scale == 0 ? 1 : a->scale);
    for (int64_t i = 0; i < n; i += VL) {
        vf t = load_part(z + i, n - i) * back;
        store_part(out + i, vfma(-t, t, vset(1)) * scale, n - i);
    }
}

/* Logits z of one row and chunk become dz. */
static void
slope_chunk(const tile *t, int64_t r, int64_t c)
{
    const whole *o = &t->wholes[r];
    int64_t from = t->chunks[c].from, n = t->chunks[c].n;
    float *z = t->z + r * t->ld + from;
    float m = t->parts[r * t->n_chunks + c].m;
    float scale = ISA(head_scale)(&t->a, t->first + r);
    int64_t target = t->a.targets[t->first + r];
    float g = target < 0 ? 0 : t->dlogprob[r];
    float h = t->a.with_entropy ? t->dentropy[r] : 0;
    float all = t->a.words ? (float)((double)g + t->sums[r]) : g;
    if (!t->a.words && g == 0 && h == 0) {
        memset(z, 0, (size_t)n * 4);
        return;
    }
    float capped[CHUNK];
    if (t->a.cap != 0)
        cap_slopes(z, n, scale, &t->a, capped);
    double share = rlf_exp((double)m - o->m) / o->s;
    vf f = vset((float)(-share * (double)scale));
    /* log p + H = z + shift */
    vf shift = vset((float)((double)t->entropy[r] - o->m - o->log_s));
    for (int64_t i = 0; i < n; i += VL) {
        int64_t w = n - i;
        vf x = w >= VL ? vload(z + i) : vload_n(z + i, w);
        vf e = vexp(x - m) * f;
        vf s = vset(all);
        if (h != 0)
            s = vfma(vset(h), x + shift, s);
        x = vselect((vi)(e == 0), vset(0), e * s);
        if (w >= VL)
            vstore(z + i, x);
        else
            vstore_n(z + i, x, w);
    }
    const float *d =
        t->a.words ? t->words + r * t->a.v + t->token + from : NULL;
    for (int64_t i = 0; d && i < n; i++)
        z[i] = __builtin_fmaf(d[i], scale, z[i]);
    target -= t->token;
    if (target >= from && target < from + n)
        z[target - from] = __builtin_fmaf(g, scale, z[target - from]);
    for (int64_t i = 0; t->a.cap != 0 && i < n; i++)
        z[i] *= capped[i];
}

static void
slope_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const tile *t = ctx;
    for (int64_t i = first; i < last; i++)
        slope_chunk(t, i / t->n_chunks, i % t->n_chunks);
}

/* Of each row the sum of its derivatives, in the order of the tokens. */
static void
sum_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const tile *t = ctx;
    for (int64_t r = first; r < last; r++) {
        const float *d = t->words + r * t->a.v;
        double sum = 0;
        for (int64_t j = 0; j < t->a.v; j++)
            sum += (double)d[j];
        t->sums[r] = sum;
    }
}

static rlf_status
words_loss(rlf_queue *queue, const rlf_head_loss_args *a, tile *t, rlf_err *err)
{
    tile_words(queue, t, t->words);
    RLF_TRY(a->words_loss(a->loss_ctx, queue, t->first, t->n, t->logprob,
                          t->words, t->dlogprob, err));
    rlf_cpu_share(queue, t->n, 1, 4.0 * (double)t->n * (double)t->a.v,
                  sum_tasks, t);
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
    memcpy(t->dlogprob, a->dlogprob + t->first, (size_t)t->n * 4);
    if (a->dentropy)
        memcpy(t->dentropy, a->dentropy + t->first, (size_t)t->n * 4);
    return RLF_OK;
}

#if RLF_REAL_BITS == 32
static const rlf_real *
as_activations(rlf_queue *queue, tile *t)
{
    (void)queue;
    return t->z;
}
#else
static void
narrow_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const tile *t = ctx;
    for (int64_t r = first; r < last; r++) {
        const float *z = t->z + r * t->ld;
        rlf_real *to = (rlf_real *)(t->z + r * t->ld);
        for (int64_t i = 0; i < t->held; i += VL)
            rstore_part(to + i, load_part(z + i, t->held - i), t->held - i);
    }
}

/* The slopes, rounded, each row where it was. */
static const rlf_real *
as_activations(rlf_queue *queue, tile *t)
{
    rlf_cpu_share(queue, t->n, 1, 2.0 * (double)t->n * (double)t->held,
                  narrow_rows, t);
    return (const rlf_real *)t->z;
}
#endif

static rlf_status
tile_products(rlf_queue *queue, const rlf_head_loss_args *args, tile *t,
              rlf_err *err)
{
    const head_args *a = &t->a;
    const rlf_real *dz = as_activations(queue, t);
    const int64_t ld = t->ld * (int64_t)(sizeof(float) / sizeof *dz);
    rlf_product_args dx = {.m = t->n,
                           .n = a->d,
                           .k = t->held,
                           .x = dz,
                           .ldx = ld,
                           .packed = a->bf16 ? a->packed : args->packed_back,
                           .form = RLF_PRODUCT_BACKWARD,
                           .bf16 = a->bf16,
                           .by_shard = a->bf16,
                           .c = args->dx + t->first * args->lddx,
                           .ldc = args->lddx,
                           .shards = a->part.shards,
                           .parts = &a->v,
                           .n_parts = 1};
    RLF_TRY(ISA(product)(queue, &dx, err));
    rlf_product_grad_args dw = {.m = t->n,
                                .n = t->held,
                                .k = a->d,
                                .dy = dz,
                                .lddy = ld,
                                .x = a->x + t->first * a->ldx,
                                .ldx = a->ldx,
                                .dw = args->dw};
    if (args->dw)
        RLF_TRY(ISA(product_grad)(queue, &dw, err));
    rlf_bias_grad_args db = {
        .m = t->n, .n = t->held, .dy = dz, .lddy = ld, .db = args->dbias};
    return args->dbias ? ISA(bias_grad)(queue, &db, err) : RLF_OK;
}

rlf_status
ISA(head_loss)(rlf_queue *queue, const rlf_head_loss_args *args, rlf_err *err)
{
    tile t;
    rlf_head_loss_args l = *args;
    const rlf_head_logprob_args *f = &l.forward;
    NEED(l.loss || l.words_loss || l.dlogprob || f->m == 0, "head_loss");
    bool entropy = l.loss ? l.with_entropy : l.dentropy != NULL;
    NEED(!l.words_loss || !(f->words || entropy), "head_loss of words");
    head_args a = forward_args(f, entropy || f->entropy);
    a.words = l.words_loss != NULL;
    l.lddx = or_dense(l.lddx, a.d);
    RLF_TRY(check_targets(f->targets, f->m, f->v, err));
    RLF_TRY(ISA(head_open)(&a, f->work, f->work_bytes, &t, err));
    memset(t.dentropy, 0, (size_t)t.rows * 4);
    for (t.first = 0; t.first < a.m; t.first += t.rows) {
        t.n = a.m - t.first < t.rows ? a.m - t.first : t.rows;
        RLF_TRY(ISA(head_logits)(queue, &t, err));
        tile_logprobs(&t);
        if (f->logprob)
            memcpy(f->logprob + t.first, t.logprob, (size_t)t.n * 4);
        if (f->entropy)
            memcpy(f->entropy + t.first, t.entropy, (size_t)t.n * 4);
        RLF_TRY(tile_loss(queue, &l, &t, err));
        rlf_cpu_share(queue, t.n * t.n_chunks, 4,
                      15.0 * (double)t.n * (double)t.held, slope_tasks, &t);
        RLF_TRY(tile_products(queue, &l, &t, err));
    }
    return RLF_OK;
}
