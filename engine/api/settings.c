/* Settings of a session before its program is compiled: options, by the names
 * of the command line, and parameters of the program. */
#include "engine/api/session.h"
#include "engine/api/rundir/rundir.h"
#include "engine/api/sinks/sinks.h"

#include "engine/base/option.h"
#include "engine/base/vec.h"
#include "grammar/compile.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A number of bytes: 500MB, 8GB, or without a unit. */
static rlf_status
read_size(rlf_session *s, const char *text, rlf_err *err)
{
    static const char units[][3] = {"KB", "MB", "GB", "TB"};
    const char *end;
    double x = rlf_str_number(text, &end), unit = 1;
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
    s->options.memory = (uint64_t)x;
    return RLF_OK;
}

static rlf_status
read_seconds(rlf_session *s, const char *text, rlf_err *err)
{
    const char *end;
    double x = rlf_str_number(text, &end);
    if (*end || !(x >= 0 && x < 1e9))
        return rlf_fail(err, RLF_USAGE, "--patience takes seconds, not \"%s\"",
                        text);
    s->options.patience = x;
    return RLF_OK;
}

/* "FIRST" or "FIRST-LAST". */
static rlf_status
read_ports(rlf_session *s, const char *text, rlf_err *err)
{
    char *end;
    long first = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
    long last = first;
    if (first && *end == '-' && isdigit((unsigned char)end[1]))
        last = strtol(end + 1, &end, 10);
    if (!first || *end || last < first || last > UINT16_MAX)
        return rlf_fail(err, RLF_USAGE,
                        "--ports takes a port of TCP or two, as in "
                        "24100-24199, not \"%s\"",
                        text);
    s->options.first_port = (int)first;
    s->options.last_port = (int)last;
    return RLF_OK;
}

/* A backend by name, or "auto". */
static rlf_status
set_device(rlf_session *s, const char *name, rlf_err *err)
{
    rlf_session_options *o = &s->options;
    const rlf_backend *const *list = rlf_backends;
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
static rlf_status
accept_names(rlf_session *s, const char *names, rlf_err *err)
{
    const char *all = names;
    for (size_t n; *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        size_t from = strspn(names, " \t"), to = n;
        while (to > from && strchr(" \t", names[to - 1]))
            to--;
        if (to <= from)
            return rlf_fail(err, RLF_USAGE,
                            "--accept %s: a name is missing between its commas",
                            all);
        RLF_PUSH_IN(s->arena, &s->directory.inputs.accept,
                    rlf_arena_strndup(s->arena, names + from, to - from));
    }
    return RLF_OK;
}

static rlf_status
set_diag(rlf_session *s, const char *form, rlf_err *err)
{
    (void)err;
    s->options.json = strcmp(form, "json") == 0;
    return RLF_OK;
}

/* ---- options ---- */

/* The contents of the table's column `sets`. */
typedef struct setter {
    enum { NOTHING, TEXT, FLAG, NUMBER, COUNT, WIDE, FUNCTION } kind;
    size_t at; /* of the member */
    rlf_status (*by)(rlf_session *s, const char *text, rlf_err *err);
} setter;

static const setter setters[RLF_OPTIONS] = {
#define MEMBER(name) (((rlf_session_options *)0)->name)
#define FIELD(name)                                  \
    {                                                \
        .kind = _Generic(MEMBER(name),             \
                         const char *: TEXT,       \
                         bool: FLAG,               \
                         int: NUMBER,              \
                         uint32_t: COUNT,          \
                         uint64_t: WIDE),          \
        .at = offsetof(rlf_session_options, name), \
    }
#define BY(function)                        \
    {                                       \
        .kind = FUNCTION, .by = (function), \
    }
#define NONE     \
    {            \
        .at = 0, \
    }
#define OPTION(name, word, argument, environment, type, preset, least, most, \
               sets, on, doc)                                                \
    sets,
#include "engine/base/option.def"
#undef OPTION
};

static const rlf_option_info infos[RLF_OPTIONS] = {
#define OPTION(name, word, argument, environment, type, preset, least, most, \
               sets, on, doc)                                                \
    {"--" word, argument, doc},
#include "engine/base/option.def"
#undef OPTION
};

const rlf_option_info *
rlf_session_option(size_t i)
{
    for (size_t k = 0; k < RLF_OPTIONS; k++)
        if (setters[k].kind != NOTHING && i-- == 0)
            return &infos[k];
    return NULL;
}

static rlf_status
set_option(rlf_session *s, const char *name, const char *text, rlf_err *err)
{
    rlf_option option = rlf_option_called(name);
    if (option == RLF_OPTIONS || setters[option].kind == NOTHING)
        return rlf_fail(err, RLF_USAGE, "there is no option %s", name);
    const setter *to = &setters[option];
    rlf_option_value value = {0};
    RLF_TRY(rlf_option_read(option, text, name, err, &value));
    void *member = (char *)&s->options + to->at;
    switch (to->kind) {
    case NOTHING:
        break;
    case TEXT:
        *(const char **)member = rlf_arena_strdup(s->arena, text);
        break;
    case FLAG:
        *(bool *)member = value.number;
        break;
    case NUMBER:
        *(int *)member = (int)value.number;
        break;
    case COUNT:
        *(uint32_t *)member = (uint32_t)value.number;
        break;
    case WIDE:
        *(uint64_t *)member = (uint64_t)value.number;
        break;
    case FUNCTION:
        return to->by(s, text, err);
    }
    return RLF_OK;
}

/* Notes an option for run.json. */
static void
note_option(rlf_session *s, const char *name, const char *value)
{
    const rlf_option_set option = {.name = rlf_arena_strdup(s->arena, name),
                                   .value = rlf_arena_strdup(s->arena, value)};
    RLF_PUSH_IN(s->arena, &s->given, option);
}

rlf_session *
rlf_session_again(const rlf_session *of)
{
    rlf_session *s = of->program.text ? rlf_session_open_text(of->program.path,
                                                              of->program.text,
                                                              of->program.size)
                                      : rlf_session_open(of->program.path);
    if (!s)
        return NULL;
    for (size_t i = 0; i < of->settings.count; i++)
        rlf_session_set(s, of->settings.data[i].name,
                        of->settings.data[i].value);
    s->program.classes = of->program.classes;
    s->options = of->options;
    s->host = of->host;
    s->given = of->given;
    s->outputs = of->outputs;
    s->logging.log = of->logging.log;
    s->program.sources.columns = of->program.sources.columns;
    s->program.sources.width = of->program.sources.width;
    return s;
}

bool
rlf_session_given(const rlf_session *s, const char *option)
{
    for (size_t i = 0; i < s->given.count; i++)
        if (strcmp(s->given.data[i].name, option) == 0)
            return true;
    return false;
}

rlf_result
rlf_session_set_from(rlf_session *s, const char *name, const char *value,
                     const char *variable)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__,
                         RLF_POINTERS({"name", name}, {"value", value},
                                      {"variable", variable})))
        return rlf_session_status(s);
    rlf_result result = rlf_session_set(s, name, value);
    if (result != RLF_RESULT_OK)
        rlf_err_hint(&s->err, "it is in the environment variable %s", variable);
    return result;
}

rlf_result
rlf_session_set(rlf_session *s, const char *name, const char *value)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__,
                         RLF_POINTERS({"name", name}, {"value", value})))
        return rlf_session_status(s);
    rlf_program_forget(s);
    if (s->graph)
        return rlf_call_refuse(s, "%s is set after the program was compiled",
                               name);
    if (*name == '-') {
        rlf_status status = set_option(s, name, value, &s->err);
        if (status >= 0)
            note_option(s, name, value);
        if (status >= 0 && rlf_outputs_has(rlf_option_called(name)))
            rlf_outputs_add(&s->outputs, s->arena, name, value);
        return rlf_session_result(status);
    }
    RLF_PUSH(&s->settings,
             (rlf_compile_setting){.name = rlf_arena_strdup(s->arena, name),
                                   .value = rlf_arena_strdup(s->arena, value)});
    return RLF_RESULT_OK;
}
