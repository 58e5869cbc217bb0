/* UTF-8, unit by unit.
 *
 * Bytes that are not valid UTF-8 become U+FFFD, one for each maximal part that
 * begins like a sequence (Unicode 3.9, "substitution of maximal subparts"; what
 * Python and Rust do too). */
#ifndef RLF_TEXT_UTF8_H
#define RLF_TEXT_UTF8_H

#include "engine/base/str.h"

#include <stdint.h>

#define RLF_UTF8_BAD "\xef\xbf\xbd" /* U+FFFD */

/* The unit that the n >= 1 bytes at p begin with: k > 0: a valid character of k
 * bytes; -k: k bytes that are none; 0: all n bytes begin a character that is
 * not complete. */
int rlf_utf8_unit(const char *p, size_t n);
/* The code point of the valid character at p. */
uint32_t rlf_utf8_code(const char *p);
/* Write the character at p, which has room for four bytes; how many there are.
 */
size_t rlf_utf8_put(uint32_t code, char *p);
/* Bytes of the character that ends before p[at] in valid text, at > 0. */
size_t rlf_utf8_before(const char *p, size_t at);
bool rlf_utf8_valid(const char *p, size_t n);
/* Append the bytes to `out`, made valid. */
void rlf_utf8_clean(const char *p, size_t n, rlf_buf *out);

#endif
