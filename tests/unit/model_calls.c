/* These checks list the kernels that a pass calls, with the values that each
 * reads and writes, also over pages and on each of several ranks:
 * tests/data/model_calls.txt has the whole list for some models and the hash of
 * the list for random ones. No list may have an operand that is torn or that
 * nobody wrote.
 *
 * RLFLOW_WRITE_GOLDEN writes the file anew. A change of where values lie leaves
 * it as it is; a change of what is computed must be meant. */
#include <pthread.h>

#include "engine/base/hash.h"
#include "engine/comm/comm.h"
#include "engine/io/file.h"
#include "nodes/model/kv.h"
#include "tests/unit/model_calls.h"
#include "tests/unit/model_lora.h"

typedef struct variant {
    const char *name;
    rlf_model_config config;
    rlf_pass_options pass;
    int shards;
    int ranks;  /* ranks that have the model in parts; 0: one */
    bool paged; /* new tokens over pages */
} variant;

enum { SEQS = 3, RANKS = 4, RANDOM = 200, FAMILIES = 100, EACH = 40 };

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

/* Pages of the sequences of test_load(), in no order, which begin behind a
 * past. */
enum { PAGES = 6, PER_SEQ = 2, PAGE = 16 };
static const int32_t pages[SEQS * PER_SEQ] = {3, 1, 0, 5, 4, 2};
static const int32_t starts[SEQS] = {4, 0, 17};

static int32_t
slot_of(int sequence, int position)
{
    return pages[sequence * PER_SEQ + position / PAGE] * PAGE + position % PAGE;
}

/* Keys and values of the past are in all layers' pages. */
static void
put_past(calls *c, const rlf_kv *kv)
{
    const rlf_table *t = kv->table;
    int width = (int)rlf_table_kv(t);
    int past[2] = {new_value(c, "past k", width),
                   new_value(c, "past v", width)};
    for (int layer = 0; layer < t->n_layers; layer++)
        for (int s = 0; s < SEQS; s++)
            for (int i = 0; i < 2 * starts[s]; i++)
                put_in_page(c,
                            rlf_real_at(kv->kernels, kv->block,
                                        layer * kv->layer_stride),
                            PAGE, kv->page_stride, width, t->config.head_dim,
                            slot_of(s, i / 2), i % 2, past[i % 2], i / 2);
}

/* The same tokens, but behind these pasts. */
static rlf_paged
page_in(const rlf_pass *p, rlf_kv *kv, int32_t *slots)
{
    for (int s = 0; s < SEQS; s++)
        for (int i = p->offsets[s]; i < p->offsets[s + 1]; i++)
            slots[i] = slot_of(s, starts[s] + i - p->offsets[s]);
    return (rlf_paged){.starts = starts,
                       .pages = pages,
                       .slots = slots,
                       .next = pages,
                       .ld_pages = PER_SEQ,
                       .kv = kv->block,
                       .page_size = PAGE,
                       .page_stride = kv->page_stride,
                       .layer_stride = kv->layer_stride};
}

static void
run_paged(test_machine *t, rlf_model *model, rlf_pass *p, calls *c)
{
    int32_t slots[15];
    rlf_kv *kv;
    MUST(t, rlf_kv_new(model, PAGE, PAGES, &t->err, &kv));
    const rlf_paged paged = page_in(p, kv, slots);
    p->paged = &paged;
    put_past(c, kv);
    MUST(t, rlf_transformer_forward_chunk(model, p, 0, &t->err));
    rlf_kv_free(kv);
}

/* Forward, and for a pass that trains backward too. */
static void
run_pass(test_machine *t, rlf_model *model, const variant *v, calls *c)
{
    rlf_pass *p;
    MUST(t, rlf_pass_new(model, &v->pass, &t->err, &p));
    test_load(t, p);
    c->tokens = p->m;
    c->model = model;
    if (v->paged) {
        run_paged(t, model, p, c);
        c->model = NULL;
        rlf_pass_free(p);
        return;
    }
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

typedef struct rank {
    const variant *variant;
    rlf_comm *comm;
    char *list;
} rank;

static void *
run_rank(void *arg)
{
    static const int all[RANKS] = {0, 1, 2, 3};
    rank *a = arg;
    const variant *v = a->variant;
    test_machine t;
    calls c;
    rlf_device_ops ops;
    rlf_kernels kernels;
    rlf_model *model;
    rlf_group *group = NULL;
    test_machine_open(&t, 1);
    const rlf_device_ops *real = t.device->ops;
    if (a->comm)
        MUST(&t, rlf_group_new(a->comm, all, v->ranks, &group, &t.err));
    record(&t, &c, &ops, &kernels);
    rlf_model_options options = {.head = RLF_HEAD_LM,
                                 .trained = v->pass.train,
                                 .shards = v->shards,
                                 .group = group};
    MUST(&t, rlf_model_new(t.queue, t.kernels, &v->config, &options, &t.err,
                           &model));
    MUST(&t, rlf_model_changed(model, &t.err));
    run_pass(&t, model, v, &c);
    a->list = c.text.p; /* it outlives the recorder */
    c.text = (rlf_buf){0};
    rlf_model_free(model);
    rlf_group_free(group);
    forget(&c);
    t.device->ops = real;
    test_machine_close(&t);
    return NULL;
}

/* The lists of calls of a variant, one for each rank, to be freed. */
static int
lists_of(const variant *v, char **lists)
{
    rank ranks[RANKS];
    pthread_t threads[RANKS];
    rlf_comm_world *world = NULL;
    rlf_err err = RLF_ERR_NONE;
    int n = v->ranks ? v->ranks : 1;
    rlf_comm_options options = {.n_ranks = n, .limit = 60};
    if (n > 1 && rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    for (int i = 0; i < n; i++) {
        ranks[i] = (rank){v, world ? rlf_comm_of(world, i) : NULL, NULL};
        if (pthread_create(&threads[i], NULL, run_rank, &ranks[i]) != 0)
            bail("no thread");
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        lists[i] = ranks[i].list;
    }
    rlf_comm_world_free(world);
    return n;
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
    static variant v[13];
    if (!v[0].name) {
        for (int k = 0; k < (int)RLF_COUNT(v); k++)
            v[k] = (variant){.config = small,
                             .pass = {.tokens = 15, .train = k > 0},
                             .shards = 1};
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
        v[8].name = "qwen3, over pages";
        v[8].config.qk_norm = v[8].paged = true;
        v[9].name = "olmo2, over pages, two ranks with one key/value head";
        test_family(&v[9].config, &rlf_family_olmo2);
        v[9].paged = true;
        v[10].name = "qwen2, training, two ranks with one key/value head";
        v[10].config.qkv_bias = true;
        v[11].name = "llama with adapters, training, two ranks with one "
                     "key/value head";
        test_family(&v[11].config, &lora_family);
        v[12].name = "llama with adapters and dropout, recomputed";
        test_family(&v[12].config, &lora_family);
        v[12].config.lora.dropout = 0.1;
        v[12].pass.recompute = true;
        v[8].pass.train = v[9].pass.train = false;
        v[9].ranks = v[10].ranks = v[11].ranks = 2;
        v[9].shards = v[10].shards = v[11].shards = 2;
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

/* Behind those: any of the first families over pages, and in parts; then each
 * of the families that came after them, in the order of family.def, so that one
 * more leaves all lines as they are. */
enum {
    PLAIN = RANDOM + FAMILIES + 6 * EACH,
    MORE = 120,
    FIRST = 11,
    NEW = 24,
};

static variant
any_placed(int i)
{
    static const int ranks[] = {0, 2, 4};
    uint64_t seed = (uint64_t)i;
    const rlf_family *families[] = {NULL, &lora_family,
                                    test_any_family(seed % FIRST)};
    variant v = any_variant(seed + PLAIN);
    const rlf_family *family = families[test_random(&seed) % 3];
    if (i >= MORE)
        family = test_any_family((uint64_t)(FIRST + (i - MORE) / NEW));
    if (family)
        test_family(&v.config, family);
    v.ranks = ranks[test_random(&seed) % 3];
    v.paged = test_random(&seed) % 2;
    if (v.paged)
        v.pass.train = v.pass.recompute = v.pass.split = false;
    if (v.ranks) {
        v.config.heads = 8;
        v.shards = v.ranks << test_random(&seed) % 2;
    }
    return v;
}

static const char *
rank_name(int i)
{
    static const char *const names[RANKS] = {"", ", rank 1", ", rank 2",
                                             ", rank 3"};
    return names[i];
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
        char *lists[RANKS];
        int n = lists_of(v, lists);
        for (int k = 0; k < n; k++) {
            rlf_buf_printf(&all, "%s%s\n%s\n", v->name, rank_name(k), lists[k]);
            torn += count_torn(lists[k], v->name);
            free(lists[k]);
        }
    }
    int end = PLAIN + MORE + NEW * (test_families() - FIRST);
    for (int i = 0; i < end; i++) {
        variant any =
            i < PLAIN ? any_variant((uint64_t)i) : any_placed(i - PLAIN);
        const rlf_family *family = family_of(i);
        if (family)
            test_family(&any.config, family);
        if (family == &rlf_family_olmo2 && i < RANDOM + FAMILIES)
            any.shards = 1;
        char *lists[RANKS], name[32];
        int n = lists_of(&any, lists);
        for (int k = 0; k < n; k++) {
            snprintf(name, sizeof name, "random %d%s", i, rank_name(k));
            rlf_buf_printf(&all, "%s %016llx\n", name,
                           (unsigned long long)rlf_hash_text(lists[k]));
            torn += count_torn(lists[k], name);
            free(lists[k]);
        }
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
