/* Diagnostics: what is wrong with the user's program.
 *
 * Collected while compiling, sorted by place, printed with the source line, a
 * caret and hints:
 *
 *     ppo.rlf:24:17: error: one per sample of 'roll' and ... do not meet
 *        24 |     adv = score - judge(other)
 *           |           ~~~~~ ^ ~~~~~~~~~~~~
 *     hint: bring one up to the prompts they share
 */
#ifndef RLF_BASE_DIAG_H
#define RLF_BASE_DIAG_H

#include "engine/base/map.h"
#include "engine/base/source.h"

enum { RLF_DIAG_MOST = 20 }; /* errors kept; more are only counted */

typedef enum rlf_severity {
    RLF_SEVERITY_ERROR,
    RLF_SEVERITY_WARNING
} rlf_severity;

typedef struct rlf_note {
    rlf_span span; /* source 0: a note without a place */
    const char *text;
} rlf_note;

typedef struct rlf_diag {
    rlf_severity severity;
    const char *code; /* a short stable word: "syntax", "level", "name"... */
    rlf_span at;      /* the span whose first byte the caret points to */
    rlf_span left;    /* underlined with ~ too; source 0: none */
    rlf_span right;
    const char *text;
    const char *hint; /* NULL: none */
    struct {
        rlf_note *data;
        size_t count, room;
    } notes; /* "it was named here" */
} rlf_diag;

typedef struct rlf_diags {
    rlf_arena *arena;
    rlf_sources *sources;
    struct {
        rlf_diag *data;
        size_t count, room;
    } list;
    size_t errors; /* all that were found, also those past RLF_DIAG_MOST */
    size_t kept;   /* diagnostics that the list keeps */
    /* Diagnostics by code and place, each of which is kept once. */
    rlf_map known;
} rlf_diags;

/* Add a diagnostic; the returned one may get hint, left, right and notes until
 * the next is added. The same code at the same place is kept once. */
rlf_diag *rlf_diag_error(rlf_diags *diags, const char *code, rlf_span at,
                         const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
rlf_diag *rlf_diag_warning(rlf_diags *diags, const char *code, rlf_span at,
                           const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void rlf_diag_hint(rlf_diags *diags, rlf_diag *diag, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void rlf_diag_note(rlf_diags *diags, rlf_diag *diag, rlf_span at,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Put diagnostic number `i` at another place; its underlined operands go. Where
 * one of its code stands there already, it goes instead. */
void rlf_diag_move(rlf_diags *diags, size_t i, rlf_span at);

/* All diagnostics in order of place, as text or as JSON, an object a line. */
void rlf_diags_print(rlf_diags *diags, rlf_buf *out);
void rlf_diags_print_json(rlf_diags *diags, rlf_buf *out);
/* A run-time error in the same form (with its span if it has one). */
void rlf_err_print(const rlf_err *err, const rlf_sources *sources,
                   rlf_buf *out);
/* The same as JSON, a line. */
void rlf_err_print_json(const rlf_err *err, const rlf_sources *sources,
                        rlf_buf *out);
/* Prints a line of the log to the standard error, at once; `json`: as an
 * object. */
void rlf_diag_print_log(const char *line, bool json);

#endif
