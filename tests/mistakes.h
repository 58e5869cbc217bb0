/* What a rank that is one of many threads found wrong, until one of them may
 * say it: the number, and the first in words. */
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

/* Of a seat s, a struct with such a member. */
#define expect(s, ...) rlf_expect(&(s)->mistakes, __VA_ARGS__)

#endif
