/* Regular expressions of tokenizer files, by PCRE2.
 *
 * The files are written for Oniguruma; where the two differ the pattern is
 * translated (\s is exactly Unicode's White_Space) or refused. */
#ifndef RLF_TEXT_REGEX_H
#define RLF_TEXT_REGEX_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

typedef struct rlf_regex rlf_regex;

/* Compile; `literal` takes the pattern as plain text. Freed with the arena.
 * Read-only afterwards: any number of threads may use it. */
rlf_status rlf_regex_new(rlf_arena *arena, const char *file,
                         const char *pattern, bool literal, rlf_err *err,
                         rlf_regex **out);
/* The first match in the valid UTF-8 p[0..n) that begins at or after `from`;
 * *found false if there is none. */
rlf_status rlf_regex_find(const rlf_regex *regex, const char *p, size_t n,
                          size_t from, rlf_err *err, bool *found, size_t *begin,
                          size_t *end);

#endif
