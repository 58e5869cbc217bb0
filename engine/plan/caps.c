/* Every call on a model raises its caps to what that call can meet. */
#include "engine/plan/caps.h"

#include "engine/graph/place.h"
#include "engine/graph/sizes.h"

#include <math.h>

/* The lengths and rows that one model has met so far; INFINITY: no bound. */
typedef struct met {
    double longest, rows[RLF_N_USES];
    /* As rlf_caps has them. */
    double together[RLF_N_USES], own[RLF_N_USES], sets[RLF_N_USES];
} met;

static void
raise(double *to, double x)
{
    if (x > *to)
        *to = x;
}

/* So many sets are read row by row, of which this is one. */
static void
meet(met *m, rlf_use use, const rlf_set_size *size, int sets)
{
    raise(&m->longest, size->sequence);
    raise(&m->rows[use], size->samples * sets);
}

/* Samples of a prompt of the set, and of others by turns, stay together. */
static void
meet_together(met *m, rlf_use use, const rlf_set_size *size, int sets)
{
    double each = ceil(size->samples / fmax(1, size->prompts)) * sets;
    if (each <= 1) /* of other sets of the update */
        return;
    /* sets without a bound have no quotient */
    raise(&m->together[use], isnan(each) ? INFINITY : each);
    raise(&m->own[use], size->response + 1); /* and the prompt's last token */
    raise(&m->sets[use], sets);
}

/* In an update, and for the models whose words it reads at them. */
static void
meet_shared(const rlf_node *node, int set_input, const rlf_set_size *size,
            int sets, met *of)
{
    meet_together(&of[node->receiver], RLF_USE_UPDATE, size, sets);
    for (int i = 0; i < node->loss->n_words; i++) {
        const rlf_vocab_program *w = &node->loss->words[i];
        for (size_t k = 0; k < w->program->inputs.count; k++)
            if (w->set_input == set_input && w->model[k] >= 0)
                meet_together(&of[w->model[k]], RLF_USE_READ, size, 1);
    }
}

/* The sets that a node runs its model on. */
static void
meet_node(const rlf_graph *graph, const rlf_sizes *sizes, const rlf_node *node,
          met *of)
{
    const rlf_value *values = graph->values.data;
    if (node->receiver < 0)
        return;
    met *m = &of[node->receiver];
    if (node->class->work == RLF_WORK_GENERATE)
        meet(m, RLF_USE_GENERATE, &sizes->set[values[node->outputs[0]].set], 1);
    for (int i = 0; node->class->live && i < node->n_inputs; i++)
        meet(m, RLF_USE_READ, &sizes->set[values[node->inputs[i]].set],
             node->n_inputs);
    for (int i = 0; node->loss && i < node->loss->n_calls; i++) {
        const rlf_live_call *live = &node->loss->calls[i];
        int input = live->set_input;
        int sets = rlf_loss_sets(node->loss, live->pass, NULL);
        const rlf_set_size *size = &sizes->set[values[node->inputs[input]].set];
        meet(m, RLF_USE_UPDATE, size, sets);
        if (node->loss->shared)
            meet_shared(node, input, size, sets, of);
    }
}

/* Micro-batches of each replica for each stage of a pipeline: a bubble of a
 * third, at most. */
enum { EACH = 2 };

/* Takes what a place row says of a node's calls; the most of several. */
static void
hear(const rlf_graph *graph, const rlf_node *node, rlf_caps *caps)
{
    const rlf_place_row *row =
        rlf_place_can(node)
            ? rlf_placement_find(graph->placement, node->receiver, node->class)
            : NULL;
    if (!row)
        return;
    rlf_use use = node->class->work == RLF_WORK_GENERATE ? RLF_USE_GENERATE
                  : node->loss                           ? RLF_USE_UPDATE
                                                         : RLF_USE_READ;
    if (use != RLF_USE_GENERATE && row->tokens > 0 &&
        (uint32_t)row->tokens > caps->tokens[use])
        caps->tokens[use] = (uint32_t)row->tokens;
    uint32_t cut = (uint32_t)(row->dp * row->pp * EACH);
    if (row->pp > 1 && cut > caps->cut[use])
        caps->cut[use] = cut;
    if (use == RLF_USE_UPDATE)
        caps->recompute |= row->recompute > 0;
}

/* Texts have any number of tokens. */
static void
unbind(met *m)
{
    m->longest = INFINITY;
    for (int use = 0; use < RLF_N_USES; use++)
        m->own[use] = INFINITY;
}

static uint32_t
whole(double x)
{
    return x < (double)UINT32_MAX ? (uint32_t)x : 0;
}

rlf_caps *
rlf_plan_caps(const rlf_graph *graph, rlf_arena *arena)
{
    size_t n = graph->resources.count;
    rlf_caps *caps = RLF_NEW_ARRAY(arena, rlf_caps, n);
    met *of = RLF_NEW_ARRAY(arena, met, n);
    rlf_sizes sizes = rlf_sizes_make(graph, &(rlf_sizes_options){0}, arena);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        meet_node(graph, &sizes, node, of);
        if (node->receiver >= 0)
            hear(graph, node, &caps[node->receiver]);
    }
    for (size_t i = 0; i < n; i++)
        if (graph->resources.data[i].retokenizes)
            unbind(&of[i]);
    uint32_t reach = 0;
    for (size_t i = 0; i < n; i++)
        if (whole(of[i].longest) > reach)
            reach = whole(of[i].longest);
    for (size_t i = 0; i < n; i++) {
        caps[i].longest = whole(of[i].longest);
        caps[i].reach = reach;
        for (int use = 0; use < RLF_N_USES; use++) {
            caps[i].rows[use] = whole(of[i].rows[use]);
            caps[i].together[use] =
                (uint32_t)fmin(of[i].together[use], RLF_SHARED_TOKENS);
            caps[i].own[use] = whole(of[i].own[use]);
            caps[i].sets[use] = (uint32_t)of[i].sets[use];
        }
    }
    return caps;
}
