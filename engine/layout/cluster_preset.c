/* Clusters that have a name: those of cluster.def, and this machine. */
#include "engine/layout/cluster.h"

#include "engine/base/vec.h"

#include <math.h>

/* Rates that a core of a machine which nobody has measured is taken to have,
 * and its memory: a few years old, with AVX2. */
#define CORE_F32 40e9
#define MACHINE_BANDWIDTH 20e9
#define RANK_LINK 5e9
#define RANK_START 5e-6
#define RANK_LAUNCH 1e-6

enum {
#define DEVICE(name, ...) DEVICE_##name,
#include "engine/layout/cluster.def"
#undef DEVICE
    DEVICES
};

static const rlf_device_kind devices[DEVICES] = {
#define DEVICE(name, bf16, f32, memory, bandwidth, launch) \
    {#name, true, bf16, f32, memory, bandwidth, launch, NULL, {0}},
#include "engine/layout/cluster.def"
#undef DEVICE
};

static const rlf_machine_kind machines[] = {
#define MACHINE(preset, name, device, count, link, start, host, copy, cores, \
                net, net_start)                                              \
    {#name, &devices[DEVICE_##device], count, link, start, host, copy, cores},
#include "engine/layout/cluster.def"
#undef MACHINE
};

static const struct {
    double link, start;
} nets[RLF_COUNT(machines)] = {
#define MACHINE(preset, name, device, count, link, start, host, copy, cores, \
                net, net_start)                                              \
    {net, net_start},
#include "engine/layout/cluster.def"
#undef MACHINE
};

static const char *const names[] = {
#define MACHINE(preset, ...) #preset,
#include "engine/layout/cluster.def"
#undef MACHINE
    NULL};

const char *const *
rlf_cluster_presets(void)
{
    return names;
}

const rlf_device_kind *
rlf_device_preset(size_t i)
{
    return i < RLF_COUNT(devices) ? &devices[i] : NULL;
}

const rlf_machine_kind *
rlf_machine_preset(size_t i)
{
    return i < RLF_COUNT(machines) ? &machines[i] : NULL;
}

static rlf_cluster *
of_one_kind(const char *name, const rlf_machine_kind *machine, int count,
            rlf_arena *arena)
{
    rlf_cluster *c = RLF_NEW(arena, rlf_cluster);
    c->name = name;
    c->n_parts = 1;
    c->parts = RLF_NEW(arena, rlf_cluster_part);
    c->parts[0] = (rlf_cluster_part){
        .machine = machine, .count = count, .link = INFINITY};
    return c;
}

rlf_status
rlf_cluster_preset(const char *name, int count, rlf_arena *arena, rlf_err *err,
                   rlf_cluster **out)
{
    size_t i = 0;
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    if (!names[i]) {
        rlf_fail(err, RLF_USER, "there is no cluster called '%s'", name);
        const char *near = rlf_str_nearest(name, names, RLF_COUNT(names) - 1);
        if (near)
            rlf_err_hint(err, "did you mean '%s'?", near);
        return RLF_USER;
    }
    int most = RLF_CLUSTER_RANKS / machines[i].count;
    if (count < 1 || count > most)
        return rlf_fail(err, RLF_USER,
                        "a cluster of %s has 1 to %d machines, not %d", name,
                        most, count);
    rlf_cluster *c = of_one_kind(name, &machines[i], count, arena);
    if (count > 1) {
        c->parts[0].link = nets[i].link;
        c->start = nets[i].start;
    }
    *out = c;
    return rlf_cluster_number(c, err);
}

rlf_cluster *
rlf_cluster_this(int ranks, int cores, double memory, rlf_arena *arena)
{
    rlf_device_kind *device = RLF_NEW(arena, rlf_device_kind);
    rlf_machine_kind *machine = RLF_NEW(arena, rlf_machine_kind);
    rlf_err err = RLF_ERR_NONE;
    *device = (rlf_device_kind){.name = "cpu",
                                .f32 = CORE_F32 * cores / ranks,
                                .memory = floor(memory / ranks),
                                .bandwidth = MACHINE_BANDWIDTH / ranks,
                                .launch = RANK_LAUNCH};
    *machine = (rlf_machine_kind){.name = "host",
                                  .device = device,
                                  .count = ranks,
                                  .link = ranks > 1 ? RANK_LINK : INFINITY,
                                  .start = ranks > 1 ? RANK_START : 0,
                                  .cores = cores};
    rlf_cluster *c = of_one_kind("this", machine, 1, arena);
    c->guessed = c->this_machine = true;
    RLF_ASSERT(rlf_cluster_number(c, &err) == RLF_OK);
    return c;
}
