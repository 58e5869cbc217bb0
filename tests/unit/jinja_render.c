/* Chat templates: small ones whose texts are known (tests/data/jinja.json, by
 * transformers), what is refused and where, limits, and that neither wrong
 * templates nor hostile ones break anything. Those of public models are
 * compared where RLFLOW_TEST_DATA has them. */
#include "engine/jinja/jinja.h"
#include "tests/tap.h"

#include <unistd.h>

static rlf_arena *pool;

typedef struct result {
    rlf_status status;
    rlf_err err;
    rlf_jinja_output out;
} result;

static result
render(const char *text, size_t n, const json_t *variables,
       const rlf_jinja_options *options)
{
    result r = {.err = RLF_ERR_NONE};
    rlf_jinja *jinja;
    r.status =
        rlf_jinja_open("t", NULL, (rlf_str){text, n}, pool, &r.err, &jinja);
    if (r.status >= 0)
        r.status =
            rlf_jinja_render(jinja, variables, options, pool, &r.err, &r.out);
    return r;
}

static rlf_jinja_date
date_of(const char *text)
{
    rlf_jinja_date d = {0};
    if (sscanf(text, "%d-%d-%dT%d:%d:%d", &d.year, &d.month, &d.day, &d.hour,
               &d.minute, &d.second) != 6)
        bail("no date: %s", text);
    return d;
}

/* Characters in the first n bytes. */
static size_t
chars_in(rlf_str text, size_t n)
{
    size_t chars = 0;
    for (size_t i = 0; i < n; i++)
        chars += ((unsigned char)text.p[i] & 0xC0) != 0x80;
    return chars;
}

/* Are the bytes of a span that has its place those of its characters? */
static bool
is_placed(const rlf_jinja_output *out, const rlf_jinja_span *span)
{
    return !span->placed ||
           (span->from <= span->to && span->to <= out->text.n &&
            chars_in(out->text, span->from) == span->first &&
            chars_in(out->text, span->to) == span->last);
}

static bool
spans_are(const rlf_jinja_output *out, const json_t *want)
{
    bool same = json_array_size(want) == out->n_spans;
    for (size_t i = 0; i < out->n_spans && same; i++) {
        const json_t *pair = json_array_get(want, i);
        same = is_placed(out, &out->spans[i]) &&
               (json_int_t)out->spans[i].first ==
                   json_integer_value(json_array_get(pair, 0)) &&
               (json_int_t)out->spans[i].last ==
                   json_integer_value(json_array_get(pair, 1));
    }
    return same;
}

static bool
is_text(const result *r, const json_t *text)
{
    return r->status >= 0 && r->out.text.n == json_string_length(text) &&
           memcmp(r->out.text.p, json_string_value(text), r->out.text.n) == 0;
}

/* Is it an error, raised by the template with that text or not raised? */
static bool
is_error(const result *r, const json_t *raised)
{
    if (r->status != RLF_USER || r->out.raised != (raised != NULL))
        return false;
    size_t n = strlen(r->err.sentence), m = json_string_length(raised);
    return strncmp(r->err.sentence, "t:", 2) == 0 &&
           (!raised || (m <= n && strcmp(r->err.sentence + n - m,
                                         json_string_value(raised)) == 0));
}

static json_t *
load(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (!json)
        bail("%s:%d: %s", path, error.line, error.text);
    return json;
}

static void
known_cases(void)
{
    char path[4096];
    size_t i;
    json_t *row;
    snprintf(path, sizeof path, "%s/tests/data/jinja.json",
             getenv("RLFLOW_SOURCE"));
    json_t *json = load(path);
    const rlf_jinja_options options = {
        .now = date_of(json_string_value(json_object_get(json, "now")))};
    json_array_foreach(json_object_get(json, "cases"), i, row)
    {
        const json_t *source = json_object_get(row, "template");
        const json_t *text = json_object_get(row, "text");
        result r = render(json_string_value(source), json_string_length(source),
                          json_object_get(json, "variables"), &options);
        bool same = text ? is_text(&r, text) &&
                               spans_are(&r.out, json_object_get(row, "spans"))
                         : is_error(&r, json_object_get(row, "raised"));
        if (!ok(same, "case %zu is as in the reference", i)) {
            note("%s", json_string_value(source));
            note("want: %s", text ? json_string_value(text) : "an error");
            note("got:  %s",
                 r.status < 0
                     ? r.err.sentence
                     : rlf_arena_strndup(pool, r.out.text.p, r.out.text.n));
        }
        rlf_arena_reset(pool);
    }
    json_decref(json);
}

static void
errors(void)
{
    static const struct {
        const char *source, *sentence;
    } rows[] = {
        {"a\n  {{ x + none }}", "t:2:8: UndefinedError: 'x' is undefined"},
        {"{{ 'é' + 1 }}",
         "t:1:8: TypeError: can only concatenate str (not \"int\") to str"},
        {"{% if 1 %}\n{{ raise_exception('No\n') }}{% endif %}",
         "t:2:19: the template refuses: No\n"},
        {"{{ {'a': 1}.b.c }}",
         "t:1:14: UndefinedError: 'dict object' has no attribute 'b'"},
        {"{{ [1].append(2) }}", "t:1:14: SecurityError: access to attribute "
                                "'append' of 'list' object is unsafe"},
        {"{{ 'a'|nonesuch }}", "t:1:8: there is no filter nonesuch"},
        {"{% if 0 %}{% elif 1 %}{{ 1 is nonesuch }}{% endif %}",
         "t:1:28: TemplateRuntimeError: there is no test nonesuch"},
        {"{% include 'x' %}",
         "t:1:4: the tag `include` is not supported in chat templates"},
        {"{{ 'a'|urlize }}",
         "t:1:8: the filter `urlize` is not supported in chat templates"},
        {"{% for x in y %}", "t:1:17: the template ends where {% endfor %} is "
                             "expected"},
        {"{{ 1", "t:1:5: the template ends inside of a tag, where }} is "
                 "expected"},
        {"{{ 1 $ }}", "t:1:6: unexpected character $"},
        {"{{ (1] }}", "t:1:6: unexpected ']', expected ')'"},
        {"{{ if }}{{ 1 2 }}", "t:1:14: expected }}, found '2'"},
        {"{{ 99999999999999999999 }}",
         "t:1:4: an integer of more than 64 bits is not supported"},
        {"{{ 9223372036854775807 + 1 }}",
         "t:1:24: an integer of more than 64 bits is not supported"},
        {"\xff", "t: the chat template is not a text in UTF-8"},
        {"{{ strftime_now('%Q') }}",
         "t:1:16: strftime_now: the format %Q is not supported"},
    };
    const rlf_jinja_options options = {.now = {2024, 1, 1, 0, 0, 0}};
    json_t *none = json_object();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        result r =
            render(rows[i].source, strlen(rows[i].source), none, &options);
        is_str(r.status == RLF_USER ? r.err.sentence : "none", rows[i].sentence,
               rlf_arena_printf(pool, "case %zu: an error has its place", i));
    }
    json_decref(none);
}

/* A text of `n` times `part` between two others. */
static const char *
many(const char *first, const char *part, size_t n, const char *last)
{
    rlf_buf out = {0};
    rlf_buf_puts(&out, first);
    while (n--)
        rlf_buf_puts(&out, part);
    rlf_buf_puts(&out, last);
    const char *text = rlf_arena_strndup(pool, out.p, out.n);
    rlf_buf_free(&out);
    return text;
}

static void
hostile(void)
{
    static const char steps[] = "takes too many steps";
    static const char memory[] = "takes more memory";
    static const char deep[] = "too many things are in each other";
    const struct {
        const char *source, *why;
    } rows[] = {
        {"{% for a in range(10**9) %}{% endfor %}", "Range too big"},
        {"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
         "{% endfor %}",
         steps},
        {"{% set ns = namespace(x='aaaaaaaa') %}{% for a in range(99) %}"
         "{% set ns.x = ns.x + ns.x %}{% endfor %}",
         memory},
        {"{% set ns = namespace(x=[1]) %}{% for a in range(99) %}"
         "{% set ns.x = ns.x + ns.x %}{% endfor %}",
         memory},
        {"{% set ns = namespace(x=[]) %}{% for a in range(9999) %}"
         "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
         deep},
        {"{% set ns = namespace(x=[]) %}{% for a in range(40) %}"
         "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == ns.x|list }}",
         "none"},
        {"{% set ns = namespace(x=[]) %}{% for a in range(40) %}"
         "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson|length }}",
         memory},
        {"{{ 'a' * 10**15 }}", memory},
        {"{{ 'a' * 9223372036854775807 }}", memory},
        {"{{ 'ab'.center(10**15)|length }}", memory},
        {"{{ '%1000000000000d' % 1 }}", "too large"},
        {"{{ '{:99999999999}'.format(1) }}", "too large"},
        {"{{ 1|tojson(indent=10**12) }}", memory},
        {"{{ [[]]|tojson(indent=10**7)|length * 2 }}", "none"},
        {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", deep},
        {"{% macro m() %}{{ caller() }}{% endmacro %}{% macro k() %}"
         "{% call m() %}{{ k() }}{% endcall %}{% endmacro %}{{ k() }}",
         deep},
        {"{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", deep},
        {"{% set x = 'a' * 10000000 %}{% for i in range(100000) %}"
         "{{ x.find('b') }}{% endfor %}",
         steps},
        {"{% set x = ('ab' * 1000000) %}{% for i in range(100000) %}"
         "{% if x == x[:] %}{% endif %}{% endfor %}",
         steps},
        {"{% set x = range(100000)|list %}{% for i in x %}"
         "{{ x|sort|first }}{% endfor %}",
         memory},
        {many("{{ ", "(", 100000, "1"), "too deep"},
        {many("{{ ", "-", 100000, "1 }}"), deep},
        {many("{{ ", "not ", 100000, "1 }}"), deep},
        {many("{{ 1", " if 1 else 1", 100000, " }}"), deep},
        {many("{{ 1", "|abs", 100000, " }}"), deep},
        {many("{{ 1", " + 1", 100000, " }}"), deep},
        {many("", "{% if 1 %}", 100000, ""), deep},
        {many("", "{% for a in b %}", 3000, ""), deep},
        {many("{{ ", "a.", 100000, "a }}"), deep},
    };
    const rlf_jinja_options options = {.now = {2024, 1, 1, 0, 0, 0},
                                       .memory = 64 << 20};
    json_t *none = json_object();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlf_arena *all = pool;
        pool = rlf_arena_new();
        result r =
            render(rows[i].source, strlen(rows[i].source), none, &options);
        if (!ok(r.status < 0 ? strstr(r.err.sentence, rows[i].why) != NULL
                             : strcmp(rows[i].why, "none") == 0,
                "ends: %.*s", RLF_CUT(60, rows[i].source)))
            note("%s", r.status < 0 ? r.err.sentence : "it is rendered");
        rlf_arena_free(pool);
        pool = all;
    }
    json_decref(none);
}

/* ---- templates of public models ---- */

static json_t *
find_input(const json_t *inputs, const char *id)
{
    size_t i;
    json_t *row;
    json_array_foreach(
        inputs, i,
        row) if (strcmp(json_string_value(json_object_get(row, "id")), id) ==
                 0) return row;
    bail("no input %s", id);
}

/* All lines of a file, each a JSON value. */
static json_t *
load_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    json_t *list = json_array();
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    if (!file)
        bail("cannot open %s", path);
    while ((n = getline(&line, &room, file)) > 0)
        json_array_append_new(list, json_loadb(line, (size_t)n, 0, NULL));
    free(line);
    fclose(file);
    return list;
}

static const char *
read_all(const char *path, size_t *n)
{
    rlf_buf text = {0};
    char part[4096];
    FILE *file = fopen(path, "r");
    if (!file)
        bail("cannot open %s", path);
    while ((*n = fread(part, 1, sizeof part, file)) > 0)
        rlf_buf_add(&text, part, *n);
    fclose(file);
    *n = text.n;
    const char *copy = rlf_arena_strndup(pool, text.n ? text.p : "", text.n);
    rlf_buf_free(&text);
    return copy;
}

/* The expected line of an earlier input that has the same text. */
static const json_t *
resolve(const json_t *expected, size_t at)
{
    const json_t *row = json_array_get(expected, at);
    const char *same = json_string_value(json_object_get(row, "same"));
    while (same) {
        row = json_array_get(expected, --at);
        if (strcmp(json_string_value(json_object_get(row, "input")), same) == 0)
            break;
    }
    return row;
}

static void
public_models(const char *data)
{
    size_t wrong = 0, n;
    json_t *list[2];
    static const char *const names[] = {"inputs", "expected"};
    for (int i = 0; i < 2; i++) {
        list[i] =
            load_lines(rlf_arena_printf(pool, "%s/%s.jsonl", data, names[i]));
    }
    size_t count = json_array_size(list[1]);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(list[1], i);
        const char *name = json_string_value(json_object_get(row, "template"));
        const char *id = json_string_value(json_object_get(row, "input"));
        const json_t *input = find_input(list[0], id);
        const rlf_jinja_options options = {
            .now = date_of(json_string_value(json_object_get(input, "now")))};
        const char *source = read_all(
            rlf_arena_printf(pool, "%s/templates/%s.jinja", data, name), &n);
        result r = render(source, n, json_object_get(input, "vars"), &options);
        row = resolve(list[1], i);
        bool raised =
            strcmp(json_is_true(json_object_get(row, "ok"))
                       ? ""
                       : json_string_value(json_object_get(row, "error")),
                   "raise_exception") == 0;
        bool good =
            json_is_true(json_object_get(row, "ok"))
                ? is_text(&r, json_object_get(row, "text")) &&
                      spans_are(&r.out, json_object_get(row, "gen"))
                : is_error(&r, raised ? json_object_get(row, "message") : NULL);
        if (!good && ++wrong <= 10)
            note("%s, %s: %s", name, id,
                 r.status < 0 ? r.err.sentence : "another text");
        rlf_arena_reset(pool);
    }
    ok(wrong == 0 && count > 5000,
       "%zu renderings of public models' templates are as in the reference "
       "(%zu differ)",
       count, wrong);
    json_decref(list[0]);
    json_decref(list[1]);
}

/* ---- noise ---- */

static uint64_t seed = 1;

static size_t
chance(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

/* Templates with bytes changed, taken out and doubled, and pieces of others. */
static void
noise(void)
{
    char path[4096];
    int rounds = quick() ? 3000 : 20000, rendered = 0;
    snprintf(path, sizeof path, "%s/tests/data/jinja.json",
             getenv("RLFLOW_SOURCE"));
    json_t *json = load(path);
    const json_t *cases = json_object_get(json, "cases");
    const rlf_jinja_options options = {
        .now = {2024, 2, 29, 1, 2, 3}, .steps = 200000, .memory = 8 << 20};
    for (int i = 0; i < rounds; i++) {
        rlf_buf text = {0};
        for (int k = 0; k < 2; k++) {
            const char *part = json_string_value(json_object_get(
                json_array_get(cases, chance(json_array_size(cases))),
                "template"));
            size_t n = strlen(part), first = k ? chance(n + 1) : 0;
            rlf_buf_add(&text, part + first, k ? n - first : chance(n + 1));
        }
        for (size_t k = chance(4); k && text.n; k--) {
            static const char odd[] = "{}%#-+|.()[]'\"\\:,~*/=<> \nan0";
            text.p[chance(text.n)] = odd[chance(sizeof odd - 1)];
        }
        result r = render(text.n ? text.p : "", text.n,
                          json_object_get(json, "variables"), &options);
        rendered += r.status >= 0;
        if (r.status < 0 && r.status != RLF_USER)
            ok(false, "no other status than RLF_USER: %s", r.err.sentence);
        rlf_buf_free(&text);
        rlf_arena_reset(pool);
    }
    ok(rendered > rounds / 20 && rendered < rounds,
       "%d of %d mutated templates are still templates, the others errors",
       rendered, rounds);
    json_decref(json);
}

int
main(void)
{
    char path[4096];
    const char *data = getenv("RLFLOW_TEST_DATA");
    pool = rlf_arena_new();
    known_cases();
    errors();
    hostile();
    noise();
    snprintf(path, sizeof path, "%s/chat_templates", data ? data : "");
    if (data && access(path, R_OK) == 0)
        public_models(path);
    else
        skip("chat_templates is not in RLFLOW_TEST_DATA");
    rlf_arena_free(pool);
    return done();
}
