/* A random world of ranks on a virtual clock: their sets of rows, versions of
 * weights, and delays; and the checks that each of them makes of every command
 * that it carries out. */
#ifndef RLF_TEST_SIMULATE_WORLD_H
#define RLF_TEST_SIMULATE_WORLD_H

#include "engine/simulate/ranks_state.h"
#include "tests/unit/order_program.h"

typedef struct rank {
    const rlf_rank_command *now; /* at work on it, or waiting for others */
    bool past[MOST_POSTS];
    bool have[MOST_INSTANCES][SAMPLES];
    int began_with; /* version of the weights that its generation began with */
    /* Updates that each copy of a model has seen. */
    int version[MODELS][MOST_COPIES];
} rank;

typedef struct world {
    const program *p;
    const rlf_plan *plan;
    rlf_control *control;
    rlf_ranks *all;
    chance *chance;
    rank ranks[MOST_RANKS];
    bool computed[MOST_INSTANCES][SAMPLES];
    uint64_t updates[MOST_INSTANCES]; /* the actor's: their commands */
    int n_updates;
    const rlf_rank_command *joint; /* the command before, if it was so */
    int n_joint;
    uint64_t step;
    int before[STEPS + 1];   /* updates before each step */
    int beside;              /* updates posted while something is made ahead */
    int open;                /* steps that end while something is */
    int carried[MOST_POSTS]; /* version that sources of a WEIGHTS had; -1 */
    int idle_parts;          /* parts of ranks that are told and do nothing */
    bool gone[MOST_POSTS][SAMPLES]; /* samples that a MOVE has under way */
    int n_went, n_stayed; /* rows of moves: that went, that were complete */
    const char *wrong;
    uint32_t owner[SAMPLES];
    uint32_t iota[SAMPLES];
    uint32_t length[SAMPLES];
    uint32_t seats; /* seats of a replica; 0: for all samples */
} world;

static const rlf_node *
node_of(const world *w, int instance)
{
    return rlf_order_instance(rlf_control_order(w->control), instance)->node;
}

static const rlf_share *
share_of(const rlf_rank_command *command, int r)
{
    for (int i = 0; i < command->n_shares; i++)
        if (command->shares[i].rank == r)
            return &command->shares[i];
    return NULL;
}

static bool
in_copy(const world *w, int model, int copy, int r)
{
    const rlf_weight_copy *h = &w->plan->copies[model].list[copy];
    return rlf_layout_find(&h->mesh.layout, r).tp >= 0;
}

static bool
takes_part(const world *w, const rlf_rank_command *command, int r)
{
    if (command->kind == RLF_DO_WEIGHTS)
        return in_copy(w, command->model, command->from, r) ||
               in_copy(w, command->model, command->copy, r);
    if (command->kind != RLF_DO_EDGE && command->kind != RLF_DO_MOVE)
        return true;
    for (int i = 0; i < command->n_moves; i++)
        if (command->moves[i].from == r || command->moves[i].to == r)
            return true;
    return false;
}

static bool
is_for(const world *w, const rlf_rank_command *command, int r)
{
    if (command->kind == RLF_DO_EDGE || command->kind == RLF_DO_WEIGHTS ||
        command->kind == RLF_DO_MOVE)
        return takes_part(w, command, r) || command->everyone;
    return command->everyone || command->kind == RLF_DO_END ||
           command->kind == RLF_DO_OPEN || share_of(command, r);
}

static uint32_t
rows_of(const world *w, int instance)
{
    return node_of(w, instance)->rows >= 0 ? SAMPLES : 1;
}

/* Has the rank what this instance is made of, for the rows of its share? */
static void
check_inputs(world *w, int r, const rlf_rank_command *command,
             const rlf_share *share)
{
    const rlf_instance *in =
        rlf_order_instance(rlf_control_order(w->control), command->instance);
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
    return w->ranks[r].version[model][w->plan->place[node->id].copy[model]];
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
check_weights(world *w, int r, const rlf_rank_command *command)
{
    const rlf_node *node = node_of(w, command->instance);
    if (node->receiver != w->p->actor || node->class == &logprobs)
        return;
    uint64_t step = w->step;
    if (is_ahead(w->p, node)) {
        uint64_t of = step_of(w, command->instance), lag = w->p->graph->ahead;
        step = of > lag ? of - lag : 1;
    }
    int before = w->before[step];
    for (int i = 0; i < w->n_updates && !is_ahead(w->p, node); i++)
        before += w->updates[i] < command->n;
    if (version_at(w, r, node) != before)
        w->wrong = "a call reads weights that are not the newest";
}

/* Moves the newest weights from one copy to another, as the ranks of the first
 * have them now or had them before. */
static void
move_weights(world *w, int r, const rlf_rank_command *command)
{
    int *carried = &w->carried[command->n];
    for (int s = 0; s < w->plan->ranks; s++)
        if (in_copy(w, command->model, command->from, s) &&
            w->ranks[s].now == command)
            *carried = w->ranks[s].version[command->model][command->from];
    if (in_copy(w, command->model, command->from, r))
        *carried = w->ranks[r].version[command->model][command->from];
    if (*carried < 0)
        w->wrong = "weights come from nowhere";
    if (in_copy(w, command->model, command->copy, r))
        w->ranks[r].version[command->model][command->copy] = *carried;
}

static void
compute(world *w, int r, const rlf_rank_command *command,
        const rlf_share *share)
{
    uint32_t n = share->rows ? share->n_rows : rows_of(w, command->instance);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t row = share->rows ? share->rows[k] : k;
        if (share->reports && w->computed[command->instance][row])
            w->wrong = "a row is computed twice";
        w->computed[command->instance][row] |= share->reports;
        w->ranks[r].have[command->instance][row] = true;
    }
    const rlf_node *node = node_of(w, command->instance);
    if (node->class == &update)
        w->ranks[r].version[node->receiver][0]++;
}

/* ---- commands ---- */

static void
move_rows(world *w, int r, const rlf_rank_command *command)
{
    for (int i = 0; i < command->n_moves; i++) {
        const rlf_move *m = &command->moves[i];
        uint32_t n = m->rows ? m->n_rows : 1;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t row = m->rows ? m->rows[k] : k;
            bool *have = &w->ranks[r].have[command->instance][row];
            if (m->to == r && *have)
                w->wrong = "what is there already is sent";
            if (m->from == r && !*have)
                w->wrong = "what is not there is sent";
            if (m->to == r && !w->ranks[m->from].past[command->n] &&
                w->ranks[m->from].now != command)
                w->wrong = "a message comes before it is sent";
            *have |= m->to == r;
        }
    }
}

static bool
has_come(const world *w, int r, const rlf_rank_command *command)
{
    return w->ranks[r].now == command || w->ranks[r].past[command->n];
}

/* Checks that a command which ranks carry out together is begun by all of
 * them. */
static void
check_meeting(world *w, int r, const rlf_rank_command *command)
{
    const rlf_share *share = share_of(command, r);
    bool update_here = command->kind == RLF_DO_RUN && !command->joint &&
                       share && node_of(w, command->instance)->class == &update;
    for (int i = 0; i < command->n_shares && share; i++) {
        const rlf_share *s = &command->shares[i];
        bool together = update_here || (share->rows && s->rows == share->rows);
        if (together &&
            node_of(w, command->instance)->class->work != RLF_WORK_GENERATE &&
            !has_come(w, s->rank, command))
            w->wrong = "a rank does not wait for those it works with";
    }
    for (int s = 0; s < w->plan->ranks; s++)
        if (command->kind == RLF_DO_WEIGHTS && takes_part(w, command, r) &&
            takes_part(w, command, s) && !has_come(w, s, command))
            w->wrong = "weights move before all are there";
}

static void
finish(world *w, int r, const rlf_rank_command *command)
{
    rank *me = &w->ranks[r];
    const rlf_share *share = share_of(command, r);
    if (me->now != command)
        w->wrong = "a rank finishes what it does not do";
    check_meeting(w, r, command);
    if (command->kind == RLF_DO_WEIGHTS && takes_part(w, command, r))
        move_weights(w, r, command);
    if (command->kind == RLF_DO_EDGE)
        move_rows(w, r, command);
    me->now = NULL;
    me->past[command->n] = true;
    if (!share)
        return;
    check_inputs(w, r, command, share);
    check_weights(w, r, command);
    if (node_of(w, command->instance)->class->work == RLF_WORK_GENERATE)
        me->began_with = version_at(w, r, node_of(w, command->instance));
    else
        compute(w, r, command, share);
}

/* ---- samples ---- */

static void
made(world *w, int r, const rlf_rank_command *command, uint32_t row)
{
    const rlf_share *share = share_of(command, r);
    if (share->reports && w->computed[command->instance][row])
        w->wrong = "a sample is made twice";
    w->computed[command->instance][row] |= share->reports;
    w->ranks[r].have[command->instance][row] = true;
}

static void
check_turns(world *w, int r, const rlf_rank_command *command)
{
    if (w->ranks[r].now)
        w->wrong = "a rank samples while it does something else";
    if (version_at(w, r, node_of(w, command->instance)) !=
        w->ranks[r].began_with)
        w->wrong = "weights change while a generation reads them";
}

static void
see(void *self, const rlf_seen *seen)
{
    world *w = self;
    const rlf_rank_command *command = seen->command;
    if (seen->kind != RLF_SEEN_TURNS && rlf_control_stands(w->control))
        w->wrong = "the controller waits for nothing";
    switch (seen->kind) {
    case RLF_SEEN_COME:
        if (w->ranks[seen->rank].now)
            w->wrong = "a rank does two things at once";
        w->ranks[seen->rank].now = command;
        break;
    case RLF_SEEN_DONE:
        finish(w, seen->rank, command);
        break;
    case RLF_SEEN_TURNS:
        check_turns(w, seen->rank, command);
        break;
    case RLF_SEEN_MADE:
        made(w, seen->rank, command, seen->row);
        break;
    case RLF_SEEN_GIVEN:
        w->gone[command->n][seen->row] = true;
        w->n_went++;
        w->n_stayed--;
        break;
    case RLF_SEEN_TAKEN:
        if (!w->gone[command->n][seen->row])
            w->wrong = "a sample comes from nowhere";
        w->gone[command->n][seen->row] = false;
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
any_work(void *self, const rlf_rank_task *task)
{
    (void)task;
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
any_length(void *self, const rlf_rank_command *command, uint32_t row)
{
    world *w = self;
    (void)command;
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

static rlf_rank_event
answer(void *self, const rlf_rank_command *command, int r)
{
    world *w = self;
    bool first = command->kind == RLF_DO_RUN &&
                 node_of(w, command->instance)->class == &loop;
    if (command->kind != RLF_DO_OPEN)
        return (rlf_rank_event){.kind = command->kind == RLF_DO_END
                                            ? RLF_EVENT_ENDED
                                            : RLF_EVENT_DONE,
                                .rank = r,
                                .count = first ? TURNS : 0,
                                .branch = -1};
    return (rlf_rank_event){.kind = RLF_EVENT_OPENED,
                            .n_rows = SAMPLES,
                            .lengths = w->iota,
                            .owner = w->owner};
}

/* Checks that behind a joint RUN stands another one of its fused pipeline, of
 * the same turn and ranks. */
static void
check_joint(world *w, const rlf_rank_command *command)
{
    const rlf_rank_command *first = w->joint;
    w->joint = command->joint ? command : NULL;
    w->n_joint += command->joint;
    if (!first)
        return;
    const rlf_order *order = rlf_control_order(w->control);
    const rlf_instance *a = rlf_order_instance(order, first->instance);
    bool good = command->kind == RLF_DO_RUN && !command->joint &&
                command->n_shares == first->n_shares;
    const rlf_instance *b =
        good ? rlf_order_instance(order, command->instance) : a;
    good &=
        w->plan->place[a->node->id].lead &&
        w->plan->place[a->node->id].lead == w->plan->place[b->node->id].lead &&
        a->node != b->node && a->iteration == b->iteration;
    for (int i = 0; i < first->n_shares && good; i++)
        good = share_of(command, first->shares[i].rank) != NULL;
    if (!good)
        w->wrong = "a joint RUN stands alone";
}

/* The moves between two ranks that one of them is told of, in its order. */
static int
moves_with(const rlf_rank_part *part, int from, int to, const rlf_move **list)
{
    int n = 0;
    for (int i = 0; i < part->n_moves; i++)
        if (part->moves[i].from == from && part->moves[i].to == to)
            list[n++] = &part->moves[i];
    return n;
}

/* Do both sides have the same messages, with the same rows in the same
 * order? */
static bool
sides_agree(const rlf_rank_command *command, const rlf_rank_part *parts,
            int from, int to)
{
    const rlf_move *sent[MOST_RANKS * SAMPLES], *got[MOST_RANKS * SAMPLES];
    int n = moves_with(&parts[from], from, to, sent), all = 0;
    bool good = n == moves_with(&parts[to], from, to, got);
    for (int i = 0; i < n && good; i++)
        good =
            sent[i]->n_rows == got[i]->n_rows && sent[i]->rows == got[i]->rows;
    for (int i = 0; i < command->n_moves; i++)
        all += command->moves[i].from == from && command->moves[i].to == to;
    return good && n == all;
}

/* The ranks' parts in a command are the command: who has one, every message at
 * both of its ends and nowhere else, and of those who compute the same rows one
 * reports. */
static void
check_parts(world *w, const rlf_rank_command *command, const rlf_rank_part *all)
{
    rlf_rank_part parts[MOST_RANKS];
    rlf_arena *arena = rlf_arena_new();
    int moves = 0, shares = 0, reports[SAMPLES] = {0};
    bool good = true, rows = false;
    for (int r = 0; r < w->plan->ranks; r++) {
        bool told = rlf_rank_part_of(w->control, command, r, arena, &parts[r]);
        const rlf_share *share = parts[r].share;
        good &= told == is_for(w, command, r) && (told || !parts[r].works);
        good &= all[r].works == parts[r].works &&
                all[r].share == parts[r].share &&
                all[r].n_moves == parts[r].n_moves;
        for (int i = 0; i < parts[r].n_moves && good; i++)
            good = all[r].moves[i].from == parts[r].moves[i].from &&
                   all[r].moves[i].rows == parts[r].moves[i].rows;
        moves += parts[r].n_moves;
        shares += share != NULL;
        rows |= share && share->rows;
        good &= !share || share->rank == r;
        for (uint32_t k = 0; share && share->reports && k < share->n_rows; k++)
            reports[share->rows[k]]++;
        w->idle_parts += told && !parts[r].works;
    }
    good &= moves == 2 * command->n_moves && shares == command->n_shares;
    for (int a = 0; a < w->plan->ranks; a++)
        for (int b = 0; b < w->plan->ranks; b++)
            good &= sides_agree(command, parts, a, b);
    for (int i = 0; i < command->n_shares && rows; i++)
        for (uint32_t k = 0; k < command->shares[i].n_rows; k++)
            good &= reports[command->shares[i].rows[k]] == 1;
    if (!good)
        w->wrong = "the ranks' parts in a command do not agree";
    rlf_arena_free(arena);
}

/* The command of the generation that is open on a rank, or NULL. */
static const rlf_rank_command *
generation_of(const rlf_ranks *r, int i)
{
    const rank_state *of = &r->list[i];
    return of->open ? of->of->progress->command : NULL;
}

static bool
makes_ahead(const world *w)
{
    for (int r = 0; r < w->plan->ranks; r++) {
        const rlf_rank_command *command = generation_of(w->all, r);
        if (command && is_ahead(w->p, node_of(w, command->instance)))
            return true;
    }
    return false;
}

static void
posted(void *self, const rlf_rank_command *command, const rlf_rank_part *parts)
{
    world *w = self;
    if (command->instance >= MOST_INSTANCES || command->n >= MOST_POSTS)
        bail("more instances or commands than the model has room for");
    check_joint(w, command);
    check_parts(w, command, parts);
    for (int i = 0; i < command->n_moves && command->kind == RLF_DO_MOVE; i++)
        if (i == 0 || command->moves[i].rows != command->moves[i - 1].rows)
            w->n_stayed += (int)command->moves[i].n_rows;
    if (command->kind == RLF_DO_RUN &&
        node_of(w, command->instance)->id == w->p->updates[0]) {
        w->updates[w->n_updates++] = command->n;
        w->beside += makes_ahead(w);
    }
}

#endif
