/* The language-model head: logits of a tile of rows over the whole vocabulary,
 * and what is made of them at once: logprobs, entropies, their gradients, a
 * sampled token. Logits never exist for more than a tile.
 *
 * The vocabulary is cut at fixed places, every CHUNK tokens. Per row and chunk
 * the maximum m and s = sum of exp(z - m) (64 lanes) are kept; the row's sum
 * adds s exp(m - M) over chunks in order, in double precision. All operations
 * here share that code, so a row's logprob has the same bits in all. */
#include "kernels/cpu/head.h"
#include "kernels/cpu/ops.h"

size_t
ISA(head_work_bytes)(int64_t rows, int64_t v, int64_t d)
{
    (void)d;
    rows = (rows + 15) / 16 * 16;
    int64_t chunks = (v + CHUNK - 1) / CHUNK;
    int64_t padded = (v + LANES - 1) / LANES * LANES;
    return (size_t)(rows * (4 * padded + (int64_t)sizeof(part) * chunks +
                            (int64_t)sizeof(whole) + 4 * 4) +
                    512);
}

static char *
carve(char **at, size_t bytes)
{
    char *p = *at;
    *at += (bytes + 63) / 64 * 64;
    return p;
}

rlf_status
ISA(head_open)(const head_args *a, void *work, size_t work_bytes, tile *t,
               rlf_err *err)
{
    NEED(a->m >= 0 && a->v > 0 && a->d > 0, "the head");
    int64_t rows = (a->m + 15) / 16 * 16;
    while (rows > 16 && ISA(head_work_bytes)(rows, a->v, a->d) > work_bytes) {
        /* bytes grow linearly with rows */
        double each =
            (double)ISA(head_work_bytes)(rows, a->v, a->d) / (double)rows;
        int64_t fit = (int64_t)((double)work_bytes / each) / 16 * 16;
        rows = fit < rows && fit >= 16 ? fit : rows - 16;
    }
    if (rows < 16)
        rows = 16;
    size_t need = ISA(head_work_bytes)(rows, a->v, a->d);
    if (need > work_bytes)
        return rlf_fail(err, RLF_BUG,
                        "the head needs %zu bytes of work, not %zu", need,
                        work_bytes);
    char *at = work;
    t->a = *a;
    t->a.ldx = or_dense(a->ldx, a->d);
    t->rows = rows;
    t->n_chunks = (a->v + CHUNK - 1) / CHUNK;
    t->ld = (a->v + LANES - 1) / LANES * LANES;
    t->z = (float *)carve(&at, (size_t)(rows * t->ld) * 4);
    t->parts = (part *)carve(&at, sizeof(part) * (size_t)(rows * t->n_chunks));
    t->wholes = (whole *)carve(&at, sizeof(whole) * (size_t)rows);
    t->logprob = (float *)carve(&at, (size_t)rows * 4);
    t->entropy = (float *)carve(&at, (size_t)rows * 4);
    t->dlogprob = (float *)carve(&at, (size_t)rows * 4);
    t->dentropy = (float *)carve(&at, (size_t)rows * 4);
    return RLF_OK;
}

float
ISA(head_scale)(const head_args *a, int64_t row)
{
    float t = a->temperatures ? a->temperatures[row] : a->temperature;
    return a->greedy || t == 0 ? 1 : 1 / t;
}

/* z *= scale; top: the maximum of each lane. */
INLINE void
scale_lanes(float *z, int64_t n, float scale, lanes *top)
{
    vf t[NL];
    for (int j = 0; j < NL; j++)
        t[j] = top->v[j];
    for (int64_t i = 0; i < n; i += LANES)
        for (int j = 0; j < NL; j++) {
            vf x = vload(z + i + j * VL) * scale;
            vstore(z + i + j * VL, x);
            t[j] = vmax(t[j], x);
        }
    for (int j = 0; j < NL; j++)
        top->v[j] = t[j];
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
    for (int j = 0; j < NL; j++)
        s[j] = t[j] = vset(0);
    for (int64_t i = 0; i < n; i += LANES)
        for (int j = 0; j < NL; j++)
            add_exp(vload(z + i + j * VL) - m, &s[j], &t[j], entropy);
    for (int j = 0; j < NL; j++) {
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
        int64_t chunk = i / blocks, row = i % blocks * TASK_ROWS;
        int64_t rows = t->n - row < TASK_ROWS ? t->n - row : TASK_ROWS;
        int64_t from = chunk * CHUNK, left = t->a.v - from;
        int64_t n = left < CHUNK ? left : CHUNK;
        rlf_product_args product = {.m = t->n,
                                    .n = t->a.v,
                                    .k = t->a.d,
                                    .x = t->a.x + t->first * t->a.ldx,
                                    .ldx = t->a.ldx,
                                    .packed = t->a.packed,
                                    .c = t->z,
                                    .ldc = t->ld};
        ISA(product_part)(&product, row, rows, from, from + n, scratch);
        for (int64_t r = row; r < row + rows; r++)
            measure(t->z + r * t->ld + from, n,
                    ISA(head_scale)(&t->a, t->first + r), t->a.with_entropy,
                    &t->parts[r * t->n_chunks + chunk]);
    }
}

/* Sums over chunks in order; entropy H = L - sum p (z - M), L = log S. */
static void
whole_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const tile *t = ctx;
    for (int64_t r = first; r < last; r++) {
        const part *parts = t->parts + r * t->n_chunks;
        double top = (double)parts[0].m, sum = 0, mean = 0;
        for (int64_t c = 1; c < t->n_chunks; c++)
            top = (double)parts[c].m > top ? (double)parts[c].m : top;
        for (int64_t c = 0; c < t->n_chunks; c++) {
            double down = (double)parts[c].m - top, w = rlf_exp(down);
            sum = rlf_fma((double)parts[c].s, w, sum);
            if (t->a.with_entropy && w > 0)
                mean = rlf_fma(
                    rlf_fma((double)parts[c].s, down, (double)parts[c].t), w,
                    mean);
        }
        whole *o = &t->wholes[r];
        *o = (whole){.m = top, .s = sum, .log_s = rlf_ln(sum)};
        t->entropy[r] = t->a.with_entropy ? (float)(o->log_s - mean / sum) : 0;
    }
}

void
ISA(head_logits)(rlf_queue *queue, tile *t)
{
    int64_t blocks = (t->n + TASK_ROWS - 1) / TASK_ROWS;
    double cells = (double)t->n * (double)t->a.v;
    rlf_cpu_share(queue, blocks * t->n_chunks, 1,
                  cells * (2 * (double)t->a.d + 20), logits_tasks, t);
    rlf_cpu_share(queue, t->n, 8, (double)(t->n * t->n_chunks) * 400,
                  whole_rows, t);
}

float
ISA(head_logprob_of)(const tile *t, int64_t row, int64_t token)
{
    const whole *o = &t->wholes[row];
    return (float)(((double)t->z[row * t->ld + token] - o->m) - o->log_s);
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
                       .x = a->x,
                       .ldx = a->ldx,
                       .packed = a->packed,
                       .temperature = a->temperature,
                       .temperatures = a->temperatures,
                       .with_entropy = entropy};
}

static void
tile_logprobs(const tile *t, const int32_t *targets)
{
    for (int64_t r = 0; r < t->n; r++) {
        int32_t target = targets[t->first + r];
        t->logprob[r] = target < 0 ? 0 : ISA(head_logprob_of)(t, r, target);
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
        ISA(head_logits)(queue, &t);
        tile_logprobs(&t, args->targets);
        memcpy(args->logprob + t.first, t.logprob, (size_t)t.n * 4);
        if (args->entropy)
            memcpy(args->entropy + t.first, t.entropy, (size_t)t.n * 4);
    }
    return RLF_OK;
}

/* ---- gradient ---------------------------------------------------------- */

typedef struct slope {
    const tile *t;
    const int32_t *targets;
} slope;

/* Logits z of one row and chunk become dz. */
static void
slope_chunk(const slope *p, int64_t r, int64_t chunk)
{
    const tile *t = p->t;
    const whole *o = &t->wholes[r];
    int64_t from = chunk * CHUNK, left = t->a.v - from;
    int64_t n = left < CHUNK ? left : CHUNK;
    float *z = t->z + r * t->ld + from;
    float m = t->parts[r * t->n_chunks + chunk].m;
    float scale = ISA(head_scale)(&t->a, t->first + r);
    int32_t target = p->targets[t->first + r];
    float g = target < 0 ? 0 : t->dlogprob[r];
    float h = t->a.with_entropy ? t->dentropy[r] : 0;
    if (g == 0 && h == 0) {
        memset(z, 0, (size_t)n * 4);
        return;
    }
    double share = rlf_exp((double)m - o->m) / o->s;
    vf f = vset((float)(-share * (double)scale));
    /* log p + H = z + shift */
    vf shift = vset((float)((double)t->entropy[r] - o->m - o->log_s));
    for (int64_t i = 0; i < n; i += VL) {
        int64_t w = n - i;
        vf x = w >= VL ? vload(z + i) : vload_n(z + i, w);
        vf e = vexp(x - m) * f;
        vf s = vset(g);
        if (h != 0)
            s = vfma(vset(h), x + shift, s);
        x = vselect((vi)(e == 0), vset(0), e * s);
        if (w >= VL)
            vstore(z + i, x);
        else
            vstore_n(z + i, x, w);
    }
    if (target >= from && target < from + n)
        z[target - from] = __builtin_fmaf(g, scale, z[target - from]);
}

static void
slope_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const slope *p = ctx;
    for (int64_t i = first; i < last; i++)
        slope_chunk(p, i / p->t->n_chunks, i % p->t->n_chunks);
}

/* The tile's derivatives by logprob and entropy, from the loss or given. */
static rlf_status
tile_loss(rlf_queue *queue, const rlf_head_loss_args *a, tile *t, rlf_err *err)
{
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

static rlf_status
tile_products(rlf_queue *queue, const rlf_head_loss_args *args, const tile *t,
              rlf_err *err)
{
    const head_args *a = &t->a;
    rlf_product_args dx = {.m = t->n,
                           .n = a->d,
                           .k = a->v,
                           .x = t->z,
                           .ldx = t->ld,
                           .packed = args->packed_back,
                           .c = args->dx + t->first * args->lddx,
                           .ldc = args->lddx};
    RLF_TRY(ISA(product)(queue, &dx, err));
    rlf_product_grad_args dw = {.m = t->n,
                                .n = a->v,
                                .k = a->d,
                                .dy = t->z,
                                .lddy = t->ld,
                                .x = a->x + t->first * a->ldx,
                                .ldx = a->ldx,
                                .dw = args->dw};
    if (args->dw)
        RLF_TRY(ISA(product_grad)(queue, &dw, err));
    return RLF_OK;
}

rlf_status
ISA(head_loss)(rlf_queue *queue, const rlf_head_loss_args *args, rlf_err *err)
{
    tile t;
    rlf_head_loss_args l = *args;
    const rlf_head_logprob_args *f = &l.forward;
    NEED(l.loss || l.dlogprob || f->m == 0, "head_loss");
    bool entropy = l.loss ? l.with_entropy : l.dentropy != NULL;
    head_args a = forward_args(f, entropy || f->entropy);
    l.lddx = or_dense(l.lddx, a.d);
    RLF_TRY(check_targets(f->targets, f->m, f->v, err));
    RLF_TRY(ISA(head_open)(&a, f->work, f->work_bytes, &t, err));
    memset(t.dentropy, 0, (size_t)t.rows * 4);
    for (t.first = 0; t.first < a.m; t.first += t.rows) {
        t.n = a.m - t.first < t.rows ? a.m - t.first : t.rows;
        ISA(head_logits)(queue, &t);
        tile_logprobs(&t, f->targets);
        if (f->logprob)
            memcpy(f->logprob + t.first, t.logprob, (size_t)t.n * 4);
        if (f->entropy)
            memcpy(f->entropy + t.first, t.entropy, (size_t)t.n * 4);
        RLF_TRY(tile_loss(queue, &l, &t, err));
        slope p = {.t = &t, .targets = f->targets};
        rlf_cpu_share(queue, t.n * t.n_chunks, 4,
                      15.0 * (double)t.n * (double)a.v, slope_tasks, &p);
        RLF_TRY(tile_products(queue, &l, &t, err));
    }
    return RLF_OK;
}
