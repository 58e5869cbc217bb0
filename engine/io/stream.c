/* Decompressing reader: see stream.h. gzip and plain files go through zlib,
 * whose gzread passes plain data on; zstd through libzstd. */
#include "engine/io/stream.h"

#include "engine/base/arena.h"
#include "engine/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { CHUNK = 1 << 16 };

struct rlf_stream {
    char *path;
    gzFile gz; /* NULL: zstd */
    int fd;    /* zstd only, as the rest */
    ZSTD_DStream *zstd;
    ZSTD_inBuffer in;
    bool in_frame; /* the frame begun last is not complete */
    unsigned char chunk[CHUNK];
};

/* zstd frames begin with FD2FB528, skippable ones with 184D2A50..5F. */
static bool
is_zstd(const unsigned char *p, ssize_t n)
{
    return n == 4 &&
           (memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0 ||
            ((p[0] & 0xf0) == 0x50 && memcmp(p + 1, "\x2a\x4d\x18", 3) == 0));
}

rlf_status
rlf_stream_open(const char *path, rlf_err *err, rlf_stream **out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        int number = errno;
        rlf_status status = rlf_fail_path(err, "cannot open %s", path);
        if (number == ENOENT)
            rlf_err_hint(err, "%s", rlf_file_absent);
        return status;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        rlf_fail(err, RLF_USER, "%s is %s, not a file", path,
                 S_ISDIR(st.st_mode) ? "a directory" : "a pipe or a device");
        if (!S_ISDIR(st.st_mode))
            rlf_err_hint(err, "data is read more than once: put it into a "
                              "file");
        return RLF_USER;
    }
    unsigned char magic[4];
    ssize_t n = pread(fd, magic, sizeof magic, 0);
    rlf_stream *stream = rlf_calloc(1, sizeof *stream);
    rlf_buf copy = {0};
    rlf_buf_puts(&copy, path);
    stream->path = copy.p;
    stream->fd = -1;
    if (is_zstd(magic, n)) {
        stream->fd = fd;
        stream->zstd = ZSTD_createDStream();
        stream->in.src = stream->chunk;
    } else {
        stream->gz = gzdopen(fd, "rb");
        if (!stream->gz)
            close(fd);
    }
    if (!stream->gz && !stream->zstd) {
        rlf_stream_close(stream);
        return rlf_fail_memory(err, CHUNK, "reading %s", path);
    }
    *out = stream;
    return RLF_OK;
}

void
rlf_stream_close(rlf_stream *stream)
{
    if (!stream)
        return;
    if (stream->gz)
        gzclose_r(stream->gz);
    if (stream->fd >= 0)
        close(stream->fd);
    ZSTD_freeDStream(stream->zstd);
    free(stream->path);
    free(stream);
}

static rlf_status
fail_torn(const rlf_stream *stream, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "%s ends in the middle of its compressed data",
             stream->path);
    rlf_err_hint(err, "copy or download the file again");
    return RLF_USER;
}

static rlf_status
read_gz(rlf_stream *stream, void *p, size_t n, rlf_err *err, size_t *got)
{
    int k = gzread(stream->gz, p, n < INT_MAX ? (unsigned)n : INT_MAX);
    int code = Z_OK;
    const char *text = gzerror(stream->gz, &code);
    if (k > 0) { /* what went wrong after it is told by the next call */
        *got = (size_t)k;
        return RLF_OK;
    }
    *got = 0;
    if (code == Z_BUF_ERROR)
        return fail_torn(stream, err);
    if (code == Z_MEM_ERROR)
        return rlf_fail_memory(err, n, "reading %s", stream->path);
    if (code == Z_ERRNO)
        return rlf_fail_errno(err, "cannot read %s", stream->path);
    if (k < 0)
        return rlf_fail(err, RLF_USER, "%s is damaged: %s", stream->path, text);
    return RLF_OK;
}

/* Fill the input if it is used up; *end is set where the file ends. */
static rlf_status
refill(rlf_stream *stream, rlf_err *err, bool *end)
{
    *end = false;
    if (stream->in.pos < stream->in.size)
        return RLF_OK;
    ssize_t k;
    do
        k = read(stream->fd, stream->chunk, CHUNK);
    while (k < 0 && errno == EINTR);
    if (k < 0)
        return rlf_fail_errno(err, "cannot read %s", stream->path);
    stream->in.size = (size_t)k;
    stream->in.pos = 0;
    *end = k == 0;
    return RLF_OK;
}

static rlf_status
read_zstd(rlf_stream *stream, void *p, size_t n, rlf_err *err, size_t *got)
{
    ZSTD_outBuffer to = {p, n, 0};
    while (to.pos == 0) {
        bool end;
        RLF_TRY(refill(stream, err, &end));
        /* Even without new input the decoder may hold finished output. */
        size_t before = stream->in.pos;
        size_t left = ZSTD_decompressStream(stream->zstd, &to, &stream->in);
        if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
            return rlf_fail_memory(err, n, "reading %s", stream->path);
        if (ZSTD_isError(left))
            return rlf_fail(err, RLF_USER, "%s is damaged: %s", stream->path,
                            ZSTD_getErrorName(left));
        if (stream->in.pos > before || to.pos)
            stream->in_frame = left != 0;
        if (end && to.pos == 0) {
            if (stream->in_frame)
                return fail_torn(stream, err);
            break;
        }
    }
    *got = to.pos;
    return RLF_OK;
}

rlf_status
rlf_stream_read(rlf_stream *stream, void *p, size_t n, rlf_err *err,
                size_t *got)
{
    return stream->gz ? read_gz(stream, p, n, err, got)
                      : read_zstd(stream, p, n, err, got);
}

rlf_status
rlf_lines_next(rlf_lines *lines, const char *path, size_t most, rlf_err *err,
               bool *more, rlf_str *out)
{
    rlf_buf *buf = &lines->buf;
    size_t scanned = lines->at;
    char *lf = NULL;
    for (;;) {
        if (scanned < buf->n)
            lf = memchr(buf->p + scanned, '\n', buf->n - scanned);
        if (lf || lines->ended)
            break;
        if (buf->n - lines->at > most)
            return rlf_fail(err, RLF_USER,
                            "%s:%u: the line is longer than %zu bytes", path,
                            lines->line + 1, most);
        /* Move what is left to the front, then read on. */
        if (lines->at)
            memmove(buf->p, buf->p + lines->at, buf->n - lines->at);
        buf->n -= lines->at;
        lines->at = 0;
        scanned = buf->n;
        char chunk[CHUNK];
        size_t got = 0;
        RLF_TRY(rlf_stream_read(lines->stream, chunk, sizeof chunk, err, &got));
        if (!rlf_buf_try(buf, got))
            return rlf_fail_memory(err, buf->n + got, "a line of %s", path);
        rlf_buf_add(buf, chunk, got);
        lines->ended = got == 0;
    }
    *more = lf || lines->at < buf->n;
    if (!*more)
        return RLF_OK;
    const char *p = buf->p + lines->at;
    size_t n = lf ? (size_t)(lf - p) : buf->n - lines->at;
    lines->at += n + (lf != NULL);
    if (n && p[n - 1] == '\r')
        n--;
    if (lines->line++ == 0 && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
        n -= 3;
    }
    *out = (rlf_str){p, n};
    return RLF_OK;
}
