/* Colours on a terminal. Messages are put together without them (base/diag.h),
 * so a file, a pipe and JSON get none; here the words that lead the eye get
 * theirs. */
#include "engine/cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char reset[] = "\033[0m";

bool
rlf_cmd_colors(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && *term && strcmp(term, "dumb") != 0 &&
           isatty(fd);
}

/* Words that begin a line, or follow its place, and their colours. */
static const struct {
    const char *word, *color;
} words[] = {
    {"error:", "\033[1;31m"},
    {"warning:", "\033[1;35m"},
    {"hint:", "\033[36m"},
};

/* The first of the words that leads the line of n bytes; `at`: where. */
static int
leading_word(const char *line, size_t n, size_t *at)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t m = strlen(words[i].word);
        for (*at = 0; *at + m <= n; ++*at) {
            bool begins = *at == 0 || (*at >= 2 && line[*at - 2] == ':' &&
                                       line[*at - 1] == ' ');
            if (begins && memcmp(line + *at, words[i].word, m) == 0)
                return (int)i;
        }
    }
    return -1;
}

/* "   |   ~~~^~~": marks below a source line. */
static bool
is_marks(const char *line, size_t n)
{
    const char *bar = memchr(line, '|', n);
    size_t before = bar ? (size_t)(bar - line) : 0;
    return bar && strspn(line, " ") == before &&
           strspn(bar + 1, " ~^.") + before + 1 >= n;
}

static void
put_line(const char *line, size_t n)
{
    size_t at;
    int i = leading_word(line, n, &at);
    if (i >= 0) {
        size_t m = strlen(words[i].word);
        fprintf(stderr, "%.*s%s%s%s%.*s", (int)at, line, words[i].color,
                words[i].word, reset, (int)(n - at - m), line + at + m);
    } else if (is_marks(line, n)) {
        at = strcspn(line, "|") + 1;
        fprintf(stderr, "%.*s\033[32m%.*s%s", (int)at, line, (int)(n - at),
                line + at, reset);
    } else
        fwrite(line, 1, n, stderr);
}

void
rlf_cmd_put_colored(const char *text)
{
    if (!rlf_cmd_colors(STDERR_FILENO)) {
        rlf_cmd_put_text(text, stderr);
        return;
    }
    rlf_buf shown = {0};
    rlf_buf_shown(&shown, text, strlen(text));
    for (const char *at = shown.p; at && *at;) {
        size_t n = strcspn(at, "\n");
        put_line(at, n);
        at += n;
        if (*at)
            putc(*at++, stderr);
    }
    rlf_buf_free(&shown);
}
