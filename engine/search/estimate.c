/* The estimate of a placement: see estimate.h.
 *
 * Operations are the runs of calls and the moves of weights before them, in the
 * order of the program; operation i is call i's run, MOST + i its move. */
#include "engine/search/estimate_state.h"

#include "engine/search/reading.h"

#include <math.h>
#include <string.h>

/* Calls of which one reads samples as the other makes them are at work at the
 * same time, as far as they are not on the same ranks; and so are readings and
 * what is made ahead. */
static bool
may_overlap(const rlf_problem *p, int a, int b)
{
    const rlf_problem_call *x = &p->calls[a], *y = &p->calls[b];
    bool apart = (x->kind == RLF_STAGE_GENERATE && x->ahead && !y->ahead) ||
                 (y->kind == RLF_STAGE_GENERATE && y->ahead && !x->ahead);
    return x->follows >> b & 1 || y->follows >> a & 1 || apart;
}

rlf_estimator *
rlf_estimator_new(const rlf_problem *problem, rlf_arena *arena)
{
    rlf_estimator *e = RLF_NEW(arena, rlf_estimator);
    e->problem = problem;
    rlf_estimate_moves_begin(e, arena);
    for (int i = 0; i < problem->n_calls; i++) {
        const rlf_problem_call *call = &problem->calls[i];
        uint64_t bit = 1ull << i;
        if (call->ahead > e->oldest)
            e->oldest = call->ahead;
        e->updates |= call->kind == RLF_STAGE_UPDATE ? bit : 0;
        e->generations |= call->kind == RLF_STAGE_GENERATE ? bit : 0;
        for (int k = 0; k < call->n_needs; k++)
            if (problem->calls[call->needs[k]].ahead == call->ahead)
                e->needs[i] |= 1ull << call->needs[k];
        for (int k = 0; k < problem->n_calls; k++)
            e->overlap[i] |= (uint64_t)may_overlap(problem, i, k) << k;
    }
    return e;
}

/* A run has one generation at work at a time, on whatever ranks: they wait for
 * each other as those do that share a rank. */
static void
add_generations(rlf_estimator *e)
{
    for (uint64_t of = e->generations; of; of &= of - 1) {
        int i = __builtin_ctzll(of);
        for (uint64_t to = of & (of - 1); to; to &= to - 1)
            rlf_estimate_meet(e, i, __builtin_ctzll(to));
    }
}

/* The calls up to i that share a rank with it: `first` and `end` are where each
 * begins, and the rank after its last; those that are not known share none. */
static uint64_t
meets_before(const int *first, const int *end, int i)
{
    uint64_t with = 0;
    for (int k = 0; k <= i; k++) {
        bool both = (first[i] < end[k]) & (first[k] < end[i]);
        with |= (uint64_t)both << k;
    }
    return with;
}

/* A run gathers the last samples of generations where that is known to pay; as
 * long as it is not known, it may. */
static void
look_at_gathers(rlf_estimator *e)
{
    for (uint64_t of = e->generations; of; of &= of - 1) {
        int k = __builtin_ctzll(of);
        const rlf_choice *at = e->at[k];
        e->gather[k].on = 0;
        if (!at || !at->gathers)
            continue;
        if (!e->known) {
            rlf_gather_soonest(at, e->seconds[k], &e->gather[k]);
            continue;
        }
        rlf_gather_find(e->problem, e->at, e->seconds, k, &e->gather[k]);
        e->seconds[k] = e->gather[k].seconds;
    }
}

/* Samples are read while others are made by replicas that do not make any; what
 * was made ahead is there before. */
static void
add_follows(rlf_estimator *e)
{
    const rlf_problem_call *calls = e->problem->calls;
    for (int i = 0; i < e->problem->n_calls; i++) {
        e->follows[i] = 0;
        e->beside[i] = e->late[i] = 1;
        for (uint64_t of = calls[i].follows; of; of &= of - 1) {
            int k = __builtin_ctzll(of), on = e->gather[k].on;
            const rlf_choice *at = e->at[k];
            bool both = at && e->at[i];
            double part = both ? rlf_choice_beside(e->at[i], at) : 1;
            double late =
                both && on ? rlf_gather_leaves(e->at[i], at, on) : part;
            bool unknown = at && !(at->complete[PARTS - 1] > 0);
            if (unknown || late <= 0 || calls[k].ahead != calls[i].ahead)
                continue;
            e->follows[i] |= 1ull << k;
            e->beside[i] = rlf_smaller(e->beside[i], part);
            e->late[i] = rlf_smaller(e->late[i], late);
        }
    }
}

static void
add_apart(rlf_estimator *e)
{
    const rlf_problem_call *calls = e->problem->calls;
    for (int i = 0; i < e->problem->n_calls; i++) {
        e->apart[i] = e->within[i] = 0;
        e->aside[i] = 1;
        for (int k = 0; k < i && e->oldest && e->at[i]; k++) {
            if (calls[i].kind != RLF_STAGE_READ || calls[i].ahead ||
                calls[k].kind != RLF_STAGE_GENERATE || !calls[k].ahead ||
                !e->at[k])
                continue;
            double part = rlf_choice_beside(e->at[i], e->at[k]);
            if (part <= 0)
                e->within[i] |= 1ull << k;
            if (part <= 0 || part >= 1)
                continue;
            e->apart[i] |= 1ull << k;
            e->aside[i] = rlf_smaller(e->aside[i], part);
        }
    }
}

/* A generation has as many pages as the rank with the fewest of them. */
static void
look_at_pages(rlf_estimator *e)
{
    for (int i = 0; i < e->problem->n_calls; i++) {
        const rlf_choice *c = e->at[i];
        if (c && c->pages)
            e->seconds[i] = rlf_choice_paged(
                c, rlf_placed_pages(e->problem, &e->placed, i));
    }
}

/* With few pages a generation has as many turns more in which messages go from
 * stage to stage. */
static void
look_at_groups(rlf_estimator *e)
{
    for (int i = 0; i < e->problem->n_calls; i++) {
        double longer = rlf_estimate_longer(e, i);
        e->longer[i] =
            longer > 0 ? longer * e->seconds[i] / e->at[i]->seconds : 0;
        e->seconds[i] += e->longer[i];
    }
}

/* Seconds more of a reading whose samples of a prompt come apart: those that
 * one replica made go to the replicas that read on its ranks, and where the
 * reading is on other ranks to any. */
static double
scattered(const rlf_choice *reading, const rlf_choice *generation)
{
    bool same = reading->first == generation->first &&
                reading->count == generation->count;
    int k = 0;
    if (same && generation->dp % reading->dp == 0)
        return 0;
    while (same && k + 1 < RLF_SCATTERS && 2 << k <= generation->dp)
        k++;
    return reading->scattered[k];
}

static void
look_at_prompts(rlf_estimator *e)
{
    const rlf_problem_call *calls = e->problem->calls;
    for (int i = 0; i < e->problem->n_calls; i++) {
        const rlf_choice *at = e->at[i];
        e->scattered[i] = 0;
        for (int k = 0; at && *at->scattered > 0 && k < calls[i].n_needs; k++) {
            const rlf_choice *made = e->at[calls[i].needs[k]];
            if (calls[calls[i].needs[k]].kind == RLF_STAGE_GENERATE && made)
                e->scattered[i] =
                    rlf_larger(e->scattered[i], scattered(at, made));
        }
        e->seconds[i] += e->scattered[i];
    }
}

/* Lays out a placement. */
static void
lay(rlf_estimator *e, const int *choice)
{
    const rlf_problem *p = e->problem;
    rlf_placed_lay(p, choice, &e->placed);
    e->known = true;
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *c = e->at[i] = e->placed.at[i];
        e->known &= c != NULL;
    }
}

static void
find_meets(rlf_estimator *e)
{
    const int *first = e->placed.first, *end = e->placed.end;
    for (int i = 0; i < e->problem->n_calls; i++) {
        e->meets[i] = meets_before(first, end, i);
        for (uint64_t with = e->meets[i]; with; with &= with - 1)
            e->meets[__builtin_ctzll(with)] |= 1ull << i;
    }
}

/* Of the placement that was laid out: who shares ranks with whom, and how long
 * calls take with the pages that they have, with samples gathered, and what is
 * read beside what. */
static void
find_seconds(rlf_estimator *e)
{
    for (int i = 0; i < e->problem->n_calls; i++)
        e->seconds[i] =
            e->at[i] ? e->at[i]->seconds : e->problem->calls[i].fast;
    find_meets(e);
    look_at_pages(e);
    look_at_groups(e);
    look_at_prompts(e);
    look_at_gathers(e);
    add_follows(e);
    add_apart(e);
}

/* And which weights move. */
static void
find_moves(rlf_estimator *e)
{
    for (int i = 0; i < e->problem->n_calls; i++) {
        e->seconds[MOST + i] = e->direct[i] = 0;
        e->meets[MOST + i] = 0;
    }
    rlf_estimate_moves_look(e);
    add_generations(e);
}

static void
look(rlf_estimator *e, const int *choice)
{
    lay(e, choice);
    find_seconds(e);
    find_moves(e);
}

/* ---- the period ---- */

enum {
    STEPS = 64, /* after which the period is taken as it is */
    AGES = 16,  /* steps that are remembered; a power of two */
};

/* Pieces but one of those by which rlf_choice.anew is known (calls.h). */
enum { ONCE_MORE = 3 };

typedef struct timeline {
    double end[OPS];    /* of the last run of each operation */
    double start[MOST]; /* no call begins sooner */
    /* Of calls that follow a generation: since when their ranks have nothing
     * else to do, and seconds of all that follows it there up to the call, and
     * of these those of each piece. */
    double free[MOST], load[MOST], anew[MOST];
    double paused[MOST]; /* of generations: others are at work on their ranks,
                            between two turns, until then */
    double summed[SUMS]; /* end of the last of each sum of models */
    double past[AGES][MOST]; /* ends of calls, by the step that ran them */
    double begin;            /* of the step */
    int step;
} timeline;

static double
latest(const timeline *t, uint64_t of)
{
    double end = 0;
    for (; of; of &= of - 1) {
        double one = t->end[__builtin_ctzll(of)];
        end = one > end ? one : end;
    }
    return end;
}

/* Returns the moment at which all ranks of an operation are free; `beside`:
 * calls that are not waited for. */
static double
free_at(const rlf_estimator *e, const timeline *t, int operation,
        uint64_t beside)
{
    double end = latest(t, e->meets[operation] & ~beside);
    for (int j = 0; j < e->problem->n_model_sums; j++)
        if (e->sum_meets[j] >> operation & 1)
            end = rlf_larger(end, t->summed[j]);
    return end;
}

/* Returns the moment at which call i, and what else its ranks read of
 * generation k, is done. */
static double
read_behind(const rlf_estimator *e, const timeline *t, int k, int i)
{
    const rlf_choice *c = e->at[k];
    const rlf_gather *gather = e->gather[k].on ? &e->gather[k] : NULL;
    double over = t->end[k], begin = over - e->seconds[k];
    const rlf_reading all = {.seconds = t->load[i],
                             .anew = t->anew[i],
                             .free = t->free[i],
                             .part = e->beside[i],
                             .late = e->late[i],
                             .gathered = begin + (gather ? gather->from : 0),
                             .known = e->known};
    return rlf_reading_end(&all, begin, over,
                           gather ? gather->complete
                           : c    ? c->complete
                                  : NULL);
}

/* Seconds that call i takes again for each piece, but for those that it takes
 * once more anyway. */
static double
anew(const rlf_estimator *e, int i)
{
    return rlf_larger(0, e->at[i]->anew - e->scattered[i] / ONCE_MORE);
}

/* A call that reads samples as they are complete, whose other inputs are there
 * and whose ranks are free at `ready`. It shares them with others that do so:
 * each of them takes what there is. No later than if it waited for all, and
 * then read it in as many pieces. Of a placement that is not known it is left
 * out that pieces take some of it anew: who begins later reads fewer. */
static double
follow(const rlf_estimator *e, timeline *t, int i, double ready, double waited)
{
    const rlf_choice *at = e->at[i];
    uint64_t beside = 0;
    t->load[i] = t->anew[i] = 0;
    t->free[i] = ready;
    for (int k = 0; k < i; k++)
        if ((e->meets[i] >> k & 1) && (e->follows[k] & e->follows[i]))
            beside |= 1ull << k;
    double alone = rlf_larger(ready, free_at(e, t, i, beside | e->follows[i]));
    t->free[i] = alone;
    for (uint64_t of = beside; of; of &= of - 1) {
        int k = __builtin_ctzll(of);
        t->load[i] = rlf_larger(t->load[i], t->load[k]);
        t->anew[i] = rlf_larger(t->anew[i], t->anew[k]);
        t->free[i] = rlf_larger(t->free[i], t->free[k]);
    }
    t->load[i] += e->seconds[i];
    t->anew[i] += e->known && at ? anew(e, i) : 0;
    double end = 0;
    t->start[i] = alone;
    for (uint64_t of = e->follows[i]; of; of &= of - 1) {
        int k = __builtin_ctzll(of);
        t->start[i] = rlf_larger(t->start[i], t->end[k] - e->seconds[k]);
        end = rlf_larger(end, read_behind(e, t, k, i));
    }
    return rlf_smaller(end, waited + (PARTS - 1) * t->anew[i]);
}

/* The time at which there is something to do for call i: the controller brings
 * no weights before. */
static double
wanted(const rlf_estimator *e, const timeline *t, int i, double ready)
{
    const rlf_problem_call *calls = e->problem->calls;
    for (int k = 0; k < calls[i].n_needs; k++) {
        int need = calls[i].needs[k];
        bool follows = e->follows[i] >> need & 1;
        double after = 0; /* its end, where a piece is there */
        if (calls[need].ahead != calls[i].ahead || (follows && !e->known))
            continue;
        if (follows && e->at[need])
            after = e->seconds[need] * (1 - e->at[need]->complete[0]);
        ready = rlf_larger(ready, t->end[need] - after);
    }
    return ready;
}

/* What is done on ranks of generation k from `from` on, before it is over: on
 * other ranks of it others may be at work at the same time. */
static void
pause_turns(timeline *t, int k, double from, double seconds)
{
    if (t->end[k] <= from)
        return;
    t->end[k] += rlf_larger(0, from + seconds - rlf_larger(from, t->paused[k]));
    t->paused[k] = rlf_larger(t->paused[k], from + seconds);
}

/* Calls before call i that follow the same generation. */
static uint64_t
followers(const rlf_estimator *e, int i)
{
    uint64_t with = 0;
    for (int k = 0; k < i && e->follows[i]; k++)
        with |= (uint64_t)((e->follows[k] & e->follows[i]) != 0) << k;
    return with;
}

/* Seconds of the weights of call i, which can go from `ready` on: less where
 * they need not wait for a later step, since all that reads older ones there is
 * done. */
static double
move_takes(const rlf_estimator *e, const timeline *t, int i, double ready)
{
    const rlf_problem_call *calls = e->problem->calls;
    if (!(e->direct[i] > 0) || (e->known && (e->meets[i] & e->updates)))
        return e->seconds[MOST + i];
    for (int k = 0; k < e->problem->n_calls && e->known; k++)
        if (calls[k].ahead && calls[k].model == calls[i].model &&
            t->end[k] > ready)
            return e->seconds[MOST + i];
    return e->direct[i];
}

/* Generations that make samples ahead beside call i. Where their ranks train,
 * too, a run generates when that is done, and nothing is beside them. */
static uint64_t
generations_beside(const rlf_estimator *e, int i)
{
    uint64_t beside = 0;
    for (uint64_t of = e->apart[i] | e->within[i]; of; of &= of - 1) {
        int k = __builtin_ctzll(of);
        beside |= e->meets[k] & e->updates ? 0 : 1ull << k;
    }
    return beside;
}

/* The weights that call i reads, from `ready` on. They go before it reads
 * samples beside others, and between the turns of a generation beside it, which
 * wait for them on ranks of both. */
static double
run_move(const rlf_estimator *e, timeline *t, int i, double ready)
{
    uint64_t beside = e->follows[i] | generations_beside(e, i);
    beside &= e->meets[MOST + i];
    ready = wanted(e, t, i, ready);
    ready = rlf_larger(
        ready, free_at(e, t, MOST + i, beside | followers(e, i) | 1ull << i));
    double seconds = move_takes(e, t, i, ready);
    ready = rlf_larger(ready, t->end[i]);
    for (; e->known && beside; beside &= beside - 1) {
        int k = __builtin_ctzll(beside);
        if (e->follows[i] >> k & 1)
            t->end[k] += seconds;
        else
            pause_turns(t, k, ready, seconds);
    }
    return t->end[MOST + i] = ready + seconds;
}

/* Returns the moment at which a reading is done whose ranks make samples ahead,
 * which can begin at `ready` where they do not; where all do it is read between
 * two turns. */
static double
read_apart(const rlf_estimator *e, timeline *t, int i, double ready)
{
    uint64_t beside = e->apart[i] | e->within[i];
    double over = latest(t, e->apart[i]), all = e->seconds[i];
    t->start[i] = ready = rlf_larger(ready, free_at(e, t, i, beside));
    for (uint64_t of = e->within[i]; e->known && of; of &= of - 1) {
        pause_turns(t, __builtin_ctzll(of), ready, all);
    }
    double aside = ready + all / e->aside[i];
    double after = rlf_larger(ready, over) + all;
    return !e->known ? rlf_smaller(aside, after) : ready < over ? aside : after;
}

/* Weights of an update of the step before are there as it begins, and so is
 * what was made ahead. */
static void
run_call(const rlf_estimator *e, timeline *t, int i)
{
    const rlf_problem_call *calls = e->problem->calls, *call = &calls[i];
    double ready = t->begin;
    if (call->source >= 0 && !call->age)
        ready = rlf_larger(ready, t->end[call->source]);
    if (e->seconds[MOST + i] > 0)
        ready = run_move(e, t, i, ready);
    double sooner = ready; /* if it follows */
    for (int k = 0; k < call->n_needs; k++) {
        int need = call->needs[k];
        if (calls[need].ahead != call->ahead)
            continue;
        ready = rlf_larger(ready, t->end[need]);
        if (!(e->follows[i] >> need & 1))
            sooner = rlf_larger(sooner, t->end[need]);
    }
    if (e->apart[i] | e->within[i]) {
        t->end[i] = read_apart(e, t, i, ready);
        return;
    }
    t->start[i] = ready = rlf_larger(ready, free_at(e, t, i, 0));
    double end = ready + e->seconds[i];
    t->end[i] = e->follows[i] ? follow(e, t, i, sooner, end) : end;
}

/* The sums of models that come behind call `after`. */
static void
run_sums(const rlf_estimator *e, timeline *t, int after)
{
    const rlf_model_sum *sums = e->problem->model_sums;
    for (int j = 0; j < e->problem->n_model_sums; j++) {
        if (sums[j].after != after || e->sum_seconds[j] <= 0)
            continue;
        double ready = rlf_larger(t->begin, latest(t, e->sum_meets[j]));
        for (uint64_t of = sums[j].needs; of; of &= of - 1)
            ready = rlf_larger(ready, t->end[__builtin_ctzll(of)]);
        for (int k = 0; k < e->problem->n_model_sums; k++)
            if (e->sum_meets[k] >> sums[j].at & 1)
                ready = rlf_larger(ready, t->summed[k]);
        t->summed[j] = ready + e->sum_seconds[j];
    }
}

/* A step runs what is made ahead in it, and then what is its own. It is over
 * when that is done, and what was made ahead for the next. False: it is given
 * up, as a call ends later than `limit`. */
static bool
run_step(const rlf_estimator *e, timeline *t, double limit)
{
    const rlf_problem *p = e->problem;
    for (int ahead = 1; ahead >= 0; ahead--)
        for (int i = 0; i < p->n_calls; i++) {
            if (!ahead && !i)
                run_sums(e, t, -1);
            if ((p->calls[i].ahead > 0) == ahead) {
                run_call(e, t, i);
                if (t->end[i] > limit)
                    return false;
            }
            if (!ahead)
                run_sums(e, t, i);
        }
    memcpy(t->past[t->step & (AGES - 1)], t->end,
           sizeof t->end[0] * (size_t)p->n_calls);
    for (int i = 0; i < p->n_calls; i++) {
        int ahead = p->calls[i].ahead, by = t->step - (ahead ? ahead - 1 : 0);
        if (by >= 0)
            t->begin = rlf_larger(t->begin, t->past[by & (AGES - 1)][i]);
    }
    for (int j = 0; j < p->n_model_sums; j++)
        t->begin = rlf_larger(t->begin, t->summed[j]);
    t->step++;
    return true;
}

/* Has every call advanced by as much in the last step? */
static bool
alike(const timeline *t, int n, double *by)
{
    const double *now = t->past[(t->step - 1) & (AGES - 1)];
    const double *before = t->past[(t->step - 2) & (AGES - 1)];
    double least = INFINITY, most = 0;
    for (int i = 0; i < n; i++) {
        least = rlf_smaller(least, now[i] - before[i]);
        most = rlf_larger(most, now[i] - before[i]);
    }
    *by = most;
    return most - least <= 1e-12 * now[n - 1];
}

static void
start(const rlf_problem *p, timeline *t)
{
    for (int i = 0; i < p->n_calls; i++)
        t->end[i] = t->end[MOST + i] = t->start[i] = t->paused[i] = 0;
    for (int j = 0; j < p->n_model_sums; j++)
        t->summed[j] = 0;
    t->begin = 0;
    t->step = 0;
}

/* Seconds that the cores need for all calls, whoever has them. */
static double
cores_seconds(const rlf_estimator *e)
{
    const rlf_problem *p = e->problem;
    double sum = 0;
    for (int i = 0; i < p->n_calls && p->cores; i++)
        sum += e->at[i] ? e->at[i]->busy * e->at[i]->count : p->calls[i].busy;
    return p->cores ? sum / p->cores : 0;
}

/* If nothing is made more than a step ahead all is done as a step ends, and
 * each is like the first; if that is longer than `limit`, INFINITY. */
static double
unroll(const rlf_estimator *e, double limit)
{
    int n = e->problem->n_calls, same = 0;
    double by = 0, half[MOST] = {0}, most = 0;
    timeline t;
    start(e->problem, &t);
    while (t.step < STEPS) {
        if (!run_step(e, &t, e->oldest <= 1 ? limit : INFINITY))
            return INFINITY;
        if (e->oldest <= 1)
            return t.begin;
        if (t.step == STEPS / 2)
            memcpy(half, t.end, sizeof half);
        same = t.step > 1 && alike(&t, n, &by) ? same + 1 : 0;
        if (same > e->oldest)
            return by;
    }
    for (int i = 0; i < n; i++)
        most = rlf_larger(most, (t.end[i] - half[i]) / (STEPS - STEPS / 2));
    return most;
}

double
rlf_estimate_lay(rlf_estimator *e, const int *choice)
{
    lay(e, choice);
    return rlf_placed_over(e->problem, &e->placed);
}

double
rlf_estimate_laid(rlf_estimator *e, double limit)
{
    find_seconds(e);
    if (rlf_estimate_least(e) > limit)
        return INFINITY;
    find_moves(e);
    return rlf_larger(unroll(e, limit), cores_seconds(e));
}

double
rlf_estimate_period(rlf_estimator *e, const int *choice)
{
    lay(e, choice);
    return rlf_estimate_laid(e, INFINITY);
}

/* ---- bounds ---- */

/* Seconds that have to pass after each call of a step itself, until the step is
 * over. */
static void
find_tails(const rlf_estimator *e, double *tail)
{
    const rlf_problem *p = e->problem;
    memset(tail, 0, sizeof *tail * MOST);
    for (int k = p->n_calls - 1; k >= 0; k--) {
        const rlf_problem_call *call = &p->calls[k];
        uint64_t before = e->meets[k] & ((1ull << k) - 1);
        if (call->ahead)
            continue;
        for (int i = 0; i < call->n_needs; i++)
            before |= 1ull << call->needs[i];
        double least = e->seconds[k]; /* of it, behind others */
        if (e->follows[k])
            least /= PARTS;
        for (; before; before &= before - 1) {
            int i = __builtin_ctzll(before);
            tail[i] = rlf_larger(tail[i], least + tail[k]);
        }
    }
}

/* The work of calls that begin no sooner than one of them, or end no later,
 * takes all devices so long, between the first that can begin and the last that
 * has nothing after it. `begin` and `area`: seconds and rank-seconds of each.
 */
static double
crowded(const rlf_estimator *e, const double *begin, const double *area)
{
    const rlf_problem *p = e->problem;
    double tail[MOST], most = 0;
    find_tails(e, tail);
    for (int i = 0; i < p->n_calls; i++) {
        double late = 0, early = 0, first = INFINITY, last = INFINITY;
        if (p->calls[i].ahead)
            continue;
        for (int k = 0; k < p->n_calls; k++) {
            if (p->calls[k].ahead)
                continue;
            if (begin[k] >= begin[i]) {
                late += area[k];
                last = rlf_smaller(last, tail[k]);
            }
            if (tail[k] >= tail[i]) {
                early += area[k];
                first = rlf_smaller(first, begin[k]);
            }
        }
        most = rlf_larger(most, begin[i] + late / p->devices + last);
        most = rlf_larger(most, first + early / p->devices + tail[i]);
    }
    return most;
}

/* A step in which nothing of those before is at work, which is no longer than
 * others: what is its own ends in it, and what is made for k steps on in k. */
double
rlf_estimate_bound(rlf_estimator *e, const int *choice)
{
    const rlf_problem *p = e->problem;
    double all = 0, most = 0, area[MOST], begin[MOST];
    timeline t;
    look(e, choice);
    start(p, &t);
    run_step(e, &t, INFINITY);
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *c = e->at[i];
        int ahead = p->calls[i].ahead;
        area[i] = c ? rlf_choice_area(c, e->seconds[i]) : p->calls[i].area;
        begin[i] = t.start[i];
        all += area[i];
        most = rlf_larger(most, t.end[i] / (ahead ? ahead : 1));
        most = rlf_larger(most, e->seconds[i]);
    }
    for (int j = 0; j < p->n_model_sums; j++)
        most = rlf_larger(most, t.summed[j]);
    most = rlf_larger(most, crowded(e, begin, area) * (1 - 1e-12));
    return rlf_larger(rlf_larger(most, all / p->devices), cores_seconds(e));
}

/* ---- memory ---- */

double
rlf_estimate_over(const rlf_estimator *e, const int *choice)
{
    rlf_placed placed;
    rlf_placed_lay(e->problem, choice, &placed);
    return rlf_placed_over(e->problem, &placed);
}

/* ---- all choices of a call on the same ranks ---- */

/* Seconds that the others take of a rank; of a generation and what follows it
 * one is counted. */
static double
load_beside(const rlf_estimator *e, const rlf_others *o, int rank)
{
    double sum = 0;
    uint64_t counted = 1ull << o->call;
    for (int k = 0; k < e->problem->n_calls; k++) {
        if (rank < o->placed.first[k] || rank >= o->placed.end[k] ||
            e->overlap[k] & counted)
            continue;
        counted |= 1ull << k;
        sum += o->placed.at[k]->seconds;
    }
    return sum;
}

void
rlf_estimate_others(const rlf_estimator *e, const int *choice, int call,
                    rlf_others *out)
{
    const rlf_problem *p = e->problem;
    int others[MOST];
    memcpy(others, choice, sizeof *others * (size_t)p->n_calls);
    others[call] = -1;
    rlf_placed_lay(p, others, &out->placed);
    out->call = call;
    out->over = -INFINITY;
    for (uint32_t of = out->placed.begins; of; of &= of - 1) {
        int k = __builtin_ctz(of), rank = out->placed.first[k];
        double over = out->placed.used[k] - p->memory[rank];
        out->over = rlf_larger(out->over, over);
        out->load[k] = load_beside(e, out, rank);
    }
}

/* More than a step ahead, steps are not each like the first. */
void
rlf_estimate_beside(const rlf_estimator *e, const rlf_others *others, int first,
                    int count, rlf_around *out)
{
    const rlf_problem *p = e->problem;
    const rlf_placed *l = &others->placed;
    out->seconds = load_beside(e, others, first);
    out->here = rlf_placed_used(p, l, first) - p->memory[first];
    for (uint32_t of = l->begins; of; of &= of - 1) {
        int k = __builtin_ctz(of), rank = l->first[k];
        if (rank <= first || rank >= first + count)
            continue;
        out->here = rlf_larger(out->here, l->used[k] - p->memory[rank]);
        out->seconds = rlf_larger(out->seconds, others->load[k]);
    }
    if (e->oldest > 1)
        out->seconds = 0;
}

/* Weights are there once, and may lie in what others lend. */
double
rlf_estimate_least_over(const rlf_estimator *e, const rlf_others *others,
                        const rlf_choice *at, const rlf_around *beside)
{
    const rlf_problem *p = e->problem;
    const rlf_placed *l = &others->placed;
    int i = others->call;
    double bytes = at->own - at->lends, kept = at->kept;
    for (int k = 0; k < p->n_calls; k++)
        if (k != i && p->calls[k].model == p->calls[i].model &&
            (l->copy[k] == at->copy || l->lends >> k & 1))
            kept = 0;
    return rlf_larger(others->over, beside->here + bytes + kept);
}

bool
rlf_estimate_is_longer(rlf_estimator *e, const int *choice, double limit)
{
    const rlf_problem *p = e->problem;
    e->known = true;
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *c = e->at[i] = &p->calls[i].choices[choice[i]];
        e->seconds[i] = c->seconds;
        e->placed.first[i] = c->first;
        e->placed.end[i] = c->first + c->count;
        e->gather[i].on = 0;
        if (c->gathers)
            return false; /* they decide who follows */
    }
    find_meets(e);
    add_follows(e);
    add_apart(e);
    return rlf_estimate_least(e) > limit;
}

double
rlf_estimate_call(rlf_estimator *e, const int *choice, int i)
{
    look(e, choice);
    return e->seconds[i];
}

double
rlf_estimate_apart(rlf_estimator *e, const int *choice, int i)
{
    look(e, choice);
    return e->longer[i];
}

double
rlf_estimate_scattered(rlf_estimator *e, const int *choice, int i)
{
    look(e, choice);
    return e->scattered[i];
}

double
rlf_estimate_move(rlf_estimator *e, const int *choice, int i)
{
    look(e, choice);
    return e->seconds[MOST + i];
}

double
rlf_estimate_moves(rlf_estimator *e, const int *choice)
{
    double sum = 0;
    look(e, choice);
    for (int i = 0; i < e->problem->n_calls; i++)
        sum += e->seconds[MOST + i];
    for (int j = 0; j < e->problem->n_model_sums; j++)
        sum += e->sum_seconds[j];
    return sum;
}
