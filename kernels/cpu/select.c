/* The instances of the CPU's operations that this machine can run, best
 * first. */
#include "kernels/cpu/select.h"

#include <string.h>

/* GCC 12 knows "x86-64-v3" by name, clang 14 only the features. */
bool
rlf_kernels_machine_has(const char *isa)
{
#if defined(__x86_64__)
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (strcmp(isa, "v3") == 0)
        return v3;
    if (strcmp(isa, "v4") == 0)
        return v3 && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
    return strcmp(isa, "portable") == 0;
}

static const rlf_kernels *const instances[] = {
#ifdef RLF_ISA_V4
    &rlf_cpu_v4_kernels,
#endif
#ifdef RLF_ISA_V3
    &rlf_cpu_v3_kernels,
#endif
    &rlf_cpu_portable_kernels,
};

#define N_INSTANCES (sizeof instances / sizeof instances[0])

const rlf_kernels *
rlf_kernels_cpu_isa(const char *isa)
{
    for (size_t i = 0; i < N_INSTANCES; i++)
        if (strcmp(instances[i]->isa, isa) == 0 && rlf_kernels_machine_has(isa))
            return instances[i];
    return NULL;
}

const rlf_kernels *
rlf_kernels_cpu(void)
{
    for (size_t i = 0; i + 1 < N_INSTANCES; i++)
        if (rlf_kernels_machine_has(instances[i]->isa))
            return instances[i];
    return instances[N_INSTANCES - 1];
}
