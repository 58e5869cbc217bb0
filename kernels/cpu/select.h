/* The tables that instance.c makes, one per instruction set. */
#ifndef RLF_KERNELS_CPU_SELECT_H
#define RLF_KERNELS_CPU_SELECT_H

#include "kernels/kernels.h"

extern const rlf_kernels rlf_cpu_portable_kernels;
#if defined(__x86_64__)
extern const rlf_kernels rlf_cpu_v3_kernels, rlf_cpu_v4_kernels;
#endif

#endif
