/* The list of backends, by itself: a program that is linked with one of its own
 * has that instead. */
#include "kernels/backend.h"

#include <stddef.h>

const rlf_backend *const rlf_backends[] = {&rlf_backend_cpu, &rlf_backend_cuda,
                                           NULL};
