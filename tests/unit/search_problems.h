/* Random problems of a search, and numbers by chance for them. */
#ifndef RLF_TESTS_UNIT_SEARCH_PROBLEMS_H
#define RLF_TESTS_UNIT_SEARCH_PROBLEMS_H

#include "engine/search/baseline.h"

#include <math.h>

#include "engine/base/philox.h"
#include "tests/tap.h"

typedef struct chance {
    rlf_random_key key;
    uint32_t at;
} chance;

static double
uniform(chance *c)
{
    return rlf_draw_uniform(&c->key, c->at++);
}

static int
below(chance *c, int n)
{
    return (int)rlf_draw_below(&c->key, c->at++, (uint64_t)n);
}

/* ---- random problems ---- */

enum { MOST_CALLS = 6, MOST_DEVICES = 16 };

typedef struct made {
    rlf_problem problem;
    rlf_problem_call calls[MOST_CALLS];
    int needs[MOST_CALLS][MOST_CALLS];
    double memory[MOST_DEVICES];
    double weights[MOST_CALLS]; /* bytes, by model */
    rlf_model_sum sum;
    bool paged; /* generations take longer where little memory is left */
} made;

/* Weights come from elsewhere as far as the two do not have the same ranks. */
static double
move_model(const made *m, int model, const rlf_choice *from,
           const rlf_choice *to)
{
    int first = from->first > to->first ? from->first : to->first;
    int end = from->first + from->count < to->first + to->count
                  ? from->first + from->count
                  : to->first + to->count;
    double both = end > first ? end - first : 0;
    return m->weights[model] / (to->tp * to->pp) *
           (1.2 - both / fmax(from->count, to->count)) / 40;
}

static double
move(void *arg, const rlf_problem_move *asked)
{
    const made *m = arg;
    const rlf_choice *from = asked->from, *to = asked->to;
    bool there = from->first == to->first && from->count == to->count &&
                 from->tp == to->tp && from->pp == to->pp;
    if (there)
        return 0;
    return move_model(m, m->calls[asked->source].model, from, to);
}

/* A generation has a use for three times the bytes of its weights, and
 * takes longer with less. */
static const rlf_choice_pages *
pages_of(double weights, double seconds, rlf_arena *arena)
{
    rlf_choice_pages *p = RLF_NEW(arena, rlf_choice_pages);
    *p = (rlf_choice_pages){
        .need = 3 * weights, .most = 4 * weights, .has = 0.1 * weights};
    for (int k = 0; k < RLF_PAGE_PARTS; k++)
        p->seconds[k] = seconds * (1 + 0.1 * (rlf_page_parts[k] - 1));
    return p;
}

/* All cuts of a call on all blocks of ranks. `work` in seconds of one rank. */
static void
add_choices(made *m, rlf_problem_call *call, chance *c, rlf_arena *arena)
{
    double work = 1 + 20 * uniform(c), scale = 0.6 + 0.4 * uniform(c);
    double tp = 0.7 + 0.3 * uniform(c), pp = 0.7 + 0.3 * uniform(c);
    bool update = call->kind == RLF_STAGE_UPDATE;
    bool generates = m->paged && call->kind == RLF_STAGE_GENERATE;
    double weights = m->weights[call->model];
    call->choices = RLF_NEW_ARRAY(arena, rlf_choice, 1024);
    for (int n = 1; n <= m->problem.devices; n *= 2)
        for (int t = 1; t <= n; t *= 2)
            for (int p = 1; t * p <= n; p *= 2) {
                int d = n / t / p;
                double seconds =
                    work / (pow(t, tp) * pow(p, pp) * pow(d, scale));
                seconds *= 0.9 + 0.2 * uniform(c);
                const rlf_choice_pages *pages =
                    generates ? pages_of(weights / (t * p), seconds, arena)
                              : NULL;
                for (int first = 0; first < m->problem.devices; first += n)
                    call->choices[call->n_choices++] = (rlf_choice){
                        .first = first,
                        .count = n,
                        .tp = t,
                        .pp = p,
                        .dp = d,
                        .seconds = seconds,
                        .kept = weights / (t * p),
                        .own = update  ? 4 * weights / (t * p)
                               : pages ? pages->has
                                       : 0,
                        .pages = pages,
                        .work = weights / n,
                    };
            }
}

/* Of half the problems that read they do so while samples are made. */
static void
make_follow(made *m, uint32_t number)
{
    chance c = {.key = {.seed = 14, .site = number}};
    rlf_problem_call *first = &m->calls[0];
    for (int k = 0; k < first->n_choices && number % 2; k++) {
        double early = uniform(&c);
        for (int part = 0; part < RLF_CHOICE_PARTS; part++)
            first->choices[k].complete[part] =
                first->choices[k].first
                    ? first->choices[k - 1].complete[part] /* as its image */
                    : pow((part + 1.0) / RLF_CHOICE_PARTS, early);
    }
    for (int i = 1; i < m->problem.n_calls; i++)
        if (m->calls[i].kind == RLF_STAGE_READ && below(&c, 4))
            m->calls[i].follows = 1;
    /* Pieces take some of it again. */
    for (int i = 1; i < m->problem.n_calls; i++) {
        double part = 0.5 * uniform(&c);
        for (int k = 0; k < m->calls[i].n_choices; k++)
            if (m->calls[i].follows && number % 4 < 2) {
                rlf_choice *at = &m->calls[i].choices[k];
                double anew = part * uniform(&c) * at->seconds;
                at->anew = at->first ? at[-1].anew : anew; /* as its image */
            }
    }
}

/* Of a third of the problems one model is set to a sum with another. */
static void
make_sum(made *m, uint32_t number)
{
    chance c = {.key = {.seed = 15, .site = number}};
    int n = m->problem.n_calls, at = below(&c, n), other = below(&c, n);
    for (int i = 0; i < n; i++) /* as in a program: where it is trained */
        if (m->calls[i].model == m->calls[other].model &&
            m->calls[i].kind == RLF_STAGE_UPDATE)
            other = i;
    if (number % 3 != 1 || m->calls[at].model == m->calls[other].model)
        return;
    m->sum = (rlf_model_sum){.model = m->calls[at].model,
                             .after = below(&c, n + 1) - 1,
                             .at = at,
                             .lent = 1u << other,
                             .share = below(&c, 2) ? 1 : 0.25};
    if (m->sum.after > 0 && below(&c, 2))
        m->sum.needs = 1u << below(&c, m->sum.after + 1);
    if (m->sum.needs && m->calls[__builtin_ctz(m->sum.needs)].ahead)
        m->sum.needs = 0;
    m->problem.model_sums = &m->sum;
    m->problem.n_model_sums = 1;
    for (int k = 0; k < m->calls[at].n_choices; k++)
        m->calls[at].choices[k].model_sum =
            0.3 * m->calls[at].choices[k].seconds;
}

/* Problems with odd numbers have generations that wait for pages. The first
 * call generates with model 0, the last trains it; those between read or train
 * something, or of some problems the second generates as well, and need some of
 * the calls before. */
static void
make(made *m, int devices, int n, uint32_t number, rlf_arena *arena)
{
    chance c = {.key = {.seed = 12, .site = number}};
    *m = (made){.problem = {.calls = m->calls,
                            .n_calls = n,
                            .devices = devices,
                            .memory = m->memory,
                            .machine = devices,
                            .move = move,
                            .arg = m}};
    double weights = 0;
    m->paged = number % 2;
    for (int i = 0; i < n; i++)
        weights += m->weights[i] = 1 + 9 * uniform(&c);
    double memory = weights * (0.6 + 2 * uniform(&c));
    for (int i = 0; i < devices; i++)
        m->memory[i] = memory;
    for (int i = 0; i < n; i++) {
        rlf_problem_call *call = &m->calls[i];
        bool last = i == n - 1;
        call->name = "call";
        call->model = !i || last ? 0 : below(&c, 3);
        call->kind = !i                                     ? RLF_STAGE_GENERATE
                     : last || (i > 1 && below(&c, 3) == 0) ? RLF_STAGE_UPDATE
                                                            : RLF_STAGE_READ;
        if (i == 1 && number % 3 == 0)
            call->kind = RLF_STAGE_GENERATE;
        call->ahead = !i && below(&c, 4) == 0 ? 1 + below(&c, 3) : 0;
        call->needs = m->needs[i];
        for (int k = 0; k < i; k++)
            if ((!k && call->kind != RLF_STAGE_GENERATE) || below(&c, 2))
                m->needs[i][call->n_needs++] = k;
        add_choices(m, call, &c, arena);
    }
    make_follow(m, number);
    make_sum(m, number);
    rlf_err err = RLF_ERR_NONE;
    if (rlf_problem_close(&m->problem, arena, &err))
        bail("%s", err.sentence);
}

#endif
