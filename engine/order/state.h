/* The controller's state, shared by the files of this folder only. */
#ifndef RLF_ORDER_STATE_H
#define RLF_ORDER_STATE_H

#include "engine/base/vec.h"
#include "engine/order/order.h"

typedef struct instance {
    rlf_instance shown;
    int *after; /* instances that must be done first (resources) */
    int n_after;
    bool started; /* a RUN of it was given out */
    bool all;     /* and nothing is left to give out */
    bool opened, done;
    uint32_t n_rows;       /* rows of its own space, once opened */
    const uint32_t *owner; /* row -> prompt, or NULL */
    bool *ready;           /* per row: complete */
    bool *taken;           /* per row: given out in some piece */
    uint32_t n_ready, n_taken;
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
    int keep;             /* of a round of a collect: its keep, once issued */
    uint32_t turn, turns; /* this iteration, of how many */
    uint64_t iteration;   /* hash of the loop counters */
} frame;

/* Who used a resource last, for hazards. */
typedef struct usage {
    int writer;   /* instance, or -1 */
    int *readers; /* since that write */
    int n_readers, room;
} usage;

struct rlf_order {
    const rlf_graph *graph;
    rlf_policy policy;
    rlf_arena *arena; /* of one step */
    RLF_VEC(instance *) instances;
    RLF_VEC(frame) frames;     /* innermost last */
    struct rlf_origin *latest; /* per value */
    usage *used;               /* per resource */
    size_t first_open;         /* instances before it are done */
    int generation;            /* the open generation, or -1 */
    int control; /* the control instance that issuing waits for, or -1 */
    bool left;
    uint64_t n; /* commands given */
};

/* issue.c: issue nodes until a control node must be answered or the program
 * ends. Returns an instance that needs a LOOP command (its frame's turn in
 * *iteration), or -1. */
int rlf_order_issue(rlf_order *order, uint32_t *iteration);
/* ready.c: the next piece that can run. False if there is none. */
bool rlf_order_ready(rlf_order *order, rlf_order_command *out);

#endif
