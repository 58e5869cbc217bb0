/* Checkpoints: everything that a run needs to go on with the same bits.
 *
 *     checkpoints/step-00000020/
 *         state.json      step, seed, hashes, numerics, parameters
 *         NAME...         what each resource saved
 *         ahead-STEP.bin  what was made ahead for a later step
 *         manifest.json   size and checksum of every file above (manifest.h)
 *
 * Written as checkpoints/writing, fsynced, renamed; only then older ones go
 * (retention.h). So at every instant there is one whole checkpoint, or none
 * yet. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/graph/class.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/sched/manifest.h"
#include "engine/sched/retention.h"
#include "engine/sched/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* ---- saving ---- */

static rlf_status
prune(const rlf_run *run, const rlf_best *best, rlf_arena *arena, rlf_err *err)
{
    uint32_t keep = run->options.keep ? run->options.keep : 1;
    return rlf_checkpoints_prune(run->options.directory, run->step, keep,
                                 best->metric ? best->step : 0, arena, err);
}

static rlf_status
write_all(rlf_run *run, const char *dir, const rlf_beside *beside,
          rlf_arena *arena, rlf_err *err)
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
    rlf_buf_free(&text);
    RLF_TRY(status);
    return rlf_manifest_write(dir, beside, run->ended, arena, err);
}

static rlf_status
save(rlf_run *run, const rlf_beside *beside, rlf_arena *arena, rlf_err *err)
{
    rlf_checkpoints all;
    RLF_TRY(rlf_checkpoints_list(run->options.directory, arena, err, &all));
    char *writing = rlf_path_join(arena, all.directory, "writing");
    char *final = rlf_checkpoints_path(&all, run->step, arena);
    if (rlf_dir_exists(final))
        return RLF_OK; /* of this step already */
    RLF_TRY(rlf_dir_remove(writing, err));
    RLF_TRY(rlf_dir_make(writing, err));
    rlf_status status = write_all(run, writing, beside, arena, err);
    if (status < 0) {
        rlf_err ignored = RLF_ERR_NONE;
        rlf_dir_remove(writing, &ignored);
        rlf_err_hint(err, "the checkpoint before this one is untouched");
        return status;
    }
    RLF_TRY(rlf_path_rename(writing, final, err));
    return prune(run, &beside->best, arena, err);
}

rlf_status
rlf_run_save(rlf_run *run, const rlf_beside *beside, rlf_err *err)
{
    RLF_ASSERT(run->options.directory);
    uint64_t from = rlf_clock_now();
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = rlf_run_fail(run, save(run, beside, arena, err), err);
    rlf_arena_free(arena);
    if (status >= 0) {
        run->ranks[0].wants_checkpoint = false;
        rlf_log_info(run->options.log, SCHED, "checkpoint step %u seconds %.3f",
                     run->step, rlf_clock_since(from));
    }
    return status;
}

/* ---- resuming ---- */

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
    rlf_checkpoints all;
    json_t *state = NULL;
    RLF_TRY(rlf_checkpoints_list(directory, arena, err, &all));
    for (size_t i = all.count; i-- > 0 && !state;) {
        const char *here = rlf_checkpoints_path(&all, all.steps[i], arena);
        const char *path = rlf_path_join(arena, here, "state.json");
        rlf_err torn = RLF_ERR_NONE;
        if (rlf_manifest_check_one(here, "state.json", arena, &torn) >= 0)
            rlf_json_load(path, &torn, &state);
    }
    if (!state)
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

/* The newest checkpoint that is whole: *at in `all`, which is all->count if
 * there are none at all. Lines about newer ones go to `said`. */
static rlf_status
find_whole(const rlf_checkpoints *all, rlf_arena *arena, rlf_err *err,
           rlf_buf *said, size_t *at, rlf_beside *beside, bool *ended)
{
    rlf_err first = RLF_ERR_NONE;
    for (size_t i = all->count; i-- > 0;) {
        rlf_err why = RLF_ERR_NONE;
        const char *here = rlf_checkpoints_path(all, all->steps[i], arena);
        rlf_status status =
            rlf_manifest_check(here, arena, &why, beside, ended);
        *at = i;
        if (status >= 0)
            return RLF_OK;
        if (!first.status)
            first = why;
        if (status != RLF_USER) /* it may be whole */
            break;
        rlf_buf_printf(said, "%s\n", why.sentence);
    }
    *at = all->count;
    if (!all->count)
        return RLF_OK;
    *err = first;
    rlf_err_hint(err, "restore the checkpoint from a copy, or start anew "
                      "without --resume in another --out directory");
    if (all->count > 1 && first.status == RLF_USER)
        rlf_err_detail(err, "no checkpoint is whole:\n%s", said->p);
    return err->status;
}

/* The damaged ones that are newer than number `at`, out of the way. */
static rlf_status
set_aside(const rlf_checkpoints *all, size_t at, rlf_arena *arena, rlf_err *err,
          rlf_buf *said)
{
    for (size_t i = all->count; i-- > at + 1;) {
        const char *to;
        RLF_TRY(rlf_checkpoints_set_aside(all, all->steps[i], arena, err, &to));
        rlf_buf_printf(said, "the checkpoint of step %u is now %s\n",
                       all->steps[i], to);
    }
    if (all->count > at + 1)
        rlf_buf_printf(said,
                       "the run goes on from the checkpoint of step %u, and "
                       "does the %u steps after it again\n",
                       all->steps[at],
                       all->steps[all->count - 1] - all->steps[at]);
    return RLF_OK;
}

static rlf_status
restore(rlf_run *run, const char *here, uint32_t step, rlf_arena *arena,
        rlf_err *err)
{
    json_t *state = NULL;
    RLF_TRY(
        rlf_json_load(rlf_path_join(arena, here, "state.json"), err, &state));
    int64_t saved = 0;
    rlf_status status = check_state(run, here, state, err);
    if (status >= 0)
        status = rlf_json_get_int(state, here, "step", true, err, &saved);
    json_decref(state);
    RLF_TRY(status);
    if (saved != step) {
        rlf_fail(err, RLF_USER, "%s holds step %d", here, (int)saved);
        rlf_err_hint(err, "give it back the name that it was saved under");
        return RLF_USER;
    }
    const rlf_task task = {.kind = RLF_TASK_RESTORE,
                           .instance = -1,
                           .step = step,
                           .directory = here};
    RLF_TRY(rlf_run_tell_all(run, &task, err));
    run->step = step;
    if (step)
        rlf_control_restore(run->control, step);
    return RLF_OK;
}

static rlf_status
resume(rlf_run *run, rlf_arena *arena, rlf_buf *said, rlf_err *err,
       rlf_resumed *out)
{
    rlf_checkpoints all;
    size_t at;
    bool ended = false;
    RLF_TRY(rlf_checkpoints_list(run->options.directory, arena, err, &all));
    RLF_TRY(find_whole(&all, run->kept, err, said, &at, &out->beside, &ended));
    if (at == all.count)
        return RLF_OK;
    const char *here = rlf_checkpoints_path(&all, all.steps[at], arena);
    RLF_TRY(restore(run, here, all.steps[at], arena, err));
    out->step = run->step;
    run->ended = ended;
    RLF_TRY(set_aside(&all, at, arena, err, said));
    return prune(run, &out->beside.best, arena, err);
}

rlf_status
rlf_run_resume(rlf_run *run, rlf_err *err, rlf_resumed *out)
{
    *out = (rlf_resumed){.warning = ""};
    rlf_arena *arena = rlf_arena_new();
    rlf_buf said = {0};
    rlf_status status =
        rlf_run_fail(run, resume(run, arena, &said, err, out), err);
    if (said.n)
        out->warning = rlf_arena_strndup(run->kept, said.p, said.n);
    rlf_buf_free(&said);
    rlf_arena_free(arena);
    return status;
}
