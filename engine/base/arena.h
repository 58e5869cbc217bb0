/* Arenas: memory with one lifetime.
 *
 * The compile arena holds source, AST, graph and plan; the run arena the
 * state; the step pool is reset after every step. An arena is always an
 * explicit argument. It never gives NULL: see memory.h for what happens when
 * the system has no memory left. What grows with data or a batch is asked for
 * with rlf_arena_try, or under rlf_memory_guard; tensors are allocated by
 * engine/dev, which returns a status. Not thread-safe: one owner at a time. */
#ifndef RLF_BASE_ARENA_H
#define RLF_BASE_ARENA_H

#include "engine/base/memory.h"

#include <stdarg.h>
#include <stddef.h>

typedef struct rlf_arena rlf_arena;

rlf_arena *rlf_arena_new(void);
/* One whose first block, which a reset keeps, has that many bytes: for work
 * that is done again and again. */
rlf_arena *rlf_arena_sized(size_t bytes);
/* One for what is needed only for a while: if nobody frees it before, because
 * rlf_memory_guard has left the function that would, `arena` does so with its
 * own. */
rlf_arena *rlf_arena_scratch(rlf_arena *arena);
/* Runs the deferred calls in reverse order, then frees everything. */
void rlf_arena_free(rlf_arena *arena);
/* As free, but the arena stays usable and keeps its first block, and up to
 * 1 MiB of others for what is asked of it next. */
void rlf_arena_reset(rlf_arena *arena);
/* Bytes handed out since the last reset. */
size_t rlf_arena_used(const rlf_arena *arena);

/* Zeroed, aligned to 16 bytes. n may be 0 (a unique pointer). */
void *rlf_arena_alloc(rlf_arena *arena, size_t n);
/* As rlf_arena_alloc, but RLF_MEMORY with the words `what` if there is none. */
rlf_status rlf_arena_try(rlf_arena *arena, size_t n, const char *what,
                         rlf_err *err, void *out);
/* RLF_MEMORY if there is no room for n bytes more; else the requests that
 * follow, of n bytes with what they are aligned by, cannot fail. */
rlf_status rlf_arena_room(rlf_arena *arena, size_t n, const char *what,
                          rlf_err *err);
/* Zeroed and aligned to `align` (a power of two). */
void *rlf_arena_alloc_aligned(rlf_arena *arena, size_t n, size_t align);
/* A copy of the n bytes at p, with a 0 byte after them. */
char *rlf_arena_strndup(rlf_arena *arena, const char *p, size_t n);
char *rlf_arena_strdup(rlf_arena *arena, const char *p);
char *rlf_arena_printf(rlf_arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *rlf_arena_vprintf(rlf_arena *arena, const char *fmt, va_list ap);
/* Call fn(arg) when the arena is freed or reset. */
void rlf_arena_defer(rlf_arena *arena, void (*fn)(void *), void *arg);

#define RLF_NEW(arena, type) ((type *)rlf_arena_alloc((arena), sizeof(type)))
#define RLF_NEW_ARRAY(arena, type, n) \
    ((type *)rlf_arena_alloc((arena), sizeof(type) * (size_t)(n)))

#endif
