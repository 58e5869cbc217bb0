/* Decompressing reader: see stream.h. gzip goes through zlib's inflate, member
 * after member (its gzread drops whatever follows a member and is none), zstd
 * through libzstd, all else is passed on as it is. */
#include "engine/io/stream.h"

#include "engine/base/arena.h"
#include "engine/base/regular.h"
#include "engine/io/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    CHUNK = 1 << 16,
    GZIP_ONLY = 15 + 16, /* zlib's window bits: the largest, a gzip header */
};

struct rlf_stream {
    char *path;
    int fd;
    bool is_gzip;
    z_stream gzip;
    ZSTD_DStream *zstd; /* neither: the file is plain */
    ZSTD_inBuffer in;   /* what was read of the file and is not yet used */
    bool in_frame;      /* the frame or member begun last is not complete */
    bool padding;       /* gzip: only zeros follow */
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
    int fd = -1;
    uint64_t size;
    rlf_status status = rlf_regular_open(path, err, &fd, &size);
    if (status < 0) {
        if (access(path, F_OK) != 0)
            rlf_err_hint(err, "%s", rlf_file_absent);
        return status;
    }
    unsigned char magic[4];
    ssize_t n = pread(fd, magic, sizeof magic, 0);
    rlf_stream *stream = rlf_calloc(1, sizeof *stream);
    rlf_buf copy = {0};
    rlf_buf_puts(&copy, path);
    stream->path = copy.p;
    stream->fd = fd;
    stream->in.src = stream->chunk;
    bool ok = true;
    if (is_zstd(magic, n)) {
        stream->zstd = ZSTD_createDStream();
        ok = stream->zstd != NULL;
    } else if (n >= 2 && memcmp(magic, "\x1f\x8b", 2) == 0) {
        ok = inflateInit2(&stream->gzip, GZIP_ONLY) == Z_OK;
        stream->is_gzip = ok;
    }
    if (!ok) {
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
    if (stream->is_gzip)
        inflateEnd(&stream->gzip);
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
fail_damaged(const rlf_stream *stream, const char *what, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "%s is damaged: %s", stream->path, what);
    rlf_err_hint(err, "copy or download the file again");
    return RLF_USER;
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
            return fail_damaged(stream, ZSTD_getErrorName(left), err);
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

/* Pass over the zeros that may follow the last member (tapes are padded with
 * them); anything else after them is damage. */
static rlf_status
skip_padding(rlf_stream *stream, rlf_err *err)
{
    for (; stream->in.pos < stream->in.size; stream->in.pos++)
        if (stream->chunk[stream->in.pos])
            return fail_damaged(stream,
                                "something follows the zeros after its "
                                "compressed data",
                                err);
    return RLF_OK;
}

static rlf_status
fail_inflate(const rlf_stream *stream, int code, rlf_err *err)
{
    const char *text = stream->gzip.msg;
    if (code == Z_MEM_ERROR)
        return rlf_fail_memory(err, CHUNK, "reading %s", stream->path);
    if (text && strcmp(text, "incorrect header check") == 0)
        text = "what follows a complete member is not gzip";
    return fail_damaged(stream, text ? text : "its compressed data is wrong",
                        err);
}

/* Decompress what the input holds; *n grows by the bytes put at p + *n. */
static rlf_status
inflate_input(rlf_stream *stream, unsigned char *p, size_t most, rlf_err *err,
              size_t *n)
{
    z_stream *z = &stream->gzip;
    size_t left = stream->in.size - stream->in.pos;
    size_t room = most < INT_MAX ? most : INT_MAX;
    z->next_in = stream->chunk + stream->in.pos;
    z->avail_in = (uInt)left;
    z->next_out = p;
    z->avail_out = (uInt)room;
    int code = inflate(z, Z_NO_FLUSH);
    stream->in.pos += left - z->avail_in;
    *n = room - z->avail_out;
    if (code == Z_STREAM_END) {
        stream->in_frame = false;
        inflateReset(z);
        return RLF_OK;
    }
    if (code != Z_OK && code != Z_BUF_ERROR)
        return fail_inflate(stream, code, err);
    stream->in_frame = true;
    return RLF_OK;
}

static rlf_status
read_gzip(rlf_stream *stream, void *p, size_t n, rlf_err *err, size_t *got)
{
    while (*got == 0) {
        bool end;
        RLF_TRY(refill(stream, err, &end));
        if (end && !stream->in_frame)
            break;
        if (!stream->in_frame && stream->chunk[stream->in.pos] == 0)
            stream->padding = true;
        if (stream->padding)
            RLF_TRY(skip_padding(stream, err));
        else
            RLF_TRY(inflate_input(stream, p, n, err, got));
        if (end && *got == 0 && stream->in_frame)
            return fail_torn(stream, err);
    }
    return RLF_OK;
}

static rlf_status
read_plain(rlf_stream *stream, void *p, size_t n, rlf_err *err, size_t *got)
{
    bool end;
    RLF_TRY(refill(stream, err, &end));
    size_t left = stream->in.size - stream->in.pos;
    *got = left < n ? left : n;
    memcpy(p, stream->chunk + stream->in.pos, *got);
    stream->in.pos += *got;
    return RLF_OK;
}

rlf_status
rlf_stream_read(rlf_stream *stream, void *p, size_t n, rlf_err *err,
                size_t *got)
{
    *got = 0;
    if (stream->is_gzip)
        return read_gzip(stream, p, n, err, got);
    if (stream->zstd)
        return read_zstd(stream, p, n, err, got);
    return read_plain(stream, p, n, err, got);
}

bool
rlf_stream_is_plain(const rlf_stream *stream)
{
    return !stream->zstd && !stream->is_gzip;
}

rlf_status
rlf_lines_more(rlf_lines *lines, const char *path, rlf_err *err)
{
    rlf_buf *buf = &lines->buf;
    char chunk[CHUNK];
    size_t got = 0;
    if (lines->at)
        memmove(buf->p, buf->p + lines->at, buf->n - lines->at);
    lines->base += lines->at;
    buf->n -= lines->at;
    lines->at = 0;
    RLF_TRY(rlf_stream_read(lines->stream, chunk, sizeof chunk, err, &got));
    if (!rlf_buf_try(buf, got))
        return rlf_fail_memory(err, buf->n + got, "a line of %s", path);
    rlf_buf_add(buf, chunk, got);
    lines->ended = got == 0;
    return RLF_OK;
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
        scanned = buf->n - lines->at;
        RLF_TRY(rlf_lines_more(lines, path, err));
    }
    *more = lf || lines->at < buf->n;
    if (!*more)
        return RLF_OK;
    const char *p = buf->p + lines->at;
    size_t n = lf ? (size_t)(lf - p) : buf->n - lines->at;
    lines->at += n + (lf != NULL);
    lines->cr = n && p[n - 1] == '\r';
    n -= lines->cr;
    if (lines->line++ == 0 && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
        n -= 3;
    }
    lines->start = lines->base + (uint64_t)(p - buf->p);
    *out = (rlf_str){p, n};
    return RLF_OK;
}
