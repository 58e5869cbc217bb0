/* Weights on their way: how long moves take on links whose seconds are worked
 * out by hand. */
#include "engine/timing/transfers.h"
#include "tests/tap.h"

#include <math.h>

enum { LAYERS = 8, EACH = 5, TENSORS = LAYERS * EACH };

static rlf_arena *arena;
static rlf_shape tensors[TENSORS];
static const rlf_shapes shapes = {tensors, TENSORS, LAYERS};
static const int ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const double start = 1e-3, rate = 1e6; /* of links between machines */
static const double hop = 1e-4, inside = 1e7; /* of those inside */
static const double bytes = 4 * 1000;         /* of a tensor */

/* Machines of `count` ranks each. */
static rlf_cluster *
cluster_of(int machines, int count)
{
    static rlf_device_kind device = {
        .name = "d", .f32 = 1e12, .memory = 1e10, .bandwidth = 1e12};
    rlf_machine_kind *kind = RLF_NEW(arena, rlf_machine_kind);
    rlf_cluster_part *part = RLF_NEW(arena, rlf_cluster_part);
    rlf_cluster *c = RLF_NEW(arena, rlf_cluster);
    *kind = (rlf_machine_kind){.name = "m",
                               .device = &device,
                               .count = count,
                               .link = inside,
                               .start = hop,
                               .cores = count};
    *part =
        (rlf_cluster_part){.machine = kind, .count = machines, .link = rate};
    *c =
        (rlf_cluster){.name = "c", .parts = part, .n_parts = 1, .start = start};
    rlf_err err = RLF_ERR_NONE;
    if (rlf_cluster_number(c, &err) < 0)
        bail("%s", err.sentence);
    return c;
}

static double
seconds_of(const rlf_cluster *c, const rlf_layout *from, const rlf_layout *to,
           rlf_topology topology, bool by_layer)
{
    int *machine = RLF_NEW_ARRAY(arena, int, c->ranks);
    for (int r = 0; r < c->ranks; r++)
        machine[r] = rlf_cluster_machine(c, r);
    const rlf_realloc_job job = {.shapes = &shapes,
                                 .from = from,
                                 .to = to,
                                 .machine = machine,
                                 .element = 4,
                                 .inside = {hop, inside, false},
                                 .across = {start, rate, false},
                                 .topology = topology,
                                 .by_layer = by_layer};
    const rlf_speeds speeds = rlf_speeds_of(c, false);
    rlf_realloc_plan plan;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_realloc_make(&job, arena, &err, &plan) < 0)
        bail("%s", err.sentence);
    return rlf_transfers_seconds(&speeds, &job, &plan, c->ranks, arena, NULL);
}

static void
is_seconds(double got, double want, const char *what)
{
    ok(fabs(got - want) <= 1e-9 * want, "%s: %g s, by hand %g s", what, got,
       want);
}

static rlf_layout
layout_of(int first, int tp, int dp)
{
    return (rlf_layout){.ranks = &ranks[first],
                        .n_ranks = tp * dp,
                        .tp = tp,
                        .pp = 1,
                        .dp = dp};
}

/* All tensors of a round that go from one rank to another are one message. */
static void
test_message(void)
{
    const rlf_layout one = layout_of(0, 1, 1), other = layout_of(1, 1, 1);
    const rlf_layout two = layout_of(0, 1, 2), halves = layout_of(2, 2, 1);
    double all = TENSORS * bytes;
    is_seconds(
        seconds_of(cluster_of(2, 1), &one, &other, RLF_TOPOLOGY_AUTO, false),
        start + all / rate, "to another machine, all at once");
    is_seconds(
        seconds_of(cluster_of(2, 1), &one, &other, RLF_TOPOLOGY_AUTO, true),
        LAYERS * start + all / rate, "... and layer by layer");
    is_seconds(
        seconds_of(cluster_of(1, 2), &one, &other, RLF_TOPOLOGY_AUTO, false),
        hop + all / inside, "on one machine");
    /* each half of a tensor from the one that has sent less; the link has all
     * of it */
    is_seconds(
        seconds_of(cluster_of(2, 2), &two, &halves, RLF_TOPOLOGY_AUTO, false),
        start + all / rate, "two ranks of a machine share its link");
}

/* From one machine to three, one behind another, tensor by tensor: the last has
 * all when as many have gone as there are, and two more on their way to it. A
 * layer does not wait for the one before to come to the end of the chain, but
 * each rank does for its own last message of it. */
static void
test_chain(void)
{
    const rlf_layout one = layout_of(0, 1, 1), three = layout_of(1, 1, 3);
    const rlf_cluster *c = cluster_of(4, 1);
    double each = start + bytes / rate;
    is_seconds(seconds_of(c, &one, &three, RLF_TOPOLOGY_RING, false),
               (TENSORS + 2) * each, "a chain of machines");
    is_seconds(seconds_of(c, &one, &three, RLF_TOPOLOGY_RING, true),
               (TENSORS + LAYERS - 1 + 2) * each,
               "... layers follow one another in it");
}

int
main(void)
{
    arena = rlf_arena_new();
    for (int i = 0; i < TENSORS; i++)
        tensors[i] = (rlf_shape){.name = "w",
                                 .layer = i / EACH,
                                 .split = RLF_SPLIT_ROWS,
                                 .rows = 100,
                                 .cols = 10,
                                 .unit = 1};
    test_message();
    test_chain();
    rlf_arena_free(arena);
    return done();
}
