/* The command `rlflow` with one more device: GPUs that are emulated on the
 * host (kernels/cuda/emulate_device.h), in a list of backends that is linked
 * instead of that of the library. For tests of whole runs. */
#include "engine/cmd/cmd.h"
#include "kernels/backend.h"
#include "kernels/cuda/emulate_device.h"

const rlf_backend *const rlf_backends[] = {&rlf_backend_cpu, &rlf_backend_cuda,
                                           &rlf_backend_emulated, NULL};

int
main(int argc, char **argv)
{
    return rlf_cmd_main(argc, argv);
}
