/* Problems of the search: see problem.h. */
#include "engine/search/problem.h"

#include <math.h>
#include <stdlib.h>

static int
sign(int a, int b)
{
    return (a > b) - (a < b);
}

static int
compare_ranks(const rlf_choice *a, const rlf_choice *b)
{
    int by = sign(a->first, b->first);
    return by ? by : sign(a->count, b->count);
}

static int
compare_copies(const rlf_choice *a, const rlf_choice *b)
{
    int by = compare_ranks(a, b);
    by = by ? by : sign(a->tp, b->tp);
    by = by ? by : sign(a->pp, b->pp);
    return by ? by : sign(a->dp, b->dp);
}

static int
compare(const void *p, const void *q)
{
    const rlf_choice *a = p, *b = q;
    int by = compare_copies(a, b);
    by = by ? by : sign(a->variant, b->variant);
    if (by)
        return by;
    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

static rlf_status
check_call(const rlf_problem *problem, int i, rlf_err *err)
{
    const rlf_problem_call *call = &problem->calls[i];
    if (!call->n_choices)
        return rlf_fail(err, RLF_USER, "there is no way to run %s", call->name);
    if (call->ahead < 0 || call->ahead > RLF_SEARCH_AHEAD)
        return rlf_fail(err, RLF_USER,
                        "%s is %d steps ahead: a search takes 0 to %d",
                        call->name, call->ahead, RLF_SEARCH_AHEAD);
    for (int k = 0; k < call->n_needs; k++)
        if (call->needs[k] < 0 || call->needs[k] >= i)
            return rlf_fail(err, RLF_USER,
                            "%s needs call %d, which does not come before it",
                            call->name, call->needs[k]);
    for (int k = 0; k < call->n_choices; k++) {
        const rlf_choice *c = &call->choices[k];
        if (c->first < 0 || c->count < 1 ||
            c->first > problem->devices - c->count)
            return rlf_fail(err, RLF_USER,
                            "%s on %d ranks from %d on: there are %d",
                            call->name, c->count, c->first, problem->devices);
        if (!(c->seconds > 0) || !isfinite(c->seconds))
            return rlf_fail(err, RLF_USER, "%s takes %g seconds", call->name,
                            c->seconds);
    }
    return RLF_OK;
}

static rlf_status
check_sums(const rlf_problem *problem, rlf_err *err)
{
    if (problem->n_model_sums > RLF_SEARCH_SUMS)
        return rlf_fail(err, RLF_USER,
                        "%d sums of models: a search takes %d at most",
                        problem->n_model_sums, RLF_SEARCH_SUMS);
    for (int j = 0; j < problem->n_model_sums; j++) {
        const rlf_model_sum *s = &problem->model_sums[j];
        if (s->at < 0 || s->at >= problem->n_calls ||
            s->after >= problem->n_calls ||
            (s->needs | s->lent) >> problem->n_calls ||
            problem->calls[s->at].model != s->model)
            return rlf_fail(err, RLF_USER,
                            "sum %d is of calls that are not there", j);
    }
    return RLF_OK;
}

/* Numbers the copies of a model: choices of different calls on the same ranks
 * with the same cut have one number. */
static void
number_copies(rlf_problem *problem, int model, rlf_arena *arena)
{
    struct {
        rlf_choice *at, *end;
    } list[2 * RLF_SEARCH_CALLS];
    int lists = 0, n = 0, count = 0;
    for (int i = 0; i < problem->n_calls; i++) {
        const rlf_problem_call *call = &problem->calls[i];
        rlf_choice *others = call->choices + call->n_choices;
        if (call->model != model)
            continue;
        list[lists].at = call->choices;
        list[lists++].end = others;
        list[lists].at = others;
        list[lists++].end = others + call->n_others;
        n += call->n_choices + call->n_others;
    }
    rlf_choice **all = RLF_NEW_ARRAY(arena, rlf_choice *, n);
    /* Each list is sorted: they are merged. */
    while (count < n) {
        int of = -1;
        for (int i = 0; i < lists; i++)
            if (list[i].at < list[i].end &&
                (of < 0 || compare_copies(list[i].at, list[of].at) < 0))
                of = i;
        all[count++] = list[of].at++;
    }
    for (int i = 0, copy = 0; i < n; i++) {
        copy += i && compare_copies(all[i - 1], all[i]) != 0;
        all[i]->copy = copy;
    }
}

/* The update of the model that was the last before call i, in the order in
 * which steps follow each other. */
static void
find_source(rlf_problem *problem, int i)
{
    rlf_problem_call *call = &problem->calls[i];
    call->source = -1;
    for (int back = 1; back <= problem->n_calls && call->source < 0; back++) {
        int k = (i - back + problem->n_calls) % problem->n_calls;
        const rlf_problem_call *other = &problem->calls[k];
        if (other->model != call->model || other->kind != RLF_STAGE_UPDATE)
            continue;
        call->source = k;
        call->age = (k >= i) + call->ahead;
    }
    for (int j = 0; j < problem->n_model_sums && call->source < 0; j++) {
        const rlf_model_sum *sum = &problem->model_sums[j];
        if (sum->model != call->model)
            continue;
        call->source = sum->at;
        call->age = (sum->after >= i) + call->ahead;
    }
}

static void
close_call(rlf_problem_call *call, rlf_arena *arena)
{
    call->meshes = RLF_NEW_ARRAY(arena, rlf_mesh_span, call->n_choices);
    call->n_meshes = 0;
    call->fast = call->area = call->busy = INFINITY;
    for (int k = 0; k < call->n_choices; k++) {
        const rlf_choice *c = &call->choices[k];
        if (!k || compare_ranks(c - 1, c))
            call->meshes[call->n_meshes++] =
                (rlf_mesh_span){c->first, c->count, k, k};
        call->meshes[call->n_meshes - 1].to = k + 1;
        call->fast = fmin(call->fast, c->seconds);
        call->area = fmin(call->area, rlf_choice_area(c, c->seconds));
        call->busy = fmin(call->busy, c->busy * c->count);
    }
}

static void
find_machines(rlf_problem *p, rlf_arena *arena)
{
    int *from = RLF_NEW_ARRAY(arena, int, p->devices);
    int *to = RLF_NEW_ARRAY(arena, int, p->devices);
    for (int r = 0; r < p->devices; r++) {
        bool same = r && p->machine_of[r] == p->machine_of[r - 1];
        from[r] = same ? from[r - 1] : r;
    }
    for (int r = p->devices - 1; r >= 0; r--) {
        bool same = r + 1 < p->devices && from[r] == from[r + 1];
        to[r] = same ? to[r + 1] : r + 1;
    }
    p->machine_from = from;
    p->machine_to = to;
}

rlf_status
rlf_problem_close(rlf_problem *problem, rlf_arena *arena, rlf_err *err)
{
    if (problem->n_calls < 1 || problem->n_calls > RLF_SEARCH_CALLS)
        return rlf_fail(err, RLF_USER,
                        "%d calls of models: a search takes 1 to %d",
                        problem->n_calls, RLF_SEARCH_CALLS);
    problem->staged = false;
    for (int i = 0; i < problem->n_calls; i++) {
        RLF_TRY(check_call(problem, i, err));
        rlf_problem_call *call = &problem->calls[i];
        qsort(call->choices, (size_t)call->n_choices, sizeof *call->choices,
              compare);
        qsort(call->choices + call->n_choices, (size_t)call->n_others,
              sizeof *call->choices, compare);
        close_call(call, arena);
        for (int k = 0; k < call->n_choices + call->n_others; k++)
            problem->staged |= call->choices[k].stages != NULL;
    }
    RLF_TRY(check_sums(problem, err));
    if (problem->host)
        find_machines(problem, arena);
    problem->n_models = 0;
    for (int i = 0; i < problem->n_calls; i++) {
        find_source(problem, i);
        if (problem->calls[i].model >= problem->n_models)
            problem->n_models = problem->calls[i].model + 1;
    }
    for (int m = 0; m < problem->n_models; m++)
        number_copies(problem, m, arena);
    return RLF_OK;
}

/* ---- pages ---- */

/* If all samples take as many pages they are made in waves, of which there
 * are one more behind each whole number. */
const double rlf_page_parts[RLF_PAGE_PARTS] = {1, 1.02, 1.4, 2, 2.04, 3,  3.06,
                                               4, 4.1,  6,   9, 17,   40, 100};

double
rlf_choice_paged(const rlf_choice *c, double bytes)
{
    const rlf_choice_pages *p = c->pages;
    int k = 1;
    if (!p || bytes >= p->need)
        return c->seconds;
    double part = p->need / fmax(bytes, 1);
    while (k < RLF_PAGE_PARTS && rlf_page_parts[k] < part)
        k++;
    if (k == RLF_PAGE_PARTS)
        return p->seconds[k - 1];
    double from = rlf_page_parts[k - 1], to = rlf_page_parts[k];
    return p->seconds[k - 1] +
           (p->seconds[k] - p->seconds[k - 1]) * (part - from) / (to - from);
}

/* Is a as fast as b with whatever memory b's keys and values have? */
static bool
is_as_fast(const rlf_choice *a, const rlf_choice *b)
{
    bool fast = a->seconds <= b->seconds;
    const rlf_choice_pages *each[] = {a->pages, b->pages};
    for (int i = 0; i < 2; i++)
        for (int k = 0; each[i] && k < RLF_PAGE_PARTS && fast; k++) {
            double bytes = each[i]->need / rlf_page_parts[k];
            fast = rlf_choice_paged(a, bytes) <= rlf_choice_paged(b, bytes);
        }
    return fast;
}

/* Bytes of its own, but for keys and values. */
static double
other_bytes(const rlf_choice *c)
{
    return c->own - (c->pages ? c->pages->has : 0);
}

static bool
beats(const rlf_choice *a, const rlf_choice *b)
{
    return a->seconds <= b->seconds && a->anew <= b->anew &&
           a->busy <= b->busy && a->kept <= b->kept && a->own <= b->own &&
           a->host <= b->host && a->own - a->lends <= b->own - b->lends &&
           a->work <= b->work && other_bytes(a) <= other_bytes(b) &&
           is_as_fast(a, b);
}

static bool
equals(const rlf_choice *a, const rlf_choice *b)
{
    return beats(a, b) && beats(b, a);
}

int
rlf_choices_front(rlf_choice *choices, int n)
{
    int left = 0;
    bool *beaten = rlf_calloc((size_t)n, sizeof *beaten);
    /* Of those that are alike the first stays. */
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n && !beaten[i]; k++)
            beaten[i] = k != i && beats(&choices[k], &choices[i]) &&
                        (k < i || !equals(&choices[k], &choices[i]));
    for (int i = 0; i < n; i++)
        if (!beaten[i])
            choices[left++] = choices[i];
    free(beaten);
    return left;
}
