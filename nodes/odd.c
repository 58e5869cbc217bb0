/* Where a value that is not finite comes from: see odd.h. */
#include "nodes/odd.h"

#include <math.h>
#include <stdlib.h>

/* Bytes that looking may take; of larger steps nothing is found. */
enum { MOST = 32 << 20 };

/* ---- columns ---- */

static uint64_t
first_odd(const rlf_column *c, const rlf_odd_piece *piece)
{
    return rlf_column_odd(c, c->space->domain ? piece->rows : NULL,
                          piece->n_rows);
}

/* Are places of the column in the rows of the piece? */
static bool
can_look(const rlf_graph *graph, const rlf_column *c,
         const rlf_odd_piece *piece)
{
    int domain = c->space->domain;
    if (!c->number)
        return false;
    return !piece->rows || domain == piece->domain ||
           (domain && c->space->offset &&
            rlf_domains_get(&graph->domains, domain)->owner == piece->domain);
}

/* ---- a program ---- */

typedef struct looking {
    const rlf_expr *expr;
    const rlf_expr_bind *bind;
    const rlf_odd_piece *piece;
    rlf_column *values; /* per operation; number NULL: not looked at */
} looking;

static const rlf_space *
space_of(const looking *l, int op)
{
    const rlf_expr_op *o = &l->expr->ops.data[op];
    if (o->code == RLF_EXPR_INPUT)
        return l->bind->inputs[o->index].space;
    return l->bind->spaces ? l->bind->spaces[o->domain] : NULL;
}

/* Room for every operation; false: that is too much. */
static bool
make_columns(looking *l)
{
    size_t bytes = 0;
    l->values = rlf_calloc(l->expr->ops.count, sizeof *l->values);
    for (size_t i = 0; i < l->expr->ops.count; i++) {
        const rlf_space *space = space_of(l, (int)i);
        if (!space || l->expr->ops.data[i].text)
            continue;
        size_t n = (size_t)space->extent ? (size_t)space->extent : 1;
        bytes += n * sizeof(double);
        if (bytes > MOST)
            return false;
        l->values[i] = (rlf_column){.space = space,
                                    .number = rlf_calloc(n, sizeof(double))};
    }
    return true;
}

static bool
run(looking *l, rlf_arena *arena)
{
    rlf_err ignored = RLF_ERR_NONE;
    const rlf_expr_plan *plan;
    rlf_expr *all = rlf_expr_copy(l->expr, arena);
    rlf_expr_bind bind = *l->bind;
    rlf_column *outputs = RLF_NEW_ARRAY(arena, rlf_column, l->expr->ops.count);
    all->outputs.count = 0;
    for (size_t i = 0; i < l->expr->ops.count; i++)
        if (l->values[i].number)
            outputs[rlf_expr_add_output(all, "", (int)i)] = l->values[i];
    bind.outputs = outputs;
    rlf_status status = rlf_expr_plan_new(all, arena, &ignored, &plan);
    if (status >= 0)
        status =
            l->piece->rows
                ? rlf_expr_run_rows(plan, NULL, &bind, l->piece->domain,
                                    l->piece->rows, l->piece->n_rows, &ignored)
                : rlf_expr_run(plan, NULL, &bind, &ignored);
    rlf_err_clear(&ignored);
    return status >= 0;
}

/* Is what the operation gives at `at` made of argument `arg`? */
static bool
counts(const looking *l, const rlf_expr_op *op, int arg, uint64_t at)
{
    if (op->code != RLF_EXPR_SELECT || arg == 0 ||
        !l->values[op->arg[0]].number)
        return true;
    return (l->values[op->arg[0]].number[at] != 0) == (arg == 1);
}

/* One step back; false: its arguments are finite. */
static bool
go_back(const looking *l, int *op, uint64_t *at)
{
    const rlf_expr_op *o = &l->expr->ops.data[*op];
    for (int k = 0; k < 3 && o->arg[k] >= 0; k++) {
        const rlf_column *arg = &l->values[o->arg[k]];
        if (!arg->number || !counts(l, o, k, *at))
            continue;
        bool same = arg->space == l->values[*op].space;
        uint64_t there = same ? *at : first_odd(arg, l->piece);
        if (there == UINT64_MAX || isfinite(arg->number[there]))
            continue;
        *op = o->arg[k];
        *at = there;
        return true;
    }
    return false;
}

int
rlf_odd_find(const rlf_expr *expr, const rlf_expr_bind *bind, int op,
             uint64_t at, const rlf_odd_piece *piece)
{
    looking l = {.expr = expr, .bind = bind, .piece = piece};
    rlf_arena *arena = rlf_arena_new();
    int found = -1;
    if (make_columns(&l) && l.values[op].number && run(&l, arena)) {
        if (at == UINT64_MAX)
            at = first_odd(&l.values[op], piece);
        if (at != UINT64_MAX && !isfinite(l.values[op].number[at])) {
            while (go_back(&l, &op, &at))
                continue;
            found = op;
        }
    }
    for (size_t i = 0; i < expr->ops.count; i++)
        free(l.values[i].number);
    free(l.values);
    rlf_arena_free(arena);
    return found;
}

/* ---- nodes ---- */

/* Where an input of an expression node was made. */
static rlf_odd_place
made_before(const rlf_call *call, int input)
{
    return call->env->odd[call->node->inputs[input]];
}

void
rlf_odd_note(const rlf_call *call, const rlf_expr_bind *bind)
{
    const rlf_node *node = call->node;
    const rlf_expr *expr = node->expr;
    const rlf_odd_piece piece = {node->rows, call->rows, call->n_rows};
    if (!call->env->odd)
        return;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_column *c = &bind->outputs[i];
        uint64_t at = UINT64_MAX;
        if (can_look(call->env->graph, c, &piece))
            at = first_odd(c, &piece);
        if (at == UINT64_MAX || rlf_expr_is_nothing(c->number[at]))
            continue;
        int op = rlf_odd_find(expr, bind, expr->outputs.data[i].op, at, &piece);
        if (op < 0)
            continue;
        const rlf_expr_op *o = &expr->ops.data[op];
        call->env->odd[node->outputs[i]] =
            o->code == RLF_EXPR_INPUT ? made_before(call, o->index)
                                      : (rlf_odd_place){o->span, o->code};
    }
}
