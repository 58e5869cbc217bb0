/* Rows of files in Arrow's format for streams, or for files, as objects of
 * JSON: what save_to_disk of the library `datasets` writes.
 *
 * Truth values are true and false; integers and floats are numbers; texts,
 * also bytes that say nothing of themselves, are texts in UTF-8; a list is a
 * list, a struct an object, a map with keys that are texts an object. A wanted
 * column of another type, with a dictionary, or of compressed buffers is
 * refused by name. One batch of rows is in memory. */
#ifndef RLF_IO_ARROW_H
#define RLF_IO_ARROW_H

#include "engine/base/status.h"
#include "engine/io/json.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct rlf_arrow rlf_arrow;

/* Does the file begin as one? */
bool rlf_arrow_is(const char *path);
/* These do as rlf_parquet_open and rlf_parquet_next (parquet.h). */
rlf_status rlf_arrow_open(const char *path, const char *const *fields, size_t n,
                          rlf_err *err, rlf_arrow **out);
rlf_status rlf_arrow_next(rlf_arrow *a, rlf_err *err, json_t **row,
                          const char **why);
void rlf_arrow_close(rlf_arrow *a); /* NULL is fine */

#endif
