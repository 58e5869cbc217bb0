/* The least that a step of a placement takes, without the weights that move:
 * see estimate.h.
 *
 * A search looks at placements of which hardly any is shorter than what it has.
 * Most are longer already by what calls need of each other and of ranks, which
 * is known sooner than which weights move and how a step goes with them. It is
 * the same course as a run_step of estimate.c, in which each moment is replaced
 * by one that is no later. */
#include "engine/search/estimate_state.h"

typedef struct least {
    double end[MOST];
    /* Of calls that follow a generation: since when their ranks have time for
     * it, and seconds of all that follows it there up to the call. */
    double free[MOST], load[MOST];
    uint64_t done; /* calls that were run in this step */
    double most;
} least;

static double
latest(const least *l, uint64_t of)
{
    double end = 0;
    for (; of; of &= of - 1)
        end = rlf_larger(end, l->end[__builtin_ctzll(of)]);
    return end;
}

/* Calls that follow a generation that call i follows, on ranks of it. */
static uint64_t
readers_beside(const rlf_estimator *e, const least *l, int i)
{
    uint64_t beside = 0;
    for (uint64_t of = e->meets[i] & l->done; of; of &= of - 1) {
        int k = __builtin_ctzll(of);
        beside |= (uint64_t)((e->follows[k] & e->follows[i]) != 0) << k;
    }
    return beside;
}

/* A call that reads samples as they are complete: its ranks read all that
 * follows there, and the last part of it when all are made; but no later than
 * if it waited for all. */
static void
follow(const rlf_estimator *e, least *l, int i, double ready)
{
    uint64_t beside = readers_beside(e, l, i), of = e->follows[i];
    uint64_t wait = e->meets[i] & l->done & ~(beside | of);
    double load = 0, from = rlf_larger(ready, latest(l, wait));
    for (uint64_t to = beside; to; to &= to - 1) {
        int k = __builtin_ctzll(to);
        load = rlf_larger(load, l->load[k]);
        from = rlf_larger(from, l->free[k]);
    }
    l->free[i] = from;
    l->load[i] = load += e->seconds[i];
    double end =
        rlf_larger(from + load, latest(l, of & e->needs[i]) + load / PARTS);
    double all = latest(l, e->needs[i] | (e->meets[i] & l->done));
    l->end[i] = rlf_smaller(end, rlf_larger(ready, all) + e->seconds[i]);
}

static void
run(const rlf_estimator *e, least *l, int i)
{
    const rlf_problem_call *call = &e->problem->calls[i];
    uint64_t aside = e->apart[i] | e->within[i];
    uint64_t wait = e->meets[i] & l->done & ~aside;
    double ready = latest(l, e->needs[i] & ~e->follows[i]);
    if (call->source >= 0 && !call->age)
        ready = rlf_larger(ready, l->end[call->source]);
    if (e->follows[i] && !aside) {
        follow(e, l, i, ready);
    } else {
        ready = rlf_larger(ready, latest(l, e->needs[i]));
        if (call->kind == RLF_STAGE_GENERATE) /* one at a time */
            wait |= e->generations & l->done;
        ready = rlf_larger(ready, latest(l, wait));
        l->end[i] = ready + e->seconds[i];
    }
    l->done |= 1ull << i;
    l->most = rlf_larger(l->most, l->end[i]);
}

double
rlf_estimate_least(const rlf_estimator *e)
{
    const rlf_problem *p = e->problem;
    least l;
    l.done = 0;
    l.most = 0;
    if (e->oldest > 1 || !e->known)
        return 0; /* steps are not each like the first */
    for (int i = 0; i < p->n_calls; i++)
        l.end[i] = 0;
    for (int ahead = 1; ahead >= 0; ahead--)
        for (int i = 0; i < p->n_calls; i++)
            if ((p->calls[i].ahead > 0) == ahead)
                run(e, &l, i);
    return l.most * (1 - 1e-9);
}
