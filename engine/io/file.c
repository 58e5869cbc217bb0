/* Files, atomic writers and mappings: see file.h. Directories are in dir.c. */
#include "engine/io/file.h"

#include "engine/base/regular.h"
#include "engine/io/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A link to nothing, which the system says is not there? */
static bool
is_link_to_nothing(const char *path)
{
    int number = errno;
    struct stat st;
    bool is = number == ENOENT && lstat(path, &st) == 0;
    errno = number;
    return is;
}

static const char to_nothing[] = "it is a link to a file that is not there";

static rlf_status
fail_write(const char *path, rlf_err *err)
{
    if (is_link_to_nothing(path))
        return rlf_fail(err, RLF_ENV, "cannot write %s: %s", path, to_nothing);
    return rlf_fail_errno(err, "cannot write %s", path);
}

bool
rlf_fd_write(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

struct rlf_infile {
    char *path;
    int fd;
    uint64_t size;
};

rlf_status
rlf_infile_open(const char *path, rlf_err *err, rlf_infile **out)
{
    int fd = -1;
    uint64_t size = 0;
    rlf_buf name = {0};
    RLF_TRY(rlf_regular_open(path, err, &fd, &size));
    rlf_buf_puts(&name, path);
    rlf_infile *input = rlf_malloc(sizeof *input);
    *input = (rlf_infile){.path = name.p, .fd = fd, .size = size};
    *out = input;
    return RLF_OK;
}

uint64_t
rlf_infile_size(const rlf_infile *input)
{
    return input->size;
}

rlf_status
rlf_infile_read(const rlf_infile *input, uint64_t at, void *p, size_t n,
                rlf_err *err)
{
    for (char *to = p; n;) {
        ssize_t k = pread(input->fd, to, n, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return rlf_fail_errno(err, "cannot read %s", input->path);
        if (k == 0)
            return rlf_fail(err, RLF_ENV, "%s became shorter while it was read",
                            input->path);
        to += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return RLF_OK;
}

void
rlf_infile_close(rlf_infile *input)
{
    if (!input)
        return;
    close(input->fd);
    free(input->path);
    free(input);
}

/* Bytes that are read at once where all of a file is. */
enum { PIECE = 1 << 16 };

static size_t
piece_at(const rlf_infile *input, uint64_t at)
{
    return input->size - at < PIECE ? (size_t)(input->size - at) : PIECE;
}

static rlf_status
fail_large(const char *path, size_t most, rlf_err *err)
{
    return rlf_fail(err, RLF_USER,
                    "%s is larger than %zu bytes, the most that is read of "
                    "such a file",
                    path, most);
}

rlf_status
rlf_file_read(const char *path, size_t most, rlf_err *err, rlf_buf *out)
{
    int fd = -1;
    uint64_t size = 0;
    size_t before = out->n;
    RLF_TRY(rlf_regular_open(path, err, &fd, &size));
    if (size > most) {
        close(fd);
        return fail_large(path, most, err);
    }
    char chunk[16384];
    for (;;) {
        ssize_t k = read(fd, chunk, sizeof chunk);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            rlf_fail_errno(err, "cannot read %s", path);
            close(fd);
            return RLF_ENV;
        }
        if (k == 0)
            break;
        if (out->n - before + (size_t)k > most) {
            close(fd);
            return fail_large(path, most, err);
        }
        if (!rlf_buf_try(out, (size_t)k)) {
            close(fd);
            return rlf_fail_memory(err, out->n, "what %s holds", path);
        }
        rlf_buf_add(out, chunk, (size_t)k);
    }
    close(fd);
    rlf_buf_add(out, "", 0); /* an empty file gives an empty text, not NULL */
    return RLF_OK;
}

struct rlf_writer {
    char *path, *part;
    int fd;
    int lock; /* a second descriptor of it, which has the lock until the rename
               */
    uint32_t checksum;
    uint64_t size;
    bool lazy; /* the commit does not wait for the disk */
};

/* Removes a part that a process left which is no more. False, with errno: it
 * cannot be removed, or (EWOULDBLOCK) a process is writing it. */
static bool
remove_part(const char *part)
{
    struct stat st;
    int fd = open(part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool busy = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    bool removed = !busy && (unlink(part) == 0 || errno == ENOENT);
    int number = busy ? EWOULDBLOCK : errno;
    if (fd >= 0)
        close(fd);
    errno = number;
    return removed;
}

/* Is the file of this descriptor the one of that name? */
static bool
is_named(int fd, const char *name)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && lstat(name, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* A new file of this name, locked for as long as it is open, where the file
 * system has locks. -1, with errno; EWOULDBLOCK: another process has it. */
static int
open_part(const char *part)
{
    /* not through a link, nor into a named pipe, that stands there */
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    for (;;) {
        int fd = open(part, flags, 0666);
        if (fd < 0 && (errno != EEXIST || !remove_part(part)))
            return -1;
        if (fd < 0)
            continue;
        bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (locked && is_named(fd, part))
            return fd;
        close(fd); /* another process removed it before it was locked */
    }
}

/* Takes the name of the part. */
static rlf_status
open_writer(const char *path, rlf_buf part, rlf_err *err, rlf_writer **out)
{
    rlf_buf whole = {0};
    rlf_buf_puts(&whole, path);
    int fd = open_part(part.p);
    if (fd < 0 && errno == EWOULDBLOCK) {
        rlf_buf_free(&part);
        rlf_buf_free(&whole);
        return rlf_fail(err, RLF_ENV,
                        "cannot write %s: another process is writing it", path);
    }
    if (fd < 0) {
        struct stat st;
        int number = errno;
        bool there = lstat(part.p, &st) == 0; /* it cannot be removed */
        errno = number;
        rlf_status status = fail_write(there ? part.p : path, err);
        rlf_buf_free(&part);
        rlf_buf_free(&whole);
        return status;
    }
    rlf_writer *writer = rlf_malloc(sizeof *writer);
    *writer = (rlf_writer){
        .path = whole.p, .part = part.p, .fd = fd, .lock = dup(fd)};
    *out = writer;
    return RLF_OK;
}

rlf_status
rlf_writer_open(const char *path, rlf_err *err, rlf_writer **out)
{
    rlf_buf part = {0};
    rlf_buf_printf(&part, "%s.part", path);
    return open_writer(path, part, err, out);
}

rlf_status
rlf_writer_open_hidden(const char *path, rlf_err *err, rlf_writer **out)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash + 1 - path) : 0;
    rlf_buf part = {0};
    rlf_buf_printf(&part, "%.*s.%s.rlflow.part", (int)n, path, path + n);
    return open_writer(path, part, err, out);
}

rlf_status
rlf_writer_add(rlf_writer *writer, const void *p, size_t n, rlf_err *err)
{
    if (!rlf_fd_write(writer->fd, p, n))
        return fail_write(writer->path, err);
    writer->checksum = rlf_checksum(writer->checksum, p, n);
    writer->size += n;
    return RLF_OK;
}

rlf_status
rlf_writer_mode(rlf_writer *writer, unsigned mode, rlf_err *err)
{
    if (fchmod(writer->fd, (mode_t)mode) != 0)
        return rlf_fail_errno(err, "cannot restore the permissions of %s",
                              writer->path);
    return RLF_OK;
}

uint32_t
rlf_writer_checksum(const rlf_writer *writer)
{
    return writer->checksum;
}

uint64_t
rlf_writer_size(const rlf_writer *writer)
{
    return writer->size;
}

void
rlf_writer_lazy(rlf_writer *writer)
{
    writer->lazy = true;
}

static rlf_status
rename_only(const char *from, const char *to, rlf_err *err)
{
    if (rename(from, to) != 0)
        return rlf_fail_errno(err, "cannot rename %s to %s", from, to);
    return RLF_OK;
}

static void
writer_free(rlf_writer *writer)
{
    if (writer->lock >= 0)
        close(writer->lock);
    free(writer->path);
    free(writer->part);
    free(writer);
}

rlf_status
rlf_writer_commit(rlf_writer *writer, rlf_err *err)
{
    bool good = writer->lazy || fsync(writer->fd) == 0;
    int number = errno;
    /* Some file systems report a full disk only here. */
    if (close(writer->fd) != 0 && good) {
        number = errno;
        good = false;
    }
    writer->fd = -1;
    if (!good) {
        errno = number;
        fail_write(writer->path, err);
        rlf_writer_drop(writer);
        return RLF_ENV;
    }
    rlf_status status = writer->lazy
                            ? rename_only(writer->part, writer->path, err)
                            : rlf_path_rename(writer->part, writer->path, err);
    if (status < 0)
        unlink(writer->part);
    writer_free(writer);
    return status;
}

void
rlf_writer_drop(rlf_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0)
        close(writer->fd);
    unlink(writer->part);
    writer_free(writer);
}

rlf_status
rlf_file_write(const char *path, const void *p, size_t n, rlf_err *err)
{
    rlf_writer *writer = NULL;
    RLF_TRY(rlf_writer_open(path, err, &writer));
    rlf_status status = rlf_writer_add(writer, p, n, err);
    if (status < 0) {
        rlf_writer_drop(writer);
        return status;
    }
    return rlf_writer_commit(writer, err);
}

static rlf_status
copy_all(const rlf_infile *from, rlf_writer *to, rlf_err *err)
{
    char piece[PIECE];
    for (uint64_t at = 0; at < from->size;) {
        size_t n = piece_at(from, at);
        RLF_TRY(rlf_infile_read(from, at, piece, n, err));
        RLF_TRY(rlf_writer_add(to, piece, n, err));
        at += n;
    }
    return RLF_OK;
}

rlf_status
rlf_file_copy(const char *from, const char *to, rlf_err *err)
{
    rlf_infile *input = NULL;
    rlf_writer *writer = NULL;
    RLF_TRY(rlf_infile_open(from, err, &input));
    rlf_status status = rlf_writer_open(to, err, &writer);
    if (status >= 0)
        status = copy_all(input, writer, err);
    rlf_infile_close(input);
    if (status >= 0)
        return rlf_writer_commit(writer, err);
    rlf_writer_drop(writer);
    return status;
}

static bool
same_pieces(const rlf_infile *a, const rlf_infile *b)
{
    char x[PIECE], y[PIECE];
    rlf_err ignored = RLF_ERR_NONE;
    for (uint64_t at = 0; at < a->size;) {
        size_t n = piece_at(a, at);
        if (rlf_infile_read(a, at, x, n, &ignored) < 0 ||
            rlf_infile_read(b, at, y, n, &ignored) < 0 || memcmp(x, y, n) != 0)
            return false;
        at += n;
    }
    return true;
}

bool
rlf_file_same(const char *a, const char *b)
{
    rlf_infile *x = NULL, *y = NULL;
    rlf_err ignored = RLF_ERR_NONE;
    bool same = rlf_infile_open(a, &ignored, &x) >= 0 &&
                rlf_infile_open(b, &ignored, &y) >= 0 && x->size == y->size &&
                x->size && same_pieces(x, y);
    rlf_infile_close(x);
    rlf_infile_close(y);
    return same;
}

/* `wanted` stands nowhere that is something else. */
static rlf_status
fail_kind(const char *path, const struct stat *found, const char *wanted,
          rlf_err *err)
{
    const char *is = S_ISREG(found->st_mode)    ? "a file"
                     : S_ISDIR(found->st_mode)  ? "a directory"
                     : S_ISFIFO(found->st_mode) ? "a named pipe"
                     : S_ISSOCK(found->st_mode) ? "a socket"
                                                : "a device";
    rlf_fail(err, RLF_ENV, "%s is %s, not a %s", path, is, wanted);
    rlf_err_hint(err, "move it away");
    return RLF_ENV;
}

rlf_status
rlf_file_append(const char *path, const void *p, size_t n, bool sync,
                uint64_t *at, rlf_err *err)
{
    struct stat found;
    int fd = open(path,
                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK |
                      O_NOFOLLOW,
                  0666);
    if (fd < 0 && errno == ELOOP)
        RLF_TRY(rlf_path_own(path, err)); /* a link: somebody else's file */
    if (fd < 0)
        return fail_write(path, err);
    if (fstat(fd, &found) == 0 && !S_ISREG(found.st_mode)) {
        close(fd);
        return fail_kind(path, &found, "file", err);
    }
    off_t end = lseek(fd, 0, SEEK_END);
    bool good = end >= 0 && rlf_fd_write(fd, p, n) && (!sync || fsync(fd) == 0);
    if (good && at) { /* the offset is behind them */
        off_t behind = lseek(fd, 0, SEEK_CUR);
        *at = (uint64_t)(behind >= 0 ? behind : end + (off_t)n) - n;
    }
    if (!good) {
        fail_write(path, err);
        /* Nothing more can be done if cutting fails too. */
        if (end >= 0 && ftruncate(fd, end) != 0)
            rlf_err_detail(err, "%s may end in half a line", path);
    }
    close(fd);
    return good ? RLF_OK : RLF_ENV;
}

rlf_status
rlf_file_sync(const char *path, rlf_err *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_write(path, err);
    bool good = fsync(fd) == 0;
    if (!good)
        fail_write(path, err);
    close(fd);
    return good ? RLF_OK : RLF_ENV;
}

rlf_status
rlf_file_truncate(const char *path, size_t n, rlf_err *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return fail_write(path, err);
    if ((size_t)st.st_size < n)
        return rlf_fail(err, RLF_USER,
                        "%s has %zu bytes, fewer than the %zu it had", path,
                        (size_t)st.st_size, n);
    if (truncate(path, (off_t)n) != 0)
        return fail_write(path, err);
    return RLF_OK;
}

/* stat() of the path; *there is false if nothing is there. */
static rlf_status
look_at(const char *path, rlf_err *err, bool *there, struct stat *found)
{
    RLF_TRY(rlf_file_find(path, err, there));
    if (!*there || stat(path, found) == 0)
        return RLF_OK;
    if (!is_link_to_nothing(path))
        return rlf_fail_errno(err, "cannot open %s", path);
    rlf_fail(err, RLF_ENV, "cannot open %s: %s", path, to_nothing);
    rlf_err_hint(err, "remove the link, or give it back what it leads to");
    return RLF_ENV;
}

rlf_status
rlf_path_own(const char *path, rlf_err *err)
{
    struct stat found;
    if (lstat(path, &found) != 0 || !S_ISLNK(found.st_mode))
        return RLF_OK;
    rlf_fail(err, RLF_ENV, "%s is a symbolic link", path);
    rlf_err_hint(err, "what it leads to may be used by others too: move that "
                      "here in its place, or move the whole directory that "
                      "it stands in and link to that");
    return RLF_ENV;
}

rlf_status
rlf_file_own(const char *path, bool written, rlf_err *err, bool *there)
{
    struct stat found;
    RLF_TRY(look_at(path, err, there, &found));
    if (!*there)
        return RLF_OK;
    if (!S_ISREG(found.st_mode))
        return fail_kind(path, &found, "file", err);
    int fd = open(path, (written ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return rlf_fail_errno(err, "cannot %s %s", written ? "write" : "open",
                              path);
    close(fd);
    return RLF_OK;
}

rlf_status
rlf_dir_own(const char *path, rlf_err *err, bool *there)
{
    struct stat found;
    RLF_TRY(look_at(path, err, there, &found));
    if (!*there)
        return RLF_OK;
    if (!S_ISDIR(found.st_mode))
        return fail_kind(path, &found, "directory", err);
    if (access(path, R_OK | W_OK | X_OK) != 0)
        return rlf_fail_errno(err, "cannot write to %s", path);
    return RLF_OK;
}

const char rlf_file_absent[] =
    "a path is relative to the file that it is written in, on the command line "
    "to where that was started";

bool
rlf_file_exists(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return !S_ISDIR(st.st_mode);
    /* a link to nothing, or it could not be found out: ask once more, since
     * opening what is not there would say that the user removed it */
    return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

rlf_status
rlf_file_find(const char *path, rlf_err *err, bool *out)
{
    struct stat st;
    *out = lstat(path, &st) == 0;
    if (*out || errno == ENOENT || errno == ENOTDIR)
        return RLF_OK;
    return rlf_fail_errno(err, "cannot look for %s", path);
}
