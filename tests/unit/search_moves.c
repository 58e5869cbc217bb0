/* Seconds of moves of weights that a search asks for beside those of the plan's
 * transfers, for all pairs of layouts on two machines of four ranks. */
#include "engine/search/moves.h"

#include "engine/plan/weight_copies.h"
#include "engine/timing/transfers.h"
#include "tests/tap.h"

#include <math.h>

enum { EACH = 9, MOST = 64 };

static rlf_arena *arena;

/* Layers as those of a Llama with so large a hidden state, and its ends. */
static rlf_shapes
shapes_of(int layers, int64_t hidden, bool tied)
{
    const int64_t inner = 7 * hidden / 2, heads = 128, vocab = 128 * 1000;
    const rlf_shape one[EACH] = {
        {.split = RLF_SPLIT_NONE, .rows = hidden, .cols = 1, .unit = 1},
        {.split = RLF_SPLIT_ROWS,
         .rows = hidden,
         .cols = hidden,
         .unit = heads},
        {.split = RLF_SPLIT_KV,
         .rows = 2 * heads,
         .cols = hidden,
         .unit = heads},
        {.split = RLF_SPLIT_KV,
         .rows = 2 * heads,
         .cols = hidden,
         .unit = heads},
        {.split = RLF_SPLIT_COLS,
         .rows = hidden,
         .cols = hidden,
         .unit = heads},
        {.split = RLF_SPLIT_NONE, .rows = hidden, .cols = 1, .unit = 1},
        {.split = RLF_SPLIT_ROWS, .rows = inner, .cols = hidden, .unit = 1},
        {.split = RLF_SPLIT_ROWS, .rows = inner, .cols = hidden, .unit = 1},
        {.split = RLF_SPLIT_COLS, .rows = hidden, .cols = inner, .unit = 1}};
    const rlf_shape words = {
        .split = RLF_SPLIT_ROWS, .rows = vocab, .cols = hidden, .unit = 64};
    rlf_shape *list = RLF_NEW_ARRAY(arena, rlf_shape, layers * EACH + 3);
    int n = 0;
    list[n] = words;
    list[n++].layer = tied ? RLF_LAYER_ENDS : RLF_LAYER_FIRST;
    for (int i = 0; i < layers * EACH; i++) {
        list[n] = one[i % EACH];
        list[n++].layer = i / EACH;
    }
    list[n] = one[0];
    list[n++].layer = RLF_LAYER_LAST;
    if (!tied) {
        list[n] = words;
        list[n++].layer = RLF_LAYER_LAST;
    }
    for (int i = 0; i < n; i++)
        list[i].name = "w";
    return (rlf_shapes){list, n, layers};
}

static rlf_cluster *
cluster_of(int machines, int count, double link)
{
    static rlf_device_kind device = {.name = "d",
                                     .gpu = true,
                                     .f32 = 1e12,
                                     .memory = 1e10,
                                     .bandwidth = 1e12};
    rlf_machine_kind *kind = RLF_NEW(arena, rlf_machine_kind);
    rlf_cluster_part *part = RLF_NEW(arena, rlf_cluster_part);
    rlf_cluster *c = RLF_NEW(arena, rlf_cluster);
    *kind = (rlf_machine_kind){.name = "m",
                               .device = &device,
                               .count = count,
                               .link = 3e11,
                               .start = 8e-6,
                               .cores = count};
    *part =
        (rlf_cluster_part){.machine = kind, .count = machines, .link = link};
    *c = (rlf_cluster){.name = "c", .parts = part, .n_parts = 1, .start = 2e-5};
    rlf_err err = RLF_ERR_NONE;
    if (rlf_cluster_number(c, &err) < 0)
        bail("%s", err.sentence);
    return c;
}

/* All layouts of meshes of powers of two. */
static int
list_layouts(const rlf_cluster *c, const int *all, rlf_layout *out)
{
    int n = 0;
    for (int size = c->ranks; size; size /= 2)
        for (int first = 0; first < c->ranks; first += size)
            for (int tp = 1; tp <= size && tp <= 4; tp *= 2)
                for (int pp = 1; tp * pp <= size; pp *= 2)
                    out[n++] = (rlf_layout){.ranks = all + first,
                                            .n_ranks = size,
                                            .tp = tp,
                                            .pp = pp,
                                            .dp = size / tp / pp};
    return n;
}

static double
planned(const rlf_speeds *speeds, const rlf_links *links,
        const rlf_shapes *shapes, const rlf_moves_ask *ask)
{
    rlf_arena *scratch = rlf_arena_new();
    const rlf_realloc_job job = {.shapes = shapes,
                                 .from = &ask->from,
                                 .to = &ask->to,
                                 .machine = links->machine,
                                 .element = ask->by_layer ? 2 : 4,
                                 .vector = 4,
                                 .inside = links->inside,
                                 .across = links->across,
                                 .by_layer = ask->by_layer};
    rlf_realloc_plan plan;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_realloc_make(&job, scratch, &err, &plan) < 0)
        bail("%s", err.sentence);
    double seconds = rlf_transfers_seconds(
        speeds, &job, &plan, speeds->cluster->ranks, scratch, NULL);
    rlf_arena_free(scratch);
    return seconds;
}

typedef struct kind {
    const char *what;
    const rlf_shapes *shapes;
    double link;
    bool by_layer;
    int chunks; /* chunks of stages that are trained; vee: those of a V */
    bool vee;
    int each; /* pairs of which one is compared */
} kind;

/* The seconds asked for, and those planned, of the move from one layout to
 * another. */
static bool
ask_both(const kind *k, const rlf_speeds *speeds, const rlf_links *links,
         rlf_moves *moves, const rlf_layout *from, const rlf_layout *to,
         double seconds[2])
{
    rlf_moves_ask ask = {.model = rlf_moves_model(moves, k->shapes, 2),
                         .by_layer = k->by_layer,
                         .from = *from,
                         .to = *to};
    ask.from.chunks = from->pp > 1 ? k->chunks : 1;
    ask.from.vee = from->pp > 1 && k->vee;
    ask.to.chunks = 1;
    if (ask.from.pp * ask.from.chunks > k->shapes->layers)
        return false;
    rlf_weight_copies_regroup(&ask.from, &ask.to);
    seconds[0] = rlf_moves_seconds(moves, &ask);
    seconds[1] = planned(speeds, links, k->shapes, &ask);
    return true;
}

/* Both are 0 for the same pairs, nearly all are near, and none is far. */
static void
compare(const kind *k, double near, double far)
{
    const rlf_cluster *c = cluster_of(2, 4, k->link);
    const rlf_speeds speeds = rlf_speeds_of(c, true);
    const rlf_links links = rlf_links_of(c, arena);
    static const int ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    rlf_layout list[MOST];
    int n = list_layouts(c, ranks, list), seen = 0, off = 0;
    rlf_moves *moves = rlf_moves_new(&speeds, &links, arena);
    double most = 0, sum = 0, seconds[2];
    bool same = true;
    for (int i = 0; i < n * n; i += k->each) {
        const rlf_layout *from = &list[i / n], *to = &list[i % n];
        if (!ask_both(k, &speeds, &links, moves, from, to, seconds))
            continue;
        seen++;
        same &= (seconds[0] > 0) == (seconds[1] > 0);
        if (!(seconds[1] > 0))
            continue;
        double by = fabs(log(seconds[0] / seconds[1]));
        sum += by;
        off += by > log(1.1);
        most = fmax(most, by);
    }
    ok(same && sum / seen < near && off < seen / 12 && most < log(far),
       "%s: %d moves, on average within %.1f %%, %d off by more than 10 %%, "
       "none by more than %.0f %%",
       k->what, seen, 100 * sum / seen, off, 100 * (exp(most) - 1));
}

/* On machines that are alike a move further on takes as long. */
static void
test_shifted(const rlf_shapes *shapes)
{
    const rlf_cluster *c = cluster_of(6, 4, 1e9);
    const rlf_speeds speeds = rlf_speeds_of(c, true);
    rlf_moves *moves = rlf_moves_new(&speeds, NULL, arena);
    int ranks[24];
    for (int i = 0; i < 24; i++)
        ranks[i] = i;
    double first = 0;
    for (int machine = 0; machine < 4; machine++) {
        const rlf_layout from = {.ranks = ranks + 4 * machine,
                                 .n_ranks = 4,
                                 .tp = 2,
                                 .pp = 2,
                                 .dp = 1};
        const rlf_layout to = {.ranks = ranks + 4 * machine,
                               .n_ranks = 12,
                               .tp = 1,
                               .pp = 3,
                               .dp = 4};
        const rlf_moves_ask ask = {.model = rlf_moves_model(moves, shapes, 2),
                                   .by_layer = true,
                                   .from = from,
                                   .to = to};
        double seconds = rlf_moves_seconds(moves, &ask);
        first = machine ? first : seconds;
        ok(seconds > 0 && seconds == first, "from machine %d on: %g s", machine,
           seconds);
    }
}

/* ---- no move's seconds depend on those that were asked for before ---- */

enum { ORDERS = 3, PAIRS = 1200 };

/* A pair of models' layouts: which of the list. */
typedef struct pair {
    int model, from, to;
    bool by_layer;
    double alone; /* seconds, asked of nobody who was asked before */
} pair;

typedef struct asker {
    const rlf_speeds *speeds;
    const rlf_shapes *shapes[2]; /* of the models */
    rlf_layout list[MOST];
    pair pairs[PAIRS];
    int n;
} asker;

static double
ask_pair(const asker *a, rlf_moves *moves, const pair *p)
{
    int model[2];
    for (int i = 0; i < 2; i++)
        model[i] = rlf_moves_model(moves, a->shapes[i], 2);
    rlf_moves_ask ask = {.model = model[p->model],
                         .by_layer = p->by_layer,
                         .from = a->list[p->from],
                         .to = a->list[p->to]};
    ask.from.chunks = ask.to.chunks = 1;
    rlf_weight_copies_regroup(&ask.from, &ask.to);
    return rlf_moves_seconds(moves, &ask);
}

static double
ask_alone(const asker *a, const pair *p)
{
    rlf_arena *own = rlf_arena_new();
    double seconds = ask_pair(a, rlf_moves_new(a->speeds, NULL, own), p);
    rlf_arena_free(own);
    return seconds;
}

/* Pairs that do not take as long as alone if all are asked for, each of them a
 * step after the last one. */
static int
ask_in_order(const asker *a, int step)
{
    rlf_moves *moves = rlf_moves_new(a->speeds, NULL, arena);
    int off = 0;
    for (int i = 0; i < a->n; i++) {
        const pair *p = &a->pairs[(int64_t)i * step % a->n];
        off += ask_pair(a, moves, p) != p->alone;
    }
    return off;
}

static void
test_order(const rlf_shapes *large, const rlf_shapes *tied, int machines,
           int count, int each)
{
    const rlf_cluster *c = cluster_of(machines, count, 1e9);
    const rlf_speeds speeds = rlf_speeds_of(c, true);
    static const int ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static asker a;
    a = (asker){.speeds = &speeds, .shapes = {large, tied}};
    int n = list_layouts(c, ranks, a.list);
    for (int i = 0; i < 4 * n * n && a.n < PAIRS; i += each) {
        pair *p = &a.pairs[a.n++];
        *p = (pair){.model = i & 1,
                    .by_layer = i & 2,
                    .from = i / 4 / n,
                    .to = i / 4 % n};
        p->alone = ask_alone(&a, p);
    }
    const int steps[] = {1, a.n - 1, 619};
    for (int i = 0; i < ORDERS; i++) {
        int off = ask_in_order(&a, steps[i]);
        ok(off == 0,
           "%d machines of %d: %d pairs, %d in steps: %d not as alone",
           machines, count, a.n, steps[i], off);
    }
}

int
main(void)
{
    arena = rlf_arena_new();
    const rlf_shapes large = shapes_of(16, 4096, false),
                     tied = shapes_of(16, 1536, true),
                     small = shapes_of(8, 256, false);
    const kind kinds[] = {
        {"slow links", &large, 1e8, true, 1, false, 1},
        {"fast links", &large, 25e9, true, 1, false, 5},
        {"an embedding that is the head", &tied, 25e9, true, 1, false, 5},
        {"from stages of two chunks", &large, 25e9, true, 2, false, 5},
        {"from the stages of a V", &large, 25e9, true, 2, true, 5},
        {"a small model", &small, 25e9, true, 1, false, 5},
        {"all at once, over slow links", &large, 1e8, false, 1, false, 5},
        {"... and over fast ones", &large, 25e9, false, 1, false, 5}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool rough = kinds[i].shapes == &small || !kinds[i].by_layer;
        compare(&kinds[i], rough ? 0.05 : 0.015, rough ? 2.2 : 1.5);
    }
    test_shifted(&large);
    test_order(&large, &tied, 2, 4, 7);
    test_order(&large, &tied, 4, 2, 7);
    rlf_arena_free(arena);
    return done();
}
