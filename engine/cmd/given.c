/* See given.h. */
#include "engine/cmd/given.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a line at most. */
enum { MOST_LINE = 64 << 20 };

/* What can be read to its end: a file, a pipe that somebody writes to. */
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

void
rlf_given_close(rlf_given *from)
{
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
    return *n ? from->text.p : "";
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
