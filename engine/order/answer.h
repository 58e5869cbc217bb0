/* Answers and messages of ranks, from the sizes of a program alone: for what
 * simulates a step without computing anything (traffic.h, engine/simulate).
 *
 * A step at the caps: every set as large as it can be, `every` taken and the
 * first side of every `if` unless the step has a number, no break, a `collect`
 * of as many rounds as it may have.
 * No clock and no data. */
#ifndef RLF_ORDER_ANSWER_H
#define RLF_ORDER_ANSWER_H

#include "engine/graph/sizes.h"
#include "engine/order/control.h"

typedef struct rlf_answers {
    const rlf_plan *plan;
    const rlf_sizes *sizes;
    /* Not 0: an `every` whose period is known (rlf_answer_period) decides as in
     * the step of this number, an `if` of which the number alone decides as in
     * late steps (rlf_answer_late). 0: all blocks of both, as above. */
    uint64_t number;
} rlf_answers;

/* N of a node that is `every N steps`; 0 if only a run knows it, and of every
 * other node. */
uint64_t rlf_answer_period(const rlf_node *node);
/* The least number of a step that has the node's block, by its own period and
 * those of the blocks in which it stands; a step has it if this divides its
 * number. 1: each step does, or a run alone knows; 0: no step of a run does. */
uint64_t rlf_answer_interval(const rlf_graph *graph, const rlf_node *node);
/* Is the node an `if` that goes one way from some step on, as nothing but
 * comparisons of `step` with numbers that are known now decides? Then which of
 * its regions runs, or -1. */
bool rlf_answer_late(const rlf_graph *graph, const rlf_node *node, int *branch);
/* Does a step that is answered with a number run the node, as far as each `if`
 * goes in which it stands? As in late steps, or where only a run knows, the
 * first side. */
bool rlf_answer_taken(const rlf_graph *graph, const rlf_node *node);

/* Returns as many rows as the size says; where it says nothing, 16 of each
 * rank. */
uint32_t rlf_answer_count(const rlf_answers *a, double size);
/* The report of rank 0 on the OPEN of an instance of `node`: its rows, and of
 * which prompt each is. Where nothing says how many rows there are, 16 of each
 * rank. `owner` in `arena`. */
rlf_rank_event rlf_answer_open(const rlf_answers *a,
                               const rlf_rank_command *command,
                               const rlf_node *node, rlf_arena *arena);
/* A rank's report that a RUN or LOOP of an instance, no generation, or an END
 * (`in` NULL) is done. */
rlf_rank_event rlf_answer_done(const rlf_answers *a,
                               const rlf_rank_command *command,
                               const rlf_instance *in, int rank);
/* Bytes that go from rank to rank of one row of all that a node makes, or of
 * the whole of it if it is not made of rows. `response`: tokens of the row's
 * response; below 0: as many as it can have. INFINITY: nothing bounds it. */
double rlf_answer_bytes(const rlf_answers *a, const rlf_node *node,
                        double response);

#endif
