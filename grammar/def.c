/* Uses of `def`s: expanded where they stand.
 *
 * A def sees its arguments and its file's declarations. Messages about what is
 * inside say in which use it was. */
#include "grammar/passes.h"

#include "grammar/other_names.h"

#include <string.h>

/* ---- what a formal takes ---- */

typedef struct word_row {
    const char *word;
    int level; /* the finest, or -1: a kind of entity */
    rlf_entity_kind kind;
} word_row;

static const word_row words[] = {
    {"scalar", RLF_LEVEL_SCALAR, RLF_ENTITY_NUMBER},
    {"prompt", RLF_LEVEL_PROMPT, RLF_ENTITY_NUMBER},
    {"sample", RLF_LEVEL_SAMPLE, RLF_ENTITY_NUMBER},
    {"token", RLF_LEVEL_TOKEN, RLF_ENTITY_NUMBER},
    {"vocab", RLF_LEVEL_VOCAB, RLF_ENTITY_NUMBER},
    {"model", -1, RLF_ENTITY_MODEL},
    {"set", -1, RLF_ENTITY_SET},
    {"text", -1, RLF_ENTITY_TEXT},
};

static const word_row *
word_of(const char *word)
{
    for (size_t i = 0; i < RLF_COUNT(words); i++) {
        if (!strcmp(words[i].word, word))
            return &words[i];
    }
    return NULL;
}

const char *
rlf_def_kind(const rlf_ast_formal *f)
{
    const word_row *w = f->word.text ? word_of(f->word.text) : NULL;
    return w && w->level < 0 ? w->word : NULL;
}

/* The row of one of the formal's words; NULL after a message. */
static const word_row *
known_word(rlf_sema *s, const rlf_ast_name *word)
{
    const word_row *w = word_of(word->text);
    if (w)
        return w;
    rlf_diag *diag = rlf_diag_error(s->diags, "name", word->span,
                                    "there is no level or kind '%s'",
                                    word->text);
    rlf_diag_hint(s->diags, diag,
                  "it is scalar, prompt, sample, token, "
                  "vocab, model, set or text");
    return NULL;
}

/* Are both ends of `least..word` levels, in this order? */
static bool
known_levels(rlf_sema *s, const rlf_ast_formal *f)
{
    const word_row *low = known_word(s, &f->least),
                   *high = known_word(s, &f->word);
    if (!low || !high)
        return false;
    if (low->level >= 0 && low->level <= high->level)
        return true;
    rlf_diag *diag =
        rlf_diag_error(s->diags, "level",
                       rlf_span_join(f->least.span, f->word.span),
                       "%s..%s are no levels from a coarser to a finer one",
                       f->least.text, f->word.text);
    rlf_diag_hint(s->diags, diag,
                  "levels are scalar, prompt, sample, token, vocab");
    return false;
}

void
rlf_def_hint_elsewhere(rlf_sema *s, rlf_diag *diag, const rlf_ast_decl *def)
{
    const char *hint = rlf_other_name_elsewhere(def->name.text);
    if (hint)
        rlf_diag_hint(s->diags, diag, "%s", hint);
}

/* The formal takes one value per row at least: no constant, say. */
static bool
fits_levels(rlf_sema *s, const rlf_ast_decl *def, const rlf_ast_formal *f,
            const rlf_entity *arg)
{
    int term = rlf_entity_number(s, arg, arg->span);
    if (term < 0 || !known_levels(s, f))
        return false;
    const rlf_term *t = &s->terms.data[term];
    int level = (int)rlf_level_of(s, t->domain);
    if (level >= word_of(f->least.text)->level &&
        level <= word_of(f->word.text)->level)
        return true;
    rlf_diag *diag = rlf_diag_error(
        s->diags, "level", arg->span,
        "the argument '%s' of '%s' takes one per %s to one per %s, and this "
        "is %s",
        f->name.text, def->name.text, f->least.text, f->word.text,
        rlf_level_name(s, t->domain, t->set));
    rlf_def_hint_elsewhere(s, diag, def);
    rlf_diag_note(s->diags, diag, f->span, "it is declared here");
    return false;
}

/* Does the argument fit the formal's word? Makes a set of a data name. */
static bool
fits_word(rlf_sema *s, const rlf_ast_decl *def, const rlf_ast_formal *f,
          rlf_entity *arg)
{
    const word_row *w = known_word(s, &f->word);
    if (!w)
        return false;
    if (f->least.text)
        return fits_levels(s, def, f, arg);
    if (w->kind == RLF_ENTITY_SET) {
        int set = rlf_entity_set(s, arg, arg->span);
        *arg = rlf_entity_none(arg->span);
        arg->kind = set >= 0 ? RLF_ENTITY_SET : RLF_ENTITY_NONE;
        arg->set = set;
        return set >= 0;
    }
    if (w->level < 0) {
        bool text = w->kind == RLF_ENTITY_TEXT && arg->kind == RLF_ENTITY_WORDS;
        if (arg->kind == w->kind || text)
            return true;
        rlf_diag_error(s->diags, "type", arg->span,
                       "the argument '%s' of '%s' takes a %s, and this is %s",
                       f->name.text, def->name.text, w->word,
                       rlf_entity_word(s, arg));
        return false;
    }
    int term = rlf_entity_number(s, arg, arg->span);
    if (term < 0)
        return false;
    const rlf_term *t = &s->terms.data[term];
    int level = (int)rlf_level_of(s, t->domain);
    /* A function that goes along a response takes a value of its own for each
     * token: a value for all of it, repeated, is something else. */
    bool repeats = w->level == RLF_LEVEL_TOKEN &&
                   (level == RLF_LEVEL_PROMPT || level == RLF_LEVEL_SAMPLE);
    if (level <= w->level && !repeats)
        return w->level != RLF_LEVEL_TOKEN ||
               rlf_level_own(
                   s, term,
                   rlf_arena_printf(s->arena,
                                    "the argument '%s' of '%s' takes one of "
                                    "its own per token",
                                    f->name.text, def->name.text),
                   arg->span);
    const char *takes =
        w->level == RLF_LEVEL_SCALAR
            ? "one number for all"
            : rlf_arena_printf(s->arena, "one per %s %s", w->word,
                               repeats ? "or one number" : "at most");
    rlf_diag *diag = rlf_diag_error(
        s->diags, "level", arg->span,
        "the argument '%s' of '%s' takes %s, and this is %s", f->name.text,
        def->name.text, takes, rlf_level_name(s, t->domain, t->set));
    if (repeats)
        rlf_diag_hint(s->diags, diag,
                      "s.at_last(x) puts one per sample on its last token, "
                      "s.at_all(x) on each");
    else if (level == (int)RLF_LEVEL_TOKEN)
        rlf_diag_hint(s->diags, diag,
                      "reduce it first: sum(... over tokens), or mean(... over "
                      "tokens)");
    rlf_diag_note(s->diags, diag, f->span, "it is declared here");
    return false;
}

/* ---- arguments ---- */

/* given[i]: the first argument for formal i, or NULL. `at`: the formals'
 * numbers by name, plus 1. */
static void
sort_args(const rlf_ast_args *args, const rlf_map *at, size_t n,
          const rlf_ast_arg **given)
{
    size_t plain = 0;
    for (size_t k = 0; args && k < args->count; k++) {
        const rlf_ast_arg *arg = &args->data[k];
        size_t i = arg->label.text
                       ? (size_t)(uintptr_t)rlf_map_get(at, arg->label.text) - 1
                       : plain++;
        if (i < n && !given[i])
            given[i] = arg;
    }
}

/* "low: 0.2, high: 0.2" of clip_eps: 0.2; NULL: it is not several, or not of
 * these names. */
static const char *
as_several(const rlf_sema *s, const rlf_ast_arg *arg, const char *const *names,
           size_t n)
{
    const char *parts = rlf_other_name_parts(arg->label.text);
    const char *x = rlf_form_text(s, arg->value->span);
    for (size_t i = 0; parts && i < n; i++)
        if (rlf_word_is_of(parts, names[i]))
            return rlf_other_name_pairs(s->arena, parts,
                                        (const char *const[]){x, x}, 2);
    return NULL;
}

/* Labels that no formal has, and too many arguments. */
static bool
check_args(rlf_sema *s, const rlf_ast_decl *def, const rlf_ast_expr *call,
           const rlf_map *formals)
{
    size_t n = def->formals ? def->formals->count : 0, plain = 0;
    const char **names = RLF_NEW_ARRAY(s->arena, const char *, n);
    bool good = true;
    for (size_t i = 0; i < n; i++)
        names[i] = def->formals->data[i].name.text;
    for (size_t k = 0; call->args && k < call->args->count; k++) {
        const rlf_ast_arg *arg = &call->args->data[k];
        if (arg->over.text) {
            rlf_diag *diag =
                rlf_diag_error(s->diags, "argument", call->at,
                               "'%s' is not a reduction", def->name.text);
            if (call->args->count == 1)
                rlf_diag_hint(s->diags, diag, "write %s(%s)", def->name.text,
                              rlf_form_text(s, arg->value->span));
            return false;
        }
        size_t at =
            arg->label.text
                ? (size_t)(uintptr_t)rlf_map_get(formals, arg->label.text)
                : 0;
        bool known = at-- > 0;
        if (!arg->label.text && plain++ < n)
            continue;
        if (known && at >= plain)
            continue;
        good = false;
        rlf_diag *diag;
        if (!arg->label.text)
            diag = rlf_diag_error(s->diags, "argument", arg->span,
                                  "'%s' takes %zu argument%s", def->name.text,
                                  n, n == 1 ? "" : "s");
        else
            diag = rlf_diag_error(s->diags, "argument", arg->label.span,
                                  known ? "'%s' already has '%s'"
                                        : "'%s' has no argument '%s'",
                                  def->name.text, arg->label.text);
        const char *nearest = arg->label.text && !known
                                  ? rlf_other_name(arg->label.text, names, n)
                                  : NULL;
        const char *several = arg->label.text && !known && !nearest
                                  ? as_several(s, arg, names, n)
                                  : NULL;
        const char *label =
            arg->label.text && !known
                ? rlf_other_name_label(arg->label.text, names, n)
                : NULL;
        if (label)
            rlf_diag_hint(s->diags, diag, "%s", label);
        else if (several)
            rlf_diag_hint(s->diags, diag, "write %s", several);
        else if (nearest)
            rlf_diag_hint(s->diags, diag, "did you mean '%s'?", nearest);
        rlf_diag_note(s->diags, diag, def->name.span, "it is declared here");
    }
    return good;
}

static void
put_formal(rlf_sema *s, rlf_scope *scope, const rlf_ast_formal *f,
           rlf_entity entity)
{
    rlf_named *named = RLF_NEW(s->arena, rlf_named);
    named->entity = entity;
    named->span = f->name.span;
    rlf_map_put(&scope->entities, f->name.text, named);
}

void
rlf_def_formal(rlf_sema *s, rlf_scope *scope, const rlf_ast_formal *f)
{
    if (f->least.text)
        known_levels(s, f);
    else if (f->word.text)
        known_word(s, &f->word);
    put_formal(s, scope, f, rlf_entity_none(f->name.span));
}

/* The formals' values, in a new scope. */
static bool
bind(rlf_sema *s, const rlf_ast_decl *def, rlf_module *module,
     const rlf_ast_expr *call)
{
    rlf_scope *caller = s->scope;
    size_t n = def->formals ? def->formals->count : 0;
    rlf_entity *values = RLF_NEW_ARRAY(s->arena, rlf_entity, n);
    const rlf_ast_arg **given = RLF_NEW_ARRAY(s->arena, const rlf_ast_arg *, n);
    rlf_map at = {.arena = s->arena};
    for (size_t i = n; i-- > 0;)
        rlf_map_put(&at, def->formals->data[i].name.text,
                    (void *)(uintptr_t)(i + 1));
    bool good = check_args(s, def, call, &at);
    sort_args(call->args, &at, n, given);
    for (size_t i = 0; i < n && good; i++)
        if (given[i])
            values[i] = rlf_eval(s, given[i]->value);
    if (!good)
        return false;
    rlf_scope *scope = rlf_scope_push(s, NULL, module);
    scope->def = true;
    s->defs[s->n_defs++] = def;
    for (size_t i = 0; i < n; i++) {
        const rlf_ast_formal *f = &def->formals->data[i];
        if (!given[i] && !f->value) {
            rlf_diag *diag = rlf_diag_error(s->diags, "argument", call->at,
                                            "'%s' lacks its argument '%s'",
                                            def->name.text, f->name.text);
            rlf_diag_note(s->diags, diag, f->span, "it is declared here");
            good = false;
            continue;
        }
        if (!given[i])
            values[i] = rlf_eval(s, f->value);
        if (values[i].kind == RLF_ENTITY_NONE)
            good = false;
        else if (f->word.text && !fits_word(s, def, f, &values[i]))
            good = false;
        else if (given[i] &&
                 !rlf_range_measures(s, def, f, given[i]->value, &values[i]))
            good = false;
        else if (f->low &&
                 !rlf_range_fits(s, def, f, &values[i],
                                 given[i] ? values[i].span : call->span))
            good = false;
        put_formal(s, scope, f, values[i]);
    }
    if (!good)
        s->scope = caller;
    return good;
}

/* ---- the body ---- */

bool
rlf_def_form(rlf_sema *s, const rlf_ast_decl *def)
{
    size_t n = def->body->stmts.count;
    for (size_t i = 0; i < n; i++) {
        const rlf_ast_stmt *stmt = def->body->stmts.data[i];
        bool last = i + 1 == n;
        if (stmt->kind == (last ? RLF_AST_RETURN : RLF_AST_LET))
            continue;
        rlf_diag *diag = rlf_diag_error(
            s->diags, "statement", stmt->span,
            last ? "a def with a block ends with a return"
                 : "a def holds only names and, at its end, a return");
        rlf_diag_note(s->diags, diag, def->name.span, "of this def");
        return false;
    }
    if (n == 0)
        rlf_diag_error(s->diags, "statement", def->span,
                       "a def with a block ends with a return");
    return n > 0;
}

static rlf_entity
run_body(rlf_sema *s, const rlf_ast_decl *def)
{
    rlf_entity value = rlf_entity_none(def->span);
    if (!rlf_def_form(s, def))
        return value;
    for (size_t i = 0; i < def->body->stmts.count; i++) {
        const rlf_ast_stmt *stmt = def->body->stmts.data[i];
        value = rlf_eval(s, stmt->value);
        if (stmt->kind == RLF_AST_LET)
            rlf_name_give(s, &stmt->name, value);
    }
    return value;
}

/* The place where an imported function is used: its argument, if it has one. */
static rlf_span
place_of_use(const rlf_ast_expr *call)
{
    return call->args && call->args->count == 1 ? call->args->data[0].span
                                                : call->at;
}

/* Is it about values that did not fit, not about how the def is written? */
static bool
of_arguments(const rlf_diag *diag)
{
    return rlf_word_is_of("level|type|argument|unit|number|live|update",
                          diag->code);
}

/* Is it about what the def holds? What an imported file declares is right, and
 * the use is not (*moves): it is reported there, once. */
static bool
is_inside(const rlf_sema *s, const rlf_diag *diag, const rlf_ast_decl *def,
          const rlf_module *module, bool *moves)
{
    *moves = module != s->modules.data[0] && of_arguments(diag);
    return diag->at.source == def->span.source &&
           diag->at.first >= def->span.first && diag->at.last <= def->span.last;
}

/* Of what was reported inside a def: in which use of it. */
static void
note_use(rlf_sema *s, size_t before, const rlf_ast_decl *def,
         const rlf_module *module, const rlf_ast_expr *call)
{
    size_t i = before;
    while (i < s->diags->list.count) {
        rlf_diag *diag = &s->diags->list.data[i];
        size_t count = s->diags->list.count;
        bool moves, inside = is_inside(s, diag, def, module, &moves);
        if (inside && moves) {
            rlf_diag_note(s->diags, diag, diag->at, "in '%s', here",
                          def->name.text);
            rlf_diag_move(s->diags, i, place_of_use(call));
        } else if (inside && !diag->notes.count) {
            rlf_diag_note(s->diags, diag, call->at, "in this use of '%s'",
                          def->name.text);
        }
        i += s->diags->list.count == count;
    }
}

/* The same of what may be reported yet. */
static void
note_use_of_faults(rlf_sema *s, size_t before, const rlf_ast_decl *def,
                   const rlf_module *module, const rlf_ast_expr *call)
{
    for (size_t i = before; i < s->faults.count; i++) {
        rlf_diag *diag = &s->faults.data[i];
        bool moves, inside = is_inside(s, diag, def, module, &moves);
        if (inside && moves) {
            rlf_diag_note(s->diags, diag, diag->at, "in '%s', here",
                          def->name.text);
            diag->at = place_of_use(call);
            diag->left = diag->right = (rlf_span){0};
        } else if (inside && !diag->notes.count) {
            rlf_diag_note(s->diags, diag, call->at, "in this use of '%s'",
                          def->name.text);
        }
    }
}

bool
rlf_def_ends(rlf_sema *s, const rlf_ast_decl *def, const rlf_ast_expr *call)
{
    for (int i = 0; i < s->n_defs; i++) {
        if (s->defs[i] != def)
            continue;
        rlf_diag_error(s->diags, "name", call->at,
                       "'%s' is expanded without end: it uses itself",
                       def->name.text);
        return false;
    }
    if (s->expanding < RLF_DEF_DEPTH)
        return true;
    rlf_diag *diag = rlf_diag_error(
        s->diags, "size", call->at,
        "uses of functions stand more than %d deep in one another here",
        (int)RLF_DEF_DEPTH);
    rlf_diag_hint(s->diags, diag, "write what '%s' stands for instead of it",
                  def->name.text);
    return false;
}

/* For messages of the run: what the body computes is of this use. */
static uint32_t
enter_use(rlf_sema *s, const rlf_ast_decl *def, const rlf_module *module,
          const rlf_ast_expr *call)
{
    rlf_source_use use = {.at = call->span,
                          .name = def->name.text,
                          .imported = module != s->modules.data[0]};
    use.at.use = s->use;
    return rlf_sources_use(s->diags->sources, use);
}

rlf_entity
rlf_eval_def(rlf_sema *s, const rlf_ast_decl *def, rlf_module *module,
             const rlf_ast_expr *call)
{
    rlf_scope *caller = s->scope;
    rlf_entity result = rlf_entity_none(call->span);
    if (!rlf_def_ends(s, def, call))
        return result;
    size_t before = s->diags->list.count, faults = s->faults.count;
    int n_defs = s->n_defs;
    uint32_t outside = s->use;
    s->expanding++;
    if (bind(s, def, module, call)) {
        s->use = enter_use(s, def, module, call);
        result = run_body(s, def);
        s->use = outside;
        note_use(s, before, def, module, call);
        note_use_of_faults(s, faults, def, module, call);
    }
    s->expanding--;
    s->n_defs = n_defs;
    s->scope = caller;
    result.span = call->span;
    bool number =
        result.kind == RLF_ENTITY_NUMBER || result.kind == RLF_ENTITY_WORDS;
    if (number && s->terms.data[result.term].kind == RLF_TERM_OP &&
        !s->terms.data[result.term].named) {
        s->terms.data[result.term].span = call->span;
        s->terms.data[result.term].span.use = s->use;
    }
    return result;
}
