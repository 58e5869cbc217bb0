/* A program of a rollout, what is made of it and updates, and any plan for it:
 * what simulate_ranks.c plays. */
#ifndef RLF_TEST_ORDER_PROGRAM_H
#define RLF_TEST_ORDER_PROGRAM_H

#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/plan/holds.h"

enum {
    PROMPTS = 3,
    EACH = 2,
    SAMPLES = PROMPTS * EACH,
    TURNS = 2,
    MOST_RANKS = 6,
    MOST_INSTANCES = 192,
    MOST_AHEAD = 3,
    STEPS = 4, /* of a program that makes something ahead */
    MOST_PACE = 4,
    MODELS = 3,
    MOST_HOLDS = 8,
    MOST_POSTS = 2048
};

static const rlf_node_class draw = {.name = "draw", .draws = true};
static const rlf_node_class generate = {.name = "generate",
                                        .receiver = RLF_RECEIVER_MODEL,
                                        .work = RLF_WORK_GENERATE};
static const rlf_node_class logprob = {
    .name = "logprob", .work = RLF_WORK_READ, .receiver = RLF_RECEIVER_MODEL};
static const rlf_node_class logprobs = {.name = "logprobs",
                                        .work = RLF_WORK_READ,
                                        .receiver = RLF_RECEIVER_MODEL,
                                        .level = RLF_LEVEL_VOCAB};
static const rlf_node_class words = {.name = "words", .work = RLF_WORK_READ};
static const rlf_node_class judge = {.name = "judge", .work = RLF_WORK_HOST};
static const rlf_node_class arith = {.name = "expr",
                                     .program = RLF_PROGRAM_EXPR};
static const rlf_node_class update = {.name = "update", .work = RLF_WORK_TRAIN};
static const rlf_node_class loop = {.name = "for", .course = RLF_COURSE_LOOP};
static const rlf_node_class event = {.name = "report", .reports = true};

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

static int
value(program *p, const char *name)
{
    return rlf_graph_add_value(
        p->graph,
        (rlf_value){.domain = 0, .set = -1, .node = -1, .name = name});
}

/* A node on up to three inputs; returns its output. */
static int
node(program *p, const rlf_node_class *class, int region, rlf_granularity grain,
     int model, const int *in, int n_in)
{
    int out = value(p, class->name);
    rlf_node n = {.class = class,
                  .region = region,
                  .grain = grain,
                  .rows = grain == RLF_GRAIN_BATCH ? -1 : p->samples,
                  .receiver = model,
                  .n_inputs = n_in,
                  .n_outputs = 1};
    n.inputs = RLF_NEW_ARRAY(p->arena, int, 4);
    if (n_in)
        memcpy(n.inputs, in, sizeof(int) * (size_t)n_in);
    n.outputs = RLF_NEW_ARRAY(p->arena, int, 1);
    n.outputs[0] = out;
    if (model >= 0) {
        int *uses = RLF_NEW_ARRAY(p->arena, int, 1);
        uses[0] = model;
        if (class == &update) {
            n.n_writes = 1;
            n.writes = uses;
        } else {
            n.n_reads = 1;
            n.reads = uses;
        }
    }
    if (class == &loop) {
        n.n_regions = 1;
        n.regions = RLF_NEW_ARRAY(p->arena, int, 1);
        n.regions[0] =
            rlf_graph_add_region(p->graph, (int)p->graph->nodes.count);
    }
    rlf_graph_add_node(p->graph, n);
    return out;
}

/* Adds a node whose output has a value per word, which nobody stores, made of
 * `in`, which has these rows or none. Returns the output. */
static int
words_of(program *p, int in, int rows)
{
    size_t first = p->graph->nodes.count;
    int a =
        node(p, &logprobs, 0, RLF_GRAIN_SAMPLE, p->actor, (const int[]){in}, 1);
    int b =
        node(p, &logprobs, 0, RLF_GRAIN_SAMPLE, p->ref, (const int[]){in}, 1);
    int out =
        node(p, &words, 0, RLF_GRAIN_SAMPLE, -1, (const int[]){a, b, in}, 3);
    for (size_t i = first; i < p->graph->nodes.count; i++)
        p->graph->nodes.data[i].rows = rows;
    return out;
}

#define IN(...)                 \
    (const int[]){__VA_ARGS__}, \
        (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int))

/* With `ahead` the first generation and what the actor says of its samples is
 * made so many steps ahead; with `again` there is another. */
static program
make(uint32_t ahead, bool again)
{
    program p = {.arena = rlf_arena_new(), .samples = 1, .given = 2};
    p.sources.arena = p.arena;
    p.graph = rlf_graph_new(p.arena, &p.sources);
    p.actor = rlf_graph_add_resource(
        p.graph, (rlf_resource){.kind = RLF_RESOURCE_MODEL, .name = "actor"});
    p.ref = rlf_graph_add_resource(
        p.graph, (rlf_resource){.kind = RLF_RESOURCE_MODEL, .name = "ref"});
    p.critic = rlf_graph_add_resource(
        p.graph, (rlf_resource){.kind = RLF_RESOURCE_MODEL, .name = "critic"});
    rlf_granularity sample = RLF_GRAIN_SAMPLE, group = RLF_GRAIN_GROUP,
                    batch = RLF_GRAIN_BATCH;
    int rows = node(&p, &draw, 0, batch, -1, NULL, 0);
    int roll = node(&p, &generate, 0, sample, p.actor, IN(rows));
    node(&p, &logprob, 0, sample, p.actor, IN(roll));
    int score = node(&p, &judge, 0, sample, -1, IN(roll));
    node(&p, &logprob, 0, sample, p.actor, IN(roll, score));
    int base = node(&p, &logprob, 0, sample, p.ref, IN(roll));
    int kl = node(&p, &arith, 0, sample, -1, IN(roll, base, score));
    int mean = node(&p, &arith, 0, group, -1, IN(kl));
    int white = node(&p, &arith, 0, batch, -1, IN(kl, mean));
    words_of(&p, rows, p.given);
    words_of(&p, roll, p.samples);
    int over = (int)p.graph->nodes.count;
    node(&p, &loop, 0, batch, -1, IN(roll));
    int body = p.graph->nodes.data[over].regions[0];
    int *args = RLF_NEW_ARRAY(p.arena, int, 1);
    int piece = args[0] = value(&p, "piece");
    p.graph->regions.data[body].args = args;
    p.graph->regions.data[body].n_args = 1;
    int loss = node(&p, &update, body, batch, p.actor, IN(piece, white));
    node(&p, &event, body, batch, -1, IN(loss));
    node(&p, &update, body, batch, p.critic, IN(piece, white));
    for (int i = 0, k = 0; i < (int)p.graph->nodes.count; i++)
        if (p.graph->nodes.data[i].class == &update)
            p.updates[k++] = i;
    if (again) {
        int more = node(&p, &generate, 0, sample, p.actor, IN(rows));
        node(&p, &logprob, 0, sample, p.ref, IN(more));
        node(&p, &judge, 0, group, -1, IN(more));
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

/* What is made ahead, and all else that calls models, on ranks of their own. */
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
        at->spread = n->class == &update ? RLF_SPREAD_JOINT
                     : n->rows < 0       ? RLF_SPREAD_WHOLE
                     : n->class == &arith || n->class == &logprobs
                         ? RLF_SPREAD_NEAR
                         : RLF_SPREAD_ROWS;
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
        a->party = b->party = 2;
    }
    if (p->graph->ahead && plan.ranks > 1 && roll_die(c, 2))
        put_apart(c, p, &plan);
    place_words(p, &plan);
    rlf_holds_make(&plan, arena);
    return plan;
}

#endif
