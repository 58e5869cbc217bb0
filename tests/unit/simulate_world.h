/* What ranks on a virtual clock have in a random world: sets of rows, versions
 * of weights, and delays; and what each of them checks of every post that it
 * carries out. */
#ifndef RLF_TEST_SIMULATE_WORLD_H
#define RLF_TEST_SIMULATE_WORLD_H

#include "engine/simulate/ranks.h"
#include "tests/unit/order_program.h"

typedef struct rank {
    const rlf_post *now; /* at work on it, or waiting for others */
    bool past[MOST_POSTS];
    bool have[MOST_INSTANCES][SAMPLES];
    int began_with; /* version of the weights that its generation began with */
    /* how many updates each hold of a model has seen */
    int version[MODELS][MOST_HOLDS];
} rank;

typedef struct world {
    const program *p;
    const rlf_plan *plan;
    rlf_control *control;
    rlf_ranks *all;
    chance *chance;
    rank ranks[MOST_RANKS];
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
    int idle_parts;          /* parts of ranks that are told and do nothing */
    bool gone[MOST_POSTS][SAMPLES]; /* by a MOVE, on its way */
    int n_went, n_stayed; /* rows of moves: that went, that were complete */
    const char *wrong;
    uint32_t owner[SAMPLES];
    uint32_t iota[SAMPLES];
    uint32_t length[SAMPLES];
    uint32_t seats; /* of a replica; 0: all */
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
        post->kind == RLF_POST_MOVE)
        return takes_part(w, post, r) || post->everyone;
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
        if (node_of(w, from)->class == &logprobs)
            continue; /* what is never stored need not be there */
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
    if (node->receiver != w->p->actor || node->class == &logprobs)
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
}

/* ---- posts ---- */

static void
move_rows(world *w, int r, const rlf_post *post)
{
    for (int i = 0; i < post->n_moves; i++) {
        const rlf_move *m = &post->moves[i];
        uint32_t n = m->rows ? m->n_rows : 1;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t row = m->rows ? m->rows[k] : k;
            bool *have = &w->ranks[r].have[post->instance][row];
            if (m->to == r && *have)
                w->wrong = "what is there already is sent";
            if (m->from == r && !*have)
                w->wrong = "what is not there is sent";
            if (m->to == r && !w->ranks[m->from].past[post->n] &&
                w->ranks[m->from].now != post)
                w->wrong = "a message comes before it is sent";
            *have |= m->to == r;
        }
    }
}

static bool
has_come(const world *w, int r, const rlf_post *post)
{
    return w->ranks[r].now == post || w->ranks[r].past[post->n];
}

/* What is carried out together has all who do it. */
static void
check_meeting(world *w, int r, const rlf_post *post)
{
    const rlf_share *share = share_of(post, r);
    bool update_here = post->kind == RLF_POST_RUN && !post->joint && share &&
                       node_of(w, post->instance)->class == &update;
    for (int i = 0; i < post->n_shares && share; i++) {
        const rlf_share *s = &post->shares[i];
        bool together = update_here || (share->rows && s->rows == share->rows);
        if (together && !node_of(w, post->instance)->class->sampled &&
            !has_come(w, s->rank, post))
            w->wrong = "a rank does not wait for those it works with";
    }
    for (int s = 0; s < w->plan->ranks; s++)
        if (post->kind == RLF_POST_WEIGHTS && takes_part(w, post, r) &&
            takes_part(w, post, s) && !has_come(w, s, post))
            w->wrong = "weights move before all are there";
}

static void
finish(world *w, int r, const rlf_post *post)
{
    rank *me = &w->ranks[r];
    const rlf_share *share = share_of(post, r);
    if (me->now != post)
        w->wrong = "a rank finishes what it does not do";
    check_meeting(w, r, post);
    if (post->kind == RLF_POST_WEIGHTS && takes_part(w, post, r))
        move_weights(w, r, post);
    if (post->kind == RLF_POST_EDGE)
        move_rows(w, r, post);
    me->now = NULL;
    me->past[post->n] = true;
    if (!share)
        return;
    check_inputs(w, r, post, share);
    check_weights(w, r, post);
    if (node_of(w, post->instance)->class->sampled)
        me->began_with = version_at(w, r, node_of(w, post->instance));
    else
        compute(w, r, post, share);
}

/* ---- samples ---- */

static void
made(world *w, int r, const rlf_post *post, uint32_t row)
{
    const rlf_share *share = share_of(post, r);
    if (share->reports && w->computed[post->instance][row])
        w->wrong = "a sample is made twice";
    w->computed[post->instance][row] |= share->reports;
    w->ranks[r].have[post->instance][row] = true;
}

static void
check_turns(world *w, int r, const rlf_post *post)
{
    if (w->ranks[r].now)
        w->wrong = "a rank samples while it does something else";
    if (version_at(w, r, node_of(w, post->instance)) != w->ranks[r].began_with)
        w->wrong = "weights change while a generation reads them";
}

static void
see(void *self, const rlf_seen *seen)
{
    world *w = self;
    const rlf_post *post = seen->post;
    if (seen->kind != RLF_SEEN_TURNS && rlf_control_stands(w->control))
        w->wrong = "the controller waits for nothing";
    switch (seen->kind) {
    case RLF_SEEN_COME:
        if (w->ranks[seen->rank].now)
            w->wrong = "a rank does two things at once";
        w->ranks[seen->rank].now = post;
        break;
    case RLF_SEEN_DONE:
        finish(w, seen->rank, post);
        break;
    case RLF_SEEN_TURNS:
        check_turns(w, seen->rank, post);
        break;
    case RLF_SEEN_MADE:
        made(w, seen->rank, post, seen->row);
        break;
    case RLF_SEEN_GIVEN:
        w->gone[post->n][seen->row] = true;
        w->n_went++;
        w->n_stayed--;
        break;
    case RLF_SEEN_TAKEN:
        if (!w->gone[post->n][seen->row])
            w->wrong = "a sample comes from nowhere";
        w->gone[post->n][seen->row] = false;
        break;
    }
}

/* ---- delays ---- */

/* Often none, so that much happens at once; seldom long. */
static double
delay(world *w)
{
    uint32_t die = roll_die(w->chance, 16);
    return die < 6 ? 0 : die < 15 ? die : 60;
}

static double
any_work(void *self, const rlf_work *work)
{
    (void)work;
    return delay(self);
}

static double
any_turn(void *self, const rlf_turn *turn)
{
    (void)turn;
    return delay(self);
}

static double
any_mail(void *self, int r)
{
    (void)r;
    return delay(self);
}

static rlf_length
any_length(void *self, const rlf_post *post, uint32_t row)
{
    world *w = self;
    (void)post;
    return (rlf_length){.prompt = 1,
                        .response = 1 + roll_die(w->chance, MOST_PACE * 3),
                        .group = row / EACH};
}

static uint32_t
seats(void *self, const rlf_node *node)
{
    (void)node;
    return ((world *)self)->seats;
}

static rlf_report
answer(void *self, const rlf_post *post, int r)
{
    world *w = self;
    bool first = post->kind == RLF_POST_RUN &&
                 node_of(w, post->instance)->class == &loop;
    if (post->kind != RLF_POST_OPEN)
        return (rlf_report){.kind = RLF_REPORT_DONE,
                            .rank = r,
                            .count = first ? TURNS : 0,
                            .branch = -1};
    return (rlf_report){.kind = RLF_REPORT_OPENED,
                        .n_rows = SAMPLES,
                        .lengths = w->iota,
                        .owner = w->owner};
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

/* The moves between two ranks that one of them is told of, in its order. */
static int
moves_with(const rlf_duty *part, int from, int to, const rlf_move **list)
{
    int n = 0;
    for (int i = 0; i < part->n_moves; i++)
        if (part->moves[i].from == from && part->moves[i].to == to)
            list[n++] = &part->moves[i];
    return n;
}

/* What one sends the other gets: the same rows, in the same order. */
static bool
sides_agree(const rlf_post *post, const rlf_duty *parts, int from, int to)
{
    const rlf_move *sent[MOST_RANKS * SAMPLES], *got[MOST_RANKS * SAMPLES];
    int n = moves_with(&parts[from], from, to, sent), all = 0;
    bool good = n == moves_with(&parts[to], from, to, got);
    for (int i = 0; i < n && good; i++)
        good =
            sent[i]->n_rows == got[i]->n_rows && sent[i]->rows == got[i]->rows;
    for (int i = 0; i < post->n_moves; i++)
        all += post->moves[i].from == from && post->moves[i].to == to;
    return good && n == all;
}

/* The ranks' parts in a post are the post: who has one, every message at both
 * of its ends and nowhere else, and of those who compute the same rows one
 * reports. */
static void
check_parts(world *w, const rlf_post *post, const rlf_duty *duties)
{
    rlf_duty parts[MOST_RANKS];
    rlf_arena *arena = rlf_arena_new();
    int moves = 0, shares = 0, reports[SAMPLES] = {0};
    bool good = true, rows = false;
    for (int r = 0; r < w->plan->ranks; r++) {
        bool told = rlf_post_part(w->control, post, r, arena, &parts[r]);
        const rlf_share *share = parts[r].share;
        good &= told == is_for(w, post, r) && (told || !parts[r].works);
        good &= duties[r].works == parts[r].works &&
                duties[r].share == parts[r].share &&
                duties[r].n_moves == parts[r].n_moves;
        for (int i = 0; i < parts[r].n_moves && good; i++)
            good = duties[r].moves[i].from == parts[r].moves[i].from &&
                   duties[r].moves[i].rows == parts[r].moves[i].rows;
        moves += parts[r].n_moves;
        shares += share != NULL;
        rows |= share && share->rows;
        good &= !share || share->rank == r;
        for (uint32_t k = 0; share && share->reports && k < share->n_rows; k++)
            reports[share->rows[k]]++;
        w->idle_parts += told && !parts[r].works;
    }
    good &= moves == 2 * post->n_moves && shares == post->n_shares;
    for (int a = 0; a < w->plan->ranks; a++)
        for (int b = 0; b < w->plan->ranks; b++)
            good &= sides_agree(post, parts, a, b);
    for (int i = 0; i < post->n_shares && rows; i++)
        for (uint32_t k = 0; k < post->shares[i].n_rows; k++)
            good &= reports[post->shares[i].rows[k]] == 1;
    if (!good)
        w->wrong = "the ranks' parts in a post do not agree";
    rlf_arena_free(arena);
}

static bool
makes_ahead(const world *w)
{
    for (int r = 0; r < w->plan->ranks; r++) {
        const rlf_post *post = rlf_ranks_generation(w->all, r);
        if (post && is_ahead(w->p, node_of(w, post->instance)))
            return true;
    }
    return false;
}

static void
posted(void *self, const rlf_post *post, const rlf_duty *duties)
{
    world *w = self;
    if (post->instance >= MOST_INSTANCES || post->n >= MOST_POSTS)
        bail("more instances or posts than the model has room for");
    check_joint(w, post);
    check_parts(w, post, duties);
    for (int i = 0; i < post->n_moves && post->kind == RLF_POST_MOVE; i++)
        if (i == 0 || post->moves[i].rows != post->moves[i - 1].rows)
            w->n_stayed += (int)post->moves[i].n_rows;
    if (post->kind == RLF_POST_RUN &&
        node_of(w, post->instance)->id == w->p->updates[0]) {
        w->updates[w->n_updates++] = post->n;
        w->beside += makes_ahead(w);
    }
}

#endif
