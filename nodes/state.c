/* States as resources, and `state s = 1.0`, one number that lasts, with `s :=
 * e`.
 *
 * Not here: reading and setting one number per row of a data set
 * (state_rows.c). */
#include "nodes/state.h"

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/safetensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the resource ---- */

static const rlf_formal formals[] = {
    {.name = "value",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .doc = "what it begins with"},
};

static const rlf_constructor constructors[] = {
    {.name = "number",
     .formals = formals,
     .n_formals = RLF_COUNT(formals),
     .doc = "one number: state s = e"},
    {.name = "rows",
     .formals = formals,
     .n_formals = RLF_COUNT(formals),
     .doc = "a number per row of a data set: state s : d = e"},
};

static rlf_status
open_state(const rlf_env *env, const rlf_resource *resource, rlf_err *err,
           void **out)
{
    (void)env;
    const rlf_arg *arg = rlf_args_plain(resource->args, resource->n_args, 0);
    if (!arg || arg->kind != RLF_ARG_NUMBER)
        return rlf_fail(err, RLF_BUG, "state '%s' has no number",
                        resource->name);
    rlf_state *state = rlf_calloc(1, sizeof *state);
    state->value = rlf_malloc(sizeof *state->value);
    state->value[0] = arg->number;
    state->count = 1;
    *out = state;
    return RLF_OK;
}

/* The number of rows is known when the data is. */
static rlf_status
settle(const rlf_env *env, const rlf_resource *resource, void *object,
       rlf_err *err)
{
    rlf_state *state = object;
    if (resource->source < 0)
        return RLF_OK;
    double first = state->value[0];
    state->data = env->resource[resource->source];
    state->count = (uint32_t)state->data->records.count;
    free(state->value);
    state->value = rlf_malloc(sizeof *state->value * state->count);
    for (uint32_t i = 0; i < state->count; i++)
        state->value[i] = first;
    return rlf_data_digest(state->data, err, &state->rows);
}

static void
close_state(void *object)
{
    rlf_state *state = object;
    if (!state)
        return;
    free(state->value);
    free(state->marked);
    free(state);
}

static void
memory(const rlf_graph *graph, const rlf_resource *resource, void *object,
       rlf_memory *out)
{
    (void)graph;
    const rlf_state *state = object;
    rlf_memory_row row = {.owner = resource->name,
                          .purpose = "numbers of rows",
                          .host = 2 * sizeof(double) * (uint64_t)state->count};
    if (state->data)
        RLF_PUSH_IN(out->arena, &out->rows, row);
}

static char *
state_path(rlf_arena *arena, const rlf_resource *resource,
           const char *directory)
{
    const char *name = rlf_arena_printf(
        arena, resource->source < 0 ? "%s.json" : "%s.safetensors",
        resource->name);
    return rlf_path_join(arena, directory, name);
}

/* Saves the numbers of rows: one tensor, "value"; "rows" says of which. */
static rlf_status
save_rows(const rlf_state *state, const char *path, rlf_err *err)
{
    rlf_tensor tensor = {.name = "value",
                         .element = RLF_ELEMENT_F64,
                         .n_dims = 1,
                         .shape = {state->count}};
    char rows[RLF_DIGEST_TEXT];
    const char *metadata[] = {"rows", rlf_digest_print(state->rows, rows)};
    rlf_tensor_writer *writer;
    RLF_TRY(
        rlf_tensor_writer_open(path, &tensor, 1, metadata, 1, err, &writer));
    rlf_status status = rlf_tensor_writer_add(
        writer, state->value, sizeof(double) * state->count, err);
    if (status < 0) {
        rlf_tensor_writer_drop(writer);
        return status;
    }
    return rlf_tensor_writer_commit(writer, err, NULL, NULL);
}

/* Other data than the run's were accepted, say, or the file is no state's. */
static void
fail_rows(const rlf_state *state, const rlf_tensor *tensor, const char *path,
          rlf_err *err)
{
    rlf_fail(err, RLF_USER,
             "%s has %llu numbers, one for each row of '%s', which has %u rows "
             "now",
             path, (unsigned long long)(tensor ? tensor->count : 0),
             state->data->name, state->count);
    rlf_err_hint(err,
                 "another number of rows cannot be accepted where a state "
                 "has one for each: give '%s' the rows it had, or begin a "
                 "new run in another --out",
                 state->data->name);
}

/* As many rows, and others: a number would go to a row that it is not of. */
static rlf_status
check_rows(const rlf_state *state, const rlf_safetensors *file,
           const char *path, rlf_err *err)
{
    char now[RLF_DIGEST_TEXT];
    const char *was = rlf_safetensors_metadata(file, "rows");
    if (!was || strcmp(was, rlf_digest_print(state->rows, now)) == 0)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "%s has a number for each row of '%s', whose rows are now others "
             "or in another order",
             path, state->data->name);
    rlf_err_hint(err,
                 "other rows cannot be accepted where a state has a number for "
                 "each: give '%s' the rows it had, or begin a new run in "
                 "another --out",
                 state->data->name);
    return RLF_USER;
}

static rlf_status
restore_rows(rlf_state *state, const char *path, rlf_err *err)
{
    rlf_safetensors *file;
    RLF_TRY(rlf_safetensors_open(path, err, &file));
    const rlf_tensor *tensor = rlf_safetensors_get(file, "value");
    rlf_status status = RLF_USER;
    if (!tensor || tensor->element != RLF_ELEMENT_F64 ||
        tensor->count != state->count)
        fail_rows(state, tensor, path, err);
    else
        status = check_rows(state, file, path, err);
    if (status >= 0)
        status = rlf_tensor_read(tensor, err, state->value);
    rlf_safetensors_close(file);
    return status;
}

/* The bits are what counts; the number is for whoever looks into the file. */
static rlf_status
save(const rlf_env *env, const rlf_resource *resource, void *object,
     const char *directory, rlf_err *err)
{
    const rlf_state *state = object;
    const char *path = state_path(env->pool, resource, directory);
    if (state->data)
        return save_rows(state, path, err);
    uint64_t bits;
    memcpy(&bits, state->value, sizeof bits);
    rlf_buf text = {0};
    rlf_buf_puts(&text, "{\"value\": ");
    rlf_buf_number(&text, state->value[0]);
    rlf_buf_printf(&text, ", \"bits\": \"%016" PRIx64 "\"}\n", bits);
    rlf_status status = rlf_file_write(path, text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

static rlf_status
read_bits(const json_t *root, const char *file, double *value, rlf_err *err)
{
    const char *text = NULL;
    RLF_TRY(rlf_json_get_text(root, file, "bits", true, err, &text));
    char *end;
    uint64_t bits = strtoull(text, &end, 16);
    if (strlen(text) != 16 || *end)
        return rlf_fail(err, RLF_USER, "%s: \"bits\" is not a number", file);
    memcpy(value, &bits, sizeof bits);
    return RLF_OK;
}

static rlf_status
restore(const rlf_env *env, const rlf_resource *resource, void *object,
        const char *directory, rlf_err *err)
{
    const char *path = state_path(env->pool, resource, directory);
    rlf_state *state = object;
    if (state->data)
        return restore_rows(state, path, err);
    json_t *root;
    RLF_TRY(rlf_json_load(path, err, &root));
    rlf_status status = read_bits(root, path, state->value, err);
    json_decref(root);
    return status;
}

static void
mark(void *object)
{
    rlf_state *state = object;
    size_t bytes = sizeof(double) * state->count;
    if (!state->marked)
        state->marked = rlf_try_malloc(bytes);
    if (state->marked)
        memcpy(state->marked, state->value, bytes);
}

static bool
back(void *object)
{
    rlf_state *state = object;
    if (state->marked)
        memcpy(state->value, state->marked, sizeof(double) * state->count);
    return state->marked;
}

const rlf_resource_class rlf_resource_state = {
    .name = "state",
    .kind = RLF_RESOURCE_STATE,
    .doc = "a number that lasts from step to step, or one per row of data",
    .noun = "state",
    .saved = "a state of one number",
    .values = true,
    .constructors = constructors,
    .n_constructors = RLF_COUNT(constructors),
    .open = open_state,
    .settle = settle,
    .close = close_state,
    .note = rlf_resource_no_note,
    .memory = memory,
    .save = save,
    .restore = restore,
    .mark = mark,
    .back = back,
};

/* ---- reading and setting ---- */

rlf_status
rlf_state_fail(const rlf_call *call, double value, const char *where,
               rlf_err *err)
{
    const rlf_graph *graph = call->env->graph;
    rlf_fail(err, RLF_USER, "'%s' would be %s%s",
             graph->resources.data[call->node->receiver].name,
             isnan(value) ? "not a number"
             : value > 0  ? "infinite"
                          : "minus infinity",
             where ? where : "");
    rlf_err_hint(err, "a state lasts, and so would this: clamp what is divided "
                      "by, or the argument of log, or set it only if it is a "
                      "number");
    rlf_call_place_nonfinite(call, err);
    return RLF_USER;
}

static rlf_status
get(rlf_call *call, rlf_err *err)
{
    (void)err;
    rlf_space *scalar = rlf_space_rows(call->env->pool, call->env->graph, 0, 1);
    rlf_column column = rlf_column_new(call->env->pool, scalar, false);
    const rlf_state *state = call->env->resource[call->node->receiver];
    column.number[0] = state->value[0];
    call->out[0].column = column;
    return RLF_OK;
}

const rlf_node_class rlf_node_state = {
    .name = "state",
    .doc = "the present value of a state",
    .form = RLF_FORM_FIELD,
    .receiver = RLF_RECEIVER_STATE,
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_SCALAR,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = get,
    RLF_CLASS_PLAIN,
};

static const rlf_formal set_formals[] = {
    {.name = "value",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .doc = "the new value"},
};

static rlf_status
set(rlf_call *call, rlf_err *err)
{
    rlf_state *state = call->env->resource[call->node->receiver];
    double value;
    RLF_TRY(rlf_call_number(call, "value", err, &value));
    if (!isfinite(value))
        return rlf_state_fail(call, value, NULL, err);
    state->value[0] = value;
    return RLF_OK;
}

const rlf_node_class rlf_node_set_state = {
    .name = "set_state",
    .doc = "gives a state a new value, at once",
    .form = RLF_FORM_SYNTAX,
    .writes = true,
    .receiver = RLF_RECEIVER_STATE,
    .formals = set_formals,
    .n_formals = RLF_COUNT(set_formals),
    .gives = RLF_GIVES_NOTHING,
    .level = RLF_LEVEL_SCALAR,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = set,
    RLF_CLASS_PLAIN,
};
