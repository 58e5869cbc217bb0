/* Tensors and their slices: which part of which weight does a rank hold?
 *
 * A model's weights are a list of matrices, each with a rule for how tensor
 * parallelism splits it and the layer whose pipeline stage holds it. What is
 * stored as one but splits in parts (q, k and v; gate and up) is several
 * tensors. Integers only: no memory here. */
#ifndef RLF_LAYOUT_SLICE_H
#define RLF_LAYOUT_SLICE_H

#include "engine/layout/layout.h"

/* The ways in which tp splits a tensor, in whole units (rlf_shape.unit). */
typedef enum rlf_split {
    RLF_SPLIT_NONE, /* replicated: norms, biases added after a sum */
    RLF_SPLIT_ROWS, /* output features ("column parallel"): gate, up and their
                     * biases (unit 1); q and its bias (unit: head_dim);
                     * embedding and head (unit: a tile of the vocabulary) */
    RLF_SPLIT_COLS, /* input features ("row parallel"): down (unit 1), o (unit:
                     * head_dim) */
    RLF_SPLIT_KV, /* rows of k and v (unit: head_dim): as rows while tp divides
                   * the heads; beyond, tp / heads ranks hold the same head */
} rlf_split;

/* Layers before the first and after the last. */
#define RLF_LAYER_FIRST (-1) /* with the first stage: the embedding */
#define RLF_LAYER_LAST (-2)  /* with the last stage: final norm, head */
#define RLF_LAYER_ENDS (-3)  /* with both: an embedding tied to the head */

typedef struct rlf_shape {
    const char *name;
    int layer; /* 0.., or one of the above */
    rlf_split split;
    int64_t rows, cols; /* the shape of the whole tensor; a vector has cols 1 */
    int64_t unit;       /* rows (or columns) that stay together; >= 1 */
    bool still;         /* nothing changes it: it is sent to nobody */
    bool floats; /* it is sent in f32, whatever the type of the others is */
} rlf_shape;

typedef struct rlf_shapes {
    const rlf_shape *list;
    int count;
    int layers; /* layers of the model */
} rlf_shapes;

/* If tensors go by layer: the layer; then those of no layer, and an
 * embedding of its own last of all, so that it and the head are not on their
 * way at once. */
static inline int
rlf_layer_turn(const rlf_shapes *shapes, int tensor)
{
    int layer = shapes->list[tensor].layer;
    if (layer >= 0)
        return layer;
    return shapes->layers + (layer == RLF_LAYER_FIRST);
}

/* Counts the turns of that order. */
static inline int
rlf_layer_turns(const rlf_shapes *shapes)
{
    return shapes->layers + 2;
}

/* Part of a tensor, in its own coordinates. Empty boxes have no meaning beyond
 * being empty. */
typedef struct rlf_box {
    rlf_range rows, cols;
} rlf_box;

/* A box inside a stored one (row-major, no gaps): `rows` runs of `cols`
 * elements, the first at `offset`, each `stride` after the one before. */
typedef struct rlf_strided {
    int64_t offset, stride, rows, cols;
} rlf_strided;

/* A box of a tensor on its way from one rank's slice to another's. */
typedef struct rlf_send {
    int from, to; /* ranks; equal: a copy */
    int tensor;   /* index in the shapes */
    rlf_box box;  /* the box of the whole tensor */
    rlf_strided source; /* the rows in from's slice: of the old layout, or of
                           the new one if after >= 0 */
    rlf_strided target; /* the rows in to's slice of the new layout */
    int after; /* index of the send that brings it to `from`; -1: it is there */
    int round; /* > that of `after`; sends of a round may go together */
} rlf_send;

/* Checks what rlf_layout_box needs, RLF_USER by the name of what fails: tp
 * divides the units of a tensor, of k and v or is a multiple of them; there are
 * no more stages than layers. */
rlf_status rlf_layout_check_shapes(const rlf_layout *layout,
                                   const rlf_shapes *shapes, rlf_err *err);

/* The part of a tensor that a rank holds; empty if none. */
rlf_box rlf_layout_box(const rlf_layout *layout, const rlf_shapes *shapes,
                       int tensor, int rank);
/* The same by coordinates. */
rlf_box rlf_layout_box_at(const rlf_layout *layout, const rlf_shapes *shapes,
                          int tensor, rlf_coordinates at);
int64_t rlf_box_count(rlf_box box);
rlf_box rlf_box_meet(rlf_box a, rlf_box b);
/* `part` (not empty, inside `whole`) as it lies in the stored `whole`. */
rlf_strided rlf_box_within(rlf_box whole, rlf_box part);

#endif
