/* `place auto`: see auto.h. */
#include "engine/api/searching/auto.h"

#include <string.h>

#include "engine/api/searching/prediction.h"
#include "engine/dev/cores.h"
#include "engine/dev/memory.h"
#include "engine/plan/fit.h"

bool
rlf_auto_asked(const rlf_session *s)
{
    const rlf_placement *placement = s->graph->placement;
    return placement && placement->strategy == RLF_STRATEGY_AUTO;
}

rlf_status
rlf_auto_cluster(rlf_session *s, int ranks, const rlf_backend *backend,
                 rlf_err *err)
{
    double memory = s->options.memory ? (double)s->options.memory
                                      : (double)rlf_host_memory_limit();
    if (strcmp(backend->name, "cpu") != 0) {
        rlf_fail(err, RLF_USAGE,
                 "'place auto' needs to know these GPUs and their links");
        rlf_err_hint(err, "name their cluster, as in --cluster h100x8:1, or "
                          "the file of one");
        rlf_err_place(err, s->graph->placement->span, NULL);
        return RLF_USAGE;
    }
    s->planning.cluster =
        rlf_cluster_this(ranks, rlf_cores_count(), memory, s->arena);
    return RLF_OK;
}

/* Does a place row say how many shards the model has? */
static bool
keeps_shards(const rlf_session *s, int model)
{
    const rlf_place_row *pin =
        rlf_placement_pin(s->graph->placement, model, NULL);
    return pin && pin->shards > 0;
}

/* The same of lanes; a run that goes on has those that it began with. */
static bool
keeps_lanes(const rlf_session *s, int model)
{
    const rlf_place_row *pin =
        rlf_placement_pin(s->graph->placement, model, NULL);
    const rlf_sums *before = s->planning.options.sums;
    return (pin && pin->lanes > 0) || (before && before[model].lanes > 0);
}

const rlf_sums *
rlf_auto_sums(const rlf_session *s, bool gpu)
{
    size_t n = s->graph->resources.count;
    rlf_sums *sums = RLF_NEW_ARRAY(s->arena, rlf_sums, n);
    for (size_t i = 0; i < n; i++) {
        sums[i] = s->plan->sums[i];
        if (gpu && !keeps_shards(s, (int)i))
            sums[i].shards = 0;
        if (gpu && !keeps_lanes(s, (int)i))
            sums[i].lanes = 0;
    }
    return sums;
}

/* ---- the search ---- */

static rlf_status
search(rlf_session *s, const rlf_sums *sums, bool unhinted, rlf_err *err,
       rlf_session_found *out)
{
    int64_t moves = (int64_t)s->options.moves;
    const rlf_session_search_options options = {
        .search = {.seed = s->options.seed, .moves = moves, .branches = moves},
        .sums = sums,
        .unhinted = unhinted};
    return rlf_session_find(s, &options, err, out);
}

/* On CPUs no number of shards but that of the program without a search, unless
 * nothing fits: then the least with which something does. */
static rlf_status
search_shards(rlf_session *s, rlf_err *err, rlf_session_found *out)
{
    const rlf_machine_kind *machine = s->planning.cluster->parts[0].machine;
    size_t n = s->graph->resources.count;
    rlf_sums *sums =
        (rlf_sums *)rlf_auto_sums(s, machine->device->gpu); /* fresh ones */
    rlf_err first = RLF_ERR_NONE;
    rlf_status status = search(s, sums, false, &first, out);
    bool resumed = s->options.resume;
    for (int shards = 2; status == RLF_USER && shards <= machine->count &&
                         !machine->device->gpu && !resumed;
         shards *= 2) {
        rlf_err ignored = RLF_ERR_NONE;
        for (size_t i = 0; i < n; i++)
            if (s->graph->resources.data[i].class->model &&
                !keeps_shards(s, (int)i))
                sums[i].shards = rlf_fit_shards(
                    s->graph, &s->graph->resources.data[i], shards);
        status = search(s, sums, true, &ignored, out);
    }
    if (status < 0)
        *err = first;
    return status;
}

/* ---- its answer ---- */

/* The place block, in which a place row for each model says its shards and
 * lanes, for whoever gives it to another run. */
static const char *
write_rows(const rlf_session *s, const rlf_plan *plan)
{
    rlf_buf text = {0};
    rlf_plan_print_place(plan, true, &text);
    const char *out = rlf_arena_strdup(s->arena, text.p);
    rlf_buf_free(&text);
    return out;
}

rlf_status
rlf_auto_find(rlf_session *s, rlf_err *err, const char **text)
{
    rlf_session_found found;
    *text = NULL;
    if (s->options.resume && s->options.directory)
        RLF_TRY(rlf_prediction_read(s, err, text));
    if (*text && rlf_session_given(s, "--moves"))
        rlf_buf_puts(
            &s->warned.lines,
            "--moves is how much a search tries, and none is made: the "
            "run goes on with the plan that was found when it began\n");
    if (*text)
        return RLF_OK;
    rlf_status status = search_shards(s, err, &found);
    if (status < 0 && !err->span.source)
        rlf_err_place(err, s->graph->placement->span, NULL);
    RLF_TRY(status);
    *text = write_rows(s, found.best->plan);
    s->planning.prediction = rlf_prediction_make(s, &found, *text);
    return RLF_OK;
}
