/* Characters as readers see them: extended grapheme clusters (Unicode annex
 * 29), such as a letter with its accents. */
#ifndef RLF_TEXT_GRAPHEME_H
#define RLF_TEXT_GRAPHEME_H

#include <stddef.h>

/* Bytes of the first cluster of the n >= 1 bytes of valid UTF-8 at p, which
 * begin one. */
size_t rlf_grapheme_next(const char *p, size_t n);

#endif
