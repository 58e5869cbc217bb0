/* Rows of large files, which are read again from these where they are wanted: a
 * line, a record or an item of a list, through the same functions as the first
 * time. Each has to be the one that was read then. */
#include "engine/io/file.h"
#include "engine/io/records_inside.h"

#include <pthread.h>
#include <string.h>

enum { MOST_OPEN = 64 }; /* files */

struct rlf_record_again {
    rlf_records_spec spec;
    rlf_records rows; /* columns and files alone */
    struct again_file {
        bool is;   /* its rows are read again */
        bool list; /* a row has a place */
        uint64_t size;
        char separator; /* csv */
        const size_t *places;
        size_t n_fields;
    } * files;
    pthread_mutex_t lock; /* for what follows, while a row's bytes are read */
    struct {
        size_t file;
        rlf_infile *input; /* NULL: none */
    } open[MOST_OPEN];
    size_t next; /* the one that is closed next */
};

/* One row on its way; each thread has its own. */
typedef struct work {
    rlf_record_cell *cells;
    rlf_csv csv;
    rlf_buf bytes, row;
} work;

static void
free_again(void *again_)
{
    rlf_record_again *again = again_;
    for (size_t i = 0; i < MOST_OPEN; i++)
        rlf_infile_close(again->open[i].input);
    pthread_mutex_destroy(&again->lock);
    free(again);
}

rlf_record_again *
rlf_record_again_new(rlf_arena *arena, const rlf_records_spec *spec,
                     const rlf_records *rows)
{
    size_t n = spec->n_columns;
    rlf_record_again *again = rlf_calloc(1, sizeof *again);
    rlf_record_field *columns = RLF_NEW_ARRAY(arena, rlf_record_field, n);
    pthread_mutex_init(&again->lock, NULL);
    again->rows = *rows;
    for (size_t c = 0; c < n; c++) {
        columns[c] = spec->columns[c];
        columns[c].label = rows->columns[c].label;
        columns[c].field = rows->columns[c].field;
    }
    again->spec = (rlf_records_spec){
        .columns = columns,
        .n_columns = n,
        .until = spec->until ? rlf_arena_strdup(arena, spec->until) : NULL,
        .csv = spec->csv};
    again->rows.csv = spec->csv;
    again->files = RLF_NEW_ARRAY(arena, struct again_file, rows->n_files);
    rlf_arena_defer(arena, free_again, again);
    return again;
}

bool
rlf_record_again_is(const rlf_record_again *again, size_t f)
{
    return again->files[f].is;
}

uint64_t
rlf_record_again_size(const rlf_record_again *again)
{
    uint64_t sum = 0;
    for (size_t f = 0; f < again->rows.n_files; f++)
        sum += again->files[f].size;
    return sum;
}

/* The file, open. */
static rlf_status
find_input(rlf_record_again *again, size_t f, rlf_err *err,
           const rlf_infile **out)
{
    for (size_t i = 0; i < MOST_OPEN; i++)
        if (again->open[i].input && again->open[i].file == f) {
            *out = again->open[i].input;
            return RLF_OK;
        }
    rlf_infile *input;
    RLF_TRY(rlf_infile_open(again->rows.files[f].path, err, &input));
    size_t at = again->next++ % MOST_OPEN;
    rlf_infile_close(again->open[at].input);
    again->open[at].input = input;
    again->open[at].file = f;
    *out = input;
    return RLF_OK;
}

rlf_status
rlf_record_again_open(rlf_record_again *again, size_t f, rlf_err *err)
{
    const rlf_infile *input;
    RLF_TRY(find_input(again, f, err, &input));
    again->files[f].is = true;
    again->files[f].size = rlf_infile_size(input);
    return RLF_OK;
}

void
rlf_record_again_csv(rlf_record_again *again, size_t f, char separator,
                     const size_t *places, size_t n)
{
    again->files[f].separator = separator;
    again->files[f].places = places;
    again->files[f].n_fields = n;
}

/* ---- one row ---- */

static rlf_status
read_object(rlf_record_reader *r, rlf_str text)
{
    json_t *object = NULL;
    rlf_status status = rlf_json_parse_exact(r->path, r->line, text.p, text.n,
                                             r->err, &object, &r->found);
    if (status >= 0)
        status = rlf_record_read_object(r, object);
    if (status >= 0)
        status = rlf_record_part(r);
    for (size_t c = 0; c < r->rows->n_columns && status >= 0; c++)
        status = rlf_record_put_value(r, &r->cells[c], &r->row);
    json_decref(r->made);
    json_decref(object);
    return status;
}

/* The record is all that is in the buffer of its lines. */
static rlf_status
read_record(rlf_record_reader *r, rlf_csv *csv, const struct again_file *file,
            uint32_t mark)
{
    bool more = false;
    rlf_err *err = r->err;
    RLF_TRY(rlf_csv_next(csv, RLF_RECORD_MOST_LINE, err, &more));
    if (!more || csv->fields.count != file->n_fields ||
        rlf_record_mark(csv->bytes.p, csv->bytes.n) != mark)
        return rlf_fail(err, RLF_USER, "another record");
    RLF_TRY(rlf_record_read_fields(r, csv, file->places, err));
    RLF_TRY(rlf_record_part(r));
    for (size_t c = 0; c < r->rows->n_columns; c++)
        RLF_TRY(rlf_record_put_value(r, &r->cells[c], &r->row));
    return RLF_OK;
}

/* The row, which is in w->bytes, to w->row; RLF_USER if it is not the one that
 * it was. */
static rlf_status
take_row(rlf_record_again *again, work *w, size_t f, uint32_t line,
         uint32_t mark, rlf_arena *pool, rlf_err *err)
{
    rlf_record_file file = again->rows.files[f];
    rlf_records rows = again->rows; /* what reading notes there is the row's */
    rlf_record_reader r = {.spec = &again->spec,
                           .arena = pool,
                           .err = err,
                           .rows = &rows,
                           .path = file.path,
                           .file = &file,
                           .cells = w->cells,
                           .line = line,
                           .row = w->row};
    rlf_status status;
    if (!again->spec.csv) {
        bool same = rlf_record_mark(w->bytes.p, w->bytes.n) == mark;
        status = same ? read_object(&r, (rlf_str){w->bytes.p, w->bytes.n})
                      : rlf_fail(err, RLF_USER, "another row");
    } else {
        /* not the first line, where a mark of the byte order may stand */
        w->csv.lines = (rlf_lines){.buf = w->bytes, .ended = true, .line = 1};
        w->csv.path = file.path;
        w->csv.separator = again->files[f].separator;
        status = read_record(&r, &w->csv, &again->files[f], mark);
        w->csv.lines.buf = (rlf_buf){0};
    }
    w->row = r.row;
    return status;
}

static rlf_status
fail_changed(const rlf_record_again *again, size_t f, uint32_t line,
             rlf_err *err)
{
    rlf_err_clear(err);
    rlf_fail(err, RLF_ENV,
             again->rows.files[f].list
                 ? "%s row %u is another one than it was when the data was "
                   "opened: the file was changed meanwhile"
                 : "%s:%u: the row is another one than it was when the data "
                   "was opened: the file was changed meanwhile",
             again->rows.files[f].path, line);
    rlf_err_hint(err, "a file of data that memory does not hold stays as it "
                      "is while a run reads it");
    return RLF_ENV;
}

static rlf_status
read_bytes(rlf_record_again *again, size_t f, const rlf_record_spot *spot,
           rlf_err *err, rlf_buf *out)
{
    const rlf_infile *input;
    if (!rlf_buf_try(out, spot->bytes))
        return rlf_fail_memory(err, spot->bytes, "a row of data");
    pthread_mutex_lock(&again->lock);
    rlf_status status = find_input(again, f, err, &input);
    if (status >= 0)
        status = rlf_infile_read(input, spot->at, out->p, spot->bytes, err);
    pthread_mutex_unlock(&again->lock);
    out->n = spot->bytes;
    out->p[spot->bytes] = 0;
    return status;
}

static rlf_status
read_row(rlf_record_again *again, work *w, size_t f, uint32_t line,
         const rlf_record_spot *spot, rlf_arena *pool, rlf_err *err,
         const char **out)
{
    char *values;
    rlf_status status = read_bytes(again, f, spot, err, &w->bytes);
    if (status >= 0)
        status = take_row(again, w, f, line, spot->mark, pool, err);
    if (status == RLF_USER)
        return fail_changed(again, f, line, err);
    RLF_TRY(status);
    size_t n = w->row.n;
    RLF_TRY(rlf_arena_try(pool, n + 1, "a row of data", err, &values));
    if (n)
        memcpy(values, w->row.p, n);
    *out = values;
    return RLF_OK;
}

rlf_status
rlf_record_again_read(rlf_record_again *again, size_t f, uint32_t line,
                      const rlf_record_spot *spot, rlf_arena *pool,
                      rlf_err *err, const char **out)
{
    work w = {0};
    RLF_TRY(rlf_arena_try(pool, (again->rows.n_columns + 1) * sizeof *w.cells,
                          "a row of data", err, &w.cells));
    rlf_status status = read_row(again, &w, f, line, spot, pool, err, out);
    rlf_csv_free(&w.csv);
    rlf_buf_free(&w.bytes);
    rlf_buf_free(&w.row);
    return status;
}
