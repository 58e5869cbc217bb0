/* Arenas: a chain of blocks, bump allocation, deferred calls. See arena.h. */
#include "engine/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 * 1024 };

/* Blocks that a reset keeps for what comes next, besides the first: memory that
 * was given back to the system has to be found and cleared by it again. A
 * sanitizer sees uses of what was reset only if it is given back. */
enum { MOST_SPARE = RLF_MEMORY_WATCHED ? 0 : 16 };

typedef struct block {
    struct block *next; /* older */
    size_t size, used;
    _Alignas(64) char data[];
} block;

typedef struct deferred {
    struct deferred *next;
    void (*fn)(void *);
    void *arg;
} deferred;

struct rlf_arena {
    block *top;
    block *spare; /* of BLOCK bytes each, kept by a reset */
    deferred *calls;
    size_t used;
    rlf_arena *scratch; /* the first of this one's */
    rlf_arena *parent;  /* whose scratch it is, in its memory; NULL: none's */
    rlf_arena *next;    /* of the parent's */
};

static block *
block_init(void *p, size_t size, block *next)
{
    block *b = p;
    b->next = next;
    b->size = size;
    b->used = 0;
    return b;
}

static block *
first_block(size_t size)
{
    return block_init(rlf_malloc_aligned(sizeof(block) + size), size, NULL);
}

rlf_arena *
rlf_arena_sized(size_t bytes)
{
    rlf_arena *arena = rlf_calloc(1, sizeof *arena);
    arena->top = first_block(bytes);
    return arena;
}

rlf_arena *
rlf_arena_new(void)
{
    return rlf_arena_sized(BLOCK);
}

rlf_arena *
rlf_arena_scratch(rlf_arena *parent)
{
    rlf_arena *arena = RLF_NEW(parent, rlf_arena);
    *arena = (rlf_arena){
        .top = first_block(BLOCK), .parent = parent, .next = parent->scratch};
    return parent->scratch = arena;
}

static void
run_deferred(rlf_arena *arena)
{
    while (arena->calls) {
        deferred d = *arena->calls;
        arena->calls = d.next;
        d.fn(d.arg);
    }
}

static void
free_blocks(block *b)
{
    while (b) {
        block *next = b->next;
        free(b);
        b = next;
    }
}

void
rlf_arena_reset(rlf_arena *arena)
{
    run_deferred(arena);
    while (arena->scratch)
        rlf_arena_free(arena->scratch);
    int n_spare = 0;
    for (const block *b = arena->spare; b; b = b->next)
        n_spare++;
    while (arena->top->next) {
        block *b = arena->top;
        arena->top = b->next;
        if (b->size == BLOCK && n_spare < MOST_SPARE) {
            b->next = arena->spare;
            arena->spare = b;
            n_spare++;
        } else {
            free(b);
        }
    }
    arena->top->used = 0;
    arena->used = 0;
}

static void
take_off(const rlf_arena *scratch)
{
    rlf_arena **link = &scratch->parent->scratch;
    while (*link != scratch)
        link = &(*link)->next;
    *link = scratch->next;
}

void
rlf_arena_free(rlf_arena *arena)
{
    if (!arena)
        return;
    rlf_arena_reset(arena);
    free_blocks(arena->spare);
    free(arena->top);
    if (arena->parent)
        take_off(arena);
    else
        free(arena);
}

size_t
rlf_arena_used(const rlf_arena *arena)
{
    return arena->used;
}

static size_t
padding(const block *b, size_t align)
{
    return (size_t)(-((uintptr_t)b->data + b->used) & (align - 1));
}

static size_t
block_for(size_t n, size_t align)
{
    return n + align > BLOCK ? n + align : BLOCK;
}

static bool
has_room(const block *b, size_t n, size_t align)
{
    return padding(b, align) + n <= b->size - b->used;
}

/* Goes on in a block of `size` bytes that a reset has kept, if there is one. */
static bool
take_spare(rlf_arena *arena, size_t size)
{
    block *b = arena->spare;
    if (!b || size != BLOCK)
        return false;
    arena->spare = b->next;
    arena->top = block_init(b, BLOCK, arena->top);
    return true;
}

/* Goes on in a block with room for n bytes. */
static void
add_block(rlf_arena *arena, size_t n, size_t align)
{
    size_t size = block_for(n, align);
    if (!take_spare(arena, size))
        arena->top = block_init(rlf_malloc_aligned(sizeof(block) + size), size,
                                arena->top);
}

void *
rlf_arena_alloc_aligned(rlf_arena *arena, size_t n, size_t align)
{
    if (!has_room(arena->top, n, align))
        add_block(arena, n, align);
    block *b = arena->top;
    size_t pad = padding(b, align);
    void *p = b->data + b->used + pad;
    b->used += pad + n;
    arena->used += n;
    return memset(p, 0, n);
}

rlf_status
rlf_arena_room(rlf_arena *arena, size_t n, const char *what, rlf_err *err)
{
    enum { ALIGN = 64 };
    if (has_room(arena->top, n, ALIGN))
        return RLF_OK;
    void *p = NULL;
    size_t size = block_for(n, ALIGN);
    if (take_spare(arena, size))
        return RLF_OK;
    if (size < n || posix_memalign(&p, ALIGN, sizeof(block) + size))
        return rlf_fail_memory(err, n, "%s", what);
    arena->top = block_init(p, size, arena->top);
    return RLF_OK;
}

/* One of its own for what is large, below the top, which goes on being filled;
 * not where it would be the first, which a reset keeps. NULL: no memory. */
static void *
own_block(rlf_arena *arena, size_t n)
{
    enum { ALIGN = 64 };
    void *p = NULL;
    if (n + sizeof(block) < n || posix_memalign(&p, ALIGN, sizeof(block) + n))
        return NULL;
    block *b = arena->top->next = block_init(p, n, arena->top->next);
    b->used = n;
    arena->used += n;
    return memset(b->data, 0, n);
}

rlf_status
rlf_arena_try(rlf_arena *arena, size_t n, const char *what, rlf_err *err,
              void *out)
{
    if (n > BLOCK / 8 && arena->top->next && !has_room(arena->top, n, 16)) {
        void *own = own_block(arena, n);
        memcpy(out, &own, sizeof own);
        return own ? RLF_OK : rlf_fail_memory(err, n, "%s", what);
    }
    RLF_TRY(rlf_arena_room(arena, n, what, err));
    void *p = rlf_arena_alloc(arena, n);
    memcpy(out, &p, sizeof p);
    return RLF_OK;
}

void *
rlf_arena_alloc(rlf_arena *arena, size_t n)
{
    return rlf_arena_alloc_aligned(arena, n, 16);
}

char *
rlf_arena_strndup(rlf_arena *arena, const char *p, size_t n)
{
    char *copy = rlf_arena_alloc_aligned(arena, n + 1, 1);
    if (n)
        memcpy(copy, p, n);
    return copy;
}

char *
rlf_arena_strdup(rlf_arena *arena, const char *p)
{
    return rlf_arena_strndup(arena, p, strlen(p));
}

char *
rlf_arena_vprintf(rlf_arena *arena, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *p = rlf_arena_alloc_aligned(arena, (size_t)n + 1, 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *
rlf_arena_printf(rlf_arena *arena, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = rlf_arena_vprintf(arena, fmt, ap);
    va_end(ap);
    return p;
}

void
rlf_arena_defer(rlf_arena *arena, void (*fn)(void *), void *arg)
{
    deferred *d = RLF_NEW(arena, deferred);
    *d = (deferred){.next = arena->calls, .fn = fn, .arg = arg};
    arena->calls = d;
}
