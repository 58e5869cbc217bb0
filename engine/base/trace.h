/* Traces of a run, as Chrome's trace event JSON (chrome://tracing, Perfetto).
 *
 * A trace is one file; each thread that has something to tell writes to a lane
 * of its own (process = rank, thread = lane), so that events need no lock: a
 * lane collects them and takes the lock only to append to the file. Every
 * function takes a NULL lane and then does nothing: tracing is on or off by
 * that alone and changes nothing else. An interrupted run leaves a file that
 * the viewers read (the closing bracket is optional). */
#ifndef RLF_BASE_TRACE_H
#define RLF_BASE_TRACE_H

#include "engine/base/status.h"

typedef struct rlf_trace rlf_trace;
typedef struct rlf_trace_lane rlf_trace_lane;

/* Make the file `path`; `start` (rlf_clock_now) is time 0. */
rlf_status rlf_trace_open(const char *path, uint64_t start, rlf_err *err,
                          rlf_trace **out);
/* A lane of one writer; belongs to the trace. NULL of a NULL trace. */
rlf_trace_lane *rlf_trace_add(rlf_trace *trace, int rank, const char *name);
/* Write out all lanes, whose writers have ended, and free everything. Fails
 * with RLF_ENV if any of it could not be written. */
rlf_status rlf_trace_close(rlf_trace *trace, rlf_err *err);

/* Something that lasted. `kind` is a short word: ready, step, send... `count`
 * (rows, bytes; 0: none) is shown with it. */
void rlf_trace_span(rlf_trace_lane *lane, const char *kind, const char *name,
                    uint64_t from, uint64_t to, uint64_t count);
/* Arguments that are shown with a span. */
typedef struct rlf_trace_details {
    uint64_t count;   /* rows, or bytes; 0: none */
    const char *line; /* "ppo.rlf:23"; NULL: none */
    uint32_t step;    /* 0: none */
    bool samples;     /* it is of the samples from `first` to `last` */
    uint64_t first, last;
} rlf_trace_details;
void rlf_trace_detailed(rlf_trace_lane *lane, const char *kind,
                        const char *name, uint64_t from, uint64_t to,
                        const rlf_trace_details *details);
/* The two ends of an arrow between lanes; equal `id` are one arrow. */
void rlf_trace_send(rlf_trace_lane *lane, const char *name, uint64_t id,
                    uint64_t at);
void rlf_trace_receive(rlf_trace_lane *lane, const char *name, uint64_t id,
                       uint64_t at);

#endif
