/* Sampling under filters, on rows made to be hard: see kernels_case.h. The
 * logits of a row are column 0 of the head, for x is 1 there and 0 elsewhere.
 *
 * The oracle sorts words by logit and id and adds up probabilities in double
 * precision. Logits are equal or at least 2^-13 apart, so it has the order; it
 * says nothing where top_p or min_p would keep other words, of more than NEAR
 * of the mass, if a sum or probability were off by NEAR; or the token be
 * another if its uniform number were. That must be rare. */
#include "tests/unit/kernels_case.h"

#define N(a) ((int)(sizeof(a) / sizeof *(a)))
#define NEAR 2e-6

enum { D = 8, ROWS = 32, FEW = 6, MOST_V = 20000 };

typedef struct filter {
    int32_t k;
    float p, min;
} filter;

static const filter filters[] = {
    {1, 0, 0},     {2, 0, 0},      {50, 0, 0},      {30000, 0, 0},
    {0, 1e-9F, 0}, {0, .3337F, 0}, {0, .9137F, 0},  {0, 0x1.fffffep-1F, 0},
    {0, 0, .1F},   {0, 0, 1},      {40, .8137F, 0}, {7, .999F, .02F},
};

typedef struct problem {
    int64_t v;
    float *z;
    void *packed, *work;
    size_t work_bytes;
    float *x, *logprob;
    double *u;
    int32_t *tokens;
} problem;

/* The row's logits. Those of the GPU's tensor cores are of bf16. */
typedef float make_logit(env *e, int64_t i);

static float
many_ties(env *e, int64_t i)
{
    double sum = -6;
    (void)i;
    for (int k = 0; k < 12; k++)
        sum += uniform(e);
    return (float)(floor(sum * 12) / 4);
}

static float
all_equal(env *e, int64_t i)
{
    (void)e, (void)i;
    return -1.5F;
}

static float
three_of_them(env *e, int64_t i)
{
    (void)e;
    return i == 5 || i == 130 || i == 131 ? (float)(i % 4) : -INFINITY;
}

/* All but the likeliest two beyond what weighs anything. */
static float
steep(env *e, int64_t i)
{
    (void)e;
    return i == 17 || i == 400 ? 40 : (float)(i % 3);
}

/* All within a hundredth of the largest. */
static float
level(env *e, int64_t i)
{
    (void)e;
    return (float)(i * 7 % 64) * -0x1p-13F;
}

static float
straight(env *e, int64_t i)
{
    (void)e;
    return (float)(i % 97) * 0.0625F;
}

static const struct {
    make_logit *logit;
    int64_t v;
    const char *name;
} rows[] = {
    {many_ties, 3001, "many ties"}, {many_ties, 16500, "more ties"},
    {all_equal, 1000, "all equal"}, {three_of_them, 301, "three of them"},
    {steep, 515, "steep"},          {level, 770, "level"},
    {straight, 2049, "straight"},   {all_equal, 1, "a single word"},
};

static problem
make(env *e, int64_t v, make_logit *logit)
{
    problem p = {.v = v, .z = blank(e, v)};
    float *w = blank(e, v * D);
    memset(w, 0, (size_t)(v * D) * sizeof *w);
    for (int64_t i = 0; i < v; i++)
        w[i * D] = p.z[i] = logit(e, i);
    p.packed = take(
        e, (int64_t)e->k->product_packed_bytes(v, D, RLF_PRODUCT_FORWARD), 1);
    CALL(e, product_pack, .rows = v, .cols = D, .w = w, .packed = p.packed);
    p.work_bytes = e->k->head_work_bytes(16, v, D, NULL);
    p.work = take(e, (int64_t)p.work_bytes, 1);
    p.x = blank(e, ROWS * D);
    memset(p.x, 0, ROWS * D * sizeof *p.x);
    p.u = take(e, ROWS, sizeof *p.u);
    for (int i = 0; i < ROWS; i++) {
        p.x[i * D] = 1;
        /* all about evenly, and the ends */
        p.u[i] = i == 0   ? 0
                 : i == 1 ? 0x1.fffffffffffffp-1
                          : (i * 37 % ROWS + uniform(e)) / ROWS;
    }
    p.tokens = take(e, ROWS, sizeof *p.tokens);
    p.logprob = blank(e, ROWS);
    return p;
}

static int
sampled(const env *e)
{
    return e->slow ? FEW : ROWS;
}

static void
sample(env *e, const problem *p, filter f, bool greedy)
{
    CALL(e, sample, .m = sampled(e), .v = p->v, .d = D, .x = p->x,
         .packed = p->packed, .greedy = greedy, .top_k = f.k, .top_p = f.p,
         .min_p = f.min, .uniform = p->u, .tokens = p->tokens,
         .logprob = p->logprob, .work = p->work, .work_bytes = p->work_bytes);
    e->hash = rlf_hash(e->hash, p->tokens, FEW * sizeof *p->tokens);
}

static const float *order_by;

static int
by_order(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    if (order_by[i] != order_by[j])
        return order_by[i] > order_by[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* Sets kept[] to the probability of what the filter keeps, by id; returns their
 * sum, or -1 where rounding may have a say. */
static double
keep(const problem *p, filter f, double *kept)
{
    static int order[MOST_V];
    static double share[MOST_V];
    int n = (int)p->v;
    double total = 0, mass = 0;
    for (int i = 0; i < n; i++)
        order[i] = i;
    order_by = p->z;
    qsort(order, (size_t)n, sizeof *order, by_order);
    if (f.k > 0 && f.k < n)
        n = f.k;
    for (int i = 0; i < n; i++) {
        share[i] = exp((double)(p->z[order[i]] - p->z[order[0]]));
        share[i] = share[i] < 0x1p-40 ? 0 : share[i]; /* see kernels.h */
        total += share[i];
    }
    if (f.p > 0 && f.p < 1) {
        double goal = (double)f.p * total, unsure = 0;
        int cut = 0;
        for (int i = 0; i < n; mass += share[i++]) {
            if (i > 0 && fabs(mass - goal) < NEAR * total)
                unsure += share[i];
            cut += mass < goal;
        }
        if (unsure > NEAR * total) /* but not if all of them are little */
            return -1;
        n = cut;
    }
    memset(kept, 0, (size_t)p->v * sizeof *kept);
    mass = 0;
    for (int i = 0; i < n; i++) {
        if (f.min > 0 && f.min < 1 && fabs(share[i] - (double)f.min) < NEAR)
            return -1;
        if (share[i] >= (double)f.min)
            mass += kept[order[i]] = share[i];
    }
    return mass;
}

/* Compare the tokens; returns how many the oracle could not tell. */
static int
check_tokens(env *e, const problem *p, filter f, const char *name)
{
    static double kept[MOST_V];
    double mass = keep(p, f, kept);
    int unsure = 0;
    for (int r = 0; r < sampled(e) && mass > 0; r++) {
        double sum = 0, goal = p->u[r] * mass;
        int64_t i = 0, last = 0;
        bool near = false;
        for (; i < p->v && sum <= goal; i++) {
            sum += kept[i];
            last = kept[i] > 0 ? i : last;
            near |= r > 1 && kept[i] > 0 && fabs(sum - goal) < NEAR * mass;
        }
        unsure += near;
        if (!near && p->tokens[r] != last && !e->why[0])
            snprintf(e->why, sizeof e->why,
                     "%s, k %d p %.3g min %.3g, u %.17g: %d, not %lld", name,
                     f.k, (double)f.p, (double)f.min, p->u[r], p->tokens[r],
                     (long long)last);
    }
    return mass > 0 ? unsure : sampled(e);
}

static void
test_sample_filters(env *e)
{
    int unsure = 0, all = 0;
    for (int i = 0; i < N(rows); i++) {
        problem p = make(e, rows[i].v, rows[i].logit);
        for (int f = 0; f < N(filters); f++) {
            sample(e, &p, filters[f], false);
            if (!e->check)
                continue;
            unsure += check_tokens(e, &p, filters[f], rows[i].name);
            all += sampled(e);
        }
        while (e->n_held > 0) {
            pin(e, e->held[--e->n_held], 0);
            free(e->held[e->n_held]);
        }
    }
    if (e->check && unsure * 30 > all && !e->why[0])
        snprintf(e->why, sizeof e->why, "the oracle does not know %d of %d",
                 unsure, all);
}

static float
not_numbers(env *e, int64_t i)
{
    (void)e;
    return i % 5 == 3 ? NAN : (float)(i % 7);
}

static float
infinite(env *e, int64_t i)
{
    (void)e;
    return i == 77 ? INFINITY : 1;
}

static float
nothing(env *e, int64_t i)
{
    (void)e, (void)i;
    return -INFINITY;
}

/* Any token, but one, and the same everywhere; logprob says so. */
static void
test_sample_broken(env *e)
{
    make_logit *const broken[] = {not_numbers, infinite, nothing};
    for (int i = 0; i < N(broken); i++) {
        problem p = make(e, 900, broken[i]);
        for (int f = 0; f < N(filters); f++) {
            sample(e, &p, filters[f], false);
            for (int r = 0; r < sampled(e) && !e->why[0]; r++)
                if (p.tokens[r] < 0 || p.tokens[r] >= p.v ||
                    !isnan(p.logprob[r]))
                    snprintf(e->why, sizeof e->why,
                             "row %d, filter %d: token %d of logprob %g", i, f,
                             p.tokens[r], (double)p.logprob[r]);
        }
        sample(e, &p, (filter){0}, false);
        sample(e, &p, (filter){0}, true);
        while (e->n_held > 0) {
            pin(e, e->held[--e->n_held], 0);
            free(e->held[e->n_held]);
        }
    }
}

static const op_case cases[] = {
    {"sample_filters", test_sample_filters},
    {"sample_broken", test_sample_broken},
};

int
main(int argc, char **argv)
{
    return run_cases(cases, N(cases), argc > 1 ? argv[1] : NULL);
}
