/* Orders of a layout's digits as text, "dp2 tp4 pp dp", fastest first: a digit
 * without a size has what the others of its axis leave. */
#ifndef RLF_TESTS_UNIT_LAYOUT_ORDER_H
#define RLF_TESTS_UNIT_LAYOUT_ORDER_H

#include "engine/base/vec.h"
#include "engine/layout/layout.h"
#include "tests/tap.h"

static const struct {
    const char name[3];
    rlf_axis axis;
} order_axes[] = {
    {"tp", RLF_AXIS_TP}, {"pp", RLF_AXIS_PP}, {"dp", RLF_AXIS_DP}};

/* Sets the order; rlf_layout_check says whether it fits. */
TAP_FUNCTION void
set_order(rlf_layout *l, const char *text)
{
    l->n_order = 0;
    for (const char *p = text; *p; p += *p == ' ') {
        rlf_digit *d = &l->order[l->n_order++];
        size_t i = 0;
        char *end;
        while (strncmp(p, order_axes[i].name, 2) != 0)
            if (++i == RLF_COUNT(order_axes))
                bail("no order: %s", text);
        d->axis = order_axes[i].axis;
        d->size = (int)strtol(p + 2, &end, 10);
        if (end > p + 2 && d->size == 0)
            d->size = -1;
        p = end;
    }
    for (int i = 0; i < l->n_order; i++) {
        rlf_digit *d = &l->order[i];
        if (d->size)
            continue;
        d->size = d->axis == RLF_AXIS_TP   ? l->tp
                  : d->axis == RLF_AXIS_PP ? l->pp
                                           : l->dp;
        for (int k = 0; k < l->n_order; k++)
            if (k != i && l->order[k].axis == d->axis && l->order[k].size > 0)
                d->size /= l->order[k].size;
        d->size = d->size ? d->size : 1;
    }
}

/* The order that a layout has, with all sizes. */
TAP_FUNCTION const char *
order_text(const rlf_layout *l, char *text, size_t room)
{
    size_t n = 0;
    for (int i = 0; i < l->n_order && n < room; i++)
        for (size_t k = 0; k < RLF_COUNT(order_axes); k++)
            if (order_axes[k].axis == l->order[i].axis)
                n +=
                    (size_t)snprintf(text + n, room - n, "%s%s%d", i ? " " : "",
                                     order_axes[k].name, l->order[i].size);
    return text;
}

#endif
