/* Measured work of ranks, piece by piece: how much it was, and how long it
 * took.
 *
 * A caller that wants to know gives a run a function to see it
 * (rlf_run_options); without one nothing is measured. Seconds are processor
 * time of the rank's own thread, so neither waiting for other ranks nor other
 * programs of the machine are in them; a team's other threads work at the same
 * time. On a device that works by itself they are those of the clock, up to the
 * end of what was started. */
#ifndef RLF_GRAPH_MEASURE_H
#define RLF_GRAPH_MEASURE_H

#include "engine/graph/graph.h"

typedef enum rlf_measured_kind {
    RLF_MEASURED_OPEN, /* a call's outputs are made; by calls */
    RLF_MEASURED_ROWS, /* x: tokens of what reads a model, else rows; 0: all
                          that there are */
    RLF_MEASURED_TURN, /* a turn of a generation; x: tokens fed, y: tokens that
                          they look at */
    RLF_MEASURED_FORWARD,  /* a micro-batch through a chunk; x: tokens */
    RLF_MEASURED_BACKWARD, /* a micro-batch back through a chunk; both
                              gradients, or its inputs' alone where the schedule
                              splits it */
    RLF_MEASURED_WEIGHTS,  /* the rest of that */
    RLF_MEASURED_FINISH,   /* all else of an update; x: rows */
    RLF_MEASURED_EDGE,     /* rows from rank to rank; x: bytes, y: messages */
    RLF_MEASURED_MODEL,    /* weights from rank to rank; x: bytes sent */
    RLF_MEASURED_STEP,     /* a rank's step, apart from all nodes */
    RLF_MEASURED_SAMPLE,   /* is complete; x: tokens of the response, y: of the
                              prompt; takes no time */
    RLF_MEASURED_KINDS
} rlf_measured_kind;

typedef struct rlf_measured {
    rlf_measured_kind kind;
    int rank;
    const rlf_node *node; /* NULL: MODEL, STEP */
    int model;            /* MODEL: the resource; else -1 */
    double x, y;
    double seconds;
} rlf_measured;

/* `see` is called by the threads of ranks, of several at once. */
typedef struct rlf_measure {
    void *self;
    void (*see)(void *self, const rlf_measured *measured);
} rlf_measure;

#endif
