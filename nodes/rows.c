/* Sets and models: see rows.h. */
#include "nodes/rows.h"

#include "engine/base/vec.h"
#include "engine/lua/host.h"
#include "engine/text/tokenizer.h"
#include "nodes/data.h"

static const rlf_data *
data_of(const rlf_env *env, const rlf_rows *rows)
{
    return rows->set->data < 0 || !rows->data_row
               ? NULL
               : env->resource[rows->set->data];
}

uint32_t
rlf_rows_prompt_of(const rlf_graph *graph, const rlf_rows *rows, uint32_t row)
{
    if (rows->samples == rows->prompts)
        return row;
    return rlf_space_row(&graph->domains, rows->samples, row,
                         rows->prompts->domain);
}

rlf_space *
rlf_rows_of(rlf_arena *pool, const rlf_graph *graph, int domain,
            const rlf_space *from)
{
    if (from->domain == domain)
        return (rlf_space *)from;
    rlf_space *space = rlf_space_rows(pool, graph, domain, from->count);
    space->identity = from->identity;
    const rlf_domain *d = rlf_domains_get(&graph->domains, domain);
    for (int k = 0; k < d->n_up; k++) {
        space->up[k].to = rlf_space_above(&graph->domains, from, d->up[k]);
        uint32_t *index = RLF_NEW_ARRAY(pool, uint32_t, from->count);
        for (uint32_t i = 0; i < from->count; i++)
            index[i] = rlf_space_row(&graph->domains, from, i, d->up[k]);
        space->up[k].index = index;
    }
    return space;
}

/* Where a prompt comes from: its file and line, or its number. */
static const char *
prompt_name(const rlf_env *env, const rlf_rows *rows, uint32_t prompt,
            rlf_arena *arena)
{
    const rlf_data *data = data_of(env, rows);
    if (!data)
        return rlf_arena_printf(
            arena, "number %llu",
            (unsigned long long)rows->prompts->identity[prompt]);
    return rlf_data_place(data, rows->data_row[prompt], arena);
}

const char *
rlf_rows_name(const rlf_env *env, const rlf_rows *rows, uint32_t row,
              rlf_arena *arena)
{
    uint32_t prompt = rlf_rows_prompt_of(env->graph, rows, row);
    const char *name = prompt_name(env, rows, prompt, arena);
    if (rows->samples == rows->prompts)
        return rlf_arena_printf(arena, "prompt %s of '%s'", name,
                                rows->set->name);
    uint32_t place = 1;
    for (uint32_t i = 0; i < row; i++)
        place += rlf_rows_prompt_of(env->graph, rows, i) == prompt;
    return rlf_arena_printf(arena, "sample %u of prompt %s of '%s'", place,
                            name, rows->set->name);
}

/* ---- tokens ---- */

/* The chat as one text, by the model's template. */
static rlf_status
write_chat(const rlf_env *env, const rlf_reader *reader, rlf_prompt *prompt,
           rlf_err *err)
{
    if (!reader->template) {
        rlf_fail(err, RLF_USER,
                 "the prompt is a list of chat messages, but model '%s' has "
                 "no template",
                 reader->model);
        rlf_err_hint(err, "give it one: lm(..., template: \"FILE.lua\")");
        return RLF_USER;
    }
    rlf_arena *pool = env->pool;
    uint32_t n = prompt->n_messages;
    rlf_lua_record *records = RLF_NEW_ARRAY(pool, rlf_lua_record, n);
    for (uint32_t i = 0; i < n; i++) {
        rlf_lua_field *fields = RLF_NEW_ARRAY(pool, rlf_lua_field, 2);
        fields[0] = (rlf_lua_field){.name = "role",
                                    .kind = RLF_LUA_BYTES,
                                    .text = prompt->messages[i].role};
        fields[1] = (rlf_lua_field){.name = "content",
                                    .kind = RLF_LUA_BYTES,
                                    .text = prompt->messages[i].content};
        records[i] = (rlf_lua_record){fields, 2};
    }
    return rlf_lua_template(reader->template, records, n, true, pool, err,
                            &prompt->text);
}

static rlf_status
encode(const rlf_env *env, const rlf_reader *reader, rlf_str text,
       unsigned flags, bool end, rlf_err *err, const uint32_t **ids,
       uint32_t *n_ids)
{
    rlf_ids out = {0};
    rlf_status status = rlf_tokenizer_encode(reader->tokenizer, text.p, text.n,
                                             flags, err, &out);
    if (status == RLF_OK) {
        if (end && reader->eos >= 0)
            RLF_PUSH(&out, (uint32_t)reader->eos);
        uint32_t *kept;
        status = rlf_arena_try(env->pool, out.count * sizeof *kept,
                               "the tokens of a text", err, &kept);
        if (status == RLF_OK && out.count)
            memcpy(kept, out.data, out.count * sizeof *kept);
        *ids = kept;
        *n_ids = (uint32_t)out.count;
    }
    RLF_VEC_FREE(&out);
    return status < 0 ? status : rlf_memory_check(err);
}

/* The bound that the call gives which made the set, or what it is a part of. */
static const rlf_arg *
given_bound(const rlf_graph *graph, const rlf_rows *rows)
{
    int set = (int)(rows->set - graph->sets.data);
    while (graph->sets.data[set].origin >= 0)
        set = graph->sets.data[set].origin;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->class->role != RLF_ROLE_FUNCTION)
            continue;
        for (int k = 0; k < node->n_outputs; k++) {
            const rlf_value *value = &graph->values.data[node->outputs[k]];
            if (value->kind == RLF_VALUE_SET && value->set == set)
                return rlf_args_find(node->args, node->n_args, "max_prompt");
        }
    }
    return NULL;
}

static rlf_status
check_length(const rlf_env *env, const rlf_rows *rows, uint32_t row,
             const rlf_reader *reader, const rlf_prompt *prompt, rlf_err *err)
{
    const rlf_arg *bound = given_bound(env->graph, rows);
    bool given = bound && bound->kind == RLF_ARG_NUMBER;
    const rlf_data *data = given ? NULL : data_of(env, rows);
    if (given && prompt->n_ids > bound->number) {
        rlf_fail(err, RLF_USER, "it has %u tokens, more than max_prompt: %.0f",
                 prompt->n_ids, bound->number);
        rlf_err_hint(err, "ask shorter ones, or raise max_prompt: of ask(...)");
        return RLF_USER;
    }
    if (data) {
        uint32_t origin = rows->data_row[row];
        data = rlf_data_origin(data, &origin);
    }
    if (data && data->max_prompt && prompt->n_ids > data->max_prompt) {
        rlf_fail(err, RLF_USER, "it has %u tokens, more than max_prompt: %u",
                 prompt->n_ids, data->max_prompt);
        rlf_err_hint(err, "shorten it, or raise max_prompt of '%s'",
                     data->name);
        return RLF_USER;
    }
    if (reader->context && prompt->n_ids >= reader->context) {
        rlf_fail(err, RLF_USER,
                 "it has %u tokens, which leaves no room in the context of %u "
                 "that model '%s' was made for",
                 prompt->n_ids, reader->context, reader->model);
        rlf_err_hint(err, "leave the row out, or take a model with a longer "
                          "context");
        return RLF_USER;
    }
    if (prompt->n_ids)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "it has no token");
    rlf_err_hint(err,
                 "the tokenizer of '%s' has no token that begins a text: "
                 "the prompt must not be empty",
                 reader->model);
    return RLF_USER;
}

rlf_status
rlf_rows_encode(const rlf_env *env, const rlf_reader *reader,
                rlf_prompt *prompt, rlf_err *err)
{
    unsigned flags = RLF_ENCODE_SPECIAL;
    if (prompt->n_messages) {
        RLF_TRY(write_chat(env, reader, prompt, err));
        flags = 0;
    }
    return encode(env, reader, prompt->text, flags, false, err, &prompt->ids,
                  &prompt->n_ids);
}

bool
rlf_rows_same_tokens(const rlf_tokenizer *a, const rlf_tokenizer *b)
{
    return a == b ||
           rlf_digest_equal(rlf_tokenizer_digest(a), rlf_tokenizer_digest(b));
}

rlf_status
rlf_rows_prompts(const rlf_env *env, rlf_rows *rows, const rlf_reader *reader,
                 rlf_err *err, rlf_prompt **out)
{
    uint32_t n = rows->prompts->count;
    rlf_prompt *prompts = rows->prompt;
    bool mine = !rows->tokenizer ||
                rlf_rows_same_tokens(rows->tokenizer, reader->tokenizer);
    if (!mine) {
        RLF_TRY(rlf_arena_try(env->pool, sizeof *prompts * n, "prompts", err,
                              &prompts));
        for (uint32_t i = 0; i < n; i++) {
            prompts[i] = rows->prompt[i];
            prompts[i].ids = NULL;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (prompts[i].ids)
            continue;
        rlf_err why = RLF_ERR_NONE;
        rlf_status status = rlf_rows_encode(env, reader, &prompts[i], &why);
        if (status >= 0)
            status = check_length(env, rows, i, reader, &prompts[i], &why);
        if (status < 0) {
            rlf_fail(err, status, "prompt %s of '%s': %s",
                     prompt_name(env, rows, i, env->pool), rows->set->name,
                     why.sentence);
            rlf_err_hint(err, "%s", why.hint);
            rlf_err_detail(err, "%s", why.detail);
            return status;
        }
    }
    if (!rows->tokenizer)
        rows->tokenizer = reader->tokenizer;
    *out = prompts;
    return RLF_OK;
}

rlf_status
rlf_rows_response(const rlf_env *env, const rlf_reader *reader, rlf_str text,
                  rlf_err *err, rlf_sample *out)
{
    *out = (rlf_sample){.text = text, .finished = true};
    return encode(env, reader, text, 0, true, err, &out->ids, &out->n_ids);
}

rlf_status
rlf_rows_text(rlf_arena *pool, const rlf_tokenizer *tokenizer,
              const uint32_t *ids, uint32_t n, rlf_err *err, rlf_str *out)
{
    enum { A_WRONG_BYTE = 3 }; /* as U+FFFD */
    static const char what[] = "the text of a response";
    rlf_buf text = {0};
    size_t most = 64;
    for (uint32_t i = 0; i < n; i++)
        most += A_WRONG_BYTE * rlf_tokenizer_piece(tokenizer, ids[i]).n;
    if (!rlf_buf_try(&text, most))
        return rlf_fail_memory(err, most, "%s", what);
    rlf_tokenizer_decode(tokenizer, ids, n,
                         RLF_DECODE_SKIP_SPECIAL | RLF_DECODE_CONTINUE, &text);
    rlf_status status = rlf_arena_room(pool, text.n + 1, what, err);
    if (status >= 0)
        *out = (rlf_str){rlf_arena_strndup(pool, text.n ? text.p : "", text.n),
                         text.n};
    rlf_buf_free(&text);
    return status;
}
