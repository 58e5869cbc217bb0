/* Traces: see trace.h. */
#include "engine/base/trace.h"

#include "engine/base/arena.h"
#include "engine/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FULL = 64 * 1024 }; /* bytes that a lane collects */

struct rlf_trace_lane {
    rlf_trace *trace;
    rlf_trace_lane *next;
    int rank, number;
    rlf_buf text;
};

struct rlf_trace {
    FILE *file;
    char *path;
    uint64_t start;
    pthread_mutex_t lock; /* of all below, and of writing to the file */
    rlf_trace_lane *lanes;
    int count;
    int error; /* errno of the first write that failed */
    bool some; /* an event is in the file */
};

rlf_status
rlf_trace_open(const char *path, uint64_t start, rlf_err *err, rlf_trace **out)
{
    /* a named pipe that nobody reads does not keep the run waiting */
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    int fd = open(path, flags | O_NONBLOCK, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return rlf_fail_errno(err, "cannot make the trace file %s", path);
    fcntl(fd, F_SETFL, flags & O_ACCMODE);
    rlf_trace *trace = rlf_calloc(1, sizeof *trace);
    trace->file = file;
    trace->start = start;
    size_t n = strlen(path) + 1;
    trace->path = memcpy(rlf_malloc(n), path, n);
    pthread_mutex_init(&trace->lock, NULL);
    fputs("[", file);
    *out = trace;
    return RLF_OK;
}

/* Append what the lane has collected. */
static void
flush(rlf_trace_lane *lane)
{
    rlf_trace *trace = lane->trace;
    if (!lane->text.n)
        return;
    pthread_mutex_lock(&trace->lock);
    /* every event begins with a comma that the first one must not have */
    size_t comma = trace->some ? 0 : 1;
    size_t n = lane->text.n - comma;
    errno = 0;
    if (fwrite(lane->text.p + comma, 1, n, trace->file) != n && !trace->error)
        trace->error = errno ? errno : EIO;
    trace->some = true;
    pthread_mutex_unlock(&trace->lock);
    rlf_buf_clear(&lane->text);
}

/* Begin an event of phase `phase`; the caller adds more fields and ends it. */
static rlf_buf *
begin(rlf_trace_lane *lane, char phase, const char *kind, const char *name,
      uint64_t at)
{
    rlf_buf *text = &lane->text;
    double us = (double)(int64_t)(at - lane->trace->start) / 1000;
    rlf_buf_puts(text, ",\n{\"name\": ");
    rlf_buf_json(text, name, strlen(name));
    rlf_buf_puts(text, ", \"cat\": ");
    rlf_buf_json(text, kind, strlen(kind));
    rlf_buf_printf(text,
                   ", \"ph\": \"%c\", \"pid\": %d, \"tid\": %d, "
                   "\"ts\": %.3f",
                   phase, lane->rank, lane->number, us);
    return text;
}

static void
end(rlf_trace_lane *lane)
{
    rlf_buf_puts(&lane->text, "}");
    if (lane->text.n >= FULL)
        flush(lane);
}

rlf_trace_lane *
rlf_trace_add(rlf_trace *trace, int rank, const char *name)
{
    if (!trace)
        return NULL;
    rlf_trace_lane *lane = rlf_calloc(1, sizeof *lane);
    lane->trace = trace;
    lane->rank = rank;
    pthread_mutex_lock(&trace->lock);
    lane->number = trace->count++;
    lane->next = trace->lanes;
    trace->lanes = lane;
    pthread_mutex_unlock(&trace->lock);
    rlf_buf *text = begin(lane, 'M', "", "process_name", trace->start);
    rlf_buf_printf(text, ", \"args\": {\"name\": \"rank %d\"}", rank);
    end(lane);
    text = begin(lane, 'M', "", "thread_name", trace->start);
    rlf_buf_puts(text, ", \"args\": {\"name\": ");
    rlf_buf_json(text, name, strlen(name));
    rlf_buf_puts(text, "}");
    end(lane);
    return lane;
}

rlf_status
rlf_trace_close(rlf_trace *trace, rlf_err *err)
{
    if (!trace)
        return RLF_OK;
    rlf_trace_lane *next;
    for (rlf_trace_lane *lane = trace->lanes; lane; lane = next) {
        next = lane->next;
        flush(lane);
        rlf_buf_free(&lane->text);
        free(lane);
    }
    fputs("\n]\n", trace->file);
    bool bad = ferror(trace->file);
    errno = 0;
    bad = fclose(trace->file) != 0 || bad;
    rlf_status status = RLF_OK;
    if (bad || trace->error) {
        errno = trace->error ? trace->error : errno;
        status =
            rlf_fail_errno(err, "cannot write the trace file %s", trace->path);
    }
    pthread_mutex_destroy(&trace->lock);
    free(trace->path);
    free(trace);
    return status;
}

void
rlf_trace_detailed(rlf_trace_lane *lane, const char *kind, const char *name,
                   uint64_t from, uint64_t to, const rlf_trace_details *details)
{
    if (!lane)
        return;
    rlf_buf *text = begin(lane, 'X', kind, name, from);
    rlf_buf_printf(text, ", \"dur\": %.3f", (double)(to - from) / 1000);
    const char *between = ", \"args\": {";
    const char *then = ", ";
    if (details->count) {
        rlf_buf_printf(text, "%s\"count\": %llu", between,
                       (unsigned long long)details->count);
        between = then;
    }
    if (details->step) {
        rlf_buf_printf(text, "%s\"step\": %u", between, details->step);
        between = then;
    }
    if (details->samples) {
        rlf_buf_printf(text, "%s\"samples\": \"%llu..%llu\"", between,
                       (unsigned long long)details->first,
                       (unsigned long long)details->last);
        between = then;
    }
    if (details->line) {
        rlf_buf_printf(text, "%s\"line\": ", between);
        rlf_buf_json(text, details->line, strlen(details->line));
        between = then;
    }
    if (between == then)
        rlf_buf_putc(text, '}');
    end(lane);
}

void
rlf_trace_span(rlf_trace_lane *lane, const char *kind, const char *name,
               uint64_t from, uint64_t to, uint64_t count)
{
    rlf_trace_detailed(lane, kind, name, from, to,
                       &(rlf_trace_details){.count = count});
}

static void
arrow(rlf_trace_lane *lane, char phase, const char *name, uint64_t id,
      uint64_t at)
{
    if (!lane)
        return;
    rlf_buf_printf(begin(lane, phase, "edge", name, at),
                   ", \"id\": %llu, \"bp\": \"e\"", (unsigned long long)id);
    end(lane);
}

void
rlf_trace_send(rlf_trace_lane *lane, const char *name, uint64_t id, uint64_t at)
{
    arrow(lane, 's', name, id, at);
}

void
rlf_trace_receive(rlf_trace_lane *lane, const char *name, uint64_t id,
                  uint64_t at)
{
    arrow(lane, 'f', name, id, at);
}
