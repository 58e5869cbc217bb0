/* The state of the controller of many ranks, shared by its files:
 *
 *   control.c   life, what is posted next, reports
 *   choose.c    which of the decisions that are ready is posted next
 *   defer.c     which of their rows are deferred
 *   share.c     what is posted to compute an instance
 *   assign.c    who computes which rows
 *   move.c      what has to be moved before: rows and weights
 *   migrate.c   who makes which samples, and which replicas are left to do it
 *   snapshots.c which weights are read ahead from copies of their own
 */
#ifndef RLF_ORDER_CONTROL_STATE_H
#define RLF_ORDER_CONTROL_STATE_H

#include "engine/base/vec.h"
#include "engine/order/control.h"
#include "engine/order/tail.h"
#include "engine/plan/edge.h"

/* A set of ranks: n_words words of bits. */
typedef uint64_t word;
enum { BITS = 64 };

/* The ranks of a layout that compute the same rows. */
typedef struct replica {
    const int *ranks; /* ascending */
    int n;
    int leader; /* reports; has the results in any case */
} replica;

/* The state of an instance. */
typedef struct track {
    bool announced;  /* posted to every rank */
    bool opened;     /* its rows are known: n_rows, owner */
    bool everywhere; /* every rank has all of it, or will by its own order */
    bool supplied;   /* what it reads was posted before it was ready */
    uint32_t n_rows;
    const uint32_t *owner;
    word *have;       /* [max(n_rows, 1)][n_words] */
    uint32_t *n_have; /* per rank: so many of these; NULL: nobody has any */
    uint32_t *tokens; /* per row: of the sequence that it stands for, as far as
                         is known; that of an input; NULL: nothing is known */
    uint32_t *prompts; /* per row, of sampled ones: those of them that are the
                          prompt's; as `tokens` */
    bool assigned;    /* some rows */
    uint32_t n_done;
    bool held;      /* a RUN of all rows waits for them to be known */
    uint64_t asked; /* the OPEN that will tell, */
    int opener;     /* the rank that answers that OPEN */
    /* State of a generation at work: */
    int *maker;         /* per row: the replica that makes it; -1: complete */
    int *going;         /* per row: where it goes on, while that is posted */
    uint32_t *left;     /* per replica: rows that it has still to make */
    bool *began;        /* per replica: it had rows to make at first */
    /* Rows left of a replica below which they are gathered. */
    uint32_t threshold;
    uint32_t seats; /* rows that a replica has at most then; 0: found when it is
                       done */
    double prompt;      /* tokens, on average */
    uint32_t longest;   /* tokens of the longest response that is complete */
    int stems_of; /* 1 + the generation that `stems` was found for; 0: none */
    bool stems;   /* the instance reads what that generation makes, or what is
                     made of it */
    int needs_of; /* 1 + the reading that `needs` was found for; 0: none */
    bool needs;   /* the instance reads what that reading makes, or what is made
                     of it */
} track;

/* A command that reports are awaited for. */
typedef struct active {
    uint64_t n;
    int instance;
    const rlf_share *shares;
    int n_shares;
    bool *reported; /* per share; of END per rank */
    int left;
    bool told;     /* order counts on it already */
    double *until; /* per share: when its rank is free */
} active;

/* A decision of the order that waits for its turn to be posted. */
typedef struct ready {
    rlf_decision decision;
    bool works;          /* it is a call of a model, or a hook */
    word *own, *senders; /* ranks that take part; that may have to send */
    bool prepared; /* what it reads was posted, and of rows that are assigned
                      what follows is known: */
    const uint32_t *rows;
    uint32_t n_rows;
    const int *to; /* per row: its replica */
    /* Findings of a piece, from when `changes` of the control was `looked`: */
    uint64_t looked;
    uint32_t *going; /* rows of the decision that can go; there is room for so
                        many: */
    uint32_t n_going, room;
    bool rest; /* the others went: what comes next joins these */
} ready;

/* A copy that is read ahead, and by whom; and the weights that wait to be its
 * own, oldest first: in which copy, and for what is made ahead for which step.
 */
typedef struct pin {
    int model, copy;
    int node;
    struct waiting {
        int copy;
        uint64_t step;
    } * waiting;
    int n_waiting;
} pin;

struct rlf_control {
    const rlf_plan *plan;
    uint32_t shown; /* the policy's number of rows that are shown */
    rlf_order *order;
    /* The arena of defer.c, whose lists end with each look. */
    rlf_arena *scratch;
    rlf_arena *arena;   /* the arena of what is posted in the present step */
    rlf_arena **posted; /* step s has number s % n_steps, since what is made
                           ahead may be at work for so long */
    rlf_arena **step_arenas; /* by s % n_steps: what is known of the instances
                                of step s */
    int n_steps;
    uint64_t step;
    int n_ranks, n_words;
    rlf_arena *lasting;
    rlf_tail *tail;          /* per node, of generations; in `lasting` */
    const rlf_node **reader; /* per node: of a generation, the call of those
                                seen to read its samples that has the most ranks
                                a replica, or NULL; in `lasting` */
    replica **replicas; /* per node: dp of them, or NULL until they are needed;
                           in `lasting` */
    RLF_VEC(track *) tracks;   /* per instance; NULL: not met yet */
    RLF_VEC(rlf_rank_command *)
    commands; /* not yet given out, from `next` on */
    size_t next;
    RLF_VEC(active) actives;
    int n_asked;  /* OPENs that are not answered */
    int sampling; /* the generation at work, or -1 */
    bool sampled; /* samples of it were reported since the last command */
    RLF_VEC(int)
    joining;               /* updates of one fused pipeline that are ready,
                              and may be joined by others of it */
    int open_replicas;     /* generations at work whose replicas have more than
                              one rank */
    const bool *last;      /* per node: only reports need it, or it is one */
    double *until, now;    /* per rank: when it is free (choose.c) */
    /* What is ready, in the order in which it became so. */
    RLF_VEC(ready) ready;
    RLF_VEC(ready) latest; /* what is ready and comes last */
    RLF_VEC(rlf_decision)
    deferred; /* until ranks that sample ahead need not stand still for them
                 (snapshots.c) */
    uint64_t n;
    uint64_t changes;   /* the number of changes of who samples, is at work, or
                           has rows */
    uint64_t **version; /* per resource and copy; NULL: no copies */
    const bool *separate; /* per resource; NULL: none. See rlf_policy */
    pin *pins;
    int n_pins;
    bool pins_due; /* they have not got those of the step */
    word *makers; /* ranks that sample ahead */
    bool ending, ended;
    size_t end; /* commands before this one can be given out: END is the last */
};

static inline bool
has(const word *set, int rank)
{
    return set[rank / BITS] >> (rank % BITS) & 1;
}

/* Is each rank of a set in the other? */
static inline bool
is_within(const rlf_control *c, const word *set, const word *other)
{
    for (int w = 0; w < c->n_words; w++)
        if (set[w] & ~other[w])
            return false;
    return true;
}

static inline void
put(word *set, int rank)
{
    set[rank / BITS] |= (word)1 << (rank % BITS);
}

static inline void
take(word *set, int rank)
{
    set[rank / BITS] &= ~((word)1 << (rank % BITS));
}

/* The ranks that have an instance are known in one of three ways: `everywhere`;
 * row by row, once its rows were given; or, where some ranks computed all of it
 * together, as one row. The last is so only of what has no rows, or is not
 * stored: then its readers need not be where it is. */
static inline bool
lies_by_row(const track *t)
{
    return t->opened && !t->everywhere;
}

/* The ranks that have a row of what lies by row, or row 0 of what has none. */
static inline word *
rlf_control_ranks_with(const rlf_control *c, const track *t, uint32_t row)
{
    RLF_ASSERT(row < (t->n_rows ? t->n_rows : 1));
    return t->have + (size_t)row * (size_t)c->n_words;
}

/* ---- control.c ---- */

/* The rank has these n rows of the instance from now on. */
void rlf_control_give(rlf_control *c, int instance, const uint32_t *rows,
                      int64_t n, int rank);
const rlf_node_place *rlf_control_place(const rlf_control *c,
                                        const rlf_node *node);
const replica *rlf_control_replicas(rlf_control *c, const rlf_node *node);
track *rlf_control_track(rlf_control *c, int instance);
/* Lasts as long as what is known of the instance. */
rlf_arena *rlf_control_arena(const rlf_control *c, int instance);
const rlf_instance *rlf_control_instance(const rlf_control *c, int instance);
/* The instances that an instance reads, one after another from *i = 0 on; -1
 * at the end. Inputs of a collect's first round are not there yet. */
int rlf_control_input(const rlf_control *c, const rlf_instance *in, int *i);
/* Do the rows of `node` stand for rows of this input? */
bool rlf_control_aligned(const rlf_control *c, const rlf_node *node, int from);
/* The rows of an instance are known now. */
void rlf_control_set_rows(rlf_control *c, int instance, uint32_t n_rows,
                          const uint32_t *owner);
rlf_rank_command *rlf_control_post(rlf_control *c, rlf_do kind, int instance);
/* Reports of this command are awaited. */
active *rlf_control_await(rlf_control *c, const rlf_rank_command *command);
void rlf_control_tell_done(rlf_control *c, int instance,
                           const rlf_rank_event *event);
/* Rows that a share's ranks have from now on. */
void rlf_control_note_rows(rlf_control *c, const active *a, const rlf_share *by,
                           const uint32_t *rows, uint32_t n);
/* Notes that what is computed together is on every rank of the layout. */
void rlf_control_done_together(rlf_control *c, const active *a,
                               const rlf_rank_event *event);

/* ---- move.c ---- */

/* See that the ranks of the i-th row's part of `need` have row rows[i] (NULL:
 * i) of instance `of`, for what instance `reader` (-1: none) does with it. */
void rlf_control_bring(rlf_control *c, int of, int reader, const uint32_t *rows,
                       uint32_t n, const rlf_parts *need);
/* Is an instance ever sent? A value per word is not, and never stored. */
bool rlf_control_is_stored(const rlf_control *c, int instance);
/* The ranks `to` need all of instance `from`; all that instance `of` reads. */
void rlf_control_bring_all(rlf_control *c, int from, int reader, const int *to,
                           int n_to);
void rlf_control_bring_inputs(rlf_control *c, int of, const int *to, int n_to);
/* The weights that the instance is about to read are the newest. */
void rlf_control_bring_weights(rlf_control *c, int instance);
/* A copy of a model has its newest weights; `instance` may be -1. */
void rlf_control_bring_copy(rlf_control *c, int model, int copy, int node,
                            int instance);
/* The instance that was posted changes what it writes. */
void rlf_control_note_writes(rlf_control *c, int instance);

/* ---- migrate.c ---- */

/* The generation has begun: replica to[i] makes row rows[i]. */
void rlf_control_sampling(rlf_control *c, int instance, const uint32_t *rows,
                          uint32_t n, const int *to);
/* These rows are complete. */
void rlf_control_sampled(rlf_control *c, int instance,
                         const rlf_rank_event *event);
/* All reports that are there were heard. If few enough rows of the generation
 * at work are left, fewer replicas go on with them; replicas that end at the
 * same time have all ended then, so nothing goes to one and on again. */
void rlf_control_migrate(rlf_control *c);
/* A share is done that took so long: is it of what follows samples? */
void rlf_control_followed(rlf_control *c, const active *a,
                          const rlf_rank_event *event);
/* The ranks that sample; there is a generation at work. */
const word *rlf_control_samplers(rlf_control *c);
/* The replica that makes a row that is not complete, or NULL: all are. */
const replica *rlf_control_maker(rlf_control *c, int instance);

/* ---- snapshots.c ---- */

/* Fill in what the policy says of weights that are read from a copy, and the
 * pins. */
void rlf_control_find_snapshots(rlf_control *c, rlf_policy *policy);
/* The pins get the weights with which the step begins, or these wait; once a
 * step, before any of them is read or changed. */
void rlf_control_bring_pins(rlf_control *c);
/* Something reads the pins of a model ahead: their time has come. */
void rlf_control_take_waiting(rlf_control *c, int model);
/* The ranks that sample, or are about to sample ahead; NULL: none. */
const word *rlf_control_next_samplers(rlf_control *c);
/* True: ranks that sample ahead would stand still if this were posted now,
 * since others have work to do before it. */
bool rlf_control_blocks_samplers(rlf_control *c, const rlf_decision *decision);

/* ---- assign.c ---- */

/* Returns the replica of the layout that computes each of these rows of an
 * instance. This is advice on time and nothing else: any answer is right that
 * names a replica for each row, and one for rows that are computed as a group,
 * and with any of them every step comes to its end. It may change from one call
 * to the next. */
int *rlf_control_assign(rlf_control *c, int instance, const uint32_t *rows,
                        uint32_t n);

/* ---- choose.c ---- */

void rlf_control_find_order(rlf_control *c);
/* Is it a call that takes long? */
bool rlf_control_works(const rlf_node *node);
/* Is a rank that computes it at work until it is done? */
bool rlf_control_takes_time(const rlf_node *node);
/* The rank of a layout that carries out a command of now first. */
int rlf_control_soonest(rlf_control *c, const rlf_layout *layout);
/* A RUN is awaited; a share of it is done. */
void rlf_control_note_posted(rlf_control *c, active *a);
void rlf_control_note_done(rlf_control *c, const active *a,
                           const rlf_share *by);
/* An EDGE, or WEIGHTS, is posted. */
void rlf_control_note_moves(rlf_control *c, const rlf_rank_command *command);
void rlf_control_note_weights(rlf_control *c, const rlf_rank_command *command);
/* A decision of the order, RUN or LOOP, is ready: it is posted, or waits. */
void rlf_control_take(rlf_control *c, const rlf_decision *decision);
/* The generation that comes next gets its weights beside the one at work, if
 * that keeps nobody waiting. */
void rlf_control_bring_next(rlf_control *c);
/* Nothing else becomes ready before something is posted: the one that is best
 * next. False: there is none. */
bool rlf_control_run_next(rlf_control *c);
/* Nor is there one of these: what comes last, as far as it can now. */
void rlf_control_run_latest(rlf_control *c);

/* ---- defer.c ---- */

/* Are its rows assigned, and does it read what the generation at work makes, or
 * what is made of that? */
bool rlf_control_reads_sampling(rlf_control *c, int instance);
/* The ranks of shares of calls that are awaited; generations apart. */
word *rlf_control_at_work(rlf_control *c);
/* True: the decision is not posted now, since a rank that could go on would
 * wait for it. */
bool rlf_control_is_deferred(rlf_control *c, ready *r);
/* True: the decision is not deferred, and neither is any of its rows. */
bool rlf_control_is_whole(rlf_control *c, ready *r);
/* True: rlf_control_is_whole, and which ranks sample does not decide where its
 * rows are computed. */
bool rlf_control_can_prepare(rlf_control *c, ready *r);
/* The part of all rows of a call that a decision has, times the replicas for
 * each replica that gets some of it. */
double rlf_control_part(rlf_control *c, const ready *r);
/* Splits a decision that is not deferred: the rows to be posted first stay in
 * `r`, the others are put into `left`. False: there are no others. */
bool rlf_control_cut(rlf_control *c, ready *r, ready *left);
/* Adds the decision's rows to the deferred ones of the same instance: to those
 * that a posted piece left, or, when nothing is sampled, to any. False: there
 * are none. */
bool rlf_control_join(rlf_control *c, const rlf_decision *decision);
/* Joins all deferred pieces by instance, since nothing is sampled any more. */
void rlf_control_join_all(rlf_control *c);

/* ---- forward.c ---- */

/* The ranks of a call that is posted next send what others will read of the
 * generation at work. */
void rlf_control_forward(rlf_control *c, const ready *next);

/* ---- share.c ---- */

/* Brings replica to[i] of an instance row rows[i] of its input `from`. */
void rlf_control_bring_rows(rlf_control *c, int from, int instance,
                            const uint32_t *rows, uint32_t n, const int *to);

/* Are the rows of an instance known, or those of what it is made of? */
bool rlf_control_knows_rows(rlf_control *c, int instance);
/* Have what a call reads sent, but for weights; of rows nobody knows yet,
 * nothing. */
void rlf_control_prepare(rlf_control *c, ready *r);
/* Have what an update reads sent that is not ready yet, but for weights. */
void rlf_control_supply(rlf_control *c, int instance);
/* Have a decision carried out. */
void rlf_control_run(rlf_control *c, const ready *r);
/* Posts the updates that wait for others of their fused pipeline, because
 * nothing else can be posted now. Returns whether there were such. */
bool rlf_control_go_joined(rlf_control *c);
/* All rows of the instance, which are known. */
void rlf_control_run_rows(rlf_control *c, int instance);

#endif
