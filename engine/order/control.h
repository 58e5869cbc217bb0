/* The controller of many ranks: what each of them is told, and when.
 *
 * order.h says which piece of which instance can run. This says where: it
 * follows the plan, knows for every row of every instance which ranks have it,
 * moves what is missing (an edge) and tells the ranks to compute. It sees row
 * numbers only, never a tensor; like order it has no clock, no threads and no
 * transport, so a simulator can drive it.
 *
 * The rule that excludes deadlocks: commands have one global order n. Each rank
 * carries out
 * its commands in that order, and a command waits only for its own participants
 * and for smaller n; so the smallest unfinished one can always go on. Therefore
 * a rank's data is there for every later command once the piece that made it
 * was posted. What follows is posted behind it at once; only answers that
 * decide the run's course, rows that a generation completes and the end of the
 * step are waited for. Of the ranks that compute the same, one reports.
 *
 * Weights are values too: an instance that changes a model makes a new version
 * of its first hold, and another hold gets it before the next instance that
 * reads it there is posted (WEIGHTS). That order already keeps updates and
 * readers of a model apart is all that this needs. What is made ahead may read
 * a model from a hold on other ranks than those of the first: such a hold gets
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

#include "engine/graph/class.h"
#include "engine/order/order.h"
#include "engine/plan/plan.h"

typedef struct rlf_control rlf_control;

typedef enum rlf_do {
    RLF_DO_OPEN,    /* every rank makes the outputs; rank 0 reports the rows */
    RLF_DO_RUN,     /* those with a share compute it; at the first command of an
                         instance the others make its outputs */
    RLF_DO_EDGE,    /* rows of an instance's outputs go from rank to rank */
    RLF_DO_MOVE,    /* rows of a generation that are not complete go on at
                         another replica, part by part */
    RLF_DO_WEIGHTS, /* the newest weights of a model go to the hold that an
                         instance is about to read */
    RLF_DO_END,     /* the step is complete: every rank reports */
} rlf_do;

/* What one rank computes. */
typedef struct rlf_share {
    int rank;
    bool reports;         /* of ranks that compute the same, one */
    bool has;             /* it has the result, not only a hand in it */
    const uint32_t *rows; /* ascending; NULL: all */
    uint32_t n_rows;
} rlf_share;

typedef struct rlf_move {
    int from, to;
    const uint32_t *rows; /* ascending; NULL: the whole of it */
    uint32_t n_rows;
} rlf_move;

typedef struct rlf_rank_command {
    rlf_do kind;
    uint64_t n;
    int instance;
    uint32_t iteration; /* RUN of the pieces of a for */
    bool joint;    /* RUN: nothing is done yet; the next command is a RUN on the
                      same ranks, which is carried out together with this one */
    bool everyone; /* posted to every rank: the first of its instance, and
                      all while a replica of several ranks generates */
    const rlf_share *shares;
    int n_shares;
    const rlf_move *moves; /* EDGE: by (to, first row); MOVE: one for each
                              pair of ranks with the same part */
    int n_moves;
    rlf_price price; /* MOVE */
    int reader;      /* EDGE: the instance that needs them; -1: what is shown */
    int round;       /* EDGE: behind others of the same edge, which brought some
                        rows to where they are sent from now */
    int model, from, hold; /* WEIGHTS: of the model, from one hold (the first,
                              or one that keeps later weights) to another;
                              ranks of both take part */
    int node; /* WEIGHTS: that reads it; its instance may be yet to come, -1 */
} rlf_rank_command; /* good until the next step begins; of what is made ahead,
               and what it is made of, until the step that it is made for is
               over
             */

typedef enum rlf_event_kind {
    RLF_EVENT_OPENED, /* by rank 0, of an OPEN */
    RLF_EVENT_ROWS,   /* of an open generation: these samples are complete */
    RLF_EVENT_DONE,   /* of a RUN by the ranks that report, generations
                          apart; of END by all */
} rlf_event_kind;

/* Turns of a generation: how many, and sums over them of the tokens that each
 * fed (x), the keys that these looked at (y), the seconds that it took (t), and
 * products of two of these. */
typedef struct rlf_turns {
    double n, x, y, xx, xy, yy, t, xt, yt;
} rlf_turns;

typedef struct rlf_rank_event {
    rlf_event_kind kind;
    int rank;
    uint64_t n; /* of the command */
    uint32_t n_rows;
    const uint32_t *rows;    /* ROWS */
    const uint32_t *lengths; /* ROWS: of the samples, in tokens; or NULL.
                                OPENED: of what is there of each row's sequence,
                                or NULL */
    rlf_turns turns;         /* ROWS: of this rank, since the last report: that
                                fed a prompt or a part of one; and */
    rlf_turns decodes;       /* those that fed every sample its last token */
    double seconds;          /* DONE of a share with rows: that it took */
    uint32_t seats;          /* ROWS: samples that can be at work there at once,
                                however long they become; 0: not known */
    const uint32_t *owner;   /* OPENED: row -> prompt row, or NULL */
    uint32_t count;          /* DONE of a control node, as in order.h */
    int branch;
    bool leave;
} rlf_rank_event;

/* The plan must outlive the control. Which weights are read apart is found
 * here. */
rlf_control *rlf_control_new(const rlf_plan *plan, rlf_policy policy);
void rlf_control_free(rlf_control *control); /* NULL is fine */
/* As rlf_order_begin. */
int rlf_control_begin(rlf_control *control);
/* When a step has ended: it has not, until all that is made ahead in it is
 * there. */
void rlf_control_settle(rlf_control *control);
/* Then: post what rank 0 lacks of that. */
void rlf_control_gather(rlf_control *control);
/* As rlf_order_restore: every rank has all of what was made ahead. */
void rlf_control_restore(rlf_control *control, uint64_t step);
/* The next command; NULL: there is none before the next event, or after END. */
const rlf_rank_command *rlf_control_next(rlf_control *control);
void rlf_control_tell(rlf_control *control, const rlf_rank_event *event);
/* END was posted and every rank has reported it. */
bool rlf_control_ended(const rlf_control *control);
const rlf_plan *rlf_control_plan(const rlf_control *control);
/* What it follows, for instances and what is shown after the step. */
const rlf_order *rlf_control_order(const rlf_control *control);

/* After NULL: no event is awaited, and the step has not ended. It never will:
 * the controller has lost something. */
bool rlf_control_stands(const rlf_control *control);
/* For messages about a run that stands still: what is being waited for, a
 * command and the first rank that has not reported it. False: nothing. */
bool rlf_control_waits(rlf_control *control, uint64_t *n, int *instance,
                       int *rank);

#endif
