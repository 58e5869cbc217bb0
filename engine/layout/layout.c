/* Meshes and layouts: see layout.h. */
#include "engine/layout/layout.h"

rlf_status
rlf_layout_check(const rlf_layout *layout, rlf_err *err)
{
    if (layout->tp < 1 || layout->pp < 1 || layout->dp < 1)
        return rlf_fail(err, RLF_USER, "tp, pp and dp must be at least 1");
    if (layout->tp * layout->pp * layout->dp != layout->n_ranks)
        return rlf_fail(err, RLF_USER,
                        "tp %d x pp %d x dp %d makes %d ranks, but there are "
                        "%d",
                        layout->tp, layout->pp, layout->dp,
                        layout->tp * layout->pp * layout->dp, layout->n_ranks);
    for (int i = 0; i < layout->n_ranks; i++) {
        if (layout->ranks[i] < 0)
            return rlf_fail(err, RLF_USER, "rank %d is negative",
                            layout->ranks[i]);
        for (int k = 0; k < i; k++)
            if (layout->ranks[k] == layout->ranks[i])
                return rlf_fail(err, RLF_USER, "rank %d is named twice",
                                layout->ranks[i]);
    }
    return RLF_OK;
}

rlf_coordinates
rlf_layout_find(const rlf_layout *layout, int rank)
{
    for (int i = 0; i < layout->n_ranks; i++)
        if (layout->ranks[i] == rank)
            return (rlf_coordinates){.tp = i % layout->tp,
                                     .pp = i / layout->tp % layout->pp,
                                     .dp = i / (layout->tp * layout->pp)};
    return (rlf_coordinates){-1, -1, -1};
}

rlf_range
rlf_range_part(int64_t n, int count, int index)
{
    int64_t each = n / count, more = n % count;
    int64_t first = each * index + (index < more ? index : more);
    return (rlf_range){first, first + each + (index < more)};
}

rlf_range
rlf_layout_rows(const rlf_layout *layout, int rank, int64_t n)
{
    rlf_coordinates at = rlf_layout_find(layout, rank);
    return at.dp < 0 ? (rlf_range){0, 0} : rlf_range_part(n, layout->dp, at.dp);
}

rlf_range
rlf_layout_layers(const rlf_layout *layout, int rank, int64_t n)
{
    rlf_coordinates at = rlf_layout_find(layout, rank);
    return at.pp < 0 ? (rlf_range){0, 0} : rlf_range_part(n, layout->pp, at.pp);
}

rlf_range
rlf_layout_slice(const rlf_layout *layout, int rank, int64_t n)
{
    rlf_coordinates at = rlf_layout_find(layout, rank);
    return at.tp < 0 ? (rlf_range){0, 0} : rlf_range_part(n, layout->tp, at.tp);
}
