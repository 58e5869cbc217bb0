/* Regular expressions of tokenizer files.
 *
 * They mean what their reference makes of them (pattern.h); PCRE2 matches
 * them. It never sees characters: those that a pattern tells apart nowhere
 * are one kind, and PCRE2 gets a byte for the kind of each character. So no
 * table of a machine's library has a say in what matches. */
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

/* A walk through the matches in the valid UTF-8 p[0..n), which stays where it
 * is meanwhile. Matches do not overlap; an empty one counts unless it is where
 * the match before has ended. */
typedef struct rlf_regex_walk {
    const rlf_regex *regex;
    const char *p;
    size_t n;
    void *match;
    unsigned char *kinds; /* the class of each character; NULL: the text itself
                             is searched */
    size_t room; /* the number of characters that `kinds` has room for */
    size_t units;         /* characters, or bytes of a literal's text */
    /* Units at which the search starts and the match ends. */
    size_t start, last;
    /* The last unit and byte up to which units were counted. */
    size_t unit, byte;
    bool any;             /* there has been a match */
} rlf_regex_walk;

/* `walk` is zero, or was begun before: it keeps its memory until it ends, also
 * if this fails. */
rlf_status rlf_regex_begin(rlf_regex_walk *walk, const rlf_regex *regex,
                           const char *p, size_t n, rlf_err *err);
/* The next match, as bytes; *found false if there is none. */
rlf_status rlf_regex_next(rlf_regex_walk *walk, rlf_err *err, bool *found,
                          size_t *begin, size_t *end);
void rlf_regex_end(rlf_regex_walk *walk);

#endif
