/* Programs over dense columns: their plan (kernels/expr.h) on some rows at a
 * time. Between f32 and f64 numbers go in pieces that stay in the cache. */
#include "kernels/cpu/ops.h"
#include "kernels/expr_dense.h"
#include "kernels/expr.h"

#include <math.h>

enum {
    PIECE_CELLS = 1 << 13, /* words that a thread takes at a time */
    PIECE_ROWS = 1 << 10,  /* rows, if those have none */
};

typedef struct job {
    const rlf_expr_dense_args *a;
    rlf_err *err;
    bool failed;
} job;

/* Numbers of a column from row `first` on: n in all. */
static double *
widened(const rlf_dense_column *c, bool of_words, int64_t at, int64_t n,
        rlf_arena *arena)
{
    if (!of_words && !c->f32)
        return (double *)c->data + at;
    double *out = RLF_NEW_ARRAY(arena, double, n);
    const float *x = (const float *)c->data + at;
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)x[i];
    return out;
}

static void
give_floats(float *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

/* Of rows: a zero is positive. */
static void
give_rows(float *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i] + 0.0f;
}

/* Of words, row by row, with what is nonfinite. */
static void
give_words(float *to, const double *from, int64_t rows, int64_t v,
           rlf_nonfinite *nonfinite)
{
    for (int64_t r = 0; r < rows; r++) {
        nonfinite[r] = (rlf_nonfinite){.word = -1};
        for (int64_t i = 0; i < v; i++) {
            float x = (float)from[r * v + i];
            if (!isfinite(x) && nonfinite[r].word < 0)
                nonfinite[r] = (rlf_nonfinite){(int32_t)i, x, to[r * v + i]};
            to[r * v + i] = x;
        }
    }
}

static rlf_status
run_rows(const rlf_expr_dense_args *a, int64_t first, int64_t rows,
         rlf_arena *arena, rlf_err *err)
{
    const rlf_expr_dense *d = a->program;
    uint64_t *offset = RLF_NEW_ARRAY(arena, uint64_t, rows);
    uint32_t *length = RLF_NEW_ARRAY(arena, uint32_t, rows);
    for (int64_t i = 0; i < rows; i++) {
        offset[i] = (uint64_t)(i * a->v);
        length[i] = (uint32_t)a->v;
    }
    rlf_space at = {.domain = d->rows, .count = (uint32_t)rows};
    rlf_space words = {.domain = d->words,
                       .count = at.count,
                       .up = {{.to = &at}},
                       .offset = offset,
                       .length = length,
                       .extent = (uint64_t)(rows * a->v)};
    const rlf_space *spaces[3] = {NULL};
    spaces[d->rows] = &at;
    if (d->words > 0)
        spaces[d->words] = &words;
    uint32_t n_in = d->n_inputs, n_out = d->n_outputs;
    rlf_column *in = RLF_NEW_ARRAY(arena, rlf_column, n_in);
    rlf_column *out = RLF_NEW_ARRAY(arena, rlf_column, n_out);
    for (uint32_t i = 0; i < n_in; i++) {
        int64_t each = d->of_words[i] ? a->v : 1;
        in[i] = (rlf_column){each == 1 && !d->of_words[i] ? &at : &words,
                             widened(&a->inputs[i], d->of_words[i],
                                     first * each, rows * each, arena),
                             NULL};
    }
    for (uint32_t i = 0; i < n_out; i++) {
        bool of_words = d->of_words[n_in + i];
        bool own = !of_words && !a->outputs[i].f32;
        out[i].space = of_words ? &words : &at;
        out[i].number =
            own ? (double *)a->outputs[i].data + first
                : RLF_NEW_ARRAY(arena, double, rows *(of_words ? a->v : 1));
    }
    rlf_expr_bind bind = {.inputs = in, .outputs = out, .spaces = spaces};
    RLF_TRY(rlf_expr_run(d->plan, NULL, &bind, err));
    for (uint32_t i = 0; i < n_out; i++) {
        bool of_words = d->of_words[n_in + i];
        float *to = a->outputs[i].data;
        if (of_words && a->nonfinite && i == 0)
            give_words(to + first * a->v, out[i].number, rows, a->v,
                       a->nonfinite + first);
        else if (of_words)
            give_floats(to + first * a->v, out[i].number, rows * a->v);
        else if (a->outputs[i].f32)
            give_rows(to + first, out[i].number, rows);
    }
    return RLF_OK;
}

static void
run_piece(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    job *j = ctx;
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = run_rows(j->a, first, last - first, arena, &err);
    rlf_arena_free(arena);
    if (status < 0 && !__atomic_exchange_n(&j->failed, true, __ATOMIC_RELAXED))
        *j->err = err;
}

rlf_status
ISA(expr_dense)(rlf_queue *queue, const rlf_expr_dense_args *a, rlf_err *err)
{
    const rlf_expr_dense *d = a->program;
    NEED(a->m >= 0 && a->v >= 0 && a->v <= INT32_MAX, "expr_dense");
    NEED(!d->has_words || a->v > 0, "expr_dense of words");
    NEED(!a->nonfinite || d->of_words[d->n_inputs], "expr_dense");
    int64_t piece = d->words < 0 ? PIECE_ROWS : PIECE_CELLS / a->v;
    double work = (double)a->m * (double)(a->v + 1) * 10;
    job j = {.a = a, .err = err};
    rlf_cpu_share(queue, a->m, piece > 0 ? piece : 1, work, run_piece, &j);
    return j.failed ? j.err->status : RLF_OK;
}
