/* rlflow version: its own, and what it was built with. */
#include "engine/cmd/cmd.h"

#include "config.h"

#include <stdio.h>

#ifdef RLF_CUDA_ARCHS
static const char cuda[] = RLF_CUDA_ARCHS;
#else
static const char cuda[] = "no";
#endif

int
rlf_cmd_version(const rlf_command_line *line)
{
    (void)line;
    printf("rlflow %s\n", rlf_version());
    printf("  libraries  %s\n", RLF_LIBRARIES);
    printf("  MPI        %s\n", RLF_MPI_KIND);
    printf("  CUDA       %s\n", cuda);
    printf("  NCCL       %s\n", RLF_NCCL_FOUND);
    printf("  kernels    %s\n", RLF_KERNEL_ISAS);
    printf("  compiler   %s\n", __VERSION__);
    if (*RLF_SANITIZERS)
        printf("  sanitizers %s\n", RLF_SANITIZERS);
    return 0;
}
