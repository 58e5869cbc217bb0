/* Lanes: which samples of a minibatch are added up together.
 *
 * The samples of a minibatch go to L lanes by a rule on their lengths alone.
 * Gradients add in sample order within a lane and in a binary tree across
 * lanes, so L is part of a run's numerics and dp is not: each index of dp takes
 * a subtree. */
#ifndef RLF_LAYOUT_LANES_H
#define RLF_LAYOUT_LANES_H

#include "engine/layout/layout.h"

#define RLF_MOST_LANES 128
/* The lanes on the CPU where nothing else is said: 1 to 4 ranks have the same
 * bits. */
#define RLF_CPU_LANES 4

/* Give each of n samples (length >= 0, in tokens) a lane: the longest first,
 * onto the lane with the fewest tokens; of equal lengths the lower index goes
 * first, of equal lanes the one with fewer samples, then the lower one. No lane
 * ends with more than 4/3 of the best possible maximum (Graham's bound). */
rlf_status rlf_lanes_deal(const int64_t *lengths, int64_t n, int lanes,
                          rlf_err *err, int *lane);
/* RLF_USER unless lanes is a power of two up to RLF_MOST_LANES and no rank
 * would be without one: dp <= lanes. */
rlf_status rlf_lanes_check(int lanes, int dp, rlf_err *err);
/* Returns how many sums wait at most while n lanes are added in a tree, one
 * lane after another: log2 n, rounded down. */
int rlf_lanes_waiting(int n);
/* The lanes of index d of dp <= lanes, for lanes a power of two: those below a
 * leaf of the tree in which a group of dp members adds (engine/comm/sum.c), of
 * which each branch takes half of the lanes above it. So members that add their
 * own lanes in a tree, and then each other's sums, add all lanes in one tree,
 * whatever dp is. */
rlf_range rlf_lanes_part(int lanes, int dp, int d);
/* The most replicas up to dp of which the busiest has no more lanes than with a
 * power of two below: with 5 one would have half of all, with 4 a quarter. */
int rlf_lanes_replicas(int dp);
/* The samples of some lanes, by lane, then by index, into rows (room for n).
 * Returns how many. */
int64_t rlf_lanes_rows(const int *lane, int64_t n, rlf_range lanes,
                       int64_t *rows);

#endif
