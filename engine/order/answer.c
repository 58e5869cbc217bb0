/* Answers from sizes: see answer.h. Bytes are as engine/sched/exchange.c packs
 * them. */
#include "engine/order/answer.h"

#include "engine/graph/class.h"

#include <math.h>

enum {
    UNKNOWN_ROWS = 16,        /* of each rank, where nothing says how many */
    MOST_ROWS = 1 << 20,      /* that are played */
    SAMPLE_BYTES = 4 + 1 + 8, /* of a sample: counts and whether it ended */
    TOKEN_BYTES = 4 + 8,      /* of its tokens: id and text */
    NUMBER_BYTES = 8,
    COUNT_BYTES = 4, /* of a row of tokens: how many */
};

/* ---- how many ---- */

static uint32_t
count_of(const rlf_answers *a, double x)
{
    if (isfinite(x))
        return x < MOST_ROWS ? (uint32_t)x : MOST_ROWS;
    return UNKNOWN_ROWS * (uint32_t)a->plan->ranks;
}

uint32_t
rlf_answer_turns(const rlf_answers *a, const rlf_node *node)
{
    const rlf_region *body = &a->plan->graph->regions.data[node->regions[0]];
    if (!body->n_nodes)
        return 0;
    double n = a->sizes->runs[body->nodes[0]] / a->sizes->runs[node->id];
    return isfinite(n) && n < MOST_ROWS ? (uint32_t)(n + 0.5) : 1;
}

rlf_report
rlf_answer_open(const rlf_answers *a, const rlf_post *post,
                const rlf_node *node, rlf_arena *arena)
{
    const rlf_domain *d = rlf_domains_get(&a->plan->graph->domains, node->rows);
    uint32_t n = count_of(a, a->sizes->values[node->rows]), *owner = NULL;
    if (d->owner >= 0) {
        uint32_t prompts = count_of(a, a->sizes->values[d->owner]);
        owner = RLF_NEW_ARRAY(arena, uint32_t, n + 1);
        for (uint32_t i = 0; i < n; i++)
            owner[i] = (uint32_t)((uint64_t)i * prompts / n);
    }
    return (rlf_report){
        .kind = RLF_REPORT_OPENED, .n = post->n, .n_rows = n, .owner = owner};
}

rlf_report
rlf_answer_done(const rlf_answers *a, const rlf_post *post,
                const rlf_instance *in, int rank)
{
    rlf_report report = {.kind = RLF_REPORT_DONE, .rank = rank, .n = post->n};
    if (!in) {
        report.branch = -1;
        return report;
    }
    rlf_role role = in->node->class->role;
    if (role == RLF_ROLE_FOR && !in->loop)
        report.count = rlf_answer_turns(a, in->node);
    if (role == RLF_ROLE_COLLECT && in->loop &&
        post->iteration >= rlf_answer_turns(a, in->node))
        report.branch = -1;
    return report;
}

/* ---- bytes ---- */

/* Of the tokens of one row. */
static double
row_tokens(const rlf_answers *a, int domain)
{
    int rows = rlf_domain_rows(&a->plan->graph->domains, domain);
    double all = a->sizes->values[domain], n = a->sizes->values[rows];
    return isfinite(all) ? all / n : INFINITY;
}

static double
value_bytes(const rlf_answers *a, const rlf_value *value, bool by_rows,
            double response)
{
    const rlf_graph *graph = a->plan->graph;
    if (value->kind == RLF_VALUE_SET) {
        const rlf_set *set = &graph->sets.data[value->set];
        int token =
            TOKEN_BYTES + (set->kind == RLF_SET_SAMPLED ? NUMBER_BYTES : 0);
        if (response < 0)
            response = a->sizes->set[value->set].response;
        return SAMPLE_BYTES + response * token;
    }
    if (value->kind == RLF_VALUE_TEXT)
        return INFINITY;
    if (!by_rows)
        return NUMBER_BYTES * a->sizes->values[value->domain];
    const rlf_domain *d = rlf_domains_get(&graph->domains, value->domain);
    if (d->kind != RLF_DOMAIN_TOKENS)
        return NUMBER_BYTES;
    if (response < 0)
        response = row_tokens(a, value->domain);
    return COUNT_BYTES + NUMBER_BYTES * response;
}

double
rlf_answer_bytes(const rlf_answers *a, const rlf_node *node, double response)
{
    double bytes = 0;
    for (int i = 0; i < node->n_outputs; i++)
        bytes += value_bytes(a, &a->plan->graph->values.data[node->outputs[i]],
                             node->rows >= 0, response);
    return bytes;
}
