/* Weights from one cut of a model to another: this rank's part in a weight
 * edge (engine/plan/realloc.h says which).
 *
 * Both cuts have the same tensors, in the order of their tables. What goes to
 * one rank in one round is one message, in strided rows that lie in the weights
 * themselves: nothing is packed. But matrices on their way to models by layer
 * travel as what they are read as: where that is bf16, their first sender
 * rounds them, RLF_MOVE_STAGE bytes at a time, and they arrive where they stay.
 * Not here: which ranks hold what. */
#ifndef RLF_MODEL_MOVE_H
#define RLF_MODEL_MOVE_H

#include "engine/graph/resource.h"
#include "nodes/model/model.h"

/* Bytes that a model which serves others has for it (rlf_model_options.stage).
 */
#define RLF_MOVE_STAGE ((size_t)16 << 20)

/* The tensors of a table, of all stages, as engine/layout sees them, in
 * `arena`. */
rlf_shapes rlf_move_shapes(const rlf_table *table, rlf_arena *arena);

/* `from` is this rank's part under the old layout, `to` under the new one; NULL
 * where it has none; the same where both are cut alike. All ranks of the edge
 * make the call. `to` has a new version then. Adds what this rank sent to
 * *moved. */
rlf_status rlf_move_weights(rlf_model *from, rlf_model *to,
                            const rlf_weight_edge *edge,
                            struct rlf_group *world, rlf_err *err,
                            rlf_moved *moved);

#endif
