/* What the subcommands share: a session from a command line, and its end; and
 * what several of them print. */
#include "engine/cmd/inside.h"

#include "engine/api/prediction.h"
#include "engine/base/option_table.h"
#include "engine/io/output.h"
#include "nodes/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Is that an option of sessions, or a file that they are not to read? */
static bool
is_of_session(int option, const char *name)
{
    const rlf_option_info *info = rlf_session_option(0);
    for (size_t i = 0; info && strcmp(info->name, name) != 0;)
        info = rlf_session_option(++i);
    return info || rlf_option_rows[option].type == RLF_OPTION_IS_OUTPUT;
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
        if (!v->text || !is_of_session(i, rlf_cmd_spelled(line, i, name)))
            continue;
        result = rlf_session_set(s, name, v->text);
        if (result != RLF_RESULT_OK && v->variable)
            rlf_err_hint(&s->err, "it is in the environment variable %s",
                         v->variable);
    }
    for (size_t i = 0; i < line->n_settings && result == RLF_RESULT_OK; i++)
        result =
            rlf_session_set(s, line->settings[i].name, line->settings[i].value);
    return result;
}

rlf_status
rlf_cmd_outputs(const rlf_command_line *line, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_outputs outputs = {0};
    rlf_status status = RLF_OK;
    for (int i = 0; i < RLF_OPTIONS && status >= 0; i++) {
        const char *path = line->options[i].text;
        if (rlf_option_rows[i].type != RLF_OPTION_IS_OUTPUT || !path)
            continue;
        const char *letter = line->options[i].letter;
        rlf_outputs_add(
            &outputs, arena,
            letter ? letter
                   : rlf_arena_printf(arena, "--%s", rlf_option_rows[i].word),
            path);
        status = rlf_output_check(path, err);
    }
    if (status >= 0)
        status = rlf_outputs_check(&outputs, NULL, err);
    rlf_arena_free(arena);
    return status;
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
    if (s) {
        s->options.json = rlf_cmd_diag_json();
        rlf_cmd_show_on_screen(&s->sources);
    }
    return s;
}

rlf_session *
rlf_cmd_session(const rlf_command_line *line, int *status)
{
    rlf_session *s = rlf_cmd_open(line->files[0]);
    if (!s) {
        rlf_cmd_put_message(rlf_session_message(s));
        *status = rlf_cmd_status(RLF_RESULT_FAILED);
        return NULL;
    }
    if (line->backends)
        s->options.backends = line->backends;
    rlf_result result = take_options(s, line);
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

void
rlf_cmd_put_promise(const rlf_session *s, const char *begin)
{
    const rlf_prediction *p = s->prediction;
    if (!p)
        return;
    const char *lengths = s->options.prompts || s->options.responses
                              ? "with the lengths that are said"
                          : s->like ? "with lengths like those of --like"
                                    : "at the caps";
    printf("%splace auto: a step of %.3g s by %s, %s, on the cluster %s%s\n",
           begin, p->step, p->simulated ? "simulation" : "the estimate",
           lengths, p->cluster,
           p->guessed ? ", whose rates are guesses that nobody has measured"
                      : "");
}

int
rlf_cmd_end(rlf_session *session, rlf_result result)
{
    return rlf_cmd_end_saying(session, result, "");
}

int
rlf_cmd_end_saying(rlf_session *session, rlf_result result, const char *more)
{
    rlf_err err = RLF_ERR_NONE;
    fflush(stdout); /* where both go to one file, the error is the last */
    const char *message =
        !session || session->leads ? rlf_session_message(session) : "";
    if (session && session->options.json)
        rlf_cmd_put_text(message, stderr);
    else
        rlf_cmd_put_message(message);
    rlf_cmd_put_message(more);
    rlf_status status = rlf_session_end(session, &err);
    if (status < 0) {
        rlf_cmd_say(&err, NULL);
        if (result >= 0)
            result = rlf_session_result(status);
    }
    return rlf_cmd_status(result);
}
