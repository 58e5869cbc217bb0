/* Clusters by name: see cluster.h. */
#include "engine/api/machines/cluster.h"

#include "engine/base/vec.h"
#include "engine/dev/cores.h"
#include "engine/dev/memory.h"
#include "engine/io/file.h"
#include "grammar/cluster.h"
#include "grammar/parse.h"

#include <limits.h>

static bool
is_preset(const char *name)
{
    bool found = strcmp(name, "this") == 0;
    for (const char *const *p = rlf_cluster_presets(); *p && !found; p++)
        found = strcmp(*p, name) == 0;
    return found;
}

/* The number after the colon; `text` NULL: 1. */
static rlf_status
read_count(const char *name, const char *text, rlf_err *err, int *out)
{
    char *end;
    bool digits =
        !text || (*text && strspn(text, "0123456789") == strlen(text));
    long n = text ? strtol(text, &end, 10) : 1;
    *out = n > INT_MAX ? INT_MAX : (int)n;
    bool many = n > INT_MAX && strcmp(name, "this") != 0;
    if (digits && n > 0 && !many)
        return RLF_OK;
    if (digits && many) {
        rlf_fail(err, RLF_USAGE, "'%s' is too many machines", text);
        rlf_err_hint(err, "write a smaller number after the colon, as in %s:4",
                     name);
        return RLF_USAGE;
    }
    rlf_fail(err, RLF_USAGE, "'%s' is no number of %s", text,
             strcmp(name, "this") == 0 ? "ranks" : "machines");
    rlf_err_hint(err, "write a whole number after the colon, as in %s:4", name);
    return RLF_USAGE;
}

static rlf_status
open_preset(const char *name, const char *count, rlf_arena *arena, rlf_err *err,
            rlf_cluster **out)
{
    int n;
    RLF_TRY(read_count(name, count, err, &n));
    if (strcmp(name, "this") != 0) {
        rlf_status status = rlf_cluster_preset(name, n, arena, err, out);
        if (status == RLF_USER)
            status = err->status = RLF_USAGE;
        return status;
    }
    if (n > RLF_CLUSTER_RANKS)
        return rlf_fail(err, RLF_USAGE,
                        "a cluster has at most %d ranks, not %d",
                        (int)RLF_CLUSTER_RANKS, n);
    *out = rlf_cluster_this(n, rlf_cores_count(),
                            (double)rlf_host_memory_limit(), arena);
    return RLF_OK;
}

/* The one with the name; NULL: the only one. */
static rlf_status
choose(const rlf_clusters *all, const char *path, const char *name,
       rlf_arena *arena, rlf_err *err, rlf_cluster **out)
{
    const char **names = RLF_NEW_ARRAY(arena, const char *, all->n);
    rlf_buf list = {0};
    *out = !name && all->n == 1 ? all->list[0] : NULL;
    for (int i = 0; i < all->n; i++) {
        names[i] = all->list[i]->name;
        rlf_buf_printf(&list, "%s%s:%s", i ? ", " : "", path, names[i]);
        if (name && !strcmp(name, names[i]))
            *out = all->list[i];
    }
    const char *near =
        name ? rlf_str_nearest(name, names, (size_t)all->n) : NULL;
    if (!*out && name)
        rlf_fail(err, RLF_USAGE, "%s has no cluster '%s'", path, name);
    else if (!*out)
        rlf_fail(err, RLF_USAGE, "%s has %d clusters", path, all->n);
    if (!*out && near)
        rlf_err_hint(err, "did you mean '%s'?", near);
    else if (!*out)
        rlf_err_hint(err, "name one of them: %s", list.p);
    rlf_buf_free(&list);
    return *out ? RLF_OK : RLF_USAGE;
}

static rlf_status
open_file(const char *path, const char *name, rlf_arena *arena,
          rlf_sources *sources, rlf_diags *diags, rlf_err *err,
          rlf_cluster **out)
{
    uint32_t source;
    rlf_clusters all;
    RLF_TRY(rlf_sources_read(sources, path, err, &source));
    rlf_sources_beside(sources);
    const rlf_ast_program *program = rlf_parse(sources, source, arena, diags);
    RLF_TRY(rlf_clusters_make(program, arena, sources, diags, err, &all));
    return choose(&all, path, name, arena, err, out);
}

static rlf_status
no_such(const char *name, rlf_err *err)
{
    const char *const *presets = rlf_cluster_presets();
    rlf_buf list = {0};
    size_t n = 0;
    for (; presets[n]; n++)
        rlf_buf_printf(&list, "%s, ", presets[n]);
    const char *near = rlf_str_nearest(name, presets, n);
    rlf_fail(err, RLF_USAGE, "there is no cluster, and no file, called '%s'",
             name);
    if (near)
        rlf_err_hint(err, "did you mean '%s'?", near);
    else
        rlf_err_hint(err, "it is %sthis, or the path of a cluster file",
                     list.p);
    rlf_buf_free(&list);
    return RLF_USAGE;
}

rlf_status
rlf_cluster_open(const char *name, rlf_arena *arena, rlf_sources *sources,
                 rlf_diags *diags, rlf_err *err, rlf_cluster **out)
{
    const char *colon = strrchr(name, ':');
    const char *head = name, *tail = NULL;
    if (colon) {
        head = rlf_arena_strndup(arena, name, (size_t)(colon - name));
        tail = colon + 1;
    }
    if (is_preset(head))
        return open_preset(head, tail, arena, err, out);
    if (rlf_file_exists(name) || strcmp(head, name) == 0) {
        head = name;
        tail = NULL;
    }
    if (!rlf_file_exists(head) && !strpbrk(head, "./"))
        return no_such(head, err);
    return open_file(head, tail, arena, sources, diags, err, out);
}
