/* Matrix products whose bits do not depend on how they are cut.
 *
 * Every element of c is one chain of fused multiply-adds along k in order,
 * from the value that is there. So rows may be tiled, k may be cut, threads
 * may share columns: the bits stay. Weights are packed into panels of NR
 * columns ([panel][k][NR]); a micro-kernel keeps up to MR rows times NR
 * columns of c in registers. The gradient of a weight is the same product
 * with tokens as k, read where they lie.
 *
 * Weights of bf16 become floats on their way, which is exact, so the chain is
 * that of floats: in registers where few rows read a panel, else a piece of k
 * at a time in scratch, for the other form transposed. */
#include "kernels/cpu/ahead.h"
#include "kernels/cpu/cut.h"
#include "kernels/cpu/micro.h"
#include "kernels/cpu/parts.h"

/* A task is at most MC rows (cut.h), NC columns of c (GRAD_NC of a gradient),
 * and at a time KC of k: what it copies and reads again fits a second-level
 * cache. */
#define KC 384
#define NC 768
#define GRAD_NC 384
/* Rows whose distance is a multiple of this would have all lines that a tile
 * reads in the same place of a first-level cache: they are copied together
 * first. Others are read where they lie, which is 2 to 9 % faster. */
#define COLLIDING 1024
/* Columns of dy are copied into tiles if its rows lie farther apart than this.
 */
#define FAR 64
/* Rows of dy that are asked for before the one that is copied. */
#define AHEAD_ROWS 8
/* Columns of a gradient's x are read where they lie, which is 5 to 10 % faster
 * than copying them, but for rows of a multiple of this, whose lines would
 * compete for few places in the caches. */
#define CROWDED 2048

_Static_assert((size_t)(MC + GRAD_NC) * KC * 4 <= SCRATCH_BYTES, "scratch");
/* Scratch is for copies of rows first, then for partial sums, at last for a
 * piece of a panel of bf16 as floats. */
#define COPY_FLOATS ((int64_t)MC * (KC + 31))
#define TILE_FLOATS ((int64_t)KC * NR)
#define REST_FLOATS ((int64_t)SCRATCH_BYTES / 4 - COPY_FLOATS - TILE_FLOATS)
_Static_assert(REST_FLOATS > 0, "scratch");

/* A micro-kernel's operands: a[i, k] = a[i * a_row + k * a_k],
 * b[k, j] = b[k * b_k + j], c[i, j], and where the sum starts. The last vector
 * of c has `last` columns; b has whole vectors. b is of bf16 for those that say
 * so. */
typedef struct micro {
    const float *a;
    const void *b;
    int64_t a_row, a_k, b_k;
    float *c;
    const float *start; /* NULL: zeros */
    int64_t ldc, ld_start;
    int64_t k, last;
    const char *next;  /* a part of the next panel, next_k bytes a step */
    const float
        *prefetch; /* of what other operations touch, prefetch_k floats */
    int64_t next_k, prefetch_k;
    const float *next_c; /* the first element of the tile behind, or NULL */
} micro;

/* The memory that a micro-kernel asks for ahead of time, so that it comes
 * during arithmetic: nothing, b itself, a part of the panel that follows, or
 * that and a part of what other operations touch. */
typedef enum fetching { FETCH_NONE, FETCH_B, FETCH_NEXT, FETCH_SOON } fetching;

/* The distance, in floats, at which a panel is prefetched ahead of its use. */
#define AHEAD (16 * NR)

/* `m` rows times `nv` vectors, all constants but the operands. */
INLINE void
micro_run(const micro *o, const int m, const int nv, const int64_t a_row,
          const int64_t a_k, const fetching fetch, const bool bf16)
{
    const int64_t size = bf16 ? 2 : 4;
    vf acc[MR][NV];
    const int64_t last = o->last;
    // clang-format off
    if (o->next_c)
        UNROLL for (int i = 0; i < m; i++)
            UNROLL for (int j = 0; j < nv; j++)
                __builtin_prefetch(o->next_c + i * o->ldc + j * VL, 1);
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
    const float *a = o->a, *prefetch = o->prefetch;
    const char *b = o->b, *next = o->next;
    const int64_t b_k = o->b_k * size;
    const int64_t next_k = o->next_k, prefetch_k = o->prefetch_k;
    for (int64_t k = o->k; k > 0; k--) {
        vf v[NV];
        UNROLL for (int j = 0; j < nv; j++) {
            const char *from = b + j * VL * size;
            v[j] = bf16 ? vload_bf16((const uint16_t *)(const void *)from)
                        : vload((const float *)(const void *)from);
            if (fetch == FETCH_B)
                __builtin_prefetch(from + AHEAD * 4);
        }
        if (fetch != FETCH_NONE) {
            __builtin_prefetch(next, 0, 2);
            next += next_k;
        }
        if (fetch == FETCH_SOON) {
            __builtin_prefetch(prefetch, 0, 2);
            prefetch += prefetch_k;
        }
        UNROLL for (int i = 0; i < m; i++) {
            vf x = vset(a[i * a_row]);
            UNROLL for (int j = 0; j < nv; j++)
                acc[i][j] = vfma(x, v[j], acc[i][j]);
        }
        a += a_k;
        b += b_k;
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
/* x rows: k runs along a row; dy rows: k (the token) runs down a column */
#define MICRO(m, nv)                                                         \
    static void along_##m##_##nv(const micro *o)                             \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_NONE, false); }                 \
    static void down_##m##_##nv(const micro *o)                              \
    { micro_run(o, m, nv, 1, o->a_k, FETCH_NONE, false); }
EACH_MICRO(MICRO)
#define WHOLE(m, nv)                                                         \
    static void first_##m##_##nv(const micro *o)                             \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_B, false); }                    \
    static void next_##m##_##nv(const micro *o)                              \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_NEXT, false); }                 \
    static void prefetch_##m##_##nv(const micro *o)                          \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_SOON, false); }                 \
    static void narrow_##m##_##nv(const micro *o)                            \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_B, true); }                     \
    static void again_##m##_##nv(const micro *o)                             \
    { micro_run(o, m, nv, o->a_row, 1, FETCH_NONE, true); }
EACH_WHOLE(WHOLE)
#define ALONG(m, nv) along_##m##_##nv,
#define DOWN(m, nv) down_##m##_##nv,
#define FIRST(m, nv) first_##m##_##nv,
#define NEXT(m, nv) next_##m##_##nv,
#define PREFETCH(m, nv) prefetch_##m##_##nv,
#define NARROW(m, nv) narrow_##m##_##nv,
#define AGAIN(m, nv) again_##m##_##nv,
static micro_fn *const along[NV + 1][MR + 1] = MICRO_TABLE(ALONG);
static micro_fn *const down[NV + 1][MR + 1] = MICRO_TABLE(DOWN);
/* of a panel's tiles, the first, where nobody brought the panel before */
static micro_fn *const firsts[MR + 1] = WHOLE_TABLE(FIRST);
/* those that bring the next panel */
static micro_fn *const nexts[MR + 1] = WHOLE_TABLE(NEXT);
/* those that bring that, if any, and what other operations touch */
static micro_fn *const prefetches[MR + 1] = WHOLE_TABLE(PREFETCH);
/* of a panel of bf16 the first, and those behind it */
static micro_fn *const narrows[2][MR + 1] = {WHOLE_TABLE(NARROW),
                                             WHOLE_TABLE(AGAIN)};
// clang-format on

/* Tiles of a panel that share the fetching of the next one: each step of k
 * asks for at most a cache line. */
#define FETCHERS (NR / 8)
/* As many tiles widen a panel of bf16 as they read it. */
#define FEW_TILES 2

/* Part `part` of `parts` of what other operations touch: as much of it as the
 * steps of k bring, a cache line each. */
static void
ask_prefetch(const rlf_prefetch *s, int64_t part, int64_t parts, micro *o)
{
    int64_t each = (s->n * s->floats + parts - 1) / parts, at = part * each;
    int64_t step = (each + o->k - 1) / o->k;
    if (at >= s->n * s->floats)
        return;
    o->prefetch =
        s->base + s->index[at / s->floats] * s->stride + at % s->floats;
    o->prefetch_k = step < 16 ? step : 16;
}

/* The memory that a panel's tiles bring beside their own operands. */
typedef struct coming {
    bool fetched;     /* b was asked for before, or is not to be */
    const char *next; /* the next panel or NULL */
    int64_t step;     /* bytes of it for each k */
    rlf_prefetch
        prefetch; /* in which all `panels` share; this one is `panel` */
    int64_t panel, panels;
} coming;

/* c += x b for all of `rows` rows and `w` <= NR columns, in even tiles. Returns
 * whether the next panel has been asked for. */
static bool
along_rows(micro o, int64_t rows, int64_t w, const coming *with)
{
    int64_t nv = (w + VL - 1) / VL, n = (rows + MR - 1) / MR;
    int64_t fetchers = n < FETCHERS ? n : FETCHERS;
    const rlf_prefetch *prefetch = &with->prefetch;
    const char *next = with->next;
    bool fetched = with->fetched;
    bool arithmetic = nv == NV && fetchers * 16 >= NR;
    bool ask = next && arithmetic, more = prefetch->n && arithmetic && o.k;
    o.last = w - (nv - 1) * VL;
    for (int64_t i = 0; i < n; i++) {
        int64_t m = rows / n + (i < rows % n);
        bool asks = ask && i < fetchers;
        o.next = o.b; /* where there is nothing to ask for */
        o.prefetch = o.b;
        o.next_k = o.prefetch_k = 0;
        o.next_c = i + 1 < n ? o.c + m * o.ldc : NULL;
        if (asks) {
            o.next_k = with->step / fetchers;
            o.next = next + i * o.k * o.next_k;
        }
        if (more)
            ask_prefetch(prefetch, with->panel * n + i, with->panels * n, &o);
        if (i == 0 && nv == NV && !fetched)
            firsts[m](&o);
        else if (more)
            prefetches[m](&o);
        else if (asks)
            nexts[m](&o);
        else
            along[nv][m](&o);
        o.a += m * o.a_row;
        o.c += m * o.ldc;
        if (o.start)
            o.start += m * o.ld_start;
    }
    return ask;
}

/* The same of a whole panel of bf16, for a few tiles. */
static void
along_narrow(micro o, int64_t rows, int64_t w)
{
    int64_t n = (rows + MR - 1) / MR;
    o.last = w - (NV - 1) * VL;
    o.next = o.b;
    o.prefetch = o.b;
    for (int64_t i = 0; i < n; i++) {
        int64_t m = rows / n + (i < rows % n);
        narrows[i > 0][m](&o);
        o.a += m * o.a_row;
        o.c += m * o.ldc;
        if (o.start)
            o.start += m * o.ld_start;
    }
}

/* The same for a gradient's tiles of MR; `a_tile`: from one's a to the next. */
static void
down_rows(micro o, int64_t rows, int64_t w, int64_t a_tile)
{
    int64_t nv = (w + VL - 1) / VL;
    o.last = w - (nv - 1) * VL;
    for (int64_t i = 0; i < rows; i += MR) {
        int64_t m = rows - i < MR ? rows - i : MR;
        o.next_c = i + MR < rows ? o.c + MR * o.ldc : NULL;
        down[nv][m](&o);
        o.a += a_tile;
        o.c += m * o.ldc;
        o.start += m * o.ld_start;
    }
}

/* k in equal pieces of at most KC. */
static int64_t
k_step(int64_t k)
{
    int64_t pieces = (k + KC - 1) / KC;
    return pieces > 1 ? (k + pieces - 1) / pieces : k;
}

/* ---- y = x w^T, dx = dy w ---------------------------------------------- */

/* Rows of x, kc of each, one after the other; their distance. A distance of a
 * power of two would put all rows into the same few cache lines. */
static int64_t
copy_rows(const float *x, int64_t ldx, int64_t rows, int64_t kc, float *out)
{
    int64_t ld = (kc + 15) / 16 * 16 + 16;
    for (int64_t i = 0; i < rows; i++)
        memcpy(out + i * ld, x + i * ldx, (size_t)kc * 4);
    return ld;
}

/* A block of c: rows row.., columns first..last-1. c and start point to its
 * first element; start NULL: zeros. The weights of k from `begin` on are packed
 * together. */
typedef struct block {
    int64_t row, n_rows, first, last;
    float *c;
    const float *start;
    int64_t ldc, ld_start;
    const char *packed;
    int64_t begin;
    bool ahead; /* weights that nobody brought before are asked for */
} block;

/* Are the weights packed as the product reads them? */
static bool
is_along(const rlf_product_args *a)
{
    return !a->bf16 || a->form == RLF_PRODUCT_FORWARD;
}

/* The place of the panel of column n at k, if there is one. */
static const char *
panel_at(const rlf_product_args *a, int64_t n, int64_t k)
{
    return (const char *)a->packed + (n * a->k + k * NR) * (a->bf16 ? 2 : 4);
}

/* The panel that follows that of column n in the sum over from..to-1 at k: the
 * next panel, the first with the next piece of k, or that of the columns
 * behind. */
static const char *
next_panel(const rlf_product_args *a, const block *d, int64_t n, int64_t k,
           int64_t step, int64_t from, int64_t to)
{
    if (!is_along(a))
        return NULL;
    if (n + NR < d->last)
        return panel_at(a, n + NR, k);
    if (k + step < to)
        return panel_at(a, d->first, k + step);
    if (d->last < a->n && d->row + d->n_rows == a->m)
        return panel_at(a, d->last, from);
    return NULL;
}

/* The memory that the block asks for beside its own: once, with the last of k.
 */
static rlf_prefetch
prefetch_of(const rlf_product_args *a, const block *d, int64_t end)
{
    bool once = end == a->k && d->row + d->n_rows == a->m;
    return once ? a->prefetch : (rlf_prefetch){0};
}

/* Does a micro-kernel widen the weights of the columns from n on? */
static bool
is_narrow(const rlf_product_args *a, const block *d, int64_t n)
{
    return a->bf16 && is_along(a) && d->n_rows <= FEW_TILES * MR &&
           d->last - n > (NV - 1) * VL;
}

/* The panel of column n, k..k+kc-1, as floats: in scratch, of bf16. */
static const void *
floats_of(const rlf_product_args *a, const block *d, int64_t n, int64_t k,
          int64_t kc, char *scratch)
{
    float *tile = (float *)scratch + COPY_FLOATS + REST_FLOATS;
    const void *b = panel_at(a, n, k), *first = d->packed;
    if (!a->bf16)
        return b;
    if (is_along(a))
        ISA(bf16_widen)(b, kc * NR, tile);
    else
        ISA(panel_turn)(first, a->n, k - d->begin, kc, n, tile);
    return tile;
}

/* Returns how much of k goes at once. Few rows read each panel once, then k is
 * not cut; but what is widened in scratch must fit there. */
static int64_t
k_at_once(const rlf_product_args *a, const block *d, int64_t k)
{
    bool whole = d->n_rows <= MR;
    for (int64_t n = d->first; whole && a->bf16 && n < d->last; n += NR)
        whole = is_narrow(a, d, n);
    return whole ? k : k_step(k);
}

/* c = start + the sum over k of from..to-1. */
static void
sum_range(const rlf_product_args *a, const block *d, int64_t from, int64_t to,
          char *scratch)
{
    int64_t ldx = or_dense(a->ldx, a->k), rows = d->n_rows;
    int64_t step = k_at_once(a, d, to - from);
    bool copy =
        rows > MR && ldx % COLLIDING == 0 && d->last - d->first > 2 * NR;
    coming with = {.step = NR * (a->bf16 ? 2 : 4), .panels = n_panels(a->n)};
    for (int64_t k = from; k == from || k < to; k += step) {
        int64_t kc = to - k < step ? to - k : step;
        const float *x = a->x + d->row * ldx + k;
        int64_t a_row = ldx;
        if (copy) {
            a_row = copy_rows(x, ldx, rows, kc, (float *)scratch);
            x = (const float *)scratch;
        }
        with.fetched = a->bf16 || !d->ahead;
        with.prefetch = prefetch_of(a, d, k + kc);
        for (int64_t n = d->first; n < d->last; n += NR) {
            int64_t w = d->last - n < NR ? d->last - n : NR;
            micro o = {.a = x,
                       .a_row = a_row,
                       .b_k = NR,
                       .c = d->c + (n - d->first),
                       .start = d->c + (n - d->first),
                       .ldc = d->ldc,
                       .ld_start = d->ldc,
                       .k = kc};
            if (k == from) {
                o.start = d->start ? d->start + (n - d->first) : NULL;
                o.ld_start = d->ld_start;
            }
            if (is_narrow(a, d, n)) {
                o.b = panel_at(a, n, k);
                along_narrow(o, rows, w);
                continue;
            }
            o.b = floats_of(a, d, n, k, kc, scratch);
            with.next = next_panel(a, d, n, k, step, from, to);
            with.panel = n / NR;
            bool asked = along_rows(o, rows, w, &with);
            with.fetched = a->bf16 || !d->ahead || asked;
        }
        if (step == 0)
            break;
    }
}

/* The block of a product, with its own start. */
static block
block_of(const rlf_product_args *a, int64_t row, int64_t n_rows, int64_t first,
         int64_t last)
{
    int64_t ldc = or_dense(a->ldc, a->n);
    block d = {.row = row,
               .n_rows = n_rows,
               .first = first,
               .last = last,
               .c = a->c + row * ldc + first,
               .ldc = ldc,
               .packed = a->packed,
               .ahead = true};
    if (a->add) {
        d.start = d.c;
        d.ld_start = ldc;
    } else if (a->bias) {
        d.start = a->bias + first;
    }
    return d;
}

static rlf_ahead_choices aheads;

void
ISA(product_part)(const rlf_product_args *a, int64_t row, int64_t n_rows,
                  int64_t first, int64_t last, char *scratch)
{
    block d = block_of(a, row, n_rows, first, last);
    if (a->bf16) {
        sum_range(a, &d, 0, a->k, scratch);
        return;
    }
    rlf_ahead_part part;
    double bytes = 4.0 * (double)(last - first) * (double)a->k;
    d.ahead = rlf_ahead_begin(&aheads, n_rows, MR, bytes, &part);
    sum_range(a, &d, 0, a->k, scratch);
    rlf_ahead_end(&part);
}

/* ---- partial sums ------------------------------------------------------ */

/* Finds the weights of shard s of k, each of which was packed by itself.
 * Those of bf16 have a panel of NR rows for each NR of k. */
static void
find_packed(const rlf_product_args *a, int s, block *d)
{
    const rlf_shards *h = &a->shards;
    int64_t k = a->parts[0], first = rlf_shard_first(k, h->of, h->first);
    int64_t panels = 0;
    d->begin = 0;
    for (int i = h->first; i < s; i++) {
        int64_t end = rlf_shard_first(k, h->of, i + 1) - first;
        panels += n_panels(end - d->begin);
        d->begin = end;
    }
    d->packed = (const char *)a->packed + panels * NR * a->n * 2;
}

/* Partial sum s: over its shard of each part of k. */
static void
shard_sum(const rlf_product_args *a, int s, block d, char *scratch)
{
    const rlf_shards *h = &a->shards;
    int64_t at = 0; /* where the part begins, of what is held */
    if (a->by_shard)
        find_packed(a, s, &d);
    for (int i = 0; i < a->n_parts; i++) {
        int64_t n = a->parts[i];
        int pieces = a->pieces ? a->pieces[i] : 0;
        int64_t first = rlf_piece_first(n, pieces, h->of, h->first);
        sum_range(a, &d, at + rlf_piece_first(n, pieces, h->of, s) - first,
                  at + rlf_piece_first(n, pieces, h->of, s + 1) - first,
                  scratch);
        d.start = d.c;
        d.ld_start = d.ldc;
        at += rlf_pieces_held(*h, n, pieces);
    }
}

/* The sum of partial sums first..first+n-1 in a binary tree; `rest` is room for
 * a block per level. */
static void
shard_tree(const rlf_product_args *a, int first, int n, const block *d,
           float *rest, char *scratch)
{
    if (n == 1) {
        shard_sum(a, first, *d, scratch);
        return;
    }
    int half = 1;
    while (2 * half < n)
        half *= 2;
    block right = *d;
    int64_t width = d->last - d->first;
    right.c = rest;
    right.ldc = width;
    right.start = NULL;
    shard_tree(a, first, half, d, rest, scratch);
    shard_tree(a, first + half, n - half, &right, rest + d->n_rows * width,
               scratch);
    for (int64_t i = 0; i < d->n_rows; i++) {
        float *to = d->c + i * d->ldc;
        const float *from = rest + i * width;
        int64_t j = 0;
        for (; j + VL <= width; j += VL)
            vstore(to + j, vload(to + j) + vload(from + j));
        if (j < width)
            vstore_n(to + j,
                     vload_n(to + j, width - j) + vload_n(from + j, width - j),
                     width - j);
    }
}

/* As product_part, in partial sums: as many columns at a time as there is room
 * for. */
static void
sharded_part(const rlf_product_args *a, int64_t row, int64_t n_rows,
             int64_t first, int64_t last, char *scratch)
{
    int levels = 0;
    while (1 << levels < a->shards.count)
        levels++;
    int64_t step = REST_FLOATS / (n_rows * levels) / NR * NR;
    for (int64_t n = first; n < last; n += step) {
        block d =
            block_of(a, row, n_rows, n, n + step < last ? n + step : last);
        shard_tree(a, a->shards.first, a->shards.count, &d,
                   (float *)scratch + COPY_FLOATS, scratch);
    }
}

_Static_assert(REST_FLOATS / (MC * 6) >= NR && RLF_MOST_SHARDS == 64,
               "room for a panel at each of 6 levels");

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
        if (p->a.shards.count > 1)
            sharded_part(&p->a, t.row, t.n_rows, t.first, t.last, scratch);
        else
            ISA(product_part)(&p->a, t.row, t.n_rows, t.first, t.last, scratch);
    }
}

rlf_status
ISA(product)(rlf_queue *queue, const rlf_product_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0 && args->k >= 0, "product");
    product_plan p = {.a = *args};
    rlf_product_args *a = &p.a;
    RLF_TRY(find_parts(a, err));
    NEED(!a->by_shard || (!is_along(a) && a->n_parts == 1 && !a->pieces),
         "product");
    if (a->m == 0 || a->n == 0)
        return RLF_OK;
    if (a->add && a->bias) {
        int64_t ldc = or_dense(a->ldc, a->n);
        for (int64_t i = 0; i < a->m; i++)
            for (int64_t j = 0; j < a->n; j++)
                a->c[i * ldc + j] += a->bias[j];
    }
    p.cut = cut(queue, a->m, a->n, NC, false);
    rlf_cpu_share(queue, p.cut.groups * p.cut.blocks, 1,
                  2.0 * (double)a->m * (double)a->n * (double)a->k,
                  product_tasks, &p);
    return RLF_OK;
}

/* ---- dw += dy^T x ------------------------------------------------------ */

typedef struct grad_plan {
    rlf_product_grad_args a;
    cut_plan cut;
} grad_plan;

/* kc tokens of columns of dy in tiles of MR: [tile][k][MR]. */
static void
copy_tiles(const float *dy, int64_t lddy, int64_t rows, int64_t kc, float *out)
{
    for (int64_t k = 0; k < kc; k++, dy += lddy, out += MR) {
        const float *from = dy;
        float *to = out;
        int64_t left = rows;
        for (; left >= MR; left -= MR, from += MR, to += MR * kc) {
            __builtin_prefetch(from + AHEAD_ROWS * lddy);
#if VL > MR
            vstore_n(to, vload_n(from, MR), MR);
#else
            memcpy(to, from, MR * sizeof *to);
#endif
        }
        if (left)
            memcpy(to, from, (size_t)left * sizeof *to);
    }
}

/* kc tokens of n columns of x in panels: [panel][k][NR]. */
static void
copy_panels(const float *x, int64_t ldx, int64_t n, int64_t kc, float *out)
{
    for (int64_t k = 0; k < kc; k++, x += ldx, out += NR) {
        float *to = out;
        int64_t j = 0;
        for (; j + NR <= n; j += NR, to += NR * kc)
            for (int i = 0; i < NV; i++)
                vstore(to + i * VL, vload(x + j + i * VL));
        for (int i = 0; j < n; j += VL, i++)
            vstore(to + i * VL, load_part(x + j, n - j));
    }
}

/* Rows `row`.. and columns col..end-1 of dw: all tokens in order. */
static void
grad_part(const rlf_product_grad_args *a, int64_t row, int64_t rows,
          int64_t col, int64_t end, char *scratch)
{
    int64_t step = k_step(a->m), n = end - col;
    float *tiles = (float *)scratch, *panels = tiles + MC * KC;
    bool copy_dy = a->lddy > FAR && rows > MR;
    bool copy_x = (a->ldx % CROWDED == 0 && rows > 2 * MR) || n % VL;
    for (int64_t m = 0; m < a->m; m += step) {
        int64_t kc = a->m - m < step ? a->m - m : step;
        const float *dy = a->dy + m * a->lddy + row;
        const float *x = a->x + m * a->ldx + col;
        if (copy_dy)
            copy_tiles(dy, a->lddy, rows, kc, tiles);
        if (copy_x)
            copy_panels(x, a->ldx, n, kc, panels);
        for (int64_t j = 0; j < n; j += NR) {
            float *c = a->dw + row * a->lddw + col + j;
            micro o = {.a = copy_dy ? tiles : dy,
                       .b = copy_x ? panels + j * kc : x + j,
                       .a_row = 1,
                       .a_k = copy_dy ? MR : a->lddy,
                       .b_k = copy_x ? NR : a->ldx,
                       .c = c,
                       .start = c,
                       .ldc = a->lddw,
                       .ld_start = a->lddw,
                       .k = kc};
            down_rows(o, rows, n - j < NR ? n - j : NR, copy_dy ? MR * kc : MR);
        }
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
    p.cut = cut(queue, a->n, a->k, GRAD_NC, true);
    rlf_cpu_share(queue, p.cut.groups * p.cut.blocks, 1,
                  2.0 * (double)a->m * (double)a->n * (double)a->k, grad_tasks,
                  &p);
    return RLF_OK;
}
