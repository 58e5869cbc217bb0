/* From counts to seconds: see seconds.h. */
#include "engine/timing/seconds.h"

#include "engine/base/vec.h"
#include "engine/timing/profile.h"

#include <math.h>

const char *
rlf_seconds_word(rlf_seconds_term term)
{
    static const char *const words[RLF_SECONDS_TERMS] = {
        [RLF_SECONDS_COMPUTE] = "compute",
        [RLF_SECONDS_MEMORY] = "memory",
        [RLF_SECONDS_LAUNCH] = "launches",
        [RLF_SECONDS_MEET_INSIDE] = "collectives: start",
        [RLF_SECONDS_SUM_INSIDE] = "collectives: bytes",
        [RLF_SECONDS_MEET_ACROSS] = "collectives across machines: start",
        [RLF_SECONDS_SUM_ACROSS] = "collectives across machines: bytes",
        [RLF_SECONDS_WAIT_INSIDE] = "messages: start",
        [RLF_SECONDS_SEND_INSIDE] = "messages: bytes",
        [RLF_SECONDS_WAIT_ACROSS] = "messages across machines: start",
        [RLF_SECONDS_SEND_ACROSS] = "messages across machines: bytes",
        [RLF_SECONDS_HOST] = "host",
        [RLF_SECONDS_MEASURED] = "measured",
    };
    return words[term];
}

double
rlf_line_at(const rlf_line *line, double x)
{
    return line->fixed + line->each * x;
}

rlf_speeds
rlf_speeds_of(const rlf_cluster *cluster, bool bf16)
{
    rlf_speeds speeds = {.cluster = cluster, .bf16 = bf16};
    for (int i = 0; i < RLF_SECONDS_TERMS; i++)
        speeds.factor[i] = 1;
    return speeds;
}

const rlf_line *
rlf_speeds_line(const rlf_speeds *speeds, rlf_line_kind kind, int rank,
                int ranks)
{
    const rlf_profile *p = speeds->profiles ? speeds->profiles[rank] : NULL;
    const rlf_line *best = NULL;
    double least = INFINITY;
    for (int i = 0; p && i < p->n_links; i++) {
        const rlf_line *line = &p->links[i];
        double apart = fabs(log((double)line->ranks / ranks));
        if (line->kind != kind || apart >= least)
            continue;
        least = apart;
        best = line;
    }
    return best;
}

/* ---- terms ---- */

static void
put(const rlf_speeds *speeds, rlf_seconds_term term, double seconds,
    rlf_seconds *out)
{
    out->term[term] += speeds->factor[term] * seconds;
}

/* The larger of the first two, and all others. */
static void
total(rlf_seconds *out)
{
    double sum =
        fmax(out->term[RLF_SECONDS_COMPUTE], out->term[RLF_SECONDS_MEMORY]);
    for (int i = RLF_SECONDS_MEMORY + 1; i < RLF_SECONDS_TERMS; i++)
        sum += out->term[i];
    out->total = sum;
}

/* A meeting of ranks, `rank` among them: `term` is the first of the four
 * of collectives or messages. */
typedef struct meeting {
    rlf_seconds_term term;
    rlf_line_kind kind;
    int rank, ranks;
} meeting;

/* `n` times a start, and bytes: over a link, or as a line says. */
static void
put_link(const rlf_speeds *speeds, meeting m, double n, double bytes,
         rlf_link_speed link, rlf_seconds *out)
{
    const rlf_line *line =
        link.across ? NULL : rlf_speeds_line(speeds, m.kind, m.rank, m.ranks);
    rlf_seconds_term start = link.across ? m.term + 2 : m.term;
    put(speeds, start, n * (line ? line->fixed : link.start), out);
    put(speeds, start + 1, bytes * (line ? line->each : 1 / link.rate), out);
}

/* The rank that the next stage (by 1), or the one before (by -1), has at the
 * same place; after the last comes the first where stages have several chunks,
 * unless they are those of a V, which turns there.
 * -1: there is none. */
static int
neighbour(const rlf_layout *layout, int place, int by)
{
    rlf_coordinates at = rlf_layout_at(layout, place);
    bool round = layout->chunks > 1 && !layout->vee;
    at.pp += by;
    if (!round && (at.pp < 0 || at.pp == layout->pp))
        return -1;
    at.pp = (at.pp + layout->pp) % layout->pp;
    return layout->ranks[rlf_layout_place(layout, at)];
}

/* Returns how many ranks of a machine have that neighbour on another. */
static int
leaving(const rlf_cluster *c, const rlf_layout *layout, int machine, int by)
{
    rlf_range on = rlf_cluster_on(c, machine, layout->ranks, layout->n_ranks);
    int n = 0;
    for (int64_t i = on.first; i < on.last; i++) {
        int to = neighbour(layout, (int)i, by);
        n += to >= 0 && rlf_cluster_machine(c, to) != machine;
    }
    return n;
}

/* The slower of the links to the stages before and after, with what others of
 * the machine leave of it. */
static rlf_link_speed
stage_link(const rlf_cluster *c, const rlf_layout *layout, int rank)
{
    int place = rlf_layout_place(layout, rlf_layout_find(layout, rank));
    int machine = rlf_cluster_machine(c, rank);
    rlf_link_speed slow = {.rate = INFINITY};
    for (int by = -1; by <= 1; by += 2) {
        int other = neighbour(layout, place, by);
        if (other < 0)
            continue;
        rlf_link_speed link = rlf_cluster_link(c, rank, other);
        if (link.across)
            link.rate /= leaving(c, layout, machine, by);
        if (link.rate < slow.rate)
            slow = link;
    }
    return slow;
}

static meeting
message_of(int rank)
{
    return (meeting){RLF_SECONDS_WAIT_INSIDE, RLF_LINE_MESSAGE, rank, 2};
}

/* Of a set of axes, but for stages alone: a ring through the group. */
static void
find_ring(const rlf_cluster *c, int axes, rlf_rank_links *links)
{
    const rlf_layout *layout = links->layout;
    int *group = rlf_calloc((size_t)layout->n_ranks, sizeof *group), n;
    n = rlf_layout_group(layout, links->rank, axes, group);
    int share = rlf_cluster_share(c, layout->ranks, layout->n_ranks, group, n);
    links->of[axes].link = rlf_cluster_ring(c, group, n, share);
    links->of[axes].ranks = n;
    free(group);
}

static void
put_meets(const rlf_speeds *speeds, const rlf_meets *meets, int axes,
          rlf_rank_links *links, rlf_seconds *out)
{
    const rlf_cluster *c = speeds->cluster;
    bool stages = axes == RLF_AXIS_PP, known = links->of[axes].ranks > 0;
    if (meets->n <= 0 && meets->bytes <= 0)
        return;
    if (!known && stages) {
        links->of[axes].link = stage_link(c, links->layout, links->rank);
        links->of[axes].ranks = 2;
    } else if (!known) {
        find_ring(c, axes, links);
    }
    const meeting all = {RLF_SECONDS_MEET_INSIDE, RLF_LINE_COLLECTIVE,
                         links->rank, links->of[axes].ranks};
    put_link(speeds, stages ? message_of(links->rank) : all, meets->n,
             meets->bytes, links->of[axes].link, out);
}

double
rlf_seconds_stages(const rlf_speeds *speeds, const rlf_layout *layout, double n,
                   double bytes)
{
    const rlf_cluster *c = speeds->cluster;
    double most = 0;
    for (int i = 0; i < layout->n_ranks && layout->pp > 1; i++) {
        int rank = layout->ranks[i];
        rlf_seconds one = {0};
        if (rlf_layout_at(layout, i).tp)
            continue;
        put_link(speeds, message_of(rank), n, bytes,
                 stage_link(c, layout, rank), &one);
        total(&one);
        most = fmax(most, one.total);
    }
    return most;
}

static void
put_copy(const rlf_speeds *speeds, int rank, double bytes, rlf_seconds *out)
{
    const rlf_line *line = rlf_speeds_line(speeds, RLF_LINE_COPY, rank, 1);
    const rlf_machine_kind *machine =
        rlf_cluster_part_of(speeds->cluster, rank)->machine;
    double rate =
        machine->device->gpu ? machine->copy : machine->device->bandwidth;
    if (bytes > 0)
        put(speeds, RLF_SECONDS_HOST,
            line ? rlf_line_at(line, bytes) : bytes / rate, out);
}

void
rlf_seconds_of(const rlf_speeds *speeds, const rlf_cost *cost,
               const rlf_layout *layout, int rank, double rows,
               rlf_seconds *out)
{
    rlf_rank_links links = {.layout = layout, .rank = rank};
    rlf_seconds_over(speeds, cost, &links, rows, out);
}

void
rlf_seconds_over(const rlf_speeds *speeds, const rlf_cost *cost,
                 rlf_rank_links *links, double rows, rlf_seconds *out)
{
    int rank = links->rank;
    const rlf_device_kind *device =
        rlf_cluster_part_of(speeds->cluster, rank)->machine->device;
    bool bf16 = speeds->bf16 && device->bf16 > 0;
    double peak = bf16 ? device->bf16 : device->f32;
    double few = rows > 0 ? 1 + speeds->half / rows : 1;
    *out = (rlf_seconds){0};
    put(speeds, RLF_SECONDS_COMPUTE, cost->flops / peak * few, out);
    put(speeds, RLF_SECONDS_MEMORY,
        (cost->read + cost->written) / device->bandwidth, out);
    put(speeds, RLF_SECONDS_LAUNCH, cost->calls * device->launch, out);
    for (int axes = 1; axes < RLF_AXIS_SETS; axes++)
        put_meets(speeds, &cost->meets[axes], axes, links, out);
    put_copy(speeds, rank, cost->host + (device->gpu ? cost->brought : 0), out);
    total(out);
}

void
rlf_seconds_message(const rlf_speeds *speeds, int from, int to, double bytes,
                    rlf_seconds *out)
{
    *out = (rlf_seconds){0};
    if (from != to)
        put_link(speeds, message_of(from), 1, bytes,
                 rlf_cluster_link(speeds->cluster, from, to), out);
    total(out);
}

void
rlf_seconds_stage(const rlf_speeds *speeds, const rlf_layout *layout, int from,
                  int to, double bytes, rlf_seconds *out)
{
    const rlf_cluster *c = speeds->cluster;
    rlf_link_speed link = rlf_cluster_link(c, from, to);
    int sharing =
        link.across ? leaving(c, layout, rlf_cluster_machine(c, from), 1) : 1;
    *out = (rlf_seconds){0};
    link.rate /= sharing ? sharing : 1;
    if (from != to)
        put_link(speeds, message_of(from), 1, bytes, link, out);
    total(out);
}

void
rlf_seconds_copy(const rlf_speeds *speeds, int rank, double bytes,
                 rlf_seconds *out)
{
    *out = (rlf_seconds){0};
    put_copy(speeds, rank, bytes, out);
    total(out);
}

/* ---- sums ---- */

void
rlf_seconds_add(rlf_seconds *to, const rlf_seconds *more, double times)
{
    for (int i = 0; i < RLF_SECONDS_TERMS; i++)
        to->term[i] += times * more->term[i];
    to->total += times * more->total;
}
