/* See template.h. */
#include "engine/text/template.h"

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/json.h"

#include <string.h>

typedef struct list {
    rlf_arena *arena;
    struct {
        rlf_named_template *data;
        size_t count, room;
    } all;
} list;

static void
add(list *l, rlf_named_template one)
{
    for (size_t i = 0; i < l->all.count; i++)
        if (strcmp(l->all.data[i].name, one.name) == 0) {
            l->all.data[i] = one;
            return;
        }
    RLF_PUSH_IN(l->arena, &l->all, one);
}

/* ---- tokenizer_config.json ---- */

/* `name` NULL: it has none. */
static rlf_status
add_text(list *l, const char *name, const char *file, const json_t *text,
         rlf_err *err)
{
    size_t n = json_string_length(text);
    rlf_named_template one = {.file = file, .why = RLF_ERR_NONE};
    RLF_TRY(rlf_arena_room(l->arena, n + 1, "a chat template", err));
    if (json_is_string(text))
        one.source = (rlf_str){
            rlf_arena_strndup(l->arena, json_string_value(text), n), n};
    one.name = rlf_arena_strdup(l->arena, name ? name : "default");
    one.part = name ? rlf_arena_printf(l->arena,
                                       "the template \"%.*s\" of "
                                       "\"chat_template\"",
                                       RLF_CUT(60, name))
                    : "the text of \"chat_template\"";
    add(l, one);
    return RLF_OK;
}

/* "chat_template" as a text, a list of {"name", "template"}, or an object of
 * templates by names. */
static rlf_status
add_value(list *l, const char *file, const json_t *value, rlf_err *err)
{
    const char *key;
    json_t *text;
    if (json_is_string(value))
        return add_text(l, NULL, file, value, err);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (!name)
            return rlf_fail(err, RLF_USER,
                            "%s: number %zu of \"chat_template\" has no "
                            "\"name\"",
                            file, i + 1);
        RLF_TRY(
            add_text(l, name, file, json_object_get(item, "template"), err));
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, text)
        RLF_TRY(add_text(l, key, file, text, err));
    if (!json_is_array(value) && !json_is_object(value))
        return rlf_fail(err, RLF_USER,
                        "%s: \"chat_template\" is %s where a text, or several "
                        "that have names, are wanted",
                        file, rlf_json_word(value));
    return RLF_OK;
}

static rlf_status
from_config(list *l, const char *file, rlf_err *err, bool *single)
{
    json_t *config = NULL;
    RLF_TRY(rlf_json_load_object(file, err, &config));
    const json_t *value = json_object_get(config, "chat_template");
    rlf_status status = RLF_OK;
    *single = json_is_string(value);
    if (value && !json_is_null(value))
        status = add_value(l, file, value, err);
    json_decref(config);
    return status;
}

/* ---- files of their own ---- */

/* A template that cannot be read fails when it is used. */
static rlf_status
add_file(list *l, const char *name, const char *file, rlf_err *err)
{
    rlf_named_template one = {.name = name, .file = file, .why = RLF_ERR_NONE};
    rlf_buf text = {0};
    rlf_status status = RLF_OK;
    if (rlf_file_read(file, RLF_JSON_MOST, &one.why, &text) >= 0)
        status = rlf_arena_room(l->arena, text.n + 1, "a chat template", err);
    else if (one.why.status != RLF_USER && one.why.status != RLF_ENV)
        status = (*err = one.why).status;
    if (status >= 0 && one.why.status >= 0)
        one.source = (rlf_str){
            rlf_arena_strndup(l->arena, text.n ? text.p : "", text.n), text.n};
    if (status >= 0)
        add(l, one);
    rlf_buf_free(&text);
    return status;
}

static const char ending[] = ".jinja";
enum { ENDING = sizeof ending - 1 };

rlf_status
rlf_template_files(const char *dir, rlf_arena *arena, rlf_err *err,
                   const char ***paths, size_t *count)
{
    const char *folder = rlf_path_join(arena, dir, RLF_TEMPLATE_FOLDER);
    const char **names;
    size_t all, n = 0;
    *count = 0;
    if (!rlf_dir_exists(folder))
        return RLF_OK;
    RLF_TRY(rlf_dir_list(folder, arena, err, &names, &all));
    for (size_t i = 0; i < all; i++) {
        size_t m = strlen(names[i]);
        if (m > ENDING && strcmp(names[i] + m - ENDING, ending) == 0)
            names[n++] = rlf_path_join(arena, folder, names[i]);
    }
    *paths = names;
    *count = n;
    return RLF_OK;
}

static rlf_status
add_folder(list *l, const char *dir, rlf_err *err)
{
    const char **paths;
    size_t count;
    RLF_TRY(rlf_template_files(dir, l->arena, err, &paths, &count));
    for (size_t i = 0; i < count; i++) {
        const char *name = strrchr(paths[i], '/') + 1;
        RLF_TRY(add_file(
            l, rlf_arena_strndup(l->arena, name, strlen(name) - ENDING),
            paths[i], err));
    }
    return RLF_OK;
}

rlf_status
rlf_tokenizer_templates(const char *path, rlf_arena *arena, rlf_err *err,
                        rlf_named_templates *out)
{
    const char *dir =
        rlf_dir_exists(path) ? path : rlf_path_parent(arena, path);
    list l = {.arena = arena};
    bool there;
    *out = (rlf_named_templates){0};
    const char *file = rlf_path_join(arena, dir, "chat_template.jinja");
    RLF_TRY(rlf_file_find(file, err, &there));
    if (there)
        RLF_TRY(add_file(&l, "default", file, err));
    RLF_TRY(add_folder(&l, dir, err));
    out->single = there && l.all.count == 1;
    if (!l.all.count) {
        file = rlf_path_join(arena, dir, "tokenizer_config.json");
        RLF_TRY(rlf_file_find(file, err, &there));
        if (there)
            RLF_TRY(from_config(&l, file, err, &out->single));
    }
    out->data = l.all.data;
    out->count = l.all.count;
    return RLF_OK;
}

/* ---- which one ---- */

static const rlf_named_template *
named(const rlf_named_templates *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->data[i].name, name) == 0)
            return &all->data[i];
    return NULL;
}

rlf_status
rlf_named_template_find(const rlf_named_templates *all, const char *name,
                        bool tools, rlf_err *err,
                        const rlf_named_template **out)
{
    rlf_buf names = {0};
    *out = NULL;
    if (!all->count && !name)
        return RLF_OK;
    if (name)
        *out = named(all, name);
    else if (tools && !all->single)
        *out = named(all, "tool_use");
    if (!*out && !name)
        *out = named(all, "default");
    if (*out && (*out)->source.p)
        return RLF_OK;
    if (*out && (*out)->why.status < 0) {
        *err = (*out)->why;
        return err->status;
    }
    const char *file = all->count ? all->data[0].file : "the tokenizer";
    if (*out)
        return rlf_fail(err, RLF_USER, "%s: %s is no text", file, (*out)->part);
    for (size_t i = 0; i < all->count; i++)
        rlf_buf_printf(&names, "%s%s", i ? ", " : "", all->data[i].name);
    rlf_fail(err, RLF_USER, "%s has no chat template named \"%.*s\"", file,
             RLF_CUT(60, name ? name : "default"));
    if (names.n)
        rlf_err_hint(err, "there %s %.*s: template_name: says which",
                     all->count > 1 ? "are" : "is", RLF_CUT(300, names.p));
    rlf_buf_free(&names);
    return RLF_USER;
}
