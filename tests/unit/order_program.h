/* A program of a rollout, what is made of it and updates, and any plan for it:
 * what simulate_ranks.c plays. */
#ifndef RLF_TEST_ORDER_PROGRAM_H
#define RLF_TEST_ORDER_PROGRAM_H

#include "engine/base/philox.h"
#include "engine/plan/weight_copies.h"
#include "tests/unit/order_graph.h"

enum {
    PROMPTS = 3,
    EACH = 2,
    SAMPLES = PROMPTS * EACH,
    TURNS = 2,
    MOST_RANKS = 6,
    MOST_INSTANCES = 192,
    MOST_AHEAD = 3,
    STEPS = 4, /* steps of a program that makes something ahead */
    MOST_PACE = 4,
    MODELS = 3,
    MOST_COPIES = 8,
    MOST_POSTS = 2048
};

/* ---- a program ---- */

typedef struct program {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_graph *graph;
    int actor, ref, critic;
    int samples, given; /* rows: that are sampled, that are there from the
                           first */
    int updates[2];     /* nodes: of the actor, of the critic */
} program;

/* Adds a node whose output has a value per word, which nobody stores, made of
 * `in`, which has these rows or none. Returns the output. */
static int
words_of(program *p, int in, int rows)
{
    int a = add_node(p->graph, &logprobs,
                     (node_parts){.rows = rows, .model = p->actor + 1, IN(in)});
    int b = add_node(p->graph, &logprobs,
                     (node_parts){.rows = rows, .model = p->ref + 1, IN(in)});
    return add_node(p->graph, &words, (node_parts){.rows = rows, IN(a, b, in)});
}

/* With `ahead` the first generation and what the actor says of its samples is
 * made so many steps ahead; with `again` there is another. */
static program
make(uint32_t ahead, bool again)
{
    program p = {.arena = rlf_arena_new(), .samples = 1, .given = 2};
    p.sources.arena = p.arena;
    p.graph = rlf_graph_new(p.arena, &p.sources);
    p.actor = rlf_graph_add_resource(
        p.graph, (rlf_resource){.class = &a_model, .name = "actor"});
    p.ref = rlf_graph_add_resource(
        p.graph, (rlf_resource){.class = &a_model, .name = "ref"});
    p.critic = rlf_graph_add_resource(
        p.graph, (rlf_resource){.class = &a_model, .name = "critic"});
    int rows = add_node(p.graph, &draw, (node_parts){BATCH});
    int roll = add_node(
        p.graph, &generate,
        (node_parts){.rows = p.samples, .model = p.actor + 1, IN(rows)});
    add_node(p.graph, &logprob,
             (node_parts){.rows = p.samples, .model = p.actor + 1, IN(roll)});
    int score =
        add_node(p.graph, &judge, (node_parts){.rows = p.samples, IN(roll)});
    add_node(
        p.graph, &logprob,
        (node_parts){.rows = p.samples, .model = p.actor + 1, IN(roll, score)});
    int base =
        add_node(p.graph, &logprob,
                 (node_parts){.rows = p.samples, .model = p.ref + 1, IN(roll)});
    int kl = add_node(p.graph, &arith,
                      (node_parts){.rows = p.samples, IN(roll, base, score)});
    int mean = add_node(
        p.graph, &arith,
        (node_parts){.grain = RLF_GRAIN_GROUP, .rows = p.samples, IN(kl)});
    int white = add_node(p.graph, &arith, (node_parts){BATCH, IN(kl, mean)});
    words_of(&p, rows, p.given);
    words_of(&p, roll, p.samples);
    int over = (int)p.graph->nodes.count;
    add_node(p.graph, &loop, (node_parts){BATCH, IN(roll)});
    int body = p.graph->nodes.data[over].regions[0];
    int *args = RLF_NEW_ARRAY(p.arena, int, 1);
    int piece = args[0] = add_value(p.graph, "piece");
    p.graph->regions.data[body].args = args;
    p.graph->regions.data[body].n_args = 1;
    int loss = add_node(p.graph, &update,
                        (node_parts){BATCH, .region = body,
                                     .model = p.actor + 1, IN(piece, white)});
    add_node(p.graph, &reporting,
             (node_parts){BATCH, .region = body, IN(loss)});
    add_node(p.graph, &update,
             (node_parts){BATCH, .region = body, .model = p.critic + 1,
                          IN(piece, white)});
    for (int i = 0, k = 0; i < (int)p.graph->nodes.count; i++)
        if (p.graph->nodes.data[i].class == &update)
            p.updates[k++] = i;
    if (again) {
        int more = add_node(
            p.graph, &generate,
            (node_parts){.rows = p.samples, .model = p.actor + 1, IN(rows)});
        add_node(p.graph, &logprob,
                 (node_parts){.rows = p.samples, .model = p.ref + 1, IN(more)});
        add_node(p.graph, &judge,
                 (node_parts){
                     .grain = RLF_GRAIN_GROUP, .rows = p.samples, IN(more)});
    }
    p.graph->ahead = ahead;
    for (int i = 0; i < 3; i++)
        p.graph->nodes.data[i].ahead = ahead > 0;
    return p;
}

/* ---- chance ---- */

typedef struct chance {
    rlf_random_key key;
    uint32_t at;
} chance;

static uint32_t
roll_die(chance *c, uint32_t n)
{
    return (uint32_t)(rlf_draw_below(&c->key, c->at++, n));
}

/* A layout of some ranks, any division. */
static rlf_layout
any_layout(chance *c, rlf_arena *arena, int n_ranks, bool split)
{
    int *ranks = RLF_NEW_ARRAY(arena, int, n_ranks);
    rlf_layout l = {.ranks = ranks, .tp = 1, .pp = 1};
    do {
        l.n_ranks = 0;
        for (int r = 0; r < n_ranks; r++)
            if (roll_die(c, 3))
                ranks[l.n_ranks++] = r;
    } while (!l.n_ranks);
    if (split)
        do
            l.tp = 1 + (int)roll_die(c, 3);
        while (l.n_ranks % l.tp);
    l.dp = l.n_ranks / l.tp;
    return l;
}

static bool
is_ahead(const program *p, const rlf_node *node)
{
    return p->graph->ahead && node->ahead;
}

/* Places calls that are made ahead on some ranks, and all other calls of models
 * on the rest. */
static void
put_apart(chance *c, const program *p, rlf_plan *plan)
{
    int first = 1 + (int)roll_die(c, (uint32_t)plan->ranks - 1);
    /* the present weights are read there too: by whom */
    uint32_t newer = roll_die(c, 4);
    for (size_t i = 0; i < p->graph->nodes.count; i++) {
        const rlf_node *n = &p->graph->nodes.data[i];
        rlf_layout *l = &plan->place[i].layout;
        if (n->receiver < 0)
            continue;
        const int *all = plan->place[0].layout.ranks;
        bool ahead =
            is_ahead(p, n) || (n->class == &generate && newer > 1) ||
            (n->class == &logprob && n->receiver == p->actor && newer == 3);
        *l = (rlf_layout){.ranks = ahead ? all : all + first,
                          .n_ranks = ahead ? first : plan->ranks - first,
                          .tp = 1,
                          .pp = 1};
        if (l->n_ranks % 2 == 0 && n->class != &update && roll_die(c, 2))
            l->tp = 2;
        l->dp = l->n_ranks / l->tp;
    }
}

/* A node of values per word runs where the first of its inputs would be. */
static void
place_words(const program *p, rlf_plan *plan)
{
    for (size_t i = 0; i < p->graph->nodes.count; i++) {
        const rlf_node *n = &p->graph->nodes.data[i];
        if (n->class != &words)
            continue;
        for (int k = 0; k < 2; k++) {
            int from = p->graph->values.data[n->inputs[k]].node;
            rlf_node_place *at = &plan->place[k ? from : (int)i];
            at->layout =
                plan->place[p->graph->values.data[n->inputs[0]].node].layout;
        }
    }
}

static rlf_plan
any_plan(chance *c, const program *p, rlf_arena *arena)
{
    rlf_plan plan = {.graph = p->graph,
                     .ranks = 1 + (int)roll_die(c, MOST_RANKS)};
    int *all = RLF_NEW_ARRAY(arena, int, plan.ranks);
    for (int i = 0; i < plan.ranks; i++)
        all[i] = i;
    rlf_layout world = {.ranks = all,
                        .n_ranks = plan.ranks,
                        .tp = 1,
                        .pp = 1,
                        .dp = plan.ranks};
    plan.place = RLF_NEW_ARRAY(arena, rlf_node_place, p->graph->nodes.count);
    for (size_t i = 0; i < p->graph->nodes.count; i++) {
        const rlf_node *n = &p->graph->nodes.data[i];
        rlf_node_place *at = &plan.place[i];
        at->layout = world;
        at->partition = n->class == &update ? RLF_PARTITION_JOINT
                        : n->rows < 0       ? RLF_PARTITION_WHOLE
                        : n->class == &arith || n->class == &logprobs
                            ? RLF_PARTITION_NEAR
                            : RLF_PARTITION_ROWS;
        if (n->receiver >= 0)
            at->layout = any_layout(c, arena, plan.ranks, n->class != &update);
        if (n->class == &generate) {
            at->migrate = (int)roll_die(c, SAMPLES + 2);
            at->seats = (int)roll_die(c, 4);
        }
    }
    if (roll_die(c, 2)) { /* they share a pipeline */
        rlf_node_place *a = &plan.place[p->updates[0]],
                       *b = &plan.place[p->updates[1]];
        b->layout = a->layout;
        a->lead = b->lead = &p->graph->nodes.data[p->updates[0]];
        a->fused = b->fused = 2;
    }
    if (p->graph->ahead && plan.ranks > 1 && roll_die(c, 2))
        put_apart(c, p, &plan);
    place_words(p, &plan);
    rlf_weight_copies_make(&plan, arena);
    return plan;
}

#endif
