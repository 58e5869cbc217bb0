/* Test Anything Protocol for C tests: count, compare, say why.
 *
 *     int main(void) { is_int(1 + 1, 2, "one and one"); return done(); }
 *
 * Every check prints one line and returns whether it held. plan(n) is optional:
 * without it done() prints the plan. A test that cannot run here says so with
 * skip() (one check) or skip_all() (the whole program); bail() gives up. */
#ifndef RLF_TESTS_TAP_H
#define RLF_TESTS_TAP_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAP_FUNCTION __attribute__((unused)) static
#define TAP_FORMAT(n) __attribute__((unused, format(printf, n, n + 1))) static
#define TAP_NO_RETURN __attribute__((noreturn))

static struct {
    int planned, run, failed;
} tap;

TAP_FUNCTION void
plan(int n)
{
    tap.planned = n;
    printf("1..%d\n", n);
}

/* Print the outcome of one check under the name `fmt`. */
TAP_FORMAT(2) bool ok(bool good, const char *fmt, ...)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%sok %d - ", good ? "" : "not ", ++tap.run);
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    tap.failed += !good;
    return good;
}

/* Is the machine slow (RLFLOW_TEST_QUICK)? Long tests do less then. */
TAP_FUNCTION bool
quick(void)
{
    const char *set = getenv("RLFLOW_TEST_QUICK");
    return set && *set;
}

/* Are devices of that name to be tested? All are, or those whose names begin
 * with RLFLOW_TEST_DEVICE. */
TAP_FUNCTION bool
wanted(const char *device)
{
    const char *only = getenv("RLFLOW_TEST_DEVICE");
    return !only || strncmp(device, only, strlen(only)) == 0;
}

/* Likewise, but by name. */
TAP_FUNCTION bool
asked_for(const char *device)
{
    const char *only = getenv("RLFLOW_TEST_DEVICE");
    return only && *only && wanted(device);
}

/* A remark, not a check. */
TAP_FORMAT(1) void note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("# ");
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

TAP_FUNCTION bool
is_int(int64_t got, int64_t want, const char *name)
{
    if (!ok(got == want, "%s", name))
        note("got %" PRId64 ", want %" PRId64, got, want);
    return got == want;
}

TAP_FUNCTION bool
is_str(const char *got, const char *want, const char *name)
{
    bool good = got && want ? strcmp(got, want) == 0 : got == want;
    if (!ok(good, "%s", name)) {
        printf("# got:\n%s\n# want:\n%s\n", got ? got : "(null)",
               want ? want : "(null)");
    }
    return good;
}

/* |got - want| <= bound; never true of a NaN. */
TAP_FUNCTION bool
near(double got, double want, double bound, const char *name)
{
    bool good = fabs(got - want) <= bound || got == want;
    if (!ok(good, "%s", name))
        note("got %.17g, want %.17g within %g", got, want, bound);
    return good;
}

/* n elements of `size` bytes each are the same, bit for bit. */
TAP_FUNCTION bool
is_bits(const void *got, const void *want, size_t n, size_t size,
        const char *name)
{
    const unsigned char *a = got, *b = want;
    size_t differ = 0, first = 0;
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i * size, b + i * size, size) != 0 && !differ++)
            first = i;
    if (!ok(!differ, "%s", name))
        note("%zu of %zu elements differ, the first is %zu", differ, n, first);
    return !differ;
}
TAP_FUNCTION bool
is_bits_f32(const float *got, const float *want, size_t n, const char *name)
{
    bool good = is_bits(got, want, n, sizeof *got, name);
    for (size_t i = 0; i < n && !good; i++)
        if (memcmp(got + i, want + i, sizeof *got) != 0) {
            note("got %a, want %a", (double)got[i], (double)want[i]);
            break;
        }
    return good;
}

/* One check that cannot be made here, and why. */
TAP_FORMAT(1) void skip(const char *fmt, ...)
{
    printf("ok %d # SKIP ", ++tap.run);
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

/* The whole program cannot run here. Only before the first check. */
TAP_FORMAT(1) TAP_NO_RETURN void skip_all(const char *fmt, ...)
{
    printf("1..0 # SKIP ");
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    exit(0);
}

/* Nothing more can be tested. */
TAP_FORMAT(1) TAP_NO_RETURN void bail(const char *fmt, ...)
{
    printf("Bail out! ");
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    exit(1);
}

/* The end: return this from main. */
TAP_FUNCTION int
done(void)
{
    if (!tap.planned)
        printf("1..%d\n", tap.run);
    return tap.failed || (tap.planned && tap.planned != tap.run);
}

#endif
