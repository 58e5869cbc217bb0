/* Resources as a rank of a plan would open them, without a device, other ranks
 * or weights: good for caps, memory and the costs of nodes, so that many plans,
 * also for more ranks than there are here, can be looked at.
 *
 * Configs, tokenizers, data and hooks are the same for all plans and ranks, and
 * are read once. Of a model that is read from a directory its config.json is
 * enough; without a tokenizer, prompts are not held to a context. */
#ifndef RLF_MESH_OUTLINE_H
#define RLF_MESH_OUTLINE_H

#include "engine/plan/memory.h"

typedef struct rlf_outline rlf_outline;

/* `kernels`: those of the device that is planned for; its packings decide what
 * models take. The graph must outlive it. */
rlf_status rlf_outline_open(const rlf_graph *graph,
                            const struct rlf_kernels *kernels, rlf_err *err,
                            rlf_outline **out);
void rlf_outline_close(rlf_outline *outline); /* NULL is fine */
/* The environment that is the same for all plans and ranks: data and hooks as a
 * run has them, models without weights; it ends with the outline. */
const rlf_env *rlf_outline_env(const rlf_outline *outline);
/* Per resource: how many layers a model has; 0 of all else. */
const int *rlf_outline_layers(const rlf_outline *outline);
/* Those of one rank of a plan for the same graph, or a copy of it with another
 * placement; they end with `arena`, which must end before the outline does. */
rlf_status rlf_outline_rank(const rlf_outline *outline, const rlf_plan *plan,
                            int rank, rlf_arena *arena, rlf_err *err,
                            rlf_opened *out);

#endif
