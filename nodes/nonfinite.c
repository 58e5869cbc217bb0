/* The origin of a value that is not finite: see nonfinite.h. */
#include "nodes/nonfinite.h"

#include <math.h>
#include <stdlib.h>

/* Bytes that looking may take; of larger steps nothing is found. */
enum { MOST = 32 << 20 };

/* ---- places of columns ---- */

/* An index of a column: a row, and of a column on tokens which of its own. */
typedef struct place {
    uint32_t row, token;
} place;

static place
place_of(const rlf_space *s, uint64_t at)
{
    place p = {(uint32_t)at, 0};
    for (uint32_t row = 0; s->offset && row < s->count; row++)
        if (at >= s->offset[row] && at - s->offset[row] < s->length[row])
            return (place){row, (uint32_t)(at - s->offset[row])};
    return p;
}

static uint32_t
values_in(const rlf_space *s, uint32_t row)
{
    return s->offset ? s->length[row] : 1;
}

static uint64_t
index_of(const rlf_space *s, place p)
{
    return s->offset ? s->offset[p.row] + p.token : p.row;
}

/* The row of domain `to` above that row, or the row below that is above it:
 * do the two rows belong together? */
static bool
belongs(const rlf_domains *domains, const rlf_space *a, uint32_t row,
        const rlf_space *b, uint32_t other)
{
    int up = rlf_domain_rows(domains, b->domain);
    int own = rlf_domain_rows(domains, a->domain);
    if (own == up)
        return row == other;
    if (rlf_domain_reaches(domains, up, own))
        return rlf_space_row(domains, a, row, up) == other;
    return rlf_domain_reaches(domains, own, up) &&
           rlf_space_row(domains, b, other, own) == row;
}

/* ---- a program ---- */

typedef struct looking {
    const rlf_expr *expr;
    const rlf_expr_bind *bind;
    const rlf_operations_piece *piece;
    rlf_operations all;
    const rlf_column *values; /* those of `all`: per operation */
} looking;

/* ---- from an operation to its arguments ---- */

typedef struct found {
    int op;
    place at;
} found;

static double
value_at(const looking *l, int op, place p)
{
    const rlf_column *c = &l->values[op];
    return c->number[index_of(c->space, p)];
}

/* Is the argument's value there one of those that operation `f->op` computes
 * its value at f->at of? Not of scans. */
static bool
is_read(const looking *l, const found *f, int arg, place p)
{
    const rlf_domains *domains = l->expr->domains;
    const rlf_expr_op *o = &l->expr->ops.data[f->op];
    const rlf_space *to = l->values[f->op].space, *from = l->values[arg].space;
    if (o->code == RLF_EXPR_RANK || o->code == RLF_EXPR_ROTATE ||
        o->code == RLF_EXPR_UNROTATE)
        return rlf_space_row(domains, from, p.row, o->over) ==
               rlf_space_row(domains, to, f->at.row, o->over);
    if (to->offset && from->offset && p.token != f->at.token)
        return false;
    return belongs(domains, from, p.row, to, f->at.row);
}

/* The first value of the argument that is not finite and is read; of a NaN
 * rather the first NaN. */
static bool
find_read(const looking *l, const found *f, int arg, bool nan, place *out)
{
    const rlf_space *s = l->values[arg].space;
    for (uint32_t row = 0; row < s->count; row++)
        for (uint32_t t = 0; t < values_in(s, row); t++) {
            double x = value_at(l, arg, (place){row, t});
            *out = (place){row, t};
            if ((nan ? isnan(x) : !isfinite(x)) && is_read(l, f, arg, *out))
                return true;
        }
    return false;
}

/* Is what the operation gives there made of argument k? */
static bool
counts(const looking *l, const found *f, int k)
{
    const rlf_expr_op *o = &l->expr->ops.data[f->op];
    if ((o->code != RLF_EXPR_SELECT && o->code != RLF_EXPR_PICK) ||
        !l->values[o->arg[0]].number)
        return true;
    if (k == 0)
        return o->code == RLF_EXPR_SELECT;
    return (value_at(l, o->arg[0], f->at) != 0) == (k == 1);
}

/* The argument `arg` of a scan at that token of f's row. */
static bool
look_along(const looking *l, const found *f, int arg, int64_t token, found *out)
{
    place p = {f->at.row, (uint32_t)token};
    if (arg < 0 || !l->values[arg].number || token < 0 ||
        token >= values_in(l->values[arg].space, p.row))
        return false;
    *out = (found){arg, p};
    return !isfinite(value_at(l, arg, p));
}

/* A scan, from token to token as long as what it carries on is not finite. */
static bool
go_along(const looking *l, found *f, int by)
{
    const rlf_expr_op *o = &l->expr->ops.data[f->op];
    uint32_t n = values_in(l->values[f->op].space, f->at.row);
    found next;
    for (int64_t t = f->at.token; t >= 0 && t < n; t += by) {
        if (!isfinite(value_at(l, f->op, (place){f->at.row, (uint32_t)t})) &&
            (look_along(l, f, o->arg[0], t, &next) ||
             look_along(l, f, o->arg[1], t, &next))) {
            *f = next;
            return true;
        }
    }
    return false;
}

/* NEXT or PREV: of another token, or past the end of argument 1. */
static bool
go_beside(const looking *l, found *f, int by)
{
    const rlf_expr_op *o = &l->expr->ops.data[f->op];
    int64_t n = values_in(l->values[f->op].space, f->at.row);
    int64_t t = (int64_t)f->at.token + by;
    bool ends = t < 0 || t >= n;
    found next;
    if (!look_along(l, f, o->arg[ends], ends ? f->at.token : t, &next))
        return false;
    *f = next;
    return true;
}

/* One step back; false: its arguments are finite. */
static bool
go_back(const looking *l, found *f)
{
    const rlf_expr_op *o = &l->expr->ops.data[f->op];
    switch (o->code) {
    case RLF_EXPR_INPUT:
    case RLF_EXPR_CONST:
        return false;
    case RLF_EXPR_DISCOUNT:
        return go_along(l, f, 1);
    case RLF_EXPR_COMPOUND:
    case RLF_EXPR_CUMSUM:
        return go_along(l, f, -1);
    case RLF_EXPR_NEXT:
        return go_beside(l, f, 1);
    case RLF_EXPR_PREV:
        return go_beside(l, f, -1);
    default:
        break;
    }
    bool nan = isnan(value_at(l, f->op, f->at));
    for (int pass = nan ? 0 : 1; pass < 2; pass++)
        for (int k = 0; k < rlf_expr_arity(o->code); k++) {
            place p;
            if (!l->values[o->arg[k]].number || !counts(l, f, k) ||
                !find_read(l, f, o->arg[k], pass == 0, &p))
                continue;
            *f = (found){o->arg[k], p};
            return true;
        }
    return false;
}

/* ---- what is found ---- */

/* The first value of a row that is not finite. */
static bool
find_in_row(const rlf_column *c, uint32_t row, found *f)
{
    for (uint32_t t = 0; t < values_in(c->space, row); t++) {
        f->at = (place){row, t};
        if (!isfinite(c->number[index_of(c->space, f->at)]))
            return true;
    }
    return false;
}

/* The row of the column that row i of the piece is, or is below; its columns
 * are on its rows, or above them. */
static bool
row_of_piece(const looking *l, const rlf_space *s, uint32_t i, uint32_t *row)
{
    const rlf_domains *domains = l->expr->domains;
    const rlf_operations_piece *piece = l->piece;
    int own = rlf_domain_rows(domains, s->domain);
    *row = piece->rows[i];
    if (own == piece->domain)
        return true;
    const rlf_space *rows =
        l->bind->spaces ? l->bind->spaces[piece->domain] : NULL;
    if (!rows || !rlf_domain_reaches(domains, own,
                                     rlf_domain_rows(domains, rows->domain)))
        return false;
    *row = rlf_space_row(domains, rows, piece->rows[i], own);
    return true;
}

/* The first place of an operation's column that is not finite, in the rows of
 * the piece or above them. It is looked for after each call, so in time that
 * grows with the piece alone. */
static bool
find_nonfinite(const looking *l, const rlf_column *c, found *f)
{
    const rlf_operations_piece *piece = l->piece;
    uint32_t n = piece->rows ? piece->n_rows : c->space->count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = i;
        if ((!piece->rows || row_of_piece(l, c->space, i, &row)) &&
            find_in_row(c, row, f))
            return true;
    }
    return false;
}

/* The arguments that an operation computed its value of, if it is one each. */
static bool
look_at_args(const looking *l, const found *f, double arg[3])
{
    const rlf_expr_op *o = &l->expr->ops.data[f->op];
    if (!rlf_expr_is_pointwise(o->code))
        return false;
    for (int k = 0; k < rlf_expr_arity(o->code); k++) {
        if (!l->values[o->arg[k]].number)
            return false;
        arg[k] = value_at(l, o->arg[k], f->at);
    }
    return true;
}

/* Back to the operation that made the first value which is not finite, and what
 * is to be said of it. */
static rlf_nonfinite_place
follow(const looking *l, found *f)
{
    rlf_nonfinite_place p = {0};
    found was = *f;
    while (go_back(l, f)) {
        if (isnan(value_at(l, was.op, was.at)) &&
            !isnan(value_at(l, f->op, f->at))) {
            p.nan.made = true;
            p.nan.code = l->expr->ops.data[was.op].code;
            p.nan.known = look_at_args(l, &was, p.nan.arg);
        }
        was = *f;
    }
    p.span = l->expr->ops.data[f->op].span;
    p.code = l->expr->ops.data[f->op].code;
    p.value = value_at(l, f->op, f->at);
    p.known = look_at_args(l, f, p.arg);
    return p;
}

/* The place in what was made before this node; what this node made of it
 * stays. */
static rlf_nonfinite_place
made_before(const rlf_nonfinite_place *here, const rlf_nonfinite_place *before)
{
    rlf_nonfinite_place p = *before;
    if (here->nan.made)
        p.nan = here->nan;
    return p;
}

/* All operations computed once more, in `arena` and until close_looking. */
static bool
open_looking(looking *l, rlf_arena *arena)
{
    bool open = rlf_operations_open(l->expr, l->bind, l->piece, MOST, arena,
                                    &l->all);
    l->values = l->all.values;
    return open;
}

static void
close_looking(looking *l)
{
    rlf_operations_close(&l->all);
}

int
rlf_nonfinite_find(const rlf_expr *expr, const rlf_expr_bind *bind, int op,
                   uint64_t at, const rlf_operations_piece *piece,
                   rlf_nonfinite_place *out)
{
    rlf_arena *arena = rlf_arena_new();
    looking l = {.expr = expr, .bind = bind, .piece = piece};
    found f = {.op = op};
    bool odd = open_looking(&l, arena) && l.values[op].number;
    if (odd && at == UINT64_MAX)
        odd = find_nonfinite(&l, &l.values[op], &f);
    else if (odd)
        f.at = place_of(l.values[op].space, at);
    odd = odd && !isfinite(value_at(&l, f.op, f.at));
    if (odd)
        *out = follow(&l, &f);
    close_looking(&l);
    rlf_arena_free(arena);
    return odd ? f.op : -1;
}

/* ---- of one row ---- */

/* The place of the operation that belongs to place p of a space of the same
 * rows: of several tokens the first that is not finite. false: of other rows,
 * or of more than these. */
static bool
find_own(const looking *l, int op, const rlf_space *space, place p, found *f)
{
    const rlf_domains *domains = l->expr->domains;
    const rlf_column *c = &l->values[op];
    if (!c->number || !c->space->domain ||
        rlf_domain_rows(domains, c->space->domain) !=
            rlf_domain_rows(domains, space->domain))
        return false;
    *f = (found){op, {p.row, 0}};
    if (c->space->offset && space->offset)
        f->at = p;
    else if (!find_in_row(c, p.row, f))
        f->at.token = 0;
    return true;
}

/* From `op` down to what is of place p alone, for what is above may still lack
 * other rows; there, whether it is not finite. `seen`: per operation. */
static bool
find_below(const looking *l, int op, const rlf_space *space, place p,
           bool *seen, found *f)
{
    const rlf_expr_op *o = &l->expr->ops.data[op];
    if (seen[op])
        return false;
    seen[op] = true;
    if (find_own(l, op, space, p, f))
        return f->at.token < values_in(l->values[op].space, p.row) &&
               !isfinite(value_at(l, op, f->at));
    const found above = {.op = op};
    for (int k = 0; k < rlf_expr_arity(o->code); k++)
        if ((o->domain || counts(l, &above, k)) &&
            find_below(l, o->arg[k], space, p, seen, f))
            return true;
    return false;
}

int
rlf_nonfinite_find_below(const rlf_expr *expr, const rlf_expr_bind *bind,
                         int op, const rlf_space *space, uint64_t at,
                         double *value, rlf_nonfinite_place *out)
{
    rlf_arena *arena = rlf_arena_new();
    const rlf_operations_piece all = {0};
    looking l = {.expr = expr, .bind = bind, .piece = &all};
    found f = {.op = op};
    bool *seen = RLF_NEW_ARRAY(arena, bool, expr->ops.count);
    bool odd = open_looking(&l, arena) &&
               find_below(&l, op, space, place_of(space, at), seen, &f);
    if (odd)
        *value = value_at(&l, f.op, f.at);
    if (odd)
        *out = follow(&l, &f);
    close_looking(&l);
    rlf_arena_free(arena);
    return odd ? f.op : -1;
}

/* ---- nodes ---- */

void
rlf_nonfinite_note(const rlf_call *call, const rlf_expr_bind *bind)
{
    const rlf_node *node = call->node;
    const rlf_expr *expr = node->expr;
    const rlf_operations_piece piece = {node->rows, call->rows, call->n_rows};
    const looking l = {.expr = expr, .bind = bind, .piece = &piece};
    if (!call->env->nonfinite)
        return;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_column *c = &bind->outputs[i];
        found f;
        if (!c->number || !find_nonfinite(&l, c, &f))
            continue;
        uint64_t at = index_of(c->space, f.at);
        if (rlf_expr_is_nothing(c->number[at]))
            continue;
        rlf_nonfinite_place made;
        int op = rlf_nonfinite_find(expr, bind, expr->outputs.data[i].op, at,
                                    &piece, &made);
        if (op < 0)
            continue;
        if (made.code == RLF_EXPR_INPUT) /* made before this node */
            made = made_before(
                &made,
                &call->env->nonfinite[node->inputs[expr->ops.data[op].index]]);
        call->env->nonfinite[node->outputs[i]] = made;
    }
}

void
rlf_nonfinite_place_choice(const rlf_call *call, const rlf_expr_bind *bind,
                           rlf_err *err)
{
    const rlf_node *node = call->node;
    const rlf_expr *expr = node->expr;
    const rlf_operations_piece piece = {node->rows, call->rows, call->n_rows};
    for (size_t i = 0; i < expr->ops.count; i++) {
        const rlf_expr_op *o = &expr->ops.data[i];
        rlf_nonfinite_place made;
        if (o->code != RLF_EXPR_SELECT || !o->text)
            continue;
        int op = rlf_nonfinite_find(expr, bind, o->arg[0], UINT64_MAX, &piece,
                                    &made);
        if (op < 0 || !isnan(made.value))
            continue;
        if (made.code == RLF_EXPR_INPUT && call->env->nonfinite)
            made = made_before(
                &made,
                &call->env->nonfinite[node->inputs[expr->ops.data[op].index]]);
        if (err && made.span.source) {
            err->span = (rlf_span){0};
            rlf_nonfinite_blame(&made, node->class->name, err);
        }
        return;
    }
}
