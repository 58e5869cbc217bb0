/* Sets and models: see rows.h. */
#include "nodes/rows.h"

#include "engine/base/vec.h"
#include "engine/lua/host.h"
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "nodes/data.h"

#include <inttypes.h>

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

/* The name of a prompt in messages: its file and line, or its number. */
static const char *
prompt_name(const rlf_env *env, const rlf_rows *rows, uint32_t prompt,
            rlf_arena *arena)
{
    const rlf_data *data = data_of(env, rows);
    if (!data)
        return rlf_arena_printf(
            arena, "number %llu",
            (unsigned long long)rows->prompts->identity[prompt] + 1);
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

rlf_status
rlf_rows_write_lua(const rlf_env *env, const rlf_reader *reader,
                   const rlf_prompt *prompt, bool open, rlf_err *err,
                   rlf_str *out)
{
    rlf_arena *pool = env->pool;
    const uint32_t n = prompt->n_messages;
    if (prompt->tools.n) {
        rlf_fail(err, RLF_USER,
                 "the chat has a list of tools, which a template in Lua cannot "
                 "write");
        rlf_err_hint(err, "leave template: out where the tokenizer has one of "
                          "its own, or tools: of the data");
        return RLF_USER;
    }
    rlf_lua_record *records = RLF_NEW_ARRAY(pool, rlf_lua_record, n);
    for (uint32_t i = 0; i < n; i++) {
        rlf_lua_field *fields = RLF_NEW_ARRAY(pool, rlf_lua_field, 2);
        const rlf_message *message = &prompt->messages[i];
        if (message->json.n) {
            rlf_fail(err, RLF_USER,
                     "message %u of the chat is more than a role and a text, "
                     "which a template in Lua cannot write",
                     i + 1);
            rlf_err_hint(err, "leave template: out where the tokenizer has one "
                              "of its own");
            return RLF_USER;
        }
        fields[0] = (rlf_lua_field){
            .name = "role", .kind = RLF_LUA_BYTES, .text = message->role};
        fields[1] = (rlf_lua_field){
            .name = "content", .kind = RLF_LUA_BYTES, .text = message->content};
        records[i] = (rlf_lua_record){fields, 2};
    }
    return rlf_lua_template(reader->template, records, n, open, pool, err, out);
}

rlf_status
rlf_rows_no_template(const rlf_reader *reader, rlf_err *err)
{
    rlf_fail(err, RLF_USER,
             "the prompt is a list of chat messages, but model '%s' has "
             "no template",
             reader->model);
    rlf_err_hint(err, "its tokenizer comes with none; give it one: lm(..., "
                      "template: \"std/template/chatml.lua\"), or llama3.lua, "
                      "or a file of your own");
    return RLF_USER;
}

/* The chat as one text, by the model's template. */
static rlf_status
write_chat(const rlf_env *env, const rlf_reader *reader, rlf_prompt *prompt,
           rlf_err *err)
{
    if (reader->template)
        return rlf_rows_write_lua(env, reader, prompt, true, err,
                                  &prompt->text);
    if (reader->own)
        return rlf_chat_write(reader->own, prompt, env->pool, err,
                              &prompt->text);
    return rlf_rows_no_template(reader, err);
}

bool
rlf_rows_ended(const rlf_reader *reader, const uint32_t *ids, uint32_t n)
{
    bool ends = false;
    for (size_t i = 0; n && i < reader->n_ends; i++)
        ends |= ids[n - 1] == reader->ends[i];
    return ends;
}

rlf_status
rlf_rows_known(const rlf_reader *reader, const uint32_t *ids, size_t n,
               rlf_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!reader->vocab || ids[i] < reader->vocab)
            continue;
        rlf_str text = rlf_tokenizer_piece(reader->tokenizer, ids[i]);
        rlf_buf quoted = {0};
        rlf_buf_json(&quoted, text.p, text.n);
        rlf_fail(err, RLF_USER,
                 "it has the token %" PRIu32 " (%s), but model '%s' knows only "
                 "the tokens below %" PRIu32,
                 ids[i], quoted.p, reader->model, reader->vocab);
        rlf_err_hint(err, "give the model the tokenizer that it was made with");
        rlf_buf_free(&quoted);
        return RLF_USER;
    }
    return RLF_OK;
}

/* The ids, which the reader's model must know, in the step's pool. */
static rlf_status
keep_ids(const rlf_env *env, const rlf_reader *reader, const rlf_ids *from,
         rlf_err *err, const uint32_t **ids, uint32_t *n_ids)
{
    uint32_t *kept;
    RLF_TRY(rlf_rows_known(reader, from->data, from->count, err));
    RLF_TRY(rlf_arena_try(env->pool, from->count * sizeof *kept,
                          "the tokens of a text", err, &kept));
    if (from->count)
        memcpy(kept, from->data, from->count * sizeof *kept);
    *ids = kept;
    *n_ids = (uint32_t)from->count;
    return rlf_memory_check(err);
}

static rlf_status
encode(const rlf_env *env, const rlf_reader *reader, rlf_str text,
       unsigned flags, rlf_err *err, const uint32_t **ids, uint32_t *n_ids)
{
    rlf_ids out = {0};
    rlf_status status = rlf_tokenizer_encode(reader->tokenizer, text.p, text.n,
                                             flags, err, &out);
    if (status == RLF_OK)
        status = keep_ids(env, reader, &out, err, ids, n_ids);
    RLF_VEC_FREE(&out);
    return status;
}

/* The bound that the call gives which asked the prompts of the set. */
static const rlf_arg *
given_bound(const rlf_graph *graph, const rlf_rows *rows)
{
    int set = (int)(rows->set - graph->sets.data);
    const rlf_set *sets = graph->sets.data;
    while (sets[set].origin >= 0 || sets[set].from >= 0)
        set = sets[set].origin >= 0 ? sets[set].origin : sets[set].from;
    if (sets[set].kind != RLF_SET_ASKED)
        return NULL;
    const rlf_node *node = rlf_graph_maker(graph, set);
    return node ? rlf_args_find(node->args, node->n_args, "max_prompt") : NULL;
}

static rlf_status
check_bound(const rlf_env *env, const rlf_rows *rows, uint32_t row,
            const rlf_prompt *prompt, rlf_err *err)
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
    if (!data || !data->max_prompt || prompt->n_ids <= data->max_prompt)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "it has %u tokens, more than max_prompt: %u",
             prompt->n_ids, data->max_prompt);
    rlf_err_hint(err, "shorten it, or raise max_prompt of '%s'", data->name);
    return RLF_USER;
}

static rlf_status
check_room(const rlf_reader *reader, const rlf_prompt *prompt, rlf_err *err)
{
    if (reader->context && prompt->n_ids >= reader->context) {
        rlf_fail(err, RLF_USER,
                 "it has %u tokens, which leaves no room in the context of %u "
                 "that model '%s' was made for",
                 prompt->n_ids, reader->context, reader->model);
        rlf_err_hint(err, "leave the row out, or take a model with a longer "
                          "context");
        return RLF_USER;
    }
    return RLF_OK;
}

rlf_status
rlf_rows_some(const rlf_reader *reader, const rlf_prompt *prompt, rlf_err *err)
{
    if (prompt->n_ids)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "it has no token");
    if (prompt->n_messages)
        rlf_err_hint(err, "the template of '%s' gives an empty text of it",
                     reader->model);
    else
        rlf_err_hint(err,
                     "the tokenizer of '%s' puts no token before a text, so a "
                     "prompt must not be empty: give each row one, such as the "
                     "token that ends a text",
                     reader->model);
    return RLF_USER;
}

rlf_status
rlf_rows_encode(const rlf_env *env, const rlf_reader *reader,
                rlf_prompt *prompt, rlf_err *err)
{
    bool chat = prompt->n_messages > 0;
    if (chat)
        RLF_TRY(write_chat(env, reader, prompt, err));
    return encode(env, reader, prompt->text,
                  chat ? 0 : RLF_ENCODE_SPECIAL | RLF_ENCODE_ONCE, err,
                  &prompt->ids, &prompt->n_ids);
}

rlf_status
rlf_rows_least(const rlf_reader *reader, rlf_str text, rlf_err *err,
               uint64_t *out)
{
    enum { LARGE = 1 << 16 }; /* bytes */
    *out = 0;
    return text.n < LARGE ? RLF_OK
                          : rlf_tokenizer_least(reader->tokenizer, text.p,
                                                text.n, 0, err, out);
}

bool
rlf_rows_same_tokens(const rlf_tokenizer *a, const rlf_tokenizer *b)
{
    return a == b ||
           rlf_digest_equal(rlf_tokenizer_digest(a), rlf_tokenizer_digest(b));
}

rlf_digest
rlf_rows_writes(const rlf_reader *reader)
{
    rlf_digest digest = rlf_tokenizer_writes(reader->tokenizer);
    size_t n = 0;
    const rlf_lua_source *sources =
        reader->template ? rlf_lua_host_sources(reader->template, &n) : NULL;
    digest = rlf_digest_add(digest, &n, sizeof n);
    for (size_t i = 0; i < n; i++) {
        const char *module = sources[i].module;
        digest = rlf_digest_add(digest, module, strlen(module) + 1);
        digest = rlf_digest_add(digest, &sources[i].digest,
                                sizeof sources[i].digest);
    }
    if (reader->own) {
        rlf_digest own = rlf_chat_digest(reader->own);
        digest = rlf_digest_add(digest, &own, sizeof own);
    }
    return digest;
}

/* The form in which a model wrote a prompt. */
typedef struct rlf_written {
    rlf_digest writes; /* its reader's */
    rlf_str text;
    const uint32_t *ids;
    uint32_t n_ids;
    struct rlf_written *next;
} written;

rlf_prompt *
rlf_rows_new_prompts(rlf_arena *pool, uint32_t n)
{
    rlf_prompt *prompts = RLF_NEW_ARRAY(pool, rlf_prompt, n);
    written **lists = RLF_NEW_ARRAY(pool, written *, n);
    for (uint32_t i = 0; i < n; i++)
        prompts[i].written = &lists[i];
    return prompts;
}

/* Returns the form in which the reader wrote the prompt before; NULL: it has
 * not. */
static const written *
find_written(const rlf_prompt *prompt, const rlf_reader *reader)
{
    const written *known = prompt->written ? *prompt->written : NULL;
    while (known && !rlf_digest_equal(known->writes, reader->writes))
        known = known->next;
    return known;
}

/* Prompt i with the tokens of the reader. */
static rlf_status
write_prompt(const rlf_env *env, const rlf_rows *rows, uint32_t i,
             const rlf_reader *reader, rlf_prompt *prompt, rlf_err *err)
{
    const written *known = find_written(prompt, reader);
    if (known) {
        prompt->text = known->text;
        prompt->ids = known->ids;
        prompt->n_ids = known->n_ids;
        return rlf_rows_known(reader, known->ids, known->n_ids, err);
    }
    RLF_TRY(rlf_rows_encode(env, reader, prompt, err));
    RLF_TRY(check_bound(env, rows, i, prompt, err));
    if (!prompt->written)
        return RLF_OK;
    written *new;
    RLF_TRY(rlf_arena_try(env->pool, sizeof *new, "a prompt", err, &new));
    *new = (written){.writes = reader->writes,
                     .text = prompt->text,
                     .ids = prompt->ids,
                     .n_ids = prompt->n_ids,
                     .next = *prompt->written};
    *prompt->written = new;
    return RLF_OK;
}

static bool
writes_same(const rlf_rows *rows, const rlf_reader *reader)
{
    return rows->reader &&
           rlf_digest_equal(rows->reader->writes, reader->writes);
}

rlf_status
rlf_rows_prompt(const rlf_env *env, const rlf_rows *rows, uint32_t i,
                const rlf_reader *reader, rlf_err *err, rlf_prompt *out)
{
    *out = rows->prompt[i];
    if (writes_same(rows, reader))
        return RLF_OK;
    rlf_err why = RLF_ERR_NONE;
    rlf_status status = write_prompt(env, rows, i, reader, out, &why);
    if (status >= 0)
        status = check_room(reader, out, &why);
    if (status >= 0)
        status = rlf_rows_some(reader, out, &why);
    if (status >= 0)
        return RLF_OK;
    rlf_fail(err, status, "prompt %s of '%s': %s",
             prompt_name(env, rows, i, env->pool), rows->set->name,
             why.sentence);
    rlf_err_hint(err, "%s", why.hint);
    rlf_err_detail(err, "%s", why.detail);
    return status;
}

rlf_status
rlf_rows_prompts(const rlf_env *env, const rlf_rows *rows,
                 const rlf_reader *reader, rlf_err *err, rlf_prompt **out)
{
    uint32_t n = rows->prompts->count;
    rlf_prompt *prompts = *out = rows->prompt;
    if (writes_same(rows, reader))
        return RLF_OK;
    RLF_TRY(rlf_arena_try(env->pool, sizeof *prompts * n, "prompts", err,
                          &prompts));
    for (uint32_t i = 0; i < n; i++)
        RLF_TRY(rlf_rows_prompt(env, rows, i, reader, err, &prompts[i]));
    *out = prompts;
    return RLF_OK;
}

rlf_status
rlf_rows_response(const rlf_env *env, const rlf_reader *reader,
                  const rlf_prompt *prompt, rlf_str text, bool end,
                  rlf_err *err, rlf_sample *out)
{
    rlf_ids ids = {0};
    *out = (rlf_sample){.text = text, .finished = true};
    rlf_status status = rlf_tokenizer_encode_after(
        reader->tokenizer, prompt ? &prompt->text : NULL, text, err, &ids);
    if (status == RLF_OK) {
        if (end && reader->eos >= 0 &&
            !rlf_rows_ended(reader, ids.data, (uint32_t)ids.count))
            RLF_PUSH(&ids, (uint32_t)reader->eos);
        status = keep_ids(env, reader, &ids, err, &out->ids, &out->n_ids);
    }
    RLF_VEC_FREE(&ids);
    return status;
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
