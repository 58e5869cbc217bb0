/* Data edges: the rows of a column go from where the producer's layout leaves
 * them to where the consumer's layout needs them.
 *
 * Pure: layouts and a rule on each side in, a list of (source rank,
 * destination rank, rows) out; all ranks compute the same list. Every
 * destination gets each row it has not got exactly once; among the ranks that
 * have a row, those with the least to send do. Nothing is moved here. */
#ifndef RLF_PLAN_EDGE_H
#define RLF_PLAN_EDGE_H

#include "engine/base/arena.h"
#include "engine/layout/layout.h"

/* The rules by which n rows are assigned to the ranks of a layout. */
typedef enum rlf_assignment {
    RLF_ASSIGN_ALL,  /* every rank has all rows */
    RLF_ASSIGN_DP,   /* a rank has the rows of its dp index */
    RLF_ASSIGN_PP,   /* a rank has the rows of its pipeline stage */
    RLF_ASSIGN_LIST, /* a row is at the place of the mesh that a list says */
} rlf_assignment;

/* One end of an edge, as a layout and a rule. */
typedef struct rlf_side {
    const rlf_layout *layout;
    rlf_assignment assignment;
} rlf_side;

/* One end of an edge, rank by rank: the rows of part k are with (or for) the
 * ranks list[first[k]] up to list[first[k + 1]]. */
typedef struct rlf_parts {
    int count;
    const int *first; /* count + 1 */
    const int *list;
    const int *part; /* per row; NULL: all are of part 0 */
} rlf_parts;

/* One message. */
typedef struct rlf_transfer {
    int from, to; /* ranks, never equal */
    int64_t n_rows;
    const int64_t *rows; /* ascending; shared between messages */
    int64_t bytes;
} rlf_transfer;

typedef struct rlf_edge {
    rlf_transfer *list; /* transfers, by (to, first row) */
    int count;
} rlf_edge;

/* The transfers of `n` rows of bytes[i] bytes each (NULL: one byte) from one
 * side to the other, in `arena`. `machine`: of every rank, to take from the
 * same machine where that has the rows; NULL: all alike. A rank may be in
 * several parts. */
void rlf_edge_between(const rlf_parts *have, const rlf_parts *need, int64_t n,
                      const int64_t *bytes, const int *machine,
                      rlf_arena *arena, rlf_edge *out);
/* Messages by which each of the n_to ranks `to` gets what it lacks of `n` rows,
 * in rounds that follow one another: a row may go on from a rank that got it in
 * a round before. With few ranks, or little to send, one round of messages from
 * who has the rows; else each rank sends and receives at most one message in a
 * round, and there are no more rounds than the number of ranks has bits, and
 * one before them that brings in what none of them has. A message costs what
 * its rows are: each rank still gets each row once. Returns the number of
 * rounds; the list is in `arena`. */
int rlf_edge_all_gather(const rlf_parts *have, const int *to, int n_to,
                        int64_t n, rlf_arena *arena, rlf_edge **rounds);
/* HybridFlow's name of one side: ONE_TO_ALL, 3D_PROTO, 3D_ALL_MICRO_DP,
 * 3D_PP_ONLY, DP_PROTO or ALL_TO_ALL. */
const char *rlf_side_protocol(const rlf_side *side);

#endif
