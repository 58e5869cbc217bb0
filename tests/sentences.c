/* Every name of the language, of the command and of the Lua side has its
 * sentence in the manual, and the manual has no name that is not there.
 *
 * A comment `.\" table NAME...` in a page says which table the list after it
 * describes; what is in the tables is taken from the tables themselves. An item
 * without a sentence, a name without an item, an item without a name and a
 * default that the sentence does not say are failures. */
#include "tests/tap.h"

#include "engine/base/option.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "engine/io/file.h"
#include "engine/lua/internal.h"
#include "grammar/cluster.h"
#include "grammar/compile.h"
#include "grammar/passes.h"
#include "nodes/hook.h"
#include "nodes/model/config.h"
#include "nodes/table.h"

#include <ctype.h>
#include <lualib.h>

/* ---- pages ---- */

/* One `.It` of a list, or one word of a display. */
typedef struct item {
    char name[64];
    const char *body; /* lines up to the next item */
    size_t size;
    bool known;
} item;

typedef struct list {
    const char *page;
    char tables[128];
    RLF_VEC(item) items;
} list;

static RLF_VEC(list) lists;
static const char *root;

static const char *
line_end(const char *p)
{
    const char *end = strchr(p, '\n');
    return end ? end : p + strlen(p);
}

static bool
begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* The next word of a line; 0 at its end. */
static size_t
word(const char **p, const char *end)
{
    while (*p < end && **p == ' ')
        ++*p;
    size_t n = 0;
    while (*p + n < end && (*p)[n] != ' ')
        n++;
    return n;
}

static bool
is_macro(const char *p, size_t n)
{
    return n == 2 && isupper((unsigned char)p[0]) &&
           islower((unsigned char)p[1]);
}

static void
add_name(list *to, const char *p, size_t n)
{
    item x = {.name = ""};
    if (n > 2 && p[0] == '\\' && p[1] == '&')
        p += 2, n -= 2;
    while (n > 1 && (*p == '.' || *p == ':' ||
                     (*p == '-' && isalpha((unsigned char)p[1]))))
        p++, n--;
    if (n >= sizeof x.name)
        n = sizeof x.name - 1;
    memcpy(x.name, p, n);
    RLF_PUSH(&to->items, x);
}

/* The names of an item: the words after Ic, Fl or Cm that stand at the
 * beginning, after a comma, or that begin with a dot. */
static void
add_names(list *to, const char *p, const char *end)
{
    bool named = false, first = true;
    for (size_t n; (n = word(&p, end)) > 0; p += n) {
        if (is_macro(p, n)) {
            bool names = memcmp(p, "Ic", 2) == 0 || memcmp(p, "Fl", 2) == 0 ||
                         memcmp(p, "Cm", 2) == 0;
            bool part = *p == 'I' && (p[3] == '.' || p[3] == ':');
            named = names && (first || part);
        } else if (n == 1 && *p == ',') {
            first = true;
            continue;
        } else if (n == 1 && *p == ':') {
            named = false;
        } else if (named) {
            add_name(to, p, n);
        }
        first = false;
    }
}

static void
end_items(list *to, size_t from, const char *begin, const char *end)
{
    for (size_t i = from; i < to->items.count; i++) {
        to->items.data[i].body = begin;
        to->items.data[i].size = (size_t)(end - begin);
    }
}

/* The list after the line; where it ends. */
static const char *
read_list(const char *p, list *to)
{
    int depth = 0;
    size_t from = 0;
    const char *body = NULL;
    bool words = false;
    for (const char *end; *p; p = *end ? end + 1 : end) {
        end = line_end(p);
        if (begins(p, ".Bl") || begins(p, ".Bd")) {
            words = words || (depth == 0 && begins(p, ".Bd"));
            depth++;
        } else if (begins(p, ".El") || begins(p, ".Ed")) {
            if (--depth > 0)
                continue;
            end_items(to, from, body, p);
            return p;
        } else if (depth == 1 && words && begins(p, ".Ic ")) {
            const char *q = p + 4;
            for (size_t n; (n = word(&q, end)) > 0; q += n)
                add_name(to, q, n);
        } else if (depth == 1 && begins(p, ".It ")) {
            end_items(to, from, body, p);
            from = to->items.count;
            body = p;
            add_names(to, p + 4, end);
        }
    }
    return p;
}

static void
read_page(const char *page, const char *text)
{
    static const char mark[] = ".\\\" table ";
    for (const char *p = text, *end; *p; p = *end ? end + 1 : end) {
        end = line_end(p);
        if (!begins(p, mark))
            continue;
        const char *names = p + sizeof mark - 1;
        list l = {.page = page};
        snprintf(l.tables, sizeof l.tables, "%.*s", (int)(end - names), names);
        read_list(end, &l); /* lists stand in lists: it goes on within */
        RLF_PUSH(&lists, l);
    }
}

/* The text of a page, which stays. */
static const char *
open_page(const char *directory, const char *name)
{
    char path[4096];
    rlf_buf text = {0};
    rlf_err err = RLF_ERR_NONE;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (rlf_file_read(path, 1 << 24, &err, &text) < 0)
        bail("%s", err.sentence);
    read_page(name, text.p);
    return text.p;
}

static bool
has_word(const char *words, const char *name)
{
    for (const char *end = words + strlen(words); word(&words, end) > 0;) {
        size_t n = word(&words, end);
        if (strlen(name) == n && memcmp(words, name, n) == 0)
            return true;
        words += n;
    }
    return false;
}

static list *
find_list(const char *table)
{
    for (size_t i = 0; i < lists.count; i++)
        if (has_word(lists.data[i].tables, table))
            return &lists.data[i];
    return NULL;
}

/* Words of the item's text that are no macros. */
static int
count_words(const item *x)
{
    const char *p = x->body, *end = p + x->size;
    const char *cell = strstr(p, " Ta ");
    const char *first = line_end(p);
    p = cell && cell < first ? cell + 4 : first;
    int count = 0;
    while (p < end) {
        size_t n = 0;
        while (p + n < end && !isspace((unsigned char)p[n]))
            n++;
        count += n > 1 && *p != '.' && !is_macro(p, n);
        p += n + 1;
    }
    return count;
}

/* Is the number in the item's text, in whatever unit? */
static bool
says_number(const item *x, double number)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"", 1},      {"K", 1e3},      {"M", 1e6},
                 {"KB", 1024}, {"MB", 1048576}, {"s", 1}};
    for (const char *p = x->body; p < x->body + x->size; p++) {
        if (!isdigit((unsigned char)*p) || isdigit((unsigned char)p[-1]) ||
            p[-1] == '.')
            continue;
        char *end;
        double value = strtod(p, &end);
        size_t n = strspn(end, "KMBs");
        for (size_t i = 0; i < RLF_COUNT(units); i++)
            if (strlen(units[i].unit) == n &&
                memcmp(units[i].unit, end, n) == 0 &&
                value * units[i].factor == number)
                return true;
    }
    return false;
}

/* ---- checks ---- */

/* The item of `name` in the list of `table`, or NULL. */
static item *
find_item(list *l, const char *name)
{
    for (size_t i = 0; l && i < l->items.count; i++)
        if (strcmp(l->items.data[i].name, name) == 0)
            return &l->items.data[i];
    return NULL;
}

/* It is in the list of `table`, with a sentence. The item, or NULL. */
static const item *
told(const char *table, const char *name)
{
    list *l = find_list(table);
    const item *x = find_item(l, name);
    bool words =
        strcmp(table, "keywords") == 0 || strcmp(table, "presets") == 0;
    ok(x && (words || count_words(x) >= 2), "%s: %s %s has its sentence",
       l ? l->page : "no list", table, name);
    for (size_t i = 0; x && i < l->items.count; i++)
        if (strcmp(l->items.data[i].name, name) == 0)
            l->items.data[i].known = true;
    return x;
}

/* Checks the reader of pages itself: it finds what is wrong with a page. */
static void
test_itself(void)
{
    read_page("probe", ".\\\" table probe\n.Bl -tag\n"
                       ".It Ic a , Ic b : Ar x\nIs 3 if not given.\n"
                       ".It Ic c\n.Bl -tag\n.It Ic d\nOf another list.\n"
                       ".El\n.It Ar x Ns Ic .e Ns ( Ar y )\n.Ic e .\n.El\n");
    list *l = find_list("probe");
    const item *a = find_item(l, "a"), *c = find_item(l, "c"),
               *e = find_item(l, "e");
    ok(l && l->items.count == 4 && a && c && e && find_item(l, "b"),
       "items of a list are found");
    ok(!find_item(l, "d"), "those of a list in it are not");
    ok(a && count_words(a) >= 2 && says_number(a, 3), "a sentence is found");
    ok(a && !says_number(a, 4), "another number is");
    ok(e && count_words(e) < 2, "an item without a sentence is");
    if (l)
        RLF_VEC_FREE(&l->items);
    lists.count = 0;
}

static void
told_formals(const char *table, const rlf_formal *formals, int n)
{
    for (int i = 0; i < n; i++) {
        const rlf_formal *f = &formals[i];
        const item *x = told(table, f->name);
        if (x && f->fallback != 0)
            ok(says_number(x, f->fallback), "%s %s says that it is %g", table,
               f->name, f->fallback);
    }
}

static void
told_constructors(const rlf_resource_class *class)
{
    for (int i = 0; i < class->n_constructors; i++) {
        const rlf_constructor *c = &class->constructors[i];
        if (class->kind != RLF_RESOURCE_STATE)
            told_formals(c->name, c->formals, c->n_formals);
    }
}

/* The subsections in which constructors and calls are described. */
static void
told_somewhere(const char *text, const char *name)
{
    char line[100], dotted[100];
    snprintf(line, sizeof line, "\n.It Ic %s Ns (", name);
    snprintf(dotted, sizeof dotted, " Ns Ic .%s Ns (", name);
    const char *path = strcmp(name, "lua") == 0 ? "Ic lua Ns (" : line;
    ok(strstr(text, path) || strstr(text, dotted), "rlf.5 describes %s(...)",
       name);
}

static void
test_language(const char *text)
{
    const rlf_classes *classes = &rlf_node_classes;
    for (int k = 0; k < RLF_RESOURCE_KINDS; k++) {
        told_constructors(classes->resource[k]);
        for (int i = 0; i < classes->resource[k]->n_constructors; i++) {
            const rlf_constructor *c = &classes->resource[k]->constructors[i];
            if (k != RLF_RESOURCE_STATE && !c->rest) /* a part: no call */
                told_somewhere(text, c->name);
        }
    }
    for (int i = 0; i < classes->n_nodes; i++) {
        const rlf_node_class *c = classes->node[i];
        bool set = c->receiver == RLF_RECEIVER_SET;
        bool called = c->form == RLF_FORM_CALL;
        bool function = called && c->receiver == RLF_RECEIVER_NONE;
        if (called && !function)
            told(set ? "set-methods" : "model-methods", c->name);
        if (c->form == RLF_FORM_FIELD && set)
            told("columns", c->name);
        if (function)
            told_somewhere(text, c->name);
        bool several = c->n_formals > 1 && c->receiver != RLF_RECEIVER_DATA &&
                       c->work != RLF_WORK_TRAIN;
        if (several || function)
            told_formals(c->name, c->formals, c->n_formals);
        if (c->n_options)
            told_formals(c->name, c->options, c->n_options);
        if (c->form == RLF_FORM_HOOK)
            told("per", c->name);
    }
    told("set-methods", "split");
    told("set-methods", "at_last");
    told("set-methods", "at_all");
    int n;
    const rlf_formal *place = rlf_place_formals(&n);
    told_formals("place", place, n);
    static const char *const made[] = {"gpu", "node", "net"};
    for (size_t i = 0; i < RLF_COUNT(made); i++) {
        const rlf_formal *formals = rlf_cluster_formals(made[i], &n);
        told_formals(made[i], formals, n);
    }
    for (const char *const *p = rlf_cluster_presets(); *p; p++)
        told("presets", *p);
}

static void
test_words(void)
{
#define KEYWORD(token, text, begins, ends, word) \
    told(begins == 'c' ? "cluster" : "keywords", text);
#include "grammar/keyword.def"
#undef KEYWORD
#define OP(name, text) told("operators", text);
#include "grammar/op.def"
#undef OP
    size_t scalar = 0;
#define BUILTIN(name, code, least, most, takes, doc) told("functions", name), scalar++;
#include "grammar/builtin.def"
#undef BUILTIN
    const char *names[64];
    size_t n = rlf_builtin_names(names, RLF_COUNT(names));
    for (size_t i = scalar; i < n; i++)
        told("reductions", names[i]);
}

static void
test_command(const char *text)
{
#define COMMAND(name, word, ...) told("commands", word);
#define OPTION(name, word, argument, variable, ...)                         \
    told("options", word);                                                  \
    ok(!*variable || strstr(text, variable), "rlflow.1 names the variable " \
                                             "of --" word);
#include "engine/base/option.def"
#undef OPTION
#undef COMMAND
#define LOG_SUB(name, word, doc) told("log", word);
#include "engine/base/log.def"
#undef LOG_SUB
}

/* ---- Lua ---- */

/* Is it one that Lua has only where it was built with what is out of date? */
static bool
is_old(const char *name)
{
    return find_item(find_list("old"), name) != NULL;
}

/* The names in the table on top of `from`, into the list of `table`. */
static void
told_keys(const char *table, lua_State *from)
{
    lua_pushnil(from);
    while (lua_next(from, -2)) {
        lua_pop(from, 1);
        const char *name = lua_tostring(from, -1);
        if (lua_type(from, -1) != LUA_TSTRING || name[0] == '_')
            continue;
        bool old = strcmp(table, "math") == 0 && is_old(name);
        told(old ? "old" : table, name);
    }
}

/* Checks that the manual tells of each function that stock Lua has, and hooks
 * have not. */
static void
told_absent(lua_State *stock, const char *library, lua_State *ours)
{
    lua_pushnil(stock);
    while (lua_next(stock, -2)) {
        lua_pop(stock, 1);
        const char *name = lua_tostring(stock, -1);
        char full[100];
        if (strcmp(name, "print") == 0)
            continue; /* it is there for hooks, whose host takes the lines */
        lua_pushstring(ours, name);
        if (lua_rawget(ours, -2) == LUA_TNIL) {
            snprintf(full, sizeof full, "%s%s%s", library, *library ? "." : "",
                     name);
            told("absent", full);
        }
        lua_pop(ours, 1);
    }
}

static void
test_libraries(lua_State *L)
{
    static const char *const libraries[] = {"string", "table",     "math",
                                            "utf8",   "coroutine", "rlf"};
    lua_State *stock = luaL_newstate();
    luaL_openlibs(stock);
    lua_pushglobaltable(stock);
    lua_pushglobaltable(L);
    if (!rlf_lua_contents(L, -1))
        lua_pushvalue(L, -1);
    told_absent(stock, "", L);
    told_keys("globals", L);
    told("globals", "print");
    for (size_t i = 0; i < RLF_COUNT(libraries); i++) {
        lua_getfield(L, -1, libraries[i]);
        if (!rlf_lua_contents(L, -1))
            lua_pushvalue(L, -1);
        told_keys(libraries[i], L);
        if (lua_getfield(stock, -1, libraries[i]) != LUA_TNIL)
            told_absent(stock, libraries[i], L);
        lua_pop(stock, 1);
        lua_pop(L, 2);
    }
    lua_close(stock);
    luaL_getmetatable(L, "regex");
    lua_getfield(L, -1, "__index");
    if (!rlf_lua_contents(L, -1))
        lua_pushvalue(L, -1);
    told_keys("regex", L);
    lua_settop(L, 0);
}

static void
test_lua(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host;
    rlf_err err = RLF_ERR_NONE;
    const rlf_lua_spec spec = {.path = "r.lua",
                               .source = "return function() return 0 end"};
    const rlf_lua_program *program;
    if (rlf_lua_program_open(arena, &spec, &err, &program) < 0 ||
        rlf_lua_host_new(program, NULL, &err, &host) < 0)
        bail("%s", err.sentence);
    test_libraries(host->L);
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
    char name[32];
    for (const char *p = RLF_HOOK_FIELDS; *p; p += *p == '|') {
        size_t n = strcspn(p, "|");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        told("sample", name);
        p += n;
    }
    told("sample", rlf_classes_find(&rlf_node_classes, RLF_FORM_HOOK,
                                    RLF_RECEIVER_HOOK, "step")
                       ->taken);
}

/* Functions that a file of the library gives: `function answer.NAME(` and
 * `answer.NAME =`. */
static void
test_answer(void)
{
    char path[4096];
    rlf_buf text = {0};
    rlf_err err = RLF_ERR_NONE;
    snprintf(path, sizeof path, "%s/stdlib/answer.lua", root);
    if (rlf_file_read(path, 1 << 20, &err, &text) < 0)
        bail("%s", err.sentence);
    for (const char *p = text.p, *end; *p; p = *end ? end + 1 : end) {
        end = line_end(p);
        const char *name = begins(p, "function answer.") ? p + 16
                           : begins(p, "answer.")        ? p + 7
                                                         : NULL;
        char found[64];
        if (!name)
            continue;
        snprintf(found, sizeof found, "%.*s", (int)strcspn(name, " (="), name);
        told("answer", found);
    }
    rlf_buf_free(&text);
}

/* A text model may have the name of the family that it is of. */
static bool
is_family(const char *type, const char *name)
{
    for (; *name; name++, type++) { /* in which "-" may be "_" or nothing */
        if (*name == '-' && *type != '_')
            name++;
        if (*type != *name && (*name != '-' || *type != '_'))
            return false;
    }
    return !*type || !strcmp(type, "_text");
}

/* The families of models that the README's table names, between commas and
 * "and": those of config.json's model_type, and no others. */
static void
test_families(void)
{
    char path[4096], name[64];
    bool named[64] = {false};
    rlf_buf text = {0};
    rlf_err err = RLF_ERR_NONE;
    snprintf(path, sizeof path, "%s/README.md", root);
    if (rlf_file_read(path, 1 << 20, &err, &text) < 0)
        bail("%s", err.sentence);
    const char *p = strstr(text.p, "| models | ");
    const char *end = p ? strstr(p, " in the format of Hugging Face") : NULL;
    if (!end)
        bail("README.md has no row of models");
    for (p += strlen("| models | "); p < end;) {
        size_t n = 0;
        for (; p < end && *p != ',' && !begins(p, " and "); p++) {
            if (*p == '(')
                p = strchr(p, ')');
            else if (*p != ' ' && n + 1 < sizeof name)
                name[n++] = (char)tolower((unsigned char)*p);
        }
        name[n] = 0;
        p += p == end ? 0 : *p == ',' ? 1 : 5;
        size_t i = 0;
        while (rlf_model_family(i) && !is_family(rlf_model_family(i), name))
            i++;
        if (ok(rlf_model_family(i) != NULL, "README.md: %s is a family", name))
            named[i] = true;
    }
    for (size_t i = 0; rlf_model_family(i); i++)
        ok(named[i], "README.md names the family %s", rlf_model_family(i));
    rlf_buf_free(&text);
}

/* Each kind of rotary scaling is named in rlf(5) and in the README's table; the
 * first row is none. */
static void
test_scaling(const char *text)
{
    char path[4096], quoted[64];
    rlf_buf readme = {0};
    rlf_err err = RLF_ERR_NONE;
    const char *name;
    snprintf(path, sizeof path, "%s/README.md", root);
    if (rlf_file_read(path, 1 << 20, &err, &readme) < 0)
        bail("%s", err.sentence);
    const char *said = strstr(text, "\nRotary positions may be scaled as\n");
    const char *end = said ? strstr(said, "\nWhere the length") : NULL;
    if (!end)
        bail("rlf.5 has no list of rotary scalings");
    char *names = strndup(said, (size_t)(end - said));
    for (size_t i = 1; (name = rlf_rope_kind(i)); i++) {
        snprintf(quoted, sizeof quoted, "`%s`", name);
        ok(strstr(names, name) != NULL, "rlf.5 names the scaling %s", name);
        ok(strstr(readme.p, quoted) != NULL, "README.md names the scaling %s",
           name);
    }
    free(names);
    rlf_buf_free(&readme);
}

/* Each schedule of a pipeline is named where `schedule:` is told. */
static void
test_schedules(const char *text)
{
    const char *from = strstr(text, "\n.It Ic schedule :");
    const char *end = from ? strstr(from + 1, "\n.It ") : NULL, *name;
    char quoted[64];
    if (!end)
        bail("rlf.5 does not tell of schedule:");
    char *told_of = strndup(from, (size_t)(end - from));
    for (size_t i = 0; (name = rlf_place_schedule(i)); i++) {
        snprintf(quoted, sizeof quoted, "\n.Qq %s\n", name);
        ok(strstr(told_of, quoted) != NULL, "rlf.5 tells of the schedule %s",
           name);
    }
    free(told_of);
}

/* An item that no table has is of something that is gone. */
static void
test_items(void)
{
    for (size_t i = 0; i < lists.count; i++) {
        const list *l = &lists.data[i];
        if (strcmp(l->tables, "old") == 0)
            continue;
        for (size_t k = 0; k < l->items.count; k++)
            if (l->items.data[k].name[1] || strcmp(l->tables, "options") != 0)
                ok(l->items.data[k].known, "%s: %s %s is there", l->page,
                   l->tables, l->items.data[k].name);
    }
}

int
main(void)
{
    char pages[4096];
    root = getenv("RLFLOW_SOURCE");
    if (!root)
        skip_all("RLFLOW_SOURCE is not set");
    test_itself();
    snprintf(pages, sizeof pages, "%s/man", root);
    const char *language = open_page(pages, "rlf.5");
    const char *command = open_page(pages, "rlflow.1");
    open_page(pages, "rlflow-lua.7");
    test_language(language);
    test_words();
    test_command(command);
    test_lua();
    test_answer();
    test_families();
    test_scaling(language);
    test_schedules(language);
    test_items();
    return done();
}
