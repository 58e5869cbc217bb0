/* Ranks that are nothing but a mailbox, a set of rows and random delays, and
 * what each of them checks of every command that it takes. */
#ifndef RLF_TEST_ORDER_WORLD_H
#define RLF_TEST_ORDER_WORLD_H

#include "engine/order/post.h"
#include "tests/unit/order_program.h"

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
    int idle_parts; /* parts of ranks that are told and do nothing */
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
check_parts(world *w, const rlf_post *post)
{
    rlf_duty parts[MOST_RANKS];
    rlf_arena *arena = rlf_arena_new();
    int moves = 0, shares = 0, reports[SAMPLES] = {0};
    bool good = true, rows = false;
    for (int r = 0; r < w->plan->ranks; r++) {
        bool told = rlf_post_part(w->control, post, r, arena, &parts[r]);
        const rlf_share *share = parts[r].share;
        good &= told == (post->everyone || is_for(w, post, r)) &&
                (told || !parts[r].works);
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
        check_parts(w, post);
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

#endif
