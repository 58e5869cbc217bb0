/* Messages: all that the command prints to the standard error. With --diag json
 * each of them is one line with a JSON object, whoever wrote it: errors have
 * their members (base/diag.h), and what is a text of lines ("warning: ...",
 * "hint: ...", remarks) is taken apart here. */
#include "engine/cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The form that --diag or RLFLOW_DIAG asks for, also of messages that no
 * session prints. */
static bool as_json;

void
rlf_cmd_diag(int argc, char *const *argv)
{
    static const char option[] = "--diag";
    const char *word = getenv("RLFLOW_DIAG");
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t n = sizeof option - 1;
        if (strncmp(argv[i], option, n) != 0)
            continue;
        if (argv[i][n] == '=')
            word = argv[i] + n + 1;
        else if (!argv[i][n] && i + 1 < argc)
            word = argv[i + 1];
    }
    as_json = word && strcmp(word, "json") == 0;
}

bool
rlf_cmd_diag_json(void)
{
    return as_json;
}

void
rlf_cmd_put_text(const char *text, FILE *to)
{
    rlf_buf shown = {0};
    rlf_buf_shown(&shown, text, strlen(text));
    if (shown.n)
        fputs(shown.p, to);
    rlf_buf_free(&shown);
}

void
rlf_cmd_line(const char *fmt, ...)
{
    rlf_buf line = {0};
    va_list ap;
    va_start(ap, fmt);
    rlf_buf_vline(&line, fmt, ap);
    va_end(ap);
    fputs(line.p, stdout);
    rlf_buf_free(&line);
}

/* ---- a text as JSON ---- */

/* A message that is being put together of its lines. */
typedef struct message {
    const char *severity; /* NULL: none has begun */
    rlf_buf text, hint, detail;
} message;

static void
put_member(rlf_buf *out, const char *name, const rlf_buf *value)
{
    if (!value->n)
        return;
    rlf_buf_printf(out, ", \"%s\": ", name);
    rlf_buf_json(out, value->p, value->n);
}

static void
end_message(message *m, rlf_buf *out)
{
    if (m->severity) {
        rlf_buf_printf(out, "{\"severity\": \"%s\", \"code\": \"run\"",
                       m->severity);
        put_member(out, "text", &m->text);
        put_member(out, "detail", &m->detail);
        put_member(out, "hint", &m->hint);
        rlf_buf_puts(out, "}\n");
    }
    m->severity = NULL;
    rlf_buf_clear(&m->text);
    rlf_buf_clear(&m->hint);
    rlf_buf_clear(&m->detail);
}

static void
add_line(rlf_buf *to, const char *line, size_t n)
{
    if (to->n)
        rlf_buf_putc(to, '\n');
    rlf_buf_add(to, line, n);
}

static bool
begins(const char *line, size_t n, const char *word)
{
    size_t m = strlen(word);
    return n >= m && memcmp(line, word, m) == 0;
}

/* A line begins a message, or belongs to the one before. */
static void
take_line(message *m, const char *line, size_t n, rlf_buf *out)
{
    static const char *const words[] = {"error", "warning", "note"};
    if (begins(line, n, "hint: ") && m->severity) {
        add_line(&m->hint, line + 6, n - 6);
        return;
    }
    if (begins(line, n, "  ") && m->severity) {
        size_t blank = 0;
        while (blank < n && line[blank] == ' ')
            blank++;
        add_line(&m->detail, line + blank, n - blank);
        return;
    }
    end_message(m, out);
    m->severity = "note";
    if (begins(line, n, "rlflow: ")) {
        line += 8;
        n -= 8;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t k = strlen(words[i]);
        if (!begins(line, n, words[i]) || !begins(line + k, n - k, ": "))
            continue;
        m->severity = words[i];
        line += k + 2;
        n -= k + 2;
        break;
    }
    rlf_buf_add(&m->text, line, n);
}

static void
put_as_json(const char *text)
{
    rlf_buf out = {0};
    message m = {0};
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n)
            take_line(&m, text, n, &out);
        text += n + (text[n] == '\n');
    }
    end_message(&m, &out);
    rlf_buf_free(&m.text);
    rlf_buf_free(&m.hint);
    rlf_buf_free(&m.detail);
    rlf_cmd_put_text(out.p ? out.p : "", stderr);
    rlf_buf_free(&out);
}

/* ---- printing ---- */

void
rlf_cmd_put_message(const char *text)
{
    if (as_json)
        put_as_json(text);
    else
        rlf_cmd_put_colored(text);
}

void
rlf_cmd_put_whole(const char *text)
{
    if (as_json)
        rlf_cmd_put_text(text, stderr);
    else
        rlf_cmd_put_colored(text);
}

void
rlf_cmd_put_log(const char *line)
{
    rlf_diag_print_log(line, as_json);
}

void
rlf_cmd_aside(const char *fmt, ...)
{
    static rlf_buf line; /* of JSON, until it ends */
    va_list ap;
    va_start(ap, fmt);
    if (as_json)
        rlf_buf_vprintf(&line, fmt, ap);
    else
        vfprintf(stderr, fmt, ap);
    va_end(ap);
    if (!line.n || line.p[line.n - 1] != '\n')
        return;
    put_as_json(line.p);
    rlf_buf_free(&line);
}

size_t
rlf_cmd_columns(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void
rlf_cmd_say(const rlf_err *err)
{
    rlf_buf text = {0};
    (as_json ? rlf_err_print_json : rlf_err_print)(err, NULL, &text);
    rlf_cmd_put_whole(text.p);
    rlf_buf_free(&text);
}
