/* See library.h. */
#include "engine/base/library.h"

#include <dlfcn.h>
#include <stdio.h>

void *
rlf_library_open(const char *name, const char *dir, char *why, size_t room)
{
    char path[512];
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        return handle;
    int n = snprintf(why, room, "%s", dlerror());
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path)
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle && n >= 0 && (size_t)n < room)
        snprintf(why + n, room - (size_t)n, "; %s", dlerror());
    return handle;
}
