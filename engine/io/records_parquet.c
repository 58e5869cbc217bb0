/* Rows of a parquet file, or one of Arrow: each as an object of JSON. */
#include "engine/io/arrow.h"
#include "engine/io/file.h"
#include "engine/io/parquet.h"
#include "engine/io/records_inside.h"

#include <string.h>

/* Of texts most bytes are ASCII. */
static bool
is_utf8(rlf_str text)
{
    for (size_t i = 0; i < text.n;) {
        uint64_t eight;
        if (text.n - i >= sizeof eight) {
            memcpy(&eight, text.p + i, sizeof eight);
            if (!(eight & 0x8080808080808080)) {
                i += sizeof eight;
                continue;
            }
        }
        size_t n = rlf_str_utf8(text.p + i, text.n - i);
        if (!n)
            return false;
        i += n;
    }
    return true;
}

/* The columns of the file that are wanted, by column of the rows; NULL: they
 * are not all texts. */
static const size_t *
find_texts(const rlf_record_reader *r, const rlf_parquet *file)
{
    size_t n = r->rows->n_columns;
    size_t *columns = RLF_NEW_ARRAY(r->arena, size_t, n + 1);
    for (size_t c = 0; c < n; c++) {
        columns[c] = rlf_parquet_text_column(file, r->rows->columns[c].field);
        if (columns[c] == SIZE_MAX)
            return NULL;
    }
    return n && !r->spec->see ? columns : NULL;
}

/* Cells of the row at hand; *good: each is a text. Two that are of one column
 * share it. */
static rlf_status
take_texts(rlf_record_reader *r, rlf_parquet *file, const size_t *columns,
           rlf_err *err, bool *good)
{
    *good = true;
    for (size_t c = 0; c < r->rows->n_columns; c++) {
        size_t same = 0;
        while (columns[same] != columns[c])
            same++;
        r->cells[c] = (rlf_record_cell){.kind = RLF_RECORD_TEXT};
        if (same < c)
            r->cells[c].text = r->cells[same].text;
        else
            RLF_TRY(rlf_parquet_take_text(file, columns[c], err,
                                          &r->cells[c].text));
        *good = *good && r->cells[c].text.p && is_utf8(r->cells[c].text);
    }
    return RLF_OK;
}

/* A row that has null or no text somewhere, as an object, which says so. */
static rlf_status
put_odd(rlf_record_reader *r, rlf_err *err)
{
    char why[256] = "";
    json_t *row = json_object();
    for (size_t c = 0; c < r->rows->n_columns; c++) {
        const char *field = r->rows->columns[c].field;
        rlf_str text = r->cells[c].text;
        json_t *value = text.p ? json_stringn(text.p, text.n) : NULL;
        if (text.p && !value && !why[0])
            snprintf(why, sizeof why, "\"%.*s\" is no text in UTF-8",
                     RLF_CUT(100, field));
        json_object_set_new(row, field, value ? value : json_null());
    }
    rlf_status status = rlf_record_put_object(r, row, why[0] ? why : NULL, err);
    json_decref(row);
    return status;
}

/* Columns of texts, without an object for each row. */
static rlf_status
read_texts(rlf_record_reader *r, rlf_parquet *file, const size_t *columns,
           rlf_err *err)
{
    for (r->line = 1; rlf_record_wanted(r); r->line++) {
        bool good;
        if (!rlf_parquet_step(file))
            return RLF_OK;
        RLF_TRY(take_texts(r, file, columns, err, &good));
        if (!good)
            RLF_TRY(put_odd(r, err));
        else if (r->seen++ >= r->spec->skip)
            RLF_TRY(rlf_record_end_row(r, RLF_OK));
    }
    return RLF_OK;
}

static rlf_status
read_rows(rlf_record_reader *r, rlf_parquet *file, rlf_err *err)
{
    const char *why;
    json_t *row;
    for (r->line = 1; rlf_record_wanted(r); r->line++) {
        RLF_TRY(rlf_parquet_next(file, err, &row, &why));
        if (!row)
            return RLF_OK;
        rlf_status status = rlf_record_put_object(r, row, why, err);
        json_decref(row);
        RLF_TRY(status);
    }
    return RLF_OK;
}

static rlf_status
read_arrow(rlf_record_reader *r, const char *const *fields, size_t n,
           rlf_err *err)
{
    rlf_arrow *file;
    const char *why;
    json_t *row = NULL;
    RLF_TRY(rlf_arrow_open(r->path, fields, n, err, &file));
    rlf_status status = RLF_OK;
    for (r->line = 1; rlf_record_wanted(r) && status >= 0; r->line++) {
        status = rlf_arrow_next(file, err, &row, &why);
        if (status < 0 || !row)
            break;
        status = rlf_record_put_object(r, row, why, err);
        json_decref(row);
    }
    rlf_arrow_close(file);
    return status;
}

rlf_status
rlf_records_read_parquet(rlf_record_reader *r, rlf_err *err)
{
    size_t n = r->spec->n_columns;
    const char **fields = RLF_NEW_ARRAY(r->arena, const char *, n + 1);
    rlf_parquet *file;
    bool there = rlf_file_exists(r->path);
    bool is_arrow = there && rlf_arrow_is(r->path);
    if (there && !is_arrow && !rlf_parquet_is(r->path)) {
        rlf_fail(err, RLF_USER, "%s is no parquet file", r->path);
        rlf_err_hint(err, "lines of JSON are read by jsonl(...), fields with "
                          "commas between by csv(...)");
        return RLF_USER;
    }
    for (size_t i = 0; i < n; i++)
        fields[i] = r->spec->columns[i].field;
    if (r->spec->see)
        fields[n++] = RLF_PARQUET_ALL;
    r->file->list = true;
    if (is_arrow)
        return read_arrow(r, fields, n, err);
    RLF_TRY(rlf_parquet_open(r->path, fields, n, err, &file));
    const size_t *columns = find_texts(r, file);
    rlf_status status =
        columns ? read_texts(r, file, columns, err) : read_rows(r, file, err);
    rlf_parquet_close(file);
    return status;
}
