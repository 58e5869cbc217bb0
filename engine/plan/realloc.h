/* Weight edges: the tensors of a model go from one layout to another, on the
 * same ranks, overlapping or other ones (parameter reallocation).
 *
 * Pure: shapes, two layouts and the machine of each rank in, a list of sends of
 * boxes out. Every destination slice is covered exactly once; a rank is sent
 * nothing that it holds; a piece enters a machine at most once, and leaves one
 * through one rank. Theory and rules: README. Nothing is moved here. */
#ifndef RLF_PLAN_REALLOC_H
#define RLF_PLAN_REALLOC_H

#include "engine/base/arena.h"
#include "engine/layout/slice.h"

/* The ways in which a piece goes from one rank to several. */
typedef enum rlf_topology {
    RLF_TOPOLOGY_AUTO, /* whichever rlf_multicast_time says is fastest */
    RLF_TOPOLOGY_DIRECT,
    RLF_TOPOLOGY_TREE, /* binomial */
    RLF_TOPOLOGY_RING, /* a chain; pieces follow each other */
} rlf_topology;

typedef struct rlf_wire {
    double start; /* seconds a message takes before its first byte */
    double rate;  /* bytes a second */
    bool shared;  /* receivers read the sender's memory, all at once */
} rlf_wire;

/* Links between ranks, as far as they decide how pieces spread; which bits
 * arrive does not depend on them. */
typedef struct rlf_links {
    rlf_wire inside, across; /* between ranks of a machine; of two machines */
    const int *machine; /* the machine of every rank, >= 0; NULL: not known */
} rlf_links;

typedef struct rlf_realloc_job {
    const rlf_shapes *shapes;
    const rlf_layout *from, *to;
    /* The machine of every rank, >= 0; NULL: all are on one. */
    const int *machine;
    int element;             /* bytes */
    int vector;              /* bytes of a vector's; 0: the same */
    rlf_wire inside, across; /* a machine's ranks; two machines */
    rlf_topology topology;
    /* Rounds of a layer come before those of the next, and tensors of no layer
     * last: whoever receives needs room for one. */
    bool by_layer;
    int alike; /* layers of the model for each one here, of which topologies
                  are chosen; 0: 1 */
    /* The layouts are stages of others: then `replica` is of every rank its
     * replica of the old one of these, if both are on the same ranks, and else
     * NULL. */
    bool part;
    const int *replica;
} rlf_realloc_job;

typedef struct rlf_realloc_plan {
    rlf_send *sends; /* every send stands behind its `after` */
    int n_sends, rounds;
    rlf_send *copies; /* within a rank */
    int n_copies;
    unsigned topologies; /* 1 << rlf_topology of every spread to more than one
                            rank; DIRECT if there is none */
} rlf_realloc_plan;

/* Bytes of a number of that tensor on its way. */
static inline int64_t
rlf_realloc_element(const rlf_realloc_job *job, int tensor)
{
    const rlf_shape *shape = &job->shapes->list[tensor];
    bool vector = job->vector && (shape->cols == 1 || shape->floats);
    return vector ? job->vector : job->element;
}

/* The load of one rank, in bytes. Peak and redundant bytes are those that
 * the two layouts make inevitable (README). */
typedef struct rlf_realloc_load {
    int64_t messages; /* messages that a rank waits for: one of each sender in a
                         round */
    int64_t sent, received;
    int64_t peak;      /* both slices, what they share once */
    int64_t redundant; /* elements of the old slice outside the new one */
} rlf_realloc_load;

/* Numbers of all ranks together. What goes from one rank to another in one
 * round is a message. */
typedef struct rlf_realloc_total {
    int64_t messages, bytes;
    rlf_realloc_load most; /* each by the rank with the most */
} rlf_realloc_total;

/* "direct", or those of a plan: "direct, ring". */
const char *rlf_topologies_word(unsigned topologies);

/* Makes the edge in `arena`. RLF_USER if a layout does not fit the shapes. */
rlf_status rlf_realloc_make(const rlf_realloc_job *job, rlf_arena *arena,
                            rlf_err *err, rlf_realloc_plan *out);
void rlf_realloc_measure(const rlf_realloc_job *job,
                         const rlf_realloc_plan *plan, int rank,
                         rlf_realloc_load *out);
void rlf_realloc_sum(const rlf_realloc_job *job, const rlf_realloc_plan *plan,
                     rlf_arena *arena, rlf_realloc_total *out);
/* Seconds until `receivers` ranks have `bytes`, cut in `pieces` that start at
 * `senders` ranks in turn, over links of one kind. The choice of a topology
 * goes by it; it is declared so that a test can hold it against messages played
 * out.
 */
double rlf_multicast_time(rlf_topology topology, rlf_wire link, int senders,
                          int receivers, int64_t bytes, int64_t pieces);

#endif
