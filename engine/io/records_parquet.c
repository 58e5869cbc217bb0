/* Rows of a parquet file: each as an object of JSON. */
#include "engine/io/file.h"
#include "engine/io/parquet.h"
#include "engine/io/records_inside.h"

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

rlf_status
rlf_records_read_parquet(rlf_record_reader *r, rlf_err *err)
{
    size_t n = r->spec->n_columns;
    const char **fields = RLF_NEW_ARRAY(r->arena, const char *, n + 1);
    rlf_parquet *file;
    bool there = rlf_file_exists(r->path);
    if (there && !rlf_parquet_is(r->path)) {
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
    RLF_TRY(rlf_parquet_open(r->path, fields, n, err, &file));
    rlf_status status = read_rows(r, file, err);
    rlf_parquet_close(file);
    return status;
}
