/* model := sum: a weighted sum of models, term by term; and, of a model or a
 * state, a `:=` that changes nothing. */
#include "grammar/passes.h"

#include <float.h>

/* The weight before a term: a sign, and a factor if `factor` is a term of the
 * flow; -1: it is none. */
typedef struct weight {
    double sign;
    int factor;
    rlf_span span; /* of the factor next to the term */
} weight;

typedef struct sum {
    rlf_sema *s;
    rlf_item *item;
    RLF_VEC(rlf_arg) terms; /* from left to right */
} sum;

/* Is a model, or a sum of models, meant by it? */
static bool
has_model(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_found_name found;
    switch (e->kind) {
    case RLF_AST_NAME:
        if (!rlf_name_find(s, &e->name, &found))
            return false;
        return found.local ? found.local->entity.kind == RLF_ENTITY_MODEL
                           : found.decl && found.decl->kind == RLF_AST_MODEL;
    case RLF_AST_UNARY:
        return e->op == RLF_AST_NEG && has_model(s, e->left);
    case RLF_AST_BINARY:
        return has_model(s, e->left) || has_model(s, e->right);
    default:
        return false;
    }
}

static bool
fail(const sum *all, rlf_span span)
{
    rlf_diag *diag =
        rlf_diag_error(all->s->diags, "type", span,
                       "a model is set to a weighted sum of models");
    rlf_diag_hint(all->s->diags, diag, "avg := 0.99 * avg + 0.01 * actor");
    return false;
}

/* A factor of the terms in `inner`, or with RLF_EXPR_DIV what divides them. */
static bool
put_factor(const sum *all, const rlf_ast_expr *e, rlf_expr_code code,
           weight *inner)
{
    rlf_sema *s = all->s;
    int term = rlf_eval_plain(s, e);
    if (term < 0)
        return false;
    if (s->terms.data[term].domain != 0) {
        rlf_diag_error(s->diags, "level", e->span,
                       "a model is weighted by one number");
        return false;
    }
    if (inner->factor < 0 && code == RLF_EXPR_DIV)
        inner->factor = rlf_term_number(s, 1, e->span);
    inner->factor =
        inner->factor < 0
            ? term
            : rlf_term_pointwise(s, code, inner->factor, term, -1, e->span);
    inner->span = e->span;
    return inner->factor >= 0;
}

/* One model. */
static bool
add_model(sum *all, const rlf_ast_expr *e, weight before)
{
    rlf_sema *s = all->s;
    rlf_entity model = rlf_eval(s, e);
    if (model.kind == RLF_ENTITY_NONE)
        return false;
    if (model.kind != RLF_ENTITY_MODEL)
        return fail(all, e->span);
    rlf_arg *pair = RLF_NEW_ARRAY(s->arena, rlf_arg, 2);
    pair[0] = (rlf_arg){.kind = RLF_ARG_NUMBER,
                        .number = before.sign,
                        .span = e->span,
                        .given = true};
    pair[1] = (rlf_arg){.kind = RLF_ARG_RESOURCE,
                        .resource = model.resource,
                        .given = true,
                        .span = e->span};
    int term = before.factor;
    if (term >= 0 && before.sign < 0)
        term = rlf_term_pointwise(s, RLF_EXPR_NEG, term, -1, -1, e->span);
    if (before.factor >= 0 &&
        (term < 0 || !rlf_finite_effect(s, term, before.span)))
        return false;
    if (term >= 0 && !rlf_term_constant(s, term, &pair[0].number)) {
        pair[0].kind = RLF_ARG_VALUE;
        pair[0].value = term;
        pair[0].input = rlf_item_input_term(s, all->item, term);
    }
    if (model.resource != all->item->receiver)
        RLF_PUSH_IN(s->arena, &all->item->reads, model.resource);
    RLF_PUSH_IN(s->arena, &all->terms,
                ((rlf_arg){.kind = RLF_ARG_LIST,
                           .list = pair,
                           .n_list = 2,
                           .given = true,
                           .span = e->span}));
    return true;
}

/* All terms of e, each with what is before e. */
static bool
add_terms(sum *all, const rlf_ast_expr *e, weight before)
{
    weight right = before;
    if (e->kind == RLF_AST_UNARY && e->op == RLF_AST_NEG) {
        right.sign = -right.sign;
        return add_terms(all, e->left, right);
    }
    if (e->kind != RLF_AST_BINARY)
        return add_model(all, e, before);
    switch (e->op) {
    case RLF_AST_SUB:
        right.sign = -right.sign;
        /* fall through */
    case RLF_AST_ADD:
        return add_terms(all, e->left, before) &&
               add_terms(all, e->right, right);
    case RLF_AST_MUL: {
        bool first = has_model(all->s, e->left);
        if (first && has_model(all->s, e->right))
            return fail(all, e->span);
        const rlf_ast_expr *factor = first ? e->right : e->left;
        return rlf_term_computes(all->s, e) &&
               put_factor(all, factor, RLF_EXPR_MUL, &before) &&
               add_terms(all, first ? e->left : e->right, before);
    }
    case RLF_AST_DIV:
        if (has_model(all->s, e->right))
            return fail(all, e->span);
        return rlf_term_computes(all->s, e) &&
               put_factor(all, e->right, RLF_EXPR_DIV, &before) &&
               add_terms(all, e->left, before);
    default:
        return fail(all, e->span);
    }
}

/* The ends of the factor before the model in term `i`. */
static void
ends_of(const sum *all, size_t i, double *least, double *most)
{
    const rlf_arg *factor = &all->terms.data[i].list[0];
    *least = *most = factor->number;
    if (factor->kind == RLF_ARG_VALUE)
        rlf_term_bounds(all->s, factor->value, least, most);
}

/* Weights are f32: a factor of a model that is more than they hold in every
 * step. Terms of one model are one. */
static bool
are_finite(const sum *all)
{
    rlf_sema *s = all->s;
    for (size_t i = 0; i < all->terms.count && !s->idle; i++) {
        const rlf_arg *model = &all->terms.data[i].list[1];
        double least = 0, most = 0, low, high;
        for (size_t k = 0; k < all->terms.count; k++) {
            if (all->terms.data[k].list[1].resource != model->resource)
                continue;
            ends_of(all, k, &low, &high);
            least += low;
            most += high;
        }
        if (!(least > FLT_MAX) && !(most < -FLT_MAX))
            continue;
        const char *text = rlf_arena_printf(
            s->arena,
            "the factor of '%s' is %s%g, and weights, which are f32, go up to "
            "3.4e38",
            s->graph->resources.data[model->resource].name,
            least < most ? least > 0 ? "never below " : "never above " : "",
            least > 0 ? least : most);
        if (!s->maybe) {
            rlf_diag_error(s->diags, "number", model->span, "%s", text);
            return false;
        }
        rlf_diag_warning(s->diags, "number", model->span,
                         "%s, which ends the run if it comes to that", text);
        return true;
    }
    return true;
}

/* ---- what changes nothing ---- */

/* Is it made of models and written numbers? Where a parameter decides, a sum
 * that changes nothing is a choice. */
static bool
is_written(rlf_sema *s, const rlf_ast_expr *e)
{
    switch (e->kind) {
    case RLF_AST_NUMBER:
        return true;
    case RLF_AST_UNARY:
        return is_written(s, e->left);
    case RLF_AST_BINARY:
        return is_written(s, e->left) && is_written(s, e->right);
    default:
        return e->kind == RLF_AST_NAME && has_model(s, e);
    }
}

/* Has the model itself the factor 1, and each other the factor 0? As weights
 * are, in f32. */
static bool
is_itself(const sum *all)
{
    double own = 0;
    for (size_t i = 0; i < all->terms.count; i++) {
        int model = all->terms.data[i].list[1].resource;
        double factor = 0;
        for (size_t k = 0; k < all->terms.count; k++)
            if (all->terms.data[k].list[1].resource == model)
                factor += all->terms.data[k].list[0].number;
        if (model == all->item->receiver)
            own = factor;
        else if ((float)factor < 0 || (float)factor > 0)
            return false;
    }
    return (float)own >= 1 && (float)own <= 1;
}

static void
warn_same(const sum *all, const rlf_ast_expr *e)
{
    rlf_sema *s = all->s;
    if (s->idle || !is_written(s, e) || !is_itself(all))
        return;
    const char *name = s->graph->resources.data[all->item->receiver].name;
    rlf_diag *diag = rlf_diag_warning(s->diags, "unused", e->span,
                                      "this leaves '%s' as it is", name);
    rlf_diag_hint(s->diags, diag,
                  e->kind == RLF_AST_NAME
                      ? "take it out, or name the model that it is to become"
                      : "take it out, or give another model a factor: avg := "
                        "0.99 * avg + 0.01 * actor");
}

/* Is it the number `x`, as it is written? */
static bool
is_number(const rlf_ast_expr *e, double x)
{
    return e->kind == RLF_AST_NUMBER && e->number >= x && e->number <= x;
}

/* Is it 0, whatever is written beside a 0? */
static bool
is_nothing(const rlf_ast_expr *e)
{
    return is_number(e, 0) ||
           (e->kind == RLF_AST_BINARY && e->op == RLF_AST_MUL &&
            (is_number(e->left, 0) || is_number(e->right, 0)));
}

bool
rlf_assign_same(rlf_sema *s, const rlf_ast_decl *state, const rlf_ast_expr *e)
{
    rlf_found_name found;
    if (e->kind == RLF_AST_NAME)
        return rlf_name_find(s, &e->name, &found) && found.decl == state;
    if (e->kind == RLF_AST_INDEX) /* of some rows: of these it is the same */
        return rlf_assign_same(s, state, e->left);
    if (e->kind != RLF_AST_BINARY)
        return false;
    bool left = rlf_assign_same(s, state, e->left),
         right = rlf_assign_same(s, state, e->right);
    switch (e->op) {
    case RLF_AST_ADD:
        return (left && is_nothing(e->right)) || (right && is_nothing(e->left));
    case RLF_AST_SUB:
        return left && is_nothing(e->right);
    case RLF_AST_MUL:
        return (left && is_number(e->right, 1)) ||
               (right && is_number(e->left, 1));
    case RLF_AST_DIV:
        return left && is_number(e->right, 1);
    default:
        return false;
    }
}

bool
rlf_assign_sum(rlf_sema *s, rlf_item *item, const rlf_ast_expr *e)
{
    sum all = {.s = s, .item = item};
    if (!add_terms(&all, e, (weight){.sign = 1, .factor = -1}) ||
        !are_finite(&all))
        return false;
    warn_same(&all, e);
    item->args = all.terms.data;
    item->n_args = (int)all.terms.count;
    return true;
}
