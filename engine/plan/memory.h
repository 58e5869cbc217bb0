/* The memory of a rank by purpose, and the cost of a step, from a plan and the
 * resources that it opened (README.md, Caps and memory).
 *
 * Device memory is exact: what stands here is what is allocated, before the
 * first step. Host memory is a bound. */
#ifndef RLF_PLAN_MEMORY_H
#define RLF_PLAN_MEMORY_H

#include "engine/plan/plan.h"

/* A plan with its resources open; per resource of the graph. */
typedef struct rlf_opened {
    const rlf_plan *plan;
    void *const *resource;
    int rank; /* the rank that has them */
} rlf_opened;

/* Sizes with nothing left open, in `arena`. */
rlf_sizes rlf_opened_sizes(const rlf_opened *opened, rlf_arena *arena);
/* Counts of all runs of a node on that rank in a step that takes every branch.
 */
rlf_cost rlf_opened_cost(const rlf_opened *opened, const rlf_sizes *sizes,
                         int node);
/* The same of an update, but for host bytes, as if its samples shared their
 * prompt (rlf_loss.shared). */
rlf_cost rlf_opened_cost_shared(const rlf_opened *opened,
                                const rlf_sizes *sizes, int node);
/* Counts one piece of a node's work there, once. */
rlf_cost rlf_opened_piece(const rlf_opened *opened, const rlf_sizes *sizes,
                          int node, const rlf_piece *piece);
/* Adds a row for each purpose. */
void rlf_opened_memory(const rlf_opened *opened, rlf_memory *out);
/* Bytes of rows that an edge between ranks sends or receives at most at the
 * caps; a rank keeps as many that receivers have not taken yet. */
uint64_t rlf_opened_edge(const rlf_opened *opened, rlf_arena *arena);

/* Bytes that a rank may take. */
typedef struct rlf_memory_room {
    uint64_t host;
    uint64_t device; /* 0: its device's memory is the host's */
    /* Bytes of the device that were free, bytes that it has, and the ranks that
     * share it. */
    uint64_t free, all;
    int ranks;
} rlf_memory_room;

/* More rows than fit: says how much is missing on that rank (-1: there is no
 * other), what takes most of what a cap can lower, and which cap; of a device's
 * memory also what takes most at all, and whether others have taken of it.
 * RLF_USER of the host's memory, RLF_ENV of a device's. */
rlf_status rlf_memory_fits(const rlf_memory *memory,
                           const rlf_memory_room *room, int rank, rlf_err *err);
/* Is it that error? */
bool rlf_memory_is_missing(const rlf_err *err);
/* Are they the same bytes for the same purposes? */
bool rlf_memory_same(const rlf_memory *a, const rlf_memory *b);
/* Device and host bytes of all rows. */
uint64_t rlf_memory_total(const rlf_memory *memory);

#endif
