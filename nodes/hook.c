/* Calls of Lua hooks: rewards, judges, text functions and scalars per step.
 *
 * The resource (hook_resource.c) loads the file once; a call hands the samples
 * of a piece to the Lua host (engine/lua) as plain fields: what the set knows
 * of a sample, the fields of its data row, and the columns that the call adds.
 * Random numbers of a sample are keyed by its identity, so pieces and their
 * order change no bit. The limits that decide results are the host's. */
#include "nodes/hook.h"

#include "engine/base/log.h"
#include "engine/comm/comm.h"
#include "engine/text/tokenizer.h"
#include "nodes/data.h"
#include "nodes/rows.h"
#include "nodes/sequences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the state of a call in the program ---- */

typedef struct rlf_hook_node {
    rlf_arena *scratch; /* of one call of the function */
    /* Number of each sample within its group, from 1, of the set last seen. */
    const rlf_rows *rows;
    uint32_t step;
    const uint32_t *place;
} state;

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **out)
{
    (void)env, (void)node, (void)err;
    state *s = rlf_calloc(1, sizeof *s);
    s->scratch = rlf_arena_new();
    *out = s;
    return RLF_OK;
}

static void
fini(void *object)
{
    state *s = object;
    if (!s)
        return;
    rlf_arena_free(s->scratch);
    free(s);
}

/* ---- the fields of a sample ---- */

/* Fields of what a set knows: at most these, then data, then the call's. */
enum { SET_FIELDS = 6, MOST_SHOWN = 100 };

typedef struct rlf_sample_fields {
    rlf_lua_field *at;
    size_t n;
} fields;

static void
add_text(fields *to, const char *name, rlf_str text)
{
    to->at[to->n++] =
        (rlf_lua_field){.name = name, .kind = RLF_LUA_BYTES, .text = text};
}

static void
add_number(fields *to, const char *name, double number)
{
    to->at[to->n++] =
        (rlf_lua_field){.name = name, .kind = RLF_LUA_NUMBER, .number = number};
}

static void
add_bool(fields *to, const char *name, bool flag)
{
    to->at[to->n++] =
        (rlf_lua_field){.name = name, .kind = RLF_LUA_BOOL, .flag = flag};
}

static void
add_response(fields *to, rlf_arena *scratch, const rlf_rows *rows, uint32_t row)
{
    const rlf_sample *sample = &rows->sample[row];
    add_text(to, "response", sample->text);
    add_number(to, "length", sample->n_ids);
    add_bool(to, "finished", sample->finished);
    to->at[to->n] = (rlf_lua_field){.name = "tokens", .kind = RLF_LUA_INTS};
    to->at[to->n].ints.p = (const int32_t *)sample->ids;
    to->at[to->n++].ints.n = sample->n_ids;
    if (!rows->reader)
        return;
    rlf_str *pieces = RLF_NEW_ARRAY(scratch, rlf_str, sample->n_ids);
    for (uint32_t i = 0; i < sample->n_ids; i++)
        pieces[i] =
            rlf_tokenizer_piece(rows->reader->tokenizer, sample->ids[i]);
    to->at[to->n] = (rlf_lua_field){.name = "pieces", .kind = RLF_LUA_TEXTS};
    to->at[to->n].texts.p = pieces;
    to->at[to->n++].texts.n = sample->n_ids;
}

static rlf_status
add_data(fields *to, rlf_arena *scratch, const rlf_data *data,
         uint32_t data_row, rlf_err *err)
{
    const rlf_record_value *values;
    RLF_TRY(rlf_data_row(data, data_row, scratch, err, &values));
    for (size_t i = 0; i < data->records.n_columns; i++) {
        const rlf_record_column *c = &data->records.columns[i];
        if (c == data->prompt)
            continue;
        if (!c->numbers)
            add_text(to, c->label, values[i].text);
        else if (c->kind == RLF_RECORD_BOOL)
            add_bool(to, c->label, c->numbers[data_row] != 0);
        else
            add_number(to, c->label, c->numbers[data_row]);
    }
    return RLF_OK;
}

/* The function would compare with it and come to some result. */
static rlf_status
fail_argument(const rlf_call *call, const rlf_arg *arg, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "the argument '%s' of the hook is not a number",
             arg->name);
    rlf_err_hint(err, "%s", RLF_EXPR_NAN_HINT);
    rlf_call_place_nonfinite(call, err);
    rlf_err_place(err, arg->span, call->node->class->name);
    return RLF_USER;
}

/* The labelled arguments of the call, at this row (`space` NULL: scalars).
 * RLF_USER if one is NaN. */
static rlf_status
add_extra(fields *to, const rlf_call *call, const rlf_space *space,
          uint32_t row, rlf_err *err)
{
    const rlf_node *node = call->node;
    for (int i = node->class->n_formals; i < node->n_args; i++) {
        const rlf_arg *arg = &node->args[i];
        if (arg->kind == RLF_ARG_TEXT) {
            add_text(to, arg->name, rlf_str_of(arg->text));
        } else if (arg->kind == RLF_ARG_NUMBER) {
            add_number(to, arg->name, arg->number);
        } else if (arg->kind == RLF_ARG_VALUE) {
            const rlf_column *c = &call->in[arg->input].column;
            uint32_t at = 0;
            if (space && c->space->domain != 0)
                at = rlf_space_row(&call->env->graph->domains, space, row,
                                   c->space->domain);
            if (!c->text && isnan(c->number[at]))
                return fail_argument(call, arg, err);
            if (c->text)
                add_text(to, arg->name, c->text[at]);
            else
                add_number(to, arg->name, c->number[at]);
        }
    }
    return RLF_OK;
}

static rlf_status
make_sample(const rlf_call *call, const rlf_rows *rows, uint32_t row,
            uint32_t place, rlf_err *err, rlf_lua_sample *out)
{
    const rlf_env *env = call->env;
    rlf_arena *scratch = ((state *)call->state)->scratch;
    uint32_t prompt = rlf_rows_prompt_of(env->graph, rows, row);
    const rlf_data *data = rows->set->data >= 0 && rows->data_row
                               ? env->resource[rows->set->data]
                               : NULL;
    size_t room = SET_FIELDS + (size_t)call->node->n_args +
                  (data ? data->records.n_columns : 0);
    fields to = {RLF_NEW_ARRAY(scratch, rlf_lua_field, room), 0};
    const rlf_prompt *p = &rows->prompt[prompt];
    if (p->text.p || !p->n_messages)
        add_text(&to, "prompt", p->text);
    else /* no model has read the chat yet: its last message stands */
        add_text(&to, "prompt", p->messages[p->n_messages - 1].content);
    if (rows->sample)
        add_response(&to, scratch, rows, row);
    if (data)
        RLF_TRY(add_data(&to, scratch, data, rows->data_row[prompt], err));
    RLF_TRY(add_extra(&to, call, rows->samples, row, err));
    *out = (rlf_lua_sample){
        .fields = to.at,
        .n_fields = to.n,
        .length = rows->sample ? rows->sample[row].n_ids : 0,
        .prompt = rows->prompts->identity[prompt] + 1,
        .place = place,
        .step = rlf_env_step(env),
        .key = {.seed = env->seed,
                .purpose = RLF_PURPOSE_LUA,
                .site = call->node->site,
                .step = rlf_env_step(env),
                .sample = rows->samples->identity[row] + call->iteration}};
    return RLF_OK;
}

/* ---- one call of the function ---- */

/* The first failure that `on_error:` stands in for is always told, as what the
 * function prints is. */
static void
say_failure(const rlf_call *call, const rlf_err *why)
{
    rlf_hook *hook = call->env->resource[call->node->receiver];
    if (hook->failed && hook->native)
        rlf_log_warn(call->env->log, HOST, "%s %s", hook->name, why->sentence);
    else if (hook->failed)
        rlf_log_warn(call->env->log, LUA, "%s %s", hook->name, why->sentence);
    else
        rlf_log_warn(call->env->log, PRINT,
                     "%s failed, and on_error: stands in: %s; further failures "
                     "are counted by the metric %s.errors",
                     hook->name, why->sentence, hook->name);
    hook->failed = true;
}

/* A function of the host program, which takes one sample after another. */
static rlf_status
ask_native(const rlf_host_hook *native, const rlf_lua_sample *samples, size_t n,
           rlf_lua_value *values, rlf_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct rlf_hook_sample sample = {&samples[i]};
        double value = NAN;
        const char *why = native->call(native->arg, &sample, &value);
        if (why && !*why)
            return rlf_fail(err, RLF_USER,
                            "%s gave no value, and an empty text as the reason",
                            native->name);
        if (why)
            return rlf_fail(err, RLF_USER, "%s: %s", native->name, why);
        if (!isfinite(value))
            return rlf_fail(err, RLF_USER, "%s gave %s", native->name,
                            isnan(value) ? "no number" : "an infinite number");
        values[i] = (rlf_lua_value){.number = value};
    }
    return RLF_OK;
}

/* Call it for n samples, the rows `row` of the set or, NULL, none of it; with
 * `on_error:` a failure gives *ok = false. */
static rlf_status
ask_lua(const rlf_call *call, const rlf_lua_sample *samples,
        const uint32_t *row, size_t n, rlf_lua_value *values, bool *ok,
        rlf_err *err)
{
    const rlf_hook *hook = call->env->resource[call->node->receiver];
    rlf_err why = RLF_ERR_NONE;
    rlf_status status =
        hook->native
            ? ask_native(hook->native, samples, n, values, &why)
            : rlf_lua_call(hook->host, samples, n,
                           ((state *)call->state)->scratch, &why, values);
    *ok = status >= 0;
    if (rlf_sample_trace_of(call->env))
        rlf_hook_trace(call, &(rlf_hook_asked){samples, n, row, status, &why,
                                               values});
    if (hook->forgiving) {
        const char *metric =
            rlf_arena_printf(call->env->pool, "%s.errors", hook->name);
        if (*ok || rlf_lua_forgivable(status))
            call->env->report(call->env->sink, metric, !*ok);
        if (!*ok && rlf_lua_forgivable(status)) {
            say_failure(call, &why);
            return RLF_OK;
        }
    }
    if (status < 0) {
        *err = why;
        rlf_err_place(err, call->node->span, hook->name);
    }
    return status;
}

static rlf_status
keep_text(rlf_arena *pool, rlf_str text, rlf_err *err, rlf_str *out)
{
    char *copy;
    RLF_TRY(rlf_arena_try(pool, text.n + 1, "the texts of a hook", err, &copy));
    if (text.n)
        memcpy(copy, text.p, text.n);
    *out = (rlf_str){copy, text.n};
    return RLF_OK;
}

/* Write the values of one sample into the output columns. */
static rlf_status
put_values(const rlf_call *call, const rlf_rows *rows, uint32_t row,
           const rlf_lua_value *values, bool ok, rlf_err *err)
{
    const rlf_hook *hook = call->env->resource[call->node->receiver];
    for (size_t g = 0; g < hook->n_gives; g++) {
        rlf_column *out = &call->out[g].column;
        switch (hook->gives[g].level) {
        case RLF_LUA_TEXT:
            out->text[row] = RLF_STR("");
            if (ok)
                RLF_TRY(keep_text(call->env->pool, values[g].text, err,
                                  &out->text[row]));
            break;
        case RLF_LUA_TOKEN:
            for (uint32_t t = 0; t < rows->tokens->length[row]; t++)
                out->number[rows->tokens->offset[row] + t] =
                    ok ? values[g].tokens[t] : hook->otherwise;
            break;
        case RLF_LUA_SAMPLE:
        case RLF_LUA_SCALAR:
            out->number[row] = ok ? values[g].number : hook->otherwise;
            break;
        }
    }
    call->out[hook->n_gives].column.number[row] = ok;
    return RLF_OK;
}

/* ---- per sample, group, batch ---- */

static rlf_status
open_rows(rlf_call *call, rlf_err *err)
{
    rlf_arena *pool = call->env->pool;
    const rlf_hook *hook = call->env->resource[call->node->receiver];
    const rlf_rows *rows = call->in[0].rows;
    for (size_t g = 0; g < hook->n_gives; g++) {
        rlf_lua_level level = hook->gives[g].level;
        RLF_TRY(rlf_column_try(
            pool, level == RLF_LUA_TOKEN ? rows->tokens : rows->samples,
            level == RLF_LUA_TEXT, "the values of a hook", err,
            &call->out[g].column));
    }
    return rlf_column_try(pool, rows->samples, false, "the values of a hook",
                          err, &call->out[hook->n_gives].column);
}

/* Number of each sample within its group, from 1, worked out once a set. */
static const uint32_t *
places(const rlf_call *call, const rlf_rows *rows)
{
    state *s = call->state;
    if (s->rows == rows && s->step == call->env->step)
        return s->place;
    rlf_arena *pool = call->env->pool;
    uint32_t *seen = RLF_NEW_ARRAY(pool, uint32_t, rows->prompts->count);
    uint32_t *place = RLF_NEW_ARRAY(pool, uint32_t, rows->samples->count);
    for (uint32_t i = 0; i < rows->samples->count; i++)
        place[i] = ++seen[rlf_rows_prompt_of(call->env->graph, rows, i)];
    s->rows = rows;
    s->step = call->env->step;
    s->place = place;
    return place;
}

/* Below the message: where the `n` samples came from and what they are, so that
 * it can be tried by hand. Of several the first, `row`. */
static void
say_who(const rlf_call *call, uint32_t row, uint32_t n, rlf_err *err)
{
    const rlf_rows *rows = call->in[0].rows;
    const char *name = rlf_rows_name(call->env, rows, row, call->env->pool);
    if (n > 1)
        rlf_err_detail(err,
                       "called once for %u samples, of which the first is "
                       "%s",
                       n, name);
    else
        rlf_err_detail(err, "called for %s", name);
    if (!rows->sample)
        return;
    rlf_str text = rows->sample[row].text;
    rlf_buf shown = {0};
    rlf_buf_json(&shown, text.p, text.n < MOST_SHOWN ? text.n : MOST_SHOWN);
    rlf_err_detail(err, "response %s%s", shown.p,
                   text.n > MOST_SHOWN ? "..." : "");
    rlf_buf_free(&shown);
}

/* Room for what the function is given of them, and for what it gives. */
static rlf_status
make_room(const rlf_call *call, const uint32_t *row, uint32_t n, rlf_err *err)
{
    const rlf_env *env = call->env;
    const rlf_hook *hook = env->resource[call->node->receiver];
    const rlf_rows *rows = call->in[0].rows;
    const rlf_data *data =
        rows->set->data >= 0 ? env->resource[rows->set->data] : NULL;
    size_t room = SET_FIELDS + (size_t)call->node->n_args +
                  (data ? data->records.n_columns : 0);
    size_t bytes = (size_t)n *
                   (sizeof(rlf_lua_sample) + 64 + room * sizeof(rlf_lua_field) +
                    hook->n_gives * sizeof(rlf_lua_value));
    for (uint32_t i = 0; i < n && rows->sample; i++)
        bytes += rows->sample[row[i]].n_ids * sizeof(rlf_str);
    return rlf_arena_room(((state *)call->state)->scratch, bytes,
                          "what a function is called for", err);
}

/* One call for the samples `row` (n of them). */
static rlf_status
call_for(rlf_call *call, const uint32_t *row, uint32_t n, const uint32_t *place,
         rlf_err *err)
{
    const rlf_hook *hook = call->env->resource[call->node->receiver];
    const rlf_rows *rows = call->in[0].rows;
    rlf_arena *scratch = ((state *)call->state)->scratch;
    rlf_arena_reset(scratch);
    RLF_TRY(make_room(call, row, n, err));
    rlf_lua_sample *samples = RLF_NEW_ARRAY(scratch, rlf_lua_sample, n);
    rlf_lua_value *values =
        RLF_NEW_ARRAY(scratch, rlf_lua_value, n * hook->n_gives);
    for (uint32_t i = 0; i < n; i++)
        RLF_TRY(
            make_sample(call, rows, row[i], place[row[i]], err, &samples[i]));
    bool ok;
    rlf_status status = ask_lua(call, samples, row, n, values, &ok, err);
    if (status < 0) {
        say_who(call, row[0], n, err);
        return status;
    }
    for (uint32_t i = 0; i < n && status >= 0; i++)
        status =
            put_values(call, rows, row[i], values + i * hook->n_gives, ok, err);
    rlf_arena_reset(scratch);
    RLF_TRY(status);
    rlf_comm_heartbeat(call->env->comm);
    return RLF_OK;
}

/* The rows of the piece, or all. */
static const uint32_t *
rows_of(const rlf_call *call, uint32_t *n)
{
    *n = call->n_rows;
    if (call->rows)
        return call->rows;
    *n = call->in[0].rows->samples->count;
    uint32_t *all = RLF_NEW_ARRAY(call->env->pool, uint32_t, *n);
    for (uint32_t i = 0; i < *n; i++)
        all[i] = i;
    return all;
}

/* Room for lists of all rows and prompts: the above, and who is of a group. */
static rlf_status
make_list_room(const rlf_call *call, rlf_err *err)
{
    const rlf_rows *rows = call->in[0].rows;
    size_t all = (size_t)rows->samples->count + rows->prompts->count;
    return rlf_arena_room(call->env->pool, (3 * all + 64) * sizeof(uint32_t),
                          "samples that a function is called for", err);
}

static rlf_status
step_sample(rlf_call *call, rlf_err *err)
{
    uint32_t n;
    RLF_TRY(make_list_room(call, err));
    const uint32_t *row = rows_of(call, &n);
    const uint32_t *place = places(call, call->in[0].rows);
    for (uint32_t i = 0; i < n; i++)
        RLF_TRY(call_for(call, row + i, 1, place, err));
    return RLF_OK;
}

/* Samples of a group need not stand side by side. */
static rlf_status
step_group(rlf_call *call, rlf_err *err)
{
    uint32_t n;
    RLF_TRY(make_list_room(call, err));
    const uint32_t *row = rows_of(call, &n);
    const rlf_rows *rows = call->in[0].rows;
    const rlf_graph *graph = call->env->graph;
    const uint32_t *place = places(call, rows);
    uint32_t *group = RLF_NEW_ARRAY(call->env->pool, uint32_t, n);
    bool *done = RLF_NEW_ARRAY(call->env->pool, bool, rows->prompts->count);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t prompt = rlf_rows_prompt_of(graph, rows, row[i]), size = 0;
        if (done[prompt])
            continue;
        done[prompt] = true;
        for (uint32_t k = i; k < n; k++)
            if (rlf_rows_prompt_of(graph, rows, row[k]) == prompt)
                group[size++] = row[k];
        RLF_TRY(call_for(call, group, size, place, err));
    }
    return RLF_OK;
}

static rlf_status
step_batch(rlf_call *call, rlf_err *err)
{
    uint32_t n;
    RLF_TRY(make_list_room(call, err));
    const uint32_t *row = rows_of(call, &n);
    return n ? call_for(call, row, n, places(call, call->in[0].rows), err)
             : RLF_OK;
}

/* ---- per step ---- */

static rlf_status
step_scalar(rlf_call *call, rlf_err *err)
{
    const rlf_env *env = call->env;
    const rlf_hook *hook = env->resource[call->node->receiver];
    rlf_arena *scratch = ((state *)call->state)->scratch;
    rlf_arena_reset(scratch);
    rlf_space *scalar = rlf_space_rows(env->pool, env->graph, 0, 1);
    for (size_t g = 0; g <= hook->n_gives; g++) {
        bool text = g < hook->n_gives && hook->gives[g].level == RLF_LUA_TEXT;
        call->out[g].column = rlf_column_new(env->pool, scalar, text);
    }
    size_t room = (size_t)call->node->n_args + 1;
    fields to = {RLF_NEW_ARRAY(scratch, rlf_lua_field, room), 0};
    add_number(&to, "step", env->step);
    RLF_TRY(add_extra(&to, call, NULL, 0, err));
    rlf_lua_sample sample = {.fields = to.at,
                             .n_fields = to.n,
                             .step = env->step,
                             .key = {.seed = env->seed,
                                     .purpose = RLF_PURPOSE_LUA,
                                     .site = call->node->site,
                                     .step = env->step,
                                     .sample = call->iteration}};
    rlf_lua_value *values =
        RLF_NEW_ARRAY(scratch, rlf_lua_value, hook->n_gives);
    bool ok;
    RLF_TRY(ask_lua(call, &sample, NULL, 1, values, &ok, err));
    rlf_status status = put_values(call, NULL, 0, values, ok, err);
    rlf_arena_reset(scratch);
    return status;
}

/* ---- the classes: one for each `per` ---- */

/* Checks that what the call adds lives on rows or above. */
static void
infer(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    for (int i = node->class->n_formals; i < node->n_args; i++) {
        const rlf_arg *arg = &node->args[i];
        if (arg->kind != RLF_ARG_VALUE)
            continue;
        const rlf_value *value = &graph->values.data[arg->value];
        if (value->domain >= 0 &&
            rlf_domains_get(&graph->domains, value->domain)->kind ==
                RLF_DOMAIN_TOKENS)
            rlf_diag_error(diags, "level", arg->span,
                           "'%s' is one per token: a hook takes one per "
                           "sample or prompt",
                           arg->name);
    }
}

/* Calls of the function: one for each sample that the rank is assigned, or each
 * prompt of them, or one. What it computes is not known here. */
static double
count_rows(const rlf_load *load, const rlf_node *node)
{
    return (double)rlf_load_own(load, (rlf_read_sets){node->inputs, 1}).n;
}

/* Host memory while one call for so many rows goes on: the texts that it gives,
 * and those of the other state in which it is made again. What becomes of them
 * in the step is counted as all columns are. */
static double
text_bytes(const rlf_load *load, const rlf_node *node, double rows)
{
    const rlf_graph *graph = load->graph;
    double bytes = 0;
    for (int i = 0; i < node->n_outputs; i++)
        bytes += rlf_sizes_text(graph, &graph->values.data[node->outputs[i]]);
    return 2 * rows * bytes;
}

static void
cost_sample(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    *out = (rlf_cost){.host = text_bytes(load, node, 1)};
    if (rlf_load_has(load, RLF_PIECE_ROWS))
        out->calls = count_rows(load, node);
}

static void
cost_group(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    int set = load->graph->values.data[node->inputs[0]].set;
    const rlf_set_size *size = &load->sizes->set[set];
    double most = size->prompts > 0 ? ceil(size->samples / size->prompts) : 0;
    *out = (rlf_cost){.host = text_bytes(load, node, most)};
    if (rlf_load_has(load, RLF_PIECE_ROWS) && size->samples > 0)
        out->calls =
            ceil(count_rows(load, node) * size->prompts / size->samples);
}

static void
cost_batch(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    int set = load->graph->values.data[node->inputs[0]].set;
    const rlf_set_size *size = &load->sizes->set[set];
    *out = (rlf_cost){.calls = rlf_load_has(load, RLF_PIECE_ROWS),
                      .host = text_bytes(load, node, size->samples)};
}

static void
cost_step(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    *out = (rlf_cost){.calls = rlf_load_has(load, RLF_PIECE_ROWS),
                      .host = text_bytes(load, node, 1)};
}

static const rlf_formal set_formals[] = {
    {.name = "set",
     .kind = RLF_FORMAL_SET,
     .required = true,
     .doc = "its samples, or its prompts if it has no responses"},
};

#define A_HOOK                                    \
    .form = RLF_FORM_HOOK, .work = RLF_WORK_HOST, \
    .receiver = RLF_RECEIVER_HOOK, .extra = true

/* One that is called with the samples of a set. */
#define A_HOOK_OF_SAMPLES                                                     \
    A_HOOK, .formals = set_formals, .n_formals = 1, .taken = RLF_HOOK_FIELDS, \
            .gives = RLF_GIVES_COLUMN, .level = RLF_LEVEL_SAMPLE,             \
            .infer = infer, .init = init, .fini = fini, .open = open_rows

const rlf_node_class rlf_node_hook_sample = {
    A_HOOK_OF_SAMPLES,
    .name = "sample",
    .doc = "calls a Lua function for each sample",
    .partition = RLF_PARTITION_ROWS,
    .granularity = RLF_GRAIN_SAMPLE,
    .cost = cost_sample,
    .step = step_sample,
};

const rlf_node_class rlf_node_hook_group = {
    A_HOOK_OF_SAMPLES,
    .name = "group",
    .doc = "calls a Lua function for the samples of each prompt together",
    .partition = RLF_PARTITION_ROWS,
    .granularity = RLF_GRAIN_GROUP,
    .cost = cost_group,
    .step = step_group,
};

const rlf_node_class rlf_node_hook_batch = {
    A_HOOK_OF_SAMPLES,
    .name = "batch",
    .doc = "calls a Lua function for all samples together",
    .granularity = RLF_GRAIN_BATCH,
    .cost = cost_batch,
    .step = step_batch,
};

const rlf_node_class rlf_node_hook_step = {
    A_HOOK,
    .name = "step",
    .doc = "calls a Lua function for one scalar",
    .taken = "step",
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_SCALAR,
    .granularity = RLF_GRAIN_BATCH,
    .infer = infer,
    .cost = cost_step,
    .init = init,
    .fini = fini,
    .open = rlf_class_no_open,
    .step = step_scalar,
};

const rlf_node_class rlf_node_hook_turn = {
    A_HOOK,
    .name = "turn",
    .doc = "calls a Lua function after each turn of a dialogue",
    .partition = RLF_PARTITION_ROWS,
    .taken = RLF_HOOK_FIELDS,
    .gives = RLF_GIVES_TEXT,
    .level = RLF_LEVEL_SAMPLE,
    .granularity = RLF_GRAIN_SAMPLE,
    .unsupported = RLF_NO_TURNS,
    .open = rlf_class_unsupported,
    .step = rlf_class_unsupported,
    RLF_CLASS_PLAIN,
};
