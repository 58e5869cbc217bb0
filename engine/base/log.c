/* The log: see log.h. */
#include "engine/base/log.h"

#include "engine/base/clock.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_words[] = {
#define LOG_LEVEL(name, word) word,
#include "engine/base/log.def"
#undef LOG_LEVEL
};
static const char *const sub_words[] = {
#define LOG_SUB(name, word, doc) word,
#include "engine/base/log.def"
#undef LOG_SUB
};

void
rlf_log_init(rlf_log *log, rlf_log_sink *sink, void *arg, int rank)
{
    *log = (rlf_log){
        .sink = sink, .arg = arg, .start = rlf_clock_now(), .rank = rank};
    for (int i = 0; i < RLF_SUBS; i++)
        log->most[i] = RLF_LOG_ERROR;
    log->most[RLF_SUB_PRINT] = RLF_LOG_INFO;
}

/* The index of the n bytes at p among the words, or -1. */
static int
word_index(const char *const *words, int count, const char *p, size_t n)
{
    for (int i = 0; i < count; i++)
        if (rlf_str_eq((rlf_str){p, n}, rlf_str_of(words[i])))
            return i;
    return -1;
}

static rlf_status
unknown(rlf_err *err, const char *what, const char *p, size_t n,
        const char *const *words, int count)
{
    rlf_fail(err, RLF_USAGE, "no log %s '%.*s'", what, (int)n, p);
    rlf_buf all = {0};
    for (int i = 0; i < count; i++)
        rlf_buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
    rlf_err_hint(err, "there are %s; for example info,comm:trace", all.p);
    rlf_buf_free(&all);
    return RLF_USAGE;
}

rlf_status
rlf_log_set(rlf_log *log, const char *spec, rlf_err *err)
{
    rlf_log set = *log;
    for (const char *p = spec; *p;) {
        size_t n = strcspn(p, ",");
        const char *colon = memchr(p, ':', n);
        const char *word = colon ? colon + 1 : p;
        size_t word_n = (size_t)(p + n - word);
        int sub = -1;
        if (colon) {
            sub = word_index(sub_words, RLF_SUBS, p, (size_t)(colon - p));
            if (sub < 0)
                return unknown(err, "part", p, (size_t)(colon - p), sub_words,
                               RLF_SUBS);
        }
        int level = word_index(level_words, RLF_LOG_LEVELS, word, word_n);
        if (level < 0)
            return unknown(err, "level", word, word_n, level_words,
                           RLF_LOG_LEVELS);
        for (int i = 0; i < RLF_SUBS; i++)
            if (sub < 0 || sub == i)
                set.most[i] = (rlf_log_level)level;
        p += n + (p[n] == ',');
    }
    *log = set;
    return RLF_OK;
}

rlf_status
rlf_log_from_env(rlf_log *log, rlf_err *err)
{
    const char *spec = getenv("RLFLOW_LOG");
    if (spec && rlf_log_set(log, spec, err) < 0) {
        rlf_err_hint(err, "it is in the environment variable RLFLOW_LOG");
        return RLF_USAGE;
    }
    return RLF_OK;
}

/* Mark a line of `whole` bytes that was cut to fill `room`, at no byte inside
 * of a character. */
static void
mark_cut(char *line, size_t room, size_t whole)
{
    char mark[48];
    size_t n = (size_t)snprintf(mark, sizeof mark, "... (%zu bytes)", whole);
    size_t at = room - 1 - n;
    while (at > 0 && ((unsigned char)line[at] & 0xc0) == 0x80)
        at--;
    memcpy(line + at, mark, n + 1);
}

void
rlf_log_say(const rlf_log *log, rlf_log_level level, rlf_log_sub sub,
            const char *fmt, ...)
{
    if (!rlf_log_says(log, level, sub))
        return;
    char line[1001];
    int n = snprintf(line, sizeof line, "%.3f %d %s %s ",
                     rlf_clock_since(log->start), log->rank, sub_words[sub],
                     level_words[level]);
    va_list ap;
    va_start(ap, fmt);
    int more = vsnprintf(line + n, sizeof line - (size_t)n, fmt, ap);
    va_end(ap);
    if (more >= 0 && (size_t)n + (size_t)more >= sizeof line)
        mark_cut(line, sizeof line, (size_t)n + (size_t)more);
    rlf_buf shown = {0};
    rlf_buf_line(&shown, "%s", line);
    log->sink(log->arg, level, shown.p);
    rlf_buf_free(&shown);
}
