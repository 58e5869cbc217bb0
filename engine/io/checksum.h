/* Checksums of journals: CRC-32 (zlib's). It finds torn and flipped bytes; it
 * is not meant against forgery. Digests of files for checkpoint manifests. */
#ifndef RLF_IO_CHECKSUM_H
#define RLF_IO_CHECKSUM_H

#include "engine/base/digest.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Continue `sum` with n bytes; start with 0. */
uint32_t rlf_checksum(uint32_t sum, const void *p, size_t n);
/* Digest (base/digest.h) and size of a whole file: what `xxh128sum` prints.
 * Without `whole`, of a file above 64 MB the digest of as many bytes, from
 * places all over it: quick, and enough to see that it is another file, but not
 * that a few bytes of it were changed. */
rlf_status rlf_digest_file(const char *path, bool whole, rlf_err *err,
                           rlf_digest *digest, uint64_t *size);

#endif
