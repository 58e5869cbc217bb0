/* Rows of csv: records behind a first line with the names of the fields. */
#include "engine/io/csv.h"
#include "engine/io/records_inside.h"

#include <stdlib.h>
#include <string.h>

/* The place of column c's field in the records, by the first record. */
static rlf_status
match_field(rlf_record_reader *r, size_t c, const rlf_csv *csv, size_t *place,
            rlf_err *err)
{
    const char *field = r->rows->columns[c].field;
    size_t i = 0;
    while (i < csv->fields.count &&
           !rlf_str_eq(csv->fields.data[i].text, rlf_str_of(field)))
        i++;
    *place = i;
    for (size_t k = i + 1; k < csv->fields.count; k++)
        if (rlf_str_eq(csv->fields.data[k].text, rlf_str_of(field)))
            return rlf_fail(err, RLF_USER,
                            "%s: the first line has the field \"%s\" twice",
                            r->path, field);
    if (i < csv->fields.count)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "%s: the first line has no field \"%s\"", r->path,
             field);
    rlf_buf all = {0};
    for (i = 0; i < csv->fields.count; i++)
        rlf_buf_printf(&all, "%s%s", i ? ", " : "", csv->fields.data[i].text.p);
    rlf_err_hint(err, "it has %.*s", RLF_CUT(300, all.p ? all.p : "none"));
    rlf_buf_free(&all);
    return RLF_USER;
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

/* All cells are texts; rlf_records_end_csv makes numbers of them. */
static rlf_status
read_csv_cell(rlf_record_reader *r, size_t c, const rlf_csv_field *field,
              rlf_err *err)
{
    json_t *valid = json_stringn(field->text.p, field->text.n);
    if (!valid)
        return rlf_fail(err, RLF_USER, "%s: \"%s\" is not UTF-8",
                        rlf_record_where(r), r->rows->columns[c].field);
    json_decref(valid);
    r->cells[c] =
        (rlf_record_cell){.kind = RLF_RECORD_TEXT,
                          .text = field->text,
                          .numeric = !field->quoted && is_numeric(field->text)};
    return RLF_OK;
}

/* A column all of whose cells are numeric is one of numbers. */
void
rlf_records_end_csv(rlf_record_reader *r)
{
    rlf_records *rows = r->rows;
    for (size_t c = 0; c < rows->n_columns && rows->count; c++) {
        struct rlf_growing_column *from = &r->columns[c];
        if (from->numeric > rows->count / 2)
            rows->columns[c].odd = from->odd;
        if (from->odd)
            continue;
        rows->columns[c].kind = RLF_RECORD_NUMBER;
        rows->digest = rlf_digest_add(rows->digest, &c, sizeof c);
    }
}

rlf_status
rlf_record_read_fields(rlf_record_reader *r, const rlf_csv *csv,
                       const size_t *places, rlf_err *err)
{
    rlf_status status = RLF_OK;
    for (size_t c = 0; c < r->rows->n_columns && status >= 0; c++)
        status = rlf_record_column_status(
            r, c, read_csv_cell(r, c, &csv->fields.data[places[c]], err));
    return status;
}

static void
see_names(const rlf_record_reader *r, const rlf_csv *csv)
{
    json_t *names = json_object();
    for (size_t i = 0; i < csv->fields.count; i++)
        json_object_set_new(names, csv->fields.data[i].text.p, json_null());
    r->spec->see(r->spec->see_arg, names);
    json_decref(names);
}

static rlf_status
read_csv_rows(rlf_record_reader *r, rlf_csv *csv, size_t *places, rlf_err *err)
{
    bool more = false;
    RLF_TRY(rlf_csv_next(csv, RLF_RECORD_MOST_LINE, err, &more));
    if (!more)
        return RLF_OK;
    for (size_t c = 0; c < r->rows->n_columns; c++)
        RLF_TRY(rlf_record_column_status(
            r, c, match_field(r, c, csv, &places[c], err)));
    size_t n = csv->fields.count;
    if (r->again)
        rlf_record_again_csv(r->rereads, (size_t)(r->file - r->rows->files),
                             csv->separator, places, n);
    if (r->spec->see)
        see_names(r, csv);
    while (rlf_record_wanted(r)) {
        RLF_TRY(rlf_csv_next(csv, RLF_RECORD_MOST_LINE, err, &more));
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
                         rlf_record_where(r), csv->fields.count, n);
        else
            status = rlf_record_read_fields(r, csv, places, err);
        if (r->again)
            r->spot = (rlf_record_spot){
                .at = csv->start,
                .bytes = (size_t)(csv->lines.base + csv->lines.at - csv->start),
                .mark = rlf_record_mark(csv->bytes.p, csv->bytes.n)};
        RLF_TRY(rlf_record_end_row(r, status));
    }
    return RLF_OK;
}

rlf_status
rlf_records_read_csv(rlf_record_reader *r, rlf_stream *stream, char separator,
                     rlf_err *err)
{
    rlf_csv csv = {
        .lines.stream = stream, .path = r->path, .separator = separator};
    size_t *places = RLF_NEW_ARRAY(r->arena, size_t, r->rows->n_columns);
    rlf_status status = read_csv_rows(r, &csv, places, err);
    rlf_csv_free(&csv);
    return status;
}
