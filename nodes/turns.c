/* See turns.h. */
#define _GNU_SOURCE /* memmem */
#include "nodes/turns.h"

#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/text/tokenizer.h"

#include <string.h>

static const char what[] = "a conversation";

/* A conversation that is being read. */
typedef struct reading {
    const rlf_env *env;
    const rlf_reader *reader;
    const rlf_message *messages;
    uint32_t n;
    rlf_str tools;
    rlf_str text;
    rlf_chat_span *spans; /* bytes of it that the assistant says */
    size_t n_spans;
} reading;

static bool
is_said(const rlf_message *message)
{
    return rlf_str_eq(message->role, RLF_STR("assistant"));
}

/* ---- messages that are more than texts ---- */

/* A new reference; NULL: it is a role and a text alone, or memory lacks. */
static json_t *
decode(const rlf_message *message)
{
    json_error_t where;
    bool missing;
    return message->json.n ? rlf_json_decode(message->json.p, message->json.n,
                                             0, &where, &missing)
                           : NULL;
}

/* The key that makes an assistant's message more than its text; NULL: there is
 * none. *weighs is false if the message says that nothing is learned from it.
 */
static const char *
more_than_text(const json_t *message, bool *weighs)
{
    static const char *const more[] = {"tool_calls", "reasoning_content",
                                       "reasoning", "thinking"};
    const json_t *weight = json_object_get(message, "weight");
    *weighs = !weight || json_is_null(weight) || json_number_value(weight) > 0;
    for (size_t i = 0; i < RLF_COUNT(more); i++) {
        const json_t *value = json_object_get(message, more[i]);
        if (value && !json_is_null(value))
            return more[i];
    }
    if (weight && *weighs &&
        !(json_number_value(weight) >= 1 && json_number_value(weight) <= 1))
        return "weight";
    return message && !json_is_string(json_object_get(message, "content"))
               ? "content"
               : NULL;
}

/* Checks that messages are texts alone, of which marks say where they are. */
static rlf_status
check_texts(const reading *r, bool *said, rlf_err *err)
{
    for (uint32_t i = 0; i < r->n; i++) {
        said[i] = is_said(&r->messages[i]);
        if (!said[i])
            continue;
        json_t *message = decode(&r->messages[i]);
        const char *more = more_than_text(message, &said[i]);
        json_decref(message);
        if (!more || !said[i])
            continue;
        rlf_fail(err, RLF_USER,
                 "message %u is the assistant's and more than a text (\"%s\"), "
                 "and the template of '%s' does not say by "
                 "{%% generation %%} what the assistant says",
                 i + 1, more, r->reader->model);
        rlf_err_hint(err, "on_error: drop leaves such rows out");
        return RLF_USER;
    }
    return RLF_OK;
}

/* Checks weights: with {% generation %} the template decides, and knows of
 * none. */
static rlf_status
check_weights(const reading *r, rlf_err *err)
{
    for (uint32_t i = 0; i < r->n; i++) {
        bool weighs = true;
        json_t *message =
            is_said(&r->messages[i]) ? decode(&r->messages[i]) : NULL;
        const char *more = more_than_text(message, &weighs);
        json_decref(message);
        if (weighs && !(more && strcmp(more, "weight") == 0))
            continue;
        rlf_fail(err, RLF_USER,
                 "message %u has a \"weight\" that is not 1, of which the "
                 "{%% generation %%} blocks of the template of '%s' know "
                 "nothing",
                 i + 1, r->reader->model);
        rlf_err_hint(err, "on_error: drop leaves such rows out");
        return RLF_USER;
    }
    return RLF_OK;
}

/* ---- marks ---- */

/* The whole conversation as one text. */
static rlf_status
write_all(const reading *r, const rlf_message *messages, rlf_err *err,
          rlf_str *out)
{
    const rlf_prompt prompt = {
        .messages = messages, .n_messages = r->n, .tools = r->tools};
    rlf_chat_span *spans;
    size_t n_spans;
    if (r->reader->template)
        return rlf_rows_write_lua(r->env, r->reader, &prompt, false, err, out);
    return rlf_chat_converse(r->reader->own, &prompt, r->env->pool, err, out,
                             &spans, &n_spans);
}

static bool
holds(rlf_str text, const char *word)
{
    return text.n && memmem(text.p, text.n, word, strlen(word));
}

/* A word of letters and digits that is nowhere in the conversation: what all
 * marks begin with. */
static const char *
choose_mark(const reading *r)
{
    for (unsigned k = 0;; k++) {
        const char *mark = rlf_arena_printf(r->env->pool, "rlf%uq", k);
        bool used = holds(r->text, mark);
        for (uint32_t i = 0; i < r->n; i++)
            used |= holds(r->messages[i].content, mark) ||
                    holds(r->messages[i].json, mark);
        if (!used)
            return mark;
    }
}

static bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The text between two marks, or, with `inside`, with them behind and before
 * the white space at its ends, which templates trim. */
static rlf_str
add_marks(rlf_arena *pool, rlf_str text, const char *mark, uint32_t i,
          bool inside)
{
    size_t from = 0, to = text.n;
    while (inside && from < to && is_space(text.p[from]))
        from++;
    while (inside && to > from && is_space(text.p[to - 1]))
        to--;
    rlf_buf out = {0};
    rlf_buf_add(&out, text.n ? text.p : "", from);
    rlf_buf_printf(&out, "%sb%uz", mark, i);
    rlf_buf_add(&out, text.n ? text.p + from : "", to - from);
    rlf_buf_printf(&out, "%se%uz", mark, i);
    rlf_buf_add(&out, text.n ? text.p + to : "", text.n - to);
    rlf_str kept = {rlf_arena_strndup(pool, out.p, out.n), out.n};
    rlf_buf_free(&out);
    return kept;
}

/* The message with this text. */
static rlf_status
replace_text(rlf_arena *pool, rlf_str text, rlf_err *err, rlf_message *message)
{
    json_t *json = decode(message);
    message->content = text;
    if (!json)
        return RLF_OK;
    json_object_set_new(json, "content", json_stringn(text.p, text.n));
    size_t n = json_dumpb(json, NULL, 0, JSON_COMPACT);
    char *p;
    rlf_status status = rlf_arena_try(pool, n + 1, what, err, &p);
    if (status >= 0) {
        json_dumpb(json, p, n, JSON_COMPACT);
        message->json = (rlf_str){p, n};
    }
    json_decref(json);
    return status;
}

/* Takes the marks out of `text`, from which what is left goes to `bare`, and
 * finds the spans between them there; false: they are not all there, each once
 * and in order. */
static bool
take_marks(const reading *r, rlf_str text, const char *mark, const bool *said,
           rlf_buf *bare, rlf_chat_span *spans)
{
    size_t at = 0, k = 0;
    for (uint32_t i = 0; i < r->n; i++)
        for (int end = 0; said[i] && end < 2; end++) {
            const char *want = rlf_arena_printf(r->env->pool, "%s%c%uz", mark,
                                                end ? 'e' : 'b', i);
            const char *found = at < text.n ? memmem(text.p + at, text.n - at,
                                                     mark, strlen(mark))
                                            : NULL;
            size_t n = strlen(want);
            if (!found || (size_t)(text.p + text.n - found) < n ||
                memcmp(found, want, n) != 0)
                return false;
            rlf_buf_add(bare, text.p + at, (size_t)(found - (text.p + at)));
            at = (size_t)(found - text.p) + n;
            if (!end)
                spans[k].from = bare->n;
            else
                spans[k++].to = bare->n;
        }
    rlf_buf_add(bare, text.p + at, text.n - at);
    return !holds((rlf_str){text.p + at, text.n - at}, mark);
}

/* One way to set them; *found: they came out as they should. */
static rlf_status
try_marks(reading *r, const char *mark, const bool *said, bool inside,
          rlf_err *err, bool *found)
{
    rlf_arena *pool = r->env->pool;
    rlf_message *marked;
    rlf_str text = {0};
    rlf_err why = RLF_ERR_NONE;
    *found = false;
    RLF_TRY(rlf_arena_try(pool, r->n * sizeof *marked, what, err, &marked));
    for (uint32_t i = 0; i < r->n; i++) {
        marked[i] = r->messages[i];
        if (said[i])
            RLF_TRY(replace_text(
                pool, add_marks(pool, marked[i].content, mark, i, inside), err,
                &marked[i]));
    }
    rlf_status status = write_all(r, marked, &why, &text);
    if (status < 0 && status != RLF_USER)
        *err = why;
    if (status < 0)
        return status == RLF_USER ? RLF_OK : status;
    rlf_buf bare = {0};
    *found = take_marks(r, text, mark, said, &bare, r->spans) &&
             rlf_str_eq((rlf_str){bare.p ? bare.p : "", bare.n}, r->text);
    rlf_buf_free(&bare);
    return RLF_OK;
}

/* Bytes from the end of a span to the end of the end token that follows it; 0:
 * none does. */
static size_t
end_behind(const reading *r, size_t at)
{
    size_t from = at;
    while (at < r->text.n && is_space(r->text.p[at]))
        at++;
    for (size_t i = 0; i < r->reader->n_ends; i++) {
        rlf_str end =
            rlf_tokenizer_piece(r->reader->tokenizer, r->reader->ends[i]);
        if (end.n && r->text.n - at >= end.n &&
            memcmp(r->text.p + at, end.p, end.n) == 0)
            return at + end.n - from;
    }
    return 0;
}

/* Spans from a rendering with marks. */
static rlf_status
mark_spans(reading *r, rlf_err *err)
{
    rlf_arena *pool = r->env->pool;
    bool *said = RLF_NEW_ARRAY(pool, bool, r->n + 1), found = false;
    RLF_TRY(check_texts(r, said, err));
    RLF_TRY(write_all(r, r->messages, err, &r->text));
    for (uint32_t i = 0; i < r->n; i++)
        r->n_spans += said[i];
    RLF_TRY(rlf_arena_try(pool, (r->n_spans + 1) * sizeof *r->spans, what, err,
                          &r->spans));
    const char *mark = choose_mark(r);
    for (int inside = 0; inside < 2 && !found; inside++)
        RLF_TRY(try_marks(r, mark, said, inside, err, &found));
    if (!found) {
        rlf_fail(err, RLF_USER,
                 "the template of '%s' changes, moves or leaves out what the "
                 "assistant says, so which tokens are the assistant's is not "
                 "known",
                 r->reader->model);
        rlf_err_hint(err, "a template says it by {%% generation %%} ... "
                          "{%% endgeneration %%} around it; on_error: drop "
                          "leaves such rows out");
        return RLF_USER;
    }
    for (size_t i = 0; i < r->n_spans; i++)
        r->spans[i].to += end_behind(r, r->spans[i].to);
    return RLF_OK;
}

/* ---- tokens ---- */

static bool
has_end(const rlf_reader *reader, const uint32_t *ids, rlf_token_run run)
{
    bool has = false;
    for (uint32_t i = run.from; i < run.to; i++)
        has |= rlf_rows_ended(reader, ids + i, 1);
    return has;
}

/* Runs of the ids, of which only the first `most` are left. */
static void
put_runs(const reading *r, const rlf_text_place *places, rlf_token_run *runs,
         rlf_conversation *out)
{
    for (size_t i = 0; i < r->n_spans; i++) {
        size_t from = places[2 * i].ended, to = places[2 * i + 1].begun;
        size_t least = out->n_runs ? runs[out->n_runs - 1].to : 1;
        if (from < least)
            from = least;
        if (to > out->n_ids)
            to = out->n_ids;
        if (from >= to)
            continue;
        out->n_said += (uint32_t)(to - from);
        if (out->n_runs && from == least)
            runs[out->n_runs - 1].to = (uint32_t)to;
        else
            runs[out->n_runs++] = (rlf_token_run){(uint32_t)from, (uint32_t)to};
    }
    out->runs = runs;
    out->ends = true;
    for (uint32_t i = 0; i < out->n_runs; i++)
        out->ends &= has_end(r->reader, out->ids, runs[i]);
}

static rlf_status
put_tokens(const reading *r, uint32_t most, rlf_err *err, rlf_conversation *out)
{
    rlf_arena *pool = r->env->pool;
    rlf_ids ids = {0};
    rlf_text_place *places;
    rlf_token_run *runs;
    uint32_t *kept;
    RLF_TRY(rlf_arena_try(pool, (2 * r->n_spans + 1) * sizeof *places, what,
                          err, &places));
    RLF_TRY(
        rlf_arena_try(pool, (r->n_spans + 1) * sizeof *runs, what, err, &runs));
    for (size_t i = 0; i < r->n_spans; i++) {
        places[2 * i] = (rlf_text_place){.at = r->spans[i].from};
        places[2 * i + 1] = (rlf_text_place){.at = r->spans[i].to};
    }
    rlf_status status = rlf_tokenizer_encode_placed(
        r->reader->tokenizer, r->text, err, &ids, places, 2 * r->n_spans);
    if (status >= 0)
        status = rlf_rows_known(r->reader, ids.data, ids.count, err);
    if (status >= 0)
        status = rlf_arena_try(pool, (ids.count + 1) * sizeof *kept, what, err,
                               &kept);
    if (status >= 0 && ids.count)
        memcpy(kept, ids.data, ids.count * sizeof *kept);
    out->cut = most && ids.count > most;
    out->n_ids = out->cut ? most : (uint32_t)ids.count;
    RLF_VEC_FREE(&ids);
    RLF_TRY(status);
    out->ids = kept;
    put_runs(r, places, runs, out);
    return rlf_memory_check(err);
}

static rlf_status
fail_silent(const reading *r, const rlf_conversation *turns, uint32_t most,
            rlf_err *err)
{
    if (turns->cut)
        rlf_fail(err, RLF_USER,
                 "the assistant says no token among its first %u", most);
    else
        rlf_fail(err, RLF_USER,
                 "the template of '%s' gives the assistant no token in it",
                 r->reader->model);
    rlf_err_hint(err, "on_error: drop leaves such rows out");
    return RLF_USER;
}

rlf_status
rlf_turns_read(const rlf_env *env, const rlf_reader *reader,
               const rlf_prompt *prompt, uint32_t most, rlf_err *err,
               rlf_conversation *out)
{
    const rlf_message *messages = prompt->messages;
    const uint32_t n = prompt->n_messages;
    reading r = {.env = env,
                 .reader = reader,
                 .messages = messages,
                 .n = n,
                 .tools = prompt->tools};
    bool any = false;
    *out = (rlf_conversation){0};
    for (uint32_t i = 0; i < n; i++)
        any |= is_said(&messages[i]);
    if (!any) {
        rlf_fail(err, RLF_USER, "nothing of it is said by the assistant");
        rlf_err_hint(err, "on_error: drop leaves such rows out");
        return RLF_USER;
    }
    if (!reader->template && reader->own &&
        rlf_chat_generates(reader->own, prompt)) {
        RLF_TRY(check_weights(&r, err));
        RLF_TRY(rlf_chat_converse(reader->own, prompt, env->pool, err, &r.text,
                                  &r.spans, &r.n_spans));
    } else if (rlf_reader_has_template(reader)) {
        RLF_TRY(mark_spans(&r, err));
    } else {
        return rlf_rows_no_template(reader, err);
    }
    RLF_TRY(put_tokens(&r, most, err, out));
    out->text = r.text;
    return out->n_runs ? RLF_OK : fail_silent(&r, out, most, err);
}
