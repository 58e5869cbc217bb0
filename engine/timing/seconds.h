/* Seconds from counts: what a node, or a piece of its work (rlf_cost), takes on
 * a device of a cluster, every term by itself.
 *
 *     max(operations / peak, bytes of memory / bandwidth)
 *         + operations started * launch
 *         + over collectives and messages: start + bytes / link
 *         + bytes for the host / copy
 *
 * Each term is worked out with the numbers of the cluster and multiplied by a
 * factor of its own, 1 where nobody has fitted them. Products of few rows
 * reach less of the peak: rows / (rows + half) of it. Where a profile has
 * measured messages, collectives or copies of the machine, its lines stand in
 * the place of the cluster's numbers; what it says of pieces of a program is
 * asked for apart (measured.h). */
#ifndef RLF_TIMING_SECONDS_H
#define RLF_TIMING_SECONDS_H

#include "engine/graph/class.h"
#include "engine/layout/cluster.h"

typedef enum rlf_seconds_term {
    RLF_SECONDS_COMPUTE, /* the larger of these two counts */
    RLF_SECONDS_MEMORY,
    RLF_SECONDS_LAUNCH,
    /* Of collectives what does not depend on their size, and what does, inside
     * a machine and across; then of messages from stage to stage. */
    RLF_SECONDS_MEET_INSIDE,
    RLF_SECONDS_SUM_INSIDE,
    RLF_SECONDS_MEET_ACROSS,
    RLF_SECONDS_SUM_ACROSS,
    RLF_SECONDS_WAIT_INSIDE,
    RLF_SECONDS_SEND_INSIDE,
    RLF_SECONDS_WAIT_ACROSS,
    RLF_SECONDS_SEND_ACROSS,
    RLF_SECONDS_HOST,
    RLF_SECONDS_MEASURED, /* a piece, by a line of a profile (measured.h) */
    RLF_SECONDS_TERMS
} rlf_seconds_term;

/* "compute", "collectives across machines: bytes", ... */
const char *rlf_seconds_word(rlf_seconds_term term);

typedef struct rlf_seconds {
    double term[RLF_SECONDS_TERMS];
    double total; /* seconds in all; of sums with the larger of the first two by
                     summand */
} rlf_seconds;

/* ---- lines ---- */

typedef enum rlf_line_kind {
    RLF_LINE_COLLECTIVE, /* a collective, by bytes that a rank sends */
    RLF_LINE_MESSAGE,    /* a message, by its bytes */
    RLF_LINE_COPY,       /* between host and device, by bytes */
} rlf_line_kind;

/* A line through what was measured inside a machine: fixed + each * x seconds
 * for x from least to most. */
typedef struct rlf_line {
    rlf_line_kind kind;
    int ranks; /* COLLECTIVE: of so many; MESSAGE: 2; COPY: 1 */
    double fixed, each, least, most;
    double spread; /* the spread of the measurements, as a part of their mean */
} rlf_line;

double rlf_line_at(const rlf_line *line, double x);

/* ---- speeds ---- */

/* The speeds that seconds are worked out with. */
typedef struct rlf_speeds {
    const rlf_cluster *cluster;
    bool bf16;   /* products are in it, on devices that can */
    double half; /* rows of a product with which half of the peak is reached */
    double factor[RLF_SECONDS_TERMS];
    /* Per rank of the cluster the profile of its device (profile.h), NULL:
     * there is none; NULL: none at all. */
    const struct rlf_profile *const *profiles;
} rlf_speeds;

/* The numbers of the cluster as they are: factors 1, half 0, no profiles. */
rlf_speeds rlf_speeds_of(const rlf_cluster *cluster, bool bf16);
/* The line of that kind that the profile of the rank's device has, of
 * collectives that of the number of ranks that is nearest in proportion; NULL:
 * nobody has measured it. */
const rlf_line *rlf_speeds_line(const rlf_speeds *speeds, rlf_line_kind kind,
                                int rank, int ranks);

/* The links that a rank of a layout communicates over, by the set of axes:
 * found when it is first asked for. Begins as {.layout = .., .rank = ..}. */
typedef struct rlf_rank_links {
    const rlf_layout *layout;
    int rank;
    struct {
        int ranks; /* ranks of the group; 0: not known yet */
        rlf_link_speed link;
    } of[RLF_AXIS_SETS];
} rlf_rank_links;

/* Seconds of the cost of `rank` (one of the layout's, which ascend and are of
 * the cluster). `rows` of a product, as the tokens of a micro-batch; 0: many.
 * All groups of the layout communicate at the same time, and share the links of
 * machines. */
void rlf_seconds_of(const rlf_speeds *speeds, const rlf_cost *cost,
                    const rlf_layout *layout, int rank, double rows,
                    rlf_seconds *out);
/* The same of a rank that is asked for again and again. */
void rlf_seconds_over(const rlf_speeds *speeds, const rlf_cost *cost,
                      rlf_rank_links *links, double rows, rlf_seconds *out);
/* A message of that size between two ranks by itself. */
void rlf_seconds_message(const rlf_speeds *speeds, int from, int to,
                         double bytes, rlf_seconds *out);
/* A message from a stage of a layout to the next one, while all ranks of the
 * machine that have such a neighbour on another send to it: they share the
 * machine's link. */
void rlf_seconds_stage(const rlf_speeds *speeds, const rlf_layout *layout,
                       int from, int to, double bytes, rlf_seconds *out);
/* The seconds of so many messages, with so many bytes in all, that each stage
 * of a layout exchanges with those next to it, on the rank with the slowest
 * links: those of each set of neighbours go at the same time. */
double rlf_seconds_stages(const rlf_speeds *speeds, const rlf_layout *layout,
                          double n, double bytes);
/* A copy between the host and the device of a rank. */
void rlf_seconds_copy(const rlf_speeds *speeds, int rank, double bytes,
                      rlf_seconds *out);

/* to += times * more */
void rlf_seconds_add(rlf_seconds *to, const rlf_seconds *more, double times);
#endif
