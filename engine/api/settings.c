/* What a session is given before its program is compiled: options, by the names
 * of the command line, and parameters of the program. */
#include "engine/api/session.h"

#include "engine/base/vec.h"
#include "grammar/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
whole_number(const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long x = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || x > most)
        return false;
    *out = x;
    return true;
}

/* A number of bytes: 500MB, 8GB, or without a unit. */
static rlf_status
read_size(const char *text, uint64_t *out, rlf_err *err)
{
    static const char units[][3] = {"KB", "MB", "GB", "TB"};
    char *end;
    double x = *text == '-' ? -1 : strtod(text, &end), unit = 1;
    bool known = x > 0 && !*end;
    for (size_t i = 0; x > 0 && i < RLF_COUNT(units); i++) {
        unit *= 1024;
        if (strcmp(end, units[i]) != 0)
            continue;
        x *= unit;
        known = true;
    }
    if (!known || x < 1 || x > 1e18)
        return rlf_fail(err, RLF_USAGE,
                        "--memory takes a size like 500MB or 8GB, not \"%s\"",
                        text);
    *out = (uint64_t)x;
    return RLF_OK;
}

static rlf_status
read_seconds(const char *text, double *out, rlf_err *err)
{
    char *end;
    double x = strtod(text, &end);
    if (*end || end == text || !(x >= 0 && x < 1e9))
        return rlf_fail(err, RLF_USAGE, "--patience takes seconds, not \"%s\"",
                        text);
    *out = x;
    return RLF_OK;
}

/* A backend by name, or "auto". */
static rlf_status
set_device(rlf_session_options *o, const char *name, rlf_err *err)
{
    const rlf_backend *const *list = o->backends;
    o->any_device = strcmp(name, "auto") == 0;
    o->backend = o->any_device ? NULL : rlf_backend_find(list, name);
    if (o->backend || o->any_device)
        return RLF_OK;
    rlf_fail(err, RLF_USAGE, "there is no device \"%s\"", name);
    rlf_buf names = {0};
    for (; *list; list++)
        rlf_buf_printf(&names, "%s (%s), ", (*list)->name, (*list)->doc);
    rlf_err_hint(err, "--device takes %sor auto", names.p);
    rlf_buf_free(&names);
    return RLF_USAGE;
}

/* Names with commas, and maybe blanks, between them, besides those given
 * before. */
static void
accept_names(rlf_session *s, const char *names)
{
    for (size_t n; *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        size_t from = strspn(names, " \t"), to = n;
        while (to > from && strchr(" \t", names[to - 1]))
            to--;
        if (to > from)
            RLF_PUSH_IN(s->arena, &s->inputs.accept,
                        rlf_arena_strndup(s->arena, names + from, to - from));
    }
}

/* An option that is a whole number; *known: it was one. */
static rlf_status
set_number(rlf_session_options *o, const char *name, const char *value,
           rlf_err *err, bool *known)
{
    const struct {
        const char *name;
        uint64_t most;
        uint64_t *wide; /* one of these is set */
        uint32_t *count;
        int *number;
        bool *flag;
    } numbers[] = {
        {"seed", INT64_MAX, .wide = &o->seed},
        {"steps", INT64_MAX, .wide = &o->steps},
        {"keep", UINT32_MAX, .wide = &o->keep},
        {"moves", INT64_MAX, .wide = &o->moves},
        {"samples", UINT32_MAX, .count = &o->samples},
        {"threads", 1024, .number = &o->threads},
        {"ranks", 65536, .number = &o->ranks},
        {"resume", 1, .flag = &o->resume},
        {"check-pure", 1, .flag = &o->check_pure},
    };
    size_t i = 0;
    while (i < RLF_COUNT(numbers) && strcmp(name, numbers[i].name) != 0)
        i++;
    *known = i < RLF_COUNT(numbers);
    if (!*known)
        return RLF_OK;
    uint64_t x;
    if (!whole_number(value, numbers[i].most, &x))
        return rlf_fail(err, RLF_USAGE,
                        "--%s takes a whole number up to %llu, not \"%s\"",
                        name, (unsigned long long)numbers[i].most, value);
    if (numbers[i].wide)
        *numbers[i].wide = x;
    if (numbers[i].count)
        *numbers[i].count = (uint32_t)x;
    if (numbers[i].number)
        *numbers[i].number = (int)x;
    if (numbers[i].flag)
        *numbers[i].flag = x;
    return RLF_OK;
}

/* An option that is a text, a path or a word. */
static bool
set_text(rlf_session *s, const char *name, const char *value)
{
    rlf_session_options *o = &s->options;
    const struct {
        const char *name, **to;
    } texts[] = {{"out", &o->directory},
                 {"dtype", &o->dtype},
                 {"isa", &o->isa},
                 {"plan", &o->plan},
                 {"cluster", &o->cluster},
                 {"profile", &o->profile},
                 {"like", &o->like},
                 {"prompts", &o->prompts},
                 {"lengths", &o->responses},
                 {"trace", &o->trace},
                 {"log", &o->log}};
    for (size_t i = 0; i < RLF_COUNT(texts); i++) {
        if (strcmp(name, texts[i].name) != 0)
            continue;
        *texts[i].to = rlf_arena_strdup(s->arena, value);
        return true;
    }
    return rlf_outputs_has(name); /* others write those */
}

static rlf_status
set_option(rlf_session *s, const char *name, const char *value, rlf_err *err)
{
    rlf_session_options *o = &s->options;
    bool known;
    rlf_status status = set_number(o, name, value, err, &known);
    if (known || set_text(s, name, value))
        return status;
    if (strcmp(name, "accept") == 0) {
        accept_names(s, value);
        return RLF_OK;
    }
    if (strcmp(name, "device") == 0)
        return set_device(o, value, err);
    if (strcmp(name, "save-every") == 0)
        return rlf_saving_every(s, value, err);
    if (strcmp(name, "keep-best") == 0)
        return rlf_saving_best(s, value, err);
    if (strcmp(name, "patience") == 0)
        return read_seconds(value, &o->patience, err);
    if (strcmp(name, "memory") == 0)
        return read_size(value, &o->memory, err);
    return rlf_fail(err, RLF_USAGE, "there is no option --%s", name);
}

/* For run.json. */
static void
note_option(rlf_session *s, const char *name, const char *value)
{
    const rlf_option_set option = {.name = rlf_arena_strdup(s->arena, name),
                                   .value = rlf_arena_strdup(s->arena, value)};
    RLF_PUSH_IN(s->arena, &s->given, option);
}

rlf_result
rlf_session_set(rlf_session *s, const char *name, const char *value)
{
    if (!s)
        return RLF_RESULT_FAILED;
    if (s->graph)
        return rlf_session_result(
            rlf_fail(&s->err, RLF_USAGE,
                     "%s is set after the program was compiled", name));
    if (strncmp(name, "--", 2) == 0) {
        rlf_status status = set_option(s, name + 2, value, &s->err);
        if (status >= 0)
            note_option(s, name, value);
        if (status >= 0 && rlf_outputs_has(name + 2))
            rlf_outputs_add(&s->outputs, s->arena, name, value);
        return rlf_session_result(status);
    }
    RLF_PUSH(&s->settings,
             (rlf_compile_setting){.name = rlf_arena_strdup(s->arena, name),
                                   .value = rlf_arena_strdup(s->arena, value)});
    return RLF_RESULT_OK;
}
