/* The "precompiled_charsmap" of a tokenizer file: what characters become in the
 * models of sentencepiece.
 *
 * It is, in base 64, a trie of what is looked for and the texts that it stands
 * for. The trie is read as its reference reads it: what matters is the shortest
 * entry that a cluster of at most five bytes (grapheme.h), or else each of its
 * characters, begins with; the entry replaces all of the cluster. */
#ifndef RLF_TEXT_CHARSMAP_H
#define RLF_TEXT_CHARSMAP_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

typedef struct rlf_charsmap rlf_charsmap;

/* Makes the map of a text in base 64. RLF_USER where it is damaged. */
rlf_status rlf_charsmap_new(rlf_arena *arena, const char *file,
                            const char *base64, rlf_err *err,
                            rlf_charsmap **out);
/* Append what the valid UTF-8 text becomes, and count how many bytes of that
 * its first *first bytes are, which may be NULL. RLF_USER where the trie leads
 * out of itself or of its texts, or the text becomes longer than `most`. */
rlf_status rlf_charsmap_apply(const rlf_charsmap *map, rlf_str text,
                              size_t most, size_t *first, rlf_err *err,
                              rlf_buf *out);

#endif
