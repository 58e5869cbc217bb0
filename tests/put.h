/* Files of a unit test in a directory of its own, `root`: made by make_root,
 * removed with all that is in it when the program ends. */
#ifndef TESTS_PUT_H
#define TESTS_PUT_H

#include "engine/base/arena.h"
#include "tests/tap.h"

#include <unistd.h>

static char root[512];
static pid_t root_owner; /* a child that ends leaves it where it is */

TAP_FUNCTION void
remove_root(void)
{
    char command[sizeof root + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (getpid() == root_owner && system(command) != 0)
        note("%s stays", root);
}

TAP_FUNCTION void
make_root(void)
{
    const char *in = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/rlflow-unit-XXXXXX", in ? in : "/tmp");
    if (!mkdtemp(root))
        bail("cannot make the directory %s", root);
    root_owner = getpid();
    atexit(remove_root);
}

/* The path of `name` there, in `arena`. */
TAP_FUNCTION const char *
in_root(rlf_arena *arena, const char *name)
{
    return rlf_arena_printf(arena, "%s/%s", root, name);
}

/* Writes a file of that name and returns its path, in `arena`. Without an
 * fsync, which would take most of the time. */
TAP_FUNCTION const char *
put(rlf_arena *arena, const char *name, const char *text)
{
    const char *path = in_root(arena, name);
    remove(path); /* to cut an old file short may wait for the disk */
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bail("cannot write %s", path);
    return path;
}

#endif
