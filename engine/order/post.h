/* Who takes part in a post of the controller, and with what: the share of a
 * rank, its messages, its hand in moving weights.
 *
 * One rank's view of control.h's posts, for who carries them out and for who
 * only plays them, so that the two cannot differ about it. What it takes to
 * carry a post out is not said here. */
#ifndef RLF_ORDER_POST_H
#define RLF_ORDER_POST_H

#include "engine/order/control.h"

/* What one rank does of a post. */
typedef struct rlf_duty {
    bool works; /* RUN: it has a share, WEIGHTS: it has weights of a side, EDGE,
                   MOVE: it has moves; OPEN, END: always. Else it is only told,
                   and makes the outputs of an instance's first RUN */
    const rlf_share *share; /* RUN: its own, or NULL */
    const rlf_move *moves;  /* EDGE, MOVE: from or to this rank, in the order of
                               the post's */
    int n_moves;
} rlf_duty;

/* Whether the post is for `rank` at all. Arrays are the post's, or in `arena`.
 */
bool rlf_post_part(const rlf_control *control, const rlf_post *post, int rank,
                   rlf_arena *arena, rlf_duty *out);
/* The same of all ranks, in two lists with an entry for each: who is told, and
 * with what part. */
void rlf_post_parts(const rlf_control *control, const rlf_post *post,
                    rlf_arena *arena, rlf_duty *out, bool *told);

#endif
