/* A training step and decoding, beside what the machine can do, in one run.
 *
 *     bench/model [threads] [seconds per measurement] [15m|110m|half] [bf16]
 *
 * Of the 15M story shape; or decoding alone, of 110M or of Qwen 2.5's 0.5B,
 * with a model that is only read. Training: 8 sequences of 256 tokens, forward,
 * loss, backward and AdamW; 6 flops a weight and token plus attention, over the
 * best matrix product, of oneDNN or of our own (f32; in bf16 too). One thread
 * is timed by its own clock, so that other processes disturb little. Decoding:
 * time of a step over the larger of weight bytes / read bandwidth (of a block
 * that no cache holds) and flops / that same peak. */
#include "bench/llama_shapes.h"
#include "bench/measure.h"
#include "bench/peaks.h"
#include "nodes/model/generate.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/transformer.h"
#include "nodes/model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQS = 8, LENGTH = 256 };

static rlf_status
minus_mean(void *ctx, rlf_queue *queue, int64_t first, int64_t n,
           const float *logprob, const float *entropy, float *d_logprob,
           float *d_entropy, rlf_err *err)
{
    (void)ctx, (void)queue, (void)first, (void)logprob, (void)entropy;
    (void)d_entropy, (void)err;
    for (int64_t i = 0; i < n; i++)
        d_logprob[i] = -1.0F / (SEQS * (LENGTH - 1));
    return RLF_OK;
}

static double
train(rlf_model *model, double seconds)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_pass *pass;
    const rlf_pass_options options = {.tokens = SEQS * LENGTH, .train = true};
    check(rlf_pass_new(model, &options, &err, &pass), &err);
    static uint32_t ids[SEQS][LENGTH];
    rlf_sequence seqs[SEQS];
    for (int s = 0; s < SEQS; s++) {
        for (int t = 0; t < LENGTH; t++)
            ids[s][t] = (uint32_t)(7919 * (t + 1) * (s + 3)) % 32000;
        seqs[s] = (rlf_sequence){.prompt = ids[s],
                                 .n_prompt = 1,
                                 .response = ids[s] + 1,
                                 .n_response = LENGTH - 1};
    }
    rlf_adamw adam = {
        .lr = 1e-4, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .clip = 1};
    double best = 1e30, until = now() + seconds, norm;
    while (now() < until) {
        double t = now();
        check(rlf_pass_load(pass, seqs, SEQS, 0, RLF_ROWS_TOKENS, &err), &err);
        check(rlf_transformer_forward(model, pass, &err), &err);
        check(rlf_head_loss(model, pass, minus_mean, NULL, false, &err), &err);
        check(rlf_transformer_backward_chunk(model, pass, 0, &err), &err);
        check(rlf_optimizer_step(model, &adam, &err, &norm), &err);
        t = now() - t;
        if (t < best)
            best = t;
    }
    rlf_pass_free(pass);
    return best;
}

/* Time by operation, in order of first use. */
typedef struct clock_row {
    const char *operation;
    double seconds;
    int calls;
} clock_row;

typedef struct op_clock {
    clock_row rows[32];
    int n;
    double begun;
} op_clock;

static void
op_time(void *ctx, const char *operation, bool begin)
{
    op_clock *c = ctx;
    if (begin) {
        c->begun = now();
        return;
    }
    double t = now() - c->begun;
    int i = 0;
    while (i < c->n && strcmp(c->rows[i].operation, operation) != 0)
        i++;
    if (i == 32)
        return;
    if (i == c->n)
        c->rows[c->n++].operation = operation;
    c->rows[i].seconds += t;
    c->rows[i].calls++;
}

/* Seconds of a decode step with n sequences, at positions up to max_new, in the
 * fastest generation, and its `clock` (NULL: not asked). There are two at
 * least, for the first one touches pages of memory for the first time. */
static double
decode(const rlf_model *model, uint32_t n, uint32_t max_new, double seconds,
       op_clock *clock)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_pass *pass;
    rlf_kv *kv;
    const rlf_pass_options options = {.tokens = 256};
    check(rlf_pass_new(model, &options, &err, &pass), &err);
    check(rlf_kv_new(model, 16, (int)n * 18 + 8, &err, &kv), &err);
    static const uint32_t prompt[] = {1, 2, 3};
    double best = 1e30, until = now() + seconds;
    for (int done = 0; done < 2 || now() < until; done++) {
        op_clock own = {0};
        const rlf_generation_options o = {.max_new = max_new,
                                          .key = {.seed = 1}};
        rlf_generation *g;
        check(rlf_generation_new(model, pass, kv, &o, &err, &g), &err);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t identity = i;
            uint32_t first;
            check(rlf_generation_add(g, prompt, 3, &identity, 1, &err, &first),
                  &err);
        }
        const uint32_t *rows;
        uint32_t n_rows;
        int steps = 0;
        double t = 0;
        rlf_status status;
        do {
            double from = now();
            if (steps == 11 && clock) {
                model->queue->hook = op_time;
                model->queue->hook_ctx = &own;
            }
            status = rlf_generation_step(g, &err, &rows, &n_rows);
            check(status, &err);
            if (steps++ > 10)
                t += now() - from;
        } while (status == RLF_AGAIN);
        model->queue->hook = NULL;
        rlf_generation_free(g);
        if (t / (steps - 11) >= best)
            continue;
        best = t / (steps - 11);
        for (int i = 0; i < own.n; i++) {
            own.rows[i].seconds /= steps - 11;
            own.rows[i].calls /= steps - 11;
        }
        if (clock)
            *clock = own;
    }
    rlf_kv_free(kv);
    rlf_pass_free(pass);
    return best;
}

/* Bytes of keys and values that a timed step of n sequences reads, on average.
 */
static double
cached_bytes(const rlf_model *model, uint32_t n, uint32_t max_new)
{
    const rlf_model_config *c = &model->table->config;
    double position = 3 + (11 + max_new) / 2.0;
    return 2.0 * n * position * c->layers * c->kv_heads * c->head_dim *
           (double)rlf_real_bytes(model->kernels);
}

/* Decoding, beside the time of its bytes or flops, of which the longer one is
 * the bound, and beside both one after the other: keys and values of a layer
 * are more than caches of a core hold, so hardly any are read meanwhile. */
static void
show_decoding(const rlf_model *model, uint32_t max_new, double seconds,
              double read, double gflops)
{
    double weights = (double)model->table->count;
    for (int k = 0; k < 2; k++) {
        uint32_t n = k ? 64 : 1;
        double d = decode(model, n, max_new, seconds, NULL);
        double cached = cached_bytes(model, n, max_new) / read;
        double by_bytes =
            weights * (double)rlf_real_bytes(model->kernels) / read + cached;
        double by_flops = 2 * weights * n / (gflops * 1e9);
        double bound = by_bytes > by_flops ? by_bytes : by_flops;
        printf("decoding %2u: %.3f ms a step, %.2f x the bound (%.3f ms by %s)",
               n, d * 1e3, d / bound, bound * 1e3,
               by_bytes > by_flops ? "bytes" : "flops");
        if (by_bytes < by_flops)
            printf(", %.2f x it and keys and values (%.3f ms)",
                   d / (bound + cached), cached * 1e3);
        putchar('\n');
        op_clock clock;
        double c = decode(model, n, max_new, seconds / 4, &clock);
        for (int i = 0; i < clock.n; i++) {
            c -= clock.rows[i].seconds;
            printf("    %-16s %3d x %6.1f us = %4.1f %%\n",
                   clock.rows[i].operation, clock.rows[i].calls,
                   clock.rows[i].seconds * 1e6 / clock.rows[i].calls,
                   100 * clock.rows[i].seconds / d);
        }
        printf("    %-16s %12.1f us = %4.1f %%\n", "outside", c * 1e6,
               100 * c / d);
    }
}

typedef struct shape {
    const char *name;
    uint32_t max_new; /* tokens of an answer that is timed */
    rlf_llama_args args;
} shape;

static const shape shapes[] = {
    {"15m", 100, SHAPE_15M},
    {"110m", 40, SHAPE_110M},
    {"half", 20, SHAPE_HALF},
};

int
main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    double seconds = argc > 2 ? atof(argv[2]) : 2;
    const shape *of = shapes;
    bool bf16 = argc > 4 && strcmp(argv[4], "bf16") == 0;
    const rlf_kernels *kernels =
        bf16 ? rlf_kernels_cpu_bf16(NULL) : rlf_kernels_cpu();
    while (argc > 3 && strcmp(of->name, argv[3]) != 0)
        if (++of == shapes + sizeof shapes / sizeof *shapes) {
            fprintf(stderr, "bench: no shape is called %s\n", argv[3]);
            return 2;
        }
    bool trains = of == shapes;
    if (threads == 1)
        clock_used = CLOCK_THREAD_CPUTIME_ID;
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    rlf_device *device;
    rlf_queue *queue;
    const rlf_cpu_options cpu = {.n_threads = threads};
    check(rlf_device_cpu_new(&cpu, &device, &err), &err);
    check(rlf_queue_new(device, &queue, &err), &err);
    rlf_model_config config;
    rlf_model *model;
    check(rlf_model_config_llama(&of->args, arena, &err, &config), &err);
    const rlf_model_options options = {.head = RLF_HEAD_LM,
                                       .trained = trains,
                                       .by_layer = !trains,
                                       .fixed = !trains};
    check(rlf_model_new(queue, kernels, &config, &options, &err, &model), &err);
    check(rlf_weights_fill(model, &(rlf_weights_origin){.seed = 1}, &err),
          &err);

    bench_peaks peaks;
    bench_peaks_measure(device, queue, threads, seconds / 2, &peaks);
    double gflops = 1e-9 * peaks.flops, read = peaks.read[BENCH_BLOCKS - 1];
    double weights = (double)model->table->count;
    printf("%s, threads %d: peak %.0f GFLOP/s (oneDNN's %.0f), read %.1f GB/s "
           "of %.0f MB, weights %.1f MB\n",
           of->name, threads, gflops, 1e-9 * peaks.library, 1e-9 * read,
           1e-6 * peaks.bytes[BENCH_BLOCKS - 1],
           1e-6 * weights * (double)rlf_real_bytes(kernels));
    if (trains) {
        double t = train(model, seconds);
        double flops = 6 * weights * SEQS * LENGTH +
                       6.0 * 6 * 288 * SEQS * (double)LENGTH * (LENGTH + 1);
        printf("training step: %.1f ms, %.0f GFLOP/s, %.3f of the peak\n",
               t * 1e3, flops / t / 1e9, flops / t / 1e9 / gflops);
    }
    show_decoding(model, of->max_new, seconds, read, gflops);
    rlf_model_free(model);
    rlf_queue_free(queue);
    rlf_device_free(device);
    rlf_arena_free(arena);
    return 0;
}
