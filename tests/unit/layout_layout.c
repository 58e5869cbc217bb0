/* Layouts: every row and layer is held exactly as often as the layout says,
 * parts are even and nest, coordinates are a bijection for every order, wrong
 * layouts are refused with what is possible, and the generation groups are
 * those of HybridFlow's paper. */
#include "engine/base/vec.h"
#include "engine/layout/layout.h"
#include "tests/unit/layout_order.h"

#define MAX_RANKS 64

static int mesh[MAX_RANKS]; /* 1, 4, 7..: ranks need not be neighbours */

static bool
same(rlf_coordinates a, rlf_coordinates b)
{
    return a.tp == b.tp && a.pp == b.pp && a.dp == b.dp;
}

/* Every coordinate once, places and coordinates inverse to each other. */
static bool
bijection(const rlf_layout *l)
{
    int seen[MAX_RANKS] = {0};
    for (int i = 0; i < l->n_ranks; i++) {
        rlf_coordinates at = rlf_layout_at(l, i);
        if (at.tp < 0 || at.tp >= l->tp || at.pp < 0 || at.pp >= l->pp ||
            at.dp < 0 || at.dp >= l->dp ||
            seen[at.tp + l->tp * (at.pp + l->pp * at.dp)]++ ||
            rlf_layout_place(l, at) != i ||
            !same(at, rlf_layout_find(l, l->ranks[i])))
            return false;
    }
    return same(rlf_layout_find(l, 0), (rlf_coordinates){-1, -1, -1});
}

/* The group along `axes` against a search through all ranks. */
static bool
groups(const rlf_layout *l)
{
    for (int axes = 0; axes < 8; axes++)
        for (int i = 0; i < l->n_ranks; i++) {
            int out[MAX_RANKS], n = 0;
            rlf_coordinates me = rlf_layout_at(l, i);
            int got = rlf_layout_group(l, l->ranks[i], axes, out);
            for (int d = 0; d < l->dp; d++)
                for (int p = 0; p < l->pp; p++)
                    for (int t = 0; t < l->tp; t++)
                        for (int k = 0; k < l->n_ranks; k++) {
                            rlf_coordinates at = rlf_layout_at(l, k);
                            if (!same(at, (rlf_coordinates){t, p, d}) ||
                                (!(axes & RLF_AXIS_TP) && t != me.tp) ||
                                (!(axes & RLF_AXIS_PP) && p != me.pp) ||
                                (!(axes & RLF_AXIS_DP) && d != me.dp))
                                continue;
                            if (n >= got || out[n++] != l->ranks[k])
                                return false;
                        }
            if (n != got)
                return false;
        }
    return true;
}

/* Chunk c of n layers that the rank at a place has. */
static rlf_range
layers_of(const rlf_layout *l, int place, int64_t n, int chunk)
{
    int stage = rlf_layout_at(l, place).pp, chunks = l->chunks ? l->chunks : 1;
    return rlf_range_part(n, l->pp * chunks,
                          rlf_stage_part(l->pp, l->vee, stage, chunk));
}

static bool
covers(const rlf_layout *l, int64_t n)
{
    int held[200] = {0}, layers[200] = {0};
    rlf_err err = RLF_ERR_NONE;
    if (rlf_layout_check(l, &err) != RLF_OK || !bijection(l))
        return false;
    for (int i = 0; i < l->n_ranks; i++) {
        rlf_range r = rlf_layout_rows(l, l->ranks[i], n);
        if (r.last - r.first < n / l->dp || r.last - r.first > n / l->dp + 1)
            return false;
        for (int64_t k = r.first; k < r.last; k++) {
            held[k]++;
            if (rlf_range_owner(n, l->dp, k) != rlf_layout_at(l, i).dp)
                return false;
        }
        int64_t chunks = l->chunks ? l->chunks : 1;
        for (int c = 0; c < chunks; c++) {
            r = layers_of(l, i, n, c);
            int64_t parts = l->pp * chunks, size = r.last - r.first;
            if (size < n / parts || size > (n + parts - 1) / parts)
                return false;
            for (int64_t k = r.first; k < r.last; k++) {
                layers[k]++;
                if (rlf_layout_stage(l, n, k) != rlf_layout_at(l, i).pp)
                    return false;
            }
        }
    }
    for (int64_t k = 0; k < n; k++)
        if (held[k] != l->tp * l->pp || layers[k] != l->tp * l->dp)
            return false;
    rlf_range none = rlf_layout_rows(l, 0, n);
    return none.first == none.last;
}

/* Of a V, the first stage has the first layers and the last, the last those in
 * the middle. */
static bool
turns(const rlf_layout *l, int64_t n)
{
    for (int i = 0; i < l->n_ranks; i++) {
        int stage = rlf_layout_at(l, i).pp;
        rlf_range down = layers_of(l, i, n, 0);
        rlf_range up = layers_of(l, i, n, 1);
        if ((stage == 0) != (stage == rlf_layout_last(l)) ||
            (stage == 0 && (down.first != 0 || up.last != n)) ||
            (stage == l->pp - 1 && down.last != up.first))
            return false;
    }
    return true;
}

static rlf_layout
layout(int tp, int pp, int dp)
{
    return (rlf_layout){
        .ranks = mesh, .n_ranks = tp * pp * dp, .tp = tp, .pp = pp, .dp = dp};
}

static void
test_covering(void)
{
    static const char *const orders[] = {"tp pp dp", "dp tp pp", "pp dp tp",
                                         "dp pp tp"};
    bool good = true, grouped = true;
    int tried = 0;
    for (int tp = 1; tp <= 4; tp++)
        for (int pp = 1; pp <= 4; pp++)
            for (int dp = 1; dp <= 4; dp++)
                for (size_t o = 0; o < 4; o++) {
                    rlf_layout l = layout(tp, pp, dp);
                    rlf_err err = RLF_ERR_NONE;
                    set_order(&l, orders[o]);
                    good &= !rlf_layout_check(&l, &err);
                    for (int64_t n = 0; n < 20; n++, tried++) {
                        l.chunks = (int)n % 4; /* 0 is 1 */
                        good &= covers(&l, n);
                        l.chunks = 2;
                        l.vee = true;
                        good &= covers(&l, n) && turns(&l, n);
                        l.vee = false;
                    }
                    grouped &= groups(&l);
                }
    ok(good, "%d layouts and sizes: each row and layer where it belongs",
       tried);
    ok(grouped, "groups along any axes, in any order of digits");
}

/* Parts of a b, b at a time, are the parts of a: for units too. */
static void
test_nesting(void)
{
    bool good = true;
    for (int64_t n = 0; n < 70; n++)
        for (int64_t unit = 1; unit < 5; unit++)
            for (int a = 1; a <= 6; a++)
                for (int b = 1; b <= 6; b++)
                    for (int i = 0; i < a; i++) {
                        rlf_range whole = rlf_range_units(n, unit, a, i);
                        rlf_range low = rlf_range_units(n, unit, a * b, i * b);
                        rlf_range high =
                            rlf_range_units(n, unit, a * b, i * b + b - 1);
                        good &= whole.first == low.first &&
                                whole.last == high.last &&
                                (whole.first % unit == 0 || whole.first == n);
                    }
    ok(good, "parts nest whatever n is");
    rlf_range meet = rlf_range_meet((rlf_range){2, 5}, (rlf_range){7, 9});
    ok(rlf_range_size(meet) == 0, "ranges apart meet in nothing");
}

static int
by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The group of `rank` under formulas of the paper, as a sorted list. Which:
 * 't' generation tp, 'p' generation pp, 'm' micro dp. */
static int
paper_group(char which, int p, int t, int pg, int tg, int rank, int *out)
{
    int a = p / pg, b = t / tg, n = 0;
    int d = rank / (p * t), pi = rank / t % p, ti = rank % t;
    int P = pi / a, jp = pi % a, T = ti / b, jt = ti % b;
    if (which == 't')
        for (int x = 0; x < tg; x++)
            out[n++] = d * p * t + pi * t + x * b + jt;
    if (which == 'p')
        for (int x = 0; x < pg; x++)
            out[n++] = d * p * t + (x * a + jp) * t + ti;
    if (which == 'm')
        for (int x = 0; x < a; x++)
            for (int y = 0; y < b; y++)
                out[n++] = d * p * t + (P * a + x) * t + T * b + y;
    qsort(out, (size_t)n, sizeof *out, by_number);
    return n;
}

static int
our_group(char which, const rlf_layout *l, const rlf_layout *train, int rank,
          int *out)
{
    int axes = which == 't'   ? RLF_AXIS_TP
               : which == 'p' ? RLF_AXIS_PP
                              : RLF_AXIS_DP;
    int n = rlf_layout_group(l, rank, axes, out), kept = 0;
    int d = rlf_layout_find(train, rank).dp;
    for (int i = 0; i < n; i++) /* micro dp: those of one training replica */
        if (which != 'm' || rlf_layout_find(train, out[i]).dp == d)
            out[kept++] = out[i];
    qsort(out, (size_t)kept, sizeof *out, by_number);
    return kept;
}

static void
test_regroup(void)
{
    int ranks[MAX_RANKS], tried = 0;
    bool good = true;
    for (int i = 0; i < MAX_RANKS; i++)
        ranks[i] = i;
    for (int p = 1; p <= 16; p++)
        for (int t = 1; p * t <= 16; t++)
            for (int d = 1; p * t * d <= 16; d++)
                for (int pg = 1; pg <= p; pg++)
                    for (int tg = 1; tg <= t; tg++) {
                        if (p % pg || t % tg)
                            continue;
                        rlf_layout train = layout(t, p, d), g;
                        rlf_err err = RLF_ERR_NONE;
                        train.ranks = ranks;
                        tried++;
                        good &= !rlf_layout_regroup(&train, tg, pg, &err, &g) &&
                                !rlf_layout_check(&g, &err) &&
                                g.dp == d * (p / pg) * (t / tg);
                        for (int r = 0; r < p * t * d && good; r++)
                            for (const char *w = "tpm"; *w; w++) {
                                int want[MAX_RANKS], got[MAX_RANKS];
                                int n = paper_group(*w, p, t, pg, tg, r, want);
                                int m = our_group(*w, &g, &train, r, got);
                                good &=
                                    n == m &&
                                    !memcmp(want, got, sizeof(int) * (size_t)n);
                            }
                    }
    ok(good, "%d generation layouts have the groups of the paper's formula",
       tried);
    rlf_layout train = layout(4, 1, 2), g;
    rlf_err err = RLF_ERR_NONE;
    train.ranks = ranks;
    char text[64];
    is_int(rlf_layout_regroup(&train, 2, 1, &err, &g), RLF_OK,
           "training 1-4-2 generates as 1-2-2-2");
    is_str(order_text(&g, text, sizeof text), "dp2 tp2 dp2",
           "with micro data parallelism innermost");
    static const int tp_groups[8] = {0, 1, 0, 1, 4, 5, 4, 5};
    static const int dp_groups[8] = {0, 0, 2, 2, 4, 4, 6, 6};
    bool as_figure = true;
    for (int r = 0; r < 8; r++) {
        int got[8];
        as_figure &= our_group('t', &g, &train, r, got) == 2 &&
                     got[0] == tp_groups[r] && got[1] == tp_groups[r] + 2;
        as_figure &= our_group('m', &g, &train, r, got) == 2 &&
                     got[0] == dp_groups[r] && got[1] == dp_groups[r] + 1;
    }
    ok(as_figure, "tp groups 02 13 46 57, micro dp groups 01 23 45 67");
    rlf_layout again;
    is_int(rlf_layout_regroup(&g, 1, 1, &err, &again), RLF_OK,
           "a generation layout can be cut again");
    is_int(again.dp, 8, "down to one rank a replica");
    rlf_layout mixed = layout(4, 2, 1);
    set_order(&mixed, "tp2 pp tp dp");
    is_int(rlf_layout_check(&mixed, &err), RLF_OK,
           "an axis may have two digits");
    is_int(rlf_layout_regroup(&mixed, 1, 2, &err, &g), RLF_OK,
           "both go to dp when generation has no tp");
    is_str(order_text(&g, text, sizeof text), "dp2 pp2 dp2",
           "each where it was");
}

/* Layouts and orders that are refused, with a sentence and what is possible. */
static void
test_refusals(void)
{
    static const int twice[] = {0, 1, 2, 1}, six[] = {0, 1, 2, 3, 4, 5};
    const struct {
        rlf_layout layout;
        const char *order; /* NULL: the layout is */
        const char *sentence, *hint;
    } refused[] = {
        {.layout = {.ranks = six, .n_ranks = 6, .tp = 2, .pp = 1, .dp = 2},
         .sentence = "tp 2 x pp 1 x dp 2 makes 4 ranks, but there are 6",
         .hint = "take dp 3, or 4 ranks"},
        {.layout = {.ranks = six, .n_ranks = 6, .tp = 4, .pp = 1, .dp = 1},
         .sentence = "tp 4 x pp 1 x dp 1 makes 4 ranks, but there are 6",
         .hint = "tp x pp = 4 does not divide 6; use a tp and a pp whose "
                 "product does, or 4 ranks"},
        {.layout = {.ranks = six, .n_ranks = 4, .tp = 2, .pp = 0, .dp = 2},
         .sentence = "pp is 0; it must be at least 1"},
        {.layout = {.ranks = twice, .n_ranks = 4, .tp = 2, .pp = 2, .dp = 1},
         .sentence = "rank 1 is named twice"},
        {.layout = layout(2, 2, 1),
         .order = "tp3 tp pp dp",
         .sentence = "the order has a digit of tp of size 3, but tp is 2"},
        {.layout = layout(2, 2, 1),
         .order = "tp pp1 dp",
         .sentence = "the order's digits of pp make 1, but pp is 2"},
        {.layout = layout(2, 2, 1),
         .order = "pp dp",
         .sentence = "the order's digits of tp make 1, but tp is 2"},
        {.layout = layout(2, 2, 1),
         .order = "tp0 pp dp",
         .sentence = "the order has a digit of tp of size -1, but tp is 2"},
    };
    for (size_t i = 0; i < RLF_COUNT(refused); i++) {
        rlf_layout l = refused[i].layout;
        rlf_err of = RLF_ERR_NONE;
        if (refused[i].order)
            set_order(&l, refused[i].order);
        rlf_status status = rlf_layout_check(&l, &of);
        const char *hint = refused[i].hint;
        is_int(status, RLF_USER, refused[i].sentence);
        is_str(of.sentence, refused[i].sentence, "says so");
        is_str(of.hint, hint ? hint : "", "and what is possible");
    }
    rlf_layout train = layout(4, 2, 1), out;
    rlf_err err = RLF_ERR_NONE;
    rlf_layout_regroup(&train, 3, 2, &err, &out);
    is_str(err.sentence, "tp 3 does not divide the tp 4 of training",
           "generation's tp divides training's");
}

int
main(void)
{
    for (int i = 0; i < MAX_RANKS; i++)
        mesh[i] = 3 * i + 1;
    test_covering();
    test_nesting();
    test_regroup();
    test_refusals();
    return done();
}
