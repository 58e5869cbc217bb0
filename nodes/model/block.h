/* The block of a model: which parts it has, where each lies, how many bytes.
 *
 * Counted and given out by one function (suballocate.h). For the files that
 * make a model (model.c), pack it (pack.c) and move it (move.c); whoever uses
 * one takes model.h. */
#ifndef RLF_MODEL_BLOCK_H
#define RLF_MODEL_BLOCK_H

#include "nodes/model/suballocate.h"
#include "nodes/model/model.h"

/* The part that this replica steps: all of it unless it is shared out. */
rlf_slices rlf_block_slices(const rlf_table *table,
                            const rlf_model_options *options, rlf_arena *arena);
/* Sets every part of the model. What may be lent comes last. */
rlf_model_bytes rlf_block_suballocate(rlf_model *model,
                                      rlf_suballocator *suballocator,
                                      const rlf_model_options *options);
rlf_cut rlf_block_cut(const rlf_model_options *options);

/* The layer that has a matrix, or config.layers. */
int rlf_block_layer(const rlf_table *table, int64_t offset);
/* The matrices of a layer lie together: how many floats. */
int64_t rlf_block_layer_floats(const rlf_table *table, int layer);

/* The float that a table has at `offset`: among the weights or, by
 * layer, the vectors; a matrix, where it lands. */
float *rlf_block_place(const rlf_model *model, int64_t offset);

/* The place where a tensor stays, or lands: a packed matrix by layer, else
 * floats. */
typedef struct rlf_spot {
    char *at;
    size_t number, row; /* bytes of a number, and from a row to the next */
} rlf_spot;
rlf_spot rlf_block_spot(const rlf_model *model, const rlf_slot *slot);

/* Bytes of matrices that are rounded at a time on their way to other models:
 * as the options say, but no more than there are and a row at least. Alike on
 * all ranks; 0: they travel as they are. */
size_t rlf_block_stage(const rlf_model *model,
                       const rlf_model_options *options);

#endif
