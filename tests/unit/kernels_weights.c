/* Weights that are packed in the bf16 that they are of: every operation that
 * reads them gives the bits that it gives for the same numbers in f32, which
 * the other tests hold to their oracles. See kernels_case.h. */
#include "tests/unit/kernels_case.h"

#define N(a) ((int64_t)(sizeof(a) / sizeof *(a)))

/* m, rows and columns of w: rows of a tile, of the two that widen in registers,
 * and of more; panels that are whole, nearly and barely; k in several pieces */
static const int64_t shapes[][3] = {
    {1, 1, 1},     {1, 96, 430},   {2, 33, 96},   {6, 47, 40},    {9, 49, 390},
    {10, 130, 64}, {18, 97, 24},   {19, 65, 400}, {28, 16, 9},    {70, 31, 17},
    {260, 50, 33}, {5, 1600, 100}, {3, 48, 0},    {131, 90, 770},
};

/* Weights of bf16, signs and sizes mixed. */
static float *
weights(env *e, int64_t n)
{
    float *w = values(e, n, 1);
    for (int64_t i = 0; i < n; i++)
        w[i] = rlf_bf16_to_f32(rlf_f32_to_bf16(w[i]));
    return w;
}

/* Each shard of the rows by itself. */
static void *
pack(env *e, const float *w, int64_t rows, int64_t cols, int of,
     rlf_product_form form, bool bf16)
{
    size_t bytes = 0;
    for (int s = 0; s < of; s++)
        bytes += rlf_packed_bytes(e->k,
                                  rlf_shard_first(rows, of, s + 1) -
                                      rlf_shard_first(rows, of, s),
                                  cols, form, bf16);
    char *packed = take(e, (int64_t)bytes, 1), *at = packed;
    for (int s = 0; s < of; s++) {
        int64_t from = rlf_shard_first(rows, of, s);
        int64_t n = rlf_shard_first(rows, of, s + 1) - from;
        CALL(e, product_pack, .rows = n, .cols = cols, .w = w + from * cols,
             .form = form, .bf16 = bf16, .packed = at);
        at += rlf_packed_bytes(e->k, n, cols, form, bf16);
    }
    return packed;
}

static void
forget(env *e)
{
    while (e->n_held > 0) {
        pin(e, e->held[--e->n_held], 0);
        free(e->held[e->n_held]);
    }
}

/* One form of product, in f32 and in bf16. */
static void
both_products(env *e, const int64_t *shape, rlf_product_form form, int of,
              bool gated)
{
    bool forward = form == RLF_PRODUCT_FORWARD, bf16 = e->k->bf16_weights;
    int64_t m = shape[0], rows = shape[1] * (gated ? 2 : 1), cols = shape[2];
    int64_t n = forward ? rows : cols, k = forward ? cols : rows;
    float *x = values(e, m * (k + 1), 1), *w = weights(e, rows * cols);
    float *bias = values(e, n, 1), *c[2], *y[2];
    for (int i = 0; i < 2; i++) {
        c[i] = blank(e, m * n);
        y[i] = blank(e, m * n);
        rlf_product_form as = i && bf16 ? RLF_PRODUCT_FORWARD : form;
        if (e->k->one_pack)
            as = RLF_PRODUCT_FORWARD;
        void *packed = pack(e, w, rows, cols, 1, as, i && bf16);
        CALL(e, product, .m = m, .n = n, .k = k, .x = x, .ldx = k + 1,
             .packed = packed, .form = form, .bf16 = i && bf16, .bias = bias,
             .c = c[i], .shards = {.of = of});
        CALL(e, product, .m = m, .n = n, .k = k, .x = x, .ldx = k + 1,
             .packed = packed, .form = form, .bf16 = i && bf16, .c = c[i],
             .add = true);
        if (gated)
            CALL(e, product_glu, .m = m, .d = n / 2, .k = k, .x = x,
                 .ldx = k + 1, .packed = packed, .bf16 = i && bf16,
                 .bias = bias, .c = c[i], .keep = true, .y = y[i]);
    }
    same(e, c[1], c[0], m * n, 4, forward ? "forward" : "backward");
    if (gated)
        same(e, y[1], y[0], m * n / 2, 4, "gated");
    out_f32(e, c[1], m * n);
    forget(e);
}

static void
test_product(env *e)
{
    for (int64_t s = 0; s < N(shapes); s++) {
        both_products(e, shapes[s], RLF_PRODUCT_FORWARD, 1, false);
        both_products(e, shapes[s], RLF_PRODUCT_FORWARD, s % 2 ? 4 : 3, false);
        both_products(e, shapes[s], RLF_PRODUCT_FORWARD, 1, true);
        both_products(e, shapes[s], RLF_PRODUCT_BACKWARD, 1, false);
        both_products(e, shapes[s], RLF_PRODUCT_BACKWARD, s % 2 ? 3 : 8, false);
    }
}

/* Of a head: log-probabilities, tokens, the gradient back. */
typedef struct answers {
    float *logprob, *entropy, *dx, *said;
    int32_t *tokens;
} answers;

typedef struct head {
    int64_t m, v, d;
    int of;
    float *x, *w, *dlogprob;
    double *uniform;
    int32_t *targets;
    void *work;
    size_t work_bytes;
} head;

static void
ask(env *e, const head *h, bool bf16, float cap, answers *a)
{
    a->logprob = blank(e, h->m);
    a->entropy = blank(e, h->m);
    a->said = blank(e, h->m);
    a->dx = blank(e, h->m * h->d);
    a->tokens = take(e, h->m, sizeof *a->tokens);
    rlf_head_part part = {.shards = {.of = h->of}};
    void *packed = pack(e, h->w, h->v, h->d, h->of, RLF_PRODUCT_FORWARD, bf16);
    void *back =
        bf16 ? NULL
             : pack(e, h->w, h->v, h->d, 1,
                    e->k->one_pack ? RLF_PRODUCT_FORWARD : RLF_PRODUCT_BACKWARD,
                    false);
    rlf_head_logprob_args forward = {.m = h->m,
                                     .v = h->v,
                                     .d = h->d,
                                     .part = part,
                                     .x = h->x,
                                     .packed = packed,
                                     .bf16 = bf16,
                                     .cap = cap,
                                     .temperature = 0.75f,
                                     .targets = h->targets,
                                     .logprob = a->logprob,
                                     .entropy = a->entropy,
                                     .work = h->work,
                                     .work_bytes = h->work_bytes};
    must(e, e->k->head_logprob(e->queue, &forward, &e->err));
    CALL(e, head_loss, .forward = forward, .packed_back = back,
         .dlogprob = h->dlogprob, .dx = a->dx);
    CALL(e, sample, .m = h->m, .v = h->v, .d = h->d, .part = part, .x = h->x,
         .packed = packed, .bf16 = bf16, .cap = cap, .temperature = 0.75f,
         .uniform = h->uniform, .tokens = a->tokens, .logprob = a->said,
         .work = h->work, .work_bytes = h->work_bytes);
}

static void
both_heads(env *e, int64_t m, int64_t v, int64_t d, int of, float cap)
{
    head h = {.m = m, .v = v, .d = d, .of = of};
    answers a[2];
    h.x = values(e, m * d, 1);
    h.w = weights(e, v * d);
    h.dlogprob = values(e, m, 1);
    h.targets = indices(e, m, v);
    h.uniform = take(e, m, sizeof *h.uniform);
    for (int64_t i = 0; i < m; i++)
        h.uniform[i] = uniform(e);
    rlf_head_part part = {.shards = {.of = of}};
    h.work_bytes = e->k->head_work_bytes(16, v, d, &part);
    h.work = take(e, (int64_t)h.work_bytes, 1);
    for (int i = 0; i < 2; i++)
        ask(e, &h, i && e->k->bf16_weights, cap, &a[i]);
    same(e, a[1].logprob, a[0].logprob, m, 4, "log-probabilities");
    same(e, a[1].entropy, a[0].entropy, m, 4, "entropies");
    same(e, a[1].tokens, a[0].tokens, m, 4, "tokens");
    same(e, a[1].said, a[0].said, m, 4, "their log-probabilities");
    same(e, a[1].dx, a[0].dx, m * d, 4, "dx");
    out_f32(e, a[1].logprob, m);
    out(e, a[1].tokens, m, 4);
    out_f32(e, a[1].dx, m * d);
    forget(e);
}

static void
test_heads(env *e)
{
    both_heads(e, 1, 43, 24, 1, 0);
    both_heads(e, 20, 1601, 40, 1, 2);
    both_heads(e, 7, 1601, 33, 4, 0);
    both_heads(e, 33, 100, 64, 3, 0);
}

/* The same rows of an embedding from w and from its packing: all of it in
 * shards, and the half that one place has. Tokens below 0 are `sampled`. */
static void
packed_rows(env *e, const float *w, const int32_t *tokens,
            const int32_t *sampled, bool bf16)
{
    enum { OF = 4, M = 37, D = 70, V = 211 };
    int64_t half = rlf_shard_first(V, OF, OF / 2);
    float *y = blank(e, M * D), *z = blank(e, M * D);
    char *packed = pack(e, w, V, D, OF, RLF_PRODUCT_FORWARD, bf16),
         *at = packed;
    for (int s = 0; s < OF / 2; s++)
        at += rlf_packed_bytes(
            e->k, rlf_shard_first(V, OF, s + 1) - rlf_shard_first(V, OF, s), D,
            RLF_PRODUCT_FORWARD, bf16);
    CALL(e, embed, .m = M, .d = D, .v = V, .tokens = tokens, .sampled = sampled,
         .w = w, .y = y);
    CALL(e, embed, .m = M, .d = D, .v = V, .tokens = tokens, .sampled = sampled,
         .packed = packed, .bf16 = bf16, .shards = {.of = OF}, .y = z);
    same(e, z, y, M * D, 4, "rows");
    CALL(e, embed, .m = M, .d = D, .v = V, .first = half, .part = V - half,
         .tokens = tokens, .sampled = sampled, .w = w + half * D, .y = y);
    CALL(e, embed, .m = M, .d = D, .v = V, .first = half, .part = V - half,
         .tokens = tokens, .sampled = sampled, .packed = at, .bf16 = bf16,
         .shards = {.of = OF, .first = OF / 2, .count = OF / 2}, .y = z);
    same(e, z, y, M * D, 4, "rows of a part");
    rlf_embed_args wrong = {.m = M,
                            .d = D,
                            .v = V,
                            .first = half + 1,
                            .part = V - half - 1,
                            .tokens = tokens,
                            .sampled = sampled,
                            .packed = at,
                            .bf16 = bf16,
                            .shards = {.of = OF, .first = OF / 2},
                            .y = z};
    if (e->k->embed(e->queue, &wrong, &e->err) != RLF_BUG)
        snprintf(e->why, sizeof e->why, "takes a part that is no shards");
}

static void
test_embed(env *e)
{
    int64_t m = 37, d = 70, v = 211;
    float *w = weights(e, v * d), *y = blank(e, m * d);
    int32_t *tokens = indices(e, m, v), sampled[] = {5, 210, 99};
    float *digits = values(e, v * d, 1); /* more than bf16 has */
    for (int i = 0; i < 3; i++)
        tokens[i * 11] = -1 - i;
    CALL(e, embed, .m = m, .d = d, .v = v, .tokens = tokens, .sampled = sampled,
         .w = w, .y = y);
    out_f32(e, y, m * d);
    if (!e->k->one_pack)
        packed_rows(e, digits, tokens, sampled, false);
    if (e->k->bf16_weights)
        packed_rows(e, w, tokens, sampled, true);
}

int
main(int argc, char **argv)
{
    static const op_case cases[] = {
        {"bf16_embed", test_embed},
        {"bf16_heads", test_heads},
        {"bf16_product", test_product},
    };
    return run_cases(cases, N(cases), argc > 1 ? argv[1] : NULL);
}
