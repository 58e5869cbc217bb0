/* Log-probabilities, entropies, values and all gradients against PyTorch in
 * double precision: all models of tests/data/models, which
 * tests/oracle/transformers_llama.py makes, of every family one at least; some
 * with adapters, whose gradients alone peft has, in one shard and in two, with
 * dropout that the oracle draws by itself, and with adapters that were merged
 * into the weights. The same with recomputation, and in micro-batches of one
 * sequence.
 *
 * On GPUs, emulated and real: in f32 the bits of the CPU; in bf16 close to the
 * oracle, as far as BF16_OFF says. */
#include "engine/io/safetensors.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/form.h"
#include "nodes/model/compile.h"
#include "nodes/model/gradient.h"
#include "nodes/model/merge.h"
#include "nodes/model/prefix.h"
#include "engine/io/file.h"
#include "tests/put.h"
#include "tests/unit/model_lora.h"
#include "tests/unit/model_places.h"

#include <dirent.h>

#define MOST_SEQS 16
#define COPIES 4

/* Largest |got - want| / (1 + |want|) in f32. */
#define F32_HEAD 1e-5
#define F32_GRADIENT 2e-5
/* Largest |got - want| over the largest |want| of the tensor. */
#define F32_TENSOR 1e-5
/* In bf16 each weight is rounded, and so are a product's input, its output, the
 * residual, and on the way back their derivatives: by at most 2^-9, with either
 * sign. What errors of that size do to a result is asked of the model itself:
 * in f32 each weight is changed by 2^-9 of it, up or down, SHAKES times. A
 * rounding is 0.42 of 2^-9 in the mean square, so some six of them for each
 * weight make as much; a result may be off (in the norm) by BF16_OFF times it.
 */
enum { SHAKES = 4 };
#define BF16_OFF 4

typedef struct fixture {
    test_machine *machine;
    const test_place *at;
    rlf_safetensors *expected;
    rlf_model *model;
    rlf_sequence seqs[MOST_SEQS];
    bool shared; /* each is there COPIES times, with one prompt */
    uint32_t n_seqs;
    uint32_t *tokens;
    const char *name;
    bool merged; /* no gradient is of a tensor that the model has */
} fixture;

/* All elements of a tensor of the fixture. */
static const double *
expected(const fixture *f, const char *name, rlf_arena *arena, size_t *n)
{
    const rlf_tensor *x = rlf_safetensors_get(f->expected, name);
    if (!x)
        bail("no %s in the fixture %s", name, f->name);
    double *out = RLF_NEW_ARRAY(arena, double, x->count);
    float *row = RLF_NEW_ARRAY(arena, float, x->count);
    if (x->element == RLF_ELEMENT_F64) {
        MUST(f->machine, rlf_tensor_read(x, &f->machine->err, out));
    } else {
        MUST(f->machine,
             rlf_tensor_read_f32(x, 0, x->count, &f->machine->err, row));
        for (size_t i = 0; i < x->count; i++)
            out[i] = (double)row[i];
    }
    *n = x->count;
    return out;
}

/* Largest |got - want| / (1 + |want|), and over the largest |want|. */
static void
is_near(const fixture *f, const float *got, const double *want, size_t n,
        double bound, const char *what)
{
    double worst = 0, off = 0, large = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]), e = d / (1 + fabs(want[i]));
        if (!(e <= worst))
            worst = e;
        if (!(d <= off))
            off = d;
        large = fmax(large, fabs(want[i]));
    }
    bool near = worst <= bound && off <= F32_TENSOR * large;
    ok(near, "%s, %s: %s within %g", f->at->name, f->name, what, bound);
    if (!near || getenv("VERBOSE"))
        note("worst %g, off %g of %g, of %zu", worst, off, large, n);
}

static void
read_sequences(fixture *f, rlf_arena *arena)
{
    size_t n, n_tokens, unused;
    const double *lengths = expected(f, "lengths", arena, &n);
    const double *tokens = expected(f, "tokens", arena, &n_tokens);
    const double *temperature = expected(f, "temperature", arena, &unused);
    f->n_seqs = (uint32_t)n / 2;
    f->tokens = RLF_NEW_ARRAY(arena, uint32_t, n_tokens);
    for (size_t i = 0; i < n_tokens; i++)
        f->tokens[i] = (uint32_t)tokens[i];
    uint32_t *next = f->tokens;
    for (uint32_t i = 0; i < f->n_seqs; i++) {
        rlf_sequence *s = &f->seqs[i];
        s->n_prompt = (uint32_t)lengths[2 * i];
        s->n_response = (uint32_t)lengths[2 * i + 1];
        s->prompt = next;
        s->response = next + s->n_prompt;
        s->temperature = (float)temperature[i];
        s->drops = (rlf_random_key){.seed = 11,
                                    .purpose = RLF_PURPOSE_DROPOUT,
                                    .site = 2,
                                    .step = 3,
                                    .sample = i};
        next += s->n_prompt + s->n_response;
    }
}

/* The outputs of one run: those of heads for all rows, and gradients of all
 * weights. */
typedef struct outputs {
    float logprob[COPIES * 512], entropy[COPIES * 512];
    float scalar[COPIES * 512], last[512];
    uint32_t n;
    float *gradient;
    size_t count;
} outputs;

/* The sequences, each so often that it shares its prompt with the one before,
 * and the loss's weights of their rows, shared out among the copies. Returns
 * how many there are. */
static uint32_t
list_copies(const fixture *f, uint32_t copies, rlf_arena *arena,
            rlf_sequence *seqs, float weights[2][COPIES * 512])
{
    size_t n;
    const double *of[] = {expected(f, "weight", arena, &n),
                          expected(f, "entropy_weight", arena, &n)};
    uint32_t n_seqs = 0, row = 0, from = 0;
    for (uint32_t i = 0; i < f->n_seqs; i++) {
        uint32_t own = rlf_sequence_own(&f->seqs[i]);
        for (uint32_t c = 0; c < copies; c++, row += own) {
            seqs[n_seqs++] = f->seqs[i];
            for (uint32_t k = 0; k < own; k++)
                for (int w = 0; w < 2; w++)
                    weights[w][row + k] =
                        (float)of[w][from + k] / (float)copies;
        }
        from += own;
    }
    if (copies > 1)
        rlf_sequences_share(seqs, n_seqs, RLF_ROWS_TOKENS);
    return n_seqs;
}

/* Forward and backward of all sequences, `each` at a time, for gradients of the
 * fixture's weighted loss. */
static void
run(fixture *f, const rlf_pass_options *options, uint32_t each,
    rlf_arena *arena, outputs *out)
{
    test_machine *t = f->machine;
    bool scalar = f->model->table->head == RLF_HEAD_SCALAR;
    rlf_sequence seqs[COPIES * MOST_SEQS];
    float weights[2][COPIES * 512];
    const uint32_t copies = f->shared ? COPIES : 1;
    const uint32_t n_seqs = list_copies(f, copies, arena, seqs, weights);
    rlf_pass *p = NULL;
    MUST(t, rlf_pass_new(f->model, options, &t->err, &p));
    MUST(t, rlf_gradient_clear(f->model, &t->err));
    *out = (outputs){0};
    for (uint32_t i = 0; i < n_seqs; i += each) {
        uint32_t count = n_seqs - i < each ? n_seqs - i : each;
        MUST(t, rlf_pass_load(p, seqs + i, count, i, RLF_ROWS_TOKENS, &t->err));
        MUST(t, rlf_transformer_forward(f->model, p, &t->err));
        MUST(t, rlf_pass_write(p, weights[0] + out->n, p->n_rows, &t->err,
                               scalar ? p->d_scalar : p->d_logprob));
        MUST(t, rlf_pass_write(p, weights[1] + out->n, p->n_rows, &t->err,
                               p->d_entropy));
        if (scalar) {
            MUST(t, rlf_head_scalars(f->model, p, &t->err));
            MUST(t, rlf_pass_read(p, p->scalar, p->n_rows, &t->err,
                                  out->scalar + out->n));
            MUST(t, rlf_head_scalar_back(f->model, p, false, &t->err));
        } else {
            MUST(t, rlf_head_loss(f->model, p, NULL, NULL, true, &t->err));
            MUST(t, rlf_pass_read(p, p->logprob, p->n_rows, &t->err,
                                  out->logprob + out->n));
            MUST(t, rlf_pass_read(p, p->entropy, p->n_rows, &t->err,
                                  out->entropy + out->n));
        }
        MUST(t, rlf_transformer_backward_chunk(f->model, p, 0, &t->err));
        out->n += (uint32_t)p->n_rows;
    }
    if (scalar) {
        MUST(t,
             rlf_pass_load(p, f->seqs, f->n_seqs, 0, RLF_ROWS_LAST, &t->err));
        MUST(t, rlf_transformer_forward(f->model, p, &t->err));
        MUST(t, rlf_head_scalars(f->model, p, &t->err));
        MUST(t, rlf_pass_read(p, p->scalar, p->n_rows, &t->err, out->last));
    }
    rlf_pass_free(p);
    const rlf_table *table = f->model->table;
    out->count = (size_t)rlf_table_trained(table);
    out->gradient = test_copy(t, f->model->gradient.weights, out->count);
    if (f->model->gradient.tied) { /* the head's share */
        size_t more =
            (size_t)table->config.vocab * (size_t)table->config.hidden;
        float *tied = test_copy(t, f->model->gradient.tied, more);
        for (size_t i = 0; i < more; i++)
            out->gradient[(size_t)table->embed + i] += tied[i];
        free(tied);
    }
}

/* The results one by one, each with its oracle. */
enum { MOST_PARTS = 64 };

/* Is the tensor one that the fixture has no gradient of? */
static bool
is_frozen(const fixture *f, const rlf_slot *slot)
{
    const rlf_table *table = f->model->table;
    return f->merged || (table->config.family == &lora_family
                             ? !strstr(slot->name, "lora")
                             : !rlf_slot_trains(table, slot));
}

typedef struct part {
    const char *name;
    const float *got;
    const double *want;
    size_t n;
    double bound; /* in f32 */
} part;

static int
parts_of(const fixture *f, const outputs *out, rlf_arena *arena, part *parts)
{
    const rlf_table *table = f->model->table;
    bool scalar = table->head == RLF_HEAD_SCALAR;
    parts[0] = (part){.name = scalar ? "scalar" : "logprob",
                      .got = scalar ? out->scalar : out->logprob};
    parts[1] = (part){.name = scalar ? "last" : "entropy",
                      .got = scalar ? out->last : out->entropy};
    for (int i = 0; i < 2; i++) {
        parts[i].want = expected(f, parts[i].name, arena, &parts[i].n);
        parts[i].bound = F32_HEAD;
    }
    int n = 2;
    float *tensor = NULL;
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        part *p = &parts[n];
        if (is_frozen(f, slot))
            continue;
        if (!slot->form.first) {
            p->name = rlf_arena_printf(arena, "grad.%s", slot->form.tensor);
            p->want = expected(f, p->name, arena, &p->n);
            p->got = tensor = RLF_NEW_ARRAY(arena, float, p->n);
            p->bound = F32_GRADIENT;
        }
        rlf_form_put(slot, out->gradient + (slot->offset - table->trained),
                     tensor);
        n += rlf_form_ends(slot);
    }
    return n;
}

static double
part_off(const part *p)
{
    double off = 0, all = 0;
    for (size_t i = 0; i < p->n; i++) {
        off += pow((double)p->got[i] - p->want[i], 2);
        all += pow(p->want[i], 2);
    }
    return sqrt(off / all);
}

/* Close to the oracle; in bf16 if what errors of its size do is `far`. */
static void
check_oracle(const fixture *f, const outputs *out, const double *far,
             rlf_arena *arena)
{
    part parts[MOST_PARTS];
    int n = parts_of(f, out, arena, parts);
    for (int i = 0; i < n; i++) {
        const part *p = &parts[i];
        if (is_exact(f->at)) {
            is_near(f, p->got, p->want, p->n, p->bound, p->name);
            continue;
        }
        double off = part_off(p), bound = BF16_OFF * far[i];
        ok(off <= bound, "%s, %s: %s within %g", f->at->name, f->name, p->name,
           bound);
        if (!(off <= bound) || getenv("VERBOSE"))
            note("off %g, %.2f", off, off / far[i]);
    }
}

/* far[part] = how far small errors of the weights put results off. */
static void
shake(fixture *f, rlf_arena *arena, double *far)
{
    test_machine *t = f->machine;
    size_t n = (size_t)f->model->table->count;
    float *weights = test_copy(t, f->model->weights, n);
    float *shaken = rlf_malloc(n * sizeof *shaken);
    part parts[MOST_PARTS];
    uint64_t seed = 3;
    for (int k = 0; k < SHAKES; k++) {
        for (size_t i = 0; i < n; i++)
            shaken[i] = weights[i] *
                        (test_random(&seed) % 2 ? 1 + 0x1p-9f : 1 - 0x1p-9f);
        test_write(t, shaken, n, f->model->weights);
        MUST(t, rlf_model_changed(f->model, &t->err));
        outputs out;
        run(f, &(rlf_pass_options){.tokens = 128, .train = true}, MOST_SEQS,
            arena, &out);
        int n_parts = parts_of(f, &out, arena, parts);
        for (int i = 0; i < n_parts; i++)
            far[i] += pow(part_off(&parts[i]), 2) / SHAKES;
        if (k == SHAKES - 1)
            for (int i = 0; i < n_parts; i++)
                far[i] = sqrt(far[i]);
        free(out.gradient);
    }
    free(shaken);
    free(weights);
}

static bool
heads_equal(const outputs *a, const outputs *b)
{
    return a->n == b->n && !memcmp(a->logprob, b->logprob, sizeof a->logprob) &&
           !memcmp(a->entropy, b->entropy, sizeof a->entropy) &&
           !memcmp(a->scalar, b->scalar, sizeof a->scalar) &&
           !memcmp(a->last, b->last, sizeof a->last);
}

static bool
gradients_equal(const outputs *a, const outputs *b)
{
    return a->count == b->count &&
           !memcmp(a->gradient, b->gradient, a->count * sizeof *a->gradient);
}

/* Copies of a sequence that share its prompt have its gradients together. */
static void
check_shared(fixture *f, rlf_arena *arena)
{
    part parts[MOST_PARTS];
    outputs out;
    const char *name = f->name;
    f->name = rlf_arena_printf(arena, "%s, with prompts shared", name);
    f->shared = true;
    run(f, &(rlf_pass_options){.tokens = 512, .train = true},
        COPIES * MOST_SEQS, arena, &out);
    int n = parts_of(f, &out, arena, parts), first = 2; /* behind the heads' */
    for (int i = first; i < n; i++)
        is_near(f, parts[i].got, parts[i].want, parts[i].n, parts[i].bound,
                parts[i].name);
    f->shared = false;
    f->name = name;
    free(out.gradient);
}

/* In pieces; recomputed in pieces. In bf16 the order in which gradients add is
 * the library's, which a piece's size may change. */
static void
check_pieces(fixture *f, rlf_pass_options pass, const outputs *whole,
             rlf_arena *arena)
{
    for (int i = 0; i < 2; i++) {
        outputs again;
        pass.recompute = i == 1;
        run(f, &pass, 1 + (uint32_t)i, arena, &again);
        const char *how = i ? "recomputed, two sequences at a time"
                            : "one sequence at a time";
        ok(heads_equal(&again, whole),
           "%s, %s: the same bits of what the heads gave, %s", f->at->name,
           f->name, how);
        if (is_exact(f->at))
            ok(gradients_equal(&again, whole), "... and of all gradients");
        free(again.gradient);
    }
}

/* The model that is compared, with what the CPU, as the first place, has
 * computed for it. */
typedef struct first {
    const char *name;
    rlf_model_head head;
    const rlf_family *family; /* NULL: as config.json says */
    int shards;               /* 0: one */
    bool adapter; /* an adapter of tests/data/adapters lies beside the model; on
                     devices with the bits of the CPU */
    bool merged;  /* ... and then part of its weights: the same without
                     adapters, and so without their gradients */
    outputs out;
    double far[MOST_PARTS];
} first;

static void
test_model(test_machine *t, const test_place *at, first *cpu)
{
    rlf_arena *arena = rlf_arena_new();
    fixture f = {
        .machine = t, .at = at, .name = cpu->name, .merged = cpu->merged};
    const char *dir = source_path(
        arena, rlf_arena_printf(arena, "tests/data/models/%s", f.name));
    const char *beside = source_path(
        arena, rlf_arena_printf(arena, "tests/data/adapters/%s", f.name));
    const char *path = rlf_arena_printf(arena, "%s/expected.safetensors",
                                        cpu->adapter ? beside : dir);
    if (cpu->adapter)
        f.name = rlf_arena_printf(arena, "%s with adapters%s", f.name,
                                  cpu->merged ? ", merged" : "");
    if (cpu->merged) {
        const char *to = in_root(arena, cpu->name);
        rlf_merged ignored;
        MUST(t, rlf_dir_make(to, &t->err));
        MUST(t, rlf_merge_write(dir, beside, to, arena, &t->err, &ignored));
        dir = to;
    }
    MUST(t, rlf_safetensors_open(path, &t->err, &f.expected));
    rlf_model_config config;
    MUST(t, rlf_model_config_read(dir, arena, &t->err, &config));
    if (cpu->adapter && !cpu->merged)
        MUST(t, rlf_adapter_config_read(beside, arena, &t->err, &config.lora));
    config.family = cpu->family ? cpu->family : config.family;
    rlf_model_options options = {
        .head = cpu->head, .trained = true, .shards = cpu->shards};
    MUST(t, rlf_model_new(t->queue, t->kernels, &config, &options, &t->err,
                          &f.model));
    path = rlf_arena_printf(arena, "%s/model.safetensors", dir);
    const rlf_weights_origin origin = {.dir = path, .adapter = beside};
    MUST(t, rlf_weights_fill(f.model, &origin, &t->err));
    read_sequences(&f, arena);

    outputs whole;
    rlf_pass_options pass = {.tokens = 128, .train = true};
    run(&f, &pass, MOST_SEQS, arena, &whole);
    check_pieces(&f, pass, &whole, arena);
    check_oracle(&f, &whole, cpu->far, arena);
    if (is_exact(at))
        check_shared(&f, arena);
    if (cpu->out.n == 0) {
        cpu->out = whole;
        if (!cpu->adapter)
            shake(&f, arena, cpu->far);
    } else {
        if (is_exact(at))
            ok(heads_equal(&whole, &cpu->out) &&
                   gradients_equal(&whole, &cpu->out),
               "%s, %s: the bits of the CPU", at->name, f.name);
        free(whole.gradient);
    }
    rlf_model_free(f.model);
    rlf_safetensors_close(f.expected);
    rlf_arena_free(arena);
}

/* transformers rounds the scale of Gemma's embedding to the type that it
 * computes in: sqrt(24) is 4.90625 in bf16. */
static void
test_scale(test_machine *t, const test_place *at)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_model_config config;
    const char *dir = source_path(arena, "tests/data/models/gemma2");
    MUST(t, rlf_model_config_read(dir, arena, &t->err, &config));
    const rlf_table *table = rlf_table_new(&config, RLF_HEAD_LM, NULL, arena);
    const rlf_pass_options options = {.tokens = 1};
    const rlf_code *code = rlf_compile_pass(table, t->kernels, &options, arena);
    const rlf_kernel_call *call = code->forward[0].list.data;
    while (call->op != RLF_OP_add)
        call++;
    bool f32 = t->kernels->real == RLF_CAST_F32;
    ok(call->add.scale == (f32 ? sqrtf(24) : 4.90625F),
       "%s: the scale of the embedding is %.8g", at->name, call->add.scale);
    rlf_arena_free(arena);
}

/* Other uses of models than as they are. */
static const first uses[] = {
    {.name = "phi", .head = RLF_HEAD_LM, .shards = 2},
    {.name = "lora", .head = RLF_HEAD_LM, .family = &lora_family, .shards = 1},
    {.name = "lora", .head = RLF_HEAD_LM, .family = &lora_family, .shards = 2},
    {.name = "llama", .head = RLF_HEAD_LM, .adapter = true},
    {.name = "qwen3", .head = RLF_HEAD_LM, .adapter = true},
    {.name = "gpt2", .head = RLF_HEAD_LM, .adapter = true},
    {.name = "cohere", .head = RLF_HEAD_LM, .shards = 2, .adapter = true},
    {.name = "phi3", .head = RLF_HEAD_LM, .adapter = true},
    {.name = "gpt_neox", .head = RLF_HEAD_LM, .adapter = true},
    {.name = "gemma2", .head = RLF_HEAD_LM, .adapter = true},
    {.name = "critic", .head = RLF_HEAD_SCALAR, .adapter = true},
    {.name = "mistral", .head = RLF_HEAD_LM, .adapter = true},
    {.name = "glm", .head = RLF_HEAD_LM, .shards = 2, .adapter = true},
    {.name = "llama", .head = RLF_HEAD_LM, .adapter = true, .merged = true},
    {.name = "gpt2", .head = RLF_HEAD_LM, .adapter = true, .merged = true},
    {.name = "gpt_neox", .head = RLF_HEAD_LM, .adapter = true, .merged = true},
    {.name = "critic",
     .head = RLF_HEAD_SCALAR,
     .adapter = true,
     .merged = true}};

static int
is_model(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "lora") != 0;
}

/* Each model of tests/data/models as it is, then `uses`. Every family has one
 * there. */
static first *
list_models(rlf_arena *arena, size_t *n)
{
    struct dirent **entries;
    int found = scandir(source_path(arena, "tests/data/models"), &entries,
                        is_model, alphasort);
    if (found < 0)
        bail("no tests/data/models");
    first *models =
        RLF_NEW_ARRAY(arena, first, (size_t)found + RLF_COUNT(uses));
    for (int i = 0; i < found; i++) {
        const char *name = rlf_arena_strdup(arena, entries[i]->d_name);
        bool critic = strcmp(name, "critic") == 0;
        models[i] = (first){.name = name,
                            .head = critic ? RLF_HEAD_SCALAR : RLF_HEAD_LM};
        free(entries[i]);
    }
    free(entries);
    memcpy(models + found, uses, sizeof uses);
    *n = (size_t)found + RLF_COUNT(uses);
    return models;
}

static void
test_all_families(test_machine *t, const first *models, size_t n)
{
    rlf_arena *arena = rlf_arena_new();
    for (int i = 0; i < test_families(); i++) {
        const rlf_family *family = test_any_family((uint64_t)i);
        bool there = false;
        for (size_t k = 0; k < n && !there; k++) {
            rlf_model_config config;
            const char *path =
                rlf_arena_printf(arena, "tests/data/models/%s", models[k].name);
            MUST(t, rlf_model_config_read(source_path(arena, path), arena,
                                          &t->err, &config));
            there = config.family == family;
        }
        ok(there, "%s has a model", family->type);
    }
    rlf_arena_free(arena);
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    size_t n_models;
    first *models = list_models(arena, &n_models);
    make_root();
    test_place places[MOST_PLACES];
    int n = test_places(places);
    for (int i = 0; i < n; i++) {
        test_machine t;
        test_machine_open_at(&t, &places[i], 2);
        for (size_t k = 0; k < n_models; k++)
            if (is_exact(&places[i]) || !models[k].adapter)
                test_model(&t, &places[i], &models[k]);
        test_scale(&t, &places[i]);
        if (i == 0)
            test_all_families(&t, models, n_models);
        test_machine_close(&t);
    }
    for (size_t k = 0; k < n_models; k++)
        free(models[k].out.gradient);
    rlf_arena_free(arena);
    return done();
}
