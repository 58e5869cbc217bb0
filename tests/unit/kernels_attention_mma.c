/* Attention in bf16 on tensor cores: against double precision, and against
 * itself bit by bit in other batches, pages, pieces. On the host's emulation of
 * a GPU, and on a GPU if there is one. */
#include "engine/base/half.h"
#include "kernels/cuda/algorithms.h"
#include "tests/unit/kernels_pages.h"

#define N(a) ((int64_t)(sizeof(a) / sizeof *(a)))

#ifdef RLF_HAVE_EMULATED
const rlf_kernels *rlf_kernels_emulated_bf16(void);
#endif

#ifdef RLF_HAVE_CUDA
/* Calls the operation of the GPU's own kernels and waits for the queue, so that
 * the host reads the result. */
#define OP(op, doc, flops, bytes)                                              \
    static rlf_status half_##op(rlf_queue *queue, const rlf_##op##_args *args, \
                                rlf_err *err)                                  \
    {                                                                          \
        rlf_status status = rlf_kernels_cuda_bf16()->op(queue, args, err);     \
        return status < 0 ? status : rlf_queue_sync(queue, err);               \
    }
#include "kernels/op.def"
#undef OP
#endif

typedef struct form {
    int64_t heads, kv_heads, d, window, page;
    int32_t lengths[6];
    bool grad;
} form;

/* Every width of the kernels with heads that fill it and that do not; groups of
 * 1 to 16; sequences that end at and about the ends of blocks and tiles; more
 * than two splits of the keys. */
static const form forms[] = {
    {1, 1, 8, 0, 16, {1, 2, 3, 17}, true},
    {4, 2, 64, 0, 16, {28, 5, 64, 65}, true},
    {1, 1, 24, 0, 64, {127, 128, 129}, true},
    {8, 1, 64, 40, 64, {100, 1, 63}, true},
    {2, 2, 80, 10, 32, {70, 9}, true},
    {5, 1, 96, 100, 48, {130, 30}, true},
    {2, 1, 128, 64, 64, {130, 64}, true},
    {16, 1, 128, 0, 16, {40, 3}, false},
    {1, 1, 256, 0, 128, {70, 3}, true},
    {2, 1, 64, 0, 16, {1030, 513}, false},
    {1, 1, 128, 600, 64, {1050}, false},
    {1, 1, 256, 0, 64, {520}, false},
};

/* Emulated in a quick pass: of the sequences of several splits one, and no room
 * for as many splits as narrow heads leave. */
static bool brief;

static bool
is_left_out(const form *f)
{
    return brief && f->lengths[0] > 512 && !f->window;
}

typedef struct problem {
    const form *f;
    int64_t n_seqs, n;
    int32_t offsets[8];
    uint16_t *q, *k, *v, *o;
    float *lse;
    int64_t ldq;
    float scale;
} problem;

static uint16_t *
halves(env *e, int64_t n)
{
    return take(e, n, sizeof(uint16_t));
}

static uint16_t *
half_values(env *e, int64_t n, double scale)
{
    uint16_t *x = halves(e, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = rlf_f32_to_bf16((float)((uniform(e) * 2 - 1) * scale));
    return x;
}

/* Give back what was taken since `held` things were. */
static void
release(env *e, int held)
{
    while (e->n_held > held) {
        void *p = e->held[--e->n_held];
        pin(e, p, 0);
        free(p);
    }
}

static problem
make(env *e, const form *f)
{
    problem p = {.f = f, .scale = (float)(1 / sqrt((double)f->d))};
    for (; p.n_seqs < 6 && f->lengths[p.n_seqs]; p.n_seqs++)
        p.offsets[p.n_seqs + 1] = p.offsets[p.n_seqs] + f->lengths[p.n_seqs];
    p.n = p.offsets[p.n_seqs];
    /* q, k, v are views into one row */
    p.ldq = (f->heads + 2 * f->kv_heads) * f->d;
    p.q = half_values(e, p.n * p.ldq, 2);
    p.k = p.q + f->heads * f->d;
    p.v = p.k + f->kv_heads * f->d;
    p.o = halves(e, p.n * f->heads * f->d);
    p.lse = blank(e, p.n * f->heads);
    return p;
}

static void
packed(env *e, const problem *p, int64_t first, int64_t n_seqs, uint16_t *o,
       float *lse)
{
    const form *f = p->f;
    CALL(e, attention, .n_seqs = n_seqs, .offsets = p->offsets + first,
         .heads = f->heads, .kv_heads = f->kv_heads, .d = f->d,
         .scale = p->scale, .window = f->window, .q = p->q, .k = p->k,
         .v = p->v, .ldq = p->ldq, .ldk = p->ldq, .ldv = p->ldq, .o = o,
         .lse = lse);
}

/* ---- double precision -------------------------------------------------- */

static double *
half_doubles(env *e, const uint16_t *x, int64_t n)
{
    double *y = take(e, n, sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)rlf_bf16_to_f32(x[i]);
    return y;
}

static int64_t
sees_from(const form *f, int64_t t)
{
    return f->window && t + 1 > f->window ? t + 1 - f->window : 0;
}

static double
dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The row of token t of sequence s and head h: its weights, o; returns lse. */
static double
row_double(const problem *p, const double *x, int64_t s, int64_t t, int64_t h,
           double *w, double *o)
{
    const form *f = p->f;
    int64_t base = p->offsets[s], g = h / (f->heads / f->kv_heads);
    const double *q = x + (base + t) * p->ldq + h * f->d;
    const double *k = x + base * p->ldq + (f->heads + g) * f->d;
    const double *v = k + f->kv_heads * f->d;
    double top = -1e300, sum = 0;
    for (int64_t j = sees_from(f, t); j <= t; j++) {
        w[j] = dot(q, k + j * p->ldq, f->d) * (double)p->scale;
        top = fmax(top, w[j]);
    }
    for (int64_t j = sees_from(f, t); j <= t; j++)
        sum += exp(w[j] - top);
    for (int64_t i = 0; i < f->d; i++)
        o[i] = 0;
    for (int64_t j = sees_from(f, t); j <= t; j++) {
        w[j] = exp(w[j] - top) / sum;
        for (int64_t i = 0; i < f->d; i++)
            o[i] += w[j] * v[j * p->ldq + i];
    }
    return top + log(sum);
}

/* dq, dk, dv of all rows, in double precision. `o` is what the forward
 * operation gave, whose rounding is part of what the gradient can know; NULL:
 * as if it had not been rounded. */
static double *
grad_double(env *e, const problem *p, const double *x, const double *d_o,
            const double *o_given)
{
    const form *f = p->f;
    double *dx = take(e, p->n * p->ldq, sizeof *dx), w[2048], o[256];
    for (int64_t i = 0; i < p->n * p->ldq; i++)
        dx[i] = 0;
    for (int64_t s = 0; s < p->n_seqs; s++)
        for (int64_t t = 0; t < f->lengths[s]; t++)
            for (int64_t h = 0; h < f->heads; h++) {
                int64_t base = p->offsets[s], g = h / (f->heads / f->kv_heads);
                int64_t at_q = (base + t) * p->ldq + h * f->d;
                const double *dy = d_o + ((base + t) * f->heads + h) * f->d;
                row_double(p, x, s, t, h, w, o);
                int64_t at_o = ((base + t) * f->heads + h) * f->d;
                double whole = dot(dy, o_given ? o_given + at_o : o, f->d);
                for (int64_t j = sees_from(f, t); j <= t; j++) {
                    int64_t at_k = (base + j) * p->ldq + (f->heads + g) * f->d;
                    int64_t at_v = at_k + f->kv_heads * f->d;
                    double ds = w[j] * (dot(dy, x + at_v, f->d) - whole) *
                                (double)p->scale;
                    for (int64_t i = 0; i < f->d; i++) {
                        dx[at_q + i] += ds * x[at_k + i];
                        dx[at_k + i] += ds * x[at_q + i];
                        dx[at_v + i] += w[j] * dy[i];
                    }
                }
            }
    return dx;
}

/* Vectors of d: |got - want| <= tolerance * (|want| + floor) in the norm. */
static void
near_vectors(env *e, const uint16_t *got, const double *want, int64_t n,
             int64_t d, double tolerance, double floor, const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        double off = 0, size = 0;
        for (int64_t j = i * d; j < (i + 1) * d; j++) {
            double x = (double)rlf_bf16_to_f32(got[j]) - want[j];
            off += x * x;
            size += want[j] * want[j];
        }
        double ratio = sqrt(off) / (tolerance * (sqrt(size) + floor));
        e->worst = ratio > e->worst ? ratio : e->worst;
        if (!(ratio <= 1) && !e->why[0])
            snprintf(e->why, sizeof e->why,
                     "%s: vector %lld is off by %.3g, its size is %.3g", what,
                     (long long)i, sqrt(off), sqrt(size));
    }
}

/* ---- packed ------------------------------------------------------------ */

static void
test_packed(env *e, const form *f)
{
    problem p = make(e, f);
    int64_t row = f->heads * f->d;
    double *x = half_doubles(e, p.q, p.n * p.ldq), want[256], w[2048];
    packed(e, &p, 0, p.n_seqs, p.o, p.lse);
    out(e, p.o, p.n * row, sizeof *p.o);
    out_f32(e, p.lse, p.n * f->heads);
    for (int64_t s = 0; s < p.n_seqs; s++)
        for (int64_t t = 0; t < f->lengths[s]; t += row_stride())
            for (int64_t h = 0; h < f->heads; h++) {
                int64_t i = p.offsets[s] + t;
                double lse = row_double(&p, x, s, t, h, w, want);
                near_vectors(e, p.o + i * row + h * f->d, want, 1, f->d, 6e-3,
                             1e-3, "o");
                like(e, p.lse + i * f->heads + h, &lse, 1, 4e-6, "lse");
            }
    uint16_t *alone = halves(e, p.n * row);
    float *lse = blank(e, p.n * f->heads);
    for (int64_t s = 0; s < p.n_seqs; s++)
        packed(e, &p, s, 1, alone, lse);
    same(e, alone, p.o, p.n * row, 2, "a sequence alone");
    same(e, lse, p.lse, p.n * f->heads, 4, "lse of a sequence alone");
}

/* ---- pages ------------------------------------------------------------- */

/* A cache of pages, NaN where nothing was written. */
typedef struct cache {
    uint16_t *kv;
    page_table table;
    int64_t stride;
} cache;

static cache
make_cache(env *e, const problem *p)
{
    const form *f = p->f;
    int64_t ld = 1152 / f->page + 1;
    cache c = {.stride = rlf_kv_page_floats(f->page, f->kv_heads, f->d) + 64};
    c.kv = halves(e, p->n_seqs * ld * c.stride);
    c.table = shuffled_pages(e, p->n_seqs, ld, f->page, p->offsets, f->lengths);
    return c;
}

/* Tokens from[s]..to[s]-1 of the sequences first.., written and attended
 * together: packed to the front of q, k, v. With `bound`, the host knows only
 * that they start there at most. */
static void
paged_step(env *e, const problem *p, const cache *c, int64_t first,
           int64_t n_seqs, const int32_t *from, const int32_t *to,
           int32_t bound, uint16_t *o)
{
    const form *f = p->f;
    int held = e->n_held;
    int32_t *offsets = take(e, n_seqs + 1, sizeof *offsets);
    int32_t *starts = take(e, n_seqs, sizeof *starts);
    int32_t most[8];
    int64_t n = 0, row = f->heads * f->d;
    offsets[0] = 0;
    for (int64_t i = 0; i < n_seqs; i++) {
        n += to[i] - from[i];
        offsets[i + 1] = (int32_t)n;
        starts[i] = from[i];
        most[i] = bound ? bound : from[i];
    }
    uint16_t *x = halves(e, n * p->ldq), *y = halves(e, n * row);
    int32_t *slots = take(e, n, sizeof *slots);
    for (int64_t i = 0; i < n_seqs; i++) {
        int64_t at = p->offsets[first + i] + from[i];
        memcpy(x + offsets[i] * p->ldq, p->q + at * p->ldq,
               (size_t)((to[i] - from[i]) * p->ldq) * 2);
        memcpy(slots + offsets[i], c->table.slots + at,
               (size_t)(to[i] - from[i]) * sizeof *slots);
    }
    const uint16_t *k = x + row, *v = k + f->kv_heads * f->d;
    CALL(e, kv_write, .m = n, .kv_heads = f->kv_heads, .d = f->d, .k = k,
         .v = v, .ldk = p->ldq, .ldv = p->ldq, .slots = slots, .kv = c->kv,
         .page_size = f->page, .page_stride = c->stride);
    CALL(e, attention_paged, .n_seqs = n_seqs, .offsets = offsets,
         .starts = bound ? most : starts,
         .device_offsets = bound ? offsets : NULL,
         .device_starts = bound ? starts : NULL,
         .pages = c->table.pages + first * c->table.ld, .ld_pages = c->table.ld,
         .heads = f->heads, .kv_heads = f->kv_heads, .d = f->d,
         .scale = p->scale, .window = f->window, .q = x, .ldq = p->ldq,
         .kv = c->kv, .page_size = f->page, .page_stride = c->stride, .o = y);
    for (int64_t i = 0; i < n_seqs; i++)
        memcpy(o + (p->offsets[first + i] + from[i]) * row,
               y + offsets[i] * row, (size_t)((to[i] - from[i]) * row) * 2);
    release(e, held);
}

static void
test_paged(env *e, const form *f)
{
    problem p = make(e, f);
    int64_t n = p.n * f->heads * f->d;
    packed(e, &p, 0, p.n_seqs, p.o, NULL);
    /* each by itself: a prefill, then decoding; the last nine tokens so, and
     * those about the ends of splits */
    cache pages = make_cache(e, &p);
    uint16_t *o = halves(e, n);
    for (int64_t s = 0; s < p.n_seqs; s++)
        for (int32_t t = 0, length = f->lengths[s], to; t < length; t = to) {
            to = t + 1;
            if (t < length - 9 && t % 512 > 1 && t % 512 < 508) {
                int32_t stop = t / 512 * 512 + 508;
                to = stop < length - 9 ? stop : length - 9;
            }
            if (t == 0)
                to = length / 2 + 1;
            paged_step(e, &p, &pages, s, 1, &t, &to, t % 2 ? 1100 : 0, o);
        }
    same(e, o, p.o, n, 2, "prefill and decode are the packed rows");
    /* all together, in pieces of any size, some of them of nothing */
    pages = make_cache(e, &p);
    o = halves(e, n);
    int32_t at[8] = {0}, to[8];
    for (bool more = true; more;) {
        more = false;
        for (int64_t s = 0; s < p.n_seqs; s++) {
            int32_t length = f->lengths[s];
            int32_t step = (int32_t)(uniform(e) * uniform(e) * 400);
            to[s] = at[s] + step < length ? at[s] + step : length;
            more |= to[s] < length;
        }
        paged_step(e, &p, &pages, 0, p.n_seqs, at, to, 0, o);
        memcpy(at, to, sizeof at);
    }
    same(e, o, p.o, n, 2, "all sequences in random pieces");
    /* the last tokens once more, with room for partial sums of one sequence at
     * a time, then of none */
    for (int64_t mib = 32; mib <= 64 && f->page == 16 && !(brief && f->d < 64);
         mib += 32) {
        int64_t split = f->heads * (f->d + 2) * (int64_t)sizeof(float);
        for (int64_t s = 0; s < p.n_seqs; s++)
            at[s] = f->lengths[s] - 1, to[s] = f->lengths[s];
        paged_step(e, &p, &pages, 0, p.n_seqs, at, to,
                   (int32_t)((mib << 20) / split * 512), o);
    }
    same(e, o, p.o, n, 2, "decoding with little room");
}

/* ---- gradient ---------------------------------------------------------- */

static void
grad(env *e, const problem *p, int64_t first, int64_t n_seqs,
     const uint16_t *d_o, uint16_t *dx)
{
    const form *f = p->f;
    int64_t row = f->heads * f->d;
    CALL(e, attention_grad, .n_seqs = n_seqs, .offsets = p->offsets + first,
         .heads = f->heads, .kv_heads = f->kv_heads, .d = f->d,
         .scale = p->scale, .window = f->window, .q = p->q, .k = p->k,
         .v = p->v, .ldq = p->ldq, .ldk = p->ldq, .ldv = p->ldq, .o = p->o,
         .d_o = d_o, .lse = p->lse, .dq = dx, .dk = dx + row,
         .dv = dx + row + f->kv_heads * f->d, .lddq = p->ldq, .lddk = p->ldq,
         .lddv = p->ldq);
}

static void
test_grad(env *e, const form *f)
{
    problem p = make(e, f);
    int64_t n = p.n * p.ldq, row = f->heads * f->d;
    packed(e, &p, 0, p.n_seqs, p.o, p.lse);
    uint16_t *d_o = half_values(e, p.n * row, 1);
    uint16_t *dx = halves(e, n), *alone = halves(e, n);
    grad(e, &p, 0, p.n_seqs, d_o, dx);
    out(e, dx, n, sizeof *dx);
    for (int64_t s = 0; s < p.n_seqs; s++)
        grad(e, &p, s, 1, d_o, alone);
    same(e, alone, dx, n, 2, "a sequence alone");
    double *x = half_doubles(e, p.q, n), *dy = half_doubles(e, d_o, p.n * row);
    double *want = grad_double(e, &p, x, dy, half_doubles(e, p.o, p.n * row));
    near_vectors(e, dx, want, n / f->d, f->d, 1e-2, 0.05, "gradient");
    want = grad_double(e, &p, x, dy, NULL);
    near_vectors(e, dx, want, n / f->d, f->d, 3e-2, 1, "gradient of exact o");
}

/* ---- small GPUs --------------------------------------------------------- */

#ifdef RLF_HAVE_EMULATED
/* All that attention makes of a problem. */
typedef struct results {
    uint16_t *o, *paged, *dx;
    float *lse;
} results;

/* With as much shared memory a block as the environment says. */
static results
all_results(env *e, problem p, const uint16_t *d_o)
{
    const form *f = p.f;
    int64_t row = f->heads * f->d;
    results r = {halves(e, p.n * row), halves(e, p.n * row),
                 halves(e, p.n * p.ldq), blank(e, p.n * f->heads)};
    p.o = r.o;
    p.lse = r.lse;
    packed(e, &p, 0, p.n_seqs, r.o, r.lse);
    cache pages = make_cache(e, &p);
    int32_t from[8] = {0}, to[8];
    for (int64_t s = 0; s < p.n_seqs; s++)
        to[s] = f->lengths[s] - 1;
    paged_step(e, &p, &pages, 0, p.n_seqs, from, to, 0, r.paged);
    for (int64_t s = 0; s < p.n_seqs; s++)
        from[s] = to[s]++;
    paged_step(e, &p, &pages, 0, p.n_seqs, from, to, 0, r.paged);
    grad(e, &p, 0, p.n_seqs, d_o, r.dx);
    return r;
}

/* Tiles are smaller where a block has 99 KB, and results the same. */
static void
test_small(env *e, const form *f)
{
    const char *name = "RLFLOW_EMULATED_SHARED";
    problem p = make(e, f);
    int64_t n = p.n * f->heads * f->d;
    const uint16_t *d_o = half_values(e, n, 1);
    unsetenv(name);
    results large = all_results(e, p, d_o);
    setenv(name, "99", 1);
    results small = all_results(e, p, d_o);
    same(e, small.o, large.o, n, 2, "packed");
    same(e, small.lse, large.lse, p.n * f->heads, 4, "lse");
    same(e, small.paged, large.paged, n, 2, "paged");
    same(e, small.paged, small.o, n, 2, "paged and packed");
    same(e, small.dx, large.dx, p.n * p.ldq, 2, "gradient");
}

/* More than one tile of each kind, windows, groups, more than a split. */
static const form small_forms[] = {
    {4, 2, 64, 0, 16, {150, 5}, true},   {3, 1, 96, 50, 48, {130, 30}, true},
    {2, 1, 128, 0, 16, {140, 64}, true}, {2, 2, 128, 40, 64, {200, 1}, true},
    {1, 1, 128, 0, 64, {520}, true},
};

/* Checks that heads which need more shared memory than a small GPU has are
 * refused before anything runs. */
static void
test_refusals(env *e)
{
    static const char *const want =
        "heads of 256 elements in bf16 need a GPU with 144 KB of shared memory "
        "a block, and this one has 99; in f32 they run here too";
    char sentence[256];
    const char *ops[] = {"attention", "attention_paged", "attention_grad"};
    rlf_err err[3] = {RLF_ERR_NONE, RLF_ERR_NONE, RLF_ERR_NONE};
    e->k->attention(
        e->queue,
        &(rlf_attention_args){.heads = 1, .kv_heads = 1, .d = 256, .scale = 1},
        &err[0]);
    e->k->attention_paged(
        e->queue,
        &(rlf_attention_paged_args){
            .heads = 1, .kv_heads = 1, .d = 256, .page_size = 16, .scale = 1},
        &err[1]);
    e->k->attention_grad(e->queue,
                         &(rlf_attention_grad_args){
                             .heads = 1, .kv_heads = 1, .d = 256, .scale = 1},
                         &err[2]);
    for (int i = 0; i < 3; i++) {
        snprintf(sentence, sizeof sentence, "%s: %s", ops[i], want);
        is_int(err[i].status, RLF_USER, ops[i]);
        is_str(err[i].sentence, sentence, "why");
    }
}
#endif

/* ---- running ----------------------------------------------------------- */

typedef struct part {
    const char *name;
    void (*run)(env *e, const form *f);
} part;

static const part parts[] = {
    {"packed", test_packed},
    {"paged", test_paged},
    {"gradient", test_grad},
};

/* Why the GPU does not take the form, if it has too little shared memory. */
static bool
refuses(const rlf_kernels *k, rlf_queue *queue, const form *f, rlf_err *err)
{
    return k->attention(queue,
                        &(rlf_attention_args){.heads = f->heads,
                                              .kv_heads = f->kv_heads,
                                              .d = f->d,
                                              .scale = 1},
                        err) == RLF_USER;
}

static void
run_form(const rlf_kernels *k, rlf_queue *queue, const char *name,
         const part *of, const form *f, int64_t seed)
{
    env e = {.k = k,
             .queue = queue,
             .err = RLF_ERR_NONE,
             .check = true,
             .random = rlf_hash_text(of->name) + (uint64_t)seed,
             .hash = RLF_HASH_INIT};
    rlf_err err = RLF_ERR_NONE;
    if (refuses(k, queue, f, &err)) {
        skip("%s: %s", name, err.sentence);
        return;
    }
    of->run(&e, f);
    ok(!e.why[0], "%s: %s, %lld heads over %lld of %lld, window %lld", name,
       of->name, (long long)f->heads, (long long)f->kv_heads, (long long)f->d,
       (long long)f->window);
    if (e.why[0])
        note("%s", e.why);
    else if (getenv("VERBOSE"))
        note("%.2f of the tolerance", e.worst);
    release(&e, 0);
}

TAP_FUNCTION void
run_all(const rlf_kernels *k, rlf_queue *queue, const char *name,
        const char *only)
{
    for (int64_t i = 0; i < N(parts); i++)
        for (int64_t j = 0; j < N(forms); j++)
            if ((!only || strcmp(only, parts[i].name) == 0) &&
                (parts[i].run != test_grad || forms[j].grad) &&
                !is_left_out(&forms[j]))
                run_form(k, queue, name, &parts[i], &forms[j], j);
}

#ifdef RLF_HAVE_EMULATED
static void
run_small(const rlf_kernels *k, rlf_queue *queue)
{
    static const part small = {"with 99 KB", test_small};
    for (int64_t i = 0; i < N(small_forms); i++)
        if (!is_left_out(&small_forms[i]))
            run_form(k, queue, "emulated", &small, &small_forms[i], i);
    setenv("RLFLOW_EMULATED_SHARED", "99", 1);
    test_refusals(&(env){.k = k, .queue = queue});
}
#endif

#ifdef RLF_HAVE_EMULATED

/* The trial that a rank makes before a run: see kernels/cuda/algorithms.h. */
static void
run_trial(rlf_queue *queue)
{
    rlf_err err = RLF_ERR_NONE;
    ok(rlf_emulated_try_attention(queue, &err) == RLF_OK,
       "the trial before a run finds nothing %s", err.sentence);
    setenv("RLFLOW_EMULATED_ATTENTION", "wrong", 1);
    ok(rlf_emulated_try_attention(queue, &err) == RLF_ENV &&
           strstr(err.sentence, "other bits in another batch on this GPU") &&
           strstr(err.hint, "--dtype f32"),
       "... and a bit that differs: %s", err.sentence);
    unsetenv("RLFLOW_EMULATED_ATTENTION");
}

#endif

int
main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    (void)only; /* without a GPU and its emulation */
    backend emulated = emulated_backend(true), gpu = gpu_backend(true);
#ifdef RLF_HAVE_EMULATED
    if (wanted("emulated") && emulated.kernels) {
        rlf_queue *queue = queue_of(1);
        brief = quick();
        run_all(rlf_kernels_emulated_bf16(), queue, "emulated", only);
        if (!only || strcmp(only, "small") == 0)
            run_small(rlf_kernels_emulated_bf16(), queue);
        if (!only || strcmp(only, "trial") == 0)
            run_trial(queue);
        queue_end(queue);
        brief = false;
    }
#endif
    if (wanted("emulated") && !emulated.kernels)
        skip("emulated: %s", emulated.missing);
#ifdef RLF_HAVE_CUDA
    if (wanted("cuda") && gpu.kernels) {
        rlf_kernels table = *rlf_kernels_cuda_bf16();
        rlf_queue *queue = gpu_queue();
#define OP(op, doc, flops, bytes) table.op = half_##op;
#include "kernels/op.def"
#undef OP
        run_all(&table, queue, "cuda", only);
        rlf_err err = RLF_ERR_NONE;
        ok(rlf_cuda_try_attention(queue, &err) == RLF_OK,
           "cuda: the trial before a run finds nothing %s", err.sentence);
        queue_end(queue);
    }
#endif
    if (wanted("cuda") && !gpu.kernels)
        skip("cuda: %s", gpu.missing);
    return done();
}
