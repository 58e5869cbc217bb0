/* Devices of a cluster that a session is planned for: kernels and memory. None
 * of them need be here: what is said does not depend on the build. */
#ifndef RLF_API_MACHINES_PLANNED_DEVICE_H
#define RLF_API_MACHINES_PLANNED_DEVICE_H

#include "engine/api/session.h"
#include "engine/plan/memory.h"
#include "engine/timing/seconds.h"

/* Kernels as far as counts look at them: how large numbers are and how weights
 * are packed. Nothing can be computed with those of GPUs. For a session with a
 * plan; in `arena`. */
const rlf_kernels *rlf_planned_kernels(const rlf_session *session,
                                       rlf_arena *arena);
/* The same of a GPU whose activations are of that type. */
const rlf_kernels *rlf_planned_gpu(rlf_cast_type real, rlf_arena *arena);
/* The speeds that seconds are worked out with, of a session with a cluster and
 * a plan. */
rlf_speeds rlf_planned_speeds(const rlf_session *session);
/* Bytes that a rank takes of its device's memory, which on a GPU is not the
 * host's. */
double rlf_planned_memory(const rlf_opened *opened, bool gpu, rlf_arena *arena);
/* Bytes of weights that the rank keeps in host memory (`offload:`). */
double rlf_planned_offloaded(const rlf_opened *opened, rlf_arena *arena);

#endif
