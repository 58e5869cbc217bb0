/* Conversations as cells: other spellings of chats, an answer at the end, and
 * what two of them begin with. */
#include "engine/io/records_inside.h"

#include <string.h>

/* ---- messages that say who they are from ---- */

/* The role of a speaker, as chat templates call it; NULL: none that they know.
 */
static const char *
role_of(const char *from)
{
    static const char *const roles[][2] = {
        {"human", "user"},          {"user", "user"},
        {"gpt", "assistant"},       {"chatgpt", "assistant"},
        {"assistant", "assistant"}, {"model", "assistant"},
        {"system", "system"},       {"tool", "tool"},
        {"observation", "tool"},    {"function_response", "tool"},
    };
    for (size_t i = 0; i < RLF_COUNT(roles); i++)
        if (strcmp(roles[i][0], from) == 0)
            return roles[i][1];
    return NULL;
}

/* Is every item {"from": text, "value": text}, and none has a role? */
static bool
says_from(const json_t *value)
{
    size_t n = json_array_size(value);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_string(json_object_get(item, "from")) ||
            !json_is_string(json_object_get(item, "value")) ||
            json_object_get(item, "role"))
            return false;
    }
    return n > 0;
}

/* Lives as long as the row. */
static json_t *
make_list(rlf_record_reader *r)
{
    json_t *out = json_array();
    if (!r->made)
        r->made = json_array();
    json_array_append_new(r->made, out);
    return out;
}

rlf_status
rlf_record_as_chat(rlf_record_reader *r, const char *field,
                   const json_t **value)
{
    if (!says_from(*value))
        return RLF_OK;
    json_t *out = make_list(r);
    for (size_t i = 0; i < json_array_size(*value); i++) {
        const json_t *item = json_array_get(*value, i);
        const char *from = json_string_value(json_object_get(item, "from"));
        const char *role = role_of(from);
        if (!role) {
            rlf_fail(r->err, RLF_USER,
                     "%s: message %zu of \"%s\" is from \"%.*s\", whom no chat "
                     "template knows",
                     rlf_record_where(r), i + 1, field, RLF_CUT(60, from));
            rlf_err_hint(r->err, "known are human, gpt, system and tool");
            return RLF_USER;
        }
        json_t *message = json_object();
        json_object_set_new(message, "role", json_string(role));
        json_object_set(message, "content", json_object_get(item, "value"));
        const char *key;
        json_t *more;
        json_object_foreach((json_t *)(uintptr_t)item, key,
                            more) if (strcmp(key, "from") != 0 &&
                                      strcmp(key, "value") != 0)
            json_object_set(message, key, more);
        json_array_append_new(out, message);
    }
    *value = out;
    return RLF_OK;
}

/* ---- parts of conversations ---- */

/* Messages from..to-1. */
static void
take_messages(rlf_record_reader *r, const json_t *list, size_t from, size_t to,
              rlf_record_cell *out)
{
    json_t *part = make_list(r);
    for (size_t i = from; i < to; i++)
        json_array_append(part, json_array_get(list, i));
    *out = (rlf_record_cell){.kind = RLF_RECORD_CHAT, .chat = part};
}

/* A key of an answer that is more than its text; NULL: there is none. What is
 * null says nothing, nor does a weight of 1, which is that of each. */
static const char *
more_than_text(const json_t *item)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)item, key, value)
    {
        double weight = json_number_value(value);
        bool whole = strcmp(key, "weight") == 0 && weight >= 1 && weight <= 1;
        if (strcmp(key, "role") != 0 && strcmp(key, "content") != 0 &&
            !json_is_null(value) && !whole)
            return key;
    }
    return NULL;
}

/* The text of message i, which is to be the assistant's and the last. */
static rlf_status
take_answer(rlf_record_reader *r, const char *field, const json_t *list,
            size_t i, rlf_record_cell *out)
{
    const json_t *item = json_array_get(list, i);
    const char *role = json_string_value(json_object_get(item, "role"));
    const json_t *content = json_object_get(item, "content");
    const char *more = more_than_text(item);
    size_t n = json_array_size(list);
    if (i + 1 == n && strcmp(role, "assistant") == 0 &&
        json_is_string(content) && !more) {
        *out = (rlf_record_cell){
            .kind = RLF_RECORD_TEXT,
            .text = {json_string_value(content), json_string_length(content)}};
        return RLF_OK;
    }
    if (i + 1 < n)
        rlf_fail(r->err, RLF_USER,
                 "%s: \"%s\" goes on with %zu messages, and a response is one",
                 rlf_record_where(r), field, n - i);
    else if (strcmp(role, "assistant") != 0)
        rlf_fail(r->err, RLF_USER,
                 "%s: \"%s\" ends with a message of \"%.*s\", and a response "
                 "is the assistant's",
                 rlf_record_where(r), field, RLF_CUT(60, role));
    else if (more)
        rlf_fail(r->err, RLF_USER,
                 "%s: \"%s\" ends with more than a text, \"%.*s\", which is no "
                 "response",
                 rlf_record_where(r), field, RLF_CUT(60, more));
    else
        rlf_fail(r->err, RLF_USER,
                 "%s: \"%s\" ends with a message that is no text",
                 rlf_record_where(r), field);
    rlf_err_hint(r->err, "on_error: drop leaves such rows out");
    return RLF_USER;
}

static rlf_status
split_chat(rlf_record_reader *r, size_t prompt, size_t answer)
{
    rlf_err *err = r->err;
    const char *field = r->rows->columns[prompt].field;
    const rlf_record_cell whole = r->cells[prompt];
    size_t n = json_array_size(whole.chat);
    if (whole.kind != RLF_RECORD_CHAT) {
        rlf_fail(r->err, RLF_USER,
                 "%s: \"%s\" is %s where a list of chat messages is wanted",
                 rlf_record_where(r), field, rlf_record_kind_word(whole.kind));
        rlf_err_hint(r->err, "a prompt and a response that are two fields are "
                             "two columns: prompt: \"...\", answer: \"...\"");
        return RLF_USER;
    }
    if (n < 2)
        return rlf_fail(r->err, RLF_USER,
                        "%s: \"%s\" has one message, so there is no prompt",
                        rlf_record_where(r), field);
    RLF_TRY(take_answer(r, field, whole.chat, n - 1, &r->cells[answer]));
    take_messages(r, whole.chat, 0, n - 1, &r->cells[prompt]);
    return RLF_OK;
}

/* ---- pairs ---- */

static bool
is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Returns how many bytes of both texts, of which n are the same, are the
 * prompt: up to the last `until`, else whole words. SIZE_MAX: there is none. */
static size_t
common_text(rlf_str a, size_t n, const char *until)
{
    size_t m = until ? strlen(until) : 0;
    if (until) {
        for (size_t i = n; i >= m; i--)
            if (memcmp(a.p + i - m, until, m) == 0)
                return i;
        return SIZE_MAX;
    }
    while (n && !is_space(a.p[n - 1]))
        n--;
    while (n && is_space(a.p[n - 1]))
        n--;
    return n;
}

static rlf_status
fail_pair(rlf_record_reader *r, size_t a, size_t b, const char *what)
{
    return rlf_fail(r->err, RLF_USER, "%s: \"%s\" and \"%s\" %s",
                    rlf_record_where(r), r->rows->columns[a].field,
                    r->rows->columns[b].field, what);
}

static rlf_status
pair_texts(rlf_record_reader *r, size_t prompt, size_t a, size_t b)
{
    const char *until = r->spec->until;
    rlf_str x = r->cells[a].text, y = r->cells[b].text;
    size_t n = 0;
    while (n < x.n && n < y.n && x.p[n] == y.p[n])
        n++;
    size_t cut = common_text(x, n, until);
    if (cut == SIZE_MAX) {
        fail_pair(r, a, b, "have no common beginning that ends with until:");
        rlf_err_hint(r->err, "on_error: drop leaves such rows out");
        return RLF_USER;
    }
    r->cells[prompt] =
        (rlf_record_cell){.kind = RLF_RECORD_TEXT, .text = {x.p, cut}};
    r->cells[a] = (rlf_record_cell){.kind = RLF_RECORD_TEXT,
                                    .text = {x.p + cut, x.n - cut}};
    r->cells[b] = (rlf_record_cell){.kind = RLF_RECORD_TEXT,
                                    .text = {y.p + cut, y.n - cut}};
    return RLF_OK;
}

static rlf_status
pair_chats(rlf_record_reader *r, size_t prompt, size_t a, size_t b)
{
    rlf_err *err = r->err;
    const json_t *x = r->cells[a].chat, *y = r->cells[b].chat;
    r->rows->pairs = true;
    const char *of_x = r->rows->columns[a].field,
               *of_y = r->rows->columns[b].field;
    size_t n = 0, most = json_array_size(x);
    if (json_array_size(y) < most)
        most = json_array_size(y);
    while (n < most && json_equal(json_array_get(x, n), json_array_get(y, n)))
        n++;
    if (!n) {
        fail_pair(r, a, b,
                  "have no message in common, which would be the "
                  "prompt");
        rlf_err_hint(r->err,
                     "where it is a field of its own, each is named: prompt: "
                     "\"...\", chosen: \"%s.-1.content\"",
                     of_x);
        return RLF_USER;
    }
    if (n == most)
        return fail_pair(r, a, b, "do not differ before one of them ends");
    RLF_TRY(take_answer(r, of_x, x, n, &r->cells[a]));
    RLF_TRY(take_answer(r, of_y, y, n, &r->cells[b]));
    take_messages(r, x, 0, n, &r->cells[prompt]);
    return RLF_OK;
}

static rlf_status
split_pair(rlf_record_reader *r, size_t prompt, size_t a, size_t b)
{
    const rlf_record_cell *x = &r->cells[a], *y = &r->cells[b];
    bool texts = x->kind == RLF_RECORD_TEXT && y->kind == RLF_RECORD_TEXT;
    bool chats = x->kind == RLF_RECORD_CHAT && y->kind == RLF_RECORD_CHAT;
    if (!texts && !chats)
        return fail_pair(r, a, b,
                         "are to be two texts or two lists of chat messages");
    if (texts && rlf_str_eq(x->text, y->text))
        return fail_pair(r, a, b, "are the same");
    return texts ? pair_texts(r, prompt, a, b) : pair_chats(r, prompt, a, b);
}

/* ---- tools ---- */

static rlf_status
fail_tools(rlf_record_reader *r, size_t c)
{
    rlf_fail(r->err, RLF_USER, "%s: \"%s\" is no list of tools",
             rlf_record_where(r), r->rows->columns[c].field);
    rlf_err_hint(r->err, "a tool is an object, its JSON schema; a text of JSON "
                         "may be the list, and null is none");
    return RLF_USER;
}

rlf_status
rlf_record_tools(rlf_record_reader *r, size_t c, const json_t *value)
{
    const bool none = !value || json_is_null(value);
    json_t *text = NULL;
    if (!none && !json_is_array(value) && !json_is_string(value))
        return fail_tools(r, c);
    if (json_is_array(value)) {
        char *dumped = json_dumps(value, JSON_COMPACT);
        text = dumped ? json_string(dumped) : NULL;
        free(dumped);
        if (!text)
            return rlf_fail_memory(r->err, 0, "a list of tools");
        json_array_append_new(make_list(r), text);
        value = text;
    }
    r->cells[c] = (rlf_record_cell){.kind = RLF_RECORD_TEXT, .text = {"", 0}};
    if (!none)
        r->cells[c].text =
            (rlf_str){json_string_value(value), json_string_length(value)};
    return RLF_OK;
}

/* A text that is to be a list of objects, or null. */
static rlf_status
check_tools(rlf_record_reader *r, size_t c)
{
    rlf_record_cell *cell = &r->cells[c];
    json_error_t where;
    bool missing = false, good = true;
    if (cell->kind != RLF_RECORD_TEXT)
        return fail_tools(r, c);
    if (!cell->text.n)
        return RLF_OK;
    json_t *list = rlf_json_decode(cell->text.p, cell->text.n,
                                   JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
                                   &where, &missing);
    for (size_t i = 0; i < json_array_size(list); i++)
        good &= json_is_object(json_array_get(list, i));
    if (!list && !missing)
        return rlf_fail(
            r->err, RLF_USER, "%s: \"%s\" is no JSON that can be used: %s",
            rlf_record_where(r), r->rows->columns[c].field, where.text);
    bool none = json_is_null(list);
    good &= none || json_is_array(list);
    json_decref(list);
    if (missing)
        return rlf_fail_memory(r->err, cell->text.n, "a list of tools");
    if (none)
        cell->text = RLF_STR("");
    return good ? RLF_OK : fail_tools(r, c);
}

rlf_status
rlf_record_part(rlf_record_reader *r)
{
    size_t at[RLF_RECORD_PARTS], n = r->rows->n_columns;
    for (size_t i = 0; i < RLF_RECORD_PARTS; i++)
        at[i] = n;
    for (size_t c = 0; c < n; c++)
        at[r->spec->columns[c].part] = c;
    size_t wrong = at[RLF_RECORD_TOOLS];
    rlf_status status = wrong < n ? check_tools(r, wrong) : RLF_OK;
    if (status < 0)
        return rlf_record_column_status(r, wrong, status);
    wrong = at[RLF_RECORD_HEAD];
    if (wrong < n) {
        status = split_chat(r, wrong, at[RLF_RECORD_ANSWER]);
    } else if (at[RLF_RECORD_COMMON] < n) {
        wrong = at[RLF_RECORD_COMMON];
        status = split_pair(r, wrong, at[RLF_RECORD_CHOSEN],
                            at[RLF_RECORD_REJECTED]);
    }
    return rlf_record_column_status(r, wrong, status);
}
