/* See candidate.h. */
#include "engine/api/searching/candidate.h"

#include <string.h>

#include "engine/api/machines/planned_device.h"
#include "engine/plan/candidate.h"
#include "nodes/table.h"

/* ---- plans ---- */

/* On fewer machines of several kinds ranks may be any of those that there are.
 */
static rlf_plan_options
options_of(const rlf_searching *s, const rlf_plan_options *asked)
{
    rlf_plan_options plan = *asked;
    if (s->rank_of)
        plan.ranks = s->session->plan->ranks;
    return plan;
}

/* The plan of a placement, and what it takes. One that is none is told of as
 * if it did not fit. */
rlf_status
rlf_search_candidate_plan(rlf_searching *s, rlf_search_candidate *j,
                          rlf_err *err)
{
    const rlf_session *session = s->session;
    const rlf_pareto *pareto = &s->out->pareto;
    rlf_arena *scratch = rlf_arena_new();
    rlf_trial trial = {0};
    rlf_err ignored = RLF_ERR_NONE;
    rlf_status status = RLF_OK;
    const rlf_plan_options plan = options_of(s, &s->plan);
    if (!j->plan) {
        if (!j->rows)
            j->rows = rlf_pareto_rows(pareto, j->placing.choice, session->arena,
                                      &j->n_rows);
        status = rlf_plan_candidate(session->graph, j->rows, j->n_rows, &plan,
                                    session->arena, err, &j->plan);
    }
    if (status >= 0)
        status = rlf_plan_fits(j->plan, err);
    if (status >= 0)
        status =
            rlf_trial_weigh(session, s->outline, j->plan, scratch, err, &trial);
    if (status >= 0) {
        j->memory = trial.memory[trial.fullest];
        j->fill = trial.fill;
        j->lacks = trial.lacks;
        j->host_lacks = rlf_trial_host_fits(&trial, &ignored) < 0;
    }
    rlf_trial_close(&trial);
    rlf_arena_free(scratch);
    return status;
}

bool
rlf_search_may(void *arg, const rlf_placing *at)
{
    rlf_search_ask *ask = arg;
    const rlf_session *session = ask->s->session;
    rlf_arena *scratch = rlf_arena_new();
    rlf_trial trial = {0};
    rlf_err ignored = RLF_ERR_NONE;
    const rlf_plan_options options = options_of(ask->s, ask->plan);
    rlf_plan *plan;
    int n;
    if (ask->left-- <= 0)
        return true;
    rlf_place_row *rows = rlf_pareto_rows(ask->pareto, at->choice, scratch, &n);
    bool may = rlf_plan_candidate(session->graph, rows, n, &options, scratch,
                                  &ignored, &plan) >= 0 &&
               rlf_plan_fits(plan, &ignored) >= 0 &&
               rlf_trial_weigh(session, ask->s->outline, plan, scratch,
                               &ignored, &trial) >= 0 &&
               trial.fill <= 1 && rlf_trial_host_fits(&trial, &ignored) >= 0;
    rlf_trial_close(&trial);
    rlf_arena_free(scratch);
    return may;
}

bool
rlf_search_candidate_fits(const rlf_search_candidate *j)
{
    return j->memory > 0 && j->fill <= 1 && !j->host_lacks;
}

/* ---- simulations ---- */

bool
rlf_search_candidate_take_same(const rlf_session_found *f,
                               rlf_search_candidate *j)
{
    for (const rlf_search_candidate *other = f->candidates; other < j;
         other++) {
        if (!other->simulated || memcmp(&other->plan->digest, &j->plan->digest,
                                        sizeof j->plan->digest) != 0)
            continue;
        const rlf_search_candidate was = *j;
        *j = *other;
        j->name = was.name;
        j->place = was.place;
        j->is_known = was.is_known;
        j->placing = was.placing;
        j->first = was.first;
        return true;
    }
    return false;
}

static void
note_trial(const rlf_searching *s, const rlf_trial *trial,
           const rlf_mean_step *mean, rlf_search_candidate *j)
{
    size_t n = s->session->graph->nodes.count;
    rlf_page_room *pages = RLF_NEW_ARRAY(s->session->arena, rlf_page_room, n);
    memcpy(pages, trial->pages, n * sizeof *pages);
    j->simulated = true;
    j->mean = mean;
    j->step = mean->step;
    j->pages = pages;
}

static uint32_t
steps_of(const rlf_searching *s)
{
    return rlf_workload_draws(&s->out->workload.workload) ? RLF_SIMULATED_DRAWN
                                                          : RLF_SIMULATED_STEPS;
}

rlf_status
rlf_search_candidate_simulate(rlf_searching *s, rlf_search_candidate *j,
                              uint64_t seed, rlf_err *err)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_trial trial = {0};
    rlf_mean_step *mean;
    bool compared = seed == s->options->search.seed;
    const rlf_trial_options options = {.speeds = &s->speeds,
                                       .workload = &s->out->workload.workload,
                                       .seed = seed,
                                       .warm = RLF_SIMULATED_WARM,
                                       .steps = steps_of(s),
                                       .moves = &s->moves};
    rlf_status status =
        rlf_trial_open(s->session, s->outline, j->plan, scratch, err, &trial);
    if (status >= 0)
        status = rlf_mean_step_make(&trial, &options, compared ? s->best : NULL,
                                    s->session->arena, err, &mean);
    if (status >= 0) {
        note_trial(s, &trial, mean, j);
        if (compared && !mean->behind &&
            (!s->best || mean->step < s->best->step))
            s->best = mean;
    }
    rlf_trial_close(&trial);
    rlf_arena_free(scratch);
    return status;
}
