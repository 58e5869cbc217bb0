/* Philox4x32-10 and the run's keyed draws: see philox.h. */
#include "engine/base/philox.h"

#include "engine/base/hash.h"

void
rlf_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2];
    uint32_t c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0;
        uint64_t b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint64_t
rlf_draw(const rlf_random_key *key, uint64_t position)
{
    /* The counter is position and sample; what else names the draw is mixed
     * into the 64-bit key. */
    uint64_t k = rlf_hash_mix(
        key->seed ^
        rlf_hash_mix(((uint64_t)key->step << 32 | key->site) +
                     (uint64_t)key->purpose * UINT64_C(0x9E3779B97F4A7C15)));
    const uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32),
                                 (uint32_t)key->sample,
                                 (uint32_t)(key->sample >> 32)};
    const uint32_t words[2] = {(uint32_t)k, (uint32_t)(k >> 32)};
    uint32_t out[4];
    rlf_philox(counter, words, out);
    return (uint64_t)out[1] << 32 | out[0];
}

double
rlf_draw_uniform(const rlf_random_key *key, uint64_t position)
{
    return (double)(rlf_draw(key, position) >> 11) * 0x1p-53;
}

uint64_t
rlf_draw_below(const rlf_random_key *key, uint64_t position, uint64_t n)
{
    /* the high word of a 64 x 64 product */
    return (uint64_t)(((unsigned __int128)rlf_draw(key, position) * n) >> 64);
}

void
rlf_draw_shuffle(const rlf_random_key *key, uint32_t n, uint32_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)rlf_draw_below(key, i, i);
        uint32_t t = out[i - 1];
        out[i - 1] = out[j];
        out[j] = t;
    }
}
