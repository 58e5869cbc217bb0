/* Terms: arithmetic as it was written, each operation on its domain. */
#include "grammar/passes.h"

#include <math.h>

int
rlf_term_add(rlf_sema *s, rlf_term term)
{
    term.region = s->part;
    term.update = s->update;
    term.value_index = -1;
    term.span.use = s->use;
    RLF_PUSH_IN(s->arena, &s->terms, term);
    return (int)s->terms.count - 1;
}

int
rlf_term_number(rlf_sema *s, double value, rlf_span span)
{
    return rlf_term_add(s, (rlf_term){.kind = RLF_TERM_CONST,
                                      .arg = {-1, -1, -1},
                                      .value = value,
                                      .item = -1,
                                      .set = -1,
                                      .span = span});
}

int
rlf_term_truth(rlf_sema *s, bool value, rlf_span span)
{
    int term = rlf_term_number(s, value, span);
    s->terms.data[term].truth = true;
    return term;
}

bool
rlf_term_is_number(rlf_sema *s, int term, const char *what, rlf_span span)
{
    const rlf_term *t = &s->terms.data[term];
    double value;
    if (!t->truth)
        return true;
    bool known = rlf_term_constant(s, term, &value);
    rlf_diag *diag = rlf_diag_error(s->diags, "type", span,
                                    "%s is a number, and this is %s", what,
                                    !known      ? "a condition"
                                    : value > 0 ? "true"
                                                : "false");
    rlf_diag_hint(s->diags, diag, "write a number, or choose one: c ? a : b");
    return false;
}

/* Is what the operation gives true or false? */
static bool
gives_truth(const rlf_sema *s, rlf_expr_code code, const int *args)
{
    return rlf_expr_is_condition(code) ||
           (code == RLF_EXPR_SELECT &&
            (s->terms.data[args[1]].truth || s->terms.data[args[2]].truth));
}

/* The `true` or `false` that the expression is as it is written, or that is a
 * side of the choice that it is; NULL: there is none. */
static const rlf_ast_expr *
written_truth(const rlf_ast_expr *e)
{
    if (e->kind == RLF_AST_TRUTH)
        return e;
    if (e->kind != RLF_AST_CHOICE)
        return NULL;
    const rlf_ast_expr *found = written_truth(e->right);
    return found ? found : written_truth(e->other);
}

bool
rlf_term_is_written_number(rlf_sema *s, const rlf_ast_expr *e, const char *what)
{
    const rlf_ast_expr *truth = written_truth(e);
    if (!truth || truth == e)
        return true;
    rlf_diag *diag = rlf_diag_error(s->diags, "type", truth->span,
                                    "%s is a number, and this is %s", what,
                                    truth->number > 0 ? "true" : "false");
    rlf_diag_hint(s->diags, diag, "write a number");
    return false;
}

/* Does the operator take numbers? True and false are equal or not, and joined
 * by and, or, not. */
static bool
is_arithmetic(rlf_ast_op op)
{
    return op == RLF_AST_NEG || op == RLF_AST_ADD || op == RLF_AST_SUB ||
           op == RLF_AST_MUL || op == RLF_AST_DIV || op == RLF_AST_MOD ||
           op == RLF_AST_POW || op == RLF_AST_LT || op == RLF_AST_LE ||
           op == RLF_AST_GT || op == RLF_AST_GE;
}

/* Is it a name that the flow has given to true or false as written, which is an
 * error then? */
static bool
is_named_truth(rlf_sema *s, const rlf_ast_expr *e, const char *what)
{
    rlf_found_name found;
    if (e->kind == RLF_AST_CHOICE)
        return is_named_truth(s, e->right, what) ||
               is_named_truth(s, e->other, what);
    if (e->kind != RLF_AST_NAME || !rlf_name_find(s, &e->name, &found) ||
        !found.local || found.local->entity.kind != RLF_ENTITY_NUMBER)
        return false;
    const rlf_term *t = &s->terms.data[found.local->entity.term];
    if (!t->written)
        return false;
    rlf_diag *diag = rlf_diag_error(
        s->diags, "type", e->span, "'%s' takes numbers, and '%s' is %s", what,
        e->name.text, t->value > 0 ? "true" : "false");
    rlf_diag_hint(s->diags, diag, "write a number, or choose one: %s ? a : b",
                  e->name.text);
    return true;
}

bool
rlf_term_takes(rlf_sema *s, const rlf_ast_expr *e, const char *what)
{
    const rlf_ast_expr *truth = e ? written_truth(e) : NULL;
    if (!truth)
        return !e || !is_named_truth(s, e, what);
    bool yes = truth->number > 0;
    rlf_diag *diag = rlf_diag_error(s->diags, "type", truth->span,
                                    "'%s' takes numbers, and this is %s", what,
                                    yes ? "true" : "false");
    rlf_diag_hint(s->diags, diag, "write %d", yes);
    return false;
}

bool
rlf_term_computes(rlf_sema *s, const rlf_ast_expr *e)
{
    const char *sign = rlf_ast_op_text(e->op);
    return !is_arithmetic(e->op) || (rlf_term_takes(s, e->left, sign) &&
                                     rlf_term_takes(s, e->right, sign));
}

int
rlf_term_words(rlf_sema *s, const char *words, rlf_span span)
{
    return rlf_term_add(s, (rlf_term){.kind = RLF_TERM_CONST,
                                      .arg = {-1, -1, -1},
                                      .words = words,
                                      .item = -1,
                                      .set = -1,
                                      .text = true,
                                      .span = span});
}

const char *
rlf_unit_word(rlf_unit unit)
{
    return unit == RLF_UNIT_TIME    ? "a time"
           : unit == RLF_UNIT_BYTES ? "a number of bytes"
                                    : "a number";
}

bool
rlf_term_plain(rlf_sema *s, int term, rlf_span span)
{
    rlf_unit unit = s->terms.data[term].unit;
    if (unit == RLF_UNIT_NONE)
        return true;
    rlf_diag *diag = rlf_diag_error(s->diags, "unit", span,
                                    "a number is wanted, and this is %s",
                                    rlf_unit_word(unit));
    rlf_diag_hint(s->diags, diag, "write it without the unit");
    return false;
}

bool
rlf_term_constant(const rlf_sema *s, int term, double *out)
{
    if (term < 0 || s->terms.data[term].kind != RLF_TERM_CONST ||
        s->terms.data[term].text)
        return false;
    *out = s->terms.data[term].value;
    return true;
}

void
rlf_term_use(rlf_sema *s, int term)
{
    if (term >= 0)
        s->terms.data[term].uses++;
}

/* True of operations that pass no derivative on. */
static bool
is_constant_code(rlf_expr_code code)
{
    switch (code) {
    case RLF_EXPR_SG:
    case RLF_EXPR_FLOOR:
    case RLF_EXPR_UNIFORM:
    case RLF_EXPR_COUNT:
    case RLF_EXPR_RANK:
        return true;
    default:
        return rlf_expr_is_condition(code);
    }
}

/* Is operand `k` of the term one per sample or prompt? */
static bool
is_whole(const rlf_sema *s, const rlf_term *term, int k)
{
    rlf_level level = rlf_level_of(s, s->terms.data[term->arg[k]].domain);
    return level == RLF_LEVEL_PROMPT || level == RLF_LEVEL_SAMPLE;
}

/* Does what operand `k`, one per token, repeats at each token stay so in the
 * term? A product with what each token has of its own is something else. */
static bool
passes_repeat(const rlf_sema *s, const rlf_term *term, int k)
{
    switch (term->code) {
    case RLF_EXPR_ADD:
    case RLF_EXPR_SUB:
    case RLF_EXPR_NEG:
    case RLF_EXPR_SG:
    case RLF_EXPR_DOWN:
        return true;
    case RLF_EXPR_SELECT:
        return k > 0;
    case RLF_EXPR_CLAMP:
    case RLF_EXPR_DIV:
        if (k > 0)
            return false;
        break;
    case RLF_EXPR_MUL:
    case RLF_EXPR_MIN:
    case RLF_EXPR_MAX:
        break;
    default:
        return false;
    }
    int other = s->terms.data[term->arg[1 - k]].domain;
    return rlf_level_of(s, other) != RLF_LEVEL_TOKEN;
}

/* A sum of one per token and one per sample repeats that at each token: it may
 * be meant, as in a baseline, and is nothing to add up along a response. */
static void
note_repeat(const rlf_sema *s, rlf_term *term)
{
    if (rlf_level_of(s, term->domain) != RLF_LEVEL_TOKEN)
        return;
    bool sum = term->code == RLF_EXPR_ADD || term->code == RLF_EXPR_SUB;
    for (int k = 0; k < 3 && !term->repeats; k++) {
        if (term->arg[k] < 0)
            continue;
        const rlf_term *a = &s->terms.data[term->arg[k]];
        if (sum && is_whole(s, term, k)) {
            term->repeats = term->arg[k] + 1;
            term->repeated = s->operand[k].source ? s->operand[k] : a->span;
        } else if (a->repeats && passes_repeat(s, term, k)) {
            term->repeats = a->repeats;
            term->repeated = a->repeated;
        }
    }
}

/* Fill in what follows from the operands: uses, liveness, the set. */
static int
finish(rlf_sema *s, rlf_term term)
{
    term.set = -1;
    for (int k = 0; k < 3; k++) {
        if (term.arg[k] < 0)
            continue;
        if (!rlf_term_plain(s, term.arg[k], term.span))
            return -1;
        const rlf_term *a = &s->terms.data[term.arg[k]];
        bool live = a->live && !is_constant_code(term.code);
        /* The condition of a choice only chooses. */
        if (term.code == RLF_EXPR_SELECT && k == 0)
            live = false;
        term.live = term.live || live;
        term.touches = term.touches || a->touches;
        if (a->domain == term.domain && term.set < 0)
            term.set = a->set;
        rlf_term_use(s, term.arg[k]);
        if (a->depth >= term.depth)
            term.depth = a->depth + 1;
    }
    if (term.depth > RLF_TERM_DEPTH) {
        rlf_diag_error(s->diags, "size", term.span,
                       "this value is made by more than %d operations one "
                       "after another",
                       RLF_TERM_DEPTH);
        return -1;
    }
    note_repeat(s, &term);
    rlf_finite_note(s, &term);
    return rlf_term_add(s, term);
}

enum { MOST_POWER = 1024 }; /* more makes any base infinite but 1 */

/* Is `value`, whole, what the operation gives of whole numbers that are all
 * exact? */
static bool
is_exact(rlf_expr_code code, const double *v, double value)
{
    const double largest = 9007199254740992.0; /* 2^53 */
    if (fabs(v[0]) > largest || fabs(v[1]) > largest || v[0] != floor(v[0]) ||
        v[1] != floor(v[1]) || fabs(value) < largest || !isfinite(value))
        return true;
    double power = 1;
    switch (code) {
    case RLF_EXPR_ADD:
        return value - v[0] == v[1] && value - v[1] == v[0];
    case RLF_EXPR_SUB:
        return v[0] - value == v[1] && value + v[1] == v[0];
    case RLF_EXPR_MUL:
        return fma(v[0], v[1], -value) == 0;
    case RLF_EXPR_POW:
        for (int i = 0; i < v[1] && i < MOST_POWER; i++) {
            if (fma(power, v[0], -(power * v[0])) != 0)
                return false;
            power *= v[0];
        }
        return true;
    default:
        return true;
    }
}

static void
warn_rounded(rlf_sema *s, rlf_expr_code code, const double *v, double value,
             rlf_span at)
{
    if (s->idle || is_exact(code, v, value))
        return;
    rlf_diag *diag = rlf_diag_warning(s->diags, "number", at,
                                      "this is not exact: it is %.0f", value);
    diag->left = s->operand[0];
    diag->right = s->operand[1];
    rlf_diag_hint(s->diags, diag, "above 2^53 not all whole numbers are kept");
}

static bool
fold(rlf_sema *s, rlf_expr_code code, const int *args, int n, rlf_span at,
     double *out)
{
    double value[3] = {0};
    if (!rlf_expr_is_pointwise(code))
        return false;
    for (int k = 0; k < n; k++) {
        if (!rlf_term_constant(s, args[k], &value[k]))
            return false;
    }
    *out = rlf_expr_apply(code, value[0], value[1], value[2]);
    warn_rounded(s, code, value, *out, at);
    return true;
}

/* The unit of what an operation gives, by those of its arguments, which are
 * constants. False: they do not go together. */
static bool
unit_of(rlf_expr_code code, const rlf_unit *u, int n, rlf_unit *out)
{
    bool alike = true, any = false;
    for (int k = 0; k < n; k++) {
        alike = alike && u[k] == u[0];
        any = any || u[k] != RLF_UNIT_NONE;
    }
    *out = RLF_UNIT_NONE;
    if (!any)
        return true;
    switch (code) {
    case RLF_EXPR_LT:
    case RLF_EXPR_LE:
    case RLF_EXPR_EQ:
    case RLF_EXPR_NE:
        return alike;
    case RLF_EXPR_DIV:
        *out = alike ? RLF_UNIT_NONE : u[0];
        return alike || u[1] == RLF_UNIT_NONE;
    case RLF_EXPR_MUL:
        *out = u[0] != RLF_UNIT_NONE ? u[0] : u[1];
        return u[0] == RLF_UNIT_NONE || u[1] == RLF_UNIT_NONE;
    case RLF_EXPR_ADD:
    case RLF_EXPR_SUB:
    case RLF_EXPR_MOD:
    case RLF_EXPR_MIN:
    case RLF_EXPR_MAX:
    case RLF_EXPR_CLAMP:
    case RLF_EXPR_NEG:
    case RLF_EXPR_ABS:
        *out = u[0];
        return alike;
    default:
        return false;
    }
}

/* Units meet only in arithmetic on constants. */
static bool
check_units(rlf_sema *s, rlf_expr_code code, const int *args, int n,
            rlf_span at, rlf_unit *out)
{
    rlf_unit u[3] = {RLF_UNIT_NONE};
    bool known = true, good;
    int one = -1;
    for (int k = 0; k < n; k++) {
        const rlf_term *t = &s->terms.data[args[k]];
        u[k] = t->unit;
        known = known && t->kind == RLF_TERM_CONST;
        one = u[k] != RLF_UNIT_NONE ? k : one;
    }
    good = unit_of(code, u, n, out) && (known || one < 0);
    if (good)
        return true;
    rlf_diag *diag =
        n > 1 ? rlf_diag_error(s->diags, "unit", at,
                               "%s and %s do not go together here",
                               rlf_unit_word(u[0]), rlf_unit_word(u[1]))
              : rlf_diag_error(s->diags, "unit", at,
                               "a number is wanted, and this is %s",
                               rlf_unit_word(u[0]));
    diag->left = s->terms.data[args[one]].span;
    rlf_diag_hint(s->diags, diag,
                  "write it without the unit: units are for arguments that "
                  "measure a time or bytes, as time: 60s");
    return false;
}

/* All numbers, but for the two texts of a comparison or a choice: who makes a
 * term has seen to it. */
static bool
are_numbers(const rlf_sema *s, rlf_expr_code code, const int *args, int n)
{
    bool good = true;
    for (int k = 0; k < n; k++) {
        bool text =
            code == RLF_EXPR_TEXT_EQ ||
            (code == RLF_EXPR_SELECT && k > 0 && s->terms.data[args[1]].text);
        good = good && s->terms.data[args[k]].text == text;
    }
    return good;
}

/* A third operand, where the first two met already. */
static int
meet_third(rlf_sema *s, int domain, int c, rlf_span at)
{
    const rlf_term *t = &s->terms.data[c];
    int all = rlf_domain_meet(&s->graph->domains, domain, t->domain);
    if (all < 0) {
        rlf_diag *diag = rlf_diag_error(s->diags, "level", at,
                                        "%s and %s cannot be combined",
                                        rlf_level_name(s, domain, -1),
                                        rlf_level_name(s, t->domain, t->set));
        diag->right = t->span;
    }
    return all;
}

/* Are two terms the same by how they are made? Looks so many operations deep.
 */
static bool
same(const rlf_sema *s, int a, int b, int depth)
{
    const rlf_term *x = &s->terms.data[a], *y = &s->terms.data[b];
    if (a == b)
        return true;
    if (!depth || x->kind != y->kind || x->domain != y->domain)
        return false;
    if (x->kind == RLF_TERM_CONST)
        return !x->text && !y->text && x->value <= y->value &&
               x->value >= y->value;
    if (x->kind != RLF_TERM_OP || x->code != y->code || x->over != y->over ||
        x->code == RLF_EXPR_UNIFORM)
        return false;
    for (int k = 0; k < 3; k++) {
        bool none = x->arg[k] < 0 || y->arg[k] < 0;
        if (none ? x->arg[k] != y->arg[k]
                 : !same(s, x->arg[k], y->arg[k], depth - 1))
            return false;
    }
    return true;
}

/* A ratio of a live value to itself changes with nothing: one of the two was
 * meant to be older. */
static void
warn_ratio(rlf_sema *s, rlf_expr_code code, int a, int b, rlf_span at)
{
    enum { DEPTH = 6 };
    const rlf_term *x = &s->terms.data[a];
    bool ratio = code == RLF_EXPR_SUB || code == RLF_EXPR_DIV;
    if (!ratio || !x->live || !same(s, a, b, DEPTH))
        return;
    rlf_diag *diag = rlf_diag_warning(
        s->diags, "live", at,
        code == RLF_EXPR_SUB
            ? "both sides are the same live value: the difference is always 0"
            : "both sides are the same live value: the ratio is always 1");
    diag->left = x->span;
    diag->right = s->terms.data[b].span;
    const char *set = x->set >= 0 ? s->graph->sets.data[x->set].name : "s";
    rlf_diag_hint(s->diags, diag,
                  "compare it with what was sampled, %s.logprob, with a value "
                  "that was named before the update, or with sg(...)",
                  set);
}

int
rlf_term_pointwise(rlf_sema *s, rlf_expr_code code, int a, int b, int c,
                   rlf_span at)
{
    int args[3] = {a, b, c}, n = rlf_expr_arity(code);
    for (int k = 0; k < n; k++) {
        if (args[k] < 0)
            return -1;
    }
    double value;
    rlf_unit unit;
    RLF_ASSERT(are_numbers(s, code, args, n));
    if (!check_units(s, code, args, n, at, &unit))
        return -1;
    if (fold(s, code, args, n, at, &value)) {
        int term = rlf_term_number(s, value, at);
        s->terms.data[term].unit = unit;
        s->terms.data[term].truth = gives_truth(s, code, args);
        rlf_finite_fold(s, code, args, n, term, at);
        return term;
    }
    int domain = n > 1 ? rlf_level_meet(s, a, b, at) : s->terms.data[a].domain;
    if (domain >= 0 && n > 2)
        domain = meet_third(s, domain, c, at);
    if (domain < 0)
        return -1;
    if (n == 2)
        warn_ratio(s, code, a, b, at);
    return finish(s,
                  (rlf_term){
                      .kind = RLF_TERM_OP,
                      .code = code,
                      .arg = {args[0], n > 1 ? b : -1, n > 2 ? c : -1},
                      .domain = domain,
                      .item = -1,
                      .text = code == RLF_EXPR_SELECT && s->terms.data[b].text,
                      .truth = gives_truth(s, code, args),
                      .span = at,
                  });
}

int
rlf_term_down(rlf_sema *s, int term, int domain, rlf_span at)
{
    if (term < 0 || s->terms.data[term].domain == domain)
        return term;
    return finish(s, (rlf_term){.kind = RLF_TERM_OP,
                                .code = RLF_EXPR_DOWN,
                                .arg = {term, -1, -1},
                                .domain = domain,
                                .item = -1,
                                .text = s->terms.data[term].text,
                                .span = at});
}

/* An operation whose domain the caller knows. */
int
rlf_term_op(rlf_sema *s, rlf_term term)
{
    term.kind = RLF_TERM_OP;
    term.item = -1;
    return finish(s, term);
}
