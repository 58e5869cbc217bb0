/* Files that the user names to write to: see output.h. */
#include "engine/io/output.h"

#include "engine/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* one behind the other, as the system's limit */

static rlf_status
fail_output(const char *path, rlf_err *err)
{
    bool nobody = errno == ENXIO;
    rlf_fail_errno(err, "cannot write %s", path);
    if (nobody)
        rlf_err_hint(err, "nobody reads the named pipe: start its reader "
                          "first");
    return RLF_ENV;
}

/* The place that the links at `path` lead to in the end, though nothing be
 * there yet. */
static const char *
follow(const char *path, rlf_arena *arena)
{
    char to[PATH_MAX];
    for (int i = 0; i < MOST_LINKS; i++) {
        ssize_t n = readlink(path, to, sizeof to - 1);
        if (n < 0)
            break;
        to[n] = 0;
        path = rlf_path_join(arena, rlf_path_parent(arena, path), to);
    }
    return path;
}

const char *
rlf_output_path(const char *path, rlf_arena *arena)
{
    path = follow(path, arena);
    char *real = realpath(path, NULL);
    if (real) {
        path = rlf_arena_strdup(arena, real);
        free(real);
        return path;
    }
    const char *parent = rlf_path_parent(arena, path);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/')
        from--;
    const char *name = rlf_arena_strndup(arena, path + from, n - from);
    if (strcmp(parent, path) == 0)
        return path; /* the working directory is gone */
    parent = rlf_output_path(parent, arena);
    return strcmp(name, ".") == 0    ? parent
           : strcmp(name, "..") == 0 ? rlf_path_parent(arena, parent)
                                     : rlf_path_join(arena, parent, name);
}

/* The standard output or error, if that goes into this file (/dev/stdout, say):
 * replaced, the file would lose what is printed there. -1: neither. */
static int
standard_of(const struct stat *there)
{
    struct stat open;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &open) == 0 && open.st_dev == there->st_dev &&
            open.st_ino == there->st_ino)
            return fd;
    return -1;
}

static rlf_status
check(const char *path, rlf_arena *arena, rlf_err *err)
{
    struct stat there;
    bool is = stat(path, &there) == 0;
    if (!is && errno != ENOENT)
        return fail_output(path, err);
    if (is && S_ISDIR(there.st_mode)) {
        errno = EISDIR;
        return fail_output(path, err);
    }
    if (is && S_ISSOCK(there.st_mode))
        return rlf_fail(err, RLF_ENV, "cannot write %s: it is a socket", path);
    if (is && access(path, W_OK) != 0)
        return fail_output(path, err);
    if (is && (!S_ISREG(there.st_mode) || standard_of(&there) >= 0))
        return RLF_OK;
    const char *directory = rlf_path_parent(arena, follow(path, arena));
    return access(directory, W_OK | X_OK) == 0 ? RLF_OK
                                               : fail_output(path, err);
}

rlf_status
rlf_output_check(const char *path, rlf_err *err)
{
    if (!path)
        return RLF_OK;
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = check(path, arena, err);
    rlf_arena_free(arena);
    return status;
}

static rlf_status
write_through(const char *path, const void *p, size_t n, rlf_err *err)
{
    /* a named pipe that nobody reads does not keep the command waiting */
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail_output(path, err);
    fcntl(fd, F_SETFL, 0);
    bool good = rlf_fd_write(fd, p, n);
    int number = errno;
    if (close(fd) != 0 && good) {
        number = errno;
        good = false;
    }
    errno = number;
    return good ? RLF_OK : fail_output(path, err);
}

static rlf_status
replace(const char *path, const struct stat *old, const void *p, size_t n,
        rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_writer *writer = NULL;
    rlf_status status =
        rlf_writer_open_hidden(follow(path, arena), err, &writer);
    if (status >= 0) {
        status =
            old ? rlf_writer_mode(writer, old->st_mode & 07777, err) : RLF_OK;
        if (status >= 0)
            status = rlf_writer_add(writer, p, n, err);
        if (status >= 0)
            status = rlf_writer_commit(writer, err);
        else
            rlf_writer_drop(writer);
    }
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_output_write(const char *path, const void *p, size_t n, rlf_err *err)
{
    struct stat there;
    RLF_TRY(rlf_output_check(path, err));
    if (stat(path, &there) != 0)
        return replace(path, NULL, p, n, err);
    fflush(stdout);
    int fd = standard_of(&there);
    if (fd >= 0)
        return rlf_fd_write(fd, p, n) ? RLF_OK : fail_output(path, err);
    if (!S_ISREG(there.st_mode))
        return write_through(path, p, n, err);
    return replace(path, &there, p, n, err);
}

/* ---- piece by piece ---- */

struct rlf_output_file {
    rlf_writer *writer; /* NULL: it is written through */
    int fd;
    bool own; /* the descriptor was opened for this */
    char *path;
};

/* For a file that is replaced. */
static rlf_status
open_writer(const char *path, const struct stat *old, rlf_err *err,
            rlf_output_file *file)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_status status =
        rlf_writer_open_hidden(follow(path, arena), err, &file->writer);
    if (status >= 0 && old)
        status = rlf_writer_mode(file->writer, old->st_mode & 07777, err);
    rlf_arena_free(arena);
    return status;
}

static rlf_status
open_through(const char *path, rlf_err *err, rlf_output_file *file)
{
    file->fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file->fd < 0)
        return fail_output(path, err);
    fcntl(file->fd, F_SETFL, 0);
    file->own = true;
    return RLF_OK;
}

rlf_status
rlf_output_open(const char *path, rlf_err *err, rlf_output_file **out)
{
    struct stat there;
    RLF_TRY(rlf_output_check(path, err));
    rlf_output_file *file = rlf_calloc(1, sizeof *file);
    size_t n = strlen(path) + 1;
    file->path = memcpy(rlf_malloc(n), path, n);
    bool is = stat(path, &there) == 0;
    fflush(stdout);
    file->fd = is ? standard_of(&there) : -1;
    rlf_status status = RLF_OK;
    if (file->fd < 0)
        status = is && !S_ISREG(there.st_mode)
                     ? open_through(path, err, file)
                     : open_writer(path, is ? &there : NULL, err, file);
    *out = file;
    if (status < 0)
        rlf_output_drop(file);
    return status;
}

rlf_status
rlf_output_add(rlf_output_file *file, const void *p, size_t n, rlf_err *err)
{
    if (file->writer)
        return rlf_writer_add(file->writer, p, n, err);
    return rlf_fd_write(file->fd, p, n) ? RLF_OK : fail_output(file->path, err);
}

rlf_status
rlf_output_close(rlf_output_file *file, rlf_err *err)
{
    rlf_status status = RLF_OK;
    if (file->writer)
        status = rlf_writer_commit(file->writer, err);
    file->writer = NULL;
    if (file->own && close(file->fd) != 0)
        status = fail_output(file->path, err);
    file->own = false;
    rlf_output_drop(file);
    return status;
}

void
rlf_output_drop(rlf_output_file *file)
{
    if (!file)
        return;
    if (file->writer)
        rlf_writer_drop(file->writer);
    if (file->own)
        close(file->fd);
    free(file->path);
    free(file);
}
