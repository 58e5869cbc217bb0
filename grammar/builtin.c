/* Built-in functions: arithmetic by name, scans, and `over`. */
#include "grammar/passes.h"

#include <string.h>

typedef struct builtin {
    const char *name;
    rlf_expr_code code;
    size_t least, most;
    const char *takes, *doc;
} builtin;

static const builtin builtins[] = {
#define BUILTIN(name, code, least, most, takes, doc) \
    {name, RLF_EXPR_##code, least, most, takes, doc},
#include "grammar/builtin.def"
#undef BUILTIN
};

static const char *const reductions[] = {"sum", "mean",  "std",  "var",   "min",
                                         "max", "count", "rank", "rotate"};

size_t
rlf_builtin_names(const char **out, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < RLF_COUNT(builtins) && n < room; i++)
        out[n++] = builtins[i].name;
    for (size_t i = 0; i < RLF_COUNT(reductions) && n < room; i++)
        out[n++] = reductions[i];
    return n;
}

static const builtin *
find(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(builtins); i++) {
        if (!strcmp(builtins[i].name, name))
            return &builtins[i];
    }
    return NULL;
}

static bool
is_reduction(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(reductions); i++) {
        if (!strcmp(reductions[i], name))
            return true;
    }
    return false;
}

const char *
rlf_builtin_doc(const char *name)
{
    static const char *const docs[][2] = {
        {"sum", "The sum over tokens, group, batch or vocab"},
        {"mean", "The mean over tokens, group, batch or vocab"},
        {"var", "The unbiased variance, divided by n - 1; of one value 0"},
        {"std", "The square root of the unbiased variance"},
        {"count", "The number of values, whatever they are"},
        {"rank", "The place of each value in descending order, from 0 on"},
        {"rotate", "The value of the next row; the last row gets the first"}};
    const builtin *b = find(name);
    for (size_t i = 0; i < RLF_COUNT(docs) && !b; i++)
        if (strcmp(docs[i][0], name) == 0)
            return docs[i][1];
    return b ? b->doc : NULL;
}

const char *
rlf_builtin_form(rlf_arena *arena, const char *name)
{
    const builtin *b = find(name);
    return rlf_arena_printf(arena, "%s(%s%s)", name, b ? b->takes : "x over ...",
                            b && is_reduction(name) ? " | x over ..." : "");
}

bool
rlf_builtin_reduces(const char *name)
{
    return is_reduction(name) && !find(name);
}

bool
rlf_builtin_is(const char *name)
{
    return find(name) || is_reduction(name);
}

/* x, written at `of`, over tokens: operands of scans live on the tokens of one
 * set. */
static int
scan(rlf_sema *s, rlf_expr_code code, int x, int other, rlf_span of,
     rlf_span at)
{
    int domain = s->terms.data[x].domain;
    if (other >= 0)
        domain = rlf_level_meet(s, x, other, at);
    if (domain < 0)
        return -1;
    if (rlf_level_of(s, domain) != RLF_LEVEL_TOKEN) {
        const rlf_term *t = &s->terms.data[x];
        rlf_diag *diag = rlf_diag_error(s->diags, "level", at,
                                        "scans run over tokens, and this is %s",
                                        rlf_level_name(s, t->domain, t->set));
        diag->right = t->span;
        rlf_diag_hint(s->diags, diag,
                      rlf_level_of(s, t->domain) == RLF_LEVEL_VOCAB
                          ? "reduce it first: sum(... over vocab)"
                          : "s.at_last(x) puts one per sample on its last "
                            "token, s.at_all(x) on each");
        return -1;
    }
    if ((code == RLF_EXPR_DISCOUNT || code == RLF_EXPR_CUMSUM) &&
        !rlf_level_own(s, x, "scans take one of its own per token", of))
        return -1;
    x = rlf_term_down(s, x, domain, at);
    if (other >= 0)
        other = rlf_term_down(s, other, domain, at);
    return rlf_term_op(s, (rlf_term){.code = code,
                                     .arg = {x, other, -1},
                                     .domain = domain,
                                     .span = at});
}

static bool
is_scan(rlf_expr_code code)
{
    return code == RLF_EXPR_DISCOUNT || code == RLF_EXPR_CUMSUM ||
           code == RLF_EXPR_NEXT || code == RLF_EXPR_PREV;
}

static int
apply(rlf_sema *s, const builtin *b, const int *x, size_t n, rlf_span of,
      rlf_span at)
{
    if (is_scan(b->code)) {
        int other = n > 1 ? x[1] : -1;
        if (b->code == RLF_EXPR_NEXT || b->code == RLF_EXPR_PREV)
            other = n > 1 ? x[1] : rlf_term_number(s, 0, at);
        return scan(s, b->code, x[0], other, of, at);
    }
    if (b->code == RLF_EXPR_UNIFORM)
        return rlf_term_op(s, (rlf_term){.code = b->code,
                                         .arg = {x[0], -1, -1},
                                         .domain = s->terms.data[x[0]].domain,
                                         .span = at});
    double low, high;
    if (b->code == RLF_EXPR_CLAMP && !s->idle &&
        rlf_term_constant(s, x[1], &low) && rlf_term_constant(s, x[2], &high) &&
        low > high) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "argument", at,
                           "there is nothing from %.12g to %.12g", low, high);
        rlf_diag_hint(s->diags, diag,
                      "clamp(x, low, high) takes the smaller bound first");
        return -1;
    }
    if (n <= 2 || b->code == RLF_EXPR_CLAMP)
        return rlf_term_pointwise(s, b->code, x[0], n > 1 ? x[1] : -1,
                                  n > 2 ? x[2] : -1, at);
    int result = x[0];
    for (size_t i = 1; i < n; i++)
        result = rlf_term_pointwise(s, b->code, result, x[i], -1, at);
    return result;
}

/* What the only argument of a call can be reduced over; all there is, if it has
 * another form. */
static const char *
axes_of(rlf_sema *s, const rlf_ast_expr *call)
{
    static const char all[] = "tokens|group|batch";
    if (!call->args || call->args->count != 1 ||
        call->args->data[0].label.text ||
        call->args->data[0].value->kind == RLF_AST_LIST)
        return all;
    const rlf_ast_expr *e = call->args->data[0].value;
    rlf_entity x = rlf_eval(s, e);
    if (x.kind == RLF_ENTITY_NONE || x.kind == RLF_ENTITY_SET)
        return all;
    int term = x.kind == RLF_ENTITY_WORDS
                   ? x.term
                   : rlf_entity_number(s, &x, e->span);
    return term < 0 ? all : rlf_level_axes(s, term);
}

static void
count_wrong(rlf_sema *s, const builtin *b, size_t n, const rlf_ast_expr *call)
{
    rlf_diag *diag;
    rlf_span at = call->at;
    if (b->least == b->most)
        diag = rlf_diag_error(s->diags, "argument", at,
                              "'%s' takes %zu argument%s, not %zu", b->name,
                              b->least, b->least == 1 ? "" : "s", n);
    else
        diag = rlf_diag_error(s->diags, "argument", at,
                              "'%s' takes %zu to %zu arguments, not %zu",
                              b->name, b->least, b->most, n);
    if (is_reduction(b->name) && n == 1)
        rlf_diag_hint(s->diags, diag, "%s",
                      rlf_form_reduction(s, b->name, call, axes_of(s, call)));
}

/* `f(x over y)`. */
static int
reduce(rlf_sema *s, const char *name, const rlf_ast_expr *call)
{
    const rlf_ast_arg *arg = &call->args->data[0];
    if (call->args->count != 1) {
        rlf_diag_error(s->diags, "argument", call->at,
                       "'%s(x over ...)' takes one argument", name);
        return -1;
    }
    rlf_entity x = rlf_eval(s, arg->value);
    bool computes = strcmp(name, "count") != 0 && strcmp(name, "rotate") != 0;
    if (x.kind == RLF_ENTITY_NONE || (computes && is_reduction(name) &&
                                      !rlf_term_takes(s, arg->value, name)))
        return -1;
    int term = x.kind == RLF_ENTITY_WORDS
                   ? x.term
                   : rlf_entity_number(s, &x, arg->value->span);
    s->operand[0] = arg->value->span;
    int result = rlf_level_reduce(s, name, term, &arg->over, call->at);
    s->operand[0] = (rlf_span){0};
    return result;
}

static bool
has_over(const rlf_ast_expr *call)
{
    for (size_t i = 0; call->args && i < call->args->count; i++) {
        if (call->args->data[i].over.text)
            return true;
    }
    return false;
}

bool
rlf_builtin_call(rlf_sema *s, const char *name, const rlf_ast_expr *call,
                 rlf_entity *out)
{
    *out = rlf_entity_none(call->span);
    if (has_over(call)) {
        int term = reduce(s, name, call);
        *out = rlf_entity_term(s, term, call->span);
        return true;
    }
    const builtin *b = find(name);
    if (!b && is_reduction(name)) {
        rlf_diag *diag = rlf_diag_error(s->diags, "argument", call->at,
                                        "'%s' does not say over what", name);
        rlf_diag_hint(s->diags, diag, "%s",
                      rlf_form_reduction(s, name, call, axes_of(s, call)));
        return true;
    }
    if (!b)
        return false;
    size_t n = call->args ? call->args->count : 0;
    int x[16] = {0};
    bool good = n >= b->least && n <= b->most;
    if (!good) {
        count_wrong(s, b, n, call);
        n = is_reduction(name) && n == 1 ? 0 : n; /* it has been looked at */
    }
    for (size_t i = 0; i < n && good; i++) {
        if (call->args->data[i].label.text) {
            rlf_diag_error(s->diags, "argument", call->args->data[i].label.span,
                           "arguments of '%s' have no names", name);
            return true;
        }
    }
    for (size_t i = 0; i < n && i < RLF_COUNT(x); i++) {
        const rlf_ast_expr *e = call->args->data[i].value;
        x[i] = rlf_eval_number(s, e);
        good = good && x[i] >= 0 && rlf_term_takes(s, e, name);
    }
    if (good)
        *out = rlf_entity_term(
            s, apply(s, b, x, n, call->args->data[0].value->span, call->at),
            call->span);
    return true;
}
