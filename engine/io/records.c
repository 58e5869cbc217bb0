/* Data sets: see records.h. The formats (records_json.c, records_csv.c) yield
 * the cells of one row after the other; here their kinds are checked, and they
 * go into columns. */
#include "engine/io/records_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static rlf_digest
add_text(rlf_digest digest, rlf_str text)
{
    return rlf_digest_add(digest, text.p, text.n);
}

/* The messages of a chat as a row has them, at p. */
static rlf_digest
add_chat(rlf_digest digest, const char *p)
{
    uint32_t n;
    memcpy(&n, p, sizeof n);
    p += sizeof n;
    const size_t count = n;
    digest = rlf_digest_add(digest, &count, sizeof count);
    for (size_t i = 0; i < 3 * count; i++) { /* role, content, JSON */
        rlf_record_value part;
        rlf_record_take_value(&p, RLF_RECORD_TEXT, NULL, NULL, &part);
        digest = add_text(digest, part.text);
    }
    return digest;
}

/* Is it of the column's kind? The first row decides that. */
static rlf_status
check_cell(rlf_record_reader *r, size_t c)
{
    static const char *const kinds[] = {
        "numbers", "texts", "lists of chat messages", "true or false"};
    const rlf_record_column *column = &r->rows->columns[c];
    rlf_record_kind kind = r->cells[c].kind;
    bool several = r->rows->n_files > 1;
    if (r->rows->count == 0 || column->kind == kind)
        return RLF_OK;
    rlf_fail(r->err, RLF_USER, "%s: \"%s\" is %s, in the first row%s%s %s",
             rlf_record_where(r), column->field, rlf_record_kind_word(kind),
             several ? " of " : "",
             several ? r->rows->files[rlf_record_store_file(r->store, 0)].path
                     : "",
             rlf_record_kind_word(column->kind));
    rlf_err_hint(r->err, "a column has one kind: make them all %s, or all %s",
                 kinds[column->kind], kinds[kind]);
    return RLF_USER;
}

/* A cell of csv, which may be one of a column of numbers. */
static rlf_status
put_numeric(rlf_record_reader *r, size_t c)
{
    rlf_err *err = r->err;
    const rlf_record_cell *from = &r->cells[c];
    struct rlf_growing_column *to = &r->columns[c];
    to->numeric += from->numeric;
    if (!from->numeric && !to->odd) {
        to->odd =
            rlf_arena_printf(r->arena, "%s: \"%.*s\"", rlf_record_where(r),
                             RLF_CUT(60, from->text.p));
        RLF_VEC_FREE(&to->numbers);
    }
    if (to->odd)
        return RLF_OK;
    RLF_TRY_ROOM(&to->numbers, 1, "the rows of data");
    RLF_PUSH(&to->numbers, strtod(from->text.p, NULL));
    return RLF_OK;
}

static bool
is_answered(const json_t *chat)
{
    const json_t *last = json_array_get(chat, json_array_size(chat) - 1);
    const char *role = json_string_value(json_object_get(last, "role"));
    return strcmp(role, "assistant") == 0;
}

/* `at`: where its value begins in the row. */
static rlf_status
put_cell(rlf_record_reader *r, size_t c, size_t at)
{
    rlf_err *err = r->err;
    const rlf_record_cell *from = &r->cells[c];
    rlf_record_column *column = &r->rows->columns[c];
    struct rlf_growing_column *to = &r->columns[c];
    rlf_digest digest = r->rows->digest;
    if (r->rows->count == 0) {
        column->kind = column->written = from->kind;
        digest =
            rlf_digest_add(digest, column->label, strlen(column->label) + 1);
        digest = rlf_digest_add(digest, &column->kind, sizeof column->kind);
    }
    switch (from->kind) {
    case RLF_RECORD_NUMBER:
    case RLF_RECORD_BOOL:
        RLF_TRY_ROOM(&to->numbers, 1, "the rows of data");
        RLF_PUSH(&to->numbers, from->number);
        digest = rlf_digest_add(digest, &from->number, sizeof from->number);
        break;
    case RLF_RECORD_TEXT:
        if (r->rows->csv)
            RLF_TRY(put_numeric(r, c));
        digest = add_text(digest, from->text);
        break;
    case RLF_RECORD_CHAT:
        if (column->answered == SIZE_MAX && is_answered(from->chat))
            column->answered = r->rows->count;
        digest = add_chat(digest, r->row.p + at);
        break;
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
    rlf_buf_clear(&r->row);
    for (size_t c = 0; c < r->rows->n_columns; c++) {
        size_t at = r->row.n;
        RLF_TRY(rlf_record_put_value(r, &r->cells[c], &r->row));
        RLF_TRY(put_cell(r, c, at));
    }
    RLF_TRY(rlf_record_store_add(r->store, (size_t)(r->file - r->rows->files),
                                 r->line,
                                 (rlf_str){r->row.p ? r->row.p : "", r->row.n},
                                 r->again ? &r->spot : NULL, err));
    r->rows->count++;
    const rlf_records_sizes size = rlf_record_store_size(r->store);
    if (rlf_arena_used(r->arena) - r->used + size.memory + size.index >
        r->most) {
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

/* Move the growing columns into the arena. */
static rlf_status
settle(rlf_record_reader *r)
{
    rlf_err *err = r->err;
    rlf_records *rows = r->rows;
    for (size_t c = 0; c < rows->n_columns; c++) {
        struct rlf_growing_column *from = &r->columns[c];
        double *numbers;
        if (!from->numbers.count)
            continue;
        size_t bytes = rows->count * sizeof *numbers;
        RLF_TRY(
            rlf_arena_try(r->arena, bytes, "the rows of data", err, &numbers));
        memcpy(numbers, from->numbers.data, bytes);
        rows->columns[c].numbers = numbers;
    }
    return RLF_OK;
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
    r->again = r->large && rlf_stream_is_plain(stream);
    rlf_status status = RLF_OK;
    if (r->again)
        status = rlf_record_again_open(r->rereads,
                                       (size_t)(r->file - r->rows->files), err);
    rlf_lines lines = {.stream = stream};
    r->rows->csv = r->spec->csv;
    char between = ends_in(path, ".tsv") ? '\t' : ',';
    if (status >= 0)
        status = r->rows->csv ? rlf_records_read_csv(r, stream, between, err)
                              : rlf_records_read_json(r, &lines, err);
    rlf_buf_free(&lines.buf);
    rlf_stream_close(stream);
    return status;
}

/* May the files have more than memory is to hold? */
static bool
are_large(const rlf_records_spec *spec, const rlf_records *rows)
{
    size_t most = spec->in_memory ? spec->in_memory : RLF_RECORD_IN_MEMORY;
    uint64_t sum = 0;
    for (size_t f = 0; f < rows->n_files && !spec->parquet; f++) {
        struct stat about;
        if (stat(rows->files[f].path, &about) == 0 && about.st_size > 0)
            sum += (uint64_t)about.st_size;
    }
    return sum > most;
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
        out->columns[c].answered = SIZE_MAX;
    }
    r.large = are_large(spec, out);
    if (r.large)
        r.rereads = rlf_record_again_new(arena, spec, out);
    out->store = r.store =
        rlf_record_store_new(arena, spec, out->n_files, r.rereads);
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
    if (status == RLF_OK)
        status = rlf_record_store_end(r.store, err);
    for (size_t c = 0; c < n; c++)
        RLF_VEC_FREE(&r.columns[c].numbers);
    rlf_buf_free(&r.row);
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

static size_t
store_row(const rlf_records *rows, size_t i)
{
    return rows->at ? rows->at[i] : i;
}

rlf_status
rlf_records_row(const rlf_records *rows, size_t i, rlf_arena *pool,
                rlf_err *err, const rlf_record_value **out)
{
    const char *at = NULL;
    rlf_record_value *values;
    RLF_TRY(rlf_arena_try(pool, rows->n_columns * sizeof *values,
                          "a row of data", err, &values));
    RLF_TRY(
        rlf_record_store_read(rows->store, store_row(rows, i), pool, err, &at));
    for (size_t c = 0; c < rows->n_columns; c++) {
        rlf_record_kind kind = rows->columns[c].written;
        if (kind == RLF_RECORD_TEXT || kind == RLF_RECORD_CHAT)
            RLF_TRY(rlf_record_take_value(&at, kind, pool, err, &values[c]));
    }
    *out = values;
    return RLF_OK;
}

uint32_t
rlf_records_line(const rlf_records *rows, size_t i)
{
    return rlf_record_store_line(rows->store, store_row(rows, i));
}

rlf_records_sizes
rlf_records_size(const rlf_records *rows)
{
    return rows->store ? rlf_record_store_size(rows->store)
                       : (rlf_records_sizes){0};
}

const char *
rlf_records_place(const rlf_records *rows, size_t i, rlf_arena *arena)
{
    size_t file = rlf_record_store_file(rows->store, store_row(rows, i));
    return rlf_arena_printf(arena,
                            rows->files[file].list ? "%s row %u" : "%s:%u",
                            rows->files[file].path, rlf_records_line(rows, i));
}
