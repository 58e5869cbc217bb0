/* The tensor operations: one table, a backend each.
 *
 * Every operation is a member of rlf_kernels with the signature
 *     rlf_status op(rlf_queue *queue, const rlf_<op>_args *args, rlf_err *err)
 * and is carried out in the order of its queue. Pointers are device memory;
 * args itself is read before the call returns. Zero rows or tokens are fine
 * and change nothing. Wrong sizes give RLF_BUG with a sentence, an option the
 * backend lacks RLF_USER; neither is silently replaced. Unset (zero) members
 * mean what their comments say. No operation knows ranks, graphs or models.
 *
 * Layout. Activations are packed rows without padding: row r of x begins at
 * x + r * ldx; an ld of 0 means "dense". So q, k, v may be views into one fused
 * row. Activations are rlf_real, in the type that kernels->real says; what is
 * float is f32 in all backends; tokens, positions, indices are int32_t.
 *
 * Bits (the law): a row's results depend on that row's inputs and the weights
 * only: not on the other rows of the batch, tiles, threads, instruction set or
 * compiler. Sums over k of products go in order, one fused multiply-add each,
 * from the value already in the output. Sums within a row (norms, softmax) are
 * 64 running lanes (element i goes to lane i % 64) folded in a binary tree.
 * Gradients of weights add token by token in order, onto the value that is
 * already there, so cutting a batch into micro-batches changes no bit.
 * "=": overwritten; "+=": added to what is there.
 *
 * Inputs and outputs do not overlap unless said ("may be x"). */
#ifndef RLF_KERNELS_KERNELS_H
#define RLF_KERNELS_KERNELS_H

#include "engine/base/status.h"
#include "engine/dev/dev.h"
#include "kernels/attention.h"
#include "kernels/real.h"
#include "kernels/shards.h"

/* ---- products ---------------------------------------------------------- */

typedef enum rlf_product_form {
    RLF_PRODUCT_FORWARD,  /* y[m, rows] = x[m, cols] w^T */
    RLF_PRODUCT_BACKWARD, /* dx[m, cols] = dy[m, rows] w */
} rlf_product_form;

/* Pack w[rows, cols], row-major as in Hugging Face files (rows = outputs of
 * the layer), for one form. Once a weight version. The packed size is
 * kernels->product_packed_bytes(rows, cols, form); its format belongs to the
 * backend (and differs between instruction sets), never save it. With
 * kernels->one_pack what is packed for FORWARD is the matrix itself, as
 * activations are, each row as long as one packed alone (so packings of
 * neighbouring rows, one after the other, are that of all of them); it serves
 * both forms, and nothing is packed for BACKWARD. Without it that is so for
 * FORWARD where all packings but the last are of a multiple of RLF_PACK_ROWS
 * rows.
 *
 * With kernels->bf16_weights numbers of bf16 can be packed as such, for FORWARD
 * and in half of the bytes (rlf_packed_bytes); both forms of product, the heads
 * and embed read them with the bits that they give for the same numbers in f32.
 */
#define RLF_PACK_ROWS 96
typedef struct rlf_product_pack_args {
    int64_t rows, cols;
    const float *w; /* may lie in host memory */
    int64_t ldw;    /* 0: cols */
    rlf_product_form form;
    bool bf16;    /* the pack is bf16: all numbers of w are of that type */
    void *packed; /* =, 64-byte aligned */
} rlf_product_pack_args;

/* Memory that a later operation touches, to be prefetched into the caches while
 * this one computes: a hint that changes no result. Block i is `floats`
 * from base + index[i] * stride on. */
typedef struct rlf_prefetch {
    const rlf_real *base;
    const int32_t *index; /* [n], host-readable */
    int64_t n, stride, floats;
} rlf_prefetch;

/* c[m, n] = start + sum over k in order of x[m, k] * w, where start is c if
 * `add`, else bias if set, else 0 (`add` with bias: c + bias).
 * For FORWARD packing n = rows and k = cols; for BACKWARD n = cols, k = rows.
 * With add = true the output of a layer goes straight onto the residual. */
typedef struct rlf_product_args {
    int64_t m, n, k;
    const rlf_real *x;
    int64_t ldx;           /* 0: k */
    const void *packed;    /* by product_pack with the same n and k */
    rlf_product_form form; /* that is meant, and packed for but with one_pack,
                              or bf16: */
    bool bf16;             /* packed as bf16, for FORWARD */
    bool by_shard;         /* of bf16 and BACKWARD: each shard of k, which has
                              no parts, was packed by itself, as of a head */
    const float *bias;     /* [n] or NULL */
    rlf_real *c;
    int64_t ldc; /* 0: n */
    bool add;
    bool c_f32; /* c is f32 (what a head gives) whatever activations are */
    /* A partial sum over each shard of k. The first begins with start, the
     * others with 0. k may be made of parts that lie side by side, each cut by
     * itself; a partial sum goes over its shard of each in order. */
    rlf_shards shards;
    const int64_t *parts; /* in all places; NULL: one, of k held here */
    const int *pieces;    /* of each part, as rlf_piece_first; NULL: zeros */
    int n_parts;
    rlf_prefetch prefetch; /* n = 0: nothing */
} rlf_product_args;

/* Activation functions, all of the form x * sigmoid(z(x)):
 *   SILU       z = x
 *   GELU_TANH  z = 2 sqrt(2/pi) (x + 0.044715 x^3): GELU's approximation by
 *              tanh (Hendrycks and Gimpel 2016), since (1 + tanh(u)) / 2 is
 *              sigmoid(2 u).
 *   GELU       z = ln(Phi(x) / Phi(-x)), Phi the normal distribution: x Phi(x),
 *              which is often written with erf. z is x times a polynomial of
 *              x^2 up to |x| = 6 (gelu.def); x Phi(x) is off by at most 1e-8
 *              beside roundings, and so is what is left beyond 6. */
typedef enum rlf_act {
    RLF_ACT_SILU,
    RLF_ACT_GELU_TANH,
    RLF_ACT_GELU,
} rlf_act;

/* y[m, d] = act(gate) * up, where c[m, 2 d] = gates beside ups = x w^T + bias
 * (if set). The bits are those of `product` followed by `glu`. Without `keep`
 * the operation uses c as scratch, and its contents are undefined afterwards.
 */
typedef struct rlf_product_glu_args {
    int64_t m, d, k;
    const rlf_real *x;
    int64_t ldx;        /* 0: k */
    const void *packed; /* [2 d, k], FORWARD */
    bool bf16;          /* packed as bf16 */
    const float *bias;  /* [2 d] or NULL */
    rlf_act act;
    rlf_real *c;        /* dense */
    bool keep;
    rlf_real *y;
    int64_t ldy; /* 0: d */
} rlf_product_glu_args;

/* The product alone: gates beside ups. */
static inline rlf_product_args
rlf_gates_of(const rlf_product_glu_args *a)
{
    return (rlf_product_args){.m = a->m,
                              .n = 2 * a->d,
                              .k = a->k,
                              .x = a->x,
                              .ldx = a->ldx,
                              .packed = a->packed,
                              .bf16 = a->bf16,
                              .bias = a->bias,
                              .c = a->c};
}

/* dw[n, k] += sum over m in order of dy[m, n] * x[m, k]. */
typedef struct rlf_product_grad_args {
    int64_t m, n, k;
    const rlf_real *dy;
    int64_t lddy; /* 0: n */
    const rlf_real *x;
    int64_t ldx; /* 0: k */
    float *dw;
    int64_t lddw; /* 0: k */
} rlf_product_grad_args;

/* db[n] += sum over m in order of dy[m, n]. */
typedef struct rlf_bias_grad_args {
    int64_t m, n;
    const rlf_real *dy;
    int64_t lddy; /* 0: n */
    float *db;
} rlf_bias_grad_args;

/* ---- rows -------------------------------------------------------------- */

/* y[m, d] = w[tokens[m] - first, d]. Tokens lie in 0..v-1 (RLF_BUG else). With
 * `part`, w has only the rows first..first+part-1; a token that is not among
 * them gives a row of -0, which changes nothing that it is added to. The rows
 * are f32, or as activations are: y is the same, for it is rounded to them; or
 * they are packed. With `sampled`, a negative token -1 - i is
 * sampled[i]: what an operation before has found, and the host does not know
 * yet. */
typedef struct rlf_embed_args {
    int64_t m, d, v;
    int64_t first, part;    /* part 0: all v rows */
    const int32_t *tokens;  /* [m] */
    const int32_t *sampled; /* or NULL */
    const float *w;         /* [v, d], dense; NULL: */
    const rlf_real *rows;   /* [v, d]; NULL: */
    const void *packed;     /* [v, d], FORWARD; each shard of v that is held is
                               packed by itself, one after the other */
    bool bf16;              /* it is packed as bf16 */
    rlf_shards shards;      /* shards of v: those that first and part are of */
    int64_t ld_rows;        /* 0: d */
    rlf_real *y;
    int64_t ldy; /* 0: d */
} rlf_embed_args;

/* dw[tokens[m] - first, d] += dy[m, d], in order of m. With `part` as above;
 * other tokens are skipped. */
typedef struct rlf_embed_grad_args {
    int64_t m, d, v;
    int64_t first, part;
    const int32_t *tokens;
    const rlf_real *dy;
    int64_t lddy; /* 0: d */
    float *dw;    /* [v, d] */
} rlf_embed_grad_args;

/* y[i, d] = x[index[i], d]; a negative index gives a row of zeros. */
typedef struct rlf_rows_gather_args {
    int64_t m, d;
    const int32_t *index; /* [m] */
    const rlf_real *x;
    int64_t ldx; /* 0: d */
    rlf_real *y;
    int64_t ldy; /* 0: d */
} rlf_rows_gather_args;

/* y[index[i], d] = or += x[i, d], in order of i; negative indices: skipped.
 * Without `add`, of equal indices the last wins. */
typedef struct rlf_rows_scatter_args {
    int64_t m, d;
    const int32_t *index; /* [m] */
    const rlf_real *x;
    int64_t ldx; /* 0: d */
    rlf_real *y;
    int64_t ldy; /* 0: d */
    bool add;
} rlf_rows_scatter_args;

/* y = x * rstd * weight, rstd = 1 / sqrt(mean(x^2) + eps), per row (groups
 * 0 or 1) or per head: a row of x holds `groups` vectors of d one after the
 * other, all with the same weight[d]. y may be x (then no gradient later). */
typedef struct rlf_rmsnorm_args {
    int64_t m, d;
    int64_t groups; /* 0: 1 */
    const rlf_real *x;
    int64_t ldx; /* 0: groups * d */
    const float *weight;
    float eps;
    rlf_real *y;
    int64_t ldy;       /* 0: groups * d */
    float *rstd;       /* [m, groups] =, for the gradient; or NULL */
    const float *sums; /* [m] of norm_sums, of rows that lie in several places,
                          without groups; may be rstd. NULL: of x itself */
    int64_t whole;     /* columns in all places, with sums */
} rlf_rmsnorm_args;

/* Sums over rows that lie in several places, d columns of each here: sums[m] =
 * those of x^2, or with dy of weight dy x, as partial sums over shards of the
 * columns, added in the tree. */
typedef struct rlf_norm_sums_args {
    int64_t m, d;
    const rlf_real *x;
    int64_t ldx;         /* 0: d */
    const rlf_real *dy;  /* or NULL */
    int64_t lddy;        /* 0: d */
    const float *weight; /* [d], with dy */
    rlf_shards shards;
    int64_t whole; /* columns in all places */
    int pieces;    /* that they lie in, as rlf_piece_first */
    float *sums;
} rlf_norm_sums_args;

/* The ends of the shards held here, in columns; shards are complete. Returns
 * whether they make up d. */
static inline bool
rlf_norm_sums_ends(const rlf_norm_sums_args *a, int64_t end[RLF_MOST_SHARDS])
{
    const rlf_shards h = a->shards;
    int64_t first = rlf_piece_first(a->whole, a->pieces, h.of, h.first);
    for (int s = 0; s < h.count; s++)
        end[s] =
            rlf_piece_first(a->whole, a->pieces, h.of, h.first + s + 1) - first;
    return end[h.count - 1] == a->d;
}

/* dx = or += rstd (w dy - x rstd^2 mean(w dy x)); dweight += in order of (m,
 * group) of dy x rstd (in bf16: by tiles of rows, which begin anew in each
 * call). dx may be dy. dweight NULL: not wanted. With `shards`, which divides
 * `groups`, dweight is [shards, d]: a sum each for as many neighbouring groups.
 */
typedef struct rlf_rmsnorm_grad_args {
    int64_t m, d;
    int64_t groups; /* 0: 1 */
    const rlf_real *x;
    int64_t ldx; /* 0: groups * d */
    const float *weight;
    const float *rstd; /* [m, groups] of the forward call */
    const rlf_real *dy;
    int64_t lddy; /* 0: groups * d */
    rlf_real *dx;
    int64_t lddx; /* 0: groups * d */
    bool add;     /* dx += (the residual's gradient is there already) */
    float *dweight;
    int shards;        /* 0: 1 */
    const float *sums; /* [m] of norm_sums with dy, without groups; or NULL */
    int64_t whole;     /* columns in all places, with sums */
} rlf_rmsnorm_grad_args;

/* y = (x - mean) rstd weight + bias, with mean(x) and rstd = 1 / sqrt(
 * mean((x - mean)^2) + eps) of each row, or of each head: a row of x holds
 * `groups` vectors of d one after the other, each with weights of its own. y
 * may be x (then no gradient later). */
typedef struct rlf_layernorm_args {
    int64_t m, d;
    int64_t groups; /* 0: 1 */
    const rlf_real *x;
    int64_t ldx;         /* 0: groups * d */
    const float *weight; /* [groups, d] or NULL: 1 */
    const float *bias;   /* the bias, or NULL; also where there is no weight */
    float eps;
    rlf_real *y;
    int64_t ldy;        /* 0: groups * d */
    float *mean, *rstd; /* [m, groups] =, for the gradient; or NULL */
} rlf_layernorm_args;

/* With t = (x - mean) rstd and g = weight dy:
 * dx = or += rstd (g - mean(g) - t mean(g t)); dweight += in order of rows of
 * dy t, dbias += of dy. dx may be dy. dweight, dbias NULL: not wanted. */
typedef struct rlf_layernorm_grad_args {
    int64_t m, d;
    int64_t groups; /* 0: 1 */
    const rlf_real *x;
    int64_t ldx;              /* 0: groups * d */
    const float *weight;      /* [groups, d] or NULL: 1 */
    const float *mean, *rstd; /* [m, groups] of the forward call */
    const rlf_real *dy;
    int64_t lddy; /* 0: groups * d */
    rlf_real *dx;
    int64_t lddx; /* 0: groups * d */
    bool add;     /* dx += (the residual's gradient is there already) */
    float *dweight, *dbias; /* [groups, d] */
} rlf_layernorm_grad_args;

/* cos, sin [n, half]: of the angle float(position) * inv_freq[i] (rounded to
 * f32 as the reference models do), times `scale` (0: 1; some rope scalings).
 * Positions first..first + n - 1. Once a model. */
typedef struct rlf_rope_table_args {
    int64_t first, n, half;
    const float *inv_freq; /* [half] */
    float scale;
    float *cos, *sin; /* [n, half] = */
} rlf_rope_table_args;

/* Rotate the first 2 * half of each head's d elements: element i pairs with
 * i + half (Hugging Face's convention); the rest is copied.
 *   y1 = x1 cos - x2 sin, y2 = x2 cos + x1 sin; back: sin -> -sin
 * (the gradient is the rotation back). y may be x. */
typedef struct rlf_rope_args {
    int64_t m, heads, d, half;
    const int32_t *positions; /* [m], each < n_positions */
    int64_t n_positions;
    const float *cos, *sin; /* cosines and sines of rope_table */
    const rlf_real *x;
    int64_t ldx; /* 0: heads * d */
    rlf_real *y;
    int64_t ldy; /* 0: heads * d */
    bool back;
} rlf_rope_args;

/* A gated linear unit: y = act(gate) * up. Without `up`, y = act(gate), and y
 * may be gate. */
typedef struct rlf_glu_args {
    int64_t m, d;
    const rlf_real *gate, *up; /* up NULL: 1 */
    int64_t ldx;               /* the leading dimension of gate and up; 0: d */
    rlf_act act;
    rlf_real *y;
    int64_t ldy; /* 0: d */
} rlf_glu_args;

/* dgate and dup are set; they may be gate and up themselves. Without `up`
 * there is no dup, and dgate may be dy. */
typedef struct rlf_glu_grad_args {
    int64_t m, d;
    const rlf_real *gate, *up; /* up NULL: 1 */
    int64_t ldx;               /* the leading dimension of gate and up; 0: d */
    rlf_act act;
    const rlf_real *dy;
    int64_t lddy; /* 0: d */
    rlf_real *dgate, *dup;
    int64_t lddx; /* the leading dimension of dgate and dup; 0: d */
} rlf_glu_grad_args;

/* c[m, d] = a + scale b, by one fused multiply-add; c = scale a where there is
 * no b. c may be a or b. */
typedef struct rlf_add_args {
    int64_t m, d;
    const rlf_real *a, *b; /* b NULL: none */
    int64_t lda, ldb;      /* 0: d */
    float scale;           /* 0: 1 */
    rlf_real *c;
    int64_t ldc; /* 0: d */
} rlf_add_args;

/* y[m, d] = x, but bound where it is above, and -bound where it is below; with
 * `by`, the x of that call, its derivative times x: x where `by` is within the
 * bounds or at one of them, else 0. y may be x. */
typedef struct rlf_clip_args {
    int64_t m, d;
    float bound; /* > 0 */
    const rlf_real *x;
    int64_t ldx;        /* 0: d */
    const rlf_real *by; /* or NULL */
    int64_t ldby;       /* 0: d */
    rlf_real *y;
    int64_t ldy; /* 0: d */
} rlf_clip_args;

/* y[m, d] = scale x of the numbers that are kept, and 0 of the others; with
 * `add` the fused y + scale x of those, and y of the others. Which are kept is
 * a function of the token, the module and the column alone: column j of a row,
 * counted from `first` on, has word j % 4 of Philox4x32-10 at counter (j / 4,
 * module, 0, 0) under the token's key, low word first, and is kept unless that
 * is below `below`. So the gradient is the same call, dy for x. y may be x. */
typedef struct rlf_dropout_args {
    int64_t m, d;
    int64_t first; /* the first of these columns in the rows of all places */
    uint32_t module, below; /* below 0: all are kept */
    float scale;            /* 0: 1 */
    const uint64_t *keys;   /* [tokens] */
    const int32_t *index;   /* [m] the token of each row; NULL: its number */
    const rlf_real *x;
    int64_t ldx; /* 0: d */
    rlf_real *y;
    int64_t ldy; /* 0: d */
    bool add;
} rlf_dropout_args;

/* y[i] = fma(a, x[i], b * y[i]); with b = 0, y is not read. y may be x. */
typedef struct rlf_axpby_args {
    int64_t n;
    float a, b;
    const float *x;
    float *y;
} rlf_axpby_args;

/* y[i] = a. */
typedef struct rlf_fill_args {
    int64_t n;
    float a;
    float *y;
} rlf_fill_args;

/* y[i] = x[i] in another type, rounded to nearest even (overflow: infinity,
 * NaN stays a NaN). One side is F32. */
typedef struct rlf_cast_args {
    int64_t n;
    rlf_cast_type from, to;
    const void *x;
    void *y;
} rlf_cast_args;

/* ---- head -------------------------------------------------------------- *
 *
 * logits z = cap(scale x w^T) / temperature over the whole vocabulary of v
 * tokens, where cap(y) is y, or c tanh(y / c) with a soft cap c;
 * logprob of t = z_t - log(sum exp z). The rows go in tiles: as many as `work`
 * holds (a multiple of 16, at least 16), each tile over all of the vocabulary,
 * so [rows, v] never exists; the tile's size changes no bit (in bf16: none but
 * those of dw). work has work_bytes >= kernels->head_work_bytes(16, v, d,
 * part); what head_work_bytes(rows, v, d, part) gives lets `rows` go in one
 * tile.
 * head_logprob, head_loss and sample give the same bits for the same row,
 * token, weights and temperature.
 *
 * The vocabulary may be in shards. One place holds all of them or, with
 * `share`, some: v is still the whole vocabulary and tokens are counted in it,
 * but packed, packed_back, dw and dx are of the tokens held (dx is whole when
 * all places' are added up). */

/* Hand round what each place knows: `blocks` are as many blocks of `bytes` as
 * there are places; the caller's own is filled, afterwards all are. */
typedef rlf_status rlf_head_share_fn(void *ctx, rlf_queue *queue, void *blocks,
                                     size_t bytes, rlf_err *err);

typedef struct rlf_head_part {
    /* Shards of the vocabulary, at most v; count divides first. */
    rlf_shards shards;
    rlf_head_share_fn *share; /* NULL: all are held here */
    void *ctx;
} rlf_head_part;

typedef struct rlf_head_logprob_args {
    int64_t m, v, d;
    rlf_head_part part;
    const rlf_real *x;         /* [m, d], after the final norm */
    int64_t ldx;               /* 0: d */
    const void *packed;        /* head weight [v, d], FORWARD; each shard is
                                  packed by itself, one after the other */
    bool bf16;                 /* the pack is bf16 */
    const float *bias;         /* the bias of the tokens held here; or NULL */
    float scale, cap;          /* scale 0: 1; cap 0: none */
    float temperature;         /* > 0; 0: 1 */
    const float *temperatures; /* [m], instead; or NULL */
    const int32_t *targets;    /* [m]; negative: no target, logprob 0 */
    float *logprob;            /* [m] = */
    float *entropy;            /* [m] = of the whole distribution; or NULL */
    float *words;              /* [m, v] = logprobs of all tokens, for few rows;
                                  or NULL. With `share` those that are held,
                                  in their columns. */
    void *work;
    size_t work_bytes;
} rlf_head_logprob_args;

/* The loss's part for the tile rows first..first+n-1: from logprob[n] (and
 * entropy[n], NULL unless asked) to the derivatives of the loss by them,
 * dlogprob[n] = and dentropy[n] = (NULL unless asked). Pointers are device
 * memory of the tile; work is enqueued on `queue`. */
typedef rlf_status rlf_head_tile_fn(void *ctx, rlf_queue *queue, int64_t first,
                                    int64_t n, const float *logprob,
                                    const float *entropy, float *dlogprob,
                                    float *dentropy, rlf_err *err);

/* The same for losses that look at whole distributions: words[n, v] holds the
 * logprobs of all tokens (with `share`, of those that are held), and becomes
 * the derivatives of the loss by all of them. */
typedef rlf_status rlf_head_words_fn(void *ctx, rlf_queue *queue, int64_t first,
                                     int64_t n, const float *logprob,
                                     float *words, float *dlogprob,
                                     rlf_err *err);

/* As head_logprob, then per tile the callback, then in the same pass
 *   dz_j = (dlogprob ([j = t] - p_j) - dentropy p_j (log p_j + H)) / T,
 *          times scale, and with a cap 1 - tanh(..)^2
 *   dx[m, d] = dz w (over the vocabulary in order)
 *   dw[v, d] += dz^T x (in row order)
 * or, with a callback on words, d_j the derivative by the logprob of j,
 *   dz_j = (d_j + dlogprob [j = t] - p_j (dlogprob + sum over i of d_i)) / T.
 * The callback may be NULL: then the derivatives are given ready-made in
 * `dlogprob` (and `dentropy`), for losses that are not pointwise.
 * dw NULL: not wanted (a frozen head). A row without target has dlogprob
 * ignored. */
typedef struct rlf_head_loss_args {
    rlf_head_logprob_args forward; /* logprob may be NULL: not wanted */
    const void *packed_back;       /* head weight, BACKWARD, in one; not read
                                      with one_pack, or of bf16 */
    rlf_head_tile_fn *loss;
    rlf_head_words_fn *words_loss; /* instead, with work for 32 rows at least;
                                      not with entropy */
    void *loss_ctx;
    bool with_entropy;     /* the callback reads entropy, sets dentropy */
    const float *dlogprob; /* [m], when loss is NULL */
    const float *dentropy; /* [m] or NULL, when loss is NULL */
    rlf_real *dx;
    int64_t lddx; /* 0: d */
    float *dw;    /* [v, d] dense, or NULL */
    float *dbias; /* += dz of the tokens held here, in row order; or NULL */
} rlf_head_loss_args;

/* One token a row: z at the row's temperature, kept tokens by top_k (0: all),
 * then top_p (1 or 0: all; the fewest most likely tokens whose mass reaches
 * top_p of what is kept), then min_p (0: all; p >= min_p * max p), ties to the
 * smaller id; then the first token by id at which the cumulative sum of kept p
 * exceeds uniform * (their sum), with p in 2^-40s of max p (kernels/sample.h).
 * greedy: the most likely token, ties to the smaller id, logprob at
 * temperature 1. logprob is over the whole vocabulary, whatever is kept; a NaN
 * where a logit is NaN or infinity, or none is finite: callers check. */
typedef struct rlf_sample_args {
    int64_t m, v, d;
    rlf_head_part part;
    const rlf_real *x;
    int64_t ldx;        /* 0: d */
    const void *packed; /* head weight [v, d], FORWARD, shard by shard */
    bool bf16;          /* the pack is bf16 */
    const float *bias;  /* the bias of the tokens held here; or NULL */
    float scale, cap;   /* scale 0: 1; cap 0: none */
    bool greedy;
    float temperature;         /* > 0; 0: 1 */
    const float *temperatures; /* [m], instead; or NULL */
    int32_t top_k;
    float top_p, min_p;
    const double *uniform; /* [m] in [0, 1); not read when greedy */
    int32_t *tokens;       /* [m] = */
    float *logprob;        /* [m] = */
    float *entropy;        /* [m] = or NULL */
    /* On the CPU: the logits of a row over its temperature, [v], of those held
     * here; NULL: of none. */
    float *logits;
    int64_t logits_row;
    void *work;
    size_t work_bytes;
} rlf_sample_args;

/* ---- optimizer --------------------------------------------------------- */

/* AdamW (Loshchilov and Hutter 2019), element by element:
 *   g' = grad_scale g; w -= lr decay w; m = b1 m + (1 - b1) g';
 *   v = b2 v + (1 - b2) g'^2; w -= lr (m / bias1) / (sqrt(v / bias2) + eps)
 * bias1 = 1 - b1^t and bias2 = 1 - b2^t are given by the caller. */
typedef struct rlf_adamw_args {
    int64_t n;
    float *w, *m, *v; /* += */
    const float *g;
    /* With one_pack: of a matrix with rows of `cols` (which divides n), the new
     * weights as product_pack gives them. It was packed before. Or NULL. */
    void *packed;
    int64_t cols;
    float grad_scale; /* of the norm clip; exactly what it says, 0 is 0 */
    float lr, beta1, beta2, eps, decay;
    double bias1, bias2;
} rlf_adamw_args;

#define RLF_SUMSQ_BLOCK 4096

/* blocks[i] = f64 sum of x^2 over elements 4096 i .. 4096 i + 4095; total +=
 * the blocks in order (onto what is there, so tensors chain). Columns of a
 * matrix: n elements in rows of `width` that lie ld apart. */
typedef struct rlf_sumsq_args {
    int64_t n;
    const float *x;
    int64_t width, ld; /* 0: dense */
    double *blocks;    /* [ceil(n / 4096)] =, or NULL */
    double *total;     /* += or NULL */
} rlf_sumsq_args;

/* ---- expression programs ------------------------------------------------ */

/* A column of [m] numbers, or, where the program has words, of [m, v] floats.
 */
typedef struct rlf_dense_column {
    void *data;
    bool f32; /* rows are floats; else doubles */
} rlf_dense_column;

/* The first word of a row whose number is not finite, -1 if all are; what it
 * is, and what was there before. */
typedef struct rlf_nonfinite {
    int32_t word;
    float is, was;
} rlf_nonfinite;

/* A program over rows and the words of each (expr_dense.h), with the bits of
 * kernels/expr.h: f64, sums over words by lanes. */
typedef struct rlf_expr_dense_args {
    int64_t m, v; /* v at least 1 if the program has words */
    const struct rlf_expr_dense *program;
    const rlf_dense_column *inputs;  /* one each; doubles may be on the host,
                                        and change when the call returns */
    const rlf_dense_column *outputs; /* one each, on the device, =; zeros of
                                        rows in floats are positive; on words a
                                        program's only output may be an input */
    rlf_nonfinite *nonfinite;        /* [m] =, of output 0, which is on words;
                            or NULL */
} rlf_expr_dense_args;

/* ---- the table --------------------------------------------------------- */

typedef enum rlf_op {
#define OP(name, doc, flops, bytes) RLF_OP_##name,
#include "kernels/op.def"
#undef OP
    RLF_N_OPS
} rlf_op;

typedef struct rlf_kernels {
    const char *backend; /* "cpu" */
    const char *isa;     /* "v4", "v3", "portable" */
    rlf_cast_type real;  /* the type of activations */
    bool one_pack;       /* a matrix has one pack for both forms of product */
    bool bf16_weights;   /* matrices that are bf16 can be packed as such */
    size_t (*product_packed_bytes)(int64_t rows, int64_t cols,
                                   rlf_product_form form);
    int64_t head_tile; /* logits of a tile of the head that suit it */
    /* For tiles of `rows` rows of the head; see above. */
    size_t (*head_work_bytes)(int64_t rows, int64_t v, int64_t d,
                              const rlf_head_part *part); /* NULL: whole */
#define OP(name, doc, flops, bytes)                                      \
    rlf_status (*name)(rlf_queue * queue, const rlf_##name##_args *args, \
                       rlf_err *err);
#include "kernels/op.def"
#undef OP
} rlf_kernels;

/* Bytes of an activation. */
static inline size_t
rlf_real_bytes(const rlf_kernels *k)
{
    return k->real == RLF_CAST_F32 ? 4 : 2;
}

/* The activation n places behind x. */
static inline void *
rlf_real_at(const rlf_kernels *k, const void *x, int64_t n)
{
    return (char *)(uintptr_t)x + n * (int64_t)rlf_real_bytes(k);
}

/* Bytes of a packed matrix, as numbers of the table's own type or as bf16. */
static inline size_t
rlf_packed_bytes(const rlf_kernels *k, int64_t n_rows, int64_t n_cols,
                 rlf_product_form form, bool bf16)
{
    form = bf16 ? RLF_PRODUCT_FORWARD : form;
    return k->product_packed_bytes(n_rows, n_cols, form) / (bf16 ? 2 : 1);
}

/* The distance from a row of a packed matrix to the next, in activations, with
 * one_pack. */
static inline int64_t
rlf_packed_row(const rlf_kernels *k, int64_t cols)
{
    return (int64_t)(k->product_packed_bytes(1, cols, RLF_PRODUCT_FORWARD) /
                     rlf_real_bytes(k));
}

/* The best instance for this machine: x86-64-v4 (AVX-512), x86-64-v3 (AVX2
 * and fma) or portable. All give the same bits. */
const rlf_kernels *rlf_kernels_cpu(void);
/* "v4", "v3" or "portable"; NULL when this build or machine lacks it. */
const rlf_kernels *rlf_kernels_cpu_isa(const char *isa);
/* The same of bf16: "v4_bf16" (with the instruction that adds products of
 * pairs), "v4", "v3" or "portable", NULL: the best. All give the same bits. */
const rlf_kernels *rlf_kernels_cpu_bf16(const char *isa);
/* This machine executes the instructions of a name of these, whether or not
 * this build has kernels for them. Outside of select.c tests and
 * benchmarks ask it, which run emulated GPUs only where that is fast. */
bool rlf_kernels_machine_has(const char *isa);
/* The kernels of a GPU's queues (engine/dev/cuda.h), in builds with CUDA only:
 * f32 with the bits of the CPU's, and bf16. */
const rlf_kernels *rlf_kernels_cuda(void);
const rlf_kernels *rlf_kernels_cuda_bf16(void);

#endif
