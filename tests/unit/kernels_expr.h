/* The parts that tests of expression programs share: a small world of ragged
 * sets, and a reference that computes a program index by index with libm,
 * knowing nothing of stages, rows or blocks. */
#ifndef RLF_TESTS_KERNELS_EXPR_H
#define RLF_TESTS_KERNELS_EXPR_H

#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "kernels/expr.h"
#include "tests/tap.h"

#define UNUSED __attribute__((unused))

/* Domains: a batch of prompts; roll: samples of them; mini: a part of roll with
 * its own prompts `part`; two texts of each prompt of the batch (pairs). */
enum {
    BATCH = 1,
    ROLL,
    TOKENS,
    PART,
    MINI,
    MINI_TOKENS,
    CHOSEN,
    REJECTED,
    DOMAINS
};

typedef struct world {
    rlf_arena *arena;
    rlf_domains domains;
    rlf_space space[DOMAINS];
    const rlf_space *by_domain[DOMAINS];
    uint64_t draws;
} world;

UNUSED static double
draw(world *w)
{
    rlf_random_key key = {.seed = 7, .purpose = 99};
    return rlf_draw_uniform(&key, w->draws++);
}

/* Uniform in [a, b). */
UNUSED static double
between(world *w, double a, double b)
{
    return a + (b - a) * draw(w);
}

static int
add_domain(world *w, rlf_domain_kind kind, const char *name, int owner, int up)
{
    rlf_domain d = {.kind = kind, .name = name, .owner = owner, .up = {up}};
    d.n_up = up > 0;
    return rlf_domains_add(&w->domains, d);
}

static void
world_domains(world *w)
{
    w->arena = rlf_arena_new();
    rlf_domains_init(&w->domains, w->arena);
    add_domain(w, RLF_DOMAIN_ROWS, "batch", -1, 0);
    add_domain(w, RLF_DOMAIN_ROWS, "roll", BATCH, 0);
    add_domain(w, RLF_DOMAIN_TOKENS, "tokens of roll", ROLL, 0);
    add_domain(w, RLF_DOMAIN_ROWS, "part", -1, BATCH);
    add_domain(w, RLF_DOMAIN_ROWS, "mini", PART, ROLL);
    add_domain(w, RLF_DOMAIN_TOKENS, "tokens of mini", MINI, TOKENS);
    add_domain(w, RLF_DOMAIN_TOKENS, "tokens of chosen", BATCH, 0);
    add_domain(w, RLF_DOMAIN_TOKENS, "tokens of rejected", BATCH, 0);
}

static void
connect(world *w, int domain, int to, const uint32_t *index)
{
    const rlf_domain *d = rlf_domains_get(&w->domains, domain);
    for (int i = 0; i < d->n_up; i++)
        if (d->up[i] == to)
            w->space[domain].up[i] = (rlf_space_up){&w->space[to], index};
}

static void
make_rows(world *w, int domain, uint32_t count)
{
    rlf_space *s = &w->space[domain];
    uint64_t *identity = RLF_NEW_ARRAY(w->arena, uint64_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        identity[i] = (uint64_t)domain * 1000 + i;
    *s = (rlf_space){.domain = domain, .count = count, .identity = identity};
    w->by_domain[domain] = s;
}

/* Lengths 1 .. longest, with gaps between the rows. */
static void
make_tokens(world *w, int domain, int owner, uint32_t longest)
{
    rlf_space *s = &w->space[domain];
    uint32_t count = w->space[owner].count;
    uint64_t *offset = RLF_NEW_ARRAY(w->arena, uint64_t, count + 1);
    uint32_t *length = RLF_NEW_ARRAY(w->arena, uint32_t, count + 1);
    uint64_t at = 3;
    for (uint32_t i = 0; i < count; i++) {
        length[i] = i == 1 ? 1 : (uint32_t)between(w, 1, longest + 1);
        offset[i] = at;
        at += length[i] + i % 3;
    }
    *s = (rlf_space){.domain = domain,
                     .count = count,
                     .offset = offset,
                     .length = length,
                     .extent = at};
    connect(w, domain, owner, NULL);
    w->by_domain[domain] = s;
}

/* Group sizes are `sizes`; mini takes the groups whose bit is in `kept`. */
UNUSED static void
world_make(world *w, const uint32_t *sizes, uint32_t n_groups, unsigned kept,
           uint32_t longest)
{
    *w = (world){0};
    world_domains(w);
    uint32_t n = 0, n_mini = 0, n_part = 0;
    for (uint32_t g = 0; g < n_groups; g++)
        n += sizes[g];
    make_rows(w, BATCH, n_groups);
    make_rows(w, ROLL, n);
    uint32_t *group = RLF_NEW_ARRAY(w->arena, uint32_t, n + 1);
    uint32_t *part = RLF_NEW_ARRAY(w->arena, uint32_t, n_groups + 1);
    uint32_t *of_part = RLF_NEW_ARRAY(w->arena, uint32_t, n + 1);
    uint32_t *of_roll = RLF_NEW_ARRAY(w->arena, uint32_t, n + 1);
    for (uint32_t g = 0, row = 0; g < n_groups; g++) {
        for (uint32_t k = 0; k < sizes[g]; k++, row++) {
            group[row] = g;
            if (kept >> g % 32 & 1) {
                of_part[n_mini] = n_part;
                of_roll[n_mini++] = row;
            }
        }
        if (kept >> g % 32 & 1)
            part[n_part++] = g;
    }
    connect(w, ROLL, BATCH, group);
    make_tokens(w, TOKENS, ROLL, longest);
    make_rows(w, PART, n_part);
    connect(w, PART, BATCH, part);
    make_rows(w, MINI, n_mini);
    connect(w, MINI, PART, of_part);
    connect(w, MINI, ROLL, of_roll);
    make_tokens(w, MINI_TOKENS, MINI, 1);
    connect(w, MINI_TOKENS, TOKENS, NULL);
    rlf_space *mt = &w->space[MINI_TOKENS];
    uint64_t at = 0;
    for (uint32_t i = 0; i < n_mini; i++) {
        ((uint32_t *)mt->length)[i] = w->space[TOKENS].length[of_roll[i]];
        ((uint64_t *)mt->offset)[i] = at;
        at += mt->length[i];
    }
    mt->extent = at;
    make_tokens(w, CHOSEN, BATCH, longest);
    make_tokens(w, REJECTED, BATCH, longest);
}

static bool
is_tokens(int domain)
{
    return domain == TOKENS || domain == MINI_TOKENS || domain == CHOSEN ||
           domain == REJECTED;
}

static int
rows_of(int domain)
{
    return domain == TOKENS        ? ROLL
           : domain == MINI_TOKENS ? MINI
           : is_tokens(domain)     ? BATCH
                                   : domain;
}

static uint32_t
n_rows(const world *w, int domain)
{
    return domain ? w->space[rows_of(domain)].count : 1;
}

static uint32_t
n_tokens(const world *w, int domain, uint32_t row)
{
    return is_tokens(domain) ? w->space[domain].length[row] : 1;
}

static uint64_t
place_of(const world *w, int domain, uint32_t row, uint32_t t)
{
    return is_tokens(domain) ? w->space[domain].offset[row] + t : row;
}

static uint64_t
extent_of(const world *w, int domain)
{
    return is_tokens(domain) ? w->space[domain].extent : n_rows(w, domain);
}

/* A column with numbers in [a, b) and NaN in its gaps. */
UNUSED static rlf_column
column(world *w, int domain, double a, double b)
{
    uint64_t n = extent_of(w, domain);
    double *x = RLF_NEW_ARRAY(w->arena, double, n + 1);
    for (uint64_t i = 0; i < n; i++)
        x[i] = NAN;
    for (uint32_t r = 0; r < n_rows(w, domain); r++)
        for (uint32_t t = 0; t < n_tokens(w, domain, r); t++)
            x[place_of(w, domain, r, t)] = between(w, a, b);
    return (rlf_column){.space = domain ? &w->space[domain] : NULL,
                        .number = x};
}

/* ---- the reference ---- */

typedef struct reference {
    const world *w;
    const rlf_expr *e;
    const rlf_column *in;
    double **value;  /* per operation, NULL: not computed yet */
    uint64_t *found; /* room for the places of what one value is made of */
} reference;

static double *compute(reference *r, int op);

/* Row of domain `to` that row `row` of `from` belongs to. Written out: the
 * edges of this world. */
static uint32_t
row_above(const world *w, int from, uint32_t row, int to)
{
    from = rows_of(from);
    to = rows_of(to);
    if (to == 0 || from == to)
        return to == 0 ? 0 : row;
    const rlf_space *s = &w->space[from];
    for (int i = 0; i < rlf_domains_get(&w->domains, from)->n_up; i++) {
        int up = s->up[i].to->domain;
        if (up == to || (up == ROLL && to == BATCH) ||
            (up == PART && to == BATCH))
            return row_above(w, up, s->up[i].index[row], to);
    }
    bail("no way from %d to %d", from, to);
    return 0;
}

static double
libm_point(rlf_expr_code code, double a, double b, double c)
{
    switch (code) {
    case RLF_EXPR_NEG:
        return -a;
    case RLF_EXPR_ADD:
        return a + b;
    case RLF_EXPR_SUB:
        return a - b;
    case RLF_EXPR_MUL:
        return a * b;
    case RLF_EXPR_DIV:
        return a / b;
    case RLF_EXPR_MOD:
        return a - b * floor(a / b);
    case RLF_EXPR_POW:
        return pow(a, b);
    case RLF_EXPR_LT:
        return a < b;
    case RLF_EXPR_LE:
        return a <= b;
    case RLF_EXPR_EQ:
        return a == b;
    case RLF_EXPR_NE:
        return a != b;
    case RLF_EXPR_AND:
        return a != 0 && b != 0;
    case RLF_EXPR_OR:
        return a != 0 || b != 0;
    case RLF_EXPR_NOT:
        return a == 0;
    case RLF_EXPR_SELECT:
    case RLF_EXPR_PICK:
        return a != 0 ? b : c;
    case RLF_EXPR_EXP:
        return exp(a);
    case RLF_EXPR_LOG:
        return log(a);
    case RLF_EXPR_SQRT:
        return sqrt(a);
    case RLF_EXPR_ABS:
        return fabs(a);
    case RLF_EXPR_MIN:
        return isnan(a) || isnan(b) ? NAN : fmin(a, b);
    case RLF_EXPR_MAX:
        return isnan(a) || isnan(b) ? NAN : fmax(a, b);
    case RLF_EXPR_CLAMP:
        return b > c ? NAN : fmin(fmax(a, b), c);
    case RLF_EXPR_FLOOR:
        return floor(a);
    case RLF_EXPR_SIGMOID:
        return 1 / (1 + exp(-a));
    case RLF_EXPR_LOG_SIGMOID:
        return -log1p(exp(-a));
    case RLF_EXPR_TANH:
        return tanh(a);
    case RLF_EXPR_SG:
        return a;
    default:
        bail("%s has no oracle in libm_point of tests/unit/kernels_expr.h",
             rlf_expr_text(code));
        return 0;
    }
}

/* All values of `below` that belong to (row, t) of `above`, in index order;
 * their places in out. */
static uint64_t
gather(const world *w, int below, int above, uint32_t row, uint32_t t,
       uint64_t *out)
{
    uint64_t n = 0;
    for (uint32_t r = 0; r < n_rows(w, below); r++) {
        if (row_above(w, below, r, above) != row)
            continue;
        for (uint32_t u = 0; u < n_tokens(w, below, r); u++)
            if (!is_tokens(above) || u == t)
                out[n++] = place_of(w, below, r, u);
    }
    return n;
}

static double
reduce(rlf_expr_code code, const double *x, const uint64_t *at, uint64_t n)
{
    double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
    for (uint64_t i = 0; i < n; i++) {
        sum += x[at[i]];
        least = fmin(least, x[at[i]]);
        most = fmax(most, x[at[i]]);
    }
    double mean = n ? sum / (double)n : 0;
    for (uint64_t i = 0; i < n; i++)
        squares += (x[at[i]] - mean) * (x[at[i]] - mean);
    double var = n > 1 ? squares / (double)(n - 1) : 0;
    switch (code) {
    case RLF_EXPR_SUM:
        return sum;
    case RLF_EXPR_MEAN:
        return mean;
    case RLF_EXPR_VAR:
        return var;
    case RLF_EXPR_STD:
        return sqrt(var);
    case RLF_EXPR_LEAST:
        return n ? least : (double)NAN;
    case RLF_EXPR_MOST:
        return n ? most : (double)NAN;
    default:
        return (double)n;
    }
}

static double
grouped(rlf_expr_code code, const double *x, const uint64_t *at, uint64_t n,
        uint64_t me)
{
    uint64_t i = 0, rank = 0;
    while (at[i] != me)
        i++;
    for (uint64_t k = 0; k < n; k++)
        rank += x[at[k]] > x[me] || (x[at[k]] == x[me] && k < i);
    return code == RLF_EXPR_RANK     ? (double)rank
           : code == RLF_EXPR_ROTATE ? x[at[(i + 1) % n]]
                                     : x[at[(i + n - 1) % n]];
}

static double
scanned(rlf_expr_code code, const double *a, const double *b, const double *y,
        uint64_t at, uint32_t t, uint32_t n)
{
    switch (code) {
    case RLF_EXPR_DISCOUNT:
        return t + 1 < n ? a[at] + b[at] * y[at + 1] : a[at];
    case RLF_EXPR_COMPOUND:
        return t > 0 ? a[at] + b[at] * y[at - 1] : a[at];
    case RLF_EXPR_CUMSUM:
        return t > 0 ? a[at] + y[at - 1] : a[at];
    case RLF_EXPR_NEXT:
        return t + 1 < n ? a[at + 1] : b[at];
    default:
        return t > 0 ? a[at - 1] : b[at];
    }
}

static double
one_value(reference *r, const rlf_expr_op *op, double *const v[3],
          const double *y, uint32_t row, uint32_t t)
{
    const world *w = r->w;
    uint64_t me = place_of(w, op->domain, row, t);
    uint32_t n = n_tokens(w, op->domain, row);
    uint64_t *at = r->found, many = 0;
    int from = op->arg[0] < 0 ? 0 : r->e->ops.data[op->arg[0]].domain;
    switch (op->code) {
    case RLF_EXPR_CONST:
        return op->constant;
    case RLF_EXPR_DOWN:
        return v[0][place_of(w, from, row_above(w, op->domain, row, from), t)];
    case RLF_EXPR_DISCOUNT:
    case RLF_EXPR_COMPOUND:
    case RLF_EXPR_CUMSUM:
    case RLF_EXPR_NEXT:
    case RLF_EXPR_PREV:
        return scanned(op->code, v[0], v[1], y, me, t, n);
    case RLF_EXPR_AT_LAST:
        return t + 1 == n ? v[0][row] : 0;
    case RLF_EXPR_RANK:
    case RLF_EXPR_ROTATE:
    case RLF_EXPR_UNROTATE:
        many =
            gather(w, from, op->over, row_above(w, from, row, op->over), t, at);
        break;
    case RLF_EXPR_SUM:
    case RLF_EXPR_MEAN:
    case RLF_EXPR_VAR:
    case RLF_EXPR_STD:
    case RLF_EXPR_LEAST:
    case RLF_EXPR_MOST:
    case RLF_EXPR_COUNT:
        many = gather(w, from, op->domain, row, t, at);
        break;
    default:
        return libm_point(op->code, v[0][me], v[1] ? v[1][me] : 0,
                          v[2] ? v[2][me] : 0);
    }
    return op->code == RLF_EXPR_RANK || op->code == RLF_EXPR_ROTATE ||
                   op->code == RLF_EXPR_UNROTATE
               ? grouped(op->code, v[0], at, many, me)
               : reduce(op->code, v[0], at, many);
}

static double *
compute(reference *r, int index)
{
    if (r->value[index])
        return r->value[index];
    const rlf_expr_op *op = &r->e->ops.data[index];
    if (op->code == RLF_EXPR_INPUT)
        return r->value[index] = r->in[op->index].number;
    double *v[3] = {NULL, NULL, NULL};
    for (int k = 0; k < rlf_expr_arity(op->code); k++)
        v[k] = compute(r, op->arg[k]);
    double *y =
        RLF_NEW_ARRAY(r->w->arena, double, extent_of(r->w, op->domain) + 1);
    for (uint32_t row = 0; row < n_rows(r->w, op->domain); row++) {
        uint32_t n = n_tokens(r->w, op->domain, row);
        bool back = op->code == RLF_EXPR_DISCOUNT;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t t = back ? n - 1 - i : i;
            y[place_of(r->w, op->domain, row, t)] =
                one_value(r, op, v, y, row, t);
        }
    }
    return r->value[index] = y;
}

/* ---- making programs ---- */

static const rlf_span nowhere;

UNUSED static rlf_expr *
program(world *w)
{
    return rlf_expr_new(w->arena, &w->domains);
}

UNUSED static int
input(rlf_expr *e, int domain)
{
    rlf_expr_input in = {.name = "x", .domain = domain};
    return rlf_expr_input_op(e, rlf_expr_add_input(e, in), nowhere);
}

UNUSED static int
op(rlf_expr *e, rlf_expr_code code, int domain, int a, int b, int over)
{
    return rlf_expr_add(e, (rlf_expr_op){.code = code,
                                         .domain = domain,
                                         .arg = {a, b, -1},
                                         .over = over});
}

/* ---- random programs ---- */

/* A random operation of `e` that can go down to `domain`, or -1. */
static int
pick(world *w, const rlf_expr *e, int domain, bool exactly)
{
    for (int tries = 0; tries < 40; tries++) {
        int i = (int)between(w, 0, (double)e->ops.count);
        int d = e->ops.data[i].domain;
        if (d == domain ||
            (!exactly && rlf_domain_reaches(&w->domains, d, domain)))
            return i;
    }
    return -1;
}

UNUSED static int
random_op(world *w, rlf_expr *e)
{
    static const rlf_expr_code points[] = {
        RLF_EXPR_ADD, RLF_EXPR_SUB,     RLF_EXPR_MUL,  RLF_EXPR_MIN,
        RLF_EXPR_MAX, RLF_EXPR_SIGMOID, RLF_EXPR_TANH, RLF_EXPR_LT,
        RLF_EXPR_ABS, RLF_EXPR_SELECT,  RLF_EXPR_CLAMP};
    static const rlf_expr_code sums[] = {RLF_EXPR_SUM, RLF_EXPR_MEAN,
                                         RLF_EXPR_STD, RLF_EXPR_VAR,
                                         RLF_EXPR_COUNT};
    static const rlf_expr_code scans[] = {RLF_EXPR_DISCOUNT, RLF_EXPR_CUMSUM,
                                          RLF_EXPR_NEXT, RLF_EXPR_PREV,
                                          RLF_EXPR_COMPOUND};
    int d = (int)between(w, 0, DOMAINS), kind = (int)between(w, 0, 10);
    if (kind < 5) {
        int a = pick(w, e, d, true), b = pick(w, e, d, false);
        int c = pick(w, e, d, false);
        if (a < 0 || b < 0 || c < 0)
            return -1;
        rlf_expr_code code =
            points[(int)between(w, 0, (double)RLF_COUNT(points))];
        if (code == RLF_EXPR_CLAMP) { /* bounds in their order */
            int one = rlf_expr_down(e, b, d), other = rlf_expr_down(e, c, d);
            b = rlf_expr_pointwise(e, RLF_EXPR_MIN, one, other, -1, nowhere);
            c = rlf_expr_pointwise(e, RLF_EXPR_MAX, one, other, -1, nowhere);
        }
        return rlf_expr_pointwise(e, code, a, b, c, nowhere);
    }
    if (kind < 7) {
        int a = (int)between(w, 0, (double)e->ops.count);
        int from = e->ops.data[a].domain;
        if (from == d || !rlf_domain_reaches(&w->domains, d, from))
            return -1;
        return op(e, sums[(int)between(w, 0, (double)RLF_COUNT(sums))], d, a,
                  -1, 0);
    }
    if (kind < 9) {
        int a = is_tokens(d) ? pick(w, e, d, true) : -1;
        int b = a < 0 ? -1 : pick(w, e, d, false);
        if (b < 0)
            return -1;
        /* keep scans from blowing up */
        b = rlf_expr_pointwise(e, RLF_EXPR_SIGMOID, b, -1, -1, nowhere);
        return op(e, scans[(int)between(w, 0, (double)RLF_COUNT(scans))], d, a,
                  rlf_expr_down(e, b, d), 0);
    }
    int a = d == ROLL || d == TOKENS ? pick(w, e, d, true) : -1;
    if (a < 0)
        return -1;
    if (d == ROLL && between(w, 0, 2) < 1)
        return op(e, RLF_EXPR_AT_LAST, TOKENS, a, -1, 0);
    int over = between(w, 0, 2) < 1 ? BATCH : d == TOKENS ? ROLL : 0;
    return op(e, RLF_EXPR_ROTATE, d, a, -1, over);
}

/* ---- running both ---- */

/* Storage for every output, filled with a number that no test computes. */
UNUSED static rlf_column *
outputs_new(world *w, const rlf_expr *e)
{
    rlf_column *out = RLF_NEW_ARRAY(w->arena, rlf_column, e->outputs.count + 1);
    for (size_t i = 0; i < e->outputs.count; i++) {
        const rlf_expr_op *op = &e->ops.data[e->outputs.data[i].op];
        uint64_t n = extent_of(w, op->domain);
        out[i].space = op->domain ? &w->space[op->domain] : NULL;
        if (op->text) {
            out[i].text = RLF_NEW_ARRAY(w->arena, rlf_str, n + 1);
            continue;
        }
        out[i].number = RLF_NEW_ARRAY(w->arena, double, n + 1);
        for (uint64_t k = 0; k < n; k++)
            out[i].number[k] = -77777;
    }
    return out;
}

UNUSED static rlf_column *
run_all(world *w, const rlf_expr *e, const rlf_column *in)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_expr_plan *plan;
    rlf_column *out = outputs_new(w, e);
    rlf_expr_bind bind = {
        .inputs = in, .outputs = out, .spaces = w->by_domain, .seed = 5};
    if (rlf_expr_plan_new(e, w->arena, &err, &plan) != RLF_OK ||
        rlf_expr_run(plan, NULL, &bind, &err) != RLF_OK)
        bail("%s", err.sentence);
    return out;
}

/* The largest difference of two columns, relative above 1; NaN and infinities
 * must be the same. */
UNUSED static double
difference(const world *w, int domain, const double *a, const double *b)
{
    double worst = 0;
    for (uint32_t r = 0; r < n_rows(w, domain); r++)
        for (uint32_t t = 0; t < n_tokens(w, domain, r); t++) {
            double x = a[place_of(w, domain, r, t)];
            double y = b[place_of(w, domain, r, t)];
            if (isnan(x) && isnan(y))
                continue;
            if (x == y)
                continue;
            double d = fabs(x - y) / fmax(1, fabs(y));
            worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
        }
    return worst;
}

/* Output `i` of a run against the reference. */
UNUSED static double
against_reference(world *w, const rlf_expr *e, const rlf_column *in, int i)
{
    const rlf_column *got = run_all(w, e, in);
    reference r = {.w = w, .e = e, .in = in};
    r.value = RLF_NEW_ARRAY(w->arena, double *, e->ops.count + 1);
    int op = e->outputs.data[i].op;
    uint64_t most = 0;
    for (int d = 0; d < DOMAINS; d++)
        most = extent_of(w, d) > most ? extent_of(w, d) : most;
    r.found = rlf_calloc(most + 1, sizeof *r.found);
    double worst =
        difference(w, e->ops.data[op].domain, got[i].number, compute(&r, op));
    free(r.found);
    return worst;
}

#endif
