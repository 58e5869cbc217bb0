/* A training step and decoding on a GPU, beside what the GPU can do, in one
 * run.
 *
 *     bench/gpu/model [1b | 7b | tiny] [train] [decode]
 *
 * Training: 8 sequences of 2048 tokens, forward, loss, backward with
 * recomputation, AdamW; 6 flops a weight and token plus attention's (what
 * recomputation repeats is not counted), over the rate of cuBLASLt's product
 * of 8192 cubed. Decoding: a step over the larger of bytes (weights, keys and
 * values) / copy bandwidth and flops / that rate. `tiny` is a
 * look at the program where there is no GPU, no measurement. */
#include "bench/gpu/rig.h"
#include "nodes/model/generate.h"
#include "nodes/model/heads.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/transformer.h"
#include "nodes/model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KV 72e9 /* bytes */

typedef struct bench_shape {
    const char *name;
    rlf_llama_args args;
    int sequences, length, steps; /* sizes of a training step */
    /* Sequences and keys of decoding; 0: no more. */
    int batches[5], contexts[3];
    double mfu, few, many; /* wanted: of training, batches below 64 and above */
} bench_shape;

static const bench_shape shapes[] = {
    {.name = "1b",
     .args = {.layers = 16,
              .hidden = 2048,
              .heads = 32,
              .kv_heads = 8,
              .ffn = 8192,
              .vocab = 128256,
              .context = 4096,
              .tied = true,
              .bos = 1},
     .sequences = 8,
     .length = 2048,
     .steps = 6,
     .batches = {1, 16, 64, 256},
     .contexts = {512, 2048},
     .mfu = 0.5,
     .few = 1 / 1.8,
     .many = 1 / 1.4},
    {.name = "7b",
     .args = {.layers = 32,
              .hidden = 4096,
              .heads = 32,
              .kv_heads = 32,
              .ffn = 11008,
              .vocab = 32000,
              .context = 4096,
              .bos = 1},
     .sequences = 8,
     .length = 2048,
     .steps = 3,
     .batches = {1, 16, 64, 256},
     .contexts = {512, 2048},
     .mfu = 0.6,
     .few = 1 / 1.35,
     .many = 1 / 1.3},
    {.name = "tiny",
     .args = {.layers = 2,
              .hidden = 64,
              .heads = 4,
              .kv_heads = 2,
              .ffn = 128,
              .vocab = 512,
              .context = 256,
              .bos = 1},
     .sequences = 4,
     .length = 64,
     .steps = 2,
     .batches = {1, 4},
     .contexts = {32}},
};

typedef struct bench {
    const bench_shape *shape;
    rlf_arena *arena;
    rlf_device *device;
    rlf_queue *queue;
    const rlf_kernels *kernels;
    limits limits;
    rlf_model_config config;
} bench;

/* Random weights without making billions of numbers on the host: one block of
 * them, again and again, but for the norms, which are 1. */
static void
fill_weights(const bench *b, rlf_model *model)
{
    enum { BLOCK = 1 << 20 };
    rlf_err err = RLF_ERR_NONE;
    float *block = malloc(BLOCK * sizeof *block);
    uint64_t x = 88172645463325252U;
    for (int i = 0; i < BLOCK; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        block[i] = ((float)(x >> 40) * 0x1p-24F - 0.5F) * 0.06F;
    }
    int64_t n = model->table->count;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t some = n - at < BLOCK ? n - at : BLOCK;
        must(rlf_queue_copy(b->queue, model->weights + at, block,
                            (size_t)some * sizeof *block, RLF_COPY_TO_DEVICE,
                            &err),
             &err);
    }
    for (int i = 0; i < model->table->n_slots; i++) {
        const rlf_slot *slot = &model->table->slots[i];
        const rlf_fill_args one = {
            .n = slot->count, .a = 1, .y = model->weights + slot->offset};
        if (slot->kind == RLF_SLOT_NORM)
            must(b->kernels->fill(b->queue, &one, &err), &err);
    }
    must(rlf_queue_sync(b->queue, &err), &err);
    must(rlf_model_changed(model, &err), &err);
    free(block);
}

static rlf_model *
open_model(const bench *b, bool trained)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_model *model;
    const rlf_model_options options = {.head = RLF_HEAD_LM, .trained = trained};
    must(
        rlf_model_new(b->queue, b->kernels, &b->config, &options, &err, &model),
        &err);
    fill_weights(b, model);
    return model;
}

/* ---- training ---------------------------------------------------------- */

static void
train_step(const bench *b, rlf_model *model, rlf_pass *pass,
           const rlf_sequence *seqs)
{
    rlf_err err = RLF_ERR_NONE;
    double norm;
    const rlf_adamw adam = {
        .lr = 1e-6, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .clip = 1};
    uint32_t n = (uint32_t)b->shape->sequences;
    must(rlf_pass_load(pass, seqs, n, 0, RLF_ROWS_TOKENS, &err), &err);
    must(rlf_transformer_forward(model, pass, &err), &err);
    rlf_fill_args d = {.n = pass->n_rows,
                       .a = -1.0F / (float)pass->n_rows,
                       .y = pass->d_logprob};
    must(b->kernels->fill(b->queue, &d, &err), &err);
    must(rlf_head_loss(model, pass, NULL, NULL, false, &err), &err);
    must(rlf_transformer_backward_chunk(model, pass, 0, &err), &err);
    must(rlf_optimizer_step(model, &adam, &err, &norm), &err);
    must(rlf_queue_sync(b->queue, &err), &err);
}

static void
train(const bench *b)
{
    const bench_shape *s = b->shape;
    rlf_err err = RLF_ERR_NONE;
    rlf_model *model = open_model(b, true);
    rlf_pass *pass;
    const rlf_pass_options options = {
        .tokens = s->sequences * s->length, .train = true, .recompute = true};
    must(rlf_pass_new(model, &options, &err, &pass), &err);
    uint32_t *ids = malloc((size_t)options.tokens * sizeof *ids);
    rlf_sequence *seqs = calloc((size_t)s->sequences, sizeof *seqs);
    for (int i = 0; i < options.tokens; i++)
        ids[i] =
            (uint32_t)(7919U * (uint32_t)(i + 1)) % (uint32_t)s->args.vocab;
    for (int i = 0; i < s->sequences; i++)
        seqs[i] = (rlf_sequence){.prompt = ids + i * s->length,
                                 .n_prompt = 1,
                                 .response = ids + i * s->length + 1,
                                 .n_response = (uint32_t)s->length - 1};
    double best = 1e30;
    for (int i = 0; i < s->steps; i++) {
        double t = seconds_now();
        train_step(b, model, pass, seqs);
        t = seconds_now() - t;
        best = t < best ? t : best;
    }
    const rlf_model_config *c = &b->config;
    double tokens = options.tokens, length = s->length;
    double weights = (double)model->table->count -
                     (c->tied ? 0 : (double)c->vocab * c->hidden);
    /* of queries with keys and of these with values, half of them masked */
    double attention =
        6.0 * c->layers * c->heads * c->head_dim * tokens * (length + 1);
    char name[48];
    snprintf(name, sizeof name, "%s training step", s->name);
    rig_row(name, best, (6 * weights * tokens + attention) / b->limits.flops,
            "flops", s->mfu);
    rlf_pass_free(pass);
    rlf_model_free(model);
    free(seqs);
    free(ids);
}

/* ---- decoding ---------------------------------------------------------- */

/* Seconds of a step with n sequences of about `context` tokens. */
static double
decode_step(const rlf_model *model, uint32_t n, uint32_t context)
{
    enum { STEPS = 24, WARM = 4, PAGE = 64 };
    rlf_err err = RLF_ERR_NONE;
    rlf_pass *pass;
    rlf_kv *kv;
    rlf_generation *g;
    uint32_t longest = context + STEPS + WARM + 8;
    int pages = (int)(n * ((longest + PAGE - 1) / PAGE + 1));
    const rlf_pass_options options = {.tokens = 4096};
    const rlf_generation_options o = {.max_new = STEPS + WARM + 4,
                                      .temperature = 1,
                                      .key = {.seed = 1},
                                      .longest = longest};
    must(rlf_pass_new(model, &options, &err, &pass), &err);
    must(rlf_kv_new(model, PAGE, pages, &err, &kv), &err);
    must(rlf_generation_new(model, pass, kv, &o, &err, &g), &err);
    uint32_t *prompts = malloc((size_t)n * context * sizeof *prompts);
    for (uint32_t i = 0; i < n * context; i++)
        prompts[i] = (7919U * (i + 1)) % (uint32_t)model->table->config.vocab;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t identity = i;
        uint32_t first;
        must(rlf_generation_add(g, prompts + i * context, context, &identity, 1,
                                &err, &first),
             &err);
    }
    const uint32_t *rows;
    uint32_t n_rows;
    uint64_t fed = 0;
    int full = 0;
    double sum = 0;
    rlf_status status;
    do {
        double t = seconds_now();
        status = rlf_generation_step(g, &err, &rows, &n_rows);
        must(status, &err);
        t = seconds_now() - t;
        uint64_t now = rlf_generation_count(g).fed;
        if (now - fed == n && ++full > WARM && full <= WARM + STEPS)
            sum += t; /* every sequence got its one token */
        fed = now;
    } while (status == RLF_AGAIN && full < WARM + STEPS);
    free(prompts);
    rlf_generation_free(g);
    rlf_kv_free(kv);
    rlf_pass_free(pass);
    return full > WARM ? sum / (full - WARM) : 0;
}

static void
decode(const bench *b)
{
    const bench_shape *s = b->shape;
    rlf_model *model = open_model(b, false);
    const rlf_model_config *c = &b->config;
    double real = (double)rlf_real_bytes(b->kernels);
    double read = (double)model->table->count -
                  (c->tied ? 0 : (double)c->vocab * c->hidden);
    for (int i = 0; i < 3 && s->contexts[i]; i++)
        for (int k = 0; k < 5 && s->batches[k]; k++) {
            double n = s->batches[k], context = s->contexts[i] + 14;
            double kv =
                n * context * 2 * c->layers * c->kv_heads * c->head_dim * real;
            if (kv > MOST_KV)
                continue; /* beside the weights there is no room for it */
            double t = decode_step(model, (uint32_t)s->batches[k],
                                   (uint32_t)s->contexts[i]);
            double by_bytes = (read * real + kv) / b->limits.bytes;
            double by_flops = 2 * read * n / b->limits.flops;
            double bound = by_bytes > by_flops ? by_bytes : by_flops;
            char name[48];
            snprintf(name, sizeof name, "%s decode %d x %d", s->name,
                     s->batches[k], s->contexts[i]);
            rig_row(name, t, bound, by_bytes > by_flops ? "bytes" : "flops",
                    s->batches[k] < 64 ? s->few : s->many);
        }
    rlf_model_free(model);
}

int
main(int argc, char **argv)
{
    bench b = {.shape = &shapes[0], .arena = rlf_arena_new()};
    bool which[2] = {false, false};
    rlf_err err = RLF_ERR_NONE;
    for (int i = 1; i < argc; i++) {
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            if (strcmp(argv[i], shapes[k].name) == 0)
                b.shape = &shapes[k];
        which[0] |= strcmp(argv[i], "train") == 0;
        which[1] |= strcmp(argv[i], "decode") == 0;
    }
    limits_open(strcmp(b.shape->name, "tiny") == 0, &b.device, &b.queue,
                &b.kernels);
    b.limits = limits_measure(b.queue);
    rig_table();
    must(rlf_model_config_llama(&b.shape->args, b.arena, &err, &b.config),
         &err);
    if (which[0] || !which[1])
        train(&b);
    if (which[1] || !which[0])
        decode(&b);
    rlf_queue_free(b.queue);
    rlf_device_free(b.device);
    rlf_arena_free(b.arena);
    return 0;
}
