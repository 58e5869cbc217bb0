/* Slices of tensors, element by element: each held exactly as often as its
 * split says, every query head beside its key/value head, slices of finer tp
 * inside those of coarser, refusals with what is possible. */
#include "engine/layout/slice.h"
#include "tests/tap.h"

#define MAX_RANKS 64
#define HEAD_DIM 3
#define HIDDEN 10
#define TILES 10 /* of the embedding */

static int mesh[MAX_RANKS];

enum { EMBED, NORM, Q, K, V, Q_BIAS, O, GATE, UP, DOWN, HEAD, N_TENSORS };

static rlf_shape tensors[N_TENSORS] = {
    [EMBED] = {"embed", RLF_LAYER_ENDS, RLF_SPLIT_ROWS, 37, HIDDEN, 4},
    [NORM] = {"norm", 0, RLF_SPLIT_NONE, HIDDEN, 1, 1},
    [Q] = {"q", 1, RLF_SPLIT_ROWS, 0, HIDDEN, HEAD_DIM},
    [K] = {"k", 1, RLF_SPLIT_KV, 0, HIDDEN, HEAD_DIM},
    [V] = {"v", 1, RLF_SPLIT_KV, 0, HIDDEN, HEAD_DIM},
    [Q_BIAS] = {"q_bias", 1, RLF_SPLIT_ROWS, 0, 1, HEAD_DIM},
    [O] = {"o", 1, RLF_SPLIT_COLS, HIDDEN, 0, HEAD_DIM},
    [GATE] = {"gate", 2, RLF_SPLIT_ROWS, 23, HIDDEN, 1},
    [UP] = {"up", 2, RLF_SPLIT_ROWS, 23, HIDDEN, 1},
    [DOWN] = {"down", 2, RLF_SPLIT_COLS, HIDDEN, 23, 1},
    [HEAD] = {"head", RLF_LAYER_LAST, RLF_SPLIT_ROWS, 5, HIDDEN, 1},
};
static const rlf_shapes shapes = {tensors, N_TENSORS, 3};

static void
set_heads(int heads, int kv_heads)
{
    tensors[Q].rows = tensors[Q_BIAS].rows = tensors[O].cols = heads * HEAD_DIM;
    tensors[K].rows = tensors[V].rows = kv_heads * HEAD_DIM;
}

static rlf_layout
layout(int tp, int pp, int dp)
{
    return (rlf_layout){
        .ranks = mesh, .n_ranks = tp * pp * dp, .tp = tp, .pp = pp, .dp = dp};
}

static bool
inside(rlf_range r, int64_t i)
{
    return r.first <= i && i < r.last;
}

/* Returns how many stages hold a layer when 3 layers lie on pp <= 3 stages. */
static int
stages_of(int layer, int pp)
{
    return layer == RLF_LAYER_ENDS && pp > 1 ? 2 : 1;
}

/* Returns on how many ranks an element of the tensor must lie. */
static int
copies(const rlf_shape *t, const rlf_layout *l)
{
    int heads = (int)(t->rows / t->unit), each = l->dp;
    if (t->split == RLF_SPLIT_NONE)
        each *= l->tp;
    if (t->split == RLF_SPLIT_KV && l->tp > heads)
        each *= l->tp / heads;
    return each * stages_of(t->layer, l->pp);
}

static bool
covered(const rlf_layout *l)
{
    for (int i = 0; i < N_TENSORS; i++) {
        const rlf_shape *t = &tensors[i];
        for (int64_t r = 0; r < t->rows; r++)
            for (int64_t c = 0; c < t->cols; c++) {
                int held = 0;
                for (int k = 0; k < l->n_ranks; k++) {
                    rlf_box box = rlf_layout_box(l, &shapes, i, l->ranks[k]);
                    held += inside(box.rows, r) && inside(box.cols, c);
                }
                if (held != copies(t, l))
                    return false;
            }
    }
    return true;
}

/* Each rank that holds a query head holds the key/value head it attends to, and
 * the columns of o for it; and no other key/value heads. */
static bool
heads_together(const rlf_layout *l, int heads, int kv_heads)
{
    for (int k = 0; k < l->n_ranks; k++) {
        rlf_box q = rlf_layout_box(l, &shapes, Q, l->ranks[k]);
        rlf_box kv = rlf_layout_box(l, &shapes, K, l->ranks[k]);
        rlf_box v = rlf_layout_box(l, &shapes, V, l->ranks[k]);
        rlf_box o = rlf_layout_box(l, &shapes, O, l->ranks[k]);
        bool used[64] = {false};
        if (!rlf_box_count(q))
            continue;
        for (int h = 0; h < heads; h++) {
            int its = h / (heads / kv_heads);
            bool mine = inside(q.rows, h * HEAD_DIM);
            used[its] |= mine;
            if (mine != inside(q.rows, h * HEAD_DIM + HEAD_DIM - 1) ||
                mine != inside(o.cols, h * HEAD_DIM))
                return false;
        }
        for (int h = 0; h < kv_heads; h++)
            if (used[h] != inside(kv.rows, h * HEAD_DIM) ||
                used[h] != inside(v.rows, h * HEAD_DIM + HEAD_DIM - 1))
                return false;
    }
    return true;
}

/* V / tp neighbouring shards are what a rank of tp holds, for odd sizes too. */
static bool
shards_nest(void)
{
    for (int tp = 1; tp <= 6; tp++)
        for (int each = 1; each <= 4; each++) {
            rlf_layout l = layout(tp, 1, 1), fine = layout(tp * each, 1, 1);
            for (int t = 0; t < tp; t++) {
                rlf_range r = rlf_range_part(tp * each, tp, t);
                rlf_box box = rlf_layout_box(&l, &shapes, DOWN, mesh[t]);
                rlf_box a = rlf_layout_box(&fine, &shapes, DOWN, mesh[r.first]);
                rlf_box b =
                    rlf_layout_box(&fine, &shapes, DOWN, mesh[r.last - 1]);
                if (rlf_range_size(r) != each ||
                    box.cols.first != a.cols.first ||
                    box.cols.last != b.cols.last)
                    return false;
            }
        }
    return true;
}

static void
test_strided(void)
{
    rlf_box whole = {{2, 9}, {3, 8}}, part = {{4, 6}, {5, 8}};
    rlf_strided s = rlf_box_within(whole, part);
    bool good = true;
    int64_t at = 0;
    for (int64_t r = 2; r < 9; r++)
        for (int64_t c = 3; c < 8; c++, at++) {
            int64_t row = (at - s.offset) / s.stride;
            int64_t col = (at - s.offset) % s.stride;
            bool mine = at >= s.offset && row < s.rows && col < s.cols;
            good &= mine == (inside(part.rows, r) && inside(part.cols, c));
        }
    ok(good, "a box inside a stored one, element by element");
    rlf_box apart = rlf_box_meet(whole, (rlf_box){{9, 12}, {0, 9}});
    is_int(rlf_box_count(apart), 0, "boxes that only touch share nothing");
}

static void
test_refusals(void)
{
    set_heads(12, 4);
    rlf_layout l = layout(6, 1, 1);
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_layout_check_shapes(&l, &shapes, &err), RLF_USER,
           "key/value heads that tp does not cut");
    is_str(err.sentence,
           "tp 6 neither divides the 4 heads of k nor is a multiple of them",
           "are named by the tensor");
    rlf_err_clear(&err);
    l = layout(1, 4, 1);
    is_int(rlf_layout_check_shapes(&l, &shapes, &err), RLF_USER,
           "more stages than layers");
    is_str(err.sentence, "pp 4 is more than the 3 layers of the model",
           "are named");
    is_str(err.hint, "pp can be 1 to 3", "and what is possible");
}

int
main(void)
{
    static const int models[][2] = {{12, 12}, {12, 4}, {12, 3},
                                    {12, 1},  {8, 2},  {6, 6}};
    for (int i = 0; i < MAX_RANKS; i++)
        mesh[i] = 2 * i + 5;
    bool cover = true, together = true;
    int tried = 0;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (int tp = 1; tp <= models[m][0]; tp++)
            for (int pp = 1; pp <= 3; pp++) {
                int heads = models[m][0], kv = models[m][1];
                rlf_layout l = layout(tp, pp, 1 + tp % 2);
                rlf_err err = RLF_ERR_NONE;
                set_heads(heads, kv);
                if (rlf_layout_check_shapes(&l, &shapes, &err) != RLF_OK ||
                    heads % tp != 0 || tp > TILES)
                    continue; /* models check the rest (their tables) */
                tried++;
                cover &= covered(&l);
                together &= heads_together(&l, heads, kv);
            }
    ok(cover && tried > 40, "%d layouts: every element held as it should be",
       tried);
    ok(together, "query heads, their key/value heads and o's columns together");
    ok(shards_nest(), "a rank of tp holds V / tp neighbouring shards");
    test_strided();
    test_refusals();
    return done();
}
