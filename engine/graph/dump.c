/* Printing a graph: text for reading, dot for drawing, json for programs. */
#include "engine/base/json.h"
#include "engine/graph/class.h"
#include "engine/graph/place.h"

#include <string.h>

static const char *
grain_word(rlf_granularity grain)
{
    static const char *const word[] = {
        [RLF_GRAIN_SAMPLE] = "sample",
        [RLF_GRAIN_GROUP] = "group",
        [RLF_GRAIN_BATCH] = "batch",
    };
    return word[grain];
}

/* "%3 adv : tokens of roll", "%1 roll : set" */
static void
put_value(const rlf_graph *graph, int value, bool typed, rlf_buf *out)
{
    const rlf_value *v = &graph->values.data[value];
    rlf_buf_printf(out, "%%%d", value);
    if (v->name)
        rlf_buf_printf(out, " %s", v->name);
    if (!typed)
        return;
    if (v->kind == RLF_VALUE_SET)
        rlf_buf_puts(out, " : set");
    else
        rlf_buf_printf(out, " : %s%s", v->kind == RLF_VALUE_TEXT ? "text " : "",
                       rlf_domains_get(&graph->domains, v->domain)->name);
}

static void
put_values(const rlf_graph *graph, const int *values, int n, bool typed,
           rlf_buf *out)
{
    for (int i = 0; i < n; i++) {
        rlf_buf_puts(out, i ? ", " : "");
        put_value(graph, values[i], typed, out);
    }
}

static void
put_arg(const rlf_graph *graph, const rlf_arg *arg, rlf_buf *out)
{
    if (arg->name)
        rlf_buf_printf(out, "%s: ", arg->name);
    switch (arg->kind) {
    case RLF_ARG_ABSENT:
        rlf_buf_puts(out, "-");
        break;
    case RLF_ARG_NUMBER:
        rlf_buf_number(out, arg->number);
        break;
    case RLF_ARG_TEXT:
        rlf_buf_json(out, arg->text, strlen(arg->text));
        break;
    case RLF_ARG_VALUE:
        put_value(graph, arg->value, false, out);
        break;
    case RLF_ARG_RESOURCE:
        rlf_buf_puts(out, graph->resources.data[arg->resource].name);
        break;
    case RLF_ARG_LIST:
        rlf_buf_printf(out, "%s[", arg->text ? arg->text : "");
        for (int i = 0; i < arg->n_list; i++) {
            rlf_buf_puts(out, i ? ", " : "");
            put_arg(graph, &arg->list[i], out);
        }
        rlf_buf_puts(out, "]");
        break;
    }
}

/* Arguments that were given and are no plain inputs. */
static void
put_args(const rlf_graph *graph, const rlf_arg *args, int n, rlf_buf *out)
{
    bool first = true;
    for (int i = 0; i < n; i++) {
        if (args[i].kind == RLF_ARG_ABSENT)
            continue;
        rlf_buf_puts(out, first ? " {" : ", ");
        first = false;
        put_arg(graph, &args[i], out);
    }
    if (!first)
        rlf_buf_putc(out, '}');
}

static const char *
receiver_name(const rlf_graph *graph, const rlf_node *node)
{
    return node->receiver < 0 ? NULL
                              : graph->resources.data[node->receiver].name;
}

/* The lines of an expression program. */
static void
put_program(const rlf_expr *program, int depth, rlf_buf *out)
{
    rlf_buf lines = {0};
    rlf_expr_print(program, &lines);
    for (const char *p = lines.p; p && *p;) {
        size_t n = strcspn(p, "\n");
        rlf_buf_printf(out, "%*s| %.*s\n", 4 * depth + 4, "", (int)n, p);
        p += n + (p[n] == '\n');
    }
    rlf_buf_free(&lines);
}

static void put_region(const rlf_graph *graph, int region, int depth,
                       rlf_buf *out);

static void
put_node(const rlf_graph *graph, const rlf_node *node, int depth, rlf_buf *out)
{
    const char *receiver = receiver_name(graph, node);
    rlf_buf_printf(out, "%*s", 4 * depth, "");
    if (node->n_outputs) {
        put_values(graph, node->outputs, node->n_outputs, true, out);
        rlf_buf_puts(out, " = ");
    }
    rlf_buf_printf(out, "%s%s%s(", receiver ? receiver : "",
                   receiver ? "." : "", node->class->name);
    put_values(graph, node->inputs, node->n_inputs, false, out);
    rlf_buf_puts(out, ")");
    put_args(graph, node->args, node->n_args, out);
    rlf_buf_printf(out, "%s by %s%s%s\n",
                   node->loss && node->loss->shared ? " {shared}" : "",
                   grain_word(node->grain), node->looking ? ", looking" : "",
                   node->ahead ? ", ahead" : "");
    const rlf_expr *program = node->expr   ? node->expr
                              : node->loss ? node->loss->program
                                           : NULL;
    if (node->words)
        put_program(node->words->program, depth, out);
    for (int i = 0; node->loss && i < node->loss->n_words; i++) {
        put_program(node->loss->words[i].program, depth, out);
        rlf_buf_printf(out, "%*s|\n", 4 * depth + 4, "");
    }
    if (program)
        put_program(program, depth, out);
    for (int i = 0; i < node->n_regions; i++) {
        const rlf_region *r = &graph->regions.data[node->regions[i]];
        rlf_buf_printf(out, "%*s{", 4 * depth, "");
        if (r->n_args) {
            rlf_buf_puts(out, " # each: ");
            put_values(graph, r->args, r->n_args, true, out);
        }
        rlf_buf_putc(out, '\n');
        put_region(graph, node->regions[i], depth + 1, out);
        rlf_buf_printf(out, "%*s}\n", 4 * depth, "");
    }
}

static void
put_region(const rlf_graph *graph, int region, int depth, rlf_buf *out)
{
    const rlf_region *r = &graph->regions.data[region];
    for (int i = 0; i < r->n_nodes; i++)
        put_node(graph, &graph->nodes.data[r->nodes[i]], depth, out);
}

void
rlf_graph_dump_text(const rlf_graph *graph, rlf_buf *out)
{
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        rlf_buf_printf(out, "%s %s = %s", r->class->name, r->name,
                       r->constructor ? r->constructor : "");
        put_args(graph, r->args, r->n_args, out);
        if (r->source >= 0 && !r->class->model)
            rlf_buf_printf(out, " of %s",
                           graph->resources.data[r->source].name);
        rlf_buf_putc(out, '\n');
        if (r->condition)
            put_program(r->condition, 0, out);
    }
    rlf_buf_printf(out, "flow %s\n", graph->name ? graph->name : "");
    put_region(graph, 0, 1, out);
    rlf_placement_print(graph, out);
}

static void
dot_edges(const rlf_graph *graph, const rlf_node *node, rlf_buf *out)
{
    for (int i = 0; i < node->n_inputs; i++) {
        const rlf_value *v = &graph->values.data[node->inputs[i]];
        int from = v->node;
        if (from < 0) /* the piece of a for: drawn from the for itself */
            from = graph->regions.data[node->region].node;
        if (from < 0)
            continue;
        rlf_buf_printf(out, "  n%d -> n%d [label=", from, node->id);
        const char *name = v->name ? v->name : "";
        rlf_buf_json(out, name, strlen(name));
        rlf_buf_puts(out, "]\n");
    }
}

void
rlf_graph_dump_dot(const rlf_graph *graph, rlf_buf *out)
{
    rlf_buf_puts(out, "digraph flow {\n  rankdir=LR\n"
                      "  node [shape=box, fontname=\"sans-serif\"]\n"
                      "  edge [fontname=\"sans-serif\", fontsize=9]\n");
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        const char *receiver = receiver_name(graph, node);
        rlf_buf label = {0};
        rlf_buf_printf(&label, "%s%s%s", receiver ? receiver : "",
                       receiver ? "." : "", node->class->name);
        rlf_buf_printf(out, "  n%d [label=", node->id);
        rlf_buf_json(out, label.p, label.n);
        rlf_buf_printf(out, "%s]\n",
                       node->class->receiver == RLF_RECEIVER_MODEL
                           ? ", style=filled, fillcolor=\"#dde8f8\""
                       : node->looking ? ", style=dashed"
                                       : "");
        rlf_buf_free(&label);
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        dot_edges(graph, node, out);
        for (int r = 0; r < node->n_regions; r++) {
            const rlf_region *region = &graph->regions.data[node->regions[r]];
            for (int k = 0; k < region->n_nodes; k++)
                rlf_buf_printf(out, "  n%d -> n%d [style=dotted]\n", node->id,
                               region->nodes[k]);
            if (region->n_gives) /* what is kept: from the keep, its last */
                rlf_buf_printf(out,
                               "  n%d -> n%d [style=bold, constraint=false]\n",
                               region->nodes[region->n_nodes - 1], node->id);
        }
    }
    rlf_buf_puts(out, "}\n");
}

static void
json_ints(const char *key, const int *list, int n, rlf_buf *out)
{
    rlf_buf_printf(out, "\"%s\":[", key);
    for (int i = 0; i < n; i++)
        rlf_buf_printf(out, "%s%d", i ? "," : "", list[i]);
    rlf_buf_putc(out, ']');
}

static void
json_node(const rlf_graph *graph, const rlf_node *node, rlf_buf *out)
{
    rlf_buf_printf(out, "{\"id\":%d,", node->id);
    rlf_json_text(out, "class", node->class->name);
    rlf_buf_putc(out, ',');
    rlf_json_text(out, "on", receiver_name(graph, node));
    rlf_buf_printf(out, ",\"region\":%d,\"by\":\"%s\",\"looking\":%s,",
                   node->region, grain_word(node->grain),
                   node->looking ? "true" : "false");
    json_ints("inputs", node->inputs, node->n_inputs, out);
    rlf_buf_putc(out, ',');
    json_ints("outputs", node->outputs, node->n_outputs, out);
    rlf_buf_putc(out, ',');
    json_ints("regions", node->regions, node->n_regions, out);
    if (node->span.source) {
        rlf_place place = rlf_sources_place(graph->sources, node->span);
        rlf_buf_printf(out, ",\"line\":%u,\"column\":%u", place.line,
                       place.column);
    }
    rlf_buf_putc(out, '}');
}

void
rlf_graph_dump_json(const rlf_graph *graph, rlf_buf *out)
{
    rlf_buf_putc(out, '{');
    rlf_json_text(out, "flow", graph->name);
    rlf_buf_puts(out, ",\n\"resources\":[");
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        rlf_buf_puts(out, i ? ",\n {" : "\n {");
        rlf_json_text(out, "kind", r->class->name);
        rlf_buf_putc(out, ',');
        rlf_json_text(out, "name", r->name);
        rlf_buf_putc(out, ',');
        rlf_json_text(out, "constructor", r->constructor);
        rlf_buf_putc(out, '}');
    }
    rlf_buf_puts(out, "],\n\"values\":[");
    for (size_t i = 0; i < graph->values.count; i++) {
        const rlf_value *v = &graph->values.data[i];
        rlf_buf_printf(out, "%s\n {\"id\":%zu,", i ? "," : "", i);
        rlf_json_text(out, "name", v->name);
        rlf_buf_putc(out, ',');
        rlf_json_text(out, "on",
                      v->kind == RLF_VALUE_SET
                          ? graph->sets.data[v->set].name
                          : rlf_domains_get(&graph->domains, v->domain)->name);
        rlf_buf_printf(out, ",\"kind\":\"%s\"}",
                       v->kind == RLF_VALUE_SET    ? "set"
                       : v->kind == RLF_VALUE_TEXT ? "text"
                                                   : "number");
    }
    rlf_buf_puts(out, "],\n\"nodes\":[");
    for (size_t i = 0; i < graph->nodes.count; i++) {
        rlf_buf_puts(out, i ? ",\n " : "\n ");
        json_node(graph, &graph->nodes.data[i], out);
    }
    rlf_buf_puts(out, "],\n\"place\":");
    rlf_placement_json(graph, out);
    rlf_buf_puts(out, "}\n");
}
