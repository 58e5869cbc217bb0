/* Answers of a model, without a program: the prompts that wait, the model, the
 * responses as they come.
 *
 * The sampler is that of programs (nodes/model/generate.h), with the key that
 * `m.generate(prompts, ...)` has in a program that only reports: so answers
 * have the bits of its samples. One rank has the whole model, on a device of
 * its own. */
#include "engine/api/session.h"

#include "engine/base/vec.h"
#include "engine/io/hub.h"
#include "engine/io/records.h"
#include "engine/io/shards.h"
#include "engine/text/detokenizer.h"
#include "kernels/backend.h"
#include "nodes/model/adapter.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/generate.h"
#include "nodes/model/origin.h"
#include "nodes/model/weights.h"
#include "nodes/model/buffers.h"
#include "nodes/rows.h"

#include <math.h>
#include <string.h>

enum {
    MOST_ACTIVE = RLF_CAP_ACTIVE,
    LONGEST = 4096 /* tokens that there is room for, if nobody needs more */
};
/* Of the first call of a program that only metrics want: of the flow
 * `a = m.generate(d, ...)  report ...`. */
#define SITE RLF_SITE_LOOKING

typedef struct asked {
    rlf_str text;
    uint32_t *ids;
    uint32_t n;
} asked;

/* A response on its way. */
typedef struct reply {
    rlf_answer answer;
    rlf_buf text;
    rlf_detokenizer detokenizer;
    uint32_t seen; /* tokens that are in its text */
} reply;

struct rlf_answering {
    rlf_arena *arena; /* of the model and its path */
    rlf_arena *pool;  /* of prompts and answers: until the next are asked */
    const char *path;
    const char *lora; /* the directory of its adapter, or NULL */
    const char *name, *adapter; /* both as they were asked for; NULL: none */
    rlf_model_config *config;
    rlf_device *device;
    rlf_queue *queue;
    rlf_model *model;
    uint32_t longest; /* that it has room for */
    RLF_VEC(asked) asked;
    RLF_VEC(reply) replies;
    bool told;     /* those that wait were answered: the next begin anew */
    bool runs;     /* they are being answered */
    uint32_t step; /* how often was answered */
};

/* ---- options ---- */

static rlf_status
read_number(const char *name, const char *text, double least, double most,
            rlf_err *err, double *out)
{
    const char *end;
    double x = rlf_str_number(text, &end);
    if (*end || !(x >= least && x <= most))
        return rlf_fail(err, RLF_USAGE,
                        "%s is '%s', not a number from %g to %g", name, text,
                        least, most);
    *out = x;
    return RLF_OK;
}

rlf_status
rlf_answering_temperature(rlf_session *s, const char *text, rlf_err *err)
{
    return read_number("--temperature", text, 1e-3, 1e3, err,
                       &s->options.sampling.temperature);
}

rlf_status
rlf_answering_top_p(rlf_session *s, const char *text, rlf_err *err)
{
    return read_number("--top_p", text, 1e-9, 1, err,
                       &s->options.sampling.top_p);
}

rlf_status
rlf_answering_min_p(rlf_session *s, const char *text, rlf_err *err)
{
    return read_number("--min_p", text, 0, 1, err, &s->options.sampling.min_p);
}

/* Arguments that change nothing are refused, as in a program. */
static rlf_status
check_sampling(const rlf_session *s, rlf_err *err)
{
    static const char *const idle[] = {"--temperature", "--top_p", "--top_k",
                                       "--min_p"};
    for (size_t i = 0; i < RLF_COUNT(idle) && s->options.greedy; i++)
        if (rlf_session_given(s, idle[i]))
            return rlf_fail(err, RLF_USAGE,
                            "%s changes nothing when sampling is greedy",
                            idle[i]);
    if (s->options.each > 1 && (s->options.greedy || s->options.top_k == 1)) {
        rlf_fail(err, RLF_USAGE,
                 "all %u answers to a prompt are the same when "
                 "only the most likely token is kept",
                 s->options.each);
        rlf_err_hint(err, "leave out --n, or --greedy");
        return RLF_USAGE;
    }
    return RLF_OK;
}

/* ---- the model ---- */

static void
close_model(struct rlf_answering *a)
{
    rlf_model_free(a->model);
    rlf_queue_free(a->queue);
    if (a->device)
        rlf_device_free(a->device);
    rlf_arena_free(a->arena);
    a->arena = NULL;
    a->name = a->adapter = a->path = a->lora = NULL;
    a->model = NULL;
    a->queue = NULL;
    a->device = NULL;
}

static void
forget_answers(struct rlf_answering *a)
{
    for (size_t i = 0; i < a->replies.count; i++)
        rlf_buf_free(&a->replies.data[i].text);
    a->replies.count = a->asked.count = 0;
    a->told = false;
    rlf_arena_reset(a->pool);
}

void
rlf_answering_close(struct rlf_answering *a)
{
    if (!a)
        return;
    forget_answers(a);
    close_model(a);
    rlf_arena_free(a->pool);
    RLF_VEC_FREE(&a->asked);
    RLF_VEC_FREE(&a->replies);
    free(a);
}

static rlf_status
open_device(rlf_session *s, struct rlf_answering *a, rlf_err *err,
            const rlf_kernels **kernels)
{
    const rlf_backend *backend = rlf_session_backend(s);
    rlf_cast_type real;
    RLF_TRY(rlf_backend_real(backend, s->options.dtype, &real, err));
    RLF_TRY(rlf_backend_kernels(backend, s->options.isa, real, err, kernels));
    const rlf_backend_options options = {.n_threads = s->options.threads,
                                         .memory_limit =
                                             (size_t)s->options.memory};
    RLF_TRY(backend->open(&options, &a->device, err));
    RLF_TRY(rlf_queue_new(a->device, &a->queue, err));
    rlf_buf text = {0};
    uint32_t algorithms;
    rlf_status status =
        backend->prepare(a->queue, real, &algorithms, &s->warned.lines, err);
    if (status >= 0)
        backend->choose(a->queue, real, algorithms, &text);
    rlf_buf_free(&text);
    return status;
}

static bool
same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A head that an answer has no use for may be all that the adapter is for. */
static rlf_status
warn_score(const char *lora, rlf_err *err, rlf_buf *warnings)
{
    rlf_safetensors *file;
    RLF_TRY(rlf_adapter_tensors_open(lora, err, &file));
    if (rlf_adapter_tensors_score(file))
        rlf_buf_line(warnings,
                     "%s has a scalar head, " RLF_ADAPTER_SCORE
                     ", that was trained with the adapter: answers are by "
                     "the language head, and it is not read\n",
                     lora);
    rlf_safetensors_close(file);
    return RLF_OK;
}

static void
warn_untied(const rlf_model_config *config, const char *path, rlf_buf *warnings)
{
    if (config->untied)
        rlf_buf_line(warnings,
                     "%s: its files have an lm_head.weight that is not the "
                     "embedding, though config.json has "
                     "\"tie_word_embeddings\": true: that head is taken\n",
                     path);
}

/* Angles are those of the whole context, whatever is asked: an answer does not
 * depend on what else is. */
static void
warn_stretched(const rlf_model_config *config, const char *path,
               rlf_buf *warnings)
{
    if (rlf_rope_is_stretched(&config->rope, config->context))
        rlf_buf_line(warnings,
                     "%s: its %s rotations are stretched for its context of "
                     "%d tokens: a program whose sequences have at most %.0f "
                     "has other log-probabilities\n",
                     path, rlf_rope_kind(config->rope.kind), config->context,
                     config->rope.original);
}

/* The shape with its adapter. */
static rlf_status
read_shape(struct rlf_answering *a, const char *path, const char *lora,
           rlf_err *err, rlf_buf *warnings)
{
    if (rlf_adapter_is(path)) {
        rlf_fail(err, RLF_USER,
                 "%s: this is an adapter, and the model is another directory",
                 path);
        rlf_err_hint(err, "write rlflow generate THE_MODEL --lora %s", path);
        return RLF_USER;
    }
    RLF_TRY(rlf_model_config_read(path, a->arena, err, a->config));
    RLF_TRY(rlf_weights_tie(path, a->config, err));
    warn_untied(a->config, path, warnings);
    warn_stretched(a->config, path, warnings);
    if (!lora)
        return RLF_OK;
    RLF_TRY(rlf_adapter_config_read(lora, a->arena, err, &a->config->lora));
    RLF_TRY(rlf_adapters_check(a->config, a->arena, err));
    return warn_score(lora, err, warnings);
}

/* Opens the config of the directory as a model, without its weights. */
static rlf_status
open_config(rlf_session *s, struct rlf_answering *a, const char *path,
            rlf_err *err)
{
    const char *lora = s->options.lora;
    if (same_text(a->name, path) && same_text(a->adapter, lora))
        return RLF_OK;
    close_model(a);
    a->arena = rlf_arena_new();
    a->config = RLF_NEW(a->arena, rlf_model_config);
    path = rlf_arena_strdup(a->arena, path);
    lora = lora ? rlf_arena_strdup(a->arena, lora) : NULL;
    a->path = rlf_hub_path(path, path, a->arena);
    a->lora = lora ? rlf_hub_path(lora, lora, a->arena) : NULL;
    RLF_TRY(read_shape(a, a->path, a->lora, err, &s->warned.lines));
    a->name = path;
    a->adapter = lora;
    return RLF_OK;
}

/* The model, with room for sequences of so many tokens. */
static rlf_status
open_model(rlf_session *s, struct rlf_answering *a, uint32_t longest,
           rlf_err *err)
{
    const uint32_t context = (uint32_t)a->config->context;
    if (a->model && longest <= a->longest)
        return RLF_OK;
    longest = a->model ? 2 * longest : longest < LONGEST ? LONGEST : longest;
    a->longest = longest < context ? longest : context;
    rlf_model_free(a->model);
    a->model = NULL;
    const rlf_kernels *kernels;
    if (a->device) {
        rlf_queue_free(a->queue);
        rlf_device_free(a->device);
        a->queue = NULL;
        a->device = NULL;
    }
    RLF_TRY(open_device(s, a, err, &kernels));
    const rlf_caps caps = {.longest = a->longest,
                           .reach = context,
                           .rows[RLF_USE_GENERATE] = MOST_ACTIVE};
    rlf_model_options options = {.head = RLF_HEAD_LM,
                                 .by_layer = true,
                                 .fixed = true,
                                 .caps = &caps,
                                 .shards = 1,
                                 .lanes = 1};
    const rlf_weights_origin origin = {.dir = a->path, .adapter = a->lora};
    const rlf_model *outline;
    RLF_TRY(rlf_model_outline(kernels, a->config, &options, a->arena, err,
                              &outline));
    RLF_TRY(rlf_weights_bf16(outline->table, &origin, a->arena, err,
                             &options.bf16));
    RLF_TRY(
        rlf_model_new(a->queue, kernels, a->config, &options, err, &a->model));
    return rlf_weights_fill(a->model, &origin, err);
}

/* ---- prompts ---- */

static struct rlf_answering *
answering_of(rlf_session *s)
{
    struct rlf_answering *a = s->calls.answering;
    if (!a) {
        a = s->calls.answering = rlf_calloc(1, sizeof *a);
        a->pool = rlf_arena_new();
    }
    if (a->told)
        forget_answers(a);
    return a;
}

/* One more that waits; `name`: what messages call it. */
static rlf_status
add_prompt(struct rlf_answering *a, const rlf_tokens *read, const char *name,
           rlf_err *err)
{
    const uint32_t context = (uint32_t)a->config->context;
    if (!read->count) {
        rlf_fail(err, RLF_USER, "%s has no token", name);
        rlf_err_hint(err, "the tokenizer puts none before a text");
        return RLF_USER;
    }
    if (read->count >= context)
        return rlf_fail(
            err, RLF_USER,
            "%s has %zu tokens, which leaves no room in the context "
            "of %u that the model was made for",
            name, read->count, context);
    asked one = {.n = (uint32_t)read->count};
    RLF_TRY(rlf_arena_try(a->pool, read->count * sizeof *one.ids,
                          "the tokens of a prompt", err, &one.ids));
    for (size_t i = 0; i < read->count; i++)
        one.ids[i] = (uint32_t)read->tokens[i].id;
    RLF_TRY(rlf_arena_room(a->pool, read->n + 1, "a prompt", err));
    one.text =
        (rlf_str){rlf_arena_strndup(a->pool, read->text, read->n), read->n};
    RLF_TRY_ROOM(&a->asked, 1, "prompts");
    RLF_PUSH(&a->asked, one);
    return RLF_OK;
}

/* An error of the model itself is told before prompts are looked
 * at. */
static rlf_status
open_reader(rlf_session *s, struct rlf_answering *a, const char *model,
            bool chat, rlf_err *err)
{
    RLF_TRY(open_config(s, a, model, err));
    return chat ? rlf_inspected_chat_open(s, model, err)
                : rlf_inspected_text_open(s, model, err);
}

rlf_result
rlf_session_prompt(rlf_session *s, const char *model, const char *text,
                   size_t n, int chat)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__, RLF_POINTERS({"model", model})))
        return rlf_session_status(s);
    struct rlf_answering *a = answering_of(s);
    rlf_status status = open_reader(s, a, model, chat, &s->err);
    if (status >= 0 && text) {
        const rlf_tokens *read = chat ? rlf_session_chat(s, model, text, n)
                                      : rlf_session_tokenize(s, model, text, n);
        status = read ? add_prompt(a, read, chat ? "the chat" : "the prompt",
                                   &s->err)
                      : s->err.status;
    }
    return rlf_session_result(status);
}

static void
put_message(const char *role, rlf_str content, rlf_buf *out)
{
    rlf_buf_printf(out,
                   "%s{\"role\": \"%s\", \"content\": ", out->n > 1 ? ", " : "",
                   role);
    rlf_buf_json(out, content.p, content.n);
    rlf_buf_putc(out, '}');
}

/* The messages of a row, as JSON. */
static void
put_messages(const rlf_record_value *value, bool is_chat, const char *system,
             rlf_buf *out)
{
    rlf_buf_putc(out, '[');
    bool has = is_chat && rlf_str_eq(value->chat.messages[0].role,
                                     RLF_STR("system"));
    if (system && !has)
        put_message("system", rlf_str_of(system), out);
    if (!is_chat)
        put_message("user", value->text, out);
    for (size_t i = 0; is_chat && i < value->chat.count; i++) {
        const rlf_message *m = &value->chat.messages[i];
        if (!m->json.n) {
            put_message(m->role.p, m->content, out);
            continue;
        }
        rlf_buf_puts(out, out->n > 1 ? ", " : "");
        rlf_buf_add(out, m->json.p, m->json.n);
    }
    rlf_buf_putc(out, ']');
}

/* A row's prompt as JSON of a chat, with the tools of the row, or as text if it
 * is none. */
static bool
row_of(const rlf_record_value *value, bool is_chat, rlf_str tools,
       const char *system, bool chat, rlf_buf *out)
{
    rlf_buf messages = {0};
    rlf_buf_clear(out);
    if (!is_chat && !chat) {
        rlf_buf_add(out, value->text.p, value->text.n);
        return false;
    }
    put_messages(value, is_chat, system, &messages);
    rlf_buf_puts(out, tools.n ? "{\"messages\": " : "");
    rlf_buf_add(out, messages.p, messages.n);
    if (tools.n)
        rlf_buf_printf(out, ", \"tools\": %.*s}", (int)tools.n, tools.p);
    rlf_buf_free(&messages);
    return true;
}

static rlf_status
add_rows(rlf_session *s, struct rlf_answering *a, const rlf_records *rows,
         const char *model, const char *system, bool chat, rlf_err *err)
{
    bool of_chats = rows->columns[0].kind == RLF_RECORD_CHAT;
    if (of_chats)
        RLF_TRY(rlf_inspected_chat_open(s, model, err));
    rlf_buf text = {0};
    rlf_status status = RLF_OK;
    rlf_arena *row = rlf_arena_new();
    for (size_t i = 0; i < rows->count && status >= 0; i++) {
        const rlf_record_value *value;
        status = rlf_records_row(rows, i, row, err, &value);
        if (status < 0)
            break;
        rlf_str tools = rows->n_columns > 1 ? value[1].text : RLF_STR("");
        bool is_chat = row_of(value, of_chats, tools, system, chat, &text);
        rlf_arena_reset(row);
        const char *place = rlf_records_place(rows, i, a->pool),
                   *p = text.p ? text.p : "";
        const rlf_tokens *read =
            is_chat ? rlf_session_chat(s, model, p, text.n)
                    : rlf_session_tokenize(s, model, p, text.n);
        status = read ? add_prompt(a, read, place, err) : err->status;
        if (!read)
            rlf_err_detail(err, "prompt %s\n", place);
    }
    rlf_arena_free(row);
    rlf_buf_free(&text);
    return status;
}

/* Has a row tools? */
static void
see_tools(void *seen_, const struct json_t *row)
{
    bool *seen = seen_;
    const json_t *tools = json_object_get(row, "tools");
    *seen |= tools && !json_is_null(tools);
}

rlf_result
rlf_session_prompt_rows(rlf_session *s, const char *model, const char *path,
                        const char *field, const char *system, int chat)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(
            s, __func__,
            RLF_POINTERS({"model", model}, {"path", path}, {"field", field})))
        return rlf_session_status(s);
    struct rlf_answering *a = answering_of(s);
    rlf_err *err = &s->err;
    rlf_shard_files files;
    rlf_shard_format format;
    rlf_records rows;
    rlf_arena *arena = rlf_arena_new();
    const rlf_record_field columns[] = {
        {.label = "prompt", .field = field},
        {.label = "tools", .field = "tools", .part = RLF_RECORD_TOOLS}};
    bool tools = false;
    rlf_status status = open_reader(s, a, model, chat || system, err);
    if (status >= 0)
        status = rlf_shard_files_find(path, NULL, arena, err, &format, &files);
    if (status >= 0) {
        rlf_records_spec spec = {.path = path,
                                 .paths = files.paths,
                                 .n_paths = files.count,
                                 .columns = columns,
                                 .n_columns = 1,
                                 .csv = format == RLF_SHARD_CSV,
                                 .parquet = format == RLF_SHARD_PARQUET,
                                 .see = see_tools,
                                 .see_arg = &tools};
        status = rlf_records_read(&spec, arena, err, &rows);
        if (status >= 0 && tools && rows.columns[0].kind == RLF_RECORD_CHAT) {
            spec.n_columns = 2;
            spec.see = NULL;
            status = rlf_records_read(&spec, arena, err, &rows);
        }
    }
    if (status >= 0 && rows.columns[0].numbers)
        status = rlf_fail(err, RLF_USER, "%s: \"%s\" is no text", path, field);
    if (status >= 0)
        status =
            add_rows(s, a, &rows, model, system, chat || system != NULL, err);
    rlf_arena_free(arena);
    return rlf_session_result(status);
}

/* ---- answers ---- */

static rlf_status
begin_replies(rlf_session *s, struct rlf_answering *a, rlf_err *err)
{
    uint32_t each = s->options.each ? s->options.each : 1;
    const rlf_tokenizer *tokenizer = rlf_inspected_tokenizer(s);
    RLF_TRY_ROOM(&a->replies, a->asked.count * each, "answers");
    for (size_t i = 0; i < a->asked.count; i++)
        for (uint32_t k = 0; k < each; k++) {
            reply r = {.answer = {.prompt = i,
                                  .sample = k,
                                  .asked = a->asked.data[i].text.p,
                                  .n_asked = a->asked.data[i].text.n,
                                  .text = ""}};
            rlf_detokenizer_begin(&r.detokenizer, tokenizer,
                                  RLF_DECODE_SKIP_SPECIAL |
                                      RLF_DECODE_CONTINUE);
            RLF_PUSH(&a->replies, r);
        }
    return RLF_OK;
}

static rlf_status
add_all(rlf_session *s, struct rlf_answering *a, rlf_generation *g,
        rlf_err *err)
{
    uint32_t each = s->options.each ? s->options.each : 1, first;
    for (size_t i = 0; i < a->asked.count; i++) {
        uint64_t *identity = RLF_NEW_ARRAY(a->pool, uint64_t, each);
        for (uint32_t k = 0; k < each; k++)
            identity[k] = i * each + k;
        RLF_TRY(rlf_generation_add(g, a->asked.data[i].ids, a->asked.data[i].n,
                                   identity, each, err, &first));
    }
    return RLF_OK;
}

/* Takes the tokens that have come of a response since it was looked at; true:
 * there are some. */
static bool
take_tokens(reply *r, const rlf_response *now, bool done)
{
    bool more = now->n > r->seen || done;
    for (; r->seen < now->n; r->seen++)
        rlf_detokenizer_feed(&r->detokenizer, now->ids[r->seen], &r->text);
    if (done)
        rlf_detokenizer_end(&r->detokenizer, &r->text);
    r->answer.text = r->text.p ? r->text.p : "";
    r->answer.n = r->text.n;
    r->answer.ids = (const int32_t *)now->ids;
    r->answer.logprobs = now->logprob;
    r->answer.count = now->n;
    r->answer.done = done;
    r->answer.finished = done && now->finished;
    return more;
}

/* The generation's arrays go with it. */
static rlf_status
keep_tokens(struct rlf_answering *a, reply *r, rlf_err *err)
{
    size_t n = r->answer.count;
    int32_t *ids;
    float *logprobs;
    RLF_TRY(
        rlf_arena_try(a->pool, (n + 1) * sizeof *ids, "an answer", err, &ids));
    RLF_TRY(rlf_arena_try(a->pool, (n + 1) * sizeof *logprobs, "an answer", err,
                          &logprobs));
    for (size_t i = 0; i < n; i++) {
        ids[i] = r->answer.ids[i];
        logprobs[i] = r->answer.logprobs[i];
    }
    r->answer.ids = ids;
    r->answer.logprobs = logprobs;
    return RLF_OK;
}

/* Show all that is new; `rows` are complete. True: nobody wants more. */
static bool
show(struct rlf_answering *a, const rlf_generation *g, const uint32_t *rows,
     uint32_t n, rlf_answer_function *watch, void *arg)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < a->replies.count; i++) {
        reply *r = &a->replies.data[i];
        while (at < n && rows[at] < i)
            at++;
        if (r->answer.done)
            continue;
        const rlf_response now = rlf_generation_response(g, i);
        if (take_tokens(r, &now, at < n && rows[at] == i) && watch &&
            watch(arg, &r->answer))
            return true;
    }
    return false;
}

/* Until all are complete, or nobody wants more: those end where they are. */
static rlf_status
run(struct rlf_answering *a, rlf_generation *g, rlf_answer_function *watch,
    void *arg, rlf_err *err)
{
    rlf_status status = RLF_AGAIN;
    bool ended = false;
    while (status == RLF_AGAIN && !ended) {
        const uint32_t *rows;
        uint32_t n;
        status = rlf_generation_step(g, err, &rows, &n);
        if (status >= 0)
            ended = show(a, g, rows, n, watch, arg);
    }
    RLF_TRY(status);
    for (size_t i = 0; i < a->replies.count; i++) {
        reply *r = &a->replies.data[i];
        const rlf_response now = rlf_generation_response(g, (uint32_t)i);
        if (!r->answer.done) {
            take_tokens(r, &now, true);
            r->answer.cut = ended && !now.finished;
        }
        RLF_TRY(keep_tokens(a, r, err));
    }
    return rlf_memory_check(err);
}

static rlf_status
generate(rlf_session *s, struct rlf_answering *a, rlf_answer_function *watch,
         void *arg, rlf_err *err)
{
    const rlf_session_options *o = &s->options;
    rlf_generation_options options = {
        .max_new = (uint32_t)o->max_new,
        .greedy = o->greedy,
        .temperature = o->greedy || o->sampling.temperature == 0
                           ? 1
                           : (float)o->sampling.temperature,
        .top_k = (int32_t)o->top_k,
        .top_p = o->sampling.top_p == 0 ? 1 : (float)o->sampling.top_p,
        .min_p = (float)o->sampling.min_p,
        .key = {.seed = o->seed,
                .purpose = RLF_PURPOSE_SAMPLE,
                .site = SITE,
                .step = ++a->step},
        .stop = &o->stop,
        .n_stop = o->stop != NULL,
        .tokenizer = rlf_inspected_tokenizer(s),
        .most_active = MOST_ACTIVE,
        .longest = a->longest,
        .eos = (const uint32_t *)a->config->eos,
        .n_eos = (size_t)a->config->n_eos};
    if (!options.n_eos)
        options.eos = rlf_tokenizer_eos(options.tokenizer, &options.n_eos);
    rlf_pass *pass;
    rlf_kv *kv;
    rlf_generation *g;
    RLF_TRY(rlf_buffers_pass(a->model, RLF_USE_GENERATE, err, &pass));
    RLF_TRY(rlf_buffers_pages(a->model, err, &kv));
    RLF_TRY(rlf_buffers_arrays(a->model, err, &options.arrays));
    options.array_bytes = a->model->buffers.arrays_bytes;
    options.replays = rlf_buffers_replays(a->model);
    RLF_TRY(rlf_generation_new(a->model, pass, kv, &options, err, &g));
    rlf_status status = add_all(s, a, g, err);
    if (status >= 0)
        status = begin_replies(s, a, err);
    if (status >= 0)
        status = run(a, g, watch, arg, err);
    rlf_generation_free(g);
    return status;
}

rlf_result
rlf_session_generate(rlf_session *s, rlf_answer_function *watch, void *arg)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    struct rlf_answering *a = answering_of(s);
    if (!a->asked.count)
        return RLF_RESULT_OK;
    uint64_t longest = 0;
    for (size_t i = 0; i < a->asked.count; i++)
        if (longest < a->asked.data[i].n)
            longest = a->asked.data[i].n;
    longest += s->options.max_new;
    rlf_err *err = &s->err;
    rlf_status status = check_sampling(s, err);
    if (status >= 0)
        status = rlf_inspected_text_open(s, a->name, err);
    if (status >= 0)
        status = open_model(
            s, a, longest < INT32_MAX ? (uint32_t)longest : INT32_MAX, err);
    a->runs = true;
    if (status >= 0)
        status = generate(s, a, watch, arg, err);
    a->runs = false;
    a->told = true;
    return rlf_session_result(status);
}

const rlf_answer *
rlf_session_answer(rlf_session *s, size_t i)
{
    if (!s)
        return NULL;
    const struct rlf_answering *a = s->calls.answering;
    rlf_why_clear(s);
    if (!a || (!a->told && !a->runs))
        rlf_why(s, "no prompts were answered (rlf_session_generate)");
    return a && (a->told || a->runs) && i < a->replies.count
               ? &a->replies.data[i].answer
               : NULL;
}
