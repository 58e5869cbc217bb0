/* Measured costs of one model's calls on a layout, with the words of a place
 * row: recompute, zero, tokens, a schedule, offload.
 *
 * A plan that has only this model there is made and outlined, on one rank of
 * each kind of stage (stages.h), of each kind of replica. */
#ifndef RLF_SEARCH_MEASURE_H
#define RLF_SEARCH_MEASURE_H

#include "engine/graph/run.h"
#include "engine/search/calls.h"
#include "engine/search/pareto.h"

/* The variant of a choice: a sum of these. */
enum {
    RLF_VARIANT_RECOMPUTE = 1,
    RLF_VARIANT_ZERO = 2,
    RLF_VARIANT_SPLIT = 4, /* schedule: "zb-h1" */
    RLF_VARIANT_OFFLOAD = 8,
    RLF_VARIANT_VEE = 16,         /* schedule: "zb-v" */
    RLF_VARIANT_INTERLEAVED = 32, /* schedule: "interleaved", of two chunks */
    RLF_VARIANT_AHEAD = 64,       /* schedule: "zb-h2" */
    RLF_VARIANT_SCHEDULES = RLF_VARIANT_SPLIT | RLF_VARIANT_VEE |
                            RLF_VARIANT_INTERLEAVED | RLF_VARIANT_AHEAD,
    /* Times a step: tokens of a micro-batch are what the caps say (0), one
     * sequence (1), twice, four times ... (2, 3, ...) the default; an update's
     * steps, and those of a reading, whose activations nobody keeps. From
     * RLF_VARIANT_HALF on they are a half, a quarter ... of the default. */
    RLF_VARIANT_TOKENS = 128,
    RLF_VARIANT_STEPS = 4,
    RLF_VARIANT_READ_STEPS = 9,
    RLF_VARIANT_HALF = 16,
    /* Added to a step once to three times: a quarter more of its tokens each
     * time. */
    RLF_VARIANT_QUARTER = 32,
    RLF_VARIANT_QUARTERS = 4,
};

/* Seconds of a generation with fewer and fewer pages, of the stages that were
 * looked at so far. */
typedef struct rlf_measured_pages {
    double peak; /* pages with which no sample waits */
    double seconds[RLF_PAGE_PARTS];
} rlf_measured_pages;

typedef struct rlf_call_measure {
    const rlf_pareto *pareto;
    int model, layers;
    /* The model is updated; the model is called otherwise. */
    bool trains, reads;
    bool untimed; /* of calls other than updates bytes alone are asked for,
                     since their choices are known */
    bool unified;            /* memory of host and device is one */
    int only;                /* the only call that is asked for; -1: all are */
    rlf_arena *scratch;      /* the arena of one layout at a time */
    rlf_arena *arena;        /* the arena of what lasts for all layouts */
    rlf_arena *kept; /* the arena of the choices, for what they point to */
    struct rlf_plays *plays; /* turns that were played before (pages.c) */
    rlf_pipelines *pipelines; /* pipelines that were timed before */
    rlf_measured_pages pages[RLF_SEARCH_CALLS];
    rlf_choice_stage *stages; /* of the layout at hand, in `scratch` */
    rlf_pool pool; /* the pool of the stage whose pages take most; bytes 0: none
                      has pages */
    const rlf_expected_set *expected; /* per set, the same on every layout */
    uint32_t longest; /* tokens that a micro-batch has room for at least */
    uint32_t tokens[RLF_N_USES]; /* tokens of a micro-batch of the last layout,
                                    by use */
    rlf_choice choice[RLF_SEARCH_CALLS]; /* per call of the problem; seconds 0:
                                            it cannot be run so */
    rlf_seconds terms[RLF_SEARCH_CALLS]; /* of those seconds, but for what cores
                                            that are shared add */
} rlf_call_measure;

/* RLF_USER if the model cannot be read. rlf_measure_end in any case. What
 * choices point to lies in `kept`. */
rlf_status rlf_measure_begin(rlf_call_measure *m, const rlf_pareto *pareto,
                             int model, rlf_arena *kept, rlf_err *err);
void rlf_measure_end(rlf_call_measure *m);
/* Fills `choice`. RLF_USER: the model cannot be cut so. */
rlf_status rlf_measure_layout(rlf_call_measure *m, const rlf_choice *at,
                              rlf_err *err);
/* The call of the problem that a node of the model belongs to, or -1. */
int rlf_measure_call(const rlf_call_measure *m, const rlf_node *node);
/* Tokens of a micro-batch, by the steps of a variant: how often the default can
 * be halved until it is a sequence or less. */
int rlf_measure_halves(const rlf_pareto *pareto, int model);
/* The same of one step, and of the next larger one. */
uint32_t rlf_measure_tokens(const rlf_pareto *pareto, int model, int step);
uint32_t rlf_measure_more(const rlf_pareto *pareto, int model, int step);
/* The words of a variant, into a place row of that call. */
void rlf_measure_words(const rlf_pareto *pareto, int model,
                       const rlf_node_class *call, int variant,
                       rlf_place_row *row);
/* The `offload:` of a place row of the whole model under a variant. */
int rlf_measure_offload(const rlf_pareto *pareto, int model, int variant);
/* Puts the place row on these at->count ranks, cut as the choice is; the place
 * row borrows them. */
void rlf_place_row_cut(rlf_place_row *row, const rlf_choice *at,
                       const int *ranks);

/* ---- pages.c ---- */

/* Returns the division of a generation's rows on the opened rank: where its
 * pages do not depend on what other calls leave (on a host) by how many there
 * are. */
rlf_call_cut rlf_measure_cut(rlf_call_measure *m, const rlf_opened *opened,
                             const rlf_sizes *sizes, const rlf_node *node);
/* Adds to `pages` what the generations of the model take where they have fewer
 * pages than they have a use for. */
void rlf_measure_pages(rlf_call_measure *m, const rlf_opened *opened,
                       const rlf_sizes *sizes);
/* Into the choices of generations. */
void rlf_measure_put_pages(rlf_call_measure *m);

#endif
