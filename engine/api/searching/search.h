/* The search of a session: where the calls of its program run best on the
 * cluster that it is planned for.
 *
 * The estimate finds placements; plans of the best of them are then simulated,
 * and so are those of others. The one with the shortest step in the simulation
 * is the answer, whoever found it. */
#ifndef RLF_API_SEARCHING_SEARCH_H
#define RLF_API_SEARCHING_SEARCH_H

#include "engine/api/simulating/mean_step.h"
#include "engine/api/simulating/workload.h"
#include "engine/search/baseline.h"
#include "engine/search/pareto.h"

/* Plans for more ranks are not simulated: it would take too long. */
enum { RLF_SEARCH_SIMULATED = 128 };
/* The candidates at most: what the search keeps and found with less, the
 * session's own plan, all
 * calls on a half of the ranks, a quarter, and so on, the baselines, the best
 * of these with other cuts, and the best with other words of a generation's
 * row, or with two updates in one pipeline. */
enum {
    RLF_SAMPLED_BASES = 3, /* placements whose generations are looked at */
    RLF_SAMPLED_POINTS = 128,
    RLF_FUSED_PAIRS =
        6, /* cuts of two updates that are tried in one pipeline */
    RLF_SEARCH_CANDIDATES = RLF_SEARCH_KEPT + RLF_SEARCH_LESS + 1 + 1 + 1 + 16 +
                            RLF_BASELINES + RLF_SAMPLED_BASES + 1 +
                            2 * RLF_FUSED_PAIRS
};
/* Placements that a search looks at, and as many again for its proof, where
 * nobody says more. */
enum { RLF_SEARCH_MOVES = 400000 };
/* The steps of these simulations: the first learn how long responses are. Where
 * lengths are drawn, steps differ, and more of them are taken. */
enum {
    RLF_SIMULATED_WARM = 2,
    RLF_SIMULATED_STEPS = 2,
    RLF_SIMULATED_DRAWN = 6
};

typedef struct rlf_search_candidate {
    const char *name; /* "search", or whose it is: "program", "first-2",
                         "flatten" */
    int place;        /* "search": by the estimate, from 1 on; else 0 */
    bool first;       /* "first-2" and so on */
    bool is_known; /* it is one of the placements that were searched, `placing`
                    */
    rlf_placing placing;
    /* It is that one, by its index, with words of generations; -1: none. */
    int base;
    /* "actor.generate (migrate: 40, seats: 16)", or which updates are in one
     * pipeline; NULL: it has no such words. */
    const char *words;
    double without;      /* seconds of a step without them */
    rlf_place_row *rows; /* the place rows of its plan; NULL: there are none but
                            the plan itself */
    int n_rows;
    rlf_plan *plan;  /* NULL: there is none */
    double memory;   /* bytes of the rank that takes most; 0: no plan */
    double fill;     /* the largest part of a device's memory that it takes */
    double lacks; /* bytes that a device lacks at most; below 0: to spare */
    bool host_lacks; /* a host has too little memory for what is offloaded */
    bool simulated;  /* it was simulated, which gave what follows */
    double step;     /* seconds of one, on average over a run */
    const rlf_mean_step *mean;
    const rlf_page_room *pages; /* per node: what a replica has of them */
} rlf_search_candidate;

typedef struct rlf_session_search_options {
    rlf_search_options search;
    /* Numbers of shards and lanes that the plan must have, per resource, 0: as
     * it comes; NULL: all as they come. */
    const rlf_sums *sums;
    bool keeps;    /* the search keeps what the place rows of the program say;
                      beside `auto` it always does */
    bool estimate; /* it alone judges: nothing is simulated, and placements of
                      others are left out */
    /* Called before each layout that is measured, with what part of all is
     * done: true ends it, and the search goes on with what there is. NULL:
     * nobody looks. */
    /* Called with the argument of `search`. */
    bool (*measuring)(void *arg, double part);
    /* Called before a simulation: the i-th of n. NULL: nobody looks. */
    /* Called with the argument of `search`. */
    void (*simulating)(void *arg, int i, int n);
    bool unhinted; /* an error does not say how many machines would do, which
                      takes searches of its own */
} rlf_session_search_options;

/* A threshold and seats of a generation, with the step that they would give. */
typedef struct rlf_sampled_point {
    int base, call;     /* the candidate, and the call of the problem (-1: all
                           generations) */
    int migrate, seats; /* seats -1: not said */
    double step;        /* seconds, by simulation */
} rlf_sampled_point;

/* A table for two updates, with the step that it would give. */
typedef struct rlf_fused_point {
    const char *words;    /* "actor.update (tp: 2, pp: 8) and ..." */
    double step, without; /* seconds; INFINITY: that does not fit */
} rlf_fused_point;

typedef struct rlf_session_found {
    /* The lengths that seconds are counted for. */
    rlf_session_workload workload;
    rlf_pareto pareto;
    rlf_found found;
    rlf_search_candidate
        candidates[RLF_SEARCH_CANDIDATES]; /* the search's first */
    int n_candidates;
    rlf_sampled_point *sampled; /* all that were simulated */
    int n_sampled;
    rlf_fused_point *fused; /* the tables that were simulated */
    int n_fused;
    const rlf_search_candidate *best; /* the answer */
    /* Per call of the problem: what its seconds in the answer are made of, by
     * the estimate; 0 where it is none of the placements that are searched. */
    rlf_seconds *terms;
    bool stopped; /* `stop` ended it, so nothing repeats it */
} rlf_session_found;

/* Into how many machines of its cluster's kind the session's program fits, by a
 * short search: those that there are, or twice as many as often as it takes. 0:
 * into none that were tried, or it cannot be known. */
int rlf_session_machines(rlf_session *session);
/* After rlf_session_plan of a session with a cluster; in its arena. Of what the
 * program says of placement only shards and lanes change what is found, unless
 * its place rows are to be kept. */
rlf_status rlf_session_find(rlf_session *session,
                              const rlf_session_search_options *options,
                              rlf_err *err, rlf_session_found *out);

#endif
