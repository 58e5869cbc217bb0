/* The operations that cross rows, each over whole columns, rows in order: see
 * expr_plan.h. */
#include "kernels/cpu/expr_frame.h"

#include <stdlib.h>

/* SUM (or, x NULL, COUNT) from tokens to tokens: those of each row are added,
 * one by one, to those of the row above that it belongs to. */
static void
add_tokens(const frame *f, const rlf_expr_cross *c, const double *x, double *y)
{
    int above = f->expr->ops.data[c->op].domain;
    const rlf_space *from = f->space[c->from.domain], *to = f->space[above];
    const rows *r = &f->rows[rlf_domain_rows(f->domains, c->from.domain)];
    memset(y, 0, to->extent * sizeof *y);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t row = row_at(r, i), there = follow(&f->hops[c->hop], row);
        for (uint32_t t = 0; t < from->length[row]; t++)
            y[to->offset[there] + t] += x ? x[from->offset[row] + t] : 1;
    }
}

static void
cross_reduce(const frame *f, const rlf_expr_cross *c)
{
    const rlf_expr_op *op = &f->expr->ops.data[c->op];
    double *y = f->temp[c->temp];
    const double *x = op->code == RLF_EXPR_COUNT
                          ? NULL
                          : (const double *)column_data(f, &c->from);
    if (op->domain &&
        rlf_domains_get(f->domains, op->domain)->kind == RLF_DOMAIN_TOKENS) {
        add_tokens(f, c, x, y);
        return;
    }
    const rows *r = &f->rows[c->from.domain];
    uint32_t n = row_count(f, op->domain);
    bool counts = op->code == RLF_EXPR_COUNT;
    rlf_expr_code code = counts ? RLF_EXPR_SUM : op->code;
    for (uint32_t i = 0; i < n; i++)
        y[i] = fold_start(code);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t row = row_at(r, i), there = follow(&f->hops[c->hop], row);
        y[there] = fold(code, y[there], counts ? 1 : x[row]);
    }
}

/* RANK and the rotations over groups of rows, or of the tokens of rows. */
static void
cross_regroup(const frame *f, const rlf_expr_cross *c)
{
    const rlf_expr_op *op = &f->expr->ops.data[c->op];
    const char *x = column_data(f, &c->from);
    char *y = f->temp[c->temp];
    int rows_domain = rlf_domain_rows(f->domains, op->domain);
    const rlf_space *tokens =
        rows_domain == op->domain ? NULL : f->space[op->domain];
    const rows *r = &f->rows[rows_domain];
    uint32_t n_groups = row_count(f, rlf_domain_rows(f->domains, op->over));
    /* start[g]: where group g begins in the list of places */
    uint64_t *start = rlf_calloc(n_groups + 2, sizeof *start);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t row = row_at(r, i);
        start[follow(&f->hops[c->hop], row) + 2] +=
            tokens ? tokens->length[row] : 1;
    }
    for (uint32_t g = 0; g < n_groups; g++)
        start[g + 2] += start[g + 1];
    uint64_t total = start[n_groups + 1], *place = rlf_malloc(total * 8);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t row = row_at(r, i);
        uint64_t *at = &start[follow(&f->hops[c->hop], row) + 1];
        uint32_t n = tokens ? tokens->length[row] : 1;
        for (uint32_t t = 0; t < n; t++)
            place[(*at)++] = tokens ? tokens->offset[row] + t : row;
    }
    for (uint32_t g = 0; g < n_groups; g++)
        rlf_expr_regroup(op->code, y, x, place + start[g],
                         start[g + 1] - start[g], op->text);
    free(place);
    free(start);
}

void
rlf_expr_cross_run(const frame *f, const rlf_expr_cross *c)
{
    switch (f->expr->ops.data[c->op].code) {
    case RLF_EXPR_RANK:
    case RLF_EXPR_ROTATE:
    case RLF_EXPR_UNROTATE:
        cross_regroup(f, c);
        break;
    default:
        cross_reduce(f, c);
    }
}
