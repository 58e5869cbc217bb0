/* Texts and chats as models read them: their tokens, and tokens as texts, by a
 * tokenizer of files. What is asked goes through the functions that write the
 * prompts of programs. */
#include "engine/api/session.h"
#include "engine/api/rundir/rundir.h"

#include "engine/base/vec.h"
#include "engine/dev/cores.h"
#include "engine/dev/team.h"
#include "engine/io/hub.h"
#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "nodes/rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* The tokenizer that was asked last, with what it gave. */
struct rlf_inspected_text {
    rlf_arena *arena; /* of the tokenizer's path and template */
    rlf_arena *pool;  /* of the answer */
    const char *path;
    rlf_tokenizer *tokenizer;
    rlf_chat_template *chat; /* NULL: it has none */
    RLF_VEC(rlf_token) tokens;
    rlf_tokens reading;
    rlf_arena **pools; /* of several texts, a thread each */
    int n_pools;
};

static void
forget(struct rlf_inspected_text *l)
{
    rlf_tokenizer_close(l->tokenizer);
    rlf_arena_free(l->arena);
    l->tokenizer = NULL;
    l->chat = NULL;
    l->arena = NULL;
    l->path = NULL;
}

static void
free_pools(struct rlf_inspected_text *l)
{
    for (int i = 0; i < l->n_pools; i++)
        rlf_arena_free(l->pools[i]);
    free(l->pools);
    l->pools = NULL;
    l->n_pools = 0;
}

void
rlf_inspected_text_close(struct rlf_inspected_text *l)
{
    if (!l)
        return;
    forget(l);
    free_pools(l);
    rlf_arena_free(l->pool);
    RLF_VEC_FREE(&l->tokens);
    free(l);
}

/* The tokenizer at `path`, opened if it is not the one of before. */
static rlf_status
open_tokenizer(rlf_session *s, const char *path, rlf_err *err,
               struct rlf_inspected_text **out)
{
    struct rlf_inspected_text *l = *out = s->calls.inspected_text;
    if (!l) {
        l = *out = s->calls.inspected_text = rlf_calloc(1, sizeof *l);
        l->pool = rlf_arena_new();
    }
    rlf_arena_reset(l->pool);
    l->tokens.count = 0;
    if (l->path && strcmp(l->path, path) == 0)
        return RLF_OK;
    forget(l);
    l->arena = rlf_arena_new();
    path = rlf_arena_strdup(l->arena, path);
    const char *dir = rlf_hub_path(path, path, l->arena);
    const rlf_chat_options options = {.day = rlf_record_day(s),
                                      .named = s->options.template_name};
    RLF_TRY(rlf_tokenizer_open(dir, err, &l->tokenizer));
    RLF_TRY(
        rlf_chat_open(l->tokenizer, dir, &options, l->arena, err, &l->chat));
    l->path = path;
    return RLF_OK;
}

rlf_status
rlf_inspected_text_open(rlf_session *s, const char *path, rlf_err *err)
{
    struct rlf_inspected_text *l;
    return open_tokenizer(s, path, err, &l);
}

rlf_status
rlf_inspected_chat_open(rlf_session *s, const char *path, rlf_err *err)
{
    struct rlf_inspected_text *l;
    RLF_TRY(open_tokenizer(s, path, err, &l));
    if (l->chat)
        return rlf_chat_check(l->chat, err);
    rlf_fail(err, RLF_USER, "the tokenizer of %s has no chat template", path);
    rlf_err_hint(err, "a template is the file chat_template.jinja, or "
                      "chat_template of tokenizer_config.json");
    return RLF_USER;
}

const rlf_tokenizer *
rlf_inspected_tokenizer(const rlf_session *s)
{
    return s->calls.inspected_text->tokenizer;
}

static void
put_token(const rlf_tokenizer *tokenizer, uint32_t id, rlf_token *out)
{
    rlf_str piece = rlf_tokenizer_piece(tokenizer, id);
    *out = (rlf_token){.id = (int32_t)id,
                       .special = rlf_tokenizer_special(tokenizer, id),
                       .text = piece.p ? piece.p : "",
                       .n = piece.n};
}

static rlf_status
add_tokens(struct rlf_inspected_text *l, const uint32_t *ids, size_t n,
           rlf_err *err)
{
    RLF_TRY_ROOM(&l->tokens, n + 1, "the tokens of a text");
    for (size_t i = 0; i < n; i++) {
        rlf_token token;
        put_token(l->tokenizer, ids[i], &token);
        RLF_PUSH(&l->tokens, token);
    }
    return RLF_OK;
}

static const rlf_tokens *
answer(struct rlf_inspected_text *l, rlf_str text)
{
    l->reading = (rlf_tokens){.text = text.p,
                              .n = text.n,
                              .tokens = l->tokens.data,
                              .count = l->tokens.count};
    return &l->reading;
}

/* As a program's model reads it, whose name is that of the tokenizer. */
static rlf_status
read_prompt(struct rlf_inspected_text *l, rlf_prompt *prompt, rlf_err *err)
{
    const rlf_env env = {.pool = l->pool};
    const rlf_reader reader = {
        .model = l->path, .tokenizer = l->tokenizer, .own = l->chat, .eos = -1};
    RLF_TRY(rlf_rows_encode(&env, &reader, prompt, err));
    return add_tokens(l, prompt->ids, prompt->n_ids, err);
}

const rlf_tokens *
rlf_session_tokenize(rlf_session *s, const char *path, const char *text,
                     size_t n)
{
    RLF_IN_LOCALE(s);
    struct rlf_inspected_text *l;
    rlf_prompt prompt = {.text = {text, n}};
    if (!rlf_call_begins(s, __func__,
                         RLF_POINTERS({"path", path}, {"text", text})) ||
        open_tokenizer(s, path, &s->err, &l) < 0 ||
        read_prompt(l, &prompt, &s->err) < 0)
        return NULL;
    char *own = rlf_arena_strndup(l->pool, text, n);
    return answer(l, (rlf_str){own, n});
}

/* ---- several texts ---- */

typedef struct several {
    const struct rlf_inspected_text *looked;
    const char *const *texts;
    const size_t *n;
    rlf_tokens *out;
    rlf_claim claim;
    _Atomic size_t failed; /* the first such text, or how many there are */
    pthread_mutex_t lock;
    rlf_err err; /* of that */
} several;

static rlf_status
read_one(const several *s, size_t i, rlf_arena *pool, rlf_err *err)
{
    const struct rlf_inspected_text *l = s->looked;
    const rlf_env env = {.pool = pool};
    const rlf_reader reader = {
        .model = l->path, .tokenizer = l->tokenizer, .eos = -1};
    rlf_prompt prompt = {.text = {s->texts[i], s->n[i]}};
    rlf_token *tokens;
    RLF_TRY(rlf_rows_encode(&env, &reader, &prompt, err));
    RLF_TRY(rlf_arena_try(pool, (prompt.n_ids + 1) * sizeof *tokens,
                          "the tokens of texts", err, &tokens));
    for (uint32_t k = 0; k < prompt.n_ids; k++)
        put_token(l->tokenizer, prompt.ids[k], &tokens[k]);
    s->out[i] = (rlf_tokens){.text = s->texts[i],
                             .n = s->n[i],
                             .tokens = tokens,
                             .count = prompt.n_ids};
    return RLF_OK;
}

/* Texts are taken in their order, so none before one that fails is left out. */
static void
read_some(void *arg, int thread, int n_threads)
{
    enum { GRAIN = 16 };
    several *s = arg;
    int64_t first, last;
    (void)n_threads;
    while (rlf_claim_take(&s->claim, GRAIN, &first, &last))
        for (size_t i = (size_t)first; i < (size_t)last; i++) {
            rlf_err err = RLF_ERR_NONE;
            if (i > atomic_load(&s->failed))
                break;
            if (read_one(s, i, s->looked->pools[thread], &err) >= 0)
                continue;
            pthread_mutex_lock(&s->lock);
            if (i < atomic_load(&s->failed)) {
                atomic_store(&s->failed, i);
                s->err = err;
            }
            pthread_mutex_unlock(&s->lock);
        }
}

static void
make_pools(struct rlf_inspected_text *l, int n)
{
    free_pools(l);
    l->pools = rlf_calloc((size_t)n, sizeof *l->pools);
    for (; l->n_pools < n; l->n_pools++)
        l->pools[l->n_pools] = rlf_arena_new();
}

/* Without one of them the session has failed. */
static bool
has_texts(rlf_session *s, const char *const *texts, const size_t *n,
          size_t count)
{
    size_t i = 0;
    while (texts && n && i < count && texts[i])
        i++;
    if (i < count)
        rlf_call_refuse(s, "rlf_session_tokenize_all: %s is NULL",
                        !texts ? "texts"
                        : !n   ? "n"
                               : rlf_arena_printf(s->arena, "texts[%zu]", i));
    return i == count;
}

const rlf_tokens *
rlf_session_tokenize_all(rlf_session *s, const char *path,
                         const char *const *texts, const size_t *n,
                         size_t count, size_t *done)
{
    RLF_IN_LOCALE(s);
    struct rlf_inspected_text *l;
    rlf_team *team = NULL;
    rlf_tokens *out;
    if (done)
        *done = 0;
    if (!rlf_call_begins(s, __func__,
                         RLF_POINTERS({"path", path}, {"done", done})) ||
        !has_texts(s, texts, n, count) ||
        open_tokenizer(s, path, &s->err, &l) < 0 ||
        rlf_arena_try(l->pool, (count + 1) * sizeof *out, "texts", &s->err,
                      &out) < 0)
        return NULL;
    int cores = count ? rlf_cores_count() : 1;
    rlf_err why = RLF_ERR_NONE; /* fewer threads do */
    if (cores > 1 && rlf_team_new(cores, cores, &team, &why) < 0)
        team = NULL;
    several all = {.looked = l,
                   .texts = texts,
                   .n = n,
                   .out = out,
                   .claim = rlf_claim_of((int64_t)count),
                   .failed = count,
                   .err = RLF_ERR_NONE};
    pthread_mutex_init(&all.lock, NULL);
    make_pools(l, team ? cores : 1);
    if (team)
        rlf_team_run(team, read_some, &all);
    else
        read_some(&all, 0, 1);
    rlf_team_free(team);
    pthread_mutex_destroy(&all.lock);
    *done = atomic_load(&all.failed);
    if (*done < count)
        s->err = all.err;
    return out;
}

/* ---- chats ---- */

static rlf_str
keep(rlf_arena *pool, const json_t *text)
{
    size_t n = json_string_length(text);
    const char *p = n ? json_string_value(text) : "";
    return (rlf_str){rlf_arena_strndup(pool, p, n), n};
}

/* One of the messages. */
static rlf_status
read_message(const json_t *item, size_t i, rlf_arena *pool, rlf_err *err,
             rlf_message *out)
{
    const json_t *role = json_object_get(item, "role"),
                 *content = json_object_get(item, "content");
    if (!json_is_string(role)) {
        rlf_fail(err, RLF_USER, "message %zu of the chat %s", i + 1,
                 json_is_object(item) ? "has no role that is a text"
                                      : "is no object");
        rlf_err_hint(err, "a message is {\"role\": \"user\", \"content\": "
                          "\"...\"}");
        return RLF_USER;
    }
    *out =
        (rlf_message){.role = keep(pool, role), .content = keep(pool, content)};
    if (json_object_size(item) == 2 && json_is_string(content))
        return RLF_OK;
    size_t n = json_dumpb(item, NULL, 0, JSON_COMPACT);
    char *p;
    RLF_TRY(rlf_arena_try(pool, n + 1, "a message of a chat", err, &p));
    json_dumpb(item, p, n, JSON_COMPACT);
    out->json = (rlf_str){p, n};
    return RLF_OK;
}

/* The tools that stand beside the messages: a list, null or nothing. */
static rlf_status
read_tools(const json_t *all, rlf_arena *pool, rlf_err *err, rlf_str *out)
{
    const json_t *list =
        json_is_object(all) ? json_object_get(all, "tools") : NULL;
    bool good = json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++)
        good &= json_is_object(json_array_get(list, i));
    if (!list || json_is_null(list))
        return RLF_OK;
    if (!good)
        return rlf_fail(err, RLF_USER,
                        "the \"tools\" of the chat are no list of objects");
    size_t n = json_dumpb(list, NULL, 0, JSON_COMPACT);
    char *p;
    RLF_TRY(rlf_arena_try(pool, n + 1, "the tools of a chat", err, &p));
    json_dumpb(list, p, n, JSON_COMPACT);
    *out = (rlf_str){p, n};
    return RLF_OK;
}

/* A list of messages, or an object that has one, and tools. */
static rlf_status
read_messages(const char *text, size_t n, rlf_arena *pool, rlf_err *err,
              rlf_prompt *out)
{
    rlf_json_found found;
    json_t *all = NULL;
    RLF_TRY(rlf_json_parse_exact("the chat", 1, text, n, err, &all, &found));
    const json_t *list =
        json_is_object(all) ? json_object_get(all, "messages") : all;
    size_t count = json_array_size(list);
    rlf_message *messages = NULL;
    rlf_status status = RLF_OK;
    if (*found.why) {
        status = rlf_fail(err, RLF_USER, "the chat: %s", found.why);
    } else if (found.rounded && rlf_json_has_whole(all)) {
        status = rlf_fail(err, RLF_USER,
                          "the chat: an integer has more than 64 bits, and "
                          "would be rounded");
        rlf_err_hint(err, "write it in quotes, as a text");
    } else if (!count) {
        status = rlf_fail(err, RLF_USER, "the chat is no list of messages");
        rlf_err_hint(err, "it is [{\"role\": \"user\", \"content\": "
                          "\"...\"}, ...], or an object whose \"messages\" "
                          "are that");
    } else {
        status = rlf_arena_try(pool, count * sizeof *messages,
                               "the messages of a chat", err, &messages);
    }
    for (size_t i = 0; i < count && status >= 0; i++)
        status =
            read_message(json_array_get(list, i), i, pool, err, &messages[i]);
    if (status >= 0)
        status = read_tools(all, pool, err, &out->tools);
    json_decref(all);
    RLF_TRY(status);
    if (rlf_str_eq(messages[count - 1].role, RLF_STR("assistant"))) {
        rlf_fail(err, RLF_USER,
                 "the chat ends with the answer of the assistant, which would "
                 "be a part of the prompt");
        rlf_err_hint(err, "leave out its last message: the model writes it");
        return RLF_USER;
    }
    out->messages = messages;
    out->n_messages = (uint32_t)count;
    return RLF_OK;
}

const rlf_tokens *
rlf_session_chat(rlf_session *s, const char *path, const char *messages,
                 size_t n)
{
    RLF_IN_LOCALE(s);
    rlf_prompt prompt = {0};
    if (!rlf_call_begins(s, __func__, RLF_POINTERS({"path", path})) ||
        rlf_inspected_chat_open(s, path, &s->err) < 0)
        return NULL;
    struct rlf_inspected_text *l = s->calls.inspected_text;
    if (!messages)
        return answer(l, RLF_STR(""));
    if (read_messages(messages, n, l->pool, &s->err, &prompt) < 0 ||
        read_prompt(l, &prompt, &s->err) < 0)
        return NULL;
    return answer(l, prompt.text);
}

/* ---- back ---- */

const rlf_tokens *
rlf_session_detokenize(rlf_session *s, const char *path, const int32_t *ids,
                       size_t n)
{
    RLF_IN_LOCALE(s);
    struct rlf_inspected_text *l;
    if (!rlf_call_begins(
            s, __func__,
            RLF_POINTERS({"path", path}, {"ids", n ? (const void *)ids : s})) ||
        open_tokenizer(s, path, &s->err, &l) < 0)
        return NULL;
    const uint32_t *all = (const uint32_t *)ids,
                   most = rlf_tokenizer_vocab(l->tokenizer);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= 0 && (rlf_tokenizer_piece(l->tokenizer, all[i]).n ||
                            rlf_tokenizer_special(l->tokenizer, all[i])))
            continue;
        rlf_fail(&s->err, RLF_USER, "%d is no token of the tokenizer of %s",
                 ids[i], path);
        rlf_err_hint(&s->err, "its tokens are numbered from 0 to %u", most - 1);
        return NULL;
    }
    if (add_tokens(l, all, n, &s->err) < 0)
        return NULL;
    rlf_buf text = {0};
    rlf_tokenizer_decode(l->tokenizer, all, n, 0, &text);
    rlf_str own = {rlf_arena_strndup(l->pool, text.p ? text.p : "", text.n),
                   text.n};
    rlf_buf_free(&text);
    return answer(l, own);
}
