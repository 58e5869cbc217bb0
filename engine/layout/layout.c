/* Meshes and layouts: see layout.h. */
#include "engine/layout/layout.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Ranges */

rlf_range
rlf_range_meet(rlf_range a, rlf_range b)
{
    int64_t first = a.first > b.first ? a.first : b.first;
    int64_t last = a.last < b.last ? a.last : b.last;
    return (rlf_range){first, last > first ? last : first};
}

rlf_range
rlf_range_part(int64_t n, int count, int index)
{
    return (rlf_range){n * index / count, n * (index + 1) / count};
}

rlf_range
rlf_range_units(int64_t n, int64_t unit, int count, int index)
{
    rlf_range r = rlf_range_part((n + unit - 1) / unit, count, index);
    r.first = r.first * unit < n ? r.first * unit : n;
    r.last = r.last * unit < n ? r.last * unit : n;
    return r;
}

int
rlf_range_owner(int64_t n, int count, int64_t i)
{
    /* The largest k with floor(n k / count) <= i, that is n k < count (i + 1)
     */
    return (int)((count * (i + 1) - 1) / n);
}

/* Places and coordinates */

static const rlf_axis all_axes[] = {RLF_AXIS_TP, RLF_AXIS_PP, RLF_AXIS_DP};

static int
size_of(const rlf_layout *layout, rlf_axis axis)
{
    return axis == RLF_AXIS_TP   ? layout->tp
           : axis == RLF_AXIS_PP ? layout->pp
                                 : layout->dp;
}

static const char *
name_of(rlf_axis axis)
{
    return axis == RLF_AXIS_TP ? "tp" : axis == RLF_AXIS_PP ? "pp" : "dp";
}

static int *
coordinate(rlf_coordinates *at, rlf_axis axis)
{
    return axis == RLF_AXIS_TP   ? &at->tp
           : axis == RLF_AXIS_PP ? &at->pp
                                 : &at->dp;
}

static int
digit_count(const rlf_layout *layout)
{
    return layout->n_order ? layout->n_order : 3;
}

static rlf_digit
digit(const rlf_layout *layout, int i)
{
    if (layout->n_order)
        return layout->order[i];
    return (rlf_digit){all_axes[i], size_of(layout, all_axes[i])};
}

rlf_coordinates
rlf_layout_at(const rlf_layout *layout, int place)
{
    rlf_coordinates at = {0, 0, 0}, weight = {1, 1, 1};
    for (int i = 0; i < digit_count(layout); i++) {
        rlf_digit d = digit(layout, i);
        int *w = coordinate(&weight, d.axis);
        *coordinate(&at, d.axis) += place % d.size * *w;
        *w *= d.size;
        place /= d.size;
    }
    return at;
}

int
rlf_layout_place(const rlf_layout *layout, rlf_coordinates at)
{
    int place = 0, weight = 1;
    for (int i = 0; i < digit_count(layout); i++) {
        rlf_digit d = digit(layout, i);
        int *left = coordinate(&at, d.axis);
        place += *left % d.size * weight;
        *left /= d.size;
        weight *= d.size;
    }
    return place;
}

/* Ranks that follow each other are found at once. */
rlf_coordinates
rlf_layout_find(const rlf_layout *layout, int rank)
{
    int64_t near = layout->n_ranks ? (int64_t)rank - layout->ranks[0] : -1;
    if (near >= 0 && near < layout->n_ranks && layout->ranks[near] == rank)
        return rlf_layout_at(layout, (int)near);
    for (int i = 0; i < layout->n_ranks; i++)
        if (layout->ranks[i] == rank)
            return rlf_layout_at(layout, i);
    return (rlf_coordinates){-1, -1, -1};
}

int
rlf_layout_group(const rlf_layout *layout, int rank, int axes, int *out)
{
    rlf_coordinates me = rlf_layout_find(layout, rank), from = me, to = me;
    if (me.tp < 0)
        return 0;
    for (int i = 0; i < 3; i++)
        if (axes & (int)all_axes[i]) {
            *coordinate(&from, all_axes[i]) = 0;
            *coordinate(&to, all_axes[i]) = size_of(layout, all_axes[i]) - 1;
        }
    int n = 0, stage = layout->tp, replica = layout->tp * layout->pp;
    for (int d = from.dp; d <= to.dp; d++)
        for (int p = from.pp; p <= to.pp; p++)
            for (int t = from.tp; t <= to.tp; t++) {
                const rlf_coordinates at = {t, p, d};
                int place = layout->n_order ? rlf_layout_place(layout, at)
                                            : d * replica + p * stage + t;
                out[n++] = layout->ranks[place];
            }
    return n;
}

/* Checks */

static rlf_status
check_order(const rlf_layout *layout, rlf_err *err)
{
    rlf_coordinates made = {1, 1, 1};
    if (!layout->n_order)
        return RLF_OK;
    for (int i = 0; i < layout->n_order; i++) {
        rlf_digit d = layout->order[i];
        int *size = coordinate(&made, d.axis);
        if (d.size < 1 || d.size > size_of(layout, d.axis))
            return rlf_fail(err, RLF_USER,
                            "the order has a digit of %s of size %d, but %s "
                            "is %d",
                            name_of(d.axis), d.size, name_of(d.axis),
                            size_of(layout, d.axis));
        *size = *size > layout->n_ranks ? *size : *size * d.size;
    }
    for (int i = 0; i < 3; i++) {
        rlf_axis axis = all_axes[i];
        if (*coordinate(&made, axis) != size_of(layout, axis))
            return rlf_fail(err, RLF_USER,
                            "the order's digits of %s make %d, but %s is %d",
                            name_of(axis), *coordinate(&made, axis),
                            name_of(axis), size_of(layout, axis));
    }
    return RLF_OK;
}

/* The numbers do not multiply to the number of ranks: say what would. */
static rlf_status
wrong_count(const rlf_layout *l, rlf_err *err)
{
    int64_t made = (int64_t)l->tp * l->pp * l->dp, model = made / l->dp;
    rlf_status status =
        rlf_fail(err, RLF_USER,
                 "tp %d x pp %d x dp %d makes %lld ranks, but there are %d",
                 l->tp, l->pp, l->dp, (long long)made, l->n_ranks);
    if (l->n_ranks % model == 0 && l->n_ranks >= model)
        rlf_err_hint(err, "take dp %d, or %lld ranks",
                     (int)(l->n_ranks / model), (long long)made);
    else
        rlf_err_hint(err,
                     "tp x pp = %lld does not divide %d; use a tp and a pp "
                     "whose product does, or %lld ranks",
                     (long long)model, l->n_ranks, (long long)made);
    return status;
}

rlf_status
rlf_layout_check(const rlf_layout *layout, rlf_err *err)
{
    for (int i = 0; i < 3; i++)
        if (size_of(layout, all_axes[i]) < 1)
            return rlf_fail(err, RLF_USER, "%s is %d; it must be at least 1",
                            name_of(all_axes[i]), size_of(layout, all_axes[i]));
    if ((int64_t)layout->tp * layout->pp * layout->dp != layout->n_ranks)
        return wrong_count(layout, err);
    int most = -1; /* so far: a rank above it is a new one */
    for (int i = 0; i < layout->n_ranks; i++) {
        if (layout->ranks[i] < 0)
            return rlf_fail(err, RLF_USER, "rank %d is negative",
                            layout->ranks[i]);
        for (int k = 0; k < i && layout->ranks[i] <= most; k++)
            if (layout->ranks[k] == layout->ranks[i])
                return rlf_fail(err, RLF_USER, "rank %d is named twice",
                                layout->ranks[i]);
        most = layout->ranks[i] > most ? layout->ranks[i] : most;
    }
    return check_order(layout, err);
}

/* Other layouts on the same mesh */

/* Give the lowest `*left` values of a digit to dp, the rest to its own axis. */
static bool
split_digit(rlf_digit d, int *left, rlf_layout *out)
{
    int low = *left % d.size == 0 ? d.size : *left;
    if (d.size % low)
        return false;
    rlf_digit parts[] = {{RLF_AXIS_DP, low}, {d.axis, d.size / low}};
    for (int i = 0; i < 2; i++)
        if (parts[i].size > 1) {
            if (out->n_order == RLF_LAYOUT_DIGITS)
                return false;
            out->order[out->n_order++] = parts[i];
        }
    *left /= low;
    return true;
}

rlf_status
rlf_layout_regroup(const rlf_layout *train, int tp, int pp, rlf_err *err,
                   rlf_layout *out)
{
    if (tp < 1 || train->tp % tp)
        return rlf_fail(err, RLF_USER,
                        "tp %d does not divide the tp %d of training", tp,
                        train->tp);
    if (pp < 1 || train->pp % pp)
        return rlf_fail(err, RLF_USER,
                        "pp %d does not divide the pp %d of training", pp,
                        train->pp);
    int left_tp = train->tp / tp, left_pp = train->pp / pp, one = 1;
    *out = (rlf_layout){.ranks = train->ranks,
                        .n_ranks = train->n_ranks,
                        .tp = tp,
                        .pp = pp,
                        .dp = train->dp * left_tp * left_pp,
                        .chunks = left_pp == 1 ? train->chunks : 0,
                        .vee = left_pp == 1 && train->vee};
    for (int i = 0; i < digit_count(train); i++) {
        rlf_digit d = digit(train, i);
        int *left = d.axis == RLF_AXIS_TP   ? &left_tp
                    : d.axis == RLF_AXIS_PP ? &left_pp
                                            : &one;
        if (!split_digit(d, left, out))
            return rlf_fail(err, RLF_USER,
                            "tp %d x pp %d cannot be cut out of the digits of "
                            "training's order",
                            tp, pp);
    }
    if (!out->n_order) /* a mesh of one rank */
        out->order[out->n_order++] = (rlf_digit){RLF_AXIS_DP, 1};
    return RLF_OK;
}

/* The rows and layers of a rank */

rlf_range
rlf_layout_rows(const rlf_layout *layout, int rank, int64_t n)
{
    rlf_coordinates at = rlf_layout_find(layout, rank);
    return at.dp < 0 ? (rlf_range){0, 0} : rlf_range_part(n, layout->dp, at.dp);
}

/* The number of parts of the layers. */
static int
part_count(const rlf_layout *layout)
{
    return layout->pp * (layout->chunks ? layout->chunks : 1);
}

bool
rlf_layout_shares_ranks(const rlf_layout *a, const rlf_layout *b)
{
    for (int i = 0; i < a->n_ranks; i++)
        if (rlf_layout_find(b, a->ranks[i]).tp >= 0)
            return true;
    return false;
}

bool
rlf_layout_same_cut(const rlf_layout *a, const rlf_layout *b)
{
    return a->tp == b->tp && a->pp == b->pp && part_count(a) == part_count(b) &&
           a->vee == b->vee;
}

int
rlf_layout_stage(const rlf_layout *layout, int64_t n, int64_t i)
{
    return rlf_part_stage(layout->pp, layout->vee,
                          rlf_range_owner(n, part_count(layout), i));
}
