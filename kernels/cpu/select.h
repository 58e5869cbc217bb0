/* The tables that instance.c makes, one per instruction set. */
#ifndef RLF_KERNELS_CPU_SELECT_H
#define RLF_KERNELS_CPU_SELECT_H

#include "config.h"
#include "kernels/kernels.h"

extern const rlf_kernels rlf_cpu_portable_f32_kernels;
extern const rlf_kernels rlf_cpu_portable_bf16_kernels;
#ifdef RLF_ISA_V3
extern const rlf_kernels rlf_cpu_v3_f32_kernels, rlf_cpu_v3_bf16_kernels;
#endif
#ifdef RLF_ISA_V4
extern const rlf_kernels rlf_cpu_v4_f32_kernels, rlf_cpu_v4_bf16_kernels;
#endif
#ifdef RLF_ISA_V4_BF16
extern const rlf_kernels rlf_cpu_v4_bf16_bf16_kernels;
#endif

#endif
