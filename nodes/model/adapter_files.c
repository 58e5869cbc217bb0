/* See adapter_files.h. The keys that are read are in rlf_adapter_config_read();
 * of the others those that change nothing are in a list, and any further one
 * must ask for nothing. */
#include "nodes/model/adapter_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/io/file.h"
#include "nodes/model/adapter.h"
#include "nodes/model/families/families.h"

enum { MOST_RANK = 1 << 16 };
#define MOST_ALPHA 1e6

/* Keys that are read, or say nothing of what the adapters compute. */
static const char *const harmless[] = {
    "auto_mapping",
    "base_model_name_or_path",
    "fan_in_fan_out",
    "inference_mode",
    "init_lora_weights",
    "lora_alpha",
    "lora_dropout",
    "megatron_core",
    "modules_to_save",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "r",
    "revision",
    "target_modules",
    "task_type",
    "use_rslora",
};

bool
rlf_adapter_is(const char *dir)
{
    rlf_arena *arena = rlf_arena_new();
    bool is = rlf_file_exists(rlf_path_join(arena, dir, RLF_ADAPTER_CONFIG));
    rlf_arena_free(arena);
    return is;
}

/* null, false, 0, "none" and what is empty. */
static bool
asks_nothing(const json_t *j)
{
    const char *text = json_string_value(j);
    return json_is_null(j) || json_is_false(j) ||
           (json_is_number(j) && json_number_value(j) == 0) ||
           (json_is_object(j) && !json_object_size(j)) ||
           (json_is_array(j) && !json_array_size(j)) ||
           (text && (!*text || !strcmp(text, "none")));
}

static rlf_status
check_others(const rlf_config_keys *keys)
{
    const char *key;
    json_t *value, *root = (json_t *)(uintptr_t)keys->root; /* only read */
    json_object_foreach(root, key, value)
    {
        bool known = asks_nothing(value);
        for (size_t i = 0; i < RLF_COUNT(harmless); i++)
            known |= !strcmp(key, harmless[i]);
        if (!known)
            return rlf_config_fail(keys, key,
                                   "asks for what adapters cannot do here");
    }
    return RLF_OK;
}

/* Their first values matter if the base was changed for it. */
static rlf_status
check_beginning(const rlf_config_keys *keys)
{
    static const char *const kept[] = {"gaussian", "eva", "orthogonal"};
    const char *how =
        json_string_value(rlf_config_member(keys->root, "init_lora_weights"));
    bool fine = !how;
    for (size_t i = 0; how && i < RLF_COUNT(kept); i++)
        fine |= !strcmp(how, kept[i]);
    return fine ? RLF_OK
                : rlf_config_fail(keys, "init_lora_weights",
                                  "began with another base than the model's");
}

/* The scalar head alone may be trained beside them. */
static rlf_status
check_saved(const rlf_config_keys *keys)
{
    const json_t *list = rlf_config_member(keys->root, "modules_to_save");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || (strcmp(name, "score") && strcmp(name, "classifier")))
            return rlf_config_fail(keys, "modules_to_save",
                                   "may have score alone: nothing else is "
                                   "trained beside adapters");
    }
    return RLF_OK;
}

/* A list of names, or "all-linear". */
static rlf_status
read_targets(const rlf_config_keys *keys, rlf_arena *arena, rlf_lora *out)
{
    static const char key[] = "target_modules";
    const json_t *list = rlf_config_member(keys->root, key);
    const char *word = json_string_value(list);
    if (word && !strcmp(word, "all-linear"))
        return RLF_OK;
    if (!json_is_array(list) || !json_array_size(list))
        return rlf_config_fail(keys, key,
                               "must be a list of names of modules, or "
                               "\"all-linear\"");
    size_t n = json_array_size(list);
    const char **names = RLF_NEW_ARRAY(arena, const char *, n);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || !*name)
            return rlf_config_fail(keys, key, "must hold names of modules");
        names[i] = rlf_arena_strdup(arena, name);
    }
    out->targets = names;
    out->n_targets = (int)n;
    return RLF_OK;
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_arena *arena, rlf_lora *out)
{
    rlf_err *err = keys->err;
    const char *type =
        json_string_value(rlf_config_member(keys->root, "peft_type"));
    if (!type || strcmp(type, "LORA") != 0)
        return rlf_config_fail(keys, "peft_type", "must be \"LORA\"");
    RLF_TRY(check_others(keys));
    RLF_TRY(check_beginning(keys));
    RLF_TRY(check_saved(keys));
    RLF_TRY(rlf_config_int(keys, "r", 1, MOST_RANK, &out->rank));
    RLF_TRY(rlf_config_number(keys, keys->root, "lora_alpha", 1e-6, MOST_ALPHA,
                              &out->alpha));
    RLF_TRY(rlf_config_flag(keys, "use_rslora", &out->stable));
    RLF_TRY(rlf_config_number(keys, keys->root, "lora_dropout", 0, 1,
                              &out->dropout));
    if (out->dropout > RLF_LORA_MOST_DROPOUT)
        return rlf_config_fail(keys, "lora_dropout", "must be below 1");
    if (!out->rank)
        return rlf_config_fail(keys, "r", "is missing");
    if (!(out->alpha > 0))
        return rlf_config_fail(keys, "lora_alpha", "is missing");
    return read_targets(keys, arena, out);
}

rlf_status
rlf_adapter_config_read(const char *dir, rlf_arena *arena, rlf_err *err,
                        rlf_lora *out)
{
    const char *path = rlf_path_join(arena, dir, RLF_ADAPTER_CONFIG);
    json_t *root;
    *out = (rlf_lora){0};
    RLF_TRY(rlf_json_load_object(path, err, &root));
    const rlf_config_keys keys = {path, root, err};
    rlf_status status = read_keys(&keys, arena, out);
    json_decref(root);
    return status;
}

/* The modules that have adapters, by name. */
static json_t *
target_list(const rlf_model_config *c, rlf_arena *arena)
{
    json_t *list = json_array();
    rlf_module_list all = rlf_adapters_modules(c, arena);
    bool some = c->lora.n_targets > 0;
    const char *const *names = some ? c->lora.targets : all.list;
    int n = some ? c->lora.n_targets : all.n;
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_string(names[i]));
    return list;
}

const char *
rlf_adapter_config_text(const rlf_model_config *c, rlf_model_head head,
                        rlf_arena *arena)
{
    const rlf_lora *lora = &c->lora;
    bool whole = lora->alpha == floor(lora->alpha);
    json_t *root = json_pack(
        "{s:s, s:s, s:b, s:b, s:b, s:b, s:f, s:s, s:i}", "peft_type", "LORA",
        "bias", "none", "fan_in_fan_out", c->family && c->family->transposed,
        "inference_mode", 1, "init_lora_weights", 1, "use_rslora",
        (int)lora->stable, "lora_dropout", lora->dropout, "task_type",
        head == RLF_HEAD_SCALAR ? "SEQ_CLS" : "CAUSAL_LM", "r", lora->rank);
    RLF_ASSERT(root);
    json_object_set_new(root, "lora_alpha",
                        whole ? json_integer((json_int_t)lora->alpha)
                              : json_real(lora->alpha));
    json_object_set_new(root, "base_model_name_or_path",
                        c->dir ? json_string(c->dir) : json_null());
    json_object_set_new(root, "modules_to_save",
                        head & RLF_HEAD_SCALAR ? json_pack("[s]", "score")
                                               : json_null());
    json_object_set_new(root, "target_modules", target_list(c, arena));
    return rlf_json_print(root, arena);
}

/* Does adapter_config.json say that the scalar head was trained? What is wrong
 * in that file its own reader says. */
static bool
names_score(const char *dir, rlf_arena *arena)
{
    rlf_err ignored = RLF_ERR_NONE;
    json_t *root;
    bool found = false;
    if (rlf_json_load_object(rlf_path_join(arena, dir, RLF_ADAPTER_CONFIG),
                             &ignored, &root) < 0)
        return false;
    const json_t *list = json_object_get(root, "modules_to_save");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        found |= name && !strcmp(name, "score");
    }
    json_decref(root);
    return found;
}

static rlf_status
open_tensors(const char *dir, rlf_arena *arena, rlf_err *err,
             rlf_safetensors **out)
{
    rlf_safetensors *file;
    RLF_TRY(rlf_safetensors_open(rlf_path_join(arena, dir, RLF_ADAPTER_TENSORS),
                                 err, &file));
    if (names_score(dir, arena) && !rlf_adapter_tensors_score(file)) {
        rlf_safetensors_close(file);
        rlf_fail(err, RLF_USER, "%s has no tensor %s", dir, RLF_ADAPTER_SCORE);
        rlf_err_hint(err,
                     "its %s says that a scalar head was trained: take "
                     "both files from the same place",
                     RLF_ADAPTER_CONFIG);
        return RLF_USER;
    }
    *out = file;
    return RLF_OK;
}

rlf_status
rlf_adapter_tensors_open(const char *dir, rlf_err *err, rlf_safetensors **out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = open_tensors(dir, arena, err, out);
    rlf_arena_free(arena);
    return status;
}

bool
rlf_adapter_tensors_score(const rlf_safetensors *file)
{
    return rlf_safetensors_get(file, RLF_ADAPTER_SCORE) != NULL;
}

/* ---- tensors alone ---- */

/* A matrix of an adapter. */
typedef struct matrix {
    rlf_str module; /* whose */
    uint32_t axis;  /* of its shape that is the rank */
} matrix;

static bool
is_matrix(const rlf_tensor *x, matrix *out)
{
    static const char *const ends[] = {".lora_A.weight", ".lora_B.weight"};
    size_t n = strlen(x->name), begin = strlen(RLF_ADAPTER_PREFIX);
    if (strncmp(x->name, RLF_ADAPTER_PREFIX, begin) != 0)
        return false;
    for (uint32_t i = 0; i < RLF_COUNT(ends); i++) {
        size_t k = strlen(ends[i]);
        if (n <= begin + k || strcmp(x->name + n - k, ends[i]) != 0)
            continue;
        *out = (matrix){{x->name + begin, n - begin - k}, i};
        return true;
    }
    return false;
}

/* Is a part of its name the number of a layer? */
static bool
is_of_layer(rlf_str module)
{
    static const char digits[] = "0123456789";
    for (const char *p = memchr(module.p, '.', module.n); p && *p;
         p = strchr(p + 1, '.')) {
        size_t n = strspn(p + 1, digits);
        if ((size_t)(p - module.p) + n + 1 >= module.n)
            return false;
        if (n && p[n + 1] == '.')
            return true;
    }
    return false;
}

static bool
is_end_of(rlf_str module, const char *target)
{
    size_t k = strlen(target), n = module.n;
    return k && k <= n && memcmp(module.p + n - k, target, k) == 0 &&
           (k == n || module.p[n - k - 1] == '.');
}

rlf_status
rlf_adapter_tensors_check(const rlf_safetensors *file, const char *dir,
                          const rlf_lora *lora, rlf_err *err)
{
    size_t n = rlf_safetensors_count(file);
    matrix m;
    for (size_t i = 0; i < n; i++) {
        const rlf_tensor *x = rlf_safetensors_at(file, i);
        if (!is_matrix(x, &m) ||
            (x->n_dims == 2 && x->shape[m.axis] == (uint64_t)lora->rank))
            continue;
        rlf_arena *arena = rlf_arena_new();
        rlf_fail(err, RLF_USER, "%s: tensor %s has shape %s, but %s says r: %d",
                 x->file, x->name, rlf_tensor_shape_text(x, arena),
                 RLF_ADAPTER_CONFIG, lora->rank);
        rlf_arena_free(arena);
        return RLF_USER;
    }
    for (int t = 0; t < lora->n_targets; t++) {
        bool found = false;
        for (size_t i = 0; i < n && !found; i++)
            found = is_matrix(rlf_safetensors_at(file, i), &m) &&
                    is_of_layer(m.module) &&
                    is_end_of(m.module, lora->targets[t]);
        if (!found)
            return rlf_fail(err, RLF_USER,
                            "%s/%s: no module of a layer is called '%s'", dir,
                            RLF_ADAPTER_TENSORS, lora->targets[t]);
    }
    return RLF_OK;
}
