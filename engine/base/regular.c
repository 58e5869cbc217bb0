/* See regular.h. */
#include "engine/base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path the user gave may be wrong; the rest is the machine's fault. */
static rlf_status
fail_open(const char *path, rlf_err *err)
{
    int number = errno;
    struct stat st;
    if (number == ENOENT && lstat(path, &st) == 0)
        return rlf_fail(err, RLF_USER,
                        "cannot open %s: it is a link to a file that is not "
                        "there",
                        path);
    errno = number;
    return rlf_fail_path(err, "cannot open %s", path);
}

static rlf_status
fail_kind(const char *path, mode_t mode, rlf_err *err)
{
    if (S_ISDIR(mode))
        return rlf_fail(err, RLF_USER, "%s is a directory, not a file", path);
    rlf_fail(err, RLF_USER, "%s is a pipe or a device, not a file", path);
    rlf_err_hint(err, "what a run reads is read more than once: put it into a "
                      "file");
    return RLF_USER;
}

rlf_status
rlf_regular_open(const char *path, rlf_err *err, int *out, uint64_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail_open(path, err);
    rlf_status status = RLF_OK;
    if (fstat(fd, &st) != 0)
        status = rlf_fail_errno(err, "cannot look at %s", path);
    else if (!S_ISREG(st.st_mode))
        status = fail_kind(path, st.st_mode, err);
    if (status < 0) {
        close(fd);
        return status;
    }
    *out = fd;
    *size = (uint64_t)st.st_size;
    return RLF_OK;
}
