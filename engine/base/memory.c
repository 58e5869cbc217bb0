/* Memory: see memory.h. The reserve is a number of blocks of a few sizes, each
 * from the system's allocator, so whoever gets one frees it as any other. */
#include "engine/base/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, SIZES = 4, MOST = 256, LARGE = 4096 };

/* Ending a call in an orderly way takes little memory: texts of errors, lists
 * of what is closed, a few blocks of arenas, which are the largest. */
static const struct {
    size_t bytes;
    int n;
} kept[SIZES] = {{128, MOST}, {1024, 64}, {8192, 32}, {(64 << 10) + 256, 64}};

static struct {
    pthread_mutex_t lock;
    void *block[SIZES][MOST];
    int n[SIZES]; /* blocks that are there */
} reserve = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void (*_Atomic on_failure)(size_t);
static atomic_bool failed;
static atomic_size_t refused; /* bytes, of the last failure */
static _Thread_local uint64_t misses;

/* The place where a thread goes on when memory is refused; NULL: there is none.
 */
typedef struct guard {
    jmp_buf out;
    size_t refused; /* bytes */
} guard;

static _Thread_local guard *guarded;

void
rlf_memory_on_failure(void (*handler)(size_t))
{
    atomic_store(&on_failure, handler);
}

bool
rlf_memory_failed(void)
{
    return atomic_load_explicit(&failed, memory_order_relaxed);
}

uint64_t
rlf_memory_misses(void)
{
    return misses;
}

void
rlf_memory_reserve(void)
{
    pthread_mutex_lock(&reserve.lock);
    bool there = true;
    for (int i = 0; i < SIZES; i++)
        while (there && reserve.n[i] < kept[i].n) {
            void *p = NULL;
            there = posix_memalign(&p, ALIGN, kept[i].bytes) == 0;
            if (there)
                reserve.block[i][reserve.n[i]++] = p;
        }
    atomic_store(&failed, !there);
    atomic_store(&refused, kept[SIZES - 1].bytes);
    pthread_mutex_unlock(&reserve.lock);
}

static void *
take(size_t n)
{
    void *p = NULL;
    pthread_mutex_lock(&reserve.lock);
    for (int i = 0; i < SIZES && !p; i++)
        if (n <= kept[i].bytes && reserve.n[i])
            p = reserve.block[i][--reserve.n[i]];
    pthread_mutex_unlock(&reserve.lock);
    return p;
}

static void
note(size_t n)
{
    atomic_store(&refused, n);
    atomic_store(&failed, true);
    misses++;
}

/* The system refused. */
static void *
do_without(size_t n)
{
    if (guarded) {
        guarded->refused = n;
        longjmp(guarded->out, 1);
    }
    void (*handler)(size_t) = atomic_load(&on_failure);
    note(n);
    if (handler)
        handler(n);
    void *p = take(n);
    if (!p)
        abort();
    return p;
}

void *
rlf_try_malloc(size_t n)
{
    return malloc(n ? n : 1);
}

void *
rlf_try_calloc(size_t n, size_t size)
{
    return calloc(n ? n : 1, size ? size : 1);
}

void *
rlf_try_realloc(void *p, size_t n)
{
    return realloc(p, n ? n : 1);
}

void *
rlf_malloc(size_t n)
{
    void *p = rlf_try_malloc(n);
    return p ? p : do_without(n);
}

void *
rlf_calloc(size_t n, size_t size)
{
    void *p = rlf_try_calloc(n, size);
    size_t all;
    if (p)
        return p;
    if (__builtin_mul_overflow(n, size, &all))
        all = SIZE_MAX;
    return memset(do_without(all), 0, all);
}

void *
rlf_realloc(void *old, size_t n)
{
    void *p = rlf_try_realloc(old, n);
    if (p)
        return p;
    p = do_without(n);
    size_t had = old ? malloc_usable_size(old) : 0;
    if (had)
        memcpy(p, old, had < n ? had : n);
    free(old);
    return p;
}

void *
rlf_try_malloc_aligned(size_t n)
{
    void *p = NULL;
    return posix_memalign(&p, ALIGN, n ? n : 1) == 0 ? p : NULL;
}

void *
rlf_malloc_aligned(size_t n)
{
    void *p = rlf_try_malloc_aligned(n);
    return p ? p : do_without(n);
}

void *
rlf_malloc_noted(size_t n)
{
    void *p = rlf_try_malloc(n);
    if (p)
        return p;
    note(n);
    return n <= LARGE ? take(n) : NULL;
}

rlf_status
rlf_fail_memory(rlf_err *err, size_t n, const char *what, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, what);
    vsnprintf(text, sizeof text, what, ap);
    va_end(ap);
    rlf_fail(err, RLF_MEMORY, "there is no memory for %s (%zu bytes)", text, n);
    rlf_err_hint(err, "end other programs, or give this one more memory; "
                      "rlflow check prints what a run needs");
    return RLF_MEMORY;
}

rlf_status
rlf_try_array(size_t n, size_t size, const char *what, rlf_err *err, void *out)
{
    void *p = rlf_try_calloc(n, size);
    if (!p)
        return rlf_fail_memory(err, n * size, "%s", what);
    memcpy(out, &p, sizeof p);
    return RLF_OK;
}

rlf_status
rlf_try_grow(void *at, size_t n, const char *what, rlf_err *err)
{
    void *p;
    memcpy(&p, at, sizeof p);
    p = rlf_try_realloc(p, n);
    if (!p)
        return rlf_fail_memory(err, n, "%s", what);
    memcpy(at, &p, sizeof p);
    return RLF_OK;
}

rlf_status
rlf_memory_guard(void (*fn)(void *), void *arg, const char *what, rlf_err *err)
{
    guard here, *volatile before = guarded;
    if (setjmp(here.out)) {
        guarded = before;
        return rlf_fail_memory(err, here.refused, "%s", what);
    }
    guarded = &here;
    fn(arg);
    guarded = before;
    return RLF_OK;
}

rlf_status
rlf_memory_check(rlf_err *err)
{
    if (!rlf_memory_failed())
        return RLF_OK;
    rlf_fail(err, RLF_MEMORY, "out of memory (%zu bytes asked for)",
             atomic_load(&refused));
    rlf_err_hint(err, "end other programs, or give this one more memory; "
                      "rlflow check prints what a run needs");
    return RLF_MEMORY;
}
