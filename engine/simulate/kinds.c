/* See kinds.h. */
#include "engine/simulate/kinds.h"

#include <stdlib.h>

#include "engine/order/answer.h"

/* Steps that no run has. */
static const uint64_t never = UINT64_C(1) << 40;

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The least number of a step that has the node's block, by its own period and
 * those of the blocks in which it stands. 1: each step has it, or a run alone
 * knows; 0: no step of a run does. */
static uint64_t
first_step(const rlf_graph *graph, const rlf_node *node)
{
    uint64_t first = 1;
    for (;;) {
        uint64_t period = rlf_answer_period(node);
        if (period)
            first *= period / common_divisor(first, period);
        if (first > never)
            return 0;
        int outer = graph->regions.data[node->region].node;
        if (outer < 0)
            return first;
        node = &graph->nodes.data[outer];
    }
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
        uint64_t number = rlf_answer_period(node) ? first_step(graph, node) : 0;
        bool known = !number;
        alike &= !rlf_answer_late(graph, node, &branch) || branch == 0;
        for (int k = 0; k < n; k++)
            known |= kinds[k].number == number;
        if (!known)
            kinds[n++].number = number;
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
