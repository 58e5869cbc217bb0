/* Source texts and places in them.
 *
 * A span (status.h) is two byte offsets; line and column are computed here and
 * only when something is printed. Sources live in the arena of the set. */
#ifndef RLF_BASE_SOURCE_H
#define RLF_BASE_SOURCE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

/* Bytes of a source at most. */
enum { RLF_SOURCE_MOST = 16 << 20 };

typedef struct rlf_source {
    const char *path; /* the path as messages show it */
    const char *text; /* size bytes and a 0 byte after them */
    size_t size;
    const uint32_t *lines; /* [n_lines] the byte that each begins with */
    uint32_t n_lines;
    bool beside; /* no part of the program: a plan, a cluster */
} rlf_source;

/* A function's body is written once and used in many places. */
typedef struct rlf_source_use {
    rlf_span at; /* the place of the use, which may be in a function's body */
    const char *name; /* the function's name, in the arena of the sources */
    bool imported; /* the function is of another file than the program's own */
} rlf_source_use;

/* All sources of one compilation: files, imports, parameter values. */
typedef struct rlf_sources {
    rlf_arena *arena;
    struct {
        rlf_source *data;
        size_t count, room;
    } list;
    struct {
        rlf_source_use *data;
        size_t count, room;
    } uses;
    /* Columns of the screen that lines are shown on; 0: there is none. */
    size_t columns;
    /* Columns of the UTF-8 character of n bytes at p on a terminal; NULL: each
     * has 1. */
    size_t (*width)(const char *p, size_t n);
} rlf_sources;

/* Add a text (copied); returns its 1-based index for spans. */
uint32_t rlf_sources_add(rlf_sources *sources, const char *path,
                         const char *text, size_t size);
/* Read a file and add it under the name `path`. Fails with RLF_USER if it
 * cannot be read, holds a 0 byte or is larger than 16 MiB. */
rlf_status rlf_sources_read(rlf_sources *sources, const char *path,
                            rlf_err *err, uint32_t *out);
/* The same of a text that is there already. */
rlf_status rlf_sources_take(rlf_sources *sources, const char *path,
                            const char *text, size_t size, rlf_err *err,
                            uint32_t *out);
/* The source that was added last is no part of the program. */
void rlf_sources_beside(rlf_sources *sources);
const rlf_source *rlf_sources_get(const rlf_sources *sources, uint32_t index);

/* Enter a use; its number for spans. */
uint32_t rlf_sources_use(rlf_sources *sources, rlf_source_use use);
/* The use that a span in a function's body is of; NULL: it is in none. */
const rlf_source_use *rlf_sources_used(const rlf_sources *sources,
                                       rlf_span span);
/* The place where somebody begins to look for a mistake: one in an imported
 * function is that of its use in the program. */
rlf_span rlf_sources_own(const rlf_sources *sources, rlf_span span);

/* A printable place: 1-based line and column (in bytes), and that line. */
typedef struct rlf_place {
    const char *path;
    uint32_t line, column;
    rlf_str text; /* the whole line without its end */
} rlf_place;
rlf_place rlf_sources_place(const rlf_sources *sources, rlf_span span);
/* The line at which a span begins, without what is around the statement: white
 * space, a comment, the brace that opens a body. In `arena`. */
const char *rlf_sources_statement(const rlf_sources *sources, rlf_span span,
                                  rlf_arena *arena);
/* The smallest span that covers both (of one source). */
rlf_span rlf_span_join(rlf_span a, rlf_span b);

#endif
