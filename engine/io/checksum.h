/* Checksums of files for checkpoint manifests: CRC-32 (zlib's). It finds torn
 * and flipped bytes; it is not meant against forgery. */
#ifndef RLF_IO_CHECKSUM_H
#define RLF_IO_CHECKSUM_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Continue `sum` with n bytes; start with 0. */
uint32_t rlf_checksum(uint32_t sum, const void *p, size_t n);
/* Checksum and size of a whole file. */
rlf_status rlf_checksum_file(const char *path, rlf_err *err, uint32_t *sum,
                             uint64_t *size);
/* The same of a file of up to 64 MB; of a larger one the checksum of as many
 * bytes, from places all over it: enough to tell two files apart that were not
 * made to be alike. */
rlf_status rlf_checksum_probe(const char *path, rlf_err *err, uint32_t *sum,
                              uint64_t *size);

#endif
