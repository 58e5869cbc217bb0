/* Added tokens: texts that are tokens of their own wherever they stand, such as
 * <|endoftext|>, found before anything else looks at a text. */
#ifndef RLF_TEXT_ADDED_H
#define RLF_TEXT_ADDED_H

#include "engine/base/arena.h"
#include "engine/base/str.h"

#include <stdint.h>

typedef struct rlf_added {
    rlf_str text;
    uint32_t id;
    bool special;        /* not part of the text that decoding gives */
    bool normalized;     /* looked for after normalization, else before */
    bool single_word;    /* not inside a word */
    bool lstrip, rstrip; /* takes the white space beside it */
    bool rewritten;      /* its text was normalized, and has become another */
    bool named;          /* no list of tokens has it, but names, */
    bool said;           /* one of them as a text */
    rlf_str decoded; /* its text as decoders see it, if that is not `text` */
} rlf_added;

/* Looks for a list of them, at every place the longest: in about as many
 * comparisons as the list's length has bits, whatever its texts have in common.
 */
typedef struct rlf_finder {
    /* Tokens in byte order of their texts, each text once. */
    const rlf_added **sorted;
    int32_t *inner;      /* by token: the longest other one that it begins with,
                            which stands before it, or -1 */
    uint32_t begin[257]; /* by first byte: the first token with it */
} rlf_finder;

void rlf_finder_init(rlf_finder *finder, rlf_arena *arena,
                     const rlf_added *const *list, size_t n);

typedef struct rlf_added_match {
    const rlf_added *added; /* NULL: no more */
    /* Bytes of the token with the white space that it takes; it is a token only
     * if there is something left between them. */
    size_t from, to;
    size_t end; /* the end of its own text: the next one may begin there, before
                   `to`, in white space that this one takes */
} rlf_added_match;
/* The first in the valid UTF-8 p[0..n) behind `last`, zero-filled for the first
 * of all. What lies between last->to and its `from` is ordinary text; there is
 * none where `from` is less. `plain`: special ones are ordinary text. */
rlf_added_match rlf_finder_next(const rlf_finder *finder, const char *p,
                                size_t n, const rlf_added_match *last,
                                bool plain);

#endif
