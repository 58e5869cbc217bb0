/* The one way to open a file that is read: programs, data, models, whatever an
 * option names. What is no regular file is refused at once: a directory, a
 * device that may have no end, a named pipe, which is not waited for. */
#ifndef RLF_BASE_REGULAR_H
#define RLF_BASE_REGULAR_H

#include "engine/base/status.h"

#include <stdint.h>

/* *fd is the caller's, *size that of the file. RLF_USER: the path is wrong;
 * RLF_ENV: the machine refuses. */
rlf_status rlf_regular_open(const char *path, rlf_err *err, int *fd,
                            uint64_t *size);

#endif
