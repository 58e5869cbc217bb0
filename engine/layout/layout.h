/* Meshes and layouts: integers only.
 *
 * A mesh is a list of ranks; a layout says how one model call is split over
 * it: tensor parallel (tp), pipeline parallel (pp), data parallel (dp), with
 * tp * pp * dp ranks, tp fastest, dp slowest. It answers two pure questions:
 * which rows does rank r hold, and which slice of which tensor? */
#ifndef RLF_LAYOUT_LAYOUT_H
#define RLF_LAYOUT_LAYOUT_H

#include "engine/base/status.h"

typedef struct rlf_layout {
    const int *ranks; /* the mesh, n_ranks of them, ascending */
    int n_ranks;
    int tp, pp, dp;
} rlf_layout;

/* Place of a rank in a layout; -1s if the mesh does not hold it. */
typedef struct rlf_coordinates {
    int tp, pp, dp;
} rlf_coordinates;

/* A half-open range of rows, columns or layers. */
typedef struct rlf_range {
    int64_t first, last;
} rlf_range;

/* RLF_USER, naming the number that does not fit, unless tp * pp * dp is the
 * number of ranks and all are positive and distinct. */
rlf_status rlf_layout_check(const rlf_layout *layout, rlf_err *err);
rlf_coordinates rlf_layout_find(const rlf_layout *layout, int rank);
/* The part of n things that place `index` of `count` holds: the first n %
 * count places hold one more. */
rlf_range rlf_range_part(int64_t n, int count, int index);
/* The samples out of `n` that a rank holds: those of its dp part. Empty for a
 * rank outside the mesh. */
rlf_range rlf_layout_rows(const rlf_layout *layout, int rank, int64_t n);
/* The layers out of `n` that a rank's pipeline stage holds. */
rlf_range rlf_layout_layers(const rlf_layout *layout, int rank, int64_t n);
/* The slice of a tensor-parallel dimension of size n (n % tp == 0). */
rlf_range rlf_layout_slice(const rlf_layout *layout, int rank, int64_t n);

#endif
