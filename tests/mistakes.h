/* The mistakes that a rank on a thread of its own has found, kept until the
 * main thread may report them: their number, and the first in words. */
#ifndef RLF_TESTS_MISTAKES_H
#define RLF_TESTS_MISTAKES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct mistakes {
    int wrong;
    char first[256];
} mistakes;

__attribute__((format(printf, 3, 4))) static inline void
rlf_expect(mistakes *m, bool good, const char *fmt, ...)
{
    if (good || m->wrong++)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->first, sizeof m->first, fmt, ap);
    va_end(ap);
}

/* Notes a mistake of s, a struct with a member `mistakes`. */
#define expect(s, ...) rlf_expect(&(s)->mistakes, __VA_ARGS__)

#endif
