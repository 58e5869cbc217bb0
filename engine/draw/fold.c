/* What of a graph is shown: see draw.h. */
#include "engine/base/vec.h"
#include "engine/draw/scene.h"
#include "engine/graph/class.h"

#include <math.h>
#include <string.h>

/* Letters of a line below a title, and of a frame's title. */
enum { UNDER = 34, TITLE = 60 };

/* A box of a scene. */
typedef struct spot {
    rlf_scene *scene;
    int box;
} spot;

typedef struct folder {
    const rlf_graph *graph;
    rlf_arena *arena;
    spot *made;  /* per node: its box; scene NULL: it has none */
    spot *entry; /* per region: where its arguments come from */
    bool *known; /* per value: a number that no row has, made of the step's
                    number and constants */
    int *model;  /* per resource: number among the models, or -1 */
    spot *read;  /* per resource that is a state: the box that has its value,
                    until it is set; scene NULL: none has */
} folder;

/* ---- texts ---- */

static const char *
statement(const folder *f, rlf_span span)
{
    return span.source
               ? rlf_sources_statement(f->graph->sources, span, f->arena)
               : NULL;
}

/* The beginning of a text, of so many bytes at most. */
static const char *
shortened(const folder *f, const char *text, size_t most)
{
    size_t n = strlen(text);
    if (n <= most)
        return text;
    return rlf_arena_printf(f->arena, "%.*s...",
                            (int)rlf_str_cut(rlf_str_of(text), most - 3), text);
}

/* The user's name for a value; NULL: it has none. */
static const char *
name_of(const folder *f, int value)
{
    const char *name = f->graph->values.data[value].name;
    return name && strcmp(name, "it") != 0 && !strchr(name, '(') ? name : NULL;
}

/* Adds ", NAME" to a list of names, unless it is there. */
static const char *
listed(const folder *f, const char *list, const char *name)
{
    size_t n = strlen(name);
    if (!n)
        return list;
    if (!*list)
        return name;
    for (const char *p = list; (p = strstr(p, name)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ',' || !p[n]))
            return list;
    return rlf_arena_printf(f->arena, "%s, %s", list, name);
}

static void
add_under(const folder *f, rlf_scene_box *box, const char *text)
{
    if (box->n_under < RLF_BOX_LINES)
        box->under[box->n_under++] = shortened(f, text, UNDER);
}

/* Breaks a list of names into lines below the title. */
static void
add_list(const folder *f, rlf_scene_box *box, const char *list)
{
    while (*list && box->n_under < RLF_BOX_LINES) {
        size_t n = strlen(list), cut = n;
        bool last = box->n_under == RLF_BOX_LINES - 1;
        if (n > UNDER && !last) {
            cut = UNDER;
            while (cut && !(list[cut] == ' ' && list[cut - 1] == ','))
                cut--;
            cut = cut ? cut : n;
        }
        add_under(f, box, rlf_arena_strndup(f->arena, list, cut));
        list += cut;
        list += *list == ' ';
    }
}

/* ---- boxes and lines ---- */

static int
add_box(const folder *f, rlf_scene *scene, rlf_scene_box box)
{
    RLF_PUSH_IN(f->arena, &scene->boxes, box);
    return (int)scene->boxes.count - 1;
}

static rlf_scene *
scene_new(const folder *f, rlf_scene *parent, int box)
{
    rlf_scene *scene = RLF_NEW(f->arena, rlf_scene);
    *scene = (rlf_scene){.parent = parent, .box = box};
    if (parent)
        add_box(
            f, scene,
            (rlf_scene_box){.kind = RLF_BOX_ENTRY, .title = "", .model = -1});
    return scene;
}

static void
add_line(const folder *f, rlf_scene *scene, int from, int to, const char *label,
         bool looking)
{
    for (size_t i = 0; i < scene->lines.count; i++) {
        rlf_scene_line *line = &scene->lines.data[i];
        if (line->from != from || line->to != to)
            continue;
        line->label = listed(f, line->label, label);
        line->looking &= looking;
        return;
    }
    rlf_scene_line line = {
        .from = from, .to = to, .label = label, .looking = looking};
    RLF_PUSH_IN(f->arena, &scene->lines, line);
}

/* A line into a frame ends at it, and goes on from its entry. */
static void
connect(const folder *f, spot from, spot to, const char *label, bool looking)
{
    while (to.scene != from.scene) {
        add_line(f, to.scene, 0, to.box, label, looking);
        to = (spot){to.scene->parent, to.scene->box};
        if (!to.scene)
            return; /* it comes from a body that is over */
    }
    if (from.box != to.box)
        add_line(f, from.scene, from.box, to.box, label, looking);
}

/* ---- where values come from ---- */

/* A field of a set has no box: the line is of the set, by the field's name. */
static bool
is_field(const rlf_node *node)
{
    return node->class->form == RLF_FORM_FIELD && node->n_inputs > 0;
}

/* It looks at a value and ends the run if that is wrong, and does nothing else.
 */
static bool
is_check(const rlf_node *node)
{
    const rlf_node_class *class = node->class;
    return class->gives == RLF_GIVES_NOTHING && node->n_inputs > 0 &&
           node->receiver < 0 && !class->ends_round && !class->reports &&
           !class->writes && class->control_flow == RLF_CONTROL_FLOW_NONE;
}

/* Connects what a value comes from with a box, by lines of that label; NULL:
 * the value's own. */
static void
connect_value(const folder *f, int value, spot to, const char *label,
              bool looking)
{
    const rlf_graph *g = f->graph;
    const rlf_value *v = &g->values.data[value];
    if (f->known[value])
        return;
    if (v->node < 0) { /* an argument of a region that is around */
        for (size_t r = 0; r < g->regions.count; r++)
            for (int i = 0; i < g->regions.data[r].n_args; i++)
                if (g->regions.data[r].args[i] == value && f->entry[r].scene)
                    connect(f, f->entry[r], to, label ? label : v->name,
                            looking);
        return;
    }
    const rlf_node *node = &g->nodes.data[v->node];
    const spot from = f->made[v->node];
    const char *name = name_of(f, value);
    if (!label)
        label = name ? name : "";
    if (from.scene)
        connect(f, from, to, label, looking);
    else if (is_field(node))
        connect_value(f, node->inputs[0], to, label, looking);
    else
        for (int i = 0; i < node->n_inputs; i++)
            connect_value(f, node->inputs[i], to, NULL, looking);
}

static void
connect_inputs(const folder *f, const rlf_node *node, spot to)
{
    for (int i = 0; i < node->n_inputs; i++)
        connect_value(f, node->inputs[i], to, NULL, node->looking);
}

/* Numbers that no row has and no model, hook or state decides: schedules of
 * learning rates, the step's number. */
static void
find_known(folder *f)
{
    const rlf_graph *g = f->graph;
    f->known = RLF_NEW_ARRAY(f->arena, bool, g->values.count + 1);
    for (size_t i = 0; i < g->nodes.count; i++) {
        const rlf_node *node = &g->nodes.data[i];
        bool known = node->class->is_step_number ||
                     node->class->program == RLF_PROGRAM_EXPR;
        for (int k = 0; k < node->n_inputs; k++)
            known &= f->known[node->inputs[k]];
        for (int k = 0; k < node->n_outputs; k++)
            f->known[node->outputs[k]] = known;
    }
}

/* ---- nodes ---- */

static const char *
receiver_name(const folder *f, const rlf_node *node)
{
    return node->receiver < 0 ? NULL
                              : f->graph->resources.data[node->receiver].name;
}

/* The names of a node's values, or what its class is called. */
static const char *
value_names(const folder *f, const rlf_node *node, const char *otherwise)
{
    const char *list = "";
    for (int i = 0; i < node->n_outputs; i++) {
        const char *name = name_of(f, node->outputs[i]);
        list = listed(f, list, name ? name : "");
    }
    return *list ? list : otherwise;
}

/* The statements of a node: those of its values, each once. */
static const char *
statements(const folder *f, const rlf_node *node)
{
    const char *text = statement(f, node->span);
    text = text ? text : "";
    if (node->class->program != RLF_PROGRAM_EXPR)
        return text;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &f->graph->values.data[node->outputs[i]];
        const char *one = statement(f, v->span);
        if (one && !strstr(text, one))
            text = rlf_arena_printf(f->arena, "%s\n%s", text, one);
    }
    return text;
}

static void
say_line(const folder *f, const rlf_node *node, rlf_scene_box *box)
{
    if (!node->span.source)
        return;
    rlf_span span = rlf_sources_own(f->graph->sources, node->span);
    rlf_place place = rlf_sources_place(f->graph->sources, span);
    add_under(f, box, rlf_arena_printf(f->arena, "line %u", place.line));
}

/* The number of rows or samples that an argument of that name says. */
static void
say_count(const folder *f, const rlf_node *node, const char *name,
          const char *form, rlf_scene_box *box)
{
    for (int i = 0; i < node->n_args; i++) {
        const rlf_arg *arg = &node->args[i];
        if (arg->name && strcmp(arg->name, name) == 0 &&
            arg->kind == RLF_ARG_NUMBER && arg->number > 1)
            add_under(f, box, rlf_arena_printf(f->arena, form, arg->number));
    }
}

static rlf_scene_box
box_of(const folder *f, const rlf_node *node)
{
    const rlf_node_class *class = node->class;
    const char *on = receiver_name(f, node);
    rlf_scene_box box = {.kind = RLF_BOX_OTHER,
                         .hint = statements(f, node),
                         .model =
                             node->receiver < 0 ? -1 : f->model[node->receiver],
                         .looking = node->looking};
    if (class->draws) {
        box.kind = RLF_BOX_DATA;
        box.title = on;
        say_count(f, node, "count", "%g a step", &box);
    } else if (class->receiver == RLF_RECEIVER_STATE) {
        box.kind = RLF_BOX_DATA;
        box.title =
            class->writes ? rlf_arena_printf(f->arena, "%s :=", on) : on;
    } else if (class->receiver == RLF_RECEIVER_HOOK) {
        box.kind = RLF_BOX_HOOK;
        box.title = on;
        add_under(f, &box,
                  f->graph->resources.data[node->receiver].constructor);
    } else if (class->work == RLF_WORK_TRAIN) {
        box.kind = RLF_BOX_MODEL;
        box.updates = true;
        box.title = rlf_arena_printf(f->arena, "update %s", on);
    } else if (class->work == RLF_WORK_WEIGHTS) {
        box.kind = RLF_BOX_MODEL;
        box.title = rlf_arena_printf(f->arena, "%s :=", on);
    } else if (box.model >= 0) {
        box.kind = RLF_BOX_MODEL;
        box.title = rlf_arena_printf(f->arena, "%s.%s", on, class->name);
        say_count(f, node, "n", "%g for each prompt", &box);
    } else if (class->program != RLF_PROGRAM_NONE) {
        box.kind = RLF_BOX_FORMULA;
        box.title = value_names(f, node, "formula");
    } else {
        box.title = class->name;
    }
    say_line(f, node, &box);
    return box;
}

/* ---- what only metrics want ---- */

/* The metrics that a region and those in it report, the calls made for them,
 * and what else they do. */
static void
list_region(const folder *f, int region, const char **calls,
            const char **metrics)
{
    const rlf_region *r = &f->graph->regions.data[region];
    for (int i = 0; i < r->n_nodes; i++) {
        const rlf_node *node = &f->graph->nodes.data[r->nodes[i]];
        const char *on = receiver_name(f, node);
        if (node->class->reports) {
            for (int k = 0; k < node->n_args; k++)
                *metrics = listed(f, *metrics, node->args[k].name);
        } else if (node->class->work != RLF_WORK_NONE && on) {
            *calls = listed(f, *calls,
                            node->class->receiver == RLF_RECEIVER_HOOK
                                ? on
                                : rlf_arena_printf(f->arena, "%s.%s", on,
                                                   node->class->name));
        } else if (!node->n_outputs && !node->n_regions) {
            *metrics = listed(f, *metrics, node->class->name);
        }
        for (int k = 0; k < node->n_regions; k++)
            list_region(f, node->regions[k], calls, metrics);
    }
}

/* A branch that only looks: an evaluation, a checkpoint. */
static void
fold_looking(const folder *f, const rlf_node *node, rlf_scene *scene)
{
    const char *title = statement(f, node->span), *calls = "", *metrics = "";
    for (int k = 0; k < node->n_regions; k++)
        list_region(f, node->regions[k], &calls, &metrics);
    rlf_scene_box box = {
        .kind = RLF_BOX_METRICS,
        .title = shortened(f, title ? title : node->class->name, UNDER),
        .hint = title,
        .model = -1,
        .looking = true};
    add_list(f, &box, calls);
    add_list(f, &box, metrics);
    add_box(f, scene, box);
}

/* One box for all metrics that a region itself reports. */
static void
fold_reports(const folder *f, const rlf_region *region, rlf_scene *scene)
{
    const char *metrics = "", *hint = "";
    for (int i = 0; i < region->n_nodes; i++) {
        const rlf_node *node = &f->graph->nodes.data[region->nodes[i]];
        if (!node->class->reports)
            continue;
        for (int k = 0; k < node->n_args; k++)
            metrics = listed(f, metrics, node->args[k].name);
        const char *text = statement(f, node->span);
        hint = listed(f, hint, text ? text : "");
    }
    if (!*metrics)
        return;
    rlf_scene_box box = {.kind = RLF_BOX_METRICS,
                         .title = "report",
                         .hint = hint,
                         .model = -1,
                         .looking = true};
    add_list(f, &box, metrics);
    spot to = {scene, add_box(f, scene, box)};
    for (int i = 0; i < region->n_nodes; i++) {
        const rlf_node *node = &f->graph->nodes.data[region->nodes[i]];
        for (int k = 0; node->class->reports && k < node->n_inputs; k++)
            connect_value(f, node->inputs[k], to, "", true);
    }
}

/* ---- regions ---- */

/* A node that has no box: its values are those of what it is made of. */
static bool
is_folded(const folder *f, const rlf_node *node)
{
    bool known = node->n_outputs > 0;
    for (int k = 0; k < node->n_outputs; k++)
        known &= f->known[node->outputs[k]];
    return known || node->class->reports || is_field(node) || is_check(node) ||
           (node->looking && node->class->program == RLF_PROGRAM_EXPR);
}

/* Readers of a state share a box as long as it has the same value. */
static void
fold_node(folder *f, const rlf_node *node, rlf_scene *scene)
{
    bool state = node->class->receiver == RLF_RECEIVER_STATE;
    spot *read = state ? &f->read[node->receiver] : NULL;
    if (read && !node->class->writes && read->scene == scene) {
        scene->boxes.data[read->box].looking &= node->looking;
        f->made[node->id] = *read;
        return;
    }
    spot at = {scene, add_box(f, scene, box_of(f, node))};
    f->made[node->id] = at;
    connect_inputs(f, node, at);
    if (read)
        *read = node->class->writes ? (spot){NULL, 0} : at;
}

static void fold_region(folder *f, int region, rlf_scene *scene);

static void
fold_bodies(folder *f, const rlf_node *node, rlf_scene *scene)
{
    for (int k = 0; k < node->n_regions; k++) {
        const char *title = statement(f, node->span);
        title = k > 0 ? "else" : title ? title : node->class->name;
        rlf_scene_box box = {.kind = RLF_BOX_FRAME,
                             .title = shortened(f, title, TITLE),
                             .hint = title,
                             .model = -1};
        spot at = {scene, add_box(f, scene, box)};
        rlf_scene *inside = scene_new(f, scene, at.box);
        scene->boxes.data[at.box].inside = inside;
        f->entry[node->regions[k]] = (spot){inside, 0};
        if (k == 0)
            f->made[node->id] = at;
        connect_inputs(f, node, at);
        fold_region(f, node->regions[k], inside);
    }
}

static void
fold_region(folder *f, int region, rlf_scene *scene)
{
    const rlf_region *r = &f->graph->regions.data[region];
    for (int i = 0; i < r->n_nodes; i++) {
        const rlf_node *node = &f->graph->nodes.data[r->nodes[i]];
        if (node->n_regions && node->looking) {
            fold_looking(f, node, scene);
        } else if (node->n_regions) {
            fold_bodies(f, node, scene);
        } else if (!is_folded(f, node)) {
            fold_node(f, node, scene);
        }
    }
    fold_reports(f, r, scene);
}

rlf_scene *
rlf_scene_fold(const rlf_graph *graph, rlf_arena *arena)
{
    folder f = {.graph = graph,
                .arena = arena,
                .made = RLF_NEW_ARRAY(arena, spot, graph->nodes.count + 1),
                .entry = RLF_NEW_ARRAY(arena, spot, graph->regions.count + 1),
                .read = RLF_NEW_ARRAY(arena, spot, graph->resources.count + 1),
                .model = RLF_NEW_ARRAY(arena, int, graph->resources.count + 1)};
    int models = 0;
    for (size_t i = 0; i < graph->resources.count; i++)
        f.model[i] = graph->resources.data[i].class->model ? models++ : -1;
    find_known(&f);
    rlf_scene *scene = scene_new(&f, NULL, -1);
    fold_region(&f, 0, scene);
    return scene;
}
