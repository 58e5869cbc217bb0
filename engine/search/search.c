/* The search as a whole: see search.h. */
#include "engine/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/search/descend.h"
#include "engine/search/less.h"
#include "engine/search/walk.h"

/* Of annealing with all that there is. */
enum { RESTARTS = 8, ROUNDS = 2 };

/* ---- the whole ---- */

typedef struct listed {
    double period, moving; /* seconds of it, and in which weights move */
    int index;
} listed;

static int
by_period(const void *p, const void *q)
{
    const listed *a = p, *b = q;
    int by = (a->period > b->period) - (a->period < b->period);
    by = by ? by : (a->moving > b->moving) - (a->moving < b->moving);
    return by ? by : (a->index > b->index) - (a->index < b->index);
}

/* The shortest of what was found with less that may be the answer, and behind
 * it the others that are kept. */
static void
choose(rlf_estimator *e, const rlf_problem *problem,
       const rlf_search_options *options, const rlf_less *less,
       rlf_arena *scratch, rlf_found *out)
{
    size_t n = less->list.count, fit = 0;
    listed *list = RLF_NEW_ARRAY(scratch, listed, n + 1);
    rlf_placing at;
    for (size_t i = 0; i < n; i++) {
        at.choice = less->list.data[i];
        rlf_placing_look(e, &at);
        if (isfinite(at.period))
            list[fit++] =
                (listed){at.period, rlf_estimate_moves(e, at.choice), (int)i};
        else if (!isfinite(out->best.period) && at.over < out->best.over)
            rlf_placing_copy(problem, &out->best, &at);
    }
    qsort(list, fit, sizeof *list, by_period);
    bool may = false;
    for (size_t i = 0; i < fit; i++) {
        at = (rlf_placing){less->list.data[list[i].index], list[i].period, 0};
        if (!may) {
            may = !options->may || options->may(options->may_arg, &at);
            if (may)
                rlf_placing_copy(problem, &out->best, &at);
        }
        if (may)
            rlf_walk_keep(problem, &at, out);
    }
}

static bool
is_listed(const rlf_problem *p, const rlf_placing *list, int n,
          const int *choice)
{
    for (int i = 0; i < n; i++)
        if (memcmp(list[i].choice, choice,
                   sizeof *choice * (size_t)p->n_calls) == 0)
            return true;
    return false;
}

/* Much longer ones are no use. */
#define NEAR 1.2

/* The shortest answers with less that are not kept. */
static void
add_lesser(rlf_estimator *e, const rlf_problem *p, rlf_arena *arena,
           rlf_found *out)
{
    for (size_t i = 0; i < out->less->answers.count; i++) {
        rlf_placing at = {.choice = out->less->answers.data[i]};
        int to = out->n_lesser;
        rlf_placing_look(e, &at);
        if (!(at.period < NEAR * out->best.period) ||
            is_listed(p, out->kept, out->n_kept, at.choice) ||
            is_listed(p, out->lesser, out->n_lesser, at.choice) ||
            (to == RLF_SEARCH_LESS && out->lesser[--to].period <= at.period))
            continue;
        out->n_lesser = to + 1;
        for (; to && out->lesser[to - 1].period > at.period; to--)
            out->lesser[to] = out->lesser[to - 1];
        out->lesser[to] = at;
    }
    for (int i = 0; i < out->n_lesser; i++) {
        const int *from = out->lesser[i].choice;
        out->lesser[i].choice = RLF_NEW_ARRAY(arena, int, p->n_calls);
        memcpy(out->lesser[i].choice, from, sizeof *from * (size_t)p->n_calls);
    }
}

/* Annealing with just as much as there is. */
static void
walk_here(rlf_estimator *e, const rlf_problem *problem,
          const rlf_search_options *options, const rlf_placing *start,
          rlf_arena *arena, rlf_found *out)
{
    rlf_search_scope all = {.ranks = problem->devices};
    for (int i = 0; i < problem->n_calls; i++) {
        int n = problem->calls[i].n_choices;
        all.n[i] = n;
        all.choices[i] = RLF_NEW_ARRAY(arena, int, n);
        for (int k = 0; k < n; k++)
            all.choices[i][k] = k;
    }
    rlf_walk w = {.problem = problem,
                  .e = e,
                  .options = options,
                  .scope = &all,
                  .memory = INFINITY,
                  .found = out};
    rlf_walk_found(problem, arena, out);
    rlf_walk_begin(&w, 0, arena);
    if (start)
        rlf_walk_descend(&w, start);
    for (int r = 0; r < RESTARTS && !out->stopped; r++) {
        rlf_walk_anneal(&w,
                        r % 2 ? RLF_WALK_ANYWHERE
                        : r   ? RLF_WALK_FASTEST
                              : RLF_WALK_BEST,
                        options->moves / RESTARTS);
        rlf_walk_descend(&w, &out->best);
    }
    for (int i = 0; i < ROUNDS; i++)
        rlf_walk_around(&w);
}

/* Keeps a placement and the same with other cuts, unless it is shorter than the
 * answer; one that is as long, and for which weights move less, is the answer.
 */
static void
keep_longer(rlf_estimator *e, const rlf_problem *p, const rlf_placing *from,
            double least, rlf_arena *scratch, rlf_found *out)
{
    rlf_placing at = {.choice = RLF_NEW_ARRAY(scratch, int, p->n_calls)};
    rlf_placing_copy(p, &at, from);
    for (int cut = 0; cut < 2; cut++) {
        if (cut)
            rlf_search_recut(e, p, &at);
        if (at.period < least)
            continue;
        rlf_walk_keep(p, &at, out);
        if (at.period <= out->best.period &&
            rlf_estimate_moves(e, at.choice) <
                rlf_estimate_moves(e, out->best.choice) * (1 - 1e-9))
            rlf_placing_copy(p, &out->best, &at);
    }
}

/* Adds others that are kept. They are looked for with just as much memory as
 * there is, so with more they may not be found: what is shorter than the answer
 * is left out, but on more ranks than those for which walks are enough. */
static void
add_others(rlf_estimator *e, const rlf_problem *p,
           const rlf_search_options *options, rlf_arena *scratch,
           rlf_found *out)
{
    rlf_found found[2];
    bool lawful = p->devices <= RLF_LESS_MANY;
    double least = lawful ? out->best.period : 0;
    walk_here(e, p, options, &out->best, scratch, &found[0]);
    rlf_search_recut(e, p, &found[0].best);
    if (found[0].best.period < least * (1 - 1e-9))
        out->here = found[0].best;
    out->stopped |= found[0].stopped;
    out->looks += found[0].looks;
    found[1] = *out;
    for (int i = 0; i < RLF_SEARCH_KEPT; i++)
        out->kept[i].choice = RLF_NEW_ARRAY(scratch, int, p->n_calls);
    out->n_kept = 0;
    for (int f = 0; f < 2; f++)
        for (int i = 0; i < found[f].n_kept; i++)
            keep_longer(e, p, &found[f].kept[i], least, scratch, out);
    keep_longer(e, p, &out->best, least, scratch, out);
    if (rlf_placing_better(&out->kept[0], &out->best))
        rlf_placing_copy(p, &out->best, &out->kept[0]);
}

/* It was stopped, maybe before it came to all ranks: from the best so far
 * downhill. */
static void
end_soon(rlf_estimator *e, const rlf_problem *problem, rlf_arena *scratch,
         rlf_found *out)
{
    rlf_placing at = {.choice = RLF_NEW_ARRAY(scratch, int, problem->n_calls)};
    if (!isfinite(out->best.period))
        return;
    rlf_placing_copy(problem, &at, &out->best);
    rlf_search_descend(e, problem, NULL, NULL, &at);
    rlf_walk_keep(problem, &at, out);
    rlf_placing_copy(problem, &out->best, &at);
}

/* The proof, and what it finds if that is proved to be the best. */
static void
prove(rlf_estimator *e, const rlf_problem *problem,
      const rlf_search_options *options, rlf_arena *arena, rlf_found *out,
      rlf_proof *proof)
{
    rlf_placing best = {.choice = RLF_NEW_ARRAY(arena, int, problem->n_calls)};
    rlf_placing_copy(problem, &best, &out->best);
    rlf_search_branch(e, problem, options, arena, &best, proof);
    if (proof->optimal && rlf_placing_better(&best, &out->best))
        rlf_placing_copy(problem, &out->best, &best);
}

void
rlf_search(const rlf_problem *problem, const rlf_search_options *options,
           rlf_arena *arena, rlf_found *out)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_estimator *e = rlf_estimator_new(problem, scratch);
    rlf_proof proof = {0};
    const rlf_less *less = options->less;
    if (!less) {
        rlf_less *made = RLF_NEW(arena, rlf_less);
        rlf_less_find(problem, options, arena, made);
        less = made;
    }
    rlf_walk_found(problem, arena, out);
    choose(e, problem, options, less, scratch, out);
    out->stopped = less->stopped;
    out->looks = less->looks;
    if (out->stopped)
        end_soon(e, problem, scratch, out);
    else if (isfinite(out->best.period))
        add_others(e, problem, options, arena, out);
    else
        walk_here(e, problem, options, NULL, arena, out);
    out->less = less;
    if (options->branches && !out->stopped)
        prove(e, problem, options, scratch, out, &proof);
    else if (options->branches)
        proof.bound = rlf_search_bound(e, problem);
    rlf_walk_keep(problem, &out->best, out);
    add_lesser(e, problem, arena, out);
    out->bound = fmin(proof.bound, out->best.period);
    out->optimal = proof.optimal;
    out->stopped |= proof.stopped;
    out->looks += proof.looks;
    rlf_arena_free(scratch);
}
