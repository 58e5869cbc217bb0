/* Expression programs: making the table. Adding finds what is there already,
 * folds constants and drops operations that change nothing. See expr.h. */
#include "engine/expr/expr.h"

#include "engine/base/fmath.h"
#include "engine/base/hash.h"
#include "engine/base/vec.h"

static const struct {
    const char *text;
    int arity;
} info[RLF_EXPR_CODES] = {
#define EXPR(name, arity, derivative, text, doc) \
    [RLF_EXPR_##name] = {text, arity},
#include "engine/expr/op.def"
#undef EXPR
};

const char *
rlf_expr_text(rlf_expr_code code)
{
    return info[code].text;
}

int
rlf_expr_arity(rlf_expr_code code)
{
    return info[code].arity;
}

bool
rlf_expr_is_pointwise(rlf_expr_code code)
{
    switch (code) {
#define POINTWISE(name, value) case RLF_EXPR_##name:
#include "engine/expr/pointwise.def"
#undef POINTWISE
        return true;
    default:
        return false;
    }
}

bool
rlf_expr_is_condition(rlf_expr_code code)
{
    switch (code) {
    case RLF_EXPR_LT:
    case RLF_EXPR_LE:
    case RLF_EXPR_EQ:
    case RLF_EXPR_NE:
    case RLF_EXPR_TEXT_EQ:
    case RLF_EXPR_AND:
    case RLF_EXPR_OR:
    case RLF_EXPR_NOT:
        return true;
    default:
        return false;
    }
}

double
rlf_expr_apply(rlf_expr_code code, double a, double b, double c)
{
    switch (code) {
#define POINTWISE(name, value) \
    case RLF_EXPR_##name:      \
        return value;
#include "engine/expr/pointwise.def"
#undef POINTWISE
    default:
        rlf_bug_at(__FILE__, __LINE__, "not a pointwise operation");
    }
}

/* A quiet NaN with a payload that no operation makes. */
#define NOTHING UINT64_C(0x7ff8006e6f6e6500)

double
rlf_expr_nothing(void)
{
    uint64_t bits = NOTHING;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

bool
rlf_expr_is_nothing(double x)
{
    return rlf_f64_bits(x) == NOTHING;
}

rlf_expr *
rlf_expr_new(rlf_arena *arena, const rlf_domains *domains)
{
    rlf_expr *expr = RLF_NEW(arena, rlf_expr);
    expr->arena = arena;
    expr->domains = domains;
    return expr;
}

/* ---- finding what is there ---- */

static uint64_t
op_hash(const rlf_expr_op *op)
{
    const uint64_t words[] = {(uint64_t)op->code << 32 | (uint32_t)op->domain,
                              (uint64_t)op->arg[0] << 32 | (uint32_t)op->arg[1],
                              (uint64_t)op->arg[2] << 32 | (uint32_t)op->over,
                              (uint64_t)op->index << 32 | op->site,
                              rlf_f64_bits(op->constant)};
    uint64_t hash = rlf_hash(RLF_HASH_INIT, words, sizeof words);
    return rlf_hash_mix(rlf_hash(hash, op->words.p, op->words.n));
}

static bool
op_same(const rlf_expr_op *a, const rlf_expr_op *b)
{
    return a->code == b->code && a->domain == b->domain &&
           a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] &&
           a->arg[2] == b->arg[2] && a->over == b->over &&
           a->index == b->index && a->site == b->site &&
           rlf_f64_bits(a->constant) == rlf_f64_bits(b->constant) &&
           a->text == b->text && rlf_str_eq(a->words, b->words);
}

/* The slot where `op` is, or where it belongs. */
static size_t
find(const rlf_expr *expr, const rlf_expr_op *op)
{
    size_t i = op_hash(op) & (expr->n_slots - 1);
    while (expr->slots[i] && !op_same(&expr->ops.data[expr->slots[i] - 1], op))
        i = (i + 1) & (expr->n_slots - 1);
    return i;
}

static void
grow(rlf_expr *expr)
{
    do /* a program may have been copied operation by operation */
        expr->n_slots = expr->n_slots ? 2 * expr->n_slots : 64;
    while (expr->n_slots < 2 * (expr->ops.count + 1));
    expr->slots = RLF_NEW_ARRAY(expr->arena, uint32_t, expr->n_slots);
    for (size_t i = 0; i < expr->ops.count; i++)
        expr->slots[find(expr, &expr->ops.data[i])] = (uint32_t)i + 1;
}

/* Append as it is, or find it. */
static int
place(rlf_expr *expr, const rlf_expr_op *op)
{
    if (2 * (expr->ops.count + 1) > expr->n_slots)
        grow(expr);
    size_t slot = find(expr, op);
    if (expr->slots[slot] && op->code != RLF_EXPR_UNIFORM)
        return (int)expr->slots[slot] - 1;
    RLF_PUSH_IN(expr->arena, &expr->ops, *op);
    expr->slots[slot] = (uint32_t)expr->ops.count;
    return (int)expr->ops.count - 1;
}

/* ---- what need not be computed ---- */

static bool
is_constant(const rlf_expr *expr, int op, double *value)
{
    const rlf_expr_op *o = &expr->ops.data[op];
    if (o->code == RLF_EXPR_DOWN)
        o = &expr->ops.data[o->arg[0]];
    *value = o->constant;
    return o->code == RLF_EXPR_CONST && !o->text;
}

/* An operation that equals this pointwise one, or -1. Only rewrites that give
 * the same bits, but for the square, which becomes exact. */
static int
simplify(rlf_expr *expr, const rlf_expr_op *op)
{
    double value[3] = {0};
    bool known[3] = {false}, all = true;
    for (int i = 0; i < info[op->code].arity; i++) {
        known[i] = is_constant(expr, op->arg[i], &value[i]);
        all = all && known[i];
    }
    if (all) {
        double y = rlf_expr_apply(op->code, value[0], value[1], value[2]);
        return rlf_expr_down(expr, rlf_expr_constant(expr, y, op->span),
                             op->domain);
    }
    const rlf_expr_op *a = &expr->ops.data[op->arg[0]];
    switch (op->code) {
    case RLF_EXPR_MUL:
        if (known[0] && value[0] == 1)
            return op->arg[1];
        return known[1] && value[1] == 1 ? op->arg[0] : -1;
    case RLF_EXPR_DIV:
        return known[1] && value[1] == 1 ? op->arg[0] : -1;
    case RLF_EXPR_POW:
        if (known[1] && value[1] == 1)
            return op->arg[0];
        if (known[1] && value[1] == 2) {
            int square = op->arg[0];
            return rlf_expr_pointwise(expr, RLF_EXPR_MUL, square, square, -1,
                                      op->span);
        }
        return -1;
    case RLF_EXPR_NEG:
        return a->code == RLF_EXPR_NEG ? a->arg[0] : -1;
    case RLF_EXPR_SG:
        return a->code == RLF_EXPR_SG ? op->arg[0] : -1;
    case RLF_EXPR_SELECT:
    case RLF_EXPR_PICK:
        if (known[0] && !isnan(value[0]))
            return op->arg[value[0] != 0 ? 1 : 2];
        return op->arg[1] == op->arg[2] ? op->arg[1] : -1;
    default:
        return -1;
    }
}

int
rlf_expr_add(rlf_expr *expr, rlf_expr_op op)
{
    for (int i = 0; i < 3; i++) {
        if (i >= info[op.code].arity)
            op.arg[i] = -1;
        else
            RLF_ASSERT(op.arg[i] >= 0 && (size_t)op.arg[i] < expr->ops.count);
    }
    if (op.code == RLF_EXPR_DOWN) {
        const rlf_expr_op *a = &expr->ops.data[op.arg[0]];
        if (a->domain == op.domain)
            return op.arg[0];
        if (a->code == RLF_EXPR_DOWN)
            op.arg[0] = a->arg[0];
    } else if (op.code == RLF_EXPR_COUNT || op.code == RLF_EXPR_UNIFORM) {
        /* only the indices matter: the values need not be computed */
        int below = expr->ops.data[op.arg[0]].domain;
        int zero = rlf_expr_constant(expr, 0, op.span);
        op.arg[0] = rlf_expr_down(expr, zero, below);
    } else if (rlf_expr_is_pointwise(op.code)) {
        int same = simplify(expr, &op);
        if (same >= 0)
            return same;
    }
    return place(expr, &op);
}

int
rlf_expr_add_input(rlf_expr *expr, rlf_expr_input input)
{
    RLF_PUSH_IN(expr->arena, &expr->inputs, input);
    return (int)expr->inputs.count - 1;
}

int
rlf_expr_add_output(rlf_expr *expr, const char *name, int op)
{
    RLF_ASSERT(op >= 0 && (size_t)op < expr->ops.count);
    RLF_PUSH_IN(expr->arena, &expr->outputs,
                (rlf_expr_output){.name = name, .op = op});
    return (int)expr->outputs.count - 1;
}

rlf_expr *
rlf_expr_copy(const rlf_expr *expr, rlf_arena *arena)
{
    rlf_expr *out = rlf_expr_new(arena, expr->domains);
    for (size_t i = 0; i < expr->inputs.count; i++)
        rlf_expr_add_input(out, expr->inputs.data[i]);
    for (size_t i = 0; i < expr->ops.count; i++)
        RLF_PUSH_IN(arena, &out->ops, expr->ops.data[i]);
    for (size_t i = 0; i < expr->outputs.count; i++)
        RLF_PUSH_IN(arena, &out->outputs, expr->outputs.data[i]);
    return out;
}

int
rlf_expr_down(rlf_expr *expr, int op, int domain)
{
    rlf_expr_op down = {.code = RLF_EXPR_DOWN,
                        .domain = domain,
                        .arg = {op, -1, -1},
                        .text = expr->ops.data[op].text,
                        .span = expr->ops.data[op].span};
    return rlf_expr_add(expr, down);
}

int
rlf_expr_input_op(rlf_expr *expr, int input, rlf_span span)
{
    const rlf_expr_input *in = &expr->inputs.data[input];
    rlf_expr_op op = {.code = RLF_EXPR_INPUT,
                      .domain = in->domain,
                      .index = input,
                      .text = in->text,
                      .span = span};
    return rlf_expr_add(expr, op);
}

int
rlf_expr_constant(rlf_expr *expr, double value, rlf_span span)
{
    rlf_expr_op op = {.code = RLF_EXPR_CONST, .constant = value, .span = span};
    return rlf_expr_add(expr, op);
}

int
rlf_expr_words(rlf_expr *expr, rlf_str words, rlf_span span)
{
    rlf_expr_op op = {
        .code = RLF_EXPR_CONST, .words = words, .text = true, .span = span};
    return rlf_expr_add(expr, op);
}

int
rlf_expr_pointwise(rlf_expr *expr, rlf_expr_code code, int a, int b, int c,
                   rlf_span span)
{
    rlf_expr_op op = {.code = code, .arg = {a, b, c}, .span = span};
    int arity = info[code].arity;
    for (int i = 0; i < arity; i++) {
        op.domain = rlf_domain_meet(expr->domains, op.domain,
                                    expr->ops.data[op.arg[i]].domain);
        RLF_ASSERT(op.domain >= 0);
    }
    for (int i = 0; i < arity; i++)
        op.arg[i] = rlf_expr_down(expr, op.arg[i], op.domain);
    op.text = code == RLF_EXPR_SELECT && expr->ops.data[op.arg[1]].text;
    return rlf_expr_add(expr, op);
}

rlf_expr *
rlf_expr_prune(const rlf_expr *expr, rlf_arena *arena)
{
    size_t n = expr->ops.count;
    int *map = RLF_NEW_ARRAY(arena, int, n + 1);
    for (size_t i = 0; i < expr->outputs.count; i++)
        map[expr->outputs.data[i].op] = 1;
    for (size_t i = n; i-- > 0;)
        for (int k = 0; map[i] && k < info[expr->ops.data[i].code].arity; k++)
            map[expr->ops.data[i].arg[k]] = 1;

    rlf_expr *out = rlf_expr_new(arena, expr->domains);
    for (size_t i = 0; i < expr->inputs.count; i++)
        rlf_expr_add_input(out, expr->inputs.data[i]);
    for (size_t i = 0; i < n; i++) {
        if (!map[i])
            continue;
        rlf_expr_op op = expr->ops.data[i];
        for (int k = 0; k < info[op.code].arity; k++)
            op.arg[k] = map[op.arg[k]];
        map[i] = place(out, &op);
    }
    for (size_t i = 0; i < expr->outputs.count; i++)
        rlf_expr_add_output(out, expr->outputs.data[i].name,
                            map[expr->outputs.data[i].op]);
    return out;
}
