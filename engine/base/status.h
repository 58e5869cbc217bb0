/* Outcomes and errors.
 *
 * Every fallible function returns an rlf_status and takes an `rlf_err *err`
 * after its inputs and before its out arguments; what these hold means nothing
 * after an error, unless the declaration says what. The first function that
 * decides that something failed fills it with rlf_fail(); the callers above
 * only pass the status on with RLF_TRY(). Nothing in the library prints, exits
 * or aborts, but for rlf_bug_at, and for what memory.h says of a process that
 * has used up even its reserve. */
#ifndef RLF_BASE_STATUS_H
#define RLF_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rlf_status {
#define STATUS(name, value, doc) RLF_##name = (value),
#include "engine/base/status.def"
#undef STATUS
} rlf_status;

/* A place in a user's file: byte offsets [first, last) of one source. Lines
 * and columns are computed only when something is printed (source.h). */
typedef struct rlf_span {
    uint32_t source; /* 1-based index into rlf_sources; 0: no place */
    uint32_t first, last;
    uint32_t use; /* the use of the function whose body it is in: an index into
                     rlf_sources.uses, from 1; 0: it is in none */
} rlf_span;

/* One error. Owned by whoever owns the context; holds no pointers. */
typedef struct rlf_err {
    rlf_status status;
    int rank;           /* -1: no rank */
    rlf_span span;      /* source 0: none */
    char node[64];      /* the graph node it happened in, "" if none */
    char sentence[768]; /* what happened, one sentence, no full stop */
    char hint[512];     /* what to do about it, "" if nothing is known */
    char detail[3072];  /* tracebacks and the like, may have lines */
    char trail[512];    /* functions that passed it on, innermost first */
} rlf_err;

#define RLF_ERR_NONE                 \
    {                                \
        .status = RLF_OK, .rank = -1 \
    }

/* Fill *err and return `status`. A second failure never overwrites the first:
 * then only `status` is returned. Of texts that are too long the end is left
 * out, which "..." says; the reason of a system's call always stands. */
rlf_status rlf_fail(rlf_err *err, rlf_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* As rlf_fail, with ": strerror(errno)" at the end and status RLF_ENV; where
 * errno says that memory is missing, RLF_MEMORY; where it says that a disk, a
 * quota or a limit on files is full, with a hint. */
rlf_status rlf_fail_errno(rlf_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* As rlf_fail_errno of opening a path that a user gave: RLF_USER where errno
 * says that the path is wrong (it is not there, may not be read, is no such
 * thing). */
rlf_status rlf_fail_path(rlf_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Add to the error that was just decided. Each keeps what is there already. */
void rlf_err_hint(rlf_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rlf_err_detail(rlf_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rlf_err_place(rlf_err *err, rlf_span span, const char *node);
void rlf_err_pass(rlf_err *err, const char *function);
void rlf_err_clear(rlf_err *err);

/* Both expect a variable `err` of type rlf_err * in scope. */
#define RLF_TRY(call)                    \
    do {                                 \
        rlf_status rlf_try_ = (call);    \
        if (rlf_try_ < 0) {              \
            rlf_err_pass(err, __func__); \
            return rlf_try_;             \
        }                                \
    } while (0)
/* Also expects a variable `status`; jumps to `label` with it set. */
#define RLF_TRY_GOTO(call, label)        \
    do {                                 \
        status = (call);                 \
        if (status < 0) {                \
            rlf_err_pass(err, __func__); \
            goto label;                  \
        }                                \
    } while (0)

/* An internal invariant: prints file, line and text, then traps. */
void rlf_bug_at(const char *file, int line, const char *text)
    __attribute__((noreturn));
#define RLF_ASSERT(x)                           \
    do {                                        \
        if (!(x))                               \
            rlf_bug_at(__FILE__, __LINE__, #x); \
    } while (0)

#endif
