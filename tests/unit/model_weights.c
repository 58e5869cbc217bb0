/* Weights of models: first values are the same on every machine; checkpoints
 * keep everything, files in f32 all that training gave; sums of models. */
#include "engine/base/hash.h"
#include "nodes/model/optimizer.h"
#include "tests/unit/model_files.h"

/* A gradient and an optimizer step that depend on `seed`. */
static void
train_step(test_machine *t, rlf_model *model, uint64_t seed)
{
    for (int i = 0; i < model->table->n_slots; i++) {
        const rlf_slot *slot = &model->table->slots[i];
        for (int64_t k = 0; k < slot->count; k++)
            model->gradient.weights[slot->offset + k] = test_float(&seed);
    }
    rlf_adamw settings = RLF_ADAMW_DEFAULTS;
    settings.lr = 1e-2;
    settings.clip = 1;
    double norm;
    MUST(t, rlf_optimizer_step(model, &settings, &t->err, &norm));
}

/* A model of tests/data, where it is saved in this test, and the file of its
 * state there. */
typedef struct place {
    const char *dir, *out, *state;
} place;

static place
place_of(const char *name, const char *kind, rlf_arena *arena)
{
    place at = {
        .dir = source_path(
            arena, rlf_arena_printf(arena, "tests/data/models/%s", name)),
        .out =
            scratch_path(arena, rlf_arena_printf(arena, "%s-%s", name, kind))};
    at.state = rlf_arena_printf(arena, "%s.state", at.out);
    return at;
}

static void
save(test_machine *t, rlf_model *model, const place *at)
{
    MUST(t, rlf_weights_save(model, at->out, &t->err));
    MUST(t, rlf_weights_save_state(model, at->state, &t->err));
}

static void
test_checkpoint(test_machine *t, const char *name, rlf_arena *arena)
{
    const place at = place_of(name, "checkpoint", arena);
    rlf_model *model = load(t, at.dir, RLF_HEAD_LM, true, arena);
    train_step(t, model, 1);
    train_step(t, model, 2);
    save(t, model, &at);
    train_step(t, model, 3);
    rlf_model *again = load(t, at.out, RLF_HEAD_LM, true, arena);
    MUST(t, rlf_weights_restore(again, at.out, at.state, &t->err));
    train_step(t, again, 3);
    size_t n = (size_t)model->table->count;
    is_bits_f32(again->weights, model->weights, n, "weights after resuming");
    is_bits_f32(again->moment1, model->moment1, n, "first moments");
    is_bits_f32(again->moment2, model->moment2, n, "second moments");
    ok(again->version == model->version && again->steps == model->steps,
       "%s: version and steps", name);
    rlf_model_free(model);
    rlf_model_free(again);
}

/* A model of bf16 or f16 files that is saved in f32 loses nothing: the files
 * alone have the bits that training gave it. */
static void
test_save_f32(test_machine *t, const char *name, rlf_arena *arena)
{
    const place at = place_of(name, "f32", arena);
    rlf_model *model = load(t, at.dir, RLF_HEAD_LM, true, arena);
    rlf_model *rounded = load(t, at.dir, RLF_HEAD_LM, false, arena);
    model->options.save_f32 = true;
    train_step(t, model, 1);
    save(t, model, &at);
    rlf_model *again = load(t, at.out, RLF_HEAD_LM, true, arena);
    size_t n = (size_t)model->table->count;
    is_bits_f32(again->weights, model->weights, n, "saved in f32, read again");
    ok(strstr(again->table->config.json, "\"float32\""),
       "%s: config.json says so", name);
    again->weights[0] = 0;
    MUST(t, rlf_weights_restore(again, at.out, at.state, &t->err));
    is_bits_f32(again->weights, model->weights, n, "and resumed");
    MUST(t, rlf_model_copy(rounded, model, &t->err));
    MUST(t, rlf_weights_save(rounded, at.out, &t->err));
    rlf_model *lost = load(t, at.out, RLF_HEAD_LM, false, arena);
    ok(memcmp(lost->weights, model->weights, n * sizeof *model->weights) != 0,
       "%s: without it they are rounded", name);
    rlf_model_free(model);
    rlf_model_free(rounded);
    rlf_model_free(again);
    rlf_model_free(lost);
}

/* First values have the deviations they should have, and known bits. */
static void
test_init(test_machine *t, rlf_arena *arena)
{
    rlf_llama_args args = {.layers = 2,
                           .hidden = 96,
                           .heads = 4,
                           .kv_heads = 2,
                           .ffn = 256,
                           .vocab = 43,
                           .bos = 1,
                           .eos = {2},
                           .n_eos = 1};
    rlf_model_config config;
    rlf_model *model;
    MUST(t, rlf_model_config_llama(&args, arena, &t->err, &config));
    rlf_model_options options = {.head = RLF_HEAD_BOTH};
    MUST(t, rlf_model_new(t->queue, rlf_kernels_cpu(), &config, &options,
                          &t->err, &model));
    MUST(t, rlf_weights_fill(model, &(rlf_weights_origin){.seed = 7}, &t->err));
    int64_t count = 0;
    const rlf_table *table = model->table;
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        const float *x = model->weights + slot->offset;
        double sum = 0, squares = 0, want = 0;
        for (int64_t k = 0; k < slot->count; k++) {
            sum += (double)x[k];
            squares += (double)x[k] * (double)x[k];
        }
        double mean = sum / (double)slot->count;
        double deviation = sqrt(squares / (double)slot->count - mean * mean);
        if (slot->kind == RLF_SLOT_EMBEDDING)
            want = 0.02;
        if (slot->kind == RLF_SLOT_LINEAR)
            want = 1 / sqrt((double)slot->cols);
        if (slot->kind == RLF_SLOT_RESIDUAL)
            want = 1 / sqrt((double)slot->cols * 4);
        double bound = 4 * want / sqrt((double)slot->count);
        ok(fabs(deviation - want) <= bound &&
               fabs(mean - (slot->kind == RLF_SLOT_NORM)) <= bound,
           "%s: mean %.4f, deviation %.4f", slot->name, mean, deviation);
        if (slot->offset != table->score)
            count += slot->count;
    }
    is_int(count, 211488, "as many weights as there should be");
    uint64_t hash = rlf_hash(RLF_HASH_INIT, model->weights,
                             (size_t)table->count * sizeof(float));
    ok(hash == UINT64_C(0x5dd6ec51456c24b4),
       "the same bits on every machine (%016llx)", (unsigned long long)hash);
    /* percentiles of the normal distribution, from tables */
    near(rlf_normal(0.5), 0, 0, "median");
    near(rlf_normal(0.975), 1.959963984540054, 1e-14, "0.975");
    near(rlf_normal(0.001), -3.090232306167813, 1e-14, "0.001");
    near(rlf_normal(1e-12), -7.034483825301131, 1e-13, "1e-12");
    rlf_model_free(model);
}

static void
test_assign(test_machine *t, rlf_arena *arena)
{
    const char *dir = source_path(arena, "tests/data/models/qwen2");
    rlf_model *a = load(t, dir, RLF_HEAD_LM, true, arena);
    rlf_model *b = load(t, dir, RLF_HEAD_LM, false, arena);
    randomize(t, b, 5);
    train_step(t, a, 9);
    size_t n = (size_t)a->table->count;
    float *before = rlf_malloc(n * sizeof *before);
    memcpy(before, a->weights, n * sizeof *before);
    const rlf_model *from[] = {b, a};
    const float factor[] = {0.25f, 0.75f};
    uint64_t version = a->version;
    MUST(t, rlf_model_assign(a, factor, from, 2, &t->err));
    double worst = 0;
    for (int i = 0; i < a->table->n_slots; i++) {
        const rlf_slot *slot = &a->table->slots[i];
        for (int64_t k = slot->offset; k < slot->offset + slot->count; k++)
            worst = fmax(worst, fabs((double)a->weights[k] -
                                     (0.75 * (double)before[k] +
                                      0.25 * (double)b->weights[k])));
    }
    ok(worst < 1e-6, "a := 0.25 b + 0.75 a (off by %g)", worst);
    ok(a->version > version && a->steps == 0 && a->moment1[0] == 0,
       "a new version, moments lost");
    const rlf_model *only[] = {b};
    const float one[] = {1};
    MUST(t, rlf_model_assign(a, one, only, 1, &t->err));
    is_bits_f32(a->weights, b->weights, n, "a := b is a copy");
    free(before);
    rlf_model_free(a);
    rlf_model_free(b);
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    test_machine t;
    files_open(&t, "model_weights");
    /* of f32, f16 and bf16 files, and of names and layouts in files: fused,
     * transposed, tied, with biases, of norms less one */
    static const char *const saved[] = {"llama", "qwen2",  "phi3",
                                        "gpt2",  "cohere", "gemma2"};
    for (size_t i = 0; i < RLF_COUNT(saved); i++)
        test_checkpoint(&t, saved[i], arena);
    test_save_f32(&t, "qwen2", arena);
    test_save_f32(&t, "qwen3", arena);
    test_init(&t, arena);
    test_assign(&t, arena);
    files_close(&t);
    rlf_arena_free(arena);
    return done();
}
