/* The metrics of a step: the mean of what was reported under each name. */
#ifndef RLF_SCHED_METRICS_H
#define RLF_SCHED_METRICS_H

#include "engine/order/protocol.h"

/* Metrics in the order of the program, not in that in which nodes came to
 * report, which changes with the number of ranks and with time. */
typedef struct rlf_metrics {
    rlf_metric *data;
    size_t count, room;
    int node; /* the node that reports now */
} rlf_metrics;

/* Was it reported in the step, be it only nothing? */
bool rlf_metric_reported(const rlf_metric *metric);
/* Forget the values, keep the names. */
void rlf_metrics_begin(rlf_metrics *metrics);
void rlf_metrics_add(rlf_metrics *metrics, const char *name, double value);
/* Adds a metric that another rank reported. */
void rlf_metrics_merge(rlf_metrics *metrics, const rlf_metric *metric);
/* The mean of the numbers of the step, NaN if there are none; false if the name
 * was not reported. */
bool rlf_metrics_get(const rlf_metrics *metrics, const char *name, double *out);
/* The i-th name, in order and without repetition; NULL: there are fewer. */
const char *rlf_metrics_name(const rlf_metrics *metrics, size_t i);
/* `"name":value,...` of those that have a value, without braces. */
void rlf_metrics_json(const rlf_metrics *metrics, rlf_buf *out);
void rlf_metrics_free(rlf_metrics *metrics);

#endif
