/* Generation with guesses from earlier responses and without, in one run.
 *
 *     bench/history [threads] [seconds per measurement] [15m|110m|half] [bf16]
 *
 * First a step that decodes by its rows: what one more takes, as a part of what
 * the first takes, on which the choice of guesses rests (nodes/model/guess.c).
 * Then responses of 128 tokens to as many prompts as are in the batch, with a
 * history of the same responses in which a share of the tokens was changed: the
 * time with guesses over the time without, steps, and guesses that were right.
 * One thread is timed by its own clock. */
#include "bench/llama_shapes.h"
#include "bench/measure.h"
#include "nodes/model/generate.h"
#include "nodes/model/weights.h"

#include <string.h>

enum { NEW = 128, MOST = 64, PROMPT = 4 };

typedef struct rig {
    const rlf_model *model;
    rlf_pass *pass;
    rlf_kv *kv;
    uint32_t vocab;
} rig;

typedef struct responses {
    uint32_t ids[MOST][NEW], n[MOST];
} responses;

static uint32_t prompts[MOST][PROMPT];

/* Samples of n prompts; seconds of all steps that decode. */
static double
generate(const rig *r, uint32_t n, rlf_history *history, responses *out,
         rlf_generation_counts *counts)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_generation_options o = {.max_new = NEW,
                                      .key = {.seed = 1},
                                      .most_active = MOST,
                                      .history = history};
    rlf_generation *g;
    check(rlf_generation_new(r->model, r->pass, r->kv, &o, &err, &g), &err);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t identity = i;
        uint32_t first;
        check(rlf_generation_add(g, prompts[i], PROMPT, &identity, 1, &err,
                                 &first),
              &err);
    }
    const uint32_t *rows;
    uint32_t n_rows;
    rlf_status status = rlf_generation_step(g, &err, &rows, &n_rows);
    double t = now();
    while (status == RLF_AGAIN) {
        status = rlf_generation_step(g, &err, &rows, &n_rows);
        check(status, &err);
    }
    t = now() - t;
    for (uint32_t i = 0; out && i < n; i++) {
        rlf_response x = rlf_generation_response(g, i);
        out->n[i] = x.n;
        memcpy(out->ids[i], x.ids, x.n * sizeof *x.ids);
    }
    *counts = rlf_generation_count(g);
    rlf_generation_free(g);
    return t;
}

static uint32_t
below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)*state * n >> 32);
}

/* Of these responses; `wrong` of 100 tokens are others. */
static rlf_history *
history_of(const responses *r, uint32_t n, uint32_t wrong, uint32_t vocab)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_history *h = rlf_history_new(RLF_HISTORY_TOKENS);
    uint32_t state = 7;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t ids[NEW];
        for (uint32_t t = 0; t < r->n[i]; t++)
            ids[t] = below(&state, 100) < wrong ? below(&state, vocab)
                                                : r->ids[i][t];
        check(rlf_history_add(h, rlf_history_prompt(prompts[i], PROMPT), ids,
                              r->n[i], &err),
              &err);
    }
    return h;
}

static void
show_rows(const rig *r, double seconds)
{
    double one = 0;
    printf("rows of a step, ms, what one more takes of the first:\n");
    for (uint32_t n = 1; n <= MOST; n *= 2) {
        double best = 1e30, until = now() + seconds;
        rlf_generation_counts c;
        while (now() < until) {
            double t = generate(r, n, NULL, NULL, &c) / (double)(c.steps - 1);
            best = t < best ? t : best;
        }
        one = n == 1 ? best : one;
        printf("%6u %8.3f", n, best * 1e3);
        if (n > 1)
            printf("  1/%.1f", one * (n - 1) / (best - one));
        printf("\n");
    }
}

static void
show_history(const rig *r, double seconds)
{
    static const uint32_t wrongs[] = {0, 2, 5, 10, 25, 50, 100};
    static responses want;
    rlf_generation_counts c, with;
    printf("%6s %8s %8s %8s %14s\n", "batch", "wrong", "time", "steps",
           "right guesses");
    for (uint32_t n = 1; n <= MOST; n *= 4)
        for (size_t k = 0; k < sizeof wrongs / sizeof *wrongs; k++) {
            double plain = 1e30, best = 1e30, until = now() + seconds;
            while (now() < until) {
                double t = generate(r, n, NULL, &want, &c);
                plain = t < plain ? t : plain;
                rlf_history *h = history_of(&want, n, wrongs[k], r->vocab);
                t = generate(r, n, h, NULL, &with);
                best = t < best ? t : best;
                rlf_history_free(h);
            }
            printf("%6u %6u %% %8.2f %4llu/%-4llu %6llu of %llu\n", n,
                   wrongs[k], best / plain, (unsigned long long)with.steps,
                   (unsigned long long)c.steps, (unsigned long long)with.right,
                   (unsigned long long)with.guessed);
        }
}

typedef struct shape {
    const char *name;
    rlf_llama_args args;
} shape;

static const shape shapes[] = {
    {"15m", SHAPE_15M}, {"110m", SHAPE_110M}, {"half", SHAPE_HALF}};

static const shape *
find_shape(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    fprintf(stderr, "bench: no shape is called %s\n", name);
    exit(2);
}

int
main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    double seconds = argc > 2 ? atof(argv[2]) : 2;
    const shape *of = find_shape(argc > 3 ? argv[3] : "15m");
    bool bf16 = argc > 4 && strcmp(argv[4], "bf16") == 0;
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
    const rlf_model_options options = {
        .head = RLF_HEAD_LM, .by_layer = true, .fixed = true};
    check(rlf_model_new(queue,
                        bf16 ? rlf_kernels_cpu_bf16(NULL) : rlf_kernels_cpu(),
                        &config, &options, &err, &model),
          &err);
    check(rlf_weights_fill(model, &(rlf_weights_origin){.seed = 1}, &err),
          &err);
    rig r = {.model = model, .vocab = (uint32_t)config.vocab};
    check(
        rlf_pass_new(model, &(rlf_pass_options){.tokens = 512}, &err, &r.pass),
        &err);
    check(rlf_kv_new(model, 16, MOST * (NEW + PROMPT + 15) / 16, &err, &r.kv),
          &err);
    uint32_t state = 3;
    for (int i = 0; i < MOST; i++)
        for (int t = 0; t < PROMPT; t++)
            prompts[i][t] = below(&state, r.vocab);
    printf("%s%s, threads %d\n", of->name, bf16 ? ", bf16" : "", threads);
    show_rows(&r, seconds);
    show_history(&r, seconds);
    rlf_kv_free(r.kv);
    rlf_pass_free(r.pass);
    rlf_model_free(model);
    rlf_queue_free(queue);
    rlf_device_free(device);
    rlf_arena_free(arena);
    return 0;
}
