/* Pages of keys and values of generations on a virtual clock, with the rules of
 * nodes/model/generate.c: who comes first is served first, and the last at work
 * gives up its pages where others need them. */
#include "engine/simulate/ranks_state.h"

/* Of so many tokens. */
static uint64_t
pages_for(const generation *g, uint64_t tokens)
{
    return (tokens + g->room.tokens - 1) / g->room.tokens;
}

/* Those that all samples of its prompt share: full ones, without the last token
 * of the prompt. */
static uint64_t
shared(const generation *g, const sample *s)
{
    return s->length.prompt ? (s->length.prompt - 1) / g->room.tokens : 0;
}

uint64_t
rlf_ranks_pages(const generation *g, uint32_t turns)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < g->active.count; i++) {
        const sample *s = &g->active.data[i];
        bool same = i && s[-1].length.group == s->length.group;
        sum += pages_for(g, (uint64_t)s->context + turns);
        sum -= same ? shared(g, s) : 0;
    }
    return sum;
}

uint64_t
rlf_ranks_pages_more(const generation *g, const sample *s)
{
    size_t n = g->active.count;
    bool same = n && g->active.data[n - 1].length.group == s->length.group;
    uint64_t has = s->context ? s->context : s->length.prompt;
    return pages_for(g, has + 1) - (same ? shared(g, s) : 0);
}

/* It was among those that waited, so there is a place before them. */
static void
preempt_last(generation *g)
{
    sample s = g->active.data[--g->active.count];
    RLF_ASSERT(g->next > 0);
    s.again = true;
    g->waiting.data[--g->next] = s;
}

void
rlf_ranks_preempt(generation *g)
{
    while (g->room.tokens && g->active.count > 1 &&
           rlf_ranks_pages(g, 0) > g->room.pages)
        preempt_last(g);
}

uint32_t
rlf_ranks_paged_turns(const generation *g, uint32_t turns)
{
    uint32_t least = 1, most = turns;
    if (!g->room.tokens || g->active.count == 1 ||
        rlf_ranks_pages(g, turns - 1) <= g->room.pages)
        return turns;
    while (least < most) {
        uint32_t middle = least + (most - least + 1) / 2;
        if (rlf_ranks_pages(g, middle - 1) <= g->room.pages)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}
