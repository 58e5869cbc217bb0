/* Rows of JSON: an object a line, or a list of them; fields by name or by path.
 */
#include "engine/io/records_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The place that a number of a path means in a list of n: one below 0 counts
 * from its end. */
static bool
as_place(const char *text, size_t n, size_t *out)
{
    char *end;
    long long i = strtoll(text, &end, 10);
    if (end == text || *end)
        return false;
    i += i < 0 ? (long long)n : 0;
    *out = (size_t)i;
    return i >= 0 && (size_t)i <= n;
}

/* "FROM:TO", some of a list, as a new list; `key` is cut at the colon. */
static const json_t *
cut_list(rlf_record_reader *r, const json_t *list, char *key)
{
    size_t n = json_array_size(list), from = 0, to = n;
    char *colon = strchr(key, ':');
    *colon = 0;
    if ((*key && !as_place(key, n, &from)) ||
        (colon[1] && !as_place(colon + 1, n, &to)))
        return NULL;
    json_t *out = json_array();
    for (size_t i = from; i < to; i++)
        json_array_append(out, json_array_get(list, i));
    if (!r->made)
        r->made = json_array();
    json_array_append_new(r->made, out);
    return out;
}

static const json_t *
step_into(rlf_record_reader *r, const json_t *value, char *key)
{
    size_t i;
    if (!json_is_array(value))
        return json_object_get(value, key);
    if (strchr(key, ':'))
        return cut_list(r, value, key);
    return as_place(key, json_array_size(value), &i) ? json_array_get(value, i)
                                                     : NULL;
}

/* The value at a name or dotted path, or NULL. */
static const json_t *
find_field(rlf_record_reader *r, const json_t *object, const char *field)
{
    const json_t *value = json_object_get(object, field);
    if (value || !strchr(field, '.'))
        return value;
    rlf_buf path = {0};
    rlf_buf_puts(&path, field);
    value = object;
    for (char *at = path.p; at && value;) {
        char *dot = strchr(at, '.');
        if (dot)
            *dot = 0;
        value = step_into(r, value, at);
        at = dot ? dot + 1 : NULL;
    }
    rlf_buf_free(&path);
    return value;
}

/* The content of a message: a text, a list of parts, or none beside something
 * else that the message has, such as calls of tools. */
static bool
is_content(const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    if (content && !json_is_null(content))
        return json_is_string(content) ||
               (json_is_array(content) && json_array_size(content) &&
                json_is_object(json_array_get(content, 0)));
    return json_object_size(message) > (content ? 2u : 1u);
}

static bool
is_chat(const json_t *value)
{
    if (!json_is_array(value) || !json_array_size(value))
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_string(json_object_get(item, "role")) || !is_content(item))
            return false;
    }
    return true;
}

/* Of a list that is no chat: which message is none, and why. */
static rlf_status
fail_chat(rlf_record_reader *r, const char *field, const json_t *list)
{
    static const char *const parts[] = {"role", "content"};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_object(item))
            return rlf_fail(r->err, RLF_USER,
                            "%s: \"%s\" is no list of chat messages: number "
                            "%zu is %s",
                            rlf_record_where(r), field, i + 1,
                            rlf_json_word(item));
        for (size_t k = 0; k < RLF_COUNT(parts); k++) {
            const json_t *part = json_object_get(item, parts[k]);
            if (!part && (k == 0 || !is_content(item)))
                return rlf_fail(r->err, RLF_USER,
                                "%s: message %zu of \"%s\" has no \"%s\"",
                                rlf_record_where(r), i + 1, field, parts[k]);
            if (part && !json_is_string(part) && (k == 0 || !is_content(item)))
                return rlf_fail(r->err, RLF_USER,
                                "%s: the \"%s\" of message %zu of \"%s\" is "
                                "%s where a text is wanted",
                                rlf_record_where(r), parts[k], i + 1, field,
                                rlf_json_word(part));
        }
    }
    return rlf_fail(r->err, RLF_USER,
                    "%s: \"%s\" is a list without chat messages",
                    rlf_record_where(r), field);
}

/* "turns.1" of "turns[1]": places stand after dots here. NULL: there are no
 * brackets in it. */
static void
hint_brackets(rlf_record_reader *r, const char *field)
{
    rlf_buf path = {0};
    for (const char *p = field; *p; p++)
        if (*p == '[')
            rlf_buf_putc(&path, '.');
        else if (!strchr("]'\"", *p))
            rlf_buf_putc(&path, *p);
    rlf_err_hint(r->err, "a place in a list stands after a dot: \"%.*s\"",
                 RLF_CUT(300, path.p ? path.p : ""));
    rlf_buf_free(&path);
}

/* Hints that a part of what is not one value can be a column. */
static void
hint_parts(rlf_record_reader *r, const char *field, const json_t *value)
{
    bool list = json_is_array(value);
    const char *key = list ? "0"
                           : json_object_iter_key(
                                 json_object_iter((json_t *)(uintptr_t)value));
    rlf_err_hint(r->err,
                 "%s is no column, a part is: \"%.*s.%.*s\"; or write it as "
                 "a text of JSON, which rlf.json_decode reads in Lua",
                 list ? "a list" : "an object", RLF_CUT(200, field),
                 RLF_CUT(60, key ? key : "NAME"));
}

/* "did you mean" over the names of the row. `column`: what asks for the field.
 */
static void
hint_names(rlf_record_reader *r, const json_t *object, const char *column,
           const char *field)
{
    if (strchr(field, '[')) {
        hint_brackets(r, field);
        return;
    }
    RLF_VEC(const char *) names = {0};
    rlf_buf all = {0};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        rlf_buf_printf(&all, "%s%s", all.n ? ", " : "", key);
        RLF_PUSH(&names, key);
    }
    const char *near = rlf_str_nearest(field, names.data, names.count);
    if (near)
        rlf_err_hint(r->err, "did you mean \"%s\"?", near);
    else if (all.n && strcmp(column, field) != 0 && strcmp(column, "prompt"))
        rlf_err_hint(r->err,
                     "the row has %.*s; '%.*s:' is no option, so it makes "
                     "a column of a field",
                     RLF_CUT(300, all.p), RLF_CUT(100, column));
    else if (all.n)
        rlf_err_hint(r->err, "the row has %.*s", RLF_CUT(300, all.p));
    RLF_VEC_FREE(&names);
    rlf_buf_free(&all);
}

/* An integer whose digits a double does not keep, or may not have kept. */
static bool
is_rounded(const rlf_record_reader *r, const json_t *value)
{
    if (json_is_integer(value)) {
        double x = (double)json_integer_value(value);
        return x >= 0x1p63 || (json_int_t)x != json_integer_value(value);
    }
    double x = json_number_value(value);
    return r->found.rounded && fabs(x) > 0x1p53 && x == floor(x);
}

static rlf_status
read_json_cell(rlf_record_reader *r, size_t c, const json_t *object)
{
    const char *field = r->rows->columns[c].field;
    const json_t *value = find_field(r, object, field);
    bool lists = json_is_array(value) || json_is_object(value);
    if (lists && r->found.rounded && rlf_json_has_whole(value)) {
        rlf_fail(r->err, RLF_USER,
                 "%s: a number of \"%s\" may have been rounded: an integer of "
                 "the row has more than 64 bits",
                 rlf_record_where(r), field);
        rlf_err_hint(r->err, "write that in quotes, as a text");
        return RLF_USER;
    }
    if (r->spec->columns[c].part == RLF_RECORD_TOOLS)
        return rlf_record_tools(r, c, value);
    if (!value) {
        rlf_fail(r->err, RLF_USER, "%s: the row has no \"%s\"",
                 rlf_record_where(r), field);
        hint_names(r, object,
                   r->spec->columns[c].part ? field : r->rows->columns[c].label,
                   field);
        return RLF_USER;
    }
    rlf_status status = rlf_record_as_chat(r, field, &value);
    if (status < 0)
        return status;
    rlf_record_cell out = {0};
    if (is_rounded(r, value)) {
        rlf_fail(
            r->err, RLF_USER,
            "%s: \"%s\" is an integer of more than 53 bits, whose digits a "
            "number does not keep",
            rlf_record_where(r), field);
        rlf_err_hint(r->err, "write it in quotes, as a text");
        return RLF_USER;
    }
    if (json_is_number(value)) {
        out.kind = RLF_RECORD_NUMBER;
        out.number = json_number_value(value);
    } else if (json_is_boolean(value)) {
        out.kind = RLF_RECORD_BOOL;
        out.number = json_is_true(value);
    } else if (json_is_string(value)) {
        out.kind = RLF_RECORD_TEXT;
        out.text =
            (rlf_str){json_string_value(value), json_string_length(value)};
    } else if (is_chat(value)) {
        out.kind = RLF_RECORD_CHAT;
        out.chat = value;
    } else if (json_is_array(value)) {
        status = fail_chat(r, field, value);
        if (json_array_size(value) && !json_is_object(json_array_get(value, 0)))
            hint_parts(r, field, value);
        else
            rlf_err_hint(r->err, "a message is {\"role\": \"user\", "
                                 "\"content\": \"...\"}, both texts");
        return status;
    } else {
        rlf_fail(r->err, RLF_USER,
                 "%s: \"%s\" is %s where a number, a text, true or false, or "
                 "a list of chat messages is wanted",
                 rlf_record_where(r), field, rlf_json_word(value));
        if (json_is_object(value))
            hint_parts(r, field, value);
        return RLF_USER;
    }
    r->cells[c] = out;
    return RLF_OK;
}

rlf_status
rlf_record_read_object(rlf_record_reader *r, const json_t *object)
{
    rlf_status status = RLF_OK;
    for (size_t c = 0; c < r->rows->n_columns && status >= 0; c++)
        status = rlf_record_column_status(r, c, read_json_cell(r, c, object));
    return status;
}

rlf_status
rlf_record_put_object(rlf_record_reader *r, const json_t *object,
                      const char *why, rlf_err *err)
{
    if (r->seen++ < r->spec->skip)
        return RLF_OK;
    rlf_status status = RLF_OK;
    if (why)
        status = rlf_fail(err, RLF_USER, "%s: %s", rlf_record_where(r), why);
    else if (!json_is_object(object))
        status = rlf_fail(err, RLF_USER, "%s: the row is %s, not an object",
                          rlf_record_where(r), rlf_json_word(object));
    else if (r->spec->see)
        r->spec->see(r->spec->see_arg, object);
    if (status >= 0)
        status = rlf_record_read_object(r, object);
    status = rlf_record_end_row(r, status);
    json_decref(r->made);
    r->made = NULL;
    return status;
}

static bool
is_blank(rlf_str text)
{
    return strspn(text.p, " \t\r\n") >= text.n;
}

/* A line that is not JSON may be of another format. */
static void
hint_line(rlf_record_reader *r, rlf_str line)
{
    bool object = strspn(line.p, " \t\r\n{") > strspn(line.p, " \t\r\n");
    if (object || r->rows->count)
        rlf_err_hint(r->err, "each line is a row: an object in JSON, in UTF-8");
    else if (strchr(line.p, '\t'))
        rlf_err_hint(r->err, "fields with tabs between are read of a file "
                             "whose name ends in .tsv: csv(\"FILE.tsv\", ...)");
    else
        rlf_err_hint(r->err, "each line is a row: an object in JSON; fields "
                             "with commas between are read by csv(...)");
}

/* The text of a row, `at` in its file, as an object that rlf_record_put_object
 * takes. */
static rlf_status
put_row(rlf_record_reader *r, uint32_t line, uint64_t at, rlf_str text,
        rlf_err *err)
{
    json_t *object = NULL;
    if (r->again)
        r->spot =
            (rlf_record_spot){at, text.n, rlf_record_mark(text.p, text.n)};
    rlf_status status = rlf_json_parse_exact(r->path, line, text.p, text.n, err,
                                             &object, &r->found);
    if (status == RLF_USER && r->found.why[0]) {
        rlf_err_clear(err);
        return rlf_record_put_object(r, NULL, r->found.why, err);
    }
    if (status == RLF_USER && !r->file->list)
        hint_line(r, text);
    if (status == RLF_OK)
        status = rlf_record_put_object(r, object, NULL, err);
    json_decref(object);
    return status;
}

/* Lines, the first of which was read already. */
static rlf_status
read_jsonl(rlf_record_reader *r, rlf_lines *lines, rlf_str line, rlf_err *err)
{
    for (bool more = true; more && rlf_record_wanted(r);) {
        rlf_buf copy = {0}; /* 0-terminated, for is_blank */
        if (!rlf_buf_try(&copy, line.n))
            return rlf_fail_memory(err, line.n, "a line of %s", r->path);
        rlf_buf_add(&copy, line.p, line.n);
        rlf_status status = RLF_OK;
        if (!is_blank((rlf_str){copy.p, copy.n})) {
            rlf_str row = {copy.p, copy.n};
            r->line = lines->line;
            status = put_row(r, r->line, lines->start, row, err);
        }
        rlf_buf_free(&copy);
        RLF_TRY(status);
        RLF_TRY(rlf_lines_next(lines, r->path, RLF_RECORD_MOST_LINE, err, &more,
                               &line));
    }
    return RLF_OK;
}

/* The text of a list's row at lines->at, which ends before a comma or bracket
 * that is in no other, *end; 0: where the file does. *newlines: that it has. */
static rlf_status
next_row(rlf_lines *lines, const char *path, rlf_err *err, rlf_str *out,
         uint32_t *newlines, char *end)
{
    size_t i = 0, depth = 0;
    bool quoted = false;
    *newlines = 0;
    for (;; i++) {
        while (lines->at + i >= lines->buf.n && !lines->ended) {
            if (i > RLF_RECORD_MOST_LINE)
                return rlf_fail(err, RLF_USER,
                                "%s:%u: the row is longer than %zu bytes", path,
                                lines->line, RLF_RECORD_MOST_LINE);
            RLF_TRY(rlf_lines_more(lines, path, err));
        }
        *end = lines->at + i < lines->buf.n ? lines->buf.p[lines->at + i] : 0;
        if (lines->at + i >= lines->buf.n)
            break;
        char c = *end;
        *newlines += c == '\n';
        if (c == '"')
            quoted = !quoted;
        else if (quoted)
            i += c == '\\';
        else if (c == '{' || c == '[')
            depth++;
        else if (!depth && (c == ',' || c == ']'))
            break;
        else if (c == '}' || c == ']')
            depth -= depth > 0;
    }
    size_t rest = lines->buf.n - lines->at;
    *out = (rlf_str){lines->buf.p + lines->at, i < rest ? i : rest};
    return RLF_OK;
}

/* Is there nothing more but blanks? */
static rlf_status
only_blanks(rlf_lines *lines, const char *path, rlf_err *err, bool *out)
{
    for (*out = true; *out;) {
        rlf_str rest = {lines->buf.p + lines->at, lines->buf.n - lines->at};
        *out = is_blank(rest);
        lines->at = lines->buf.n;
        if (lines->ended)
            break;
        RLF_TRY(rlf_lines_more(lines, path, err));
    }
    return RLF_OK;
}

/* A list row by row: one that is large, or one of whose rows is of no use,
 * which is found before the other rows are there. lines->at is behind the
 * bracket. */
static rlf_status
read_rows(rlf_record_reader *r, rlf_lines *lines, rlf_err *err)
{
    uint32_t line = lines->line;
    for (r->line = 1; rlf_record_wanted(r); r->line++) {
        uint32_t newlines;
        char end;
        rlf_str row;
        bool over;
        RLF_TRY(next_row(lines, r->path, err, &row, &newlines, &end));
        if (r->line > 1 || end != ']' || !is_blank(row))
            RLF_TRY(put_row(r, line, lines->base + lines->at, row, err));
        line += newlines;
        lines->at += row.n + (end != 0);
        if (end == ',')
            continue;
        RLF_TRY(only_blanks(lines, r->path, err, &over));
        if (end && over)
            break;
        return rlf_fail(
            err, RLF_USER,
            "%s:%u: not JSON: the list does not end where the file does",
            r->path, line);
    }
    return RLF_OK;
}

/* The rest of the file into lines->buf, unless that is large. */
static rlf_status
load(rlf_record_reader *r, rlf_lines *lines, rlf_err *err)
{
    size_t most =
        r->spec->in_memory ? r->spec->in_memory : RLF_RECORD_IN_MEMORY;
    char chunk[1 << 16];
    while (!lines->ended && lines->buf.n <= most) {
        size_t got;
        RLF_TRY(rlf_stream_read(lines->stream, chunk, sizeof chunk, err, &got));
        if (!rlf_buf_try(&lines->buf, got))
            return rlf_fail_memory(err, 2 * lines->buf.n, "what %s holds",
                                   r->path);
        rlf_buf_add(&lines->buf, chunk, got);
        lines->ended = got == 0;
    }
    return RLF_OK;
}

/* A JSON list, which begins with `line` in lines->buf. */
static rlf_status
read_list(rlf_record_reader *r, rlf_lines *lines, rlf_str line, rlf_err *err)
{
    const char *path = r->path;
    size_t begin = (size_t)(line.p - lines->buf.p);
    size_t open = begin + strspn(line.p, " \t");
    if (!r->again)
        RLF_TRY(load(r, lines, err));
    lines->at = open + 1;
    if (r->again || !lines->ended) {
        r->file->list = true;
        return read_rows(r, lines, err);
    }
    json_t *list = NULL;
    rlf_str text = {lines->buf.p + begin, lines->buf.n - begin};
    rlf_status status = rlf_json_parse_exact(path, lines->line, text.p, text.n,
                                             err, &list, &r->found);
    r->file->list = true;
    if (status == RLF_USER && r->found.why[0]) {
        rlf_err_clear(err);
        return read_rows(r, lines, err);
    }
    RLF_TRY(status);
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n && rlf_record_wanted(r) && status == RLF_OK; i++) {
        r->line = (uint32_t)i + 1;
        status = rlf_record_put_object(r, json_array_get(list, i), NULL, err);
    }
    json_decref(list);
    return status;
}

/* Reads the file as what it is by its first line that is not blank. */
rlf_status
rlf_records_read_json(rlf_record_reader *r, rlf_lines *lines, rlf_err *err)
{
    const char *path = r->path;
    rlf_str line = {0};
    size_t i;
    do {
        bool more = false;
        RLF_TRY(rlf_lines_next(lines, path, RLF_RECORD_MOST_LINE, err, &more,
                               &line));
        if (!more)
            return RLF_OK;
        i = 0;
        while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
            i++;
    } while (i == line.n);
    if (line.n >= 4 && memcmp(line.p, "PAR1", 4) == 0) {
        rlf_fail(err, RLF_USER, "%s is a parquet file", path);
        rlf_err_hint(err, "it is read by parquet(...); one that was compressed "
                          "as a whole is to be uncompressed first");
        return RLF_USER;
    }
    return line.p[i] == '[' ? read_list(r, lines, line, err)
                            : read_jsonl(r, lines, line, err);
}
