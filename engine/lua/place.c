/* Names of files inside Lua, and outside.
 *
 * Lua's messages begin with the file and the line, and a function may catch
 * them and look. So Lua knows a file by a name that is the same wherever it
 * lies and however it was named: "judge.lua", or "lib/points.lua" for
 * require "lib.points". What is said to the user has the whole path. */
#include "engine/lua/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
rlf_lua_name(rlf_lua_host *host, const char *name, const char *path)
{
    rlf_lua_file file = {rlf_malloc(strlen(name) + 1),
                         rlf_malloc(strlen(path) + 1)};
    strcpy(file.name, name);
    strcpy(file.path, path);
    host->files =
        rlf_realloc(host->files, (host->n_files + 1) * sizeof *host->files);
    host->files[host->n_files++] = file;
}

void
rlf_lua_forget_names(rlf_lua_host *host)
{
    for (size_t i = 0; i < host->n_files; i++) {
        free(host->files[i].name);
        free(host->files[i].path);
    }
    free(host->files);
    host->files = NULL;
    host->n_files = 0;
}

/* The file whose name, a colon and a digit stand at p. */
static const rlf_lua_file *
file_at(const rlf_lua_host *host, const char *p)
{
    for (size_t i = 0; i < host->n_files; i++) {
        size_t n = strlen(host->files[i].name);
        if (strncmp(p, host->files[i].name, n) == 0 && p[n] == ':' &&
            isdigit((unsigned char)p[n + 1]))
            return &host->files[i];
    }
    return NULL;
}

void
rlf_lua_paths(const rlf_lua_host *host, const char *text, char *out,
              size_t room)
{
    bool begins = true; /* a name may */
    size_t n = 0;
    while (*text && n + 1 < room) {
        const rlf_lua_file *file = begins ? file_at(host, text) : NULL;
        if (file) {
            n += (size_t)snprintf(out + n, room - n, "%s", file->path);
            n = n < room ? n : room - 1;
            text += strlen(file->name);
        } else {
            begins = !isalnum((unsigned char)*text) && !strchr("_./-", *text);
            out[n++] = *text++;
        }
    }
    if (*text)
        n = rlf_str_cut((rlf_str){out, n}, n - 1);
    out[n] = 0;
}
