/* A table of kernels that carries out each operation and adds up what its row
 * in kernels/op.def says it costs: the formulas are evaluated as the texts that
 * they are, on the arguments of the call. */
#ifndef RLF_TESTS_UNIT_COUNTING_H
#define RLF_TESTS_UNIT_COUNTING_H

#include "kernels/expr_dense.h"
#include "kernels/kernels.h"
#include "tests/tap.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct counted {
    double flops, bytes;
    uint64_t calls;
} counted;

static _Thread_local counted counting; /* of a rank */
static const rlf_kernels *counting_real;

/* ---- the formulas ---- */

typedef struct variable {
    const char *name;
    double value;
} variable;

typedef struct formula {
    const char *at;
    const variable *variables;
} formula;

static double formula_sum(formula *f);

static double
formula_factor(formula *f)
{
    if (*f->at == '(') {
        f->at++;
        double x = formula_sum(f);
        if (*f->at++ != ')')
            bail("a formula lacks a parenthesis");
        return x;
    }
    if (isdigit((unsigned char)*f->at)) {
        char *end;
        double x = strtod(f->at, &end);
        f->at = end;
        return x;
    }
    size_t n = 0;
    while (isalnum((unsigned char)f->at[n]) || f->at[n] == '_')
        n++;
    for (const variable *v = f->variables; n && v->name; v++)
        if (strlen(v->name) == n && memcmp(v->name, f->at, n) == 0) {
            f->at += n;
            return v->value;
        }
    bail("a formula has an unknown name: %s", f->at);
}

static double
formula_sum(formula *f)
{
    double sum = 0;
    for (;;) {
        double product = formula_factor(f);
        while (*f->at == '*') {
            f->at++;
            product *= formula_factor(f);
        }
        sum += product;
        if (*f->at != '+')
            return sum;
        f->at++;
    }
}

static double
formula_value(const char *text, const variable *variables)
{
    formula f = {text, variables};
    double x = formula_sum(&f);
    if (*f.at)
        bail("a formula goes on: %s", f.at);
    return x;
}

/* ---- what the names stand for ---- */

#define N_VARIABLES 10
typedef variable variables[N_VARIABLES];

#define NAMED(x)         \
    {                    \
#x, (double)a->x \
    }
#define BIND(op, ...)                                            \
    static void bind_##op(const rlf_##op##_args *a, variable *v) \
    {                                                            \
        const variable list[N_VARIABLES] = {__VA_ARGS__};        \
        memcpy(v, list, sizeof list);                            \
    }

/* Keys that the tokens at positions first..last-1 see. */
static double
seen(int64_t first, int64_t last, int64_t window)
{
    double n = 0;
    for (int64_t p = first; p < last; p++)
        n += (double)(window && p + 1 > window ? window : p + 1);
    return n;
}

static double
packed_pairs(const int32_t *offsets, const int32_t *starts, int64_t n,
             int64_t window)
{
    double pairs = 0;
    for (int64_t s = 0; s < n; s++) {
        int64_t first = starts ? starts[s] : 0;
        pairs += seen(first, first + offsets[s + 1] - offsets[s], window);
    }
    return pairs;
}

static double
paged_pairs(const rlf_attention_paged_args *a)
{
    double pairs = 0;
    for (int64_t s = 0; s < a->n_seqs; s++)
        pairs +=
            seen(a->starts[s], a->starts[s] + a->offsets[s + 1] - a->offsets[s],
                 a->window);
    return pairs;
}

static double
paged_context(const rlf_attention_paged_args *a)
{
    double context = 0;
    for (int64_t s = 0; s < a->n_seqs; s++)
        context += a->starts[s] + a->offsets[s + 1] - a->offsets[s];
    return context;
}

/* Programs that look at no words, as most losses are, count for nothing
 * (nodes/model/cost.h). */
static bool
is_over_words(const rlf_expr_dense *d)
{
    bool is = false;
    for (uint32_t i = 0; i < d->n_inputs + d->n_outputs; i++)
        is |= d->of_words[i];
    return is;
}

/* Of the steps that a program was lowered to, copies apart. */
static double
dense_ops(const rlf_expr_dense_args *a)
{
    if (!is_over_words(a->program))
        return 0;
    const rlf_dense_image *image = a->program->image;
    const char *at = (const char *)image;
    const rlf_dense_pass *p = (const void *)(at + image->passes);
    const rlf_dense_step *s = (const void *)(at + image->steps);
    double n = 0;
    for (uint32_t i = 0; i < image->n_passes; i++)
        for (uint32_t k = 0; k < p[i].count + p[i].reductions; k++, s++)
            if (s->code != RLF_EXPR_SG)
                n += p[i].kind == RLF_DENSE_ROWS ? 1 : (double)a->v;
    return n;
}

static double
dense_bytes(const rlf_expr_dense_args *a)
{
    const rlf_expr_dense *d = a->program;
    if (!is_over_words(d))
        return 0;
    double n = 0;
    for (uint32_t i = 0; i < d->n_inputs + d->n_outputs; i++) {
        const rlf_dense_column *c =
            i < d->n_inputs ? &a->inputs[i] : &a->outputs[i - d->n_inputs];
        n += d->of_words[i] ? 4 * (double)a->v : c->f32 ? 4 : 8;
    }
    return n;
}

#define GROUPS                                        \
    {                                                 \
        "groups", (double)(a->groups ? a->groups : 1) \
    }
#define PACKED                                                                 \
    {"m", (double)a->offsets[a->n_seqs]}, NAMED(heads), NAMED(kv_heads),       \
        NAMED(d),                                                              \
    {                                                                          \
        "pairs",                                                               \
            packed_pairs(a->offsets, a->prefixes.starts, a->n_seqs, a->window) \
    }

// clang-format off
BIND(product_pack, {"n", (double)a->rows}, {"k", (double)a->cols})
BIND(product, NAMED(m), NAMED(n), NAMED(k))
BIND(product_glu, NAMED(m), NAMED(d), NAMED(k), {"kept", a->keep ? 2 * (double)(a->m * a->d) : 0})
BIND(product_grad, NAMED(m), NAMED(n), NAMED(k))
BIND(bias_grad, NAMED(m), NAMED(n))
BIND(embed, NAMED(m), NAMED(d))
BIND(embed_grad, NAMED(m), NAMED(d))
BIND(rows_gather, NAMED(m), NAMED(d))
BIND(rows_scatter, NAMED(m), NAMED(d))
BIND(rmsnorm, NAMED(m), NAMED(d), GROUPS)
BIND(norm_sums, NAMED(m), NAMED(d))
BIND(rmsnorm_grad, NAMED(m), NAMED(d), GROUPS)
BIND(layernorm, NAMED(m), NAMED(d), GROUPS)
BIND(layernorm_grad, NAMED(m), NAMED(d), GROUPS)
BIND(rope_table, NAMED(n), NAMED(half))
BIND(rope, NAMED(m), NAMED(heads), NAMED(d))
BIND(glu, NAMED(m), NAMED(d))
BIND(glu_grad, NAMED(m), NAMED(d))
BIND(add, NAMED(m), NAMED(d))
BIND(clip, NAMED(m), NAMED(d))
BIND(dropout, NAMED(m), NAMED(d))
BIND(axpby, NAMED(n))
BIND(fill, NAMED(n))
BIND(cast, NAMED(n))
BIND(kv_write, NAMED(m), NAMED(heads), NAMED(kv_heads), NAMED(d),
     {"normed", a->q_weight ? (double)(a->heads + a->kv_heads) : 0})
BIND(attention, PACKED)
BIND(attention_paged, {"pairs", paged_pairs(a)},
     {"context", paged_context(a)}, NAMED(heads), NAMED(kv_heads), NAMED(d))
BIND(attention_grad, PACKED)
BIND(head_logprob, NAMED(m), {"v", (double)rlf_shards_held(a->part.shards, a->v)},
     NAMED(d))
BIND(head_loss, {"m", (double)a->forward.m}, {"v", (double)rlf_shards_held(a->forward.part.shards, a->forward.v)},
     {"d", (double)a->forward.d}, {"trained", a->dw ? 1 : 0})
BIND(sample, NAMED(m), {"v", (double)rlf_shards_held(a->part.shards, a->v)},
     NAMED(d))
BIND(adamw, NAMED(n))
BIND(sumsq, NAMED(n))
BIND(expr_dense, NAMED(m), {"ops", dense_ops(a)}, {"bytes", dense_bytes(a)})
// clang-format on

#define OP(name, doc, flops_, bytes_)                                  \
    static rlf_status count_##name(                                    \
        rlf_queue *queue, const rlf_##name##_args *args, rlf_err *err) \
    {                                                                  \
        variables v;                                                   \
        bind_##name(args, v);                                          \
        counting.flops += formula_value(flops_, v);                    \
        counting.bytes += formula_value(bytes_, v);                    \
        counting.calls++;                                              \
        return counting_real->name(queue, args, err);                  \
    }
#include "kernels/op.def"
#undef OP

/* The table; counts begin at 0. */
__attribute__((unused)) static rlf_kernels
counting_kernels(const rlf_kernels *real)
{
    counting_real = real;
    counting = (counted){0};
    rlf_kernels k = *real;
#define OP(name, doc, flops_, bytes_) k.name = count_##name;
#include "kernels/op.def"
#undef OP
    return k;
}

#endif
