/* Clusters: numbers of ranks, links, meshes, printing: see cluster.h. */
#include "engine/layout/cluster.h"

#include "engine/base/map.h"
#include "engine/base/vec.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

/* Of each part of a cluster so many machines may be cut up by meshes. */
enum { CUT_UP = 2 };
/* If not all runs of machines are meshes: the places of one length, and the
 * parts that a length may be so many of. */
enum { SIDES = 12, PARTS = 8 };

rlf_status
rlf_cluster_number(rlf_cluster *c, rlf_err *err)
{
    int64_t machines = 0, ranks = 0;
    for (int i = 0; i < c->n_parts; i++) {
        rlf_cluster_part *part = &c->parts[i];
        part->first_machine = (int)machines;
        part->first_rank = (int)ranks;
        machines += part->count;
        ranks += (int64_t)part->count * part->machine->count;
        if (ranks > RLF_CLUSTER_RANKS)
            return rlf_fail(err, RLF_USER,
                            "'%s' has more than %d devices, the most that a "
                            "cluster can have",
                            c->name, (int)RLF_CLUSTER_RANKS);
    }
    c->machines = (int)machines;
    c->ranks = (int)ranks;
    return RLF_OK;
}

/* ---- order ---- */

static int
descending(double a, double b)
{
    return (a < b) - (a > b);
}

static int
by_profile(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* Those that are alike in all that is compared are the same machines, whatever
 * they are called. */
static int
by_kind(const void *a, const void *b)
{
    const rlf_cluster_part *x = *(rlf_cluster_part *const *)a;
    const rlf_cluster_part *y = *(rlf_cluster_part *const *)b;
    const rlf_machine_kind *m = x->machine, *n = y->machine;
    const rlf_device_kind *d = m->device, *e = n->device;
    const double pairs[][2] = {
        {d->gpu, e->gpu},       {d->memory, e->memory},
        {d->bf16, e->bf16},     {d->f32, e->f32},
        {m->count, n->count},   {x->count, y->count},
        {m->link, n->link},     {x->link, y->link},
        {m->start, n->start},   {d->bandwidth, e->bandwidth},
        {d->launch, e->launch}, {m->host, n->host},
        {m->copy, n->copy},     {m->cores, n->cores}};
    int by = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !by; i++)
        by = descending(pairs[i][0], pairs[i][1]);
    by = by ? by : by_profile(d->profile, e->profile);
    return by ? by : (x > y) - (x < y);
}

const rlf_cluster *
rlf_cluster_ordered(const rlf_cluster *c, rlf_arena *arena, const int **rank_of)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_cluster *out = RLF_NEW(arena, rlf_cluster);
    rlf_cluster_part **list =
        RLF_NEW_ARRAY(arena, rlf_cluster_part *, c->n_parts);
    int *of = RLF_NEW_ARRAY(arena, int, c->ranks), n = 0;
    for (int i = 0; i < c->n_parts; i++)
        list[i] = &c->parts[i];
    qsort(list, (size_t)c->n_parts, sizeof(*list), by_kind);
    *out = *c;
    out->parts = RLF_NEW_ARRAY(arena, rlf_cluster_part, c->n_parts);
    for (int i = 0; i < c->n_parts; i++) {
        out->parts[i] = *list[i];
        for (int r = 0; r < list[i]->count * list[i]->machine->count; r++)
            of[n++] = list[i]->first_rank + r;
    }
    rlf_status status = rlf_cluster_number(out, &err);
    RLF_ASSERT(status >= 0); /* it has as many ranks */
    *rank_of = of;
    return out;
}

/* ---- ranks ---- */

const rlf_cluster_part *
rlf_cluster_part_of(const rlf_cluster *c, int rank)
{
    RLF_ASSERT(rank >= 0 && rank < c->ranks);
    int i = c->n_parts - 1;
    while (rank < c->parts[i].first_rank)
        i--;
    return &c->parts[i];
}

int
rlf_cluster_machine(const rlf_cluster *c, int rank)
{
    const rlf_cluster_part *part = rlf_cluster_part_of(c, rank);
    return part->first_machine +
           (rank - part->first_rank) / part->machine->count;
}

/* Returns how many of n ranks, ascending, are below one. */
static int
below(const int *ranks, int n, int rank)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

rlf_range
rlf_cluster_on(const rlf_cluster *c, int machine, const int *ranks, int n)
{
    int i = c->n_parts - 1;
    while (machine < c->parts[i].first_machine)
        i--;
    const rlf_cluster_part *part = &c->parts[i];
    int count = part->machine->count;
    int first = part->first_rank + (machine - part->first_machine) * count;
    return (rlf_range){below(ranks, n, first), below(ranks, n, first + count)};
}

/* ---- links ---- */

static const rlf_link_speed none = {.rate = INFINITY};

static void
slow_down(rlf_link_speed *link, double rate, double start)
{
    if (rate < link->rate)
        link->rate = rate;
    if (start > link->start)
        link->start = start;
}

rlf_link_speed
rlf_cluster_link(const rlf_cluster *c, int a, int b)
{
    const rlf_cluster_part *one = rlf_cluster_part_of(c, a);
    const rlf_cluster_part *other = rlf_cluster_part_of(c, b);
    rlf_link_speed link = none;
    if (a == b)
        return link;
    if (rlf_cluster_machine(c, a) == rlf_cluster_machine(c, b)) {
        slow_down(&link, one->machine->link, one->machine->start);
        return link;
    }
    link.across = true;
    slow_down(&link, one->link, c->start);
    slow_down(&link, other->link, c->start);
    return link;
}

rlf_link_speed
rlf_cluster_ring(const rlf_cluster *c, const int *ranks, int n, int share)
{
    uint64_t seen[RLF_CLUSTER_RANKS / 64];
    rlf_link_speed link = none;
    memset(seen, 0, ((size_t)c->machines + 63) / 64 * sizeof *seen);
    for (int i = 0; i < n; i++) {
        const rlf_cluster_part *part = rlf_cluster_part_of(c, ranks[i]);
        int machine = rlf_cluster_machine(c, ranks[i]);
        uint64_t bit = UINT64_C(1) << (machine % 64);
        if (seen[machine / 64] & bit)
            slow_down(&link, part->machine->link, part->machine->start);
        seen[machine / 64] |= bit;
        link.across =
            link.across || machine != rlf_cluster_machine(c, ranks[0]);
    }
    for (int i = 0; i < n && link.across; i++)
        slow_down(&link, rlf_cluster_part_of(c, ranks[i])->link / share,
                  c->start);
    return link;
}

int
rlf_cluster_share(const rlf_cluster *c, const int *mesh, int n_mesh,
                  const int *group, int n_group)
{
    int *of = rlf_calloc((size_t)c->machines, sizeof *of), share = 1;
    for (int i = 0; i < n_group; i++)
        of[rlf_cluster_machine(c, group[i])]++;
    for (int i = 0; i < c->machines; i++) {
        if (!of[i])
            continue;
        rlf_range on = rlf_cluster_on(c, i, mesh, n_mesh);
        int mine = ((int)rlf_range_size(on) + of[i] - 1) / of[i];
        share = mine > share ? mine : share;
    }
    free(of);
    return share;
}

/* ---- meshes ---- */

static bool
is_power(int n)
{
    return !(n & (n - 1));
}

/* Is a part of so many devices of a machine of `count` looked at? */
static bool
is_part(int count, int size)
{
    int odd = size / (size & -size);
    return odd == 1 || (!is_power(count) &&
                        (odd == 3 || count % size == 0 || size == count - 1));
}

/* Parts of a machine at multiples of their size, and where that leaves some
 * devices at its end, of one that no power of two fills. `list` NULL: they are
 * only counted. */
static int
add_parts(rlf_cluster_mesh *list, int n, const rlf_cluster_part *part, int size)
{
    const rlf_machine_kind *machine = part->machine;
    int count = machine->count, left = count % size;
    for (int i = 0; i < part->count && i < CUT_UP; i++)
        for (int at = 0; at < count; at += size) {
            bool ends = at + size > count;
            if (ends && is_power(count))
                continue;
            if (list)
                list[n] = (rlf_cluster_mesh){part->first_rank + i * count + at -
                                                 (ends ? size - left : 0),
                                             size, machine->device};
            n++;
        }
    return n;
}

static int
add_all_parts(rlf_cluster_mesh *list, int n, const rlf_cluster_part *part)
{
    for (int size = part->machine->count - 1; size > 0; size--)
        if (is_part(part->machine->count, size))
            n = add_parts(list, n, part, size);
    return n;
}

static rlf_cluster_mesh
mesh_of(const rlf_cluster_part *part, int at, int run)
{
    int each = part->machine->count;
    return (rlf_cluster_mesh){part->first_rank + at * each, run * each,
                              part->machine->device};
}

/* Is a run of so many machines looked at in a part of `count`, where not all
 * are: powers of two, three times these, and parts in 2 to PARTS? */
static bool
is_run(int count, int run)
{
    int odd = run & -run; /* the power of two in it */
    bool found = run == odd || run == 3 * odd;
    for (int k = 2; k <= PARTS && !found; k++)
        found = count % k == 0 && run % (count / k) == 0;
    return found;
}

/* From each end of the part as many side by side as there is room for, up to
 * half of SIDES. */
static int
add_sides(rlf_cluster_mesh *list, int n, const rlf_cluster_part *part, int run)
{
    int fit = part->count / run, half = SIDES / 2;
    for (int i = 0; i < fit && i < half; i++)
        list[n++] = mesh_of(part, i * run, run);
    for (int i = fit - 1 < half ? fit - 1 : half - 1; i >= 0; i--) {
        int at = part->count - (i + 1) * run;
        bool known = at % run == 0 && at / run < half;
        if (!known)
            list[n++] = mesh_of(part, at, run);
    }
    return n;
}

/* The meshes of a part: how many there are then. */
static int
add_meshes(rlf_cluster_mesh *list, int n, const rlf_cluster_part *part,
           int most)
{
    for (int run = part->count; run > 0; run--) {
        if (part->count > most) {
            if (is_run(part->count, run))
                n = add_sides(list, n, part, run);
            continue;
        }
        for (int at = 0; at + run <= part->count; at++)
            list[n++] = mesh_of(part, at, run);
    }
    return add_all_parts(list, n, part);
}

static int
by_size(const void *a, const void *b)
{
    const rlf_cluster_mesh *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

/* The devices of a part that the first `ranks` have: whole machines, and of the
 * next one so many devices, as a part of one smaller machine; counts of 0 where
 * there are none. */
typedef struct used {
    rlf_cluster_part whole, rest;
    rlf_machine_kind smaller;
    int ranks;
} used;

static void
use_part(const rlf_cluster_part *part, int ranks, used *out)
{
    int each = part->machine->count, left = ranks - part->first_rank;
    out->ranks = left < 0                    ? 0
                 : left < part->count * each ? left
                                             : part->count * each;
    out->whole = out->rest = *part;
    out->whole.count = out->ranks / each;
    out->smaller = *part->machine;
    out->smaller.count = out->ranks % each;
    out->rest.machine = &out->smaller;
    out->rest.count = out->smaller.count > 0;
    out->rest.first_rank += out->whole.count * each;
}

/* The meshes of what is used of a part, and all of it where its last machine is
 * smaller. */
static int
add_used(rlf_cluster_mesh *list, int n, const used *u, int most)
{
    if (u->whole.count && u->rest.count)
        list[n++] = (rlf_cluster_mesh){u->whole.first_rank, u->ranks,
                                       u->whole.machine->device};
    n = add_meshes(list, n, &u->whole, most);
    return u->rest.count ? add_meshes(list, n, &u->rest, most) : n;
}

static int64_t
most_meshes(const used *u, int most)
{
    int64_t count = u->whole.count, room = 2;
    room += count > most ? count * SIDES : count * (count + 1) / 2;
    room += add_all_parts(NULL, 0, &u->whole);
    return u->rest.count ? room + add_all_parts(NULL, 0, &u->rest) : room;
}

rlf_status
rlf_cluster_meshes(const rlf_cluster *c, int ranks, int most, rlf_arena *arena,
                   rlf_err *err, rlf_cluster_mesh **out, int *n)
{
    int64_t room = 0;
    used u;
    for (int i = 0; i < c->n_parts; i++) {
        use_part(&c->parts[i], ranks, &u);
        room += most_meshes(&u, most);
    }
    RLF_TRY(rlf_arena_try(arena, (size_t)room * sizeof **out,
                          "the meshes of a cluster", err, out));
    *n = 0;
    for (int i = 0; i < c->n_parts; i++) {
        use_part(&c->parts[i], ranks, &u);
        *n = add_used(*out, *n, &u, most);
    }
    if (c->n_parts > 1 || ranks < c->ranks)
        qsort(*out, (size_t)*n, sizeof **out, by_size);
    return RLF_OK;
}

/* ---- printing ---- */

/* As people write it, 312e12 or 6e-6, where that is the same number. */
static void
put_number(rlf_buf *out, double x)
{
    char text[40];
    int power = x > 0 && x < 1e-3 ? (int)floor(log10(x) + 1e-9) : 0;
    while (power >= 0 && power < 15 && x / pow(10, power + 3) >= 1)
        power += 3;
    snprintf(text, sizeof text, "%.12ge%d", x / pow(10, power), power);
    double read = strtod(text, NULL);
    if ((power < 0 || power >= 6) && read >= x && read <= x)
        rlf_buf_puts(out, text);
    else
        rlf_buf_number(out, x);
}

static void
put(rlf_buf *out, const char *label, double x)
{
    rlf_buf_puts(out, label);
    put_number(out, x);
}

static void
put_device(rlf_buf *out, const char *name, const rlf_device_kind *d)
{
    rlf_buf_printf(out, "device %s = %s(", name, d->gpu ? "gpu" : "cpu");
    if (d->bf16 > 0)
        put(out, "bf16: ", d->bf16);
    put(out, d->bf16 > 0 ? ", f32: " : "f32: ", d->f32);
    put(out, ", memory: ", d->memory);
    put(out, ", bandwidth: ", d->bandwidth);
    put(out, ", launch: ", d->launch);
    if (d->profile) {
        rlf_buf_puts(out, ", profile: ");
        rlf_buf_json(out, d->profile, strlen(d->profile));
    }
    rlf_buf_puts(out, ")\n");
}

static void
put_machine(rlf_buf *out, const char *name, const char *device,
            const rlf_machine_kind *m)
{
    rlf_buf_printf(out, "machine %s = node(%s, count: %d", name, device,
                   m->count);
    if (m->count > 1) {
        put(out, ", link: ", m->link);
        put(out, ", start: ", m->start);
    }
    if (m->device->gpu) {
        put(out, ", host: ", m->host);
        put(out, ", copy: ", m->copy);
    }
    rlf_buf_printf(out, ", cores: %d)\n", m->cores);
}

static void
put_net(rlf_buf *out, const char *const *machines, const rlf_cluster *c)
{
    bool list = c->n_parts > 1;
    rlf_buf_printf(out, "cluster %s = net(", c->name);
    for (int i = 0; i < c->n_parts; i++)
        rlf_buf_printf(out, "%s, ", machines[i]);
    for (int i = 0; i < c->n_parts; i++)
        rlf_buf_printf(out, "%s%d",
                       i      ? ", "
                       : list ? "count: ["
                              : "count: ",
                       c->parts[i].count);
    for (int i = 0; i < c->n_parts && c->machines > 1; i++)
        put(out, i ? ", " : list ? "], link: [" : ", link: ", c->parts[i].link);
    if (list)
        rlf_buf_putc(out, ']');
    if (c->machines > 1)
        put(out, ", start: ", c->start);
    rlf_buf_puts(out, ")\n");
}

/* Names of machines and devices, by part: their names, or the next like
 * it that nothing else has. (A file may have an a100 of its own beside a
 * machine of a preset, which has another.) */
typedef struct called {
    const char **machine, **device;
} called;

static const char *
own_name(rlf_map *names, const char *name)
{
    const char *own = name;
    for (int i = 2; rlf_map_get(names, own); i++)
        own = rlf_arena_printf(names->arena, "%s_%d", name, i);
    rlf_map_put(names, own, names);
    return own;
}

static called
call(const rlf_cluster *c, rlf_arena *arena)
{
    rlf_map names = {.arena = arena};
    called by = {RLF_NEW_ARRAY(arena, const char *, c->n_parts),
                 RLF_NEW_ARRAY(arena, const char *, c->n_parts)};
    rlf_map_put(&names, c->name, &names);
    for (int i = 0; i < c->n_parts; i++) {
        const rlf_machine_kind *machine = c->parts[i].machine;
        for (int k = 0; k < i && !by.device[i]; k++)
            if (c->parts[k].machine->device == machine->device)
                by.device[i] = by.device[k];
        if (!by.device[i])
            by.device[i] = own_name(&names, machine->device->name);
        by.machine[i] = own_name(&names, machine->name);
    }
    return by;
}

static void
describe(rlf_buf *out, const called *by, const rlf_cluster *c)
{
    double device = 0, host = 0;
    char text[RLF_BYTES_TEXT];
    for (int i = 0; i < c->n_parts; i++) {
        const rlf_cluster_part *part = &c->parts[i];
        const rlf_machine_kind *m = part->machine;
        device += (double)part->count * m->count * m->device->memory;
        host += (double)part->count * m->host;
        int last = part->first_rank + part->count * m->count - 1;
        if (last > part->first_rank)
            rlf_buf_printf(out, "# ranks %d..%d", part->first_rank, last);
        else
            rlf_buf_printf(out, "# rank %d", last);
        rlf_buf_printf(out, ": %d %s '%s' of %d %s\n", part->count,
                       part->count == 1 ? "machine" : "machines",
                       by->machine[i], m->count, by->device[i]);
    }
    rlf_buf_printf(out, "# in all %d %s, %d %s with %s of memory", c->machines,
                   c->machines == 1 ? "machine" : "machines", c->ranks,
                   c->ranks == 1 ? "device" : "devices",
                   rlf_gb_text(device, 5, text));
    if (host > 0)
        rlf_buf_printf(out, ", and %s in the machines",
                       rlf_gb_text(host, 5, text));
    rlf_buf_putc(out, '\n');
    if (c->guessed)
        rlf_buf_puts(out,
                     "# peaks, bandwidth, link, launch and start are rough "
                     "defaults: nobody has measured them\n");
}

void
rlf_cluster_describe(const rlf_cluster *c, rlf_buf *out)
{
    rlf_arena *arena = rlf_arena_new();
    const called by = call(c, arena);
    describe(out, &by, c);
    rlf_arena_free(arena);
}

void
rlf_cluster_print(const rlf_cluster *c, rlf_buf *out)
{
    rlf_arena *arena = rlf_arena_new();
    const called by = call(c, arena);
    rlf_map told = {.arena = arena};
    describe(out, &by, c);
    for (int i = 0; i < c->n_parts; i++)
        if (!rlf_map_put(&told, by.device[i], &told))
            put_device(out, by.device[i], c->parts[i].machine->device);
    for (int i = 0; i < c->n_parts; i++)
        put_machine(out, by.machine[i], by.device[i], c->parts[i].machine);
    put_net(out, by.machine, c);
    rlf_arena_free(arena);
}
