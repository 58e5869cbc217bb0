/* Data sets: see records.h. Each format yields one cell after the other;
 * put_cell, below, decides and checks the kinds. */
#include "engine/io/records.h"

#include "engine/base/digest.h"
#include "engine/base/vec.h"
#include "engine/io/csv.h"
#include "engine/io/json.h"
#include "engine/io/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t most_line = (size_t)64 << 20;

const char *
rlf_record_kind_word(rlf_record_kind kind)
{
    static const char *const words[] = {
        "a number", "a text", "a list of chat messages", "true or false"};
    return words[kind];
}

/* One value on its way into a column. Texts are borrowed. */
typedef struct cell {
    rlf_record_kind kind;
    double number;
    rlf_str text;
    bool numeric; /* csv: a number that is written as it would be printed */
    const json_t *chat;
} cell;

typedef struct reader {
    const rlf_records_spec *spec;
    rlf_arena *arena;
    rlf_err *err;
    rlf_records *rows;
    struct column {
        RLF_VEC(double) numbers;
        RLF_VEC(rlf_str) texts;
        RLF_VEC(rlf_chat) chats;
        size_t numeric; /* csv: cells that are */
    } * columns;
    cell *cells;          /* of the row at hand, by column */
    json_t *made;         /* lists cut out of it */
    rlf_json_found found; /* in its JSON */
    RLF_VEC(uint32_t) lines;
    uint64_t seen; /* rows, also skipped ones */
    size_t most;   /* bytes of memory */
    size_t used;   /* bytes in the arena before */
    uint32_t line; /* of the row at hand */
} reader;

/* `skip` and `first` count rows of the file, also those that are dropped: what
 * the one passes over is what the other takes. */
static bool
want_more(const reader *r)
{
    const rlf_records_spec *s = r->spec;
    uint64_t enough = r->rows->csv ? 0 : s->enough;
    return (!s->first || r->seen < s->skip + s->first) &&
           (!enough || r->rows->count < enough);
}

static const char *
place(const reader *r)
{
    return rlf_arena_printf(r->arena, r->rows->list ? "%s row %u" : "%s:%u",
                            r->spec->path, r->line);
}

/* --- cells --- */

static rlf_str
keep_text(reader *r, const char *p, size_t n)
{
    return (rlf_str){rlf_arena_strndup(r->arena, p, n), n};
}

/* What keep_chat takes, each with what it is aligned by. */
static size_t
chat_bytes(const json_t *list)
{
    size_t n = json_array_size(list), bytes = (n + 1) * sizeof(rlf_message);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        bytes += json_string_length(json_object_get(item, "role")) +
                 json_string_length(json_object_get(item, "content")) + 2;
    }
    return bytes;
}

static rlf_chat
keep_chat(reader *r, const json_t *list)
{
    size_t n = json_array_size(list);
    rlf_message *messages = RLF_NEW_ARRAY(r->arena, rlf_message, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *role = json_object_get(item, "role");
        const json_t *content = json_object_get(item, "content");
        messages[i].role =
            keep_text(r, json_string_value(role), json_string_length(role));
        messages[i].content = keep_text(r, json_string_value(content),
                                        json_string_length(content));
    }
    return (rlf_chat){messages, n};
}

static rlf_digest
add_text(rlf_digest digest, rlf_str text)
{
    return rlf_digest_add(digest, text.p, text.n);
}

/* Is it of the column's kind? The first row decides that. */
static rlf_status
check_cell(reader *r, size_t c)
{
    const rlf_record_column *column = &r->rows->columns[c];
    rlf_record_kind kind = r->cells[c].kind;
    if (r->rows->count == 0 || column->kind == kind)
        return RLF_OK;
    rlf_fail(r->err, RLF_USER, "%s: \"%s\" is %s, in the first row %s",
             place(r), column->field, rlf_record_kind_word(kind),
             rlf_record_kind_word(column->kind));
    rlf_err_hint(r->err, "a column has one kind: make them all texts, or "
                         "all numbers");
    return RLF_USER;
}

static rlf_status
put_cell(reader *r, size_t c)
{
    static const char what[] = "the rows of data";
    rlf_err *err = r->err;
    const cell *from = &r->cells[c];
    rlf_record_column *column = &r->rows->columns[c];
    struct column *to = &r->columns[c];
    rlf_digest digest = r->rows->digest;
    if (r->rows->count == 0) {
        column->kind = from->kind;
        digest =
            rlf_digest_add(digest, column->label, strlen(column->label) + 1);
        digest = rlf_digest_add(digest, &column->kind, sizeof column->kind);
    }
    switch (from->kind) {
    case RLF_RECORD_NUMBER:
    case RLF_RECORD_BOOL:
        RLF_TRY_ROOM(&to->numbers, 1, what);
        RLF_PUSH(&to->numbers, from->number);
        digest = rlf_digest_add(digest, &from->number, sizeof from->number);
        break;
    case RLF_RECORD_TEXT:
        RLF_TRY_ROOM(&to->texts, 1, what);
        RLF_TRY(rlf_arena_room(r->arena, from->text.n + 1, what, err));
        RLF_PUSH(&to->texts, keep_text(r, from->text.p, from->text.n));
        to->numeric += from->numeric;
        digest = add_text(digest, from->text);
        break;
    case RLF_RECORD_CHAT: {
        RLF_TRY_ROOM(&to->chats, 1, what);
        RLF_TRY(rlf_arena_room(r->arena, chat_bytes(from->chat), what, err));
        rlf_chat chat = keep_chat(r, from->chat);
        RLF_PUSH(&to->chats, chat);
        digest = rlf_digest_add(digest, &chat.count, sizeof chat.count);
        for (size_t i = 0; i < chat.count; i++)
            digest = add_text(add_text(digest, chat.messages[i].role),
                              chat.messages[i].content);
        break;
    }
    }
    r->rows->digest = digest;
    return RLF_OK;
}

/* The row at hand, whose cells are read (`status`), goes into the columns; one
 * that cannot is an error, or is counted and left out. */
static rlf_status
end_row(reader *r, rlf_status status)
{
    rlf_err *err = r->err;
    for (size_t c = 0; c < r->rows->n_columns && status >= 0; c++)
        status = check_cell(r, c);
    if (status == RLF_USER && r->spec->drop) {
        if (!r->rows->dropped++)
            r->rows->why = rlf_arena_strdup(r->arena, r->err->sentence);
        rlf_err_clear(r->err);
        return RLF_OK;
    }
    if (status < 0)
        return status;
    for (size_t c = 0; c < r->rows->n_columns; c++)
        RLF_TRY(put_cell(r, c));
    RLF_TRY_ROOM(&r->lines, 1, "the rows of data");
    RLF_PUSH(&r->lines, r->line);
    r->rows->count++;
    if (rlf_arena_used(r->arena) - r->used > r->most) {
        rlf_fail(r->err, RLF_USER,
                 "%s: the rows up to here take more than %zu MB of memory",
                 place(r), r->most >> 20);
        rlf_err_hint(r->err, "take fewer rows with first:, or fewer columns");
        return RLF_USER;
    }
    return RLF_OK;
}

/* --- JSON --- */

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
cut_list(reader *r, const json_t *list, char *key)
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
step_into(reader *r, const json_t *value, char *key)
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
find_field(reader *r, const json_t *object, const char *field)
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

static bool
is_chat(const json_t *value)
{
    if (!json_is_array(value) || !json_array_size(value))
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_string(json_object_get(item, "role")) ||
            !json_is_string(json_object_get(item, "content")))
            return false;
    }
    return true;
}

/* Of a list that is no chat: which message is none, and why. */
static rlf_status
fail_chat(reader *r, const char *field, const json_t *list)
{
    static const char *const parts[] = {"role", "content"};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_object(item))
            return rlf_fail(r->err, RLF_USER,
                            "%s: \"%s\" is no list of chat messages: number "
                            "%zu is %s",
                            place(r), field, i + 1, rlf_json_word(item));
        for (size_t k = 0; k < RLF_COUNT(parts); k++) {
            const json_t *part = json_object_get(item, parts[k]);
            if (!part)
                return rlf_fail(r->err, RLF_USER,
                                "%s: message %zu of \"%s\" has no \"%s\"",
                                place(r), i + 1, field, parts[k]);
            if (!json_is_string(part))
                return rlf_fail(r->err, RLF_USER,
                                "%s: the \"%s\" of message %zu of \"%s\" is "
                                "%s where a text is wanted",
                                place(r), parts[k], i + 1, field,
                                rlf_json_word(part));
        }
    }
    return rlf_fail(r->err, RLF_USER,
                    "%s: \"%s\" is a list without chat messages", place(r),
                    field);
}

/* "did you mean" over the names of the row. */
static void
hint_names(reader *r, const json_t *object, const char *field)
{
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
    else if (all.n)
        rlf_err_hint(r->err, "the row has %.300s", all.p);
    RLF_VEC_FREE(&names);
    rlf_buf_free(&all);
}

/* An integer whose digits a double does not keep, or may not have kept. */
static bool
is_rounded(const reader *r, const json_t *value)
{
    if (json_is_integer(value)) {
        double x = (double)json_integer_value(value);
        return x >= 0x1p63 || (json_int_t)x != json_integer_value(value);
    }
    double x = json_number_value(value);
    return r->found.rounded && fabs(x) > 0x1p53 && x == floor(x);
}

static rlf_status
read_json_cell(reader *r, size_t c, const json_t *object)
{
    const char *field = r->rows->columns[c].field;
    const json_t *value = find_field(r, object, field);
    if (!value) {
        rlf_fail(r->err, RLF_USER, "%s: the row has no \"%s\"", place(r),
                 field);
        hint_names(r, object, field);
        return RLF_USER;
    }
    cell out = {0};
    if (is_rounded(r, value)) {
        rlf_fail(
            r->err, RLF_USER,
            "%s: \"%s\" is an integer of more than 53 bits, whose digits a "
            "number does not keep",
            place(r), field);
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
        rlf_status status = fail_chat(r, field, value);
        rlf_err_hint(r->err, "a message is {\"role\": \"user\", \"content\": "
                             "\"...\"}, both texts");
        return status;
    } else {
        rlf_fail(r->err, RLF_USER,
                 "%s: \"%s\" is %s where a number, a text, true or false, or "
                 "a list of chat messages is wanted",
                 place(r), field, rlf_json_word(value));
        return RLF_USER;
    }
    r->cells[c] = out;
    return RLF_OK;
}

static rlf_status
put_object(reader *r, const json_t *object, rlf_err *err)
{
    if (r->seen++ < r->spec->skip)
        return RLF_OK;
    rlf_status status = RLF_OK;
    if (!json_is_object(object))
        status = rlf_fail(err, RLF_USER, "%s: the row is %s, not an object",
                          place(r), rlf_json_word(object));
    for (size_t c = 0; c < r->rows->n_columns && status >= 0; c++)
        status = read_json_cell(r, c, object);
    status = end_row(r, status);
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
hint_line(reader *r, rlf_str line)
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

/* The text of a row as an object that put_object takes. */
static rlf_status
put_row(reader *r, uint32_t line, rlf_str text, rlf_err *err)
{
    json_t *object = NULL;
    rlf_status status = rlf_json_parse_exact(r->spec->path, line, text.p,
                                             text.n, err, &object, &r->found);
    if (status == RLF_USER && r->found.why[0]) {
        rlf_err_clear(err);
        if (r->seen++ < r->spec->skip)
            return RLF_OK;
        rlf_fail(err, RLF_USER, "%s: %s", place(r), r->found.why);
        return end_row(r, RLF_USER);
    }
    if (status == RLF_USER && !r->rows->list)
        hint_line(r, text);
    if (status == RLF_OK)
        status = put_object(r, object, err);
    json_decref(object);
    return status;
}

/* Lines, the first of which was read already. */
static rlf_status
read_jsonl(reader *r, rlf_lines *lines, rlf_str line, rlf_err *err)
{
    for (bool more = true; more && want_more(r);) {
        rlf_buf copy = {0}; /* 0-terminated, for is_blank */
        if (!rlf_buf_try(&copy, line.n))
            return rlf_fail_memory(err, line.n, "a line of %s", r->spec->path);
        rlf_buf_add(&copy, line.p, line.n);
        rlf_status status = RLF_OK;
        if (!is_blank((rlf_str){copy.p, copy.n})) {
            rlf_str row = {copy.p, copy.n};
            r->line = lines->line;
            status = put_row(r, r->line, row, err);
        }
        rlf_buf_free(&copy);
        RLF_TRY(status);
        RLF_TRY(
            rlf_lines_next(lines, r->spec->path, most_line, err, &more, &line));
    }
    return RLF_OK;
}

/* The text of a list's row, which ends before a comma or bracket that is in no
 * other, and the lines in it. */
static rlf_str
cut_row(rlf_str text, uint32_t *lines)
{
    size_t i = 0, depth = 0;
    bool quoted = false;
    *lines = 0;
    for (; i < text.n; i++) {
        char c = text.p[i];
        *lines += c == '\n';
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
    return (rlf_str){text.p, i < text.n ? i : text.n};
}

/* A list one of whose rows is of no use, which is found before the other rows
 * are there: row by row. `text` begins after the bracket. */
static rlf_status
read_rows(reader *r, uint32_t line, rlf_str text, rlf_err *err)
{
    for (r->line = 1; want_more(r); r->line++) {
        uint32_t lines;
        rlf_str row = cut_row(text, &lines);
        RLF_TRY(put_row(r, line, row, err));
        line += lines;
        size_t next = row.n + 1;
        bool last = next <= text.n && row.p[row.n] == ']';
        if (next > text.n ||
            (last && !is_blank((rlf_str){text.p + next, text.n - next})))
            return rlf_fail(
                err, RLF_USER,
                "%s:%u: not JSON: the list does not end where the file does",
                r->spec->path, line);
        if (last)
            break;
        text = (rlf_str){text.p + next, text.n - next};
    }
    return RLF_OK;
}

/* A JSON list: all from `line` on, whose beginning is in lines->buf. */
static rlf_status
read_list(reader *r, rlf_lines *lines, rlf_str line, rlf_err *err)
{
    const char *path = r->spec->path;
    size_t begin = (size_t)(line.p - lines->buf.p);
    char chunk[1 << 16];
    for (size_t got = 1; got;) {
        RLF_TRY(rlf_stream_read(lines->stream, chunk, sizeof chunk, err, &got));
        if (!rlf_buf_try(&lines->buf, got))
            return rlf_fail_memory(err, 2 * lines->buf.n, "what %s holds",
                                   path);
        rlf_buf_add(&lines->buf, chunk, got);
        if (lines->buf.n > r->most)
            return rlf_fail(err, RLF_USER,
                            "%s is larger than %zu MB; a list that long is "
                            "better kept as jsonl",
                            path, r->most >> 20);
    }
    json_t *list = NULL;
    rlf_str text = {lines->buf.p + begin, lines->buf.n - begin};
    rlf_status status = rlf_json_parse_exact(path, lines->line, text.p, text.n,
                                             err, &list, &r->found);
    r->rows->list = true;
    if (status == RLF_USER && r->found.why[0]) {
        size_t open =
            (size_t)((char *)memchr(text.p, '[', text.n) - text.p) + 1;
        rlf_err_clear(err);
        return read_rows(r, lines->line,
                         (rlf_str){text.p + open, text.n - open}, err);
    }
    RLF_TRY(status);
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n && want_more(r) && status == RLF_OK; i++) {
        r->line = (uint32_t)i + 1;
        status = put_object(r, json_array_get(list, i), err);
    }
    json_decref(list);
    return status;
}

/* What the file is, by its first line that is not blank. */
static rlf_status
read_json(reader *r, rlf_lines *lines, rlf_err *err)
{
    const char *path = r->spec->path;
    rlf_str line = {0};
    size_t i;
    do {
        bool more = false;
        RLF_TRY(rlf_lines_next(lines, path, most_line, err, &more, &line));
        if (!more)
            return RLF_OK;
        i = 0;
        while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
            i++;
    } while (i == line.n);
    if (line.n >= 4 && memcmp(line.p, "PAR1", 4) == 0) {
        rlf_fail(err, RLF_USER, "%s is a parquet file, which is not read",
                 path);
        rlf_err_hint(err, "convert it to jsonl");
        return RLF_USER;
    }
    return line.p[i] == '[' ? read_list(r, lines, line, err)
                            : read_jsonl(r, lines, line, err);
}

/* --- csv --- */

/* Does the name, without .gz or .zst, end in `ending`, of four characters? */
static bool
ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path);
    if (n > 3 && strcmp(path + n - 3, ".gz") == 0)
        n -= 3;
    else if (n > 4 && strcmp(path + n - 4, ".zst") == 0)
        n -= 4;
    return n > 4 && strncmp(path + n - 4, ending, 4) == 0;
}

/* The place of each column's field in the records, by the first record. */
static rlf_status
match_header(reader *r, const rlf_csv *csv, size_t *places, rlf_err *err)
{
    for (size_t c = 0; c < r->rows->n_columns; c++) {
        const char *field = r->rows->columns[c].field;
        size_t i = 0;
        while (i < csv->fields.count &&
               !rlf_str_eq(csv->fields.data[i].text, rlf_str_of(field)))
            i++;
        places[c] = i;
        for (size_t k = i + 1; k < csv->fields.count; k++)
            if (rlf_str_eq(csv->fields.data[k].text, rlf_str_of(field)))
                return rlf_fail(err, RLF_USER,
                                "%s: the first line has the field \"%s\" twice",
                                r->spec->path, field);
        if (i < csv->fields.count)
            continue;
        rlf_fail(err, RLF_USER, "%s: the first line has no field \"%s\"",
                 r->spec->path, field);
        rlf_buf all = {0};
        for (i = 0; i < csv->fields.count; i++)
            rlf_buf_printf(&all, "%s%s", i ? ", " : "",
                           csv->fields.data[i].text.p);
        rlf_err_hint(err, "it has %.300s", all.p ? all.p : "none");
        rlf_buf_free(&all);
        return RLF_USER;
    }
    return RLF_OK;
}

/* Would the number that a cell holds be printed as the cell is written? Not
 * 007, 1.50, 1e3, -0, nor more digits than a number keeps. */
static bool
is_numeric(rlf_str text)
{
    bool same = false;
    if (text.n && text.n < 32 && strspn(text.p, "0123456789.-") == text.n &&
        !rlf_str_eq(text, RLF_STR("-0"))) {
        rlf_buf printed = {0};
        char *end;
        double x = strtod(text.p, &end);
        rlf_buf_number(&printed, x);
        same = !*end && rlf_str_eq(text, (rlf_str){printed.p, printed.n});
        rlf_buf_free(&printed);
    }
    return same;
}

/* All cells are texts; number_columns, at the end, makes numbers of them. */
static rlf_status
read_csv_cell(reader *r, size_t c, const rlf_csv_field *field, rlf_err *err)
{
    json_t *valid = json_stringn(field->text.p, field->text.n);
    if (!valid)
        return rlf_fail(err, RLF_USER, "%s: \"%s\" is not UTF-8", place(r),
                        r->rows->columns[c].field);
    json_decref(valid);
    r->cells[c] = (cell){.kind = RLF_RECORD_TEXT,
                         .text = field->text,
                         .numeric = !field->quoted && is_numeric(field->text)};
    return RLF_OK;
}

/* A column all of whose cells are numeric is one of numbers. */
static void
number_columns(reader *r)
{
    rlf_records *rows = r->rows;
    for (size_t c = 0; c < rows->n_columns && rows->count; c++) {
        struct column *from = &r->columns[c];
        if (from->numeric != rows->count)
            continue;
        for (size_t i = 0; i < rows->count; i++)
            RLF_PUSH(&from->numbers, strtod(from->texts.data[i].p, NULL));
        from->texts.count = 0;
        rows->columns[c].kind = RLF_RECORD_NUMBER;
        rows->digest = rlf_digest_add(rows->digest, &c, sizeof c);
    }
}

static rlf_status
read_csv_rows(reader *r, rlf_csv *csv, size_t *places, rlf_err *err)
{
    bool more = false;
    RLF_TRY(rlf_csv_next(csv, most_line, err, &more));
    if (!more)
        return RLF_OK;
    RLF_TRY(match_header(r, csv, places, err));
    size_t n = csv->fields.count;
    while (want_more(r)) {
        RLF_TRY(rlf_csv_next(csv, most_line, err, &more));
        if (!more)
            break;
        r->line = csv->line;
        if (r->seen++ < r->spec->skip)
            continue;
        rlf_status status = RLF_OK;
        if (csv->fields.count != n)
            status =
                rlf_fail(err, RLF_USER,
                         "%s: the record has %zu fields, the first line %zu",
                         place(r), csv->fields.count, n);
        for (size_t c = 0; c < r->rows->n_columns && status >= 0; c++)
            status = read_csv_cell(r, c, &csv->fields.data[places[c]], err);
        RLF_TRY(end_row(r, status));
    }
    return RLF_OK;
}

static rlf_status
read_csv(reader *r, rlf_stream *stream, rlf_err *err)
{
    rlf_csv csv = {.lines.stream = stream,
                   .path = r->spec->path,
                   .separator = ends_in(r->spec->path, ".tsv") ? '\t' : ','};
    size_t *places = RLF_NEW_ARRAY(r->arena, size_t, r->rows->n_columns);
    rlf_status status = read_csv_rows(r, &csv, places, err);
    rlf_csv_free(&csv);
    if (status >= 0)
        number_columns(r);
    return status;
}

/* --- the whole --- */

static rlf_status
keep(rlf_arena *arena, const void *p, size_t n, rlf_err *err, void *out)
{
    void *copy;
    RLF_TRY(rlf_arena_try(arena, n, "the rows of data", err, &copy));
    if (n)
        memcpy(copy, p, n);
    memcpy(out, &copy, sizeof copy);
    return RLF_OK;
}

/* Move the growing columns into the arena. */
static rlf_status
settle(reader *r)
{
    rlf_err *err = r->err;
    rlf_records *rows = r->rows;
    for (size_t c = 0; c < rows->n_columns; c++) {
        struct column *from = &r->columns[c];
        rlf_record_column *to = &rows->columns[c];
        if (from->numbers.count)
            RLF_TRY(keep(r->arena, from->numbers.data,
                         rows->count * sizeof *to->numbers, err, &to->numbers));
        if (from->texts.count)
            RLF_TRY(keep(r->arena, from->texts.data,
                         rows->count * sizeof *to->texts, err, &to->texts));
        if (from->chats.count)
            RLF_TRY(keep(r->arena, from->chats.data,
                         rows->count * sizeof *to->chats, err, &to->chats));
    }
    return keep(r->arena, r->lines.data, rows->count * sizeof *rows->lines, err,
                &rows->lines);
}

rlf_status
rlf_records_read(const rlf_records_spec *spec, rlf_arena *arena, rlf_err *err,
                 rlf_records *out)
{
    size_t n = spec->n_columns;
    *out = (rlf_records){.path = rlf_arena_strdup(arena, spec->path),
                         .columns = RLF_NEW_ARRAY(arena, rlf_record_column, n),
                         .n_columns = n};
    reader r = {.spec = spec,
                .arena = arena,
                .err = err,
                .rows = out,
                .columns = RLF_NEW_ARRAY(arena, struct column, n),
                .cells = RLF_NEW_ARRAY(arena, cell, n),
                .most = spec->most ? spec->most : (size_t)4 << 30,
                .used = rlf_arena_used(arena)};
    for (size_t c = 0; c < n; c++) {
        out->columns[c].label = rlf_arena_strdup(arena, spec->columns[c].label);
        out->columns[c].field = rlf_arena_strdup(arena, spec->columns[c].field);
    }
    rlf_stream *stream = NULL;
    RLF_TRY(rlf_stream_open(spec->path, err, &stream));
    rlf_lines lines = {.stream = stream};
    out->csv =
        spec->csv || ends_in(spec->path, ".csv") || ends_in(spec->path, ".tsv");
    rlf_status status =
        out->csv ? read_csv(&r, stream, err) : read_json(&r, &lines, err);
    rlf_buf_free(&lines.buf);
    rlf_stream_close(stream);
    if (status == RLF_OK && !out->count) {
        status = rlf_fail(err, RLF_USER, "%s has no rows", spec->path);
        if (out->dropped)
            rlf_err_hint(err, "all %llu were dropped, the first because %s",
                         (unsigned long long)out->dropped, out->why);
        else if (spec->skip && r.seen)
            rlf_err_hint(err, "it has %llu, and skip: passes over %llu",
                         (unsigned long long)r.seen,
                         (unsigned long long)spec->skip);
        else if (out->csv)
            rlf_err_hint(err, "its first line names the fields, and each line "
                              "after it is a row");
        else
            rlf_err_hint(err, "each line is a row: an object in JSON");
    }
    if (status == RLF_OK)
        status = settle(&r);
    for (size_t c = 0; c < n; c++) {
        RLF_VEC_FREE(&r.columns[c].numbers);
        RLF_VEC_FREE(&r.columns[c].texts);
        RLF_VEC_FREE(&r.columns[c].chats);
    }
    RLF_VEC_FREE(&r.lines);
    return status;
}

const rlf_record_column *
rlf_records_column(const rlf_records *rows, const char *label)
{
    for (size_t c = 0; c < rows->n_columns; c++)
        if (strcmp(rows->columns[c].label, label) == 0)
            return &rows->columns[c];
    return NULL;
}

const char *
rlf_records_place(const rlf_records *rows, size_t i, rlf_arena *arena)
{
    return rlf_arena_printf(arena, rows->list ? "%s row %u" : "%s:%u",
                            rows->path, rows->lines[i]);
}
