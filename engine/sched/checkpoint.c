/* Checkpoints: everything that a run needs to go on with the same bits.
 *
 *     checkpoints/step-00000020/
 *         state.json      step, seed, hashes, numerics, parameters
 *         NAME...         what each resource saved
 *         ahead-STEP.bin  what was made ahead for a later step
 *         manifest.json   size and checksum of every file above
 *
 * Written as checkpoints/writing, fsynced, renamed; only then the one before
 * goes. So at every instant there is one whole checkpoint, or none yet. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/graph/class.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/sched/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "step-";

static char *
checkpoints_dir(const rlf_run *run, rlf_arena *arena)
{
    return rlf_path_join(arena, run->options.directory, "checkpoints");
}

/* Shards and lanes by the names of models. */
static void
put_sums(const rlf_run *run, rlf_buf *out)
{
    const char *between = "";
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        const rlf_sums *s = &run->plan->sums[i];
        if (r->kind != RLF_RESOURCE_MODEL)
            continue;
        rlf_buf_puts(out, between);
        rlf_buf_json(out, r->name, strlen(r->name));
        rlf_buf_printf(out, ":[%d,%d]", s->shards, s->lanes);
        between = ",";
    }
}

static void
put_state(const rlf_run *run, rlf_buf *out)
{
    const rlf_numerics *n = &run->plan->numerics;
    rlf_buf_printf(out,
                   "{\"format\":1,\"step\":%u,\"seed\":\"%" PRIu64
                   "\",\"program\":\"%016" PRIx64 "\",\n"
                   " \"numerics\":{\"backend\":\"%s\",\"dtype\":\"%s\","
                   "\"version\":\"%s\",\"sums\":{",
                   run->step, run->options.seed, run->plan->program_hash,
                   n->backend, n->dtype, n->version);
    put_sums(run, out);
    rlf_buf_puts(out, "}},\n \"params\":{");
    for (size_t i = 0; i < run->graph->params.count; i++) {
        const rlf_param *p = &run->graph->params.data[i];
        rlf_buf_puts(out, i ? "," : "");
        rlf_buf_json(out, p->name, strlen(p->name));
        rlf_buf_putc(out, ':');
        rlf_buf_json(out, p->value, strlen(p->value));
    }
    rlf_buf_puts(out, "}}\n");
}

/* ---- the manifest ---- */

/* Lines for every file below `dir`/`inner`, in byte order. */
static rlf_status
list_files(rlf_arena *arena, const char *dir, const char *inner, rlf_buf *out,
           rlf_err *err)
{
    const char **names;
    size_t count;
    char *here = *inner ? rlf_path_join(arena, dir, inner) : (char *)dir;
    RLF_TRY(rlf_dir_list(here, arena, err, &names, &count));
    for (size_t i = 0; i < count; i++) {
        char *relative =
            *inner ? rlf_path_join(arena, inner, names[i]) : (char *)names[i];
        char *path = rlf_path_join(arena, dir, relative);
        if (rlf_dir_exists(path)) {
            RLF_TRY(list_files(arena, dir, relative, out, err));
            continue;
        }
        uint32_t sum;
        uint64_t size;
        RLF_TRY(rlf_checksum_file(path, err, &sum, &size));
        rlf_buf_puts(out, out->n ? ",\n " : "{\"files\":[\n ");
        rlf_buf_puts(out, "{\"name\":");
        rlf_buf_json(out, relative, strlen(relative));
        rlf_buf_printf(out, ",\"size\":%" PRIu64 ",\"crc32\":%u}", size, sum);
    }
    RLF_TRY(rlf_dir_sync(here, err));
    return RLF_OK;
}

static rlf_status
check_file(const char *dir, const json_t *entry, rlf_arena *arena, rlf_err *err)
{
    const char *name;
    int64_t size, crc;
    RLF_TRY(rlf_json_get_text(entry, dir, "name", true, err, &name));
    RLF_TRY(rlf_json_get_int(entry, dir, "size", true, err, &size));
    RLF_TRY(rlf_json_get_int(entry, dir, "crc32", true, err, &crc));
    uint32_t sum;
    uint64_t now;
    const char *path = rlf_path_join(arena, dir, name);
    rlf_status status = rlf_checksum_file(path, err, &sum, &now);
    if (status >= 0 && (now != (uint64_t)size || sum != (uint32_t)crc))
        status = rlf_fail(err, RLF_USER,
                          "%s is damaged: it is not what was saved", path);
    if (status < 0) {
        rlf_err_hint(err, "restore the checkpoint from a copy, or start anew "
                          "without --resume in another --out directory");
    }
    return status;
}

static rlf_status
check_manifest(const char *dir, rlf_arena *arena, rlf_err *err)
{
    json_t *manifest = NULL, *files = NULL;
    const char *path = rlf_path_join(arena, dir, "manifest.json");
    RLF_TRY(rlf_json_load(path, err, &manifest));
    rlf_status status =
        rlf_json_get_array(manifest, path, "files", true, err, &files);
    for (size_t i = 0; status >= 0 && i < json_array_size(files); i++)
        status = check_file(dir, json_array_get(files, i), arena, err);
    json_decref(manifest);
    return status;
}

/* ---- saving ---- */

static rlf_status
write_all(rlf_run *run, const char *dir, rlf_arena *arena, rlf_err *err)
{
    const rlf_task task = {.kind = RLF_TASK_SAVE,
                           .instance = -1,
                           .step = run->step,
                           .directory = dir};
    RLF_TRY(rlf_run_settle(run, err));
    RLF_TRY(rlf_run_tell_all(run, &task, err));
    RLF_TRY(rlf_run_save_ahead(run, dir, arena, err));
    rlf_buf text = {0};
    put_state(run, &text);
    rlf_status status = rlf_file_write(rlf_path_join(arena, dir, "state.json"),
                                       text.p, text.n, err);
    rlf_buf_clear(&text);
    if (status >= 0)
        status = list_files(arena, dir, "", &text, err);
    if (status >= 0) {
        rlf_buf_puts(&text, "]}\n");
        status = rlf_file_write(rlf_path_join(arena, dir, "manifest.json"),
                                text.p, text.n, err);
    }
    rlf_buf_free(&text);
    return status;
}

static rlf_status
remove_others(const char *dir, const char *keep, rlf_arena *arena, rlf_err *err)
{
    const char **names;
    size_t count;
    RLF_TRY(rlf_dir_list(dir, arena, err, &names, &count));
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], keep) != 0 &&
            strncmp(names[i], prefix, sizeof prefix - 1) == 0)
            RLF_TRY(rlf_dir_remove(rlf_path_join(arena, dir, names[i]), err));
    return RLF_OK;
}

static rlf_status
save(rlf_run *run, rlf_arena *arena, rlf_err *err)
{
    char *dir = checkpoints_dir(run, arena);
    char *writing = rlf_path_join(arena, dir, "writing");
    char *name = rlf_arena_printf(arena, "%s%08u", prefix, run->step);
    char *final = rlf_path_join(arena, dir, name);
    if (rlf_dir_exists(final))
        return RLF_OK; /* of this step already */
    RLF_TRY(rlf_dir_remove(writing, err));
    RLF_TRY(rlf_dir_make(writing, err));
    rlf_status status = write_all(run, writing, arena, err);
    if (status < 0) {
        rlf_err ignored = RLF_ERR_NONE;
        rlf_dir_remove(writing, &ignored);
        rlf_err_hint(err, "the checkpoint before this one is untouched");
        return status;
    }
    RLF_TRY(rlf_path_rename(writing, final, err));
    return remove_others(dir, name, arena, err);
}

rlf_status
rlf_run_save(rlf_run *run, rlf_err *err)
{
    RLF_ASSERT(run->options.directory);
    uint64_t from = rlf_clock_now();
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = rlf_run_fail(run, save(run, arena, err), err);
    rlf_arena_free(arena);
    if (status >= 0) {
        run->ranks[0].wants_checkpoint = false;
        rlf_log_info(run->options.log, SCHED, "checkpoint step %u seconds %.3f",
                     run->step, rlf_clock_since(from));
    }
    return status;
}

/* ---- resuming ---- */

/* The newest whole checkpoint's name, or NULL. */
static rlf_status
newest(const char *dir, rlf_arena *arena, rlf_err *err, const char **out)
{
    const char **names;
    size_t count;
    *out = NULL;
    if (!rlf_dir_exists(dir))
        return RLF_OK;
    RLF_TRY(rlf_dir_list(dir, arena, err, &names, &count));
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], prefix, sizeof prefix - 1) == 0)
            *out = names[i]; /* byte order is the order of steps */
    return RLF_OK;
}

static rlf_status
other_run(rlf_err *err, const char *dir, const char *what, const char *there,
          const char *here)
{
    rlf_fail(err, RLF_USER, "%s is of another run: its %s is %s, this one's %s",
             dir, what, there, here);
    rlf_err_hint(err,
                 "give the %s that it was started with, or another --out "
                 "directory",
                 what);
    return RLF_USER;
}

static rlf_status
check_params(const rlf_run *run, const char *dir, const json_t *params,
             rlf_err *err)
{
    for (size_t i = 0; i < run->graph->params.count; i++) {
        const rlf_param *p = &run->graph->params.data[i];
        const char *there = json_string_value(json_object_get(params, p->name));
        if (!there || strcmp(there, p->value) != 0)
            return other_run(
                err, dir, rlf_arena_printf(run->arena, "parameter %s", p->name),
                there ? there : "absent", p->value);
    }
    return RLF_OK;
}

static rlf_status
check_text(const json_t *state, const char *dir, const char *key,
           const char *what, const char *here, rlf_err *err)
{
    const char *there;
    RLF_TRY(rlf_json_get_text(state, dir, key, true, err, &there));
    if (strcmp(there, here) != 0)
        return other_run(err, dir, what, there, here);
    return RLF_OK;
}

/* Shards and lanes of a model as the state has them; {0, 0} if it has none. */
static rlf_sums
sums_of(const json_t *numerics, const char *model)
{
    const json_t *pair =
        json_object_get(json_object_get(numerics, "sums"), model);
    return (rlf_sums){(int)json_number_value(json_array_get(pair, 0)),
                      (int)json_number_value(json_array_get(pair, 1))};
}

static rlf_status
check_sums(const rlf_run *run, const char *dir, const json_t *numerics,
           rlf_err *err)
{
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        const rlf_sums *is = &run->plan->sums[i];
        if (r->kind != RLF_RESOURCE_MODEL)
            continue;
        rlf_sums was = sums_of(numerics, r->name);
        if (was.shards == is->shards && was.lanes == is->lanes)
            continue;
        return other_run(
            err, dir, "numerics",
            rlf_arena_printf(run->arena, "%d shards and %d lanes of '%s'",
                             was.shards, was.lanes, r->name),
            rlf_arena_printf(run->arena, "%d and %d", is->shards, is->lanes));
    }
    return RLF_OK;
}

static rlf_status
check_state(rlf_run *run, const char *dir, const json_t *state, rlf_err *err)
{
    char text[32];
    json_t *numerics, *params;
    const rlf_numerics *n = &run->plan->numerics;
    snprintf(text, sizeof text, "%" PRIu64, run->options.seed);
    RLF_TRY(check_text(state, dir, "seed", "seed", text, err));
    RLF_TRY(rlf_json_get_object(state, dir, "params", true, err, &params));
    RLF_TRY(check_params(run, dir, params, err));
    snprintf(text, sizeof text, "%016" PRIx64, run->plan->program_hash);
    RLF_TRY(check_text(state, dir, "program", "program", text, err));
    RLF_TRY(rlf_json_get_object(state, dir, "numerics", true, err, &numerics));
    RLF_TRY(check_text(numerics, dir, "backend", "device", n->backend, err));
    RLF_TRY(check_text(numerics, dir, "dtype", "dtype", n->dtype, err));
    RLF_TRY(check_sums(run, dir, numerics, err));
    RLF_TRY(check_text(numerics, dir, "version", "version of rlflow",
                       n->version, err));
    return RLF_OK;
}

static rlf_status
read_sums(const rlf_graph *graph, const char *directory, rlf_arena *arena,
          rlf_err *err, const rlf_sums **out)
{
    const char *dir = rlf_path_join(arena, directory, "checkpoints"), *name;
    RLF_TRY(newest(dir, arena, err, &name));
    if (!name)
        return RLF_OK;
    json_t *state = NULL;
    const char *here = rlf_path_join(arena, dir, name);
    rlf_err torn = RLF_ERR_NONE;
    if (rlf_json_load(rlf_path_join(arena, here, "state.json"), &torn, &state) <
        0)
        return RLF_OK; /* resuming will say what is damaged */
    size_t n = graph->resources.count;
    rlf_sums *sums = RLF_NEW_ARRAY(arena, rlf_sums, n);
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        rlf_sums was = sums_of(json_object_get(state, "numerics"), r->name);
        sums[i] = (rlf_sums){was.shards > 0 ? was.shards : 1,
                             was.lanes > 0 ? was.lanes : 1};
    }
    *out = sums;
    json_decref(state);
    return RLF_OK;
}

rlf_status
rlf_run_sums(const rlf_graph *graph, const char *directory, rlf_arena *arena,
             rlf_err *err, const rlf_sums **out)
{
    *out = NULL;
    return read_sums(graph, directory, arena, err, out);
}

static rlf_status
resume(rlf_run *run, rlf_arena *arena, rlf_err *err, uint32_t *found)
{
    char *dir = checkpoints_dir(run, arena);
    const char *name;
    RLF_TRY(newest(dir, arena, err, &name));
    if (!name)
        return RLF_OK;
    const char *here = rlf_path_join(arena, dir, name);
    RLF_TRY(check_manifest(here, arena, err));
    json_t *state = NULL;
    int64_t step = 0;
    RLF_TRY(
        rlf_json_load(rlf_path_join(arena, here, "state.json"), err, &state));
    rlf_status status = check_state(run, here, state, err);
    if (status >= 0)
        status = rlf_json_get_int(state, here, "step", true, err, &step);
    json_decref(state);
    RLF_TRY(status);
    const rlf_task task = {.kind = RLF_TASK_RESTORE,
                           .instance = -1,
                           .step = (uint32_t)step,
                           .directory = here};
    RLF_TRY(rlf_run_tell_all(run, &task, err));
    run->step = (uint32_t)step;
    if (step)
        rlf_control_restore(run->control, run->step);
    *found = run->step;
    /* what a run that was killed while saving left behind */
    RLF_TRY(rlf_dir_remove(rlf_path_join(arena, dir, "writing"), err));
    return remove_others(dir, name, arena, err);
}

rlf_status
rlf_run_resume(rlf_run *run, rlf_err *err, uint32_t *found)
{
    *found = 0;
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = rlf_run_fail(run, resume(run, arena, err, found), err);
    rlf_arena_free(arena);
    return status;
}
