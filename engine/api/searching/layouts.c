/* Finds how calls are best cut on their ranks, by simulation.
 *
 * Of placements that differ in cuts alone the search keeps the best by the
 * estimate, which sees neither data between ranks nor pieces that wait for each
 * other. So the best of all that was simulated goes downhill by simulation: one
 * call at a time gets another cut, or other words of its row, on the same
 * ranks; those that the estimate likes best come first. Thresholds and tables
 * that its rows have stay. */
#include <string.h>

#include "engine/api/searching/candidate.h"

enum {
    EACH = 6, /* cuts of a call that are tried beside its own */
    /* Placements that are simulated, times ranks: of many ranks a simulation
       takes longer. At least and at most so many: */
    RANKS_TRIED = 512,
    LEAST_TRIED = 4,
    MOST_TRIED = 24,
    MOST_OPTIONS = EACH * RLF_SEARCH_CALLS,
};
/* The estimate is wrong by that much about cuts. */
#define DOUBT 0.05
/* A gain below that part of a step is none. */
#define WORTH 0.002

typedef struct option {
    int call, choice;
    double period; /* by the estimate */
} option;

typedef struct trying {
    rlf_searching *s;
    rlf_arena *arena;
    rlf_estimator *e;
    rlf_search_candidate best; /* so far, at first the base */
    int left;        /* placements that may still be simulated */
    int *tried[MOST_TRIED];
    int n_tried;
} trying;

/* ---- what there is to try ---- */

static bool
was_tried(const trying *t, const int *choice)
{
    size_t bytes = sizeof *choice * (size_t)t->s->out->pareto.problem.n_calls;
    for (int i = 0; i < t->n_tried; i++)
        if (memcmp(t->tried[i], choice, bytes) == 0)
            return true;
    return false;
}

/* Puts one among the n best of a list, in order. */
static int
insert(option *list, int n, int most, option o)
{
    int at = n < most ? n : most - 1;
    if (n == most && list[at].period <= o.period)
        return n;
    for (; at && list[at - 1].period > o.period; at--)
        list[at] = list[at - 1];
    list[at] = o;
    return n < most ? n + 1 : n;
}

static rlf_place_row *
row_of(const rlf_searching *s, rlf_place_row *rows, int n, int call)
{
    const rlf_pareto_call *of = &s->out->pareto.calls[call];
    for (int i = 0; i < n; i++)
        if (rows[i].model == of->model && rows[i].call == of->class)
            return &rows[i];
    return NULL;
}

/* Other cuts of a call on its ranks, the best by the estimate first, also those
 * that others beat. One whose place row has a table is cut as the table says.
 */
static int
find_cuts(const trying *t, int call, rlf_placing *at, option *out)
{
    const rlf_place_row *row = row_of(t->s, t->best.rows, t->best.n_rows, call);
    if (row && row->table)
        return 0;
    const rlf_problem_call *of = &t->s->out->pareto.problem.calls[call];
    int was = at->choice[call], n = 0;
    const rlf_choice *here = &of->choices[was];
    for (int k = 0; k < of->n_choices + of->n_others; k++) {
        const rlf_choice *there = &of->choices[k];
        at->choice[call] = k;
        if (k == was || there->first != here->first ||
            there->count != here->count || was_tried(t, at->choice))
            continue;
        rlf_placing_look(t->e, at);
        if (at->period < (1 + DOUBT) * t->best.placing.period)
            n = insert(out, n, EACH, (option){call, k, at->period});
    }
    at->choice[call] = was;
    return n;
}

static int
find_options(const trying *t, option *out)
{
    int calls = t->s->out->pareto.problem.n_calls, n = 0;
    rlf_placing at = t->best.placing;
    at.choice = RLF_NEW_ARRAY(t->arena, int, calls);
    memcpy(at.choice, t->best.placing.choice,
           sizeof *at.choice * (size_t)calls);
    for (int c = 0; c < calls; c++) {
        option cuts[EACH];
        int more = find_cuts(t, c, &at, cuts);
        for (int i = 0; i < more; i++)
            n = insert(out, n, MOST_OPTIONS, cuts[i]);
    }
    return n;
}

/* ---- trying it ---- */

/* The place rows of a placement, with what the best one's have beside cuts. */
static void
make_rows(const trying *t, rlf_search_candidate *j)
{
    const rlf_searching *s = t->s;
    j->rows = rlf_pareto_rows(&s->out->pareto, j->placing.choice,
                              s->session->arena, &j->n_rows);
    for (int c = 0; c < s->out->pareto.problem.n_calls; c++) {
        const rlf_place_row *was = row_of(s, t->best.rows, t->best.n_rows, c);
        rlf_place_row *row = row_of(s, j->rows, j->n_rows, c);
        if (!was || !row)
            continue;
        if (row->dp > 1) {
            row->migrate = was->migrate;
            row->seats = was->seats;
        }
        if (was->table) {
            row->schedule = was->schedule;
            row->table = was->table;
        }
    }
}

static rlf_status
try_option(trying *t, const option *o, bool *better, rlf_err *err)
{
    rlf_searching *s = t->s;
    size_t calls = (size_t)s->out->pareto.problem.n_calls;
    rlf_err none = RLF_ERR_NONE;
    rlf_search_candidate j = {.name = "cuts", .is_known = true, .base = -1};
    j.placing.choice = RLF_NEW_ARRAY(s->session->arena, int, calls);
    memcpy(j.placing.choice, t->best.placing.choice,
           sizeof *j.placing.choice * calls);
    j.placing.choice[o->call] = o->choice;
    j.placing.period = o->period;
    t->tried[t->n_tried++] = j.placing.choice;
    make_rows(t, &j);
    *better = false;
    if (rlf_search_candidate_plan(s, &j, &none) < 0 ||
        !rlf_search_candidate_fits(&j))
        return RLF_OK;
    t->left--;
    if (s->options->simulating)
        s->options->simulating(s->options->search.arg, t->n_tried, MOST_TRIED);
    RLF_TRY(rlf_search_candidate_simulate(s, &j, s->options->search.seed, err));
    *better = !j.mean->behind && j.step < (1 - WORTH) * t->best.step;
    if (*better)
        t->best = j;
    return RLF_OK;
}

/* Goes downhill from there: *better tells whether a step down was found. */
static rlf_status
go_down(trying *t, bool *better, rlf_err *err)
{
    option options[MOST_OPTIONS];
    int n = find_options(t, options);
    *better = false;
    for (int i = 0; i < n && !*better && t->left > 0 &&
                    t->n_tried < MOST_TRIED && !rlf_search_stopped(t->s, 1);
         i++)
        RLF_TRY(try_option(t, &options[i], better, err));
    return RLF_OK;
}

/* Calls whose cuts are others than in the base, as place rows: "critic.value
 * (tp: 2, pp: 4, dp: 1)". */
static const char *
words_of(const trying *t, const rlf_search_candidate *base)
{
    const rlf_problem *p = &t->s->out->pareto.problem;
    rlf_buf text = {0};
    for (int c = 0; c < p->n_calls; c++) {
        const rlf_choice *at = &p->calls[c].choices[t->best.placing.choice[c]];
        if (t->best.placing.choice[c] == base->placing.choice[c])
            continue;
        rlf_buf_printf(&text, "%s%s (tp: %d, pp: %d, dp: %d)",
                       text.n ? ", " : "", p->calls[c].name, at->tp, at->pp,
                       at->dp);
    }
    const char *words = rlf_arena_strdup(t->s->session->arena, text.p);
    rlf_buf_free(&text);
    return words;
}

/* The shortest step of those that are made of choices; -1: there is none. */
static int
find_base(const rlf_session_found *f)
{
    int best = -1;
    for (int i = 0; i < f->n_candidates; i++) {
        const rlf_search_candidate *j = &f->candidates[i];
        if (j->simulated && j->is_known && j->rows &&
            (best < 0 || j->step < f->candidates[best].step))
            best = i;
    }
    return best;
}

static rlf_status
try_cuts(trying *t, int base, rlf_err *err)
{
    rlf_session_found *f = t->s->out;
    bool better = true;
    t->best = f->candidates[base];
    t->e = rlf_estimator_new(&f->pareto.problem, t->arena);
    while (better)
        RLF_TRY(go_down(t, &better, err));
    if (!(t->best.step < f->candidates[base].step))
        return RLF_OK;
    rlf_search_candidate *j = &f->candidates[f->n_candidates++];
    *j = t->best;
    j->base = base;
    j->words = words_of(t, &f->candidates[base]);
    j->without = f->candidates[base].step;
    return RLF_OK;
}

rlf_status
rlf_search_layouts(rlf_searching *s, rlf_err *err)
{
    int base = find_base(s->out), left = RANKS_TRIED / s->plan.ranks;
    if (base < 0 || s->out->stopped)
        return RLF_OK;
    left = left > MOST_TRIED ? MOST_TRIED : left;
    left = left < LEAST_TRIED ? LEAST_TRIED : left;
    trying t = {.s = s, .arena = rlf_arena_new(), .left = left};
    rlf_status status = try_cuts(&t, base, err);
    rlf_arena_free(t.arena);
    return status;
}
