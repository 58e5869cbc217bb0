/* Declarations that emulate.cc and emulate_device.c share: work of emulated
 * queues that is put down and carried out later, as that of a GPU is.
 *
 * Of one thread: an emulated GPU is for the thread that made it. Functions
 * only; which queue has which work, and who waits for whom, is
 * emulate_device.c. */
#ifndef RLF_KERNELS_CUDA_EMULATE_STEPS_H
#define RLF_KERNELS_CUDA_EMULATE_STEPS_H

#include "kernels/kernels.h"

/* Launches of the calling thread, copies and sets are put down in `steps`, with
 * their arguments as they are now, and carried out later. */
typedef struct rlf_emulated_steps rlf_emulated_steps;
rlf_emulated_steps *rlf_emulated_steps_new(bool recorded);
void rlf_emulated_steps_free(rlf_emulated_steps *steps); /* NULL is fine */
size_t rlf_emulated_steps_count(const rlf_emulated_steps *steps);
/* Sets where launches go from now on; NULL: they are carried out at once.
 * Returns where they went. */
rlf_emulated_steps *rlf_emulated_into(rlf_emulated_steps *steps);
/* as_now: of the bytes that are there now. */
void rlf_emulated_copy(rlf_emulated_steps *steps, void *to, const void *from,
                       size_t bytes, bool as_now);
void rlf_emulated_set(rlf_emulated_steps *steps, void *to, int byte,
                      size_t bytes);
void rlf_emulated_call(rlf_emulated_steps *steps,
                       void (*call)(void *ctx, uint64_t n), void *ctx,
                       uint64_t n);
/* The first n, which are then gone. */
void rlf_emulated_carry_out(rlf_emulated_steps *steps, size_t n);
/* A copy of the arguments, which `end` is given once the step is gone. */
void rlf_emulated_run_later(rlf_emulated_steps *steps, void (*run)(void *args),
                            void (*end)(void *args), const void *args,
                            size_t bytes);
/* Is there one of these? Others may wait for what it does. */
bool rlf_emulated_runs(const rlf_emulated_steps *steps);
/* All that was recorded, which may be freed meanwhile. */
void rlf_emulated_replay(rlf_emulated_steps *steps,
                         rlf_emulated_steps *recorded);
/* Says, after an operation or what was put down, whether a kernel met an index
 * out of range. */
rlf_status rlf_emulated_launched(const char *operation, rlf_err *err);
/* The device memory of the calling thread, where it is not the host's. */
void rlf_emulated_memory(const void *base, size_t bytes);
/* The tables that tests use. */
const rlf_kernels *rlf_kernels_emulated(void);
const rlf_kernels *rlf_kernels_emulated_bf16(void);

#endif
