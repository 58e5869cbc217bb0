/* The controller's state, shared by the files of this folder only. */
#ifndef RLF_ORDER_STATE_H
#define RLF_ORDER_STATE_H

#include "engine/base/vec.h"
#include "engine/order/order.h"

/* Rows that a reader can take while its producers are at work: found as these
 * complete, each once, so that asking costs what is new and not what there is.
 */
typedef struct found {
    uint32_t *rows; /* room for all; those before `given` were given out */
    uint32_t n, given;
    uint32_t *seen; /* per input: so many of its `arrived` were looked at */
    bool *over;     /* per input: it was done then */
    bool *met;      /* per row: it is in `rows`, or in a group of `left` */
    uint32_t *left; /* per group: rows that are not met; NULL: rows alone */
    uint32_t *first, *member; /* rows of group g: member[first[g] ..] */
} found;

typedef struct instance {
    rlf_instance shown;
    int step;   /* the index of its step_state */
    int *after; /* instances that must be done first (resources) */
    int n_after;
    bool last;    /* it also waits for all that is made ahead */
    bool next;    /* or all of that for earlier steps */
    bool started; /* a RUN of it was given out */
    bool all;     /* nothing of it is left to give out */
    bool opened, done;
    uint32_t n_rows;       /* rows of its own space, once opened */
    const uint32_t *owner; /* row -> prompt, or NULL */
    bool *ready;           /* per row: complete */
    uint32_t *arrived;     /* the n_ready rows that are, as they became so */
    bool *taken;           /* per row: given out in some piece */
    uint32_t n_ready, n_taken;
    found *found;   /* once a piece was looked for */
    uint32_t count; /* answers of control nodes */
    int branch;
    bool leave;
} instance;

/* A region being issued. */
typedef struct frame {
    int region;
    int next;             /* index of the next node in the region */
    int for_instance;     /* the for or collect that this is an iteration of, or
                             -1 */
    int keep; /* the keep of a collect's round, once that is issued; else -1 */
    uint32_t turn, turns; /* this iteration, of how many */
    uint64_t iteration;   /* hash of the loop counters */
} frame;

/* The last users of a resource, for hazards. */
typedef struct usage {
    int writer;           /* instance, or -1 */
    RLF_VEC(int) readers; /* readers since that write */
} usage;

/* A step of the run that is under way: its instances, and where the walk
 * through its program is. The part that is made ahead and the rest walk one
 * after the other. */
typedef struct step_state {
    int index;
    uint64_t step;
    rlf_arena *arena; /* the arena of what lasts for the step */
    RLF_VEC(instance *) instances;
    RLF_VEC(frame) frames;     /* innermost last */
    rlf_origin *latest;        /* per value */
    size_t first_open;         /* instances before it are done */
    int control;    /* the control instance that issuing waits for, or -1 */
    bool ahead;     /* the part that is made ahead is being issued */
    size_t n_ahead; /* instances of the part that is made ahead */
} step_state;

struct rlf_order {
    const rlf_graph *graph;
    rlf_policy policy;
    step_state *steps; /* step s has steps[s % n_steps] */
    int n_steps;
    uint64_t step;  /* the present one, from 1 on; 0: none has begun */
    uint64_t made;  /* the step up to which what is made ahead was begun */
    usage *used;    /* per resource */
    bool *held;     /* per resource: who is not ahead changes it only after all
                       that is made ahead is issued */
    int generation; /* the open generation, or -1 */
    int next_generation; /* rlf_order_next_generation */
    bool begun;     /* the walk through what is not ahead */
    bool settles;   /* rlf_order_settle */
    bool left;
};

static inline step_state *
step_of(const rlf_order *order, uint64_t step)
{
    return &order->steps[step % (uint64_t)order->n_steps];
}

/* Instance i of a step is known as i * n_steps + the step's index: unique while
 * the step is under way. */
static inline instance *
at(const rlf_order *order, int id)
{
    int n = order->n_steps;
    return n == 1 ? order->steps[0].instances.data[id] /* most runs; faster */
                  : order->steps[id % n].instances.data[id / n];
}

/* issue.c: issue nodes until a control node must be answered or the program
 * ends. Returns an instance that needs a LOOP (its frame's turn in
 * *iteration), or -1. */
int rlf_order_issue(rlf_order *order, uint32_t *iteration);
/* Enter an instance of a node; returns its id. */
int rlf_order_add(rlf_order *order, step_state *st, const rlf_node *node,
                  uint64_t iteration);

#endif
