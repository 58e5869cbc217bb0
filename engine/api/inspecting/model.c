/* A directory looked at as a model: its family and sizes, parameters by kind,
 * what its files have, its tokenizer, where its end tokens come from, what it
 * takes of memory; and what of it is not supported. No weights are read.
 *
 * Each part is looked at by itself, by the reader of programs, so that one that
 * is refused does not hide the others. */
#include "engine/api/inspecting/model.h"

#include "engine/api/machines/planned_device.h"
#include "engine/api/rundir/rundir.h"
#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "engine/io/records.h"
#include "engine/text/template.h"
#include "nodes/chat.h"
#include "nodes/model/adapter.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/origin.h"
#include "nodes/model/buffers.h"

#include <string.h>

static void
refuse(rlf_inspected_model *c, rlf_err *err)
{
    RLF_PUSH_IN(c->arena, &c->refused, *err);
    rlf_err_clear(err);
}

/* A file of the directory that is an object of JSON, or NULL: what is wrong in
 * it its reader says. */
static json_t *
load(const rlf_inspected_model *c, const char *name)
{
    rlf_err ignored = RLF_ERR_NONE;
    json_t *out = NULL;
    const char *path = rlf_path_join(c->arena, c->dir, name);
    if (!rlf_file_exists(path) ||
        rlf_json_load_object(path, &ignored, &out) < 0)
        return NULL;
    return out;
}

const char *
rlf_inspected_string(const json_t *object, const char *key)
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
           row->kind == RLF_ROW_DROP || row->kind == RLF_ROW_CLIP;
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

static rlf_inspected_part
part_of_row(const rlf_program *p, const rlf_model_row *row)
{
    if (row->kind == RLF_ROW_EMBED)
        return RLF_INSPECTED_EMBEDDING;
    if (!rlf_is_product(row))
        return RLF_INSPECTED_NORMS;
    bool attends = was_attended(p, row->in[0]);
    for (int k = 0; k < row->n_out; k++)
        attends |= is_attended(p, row->out[k]);
    return attends ? RLF_INSPECTED_ATTENTION : RLF_INSPECTED_MLP;
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

static rlf_inspected_part
part_of_slot(const rlf_table *t, const rlf_slot *slot)
{
    const rlf_program *p = t->program;
    if (t->lm != RLF_NO_SLOT && slot->offset == t->lm && t->lm != t->embed)
        return RLF_INSPECTED_HEAD;
    for (int i = 0; i < rlf_program_rows(p); i++) {
        const rlf_model_row *row = &p->rows.data[i];
        for (int k = 0; row->layer == slot->layer && k < RLF_ROW_VALUES; k++)
            if (row->name[k] && is_named(slot->name, row->name[k]))
                return part_of_row(p, row);
    }
    return RLF_INSPECTED_HEAD;
}

int64_t
rlf_inspected_params(const rlf_inspected_model *c)
{
    int64_t sum = 0;
    for (int k = 0; k < RLF_INSPECTED_PARTS; k++)
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

/* Per tensor, whether the files have it in bf16; NULL: they cannot be read. */
static const bool *
bf16_of(const rlf_inspected_model *c, const rlf_table *table)
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
count_memory(rlf_inspected_model *c, const rlf_kernels *kernels, int device,
             rlf_err *err)
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
    c->memory[RLF_INSPECTED_TO_READ][device] =
        sum_bytes(&bytes) + rlf_buffers_pass_bytes(m, RLF_USE_READ);
    c->memory[RLF_INSPECTED_TO_GENERATE][device] =
        sum_bytes(&bytes) + rlf_buffers_pass_bytes(m, RLF_USE_GENERATE) +
        rlf_buffers_pages_bytes(m) + rlf_buffers_arrays_bytes(m);
    enum { PAGE = 16 };
    c->token[device] = rlf_kv_page_bytes(m->table, kernels, PAGE) / PAGE;
    options.by_layer = options.fixed = false;
    options.trained = true;
    bytes = rlf_model_count_bytes(m->table, kernels, &options);
    const rlf_pass_options pass = {.tokens = (int)t, .train = true};
    c->memory[RLF_INSPECTED_TO_TRAIN][device] =
        sum_bytes(&bytes) + rlf_pass_count_bytes(m->table, kernels, &pass);
    rlf_model_config *adapted = RLF_NEW(c->arena, rlf_model_config);
    *adapted = *c->model;
    adapted->lora =
        (rlf_lora){.rank = RLF_INSPECTED_RANK, .alpha = RLF_INSPECTED_RANK};
    RLF_TRY(rlf_model_outline(kernels, adapted, &options, c->arena, err, &m));
    options.bf16 = bf16_of(c, m->table);
    bytes = rlf_model_count_bytes(m->table, kernels, &options);
    c->memory[RLF_INSPECTED_TO_ADAPT][device] =
        sum_bytes(&bytes) + rlf_pass_count_bytes(m->table, kernels, &pass);
    return RLF_OK;
}

static void
look_at_config(rlf_inspected_model *c, rlf_err *err)
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
    c->longest = model->context < RLF_INSPECTED_LONGEST
                     ? (uint32_t)model->context
                     : RLF_INSPECTED_LONGEST;
    if (count_memory(c, rlf_kernels_cpu(), RLF_INSPECTED_ON_CPU, err) < 0 ||
        count_memory(c, rlf_planned_gpu(RLF_CAST_BF16, c->arena),
                     RLF_INSPECTED_ON_GPU, err) < 0) {
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
look_at_files(rlf_inspected_model *c, rlf_err *err)
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
match_files(rlf_inspected_model *c, rlf_err *err)
{
    const rlf_weights_origin origin = {.dir = c->dir};
    rlf_weights_known known;
    if (c->model && c->files &&
        rlf_weights_check(c->table, &origin, err, &known) < 0)
        refuse(c, err);
}

/* ---- adapters ---- */

/* Makes the checks of a program that reads the adapter beside this base. */
static rlf_status
match_base(const rlf_inspected_model *c, const char *base, const rlf_lora *lora,
           rlf_err *err)
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
look_at_adapter(rlf_inspected_model *c, rlf_err *err)
{
    const char *base =
        rlf_inspected_string(c->adapter, "base_model_name_or_path");
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
name_templates(rlf_inspected_model *c, const rlf_named_templates *all)
{
    for (size_t i = 0;
         !all->single && i < all->count && c->n_named < RLF_INSPECTED_NAMES;
         i++)
        c->named[c->n_named++] =
            all->data[i].why.status < 0
                ? rlf_arena_printf(c->arena, "%s (which cannot be read)",
                                   all->data[i].name)
                : all->data[i].name;
}

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Does the template write the least that a chat can be? */
static void
look_at_template(rlf_inspected_model *c, uint32_t day, rlf_err *err)
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

/* Finds the tokens that end what the model writes, and the file that says so.
 */
static void
look_at_ends(rlf_inspected_model *c)
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
look_at_texts(rlf_inspected_model *c, uint32_t day, rlf_err *err)
{
    if (rlf_tokenizer_open(c->dir, err, &c->tokenizer) < 0) {
        refuse(c, err);
        c->tokenizer = NULL;
    }
    look_at_template(c, day, err);
    look_at_ends(c);
}

/* ---- the whole ---- */

static rlf_status
look(rlf_inspected_model *c, uint32_t day, rlf_err *err)
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
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__, RLF_POINTERS({"path", path})))
        return NULL;
    rlf_inspected_model c = {.arena = s->arena,
                             .dir = rlf_hub_path(path, path, s->arena)};
    rlf_err err = RLF_ERR_NONE;
    rlf_buf out = {0};
    if (look(&c, rlf_record_day(s), &err) < 0)
        s->err = err;
    else if (json)
        rlf_inspected_model_json(&c, &out);
    else
        rlf_inspected_model_text(&c, &out);
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
