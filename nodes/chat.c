/* See chat.h. */
#include "nodes/chat.h"

#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/jinja/jinja.h"
#include "engine/text/template.h"
#include "engine/text/tokenizer.h"

#include <string.h>

struct rlf_chat_template {
    const rlf_tokenizer *tokenizer;
    const char *file;
    rlf_str source;
    rlf_jinja *jinja; /* NULL: see `why` */
    rlf_err why;
    uint32_t day;
};

rlf_status
rlf_chat_open(const rlf_tokenizer *tokenizer, const char *path, uint32_t day,
              rlf_arena *arena, rlf_err *err, rlf_chat_template **out)
{
    rlf_chat_template *chat = RLF_NEW(arena, rlf_chat_template);
    *out = NULL;
    chat->tokenizer = tokenizer;
    chat->day = day;
    chat->why = (rlf_err)RLF_ERR_NONE;
    rlf_status status = rlf_tokenizer_template(path, arena, &chat->why,
                                               &chat->file, &chat->source);
    if (status >= 0 && !chat->source.p)
        return RLF_OK;
    if (status >= 0)
        status = rlf_jinja_open(chat->file, chat->source, arena, &chat->why,
                                &chat->jinja);
    if (status < 0 && status != RLF_USER) {
        *err = chat->why;
        return status;
    }
    if (status < 0)
        chat->jinja = NULL;
    *out = chat;
    return RLF_OK;
}

static bool
has(rlf_str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, word, n) == 0)
            return true;
    return false;
}

bool
rlf_chat_asks_day(const rlf_chat_template *chat)
{
    return has(chat->source, "strftime_now");
}

rlf_digest
rlf_chat_digest(const rlf_chat_template *chat)
{
    rlf_digest digest = rlf_digest_of(chat->source.p, chat->source.n);
    if (rlf_chat_asks_day(chat))
        digest = rlf_digest_add(digest, &chat->day, sizeof chat->day);
    size_t n;
    const rlf_named_token *named = rlf_tokenizer_named(chat->tokenizer, &n);
    for (size_t i = 0; i < n; i++) {
        const char *name = named[i].name, *token = named[i].token;
        digest = rlf_digest_add(digest, name, strlen(name) + 1);
        digest = rlf_digest_add(digest, token, strlen(token) + 1);
    }
    return digest;
}

static const char what[] = "a chat as a text";

/* ---- variables ---- */

static json_t *
text_of(rlf_str text)
{
    return json_stringn(text.p, text.n);
}

/* The reasoning of a message gets the name that templates read, whichever of
 * its three names it came under, and `thinking` in front if that was not given.
 */
static json_t *
with_reasoning(json_t *message)
{
    static const char *const names[] = {"reasoning_content", "thinking",
                                        "reasoning"};
    json_t *reasoning = NULL, *all;
    for (size_t i = 0; i < 3 && !reasoning; i++)
        reasoning = json_object_get(message, names[i]);
    if (!reasoning)
        return message;
    all = json_object();
    json_object_set(all, "thinking", reasoning);
    json_object_update(all, message);
    json_object_set(all, "reasoning_content", reasoning);
    json_decref(message);
    return all;
}

/* A new reference; NULL: no memory, or a message that cannot be read again. */
static json_t *
message_of(const rlf_message *from)
{
    json_error_t where;
    const char *key;
    json_t *message, *value;
    bool missing;
    void *next;
    if (!from->json.n) {
        message = json_object();
        json_object_set_new(message, "role", text_of(from->role));
        json_object_set_new(message, "content", text_of(from->content));
        return message;
    }
    message = rlf_json_decode(from->json.p, from->json.n, 0, &where, &missing);
    json_object_foreach_safe(message, next, key, value)
    {
        if (json_is_null(value))
            json_object_del(message, key);
    }
    return with_reasoning(message);
}

static json_t *
variables_of(const rlf_chat_template *chat, const rlf_message *messages,
             size_t n, bool open)
{
    json_t *all = json_object(), *list = json_array();
    size_t n_named;
    const rlf_named_token *named =
        rlf_tokenizer_named(chat->tokenizer, &n_named);
    for (size_t i = 0; i < n_named; i++)
        json_object_set_new(all, named[i].name, json_string(named[i].token));
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, message_of(&messages[i]));
    bool whole = json_array_size(list) == n;
    json_object_set_new(all, "messages", list);
    json_object_set_new(all, "tools", json_null());
    json_object_set_new(all, "documents", json_null());
    json_object_set_new(all, "add_generation_prompt", json_boolean(open));
    if (whole)
        return all;
    json_decref(all);
    return NULL;
}

/* With `open` what begins the assistant's next turn follows. */
static rlf_status
render(const rlf_chat_template *chat, const rlf_message *messages, size_t n,
       bool open, rlf_arena *scratch, rlf_err *err, rlf_jinja_output *out)
{
    if (!chat->jinja) {
        *err = chat->why;
        return chat->why.status;
    }
    const int day = (int)chat->day;
    const rlf_jinja_options options = {.now = {.year = day / 10000,
                                               .month = day / 100 % 100,
                                               .day = day % 100}};
    json_t *variables = variables_of(chat, messages, n, open);
    if (!variables)
        return rlf_fail_memory(err, n, "%s", what);
    rlf_status status =
        rlf_jinja_render(chat->jinja, variables, &options, scratch, err, out);
    json_decref(variables);
    return status;
}

static rlf_status
keep(rlf_str text, rlf_arena *pool, rlf_err *err, rlf_str *out)
{
    RLF_TRY(rlf_arena_room(pool, text.n + 1, what, err));
    *out = (rlf_str){rlf_arena_strndup(pool, text.p, text.n), text.n};
    return RLF_OK;
}

rlf_status
rlf_chat_write(const rlf_chat_template *chat, const rlf_message *messages,
               size_t n, rlf_arena *pool, rlf_err *err, rlf_str *out)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_jinja_output text;
    rlf_status status = render(chat, messages, n, true, scratch, err, &text);
    if (status >= 0)
        status = keep(text.text, pool, err, out);
    rlf_arena_free(scratch);
    return status;
}

bool
rlf_chat_generates(const rlf_chat_template *chat)
{
    return chat->jinja && rlf_jinja_generates(chat->jinja);
}

static rlf_status
keep_spans(const rlf_chat_template *chat, const rlf_jinja_output *text,
           rlf_arena *pool, rlf_err *err, rlf_chat_span **out)
{
    RLF_TRY(rlf_arena_try(pool, (text->n_spans + 1) * sizeof **out, what, err,
                          out));
    for (size_t i = 0; i < text->n_spans; i++) {
        const rlf_jinja_span *span = &text->spans[i];
        if (!span->placed) {
            rlf_fail(err, RLF_USER,
                     "%s: a {%% generation %%} block is within a macro or "
                     "another block, so its place in the text is not known",
                     chat->file);
            rlf_err_hint(err, "write it where the messages are written one "
                              "after the other");
            return RLF_USER;
        }
        (*out)[i] = (rlf_chat_span){span->from, span->to};
    }
    return RLF_OK;
}

rlf_status
rlf_chat_converse(const rlf_chat_template *chat, const rlf_message *messages,
                  size_t n, rlf_arena *pool, rlf_err *err, rlf_str *out,
                  rlf_chat_span **spans, size_t *n_spans)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_jinja_output text = {0};
    rlf_status status = render(chat, messages, n, false, scratch, err, &text);
    if (status >= 0)
        status = keep(text.text, pool, err, out);
    if (status >= 0)
        status = keep_spans(chat, &text, pool, err, spans);
    *n_spans = text.n_spans;
    rlf_arena_free(scratch);
    return status;
}
