/* Making and printing plans: see plan.h. */
#include "engine/plan/plan.h"

#include "engine/base/hash.h"
#include "config.h"

#include <inttypes.h>
#include <string.h>

/* One rank holds every node, whole. */
static void
place_all(rlf_plan *plan, rlf_arena *arena)
{
    size_t n = plan->graph->nodes.count;
    int *ranks = RLF_NEW_ARRAY(arena, int, 1);
    plan->place = RLF_NEW_ARRAY(arena, rlf_node_place, n);
    for (size_t i = 0; i < n; i++)
        plan->place[i].layout = (rlf_layout){
            .ranks = ranks, .n_ranks = 1, .tp = 1, .pp = 1, .dp = 1};
}

static uint64_t
hash_text(uint64_t hash, const char *text)
{
    return rlf_hash(hash, text, strlen(text) + 1);
}

static uint64_t
hash_plan(const rlf_plan *plan)
{
    uint64_t hash =
        rlf_hash(RLF_HASH_INIT, &plan->program_hash, sizeof plan->program_hash);
    hash = hash_text(hash, plan->numerics.backend);
    hash = hash_text(hash, plan->numerics.dtype);
    hash = hash_text(hash, plan->numerics.version);
    int numbers[] = {plan->numerics.shards, plan->numerics.lanes, plan->ranks};
    hash = rlf_hash(hash, numbers, sizeof numbers);
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_layout *l = &plan->place[i].layout;
        int split[] = {l->tp, l->pp, l->dp};
        hash = rlf_hash(hash, split, sizeof split);
        hash = rlf_hash(hash, l->ranks, sizeof(int) * (size_t)l->n_ranks);
    }
    return rlf_hash_mix(hash);
}

rlf_status
rlf_plan_make(const rlf_graph *graph, const rlf_plan_options *options,
              rlf_arena *arena, rlf_err *err, rlf_plan **out)
{
    if (options->ranks != 1)
        return rlf_fail(err, RLF_USER,
                        "%d ranks were asked for, but this version of rlflow "
                        "runs on one rank (with any number of threads)",
                        options->ranks);
    rlf_plan *plan = RLF_NEW(arena, rlf_plan);
    plan->graph = graph;
    plan->ranks = options->ranks;
    plan->numerics = (rlf_numerics){.backend = "cpu",
                                    .dtype = "f32",
                                    .version = PACKAGE_VERSION,
                                    .shards = 1,
                                    .lanes = 1};
    place_all(plan, arena);
    plan->program_hash = rlf_graph_hash(graph);
    plan->hash = hash_plan(plan);
    *out = plan;
    return RLF_OK;
}

/* A call of a model that a place row can name. */
static bool
placeable(const rlf_node *node)
{
    return node->receiver >= 0 &&
           (node->class->receiver == RLF_RECEIVER_MODEL ||
            node->class->role == RLF_ROLE_UPDATE);
}

static bool
printed_before(const rlf_plan *plan, size_t index)
{
    const rlf_node *node = &plan->graph->nodes.data[index];
    for (size_t i = 0; i < index; i++) {
        const rlf_node *other = &plan->graph->nodes.data[i];
        if (placeable(other) && other->receiver == node->receiver &&
            other->class == node->class)
            return true;
    }
    return false;
}

void
rlf_plan_print(const rlf_plan *plan, rlf_buf *out)
{
    rlf_buf_printf(out,
                   "# plan %016" PRIx64 ", program %016" PRIx64 "\n"
                   "# numerics: %s %s, shards %d, lanes %d, rlflow %s\n"
                   "place {\n",
                   plan->hash, plan->program_hash, plan->numerics.backend,
                   plan->numerics.dtype, plan->numerics.shards,
                   plan->numerics.lanes, plan->numerics.version);
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        if (!placeable(node) || printed_before(plan, i))
            continue;
        const rlf_layout *l = &plan->place[i].layout;
        rlf_buf_printf(out, "    %s.%s on ",
                       plan->graph->resources.data[node->receiver].name,
                       node->class->name);
        for (int k = 0; k < l->n_ranks; k++)
            rlf_buf_printf(out, "%s%d", k ? ", " : "", l->ranks[k]);
        rlf_buf_printf(out, " (tp: %d, pp: %d, dp: %d)\n", l->tp, l->pp, l->dp);
    }
    rlf_buf_puts(out, "}\n");
}
