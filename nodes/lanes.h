/* The samples of a minibatch that this rank trains on, and what the ranks of a
 * data-parallel group tell each other about theirs.
 *
 * The samples go to lanes by their lengths alone (engine/layout/lanes.h), those
 * that follow others (nodes/model/prefix.h) with them; a rank takes its
 * lanes one after another. Everything else of an update is
 * computed from the live values of all samples, which every rank therefore
 * gets: 4 bytes a response token and live call. */
#ifndef RLF_NODES_LANES_H
#define RLF_NODES_LANES_H

#include "engine/graph/class.h"
#include "nodes/sequences.h"

/* One of so many sets that are trained on by turns: sample i of it is in place
 * i * of + index among all. */
typedef struct rlf_update_set {
    int input; /* the input of the node */
    rlf_rows *rows;
    uint32_t index, of;
} rlf_update_set;

typedef struct rlf_update_lanes {
    struct rlf_group *dp; /* NULL: all samples are this rank's */
    int n_members;
    uint32_t **rows; /* per member: its samples, by lane, then in order */
    uint32_t *n_rows;
    int self;        /* this rank's place among the members */
    uint32_t *first; /* [lanes a rank has + 1] where its lanes begin */
} rlf_update_lanes;

/* Assign n samples to the replicas of the model; arrays in `pool`. */
rlf_status rlf_update_lanes_take(const rlf_model *model,
                                 const rlf_sequence *seqs, uint32_t n,
                                 rlf_arena *pool, rlf_err *err,
                                 rlf_update_lanes *out);
/* Make `columns` (values on the set's tokens, or on its samples) whole: each
 * member has filled in its own samples. */
rlf_status rlf_update_lanes_share(const rlf_update_lanes *lanes,
                                  const rlf_update_set *set, bool on_samples,
                                  double *const *columns, int n_columns,
                                  rlf_arena *pool, rlf_err *err);

#endif
