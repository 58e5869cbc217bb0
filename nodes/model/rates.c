/* See rates.h: a formula for each operation. */
#include "nodes/model/rates.h"

/* The base that a call's first number counts. */
static rlf_base
base_of(const rlf_kernel_call *c)
{
    return c->count == RLF_COUNT_ROWS ? RLF_PER_ROW : RLF_PER_TOKEN;
}

static void
add(rlf_rates *r, rlf_base base, double flops, double read, double written)
{
    r->flops[base] += flops;
    r->read[base] += read;
    r->written[base] += written;
}

/* Adds the pairs of packed sequences, or of new tokens over pages. */
static void
add_pairs(rlf_rates *r, int64_t window, double flops)
{
    r->flops[window ? RLF_PER_NEARBY : RLF_PER_PAIR] += flops;
}

static void
add_product(rlf_rates *r, rlf_base m, double n, double k)
{
    add(r, m, 2 * n * k, k, n);
    add(r, RLF_PER_PASS, 0, n * k, 0);
}

/* dw += dy^T x, in f32. */
static void
add_product_grad(rlf_rates *r, rlf_base m, double n, double k)
{
    add(r, m, 2 * n * k, n + k, 0);
    r->read_f32[RLF_PER_PASS] += n * k;
    r->written_f32[RLF_PER_PASS] += n * k;
}

static void
add_kv_write(rlf_rates *r, const rlf_kv_write_args *a)
{
    double q = (double)(a->heads * a->d), kv = (double)(a->kv_heads * a->d);
    add(r, RLF_PER_TOKEN, (a->q_weight ? 7 : 3) * (q + kv), q + 2 * kv,
        q + 2 * kv);
}

static void
add_attention(rlf_rates *r, const rlf_attention_args *a)
{
    double q = (double)(a->heads * a->d), kv = (double)(a->kv_heads * a->d);
    add(r, RLF_PER_TOKEN, 0, q + 2 * kv, q);
    add_pairs(r, a->window, 4 * q);
}

static void
add_attention_paged(rlf_rates *r, const rlf_attention_paged_args *a)
{
    add(r, RLF_PER_KEY, 0, 2 * (double)(a->kv_heads * a->d), 0);
    add_pairs(r, a->window, 4 * (double)(a->heads * a->d));
}

static void
add_attention_grad(rlf_rates *r, const rlf_attention_grad_args *a)
{
    double q = (double)(a->heads * a->d), kv = (double)(a->kv_heads * a->d);
    add(r, RLF_PER_TOKEN, 0, 3 * q + 2 * kv, q + 2 * kv);
    add_pairs(r, a->window, 10 * q);
}

static void
add_product_glu(rlf_rates *r, rlf_base m, const rlf_product_glu_args *a)
{
    double d = (double)a->d, k = (double)a->k;
    add(r, m, 4 * d * k + 8 * d, k, (a->keep ? 3 : 1) * d);
    add(r, RLF_PER_PASS, 0, 2 * d * k, 0);
}

static void
add_move(rlf_rates *r, const rlf_kernel_call *c)
{
    double *of = c->op == RLF_CALL_SUM          ? r->summed
                 : c->op == RLF_CALL_SUM_F32    ? r->summed_f32
                 : c->op == RLF_CALL_SUM_COPIES ? r->joined
                                                : NULL;
    if (of)
        of[base_of(c)] += (double)c->move.width;
    r->sums += c->op == RLF_CALL_SUM || c->op == RLF_CALL_SUM_F32;
    r->joins += c->op == RLF_CALL_SUM_COPIES;
}

/* Per number of a row: for the operations that go over rows once. */
static const struct {
    double flops, read, written;
} plain[RLF_N_OPS] = {
    [RLF_OP_bias_grad] = {1, 1, 0},
    [RLF_OP_embed] = {0, 0, 1},
    [RLF_OP_embed_grad] = {1, 1, 0},
    [RLF_OP_rows_gather] = {0, 1, 1},
    [RLF_OP_rows_scatter] = {1, 1, 1},
    [RLF_OP_rmsnorm] = {4, 1, 1},
    [RLF_OP_rmsnorm_grad] = {11, 3, 1},
    [RLF_OP_norm_sums] = {3, 2, 0},
    [RLF_OP_rope] = {3, 1, 1},
    [RLF_OP_layernorm] = {8, 1, 1},
    [RLF_OP_layernorm_grad] = {18, 3, 1},
    [RLF_OP_glu] = {8, 2, 1},
    [RLF_OP_glu_grad] = {14, 3, 2},
    [RLF_OP_add] = {1, 2, 1},
    [RLF_OP_clip] = {2, 2, 1},
    [RLF_OP_dropout] = {1, 2, 1},
};

/* Numbers of a row of such an operation. */
static int64_t
numbers(const rlf_kernel_call *c)
{
    switch (c->op) {
    case RLF_OP_bias_grad:
        return c->bias_grad.n;
    case RLF_OP_embed:
        return c->embed.d;
    case RLF_OP_embed_grad:
        return c->embed_grad.d;
    case RLF_OP_rows_gather:
        return c->rows_gather.d;
    case RLF_OP_rows_scatter:
        return c->rows_scatter.d;
    case RLF_OP_rmsnorm:
        return c->rmsnorm.d * (c->rmsnorm.groups + !c->rmsnorm.groups);
    case RLF_OP_rmsnorm_grad:
        return c->rmsnorm_grad.d *
               (c->rmsnorm_grad.groups + !c->rmsnorm_grad.groups);
    case RLF_OP_layernorm:
        return c->layernorm.d * c->layernorm.groups;
    case RLF_OP_layernorm_grad:
        return c->layernorm_grad.d * c->layernorm_grad.groups;
    case RLF_OP_norm_sums:
        return c->norm_sums.d;
    case RLF_OP_rope:
        return c->rope.heads * c->rope.d;
    case RLF_OP_glu:
        return c->glu.d;
    case RLF_OP_glu_grad:
        return c->glu_grad.d;
    case RLF_OP_clip:
        return c->clip.d;
    case RLF_OP_dropout:
        return c->dropout.d;
    default:
        return c->add.d;
    }
}

static void
add_plain(rlf_rates *r, const rlf_kernel_call *c)
{
    rlf_base m = base_of(c);
    double n = (double)numbers(c);
    add(r, m, plain[c->op].flops * n, plain[c->op].read * n,
        plain[c->op].written * n);
    if (c->op == RLF_OP_embed) /* positions are vectors */
        *(c->embed.w ? &r->read_f32[m] : &r->embedded[m]) += n;
    if (c->op == RLF_OP_embed_grad) {
        r->read_f32[m] += n;
        r->written_f32[m] += n;
    }
}

void
rlf_rates_add(rlf_rates *r, const rlf_kernel_call *c)
{
    rlf_base m = base_of(c);
    r->calls += c->op < RLF_N_OPS;
    switch (c->op) {
    case RLF_OP_product:
        add_product(r, m, (double)c->product.n, (double)c->product.k);
        break;
    case RLF_OP_product_glu:
        add_product_glu(r, m, &c->product_glu);
        break;
    case RLF_OP_product_grad:
        add_product_grad(r, m, (double)c->product_grad.n,
                         (double)c->product_grad.k);
        break;
    case RLF_OP_kv_write:
        add_kv_write(r, &c->kv_write);
        break;
    case RLF_OP_attention:
        add_attention(r, &c->attention);
        break;
    case RLF_OP_attention_paged:
        add_attention_paged(r, &c->attention_paged);
        break;
    case RLF_OP_attention_grad:
        add_attention_grad(r, &c->attention_grad);
        break;
    default:
        if (c->op < RLF_N_OPS)
            add_plain(r, c);
        else
            add_move(r, c);
    }
}
