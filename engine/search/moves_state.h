/* The state of moves of weights, private to moves.c and moves_route.c. */
#ifndef RLF_SEARCH_MOVES_STATE_H
#define RLF_SEARCH_MOVES_STATE_H

#include "engine/search/moves.h"

enum {
    ROUTED = 4, /* layers of a stretch that are routed */
    FEW = 2,    /* the first of these, after which all take as long */
    ALIKE = 4,  /* times ROUTED layers: as many as a long stretch has */
};

/* Tensors of a layer, or of none: shapes of a few layers of them. */
typedef struct tensors {
    rlf_shapes layers[ROUTED + 1]; /* [1]; [FEW] and [ROUTED] of layers */
    int n;      /* tensors of one layer; 0: nothing is sent */
    int number; /* its number among all that there are, from 1 on */
    bool end;   /* its tensors are of no layer */
    struct tensors *next;
} tensors;

enum { FIRST, LAST, BOTH, ENDS }; /* tensors of no layer */

typedef struct model {
    const rlf_shapes *shapes;
    int element;
    const tensors **layer;     /* per layer; alike: the same */
    const tensors *ends[ENDS]; /* tensors that are of no layer, at either end */
} model;

/* Remembered numbers, by a key that is never 0. */
typedef struct table {
    size_t n, room; /* a power of two */
    uint64_t *key;
    char *value;
    size_t size; /* bytes of a value */
} table;

/* Seconds of a stretch. Bytes of a layer that leave and enter the machines that
 * hold it, and those that do not. */
typedef struct stretch {
    double routed; /* seconds of the layers that were routed */
    double each;   /* seconds of each layer more */
    double leaves[2], enters[2];
    /* If all machines were looked at: when each of the ranks, by machine, is
     * through with the layers that were routed; 0: it does nothing. */
    const double *through;
} stretch;

/* A rank of the stretch at hand: its part of the old layout and of the new one,
 * counted from 1; 0: it has none. */
typedef struct parts {
    uint16_t old, new;
} parts;

typedef struct machine_state {
    int holders, receivers, lack; /* of the stretch at hand */
    /* When its link has sent all so far, and has received it. */
    double left, entered;
    double at;     /* when all of its ranks are through with what went to other
                      machines */
    double latest; /* when all of its ranks are through with everything */
} machine_state;

struct rlf_moves {
    const rlf_speeds *speeds;
    rlf_links links;
    rlf_arena *arena, *scratch;
    model *models;
    int n_models;
    tensors *tensors; /* the tensors of all models */
    table pairs, stretches;
    const int *machine_of; /* per rank, as all that follow */
    parts *parts;
    int *replica;        /* its replica in the old layout of a job */
    int *canon, *copied; /* ranks that stand for others; their replicas */
    /* When it is through with what it sends, with what it receives. */
    double *out, *in;
    double *end;      /* the end of the stretch at hand, since its begin */
    int *list[2];     /* ranks of a layout by stage, replica, part */
    int *ends[2];     /* those of both ends */
    machine_state *machines;
};

/* A stretch: who holds and who receives its layers, and who stands for them. */
typedef struct span {
    const tensors *tensors;
    int element; /* bytes of an element, as of the model */
    int alike;   /* layers for each that is routed, of which topologies are
                    chosen */
    bool by_layer;
    const int *from, *to; /* ranks, in groups of as many as there are parts */
    int n_from, n_to, old_parts, new_parts;
    bool same;          /* both layouts are on the same ranks */
    bool cut;           /* one machine stands for all that are alike */
    int sources, heads; /* machines that hold all; that have nothing */
    int source, head; /* the machines that stand for all `sources` and `heads`,
                         if `cut` */
    int low, high;      /* machines from low to high */
} span;

/* ---- moves_route.c ---- */

/* The first returns the value remembered for a key, or NULL; the second puts it
 * there. */
void *rlf_moves_known(const table *t, uint64_t key);
void rlf_moves_keep(table *t, uint64_t key, const void *value,
                    rlf_arena *arena);
uint64_t rlf_moves_mix(uint64_t hash, uint64_t x);
/* The machines of a kind that a machine is of, and its ranks. */
const rlf_cluster_part *rlf_moves_part(const rlf_moves *m, int machine);
rlf_range rlf_moves_ranks(const rlf_moves *m, int machine);
/* Returns the seconds of a stretch, whose ranks are marked: those of one like it
 * that was routed before, or else it is routed now. */
stretch rlf_moves_route(rlf_moves *m, const span *s);

#endif
