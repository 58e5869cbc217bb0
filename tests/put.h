/* Files of a unit test in a directory of its own, `root`, which it makes and
 * removes. */
#ifndef TESTS_PUT_H
#define TESTS_PUT_H

#include "engine/base/arena.h"
#include "tests/tap.h"

static char root[64];

/* Writes a file of that name and returns its path, in `arena`. */
static const char *
put(rlf_arena *arena, const char *name, const char *text)
{
    const char *path = rlf_arena_printf(arena, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bail("cannot write %s", path);
    return path;
}

#endif
