/* Functions that subcommands share: a session from a command line, its end, and
 * what several of them print. */
#include "engine/base/option_table.h"
#include "engine/cmd/cmd.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* Is that an option of sessions? The form of messages is set already. */
static bool
is_of_session(int option)
{
    const char *word = rlf_option_rows[option].word;
    const rlf_option_info *info = rlf_session_option(0);
    for (size_t i = 0; info && strcmp(info->name + 2, word) != 0;)
        info = rlf_session_option(++i);
    return info && option != RLF_OPTION_DIAG;
}

const char *
rlf_cmd_spelled(const rlf_command_line *line, int option,
                char name[RLF_CMD_NAME])
{
    const char *letter = line->options[option].letter;
    snprintf(name, RLF_CMD_NAME, "%s%s", letter ? "" : "--",
             letter ? letter : rlf_option_rows[option].word);
    return name;
}

static rlf_result
take_options(rlf_session *s, const rlf_command_line *line)
{
    rlf_result result = RLF_RESULT_OK;
    for (int i = 0; i < RLF_OPTIONS && result == RLF_RESULT_OK; i++) {
        const rlf_option_value *v = &line->options[i];
        char name[RLF_CMD_NAME];
        if (!v->text || !is_of_session(i))
            continue;
        rlf_cmd_spelled(line, i, name);
        result = v->variable
                     ? rlf_session_set_from(s, name, v->text, v->variable)
                     : rlf_session_set(s, name, v->text);
    }
    for (size_t i = 0; i < line->n_settings && result == RLF_RESULT_OK; i++)
        result =
            rlf_session_set(s, line->settings[i].name, line->settings[i].value);
    return result;
}

int
rlf_cmd_status(rlf_result result)
{
    return result < RLF_RESULT_FAILED ? -(int)RLF_RESULT_FAILED
           : result < 0               ? -(int)result
                                      : 0;
}

rlf_session *
rlf_cmd_open(const char *path)
{
    rlf_session *s = rlf_session_open(path);
    if (rlf_cmd_diag_json())
        rlf_session_set(s, "--diag", "json");
    rlf_session_screen(s, rlf_cmd_columns(STDERR_FILENO));
    return s;
}

rlf_session *
rlf_cmd_session(const rlf_command_line *line, int *status)
{
    return rlf_cmd_session_of(line, line->files[0], status);
}

rlf_session *
rlf_cmd_session_of(const rlf_command_line *line, const char *path, int *status)
{
    rlf_session *s = rlf_cmd_open(path);
    rlf_result result = s ? take_options(s, line) : RLF_RESULT_MEMORY;
    if (result == RLF_RESULT_OK)
        return s;
    *status = rlf_cmd_end(s, result);
    return NULL;
}

void
rlf_cmd_warn(rlf_session *s)
{
    const char *text = rlf_session_advice(s);
    fflush(stdout);
    rlf_cmd_put_text(text, stderr);
}

void
rlf_cmd_warnings(rlf_session *s)
{
    const char *text = rlf_session_warnings(s);
    rlf_buf all = {0};
    while (*text) {
        size_t n = strcspn(text, "\n");
        rlf_buf_puts(&all, "warning: ");
        rlf_buf_add(&all, text, n);
        rlf_buf_putc(&all, '\n');
        text += n + (text[n] == '\n');
    }
    fflush(stdout);
    if (all.n)
        rlf_cmd_put_message(all.p);
    rlf_buf_free(&all);
}

void
rlf_cmd_put(rlf_session *s, rlf_text which)
{
    const char *text = rlf_session_text(s, which);
    fputs(text ? text : "", stdout);
}

void
rlf_cmd_notes(rlf_session *s)
{
    fflush(stdout);
    rlf_cmd_put_message(rlf_session_text(s, RLF_TEXT_NOTES));
}

int
rlf_cmd_end(rlf_session *session, rlf_result result)
{
    return rlf_cmd_end_saying(session, result, "");
}

int
rlf_cmd_end_saying(rlf_session *session, rlf_result result, const char *more)
{
    const rlf_info *info = rlf_session_info(session);
    const char *message = rlf_session_message(session);
    size_t told = 0;
    fflush(stdout); /* where both go to one file, the error is the last */
    if (!info || info->leads) {
        (session ? rlf_cmd_put_whole : rlf_cmd_put_message)(message);
        told = strlen(message);
    }
    rlf_cmd_put_message(more);
    rlf_result ended = rlf_session_finish(session);
    if (ended < 0) /* behind the error of before stands that of the end */
        rlf_cmd_put_whole(rlf_session_message(session) + told);
    rlf_session_close(session);
    return rlf_cmd_status(result < 0 ? result : ended);
}

double
rlf_cmd_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool
rlf_cmd_dry(rlf_session *session, rlf_result *result)
{
    *result = rlf_session_dry_run(session);
    if (*result != RLF_RESULT_OK)
        return false;
    if (rlf_session_info(session)->leads) {
        rlf_cmd_warn(session);
        return true;
    }
    *result = rlf_session_step(session); /* until process 0 has printed */
    return false;
}
