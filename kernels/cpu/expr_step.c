/* The steps of a stage, on a block of tokens or of rows: see expr_plan.h. */
#include "kernels/cpu/expr_frame.h"

#include "engine/base/philox.h"

#include <math.h>
#include <stdlib.h>

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
step_broadcast(const frame *f, const rlf_expr_step *s)
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
step_constant(const frame *f, const rlf_expr_step *s)
{
    const rlf_expr_op *op = &f->expr->ops.data[s->op];
    char *y = result(f, s);
    uint32_t n = width(f, s);
    for (uint32_t i = 0; op->text && i < n; i++)
        ((rlf_str *)y)[i] = op->words;
    for (uint32_t i = 0; !op->text && i < n; i++)
        ((double *)y)[i] = op->constant;
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
    for (uint32_t i = 0, n = width(f, s); i < n; i++) {
        y[i] = a[i] != 0 ? b[i] : c[i];
        if (isnan(a[i]))
            *f->undecided = s->op;
    }
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

/* x[i] = fold(x[i], y[i]) */
static void
fold_each(rlf_expr_code code, double *x, const double *y, uint32_t n)
{
    if (code == RLF_EXPR_SUM)
        for (uint32_t i = 0; i < n; i++)
            x[i] += y[i];
    else
        for (uint32_t i = 0; i < n; i++)
            x[i] = fold(code, x[i], y[i]);
}

/* While it goes on, a lane for each place in a block; then they are folded in a
 * tree. Lanes that nothing came to are left out: they would change nothing. */
static void
step_reduce(const frame *f, const rlf_expr_step *s)
{
    rlf_expr_code code = f->expr->ops.data[s->op].code;
    double *lane = (double *)f->base[s->y];
    uint32_t n = f->starts ? f->count : RLF_EXPR_BLOCK;
    for (uint32_t i = 0; f->starts && i < (n ? n : 1); i++)
        lane[i] = fold_start(code);
    fold_each(code, lane, numbers(f, s->arg[0]), f->count);
    for (uint32_t w = RLF_EXPR_BLOCK / 2; f->ends && w >= 1; w /= 2)
        if (n > w)
            fold_each(code, lane, lane + w, n - w < w ? n - w : w);
}

/* ---- scans: the whole row at once ---- */

typedef struct ranked {
    double x;
    uint64_t at; /* place among the group */
} ranked;

/* The largest first, ties in order. */
static int
by_rank(const void *pa, const void *pb)
{
    const ranked *a = pa, *b = pb;
    if (a->x != b->x)
        return a->x > b->x ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

void
rlf_expr_regroup(rlf_expr_code code, char *y, const char *x, const uint64_t *at,
                 uint64_t m, bool text)
{
    size_t size = element(text);
    ranked *sorted =
        code == RLF_EXPR_RANK ? rlf_malloc(m * sizeof *sorted) : NULL;
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
    const double *none = NULL; /* a NaN: then nobody has a place */
    for (uint64_t i = 0; i < m && !none; i++)
        none = isnan(sorted[i].x) ? &sorted[i].x : NULL;
    double nan = none ? *none : 0;
    if (!none)
        qsort(sorted, m, sizeof *sorted, by_rank);
    for (uint64_t i = 0; i < m; i++) {
        double rank = none ? nan : (double)i;
        uint64_t k = sorted[i].at;
        memcpy(y + (at ? at[k] : k) * size, &rank, size);
    }
    free(sorted);
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
        rlf_expr_regroup(code, (char *)y, (const char *)a, NULL, n, text);
    }
    }
}

static void (*const step_of[])(const frame *, const rlf_expr_step *) = {
    [RLF_STEP_LOAD] = step_load,
    [RLF_STEP_CONST] = step_constant,
    [RLF_STEP_BROADCAST] = step_broadcast,
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

void
rlf_expr_step_run(const frame *f, const rlf_expr_step *s)
{
    step_of[s->kind](f, s);
}
