/* CRC-32 by zlib: see checksum.h. */
#include "engine/io/checksum.h"

#include "engine/io/file.h"

#include <zlib.h>

uint32_t
rlf_checksum(uint32_t sum, const void *p, size_t n)
{
    return n ? (uint32_t)crc32_z(sum, p, n) : sum;
}

rlf_status
rlf_checksum_file(const char *path, rlf_err *err, uint32_t *sum, uint64_t *size)
{
    rlf_mapping file;
    RLF_TRY(rlf_mapping_open(path, err, &file));
    *sum = rlf_checksum(0, file.p, file.n);
    *size = file.n;
    rlf_mapping_close(&file);
    return RLF_OK;
}

enum { BLOCK = 1 << 16, BLOCKS = 1 << 10 };

rlf_status
rlf_checksum_probe(const char *path, rlf_err *err, uint32_t *sum,
                   uint64_t *size)
{
    rlf_mapping file;
    RLF_TRY(rlf_mapping_open(path, err, &file));
    size_t n = file.n, most = (size_t)BLOCK * BLOCKS;
    size_t block = n <= most ? n : BLOCK, step = n <= most ? n : n / BLOCKS;
    *sum = 0;
    *size = n;
    for (size_t at = 0; at + block <= n && block; at += step)
        *sum = rlf_checksum(*sum, file.p + at, block);
    rlf_mapping_close(&file);
    return RLF_OK;
}
