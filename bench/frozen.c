/* Decoding with a model that nothing trains, its weights in f32 and in the bf16
 * that its files have, in turns in one run.
 *
 *     bench/frozen [threads] [rounds]
 *
 * Two shapes with random weights, rounded to bf16 in both forms, so that both
 * compute the same numbers: 110M and Qwen 2.5's 0.5B. One stream makes TOKENS
 * tokens a round; a form's time is that of its best round. One thread is timed
 * by its own clock, so that other processes disturb little. Beside it what the
 * weights take, and the bytes of them read in a second. */
#include "bench/llama_shapes.h"
#include "bench/measure.h"
#include "nodes/model/generate.h"
#include "nodes/model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/half.h"

enum { TOKENS = 12 };

/* Uniform numbers of bf16 as large as first values; 1 for norms. The same in
 * both forms. */
static void
fill(rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    uint32_t state = 1;
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *slot = &t->slots[i];
        float *values = malloc((size_t)slot->count * sizeof *values);
        if (!values)
            exit(1);
        for (int64_t k = 0; k < slot->count; k++) {
            state = state * 1664525 + 1013904223;
            float x = ((float)(state >> 8) * 0x1p-24F - 0.5F) * 0.1F;
            values[k] = slot->cols ? rlf_bf16_to_f32(rlf_f32_to_bf16(x)) : 1;
        }
        check(rlf_model_fill(m, slot, values, err), err);
        free(values);
    }
    check(rlf_model_changed(m, err), err);
}

/* A generation's memory. */
typedef struct form {
    rlf_model *model;
    rlf_pass *pass;
    rlf_kv *kv;
    double best;
} form;

static void
open_form(rlf_queue *queue, const rlf_model_config *config, const bool *bf16,
          form *f)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_caps caps = {.longest = 64, .reach = 64};
    const rlf_model_options options = {.head = RLF_HEAD_LM,
                                       .by_layer = true,
                                       .fixed = true,
                                       .bf16 = bf16,
                                       .caps = &caps};
    const rlf_pass_options pass = {.tokens = 64};
    *f = (form){.best = 1e30};
    check(rlf_model_new(queue, rlf_kernels_cpu(), config, &options, &err,
                        &f->model),
          &err);
    fill(f->model, &err);
    check(rlf_pass_new(f->model, &pass, &err, &f->pass), &err);
    check(rlf_kv_new(f->model, 16, 16, &err, &f->kv), &err);
}

/* Seconds of a token, when the prompt has been read. */
static void
decode(form *f)
{
    static const uint32_t prompt[] = {1, 2, 3};
    const rlf_generation_options o = {
        .max_new = TOKENS + 2, .temperature = 1, .key = {.seed = 1}};
    rlf_err err = RLF_ERR_NONE;
    rlf_generation *g;
    check(rlf_generation_new(f->model, f->pass, f->kv, &o, &err, &g), &err);
    const uint64_t identity = 0;
    uint32_t first, n_rows;
    const uint32_t *rows;
    check(rlf_generation_add(g, prompt, 3, &identity, 1, &err, &first), &err);
    check(rlf_generation_step(g, &err, &rows, &n_rows), &err);
    double begun = now();
    for (int i = 0; i < TOKENS; i++)
        check(rlf_generation_step(g, &err, &rows, &n_rows), &err);
    double t = (now() - begun) / TOKENS;
    f->best = t < f->best ? t : f->best;
    rlf_generation_free(g);
}

static void
shape(rlf_queue *queue, const char *name, const rlf_llama_args *args,
      int rounds)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    rlf_model_config config;
    check(rlf_model_config_llama(args, arena, &err, &config), &err);
    const rlf_table *t = rlf_table_new(&config, RLF_HEAD_LM, NULL, arena);
    bool *bf16 = RLF_NEW_ARRAY(arena, bool, t->n_slots);
    memset(bf16, true, (size_t)t->n_slots);
    form forms[2];
    double read[2];
    for (int k = 0; k < 2; k++) {
        open_form(queue, &config, k ? bf16 : NULL, &forms[k]);
        read[k] = (double)forms[k].model->bytes.packed / 1e9;
    }
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < 2; k++)
            decode(&forms[k]);
    for (int k = 0; k < 2; k++) {
        const rlf_model_bytes *b = &forms[k].model->bytes;
        printf("%-5s %-4s  %7.1f MB of weights  %7.2f ms a token  %5.1f GB/s\n",
               name, k ? "bf16" : "f32", (double)(b->weights + b->packed) / 1e6,
               forms[k].best * 1e3, read[k] / forms[k].best);
        rlf_kv_free(forms[k].kv);
        rlf_pass_free(forms[k].pass);
        rlf_model_free(forms[k].model);
    }
    printf("%-5s f32 / bf16: %.2f x the time\n", name,
           forms[0].best / forms[1].best);
    fflush(stdout);
    rlf_arena_free(arena);
}

int
main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    if (threads == 1)
        clock_used = CLOCK_THREAD_CPUTIME_ID;
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    const rlf_cpu_options cpu = {.n_threads = threads};
    check(rlf_device_cpu_new(&cpu, &device, &err), &err);
    check(rlf_queue_new(device, &queue, &err), &err);
    printf("%d threads, %s\n", threads, rlf_kernels_cpu()->isa);
    shape(queue, "110M", &(rlf_llama_args)SHAPE_110M, rounds);
    shape(queue, "0.5B", &(rlf_llama_args)SHAPE_HALF, rounds);
    rlf_queue_free(queue);
    rlf_device_free(device);
    return 0;
}
