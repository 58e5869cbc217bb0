/* A walk over placements: downhill from some, and annealing, which takes a
 * longer one now and then. It remembers the best that it came by, and others
 * that put calls elsewhere. As many looks more only add to what was seen. */
#ifndef RLF_SEARCH_WALK_H
#define RLF_SEARCH_WALK_H

#include "engine/base/splitmix.h"
#include "engine/search/search.h"

/* Choices that a walk may take: those on the first ranks. */
typedef struct rlf_search_scope {
    int ranks;
    int *choices[RLF_SEARCH_CALLS]; /* per call, ascending */
    int n[RLF_SEARCH_CALLS];
} rlf_search_scope;

/* Memory that a walk leaves, in parts of it, that are told from each other. */
enum { RLF_LESS_SLACKS = 8 };
#define RLF_LESS_SLACK 0.03

/* The placements from which annealing starts. */
typedef enum rlf_walk_start {
    RLF_WALK_BEST,     /* the best so far; if there is none, as FASTEST */
    RLF_WALK_ANYWHERE, /* each call somewhere */
    RLF_WALK_FASTEST,  /* every call on the most ranks that it may have, in its
                          fastest way there */
} rlf_walk_start;

typedef struct rlf_walk {
    /* Given by who makes one. */
    const rlf_problem *problem;
    rlf_estimator *e; /* of the problem */
    const rlf_search_options *options;
    const rlf_search_scope *scope;
    /* INFINITY: it does not matter how much of it is left. Else the shortest
     * placement of all that leave i * RLF_LESS_SLACK of it goes to slack[i],
     * which has room for it. */
    double memory;
    rlf_placing *slack;
    rlf_found *found; /* `best`, `kept`, `stopped` and `looks` are kept up */
    /* Made by rlf_walk_begin. */
    rlf_splitmix chance;
    rlf_placing now; /* where it is */
    rlf_placing run; /* the best since it started last */
} rlf_walk;

/* A walk's memory of placements, of which there are none yet. */
void rlf_walk_found(const rlf_problem *problem, rlf_arena *arena,
                    rlf_found *out);
/* Remembers a placement in out->kept, unless there are shorter ones enough. */
void rlf_walk_keep(const rlf_problem *problem, const rlf_placing *at,
                   rlf_found *out);
/* `stream` tells one walk's chance from another's. */
void rlf_walk_begin(rlf_walk *walk, uint32_t stream, rlf_arena *arena);
/* Goes to `from` and from there downhill. */
void rlf_walk_descend(rlf_walk *walk, const rlf_placing *from);
/* So many moves from there. */
void rlf_walk_anneal(rlf_walk *walk, rlf_walk_start start, int64_t moves);
/* Looks at placements next to those that are kept, which it may not have come
 * by. */
void rlf_walk_around(rlf_walk *walk);

#endif
