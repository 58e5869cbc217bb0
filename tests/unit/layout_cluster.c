/* Clusters: numbers of ranks, links, shares of links and counts of meshes,
 * against numbers worked out by hand and against slow definitions. */
#include "engine/layout/cluster.h"
#include "tests/tap.h"

/* The kind of device that all `n` ranks are on; NULL: they are on several. */
static const rlf_device_kind *
kind_of(const rlf_cluster *c, const int *ranks, int n)
{
    const rlf_device_kind *kind =
        rlf_cluster_part_of(c, ranks[0])->machine->device;
    for (int i = 1; i < n; i++)
        if (rlf_cluster_part_of(c, ranks[i])->machine->device != kind)
            kind = NULL;
    return kind;
}

/* The number of a rank's device on its machine. */
static int
device_of(const rlf_cluster *c, int rank)
{
    const rlf_cluster_part *part = rlf_cluster_part_of(c, rank);
    return (rank - part->first_rank) % part->machine->count;
}

static rlf_arena *arena;

static rlf_cluster *
preset(const char *name, int count)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_cluster *c = NULL;
    if (rlf_cluster_preset(name, count, arena, &err, &c) < 0)
        bail("%s", err.sentence);
    return c;
}

/* Two machines of three a100, then three of four h100, with other links. */
static rlf_cluster *
mixed(void)
{
    static rlf_machine_kind three, four;
    static rlf_cluster_part parts[2];
    static rlf_cluster c;
    rlf_err err = RLF_ERR_NONE;
    three =
        (rlf_machine_kind){"three", rlf_device_preset(0), 3, 100, 1, 0, 0, 1};
    four = (rlf_machine_kind){"four", rlf_device_preset(1), 4, 200, 2, 0, 0, 1};
    parts[0] = (rlf_cluster_part){.machine = &three, .count = 2, .link = 10};
    parts[1] = (rlf_cluster_part){.machine = &four, .count = 3, .link = 40};
    c = (rlf_cluster){
        .name = "mixed", .parts = parts, .n_parts = 2, .start = 5};
    if (rlf_cluster_number(&c, &err) < 0)
        bail("%s", err.sentence);
    return &c;
}

/* The same machines, named in another order. */
static rlf_cluster *
turned(const rlf_cluster *c)
{
    static rlf_cluster_part parts[2];
    static rlf_cluster out;
    rlf_err err = RLF_ERR_NONE;
    out = *c;
    out.parts = parts;
    for (int i = 0; i < 2; i++)
        parts[i] = c->parts[1 - i];
    if (rlf_cluster_number(&out, &err) < 0)
        bail("%s", err.sentence);
    return &out;
}

static void
check_order(void)
{
    const rlf_cluster *named[] = {mixed(), turned(mixed())}, *ordered[2];
    const int *rank_of[2];
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        ordered[i] = rlf_cluster_ordered(named[i], arena, &rank_of[i]);
        for (int r = 0; r < named[i]->ranks; r++)
            wrong +=
                rlf_cluster_part_of(ordered[i], r)->machine !=
                    rlf_cluster_part_of(named[i], rank_of[i][r])->machine ||
                device_of(ordered[i], r) != device_of(named[i], rank_of[i][r]);
    }
    is_int(wrong, 0, "ranks in an order of their own are the same devices");
    for (int r = 0; r < named[0]->ranks; r++)
        wrong += rlf_cluster_part_of(ordered[0], r)->machine !=
                 rlf_cluster_part_of(ordered[1], r)->machine;
    is_int(wrong, 0, "... in whatever order their machines are named");
    double most = rlf_cluster_part_of(ordered[0], 0)->machine->device->memory;
    for (int r = 0; r < named[0]->ranks; r++)
        wrong +=
            rlf_cluster_part_of(ordered[0], r)->machine->device->memory > most;
    is_int(wrong, 0, "... those with most memory first");
}

static void
check_ranks(void)
{
    const rlf_cluster *c = mixed();
    is_int(c->machines, 5, "machines");
    is_int(c->ranks, 18, "ranks");
    int rank = 0;
    bool good = true;
    for (int m = 0; m < 5; m++)
        for (int d = 0; d < (m < 2 ? 3 : 4); d++, rank++)
            good = good && rlf_cluster_machine(c, rank) == m &&
                   device_of(c, rank) == d &&
                   rlf_cluster_part_of(c, rank) == &c->parts[m >= 2];
    ok(good, "ranks count through machines, and devices in them");
    const int low[] = {5, 0}, high[] = {6, 17}, both[] = {5, 6};
    ok(kind_of(c, low, 2) == rlf_device_preset(0) &&
           kind_of(c, high, 2) == rlf_device_preset(1),
       "the kind of ranks that are alike");
    ok(!kind_of(c, both, 2), "ranks of two kinds have none");
}

/* Ranks on a machine, against looking at each. */
static void
check_on(void)
{
    const rlf_cluster *c = mixed();
    const int some[] = {1, 2, 3, 7, 8, 11, 17};
    bool good = true;
    for (int m = 0; m < c->machines; m++) {
        rlf_range on = rlf_cluster_on(c, m, some, 7);
        for (int i = 0; i < 7; i++)
            good = good && (rlf_cluster_machine(c, some[i]) == m) ==
                               (i >= on.first && i < on.last);
    }
    ok(good, "which of some ranks are on a machine");
}

static bool
is_link(rlf_link_speed link, double rate, double start, bool across)
{
    bool good = link.rate >= rate && link.rate <= rate && link.start >= start &&
                link.start <= start && link.across == across;
    if (!good)
        note("rate %g, start %g, across %d", link.rate, link.start,
             link.across);
    return good;
}

static void
check_links(void)
{
    const rlf_cluster *c = mixed();
    ok(is_link(rlf_cluster_link(c, 4, 4), INFINITY, 0, false), "with itself");
    ok(is_link(rlf_cluster_link(c, 0, 2), 100, 1, false), "inside a machine");
    ok(is_link(rlf_cluster_link(c, 7, 9), 200, 2, false), "... of the other");
    ok(is_link(rlf_cluster_link(c, 2, 3), 10, 5, true), "between two");
    ok(is_link(rlf_cluster_link(c, 6, 10), 40, 5, true), "... of the others");
    ok(is_link(rlf_cluster_link(c, 17, 0), 10, 5, true),
       "... of two kinds: the slower");
    const int one[] = {8}, inside[] = {6, 7, 8, 9}, two[] = {6, 7, 10, 11},
              apart[] = {6, 10, 14}, all[] = {0, 1, 6, 7};
    ok(is_link(rlf_cluster_ring(c, one, 1, 1), INFINITY, 0, false),
       "a ring of one");
    ok(is_link(rlf_cluster_ring(c, inside, 4, 3), 200, 2, false),
       "inside a machine nothing is shared");
    ok(is_link(rlf_cluster_ring(c, two, 4, 1), 40, 5, true), "over machines");
    ok(is_link(rlf_cluster_ring(c, apart, 3, 4), 10, 5, true),
       "... which four rings share");
    ok(is_link(rlf_cluster_ring(c, all, 4, 1), 10, 5, true), "of two kinds");
    /* eight groups of dp 2 over two boxes share 200 GB/s each way; a group of
     * all sixteen has it alone */
    const rlf_cluster *boxes = preset("a100x8", 2);
    int mesh[16], pair[2] = {3, 11};
    for (int i = 0; i < 16; i++)
        mesh[i] = i;
    is_int(rlf_cluster_share(boxes, mesh, 16, pair, 2), 8, "eight pairs");
    is_int(rlf_cluster_share(boxes, mesh, 16, mesh, 16), 1, "one ring");
    is_int(rlf_cluster_share(boxes, mesh + 3, 9, pair, 2), 5,
           "five of nine ranks are on the fuller machine");
    ok(is_link(rlf_cluster_ring(boxes, pair, 2, 8), 25e9, 2e-5, true),
       "a pair's part of a DGX A100's ports is one port");
}

enum { FEW = 64 }; /* machines of which all runs are meshes */

/* Meshes of `count` boxes of eight: those of section 6 of the design. */
static void
check_counts(void)
{
    static const struct {
        int boxes, meshes;
    } known[] = {{1, 15}, {2, 31}, {8, 64}, {16, 164}, {32, 556}, {64, 2108}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_cluster_mesh *list;
        int n = 0;
        const rlf_cluster *c = preset("h100x8", known[i].boxes);
        if (rlf_cluster_meshes(c, c->ranks, FEW, arena, &err, &list, &n) < 0)
            bail("%s", err.sentence);
        ok(n == known[i].meshes, "%d meshes of %d devices: %d", known[i].meshes,
           c->ranks, n);
    }
}

/* Is it one that there should be? */
static bool
is_mesh(const rlf_cluster *c, int first, int n)
{
    const rlf_cluster_part *part = rlf_cluster_part_of(c, first);
    int k = part->machine->count, at = device_of(c, first);
    int last = first + n - 1;
    if (last >= c->ranks || rlf_cluster_part_of(c, last) != part)
        return false;
    if (at == 0 && n % k == 0)
        return true;
    int machine = rlf_cluster_machine(c, first) - part->first_machine;
    int odd = n;
    while (odd % 2 == 0)
        odd /= 2;
    if (machine >= 2 || n >= k || at + n > k)
        return false;
    if ((k & (k - 1)) == 0)
        return odd == 1 && at % n == 0;
    return (odd == 1 || odd == 3 || k % n == 0 || n == k - 1) &&
           (at % n == 0 || at + n == k);
}

/* 80 machines: no mesh twice, none outside. */
static void
check_few(void)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_cluster *c = preset("a100x8", 80);
    rlf_cluster_mesh *list;
    int n = 0, twice = 0, outside = 0, sixth = 0;
    if (rlf_cluster_meshes(c, c->ranks, FEW, arena, &err, &list, &n) < 0)
        bail("%s", err.sentence);
    for (int i = 0; i < n; i++) {
        outside += list[i].first < 0 || list[i].first + list[i].n > c->ranks;
        sixth += list[i].n == 8 * 50; /* five eighths */
        for (int k = 0; k < i; k++)
            twice += list[k].first == list[i].first && list[k].n == list[i].n;
    }
    is_int(twice, 0, "of 80 machines no mesh is there twice");
    is_int(outside, 0, "nor outside");
    is_int(sixth, 2, "five eighths from each end");
}

/* Machines with any number of devices: of 7 there are 6 and the one that is
 * left, or 4 and 3. */
static void
check_odd(void)
{
    for (int devices = 1; devices <= 40; devices++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_cluster_mesh *list;
        int n = 0, wanted = 0, wrong = 0;
        rlf_machine_kind some = {
            "some", rlf_device_preset(0), devices, 1, 1, 1, 1, 1};
        rlf_cluster_part part = {.machine = &some, .count = 3, .link = 1};
        rlf_cluster c = {.name = "odd", .parts = &part, .n_parts = 1};
        if (rlf_cluster_number(&c, &err) < 0 ||
            rlf_cluster_meshes(&c, c.ranks, FEW, arena, &err, &list, &n) < 0)
            bail("%s", err.sentence);
        for (int first = 0; first < c.ranks; first++)
            for (int size = 1; size <= c.ranks; size++)
                wanted += is_mesh(&c, first, size);
        for (int i = 0; i < n; i++) {
            wrong += !is_mesh(&c, list[i].first, list[i].n);
            for (int k = 0; k < i; k++)
                wrong +=
                    list[k].first == list[i].first && list[k].n == list[i].n;
            wrong += i && list[i - 1].n < list[i].n;
        }
        ok(n == wanted && !wrong, "%d meshes of machines of %d devices: %d",
           wanted, devices, n);
    }
}

static bool
has_mesh(const rlf_cluster_mesh *list, int n, int first, int count)
{
    bool has = false;
    for (int i = 0; i < n; i++)
        has |= list[i].first == first && list[i].n == count;
    return has;
}

/* The first ranks of a cluster of machines of eight: a machine of which some
 * are left over is a smaller one. */
static void
check_first(void)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_cluster *c = preset("h100x8", 3);
    for (int ranks = 1; ranks <= c->ranks; ranks++) {
        rlf_cluster_mesh *list, *smaller;
        int n, k, left = ranks % 8, whole = ranks - left, wrong = 0;
        rlf_machine_kind some = *c->parts[0].machine;
        some.count = left ? left : 8;
        rlf_cluster_part part = {.machine = &some, .count = 1, .link = 1};
        rlf_cluster lone = {.name = "lone", .parts = &part, .n_parts = 1};
        if (rlf_cluster_meshes(c, ranks, FEW, arena, &err, &list, &n) < 0 ||
            rlf_cluster_number(&lone, &err) < 0 ||
            rlf_cluster_meshes(&lone, some.count, FEW, arena, &err, &smaller,
                               &k) < 0)
            bail("%s", err.sentence);
        for (int i = 0; i < n; i++)
            wrong += list[i].first + list[i].n > ranks ||
                     (i && list[i - 1].n < list[i].n) ||
                     has_mesh(list, i, list[i].first, list[i].n);
        for (int i = 0; i < k && left; i++)
            wrong += !has_mesh(list, n, whole + smaller[i].first, smaller[i].n);
        ok(!wrong && list[0].n == ranks && (whole || n == k),
           "%d meshes of the first %d ranks of three machines of eight", n,
           ranks);
    }
}

static void
check_meshes(void)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_cluster *c = mixed();
    rlf_cluster_mesh *list;
    int n = 0, wanted = 0;
    if (rlf_cluster_meshes(c, c->ranks, FEW, arena, &err, &list, &n) < 0)
        bail("%s", err.sentence);
    for (int first = 0; first < c->ranks; first++)
        for (int size = 1; size <= c->ranks; size++)
            wanted += is_mesh(c, first, size);
    is_int(n, wanted, "meshes of two kinds of machines");
    bool good = true;
    for (int i = 0; i < n; i++) {
        int ends[] = {list[i].first, list[i].first + list[i].n - 1};
        good = good && is_mesh(c, list[i].first, list[i].n) &&
               kind_of(c, ends, 2) == list[i].kind;
        good =
            good &&
            (!i || list[i - 1].n > list[i].n ||
             (list[i - 1].n == list[i].n && list[i - 1].first < list[i].first));
    }
    ok(good, "each is what it should be, of one kind, larger ones first");
    rlf_machine_kind lone = {"lone", rlf_device_preset(0), 1, 1, 1, 1, 1, 1};
    rlf_cluster_part part = {.machine = &lone, .count = 65536, .link = 1};
    rlf_cluster many = {.name = "many", .parts = &part, .n_parts = 1};
    if (rlf_cluster_number(&many, &err) < 0 ||
        rlf_cluster_meshes(&many, many.ranks, FEW, arena, &err, &list, &n) < 0)
        bail("%s", err.sentence);
    ok(n > 100 && n < 1000 && list[0].n == 65536,
       "of many machines not all runs are looked at: %d", n);
    check_few();
    check_odd();
    check_first();
}

static void
check_presets(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_cluster *c;
    is_int(rlf_cluster_preset("a100x9", 1, arena, &err, &c), RLF_USER,
           "no such preset");
    is_str(err.hint, "did you mean 'a100x8'?",
           "... and the one that was meant");
    rlf_err_clear(&err);
    is_int(rlf_cluster_preset("a100x8", 8193, arena, &err, &c), RLF_USER,
           "too many machines");
    is_str(err.sentence, "a cluster of a100x8 has 1 to 8192 machines, not 8193",
           "... says how many there can be");
    rlf_err_clear(&err);
    is_int(rlf_cluster_preset("a100x8", 0, arena, &err, &c), RLF_USER,
           "no machines");
    is_int(preset("h200x8", 8192)->ranks, 65536, "as many as there can be");
    for (const char *const *p = rlf_cluster_presets(); *p; p++) {
        c = preset(*p, 1);
        const rlf_machine_kind *m = c->parts[0].machine;
        const rlf_device_kind *d = m->device;
        ok(d->bf16 > d->f32 && d->bandwidth > m->link && m->link > m->copy &&
               m->host > d->memory && d->memory > 1e9 && d->launch < m->start,
           "%s has its numbers in their order", *p);
    }
}

static void
check_this(void)
{
    const rlf_cluster *c = rlf_cluster_this(4, 2, 1e9, arena);
    const rlf_cluster *one = rlf_cluster_this(1, 2, 1e9, arena);
    ok(c->guessed && !preset("a100x8", 1)->guessed, "this: rates are a guess");
    is_int(c->ranks, 4, "four ranks of two cores");
    is_int((int64_t)kind_of(c, (int[]){0, 3}, 2)->memory, 250000000,
           "each has a part of the memory");
    near(4 * c->parts[0].machine->device->f32,
         one->parts[0].machine->device->f32, 1e-12,
         "and of what one rank can do");
}

static void
check_print(void)
{
    rlf_buf text = {0};
    rlf_cluster_print(preset("a100x8", 16), &text);
    is_str(text.p,
           "# ranks 0..127: 16 machines 'a100_box' of 8 a100\n"
           "# in all 16 machines, 128 devices with 10240 GB of memory, and "
           "32000 GB in the machines\n"
           "device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, "
           "bandwidth: 2.039e12, launch: 6e-6)\n"
           "machine a100_box = node(a100, count: 8, link: 300e9, start: 8e-6, "
           "host: 2e12, copy: 32e9, cores: 128)\n"
           "cluster a100x8 = net(a100_box, count: 16, link: 200e9, "
           "start: 2e-5)\n",
           "a preset as a file");
    rlf_buf_clear(&text);
    rlf_cluster_print(mixed(), &text);
    ok(strstr(text.p, "cluster mixed = net(three, four, count: [2, 3], "
                      "link: [10, 40], start: 5)\n") != NULL,
       "a net of two kinds");
    rlf_buf_free(&text);
}

int
main(void)
{
    arena = rlf_arena_new();
    check_order();
    check_ranks();
    check_on();
    check_links();
    check_counts();
    check_meshes();
    check_presets();
    check_this();
    check_print();
    rlf_arena_free(arena);
    return done();
}
