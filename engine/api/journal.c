/* The journals of a run, metrics.jsonl and samples.jsonl: lines are appended,
 * a checkpoint knows how many bytes there were and their checksum, and a resume
 * holds the files against that.
 *
 * Lines past the checkpoint are of steps that are done again: they are cut.
 * Lines before it that are not what was written are told of: the file is put
 * aside as it is, and what can still be read of it is the new one. Nothing that
 * cannot be made again is deleted. What stands in a line is rundir.c's. */
#include "engine/api/session.h"

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

static size_t
count_lines(const char *p, size_t n)
{
    size_t lines = 0;
    const char *end = p + n;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        lines++;
        p++;
    }
    return lines;
}

/* ---- while the run goes on ---- */

/* The bytes before `size` that are the run's own. */
static void
own_bytes(const rlf_session *session, int which, const rlf_mapping *file,
          uint64_t size, rlf_buf *out)
{
    uint64_t from = 0;
    const char *p = (const char *)file->p;
    for (size_t i = 0; i <= session->beside.journals[which].foreign.count;
         i++) {
        const struct rlf_foreign *f =
            i < session->beside.journals[which].foreign.count
                ? &session->beside.journals[which].foreign.data[i]
                : &(struct rlf_foreign){size, size};
        if (f->from > from && f->from <= file->n)
            rlf_buf_add(out, p + from, (size_t)(f->from - from));
        from = f->to;
    }
}

/* Is it what the run left, with or without more behind? */
static bool
is_whole(const rlf_session *session, int which, const rlf_mapping *file)
{
    rlf_buf own = {0};
    uint64_t n = session->beside.journals[which].size;
    if (file->n < n)
        return false;
    own_bytes(session, which, file, n, &own);
    bool whole = rlf_checksum(0, own.p, own.n) ==
                 session->beside.journals[which].checksum;
    rlf_buf_free(&own);
    return whole;
}

/* Is the file as long as it was left? Else somebody wrote to it, cut, replaced
 * or removed it meanwhile: that is told, and the run goes on behind what there
 * is now. Of what was added the place is known, so that a resume can put it
 * aside. Of all else a checkpoint goes on to know what the run wrote, so that a
 * resume finds the file damaged and says which lines it lacks. */
static rlf_status
watch(rlf_session *session, int which, rlf_err *err)
{
    struct stat found;
    const char *path = path_of(session, which);
    rlf_appended *now = &session->appended[which];
    uint64_t *size = &session->beside.journals[which].size, is = 0;
    rlf_mapping file = {0};
    bool there = stat(path, &found) == 0;
    if (there ? (uint64_t)found.st_size == now->length : !now->length)
        return RLF_OK;
    if (there)
        RLF_TRY(rlf_mapping_open(path, err, &file));
    is = file.n;
    if (there && !now->changed && is_whole(session, which, &file)) {
        RLF_PUSH_IN(session->arena, &session->beside.journals[which].foreign,
                    ((struct rlf_foreign){*size, is}));
        *size = is;
    } else {
        now->changed = true;
    }
    rlf_mapping_close(&file);
    rlf_buf_printf(&session->warnings,
                   "%s was changed while the run writes to it: it had %" PRIu64
                   " bytes and %s %" PRIu64 "; the run goes on behind them\n",
                   path, now->length, there ? "has" : "is gone, so it has", is);
    now->length = is;
    return RLF_OK;
}

rlf_status
rlf_journal_add(rlf_session *session, int which, const char *p, size_t n,
                rlf_err *err)
{
    RLF_TRY(watch(session, which, err));
    RLF_TRY(rlf_file_append(path_of(session, which), p, n, false, err));
    session->appended[which].length += n;
    session->beside.journals[which].size += n;
    session->beside.journals[which].checksum =
        rlf_checksum(session->beside.journals[which].checksum, p, n);
    return RLF_OK;
}

rlf_status
rlf_journals_sync(rlf_session *session, rlf_err *err)
{
    for (int i = 0; i < RLF_JOURNALS; i++) {
        RLF_TRY(watch(session, i, err));
        if (session->appended[i].length)
            RLF_TRY(rlf_file_sync(path_of(session, i), err));
    }
    return RLF_OK;
}

/* ---- when it begins ---- */

/* What a run without a checkpoint left: those steps are done again, but nothing
 * says that they are the same ones. */
static rlf_status
begin_anew(rlf_session *session, const char *path, rlf_err *err)
{
    const char *to;
    RLF_TRY(rlf_journal_free_name(session, path, err, &to));
    RLF_TRY(rlf_path_rename(path, to, err));
    rlf_buf_printf(&session->warnings,
                   "%s is of steps that no checkpoint has: it is now %s\n",
                   path, to);
    return RLF_OK;
}

/* Append the line to `out` if it reads as one of a step from *last to `step`;
 * a step has one line of metrics. */
static bool
take_line(const char *line, size_t n, int which, uint32_t step, int64_t *last,
          rlf_buf *out)
{
    json_t *root = NULL;
    rlf_err ignored = RLF_ERR_NONE;
    int64_t of = 0;
    bool good = rlf_json_parse("", 1, line, n, &ignored, &root) >= 0 &&
                json_is_object(root) &&
                rlf_json_as_int(json_object_get(root, "step"), &of);
    json_decref(root);
    int64_t least = which == RLF_JOURNAL_METRICS ? *last + 1 : *last;
    if (!good || of < least || of < 1 || of > (int64_t)step)
        return false;
    *last = of;
    rlf_buf_add(out, line, n);
    return true;
}

/* Is what stands behind the checkpoint, from byte n on, what a run wrote there:
 * lines of steps after it, the last one maybe torn? */
static bool
is_of_steps(const rlf_mapping *file, size_t n, int which, uint32_t step)
{
    static const char begin[] = "{\"step\":";
    const char *p = (const char *)file->p + n,
               *end = (const char *)file->p + file->n;
    int64_t last = step;
    rlf_buf lines = {0};
    bool good = true;
    while (good && p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t k = (size_t)((stop ? stop + 1 : end) - p);
        size_t m = k < sizeof begin - 1 ? k : sizeof begin - 1;
        good = stop ? take_line(p, k, which, UINT32_MAX, &last, &lines) &&
                          last > (int64_t)step
                    : memcmp(p, begin, m) == 0;
        p += k;
    }
    rlf_buf_free(&lines);
    return good;
}

/* The lines of steps up to `step` that can be read, and the number of the first
 * that cannot, unless only later steps follow, which are done again; 0: each
 * can. `of` is set for the steps that there are lines of. */
static size_t
read_lines(const rlf_mapping *file, int which, uint32_t step, bool *of,
           rlf_buf *out)
{
    size_t bad = 0, number = 1;
    int64_t last = 0;
    bool took = true; /* the line before */
    const char *p = (const char *)file->p, *end = p + file->n;
    for (; p < end; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((stop ? stop + 1 : end) - p);
        bool takes = stop && take_line(p, n, which, step, &last, out);
        if (!takes && took && stop &&
            is_of_steps(file, (size_t)(p - (const char *)file->p), which, step))
            break;
        if (takes)
            of[last] = true;
        else if (!bad)
            bad = number;
        took = takes;
        p += n;
    }
    return bad;
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
                       ranges > 1             ? ", "
                       : to - from > 1        ? ", but none of steps "
                                              : ", but none of step ",
                       from);
        if (to - from > 1)
            rlf_buf_printf(out, " to %" PRIu32, to - 1);
    }
}

static void
tell_damage(rlf_session *session, const char *path, size_t bad, uint32_t step)
{
    rlf_buf *said = &session->warnings;
    rlf_buf_printf(said, "%s is damaged: ", path);
    if (bad)
        rlf_buf_printf(said,
                       "line %zu is the first that cannot be read as one "
                       "of steps up to %" PRIu32 "\n",
                       bad, step);
    else
        rlf_buf_puts(said, "each line can be read, but they are not what was "
                           "written\n");
}

static rlf_status
mend(rlf_session *session, int which, const rlf_mapping *file, uint32_t step,
     rlf_err *err)
{
    const char *path = path_of(session, which);
    const char *to;
    RLF_TRY(rlf_journal_free_name(session, path, err, &to));
    rlf_buf good = {0}, *said = &session->warnings;
    RLF_TRY(rlf_file_copy(path, to, err));
    bool *of = rlf_calloc((size_t)step + 1, sizeof *of);
    size_t bad = read_lines(file, which, step, of, &good);
    rlf_status status = rlf_file_write(path, good.p ? good.p : "", good.n, err);
    if (status >= 0) {
        tell_damage(session, path, bad, step);
        rlf_buf_printf(said,
                       "%s is as it was found, %s has the %zu lines that can "
                       "be read",
                       to, path, count_lines(good.p, good.n));
        put_missing(of, step, said);
        rlf_buf_putc(said, '\n');
        session->beside.journals[which].size = good.n;
        session->beside.journals[which].checksum =
            rlf_checksum(0, good.p, good.n);
        session->beside.journals[which].foreign.count = 0;
    }
    free(of);
    rlf_buf_free(&good);
    return status;
}

/* Others have written into the journal, before the checkpoint or behind it: the
 * file is put aside as it is, and the run's own lines are the new one. */
static rlf_status
put_aside(rlf_session *session, int which, const rlf_mapping *file,
          rlf_err *err)
{
    const char *path = path_of(session, which), *to;
    uint64_t n = session->beside.journals[which].size, first = n;
    if (session->beside.journals[which].foreign.count)
        first = session->beside.journals[which].foreign.data[0].from;
    rlf_buf own = {0};
    RLF_TRY(rlf_journal_free_name(session, path, err, &to));
    RLF_TRY(rlf_file_copy(path, to, err));
    own_bytes(session, which, file, n, &own);
    rlf_status status =
        rlf_file_write(path, own.p ? own.p : "", own.n, err);
    if (status >= 0) {
        rlf_buf_printf(&session->warnings,
                       "%s has lines that the run did not write, from line %zu "
                       "on: %s is as it was found, %s has the run's own\n",
                       path,
                       count_lines((const char *)file->p, (size_t)first) + 1,
                       to, path);
        session->beside.journals[which].size = own.n;
        session->beside.journals[which].foreign.count = 0;
    }
    rlf_buf_free(&own);
    return status;
}

static rlf_status
go_on(rlf_session *session, int which, uint32_t step, rlf_err *err)
{
    const char *path = path_of(session, which);
    size_t n = (size_t)session->beside.journals[which].size;
    rlf_mapping file;
    RLF_TRY(rlf_mapping_open(path, err, &file));
    rlf_status status = RLF_OK;
    if (!is_whole(session, which, &file))
        status = mend(session, which, &file, step, err);
    else if (session->beside.journals[which].foreign.count ||
             !is_of_steps(&file, n, which, step))
        status = put_aside(session, which, &file, err);
    else if (file.n > n)
        status = rlf_file_truncate(path, n, err);
    rlf_mapping_close(&file);
    return status;
}

/* The file is gone or has nothing in it. */
static void
begin_empty(rlf_session *session, int which, bool there, uint32_t step)
{
    if (session->beside.journals[which].size)
        rlf_buf_printf(&session->warnings,
                       "%s is %s: it had %" PRIu64 " bytes when step %" PRIu32
                       " was saved; it begins anew with step %" PRIu32 "\n",
                       path_of(session, which), there ? "empty" : "gone",
                       session->beside.journals[which].size, step, step + 1);
    session->beside.journals[which].size = 0;
    session->beside.journals[which].checksum = 0;
    session->beside.journals[which].foreign.count = 0;
}

rlf_status
rlf_journals_open(rlf_session *session, uint32_t step, rlf_err *err)
{
    for (int i = 0; i < RLF_JOURNALS; i++) {
        const char *path = path_of(session, i);
        struct stat found;
        bool there;
        RLF_TRY(rlf_file_find(path, err, &there));
        if (!there || (step && stat(path, &found) == 0 && !found.st_size))
            begin_empty(session, i, there, step);
        else if (step)
            RLF_TRY(go_on(session, i, step, err));
        else
            RLF_TRY(begin_anew(session, path, err));
        session->appended[i] =
            (rlf_appended){.length = session->beside.journals[i].size};
    }
    return RLF_OK;
}
