/* The gradient of attention on packed sequences.
 *
 * Per (sequence, key/value head) and block of 64 keys, the probabilities are
 * made again from the saved log of the sum:
 *   p = exp(s - lse), dp = do v, ds = p (dp - do o) scale
 * with a soft cap c: s = c t, t = tanh(scale q k / c), ds times 1 - t^2
 *   dq += ds k (keys in order), dk += ds q, dv += p do (rows in order of
 *   query head, sequence and token)
 * A sequence's results depend on nothing outside it but what it shares: the
 * sequences of one root are one task. */
#include "kernels/cpu/ops.h"

#define BLOCK 64
#define ROWS 6
#define MAX_D RLF_MOST_HEAD
#define MOST_PARTS RLF_MOST_SHARDS

typedef struct row {
    const float *q, *d_o;
    float *dq;
    float lse, dot;
    int64_t lo, hi;
} row;

/* s[r][j] = sum over i of x[r][i] * t[i * 64 + j], j in the vectors of
 * `first`..`last`-1. */
INLINE void
dot_block(const float *const *x, const int n, const float *t, int first,
          int last, int64_t d, float s[][BLOCK])
{
    for (int at = first; at < last; at += 2) {
        const float *base = t + at * VL;
        vf acc[ROWS][2];
        UNROLL for (int r = 0; r < n; r++) acc[r][0] = acc[r][1] = vset(0);
        for (int64_t i = 0; i < d; i++) {
            vf k0 = vload(base + i * BLOCK), k1 = vload(base + i * BLOCK + VL);
            UNROLL for (int r = 0; r < n; r++)
            {
                vf y = vset(x[r][i]);
                acc[r][0] = vfma(y, k0, acc[r][0]);
                acc[r][1] = vfma(y, k1, acc[r][1]);
            }
        }
        UNROLL for (int r = 0; r < n; r++)
        {
            vstore(s[r] + at * VL, acc[r][0]);
            vstore(s[r] + (at + 1) * VL, acc[r][1]);
        }
    }
}

/* Vectors of a strip: as many as the registers hold beside the rows'. */
#define STRIP (VL == 16 ? 3 : 2)

/* For keys lo..hi-1, w[r][j] weighs row r and key j: */
typedef struct strip {
    const float *const *x; /* out[j] += sum over r of w[r][j] x[r] */
    row *rows;             /* dq[r] += sum over j of w[r][j] k[j] */
    float (*w)[BLOCK];
    int64_t lo, hi;
    float *out;
    const float *k;
    int64_t ld;
} strip;

/* nv vectors from element i, the last with `part` elements. */
INLINE void
outer_strip(const strip *s, const int n, int64_t i, const int nv, int64_t part)
{
    vf y[ROWS][STRIP];
    UNROLL for (int r = 0; r < n; r++) UNROLL for (int v = 0; v < nv; v++)
        y[r][v] = load_part(s->x[r] + i + v * VL, v < nv - 1 ? VL : part);
    for (int64_t j = s->lo; j < s->hi; j++) {
        float *out = s->out + j * s->ld + i;
        vf acc[STRIP];
        UNROLL for (int v = 0; v < nv; v++) acc[v] =
            load_part(out + v * VL, v < nv - 1 ? VL : part);
        UNROLL for (int r = 0; r < n; r++)
        {
            vf w = vset(s->w[r][j]);
            UNROLL for (int v = 0; v < nv; v++) acc[v] =
                vfma(w, y[r][v], acc[v]);
        }
        UNROLL for (int v = 0; v < nv; v++)
            store_part(out + v * VL, acc[v], v < nv - 1 ? VL : part);
    }
}

INLINE void
keys_strip(const strip *s, const int n, int64_t i, const int nv, int64_t part)
{
    vf acc[ROWS][STRIP];
    UNROLL for (int r = 0; r < n; r++) UNROLL for (int v = 0; v < nv; v++)
        acc[r][v] =
            load_part(s->rows[r].dq + i + v * VL, v < nv - 1 ? VL : part);
    for (int64_t j = s->lo; j < s->hi; j++) {
        const float *k = s->k + j * s->ld + i;
        vf y[STRIP];
        UNROLL for (int v = 0; v < nv; v++) y[v] =
            load_part(k + v * VL, v < nv - 1 ? VL : part);
        UNROLL for (int r = 0; r < n; r++)
        {
            vf w = vset(s->w[r][j]);
            UNROLL for (int v = 0; v < nv; v++) acc[r][v] =
                vfma(w, y[v], acc[r][v]);
        }
    }
    UNROLL for (int r = 0; r < n; r++) UNROLL for (int v = 0; v < nv; v++)
        store_part(s->rows[r].dq + i + v * VL, acc[r][v],
                   v < nv - 1 ? VL : part);
}

// clang-format off
#define STRIPS(what)                                                        \
    INLINE void what##s(const strip *s, const int n, int64_t d)             \
    {                                                                       \
        int64_t i = 0;                                                      \
        for (; i + STRIP * VL <= d; i += STRIP * VL)                        \
            what(s, n, i, STRIP, VL);                                       \
        int64_t left = (d - i + VL - 1) / VL, part = d - i - (left - 1) * VL; \
        if (left == STRIP)                                                  \
            what(s, n, i, STRIP, part);                                     \
        else if (STRIP > 2 && left == 2)                                    \
            what(s, n, i, 2, part);                                         \
        else if (left == 1)                                                 \
            what(s, n, i, 1, part);                                         \
    }
STRIPS(outer_strip)
STRIPS(keys_strip)
// clang-format on

/* The block's keys: rows in memory and transposed copies [d][64]; what is asked
 * for of them, by the rows first_row..last_row-1. Where activations are no
 * floats, keys are copies, and so are the rows' numbers, one for each of ROWS.
 */
typedef struct block {
    const float *k, *kt, *vt;
    float *dk, *dv; /* NULL: not now */
    float *dq;      /* of the rows from first_row on; NULL: not now */
    float *copies;
    int64_t first_row, last_row;
    int64_t head; /* the first one in dq */
    int64_t ldk, lddk, lddv, lddq, d;
    float scale, cap;
} block;

/* A row's probabilities and ds, of its scores and dp with the keys in the
 * vectors of `first`..`last`-1, in their places. */
static void
weights_of(const row *r, int first, int last, const block *b, float *s,
           float *dp)
{
    const float cap = b->cap, scale = cap != 0 ? b->scale / cap : b->scale;
    vi lane;
    for (int i = 0; i < VL; i++)
        lane[i] = i;
    for (int i = first; i < last; i++) {
        vi at = lane + i * VL;
        vi seen = (vi)(at >= (int32_t)r->lo) & (vi)(at < (int32_t)r->hi);
        vf z = vload(s + i * VL) * scale, t = z;
        if (cap != 0) {
            t = vtanh(z);
            z = t * cap;
        }
        vf p = vexp(z - r->lse);
        p = vselect(seen, p, vset(0));
        vf x = p * (vload(dp + i * VL) - r->dot) * b->scale;
        x = cap != 0 ? x * vfma(-t, t, vset(1)) : x;
        vstore(s + i * VL, p);
        vstore(dp + i * VL, vselect(seen, x, vset(0)));
    }
}

INLINE void
grad_rows(row *rows, const int n, const block *b)
{
    float s[ROWS][BLOCK] __attribute__((aligned(64)));
    float dp[ROWS][BLOCK] __attribute__((aligned(64)));
    const float *q[ROWS], *d_o[ROWS];
    int64_t lo = BLOCK, hi = 0;
    for (int r = 0; r < n; r++) {
        q[r] = rows[r].q;
        d_o[r] = rows[r].d_o;
        lo = rows[r].lo < lo ? rows[r].lo : lo;
        hi = rows[r].hi > hi ? rows[r].hi : hi;
    }
    int first = (int)(lo / (2 * VL) * 2);
    int last = (int)((hi + 2 * VL - 1) / (2 * VL) * 2);
    for (int i = 0; i < 2; i++) /* a loop: compiled once */
        dot_block(i ? d_o : q, n, i ? b->vt : b->kt, first, last, b->d,
                  i ? dp : s);
    for (int r = 0; r < n; r++)
        weights_of(&rows[r], first, last, b, s[r], dp[r]);
    const strip outer[2] = {
        {.x = d_o, .w = s, .lo = lo, .hi = hi, .out = b->dv, .ld = b->lddv},
        {.x = q, .w = dp, .lo = lo, .hi = hi, .out = b->dk, .ld = b->lddk}};
    strip dq = {
        .rows = rows, .w = dp, .lo = lo, .hi = hi, .k = b->k, .ld = b->ldk};
    for (int i = 0; b->dk && i < 2; i++)
        outer_strips(&outer[i], n, b->d);
    if (b->dq)
        keys_strips(&dq, n, b->d);
}

// clang-format off
#define GRAD(n) \
    static void grad_##n(row *rows, const block *b) { grad_rows(rows, n, b); }
GRAD(1) GRAD(2) GRAD(3) GRAD(4) GRAD(5) GRAD(6)
typedef void grad_fn(row *rows, const block *b);
static grad_fn *const grads[ROWS + 1] = {
    NULL, grad_1, grad_2, grad_3, grad_4, grad_5, grad_6};
// clang-format on

static int64_t
start_of(const rlf_prefixes *p, int64_t s)
{
    return p->starts ? p->starts[s] : 0;
}

/* All rows of head h of sequence s that see some of n keys from position `from`
 * on. */
static void
grad_sequence(const rlf_attention_grad_args *a, int64_t s, int64_t h,
              int64_t from, int64_t n_keys, const block *b)
{
    int64_t d = a->d, start = start_of(&a->prefixes, s);
    int64_t base = a->offsets[s] - start, end = a->offsets[s + 1] - base;
    if (a->window && from + n_keys - 1 + a->window < end)
        end = from + n_keys - 1 + a->window;
    int64_t begin = from > start ? from : start;
    begin = begin < b->first_row - base ? b->first_row - base : begin;
    end = end > b->last_row - base ? b->last_row - base : end;
    for (int64_t t0 = begin; t0 < end; t0 += ROWS) {
        row rows[ROWS];
        int n = 0;
        for (int64_t t = t0; t < end && n < ROWS; t++) {
            int64_t lo = a->window ? t + 1 - a->window - from : 0;
            int64_t hi = t + 1 - from, i = base + t;
            const rlf_real *q = a->q + i * a->ldq + h * d;
            const rlf_real *d_o = a->d_o + i * a->lddo + h * d;
            const rlf_real *o = a->o + i * a->ldo + h * d;
            for (int64_t x = 0; x < d; x += VL) { /* of the rows behind */
                __builtin_prefetch(q + ROWS * a->ldq + x);
                __builtin_prefetch(d_o + ROWS * a->lddo + x);
                __builtin_prefetch(o + ROWS * a->ldo + x);
            }
            float *copy = b->copies ? b->copies + n * 2 * d : NULL;
            float *rest = copy ? copy + d : NULL;
            float *dq = b->dq ? b->dq + (i - b->first_row) * b->lddq : NULL;
            int64_t ld = d;
            row *r = &rows[n++];
            *r = (row){.q = rfloats(q, &ld, 1, d, copy),
                       .d_o = rfloats(d_o, &ld, 1, d, rest),
                       .dq = dq ? dq + (h - b->head) * d : NULL,
                       .lse = a->lse[i * a->heads + h],
                       .lo = lo < 0 ? 0 : lo,
                       .hi = hi > n_keys ? n_keys : hi};
            r->dot = row_dot(d_o, o, NULL, d);
        }
        grads[n](rows, b);
    }
}

/* Some keys of sequence `first` of a root whose sequences end at `last`, and
 * the sums of what sees them. */
typedef struct piece {
    int64_t first, last;
    int64_t from, n; /* positions */
    block b;
} piece;

/* All query rows of head h that see some of the keys. */
static void
grad_head(const rlf_attention_grad_args *a, const piece *p, int64_t h,
          const block *b)
{
    grad_sequence(a, p->first, h, p->from, p->n, b);
    for (int64_t s = p->first + 1; s < p->last; s++) {
        int64_t n = rlf_prefixes_sees(&a->prefixes, s, p->first) - p->from;
        if (n > 0)
            grad_sequence(a, s, h, p->from, n < p->n ? n : p->n, b);
    }
}

#if RLF_REAL_BITS == 32

/* The sums of a block that wait for others of a tree: [64, d] of dk and of dv
 * per level, behind the transposed copies. */
enum { TREE = 2 * MAX_D * BLOCK };

_Static_assert((size_t)(TREE *(1 + 6)) * 4 <= SCRATCH_BYTES &&
                   MOST_PARTS == 1 << 6,
               "room for a block at each of 6 levels");

/* to += from, rows of d. */
static void
add_block(float *to, int64_t ld, const float *from, int64_t ld_from, int64_t n,
          int64_t d)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            to[i * ld + j] += from[i * ld_from + j];
}

/* The block of the sums of a level: those of level 0 in dk and dv. */
static block
at_level(const block *b, int level, float *tree)
{
    block to = *b;
    if (level == 0)
        return to;
    to.dk = tree + (level - 1) * TREE;
    to.dv = to.dk + MAX_D * BLOCK;
    to.lddk = to.lddv = b->d;
    return to;
}

/* The group's heads from `first` on, in parts: part p adds into level
 * popcount(p), as many trees wait to be joined as p has bits. */
static void
grad_parts(const rlf_attention_grad_args *a, const piece *keys, int64_t first,
           float *tree)
{
    int64_t each = a->heads / a->kv_heads / a->parts, n = keys->n;
    const block *b = &keys->b;
    for (int p = 0; p < a->parts; p++) {
        int level = __builtin_popcount((unsigned)p);
        block to = at_level(b, level, tree);
        if (level > 0) {
            memset(to.dk, 0, (size_t)(n * b->d) * sizeof(float));
            memset(to.dv, 0, (size_t)(n * b->d) * sizeof(float));
        }
        for (int64_t h = first + p * each; h < first + (p + 1) * each; h++)
            grad_head(a, keys, h, &to);
        for (int bits = p; bits & 1; bits >>= 1, level--) {
            block under = at_level(b, level - 1, tree);
            to = at_level(b, level, tree);
            add_block(under.dk, under.lddk, to.dk, to.lddk, n, b->d);
            add_block(under.dv, under.lddv, to.dv, to.lddv, n, b->d);
        }
    }
}

/* What sees the keys of sequence s, of a root whose sequences end at `last`,
 * key/value head g. */
static void
grad_keys(const rlf_attention_grad_args *a, int64_t s, int64_t last, int64_t g,
          float *scratch)
{
    int64_t d = a->d, base = a->offsets[s], len = a->offsets[s + 1] - base;
    float *kt = scratch, *vt = kt + MAX_D * BLOCK;
    for (int64_t from = 0; from < len; from += BLOCK) {
        int64_t n = len - from < BLOCK ? len - from : BLOCK;
        int64_t at = base + from;
        piece keys = {.first = s,
                      .last = last,
                      .from = start_of(&a->prefixes, s) + from,
                      .n = n,
                      .b = {.k = a->k + at * a->ldk + g * d,
                            .kt = kt,
                            .vt = vt,
                            .dk = a->dk + at * a->lddk + g * d,
                            .dv = a->dv + at * a->lddv + g * d,
                            .dq = a->dq,
                            .last_row = a->offsets[a->n_seqs],
                            .lddq = a->lddq,
                            .ldk = a->ldk,
                            .lddk = a->lddk,
                            .lddv = a->lddv,
                            .d = d,
                            .scale = a->scale,
                            .cap = a->cap}};
        transpose(keys.b.k, a->ldk, n, d, kt);
        transpose(a->v + at * a->ldv + g * d, a->ldv, n, d, vt);
        grad_parts(a, &keys, g * (a->heads / a->kv_heads), scratch + TREE);
    }
}

/* What sees the keys of the sequences root..end-1, which share a beginning, of
 * key/value head g. */
static void
grad_root(const rlf_attention_grad_args *a, int64_t root, int64_t end,
          int64_t g, char *scratch)
{
    int64_t d = a->d, group = a->heads / a->kv_heads;
    for (int64_t t = a->offsets[root]; t < a->offsets[end]; t++) {
        memset(a->dk + t * a->lddk + g * d, 0, (size_t)d * 4);
        memset(a->dv + t * a->lddv + g * d, 0, (size_t)d * 4);
        memset(a->dq + t * a->lddq + g * group * d, 0, (size_t)(group * d) * 4);
    }
    for (int64_t s = root; s < end; s++)
        grad_keys(a, s, end, g, (float *)scratch);
}

#else

/* Sums are floats in scratch, and are rounded once: those of a part of the
 * group before the tree, in which each sum is rounded, as ranks' sums are. */
typedef struct task_memory {
    float *kt, *vt, *k, *v; /* [d][64], [64][d] */
    float *dk, *dv;         /* [64][d] */
    float *copies;
    rlf_bf16 *tree; /* [level][2][64][d] */
    float *dq;      /* [tokens][group][d] */
    int64_t tokens; /* of a sweep */
} task_memory;

static task_memory
memory_of(const rlf_attention_grad_args *a, char *scratch)
{
    int64_t d = a->d, size = d * BLOCK, levels = 0;
    int64_t group = a->heads / a->kv_heads;
    while (1 << levels < a->parts)
        levels++;
    task_memory w = {.kt = (float *)scratch};
    w.vt = w.kt + size;
    w.k = w.vt + size;
    w.v = w.k + size;
    w.dk = w.v + size;
    w.dv = w.dk + size;
    w.copies = w.dv + size;
    w.tree = (rlf_bf16 *)(w.copies + 2 * ROWS * d);
    w.dq = (float *)(w.tree + (levels + 1) * 2 * size);
    int64_t left = (int64_t)SCRATCH_BYTES / 4 - (w.dq - w.kt);
    w.tokens = left / (group * d);
    return w;
}

_Static_assert((6 * BLOCK + 2 * ROWS + 7 * BLOCK + RLF_MOST_GROUP) * MAX_D *
                       4 <=
                   SCRATCH_BYTES,
               "room for the heads of a token");

/* The sums over the group's heads, from `head` on, rounded, in w->tree[0]; or
 * dq alone. */
static void
grad_parts(const rlf_attention_grad_args *a, const piece *keys, int64_t head,
           const task_memory *w)
{
    int64_t each = a->heads / a->kv_heads / a->parts;
    int64_t n = 2 * BLOCK * keys->b.d;
    for (int p = 0; p < a->parts; p++) {
        int level = __builtin_popcount((unsigned)p);
        rlf_bf16 *to = w->tree + level * n;
        memset(w->dk, 0, (size_t)n * sizeof *w->dk);
        for (int64_t h = head + p * each; h < head + (p + 1) * each; h++)
            grad_head(a, keys, h, &keys->b);
        for (int64_t i = 0; i < n; i += VL)
            rstore(to + i, vload(w->dk + i));
        for (int bits = p; bits & 1; bits >>= 1, to -= n)
            for (int64_t i = 0; i < n; i += VL)
                rstore(to - n + i, rload(to - n + i) + rload(to + i));
    }
}

/* A sweep over keys: what they and the rows first..last-1 make of dq, of dk and
 * dv, or of both. */
typedef struct sweep {
    int64_t first, last;
    bool queries, keys;
} sweep;

/* Of the keys of sequence s. */
static void
sweep_keys(const rlf_attention_grad_args *a, const sweep *of, int64_t s,
           int64_t last, int64_t g, const task_memory *w)
{
    int64_t d = a->d, base = a->offsets[s], len = a->offsets[s + 1] - base;
    int64_t group = a->heads / a->kv_heads;
    for (int64_t from = 0; from < len; from += BLOCK) {
        int64_t n = len - from < BLOCK ? len - from : BLOCK;
        int64_t at = base + from, ldk = a->ldk, ldv = a->ldv;
        piece keys = {.first = s,
                      .last = last,
                      .from = start_of(&a->prefixes, s) + from,
                      .n = n,
                      .b = {.kt = w->kt,
                            .vt = w->vt,
                            .dk = of->keys ? w->dk : NULL,
                            .dv = w->dv,
                            .dq = of->queries ? w->dq : NULL,
                            .copies = w->copies,
                            .first_row = of->first,
                            .last_row = of->last,
                            .head = g * group,
                            .ldk = d,
                            .lddk = d,
                            .lddv = d,
                            .lddq = group * d,
                            .d = d,
                            .scale = a->scale,
                            .cap = a->cap}};
        keys.b.k = rfloats(a->k + at * ldk + g * d, &ldk, n, d, w->k);
        const float *v = rfloats(a->v + at * ldv + g * d, &ldv, n, d, w->v);
        transpose(keys.b.k, ldk, n, d, w->kt);
        transpose(v, ldv, n, d, w->vt);
        grad_parts(a, &keys, g * group, w);
        for (int64_t i = 0; of->keys && i < n; i++) {
            const rlf_bf16 *sums = w->tree + i * d;
            memcpy(a->dk + (at + i) * a->lddk + g * d, sums,
                   (size_t)d * sizeof *sums);
            memcpy(a->dv + (at + i) * a->lddv + g * d, sums + BLOCK * d,
                   (size_t)d * sizeof *sums);
        }
    }
}

static void
sweep_root(const rlf_attention_grad_args *a, const sweep *of, int64_t root,
           int64_t end, int64_t g, const task_memory *w)
{
    int64_t width = a->heads / a->kv_heads * a->d;
    int64_t n = of->last - of->first;
    if (of->queries)
        memset(w->dq, 0, (size_t)(n * width) * sizeof *w->dq);
    for (int64_t s = root; s < end; s++)
        sweep_keys(a, of, s, end, g, w);
    for (int64_t i = 0; of->queries && i < n; i++) {
        rlf_real *dq = a->dq + (of->first + i) * a->lddq + g * width;
        for (int64_t x = 0; x < width; x += VL)
            rstore_part(dq + x, load_part(w->dq + i * width + x, width - x),
                        width - x);
    }
}

/* What sees the keys of the sequences root..end-1, which share a beginning, of
 * key/value head g. */
static void
grad_root(const rlf_attention_grad_args *a, int64_t root, int64_t end,
          int64_t g, char *scratch)
{
    const task_memory w = memory_of(a, scratch);
    sweep all = {a->offsets[root], a->offsets[end], true, true};
    int64_t last = all.last;
    if (last - all.first <= w.tokens) {
        sweep_root(a, &all, root, end, g, &w);
        return;
    }
    /* dq, which has no room for all rows, is made by itself */
    all.queries = false;
    sweep_root(a, &all, root, end, g, &w);
    for (int64_t i = all.first; i < last; i += w.tokens) {
        sweep some = {i, i + w.tokens < last ? i + w.tokens : last, true,
                      false};
        sweep_root(a, &some, root, end, g, &w);
    }
}

#endif

/* A task is a root with all that share its beginning, and a key/value head. */
static void
grad_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const rlf_attention_grad_args *a = ctx;
    for (int64_t task = first; task < last; task++) {
        int64_t g = task % a->kv_heads, root = task / a->kv_heads;
        if (start_of(&a->prefixes, root) == 0)
            grad_root(a, root, rlf_prefixes_end(&a->prefixes, a->n_seqs, root),
                      g, scratch);
    }
}

rlf_status
ISA(attention_grad)(rlf_queue *queue, const rlf_attention_grad_args *args,
                    rlf_err *err)
{
    rlf_attention_grad_args a = *args;
    if (a.kv_heads <= 0 || a.heads % a.kv_heads || a.d <= 0 || a.d % 8 ||
        a.d > MAX_D || a.window < 0)
        return rlf_fail(err, RLF_USER,
                        "attention_grad: %lld heads, %lld key/value heads of "
                        "%lld with window %lld are not supported",
                        (long long)a.heads, (long long)a.kv_heads,
                        (long long)a.d, (long long)a.window);
    a.parts = a.parts ? a.parts : 1;
    NEED(a.parts > 0 && (a.parts & (a.parts - 1)) == 0 &&
             a.parts <= MOST_PARTS && a.heads / a.kv_heads % a.parts == 0,
         "attention_grad");
    a.ldq = or_dense(a.ldq, a.heads * a.d);
    a.ldo = or_dense(a.ldo, a.heads * a.d);
    a.lddo = or_dense(a.lddo, a.heads * a.d);
    a.lddq = or_dense(a.lddq, a.heads * a.d);
    a.ldk = or_dense(a.ldk, a.kv_heads * a.d);
    a.ldv = or_dense(a.ldv, a.kv_heads * a.d);
    a.lddk = or_dense(a.lddk, a.kv_heads * a.d);
    a.lddv = or_dense(a.lddv, a.kv_heads * a.d);
    NEED(rlf_prefixes_valid(&a.prefixes, a.offsets, a.n_seqs),
         "attention_grad");
    double work = 0;
    for (int64_t s = 0; s < a.n_seqs; s++) {
        double n = (double)(a.offsets[s + 1] - a.offsets[s]);
        NEED(n >= 0, "attention_grad");
        work += n * ((double)start_of(&a.prefixes, s) + 0.5 * (n + 1));
    }
    rlf_cpu_share(queue, a.n_seqs * a.kv_heads, 1,
                  10 * work * (double)(a.heads * a.d), grad_tasks, &a);
    return RLF_OK;
}
