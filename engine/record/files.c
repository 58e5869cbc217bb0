/* Files of a run's directory: those that are in it, and whether they are what
 * the run has written. A directory that somebody else has packed may hold links
 * to files of whoever reads it, which would be shown: what leads out of it is
 * not followed. */
#include "engine/record/record.h"

#include "engine/base/digest.h"

#include <stdlib.h>

const char *
rlf_record_path(const rlf_record *record, rlf_arena *arena, const char *name)
{
    return rlf_path_join(arena, record->directory, name);
}

/* Does the name lead out of the directory? run.json may be anybody's. */
static bool
leads_out(const char *name)
{
    if (*name == '/' || !*name)
        return true;
    for (const char *p = name; *p; p += strcspn(p, "/"), p += *p == '/')
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || !p[2]))
            return true;
    return false;
}

/* Is the real path that of `dir`, or below it? */
static bool
is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    while (n && dir[n - 1] == '/')
        n--;
    return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

const char *
rlf_record_own(rlf_record *record, rlf_arena *arena, const char *name)
{
    if (!name || leads_out(name))
        return NULL;
    const char *path = rlf_record_path(record, arena, name);
    char *real = realpath(path, NULL), *dir = NULL;
    bool own = !real || ((dir = realpath(record->directory, NULL)) &&
                         is_below(real, dir));
    if (!own)
        rlf_record_leave_out(record,
                             "%s is left out: a symbolic link leads from it "
                             "out of the run's directory",
                             path);
    free(real);
    free(dir);
    return own ? path : NULL;
}

/* Reads the file; a note says why that cannot be. `missing` is one, too. */
static bool
read_own(rlf_record *r, rlf_arena *arena, const char *name, bool missing,
         rlf_buf *out)
{
    enum { MOST = 64 << 20 };
    rlf_err why = RLF_ERR_NONE;
    const char *path = rlf_record_own(r, arena, name);
    if (!path)
        return false;
    bool there = rlf_file_exists(path), folder = rlf_dir_exists(path);
    if (there && rlf_file_read(path, MOST, &why, out) >= 0)
        return true;
    if (folder)
        rlf_record_leave_out(r, "%s is left out: it is a directory", path);
    else if (there)
        rlf_record_leave_out(r, "%s", why.sentence);
    else if (missing)
        rlf_record_leave_out(r, "%s, of which run.json tells, is missing",
                             path);
    return false;
}

const char *
rlf_record_file_text(rlf_record *r, const char *name, size_t *n)
{
    if (n)
        *n = 0;
    if (!r || !name)
        return NULL;
    rlf_buf_clear(&r->file);
    rlf_arena *arena = rlf_arena_new();
    bool read = read_own(r, arena, name, false, &r->file);
    rlf_arena_free(arena);
    if (!read)
        return NULL;
    if (n)
        *n = r->file.n;
    return r->file.n ? r->file.p : "";
}

/* ---- are they what the run has written ---- */

static const char *
digest_of(rlf_record *r, const char *name, bool missing,
          char digest[RLF_DIGEST_TEXT])
{
    rlf_buf text = {0};
    rlf_arena *arena = rlf_arena_new();
    const char *out =
        read_own(r, arena, name, missing, &text)
            ? rlf_digest_print(rlf_digest_of(text.p, text.n), digest)
            : NULL;
    rlf_buf_free(&text);
    rlf_arena_free(arena);
    return out;
}

/* plan.rlf is that of one of the starts. */
static void
check_plan(rlf_record *r)
{
    const json_t *starts = json_object_get(r->facts.run, "starts");
    char digest[RLF_DIGEST_TEXT];
    const char *is = NULL;
    bool told = false, same = false;
    for (size_t i = 0; i < json_array_size(starts); i++) {
        const json_t *plan = json_object_get(json_array_get(starts, i), "plan");
        if (!json_is_string(plan))
            continue;
        if (!told)
            is = digest_of(r, "plan.rlf", false, digest);
        told = true;
        same |= is && strcmp(is, json_string_value(plan)) == 0;
    }
    if (is && !same)
        rlf_record_leave_out(r,
                             "%s/plan.rlf is not the plan that run.json tells "
                             "of: it is damaged, or somebody has edited it",
                             r->directory);
}

void
rlf_record_check_files(rlf_record *r)
{
    const rlf_record_facts *f = &r->facts;
    char digest[RLF_DIGEST_TEXT];
    for (size_t i = 0; i < f->inputs.count; i++) {
        const rlf_recorded_input *in = &f->inputs.data[i];
        const char *is = in->copy ? digest_of(r, in->copy, true, digest) : NULL;
        if (is && strcmp(is, in->value) != 0)
            rlf_record_leave_out(r,
                                 "%s/%s is not the copy that run.json tells "
                                 "of: it is damaged, or somebody has edited it",
                                 r->directory, in->copy);
    }
    check_plan(r);
}
