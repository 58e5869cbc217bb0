/* A 128-bit content digest (XXH3-128 of libxxhash): what says that two inputs
 * of a run, two programs, plans or tokenizers are the same. It tells contents
 * apart that were not made to collide; it is not cryptographic. Hash maps take
 * the shorter one of hash.h. */
#ifndef RLF_BASE_DIGEST_H
#define RLF_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rlf_digest {
    uint64_t high, low;
} rlf_digest;

enum { RLF_DIGEST_TEXT = 33 }; /* bytes of its text, with the 0 */

/* Returns what `xxh128sum` prints of a file that holds these n bytes. */
rlf_digest rlf_digest_of(const void *p, size_t n);
/* The same of bytes that come in pieces; rlf_digester_end frees it. */
typedef struct rlf_digester rlf_digester;
rlf_digester *rlf_digester_new(void);
void rlf_digester_add(rlf_digester *digester, const void *p, size_t n);
rlf_digest rlf_digester_end(rlf_digester *digester);
/* `digest` continued with n bytes. The pieces count: "ab" is not "a", "b".
 * Begin with {0}. */
rlf_digest rlf_digest_add(rlf_digest digest, const void *p, size_t n);
bool rlf_digest_equal(rlf_digest a, rlf_digest b);
/* 32 hexadecimal digits. Returns `out`. */
const char *rlf_digest_print(rlf_digest digest, char out[RLF_DIGEST_TEXT]);

#endif
