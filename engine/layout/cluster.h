/* Clusters: kinds of devices, the machines that hold them, the links between,
 * and which rank is on which device.
 *
 * A cluster is data: a file in the language's syntax (grammar/cluster.h) or a
 * preset (cluster.def). Ranks count through its machines in order, and through
 * the devices of each. Numbers are bytes, seconds, and per second. A link's
 * rate is that of one direction; both can be used at once.
 *
 * The time that a device takes for some work is engine/timing's matter. */
#ifndef RLF_LAYOUT_CLUSTER_H
#define RLF_LAYOUT_CLUSTER_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"
#include "engine/layout/layout.h"

enum { RLF_CLUSTER_RANKS = 65536 }; /* the most that a cluster has */

typedef struct rlf_device_kind {
    const char *name;
    bool gpu;
    double bf16, f32; /* floating-point operations a second; bf16 0: it cannot
                         compute in that */
    double memory;    /* bytes */
    double bandwidth; /* bytes a second that its memory gives */
    double launch;    /* seconds to start an operation */
    const char *profile; /* file of what was measured on it, as it is to be
                            opened; or NULL */
    rlf_span profile_span; /* where that is said */
} rlf_device_kind;

/* Machines that are alike. A machine of CPUs has no memory but that of its
 * devices: host and copy are 0. */
typedef struct rlf_machine_kind {
    const char *name;
    const rlf_device_kind *device;
    int count;    /* devices of a machine */
    double link;  /* bytes a second from a device to others of its machine;
                     INFINITY where the machine has one device */
    double start; /* seconds that a message inside a machine takes at least */
    double host;  /* bytes of memory beside the devices */
    double copy;  /* between that and a device */
    int cores;
} rlf_machine_kind;

/* Neighbouring machines of one kind. */
typedef struct rlf_cluster_part {
    const rlf_machine_kind *machine;
    int count;                     /* machines */
    double link; /* bytes a second from a machine to the others; INFINITY where
                    the cluster is one machine */
    int first_machine, first_rank; /* filled by rlf_cluster_number */
} rlf_cluster_part;

typedef struct rlf_cluster {
    const char *name;
    rlf_cluster_part *parts;
    int n_parts;
    double start; /* seconds that a message between machines takes at
                     least */
    bool guessed; /* its rates are rough defaults, which nobody measured */
    bool this_machine; /* it is the machine that this process runs on */
    int machines, ranks; /* filled by rlf_cluster_number */
} rlf_cluster;

/* Give machines and ranks their numbers. RLF_USER if there are more than
 * RLF_CLUSTER_RANKS. */
rlf_status rlf_cluster_number(rlf_cluster *cluster, rlf_err *err);
/* The same machines in an order that depends on their numbers alone, and not on
 * the one in which they are named: those whose devices have most memory first.
 * rank_of[r] is the rank of `cluster` that rank r is there. Both in `arena`;
 * kinds of machines are shared. */
const rlf_cluster *rlf_cluster_ordered(const rlf_cluster *cluster,
                                       rlf_arena *arena, const int **rank_of);

/* ---- presets ---- */

/* Names of presets, then NULL; `this` is not among them. */
const char *const *rlf_cluster_presets(void);
/* `count` machines of a preset. RLF_USER with the name that was meant if there
 * is none of that name, or if there are more or fewer than it can have. */
rlf_status rlf_cluster_preset(const char *name, int count, rlf_arena *arena,
                              rlf_err *err, rlf_cluster **out);
/* The kinds that presets are made of: i = 0, 1, ...; NULL after the last. */
const rlf_device_kind *rlf_device_preset(size_t i);
const rlf_machine_kind *rlf_machine_preset(size_t i);
/* The machine that this process runs on, with `ranks` ranks that divide its
 * cores and its memory (bytes) evenly. Rates are rough defaults. */
rlf_cluster *rlf_cluster_this(int ranks, int cores, double memory,
                              rlf_arena *arena);

/* ---- ranks ---- */

/* Ranks below are those of the cluster: 0 <= rank < cluster->ranks. */
const rlf_cluster_part *rlf_cluster_part_of(const rlf_cluster *cluster,
                                            int rank);
/* The number of a rank's machine. */
int rlf_cluster_machine(const rlf_cluster *cluster, int rank);
/* Returns the ranks on a machine, of n ascending ones: ranks[first] to
 * ranks[last - 1]. */
rlf_range rlf_cluster_on(const rlf_cluster *cluster, int machine,
                         const int *ranks, int n);

/* The speed of a link: `bytes` take start + bytes / rate from one rank to
 * another. */
typedef struct rlf_link_speed {
    double rate, start;
    bool across; /* between machines */
} rlf_link_speed;

/* Between two ranks; of a rank with itself {INFINITY, 0}. */
rlf_link_speed rlf_cluster_link(const rlf_cluster *cluster, int a, int b);
/* The slowest link of a ring through `n` ranks that enters and leaves each
 * machine once, while `share` such rings at a time (1: this alone) go through
 * a machine's links to others. */
rlf_link_speed rlf_cluster_ring(const rlf_cluster *cluster, const int *ranks,
                                int n, int share);
/* Counts the groups like `group`, of the ranks `mesh` (ascending), share the
 * links of a machine if all of them communicate at once: the most over the
 * machines of the group. */
int rlf_cluster_share(const rlf_cluster *cluster, const int *mesh, int n_mesh,
                      const int *group, int n_group);

/* ---- meshes ---- */

/* Neighbouring ranks on devices of one kind: first, ..., first + n - 1. */
typedef struct rlf_cluster_mesh {
    int first, n;
    const rlf_device_kind *kind;
} rlf_cluster_mesh;

/* The meshes of its first `ranks` that calls can be placed on, larger ones
 * first, then by rank: runs of whole machines of one part, and in the first two
 * machines of each part powers of two of its devices, at multiples of their
 * size; where their number is no power of two also three times one, what
 * divides it and all but one, and of each size one at the end. (In which
 * machines of many alike a part of one is taken makes no difference, and plans
 * that cut up more than two are not looked at.) A machine of which only the
 * first devices are among the ranks is one of so many, and its part has a mesh
 * of all its ranks as well. Of a part with more than `most` machines not all
 * runs: powers of two, three times these, whole numbers of halves, thirds, to
 * eighths of it, in a dozen places each. */
rlf_status rlf_cluster_meshes(const rlf_cluster *cluster, int ranks, int most,
                              rlf_arena *arena, rlf_err *err,
                              rlf_cluster_mesh **out, int *n);

/* ---- printing ---- */

/* Writes its machines and what they have in all, in lines of comments. */
void rlf_cluster_describe(const rlf_cluster *cluster, rlf_buf *out);
/* The cluster as a file that gives it again, after such lines. */
void rlf_cluster_print(const rlf_cluster *cluster, rlf_buf *out);

#endif
