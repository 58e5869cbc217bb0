/* What can stand at a place. It goes by the text before it, for what is being
 * written cannot be parsed yet; what its names mean the tree around tells. */
#include "grammar/look_inside.h"

#include <stdlib.h>
#include <string.h>

typedef struct proposing {
    rlf_look *look;
    const rlf_source *source;
    const rlf_ast_decl *decl; /* around the place, or NULL */
    uint32_t at;              /* where the word begins */
    rlf_look_proposals list;
} proposing;

static void
put(proposing *p, const char *name, const char *kind, const char *detail,
    const char *doc)
{
    if (!name || !*name)
        return;
    for (size_t i = 0; i < p->list.count; i++)
        if (strcmp(p->list.data[i].name, name) == 0)
            return; /* hidden by one that is nearer */
    RLF_PUSH_IN(p->look->arena, &p->list,
                (rlf_look_proposal){name, kind, detail, doc});
}

/* ---- the text before the place ---- */

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static uint32_t
word_begin(const rlf_source *s, uint32_t at)
{
    while (at > 0 && is_word(s->text[at - 1]))
        at--;
    return at;
}

/* Before blanks; line ends too where `lines`. */
static uint32_t
before_blanks(const rlf_source *s, uint32_t at, bool lines)
{
    while (at > 0 &&
           (s->text[at - 1] == ' ' || s->text[at - 1] == '\t' ||
            (lines && (s->text[at - 1] == '\n' || s->text[at - 1] == '\r'))))
        at--;
    return at;
}

static const char *
word_of(const proposing *p, uint32_t first, uint32_t last)
{
    return rlf_arena_strndup(p->look->arena, p->source->text + first,
                             last - first);
}

typedef enum standing { IN_CODE, IN_COMMENT, IN_STRING } standing;

/* What the line up to `at` is in; *quote: where a string begins. */
static standing
stands_in(const rlf_source *s, uint32_t at, uint32_t *quote)
{
    uint32_t i = at;
    standing now = IN_CODE;
    while (i > 0 && s->text[i - 1] != '\n')
        i--;
    for (; i < at; i++) {
        if (now == IN_STRING && s->text[i] == '\\')
            i++;
        else if (s->text[i] == '"') {
            now = now == IN_STRING ? IN_CODE : IN_STRING;
            *quote = i;
        } else if (now == IN_CODE && s->text[i] == '#')
            return IN_COMMENT;
    }
    return now;
}

/* The bracket around the place that nothing before it closes, in the lines of
 * its statement; 0: none. */
static uint32_t
bracket_around(const rlf_source *s, uint32_t at)
{
    int depth = 0;
    for (uint32_t i = at; i > 0; i--) {
        char c = s->text[i - 1];
        if (c == ')' || c == ']' || c == '}')
            depth++;
        else if ((c == '(' || c == '[' || c == '{') && depth-- == 0)
            return c == '(' ? i - 1 : 0;
    }
    return 0;
}

/* ---- names ---- */

static const char *
entity_kind(const rlf_entity *e)
{
    rlf_entity_kind kind = e ? e->kind : RLF_ENTITY_NONE;
    return kind == RLF_ENTITY_MODEL  ? "model"
           : kind == RLF_ENTITY_DATA ? "data"
           : kind == RLF_ENTITY_HOOK ? "hook"
                                     : "value";
}

static void
put_local(void *p_, const rlf_look_local *local)
{
    proposing *p = p_;
    const rlf_entity *e = rlf_look_entity_given(p->look, local->name->span);
    const char *value = rlf_look_value(p->look, e);
    put(p, local->name->text, entity_kind(e),
        value ? value : rlf_look_text(p->look, local->span), NULL);
}

static void
put_decl(proposing *p, const rlf_ast_decl *decl)
{
    if (decl->kind == RLF_AST_IMPORT || decl->kind == RLF_AST_FLOW ||
        decl->kind == RLF_AST_PLACE || !decl->name.text)
        return;
    put(p, decl->name.text,
        decl->kind == RLF_AST_DEF ? "function" : rlf_ast_decl_word(decl->kind),
        rlf_look_declaration(p->look, decl),
        decl->doc    ? decl->doc
        : decl->help ? decl->help->string.p
                     : NULL);
}

static void
put_module(proposing *p, const rlf_module *module)
{
    for (size_t i = 0; i < module->program->decls.count; i++)
        put_decl(p, module->program->decls.data[i]);
}

static void
put_imports(proposing *p)
{
    const rlf_module *module = p->look->sema->modules.data[0];
    for (size_t i = 0; i < module->imports.count; i++) {
        const rlf_module_import *import = &module->imports.data[i];
        if (import->alias)
            put(p, import->alias, "file", import->module->path,
                import->module->program->doc);
        else
            put_module(p, import->module);
    }
}

static void
put_class(proposing *p, const rlf_node_class *c)
{
    bool call = c->form == RLF_FORM_CALL;
    put(p, c->name,
        !call         ? "field"
        : c->receiver ? "method"
                      : "function",
        call
            ? rlf_look_signature(p->look, "", c->name, c->formals, c->n_formals)
            : NULL,
        c->doc);
}

static void
put_classes(proposing *p, rlf_receiver receiver)
{
    const rlf_classes *classes = p->look->sema->classes;
    for (int i = 0; i < classes->n_nodes; i++) {
        const rlf_node_class *c = classes->node[i];
        bool plain = c->form == RLF_FORM_CALL || c->form == RLF_FORM_FIELD;
        if (plain && c->receiver == receiver && !c->unsupported)
            put_class(p, c);
    }
}

static void
put_builtins(proposing *p)
{
    const char *names[64];
    size_t n = rlf_builtin_names(names, RLF_COUNT(names));
    for (size_t i = 0; i < n; i++)
        put(p, names[i], "function", rlf_builtin_form(p->look->arena, names[i]),
            rlf_builtin_doc(names[i]));
}

static void
put_keywords(proposing *p, bool inside)
{
    static const struct {
        const char *text;
        char begins;
    } words[] = {
#define KEYWORD(token, text, begins, ends, word) {text, begins},
#include "grammar/keyword.def"
#undef KEYWORD
    };
    for (size_t i = 0; i < RLF_COUNT(words); i++)
        if (words[i].begins != 'c' && (words[i].begins == 'd') == !inside)
            put(p, words[i].text, "keyword", NULL, NULL);
}

/* ---- behind a dot ---- */

/* The labels by which the declaration of the data names the fields of rows. */
static void
put_data_fields(proposing *p, int data)
{
    if (data < 0)
        return;
    const rlf_graph *g = p->look->sema->graph;
    for (int k = 0; data >= 0 && k < 8; k++) {
        const rlf_resource *r = &g->resources.data[data];
        for (int i = 0; i < r->n_args; i++)
            if (r->args[i].name && r->args[i].kind == RLF_ARG_TEXT &&
                r->args[i].given && !r->args[i].path &&
                (!r->args[i].formal || r->args[i].formal->field))
                put(p, r->args[i].name, "field", "of a row of the data", NULL);
        data = r->source;
    }
}

static void
put_record(proposing *p, const rlf_hook_outputs *r)
{
    for (int i = 0; i < r->n_gives; i++)
        put(p, r->gives[i].name, "field", r->gives[i].level, NULL);
    put(p, "ok", "field", "1 where the function gave a result, else 0", NULL);
}

static void
put_behind(proposing *p, const char *name)
{
    rlf_look_named named = {0};
    const rlf_entity *e = NULL;
    rlf_look *look = p->look;
    bool found = rlf_look_name(look, p->decl, p->at, name, &named);
    if (found && named.import) {
        put_module(p, named.import->module);
        return;
    }
    if (found && named.local)
        e = rlf_look_entity_given(look, named.here.name->span);
    rlf_ast_decl_kind kind =
        found && named.decl ? named.decl->kind : RLF_AST_DECLS;
    if (kind == RLF_AST_MODEL || (e && e->kind == RLF_ENTITY_MODEL)) {
        put_classes(p, RLF_RECEIVER_MODEL);
        return;
    }
    if (e && e->kind == RLF_ENTITY_RECORD)
        put_record(p, e->record);
    if (kind == RLF_AST_DATA) {
        const rlf_graph *g = look->sema->graph;
        for (size_t i = 0; i < g->resources.count; i++)
            if (g->resources.data[i].class->data &&
                strcmp(g->resources.data[i].name, name) == 0)
                put_data_fields(p, (int)i);
        put(p, "where", "method", "where(condition)", "rows that fit");
    }
    if (e && e->kind == RLF_ENTITY_SET)
        put_data_fields(p, look->sema->graph->sets.data[e->set].data);
    bool set = kind == RLF_AST_DATA || !e || e->kind == RLF_ENTITY_SET;
    if (set)
        put_classes(p, RLF_RECEIVER_SET);
    if (!found)
        put_classes(p, RLF_RECEIVER_MODEL);
}

/* ---- in a call ---- */

static void
put_formals(proposing *p, const rlf_formal *formals, int n)
{
    for (int i = 0; i < n; i++)
        if (!formals[i].unsupported)
            put(p, formals[i].name, "argument",
                rlf_look_formal(p->look, &formals[i]), formals[i].doc);
}

static void
put_def_formals(proposing *p, const rlf_ast_decl *def)
{
    for (size_t i = 0; def->formals && i < def->formals->count; i++)
        put(p, def->formals->data[i].name.text, "argument",
            rlf_look_text(p->look, def->formals->data[i].span), def->doc);
}

/* The arguments of the function whose name ends at `last`. */
static void
put_arguments(proposing *p, uint32_t last)
{
    rlf_look *look = p->look;
    const rlf_classes *classes = look->sema->classes;
    uint32_t first = word_begin(p->source, last);
    const char *name = word_of(p, first, last);
    rlf_look_named named;
    if (first == last)
        return;
    if (first > 0 && p->source->text[first - 1] == '.') {
        uint32_t of = word_begin(p->source, first - 1);
        const char *receiver = word_of(p, of, first - 1);
        if (rlf_look_name(look, p->decl, p->at, receiver, &named) &&
            named.import) {
            const rlf_ast_decl *def =
                rlf_map_get(&named.import->module->names, name);
            if (def)
                put_def_formals(p, def);
            return;
        }
        for (int i = RLF_RECEIVER_MODEL; i <= RLF_RECEIVER_STATE; i++) {
            const rlf_node_class *c =
                rlf_classes_find(classes, RLF_FORM_CALL, (rlf_receiver)i, name);
            if (c)
                put_formals(p, c->formals, c->n_formals);
        }
        return;
    }
    if (rlf_look_name(look, p->decl, p->at, name, &named)) {
        if (named.decl && named.decl->kind == RLF_AST_DEF)
            put_def_formals(p, named.decl);
        return;
    }
    const rlf_node_class *c =
        rlf_classes_find(classes, RLF_FORM_CALL, RLF_RECEIVER_NONE, name);
    const rlf_constructor *k = rlf_look_constructor(look, p->decl, name);
    if (c)
        put_formals(p, c->formals, c->n_formals);
    if (k)
        put_formals(p, k->formals, k->n_formals);
}

static void
put_constructors(proposing *p, rlf_ast_decl_kind kind)
{
    static const int kinds[RLF_AST_DECLS] = {
        [RLF_AST_MODEL] = RLF_RESOURCE_MODEL + 1,
        [RLF_AST_DATA] = RLF_RESOURCE_DATA + 1,
        [RLF_AST_HOOK] = RLF_RESOURCE_HOOK + 1};
    if (!kinds[kind])
        return;
    const rlf_resource_class *class =
        p->look->sema->classes->resource[kinds[kind] - 1];
    for (int i = 0; i < class->n_constructors; i++)
        put(p, class->constructors[i].name, "constructor",
            rlf_look_signature(p->look, "", class->constructors[i].name,
                               class->constructors[i].formals,
                               class->constructors[i].n_formals),
            class->constructors[i].doc);
}

/* ---- all ---- */

/* The kind of declaration whose line the place is in, by its first word. */
static rlf_ast_decl_kind
line_kind(const proposing *p)
{
    uint32_t i = p->at;
    while (i > 0 && p->source->text[i - 1] != '\n')
        i--;
    for (int kind = 0; kind < RLF_AST_DECLS; kind++) {
        const char *word = rlf_ast_decl_word((rlf_ast_decl_kind)kind);
        size_t n = strlen(word);
        if (i + n < p->at && !memcmp(p->source->text + i, word, n) &&
            p->source->text[i + n] == ' ')
            return (rlf_ast_decl_kind)kind;
    }
    return RLF_AST_DECLS;
}

/* The words that can stand behind the colon of a parameter, or of an argument
 * in the head of a def. */
static bool
propose_types(proposing *p, rlf_ast_decl_kind kind, uint32_t before)
{
    static const char *const of_param[] = {"int", "float", "bool", "text",
                                           "path"};
    static const char *const of_def[] = {"scalar", "prompt", "sample", "token",
                                         "vocab",  "model",  "set",    "text"};
    bool body = p->decl && p->decl->body && p->decl->body->span.first < p->at;
    bool def = kind == RLF_AST_DEF && !body;
    if (!before || p->source->text[before - 1] != ':' ||
        (kind != RLF_AST_PARAM && !def))
        return false;
    for (size_t i = 0; i < (def ? RLF_COUNT(of_def) : RLF_COUNT(of_param)); i++)
        put(p, def ? of_def[i] : of_param[i], "level", NULL, NULL);
    return true;
}

static void
propose_names(proposing *p)
{
    uint32_t before = before_blanks(p->source, p->at, false);
    uint32_t word = word_begin(p->source, before);
    rlf_ast_decl_kind kind = p->decl ? p->decl->kind : line_kind(p);
    if (before - word == 4 && !memcmp(p->source->text + word, "over", 4)) {
        static const char *const levels[] = {"tokens", "group", "batch",
                                             "vocab"};
        for (size_t i = 0; i < RLF_COUNT(levels); i++)
            put(p, levels[i], "level", NULL, NULL);
        return;
    }
    if (propose_types(p, kind, before))
        return;
    uint32_t bracket = bracket_around(p->source, p->at);
    if (bracket)
        put_arguments(p, bracket);
    /* The innermost comes first, for it hides others. */
    rlf_look_locals(p->decl, p->at, put_local, p);
    if (kind < RLF_AST_DECLS)
        put_constructors(p, kind);
    bool inside = kind == RLF_AST_FLOW || kind == RLF_AST_DEF;
    bool top = kind == RLF_AST_DECLS;
    if (!top) {
        put_module(p, p->look->sema->modules.data[0]);
        put_imports(p);
        put_builtins(p);
        put_classes(p, RLF_RECEIVER_NONE);
    }
    put_keywords(p, inside || !top);
}

static int
by_name(const void *a_, const void *b_)
{
    const rlf_look_proposal *a = a_, *b = b_;
    return strcmp(a->name, b->name);
}

rlf_look_proposals
rlf_look_propose(rlf_look *look, uint32_t offset, uint32_t *from)
{
    const rlf_ast_program *program = look->sema->modules.data[0]->program;
    proposing p = {.look = look,
                   .source =
                       rlf_sources_get(look->sema->sources, look->source)};
    uint32_t quote = 0,
             at = offset < p.source->size ? offset : (uint32_t)p.source->size;
    standing in = stands_in(p.source, at, &quote);
    p.at = *from = in == IN_STRING ? quote + 1 : word_begin(p.source, at);
    for (size_t i = 0; i < program->decls.count; i++)
        if (program->decls.data[i]->span.first < p.at &&
            p.at <= program->decls.data[i]->span.last)
            p.decl = program->decls.data[i];
    if (in == IN_STRING && line_kind(&p) == RLF_AST_IMPORT) {
        const char *const *files;
        size_t n = rlf_library_files(look->sema, &files);
        for (size_t i = 0; i < n; i++)
            put(&p, rlf_arena_printf(look->arena, "std/%s", files[i]), "file",
                "of the library", NULL);
    }
    if (in != IN_CODE)
        return p.list;
    uint32_t dot = before_blanks(p.source, p.at, true);
    bool behind = dot > 0 && p.source->text[dot - 1] == '.' &&
                  (dot < 2 || p.source->text[dot - 2] != '.');
    if (behind)
        put_behind(&p, word_of(&p, word_begin(p.source, dot - 1), dot - 1));
    else
        propose_names(&p);
    if (p.list.count)
        qsort(p.list.data, p.list.count, sizeof *p.list.data, by_name);
    return p.list;
}
