/* Small JSON files that a program writes for itself and reads again: an object
 * whose last line is the digest of all text above it,
 *
 *     ,
 *      "xxh128":"99aa..."}
 *
 * so that a byte that changed since is found. Texts of JSON have no line ends,
 * so no text in the object looks like that line. The digest has no key: it is
 * against accidents. */
#ifndef RLF_IO_SEALED_H
#define RLF_IO_SEALED_H

#include "engine/base/digest.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

#include <jansson.h>
#include <stdbool.h>

/* Append the last line to the text of an object that lacks its closing brace;
 * returns the digest of what was there. */
rlf_digest rlf_sealed_end(rlf_buf *text);
/* Is the text what was written, with its last line? *digest as above. */
bool rlf_sealed_is_whole(const rlf_buf *text, rlf_digest *digest);
/* Read the file, of at most `most` bytes; the caller owns *out (json_decref).
 * RLF_USER if it is damaged; else as rlf_json_parse_exact. */
rlf_status rlf_sealed_load(const char *path, size_t most, rlf_err *err,
                           json_t **out);
/* The sentence about a damaged file. */
rlf_status rlf_sealed_fail(const char *path, rlf_err *err);

#endif
