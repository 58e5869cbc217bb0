/* What ranks would answer and send, from the sizes of a program alone: for who
 * plays a step without computing anything (rehearse.h, engine/search).
 *
 * A step at the caps: every set as large as it can be, `every` taken, the first
 * side of every `if`, no break, a `collect` of as many rounds as it may have.
 * No clock and no data. */
#ifndef RLF_ORDER_ANSWER_H
#define RLF_ORDER_ANSWER_H

#include "engine/graph/sizes.h"
#include "engine/order/control.h"

typedef struct rlf_answers {
    const rlf_plan *plan;
    const rlf_sizes *sizes;
} rlf_answers;

/* The report of rank 0 on the OPEN of an instance of `node`: its rows, and of
 * which prompt each is. Where nothing says how many rows there are, 16 of each
 * rank. `owner` in `arena`. */
rlf_report rlf_answer_open(const rlf_answers *a, const rlf_post *post,
                           const rlf_node *node, rlf_arena *arena);
/* A rank's report that a RUN or LOOP of an instance, no generation, or an END
 * (`in` NULL) is done. */
rlf_report rlf_answer_done(const rlf_answers *a, const rlf_post *post,
                           const rlf_instance *in, int rank);
/* How often what stands in the node's body runs for each time that it does. */
uint32_t rlf_answer_turns(const rlf_answers *a, const rlf_node *node);
/* Bytes that go from rank to rank of one row of all that a node makes, or of
 * the whole of it if it is not made of rows. `response`: tokens of the row's
 * response; below 0: as many as it can have. INFINITY: nothing bounds it. */
double rlf_answer_bytes(const rlf_answers *a, const rlf_node *node,
                        double response);

#endif
