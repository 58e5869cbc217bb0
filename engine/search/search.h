/* The search: a placement of a problem's calls with a short period.
 *
 * Annealing over placements by the estimate, restarted, each run ended by
 * coordinate descent; then branch and bound, which starts from the best one and
 * proves how far from it the best there is can be. Budgets are counted in
 * placements looked at, not in seconds: the answer is a function of problem,
 * seed and budget, on every machine. Who has no time stops it, and knows. */
#ifndef RLF_SEARCH_SEARCH_H
#define RLF_SEARCH_SEARCH_H

#include "engine/search/estimate.h"

typedef struct rlf_placing {
    int *choice;   /* per call */
    double period; /* by the estimate; INFINITY: nothing fits */
    double over;   /* then: bytes by which the closest one does not */
} rlf_placing;

typedef struct rlf_search_options {
    uint64_t seed;
    int64_t moves;    /* placements that annealing looks at */
    int64_t branches; /* and branch and bound; 0: no proof is tried */
    /* Called now and then with the best so far and, once something is proved,
     * its bound (else 0): true ends the search. NULL: nobody looks. */
    bool (*stop)(void *arg, double period, double bound);
    void *arg;
} rlf_search_options;

/* Placements that a search keeps. */
enum { RLF_SEARCH_KEPT = 10 };

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
} rlf_found;

/* In `arena`. A problem into whose devices nothing fits is no error: see
 * rlf_placing. */
void rlf_search(const rlf_problem *problem, const rlf_search_options *options,
                rlf_arena *arena, rlf_found *out);
/* The period of a placement, or INFINITY and `over` if it does not fit. */
void rlf_placing_look(rlf_estimator *e, rlf_placing *p);
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
/* The first half: annealing, and from `starts` downhill; no proof. */
void rlf_search_anneal(const rlf_problem *problem,
                       const rlf_search_options *options,
                       const rlf_placing *starts, int n_starts,
                       rlf_arena *arena, rlf_found *out);
/* The search starts from its answers on the next smaller size of
 * rlf_search_sizes, and (on up to 256 ranks) with no more than so much memory:
 * 20, 40, ..., 160 GB, the largest that is less than there is. They start from
 * their own likewise, so that none of those is shorter than the answer here,
 * with moves of up to 8,000 (more are not spent on them). Returns how many fit;
 * in `arena`. */
int rlf_search_smaller(const rlf_problem *problem,
                       const rlf_search_options *options, rlf_arena *arena,
                       rlf_placing out[2]);
/* Sizes of that, and to how many bytes the memory of a device is lowered. */
enum { RLF_SEARCH_SIZES = 32, RLF_SEARCH_RUNGS = 8 };
/* All ranks, their half, quarter ..., and as many whole machines as there are
 * up to 8, of more a power of two; in one machine, of a number that is none
 * (rlf_cluster_meshes), more than half as well; descending. Returns how many.
 */
int rlf_search_sizes(const rlf_problem *problem, int sizes[RLF_SEARCH_SIZES]);
enum { RLF_SEARCH_SMALLER_MOVES = 8000 };
/* The bytes to which it is for so many ranks of a problem, descending; the
 * first is no limit. Returns how many. */
int rlf_search_rungs(const rlf_problem *problem, int ranks,
                     double rungs[RLF_SEARCH_RUNGS + 1]);
/* The second half: lowers *best where it finds better, and gives the bound that
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

#endif
