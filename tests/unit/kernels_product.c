/* Matrix products against a scalar chain of fused multiply-adds, which they
 * must equal bit for bit whatever the tiles: see kernels_case.h. */
#include "tests/unit/kernels_case.h"

#define N(a) ((int64_t)(sizeof(a) / sizeof *(a)))

/* m, n, k */
static const int64_t shapes[][3] = {
    {1, 1, 1},     {3, 2, 5},     {1, 96, 96},  {7, 43, 96},    {9, 48, 24},
    {10, 49, 300}, {64, 97, 33},  {130, 1, 96}, {131, 260, 17}, {17, 192, 96},
    {300, 31, 1},  {14, 770, 70}, {8, 5, 0},
};

/* c[m, n] by the definition. */
static void
chain(const float *x, int64_t ldx, const float *w, int64_t n, int64_t k,
      bool forward, const float *start, float *c)
{
    for (int64_t j = 0; j < n; j++) {
        float s = start ? start[j] : 0;
        for (int64_t i = 0; i < k; i++)
            s = fmaf(x[i], forward ? w[j * ldx + i] : w[i * ldx + j], s);
        c[j] = s;
    }
}

static void *
pack(env *e, const float *w, int64_t rows, int64_t cols, rlf_product_form form)
{
    if (e->k->one_pack)
        form = RLF_PRODUCT_FORWARD;
    size_t bytes = e->k->product_packed_bytes(rows, cols, form);
    void *packed = take(e, (int64_t)bytes, 1);
    CALL(e, product_pack, .rows = rows, .cols = cols, .w = w, .form = form,
         .packed = packed);
    return packed;
}

static void
forward_shape(env *e, const int64_t *shape)
{
    int64_t m = shape[0], n = shape[1], k = shape[2];
    int64_t ldx = k + 3, ldc = n + 5;
    float *x = values(e, m * ldx, 1), *w = values(e, n * k, 1);
    float *bias = values(e, n, 1), *c = values(e, m * ldc, 1);
    float *add = copy_of(e, c, m * ldc), *one = blank(e, n);
    float *old = copy_of(e, c, m * ldc), *want = blank(e, n);
    void *packed = pack(e, w, n, k, RLF_PRODUCT_FORWARD);
    CALL(e, product, .m = m, .n = n, .k = k, .x = x, .ldx = ldx,
         .packed = packed, .bias = bias, .c = c, .ldc = ldc);
    CALL(e, product, .m = m, .n = n, .k = k, .x = x, .ldx = ldx,
         .packed = packed, .c = add, .ldc = ldc, .add = true);
    out_f32(e, c, m * ldc);
    out_f32(e, add, m * ldc);
    for (int64_t i = 0; e->check && i < m; i += row_stride()) {
        chain(x + i * ldx, k, w, n, k, true, bias, want);
        agree(e, c + i * ldc, want, n, true, "with bias");
        same(e, c + i * ldc + n, old + i * ldc + n, 5, 4, "beyond the row");
        chain(x + i * ldx, k, w, n, k, true, old + i * ldc, want);
        agree(e, add + i * ldc, want, n, true, "added");
        CALL(e, product, .m = 1, .n = n, .k = k, .x = x + i * ldx,
             .packed = packed, .bias = bias, .c = one);
        same(e, one, c + i * ldc, n, 4, "a row alone");
    }
}

static void
test_product(env *e)
{
    for (int64_t s = 0; s < N(shapes); s++) {
        forward_shape(e, shapes[s]);
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

static void
test_product_back(env *e)
{
    for (int64_t s = 0; s < N(shapes); s++) {
        int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        float *dy = values(e, m * k, 1), *w = values(e, k * n, 1);
        float *dx = blank(e, m * n), *want = blank(e, n);
        void *packed = pack(e, w, k, n, RLF_PRODUCT_BACKWARD);
        CALL(e, product, .m = m, .n = n, .k = k, .x = dy, .packed = packed,
             .form = RLF_PRODUCT_BACKWARD, .c = dx);
        out_f32(e, dx, m * n);
        for (int64_t i = 0; e->check && i < m; i += row_stride()) {
            chain(dy + i * k, n, w, n, k, false, NULL, want);
            agree(e, dx + i * n, want, n, true, "dx");
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

/* Gates and ups, and what an activation makes of them, by two operations and
 * by one; some of whose rows are 16-byte aligned. */
static void
gated_products(env *e, rlf_act act)
{
    static const int64_t sizes[][3] = {{1, 32, 64},  {5, 33, 40},  {16, 64, 96},
                                       {64, 40, 72}, {70, 24, 64}, {3, 5, 7},
                                       {17, 1, 16},  {2, 8, 0}};
    for (int64_t s = 0; s < N(sizes); s++) {
        int64_t m = sizes[s][0], d = sizes[s][1], k = sizes[s][2];
        int64_t n = 2 * d, ldy = d + s % 3;
        float *x = values(e, m * k, 1), *w = values(e, n * k, 1);
        float *bias = s % 2 ? values(e, n, 1) : NULL;
        float *c = blank(e, m * n), *kept = blank(e, m * n);
        float *y = blank(e, m * ldy), *z = blank(e, m * ldy);
        void *packed = pack(e, w, n, k, RLF_PRODUCT_FORWARD);
        CALL(e, product, .m = m, .n = n, .k = k, .x = x, .packed = packed,
             .bias = bias, .c = c);
        CALL(e, glu, .m = m, .d = d, .gate = c, .up = c + d, .ldx = n,
             .act = act, .y = y, .ldy = ldy);
        out_f32(e, y, m * ldy);
        for (int keep = 0; keep < 2; keep++) {
            memset(z, 0xff, (size_t)(m * ldy) * sizeof *z);
            CALL(e, product_glu, .m = m, .d = d, .k = k, .x = x,
                 .packed = packed, .bias = bias, .act = act, .c = kept,
                 .keep = keep, .y = z, .ldy = ldy);
            same(e, z, y, m * ldy, 4, keep ? "y, c kept" : "y");
        }
        same(e, kept, c, m * n, 4, "c");
        for (int64_t i = 0; e->check && i < m; i += row_stride()) {
            CALL(e, product_glu, .m = 1, .d = d, .k = k, .x = x + i * k,
                 .packed = packed, .bias = bias, .act = act, .c = kept, .y = z);
            same(e, z, y + i * ldy, d, 4, "a row alone");
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

static void
test_product_glu(env *e)
{
    gated_products(e, RLF_ACT_SILU);
}

static void
test_product_geglu(env *e)
{
    gated_products(e, RLF_ACT_GELU_TANH);
}

/* One product of every number of rows, and k cut anywhere. */
static void
test_product_pieces(env *e)
{
    int64_t n = 70, k = 520, m = 140;
    float *x = values(e, m * k, 1), *w = values(e, n * k, 1);
    float *c = blank(e, m * n), *part = blank(e, m * n);
    void *packed = pack(e, w, n, k, RLF_PRODUCT_FORWARD);
    CALL(e, product, .m = m, .n = n, .k = k, .x = x, .packed = packed, .c = c);
    out_f32(e, c, m * n);
    for (int64_t rows = 1; e->check && rows < m; rows += 1 + rows / 4) {
        CALL(e, product, .m = rows, .n = n, .k = k, .x = x, .packed = packed,
             .c = part);
        same(e, part, c, rows * n, 4, "fewer rows");
    }
    static const int64_t cuts[] = {1, 300, 256, 519};
    for (int64_t i = 0; e->check && !e->bf16 && i < N(cuts); i++) {
        int64_t a = cuts[i], b = k - a;
        float *left = blank(e, n * a), *right = blank(e, n * b);
        for (int64_t j = 0; j < n; j++) {
            memcpy(left + j * a, w + j * k, (size_t)a * 4);
            memcpy(right + j * b, w + j * k + a, (size_t)b * 4);
        }
        CALL(e, product, .m = m, .n = n, .k = a, .x = x, .ldx = k,
             .packed = pack(e, left, n, a, RLF_PRODUCT_FORWARD), .c = part);
        CALL(e, product, .m = m, .n = n, .k = b, .x = x + a, .ldx = k,
             .packed = pack(e, right, n, b, RLF_PRODUCT_FORWARD), .c = part,
             .add = true);
        same(e, part, c, m * n, 4, "k in two pieces");
    }
}

/* Checks that bits do not depend on how far apart rows of x lie: whether they
 * are copied together first, and in which pieces of k. */
static void
test_product_distances(env *e)
{
    enum { M = 20, MANY = 1300, COLS = 110, K = 400 };
    static const int64_t distances[] = {513, 1024, 1040, 2048};
    float *x = values(e, M * K, 1), *w = values(e, COLS * K, 1);
    float *want = blank(e, M * COLS), *sum = blank(e, COLS);
    void *packed = pack(e, w, COLS, K, RLF_PRODUCT_FORWARD);
    CALL(e, product, .m = M, .n = COLS, .k = K, .x = x, .packed = packed,
         .c = want);
    out_f32(e, want, M * COLS);
    for (int64_t i = 0; e->check && i < M; i += row_stride()) {
        chain(x + i * K, K, w, COLS, K, true, NULL, sum);
        agree(e, want + i * COLS, sum, COLS, true, "rows side by side");
    }
    if (!e->check)
        return;
    /* so many rows that no task has few columns, with any number of threads */
    float *rows = values(e, MANY * K, 1), *all = blank(e, MANY * COLS);
    CALL(e, product, .m = MANY, .n = COLS, .k = K, .x = rows, .packed = packed,
         .c = all);
    for (int64_t i = 0; i < N(distances); i++) {
        int64_t ld = distances[i];
        float *apart = values(e, MANY * ld, 1), *c = blank(e, MANY * COLS);
        for (int64_t r = 0; r < MANY; r++)
            memcpy(apart + r * ld, rows + r * K, K * sizeof *rows);
        CALL(e, product, .m = MANY, .n = COLS, .k = K, .x = apart, .ldx = ld,
             .packed = packed, .c = c);
        same(e, c, all, MANY * COLS, 4, "rows apart");
    }
}

/* Checks that a product which prefetches memory for others leaves its own bits,
 * and that memory, as they are. */
static void
test_product_prefetch(env *e)
{
    enum { STRIDE = 600 };
    static const int32_t index[] = {3, 0, 2, 1, 3};
    static const int64_t floats[] = {1, 250, STRIDE};
    static const int64_t empty[] = {64, 97, 0};
    for (int64_t s = 0; s <= N(shapes); s++) {
        const int64_t *shape = s < N(shapes) ? shapes[s] : empty;
        int64_t m = shape[0], n = shape[1], k = shape[2];
        float *x = values(e, m * k, 1), *w = values(e, n * k, 1);
        float *c = blank(e, m * n), *want = blank(e, m * n);
        float *other = values(e, 4 * STRIDE, 1);
        float *old = copy_of(e, other, 4 * STRIDE);
        void *packed = pack(e, w, n, k, RLF_PRODUCT_FORWARD);
        CALL(e, product, .m = m, .n = n, .k = k, .x = x, .packed = packed,
             .c = want);
        for (int64_t i = 0; i < N(floats); i++) {
            CALL(e, product, .m = m, .n = n, .k = k, .x = x, .packed = packed,
                 .c = c,
                 .prefetch = {.base = other,
                              .index = index,
                              .n = N(index),
                              .stride = STRIDE,
                              .floats = floats[i]});
            same(e, c, want, m * n, 4, "with memory to bring near");
            same(e, other, old, 4 * STRIDE, 4, "the memory brought near");
        }
        out_f32(e, c, m * n);
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

/* Shard s of the product by the definition: parts of k one after another; of
 * fewer pieces than shards, whole ones. */
static float
shard_chain(const float *x, const float *w, const int64_t *parts,
            const int *pieces, int n_parts, int of, int s, float start)
{
    int64_t at = 0;
    for (int p = 0; p < n_parts; p++) {
        int each = pieces && pieces[p] && pieces[p] < of ? of / pieces[p] : 1;
        int64_t n = parts[p], first = s / each, in = of / each;
        for (int64_t i = n * first / in;
             s % each == 0 && i < n * (first + 1) / in; i++)
            start = fmaf(x[at + i], w[at + i], start);
        at += n;
    }
    return start;
}

/* Of a CPU's bf16 each partial sum is rounded, as what ranks add up is. */
static float
rounded(const env *e, float x)
{
    return e->even ? rlf_bf16_to_f32(rlf_f32_to_bf16(x)) : x;
}

/* k in shards, of one part and of three; then the halves of the shards in two
 * places, whose sum is the tree's last addition. */
static void
sharded_shape(env *e, const int64_t *shape, int of, const int64_t *parts,
              const int *pieces, int n_parts)
{
    int64_t m = shape[0], n = shape[1], k = 0;
    for (int i = 0; i < n_parts; i++)
        k += parts[i];
    int64_t ldx = k + 3;
    float *x = values(e, m * ldx, 1), *w = values(e, n * k, 1);
    float *c = values(e, m * n, 1), *old = copy_of(e, c, m * n);
    float *bias = values(e, n, 1), *from_bias = blank(e, m * n);
    void *packed = pack(e, w, n, k, RLF_PRODUCT_FORWARD);
    CALL(e, product, .m = m, .n = n, .k = k, .x = x, .ldx = ldx,
         .packed = packed, .c = c, .add = true, .shards = {.of = of},
         .parts = n_parts > 1 ? parts : NULL, .pieces = pieces,
         .n_parts = n_parts);
    CALL(e, product, .m = m, .n = n, .k = k, .x = x, .ldx = ldx,
         .packed = packed, .c = from_bias, .bias = bias, .shards = {.of = of},
         .parts = n_parts > 1 ? parts : NULL, .pieces = pieces,
         .n_parts = n_parts);
    if (!pieces) {
        out_f32(e, c, m * n);
        out_f32(e, from_bias, m * n);
    }
    if (!e->check)
        return;
    int64_t stride = m * n * k < 10000000 ? row_stride() : 97;
    for (int64_t i = 0; i < m * n; i += stride) {
        float sum[RLF_MOST_SHARDS], start = old[i];
        for (int twice = 0; twice < 2; twice++, start = bias[i % n]) {
            for (int s = 0; s < of; s++)
                sum[s] = rounded(e, shard_chain(x + i / n * ldx, w + i % n * k,
                                                parts, pieces, n_parts, of, s,
                                                s ? 0 : start));
            for (int step = 1; step < of; step *= 2)
                for (int s = 0; s + step < of; s += 2 * step)
                    sum[s] = rounded(e, sum[s] + sum[s + step]);
            agree(e, twice ? from_bias + i : c + i, sum, 1, true, "in shards");
        }
    }
    if ((of & (of - 1)) || n_parts > 1 || (e->bf16 && !e->even))
        return; /* half of a tree is a tree where halves are */
    float *half[2] = {copy_of(e, old, m * n), blank(e, m * n)};
    for (int place = 0; place < 2; place++) {
        int64_t first = place ? k * (of / 2) / of : 0;
        int64_t held = (place ? k : k * (of / 2) / of) - first;
        float *cut = blank(e, n * held);
        for (int64_t j = 0; j < n; j++)
            memcpy(cut + j * held, w + j * k + first, (size_t)held * 4);
        CALL(e, product, .m = m, .n = n, .k = held, .x = x + first, .ldx = ldx,
             .packed = pack(e, cut, n, held, RLF_PRODUCT_FORWARD),
             .c = half[place], .add = place == 0,
             .shards = {.of = of, .first = place * of / 2, .count = of / 2},
             .parts = &k, .n_parts = 1);
    }
    for (int64_t i = 0; i < m * n; i++)
        half[0][i] = rounded(e, half[0][i] + half[1][i]);
    same(e, half[0], c, m * n, 4, "shards in two places");
}

static void
test_product_shards(env *e)
{
    static const int counts[] = {2, 4, 8, 3, 6, 64};
    for (int64_t s = 0; s < N(shapes); s++) {
        int of = counts[s % N(counts)];
        int64_t k = shapes[s][2], more[] = {k, k / 2 + 1, k / 2 + 1};
        sharded_shape(e, shapes[s], of, &k, NULL, 1);
        sharded_shape(e, shapes[s], of, more, NULL, 3);
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
    /* more columns than scratch has room for partial sums of */
    int64_t large[] = {310, 1000, 0}, k = 64 * 4 + 1;
    sharded_shape(e, large, 64, &k, NULL, 1);
    for (int of = 2; of <= 8; of *= 2) {
        int64_t shape[] = {5, 37, 0}, parts[] = {99, 32, 48};
        sharded_shape(e, shape, of, parts, (const int[]){0, 2, 2}, 3);
        sharded_shape(e, shape, of, parts, (const int[]){0, 1, 4}, 3);
    }
    rlf_product_args wrong = {
        .m = 1, .n = 1, .k = 3, .shards = {.of = 4, .first = 1, .count = 1}};
    if (!e->bf16 && e->k->product(e->queue, &wrong, &e->err) != RLF_BUG)
        snprintf(e->why, sizeof e->why, "accepts shards without the whole");
}

static void
test_product_grad(env *e)
{
    for (int64_t s = 0; s < N(shapes); s++) {
        int64_t m = shapes[s][0] * 3, n = shapes[s][1], k = shapes[s][2];
        int64_t lddy = n + 2, ldx = k + 1, lddw = k + 4;
        float *dy = values(e, m * lddy, 1), *x = values(e, m * ldx, 1);
        float *dw = values(e, n * lddw, 1), *want = copy_of(e, dw, n * lddw);
        float *cut = copy_of(e, dw, n * lddw);
        CALL(e, product_grad, .m = m, .n = n, .k = k, .dy = dy, .lddy = lddy,
             .x = x, .ldx = ldx, .dw = dw, .lddw = lddw);
        out_f32(e, dw, n * lddw);
        if (e->check) {
            for (int64_t t = 0; t < m; t++)
                for (int64_t i = 0; i < n * k; i++) {
                    float *at = want + i / k * lddw + i % k;
                    *at = fmaf(dy[t * lddy + i / k], x[t * ldx + i % k], *at);
                }
            agree(e, dw, want, n * lddw, false, "token by token");
            int64_t a = m / 3 + 1;
            CALL(e, product_grad, .m = a, .n = n, .k = k, .dy = dy,
                 .lddy = lddy, .x = x, .ldx = ldx, .dw = cut, .lddw = lddw);
            CALL(e, product_grad, .m = m - a, .n = n, .k = k,
                 .dy = dy + a * lddy, .lddy = lddy, .x = x + a * ldx,
                 .ldx = ldx, .dw = cut, .lddw = lddw);
            agree(e, cut, dw, n * lddw, false, "in micro-batches");
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

/* Larger than every tile and block, in all directions; k larger than one part
 * of a GPU's. */
static void
test_product_large(env *e)
{
    int64_t m = 260, n = 801, k = 520;
    float *x = values(e, m * k, 1), *w = values(e, n * k, 1);
    float *c = blank(e, m * n), *dw = values(e, n * k, 1);
    float *dx = blank(e, m * k), *want = copy_of(e, dw, n * k);
    void *packed = pack(e, w, n, k, RLF_PRODUCT_FORWARD);
    void *back = pack(e, w, n, k, RLF_PRODUCT_BACKWARD);
    CALL(e, product, .m = m, .n = n, .k = k, .x = x, .packed = packed, .c = c);
    CALL(e, product_grad, .m = m, .n = n, .k = k, .dy = c, .x = x, .dw = dw);
    CALL(e, product, .m = m, .n = k, .k = n, .x = c, .packed = back,
         .form = RLF_PRODUCT_BACKWARD, .c = dx);
    out_f32(e, c, m * n);
    out_f32(e, dw, n * k);
    out_f32(e, dx, m * k);
    for (int64_t i = 0; e->check && i < 200; i++) {
        int64_t r = (int64_t)(uniform(e) * (double)m);
        int64_t j = (int64_t)(uniform(e) * (double)n);
        int64_t q = (int64_t)(uniform(e) * (double)k);
        float s = 0, d = 0, g = want[j * k + q];
        for (int64_t t = 0; t < k; t++)
            s = fmaf(x[r * k + t], w[j * k + t], s);
        for (int64_t t = 0; t < n; t++)
            d = fmaf(c[r * n + t], w[t * k + q], d);
        for (int64_t t = 0; t < m; t++)
            g = fmaf(c[t * n + j], x[t * k + q], g);
        agree(e, c + r * n + j, &s, 1, true, "y");
        agree(e, dx + r * k + q, &d, 1, true, "dx");
        agree(e, dw + j * k + q, &g, 1, false, "dw");
    }
}

static const op_case cases[] = {
    {"product", test_product},
    {"product_back", test_product_back},
    {"product_distances", test_product_distances},
    {"product_geglu", test_product_geglu},
    {"product_swiglu", test_product_glu},
    {"product_pieces", test_product_pieces},
    {"product_soon", test_product_prefetch},
    {"product_shards", test_product_shards},
    {"product_grad", test_product_grad},
    {"product_large", test_product_large},
};

int
main(int argc, char **argv)
{
    return run_cases(cases, N(cases), argc > 1 ? argv[1] : NULL);
}
