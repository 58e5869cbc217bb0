/* The checkpoints that stay: see retention.h. */
#include "engine/sched/retention.h"

#include "engine/io/file.h"
#include "engine/sched/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "step-";

/* The step of a checkpoint's name; false: it is something else. */
static bool
step_of(const char *name, uint32_t *out)
{
    size_t n = sizeof prefix - 1, digits = strspn(name + n, "0123456789");
    if (strncmp(name, prefix, n) != 0 || digits < 8 || digits > 10 ||
        name[n + digits])
        return false;
    unsigned long long step = strtoull(name + n, NULL, 10);
    *out = (uint32_t)step;
    return step <= UINT32_MAX;
}

static int
compare_steps(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

rlf_status
rlf_checkpoints_list(const char *directory, rlf_arena *arena, rlf_err *err,
                     rlf_checkpoints *out)
{
    const char **names;
    size_t count;
    *out = (rlf_checkpoints){
        .directory = rlf_path_join(arena, directory, "checkpoints")};
    bool there;
    RLF_TRY(rlf_dir_own(out->directory, err, &there));
    if (!there)
        return RLF_OK;
    RLF_TRY(rlf_dir_list(out->directory, arena, err, &names, &count));
    out->steps = RLF_NEW_ARRAY(arena, uint32_t, count);
    for (size_t i = 0; i < count; i++)
        if (step_of(names[i], &out->steps[out->count]))
            out->count++;
    if (out->count)
        qsort(out->steps, out->count, sizeof *out->steps, compare_steps);
    return RLF_OK;
}

char *
rlf_checkpoints_path(const rlf_checkpoints *all, uint32_t step,
                     rlf_arena *arena)
{
    return rlf_path_join(arena, all->directory,
                         rlf_arena_printf(arena, "%s%08" PRIu32, prefix, step));
}

/* A name in the directory of checkpoints that nothing has. */
static rlf_status
free_path(const rlf_checkpoints *all, const char *name, rlf_arena *arena,
          rlf_err *err, const char **out)
{
    bool taken = false;
    *out = rlf_path_join(arena, all->directory, name);
    RLF_TRY(rlf_file_find(*out, err, &taken));
    for (int i = 2; taken; i++) {
        *out = rlf_path_join(arena, all->directory,
                             rlf_arena_printf(arena, "%s-%d", name, i));
        RLF_TRY(rlf_file_find(*out, err, &taken));
    }
    return RLF_OK;
}

/* Checkpoints under "removing" go, but for files that are not of them. */
static rlf_status
remove_old(const rlf_checkpoints *all, const char *kept, rlf_arena *arena,
           rlf_err *err, rlf_buf *said)
{
    const char *removing = rlf_path_join(arena, all->directory, "removing");
    bool left;
    RLF_TRY(rlf_manifest_remove(removing, arena, err, &left));
    if (!left)
        return RLF_OK;
    const char *to;
    RLF_TRY(free_path(all, kept, arena, err, &to));
    RLF_TRY(rlf_path_rename(removing, to, err));
    rlf_buf_printf(said,
                   "an older checkpoint was removed, and in its directory were "
                   "files that the run did not write: they are in %s\n",
                   to);
    return RLF_OK;
}

static rlf_status
remove_step(const rlf_checkpoints *all, uint32_t step, rlf_arena *arena,
            rlf_err *err, rlf_buf *said)
{
    const char *path = rlf_checkpoints_path(all, step, arena);
    RLF_TRY(remove_old(all, "kept", arena, err, said));
    RLF_TRY(rlf_path_rename(
        path, rlf_path_join(arena, all->directory, "removing"), err));
    return remove_old(all, rlf_arena_printf(arena, "kept-%08" PRIu32, step),
                      arena, err, said);
}

rlf_status
rlf_checkpoints_prune(const char *directory, uint32_t last, uint32_t keep,
                      uint32_t best, rlf_arena *arena, rlf_err *err,
                      rlf_buf *said)
{
    rlf_checkpoints all;
    RLF_TRY(rlf_checkpoints_list(directory, arena, err, &all));
    uint32_t kept = 0;
    for (size_t i = all.count; i-- > 0;) {
        uint32_t step = all.steps[i];
        const char *path = rlf_checkpoints_path(&all, step, arena);
        bool whole = rlf_manifest_exists(path, arena);
        if (step > last)
            continue;
        if (whole && kept < keep)
            kept++;
        else if (!whole || step != best)
            RLF_TRY(remove_step(&all, step, arena, err, said));
    }
    RLF_TRY(
        rlf_dir_remove(rlf_path_join(arena, all.directory, "writing"), err));
    return remove_old(&all, "kept", arena, err, said);
}

rlf_status
rlf_checkpoints_set_aside(const rlf_checkpoints *all, const char *as,
                          uint32_t step, rlf_arena *arena, rlf_err *err,
                          const char **to)
{
    RLF_TRY(free_path(all, rlf_arena_printf(arena, "%s-%08" PRIu32, as, step),
                      arena, err, to));
    return rlf_path_rename(rlf_checkpoints_path(all, step, arena), *to, err);
}
