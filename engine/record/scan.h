/* JSON read where it lies, value by value, for journals of millions of lines.
 *
 * Strict in form (RFC 8259, a depth of 64 at most), so that what it passes any
 * other reader takes, too; but bytes that are no UTF-8 are let be, and become
 * U+FFFD where a text is unescaped. Nothing is copied: what it gives points
 * into the text that it was given. Numbers are read with the decimal point of
 * the thread's locale, which the caller has set to C. */
#ifndef RLF_RECORD_SCAN_H
#define RLF_RECORD_SCAN_H

#include "engine/base/str.h"

typedef enum rlf_scan_kind {
    RLF_SCAN_OBJECT,
    RLF_SCAN_LIST,
    RLF_SCAN_TEXT,
    RLF_SCAN_NUMBER,
    RLF_SCAN_TRUE,
    RLF_SCAN_FALSE,
    RLF_SCAN_NULL
} rlf_scan_kind;

typedef struct rlf_scanned {
    rlf_scan_kind kind;
    rlf_str text;  /* OBJECT, LIST: all of it; TEXT: what is in the quotes */
    double number; /* of a NUMBER */
} rlf_scanned;

/* A place in a text. `why` is NULL until something is wrong at `p`. */
typedef struct rlf_json_scan {
    const char *p, *end;
    const char *why;
    bool inside; /* of an object: members follow a comma */
} rlf_json_scan;

/* The whole text is one object, whose members are read next. */
rlf_json_scan rlf_scan_object(rlf_str text);
/* The next member of it; false at its end, or where something is wrong. The key
 * is as it is written, with its escapes. */
bool rlf_scan_member(rlf_json_scan *scan, rlf_str *key, rlf_scanned *value);
/* Append what a TEXT says, as UTF-8. */
void rlf_scan_unescape(rlf_str written, rlf_buf *out);

#endif
