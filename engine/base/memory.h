/* Memory, and what happens when the system has none left.
 *
 * Small things are asked for with rlf_malloc and its like, and by arenas: these
 * never give NULL. When the system refuses, the host's handler is called, which
 * does not return (the command says so and exits with status 3). A process
 * without a handler, one that embeds the library, is served from a reserve that
 * was put aside when its session was opened, and the failure is noted: the
 * session's call goes on with right values, then fails with RLF_MEMORY
 * (rlf_memory_check), as does every other session of the process. Only when the
 * reserve is used up before that is the process aborted.
 *
 * Memory that grows with data, a model, a batch or the ranks is asked for with
 * rlf_try_malloc, which may give NULL; then the function fails with
 * rlf_fail_memory. What works on lists alone and makes many of them (the
 * controller, pipelines' tables) is called by rlf_memory_guard instead.
 *
 * All of it may be called by any thread; everything is given back by free(). */
#ifndef RLF_BASE_MEMORY_H
#define RLF_BASE_MEMORY_H

#include "engine/base/status.h"

/* 1: a sanitizer watches what is done to freed memory, else 0. */
#ifdef __SANITIZE_ADDRESS__ /* gcc's */
#define RLF_MEMORY_WATCHED 1
#elif defined __has_feature /* clang's */
#define RLF_MEMORY_WATCHED __has_feature(address_sanitizer)
#else
#define RLF_MEMORY_WATCHED 0
#endif

/* malloc, calloc and realloc that never return NULL. n may be 0. */
void *rlf_malloc(size_t n);
void *rlf_calloc(size_t n, size_t size);
void *rlf_realloc(void *p, size_t n);
/* n bytes, aligned to 64. */
void *rlf_malloc_aligned(size_t n);

/* NULL if there is no memory, which is noted by nobody. n may be 0. */
void *rlf_try_malloc(size_t n);
void *rlf_try_calloc(size_t n, size_t size);
void *rlf_try_realloc(void *p, size_t n);
void *rlf_try_malloc_aligned(size_t n); /* to 64 bytes */
/* Fails with RLF_MEMORY: "no memory for WHAT (N bytes)". */
rlf_status rlf_fail_memory(rlf_err *err, size_t n, const char *what, ...)
    __attribute__((format(printf, 3, 4)));

/* *out: n things of `size` bytes, zero, or RLF_MEMORY: "no memory for WHAT". */
rlf_status rlf_try_array(size_t n, size_t size, const char *what, rlf_err *err,
                         void *out);

/* *p grows to n bytes, or stays as it is: RLF_MEMORY. */
rlf_status rlf_try_grow(void *p, size_t n, const char *what, rlf_err *err);

/* Calls fn(arg). If the system refuses what this thread asks for meanwhile,
 * with any of the functions that never give NULL, fn is left where it is and
 * RLF_MEMORY returned: "no memory for WHAT". So fn must hold nothing but
 * memory: no lock, no file, no thread; and that memory must be an arena's, or
 * in a list that the caller frees. What fn was changing is not used again, but
 * freed. */
rlf_status rlf_memory_guard(void (*fn)(void *), void *arg, const char *what,
                            rlf_err *err);

/* For libraries that do not look whether they get something: of a request that
 * the system refuses, which is noted, a small one is served from the reserve,
 * a large one is NULL. */
void *rlf_malloc_noted(size_t n);

/* Called with the bytes that were refused; must not return. NULL: none. */
__attribute__((visibility("default"))) void
rlf_memory_on_failure(void (*handler)(size_t n));
/* Put the reserve aside, again where some of it was used, and forget what was
 * noted: when a session is opened. If there is no memory for that, it is
 * noted. */
void rlf_memory_reserve(void);
/* Was a request refused, and noted, since? In this thread: how many ever. */
bool rlf_memory_failed(void);
uint64_t rlf_memory_misses(void);
/* RLF_MEMORY if one was. */
rlf_status rlf_memory_check(rlf_err *err);

#endif
