/* The log, the clock, traces, and libraries that are looked for. */
#define _GNU_SOURCE
#include "engine/base/clock.h"
#include "engine/base/library.h"
#include "engine/base/log.h"
#include "engine/base/str.h"
#include "engine/base/trace.h"

#include "tests/tap.h"

#include <dlfcn.h>
#include <unistd.h>

static void
keep(void *arg, rlf_log_level level, const char *line)
{
    /* without the time, which differs */
    rlf_buf_printf(arg, "[%d]%s\n", (int)level, strchr(line, ' '));
}

static void
lines(void)
{
    rlf_buf buf = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_log log;
    rlf_log_init(&log, keep, &buf, 3);
    rlf_log_info(&log, MEM, "not said");
    rlf_log_error(&log, MEM, "block %d", 7);
    is_str(buf.p, "[0] 3 mem error block 7\n", "errors only, at first");
    rlf_buf_clear(&buf);
    is_int(rlf_log_set(&log, "info,comm:trace,lua:error", &err), RLF_OK, "set");
    rlf_log_trace(&log, COMM, "send bytes %d", 12);
    rlf_log_debug(&log, SCHED, "not said");
    rlf_log_info(&log, SCHED, "ready");
    rlf_log_warn(&log, LUA, "not said");
    is_str(buf.p, "[4] 3 comm trace send bytes 12\n[2] 3 sched info ready\n",
           "by part");
    rlf_buf_clear(&buf);
    char large[3000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    rlf_log_error(&log, MEM, "%s", large);
    ok(buf.n > 900 && buf.n < 1020 && strstr(buf.p, "x... (30") &&
           strstr(buf.p, " bytes)\n"),
       "a long line is cut, and says so: %s", buf.p + buf.n - 20);
    for (size_t i = 0; i + 1 < sizeof large; i++)
        large[i] = i % 2 ? '\xa9' : '\xc3';
    for (int odd = 0; odd < 2; odd++) {
        rlf_buf_clear(&buf);
        rlf_log_error(&log, MEM, "%.*s%s", odd, "x", large);
        const char *mark = strstr(buf.p, "... (");
        ok(mark && mark[-1] == '\xa9', "not inside of a character");
    }
    rlf_buf_clear(&buf);
    rlf_log_error(&log, MEM, "a\033[31mb\rc\177\xc2\x9b\td\xc2\xa0");
    is_str(buf.p,
           "[0] 3 mem error a\\027[31mb\\013c\\127\\194\\155\td\xc2\xa0\n",
           "no terminal acts on a line");
    rlf_buf_clear(&buf);
    rlf_log_error(&log, MEM, "a\nb\n\xff\xc3");
    is_str(buf.p, "[0] 3 mem error a\\010b\\010\\255\\195\n",
           "... which is one line, and UTF-8");
    rlf_buf_free(&buf);
    rlf_log_error((rlf_log *)NULL, MEM, "no log, no line");
}

static void
bad_words(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_log log;
    rlf_log_init(&log, NULL, NULL, 0);
    is_int(rlf_log_set(&log, "info,com:trace", &err), RLF_USAGE,
           "a wrong part");
    is_str(err.sentence, "no log part 'com'", "is named");
    is_int(log.most[RLF_SUB_MEM], RLF_LOG_ERROR, "and nothing is changed");
    rlf_err_clear(&err);
    setenv("RLFLOW_LOG", "mem:loud", 1);
    is_int(rlf_log_from_env(&log, &err), RLF_USAGE, "a wrong level");
    is_str(err.sentence, "no log level 'loud'", "is named");
    ok(strstr(err.hint, "error, warn, info, debug, trace") != NULL &&
           strstr(err.hint, "RLFLOW_LOG") != NULL,
       "with the right ones and where it stands");
    setenv("RLFLOW_LOG", "debug", 1);
    is_int(rlf_log_from_env(&log, &err), RLF_OK, "from the environment");
    is_int(log.most[RLF_SUB_MEM], RLF_LOG_DEBUG, "is set");
}

static void
trace_file(void)
{
    char path[] = "/tmp/rlflow-test-XXXXXX";
    close(mkstemp(path));
    rlf_err err = RLF_ERR_NONE;
    rlf_trace *trace;
    is_int(rlf_trace_open(path, 1000, &err, &trace), RLF_OK, "a trace");
    rlf_trace_lane *a = rlf_trace_add(trace, 0, "main");
    rlf_trace_lane *b = rlf_trace_add(trace, 1, "worker \"1\"");
    rlf_trace_span(a, "step", "generate", 2000, 5500, 64);
    rlf_trace_send(a, "rows", 9, 5500);
    rlf_trace_receive(b, "rows", 9, 6000);
    for (int i = 0; i < 2000; i++) /* more than a lane collects */
        rlf_trace_span(b, "step", "score", 9000, 9100, 0);
    is_int(rlf_trace_close(trace, &err), RLF_OK, "written");
    rlf_buf text = {0};
    char piece[4096];
    FILE *file = fopen(path, "r");
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;)
        rlf_buf_add(&text, piece, n);
    fclose(file);
    unlink(path);
    const char *const parts[] = {
        "{\"name\": \"generate\", \"cat\": \"step\", \"ph\": \"X\", "
        "\"pid\": 0, \"tid\": 0, \"ts\": 1.000, \"dur\": 3.500, "
        "\"args\": {\"count\": 64}}",
        "\"args\": {\"name\": \"rank 1\"}}",
        "\"args\": {\"name\": \"worker \\\"1\\\"\"}}",
        "\"ph\": \"s\", \"pid\": 0, \"tid\": 0, \"ts\": 4.500, \"id\": 9",
        "\"ph\": \"f\", \"pid\": 1, \"tid\": 1, \"ts\": 5.000, \"id\": 9"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ok(strstr(text.p, parts[i]) != NULL, "has %s", parts[i]);
    int open = 0, lowest = 1, events = 0;
    for (size_t i = 0; i < text.n; i++) {
        open += text.p[i] == '{' || text.p[i] == '[';
        open -= text.p[i] == '}' || text.p[i] == ']';
        lowest = open < lowest ? open : lowest;
        events += strncmp(text.p + i, "\"ph\"", 4) == 0;
    }
    ok(open == 0 && lowest == 0, "its brackets close");
    is_int(events, 2007, "all events are there");
    ok(strncmp(text.p, "[\n{", 3) == 0 && !strstr(text.p, "[,") &&
           !strstr(text.p, ",\n]"),
       "with commas between them only");
    rlf_buf_free(&text);

    rlf_trace_span(rlf_trace_add(NULL, 0, "off"), "step", "x", 1, 2, 0);
    is_int(rlf_trace_close(NULL, &err), RLF_OK, "no trace, no file");
    is_int(rlf_trace_open("/nowhere/t", 0, &err, &trace), RLF_ENV, "no place");
    rlf_err_clear(&err);
    if (access("/dev/full", W_OK) != 0) {
        skip("no /dev/full");
        return;
    }
    is_int(rlf_trace_open("/dev/full", 0, &err, &trace), RLF_OK, "a full disk");
    rlf_trace_add(trace, 0, "main");
    is_int(rlf_trace_close(trace, &err), RLF_ENV, "is told at the end");
    is_str(err.sentence,
           "cannot write the trace file /dev/full: No space left on device",
           "by name");
}

static void
time_passes(void)
{
    uint64_t before = rlf_clock_now();
    rlf_clock_sleep(3000000);
    double seconds = rlf_clock_since(before);
    ok(seconds >= 0.003 && seconds < 60, "slept %.4f s for 0.003", seconds);
}

/* A library is found in a second place, or it is told where it was not. */
static void
library(void)
{
    char dir[] = "/tmp/rlflow-test-XXXXXX", path[128], why[512] = "";
    Dl_info libc;
    /* asked for by name: what the program has of it may be a sanitizer's */
    void *known = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    if (!mkdtemp(dir) || !known || !dladdr(known, &libc))
        bail("no directory, or no C library");
    ok(!rlf_library_open("librlf_no.so.7", dir, why, sizeof why),
       "a library that there is not");
    snprintf(path, sizeof path, "%s/librlf_no.so.7", dir);
    const char *first = strstr(why, "librlf_no.so.7: ");
    ok(first && strstr(why, path) > first, "both places are told: %s", why);
    char cut[8];
    rlf_library_open("librlf_no.so.7", dir, cut, sizeof cut);
    is_int((int)strlen(cut), 7, "... as far as there is room");
    if (symlink(libc.dli_fname, path) < 0)
        bail("no link");
    void *handle = rlf_library_open("librlf_no.so.7", dir, why, sizeof why);
    ok(handle && dlsym(handle, "gnu_get_libc_version") == known,
       "a library of the second place");
    if (handle)
        dlclose(handle);
    unlink(path);
    rmdir(dir);
}

int
main(void)
{
    lines();
    bad_words();
    trace_file();
    time_passes();
    library();
    return done();
}
