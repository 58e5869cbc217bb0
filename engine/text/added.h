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
    bool rewritten;      /* it was normalized, and has another text so */
    bool named;          /* no list of tokens has it, but names, */
    bool said;           /* one of them as a text */
    rlf_str decoded;     /* what decoders see of it, if it is not the text */
} rlf_added;

/* Looks for a list of them, at every place the longest: in about as many
 * comparisons as the list's length has bits, whatever its texts have in common.
 */
typedef struct rlf_finder {
    const rlf_added **sorted; /* in byte order of their texts, each text once */
    int32_t *inner;      /* of each the longest other one that it begins with, or
                            -1; it stands before it */
    uint32_t begin[257]; /* of each first byte */
} rlf_finder;

void rlf_finder_init(rlf_finder *finder, rlf_arena *arena,
                     const rlf_added *const *list, size_t n);

typedef struct rlf_added_match {
    const rlf_added *added; /* NULL: no more */
    size_t from, to;        /* with the white space it takes; a token only if
                               there is something left between them */
    size_t end;             /* of its own text: the next one may begin there,
                               before `to`, in white space that this one takes */
} rlf_added_match;
/* The first in the valid UTF-8 p[0..n) behind `last`, zero-filled for the first
 * of all. What lies between last->to and its `from` is ordinary text; there is
 * none where `from` is less. `plain`: special ones are ordinary text. */
rlf_added_match rlf_finder_next(const rlf_finder *finder, const char *p,
                                size_t n, const rlf_added_match *last,
                                bool plain);

#endif
