/* Branch and bound: see search.h.
 *
 * Calls are placed one after another, the one with the most work first, its
 * choices by their bounds. What cannot be shorter than the limit is left out.
 * The limit comes closer to the best placement in rounds: each round that is
 * done has proved it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/search/search.h"

enum { LOOK_EVERY = 1024 };

/* Parts of the best period by which another placement would have to be shorter
 * in each round. */
static const double rounds[] = {0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0};

typedef struct branch {
    double bound;
    int choice;
} branch;

typedef struct tree {
    const rlf_problem *problem;
    rlf_estimator *e;
    const rlf_search_options *options;
    int order[RLF_SEARCH_CALLS];        /* calls, as they are placed */
    branch *branches[RLF_SEARCH_CALLS]; /* room for those of each depth */
    rlf_placing *best;
    int choice[RLF_SEARCH_CALLS];
    double limit;
    rlf_proof *proof;
} tree;

static int
compare(const void *p, const void *q)
{
    const branch *a = p, *b = q;
    int by = (a->bound > b->bound) - (a->bound < b->bound);
    return by ? by : (a->choice > b->choice) - (a->choice < b->choice);
}

/* Does a placed call have some but not all of the ranks first .. first + count
 * - 1? */
static bool
splits(const tree *t, int first, int count)
{
    const rlf_choice block = {.first = first, .count = count};
    for (int i = 0; i < t->problem->n_calls; i++) {
        if (t->choice[i] < 0)
            continue;
        const rlf_choice *c = &t->problem->calls[i].choices[t->choice[i]];
        bool all = c->first <= first && c->first + c->count >= first + count;
        if (!all && rlf_choices_meet(c, &block))
            return true;
    }
    return false;
}

/* Would it be the same to exchange the halves of a block of ranks, of which the
 * choice has a part of the second? */
static bool
is_mirrored(const tree *t, const rlf_choice *c)
{
    const rlf_problem *p = t->problem;
    int most = p->devices == 2 * p->machine ? p->devices : p->machine;
    for (int n = 2 * c->count; n <= most; n *= 2) {
        int start = c->first / n * n;
        if (c->first >= start + n / 2 && !splits(t, start, n))
            return true;
    }
    return false;
}

static bool
used_up(tree *t)
{
    rlf_proof *proof = t->proof;
    const rlf_search_options *options = t->options;
    if (proof->looks >= options->branches)
        return true;
    if (proof->looks % LOOK_EVERY == 0 && options->stop &&
        options->stop(options->arg, t->best->period, proof->bound))
        proof->stopped = true;
    return proof->stopped;
}

static bool
is_shorter(const tree *t, double period)
{
    return period < fmin(t->limit, t->best->period * (1 - 1e-9));
}

/* The choices for a call that may be shorter, the least bound first. -1: the
 * budget was used up. */
static int
list(tree *t, int depth)
{
    int i = t->order[depth], n = 0;
    const rlf_problem_call *call = &t->problem->calls[i];
    for (int k = 0; k < call->n_choices; k++) {
        t->choice[i] = -1;
        if (!is_shorter(t, call->choices[k].seconds) ||
            is_mirrored(t, &call->choices[k]))
            continue;
        if (used_up(t))
            return -1;
        t->proof->looks++;
        t->choice[i] = k;
        if (rlf_estimate_over(t->e, t->choice) > 0)
            continue;
        double bound = rlf_estimate_bound(t->e, t->choice);
        if (is_shorter(t, bound))
            t->branches[depth][n++] = (branch){bound, k};
    }
    t->choice[i] = -1;
    qsort(t->branches[depth], (size_t)n, sizeof *t->branches[depth], compare);
    return n;
}

static void
note(tree *t)
{
    double period = rlf_estimate_period(t->e, t->choice);
    if (!(period < t->best->period))
        return;
    t->best->period = period;
    t->best->over = rlf_estimate_over(t->e, t->choice);
    memcpy(t->best->choice, t->choice,
           sizeof *t->choice * (size_t)t->problem->n_calls);
}

/* False if the budget was used up. */
static bool
search(tree *t, int depth)
{
    if (depth == t->problem->n_calls) {
        note(t);
        return true;
    }
    int i = t->order[depth], n = list(t, depth);
    for (int k = 0; k < n; k++) {
        const branch *b = &t->branches[depth][k];
        if (!is_shorter(t, b->bound))
            break;
        t->choice[i] = b->choice;
        if (!search(t, depth + 1))
            return false;
        t->choice[i] = -1;
    }
    return n >= 0;
}

/* The bound that each call alone makes inevitable. */
static double
first_bound(tree *t)
{
    const rlf_problem *p = t->problem;
    double bound = rlf_estimate_bound(t->e, t->choice);
    for (int i = 0; i < p->n_calls; i++) {
        double least = INFINITY;
        for (int k = 0; k < p->calls[i].n_choices; k++) {
            t->choice[i] = k;
            least = fmin(least, rlf_estimate_bound(t->e, t->choice));
        }
        t->choice[i] = -1;
        bound = fmax(bound, least);
    }
    return bound;
}

static void
order_calls(tree *t)
{
    const rlf_problem_call *calls = t->problem->calls;
    for (int i = 0; i < t->problem->n_calls; i++) {
        int k = i;
        for (; k && calls[t->order[k - 1]].area < calls[i].area; k--)
            t->order[k] = t->order[k - 1];
        t->order[k] = i;
    }
}

double
rlf_search_bound(rlf_estimator *e, const rlf_problem *problem)
{
    tree t = {.problem = problem, .e = e};
    for (int i = 0; i < problem->n_calls; i++)
        t.choice[i] = -1;
    return first_bound(&t);
}

void
rlf_search_branch(rlf_estimator *e, const rlf_problem *problem,
                  const rlf_search_options *options, rlf_arena *arena,
                  rlf_placing *best, rlf_proof *out)
{
    tree t = {.problem = problem,
              .e = e,
              .options = options,
              .best = best,
              .proof = out};
    *out = (rlf_proof){0};
    order_calls(&t);
    for (int d = 0; d < problem->n_calls; d++) {
        t.choice[d] = -1;
        t.branches[d] =
            RLF_NEW_ARRAY(arena, branch, problem->calls[t.order[d]].n_choices);
    }
    out->bound = fmin(first_bound(&t), best->period);
    for (size_t r = 0; r < sizeof rounds / sizeof *rounds; r++) {
        t.limit = best->period * (1 - rounds[r]);
        if (t.limit <= out->bound)
            continue;
        bool done = search(&t, 0);
        for (int i = 0; i < problem->n_calls; i++)
            t.choice[i] = -1;
        if (!done)
            break;
        out->bound = fmax(out->bound, fmin(t.limit, best->period));
    }
    out->optimal = out->bound >= best->period * (1 - 1e-9);
}
