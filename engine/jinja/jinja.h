/* Chat templates in Jinja: what a model's publisher puts into
 * tokenizer_config.json or chat_template.jinja.
 *
 * A template is parsed once and rendered with variables from JSON. The text is
 * byte for byte what the reference makes of it: jinja2 3.1.6 as transformers 5
 * sets it up (an immutable sandbox; trim_blocks and lstrip_blocks; break,
 * continue and {% generation %}; `tojson`, `raise_exception`, `strftime_now`).
 * README.md lists what is there, and the few things that are not, which are
 * errors where they are met.
 *
 * Templates are not trusted: a rendering has limits of steps, memory and depth,
 * and reads nothing but its variables and the date that it is given. A template
 * does not change after opening: any number of threads may render it. */
#ifndef RLF_JINJA_JINJA_H
#define RLF_JINJA_JINJA_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

#include <jansson.h>

typedef struct rlf_jinja rlf_jinja;

/* Parse `source`, which is copied, as all of *out, into `arena`. `file` is for
 * messages, "FILE:LINE:COLUMN: ...", as is `part`, the words for what of the
 * file the source is, NULL if that is all: lines are counted in the source,
 * "FILE: line LINE, column COLUMN of PART: ...". RLF_USER where the source is
 * no template, no UTF-8, or longer than RLF_JINJA_MOST bytes; RLF_MEMORY. */
enum { RLF_JINJA_MOST = 4 << 20 };
rlf_status rlf_jinja_open(const char *file, const char *part, rlf_str source,
                          rlf_arena *arena, rlf_err *err, rlf_jinja **out);

/* A moment for strftime_now, in the proleptic Gregorian calendar; one without a
 * month is the first of January 1970. */
typedef struct rlf_jinja_date {
    int year, month, day; /* month and day from 1 */
    int hour, minute, second;
} rlf_jinja_date;

typedef struct rlf_jinja_options {
    rlf_jinja_date now;
    uint64_t steps; /* nodes that are evaluated, and the bytes and elements that
                       they work on, in units of 32; 0: 20 million */
    size_t memory;  /* bytes of all values and texts, 0: 256 MB */
} rlf_jinja_options;

/* Has the template a {% generation %} block? */
bool rlf_jinja_generates(const rlf_jinja *jinja);

/* The place of the text of a {% generation %} block: [first, last) in
 * characters (code points) of the rendered text, [from, to) the same in bytes.
 * For a block within a macro, a call or another block whose text is used later,
 * which is not `placed`, it is where that text would be if it were written at
 * once, as the reference has it. */
typedef struct rlf_jinja_span {
    size_t first, last;
    size_t from, to;
    bool placed;
} rlf_jinja_span;

typedef struct rlf_jinja_output {
    rlf_str text; /* valid UTF-8, followed by a 0 byte */
    const rlf_jinja_span *spans;
    size_t n_spans;
    bool raised; /* after an error: by raise_exception, with the template's own
                    text at the end of the sentence */
} rlf_jinja_output;

/* Render with the members of the object `variables` as the template's names;
 * lists, objects and numbers are those of JSON, objects in their order. The
 * output is in `pool`, as is all that is made meanwhile. RLF_USER with line and
 * column in the template for what it raises, for Python's and jinja2's errors,
 * and for limits; RLF_MEMORY. out->raised is set in any case. */
rlf_status rlf_jinja_render(const rlf_jinja *jinja, const json_t *variables,
                            const rlf_jinja_options *options, rlf_arena *pool,
                            rlf_err *err, rlf_jinja_output *out);

#endif
