/* A 128-bit content digest by libxxhash: see digest.h. */
#include "engine/base/digest.h"

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#define XXH_STATIC_LINKING_ONLY /* for the size of a state */
#include <xxhash.h>

rlf_digest
rlf_digest_of(const void *p, size_t n)
{
    XXH128_hash_t hash = XXH3_128bits(n ? p : "", n);
    return (rlf_digest){hash.high64, hash.low64};
}

struct rlf_digester {
    XXH3_state_t *state;
};

rlf_digester *
rlf_digester_new(void)
{
    rlf_digester *digester = rlf_malloc(sizeof *digester);
    digester->state = rlf_malloc_aligned(sizeof *digester->state);
    XXH3_128bits_reset(digester->state);
    return digester;
}

void
rlf_digester_add(rlf_digester *digester, const void *p, size_t n)
{
    XXH3_128bits_update(digester->state, p, n);
}

rlf_digest
rlf_digester_end(rlf_digester *digester)
{
    XXH128_hash_t hash = XXH3_128bits_digest(digester->state);
    free(digester->state);
    free(digester);
    return (rlf_digest){hash.high64, hash.low64};
}

rlf_digest
rlf_digest_add(rlf_digest digest, const void *p, size_t n)
{
    rlf_digest piece = rlf_digest_of(p, n);
    const uint64_t words[] = {digest.high, digest.low, piece.high, piece.low,
                              n};
    return rlf_digest_of(words, sizeof words);
}

bool
rlf_digest_equal(rlf_digest a, rlf_digest b)
{
    return a.high == b.high && a.low == b.low;
}

const char *
rlf_digest_print(rlf_digest digest, char out[RLF_DIGEST_TEXT])
{
    snprintf(out, RLF_DIGEST_TEXT, "%016" PRIx64 "%016" PRIx64, digest.high,
             digest.low);
    return out;
}
