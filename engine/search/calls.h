/* Costs of a model's calls on a layout: the seconds of a step's runs, by
 * the counts of their pieces, and bytes of memory, by what they are there for.
 *
 * A generation takes turns: a pass of the model for each token, in as many
 * parts as there are stages; with fewer seats than samples, so many waves of
 * turns. A reading or an update goes through its stages in micro-batches, the
 * first of them through all before the last stage has work, and all of them
 * through the slowest; what they wait for messages says messages.h. Of a
 * generation each stage is as slow as the slowest. Edges between calls are not
 * part of it.
 *
 * Rows are as long as they are expected to be (workload.h), in buffers that are
 * made for the caps: how many rows a micro-batch has follows from both. */
#ifndef RLF_SEARCH_CALLS_H
#define RLF_SEARCH_CALLS_H

#include "engine/plan/memory.h"
#include "engine/search/problem.h"
#include "engine/search/pipelines.h"
#include "engine/search/stages.h"
#include "engine/timing/sampling.h"
#include "engine/timing/seconds.h"
#include "engine/timing/workload.h"

/* The division of a replica's rows. */
typedef struct rlf_call_cut {
    double micros; /* micro-batches of a reading or an update, on average */
    int seats;     /* samples that are generated at once, in all stages */
    const rlf_sampling_paged *paged; /* turns in which they wait for pages;
                                        NULL: there are enough */
    /* Pipelines that were timed before; NULL: none are kept. */
    rlf_pipelines *pipelines;
} rlf_call_cut;

/* Returns the cut that a run of the opened rank's plan makes of the rows of a
 * call, by its caps. `expected` per set. */
rlf_call_cut rlf_call_cut_of(const rlf_opened *opened, const rlf_sizes *sizes,
                             const rlf_expected_set *expected,
                             const rlf_node *node);
typedef struct rlf_call_times {
    double busy; /* seconds in which the rank waits for no other stage */
    /* These seconds, as those of a choice (problem.h). */
    double anew, scattered[RLF_SCATTERS];
    rlf_choice_messages messages;
    double complete[RLF_CHOICE_PARTS];
    /* Of a generation: replicas of which fewer and fewer go on with the last
     * samples (a half, a quarter ... 1), and seconds in which they then make
     * each part; `least`: parts that are complete before, with which they have
     * a seat for all that is left. */
    int n_gathers;
    struct {
        int on, least;
        double seconds[RLF_CHOICE_PARTS];
    } gather[RLF_GATHERS];
} rlf_call_times;
/* The sampling that the turns of a replica's generation follow from; `pages`:
 * without a limit, where one has so many tokens. */
void rlf_call_sampling(const rlf_opened *opened, const rlf_sizes *sizes,
                       const rlf_expected_set *expected, const rlf_node *node,
                       double tokens, rlf_sampling *out,
                       rlf_sampling_pages *pages);
/* Pieces that tell what a reading takes again for each. */
enum { RLF_CALL_PIECES = 4 };
enum { RLF_CALL_KINDS = RLF_STAGES_KINDS };
/* The stages of a replica, of the same plan: an opened rank of each kind that
 * there is. */
typedef struct rlf_call_stages {
    const rlf_opened *kinds;
    int n_kinds;
    const int *of; /* per stage: its kind; NULL: all are of the first */
} rlf_call_stages;
/* All runs of a call of a model in a step, of that replica. Pieces of which the
 * rank's device has a profile take what its lines say, as in a simulation. The
 * terms add up to the total: of a piece that waits for memory what it computes
 * is left out, and the other way round. `times` may be NULL. */
void rlf_call_seconds(const rlf_call_stages *stages, const rlf_sizes *sizes,
                      const rlf_expected_set *expected, const rlf_node *node,
                      rlf_call_cut cut, const rlf_speeds *speeds,
                      rlf_seconds *out, rlf_call_times *times);

/* Bytes of a model on a rank's device. */
typedef struct rlf_call_bytes {
    double kept;  /* weights, for all of its calls */
    double lends; /* gradients, part of own[RLF_STAGE_UPDATE] */
    double own[RLF_STAGE_UPDATE + 1]; /* more for those of a kind */
    double trained; /* weights, and what an update has more: on one rank */
    double host; /* offloaded weights, where memory is not one */
} rlf_call_bytes;

/* `unified`: what lies on the host is on the device too. */
rlf_call_bytes rlf_call_memory(const rlf_opened *opened, int model,
                               bool unified);

#endif
