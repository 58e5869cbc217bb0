/* The controller of many ranks: what each of them is told, and when.
 *
 * order.h says which piece of which instance can run. This says where: it
 * follows the plan, knows for every row of every instance which ranks have it,
 * moves what is missing (an edge) and tells the ranks to compute. It sees row
 * numbers only, never a tensor; like order it has no clock, no threads and no
 * transport, so a simulator can drive it.
 *
 * The rule that excludes deadlocks: commands have one global order n. Each rank
 * carries out its commands in that order, and a command waits only for its own
 * participants and for smaller n; so the smallest unfinished one can always go
 * on. Therefore a rank's data is there for every later command once the piece
 * that made it was posted. What follows is posted behind it at once; only
 * answers that decide the control flow, rows that a generation completes and
 * the end of the step are waited for. Of the ranks that compute the same, one
 * reports.
 *
 * Weights are values too: an instance that changes a model makes a new version
 * of its first copy, and another copy gets it before the next instance that
 * reads it there is posted (WEIGHTS). That order already keeps updates and
 * readers of a model apart is all that this needs. What is made ahead may read
 * a model from a copy on other ranks than those of the first: such a copy gets
 * the weights with which the step begins, and is let alone until it is done.
 * While it is still read with older ones, they are kept beside it.
 *
 * A generation whose last samples leave their replicas half empty is gathered
 * on few of them (migrate.c): MOVE takes to other replicas what is not complete
 * where it is when its turn comes, so rows may still be reported by either.
 *
 * The first command of an instance goes to every rank, which makes the outputs'
 * spaces: what rows there are is known everywhere, what they hold is not. */
#ifndef RLF_ORDER_CONTROL_H
#define RLF_ORDER_CONTROL_H

#include "engine/order/protocol.h"

typedef struct rlf_control rlf_control;

/* The plan must outlive the control. Which weights are read from a copy is
 * found here. */
rlf_control *rlf_control_new(const rlf_plan *plan, rlf_policy policy);
void rlf_control_free(rlf_control *control); /* NULL is fine */
/* Begins a step, as rlf_order_begin does. */
int rlf_control_begin(rlf_control *control);
/* Called when a step has ended: it goes on until all that is made ahead in it
 * is there. */
void rlf_control_settle(rlf_control *control);
/* Then: post what rank 0 lacks of that. */
void rlf_control_gather(rlf_control *control);
/* Restores as rlf_order_restore does: every rank has all of what was made
 * ahead. */
void rlf_control_restore(rlf_control *control, uint64_t step);
/* The next command; NULL: there is none before the next event, or after END. */
const rlf_rank_command *rlf_control_next(rlf_control *control);
void rlf_control_tell(rlf_control *control, const rlf_rank_event *event);
/* END was posted and every rank has reported it. */
bool rlf_control_ended(const rlf_control *control);
const rlf_plan *rlf_control_plan(const rlf_control *control);
/* The order that it follows, for instances and what is shown after the step. */
const rlf_order *rlf_control_order(const rlf_control *control);

/* Says, after NULL, that no event is awaited though the step has not ended. It
 * never will: the controller has lost something. */
bool rlf_control_stands(const rlf_control *control);
/* Finds for messages about a run that stands still what is being waited for: a
 * command and the first rank that has not reported it. False: nothing is. */
bool rlf_control_waits(rlf_control *control, uint64_t *n, int *instance,
                       int *rank);

#endif
