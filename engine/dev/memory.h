/* Finds how much memory this process may use: the least of the machine's, its
 * address space limit and that of its control groups (v2 memory.max, v1
 * limit_in_bytes). Read anew at every call. */
#ifndef RLF_DEV_MEMORY_H
#define RLF_DEV_MEMORY_H

#include <stdint.h>

/* Bytes; never 0. */
uint64_t rlf_host_memory_limit(void);

/* Bytes of the machine's memory that this process has had resident at most; 0:
 * the system does not say. */
uint64_t rlf_host_memory_peak(void);

#endif
