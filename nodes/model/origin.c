/* The origin of a model's tensors: see origin.h. */
#include "nodes/model/origin.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "nodes/model/adapter.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/families/families.h"
#include "nodes/model/form.h"
#include "nodes/model/weights.h"

/* Bytes of the prefix that a base model's file leaves out of names: "model." */
static size_t
base_length(const rlf_model_config *config)
{
    return strcspn(rlf_program_layers(config), ".") + 1;
}

static const rlf_tensor *
find_tensor(const rlf_model_config *config, const rlf_safetensors *file,
            const char *name)
{
    size_t n = base_length(config);
    const rlf_tensor *x = rlf_safetensors_get(file, name);
    if (!x && !strncmp(name, rlf_program_layers(config), n))
        x = rlf_safetensors_get(file, name + n);
    return x;
}

/* Is it part of the adapters, or trained with them? */
static bool
is_adapter(const rlf_table *whole, const rlf_slot *slot)
{
    return rlf_table_adapted(whole) && rlf_slot_trains(whole, slot);
}

/* The same of adapters; a scalar head may be the base's. */
static const rlf_tensor *
find_adapter(const rlf_table *whole, const rlf_weights_source *from,
             const rlf_slot *slot)
{
    const rlf_tensor *x =
        from->adapter ? rlf_safetensors_get(from->adapter, slot->form.tensor)
                      : NULL;
    return !x && from->file && slot->offset == whole->score
               ? rlf_safetensors_get(from->file, slot->name)
               : x;
}

/* The tensor that has a slot; a file may have the one matrix of a tied model
 * under either of its names. */
static const rlf_tensor *
find_of(const rlf_table *whole, const rlf_weights_source *from,
        const rlf_slot *slot)
{
    const rlf_safetensors *file = from->file;
    if (is_adapter(whole, slot))
        return find_adapter(whole, from, slot);
    if (!file)
        return NULL;
    const rlf_tensor *x = find_tensor(&whole->config, file, slot->form.tensor);
    return !x && whole->config.tied && slot->offset == whole->embed
               ? find_tensor(&whole->config, file,
                             rlf_head_name(&whole->config))
               : x;
}

/* Integers are not weights: what they stand for is said elsewhere, as a scale
 * that another tensor or the config gives. */
static rlf_status
check_type(const rlf_tensor *x, rlf_err *err)
{
    if (x->element == RLF_ELEMENT_F32 || x->element == RLF_ELEMENT_BF16 ||
        x->element == RLF_ELEMENT_F16 || x->element == RLF_ELEMENT_F64)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "%s: tensor %s is of %s: quantized weights are not supported",
             x->file, x->name, rlf_element_text(x->element));
    rlf_err_hint(err, "convert the model to F32, BF16 or F16");
    return RLF_USER;
}

static bool
same_shape(const rlf_tensor *x, const rlf_tensor *y)
{
    bool same = x->n_dims == y->n_dims;
    for (uint32_t i = 0; same && i < x->n_dims; i++)
        same = x->shape[i] == y->shape[i];
    return same;
}

rlf_status
rlf_weights_source_fits(const rlf_tensor *want, const rlf_tensor *x,
                        rlf_err *err)
{
    RLF_TRY(check_type(x, err));
    size_t n = strlen(RLF_ADAPTER_PREFIX);
    bool adapter = !strncmp(x->name, RLF_ADAPTER_PREFIX, n);
    if (same_shape(want, x))
        return RLF_OK;
    rlf_arena *arena = rlf_arena_new();
    rlf_fail(err, RLF_USER, "%s: tensor %s has shape %s, but %s asks for %s",
             x->file, x->name, rlf_tensor_shape_text(x, arena),
             adapter ? "the model that it is beside" : "config.json",
             rlf_tensor_shape_text(want, arena));
    rlf_arena_free(arena);
    rlf_err_hint(err, adapter ? "it is an adapter of another model"
                              : "the two files are not of one model: take both "
                                "from the same place");
    return RLF_USER;
}

static rlf_status
check_finite(const rlf_slot *slot, const rlf_tensor *x, int64_t at,
             const float *values, int64_t n, rlf_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(values[i]))
            continue;
        rlf_fail(err, RLF_USER,
                 "%s: tensor %s has a value that is not finite, at %" PRId64,
                 x->file, x->name, rlf_form_place(slot, at + i));
        rlf_err_hint(err, "the file is torn, or training went wrong before it "
                          "was saved");
        return RLF_USER;
    }
    return RLF_OK;
}

/* Names in a message: the first few, and how many more there are. */
typedef struct name_list {
    rlf_buf text;
    int n;
} name_list;

static void
add_name(name_list *list, const char *name)
{
    enum { SHOWN = 6 };
    if (list->n++ < SHOWN)
        rlf_buf_printf(&list->text, "%s%s", list->n > 1 ? ", " : "", name);
    else if (list->n == SHOWN + 1)
        rlf_buf_puts(&list->text, ", ...");
}

/* Is it a tensor that a model of the table has, or a buffer of older files? */
static bool
is_known(const rlf_table *t, const char *name)
{
    static const char *const buffers[] = {
        "rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias",
        ".attention.bias", ".attention.masked_bias"};
    size_t n = base_length(&t->config);
    for (size_t i = 0; i < RLF_COUNT(buffers); i++)
        if (strstr(name, buffers[i]))
            return true;
    for (int i = 0; i < t->n_slots; i++) {
        const char *tensor = t->slots[i].form.tensor;
        bool base = !strncmp(tensor, rlf_program_layers(&t->config), n);
        if (!strcmp(tensor, name) || (base && !strcmp(tensor + n, name)))
            return true;
    }
    return false;
}

/* Is it one, or a head that this model has not? */
static bool
is_harmless(const rlf_table *t, const char *name)
{
    const rlf_family *f = t->config.family;
    const char *const heads[] = {rlf_head_name(&t->config), "score.weight",
                                 RLF_ADAPTER_SCORE, f ? f->head_bias : NULL};
    bool found = is_known(t, name);
    for (size_t k = 0; k < RLF_COUNT(heads); k++)
        found |= heads[k] && !strcmp(name, heads[k]);
    return found;
}

/* Tensors that nothing here reads would make another model of it. */
static rlf_status
check_unused(const rlf_table *t, const rlf_safetensors *file, const char *what,
             rlf_err *err)
{
    name_list unused = {0};
    const char *path = NULL;
    for (size_t i = 0; i < rlf_safetensors_count(file); i++) {
        const rlf_tensor *x = rlf_safetensors_at(file, i);
        if (is_harmless(t, x->name))
            continue;
        path = path ? path : x->file;
        add_name(&unused, x->name);
    }
    rlf_status status = RLF_OK;
    if (unused.n == 1)
        status = rlf_fail(err, RLF_USER, "%s: tensor %s is not part of %s",
                          path, unused.text.p, what);
    else if (unused.n)
        status =
            rlf_fail(err, RLF_USER, "%s: %d tensors are not part of %s: %s",
                     path, unused.n, what, unused.text.p);
    rlf_buf_free(&unused.text);
    return status;
}

rlf_status
rlf_weights_source_open(const rlf_table *whole,
                        const rlf_weights_origin *origin, rlf_err *err,
                        rlf_weights_source *out)
{
    *out = (rlf_weights_source){.origin = origin};
    if (origin->dir) {
        RLF_TRY(rlf_safetensors_open(origin->dir, err, &out->file));
        RLF_TRY(
            check_unused(whole, out->file, "a model of this config.json", err));
    }
    if (!origin->adapter || !rlf_table_adapted(whole))
        return RLF_OK;
    RLF_TRY(rlf_adapter_tensors_open(origin->adapter, err, &out->adapter));
    return check_unused(whole, out->adapter, "an adapter of this model", err);
}

void
rlf_weights_source_close(rlf_weights_source *from)
{
    rlf_safetensors_close(from->file);
    rlf_safetensors_close(from->adapter);
    rlf_safetensors_close(from->state);
}

/* Has a model in between not got it? */
static bool
is_dropped(const rlf_weights_origin *origin, const char *name)
{
    for (int i = 0; i < origin->n_copies; i++)
        if (!rlf_table_find(origin->copies[i]->whole, name))
            return true;
    return false;
}

/* All that the files lack, or those of adapters. */
static rlf_status
fail_missing(const rlf_table *whole, const rlf_weights_source *from,
             bool adapter, rlf_err *err)
{
    name_list missing = {0};
    const char *dir = adapter ? from->origin->adapter : from->origin->dir;
    for (int i = 0; i < whole->n_slots; i++) {
        const rlf_slot *slot = &whole->slots[i];
        if (slot->offset != whole->score && !slot->form.first &&
            is_adapter(whole, slot) == adapter &&
            !is_dropped(from->origin, slot->name) &&
            !find_of(whole, from, slot))
            add_name(&missing, slot->form.tensor);
    }
    if (missing.n == 1)
        rlf_fail(err, RLF_USER, "%s has no tensor %s", dir, missing.text.p);
    else
        rlf_fail(err, RLF_USER, "%s has not these %d tensors: %s", dir,
                 missing.n, missing.text.p);
    rlf_buf_free(&missing.text);
    rlf_err_hint(err, adapter
                          ? "it is an adapter of another model, or of other "
                            "modules than its adapter_config.json says"
                          : "config.json asks for them: take both files "
                            "from the same place");
    return RLF_USER;
}

/* The file's tensor for a slot, of its shape; NULL: it is 0, or drawn. */
rlf_status
rlf_weights_source_find(const rlf_table *whole, const rlf_weights_source *from,
                        const rlf_slot *slot, rlf_err *err,
                        const rlf_tensor **out)
{
    *out = NULL;
    bool adapter = is_adapter(whole, slot);
    if (!(adapter ? from->adapter : from->file) && slot->offset != whole->score)
        return RLF_OK;
    if (is_dropped(from->origin, slot->name))
        return RLF_OK;
    *out = find_of(whole, from, slot);
    const rlf_tensor want = rlf_form_tensor(slot);
    if (*out)
        return rlf_weights_source_fits(&want, *out, err);
    return slot->offset == whole->score
               ? RLF_OK
               : fail_missing(whole, from, adapter, err);
}

/* Reads n values of a tensor of the whole, from `at` on. */
rlf_status
rlf_weights_source_read(const rlf_model *m, const rlf_weights_source *from,
                        int tensor, int64_t at, int64_t n, float *values,
                        rlf_err *err)
{
    const rlf_table *whole = m->table->whole;
    const rlf_slot *slot = &whole->slots[tensor];
    const rlf_tensor *x;
    RLF_TRY(rlf_weights_source_find(whole, from, slot, err, &x));
    if (x) {
        RLF_TRY(rlf_form_read(slot, x, at, n, err, values));
        return check_finite(slot, x, at, values, n, err);
    }
    bool base = from->file && !is_adapter(whole, slot);
    if (base || is_dropped(from->origin, slot->name))
        memset(values, 0, (size_t)n * sizeof *values);
    else
        rlf_weights_draw(m, slot, from->origin->seed, at, n, values);
    return RLF_OK;
}

/* Have both tensors the same values? */
static rlf_status
same_values(const rlf_tensor *x, const rlf_tensor *y, rlf_err *err, bool *same)
{
    enum { SOME = 4096 };
    float a[SOME], b[SOME];
    *same = x->count == y->count;
    for (uint64_t at = 0; *same && at < x->count; at += SOME) {
        uint64_t n = x->count - at < SOME ? x->count - at : SOME;
        RLF_TRY(rlf_tensor_read_f32(x, at, n, err, a));
        RLF_TRY(rlf_tensor_read_f32(y, at, n, err, b));
        for (uint64_t i = 0; i < n; i++)
            *same &= a[i] == b[i];
    }
    return RLF_OK;
}

rlf_status
rlf_weights_tie(const char *dir, rlf_model_config *config, rlf_err *err)
{
    rlf_safetensors *file;
    if (!config->tied)
        return RLF_OK;
    RLF_TRY(rlf_safetensors_open(dir, err, &file));
    rlf_arena *arena = rlf_arena_new();
    const rlf_program *program = rlf_program_new(config, arena);
    const char *words =
        rlf_arena_printf(arena, "%s.weight", program->rows.data[0].name[0]);
    const rlf_tensor *x = find_tensor(config, file, words);
    const rlf_tensor *y = find_tensor(config, file, rlf_head_name(config));
    rlf_arena_free(arena);
    rlf_status status = RLF_OK;
    bool same = true;
    if (x && y) {
        status = check_type(x, err);
        if (status >= 0)
            status = check_type(y, err);
        if (status >= 0)
            status = same_values(x, y, err, &same);
    }
    config->tied = same;
    config->untied = !same;
    rlf_safetensors_close(file);
    return status;
}

rlf_status
rlf_weights_check(const rlf_table *table, const rlf_weights_origin *origin,
                  rlf_err *err, rlf_weights_known *out)
{
    const rlf_table *whole = table->whole;
    const rlf_tensor *x;
    rlf_weights_source from;
    rlf_status status = rlf_weights_source_open(whole, origin, err, &from);
    *out = (rlf_weights_known){0};
    for (int i = 0; status >= 0 && i < whole->n_slots; i++) {
        const rlf_slot *slot = &whole->slots[i];
        status = rlf_weights_source_find(whole, &from, slot, err, &x);
        bool saved = rlf_slot_trains(whole, slot);
        if (status >= 0 && x && saved && !out->half &&
            rlf_element_size(x->element) == 2)
            out->half = rlf_element_text(x->element);
        if (status >= 0 && !x && slot->offset == whole->score)
            out->blank_score = true;
    }
    out->idle_score = from.adapter && whole->score == RLF_NO_SLOT &&
                      rlf_adapter_tensors_score(from.adapter);
    rlf_weights_source_close(&from);
    return status;
}

rlf_status
rlf_weights_bf16(const rlf_table *table, const rlf_weights_origin *origin,
                 rlf_arena *arena, rlf_err *err, const bool **out)
{
    const rlf_table *whole = table->whole;
    rlf_weights_source from;
    bool *list = RLF_NEW_ARRAY(arena, bool, whole->n_slots), any = false;
    rlf_status status = rlf_weights_source_open(whole, origin, err, &from);
    for (int i = 0; status >= 0 && i < whole->n_slots; i++) {
        const rlf_slot *slot = &whole->slots[i];
        const rlf_tensor *x = NULL;
        if (!is_adapter(whole, slot))
            status = rlf_weights_source_find(whole, &from, slot, err, &x);
        list[i] = x && x->element == RLF_ELEMENT_BF16;
        any |= list[i];
    }
    rlf_weights_source_close(&from);
    *out = any && status >= 0 ? list : NULL;
    return status;
}

/* The same of a source that is open. */
static const char *
find_difference(const rlf_table *whole, const rlf_weights_source *from,
                const char *by, rlf_arena *arena)
{
    const rlf_safetensors *file = from->file ? from->file : from->adapter;
    for (int i = 0; i < whole->n_slots; i++) {
        const rlf_slot *slot = &whole->slots[i];
        if (!is_adapter(whole, slot) != !from->adapter)
            continue;
        const rlf_tensor want = rlf_form_tensor(slot),
                         *x = find_of(whole, from, slot);
        if (!x && slot->offset != whole->score)
            return rlf_arena_printf(arena,
                                    "there is no tensor %s, for which %s asks",
                                    slot->form.tensor, by);
        if (x && !same_shape(&want, x))
            return rlf_arena_printf(
                arena, "tensor %s has shape %s, and %s asks for %s", x->name,
                rlf_tensor_shape_text(x, arena), by,
                rlf_tensor_shape_text(&want, arena));
    }
    for (size_t i = 0; i < rlf_safetensors_count(file); i++) {
        const char *name = rlf_safetensors_at(file, i)->name;
        if (!is_harmless(whole, name))
            return rlf_arena_printf(
                arena, "there is tensor %s, for which %s does not ask", name,
                by);
    }
    return NULL;
}

const char *
rlf_weights_differ(const rlf_table *whole, const char *dir, const char *by,
                   rlf_arena *arena)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_weights_source from = {0};
    bool adapted = rlf_table_adapted(whole), saved = false;
    if (!rlf_dir_exists(dir) ||
        rlf_file_find(rlf_path_join(arena, dir, RLF_ADAPTER_CONFIG), &ignored,
                      &saved) < 0)
        return NULL;
    if (adapted != saved)
        return adapted ? "it had no adapters" : "it had adapters";
    rlf_status status =
        adapted ? rlf_adapter_tensors_open(dir, &ignored, &from.adapter)
                : rlf_safetensors_open(dir, &ignored, &from.file);
    const char *how =
        status < 0 ? NULL : find_difference(whole, &from, by, arena);
    rlf_weights_source_close(&from);
    return how;
}
