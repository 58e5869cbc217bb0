/* Which kernels a pass calls, on which values: tests/data/model_calls.txt has
 * the whole list for some models and the hash of the list for random ones. No
 * list may have an operand that is torn or that nobody wrote.
 *
 * RLFLOW_WRITE_GOLDEN writes the file anew. A change of where values lie leaves
 * it as it is; a change of what is computed must be meant. */
#include "engine/base/hash.h"
#include "engine/io/file.h"
#include "tests/unit/model_calls.h"

typedef struct variant {
    const char *name;
    rlf_model_config config;
    rlf_pass_options pass;
    int shards;
} variant;

enum { SEQS = 3, RANDOM = 200, FAMILIES = 100, EACH = 40 };

static const rlf_model_config small = {.layers = 2,
                                       .hidden = 16,
                                       .heads = 2,
                                       .kv_heads = 1,
                                       .head_dim = 8,
                                       .ffn = 24,
                                       .vocab = 29,
                                       .context = 64,
                                       .eps = 1e-6,
                                       .rope.theta = 10000,
                                       .bos = -1};

/* Prompts and responses of a micro-batch of 15 tokens, 8 of them responses. */
static void
load(test_machine *t, rlf_pass *p, calls *c)
{
    static const uint32_t ids[15] = {3, 1, 4, 1, 5, 9, 2, 6,
                                     5, 3, 5, 8, 9, 7, 9};
    static const uint32_t lengths[SEQS][2] = {{3, 2}, {1, 5}, {3, 1}};
    rlf_sequence seqs[SEQS];
    for (uint32_t i = 0, at = 0; i < SEQS; i++) {
        seqs[i] = (rlf_sequence){.prompt = ids + at,
                                 .n_prompt = lengths[i][0],
                                 .response = ids + at + lengths[i][0],
                                 .n_response = lengths[i][1],
                                 .temperature = 1};
        at += lengths[i][0] + lengths[i][1];
    }
    MUST(t, rlf_pass_load(p, seqs, SEQS, 0, RLF_ROWS_TOKENS, &t->err));
    c->tokens = p->m;
}

/* Forward, and for a pass that trains backward too. */
static void
run_pass(test_machine *t, rlf_model *model, const variant *v, calls *c)
{
    rlf_pass *p;
    MUST(t, rlf_pass_new(model, &v->pass, &t->err, &p));
    load(t, p, c);
    c->model = model;
    MUST(t, rlf_transformer_forward_chunk(model, p, 0, &t->err));
    if (v->pass.train) {
        int d = v->config.hidden;
        put_value(c, p->d_hidden, new_value(c, "d_hidden", d), p->n_rows, d, 0);
        MUST(t, rlf_transformer_backward_chunk(model, p, 0, &t->err));
    }
    if (v->pass.split)
        MUST(t, rlf_transformer_weights_chunk(model, p, 0, &t->err));
    c->model = NULL;
    rlf_pass_free(p);
}

/* The list of calls of a variant, to be freed. */
static char *
list_of(const variant *v)
{
    test_machine t;
    calls c;
    rlf_device_ops ops;
    rlf_kernels kernels;
    rlf_model *model;
    test_machine_open(&t, 1);
    const rlf_device_ops *real = t.device->ops;
    record(&t, &c, &ops, &kernels);
    rlf_model_options options = {
        .head = RLF_HEAD_LM, .trained = v->pass.train, .shards = v->shards};
    MUST(&t, rlf_model_new(t.queue, t.kernels, &v->config, &options, &t.err,
                           &model));
    MUST(&t, rlf_model_changed(model, &t.err));
    run_pass(&t, model, v, &c);
    char *text = c.text.p; /* it outlives the recorder */
    c.text = (rlf_buf){0};
    rlf_model_free(model);
    forget(&c);
    t.device->ops = real;
    test_machine_close(&t);
    return text;
}

static bool
flag(uint64_t *seed)
{
    return test_random(seed) % 2;
}

/* Any model and pass that one stage can have. */
static variant
any_variant(uint64_t seed)
{
    variant v = {.config = small,
                 .pass = {.tokens = 15 + (int)(test_random(&seed) % 9)}};
    rlf_model_config *c = &v.config;
    c->layers = 1 + (int)(test_random(&seed) % 3);
    v.shards = 1 << test_random(&seed) % 3;
    c->kv_heads = 1 << test_random(&seed) % 3;
    c->heads = c->kv_heads * (1 + (int)(test_random(&seed) % 3));
    if (c->heads % v.shards)
        v.shards = 1;
    c->qkv_bias = flag(&seed);
    c->o_bias = flag(&seed);
    c->mlp_bias = flag(&seed);
    c->qk_norm = flag(&seed);
    c->tied = flag(&seed);
    c->window = flag(&seed) ? 4 : 0;
    test_windows(c, (int)(test_random(&seed) % 2));
    v.pass.train = test_random(&seed) % 4 != 0;
    v.pass.recompute = v.pass.train && flag(&seed);
    v.pass.split = v.pass.train && !v.pass.recompute && flag(&seed);
    return v;
}

static const variant *
named(int i)
{
    static variant v[8];
    if (!v[0].name) {
        for (int k = 0; k < (int)RLF_COUNT(v); k++)
            v[k] = (variant){"", small, {.tokens = 15, .train = k > 0}, 1};
        v[0].name = "llama, reading";
        v[1].name = "llama, training";
        v[2].name = "qwen3, recomputed";
        v[2].config.qk_norm = v[2].pass.recompute = true;
        v[3].name = "qwen2, tied, two shards, backward split";
        v[3].config.qkv_bias = v[3].config.tied = v[3].pass.split = true;
        v[3].shards = 2;
        v[4].name = "all biases, one layer";
        v[4].config.qkv_bias = v[4].config.o_bias = v[4].config.mlp_bias = true;
        v[4].config.layers = 1;
        v[5].name = "olmo2, backward split";
        test_family(&v[5].config, &rlf_family_olmo2);
        v[5].pass.split = true;
        v[6].name = "granite, recomputed";
        test_family(&v[6].config, &rlf_family_granite);
        v[6].pass.recompute = true;
        v[7].name = "gemma2, training";
        test_family(&v[7].config, &rlf_family_gemma2);
    }
    return i < (int)RLF_COUNT(v) ? &v[i] : NULL;
}

/* Of the random model i; NULL: Llama, or behind the last. Families that came
 * later are behind the others, EACH of each. */
static const rlf_family *
family_of(int i)
{
    static const rlf_family *const later[] = {
        &rlf_family_gemma2, &rlf_family_gemma3, &rlf_family_gpt2,
        &rlf_family_phi3,   &rlf_family_cohere, &rlf_family_olmo2};
    int k = (i - RANDOM - FAMILIES) / EACH;
    if (i < RANDOM || k >= (int)RLF_COUNT(later))
        return NULL;
    if (i < RANDOM + FAMILIES)
        return i % 2 ? &rlf_family_granite : &rlf_family_olmo2;
    return later[k];
}

/* A line for each call that reads what it should not. */
static int
count_torn(const char *list, const char *name)
{
    int n = 0;
    static const char *const words[] = {"torn", "unwritten", "not packed",
                                        "elsewhere"};
    for (size_t i = 0; i < RLF_COUNT(words); i++)
        for (const char *p = list; (p = strstr(p, words[i])); p++)
            n++;
    if (n)
        note("%s:\n%s", name, list);
    return n;
}

int
main(void)
{
    rlf_buf all = {0}, want = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    const char *path = source_path(arena, "tests/data/model_calls.txt");
    int torn = 0;
    const variant *v;
    for (int i = 0; (v = named(i)); i++) {
        char *list = list_of(v);
        rlf_buf_printf(&all, "%s\n%s\n", v->name, list);
        torn += count_torn(list, v->name);
        free(list);
    }
    for (int i = 0; i < RANDOM || family_of(i); i++) {
        variant any = any_variant((uint64_t)i);
        const rlf_family *family = family_of(i);
        if (family)
            test_family(&any.config, family);
        if (family == &rlf_family_olmo2 && i < RANDOM + FAMILIES)
            any.shards = 1;
        char *list = list_of(&any), name[32];
        snprintf(name, sizeof name, "random %d", i);
        rlf_buf_printf(&all, "%s %016llx\n", name,
                       (unsigned long long)rlf_hash_text(list));
        torn += count_torn(list, name);
        free(list);
    }
    is_int(torn, 0, "every operand is one value that was written");
    if (getenv("RLFLOW_WRITE_GOLDEN") &&
        rlf_file_write(path, all.p, all.n, &err) < 0)
        bail("%s", err.sentence);
    if (rlf_file_read(path, 1 << 24, &err, &want) < 0)
        bail("%s", err.sentence);
    ok(want.n == all.n && !memcmp(want.p, all.p, all.n),
       "the calls are those of tests/data/model_calls.txt");
    for (size_t i = 0; i < all.n && i < want.n; i++)
        if (all.p[i] != want.p[i]) {
            note("they differ at: %.300s", all.p + i);
            break;
        }
    rlf_buf_free(&all);
    rlf_buf_free(&want);
    rlf_arena_free(arena);
    return done();
}
