/* Prompts that no step may meet are found before the first one: those that a
 * model's tokenizer cannot write, that are longer than `max_prompt` or leave no
 * room in a model's context, and chats where a model has no template; and rows
 * with texts that no step may give as responses (responses.h). `on_error: drop` leaves the rows out, without it they are an error.
 *
 * A prompt's tokens are those of a model. With `drop` one that does not fit any
 * model of the program goes; else only models count that read the data. */
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "nodes/conversations.h"
#include "nodes/data.h"
#include "nodes/model_declare.h"
#include "nodes/reads.h"
#include "nodes/responses.h"
#include "nodes/rows.h"
#include "nodes/walk.h"

#include <pthread.h>

/* The reader of a model, and whether a call of it reads the data. */
typedef struct use {
    const rlf_reader *reader;
    bool reads;
} use;

static bool
same_use(const use *a, const use *b)
{
    return a->reads == b->reads && a->reader->context == b->reader->context &&
           a->reader->vocab == b->reader->vocab &&
           rlf_digest_equal(a->reader->writes, b->reader->writes);
}

/* Uses that differ, of all models. */
static uint32_t
list_uses(const rlf_env *env, int data, rlf_arena *arena, use **out)
{
    uint32_t n = 0;
    const rlf_graph *graph = env->graph;
    *out = RLF_NEW_ARRAY(arena, use, graph->resources.count);
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (!graph->resources.data[i].class->model)
            continue;
        use u = {rlf_model_reader(env->resource[i]),
                 rlf_reads_rows(graph, (int)i, data)};
        if (!u.reader->tokenizer) /* of a plan: nobody knows */
            continue;
        bool there = false;
        for (uint32_t k = 0; k < n; k++)
            there = there || same_use(&(*out)[k], &u);
        if (!there)
            (*out)[n++] = u;
    }
    return n;
}

/* A prompt of n tokens, or of so many at least. */
static rlf_status
check_length(const rlf_data *data, const use *u, uint64_t n, const char *least,
             rlf_err *err)
{
    const rlf_reader *reader = u->reader;
    if (data->max_prompt && n > data->max_prompt) {
        rlf_fail(err, RLF_USER,
                 "it has %s%llu tokens, more than max_prompt: %u", least,
                 (unsigned long long)n, data->max_prompt);
        rlf_err_hint(err,
                     "shorten it, or raise max_prompt of '%s', or leave such "
                     "rows out: on_error: drop",
                     data->name);
        return RLF_USER;
    }
    if (!u->reads || !reader->context || n < reader->context)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "it has %s%llu tokens, which leaves no room in the context of %u "
             "that model '%s' was made for",
             least, (unsigned long long)n, reader->context, reader->model);
    rlf_err_hint(err, "leave such rows out: on_error: drop, or take a model "
                      "with a longer context");
    return RLF_USER;
}

/* RLF_USER with the reason if a step could not use the row's prompt. For a
 * model that does not read it only max_prompt counts. *tokens are those of the
 * prompt, 0 if the model does not write it. */
static rlf_status
fits(const rlf_env *env, const rlf_data *data, uint32_t row, const use *u,
     rlf_err *err, uint32_t *tokens)
{
    *tokens = 0;
    const rlf_reader *reader = u->reader;
    rlf_prompt prompt = {0};
    RLF_TRY(rlf_data_prompt(data, row, env->pool, err, &prompt));
    /* A model without a template reads no chat: it says so if it has to. */
    if (prompt.n_messages && !rlf_reader_has_template(reader))
        return RLF_OK;
    rlf_err why = RLF_ERR_NONE;
    uint64_t least = 0;
    if (!prompt.n_messages)
        RLF_TRY(rlf_rows_least(reader, prompt.text, err, &least));
    RLF_TRY(check_length(data, u, least, "at least ", err));
    rlf_status status = rlf_rows_encode(env, reader, &prompt, &why);
    if (status < 0) {
        *err = why;
        return !u->reads && status == RLF_USER ? RLF_OK : status;
    }
    *tokens = prompt.n_ids;
    if (u->reads)
        RLF_TRY(rlf_rows_some(reader, &prompt, err));
    return check_length(data, u, prompt.n_ids, "", err);
}

/* The same, with the place of the row. */
static rlf_status
fits_or_say(const rlf_env *env, const rlf_data *data, uint32_t row,
            const use *u, rlf_err *err, uint32_t *tokens)
{
    rlf_err why = RLF_ERR_NONE;
    rlf_status status = fits(env, data, row, u, &why, tokens);
    if (status >= 0)
        return status;
    rlf_fail(err, status, "prompt %s: %s", rlf_data_place(data, row, env->pool),
             why.sentence);
    rlf_err_hint(err, "%s", why.hint);
    rlf_err_detail(err, "%s", why.detail);
    return status;
}

/* The uses of rows by calls, besides prompts. */
typedef struct given {
    rlf_response_uses responses;
    rlf_conversation_uses turns;
} given;

/* RLF_USER, naming the row, if no step could use it. */
static rlf_status
row_fits(const rlf_env *env, const rlf_data *data, uint32_t row,
         const use *uses, uint32_t n_uses, const given *by, rlf_err *err)
{
    uint32_t tokens;
    bool ends = true; /* nobody asks */
    for (uint32_t k = 0; data->prompt && k < n_uses; k++)
        RLF_TRY(fits_or_say(env, data, row, &uses[k], err, &tokens));
    RLF_TRY(rlf_conversations_fit(env, data, row, &by->turns, err, &ends));
    return rlf_responses_fit(env, data, row, &by->responses, err);
}

/* The choice of the rows that stay. */
typedef struct choosing {
    const rlf_data *data;
    const use *uses;
    uint32_t n_uses;
    const given *by;
    uint32_t *keep; /* per row: does it stay? */
} choosing;

static rlf_status
choose_row(const rlf_env *env, void *arg, uint32_t row, rlf_err *err)
{
    const choosing *c = arg;
    rlf_status status =
        row_fits(env, c->data, row, c->uses, c->n_uses, c->by, err);
    c->keep[row] = status >= 0;
    return status == RLF_USER ? RLF_OK : status;
}

static rlf_status
choose(const rlf_env *env, int index, rlf_data *data, const given *by,
       uint32_t *keep, uint32_t *n, rlf_err *err)
{
    use *uses = NULL;
    uint32_t rows = (uint32_t)data->records.count;
    choosing c = {.data = data, .by = by, .keep = keep};
    if (!data->conversations)
        c.n_uses = list_uses(env, index, data->arena, &uses);
    c.uses = uses;
    RLF_TRY(rlf_walk_rows(env, rows, choose_row, &c, err));
    for (uint32_t i = 0; i < rows; i++) {
        rlf_err why = RLF_ERR_NONE;
        if (keep[i]) {
            keep[(*n)++] = i;
        } else if (!data->why) {
            row_fits(env, data, i, uses, c.n_uses, by, &why);
            data->why = rlf_arena_strdup(data->arena, why.sentence);
        }
    }
    return RLF_OK;
}

/* A chat for a model without a template. */
static rlf_status
fail_chat(const rlf_env *env, const rlf_data *data, const rlf_reader *reader,
          rlf_prompt *prompt, rlf_err *err)
{
    const rlf_arg *made = data->chats;
    if (!made)
        return rlf_rows_encode(env, reader, prompt, err);
    rlf_fail(err, RLF_USER,
             "%s: makes chats of the prompts of '%s', which are texts, but "
             "model '%s' has no template",
             made->name, data->name, reader->model);
    rlf_err_hint(err,
                 "leave %s: out, and the texts are read as they are; or give "
                 "the model a template: lm(..., template: "
                 "\"std/template/chatml.lua\"), or llama3.lua, or a file of "
                 "your own",
                 made->name);
    return rlf_arg_blame(made, RLF_USER, err);
}

/* All rows, by one model. */
typedef struct checking {
    const rlf_data *data;
    use use;
    pthread_mutex_t lock;
    rlf_longest *longest;
} checking;

/* Of rows that are as long the first is the longest. */
static void
note_length(checking *c, uint32_t row, uint32_t tokens)
{
    rlf_longest *longest = c->longest;
    pthread_mutex_lock(&c->lock);
    if (tokens > longest->tokens ||
        (tokens && tokens == longest->tokens && row < longest->row)) {
        longest->tokens = tokens;
        longest->row = row;
    }
    pthread_mutex_unlock(&c->lock);
}

static rlf_status
check_row(const rlf_env *env, void *arg, uint32_t row, rlf_err *err)
{
    checking *c = arg;
    rlf_prompt prompt = {0};
    uint32_t tokens;
    RLF_TRY(rlf_data_prompt(c->data, row, env->pool, err, &prompt));
    if (prompt.n_messages && !rlf_reader_has_template(c->use.reader))
        return fail_chat(env, c->data, c->use.reader, &prompt, err);
    if (prompt.n_messages && c->use.reader->own && !c->use.reader->template)
        RLF_TRY(rlf_chat_check(c->use.reader->own, err));
    RLF_TRY(fits_or_say(env, c->data, row, &c->use, err, &tokens));
    note_length(c, row, tokens);
    return RLF_OK;
}

/* Those that are dropped are gone. */
static rlf_status
check_rows(const rlf_env *env, const rlf_data *data, const rlf_reader *reader,
           rlf_err *err, rlf_longest *longest)
{
    checking c = {.data = data, .use = {reader, true}, .longest = longest};
    pthread_mutex_init(&c.lock, NULL);
    rlf_status status =
        rlf_walk_rows(env, (uint32_t)data->records.count, check_row, &c, err);
    pthread_mutex_destroy(&c.lock);
    return status;
}

/* Of texts that nothing says to be texts (chat: false):
 * a template writes chats. One that is declared for a model that reads none may
 * be thought to write texts, too, as may that of its tokenizer. */
static void
warn_template(const rlf_env *env, int model, const rlf_data *data, rlf_buf *out)
{
    const rlf_reader *reader = rlf_model_reader(env->resource[model]);
    if (!rlf_reader_has_template(reader) || rlf_reads_chats(env, model))
        return;
    if (rlf_declared(&env->graph->resources.data[model], "template"))
        rlf_buf_printf(out, "warning: template: of '%s' writes chats, and",
                       reader->model);
    else
        rlf_buf_printf(out,
                       "warning: the tokenizer of '%s' has a chat template, "
                       "but",
                       reader->model);
    rlf_buf_printf(out,
                   " the prompts of '%s' are texts, which are read as they are "
                   "(chat: true, or system:, makes chats of them)\n",
                   data->name);
}

/* Tools that the template for chats with some does not write. */
static void
warn_tools(const rlf_reader *reader, const rlf_data *data, rlf_buf *out)
{
    if (data->tools && reader->own && !rlf_chat_shows_tools(reader->own))
        rlf_buf_printf(out,
                       "warning: %s: tools: has no effect on '%s', whose "
                       "template does not read tools\n",
                       data->name, reader->model);
}

/* Texts that say nothing, all of them: a field of that name may be another one.
 */
static rlf_status
warn_empty(const rlf_env *env, const rlf_data *data, const rlf_reader *reader,
           rlf_err *err, rlf_buf *out)
{
    for (uint32_t i = 0; i < data->records.count; i++) {
        rlf_prompt prompt = {0};
        RLF_TRY(rlf_data_prompt(data, i, env->pool, err, &prompt));
        if (prompt.n_messages || prompt.text.n)
            return RLF_OK;
        rlf_data_rest(env->pool);
    }
    rlf_buf_printf(out,
                   "warning: %s: the prompts of all rows are empty, and '%s' "
                   "reads them (prompt: \"%s\" may be another field)\n",
                   data->name, reader->model, data->prompt->field);
    return RLF_OK;
}

static rlf_status
check_prompts(const rlf_env *env, int index, rlf_data *data, rlf_err *err)
{
    const rlf_graph *graph = env->graph;
    bool asked = false; /* whether all of them are empty */
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (!graph->resources.data[i].class->model ||
            !rlf_reads_rows(graph, (int)i, index) ||
            !rlf_model_reader(env->resource[i])->tokenizer)
            continue;
        rlf_longest longest = {.data = index, .model = (int)i};
        const rlf_reader *reader = rlf_model_reader(env->resource[i]);
        RLF_TRY(check_rows(env, data, reader, err, &longest));
        RLF_TRY(
            rlf_reads_warn_markers(env, reader, data, err, &data->warnings));
        rlf_reads_warn_long(env, &longest, &data->warnings);
        warn_tools(reader, data, &data->warnings);
        if (!asked)
            RLF_TRY(warn_empty(env, data, reader, err, &data->warnings));
        asked = true;
        if (data->prompt->kind != RLF_RECORD_CHAT &&
            !rlf_declared(&graph->resources.data[index], "chat"))
            warn_template(env, (int)i, data, &data->warnings);
    }
    rlf_reads_warn_bound(env, index, &data->warnings);
    return RLF_OK;
}

/* Rows without a prompt: what a response follows is what the tokenizer puts
 * before a text. */
static rlf_status
check_begin(const rlf_env *env, int index, const rlf_data *data, rlf_err *err)
{
    const rlf_graph *graph = env->graph;
    for (size_t i = 0; i < graph->resources.count; i++) {
        rlf_prompt none = {.text = {"", 0}};
        if (!graph->resources.data[i].class->model ||
            !rlf_reads_rows(graph, (int)i, index) ||
            !rlf_model_reader(env->resource[i])->tokenizer)
            continue;
        const rlf_reader *reader = rlf_model_reader(env->resource[i]);
        RLF_TRY(rlf_rows_encode(env, reader, &none, err));
        if (none.n_ids)
            continue;
        rlf_fail(err, RLF_USER,
                 "the rows of '%s' have no prompt, and the tokenizer of '%s' "
                 "puts no token before a text: the first token of a response "
                 "would follow nothing",
                 data->name, reader->model);
        rlf_err_hint(err, "give them one by prompt:, a field that holds the "
                          "token that ends a text, or the first words of it");
        return RLF_USER;
    }
    return RLF_OK;
}

typedef struct responding {
    const rlf_data *data;
    rlf_response_uses uses;
} responding;

static rlf_status
check_response(const rlf_env *env, void *arg, uint32_t row, rlf_err *err)
{
    const responding *r = arg;
    return rlf_responses_fit(env, r->data, row, &r->uses, err);
}

static rlf_status
check_responses(const rlf_env *env, int index, const rlf_data *data,
                rlf_err *err)
{
    responding r = {.data = data};
    rlf_status status = RLF_OK;
    rlf_responses_list(env, index, data, false, &r.uses);
    if (r.uses.count)
        status = rlf_walk_rows(env, (uint32_t)data->records.count,
                               check_response, &r, err);
    RLF_VEC_FREE(&r.uses);
    return status;
}

rlf_status
rlf_data_check(const rlf_env *env, int index, rlf_data *data, rlf_err *err)
{
    rlf_env own = *env;
    rlf_status status = RLF_OK;
    own.pool = rlf_arena_new();
    if (!data->n_members)
        status = rlf_conversations_check(&own, index, data, err);
    if (status >= 0 && !data->n_members)
        status = data->conversations
                     ? rlf_conversations_check_rows(&own, index, data, err)
                 : data->prompt ? check_prompts(&own, index, data, err)
                                : check_begin(&own, index, data, err);
    if (status >= 0)
        status = check_responses(&own, index, data, err);
    rlf_arena_free(own.pool);
    return status;
}

rlf_status
rlf_data_drop(const rlf_env *env, int index, rlf_data *data, rlf_err *err)
{
    uint32_t rows = (uint32_t)data->records.count, n = 0;
    given by = {0};
    rlf_responses_list(env, index, data, true, &by.responses);
    if (data->conversations)
        rlf_conversations_list(env, index, &by.turns);
    if (!data->prompt && !by.responses.count)
        return RLF_OK;
    uint32_t *keep = rlf_try_malloc(sizeof *keep * rows);
    rlf_env own = *env;
    own.pool = rlf_arena_new();
    rlf_status status =
        keep ? choose(&own, index, data, &by, keep, &n, err)
             : rlf_fail_memory(err, sizeof *keep * rows, "rows of data");
    rlf_arena_free(own.pool);
    RLF_VEC_FREE(&by.responses);
    RLF_VEC_FREE(&by.turns);
    data->dropped = rows - n;
    if (status >= 0 && n && n < rows)
        status = rlf_data_keep(data, keep, n, err);
    free(keep);
    RLF_TRY(status);
    if (!n) {
        rlf_fail(err, RLF_USER,
                 "none of the %u rows of '%s' can be used; the first is "
                 "dropped because %s",
                 rows, data->name, data->why);
        rlf_err_hint(err, "on_error: drop leaves out rows that no step could "
                          "use, and all are such rows");
        return RLF_USER;
    }
    return RLF_OK;
}
