/* From items and terms to the graph's nodes.
 *
 * Items become nodes in their order. Terms become expression nodes, before the
 * first item that demands them (demand.c). What is demanded at one place is
 * fused into as few programs as its granularity allows, so that what can run
 * sample by sample does not wait for what needs the batch. */
#include "grammar/lower.h"

#include <string.h>

/* ---- looking ---- */

static void mark_item(rlf_lower *l, int item);
static void mark_set(rlf_lower *l, int set);
static void mark_term(rlf_lower *l, int term);

/* Output `port` of a collect needs what it is made of; of other items nothing
 * that the item itself does not need. */
static void
mark_source(rlf_lower *l, int item, int port)
{
    int keep = l->s->items.data[item].keep;
    if (keep < 0 || port < 0)
        return;
    const rlf_item_input *in = &l->s->items.data[keep].inputs.data[port + 1];
    if (in->is_set)
        mark_set(l, in->id);
    else
        mark_term(l, in->id);
}

static void
mark_term(rlf_lower *l, int term)
{
    const rlf_term *t = &l->s->terms.data[term];
    if (l->needed[term])
        return;
    l->needed[term] = true;
    for (int k = 0; k < 3; k++) {
        if (t->arg[k] >= 0)
            mark_term(l, t->arg[k]);
    }
    if (t->kind == RLF_TERM_OUT) {
        mark_item(l, t->item);
        mark_source(l, t->item, t->port);
    }
}

static void
mark_set(rlf_lower *l, int set)
{
    int item = l->s->makers.data[set].item;
    if (item >= 0)
        mark_source(l, item, l->s->makers.data[set].port);
    else
        item = l->piece_of[set];
    mark_item(l, item);
}

/* The item changes something, or something that does needs it. */
static void
mark_item(rlf_lower *l, int item)
{
    rlf_sema *s = l->s;
    rlf_item *it = &s->items.data[item];
    if (!it->looking)
        return;
    it->looking = false;
    /* A keep needs its condition; what it keeps is marked by who reads it. */
    size_t n = it->class->ends_round ? 1 : it->inputs.count;
    for (size_t i = 0; i < n; i++) {
        if (it->inputs.data[i].is_set)
            mark_set(l, it->inputs.data[i].id);
        else
            mark_term(l, it->inputs.data[i].id);
    }
    if (it->update >= 0)
        mark_term(l, s->updates.data[it->update].loss);
    if (it->update >= 0 && s->updates.data[it->update].taken >= 0)
        mark_term(l, s->updates.data[it->update].taken);
    int parent = s->parts.data[it->region].parent;
    if (parent >= 0)
        mark_item(l, parent);
}

static bool
changes_something(const rlf_item *it)
{
    return it->writes.count ||
           it->class->control_flow == RLF_CONTROL_FLOW_LEAVE ||
           it->class->ends_round;
}

static void
mark(rlf_lower *l)
{
    rlf_sema *s = l->s;
    for (size_t p = 0; p < s->parts.count; p++) {
        for (size_t i = 0; i < s->parts.data[p].sets.count; i++)
            l->piece_of[s->parts.data[p].sets.data[i]] =
                s->parts.data[p].parent;
    }
    for (size_t i = 0; i < s->items.count; i++)
        s->items.data[i].looking = true;
    for (size_t i = 0; i < s->items.count; i++) {
        if (changes_something(&s->items.data[i]))
            mark_item(l, (int)i);
    }
}

/* ---- sites ---- */

/* Numbers of calls, keys of what is random in them. Each kind counts by itself
 * in the order of the text, and what only metrics want counts apart, so that
 * more or fewer metrics move no other number. */
static void
number_sites(rlf_lower *l)
{
    rlf_sema *s = l->s;
    uint32_t items[2] = {0, RLF_SITE_LOOKING}, shared = RLF_SITE_SHARED;
    uint32_t uniforms[2] = {RLF_SITE_UNIFORM,
                            RLF_SITE_UNIFORM + RLF_SITE_LOOKING};
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_item *it = &s->items.data[i];
        l->item_site[i] = it->shared ? shared++ : items[it->looking]++;
    }
    for (size_t i = 0; i < s->terms.count; i++) {
        if (s->terms.data[i].code == RLF_EXPR_UNIFORM)
            l->term_site[i] = uniforms[!l->needed[i]]++;
    }
}

/* ---- sets of given texts ---- */

static int
first_model(const rlf_graph *graph)
{
    for (size_t i = 0; i < graph->resources.count; i++)
        if (graph->resources.data[i].class->model)
            return (int)i;
    return -1;
}

/* Gives sets on both sides of a collect the same reader. */
static void
share_readers(rlf_sema *s)
{
    rlf_set *sets = s->graph->sets.data;
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_item *it = &s->items.data[i];
        for (size_t k = 0; it->keep >= 0 && k < it->outputs.count; k++) {
            if (!it->outputs.data[k].is_set)
                continue;
            int *kept = &sets[it->outputs.data[k].id].model;
            int *drawn =
                &sets[s->items.data[it->keep].inputs.data[k + 1].id].model;
            if (*kept < 0)
                *kept = *drawn;
            else if (*drawn < 0)
                *drawn = *kept;
        }
    }
}

/* ---- what is kept ---- */

/* Named in a collect, but not used after it: it need not be kept. */
static void
drop_unused(rlf_sema *s, int item)
{
    rlf_item *it = &s->items.data[item], *keep = &s->items.data[it->keep];
    size_t n = 0;
    for (size_t i = 0; i < it->outputs.count; i++) {
        rlf_item_output out = it->outputs.data[i];
        if (!out.is_set && !s->terms.data[out.id].uses)
            continue;
        it->outputs.data[n] = out;
        keep->inputs.data[n + 1] = keep->inputs.data[i + 1];
        if (out.is_set)
            s->makers.data[out.id].port = (int)n;
        else
            s->terms.data[out.id].port = (int)n;
        n++;
    }
    it->outputs.count = n;
    keep->inputs.count = n + 1;
}

/* The set whose tokens an item asks for, or -1. A hook's sample has its tokens
 * if there are any. */
static int
tokens_wanted(const rlf_item *it)
{
    const rlf_node_class *class = it->class;
    bool counts = class->needs_tokens && class->gives == RLF_GIVES_COLUMN &&
                  class->receiver != RLF_RECEIVER_MODEL;
    bool hook = class->form == RLF_FORM_HOOK && it->inputs.count &&
                it->inputs.data[0].is_set;
    return counts || hook ? it->inputs.data[0].id : -1;
}

/* Token counts of a response that is given as a text need a tokenizer: that of
 * the model that reads it, or if none does, of the program's first model. */
static void
check_readers(rlf_sema *s)
{
    int first = first_model(s->graph);
    rlf_set *sets = s->graph->sets.data;
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_item *it = &s->items.data[i];
        int wanted = tokens_wanted(it);
        if (wanted < 0)
            continue;
        rlf_set *set = &sets[wanted];
        if (set->kind != RLF_SET_WRITTEN || set->model >= 0)
            continue;
        for (int k = wanted; k >= 0; k = sets[k].origin)
            sets[k].model = first;
        if (first >= 0 || !it->class->needs_tokens)
            continue;
        rlf_diag *diag = rlf_diag_error(s->diags, "level", it->span,
                                        "there is no model, so '%s' has no "
                                        "tokens",
                                        set->name);
        rlf_diag_hint(s->diags, diag,
                      "tokens are those of a model's tokenizer: declare one");
    }
}

/* ---- nodes ---- */

static int
value_of_set(rlf_lower *l, int set)
{
    return l->s->makers.data[set].value_index;
}

/* The rows that pieces of a node are made of: those of what it gives. */
static int
rows_of(const rlf_sema *s, const rlf_item *it)
{
    if (it->class->granularity == RLF_GRAIN_BATCH)
        return -1;
    const rlf_domains *domains = &s->graph->domains;
    for (size_t i = 0; i < it->outputs.count; i++) {
        const rlf_item_output *out = &it->outputs.data[i];
        if (out->is_set)
            return s->graph->sets.data[out->id].samples;
        int rows = rlf_domain_rows(domains, s->terms.data[out->id].domain);
        if (rows > 0)
            return rows;
    }
    return -1;
}

/* A value that the program does not name is called by what made it and what it
 * is: judge, judge.ok, critic.score, roll.length. */
static const char *
made_by(const rlf_lower *l, const rlf_item *it, const char *name)
{
    const rlf_sema *s = l->s;
    const char *maker = NULL;
    if (it->receiver >= 0 && it->class->form != RLF_FORM_FIELD)
        maker = s->graph->resources.data[it->receiver].name;
    else if (it->inputs.count && it->inputs.data[0].is_set)
        maker = s->graph->sets.data[it->inputs.data[0].id].name;
    return !maker || !strcmp(maker, name)
               ? name
               : rlf_arena_printf(s->arena, "%s.%s", maker, name);
}

static int
make_output(rlf_lower *l, const rlf_item *it, const rlf_item_output *out)
{
    rlf_sema *s = l->s;
    rlf_value value = {.node = -1, .span = it->span};
    if (out->is_set) {
        value.kind = RLF_VALUE_SET;
        value.set = out->id;
        value.domain = -1;
        value.name = s->graph->sets.data[out->id].name;
    } else {
        const rlf_term *t = &s->terms.data[out->id];
        value.kind = t->text ? RLF_VALUE_TEXT : RLF_VALUE_NUMBER;
        value.set = -1;
        value.domain = t->domain;
        value.name = t->name ? t->name : out->name;
        value.label = t->label ? t->label : made_by(l, it, value.name);
    }
    int index = rlf_graph_add_value(s->graph, value);
    if (out->is_set)
        s->makers.data[out->id].value_index = index;
    else
        s->terms.data[out->id].value_index = index;
    return index;
}

/* Of the numbers of one domain, no two have the same label. */
static void
number_labels(rlf_sema *s)
{
    rlf_map taken = {.arena = s->arena}, next = {.arena = s->arena};
    for (size_t i = 0; i < s->graph->values.count; i++) {
        rlf_value *v = &s->graph->values.data[i];
        if (!v->label || v->kind != RLF_VALUE_NUMBER)
            continue;
        const char *label = v->label;
        const char *first =
            rlf_arena_printf(s->arena, "%d %s", v->domain, v->label);
        int n = (int)(uintptr_t)rlf_map_get(&next, first);
        for (n = n ? n : 1;; n++) {
            if (n > 1)
                label = rlf_arena_printf(s->arena, "%s.%d", v->label, n);
            const char *key =
                rlf_arena_printf(s->arena, "%d %s", v->domain, label);
            if (rlf_map_get(&taken, key))
                continue;
            rlf_map_put(&taken, key, v);
            rlf_map_put(&next, first, (void *)(uintptr_t)(n + 1));
            break;
        }
        v->label = label;
    }
}

static int *
copy_ints(rlf_arena *arena, const int *data, size_t n)
{
    int *copy = RLF_NEW_ARRAY(arena, int, n);
    if (n)
        memcpy(copy, data, sizeof *data * n);
    return copy;
}

/* Values instead of terms and sets in the arguments. */
static void
resolve_args(rlf_arg *args, int n, const int *inputs)
{
    for (int i = 0; i < n; i++) {
        if (args[i].kind == RLF_ARG_VALUE)
            args[i].value = inputs[args[i].input];
        else if (args[i].kind == RLF_ARG_LIST)
            resolve_args(args[i].list, args[i].n_list, inputs);
    }
}

/* A constant as an input is a program of its own. */
static int
value_of_term(rlf_lower *l, int term, int part)
{
    rlf_term *t = &l->s->terms.data[term];
    bool ahead = l->ahead;
    l->ahead |= l->early[term];
    if (t->value_index < 0)
        rlf_lower_programs(l, part, &term, 1, l->looking);
    l->ahead = ahead;
    return l->s->terms.data[term].value_index;
}

static void
emit_item(rlf_lower *l, int item, int part)
{
    rlf_sema *s = l->s;
    rlf_item *it = &s->items.data[item];
    RLF_VEC(int) inputs = {0};
    l->looking = it->looking;
    l->ahead = it->ahead;
    for (size_t i = 0; i < it->inputs.count; i++) {
        const rlf_item_input *in = &it->inputs.data[i];
        RLF_PUSH_IN(s->arena, &inputs,
                    in->is_set ? value_of_set(l, in->id)
                               : value_of_term(l, in->id, part));
    }
    resolve_args(it->args, it->n_args, inputs.data);
    rlf_node node = {
        .class = it->class,
        .region = s->parts.data[part].index,
        .grain = it->class->granularity,
        .rows = rows_of(s, it),
        .receiver = it->receiver,
        .args = it->args,
        .n_args = it->n_args,
        .reads = copy_ints(s->arena, it->reads.data, it->reads.count),
        .n_reads = (int)it->reads.count,
        .writes = copy_ints(s->arena, it->writes.data, it->writes.count),
        .n_writes = (int)it->writes.count,
        .looking = it->looking,
        .ahead = it->ahead,
        .site = l->item_site[item],
        .span = it->span,
    };
    if (node.rows < 0)
        node.grain = RLF_GRAIN_BATCH;
    node.inputs = inputs.data;
    node.n_inputs = (int)inputs.count;
    if (it->update >= 0)
        rlf_lower_loss(l, it, &node);
    /* The pieces of a loop are given by its region, not by the node. */
    node.outputs = RLF_NEW_ARRAY(s->arena, int, it->outputs.count);
    for (size_t i = 0; i < it->outputs.count; i++)
        node.outputs[node.n_outputs++] =
            make_output(l, it, &it->outputs.data[i]);
    it->node = rlf_graph_add_node(s->graph, node);
}

static void emit_part(rlf_lower *l, int part);

static void
emit_regions(rlf_lower *l, int item)
{
    rlf_sema *s = l->s;
    const rlf_item *it = &s->items.data[item];
    if (!it->regions.count)
        return;
    int *regions = RLF_NEW_ARRAY(s->arena, int, it->regions.count);
    for (size_t i = 0; i < it->regions.count; i++) {
        rlf_sema_part *part = &s->parts.data[it->regions.data[i]];
        regions[i] = part->index = rlf_graph_add_region(s->graph, it->node);
        int *args =
            RLF_NEW_ARRAY(s->arena, int, part->sets.count + part->terms.count);
        for (size_t k = 0; k < part->sets.count; k++) {
            rlf_item_output out = {true, part->sets.data[k], NULL};
            args[k] = make_output(l, it, &out);
        }
        for (size_t k = 0; k < part->terms.count; k++) {
            rlf_item_output out = {false, part->terms.data[k], NULL};
            args[part->sets.count + k] = make_output(l, it, &out);
        }
        rlf_region *region = &s->graph->regions.data[part->index];
        region->args = args;
        region->n_args = (int)(part->sets.count + part->terms.count);
    }
    rlf_node *node = &s->graph->nodes.data[it->node];
    node->regions = regions;
    node->n_regions = (int)it->regions.count;
    for (size_t i = 0; i < it->regions.count; i++)
        emit_part(l, it->regions.data[i]);
    if (it->keep < 0)
        return;
    rlf_region *region = &s->graph->regions.data[regions[0]];
    node = &s->graph->nodes.data[s->items.data[it->keep].node];
    region->gives = node->inputs;
    region->n_gives = node->n_inputs;
}

static void
emit_part(rlf_lower *l, int part)
{
    rlf_sema *s = l->s;
    int around = s->parts.data[part].parent;
    bool inside = around >= 0 && s->items.data[around].ahead;
    for (size_t i = 0; i < s->parts.data[part].items.count; i++) {
        int item = s->parts.data[part].items.data[i];
        rlf_lower_needs *place = &l->parts[part].places[i];
        /* Terms that only metrics want are computed apart from the rest, and so
         * is what is made ahead. */
        RLF_VEC(int) terms[4] = {{0}, {0}, {0}, {0}};
        for (size_t k = 0; k < place->terms.count; k++) {
            int term = place->terms.data[k];
            bool ahead = inside || l->early[term];
            RLF_PUSH_IN(s->arena, &terms[2 * !l->needed[term] + !ahead], term);
        }
        for (int k = 0; k < 4; k++) {
            l->ahead = k % 2 == 0;
            rlf_lower_programs(l, part, terms[k].data, terms[k].count, k >= 2);
        }
        if (s->items.data[item].joined)
            continue;
        emit_item(l, item, part);
        emit_regions(l, item);
    }
}

/* The classes' own checks. A live call is no node of the graph, but it is
 * checked as the node that it would be elsewhere. */
static void
infer(rlf_sema *s)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        node->class->infer(s->graph, node, s->diags);
    }
    for (size_t i = 0; i < s->updates.count; i++) {
        const rlf_update_statement *u = &s->updates.data[i];
        for (size_t k = 0; k < u->calls.count; k++) {
            const rlf_update_call *call = &u->calls.data[k];
            int set = s->makers.data[call->set].value_index;
            rlf_node node = {
                .id = -1,
                .class = call->class,
                .grain = call->class->granularity,
                .rows = s->graph->sets.data[call->set].samples,
                .receiver = u->model,
                .inputs = &set,
                .n_inputs = 1,
                .args = call->args,
                .n_args = call->n_args,
                .span = s->terms.data[call->term].span,
            };
            call->class->infer(s->graph, &node, s->diags);
        }
    }
}

/* Does the model read the set's responses in other tokens than its own? */
static bool
is_retokenized(const rlf_graph *graph, int model, int value)
{
    const rlf_resource *r = graph->resources.data;
    int writer = graph->sets.data[graph->values.data[value].set].model;
    return writer >= 0 && writer != model &&
           r[model].class->model->differ(graph, &r[writer], &r[model]);
}

/* Finds the models that score responses of others: only a score can. */
static void
find_retokenizing(rlf_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->receiver < 0)
            continue;
        bool *out = &graph->resources.data[node->receiver].retokenizes;
        bool score =
            node->class->live && node->class->level == RLF_LEVEL_SAMPLE;
        for (int k = 0; score && k < node->n_inputs; k++)
            *out =
                *out || is_retokenized(graph, node->receiver, node->inputs[k]);
        for (int k = 0; node->loss && k < node->loss->n_calls; k++) {
            const rlf_live_call *call = &node->loss->calls[k];
            if (call->class->level == RLF_LEVEL_SAMPLE)
                *out = *out || is_retokenized(graph, node->receiver,
                                              node->inputs[call->set_input]);
        }
    }
}

void
rlf_sema_lower(rlf_sema *s)
{
    rlf_lower l = {
        .s = s,
        .needed = RLF_NEW_ARRAY(s->arena, bool, s->terms.count),
        .early = RLF_NEW_ARRAY(s->arena, bool, s->terms.count),
        .demanded = RLF_NEW_ARRAY(s->arena, bool, s->terms.count),
        .inside = RLF_NEW_ARRAY(s->arena, bool, s->terms.count),
        .in_loss = RLF_NEW_ARRAY(s->arena, int, s->terms.count),
        .placed = RLF_NEW_ARRAY(s->arena, int, s->terms.count),
        .item_site = RLF_NEW_ARRAY(s->arena, uint32_t, s->items.count),
        .term_site = RLF_NEW_ARRAY(s->arena, uint32_t, s->terms.count),
        .piece_of = RLF_NEW_ARRAY(s->arena, int, s->makers.count),
        .parts = RLF_NEW_ARRAY(s->arena, rlf_lower_part, s->parts.count),
    };
    for (size_t i = 0; i < s->terms.count; i++)
        l.in_loss[i] = -1;
    for (size_t p = 0; p < s->parts.count; p++)
        l.parts[p].places = RLF_NEW_ARRAY(s->arena, rlf_lower_needs,
                                          s->parts.data[p].items.count);
    for (size_t i = 0; i < s->items.count; i++) {
        if (s->items.data[i].keep >= 0)
            drop_unused(s, (int)i);
    }
    mark(&l);
    rlf_lower_ahead(&l);
    number_sites(&l);
    rlf_lower_pairs(s);
    rlf_lower_demands(&l, 0);
    share_readers(s);
    check_readers(s);
    share_readers(s);
    if (s->diags->errors)
        return;
    s->parts.data[0].index = 0;
    if (!s->graph->regions.count)
        rlf_graph_add_region(s->graph, -1);
    emit_part(&l, 0);
    number_labels(s);
    infer(s);
    find_retokenizing(s->graph);
}
