/* Running planned expression programs on the host: see kernels/expr.h for what
 * and expr_plan.h for how. One thread: a program costs far less than the model
 * calls around it. */
#include "kernels/expr_plan.h"

#include "engine/base/philox.h"
#include "engine/base/hash.h"
#include "kernels/cpu/expr_loops.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 }; /* maps from a row to one above it */

/* A row's way up: through each map in turn. */
typedef struct hop {
    bool to_scalar; /* every row's is 0 */
    int n;
    const uint32_t *index[DEEPEST];
} hop;

/* The rows of a rows domain that a run is about. */
typedef struct rows {
    bool none;                  /* not part of this run */
    uint32_t n;                 /* of list, or all rows of the space */
    const uint32_t *list;       /* NULL: all */
    const rlf_expr_part *parts; /* the same with token ranges, or NULL */
} rows;

struct rlf_expr_frame {
    const rlf_expr_plan *plan;
    const rlf_expr *expr;
    const rlf_domains *domains;
    const rlf_expr_bind *bind;
    rlf_queue *queue;
    rlf_arena *arena;
    rlf_expr_loop *const *loops;
    const rlf_space **space; /* by domain */
    void **temp;
    hop *hops;
    rows *rows; /* by domain */
    uint64_t seed;
    bool scalars; /* outputs on the scalar domain are wanted */
    /* of the stage that runs */
    const rlf_expr_stage *stage;
    char **base;    /* per register: its place in memory, */
    size_t *stride; /* and bytes from one token to the next */
    size_t room;    /* of base and stride */
    char *scratch;
    size_t scratch_size;
    const uint32_t *row; /* the rows that ROWS steps work on */
    uint32_t n_rows;
    uint32_t first, count; /* tokens of row[0] that BLOCKS steps work on */
    bool starts;           /* this is the row's first block */
};

typedef rlf_expr_frame frame;

/* ---- columns ---- */

static size_t
element(bool text)
{
    return text ? sizeof(rlf_str) : sizeof(double);
}

/* The data of a column, or NULL for an output that is not wanted. */
static char *
column_data(const frame *f, const rlf_expr_store *store)
{
    if (store->kind == RLF_STORE_TEMP)
        return f->temp[store->index];
    const rlf_column *c = store->kind == RLF_STORE_INPUT
                              ? &f->bind->inputs[store->index]
                              : &f->bind->outputs[store->index];
    return c->text ? (char *)c->text : (char *)c->number;
}

static uint32_t
follow(const hop *h, uint32_t row)
{
    for (int i = 0; i < h->n; i++)
        row = h->index[i][row];
    return h->to_scalar ? 0 : row;
}

static uint32_t
row_count(const frame *f, int domain)
{
    return domain == 0 ? 1 : f->space[domain]->count;
}

static uint32_t
length_of(const frame *f, int tokens, uint32_t row)
{
    return f->space[tokens]->length[row];
}

static uint64_t
identity_of(const frame *f, int domain, uint32_t row)
{
    const rlf_space *s = domain ? f->space[domain] : NULL;
    return s && s->identity ? s->identity[row] : 0;
}

static const char *
name_of(const frame *f, int domain)
{
    return rlf_domains_get(f->domains, domain)->name;
}

static rlf_status
fail_empty(const frame *f, int op, uint32_t row, rlf_err *err)
{
    const rlf_expr_op *o = &f->expr->ops.data[op];
    const char *word = o->code == RLF_EXPR_LEAST ? "min" : "max";
    const char *below = name_of(f, f->expr->ops.data[o->arg[0]].domain);
    rlf_status status;
    if (o->domain == 0)
        status = rlf_fail(err, RLF_USER, "%s of nothing: there are no %s", word,
                          below);
    else
        status = rlf_fail(err, RLF_USER,
                          "%s of nothing: row %llu of %s has no %s", word,
                          (unsigned long long)identity_of(
                              f, rlf_domain_rows(f->domains, o->domain), row),
                          name_of(f, o->domain), below);
    rlf_err_hint(err, "leave such rows out with where()");
    rlf_err_place(err, o->span, NULL);
    return status;
}

/* ---- steps ---- */

static double *
numbers(const frame *f, int reg)
{
    return (double *)(f->base[reg] + f->first * f->stride[reg]);
}

static rlf_str *
texts(const frame *f, int reg)
{
    return (rlf_str *)(f->base[reg] + f->first * f->stride[reg]);
}

static void
copy_elements(char *to, const char *from, size_t n, bool text)
{
    memcpy(to, from, n * element(text));
}

static void
step_load(const frame *f, const rlf_expr_step *s)
{
    const char *data = column_data(f, &s->store);
    const hop *h = &f->hops[s->hop];
    bool text = f->stage->registers.data[s->y].text;
    size_t size = element(text);
    for (uint32_t i = 0; i < f->n_rows; i++)
        memcpy(f->base[s->y] + i * size, data + follow(h, f->row[i]) * size,
               size);
}

static void
step_store(const frame *f, const rlf_expr_step *s)
{
    char *data = column_data(f, &s->store);
    if (!data || (s->store.kind == RLF_STORE_OUTPUT && s->store.domain == 0 &&
                  !f->scalars))
        return;
    const rlf_expr_register *r = &f->stage->registers.data[s->arg[0]];
    size_t size = element(r->text);
    if (s->tokens >= 0) {
        uint64_t at = f->space[s->tokens]->offset[f->row[0]] + f->first;
        copy_elements(data + at * size, (const char *)numbers(f, s->arg[0]),
                      f->count, r->text);
        return;
    }
    for (uint32_t i = 0; i < f->n_rows; i++)
        memcpy(data + f->row[i] * size, f->base[s->arg[0]] + i * size, size);
}

static void
step_constant(const frame *f, const rlf_expr_step *s)
{
    double x = f->expr->ops.data[s->op].constant;
    uint32_t n = s->tokens < 0 ? f->n_rows : f->count;
    double *y = s->tokens < 0 ? (double *)f->base[s->y] : numbers(f, s->y);
    for (uint32_t i = 0; i < n; i++)
        y[i] = x;
}

static void
step_spread(const frame *f, const rlf_expr_step *s)
{
    if (f->stage->registers.data[s->y].text) {
        rlf_str x = *(const rlf_str *)f->base[s->arg[0]];
        rlf_str *y = texts(f, s->y);
        for (uint32_t i = 0; i < f->count; i++)
            y[i] = x;
        return;
    }
    double x = *(const double *)f->base[s->arg[0]], *y = numbers(f, s->y);
    for (uint32_t i = 0; i < f->count; i++)
        y[i] = x;
}

/* Address of an argument of a step that works on tokens or on rows. */
static char *
argument(const frame *f, const rlf_expr_step *s, int k)
{
    int reg = s->arg[k] < 0 ? s->arg[0] : s->arg[k];
    return s->tokens < 0 ? f->base[reg] : (char *)numbers(f, reg);
}

static char *
result(const frame *f, const rlf_expr_step *s)
{
    return s->tokens < 0 ? f->base[s->y] : (char *)numbers(f, s->y);
}

static uint32_t
width(const frame *f, const rlf_expr_step *s)
{
    return s->tokens < 0 ? f->n_rows : f->count;
}

static void
step_point(const frame *f, const rlf_expr_step *s)
{
    f->loops[f->expr->ops.data[s->op].code](
        (double *)result(f, s), (const double *)argument(f, s, 0),
        (const double *)argument(f, s, 1), (const double *)argument(f, s, 2),
        width(f, s));
}

static void
step_text_eq(const frame *f, const rlf_expr_step *s)
{
    const rlf_str *a = (const rlf_str *)argument(f, s, 0);
    const rlf_str *b = (const rlf_str *)argument(f, s, 1);
    double *y = (double *)result(f, s);
    for (uint32_t i = 0, n = width(f, s); i < n; i++)
        y[i] = rlf_str_eq(a[i], b[i]);
}

static void
step_text_select(const frame *f, const rlf_expr_step *s)
{
    const double *a = (const double *)argument(f, s, 0);
    const rlf_str *b = (const rlf_str *)argument(f, s, 1);
    const rlf_str *c = (const rlf_str *)argument(f, s, 2);
    rlf_str *y = (rlf_str *)result(f, s);
    for (uint32_t i = 0, n = width(f, s); i < n; i++)
        y[i] = a[i] != 0 ? b[i] : c[i];
}

static void
step_length(const frame *f, const rlf_expr_step *s)
{
    double *y = (double *)f->base[s->y];
    for (uint32_t i = 0; i < f->n_rows; i++)
        y[i] = length_of(f, s->tokens, f->row[i]);
}

static void
step_uniform(const frame *f, const rlf_expr_step *s)
{
    const rlf_expr_op *op = &f->expr->ops.data[s->op];
    int domain = rlf_domain_rows(f->domains, op->domain);
    double *y = (double *)result(f, s);
    rlf_random_key key = {.seed = f->seed,
                          .purpose = RLF_PURPOSE_UNIFORM,
                          .site = op->site,
                          .step = f->bind->step};
    for (uint32_t i = 0, n = width(f, s); i < n; i++) {
        bool row = s->tokens < 0;
        key.sample = identity_of(f, domain, f->row[row ? i : 0]);
        y[i] = rlf_draw_uniform(&key, row ? 0 : f->first + i);
    }
}

static void
step_at_last(const frame *f, const rlf_expr_step *s)
{
    double x = *(const double *)f->base[s->arg[0]], *y = numbers(f, s->y);
    uint32_t length = length_of(f, s->tokens, f->row[0]);
    for (uint32_t i = 0; i < f->count; i++)
        y[i] = f->first + i + 1 == length ? x : 0;
}

static double
fold(rlf_expr_code code, double a, double b)
{
    if (code == RLF_EXPR_SUM)
        return a + b;
    bool first = code == RLF_EXPR_LEAST ? a <= b : a >= b;
    return first || a != a ? a : b;
}

static double
fold_start(rlf_expr_code code)
{
    return code == RLF_EXPR_SUM     ? 0
           : code == RLF_EXPR_LEAST ? (double)INFINITY
                                    : -(double)INFINITY;
}

static void
step_reduce(const frame *f, const rlf_expr_step *s)
{
    rlf_expr_code code = f->expr->ops.data[s->op].code;
    const double *a = numbers(f, s->arg[0]);
    double *y = (double *)f->base[s->y];
    double x = f->starts ? fold_start(code) : *y;
    for (uint32_t i = 0; i < f->count; i++)
        x = fold(code, x, a[i]);
    *y = x;
}

/* ---- scans: the whole row at once ---- */

typedef struct ranked {
    double x;
    uint64_t at; /* place among the group */
} ranked;

/* The largest first, NaN last, ties in order. */
static int
by_rank(const void *pa, const void *pb)
{
    const ranked *a = pa, *b = pb;
    bool a_nan = a->x != a->x, b_nan = b->x != b->x;
    if (a_nan != b_nan)
        return a_nan ? 1 : -1;
    if (!a_nan && a->x != b->x)
        return a->x > b->x ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* RANK, ROTATE, UNROTATE of one group: its m elements are at places at[] of x
 * and y (at NULL: 0, 1, ...). `sorted` has room for m, for RANK. */
static void
regroup(rlf_expr_code code, char *y, const char *x, const uint64_t *at,
        uint64_t m, bool text, ranked *sorted)
{
    size_t size = element(text);
    for (uint64_t i = 0; i < m; i++) {
        uint64_t here = at ? at[i] : i;
        if (code == RLF_EXPR_RANK) {
            memcpy(&sorted[i].x, x + here * size, size);
            sorted[i].at = i;
            continue;
        }
        uint64_t k = code == RLF_EXPR_ROTATE ? (i + 1) % m : (i + m - 1) % m;
        memcpy(y + here * size, x + (at ? at[k] : k) * size, size);
    }
    if (code != RLF_EXPR_RANK)
        return;
    qsort(sorted, m, sizeof *sorted, by_rank);
    for (uint64_t i = 0; i < m; i++) {
        double rank = (double)i;
        uint64_t k = sorted[i].at;
        memcpy(y + (at ? at[k] : k) * size, &rank, size);
    }
}

static void
step_scan(const frame *f, const rlf_expr_step *s)
{
    rlf_expr_code code = f->expr->ops.data[s->op].code;
    uint32_t n = f->count;
    const double *a = numbers(f, s->arg[0]);
    const double *b = s->arg[1] < 0 ? NULL : numbers(f, s->arg[1]);
    double *y = numbers(f, s->y), sum = 0;
    switch (code) {
    case RLF_EXPR_DISCOUNT:
        for (uint32_t t = n; t-- > 0;)
            y[t] = sum = t + 1 == n ? a[t] : a[t] + b[t] * sum;
        break;
    case RLF_EXPR_COMPOUND:
        for (uint32_t t = 0; t < n; t++)
            y[t] = sum = t == 0 ? a[t] : a[t] + b[t] * sum;
        break;
    case RLF_EXPR_CUMSUM:
        for (uint32_t t = 0; t < n; t++)
            y[t] = sum = t == 0 ? a[t] : sum + a[t];
        break;
    case RLF_EXPR_NEXT:
        for (uint32_t t = 0; t < n; t++)
            y[t] = t + 1 < n ? a[t + 1] : b[t];
        break;
    case RLF_EXPR_PREV:
        for (uint32_t t = 0; t < n; t++)
            y[t] = t > 0 ? a[t - 1] : b[t];
        break;
    default: {
        bool text = f->stage->registers.data[s->arg[0]].text;
        ranked *sorted = rlf_malloc(n * sizeof *sorted);
        regroup(code, (char *)y, (const char *)a, NULL, n, text, sorted);
        free(sorted);
    }
    }
}

static void (*const step_of[])(const frame *, const rlf_expr_step *) = {
    [RLF_STEP_LOAD] = step_load,
    [RLF_STEP_CONST] = step_constant,
    [RLF_STEP_SPREAD] = step_spread,
    [RLF_STEP_POINT] = step_point,
    [RLF_STEP_TEXT_EQ] = step_text_eq,
    [RLF_STEP_TEXT_SELECT] = step_text_select,
    [RLF_STEP_LENGTH] = step_length,
    [RLF_STEP_UNIFORM] = step_uniform,
    [RLF_STEP_AT_LAST] = step_at_last,
    [RLF_STEP_REDUCE] = step_reduce,
    [RLF_STEP_SCAN] = step_scan,
    [RLF_STEP_STORE] = step_store,
};

static void
run_steps(const frame *f, const rlf_expr_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        step_of[steps->data[i].kind](f, &steps->data[i]);
}

/* ---- stages ---- */

/* Rows of registers in scratch memory; aliases are set row by row. */
static void
lay_out(frame *f)
{
    const rlf_expr_stage *s = f->stage;
    size_t longest = 1, size = sizeof(double);
    for (size_t i = 0; i < s->registers.count; i++) {
        const rlf_expr_register *r = &s->registers.data[i];
        if (r->text)
            size = sizeof(rlf_str);
        if (r->place != RLF_PLACE_TOKENS)
            continue;
        const rlf_space *space = f->space[r->tokens];
        for (uint32_t k = 0; k < space->count; k++)
            if (space->length[k] > longest)
                longest = space->length[k];
    }
    const size_t slot[] = {[RLF_PLACE_ROW] = RLF_EXPR_ROWS * size,
                           [RLF_PLACE_BLOCK] = RLF_EXPR_BLOCK * size,
                           [RLF_PLACE_TOKENS] = longest * size};
    size_t start[3], total = 0;
    for (int p = 0; p < 3; p++) {
        start[p] = total;
        total += slot[p] * (size_t)s->n_slots[p];
    }
    if (total > f->scratch_size) {
        f->scratch = rlf_arena_alloc_aligned(f->arena, total, 64);
        f->scratch_size = total;
    }
    if (s->registers.count > f->room) {
        f->room = s->registers.count;
        f->base = RLF_NEW_ARRAY(f->arena, char *, f->room);
        f->stride = RLF_NEW_ARRAY(f->arena, size_t, f->room);
    }
    for (size_t i = 0; i < s->registers.count; i++) {
        const rlf_expr_register *r = &s->registers.data[i];
        bool moves =
            r->place == RLF_PLACE_TOKENS || r->place == RLF_PLACE_ALIAS;
        f->stride[i] = moves ? element(r->text) : 0;
        if (r->place != RLF_PLACE_ALIAS)
            f->base[i] =
                f->scratch + start[r->place] + slot[r->place] * (size_t)r->slot;
    }
}

static void
set_aliases(frame *f, uint32_t row)
{
    for (size_t i = 0; i < f->stage->registers.count; i++) {
        const rlf_expr_register *r = &f->stage->registers.data[i];
        if (r->place != RLF_PLACE_ALIAS)
            continue;
        uint32_t there = follow(&f->hops[r->hop], row);
        uint64_t at = f->space[r->column.domain]->offset[there];
        f->base[i] = column_data(f, &r->column) + at * element(r->text);
    }
}

static rlf_status
check_not_empty(const frame *f, const rlf_expr_steps *steps, uint32_t row,
                rlf_err *err)
{
    for (size_t i = 0; i < steps->count; i++) {
        const rlf_expr_step *s = &steps->data[i];
        const rlf_expr_op *op = &f->expr->ops.data[s->op];
        if (s->kind == RLF_STEP_REDUCE && op->code != RLF_EXPR_SUM &&
            !op->index && length_of(f, s->tokens, row) == 0)
            return fail_empty(f, s->op, row, err);
    }
    return RLF_OK;
}

static rlf_status
run_blocks(frame *f, const rlf_expr_pass *pass, const rlf_expr_part *part,
           rlf_err *err)
{
    uint32_t length = length_of(f, pass->tokens, part->row);
    uint32_t last = part->last < length ? part->last : length;
    if (length == 0)
        RLF_TRY(check_not_empty(f, &pass->steps, part->row, err));
    f->first = part->first < last ? part->first : last;
    f->starts = true;
    do { /* once also for a row without tokens: sums start at 0 */
        uint32_t left = last - f->first;
        f->count = left < RLF_EXPR_BLOCK ? left : RLF_EXPR_BLOCK;
        run_steps(f, &pass->steps);
        f->first += f->count;
        f->starts = false;
    } while (f->first < last);
    return RLF_OK;
}

static void
run_scans(frame *f, const rlf_expr_pass *pass, uint32_t row)
{
    for (size_t i = 0; i < pass->steps.count; i++) {
        const rlf_expr_step *s = &pass->steps.data[i];
        f->first = 0;
        f->count = length_of(f, s->tokens, row);
        if (f->count)
            step_of[s->kind](f, s);
    }
}

static rlf_status
run_row(frame *f, const rlf_expr_part *part, rlf_err *err)
{
    f->row = &part->row;
    f->n_rows = 1;
    set_aliases(f, part->row);
    for (size_t i = 0; i < f->stage->passes.count; i++) {
        const rlf_expr_pass *pass = &f->stage->passes.data[i];
        f->first = 0;
        if (pass->kind == RLF_PASS_ROWS)
            run_steps(f, &pass->steps);
        else if (pass->kind == RLF_PASS_BLOCKS)
            RLF_TRY(run_blocks(f, pass, part, err));
        else if (part->first == 0 && part->last == UINT32_MAX)
            run_scans(f, pass, part->row);
    }
    return RLF_OK;
}

/* A stage without tokens: many rows at a time. */
static void
run_row_blocks(frame *f, const rows *r)
{
    uint32_t list[RLF_EXPR_ROWS];
    for (uint32_t i = 0; i < r->n; i += f->n_rows) {
        f->n_rows = r->n - i < RLF_EXPR_ROWS ? r->n - i : RLF_EXPR_ROWS;
        for (uint32_t k = 0; k < f->n_rows; k++)
            list[k] = r->parts  ? r->parts[i + k].row
                      : r->list ? r->list[i + k]
                                : i + k;
        f->row = list;
        f->first = 0;
        for (size_t k = 0; k < f->stage->passes.count; k++)
            run_steps(f, &f->stage->passes.data[k].steps);
    }
}

/* ---- operations that cross rows ---- */

static uint32_t
row_at(const rows *r, uint32_t i)
{
    return r->parts ? r->parts[i].row : r->list ? r->list[i] : i;
}

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

static rlf_status
cross_reduce(const frame *f, const rlf_expr_cross *c, rlf_err *err)
{
    const rlf_expr_op *op = &f->expr->ops.data[c->op];
    double *y = f->temp[c->temp];
    const double *x = op->code == RLF_EXPR_COUNT
                          ? NULL
                          : (const double *)column_data(f, &c->from);
    if (op->domain &&
        rlf_domains_get(f->domains, op->domain)->kind == RLF_DOMAIN_TOKENS) {
        add_tokens(f, c, x, y);
        return RLF_OK;
    }
    const rows *r = &f->rows[c->from.domain];
    uint32_t n = row_count(f, op->domain);
    bool counts = op->code == RLF_EXPR_COUNT;
    bool extreme = op->code == RLF_EXPR_LEAST || op->code == RLF_EXPR_MOST;
    extreme = extreme && !op->index;
    rlf_expr_code code = counts ? RLF_EXPR_SUM : op->code;
    bool *seen = extreme ? rlf_calloc(n, 1) : NULL;
    for (uint32_t i = 0; i < n; i++)
        y[i] = fold_start(code);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t row = row_at(r, i), there = follow(&f->hops[c->hop], row);
        y[there] = fold(code, y[there], counts ? 1 : x[row]);
        if (seen)
            seen[there] = true;
    }
    rlf_status status = RLF_OK;
    const rows *above = &f->rows[op->domain];
    for (uint32_t i = 0; seen && i < above->n && status == RLF_OK; i++)
        if (!seen[row_at(above, i)])
            status = fail_empty(f, c->op, row_at(above, i), err);
    free(seen);
    return status;
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
    ranked *sorted = rlf_malloc(total * sizeof *sorted);
    for (uint32_t g = 0; g < n_groups; g++)
        regroup(op->code, y, x, place + start[g], start[g + 1] - start[g],
                op->text, sorted);
    free(sorted);
    free(place);
    free(start);
}

static rlf_status
run_stage(frame *f, const rlf_expr_stage *stage, rlf_err *err)
{
    const rows *r = &f->rows[stage->rows];
    f->stage = stage;
    for (size_t i = 0; i < stage->cross.count; i++) {
        const rlf_expr_cross *c = &stage->cross.data[i];
        rlf_expr_code code = f->expr->ops.data[c->op].code;
        if (code == RLF_EXPR_RANK || code == RLF_EXPR_ROTATE ||
            code == RLF_EXPR_UNROTATE)
            cross_regroup(f, c);
        else
            RLF_TRY(cross_reduce(f, c, err));
    }
    lay_out(f);
    if (!stage->has_tokens) {
        run_row_blocks(f, r);
        return RLF_OK;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        rlf_expr_part part = {row_at(r, i), 0, UINT32_MAX};
        if (r->parts)
            part = r->parts[i];
        RLF_TRY(run_row(f, &part, err));
    }
    return RLF_OK;
}

/* ---- frames ---- */

static void
visit(frame *f, const rlf_space *space)
{
    if (!space || space->domain == 0 || f->space[space->domain])
        return;
    f->space[space->domain] = space;
    const rlf_domain *d = rlf_domains_get(f->domains, space->domain);
    for (int i = 0; i < d->n_up; i++)
        visit(f, space->up[i].to);
}

static rlf_status
need_space(const frame *f, int domain, rlf_err *err)
{
    if (domain == 0 || f->space[domain])
        return RLF_OK;
    return rlf_fail(err, RLF_BUG, "expression program: no space of %s",
                    name_of(f, domain));
}

static rlf_status
find_spaces(frame *f, rlf_err *err)
{
    const rlf_expr *e = f->expr;
    size_t n = f->domains->list.count;
    f->space = RLF_NEW_ARRAY(f->arena, const rlf_space *, n);
    for (size_t i = 0; i < n && f->bind->spaces; i++)
        visit(f, f->bind->spaces[i]);
    for (size_t i = 0; i < e->inputs.count; i++)
        visit(f, f->bind->inputs[i].space);
    for (size_t i = 0; i < e->outputs.count; i++)
        visit(f, f->bind->outputs[i].space);
    const rlf_expr_plan *plan = f->plan;
    for (size_t i = 0; i < plan->stages.count; i++)
        RLF_TRY(need_space(f, plan->stages.data[i].rows, err));
    for (size_t i = 0; i < plan->hops.count; i++) {
        RLF_TRY(need_space(f, plan->hops.data[i].from, err));
        RLF_TRY(need_space(f, plan->hops.data[i].to, err));
    }
    for (size_t i = 0; i < e->ops.count; i++)
        RLF_TRY(need_space(f, e->ops.data[i].domain, err));
    return RLF_OK;
}

static void
find_hop(const frame *f, const rlf_expr_hop *way, hop *out)
{
    if (way->to == 0 || way->from == way->to) {
        out->to_scalar = way->to == 0;
        return;
    }
    int path[DEEPEST];
    const rlf_space *space = f->space[way->from];
    int n = rlf_domain_path(f->domains, way->to, way->from, DEEPEST, path);
    RLF_ASSERT(n < DEEPEST);
    for (int i = 0; i < n; i++) {
        const rlf_domain *d = rlf_domains_get(f->domains, space->domain);
        int k = 0;
        while (d->up[k] != path[i])
            k++;
        if (space->up[k].index)
            out->index[out->n++] = space->up[k].index;
        space = space->up[k].to;
    }
}

static rlf_expr_loop *const *
choose_loops(void)
{
#if defined(__x86_64__)
    const char *isa = rlf_kernels_cpu()->isa;
    if (strcmp(isa, "v4") == 0)
        return rlf_cpu_v4_expr_loops;
    if (strcmp(isa, "v3") == 0)
        return rlf_cpu_v3_expr_loops;
#endif
    return rlf_cpu_portable_expr_loops;
}

static rlf_status
open_frame(const rlf_expr_plan *plan, rlf_queue *queue,
           const rlf_expr_bind *bind, rlf_arena *arena, rlf_err *err,
           frame **out)
{
    frame *f = RLF_NEW(arena, frame);
    *f = (frame){.plan = plan,
                 .expr = plan->expr,
                 .domains = plan->expr->domains,
                 .bind = bind,
                 .queue = queue,
                 .arena = arena,
                 .loops = choose_loops(),
                 .seed = bind->seed,
                 .scalars = true};
    if (bind->iteration)
        f->seed = rlf_hash_mix(bind->seed ^ rlf_hash_mix(bind->iteration));
    RLF_TRY(find_spaces(f, err));
    f->hops = RLF_NEW_ARRAY(arena, hop, plan->hops.count + 1);
    for (size_t i = 0; i < plan->hops.count; i++)
        find_hop(f, &plan->hops.data[i], &f->hops[i]);
    f->temp = RLF_NEW_ARRAY(arena, void *, plan->temps.count + 1);
    for (size_t i = 0; i < plan->temps.count; i++) {
        int domain = plan->temps.data[i].domain;
        const rlf_space *s = f->space[domain];
        bool tokens = domain && rlf_domain_rows(f->domains, domain) != domain;
        uint64_t n = tokens ? s->extent : row_count(f, domain);
        f->temp[i] =
            rlf_arena_alloc(arena, n * element(plan->temps.data[i].text));
    }
    f->rows = RLF_NEW_ARRAY(arena, rows, f->domains->list.count);
    *out = f;
    return RLF_OK;
}

static bool
is_rows(const frame *f, int domain)
{
    return domain == 0 ||
           (rlf_domain_rows(f->domains, domain) == domain && f->space[domain]);
}

static void
select_all(frame *f)
{
    for (int d = 0; d < (int)f->domains->list.count; d++)
        f->rows[d] =
            is_rows(f, d) ? (rows){.n = row_count(f, d)} : (rows){.none = true};
}

/* The rows of `d` that belong to the selected ones: those that they come from
 * if d is above, those that come from them if it is below. */
static rows
related(const frame *f, int d, int domain, const bool *chosen,
        const uint32_t *list, uint32_t n)
{
    bool above = rlf_domain_reaches(f->domains, d, domain);
    if (!is_rows(f, d) ||
        (!above && !rlf_domain_reaches(f->domains, domain, d)))
        return (rows){.none = true};
    uint32_t count = row_count(f, d), kept = 0;
    bool *keep = RLF_NEW_ARRAY(f->arena, bool, count + 1);
    hop way = {0};
    if (above) {
        find_hop(f, &(rlf_expr_hop){domain, d}, &way);
        for (uint32_t i = 0; i < n; i++)
            keep[follow(&way, list[i])] = true;
    } else {
        find_hop(f, &(rlf_expr_hop){d, domain}, &way);
        for (uint32_t i = 0; i < count; i++)
            keep[i] = chosen[follow(&way, i)];
    }
    uint32_t *out = RLF_NEW_ARRAY(f->arena, uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (keep[i])
            out[kept++] = i;
    return (rows){.n = kept, .list = out};
}

static void
select_rows(frame *f, int domain, const uint32_t *list, uint32_t n)
{
    bool *chosen = RLF_NEW_ARRAY(f->arena, bool, row_count(f, domain) + 1);
    for (uint32_t i = 0; i < n; i++)
        chosen[list[i]] = true;
    for (int d = 0; d < (int)f->domains->list.count; d++)
        f->rows[d] = related(f, d, domain, chosen, list, n);
    f->rows[domain] = (rows){.n = n, .list = list};
    f->scalars = false;
}

enum { STAGES_CONSTANT = 1, STAGES_LIVE = 2 };

static rlf_status
run_stages(frame *f, unsigned which, rlf_err *err)
{
    for (size_t i = 0; i < f->plan->stages.count; i++) {
        const rlf_expr_stage *s = &f->plan->stages.data[i];
        if (which & (s->live ? STAGES_LIVE : STAGES_CONSTANT) &&
            !f->rows[s->rows].none)
            RLF_TRY(run_stage(f, s, err));
    }
    return RLF_OK;
}

static void
tell(rlf_queue *queue, bool begin)
{
    if (queue && queue->hook)
        queue->hook(queue->hook_ctx, "expr", begin);
}

/* ---- the calls of expr.h ---- */

rlf_status
rlf_expr_begin(const rlf_expr_plan *plan, rlf_queue *queue,
               const rlf_expr_bind *bind, rlf_arena *arena, rlf_err *err,
               rlf_expr_frame **out)
{
    RLF_TRY(open_frame(plan, queue, bind, arena, err, out));
    select_all(*out);
    tell(queue, true);
    rlf_status status = run_stages(*out, STAGES_CONSTANT, err);
    tell(queue, false);
    return status;
}

rlf_status
rlf_expr_part_run(rlf_expr_frame *f, int domain, const rlf_expr_part *parts,
                  uint32_t n_parts, rlf_err *err)
{
    RLF_TRY(need_space(f, domain, err));
    rows all = f->rows[domain];
    f->rows[domain] = (rows){.n = n_parts, .parts = parts};
    rlf_status status = RLF_OK;
    tell(f->queue, true);
    for (size_t i = 0; i < f->plan->stages.count && status == RLF_OK; i++) {
        const rlf_expr_stage *s = &f->plan->stages.data[i];
        /* deeper live stages look across rows */
        if (s->live && s->depth == 0 && s->rows == domain)
            status = run_stage(f, s, err);
    }
    tell(f->queue, false);
    f->rows[domain] = all;
    return status;
}

rlf_status
rlf_expr_rest(rlf_expr_frame *f, rlf_err *err)
{
    tell(f->queue, true);
    rlf_status status = run_stages(f, STAGES_LIVE, err);
    tell(f->queue, false);
    return status;
}

rlf_status
rlf_expr_run(const rlf_expr_plan *plan, rlf_queue *queue,
             const rlf_expr_bind *bind, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_expr_frame *f;
    rlf_status status = open_frame(plan, queue, bind, arena, err, &f);
    if (status == RLF_OK) {
        select_all(f);
        tell(queue, true);
        status = run_stages(f, STAGES_CONSTANT | STAGES_LIVE, err);
        tell(queue, false);
    }
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_expr_run_rows(const rlf_expr_plan *plan, rlf_queue *queue,
                  const rlf_expr_bind *bind, int domain, const uint32_t *list,
                  uint32_t n_rows, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_expr_frame *f;
    rlf_status status = open_frame(plan, queue, bind, arena, err, &f);
    if (status == RLF_OK)
        status = need_space(f, domain, err);
    if (status == RLF_OK) {
        select_rows(f, domain, list, n_rows);
        tell(queue, true);
        status = run_stages(f, STAGES_CONSTANT | STAGES_LIVE, err);
        tell(queue, false);
    }
    rlf_arena_free(arena);
    return status;
}
