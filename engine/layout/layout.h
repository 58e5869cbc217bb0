/* Meshes and layouts: integers only.
 *
 * A mesh is a list of ranks; a layout says how one model call is split over
 * it: tensor parallel (tp), pipeline parallel (pp), data parallel (dp), with
 * tp * pp * dp ranks. The place of a rank in the mesh is a number in mixed
 * radix; `order` says which of its digits belong to which axis. Without an
 * order it is tp, pp, dp: tp fastest, dp slowest.
 *
 * Layers are cut into pp * chunks parts, as even as can be; part k lies at
 * stage k % pp (several chunks: interleaved pipelines). The two chunks of a V
 * go down the stages and up again, so that stage 0 has the first part and the
 * last.
 *
 * Not here: samples of different lengths (lanes.h), tensors (slice.h). */
#ifndef RLF_LAYOUT_LAYOUT_H
#define RLF_LAYOUT_LAYOUT_H

#include "engine/base/status.h"
#include "engine/base/str.h"

/* Bits, so that a set of axes is a number. */
typedef enum rlf_axis {
    RLF_AXIS_TP = 1,
    RLF_AXIS_PP = 2,
    RLF_AXIS_DP = 4,
} rlf_axis;
enum { RLF_AXIS_SETS = 8 };

/* A digit of a rank's place. An axis may have several: its coordinate is the
 * number they write, the first of them the least significant. */
typedef struct rlf_digit {
    rlf_axis axis;
    int size;
} rlf_digit;

#define RLF_LAYOUT_DIGITS 8

typedef struct rlf_layout {
    const int *ranks; /* the mesh, n_ranks of them, distinct */
    int n_ranks;
    int tp, pp, dp;
    int chunks;  /* parts of the layers that each stage holds; 0: 1 */
    bool vee;    /* two chunks, the second on the way back */
    int n_order; /* digits, fastest first; 0: tp, pp, dp */
    rlf_digit order[RLF_LAYOUT_DIGITS];
} rlf_layout;

/* Place of a rank in a layout; -1s if the mesh does not hold it. */
typedef struct rlf_coordinates {
    int tp, pp, dp;
} rlf_coordinates;

/* A half-open range of rows, columns or layers. */
typedef struct rlf_range {
    int64_t first, last;
} rlf_range;

static inline int64_t
rlf_range_size(rlf_range r)
{
    return r.last - r.first;
}

/* The range that both hold; of size 0 if there is none. */
rlf_range rlf_range_meet(rlf_range a, rlf_range b);
/* The part of n things that place `index` of `count` holds: from
 * floor(n index / count) to floor(n (index + 1) / count). Sizes differ by one
 * at most, and parts nest: the parts of count = a b, taken b at a time, are
 * the parts of count = a, whatever n is. */
rlf_range rlf_range_part(int64_t n, int count, int index);
/* The same in whole units of `unit` things; the last unit may be short. */
rlf_range rlf_range_units(int64_t n, int64_t unit, int count, int index);
/* The index of the part that holds thing `i`. Outside of layout.c only tests
 * call it: they place things of any number by it. */
int rlf_range_owner(int64_t n, int count, int64_t i);

/* RLF_USER, naming the number that does not fit and one that would, unless
 * tp * pp * dp is the number of ranks, all are positive, the ranks distinct
 * and the digits of the order make tp, pp and dp. */
rlf_status rlf_layout_check(const rlf_layout *layout, rlf_err *err);
rlf_coordinates rlf_layout_find(const rlf_layout *layout, int rank);
/* The coordinates of place i of the mesh, and the place of coordinates. */
rlf_coordinates rlf_layout_at(const rlf_layout *layout, int place);
int rlf_layout_place(const rlf_layout *layout, rlf_coordinates at);
/* The ranks that differ from `rank` only in `axes` (a sum of rlf_axis), itself
 * included, into `out` (room for n_ranks) by coordinate, tp fastest. Returns
 * how many: 0 for a rank outside the mesh. RLF_AXIS_TP is the tensor-parallel
 * group, TP + PP a replica, DP the ranks with the same weights. */
int rlf_layout_group(const rlf_layout *layout, int rank, int axes, int *out);

/* The layout on the same mesh with fewer tensor- and pipeline-parallel ranks
 * (tp divides train->tp, pp divides train->pp) whose replicas are made of whole
 * shards of `train`: HybridFlow's zero-redundancy grouping (README). What is
 * left over multiplies dp, next to each other inside a replica of `train`.
 * RLF_USER with the divisor that fails. */
rlf_status rlf_layout_regroup(const rlf_layout *train, int tp, int pp,
                              rlf_err *err, rlf_layout *out);

/* Is there a rank that both have? */
bool rlf_layout_shares_ranks(const rlf_layout *a, const rlf_layout *b);
/* Do both cut a model's weights into the same parts? */
bool rlf_layout_same_cut(const rlf_layout *a, const rlf_layout *b);

/* Finds, in a pipeline of so many stages, a V or not, the part of the layers
 * that a stage's chunk is, and the stage that has a part. */
static inline int
rlf_stage_part(int stages, bool vee, int stage, int chunk)
{
    return chunk * stages + (vee && chunk ? stages - 1 - stage : stage);
}
static inline int
rlf_part_stage(int stages, bool vee, int part)
{
    return vee && part >= stages ? 2 * stages - 1 - part : part % stages;
}
/* The stage with the last layers, which has what is made of them. */
static inline int
rlf_layout_last(const rlf_layout *layout)
{
    return layout->vee ? 0 : layout->pp - 1;
}

/* The samples out of `n` that a rank holds when samples count alike: those of
 * its dp part. Empty for a rank outside the mesh. By length: lanes.h. */
rlf_range rlf_layout_rows(const rlf_layout *layout, int rank, int64_t n);
/* The stage that holds layer `i` of `n`. */
int rlf_layout_stage(const rlf_layout *layout, int64_t n, int64_t i);

#endif
