/* A program on a cluster as a problem of the search: which calls it makes, and
 * for each the layouts on every mesh that no other beats.
 *
 * A layout's seconds are those of the pieces of its stages for rows
 * as long as expected (calls.h), of the slowest replica; its bytes are those that a plan of it prints.
 * Calls of one kind on one model are one call, since one row places them; those
 * in an `every N steps` count 1/N, for a step on average.
 * Edges, hooks and the controller take no time here: a simulation has them. */
#ifndef RLF_SEARCH_PARETO_H
#define RLF_SEARCH_PARETO_H

#include "engine/graph/place.h"
#include "engine/mesh/outline.h"
#include "engine/search/moves.h"
#include "engine/search/pipelines.h"
#include "engine/search/problem.h"
#include "engine/timing/seconds.h"
#include "engine/timing/workload.h"

typedef struct rlf_pareto_options {
    const rlf_graph *graph;
    const rlf_outline *outline;
    const rlf_speeds *speeds;
    const int *rank_of; /* per rank of the cluster of these speeds, and of the
                           problem, the one that it is in plans and place rows;
                           NULL: each is itself */
    /* Options of candidates: ranks, backend, dtype. */
    const rlf_plan_options *plan;
    const rlf_workload *workload; /* NULL: all rows are as long as can be */
    bool keeps; /* it keeps what the graph's place rows say (fixed_rows.h) */
    bool room;  /* whether it fits is all that is asked: the fewest lanes, meshes
                   and words with which calls take least, and generations are
                   timed with all pages that they have a use for alone */
    /* The program's problem on the same cluster, on as many ranks or more:
     * models with the same sums have its choices, and with other lanes those of
     * all calls but updates. NULL: all are measured. */
    const struct rlf_pareto *like;
    rlf_pipelines *pipelines; /* pipelines that were timed, of all models; NULL:
                                 each model has its own */
    rlf_moves *moves; /* moves of weights that were timed, of all models; NULL:
                         each model has its own */
    int real; /* bytes of an activation, as which weights go to where they are
                 read; 0: as those of f32 */
    /* Called before each layout that is measured, with how many meshes of how
     * many are done: true, and meshes after each model's first that has a way
     * to run all its calls are left out. NULL: nobody looks. */
    bool (*stop)(void *arg, int done, int all);
    void *arg;
} rlf_pareto_options;

/* The nodes that a call of the problem stands for. */
typedef struct rlf_pareto_call {
    int model; /* resource */
    const rlf_node_class *class;
    /* The model with the fewest shards among those whose weights are taken to
     * where the call runs (rlf_place_borrows): the call's tp divides these,
     * too. -1: nothing binds it. */
    int lender;
} rlf_pareto_call;

/* The program on the first ranks, with no more memory than a level
 * (rlf_less_level), and the lanes that it would have there. */
typedef struct rlf_pareto_lesser {
    int ranks, level;
    int *lanes; /* per resource; 0: as here */
} rlf_pareto_lesser;

/* Machines of one kind of which all runs are meshes; of more only some. */
enum { RLF_PARETO_RUNS = 32 };

typedef struct rlf_pareto {
    rlf_problem problem;
    bool some;             /* not all meshes are looked at */
    rlf_pareto_call *calls; /* per call of it */
    rlf_pareto_options options;
    rlf_moves *moves;
    const int *ranks; /* each its number */
    /* Per resource: */
    int *shapes;       /* by model: its number among those that moves know */
    uint32_t *longest; /* tokens that its micro-batches have room for, at least
                        */
    rlf_sums *sums;    /* shards and lanes, fixed before anything is searched */
    int *fewest; /* lanes that it could have; 0: it has those that are given */
    /* Less of the cluster that would have other lanes: of each such lanes the
     * most ranks. */
    rlf_pareto_lesser *lesser;
    int n_lesser;
} rlf_pareto;

/* All in `arena`; the options must live as long. RLF_USER if the program calls
 * no model, or if one has no layout at all, or none that keeps its place row:
 * then with what the last one that was tried says. */
rlf_status rlf_pareto_make(const rlf_pareto_options *options, rlf_arena *arena,
                           rlf_err *err, rlf_pareto *out);
/* The rank of plans that a rank of the problem is. */
static inline int
rlf_pareto_rank(const rlf_pareto *pareto, int rank)
{
    const int *of = pareto->options.rank_of;
    return of ? of[rank] : rank;
}
/* The call of the problem that a node belongs to, or -1. */
int rlf_pareto_call_of(const rlf_pareto *pareto, const rlf_node *node);
/* The part of late steps that have the node: 1/N in an `every N steps` (see
 * rlf_answer_interval). What none has (rlf_answer_taken) counts next to
 * nothing: of placements that are alike without it the faster one is found. */
double rlf_pareto_share(const rlf_pareto *pareto, const rlf_node *node);
/* The choices that a plan of the same graph has made, into choice[n_calls].
 * False if one of them is not among those of the problem: ranks that are no
 * mesh of it, or words of a row that others beat. */
bool rlf_pareto_find(const rlf_pareto *pareto, const rlf_plan *plan,
                     int *choice);
/* The place rows of a placement, in `arena`: *n, one for each model, with its
 * shards and lanes, one for each call, and those that are kept of models that
 * nobody calls. */
rlf_place_row *rlf_pareto_rows(const rlf_pareto *pareto, const int *choice,
                               rlf_arena *arena, int *n);

#endif
