/* See memory_advice.h. */
#include "engine/api/searching/memory_advice.h"

#include "engine/api/machines/planned_device.h"
#include "engine/api/searching/search.h"
#include "engine/dev/memory.h"
#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "engine/mesh/outline.h"
#include "engine/plan/rank_classes.h"
#include "engine/plan/candidate.h"
#include "engine/plan/fit.h"
#include "nodes/table.h"

#include <math.h>
#include <string.h>

typedef struct shortage {
    rlf_session *session;       /* with a plan that does not fit */
    const rlf_outline *outline; /* of its program */
    bool gpu;            /* only bytes of devices count, not the host's */
    const double *limit; /* per rank: bytes that it may take */
    double more; /* bytes that a rank takes beside those of an outline */
} shortage;

typedef struct row_list {
    rlf_place_row *data;
    int count;
} row_list;

/* Changes to place rows that may make a plan fit; some kinds change less or
 * more, by level from 0 on. */
typedef enum remedy {
    RECOMPUTE,
    ZERO,
    OFFLOAD,
    TOKENS,
    PARTS,
    LANES, /* changes bits, so that it is the last, and said to */
    REMEDIES
} remedy;

enum { MOST_LEVELS = 16 };

/* ---- does it fit? ---- */

/* The most that a rank of a plan lacks; below 0 what it has to spare. */
static double
lack_of(const shortage *of, const rlf_plan *plan, rlf_arena *arena)
{
    double most = -INFINITY;
    bool alike = true;
    const int *ranks;
    for (int r = 1; r < plan->ranks; r++)
        alike = alike && of->limit[r] == of->limit[0];
    int n =
        rlf_rank_classes(plan, rlf_outline_layers(of->outline), arena, &ranks);
    for (int i = 0; i < (alike ? n : plan->ranks); i++) {
        int rank = alike ? ranks[i] : i;
        rlf_arena *scratch = rlf_arena_scratch(arena);
        rlf_opened opened;
        rlf_err err = RLF_ERR_NONE;
        double lack = INFINITY;
        if (rlf_outline_rank(of->outline, plan, rank, scratch, &err, &opened) >=
            0)
            lack = rlf_planned_memory(&opened, of->gpu, scratch) + of->more -
                   of->limit[rank];
        most = fmax(most, lack);
        rlf_arena_free(scratch);
    }
    return most;
}

/* Have the hosts of a cluster memory for what a plan offloads? */
static bool
host_has(const shortage *of, const rlf_plan *plan, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_trial trial;
    const rlf_placement *p = plan->graph->placement;
    bool any = false;
    for (int i = 0; p && i < p->n_rows; i++)
        any |= p->rows[i].offload == 1;
    return !of->session->planning.cluster || !any ||
           (rlf_trial_weigh(of->session, of->outline, plan, arena, &err,
                            &trial) >= 0 &&
            rlf_trial_host_fits(&trial, &err) >= 0);
}

/* The same with other place rows; INFINITY: there is no such plan. */
static double
lack_with(const shortage *of, const row_list *rows)
{
    rlf_session *s = of->session;
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_plan *plan;
    double lack = INFINITY;
    if (rlf_plan_candidate(s->graph, rows->data, rows->count,
                           &s->planning.options, arena, &err, &plan) >= 0 &&
        rlf_plan_fits(plan, &err) >= 0 && host_has(of, plan, arena))
        lack = lack_of(of, plan, arena);
    rlf_arena_free(arena);
    return lack;
}

/* ---- what can be changed ---- */

static bool
is_update(const rlf_place_row *row)
{
    return row->call && row->call->work == RLF_WORK_TRAIN;
}

/* "actor.update, ref"; what is said of rows that are changed. */
static void
name_row(const rlf_session *s, const rlf_place_row *row, rlf_buf *names)
{
    rlf_buf_printf(names, "%s%s%s%s", names->n ? ", " : "",
                   s->graph->resources.data[row->model].name,
                   row->call ? "." : "", row->call ? row->call->name : "");
}

/* The place row of the whole model, which is added where there is none; NULL:
 * it has no place row at all. */
static rlf_place_row *
whole_row(row_list *rows, int model)
{
    rlf_place_row *any = NULL;
    for (int i = 0; i < rows->count; i++) {
        rlf_place_row *row = &rows->data[i];
        if (row->model == model && !row->call)
            return row;
        if (row->model == model)
            any = row;
    }
    if (!any)
        return NULL;
    rlf_place_row *whole = &rows->data[rows->count++];
    *whole = rlf_place_row_new(model, NULL);
    whole->ranks = any->ranks;
    whole->n_ranks = any->n_ranks;
    whole->tp = any->tp;
    whole->pp = any->pp;
    whole->dp = any->dp;
    return whole;
}

/* Partial sums of gradients of as many lanes as replicas. Returns the number.
 */
static int
fewest_lanes(const rlf_session *s, row_list *rows, rlf_buf *names)
{
    int value = 1;
    for (size_t m = 0; m < s->graph->resources.count; m++) {
        const rlf_resource *r = &s->graph->resources.data[m];
        int least = 1;
        if (!r->class->model || !r->trained)
            continue;
        for (int i = 0; i < rows->count; i++)
            if (rows->data[i].model == (int)m && rows->data[i].dp > least)
                least = rows->data[i].dp;
        if (s->plan->sums[m].lanes <= least)
            continue;
        rlf_place_row *whole = whole_row(rows, (int)m);
        if (!whole)
            continue;
        whole->lanes = value = least;
        name_row(s, whole, names);
    }
    return value;
}

/* Whole models that are never trained: their place rows, which are added where
 * there are none. */
static void
offload(const rlf_session *s, row_list *rows, rlf_buf *names)
{
    for (size_t m = 0; m < s->graph->resources.count; m++) {
        const rlf_resource *r = &s->graph->resources.data[m];
        if (!r->class->model || r->trained)
            continue;
        rlf_place_row *whole = whole_row(rows, (int)m);
        if (!whole || whole->offload == 1)
            continue;
        whole->offload = 1;
        name_row(s, whole, names);
    }
}

/* Tokens of a micro-batch: the largest that are allowed now, halved once more
 * with each level; no fewer than the longest sequence. 0: not known. */
static int
fewer_tokens(const shortage *of, int model, int level)
{
    rlf_session *s = of->session;
    rlf_arena *arena = rlf_arena_new();
    rlf_opened opened;
    rlf_err err = RLF_ERR_NONE;
    int tokens = 0;
    if (rlf_outline_rank(of->outline, s->plan, 0, arena, &err, &opened) >= 0) {
        const rlf_caps *caps = rlf_resource_caps(
            &s->graph->resources.data[model], opened.resource[model]);
        int least = caps ? (int)rlf_caps_least(caps, RLF_USE_UPDATE) : 0;
        int now = caps ? (int)caps->tokens[RLF_USE_UPDATE] : 0;
        tokens = now >> (level + 1);
        if (tokens < least)
            tokens = now > least && (now >> level) > least ? least : 0;
    }
    rlf_arena_free(arena);
    return tokens;
}

/* Changes place rows; `names` gets those that are changed, none if there is
 * nothing (more) to change. Returns the number that is set. */
static int
apply(const shortage *of, remedy kind, int level, row_list *rows,
      rlf_buf *names)
{
    rlf_session *s = of->session;
    int value = 1;
    rlf_buf_clear(names);
    if (kind == OFFLOAD && !level)
        offload(s, rows, names);
    if (kind == LANES && !level)
        return fewest_lanes(s, rows, names);
    for (int i = 0; i < rows->count; i++) {
        rlf_place_row *row = &rows->data[i];
        int tokens = 0, times = 2 << level;
        if (kind == RECOMPUTE && !level && is_update(row) &&
            row->recompute != 1) {
            row->recompute = 1;
        } else if (kind == ZERO && !level && is_update(row) && row->dp > 1 &&
                   row->zero < 1) {
            row->zero = 1;
        } else if (kind == TOKENS && is_update(row) &&
                   (tokens = fewer_tokens(of, row->model, level)) > 0) {
            row->tokens = value = tokens;
        } else if (kind == PARTS && row->call && row->dp % times == 0) {
            row->tp *= times;
            row->dp /= times;
            value = row->tp;
        } else {
            continue;
        }
        name_row(s, row, names);
    }
    return value;
}

static void
put_remedy(remedy kind, int value, const rlf_buf *names, const char *between,
           rlf_buf *out)
{
    static const char *const words[REMEDIES] = {[RECOMPUTE] = "recompute: true",
                                                [ZERO] = "zero: 1",
                                                [OFFLOAD] = "offload: true",
                                                [TOKENS] = "tokens:",
                                                [PARTS] = "tp:",
                                                [LANES] = "lanes:"};
    if (out->n)
        rlf_buf_puts(out, between);
    rlf_buf_puts(out, words[kind]);
    if (kind == TOKENS || kind == PARTS || kind == LANES)
        rlf_buf_printf(out, " %d", value);
    rlf_buf_printf(out, " of %s", kind == PARTS ? "all calls" : names->p);
}

/* ---- trying ---- */

static row_list
copy_rows(const row_list *rows, rlf_arena *arena, size_t n_models)
{
    row_list copy = {.count = rows->count};
    copy.data =
        RLF_NEW_ARRAY(arena, rlf_place_row, (size_t)rows->count + n_models + 1);
    for (int i = 0; i < rows->count; i++)
        copy.data[i] = rows->data[i];
    return copy;
}

/* Each alone, with the lowest level that is enough. */
static void
try_alone(const shortage *of, const row_list *rows, rlf_arena *arena,
          rlf_buf *out)
{
    size_t n_models = of->session->graph->resources.count;
    rlf_buf names = {0};
    for (remedy kind = 0; kind < LANES; kind++) {
        for (int level = 0; level < MOST_LEVELS; level++) {
            row_list changed = copy_rows(rows, arena, n_models);
            int value = apply(of, kind, level, &changed, &names);
            if (!names.n)
                break;
            if (lack_with(of, &changed) > 0)
                continue;
            put_remedy(kind, value, &names, "; ", out);
            break;
        }
    }
    rlf_buf_free(&names);
}

/* One after the other; those with which it lacks less stay, and fewer lanes if
 * with them it fits. Returns what is lacking with all of them. */
static double
try_together(const shortage *of, const row_list *rows, double lack,
             rlf_arena *arena, rlf_buf *out, bool *other_bits)
{
    size_t n_models = of->session->graph->resources.count;
    row_list best = copy_rows(rows, arena, n_models);
    rlf_buf names = {0};
    *other_bits = false;
    for (remedy kind = 0; kind < REMEDIES && lack > 0; kind++) {
        row_list before = best;
        rlf_buf words = {0};
        int value = 0;
        for (int level = 0; level < MOST_LEVELS && lack > 0; level++) {
            row_list changed = copy_rows(&before, arena, n_models);
            int set = apply(of, kind, level, &changed, &names);
            double left = names.n ? lack_with(of, &changed) : lack;
            if (!names.n)
                break;
            if (left >= lack || (kind == LANES && left > 0))
                continue;
            *other_bits = kind == LANES;
            lack = left;
            best = changed;
            value = set;
            rlf_buf_clear(&words);
            rlf_buf_puts(&words, names.p);
        }
        if (words.n)
            put_remedy(kind, value, &words, ", ", out);
        rlf_buf_free(&words);
    }
    rlf_buf_free(&names);
    return lack;
}

static void
tell_machines(rlf_session *s, rlf_err *err)
{
    int machines = rlf_session_machines(s);
    if (!machines)
        return;
    if (machines == s->planning.cluster->machines)
        rlf_err_hint(err,
                     "a plan that fits is found by 'rlflow plan --search'");
    else
        rlf_err_hint(err,
                     "a plan that fits into %d of these machines is found by "
                     "'rlflow plan --search'",
                     machines);
}

/* Adds hints to the error that says what is missing: each argument of a
 * place row (zero:, recompute:, offload:, tokens:, tp:) that alone makes the
 * plan fit, or else as many of them as together do, or else what is missing
 * even then; and, of a cluster, the machines into which a search fits the
 * program. */
static void
advise(const shortage *of, rlf_err *err)
{
    rlf_session *s = of->session;
    rlf_arena *arena = rlf_arena_new();
    rlf_buf fits = {0}, together = {0};
    row_list rows;
    rows.data = rlf_plan_rows(s->plan, false, arena, &rows.count);
    double lack = lack_of(of, s->plan, arena);
    if (lack > 0 && isfinite(lack)) {
        char text[RLF_BYTES_TEXT];
        try_alone(of, &rows, arena, &fits);
        if (fits.n) {
            rlf_err_hint(err,
                         "in the rows of place, each alone makes it fit: %s",
                         fits.p);
        } else {
            bool other_bits;
            lack = try_together(of, &rows, lack, arena, &together, &other_bits);
            if (s->planning.cluster)
                rlf_gb_text(lack, 3, text);
            else
                rlf_bytes_text((uint64_t)fmax(lack, 0), text);
            if (lack <= 0)
                rlf_err_hint(err,
                             "in the rows of place, together these make it "
                             "fit%s: %s",
                             other_bits ? " (lanes: with other bits)" : "",
                             together.p);
            else
                rlf_err_hint(err,
                             "no rows on these ranks were found that make it "
                             "fit with the same bits: with %s %s are missing",
                             together.n ? together.p : "those that there are",
                             text);
        }
        if (s->planning.cluster)
            tell_machines(s, err);
    }
    rlf_buf_free(&fits);
    rlf_buf_free(&together);
    rlf_arena_free(arena);
}

/* ---- who asks ---- */

void
rlf_memory_advise_here(rlf_session *s, int rank, double bytes,
                       const double *limit, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_outline *outline = NULL;
    rlf_opened opened;
    rlf_err ignored = RLF_ERR_NONE;
    bool gpu = strcmp(s->plan->numerics.backend, "cpu") != 0;
    rlf_status status = rlf_outline_open(
        s->graph, rlf_planned_kernels(s, arena), &ignored, &outline);
    if (status >= 0)
        status =
            rlf_outline_rank(outline, s->plan, rank, arena, &ignored, &opened);
    if (status >= 0) {
        double outlined = rlf_planned_memory(&opened, gpu, arena);
        const shortage of = {.session = s,
                             .outline = outline,
                             .gpu = gpu,
                             .limit = limit,
                             .more = bytes < 0 ? 0 : bytes - outlined};
        advise(&of, err);
    }
    rlf_arena_free(arena);
    rlf_outline_close(outline);
}

void
rlf_memory_advise_run(rlf_session *s, rlf_err *err)
{
    int ranks = s->plan->ranks;
    bool here = strcmp(s->plan->numerics.backend, "cpu") == 0 &&
                (!s->world || rlf_comm_world_local(s->world) == ranks);
    if (!rlf_memory_is_missing(err))
        return;
    if (!here) {
        rlf_err_hint(err, "'rlflow check' of the same tries which rows of "
                          "place would make it fit");
        return;
    }
    double *limit = RLF_NEW_ARRAY(s->arena, double, ranks);
    uint64_t all =
        s->options.memory ? s->options.memory : rlf_host_memory_limit();
    for (int r = 0; r < ranks; r++)
        limit[r] = (double)(all / (uint64_t)ranks);
    rlf_memory_advise_here(s, 0, -1, limit, err);
}

static rlf_status
check_cluster(rlf_session *s, const rlf_outline *outline, rlf_arena *arena,
              rlf_err *err)
{
    rlf_trial trial;
    int n = s->plan->ranks;
    RLF_TRY(rlf_trial_weigh(s, outline, s->plan, arena, err, &trial));
    rlf_status status = rlf_trial_fits(&trial, err);
    if (status >= 0)
        return rlf_trial_host_fits(&trial, err);
    double *limit = RLF_NEW_ARRAY(arena, double, n);
    for (int r = 0; r < n; r++)
        limit[r] = rlf_cluster_part_of(s->planning.cluster, r)
                       ->machine->device->memory;
    const shortage of = {.session = s,
                         .outline = outline,
                         .gpu =
                             s->planning.cluster->parts[0].machine->device->gpu,
                         .limit = limit};
    advise(&of, err);
    return status;
}

rlf_status
rlf_memory_plan_fits(rlf_session *s, rlf_err *why, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_outline *outline = NULL;
    rlf_status status = rlf_outline_open(
        s->graph, rlf_planned_kernels(s, arena), why, &outline);
    if (status >= 0)
        status = check_cluster(s, outline, arena, err);
    else
        status = RLF_AGAIN;
    rlf_arena_free(arena);
    rlf_outline_close(outline);
    return status;
}

rlf_status
rlf_memory_plan_pages(rlf_session *s, rlf_arena *arena, rlf_err *err,
                      const rlf_page_room **out)
{
    rlf_outline *outline = NULL;
    rlf_trial trial;
    rlf_status status = rlf_outline_open(
        s->graph, rlf_planned_kernels(s, arena), err, &outline);
    if (status >= 0)
        status = rlf_trial_weigh(s, outline, s->plan, arena, err, &trial);
    rlf_outline_close(outline);
    if (status >= 0)
        *out = trial.pages;
    return status;
}
