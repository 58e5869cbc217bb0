/* See traced.h. */
#include "nodes/traced.h"

#include <string.h>

/* Bytes that the operations of a program may take. */
static const size_t MOST = (size_t)2 << 30;

/* Did somebody write it? Constants, inputs, and values that are only brought
 * down to a finer level say nothing that is not said elsewhere. */
static bool
is_written(const rlf_expr_op *o)
{
    return o->span.source && !o->text && o->code != RLF_EXPR_INPUT &&
           o->code != RLF_EXPR_CONST && o->code != RLF_EXPR_DOWN;
}

/* One text may be several operations, of which the last has its value. */
static bool
is_last_of_span(const rlf_expr *expr, const bool *only, size_t i)
{
    rlf_span a = expr->ops.data[i].span;
    for (size_t k = i + 1; k < expr->ops.count; k++) {
        rlf_span b = expr->ops.data[k].span;
        if ((!only || only[k]) && is_written(&expr->ops.data[k]) && a.source == b.source &&
            a.first == b.first && a.last == b.last && a.use == b.use)
            return false;
    }
    return true;
}

bool
rlf_traced_open(const rlf_expr *expr, const rlf_expr_bind *bind,
                rlf_arena *arena, rlf_operations *all)
{
    static const rlf_operations_piece whole = {0};
    return rlf_operations_open(expr, bind, &whole, MOST, arena, all);
}

int
rlf_traced_terms(const rlf_sample_trace *trace, const rlf_traced_row *at,
                 const rlf_operations *all, const bool *only, bool scalars,
                 rlf_buf *fact)
{
    int n = 0;
    uint32_t row;
    rlf_buf_puts(fact, ",\"terms\":[");
    for (size_t i = 0; i < all->expr->ops.count; i++) {
        const rlf_expr_op *o = &all->expr->ops.data[i];
        const rlf_column *values = &all->values[i];
        if (!is_written(o) || (only && !only[i]) || !values->number ||
            !is_last_of_span(all->expr, only, i) || (!scalars && !o->domain) ||
            !rlf_sample_trace_below(trace, at, values->space, &row))
            continue;
        rlf_buf_printf(fact, "%s{\"operation\":%zu", n++ ? ",\n  " : "", i);
        rlf_sample_trace_place(trace->graph, o->span, fact);
        rlf_sample_trace_numbers(trace->graph, values, row, fact);
        rlf_buf_putc(fact, '}');
    }
    rlf_buf_putc(fact, ']');
    return n;
}
