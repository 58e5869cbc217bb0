/* Copying in host memory past the caches.
 *
 * Bytes that are too many to stay in a cache are better not brought there: a
 * store into memory that is not in a cache reads it first, so that memcpy moves
 * half as much again. The C library does so for one very large copy only; a
 * copy that is large in all, but made of many parts, goes through here. */
#ifndef RLF_DEV_COPY_H
#define RLF_DEV_COPY_H

#include <stddef.h>

/* The bytes, of all copies together, from which on they go past the caches. */
#define RLF_COPY_PAST_BYTES ((size_t)4 << 20)

/* Ranges do not overlap. */
void rlf_copy_past(void *to, const void *from, size_t bytes);
/* Called after the last one: what was copied is there before anything that
 * follows. */
void rlf_copy_past_end(void);

#endif
