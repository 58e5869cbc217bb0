/* A 64-bit hash (FNV-1a with a final mix) for hash maps and for keys of random
 * numbers. What says that two things are the same is digest.h. */
#ifndef RLF_BASE_HASH_H
#define RLF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define RLF_HASH_INIT UINT64_C(0xcbf29ce484222325)

/* Continue `hash` with n bytes. Start with RLF_HASH_INIT. */
uint64_t rlf_hash(uint64_t hash, const void *p, size_t n);
/* Hash of a 0-terminated text, mixed. */
uint64_t rlf_hash_text(const char *text);
/* Spread the bits of a finished hash. */
uint64_t rlf_hash_mix(uint64_t hash);

#endif
