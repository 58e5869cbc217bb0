/* The table of operations: each once, constants folded, the law, text form,
 * hash, pruning. */
#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/expr/expr.h"
#include "tests/tap.h"

#include <math.h>

static const rlf_span nowhere;
static rlf_arena *arena;
static rlf_domains domains;
static int roll, tokens, other;

static rlf_expr *
program(void)
{
    return rlf_expr_new(arena, &domains);
}

static int
input(rlf_expr *e, const char *name, int domain, bool text)
{
    rlf_expr_input in = {
        .name = name, .domain = domain, .text = text, .live = !text};
    return rlf_expr_input_op(e, rlf_expr_add_input(e, in), nowhere);
}

static int
point(rlf_expr *e, rlf_expr_code code, int a, int b, int c)
{
    return rlf_expr_pointwise(e, code, a, b, c, nowhere);
}

static int
number(rlf_expr *e, double x)
{
    return rlf_expr_constant(e, x, nowhere);
}

static void
folding(void)
{
    rlf_expr *e = program();
    int x = input(e, "x", tokens, false), s = input(e, "s", roll, false);
    int a = point(e, RLF_EXPR_ADD, x, s, -1);
    is_int(point(e, RLF_EXPR_ADD, x, s, -1), a, "an operation is there once");
    ok(point(e, RLF_EXPR_ADD, s, x, -1) != a, "its arguments have an order");
    int c = point(e, RLF_EXPR_MUL, number(e, 3), number(e, 0.5), -1);
    is_int(e->ops.data[c].code, RLF_EXPR_CONST, "constants are folded");
    near(e->ops.data[c].constant, 1.5, 0, "to their value");
    int zero = number(e, 0.0), minus = number(e, -0.0);
    ok(zero != minus, "0 and -0 are two constants");
    int one = number(e, 1);
    is_int(point(e, RLF_EXPR_MUL, one, x, -1), x, "1 * x");
    is_int(point(e, RLF_EXPR_DIV, x, one, -1), x, "x / 1");
    is_int(point(e, RLF_EXPR_POW, x, one, -1), x, "x ^ 1");
    int square = point(e, RLF_EXPR_POW, x, number(e, 2), -1);
    is_int(e->ops.data[square].code, RLF_EXPR_MUL, "x ^ 2 is x * x");
    int yes = rlf_expr_words(e, rlf_str_of("yes"), nowhere);
    is_int(rlf_expr_words(e, rlf_str_of("yes"), nowhere), yes,
           "a text is there once");
    ok(rlf_expr_words(e, rlf_str_of("no"), nowhere) != yes, "another apart");
    int minus_x = point(e, RLF_EXPR_NEG, x, -1, -1);
    is_int(point(e, RLF_EXPR_NEG, minus_x, -1, -1), x, "-(-x)");
    is_int(point(e, RLF_EXPR_SELECT, one, x, minus_x), x, "a known condition");
    int wide = point(e, RLF_EXPR_MUL, number(e, 2), s, -1);
    is_int(e->ops.data[wide].domain, roll, "computed on the coarsest domain");
    int down = rlf_expr_down(e, rlf_expr_down(e, number(e, 5), roll), tokens);
    is_int(e->ops.data[e->ops.data[down].arg[0]].code, RLF_EXPR_CONST,
           "down of down is one");
    is_int(rlf_expr_down(e, x, tokens), x, "down to where it is");
    rlf_expr_op count = {
        .code = RLF_EXPR_COUNT, .domain = roll, .arg = {x, -1, -1}};
    rlf_expr_op again = count;
    again.arg[0] = a;
    is_int(rlf_expr_add(e, again), rlf_expr_add(e, count),
           "counts of one domain are the same");
    rlf_expr_op uniform = {
        .code = RLF_EXPR_UNIFORM, .domain = roll, .arg = {s, -1, -1}};
    ok(rlf_expr_add(e, uniform) != rlf_expr_add(e, uniform),
       "random numbers are not");
    for (int i = 0; i < 500; i++)
        number(e, i);
    is_int(point(e, RLF_EXPR_ADD, x, s, -1), a, "found among many");
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_expr_check(e, &err), RLF_OK, "all of it keeps the law");
}

static void
law(void)
{
    struct {
        const char *name;
        rlf_expr_op op;
    } wrong[] = {
        {"a sum upwards", {.code = RLF_EXPR_SUM, .domain = 2, .arg = {1}}},
        {"down upwards", {.code = RLF_EXPR_DOWN, .domain = 1, .arg = {0}}},
        {"down across", {.code = RLF_EXPR_DOWN, .domain = 3, .arg = {0}}},
        {"a pointwise one across domains",
         {.code = RLF_EXPR_ADD, .domain = 2, .arg = {0, 1}}},
        {"a scan of rows", {.code = RLF_EXPR_CUMSUM, .domain = 1, .arg = {1}}},
        {"a rank over itself",
         {.code = RLF_EXPR_RANK, .domain = 1, .arg = {1}, .over = 1}},
        {"a text in arithmetic",
         {.code = RLF_EXPR_NEG, .domain = 1, .arg = {2}}},
        {"a number compared with a text",
         {.code = RLF_EXPR_TEXT_EQ, .domain = 1, .arg = {1, 2}}},
        {"a constant with a domain", {.code = RLF_EXPR_CONST, .domain = 1}},
        {"an input that is not there",
         {.code = RLF_EXPR_INPUT, .domain = 1, .index = 9}},
        {"at_last of tokens",
         {.code = RLF_EXPR_AT_LAST, .domain = 2, .arg = {0}}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rlf_expr *e = program();
        input(e, "x", tokens, false);
        input(e, "s", roll, false);
        input(e, "t", roll, true);
        rlf_err err = RLF_ERR_NONE;
        is_int(rlf_expr_check(e, &err), RLF_OK, "good so far");
        rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_UNIFORM,
                                      .domain = roll,
                                      .arg = {1, -1, -1}});
        /* past what rlf_expr_add refuses */
        e->ops.data[e->ops.count - 1] = wrong[i].op;
        is_int(rlf_expr_check(e, &err), RLF_BUG, wrong[i].name);
    }
    rlf_expr *e = program();
    int x = input(e, "x", tokens, false);
    point(e, RLF_EXPR_NEG, x, -1, -1);
    e->ops.data[1].arg[0] = 1;
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_expr_check(e, &err), RLF_BUG, "an argument after its use");
}

static rlf_expr *
example(double constant)
{
    rlf_expr *e = program();
    int x = input(e, "x", tokens, false);
    point(e, RLF_EXPR_EXP, x, -1, -1); /* of no use */
    int y = point(e, RLF_EXPR_MUL, x, number(e, constant), -1);
    rlf_expr_op sum = {
        .code = RLF_EXPR_SUM, .domain = roll, .arg = {y, -1, -1}};
    rlf_expr_add_output(e, "total", rlf_expr_add(e, sum));
    return e;
}

static void
text_and_hash(void)
{
    rlf_buf text = {0};
    rlf_expr *pruned = rlf_expr_prune(example(3), arena);
    rlf_expr_print(pruned, &text);
    is_str(text.p,
           "%0 = input 0 x : tokens\n"
           "%1 = const 3 : scalar\n"
           "%2 = down %1 : tokens\n"
           "%3 = mul %0 %2 : tokens\n"
           "%4 = sum %3 : roll\n"
           "output 0 total = %4\n",
           "printed, without what no output needs");
    rlf_buf_free(&text);
    rlf_digest h = rlf_expr_digest(example(3), (rlf_digest){0});
    ok(rlf_digest_equal(h, rlf_expr_digest(example(3), (rlf_digest){0})),
       "equal programs");
    ok(!rlf_digest_equal(h, rlf_expr_digest(example(4), (rlf_digest){0})),
       "another constant");
    rlf_expr *moved = example(3);
    moved->ops.data[1].span = (rlf_span){1, 2, 3, 0};
    ok(rlf_digest_equal(h, rlf_expr_digest(moved, (rlf_digest){0})),
       "spans do not count");
}

/* Checks that the derivative of a clipped ratio has only pointwise operations
 * on tokens, and no reduction of live values. */
static void
derivative(void)
{
    rlf_expr *e = program();
    int logp = input(e, "logp", tokens, false);
    int adv = point(e, RLF_EXPR_SG, input(e, "adv", tokens, false), -1, -1);
    int ratio = point(e, RLF_EXPR_EXP, logp, -1, -1);
    int clipped =
        point(e, RLF_EXPR_CLAMP, ratio, number(e, 0.8), number(e, 1.2));
    int loss = point(e, RLF_EXPR_MAX, point(e, RLF_EXPR_MUL, ratio, adv, -1),
                     point(e, RLF_EXPR_MUL, clipped, adv, -1), -1);
    rlf_expr_op mean = {
        .code = RLF_EXPR_MEAN, .domain = 0, .arg = {loss, -1, -1}};
    rlf_expr_add_output(e, "loss", rlf_expr_add(e, mean));
    rlf_derivative *d = rlf_expr_derive(e, 0, arena);
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_expr_check(d->expr, &err), RLF_OK, "a derivative keeps the law");
    is_int(d->output_of_input[0], 1, "one more output an input");
    is_str(d->expr->outputs.data[1].name, "d logp", "by its name");
    is_int((int)d->reach, RLF_REACH_POINT, "a clipped ratio needs its token");
    is_int((int)rlf_expr_reach(d->expr, 0), RLF_REACH_BATCH,
           "its loss needs all");
    bool crosses = false;
    for (size_t i = e->ops.count; i < d->expr->ops.count; i++)
        crosses = crosses || d->expr->ops.data[i].code == RLF_EXPR_SUM;
    ok(!crosses, "no sum in the derivative");
    ok(!rlf_expr_crosses(d->expr, ratio), "exp is local");
}

/* A program that was copied operation by operation can be added to, and what
 * is there is found. */
static void
copied(void)
{
    rlf_expr *e = program(), *copy = program();
    int x = input(e, "x", tokens, false);
    rlf_expr_add_input(copy, e->inputs.data[0]);
    for (int i = 0; i < 100; i++)
        x = point(e, RLF_EXPR_ADD, x, number(e, i), -1);
    for (size_t i = 0; i < e->ops.count; i++)
        RLF_PUSH_IN(arena, &copy->ops, e->ops.data[i]);
    is_int(point(copy, RLF_EXPR_EXP, x, -1, -1), (int)e->ops.count,
           "one more operation of a copy");
    is_int(number(copy, 99), number(e, 99), "and one that it has");
}

/* NaN decides nothing; and and or may do without it. */
static void
decides(void)
{
    static const rlf_expr_code either[] = {RLF_EXPR_LT,  RLF_EXPR_LE,
                                           RLF_EXPR_EQ,  RLF_EXPR_NE,
                                           RLF_EXPR_MIN, RLF_EXPR_MAX};
    for (size_t i = 0; i < RLF_COUNT(either); i++)
        ok(isnan(rlf_expr_apply(either[i], NAN, 1, 0)) &&
               isnan(rlf_expr_apply(either[i], 1, NAN, 0)) &&
               !isnan(rlf_expr_apply(either[i], 1, -INFINITY, 0)),
           "%s of a NaN is one", rlf_expr_text(either[i]));
    ok(isnan(rlf_expr_apply(RLF_EXPR_NOT, NAN, 0, 0)) &&
           isnan(rlf_expr_apply(RLF_EXPR_SELECT, NAN, 1, 2)) &&
           rlf_expr_apply(RLF_EXPR_SELECT, 1, 2, NAN) == 2,
       "so is what it would choose");
    ok(isnan(rlf_expr_apply(RLF_EXPR_CLAMP, NAN, 0, 1)) &&
           isnan(rlf_expr_apply(RLF_EXPR_CLAMP, 0.5, NAN, 1)) &&
           isnan(rlf_expr_apply(RLF_EXPR_CLAMP, 0.5, 0, NAN)),
       "and what it is a bound of");
    ok(isnan(rlf_expr_apply(RLF_EXPR_CLAMP, 5, 2, 1)) &&
           rlf_expr_apply(RLF_EXPR_CLAMP, 5, 2, 2) == 2 &&
           rlf_expr_apply(RLF_EXPR_CLAMP, 5, -INFINITY, INFINITY) == 5,
       "a clamp whose bounds cross is one");
    static const double truth[] = {0, 1, NAN};
    for (int i = 0; i < 9; i++) {
        double a = truth[i / 3], b = truth[i % 3];
        double both = rlf_expr_apply(RLF_EXPR_AND, a, b, 0),
               one = rlf_expr_apply(RLF_EXPR_OR, a, b, 0);
        bool no = a == 0 || b == 0, yes = a == 1 || b == 1;
        bool unknown = isnan(a) || isnan(b);
        ok((no ? both == 0 : unknown ? isnan(both) : both == 1) &&
               (yes ? one == 1 : unknown ? isnan(one) : one == 0),
           "%g and, or %g", a, b);
    }
}

int
main(void)
{
    arena = rlf_arena_new();
    rlf_domains_init(&domains, arena);
    rlf_domain d = {.kind = RLF_DOMAIN_ROWS, .name = "roll", .owner = -1};
    roll = rlf_domains_add(&domains, d);
    d = (rlf_domain){
        .kind = RLF_DOMAIN_TOKENS, .name = "tokens", .owner = roll};
    tokens = rlf_domains_add(&domains, d);
    d = (rlf_domain){.kind = RLF_DOMAIN_ROWS, .name = "other", .owner = -1};
    other = rlf_domains_add(&domains, d);
    folding();
    law();
    text_and_hash();
    derivative();
    copied();
    decides();
    rlf_arena_free(arena);
    return done();
}
