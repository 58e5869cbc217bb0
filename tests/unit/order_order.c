/* The controller: a small program driven by hand, with rows completing in
 * random order. What must hold: an instance never starts before what it waits
 * for, pieces cover all rows once, groups are whole, resources order writers
 * and readers, loops and breaks are followed, and the step ends. */
#include "engine/base/philox.h"
#include "engine/order/order.h"
#include "tests/unit/order_graph.h"

enum { PROMPTS = 4, EACH = 3, SAMPLES = PROMPTS * EACH, TURNS = 3 };

typedef struct program {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_graph *graph;
    int batch, roll, score, mean, white, piece; /* values */
    int actor;                                  /* resource */
} program;

/* Samples of the batch, in `region`. */
static int
add_sampled(program *p, int region)
{
    return add_node(
        p->graph, &generate,
        (node_parts){
            .rows = 1, .region = region, .model = p->actor + 1, IN(p->batch)});
}

/* roll = generate(batch); score = judge(roll); mean = per group; white = per
 * batch; for piece { update; break } ; generate again, with the new weights */
static program
make(void)
{
    program p = {.arena = rlf_arena_new()};
    p.sources.arena = p.arena;
    p.graph = rlf_graph_new(p.arena, &p.sources);
    p.actor = rlf_graph_add_resource(
        p.graph, (rlf_resource){.class = &a_model, .name = "actor"});
    p.batch = add_node(p.graph, &draw, (node_parts){BATCH});
    p.roll = add_sampled(&p, 0);
    p.score = add_node(p.graph, &judge, (node_parts){.rows = 1, IN(p.roll)});
    p.mean = add_node(
        p.graph, &arith,
        (node_parts){.grain = RLF_GRAIN_GROUP, .rows = 1, IN(p.score)});
    p.white =
        add_node(p.graph, &arith, (node_parts){BATCH, IN(p.score, p.mean)});
    p.piece = add_value(p.graph, "piece");
    add_node(p.graph, &loop, (node_parts){BATCH, IN(p.roll), .silent = true});
    int body = p.graph->nodes.data[5].regions[0];
    p.graph->regions.data[body].args = one_int(p.graph, p.piece);
    p.graph->regions.data[body].n_args = 1;
    add_node(p.graph, &update,
             (node_parts){BATCH, .region = body, .model = p.actor + 1,
                          IN(p.piece, p.white), .silent = true});
    add_node(p.graph, &quit,
             (node_parts){BATCH, .region = body, .silent = true});
    add_sampled(&p, 0);
    return p;
}

/* collect { batch = draw(count); roll = generate(batch); score = judge(roll);
 * keep score } gives roll; white = per batch of what was kept; update */
static program
make_collect(void)
{
    program p = {.arena = rlf_arena_new()};
    p.sources.arena = p.arena;
    p.graph = rlf_graph_new(p.arena, &p.sources);
    p.actor = rlf_graph_add_resource(
        p.graph, (rlf_resource){.class = &a_model, .name = "actor"});
    int count = add_value(p.graph, "count");
    int kept = add_node(p.graph, &gather, (node_parts){BATCH});
    int body = p.graph->nodes.data[0].regions[0];
    p.batch = add_node(p.graph, &draw,
                       (node_parts){BATCH, .region = body, IN(count)});
    p.roll = add_sampled(&p, body);
    p.score = add_node(p.graph, &judge,
                       (node_parts){.rows = 1, .region = body, IN(p.roll)});
    add_node(p.graph, &keep,
             (node_parts){BATCH, .region = body, IN(p.score, p.roll),
                          .silent = true});
    rlf_region *region = &p.graph->regions.data[body];
    region->args = one_int(p.graph, count);
    region->n_args = 1;
    region->gives = RLF_NEW_ARRAY(p.arena, int, 2);
    region->gives[0] = p.score;
    region->gives[1] = p.roll;
    region->n_gives = 2;
    p.white = add_node(p.graph, &arith, (node_parts){BATCH, IN(kept)});
    add_node(
        p.graph, &update,
        (node_parts){BATCH, .model = p.actor + 1, IN(p.white), .silent = true});
    return p;
}

typedef struct world {
    program *p;
    rlf_order *order;
    uint64_t seed, at;
    int leave_at; /* update after which the break is taken; -1 never */
    int rounds;   /* rounds of a collect */
    int done[64];
    bool row[64][SAMPLES];
    int n_rows[64];
    int updates, turns, pieces;
    int asked; /* rounds of the collect that were asked for */
    int last;  /* the LOOP that answered that there is none */
    bool ok;
} world;

static uint32_t
below(world *w, uint32_t n)
{
    const rlf_random_key key = {.seed = w->seed};
    return (uint32_t)rlf_draw_below(&key, w->at++, n);
}

static void
fault(world *w, const char *what)
{
    if (w->ok)
        printf("# seed %d: %s\n", (int)w->seed, what);
    w->ok = false;
}

static const uint32_t *
owner(void)
{
    static uint32_t map[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++)
        map[i] = i / EACH;
    return map;
}

static void
rows(world *w, int instance, const uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (w->row[instance][list[i]])
            fault(w, "a row was given out twice");
        w->row[instance][list[i]] = true;
    }
    w->n_rows[instance] += (int)n;
    rlf_order_rows(w->order, instance, list, n);
}

static void
finish(world *w, int instance, uint32_t count, bool leave)
{
    w->done[instance] = true;
    rlf_order_done(w->order, instance, count, -1, leave);
}

/* Every row's inputs are complete; a piece of groups holds whole ones. */
static void
check_piece(world *w, const rlf_decision *c)
{
    const rlf_instance *in = rlf_order_instance(w->order, c->instance);
    for (int i = 0; i < in->node->n_inputs; i++) {
        int from = in->input[i].instance;
        if (w->done[from])
            continue;
        if (in->node->grain == RLF_GRAIN_BATCH || !c->rows)
            fault(w, "it ran before its input was complete");
        for (uint32_t k = 0; c->rows && k < c->n_rows; k++) {
            uint32_t group = c->rows[k] / EACH * EACH;
            if (!w->row[from][c->rows[k]])
                fault(w, "a row ran before its input");
            for (uint32_t j = 0; in->node->grain == RLF_GRAIN_GROUP && j < EACH;
                 j++)
                if (!w->row[from][group + j])
                    fault(w, "a group ran before it was whole");
        }
    }
}

static void
run(world *w, const rlf_decision *c)
{
    const rlf_instance *in = rlf_order_instance(w->order, c->instance);
    const rlf_node_class *class = in->node->class;
    check_piece(w, c);
    bool pieces = in->node->grain != RLF_GRAIN_BATCH;
    if (!w->n_rows[c->instance])
        rlf_order_opened(w->order, c->instance, pieces ? SAMPLES : 0,
                         pieces ? owner() : NULL);
    if (class == &generate) {
        if (w->rounds < 0 && w->updates != 0 &&
            w->updates != (w->leave_at >= 0 ? w->leave_at + 1 : TURNS))
            fault(w, "it generates with weights in between");
        return;
    }
    if (class == &update)
        w->updates++;
    if (!pieces) {
        finish(w, c->instance, TURNS,
               class == &quit && w->updates == w->leave_at + 1);
        return;
    }
    uint32_t all[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++)
        all[i] = i;
    w->pieces += c->rows != NULL;
    if (c->rows)
        rows(w, c->instance, c->rows, c->n_rows);
    else
        rows(w, c->instance, all, SAMPLES);
    if (w->n_rows[c->instance] == SAMPLES)
        finish(w, c->instance, 0, false);
}

/* Before each round the collect says whether there is one; it has what the
 * round before gave, and that is complete. */
static void
round_of(world *w, const rlf_decision *c)
{
    const rlf_instance *in = rlf_order_instance(w->order, c->instance);
    const rlf_region *body = &w->p->graph->regions.data[in->node->regions[0]];
    if ((int)c->turn != w->asked++)
        fault(w, "rounds are not counted");
    for (int i = 0; i < body->n_gives; i++) {
        rlf_origin from = in->input[in->node->n_inputs + i];
        if (c->turn == 0 ? from.instance >= 0 : from.instance < 0)
            fault(w, "it is given what no round gave");
        else if (from.instance >= 0 && !w->done[from.instance])
            fault(w, "it is given what is not complete");
    }
    bool more = (int)c->turn < w->rounds;
    if (!more)
        w->last = c->instance;
    w->done[c->instance] = true;
    rlf_order_done(w->order, c->instance, 0, more ? 0 : -1, false);
}

/* Every round has its own instances, with keys of their own; what follows is
 * made of what the last LOOP answered with. */
static void
check_rounds(world *w)
{
    int rolls = 0, whites = 0;
    uint64_t keys[64];
    for (int i = 0; i < rlf_order_count(w->order); i++) {
        const rlf_instance *in = rlf_order_instance(w->order, i);
        if (in->node->class == &generate) {
            for (int k = 0; k < rolls; k++)
                if (keys[k] == in->iteration)
                    fault(w, "two rounds have one key");
            keys[rolls++] = in->iteration;
        }
        if (in->node->class == &arith && ++whites &&
            in->input[0].instance != w->last)
            fault(w, "what follows is not made of what was kept");
    }
    if (rolls != w->rounds || w->asked != w->rounds + 1 || whites != 1)
        fault(w, "not as many rounds as were asked for");
}

/* A turn of the generation: some rows complete, in any order. */
static void
turn(world *w, int instance)
{
    uint32_t list[SAMPLES], n = 0;
    w->turns++;
    for (uint32_t i = 0; i < SAMPLES; i++)
        if (!w->row[instance][i] && below(w, 3) == 0)
            list[n++] = i;
    if (n)
        rows(w, instance, list, n);
    if (w->n_rows[instance] == SAMPLES)
        finish(w, instance, 0, false);
}

static bool
play(program *p, uint64_t seed, uint32_t piece, int leave_at, int rounds,
     world *w)
{
    *w = (world){.p = p,
                 .seed = seed,
                 .leave_at = leave_at,
                 .rounds = rounds,
                 .ok = true};
    w->order = rlf_order_new(p->graph, (rlf_policy){.piece = piece});
    rlf_order_begin(w->order);
    int n = 0;
    for (; n < 10000; n++) {
        rlf_decision c = rlf_order_next(w->order);
        if (c.kind == RLF_NEXT_END)
            break;
        if (c.kind == RLF_NEXT_WAIT) {
            fault(w, "it waits for nothing");
            break;
        }
        if (c.kind == RLF_NEXT_RUN)
            run(w, &c);
        else if (c.kind == RLF_NEXT_LOOP &&
                 rlf_order_instance(w->order, c.instance)->node->class ==
                     &gather)
            round_of(w, &c);
        else if (c.kind == RLF_NEXT_LOOP)
            finish(w, c.instance, 0, false);
        else
            turn(w, c.instance);
    }
    if (n == 10000)
        fault(w, "it does not end");
    for (int i = 0; i < rlf_order_count(w->order); i++)
        if (!w->done[i])
            fault(w, "an instance was left behind");
    if (rounds >= 0)
        check_rounds(w);
    rlf_order_free(w->order);
    return w->ok;
}

int
main(void)
{
    program p = make();
    world w;
    bool good = true, streamed = false, waited = true;
    for (uint64_t seed = 0; seed < 300; seed++) {
        good = play(&p, seed, 1, -1, -1, &w) && good && w.updates == TURNS;
        streamed = streamed || w.pieces > 4;
    }
    ok(good, "300 random orders of rows: nothing early, nothing twice");
    ok(streamed, "pieces ran while the generation went on");
    for (uint64_t seed = 0; seed < 20; seed++) {
        good = play(&p, seed, 0, -1, -1, &w) && good;
        waited = waited && w.pieces == 0;
    }
    ok(good && waited, "with piece 0 everything waits for the whole set");
    good = true;
    for (uint64_t seed = 0; seed < 20; seed++)
        good = play(&p, seed, 4, 0, -1, &w) && good && w.updates == 1;
    ok(good, "a break leaves the loop after its first iteration");
    rlf_arena_free(p.arena);

    p = make_collect();
    good = true;
    streamed = false;
    for (uint64_t seed = 0; seed < 100; seed++) {
        int rounds = (int)(seed % 5);
        good = play(&p, seed, 1, -1, rounds, &w) && good && w.updates == 1;
        streamed = streamed || w.pieces > 0;
    }
    ok(good, "a collect runs as many rounds as it asks for, then goes on");
    ok(streamed, "a round streams as the flow does");
    rlf_arena_free(p.arena);
    return done();
}
