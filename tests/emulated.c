/* The command `rlflow` with one more device: GPUs that are emulated on the
 * host (kernels/cuda/emulate_device.h). For tests of whole runs. */
#include "engine/cmd/cmd.h"
#include "kernels/backend.h"
#include "kernels/cuda/emulate_device.h"

int
main(int argc, char **argv)
{
    const rlf_backend *const list[] = {rlf_backends[0], rlf_backends[1],
                                       &rlf_backend_emulated, NULL};
    return rlf_cmd_main(argc, argv, list);
}
