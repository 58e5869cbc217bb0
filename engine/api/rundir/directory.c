/* The run's directory as a place: whether it holds a run, whether what stands
 * in it can be what a run keeps there, and whether it is still the one that was
 * opened. Every question about that is answered here, once; what is in the
 * files is the business of rundir.c, record.c, journal.c and inputs.c. */
#include "engine/api/rundir/rundir.h"

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/lock.h"
#include "engine/io/output.h"

#include <string.h>
#include <unistd.h>

/* Files and folders that a run leaves in its directory. */
static const struct {
    const char *name;
    bool is_directory;
    bool of_steps; /* steps leave it: where it stands a run is */
    bool appended; /* else it is replaced as a whole, and need not be written */
} parts[] = {
    {"metrics.jsonl", false, true, true},
    {"samples.jsonl", false, true, true},
    {"tokens.jsonl", false, true, true},
    {"ranks.jsonl", false, true, true},
    {"tokens", true, true, false},
    {"tensorboard", true, false, false},
    {"trackio", true, false, false},
    {"checkpoints", true, true, false},
    {"inputs", true, false, false},
    {"run.json", false, false, false},
    {"plan.rlf", false, false, false},
    {"checkpoints.json", false, false, false},
    {"prediction.json", false, false, false},
    {"profile.json", false, false, false},
};

/* Is anything there, in a directory anything in it? */
static rlf_status
is_used(const rlf_session *s, const char *path, rlf_err *err, bool *out)
{
    const char **names;
    size_t n;
    RLF_TRY(rlf_file_find(path, err, out));
    if (!*out || !rlf_dir_exists(path))
        return RLF_OK;
    RLF_TRY(rlf_dir_own(path, err, out)); /* it may be listed */
    RLF_TRY(rlf_dir_list(path, s->arena, err, &names, &n));
    *out = n > 0;
    return RLF_OK;
}

rlf_status
rlf_directory_holds_run(const rlf_session *s, const char *directory,
                        rlf_err *err, bool *out)
{
    *out = false;
    for (size_t i = 0; i < RLF_COUNT(parts) && !*out; i++)
        if (parts[i].of_steps)
            RLF_TRY(is_used(s,
                            rlf_path_join(s->arena, directory, parts[i].name),
                            err, out));
    return RLF_OK;
}

/* A directory with these two is that of a run, whatever else it holds. */
static bool
directory_is_run(const char *directory, rlf_arena *arena)
{
    return access(rlf_path_join(arena, directory, "run.json"), F_OK) == 0 &&
           access(rlf_path_join(arena, directory, "plan.rlf"), F_OK) == 0;
}

const char *
rlf_directory_around(const char *path, rlf_arena *arena)
{
    path = rlf_output_path(path, arena);
    for (const char *last = path;; last = path) {
        path = rlf_path_parent(arena, path);
        if (strcmp(path, last) == 0)
            return NULL;
        if (directory_is_run(path, arena))
            return path;
    }
}

bool
rlf_directory_keeps(const char *name, size_t n)
{
    for (size_t i = 0; i < RLF_COUNT(parts); i++) {
        size_t m = strlen(parts[i].name);
        if (n >= m && strncmp(name, parts[i].name, m) == 0 &&
            (n == m || name[m] == '.'))
            return true;
    }
    return (n == 4 && strncmp(name, "lock", n) == 0) ||
           (n > 7 && strncmp(name, "flight-", 7) == 0);
}

bool
rlf_directory_is_flight(const char *name)
{
    static const char digits[] = "0123456789";
    size_t n = strlen("flight-");
    return strncmp(name, "flight-", n) == 0 && name[n] &&
           name[n + strspn(name + n, digits)] == 0;
}

bool
rlf_directory_changes(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(parts); i++)
        if (strcmp(name, parts[i].name) == 0)
            return strcmp(name, "inputs") != 0;
    return strcmp(name, "lock") == 0 || rlf_directory_is_flight(name);
}

const char *
rlf_directory_replaces(size_t i)
{
    size_t at = 0;
    while (at < RLF_COUNT(parts)) {
        bool is = !parts[at].is_directory && !parts[at].of_steps;
        if (is && i-- == 0)
            return parts[at].name;
        at++;
    }
    return NULL;
}

rlf_status
rlf_directory_in_way(const char *path, rlf_err *err)
{
    rlf_fail(
        err, RLF_ENV,
        "%s has the name of what a run keeps there, and no run has left it",
        path);
    rlf_err_hint(err, "move it away, or give another directory with --out");
    return RLF_ENV;
}

/* Is that a file that no lines of a journal begin? */
static bool
is_no_journal(const char *path)
{
    char first = '{';
    rlf_infile *file;
    rlf_err ignored = RLF_ERR_NONE;
    if (rlf_infile_open(path, &ignored, &file) < 0)
        return false;
    bool read = !rlf_infile_size(file) ||
                rlf_infile_read(file, 0, &first, 1, &ignored) >= 0;
    rlf_infile_close(file);
    return read && first != '{';
}

rlf_status
rlf_directory_kinds(const rlf_session *s, rlf_err *err)
{
    for (size_t i = 0; i < RLF_COUNT(parts); i++) {
        bool there;
        const char *path =
            rlf_path_join(s->arena, s->options.directory, parts[i].name);
        RLF_TRY(rlf_path_own(path, err));
        if (parts[i].is_directory)
            RLF_TRY(rlf_dir_own(path, err, &there));
        else
            RLF_TRY(rlf_file_own(path, false, err, &there));
        if (there && parts[i].appended && is_no_journal(path))
            return rlf_directory_in_way(path, err);
    }
    return RLF_OK;
}

/* Where checkpoints are written, and removed. */
static rlf_status
look_at_work(const rlf_session *s, rlf_err *err)
{
    static const char *const folders[] = {"checkpoints/writing",
                                          "checkpoints/removing"};
    for (size_t i = 0; i < RLF_COUNT(folders); i++) {
        bool there;
        const char *path =
            rlf_path_join(s->arena, s->options.directory, folders[i]);
        RLF_TRY(rlf_path_own(path, err));
        RLF_TRY(rlf_dir_own(path, err, &there));
    }
    return RLF_OK;
}

rlf_status
rlf_directory_look(const rlf_session *s, rlf_err *err)
{
    for (size_t i = 0; i < RLF_COUNT(parts); i++) {
        bool there;
        const char *path =
            rlf_path_join(s->arena, s->options.directory, parts[i].name);
        RLF_TRY(rlf_path_own(path, err));
        if (!parts[i].is_directory) {
            RLF_TRY(rlf_file_own(path, parts[i].appended, err, &there));
            continue;
        }
        RLF_TRY(rlf_dir_own(path, err, &there));
        /* files in checkpoints are only read, and then removed */
        if (there)
            RLF_TRY(rlf_dir_check_links(path, !parts[i].of_steps, err));
    }
    return look_at_work(s, err);
}

rlf_status
rlf_directory_check(const rlf_session *s, rlf_err *err)
{
    return s->directory.lock ? rlf_lock_check(s->directory.lock, err) : RLF_OK;
}

rlf_status
rlf_directory_blame(const rlf_session *s, rlf_status status, rlf_err *err)
{
    rlf_err other = RLF_ERR_NONE;
    if (status >= 0)
        return status;
    if (rlf_directory_check(s, &other) < 0)
        *err = other; /* all else follows from that */
    else if (status == RLF_USER)
        err->status = RLF_ENV;
    return err->status;
}
