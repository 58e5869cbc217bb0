/* Operations of a GPU but attention and products beside what they are due: the
 * bytes that they have to move over the bandwidth of a copy, or flops over the
 * rate of cuBLASLt, measured in the same run.
 *
 *     bench/gpu/kernels [1b | 7b | tiny]
 *
 * Shapes are those of a Llama, 16,384 tokens at once, numbers random. A byte
 * that could be kept in caches between two passes over it counts once. */
#include "bench/gpu/rig.h"
#include "kernels/expr_dense.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WANTED 0.85

typedef struct shape {
    const char *name;
    int64_t tokens, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t weights;   /* weights that the optimizer changes */
    int sampled[4];    /* rows that a token is sampled for */
    int64_t head_tile; /* rows of a tile of the head */
} shape;

static const shape shapes[] = {
    {"1b", 16384, 2048, 32, 8, 64, 8192, 128256, 1 << 28, {1, 64, 256}, 2048},
    {"7b", 16384, 4096, 32, 32, 128, 11008, 32000, 1 << 28, {1, 64, 256}, 2048},
    {"tiny", 24, 64, 4, 2, 16, 96, 300, 5000, {1, 3}, 16},
};

typedef struct bench {
    rig rig;
    const shape *s;
    double real; /* bytes of an activation */
} bench;

/* name_call(): the operation of the table as a rig_call. The table is the same
 * for the whole program. */
static const rlf_kernels *kernels;
#define OP(name, doc, flops, bytes)                        \
    __attribute__((unused)) static rlf_status name##_call( \
        rlf_queue *queue, const void *args, rlf_err *err)  \
    {                                                      \
        return kernels->name(queue, args, err);            \
    }
#include "kernels/op.def"
#undef OP

/* Time the call of one `args`, and say so. */
#define MEASURE(b, op, what, args, bytes, flops, wanted) \
    measure(b, op##_call, what, &(args), sizeof(args), bytes, flops, wanted)

static void
measure(bench *b, rig_call *call, const char *what, const void *args,
        size_t size, double bytes, double flops, double wanted)
{
    char name[120];
    const char *by;
    double due = rig_due(&b->rig, bytes, flops, &by);
    snprintf(name, sizeof name, "%s %s", b->s->name, what);
    rig_row(name, rig_time(&b->rig, call, args, size, 1), due, by, wanted);
}

static void
norms(bench *b)
{
    rig *r = &b->rig;
    int64_t m = b->s->tokens, d = b->s->hidden;
    double row = (double)m * (double)d * b->real;
    rlf_rmsnorm_args norm = {.m = m,
                             .d = d,
                             .x = rig_reals(r, m * d),
                             .weight = rig_floats(r, d),
                             .eps = 1e-5F,
                             .y = rig_take(r, (size_t)row),
                             .rstd = rig_take(r, (size_t)m * sizeof(float))};
    MEASURE(b, rmsnorm, "rmsnorm", norm, 2 * row, 0, WANTED);
    rlf_rmsnorm_grad_args grad = {.m = m,
                                  .d = d,
                                  .x = norm.x,
                                  .weight = norm.weight,
                                  .rstd = norm.rstd,
                                  .dy = rig_reals(r, m * d),
                                  .dx = norm.y,
                                  .add = true};
    MEASURE(b, rmsnorm_grad, "rmsnorm_grad of x", grad, 4 * row, 0, WANTED);
    grad.dweight = rig_floats(r, d);
    MEASURE(b, rmsnorm_grad, "rmsnorm_grad of x and weight", grad, 4 * row, 0,
            WANTED);
    rig_clear(r);
}

static void
ropes(bench *b)
{
    rig *r = &b->rig;
    const shape *s = b->s;
    int64_t m = s->tokens, heads = s->heads + s->kv_heads;
    int64_t qkv = (heads + s->kv_heads) * s->head_dim, n = 4096;
    rlf_rope_args rope = {.m = m,
                          .heads = heads,
                          .d = s->head_dim,
                          .half = s->head_dim / 2,
                          .positions = rig_ints(r, m, n),
                          .n_positions = n,
                          .cos = rig_floats(r, n * s->head_dim / 2),
                          .sin = rig_floats(r, n * s->head_dim / 2),
                          .x = rig_reals(r, m * qkv),
                          .ldx = qkv,
                          .ldy = qkv};
    rope.y = (rlf_real *)(uintptr_t)rope.x; /* in place, as a model does */
    double bytes = (double)(m * heads * s->head_dim) * b->real;
    MEASURE(b, rope, "rope of queries and keys", rope, 2 * bytes, 0, WANTED);
    int64_t kv = s->kv_heads * s->head_dim, page = 64, pages = m / page + 1;
    int32_t *slots = malloc((size_t)m * sizeof *slots);
    for (int64_t i = 0; i < m; i++)
        slots[i] = (int32_t)i;
    rlf_kv_write_args write = {.m = m,
                               .kv_heads = s->kv_heads,
                               .d = s->head_dim,
                               .k = rope.x,
                               .v = rope.x,
                               .ldk = qkv,
                               .ldv = qkv,
                               .slots = rig_send(r, slots, (size_t)m * 4),
                               .kv = rig_reals(r, pages * 2 * page * kv),
                               .page_size = page,
                               .half = rope.half,
                               .heads = s->heads,
                               .q = rope.y,
                               .ldq = qkv,
                               .positions = rope.positions,
                               .n_positions = n,
                               .cos = rope.cos,
                               .sin = rope.sin};
    bytes += (double)(m * kv) * b->real;
    MEASURE(b, kv_write, "rope of queries and keys, to pages", write, 2 * bytes,
            0, WANTED);
    free(slots);
    rig_clear(r);
}

static void
gates(bench *b)
{
    rig *r = &b->rig;
    int64_t m = b->s->tokens, d = b->s->ffn;
    double row = (double)m * (double)d * b->real;
    void *x = rig_reals(r, 2 * m * d), *y = rig_reals(r, m * d);
    rlf_glu_args gate = {.m = m, .d = d, .gate = x, .ldx = 2 * d, .y = y};
    gate.up = rlf_real_at(kernels, x, d);
    MEASURE(b, glu, "glu", gate, 3 * row, 0, WANTED);
    rlf_glu_grad_args grad = {.m = m,
                              .d = d,
                              .gate = x,
                              .up = gate.up,
                              .ldx = 2 * d,
                              .dy = y,
                              .dgate = x,
                              .dup = rlf_real_at(kernels, x, d),
                              .lddx = 2 * d};
    MEASURE(b, glu_grad, "glu_grad", grad, 5 * row, 0, WANTED);
    rlf_bias_grad_args bias = {.m = m, .n = d, .dy = y, .db = rig_floats(r, d)};
    MEASURE(b, bias_grad, "bias_grad", bias, row, 0, WANTED);
    rlf_add_args add = {.m = m, .d = d, .a = x, .b = y, .c = y};
    MEASURE(b, add, "add", add, 3 * row, 0, WANTED);
    rig_clear(r);
}

/* Returns the expected number of distinct tokens, of v, among m that rig_ints
 * draws. */
static double
distinct(int64_t m, int64_t v)
{
    double none = 1;
    for (int64_t i = 0; i < m; i++)
        none *= 1 - 1 / (double)v;
    return (double)v * (1 - none);
}

static void
embeddings(bench *b)
{
    rig *r = &b->rig;
    int64_t m = b->s->tokens, d = b->s->hidden, v = b->s->vocab;
    double row = (double)m * (double)d, rows = distinct(m, v) * (double)d;
    rlf_embed_args embed = {.m = m,
                            .d = d,
                            .v = v,
                            .tokens = rig_ints(r, m, v),
                            .w = rig_floats(r, v * d),
                            .y = rig_reals(r, m * d)};
    MEASURE(b, embed, "embed", embed, rows * 4 + row * b->real, 0, WANTED);
    rlf_embed_grad_args grad = {.m = m,
                                .d = d,
                                .v = v,
                                .tokens = embed.tokens,
                                .dy = embed.y,
                                .dw = (float *)(uintptr_t)embed.w};
    MEASURE(b, embed_grad, "embed_grad", grad, rows * 8 + row * b->real, 0,
            WANTED);
    rlf_rows_gather_args gather = {.m = m,
                                   .d = d,
                                   .index = rig_ints(r, m, m),
                                   .x = embed.y,
                                   .y = rig_reals(r, m * d)};
    MEASURE(b, rows_gather, "rows_gather", gather,
            (row + distinct(m, m) * (double)d) * b->real, 0, WANTED);
    rig_clear(r);
}

static void
optimizer(bench *b)
{
    rig *r = &b->rig;
    int64_t n = b->s->weights, d = b->s->hidden, rows = n / d;
    rlf_adamw_args adam = {.n = n,
                           .w = rig_floats(r, n),
                           .m = rig_zeros(r, n),
                           .v = rig_zeros(r, n),
                           .g = rig_floats(r, n),
                           .grad_scale = 1,
                           .lr = 1e-6F,
                           .beta1 = 0.9F,
                           .beta2 = 0.98F,
                           .eps = 1e-8F,
                           .bias1 = 0.1,
                           .bias2 = 0.02};
    MEASURE(b, adamw, "adamw", adam, 28.0 * (double)n, 0, WANTED);
    size_t packed = kernels->product_packed_bytes(rows, d, RLF_PRODUCT_FORWARD);
    void *matrix = rig_take(r, packed);
    if (kernels->one_pack) {
        rlf_adamw_args both = adam;
        both.n = rows * d;
        both.cols = d;
        both.packed = matrix;
        MEASURE(b, adamw, "adamw and packing", both,
                (28 + b->real) * (double)both.n, 0, WANTED);
    }
    int64_t blocks = (n + RLF_SUMSQ_BLOCK - 1) / RLF_SUMSQ_BLOCK;
    rlf_sumsq_args sum = {
        .n = n, .x = adam.g, .blocks = rig_take(r, (size_t)blocks * 8)};
    MEASURE(b, sumsq, "sumsq, dense", sum, 4.0 * (double)n, 0, WANTED);
    sum.n = rows * (d / 2);
    sum.width = d / 2;
    sum.ld = d;
    MEASURE(b, sumsq, "sumsq of columns", sum, 4.0 * (double)sum.n, 0, WANTED);
    rlf_product_pack_args pack = {.rows = rows,
                                  .cols = d,
                                  .w = adam.g,
                                  .form = RLF_PRODUCT_FORWARD,
                                  .packed = matrix};
    MEASURE(b, product_pack, "product_pack", pack,
            (4 + b->real) * (double)(rows * d), 0, WANTED);
    rlf_fill_args fill = {.n = n, .y = adam.m};
    MEASURE(b, fill, "fill", fill, 4.0 * (double)n, 0, WANTED);
    rig_clear(r);
}

/* ---- programs over the vocabulary ---- */

enum { ROW = 1, WORD }; /* domains */
static const rlf_span nowhere;

/* Inputs: log-probabilities of two models at each word, a number of the row. */
static rlf_expr *
program_new(rlf_arena *arena, int in[3])
{
    rlf_domains *domains = RLF_NEW(arena, rlf_domains);
    rlf_domains_init(domains, arena);
    rlf_domains_add(domains,
                    (rlf_domain){.kind = RLF_DOMAIN_ROWS, .owner = -1});
    rlf_domains_add(domains,
                    (rlf_domain){.kind = RLF_DOMAIN_TOKENS, .owner = ROW});
    rlf_expr *e = rlf_expr_new(arena, domains);
    for (int i = 0; i < 3; i++) {
        rlf_expr_input input = {.domain = i < 2 ? WORD : ROW};
        in[i] = rlf_expr_input_op(e, rlf_expr_add_input(e, input), nowhere);
    }
    return e;
}

static int
program_op(rlf_expr *e, rlf_expr_code code, int domain, int x)
{
    return rlf_expr_add(e, (rlf_expr_op){.code = code,
                                         .domain = domain,
                                         .arg = {x, -1, -1},
                                         .over = ROW});
}

static int
pair(rlf_expr *e, rlf_expr_code code, int x, int y)
{
    return rlf_expr_pointwise(e, code, x, y, -1, nowhere);
}

/* The divergence of a row: sum of exp(p) (p - q). */
static int
divergence(rlf_expr *e, const int in[3])
{
    int p = pair(e, RLF_EXPR_EXP, in[0], -1);
    int far = pair(e, RLF_EXPR_SUB, in[0], in[1]);
    return program_op(e, RLF_EXPR_SUM, ROW, pair(e, RLF_EXPR_MUL, p, far));
}

/* Of a loss, at each word: exp(p) (p - q) times a number of the row. */
static int
slope(rlf_expr *e, const int in[3])
{
    int p = pair(e, RLF_EXPR_EXP, in[0], -1);
    int far = pair(e, RLF_EXPR_SUB, in[0], in[1]);
    return pair(e, RLF_EXPR_MUL, pair(e, RLF_EXPR_MUL, p, far), in[2]);
}

/* The running sum of exp(p). */
static int
running(rlf_expr *e, const int in[3])
{
    return program_op(e, RLF_EXPR_CUMSUM, WORD,
                      pair(e, RLF_EXPR_EXP, in[0], -1));
}

static void
programs(bench *b)
{
    static const struct {
        const char *name;
        int (*make)(rlf_expr *e, const int in[3]);
        int words; /* columns of words that have to be moved */
    } some[] = {{"a divergence", divergence, 2},
                {"its slope", slope, 3},
                {"a running sum", running, 2}};
    rig *r = &b->rig;
    int64_t m = r->small ? 3 : 1024, v = b->s->vocab;
    rlf_arena *arena = rlf_arena_new();
    double number[1024] = {0};
    rlf_dense_column in[] = {{.data = rig_floats(r, m * v)},
                             {.data = rig_floats(r, m * v)},
                             {.data = number}};
    rlf_dense_column out = {.data = rig_take(r, (size_t)(m * v) * 4)};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        char name[64];
        int from[3];
        rlf_err err = RLF_ERR_NONE;
        const rlf_expr_dense *program;
        rlf_expr *e = program_new(arena, from);
        rlf_expr_add_output(e, "y", some[i].make(e, from));
        must(rlf_expr_dense_new(e, arena, &err, &program), &err);
        rlf_expr_dense_args args = {
            .m = m, .v = v, .program = program, .inputs = in, .outputs = &out};
        snprintf(name, sizeof name, "expr_dense, %d rows: %s", (int)m,
                 some[i].name);
        MEASURE(b, expr_dense, name, args,
                4.0 * (double)(m * v * some[i].words), 0, 0);
    }
    rlf_arena_free(arena);
    rig_clear(r);
}

/* Under filters, what is due is to read the logits once: the product is next to
 * nothing, as long as there are few rows. */
static void
filters(bench *b)
{
    static const struct {
        const char *name;
        int32_t k;
        float p, min;
    } some[] = {{"top_k 50", 50, 0, 0},
                {"top_p 0.95", 0, 0.95F, 0},
                {"top_k 50, top_p 0.95, min_p 0.05", 50, 0.95F, 0.05F},
                {"no filter", 0, 0, 0}};
    static const int64_t counts[] = {1, 64};
    rig *r = &b->rig;
    int64_t v = r->small ? 3000 : 150000, d = 16;
    size_t bytes = kernels->head_work_bytes(64, v, d, NULL);
    double uniform[64];
    for (int i = 0; i < 64; i++)
        uniform[i] = (i + 0.5) / 64;
    rlf_product_pack_args pack = {
        .rows = v,
        .cols = d,
        .w = rig_floats(r, v * d),
        .form = RLF_PRODUCT_FORWARD,
        .packed = rig_take(
            r, kernels->product_packed_bytes(v, d, RLF_PRODUCT_FORWARD))};
    rlf_err err = RLF_ERR_NONE;
    must(kernels->product_pack(r->queue, &pack, &err), &err);
    rlf_sample_args sample = {.v = v,
                              .d = d,
                              .x = rig_reals(r, 64 * d),
                              .packed = pack.packed,
                              .temperature = 0.3F,
                              .uniform = rig_send(r, uniform, sizeof uniform),
                              .tokens = rig_take(r, sizeof(int32_t[64])),
                              .logprob = rig_take(r, sizeof(float[64])),
                              .work = rig_take(r, bytes),
                              .work_bytes = bytes};
    for (size_t i = 0; i < 2 * sizeof some / sizeof *some; i++) {
        char name[80];
        sample.m = counts[i % 2];
        sample.top_k = some[i / 2].k;
        sample.top_p = some[i / 2].p;
        sample.min_p = some[i / 2].min;
        snprintf(name, sizeof name, "sample of %d words, %d rows, %s", (int)v,
                 (int)sample.m, some[i / 2].name);
        MEASURE(b, sample, name, sample, 4.0 * (double)(sample.m * v), 0, 0);
    }
    rig_clear(r);
}

/* The head as a model has it: tiles of so many rows. */
static void
head(bench *b)
{
    rig *r = &b->rig;
    int64_t m = b->s->tokens, v = b->s->vocab, d = b->s->hidden;
    int times = r->times;
    double flops = 2.0 * (double)m * (double)v * (double)d;
    size_t bytes = kernels->head_work_bytes(b->s->head_tile, v, d, NULL);
    size_t packed = kernels->product_packed_bytes(v, d, RLF_PRODUCT_FORWARD);
    rlf_err err = RLF_ERR_NONE;
    rlf_product_pack_args pack = {.rows = v,
                                  .cols = d,
                                  .w = rig_floats(r, v * d),
                                  .form = RLF_PRODUCT_FORWARD,
                                  .packed = rig_take(r, packed)};
    must(kernels->product_pack(r->queue, &pack, &err), &err);
    rlf_head_logprob_args logprob = {.m = m,
                                     .v = v,
                                     .d = d,
                                     .x = rig_reals(r, m * d),
                                     .packed = pack.packed,
                                     .targets = rig_ints(r, m, v),
                                     .logprob = rig_take(r, (size_t)m * 4),
                                     .entropy = rig_take(r, (size_t)m * 4),
                                     .work = rig_take(r, bytes),
                                     .work_bytes = bytes};
    r->times = r->small ? 1 : 2;
    MEASURE(b, head_logprob, "head_logprob with entropy", logprob, 0, flops,
            WANTED);
    rlf_head_loss_args loss = {.forward = logprob,
                               .packed_back = pack.packed,
                               .dlogprob = rig_floats(r, m),
                               .dentropy = rig_floats(r, m),
                               .dx = rig_take(r, (size_t)(m * d) * 4),
                               .dw = (float *)(uintptr_t)pack.w};
    if (kernels->one_pack)
        MEASURE(b, head_loss, "head_loss with entropy", loss, 0, 3 * flops,
                WANTED);
    r->times = times;
    for (int i = 0; i < 4 && b->s->sampled[i]; i++) {
        int64_t n = b->s->sampled[i];
        char name[48];
        double *uniform = malloc((size_t)n * sizeof *uniform);
        for (int64_t k = 0; k < n; k++)
            uniform[k] = ((double)k + 0.5) / (double)n;
        rlf_sample_args sample = {
            .m = n,
            .v = v,
            .d = d,
            .x = logprob.x,
            .packed = pack.packed,
            .uniform = rig_send(r, uniform, (size_t)n * sizeof *uniform),
            .tokens = rig_take(r, (size_t)n * 4),
            .logprob = logprob.logprob,
            .work = logprob.work,
            .work_bytes = bytes};
        double weights = (double)v * (double)d * b->real;
        double part = flops / (double)m * (double)n;
        snprintf(name, sizeof name, "sample, %d rows", (int)n);
        MEASURE(b, sample, name, sample, weights, part, WANTED);
        free(uniform);
    }
    rig_clear(r);
}

int
main(int argc, char **argv)
{
    bench b = {0};
    rig_open(&b.rig, argc, argv);
    kernels = b.rig.kernels;
    b.real = (double)rlf_real_bytes(kernels);
    rig_table();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        b.s = &shapes[i];
        if (!rig_named(argc, argv, b.s->name))
            continue;
        norms(&b);
        ropes(&b);
        gates(&b);
        embeddings(&b);
        optimizer(&b);
        head(&b);
        programs(&b);
        if (i == 0 || b.rig.small)
            filters(&b);
    }
    rig_close(&b.rig);
    return 0;
}
