/* See hub.h. */
#include "engine/io/hub.h"

#include <stdlib.h>
#include <string.h>

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

const char *
rlf_hub_path(const char *path, const char *name, rlf_arena *arena)
{
    const char *in, *snapshot;
    if (!is_name(name) || rlf_dir_exists(path) || rlf_file_exists(path) ||
        !(in = cache(arena)))
        return path;
    const char *model = folder(in, name, arena);
    if (!rlf_dir_exists(model) || !(snapshot = main_snapshot(model, arena)))
        return path;
    const char *found =
        rlf_arena_printf(arena, "%s/snapshots/%s", model, snapshot);
    return rlf_dir_exists(found) ? found : path;
}

const char *
rlf_hub_advice(const char *path, rlf_arena *arena)
{
    const char *in = cache(arena), *name = path, *last = strrchr(path, '/');
    for (const char *p = path; last && p < last; p++)
        if (*p == '/')
            name = p + 1;
    if (!last || !is_name(name) || !in || rlf_dir_exists(path))
        return "";
    return rlf_arena_printf(arena,
                            "; a model of the hub is read from its cache, %s: "
                            "\"hf download %s\" puts it there",
                            in, name);
}
