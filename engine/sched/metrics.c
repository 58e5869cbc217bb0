/* The metrics of a step: see metrics.h. */
#include "engine/sched/metrics.h"

#include "engine/base/vec.h"

#include <string.h>

static rlf_metric *
find(const rlf_metrics *metrics, const char *name)
{
    for (size_t i = 0; i < metrics->count; i++)
        if (strcmp(metrics->data[i].name, name) == 0)
            return &metrics->data[i];
    return NULL;
}

void
rlf_metrics_begin(rlf_metrics *metrics)
{
    for (size_t i = 0; i < metrics->count; i++) {
        metrics->data[i].sum = 0;
        metrics->data[i].count = 0;
    }
}

void
rlf_metrics_add(rlf_metrics *metrics, const char *name, double value)
{
    rlf_metric *m = find(metrics, name);
    if (!m) {
        size_t n = strlen(name) + 1;
        char *copy = memcpy(rlf_malloc(n), name, n);
        RLF_PUSH(metrics, (rlf_metric){.name = copy});
        m = &metrics->data[metrics->count - 1];
    }
    m->sum += value;
    m->count++;
}

bool
rlf_metrics_get(const rlf_metrics *metrics, const char *name, double *out)
{
    const rlf_metric *m = find(metrics, name);
    if (!m || !m->count)
        return false;
    *out = m->sum / (double)m->count;
    return true;
}

void
rlf_metrics_json(const rlf_metrics *metrics, rlf_buf *out)
{
    const char *between = "";
    for (size_t i = 0; i < metrics->count; i++) {
        const rlf_metric *m = &metrics->data[i];
        if (!m->count)
            continue;
        rlf_buf_puts(out, between);
        rlf_buf_json(out, m->name, strlen(m->name));
        rlf_buf_putc(out, ':');
        rlf_buf_number(out, m->sum / (double)m->count);
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
