/* Declarations that the formats of data sets share: the row at hand and the
 * columns that it goes into. For records*.c alone. */
#ifndef RLF_IO_RECORDS_INSIDE_H
#define RLF_IO_RECORDS_INSIDE_H

#include "engine/base/digest.h"
#include "engine/base/vec.h"
#include "engine/io/csv.h"
#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/io/stream.h"

#define RLF_RECORD_MOST_LINE ((size_t)64 << 20) /* bytes */
#define RLF_RECORD_IN_MEMORY ((size_t)64 << 20) /* of all texts, unless said \
                                                 */

/* One value on its way into a column. Texts are borrowed. */
typedef struct rlf_record_cell {
    rlf_record_kind kind;
    double number;
    rlf_str text;
    bool numeric; /* csv: a number that is written as it would be printed */
    const json_t *chat;
} rlf_record_cell;

/* Rows that were read; and how they are read again from their files. */
typedef struct rlf_record_store rlf_record_store;
typedef struct rlf_record_again rlf_record_again;

/* The place of a row in a plain file. */
typedef struct rlf_record_spot {
    uint64_t at;
    size_t bytes;
    uint32_t mark; /* a digest: of the text of JSON; of csv of its fields */
} rlf_record_spot;

typedef struct rlf_record_reader {
    const rlf_records_spec *spec;
    rlf_arena *arena;
    rlf_err *err;
    rlf_records *rows;
    rlf_record_store *store;
    rlf_record_again *rereads; /* NULL: nothing is large */
    const char *path;          /* the path of the file at hand */
    rlf_record_file *file; /* the same */
    struct rlf_growing_column {
        RLF_VEC(double) numbers; /* csv: while all cells are */
        size_t numeric;          /* csv: cells that are numbers */
        const char *odd; /* the first value that is none, with its place */
    } * columns;
    rlf_record_cell *cells; /* the cells of the row at hand, by column */
    rlf_buf row;            /* the bytes of the row at hand */
    json_t *made;           /* lists cut out of it */
    rlf_json_found found;   /* what is found in its JSON */
    uint64_t seen; /* rows, also skipped ones */
    bool large;    /* files that are plain are read again, row by row */
    bool again;    /* so is the one at hand: */
    rlf_record_spot spot; /* where the row at hand stands in it */
    size_t most;   /* bytes of memory */
    size_t used;   /* bytes in the arena before */
    uint32_t line; /* the line of the row at hand */
} rlf_record_reader;

/* May a row still be of use? `skip` and `first` count rows of the file, also
 * those that are dropped: what the one passes over is what the other takes. */
bool rlf_record_wanted(const rlf_record_reader *r);
/* "data.jsonl:12", of the row at hand, in the arena. */
const char *rlf_record_where(const rlf_record_reader *r);
/* Takes the status of work on column c; an error is noted with the column. */
rlf_status rlf_record_column_status(rlf_record_reader *r, size_t c,
                                    rlf_status status);
/* The row at hand, whose cells are read (`status`), goes into the columns; one
 * that cannot is RLF_USER, or is counted and left out. */
rlf_status rlf_record_end_row(rlf_record_reader *r, rlf_status status);

/* A list of {"from": ..., "value": ...} becomes one of chat messages, which
 * lives as long as the row; other values stay. RLF_USER for who is not known.
 */
rlf_status rlf_record_as_chat(rlf_record_reader *r, const char *field,
                              const json_t **value);
/* The cell of a column of tools; `value` NULL: the row has no such field. */
rlf_status rlf_record_tools(rlf_record_reader *r, size_t c,
                            const json_t *value);
/* Cells of columns that are parts of conversations, which hold all of them,
 * become these parts. RLF_USER. */
rlf_status rlf_record_part(rlf_record_reader *r);

/* The row at hand is an object of JSON, or `why` says why it is of no use. */
rlf_status rlf_record_put_object(rlf_record_reader *r, const json_t *object,
                                 const char *why, rlf_err *err);

/* Cells of an object, or of a record whose fields are those of the columns. */
rlf_status rlf_record_read_object(rlf_record_reader *r, const json_t *object);
rlf_status rlf_record_read_fields(rlf_record_reader *r,
                                  const struct rlf_csv *csv,
                                  const size_t *places, rlf_err *err);
/* 32 bits of the digest. */
uint32_t rlf_record_mark(const void *p, size_t n);

/* ---- records_again.c ---- */

/* Makes a reader of the rows of these files, which has read the header alone;
 * it goes with the arena. */
rlf_record_again *rlf_record_again_new(rlf_arena *arena,
                                       const rlf_records_spec *spec,
                                       const rlf_records *rows);
/* Rows of file f will be read again: it is kept open, if not too many are. */
rlf_status rlf_record_again_open(rlf_record_again *again, size_t f,
                                 rlf_err *err);
bool rlf_record_again_is(const rlf_record_again *again, size_t f);
/* Sets, for csv, the separator and the places of the columns in records of n
 * fields. */
void rlf_record_again_csv(rlf_record_again *again, size_t f, char separator,
                          const size_t *places, size_t n);
/* The values of a row, in `pool`. RLF_ENV, naming it, if it is another one than
 * it was. Safe for several threads. */
rlf_status rlf_record_again_read(rlf_record_again *again, size_t f,
                                 uint32_t line, const rlf_record_spot *spot,
                                 rlf_arena *pool, rlf_err *err,
                                 const char **out);
/* Bytes of the files that rows are read from. */
uint64_t rlf_record_again_size(const rlf_record_again *again);

/* ---- records_store.c ---- */

/* Makes a store of rows of these files, some of which `again` reads (NULL:
 * none); it goes with the arena. */
rlf_record_store *rlf_record_store_new(rlf_arena *arena,
                                       const rlf_records_spec *spec,
                                       size_t n_files, rlf_record_again *again);
/* The next row, of that file and line; its values are copied. `spot`: where it
 * is read again; NULL: of another file. */
rlf_status rlf_record_store_add(rlf_record_store *store, size_t file,
                                uint32_t line, rlf_str values,
                                const rlf_record_spot *spot, rlf_err *err);
/* There is no row more. */
rlf_status rlf_record_store_end(rlf_record_store *store, rlf_err *err);
/* The values of a row, borrowed or in `pool`. */
rlf_status rlf_record_store_read(const rlf_record_store *store, size_t row,
                                 rlf_arena *pool, rlf_err *err,
                                 const char **out);
size_t rlf_record_store_file(const rlf_record_store *store, size_t row);
uint32_t rlf_record_store_line(const rlf_record_store *store, size_t row);
rlf_records_sizes rlf_record_store_size(const rlf_record_store *store);
/* A text or chat, as a row has it. RLF_MEMORY. */
rlf_status rlf_record_put_value(rlf_record_reader *r,
                                const rlf_record_cell *cell, rlf_buf *out);
/* The one at *p, which goes behind it: borrowed but for the list of a chat's
 * messages, which is in `pool`. */
rlf_status rlf_record_take_value(const char **p, rlf_record_kind kind,
                                 rlf_arena *pool, rlf_err *err,
                                 rlf_record_value *out);

/* All rows of a file; RLF_USER, naming the place. */
rlf_status rlf_records_read_json(rlf_record_reader *r, rlf_lines *lines,
                                 rlf_err *err);
rlf_status rlf_records_read_csv(rlf_record_reader *r, rlf_stream *stream,
                                char separator, rlf_err *err);
/* Decides the kinds of csv columns, when all files are read. */
void rlf_records_end_csv(rlf_record_reader *r);
rlf_status rlf_records_read_parquet(rlf_record_reader *r, rlf_err *err);

#endif
