/* Names, parameters, sets, levels and liveness against golden files:
 * tests/sema/NAME.t (golden.h) in the modes
 *
 *   errors   the diagnostics of compiling
 *   graph    the graph without its expression programs
 *   full     the graph with them
 *   dot      the graph for graphviz
 *   json     the graph as JSON
 *   params   names, values, defaults and ranges of the parameters
 *   place    the placement; and whether its print is a plan that gives it again
 *
 * A line `#set NAME=VALUE` of the program is a setting of the command line. The
 * program stands in a directory with rows.jsonl, other.rlf and cycle.rlf. */
#include "tests/golden.h"

#include "engine/graph/place.h"
#include "grammar/compile.h"
#include "nodes/table.h"

#include <stdlib.h>
#include <unistd.h>

static void
put_file(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f))
        bail("cannot write %s", path);
}

/* The `#set` lines. */
static rlf_compile_setting *
read_settings(rlf_arena *arena, const char *source, size_t *n)
{
    RLF_VEC(rlf_compile_setting) list = {0};
    for (const char *p = source; p && *p; p = strchr(p, '\n')) {
        p += *p == '\n';
        const char *sign = strchr(p, '=');
        if (strncmp(p, "#set ", 5) != 0 || !sign)
            continue;
        rlf_compile_setting setting = {
            rlf_arena_strndup(arena, p + 5, (size_t)(sign - p) - 5),
            rlf_arena_strndup(arena, sign + 1, strcspn(sign + 1, "\n")),
        };
        RLF_PUSH_IN(arena, &list, setting);
    }
    *n = list.count;
    return list.data;
}

/* Without the lines of programs. */
static void
put_outline(rlf_buf *out, char *text)
{
    for (char *p = text, *end; *p; p = end) {
        end = strchr(p, '\n');
        end = end ? end + 1 : p + strlen(p);
        if (p[strspn(p, " ")] != '|')
            rlf_buf_add(out, p, (size_t)(end - p));
    }
}

static void
put_graph(rlf_buf *out, const char *mode, const rlf_graph *graph)
{
    rlf_buf text = {0};
    if (!strcmp(mode, "dot"))
        rlf_graph_dump_dot(graph, out);
    else if (!strcmp(mode, "json"))
        rlf_graph_dump_json(graph, out);
    else
        rlf_graph_dump_text(graph, &text);
    if (!strcmp(mode, "graph"))
        put_outline(out, text.p);
    else
        rlf_buf_add(out, text.p, text.n);
    rlf_buf_free(&text);
}

static void
put_params(rlf_buf *out, const rlf_graph *graph)
{
    for (size_t i = 0; i < graph->params.count; i++) {
        const rlf_param *p = &graph->params.data[i];
        rlf_buf_printf(out, "%s %s = %s (%s) in %s: %s%s\n", p->name, p->type,
                       p->value ? p->value : "-",
                       p->fallback ? p->fallback : "-", p->within,
                       p->doc ? p->doc : "-", p->given ? ", given" : "");
    }
}

/* The library's directory differs from machine to machine. */
static void
hide_stdlib(rlf_buf *out)
{
    const char *stdlib = getenv("RLFLOW_STDLIB");
    rlf_buf text = {0};
    const char *p = out->p ? out->p : "", *at;
    while ((at = strstr(p, stdlib))) {
        rlf_buf_add(&text, p, (size_t)(at - p));
        rlf_buf_puts(&text, "STDLIB");
        p = at + strlen(stdlib);
    }
    rlf_buf_puts(&text, p);
    rlf_buf_free(out);
    *out = text;
}

/* The placement, and what comes of its print as a plan file. */
static void
put_place(rlf_buf *out, rlf_compile_options options, const rlf_graph *graph)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_diags diags = {.arena = arena, .sources = &sources};
    rlf_err err = RLF_ERR_NONE;
    rlf_buf once = {0}, twice = {0};
    rlf_graph *again = NULL;
    rlf_placement_print(graph, &once);
    rlf_buf_puts(out, text_of(&once));
    rlf_placement_json(graph, out);
    rlf_buf_putc(out, '\n');
    put_file("plan.rlf", text_of(&once), once.n);
    options.plan = "plan.rlf";
    if (rlf_compile(&options, arena, &sources, &diags, &err, &again) >= 0) {
        rlf_placement_print(again, &twice);
        rlf_buf_printf(out, "as a plan file: %s\n",
                       strcmp(text_of(&once), text_of(&twice)) == 0
                           ? "the same"
                           : text_of(&twice));
    }
    if (diags.errors)
        rlf_diags_print(&diags, out);
    if (err.status)
        rlf_err_print(&err, &sources, out);
    unlink("plan.rlf");
    rlf_buf_free(&once);
    rlf_buf_free(&twice);
    rlf_arena_free(arena);
}

static void
run(const char *name, const char *mode, const char *source, size_t size,
    bool quiet, rlf_buf *out)
{
    (void)name;
    (void)quiet;
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_diags diags = {.arena = arena, .sources = &sources};
    rlf_err err = RLF_ERR_NONE;
    rlf_graph *graph = NULL;
    put_file("test.rlf", source, size);
    rlf_compile_options options = {
        .path = "test.rlf",
        .stdlib = getenv("RLFLOW_STDLIB"),
        .classes = &rlf_node_classes,
        .params_only = !strcmp(mode, "params"),
    };
    options.settings = read_settings(arena, source, &options.n_settings);
    rlf_status status =
        rlf_compile(&options, arena, &sources, &diags, &err, &graph);
    /* programs that show one thing use little of what they name */
    if (strcmp(mode, "warnings") != 0 && !diags.errors)
        diags.list.count = 0;
    rlf_diags_print(&diags, out);
    if (err.status)
        rlf_err_print(&err, &sources, out);
    if (status < 0 || !strcmp(mode, "errors") || !strcmp(mode, "warnings")) {
        if (status >= 0 && !diags.list.count)
            rlf_buf_puts(out, "compiles\n");
    } else if (options.params_only) {
        put_params(out, graph);
    } else if (!strcmp(mode, "place")) {
        put_place(out, options, graph);
    } else {
        put_graph(out, mode, graph);
    }
    hide_stdlib(out);
    rlf_arena_free(arena);
}

enum { ROWS = 64 }; /* of rows.jsonl */

int
main(int argc, char **argv)
{
    char directory[] = "/tmp/rlflow-sema-XXXXXX";
    static const char row[] =
        "{\"question\": \"1+1\", \"answer\": \"2\", \"grade\": 3}\n";
    static const char other[] = "def twice(x) = 2 * x\n"
                                "def clip(x) = x\n"
                                "def loop(x) = loop(x)\n"
                                "def tokens(x: token) = x\n";
    static const char cycle[] = "import \"cycle\"\n";
    if (!getenv("RLFLOW_STDLIB") || !getenv("RLFLOW_SOURCE"))
        skip_all("RLFLOW_STDLIB and RLFLOW_SOURCE are not set");
    if (!mkdtemp(directory) || chdir(directory))
        bail("cannot make a directory in /tmp");
    /* as many equal rows as the programs draw in a step */
    rlf_buf rows = {0};
    for (int i = 0; i < ROWS; i++)
        rlf_buf_puts(&rows, row);
    put_file("rows.jsonl", rows.p, rows.n);
    rlf_buf_free(&rows);
    put_file("other.rlf", other, sizeof other - 1);
    put_file("cycle.rlf", cycle, sizeof cycle - 1);
    int status = golden_run(run, "sema", argc > 1 ? argv[1] : NULL);
    static const char *const files[] = {"rows.jsonl", "other.rlf", "cycle.rlf",
                                        "test.rlf"};
    for (size_t i = 0; i < RLF_COUNT(files); i++)
        unlink(files[i]);
    if (chdir("/") || rmdir(directory))
        note("%s stays behind", directory);
    return status;
}
