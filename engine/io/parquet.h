/* Rows of parquet files, as objects of JSON.
 *
 * Read are: pages of both versions, whole or compressed by snappy, gzip or
 * zstd, with their checksums; the encodings plain, dictionary, run lengths,
 * delta (numbers, lengths, texts) and byte stream split; columns that are
 * nested in lists and structs. A file with another codec, encoding or type, or
 * with keys, is refused by name where a wanted column has it.
 *
 * Truth values are true and false; integers and floats are numbers; texts,
 * also byte arrays that say nothing of themselves, are texts in UTF-8; decimals
 * are texts of their digits, dates and times texts by ISO 8601; a list is a
 * list, a struct an object, a map with keys that are texts an object.
 *
 * Of each wanted column a page and the dictionary are in memory, whatever the
 * size of the file. */
#ifndef RLF_IO_PARQUET_H
#define RLF_IO_PARQUET_H

#include "engine/base/status.h"
#include "engine/base/str.h"
#include "engine/io/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rlf_parquet rlf_parquet;

/* Does the file begin as one? */
bool rlf_parquet_is(const char *path);
#define RLF_PARQUET_ALL "*" /* for a name: every column */
/* `fields`: the columns that rows have, each by its name or a path that begins
 * with it ("messages.0.content"); of the others they have null. RLF_USER with
 * the path for what is no parquet file, or is damaged. */
rlf_status rlf_parquet_open(const char *path, const char *const *fields,
                            size_t n, rlf_err *err, rlf_parquet **out);
/* The next row, a new reference; NULL behind the last. `*why`, until the next
 * call: why the row cannot be used, as it has something that JSON has not
 * (no UTF-8, no finite number, more digits than a number keeps); NULL: it can.
 * RLF_USER if the file is damaged. */
rlf_status rlf_parquet_next(rlf_parquet *p, rlf_err *err, json_t **row,
                            const char **why);

/* The same without objects, where all that is wanted are columns of texts. The
 * number of the one that `field` names; SIZE_MAX: it is no column, or no text.
 */
size_t rlf_parquet_text_column(const rlf_parquet *p, const char *field);
/* Goes to the next row, of which each such column is to be taken once; false:
 * there is none. */
bool rlf_parquet_step(rlf_parquet *p);
/* Gives its text in that row, borrowed until the next step; p NULL: null. Not
 * looked at is whether it is UTF-8. RLF_USER if the file is damaged. */
rlf_status rlf_parquet_take_text(rlf_parquet *p, size_t column, rlf_err *err,
                                 rlf_str *out);
void rlf_parquet_close(rlf_parquet *p); /* NULL is fine */

#endif
