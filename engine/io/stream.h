/* Read a file from front to end, decompressed on the way.
 *
 * gzip (also several members) and zstd (also several frames) are known by
 * their first bytes, whatever the file is called; all else is read as it is.
 * Compressed data that is torn or damaged is RLF_USER, and so is anything but
 * zeros after gzip's last member. */
#ifndef RLF_IO_STREAM_H
#define RLF_IO_STREAM_H

#include "engine/base/status.h"
#include "engine/base/str.h"

typedef struct rlf_stream rlf_stream;

rlf_status rlf_stream_open(const char *path, rlf_err *err, rlf_stream **out);
/* Up to n bytes into p; *got is 0 only at the end. */
rlf_status rlf_stream_read(rlf_stream *stream, void *p, size_t n, rlf_err *err,
                           size_t *got);
/* Is the file read as it is? */
bool rlf_stream_is_plain(const rlf_stream *stream);
void rlf_stream_close(rlf_stream *stream); /* NULL is fine */

/* Lines of a stream. The line lives until the next call; its end (LF or CR
 * LF) is not part of it, `cr` says which it was. A byte order mark at the start
 * is passed over. */
typedef struct rlf_lines {
    rlf_stream *stream;
    rlf_buf buf;
    size_t at;     /* the offset in buf at which the next line begins */
    uint64_t base; /* bytes of the stream before buf */
    uint64_t start; /* bytes of the stream before the line last returned */
    uint32_t line; /* 1-based number of the line last returned */
    bool ended;    /* the stream has nothing more */
    bool cr;       /* the line last returned ended with CR LF */
} rlf_lines;
/* More of the stream behind what is in `buf` from `at` on, which moves to its
 * front; `ended` is set if there is nothing more. */
rlf_status rlf_lines_more(rlf_lines *lines, const char *path, rlf_err *err);
/* *more is false at the end, and then *out is not set. A line longer than
 * `most` bytes is RLF_USER. */
rlf_status rlf_lines_next(rlf_lines *lines, const char *path, size_t most,
                          rlf_err *err, bool *more, rlf_str *out);

#endif
