/* Seconds of generations on a layout where they have fewer pages of keys and
 * values than they have a use for: see measure.h.
 *
 * Turns depend on the rows of a replica and its seats, and on which part of the
 * pages there is; so they are played once for all layouts with as many
 * replicas. */
#include <math.h>
#include <string.h>

#include "engine/plan/pools.h"
#include "engine/search/measure.h"

/* Of one generation on as many replicas, the parts of rlf_page_parts; on a host
 * with `units` pages the first of them alone. */
typedef struct rlf_plays {
    rlf_sampling sampling;
    rlf_sampling_pages pages;
    double units, peak;
    rlf_sampling_paged paged[RLF_PAGE_PARTS];
    struct rlf_plays *next;
} rlf_plays;

/* The pool of the model on that rank; bytes 0: there is none. */
static rlf_pool
pool_of(const rlf_call_measure *m, const rlf_opened *opened)
{
    rlf_pools pools = {.arena = m->scratch};
    rlf_opened_pools(opened, &pools);
    for (size_t i = 0; i < pools.list.count; i++)
        if (pools.list.data[i].resource == m->model)
            return pools.list.data[i];
    return (rlf_pool){0};
}

static bool
is_of(const rlf_plays *p, const rlf_sampling *s,
      const rlf_sampling_pages *pages, double units)
{
    const rlf_sampling *a = &p->sampling;
    const rlf_sampling_pages *b = &p->pages;
    return a->lengths == s->lengths && a->most == s->most &&
           a->rows == s->rows && a->seats == s->seats &&
           a->replicas == s->replicas && b->tokens == pages->tokens &&
           b->prompt == pages->prompt && a->group == s->group &&
           p->units == units;
}

/* `units` 0: as the parts say. */
static const rlf_plays *
play(rlf_call_measure *m, const rlf_opened *opened, const rlf_sizes *sizes,
     const rlf_node *node, const rlf_pool *pool, double units)
{
    rlf_sampling s;
    rlf_sampling_pages pages;
    rlf_call_sampling(opened, sizes, m->expected, node, pool->tokens, &s,
                      &pages);
    for (rlf_plays *p = m->plays; p; p = p->next)
        if (is_of(p, &s, &pages, units))
            return p;
    rlf_plays *p = RLF_NEW(m->arena, rlf_plays);
    *p = (rlf_plays){s, pages, units, .next = m->plays};
    m->plays = p;
    rlf_sampling_play(&s, &pages, &p->paged[0]);
    p->peak = p->paged[0].peak;
    for (int k = units > 0 ? 0 : 1; k < RLF_PAGE_PARTS; k++) {
        double part = rlf_page_parts[k], some = p->peak / part;
        some = floor(part) == part ? ceil(some) : floor(some);
        pages.pages = units > 0 ? units : fmax(some, (double)pool->least);
        rlf_sampling_play(&s, &pages, &p->paged[k]);
        if (units > 0)
            break;
    }
    return p;
}

rlf_call_cut
rlf_measure_cut(rlf_call_measure *m, const rlf_opened *opened,
                const rlf_sizes *sizes, const rlf_node *node)
{
    rlf_call_cut cut = rlf_call_cut_of(opened, sizes, m->expected, node);
    cut.pipelines = m->pipelines;
    if (!m->unified || node->class->work != RLF_WORK_GENERATE)
        return cut;
    const rlf_pool pool = pool_of(m, opened);
    if (!pool.bytes || *pool.units >= pool.most)
        return cut;
    const rlf_plays *p =
        play(m, opened, sizes, node, &pool, (double)*pool.units);
    if (p->peak > (double)*pool.units)
        cut.paged = &p->paged[0];
    return cut;
}

static bool
is_asked(const rlf_call_measure *m, int c)
{
    return c >= 0 && (m->only < 0 || m->only == c) &&
           m->pareto->problem.calls[c].kind == RLF_STAGE_GENERATE;
}

/* One generation of a call on the opened rank. */
static void
add_node(rlf_call_measure *m, const rlf_opened *opened, const rlf_sizes *sizes,
         const rlf_node *node, const rlf_pool *pool, rlf_measured_pages *to)
{
    rlf_call_cut cut = rlf_call_cut_of(opened, sizes, m->expected, node);
    const rlf_call_stages stages = {.kinds = opened, .n_kinds = 1};
    const rlf_plays *p = play(m, opened, sizes, node, pool, 0);
    to->peak = fmax(to->peak, p->peak);
    if (p->peak <= (double)*pool->units)
        return;
    for (int k = 1; k < RLF_PAGE_PARTS; k++) {
        rlf_seconds seconds;
        cut.paged = &p->paged[k];
        rlf_call_seconds(&stages, sizes, m->expected, node, cut,
                         m->pareto->options.speeds, &seconds, NULL);
        to->seconds[k] += rlf_pareto_share(m->pareto, node) * seconds.total;
    }
}

void
rlf_measure_pages(rlf_call_measure *m, const rlf_opened *opened,
                  const rlf_sizes *sizes)
{
    const rlf_graph *graph = m->pareto->options.graph;
    rlf_measured_pages sum[RLF_SEARCH_CALLS] = {{0}};
    if (m->unified || !m->reads || m->untimed || m->pareto->options.room)
        return;
    const rlf_pool pool = pool_of(m, opened);
    if (!pool.bytes)
        return;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        int c = rlf_measure_call(m, node);
        if (is_asked(m, c))
            add_node(m, opened, sizes, node, &pool, &sum[c]);
    }
    for (int c = 0; c < m->pareto->problem.n_calls; c++) {
        m->pages[c].peak = fmax(m->pages[c].peak, sum[c].peak);
        for (int k = 1; k < RLF_PAGE_PARTS; k++)
            m->pages[c].seconds[k] =
                fmax(m->pages[c].seconds[k], sum[c].seconds[k]);
    }
    if (pool.bytes > m->pool.bytes)
        m->pool = pool;
}

/* Puts the seconds of calls by the pages that they have, where fewer than a
 * replica can use are there: with fewer pages nothing is faster. */
void
rlf_measure_put_pages(rlf_call_measure *m)
{
    for (int c = 0; c < m->pareto->problem.n_calls; c++) {
        rlf_choice *to = &m->choice[c];
        double bytes = (double)m->pool.bytes;
        if (!is_asked(m, c) || to->seconds <= 0 || !m->pool.bytes ||
            m->pages[c].peak <= (double)*m->pool.units)
            continue;
        rlf_choice_pages *p = RLF_NEW(m->kept, rlf_choice_pages);
        *p = (rlf_choice_pages){.need = m->pages[c].peak * bytes,
                                .most = (double)m->pool.most * bytes,
                                .has = (double)*m->pool.units * bytes,
                                .seconds = {to->seconds}};
        for (int k = 1; k < RLF_PAGE_PARTS; k++)
            p->seconds[k] = fmax(p->seconds[k - 1], m->pages[c].seconds[k]);
        to->pages = p;
    }
}
