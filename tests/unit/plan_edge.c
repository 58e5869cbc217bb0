/* Data edges: HybridFlow's six protocols fall out of layouts, and random
 * layouts are played through: who sends has the row, who receives needs it and
 * has it not, everyone ends with what is needed, each row arriving once. So are
 * the rounds of what many ranks need alike. */
#include "engine/plan/edge.h"
#include "tests/tap.h"
#include "tests/unit/layout_order.h"
#include "tests/unit/randomness.h"

#define WORLD 48
#define MAX_ROWS 40

static int all_ranks[WORLD];
static rlf_arena *arena;

static rlf_layout
layout(int tp, int pp, int dp)
{
    return (rlf_layout){.ranks = all_ranks,
                        .n_ranks = tp * pp * dp,
                        .tp = tp,
                        .pp = pp,
                        .dp = dp};
}

/* One end of an edge by a rule, which becomes parts here. */
typedef struct edge_end {
    const rlf_layout *layout;
    rlf_assignment assignment;
    bool last; /* only ranks of the last pipeline stage (outputs of a model) */
    const int *part; /* per row: its dp index, stage or place; NULL: equal parts
                        in order */
} edge_end;

static int
part_count(const edge_end *side)
{
    const rlf_layout *l = side->layout;
    return side->assignment == RLF_ASSIGN_DP     ? l->dp
           : side->assignment == RLF_ASSIGN_PP   ? l->pp
           : side->assignment == RLF_ASSIGN_LIST ? l->n_ranks
                                                 : 1;
}

static int
part_of(const edge_end *side, int64_t n, int64_t row)
{
    if (side->assignment == RLF_ASSIGN_ALL)
        return 0;
    if (side->part)
        return side->part[row];
    return rlf_range_owner(n, part_count(side), row);
}

/* The part of the rank at `place`, -1 if it has none. */
static int
part_at(const edge_end *side, int place)
{
    rlf_coordinates at = rlf_layout_at(side->layout, place);
    if (side->last && at.pp != rlf_layout_last(side->layout))
        return -1;
    return side->assignment == RLF_ASSIGN_ALL  ? 0
           : side->assignment == RLF_ASSIGN_DP ? at.dp
           : side->assignment == RLF_ASSIGN_PP ? at.pp
                                               : place;
}

/* The ranks of each part, by place; and the part of each row. */
typedef struct side_parts {
    rlf_parts shown;
    int *first, *list, *part;
} side_parts;

static side_parts
parts_of(const edge_end *side, int64_t n)
{
    int count = part_count(side), n_ranks = side->layout->n_ranks;
    side_parts p = {.first = RLF_NEW_ARRAY(arena, int, count + 2),
                    .list = RLF_NEW_ARRAY(arena, int, n_ranks),
                    .part = RLF_NEW_ARRAY(arena, int, n + 1)};
    for (int i = 0; i < n_ranks; i++)
        p.first[part_at(side, i) + 2]++; /* that of -1 is no part's */
    p.first[1] = 0;
    for (int k = 2; k <= count + 1; k++)
        p.first[k] += p.first[k - 1];
    for (int i = 0; i < n_ranks; i++) {
        int part = part_at(side, i);
        if (part >= 0)
            p.list[p.first[part + 1]++] = side->layout->ranks[i];
    }
    for (int64_t row = 0; row < n; row++)
        p.part[row] = part_of(side, n, row);
    p.shown = (rlf_parts){
        .count = count, .first = p.first, .list = p.list, .part = p.part};
    return p;
}

static void
make_edge(const edge_end *have, const edge_end *need, int64_t n,
          const int64_t *bytes, const int *machine, rlf_edge *out)
{
    side_parts from = parts_of(have, n), to = parts_of(need, n);
    rlf_edge_between(&from.shown, &to.shown, n, bytes, machine, arena, out);
}

/* Is the rank sent exactly these rows, each of them once? */
static bool
receives(const rlf_edge *edge, int rank, const bool *rows, int n)
{
    bool got[MAX_ROWS] = {false};
    for (int i = 0; i < edge->count; i++)
        if (edge->list[i].to == rank)
            for (int64_t k = 0; k < edge->list[i].n_rows; k++) {
                if (got[edge->list[i].rows[k]])
                    return false;
                got[edge->list[i].rows[k]] = true;
            }
    return !memcmp(got, rows, sizeof(bool) * (size_t)n);
}

/* HybridFlow's transfer protocols, from the paper's table: whether rank r
 * (coordinates p, t, d in the order t + T (p + P d)) is given row i of n when
 * the controller distributes, and whether its row i may be what the controller
 * collects. tg, pg: the generation sizes inside. */
typedef struct protocol {
    const char *name;
    int p, t, d, pg, tg;
    bool (*given)(const struct protocol *, int r, int i, int n);
    bool (*taken)(const struct protocol *, int r, int i, int n);
} protocol;

static int
chunk(int i, int n, int parts)
{
    return i / (n / parts); /* n is a multiple here */
}

static bool
all(const protocol *x, int r, int i, int n)
{
    return (void)x, (void)r, (void)i, (void)n, true;
}

static bool
by_dp(const protocol *x, int r, int i, int n)
{
    return chunk(i, n, x->d) == r / (x->p * x->t);
}

static bool
by_dp_last(const protocol *x, int r, int i, int n)
{
    return by_dp(x, r, i, n) && r / x->t % x->p == x->p - 1;
}

/* The micro-dp index: training's dp, then the stage, then the tp remainder. */
static bool
by_micro_dp(const protocol *x, int r, int i, int n)
{
    int a = x->p / x->pg, b = x->t / x->tg;
    int d = r / (x->p * x->t), jp = r / x->t % x->p % a, jt = r % x->t % b;
    return chunk(i, n, x->d * a * b) == (d * a + jp) * b + jt;
}

static bool
by_micro_dp_last(const protocol *x, int r, int i, int n)
{
    int a = x->p / x->pg;
    return by_micro_dp(x, r, i, n) && r / x->t % x->p / a == x->pg - 1;
}

static bool
by_stage(const protocol *x, int r, int i, int n)
{
    return chunk(i, n, x->p) == r / x->t % x->p;
}

static bool
by_rank(const protocol *x, int r, int i, int n)
{
    return chunk(i, n, x->p * x->t * x->d) == r;
}

/* An arbitrary list that the caller passes. */
static int listed[MAX_ROWS];

static bool
by_list(const protocol *x, int r, int i, int n)
{
    return (void)x, (void)n, listed[i] == r;
}

static edge_end
side_of(const protocol *x, rlf_layout *l, bool collecting)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_layout train = layout(x->t, x->p, x->d);
    *l = train;
    if (x->given == by_micro_dp &&
        rlf_layout_regroup(&train, x->tg, x->pg, &err, l) != RLF_OK)
        bail("no generation layout");
    edge_end side = {.layout = l, .assignment = RLF_ASSIGN_DP};
    if (x->given == by_list) {
        side.assignment = RLF_ASSIGN_LIST;
        side.part = listed;
    } else if (x->given == all) {
        side.assignment =
            collecting && x->taken == by_stage ? RLF_ASSIGN_PP : RLF_ASSIGN_ALL;
    }
    side.last = collecting && side.assignment == RLF_ASSIGN_DP;
    return side;
}

/* 3D_PP_ONLY broadcasts and collects one output a stage. */
static const protocol protocols[] = {
    {"ONE_TO_ALL", 2, 2, 3, 2, 2, all, all},
    {"3D_PROTO", 2, 2, 3, 2, 2, by_dp, by_dp_last},
    {"3D_ALL_MICRO_DP", 2, 4, 3, 1, 2, by_micro_dp, by_micro_dp_last},
    {"3D_ALL_MICRO_DP", 4, 2, 2, 2, 1, by_micro_dp, by_micro_dp_last},
    {"3D_PP_ONLY", 3, 2, 2, 3, 2, all, by_stage},
    {"DP_PROTO", 1, 1, 12, 1, 1, by_rank, by_rank},
    {"ALL_TO_ALL", 2, 2, 3, 2, 2, by_list, by_list},
};

/* From a controller beside the mesh to the mesh, and back. */
static void
test_protocol(const protocol *x)
{
    enum { N = 36 };
    int world = x->p * x->t * x->d, controller = WORLD - 1;
    int n = N / world * world;
    bool good = true;
    rlf_layout one = {
        .ranks = &controller, .n_ranks = 1, .tp = 1, .pp = 1, .dp = 1};
    edge_end hub = {.layout = &one, .assignment = RLF_ASSIGN_ALL};
    rlf_layout l;
    edge_end to = side_of(x, &l, false);
    rlf_edge edge;
    for (int i = 0; i < n; i++)
        listed[i] = i * 7 % 5 % world;
    make_edge(&hub, &to, n, NULL, NULL, &edge);
    for (int r = 0; r < world; r++) {
        bool rows[MAX_ROWS];
        for (int i = 0; i < n; i++)
            rows[i] = x->given(x, r, i, n);
        good &= receives(&edge, r, rows, n);
    }
    ok(good, "%s distributes", x->name);
    edge_end from = side_of(x, &l, true);
    bool everything[MAX_ROWS];
    make_edge(&from, &hub, n, NULL, NULL, &edge);
    memset(everything, 1, sizeof everything);
    good = receives(&edge, controller, everything, n);
    for (int i = 0; i < edge.count; i++)
        for (int64_t k = 0; k < edge.list[i].n_rows; k++)
            good &=
                x->taken(x, edge.list[i].from, (int)edge.list[i].rows[k], n);
    ok(good, "%s collects", x->name);
    is_str(rlf_side_protocol(&(rlf_side){from.layout, from.assignment}),
           from.assignment == RLF_ASSIGN_ALL ? "ONE_TO_ALL" : x->name,
           "is its name");
}

/* Random edges */

typedef struct random_side {
    rlf_layout layout;
    edge_end side;
    int ranks[WORLD], part[MAX_ROWS];
} random_side;

static void
draw_side(randomness *r, int n, random_side *x)
{
    static const char *const orders[] = {"tp pp dp", "dp tp pp", "pp dp tp",
                                         "dp pp tp"};
    uint32_t shuffled[WORLD];
    rlf_random_key key = {.seed = r->key.seed, .site = (uint32_t)r->next++};
    rlf_draw_shuffle(&key, WORLD, shuffled);
    for (int i = 0; i < WORLD; i++)
        x->ranks[i] = (int)shuffled[i];
    x->layout = layout(1 + draw(r, 3), 1 + draw(r, 3), 1 + draw(r, 5));
    x->layout.ranks = x->ranks;
    rlf_err err = RLF_ERR_NONE;
    set_order(&x->layout, orders[draw(r, 4)]);
    if (rlf_layout_check(&x->layout, &err))
        bail("%s", err.sentence);
    x->side = (edge_end){.layout = &x->layout,
                         .assignment = (rlf_assignment)draw(r, 4),
                         .last = draw(r, 2)};
    if (x->side.assignment == RLF_ASSIGN_LIST ||
        x->side.assignment == RLF_ASSIGN_PP)
        x->side.last = false;
    int parts = x->side.assignment == RLF_ASSIGN_DP   ? x->layout.dp
                : x->side.assignment == RLF_ASSIGN_PP ? x->layout.pp
                                                      : x->layout.n_ranks;
    for (int i = 0; i < n; i++)
        x->part[i] = draw(r, parts);
    if (draw(r, 2))
        x->side.part = x->part;
}

static bool
holds(const random_side *x, int rank, int n, int row)
{
    rlf_coordinates at = rlf_layout_find(&x->layout, rank);
    if (at.tp < 0 || (x->side.last && at.pp != x->layout.pp - 1))
        return false;
    int place = 0;
    while (x->ranks[place] != rank)
        place++;
    int index = x->side.assignment == RLF_ASSIGN_DP   ? at.dp
                : x->side.assignment == RLF_ASSIGN_PP ? at.pp
                                                      : place;
    int parts = x->side.assignment == RLF_ASSIGN_DP   ? x->layout.dp
                : x->side.assignment == RLF_ASSIGN_PP ? x->layout.pp
                                                      : x->layout.n_ranks;
    if (x->side.assignment == RLF_ASSIGN_ALL)
        return true;
    if (x->side.part)
        return x->part[row] == index;
    return row >= n * index / parts && row < n * (index + 1) / parts;
}

/* Bytes that one rank sends and receives. */
static void
load_of(const rlf_edge *edge, int rank, int64_t *sent, int64_t *received)
{
    *sent = *received = 0;
    for (int i = 0; i < edge->count; i++) {
        *sent += edge->list[i].from == rank ? edge->list[i].bytes : 0;
        *received += edge->list[i].to == rank ? edge->list[i].bytes : 0;
    }
}

/* One random edge played; false names no more than that it went wrong. */
static bool
play(uint64_t seed)
{
    randomness r = {.key = {.seed = seed}};
    random_side have, need;
    int n = draw(&r, MAX_ROWS), machine[WORLD];
    int64_t bytes[MAX_ROWS], sent = 0, received = 0, total = 0;
    bool there[WORLD][MAX_ROWS];
    draw_side(&r, n, &have);
    draw_side(&r, n, &need);
    for (int i = 0; i < WORLD; i++)
        machine[i] = i / 8;
    for (int i = 0; i < n; i++)
        bytes[i] = draw(&r, 100);
    for (int k = 0; k < WORLD; k++)
        for (int i = 0; i < n; i++)
            there[k][i] = holds(&have, k, n, i);
    rlf_edge edge;
    make_edge(&have.side, &need.side, n, bytes, seed % 2 ? machine : NULL,
              &edge);
    for (int m = 0; m < edge.count; m++) {
        const rlf_transfer *t = &edge.list[m];
        int64_t size = 0;
        for (int64_t k = 0; k < t->n_rows; k++) {
            int row = (int)t->rows[k];
            bool near = machine[t->from] == machine[t->to];
            if (!holds(&have, t->from, n, row) || there[t->to][row] ||
                !holds(&need, t->to, n, row) || (k && row <= t->rows[k - 1]))
                return false;
            for (int o = 0; o < WORLD && seed % 2 && !near; o++)
                if (machine[o] == machine[t->to] && holds(&have, o, n, row))
                    return false; /* a nearer rank has it */
            there[t->to][row] = true;
            size += bytes[row];
        }
        if (size != t->bytes || t->n_rows == 0)
            return false;
        total += size;
    }
    for (int k = 0; k < WORLD; k++) {
        int64_t out, in;
        load_of(&edge, k, &out, &in);
        sent += out;
        received += in;
        for (int i = 0; i < n; i++)
            if (holds(&need, k, n, i) && !there[k][i])
                return false;
    }
    return sent == total && received == total;
}

/* 8 ranks need what 4 replicas have: two each. One needs all that dp has: one
 * message from every replica. */
static void
test_balance(void)
{
    rlf_layout from = layout(4, 1, 2), to = layout(1, 1, 8);
    edge_end have = {.layout = &from, .assignment = RLF_ASSIGN_DP};
    edge_end need = {.layout = &to, .assignment = RLF_ASSIGN_ALL};
    to.ranks = all_ranks + 8;
    rlf_edge edge;
    make_edge(&have, &need, 10, NULL, NULL, &edge);
    bool even = edge.count == 16;
    for (int r = 0; r < 8; r++) {
        int64_t sent, received;
        load_of(&edge, r, &sent, &received);
        even &= sent == 10 && received == 0;
        load_of(&edge, 8 + r, &sent, &received);
        even &= sent == 0 && received == 10;
    }
    ok(even, "replicas share the work evenly, one message a source and rank");
    rlf_layout pair = layout(2, 1, 1), three = layout(1, 1, 3);
    edge_end twice = {.layout = &pair, .assignment = RLF_ASSIGN_DP};
    edge_end each = {.layout = &three, .assignment = RLF_ASSIGN_DP};
    int64_t bytes[3] = {1, 1, 2}, sent[2], received;
    three.ranks = all_ranks + 8;
    make_edge(&twice, &each, 3, bytes, NULL, &edge);
    load_of(&edge, 0, &sent[0], &received);
    load_of(&edge, 1, &sent[1], &received);
    ok(sent[0] == 2 && sent[1] == 2, "the largest message first: 2 and 1 + 1");
    make_edge(&have, &have, 10, NULL, NULL, &edge);
    is_int(edge.count, 0, "nothing is sent to who has it");
    make_edge(&have, &need, 0, NULL, NULL, &edge);
    is_int(edge.count, 0, "no rows, no messages");
}

/* ---- rows that each of some ranks needs ---- */

enum { MOST_SPREAD = 130, MOST_PARTS = 140, SPREAD_ROWS = 140 };

typedef struct spread_case {
    int n_ranks, n_to, n_rows, n_parts;
    int to[MOST_SPREAD];
    int first[MOST_PARTS + 1], list[MOST_PARTS * 4], part[SPREAD_ROWS];
} spread_case;

static int
bits_of(int n)
{
    int bits = 0;
    while (1 << bits < n)
        bits++;
    return bits;
}

/* Parts with one to four holders anywhere, and any ranks that need all. */
static void
draw_spread(randomness *r, int n_ranks, spread_case *x)
{
    uint32_t shuffled[MOST_SPREAD];
    *x = (spread_case){.n_ranks = n_ranks,
                       .n_to = 1 + draw(r, n_ranks),
                       .n_rows = draw(r, SPREAD_ROWS),
                       .n_parts = 1 + draw(r, n_ranks)};
    rlf_random_key key = {.seed = r->key.seed, .site = (uint32_t)r->next++};
    rlf_draw_shuffle(&key, (uint32_t)n_ranks, shuffled);
    for (int i = 0; i < x->n_to; i++)
        x->to[i] = (int)shuffled[i];
    for (int k = 0; k < x->n_parts; k++) {
        int holders = 1 + draw(r, n_ranks < 4 ? n_ranks : 4);
        int at = draw(r, n_ranks);
        x->first[k + 1] = x->first[k] + holders;
        for (int i = 0; i < holders; i++)
            x->list[x->first[k] + i] = (at + i) % n_ranks;
    }
    for (int i = 0; i < x->n_rows; i++)
        x->part[i] = draw(r, x->n_parts);
}

/* Plays the rounds; how many messages, or -1: something is wrong. */
static int
play_spread(const spread_case *x, int *n_rounds)
{
    static bool there[MOST_SPREAD][SPREAD_ROWS], next[MOST_SPREAD][SPREAD_ROWS];
    const rlf_parts have = {.count = x->n_parts,
                            .first = x->first,
                            .list = x->list,
                            .part = x->part};
    rlf_edge *rounds;
    int n = *n_rounds =
        rlf_edge_all_gather(&have, x->to, x->n_to, x->n_rows, arena, &rounds);
    int messages = 0;
    bool needs[MOST_SPREAD] = {false};
    memset(there, 0, sizeof there);
    for (int i = 0; i < x->n_to; i++)
        needs[x->to[i]] = true;
    for (int i = 0; i < x->n_rows; i++)
        for (int k = x->first[x->part[i]]; k < x->first[x->part[i] + 1]; k++)
            there[x->list[k]][i] = true;
    for (int round = 0; round < n; round++) {
        int sends[MOST_SPREAD] = {0}, gets[MOST_SPREAD] = {0};
        memcpy(next, there, sizeof next);
        messages += rounds[round].count;
        for (int m = 0; m < rounds[round].count; m++) {
            const rlf_transfer *t = &rounds[round].list[m];
            if (!needs[t->to] || t->n_rows == 0 || t->bytes != t->n_rows ||
                (m && t->to < t[-1].to))
                return -1;
            /* in the first they may be brought in by any number */
            if (round && (sends[t->from]++ || gets[t->to]++))
                return -1;
            for (int64_t k = 0; k < t->n_rows; k++) {
                int64_t row = t->rows[k];
                if (!there[t->from][row] || next[t->to][row] ||
                    (k && row <= t->rows[k - 1]))
                    return -1;
                next[t->to][row] = true;
            }
        }
        memcpy(there, next, sizeof there);
    }
    for (int i = 0; i < x->n_to; i++)
        for (int k = 0; k < x->n_rows; k++)
            if (!there[x->to[i]][k])
                return -1;
    return n > bits_of(x->n_to) + 1 ? -1 : messages;
}

/* `dp` parts of `same` ranks each; all need all of it. */
static int
even_spread(int dp, int same, int *n_rounds)
{
    static spread_case x;
    x = (spread_case){.n_to = dp * same, .n_rows = dp};
    x.n_parts = dp;
    for (int r = 0; r < x.n_to; r++)
        x.to[r] = r;
    for (int k = 0; k < dp; k++) {
        x.first[k + 1] = x.first[k] + same;
        x.part[k] = k;
        for (int i = 0; i < same; i++)
            x.list[k * same + i] = k * same + i;
    }
    return play_spread(&x, n_rounds);
}

static void
test_spread(void)
{
    int good = 0, n_rounds, trials = 0;
    static spread_case x;
    for (int n = 1; n < MOST_SPREAD; n++)
        for (uint64_t seed = 0; seed < 10; seed++, trials++) {
            randomness r = {.key = {.seed = seed * 1000 + (uint64_t)n}};
            draw_spread(&r, n, &x);
            good += play_spread(&x, &n_rounds) >= 0;
            rlf_arena_reset(arena);
        }
    is_int(good, trials, "1 to 129 ranks that need the same: rounds, played");
    is_int(even_spread(4, 1, &n_rounds), 12, "4 ranks: each to each");
    is_int(n_rounds, 1, "... at once");
    is_int(even_spread(32, 1, &n_rounds), 32 * 5, "32: five messages each");
    is_int(n_rounds, 5, "... in five rounds");
    is_int(even_spread(128, 1, &n_rounds), 128 * 7, "128: seven, not 127");
    is_int(even_spread(16, 8, &n_rounds), 128 * 4,
           "128 ranks, 8 of which have the same: four messages each");
    is_int(n_rounds, 4, "... in four rounds");
    x = (spread_case){.n_to = 128, .n_rows = 40, .n_parts = 1};
    x.first[1] = 1;
    for (int r = 0; r < 128; r++)
        x.to[r] = r;
    is_int(play_spread(&x, &n_rounds), 127,
           "one rank has it: one message each");
    is_int(n_rounds, 7, "... in seven rounds");
}

int
main(void)
{
    arena = rlf_arena_new();
    for (int i = 0; i < WORLD; i++)
        all_ranks[i] = i;
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        test_protocol(&protocols[i]);
    test_balance();
    test_spread();
    int good = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        good += play(seed);
        rlf_arena_reset(arena);
    }
    is_int(good, 2000, "random edges, played");
    rlf_arena_free(arena);
    return done();
}
