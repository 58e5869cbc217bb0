/* Accounts of simulated runs: see account.h. */
#include "engine/simulate/account.h"

#include <math.h>

#include <stdlib.h>

static double
counted(const rlf_account *a, const rlf_span_spent *s)
{
    double from = s->from > a->from ? s->from : a->from;
    double to = s->to < a->to ? s->to : a->to;
    return to > from ? to - from : 0;
}

/* A call's messages and weights go to edges, which are no part of it. */
static bool
is_work(const rlf_span_spent *s)
{
    return s->node && s->kind != RLF_SPENT_MESSAGES &&
           s->kind != RLF_SPENT_WEIGHTS;
}

static void
add_calls(const rlf_timeline *t, size_t n_nodes, rlf_account *a)
{
    size_t ranks = (size_t)t->ranks;
    double *of = rlf_calloc(n_nodes * ranks, sizeof *of);
    for (size_t i = 0; i < t->spans.count; i++) {
        const rlf_span_spent *s = &t->spans.data[i];
        if (is_work(s))
            of[(size_t)s->node->id * ranks + (size_t)s->rank] += counted(a, s);
    }
    for (size_t i = 0; i < n_nodes; i++)
        for (size_t r = 0; r < ranks; r++)
            if (of[i * ranks + r] / a->steps > a->calls[i])
                a->calls[i] = of[i * ranks + r] / a->steps;
    free(of);
}

void
rlf_account_make(const rlf_timeline *t, size_t n_nodes, double from, double to,
                 uint32_t steps, rlf_arena *arena, rlf_account *a)
{
    size_t bytes = sizeof *a->spent * (size_t)t->ranks;
    *a = (rlf_account){.from = from,
                       .to = to,
                       .steps = steps,
                       .step = (to - from) / steps,
                       .spent = rlf_arena_alloc(arena, bytes),
                       .work = RLF_NEW_ARRAY(arena, double, t->ranks),
                       .idle = 1,
                       .calls = RLF_NEW_ARRAY(arena, double, n_nodes)};
    memset(a->spent, 0, bytes);
    for (size_t i = 0; i < t->spans.count; i++) {
        const rlf_span_spent *s = &t->spans.data[i];
        double share = s->bubble / (s->to - s->from), time = counted(a, s);
        a->work[s->rank] += s->work * time / (s->to - s->from) / steps;
        a->spent[s->rank][s->kind] += time * (1 - share);
        a->spent[s->rank][RLF_SPENT_BUBBLE] += time * share;
    }
    for (int r = 0; r < t->ranks; r++)
        for (int k = 0; k < RLF_SPENTS; k++) {
            a->all[k] += a->spent[r][k] / t->ranks / steps;
            if (k != RLF_SPENT_BUBBLE)
                a->idle -= a->spent[r][k] / t->ranks / (to - from);
        }
    a->idle = fmax(a->idle, 0);
    add_calls(t, n_nodes, a);
}
