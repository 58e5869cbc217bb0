/* The journals of a run, metrics.jsonl and samples.jsonl: lines are appended,
 * a checkpoint knows how many bytes there were and their checksum, and a resume
 * holds the files against that.
 *
 * Lines past the checkpoint are of steps that are done again: they are cut.
 * Lines before it that are not what was written are told of: the file is put
 * aside as it is, and what can still be read of it is the new one. Nothing that
 * cannot be made again is deleted. What stands in a line is rundir.c's. */
#include "engine/api/session.h"

#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/json.h"

#include <inttypes.h>
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

/* Is the file as long as it was left? Else somebody cut, replaced or removed it
 * meanwhile: that is told, and what there is now is what the run goes on with,
 * so that a resume does not take it for damage. */
static rlf_status
watch(rlf_session *session, int which, rlf_err *err)
{
    struct stat found;
    const char *path = path_of(session, which);
    uint64_t *size = &session->beside.journals[which].size, is = 0;
    uint32_t sum = 0;
    bool there = stat(path, &found) == 0;
    if (there ? (uint64_t)found.st_size == *size : !*size)
        return RLF_OK;
    if (there)
        RLF_TRY(rlf_checksum_file(path, err, &sum, &is));
    rlf_buf_printf(&session->warnings,
                   "%s was changed while the run writes to it: it had %" PRIu64
                   " bytes and %s %" PRIu64 "; the run goes on behind them\n",
                   path, *size, there ? "has" : "is gone, so it has", is);
    *size = is;
    session->beside.journals[which].checksum = sum;
    return RLF_OK;
}

rlf_status
rlf_journal_add(rlf_session *session, int which, const char *p, size_t n,
                rlf_err *err)
{
    RLF_TRY(watch(session, which, err));
    RLF_TRY(rlf_file_append(path_of(session, which), p, n, false, err));
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
        if (session->beside.journals[i].size)
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

/* The lines that can be read, and the number of the first that cannot; 0:
 * each can. */
static size_t
read_lines(const rlf_mapping *file, int which, uint32_t step, rlf_buf *out)
{
    size_t bad = 0, number = 1;
    int64_t last = 0;
    const char *p = (const char *)file->p, *end = p + file->n;
    for (; p < end; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((stop ? stop + 1 : end) - p);
        if ((!stop || !take_line(p, n, which, step, &last, out)) && !bad)
            bad = number;
        p += n;
    }
    return bad;
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
    size_t bad = read_lines(file, which, step, &good);
    rlf_status status = rlf_file_write(path, good.p ? good.p : "", good.n, err);
    if (status >= 0) {
        rlf_buf_printf(said, "%s is damaged: ", path);
        if (bad)
            rlf_buf_printf(said,
                           "line %zu is the first that cannot be read as one "
                           "of steps up to %" PRIu32,
                           bad, step);
        else
            rlf_buf_puts(said, "each line can be read, but they are not what "
                               "was written");
        rlf_buf_printf(said,
                       "\n%s is as it was found, %s has the %zu lines that can "
                       "be read\n",
                       to, path, count_lines(good.p, good.n));
        session->beside.journals[which].size = good.n;
        session->beside.journals[which].checksum =
            rlf_checksum(0, good.p, good.n);
    }
    rlf_buf_free(&good);
    return status;
}

/* Is it what it was at the checkpoint, with or without more behind? */
static bool
is_whole(const rlf_session *session, int which, const rlf_mapping *file)
{
    size_t n = (size_t)session->beside.journals[which].size;
    return file->n >= n && rlf_checksum(0, file->p, n) ==
                               session->beside.journals[which].checksum;
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
    else if (file.n > n)
        status = rlf_file_truncate(path, n, err);
    rlf_mapping_close(&file);
    return status;
}

rlf_status
rlf_journals_open(rlf_session *session, uint32_t step, rlf_err *err)
{
    for (int i = 0; i < RLF_JOURNALS; i++) {
        const char *path = path_of(session, i);
        bool there;
        RLF_TRY(rlf_file_find(path, err, &there));
        if (!there) {
            if (session->beside.journals[i].size)
                rlf_buf_printf(&session->warnings,
                               "%s is gone: it had %" PRIu64
                               " bytes when step %" PRIu32
                               " was saved; it begins anew\n",
                               path, session->beside.journals[i].size, step);
            session->beside.journals[i].size = 0;
            session->beside.journals[i].checksum = 0;
        } else if (step) {
            RLF_TRY(go_on(session, i, step, err));
        } else {
            RLF_TRY(begin_anew(session, path, err));
        }
    }
    return RLF_OK;
}
