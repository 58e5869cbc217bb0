/* Arguments of calls and constructors against the formals of their class. */
#include "grammar/matcher.h"

#include "grammar/other_names.h"

#include <string.h>

/* ---- which argument is which formal's ---- */

static int
find_formal(const rlf_matcher *m, const char *label)
{
    for (int i = 0; i < m->n; i++) {
        if (!strcmp(m->formals[i].name, label))
            return i;
    }
    return -1;
}

static int
next_plain(const rlf_matcher *m, const rlf_ast_arg *const *given)
{
    for (int i = 0; i < m->n; i++) {
        if (!m->formals[i].labelled && !given[i])
            return i;
    }
    return -1;
}

bool
rlf_word_is_of(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = words; p && *p; p += *p == '|') {
        size_t k = strcspn(p, "|");
        if (k == n && !memcmp(p, word, n))
            return true;
        p += k;
    }
    return false;
}

/* The argument is there, though wrong: nobody says that it lacks. */
static void
spoil(const rlf_matcher *m, int formal)
{
    for (int i = 0; i < m->n; i++)
        if (formal < 0 || i == formal)
            m->spoiled[i] = true;
}

/* An argument that is several here: "beta1: 0.9, beta2: 0.95"; NULL: it is not.
 */
static const char *
as_several(const rlf_matcher *m, const rlf_ast_arg *arg)
{
    const char *parts = rlf_other_name_parts(arg->label.text), *values[8];
    if (!parts)
        return NULL;
    const rlf_ast_args *list = arg->value->args;
    size_t n = arg->value->kind == RLF_AST_LIST && list ? list->count : 0;
    n = n < RLF_COUNT(values) ? n : RLF_COUNT(values);
    for (size_t i = 0; i < n; i++)
        values[i] = rlf_form_text(m->s, list->data[i].span);
    for (int i = 0; i < m->n; i++)
        if (rlf_word_is_of(parts, m->formals[i].name))
            return rlf_other_name_pairs(m->s->arena, parts, values, n);
    return NULL;
}

/* The formals' names, in their order. */
static const char *const *
names_of(const rlf_matcher *m)
{
    const char **names = RLF_NEW_ARRAY(m->s->arena, const char *, m->n + 1);
    for (int i = 0; i < m->n; i++)
        names[i] = m->formals[i].name;
    return names;
}

/* The argument that a formal's constructor has: lm has no lr:, and adamw(...)
 * in its optimizer: has one. NULL: none has it. */
static const char *
as_nested(const rlf_matcher *m, const rlf_ast_arg *arg)
{
    if (m->item || !m->s->classes->resource || /* clusters have none */
        rlf_formal_known(m->s, m->formals, m->n, arg->label.text) >= 0)
        return NULL;
    const rlf_resource_class *class = m->s->classes->resource[m->kind];
    for (int i = 0; i < m->n; i++) {
        const rlf_formal *f = &m->formals[i];
        for (int k = 0; k < class->n_constructors; k++) {
            const rlf_constructor *c = &class->constructors[k];
            if (f->kind != RLF_FORMAL_CONSTRUCTOR || !c->within ||
                strcmp(c->within, m->what) != 0 ||
                (f->words && !rlf_word_is_of(f->words, c->name)))
                continue;
            int at = rlf_formal_known(m->s, c->formals, c->n_formals,
                                      arg->label.text);
            if (at >= 0)
                return rlf_arena_printf(m->s->arena, "%s: %s(%s: %s)", f->name,
                                        c->name, c->formals[at].name,
                                        rlf_form_text(m->s, arg->value->span));
        }
    }
    return NULL;
}

static void
unknown_label(const rlf_matcher *m, const rlf_ast_arg *arg)
{
    rlf_buf list = {0};
    for (int i = 0; i < m->n; i++) {
        rlf_buf_printf(&list, "%s%s:", i ? ", " : "", m->formals[i].name);
    }
    rlf_diag *diag =
        rlf_diag_error(m->s->diags, "argument", arg->label.span,
                       "'%s' has no argument '%s:'", m->what, arg->label.text);
    const char *several = as_several(m, arg);
    const char *sentence =
        rlf_other_name_label(arg->label.text, names_of(m), (size_t)m->n);
    const char *nested = as_nested(m, arg);
    int i = sentence || nested
                ? -1
                : rlf_formal_meant(m->s, m->formals, m->n, arg->label.text);
    if (several || i >= 0 || !(sentence || nested))
        spoil(m, several ? -1 : i);
    if (sentence)
        rlf_diag_hint(m->s->diags, diag, "%s", sentence);
    else if (nested)
        rlf_diag_hint(m->s->diags, diag, "it is written %s", nested);
    else if (several)
        rlf_diag_hint(m->s->diags, diag, "write %s", several);
    else if (i >= 0)
        rlf_diag_hint(m->s->diags, diag, "did you mean '%s:'?",
                      m->formals[i].name);
    else if (m->n)
        rlf_diag_hint(m->s->diags, diag, "it has %s", list.p);
    rlf_buf_free(&list);
}

/* An option that was not given whose name is nearly the label's, and that the
 * argument could be: a further label that names a field is a column, but hardly
 * one that is called nearly as the option that lacks. NULL: none. */
static const rlf_formal *
meant(const rlf_matcher *m, const rlf_ast_arg *arg,
      const rlf_ast_arg *const *given)
{
    bool text = arg->value->kind == RLF_AST_STRING;
    for (int i = 0; m->texts && i < m->n; i++) {
        const rlf_formal *f = &m->formals[i];
        bool takes = f->kind == RLF_FORMAL_TEXT;
        if (f->labelled && !given[i] && takes == text &&
            (rlf_str_nearest(arg->label.text, &f->name, 1) ||
             (!text && rlf_other_name_exactly(arg->label.text, &f->name, 1))))
            return f;
    }
    return NULL;
}

/* Has every set of samples something of this name? */
static bool
is_of_sets(const rlf_sema *s, const char *name)
{
    return rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_SET,
                            name) != NULL;
}

/* Refuses names that a further argument cannot have. True after a message. */
static bool
refused_label(const rlf_matcher *m, const rlf_ast_arg *arg,
              const rlf_ast_arg *const *given, const rlf_ast_arg **more, int n)
{
    rlf_diags *diags = m->s->diags;
    rlf_diag *diag;
    for (int i = 0; i < n; i++) {
        if (strcmp(more[i]->label.text, arg->label.text) != 0)
            continue;
        diag = rlf_diag_error(diags, "argument", arg->label.span,
                              "'%s:' is given a second time", arg->label.text);
        rlf_diag_note(diags, diag, more[i]->label.span, "first here");
        return true;
    }
    bool hooks = rlf_word_is_of(m->taken, arg->label.text);
    if (hooks || (m->texts && is_of_sets(m->s, arg->label.text))) {
        diag = rlf_diag_error(
            diags, "argument", arg->label.span,
            "%s cannot be called '%s': %s its own",
            m->texts ? "a column" : "what a call adds", arg->label.text,
            hooks ? "what hooks get has" : "a set of samples has");
        rlf_diag_hint(diags, diag,
                      "choose another name, as in given_%s:", arg->label.text);
        return true;
    }
    bool text = arg->value->kind == RLF_AST_STRING;
    bool known =
        m->texts && !text &&
        rlf_other_name_label(arg->label.text, names_of(m), (size_t)m->n);
    if (known || meant(m, arg, given)) {
        unknown_label(m, arg);
        return true;
    }
    return false;
}

static bool
is_labelled(const rlf_ast_args *args, const char *name)
{
    for (size_t k = 0; k < args->count; k++)
        if (args->data[k].label.text && !strcmp(args->data[k].label.text, name))
            return true;
    return false;
}

/* The formal whose name an argument lacks: the one that it is called as, one
 * that must be given, or the first that could take it; -1: none. A text beside
 * names of columns is the first of these that there can be, or one of the
 * user's own. */
static int
unnamed(const rlf_matcher *m, const rlf_ast_args *args, const rlf_ast_arg *arg)
{
    const rlf_ast_expr *e = arg->value;
    bool column = m->texts && e->kind == RLF_AST_STRING;
    int best = -1, rank = 0;
    for (int i = 0; i < m->n; i++) {
        const rlf_formal *f = &m->formals[i];
        bool taken = m->spoiled[i] || is_labelled(args, f->name);
        if (column && f->field && taken)
            return -1;
        if (!f->labelled || taken || (column && !f->field))
            continue;
        int mine = e->kind == RLF_AST_NAME && !strcmp(e->name.text, f->name) ? 3
                   : !rlf_formal_could_take(m->s, f, e)                      ? 0
                   : f->required                                             ? 2
                                 : 1;
        if (mine > rank) {
            rank = mine;
            best = i;
        }
    }
    return best;
}

static void
without_name(const rlf_matcher *m, const rlf_ast_args *args,
             const rlf_ast_arg *arg)
{
    rlf_diag *diag = rlf_diag_error(
        m->s->diags, "argument", arg->span,
        "'%s' takes no further argument without a name", m->what);
    int i = unnamed(m, args, arg);
    const char *text = rlf_form_text(m->s, arg->span);
    bool column = m->texts && arg->value->kind == RLF_AST_STRING;
    if (i >= 0 && column)
        rlf_diag_hint(m->s->diags, diag,
                      "write a name before it: %s: %s, or that of a column: "
                      "NAME: %s",
                      m->formals[i].name, text, text);
    else if (column)
        rlf_diag_hint(m->s->diags, diag,
                      "write the name of a column before it: NAME: %s", text);
    else if (i >= 0)
        rlf_diag_hint(m->s->diags, diag, "write its name before it: %s: %s",
                      m->formals[i].name, text);
    if (i >= 0)
        spoil(m, i);
}

/* given[i]: the argument for formal i, or NULL. */
static bool
sort_args(const rlf_matcher *m, const rlf_ast_args *args, bool extra,
          rlf_span at, const rlf_ast_arg **given, const rlf_ast_arg **more,
          int *n_more)
{
    bool good = true;
    for (size_t k = 0; args && k < args->count; k++) {
        const rlf_ast_arg *arg = &args->data[k];
        rlf_diags *diags = m->s->diags;
        if (arg->over.text) {
            rlf_diag_error(diags, "argument", at, "'%s' is not a reduction",
                           m->what);
            return false;
        }
        int i = arg->label.text ? find_formal(m, arg->label.text)
                                : next_plain(m, given);
        if (i >= 0 && !given[i]) {
            given[i] = arg;
        } else if (i >= 0) {
            rlf_diag_error(diags, "argument", arg->span,
                           "'%s' already has '%s'", m->what,
                           m->formals[i].name);
            good = false;
        } else if (arg->label.text && extra) {
            if (refused_label(m, arg, given, more, *n_more))
                good = false;
            else
                more[(*n_more)++] = arg;
        } else if (arg->label.text) {
            unknown_label(m, arg);
            good = false;
        } else {
            without_name(m, args, arg);
            good = false;
        }
    }
    return good;
}

/* ---- all of them ---- */

static bool
match_one(const rlf_matcher *m, int i, const rlf_ast_arg *given, rlf_span at)
{
    const rlf_formal *f = &m->formals[i];
    rlf_arg *arg = &m->out[i];
    arg->name = f->name;
    arg->span = at;
    if (!given && m->spoiled[i]) {
        arg->given = true;
        return false;
    }
    if (!given && f->required) {
        rlf_diag *diag =
            rlf_diag_error(m->s->diags, "argument", at, "'%s' lacks '%s%s'",
                           m->what, f->name, f->labelled ? ":" : "");
        rlf_diag_hint(m->s->diags, diag, "%s", f->doc);
        return false;
    }
    if (!given) {
        bool number = f->kind == RLF_FORMAL_NUMBER ||
                      f->kind == RLF_FORMAL_INT || f->kind == RLF_FORMAL_FLAG;
        bool fallback = number && (f->fallback > 0 || f->fallback < 0);
        arg->kind = fallback ? RLF_ARG_NUMBER : RLF_ARG_ABSENT;
        arg->number = f->fallback;
        return true;
    }
    arg->span = given->value->span;
    arg->given = true;
    if (!rlf_arg_put(m, f, given->value, arg)) {
        arg->kind = RLF_ARG_ABSENT; /* nothing else is said of it */
        return false;
    }
    /* Asking for what is done anyway is no request. */
    bool usual = arg->kind == RLF_ARG_NUMBER && arg->number <= f->fallback &&
                 arg->number >= f->fallback;
    if (f->unsupported && !usual)
        rlf_sema_refuse(m->s, given->span, f->unsupported, true);
    return true;
}

static bool
match(rlf_matcher *m, const rlf_ast_args *args, bool extra, rlf_span at)
{
    size_t room = (size_t)m->n + (args ? args->count : 0);
    const rlf_ast_arg **given =
        RLF_NEW_ARRAY(m->s->arena, const rlf_ast_arg *, room);
    const rlf_ast_arg **more =
        RLF_NEW_ARRAY(m->s->arena, const rlf_ast_arg *, room);
    int n_more = 0;
    m->spoiled = RLF_NEW_ARRAY(m->s->arena, bool, room + 1);
    bool good = sort_args(m, args, extra, at, given, more, &n_more);
    m->out = RLF_NEW_ARRAY(m->s->arena, rlf_arg, room);
    m->n_out = m->n + n_more;
    for (int i = 0; i < m->n; i++)
        good = match_one(m, i, given[i], at) && good;
    for (int i = 0; i < n_more; i++)
        good = rlf_arg_put_extra(m, more[i], &m->out[m->n + i]) && good;
    return good;
}

bool
rlf_args_match(rlf_sema *s, const rlf_ast_args *args, const rlf_formal *formals,
               int n_formals, bool extra, const char *what, rlf_span at,
               rlf_item *item)
{
    rlf_matcher m = {.s = s,
                     .what = what,
                     .formals = formals,
                     .n = n_formals,
                     .item = item,
                     .taken = item->class->taken};
    bool good = match(&m, args, extra, at);
    rlf_arg *all = RLF_NEW_ARRAY(s->arena, rlf_arg, item->n_args + m.n_out);
    if (item->n_args)
        memcpy(all, item->args, sizeof *all * (size_t)item->n_args);
    memcpy(all + item->n_args, m.out, sizeof *all * (size_t)m.n_out);
    item->args = all;
    item->n_args += m.n_out;
    return good;
}

/* Does class update read all of its arguments itself? */
static bool
is_optimizer(const rlf_sema *s, const rlf_constructor *c)
{
    const rlf_node_class *update = rlf_classes_syntax(s->classes, "update");
    if (!update || !c->within)
        return false;
    for (int i = 0; i < c->n_formals; i++) {
        bool found = false;
        for (int k = 0; k < update->n_formals; k++)
            found =
                found || !strcmp(c->formals[i].name, update->formals[k].name);
        if (!found)
            return false;
    }
    return true;
}

/* Arguments that were not given are left out: readers ask by name. */
bool
rlf_args_constructor(rlf_sema *s, const rlf_ast_expr *call,
                     const rlf_constructor *c, rlf_resource_kind kind,
                     rlf_arg **out, int *n_out)
{
    *out = NULL;
    *n_out = 0;
    rlf_matcher m = {.s = s,
                     .what = c->name,
                     .formals = c->formals,
                     .n = c->n_formals,
                     .kind = kind,
                     .within = c->name,
                     .taken = c->taken,
                     .texts = c->extra,
                     .lazy = is_optimizer(s, c)};
    bool good = match(&m, call->args, c->extra, call->at);
    *out = RLF_NEW_ARRAY(s->arena, rlf_arg, m.n_out);
    for (int i = 0; i < m.n_out; i++) {
        if (m.out[i].kind != RLF_ARG_ABSENT)
            (*out)[(*n_out)++] = m.out[i];
    }
    return good;
}
