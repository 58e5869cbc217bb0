/* WordPiece models: one word to token ids.
 *
 * The longest token that a word begins with is taken, then the longest that the
 * rest begins with, and so on; tokens within a word are written with a prefix.
 * A word that cannot be written so is one unknown token as a whole. Where only
 * whole words are tokens that is a WordLevel model. Built once, then read-only.
 */
#ifndef RLF_TEXT_WORDPIECE_H
#define RLF_TEXT_WORDPIECE_H

#include "engine/text/vocabulary.h"

typedef struct rlf_wordpiece {
    const rlf_vocabulary *vocabulary;
    rlf_str prefix;   /* the text before tokens within a word */
    size_t most;      /* characters of a word; a longer one is unknown */
    uint32_t longest; /* bytes of a token */
    uint32_t unk;     /* RLF_NO_ID: none */
    bool bytes;       /* words are bytes, not characters */
    bool whole;       /* only whole words are tokens */
} rlf_wordpiece;

/* Append the ids of the word p[0..n): valid UTF-8, or bytes; `spelled` is for
 * its own use. RLF_USER for a word that is unknown where there is no unknown
 * token. */
rlf_status rlf_wordpiece_encode(const rlf_wordpiece *wordpiece,
                                rlf_buf *spelled, const char *p, size_t n,
                                rlf_err *err, rlf_ids *out);

#endif
