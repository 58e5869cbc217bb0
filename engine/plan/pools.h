/* Pools (engine/graph/resource.h) on the device of a rank: what its memory
 * leaves beside everything else is theirs. Runs size them so, and simulations.
 */
#ifndef RLF_PLAN_POOLS_H
#define RLF_PLAN_POOLS_H

#include "engine/plan/memory.h"

/* Adds those of all of the rank's resources, with the units that plans count.
 */
void rlf_opened_pools(const rlf_opened *opened, rlf_pools *out);
/* Bytes of the units that they have. */
uint64_t rlf_pools_bytes(const rlf_pools *pools);
/* Divides `left` bytes among all of them, as units of each into
 * units[pools->list.count]: the same share of the bytes, but no more than it
 * has a use for, and no fewer units than it needs. */
void rlf_pools_divide(const rlf_pools *pools, uint64_t left, uint64_t *units);

#endif
