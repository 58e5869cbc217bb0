/* States: `state s = 1.0`, a number that lasts, and `s := e`.
 *
 * Not here: one number per row of a data set, which cannot run yet. */
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/io/file.h"
#include "engine/io/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
     .unsupported = "a state per row of a data set cannot run yet",
     .doc = "a number per row of a data set: state s : d = e"},
};

static rlf_status
open_state(const rlf_env *env, const rlf_resource *resource, rlf_err *err,
           void **out)
{
    (void)env;
    const rlf_arg *arg = rlf_args_plain(resource->args, resource->n_args, 0);
    if (!arg || arg->kind != RLF_ARG_NUMBER || resource->domain > 0)
        return rlf_fail(err, RLF_BUG, "state '%s' is not one number",
                        resource->name);
    double *value = rlf_malloc(sizeof *value);
    *value = arg->number;
    *out = value;
    return RLF_OK;
}

static void
memory(const rlf_graph *graph, const rlf_resource *resource, void *object,
       rlf_memory *out)
{
    (void)graph, (void)resource, (void)object, (void)out;
}

static char *
state_path(rlf_arena *arena, const rlf_resource *resource,
           const char *directory)
{
    return rlf_path_join(arena, directory,
                         rlf_arena_printf(arena, "%s.json", resource->name));
}

/* The bits are what counts; the number is for whoever looks into the file. */
static rlf_status
save(const rlf_env *env, const rlf_resource *resource, void *object,
     const char *directory, rlf_err *err)
{
    uint64_t bits;
    memcpy(&bits, object, sizeof bits);
    rlf_buf text = {0};
    rlf_buf_puts(&text, "{\"value\": ");
    rlf_buf_number(&text, *(const double *)object);
    rlf_buf_printf(&text, ", \"bits\": \"%016" PRIx64 "\"}\n", bits);
    rlf_status status = rlf_file_write(
        state_path(env->pool, resource, directory), text.p, text.n, err);
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
    json_t *root;
    RLF_TRY(rlf_json_load(path, err, &root));
    rlf_status status = read_bits(root, path, object, err);
    json_decref(root);
    return status;
}

static rlf_status
no_field(const rlf_graph *graph, const rlf_resource *resource, const char *name,
         rlf_err *err, rlf_field *out, const char **nearest)
{
    (void)graph, (void)resource, (void)name, (void)err;
    *out = RLF_FIELD_NONE;
    *nearest = NULL;
    return RLF_OK;
}

static uint64_t
no_rows(void *object)
{
    (void)object;
    return 0;
}

const rlf_resource_class rlf_resource_state = {
    .name = "state",
    .kind = RLF_RESOURCE_STATE,
    .doc = "a number that lasts from step to step",
    .constructors = constructors,
    .n_constructors = RLF_COUNT(constructors),
    .open = open_state,
    .close = free,
    .memory = memory,
    .save = save,
    .restore = restore,
    .field = no_field,
    .rows = no_rows,
};

/* ---- reading and setting ---- */

static rlf_status
get(rlf_call *call, rlf_err *err)
{
    (void)err;
    rlf_space *scalar = rlf_space_rows(call->env->pool, call->env->graph, 0, 1);
    rlf_column column = rlf_column_new(call->env->pool, scalar, false);
    column.number[0] =
        *(const double *)call->env->resource[call->node->receiver];
    call->out[0].column = column;
    return RLF_OK;
}

const rlf_node_class rlf_node_state = {
    .name = "state",
    .doc = "the present value of a state",
    .role = RLF_ROLE_STATE,
    .receiver = RLF_RECEIVER_STATE,
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_SCALAR,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = rlf_class_no_cost,
    .init = rlf_class_no_init,
    .fini = rlf_class_no_fini,
    .open = rlf_class_no_open,
    .step = get,
    .trainable = &rlf_trainable_none,
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
    (void)err;
    double *value = call->env->resource[call->node->receiver];
    *value = rlf_call_number(call, "value");
    return RLF_OK;
}

const rlf_node_class rlf_node_set_state = {
    .name = "set_state",
    .doc = "gives a state a new value, at once",
    .role = RLF_ROLE_SET_STATE,
    .receiver = RLF_RECEIVER_STATE,
    .formals = set_formals,
    .n_formals = RLF_COUNT(set_formals),
    .gives = RLF_GIVES_NOTHING,
    .level = RLF_LEVEL_SCALAR,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = rlf_class_no_cost,
    .init = rlf_class_no_init,
    .fini = rlf_class_no_fini,
    .open = rlf_class_no_open,
    .step = set,
    .trainable = &rlf_trainable_none,
};
