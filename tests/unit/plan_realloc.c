/* Weight edges, played through: the elements of every tensor carry their own
 * number, sends and copies move them, and each destination slice must end
 * complete, every element written once. Machine borders are counted, and within
 * one mesh the bytes are those of HybridFlow's Table 2. */
#include "engine/plan/weight_copies.h"
#include "tests/tap.h"
#include "tests/unit/layout_order.h"
#include "tests/unit/randomness.h"

#define WORLD 64
#define LAYERS 5
#define MAX_TENSORS 64
#define ELEMENT 2

static int in_order[WORLD], machine[WORLD];
static rlf_shape tensors[MAX_TENSORS];
static rlf_shapes shapes = {tensors, 0, LAYERS};
static rlf_arena *arena;

static const rlf_wire fast = {5e-6, 1e11, false}, slow = {2e-5, 1e10, false};

/* A small model of every kind of tensor, its sizes odd on purpose. */
typedef struct sizes {
    int heads, kv_heads, head_dim;
    int64_t ffn, vocab, hidden;
    bool tied;
} sizes;

static const sizes odd = {.heads = 8,
                          .kv_heads = 8,
                          .head_dim = 3,
                          .ffn = 11,
                          .vocab = 37,
                          .hidden = 5};

static void
make_model(sizes of)
{
    int n = 0, head_dim = of.head_dim;
    int64_t q = of.heads * head_dim, kv = of.kv_heads * head_dim;
    int64_t hidden = of.hidden, ffn = of.ffn;
#define ADD(...) tensors[n++] = (rlf_shape){__VA_ARGS__}
    ADD("embed", of.tied ? RLF_LAYER_ENDS : RLF_LAYER_FIRST, RLF_SPLIT_ROWS,
        of.vocab, hidden, 2, false, false);
    for (int i = 0; i < LAYERS; i++) {
        ADD("q", i, RLF_SPLIT_ROWS, q, hidden, head_dim, false, false);
        ADD("k", i, RLF_SPLIT_KV, kv, hidden, head_dim, false, false);
        ADD("v", i, RLF_SPLIT_KV, kv, hidden, head_dim, false, false);
        ADD("o", i, RLF_SPLIT_COLS, hidden, q, head_dim, false, false);
        ADD("gate", i, RLF_SPLIT_ROWS, ffn, hidden, 1, false, false);
        ADD("up", i, RLF_SPLIT_ROWS, ffn, hidden, 1, false, false);
        ADD("down", i, RLF_SPLIT_COLS, hidden, ffn, 1, false, false);
        ADD("norm", i, RLF_SPLIT_NONE, hidden, 1, 1, false, false);
    }
    ADD("final", RLF_LAYER_LAST, RLF_SPLIT_NONE, hidden, 1, 1, false, false);
#undef ADD
    shapes = (rlf_shapes){tensors, n, LAYERS};
}

/* Playing */

typedef struct field {
    int32_t *old, *new; /* slices, NULL if empty */
} field;

static field fields[WORLD][MAX_TENSORS];

static int32_t
number(const rlf_shape *t, int64_t row, int64_t col)
{
    return (int32_t)(row * t->cols + col) + 1;
}

static void
fill(const rlf_realloc_job *job)
{
    for (int r = 0; r < WORLD; r++)
        for (int i = 0; i < shapes.count; i++) {
            rlf_box old = rlf_layout_box(job->from, &shapes, i, r);
            rlf_box new = rlf_layout_box(job->to, &shapes, i, r);
            int64_t n = rlf_box_count(old), at = 0;
            fields[r][i].old = n ? rlf_calloc((size_t)n, 4) : NULL;
            for (int64_t y = old.rows.first; n && y < old.rows.last; y++)
                for (int64_t x = old.cols.first; x < old.cols.last; x++)
                    fields[r][i].old[at++] = number(&tensors[i], y, x);
            n = rlf_box_count(new);
            fields[r][i].new = n ? rlf_calloc((size_t)n, 4) : NULL;
        }
}

static void
clear(void)
{
    for (int r = 0; r < WORLD; r++)
        for (int i = 0; i < shapes.count; i++) {
            free(fields[r][i].old);
            free(fields[r][i].new);
        }
}

/* One send; false if it reads what is not there or writes twice. */
static bool
carry(const rlf_send *s)
{
    const int32_t *from = s->after < 0 ? fields[s->from][s->tensor].old
                                       : fields[s->from][s->tensor].new;
    int32_t *to = fields[s->to][s->tensor].new;
    if (!from || !to || s->source.rows != s->target.rows ||
        s->source.cols != s->target.cols)
        return false;
    for (int64_t y = 0; y < s->source.rows; y++)
        for (int64_t x = 0; x < s->source.cols; x++) {
            int32_t value = from[s->source.offset + y * s->source.stride + x];
            int32_t *cell = &to[s->target.offset + y * s->target.stride + x];
            if (!value || *cell)
                return false;
            *cell = value;
        }
    return true;
}

static bool
complete(const rlf_realloc_job *job)
{
    for (int r = 0; r < WORLD; r++)
        for (int i = 0; i < shapes.count; i++) {
            rlf_box box = rlf_layout_box(job->to, &shapes, i, r);
            int64_t at = 0;
            if (!rlf_box_count(box))
                continue;
            for (int64_t y = box.rows.first; y < box.rows.last; y++)
                for (int64_t x = box.cols.first; x < box.cols.last; x++)
                    if (fields[r][i].new[at++] != number(&tensors[i], y, x))
                        return false;
        }
    return true;
}

static bool
has_old(const rlf_realloc_job *job, int rank, const rlf_send *s)
{
    rlf_box old = rlf_layout_box(job->from, &shapes, s->tensor, rank);
    return rlf_box_count(rlf_box_meet(old, s->box)) != 0;
}

static bool
same_piece(const rlf_send *a, const rlf_send *b)
{
    return a->tensor == b->tensor && !memcmp(&a->box, &b->box, sizeof a->box);
}

/* Rules on one send, against all others of its piece. */
static bool
lawful(const rlf_realloc_job *job, const rlf_realloc_plan *plan, int i,
       bool same_mesh)
{
    const rlf_send *s = &plan->sends[i];
    bool crosses = machine[s->from] != machine[s->to];
    if (s->from == s->to || has_old(job, s->to, s) || s->round >= plan->rounds)
        return false;
    if (s->after >= 0) {
        const rlf_send *before = &plan->sends[s->after];
        if (s->after >= i || before->to != s->from || !same_piece(before, s) ||
            before->round >= s->round)
            return false;
    }
    for (int r = 0; crosses && r < WORLD; r++)
        if (machine[r] == machine[s->to] && has_old(job, r, s))
            return false; /* it was on that machine */
    for (int k = 0; k < plan->n_sends; k++) {
        const rlf_send *o = &plan->sends[k];
        bool also = machine[o->from] != machine[o->to];
        if (k == i || !same_piece(o, s))
            continue;
        if (crosses && also && machine[o->to] == machine[s->to])
            return false; /* entered twice */
        if (s->after < 0 && o->after < 0 && o->from != s->from &&
            machine[o->from] == machine[s->from] &&
            (!same_mesh || (crosses && also)))
            return false; /* two senders on one machine */
    }
    return true;
}

static bool
play(const rlf_realloc_job *job, bool same_mesh)
{
    rlf_realloc_plan plan;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_realloc_make(job, arena, &err, &plan) != RLF_OK)
        bail("%s", err.sentence);
    bool good = true;
    fill(job);
    for (int i = 0; i < plan.n_copies && good; i++)
        good =
            plan.copies[i].from == plan.copies[i].to && carry(&plan.copies[i]);
    for (int i = 0; i < plan.n_sends && good; i++)
        good = carry(&plan.sends[i]) && lawful(job, &plan, i, same_mesh);
    good = good && complete(job);
    clear();
    return good;
}

/* Random layouts */

/* A layout that fits on `world` ranks and the model, on ranks of its own
 * choice. */
static rlf_layout
draw_layout(randomness *r, int world, int heads, int kv, int *ranks)
{
    rlf_layout l = {.ranks = ranks};
    do {
        l.tp = 1 << draw(r, 4);
        l.pp = 1 + draw(r, LAYERS);
        l.dp = 1 + draw(r, 4);
        l.n_ranks = l.tp * l.pp * l.dp;
    } while (l.n_ranks > world || heads % l.tp || (kv % l.tp && l.tp % kv));
    uint32_t shuffled[WORLD];
    rlf_random_key key = {.seed = r->key.seed, .site = (uint32_t)r->next++};
    rlf_draw_shuffle(&key, (uint32_t)world, shuffled);
    bool ordered = draw(r, 2);
    int first = draw(r, world - l.n_ranks + 1);
    for (int i = 0; i < l.n_ranks; i++)
        ranks[i] = ordered ? first + i : (int)shuffled[i];
    rlf_err err = RLF_ERR_NONE;
    if (draw(r, 2))
        set_order(&l, "dp pp tp");
    if (rlf_layout_check(&l, &err))
        bail("%s", err.sentence);
    return l;
}

static bool
same_ranks(const rlf_layout *a, const rlf_layout *b)
{
    for (int r = 0; r < WORLD; r++)
        if ((rlf_layout_find(a, r).tp < 0) != (rlf_layout_find(b, r).tp < 0))
            return false;
    return true;
}

static bool
play_random(int world, uint64_t seed)
{
    randomness r = {.key = {.seed = seed, .step = (uint32_t)world}};
    int from_ranks[WORLD], to_ranks[WORLD], kv = 1 << draw(&r, 4);
    make_model((sizes){.heads = 8,
                       .kv_heads = kv,
                       .head_dim = 1 + draw(&r, 2),
                       .ffn = 11,
                       .vocab = 17,
                       .hidden = 3,
                       .tied = draw(&r, 2)});
    rlf_layout from = draw_layout(&r, world, 8, kv, from_ranks);
    rlf_layout to = draw_layout(&r, world, 8, kv, to_ranks);
    if (draw(&r, 4) == 0 && from.n_ranks == to.n_ranks)
        to.ranks = from.ranks;
    int each = 1 << draw(&r, 5);
    for (int i = 0; i < WORLD; i++)
        machine[i] = i / each;
    rlf_realloc_job job = {.shapes = &shapes,
                           .from = &from,
                           .to = &to,
                           .machine = machine,
                           .element = ELEMENT,
                           .inside = fast,
                           .across = slow,
                           .topology = (rlf_topology)draw(&r, 4)};
    return play(&job, same_ranks(&from, &to));
}

static void
test_random(void)
{
    int good = 0, tried = 0, times = quick() ? 2 : 8;
    for (int world = 1; world <= WORLD; world += quick() ? 3 : 1)
        for (int i = 0; i < times; i++, tried++) {
            bool fine = play_random(world, (uint64_t)i);
            if (!fine)
                note("world %d, seed %d", world, i);
            good += fine;
            rlf_arena_reset(arena);
        }
    is_int(good, tried, "random layouts on 1 to 64 ranks, played");
}

/* HybridFlow's Table 2 */

/* Only tensors that t-way tensor parallelism divides evenly. */
static int64_t
make_even_model(int layers, int t)
{
    static rlf_shape even[3 * 16];
    int64_t bytes = 0;
    for (int i = 0; i < layers; i++) {
        even[3 * i] =
            (rlf_shape){"q", i, RLF_SPLIT_ROWS, 6 * t, 5, 3, false, false};
        even[3 * i + 1] =
            (rlf_shape){"kv", i, RLF_SPLIT_KV, 4 * t, 5, 4, false, false};
        even[3 * i + 2] =
            (rlf_shape){"down", i, RLF_SPLIT_COLS, 3, 7 * t, 1, false, false};
    }
    shapes = (rlf_shapes){even, 3 * layers, layers};
    for (int i = 0; i < shapes.count; i++)
        bytes += even[i].rows * even[i].cols * ELEMENT;
    return bytes;
}

/* One training and generation layout against the formulas. */
static bool
as_table(int p, int t, int d, int pg, int tg)
{
    int64_t whole = make_even_model(p, t);
    rlf_layout train = {
        .ranks = in_order, .n_ranks = p * t * d, .tp = t, .pp = p, .dp = d};
    rlf_layout generate;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_layout_regroup(&train, tg, pg, &err, &generate) != RLF_OK)
        return false;
    rlf_realloc_job job = {.shapes = &shapes,
                           .from = &train,
                           .to = &generate,
                           .element = ELEMENT,
                           .inside = fast,
                           .across = fast};
    rlf_realloc_plan plan;
    if (rlf_realloc_make(&job, arena, &err, &plan) != RLF_OK)
        return false;
    int64_t volume = whole * (t * p - tg * pg) / ((int64_t)tg * pg * t * p);
    rlf_realloc_total total;
    rlf_realloc_sum(&job, &plan, arena, &total);
    for (int r = 0; r < p * t * d; r++) {
        rlf_realloc_load load;
        rlf_realloc_measure(&job, &plan, r, &load);
        total.messages -= load.messages;
        if (load.received != volume || load.sent != volume ||
            load.peak != whole / (tg * pg) || load.redundant != 0)
            return false;
    }
    if (total.messages != 0) /* each is one that a rank waits for */
        return false;
    for (int i = 0; i < plan.n_sends; i++) /* inside micro-dp groups */
        if (rlf_layout_find(&train, plan.sends[i].from).dp !=
            rlf_layout_find(&train, plan.sends[i].to).dp)
            return false;
    rlf_realloc_plan back; /* the training shard was kept: nothing moves */
    job.from = &generate;
    job.to = &train;
    return rlf_realloc_make(&job, arena, &err, &back) == RLF_OK &&
           back.n_sends == 0;
}

static void
test_table(void)
{
    int good = 0, tried = 0;
    for (int p = 1; p <= 16; p++)
        for (int t = 1; p * t <= 16; t++)
            for (int d = 1; p * t * d <= 16; d++)
                for (int pg = 1; pg <= p; pg++)
                    for (int tg = 1; tg <= t; tg++) {
                        if (p % pg || t % tg)
                            continue;
                        tried++;
                        good += as_table(p, t, d, pg, tg);
                        rlf_arena_reset(arena);
                    }
    ok(good == tried && tried > 250,
       "%d of %d layouts: volume, peak and redundancy of Table 2", good, tried);
}

/* The grouping of consecutive ranks, for comparison: at 1-4-2 to 1-2-2-2 half
 * of the ranks hold a training shard that generation has no use for. */
static void
test_vanilla(void)
{
    int64_t whole = make_even_model(1, 4);
    rlf_layout train = {
        .ranks = in_order, .n_ranks = 8, .tp = 4, .pp = 1, .dp = 2};
    rlf_layout plain = {
        .ranks = in_order, .n_ranks = 8, .tp = 2, .pp = 1, .dp = 4};
    rlf_realloc_job job = {.shapes = &shapes,
                           .from = &train,
                           .to = &plain,
                           .element = ELEMENT,
                           .inside = fast,
                           .across = fast};
    rlf_realloc_plan plan;
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_realloc_make(&job, arena, &err, &plan), RLF_OK,
           "consecutive generation groups can be had too");
    bool good = true;
    for (int r = 0; r < 8; r++) {
        rlf_realloc_load load;
        rlf_realloc_measure(&job, &plan, r, &load);
        bool apart = r % 4 == 1 || r % 4 == 2;
        good &= load.redundant == (apart ? whole / 4 : 0);
    }
    ok(good, "and keep a redundant M / tp on ranks 1, 2, 5 and 6");
}

/* Odd sizes: nothing redundant either, for parts nest. */
static void
test_odd(void)
{
    bool good = true;
    for (int p = 1; p <= LAYERS; p++)
        for (int t = 1; t <= 8; t *= 2)
            for (int pg = 1; pg <= p; pg++)
                for (int tg = 1; tg <= t; tg *= 2) {
                    if (p % pg || p * t * 2 > WORLD)
                        continue;
                    make_model(odd);
                    rlf_layout train = {.ranks = in_order,
                                        .n_ranks = p * t * 2,
                                        .tp = t,
                                        .pp = p,
                                        .dp = 2};
                    rlf_layout g;
                    rlf_err err = RLF_ERR_NONE;
                    rlf_realloc_job job = {.shapes = &shapes,
                                           .from = &train,
                                           .to = &g,
                                           .machine = machine,
                                           .element = ELEMENT,
                                           .inside = fast,
                                           .across = slow};
                    for (int i = 0; i < WORLD; i++)
                        machine[i] = i / 8;
                    good &= !rlf_layout_regroup(&train, tg, pg, &err, &g) &&
                            play(&job, true);
                    rlf_realloc_plan plan;
                    good &= !rlf_realloc_make(&job, arena, &err, &plan);
                    for (int r = 0; r < train.n_ranks; r++) {
                        rlf_realloc_load load;
                        rlf_realloc_measure(&job, &plan, r, &load);
                        good &= load.redundant == 0;
                    }
                    rlf_arena_reset(arena);
                }
    ok(good, "5 layers, 11 features, 37 words: nothing redundant either");
}

/* Topologies */

static int
deepest(const rlf_realloc_plan *plan)
{
    int depth = 0;
    for (int i = 0; i < plan->n_sends; i++) {
        int d = 1;
        for (int k = plan->sends[i].after; k >= 0; k = plan->sends[k].after)
            d++;
        depth = d > depth ? d : depth;
    }
    return depth;
}

static rlf_realloc_plan
one_to_many(rlf_topology topology, int receivers)
{
    static rlf_layout from = {
        .ranks = in_order, .n_ranks = 1, .tp = 1, .pp = 1, .dp = 1};
    static rlf_layout to = {.ranks = in_order + 1, .tp = 1, .pp = 1};
    to.n_ranks = to.dp = receivers;
    rlf_realloc_job job = {.shapes = &shapes,
                           .from = &from,
                           .to = &to,
                           .element = ELEMENT,
                           .inside = fast,
                           .across = slow,
                           .topology = topology};
    rlf_realloc_plan plan;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_realloc_make(&job, arena, &err, &plan) != RLF_OK)
        bail("%s", err.sentence);
    return plan;
}

/* In no round does a rank send, or receive, more than once. */
static bool
one_port(const rlf_realloc_plan *plan)
{
    for (int i = 0; i < plan->n_sends; i++)
        for (int k = 0; k < i; k++) {
            const rlf_send *a = &plan->sends[i], *b = &plan->sends[k];
            if (a->round == b->round && (a->from == b->from || a->to == b->to))
                return false;
        }
    return true;
}

static void
test_topologies(void)
{
    make_model((sizes){.heads = 8,
                       .kv_heads = 8,
                       .head_dim = 1,
                       .ffn = 11,
                       .vocab = 17,
                       .hidden = 3});
    rlf_realloc_plan direct = one_to_many(RLF_TOPOLOGY_DIRECT, 13);
    rlf_realloc_plan tree = one_to_many(RLF_TOPOLOGY_TREE, 13);
    rlf_realloc_plan ring = one_to_many(RLF_TOPOLOGY_RING, 13);
    is_int(deepest(&direct), 1, "direct: from the one that has it");
    /* 14 ranks: doubling 4 times; the rank farthest has 3 ones in 13 */
    is_int(deepest(&tree), 3, "tree: the ones in 7 or 11 are the way");
    is_int(tree.rounds, 4, "in four rounds");
    is_int(deepest(&ring), 13, "ring: a chain");
    is_int(ring.rounds, 13 + shapes.count - 1, "pieces follow one another");
    ok(one_port(&ring), "each rank sends and receives one piece a round");
    rlf_wire quick_start = {0, 1e9, false}, slow_start = {1, 1e9, false};
    near(rlf_multicast_time(RLF_TOPOLOGY_DIRECT, quick_start, 1, 7, 1000000000,
                            100),
         7, 1e-12, "direct: seven times the bytes");
    near(rlf_multicast_time(RLF_TOPOLOGY_TREE, quick_start, 1, 7, 1000000000,
                            100),
         3, 1e-12, "tree: three times");
    near(rlf_multicast_time(RLF_TOPOLOGY_RING, quick_start, 1, 7, 1000000000,
                            100),
         1.06, 1e-12, "ring: once, and the way of one piece");
    near(rlf_multicast_time(RLF_TOPOLOGY_RING, slow_start, 1, 7, 1000000000,
                            100),
         107.06, 1e-9, "but 106 messages one after another");
    near(rlf_multicast_time(RLF_TOPOLOGY_DIRECT, quick_start, 7, 7, 1000000000,
                            100),
         1, 1e-12, "direct from seven senders is as good as it gets");
}

/* AUTO takes the fastest of the three, over many sizes. */
static void
test_choice(void)
{
    static rlf_shape even[8];
    bool good = true;
    int chosen[4] = {0};
    for (int size = 1; size < 1 << 24; size *= 4)
        for (int k = 2; k <= 40; k += 3)
            for (int pieces = 1; pieces <= 8; pieces++) {
                for (int i = 0; i < pieces; i++)
                    even[i] = (rlf_shape){"w", 0, RLF_SPLIT_NONE, size,
                                          1,   1, false,          false};
                shapes = (rlf_shapes){even, pieces, 1};
                rlf_realloc_plan plan = one_to_many(RLF_TOPOLOGY_AUTO, k);
                rlf_topology best = RLF_TOPOLOGY_DIRECT;
                double least = 1e300;
                for (int t = 1; t <= 3; t++) {
                    double time = rlf_multicast_time(
                        (rlf_topology)t, fast, 1, k,
                        (int64_t)size * ELEMENT * pieces, pieces);
                    if (time < least) {
                        least = time;
                        best = (rlf_topology)t;
                    }
                }
                rlf_realloc_plan want = one_to_many(best, k);
                chosen[best]++;
                good &= plan.rounds == want.rounds &&
                        deepest(&plan) == deepest(&want);
                rlf_arena_reset(arena);
            }
    ok(good, "the fastest topology is chosen");
    ok(chosen[RLF_TOPOLOGY_TREE] > 50 && chosen[RLF_TOPOLOGY_RING] > 50,
       "tree %d and ring %d times of %d", chosen[RLF_TOPOLOGY_TREE],
       chosen[RLF_TOPOLOGY_RING], chosen[1] + chosen[2] + chosen[3]);
}

/* From `holders` replicas to whole copies on the ranks after them. */
static rlf_realloc_plan
copies(int holders, int receivers, int pieces, int each, rlf_topology topology,
       rlf_wire across)
{
    static rlf_shape even[16];
    static rlf_layout from = {.ranks = in_order, .tp = 1, .pp = 1};
    static rlf_layout to = {.tp = 1, .pp = 1};
    for (int i = 0; i < pieces; i++)
        even[i] = (rlf_shape){"w", 0, RLF_SPLIT_NONE, 100, 1, 1, false, false};
    shapes = (rlf_shapes){even, pieces, 1};
    for (int i = 0; i < WORLD; i++)
        machine[i] = i / each;
    from.n_ranks = from.dp = holders;
    to.n_ranks = to.dp = receivers;
    to.ranks = in_order + holders;
    rlf_realloc_job job = {.shapes = &shapes,
                           .from = &from,
                           .to = &to,
                           .machine = machine,
                           .element = ELEMENT,
                           .inside = {1, 1e12, false},
                           .across = across,
                           .topology = topology};
    rlf_realloc_plan plan;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_realloc_make(&job, arena, &err, &plan) != RLF_OK)
        bail("%s", err.sentence);
    return plan;
}

/* Returns how many sends leave ranks first..last-1. */
static int
leave(const rlf_realloc_plan *plan, int first, int last)
{
    int n = 0;
    for (int i = 0; i < plan->n_sends; i++)
        n += plan->sends[i].from >= first && plan->sends[i].from < last;
    return n;
}

static void
test_balance(void)
{
    rlf_realloc_plan p = copies(4, 1, 8, 8, RLF_TOPOLOGY_DIRECT, slow);
    bool even = p.n_sends == 8;
    for (int r = 0; r < 4; r++)
        even &= leave(&p, r, r + 1) == 2;
    ok(even, "eight pieces from four replicas: two each");
    p = copies(4, 2, 8, 2, RLF_TOPOLOGY_DIRECT, slow);
    ok(leave(&p, 0, 2) == 4 && leave(&p, 2, 4) == 4,
       "two machines that hold them send four each");
    p = copies(4, 8, 1, 2, RLF_TOPOLOGY_DIRECT, slow);
    ok(leave(&p, 0, 2) == 2 && leave(&p, 2, 4) == 2,
       "one piece to four machines: two from each that holds it");
    /* machines of one rank: the link between them decides, not the other */
    p = copies(1, 8, 16, 1, RLF_TOPOLOGY_AUTO, (rlf_wire){0, 1e3, false});
    is_int(deepest(&p), 8, "machines are a ring where starting is free");
    p = copies(1, 8, 16, 1, RLF_TOPOLOGY_AUTO, (rlf_wire){1, 1e12, false});
    is_int(deepest(&p), 3, "and a tree where it is not");
    p = copies(1, 8, 16, 1, RLF_TOPOLOGY_AUTO, (rlf_wire){1, 1e12, true});
    is_int(deepest(&p), 1, "and direct where all read the sender's memory");
}

static void
test_refusal(void)
{
    make_model((sizes){.heads = 6,
                       .kv_heads = 3,
                       .head_dim = 2,
                       .ffn = 11,
                       .vocab = 17,
                       .hidden = 3});
    rlf_layout from = {
        .ranks = in_order, .n_ranks = 2, .tp = 2, .pp = 1, .dp = 1};
    rlf_layout to = {
        .ranks = in_order, .n_ranks = 1, .tp = 1, .pp = 1, .dp = 1};
    rlf_realloc_job job = {.shapes = &shapes,
                           .from = &from,
                           .to = &to,
                           .element = ELEMENT,
                           .inside = fast,
                           .across = fast};
    rlf_realloc_plan plan;
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_realloc_make(&job, arena, &err, &plan), RLF_USER,
           "heads that do not divide");
    is_str(err.sentence,
           "tp 2 neither divides the 3 heads of k nor is a multiple of them",
           "are refused by name");
}

/* Weights of a copy on rank 0 go to one on ranks 0 to 15, over the links of a
 * plan: how they spread is as the links say, and what arrives is the same. */
static unsigned
spread_over(const rlf_links *links, int64_t *bytes, int64_t *across)
{
    rlf_weight_copy list[2] = {
        {.mesh.layout =
             {.ranks = in_order, .n_ranks = 1, .tp = 1, .pp = 1, .dp = 1}},
        {.mesh.layout = {
             .ranks = in_order, .n_ranks = 16, .tp = 1, .pp = 1, .dp = 16}}};
    rlf_weight_copies copies = {.list = list, .n = 2};
    rlf_plan of = {.copies = &copies, .ranks = 16, .links = links};
    rlf_realloc_job job =
        rlf_weight_copies_job(&of, 0, 0, 1, &shapes, NULL, ELEMENT);
    rlf_realloc_plan plan;
    rlf_realloc_total total;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_realloc_make(&job, arena, &err, &plan) != RLF_OK)
        bail("%s", err.sentence);
    rlf_realloc_sum(&job, &plan, arena, &total);
    *bytes = total.bytes;
    *across = 0;
    for (int i = 0; i < plan.n_sends && job.machine; i++)
        *across +=
            job.machine[plan.sends[i].from] != job.machine[plan.sends[i].to];
    return plan.topologies;
}

static void
test_links(void)
{
    int64_t bytes[4], across[4];
    make_model(odd);
    for (int i = 0; i < WORLD; i++)
        machine[i] = i / 8;
    const rlf_links starts = {.inside = {1, 1e12, false},
                              .across = {1, 1e12, false}},
                    rates = {.inside = {0, 10, false},
                             .across = {0, 10, false}},
                    boxes = {
                        .inside = fast, .across = slow, .machine = machine};
    is_int(spread_over(NULL, &bytes[0], &across[0]), 1 << RLF_TOPOLOGY_DIRECT,
           "nothing known of links: all read the sender's memory");
    is_int(spread_over(&starts, &bytes[1], &across[1]), 1 << RLF_TOPOLOGY_TREE,
           "links that take long to start: a tree");
    is_int(spread_over(&rates, &bytes[2], &across[2]), 1 << RLF_TOPOLOGY_RING,
           "slow links: a chain");
    spread_over(&boxes, &bytes[3], &across[3]);
    ok(bytes[0] == bytes[1] && bytes[1] == bytes[2] && bytes[2] == bytes[3],
       "the same bytes arrive");
    is_int(across[3], shapes.count,
           "each tensor enters the other machine of the links once");
    rlf_arena_reset(arena);
}

int
main(void)
{
    arena = rlf_arena_new();
    for (int i = 0; i < WORLD; i++)
        in_order[i] = i;
    test_table();
    test_vanilla();
    test_odd();
    test_random();
    test_topologies();
    test_choice();
    test_links();
    test_balance();
    test_refusal();
    rlf_arena_free(arena);
    return done();
}
