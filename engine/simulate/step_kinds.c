/* See step_kinds.h. */
#include "engine/simulate/step_kinds.h"

#include <stdlib.h>

#include "engine/graph/place.h"
#include "engine/order/answer.h"

/* Has the call of a model, or a hook, to be waited for? */
static bool
takes_time(const rlf_node *node)
{
    return node->class->work != RLF_WORK_NONE;
}

/* Does anything take time that stands in blocks of that number? */
static bool
is_empty(const rlf_graph *graph, uint64_t number)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (takes_time(node) && rlf_answer_interval(graph, node) == number)
            return false;
    }
    return true;
}

static int
by_number(const void *a, const void *b)
{
    uint64_t x = ((const rlf_step_kind *)a)->number;
    uint64_t y = ((const rlf_step_kind *)b)->number;
    return (x > y) - (x < y);
}

int
rlf_step_kinds(const rlf_graph *graph, rlf_arena *arena, rlf_step_kind **out)
{
    rlf_step_kind *kinds =
        RLF_NEW_ARRAY(arena, rlf_step_kind, graph->nodes.count + 1);
    int n = 0, branch;
    bool alike = true;
    kinds[n++].number = 1;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        uint64_t number =
            rlf_answer_period(node) ? rlf_answer_interval(graph, node) : 0;
        bool known = !number;
        alike &= !rlf_answer_late(graph, node, &branch) || branch == 0;
        for (int k = 0; k < n; k++)
            known |= kinds[k].number == number;
        if (!known)
            kinds[n++] = (rlf_step_kind){.number = number,
                                         .empty = is_empty(graph, number)};
    }
    qsort(kinds, (size_t)n, sizeof *kinds, by_number);
    *out = kinds;
    return n == 1 && alike ? 0 : n;
}

double
rlf_step_kinds_mean(rlf_step_kind *kinds, int n)
{
    double mean = 0;
    for (int i = 0; i < n; i++) {
        kinds[i].added = kinds[i].seconds;
        for (int k = 0; k < i; k++)
            if (kinds[i].number % kinds[k].number == 0)
                kinds[i].added -= kinds[k].added;
        mean += kinds[i].added / (double)kinds[i].number;
    }
    return mean;
}
