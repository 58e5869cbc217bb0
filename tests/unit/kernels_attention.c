/* Attention: packed, paged and its gradient, against double precision and
 * against itself in other batches: see kernels_case.h. */
#include "tests/unit/kernels_pages.h"

#define N(a) ((int64_t)(sizeof(a) / sizeof *(a)))

typedef struct form {
    int64_t heads, kv_heads, d, window, page;
    int32_t lengths[6];
    float cap;
} form;

static const form forms[] = {
    {1, 1, 8, 0, 16, {1, 2, 3, 17}, 0},
    {4, 2, 24, 0, 16, {28, 5, 64, 65}, 0},
    {1, 1, 16, 0, 64, {127, 128, 129}, 0},
    {3, 1, 64, 0, 64, {131, 1, 63}, 0},
    {2, 2, 32, 10, 32, {70, 9}, 0},
    {1, 1, 80, 100, 48, {140, 30}, 0},
    {4, 1, 96, 0, 16, {66, 16}, 0},
    {2, 1, 128, 64, 64, {70, 64}, 0},
    {1, 1, 256, 0, 128, {70}, 0},
};

/* Every width of a head, so that every rest of a row's vectors is there. */
static const form widths[] = {
#define WIDTHS(d)                  \
    {2, 1, d, 0, 16, {3, 1}, 0},   \
    {                              \
        1, 1, d + 8, 2, 16, {3}, 0 \
    }
    WIDTHS(8),   WIDTHS(24),  WIDTHS(40),  WIDTHS(56),
    WIDTHS(72),  WIDTHS(88),  WIDTHS(104), WIDTHS(120),
    WIDTHS(136), WIDTHS(152), WIDTHS(168), WIDTHS(184),
    WIDTHS(200), WIDTHS(216), WIDTHS(232), WIDTHS(248),
#undef WIDTHS
};

/* With soft caps that the scores reach. */
static const form capped_forms[] = {
    {4, 2, 24, 0, 16, {28, 5, 64, 65}, 1.5f},
    {2, 1, 64, 20, 32, {9, 131}, 0.4f},
    {1, 1, 128, 0, 64, {67, 40}, 30},
};

typedef struct problem {
    const form *f;
    int64_t n_seqs, n;
    int32_t offsets[8];
    float *q, *k, *v, *o, *lse;
    int64_t ldq, ldk;
    float scale;
} problem;

static problem
make(env *e, const form *f)
{
    problem p = {.f = f, .scale = (float)(1 / sqrt((double)f->d))};
    for (; p.n_seqs < 6 && f->lengths[p.n_seqs]; p.n_seqs++)
        p.offsets[p.n_seqs + 1] = p.offsets[p.n_seqs] + f->lengths[p.n_seqs];
    p.n = p.offsets[p.n_seqs];
    /* q, k, v are views into one row */
    p.ldq = (f->heads + 2 * f->kv_heads) * f->d;
    p.q = values(e, p.n * p.ldq, 2);
    p.k = p.q + f->heads * f->d;
    p.v = p.k + f->kv_heads * f->d;
    p.ldk = f->kv_heads * f->d;
    p.o = blank(e, p.n * f->heads * f->d);
    p.lse = blank(e, p.n * f->heads);
    return p;
}

static void
packed(env *e, const problem *p, int64_t first, int64_t n_seqs, float *o,
       float *lse)
{
    const form *f = p->f;
    CALL(e, attention, .n_seqs = n_seqs, .offsets = p->offsets + first,
         .heads = f->heads, .kv_heads = f->kv_heads, .d = f->d,
         .scale = p->scale, .cap = f->cap, .window = f->window, .q = p->q,
         .k = p->k, .v = p->v, .ldq = p->ldq, .ldk = p->ldq, .ldv = p->ldq,
         .o = o, .lse = lse);
}

static int64_t
sees_from(const form *f, int64_t t)
{
    return f->window && t + 1 > f->window ? t + 1 - f->window : 0;
}

/* Row (token t of sequence s, head h) in double precision: o[d] and lse;
 * q, k, v are read through at(), so that a caller may disturb them. */
static double
row_double(const problem *p, const double *x, int64_t s, int64_t t, int64_t h,
           double *o)
{
    const form *f = p->f;
    int64_t base = p->offsets[s], g = h / (f->heads / f->kv_heads);
    double w[512], top = -1e300, sum = 0;
    const double *q = x + (base + t) * p->ldq + h * f->d;
    for (int64_t j = sees_from(f, t); j <= t; j++) {
        const double *k = x + (base + j) * p->ldq + (f->heads + g) * f->d;
        double z = 0;
        for (int64_t i = 0; i < f->d; i++)
            z += q[i] * k[i];
        w[j] = z * (double)p->scale;
        if (f->cap != 0)
            w[j] = (double)f->cap * tanh(w[j] / (double)f->cap);
        top = w[j] > top ? w[j] : top;
    }
    for (int64_t i = 0; i < f->d; i++)
        o[i] = 0;
    for (int64_t j = sees_from(f, t); j <= t; j++) {
        const double *v =
            x + (base + j) * p->ldq + (f->heads + f->kv_heads + g) * f->d;
        double z = exp(w[j] - top);
        sum += z;
        for (int64_t i = 0; i < f->d; i++)
            o[i] += z * v[i];
    }
    for (int64_t i = 0; i < f->d; i++)
        o[i] /= sum;
    return top + log(sum);
}

static void
test_attention_of(env *e, const form *list, int64_t n_forms)
{
    for (int64_t c = 0; c < n_forms; c++) {
        const form *f = &list[c];
        problem p = make(e, f);
        int64_t row = f->heads * f->d;
        packed(e, &p, 0, p.n_seqs, p.o, p.lse);
        out_f32(e, p.o, p.n * row);
        out_f32(e, p.lse, p.n * f->heads);
        if (e->check) {
            double *x = as_doubles(e, p.q, p.n * p.ldq), want[256];
            for (int64_t s = 0; s < p.n_seqs; s++)
                for (int64_t t = 0; t < f->lengths[s]; t += row_stride())
                    for (int64_t h = 0; h < f->heads; h++) {
                        int64_t i = p.offsets[s] + t;
                        double lse = row_double(&p, x, s, t, h, want);
                        like_real(e, p.o + i * row + h * f->d, want, f->d, 4e-6,
                                  "o");
                        like(e, p.lse + i * f->heads + h, &lse, 1, 1e-6, "lse");
                    }
            float *alone = blank(e, p.n * row);
            int64_t n_alone = e->slow ? 1 : p.n_seqs;
            for (int64_t s = 0; s < n_alone; s++)
                packed(e, &p, s, 1, alone, NULL);
            same(e, alone, p.o, p.offsets[n_alone] * row, 4,
                 "a sequence alone");
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

/* A cache of pages, NaN where nothing was written. */
typedef struct cache {
    float *kv;
    page_table table;
    int64_t stride;
} cache;

static cache
make_cache(env *e, const problem *p)
{
    const form *f = p->f;
    int64_t ld = 512 / f->page + 1;
    cache c = {.stride = rlf_kv_page_floats(f->page, f->kv_heads, f->d) + 64};
    c.kv = blank(e, p->n_seqs * ld * c.stride);
    c.table = shuffled_pages(e, p->n_seqs, ld, f->page, p->offsets, f->lengths);
    return c;
}

/* Tokens a..b-1 of sequence s: written, then attended. */
static void
paged_step(env *e, const problem *p, const cache *c, int64_t s, int64_t a,
           int64_t b, float *o)
{
    const form *f = p->f;
    int64_t base = p->offsets[s] + a;
    int32_t offsets[2] = {0, (int32_t)(b - a)}, start = (int32_t)a;
    CALL(e, kv_write, .m = b - a, .kv_heads = f->kv_heads, .d = f->d,
         .k = p->k + base * p->ldq, .v = p->v + base * p->ldq, .ldk = p->ldq,
         .ldv = p->ldq, .slots = c->table.slots + base, .kv = c->kv,
         .page_size = f->page, .page_stride = c->stride);
    CALL(e, attention_paged, .n_seqs = 1, .offsets = offsets, .starts = &start,
         .pages = c->table.pages + s * c->table.ld, .ld_pages = c->table.ld,
         .heads = f->heads, .kv_heads = f->kv_heads, .d = f->d,
         .scale = p->scale, .cap = f->cap, .window = f->window,
         .q = p->q + base * p->ldq, .ldq = p->ldq, .kv = c->kv,
         .page_size = f->page, .page_stride = c->stride,
         .o = o + base * f->heads * f->d);
}

static void
test_attention_paged_of(env *e, const form *list, int64_t n_forms)
{
    for (int64_t c = 0; c < n_forms; c++) {
        const form *f = &list[c];
        problem p = make(e, f);
        int64_t n = p.n * f->heads * f->d;
        cache pages = make_cache(e, &p);
        packed(e, &p, 0, p.n_seqs, p.o, NULL);
        float *o = blank(e, n);
        for (int64_t s = 0; s < p.n_seqs; s++) { /* a prefill, then decode */
            int64_t half = f->lengths[s] / 2 + 1, long_one = f->lengths[s] - 3;
            int64_t step = e->slow && long_one > half ? long_one : half;
            for (int64_t t = 0; t < f->lengths[s]; t += step, step = 1)
                paged_step(e, &p, &pages, s, t, t + step, o);
        }
        same(e, o, p.o, n, 4, "prefill and decode are the packed rows");
        out_f32(e, o, n);
        uint64_t random = e->random;
        if (e->check) { /* ragged continuous batch: all sequences at once */
            pages = make_cache(e, &p);
            o = blank(e, n);
            for (int64_t s = 0; s < p.n_seqs; s++)
                for (int64_t t = 0; t < f->lengths[s];) {
                    int64_t most = e->slow ? 120 : 40;
                    int64_t b = t + 1 + (int64_t)(uniform(e) * (double)most);
                    b = b < f->lengths[s] ? b : f->lengths[s];
                    paged_step(e, &p, &pages, s, t, b, o);
                    t = b;
                }
            same(e, o, p.o, n, 4, "prefill in random pieces");
            int32_t starts[8] = {0};
            float *all = blank(e, n);
            CALL(e, attention_paged, .n_seqs = p.n_seqs, .offsets = p.offsets,
                 .starts = starts, .pages = pages.table.pages,
                 .ld_pages = pages.table.ld, .heads = f->heads,
                 .kv_heads = f->kv_heads, .d = f->d, .scale = p.scale,
                 .cap = f->cap, .window = f->window, .q = p.q, .ldq = p.ldq,
                 .kv = pages.kv, .page_size = f->page,
                 .page_stride = pages.stride, .o = all);
            same(e, all, p.o, n, 4, "all sequences at once");
        }
        e->random = random;
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

/* Heads, rotated as a whole or in part; room between rows. */
typedef struct turn {
    int64_t heads, kv_heads, d, half, page, room;
} turn;

static const turn turns[] = {{4, 2, 64, 32, 16, 0},   {1, 1, 8, 4, 16, 1},
                             {6, 3, 32, 12, 48, 0},   {2, 1, 128, 32, 64, 8},
                             {8, 8, 256, 128, 32, 0}, {3, 1, 24, 12, 16, 5}};

/* Some tokens are normed, rotated and written by an operation each, then by
 * one. Every fifth has no slot. */
static void
test_kv_write(env *e)
{
    for (int64_t c = 0; c < 2 * N(turns); c++) {
        turn t = turns[c / 2];
        bool norms = c % 2;
        int64_t m = 37, n = 90, heads = t.heads + t.kv_heads;
        int64_t ld = (heads + t.kv_heads) * t.d + t.room;
        int64_t stride = rlf_kv_page_floats(t.page, t.kv_heads, t.d) + 16;
        int64_t pages = m / t.page + 1;
        float *x = values(e, m * ld, 2), *y = copy_of(e, x, m * ld);
        float *cos = values(e, n * t.half, 1), *sin = values(e, n * t.half, 1);
        float *wq = norms ? values(e, t.d, 1) : NULL;
        float *wk = norms ? values(e, t.d, 1) : NULL;
        float *apart = blank(e, pages * stride);
        float *at_once = blank(e, pages * stride);
        int32_t *positions = indices(e, m, n);
        int32_t *slots = take(e, m, sizeof *slots);
        for (int64_t i = 0; i < m; i++)
            slots[i] = i % 5 == 3 ? -1 : (int32_t)(m - 1 - i);
        float *k = y + t.heads * t.d, *v = k + t.kv_heads * t.d;
        CALL(e, kv_write, .m = m, .kv_heads = t.kv_heads, .d = t.d, .k = k,
             .v = v, .ldk = ld, .ldv = ld, .slots = slots, .kv = at_once,
             .page_size = t.page, .page_stride = stride, .half = t.half,
             .heads = t.heads, .q = y, .ldq = ld, .positions = positions,
             .n_positions = n, .cos = cos, .sin = sin, .q_weight = wq,
             .k_weight = wk, .eps = 1e-5f);
        for (int64_t i = 0; i < m; i++)
            same(e, y + i * ld + t.heads * t.d, x + i * ld + t.heads * t.d,
                 2 * t.kv_heads * t.d, 4, "k and v stay");
        k = x + t.heads * t.d, v = k + t.kv_heads * t.d;
        if (norms) {
            CALL(e, rmsnorm, .m = m, .d = t.d, .groups = t.heads, .x = x,
                 .ldx = ld, .weight = wq, .eps = 1e-5f, .y = x, .ldy = ld);
            CALL(e, rmsnorm, .m = m, .d = t.d, .groups = t.kv_heads, .x = k,
                 .ldx = ld, .weight = wk, .eps = 1e-5f, .y = k, .ldy = ld);
        }
        CALL(e, rope, .m = m, .heads = heads, .d = t.d, .half = t.half,
             .positions = positions, .n_positions = n, .cos = cos, .sin = sin,
             .x = x, .ldx = ld, .y = x, .ldy = ld);
        CALL(e, kv_write, .m = m, .kv_heads = t.kv_heads, .d = t.d, .k = k,
             .v = v, .ldk = ld, .ldv = ld, .slots = slots, .kv = apart,
             .page_size = t.page, .page_stride = stride);
        for (int64_t i = 0; i < m; i++)
            same(e, y + i * ld, x + i * ld, t.heads * t.d, 4, "q");
        same(e, at_once, apart, pages * stride, 4, "pages");
        out_f32(e, y, m * ld);
        out_f32(e, at_once, pages * stride);
    }
}

/* sum of o * d_o over the rows of a sequence that see element i of x: a query's
 * own head of its token, of a key or a value the heads of its group from its
 * token on. */
static double
loss_double(const problem *p, const double *x, const float *d_o, int64_t s,
            int64_t i)
{
    const form *f = p->f;
    int64_t t0 = i / p->ldq - p->offsets[s], head = i % p->ldq / f->d;
    bool query = head < f->heads;
    int64_t group = f->heads / f->kv_heads;
    int64_t h0 = query ? head : (head - f->heads) % f->kv_heads * group;
    int64_t h1 = query ? h0 + 1 : h0 + group;
    int64_t t1 = query ? t0 + 1 : f->lengths[s];
    double o[256], loss = 0;
    for (int64_t t = t0; t < t1; t++)
        for (int64_t h = h0; h < h1; h++) {
            row_double(p, x, s, t, h, o);
            const float *w = d_o + ((p->offsets[s] + t) * f->heads + h) * f->d;
            for (int64_t j = 0; j < f->d; j++)
                loss += o[j] * (double)w[j];
        }
    return loss;
}

/* Numbers of a sequence whose derivatives are all looked at. */
enum { FEW = 4096 };

static void
check_slopes(env *e, const problem *p, const float *dx, const float *d_o)
{
    double *x = as_doubles(e, p->q, p->n * p->ldq);
    for (int64_t s = 0; s < p->n_seqs; s++) {
        int64_t from = p->offsets[s] * p->ldq, all = p->f->lengths[s] * p->ldq;
        bool every = all <= FEW; /* else some by chance */
        int64_t tries = every ? all / row_stride() : n_slopes(12);
        for (int64_t try = 0; try < tries; try++) {
            int64_t i = from + (every ? try * row_stride()
                                      : (int64_t)(uniform(e) * (double)all));
            double at = x[i], h = 1e-4;
            x[i] = at + h;
            double up = loss_double(p, x, d_o, s, i);
            x[i] = at - h;
            double slope = (up - loss_double(p, x, d_o, s, i)) / (2 * h);
            x[i] = at;
            like_real(e, dx + i, &slope, 1, 5e-6, "gradient");
        }
    }
}

/* dk and dv in parts of a group are what key/value heads of their own for each
 * part would have, added in a tree; `want` is dq. */
static void
check_parts(env *e, const problem *p, const float *d_o, const float *want)
{
    const form *f = p->f;
    int64_t group = f->heads / f->kv_heads, row = f->heads * f->d;
    int64_t parts = group & -group, wide = parts * p->ldk;
    float *k = blank(e, p->n * wide), *v = blank(e, p->n * wide);
    float *dk = blank(e, p->n * wide), *dv = blank(e, p->n * wide);
    float *sum_k = blank(e, p->n * p->ldk), *sum_v = blank(e, p->n * p->ldk);
    float *dq = blank(e, p->n * row);
    for (int64_t i = 0; i < p->n * wide; i++) {
        int64_t from = i / wide * p->ldq + i % wide / f->d / parts * f->d;
        k[i] = p->k[from + i % f->d];
        v[i] = p->v[from + i % f->d];
    }
    CALL(e, attention_grad, .n_seqs = p->n_seqs, .offsets = p->offsets,
         .heads = f->heads, .kv_heads = f->kv_heads * parts, .d = f->d,
         .scale = p->scale, .cap = f->cap, .window = f->window, .q = p->q,
         .k = k, .v = v, .ldq = p->ldq, .o = p->o, .d_o = d_o, .lse = p->lse,
         .dq = dq, .dk = dk, .dv = dv);
    CALL(e, attention_grad, .n_seqs = p->n_seqs, .offsets = p->offsets,
         .heads = f->heads, .kv_heads = f->kv_heads, .d = f->d,
         .scale = p->scale, .cap = f->cap, .window = f->window, .q = p->q,
         .k = p->k, .v = p->v, .ldq = p->ldq, .ldk = p->ldq, .ldv = p->ldq,
         .o = p->o, .d_o = d_o, .lse = p->lse, .dq = dq, .dk = sum_k,
         .dv = sum_v, .parts = (int)parts);
    for (int64_t i = 0; i < p->n * row; i++)
        same(e, dq + i, want + i / row * p->ldq + i % row, 1, 4,
             "dq beside parts");
    for (int64_t step = 1; step < parts; step *= 2)
        for (int64_t i = 0; i < p->n * f->kv_heads; i++)
            for (int64_t s = 0; s < parts; s += 2 * step)
                for (int64_t j = 0; j < f->d; j++) {
                    int64_t to = (i * parts + s) * f->d + j;
                    dk[to] += dk[to + step * f->d];
                    dv[to] += dv[to + step * f->d];
                }
    for (int64_t i = 0; i < p->n * f->kv_heads; i++) {
        same(e, sum_k + i * f->d, dk + i * parts * f->d, f->d, 4,
             "dk in parts");
        same(e, sum_v + i * f->d, dv + i * parts * f->d, f->d, 4,
             "dv in parts");
    }
}

static void
test_attention_grad_of(env *e, const form *list, int64_t n_forms)
{
    for (int64_t c = 0; c < n_forms; c++) {
        const form *f = &list[c];
        problem p = make(e, f);
        int64_t n = p.n * p.ldq, row = f->heads * f->d;
        packed(e, &p, 0, p.n_seqs, p.o, p.lse);
        float *d_o = values(e, p.n * row, 1), *dx = blank(e, n);
        float *alone = blank(e, n);
        /* an emulation takes long: of its sequences one goes alone */
        int64_t n_alone = e->check ? e->slow ? 1 : p.n_seqs : 0;
        for (int64_t s = -1; s < n_alone; s++) {
            float *to = s < 0 ? dx : alone;
            CALL(e, attention_grad, .n_seqs = s < 0 ? p.n_seqs : 1,
                 .offsets = p.offsets + (s < 0 ? 0 : s), .heads = f->heads,
                 .kv_heads = f->kv_heads, .d = f->d, .scale = p.scale,
                 .cap = f->cap, .window = f->window, .q = p.q, .k = p.k,
                 .v = p.v, .ldq = p.ldq, .ldk = p.ldq, .ldv = p.ldq, .o = p.o,
                 .d_o = d_o, .lse = p.lse, .dq = to, .dk = to + row,
                 .dv = to + row + p.ldk, .lddq = p.ldq, .lddk = p.ldq,
                 .lddv = p.ldq);
        }
        out_f32(e, dx, n);
        if (e->check) {
            uint64_t random = e->random;
            same(e, alone, dx, p.offsets[n_alone] * p.ldq, 4,
                 "a sequence alone");
            check_slopes(e, &p, dx, d_o);
            if (!e->bf16 && !(e->slow && c % 2))
                check_parts(e, &p, d_o, dx);
            e->random = random;
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

#define WITH_CAPS(name)                                     \
    static void test_##name(env *e)                         \
    {                                                       \
        test_##name##_of(e, forms, N(forms));               \
    }                                                       \
    static void test_##name##_capped(env *e)                \
    {                                                       \
        test_##name##_of(e, capped_forms, N(capped_forms)); \
    }                                                       \
    static void test_##name##_widths(env *e)                \
    {                                                       \
        test_##name##_of(e, widths, N(widths));             \
    }

WITH_CAPS(attention)
WITH_CAPS(attention_paged)
WITH_CAPS(attention_grad)

static const op_case cases[] = {
    {"attention", test_attention},
    {"attention_capped", test_attention_capped},
    {"attention_widths", test_attention_widths},
    {"attention_paged", test_attention_paged},
    {"attention_paged_capped", test_attention_paged_capped},
    {"attention_paged_widths", test_attention_paged_widths},
    {"attention_grad", test_attention_grad},
    {"attention_grad_capped", test_attention_grad_capped},
    {"attention_grad_widths", test_attention_grad_widths},
    {"kv_write", test_kv_write},
};

int
main(int argc, char **argv)
{
    return run_cases(cases, N(cases), argc > 1 ? argv[1] : NULL);
}
