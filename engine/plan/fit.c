/* See fit.h. */
#include "engine/plan/fit.h"

#include "engine/base/vec.h"

/* One model, and the ways in which its weights are cut. */
typedef struct cuts {
    const rlf_plan *plan;
    rlf_arena *arena;
    int model;
    RLF_VEC(rlf_layout) layouts;
    RLF_VEC(const rlf_node *) nodes; /* of each layout; NULL: nobody calls it */
} cuts;

static void
add(cuts *c, const rlf_node *node, const rlf_layout *layout)
{
    RLF_PUSH_IN(c->arena, &c->layouts, *layout);
    RLF_PUSH_IN(c->arena, &c->nodes, node);
}

/* Calls that do not update the model have the chunks of its update, or none. */
static void
find_cuts(cuts *c)
{
    const rlf_graph *graph = c->plan->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        rlf_layout layout = c->plan->place[i].layout;
        if (node->class->work != RLF_WORK_TRAIN || node->receiver != c->model) {
            layout.chunks = 1;
            layout.vee = false;
        }
        if ((node->receiver == c->model && rlf_place_can(node)) ||
            rlf_place_reads_words(node, c->model) ||
            rlf_place_borrows(node, c->model))
            add(c, node, &layout);
    }
    if (!c->layouts.count)
        add(c, NULL, &c->plan->copies[c->model].list[0].mesh.layout);
}

/* Is anything cut at all? Else nothing has to be read. */
static bool
any_cut(const cuts *c, int shards)
{
    bool any = shards > 1;
    for (size_t i = 0; i < c->layouts.count; i++)
        any |= c->layouts.data[i].tp > 1 || c->layouts.data[i].pp > 1;
    return any;
}

/* Why the model cannot be cut so, with whose wish it is and where it stands. */
static rlf_status
fail(const cuts *c, int wrong, const rlf_err *why, rlf_err *err)
{
    const rlf_graph *graph = c->plan->graph;
    const rlf_resource *r = &graph->resources.data[c->model];
    bool shards = wrong == (int)c->nodes.count;
    const rlf_node *node = shards ? NULL : c->nodes.data[wrong];
    const rlf_place_row *row =
        node ? rlf_plan_row(graph, node)
             : rlf_placement_find(graph->placement, c->model, NULL);
    bool call = node && node->receiver == c->model && rlf_place_can(node) &&
                !(row && !row->call);
    bool said = row && (!shards || row->shards > 0);
    const char *with = "";
    if (node && node->receiver != c->model)
        with = rlf_arena_printf(
            c->arena, ", whose %s '%s%s' reads where its own are,",
            node->class->work == RLF_WORK_WEIGHTS ? "weights" : "words",
            graph->resources.data[node->receiver].name,
            node->class->work == RLF_WORK_TRAIN ? ".update" : "");
    rlf_fail(err, RLF_USER, "'%s%s%s'%s cannot be cut so: %s", r->name,
             call ? "." : "", call ? node->class->name : "", with,
             why->sentence);
    rlf_err_hint(err, "%s", why->hint);
    rlf_err_place(err, said ? row->span : node ? node->span : r->span, NULL);
    return RLF_USER;
}

/* The way out where a tp does not divide the shards: `row` says them, or a
 * checkpoint, or they follow from the largest tp. */
static void
hint_shards(const cuts *c, const rlf_place_row *row, int most, rlf_err *err)
{
    int shards = c->plan->sums[c->model].shards, power = 1;
    while (power < most)
        power *= 2;
    if (power != most)
        rlf_err_hint(err, "shards are a power of two, so tp is one");
    else if (row && row->shards > 0)
        rlf_err_hint(err,
                     "write shards: %d, or leave it out: then shards are as "
                     "many as the largest tp of all rows",
                     most);
    else if (shards != c->plan->numerics.shards)
        rlf_err_hint(err,
                     "the run began with shards %d; --accept shards takes %d, "
                     "with other bits from here on",
                     shards, most);
    else
        rlf_err_hint(err, "write shards: %d in a row of '%s'", most,
                     c->plan->graph->resources.data[c->model].name);
}

/* Ranks hold whole shards: a tp that does not divide them would make other
 * sums than those that are said and recorded. */
static rlf_status
check_shards(const cuts *c, rlf_err *err)
{
    const rlf_graph *graph = c->plan->graph;
    const rlf_resource *r = &graph->resources.data[c->model];
    int shards = c->plan->sums[c->model].shards, wrong = -1, most = shards;
    for (int i = 0; i < (int)c->layouts.count; i++) {
        int tp = c->layouts.data[i].tp;
        if (shards % tp && wrong < 0)
            wrong = i;
        most = tp > most ? tp : most;
    }
    if (wrong < 0)
        return RLF_OK;
    const rlf_place_row *whole =
        rlf_placement_find(graph->placement, c->model, NULL);
    bool said = whole && whole->shards > 0;
    const rlf_node *node = c->nodes.data[wrong];
    const rlf_place_row *row = node ? rlf_plan_row(graph, node) : whole;
    rlf_fail(err, RLF_USER, "tp %d does not divide shards %d of '%s'",
             c->layouts.data[wrong].tp, shards, r->name);
    hint_shards(c, whole, most, err);
    rlf_err_place(err,
                  said   ? whole->span
                  : row  ? row->span
                  : node ? node->span
                         : r->span,
                  NULL);
    return RLF_USER;
}

/* RLF_OK, or RLF_USER with *why and *wrong as the class says them. */
static rlf_status
check_model(cuts *c, rlf_err *why, int *wrong)
{
    const rlf_graph *graph = c->plan->graph;
    int shards = c->plan->sums[c->model].shards;
    find_cuts(c);
    if (!any_cut(c, shards))
        return RLF_OK;
    int n = (int)c->layouts.count;
    const rlf_layout **layouts = RLF_NEW_ARRAY(c->arena, const rlf_layout *, n);
    for (int i = 0; i < n; i++)
        layouts[i] = &c->layouts.data[i];
    const rlf_resource *r = &graph->resources.data[c->model];
    return r->class->model->fits(graph, r, layouts, n, shards, why, wrong);
}

/* Layouts are what users ask for; shards may only follow from that, so they are
 * told of where all layouts are fine. */
static rlf_status
check_all(const rlf_plan *plan, rlf_arena *arena, rlf_err *err)
{
    cuts odd = {0};
    rlf_err first = RLF_ERR_NONE;
    for (size_t i = 0; i < plan->graph->resources.count; i++) {
        const rlf_resource_class *class = plan->graph->resources.data[i].class;
        cuts c = {.plan = plan, .arena = arena, .model = (int)i};
        rlf_err why = RLF_ERR_NONE;
        int wrong;
        if (!class->model || check_model(&c, &why, &wrong) >= 0)
            continue;
        if (wrong < (int)c.layouts.count)
            return fail(&c, wrong, &why, err);
        if (!odd.plan) {
            odd = c;
            first = why;
        }
    }
    if (odd.plan)
        return fail(&odd, (int)odd.layouts.count, &first, err);
    for (size_t i = 0; i < plan->graph->resources.count; i++) {
        cuts c = {.plan = plan, .arena = arena, .model = (int)i};
        if (!plan->graph->resources.data[i].class->model)
            continue;
        find_cuts(&c);
        RLF_TRY(check_shards(&c, err));
    }
    return RLF_OK;
}

rlf_status
rlf_plan_fits(const rlf_plan *plan, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = check_all(plan, arena, err);
    rlf_arena_free(arena);
    return status;
}

int
rlf_fit_shards(const rlf_graph *graph, const rlf_resource *model, int most)
{
    rlf_err err = RLF_ERR_NONE;
    int shards = 1, wrong;
    while (2 * shards <= most &&
           model->class->model->fits(graph, model, NULL, 0, 2 * shards, &err,
                                     &wrong) >= 0)
        shards *= 2;
    return shards;
}
