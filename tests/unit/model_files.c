/* Tensors in files: directories of Hugging Face keep the type and the bytes of
 * each when they are read and written again; other names, forms and heads; what
 * is wrong with files. */
#include "engine/io/safetensors.h"
#include "tests/unit/model_files.h"

static bool
same_bytes(test_machine *t, const rlf_tensor *p, const rlf_tensor *q)
{
    char *x = rlf_malloc(p->bytes), *y = rlf_malloc(q->bytes);
    MUST(t, rlf_tensor_read(p, &t->err, x));
    MUST(t, rlf_tensor_read(q, &t->err, y));
    bool same = p->bytes == q->bytes && !memcmp(x, y, p->bytes);
    free(x);
    free(y);
    return same;
}

/* Every tensor of both files has the same type, shape and bytes. */
static bool
same_tensors(test_machine *t, const char *a, const char *b)
{
    rlf_safetensors *x, *y;
    MUST(t, rlf_safetensors_open(a, &t->err, &x));
    MUST(t, rlf_safetensors_open(b, &t->err, &y));
    bool same = rlf_safetensors_count(x) == rlf_safetensors_count(y);
    for (size_t i = 0; i < rlf_safetensors_count(x); i++) {
        const rlf_tensor *p = rlf_safetensors_at(x, i);
        const rlf_tensor *q = rlf_safetensors_get(y, p->name);
        same &= q && q->element == p->element && q->n_dims == p->n_dims &&
                !memcmp(q->shape, p->shape, sizeof p->shape) &&
                same_bytes(t, p, q);
    }
    rlf_safetensors_close(x);
    rlf_safetensors_close(y);
    return same;
}

static void
test_round_trip(test_machine *t, const char *name, rlf_model_head head,
                rlf_arena *arena)
{
    const char *dir = source_path(
        arena, rlf_arena_printf(arena, "tests/data/models/%s", name));
    const char *out = scratch_path(arena, name);
    rlf_model *model = load(t, dir, head, false, arena);
    MUST(t, rlf_weights_save(model, out, &t->err));
    ok(same_tensors(t, rlf_arena_printf(arena, "%s/model.safetensors", dir),
                    rlf_arena_printf(arena, "%s/model.safetensors", out)),
       "%s: saved as it was read, type and bits", name);
    rlf_model *again = load(t, out, head, false, arena);
    rlf_model_config a = model->table->config, b = again->table->config;
    bool same = true;
    for (int i = 0; i < a.layers; i++)
        same &=
            rlf_model_config_window(&a, i) == rlf_model_config_window(&b, i);
    a.dir = b.dir = a.json = b.json = a.generation = b.generation = NULL;
    a.windowed = b.windowed = NULL;
    for (int i = 0; a.rope.long_factor && i < a.rope.dim / 2; i++)
        same &= a.rope.long_factor[i] == b.rope.long_factor[i];
    a.rope.short_factor = b.rope.short_factor = NULL;
    a.rope.long_factor = b.rope.long_factor = NULL;
    ok(same && !memcmp(&a, &b, sizeof a), "%s: the saved config says the same",
       name);
    rlf_model_free(model);
    rlf_model_free(again);
}

static void
test_bad_files(test_machine *t, rlf_arena *arena)
{
    const char *llama = source_path(arena, "tests/data/models/llama");
    const char *critic = source_path(arena, "tests/data/models/critic");
    rlf_model *model = load(t, llama, RLF_HEAD_SCALAR, false, arena);
    bool zero = true;
    for (int i = 0; i < model->table->config.hidden; i++)
        zero &= model->weights[model->table->score + i] == 0;
    ok(zero, "a scalar head that is lacking starts at 0");
    rlf_err_clear(&t->err);
    is_int(load_weights(model,
                        rlf_arena_printf(arena, "%s/model.safetensors", critic),
                        &t->err),
           RLF_USER, "a file without the config's biases");
    ok(strstr(t->err.sentence, "bias"), "names the tensor: %s",
       t->err.sentence);
    rlf_err_clear(&t->err);
    rlf_model_free(model);

    rlf_model_config config;
    MUST(t, rlf_model_config_read(critic, arena, &t->err, &config));
    config.vocab = 28;
    rlf_model_options options = {.head = RLF_HEAD_SCALAR};
    MUST(t, rlf_model_new(t->queue, rlf_kernels_cpu(), &config, &options,
                          &t->err, &model));
    is_int(load_weights(model,
                        rlf_arena_printf(arena, "%s/model.safetensors", critic),
                        &t->err),
           RLF_USER, "a tensor of another shape");
    ok(strstr(t->err.sentence, "[29, 16]") &&
           strstr(t->err.sentence, "[28, 16]"),
       "names both shapes: %s", t->err.sentence);
    rlf_err_clear(&t->err);
    rlf_model_free(model);
}

typedef struct test_tensor {
    const char *name;
    rlf_element element;
    uint64_t rows, cols;
    float first; /* value of the first element; the others are 0 */
} test_tensor;

/* A safetensors file of these tensors in the scratch directory. */
static void
write_tensors(test_machine *t, rlf_arena *arena, const test_tensor *list,
              size_t n)
{
    rlf_tensor *tensors = RLF_NEW_ARRAY(arena, rlf_tensor, n);
    for (size_t i = 0; i < n; i++)
        tensors[i] = (rlf_tensor){.name = list[i].name,
                                  .element = list[i].element,
                                  .n_dims = list[i].cols ? 2 : 1,
                                  .shape = {list[i].rows, list[i].cols}};
    rlf_tensor_writer *writer;
    MUST(t, rlf_tensor_writer_open(scratch_path(arena, "model.safetensors"),
                                   tensors, n, NULL, 0, &t->err, &writer));
    for (size_t i = 0; i < n; i++) {
        size_t count = list[i].rows * (list[i].cols ? list[i].cols : 1);
        float *values = RLF_NEW_ARRAY(arena, float, count);
        values[0] = list[i].first;
        if (list[i].element == RLF_ELEMENT_F32)
            MUST(t, rlf_tensor_writer_add_f32(writer, values, count, &t->err));
        else
            MUST(t, rlf_tensor_writer_add(
                        writer, values,
                        count * rlf_element_size(list[i].element), &t->err));
    }
    MUST(t, rlf_tensor_writer_commit(writer, &t->err, NULL, NULL));
}

/* A model of `dir`'s config, with `ffn` of its own unless 0, of the tensors of
 * a file: what is wrong with it. */
static void
refuse_file(test_machine *t, const char *dir, int ffn, const char *file,
            const char *message, rlf_arena *arena)
{
    rlf_model_config config;
    rlf_model *model;
    MUST(t, rlf_model_config_read(dir, arena, &t->err, &config));
    config.ffn = ffn ? ffn : config.ffn;
    rlf_model_options options = {.head = RLF_HEAD_LM};
    MUST(t, rlf_model_new(t->queue, rlf_kernels_cpu(), &config, &options,
                          &t->err, &model));
    is_int(load_weights(model, file, &t->err), RLF_USER, message);
    ok(strstr(t->err.sentence, message), "is said: %s", t->err.sentence);
    rlf_err_clear(&t->err);
    rlf_model_free(model);
}

/* Files of a base model, as GPT-2's first ones: names without "transformer.",
 * and the masks that older versions of transformers wrote as tensors. */
static void
test_base_names(test_machine *t, rlf_arena *arena)
{
    const char *gpt2 = source_path(arena, "tests/data/models/gpt2");
    const char *file = scratch_path(arena, "model.safetensors");
    rlf_model *model = load(t, gpt2, RLF_HEAD_LM, false, arena), *again;
    rlf_safetensors *from;
    MUST(t,
         rlf_safetensors_open(rlf_path_join(arena, gpt2, "model.safetensors"),
                              &t->err, &from));
    size_t n = rlf_safetensors_count(from);
    rlf_tensor *list = RLF_NEW_ARRAY(arena, rlf_tensor, n + 1);
    for (size_t i = 0; i < n; i++) {
        list[i] = *rlf_safetensors_at(from, i);
        list[i].name += strlen("transformer.");
    }
    list[n] = (rlf_tensor){.name = "h.0.attn.bias",
                           .element = RLF_ELEMENT_F32,
                           .n_dims = 4,
                           .shape = {1, 1, 2, 2}};
    rlf_tensor_writer *writer;
    MUST(t,
         rlf_tensor_writer_open(file, list, n + 1, NULL, 0, &t->err, &writer));
    for (size_t i = 0; i < n; i++) {
        void *bytes = rlf_arena_alloc(arena, list[i].bytes);
        MUST(t, rlf_tensor_read(&list[i], &t->err, bytes));
        MUST(t, rlf_tensor_writer_add(writer, bytes, list[i].bytes, &t->err));
    }
    MUST(t, rlf_tensor_writer_add_f32(writer, (float[4]){0}, 4, &t->err));
    MUST(t, rlf_tensor_writer_commit(writer, &t->err, NULL, NULL));
    rlf_model_options options = {.head = RLF_HEAD_LM};
    MUST(t, rlf_model_new(t->queue, rlf_kernels_cpu(), &model->table->config,
                          &options, &t->err, &again));
    MUST(t, load_weights(again, file, &t->err));
    is_bits_f32(again->weights, model->weights, (size_t)model->table->count,
                "a base model's names, and masks");
    rlf_model_free(again);
    rlf_safetensors_close(from);
    list[n].name = "h.0.attn.extra";
    MUST(t,
         rlf_tensor_writer_open(file, list + n, 1, NULL, 0, &t->err, &writer));
    MUST(t, rlf_tensor_writer_add_f32(writer, (float[4]){0}, 4, &t->err));
    MUST(t, rlf_tensor_writer_commit(writer, &t->err, NULL, NULL));
    refuse_file(t, gpt2, 0, file, "tensor h.0.attn.extra is not part of",
                arena);
    rlf_model_free(model);
}

/* Messages are of the tensors that files have, whatever slots they fill. */
static void
test_forms(test_machine *t, rlf_arena *arena)
{
    static const test_tensor fused[] = {
        {"model.embed_tokens.weight", RLF_ELEMENT_F32, 29, 16, 0},
        {"lm_head.weight", RLF_ELEMENT_F32, 29, 16, 0},
        {"norm.weight", RLF_ELEMENT_F32, 16, 0, 0},
        {"model.layers.0.self_attn.qkv_proj.weight", RLF_ELEMENT_F32, 32, 16,
         INFINITY},
    };
    const char *phi3 = source_path(arena, "tests/data/models/phi3");
    const char *file = scratch_path(arena, "model.safetensors");
    refuse_file(t, phi3, 20, rlf_path_join(arena, phi3, "model.safetensors"),
                "mlp.gate_up_proj.weight has shape [48, 16], but config.json "
                "asks for [40, 16]",
                arena);
    write_tensors(t, arena, fused, RLF_COUNT(fused));
    refuse_file(t, phi3, 0, file,
                "qkv_proj.weight has a value that is not finite, at 0", arena);
    write_tensors(t, arena, fused, RLF_COUNT(fused) - 1);
    refuse_file(t, phi3, 0, file,
                "has not these 12 tensors: "
                "model.layers.0.self_attn.qkv_proj.weight, "
                "model.layers.0.self_attn.o_proj.weight, "
                "model.layers.0.mlp.gate_up_proj.weight,",
                arena);
}

/* A tied model beside files with a head, and what files lack or have as
 * integers. */
static void
test_heads(test_machine *t, rlf_arena *arena)
{
    enum { V = 11, D = 16, F = 24 };
    const test_tensor all[] = {
        {"lm_head.weight", RLF_ELEMENT_F32, V, D, 2},
        {"model.embed_tokens.weight", RLF_ELEMENT_F32, V, D, 1},
        {"model.layers.0.input_layernorm.weight", RLF_ELEMENT_F32, D, 0, 1},
        {"model.layers.0.self_attn.q_proj.weight", RLF_ELEMENT_F32, D, D, 1},
        {"model.layers.0.self_attn.k_proj.weight", RLF_ELEMENT_F32, D, D, 1},
        {"model.layers.0.self_attn.v_proj.weight", RLF_ELEMENT_F32, D, D, 1},
        {"model.layers.0.self_attn.o_proj.weight", RLF_ELEMENT_F32, D, D, 1},
        {"model.layers.0.post_attention_layernorm.weight", RLF_ELEMENT_F32, D,
         0, 1},
        {"model.layers.0.mlp.gate_proj.weight", RLF_ELEMENT_F32, F, D, 1},
        {"model.layers.0.mlp.up_proj.weight", RLF_ELEMENT_F32, F, D, 1},
        {"model.layers.0.mlp.down_proj.weight", RLF_ELEMENT_F32, D, F, 1},
        {"model.norm.weight", RLF_ELEMENT_F32, D, 0, 1},
    };
    static const char tied[] = "{" GOOD ", \"tie_word_embeddings\": true}";
    test_tensor some[RLF_COUNT(all)];
    rlf_model_config c;
    rlf_model *model;
    const rlf_model_options options = {.head = RLF_HEAD_LM};
    memcpy(some, all, sizeof all);
    write_tensors(t, arena, all, RLF_COUNT(all));
    MUST(t, read_config(arena, tied, &t->err, &c));
    MUST(t, rlf_weights_tie(scratch, &c, &t->err));
    ok(!c.tied && c.untied, "a head that is not the embedding is taken");
    const bool types[RLF_ELEMENT_COUNT] = {[RLF_ELEMENT_F32] = true};
    ok(strstr(saved_text(&c, types, arena), "\"tie_word_embeddings\": false"),
       "and the saved config says so");
    some[0].first = 1;
    write_tensors(t, arena, some, RLF_COUNT(all));
    MUST(t, read_config(arena, tied, &t->err, &c));
    MUST(t, rlf_weights_tie(scratch, &c, &t->err));
    ok(c.tied && !c.untied, "a head of the same values is tied");

    some[1] = some[0]; /* without the embedding */
    write_tensors(t, arena, some + 1, RLF_COUNT(all) - 1);
    MUST(t, rlf_weights_tie(scratch, &c, &t->err));
    MUST(t, rlf_model_new(t->queue, rlf_kernels_cpu(), &c, &options, &t->err,
                          &model));
    MUST(t, load_weights(model, scratch, &t->err));
    ok(c.tied && model->weights[model->table->embed] == 1,
       "of a tied matrix either name will do");
    write_tensors(t, arena, some + 4, RLF_COUNT(all) - 4);
    is_int(load_weights(model, scratch, &t->err), RLF_USER,
           "files without tensors");
    is_str(t->err.sentence,
           rlf_arena_printf(arena,
                            "%s has not these 3 tensors: "
                            "model.embed_tokens.weight, "
                            "model.layers.0.self_attn.q_proj.weight, "
                            "model.layers.0.input_layernorm.weight",
                            scratch),
           "all are named");
    rlf_err_clear(&t->err);
    some[4].element = RLF_ELEMENT_I8;
    write_tensors(t, arena, some + 1, RLF_COUNT(all) - 1);
    is_int(load_weights(model, scratch, &t->err), RLF_USER,
           "integers are no weights");
    ok(strstr(t->err.sentence, "k_proj.weight is of I8"), "%s",
       t->err.sentence);
    rlf_err_clear(&t->err);
    rlf_model_free(model);
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    test_machine t;
    files_open(&t, "model_files");
    test_round_trip(&t, "llama", RLF_HEAD_LM, arena);
    test_round_trip(&t, "qwen2", RLF_HEAD_LM, arena);
    test_round_trip(&t, "qwen3", RLF_HEAD_LM, arena);
    test_round_trip(&t, "mistral", RLF_HEAD_LM, arena);
    test_round_trip(&t, "gemma2", RLF_HEAD_LM, arena);
    test_round_trip(&t, "gemma3", RLF_HEAD_LM, arena);
    test_round_trip(&t, "critic", RLF_HEAD_SCALAR, arena);
    test_round_trip(&t, "phi3", RLF_HEAD_LM, arena);
    test_round_trip(&t, "gpt2", RLF_HEAD_LM, arena);
    test_round_trip(&t, "cohere", RLF_HEAD_LM, arena);
    test_round_trip(&t, "glm", RLF_HEAD_LM, arena);
    test_round_trip(&t, "falcon", RLF_HEAD_LM, arena);
    test_round_trip(&t, "gpt_neox_serial", RLF_HEAD_LM, arena);
    test_bad_files(&t, arena);
    test_forms(&t, arena);
    test_base_names(&t, arena);
    test_heads(&t, arena);
    files_close(&t);
    rlf_arena_free(arena);
    return done();
}
