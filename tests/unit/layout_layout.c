/* Layouts: every row and layer is held exactly as often as the layout says,
 * parts are even, coordinates are a bijection, wrong layouts are refused. */
#include "engine/layout/layout.h"
#include "tests/tap.h"

static bool
covers(int tp, int pp, int dp, int64_t n)
{
    int ranks[64], held[200] = {0}, layers[200] = {0};
    int world = tp * pp * dp;
    for (int i = 0; i < world; i++)
        ranks[i] = 3 * i + 1; /* ranks need not be neighbours */
    rlf_layout l = {
        .ranks = ranks, .n_ranks = world, .tp = tp, .pp = pp, .dp = dp};
    rlf_err err = RLF_ERR_NONE;
    if (rlf_layout_check(&l, &err) != RLF_OK)
        return false;
    for (int i = 0; i < world; i++) {
        rlf_coordinates at = rlf_layout_find(&l, ranks[i]);
        if (at.tp + tp * (at.pp + pp * at.dp) != i)
            return false;
        rlf_range r = rlf_layout_rows(&l, ranks[i], n);
        if (r.last - r.first < n / dp || r.last - r.first > n / dp + 1)
            return false;
        for (int64_t k = r.first; k < r.last; k++)
            held[k]++;
        r = rlf_layout_layers(&l, ranks[i], n);
        for (int64_t k = r.first; k < r.last; k++)
            layers[k]++;
    }
    for (int64_t k = 0; k < n; k++)
        if (held[k] != tp * pp || layers[k] != tp * dp)
            return false;
    rlf_range none = rlf_layout_rows(&l, 0, n);
    return none.first == none.last;
}

static rlf_status
refused(int world, int tp, int pp, int dp, int second)
{
    int ranks[4] = {0, second, 2, 3};
    rlf_layout l = {
        .ranks = ranks, .n_ranks = world, .tp = tp, .pp = pp, .dp = dp};
    rlf_err err = RLF_ERR_NONE;
    return rlf_layout_check(&l, &err);
}

int
main(void)
{
    bool good = true;
    int tried = 0;
    for (int tp = 1; tp <= 4; tp++)
        for (int pp = 1; pp <= 4; pp++)
            for (int dp = 1; dp <= 4; dp++)
                for (int64_t n = 0; n < 20; n++, tried++)
                    good = good && covers(tp, pp, dp, n);
    ok(good, "%d layouts and sizes: each row and layer where it belongs",
       tried);
    is_int(refused(4, 2, 2, 1, 1), RLF_OK, "2 x 2 ranks are a layout");
    is_int(refused(4, 2, 1, 1, 1), RLF_USER, "ranks left over are refused");
    is_int(refused(4, 0, 2, 2, 1), RLF_USER, "tp 0 is refused");
    is_int(refused(4, 2, 2, 1, 3), RLF_USER, "a rank named twice is refused");
    return done();
}
