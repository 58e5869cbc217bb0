/* Derivatives of expression programs against central differences: every
 * operation in every argument, random programs, and the cases where a side not
 * taken is infinite. */
#include "tests/unit/kernels_expr.h"

static int
live_input(rlf_expr *e, int domain)
{
    rlf_expr_input in = {.name = "x", .domain = domain, .live = true};
    return rlf_expr_input_op(e, rlf_expr_add_input(e, in), nowhere);
}

/* The sum over everything of `y` times numbers that differ. */
static int
weighed(rlf_expr *e, int y, int weight_input)
{
    int weight = rlf_expr_input_op(e, weight_input, nowhere);
    int p = rlf_expr_pointwise(e, RLF_EXPR_MUL, y, weight, -1, nowhere);
    return e->ops.data[p].domain == 0 ? p : op(e, RLF_EXPR_SUM, 0, p, -1, 0);
}

static double
loss_at(const rlf_expr_plan *plan, const world *w, const rlf_column *in,
        const rlf_column *out)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_expr_bind bind = {
        .inputs = in, .outputs = out, .spaces = w->by_domain, .seed = 5};
    if (rlf_expr_run(plan, NULL, &bind, &err) != RLF_OK)
        bail("%s", err.sentence);
    return out[0].number[0];
}

/* The largest error of all gradients of output 0, relative above 1; `sample`:
 * look at about so many places an input. */
static double
gradient_error(world *w, const rlf_expr *e, rlf_column *in, int sample)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_derivative *d = rlf_expr_derive(e, 0, w->arena);
    const rlf_expr_plan *plan, *forward;
    if (rlf_expr_check(d->expr, &err) != RLF_OK ||
        rlf_expr_plan_new(d->expr, w->arena, &err, &plan) != RLF_OK ||
        rlf_expr_plan_new(e, w->arena, &err, &forward) != RLF_OK)
        bail("%s", err.sentence);
    rlf_column *out = outputs_new(w, d->expr), *y = outputs_new(w, e);
    loss_at(plan, w, in, out);
    double worst = 0;
    for (size_t i = 0; i < e->inputs.count; i++) {
        if (!e->inputs.data[i].live)
            continue;
        const double *g = out[d->output_of_input[i]].number;
        int domain = e->inputs.data[i].domain;
        double places = (double)extent_of(w, domain);
        for (uint32_t r = 0; r < n_rows(w, domain); r++)
            for (uint32_t t = 0; t < n_tokens(w, domain, r); t++) {
                if (between(w, 0, places) > sample)
                    continue;
                double *x = &in[i].number[place_of(w, domain, r, t)], was = *x;
                double got = g[place_of(w, domain, r, t)], best = INFINITY;
                for (double h = 1e-3; h > 5e-7; h /= 10) {
                    *x = was + h;
                    double up = loss_at(forward, w, in, y);
                    *x = was - h;
                    double down = loss_at(forward, w, in, y);
                    *x = was;
                    double want = (up - down) / (2 * h);
                    best = fmin(best, fabs(got - want) / fmax(1, fabs(want)));
                }
                worst = best > worst ? best : worst;
            }
    }
    return worst;
}

typedef struct one {
    rlf_expr_code code;
    int domain, from[3], over;
    double low, high;
} one;

/* Every operation that op.def says is DERIVED is among the `n` of `ones`. */
static void
all_derived(const one *ones, size_t n)
{
    static const unsigned arguments[] = {
#define CONSTANT 0
#define DERIVED(rule, arguments) arguments
#define EXPR(name, arity, derivative, text, doc) derivative,
#include "engine/expr/op.def"
#undef EXPR
    };
    for (int code = 0; code < RLF_EXPR_CODES; code++) {
        size_t i = 0;
        while (i < n && (int)ones[i].code != code)
            i++;
        if (arguments[code] && i == n)
            bail("%s has a derivative and no row in ones[] of "
                 "tests/unit/kernels_expr_grad.c, where it is compared with "
                 "finite differences",
                 rlf_expr_text((rlf_expr_code)code));
    }
}

static void
each_operation(world *w)
{
    static const one ones[] = {
        // clang-format off
        {RLF_EXPR_NEG, TOKENS, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_ADD, TOKENS, {TOKENS, TOKENS}, 0, -2, 2},
        {RLF_EXPR_SUB, TOKENS, {TOKENS, TOKENS}, 0, -2, 2},
        {RLF_EXPR_MUL, TOKENS, {TOKENS, TOKENS}, 0, -2, 2},
        {RLF_EXPR_DIV, TOKENS, {TOKENS, TOKENS}, 0, 0.5, 2},
        {RLF_EXPR_MOD, TOKENS, {TOKENS, TOKENS}, 0, 0.6, 3},
        {RLF_EXPR_POW, TOKENS, {TOKENS, TOKENS}, 0, 0.3, 2},
        {RLF_EXPR_SELECT, TOKENS, {TOKENS, TOKENS, TOKENS}, 0, -2, 2},
        {RLF_EXPR_EXP, TOKENS, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_LOG, TOKENS, {TOKENS}, 0, 0.3, 2},
        {RLF_EXPR_SQRT, TOKENS, {TOKENS}, 0, 0.3, 2},
        {RLF_EXPR_ABS, TOKENS, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_MIN, TOKENS, {TOKENS, TOKENS}, 0, -2, 2},
        {RLF_EXPR_MAX, TOKENS, {TOKENS, TOKENS}, 0, -2, 2},
        {RLF_EXPR_CLAMP, TOKENS, {TOKENS, TOKENS, TOKENS}, 0, -2, 2},
        {RLF_EXPR_FLOOR, TOKENS, {TOKENS}, 0, 0.1, 0.9},
        {RLF_EXPR_SIGMOID, TOKENS, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_LOG_SIGMOID, TOKENS, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_TANH, TOKENS, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_SUM, ROLL, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_SUM, BATCH, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_SUM, ROLL, {MINI}, 0, -2, 2},
        {RLF_EXPR_SUM, TOKENS, {MINI_TOKENS}, 0, -2, 2},
        {RLF_EXPR_MEAN, ROLL, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_MEAN, BATCH, {ROLL}, 0, -2, 2},
        {RLF_EXPR_MEAN, BATCH, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_MEAN, 0, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_VAR, ROLL, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_VAR, BATCH, {ROLL}, 0, -2, 2},
        {RLF_EXPR_VAR, 0, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_STD, ROLL, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_STD, BATCH, {ROLL}, 0, -2, 2},
        {RLF_EXPR_STD, 0, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_LEAST, ROLL, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_MOST, ROLL, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_LEAST, 0, {ROLL}, 0, -2, 2},
        {RLF_EXPR_MOST, 0, {TOKENS}, 0, -2, 2},
        {RLF_EXPR_ROTATE, ROLL, {ROLL}, BATCH, -2, 2},
        {RLF_EXPR_ROTATE, TOKENS, {TOKENS}, ROLL, -2, 2},
        {RLF_EXPR_UNROTATE, ROLL, {ROLL}, 0, -2, 2},
        {RLF_EXPR_DISCOUNT, TOKENS, {TOKENS, TOKENS}, 0, -1, 1},
        {RLF_EXPR_COMPOUND, TOKENS, {TOKENS, TOKENS}, 0, -1, 1},
        {RLF_EXPR_CUMSUM, TOKENS, {TOKENS}, 0, -1, 1},
        {RLF_EXPR_NEXT, TOKENS, {TOKENS, TOKENS}, 0, -1, 1},
        {RLF_EXPR_PREV, TOKENS, {TOKENS, TOKENS}, 0, -1, 1},
        {RLF_EXPR_AT_LAST, TOKENS, {ROLL}, 0, -1, 1},
        {RLF_EXPR_DOWN, TOKENS, {ROLL}, 0, -1, 1},
        {RLF_EXPR_DOWN, TOKENS, {0}, 0, -1, 1},
        {RLF_EXPR_DOWN, MINI_TOKENS, {BATCH}, 0, -1, 1},
        {RLF_EXPR_DOWN, MINI_TOKENS, {TOKENS}, 0, -1, 1},
        // clang-format on
    };
    all_derived(ones, RLF_COUNT(ones));
    for (size_t i = 0; i < RLF_COUNT(ones); i++) {
        const one *o = &ones[i];
        rlf_expr *e = program(w);
        rlf_column in[4];
        rlf_expr_op it = {
            .code = o->code, .domain = o->domain, .over = o->over};
        int n = rlf_expr_arity(o->code);
        for (int k = 0; k < n; k++) {
            bool clamp = o->code == RLF_EXPR_CLAMP; /* bounds in order */
            it.arg[k] = live_input(e, o->from[k]);
            in[k] = column(w, o->from[k], clamp && k == 2 ? 0 : o->low,
                           clamp && k == 1 ? 0 : o->high);
        }
        int y = rlf_expr_add(e, it);
        int weight = rlf_expr_add_input(
            e, (rlf_expr_input){.name = "w", .domain = o->domain});
        in[n] = column(w, o->domain, -1, 1);
        /* tanh: so that the adjoint differs from the weight */
        y = rlf_expr_pointwise(e, RLF_EXPR_TANH, y, -1, -1, nowhere);
        rlf_expr_add_output(e, "loss", weighed(e, y, weight));
        near(gradient_error(w, e, in, 60), 0, 1e-7, rlf_expr_text(o->code));
    }
}

static void
random_losses(world *w, int n)
{
    double worst = 0;
    int live = 0;
    for (int i = 0; i < n; i++) {
        rlf_expr *e = program(w);
        rlf_column in[DOMAINS + 1];
        for (int d = 0; d < DOMAINS; d++) {
            in[d] = column(w, d, -1.5, 1.5);
            if (d % 2)
                input(e, d);
            else
                live_input(e, d);
        }
        for (int k = 0; k < 25; k++)
            random_op(w, e);
        int loss = rlf_expr_constant(e, 0, nowhere);
        for (int k = 0; k < 4; k++) {
            int y = (int)e->ops.count - 1 - 3 * k;
            y = rlf_expr_pointwise(e, RLF_EXPR_SIGMOID, y, -1, -1, nowhere);
            if (e->ops.data[y].domain)
                y = op(e, RLF_EXPR_MEAN, 0, y, -1, 0);
            loss = rlf_expr_pointwise(e, RLF_EXPR_ADD, loss, y, -1, nowhere);
        }
        rlf_expr_add_output(e, "loss", loss);
        if (!rlf_expr_is_live(e, 0))
            continue;
        live++;
        double error = gradient_error(w, e, in, 4);
        if (error > 1e-5)
            note("program %d: error %g", i, error);
        worst = error > worst ? error : worst;
    }
    note("%d of %d losses are live", live, n);
    ok(live > n / 2, "most random losses are live");
    near(worst, 0, 1e-5, "gradients of random losses");
}

/* ---- sides not taken ---- */

typedef int build(rlf_expr *e, int x);

static int
one_of(rlf_expr *e, rlf_expr_code code, int a, int b, int c)
{
    return rlf_expr_pointwise(e, code, a, b, c, nowhere);
}

static int
guarded_log(rlf_expr *e, int x)
{
    int zero = rlf_expr_constant(e, 0, nowhere);
    int above = one_of(e, RLF_EXPR_LT, zero, x, -1);
    return one_of(e, RLF_EXPR_SELECT, above, one_of(e, RLF_EXPR_LOG, x, -1, -1),
                  zero);
}

static int
guarded_root(rlf_expr *e, int x)
{
    int zero = rlf_expr_constant(e, 0, nowhere);
    int above = one_of(e, RLF_EXPR_LT, zero, x, -1);
    return one_of(e, RLF_EXPR_SELECT, one_of(e, RLF_EXPR_NOT, above, -1, -1),
                  zero, one_of(e, RLF_EXPR_SQRT, x, -1, -1));
}

static int
capped_exp(rlf_expr *e, int x)
{
    int big = rlf_expr_constant(e, 1000, nowhere);
    int y =
        one_of(e, RLF_EXPR_EXP, one_of(e, RLF_EXPR_MUL, big, x, -1), -1, -1);
    return one_of(e, RLF_EXPR_MIN, y, rlf_expr_constant(e, 2, nowhere), -1);
}

static int
clamped_reciprocal(rlf_expr *e, int x)
{
    int unit = rlf_expr_constant(e, 1, nowhere);
    int y = one_of(
        e, RLF_EXPR_DIV, unit,
        one_of(e, RLF_EXPR_MAX, x, rlf_expr_constant(e, 0, nowhere), -1), -1);
    return one_of(e, RLF_EXPR_CLAMP, y, unit, rlf_expr_constant(e, 3, nowhere));
}

static void
not_taken(world *w)
{
    static const struct {
        build *make;
        const char *name;
        double x[4], gradient[4];
    } cases[] = {
        {guarded_log, "log of 0 not taken", {0, -1, 2, 0.5}, {0, 0, 0.5, 2}},
        {guarded_root, "root of 0 not taken", {0, -1, 4, 1}, {0, 0, 0.25, 0.5}},
        {capped_exp,
         "an infinite exp under a cap",
         {2, 1, 0, -2},
         {0, 0, 1000, 0}},
        {clamped_reciprocal,
         "1 / 0 over a cap",
         {0, -1, 0.5, 4},
         {0, 0, -4, 0}},
    };
    for (size_t i = 0; i < RLF_COUNT(cases); i++) {
        rlf_expr *e = program(w);
        int y = cases[i].make(e, live_input(e, BATCH));
        rlf_expr_add_output(e, "loss", op(e, RLF_EXPR_SUM, 0, y, -1, 0));
        rlf_derivative *d = rlf_expr_derive(e, 0, w->arena);
        rlf_column in = column(w, BATCH, 1, 1);
        for (int k = 0; k < 4; k++)
            in.number[k] = cases[i].x[k];
        rlf_column *out = run_all(w, d->expr, &in);
        double worst = 0;
        for (int k = 0; k < 4; k++) {
            double diff = fabs(out[1].number[k] - cases[i].gradient[k]);
            worst = diff <= worst ? worst : isnan(diff) ? INFINITY : diff;
        }
        near(worst, 0, 1e-9, cases[i].name);
    }
}

/* y[t] = x[t] + 1 / x[t] y[t+1], and with time turned around */
static int
reciprocal_sum(rlf_expr *e, int x, rlf_expr_code code)
{
    int p = one_of(e, RLF_EXPR_DIV, rlf_expr_constant(e, 1, nowhere), x, -1);
    int y = op(e, code, TOKENS, x, p, 0);
    return op(e, RLF_EXPR_SUM, ROLL, y, -1, 0);
}

/* A side not taken is a reduction of what is infinite, or has no derivative. */
static void
not_taken_below(world *w)
{
    static const rlf_expr_code codes[] = {RLF_EXPR_VAR, RLF_EXPR_STD,
                                          RLF_EXPR_DISCOUNT, RLF_EXPR_COMPOUND};
    for (size_t i = 0; i < RLF_COUNT(codes); i++) {
        rlf_expr *e = program(w);
        int x = live_input(e, TOKENS), taken = input(e, ROLL);
        bool spreads = codes[i] == RLF_EXPR_VAR || codes[i] == RLF_EXPR_STD;
        int y = spreads ? op(e, codes[i], ROLL, x, -1, 0)
                        : reciprocal_sum(e, x, codes[i]);
        y = one_of(e, RLF_EXPR_SELECT, taken, y,
                   op(e, RLF_EXPR_SUM, ROLL, x, -1, 0));
        rlf_expr_add_output(e, "loss", op(e, RLF_EXPR_SUM, 0, y, -1, 0));
        rlf_derivative *d = rlf_expr_derive(e, 0, w->arena);
        rlf_column in[2] = {column(w, TOKENS, 1, 2), column(w, ROLL, 0, 0)};
        for (uint32_t r = 0; r < n_rows(w, ROLL); r++)
            for (uint32_t t = 0; t < n_tokens(w, TOKENS, r); t++)
                in[0].number[place_of(w, TOKENS, r, t)] = t % 2 == 0 ? 1
                                                          : spreads  ? INFINITY
                                                                     : 0;
        const rlf_column *out = run_all(w, d->expr, in);
        const double *g = out[d->output_of_input[0]].number;
        bool ones = true;
        for (uint32_t r = 0; r < n_rows(w, ROLL); r++)
            for (uint32_t t = 0; t < n_tokens(w, TOKENS, r); t++)
                ones = ones && g[place_of(w, TOKENS, r, t)] == 1;
        ok(ones, "%s not taken counts for nothing", rlf_expr_text(codes[i]));
    }
}

/* Ties and points without a derivative. */
static void
corners(world *w)
{
    rlf_expr *e = program(w);
    int a = live_input(e, BATCH), b = live_input(e, BATCH);
    int three = rlf_expr_constant(e, 3, nowhere);
    int y = one_of(e, RLF_EXPR_MIN, a, b, -1);
    y = one_of(e, RLF_EXPR_ADD, y, one_of(e, RLF_EXPR_MAX, a, b, -1), -1);
    int c = one_of(e, RLF_EXPR_CLAMP, a, b, three);
    y = one_of(e, RLF_EXPR_ADD, y, c, -1);
    int zero = one_of(e, RLF_EXPR_SUB, a, b, -1);
    y = one_of(e, RLF_EXPR_ADD, y, one_of(e, RLF_EXPR_ABS, zero, -1, -1), -1);
    rlf_expr_add_output(e, "loss", op(e, RLF_EXPR_SUM, 0, y, -1, 0));
    rlf_derivative *d = rlf_expr_derive(e, 0, w->arena);
    rlf_column in[2] = {column(w, BATCH, 1, 2), column(w, BATCH, 1, 2)};
    for (uint32_t i = 0; i < n_rows(w, BATCH); i++)
        in[1].number[i] = in[0].number[i];
    rlf_column *out = run_all(w, d->expr, in);
    near(out[1].number[0], 3, 0, "ties of min, max, clamp derive a");
    near(out[2].number[0], 0, 0, "and not b; abs has 0 at 0");

    e = program(w); /* sqrt(abs(x)): infinity times 0 */
    a = live_input(e, BATCH);
    y = one_of(e, RLF_EXPR_SQRT, one_of(e, RLF_EXPR_ABS, a, -1, -1), -1, -1);
    rlf_expr_add_output(e, "loss", op(e, RLF_EXPR_SUM, 0, y, -1, 0));
    d = rlf_expr_derive(e, 0, w->arena);
    rlf_column root = column(w, BATCH, 1, 2);
    for (uint32_t i = 0; i < n_rows(w, BATCH); i++)
        root.number[i] = i == 0 ? 0 : i % 2 ? 4 : -4;
    out = run_all(w, d->expr, &root);
    const double *slope = out[d->output_of_input[0]].number;
    ok(isnan(slope[0]) && slope[1] == 0.25 && slope[2] == -0.25,
       "an infinite derivative of its value is not a number at 0");

    e = program(w);
    a = live_input(e, ROLL);
    rlf_expr_add_output(
        e, "loss",
        op(e, RLF_EXPR_SUM, 0, op(e, RLF_EXPR_STD, BATCH, a, -1, 0), -1, 0));
    rlf_expr_add_output(e, "std", op(e, RLF_EXPR_STD, BATCH, a, -1, 0));
    rlf_expr_add_output(e, "var", op(e, RLF_EXPR_VAR, 0, a, -1, 0));
    d = rlf_expr_derive(e, 0, w->arena);
    rlf_column same = column(w, ROLL, 1, 2);
    for (uint32_t i = 0; i < n_rows(w, ROLL); i++)
        same.number[i] = 0.1; /* 0.1 + 0.1 + 0.1 is not 3 * 0.1 */
    out = run_all(w, d->expr, &same);
    bool none = true, flat = true;
    for (uint32_t i = 0; i < n_rows(w, ROLL); i++)
        none = none && out[3].number[i] == 0;
    for (uint32_t i = 0; i < n_rows(w, BATCH); i++)
        flat = flat && out[1].number[i] == 0;
    ok(flat && out[2].number[0] == 0,
       "std and var of equal values are exactly 0");
    ok(none, "and so are their derivatives");
}

static void
liveness(world *w)
{
    rlf_expr *e = program(w);
    int x = live_input(e, TOKENS);
    rlf_expr_add_output(e, "a", op(e, RLF_EXPR_COUNT, 0, x, -1, 0));
    int sg = one_of(e, RLF_EXPR_SG, x, -1, -1);
    rlf_expr_add_output(e, "b", op(e, RLF_EXPR_MEAN, 0, sg, -1, 0));
    rlf_expr_add_output(e, "c", op(e, RLF_EXPR_MEAN, 0, x, -1, 0));
    ok(!rlf_expr_is_live(e, 0), "a count is not live");
    ok(!rlf_expr_is_live(e, 1), "sg is not live");
    ok(rlf_expr_is_live(e, 2), "a mean is");
    int three = rlf_expr_constant(e, 3, nowhere);
    const bool *depends = rlf_expr_depends(e, w->arena);
    ok(depends[e->outputs.data[1].op], "sg depends on one all the same");
    ok(!depends[three], "a constant does not");
    is_int((int)rlf_expr_reach(e, 1), RLF_REACH_BATCH,
           "but sg looks at live values");
    rlf_derivative *d = rlf_expr_derive(e, 1, w->arena);
    rlf_column in = column(w, TOKENS, 1, 2);
    rlf_column *out = run_all(w, d->expr, &in);
    double zeros[64] = {0};
    near(difference(w, TOKENS, out[d->output_of_input[0]].number, zeros), 0, 0,
         "the gradient of what is not live is 0");
    is_int((int)rlf_expr_derive(e, 2, w->arena)->reach, RLF_REACH_POINT,
           "the gradient of a mean looks nowhere");
}

int
main(void)
{
    world w;
    const uint32_t sizes[] = {3, 1, 0, 2, 4};
    world_make(&w, sizes, 5, 0x15, 6);
    each_operation(&w);
    random_losses(&w, 150);
    not_taken(&w);
    not_taken_below(&w);
    corners(&w);
    liveness(&w);
    rlf_arena_free(w.arena);
    return done();
}
