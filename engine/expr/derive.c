/* Reverse-mode derivatives of expression programs.
 *
 * The program is copied; then its operations are walked from the last to the
 * first, and the rule of each adds to the adjoints of its arguments (the
 * adjoint of an operation is the derivative of the loss with respect to it, an
 * operation of the program itself, on the same domain). The adjoints of the
 * live inputs become outputs.
 *
 * A side that was not taken (of a select, a min, a clamp) must count for
 * nothing even where it is infinite. Its adjoint is an exact 0, but further
 * down the chain 0 times an infinite partial derivative would be NaN. So an
 * adjoint that may be such a 0 is "guarded": products with it are written
 * select(g, g * p, 0). */
#include "engine/expr/expr.h"

#include "engine/base/vec.h"

typedef struct walk {
    rlf_expr *expr;
    bool *live;    /* per operation: depends on a live input */
    int *adjoint;  /* per operation: -1 none yet */
    bool *guarded; /* per operation: its adjoint may be a 0 not taken */
    int op;        /* the one whose rule runs, and of it: */
    int g;         /* adjoint */
    int a, b, c;   /* arguments */
    int domain;
    rlf_span span;
} walk;

/* ---- making operations ---- */

static int
make(walk *w, rlf_expr_code code, int a, int b, int c)
{
    return rlf_expr_pointwise(w->expr, code, a, b, c, w->span);
}

static int
number(walk *w, double x)
{
    return rlf_expr_constant(w->expr, x, w->span);
}

static int
made(walk *w, rlf_expr_code code, int domain, int a, int b, int over)
{
    return rlf_expr_add(w->expr, (rlf_expr_op){.code = code,
                                               .domain = domain,
                                               .arg = {a, b, -1},
                                               .over = over,
                                               .span = w->span});
}

static int
domain_of(const walk *w, int op)
{
    return w->expr->ops.data[op].domain;
}

/* `y`, a multiple of g: 0 where g is a guarded 0. */
static int
kept(walk *w, int y)
{
    if (!w->guarded[w->op])
        return y;
    return make(w, RLF_EXPR_PICK, w->g, y, number(w, 0));
}

/* g * p, or g / p: 0 where g is a guarded 0. */
static int
chain(walk *w, rlf_expr_code code, int p)
{
    return kept(w, make(w, code, w->g, p, -1));
}

static int
times(walk *w, int p)
{
    return chain(w, RLF_EXPR_MUL, p);
}

static int
negative(walk *w, int x)
{
    return make(w, RLF_EXPR_NEG, x, -1, -1);
}

/* `x` becomes part of the adjoint of `to`. */
static void
give(walk *w, int to, int x)
{
    if (!w->live[to])
        return;
    x = rlf_expr_down(w->expr, x, domain_of(w, to));
    if (w->adjoint[to] >= 0)
        x = make(w, RLF_EXPR_ADD, w->adjoint[to], x, -1);
    w->adjoint[to] = x;
    w->guarded[to] = w->guarded[to] || w->guarded[w->op];
}

/* The same where `condition` is not 0 (or, `inverted`, where it is). */
static void
give_where(walk *w, int to, int condition, bool inverted, int x)
{
    if (!w->live[to])
        return;
    int zero = number(w, 0);
    give(w, to,
         make(w, RLF_EXPR_PICK, condition, inverted ? zero : x,
              inverted ? x : zero));
    w->guarded[to] = true;
}

/* 1 at the last (first) token of each row, 0 at the others. */
static int
at_end(walk *w, rlf_expr_code shift, int domain)
{
    int zero = rlf_expr_down(w->expr, number(w, 0), domain);
    int one = rlf_expr_down(w->expr, number(w, 1), domain);
    return made(w, shift, domain, zero, one, 0);
}

static int
shifted(walk *w, rlf_expr_code shift, int x)
{
    int zero = rlf_expr_down(w->expr, number(w, 0), w->domain);
    return made(w, shift, w->domain, x, zero, 0);
}

/* ---- the rules: one for each operation that is DERIVED in op.def ---- */

static void
down(walk *w)
{
    give(w, w->a, made(w, RLF_EXPR_SUM, domain_of(w, w->a), w->g, -1, 0));
}

static void
neg(walk *w)
{
    give(w, w->a, negative(w, w->g));
}

static void
add(walk *w)
{
    give(w, w->a, w->g);
    give(w, w->b, w->g);
}

static void
sub(walk *w)
{
    give(w, w->a, w->g);
    give(w, w->b, negative(w, w->g));
}

static void
mul(walk *w)
{
    if (w->live[w->a])
        give(w, w->a, times(w, w->b));
    if (w->live[w->b])
        give(w, w->b, times(w, w->a));
}

static void
quotient(walk *w)
{
    if (w->live[w->a])
        give(w, w->a, chain(w, RLF_EXPR_DIV, w->b));
    if (w->live[w->b])
        give(w, w->b,
             negative(w, times(w, make(w, RLF_EXPR_DIV, w->op, w->b, -1))));
}

static void
modulo(walk *w)
{
    give(w, w->a, w->g);
    if (w->live[w->b]) {
        int times_in = make(w, RLF_EXPR_FLOOR,
                            make(w, RLF_EXPR_DIV, w->a, w->b, -1), -1, -1);
        give(w, w->b, negative(w, times(w, times_in)));
    }
}

/* d a^b = b a^(b-1) da + a^b log a db; 0 da for b = 0, 0 db for a = 0. */
static void
power(walk *w)
{
    int zero = number(w, 0);
    if (w->live[w->a]) {
        int less = make(w, RLF_EXPR_SUB, w->b, number(w, 1), -1);
        int p = make(w, RLF_EXPR_MUL, w->b,
                     make(w, RLF_EXPR_POW, w->a, less, -1), -1);
        int none = make(w, RLF_EXPR_EQ, w->b, zero, -1);
        give(w, w->a, times(w, make(w, RLF_EXPR_PICK, none, zero, p)));
    }
    if (w->live[w->b]) {
        int p = make(w, RLF_EXPR_MUL, w->op,
                     make(w, RLF_EXPR_LOG, w->a, -1, -1), -1);
        int none = make(w, RLF_EXPR_EQ, w->a, zero, -1);
        give(w, w->b, times(w, make(w, RLF_EXPR_PICK, none, zero, p)));
    }
}

static void
select_side(walk *w)
{
    give_where(w, w->b, w->a, false, w->g);
    give_where(w, w->c, w->a, true, w->g);
}

static void
exponential(walk *w)
{
    give(w, w->a, times(w, w->op));
}

static void
logarithm(walk *w)
{
    give(w, w->a, chain(w, RLF_EXPR_DIV, w->a));
}

static void
square_root(walk *w)
{
    int twice = make(w, RLF_EXPR_MUL, number(w, 2), w->op, -1);
    give(w, w->a, chain(w, RLF_EXPR_DIV, twice));
}

static void
absolute(walk *w)
{
    int zero = number(w, 0);
    int above = make(w, RLF_EXPR_LT, zero, w->a, -1);
    int below = make(w, RLF_EXPR_LT, w->a, zero, -1);
    int sign = make(w, RLF_EXPR_PICK, above, number(w, 1),
                    make(w, RLF_EXPR_PICK, below, number(w, -1), zero));
    give(w, w->a, times(w, sign));
}

static void
smaller(walk *w)
{
    int first = make(w, RLF_EXPR_LE, w->a, w->b, -1);
    give_where(w, w->a, first, false, w->g);
    give_where(w, w->b, first, true, w->g);
}

static void
larger(walk *w)
{
    int first = make(w, RLF_EXPR_LE, w->b, w->a, -1);
    give_where(w, w->a, first, false, w->g);
    give_where(w, w->b, first, true, w->g);
}

static void
clamp(walk *w)
{
    int zero = number(w, 0);
    int low = make(w, RLF_EXPR_LT, w->a, w->b, -1);
    int raised = make(w, RLF_EXPR_PICK, low, w->b, w->a);
    int high = make(w, RLF_EXPR_LT, w->c, raised, -1);
    int inner = make(w, RLF_EXPR_PICK, high, zero, w->g);
    give_where(w, w->a, low, true, inner);
    give_where(w, w->b, low, false, inner);
    give_where(w, w->c, high, false, w->g);
}

static void
sigmoid(walk *w)
{
    int rest = make(w, RLF_EXPR_SUB, number(w, 1), w->op, -1);
    give(w, w->a, times(w, make(w, RLF_EXPR_MUL, w->op, rest, -1)));
}

static void
log_sigmoid(walk *w)
{
    int p = make(w, RLF_EXPR_SIGMOID, negative(w, w->a), -1, -1);
    give(w, w->a, times(w, p));
}

static void
tangent(walk *w)
{
    int square = make(w, RLF_EXPR_MUL, w->op, w->op, -1);
    give(w, w->a, times(w, make(w, RLF_EXPR_SUB, number(w, 1), square, -1)));
}

/* ---- reductions ---- */

static int
count(walk *w)
{
    return made(w, RLF_EXPR_COUNT, w->domain, w->a, -1, 0);
}

static void
sum(walk *w)
{
    give(w, w->a, w->g);
}

static void
mean(walk *w)
{
    give(w, w->a, make(w, RLF_EXPR_DIV, w->g, count(w), -1));
}

/* scale * (a - mean), where scale lives where the reduction does. */
static void
give_deviation(walk *w, int scale)
{
    int center = made(w, RLF_EXPR_MEAN, w->domain, w->a, -1, 0);
    int away = make(w, RLF_EXPR_SUB, w->a, center, -1);
    give(w, w->a, kept(w, make(w, RLF_EXPR_MUL, scale, away, -1)));
}

/* d var = 2 / (n - 1) (a - mean) da; one value has none. */
static void
variance(walk *w)
{
    int zero = number(w, 0), one = number(w, 1), n = count(w);
    int rest = make(w, RLF_EXPR_SUB, n, one, -1);
    int twice = make(w, RLF_EXPR_MUL, number(w, 2), w->g, -1);
    int scale = make(w, RLF_EXPR_DIV, twice, rest, -1);
    int several = make(w, RLF_EXPR_LT, one, n, -1);
    give_deviation(w, make(w, RLF_EXPR_PICK, several, scale, zero));
}

/* d std = 1 / ((n - 1) std) (a - mean) da; 0 where all are the same. */
static void
deviation(walk *w)
{
    int zero = number(w, 0);
    int rest = make(w, RLF_EXPR_SUB, count(w), number(w, 1), -1);
    int under = make(w, RLF_EXPR_MUL, rest, w->op, -1);
    int scale = make(w, RLF_EXPR_DIV, w->g, under, -1);
    int spread = make(w, RLF_EXPR_LT, zero, w->op, -1);
    give_deviation(w, make(w, RLF_EXPR_PICK, spread, scale, zero));
}

/* The first that attains it: the one of rank 0. */
static void
give_first(walk *w, int ranked)
{
    int rank =
        made(w, RLF_EXPR_RANK, domain_of(w, w->a), ranked, -1, w->domain);
    give_where(w, w->a, rank, true, w->g);
}

static void
most(walk *w)
{
    give_first(w, w->a);
}

static void
least(walk *w)
{
    give_first(w, negative(w, w->a));
}

static void
rotate(walk *w)
{
    int over = w->expr->ops.data[w->op].over;
    give(w, w->a, made(w, RLF_EXPR_UNROTATE, w->domain, w->g, -1, over));
}

static void
unrotate(walk *w)
{
    int over = w->expr->ops.data[w->op].over;
    give(w, w->a, made(w, RLF_EXPR_ROTATE, w->domain, w->g, -1, over));
}

/* ---- scans ---- */

static int
ones_where(walk *w, int x)
{
    return make(w, RLF_EXPR_PICK, x, number(w, 1), number(w, 0));
}

/* The factors `p` of a running sum of g in direction `scan`: 0 where the sum
 * of the tokens before is a guarded 0. `shift` looks at the token before. */
static int
factors(walk *w, rlf_expr_code scan, rlf_expr_code shift, int p)
{
    if (!w->guarded[w->op])
        return p;
    int counts =
        made(w, scan, w->domain, ones_where(w, w->g), ones_where(w, p), 0);
    return make(w, RLF_EXPR_PICK, shifted(w, shift, counts), p, number(w, 0));
}

/* DISCOUNT, y[t] = a[t] + b[t] y[t+1]: with u[t] = g[t] + b[t-1] u[t-1] (that
 * is dloss/dy through all earlier tokens), da = u and db = u[t] y[t+1].
 * COMPOUND is the same with time turned around. `inverse` runs the other way;
 * `before` and `after` are the operations that shift by a token. */
static void
recurrence(walk *w, rlf_expr_code inverse, rlf_expr_code before,
           rlf_expr_code after)
{
    int back = factors(w, inverse, before, shifted(w, before, w->b));
    int u = made(w, inverse, w->domain, w->g, back, 0);
    give(w, w->a, u);
    if (w->live[w->b]) {
        w->g = u;
        give(w, w->b, times(w, shifted(w, after, w->op)));
    }
}

static void
discount(walk *w)
{
    recurrence(w, RLF_EXPR_COMPOUND, RLF_EXPR_PREV, RLF_EXPR_NEXT);
}

static void
compound(walk *w)
{
    recurrence(w, RLF_EXPR_DISCOUNT, RLF_EXPR_NEXT, RLF_EXPR_PREV);
}

static void
cumsum(walk *w)
{
    int one = rlf_expr_down(w->expr, number(w, 1), w->domain);
    give(w, w->a, made(w, RLF_EXPR_DISCOUNT, w->domain, w->g, one, 0));
}

static void
next(walk *w)
{
    give(w, w->a, shifted(w, RLF_EXPR_PREV, w->g));
    give_where(w, w->b, at_end(w, RLF_EXPR_NEXT, w->domain), false, w->g);
}

static void
prev(walk *w)
{
    give(w, w->a, shifted(w, RLF_EXPR_NEXT, w->g));
    give_where(w, w->b, at_end(w, RLF_EXPR_PREV, w->domain), false, w->g);
}

static void
at_last(walk *w)
{
    int last = make(w, RLF_EXPR_PICK, at_end(w, RLF_EXPR_NEXT, w->domain), w->g,
                    number(w, 0));
    give(w, w->a, made(w, RLF_EXPR_SUM, domain_of(w, w->a), last, -1, 0));
}

/* `carries` has bit k if argument k has a derivative. */
static const struct {
    void (*derive)(walk *w);
    unsigned carries;
} rules[RLF_EXPR_CODES] = {
#define CONSTANT \
    {            \
        NULL, 0  \
    }
#define DERIVED(rule, arguments) \
    {                            \
        rule, arguments          \
    }
#define EXPR(name, arity, derivative, text, doc) [RLF_EXPR_##name] = derivative,
#include "engine/expr/op.def"
#undef EXPR
};

/* ---- the walk ---- */

/* Per operation: does the derivative reach a live input through it? */
static bool *
find_live(const rlf_expr *expr, rlf_arena *arena)
{
    bool *live = RLF_NEW_ARRAY(arena, bool, expr->ops.count + 1);
    for (size_t i = 0; i < expr->ops.count; i++) {
        const rlf_expr_op *op = &expr->ops.data[i];
        if (op->code == RLF_EXPR_INPUT)
            live[i] = expr->inputs.data[op->index].live;
        for (int k = 0; k < rlf_expr_arity(op->code); k++)
            if (rules[op->code].carries >> k & 1 && live[op->arg[k]])
                live[i] = !op->text;
    }
    return live;
}

bool
rlf_expr_is_live(const rlf_expr *expr, int output)
{
    rlf_arena *arena = rlf_arena_new();
    bool live = find_live(expr, arena)[expr->outputs.data[output].op];
    rlf_arena_free(arena);
    return live;
}

static void
walk_back(walk *w, int loss)
{
    int last = w->expr->outputs.data[loss].op;
    RLF_ASSERT(domain_of(w, last) == 0);
    w->span = w->expr->ops.data[last].span;
    if (w->live[last])
        w->adjoint[last] = number(w, 1);
    for (int i = last; i >= 0; i--) {
        const rlf_expr_op *op = &w->expr->ops.data[i];
        if (w->adjoint[i] < 0 || !rules[op->code].derive)
            continue;
        w->op = i;
        w->g = w->adjoint[i];
        w->a = op->arg[0];
        w->b = op->arg[1];
        w->c = op->arg[2];
        w->domain = op->domain;
        w->span = op->span;
        rules[op->code].derive(w);
    }
}

rlf_derivative *
rlf_expr_derive(const rlf_expr *given, int loss, rlf_arena *arena)
{
    int n = (int)given->ops.count;
    walk w = {.expr = rlf_expr_copy(given, arena),
              .live = find_live(given, arena),
              .adjoint = RLF_NEW_ARRAY(arena, int, n + 1),
              .guarded = RLF_NEW_ARRAY(arena, bool, n + 1)};
    for (int i = 0; i < n; i++)
        w.adjoint[i] = -1;
    walk_back(&w, loss);

    rlf_expr *expr = w.expr;
    rlf_derivative *out = RLF_NEW(arena, rlf_derivative);
    out->output_of_input = RLF_NEW_ARRAY(arena, int, expr->inputs.count + 1);
    out->guarded = RLF_NEW_ARRAY(arena, bool, expr->inputs.count + 1);
    int *gradient = RLF_NEW_ARRAY(arena, int, expr->inputs.count + 1);
    for (size_t i = 0; i < expr->inputs.count; i++)
        gradient[i] = -1;
    for (int i = 0; i < n; i++)
        if (expr->ops.data[i].code == RLF_EXPR_INPUT) {
            gradient[expr->ops.data[i].index] = w.adjoint[i];
            out->guarded[expr->ops.data[i].index] = w.guarded[i];
        }
    for (size_t i = 0; i < expr->inputs.count; i++) {
        const rlf_expr_input in = expr->inputs.data[i];
        out->output_of_input[i] = -1;
        if (!in.live)
            continue;
        if (gradient[i] < 0)
            gradient[i] = number(&w, 0);
        gradient[i] = rlf_expr_down(expr, gradient[i], in.domain);
        out->output_of_input[i] = rlf_expr_add_output(
            expr, rlf_arena_printf(arena, "d %s", in.name), gradient[i]);
    }
    out->expr = expr;
    out->reach = RLF_REACH_POINT;
    for (size_t i = given->outputs.count; i < expr->outputs.count; i++) {
        rlf_reach reach = rlf_expr_reach(expr, (int)i);
        out->reach = reach > out->reach ? reach : out->reach;
    }
    return out;
}
