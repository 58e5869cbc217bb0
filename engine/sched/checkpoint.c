/* Checkpoints: everything that a run needs to go on with the same bits.
 *
 *     checkpoints/step-00000020/
 *         state.json      step, inputs (inputs.h), what is saved (saved.h),
 *                         shards and lanes
 *         NAME...         what each resource saved
 *         ahead-STEP.bin  what was made ahead for a later step
 *         manifest.json   size and digest of every file above (manifest.h)
 *
 * Written as checkpoints/writing, fsynced, its digest noted beside
 * (registry.h), renamed; only then older ones go (retention.h). So at every
 * instant there is one whole checkpoint, or none yet. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/graph/class.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/sched/manifest.h"
#include "engine/sched/registry.h"
#include "engine/sched/retention.h"
#include "engine/sched/saved.h"
#include "engine/sched/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 3 }; /* of state.json */

/* Shards and lanes by the names of models. */
static void
put_sums(const rlf_run *run, rlf_buf *out)
{
    const char *between = "";
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        const rlf_sums *s = &run->plan->sums[i];
        if (!r->class->model)
            continue;
        rlf_buf_puts(out, between);
        rlf_buf_json(out, r->name, strlen(r->name));
        rlf_buf_printf(out, ":[%d,%d]", s->shards, s->lanes);
        between = ",";
    }
}

void
rlf_run_settle_inputs(rlf_run *run)
{
    const rlf_graph *graph = run->graph;
    for (size_t i = 0; i < run->options.inputs->list.count; i++) {
        rlf_input *in = &run->options.inputs->list.data[i];
        for (size_t k = 0; k < graph->resources.count && in->rows; k++) {
            const rlf_resource *r = &graph->resources.data[k];
            if (!r->class->data || strcmp(r->name, in->name) != 0)
                continue;
            char text[RLF_DIGEST_TEXT];
            rlf_digest_print(
                *r->class->data->digest(run->ranks[0].env.resource[k]), text);
            in->value = rlf_arena_strdup(run->kept, text);
            in->rows = false;
        }
    }
}

static void
put_state(rlf_run *run, rlf_buf *out)
{
    rlf_buf_printf(out, "{\"format\":%d,\"step\":%u,\n \"sums\":{", FORMAT,
                   run->step);
    put_sums(run, out);
    rlf_buf_puts(out, "},\n \"inputs\":");
    rlf_run_settle_inputs(run);
    rlf_inputs_print(run->options.inputs, out);
    rlf_buf_puts(out, ",\n \"saved\":");
    rlf_saved_print(run, out);
    rlf_buf_printf(out, ",\n \"accepted\":[%s]}\n",
                   run->accepted.n ? run->accepted.p : "");
}

/* ---- saving ---- */

static rlf_status
prune(const rlf_run *run, const rlf_checkpoint_metadata *metadata,
      rlf_arena *arena, rlf_err *err, rlf_buf *said)
{
    const rlf_best *best = &metadata->best;
    uint32_t keep = run->options.keep ? run->options.keep : metadata->keep;
    keep = keep ? keep : 1;
    return rlf_checkpoints_prune(run->options.directory, run->step, keep,
                                 best->metric ? best->step : 0, arena, err,
                                 said);
}

static rlf_status
write_all(rlf_run *run, const char *dir,
          const rlf_checkpoint_metadata *metadata, rlf_arena *arena,
          rlf_err *err, rlf_digest *digest)
{
    const rlf_rank_command command = {.kind = RLF_DO_SAVE,
                                      .instance = -1,
                                      .node = -1,
                                      .step = run->step,
                                      .directory = dir};
    if (run->failed) {
        rlf_status rescued = rlf_run_rescue_ranks(run, dir, err);
        if (rescued != RLF_OK)
            return rescued;
    } else {
        RLF_TRY(rlf_run_settle(run, err));
        RLF_TRY(rlf_run_tell_all(run, &command, err));
    }
    RLF_TRY(rlf_run_save_ahead(run, dir, arena, err));
    rlf_buf text = {0};
    put_state(run, &text);
    rlf_status status = rlf_file_write(rlf_path_join(arena, dir, "state.json"),
                                       text.p, text.n, err);
    rlf_buf_free(&text);
    RLF_TRY(status);
    return rlf_manifest_write(dir, metadata, run->ended, arena, err, digest);
}

/* Moves away what has the name of a checkpoint that this run has yet to save.
 */
static rlf_status
make_way(const rlf_checkpoints *all, uint32_t step, rlf_arena *arena,
         rlf_err *err, rlf_buf *said)
{
    const char *to;
    RLF_TRY(rlf_checkpoints_set_aside(all, "kept", step, arena, err, &to));
    rlf_buf_printf(said,
                   "%s was there before the run saved it: what was there is "
                   "now %s\n",
                   rlf_checkpoints_path(all, step, arena), to);
    return RLF_OK;
}

static rlf_status
save(rlf_run *run, const rlf_checkpoint_metadata *metadata, rlf_arena *arena,
     rlf_err *err, rlf_buf *said)
{
    rlf_checkpoints all;
    RLF_TRY(rlf_checkpoints_list(run->options.directory, arena, err, &all));
    char *writing = rlf_path_join(arena, all.directory, "writing");
    char *final = rlf_checkpoints_path(&all, run->step, arena);
    bool taken;
    RLF_TRY(rlf_file_find(final, err, &taken));
    if (taken && run->saved_step == run->step)
        return RLF_OK;
    if (taken)
        RLF_TRY(make_way(&all, run->step, arena, err, said));
    RLF_TRY(rlf_dir_remove(writing, err));
    RLF_TRY(rlf_dir_make_in(run->options.directory, writing, err));
    rlf_digest digest;
    rlf_status status = write_all(run, writing, metadata, arena, err, &digest);
    if (status == RLF_OK)
        status = rlf_registry_note(run->options.directory, &all, run->step,
                                   digest, arena, err);
    if (status != RLF_OK) {
        rlf_err ignored = RLF_ERR_NONE;
        rlf_dir_remove(writing, &ignored);
        uint32_t last = all.count ? all.steps[all.count - 1] : 0;
        const char *path = rlf_checkpoints_path(&all, last, arena);
        if (status < 0 && last && rlf_manifest_exists(path, arena))
            rlf_err_hint(err, "the checkpoint of step %u is untouched", last);
        else if (status < 0 && last)
            rlf_err_hint(err, "nor is %s there any more: somebody removed it",
                         path);
        return status;
    }
    RLF_TRY(rlf_path_rename(writing, final, err));
    run->saved_step = run->step;
    return prune(run, metadata, arena, err, said);
}

rlf_status
rlf_run_save(rlf_run *run, const rlf_checkpoint_metadata *metadata,
             rlf_err *err, rlf_buf *said)
{
    RLF_ASSERT(run->options.directory);
    uint64_t from = rlf_clock_now();
    rlf_arena *arena = rlf_arena_new();
    rlf_status status =
        rlf_run_fail(run, save(run, metadata, arena, err, said), err);
    rlf_arena_free(arena);
    if (status >= 0) {
        run->ranks[0].wants_checkpoint = false;
        rlf_log_info(run->options.log, SCHED, "checkpoint step %u seconds %.3f",
                     run->step, rlf_clock_since(from));
    }
    return status;
}

rlf_status
rlf_run_rescue(rlf_run *run, const rlf_checkpoint_metadata *metadata,
               rlf_err *err, rlf_buf *said)
{
    RLF_ASSERT(run->options.directory && run->failed && run->step);
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = save(run, metadata, arena, err, said);
    rlf_arena_free(arena);
    if (status == RLF_OK)
        rlf_log_info(run->options.log, SCHED,
                     "checkpoint step %u after an error in step %u", run->step,
                     run->step + 1);
    return status;
}

/* ---- resuming ---- */

/* Shards and lanes of a model as the state has them; {0, 0} if it has none. */
static rlf_sums
sums_of(const json_t *state, const char *model)
{
    const json_t *pair = json_object_get(json_object_get(state, "sums"), model);
    return (rlf_sums){(int)json_number_value(json_array_get(pair, 0)),
                      (int)json_number_value(json_array_get(pair, 1))};
}

/* Differences that were accepted before stay written in later checkpoints. */
static void
keep_accepted(rlf_run *run, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        const json_t *step = json_object_get(entry, "step");
        json_object_set_new(entry, "step", /* numbers are read as doubles */
                            json_integer((json_int_t)json_number_value(step)));
        char *text = json_dumps(entry, JSON_COMPACT);
        rlf_buf_printf(&run->accepted, "%s%s", i ? ",\n  " : "", text);
        free(text);
    }
}

/* The directory of the run that this one goes on from. */
static const char *
origin_of(const rlf_run *run)
{
    return run->options.origin ? run->options.origin : run->options.directory;
}

rlf_status
rlf_run_compare(rlf_run *run, const json_t *was, const char *file,
                uint32_t step, rlf_err *err, const char **accepted)
{
    size_t before = run->accepted.n;
    rlf_run_settle_inputs(run);
    RLF_TRY(rlf_inputs_check(run->options.inputs, was, file,
                             origin_of(run), step, run->kept, err,
                             &run->accepted));
    const char *now = run->accepted.n > before ? run->accepted.p + before : "";
    *accepted = rlf_arena_strdup(run->kept, now + strspn(now, ",\n "));
    return RLF_OK;
}

static rlf_status
check_state(rlf_run *run, const char *dir, const json_t *state, rlf_buf *said,
            rlf_err *err, uint32_t *step, const char **accepted_now)
{
    json_t *inputs, *accepted = NULL;
    int64_t at = 0, format = 0;
    RLF_TRY(rlf_json_get_int(state, dir, "format", true, err, &format));
    if (format != FORMAT) {
        rlf_fail(err, RLF_USER, "%s has format %" PRId64 ", not %d", dir,
                 format, FORMAT);
        rlf_err_hint(err, "go on with the version of rlflow that wrote it");
        return RLF_USER;
    }
    RLF_TRY(rlf_json_get_int(state, dir, "step", true, err, &at));
    RLF_TRY(rlf_json_get_array(state, dir, "inputs", true, err, &inputs));
    RLF_TRY(rlf_json_get_array(state, dir, "accepted", false, err, &accepted));
    *step = (uint32_t)at;
    RLF_TRY(rlf_saved_check(run, dir, state, err, said));
    keep_accepted(run, accepted);
    return rlf_run_compare(run, inputs, dir, *step, err, accepted_now);
}

/* The number of an input that has the name and is of the model; 0: there is
 * none. */
static int
number_of(const json_t *inputs, const char *name, const char *model)
{
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *one = json_array_get(inputs, i);
        const char *is = json_string_value(json_object_get(one, "name"));
        const char *of = json_string_value(json_object_get(one, "part"));
        const char *value = json_string_value(json_object_get(one, "value"));
        if (is && of && value && strcmp(is, name) == 0 &&
            strcmp(of, model) == 0)
            return atoi(value);
    }
    return 0;
}

/* The sums of a run that has no checkpoint yet; of a new model what any run
 * takes. */
static const rlf_sums *
sums_begun(const rlf_graph *graph, const json_t *begun, rlf_arena *arena)
{
    size_t n = graph->resources.count;
    rlf_sums *sums = RLF_NEW_ARRAY(arena, rlf_sums, n);
    for (size_t i = 0; i < n; i++) {
        const char *model = graph->resources.data[i].name;
        sums[i] = (rlf_sums){number_of(begun, "shards", model),
                             number_of(begun, "lanes", model)};
    }
    return sums;
}

rlf_status
rlf_run_sums(const rlf_graph *graph, const char *directory, const json_t *begun,
             rlf_arena *arena, rlf_err *err, const rlf_sums **out)
{
    *out = NULL;
    rlf_checkpoints all;
    rlf_registry registry;
    json_t *state = NULL;
    RLF_TRY(rlf_checkpoints_list(directory, arena, err, &all));
    rlf_registry_read(directory, arena, &registry);
    for (size_t i = all.count; i-- > 0 && !state;) {
        const char *here = rlf_checkpoints_path(&all, all.steps[i], arena);
        const char *path = rlf_path_join(arena, here, "state.json");
        rlf_err torn = RLF_ERR_NONE;
        rlf_digest digest;
        if (rlf_manifest_check_one(here, "state.json", arena, &torn, &digest) >=
                0 &&
            rlf_registry_check(&registry, all.steps[i], digest) >= 0)
            rlf_json_load(path, &torn, &state);
    }
    if (!all.count && begun)
        *out = sums_begun(graph, begun, arena);
    if (!state)
        return RLF_OK; /* resuming will say what is damaged */
    size_t n = graph->resources.count;
    rlf_sums *sums = RLF_NEW_ARRAY(arena, rlf_sums, n);
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        rlf_sums was = sums_of(state, r->name);
        sums[i] = (rlf_sums){was.shards > 0 ? was.shards : 1,
                             was.lanes > 0 ? was.lanes : 1};
    }
    *out = sums;
    json_decref(state);
    return RLF_OK;
}

/* Inputs whose value is known once they are open. */
static bool
is_late(const rlf_inputs *inputs, const char *name, const char *part)
{
    if (strcmp(name, "device") == 0 && strcmp(part, "products") == 0)
        return true;
    for (size_t i = 0; i < inputs->list.count; i++)
        if (inputs->list.data[i].rows &&
            strcmp(inputs->list.data[i].name, name) == 0)
            return true;
    return false;
}

/* Compares what is known before anything is open. */
static rlf_status
compare_early(rlf_inputs *inputs, json_t *was, const char *file,
              const char *directory, rlf_arena *arena, rlf_err *err)
{
    rlf_buf accepted = {0};
    for (size_t i = json_array_size(was); i-- > 0;) {
        const json_t *one = json_array_get(was, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        const char *part = json_string_value(json_object_get(one, "part"));
        if (name && is_late(inputs, name, part ? part : ""))
            json_array_remove(was, i);
    }
    size_t n = 0; /* and so of what there is */
    for (size_t i = 0; i < inputs->list.count; i++) {
        rlf_input *in = &inputs->list.data[i];
        if (!is_late(inputs, in->name, in->part))
            inputs->list.data[n++] = *in;
    }
    inputs->list.count = n;
    rlf_status status = rlf_inputs_check(inputs, was, file, directory, 0, arena,
                                         err, &accepted);
    rlf_buf_free(&accepted);
    return status;
}

rlf_status
rlf_run_inputs(rlf_inputs *inputs, const char *directory, json_t *begun,
               rlf_arena *arena, rlf_err *err)
{
    rlf_checkpoints all;
    json_t *state = NULL, *was = NULL;
    RLF_TRY(rlf_checkpoints_list(directory, arena, err, &all));
    if (!all.count)
        return begun ? compare_early(inputs, begun, directory, directory, arena,
                                     err)
                     : RLF_OK;
    const char *here =
        rlf_checkpoints_path(&all, all.steps[all.count - 1], arena);
    RLF_TRY(
        rlf_json_load(rlf_path_join(arena, here, "state.json"), err, &state));
    rlf_status status =
        rlf_json_get_array(state, here, "inputs", true, err, &was);
    if (status >= 0)
        status = compare_early(inputs, was, here, directory, arena, err);
    json_decref(state);
    return status;
}

/* Is the checkpoint whole, and the one that was saved? */
static rlf_status
check_whole(const rlf_registry *registry, const char *here, uint32_t step,
            rlf_arena *arena, rlf_err *err, rlf_buf *said,
            rlf_checkpoint_metadata *metadata, bool *ended)
{
    rlf_digest digest;
    RLF_TRY(rlf_manifest_check(here, arena, err, &digest, metadata, ended));
    rlf_status status = rlf_registry_check(registry, step, digest);
    if (status == RLF_AGAIN)
        rlf_buf_printf(
            said,
            "%s %s, so nothing tells whether the checkpoint of step "
            "%" PRIu32 " is as it was saved\n",
            registry->path,
            registry->there ? "does not list it" : "is gone or damaged", step);
    if (status == RLF_USER)
        rlf_fail(err, RLF_USER,
                 "%s is not what was saved: its manifest is not the one that "
                 "%s lists",
                 here, registry->path);
    return status < 0 ? status : RLF_OK;
}

/* The newest checkpoint that is whole: *at in `all`, which is all->count if
 * there are none at all. Lines about newer ones go to `said`. */
static rlf_status
find_whole(const rlf_checkpoints *all, const rlf_registry *registry,
           rlf_arena *arena, rlf_err *err, rlf_buf *said, size_t *at,
           rlf_checkpoint_metadata *metadata, bool *ended)
{
    rlf_err first = RLF_ERR_NONE;
    for (size_t i = all->count; i-- > 0;) {
        rlf_err why = RLF_ERR_NONE;
        const char *here = rlf_checkpoints_path(all, all->steps[i], arena);
        rlf_status status = check_whole(registry, here, all->steps[i], arena,
                                        &why, said, metadata, ended);
        *at = i;
        if (status >= 0)
            return RLF_OK;
        if (!first.status || status != RLF_USER)
            first = why;
        if (status != RLF_USER) /* it may be whole */
            break;
        rlf_buf_printf(said, "%s\n", why.sentence);
    }
    *at = all->count;
    if (!all->count)
        return RLF_OK;
    *err = first;
    if (first.status != RLF_USER)
        rlf_err_hint(err, "the checkpoint may be whole: see that it can be "
                          "read, or move it away to go on from an older one");
    else
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
    uint32_t newest = 0; /* that had a manifest: all else was never saved */
    for (size_t i = all->count; i-- > at + 1;) {
        const char *to;
        const char *path = rlf_checkpoints_path(all, all->steps[i], arena);
        if (!newest && rlf_manifest_exists(path, arena))
            newest = all->steps[i];
        RLF_TRY(rlf_checkpoints_set_aside(all, "damaged", all->steps[i], arena,
                                          err, &to));
        rlf_buf_printf(said, "the checkpoint of step %u is now %s\n",
                       all->steps[i], to);
    }
    if (newest == all->steps[at] + 1)
        rlf_buf_printf(said,
                       "the run goes on from the checkpoint of step %u, and "
                       "does the step after it again\n",
                       all->steps[at]);
    else if (newest)
        rlf_buf_printf(said,
                       "the run goes on from the checkpoint of step %u, and "
                       "does the %u steps after it again\n",
                       all->steps[at], newest - all->steps[at]);
    else if (all->count > at + 1)
        rlf_buf_printf(said,
                       "the run goes on from the checkpoint of step %u\n",
                       all->steps[at]);
    return RLF_OK;
}

static rlf_status
restore(rlf_run *run, const char *here, uint32_t step, rlf_arena *arena,
        rlf_buf *said, rlf_err *err, const char **accepted)
{
    json_t *state = NULL;
    RLF_TRY(
        rlf_json_load(rlf_path_join(arena, here, "state.json"), err, &state));
    uint32_t saved = 0;
    rlf_status status =
        check_state(run, here, state, said, err, &saved, accepted);
    json_decref(state);
    RLF_TRY(status);
    if (saved != step) {
        rlf_fail(err, RLF_USER, "%s holds step %d", here, (int)saved);
        rlf_err_hint(err, "give it back the name that it was saved under");
        return RLF_USER;
    }
    const rlf_rank_command command = {.kind = RLF_DO_RESTORE,
                                      .instance = -1,
                                      .node = -1,
                                      .step = step,
                                      .directory = here};
    RLF_TRY(rlf_run_tell_all(run, &command, err));
    run->step = run->saved_step = step;
    return step ? rlf_controller_restore(run, step, err) : RLF_OK;
}

static rlf_status
resume(rlf_run *run, rlf_arena *arena, rlf_buf *said, rlf_err *err,
       rlf_resumed *out)
{
    rlf_checkpoints all;
    rlf_registry registry;
    size_t at;
    bool ended = false;
    RLF_TRY(rlf_checkpoints_list(origin_of(run), arena, err, &all));
    rlf_registry_read(origin_of(run), arena, &registry);
    while (run->options.origin && all.count &&
           all.steps[all.count - 1] > run->options.origin_step)
        all.count--;
    rlf_status status = find_whole(&all, &registry, run->kept, err, said, &at,
                                   &out->metadata, &ended);
    if (status == RLF_USER && run->options.origin) { /* from the beginning */
        rlf_err_clear(err);
        return RLF_OK;
    }
    RLF_TRY(status);
    if (at == all.count && run->options.origin)
        return RLF_OK;
    if (at == all.count) /* but what a kill left of one */
        return rlf_dir_remove(rlf_path_join(arena, run->options.directory,
                                            RLF_CHECKPOINT_WRITING),
                              err);
    const char *here = rlf_checkpoints_path(&all, all.steps[at], arena);
    RLF_TRY(
        restore(run, here, all.steps[at], arena, said, err, &out->accepted));
    out->step = run->step;
    run->ended = ended;
    if (run->options.origin)
        return RLF_OK;
    RLF_TRY(set_aside(&all, at, arena, err, said));
    return prune(run, &out->metadata, arena, err, said);
}

rlf_status
rlf_run_resume(rlf_run *run, rlf_err *err, rlf_resumed *out)
{
    *out = (rlf_resumed){.warning = "", .accepted = ""};
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
