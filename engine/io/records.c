/* Data sets: see records.h. The formats (records_json.c, records_csv.c) yield
 * the cells of one row after the other; here their kinds are checked, and they
 * go into columns. */
#include "engine/io/records_inside.h"

#include <string.h>

const char *
rlf_record_kind_word(rlf_record_kind kind)
{
    static const char *const words[] = {
        "a number", "a text", "a list of chat messages", "true or false"};
    return words[kind];
}

bool
rlf_record_wanted(const rlf_record_reader *r)
{
    const rlf_records_spec *s = r->spec;
    uint64_t enough = r->rows->csv ? 0 : s->enough;
    return (!s->first || r->seen < s->skip + s->first) &&
           (!enough || r->rows->count < enough);
}

const char *
rlf_record_where(const rlf_record_reader *r)
{
    return rlf_arena_printf(r->arena, r->file->list ? "%s row %u" : "%s:%u",
                            r->path, r->line);
}

rlf_status
rlf_record_column_status(rlf_record_reader *r, size_t c, rlf_status status)
{
    if (status < 0)
        r->rows->wrong = r->rows->columns[c].label;
    return status;
}

/* --- cells --- */

static rlf_str
keep_text(rlf_record_reader *r, const char *p, size_t n)
{
    return (rlf_str){rlf_arena_strndup(r->arena, p, n), n};
}

/* Is a message two texts and nothing else? */
static bool
is_plain(const json_t *message)
{
    return json_object_size(message) == 2 &&
           json_is_string(json_object_get(message, "content"));
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
        if (!is_plain(item))
            bytes += json_dumpb(item, NULL, 0, JSON_COMPACT) + 1;
    }
    return bytes;
}

/* A message as JSON, its keys in their order. */
static rlf_str
keep_json(rlf_record_reader *r, const json_t *message)
{
    size_t n = json_dumpb(message, NULL, 0, JSON_COMPACT);
    char *p = rlf_arena_alloc(r->arena, n + 1);
    json_dumpb(message, p, n, JSON_COMPACT);
    return (rlf_str){p, n};
}

static rlf_chat
keep_chat(rlf_record_reader *r, const json_t *list)
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
        if (!is_plain(item))
            messages[i].json = keep_json(r, item);
    }
    return (rlf_chat){messages, n};
}

static rlf_digest
add_text(rlf_digest digest, rlf_str text)
{
    return rlf_digest_add(digest, text.p, text.n);
}

static rlf_digest
add_message(rlf_digest digest, const rlf_message *message)
{
    digest = add_text(add_text(digest, message->role), message->content);
    return add_text(digest, message->json);
}

/* Is it of the column's kind? The first row decides that. */
static rlf_status
check_cell(rlf_record_reader *r, size_t c)
{
    static const char *const kinds[] = {
        "numbers", "texts", "lists of chat messages", "true or false"};
    const rlf_record_column *column = &r->rows->columns[c];
    rlf_record_kind kind = r->cells[c].kind;
    if (r->rows->count == 0 || column->kind == kind)
        return RLF_OK;
    rlf_fail(r->err, RLF_USER, "%s: \"%s\" is %s, in the first row%s%s %s",
             rlf_record_where(r), column->field, rlf_record_kind_word(kind),
             r->files.count ? " of " : "",
             r->files.count ? r->rows->files[r->files.data[0]].path : "",
             rlf_record_kind_word(column->kind));
    rlf_err_hint(r->err, "a column has one kind: make them all %s, or all %s",
                 kinds[column->kind], kinds[kind]);
    return RLF_USER;
}

static rlf_status
put_cell(rlf_record_reader *r, size_t c)
{
    static const char what[] = "the rows of data";
    rlf_err *err = r->err;
    const rlf_record_cell *from = &r->cells[c];
    rlf_record_column *column = &r->rows->columns[c];
    struct rlf_growing_column *to = &r->columns[c];
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
        to->odd += to->numeric == to->texts.count;
        digest = add_text(digest, from->text);
        break;
    case RLF_RECORD_CHAT: {
        RLF_TRY_ROOM(&to->chats, 1, what);
        RLF_TRY(rlf_arena_room(r->arena, chat_bytes(from->chat), what, err));
        rlf_chat chat = keep_chat(r, from->chat);
        RLF_PUSH(&to->chats, chat);
        digest = rlf_digest_add(digest, &chat.count, sizeof chat.count);
        for (size_t i = 0; i < chat.count; i++)
            digest = add_message(digest, &chat.messages[i]);
        break;
    }
    }
    r->rows->digest = digest;
    return RLF_OK;
}

/* The row at hand, whose cells are read (`status`), goes into the columns; one
 * that cannot is an error, or is counted and left out. */
rlf_status
rlf_record_end_row(rlf_record_reader *r, rlf_status status)
{
    rlf_err *err = r->err;
    if (status >= 0)
        status = rlf_record_part(r);
    for (size_t c = 0; c < r->rows->n_columns && status >= 0; c++)
        status = rlf_record_column_status(r, c, check_cell(r, c));
    if (status == RLF_USER && r->spec->drop) {
        if (!r->rows->dropped++)
            r->rows->why = rlf_arena_strdup(r->arena, r->err->sentence);
        rlf_err_clear(r->err);
        r->rows->wrong = NULL;
        return RLF_OK;
    }
    if (status < 0)
        return status;
    for (size_t c = 0; c < r->rows->n_columns; c++)
        RLF_TRY(put_cell(r, c));
    RLF_TRY_ROOM(&r->lines, 1, "the rows of data");
    RLF_PUSH(&r->lines, r->line);
    if (r->rows->n_files > 1) {
        RLF_TRY_ROOM(&r->files, 1, "the rows of data");
        RLF_PUSH(&r->files, (uint32_t)(r->file - r->rows->files));
    }
    r->rows->count++;
    if (rlf_arena_used(r->arena) - r->used > r->most) {
        rlf_fail(r->err, RLF_USER,
                 "%s: the rows up to here take more than %zu MB of memory",
                 rlf_record_where(r), r->most >> 20);
        rlf_err_hint(r->err, "take fewer rows with first:, or fewer columns");
        return RLF_USER;
    }
    return RLF_OK;
}

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
settle(rlf_record_reader *r)
{
    rlf_err *err = r->err;
    rlf_records *rows = r->rows;
    for (size_t c = 0; c < rows->n_columns; c++) {
        struct rlf_growing_column *from = &r->columns[c];
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
    if (r->files.count)
        RLF_TRY(keep(r->arena, r->files.data,
                     rows->count * sizeof *rows->file_of, err, &rows->file_of));
    return keep(r->arena, r->lines.data, rows->count * sizeof *rows->lines, err,
                &rows->lines);
}

/* Why there is none. */
static rlf_status
no_rows(const rlf_record_reader *r)
{
    const rlf_records *rows = r->rows;
    const rlf_records_spec *spec = r->spec;
    rlf_err *err = r->err;
    if (rows->dropped) {
        rlf_fail(err, RLF_USER,
                 "none of the %llu rows of %s can be used; the first is "
                 "dropped because %s",
                 (unsigned long long)rows->dropped, spec->path, rows->why);
        rlf_err_hint(err, "on_error: drop leaves out rows that no step could "
                          "use, and all are such rows");
        return RLF_USER;
    }
    rlf_fail(err, RLF_USER, "%s has no rows", spec->path);
    if (spec->skip && r->seen)
        rlf_err_hint(err, "it has %llu, and skip: passes over %llu",
                     (unsigned long long)r->seen,
                     (unsigned long long)spec->skip);
    else if (rows->csv)
        rlf_err_hint(err, "its first line names the fields, and each line "
                          "after it is a row");
    else
        rlf_err_hint(err, "each line is a row: an object in JSON");
    return RLF_USER;
}

static rlf_status
read_file(rlf_record_reader *r, rlf_err *err)
{
    const char *path = r->path;
    rlf_stream *stream = NULL;
    if (r->spec->parquet)
        return rlf_records_read_parquet(r, err);
    RLF_TRY(rlf_stream_open(path, err, &stream));
    rlf_lines lines = {.stream = stream};
    r->rows->csv = r->spec->csv;
    char between = ends_in(path, ".tsv") ? '\t' : ',';
    rlf_status status = r->rows->csv
                            ? rlf_records_read_csv(r, stream, between, err)
                            : rlf_records_read_json(r, &lines, err);
    rlf_buf_free(&lines.buf);
    rlf_stream_close(stream);
    return status;
}

rlf_status
rlf_records_read(const rlf_records_spec *spec, rlf_arena *arena, rlf_err *err,
                 rlf_records *out)
{
    size_t n = spec->n_columns;
    *out = (rlf_records){.path = rlf_arena_strdup(arena, spec->path),
                         .columns = RLF_NEW_ARRAY(arena, rlf_record_column, n),
                         .n_columns = n};
    out->n_files = spec->paths ? spec->n_paths : 1;
    rlf_record_file *files =
        RLF_NEW_ARRAY(arena, rlf_record_file, out->n_files);
    for (size_t f = 0; f < out->n_files; f++)
        files[f].path =
            spec->paths ? rlf_arena_strdup(arena, spec->paths[f]) : out->path;
    out->files = files;
    rlf_record_reader r = {
        .spec = spec,
        .arena = arena,
        .err = err,
        .rows = out,
        .columns = RLF_NEW_ARRAY(arena, struct rlf_growing_column, n),
        .cells = RLF_NEW_ARRAY(arena, rlf_record_cell, n),
        .most = spec->most ? spec->most : (size_t)4 << 30,
        .used = rlf_arena_used(arena)};
    for (size_t c = 0; c < n; c++) {
        out->columns[c].label = rlf_arena_strdup(arena, spec->columns[c].label);
        out->columns[c].field = rlf_arena_strdup(arena, spec->columns[c].field);
    }
    rlf_status status = RLF_OK;
    for (size_t f = 0; f < out->n_files && status >= 0; f++) {
        r.file = &files[f];
        r.path = files[f].path;
        if (f && !rlf_record_wanted(&r))
            break;
        status = read_file(&r, err);
    }
    if (status >= 0 && out->csv)
        rlf_records_end_csv(&r);
    if (status == RLF_OK && !out->count)
        status = no_rows(&r);
    if (status == RLF_OK)
        status = settle(&r);
    for (size_t c = 0; c < n; c++) {
        RLF_VEC_FREE(&r.columns[c].numbers);
        RLF_VEC_FREE(&r.columns[c].texts);
        RLF_VEC_FREE(&r.columns[c].chats);
    }
    RLF_VEC_FREE(&r.lines);
    RLF_VEC_FREE(&r.files);
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
    const rlf_record_file *file =
        &rows->files[rows->file_of ? rows->file_of[i] : 0];
    return rlf_arena_printf(arena, file->list ? "%s row %u" : "%s:%u",
                            file->path, rows->lines[i]);
}
