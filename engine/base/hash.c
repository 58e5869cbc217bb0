/* A 64-bit hash: see hash.h. */
#include "engine/base/hash.h"

#include <string.h>

uint64_t
rlf_hash(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t
rlf_hash_mix(uint64_t h)
{
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ (h >> 33);
}

uint64_t
rlf_hash_text(const char *text)
{
    return rlf_hash_mix(rlf_hash(RLF_HASH_INIT, text, strlen(text)));
}
