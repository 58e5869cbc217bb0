/* Data sets as resources: reading, drawing, checkpoints. */
#include "nodes/data.h"

#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/json.h"

#include <math.h>
#include <stdio.h>

/* ---- the declaration ---- */

#define FILE_FORMALS(what)                                                     \
    {.name = "path", .kind = RLF_FORMAL_PATH, .required = true, .doc = what},  \
        {.name = "prompt",                                                     \
         .kind = RLF_FORMAL_TEXT,                                              \
         .labelled = true,                                                     \
         .doc = "field of the prompt, a text or chat messages; without it "    \
                "prompts are empty"},                                          \
        {.name = "first",                                                      \
         .kind = RLF_FORMAL_INT,                                               \
         .labelled = true,                                                     \
         .least = 1,                                                           \
         .most = 4e9,                                                          \
         .doc = "only so many rows, from where `skip` ends"},                  \
        {.name = "skip",                                                       \
         .kind = RLF_FORMAL_INT,                                               \
         .labelled = true,                                                     \
         .most = 4e9,                                                          \
         .doc = "without the first so many rows"},                             \
        {.name = "max_prompt",                                                 \
         .kind = RLF_FORMAL_INT,                                               \
         .labelled = true,                                                     \
         .least = 1,                                                           \
         .most = 1e9,                                                          \
         .doc = "tokens of the longest prompt; a longer one is an error"},     \
    {                                                                          \
        .name = "on_error", .kind = RLF_FORMAL_WORD, .words = "drop",          \
        .labelled = true,                                                      \
        .unsupported = "prompts longer than max_prompt cannot be dropped yet", \
        .doc = "drop: prompts longer than max_prompt are left out"             \
    }

static const rlf_formal jsonl_formals[] = {
    FILE_FORMALS("a file with one JSON object a line, or a JSON list"),
};
static const rlf_formal csv_formals[] = {
    FILE_FORMALS("a comma-separated file whose first line names the fields"),
};
static const rlf_formal mix_formals[] = {
    {.name = "weights",
     .kind = RLF_FORMAL_TEXTS,
     .labelled = true,
     .doc = "how often each is drawn from"},
};
static const rlf_formal where_formals[] = {
    {.name = "condition",
     .kind = RLF_FORMAL_COLUMN,
     .required = true,
     .doc = "rows are kept where it is not 0"},
};

static const rlf_constructor constructors[] = {
    {.name = "jsonl",
     .formals = jsonl_formals,
     .n_formals = RLF_COUNT(jsonl_formals),
     .extra = true,
     .doc = "rows of a jsonl file; each label makes a column of the field that "
            "it names"},
    {.name = "csv",
     .formals = csv_formals,
     .n_formals = RLF_COUNT(csv_formals),
     .extra = true,
     .doc = "rows of a csv file; each label makes a column of the field that "
            "it names"},
    {.name = "mix",
     .formals = mix_formals,
     .n_formals = RLF_COUNT(mix_formals),
     .extra = true,
     .unsupported = "data cannot be mixed yet",
     .doc = "rows of several data sets"},
    {.name = "where",
     .formals = where_formals,
     .n_formals = RLF_COUNT(where_formals),
     .unsupported = "rows of data cannot be chosen by a condition yet",
     .doc = "the rows of a data set for which a condition holds"},
};

/* Arguments that are options, not columns. */
static bool
is_option(const char *label)
{
    for (size_t i = 0; i < RLF_COUNT(jsonl_formals); i++)
        if (strcmp(jsonl_formals[i].name, label) == 0)
            return strcmp(label, "prompt") != 0;
    return false;
}

static uint64_t
option(const rlf_resource *resource, const char *name)
{
    const rlf_arg *arg = rlf_args_find(resource->args, resource->n_args, name);
    return arg && arg->kind == RLF_ARG_NUMBER ? (uint64_t)arg->number : 0;
}

/* What the declaration asks of the file. */
static rlf_status
make_spec(const rlf_resource *resource, rlf_arena *arena, rlf_err *err,
          rlf_records_spec *out)
{
    const rlf_arg *path =
        rlf_args_find(resource->args, resource->n_args, "path");
    if (!path)
        path = rlf_args_plain(resource->args, resource->n_args, 0);
    if (!path || path->kind != RLF_ARG_TEXT)
        return rlf_fail(err, RLF_BUG, "data '%s' has no path", resource->name);
    rlf_record_field *fields =
        RLF_NEW_ARRAY(arena, rlf_record_field, resource->n_args);
    size_t n = 0;
    for (int i = 0; i < resource->n_args; i++) {
        const rlf_arg *arg = &resource->args[i];
        if (arg->name && arg->kind == RLF_ARG_TEXT && !is_option(arg->name))
            fields[n++] = (rlf_record_field){arg->name, arg->text};
    }
    *out = (rlf_records_spec){.path = path->text,
                              .columns = fields,
                              .n_columns = n,
                              .skip = option(resource, "skip"),
                              .first = option(resource, "first")};
    return RLF_OK;
}

/* ---- opening ---- */

/* The prompt is a text or a chat, everything else a number or a text. */
static rlf_status
check_kinds(const rlf_records *records, rlf_err *err)
{
    for (size_t i = 0; i < records->n_columns; i++) {
        const rlf_record_column *c = &records->columns[i];
        bool prompt = strcmp(c->label, "prompt") == 0;
        if (prompt && c->kind == RLF_RECORD_NUMBER) {
            rlf_fail(err, RLF_USER,
                     "%s: \"%s\" is a number, but a prompt is a text",
                     records->path, c->field);
            rlf_err_hint(err, "write it in quotes");
            return RLF_USER;
        }
        if (!prompt && c->kind == RLF_RECORD_CHAT) {
            rlf_fail(err, RLF_USER,
                     "%s: \"%s\" is a list of chat messages, which only "
                     "`prompt` may be",
                     records->path, c->field);
            rlf_err_hint(err, "name one text of it, say %s: \"%s.0.content\"",
                         c->label, c->field);
            return RLF_USER;
        }
    }
    return RLF_OK;
}

static rlf_status
read_data(const rlf_resource *resource, uint64_t at_most, rlf_data *data,
          rlf_err *err)
{
    rlf_records_spec spec;
    RLF_TRY(make_spec(resource, data->arena, err, &spec));
    if (at_most && (!spec.first || spec.first > at_most))
        spec.first = at_most;
    RLF_TRY(rlf_records_read(&spec, data->arena, err, &data->records));
    if (data->records.count >= UINT32_MAX)
        return rlf_fail(err, RLF_USER, "%s has more than 4 billion rows",
                        spec.path);
    RLF_TRY(check_kinds(&data->records, err));
    data->name = resource->name;
    data->prompt = rlf_records_column(&data->records, "prompt");
    data->max_prompt = (uint32_t)option(resource, "max_prompt");
    return RLF_OK;
}

static void
free_data(void *object)
{
    rlf_data *data = object;
    if (!data)
        return;
    for (size_t i = 0; i < data->cursors.count; i++) {
        RLF_VEC_FREE(&data->cursors.data[i].later);
        free(data->cursors.data[i].order);
        free(data->cursors.data[i].taken);
    }
    RLF_VEC_FREE(&data->cursors);
    rlf_arena_free(data->arena);
    free(data);
}

static rlf_status
new_data(const rlf_resource *resource, uint64_t at_most, rlf_err *err,
         rlf_data **out)
{
    rlf_data *data = rlf_calloc(1, sizeof *data);
    data->arena = rlf_arena_new();
    rlf_status status = read_data(resource, at_most, data, err);
    if (status < 0) {
        rlf_err_place(err, resource->span, resource->name);
        free_data(data);
        return status;
    }
    *out = data;
    return RLF_OK;
}

static rlf_status
open_data(const rlf_env *env, const rlf_resource *resource, rlf_err *err,
          void **out)
{
    (void)env;
    rlf_data *data;
    RLF_TRY(new_data(resource, 0, err, &data));
    *out = data;
    return RLF_OK;
}

static rlf_status
field(const rlf_graph *graph, const rlf_resource *resource, const char *name,
      rlf_err *err, rlf_field *out, const char **nearest)
{
    rlf_data *data;
    *out = RLF_FIELD_NONE;
    *nearest = NULL;
    RLF_TRY(new_data(resource, 1, err, &data));
    const rlf_record_column *c = rlf_records_column(&data->records, name);
    if (c)
        *out = c->kind == RLF_RECORD_NUMBER ? RLF_FIELD_NUMBER : RLF_FIELD_TEXT;
    size_t n = data->records.n_columns;
    const char **labels = RLF_NEW_ARRAY(data->arena, const char *, n);
    for (size_t i = 0; i < n; i++)
        labels[i] = data->records.columns[i].label;
    const char *near = rlf_str_nearest(name, labels, n);
    if (!c && near)
        *nearest = rlf_arena_strdup(graph->arena, near);
    free_data(data);
    return RLF_OK;
}

static uint64_t
count_rows(void *object)
{
    return ((const rlf_data *)object)->records.count;
}

static void
memory(const rlf_graph *graph, const rlf_resource *resource, void *object,
       rlf_memory *out)
{
    (void)graph;
    const rlf_data *data = object;
    rlf_memory_row row = {.owner = resource->name,
                          .purpose = "rows and their order",
                          .host = rlf_arena_used(data->arena) +
                                  (sizeof(uint32_t) + sizeof(bool)) *
                                      data->records.count};
    RLF_PUSH_IN(out->arena, &out->rows, row);
}

/* ---- drawing ---- */

static rlf_cursor *
find_cursor(rlf_data *data, uint32_t site)
{
    for (size_t i = 0; i < data->cursors.count; i++)
        if (data->cursors.data[i].site == site)
            return &data->cursors.data[i];
    RLF_PUSH(&data->cursors, (rlf_cursor){.site = site});
    return &data->cursors.data[data->cursors.count - 1];
}

/* The next row in the order of the epochs. */
static uint32_t
next_row(rlf_cursor *cursor, uint64_t seed, uint32_t rows)
{
    if (cursor->index == rows) {
        cursor->epoch++;
        cursor->index = 0;
        free(cursor->order);
        cursor->order = NULL;
    }
    if (!cursor->order) {
        rlf_random_key key = {.seed = seed,
                              .purpose = RLF_PURPOSE_SHUFFLE,
                              .site = cursor->site,
                              .step = cursor->epoch};
        cursor->order = rlf_malloc(sizeof *cursor->order * rows);
        rlf_draw_shuffle(&key, rows, cursor->order);
    }
    return cursor->order[cursor->index++];
}

/* A new step has no row yet. */
static void
begin_step(rlf_cursor *cursor, uint32_t step, uint32_t rows)
{
    if (!cursor->taken)
        cursor->taken = rlf_calloc(rows, sizeof *cursor->taken);
    else if (cursor->step != step)
        memset(cursor->taken, 0, rows * sizeof *cursor->taken);
    cursor->step = step;
}

/* Rows put off that the step does not have, the oldest first; at most n. */
static uint32_t
take_later(rlf_cursor *cursor, uint32_t n, uint32_t *out)
{
    uint32_t got = 0;
    size_t left = 0;
    for (size_t i = 0; i < cursor->later.count; i++) {
        uint32_t row = cursor->later.data[i];
        if (got < n && !cursor->taken[row]) {
            cursor->taken[row] = true;
            out[got++] = row;
        } else {
            cursor->later.data[left++] = row;
        }
    }
    cursor->later.count = left;
    return got;
}

uint64_t
rlf_data_draw(rlf_data *data, uint64_t seed, uint32_t site, uint32_t step,
              uint32_t n, uint32_t *out)
{
    uint32_t rows = (uint32_t)data->records.count;
    RLF_ASSERT(n <= rows);
    rlf_cursor *cursor = find_cursor(data, site);
    begin_step(cursor, step, rows);
    uint32_t got = take_later(cursor, n, out);
    while (got < n) {
        uint32_t row = next_row(cursor, seed, rows);
        if (cursor->taken[row]) {
            RLF_PUSH(&cursor->later, row);
        } else {
            cursor->taken[row] = true;
            out[got++] = row;
        }
    }
    uint64_t first = cursor->drawn;
    cursor->drawn += n;
    return first;
}

/* ---- checkpoints ---- */

static char *
state_path(rlf_arena *arena, const rlf_resource *resource,
           const char *directory)
{
    return rlf_path_join(arena, directory,
                         rlf_arena_printf(arena, "%s.json", resource->name));
}

static rlf_status
save(const rlf_env *env, const rlf_resource *resource, void *object,
     const char *directory, rlf_err *err)
{
    const rlf_data *data = object;
    rlf_buf text = {0};
    rlf_buf_printf(&text, "{\"hash\": \"%016llx\", \"cursors\": [",
                   (unsigned long long)data->records.hash);
    for (size_t i = 0; i < data->cursors.count; i++) {
        const rlf_cursor *c = &data->cursors.data[i];
        rlf_buf_printf(&text,
                       "%s\n  {\"site\": %u, \"epoch\": %u, \"index\": %u, "
                       "\"drawn\": %llu, \"later\": [",
                       i ? "," : "", c->site, c->epoch, c->index,
                       (unsigned long long)c->drawn);
        for (size_t k = 0; k < c->later.count; k++)
            rlf_buf_printf(&text, "%s%u", k ? ", " : "", c->later.data[k]);
        rlf_buf_puts(&text, "]}");
    }
    rlf_buf_puts(&text, "]}\n");
    rlf_status status = rlf_file_write(
        state_path(env->pool, resource, directory), text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

static rlf_status
get_u32(const json_t *object, const char *file, const char *key, uint64_t most,
        rlf_err *err, uint32_t *out)
{
    int64_t value = 0;
    RLF_TRY(rlf_json_get_int(object, file, key, true, err, &value));
    if (value < 0 || (uint64_t)value > most)
        return rlf_fail(err, RLF_USER, "%s: \"%s\" is %lld, out of range", file,
                        key, (long long)value);
    *out = (uint32_t)value;
    return RLF_OK;
}

static rlf_status
restore_cursor(rlf_data *data, const json_t *object, const char *file,
               rlf_err *err)
{
    uint32_t rows = (uint32_t)data->records.count, site;
    RLF_TRY(get_u32(object, file, "site", UINT32_MAX, err, &site));
    rlf_cursor *c = find_cursor(data, site);
    RLF_TRY(get_u32(object, file, "epoch", UINT32_MAX, err, &c->epoch));
    RLF_TRY(get_u32(object, file, "index", rows, err, &c->index));
    int64_t drawn = 0;
    RLF_TRY(rlf_json_get_int(object, file, "drawn", true, err, &drawn));
    c->drawn = (uint64_t)drawn;
    free(c->order);
    c->order = NULL;
    c->step = 0;
    c->later.count = 0;
    json_t *later;
    RLF_TRY(rlf_json_get_array(object, file, "later", true, err, &later));
    for (size_t i = 0; i < json_array_size(later); i++) {
        int64_t row;
        if (!rlf_json_as_int(json_array_get(later, i), &row) || row < 0 ||
            row >= (int64_t)rows)
            return rlf_fail(err, RLF_USER, "%s: \"later\" has no row %zu", file,
                            i);
        RLF_PUSH(&c->later, (uint32_t)row);
    }
    return RLF_OK;
}

static rlf_status
restore_all(rlf_data *data, const json_t *root, const char *file, rlf_err *err)
{
    const char *hash = NULL;
    char mine[17];
    RLF_TRY(rlf_json_get_text(root, file, "hash", true, err, &hash));
    snprintf(mine, sizeof mine, "%016llx",
             (unsigned long long)data->records.hash);
    if (strcmp(hash, mine) != 0) {
        rlf_fail(err, RLF_USER,
                 "the rows of '%s' are not those that this run began with",
                 data->name);
        rlf_err_hint(err, "put %s back as it was, or start a new run",
                     data->records.path);
        return RLF_USER;
    }
    json_t *cursors;
    RLF_TRY(rlf_json_get_array(root, file, "cursors", true, err, &cursors));
    for (size_t i = 0; i < json_array_size(cursors); i++)
        RLF_TRY(restore_cursor(data, json_array_get(cursors, i), file, err));
    return RLF_OK;
}

static rlf_status
restore(const rlf_env *env, const rlf_resource *resource, void *object,
        const char *directory, rlf_err *err)
{
    const char *path = state_path(env->pool, resource, directory);
    json_t *root;
    RLF_TRY(rlf_json_load(path, err, &root));
    rlf_status status = restore_all(object, root, path, err);
    json_decref(root);
    return status;
}

const rlf_resource_class rlf_resource_data = {
    .name = "data",
    .kind = RLF_RESOURCE_DATA,
    .doc = "rows of prompts and what belongs to them",
    .constructors = constructors,
    .n_constructors = RLF_COUNT(constructors),
    .open = open_data,
    .close = free_data,
    .memory = memory,
    .save = save,
    .restore = restore,
    .field = field,
    .rows = count_rows,
};
