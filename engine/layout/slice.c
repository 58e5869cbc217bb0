/* Slices of tensors: see slice.h. */
#include "engine/layout/slice.h"

/* Boxes */

int64_t
rlf_box_count(rlf_box box)
{
    return rlf_range_size(box.rows) * rlf_range_size(box.cols);
}

rlf_box
rlf_box_meet(rlf_box a, rlf_box b)
{
    return (rlf_box){rlf_range_meet(a.rows, b.rows),
                     rlf_range_meet(a.cols, b.cols)};
}

rlf_strided
rlf_box_within(rlf_box whole, rlf_box part)
{
    int64_t stride = rlf_range_size(whole.cols);
    int64_t down = part.rows.first - whole.rows.first;
    return (rlf_strided){.offset =
                             down * stride + part.cols.first - whole.cols.first,
                         .stride = stride,
                         .rows = rlf_range_size(part.rows),
                         .cols = rlf_range_size(part.cols)};
}

/* Checks of sizes */

static rlf_status
check_stages(int pp, int layers, rlf_err *err)
{
    if (pp <= layers)
        return RLF_OK;
    rlf_status status =
        rlf_fail(err, RLF_USER, "pp %d is more than the %d layers of the model",
                 pp, layers);
    rlf_err_hint(err, "pp can be 1 to %d", layers);
    return status;
}

rlf_status
rlf_layout_check_shapes(const rlf_layout *layout, const rlf_shapes *shapes,
                        rlf_err *err)
{
    int tp = layout->tp;
    RLF_TRY(check_stages(layout->pp, shapes->layers, err));
    for (int i = 0; i < shapes->count; i++) {
        const rlf_shape *t = &shapes->list[i];
        int64_t heads = t->rows / t->unit;
        if (t->split == RLF_SPLIT_KV && heads % tp && tp % heads)
            return rlf_fail(err, RLF_USER,
                            "tp %d neither divides the %lld heads of %s nor is "
                            "a multiple of them",
                            tp, (long long)heads, t->name);
    }
    return RLF_OK;
}

/* The tensors of a rank */

static rlf_range
kv_heads(int64_t heads, int tp, int t)
{
    rlf_range r = rlf_range_part(heads, tp, t);
    if (r.last == r.first)
        r.last++;
    return r;
}

/* True: the stage holds a tensor of `layer`. */
static bool
stage_holds(const rlf_layout *l, int stage, int layers, int layer)
{
    bool first = stage == 0, last = stage == rlf_layout_last(l);
    switch (layer) {
    case RLF_LAYER_FIRST:
        return first;
    case RLF_LAYER_LAST:
        return last;
    case RLF_LAYER_ENDS:
        return first || last;
    default:
        return rlf_layout_stage(l, layers, layer) == stage;
    }
}

rlf_box
rlf_layout_box_at(const rlf_layout *layout, const rlf_shapes *shapes,
                  int tensor, rlf_coordinates at)
{
    const rlf_shape *t = &shapes->list[tensor];
    rlf_box box = {{0, t->rows}, {0, t->cols}};
    if (at.tp < 0 || !stage_holds(layout, at.pp, shapes->layers, t->layer))
        return (rlf_box){{0, 0}, {0, 0}};
    if (t->split == RLF_SPLIT_ROWS)
        box.rows = rlf_range_units(t->rows, t->unit, layout->tp, at.tp);
    if (t->split == RLF_SPLIT_COLS)
        box.cols = rlf_range_units(t->cols, t->unit, layout->tp, at.tp);
    if (t->split == RLF_SPLIT_KV) {
        box.rows = kv_heads(t->rows / t->unit, layout->tp, at.tp);
        box.rows.first *= t->unit;
        box.rows.last *= t->unit;
    }
    return box;
}

rlf_box
rlf_layout_box(const rlf_layout *layout, const rlf_shapes *shapes, int tensor,
               int rank)
{
    return rlf_layout_box_at(layout, shapes, tensor,
                             rlf_layout_find(layout, rank));
}
