/* The reader of patterns, in two files: pattern.c has groups, repeats and
 * anchors, pattern_class.c has escapes and bracketed classes. */
#ifndef RLF_TEXT_PATTERN_INSIDE_H
#define RLF_TEXT_PATTERN_INSIDE_H

#include "engine/text/pattern.h"

enum { PATTERN_DEPTH = 100 }; /* of groups and classes in each other */

typedef struct pattern_options {
    bool fold, dot_all, extended; /* (?i), (?m), (?x) */
} pattern_options;

typedef struct pattern_reader {
    rlf_arena *arena;
    const char *begin, *p; /* the text and how far it is read */
    rlf_pattern *out;
    pattern_options options;
    const char *wrong; /* the reason why reading stopped; NULL: it goes on */
    uint32_t last;     /* the character before, of a (?i) literal, or 0 */
    size_t depth;      /* the depth of groups and classes */
} pattern_reader;

/* Stop; false, for the caller to return. */
bool pattern_stop(pattern_reader *r, const char *wrong);
/* Take the character at p, of any number of bytes. */
uint32_t pattern_take(pattern_reader *r);
/* One character, as a set. */
rlf_codes pattern_one(pattern_reader *r, uint32_t code);
/* Reads what follows a backslash, at p: a character (*code) or a class (*set,
 * *is_set). `inside` a bracketed class. Anchors and \R are not here. */
bool pattern_escape(pattern_reader *r, bool inside, bool *is_set,
                    uint32_t *code, rlf_codes *set);
/* A bracketed class, p behind its '['. *single is its only character, if it
 * lists one and is not negated, else 0. */
bool pattern_class(pattern_reader *r, rlf_codes *out, uint32_t *single);
/* The set of a class without brackets: \w there has six characters more. */
rlf_codes pattern_word(pattern_reader *r);

#endif
