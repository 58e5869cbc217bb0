/* Spaces that "clean_up_tokenization_spaces" takes out of decoded text: ten
 * texts are replaced one after the other, as in "it 's a . b". Each replacement
 * is a step that passes on what cannot begin its text any more. */
#ifndef RLF_TEXT_CLEAN_H
#define RLF_TEXT_CLEAN_H

#include "engine/base/str.h"

#include <stdint.h>

enum { RLF_CLEAN_STEPS = 10 };

/* Appends to `out` what is certain of the text p[0..n) that goes on after those
 * before it. waits[RLF_CLEAN_STEPS]: zero-filled for the first. */
void rlf_clean_feed(uint8_t *waits, const char *p, size_t n, rlf_buf *out);
/* No more text: appends what waits. */
void rlf_clean_end(uint8_t *waits, rlf_buf *out);

#endif
