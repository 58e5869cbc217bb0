/* The lines of a file that grows, and of which the end may be cut: those that
 * are whole, each once. */
#ifndef RLF_RECORD_GROWING_H
#define RLF_RECORD_GROWING_H

#include "engine/base/status.h"
#include "engine/base/str.h"

enum {
    RLF_GROWING_KNOWN = 256
}; /* bytes by which what was read is known again */

/* How far a file was read. {0}: not at all. */
typedef struct rlf_growing {
    uint64_t at;   /* bytes of whole lines that were read */
    uint64_t line; /* their number */
    size_t n_last;
    char last[RLF_GROWING_KNOWN]; /* the bytes before `at` */
} rlf_growing;

typedef struct rlf_growing_line {
    rlf_str text;    /* without its line feed; too_long: none */
    uint64_t offset; /* bytes of the file before it */
    uint64_t number; /* from 1 */
    bool too_long;   /* it has more than 64 MiB */
} rlf_growing_line;

/* What takes the lines. */
typedef struct rlf_growing_reader {
    void *arg;
    /* What was read before is not there any more: all of it is forgotten. */
    void (*forget)(void *arg);
    rlf_status (*take)(void *arg, const rlf_growing_line *line, rlf_err *err);
} rlf_growing_reader;

/* Reads what the file has behind tail->at; from its begin where it is another
 * one, or was cut. A line without its end is left for the next time; a file
 * that is not there has no lines. */
rlf_status rlf_growing_read(rlf_growing *tail, const char *path,
                            const rlf_growing_reader *reader, rlf_err *err);

#endif
