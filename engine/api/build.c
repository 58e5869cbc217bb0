/* Facts of this build of rlflow, for the command's `version` and for run.json.
 */
#include "engine/api/session.h"

#include "config.h"
#include "engine/base/vec.h"

#ifdef RLF_CUDA_ARCHS
#define CUDA RLF_CUDA_ARCHS
#else
#define CUDA "no"
#endif

static const rlf_build_fact facts[] = {
    {"libraries", RLF_LIBRARIES},
    {"MPI", RLF_MPI_KIND},
    {"CUDA", CUDA},
    {"NCCL", RLF_NCCL_FOUND},
    {"kernels", RLF_KERNEL_ISAS},
    {"compiler", __VERSION__},
    {"sanitizers", RLF_SANITIZERS},
};

const rlf_build_fact *
rlf_build(size_t i)
{
    return i < RLF_COUNT(facts) - !*RLF_SANITIZERS ? &facts[i] : NULL;
}

int
rlf_process(void)
{
    return rlf_comm_launcher_process();
}
