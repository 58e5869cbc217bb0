/* The state of a run, shared by the files of this folder only. */
#ifndef RLF_SCHED_STATE_H
#define RLF_SCHED_STATE_H

#include "engine/base/vec.h"
#include "engine/sched/flight.h"
#include "engine/sched/run.h"

/* What one instance (engine/order) has made in this step. */
typedef struct slot {
    rlf_call call;
    bool opened;
    uint32_t n_rows; /* that its pieces are made of */
    uint32_t n_done;
} slot;

struct rlf_run {
    const rlf_plan *plan;
    const rlf_graph *graph;
    const rlf_classes *classes;
    rlf_run_options options;
    rlf_device *device;
    rlf_queue *queue;
    uint64_t scratch; /* device bytes of the queue itself */
    rlf_order *order;
    rlf_flight *flight;
    rlf_env env;
    void **node_state;   /* per node */
    bool *node_ready;    /* per node: init was called */
    RLF_VEC(slot) slots; /* per instance of this step */
    rlf_metrics metrics;
    uint32_t step; /* the last one done */
    bool ended;
    bool wants_checkpoint;
    bool failed;
};

/* step.c: the rows of `content` that the pieces of domain `domain` are made
 * of, or NULL. */
const rlf_space *rlf_content_rows(const rlf_graph *graph,
                                  const rlf_value *value,
                                  const rlf_content *content, int domain);

#endif
