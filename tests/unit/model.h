/* Shared by the tests of nodes/model: a device, models, random sequences. What
 * computes on other devices than the CPU takes model_places.h too. */
#ifndef RLF_TESTS_UNIT_MODEL_H
#define RLF_TESTS_UNIT_MODEL_H

#include "engine/base/vec.h"
#include "engine/comm/device.h"
#include "nodes/model/families/families.h"
#include "nodes/model/parallel.h"
#include "nodes/model/transformer.h"
#include "nodes/model/weights.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

typedef struct test_machine {
    rlf_device *device;
    rlf_queue *queue;
    const rlf_kernels *kernels;
    rlf_err err;
} test_machine;

/* Give up with the error's sentence unless `call` went well. */
#define MUST(machine, call)                                                 \
    do {                                                                    \
        if ((call) < 0)                                                     \
            bail("%s:%d: %s", __FILE__, __LINE__, (machine)->err.sentence); \
    } while (0)

/* The same sizes in a family that scales, or has norms or windows of its own:
 * at most 16 layers. */
__attribute__((unused)) static void
test_family(rlf_model_config *c, const rlf_family *family)
{
    c->family = family;
    static const bool others[17] = {1, 0, 1, 0, 1, 0, 1, 0, 1,
                                    0, 1, 0, 1, 0, 1, 0, 1};
    bool caps = family == &rlf_family_gemma2;
    c->embedding_scale = 3;
    c->residual_scale = 0.4;
    c->attention_scale = 0.3;
    c->attention_cap = caps ? 1.5 : 0;
    c->logits_scale = family == &rlf_family_granite  ? 1 / 2.5
                      : family == &rlf_family_cohere ? 0.3
                                                     : 0;
    c->logits_cap = caps ? 2.5 : 0;
    c->act = family->act;
    c->qk_norm = family->qk_norm;
    c->local_rope.theta = family->rope.local / 100;
    c->rope.dim = family->rope.part > 0 ? c->head_dim / 8 * 6 : 0;
    c->still = family->still_every ? others + 1 : NULL;
    c->parallel = c->tied;
    c->two_norms = c->parallel && c->qkv_bias;
    if (family->window_every) {
        c->window = 4;
        c->windowed = others;
    }
}

__attribute__((unused)) static const rlf_family *
test_any_family(uint64_t i)
{
    static const rlf_family *const all[] = {
#define FAMILY(name) &rlf_family_##name,
#include "nodes/model/families/family.def"
#undef FAMILY
    };
    return all[i % RLF_COUNT(all)];
}

/* Returns the number of families. */
__attribute__((unused)) static int
test_families(void)
{
    int n = 1;
    while (test_any_family((uint64_t)n) != test_any_family(0))
        n++;
    return n;
}

/* Adapters beside all products of a layer, or beside those of attention's first
 * alone, of families that have them one by one. */
__attribute__((unused)) static void
test_lora(rlf_model_config *c, int rank, bool all)
{
    static const char *const some[] = {"q_proj", "v_proj"};
    c->lora = (rlf_lora){.rank = rank, .alpha = 1.5 * rank};
    if (all)
        return;
    c->lora.targets = some;
    c->lora.n_targets = 2;
}

/* Layers have the config's window from this one on, at most 16. */
__attribute__((unused)) static void
test_windows(rlf_model_config *c, int from)
{
    static const bool rising[32] = {[16 ... 31] = true};
    c->windowed = rising + 16 - from;
}

__attribute__((unused)) static void
test_machine_open(test_machine *t, int threads)
{
    *t = (test_machine){.kernels = rlf_kernels_cpu(), .err = RLF_ERR_NONE};
    rlf_cpu_options options = {.n_threads = threads};
    MUST(t, rlf_device_cpu_new(&options, &t->device, &t->err));
    MUST(t, rlf_queue_new(t->device, &t->queue, &t->err));
}

__attribute__((unused)) static void
test_machine_close(test_machine *t)
{
    rlf_queue_free(t->queue);
    rlf_device_free(t->device);
}

/* A micro-batch of three sequences: 15 tokens, 8 of them responses. */
__attribute__((unused)) static void
test_load(test_machine *t, rlf_pass *p)
{
    static const uint32_t ids[15] = {3, 1, 4, 1, 5, 9, 2, 6,
                                     5, 3, 5, 8, 9, 7, 9};
    static const uint32_t lengths[3][2] = {{3, 2}, {1, 5}, {3, 1}};
    rlf_sequence seqs[3];
    for (uint32_t i = 0, at = 0; i < 3; i++) {
        seqs[i] = (rlf_sequence){.prompt = ids + at,
                                 .n_prompt = lengths[i][0],
                                 .response = ids + at + lengths[i][0],
                                 .n_response = lengths[i][1],
                                 .temperature = 1};
        at += lengths[i][0] + lengths[i][1];
    }
    MUST(t, rlf_pass_load(p, seqs, 3, 0, RLF_ROWS_TOKENS, &t->err));
}

/* Activations to another stage, until it has them. */
__attribute__((unused)) static void
test_send(test_machine *t, const rlf_model *model, int stage, const rlf_real *x,
          int64_t n)
{
    rlf_device_transfer *sending;
    MUST(t, rlf_parallel_start(model, stage, x, n, &t->err, &sending));
    MUST(t, rlf_device_wait(&sending, &t->err));
}

/* A path below the source directory. */
__attribute__((unused)) static const char *
source_path(rlf_arena *arena, const char *path)
{
    const char *top = getenv("RLFLOW_SOURCE");
    return rlf_arena_printf(arena, "%s/%s", top ? top : ".", path);
}

/* A small repeatable source of numbers for shapes and tokens. */
__attribute__((unused)) static uint32_t
test_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* From low to high, both included. */
__attribute__((unused)) static uint32_t
choose(uint64_t *seed, uint32_t low, uint32_t high)
{
    return low + test_random(seed) % (high - low + 1);
}

__attribute__((unused)) static float
test_float(uint64_t *state)
{
    return (float)test_random(state) / 1073741824.0f - 1.0f;
}

/* n floats of the device, and to it. */
__attribute__((unused)) static void
test_read(test_machine *t, const float *from, size_t n, float *to)
{
    MUST(t, rlf_queue_copy(t->queue, to, from, n * sizeof *to, RLF_COPY_TO_HOST,
                           &t->err));
    MUST(t, rlf_queue_sync(t->queue, &t->err));
}

__attribute__((unused)) static void
test_write(test_machine *t, const float *from, size_t n, float *to)
{
    MUST(t, rlf_queue_copy(t->queue, to, from, n * sizeof *to,
                           RLF_COPY_TO_DEVICE, &t->err));
}

/* A copy of n floats of the device, to be freed. */
__attribute__((unused)) static float *
test_copy(test_machine *t, const float *from, size_t n)
{
    float *to = rlf_malloc(n * sizeof *to);
    test_read(t, from, n, to);
    return to;
}

/* Random weights, norms and biases too, so that nothing is 0 or 1. */
__attribute__((unused)) static void
randomize(test_machine *t, rlf_model *model, uint64_t seed)
{
    const rlf_table *table = model->table;
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        float *x = rlf_malloc((size_t)slot->count * sizeof *x);
        float scale = slot->cols ? 1.5f / sqrtf((float)slot->cols) : 0.3f;
        float mean = slot->kind == RLF_SLOT_NORM ? 1 : 0;
        for (int64_t k = 0; k < slot->count; k++)
            x[k] = mean + scale * test_float(&seed);
        if (model->weights)
            test_write(t, x, (size_t)slot->count,
                       model->weights + slot->offset);
        else
            MUST(t, rlf_model_fill(model, slot, x, &t->err));
        free(x);
    }
    MUST(t, rlf_model_changed(model, &t->err));
}

#endif
