/* Records of a csv file (RFC 4180): commas, or another separator, quotes
 * doubled inside quotes, line ends inside quotes, which are kept as they are.
 * Used by records.c only. */
#ifndef RLF_IO_CSV_H
#define RLF_IO_CSV_H

#include "engine/base/vec.h"
#include "engine/io/stream.h"

typedef struct rlf_csv_field {
    rlf_str text;
    bool quoted;
} rlf_csv_field;

typedef struct rlf_csv {
    rlf_lines lines;
    const char *path;
    char separator; /* the separator of fields: a comma, a tab */
    rlf_buf bytes;  /* the bytes of the record's fields */
    RLF_VEC(rlf_csv_field) fields;
    uint32_t line; /* where the record begins */
    uint64_t start; /* bytes of the file before the record */
} rlf_csv;

/* The next record into csv->fields (valid until the next call); *more is false
 * at the end. Empty lines are passed over. */
rlf_status rlf_csv_next(rlf_csv *csv, size_t most, rlf_err *err, bool *more);
void rlf_csv_free(rlf_csv *csv); /* leaves the stream */

#endif
