/* A regular expression of a tokenizer file, as its reference reads it: in
 * Oniguruma's own syntax, over the characters of unicode.h. What it is made of
 * is told in parts: text that means the same to PCRE2, and sets of characters
 * for which the caller puts classes. Nothing is approximated: what cannot be
 * told is refused, with the place. */
#ifndef RLF_TEXT_PATTERN_H
#define RLF_TEXT_PATTERN_H

#include "engine/base/status.h"
#include "engine/text/unicode.h"

typedef struct rlf_pattern_part {
    const char *text; /* NULL: a character of `set` */
    size_t set;
} rlf_pattern_part;

typedef struct rlf_pattern {
    struct {
        rlf_pattern_part *data;
        size_t count, room;
    } parts;
    struct {
        rlf_codes *data;
        size_t count, room;
    } sets;
} rlf_pattern;

/* Read the valid UTF-8 `text`; everything is kept in the arena. `file` is for
 * the error, which names the byte where reading stopped. */
rlf_status rlf_pattern_parse(rlf_arena *arena, const char *file,
                             const char *text, rlf_err *err, rlf_pattern *out);

#endif
