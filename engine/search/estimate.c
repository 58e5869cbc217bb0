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
    return rlf_larger(rlf_estimate_unroll(e, limit), cores_seconds(e));
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
    double all = 0, most = 0, area[MOST], begin[MOST], end[MOST], summed[SUMS];
    look(e, choice);
    rlf_estimate_first_step(e, begin, end, summed);
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *c = e->at[i];
        int ahead = p->calls[i].ahead;
        area[i] = c ? rlf_choice_area(c, e->seconds[i]) : p->calls[i].area;
        all += area[i];
        most = rlf_larger(most, end[i] / (ahead ? ahead : 1));
        most = rlf_larger(most, e->seconds[i]);
    }
    for (int j = 0; j < p->n_model_sums; j++)
        most = rlf_larger(most, summed[j]);
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
