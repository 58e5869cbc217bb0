/* Matrix products of bf16 whose bits do not depend on how they are cut.
 *
 * Every element is a sum from 0 in f32 along k in order, two k a step
 * (pairs.h); then bias and what is there are added, and it is rounded once. A
 * gradient of a weight is a sum from what is there. Weights are packed into
 * panels of pairs (pack_bf16.c); rows of x are copied, pair by pair turned to
 * the order of the panels. Where k begins or ends within a pair, the other
 * number counts as nothing.
 *
 * Sums over shards of k are rounded each, and so is each sum of their tree: as
 * those that ranks add up. */
#include "kernels/cpu/ahead.h"
#include "kernels/cpu/cut.h"
#include "kernels/cpu/micro.h"
#include "kernels/cpu/pairs.h"
#include "kernels/cpu/parts.h"

/* A task is at most MC rows (cut.h) and NC columns of c (GRAD_NC of a
 * gradient). */
#define NC 576
#define GRAD_NC 384
#define GRAD_KC 512
/* Scratch: rows of x, then sums. Rows are copied for as much of k as goes into
 * their part of it. */
#define ROW_LANES ((int64_t)108 << 10)
#define REST_BYTES ((int64_t)SCRATCH_BYTES - ROW_LANES * 4)

_Static_assert((MC + GRAD_NC) * (GRAD_KC / 2) * 4 <= SCRATCH_BYTES, "scratch");
_Static_assert(MC *(GRAD_KC / 2 + 32) <= ROW_LANES, "scratch");
_Static_assert(REST_BYTES / (MC * (4 + 2 * 7)) >= NR && RLF_MOST_SHARDS == 64,
               "room for a panel at each of 6 levels");

/* A micro-kernel's operands, in pairs: a[i, k] = a[i * a_row + k * a_k],
 * b[k, j] = b[k * NR + j], c[i, j], and where the sum starts. The last vector
 * of c has `last` columns; b has whole vectors. Of the first pair and of the
 * last these bits of b count. */
typedef struct micro {
    const uint32_t *a, *b;
    int64_t a_row, a_k;
    uint32_t mask_first, mask_last;
    float *c;
    const float *start; /* NULL: zeros */
    int64_t ldc, ld_start;
    int64_t k, last;
    const char *next; /* a part of the next panel: a cache line a step */
} micro;

/* The memory that a micro-kernel asks for ahead of time: nothing, b itself, or
 * a part of the panel that follows. */
typedef enum fetching { FETCH_NONE, FETCH_B, FETCH_NEXT } fetching;

/* The distance, in lanes, at which a panel is prefetched ahead of its use. */
#define AHEAD (16 * NR)
#define ALL_BITS 0xffffffffu

INLINE vu
load_pairs(const uint32_t *p)
{
    return (vu) * (const vi_any *)(const void *)p;
}

INLINE void
step(vf acc[MR][NV], const uint32_t *a, const uint32_t *b, const int m,
     const int nv, const int64_t a_row)
{
    vu v[NV];
    // clang-format off
    UNROLL for (int j = 0; j < nv; j++)
        v[j] = load_pairs(b + j * VL);
    UNROLL for (int i = 0; i < m; i++) {
        vu x = (vu)vset(rlf_f32_of_bits(a[i * a_row]));
        UNROLL for (int j = 0; j < nv; j++)
            acc[i][j] = pair_dot(acc[i][j], x, v[j]);
    }
    // clang-format on
}

/* Pairs that follow each other in b. */
typedef struct run {
    const uint32_t *b;
    int64_t k;
} run;

/* b in runs: a pair of which some bits count is a copy in `lines`. */
static int
runs_of(const micro *o, uint32_t lines[2][NR], run runs[3])
{
    const uint32_t *b = o->b;
    int64_t k = o->k;
    int n = 0;
    if (o->mask_first != ALL_BITS) {
        for (int j = 0; j < NR; j++)
            lines[0][j] = b[j] & o->mask_first;
        runs[n++] = (run){lines[0], 1};
        b += NR;
        k--;
    }
    bool ends = k > 0 && o->mask_last != ALL_BITS;
    runs[n++] = (run){b, k - ends};
    for (int j = 0; ends && j < NR; j++)
        lines[1][j] = b[(k - 1) * NR + j] & o->mask_last;
    if (ends)
        runs[n++] = (run){lines[1], 1};
    return n;
}

/* `m` rows times `nv` vectors, all constants but the operands. */
INLINE void
micro_run(const micro *o, const int m, const int nv, const int64_t a_row,
          const int64_t a_k, const fetching fetch)
{
    vf acc[MR][NV];
    const int64_t last = o->last;
    // clang-format off
    if (o->start) {
        UNROLL for (int i = 0; i < m; i++) {
            const float *from = o->start + i * o->ld_start;
            UNROLL for (int j = 0; j < nv - 1; j++)
                acc[i][j] = vload(from + j * VL);
            acc[i][nv - 1] = load_part(from + (nv - 1) * VL, last);
        }
    } else {
        UNROLL for (int i = 0; i < m; i++)
            UNROLL for (int j = 0; j < nv; j++)
                acc[i][j] = vset(0);
    }
    uint32_t lines[2][NR];
    run runs[3];
    const int n_runs = runs_of(o, lines, runs);
    const uint32_t *a = o->a;
    const char *next = o->next;
    for (int r = 0; r < n_runs; r++) {
        const uint32_t *b = runs[r].b;
        for (int64_t k = runs[r].k; k > 0; k--) {
            if (fetch == FETCH_B)
                UNROLL for (int j = 0; j < nv; j++)
                    __builtin_prefetch(b + j * VL + AHEAD);
            if (fetch == FETCH_NEXT) {
                __builtin_prefetch(next, 0, 2);
                next += 64;
            }
            step(acc, a, b, m, nv, a_row);
            a += a_k;
            b += NR;
        }
    }
    UNROLL for (int i = 0; i < m; i++) {
        float *to = o->c + i * o->ldc;
        UNROLL for (int j = 0; j < nv - 1; j++)
            vstore(to + j * VL, acc[i][j]);
        store_part(to + (nv - 1) * VL, acc[i][nv - 1], last);
    }
    // clang-format on
}

typedef void micro_fn(const micro *o);

// clang-format off
/* pairs of x run along its row; those of dy (tokens) down a tile of MR */
#define MICRO(m, nv)                                                         \
    static void along_##m##_##nv(const micro *o)                             \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_NONE); }                        \
    static void down_##m##_##nv(const micro *o)                              \
    { micro_run(o, m, nv, 1, MR, FETCH_NONE); }
EACH_MICRO(MICRO)
#define WHOLE(m, nv)                                                         \
    static void first_##m##_##nv(const micro *o)                             \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_B); }                           \
    static void next_##m##_##nv(const micro *o)                              \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_NEXT); }
EACH_WHOLE(WHOLE)
#define ALONG(m, nv) along_##m##_##nv,
#define DOWN(m, nv) down_##m##_##nv,
#define FIRST(m, nv) first_##m##_##nv,
#define NEXT(m, nv) next_##m##_##nv,
static micro_fn *const along[NV + 1][MR + 1] = MICRO_TABLE(ALONG);
static micro_fn *const down[NV + 1][MR + 1] = MICRO_TABLE(DOWN);
/* of a panel's tiles, the first, where nobody brought the panel before */
static micro_fn *const firsts[MR + 1] = WHOLE_TABLE(FIRST);
/* those that bring the next panel */
static micro_fn *const nexts[MR + 1] = WHOLE_TABLE(NEXT);
// clang-format on

/* Tiles of a panel that share the fetching of the next one: each step asks for
 * a cache line of it. */
#define FETCHERS (NR >= 16 ? NR / 16 : 1)

/* c = start + x b for all of `rows` rows and `w` <= NR columns, in even tiles.
 * Returns whether the panel `next` has been asked for. */
static bool
along_rows(micro o, int64_t rows, int64_t w, bool fetched, const uint32_t *next)
{
    int64_t nv = (w + VL - 1) / VL, n = (rows + MR - 1) / MR;
    bool ask = next && nv == NV && n >= FETCHERS;
    uint32_t state = pairs_begin();
    o.last = w - (nv - 1) * VL;
    for (int64_t i = 0; i < n; i++) {
        int64_t m = rows / n + (i < rows % n);
        bool asks = ask && i < FETCHERS;
        if (asks)
            o.next = (const char *)next + i * o.k * 64;
        if (i == 0 && nv == NV && !fetched)
            firsts[m](&o);
        else if (asks)
            nexts[m](&o);
        else
            along[nv][m](&o);
        o.a += m * o.a_row;
        o.c += m * o.ldc;
        if (o.start)
            o.start += m * o.ld_start;
    }
    pairs_end(state);
    return ask;
}

/* ---- y = x w^T, dx = dy w ---------------------------------------------- */

/* The pairs of row x at k of from..to-1, turned; what is not in there counts as
 * nothing. */
static void
copy_row(const rlf_real *x, int64_t from, int64_t to, uint32_t *out)
{
    int64_t p = from / 2, end = to / 2;
    if (from % 2) {
        *out++ = pair_of(PAIR_NONE, x[from].bits);
        p++;
    }
    for (; p + VL <= end; p += VL, out += VL) {
        vu two;
        memcpy(&two, x + 2 * p, sizeof two);
        two = two << 16 | two >> 16;
        memcpy(out, &two, sizeof two);
    }
    for (; p < end; p++)
        *out++ = pair_of(x[2 * p].bits, x[2 * p + 1].bits);
    if (to % 2 && to > from)
        *out = pair_of(x[to - 1].bits, PAIR_NONE);
}

/* A range of k, and rows of x there. */
typedef struct range {
    int64_t from, to, pairs, ld;
    uint32_t *x;
} range;

/* From one row to the next: not a power of two, for those would compete for the
 * same few cache lines. */
static int64_t
row_lanes(int64_t pairs)
{
    return (pairs + 15) / 16 * 16 + 16;
}

static range
copy_rows(const rlf_product_args *a, const task *d, int64_t from, int64_t to,
          char *scratch)
{
    int64_t ldx = or_dense(a->ldx, a->k);
    range r = {.from = from, .to = to, .x = (uint32_t *)scratch};
    r.pairs = from < to ? n_pairs(to) - from / 2 : 0;
    r.ld = row_lanes(r.pairs);
    for (int64_t i = 0; i < d->n_rows; i++)
        copy_row(a->x + (d->row + i) * ldx, from, to, r.x + i * r.ld);
    return r;
}

static const uint32_t *
panel_at(const rlf_product_args *a, int64_t n, int64_t pair)
{
    return (const uint32_t *)a->packed + n * n_pairs(a->k) + pair * NR;
}

/* Sums of one panel over a range, onto `start` if there is one. */
static bool
sum_panel(const rlf_product_args *a, const task *d, int64_t n, const range *r,
          const float *start, float *c, int64_t ldc, bool fetched,
          const uint32_t *next)
{
    micro o = {.a = r->x,
               .b = panel_at(a, n, r->from / 2),
               .a_row = r->ld,
               .mask_first = r->from % 2 ? 0xffffu : ALL_BITS,
               .mask_last = r->to % 2 ? 0xffff0000u : ALL_BITS,
               .c = c,
               .start = start,
               .ldc = ldc,
               .ld_start = ldc,
               .k = r->pairs};
    if (r->pairs == 1) /* both ends in one pair */
        o.mask_first &= o.mask_last;
    return along_rows(o, d->n_rows, d->last - n < NR ? d->last - n : NR,
                      fetched, next);
}

/* Rows of sums become c: with bias and what is there, rounded. */
static void
finish(const rlf_product_args *a, const task *d, int64_t n, int64_t w,
       const float *sum, int64_t ld, bool starts, rlf_real *c, int64_t ldc)
{
    const float *bias = starts && a->bias ? a->bias + n : NULL;
    bool add = starts && a->add;
    for (int64_t i = 0; i < d->n_rows; i++, sum += ld)
        for (int64_t j = 0; j < w; j += VL) {
            int64_t left = w - j;
            vf x = load_part(sum + j, left);
            if (bias)
                x += load_part(bias + j, left);
            if (a->c_f32) {
                float *to = (float *)(void *)a->c + (d->row + i) * ldc + n + j;
                if (add)
                    x += load_part(to, left);
                store_part(to, x, left);
            } else {
                rlf_real *to = c + i * ldc + j;
                if (add)
                    x += rload_part(to, left);
                rstore_part(to, x, left);
            }
        }
}

/* The lanes of x's rows that go into scratch at once, in k: all, or an even
 * number of equal pieces. */
static int64_t
k_at_once(int64_t rows, int64_t k)
{
    int64_t most = 2 * (ROW_LANES / rows - 32), pieces = (k + most - 1) / most;
    return pieces > 1 ? ((k + pieces - 1) / pieces + 1) / 2 * 2 : k;
}

/* All of k at once: a panel's sums are finished before the next panel. `ahead`:
 * a panel that nobody brought before is asked for as it is read. */
static void
whole_sums(const rlf_product_args *a, const task *d, bool ahead, char *scratch)
{
    int64_t ldc = or_dense(a->ldc, a->n);
    bool direct = a->c_f32 && !a->add && !a->bias, fetched = !ahead;
    range r = copy_rows(a, d, 0, a->k, scratch);
    float *sums = (float *)scratch + ROW_LANES;
    for (int64_t n = d->first; n < d->last; n += NR) {
        int64_t w = d->last - n < NR ? d->last - n : NR;
        const uint32_t *next = NULL;
        if (n + NR < a->n && (n + NR < d->last || d->row + d->n_rows == a->m))
            next = panel_at(a, n + NR, 0);
        if (direct) {
            float *c = (float *)(void *)a->c + d->row * ldc + n;
            fetched =
                sum_panel(a, d, n, &r, NULL, c, ldc, fetched, next) || !ahead;
            continue;
        }
        fetched =
            sum_panel(a, d, n, &r, NULL, sums, NR, fetched, next) || !ahead;
        finish(a, d, n, w, sums, NR, true, a->c + d->row * ldc + n, ldc);
    }
}

/* Sums of the block's columns over k of from..to-1, onto what is there if
 * `more`. */
static void
sum_range(const rlf_product_args *a, const task *d, int64_t from, int64_t to,
          bool more, char *scratch)
{
    float *sums = (float *)scratch + ROW_LANES;
    int64_t width = d->last - d->first, end;
    int64_t step = k_at_once(d->n_rows, to - from);
    for (int64_t k = from; k < to || (k == from && !more); k = end) {
        end = (k + step) / 2 * 2;
        end = end < to && step < to - from ? end : to;
        range r = copy_rows(a, d, k, end, scratch);
        for (int64_t n = d->first; n < d->last; n += NR) {
            float *c = sums + (n - d->first);
            sum_panel(a, d, n, &r, more || k > from ? c : NULL, c, width, false,
                      NULL);
        }
        if (end == k)
            break;
    }
}

/* Partial sum s, over its shard of each part of k, to c. */
static void
shard_sum(const rlf_product_args *a, int s, const task *d, rlf_real *c,
          int64_t ldc, char *scratch)
{
    const rlf_shards *h = &a->shards;
    int64_t at = 0, width = d->last - d->first;
    for (int i = 0; i < a->n_parts; i++) {
        int64_t n = a->parts[i];
        int pieces = a->pieces ? a->pieces[i] : 0;
        int64_t first = rlf_piece_first(n, pieces, h->of, h->first);
        sum_range(a, d, at + rlf_piece_first(n, pieces, h->of, s) - first,
                  at + rlf_piece_first(n, pieces, h->of, s + 1) - first, i > 0,
                  scratch);
        at += rlf_pieces_held(*h, n, pieces);
    }
    finish(a, d, d->first, width, (const float *)(void *)scratch + ROW_LANES,
           width, s == h->first, c, ldc);
}

/* The sum of partial sums first..first+n-1 in a binary tree, each rounded;
 * `rest` is room for a block per level. */
static void
shard_tree(const rlf_product_args *a, int first, int n, const task *d,
           rlf_real *c, int64_t ldc, rlf_real *rest, char *scratch)
{
    if (n == 1) {
        shard_sum(a, first, d, c, ldc, scratch);
        return;
    }
    int half = 1;
    while (2 * half < n)
        half *= 2;
    int64_t width = d->last - d->first;
    shard_tree(a, first, half, d, c, ldc, rest, scratch);
    shard_tree(a, first + half, n - half, d, rest, width,
               rest + d->n_rows * width, scratch);
    for (int64_t i = 0; i < d->n_rows; i++)
        for (int64_t j = 0; j < width; j += VL) {
            rlf_real *to = c + i * ldc + j;
            vf x = rload_part(to, width - j);
            x += rload_part(rest + i * width + j, width - j);
            rstore_part(to, x, width - j);
        }
}

static rlf_ahead_choices aheads;

void
ISA(product_part)(const rlf_product_args *a, int64_t row, int64_t n_rows,
                  int64_t first, int64_t last, char *scratch)
{
    const task d = {row, n_rows, first, last};
    int64_t ldc = or_dense(a->ldc, a->n);
    int count = a->shards.count > 1 ? a->shards.count : 1, levels = 0;
    if (count == 1 && a->n_parts <= 1 && k_at_once(n_rows, a->k) == a->k) {
        rlf_ahead_part part;
        double bytes = 2.0 * (double)(last - first) * (double)a->k;
        bool ahead = rlf_ahead_begin(&aheads, n_rows, MR, bytes, &part);
        whole_sums(a, &d, ahead, scratch);
        rlf_ahead_end(&part);
        return;
    }
    while (1 << levels < count)
        levels++;
    int64_t most = REST_BYTES / (n_rows * (4 + 2 * levels)) / NR * NR;
    for (int64_t n = first; n < last; n += most) {
        task part = {row, n_rows, n, n + most < last ? n + most : last};
        float *sums = (float *)(void *)scratch + ROW_LANES;
        rlf_real *c = a->c_f32 ? NULL : a->c + row * ldc + n;
        rlf_real *rest = (rlf_real *)(sums + n_rows * (part.last - part.first));
        if (a->n_parts) {
            shard_tree(a, a->shards.first, count, &part, c, ldc, rest, scratch);
            continue;
        }
        sum_range(a, &part, 0, a->k, false, scratch);
        finish(a, &part, n, part.last - n, sums, part.last - n, true, c, ldc);
    }
}

typedef struct product_plan {
    rlf_product_args a;
    cut_plan cut;
} product_plan;

static void
product_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const product_plan *p = ctx;
    for (int64_t i = first; i < last; i++) {
        task t = task_of(&p->cut, i);
        ISA(product_part)(&p->a, t.row, t.n_rows, t.first, t.last, scratch);
    }
}

rlf_status
ISA(product)(rlf_queue *queue, const rlf_product_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0 && args->k >= 0 && !args->bf16,
         "product");
    product_plan p = {.a = *args};
    rlf_product_args *a = &p.a;
    RLF_TRY(find_parts(a, err));
    NEED(a->shards.count == 1 || !a->c_f32, "product");
    if (a->m == 0 || a->n == 0)
        return RLF_OK;
    p.cut = cut(queue, a->m, a->n, NC, false);
    rlf_cpu_share(queue, p.cut.groups * p.cut.blocks, 1,
                  1.0 * (double)a->m * (double)a->n * (double)a->k,
                  product_tasks, &p);
    return RLF_OK;
}

/* ---- dw += dy^T x ------------------------------------------------------ */

typedef struct grad_plan {
    rlf_product_grad_args a;
    cut_plan cut;
} grad_plan;

/* Columns of two neighbouring tokens as pairs, n of them; without a second
 * token each has `none` beside it. */
INLINE void
pair_rows(const rlf_real *x, const rlf_real *second, int64_t n, uint16_t none,
          uint32_t *out)
{
    int64_t j = 0;
    for (; j + VL <= n; j += VL) {
        vu upper = (vu)rload(x + j), lower = {0};
        lower += none;
        if (second)
            lower = (vu)rload(second + j) >> 16;
        upper |= lower;
        memcpy(out + j, &upper, sizeof upper);
    }
    for (; j < n; j++)
        out[j] = pair_of(x[j].bits, second ? second[j].bits : none);
}

/* kc tokens of columns of dy in tiles of MR: [tile][pair][MR]. */
static void
copy_tiles(const rlf_real *dy, int64_t lddy, int64_t rows, int64_t kc,
           uint32_t *out)
{
    int64_t pairs = n_pairs(kc);
    for (int64_t p = 0; p < pairs; p++, dy += 2 * lddy) {
        const rlf_real *second = 2 * p + 1 < kc ? dy + lddy : NULL;
        uint32_t line[MC], *to = out + p * MR;
        pair_rows(dy, second, rows, PAIR_NONE, line);
        for (int64_t i = 0; i < rows; i += MR, to += MR * pairs)
            memcpy(to, line + i,
                   (size_t)(rows - i < MR ? rows - i : MR) * sizeof *to);
    }
}

/* kc tokens of n columns of x in panels: [panel][pair][NR]. */
static void
copy_panels(const rlf_real *x, int64_t ldx, int64_t n, int64_t kc,
            uint32_t *out)
{
    int64_t pairs = n_pairs(kc);
    for (int64_t p = 0; p < pairs; p++, x += 2 * ldx) {
        const rlf_real *second = 2 * p + 1 < kc ? x + ldx : NULL;
        uint32_t *to = out + p * NR;
        for (int64_t j = 0; j < n; j += NR, to += NR * pairs) {
            int64_t w = n - j < NR ? n - j : NR;
            pair_rows(x + j, second ? second + j : NULL, w, 0, to);
            if (w < NR)
                memset(to + w, 0, (size_t)(NR - w) * sizeof *to);
        }
    }
}

/* Rows `row`.. and columns col..end-1 of dw: all tokens in order. */
static void
grad_part(const rlf_product_grad_args *a, int64_t row, int64_t rows,
          int64_t col, int64_t end, char *scratch)
{
    int64_t n = end - col;
    uint32_t *tiles = (uint32_t *)(void *)scratch;
    uint32_t *panels = tiles + MC * (GRAD_KC / 2);
    for (int64_t m = 0; m < a->m; m += GRAD_KC) {
        int64_t kc = a->m - m < GRAD_KC ? a->m - m : GRAD_KC;
        copy_tiles(a->dy + m * a->lddy + row, a->lddy, rows, kc, tiles);
        copy_panels(a->x + m * a->ldx + col, a->ldx, n, kc, panels);
        uint32_t state = pairs_begin();
        for (int64_t j = 0; j < n; j += NR) {
            int64_t w = n - j < NR ? n - j : NR, nv = (w + VL - 1) / VL;
            float *c = a->dw + row * a->lddw + col + j;
            micro o = {.a = tiles,
                       .b = panels + j * n_pairs(kc),
                       .mask_first = ALL_BITS,
                       .mask_last = ALL_BITS,
                       .c = c,
                       .start = c,
                       .ldc = a->lddw,
                       .ld_start = a->lddw,
                       .k = n_pairs(kc),
                       .last = w - (nv - 1) * VL};
            for (int64_t i = 0; i < rows; i += MR) {
                down[nv][rows - i < MR ? rows - i : MR](&o);
                o.a += MR * n_pairs(kc);
                o.c += MR * o.ldc;
                o.start = o.c;
            }
        }
        pairs_end(state);
    }
}

static void
grad_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const grad_plan *p = ctx;
    for (int64_t i = first; i < last; i++) {
        task t = task_of(&p->cut, i);
        grad_part(&p->a, t.row, t.n_rows, t.first, t.last, scratch);
    }
}

rlf_status
ISA(product_grad)(rlf_queue *queue, const rlf_product_grad_args *args,
                  rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0 && args->k >= 0, "product_grad");
    grad_plan p = {.a = *args};
    rlf_product_grad_args *a = &p.a;
    if (a->m == 0 || a->n == 0 || a->k == 0)
        return RLF_OK;
    a->lddy = or_dense(a->lddy, a->n);
    a->ldx = or_dense(a->ldx, a->k);
    a->lddw = or_dense(a->lddw, a->k);
    p.cut = cut(queue, a->n, a->k, GRAD_NC, false);
    rlf_cpu_share(queue, p.cut.groups * p.cut.blocks, 1,
                  1.0 * (double)a->m * (double)a->n * (double)a->k, grad_tasks,
                  &p);
    return RLF_OK;
}
