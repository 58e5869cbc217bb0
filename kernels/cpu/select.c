/* The instances of the CPU's operations that this machine can run: of each type
 * best first. */
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
    if (strcmp(isa, "v4_bf16") == 0)
        return rlf_kernels_machine_has("v4") &&
               __builtin_cpu_supports("avx512bf16");
#endif
    return strcmp(isa, "portable") == 0;
}

static const rlf_kernels *const instances[] = {
#ifdef RLF_ISA_V4
    &rlf_cpu_v4_f32_kernels,
#endif
#ifdef RLF_ISA_V3
    &rlf_cpu_v3_f32_kernels,
#endif
    &rlf_cpu_portable_f32_kernels,
#ifdef RLF_ISA_V4_BF16
    &rlf_cpu_v4_bf16_bf16_kernels,
#endif
#ifdef RLF_ISA_V4
    &rlf_cpu_v4_bf16_kernels,
#endif
#ifdef RLF_ISA_V3
    &rlf_cpu_v3_bf16_kernels,
#endif
    &rlf_cpu_portable_bf16_kernels,
};

#define N_INSTANCES (sizeof instances / sizeof instances[0])

/* The first of that type, and of that name if there is one. */
static const rlf_kernels *
find(const char *isa, rlf_cast_type real)
{
    for (size_t i = 0; i < N_INSTANCES; i++)
        if (instances[i]->real == real &&
            (!isa || strcmp(instances[i]->isa, isa) == 0) &&
            rlf_kernels_machine_has(instances[i]->isa))
            return instances[i];
    return NULL;
}

const rlf_kernels *
rlf_kernels_cpu_isa(const char *isa)
{
    return find(isa, RLF_CAST_F32);
}

const rlf_kernels *
rlf_kernels_cpu(void)
{
    return find(NULL, RLF_CAST_F32);
}

const rlf_kernels *
rlf_kernels_cpu_bf16(const char *isa)
{
    return find(isa, RLF_CAST_BF16);
}
