/* See weight_copies.h. */
#include "engine/plan/weight_copies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"

/* As covers() below, where a replica's ranks follow each other in the mesh. */
static bool
covers_blocks(const rlf_layout *whole, const rlf_layout *part)
{
    int block = part->tp * part->pp, at = 0;
    for (int i = 0; i < part->n_ranks; i += block) {
        int seen = 0;
        while (seen < whole->n_ranks && whole->ranks[at] != part->ranks[i]) {
            at = (at + 1) % whole->n_ranks;
            seen++;
        }
        if (seen == whole->n_ranks || at % block ||
            memcmp(whole->ranks + at, part->ranks + i,
                   (size_t)block * sizeof(int)) != 0)
            return false;
    }
    return true;
}

/* Do all ranks of `part` find in `whole` the same parts of the weights, in the
 * same groups? */
static bool
covers(const rlf_layout *whole, const rlf_layout *part)
{
    if (!rlf_layout_same_cut(whole, part))
        return false;
    if (!whole->n_order && !part->n_order)
        return covers_blocks(whole, part);
    int *a = rlf_calloc((size_t)whole->n_ranks, sizeof *a);
    int *b = rlf_calloc((size_t)part->n_ranks, sizeof *b);
    const int axes = RLF_AXIS_TP | RLF_AXIS_PP;
    bool same = true;
    for (int i = 0; i < part->n_ranks && same; i++) {
        int rank = part->ranks[i];
        int n = rlf_layout_group(whole, rank, axes, a);
        same = n == rlf_layout_group(part, rank, axes, b);
        for (int k = 0; k < n && same; k++)
            same = a[k] == b[k];
    }
    free(a);
    free(b);
    return same;
}

static int
add_copy(rlf_weight_copies *copies, rlf_weight_copy copy, rlf_arena *arena)
{
    rlf_weight_copy *list =
        RLF_NEW_ARRAY(arena, rlf_weight_copy, copies->n + 1);
    for (int i = 0; i < copies->n; i++)
        list[i] = copies->list[i];
    list[copies->n] = copy;
    copies->list = list;
    return copies->n++;
}

/* The copy that has the layout's weights, made if there is none. */
static int
find_copy(rlf_weight_copies *copies, const rlf_layout *layout, bool bare,
          const rlf_node_class *call, rlf_arena *arena)
{
    for (int i = 0; i < copies->n; i++)
        if ((bare || !copies->list[i].bare) &&
            covers(&copies->list[i].mesh.layout, layout))
            return i;
    return add_copy(copies,
                    (rlf_weight_copy){.mesh = {.layout = *layout},
                                      .bare = bare,
                                      .call = call},
                    arena);
}

int
rlf_weight_copies_first(const rlf_graph *graph, int model)
{
    int call = -1;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (rlf_place_calls(node, model) && node->class->work == RLF_WORK_TRAIN)
            return (int)i;
        if (rlf_place_calls(node, model) || rlf_place_reads_words(node, model))
            call = call < 0 ? (int)i : call;
    }
    return call;
}

/* A model that nobody calls: where its place row says, else all ranks. */
static rlf_layout
idle_layout(const rlf_plan *plan, int model, rlf_arena *arena)
{
    const rlf_place_row *row =
        rlf_placement_find(plan->graph->placement, model, NULL);
    if (row)
        return (rlf_layout){.ranks = row->ranks,
                            .n_ranks = row->n_ranks,
                            .tp = row->tp,
                            .pp = row->pp,
                            .dp = row->dp};
    int *ranks = RLF_NEW_ARRAY(arena, int, plan->ranks);
    for (int i = 0; i < plan->ranks; i++)
        ranks[i] = i;
    return (rlf_layout){.ranks = ranks,
                        .n_ranks = plan->ranks,
                        .tp = 1,
                        .pp = 1,
                        .dp = plan->ranks};
}

static bool
same_ranks(const rlf_layout *a, const rlf_layout *b)
{
    bool same = a->n_ranks == b->n_ranks;
    for (int i = 0; i < a->n_ranks && same; i++)
        same = a->ranks[i] == b->ranks[i];
    return same;
}

void
rlf_weight_copies_regroup(const rlf_layout *first, rlf_layout *call)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_layout out;
    bool cut_alike = call->tp == first->tp && call->pp == first->pp;
    if (!same_ranks(first, call))
        return;
    if (cut_alike) {
        call->chunks = first->chunks;
        call->vee = first->vee;
    } else if (first->tp % call->tp == 0 && first->pp % call->pp == 0 &&
               rlf_layout_regroup(first, call->tp, call->pp, &ignored, &out) >=
                   0)
        *call = out;
}

/* The layout of a node that computes over the vocabulary: its own, cut in
 * chunks only as the model's own are. */
static rlf_layout
words_layout(const rlf_layout *first, const rlf_layout *call)
{
    rlf_layout layout = *call;
    bool alike = same_ranks(first, call) && call->tp == first->tp &&
                 call->pp == first->pp;
    layout.chunks = alike ? first->chunks : 1;
    layout.vee = alike && first->vee;
    return layout;
}

static bool
uses(const int *list, int n, int resource)
{
    for (int i = 0; i < n; i++)
        if (list[i] == resource)
            return true;
    return false;
}

static bool
is_written(const rlf_graph *graph, int model)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (uses(node->writes, node->n_writes, model))
            return true;
    }
    return false;
}

/* Most nodes read no weights, and there may be many states: these nodes have
 * one row between them. */
static void
set_copy(const rlf_plan *plan, rlf_node_place *place, int model, int copy,
         rlf_arena *arena)
{
    if (place->copy == plan->no_copy) {
        size_t n = plan->graph->resources.count;
        place->copy = RLF_NEW_ARRAY(arena, int, n);
        memcpy(place->copy, plan->no_copy, n * sizeof *place->copy);
    }
    place->copy[model] = copy;
}

static void
find_copies_of_calls(rlf_plan *plan, int model, rlf_arena *arena)
{
    rlf_weight_copies *copies = &plan->copies[model];
    int first = rlf_weight_copies_first(plan->graph, model);
    rlf_layout layout =
        first < 0 ? idle_layout(plan, model, arena) : plan->place[first].layout;
    if (first >= 0 && plan->graph->nodes.data[first].receiver != model) {
        layout.chunks = 1; /* those are of another model's training */
        layout.vee = false;
    }
    find_copy(copies, &layout, false, NULL, arena);
    if (first >= 0) {
        copies->list[0].mesh.zero = plan->place[first].zero;
        copies->list[0].mesh.flights = plan->place[first].flights;
        copies->list[0].mesh.owed = plan->place[first].owed;
    }
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        rlf_node_place *place = &plan->place[i];
        if (rlf_place_reads_words(node, model)) {
            rlf_layout words = words_layout(&layout, &place->layout);
            set_copy(plan, place, model,
                     find_copy(copies, &words, false, node->class, arena),
                     arena);
        }
        if (node->receiver != model)
            continue;
        if (rlf_place_calls(node, model)) {
            rlf_weight_copies_regroup(&layout, &place->layout);
            set_copy(
                plan, place, model,
                find_copy(copies, &place->layout, false, node->class, arena),
                arena);
        } else if (node->class->work == RLF_WORK_WEIGHTS) {
            place->layout = layout;
            set_copy(plan, place, model, 0, arena);
        }
    }
    const rlf_place_row *row =
        rlf_placement_find(plan->graph->placement, model, NULL);
    const rlf_resource *resource = &plan->graph->resources.data[model];
    bool fixed = !resource->trained && !is_written(plan->graph, model);
    for (int i = 0; i < copies->n; i++) {
        copies->list[i].fixed = fixed;
        copies->list[i].by_layer =
            (i > 0 || fixed) && !(row && row->offload == 1);
    }
}

/* A weighted sum is made where its result lies, tensor by tensor. */
static void
find_copies_of_terms(rlf_plan *plan, const rlf_node *node, rlf_arena *arena)
{
    rlf_node_place *place = &plan->place[node->id];
    for (int k = 0; k < node->n_reads; k++) {
        int model = node->reads[k];
        rlf_weight_copies *copies = &plan->copies[model];
        if (!plan->graph->resources.data[model].class->model)
            continue;
        int copy = find_copy(copies, &place->layout, true, node->class, arena);
        copies->list[copy].by_layer = false;
        set_copy(plan, place, model, copy, arena);
    }
}

/* ---- ahead ---- */

/* Is the copy read ahead? Copies are numbered from 0, and -1 is none. */
static bool
is_read_ahead(const rlf_plan *plan, int model, int copy)
{
    for (size_t i = 0; i < plan->graph->nodes.count; i++)
        if (plan->graph->nodes.data[i].ahead &&
            plan->place[i].copy[model] == copy)
            return true;
    return false;
}

bool
rlf_weight_copies_separate(const rlf_plan *plan, int model)
{
    const rlf_weight_copies *copies = &plan->copies[model];
    bool some = false;
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        if (!node->ahead || !uses(node->reads, node->n_reads, model))
            continue;
        int copy = plan->place[i].copy[model];
        if (copy <= 0 ||
            rlf_layout_shares_ranks(&copies->list[copy].mesh.layout,
                                    &copies->list[0].mesh.layout))
            return false;
        some = true;
    }
    return some;
}

/* Adds the copies where weights of later steps wait. */
static void
add_later_copies(rlf_plan *plan, int model, rlf_arena *arena)
{
    rlf_weight_copies *copies = &plan->copies[model];
    int n = copies->n;
    if (!is_written(plan->graph, model) ||
        !rlf_weight_copies_separate(plan, model))
        return;
    for (int h = 1; h < n; h++) {
        rlf_weight_copy later = copies->list[h];
        later.bare = true;
        later.by_layer = false;
        later.later_of = h;
        for (uint32_t i = 1; i < plan->graph->ahead; i++)
            if (is_read_ahead(plan, model, h))
                add_copy(copies, later, arena);
    }
}

int
rlf_weight_copies_later(const rlf_weight_copies *copies, int copy, int i)
{
    for (int k = copy + 1; k < copies->n; k++)
        if (copies->list[k].later_of == copy && i-- == 0)
            return k;
    return -1;
}

/* ---- all ---- */

void
rlf_weight_copies_make(rlf_plan *plan, rlf_arena *arena)
{
    const rlf_graph *graph = plan->graph;
    size_t n = graph->resources.count;
    plan->copies = RLF_NEW_ARRAY(arena, rlf_weight_copies, n);
    plan->no_copy = RLF_NEW_ARRAY(arena, int, n);
    for (size_t k = 0; k < n; k++)
        plan->no_copy[k] = -1;
    for (size_t i = 0; i < graph->nodes.count; i++)
        plan->place[i].copy = plan->no_copy;
    for (size_t i = 0; i < n; i++)
        if (graph->resources.data[i].class->model)
            find_copies_of_calls(plan, (int)i, arena);
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.data[i].class->work == RLF_WORK_WEIGHTS)
            find_copies_of_terms(plan, &graph->nodes.data[i], arena);
    for (size_t i = 0; i < n; i++)
        if (graph->resources.data[i].class->model)
            add_later_copies(plan, (int)i, arena);
}

/* Links that nobody has described: good enough to choose between a tree
 * and a chain. On a machine ranks are threads, or processes whose memory the
 * transport reads. */
static const rlf_links unknown = {
    .inside = {.start = 1e-6, .rate = 1e10, .shared = true},
    .across = {.start = 2e-5, .rate = 1e9}};

/* Of a pair of ranks that stand for all. Ranks on CPUs read what others have,
 * as above. */
static rlf_wire
slower(rlf_wire wire, rlf_link_speed link)
{
    if (link.rate < wire.rate)
        wire.rate = link.rate;
    if (link.start > wire.start)
        wire.start = link.start;
    return wire;
}

rlf_links
rlf_links_of(const rlf_cluster *c, rlf_arena *arena)
{
    int *machine = RLF_NEW_ARRAY(arena, int, c->ranks);
    rlf_links links = {
        .inside.rate = INFINITY, .across.rate = INFINITY, .machine = machine};
    for (int r = 0; r < c->ranks; r++)
        machine[r] = rlf_cluster_machine(c, r);
    for (int i = 0; i < c->n_parts; i++) {
        const rlf_cluster_part *part = &c->parts[i];
        int first = part->first_rank, last = i ? 0 : c->ranks - 1;
        links.inside.shared = !part->machine->device->gpu;
        if (part->machine->count > 1)
            links.inside =
                slower(links.inside, rlf_cluster_link(c, first, first + 1));
        if (c->machines > 1)
            links.across =
                slower(links.across, rlf_cluster_link(c, first, last));
    }
    if (!isfinite(links.inside.rate))
        links.inside = unknown.inside;
    if (!isfinite(links.across.rate))
        links.across = unknown.across;
    return links;
}

rlf_realloc_job
rlf_weight_copies_job(const rlf_plan *plan, int model, int from, int to,
                      const rlf_shapes *shapes, const int *machine, size_t real)
{
    const rlf_weight_copy *list = plan->copies[model].list;
    const rlf_links *links = plan->links ? plan->links : &unknown;
    return (rlf_realloc_job){.shapes = shapes,
                             .from = &list[from].mesh.layout,
                             .to = &list[to].mesh.layout,
                             .machine = machine ? machine : links->machine,
                             .element = list[to].by_layer ? (int)real
                                                          : (int)sizeof(float),
                             .vector = sizeof(float),
                             .by_layer = list[to].by_layer,
                             .inside = links->inside,
                             .across = links->across};
}
