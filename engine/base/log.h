/* The log: lines of a level and a part of the engine, for whoever looks into
 * a run. It is no way to report errors (status.h) or metrics.
 *
 * One line is `time rank part level text`, lower case, values as `key value`:
 *
 *     0.184 0 mem info device block weights bytes 1048576
 *
 * A log is a value in the context that owns it; there is none but those. Lines
 * go to its sink, whole; without a sink nothing is said. */
#ifndef RLF_BASE_LOG_H
#define RLF_BASE_LOG_H

#include "engine/base/status.h"

typedef enum rlf_log_level {
#define LOG_LEVEL(name, word) RLF_LOG_##name,
#include "engine/base/log.def"
#undef LOG_LEVEL
    RLF_LOG_LEVELS
} rlf_log_level;

typedef enum rlf_log_sub {
#define LOG_SUB(name, word, doc) RLF_SUB_##name,
#include "engine/base/log.def"
#undef LOG_SUB
    RLF_SUBS
} rlf_log_sub;

/* Gets one line without its newline. May be called by several threads at once
 * if the log is shared by them. */
typedef void rlf_log_sink(void *arg, rlf_log_level level, const char *line);

typedef struct rlf_log {
    rlf_log_sink *sink;
    void *arg;
    uint64_t start; /* rlf_clock_now() of the time 0 */
    int rank;
    /* The last level that is still written, by part. */
    rlf_log_level most[RLF_SUBS];
} rlf_log;

/* Only errors are said, and what Lua functions print, from now as time 0. */
void rlf_log_init(rlf_log *log, rlf_log_sink *sink, void *arg, int rank);
/* Set the levels from a text such as "info" or "warn,comm:trace", applied from
 * left to right. RLF_USER, and nothing changed, if a word is not known. */
rlf_status rlf_log_set(rlf_log *log, const char *spec, rlf_err *err);
/* As rlf_log_set with the value of RLFLOW_LOG, if that is set. */
rlf_status rlf_log_from_env(rlf_log *log, rlf_err *err);

/* Would it be said? For what is costly to put together; a NULL log is mute. */
static inline bool
rlf_log_says(const rlf_log *log, rlf_log_level level, rlf_log_sub sub)
{
    return log && log->sink && level <= log->most[sub];
}
/* Say it, as a terminal may show it on one line (rlf_buf_line). One above 1,000
 * bytes is cut, and ends with "..." and its whole length. */
void rlf_log_say(const rlf_log *log, rlf_log_level level, rlf_log_sub sub,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* rlf_log_info(log, MEM, "pages %d", n): costs a comparison if not said. */
#define RLF_LOG_AT(log, level, sub, ...)                                     \
    do {                                                                     \
        if (rlf_log_says((log), RLF_LOG_##level, RLF_SUB_##sub))             \
            rlf_log_say((log), RLF_LOG_##level, RLF_SUB_##sub, __VA_ARGS__); \
    } while (0)
#define rlf_log_error(log, sub, ...) RLF_LOG_AT(log, ERROR, sub, __VA_ARGS__)
#define rlf_log_warn(log, sub, ...) RLF_LOG_AT(log, WARN, sub, __VA_ARGS__)
#define rlf_log_info(log, sub, ...) RLF_LOG_AT(log, INFO, sub, __VA_ARGS__)
#define rlf_log_debug(log, sub, ...) RLF_LOG_AT(log, DEBUG, sub, __VA_ARGS__)
#define rlf_log_trace(log, sub, ...) RLF_LOG_AT(log, TRACE, sub, __VA_ARGS__)

#endif
