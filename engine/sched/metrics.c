/* The metrics of a step: see metrics.h. */
#include "engine/sched/metrics.h"

#include "engine/base/vec.h"
#include "engine/expr/expr.h"

#include <math.h>
#include <string.h>

void
rlf_metrics_begin(rlf_metrics *metrics)
{
    for (size_t i = 0; i < metrics->count; i++) {
        metrics->data[i].sum = 0;
        metrics->data[i].count = 0;
    }
}

/* A new entry may have the name of others, before it and behind it. */
static void
find_others(rlf_metrics *metrics, size_t at)
{
    rlf_metric *m = metrics->data;
    for (size_t i = 0; i < metrics->count; i++)
        if (i != at && strcmp(m[i].name, m[at].name) == 0)
            m[i < at ? at : i].again = true;
}

/* The place of a node's metric: found, or made behind those of the node and of
 * nodes before it. */
static rlf_metric *
place(rlf_metrics *metrics, const char *name)
{
    size_t at = 0;
    while (at < metrics->count && metrics->data[at].node <= metrics->node) {
        rlf_metric *m = &metrics->data[at++];
        if (m->node == metrics->node && strcmp(m->name, name) == 0)
            return m;
    }
    size_t n = strlen(name) + 1;
    RLF_PUSH(metrics, (rlf_metric){0});
    memmove(metrics->data + at + 1, metrics->data + at,
            (metrics->count - 1 - at) * sizeof *metrics->data);
    metrics->data[at] = (rlf_metric){.name = memcpy(rlf_malloc(n), name, n),
                                     .node = metrics->node};
    find_others(metrics, at);
    return &metrics->data[at];
}

bool
rlf_metric_reported(const rlf_metric *metric)
{
    return metric->count || isnan(metric->sum);
}

/* `count` numbers; 0: nothing, which counts only where there is no number. */
static void
add(rlf_metric *m, double sum, uint64_t count)
{
    if (!count) {
        m->sum = m->count ? m->sum : NAN;
        return;
    }
    m->sum = m->count ? m->sum + sum : 0 + sum;
    m->count += count;
}

void
rlf_metrics_add(rlf_metrics *metrics, const char *name, double value)
{
    rlf_metric *m = place(metrics, name);
    add(m, value, rlf_expr_is_nothing(value) ? 0 : 1);
}

void
rlf_metrics_merge(rlf_metrics *metrics, const rlf_metric *metric)
{
    metrics->node = metric->node;
    rlf_metric *m = place(metrics, metric->name);
    add(m, metric->sum, metric->count);
}

bool
rlf_metrics_get(const rlf_metrics *metrics, const char *name, double *out)
{
    double sum = 0;
    uint64_t count = 0;
    bool reported = false;
    for (size_t i = 0; i < metrics->count; i++) {
        const rlf_metric *m = &metrics->data[i];
        if (!rlf_metric_reported(m) || strcmp(m->name, name) != 0)
            continue;
        reported = true;
        sum += m->count ? m->sum : 0;
        count += m->count;
    }
    *out = count ? sum / (double)count : NAN;
    return reported;
}

/* Is it the first of its name of those that the step has? A line does not
 * depend on what steps before it had. */
static bool
stands_for_name(const rlf_metrics *metrics, size_t at)
{
    const rlf_metric *m = metrics->data;
    if (!rlf_metric_reported(&m[at]))
        return false;
    for (size_t i = 0; m[at].again && i < at; i++)
        if (rlf_metric_reported(&m[i]) && strcmp(m[i].name, m[at].name) == 0)
            return false;
    return true;
}

const char *
rlf_metrics_name(const rlf_metrics *metrics, size_t i)
{
    for (size_t at = 0; at < metrics->count; at++)
        if (!metrics->data[at].again && i-- == 0)
            return metrics->data[at].name;
    return NULL;
}

void
rlf_metrics_json(const rlf_metrics *metrics, rlf_buf *out)
{
    const char *between = "";
    for (size_t i = 0; i < metrics->count; i++) {
        const char *name = metrics->data[i].name;
        double mean;
        if (!stands_for_name(metrics, i) ||
            !rlf_metrics_get(metrics, name, &mean))
            continue;
        rlf_buf_puts(out, between);
        rlf_buf_json(out, name, strlen(name));
        rlf_buf_putc(out, ':');
        rlf_buf_number(out, mean);
        between = ",";
    }
}

void
rlf_metrics_free(rlf_metrics *metrics)
{
    for (size_t i = 0; i < metrics->count; i++)
        free((char *)metrics->data[i].name);
    RLF_VEC_FREE(metrics);
}
