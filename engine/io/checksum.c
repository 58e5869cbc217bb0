/* CRC-32 by zlib, digests by libxxhash: see checksum.h. */
#include "engine/io/checksum.h"

#include "engine/io/file.h"

#include <zlib.h>

uint32_t
rlf_checksum(uint32_t sum, const void *p, size_t n)
{
    return n ? (uint32_t)crc32_z(sum, p, n) : sum;
}

enum { BLOCK = 1 << 16, BLOCKS = 1 << 10 };

/* Blocks of a digest, each `step` behind the one before. */
static rlf_status
digest_blocks(const rlf_infile *file, uint64_t step, rlf_err *err,
              rlf_digest *digest)
{
    char p[BLOCK];
    uint64_t size = rlf_infile_size(file);
    rlf_digester *digester = rlf_digester_new();
    rlf_status status = RLF_OK;
    for (uint64_t at = 0; at < size && status >= 0; at += step) {
        size_t n = size - at < BLOCK ? (size_t)(size - at) : BLOCK;
        status = rlf_infile_read(file, at, p, n, err);
        if (status >= 0)
            rlf_digester_add(digester, p, n);
    }
    *digest = rlf_digester_end(digester);
    return status;
}

rlf_status
rlf_digest_file(const char *path, bool whole, rlf_err *err, rlf_digest *digest,
                uint64_t *size)
{
    rlf_infile *file = NULL;
    RLF_TRY(rlf_infile_open(path, err, &file));
    uint64_t n = rlf_infile_size(file);
    bool few = !whole && n > (uint64_t)BLOCK * BLOCKS;
    *size = n;
    rlf_status status =
        digest_blocks(file, few ? n / BLOCKS : BLOCK, err, digest);
    rlf_infile_close(file);
    return status;
}
