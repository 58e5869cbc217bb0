/* See given.h. */
#include "engine/cmd/given.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a line at most. */
enum { MOST_LINE = 64 << 20 };

/* Does a file begin as those of gzip and zstd do? */
static bool
is_compressed(int fd)
{
    unsigned char p[4] = {0};
    return pread(fd, p, sizeof p, 0) == sizeof p &&
           ((p[0] == 0x1f && p[1] == 0x8b) ||
            (p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd));
}

/* Opens what can be read to its end: a file, a pipe that somebody writes to. */
static rlf_status
open_file(rlf_given *from, const char *path, rlf_err *err)
{
    struct stat is;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), c = EOF;
    if (fd < 0 || fstat(fd, &is) != 0) {
        int why = errno;
        rlf_fail_errno(err, "cannot read %s", path);
        return why == ENOENT || why == ENOTDIR ? RLF_USER : RLF_ENV;
    }
    fcntl(fd, F_SETFL, O_RDONLY);
    from->file = fdopen(fd, "r");
    const char *kind = S_ISDIR(is.st_mode)                  ? "a directory"
                       : S_ISCHR(is.st_mode) && !isatty(fd) ? "a device"
                                                            : NULL;
    if (!kind && S_ISFIFO(is.st_mode) && (c = getc(from->file)) == EOF)
        kind = "a pipe that nobody writes to";
    if (c != EOF)
        ungetc(c, from->file);
    if (!kind && S_ISREG(is.st_mode) && is_compressed(fd)) {
        rlf_fail(err, RLF_USER,
                 "%s is compressed, and its lines are read as they are", path);
        rlf_err_hint(err, "decompress it first, say with gzip -d or zstd -d");
        return RLF_USER;
    }
    return kind ? rlf_fail(err, RLF_USER, "%s is %s", path, kind) : RLF_OK;
}

void
rlf_given_words(rlf_given *from, const rlf_command_line *line, size_t first)
{
    *from = (rlf_given){.line = line, .word = first};
}

int
rlf_given_file(rlf_given *from, const char *path)
{
    rlf_err err = RLF_ERR_NONE;
    *from =
        (rlf_given){.file = stdin, .name = path ? path : "the standard input"};
    if (!path)
        return 0;
    from->file = NULL;
    rlf_status status = open_file(from, path, &err);
    if (status >= 0)
        return 0;
    rlf_given_close(from);
    rlf_cmd_say(&err);
    return status == RLF_USER ? 1 : 3;
}

/* Bytes that are no UTF-8, and the place of the first of them, from 1. */
static size_t
count_odd(const char *text, size_t n, size_t *first)
{
    size_t odd = 0;
    for (size_t i = 0, k; i < n; i += k) {
        k = rlf_str_utf8(text + i, n - i);
        if (!k && !odd++)
            *first = i + 1;
        k += !k;
    }
    return odd;
}

void
rlf_given_warn(rlf_given *from, const char *what, const char *text, size_t n)
{
    size_t first = 0, odd = count_odd(text, n, &first);
    if (!odd || (from && from->odd++))
        return;
    rlf_buf place = {0}, out = {0};
    if (from && from->file && from->at)
        rlf_buf_printf(&place, "line %zu of ", from->at);
    rlf_buf_printf(&out,
                   "warning: %s%s has %zu byte%s no UTF-8, and %s read as "
                   "U+FFFD; the first is byte %zu\n",
                   place.p ? place.p : "",
                   what         ? what
                   : from->file ? from->name
                                : "a text of the command line",
                   odd, odd > 1 ? "s that are" : " that is",
                   odd > 1 ? "are" : "is", first);
    fflush(stdout);
    rlf_cmd_put_message(out.p);
    rlf_buf_free(&place);
    rlf_buf_free(&out);
}

void
rlf_given_close(rlf_given *from)
{
    if (from->odd > 1) {
        char text[96];
        snprintf(text, sizeof text,
                 "warning: %zu text%s behind it %s such bytes too\n",
                 from->odd - 1, from->odd > 2 ? "s" : "",
                 from->odd > 2 ? "have" : "has");
        rlf_cmd_put_message(text);
    }
    if (from->file && from->file != stdin)
        fclose(from->file);
    rlf_buf_free(&from->text);
    *from = (rlf_given){0}; /* so that it can be closed once more */
}

const char *
rlf_given_next(rlf_given *from, size_t *n)
{
    if (!from->file) {
        const char *word = from->word < from->line->n_files
                               ? from->line->files[from->word++]
                               : NULL;
        *n = word ? strlen(word) : 0;
        return word;
    }
    int c;
    rlf_buf_clear(&from->text);
    while ((c = getc_unlocked(from->file)) != EOF && c != '\n' &&
           from->text.n < MOST_LINE)
        rlf_buf_putc(&from->text, (char)c);
    if (c == EOF && !from->text.n)
        return NULL;
    from->at++;
    if (c != EOF && c != '\n') {
        rlf_err err = RLF_ERR_NONE;
        rlf_fail(&err, RLF_USER, "line %zu of %s is longer than %d MB",
                 from->at, from->name, MOST_LINE >> 20);
        rlf_cmd_say(&err);
        from->too_long = true;
        return NULL;
    }
    *n = from->text.n;
    *n -= *n && from->text.p[*n - 1] == '\r'; /* of an end of line */
    size_t mark =
        from->at == 1 && *n >= 3 && memcmp(from->text.p, "\xef\xbb\xbf", 3) == 0
            ? 3 /* of the order of bytes */
            : 0;
    *n -= mark;
    return *n ? from->text.p + mark : "";
}

const char *
rlf_given_rest(rlf_given *from, size_t *n)
{
    rlf_buf all = {0};
    do {
        rlf_buf_add(&all, from->text.p, from->text.n);
        rlf_buf_putc(&all, '\n');
    } while (rlf_given_next(from, n) != NULL);
    rlf_buf_free(&from->text);
    from->text = all;
    from->at = 0;
    *n = all.n;
    return all.p;
}
