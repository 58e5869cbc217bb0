/* The steps of a placement, one behind the other, until each takes as long as
 * the one before: when each operation begins and ends. */
#include "engine/search/estimate_state.h"

#include "engine/search/reading.h"

#include <math.h>
#include <string.h>

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

/* If nothing is made more than a step ahead all is done as a step ends, and
 * each is like the first. */
double
rlf_estimate_unroll(const rlf_estimator *e, double limit)
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

void
rlf_estimate_first_step(const rlf_estimator *e, double *begin, double *end,
                        double *summed)
{
    timeline t;
    start(e->problem, &t);
    run_step(e, &t, INFINITY);
    memcpy(begin, t.start, sizeof t.start);
    memcpy(end, t.end, MOST * sizeof *t.end);
    memcpy(summed, t.summed, sizeof t.summed);
}
