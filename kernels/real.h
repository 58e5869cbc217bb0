/* The types of numbers on devices: activations, and what tensors are cast to.
 */
#ifndef RLF_KERNELS_REAL_H
#define RLF_KERNELS_REAL_H

#include <stdint.h>

/* A number of bf16. */
typedef struct rlf_bf16 {
    uint16_t bits;
} rlf_bf16;

/* An activation. The sources of a backend are compiled with its own type
 * (-DRLF_REAL=float); to all others it is opaque. */
#ifdef RLF_REAL
typedef RLF_REAL rlf_real;
#else
typedef void rlf_real;
#endif

typedef enum rlf_cast_type {
    RLF_CAST_F32,
    RLF_CAST_BF16,
    RLF_CAST_F16,
    RLF_CAST_TYPES
} rlf_cast_type;

#endif
