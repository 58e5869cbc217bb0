/* The directory that "std/..." of programs means: as the environment says; in a
 * build tree that of the source; else where it was installed, also where that
 * was moved as a whole, which the library's own file tells, or the program's
 * that has the library in it. See rlflow.h. */
#define _GNU_SOURCE /* dladdr */
#include "engine/api/session.h"

#include "engine/io/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Of PREFIX/lib/x86_64-linux-gnu/librlflow.so the prefix is three up. */
enum { UP = 3 };

static const char *
find_from(const char *file, rlf_arena *arena)
{
    const char *dir = rlf_path_parent(arena, file);
    /* the files of a build tree: other projects have a config.status too */
    if (rlf_file_exists(rlf_path_join(arena, dir, "config.status")) &&
        rlf_file_exists(rlf_path_join(arena, dir, "rlflow.pc")))
        return RLF_SOURCE_DIR "/stdlib";
    for (int i = 0; i < UP && dir[1]; i++) {
        dir = rlf_path_parent(arena, dir);
        const char *beside = rlf_path_join(arena, dir, "share/rlflow/stdlib");
        if (rlf_dir_exists(beside))
            return beside;
    }
    return NULL;
}

const char *
rlf_session_stdlib(rlf_session *s)
{
    const char *env = getenv("RLFLOW_STDLIB"), *found = NULL;
    if (s && s->options.stdlib)
        return s->options.stdlib;
    if (env && *env)
        return env;
    char path[PATH_MAX];
    Dl_info own;
    /* the name of a program itself may be relative to where it was started */
    if (s && dladdr((const void *)RLF_PKGDATADIR, &own) && own.dli_fname &&
        *own.dli_fname == '/' && realpath(own.dli_fname, path))
        found = find_from(path, s->arena);
    ssize_t n =
        s && !found ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    if (n > 0) {
        path[n] = 0;
        found = find_from(path, s->arena);
    }
    return found ? found : RLF_PKGDATADIR "/stdlib";
}
