/* Operations on rows, casts, the optimizer: see kernels_case.h. */
#include "engine/base/philox.h"
#include "tests/unit/kernels_case.h"

static const int64_t dims[] = {1, 7, 8, 24, 63, 64, 65, 96, 288};
static const int64_t rows[] = {1, 2, 5, 17};
#define N(a) ((int64_t)(sizeof(a) / sizeof *(a)))
#define EACH_SHAPE                                                           \
    for (int64_t si = 0; si < N(dims) * N(rows); si++)                       \
        for (int64_t d = dims[si % N(dims)], m = rows[si / N(dims)], go = 1; \
             go; go = 0)

static double *
doubles(env *e, int64_t n)
{
    return take(e, n, sizeof(double));
}

/* Rows as activations are give the same as f32, also where those have more
 * digits; where a packed matrix is the matrix, it is read as such. */
static void
test_embed_rows(env *e)
{
    int64_t m = 19, d = 44, v = 11, ld = 0;
    const rlf_kernels *k = e->k;
    float *w = values(e, v * d, 1), *y = blank(e, m * d);
    float *again = blank(e, m * d);
    int32_t *tokens = indices(e, m, v);
    const void *table = w;
    for (int64_t i = 0; i < v * d; i++)
        w[i] *= 1.0009765f;
    if (k->one_pack) {
        size_t bytes = k->product_packed_bytes(v, d, RLF_PRODUCT_FORWARD);
        void *packed = take(e, (int64_t)bytes, 1);
        CALL(e, product_pack, .rows = v, .cols = d, .w = w, .packed = packed);
        ld = rlf_packed_row(k, d);
        table = packed;
    } else if (e->bf16) {
        uint16_t *narrow = take(e, v * d, sizeof *narrow);
        for (int64_t i = 0; i < v * d; i++)
            narrow[i] = rlf_f32_to_bf16(w[i]);
        table = narrow;
    }
    CALL(e, embed, .m = m, .d = d, .v = v, .tokens = tokens, .w = w, .y = y);
    CALL(e, embed, .m = m, .d = d, .v = v, .tokens = tokens, .rows = table,
         .ld_rows = ld, .y = again);
    same(e, again, y, m * d, 4, "from rows as activations are");
    CALL(e, embed, .m = m, .d = d, .v = v, .first = 4, .part = 3,
         .tokens = tokens, .w = w + 4 * d, .y = y);
    CALL(e, embed, .m = m, .d = d, .v = v, .first = 4, .part = 3,
         .tokens = tokens, .rows = rlf_real_at(k, table, 4 * (ld ? ld : d)),
         .ld_rows = ld, .y = again);
    same(e, again, y, m * d, 4, "from some of them");
    out_f32(e, again, m * d);
}

/* Tokens of which some are what was sampled before: the same rows. */
static void
test_embed_sampled(env *e)
{
    int64_t m = 19, d = 44, v = 11;
    float *w = values(e, v * d, 1), *y = blank(e, m * d);
    float *again = blank(e, m * d);
    int32_t *tokens = indices(e, m, v), *sampled = indices(e, m, v);
    int32_t *mixed = indices(e, m, v);
    for (int64_t i = 0; i < m; i++) {
        bool known = i % 3 == 0;
        mixed[i] = known ? tokens[i] : -1 - (int32_t)(m - 1 - i);
        sampled[m - 1 - i] = known ? -1 : tokens[i];
    }
    for (int64_t part = 0; part <= 3; part += 3) {
        CALL(e, embed, .m = m, .d = d, .v = v, .first = part, .part = part,
             .tokens = tokens, .w = w, .y = y);
        CALL(e, embed, .m = m, .d = d, .v = v, .first = part, .part = part,
             .tokens = mixed, .sampled = sampled, .w = w, .y = again);
        same(e, again, y, m * d, 4, "of tokens that were sampled");
    }
    out_f32(e, again, m * d);
    sampled[m - 2] = (int32_t)v;
    rlf_embed_args bad = {.m = m,
                          .d = d,
                          .v = v,
                          .tokens = mixed,
                          .sampled = sampled,
                          .w = w,
                          .y = y};
    if (e->k->embed(e->queue, &bad, &e->err) != RLF_BUG)
        snprintf(e->why, sizeof e->why, "accepts a sampled token out of range");
}

static void
test_embed(env *e)
{
    int64_t m = 37, d = 72, v = 11;
    float *w = values(e, v * d, 1), *y = blank(e, m * d);
    int32_t *tokens = indices(e, m, v);
    CALL(e, embed, .m = m, .d = d, .v = v, .tokens = tokens, .w = w, .y = y);
    out_f32(e, y, m * d);
    for (int64_t i = 0; i < m; i++)
        same(e, y + i * d, w + tokens[i] * d, d, 4, "row");
    tokens[3] = (int32_t)v;
    rlf_embed_args bad = {
        .m = m, .d = d, .v = v, .tokens = tokens, .w = w, .y = y};
    if (e->k->embed(e->queue, &bad, &e->err) != RLF_BUG)
        snprintf(e->why, sizeof e->why, "accepts a token out of range");
}

static void
test_embed_grad(env *e)
{
    int64_t m = 57, d = 100, v = 5, ld = 104;
    float *dy = values(e, m * ld, 1), *dw = values(e, v * d, 1);
    float *want = copy_of(e, dw, v * d), *cut = copy_of(e, dw, v * d);
    int32_t *tokens = indices(e, m, v);
    CALL(e, embed_grad, .m = m, .d = d, .v = v, .tokens = tokens, .dy = dy,
         .lddy = ld, .dw = dw);
    out_f32(e, dw, v * d);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++)
            want[tokens[i] * d + j] += dy[i * ld + j];
    same(e, dw, want, v * d, 4, "in token order");
    for (int64_t i = 0; i < m; i += 10)
        CALL(e, embed_grad, .m = m - i < 10 ? m - i : 10, .d = d, .v = v,
             .tokens = tokens + i, .dy = dy + i * ld, .lddy = ld, .dw = cut);
    same(e, cut, want, v * d, 4, "in micro-batches");
}

/* A table in three parts: added up, the whole's rows; gradients of each part.
 */
static void
test_embed_part(env *e)
{
    int64_t m = 37, d = 72, v = 11, from[] = {0, 4, 5, 11};
    float *w = values(e, v * d, 1), *sum = blank(e, m * d);
    float *y = blank(e, m * d), *dy = values(e, m * d, 1);
    float *dw = values(e, v * d, 1), *want = copy_of(e, dw, v * d);
    int32_t *tokens = indices(e, m, v);
    w[0] = -0.0f;
    for (int i = 0; i < 3; i++) {
        CALL(e, embed, .m = m, .d = d, .v = v, .first = from[i],
             .part = from[i + 1] - from[i], .tokens = tokens,
             .w = w + from[i] * d, .y = y);
        for (int64_t j = 0; j < m * d; j++)
            sum[j] = i ? sum[j] + y[j] : y[j];
        CALL(e, embed_grad, .m = m, .d = d, .v = v, .first = from[i],
             .part = from[i + 1] - from[i], .tokens = tokens, .dy = dy,
             .dw = dw + from[i] * d);
    }
    out_f32(e, sum, m * d);
    out_f32(e, dw, v * d);
    CALL(e, embed, .m = m, .d = d, .v = v, .tokens = tokens, .w = w, .y = y);
    CALL(e, embed_grad, .m = m, .d = d, .v = v, .tokens = tokens, .dy = dy,
         .dw = want);
    same(e, sum, y, m * d, 4, "parts added up");
    same(e, dw, want, v * d, 4, "gradients of parts");
}

static void
test_gather_scatter(env *e)
{
    int64_t m = 40, d = 33;
    float *x = values(e, m * d, 1), *y = values(e, m * d, 1);
    float *z = copy_of(e, y, m * d), *want = copy_of(e, y, m * d);
    int32_t *index = indices(e, m, m);
    index[7] = -1;
    CALL(e, rows_gather, .m = m, .d = d, .index = index, .x = x, .y = y);
    for (int64_t i = 0; i < m * d; i++) {
        float v = index[i / d] < 0 ? 0 : x[index[i / d] * d + i % d];
        same(e, y + i, &v, 1, 4, "gather");
        if (index[i / d] >= 0)
            want[index[i / d] * d + i % d] += x[i];
    }
    CALL(e, rows_scatter, .m = m, .d = d, .index = index, .x = x, .y = z,
         .add = true);
    agree(e, z, want, m * d, true, "scatter");
    out_f32(e, y, m * d);
    out_f32(e, z, m * d);
}

static void
test_bias_grad(env *e)
{
    int64_t m = 45, n = 131, ld = 140;
    float *dy = values(e, m * ld, 1), *db = values(e, n, 1);
    float *want = copy_of(e, db, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            want[j] += dy[i * ld + j];
    CALL(e, bias_grad, .m = 20, .n = n, .dy = dy, .lddy = ld, .db = db);
    CALL(e, bias_grad, .m = m - 20, .n = n, .dy = dy + 20 * ld, .lddy = ld,
         .db = db);
    same(e, db, want, n, 4, "in token order");
    out_f32(e, db, n);
}

static double
rms_double(const double *x, const float *w, const float *dy, int64_t d,
           double *y)
{
    double s = 0, loss = 0;
    for (int64_t i = 0; i < d; i++)
        s += x[i] * x[i];
    double r = 1 / sqrt(s / (double)d + 1e-5);
    for (int64_t i = 0; i < d; i++) {
        double v = x[i] * r * (double)w[i];
        if (y)
            y[i] = v;
        if (dy)
            loss += v * (double)dy[i];
    }
    return loss;
}

static void
test_rmsnorm(env *e)
{
    EACH_SHAPE
    {
        int64_t g = 1 + si % 3, n = m * g * d;
        float *x = values(e, n, 2), *w = values(e, d, 1), *y = blank(e, n);
        float *r = blank(e, m * g), *one = blank(e, g * d);
        CALL(e, rmsnorm, .m = m, .d = d, .groups = g, .x = x, .weight = w,
             .eps = 1e-5f, .y = y, .rstd = r);
        out_f32(e, y, n);
        out_f32(e, r, m * g);
        if (e->check) {
            double *in = doubles(e, d), *want = doubles(e, d);
            for (int64_t i = 0; i < m * g; i++) {
                for (int64_t j = 0; j < d; j++)
                    in[j] = (double)x[i * d + j];
                rms_double(in, w, NULL, d, want);
                like_real(e, y + i * d, want, d, 1e-6, "y");
            }
            for (int64_t i = 0; i < m; i++) {
                CALL(e, rmsnorm, .m = 1, .d = d, .groups = g,
                     .x = x + i * g * d, .weight = w, .eps = 1e-5f, .y = one);
                same(e, one, y + i * g * d, g * d, 4, "a row alone");
            }
        }
        for (; e->n_held > 0;)
            free(e->held[--e->n_held]);
    }
}

static void
test_rmsnorm_grad(env *e)
{
    EACH_SHAPE
    {
        int64_t n = m * d;
        float *x = values(e, n, 2), *w = values(e, d, 1), *y = blank(e, n);
        float *r = blank(e, m), *dy = values(e, n, 1), *dx = values(e, n, 1);
        float *dw = values(e, d, 1), *dx0 = copy_of(e, dx, n);
        float *dw0 = copy_of(e, dw, d), *cut = copy_of(e, dw, d);
        CALL(e, rmsnorm, .m = m, .d = d, .x = x, .weight = w, .eps = 1e-5f,
             .y = y, .rstd = r);
        CALL(e, rmsnorm_grad, .m = m, .d = d, .x = x, .weight = w, .rstd = r,
             .dy = dy, .dx = dx, .add = true, .dweight = dw);
        out_f32(e, dx, n);
        out_f32(e, dw, d);
        if (e->check) {
            double *in = doubles(e, d), *want = doubles(e, n);
            double *want_w = doubles(e, d);
            for (int64_t j = 0; j < d; j++)
                want_w[j] = (double)dw0[j];
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j < d; j++)
                    in[j] = (double)x[i / d * d + j];
                double h = 1e-5, at = in[i % d];
                const float *row = dy + i / d * d;
                in[i % d] = at + h;
                double up = rms_double(in, w, row, d, NULL);
                in[i % d] = at - h;
                double down = rms_double(in, w, row, d, NULL);
                want[i] = (double)dx0[i] + (up - down) / (2 * h);
                want_w[i % d] += (double)dy[i] * at * (double)r[i / d];
            }
            like_real(e, dx, want, n, 3e-6, "dx");
            like(e, dw, want_w, d, 3e-6, "dweight");
            for (int64_t i = 0; i < m; i += 2) /* dx may be dy */
                CALL(e, rmsnorm_grad, .m = m - i < 2 ? m - i : 2, .d = d,
                     .x = x + i * d, .weight = w, .rstd = r + i,
                     .dy = dy + i * d, .dx = dy + i * d, .dweight = cut);
            agree(e, cut, dw, d, false, "dweight in micro-batches");
        }
        for (; e->n_held > 0;)
            free(e->held[--e->n_held]);
    }
}

/* Sums over shards of the heads are those of the heads alone. */
static void
test_rmsnorm_shards(env *e)
{
    int64_t m = 19, d = 24, heads = 12, n = m * heads * d;
    float *x = values(e, n, 2), *w = values(e, d, 1), *y = blank(e, n);
    float *r = blank(e, m * heads), *dy = values(e, n, 1), *dx = blank(e, n);
    float *dx1 = blank(e, n), *dw = values(e, 4 * d, 1);
    float *want = copy_of(e, dw, 4 * d), *held = blank(e, m * 3);
    CALL(e, rmsnorm, .m = m, .d = d, .groups = heads, .x = x, .weight = w,
         .eps = 1e-5f, .y = y, .rstd = r);
    CALL(e, rmsnorm_grad, .m = m, .d = d, .groups = heads, .x = x, .weight = w,
         .rstd = r, .dy = dy, .dx = dx, .dweight = dw, .shards = 4);
    out_f32(e, dx, n);
    out_f32(e, dw, 4 * d);
    for (int s = 0; s < 4; s++) {
        for (int64_t i = 0; i < m * 3; i++)
            held[i] = r[i / 3 * heads + s * 3 + i % 3];
        int64_t at = s * 3 * d;
        CALL(e, rmsnorm_grad, .m = m, .d = d, .groups = 3, .x = x + at,
             .ldx = heads * d, .weight = w, .rstd = held, .dy = dy + at,
             .lddy = heads * d, .dx = dx1 + at, .lddx = heads * d,
             .dweight = want + s * d);
    }
    same(e, dw, want, 4 * d, 4, "dweight of a shard");
    same(e, dx, dx1, n, 4, "dx");
}

/* Norms of rows that lie in several places: partial sums over shards, whoever
 * holds them, then what a norm of whole rows gives. */
static void
test_norm_sums(env *e)
{
    static const struct {
        int64_t d;
        int shards, pieces;
    } shapes[] = {{96, 1, 0}, {100, 4, 0}, {192, 8, 2}, {520, 4, 8}};
    for (int c = 0; c < (int)N(shapes); c++) {
        int64_t m = 17, d = shapes[c].d, n = m * d;
        int of = shapes[c].shards, pieces = shapes[c].pieces;
        float *x = values(e, n, 2), *w = values(e, d, 1), *dy = values(e, n, 1);
        float *y = blank(e, n), *dx = blank(e, n), *r = blank(e, m);
        float *sums = blank(e, m), *dots = blank(e, m), *dw = values(e, d, 1);
        float *half[2] = {blank(e, m), blank(e, m)}, *y0 = blank(e, n);
        float *r0 = blank(e, m), *dx0 = blank(e, n), *dw0 = copy_of(e, dw, d);
        rlf_shards all = {of, 0, of};
        CALL(e, norm_sums, .m = m, .d = d, .x = x, .shards = all, .whole = d,
             .pieces = pieces, .sums = sums);
        CALL(e, norm_sums, .m = m, .d = d, .x = x, .dy = dy, .weight = w,
             .shards = all, .whole = d, .pieces = pieces, .sums = dots);
        out_f32(e, sums, m);
        out_f32(e, dots, m);
        for (int k = 0; k < 2 && of > 1; k++) {
            rlf_shards part = {of, k * of / 2, of / 2};
            int64_t at = rlf_piece_first(d, pieces, of, part.first);
            CALL(e, norm_sums, .m = m, .d = rlf_pieces_held(part, d, pieces),
                 .x = x + at, .ldx = d, .dy = dy + at, .lddy = d,
                 .weight = w + at, .shards = part, .whole = d, .pieces = pieces,
                 .sums = half[k]);
        }
        for (int64_t i = 0; i < m && of > 1; i++)
            half[0][i] += half[1][i];
        if (of > 1)
            same(e, half[0], dots, m, 4, "two places");
        memcpy(r, sums, (size_t)m * sizeof *r);
        CALL(e, rmsnorm, .m = m, .d = d, .x = x, .weight = w, .eps = 1e-5f,
             .y = y, .rstd = r, .sums = r, .whole = d);
        CALL(e, rmsnorm_grad, .m = m, .d = d, .x = x, .weight = w, .rstd = r,
             .dy = dy, .dx = dx, .dweight = dw, .sums = dots, .whole = d);
        CALL(e, rmsnorm, .m = m, .d = d, .x = x, .weight = w, .eps = 1e-5f,
             .y = y0, .rstd = r0);
        CALL(e, rmsnorm_grad, .m = m, .d = d, .x = x, .weight = w, .rstd = r0,
             .dy = dy, .dx = dx0, .dweight = dw0);
        out_f32(e, y, n);
        out_f32(e, dx, n);
        double *want = doubles(e, n);
        for (int64_t i = 0; i < n; i++)
            want[i] = (double)y0[i];
        like_real(e, y, want, n, 3e-6, "y");
        for (int64_t i = 0; i < n; i++)
            want[i] = (double)dx0[i];
        like_real(e, dx, want, n, 3e-6, "dx");
        for (int64_t i = 0; i < d; i++)
            want[i] = (double)dw0[i];
        like(e, dw, want, d, 1e-5, "dweight");
        for (; e->n_held > 0;)
            free(e->held[--e->n_held]);
    }
}

/* So many rows, and rows so long, that several blocks of threads share them; a
 * row has the same dx among others and alone. */
static void
test_rmsnorm_tiles(env *e)
{
    static const int64_t shapes[][3] = {
        {700, 24, 2}, {90, 112, 4}, {21, 2304, 1}, {9, 4104, 1}};
    for (int c = 0; c < (int)N(shapes); c++) {
        int64_t m = shapes[c][0], d = shapes[c][1], groups = shapes[c][2];
        int64_t n = m * groups, all = n * d;
        int shards = groups > 2 ? 2 : 1;
        float *x = values(e, all, 2), *w = values(e, d, 1), *y = blank(e, all);
        float *r = blank(e, n), *dy = values(e, all, 1), *dx = blank(e, all);
        float *dw = values(e, shards * d, 1), *one = blank(e, groups * d);
        double *want = doubles(e, d), *want_w = doubles(e, shards * d);
        for (int64_t j = 0; j < shards * d; j++)
            want_w[j] = (double)dw[j];
        CALL(e, rmsnorm, .m = m, .d = d, .groups = groups, .x = x, .weight = w,
             .eps = 1e-5f, .y = y, .rstd = r);
        CALL(e, rmsnorm_grad, .m = m, .d = d, .groups = groups, .x = x,
             .weight = w, .rstd = r, .dy = dy, .dx = dx, .dweight = dw,
             .shards = shards);
        out_f32(e, dx, all);
        out_f32(e, dw, shards * d);
        CALL(e, rmsnorm_grad, .m = 1, .d = d, .groups = groups,
             .x = x + (m - 1) * groups * d, .weight = w,
             .rstd = r + (m - 1) * groups, .dy = dy + (m - 1) * groups * d,
             .dx = one);
        same(e, one, dx + (m - 1) * groups * d, groups * d, 4, "a row alone");
        for (int64_t i = 0; e->check && i < n; i++) {
            double mean = 0, rstd = (double)r[i];
            int64_t shard = i % groups / (groups / shards);
            for (int64_t j = 0; j < d; j++)
                mean += (double)x[i * d + j] * (double)dy[i * d + j] *
                        (double)w[j] / (double)d;
            for (int64_t j = 0; j < d; j++) {
                double at = (double)x[i * d + j], slope = (double)dy[i * d + j];
                want[j] =
                    rstd * (slope * (double)w[j] - at * rstd * rstd * mean);
                want_w[shard * d + j] += slope * at * rstd;
            }
            like_real(e, dx + i * d, want, d, 3e-6, "dx");
        }
        if (e->check)
            /* 1,400 rows in order, and not in tiles */
            like(e, dw, want_w, shards * d, e->even ? 1e-5 : 3e-6, "dweight");
    }
}

/* One row of LayerNorm, in double precision: the loss sum(dy y). */
static double
layer_double(const double *x, const float *w, const float *b, const float *dy,
             int64_t d, double *y)
{
    double mean = 0, spread = 0, loss = 0;
    for (int64_t i = 0; i < d; i++)
        mean += x[i] / (double)d;
    for (int64_t i = 0; i < d; i++)
        spread += (x[i] - mean) * (x[i] - mean) / (double)d;
    for (int64_t i = 0; i < d; i++) {
        double v = (x[i] - mean) / sqrt(spread + 1e-2) * (double)w[i];
        v += b ? (double)b[i] : 0;
        if (y)
            y[i] = v;
        loss += dy ? v * (double)dy[i] : 0;
    }
    return loss;
}

/* Rows that lie off zero, with and without a bias; a row has the same bits
 * alone, and gradients of weight and bias do in micro-batches. */
static void
test_layernorm(env *e)
{
    EACH_SHAPE
    {
        int64_t n = m * d, ld = d + si % 2;
        float *x = values(e, m * ld, 2), *w = values(e, d, 1);
        float *b = si % 3 ? values(e, d, 1) : NULL, *one = blank(e, d);
        float *y = blank(e, n), *mean = blank(e, m), *r = blank(e, m);
        for (int64_t i = 0; i < m * ld; i++) {
            x[i] += i / ld % 2 ? 3 : 0;
            if (e->bf16)
                x[i] = rlf_bf16_to_f32(rlf_f32_to_bf16(x[i]));
        }
        CALL(e, layernorm, .m = m, .d = d, .x = x, .ldx = ld, .weight = w,
             .bias = b, .eps = 1e-2f, .y = y, .mean = mean, .rstd = r);
        out_f32(e, y, n);
        out_f32(e, mean, m);
        out_f32(e, r, m);
        double *in = doubles(e, d), *want = doubles(e, d);
        for (int64_t i = 0; e->check && i < m; i++) {
            for (int64_t j = 0; j < d; j++)
                in[j] = (double)x[i * ld + j];
            layer_double(in, w, b, NULL, d, want);
            like_real(e, y + i * d, want, d, 2e-6, "y");
            CALL(e, layernorm, .m = 1, .d = d, .x = x + i * ld, .weight = w,
                 .bias = b, .eps = 1e-2f, .y = one);
            same(e, one, y + i * d, d, 4, "a row alone");
        }
        for (; e->n_held > 0;)
            free(e->held[--e->n_held]);
    }
}

static void
test_layernorm_grad(env *e)
{
    EACH_SHAPE
    {
        int64_t n = m * d;
        float *x = values(e, n, 2), *w = values(e, d, 1), *y = blank(e, n);
        float *mean = blank(e, m), *r = blank(e, m), *dy = values(e, n, 1);
        float *dx = values(e, n, 1), *dx0 = copy_of(e, dx, n);
        float *dw = values(e, d, 1), *dw0 = copy_of(e, dw, d);
        float *db = values(e, d, 1), *db0 = copy_of(e, db, d);
        float *cut = copy_of(e, dw, d), *cut_b = copy_of(e, db, d);
        CALL(e, layernorm, .m = m, .d = d, .x = x, .weight = w, .eps = 1e-2f,
             .y = y, .mean = mean, .rstd = r);
        CALL(e, layernorm_grad, .m = m, .d = d, .x = x, .weight = w,
             .mean = mean, .rstd = r, .dy = dy, .dx = dx, .add = true,
             .dweight = dw, .dbias = db);
        out_f32(e, dx, n);
        out_f32(e, dw, d);
        out_f32(e, db, d);
        if (e->check) {
            double *in = doubles(e, d), *want = doubles(e, n);
            double *want_w = doubles(e, d), *want_b = doubles(e, d);
            for (int64_t j = 0; j < d; j++) {
                want_w[j] = (double)dw0[j];
                want_b[j] = (double)db0[j];
            }
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j < d; j++)
                    in[j] = (double)x[i / d * d + j];
                double h = 1e-5, at = in[i % d];
                const float *row = dy + i / d * d;
                in[i % d] = at + h;
                double up = layer_double(in, w, NULL, row, d, NULL);
                in[i % d] = at - h;
                double down = layer_double(in, w, NULL, row, d, NULL);
                want[i] = (double)dx0[i] + (up - down) / (2 * h);
                want_w[i % d] += (double)dy[i] * (at - (double)mean[i / d]) *
                                 (double)r[i / d];
                want_b[i % d] += (double)dy[i];
            }
            like_real(e, dx, want, n, 6e-6, "dx");
            like(e, dw, want_w, d, 3e-6, "dweight");
            like(e, db, want_b, d, 3e-6, "dbias");
            for (int64_t i = 0; i < m; i += 2) /* dx may be dy */
                CALL(e, layernorm_grad, .m = m - i < 2 ? m - i : 2, .d = d,
                     .x = x + i * d, .weight = w, .mean = mean + i,
                     .rstd = r + i, .dy = dy + i * d, .dx = dy + i * d,
                     .dweight = cut, .dbias = cut_b);
            same(e, cut, dw, d, 4, "dweight in micro-batches");
            same(e, cut_b, db, d, 4, "dbias in micro-batches");
        }
        for (; e->n_held > 0;)
            free(e->held[--e->n_held]);
    }
}

/* Heads of a row, each with weights of its own: the bits of a call for each. */
static void
test_layernorm_heads(env *e)
{
    int64_t m = 9, d = 24, heads = 3, ld = 80, n = m * ld;
    float *x = values(e, n, 2), *w = values(e, heads * d, 1);
    float *dy = values(e, n, 1), *y = blank(e, n), *one = blank(e, n);
    float *dx = blank(e, n), *dx1 = blank(e, n), *mean = blank(e, m * heads),
          *r = blank(e, m * heads), *own = blank(e, m), *own_r = blank(e, m);
    float *dw = values(e, heads * d, 1), *dw1 = copy_of(e, dw, heads * d);
    CALL(e, layernorm, .m = m, .d = d, .groups = heads, .x = x, .ldx = ld,
         .weight = w, .eps = 1e-2f, .y = y, .ldy = ld, .mean = mean, .rstd = r);
    CALL(e, layernorm_grad, .m = m, .d = d, .groups = heads, .x = x, .ldx = ld,
         .weight = w, .mean = mean, .rstd = r, .dy = dy, .lddy = ld, .dx = dx,
         .lddx = ld, .dweight = dw);
    for (int64_t h = 0; h < heads; h++) {
        int64_t at = h * d;
        CALL(e, layernorm, .m = m, .d = d, .x = x + at, .ldx = ld,
             .weight = w + at, .eps = 1e-2f, .y = one + at, .ldy = ld,
             .mean = own, .rstd = own_r);
        CALL(e, layernorm_grad, .m = m, .d = d, .x = x + at, .ldx = ld,
             .weight = w + at, .mean = own, .rstd = own_r, .dy = dy + at,
             .lddy = ld, .dx = dx1 + at, .lddx = ld, .dweight = dw1 + at);
        for (int64_t i = 0; i < m; i++) {
            same(e, y + i * ld + at, one + i * ld + at, d, 4, "y of a head");
            same(e, dx + i * ld + at, dx1 + i * ld + at, d, 4, "its dx");
        }
        same(e, dw + at, dw1 + at, d, 4, "its dweight");
    }
    out_f32(e, dw, heads * d);
}

static void
test_rope(env *e)
{
    int64_t half = 12, d = 32, heads = 3, n = 600, m = 50;
    float *inv = blank(e, half), *c = blank(e, n * half),
          *s = blank(e, n * half);
    for (int i = 0; i < 12; i++)
        inv[i] = (float)pow(10000, -i / 12.0);
    CALL(e, rope_table, .n = n, .half = half, .inv_freq = inv, .cos = c,
         .sin = s);
    out_f32(e, c, n * half);
    out_f32(e, s, n * half);
    float *parts[] = {blank(e, n * half), blank(e, n * half)};
    for (int64_t first = 0; first < n; first += 250)
        CALL(e, rope_table, .first = first,
             .n = n - first < 250 ? n - first : 250, .half = half,
             .inv_freq = inv, .cos = parts[0] + first * half,
             .sin = parts[1] + first * half);
    same(e, parts[0], c, n * half, 4, "cosines in parts");
    same(e, parts[1], s, n * half, 4, "sines in parts");
    float *x = values(e, m * heads * d, 1), *y = blank(e, m * heads * d);
    int32_t *positions = indices(e, m, n);
    CALL(e, rope, .m = m, .heads = heads, .d = d, .half = half,
         .positions = positions, .n_positions = n, .cos = c, .sin = s, .x = x,
         .y = y);
    out_f32(e, y, m * heads * d);
    if (!e->check)
        return;
    double *want = doubles(e, m * heads * d);
    for (int64_t i = 0; i < m * heads; i++)
        for (int64_t j = 0; j < d; j++) {
            const float *h = x + i * d;
            double v = (double)h[j];
            if (j < 2 * half) {
                float angle = (float)positions[i / heads] * inv[j % half];
                double cs = cos((double)angle), sn = sin((double)angle);
                v = j < half ? v * cs - (double)h[j + half] * sn
                             : v * cs + (double)h[j - half] * sn;
            }
            want[i * d + j] = v;
        }
    like_real(e, y, want, m * heads * d, 3e-7, "y");
    /* rotating back in place restores */
    CALL(e, rope, .m = m, .heads = heads, .d = d, .half = half,
         .positions = positions, .n_positions = n, .cos = c, .sin = s, .x = y,
         .y = y, .back = true);
    for (int64_t i = 0; i < m * heads * d; i++)
        want[i] = (double)x[i];
    like_real(e, y, want, m * heads * d, 3e-7, "back");
}

static double
silu_up(double g, double u)
{
    return g / (1 + exp(-g)) * u;
}

static void
test_glu(env *e)
{
    EACH_SHAPE
    {
        int64_t ld = 2 * d, n = m * d;
        float *x = values(e, m * ld, 6), *y = blank(e, n),
              *dy = values(e, n, 1);
        float *dx = blank(e, m * ld);
        x[0] = -200; /* e^200 is infinite in f32 */
        CALL(e, glu, .m = m, .d = d, .gate = x, .up = x + d, .ldx = ld, .y = y);
        CALL(e, glu_grad, .m = m, .d = d, .gate = x, .up = x + d, .ldx = ld,
             .dy = dy, .dgate = dx, .dup = dx + d, .lddx = ld);
        out_f32(e, y, n);
        out_f32(e, dx, m * ld);
        if (e->check) {
            double *want = doubles(e, n), *wd = doubles(e, m * ld);
            for (int64_t i = 0; i < n; i++) {
                int64_t at = i / d * ld + i % d;
                double g = (double)x[at], u = (double)x[at + d], h = 1e-5;
                want[i] = silu_up(g, u);
                wd[at] = (silu_up(g + h, u) - silu_up(g - h, u)) / (2 * h) *
                         (double)dy[i];
                wd[at + d] = silu_up(g, 1) * (double)dy[i];
            }
            like_real(e, y, want, n, 5e-7, "y");
            like_real(e, dx, wd, m * ld, 1e-6, "gradient");
        }
        for (; e->n_held > 0;)
            free(e->held[--e->n_held]);
    }
}

/* The definition by tanh, of which the kernels have another form. */
static double
gelu_tanh(double x)
{
    double u = sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + tanh(u));
}

static double
activation(rlf_act act, double x)
{
    return act == RLF_ACT_SILU        ? silu_up(x, 1)
           : act == RLF_ACT_GELU_TANH ? gelu_tanh(x)
                                      : 0.5 * x * erfc(-x / sqrt(2));
}

/* Each activation, with what it gates and without. */
static void
test_activations(env *e)
{
    static const rlf_act acts[] = {RLF_ACT_SILU, RLF_ACT_GELU_TANH,
                                   RLF_ACT_GELU};
    for (int64_t form = 0; form < 2 * N(acts); form++) {
        rlf_act act = acts[form % N(acts)];
        bool gated = form >= N(acts);
        int64_t m = 5, d = 67, ld = gated ? 2 * d : d, n = m * d;
        float *x = values(e, m * ld, 6), *y = blank(e, n);
        float *dy = values(e, n, 1), *dx = blank(e, m * ld);
        const float *up = gated ? x + d : NULL;
        float *dup = gated ? dx + d : NULL;
        x[0] = -200, x[1] = 200, x[2] = -0.0f;
        CALL(e, glu, .m = m, .d = d, .gate = x, .up = up, .ldx = ld, .act = act,
             .y = y);
        CALL(e, glu_grad, .m = m, .d = d, .gate = x, .up = up, .ldx = ld,
             .act = act, .dy = dy, .dgate = dx, .dup = dup, .lddx = ld);
        out_f32(e, y, n);
        out_f32(e, dx, m * ld);
        double *want = doubles(e, n), *wd = doubles(e, m * ld);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = i / d * ld + i % d;
            double g = (double)x[at], h = 1e-5;
            double u = gated ? (double)x[at + d] : 1;
            want[i] = activation(act, g) * u;
            wd[at] = (activation(act, g + h) - activation(act, g - h)) /
                     (2 * h) * u * (double)dy[i];
            if (gated)
                wd[at + d] = activation(act, g) * (double)dy[i];
        }
        like_real(e, y, want, n, 5e-7, "y");
        like_real(e, dx, wd, m * ld, 1.5e-6, "gradient");
        if (gated)
            continue;
        float *in_place = copy_of(e, x, n), *slope = copy_of(e, dy, n);
        CALL(e, glu, .m = m, .d = d, .gate = in_place, .act = act,
             .y = in_place);
        same(e, in_place, y, n, 4, "in place");
        CALL(e, glu_grad, .m = m, .d = d, .gate = x, .act = act, .dy = slope,
             .dgate = slope);
        same(e, slope, dx, n, 4, "gradient in place");
    }
}

static void
test_scaled_add(env *e)
{
    int64_t m = 7, d = 37, lda = 40, ldc = 38, n = m * ldc;
    float *a = values(e, m * lda, 1), *b = values(e, m * d, 1);
    float *c = blank(e, n), *alone = copy_of(e, a, m * lda);
    CALL(e, add, .m = m, .d = d, .a = a, .lda = lda, .b = b, .scale = 0.3f,
         .c = c, .ldc = ldc);
    CALL(e, add, .m = m, .d = d, .a = alone, .lda = lda, .scale = 0.3f,
         .c = alone, .ldc = lda);
    for (int64_t i = 0; i < m * d; i++) {
        float at = a[i / d * lda + i % d];
        float sum = fmaf(0.3f, b[i], at), scaled = 0.3f * at;
        agree(e, c + i / d * ldc + i % d, &sum, 1, true, "a + scale b");
        agree(e, alone + i / d * lda + i % d, &scaled, 1, true, "scale a");
    }
    out_f32(e, alone, m * lda);
}

/* Values within bounds, at them and beyond, and NaN; what the gradient takes
 * on; both over what they read. */
static void
test_clip(env *e)
{
    int64_t m = 7, d = 67, ldx = 70, ldy = 69, lddy = 72;
    float *x = values(e, m * ldx, 2), *dy = values(e, m * lddy, 1);
    x[3] = 0.75f;
    x[ldx] = -0.75f;
    x[2 * ldx + 5] = NAN;
    float *over = copy_of(e, x, m * ldx), *back = copy_of(e, dy, m * lddy);
    float *y = blank(e, m * ldy);
    CALL(e, clip, .m = m, .d = d, .bound = 0.75f, .x = x, .ldx = ldx, .y = y,
         .ldy = ldy);
    CALL(e, clip, .m = m, .d = d, .bound = 0.75f, .x = over, .ldx = ldx,
         .y = over, .ldy = ldx);
    CALL(e, clip, .m = m, .d = d, .bound = 0.75f, .x = back, .ldx = lddy,
         .by = x, .ldby = ldx, .y = back, .ldy = lddy);
    for (int64_t i = 0; i < m * d; i++) {
        int64_t row = i / d, col = i % d;
        float at = x[row * ldx + col], d_at = dy[row * lddy + col];
        float want = at > 0.75f ? 0.75f : at < -0.75f ? -0.75f : at;
        float d_want = at > 0.75f || at < -0.75f ? 0 : d_at;
        same(e, y + row * ldy + col, &want, 1, 4, "within bounds");
        same(e, over + row * ldx + col, &want, 1, 4, "... over x");
        same(e, back + row * lddy + col, &d_want, 1, 4, "its gradient");
    }
    out_f32(e, back, m * lddy);
}

/* By the definition, one number at a time. */
static bool
is_kept(uint64_t key, uint32_t module, int64_t column, uint32_t below)
{
    const uint32_t counter[4] = {(uint32_t)(column / 4), module};
    const uint32_t words[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    uint32_t out[4];
    rlf_philox(counter, words, out);
    return out[column % 4] >= below;
}

/* Rows whose columns lie in several places, of tokens in any order; added to
 * what is there and not; over x. */
static void
test_dropout(env *e)
{
    static const int64_t cuts[][2] = {{0, 261}, {5, 64}, {69, 192}, {3, 1}};
    const uint32_t below = 858993459; /* 0.2 */
    const float scale = 1.25f;
    int64_t m = 19, whole = 261, ld = 270, tokens = 23;
    float *x = values(e, m * ld, 1), *y = values(e, m * ld, 1);
    float *add = copy_of(e, y, m * ld), *over = copy_of(e, x, m * ld);
    uint64_t *keys = take(e, tokens, sizeof *keys);
    int32_t *index = indices(e, m, tokens);
    for (int64_t i = 0; i < tokens; i++)
        keys[i] = rlf_hash_mix((uint64_t)i + 1);
    for (int c = 0; c < (int)N(cuts); c++) {
        int64_t first = cuts[c][0], d = cuts[c][1];
        float *got = blank(e, m * d), *sum = blank(e, m * d);
        for (int64_t i = 0; i < m; i++)
            memcpy(sum + i * d, add + i * ld + first, (size_t)d * 4);
        for (int onto = 0; onto < 2; onto++)
            CALL(e, dropout, .m = m, .d = d, .first = first, .module = 7,
                 .below = below, .scale = scale, .keys = keys, .index = index,
                 .x = x + first, .ldx = ld, .y = onto ? sum : got, .add = onto);
        out_f32(e, got, m * d);
        out_f32(e, sum, m * d);
        for (int64_t i = 0; i < m * d && e->check; i++) {
            int64_t at = i / d * ld + first + i % d;
            bool kept = is_kept(keys[index[i / d]], 7, first + i % d, below);
            float one = kept ? scale * x[at] : 0;
            float both = kept ? fmaf(scale, x[at], add[at]) : add[at];
            agree(e, got + i, &one, 1, true, "dropped");
            agree(e, sum + i, &both, 1, true, "added");
        }
    }
    CALL(e, dropout, .m = m, .d = whole, .module = 3, .below = below,
         .keys = keys, .x = over, .ldx = ld, .y = over, .ldy = ld);
    CALL(e, dropout, .m = m, .d = whole, .module = 3, .keys = keys, .x = x,
         .ldx = ld, .y = y, .ldy = ld);
    for (int64_t i = 0; i < m * whole; i++) {
        int64_t at = i / whole * ld + i % whole;
        float want = is_kept(keys[i / whole], 3, i % whole, below) ? x[at] : 0;
        same(e, over + at, &want, 1, 4, "over x");
        same(e, y + at, x + at, 1, 4, "where all are kept");
    }
    out_f32(e, over, m * ld);
}

/* The mean over keys is x: its error has a deviation of |x| sqrt(p / (1 - p) /
 * keys). */
static void
test_dropout_mean(env *e)
{
    int64_t keys = 2000, d = 12;
    float *x = blank(e, keys * d), *y = blank(e, keys * d);
    uint64_t *key = take(e, keys, sizeof *key);
    for (int64_t i = 0; i < keys; i++)
        key[i] = rlf_hash_mix((uint64_t)i);
    for (int64_t i = 0; i < keys * d; i++)
        x[i] = (float)(i % d + 1);
    CALL(e, dropout, .m = keys, .d = d, .below = 214748365 /* 0.05 */,
         .scale = (float)(1 / 0.95), .keys = key, .x = x, .y = y);
    out_f32(e, y, keys * d);
    for (int64_t j = 0; j < d; j++) {
        double mean = 0, is = (double)(j + 1);
        for (int64_t i = 0; i < keys; i++)
            mean += (double)y[i * d + j] / (double)keys;
        double error = fabs(mean - is) / is;
        if (!(error < 4 * sqrt(0.05 / 0.95 / (double)keys)) && !e->why[0])
            snprintf(e->why, sizeof e->why, "the mean of %g is %g", is, mean);
    }
}

static void
test_flat(env *e)
{
    int64_t n = 9001;
    float *x = values(e, n, 1), *y = values(e, n, 1), *z = copy_of(e, y, n);
    float *c = blank(e, n), *f = blank(e, n);
    CALL(e, axpby, .n = n, .a = 1.5f, .b = 0.25f, .x = x, .y = z);
    CALL(e, add, .m = 1, .d = n, .a = x, .b = y, .c = c);
    CALL(e, fill, .n = n, .a = 2.5f, .y = f);
    if (e->check) { /* columns between rows of other lengths */
        float *to = copy_of(e, y, 12 * 30);
        CALL(e, add, .m = 12, .d = 17, .a = x, .lda = 19, .c = to, .ldc = 30);
        for (int64_t i = 0; i < 12 * 30; i++)
            same(e, to + i, i % 30 < 17 ? x + i / 30 * 19 + i % 30 : y + i, 1,
                 4, "add of nothing");
    }
    out_f32(e, z, n);
    out_f32(e, c, n);
    for (int64_t i = 0; i < n; i++) {
        float want = fmaf(1.5f, x[i], 0.25f * y[i]), sum = x[i] + y[i];
        same(e, z + i, &want, 1, 4, "axpby");
        agree(e, c + i, &sum, 1, true, "add");
        if (f[i] != 2.5f)
            same(e, f + i, &sum, 1, 4, "fill");
    }
    CALL(e, axpby, .n = n, .a = 2, .b = 0, .x = x, .y = blank(e, n));
}

/* Nearest even by the definition: the two neighbours and their distance. */
static void
test_cast(env *e)
{
    int64_t n = 65536;
    uint16_t *h = take(e, n, 2), *back = take(e, n, 2);
    float *x = blank(e, n);
    for (int64_t i = 0; i < n; i++)
        h[i] = (uint16_t)i;
    for (int type = RLF_CAST_BF16; type <= RLF_CAST_F16; type++) {
        CALL(e, cast, .n = n, .from = (rlf_cast_type)type, .to = RLF_CAST_F32,
             .x = h, .y = x);
        CALL(e, cast, .n = n, .from = RLF_CAST_F32, .to = (rlf_cast_type)type,
             .x = x, .y = back);
        for (int64_t i = 0; i < n; i++)
            if (x[i] == x[i])
                same(e, back + i, h + i, 1, 2, "round trip");
        e->hash = rlf_hash(e->hash, x, 0x7c00 * sizeof *x);
        int bits = type == RLF_CAST_BF16 ? 8 : 11;
        float *mid = blank(e, 1000);
        for (int64_t i = 0; i < 1000; i++)
            mid[i] = (float)ldexp(uniform(e) + 1, (int)(i % 20) - 12);
        CALL(e, cast, .n = 1000, .from = RLF_CAST_F32,
             .to = (rlf_cast_type)type, .x = mid, .y = back);
        CALL(e, cast, .n = 1000, .from = (rlf_cast_type)type,
             .to = RLF_CAST_F32, .x = back, .y = x);
        for (int64_t i = 0; i < 1000; i++) {
            int exponent;
            frexp((double)mid[i], &exponent);
            double unit = ldexp(1, exponent - bits);
            float want = (float)(nearbyint((double)mid[i] / unit) * unit);
            same(e, x + i, &want, 1, 4, "nearest");
        }
    }
}

static void
test_adamw(env *e)
{
    int64_t n = 5003;
    float *w = values(e, n, 1), *m = values(e, n, .1), *v = values(e, n, .1);
    float *g = values(e, n, 1);
    double *want = doubles(e, n);
    for (int64_t i = 0; i < n; i++) {
        v[i] = fabsf(v[i]);
        double gr = 0.5 * (double)g[i];
        double m1 = 0.9 * (double)m[i] + 0.1 * gr;
        double v1 = 0.98 * (double)v[i] + 0.02 * gr * gr;
        double w1 = (double)w[i] * (1 - 1e-2 * 0.1);
        want[i] = w1 - 1e-2 * (m1 / 0.19) / (sqrt(v1 / 0.0396) + 1e-8);
    }
    CALL(e, adamw, .n = n, .w = w, .m = m, .v = v, .g = g, .grad_scale = .5f,
         .lr = 1e-2f, .beta1 = .9f, .beta2 = .98f, .eps = 1e-8f, .decay = .1f,
         .bias1 = 0.19, .bias2 = 0.0396);
    out_f32(e, w, n);
    out_f32(e, m, n);
    out_f32(e, v, n);
    like(e, w, want, n, 2e-7, "w");
}

/* The step of a matrix, and what is packed of it where that is the matrix. */
static void
test_adamw_packed(env *e)
{
    static const int64_t shapes[][2] = {{7, 5}, {40, 24}, {3, 30}};
    for (int c = 0; c < (int)N(shapes); c++) {
        int64_t height = shapes[c][0], cols = shapes[c][1], n = height * cols;
        float *w = values(e, n, 1), *g = values(e, n, 1), *v = blank(e, n);
        float *m = values(e, n, .1), *m0 = copy_of(e, m, n);
        float *w0 = copy_of(e, w, n), *v0 = copy_of(e, v, n);
        memset(v, 0, (size_t)n * 4);
        memset(v0, 0, (size_t)n * 4);
        CALL(e, adamw, .n = n, .w = w, .m = m, .v = v, .g = g, .grad_scale = 1,
             .lr = 1e-2f, .beta1 = .9f, .beta2 = .98f, .eps = 1e-8f,
             .bias1 = 0.19, .bias2 = 0.0396);
        out_f32(e, w, n);
        if (!e->k->one_pack)
            continue;
        size_t bytes =
            e->k->product_packed_bytes(height, cols, RLF_PRODUCT_FORWARD);
        char *packed = take(e, (int64_t)bytes, 1);
        char *want = take(e, (int64_t)bytes, 1);
        CALL(e, product_pack, .rows = height, .cols = cols, .w = w0,
             .form = RLF_PRODUCT_FORWARD, .packed = packed);
        CALL(e, adamw, .n = n, .w = w0, .m = m0, .v = v0, .g = g,
             .grad_scale = 1, .lr = 1e-2f, .beta1 = .9f, .beta2 = .98f,
             .eps = 1e-8f, .bias1 = 0.19, .bias2 = 0.0396, .packed = packed,
             .cols = cols);
        CALL(e, product_pack, .rows = height, .cols = cols, .w = w,
             .form = RLF_PRODUCT_FORWARD, .packed = want);
        same(e, w0, w, n, 4, "the same step");
        same(e, packed, want, (int64_t)bytes, 1, "its packed weights");
    }
}

static void
test_sumsq(env *e)
{
    static const int64_t sizes[] = {0, 1, 63, 4095, 4096, 4097, 3000000};
    for (int i = 0; i < 7; i++) {
        int64_t n = sizes[i], nb = (n + 4095) / 4096;
        float *x = values(e, n, 3);
        double *blocks = doubles(e, nb), *total = doubles(e, 2), want = 1;
        total[0] = total[1] = 1;
        CALL(e, sumsq, .n = n, .x = x, .blocks = blocks, .total = total);
        CALL(e, sumsq, .n = n, .x = x, .total = total + 1);
        long double sum = 1;
        for (int64_t j = 0; j < nb; j++)
            want += blocks[j];
        for (int64_t j = 0; j < n; j++)
            sum += (long double)x[j] * (long double)x[j];
        same(e, total + 1, total, 1, 8, "without blocks");
        same(e, &want, total, 1, 8, "blocks in order");
        if (fabs(*total - (double)sum) > 1e-13 * *total)
            snprintf(e->why, sizeof e->why, "sum %g, not %Lg", *total, sum);
        out(e, blocks, nb, 8);
    }
    /* columns of a matrix: as if they lay together */
    int64_t height = 700, width = 37, ld = 90;
    float *x = values(e, height * ld, 3), *dense = blank(e, height * width);
    double *total = doubles(e, 2);
    total[0] = total[1] = 0;
    for (int64_t i = 0; i < height; i++)
        memcpy(dense + i * width, x + i * ld + 5, (size_t)width * 4);
    CALL(e, sumsq, .n = height * width, .x = x + 5, .width = width, .ld = ld,
         .total = total);
    CALL(e, sumsq, .n = height * width, .x = dense, .total = total + 1);
    same(e, total, total + 1, 1, 8, "columns");
}

static const op_case cases[] = {
    {"embed", test_embed},
    {"embed_grad", test_embed_grad},
    {"embed_part", test_embed_part},
    {"embed_rows", test_embed_rows},
    {"embed_sampled", test_embed_sampled},
    {"gather_scatter", test_gather_scatter},
    {"bias_grad", test_bias_grad},
    {"layernorm", test_layernorm},
    {"layernorm_grad", test_layernorm_grad},
    {"layernorm_heads", test_layernorm_heads},
    {"rmsnorm", test_rmsnorm},
    {"rmsnorm_grad", test_rmsnorm_grad},
    {"rmsnorm_shards", test_rmsnorm_shards},
    {"rmsnorm_tiles", test_rmsnorm_tiles},
    {"norm_sums", test_norm_sums},
    {"rope", test_rope},
    {"activations", test_activations},
    {"scaled_add", test_scaled_add},
    {"clip", test_clip},
    {"dropout", test_dropout},
    {"dropout_mean", test_dropout_mean},
    {"swiglu", test_glu},
    {"flat", test_flat},
    {"cast", test_cast},
    {"adamw", test_adamw},
    {"adamw_packed", test_adamw_packed},
    {"sumsq", test_sumsq},
};

int
main(int argc, char **argv)
{
    return run_cases(cases, N(cases), argc > 1 ? argv[1] : NULL);
}
