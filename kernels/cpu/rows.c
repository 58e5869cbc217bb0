/* Operations on rows one by one: embedding, gather and scatter, sums down the
 * columns, activations, additions, casts. What adds over tokens is shared by
 * columns, so that every column adds in token order. */
#include "engine/base/half.h"
#include "kernels/cpu/panel.h"

/* Columns of one task of a sum over tokens. */
#define COLUMNS 64

static int32_t
token_at(const int32_t *tokens, const int32_t *sampled, int64_t i)
{
    int32_t token = tokens[i];
    return token < 0 && sampled ? sampled[-1 - token] : token;
}

static rlf_status
check_tokens(const int32_t *tokens, const int32_t *sampled, int64_t m,
             int64_t v, const char *op, rlf_err *err)
{
    for (int64_t i = 0; i < m; i++) {
        int32_t token = token_at(tokens, sampled, i);
        if (token < 0 || token >= v)
            return rlf_fail(err, RLF_BUG,
                            "token %d at row %lld of %s is not in 0..%lld",
                            (int)token, (long long)i, op, (long long)v - 1);
    }
    return RLF_OK;
}

/* y[0..n) += x. */
INLINE void
add_row(rlf_real *y, const rlf_real *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VL)
        rstore_part(y + i, rload_part(y + i, n - i) + rload_part(x + i, n - i),
                    n - i);
}

/* The same onto a sum of f32. */
INLINE void
add_to_sum(float *y, const rlf_real *x, int64_t n)
{
    int64_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(y + i, vload(y + i) + rload(x + i));
    if (i < n)
        vstore_n(y + i, vload_n(y + i, n - i) + rload_n(x + i, n - i), n - i);
}

static void
gather_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_rows_gather_args *a = ctx;
    for (int64_t i = first; i < last; i++) {
        rlf_real *y = a->y + i * a->ldy;
        if (a->index[i] < 0)
            memset(y, 0, (size_t)a->d * sizeof *y);
        else
            memcpy(y, a->x + a->index[i] * a->ldx, (size_t)a->d * sizeof *y);
    }
}

rlf_status
ISA(rows_gather)(rlf_queue *queue, const rlf_rows_gather_args *args,
                 rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "rows_gather");
    rlf_rows_gather_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    rlf_cpu_share(queue, a.m, 16, 30.0 * (double)a.m * (double)a.d, gather_rows,
                  &a);
    return RLF_OK;
}

/* A row of the table in f32, as activations are. */
INLINE void
round_row(const float *w, int64_t d, rlf_real *y)
{
    for (int64_t i = 0; i < d; i += VL)
        rstore_part(y + i, load_part(w + i, d - i), d - i);
}

/* A part of the table: the rows of other tokens are -0. */
static void
embed_part(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_embed_args *a = ctx;
    for (int64_t i = first; i < last; i++) {
        int64_t row = token_at(a->tokens, a->sampled, i) - a->first;
        rlf_real *y = a->y + i * a->ldy;
        if (row < 0 || row >= a->part)
            for (int64_t j = 0; j < a->d; j++)
                y[j] = rmake(-0.0f);
        else if (a->w)
            round_row(a->w + row * a->d, a->d, y);
        else
            memcpy(y, a->rows + row * a->ld_rows, (size_t)a->d * sizeof *y);
    }
}

/* The same of a table that is packed. */
static void
embed_packed(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_embed_args *a = ctx;
    const rlf_shards h = a->shards;
    const bool half = a->bf16 && sizeof(rlf_real) == sizeof(float);
    for (int64_t i = first; i < last; i++) {
        int64_t row = token_at(a->tokens, a->sampled, i) - a->first;
        const char *packed = a->packed;
        rlf_real *y = a->y + i * a->ldy;
        for (int64_t j = 0; (row < 0 || row >= a->part) && j < a->d; j++)
            y[j] = rmake(-0.0f);
        for (int s = h.first; row >= 0 && row < a->part; s++) {
            int64_t n = rlf_shard_first(a->v, h.of, s + 1) -
                        rlf_shard_first(a->v, h.of, s);
            if (row < n) {
                ISA(panel_row)(packed, a->bf16, a->d, row, y);
                break;
            }
            packed += ISA(product_packed_bytes)(n, a->d, RLF_PRODUCT_FORWARD) /
                      (half ? 2 : 1);
            row -= n;
        }
    }
}

static rlf_status
share_packed(rlf_queue *queue, rlf_embed_args *a, rlf_err *err)
{
    a->shards = rlf_shards_of(a->shards);
    a->part = a->part ? a->part : a->v;
    NEED(a->part == rlf_shards_held(a->shards, a->v) &&
             a->first == rlf_shard_first(a->v, a->shards.of, a->shards.first),
         "embed");
    rlf_cpu_share(queue, a->m, 4, 4.0 * (double)a->m * (double)a->d,
                  embed_packed, a);
    return RLF_OK;
}

rlf_status
ISA(embed)(rlf_queue *queue, const rlf_embed_args *args, rlf_err *err)
{
    rlf_embed_args a = *args;
    RLF_TRY(check_tokens(a.tokens, a.sampled, a.m, a.v, "embed", err));
    a.ldy = or_dense(a.ldy, a.d);
    if (!a.w && !a.rows && a.packed)
        return share_packed(queue, &a, err);
    a.ld_rows = or_dense(a.ld_rows, a.d);
    if (a.part || a.sampled || a.w) {
        a.part = a.part ? a.part : a.v;
        rlf_cpu_share(queue, a.m, 16, (double)a.m * (double)a.d, embed_part,
                      &a);
        return RLF_OK;
    }
    rlf_rows_gather_args gather = {.m = a.m,
                                   .d = a.d,
                                   .index = a.tokens,
                                   .x = a.rows,
                                   .ldx = a.ld_rows,
                                   .y = a.y,
                                   .ldy = a.ldy};
    return ISA(rows_gather)(queue, &gather, err);
}

/* Shared by column pieces. */
static void
scatter_columns(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_rows_scatter_args *a = ctx;
    int64_t n = last - first;
    for (int64_t i = 0; i < a->m; i++) {
        if (a->index[i] < 0)
            continue;
        rlf_real *y = a->y + a->index[i] * a->ldy + first;
        const rlf_real *x = a->x + i * a->ldx + first;
        if (a->add)
            add_row(y, x, n);
        else
            memcpy(y, x, (size_t)n * sizeof *y);
    }
}

rlf_status
ISA(rows_scatter)(rlf_queue *queue, const rlf_rows_scatter_args *args,
                  rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "rows_scatter");
    rlf_rows_scatter_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    rlf_cpu_share(queue, a.d, COLUMNS, 3.0 * (double)a.m * (double)a.d,
                  scatter_columns, &a);
    return RLF_OK;
}

/* Of a part of the table. */
static void
embed_grad_columns(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_embed_grad_args *a = ctx;
    for (int64_t i = 0; i < a->m; i++) {
        int64_t row = a->tokens[i] - a->first;
        if (row >= 0 && row < a->part)
            add_to_sum(a->dw + row * a->d + first, a->dy + i * a->lddy + first,
                       last - first);
    }
}

rlf_status
ISA(embed_grad)(rlf_queue *queue, const rlf_embed_grad_args *args, rlf_err *err)
{
    RLF_TRY(
        check_tokens(args->tokens, NULL, args->m, args->v, "embed_grad", err));
    rlf_embed_grad_args a = *args;
    a.part = a.part ? a.part : a.v;
    a.lddy = or_dense(a.lddy, a.d);
    rlf_cpu_share(queue, a.d, COLUMNS, 3.0 * (double)a.m * (double)a.d,
                  embed_grad_columns, &a);
    return RLF_OK;
}

static void
bias_columns(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_bias_grad_args *a = ctx;
    for (int64_t m = 0; m < a->m; m++)
        add_to_sum(a->db + first, a->dy + m * a->lddy + first, last - first);
}

rlf_status
ISA(bias_grad)(rlf_queue *queue, const rlf_bias_grad_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0, "bias_grad");
    rlf_bias_grad_args a = *args;
    a.lddy = or_dense(a.lddy, a.n);
    rlf_cpu_share(queue, a.n, COLUMNS, (double)a.m * (double)a.n, bias_columns,
                  &a);
    return RLF_OK;
}

/* ---- gated activations -------------------------------------------------- */

INLINE vf
inner_gelu(vf x, vf *slope)
{
    vf most = vset(-36), t = -vmax(-(x * x), most);
    vf even = vset(0), d = vset(0);
#define TERM(i, c)                 \
    even = vfma(even, t, vset(c)); \
    d = vfma(d, t, vset((2 * (i) + 1) * (c)));
#include "kernels/gelu.def"
#undef TERM
    *slope = d;
    return x * even;
}

INLINE vf
inner_gelu_tanh(vf x, vf *slope)
{
    const float k = 1.59576912f, cubic = 0.0713548163f; /* k 0.044715 */
    vf square = x * x;
    *slope = vfma(square, vset(3 * cubic), vset(k));
    return x * vfma(square, vset(cubic), vset(k));
}

/* z of the activation x * sigmoid(z), and its derivative. */
INLINE vf
inner(rlf_act act, vf x, vf *slope)
{
    *slope = vset(1);
    switch (act) {
    case RLF_ACT_SILU:
        break;
    case RLF_ACT_GELU_TANH:
        return inner_gelu_tanh(x, slope);
    case RLF_ACT_GELU:
        return inner_gelu(x, slope);
    }
    return x;
}

INLINE vf
activate(rlf_act act, vf x)
{
    vf slope;
    return x * vsigmoid(inner(act, x, &slope));
}

/* The loop `rows` once for each activation. */
#define BY_ACT(rows, a, first, last)             \
    switch ((a)->act) {                          \
    case RLF_ACT_SILU:                           \
        rows(a, RLF_ACT_SILU, first, last);      \
        break;                                   \
    case RLF_ACT_GELU_TANH:                      \
        rows(a, RLF_ACT_GELU_TANH, first, last); \
        break;                                   \
    case RLF_ACT_GELU:                           \
        rows(a, RLF_ACT_GELU, first, last);      \
        break;                                   \
    }

INLINE void
act_rows(const rlf_glu_args *a, rlf_act act, int64_t first, int64_t last)
{
    const bool gated = a->up;
    for (int64_t m = first; m < last; m++) {
        const rlf_real *gate = a->gate + m * a->ldx;
        const rlf_real *up = gated ? a->up + m * a->ldx : gate;
        rlf_real *y = a->y + m * a->ldy;
        for (int64_t i = 0; i < a->d; i += VL) {
            int64_t n = a->d - i;
            vf v = activate(act, rload_part(gate + i, n));
            rstore_part(y + i, gated ? v * rload_part(up + i, n) : v, n);
        }
    }
}

static void
glu_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_glu_args *a = ctx;
    BY_ACT(act_rows, a, first, last)
}

rlf_status
ISA(glu)(rlf_queue *queue, const rlf_glu_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "glu");
    rlf_glu_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    rlf_cpu_share(queue, a.m, 8, 20.0 * (double)a.m * (double)a.d, glu_rows,
                  &a);
    return RLF_OK;
}

rlf_status
ISA(product_glu)(rlf_queue *queue, const rlf_product_glu_args *args,
                 rlf_err *err)
{
    const rlf_product_glu_args *a = args;
    rlf_product_args product = rlf_gates_of(a);
    rlf_glu_args gate = {.m = a->m,
                         .d = a->d,
                         .gate = a->c,
                         .up = a->c + a->d,
                         .ldx = 2 * a->d,
                         .act = a->act,
                         .y = a->y,
                         .ldy = a->ldy};
    RLF_TRY(ISA(product)(queue, &product, err));
    return ISA(glu)(queue, &gate, err);
}

INLINE void
act_grad_rows(const rlf_glu_grad_args *a, rlf_act act, int64_t first,
              int64_t last)
{
    const bool gated = a->up;
    for (int64_t m = first; m < last; m++) {
        const rlf_real *gate = a->gate + m * a->ldx;
        const rlf_real *up = gated ? a->up + m * a->ldx : gate;
        const rlf_real *dy = a->dy + m * a->lddy;
        rlf_real *dgate = a->dgate + m * a->lddx;
        rlf_real *dup = gated ? a->dup + m * a->lddx : NULL;
        for (int64_t i = 0; i < a->d; i += VL) {
            int64_t n = a->d - i;
            vf g = rload_part(gate + i, n), d = rload_part(dy + i, n), slope;
            vf s = vsigmoid(inner(act, g, &slope));
            vf t = s * vfma(g * slope, 1.0f - s, vset(1));
            vf u = gated ? rload_part(up + i, n) : d;
            if (gated)
                rstore_part(dup + i, d * (g * s), n);
            rstore_part(dgate + i, gated ? d * u * t : d * t, n);
        }
    }
}

static void
glu_grad_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_glu_grad_args *a = ctx;
    BY_ACT(act_grad_rows, a, first, last)
}

rlf_status
ISA(glu_grad)(rlf_queue *queue, const rlf_glu_grad_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "glu_grad");
    rlf_glu_grad_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.lddy = or_dense(a.lddy, a.d);
    a.lddx = or_dense(a.lddx, a.d);
    rlf_cpu_share(queue, a.m, 8, 30.0 * (double)a.m * (double)a.d,
                  glu_grad_rows, &a);
    return RLF_OK;
}

/* ---- element by element ------------------------------------------------ */

static void
add_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_add_args *a = ctx;
    for (int64_t m = first; m < last; m++) {
        const rlf_real *x = a->a + m * a->lda;
        const rlf_real *y = a->b ? a->b + m * a->ldb : NULL;
        rlf_real *c = a->c + m * a->ldc;
        vf scale = vset(a->scale);
        for (int64_t i = 0; i < a->d; i += VL) {
            int64_t n = a->d - i;
            vf t = rload_part(x + i, n);
            rstore_part(
                c + i, y ? vfma(scale, rload_part(y + i, n), t) : t * scale, n);
        }
    }
}

rlf_status
ISA(add)(rlf_queue *queue, const rlf_add_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "add");
    rlf_add_args a = *args;
    a.scale = a.scale == 0 ? 1 : a.scale;
    a.lda = or_dense(a.lda, a.d);
    a.ldb = or_dense(a.ldb, a.d);
    a.ldc = or_dense(a.ldc, a.d);
    rlf_cpu_share(queue, a.m, 16, 3.0 * (double)a.m * (double)a.d, add_rows,
                  &a);
    return RLF_OK;
}

static void
clip_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_clip_args *a = ctx;
    vf high = vset(a->bound), low = vset(-a->bound);
    for (int64_t m = first; m < last; m++) {
        const rlf_real *x = a->x + m * a->ldx;
        const rlf_real *by = a->by ? a->by + m * a->ldby : x;
        rlf_real *y = a->y + m * a->ldy;
        for (int64_t i = 0; i < a->d; i += VL) {
            int64_t n = a->d - i;
            vf v = rload_part(x + i, n), at = rload_part(by + i, n);
            vi above = (vi)(at > high), below = (vi)(at < low);
            v = vselect(above, a->by ? vset(0) : high, v);
            rstore_part(y + i, vselect(below, a->by ? vset(0) : low, v), n);
        }
    }
}

rlf_status
ISA(clip)(rlf_queue *queue, const rlf_clip_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0 && args->bound > 0, "clip");
    rlf_clip_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldby = or_dense(a.ldby, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    rlf_cpu_share(queue, a.m, 16, 4.0 * (double)a.m * (double)a.d, clip_rows,
                  &a);
    return RLF_OK;
}

#define PIECE 4096 /* elements of a task on flat arrays */

static void
axpby_part(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_axpby_args *a = ctx;
    const float *x = a->x;
    float *y = a->y;
    int64_t i = first;
    vf va = vset(a->a), vb = vset(a->b);
    for (; i + VL <= last; i += VL)
        vstore(y + i, a->b == 0 ? va * vload(x + i)
                                : vfma(va, vload(x + i), vb * vload(y + i)));
    for (; i < last; i++)
        y[i] =
            a->b == 0 ? a->a * x[i] : __builtin_fmaf(a->a, x[i], a->b * y[i]);
}

rlf_status
ISA(axpby)(rlf_queue *queue, const rlf_axpby_args *args, rlf_err *err)
{
    NEED(args->n >= 0, "axpby");
    rlf_axpby_args a = *args;
    rlf_cpu_share(queue, a.n, PIECE, 3.0 * (double)a.n, axpby_part, &a);
    return RLF_OK;
}

static void
fill_part(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_fill_args *a = ctx;
    for (int64_t i = first; i < last; i++)
        a->y[i] = a->a;
}

rlf_status
ISA(fill)(rlf_queue *queue, const rlf_fill_args *args, rlf_err *err)
{
    NEED(args->n >= 0, "fill");
    rlf_fill_args a = *args;
    rlf_cpu_share(queue, a.n, PIECE, (double)a.n, fill_part, &a);
    return RLF_OK;
}

/* ---- casts ------------------------------------------------------------- */

static void
cast_part(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_cast_args *a = ctx;
    const uint16_t *x = a->x;
    const float *f = a->x;
    uint16_t *h = a->y;
    float *y = a->y;
    if (a->from == RLF_CAST_F32 && a->to == RLF_CAST_F32)
        memcpy(y + first, f + first, (size_t)(last - first) * 4);
    else if (a->to == RLF_CAST_BF16)
        for (int64_t i = first; i < last; i++)
            h[i] = rlf_f32_to_bf16(f[i]);
    else if (a->to == RLF_CAST_F16)
        for (int64_t i = first; i < last; i++)
            h[i] = rlf_f32_to_f16(f[i]);
    else if (a->from == RLF_CAST_BF16)
        for (int64_t i = first; i < last; i++)
            y[i] = rlf_bf16_to_f32(x[i]);
    else
        for (int64_t i = first; i < last; i++)
            y[i] = rlf_f16_to_f32(x[i]);
}

rlf_status
ISA(cast)(rlf_queue *queue, const rlf_cast_args *args, rlf_err *err)
{
    NEED(args->n >= 0, "cast");
    NEED(args->from == RLF_CAST_F32 || args->to == RLF_CAST_F32, "cast");
    rlf_cast_args a = *args;
    rlf_cpu_share(queue, a.n, PIECE, 6.0 * (double)a.n, cast_part, &a);
    return RLF_OK;
}
