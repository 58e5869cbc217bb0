/* Attention: one row function for training, prefill and decode.
 *
 * A row (one token, one head) walks its keys in blocks of 64 from position 0
 * with a running maximum m, sum l and accumulator (online softmax, Milakov and
 * Gimelshein 2018; Dao et al. 2022). Scores add over d in order, the sum over
 * a block is 64 lanes in a tree, values add over keys in order. Rows are taken
 * several at a time for speed only: nothing crosses between them, and a row
 * never touches a key that it does not see.
 *
 * A block is four quarters of 16 keys, each somewhere in memory: a quarter of
 * a transposed copy when training, a piece of a page of the cache in decode.
 * Where a beginning that sequences share ends within a block, its keys and
 * values are copied side by side before. */
#include "kernels/cpu/heads.h"

#define BLOCK 64
#define QUARTER 16
#define QV (QUARTER / VL) /* vectors of a quarter */
#define MAX_D RLF_MOST_HEAD
#define ROWS 6
/* Tokens of a task; their rows' states are in scratch. */
#define CHUNK 128
#define MAX_GROUP RLF_MOST_GROUP

/* 64 keys: k[i][d * k_ld + j] and v[i][j * v_ld + d] of quarter i, j < 16; and
 * what scores with them are made of. A row by itself asks for what lies `ahead`
 * floats behind them, which is needed next. */
typedef struct keys {
    const float *k[4];
    const rlf_real *v[4];
    int64_t k_ld, v_ld;
    float scale, cap;
    int64_t ahead;
} keys;

typedef struct row {
    const float *q;
    float *o; /* the accumulator: in the output, where that is floats */
    rlf_real *out;
    int64_t pos; /* of its token */
    float m, l;
    int32_t lo, hi; /* the keys of the present block it sees */
} row;

/* Scratch of a task: tokens times heads of a group, with their numbers as
 * floats where activations are none; then keys. */
#define KEY_FLOATS (MAX_D * BLOCK)
#define FLOATS_OF(d) (RLF_REAL_BITS == 32 ? 0 : 2 * (d))

/* Tokens of a task, of which each has `group` rows of d elements. */
static int64_t
chunk_of(int64_t group, int64_t d)
{
    int64_t row_bytes =
        (int64_t)sizeof(row) + (1 + FLOATS_OF(d)) * (int64_t)sizeof(float);
    int64_t room = (int64_t)SCRATCH_BYTES - 3 * KEY_FLOATS * 4 - 64;
    int64_t most = room / row_bytes / group;
    return most < CHUNK ? most : CHUNK;
}

_Static_assert((sizeof(row) + 4 * (1 + FLOATS_OF(MAX_D))) * MAX_GROUP +
                       12 * KEY_FLOATS + 64 <=
                   SCRATCH_BYTES,
               "scratch for the rows of a token");

/* The parts of a task's scratch. */
typedef struct task_memory {
    float *kt;       /* [d][64] */
    float *widened;  /* [64][d], where activations are no floats */
    rlf_real *k, *v; /* [64][d] */
    float *floats;   /* of each row: q, the accumulator */
    float *lse;      /* of each row */
    row *rows;
} task_memory;

static task_memory
memory_of(char *scratch, int64_t n_rows, int64_t d)
{
    task_memory w = {.kt = (float *)scratch};
    w.widened = w.kt + KEY_FLOATS;
    w.k = (rlf_real *)(w.widened + (RLF_REAL_BITS == 32 ? 0 : KEY_FLOATS));
    w.v = w.k + KEY_FLOATS;
    w.floats = w.kt + 3 * KEY_FLOATS;
    w.lse = w.floats + n_rows * FLOATS_OF(d);
    w.rows = (row *)(w.lse + (n_rows + 15) / 16 * 16);
    return w;
}

/* Scores of n rows with the keys of `nq` quarters from `first`. */
INLINE void
score_quarters(row *const *rows, const int n, const keys *ks, int first,
               const int nq, int64_t d, float s[][BLOCK])
{
    vf acc[ROWS][4 * QV];
    UNROLL for (int r = 0; r < n; r++) UNROLL for (int i = 0; i < nq * QV; i++)
        acc[r][i] = vset(0);
    for (int64_t x = 0; x < d; x++) {
        vf k[4 * QV];
        UNROLL for (int i = 0; i < nq * QV; i++) k[i] =
            vload(ks->k[first + i / QV] + x * ks->k_ld + i % QV * VL);
        for (int i = 0; n == 1 && i < nq; i++)
            __builtin_prefetch(ks->k[first + i] + x * ks->k_ld + ks->ahead, 0,
                               2);
        UNROLL for (int r = 0; r < n; r++)
        {
            vf q = vset(rows[r]->q[x]);
            UNROLL for (int i = 0; i < nq * QV; i++) acc[r][i] =
                vfma(q, k[i], acc[r][i]);
        }
    }
    UNROLL for (int r = 0; r < n; r++) UNROLL for (int i = 0; i < nq * QV; i++)
        vstore(s[r] + first * QUARTER + i * VL, acc[r][i]);
}

/* Quarters of one pass: as many as the registers hold. */
#define PASS(n) (VL == 16 ? ((n) <= 2 ? 4 : 2) : 1)

INLINE void
score_rows(row *const *rows, const int n, const keys *ks, int first, int last,
           int64_t d, float s[][BLOCK])
{
    for (; first + PASS(n) <= last; first += PASS(n))
        score_quarters(rows, n, ks, first, PASS(n), d, s);
    for (; first < last; first++)
        score_quarters(rows, n, ks, first, 1, d, s);
}

/* A row's scores, scaled, in their places, and minus infinity for keys that it
 * does not see, in the vectors of `first`..`last`-1. Returns the highest. */
INLINE float
scale_scores(const row *r, float *s, const keys *ks, int first, int last)
{
    const float cap = ks->cap, scale = cap != 0 ? ks->scale / cap : ks->scale;
    lanes p = lanes_set(-__builtin_inff());
    vi lane;
    UNROLL for (int i = 0; i < VL; i++) lane[i] = i;
    for (int i = first; cap != 0 && i < last; i++)
        vstore(s + i * VL, vtanh(vload(s + i * VL) * scale));
    const vf by = vset(cap != 0 ? cap : scale);
    UNROLL for (int i = 0; i < NL; i++)
    {
        if (i < first || i >= last)
            continue;
        vi at = lane + i * VL;
        vi seen = (vi)(at >= r->lo) & (vi)(at < r->hi);
        p.v[i] = vselect(seen, vload(s + i * VL) * by, p.v[i]);
        vstore(s + i * VL, p.v[i]);
    }
    return lanes_max(&p);
}

/* Scaled scores become e^(s - m), whose sum is returned. */
INLINE float
exp_scores(float *s, float m, int first, int last)
{
    lanes p = lanes_set(0);
    UNROLL for (int i = 0; i < NL; i++)
    {
        if (i < first || i >= last)
            continue;
        p.v[i] = vexp(vload(s + i * VL) - m);
        vstore(s + i * VL, p.v[i]);
    }
    return lanes_sum(&p);
}

/* The scores of n rows, with the keys in the vectors of `first`..`last`-1,
 * become e^(s - m), and each row's m, l and accumulator move on. */
static void
softmax_rows(row *const *rows, int n, const keys *ks, int first, int last,
             int64_t d, float s[][BLOCK])
{
    float m[ROWS], gap[2 * VL] = {0}, keep[2 * VL];
    _Static_assert(ROWS <= 2 * VL, "a gap for each row");
    for (int r = 0; r < n; r++) {
        float top = scale_scores(rows[r], s[r], ks, first, last);
        m[r] = top > rows[r]->m ? top : rows[r]->m;
        gap[r] = rows[r]->m - m[r];
    }
    for (int r = 0; r < n; r += VL)
        vstore(keep + r, vexp(vload(gap + r)));
    for (int r = 0; r < n; r++) {
        row *to = rows[r];
        float by = to->l == 0 ? 0 : keep[r];
        if (to->l != 0 && by != 1)
            for (int64_t x = 0; x < d; x += VL)
                store_part(to->o + x, load_part(to->o + x, d - x) * by, d - x);
        to->l = __builtin_fmaf(to->l, by, exp_scores(s[r], m[r], first, last));
        to->m = m[r];
    }
}

INLINE const rlf_real *
value_of(const keys *ks, int64_t j)
{
    return ks->v[j / QUARTER] + j % QUARTER * ks->v_ld;
}

/* Vectors of a strip of values: as many sums at a time as the registers hold,
 * so that they need not wait for one another. */
#define MOST_STRIP 4
#define STRIP(n) ((n) <= (VL == 16 ? 3 : 2) ? 4 : 2)

/* Accumulators of n rows += weights s times values lo..hi-1, `w` vectors from
 * element x; `part` elements in the last. */
INLINE void
value_strip(row *const *rows, const int n, const keys *ks, int lo, int hi,
            float s[][BLOCK], int64_t x, const int w, int64_t part)
{
    vf acc[ROWS][MOST_STRIP];
    UNROLL for (int r = 0; r < n; r++) UNROLL for (int i = 0; i < w; i++)
        acc[r][i] = load_part(rows[r]->o + x + i * VL, i < w - 1 ? VL : part);
    for (int j = lo; j < hi; j++) {
        const rlf_real *v = value_of(ks, j) + x;
        for (int i = 0; n == 1 && i < w; i++)
            __builtin_prefetch(v + i * VL + ks->ahead, 0, 2);
        vf y[MOST_STRIP];
        UNROLL for (int i = 0; i < w; i++) y[i] =
            rload_part(v + i * VL, i < w - 1 ? VL : part);
        UNROLL for (int r = 0; r < n; r++)
        {
            vf p = vset(s[r][j]);
            UNROLL for (int i = 0; i < w; i++) acc[r][i] =
                vfma(p, y[i], acc[r][i]);
        }
    }
    UNROLL for (int r = 0; r < n; r++) UNROLL for (int i = 0; i < w; i++)
        store_part(rows[r]->o + x + i * VL, acc[r][i], i < w - 1 ? VL : part);
}

INLINE void
value_rows(row *const *rows, const int n, const keys *ks, int lo, int hi,
           int64_t d, float s[][BLOCK])
{
    int64_t x = 0;
    if (lo >= hi)
        return;
    for (; x + STRIP(n) * VL <= d; x += STRIP(n) * VL)
        value_strip(rows, n, ks, lo, hi, s, x, STRIP(n), VL);
    int64_t left = (d - x + VL - 1) / VL, part = d - x - (left - 1) * VL;
    if (left == 1)
        value_strip(rows, n, ks, lo, hi, s, x, 1, part);
    else if (left == 2)
        value_strip(rows, n, ks, lo, hi, s, x, 2, part);
    else if (STRIP(n) > 3 && left == 3)
        value_strip(rows, n, ks, lo, hi, s, x, 3, part);
    else if (STRIP(n) > 3 && left == 4)
        value_strip(rows, n, ks, lo, hi, s, x, 4, part);
}

/* The same of one row by itself, for rows of every group begin and end so: a
 * function of its own, which is compiled once. */
static __attribute__((noinline)) void
values_of_one(row *r, const keys *ks, int lo, int hi, int64_t d,
              float s[][BLOCK])
{
    value_rows(&r, 1, ks, lo, hi, d, s);
}

INLINE void
value_row(row *r, const keys *ks, int lo, int hi, int64_t d, float s[][BLOCK])
{
    if (lo < hi)
        values_of_one(r, ks, lo, hi, d, s);
}

/* n rows that all see something of the block. */
INLINE void
attend_rows(row *const *rows, const int n, const keys *ks, int64_t d)
{
    float s[ROWS][BLOCK] __attribute__((aligned(64)));
    int lo = BLOCK, hi = 0, all_lo = 0, all_hi = BLOCK;
    for (int r = 0; r < n; r++) {
        lo = rows[r]->lo < lo ? rows[r]->lo : lo;
        hi = rows[r]->hi > hi ? rows[r]->hi : hi;
        all_lo = rows[r]->lo > all_lo ? rows[r]->lo : all_lo;
        all_hi = rows[r]->hi < all_hi ? rows[r]->hi : all_hi;
    }
    score_rows(rows, n, ks, lo / QUARTER, (hi + QUARTER - 1) / QUARTER, d, s);
    softmax_rows(rows, n, ks, lo / VL, (hi + VL - 1) / VL, d, s);
    if (all_lo >= all_hi) {
        for (int r = 0; r < n; r++)
            value_row(rows[r], ks, rows[r]->lo, rows[r]->hi, d, s + r);
        return;
    }
    /* each row's keys in order: its own first, the shared, its own last */
    for (int r = 0; r < n; r++)
        value_row(rows[r], ks, rows[r]->lo, all_lo, d, s + r);
    if (n > 1)
        value_rows(rows, n, ks, all_lo, all_hi, d, s);
    else
        value_row(rows[0], ks, all_lo, all_hi, d, s);
    for (int r = 0; r < n; r++)
        value_row(rows[r], ks, all_hi, rows[r]->hi, d, s + r);
}

// clang-format off
#define ATTEND(n)                                                            \
    static void attend_##n(row *const *rows, const keys *ks, int64_t d)      \
    { attend_rows(rows, n, ks, d); }
ATTEND(1) ATTEND(2) ATTEND(3) ATTEND(4) ATTEND(5) ATTEND(6)
typedef void attend_fn(row *const *rows, const keys *ks, int64_t d);
static attend_fn *const attend[ROWS + 1] = {
    NULL, attend_1, attend_2, attend_3, attend_4, attend_5, attend_6};
// clang-format on

/* The part of the block from position `base` that a token at `pos` sees. */
INLINE void
see(row *r, int64_t base, int64_t window)
{
    int64_t hi = r->pos + 1 - base;
    int64_t lo = window ? r->pos + 1 - window - base : 0;
    r->lo = (int32_t)(lo < 0 ? 0 : lo > BLOCK ? BLOCK : lo);
    r->hi = (int32_t)(hi < 0 ? 0 : hi > BLOCK ? BLOCK : hi);
}

static void
attend_block(row *rows, int64_t n, const keys *ks, int64_t base, int64_t window,
             int64_t d)
{
    row *live[ROWS];
    int m = 0;
    for (int64_t i = 0; i < n; i++) {
        see(&rows[i], base, window);
        if (rows[i].lo >= rows[i].hi)
            continue;
        live[m++] = &rows[i];
        if (m == ROWS) {
            attend[m](live, ks, d);
            m = 0;
        }
    }
    if (m)
        attend[m](live, ks, d);
}

/* Row i of a task. */
static void
row_begin(const task_memory *w, int64_t i, const rlf_real *q, rlf_real *o,
          int64_t pos, int64_t d)
{
    row *r = &w->rows[i];
    *r = (row){.pos = pos, .out = o, .m = -__builtin_inff()};
#if RLF_REAL_BITS == 32
    r->q = q;
    r->o = o;
#else
    r->o = w->floats + i * FLOATS_OF(d);
    r->q = rfloats(q, &(int64_t){d}, 1, d, r->o + d);
#endif
    for (int64_t x = 0; x < d; x += VL)
        store_part(r->o + x, vset(0), d - x);
}

/* Divide by the sums; lse[i] = m + log l of row i, or NULL. */
static void
rows_end(row *rows, int64_t n, int64_t d, float *lse)
{
    for (int64_t i = 0; i < n; i++) {
        vf l = vset(rows[i].l);
        for (int64_t x = 0; x < d; x += VL) {
            vf o = load_part(rows[i].o + x, d - x);
            rstore_part(rows[i].out + x, o / l, d - x);
        }
    }
    for (int64_t i = 0; lse && i < n; i += VL) {
        vf m = vset(0), l = vset(1);
        for (int64_t j = 0; j < VL && i + j < n; j++) {
            m[j] = rows[i + j].m;
            l[j] = rows[i + j].l;
        }
        store_part(lse + i, m + vlog(l), n - i);
    }
}

/* The first block that a token at `pos` may see. */
static int64_t
first_block(int64_t pos, int64_t window)
{
    int64_t lo = window ? pos + 1 - window : 0;
    return lo > 0 ? lo / BLOCK : 0;
}

static rlf_status
check_heads(int64_t heads, int64_t kv_heads, int64_t d, int64_t window,
            const char *op, rlf_err *err)
{
    if (kv_heads <= 0 || heads % kv_heads || heads / kv_heads > MAX_GROUP ||
        d <= 0 || d % 8 || d > MAX_D || window < 0)
        return rlf_fail(err, RLF_USER,
                        "%s: %lld heads, %lld key/value heads of %lld with "
                        "window %lld are not supported",
                        op, (long long)heads, (long long)kv_heads, (long long)d,
                        (long long)window);
    return RLF_OK;
}

/* Work over all sequences: flops of n new tokens from position `start`. */
static double
pairs(int64_t n, int64_t start)
{
    return (double)n * ((double)start + 0.5 * (double)(n + 1));
}

/* ---- packed sequences -------------------------------------------------- */

/* The position of the sequence's first token of its own. */
static int64_t
start_of(const rlf_prefixes *p, int64_t s)
{
    return p->starts ? p->starts[s] : 0;
}

typedef struct packed_plan {
    rlf_attention_args a;
    int64_t chunk, n_chunks; /* of the longest sequence */
} packed_plan;

/* Keys and values of positions from..from+n-1 of sequence s, kv head g, side by
 * side in k and v [n, d]. */
static void
join_rows(const rlf_attention_args *a, int64_t s, int64_t from, int64_t n,
          int64_t g, rlf_real *k, rlf_real *v)
{
    int64_t d = a->d;
    for (int64_t i = 0, end; i < n;) {
        int64_t at =
            rlf_prefixes_row(&a->prefixes, a->offsets, s, from + i, &end);
        for (; i < n && from + i < end; i++, at++) {
            memcpy(k + i * d, a->k + at * a->ldk + g * d,
                   (size_t)d * sizeof *k);
            memcpy(v + i * d, a->v + at * a->ldv + g * d,
                   (size_t)d * sizeof *v);
        }
    }
}

/* Block of n keys of sequence s from position `from`, kv head g; its transposed
 * copy is w->kt. */
static keys
packed_keys(const rlf_attention_args *a, int64_t s, int64_t from, int64_t n,
            int64_t g, const task_memory *w)
{
    int64_t end;
    int64_t at = rlf_prefixes_row(&a->prefixes, a->offsets, s, from, &end);
    const rlf_real *k = a->k + at * a->ldk + g * a->d;
    const rlf_real *v = a->v + at * a->ldv + g * a->d;
    int64_t ldk = a->ldk, ldv = a->ldv;
    if (from + n > end) {
        join_rows(a, s, from, n, g, w->k, w->v);
        k = w->k;
        v = w->v;
        ldk = ldv = a->d;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t x = 0; x < a->d; x += VL) {
            __builtin_prefetch(k + i * ldk + x);
            __builtin_prefetch(v + i * ldv + x);
        }
    const float *floats = rfloats(k, &ldk, n, a->d, w->widened);
    transpose(floats, ldk, n, a->d, w->kt);
    keys ks = {.k_ld = BLOCK, .v_ld = ldv, .scale = a->scale, .cap = a->cap};
    for (int i = 0; i < 4; i++) {
        ks.k[i] = w->kt + i * QUARTER;
        ks.v[i] = v + i * QUARTER * ldv;
    }
    return ks;
}

/* Tokens t0..t1-1 of sequence s's own, kv head g. */
static void
packed_chunk(const rlf_attention_args *a, int64_t s, int64_t t0, int64_t t1,
             int64_t g, char *scratch)
{
    int64_t d = a->d, group = a->heads / a->kv_heads, n = 0;
    int64_t base = a->offsets[s], start = start_of(&a->prefixes, s);
    const task_memory w = memory_of(scratch, (t1 - t0) * group, d);
    for (int64_t t = t0; t < t1; t++)
        for (int64_t h = g * group; h < (g + 1) * group; h++) {
            const rlf_real *q = a->q + (base + t) * a->ldq + h * d;
            rlf_real *o = a->o + (base + t) * a->ldo + h * d;
            for (int64_t x = 0; x < d; x += VL) { /* of tokens behind */
                __builtin_prefetch(q + 8 * a->ldq + x);
                __builtin_prefetch(o + 8 * a->ldo + x, 1);
            }
            row_begin(&w, n++, q, o, start + t, d);
        }
    int64_t end = start + t1;
    for (int64_t b = first_block(start + t0, a->window); b * BLOCK < end; b++) {
        int64_t from = b * BLOCK, left = end - from;
        keys ks = packed_keys(a, s, from, left < BLOCK ? left : BLOCK, g, &w);
        attend_block(w.rows, n, &ks, from, a->window, d);
    }
    rows_end(w.rows, n, d, a->lse ? w.lse : NULL);
    for (int64_t i = 0; a->lse && i < n; i++)
        a->lse[(base + t0 + i / group) * a->heads + g * group + i % group] =
            w.lse[i];
}

static void
packed_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const packed_plan *p = ctx;
    const rlf_attention_args *a = &p->a;
    for (int64_t i = first; i < last; i++) {
        int64_t g = i % a->kv_heads, s = i / a->kv_heads % a->n_seqs;
        int64_t chunk = p->n_chunks - 1 - i / a->kv_heads / a->n_seqs;
        int64_t n = a->offsets[s + 1] - a->offsets[s];
        int64_t t0 = chunk * p->chunk;
        int64_t t1 = t0 + p->chunk < n ? t0 + p->chunk : n;
        if (t0 < t1)
            packed_chunk(a, s, t0, t1, g, scratch);
    }
}

rlf_status
ISA(attention)(rlf_queue *queue, const rlf_attention_args *args, rlf_err *err)
{
    RLF_TRY(check_heads(args->heads, args->kv_heads, args->d, args->window,
                        "attention", err));
    packed_plan p = {.a = *args};
    p.chunk = chunk_of(p.a.heads / p.a.kv_heads, p.a.d);
    rlf_attention_args *a = &p.a;
    a->ldq = or_dense(a->ldq, a->heads * a->d);
    a->ldk = or_dense(a->ldk, a->kv_heads * a->d);
    a->ldv = or_dense(a->ldv, a->kv_heads * a->d);
    a->ldo = or_dense(a->ldo, a->heads * a->d);
    NEED(rlf_prefixes_valid(&a->prefixes, a->offsets, a->n_seqs), "attention");
    double work = 0;
    for (int64_t s = 0; s < a->n_seqs; s++) {
        int64_t n = a->offsets[s + 1] - a->offsets[s];
        NEED(n >= 0, "attention");
        work += pairs(n, start_of(&a->prefixes, s));
        if ((n + p.chunk - 1) / p.chunk > p.n_chunks)
            p.n_chunks = (n + p.chunk - 1) / p.chunk;
    }
    rlf_cpu_share(queue, p.n_chunks * a->n_seqs * a->kv_heads, 1,
                  4 * work * (double)(a->heads * a->d), packed_tasks, &p);
    return RLF_OK;
}

/* ---- paged cache ------------------------------------------------------- */

/* A token's keys and values, into their slot. */
static void
write_slot(const rlf_kv_write_args *a, const rotation *r, int64_t m)
{
    int64_t ps = a->page_size, d = a->d, j = a->slots[m] % ps;
    rlf_real *page = a->kv + a->slots[m] / ps * a->page_stride;
    for (int64_t g = 0; g < a->kv_heads; g++) {
        const rlf_real *k = a->k + m * a->ldk + g * d;
        rlf_real *kt = page + g * 2 * ps * d, *v = kt + ps * d;
        rlf_real normed[MAX_D], rotated[MAX_D];
        if (a->k_weight) {
            norm(k, a->k_weight, a->eps, d, normed);
            k = normed;
        }
        if (r->half)
            rotate(r, a->positions[m], k, rotated);
        for (int64_t i = 0; i < 2 * r->half; i++)
            kt[i * ps + j] = rotated[i];
        for (int64_t i = 2 * r->half; i < d; i++)
            kt[i * ps + j] = k[i];
        memcpy(v + j * d, a->v + m * a->ldv + g * d, (size_t)d * sizeof *v);
    }
}

static void
kv_write_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_kv_write_args *a = ctx;
    rotation r = {.cos = a->cos, .sin = a->sin, .half = a->half};
    for (int64_t m = first; m < last; m++) {
        for (int64_t h = 0; r.half && h < a->heads; h++) {
            rlf_real *q = a->q + m * a->ldq + h * a->d;
            if (a->q_weight)
                norm(q, a->q_weight, a->eps, a->d, q);
            rotate(&r, a->positions[m], q, q);
        }
        if (a->slots[m] >= 0)
            write_slot(a, &r, m);
    }
}

rlf_status
ISA(kv_write)(rlf_queue *queue, const rlf_kv_write_args *args, rlf_err *err)
{
    NEED(args->page_size > 0 && args->page_size % QUARTER == 0, "kv_write");
    NEED(args->half >= 0 && 2 * args->half <= args->d && args->d <= MAX_D,
         "kv_write");
    NEED(!args->q_weight == !args->k_weight && (args->half || !args->q_weight),
         "kv_write");
    if (args->half)
        RLF_TRY(
            check_positions(args->positions, args->m, args->n_positions, err));
    rlf_kv_write_args a = *args;
    a.ldq = or_dense(a.ldq, a.heads * a.d);
    a.ldk = or_dense(a.ldk, a.kv_heads * a.d);
    a.ldv = or_dense(a.ldv, a.kv_heads * a.d);
    a.page_stride = or_dense(a.page_stride,
                             rlf_kv_page_floats(a.page_size, a.kv_heads, a.d));
    int64_t heads = 2 * a.kv_heads + (a.half ? a.heads : 0);
    rlf_cpu_share(queue, a.m, 8, 4.0 * (double)(a.m * heads * a.d),
                  kv_write_rows, &a);
    return RLF_OK;
}

/* 16 keys of a page as floats, from one element to the next: where they lie,
 * or in `kt`, which is [d][64]. */
INLINE const float *
quarter_of(const rlf_real *k, int64_t ld, int64_t d, float *kt)
{
#if RLF_REAL_BITS == 32
    (void)ld, (void)d, (void)kt;
    return k;
#else
    for (int64_t x = 0; x < d; x++)
        for (int i = 0; i < QUARTER; i += VL)
            vstore(kt + x * BLOCK + i, rload(k + x * ld + i));
    return kt;
#endif
}

/* Block b of the sequence whose page numbers are `pages`, kv head g; `end` is
 * how many positions are written. Quarters beyond are never looked at. */
static keys
paged_keys(const rlf_attention_paged_args *a, const int32_t *pages, int64_t b,
           int64_t end, int64_t g, float *kt)
{
    int64_t ps = a->page_size;
    keys ks = {.k_ld = RLF_REAL_BITS == 32 ? ps : BLOCK,
               .v_ld = a->d,
               .scale = a->scale,
               .cap = a->cap};
    for (int i = 0; i < 4; i++) {
        int64_t at = b * BLOCK + i * QUARTER;
        if (at >= end)
            break;
        const rlf_real *page = a->kv + pages[at / ps] * a->page_stride;
        const rlf_real *k = page + g * 2 * ps * a->d;
        ks.k[i] = quarter_of(k + at % ps, ps, a->d, kt + i * QUARTER);
        ks.v[i] = k + ps * a->d + at % ps * a->d;
    }
    return ks;
}

typedef struct paged_plan {
    rlf_attention_paged_args a;
    int64_t chunk, n_chunks;
} paged_plan;

static void
paged_chunk(const rlf_attention_paged_args *a, int64_t s, int64_t t0,
            int64_t t1, int64_t g, char *scratch)
{
    int64_t d = a->d, group = a->heads / a->kv_heads, n = 0;
    int64_t base = a->offsets[s], start = a->starts[s];
    const task_memory w = memory_of(scratch, (t1 - t0) * group, d);
    for (int64_t t = t0; t < t1; t++)
        for (int64_t h = g * group; h < (g + 1) * group; h++)
            row_begin(&w, n++, a->q + (base + t) * a->ldq + h * d,
                      a->o + (base + t) * a->ldo + h * d, start + t, d);
    const int32_t *pages = a->pages + s * a->ld_pages;
    int64_t end = start + t1;
    for (int64_t b = first_block(start + t0, a->window); b * BLOCK < end; b++) {
        keys ks = paged_keys(a, pages, b, end, g, w.kt);
        /* keys and values of the next head lie behind */
        ks.ahead = g + 1 < a->kv_heads ? 2 * a->page_size * d : 0;
        attend_block(w.rows, n, &ks, b * BLOCK, a->window, d);
    }
    rows_end(w.rows, n, d, NULL);
}

static void
paged_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const paged_plan *p = ctx;
    const rlf_attention_paged_args *a = &p->a;
    for (int64_t i = first; i < last; i++) {
        int64_t g = i % a->kv_heads, s = i / a->kv_heads % a->n_seqs;
        int64_t chunk = p->n_chunks - 1 - i / a->kv_heads / a->n_seqs;
        int64_t n = a->offsets[s + 1] - a->offsets[s];
        int64_t t0 = chunk * p->chunk;
        int64_t t1 = t0 + p->chunk < n ? t0 + p->chunk : n;
        if (t0 < t1)
            paged_chunk(a, s, t0, t1, g, scratch);
    }
}

rlf_status
ISA(attention_paged)(rlf_queue *queue, const rlf_attention_paged_args *args,
                     rlf_err *err)
{
    RLF_TRY(check_heads(args->heads, args->kv_heads, args->d, args->window,
                        "attention_paged", err));
    NEED(args->page_size > 0 && args->page_size % QUARTER == 0,
         "attention_paged");
    paged_plan p = {.a = *args};
    p.chunk = chunk_of(p.a.heads / p.a.kv_heads, p.a.d);
    rlf_attention_paged_args *a = &p.a;
    a->ldq = or_dense(a->ldq, a->heads * a->d);
    a->ldo = or_dense(a->ldo, a->heads * a->d);
    a->page_stride = or_dense(
        a->page_stride, rlf_kv_page_floats(a->page_size, a->kv_heads, a->d));
    double work = 0;
    for (int64_t s = 0; s < a->n_seqs; s++) {
        int64_t n = a->offsets[s + 1] - a->offsets[s];
        NEED(n >= 0 && a->starts[s] >= 0, "attention_paged");
        work += pairs(n, a->starts[s]);
        if ((n + p.chunk - 1) / p.chunk > p.n_chunks)
            p.n_chunks = (n + p.chunk - 1) / p.chunk;
    }
    /* heads of a sequence lie side by side in its pages */
    int threads = ((rlf_cpu_queue *)queue)->n_threads;
    bool many = p.n_chunks == 1 && a->n_seqs >= 4 * threads;
    rlf_cpu_share(queue, p.n_chunks * a->n_seqs * a->kv_heads,
                  many ? a->kv_heads : 1, 4 * work * (double)(a->heads * a->d),
                  paged_tasks, &p);
    return RLF_OK;
}
