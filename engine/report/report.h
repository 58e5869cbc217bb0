/* A report of runs: one HTML file with all that they left, which needs neither
 * a network nor a server.
 *
 * The file begins with the styles, the data of curves and facts, and the
 * program that shows them, which runs at once; behind it stand the samples, in
 * blocks of raw deflate in base64 that are unpacked when somebody looks at
 * them. All text of runs is somebody else's: it stands in the file as JSON
 * without a "<", or packed, and the page puts it into the document as text
 * alone. */
#ifndef RLF_REPORT_REPORT_H
#define RLF_REPORT_REPORT_H

#include "engine/record/record.h"

/* The second line of every report, by which a later command knows that it may
 * replace it. */
#define RLF_REPORT_MARK "<!-- a report by rlflow, which replaces it -->\n"
#define RLF_REPORT_BEGIN "<!doctype html>\n" RLF_REPORT_MARK

typedef struct rlf_report_run {
    rlf_record *record;
    const char *graph; /* of its program, JSON; NULL: there is none */
    const char *why;   /* there is none: a sentence */
} rlf_report_run;

/* Replace the file at `path` (or write through what stands there and is no
 * regular file) by the report of n >= 1 runs. `live`: the page loads itself
 * again. The thread's numbers have a decimal point. */
rlf_status rlf_report_print(const rlf_report_run *runs, size_t n, bool live,
                            const char *path, rlf_err *err);

#endif
