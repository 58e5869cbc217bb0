/* The time of every operation of a training step and of a decode step, for
 * the arithmetic model and the story model.
 *
 *     bench/ops [threads] [seconds per measurement]
 *
 * GFLOP/s count 4 flops per (query, key, element) of causal attention forward
 * and 10 backward, 2 per weight for the head (6 with gradients). */
#include "bench/measure.h"
#include "kernels/kernels.h"

#include <string.h>

typedef struct model {
    const char *name;
    int64_t d, heads, kv_heads, head_dim, ffn, v;
    int64_t n_seqs, length; /* training */
    int64_t decode, context;
} model;

static const model models[] = {
    {"arithmetic", 96, 4, 2, 24, 256, 43, 64, 28, 64, 26},
    {"story", 288, 6, 6, 48, 768, 32000, 8, 256, 64, 200},
};

static double seconds = 0.1;
static rlf_device *device;
static rlf_queue *queue;
static rlf_err err = RLF_ERR_NONE;

static void *
take(size_t bytes)
{
    void *p;
    check(rlf_device_alloc(device, bytes, &p, &err), &err);
    memset(p, 0, bytes);
    return p;
}

static float *
numbers(int64_t n)
{
    float *x = take((size_t)n * 4);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)((uint64_t)i * 2654435761u % 1000) / 1000 - .5);
    return x;
}

#define TIME(what, flops, call)                                         \
    do {                                                                \
        double least_ = 1e9, start_ = now();                            \
        do {                                                            \
            double t_ = now();                                          \
            check(call, &err);                                          \
            t_ = now() - t_;                                            \
            least_ = t_ < least_ ? t_ : least_;                         \
        } while (now() - start_ < seconds);                             \
        printf("  %-28s %9.1f us  %6.1f GFLOP/s\n", what, 1e6 * least_, \
               1e-9 * (flops) / least_);                                \
    } while (0)

static void
attention_ops(const rlf_kernels *k, const model *m)
{
    int64_t tokens = m->n_seqs * m->length, row = m->heads * m->head_dim;
    int64_t kv_row = m->kv_heads * m->head_dim, ld = row + 2 * kv_row;
    int32_t *offsets = take(4096), *one = take(4096), *starts = take(4096);
    for (int i = 0; i < 512; i++) {
        offsets[i] = (int32_t)(i * m->length);
        one[i] = i;
        starts[i] = (int32_t)m->context;
    }
    float *qkv = numbers(tokens * ld), *dqkv = numbers(tokens * ld);
    float *o = numbers(tokens * row), *lse = numbers(tokens * m->heads);
    double pairs = (double)(m->n_seqs * m->length) * (double)(m->length + 1) /
                   2 * (double)row;
    rlf_attention_args a = {.n_seqs = m->n_seqs,
                            .offsets = offsets,
                            .heads = m->heads,
                            .kv_heads = m->kv_heads,
                            .d = m->head_dim,
                            .scale = 0.2f,
                            .q = qkv,
                            .k = qkv + row,
                            .v = qkv + row + kv_row,
                            .ldq = ld,
                            .ldk = ld,
                            .ldv = ld,
                            .o = o,
                            .lse = lse};
    TIME("attention", 4 * pairs, k->attention(queue, &a, &err));
    rlf_attention_grad_args g = {.n_seqs = m->n_seqs,
                                 .offsets = offsets,
                                 .heads = m->heads,
                                 .kv_heads = m->kv_heads,
                                 .d = m->head_dim,
                                 .scale = 0.2f,
                                 .q = a.q,
                                 .k = a.k,
                                 .v = a.v,
                                 .ldq = ld,
                                 .ldk = ld,
                                 .ldv = ld,
                                 .o = o,
                                 .d_o = numbers(tokens * row),
                                 .lse = lse,
                                 .dq = dqkv,
                                 .dk = dqkv + row,
                                 .dv = dqkv + row + kv_row,
                                 .lddq = ld,
                                 .lddk = ld,
                                 .lddv = ld};
    TIME("attention_grad", 10 * pairs, k->attention_grad(queue, &g, &err));
    int64_t per = (m->context + 16) / 16;
    int32_t *pages = take((size_t)(m->decode * per) * 4);
    for (int64_t i = 0; i < m->decode * per; i++)
        pages[i] = (int32_t)i;
    rlf_attention_paged_args p = {
        .n_seqs = m->decode,
        .offsets = one,
        .starts = starts,
        .pages = pages,
        .ld_pages = per,
        .heads = m->heads,
        .kv_heads = m->kv_heads,
        .d = m->head_dim,
        .scale = 0.2f,
        .q = qkv,
        .ldq = ld,
        .kv = numbers(m->decode * per *
                      rlf_kv_page_floats(16, m->kv_heads, m->head_dim)),
        .page_size = 16,
        .o = o};
    TIME("attention_paged (decode)",
         4.0 * (double)(m->decode * (m->context + 1) * row),
         k->attention_paged(queue, &p, &err));
}

static void
head_ops(const rlf_kernels *k, const model *m)
{
    int64_t n = m->n_seqs * m->length, v = m->v, d = m->d;
    float *w = numbers(v * d);
    void *packed[2];
    for (int i = 0; i < 2; i++) {
        rlf_product_pack_args p = {
            .rows = v, .cols = d, .w = w, .form = (rlf_product_form)i};
        p.packed = packed[i] =
            take(k->product_packed_bytes(v, d, (rlf_product_form)i));
        TIME(i ? "product_pack (head, back)" : "product_pack (head)", 0.0,
             k->product_pack(queue, &p, &err));
    }
    int32_t *targets = take((size_t)n * 4);
    size_t bytes = k->head_work_bytes(n < 256 ? n : 256, v, d, NULL);
    rlf_head_logprob_args f = {.m = n,
                               .v = v,
                               .d = d,
                               .x = numbers(n * d),
                               .packed = packed[0],
                               .targets = targets,
                               .logprob = numbers(n),
                               .work = take(bytes),
                               .work_bytes = bytes};
    double flops = 2.0 * (double)(n * v * d);
    TIME("head_logprob", flops, k->head_logprob(queue, &f, &err));
    rlf_head_loss_args l = {.forward = f,
                            .packed_back = packed[1],
                            .dlogprob = numbers(n),
                            .dx = numbers(n * d),
                            .dw = numbers(v * d)};
    TIME("head_loss", 3 * flops, k->head_loss(queue, &l, &err));
    rlf_sample_args s = {.m = m->decode,
                         .v = v,
                         .d = d,
                         .x = f.x,
                         .packed = packed[0],
                         .uniform = take(4096),
                         .tokens = targets,
                         .logprob = f.logprob,
                         .work = f.work,
                         .work_bytes = bytes};
    double rows = 2.0 * (double)(m->decode * v * d);
    TIME("sample", rows, k->sample(queue, &s, &err));
    s.top_p = 0.9f;
    TIME("sample, top_p 0.9", rows, k->sample(queue, &s, &err));
    s.m = 1;
    s.top_p = 0;
    TIME("sample, one row", 2.0 * (double)(v * d), k->sample(queue, &s, &err));
}

static void
row_ops(const rlf_kernels *k, const model *m)
{
    int64_t n = m->n_seqs * m->length, d = m->d;
    float *x = numbers(n * d), *y = numbers(n * d), *w = numbers(d);
    float *r = numbers(n), *dx = numbers(n * d), *dw = numbers(d);
    float *gate = numbers(n * 2 * m->ffn), *dgate = numbers(n * 2 * m->ffn);
    float *h = numbers(n * m->ffn);
    rlf_rmsnorm_args norm = {
        .m = n, .d = d, .x = x, .weight = w, .eps = 1e-5f, .y = y, .rstd = r};
    TIME("rmsnorm", 4.0 * (double)(n * d), k->rmsnorm(queue, &norm, &err));
    rlf_rmsnorm_grad_args ng = {.m = n,
                                .d = d,
                                .x = x,
                                .weight = w,
                                .rstd = r,
                                .dy = y,
                                .dx = dx,
                                .add = true,
                                .dweight = dw};
    TIME("rmsnorm_grad", 11.0 * (double)(n * d),
         k->rmsnorm_grad(queue, &ng, &err));
    int64_t half = m->head_dim / 2;
    int32_t *positions = take((size_t)n * 4);
    rlf_rope_args rope = {.m = n,
                          .heads = m->heads + m->kv_heads,
                          .d = m->head_dim,
                          .half = half,
                          .positions = positions,
                          .n_positions = 1,
                          .cos = numbers(half),
                          .sin = numbers(half),
                          .x = gate,
                          .y = dgate};
    TIME("rope (q and k)",
         3.0 * (double)(n * (m->heads + m->kv_heads) * m->head_dim),
         k->rope(queue, &rope, &err));
    rlf_glu_args s = {.m = n,
                      .d = m->ffn,
                      .gate = gate,
                      .up = gate + m->ffn,
                      .ldx = 2 * m->ffn,
                      .y = h};
    TIME("glu", 8.0 * (double)(n * m->ffn), k->glu(queue, &s, &err));
    rlf_glu_grad_args sg = {.m = n,
                            .d = m->ffn,
                            .gate = gate,
                            .up = gate + m->ffn,
                            .ldx = 2 * m->ffn,
                            .dy = h,
                            .dgate = dgate,
                            .dup = dgate + m->ffn,
                            .lddx = 2 * m->ffn};
    TIME("glu_grad", 14.0 * (double)(n * m->ffn),
         k->glu_grad(queue, &sg, &err));
    rlf_embed_args e = {.m = n,
                        .d = d,
                        .v = m->v,
                        .tokens = positions,
                        .w = take((size_t)(m->v * d) * 4),
                        .y = y};
    TIME("embed", 0.0, k->embed(queue, &e, &err));
    rlf_adamw_args adam = {.n = n * d,
                           .w = x,
                           .m = y,
                           .v = take((size_t)(n * d) * 4),
                           .g = dx,
                           .grad_scale = 1,
                           .eps = 1e-8f,
                           .bias1 = 1,
                           .bias2 = 1};
    TIME("adamw (tokens x d)", 16.0 * (double)(n * d),
         k->adamw(queue, &adam, &err));
    double total = 0;
    rlf_sumsq_args q = {.n = n * d, .x = dx, .total = &total};
    TIME("sumsq (tokens x d)", 2.0 * (double)(n * d),
         k->sumsq(queue, &q, &err));
    norm.m = 1;
    TIME("rmsnorm, one row", 4.0 * (double)d, k->rmsnorm(queue, &norm, &err));
}

int
main(int argc, char **argv)
{
    rlf_cpu_options options = {.n_threads = argc > 1 ? atoi(argv[1]) : 2};
    seconds = argc > 2 ? atof(argv[2]) : 0.1;
    if (options.n_threads == 1)
        clock_used = CLOCK_THREAD_CPUTIME_ID;
    check(rlf_device_cpu_new(&options, &device, &err), &err);
    check(rlf_queue_new(device, &queue, &err), &err);
    const rlf_kernels *k = rlf_kernels_cpu();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        printf("%s (%s, %d threads)\n", models[i].name, k->isa,
               options.n_threads);
        row_ops(k, &models[i]);
        attention_ops(k, &models[i]);
        head_ops(k, &models[i]);
    }
    return 0;
}
