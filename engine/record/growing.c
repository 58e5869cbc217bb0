/* Lines of a file that grows: see growing.h. */
#include "engine/record/growing.h"

#include "engine/base/memory.h"
#include "engine/io/file.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20, MOST = 64 << 20 }; /* bytes read at once; of a line */

/* What is read of a file and not yet given away. */
typedef struct window {
    const rlf_infile *file;
    uint64_t from; /* offset of p in the file */
    char *p;
    size_t n, room;
    bool skipping; /* a line that is too long */
} window;

/* Is what was read still there? */
static rlf_status
is_same(const rlf_growing *tail, const rlf_infile *file, rlf_err *err,
        bool *same)
{
    char now[RLF_GROWING_KNOWN];
    *same = rlf_infile_size(file) >= tail->at;
    if (!*same || !tail->n_last)
        return RLF_OK;
    RLF_TRY(
        rlf_infile_read(file, tail->at - tail->n_last, now, tail->n_last, err));
    *same = memcmp(now, tail->last, tail->n_last) == 0;
    return RLF_OK;
}

/* `apart`: the bytes before the line's are not those of the line before. */
static void
note_last(rlf_growing *tail, const char *line, size_t n, bool apart)
{
    size_t keep = n < RLF_GROWING_KNOWN && !apart ? RLF_GROWING_KNOWN - n : 0;
    if (keep > tail->n_last)
        keep = tail->n_last;
    size_t most = n < RLF_GROWING_KNOWN ? n : RLF_GROWING_KNOWN;
    memmove(tail->last, tail->last + tail->n_last - keep, keep);
    memcpy(tail->last + keep, line + n - most, most);
    tail->n_last = keep + most;
}

/* Gives the n bytes of a line, with its line feed. */
static rlf_status
give(rlf_growing *tail, window *w, const char *line, size_t n,
     const rlf_growing_reader *reader, rlf_err *err)
{
    rlf_growing_line out = {.text = {line, n - 1},
                            .offset = tail->at,
                            .number = tail->line + 1,
                            .too_long = w->skipping};
    if (out.too_long)
        out.text.n = 0;
    w->skipping = false;
    RLF_TRY(reader->take(reader->arg, &out, err));
    tail->at = w->from + (uint64_t)(line - w->p) + n;
    tail->line++;
    note_last(tail, line, n, out.too_long);
    return RLF_OK;
}

static rlf_status
give_lines(rlf_growing *tail, window *w, const rlf_growing_reader *reader,
           rlf_err *err)
{
    const char *p = w->p, *end = w->p + w->n, *stop;
    while (p < end && (stop = memchr(p, '\n', (size_t)(end - p)))) {
        RLF_TRY(give(tail, w, p, (size_t)(stop + 1 - p), reader, err));
        p = stop + 1;
    }
    size_t left = (size_t)(end - p);
    if (left >= MOST) { /* its beginning is of no use without the rest */
        w->skipping = true;
        p = end;
        left = 0;
    }
    w->from += (uint64_t)(p - w->p);
    memmove(w->p, p, left);
    w->n = left;
    return RLF_OK;
}

static rlf_status
read_window(rlf_growing *tail, window *w, const rlf_growing_reader *reader,
            rlf_err *err)
{
    uint64_t size = rlf_infile_size(w->file);
    while (w->from + w->n < size) {
        uint64_t left = size - w->from - w->n;
        size_t more = left < PIECE ? (size_t)left : PIECE;
        if (w->room < w->n + more) {
            RLF_TRY(
                rlf_try_grow(&w->p, 2 * (w->n + more), "lines of a file", err));
            w->room = 2 * (w->n + more);
        }
        RLF_TRY(
            rlf_infile_read(w->file, w->from + w->n, w->p + w->n, more, err));
        w->n += more;
        RLF_TRY(give_lines(tail, w, reader, err));
    }
    return RLF_OK;
}

/* Is the file shorter than it was when it was opened? A run that is resumed
 * cuts its lines, which the next look finds. */
static bool
was_cut(const char *path, uint64_t size)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_infile *now = NULL;
    bool cut = rlf_infile_open(path, &ignored, &now) < 0 ||
               rlf_infile_size(now) < size;
    rlf_infile_close(now);
    return cut;
}

static void
start_anew(rlf_growing *tail, const rlf_growing_reader *reader)
{
    if (tail->at)
        reader->forget(reader->arg);
    *tail = (rlf_growing){0};
}

rlf_status
rlf_growing_read(rlf_growing *tail, const char *path,
                 const rlf_growing_reader *reader, rlf_err *err)
{
    rlf_infile *file = NULL;
    bool there, same = true;
    RLF_TRY(rlf_file_find(path, err, &there));
    if (!there) {
        start_anew(tail, reader);
        return RLF_OK;
    }
    RLF_TRY(rlf_infile_open(path, err, &file));
    window w = {.file = file};
    rlf_status status = is_same(tail, file, err, &same);
    if (status >= 0) {
        if (!same)
            start_anew(tail, reader);
        w.from = tail->at;
        status = read_window(tail, &w, reader, err);
    }
    if (status == RLF_ENV && was_cut(path, rlf_infile_size(file))) {
        rlf_err_clear(err);
        status = RLF_OK;
    }
    free(w.p);
    rlf_infile_close(file);
    return status;
}
