/* Nodes are walked in the order of the program, so that what a set is made of
 * has its size before the set. */
#include "engine/graph/sizes.h"

#include "engine/graph/class.h"

#include <math.h>

typedef struct walk {
    const rlf_graph *graph;
    const rlf_sizes_options *options;
    rlf_sizes sizes;
} walk;

static double
least(double a, double b)
{
    return a < b ? a : b;
}

/* A whole number argument of the node, `fallback` if it was not given. */
static double
number(const rlf_node *node, const char *name, double fallback)
{
    const rlf_arg *arg = rlf_args_find(node->args, node->n_args, name);
    return arg && arg->kind == RLF_ARG_NUMBER ? arg->number : fallback;
}

static double rows_of(const walk *w, int domain);

/* Rows of a domain as far as one that goes down to it, and is not its owner,
 * bounds them: of each of its own prompts as many as there. */
static double
rows_below(const walk *w, const rlf_domain *d, int up)
{
    const rlf_domain *whole = rlf_domains_get(&w->graph->domains, up);
    double rows = rows_of(w, up);
    if (d->owner < 0 || whole->owner < 0)
        return rows;
    double each = rows / rows_of(w, whole->owner);
    return isfinite(each) ? least(rows, rows_of(w, d->owner) * each) : rows;
}

/* Rows of a domain that no set has set: as many as the least of those that go
 * down to it lets be. Prompts alone do not bound their samples. */
static double
rows_of(const walk *w, int domain)
{
    double *known = &w->sizes.values[domain];
    if (*known > 0)
        return *known;
    const rlf_domain *d = rlf_domains_get(&w->graph->domains, domain);
    double most = INFINITY; /* also of what was not sized: a vocabulary */
    for (int i = 0; i < d->n_up; i++)
        if (d->n_up == 1)
            most = rows_of(w, d->up[i]);
        else if (d->up[i] != d->owner)
            most = least(most, rows_below(w, d, d->up[i]));
    return *known = most;
}

static double
option(const rlf_graph *graph, int data, const char *name, double fallback)
{
    if (data < 0)
        return fallback;
    const rlf_resource *r = &graph->resources.data[data];
    const rlf_arg *arg = rlf_args_find(r->args, r->n_args, name);
    return arg && arg->kind == RLF_ARG_NUMBER ? arg->number : fallback;
}

/* Enter a set and the domains that it brings along. */
static void
put_set(walk *w, int index, rlf_set_size size)
{
    const rlf_set *set = &w->graph->sets.data[index];
    double longest = w->options->longest > 0 ? w->options->longest : INFINITY;
    size.response = least(size.response, longest);
    size.prompt = least(size.prompt, longest);
    if (size.sequence > 0)
        longest = least(size.sequence, longest);
    size.sequence = least(size.prompt + size.response, longest);
    /* a generation leaves room for all that it may make */
    if (set->kind == RLF_SET_SAMPLED && size.sequence < INFINITY)
        size.prompt = size.sequence - size.response;
    w->sizes.set[index] = size;
    double *values = w->sizes.values;
    if (values[set->prompts] <= 0)
        values[set->prompts] = size.prompts;
    if (values[set->samples] <= 0)
        values[set->samples] = size.samples;
    if (set->tokens >= 0)
        values[set->tokens] = size.samples * size.response;
}

/* The longest prompt of a data set: that of what it is made of. */
static double
longest_prompt(const rlf_graph *graph, int data)
{
    const rlf_resource *r = &graph->resources.data[data];
    double longest = -1;
    if (r->source >= 0)
        return longest_prompt(graph, r->source);
    for (int i = 0; i < r->n_args; i++) {
        if (r->args[i].kind != RLF_ARG_RESOURCE)
            continue;
        double one = longest_prompt(graph, r->args[i].resource);
        longest = one > longest ? one : longest;
    }
    return longest >= 0 ? longest : option(graph, data, "max_prompt", INFINITY);
}

static void
draw(walk *w, const rlf_node *node, int index)
{
    double n = INFINITY;
    const rlf_arg *count = rlf_node_arg(node, "count");
    if (count->kind != RLF_ARG_ABSENT)
        n = count->number; /* of a collect: the most that it can be */
    else if (w->options->rows)
        n = w->options->rows[node->receiver];
    put_set(w, index,
            (rlf_set_size){.prompts = n,
                           .samples = n,
                           .prompt = longest_prompt(w->graph, node->receiver)});
}

static void
sample(walk *w, const rlf_node *node, int index)
{
    const rlf_set *set = &w->graph->sets.data[index];
    rlf_set_size size = {.prompts = rows_of(w, set->prompts),
                         .prompt = INFINITY,
                         .response = number(node, "max_new", INFINITY)};
    if (set->from >= 0)
        size.prompt = w->sizes.set[set->from].prompt;
    size.samples = size.prompts * number(node, "n", 1);
    put_set(w, index, size);
}

/* A part of another set, or texts: rows by their domains, tokens by the set
 * that they come from; of what is asked as the call says, or the data whose
 * rows they go back to; of given responses as the call says, and prompts of the
 * set that they answer. */
static void
other(walk *w, const rlf_node *node, int index)
{
    const rlf_set *set = &w->graph->sets.data[index];
    double longest = INFINITY;
    if (set->kind == RLF_SET_ASKED && set->data >= 0)
        longest = longest_prompt(w->graph, set->data);
    if (set->kind == RLF_SET_WRITTEN && set->from >= 0)
        longest = w->sizes.set[set->from].prompt;
    rlf_set_size size = {
        .prompt = number(node, "max_prompt", longest),
        .response =
            set->tokens < 0 ? 0 : number(node, "max_response", INFINITY)};
    if (set->turns) /* prompt and response are one conversation */
        size.prompt = size.response = size.sequence =
            number(node, "max_length", INFINITY);
    if (set->origin >= 0)
        size = w->sizes.set[set->origin];
    size.prompts = rows_of(w, set->prompts);
    size.samples =
        set->samples == set->prompts ? size.prompts : rows_of(w, set->samples);
    put_set(w, index, size);
}

/* A piece of the set `whole`: groups stay whole. */
static double
piece(walk *w, const rlf_node *node, int nth, int whole, int index)
{
    int formals = node->class->n_formals;
    rlf_node one = {.args = node->args + nth * formals, .n_args = formals};
    rlf_set_size size = w->sizes.set[whole];
    double all = size.prompts, group = size.samples / size.prompts;
    double parts = number(&one, "parts", 0);
    size.prompts =
        parts > 0 ? ceil(all / parts) : least(all, number(&one, "size", all));
    size.samples = size.prompts * group;
    put_set(w, index, size);
    return (parts > 0 ? parts : ceil(all / size.prompts)) *
           number(&one, "epochs", 1);
}

/* Outputs of a collect are made of what its keep names, the draw first: as much
 * for each prompt that is kept as for each that is drawn. */
static void
collect(walk *w, const rlf_node *node)
{
    const rlf_value *values = w->graph->values.data;
    const rlf_region *body = &w->graph->regions.data[node->regions[0]];
    const rlf_node *keep =
        &w->graph->nodes.data[body->nodes[body->n_nodes - 1]];
    double drawn = w->sizes.set[values[keep->inputs[1]].set].prompts;
    double share = number(node, "count", drawn) / drawn;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *out = &values[node->outputs[i]];
        if (out->kind != RLF_VALUE_SET)
            continue;
        rlf_set_size size = w->sizes.set[values[keep->inputs[i + 1]].set];
        size.prompts *= share;
        size.samples *= share;
        put_set(w, out->set, size);
    }
}

static void walk_region(walk *w, int region, double runs);

static void
walk_node(walk *w, const rlf_node *node, double runs)
{
    w->sizes.runs[node->id] = runs;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *value = &w->graph->values.data[node->outputs[i]];
        if (value->kind != RLF_VALUE_SET ||
            node->class->control_flow == RLF_CONTROL_FLOW_ROUNDS)
            continue;
        if (node->class->draws)
            draw(w, node, value->set);
        else if (node->class->work == RLF_WORK_GENERATE)
            sample(w, node, value->set);
        else
            other(w, node, value->set);
    }
    double inside = runs;
    const rlf_region *body =
        node->n_regions ? &w->graph->regions.data[node->regions[0]] : NULL;
    if (node->class->control_flow == RLF_CONTROL_FLOW_LOOP)
        for (int i = 0; i < body->n_args; i++)
            inside = runs * piece(w, node, i,
                                  w->graph->values.data[node->inputs[i]].set,
                                  w->graph->values.data[body->args[i]].set);
    if (node->class->control_flow == RLF_CONTROL_FLOW_ROUNDS)
        inside = runs * number(node, "rounds", 1);
    for (int i = 0; i < node->n_regions; i++)
        walk_region(w, node->regions[i], inside);
    if (node->class->control_flow == RLF_CONTROL_FLOW_ROUNDS)
        collect(w, node);
}

static void
walk_region(walk *w, int region, double runs)
{
    const rlf_region *r = &w->graph->regions.data[region];
    for (int i = 0; i < r->n_nodes; i++)
        walk_node(w, &w->graph->nodes.data[r->nodes[i]], runs);
}

rlf_sizes
rlf_sizes_make(const rlf_graph *graph, const rlf_sizes_options *options,
               rlf_arena *arena)
{
    size_t domains = graph->domains.list.count;
    walk w = {.graph = graph, .options = options};
    w.sizes.set = RLF_NEW_ARRAY(arena, rlf_set_size, graph->sets.count);
    w.sizes.values = RLF_NEW_ARRAY(arena, double, domains);
    w.sizes.runs = RLF_NEW_ARRAY(arena, double, graph->nodes.count);
    w.sizes.values[0] = 1;
    for (size_t i = 0; options->rows && i < graph->resources.count; i++)
        if (graph->resources.data[i].class->data)
            w.sizes.values[graph->resources.data[i].domain] = options->rows[i];
    walk_region(&w, 0, 1);
    for (size_t i = 0; i < domains; i++)
        rows_of(&w, (int)i);
    return w.sizes;
}

/* ---- bytes ---- */

/* Of one row, in the arrays of a set: what run.h holds of a prompt and of a
 * sample, the space's identity and maps, and the lists that made them. */
enum { PROMPT_BYTES = 96, SAMPLE_BYTES = 120, WRITTEN_BYTES = 64 };

/* Models that may each write a prompt in tokens of their own; 1 at least. */
static double
writers(const rlf_graph *graph)
{
    double n = 0;
    for (size_t i = 0; i < graph->resources.count; i++)
        n += graph->resources.data[i].class->model &&
             graph->resources.data[i].source < 0;
    return n > 1 ? n : 1;
}

/* Of one response token of a set: its id (of conversations also among those of
 * the others), its log-probability, its text. */
static double
token_bytes(const rlf_set *set)
{
    if (set->origin >= 0)
        return set->kind == RLF_SET_SAMPLED ? 8 : 0;
    return set->kind == RLF_SET_SAMPLED   ? 4 + 8 + 8
           : set->kind == RLF_SET_WRITTEN ? (set->turns ? 8 : 4)
                                          : 0;
}

static double
set_bytes(const rlf_graph *graph, const rlf_set *set, const rlf_set_size *size)
{
    double bytes = size->prompts * PROMPT_BYTES;
    if (set->origin < 0 && set->kind != RLF_SET_SAMPLED)
        bytes +=
            size->prompts * writers(graph) * (WRITTEN_BYTES + size->prompt * 4);
    if (set->tokens >= 0)
        bytes +=
            size->samples * (SAMPLE_BYTES + size->response * token_bytes(set));
    return bytes;
}

double
rlf_sizes_text(const rlf_graph *graph, const rlf_value *value)
{
    enum { ROUNDING = 128 }; /* where it is alone in a block */
    if (value->kind != RLF_VALUE_TEXT || value->node < 0)
        return 0;
    const rlf_node *node = &graph->nodes.data[value->node];
    const rlf_resource *r =
        node->receiver < 0 ? NULL : &graph->resources.data[node->receiver];
    return r && r->class->hook ? r->class->hook->text(r) + ROUNDING : 0;
}

double
rlf_sizes_bytes(const rlf_graph *graph, const rlf_sizes *sizes,
                const rlf_value *value)
{
    bool stored = value->kind == RLF_VALUE_SET ||
                  rlf_domains_get(&graph->domains, value->domain)->kind !=
                      RLF_DOMAIN_VOCAB;
    if (!stored)
        return 0;
    switch (value->kind) {
    case RLF_VALUE_NUMBER:
        return sizeof(double) * sizes->values[value->domain];
    case RLF_VALUE_TEXT:
        return (sizeof(rlf_str) + rlf_sizes_text(graph, value)) *
               sizes->values[value->domain];
    case RLF_VALUE_SET:
        return set_bytes(graph, &graph->sets.data[value->set],
                         &sizes->set[value->set]);
    }
    return 0;
}
