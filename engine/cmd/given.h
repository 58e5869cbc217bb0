/* Texts that a command is given: its words, or the lines of a file or of the
 * standard input. */
#ifndef RLF_CMD_GIVEN_H
#define RLF_CMD_GIVEN_H

#include "engine/cmd/cmd.h"

typedef struct rlf_given {
    const rlf_command_line *line;
    size_t word;      /* the next of the command line */
    FILE *file;       /* or NULL: it is of words */
    const char *name; /* the name that messages give it */
    size_t at;        /* the line of it that was read last, from 1 */
    rlf_buf text;     /* and that */
    bool too_long;    /* a line was, which was said */
    size_t odd;       /* texts that were not all UTF-8 */
} rlf_given;

/* The words of a command line from number `first` on. */
void rlf_given_words(rlf_given *from, const rlf_command_line *line,
                     size_t first);
/* The lines of a file that ends: no device, no pipe without a writer, nothing
 * that is compressed; NULL: of the standard input. Not 0: it was said why not,
 * and is the exit status. */
int rlf_given_file(rlf_given *from, const char *path);
void rlf_given_close(rlf_given *from);
/* The next text of *n bytes, of a line without its end; good until the next
 * call. NULL: there is none, or it is too long. */
const char *rlf_given_next(rlf_given *from, size_t *n);
/* Warn of bytes of a text that are no UTF-8, which models read as U+FFFD. Of
 * lines of a file the first that has some is named, and how many others have
 * some when it is closed. `what` names a text that is not of `from`, which is
 * NULL then. */
void rlf_given_warn(rlf_given *from, const char *what, const char *text,
                    size_t n);
/* Returns the line of a file that is at hand, with all that is left behind it.
 */
const char *rlf_given_rest(rlf_given *from, size_t *n);

#endif
