/* Ranges of a def's arguments, `low = 0.2 in 0..1`.
 *
 * A value that is outside in every step is refused here. One that constants and
 * `step` do not decide becomes an item of class "within", which looks at it in
 * each step that makes it. It reads and gives nothing else, so it changes no
 * bit of the run, and is numbered apart from calls. */
#include "grammar/passes.h"

#include "grammar/other_names.h"

#include <math.h>

/* An argument in hand. */
typedef struct ranged {
    const rlf_ast_decl *def;
    const rlf_ast_formal *formal;
    double low, high;
    rlf_span at; /* where it was given */
} ranged;

/* ---- which choices decide whether the argument is used ---- */

/* Can the condition be asked for each value of the term? One that depends on
 * live calls is known in the update alone. */
static bool
decides(const rlf_sema *s, const rlf_sema_choice *choice, const rlf_term *t)
{
    const rlf_term *c = &s->terms.data[choice->condition];
    if (c->text || (c->touches && !t->touches))
        return false;
    return c->domain == 0 ||
           (t->domain != 0 &&
            rlf_domain_reaches(&s->graph->domains, c->domain, t->domain));
}

/* The innermost choice from `choice` on that decides; NULL: there is none. */
static const rlf_sema_choice *
deciding(const rlf_sema *s, const rlf_sema_choice *choice, int term)
{
    while (choice && !decides(s, choice, &s->terms.data[term]))
        choice = choice->outer;
    return choice;
}

static const char *
key_of(const rlf_sema *s, const ranged *r, const rlf_sema_choice *choice)
{
    return rlf_arena_printf(s->arena, "%.17g %.17g %d %p", r->low, r->high,
                            s->condition, (const void *)choice);
}

/* Is the term looked at already, for this range, whenever it is used here? */
static bool
is_looked_at(rlf_sema *s, const rlf_node_class *class, const ranged *r,
             int term)
{
    const rlf_sema_choice *choice = deciding(s, s->choice, term);
    for (;; choice = deciding(s, choice->outer, term)) {
        if (rlf_item_made(s, class, term, key_of(s, r, choice)) >= 0)
            return true;
        if (!choice)
            return false;
    }
}

/* ---- what is looked at ---- */

/* The value where it is used, and one of the range elsewhere. */
static int
where_used(rlf_sema *s, const ranged *r, int term)
{
    const rlf_term *live = &s->terms.data[term];
    int inside = rlf_term_number(s, r->low, r->at), x = term;
    const rlf_sema_choice *choice = deciding(s, s->choice, term);
    for (; choice; choice = deciding(s, choice->outer, term))
        x = rlf_term_pointwise(s, RLF_EXPR_SELECT, choice->condition,
                               choice->holds ? x : inside,
                               choice->holds ? inside : x, r->at);
    bool known = s->condition >= 0 &&
                 (live->touches || !s->terms.data[s->condition].touches);
    if (known)
        x = rlf_term_pointwise(s, RLF_EXPR_SELECT, s->condition, x, inside,
                               r->at);
    return x;
}

/* The least or the largest of the values; where there are none, one of the
 * range. -1 after a message. */
static int
end_of(rlf_sema *s, const char *reduction, const ranged *r, int term)
{
    rlf_ast_name vocab = {.text = "vocab", .span = r->at},
                 batch = {.text = "batch", .span = r->at};
    int x = term;
    if (rlf_level_of(s, s->terms.data[x].domain) == RLF_LEVEL_VOCAB)
        x = rlf_level_reduce(s, reduction, x, &vocab, r->at);
    if (x < 0 || s->terms.data[x].domain == 0)
        return x;
    int count = rlf_level_reduce(s, "count", x, &batch, r->at);
    x = rlf_level_reduce(s, reduction, x, &batch, r->at);
    if (x < 0 || count < 0)
        return -1;
    return rlf_term_pointwise(s, RLF_EXPR_SELECT, count, x,
                              rlf_term_number(s, r->low, r->at), r->at);
}

static const rlf_formal *
formal_of(const rlf_sema *s, const ranged *r)
{
    rlf_formal *formal = RLF_NEW(s->arena, rlf_formal);
    formal->name = r->formal->name.text;
    formal->kind = RLF_FORMAL_NUMBER;
    formal->least = r->low;
    formal->most = r->high;
    formal->owner = r->def->name.text;
    formal->doc =
        rlf_arena_printf(s->arena, "'%s' declares it so", r->def->name.text);
    return formal;
}

void
rlf_range_place(rlf_sema *s, const rlf_formal *formal, int term, rlf_span at)
{
    const rlf_node_class *class = rlf_classes_syntax(s->classes, "within");
    rlf_item *item = rlf_item_new(s, class, -1, at);
    item->shared = true;
    item->args = RLF_NEW(s->arena, rlf_arg);
    item->args[0] = (rlf_arg){.kind = RLF_ARG_VALUE,
                              .name = class->formals[0].name,
                              .value = term,
                              .input = rlf_item_input_term(s, item, term),
                              .formal = formal,
                              .given = true,
                              .span = item->span};
    item->n_args = 1;
    rlf_item_place(s, item);
}

/* "0 or more", "from 0 to 1": as it is declared. */
static const char *
range_text(rlf_sema *s, const rlf_ast_formal *f)
{
    const char *low = rlf_form_text(s, f->low->span);
    return f->high ? rlf_arena_printf(s->arena, "from %s to %s", low,
                                      rlf_form_text(s, f->high->span))
                   : rlf_arena_printf(s->arena, "%s or more", low);
}

/* A value per row that is given for one of another kind, as the advantage for
 * the ratio, may be in the range by chance: a warning says so before a run. */
static void
warn_unsure(rlf_sema *s, const ranged *r, int term)
{
    if (s->update < 0 || s->terms.data[term].domain == 0)
        return;
    rlf_diag *diag = rlf_diag_warning(
        s->diags, "argument", r->at,
        "the argument '%s' of '%s' must be %s, and the run ends where it is "
        "not",
        r->formal->name.text, r->def->name.text, range_text(s, r->formal));
    const char *hint = rlf_other_name_argument(r->formal->name.text);
    if (hint)
        rlf_diag_hint(s->diags, diag, "%s", hint);
    rlf_diag_note(s->diags, diag, r->formal->span, "it is declared here");
}

/* Look at it in each step. False after a message. */
static bool
look_later(rlf_sema *s, const ranged *r, int term)
{
    const rlf_node_class *class = rlf_classes_syntax(s->classes, "within");
    bool live = s->terms.data[term].touches;
    if (s->part < 0 || is_looked_at(s, class, r, term))
        return true;
    rlf_item_keep(s, class, term, key_of(s, r, deciding(s, s->choice, term)),
                  term);
    warn_unsure(s, r, term);
    const rlf_formal *formal = formal_of(s, r);
    int update = s->update, x = where_used(s, r, term);
    bool one = s->terms.data[x].domain == 0;
    s->update = live ? update : -1; /* of a whole set, also in a loop */
    for (int k = 0; k < (one ? 1 : 2) && x >= 0; k++) {
        int end = end_of(s, k ? "max" : "min", r, x);
        if (end < 0)
            x = -1;
        else if (live)
            rlf_update_look(s, formal, end, r->at);
        else
            rlf_range_place(s, formal, end, r->at);
    }
    s->update = update;
    return x >= 0;
}

/* A range is one of numbers: true or false is none, nor is a condition of one
 * value; those of values per row count as 0 and 1. */
static bool
is_number(rlf_sema *s, const rlf_ast_decl *def, const rlf_ast_formal *f,
          const rlf_ast_expr *given, const rlf_entity *arg)
{
    const char *what = rlf_arena_printf(s->arena, "the argument '%s' of '%s'",
                                        f->name.text, def->name.text);
    if ((!given || rlf_term_is_written_number(s, given, what)) &&
        (s->terms.data[arg->term].domain != 0 ||
         rlf_term_is_number(s, arg->term, what, arg->span)))
        return true;
    rlf_diag_note(s->diags, &s->diags->list.data[s->diags->list.count - 1],
                  f->span, "it is declared here");
    return false;
}

bool
rlf_range_fits(rlf_sema *s, const rlf_ast_decl *def, const rlf_ast_formal *f,
               const rlf_entity *arg, rlf_span at)
{
    ranged r = {.def = def, .formal = f, .high = INFINITY, .at = at};
    double least, most;
    int term = rlf_entity_number(s, arg, arg->span);
    if (term < 0 || !rlf_range_end(s, f->low, &r.low) ||
        (f->high && !rlf_range_end(s, f->high, &r.high)))
        return false;
    if (!is_number(s, def, f, NULL, arg))
        return false;
    rlf_term_bounds(s, term, &least, &most);
    if (s->idle || (least >= r.low && most <= r.high))
        return true;
    if (least <= r.high && most >= r.low)
        return look_later(s, &r, term);
    rlf_diag *diag = rlf_diag_error(
        s->diags, "argument", arg->span, "the argument '%s' of '%s' must be %s",
        f->name.text, def->name.text, range_text(s, f));
    rlf_def_hint_elsewhere(s, diag, def);
    rlf_diag_note(s->diags, diag, f->span, "it is declared here");
    return false;
}

/* ---- the declaration ---- */

/* Is it a number as written, which no parameter changes? */
static bool
is_written(const rlf_ast_expr *e, double *out)
{
    bool minus = e && e->kind == RLF_AST_UNARY && e->op == RLF_AST_NEG;
    const rlf_ast_expr *number = minus ? e->left : e;
    if (!number || number->kind != RLF_AST_NUMBER)
        return false;
    *out = minus ? -number->number : number->number;
    return true;
}

bool
rlf_range_measures(rlf_sema *s, const rlf_ast_decl *def,
                   const rlf_ast_formal *f, const rlf_ast_expr *given,
                   const rlf_entity *arg)
{
    double x;
    return (!f->low && !is_written(f->value, &x)) ||
           arg->kind != RLF_ENTITY_NUMBER || is_number(s, def, f, given, arg);
}

/* Can the formal's range hold anything, and does it hold the default? */
static void
check_range(rlf_sema *s, const rlf_ast_formal *f)
{
    const char *kind = rlf_def_kind(f);
    rlf_span span =
        rlf_span_join(f->low->span, f->high ? f->high->span : f->low->span);
    double low, high = INFINITY, x;
    if (kind) {
        rlf_diag_error(s->diags, "argument", span,
                       "an argument that takes a %s has no range of numbers",
                       kind);
        return;
    }
    if (!is_written(f->low, &low) || (f->high && !is_written(f->high, &high)))
        return;
    if (low > high) {
        rlf_diag *diag = rlf_diag_error(s->diags, "argument", span,
                                        "there is nothing in this range");
        rlf_diag_hint(s->diags, diag, "the smaller number comes first");
    } else if (is_written(f->value, &x) && (x < low || x > high)) {
        rlf_diag_error(s->diags, "argument", f->value->span,
                       "the default of '%s' must be %s", f->name.text,
                       range_text(s, f));
    }
}

void
rlf_def_ranges(rlf_sema *s, const rlf_ast_decl *def)
{
    for (size_t i = 0; def->formals && i < def->formals->count; i++)
        if (def->formals->data[i].low)
            check_range(s, &def->formals->data[i]);
}
