/* rlflow tokenize: the tokens of texts and chats, and the texts of tokens. */
#include "engine/cmd/given.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
open_source(rlf_given *from, const rlf_command_line *line)
{
    const rlf_option_value *file = &line->options[RLF_OPTION_FILE];
    rlf_err err = RLF_ERR_NONE;
    if (file->given && line->n_files > 1) {
        rlf_fail(&err, RLF_USAGE, "the texts are given twice: '%s' and --file",
                 line->files[1]);
        rlf_err_hint(&err, "leave out one of the two");
        rlf_cmd_say(&err);
        return 2;
    }
    if (line->n_files > 1)
        rlf_given_words(from, line, 1);
    else
        return rlf_given_file(from, file->given ? file->text : NULL);
    return 0;
}

/* A piece of text between quotes; what is no character of UTF-8, or one that a
 * terminal acts on, is seen. */
static void
put_piece(const char *p, size_t n, rlf_buf *out)
{
    rlf_buf_putc(out, '"');
    for (size_t i = 0, m; i < n; i += m) {
        unsigned char c = (unsigned char)p[i];
        m = rlf_str_utf8(p + i, n - i);
        bool control = c < ' ' || c == 127 ||
                       (m == 2 && c == 0xc2 && (unsigned char)p[i + 1] < 0xa0);
        if (c == '"' || c == '\\')
            rlf_buf_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\t' || c == '\r')
            rlf_buf_printf(out, "\\%c",
                           c == '\n'   ? 'n'
                           : c == '\t' ? 't'
                                       : 'r');
        else if (!m || control) {
            rlf_buf_printf(out, "\\x%02x", c);
            m = 1;
        } else
            rlf_buf_add(out, p + i, m);
    }
    rlf_buf_putc(out, '"');
}

/* A special token's name between angle quotes, in colour on a terminal. */
static void
put_special(const rlf_token *t, bool colors, rlf_buf *out)
{
    rlf_buf_printf(out, "%s\xc2\xab", colors ? "\033[36m" : "");
    rlf_buf_shown(out, t->text, t->n);
    rlf_buf_printf(out, "\xc2\xbb%s", colors ? "\033[0m" : "");
}

static void
print_tokens(const rlf_tokens *r, bool ids)
{
    rlf_buf out = {0};
    bool colors = rlf_cmd_colors(STDOUT_FILENO);
    if (!ids)
        rlf_buf_printf(&out, "%zu:", r->count);
    for (size_t i = 0; i < r->count; i++) {
        const rlf_token *t = &r->tokens[i];
        rlf_buf_printf(&out, "%s%d", ids ? i ? " " : "" : "  ", t->id);
        if (ids)
            continue;
        rlf_buf_putc(&out, ' ');
        if (t->special)
            put_special(t, colors, &out);
        else
            put_piece(t->text, t->n, &out);
    }
    rlf_buf_putc(&out, '\n');
    fwrite(out.p, 1, out.n, stdout);
    rlf_buf_free(&out);
}

/* The text as it is, but for what a terminal acts on. */
static void
print_text(const rlf_tokens *r)
{
    if (isatty(STDOUT_FILENO))
        rlf_cmd_put_text(r->text, stdout);
    else
        fwrite(r->text, 1, r->n, stdout);
    if (!r->n || r->text[r->n - 1] != '\n')
        putchar('\n');
}

/* Numbers of tokens, between blanks or commas, more of them in `ids`. */
static int
read_ids(const char *text, rlf_buf *ids)
{
    rlf_err err = RLF_ERR_NONE;
    for (const char *p = text + strspn(text, " ,\t\r[]"); *p;) {
        char *end;
        errno = 0;
        long long id = strtoll(p, &end, 10);
        bool whole = end > p && (!*end || strchr(" ,\t\r[]", *end));
        if (!whole || errno || id < 0 || id > INT32_MAX) {
            size_t n = strcspn(p, " ,\t\r[]");
            rlf_fail(&err, RLF_USAGE, "'%.*s' is no number of a token",
                     (int)(n < 60 ? n : 60), p);
            rlf_err_hint(&err, "--decode takes whole numbers from 0");
            rlf_cmd_say(&err);
            return 2;
        }
        rlf_buf_add(ids, &(int32_t){(int32_t)id}, sizeof(int32_t));
        p = end + strspn(end, " ,\t\r[]");
    }
    return 0;
}

/* A line of numbers each; those of the command line are one. */
static int
decode(rlf_session *s, rlf_given *from, const char *path)
{
    rlf_buf ids = {0};
    const char *text;
    size_t n;
    int status = 0;
    bool any = false;
    while (!status && (text = rlf_given_next(from, &n)) != NULL) {
        status = read_ids(text, &ids);
        any = true;
        if (status || !from->file)
            continue;
        const rlf_tokens *r = rlf_session_detokenize(
            s, path, (const int32_t *)ids.p, ids.n / sizeof(int32_t));
        if (!r)
            break;
        print_text(r);
        rlf_buf_clear(&ids);
    }
    if (!status && any && !from->file) {
        const rlf_tokens *r = rlf_session_detokenize(
            s, path, (const int32_t *)ids.p, ids.n / sizeof(int32_t));
        if (r)
            print_text(r);
    }
    rlf_buf_free(&ids);
    return status;
}

/* Is this the whole of a chat? Then the others of its file have a line each,
 * too. */
static bool
is_whole(const char *text, size_t n)
{
    while (n && strchr(" \t\r", text[n - 1]))
        n--;
    text += strspn(text, " \t");
    return n > 1 && strchr("[{", *text) &&
           (text[n - 1] == ']' || text[n - 1] == '}');
}

/* Lines that are read ahead, so that all cores have some. */
typedef struct ahead {
    rlf_buf bytes;
    rlf_buf n, line; /* of size_t, per line */
    rlf_buf texts;   /* of const char * */
    size_t count;
} ahead;

/* The next lines; false: there is none. */
static bool
read_ahead(rlf_given *from, ahead *a)
{
    enum { BYTES = 4 << 20, LINES = 1 << 14 };
    const char *text;
    size_t n, at = 0;
    rlf_buf_clear(&a->bytes);
    rlf_buf_clear(&a->n);
    rlf_buf_clear(&a->line);
    rlf_buf_clear(&a->texts);
    a->count = 0;
    while (a->bytes.n < BYTES && a->count < LINES &&
           (text = rlf_given_next(from, &n)) != NULL) {
        rlf_given_warn(from, NULL, text, n);
        rlf_buf_add(&a->bytes, text, n);
        rlf_buf_putc(&a->bytes, 0);
        rlf_buf_add(&a->n, &n, sizeof n);
        rlf_buf_add(&a->line, &from->at, sizeof from->at);
        a->count++;
    }
    for (size_t i = 0; i < a->count; i++) {
        text = a->bytes.p + at;
        rlf_buf_add(&a->texts, &text, sizeof text);
        at += ((const size_t *)a->n.p)[i] + 1;
    }
    return a->count > 0;
}

/* The lines of a file that is there as a whole. */
static void
encode_lines(rlf_session *s, rlf_given *from, const char *path, bool ids)
{
    ahead a = {0};
    size_t done = 0;
    while (done == a.count && read_ahead(from, &a)) {
        const rlf_tokens *r =
            rlf_session_tokenize_all(s, path, (const char *const *)a.texts.p,
                                     (const size_t *)a.n.p, a.count, &done);
        for (size_t i = 0; i < done; i++)
            print_tokens(&r[i], ids);
        if (done < a.count)
            from->at = ((const size_t *)a.line.p)[done];
    }
    rlf_buf_free(&a.bytes);
    rlf_buf_free(&a.n);
    rlf_buf_free(&a.line);
    rlf_buf_free(&a.texts);
}

static bool
is_regular(const rlf_given *from)
{
    struct stat about;
    return from->file && fstat(fileno(from->file), &about) == 0 &&
           S_ISREG(about.st_mode);
}

static void
encode(rlf_session *s, rlf_given *from, const char *path, bool chat, bool ids)
{
    const char *text;
    size_t n;
    bool between = false;
    const rlf_tokens *r;
    if (!chat && is_regular(from)) {
        encode_lines(s, from, path, ids);
        return;
    }
    while ((text = rlf_given_next(from, &n)) != NULL) {
        if (chat && strspn(text, " \t\r\n") == n)
            continue;
        if (chat && from->file && !between && !is_whole(text, n))
            text = rlf_given_rest(from, &n);
        if (!chat) /* JSON of such bytes is refused */
            rlf_given_warn(from, NULL, text, n);
        r = chat ? rlf_session_chat(s, path, text, n)
                 : rlf_session_tokenize(s, path, text, n);
        if (!r)
            return;
        if (chat && !ids) {
            if (between)
                putchar('\n');
            print_text(r);
        }
        between = true;
        print_tokens(r, ids);
    }
}

/* An error of the tokenizer or its template is about no line. */
static bool
open_model(rlf_session *s, const char *path, bool chat)
{
    size_t done;
    return chat ? rlf_session_chat(s, path, NULL, 0) != NULL
                : rlf_session_tokenize_all(s, path, NULL, NULL, 0, &done) !=
                      NULL;
}

int
rlf_cmd_tokenize(const rlf_command_line *line)
{
    rlf_given from;
    int status = open_source(&from, line);
    if (status)
        return status;
    rlf_session *s = rlf_cmd_session_of(line, "", &status);
    if (!s)
        return status;
    const char *path = line->files[0];
    if (!open_model(s, path, line->options[RLF_OPTION_CHAT].given))
        ;
    else if (line->options[RLF_OPTION_DECODE].given)
        status = decode(s, &from, path);
    else
        encode(s, &from, path, line->options[RLF_OPTION_CHAT].given,
               line->options[RLF_OPTION_IDS].given);
    rlf_buf place = {0};
    if (rlf_session_failed(s) && from.at)
        rlf_buf_printf(&place, "note: this was line %zu of %s\n", from.at,
                       from.name);
    status = from.too_long ? 1 : status;
    rlf_given_close(&from);
    int ended =
        rlf_cmd_end_saying(s, rlf_session_status(s), place.p ? place.p : "");
    rlf_buf_free(&place);
    return status ? status : ended;
}
