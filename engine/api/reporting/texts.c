/* The texts of a session that are made here, and those of others by their
 * number: see texts.h. */
#include "engine/api/reporting/texts.h"

#include "engine/api/searching/auto.h"
#include "engine/api/searching/prediction.h"
#include "engine/api/machines/profile.h"
#include "engine/api/rundir/rundir.h"
#include "engine/io/output.h"

#include <inttypes.h>
#include <string.h>

bool
rlf_text_is_dry(const rlf_session *s)
{
    return s && s->run && s->options.dry && s->leads;
}

const char *
rlf_text_node(rlf_session *s, const rlf_node *node)
{
    if (node->receiver < 0)
        return node->class->name;
    return rlf_arena_printf(s->arena, "%s.%s",
                            s->graph->resources.data[node->receiver].name,
                            node->class->name);
}

void
rlf_text_pages(rlf_session *s, const char *begin, const rlf_page_waits *paged,
               const rlf_page_room *pages, rlf_buf *out)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++)
        if (paged[i].waiting)
            rlf_buf_printf(
                out,
                "%s%10u sample%s at once, at most, for keys and values "
                "in %" PRIu64 " tokens of a replica, which makes %.3g "
                "meanwhile: %s\n",
                begin, paged[i].waiting,
                paged[i].waiting == 1 ? " waits" : "s wait",
                pages[i].pages * pages[i].tokens,
                paged[i].rows / paged[i].turns,
                rlf_text_node(s, &s->graph->nodes.data[i]));
}

rlf_status
rlf_text_weights(rlf_session *s, const rlf_weight_flow *flow,
                 const void *object, rlf_realloc_job *job,
                 rlf_realloc_plan *out, rlf_err *err)
{
    const rlf_resource *r = &s->graph->resources.data[flow->model];
    rlf_shapes *shapes = RLF_NEW(s->arena, rlf_shapes);
    RLF_TRY(
        r->class->model->shapes(s->graph, r, object, s->arena, err, shapes));
    *job = rlf_weight_copies_job(s->plan, flow->model, 0, flow->copy, shapes,
                                 NULL, rlf_cast_bytes(s->options.real));
    return rlf_realloc_make(job, s->arena, err, out);
}

/* ---- the texts ---- */

static bool
put_promise(rlf_session *s, rlf_buf *out)
{
    const rlf_prediction *p = s->planning.prediction;
    if (!p)
        return true;
    const char *lengths = s->options.prompts || s->options.responses
                              ? "with the lengths that are said"
                          : s->planning.like
                              ? "with lengths like those of --like"
                              : "at the caps";
    rlf_buf_printf(
        out, "place auto: a step of %.3g s by %s, %s, on the cluster %s%s\n",
        p->step, p->simulated ? "simulation" : "the estimate", lengths,
        p->cluster,
        p->guessed ? ", whose rates are guesses that nobody has measured" : "");
    return true;
}

static bool
put_plan(rlf_session *s, rlf_buf *out)
{
    if (!s->plan)
        return false;
    rlf_buf_puts(out, s->planning.prediction ? "# " : "");
    put_promise(s, out);
    rlf_plan_print(s->plan, out);
    return true;
}

static bool
put_cluster(rlf_session *s, rlf_buf *out)
{
    if (!s->planning.cluster)
        return false;
    rlf_buf_printf(out, "# cluster %s\n", s->planning.cluster->name);
    rlf_buf text = {0};
    rlf_cluster_describe(s->planning.cluster, &text);
    rlf_buf_shown(out, text.p, text.n); /* it has names of the user's */
    rlf_buf_free(&text);
    return true;
}

static bool
put_fit(rlf_session *s, rlf_buf *out)
{
    if (s->planning.unsure)
        rlf_buf_printf(out, "# whether it fits is not known: %s\n",
                       s->planning.unsure);
    return true;
}

/* Of data and models once the session is ready; of lengths that nobody knows
 * after a simulation or a search. */
static bool
put_notes(rlf_session *s, rlf_buf *out)
{
    const rlf_session_workload *w =
        s->calls.found ? &s->calls.found->workload
                       : rlf_simulating_lengths(s->calls.simulating);
    if (s->run) {
        rlf_plan_notes(s->plan, out);
        rlf_run_notes(s->run, out);
    }
    if (w) {
        rlf_session_workload_warn(s, w, out);
        rlf_profile_warn(s, out);
    }
    rlf_buf_puts(out, s->calls.profiled ? s->calls.profiled : "");
    return true;
}

static bool
put_profile(rlf_session *s, rlf_buf *out)
{
    rlf_buf_puts(out, s->calls.profile ? s->calls.profile : "");
    return s->calls.profile != NULL;
}

static bool
put_outcome(rlf_session *s, rlf_buf *out)
{
    rlf_prediction_compare(s, out);
    return true;
}

/* Writes what is saved, after an error in a step. */
static bool
put_saved(rlf_session *s, rlf_buf *out)
{
    rlf_err ignored = RLF_ERR_NONE;
    uint32_t step = rlf_saving_last(s);
    if (s->directory.saved.why_not)
        rlf_buf_printf(out, "step %" PRIu64 " could not be saved: %s\n",
                       rlf_session_steps(s), s->directory.saved.why_not);
    if (rlf_directory_check(s, &ignored) >= 0 && !s->directory.saved.step)
        rlf_buf_puts(out, s->directory.saved.failed
                              ? "no step is saved: the first checkpoint could "
                                "not be written\n"
                              : "no step is saved yet: the first checkpoint is "
                                "written as --save-every says\n");
    if (step)
        rlf_buf_printf(out, "steps up to %" PRIu32 " are saved\n", step);
    return true;
}

/* Writes that a run was told to end before it had begun. */
static bool
put_stopped(rlf_session *s, rlf_buf *out)
{
    if (s->stop.before_step)
        rlf_stop_print(s->stop.signal, out);
    return true;
}

/* Returns why a text is not there that is about something. */
static const char *
why_none(const rlf_session *s, rlf_text which)
{
    switch (which) {
    case RLF_TEXT_NEEDS:
    case RLF_TEXT_EXPLANATION:
        return s->ended && s->options.dry ? "the dry run was finished"
               : !s->leads && s->options.dry ? "the needs are in process 0"
                           : "there was no dry run (rlf_session_dry_run)";
    case RLF_TEXT_SIMULATION:
        return "nothing was simulated (rlf_session_simulate)";
    case RLF_TEXT_SEARCH:
    case RLF_TEXT_SEARCHED:
        return "there was no search (rlf_session_search)";
    case RLF_TEXT_PROFILE:
        return "nothing was measured (rlf_session_profile)";
    case RLF_TEXT_CLUSTER:
        return "nothing was planned for a cluster (--cluster)";
    default:
        return "there is no plan yet (rlf_session_plan)";
    }
}

const char *
rlf_session_text(rlf_session *s, rlf_text which)
{
    static bool (*const texts[])(rlf_session * s, rlf_buf * out) = {
        [RLF_TEXT_PLAN] = put_plan,
        [RLF_TEXT_EDGES] = rlf_text_edges,
        [RLF_TEXT_CLUSTER] = put_cluster,
        [RLF_TEXT_FIT] = put_fit,
        [RLF_TEXT_NOTES] = put_notes,
        [RLF_TEXT_UPDATES] = rlf_text_updates,
        [RLF_TEXT_NEEDS] = rlf_text_needs,
        [RLF_TEXT_SIMULATION] = rlf_text_simulation,
        [RLF_TEXT_SEARCH] = rlf_text_search,
        [RLF_TEXT_SEARCHED] = rlf_text_searched,
        [RLF_TEXT_PROMISE] = put_promise,
        [RLF_TEXT_PROFILE] = put_profile,
        [RLF_TEXT_OUTCOME] = put_outcome,
        [RLF_TEXT_SAVED] = put_saved,
        [RLF_TEXT_STOPPED] = put_stopped,
        [RLF_TEXT_EXPLANATION] = rlf_text_explain,
    };
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if ((size_t)which >= RLF_COUNT(texts)) {
        rlf_why(s, "there is no text of the number %d", (int)which);
        return NULL;
    }
    rlf_buf *out = &s->answer.text;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_buf_clear(out);
    bool there = texts[which](s, out);
    rlf_locale_leave(before);
    if (!there)
        rlf_why(s, "%s", why_none(s, which));
    return !there ? NULL : out->n ? out->p : "";
}

/* ---- files ---- */

rlf_result
rlf_session_write(rlf_session *s)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    if (!rlf_simulating_lengths(s->calls.simulating) && !s->calls.profile)
        return rlf_call_refuse(s, "there is nothing to write: nothing was "
                                  "simulated or measured");
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = rlf_simulating_write(s, &s->err);
    if (status >= 0 && s->calls.profile && s->options.table)
        status = rlf_output_write(s->options.table, s->calls.profile,
                                  strlen(s->calls.profile), &s->err);
    rlf_locale_leave(before);
    return rlf_session_result(status);
}
