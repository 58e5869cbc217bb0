/* A directory looked at as a model: its family and sizes, parameters by kind,
 * what its files have, its tokenizer, where its end tokens come from, what it
 * takes of memory; and what of it is not supported. No weights are read.
 *
 * Each part is looked at by itself, by the reader of programs, so that one that
 * is refused does not hide the others. */
#include "engine/api/session.h"

#include "engine/api/planned_device.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/io/safetensors.h"
#include "engine/text/template.h"
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "nodes/model/families/families.h"
#include "nodes/model/kv.h"
#include "nodes/model/adapter.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/origin.h"
#include "nodes/model/pass.h"
#include "nodes/model/buffers.h"

#include <string.h>

/* What parameters are for. */
typedef enum part {
    PART_EMBEDDING,
    PART_ATTENTION,
    PART_MLP,
    PART_NORMS,
    PART_HEAD,
    PARTS
} part;
static const char *const part_names[PARTS] = {"embedding", "attention", "mlp",
                                              "norms", "head"};

/* What memory is for. */
enum { TO_READ, TO_GENERATE, TO_TRAIN, TO_ADAPT, PURPOSES };
static const char *const purposes[PURPOSES] = {"read", "generate", "train",
                                               "adapt"};
/* Of adapters, beside all products of a layer. */
enum { RANK = 16 };
/* On what: f32 on a CPU, bf16 on a GPU. */
enum { ON_CPU, ON_GPU, DEVICES };

enum { LONGEST = 2048, NAMES = 16 };

typedef struct card {
    rlf_arena *arena;
    const char *dir;
    const json_t *config, *generation, *texts; /* files; NULL: not there */
    const json_t *adapter; /* likewise; an adapter has weights of its own, for a
                              model that is elsewhere */
    bool based;            /* that model is a directory here */
    bool score;            /* the adapter has a scalar head */
    rlf_model_config *model; /* NULL: it is refused */
    const rlf_table *table;
    int64_t params[PARTS];
    uint32_t longest; /* tokens that memory is counted for */
    uint64_t memory[PURPOSES][DEVICES], token[DEVICES];
    rlf_safetensors *files;
    struct {
        uint64_t tensors, values, bytes;
    } types[RLF_ELEMENT_COUNT];
    size_t n_files;
    rlf_tokenizer *tokenizer;
    const char *template; /* the file that has it, or NULL */
    const char *named[NAMES];
    size_t n_named; /* of several templates */
    const char *ends_from;
    const uint32_t *ends;
    size_t n_ends;
    RLF_VEC(rlf_err) refused;
} card;

static void
refuse(card *c, rlf_err *err)
{
    RLF_PUSH_IN(c->arena, &c->refused, *err);
    rlf_err_clear(err);
}

/* A file of the directory that is an object of JSON, or NULL: what is wrong in
 * it its reader says. */
static json_t *
load(const card *c, const char *name)
{
    rlf_err ignored = RLF_ERR_NONE;
    json_t *out = NULL;
    const char *path = rlf_path_join(c->arena, c->dir, name);
    if (!rlf_file_exists(path) ||
        rlf_json_load_object(path, &ignored, &out) < 0)
        return NULL;
    return out;
}

static const char *
text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- parameters ---- */

static bool
has(const rlf_var *list, int n, rlf_var value)
{
    for (int i = 0; i < n; i++)
        if (list[i] == value)
            return true;
    return false;
}

static bool
keeps_heads(const rlf_model_row *row)
{
    return row->kind == RLF_ROW_NORM || row->kind == RLF_ROW_HEAD_NORM ||
           row->kind == RLF_ROW_ROTATE || row->kind == RLF_ROW_GATHER ||
           row->kind == RLF_ROW_DROP;
}

/* Does a value go into attention, through norms and rotations? */
static bool
is_attended(const rlf_program *p, rlf_var value)
{
    for (int i = 0; i < rlf_program_rows(p); i++) {
        const rlf_model_row *row = &p->rows.data[i];
        if (!has(row->in, row->n_in, value))
            continue;
        if (row->kind == RLF_ROW_ATTEND)
            return true;
        for (int k = 0; keeps_heads(row) && k < row->n_out; k++)
            if (is_attended(p, row->out[k]))
                return true;
    }
    return false;
}

/* Does it come out of attention? */
static bool
was_attended(const rlf_program *p, rlf_var value)
{
    for (int i = 0; i < rlf_program_rows(p); i++) {
        const rlf_model_row *row = &p->rows.data[i];
        if (!has(row->out, row->n_out, value))
            continue;
        if (row->kind == RLF_ROW_ATTEND)
            return true;
        for (int k = 0; keeps_heads(row) && k < row->n_in; k++)
            if (was_attended(p, row->in[k]))
                return true;
    }
    return false;
}

static part
part_of_row(const rlf_program *p, const rlf_model_row *row)
{
    if (row->kind == RLF_ROW_EMBED)
        return PART_EMBEDDING;
    if (!rlf_is_product(row))
        return PART_NORMS;
    bool attends = was_attended(p, row->in[0]);
    for (int k = 0; k < row->n_out; k++)
        attends |= is_attended(p, row->out[k]);
    return attends ? PART_ATTENTION : PART_MLP;
}

/* Is it a tensor of the row of that name, "q_proj" of "...q_proj.bias"? */
static bool
is_named(const char *slot, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = strstr(slot, name); p; p = strstr(p + 1, name))
        if ((p == slot || p[-1] == '.') && (p[n] == '.' || p[n] == 0))
            return true;
    return false;
}

static part
part_of_slot(const rlf_table *t, const rlf_slot *slot)
{
    const rlf_program *p = t->program;
    if (t->lm != RLF_NO_SLOT && slot->offset == t->lm && t->lm != t->embed)
        return PART_HEAD;
    for (int i = 0; i < rlf_program_rows(p); i++) {
        const rlf_model_row *row = &p->rows.data[i];
        for (int k = 0; row->layer == slot->layer && k < RLF_ROW_VALUES; k++)
            if (row->name[k] && is_named(slot->name, row->name[k]))
                return part_of_row(p, row);
    }
    return PART_HEAD;
}

static int64_t
all_params(const card *c)
{
    int64_t sum = 0;
    for (int k = 0; k < PARTS; k++)
        sum += c->params[k];
    return sum;
}

/* ---- memory ---- */

static uint64_t
sum_bytes(const rlf_model_bytes *b)
{
    return b->weights + b->packed + b->gradients + b->optimizer + b->tables +
           b->partial;
}

/* What the files, if they can be read, have in bf16. */
static const bool *
bf16_of(const card *c, const rlf_table *table)
{
    const rlf_weights_origin origin = {.dir = c->dir};
    rlf_err ignored = RLF_ERR_NONE;
    const bool *bf16;
    return c->files && rlf_weights_bf16(table, &origin, c->arena, &ignored,
                                        &bf16) >= 0
               ? bf16
               : NULL;
}

/* Of one rank that has all of it, with buffers for sequences of c->longest
 * tokens. */
static rlf_status
count_memory(card *c, const rlf_kernels *kernels, int device, rlf_err *err)
{
    uint32_t t = c->longest;
    const rlf_caps caps = {
        .longest = t, .reach = t, .rows = {1, 1, 1}, .tokens = {t, t, t}};
    rlf_model_options options = {
        .head = RLF_HEAD_LM, .by_layer = true, .fixed = true, .caps = &caps};
    const rlf_model *m;
    RLF_TRY(rlf_model_outline(kernels, c->model, &options, c->arena, err, &m));
    c->table = m->table;
    options.bf16 = bf16_of(c, m->table);
    rlf_model_bytes bytes = rlf_model_count_bytes(m->table, kernels, &options);
    c->memory[TO_READ][device] =
        sum_bytes(&bytes) + rlf_buffers_pass_bytes(m, RLF_USE_READ);
    c->memory[TO_GENERATE][device] =
        sum_bytes(&bytes) + rlf_buffers_pass_bytes(m, RLF_USE_GENERATE) +
        rlf_buffers_pages_bytes(m) + rlf_buffers_arrays_bytes(m);
    enum { PAGE = 16 };
    c->token[device] = rlf_kv_page_bytes(m->table, kernels, PAGE) / PAGE;
    options.by_layer = options.fixed = false;
    options.trained = true;
    bytes = rlf_model_count_bytes(m->table, kernels, &options);
    const rlf_pass_options pass = {.tokens = (int)t, .train = true};
    c->memory[TO_TRAIN][device] =
        sum_bytes(&bytes) + rlf_pass_count_bytes(m->table, kernels, &pass);
    rlf_model_config *adapted = RLF_NEW(c->arena, rlf_model_config);
    *adapted = *c->model;
    adapted->lora = (rlf_lora){.rank = RANK, .alpha = RANK};
    RLF_TRY(rlf_model_outline(kernels, adapted, &options, c->arena, err, &m));
    options.bf16 = bf16_of(c, m->table);
    bytes = rlf_model_count_bytes(m->table, kernels, &options);
    c->memory[TO_ADAPT][device] =
        sum_bytes(&bytes) + rlf_pass_count_bytes(m->table, kernels, &pass);
    return RLF_OK;
}

static void
look_at_config(card *c, rlf_err *err)
{
    rlf_model_config *model = RLF_NEW(c->arena, rlf_model_config);
    rlf_status status = rlf_model_config_read(c->dir, c->arena, err, model);
    if (status >= 0 && c->files)
        status = rlf_weights_tie(c->dir, model, err);
    if (status < 0) {
        refuse(c, err);
        return;
    }
    c->model = model;
    c->longest = model->context < LONGEST ? (uint32_t)model->context : LONGEST;
    if (count_memory(c, rlf_kernels_cpu(), ON_CPU, err) < 0 ||
        count_memory(c, rlf_planned_gpu(RLF_CAST_BF16, c->arena), ON_GPU, err) <
            0) {
        refuse(c, err);
        c->model = NULL;
        return;
    }
    for (int i = 0; i < c->table->n_slots; i++) {
        const rlf_slot *slot = &c->table->slots[i];
        c->params[part_of_slot(c->table, slot)] += slot->count;
    }
}

/* ---- files ---- */

static void
look_at_files(card *c, rlf_err *err)
{
    const char *last = NULL;
    if (rlf_safetensors_open(c->dir, err, &c->files) < 0) {
        c->files = NULL;
        return;
    }
    for (size_t i = 0; i < rlf_safetensors_count(c->files); i++) {
        const rlf_tensor *x = rlf_safetensors_at(c->files, i);
        c->types[x->element].tensors++;
        c->types[x->element].values += x->count;
        c->types[x->element].bytes += x->bytes;
        c->n_files += !last || strcmp(last, x->file) != 0;
        last = x->file;
    }
}

/* Have the files what the config asks for? */
static void
match_files(card *c, rlf_err *err)
{
    const rlf_weights_origin origin = {.dir = c->dir};
    rlf_weights_known known;
    if (c->model && c->files &&
        rlf_weights_check(c->table, &origin, err, &known) < 0)
        refuse(c, err);
}

/* ---- adapters ---- */

/* What a program checks that reads the adapter beside this base. */
static rlf_status
match_base(const card *c, const char *base, const rlf_lora *lora, rlf_err *err)
{
    const rlf_weights_origin origin = {.adapter = c->dir};
    const rlf_model_options options = {.head = c->score ? RLF_HEAD_BOTH
                                                        : RLF_HEAD_LM,
                                       .shards = 1,
                                       .lanes = 1};
    rlf_model_config *model = RLF_NEW(c->arena, rlf_model_config);
    rlf_weights_known known;
    const rlf_model *m;
    RLF_TRY(rlf_model_config_read(base, c->arena, err, model));
    model->lora = *lora;
    RLF_TRY(rlf_adapters_check(model, c->arena, err));
    RLF_TRY(rlf_model_outline(rlf_kernels_cpu(), model, &options, c->arena, err,
                              &m));
    return rlf_weights_check(m->table, &origin, err, &known);
}

/* An adapter, beside its base if that is a directory here. */
static void
look_at_adapter(card *c, rlf_err *err)
{
    const char *base = text_of(c->adapter, "base_model_name_or_path");
    if (base)
        base = rlf_hub_path(base, base, c->arena);
    rlf_safetensors *file = NULL;
    rlf_lora lora;
    rlf_status config = rlf_adapter_config_read(c->dir, c->arena, err, &lora);
    if (config < 0)
        refuse(c, err);
    rlf_status tensors = rlf_adapter_tensors_open(c->dir, err, &file);
    if (tensors < 0)
        refuse(c, err);
    else
        c->score = rlf_adapter_tensors_score(file);
    c->based = base && *base &&
               rlf_file_exists(rlf_path_join(c->arena, base, "config.json"));
    if (config >= 0 && tensors >= 0 &&
        (c->based ? match_base(c, base, &lora, err)
                  : rlf_adapter_tensors_check(file, c->dir, &lora, err)) < 0)
        refuse(c, err);
    rlf_safetensors_close(file);
}

/* ---- texts ---- */

/* Several templates have names. */
static void
name_templates(card *c, const rlf_named_templates *all)
{
    for (size_t i = 0; !all->single && i < all->count && c->n_named < NAMES;
         i++)
        c->named[c->n_named++] = all->data[i].name;
}

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Does the template write the least that a chat can be? */
static void
look_at_template(card *c, uint32_t day, rlf_err *err)
{
    const rlf_message hello = {.role = RLF_STR("user"),
                               .content = RLF_STR("hello")};
    const rlf_prompt prompt = {.messages = &hello, .n_messages = 1};
    const rlf_chat_options options = {.day = day};
    const rlf_named_template *plain;
    rlf_named_templates all;
    rlf_chat_template *chat;
    rlf_str written;
    if (rlf_tokenizer_templates(c->dir, c->arena, err, &all) < 0) {
        refuse(c, err);
        return;
    }
    name_templates(c, &all);
    if (rlf_named_template_find(&all, NULL, false, err, &plain) < 0) {
        c->template = base_name(all.data[0].file);
        refuse(c, err);
        return;
    }
    if (!plain)
        return;
    c->template = base_name(plain->file);
    if (c->tokenizer &&
        (rlf_chat_open(c->tokenizer, c->dir, &options, c->arena, err, &chat) <
             0 ||
         (chat && rlf_chat_write(chat, &prompt, c->arena, err, &written) < 0)))
        refuse(c, err);
}

/* Those that end what the model writes, and the file that says so. */
static void
look_at_ends(card *c)
{
    bool in_generation =
        json_object_get(c->generation, "eos_token_id") &&
        !json_is_null(json_object_get(c->generation, "eos_token_id"));
    if (c->model && c->model->n_eos) {
        uint32_t *ends = RLF_NEW_ARRAY(c->arena, uint32_t, c->model->n_eos);
        for (int i = 0; i < c->model->n_eos; i++)
            ends[i] = (uint32_t)c->model->eos[i];
        c->ends = ends;
        c->n_ends = (size_t)c->model->n_eos;
        c->ends_from = in_generation ? "generation_config.json" : "config.json";
    } else if (c->tokenizer) {
        c->ends = rlf_tokenizer_eos(c->tokenizer, &c->n_ends);
        c->ends_from = "the tokenizer";
    }
}

static void
look_at_texts(card *c, uint32_t day, rlf_err *err)
{
    if (rlf_tokenizer_open(c->dir, err, &c->tokenizer) < 0) {
        refuse(c, err);
        c->tokenizer = NULL;
    }
    look_at_template(c, day, err);
    look_at_ends(c);
}

/* ---- as text ---- */

/* "1,234,567" */
static void
put_count(int64_t n, rlf_buf *out)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            rlf_buf_putc(out, ',');
        rlf_buf_putc(out, digits[i]);
    }
}

/* Has every layer a window? */
static bool
every_layer(const rlf_model_config *m)
{
    for (int i = 0; i < m->layers; i++)
        if (!rlf_model_config_window(m, i))
            return false;
    return true;
}

static void
put_sizes(const card *c, rlf_buf *out)
{
    const rlf_model_config *m = c->model;
    rlf_buf_printf(out, "  sizes       %d layers of %d, %d heads of %d",
                   m->layers, m->hidden, m->heads, m->head_dim);
    if (m->kv_heads != m->heads)
        rlf_buf_printf(out, " (%d of keys)", m->kv_heads);
    rlf_buf_printf(out, ", mlp of %d, vocabulary of %d%s\n", m->ffn, m->vocab,
                   m->tied ? ", whose embedding is the head" : "");
    rlf_buf_printf(out, "  context     %d tokens", m->context);
    if (m->window)
        rlf_buf_printf(out, ", windows of %d in %s layers", m->window,
                       every_layer(m) ? "all" : "some");
    rlf_buf_putc(out, '\n');
    if (m->family->places) {
        rlf_buf_puts(out, "  positions   learned\n");
        return;
    }
    rlf_buf_puts(out, "  positions   rotary, theta ");
    rlf_buf_number(out, m->rope.theta);
    if (m->rope.kind) {
        rlf_buf_printf(out, ", scaled: %s by ", rlf_rope_kind(m->rope.kind));
        rlf_buf_number(out, m->rope.factor);
        if (m->rope.original > 0)
            rlf_buf_printf(out, " from %.0f tokens", m->rope.original);
    }
    rlf_buf_putc(out, '\n');
}

static void
put_files(const card *c, rlf_buf *out)
{
    char bytes[RLF_BYTES_TEXT];
    const char *between = "";
    rlf_buf_puts(out, "  files       ");
    for (int k = 0; k < RLF_ELEMENT_COUNT; k++) {
        if (!c->types[k].tensors)
            continue;
        rlf_buf_printf(out, "%s%llu tensor%s of %s, %s", between,
                       (unsigned long long)c->types[k].tensors,
                       c->types[k].tensors == 1 ? "" : "s",
                       rlf_element_text((rlf_element)k),
                       rlf_bytes_text(c->types[k].bytes, bytes));
        between = "; ";
    }
    if (c->n_files > 1)
        rlf_buf_printf(out, ", in %zu files", c->n_files);
    rlf_buf_putc(out, '\n');
}

static void
put_texts(const card *c, rlf_buf *out)
{
    if (c->tokenizer) {
        const char *class = text_of(c->texts, "tokenizer_class");
        rlf_buf_puts(out, "  tokenizer   ");
        put_count(rlf_tokenizer_vocab(c->tokenizer), out);
        rlf_buf_printf(out, " tokens%s%s\n", class ? ", " : "",
                       class ? class : "");
    }
    rlf_buf_printf(out, "  template    %s", c->template ? c->template : "none");
    for (size_t i = 0; i < c->n_named; i++)
        rlf_buf_printf(out, "%s%s", i ? ", " : ": ", c->named[i]);
    rlf_buf_puts(out, "\n  ends        ");
    for (size_t i = 0; i < c->n_ends; i++) {
        rlf_str piece = {"", 0};
        if (c->tokenizer)
            piece = rlf_tokenizer_piece(c->tokenizer, c->ends[i]);
        rlf_buf_puts(out, i ? ", " : "");
        rlf_buf_shown(out, piece.p, piece.n);
        rlf_buf_printf(out, "%s%u%s", piece.n ? " (" : "", c->ends[i],
                       piece.n ? ")" : "");
    }
    if (c->n_ends)
        rlf_buf_printf(out, ", by %s\n", c->ends_from);
    else
        rlf_buf_puts(out, "none\n");
}

static void
put_numbers(const card *c, rlf_buf *out)
{
    static const char *const words[PURPOSES] = {
        "to read texts (logprob)", "to generate one answer",
        "to train with AdamW", "to train adapters of rank 16"};
    char cpu[RLF_BYTES_TEXT], gpu[RLF_BYTES_TEXT];
    rlf_buf_puts(out, "\nparameters\n");
    for (int k = 0; k < PARTS; k++) {
        rlf_buf n = {0};
        put_count(c->params[k], &n);
        rlf_buf_printf(out, "  %-22s %16s  ", part_names[k], n.p);
        rlf_buf_percent(out, (double)c->params[k] / (double)all_params(c));
        rlf_buf_putc(out, '\n');
        rlf_buf_free(&n);
    }
    rlf_buf_printf(
        out, "\n%-40s f32, CPU   bf16, GPU\n",
        rlf_arena_printf(c->arena, "memory, %u tokens at once", c->longest));
    for (int k = 0; k < PURPOSES; k++)
        rlf_buf_printf(out, "  %-35s %11s %11s\n", words[k],
                       rlf_bytes_text(c->memory[k][ON_CPU], cpu),
                       rlf_bytes_text(c->memory[k][ON_GPU], gpu));
    rlf_buf_printf(out, "  %-35s %11s %11s\n",
                   "keys and values of each token more",
                   rlf_bytes_text(c->token[ON_CPU], cpu),
                   rlf_bytes_text(c->token[ON_GPU], gpu));
}

/* Where the model is that an adapter names. */
static const char *
base_text(const card *c)
{
    const char *base = text_of(c->adapter, "base_model_name_or_path");
    if (base)
        base = rlf_hub_path(base, base, c->arena);
    return c->based               ? "here"
           : !base || !*base      ? "not named"
           : rlf_dir_exists(base) ? "no model: it has no config.json"
                                  : "not here";
}

static void
put_adapter(const card *c, rlf_buf *out)
{
    const json_t *targets = json_object_get(c->adapter, "target_modules");
    const char *type = text_of(c->adapter, "peft_type"),
               *base = text_of(c->adapter, "base_model_name_or_path");
    rlf_buf_printf(out, "%s: adapter%s%s%s%s\n", c->dir, type ? ", " : "",
                   type ? type : "", base ? ", of " : "", base ? base : "");
    if (!json_object_size(c->adapter))
        return;
    rlf_buf_puts(out, "  rank        ");
    rlf_buf_number(out, json_number_value(json_object_get(c->adapter, "r")));
    rlf_buf_puts(out, ", alpha ");
    rlf_buf_number(
        out, json_number_value(json_object_get(c->adapter, "lora_alpha")));
    double dropout =
        json_number_value(json_object_get(c->adapter, "lora_dropout"));
    if (dropout > 0) {
        rlf_buf_puts(out, ", dropout ");
        rlf_buf_number(out, dropout);
    }
    rlf_buf_puts(out, "\n  targets     ");
    if (json_is_string(targets))
        rlf_buf_puts(out, json_string_value(targets));
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const char *name = json_string_value(json_array_get(targets, i));
        rlf_buf_printf(out, "%s%s", i ? ", " : "", name ? name : "?");
    }
    if (c->score)
        rlf_buf_puts(out, "\n  head        scalar, trained with it");
    if (!c->based && !c->refused.count)
        rlf_buf_printf(out,
                       "\n  base        %s, so only the adapter's own files "
                       "were looked at",
                       base_text(c));
    rlf_buf_putc(out, '\n');
}

static void
put_refused(const card *c, rlf_buf *out)
{
    for (size_t i = 0; i < c->refused.count; i++) {
        const rlf_err *err = &c->refused.data[i];
        rlf_buf_printf(out, "%snot supported: %s\n", i ? "" : "\n",
                       err->sentence);
        if (*err->hint)
            rlf_buf_printf(out, "  hint: %s\n", err->hint);
    }
}

static void
put_text(const card *c, rlf_buf *out)
{
    const json_t *names = json_object_get(c->config, "architectures");
    if (c->adapter)
        put_adapter(c, out);
    const char *type = text_of(c->config, "model_type"),
               *name = json_string_value(json_array_get(names, 0));
    if (!c->adapter || c->config) {
        rlf_buf_printf(out, "%s: %s%s%s%s", c->dir, type ? type : "no model",
                       name ? " (" : "", name ? name : "", name ? ")" : "");
        if (c->model) {
            rlf_buf_puts(out, ", ");
            put_count(all_params(c), out);
            rlf_buf_puts(out, " parameters");
        }
        rlf_buf_putc(out, '\n');
    }
    if (c->model)
        put_sizes(c, out);
    if (c->files)
        put_files(c, out);
    if (!c->adapter || c->tokenizer)
        put_texts(c, out);
    if (c->model)
        put_numbers(c, out);
    put_refused(c, out);
}

/* ---- as JSON ---- */

static json_t *
json_of_model(const card *c)
{
    const rlf_model_config *m = c->model;
    json_t *params = json_object(), *memory = json_object(), *out;
    for (int k = 0; k < PARTS; k++)
        json_object_set_new(params, part_names[k], json_integer(c->params[k]));
    for (int k = 0; k < PURPOSES; k++)
        json_object_set_new(
            memory, purposes[k],
            json_pack("{s:I,s:I}", "cpu_f32", (json_int_t)c->memory[k][ON_CPU],
                      "gpu_bf16", (json_int_t)c->memory[k][ON_GPU]));
    json_object_set_new(memory, "token",
                        json_pack("{s:I,s:I}", "cpu_f32",
                                  (json_int_t)c->token[ON_CPU], "gpu_bf16",
                                  (json_int_t)c->token[ON_GPU]));
    json_object_set_new(memory, "tokens", json_integer(c->longest));
    out =
        json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:b,s:I,s:o,s:o}",
                  "layers", m->layers, "hidden", m->hidden, "heads", m->heads,
                  "kv_heads", m->kv_heads, "head_dim", m->head_dim, "ffn",
                  m->ffn, "vocab", m->vocab, "context", m->context, "window",
                  m->window, "tied", m->tied, "parameters",
                  (json_int_t)all_params(c), "parts", params, "memory", memory);
    if (!m->family->places)
        json_object_set_new(out, "rope",
                            json_pack("{s:s,s:f,s:f}", "kind",
                                      rlf_rope_kind(m->rope.kind), "theta",
                                      m->rope.theta, "factor",
                                      m->rope.kind ? m->rope.factor : 1.0));
    return out;
}

static json_t *
json_of_types(const card *c)
{
    json_t *out = json_object();
    for (int k = 0; k < RLF_ELEMENT_COUNT; k++)
        if (c->types[k].tensors)
            json_object_set_new(
                out, rlf_element_text((rlf_element)k),
                json_pack("{s:I,s:I,s:I}", "tensors",
                          (json_int_t)c->types[k].tensors, "values",
                          (json_int_t)c->types[k].values, "bytes",
                          (json_int_t)c->types[k].bytes));
    return out;
}

static void
put_json(const card *c, rlf_buf *out)
{
    json_t *refused = json_array(), *ends = json_array(), *named = json_array();
    for (size_t i = 0; i < c->refused.count; i++)
        json_array_append_new(refused,
                              json_string(c->refused.data[i].sentence));
    for (size_t i = 0; i < c->n_ends; i++)
        json_array_append_new(ends, json_integer(c->ends[i]));
    for (size_t i = 0; i < c->n_named; i++)
        json_array_append_new(named, json_string(c->named[i]));
    json_t *all = json_pack(
        "{s:s,s:s?,s:o?,s:o?,s:o?,s:o,s:s?,s:s?,s:o,s:o,s:s?,s:o}", "path",
        c->dir, "model_type", text_of(c->config, "model_type"), "adapter",
        c->adapter ? json_incref((json_t *)(uintptr_t)c->adapter) : NULL,
        "model", c->model ? json_of_model(c) : NULL, "files",
        c->files ? json_of_types(c) : NULL, "tokens",
        c->tokenizer ? json_integer(rlf_tokenizer_vocab(c->tokenizer))
                     : json_null(),
        "tokenizer_class", text_of(c->texts, "tokenizer_class"), "template",
        c->template, "templates", named, "ends", ends, "ends_from",
        c->n_ends ? c->ends_from : NULL, "refused", refused);
    if (c->adapter) {
        json_object_set_new(all, "base", json_string(base_text(c)));
        json_object_set_new(all, "score", json_boolean(c->score));
    }
    char *text = json_dumps(all, JSON_INDENT(1) | JSON_ENSURE_ASCII);
    rlf_buf_puts(out, text ? text : "{}");
    rlf_buf_putc(out, '\n');
    free(text);
    json_decref(all);
}

/* ---- the whole ---- */

static rlf_status
look(card *c, uint32_t day, rlf_err *err)
{
    if (!rlf_dir_exists(c->dir)) {
        rlf_fail(err, RLF_USER, "%s is no directory", c->dir);
        rlf_err_hint(err,
                     "a model is a directory on this machine, and nothing "
                     "is downloaded%s",
                     rlf_hub_advice(c->dir, c->arena));
        return RLF_USER;
    }
    c->config = load(c, "config.json");
    c->generation = load(c, "generation_config.json");
    c->texts = load(c, "tokenizer_config.json");
    c->adapter = load(c, RLF_ADAPTER_CONFIG);
    if (!c->adapter && rlf_adapter_is(c->dir)) /* its reader says what it is */
        c->adapter = json_object();
    rlf_err files = RLF_ERR_NONE;
    look_at_files(c, &files);
    if (c->adapter) { /* its tokenizer and weights are those of its base */
        look_at_adapter(c, err);
        return rlf_memory_check(err);
    }
    look_at_config(c, err);
    if (files.status < 0)
        refuse(c, &files);
    match_files(c, err);
    look_at_texts(c, day, err);
    return rlf_memory_check(err);
}

const char *
rlf_session_model(rlf_session *s, const char *path, int json)
{
    if (!s || s->err.status < 0)
        return NULL;
    card c = {.arena = s->arena, .dir = rlf_hub_path(path, path, s->arena)};
    rlf_err err = RLF_ERR_NONE;
    rlf_buf out = {0};
    if (look(&c, rlf_record_day(s), &err) < 0)
        s->err = err;
    else if (json)
        put_json(&c, &out);
    else
        put_text(&c, &out);
    if (s->err.status >= 0 && c.refused.count)
        s->err = c.refused.data[0];
    rlf_tokenizer_close(c.tokenizer);
    rlf_safetensors_close(c.files);
    json_decref((json_t *)(uintptr_t)c.config);
    json_decref((json_t *)(uintptr_t)c.generation);
    json_decref((json_t *)(uintptr_t)c.texts);
    json_decref((json_t *)(uintptr_t)c.adapter);
    const char *text = out.p ? rlf_arena_strndup(s->arena, out.p, out.n) : NULL;
    rlf_buf_free(&out);
    return text;
}
