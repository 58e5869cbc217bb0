/* The journals of a run, metrics.jsonl and others: lines are appended,
 * a checkpoint knows how many bytes there were and their checksum, and a resume
 * holds the files against that.
 *
 * Lines past the checkpoint are of steps that are done again: they are cut, but
 * for what the run cannot have written, as run.json tells how far it came.
 * Lines before it that are not what was written are told of: the file is put
 * aside as it is, and what can still be read of it is the new one. Nothing that
 * cannot be made again is deleted. What stands in a line is rundir.c's. */
#include "engine/api/rundir/rundir.h"
#include "engine/api/sinks/sinks.h"

#include "engine/base/vec.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *
path_of(const rlf_session *session, int which)
{
    return rlf_path_join(session->arena, session->options.directory,
                         rlf_journal_names[which]);
}

rlf_status
rlf_journal_free_name(const rlf_session *session, const char *path,
                      rlf_err *err, const char **out)
{
    bool taken = false;
    *out = rlf_arena_printf(session->arena, "%s.old", path);
    RLF_TRY(rlf_file_find(*out, err, &taken));
    for (int i = 2; taken; i++) {
        *out = rlf_arena_printf(session->arena, "%s.old-%d", path, i);
        RLF_TRY(rlf_file_find(*out, err, &taken));
    }
    return RLF_OK;
}

/* ---- reading, in pieces: a journal may be larger than the memory ---- */

enum { PIECE = 64 << 10 };

/* Lines of steps in a file, one after the other. */
typedef struct reader {
    const rlf_infile *file;
    uint64_t at;    /* of the next piece */
    char *piece;    /* PIECE bytes, NULL: none is read yet */
    size_t n, used; /* bytes of it, and those that were given */
    rlf_buf line;
} reader;

static void
reader_close(reader *r)
{
    free(r->piece);
    rlf_buf_free(&r->line);
}

/* The next piece; r->n is 0 at the end. */
static rlf_status
next_piece(reader *r, rlf_err *err)
{
    uint64_t left = rlf_infile_size(r->file) - r->at;
    size_t n = left < PIECE ? (size_t)left : PIECE;
    if (!r->piece)
        r->piece = rlf_malloc(PIECE);
    r->n = r->used = 0;
    RLF_TRY(rlf_infile_read(r->file, r->at, r->piece, n, err));
    r->n = n;
    r->at += n;
    return RLF_OK;
}

/* The next line is r->line, empty behind the last one; *ends: a newline is its
 * last byte. */
static rlf_status
next_line(reader *r, rlf_err *err, bool *ends)
{
    *ends = false;
    rlf_buf_clear(&r->line);
    while (!*ends) {
        if (r->used == r->n)
            RLF_TRY(next_piece(r, err));
        if (!r->n)
            return RLF_OK;
        const char *from = r->piece + r->used;
        size_t left = r->n - r->used;
        const char *stop = memchr(from, '\n', left);
        size_t n = stop ? (size_t)(stop + 1 - from) : left;
        if (!rlf_buf_try(&r->line, n))
            return rlf_fail_memory(err, r->line.n + n, "a line of a journal");
        rlf_buf_add(&r->line, from, n);
        r->used += n;
        *ends = stop != NULL;
    }
    return RLF_OK;
}

/* Lines in the first n bytes. */
static rlf_status
count_lines(const rlf_infile *file, uint64_t n, rlf_err *err, size_t *lines)
{
    reader r = {.file = file};
    rlf_status status = RLF_OK;
    *lines = 0;
    while (status >= 0 && r.at < n) {
        uint64_t from = r.at;
        status = next_piece(&r, err);
        size_t most = r.n;
        if (status >= 0 && !most)
            break;
        if (most > n - from)
            most = (size_t)(n - from);
        for (size_t i = 0; status >= 0 && i < most; i++)
            *lines += r.piece[i] == '\n';
    }
    reader_close(&r);
    return status;
}

/* ---- while the run goes on ---- */

/* Bytes and lines that were copied, or looked at. */
typedef struct copied {
    rlf_writer *to; /* NULL: nowhere */
    uint64_t bytes;
    size_t lines;
    uint32_t checksum;
} copied;

static rlf_status
copy(copied *c, const char *p, size_t n, rlf_err *err)
{
    c->checksum = rlf_checksum(c->checksum, p, n);
    c->bytes += n;
    return c->to ? rlf_writer_add(c->to, p, n, err) : RLF_OK;
}

static rlf_status
copy_range(const rlf_infile *file, uint64_t from, uint64_t to, copied *c,
           rlf_err *err)
{
    char *piece = rlf_malloc(PIECE);
    rlf_status status = RLF_OK;
    while (status >= 0 && from < to) {
        size_t n = to - from < PIECE ? (size_t)(to - from) : PIECE;
        status = rlf_infile_read(file, from, piece, n, err);
        if (status >= 0)
            status = copy(c, piece, n, err);
        from += n;
    }
    free(piece);
    return status;
}

/* The bytes before `size` that are the run's own. */
static rlf_status
copy_own(const rlf_session *session, int which, const rlf_infile *file,
         uint64_t size, copied *c, rlf_err *err)
{
    uint64_t from = 0;
    for (size_t i = 0;
         i <= session->directory.metadata.journals[which].foreign.count; i++) {
        const struct rlf_foreign *f =
            i < session->directory.metadata.journals[which].foreign.count
                ? &session->directory.metadata.journals[which].foreign.data[i]
                : &(struct rlf_foreign){size, size};
        if (f->from > from && f->from <= rlf_infile_size(file))
            RLF_TRY(copy_range(file, from, f->from, c, err));
        from = f->to;
    }
    return RLF_OK;
}

/* Are the first `length` bytes what the run left, with or without more
 * behind? */
static rlf_status
is_whole(const rlf_session *session, int which, const rlf_infile *file,
         uint64_t length, rlf_err *err, bool *whole)
{
    copied own = {0};
    uint64_t n = session->directory.metadata.journals[which].size;
    *whole = false;
    if (length < n)
        return RLF_OK;
    RLF_TRY(copy_own(session, which, file, n, &own, err));
    *whole =
        own.checksum == session->directory.metadata.journals[which].checksum;
    return RLF_OK;
}

/* Is the file as long as it was left? Else somebody wrote to it, cut, replaced
 * or removed it meanwhile: that is told, and the run goes on behind the `is`
 * bytes that there are now. Of what was added the place is known, so that a
 * resume can put it aside. Of all else a checkpoint goes on to know what the
 * run wrote, so that a resume finds the file damaged and says which lines it
 * lacks. */
static rlf_status
compare(rlf_session *session, int which, uint64_t is, rlf_err *err)
{
    const char *path = path_of(session, which);
    rlf_appended *now = &session->directory.appended[which];
    uint64_t had = now->length,
             *size = &session->directory.metadata.journals[which].size;
    bool whole = false;
    if (is == had)
        return RLF_OK;
    if (is > had && !now->changed) {
        rlf_infile *file;
        RLF_TRY(rlf_infile_open(path, err, &file));
        rlf_status status = is_whole(session, which, file, is, err, &whole);
        rlf_infile_close(file);
        RLF_TRY(status);
    }
    if (whole) {
        RLF_PUSH_IN(session->arena,
                    &session->directory.metadata.journals[which].foreign,
                    ((struct rlf_foreign){*size, is}));
        *size = is;
    } else {
        now->changed = true;
    }
    now->length = is;
    if (is)
        rlf_buf_line(&session->warned.lines,
                     "%s was changed while the run writes to it: it had "
                     "%" PRIu64 " bytes and has %" PRIu64
                     "; the run goes on behind them\n",
                     path, had, is);
    else
        rlf_buf_line(&session->warned.lines,
                     "%s was removed or emptied while the run writes to it: "
                     "it had %" PRIu64 " bytes; the run begins it again\n",
                     path, had);
    return RLF_OK;
}

/* Nothing is looked at before the line is in the file: another program could
 * write in between. */
rlf_status
rlf_journal_add(rlf_session *session, int which, const char *p, size_t n,
                rlf_err *err)
{
    const char *path = path_of(session, which);
    uint64_t at;
    RLF_TRY(rlf_path_own(path, err));
    RLF_TRY(rlf_file_append(path, p, n, false, &at, err));
    RLF_TRY(compare(session, which, at, err));
    session->directory.appended[which].length += n;
    session->directory.metadata.journals[which].size += n;
    session->directory.metadata.journals[which].checksum = rlf_checksum(
        session->directory.metadata.journals[which].checksum, p, n);
    return RLF_OK;
}

rlf_status
rlf_journals_sync(rlf_session *session, rlf_err *err)
{
    for (int i = 0; i < RLF_JOURNALS; i++) {
        const char *path = path_of(session, i);
        struct stat found;
        RLF_TRY(rlf_path_own(path, err));
        bool there = lstat(path, &found) == 0;
        uint64_t is = there ? (uint64_t)found.st_size : 0;
        RLF_TRY(compare(session, i, is, err));
        if (session->directory.appended[i].length)
            RLF_TRY(rlf_file_sync(path, err));
    }
    RLF_TRY(rlf_tokens_sync(session, err));
    return rlf_sinks_sync(session, err);
}

/* ---- when it begins ---- */

/* Begins again after a run without a checkpoint: its steps are done again, but
 * nothing says that they are the same ones. */
static rlf_status
begin_anew(rlf_session *session, const char *path, rlf_err *err)
{
    const char *to;
    RLF_TRY(rlf_journal_free_name(session, path, err, &to));
    RLF_TRY(rlf_path_rename(path, to, err));
    rlf_buf_line(&session->warned.lines,
                 "%s is of steps that no checkpoint has: it is now %s\n", path,
                 to);
    return RLF_OK;
}

/* The step of a checkpoint, and the last one that the run can have written
 * lines of since: UINT32_MAX where it was killed. */
typedef struct steps {
    uint32_t saved, most;
} steps;

/* Does the line read as one of a step from *last to `most`? A step has one line
 * of metrics, and one at most of tokens. Of one behind a checkpoint it is asked as well that it has what
 * each line of a run has, and of metrics that no step is missing. */
static bool
take_line(const rlf_buf *line, int which, uint32_t most, bool behind,
          int64_t *last)
{
    static const char *const in_each[RLF_JOURNALS] = {
        [RLF_JOURNAL_METRICS] = "seconds",
        [RLF_JOURNAL_SAMPLES] = "response",
        [RLF_JOURNAL_TOKENS] = "crc32",
        [RLF_JOURNAL_RANKS] = "rank"};
    json_t *root = NULL;
    rlf_err ignored = RLF_ERR_NONE;
    int64_t of = 0;
    bool good = rlf_json_parse("", 1, line->p, line->n, &ignored, &root) >= 0 &&
                json_is_object(root) &&
                rlf_json_as_int(json_object_get(root, "step"), &of) &&
                (!behind || json_object_get(root, in_each[which]));
    json_decref(root);
    bool one = which == RLF_JOURNAL_METRICS || which == RLF_JOURNAL_TOKENS;
    bool each = which == RLF_JOURNAL_METRICS;
    int64_t least = one ? *last + 1 : *last;
    if (!good || of < least || of < 1 || of > (int64_t)most ||
        (each && behind && of > least))
        return false;
    *last = of;
    return true;
}

/* Is what stands behind the checkpoint, from byte n on, what a run wrote there:
 * lines of steps after it, the last one maybe torn? */
static rlf_status
is_of_steps(const rlf_infile *file, uint64_t n, int which, steps of,
            rlf_err *err, bool *good)
{
    static const char begin[] = "{\"step\":";
    reader r = {.file = file, .at = n};
    int64_t last = of.saved;
    bool ends;
    rlf_status status;
    *good = true;
    while ((status = next_line(&r, err, &ends)) >= 0 && r.line.n && *good) {
        size_t m = r.line.n < sizeof begin - 1 ? r.line.n : sizeof begin - 1;
        *good = ends ? take_line(&r.line, which, of.most, true, &last) &&
                           last > (int64_t)of.saved
                     : memcmp(r.line.p, begin, m) == 0 && of.most > of.saved;
    }
    reader_close(&r);
    return status;
}

/* Copy the lines of steps up to the checkpoint's that can be read; *bad is the
 * number of the first that cannot, unless only later steps follow, which are
 * done again; 0: each can. `of` is set for the steps that there are lines of.
 */
static rlf_status
copy_lines(reader *r, int which, steps known, bool *of, copied *c, rlf_err *err,
           size_t *bad)
{
    int64_t last = 0;
    uint64_t from = 0;      /* of the line */
    bool took = true, ends; /* the line before */
    *bad = 0;
    for (size_t number = 1;; number++, from += r->line.n) {
        bool later = false;
        RLF_TRY(next_line(r, err, &ends));
        if (!r->line.n)
            return RLF_OK;
        bool takes =
            ends && take_line(&r->line, which, known.saved, false, &last);
        if (!takes && took && ends)
            RLF_TRY(is_of_steps(r->file, from, which, known, err, &later));
        if (later)
            return RLF_OK;
        if (takes) {
            RLF_TRY(copy(c, r->line.p, r->line.n, err));
            c->lines++;
            of[last] = true;
        } else if (!*bad) {
            *bad = number;
        }
        took = takes;
    }
}

/* ", but none of steps 1 to 4, 7": those of 1 to `step` that are not set. */
static void
put_missing(const bool *of, uint32_t step, rlf_buf *out)
{
    enum { MOST = 8 }; /* ranges */
    int ranges = 0;
    for (uint32_t from = 1, to; from <= step; from = to + 1) {
        for (to = from; to <= step && !of[to];)
            to++;
        if (to == from)
            continue;
        if (ranges++ == MOST) {
            rlf_buf_puts(out, " and more");
            return;
        }
        rlf_buf_printf(out, "%s%" PRIu32,
                       ranges > 1      ? ", "
                       : to - from > 1 ? ", but none of steps "
                                       : ", but none of step ",
                       from);
        if (to - from > 1)
            rlf_buf_printf(out, " to %" PRIu32, to - 1);
    }
}

static void
tell_damage(rlf_session *session, const char *path, size_t bad, uint32_t step)
{
    rlf_buf *said = &session->warned.lines;
    rlf_buf_line(said, "%s is damaged: ", path);
    if (bad)
        rlf_buf_line(said,
                     "line %zu is the first that cannot be read as one "
                     "of steps up to %" PRIu32 "\n",
                     bad, step);
    else
        rlf_buf_puts(said, "each line can be read, but they are not what was "
                           "written\n");
}

/* Makes the journal of what was copied. */
static rlf_status
replace(rlf_session *session, int which, rlf_status status, const copied *c,
        rlf_err *err)
{
    if (status < 0) {
        rlf_writer_drop(c->to);
        return status;
    }
    RLF_TRY(rlf_writer_commit(c->to, err));
    session->directory.metadata.journals[which].size = c->bytes;
    session->directory.metadata.journals[which].checksum = c->checksum;
    session->directory.metadata.journals[which].foreign.count = 0;
    return RLF_OK;
}

static rlf_status
mend(rlf_session *session, int which, const rlf_infile *file, steps known,
     rlf_err *err)
{
    const char *path = path_of(session, which);
    const char *to;
    RLF_TRY(rlf_journal_free_name(session, path, err, &to));
    rlf_buf *said = &session->warned.lines;
    copied good = {0};
    reader r = {.file = file};
    size_t bad;
    RLF_TRY(rlf_file_copy(path, to, err));
    RLF_TRY(rlf_writer_open(path, err, &good.to));
    bool *of = rlf_calloc((size_t)known.saved + 1, sizeof *of);
    rlf_status status = copy_lines(&r, which, known, of, &good, err, &bad);
    reader_close(&r);
    status = replace(session, which, status, &good, err);
    if (status >= 0) {
        tell_damage(session, path, bad, known.saved);
        rlf_buf_line(said,
                     "%s is as it was found, %s has the %zu line%s that can "
                     "be read",
                     to, path, good.lines, good.lines == 1 ? "" : "s");
        put_missing(of, known.saved, said);
        rlf_buf_putc(said, '\n');
    }
    free(of);
    return status;
}

/* Others have written into the journal, before the checkpoint or behind it: the
 * file is put aside as it is, and the run's own lines are the new one. */
static rlf_status
put_aside(rlf_session *session, int which, const rlf_infile *file, rlf_err *err)
{
    const char *path = path_of(session, which), *to;
    uint64_t n = session->directory.metadata.journals[which].size, first = n;
    size_t lines;
    copied own = {0};
    if (session->directory.metadata.journals[which].foreign.count)
        first =
            session->directory.metadata.journals[which].foreign.data[0].from;
    RLF_TRY(rlf_journal_free_name(session, path, err, &to));
    RLF_TRY(count_lines(file, first, err, &lines));
    RLF_TRY(rlf_file_copy(path, to, err));
    RLF_TRY(rlf_writer_open(path, err, &own.to));
    rlf_status status = copy_own(session, which, file, n, &own, err);
    RLF_TRY(replace(session, which, status, &own, err));
    rlf_buf_line(&session->warned.lines,
                 "%s has lines that the run did not write, from line %zu "
                 "on: %s is as it was found, %s has the run's own\n",
                 path, lines + 1, to, path);
    return RLF_OK;
}

/* Lines of metrics were no tables once: the seconds of a step stood in an object
 * of their own. The two forms are not mixed in one file: RLF_ENV, by the first
 * line that can be read. */
static rlf_status
refuse_older(const char *path, const rlf_infile *file, rlf_err *err)
{
    reader r = {.file = file};
    bool ends, read = false, older = false;
    rlf_status status = RLF_OK;
    while (!read && (status = next_line(&r, err, &ends)) >= 0 && r.line.n) {
        json_t *root = NULL;
        rlf_err ignored = RLF_ERR_NONE;
        read = rlf_json_parse("", 1, r.line.p, r.line.n, &ignored, &root) >= 0;
        older = read && json_is_object(json_object_get(root, "time"));
        json_decref(root);
        rlf_err_clear(&ignored);
    }
    reader_close(&r);
    if (status < 0 || !older)
        return status;
    rlf_fail(err, RLF_ENV,
             "%s is of an older rlflow, whose lines have the seconds of a step "
             "in an object \"time\"",
             path);
    rlf_err_hint(err, "move it away: the run goes on with a new one, which "
                      "begins behind the checkpoint");
    return RLF_ENV;
}

static rlf_status
hold_against(rlf_session *session, int which, const rlf_infile *file,
             steps known, rlf_err *err)
{
    uint64_t n = session->directory.metadata.journals[which].size;
    bool whole, of_steps;
    RLF_TRY(is_whole(session, which, file, rlf_infile_size(file), err, &whole));
    if (!whole)
        return mend(session, which, file, known, err);
    RLF_TRY(is_of_steps(file, n, which, known, err, &of_steps));
    if (session->directory.metadata.journals[which].foreign.count || !of_steps)
        return put_aside(session, which, file, err);
    return rlf_infile_size(file) > n
               ? rlf_file_truncate(path_of(session, which), (size_t)n, err)
               : RLF_OK;
}

/* A copy of the directory that was made of hard links has one file with it. */
static rlf_status
part_from_others(const char *path, rlf_err *err)
{
    struct stat found;
    if (lstat(path, &found) != 0 || !S_ISREG(found.st_mode) ||
        found.st_nlink < 2)
        return RLF_OK;
    return rlf_file_copy(path, path, err);
}

static rlf_status
go_on(rlf_session *session, int which, steps known, rlf_err *err)
{
    rlf_infile *file;
    RLF_TRY(part_from_others(path_of(session, which), err));
    RLF_TRY(rlf_infile_open(path_of(session, which), err, &file));
    rlf_status status = which == RLF_JOURNAL_METRICS
                            ? refuse_older(path_of(session, which), file, err)
                            : RLF_OK;
    if (status >= 0)
        status = hold_against(session, which, file, known, err);
    rlf_infile_close(file);
    return status;
}

/* The file is gone or has nothing in it. */
static void
begin_empty(rlf_session *session, int which, bool there, uint32_t step)
{
    if (session->directory.metadata.journals[which].size)
        rlf_buf_line(&session->warned.lines,
                     "%s is %s: it had %" PRIu64 " bytes when step %" PRIu32
                     " was saved; it begins anew with step %" PRIu32 "\n",
                     path_of(session, which), there ? "empty" : "gone",
                     session->directory.metadata.journals[which].size, step,
                     step + 1);
    session->directory.metadata.journals[which].size = 0;
    session->directory.metadata.journals[which].checksum = 0;
    session->directory.metadata.journals[which].foreign.count = 0;
}

rlf_status
rlf_journals_open(rlf_session *session, uint32_t step, rlf_err *err)
{
    steps known = {step, step ? rlf_record_reached(session) : 0};
    for (int i = 0; i < RLF_JOURNALS; i++) {
        const char *path = path_of(session, i);
        struct stat found;
        bool there;
        RLF_TRY(rlf_file_find(path, err, &there));
        if (!there || (step && stat(path, &found) == 0 && !found.st_size))
            begin_empty(session, i, there, step);
        else if (step)
            RLF_TRY(go_on(session, i, known, err));
        else
            RLF_TRY(begin_anew(session, path, err));
        session->directory.appended[i] = (rlf_appended){
            .length = session->directory.metadata.journals[i].size};
    }
    return rlf_tokens_open(session, step, known.most, err);
}

rlf_status
rlf_journal_each(rlf_session *session, int which,
                 rlf_status (*take)(void *arg, const char *line, size_t n,
                                    rlf_err *err),
                 void *arg, rlf_err *err)
{
    rlf_infile *file;
    bool ends, there;
    rlf_status status;
    RLF_TRY(rlf_file_find(path_of(session, which), err, &there));
    if (!there)
        return RLF_OK;
    RLF_TRY(rlf_infile_open(path_of(session, which), err, &file));
    reader r = {.file = file};
    while ((status = next_line(&r, err, &ends)) >= 0 && r.line.n) {
        status = take(arg, r.line.p, r.line.n, err);
        if (status < 0)
            break;
    }
    reader_close(&r);
    rlf_infile_close(file);
    return status;
}
