/* The protocol of many ranks, as a model: the real controller, and ranks that
 * are nothing but a mailbox, a set of rows and random delays.
 *
 * What must hold in every schedule: a rank that computes rows has what they
 * are made of; rows are computed once; an edge never sends what is there
 * already; a call reads the weights of all updates before it, and they stay as
 * they are while it reads; a sample is made by one replica, though samples go
 * from one to another while they are made; and nothing hangs, with overlapping
 * meshes and open generations. What is made ahead reads the weights that its
 * step began with, and where they lie apart updates go on beside it, also those
 * of later steps; when a run settles between two steps, nothing is open.
 * And the rule of the open replica is needed: without it, it does hang. */
#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/order/control.h"
#include "engine/plan/holds.h"
#include "tests/tap.h"

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

static const rlf_node_class draw = {.name = "draw", .role = RLF_ROLE_DRAW};
static const rlf_node_class generate = {.name = "generate",
                                        .role = RLF_ROLE_METHOD,
                                        .receiver = RLF_RECEIVER_MODEL,
                                        .sampled = true};
static const rlf_node_class logprob = {
    .name = "logprob", .role = RLF_ROLE_METHOD, .receiver = RLF_RECEIVER_MODEL};
static const rlf_node_class judge = {.name = "judge", .role = RLF_ROLE_HOOK};
static const rlf_node_class arith = {.name = "expr", .role = RLF_ROLE_EXPR};
static const rlf_node_class update = {.name = "update",
                                      .role = RLF_ROLE_UPDATE};
static const rlf_node_class loop = {.name = "for", .role = RLF_ROLE_FOR};
static const rlf_node_class report = {.name = "report",
                                      .role = RLF_ROLE_REPORT};

/* ---- a program ---- */

typedef struct program {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_graph *graph;
    int actor, ref, critic, samples;
    int updates[2]; /* nodes: of the actor, of the critic */
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

#define IN(...)                 \
    (const int[]){__VA_ARGS__}, \
        (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int))

/* With `ahead` the first generation and what the actor says of its samples is
 * made so many steps ahead; with `again` there is another. */
static program
make(uint32_t ahead, bool again)
{
    program p = {.arena = rlf_arena_new(), .samples = 1};
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
    int over = (int)p.graph->nodes.count;
    node(&p, &loop, 0, batch, -1, IN(roll));
    int body = p.graph->nodes.data[over].regions[0];
    int *args = RLF_NEW_ARRAY(p.arena, int, 1);
    int piece = args[0] = value(&p, "piece");
    p.graph->regions.data[body].args = args;
    p.graph->regions.data[body].n_args = 1;
    int loss = node(&p, &update, body, batch, p.actor, IN(piece, white));
    node(&p, &report, body, batch, -1, IN(loss));
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
        at->spread = n->class == &update  ? RLF_SPREAD_JOINT
                     : n->rows < 0        ? RLF_SPREAD_WHOLE
                     : n->class == &arith ? RLF_SPREAD_NEAR
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
    rlf_holds_make(&plan, arena);
    return plan;
}

/* ---- the world ---- */

/* A generation that a rank is a member of. */
typedef struct open_generation {
    uint64_t n;
    const rlf_post *post;
    int instance;
    const rlf_share *share;
    int leader, size;
    int quanta;        /* done */
    int pace;          /* quanta a sample */
    bool row[SAMPLES]; /* to be made here */
    bool active;
    int version; /* of the weights that it began with */
} open_generation;

/* What the leader of a replica said before each quantum of a generation: a
 * post, or NULL for "go on". Members may come late, when it is over for the
 * leader. */
typedef struct headers {
    uint64_t n; /* of the generation */
    int leader;
    const rlf_post **data;
    size_t count, room;
} headers;

typedef struct rank {
    RLF_VEC(const rlf_post *) mail; /* everything for it, in order */
    size_t delivered, taken;
    const rlf_post *now; /* at work on it */
    bool in_quantum;
    bool have[MOST_INSTANCES][SAMPLES];
    open_generation generation;
    /* how many updates each hold of a model has seen */
    int version[MODELS][MOST_HOLDS];
    size_t read;           /* of the leader's headers */
    bool gave[MOST_POSTS]; /* MOVEs in which it was a source, done */
} rank;

typedef struct world {
    const program *p;
    const rlf_plan *plan;
    rlf_control *control;
    chance *chance;
    bool rule; /* of the open replica */
    rank ranks[MOST_RANKS];
    RLF_VEC(rlf_report) reports;
    RLF_VEC(headers) headers;
    bool computed[MOST_INSTANCES][SAMPLES];
    uint64_t updates[MOST_INSTANCES]; /* the actor's: their posts */
    int n_updates;
    const rlf_post *joint; /* the post before, if it was so */
    int n_joint;
    uint64_t step;
    int before[STEPS + 1];   /* updates before each step */
    int beside;              /* updates posted while something is made ahead */
    int open;                /* steps that end while something is */
    int carried[MOST_POSTS]; /* version that sources of a WEIGHTS had; -1 */
    bool went[MOST_POSTS][MOST_RANKS][SAMPLES]; /* by MOVE, from a rank */
    int n_went, n_stayed; /* rows of moves: that went, that were complete */
    const char *wrong;
    uint32_t owner[SAMPLES];
    uint32_t iota[SAMPLES];
    uint32_t length[SAMPLES];
    bool lengths;   /* are reported */
    uint32_t seats; /* of a replica, as reported */
} world;

static const rlf_node *
node_of(const world *w, int instance)
{
    return rlf_order_instance(rlf_control_order(w->control), instance)->node;
}

static const rlf_share *
share_of(const rlf_post *post, int r)
{
    for (int i = 0; i < post->n_shares; i++)
        if (post->shares[i].rank == r)
            return &post->shares[i];
    return NULL;
}

static bool
in_hold(const world *w, int model, int hold, int r)
{
    const rlf_hold *h = &w->plan->holds[model].list[hold];
    return rlf_layout_find(&h->mesh.layout, r).tp >= 0;
}

static bool
takes_part(const world *w, const rlf_post *post, int r)
{
    if (post->kind == RLF_POST_WEIGHTS)
        return in_hold(w, post->model, post->from, r) ||
               in_hold(w, post->model, post->hold, r);
    if (post->kind != RLF_POST_EDGE && post->kind != RLF_POST_MOVE)
        return true;
    for (int i = 0; i < post->n_moves; i++)
        if (post->moves[i].from == r || post->moves[i].to == r)
            return true;
    return false;
}

static bool
is_for(const world *w, const rlf_post *post, int r)
{
    if (post->kind == RLF_POST_EDGE || post->kind == RLF_POST_WEIGHTS ||
        post->kind == RLF_POST_MOVE) {
        if (takes_part(w, post, r))
            return true;
        return w->rule && post->everyone;
    }
    /* without the rule only first posts go to all: a rank with no share then
     * gets none (an instance's first post is the one with no share of it) */
    return post->everyone || post->kind == RLF_POST_END ||
           post->kind == RLF_POST_OPEN || share_of(post, r);
}

static uint32_t
rows_of(const world *w, int instance)
{
    return node_of(w, instance)->rows >= 0 ? SAMPLES : 1;
}

/* Has the rank what this instance is made of, for the rows of its share? */
static void
check_inputs(world *w, int r, const rlf_post *post, const rlf_share *share)
{
    const rlf_instance *in =
        rlf_order_instance(rlf_control_order(w->control), post->instance);
    for (int i = 0; i < in->node->n_inputs; i++) {
        int from = in->input[i].instance;
        bool aligned =
            in->node->rows >= 0 && node_of(w, from)->rows >= 0 && share->rows;
        uint32_t n = aligned ? share->n_rows : rows_of(w, from);
        for (uint32_t k = 0; k < n; k++)
            if (!w->ranks[r].have[from][aligned ? share->rows[k] : k])
                w->wrong = "a rank computes without its inputs";
    }
}

/* ---- weights ---- */

static int
version_at(const world *w, int r, const rlf_node *node)
{
    int model = node->receiver;
    return w->ranks[r].version[model][w->plan->place[node->id].hold[model]];
}

/* The step that an instance is of, or made for. */
static uint64_t
step_of(const world *w, int instance)
{
    uint64_t lanes = w->p->graph->ahead + 1, s = w->step;
    while (s % lanes != (uint64_t)instance % lanes)
        s++;
    return s;
}

/* A reader has the weights of all updates posted before it; what is made ahead,
 * those of all before the step that is so many before its own. */
static void
check_weights(world *w, int r, const rlf_post *post)
{
    const rlf_node *node = node_of(w, post->instance);
    if (node->receiver != w->p->actor)
        return;
    uint64_t step = w->step;
    if (is_ahead(w->p, node)) {
        uint64_t of = step_of(w, post->instance), lag = w->p->graph->ahead;
        step = of > lag ? of - lag : 1;
    }
    int before = w->before[step];
    for (int i = 0; i < w->n_updates && !is_ahead(w->p, node); i++)
        before += w->updates[i] < post->n;
    if (version_at(w, r, node) != before)
        w->wrong = "a call reads weights that are not the newest";
}

/* What the ranks of the hold that it comes from have, on its way or before. */
static void
move_weights(world *w, int r, const rlf_post *post)
{
    int *carried = &w->carried[post->n];
    for (int s = 0; s < w->plan->ranks; s++)
        if (in_hold(w, post->model, post->from, s) && w->ranks[s].now == post)
            *carried = w->ranks[s].version[post->model][post->from];
    if (in_hold(w, post->model, post->from, r))
        *carried = w->ranks[r].version[post->model][post->from];
    if (*carried < 0)
        w->wrong = "weights come from nowhere";
    if (in_hold(w, post->model, post->hold, r))
        w->ranks[r].version[post->model][post->hold] = *carried;
}

static void
tell(world *w, rlf_report what)
{
    RLF_PUSH(&w->reports, what);
}

static void
compute(world *w, int r, const rlf_post *post, const rlf_share *share)
{
    uint32_t n = share->rows ? share->n_rows : rows_of(w, post->instance);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t row = share->rows ? share->rows[k] : k;
        if (share->reports && w->computed[post->instance][row])
            w->wrong = "a row is computed twice";
        w->computed[post->instance][row] |= share->reports;
        w->ranks[r].have[post->instance][row] = true;
    }
    const rlf_node *node = node_of(w, post->instance);
    if (node->class == &update)
        w->ranks[r].version[node->receiver][0]++;
    if (share->reports)
        tell(w, (rlf_report){.kind = RLF_REPORT_DONE,
                             .rank = r,
                             .n = post->n,
                             .count = node->class == &loop ? TURNS : 0,
                             .branch = -1});
}

static void
open_for(world *w, int r, const rlf_post *post, const rlf_share *share)
{
    open_generation *g = &w->ranks[r].generation;
    if (g->active)
        w->wrong = "two generations are open on a rank";
    uint64_t first = share->rows[0];
    *g = (open_generation){.n = post->n,
                           .post = post,
                           .pace = 1 + (int)((post->n + 7 * first) % MOST_PACE),
                           .instance = post->instance,
                           .share = share,
                           .active = true,
                           .leader = -1,
                           .version =
                               version_at(w, r, node_of(w, post->instance))};
    for (uint32_t k = 0; k < share->n_rows; k++)
        g->row[share->rows[k]] = true;
    for (int i = 0; i < post->n_shares; i++)
        if (post->shares[i].rows == share->rows) {
            g->size++;
            if (g->leader < 0)
                g->leader = post->shares[i].rank;
        }
    w->ranks[r].read = 0;
}

/* Is the rank at the post, or past it? */
static bool
has_come(const world *w, int r, const rlf_post *post)
{
    bool come = w->ranks[r].now == post;
    for (size_t k = 0; k < w->ranks[r].taken; k++)
        come |= w->ranks[r].mail.data[k] == post;
    return come;
}

/* Can the post at which rank r stands be finished? Collective ones need all
 * their participants to stand there. */
static bool
can_finish(const world *w, int r)
{
    const rlf_post *post = w->ranks[r].now;
    if (post->kind == RLF_POST_EDGE || post->kind == RLF_POST_MOVE) {
        for (int i = 0; i < post->n_moves; i++) {
            const rlf_move *m = &post->moves[i];
            int other = m->from == r ? m->to : m->to == r ? m->from : -1;
            /* the other one is there, or has been */
            if (other >= 0 && w->ranks[other].now != post) {
                const rank *o = &w->ranks[other];
                bool past = false;
                for (size_t k = 0; k < o->taken; k++)
                    past |= o->mail.data[k] == post;
                if (!past)
                    return false;
            }
        }
        return true;
    }
    if (post->kind == RLF_POST_WEIGHTS && takes_part(w, post, r)) {
        for (int s = 0; s < w->plan->ranks; s++)
            if (takes_part(w, post, s) && !has_come(w, s, post))
                return false;
    }
    if (post->kind == RLF_POST_RUN && share_of(post, r) &&
        node_of(w, post->instance)->class == &update) {
        for (int i = 0; i < post->n_shares; i++) {
            const rank *o = &w->ranks[post->shares[i].rank];
            bool past = o->now == post;
            for (size_t k = 0; k < o->taken; k++)
                past |= o->mail.data[k] == post;
            if (!past)
                return false;
        }
    }
    return true;
}

/* The rank stands at a MOVE: what it has not completed goes. */
static void
give(world *w, int r, const rlf_post *post)
{
    open_generation *g = &w->ranks[r].generation;
    if (w->ranks[r].gave[post->n])
        return;
    w->ranks[r].gave[post->n] = true;
    for (int i = 0; i < post->n_moves; i++) {
        const rlf_move *m = &post->moves[i];
        for (uint32_t k = 0; k < m->n_rows && m->from == r; k++) {
            bool goes = g->active && g->row[m->rows[k]];
            w->went[post->n][r][m->rows[k]] = goes;
            g->row[m->rows[k]] = false;
            w->n_went += goes;
            w->n_stayed += !goes;
        }
    }
    g->active = false;
    for (int i = 0; i < SAMPLES; i++)
        g->active |= g->row[i];
}

static void
take_over(world *w, int r, const rlf_post *post)
{
    open_generation *g = &w->ranks[r].generation;
    for (int i = 0; i < post->n_moves; i++) {
        const rlf_move *m = &post->moves[i];
        if (m->to != r)
            continue;
        give(w, m->from, post); /* it stands there, or has been there */
        for (uint32_t k = 0; k < m->n_rows; k++) {
            if (!w->went[post->n][m->from][m->rows[k]])
                continue;
            if (g->row[m->rows[k]])
                w->wrong = "a sample goes where it is";
            if (g->instance != post->instance)
                w->wrong = "a sample goes to who never sampled";
            g->row[m->rows[k]] = g->active = true;
        }
    }
}

static void
finish(world *w, int r)
{
    rank *me = &w->ranks[r];
    const rlf_post *post = me->now;
    const rlf_share *share = share_of(post, r);
    if (post->kind == RLF_POST_WEIGHTS && takes_part(w, post, r))
        move_weights(w, r, post);
    if (post->kind == RLF_POST_MOVE) {
        give(w, r, post);
        take_over(w, r, post);
    }
    me->now = NULL;
    if (post->kind == RLF_POST_END) {
        tell(w, (rlf_report){.kind = RLF_REPORT_DONE, .rank = r, .n = post->n});
    } else if (post->kind == RLF_POST_OPEN) {
        if (r == 0)
            tell(w, (rlf_report){.kind = RLF_REPORT_OPENED,
                                 .n = post->n,
                                 .n_rows = SAMPLES,
                                 .lengths = w->lengths ? w->iota : NULL,
                                 .owner = w->owner});
    } else if (post->kind == RLF_POST_EDGE) {
        for (int i = 0; i < post->n_moves; i++) {
            const rlf_move *m = &post->moves[i];
            uint32_t n = m->rows ? m->n_rows : 1;
            for (uint32_t k = 0; k < n && m->to == r; k++) {
                bool *have =
                    &me->have[post->instance][m->rows ? m->rows[k] : k];
                if (*have)
                    w->wrong = "what is there already is sent";
                *have = true;
            }
            for (uint32_t k = 0; k < n && m->from == r; k++)
                if (!me->have[post->instance][m->rows ? m->rows[k] : k])
                    w->wrong = "what is not there is sent";
        }
    } else if (share) {
        check_inputs(w, r, post, share);
        check_weights(w, r, post);
        if (node_of(w, post->instance)->class->sampled)
            open_for(w, r, post, share);
        else
            compute(w, r, post, share);
    }
}

/* One quantum of the open generation is over; samples become complete. */
static void
quantum(world *w, int r)
{
    rank *me = &w->ranks[r];
    open_generation *g = &me->generation;
    me->in_quantum = false;
    g->quanta++;
    if (version_at(w, r, node_of(w, g->instance)) != g->version)
        w->wrong = "weights change while a generation reads them";
    if (g->quanta % g->pace)
        return;
    int row = 0;
    while (!g->row[row])
        row++;
    g->row[row] = false;
    if (g->share->reports && w->computed[g->instance][row])
        w->wrong = "a sample is made twice";
    w->computed[g->instance][row] |= g->share->reports;
    me->have[g->instance][row] = true;
    if (g->share->reports)
        tell(w, (rlf_report){.kind = RLF_REPORT_ROWS,
                             .rank = r,
                             .n = g->n,
                             .rows = &w->iota[row],
                             .lengths = w->lengths ? &w->length[row] : NULL,
                             .seats = w->seats,
                             .n_rows = 1});
    g->active = false;
    for (int i = 0; i < SAMPLES; i++)
        g->active |= g->row[i];
}

/* All members of its replica are in the same quantum, or past it. */
static bool
quantum_over(const world *w, int r)
{
    const open_generation *g = &w->ranks[r].generation;
    for (int i = 0; i < g->post->n_shares; i++) {
        const rank *o = &w->ranks[g->post->shares[i].rank];
        const open_generation *og = &o->generation;
        if (g->post->shares[i].rows != g->share->rows || og->n > g->n)
            continue;
        if (!og->share || og->n < g->n || og->quanta < g->quanta ||
            (og->quanta == g->quanta && !o->in_quantum))
            return false;
    }
    return true;
}

static const rlf_post *
next_mail(const rank *me)
{
    return me->taken < me->delivered ? me->mail.data[me->taken] : NULL;
}

static void
take(rank *me)
{
    me->now = me->mail.data[me->taken++];
}

static headers *
headers_of(world *w, uint64_t n, int leader)
{
    for (size_t i = w->headers.count; i-- > 0;)
        if (w->headers.data[i].n == n && w->headers.data[i].leader == leader)
            return &w->headers.data[i];
    headers fresh = {.n = n, .leader = leader};
    RLF_PUSH(&w->headers, fresh);
    return &w->headers.data[w->headers.count - 1];
}

/* A free rank with an open generation: the leader decides for its replica. */
static bool
between_quanta(world *w, int r)
{
    rank *me = &w->ranks[r];
    open_generation *g = &me->generation;
    if (!w->rule || g->size == 1) { /* each looks into its own mailbox */
        if (next_mail(me))
            take(me);
        else
            me->in_quantum = true;
        return true;
    }
    headers *h = headers_of(w, g->n, g->leader);
    if (r == g->leader && me->read == h->count)
        RLF_PUSH(h, next_mail(me));
    if (me->read == h->count)
        return false;
    const rlf_post *say = h->data[me->read];
    if (say && next_mail(me) != say)
        return false; /* on its way */
    me->read++;
    if (say)
        take(me);
    else
        me->in_quantum = true;
    return true;
}

/* One thing happens on rank r; false if nothing can. */
static bool
act(world *w, int r)
{
    rank *me = &w->ranks[r];
    if (me->delivered < me->mail.count && roll_die(w->chance, 3) == 0) {
        me->delivered++;
        return true;
    }
    if (me->now) {
        if (!can_finish(w, r))
            return false;
        finish(w, r);
        return true;
    }
    if (me->in_quantum) {
        if (!quantum_over(w, r))
            return false;
        quantum(w, r);
        return true;
    }
    if (me->generation.active)
        return between_quanta(w, r);
    if (!next_mail(me))
        return false;
    take(me);
    return true;
}

/* Behind a joint RUN stands one of its party, of the same turn and ranks. */
static void
check_joint(world *w, const rlf_post *post)
{
    const rlf_post *first = w->joint;
    w->joint = post->joint ? post : NULL;
    w->n_joint += post->joint;
    if (!first)
        return;
    const rlf_order *order = rlf_control_order(w->control);
    const rlf_instance *a = rlf_order_instance(order, first->instance);
    bool good = post->kind == RLF_POST_RUN && !post->joint &&
                post->n_shares == first->n_shares;
    const rlf_instance *b =
        good ? rlf_order_instance(order, post->instance) : a;
    good &=
        w->plan->place[a->node->id].lead &&
        w->plan->place[a->node->id].lead == w->plan->place[b->node->id].lead &&
        a->node != b->node && a->iteration == b->iteration;
    for (int i = 0; i < first->n_shares && good; i++)
        good = share_of(post, first->shares[i].rank) != NULL;
    if (!good)
        w->wrong = "a joint RUN stands alone";
}

static bool
makes_ahead(const world *w)
{
    for (int r = 0; r < w->plan->ranks; r++) {
        const open_generation *g = &w->ranks[r].generation;
        if (g->active && is_ahead(w->p, node_of(w, g->instance)))
            return true;
    }
    return false;
}

static void
post_some(world *w)
{
    for (;;) {
        const rlf_post *post = rlf_control_next(w->control);
        if (post->kind == RLF_POST_WAIT)
            return;
        if (post->instance >= MOST_INSTANCES) {
            w->wrong = "more instances than the model has room for";
            return;
        }
        if (post->n >= MOST_POSTS) {
            w->wrong = "more posts than the model has room for";
            return;
        }
        check_joint(w, post);
        if (post->kind == RLF_POST_RUN &&
            node_of(w, post->instance)->id == w->p->updates[0]) {
            w->updates[w->n_updates++] = post->n;
            w->beside += makes_ahead(w);
        }
        for (int r = 0; r < w->plan->ranks; r++)
            if (is_for(w, post, r))
                RLF_PUSH(&w->ranks[r].mail, post);
    }
}

/* Of all trials. */
typedef struct seen {
    long went, stayed; /* rows of moves: that went, that were complete */
    long joint;        /* updates that were carried out with their partner */
    long beside;       /* updates while something was made ahead */
    long open;         /* steps that ended before that did */
} seen;

/* A step begins: what there was is forgotten, but not what is made ahead. */
static void
begin(world *w, uint64_t step)
{
    int lanes = (int)w->p->graph->ahead + 1;
    int fresh = rlf_control_begin(w->control);
    w->step = step;
    w->before[step] = w->before[step - 1] + w->n_updates;
    w->n_updates = 0;
    w->joint = NULL;
    for (int i = 0; i < fresh; i++) {
        uint64_t s = step + w->p->graph->ahead - (uint64_t)i;
        for (int k = (int)(s % (uint64_t)lanes); k < MOST_INSTANCES;
             k += lanes) {
            memset(w->computed[k], 0, sizeof w->computed[k]);
            for (int r = 0; r < MOST_RANKS; r++)
                memset(w->ranks[r].have[k], 0, sizeof w->ranks[r].have[k]);
        }
    }
    for (int r = 0; r < MOST_RANKS; r++) {
        rank *me = &w->ranks[r];
        if (me->taken < me->mail.count)
            w->wrong = "a step begins before a rank has ended the one before";
        me->mail.count = me->delivered = me->taken = 0;
    }
}

/* True if the step ended; else it hung or went wrong. */
static bool
play_step(world *w)
{
    int idle = 0;
    while (!rlf_control_ended(w->control) && !w->wrong && idle < 400) {
        uint32_t who = roll_die(w->chance, (uint32_t)w->plan->ranks + 1);
        bool moved = false;
        if (who < (uint32_t)w->plan->ranks) {
            moved = act(w, (int)who);
        } else if (w->reports.count) {
            rlf_report first = w->reports.data[0];
            memmove(w->reports.data, w->reports.data + 1,
                    --w->reports.count * sizeof first);
            rlf_control_tell(w->control, &first);
            moved = true;
        } else {
            post_some(w);
        }
        idle = moved ? 0 : idle + 1;
    }
    return rlf_control_ended(w->control);
}

/* Between two steps: what is made ahead comes to its end. */
static bool
settle(world *w)
{
    rlf_control_settle(w->control);
    bool ended = play_step(w);
    if (makes_ahead(w))
        w->wrong = "something is open in a run that has settled";
    return ended && !w->wrong;
}

/* True if all steps ended; else one hung or went wrong. */
static bool
trial(const program *p, uint64_t seed, bool rule, seen *out)
{
    chance c = {.key = {.seed = seed, .purpose = RLF_PURPOSE_SHUFFLE}};
    rlf_arena *arena = rlf_arena_new();
    world *w = RLF_NEW(arena, world);
    rlf_plan plan = any_plan(&c, p, arena);
    *w = (world){.p = p,
                 .plan = &plan,
                 .chance = &c,
                 .rule = rule,
                 .control = rlf_control_new(
                     &plan, (rlf_policy){.piece = roll_die(&c, 3)})};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        w->owner[i] = i / EACH;
        w->iota[i] = i;
        w->length[i] = roll_die(&c, 9);
    }
    memset(w->carried, 0xff, sizeof w->carried); /* -1 */
    w->lengths = roll_die(&c, 4);
    w->seats = roll_die(&c, 4);
    bool ended = true;
    for (uint64_t s = 1; ended && s <= (p->graph->ahead ? STEPS : 1); s++) {
        begin(w, s);
        ended = play_step(w);
        w->open += makes_ahead(w);
        if (ended && roll_die(&c, 4) == 0)
            ended = settle(w);
    }
    if (w->wrong && rule)
        note("seed %llu: %s", (unsigned long long)seed, w->wrong);
    out->went += w->n_went;
    out->stayed += w->n_stayed;
    out->joint += w->n_joint;
    out->beside += w->beside;
    out->open += w->open;
    rlf_control_free(w->control);
    RLF_VEC_FREE(&w->reports);
    for (size_t i = 0; i < w->headers.count; i++)
        RLF_VEC_FREE(&w->headers.data[i]);
    RLF_VEC_FREE(&w->headers);
    for (int r = 0; r < MOST_RANKS; r++) {
        RLF_VEC_FREE(&w->ranks[r].mail);
    }
    ended &= !w->wrong;
    rlf_arena_free(arena);
    return ended;
}

int
main(void)
{
    plan(4 + 2 * MOST_AHEAD);
    const char *more = getenv("RLFLOW_TEST_SCHEDULES");
    int n = more ? atoi(more) : getenv("RLFLOW_TEST_QUICK") ? 4000 : 100000;
    int hung = 0, without = 0;
    seen all = {0}, others = {0};
    program p = make(0, true);
    for (int i = 0; i < n; i++) {
        bool ended = trial(&p, (uint64_t)i, true, &all);
        if (!ended && hung++ < 5)
            note("seed %d did not end", i);
    }
    ok(hung == 0, "%d random schedules: complete, nothing twice, no hang", n);
    ok(all.went > n / 10 && all.stayed > n / 10,
       "samples went from replica to replica (%ld; %ld were complete before)",
       all.went, all.stayed);
    ok(all.joint > n / 10, "%ld updates were carried out with their partner",
       all.joint);
    for (int i = 0; i < 1000; i++)
        without += !trial(&p, (uint64_t)i, false, &others);
    ok(without > 0, "without the rule of the open replica %d of 1000 hang",
       without);
    rlf_arena_free(p.arena);
    for (uint32_t ahead = 1; ahead <= MOST_AHEAD; ahead++) {
        program both[] = {make(ahead, true), make(ahead, false)};
        hung = 0;
        all.beside = all.open = 0;
        for (int i = 0; i < n / 10; i++) {
            bool ended = trial(&both[i % 2], (uint64_t)i, true, &all);
            if (!ended && hung++ < 5)
                note("seed %d did not end", i);
        }
        ok(hung == 0 && all.beside > n / 10,
           "%u ahead, %d random schedules of %d steps: the same, and %ld "
           "updates ran beside what is made ahead",
           ahead, n / 10, STEPS, all.beside);
        ok(ahead > 1 ? all.open > n / 200 : !all.open,
           "%ld steps ended while something was made ahead", all.open);
        rlf_arena_free(both[0].arena);
        rlf_arena_free(both[1].arena);
    }
    return done();
}
