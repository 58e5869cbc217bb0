/* See hub.h. */
#include "engine/io/hub.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/vec.h"
#include "engine/io/file.h"

static const char letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

/* Bytes of a part of a name; 0: it is none. */
static size_t
part_length(const char *text)
{
    size_t n = strspn(text, letters);
    return text[0] == '.' ? 0 : n;
}

/* OWNER/MODEL, or MODEL, as those of the hub's first years are called. */
static bool
is_name(const char *text)
{
    size_t n = part_length(text);
    if (n && text[n] == '/') {
        text += n + 1;
        n = part_length(text);
    }
    return n && !text[n];
}

/* Returns what follows the site in an address of the hub; NULL: it is none. The
 * address may have a directory of a program before it. */
static const char *
behind_site(const char *text)
{
    static const char *const sites[] = {"//huggingface.co/", "//hf.co/"};
    for (size_t i = 0; i < RLF_COUNT(sites); i++) {
        const char *at = strstr(text, sites[i]);
        if (at)
            return at + strlen(sites[i]);
    }
    return NULL;
}

/* The n bytes as a name: "models--OWNER--MODEL", as the cache calls its
 * directories, and "OWNER--MODEL" are OWNER/MODEL. NULL: it is none. */
static const char *
name_of(const char *text, size_t n, rlf_arena *arena)
{
    static const char prefix[] = "models--";
    while (n && text[n - 1] == '/')
        n--;
    if (n >= sizeof prefix && strncmp(text, prefix, sizeof prefix - 1) == 0) {
        text += sizeof prefix - 1;
        n -= sizeof prefix - 1;
    }
    char *name = rlf_arena_strndup(arena, text, n), *two = strstr(name, "--");
    if (two && two > name && !strchr(name, '/')) {
        *two = '/';
        memmove(two + 1, two + 2, strlen(two + 2) + 1);
    }
    return is_name(name) ? name : NULL;
}

/* The name that a user wrote, also as the address of its page. */
static const char *
name_written(const char *text, rlf_arena *arena)
{
    static const char page[] = "/tree/main";
    const char *site = behind_site(text);
    size_t n = strlen(site ? site : text);
    if (!site)
        return name_of(text, n, arena);
    while (n && site[n - 1] == '/')
        n--;
    if (n >= sizeof page &&
        !strncmp(site + n - (sizeof page - 1), page, sizeof page - 1))
        n -= sizeof page - 1;
    return name_of(site, n, arena);
}

static const char *
variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* NULL: nobody says where it is. */
static const char *
cache(rlf_arena *arena)
{
    const char *at = variable("HF_HUB_CACHE");
    if (at)
        return at;
    if ((at = variable("HF_HOME")))
        return rlf_path_join(arena, at, "hub");
    if ((at = variable("XDG_CACHE_HOME")))
        return rlf_path_join(arena, at, "huggingface/hub");
    at = variable("HOME");
    return at ? rlf_path_join(arena, at, ".cache/huggingface/hub") : NULL;
}

/* The name of the snapshot in refs/main; NULL: there is none. */
static const char *
main_snapshot(const char *model, rlf_arena *arena)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_buf text = {0};
    const char *name = NULL;
    if (rlf_file_read(rlf_path_join(arena, model, "refs/main"), 256, &ignored,
                      &text) >= 0 &&
        text.n) {
        size_t n = part_length(text.p);
        if (n && !text.p[n + strspn(text.p + n, "\r\n")])
            name = rlf_arena_strndup(arena, text.p, n);
    }
    rlf_buf_free(&text);
    return name;
}

/* The directory of the cache that all of a model's snapshots are in. */
static const char *
folder(const char *in, const char *name, rlf_arena *arena)
{
    const char *slash = strchr(name, '/');
    int n = slash ? (int)(slash - name) : (int)strlen(name);
    return rlf_arena_printf(arena, "%s/models--%.*s%s%s", in, n, name,
                            slash ? "--" : "", slash ? slash + 1 : "");
}

/* Is that what the cache keeps a model in: its snapshots, and their names? */
static bool
is_folder(const char *dir, rlf_arena *arena)
{
    return rlf_dir_exists(rlf_path_join(arena, dir, "snapshots")) &&
           !rlf_file_exists(rlf_path_join(arena, dir, "config.json"));
}

/* The directory of the main snapshot, which is there; else NULL. */
static const char *
found_in(const char *model, rlf_arena *arena)
{
    const char *snapshot = main_snapshot(model, arena);
    const char *found =
        snapshot ? rlf_arena_printf(arena, "%s/snapshots/%s", model, snapshot)
                 : NULL;
    return found && rlf_dir_exists(found) ? found : NULL;
}

const char *
rlf_hub_path(const char *path, const char *name, rlf_arena *arena)
{
    const char *in = cache(arena), *model = NULL, *found;
    if (rlf_dir_exists(path))
        model = is_folder(path, arena) ? path : NULL;
    else if (!rlf_file_exists(path) && in &&
             (name = name_written(name, arena)) != NULL)
        model = folder(in, name, arena);
    found = model ? found_in(model, arena) : NULL;
    return found ? found : path;
}

/* ---- what is wrong ---- */

/* The name of the model that a folder of the cache is of. */
static const char *
folder_name(const char *dir, rlf_arena *arena)
{
    const char *slash = strrchr(dir, '/'), *last = slash ? slash + 1 : dir;
    return name_of(last, strlen(last), arena);
}

/* Names in a directory; none if it cannot be read. */
static size_t
list(const char *dir, rlf_arena *arena, const char ***names)
{
    rlf_err ignored = RLF_ERR_NONE;
    size_t n = 0;
    return rlf_dir_list(dir, arena, &ignored, names, &n) < 0 ? 0 : n;
}

static bool
ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Why a folder of the cache leads to no snapshot. */
static const char *
broken(const char *model, rlf_arena *arena)
{
    const char **names, *snapshot = main_snapshot(model, arena);
    if (snapshot)
        return rlf_arena_printf(
            arena, "its refs/main names the snapshot %s, which is not there",
            snapshot);
    const char *all = rlf_path_join(arena, model, "snapshots");
    size_t n = list(all, arena, &names);
    return !n ? "it has no snapshot"
              : rlf_arena_printf(arena,
                                 "it has no refs/main that names one of its "
                                 "snapshots, such as %s/%s",
                                 all, names[n - 1]);
}

/* Returns what a snapshot lacks, in words; NULL: nothing that is known. */
static const char *
lacks(const char *dir, const char *model, rlf_arena *arena)
{
    const char **names;
    bool weights = false;
    size_t n = list(dir, arena, &names);
    for (size_t i = 0; i < n; i++) {
        bool read = ends_with(names[i], ".json") ||
                    ends_with(names[i], ".txt") ||
                    ends_with(names[i], ".jinja") ||
                    ends_with(names[i], ".safetensors");
        if (read && access(rlf_path_join(arena, dir, names[i]), F_OK) != 0)
            return rlf_arena_printf(arena, "its %s is a link to nothing",
                                    names[i]);
        weights |=
            ends_with(names[i], ".safetensors") || ends_with(names[i], ".bin");
    }
    n = list(rlf_path_join(arena, model, "blobs"), arena, &names);
    for (size_t i = 0; i < n; i++)
        if (ends_with(names[i], ".incomplete"))
            return "a download of it has not ended";
    if (!rlf_file_exists(rlf_path_join(arena, dir, "config.json")))
        return "it was downloaded without config.json";
    return weights ? NULL : "it was downloaded without weights";
}

/* The folder of the cache that a snapshot is in; NULL: it is none. */
static const char *
folder_of(const char *dir, rlf_arena *arena)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    const char *up = rlf_path_parent(arena, rlf_arena_strndup(arena, dir, n));
    const char *model = rlf_path_parent(arena, up);
    return ends_with(up, "/snapshots") && folder_name(model, arena) ? model
                                                                    : NULL;
}

static const char *
mend(const char *model, const char *why, rlf_arena *arena)
{
    return rlf_arena_printf(arena,
                            "of %s the hub's cache has %s, but %s: \"hf "
                            "download %s\" mends it",
                            folder_name(model, arena), model, why,
                            folder_name(model, arena));
}

/* A name that the end of a path is; NULL: none. A directory that is there has
 * no models of the hub in it. */
static const char *
name_at_end(const char *path, rlf_arena *arena)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    const char *whole = rlf_arena_strndup(arena, path, n);
    const char *last = strrchr(whole, '/'), *first = last;
    if (!last || rlf_dir_exists(rlf_path_parent(arena, whole))) {
        const char *name = last ? last + 1 : whole;
        return strstr(name, "--") ? name_of(name, strlen(name), arena) : NULL;
    }
    while (first > whole && first[-1] != '/')
        first--;
    return name_of(first, strlen(first), arena);
}

const char *
rlf_hub_advice(const char *path, rlf_arena *arena)
{
    const char *in = cache(arena), *model = NULL;
    if (rlf_dir_exists(path)) {
        if (is_folder(path, arena) && folder_name(path, arena))
            model = path;
        return model
                   ? rlf_arena_printf(arena, "; %s",
                                      mend(model, broken(model, arena), arena))
                   : "";
    }
    const char *name = behind_site(path) ? name_written(path, arena)
                                         : name_at_end(path, arena);
    if (!name || !in)
        return "";
    model = folder(in, name, arena);
    if (!rlf_dir_exists(model))
        return rlf_arena_printf(arena,
                                "; a model of the hub is read from its cache, "
                                "%s: \"hf download %s\" puts it there",
                                in, name);
    return found_in(model, arena)
               ? rlf_arena_printf(arena,
                                  "; write \"%s\" for the model of that "
                                  "name in the hub's cache",
                                  name)
               : rlf_arena_printf(arena, "; %s",
                                  mend(model, broken(model, arena), arena));
}

void
rlf_hub_explain(const char *path, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    const char *dir =
        rlf_dir_exists(path) ? path : rlf_path_parent(arena, path);
    const char *model = folder_of(dir, arena), *why;
    if (model && (why = lacks(dir, model, arena)) != NULL)
        rlf_err_hint(err, "%s", mend(model, why, arena));
    rlf_arena_free(arena);
}
