/* rlflow generate: answers to a prompt, to many, or in a chat on the terminal.
 */
#include "engine/cmd/given.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Counts how often Ctrl-C was pressed; of a batch the signal that ends it. */
static volatile sig_atomic_t interrupts, ended_by;
/* Is a batch being answered? Before that there is nothing to write. */
static volatile sig_atomic_t answers;

static void
interrupt(int number)
{
    (void)number;
    interrupts++;
}

/* Are answers of a batch being written? Then a signal waits so many seconds for
 * a reader that takes nothing. */
static volatile sig_atomic_t writing;
enum { MOST_WAIT = 5 };

static void
end_batch(int number)
{
    if (!answers)
        _exit(128 + number);
    ended_by = number;
    interrupts++;
    if (writing)
        alarm(MOST_WAIT);
}

static void
leave_reader(int number)
{
    static const char text[] =
        "rlflow: stopped by a signal; the reader of the answers takes no more, "
        "and some that were complete are lost\n";
    (void)number;
    _exit(write(STDERR_FILENO, text, sizeof text - 1) < 0 ? 3 : 128 + ended_by);
}

static void
begin_writing(void)
{
    writing = 1;
    if (ended_by)
        alarm(MOST_WAIT);
}

static void
end_writing(void)
{
    fflush(stdout);
    writing = 0;
    alarm(0);
}

/* The output, written as it comes. */
typedef struct writer {
    rlf_session *s;
    bool json, logprobs;
    bool terminal;  /* the standard output is one */
    size_t next;    /* the answer that is written now, of all */
    size_t shown;   /* bytes of it */
    bool line;      /* what was written last ended a line */
    int seen;       /* interrupts before */
    size_t each;    /* answers to a prompt */
    size_t written; /* answers as JSON */
} writer;

/* ---- writing ---- */

static void
put_json(const writer *w, const rlf_answer *a)
{
    rlf_buf out = {0};
    rlf_buf_printf(&out, "{\"row\":%zu,\"sample\":%zu,\"prompt\":", a->prompt,
                   a->sample);
    rlf_buf_json(&out, a->asked, a->n_asked);
    rlf_buf_puts(&out, ",\"response\":");
    rlf_buf_json(&out, a->text, a->n);
    rlf_buf_printf(&out, ",\"tokens\":%zu,\"finished\":%d", a->count,
                   a->finished);
    for (size_t i = 0; w->logprobs && i < a->count; i++)
        rlf_buf_printf(&out, "%s%d", i ? "," : ",\"ids\":[", a->ids[i]);
    for (size_t i = 0; w->logprobs && i < a->count; i++) {
        rlf_buf_puts(&out, i ? "," : "],\"logprobs\":[");
        rlf_buf_number(&out, (double)a->logprobs[i]);
    }
    rlf_buf_puts(&out, w->logprobs && a->count ? "]}\n" : "}\n");
    fwrite(out.p, 1, out.n, stdout);
    rlf_buf_free(&out);
}

static void
put_text(writer *w, const char *p, size_t n)
{
    rlf_buf text = {0};
    if (!n)
        return;
    rlf_buf_add(&text, p, n);
    if (w->terminal)
        rlf_cmd_put_text(text.p, stdout);
    else
        fwrite(p, 1, n, stdout);
    w->line = p[n - 1] == '\n';
    rlf_buf_free(&text);
}

/* JSON of those that are complete, up to the first that is not. */
static void
put_complete(writer *w)
{
    const rlf_answer *a = rlf_session_answer(w->s, w->next);
    begin_writing();
    for (; a && a->done && !a->cut; a = rlf_session_answer(w->s, ++w->next)) {
        put_json(w, a);
        w->written++;
    }
    end_writing();
}

/* Of the one whose turn it is what has come, of others nothing: they are
 * written in their order. */
static int
watch(void *arg, const rlf_answer *a)
{
    writer *w = arg;
    answers = 1;
    if (a->prompt * w->each + a->sample != w->next) {
        ;
    } else if (!w->json) {
        put_text(w, a->text + w->shown, a->n - w->shown);
        w->shown = a->n;
        fflush(stdout);
    } else if (a->done) {
        put_complete(w);
    }
    return interrupts != w->seen;
}

/* All that were not written yet; of a batch none that a signal cut off. */
static void
put_rest(writer *w)
{
    const rlf_answer *a;
    begin_writing();
    for (; (a = rlf_session_answer(w->s, w->next)) != NULL; w->next++) {
        if (w->json) {
            if (!a->cut) {
                put_json(w, a);
                w->written++;
            }
            continue;
        }
        if (w->next && w->next != 0 && !w->shown)
            put_text(w, "\n", 1); /* between answers */
        put_text(w, a->text + w->shown, a->n - w->shown);
        if (!w->line || !a->n)
            put_text(w, "\n", 1);
        w->shown = 0;
    }
    end_writing();
}

/* ---- prompts ---- */

static const char *
given(const rlf_command_line *line, rlf_option option)
{
    const rlf_option_value *v = &line->options[option];
    return v->given ? v->text : NULL;
}

static void
put_message(const char *role, const char *text, size_t n, rlf_buf *out)
{
    rlf_buf_printf(out,
                   "%s{\"role\": \"%s\", \"content\": ", out->n > 1 ? ", " : "",
                   role);
    rlf_buf_json(out, text, n);
    rlf_buf_putc(out, '}');
}

/* A chat's beginning: "[" and the message of the system. */
static void
begin_chat(const rlf_command_line *line, rlf_buf *out)
{
    const char *system = given(line, RLF_OPTION_SYSTEM);
    rlf_buf_clear(out);
    rlf_buf_putc(out, '[');
    if (system)
        put_message("system", system, strlen(system), out);
}

static bool
is_chat(const rlf_command_line *line)
{
    return line->options[RLF_OPTION_CHAT].given ||
           line->options[RLF_OPTION_SYSTEM].given;
}

/* A text of the command line or of a line, as it is or as what a user says. */
static rlf_result
add_prompt(rlf_session *s, const rlf_command_line *line, const char *text,
           size_t n)
{
    if (!is_chat(line))
        return rlf_session_prompt(s, line->files[0], text, n, 0);
    rlf_buf all = {0};
    begin_chat(line, &all);
    put_message("user", text, n, &all);
    rlf_buf_putc(&all, ']');
    rlf_result result = rlf_session_prompt(s, line->files[0], all.p, all.n, 1);
    rlf_buf_free(&all);
    return result;
}

/* ---- one prompt, or many ---- */

static rlf_result
answer(rlf_session *s, writer *w)
{
    w->s = s;
    w->next = w->shown = 0;
    w->line = true;
    w->seen = interrupts;
    rlf_cmd_warnings(s);
    rlf_result result = rlf_session_generate(s, watch, w);
    if (result == RLF_RESULT_OK)
        put_rest(w);
    else if (!w->line)
        putchar('\n');
    return result;
}

/* A batch that a signal ends writes the answers that are complete. */
static rlf_result
answer_batch(rlf_session *s, writer *w)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = end_batch, .sa_flags = SA_RESTART},
                     leave = {.sa_handler = leave_reader}, was;
    sigemptyset(&act.sa_mask);
    sigemptyset(&leave.sa_mask);
    sigaction(SIGALRM, &leave, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(numbers[i], &act, NULL);
    rlf_result result = answer(s, w);
    if (ended_by && result == RLF_RESULT_OK)
        rlf_cmd_aside("rlflow: stopped by signal %d; the %zu answers that were "
                      "complete are written, each with its row and sample\n",
                      (int)ended_by, w->written);
    return result;
}

static int
no_prompts(const char *path)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_fail(&err, RLF_USER, "%s has no lines, and each is a prompt", path);
    rlf_cmd_say(&err);
    return 1;
}

static int
batch(rlf_session *s, const rlf_command_line *line, writer *w)
{
    const char *path = given(line, RLF_OPTION_BATCH),
               *field = given(line, RLF_OPTION_PROMPT), *text;
    rlf_result result = RLF_RESULT_OK;
    rlf_given from = {0};
    size_t n;
    w->json = true;
    if (!field && rlf_session_prompt(s, line->files[0], NULL, 0,
                                     is_chat(line)) != RLF_RESULT_OK)
        return rlf_cmd_end(s, rlf_session_status(s));
    if (field) {
        result = rlf_session_prompt_rows(s, line->files[0], path, field,
                                         given(line, RLF_OPTION_SYSTEM),
                                         line->options[RLF_OPTION_CHAT].given);
    } else {
        int status = rlf_given_file(&from, path);
        while (!status && result == RLF_RESULT_OK &&
               (text = rlf_given_next(&from, &n)) != NULL) {
            rlf_given_warn(&from, NULL, text, n);
            result = add_prompt(s, line, text, n);
        }
        if (!status && !from.too_long && !from.at)
            status = no_prompts(path);
        if (status || from.too_long) {
            rlf_given_close(&from);
            rlf_session_close(s);
            return status ? status : 1;
        }
    }
    bool read = result == RLF_RESULT_OK;
    if (read)
        result = answer_batch(s, w);
    rlf_buf place = {0};
    if (!read && !field)
        rlf_buf_printf(&place, "note: this was line %zu of %s\n", from.at,
                       path);
    rlf_given_close(&from);
    int status = rlf_cmd_end_saying(s, result, place.p ? place.p : "");
    rlf_buf_free(&place);
    return status || !ended_by ? status : 128 + ended_by;
}

/* The prompt of the command line, or all of the standard input. */
static int
single(rlf_session *s, const rlf_command_line *line, writer *w)
{
    rlf_given from;
    const char *text = line->n_files > 1 ? line->files[1] : NULL;
    size_t n = text ? strlen(text) : 0;
    int status = rlf_given_file(&from, NULL);
    if (!text && (text = rlf_given_next(&from, &n)) != NULL) {
        text = rlf_given_rest(&from, &n);
        n -= n && text[n - 1] == '\n';
    }
    if (text)
        rlf_given_warn(NULL, "the prompt", text, n);
    if (from.too_long) {
        status = 1;
    } else {
        rlf_result result = add_prompt(s, line, text ? text : "", n);
        if (result == RLF_RESULT_OK)
            result = answer(s, w);
        status = rlf_cmd_end(s, result);
        s = NULL;
    }
    rlf_given_close(&from);
    if (s)
        rlf_session_close(s);
    return status;
}

/* ---- a chat ---- */

/* Reads what the user says into *text; false: that was all. */
static bool
hear(char **text, size_t *room, size_t *n, int *warned)
{
    for (;;) {
        bool colors = rlf_cmd_colors(STDOUT_FILENO);
        printf("%s> %s", colors ? "\033[1m" : "", colors ? "\033[0m" : "");
        fflush(stdout);
        errno = 0;
        ssize_t got = getline(text, room, stdin);
        if (got < 0 && errno == EINTR && interrupts > *warned + 1) {
            putchar('\n');
            return false;
        }
        if (got < 0 && errno == EINTR) {
            clearerr(stdin);
            *warned = interrupts;
            rlf_cmd_aside("\nCtrl-C once more, or Ctrl-D, ends the chat\n");
            (*warned)--;
            continue;
        }
        if (got < 0) {
            putchar('\n');
            return false;
        }
        *n = (size_t)got;
        while (*n && ((*text)[*n - 1] == '\n' || (*text)[*n - 1] == '\r'))
            --*n;
        *warned = interrupts;
        if (*n)
            return true;
    }
}

static int
chat(rlf_session *s, const rlf_command_line *line, writer *w)
{
    struct sigaction act = {.sa_handler = interrupt};
    rlf_buf all = {0}, turn = {0};
    char *text = NULL;
    size_t room = 0, n;
    int warned = 0;
    rlf_result result = RLF_RESULT_OK;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL); /* which ends getline, too */
    begin_chat(line, &all);
    while (result == RLF_RESULT_OK && hear(&text, &room, &n, &warned)) {
        rlf_given_warn(NULL, "what was typed", text, n);
        put_message("user", text, n, &all);
        rlf_buf_clear(&turn);
        rlf_buf_add(&turn, all.p, all.n);
        rlf_buf_putc(&turn, ']');
        result = rlf_session_prompt(s, line->files[0], turn.p, turn.n, 1);
        if (result == RLF_RESULT_OK)
            result = answer(s, w);
        warned = interrupts;
        const rlf_answer *a = rlf_session_answer(s, 0);
        if (result == RLF_RESULT_OK && a)
            put_message("assistant", a->text, a->n, &all);
    }
    free(text);
    rlf_buf_free(&all);
    rlf_buf_free(&turn);
    return rlf_cmd_end(s, result);
}

/* ---- the command ---- */

static int
wrong(const char *what, const char *hint)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_fail(&err, RLF_USAGE, "%s", what);
    rlf_err_hint(&err, "%s", hint);
    rlf_cmd_say(&err);
    return 2;
}

static int
generate(const rlf_command_line *line)
{
    const rlf_option_value *o = line->options;
    bool many = o[RLF_OPTION_BATCH].given;
    writer w = {.logprobs = o[RLF_OPTION_LOGPROBS].given,
                .terminal = isatty(STDOUT_FILENO)};
    w.json = w.logprobs || o[RLF_OPTION_JSON].given;
    w.each = o[RLF_OPTION_N].given ? (size_t)o[RLF_OPTION_N].number : 1;
    if (many && line->n_files > 1)
        return wrong("the prompts are given twice: by the command line, and by "
                     "--batch",
                     "leave out one of the two");
    bool talks = !many && line->n_files == 1 && isatty(STDIN_FILENO);
    if (o[RLF_OPTION_TEMPLATE_NAME].given && !talks && !is_chat(line) &&
        !o[RLF_OPTION_PROMPT].given)
        return wrong("--template_name is of chats, and the prompt is none",
                     "add --chat or --system, or leave out --template_name");
    if (talks && (w.each > 1 || w.json))
        return wrong("a chat has one answer to each message, as text",
                     "give a prompt, or leave out --n, --json and --logprobs");
    const char *system = given(line, RLF_OPTION_SYSTEM);
    if (system)
        rlf_given_warn(NULL, "--system", system, strlen(system));
    int status = 0;
    rlf_session *s = rlf_cmd_session_of(line, "", &status);
    if (!s)
        return status;
    return many    ? batch(s, line, &w)
           : talks ? chat(s, line, &w)
                   : single(s, line, &w);
}

/* A run, or a checkpoint, stands for its model. */
int
rlf_cmd_generate(const rlf_command_line *line)
{
    char *model = line->n_files ? rlf_cmd_model_of(line->files[0]) : NULL;
    if (!model)
        return generate(line);
    rlf_command_line other = *line;
    const char **files = rlf_calloc(line->n_files, sizeof *files);
    memcpy(files, line->files, line->n_files * sizeof *files);
    files[0] = model;
    other.files = files;
    int status = generate(&other);
    free(files);
    free(model);
    return status;
}
