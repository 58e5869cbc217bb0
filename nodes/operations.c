/* See operations.h. */
#include "nodes/operations.h"

#include <stdlib.h>

static const rlf_space *
space_of(const rlf_operations *all, int op)
{
    const rlf_expr_op *o = &all->expr->ops.data[op];
    if (o->code == RLF_EXPR_INPUT)
        return all->bind->inputs[o->index].space;
    return all->bind->spaces ? all->bind->spaces[o->domain] : NULL;
}

/* Room for every operation; false: that is too much. */
static bool
make_columns(rlf_operations *all, size_t most)
{
    size_t bytes = 0;
    for (size_t i = 0; i < all->expr->ops.count; i++) {
        const rlf_expr_op *o = &all->expr->ops.data[i];
        const rlf_space *space = space_of(all, (int)i);
        if (!space || o->text)
            continue;
        if (o->code == RLF_EXPR_INPUT) {
            all->values[i] = all->bind->inputs[o->index];
            continue;
        }
        size_t n = (size_t)space->extent ? (size_t)space->extent : 1;
        bytes += n * sizeof(double);
        if (bytes > most)
            return false;
        all->own[i] = true;
        all->values[i] = (rlf_column){.space = space,
                                    .number =
                                        rlf_try_calloc(n, sizeof(double))};
        if (!all->values[i].number)
            return false;
    }
    return true;
}

/* Scalars of a piece, which is not computed of them: they are the same for all
 * pieces, and made of scalars. */
static void
apply_scalars(const rlf_operations *all)
{
    for (size_t i = 0; i < all->expr->ops.count; i++) {
        const rlf_expr_op *o = &all->expr->ops.data[i];
        double x[3] = {0};
        bool known = all->own[i] && o->domain == 0;
        for (int k = 0; known && k < rlf_expr_arity(o->code); k++) {
            const rlf_column *arg = &all->values[o->arg[k]];
            known = arg->number && arg->space->domain == 0;
            if (known)
                x[k] = arg->number[0];
        }
        if (known && o->code == RLF_EXPR_CONST)
            all->values[i].number[0] = o->constant;
        else if (known && rlf_expr_is_pointwise(o->code))
            all->values[i].number[0] = rlf_expr_apply(o->code, x[0], x[1], x[2]);
    }
}

static bool
run(rlf_operations *all, rlf_arena *arena)
{
    rlf_err ignored = RLF_ERR_NONE;
    const rlf_expr_plan *plan;
    rlf_expr *whole = rlf_expr_copy(all->expr, arena);
    rlf_expr_bind bind = *all->bind;
    rlf_column *outputs = RLF_NEW_ARRAY(arena, rlf_column, all->expr->ops.count);
    whole->outputs.count = 0;
    for (size_t i = 0; i < all->expr->ops.count; i++)
        if (all->own[i])
            outputs[rlf_expr_add_output(whole, "", (int)i)] = all->values[i];
    bind.outputs = outputs;
    rlf_status status = rlf_expr_plan_new(whole, arena, &ignored, &plan);
    if (status >= 0)
        status =
            all->piece->rows
                ? rlf_expr_run_rows(plan, NULL, &bind, all->piece->domain,
                                    all->piece->rows, all->piece->n_rows, &ignored)
                : rlf_expr_run(plan, NULL, &bind, &ignored);
    rlf_err_clear(&ignored);
    if (all->piece->rows)
        apply_scalars(all);
    return status >= 0;
}

bool
rlf_operations_open(const rlf_expr *expr, const rlf_expr_bind *bind,
                    const rlf_operations_piece *piece, size_t most,
                    rlf_arena *arena, rlf_operations *all)
{
    *all = (rlf_operations){.expr = expr, .bind = bind, .piece = piece};
    all->values = RLF_NEW_ARRAY(arena, rlf_column, expr->ops.count);
    all->own = RLF_NEW_ARRAY(arena, bool, expr->ops.count);
    return make_columns(all, most) && run(all, arena);
}

void
rlf_operations_close(rlf_operations *all)
{
    for (size_t i = 0; i < all->expr->ops.count; i++)
        if (all->own[i])
            free(all->values[i].number);
}
