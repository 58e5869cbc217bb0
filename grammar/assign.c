/* model := sum: a weighted sum of models, term by term. */
#include "grammar/sema.h"

#include <float.h>

/* What is before a term: a sign, and a factor if `factor` is a term of the
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
    rlf_found found;
    switch (e->kind) {
    case RLF_AST_NAME:
        if (!rlf_name_find(s, &e->name, &found))
            return false;
        return found.local ? found.local->thing.kind == RLF_THING_MODEL
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
    rlf_thing model = rlf_eval(s, e);
    if (model.kind == RLF_THING_NONE)
        return false;
    if (model.kind != RLF_THING_MODEL)
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

bool
rlf_assign_sum(rlf_sema *s, rlf_item *item, const rlf_ast_expr *e)
{
    sum all = {.s = s, .item = item};
    if (!add_terms(&all, e, (weight){.sign = 1, .factor = -1}) ||
        !are_finite(&all))
        return false;
    item->args = all.terms.data;
    item->n_args = (int)all.terms.count;
    return true;
}
