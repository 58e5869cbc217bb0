/* See chat.h. */
#include "nodes/chat.h"

#include "engine/graph/run.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/jinja/jinja.h"
#include "engine/text/template.h"
#include "engine/text/tokenizer.h"

#include <string.h>

/* One of the templates; jinja NULL: see `why`. */
typedef struct writer {
    const char *file, *part; /* of the file; NULL: all of it */
    rlf_str source;
    rlf_jinja *jinja;
    rlf_err why;
} writer;

struct rlf_chat_template {
    const rlf_tokenizer *tokenizer;
    writer plain, tooled; /* of prompts without tools, and with some */
    bool two;             /* they are not one */
    rlf_str tools;        /* the model's: JSON; n 0: none */
    uint32_t day;
};

/* ---- opening ---- */

/* The template for prompts that have tools, or none; false: there is none at
 * all. What it cannot is in `why`. */
static bool
open_writer(const rlf_named_templates *all, const char *name, bool tools,
            rlf_arena *arena, writer *out)
{
    const rlf_named_template *from;
    *out = (writer){.why = RLF_ERR_NONE};
    rlf_status status =
        rlf_named_template_find(all, name, tools, &out->why, &from);
    if (status >= 0 && !from)
        return false;
    if (status < 0)
        return true;
    out->file = from->file;
    out->part = from->part;
    out->source = from->source;
    if (rlf_jinja_open(from->file, from->part, from->source, arena, &out->why,
                       &out->jinja) < 0)
        out->jinja = NULL;
    return true;
}

/* RLF_USER if that is no list of objects, or has numbers that would change. */
static rlf_status
check_tools(const char *path, const json_t *list, bool rounded, rlf_err *err)
{
    bool good = json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++)
        good &= json_is_object(json_array_get(list, i));
    if (!good) {
        rlf_fail(err, RLF_USER, "%s is no list of tools", path);
        rlf_err_hint(err, "it is [{\"type\": \"function\", \"function\": "
                          "{\"name\": ...}}, ...]: a JSON schema for each");
    } else if (rounded && rlf_json_has_whole(list)) {
        rlf_fail(err, RLF_USER,
                 "%s: an integer has more than 64 bits, and would be rounded",
                 path);
        rlf_err_hint(err, "write it in quotes, as a text");
    }
    return err->status;
}

/* A list of tools: objects of JSON, as one text. An empty one is no absence of
 * tools: templates are told of it. */
static rlf_status
read_tools(const char *path, rlf_arena *arena, rlf_err *err, rlf_str *out)
{
    json_t *list = NULL;
    rlf_json_found found = {0};
    rlf_buf text = {0};
    rlf_status status = rlf_file_read(path, RLF_JSON_MOST, err, &text);
    size_t mark = text.n >= 3 && !memcmp(text.p, "\xef\xbb\xbf", 3) ? 3 : 0;
    if (status >= 0)
        status = rlf_json_parse_exact(path, 1, text.n ? text.p + mark : "",
                                      text.n - mark, err, &list, &found);
    rlf_buf_free(&text);
    if (status >= 0)
        status = check_tools(path, list, found.rounded, err);
    if (status >= 0) {
        size_t n = json_dumpb(list, NULL, 0, JSON_COMPACT);
        char *p;
        status = rlf_arena_try(arena, n + 1, "a list of tools", err, &p);
        if (status >= 0) {
            json_dumpb(list, p, n, JSON_COMPACT);
            p[n] = 0;
            *out = (rlf_str){p, n};
        }
    }
    json_decref(list);
    return status;
}

/* No memory, or a file that cannot be read, is no fault of a template. */
static rlf_status
check_writer(const writer *w, bool named, rlf_err *err)
{
    rlf_status status = w->why.status;
    if (status >= 0 || (status == RLF_USER && !(named && !w->source.p)))
        return RLF_OK;
    *err = w->why;
    return status;
}

rlf_status
rlf_chat_open(const rlf_tokenizer *tokenizer, const char *path,
              const rlf_chat_options *options, rlf_arena *arena, rlf_err *err,
              rlf_chat_template **out)
{
    rlf_chat_template *chat = RLF_NEW(arena, rlf_chat_template);
    const char *name = options->named;
    rlf_named_templates all;
    rlf_err why = RLF_ERR_NONE;
    *out = NULL;
    *chat = (rlf_chat_template){.tokenizer = tokenizer, .day = options->day};
    if (options->tools)
        RLF_TRY(read_tools(options->tools, arena, err, &chat->tools));
    rlf_status status = rlf_tokenizer_templates(path, arena, &why, &all);
    if (status < 0 && (status != RLF_USER || name)) {
        *err = why;
        return status;
    }
    if (status < 0) {
        chat->plain = chat->tooled = (writer){.why = why};
        *out = chat;
        return RLF_OK;
    }
    if (!open_writer(&all, name, false, arena, &chat->plain))
        return RLF_OK;
    open_writer(&all, name, true, arena, &chat->tooled);
    chat->two = chat->plain.source.p != chat->tooled.source.p;
    RLF_TRY(check_writer(&chat->plain, name != NULL, err));
    RLF_TRY(check_writer(&chat->tooled, name != NULL, err));
    *out = chat;
    return RLF_OK;
}

rlf_status
rlf_chat_check(const rlf_chat_template *chat, rlf_err *err)
{
    if (chat->plain.jinja || chat->tooled.jinja)
        return RLF_OK;
    *err = chat->plain.why;
    return err->status;
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
    return has(chat->plain.source, "strftime_now") ||
           has(chat->tooled.source, "strftime_now");
}

bool
rlf_chat_shows_tools(const rlf_chat_template *chat)
{
    return has(chat->tooled.source, "tools");
}

rlf_digest
rlf_chat_digest(const rlf_chat_template *chat)
{
    rlf_digest digest =
        rlf_digest_of(chat->plain.source.p, chat->plain.source.n);
    if (chat->two)
        digest = rlf_digest_add(digest, chat->tooled.source.p,
                                chat->tooled.source.n);
    if (chat->tools.n)
        digest = rlf_digest_add(digest, chat->tools.p, chat->tools.n);
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

/* The tools that a prompt is written with; n 0: none. */
static rlf_str
tools_of(const rlf_chat_template *chat, const rlf_prompt *prompt)
{
    return prompt->tools.n ? prompt->tools : chat->tools;
}

static const writer *
writer_of(const rlf_chat_template *chat, const rlf_prompt *prompt)
{
    return tools_of(chat, prompt).n ? &chat->tooled : &chat->plain;
}

/* A new reference, of null where there are none; NULL: no memory. */
static json_t *
make_tools(rlf_str text)
{
    json_error_t where;
    bool missing;
    return text.n ? rlf_json_decode(text.p, text.n, 0, &where, &missing)
                  : json_null();
}

static json_t *
variables_of(const rlf_chat_template *chat, const rlf_prompt *prompt, bool open)
{
    json_t *all = json_object(), *list = json_array(),
           *tools = make_tools(tools_of(chat, prompt));
    size_t n_named, n = prompt->n_messages;
    const rlf_named_token *named =
        rlf_tokenizer_named(chat->tokenizer, &n_named);
    for (size_t i = 0; i < n_named; i++)
        json_object_set_new(all, named[i].name, json_string(named[i].token));
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, message_of(&prompt->messages[i]));
    bool whole = json_array_size(list) == n && tools;
    json_object_set_new(all, "messages", list);
    json_object_set_new(all, "tools", tools);
    json_object_set_new(all, "documents", json_null());
    json_object_set_new(all, "add_generation_prompt", json_boolean(open));
    if (whole)
        return all;
    json_decref(all);
    return NULL;
}

/* With `open` what begins the assistant's next turn follows. */
static rlf_status
render(const rlf_chat_template *chat, const rlf_prompt *prompt, bool open,
       rlf_arena *scratch, rlf_err *err, rlf_jinja_output *out)
{
    const writer *w = writer_of(chat, prompt);
    if (!w->jinja) {
        *err = w->why;
        return w->why.status;
    }
    const int day = (int)chat->day;
    const rlf_jinja_options options = {.now = {.year = day / 10000,
                                               .month = day / 100 % 100,
                                               .day = day % 100}};
    json_t *variables = variables_of(chat, prompt, open);
    if (!variables)
        return rlf_fail_memory(err, prompt->n_messages, "%s", what);
    rlf_status status =
        rlf_jinja_render(w->jinja, variables, &options, scratch, err, out);
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
rlf_chat_write(const rlf_chat_template *chat, const rlf_prompt *prompt,
               rlf_arena *pool, rlf_err *err, rlf_str *out)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_jinja_output text;
    rlf_status status = render(chat, prompt, true, scratch, err, &text);
    if (status >= 0)
        status = keep(text.text, pool, err, out);
    rlf_arena_free(scratch);
    return status;
}

bool
rlf_chat_generates(const rlf_chat_template *chat, const rlf_prompt *prompt)
{
    const writer *w = writer_of(chat, prompt);
    return w->jinja && rlf_jinja_generates(w->jinja);
}

static rlf_status
keep_spans(const writer *w, const rlf_jinja_output *text, rlf_arena *pool,
           rlf_err *err, rlf_chat_span **out)
{
    RLF_TRY(rlf_arena_try(pool, (text->n_spans + 1) * sizeof **out, what, err,
                          out));
    for (size_t i = 0; i < text->n_spans; i++) {
        const rlf_jinja_span *span = &text->spans[i];
        if (!span->placed) {
            rlf_fail(err, RLF_USER,
                     "%s: a {%% generation %%} block%s%s is within a macro or "
                     "another block, so its place in the text is not known",
                     w->file, w->part ? " of " : "", w->part ? w->part : "");
            rlf_err_hint(err, "write it where the messages are written one "
                              "after the other");
            return RLF_USER;
        }
        (*out)[i] = (rlf_chat_span){span->from, span->to};
    }
    return RLF_OK;
}

rlf_status
rlf_chat_converse(const rlf_chat_template *chat, const rlf_prompt *prompt,
                  rlf_arena *pool, rlf_err *err, rlf_str *out,
                  rlf_chat_span **spans, size_t *n_spans)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_jinja_output text = {0};
    rlf_status status = render(chat, prompt, false, scratch, err, &text);
    if (status >= 0)
        status = keep(text.text, pool, err, out);
    if (status >= 0)
        status = keep_spans(writer_of(chat, prompt), &text, pool, err, spans);
    *n_spans = text.n_spans;
    rlf_arena_free(scratch);
    return status;
}
