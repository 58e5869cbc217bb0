/* Moves of weights, and sums of models, in an estimate: see estimate.h. */
#include "engine/search/estimate_state.h"

enum {
    CACHE = 1 << 16, /* moves that are kept, at most */
    SMALL = 1 << 10, /* and at least */
};

/* A search of a small problem looks at few placements, and clearing what it
 * does not need takes longer than them. */
static size_t
room_for(const rlf_problem *problem)
{
    size_t n = 0, room = SMALL;
    for (int i = 0; i < problem->n_calls; i++)
        n += (size_t)problem->calls[i].n_choices;
    while (room < CACHE && room < 8 * n)
        room *= 2;
    return room;
}

void
rlf_estimate_moves_begin(rlf_estimator *e, rlf_arena *arena)
{
    e->room = room_for(e->problem);
    if (e->problem->move)
        e->cache = RLF_NEW_ARRAY(arena, cached_move, e->room);
}

static cached_move *
find_move(rlf_estimator *e, const rlf_problem_move *move)
{
    const rlf_choice *from = move->from, *to = move->to;
    uint64_t mixed = (uintptr_t)from * 0x9e3779b97f4a7c15u + (uintptr_t)to;
    mixed *= 0xbf58476d1ce4e5b9u;
    cached_move *c = &e->cache[(mixed >> 40) & (e->room - 1)];
    if (c->from != from || c->to != to || c->at_once != move->at_once)
        *c = (cached_move){from, to, move->at_once, -1, -1};
    return c;
}

static double
move_seconds(rlf_estimator *e, const rlf_problem_move *move)
{
    const rlf_problem *p = e->problem;
    cached_move *c = find_move(e, move);
    if (c->seconds < 0)
        c->seconds = p->move(p->arg, move);
    return c->seconds;
}

double
rlf_estimate_longer(rlf_estimator *e, int i)
{
    int source = e->problem->calls[i].source;
    const rlf_choice *to = e->at[i], *from = source < 0 ? NULL : e->at[source];
    if (!to || !from || !(to->messages.n > 0) || to->first != from->first ||
        to->count != from->count || !e->problem->longer)
        return 0;
    const rlf_problem_move move = {.source = source, .from = from, .to = to};
    cached_move *c = find_move(e, &move);
    if (c->longer < 0)
        c->longer =
            rlf_larger(e->problem->longer(e->problem->arg, &move), 0);
    return c->longer;
}

/* The weights that call i reads are made elsewhere, or cut in another way, and
 * no call before it has had them brought to where it reads them. */
static bool
moves(const rlf_estimator *e, int i)
{
    const rlf_problem_call *calls = e->problem->calls, *call = &calls[i];
    if (call->source < 0 || !e->at[i] || !e->at[call->source] ||
        !e->problem->move || e->at[i]->copy == e->at[call->source]->copy)
        return false;
    for (int k = 0; k < i; k++)
        if (e->at[k] && calls[k].source == call->source &&
            calls[k].age == call->age && e->at[k]->copy == e->at[i]->copy)
            return false;
    return true;
}

/* Do the weights of call i wait beside it, as they are of a later step? Where
 * steps are made further ahead, and all calls ahead of the model are on other
 * ranks than its update. */
static bool
waits(const rlf_estimator *e, int i)
{
    const rlf_problem_call *calls = e->problem->calls;
    bool all = e->oldest > 1 && calls[i].ahead;
    for (int k = 0; k < e->problem->n_calls && all; k++)
        if (calls[k].ahead && calls[k].model == calls[i].model)
            all =
                e->at[k] && !rlf_choices_meet(e->at[k], e->at[calls[i].source]);
    return all;
}

/* Adds the move before call i: calls that share a rank with it or its source
 * share one with the move. */
static void
add_move(rlf_estimator *e, int i)
{
    int n = e->problem->n_calls, source = e->problem->calls[i].source;
    uint64_t calls = (1ull << MOST) - 1;
    uint64_t with = (e->meets[i] | e->meets[source]) & calls;
    rlf_problem_move move = {
        .source = source, .from = e->at[source], .to = e->at[i]};
    double direct = move_seconds(e, &move);
    move.at_once = waits(e, i);
    e->seconds[MOST + i] = move.at_once ? move_seconds(e, &move) : direct;
    e->direct[i] = move.at_once ? rlf_smaller(direct, e->seconds[MOST + i]) : 0;
    for (int k = 0; k < n; k++) {
        if (with >> k & 1)
            rlf_estimate_meet(e, MOST + i, k);
        bool other = k <= i && e->seconds[MOST + k] > 0;
        if (other && (with >> k & 1 || with >> e->problem->calls[k].source & 1))
            rlf_estimate_meet(e, MOST + i, MOST + k);
    }
}

/* Has a copy of a model all that another layout needs of it, on its ranks and
 * in the same parts? Cut into fewer parts on the ranks `first`, where the model
 * is trained, it is regrouped (engine/plan/weight_copies.h), and has not. */
static bool
covers(const rlf_choice *whole, const rlf_choice *part, const rlf_choice *first)
{
    int size = whole->tp * whole->pp, from = part->first - whole->first;
    bool regrouped = size > 1 && whole->copy != first->copy &&
                     whole->first == first->first &&
                     whole->count == first->count &&
                     first->tp % whole->tp == 0 && first->pp % whole->pp == 0;
    return !regrouped && whole->tp == part->tp && whole->pp == part->pp &&
           from >= 0 && from + part->count <= whole->count && from % size == 0;
}

/* The call of the model of call k whose copy a sum at `at` reads, as it has all
 * that is needed there; -1: none has, and the sum has one of its own. */
static int
lending_call(const rlf_estimator *e, int k, const rlf_choice *at)
{
    const rlf_problem *p = e->problem;
    for (int i = 0; i < p->n_calls; i++)
        if (i != k && p->calls[i].model == p->calls[k].model &&
            p->calls[i].kind != RLF_STAGE_UPDATE &&
            covers(e->at[i], at, e->at[k]))
            return i;
    return -1;
}

/* When a call reads weights that call k makes, counted from there on: behind it
 * in its step, or in a later one. */
static int
turn_of(const rlf_problem *p, int k, int i)
{
    bool later = p->calls[i].ahead || i < k;
    return later ? p->n_calls + (p->calls[i].ahead ? 0 : 1 + i) : i;
}

/* The call that is the first to read the weights of call k from the copy of
 * call h. */
static int
first_reader(const rlf_estimator *e, int k, int h)
{
    const rlf_problem *p = e->problem;
    int first = h;
    for (int i = 0; i < p->n_calls; i++)
        if (p->calls[i].model == p->calls[k].model &&
            p->calls[i].kind != RLF_STAGE_UPDATE &&
            covers(e->at[h], e->at[i], e->at[k]) &&
            turn_of(p, k, i) < turn_of(p, k, first))
            first = i;
    return first;
}

/* Call i is brought nothing in that part of all steps. */
static void
spare(rlf_estimator *e, int i, double share)
{
    e->seconds[MOST + i] *= 1 - share;
    e->direct[i] *= 1 - share;
}

/* Seconds in which the weights of call k go to where the sum is made; `with`:
 * calls whose ranks wait, as bits. A copy that calls read is shared: who comes
 * first, in a step or the next, brings it what is new, all at once and in f32,
 * as a sum needs it. */
static double
lend(rlf_estimator *e, const rlf_model_sum *sum, int k, uint64_t *with)
{
    const rlf_problem *p = e->problem;
    rlf_problem_move move = {
        .source = k, .from = e->at[k], .to = e->at[sum->at], .at_once = true};
    int h = lending_call(e, k, move.to), r = h < 0 ? -1 : first_reader(e, k, h);
    if (r >= 0) {
        int after = sum->after + (sum->after < k ? p->n_calls + 1 : 0);
        move.to = e->at[h];
        if (e->seconds[MOST + r] > 0)
            e->seconds[MOST + r] = move_seconds(e, &move);
        e->direct[r] = 0;
        if (turn_of(p, k, r) <= after)
            return 0;
        spare(e, r, sum->share);
    }
    double seconds = move_seconds(e, &move);
    if (seconds > 0)
        *with |= e->meets[k] | (h < 0 ? 0 : e->meets[h]);
    return seconds;
}

/* A model that nobody changes goes nowhere. */
static bool
is_changed(const rlf_problem_call *call)
{
    return call->kind == RLF_STAGE_UPDATE || call->source >= 0;
}

/* Terms of other models go to where the sum is made, one after another. As long
 * as a placement is not known they may share what calls read, which are then
 * brought nothing more. */
static void
look_at_sum(rlf_estimator *e, int j)
{
    const rlf_problem *p = e->problem;
    const rlf_model_sum *sum = &p->model_sums[j];
    const rlf_choice *at = e->at[sum->at];
    uint64_t with = e->meets[sum->at];
    double seconds = at ? at->model_sum : 0;
    for (uint64_t of = p->move ? sum->lent : 0; of; of &= of - 1) {
        int k = __builtin_ctzll(of);
        if (!is_changed(&p->calls[k]))
            continue;
        if (e->known)
            seconds += lend(e, sum, k, &with);
        for (int i = 0; i < p->n_calls && !e->known; i++)
            if (p->calls[i].model == p->calls[k].model)
                spare(e, i, sum->share);
    }
    e->sum_seconds[j] = sum->share * seconds;
    e->sum_meets[j] = with;
    for (int k = 0; k < p->n_calls; k++)
        if (e->seconds[MOST + k] > 0 &&
            (with >> k & 1 || with >> p->calls[k].source & 1))
            e->sum_meets[j] |= 1ull << (MOST + k);
}

void
rlf_estimate_moves_look(rlf_estimator *e)
{
    for (int i = 0; i < e->problem->n_calls; i++)
        if (moves(e, i))
            add_move(e, i);
    for (int j = 0; j < e->problem->n_model_sums; j++)
        look_at_sum(e, j);
}
