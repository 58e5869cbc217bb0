/* Expression programs over dense columns: see kernels_case.h. The CPU runs
 * their plans, which kernels_expr.c holds to a reference; devices interpret
 * what they were lowered to, and must give the same bits. */
#include "tests/unit/kernels_case.h"

#include "engine/base/fmath.h"
#include "engine/base/vec.h"
#include "kernels/expr_dense.h"

enum { AT = 1, WORDS = 2, MOST = 8 /* columns */ };

/* A program being made and its columns. */
typedef struct made {
    env *e;
    rlf_arena *arena;
    rlf_expr *expr;
    int64_t m, v;
    rlf_dense_column in[MOST], out[MOST];
} made;

static made
made_new(env *e, int64_t m, int64_t v)
{
    made p = {.e = e, .arena = rlf_arena_new(), .m = m, .v = v};
    rlf_domains *domains = RLF_NEW(p.arena, rlf_domains);
    rlf_domains_init(domains, p.arena);
    rlf_domains_add(domains,
                    (rlf_domain){.kind = RLF_DOMAIN_ROWS, .owner = -1});
    if (v)
        rlf_domains_add(domains,
                        (rlf_domain){.kind = RLF_DOMAIN_TOKENS, .owner = AT});
    p.expr = rlf_expr_new(p.arena, domains);
    return p;
}

static const rlf_span nowhere;

static int64_t
size_of(const made *p, int domain)
{
    return domain == WORDS ? p->m * p->v : p->m;
}

/* An input with numbers in [-scale, scale). */
static int
input(made *p, int domain, bool f32, double scale)
{
    bool live = p->expr->inputs.count % 2;
    int i = rlf_expr_add_input(
        p->expr, (rlf_expr_input){.domain = domain, .live = live});
    int64_t n = size_of(p, domain);
    p->in[i].f32 = f32;
    if (f32 || domain == WORDS) {
        p->in[i].data = values(p->e, n, scale);
    } else {
        double *x = take(p->e, n, sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = (uniform(p->e) * 2 - 1) * scale;
        p->in[i].data = x;
    }
    return rlf_expr_input_op(p->expr, i, nowhere);
}

static int
op(made *p, rlf_expr_code code, int domain, int a, int b)
{
    return rlf_expr_add(p->expr, (rlf_expr_op){.code = code,
                                               .domain = domain,
                                               .arg = {a, b, -1},
                                               .over = AT});
}

static int
point(made *p, rlf_expr_code code, int a, int b, int c)
{
    return rlf_expr_pointwise(p->expr, code, a, b, c, nowhere);
}

static int
constant(made *p, double x)
{
    return rlf_expr_constant(p->expr, x, nowhere);
}

/* An output; brought down to `domain`. */
static void *
output(made *p, int result, int domain, bool f32)
{
    int i = rlf_expr_add_output(p->expr, "y",
                                rlf_expr_down(p->expr, result, domain));
    bool floats = f32 || domain == WORDS;
    p->out[i] =
        (rlf_dense_column){take(p->e, size_of(p, domain), floats ? 4 : 8), f32};
    return p->out[i].data;
}

static void
run(made *p, rlf_nonfinite *nonfinite)
{
    const rlf_expr_dense *d;
    if (rlf_expr_dense_new(p->expr, p->arena, &p->e->err, &d) < 0)
        bail("%s", p->e->err.sentence);
    CALL(p->e, expr_dense, .m = p->m, .v = p->v, .program = d, .inputs = p->in,
         .outputs = p->out, .nonfinite = nonfinite);
}

/* Adds the outputs to the hash, with every NaN replaced by 7777, since the bits
 * of a NaN depend on the machine; then frees the program. */
static void
made_end(made *p)
{
    for (size_t i = 0; i < p->expr->outputs.count; i++) {
        int domain = p->expr->ops.data[p->expr->outputs.data[i].op].domain;
        int64_t n = size_of(p, domain);
        bool floats = p->out[i].f32 || domain == WORDS;
        float *x = p->out[i].data;
        double *y = p->out[i].data;
        for (int64_t k = 0; k < n; k++)
            if (floats && x[k] != x[k])
                x[k] = 7777;
            else if (!floats && y[k] != y[k])
                y[k] = 7777;
        out(p->e, x, n, floats ? 4 : 8);
    }
    rlf_arena_free(p->arena);
}

/* ---- programs with an oracle ---- */

/* By 256 lanes, and those in a tree: kernels/expr.h. */
typedef struct lanes {
    double at[256];
} lanes;

static double
lanes_end(lanes *sum)
{
    for (int w = 128; w >= 1; w /= 2)
        for (int i = 0; i < w; i++)
            sum->at[i] += sum->at[i + w];
    return sum->at[0];
}

static void
test_sums(env *e)
{
    static const int64_t sizes[] = {1, 43, 256, 700, 2600};
    for (int s = 0; s < 5; s++) {
        made p = made_new(e, 3, sizes[s]);
        int64_t v = p.v;
        int x = input(&p, WORDS, false, 2), y = input(&p, WORDS, false, 2);
        int c = input(&p, AT, false, 1), f = input(&p, AT, true, 1);
        int far = point(&p, RLF_EXPR_MUL, point(&p, RLF_EXPR_EXP, x, -1, -1),
                        point(&p, RLF_EXPR_SUB, x, y, -1), -1);
        double *kl = output(&p, op(&p, RLF_EXPR_SUM, AT, far, -1), AT, false);
        int most = op(&p, RLF_EXPR_MOST, AT, x, -1);
        int low = point(&p, RLF_EXPR_SUB, x, most, -1);
        double *z = output(&p,
                           op(&p, RLF_EXPR_SUM, AT,
                              point(&p, RLF_EXPR_MUL, low,
                                    point(&p, RLF_EXPR_ADD, c, f, -1), -1),
                              -1),
                           AT, false);
        float *n = output(&p, op(&p, RLF_EXPR_COUNT, AT, x, -1), AT, true);
        run(&p, NULL);
        for (int64_t r = 0; r < p.m; r++) {
            const float *a = (float *)p.in[0].data + r * v;
            const float *b = (float *)p.in[1].data + r * v;
            lanes sum[2] = {0};
            double want[2], top = -INFINITY;
            for (int64_t i = 0; i < v; i++) {
                sum[0].at[i % 256] +=
                    rlf_exp((double)a[i]) * ((double)a[i] - (double)b[i]);
                top = fmax(top, (double)a[i]);
            }
            for (int64_t i = 0; i < v; i++)
                sum[1].at[i % 256] +=
                    ((double)a[i] - top) * (((double *)p.in[2].data)[r] +
                                            (double)((float *)p.in[3].data)[r]);
            want[0] = lanes_end(&sum[0]);
            want[1] = lanes_end(&sum[1]);
            float count = (float)v;
            same(e, &kl[r], &want[0], 1, 8, "a sum");
            same(e, &z[r], &want[1], 1, 8, "a sum of what is below the most");
            same(e, &n[r], &count, 1, 4, "the number of words");
        }
        made_end(&p);
    }
}

/* A program's only output lies where an input does; what is nonfinite is found.
 */
static void
test_in_place(env *e)
{
    made p = made_new(e, 4, 600);
    int x = input(&p, WORDS, false, 2), c = input(&p, AT, false, 1);
    int sum = op(&p, RLF_EXPR_SUM, AT, point(&p, RLF_EXPR_EXP, x, -1, -1), -1);
    int y = point(&p, RLF_EXPR_SUB, point(&p, RLF_EXPR_MUL, x, c, -1),
                  point(&p, RLF_EXPR_DIV, x, sum, -1), -1);
    rlf_expr_add_output(p.expr, "y", y);
    float *words = p.in[0].data, *was = copy_of(e, words, p.m * p.v);
    was[600 + 7] = was[600 + 300] = words[600 + 7] = words[600 + 300] =
        INFINITY;
    was[1800 + 599] = words[1800 + 599] = NAN;
    p.out[0] = p.in[0];
    rlf_nonfinite *nonfinite = take(e, p.m, sizeof *nonfinite);
    run(&p, nonfinite);
    for (int64_t r = 0; r < p.m; r++) {
        double total = 0;
        for (int64_t i = 0; i < p.v; i++)
            total += rlf_exp((double)was[r * p.v + i]);
        for (int64_t i = 0; i < p.v && r % 2 == 0; i++) {
            double a = (double)was[r * p.v + i];
            float want = (float)(a * ((double *)p.in[1].data)[r] - a / total);
            same(e, words + r * p.v + i, &want, 1, 4, "in place");
        }
    }
    bool good = nonfinite[0].word == -1 && nonfinite[1].word == 7 &&
                nonfinite[2].word == -1 && !isfinite(nonfinite[1].is) &&
                nonfinite[1].was == INFINITY && nonfinite[3].word == 0 &&
                isnan(nonfinite[3].is) && nonfinite[3].was == was[1800];
    if (!good)
        snprintf(e->why, sizeof e->why, "nonfinite words: %d %d %d %d",
                 nonfinite[0].word, nonfinite[1].word, nonfinite[2].word,
                 nonfinite[3].word);
    made_end(&p);
}

/* y[i] = x[i] + by[i] y[before], in order or backwards. */
static void
run_chain(const float *x, const float *by, int64_t v, bool back, float *y)
{
    double sum = 0;
    for (int64_t i = 0; i < v; i++) {
        int64_t at = back ? v - 1 - i : i;
        double more = i ? (by ? (double)by[at] : 1) * sum : -0.0;
        sum = (double)x[at] + more;
        y[at] = (float)sum;
    }
}

/* Running sums, over more than a device takes at a time. What the first number
 * is multiplied by counts for nothing. */
static void
test_chains(env *e)
{
    static const rlf_expr_code codes[] = {RLF_EXPR_CUMSUM, RLF_EXPR_COMPOUND,
                                          RLF_EXPR_DISCOUNT};
    static const int64_t sizes[] = {1, 511, 512, 513, 2500};
    for (int s = 0; s < 5; s++) {
        made p = made_new(e, 2, sizes[s]);
        int64_t v = p.v;
        int x = input(&p, WORDS, false, 2), by = input(&p, WORDS, false, 1);
        float *a = p.in[0].data, *b = p.in[1].data, *y[3];
        for (int64_t r = 0; r < p.m; r++) {
            a[r * v] = a[r * v + v - 1] = -0.0F;
            b[r * v] = b[r * v + v - 1] = v > 1 ? -1 : INFINITY;
        }
        for (int i = 0; i < 3; i++)
            y[i] = output(&p, op(&p, codes[i], WORDS, x, i ? by : -1), WORDS,
                          false);
        run(&p, NULL);
        float *want = take(e, v, sizeof *want);
        for (int64_t r = 0; r < p.m; r++)
            for (int i = 0; i < 3; i++) {
                run_chain(a + r * v, i ? b + r * v : NULL, v, i == 2, want);
                same(e, y[i] + r * v, want, v, 4, rlf_expr_text(codes[i]));
            }
        made_end(&p);
    }
}

/* ---- random programs ---- */

static int
any(made *p, int domain, bool exactly)
{
    for (int tries = 0; tries < 40; tries++) {
        int i = (int)(uniform(p->e) * (double)p->expr->ops.count);
        const rlf_expr_op *o = &p->expr->ops.data[i];
        if (!o->text && (o->domain == domain ||
                         (!exactly && rlf_domain_reaches(p->expr->domains,
                                                         o->domain, domain))))
            return i;
    }
    return -1;
}

static void
random_point(made *p)
{
    int domain = p->v && uniform(p->e) < 0.6 ? WORDS : AT;
    rlf_expr_code code;
    bool poor; /* says little of what it is made from */
    do {
        /* all but the last, PICK, which is what SELECT is here */
        code = (rlf_expr_code)(uniform(p->e) * RLF_EXPR_PICK);
        poor = (code >= RLF_EXPR_LT && code <= RLF_EXPR_NOT) ||
               code == RLF_EXPR_FLOOR;
    } while (!rlf_expr_is_pointwise(code) || (poor && uniform(p->e) < 0.8));
    int a = any(p, domain, true), b = any(p, domain, false),
        c = any(p, domain, false);
    if (a >= 0 && b >= 0 && c >= 0)
        point(p, code, a, b, c);
}

static void
random_over_words(made *p)
{
    static const rlf_expr_code down[] = {
        RLF_EXPR_SUM,   RLF_EXPR_MEAN, RLF_EXPR_STD,  RLF_EXPR_VAR,
        RLF_EXPR_LEAST, RLF_EXPR_MOST, RLF_EXPR_COUNT};
    static const rlf_expr_code across[] = {
        RLF_EXPR_DISCOUNT, RLF_EXPR_CUMSUM,  RLF_EXPR_NEXT,
        RLF_EXPR_PREV,     RLF_EXPR_RANK,    RLF_EXPR_ROTATE,
        RLF_EXPR_UNROTATE, RLF_EXPR_COMPOUND};
    int a = any(p, WORDS, true), b = any(p, WORDS, false);
    if (a < 0 || b < 0)
        return;
    if (uniform(p->e) < 0.5) {
        op(p, down[(int)(uniform(p->e) * (int)RLF_COUNT(down))], AT, a, -1);
        return;
    }
    if (uniform(p->e) < 0.1) {
        int row = any(p, AT, true);
        if (row >= 0)
            op(p, RLF_EXPR_AT_LAST, WORDS, row, -1);
        return;
    }
    rlf_expr_code code = across[(int)(uniform(p->e) * (int)RLF_COUNT(across))];
    if (code == RLF_EXPR_RANK) /* whole numbers: ties */
        a = point(p, RLF_EXPR_FLOOR, a, -1, -1);
    b = point(p, RLF_EXPR_SIGMOID, b, -1, -1);
    op(p, code, WORDS, a,
       rlf_expr_arity(code) > 1 ? rlf_expr_down(p->expr, b, WORDS) : -1);
}

/* A number that is 1 where two texts are the same. */
static void
texts(made *p)
{
    int a = any(p, AT, true);
    int one = rlf_expr_words(p->expr, rlf_str_of("one"), nowhere);
    int two = rlf_expr_words(p->expr, rlf_str_of("two"), nowhere);
    int text = point(p, RLF_EXPR_SELECT,
                     point(p, RLF_EXPR_LT, a, constant(p, 0), -1), one, two);
    point(p, RLF_EXPR_TEXT_EQ, text, two, -1);
}

static void
random_program(env *e, int64_t m, int64_t v)
{
    made p = made_new(e, m, v);
    input(&p, AT, false, 2);
    input(&p, AT, true, 2);
    for (int i = 0; v && i < 2; i++)
        input(&p, WORDS, false, 2);
    constant(&p, 0.75);
    texts(&p);
    for (int i = 0; i < 30; i++)
        if (v && uniform(e) < 0.4)
            random_over_words(&p);
        else
            random_point(&p);
    for (int i = 0; i < 4; i++) {
        int domain = v && i > 1 ? WORDS : AT, of = any(&p, domain, false);
        for (int k = 0; k < 5; k++)
            of = point(&p, k % 2 ? RLF_EXPR_SUB : RLF_EXPR_ADD, of,
                       point(&p, RLF_EXPR_TANH, any(&p, domain, false), -1, -1),
                       -1);
        output(&p, of, domain, i == 1);
    }
    run(&p, NULL);
    made_end(&p);
}

static void
test_random(env *e)
{
    static const int64_t sizes[] = {1, 3, 43, 256, 300, 700};
    for (int i = 0; i < 30; i++)
        random_program(e, 1 + i % 3, sizes[i % 6]);
}

static void
test_rows(env *e)
{
    static const int64_t sizes[] = {0, 1, 5, 63, 64, 65, 300, 2500};
    for (int i = 0; i < 16; i++)
        random_program(e, sizes[i % 8], 0);
}

static const op_case cases[] = {
    {"dense_sums", test_sums},     {"dense_in_place", test_in_place},
    {"dense_chains", test_chains}, {"dense_random", test_random},
    {"dense_rows", test_rows},
};

/* Checks that operations which programs over dense columns cannot have are
 * refused. */
static void
refusals(void)
{
    env e = {.random = 5};
    rlf_err err = RLF_ERR_NONE;
    const rlf_expr_dense *d;
    made p = made_new(&e, 1, 4);
    int x = rlf_expr_input_op(
        p.expr, rlf_expr_add_input(p.expr, (rlf_expr_input){.domain = AT}),
        nowhere);
    rlf_expr_add_output(p.expr, "y", op(&p, RLF_EXPR_ROTATE, AT, x, -1));
    p.expr->ops.data[p.expr->outputs.data[0].op].over = 0;
    is_int(rlf_expr_dense_new(p.expr, p.arena, &err, &d), RLF_BUG,
           "what looks at other rows is refused");
    rlf_arena_free(p.arena);
    p = made_new(&e, 1, 0);
    x = rlf_expr_input_op(
        p.expr, rlf_expr_add_input(p.expr, (rlf_expr_input){.domain = AT}),
        nowhere);
    rlf_expr_add_output(p.expr, "y", op(&p, RLF_EXPR_UNIFORM, AT, x, -1));
    rlf_err_clear(&err);
    is_int(rlf_expr_dense_new(p.expr, p.arena, &err, &d), RLF_BUG,
           "so are random numbers");
    rlf_arena_free(p.arena);
}

int
main(int argc, char **argv)
{
    refusals();
    return run_cases(cases, (int)RLF_COUNT(cases), argc > 1 ? argv[1] : NULL);
}
