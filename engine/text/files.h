/* The files of a tokenizer, as they are when a run opens it: models are saved
 * with them, and the directory may change while the run goes on. */
#ifndef RLF_TEXT_FILES_H
#define RLF_TEXT_FILES_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

typedef struct rlf_tokenizer_file {
    const char *name; /* as a saved directory has it; NULL: there is none */
    rlf_str bytes;
} rlf_tokenizer_file;

enum { RLF_TOKENIZER_FILES = 9 };

/* Read all that are there. `path`: as for rlf_tokenizer_open; the bytes are in
 * `arena`. */
rlf_status
rlf_tokenizer_files_read(const char *path, rlf_arena *arena, rlf_err *err,
                         rlf_tokenizer_file out[RLF_TOKENIZER_FILES]);
/* Write them into the directory `dir`, which is there. */
rlf_status
rlf_tokenizer_files_write(const rlf_tokenizer_file files[RLF_TOKENIZER_FILES],
                          const char *dir, rlf_err *err);

#endif
