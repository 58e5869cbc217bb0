/* The search: a placement of a problem's calls with a short period.
 *
 * Annealing over placements by the estimate (walk.h), each run ended by
 * coordinate descent (descend.h); then branch and bound, which starts from the
 * best one and proves how far from it the best there is can be. Budgets are
 * counted in placements looked at, not in seconds: the answer is a function of
 * problem, seed and budget, on every machine. Who has no time stops it, and
 * knows. */
#ifndef RLF_SEARCH_SEARCH_H
#define RLF_SEARCH_SEARCH_H

#include "engine/search/estimate.h"

typedef struct rlf_placing {
    int *choice;   /* per call */
    /* Seconds of a step by the estimate; INFINITY: nothing fits. */
    double period;
    double over; /* bytes by which the placement that comes closest does not
                    fit, then */
} rlf_placing;

/* What was found with less (less.h). */
typedef struct rlf_less rlf_less;

typedef struct rlf_search_options {
    uint64_t seed;
    int64_t moves;    /* placements that annealing looks at */
    int64_t branches; /* branches of branch and bound; 0: no proof is tried */
    /* Called now and then with the best so far and, once something is proved,
     * its bound (else 0): true ends the search. NULL: nobody looks. */
    bool (*stop)(void *arg, double period, double bound);
    void *arg;
    /* May this placement be the answer? Asked of the shortest that fit, in
     * order, until one may. NULL: any may. */
    bool (*may)(void *arg, const rlf_placing *at);
    void *may_arg;
    /* That an earlier search of the problem found, in as much memory or more:
     * it is not looked for again. NULL: there was none. */
    const rlf_less *less;
} rlf_search_options;

/* Placements that a search keeps, and of those that it found with less. */
enum { RLF_SEARCH_KEPT = 10, RLF_SEARCH_LESS = 4 };

typedef struct rlf_found {
    rlf_placing best;
    /* The best one and others, sorted by period, for who can judge better than
     * the estimate. They differ in where calls are: in how many ranks one has,
     * or two have in common. Of those that differ in cuts alone, and of mirror
     * images, here is the best. */
    rlf_placing kept[RLF_SEARCH_KEPT];
    int n_kept;
    double bound;  /* no placement of choices that no other beats, and none
                      that was looked at, has a shorter period */
    bool optimal;  /* best is as short as any of these, but for rounding */
    bool stopped;  /* `stop` ended it: seed and budget do not repeat it */
    int64_t looks; /* placements looked at */
    const rlf_less *less; /* what was found with less */
    /* The best with less memory or fewer ranks, the shortest first, that are
     * not kept: in the same places calls may be cut otherwise. */
    rlf_placing lesser[RLF_SEARCH_LESS];
    int n_lesser;
    /* The shortest that was found with just as much as there is, if it is
     * shorter than `best`: with more it may not be found. A search that is
     * stopped ends with one like it. Else with infinite period. */
    rlf_placing here;
} rlf_found;

/* Finds a placement, in `arena`. A problem into whose devices nothing fits is
 * no error: see rlf_placing. */
void rlf_search(const rlf_problem *problem, const rlf_search_options *options,
                rlf_arena *arena, rlf_found *out);
/* The period of a placement, or INFINITY and `over` if it does not fit. */
void rlf_placing_look(rlf_estimator *e, rlf_placing *p);
/* The same, but a period that is longer than `limit` may be INFINITY, and `over`
 * of a placement that is longer is not known. */
void rlf_placing_look_below(rlf_estimator *e, rlf_placing *p, double limit);
/* The shorter period; of those that do not fit, what is closer to it. */
bool rlf_placing_better(const rlf_placing *a, const rlf_placing *b);
/* Do two placements of a problem put calls on ranks in the same way, as above?
 * Outside of search.c only tests ask, of what a search gives. */
bool rlf_search_alike(const rlf_problem *problem, const int *a, const int *b);
/* The memory of several descents that may choose the same. In `arena`. */
typedef struct rlf_descents rlf_descents;
rlf_descents *rlf_descents_new(const rlf_problem *problem, rlf_arena *arena);
/* Moves one call at a time to its best choice while that helps; call i to one
 * of within[i] only (NULL: to any). False: it came to where one of `before` had
 * been (NULL: none is known), and would end as that one did. */
bool rlf_search_descend(rlf_estimator *e, const rlf_problem *problem,
                        const rlf_mesh_span *within, rlf_descents *before,
                        rlf_placing *at);
/* Gives calls other cuts on their ranks, also those that others beat by
 * themselves, one at a time while that helps. Such a cut may still be better
 * beside others: a call that is cut as the model is trained needs no weights to
 * be moved, which takes long where links are slow. A search among all of those
 * would find less with as many moves. */
void rlf_search_recut(rlf_estimator *e, const rlf_problem *problem,
                      rlf_placing *at);
/* rlf_search_descend on the first ranks. */
void rlf_search_descend_on(rlf_estimator *e, const rlf_problem *problem,
                           int ranks, rlf_placing *at);
/* The proof: lowers *best where it finds better, and gives the bound that
 * it has proved with at most `branches` placements looked at. */
typedef struct rlf_proof {
    double bound;
    bool optimal, stopped;
    int64_t looks;
} rlf_proof;
/* The choices of a call on those ranks, or NULL. */
const rlf_mesh_span *rlf_search_mesh(const rlf_problem_call *call, int first,
                                     int count);
void rlf_search_branch(rlf_estimator *e, const rlf_problem *problem,
                       const rlf_search_options *options, rlf_arena *arena,
                       rlf_placing *best, rlf_proof *out);
/* Seconds below which no period is, whatever is placed: what each call alone
 * makes inevitable. It takes a look at each choice. */
double rlf_search_bound(rlf_estimator *e, const rlf_problem *problem);

#endif
