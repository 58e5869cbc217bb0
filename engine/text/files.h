/* The files of a tokenizer, as they are when a run opens it: models are saved
 * with them, and the directory may change while the run goes on. */
#ifndef RLF_TEXT_FILES_H
#define RLF_TEXT_FILES_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

typedef struct rlf_tokenizer_file {
    /* The file's name in a saved directory, in a folder or not. */
    const char *name;
    rlf_str bytes;
} rlf_tokenizer_file;

typedef struct rlf_tokenizer_files {
    rlf_tokenizer_file *data;
    size_t count, room;
} rlf_tokenizer_files;

/* Read all that are there. `path`: as for rlf_tokenizer_open; all of it is in
 * `arena`. */
rlf_status rlf_tokenizer_files_read(const char *path, rlf_arena *arena,
                                    rlf_err *err, rlf_tokenizer_files *out);
/* Write them into the directory `dir`, which is there. */
rlf_status rlf_tokenizer_files_write(const rlf_tokenizer_files *files,
                                     const char *dir, rlf_err *err);

/* Have both directories a tokenizer.json of the same bytes, and the same beside
 * it that decides which tokenizer it is? False also where one cannot be read.
 */
bool rlf_tokenizer_files_same(const char *a, const char *b, rlf_arena *arena);

#endif
