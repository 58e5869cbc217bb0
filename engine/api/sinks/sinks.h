/* Where a run writes its metrics besides metrics.jsonl, for the tools that
 * people have: --report-to names sinks. Each is a class in a file of its own
 * and a row of sink.def. They only look: no bit of the run is another with
 * them. */
#ifndef RLF_API_SINKS_SINKS_H
#define RLF_API_SINKS_SINKS_H

#include "engine/api/session.h"

/* A metric of a step by its name in metrics.jsonl; not finite numbers as they
 * are. */
typedef struct rlf_sink_metric {
    const char *name;
    double value;
} rlf_sink_metric;

/* A step that is done. Of a metric that reported nothing there is none. */
typedef struct rlf_sink_step {
    uint32_t step;
    double time; /* seconds since 1970 */
    const rlf_sink_metric *metrics;
    size_t n_metrics;
    const rlf_recorded_sets *sets; /* with as many samples as samples.jsonl */
} rlf_sink_step;

/* Errors are RLF_ENV, name the file, and end the run, as those of its own
 * files do. */
typedef struct rlf_sink_class {
    const char *name; /* on the command line */
    /* Can it be had in this build? RLF_USAGE, saying why not. */
    rlf_status (*check)(rlf_err *err);
    /* Before the first step of this start that is written: what a run before
     * wrote of steps after session->steps.resumed is to be void. The session
     * outlives the sink. */
    rlf_status (*open)(rlf_session *session, rlf_err *err, void **out);
    rlf_status (*step)(void *sink, const rlf_sink_step *step, rlf_err *err);
    /* The file that was removed, or emptied, since the sink has written to it;
     * NULL: none was. The run then closes the sink, opens another and gives it
     * what metrics.jsonl has of the steps behind has(sink), without samples. */
    const char *(*lost)(const void *sink);
    /* After open: the last step that stands in files which are there. */
    uint32_t (*has)(const void *sink);
    /* The sink's files are on the disk before a checkpoint is. */
    rlf_status (*sync)(void *sink, rlf_err *err);
    void (*close)(void *sink);
} rlf_sink_class;

#define SINK(name, doc) extern const rlf_sink_class rlf_sink_##name;
#include "engine/api/sinks/sink.def"
#undef SINK

/* The setter of --report-to: names with commas between them. */
rlf_status rlf_sinks_set(rlf_session *session, const char *names, rlf_err *err);
/* RLF_USAGE: there is no directory that they could write into. */
rlf_status rlf_sinks_check(const rlf_session *session, rlf_err *err);
/* After a step of a run with a directory. */
rlf_status rlf_sinks_step(rlf_session *session, rlf_err *err);
rlf_status rlf_sinks_sync(rlf_session *session, rlf_err *err);
void rlf_sinks_close(rlf_session *session);

#endif
