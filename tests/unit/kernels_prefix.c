/* Attention of sequences that share beginnings, forward and backward: against
 * the same sequences each with all of its keys, bit by bit, against double
 * precision, and against themselves in other batches: see kernels_case.h. */
#include "tests/unit/kernels_case.h"

enum { MOST = 40 };

/* A sequence: the one whose beginning it shares, up to which position, and how
 * many tokens of its own it has. The last has none. */
typedef struct member {
    int32_t parent, start, own;
} member;

typedef struct form {
    int64_t heads, kv_heads, d, window;
    float cap;
    member list[MOST];
} form;

/* clang-format off */
static const form forms[] = {
    /* samples of a prompt, between sequences that are alone */
    {1, 1, 8, 0, 0, {{-1, 0, 7}, {-1, 0, 9}, {1, 5, 1}, {1, 5, 6}, {-1, 0, 1}}},
    /* prompts that end at, before and behind the end of a block */
    {4, 2, 24, 0, 0, {{-1, 0, 67}, {0, 64, 3}, {0, 63, 2}, {0, 65, 70},
                      {-1, 0, 130}, {4, 128, 1}, {4, 1, 140}}},
    /* turns: a beginning that itself has one, twice, and one that branches */
    {2, 1, 16, 0, 0, {{-1, 0, 40}, {0, 38, 30}, {1, 66, 25}, {2, 90, 3},
                      {1, 50, 8}, {0, 10, 5}, {5, 12, 66}}},
    /* windows that end in the prompt, at its end, and behind it */
    {3, 1, 64, 10, 0, {{-1, 0, 30}, {0, 28, 4}, {0, 29, 20}}},
    {2, 2, 32, 70, 0, {{-1, 0, 80}, {0, 75, 90}, {0, 79, 1}, {1, 100, 66}}},
    {2, 1, 128, 64, 1.5f, {{-1, 0, 65}, {0, 64, 66}, {0, 10, 3}}},
    {1, 1, 256, 0, 0, {{-1, 0, 20}, {0, 19, 50}, {0, 19, 46}}},
    {4, 1, 96, 0, 0.4f, {{-1, 0, 66}, {0, 60, 8}, {1, 64, 7}}},
};

/* Of a GPU, several splits of the keys. */
static const form long_form =
    {2, 1, 64, 0, 0, {{-1, 0, 530}, {0, 520, 4}, {0, 500, 20}, {1, 523, 3}}};
/* clang-format on */

typedef struct problem {
    const form *f;
    int64_t n_seqs, n; /* rows */
    int32_t offsets[MOST + 1], starts[MOST], parents[MOST];
    float *x, *o, *lse; /* x: q, k and v of a row side by side */
    int64_t ld;
    float scale;
} problem;

static problem
make(env *e, const form *f)
{
    problem p = {.f = f, .scale = (float)(1 / sqrt((double)f->d))};
    for (; p.n_seqs < MOST && f->list[p.n_seqs].own; p.n_seqs++) {
        const member *m = &f->list[p.n_seqs];
        p.offsets[p.n_seqs + 1] = p.offsets[p.n_seqs] + m->own;
        p.starts[p.n_seqs] = m->start;
        p.parents[p.n_seqs] = m->parent;
    }
    p.n = p.offsets[p.n_seqs];
    p.ld = (f->heads + 2 * f->kv_heads) * f->d;
    p.x = values(e, p.n * p.ld, 2);
    p.o = blank(e, p.n * f->heads * f->d);
    p.lse = blank(e, p.n * f->heads);
    return p;
}

static int64_t
length_of(const problem *p, int64_t s)
{
    return p->f->list[s].start + p->f->list[s].own;
}

/* The row that has position t of sequence s. */
static int64_t
row_of(const problem *p, int64_t s, int64_t t)
{
    while (t < p->f->list[s].start)
        s = p->f->list[s].parent;
    return p->offsets[s] + t - p->f->list[s].start;
}

static void
attend(env *e, const problem *p, int64_t first, int64_t n_seqs, float *o,
       float *lse)
{
    const form *f = p->f;
    int32_t parents[MOST];
    for (int64_t s = 0; s < n_seqs; s++)
        parents[s] = f->list[first + s].parent < 0
                         ? -1
                         : f->list[first + s].parent - (int32_t)first;
    CALL(e, attention, .n_seqs = n_seqs, .offsets = p->offsets + first,
         .prefixes = {p->starts + first, parents}, .heads = f->heads,
         .kv_heads = f->kv_heads, .d = f->d, .scale = p->scale, .cap = f->cap,
         .window = f->window, .q = p->x, .k = p->x + f->heads * f->d,
         .v = p->x + (f->heads + f->kv_heads) * f->d, .ldq = p->ld,
         .ldk = p->ld, .ldv = p->ld, .o = o, .lse = lse);
}

static void
derive(env *e, const problem *p, int64_t first, int64_t n_seqs,
       const float *d_o, float *dx)
{
    const form *f = p->f;
    int32_t parents[MOST];
    for (int64_t s = 0; s < n_seqs; s++)
        parents[s] = f->list[first + s].parent < 0
                         ? -1
                         : f->list[first + s].parent - (int32_t)first;
    float *dk = dx + f->heads * f->d;
    CALL(e, attention_grad, .n_seqs = n_seqs, .offsets = p->offsets + first,
         .prefixes = {p->starts + first, parents}, .heads = f->heads,
         .kv_heads = f->kv_heads, .d = f->d, .scale = p->scale, .cap = f->cap,
         .window = f->window, .q = p->x, .k = p->x + f->heads * f->d,
         .v = p->x + (f->heads + f->kv_heads) * f->d, .ldq = p->ld,
         .ldk = p->ld, .ldv = p->ld, .o = p->o, .d_o = d_o, .lse = p->lse,
         .dq = dx, .dk = dk, .dv = dk + f->kv_heads * f->d, .lddq = p->ld,
         .lddk = p->ld, .lddv = p->ld);
}

/* Every sequence with all of its rows, and what attention gives of it. */
typedef struct apart {
    int32_t offsets[2];
    float *x, *o, *lse;
} apart;

static apart
take_apart(env *e, const problem *p, int64_t s)
{
    const form *f = p->f;
    int64_t n = length_of(p, s), row = f->heads * f->d;
    apart a = {.offsets = {0, (int32_t)n},
               .x = blank(e, n * p->ld),
               .o = blank(e, n * row),
               .lse = blank(e, n * f->heads)};
    for (int64_t t = 0; t < n; t++)
        memcpy(a.x + t * p->ld, p->x + row_of(p, s, t) * p->ld,
               (size_t)p->ld * sizeof(float));
    CALL(e, attention, .n_seqs = 1, .offsets = a.offsets, .heads = f->heads,
         .kv_heads = f->kv_heads, .d = f->d, .scale = p->scale, .cap = f->cap,
         .window = f->window, .q = a.x, .k = a.x + row,
         .v = a.x + row + f->kv_heads * f->d, .ldq = p->ld, .ldk = p->ld,
         .ldv = p->ld, .o = a.o, .lse = a.lse);
    return a;
}

/* A row in double precision: (position t of sequence s, head h). */
static double
row_double(const problem *p, const double *x, int64_t s, int64_t t, int64_t h,
           double *o)
{
    const form *f = p->f;
    int64_t g = h / (f->heads / f->kv_heads);
    double w[1024], top = -1e300, sum = 0;
    const double *q = x + row_of(p, s, t) * p->ld + h * f->d;
    int64_t from = f->window && t + 1 > f->window ? t + 1 - f->window : 0;
    for (int64_t j = from; j <= t; j++) {
        const double *k = x + row_of(p, s, j) * p->ld + (f->heads + g) * f->d;
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
    for (int64_t j = from; j <= t; j++) {
        const double *v =
            x + row_of(p, s, j) * p->ld + (f->heads + f->kv_heads + g) * f->d;
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
release(env *e)
{
    while (e->n_held > 0)
        free(e->held[--e->n_held]);
}

static void
check_rows(env *e, const problem *p)
{
    const form *f = p->f;
    int64_t row = f->heads * f->d;
    double *x = as_doubles(e, p->x, p->n * p->ld), want[256];
    for (int64_t s = 0; s < p->n_seqs; s++) {
        apart a = take_apart(e, p, s);
        int64_t start = f->list[s].start, at = p->offsets[s];
        same(e, p->o + at * row, a.o + start * row, f->list[s].own * row, 4,
             "a row that shares its beginning");
        same(e, p->lse + at * f->heads, a.lse + start * f->heads,
             f->list[s].own * f->heads, 4, "its log of the sum");
        for (int64_t t = start; t < length_of(p, s); t += row_stride())
            for (int64_t h = 0; h < f->heads; h++) {
                int64_t i = row_of(p, s, t);
                double lse = row_double(p, x, s, t, h, want);
                like_real(e, p->o + i * row + h * f->d, want, f->d, 4e-6, "o");
                like(e, p->lse + i * f->heads + h, &lse, 1, 1e-6, "lse");
            }
    }
}

/* Each root with what shares its beginning, by itself. */
static void
each_alone(env *e, const problem *p, const float *d_o, float *to)
{
    for (int64_t s = 0, end; s < p->n_seqs; s = end) {
        for (end = s + 1; end < p->n_seqs && p->parents[end] >= 0;)
            end++;
        if (d_o)
            derive(e, p, s, end - s, d_o, to);
        else
            attend(e, p, s, end - s, to, NULL);
    }
}

static void
forward_of(env *e, const form *f)
{
    problem p = make(e, f);
    int64_t n = p.n * f->heads * f->d;
    attend(e, &p, 0, p.n_seqs, p.o, p.lse);
    out_f32(e, p.o, n);
    out_f32(e, p.lse, p.n * f->heads);
    if (e->check && !bits_suffice(e)) {
        float *alone = blank(e, n);
        check_rows(e, &p);
        each_alone(e, &p, NULL, alone);
        same(e, alone, p.o, n, 4, "a prompt alone");
    }
    release(e);
}

static void
test_prefix(env *e)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        forward_of(e, &forms[i]);
}

/* Up to 16 samples of a prompt, of lengths by chance. */
static form
group_of(env *e, int samples)
{
    form f = {.heads = 2, .kv_heads = 1, .d = 8};
    int32_t prompt = 60 + (int32_t)(uniform(e) * 8);
    for (int i = 0; i < samples; i++) {
        int32_t own = 1 + (int32_t)(uniform(e) * 9);
        f.list[i] = i == 0 ? (member){-1, 0, prompt + own}
                           : (member){0, prompt - 1, own};
    }
    return f;
}

static void
test_prefix_groups(env *e)
{
    for (int n = 1; n <= 16; n += e->bf16 ? 5 : 1) {
        form f = group_of(e, n);
        forward_of(e, &f);
    }
}

/* On the GPU a long row is joined of splits. */
static void
test_prefix_long(env *e)
{
    forward_of(e, &long_form);
}

/* Sum of o times d_o over the sequences of the root whose sequences have row
 * i. */
static double
loss_double(const problem *p, const double *x, const float *d_o, int64_t i)
{
    const form *f = p->f;
    double o[256], loss = 0;
    int64_t s = 0, end = 0;
    while (p->offsets[end] <= i) {
        for (s = end++; end < p->n_seqs && p->parents[end] >= 0;)
            end++;
    }
    for (; s < end; s++)
        for (int64_t t = f->list[s].start; t < length_of(p, s); t++)
            for (int64_t h = 0; h < f->heads; h++) {
                int64_t row = row_of(p, s, t);
                row_double(p, x, s, t, h, o);
                for (int64_t j = 0; j < f->d; j++)
                    loss += o[j] * (double)d_o[(row * f->heads + h) * f->d + j];
            }
    return loss;
}

/* By finite differences. */
static void
check_slopes(env *e, const problem *p, const float *dx, const float *d_o)
{
    double *x = as_doubles(e, p->x, p->n * p->ld);
    for (int64_t try = 0; try < n_slopes(6); try++) {
        int64_t i = (int64_t)(uniform(e) * (double)(p->n * p->ld));
        double at = x[i], h = 1e-4;
        x[i] = at + h;
        double up = loss_double(p, x, d_o, i / p->ld);
        x[i] = at - h;
        double slope = (up - loss_double(p, x, d_o, i / p->ld)) / (2 * h);
        x[i] = at;
        like_real(e, dx + i, &slope, 1, 5e-6, "gradient");
    }
}

/* The gradients of a sequence with all of its rows, of which those of others
 * have no derivative: its queries' are the same, and what keys and values get
 * of all sequences is the sum. */
static void
check_sums(env *e, const problem *p, const float *dx, const float *d_o)
{
    const form *f = p->f;
    int64_t row = f->heads * f->d, wide = p->ld - row;
    double *sum = take(e, p->n * wide, sizeof *sum);
    memset(sum, 0, (size_t)(p->n * wide) * sizeof *sum);
    for (int64_t s = 0; s < p->n_seqs; s++) {
        apart a = take_apart(e, p, s);
        int64_t n = length_of(p, s), start = f->list[s].start;
        float *slope = blank(e, n * row), *to = blank(e, n * p->ld);
        memset(slope, 0, (size_t)(n * row) * sizeof *slope);
        memcpy(slope + start * row, d_o + p->offsets[s] * row,
               (size_t)((n - start) * row) * sizeof *slope);
        CALL(e, attention_grad, .n_seqs = 1, .offsets = a.offsets,
             .heads = f->heads, .kv_heads = f->kv_heads, .d = f->d,
             .scale = p->scale, .cap = f->cap, .window = f->window, .q = a.x,
             .k = a.x + row, .v = a.x + row + f->kv_heads * f->d, .ldq = p->ld,
             .ldk = p->ld, .ldv = p->ld, .o = a.o, .d_o = slope, .lse = a.lse,
             .dq = to, .dk = to + row, .dv = to + row + f->kv_heads * f->d,
             .lddq = p->ld, .lddk = p->ld, .lddv = p->ld);
        for (int64_t t = 0; t < n; t++)
            for (int64_t j = 0; j < wide; j++)
                sum[row_of(p, s, t) * wide + j] +=
                    (double)to[t * p->ld + row + j];
        for (int64_t t = start; t < n; t++)
            same(e, dx + row_of(p, s, t) * p->ld, to + t * p->ld, row, 4, "dq");
    }
    for (int64_t i = 0; i < p->n; i++)
        like_real(e, dx + i * p->ld + row, sum + i * wide, wide, 4e-6,
                  "dk and dv");
}

static void
backward_of(env *e, const form *f, bool slopes)
{
    problem p = make(e, f);
    int64_t n = p.n * p.ld;
    attend(e, &p, 0, p.n_seqs, p.o, p.lse);
    float *d_o = values(e, p.n * f->heads * f->d, 1), *dx = blank(e, n);
    derive(e, &p, 0, p.n_seqs, d_o, dx);
    out_f32(e, dx, n);
    if (e->check && !bits_suffice(e)) {
        uint64_t random = e->random;
        float *alone = blank(e, n);
        each_alone(e, &p, d_o, alone);
        same(e, alone, dx, n, 4, "a prompt alone");
        check_sums(e, &p, dx, d_o);
        if (slopes && (row_stride() == 1 || e->bf16))
            check_slopes(e, &p, dx, d_o);
        e->random = random;
    }
    release(e);
}

static void
test_prefix_grad(env *e)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        backward_of(e, &forms[i], i < 4);
}

static void
test_prefix_grad_groups(env *e)
{
    for (int n = 1; n <= 16; n += e->bf16 ? 5 : 1) {
        form f = group_of(e, n);
        backward_of(e, &f, false);
    }
}

static const op_case cases[] = {
    {"prefix", test_prefix},
    {"prefix_groups", test_prefix_groups},
    {"prefix_long", test_prefix_long},
    {"prefix_grad", test_prefix_grad},
    {"prefix_grad_groups", test_prefix_grad_groups},
};

int
main(int argc, char **argv)
{
    return run_cases(cases, (int)(sizeof cases / sizeof *cases),
                     argc > 1 ? argv[1] : NULL);
}
