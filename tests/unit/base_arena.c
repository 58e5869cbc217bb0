/* Arenas and growable arrays. */
#include "engine/base/arena.h"
#include "engine/base/vec.h"

#include "tests/tap.h"

static bool
all_zero(const void *p, size_t n)
{
    const unsigned char *u = p;
    for (size_t i = 0; i < n; i++)
        if (u[i])
            return false;
    return true;
}

/* Many sizes, alignments and a reset: zeroed, aligned, disjoint. */
static void
blocks(void)
{
    enum { N = 2000 };
    rlf_arena *arena = rlf_arena_new();
    static unsigned char *p[N];
    static size_t size[N];
    for (int round = 0; round < 3; round++) {
        bool zero = true, aligned = true, apart = true;
        size_t sum = 0;
        for (size_t i = 0; i < N; i++) {
            size_t align = (size_t)1 << (i % 13);
            size[i] = i % 97 == 0 ? 100000 + i : i * 7 % 301;
            p[i] = rlf_arena_alloc_aligned(arena, size[i], align);
            zero = zero && all_zero(p[i], size[i]);
            aligned = aligned && (uintptr_t)p[i] % align == 0;
            memset(p[i], (int)(i % 251) + 1, size[i]);
            sum += size[i];
        }
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < size[i]; k++)
                apart = apart && p[i][k] == i % 251 + 1;
        ok(zero, "zeroed, round %d", round);
        ok(aligned, "aligned");
        ok(apart, "none overlaps another");
        is_int((int64_t)rlf_arena_used(arena), (int64_t)sum, "bytes in use");
        rlf_arena_reset(arena);
        is_int((int64_t)rlf_arena_used(arena), 0, "none after a reset");
    }
    ok((uintptr_t)rlf_arena_alloc(arena, 3) % 16 == 0, "16 bytes by default");
    ok(rlf_arena_alloc(arena, 0) != NULL, "no bytes have a place too");
    rlf_arena_free(arena);
    rlf_arena_free(NULL);
}

/* Blocks that arenas have asked for. */
static int requested;

void *__real_rlf_malloc_aligned(size_t n);
void *__wrap_rlf_malloc_aligned(size_t n);

void *
__wrap_rlf_malloc_aligned(size_t n)
{
    requested++;
    return __real_rlf_malloc_aligned(n);
}

/* Blocks that an arena asks for when it is given n requests of 1000 bytes. */
static int
blocks_for(rlf_arena *arena, int n)
{
    int before = requested;
    bool zero = true;
    for (int i = 0; i < n; i++) {
        char *p = rlf_arena_alloc(arena, 1000);
        zero = zero && all_zero(p, 1000);
        memset(p, 1, 1000);
    }
    if (!zero)
        note("what is asked for is not zero");
    return zero ? requested - before : -1;
}

/* What is done again and again asks the system for memory once, unless it is
 * much: then that is given back. */
static void
kept(void)
{
    rlf_arena *arena = rlf_arena_new();
    int first = blocks_for(arena, 500);
    rlf_arena_reset(arena);
    int second = blocks_for(arena, 500);
    ok(first >= 7 && first <= 8, "500 kB are some blocks: %d", first);
    is_int(second, RLF_MEMORY_WATCHED ? first : 0,
           "which a reset keeps, if no sanitizer is to see later uses of them");
    rlf_arena_reset(arena);
    blocks_for(arena, 5000);
    rlf_arena_reset(arena);
    ok(blocks_for(arena, 5000) > 50, "of 5 MB it gives back the most");
    rlf_arena_free(arena);
}

static void
texts(void)
{
    rlf_arena *arena = rlf_arena_new();
    is_str(rlf_arena_strndup(arena, "abcdef", 3), "abc", "part of a text");
    is_str(rlf_arena_strdup(arena, ""), "", "an empty text");
    is_str(rlf_arena_printf(arena, "%d %s", 7, "seven"), "7 seven", "printf");
    char *large = rlf_arena_printf(arena, "%*d", 200000, 1);
    is_int((int64_t)strlen(large), 200000, "larger than a block");
    rlf_arena_free(arena);
}

static char order[8];
static void
called(void *arg)
{
    strcat(order, arg);
}

static void
deferred(void)
{
    char a[] = "a", b[] = "b", c[] = "c";
    rlf_arena *arena = rlf_arena_new();
    rlf_arena_defer(arena, called, a);
    rlf_arena_defer(arena, called, b);
    rlf_arena_reset(arena);
    is_str(order, "ba", "deferred calls run in reverse order");
    rlf_arena_defer(arena, called, c);
    rlf_arena_free(arena);
    is_str(order, "bac", "once each");
}

static void
arrays(void)
{
    RLF_VEC(int) v = {0};
    RLF_VEC(int) w = {0};
    rlf_arena *arena = rlf_arena_new();
    for (int i = 0; i < 1000; i++) {
        RLF_PUSH(&v, i);
        RLF_PUSH_IN(arena, &w, i);
    }
    bool good = v.count == 1000 && w.count == 1000;
    for (int i = 0; i < 1000 && good; i++)
        good = v.data[i] == i && w.data[i] == i;
    ok(good, "a thousand pushes, with and without an arena");
    RLF_VEC_FREE(&v);
    ok(!v.data && !v.count && !v.room, "an array that was freed is empty");
    rlf_arena_free(arena);
}

/* ---- memory that there is not ---- */

#ifdef __SANITIZE_ADDRESS__
/* A sanitizer ends the program that asks for so much, unless it is told. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

enum { MUCH = 1 << 20 };
static rlf_arena *lasting;
static RLF_VEC(int) list;
static bool came_back;

static void
ask_too_much(void *arg)
{
    rlf_arena *scratch = rlf_arena_scratch(lasting);
    RLF_NEW_ARRAY(scratch, int, MUCH);
    RLF_PUSH(&list, 1);
    free(rlf_malloc(*(const size_t *)arg));
    came_back = true;
}

static void
ask_inside(void *arg)
{
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_memory_guard(ask_too_much, arg, "a list", &err), RLF_MEMORY,
           "inside another");
    ask_too_much(arg);
}

static void
guarded(void)
{
    size_t most = PTRDIFF_MAX, little = 1;
    rlf_err err = RLF_ERR_NONE;
    lasting = rlf_arena_new();
    is_int(rlf_memory_guard(ask_too_much, &most, "a list", &err), RLF_MEMORY,
           "what asks for too much is left");
    ok(!came_back && strstr(err.sentence, "there is no memory for a list"),
       "and says what it was for: %s", err.sentence);
    is_int(rlf_memory_guard(ask_inside, &most, "a list", &err), RLF_MEMORY,
           "the outer one is left, too");
    is_int((int64_t)list.count, 3, "lists are whole");
    err = (rlf_err)RLF_ERR_NONE;
    is_int(rlf_memory_guard(ask_too_much, &little, "a list", &err), RLF_OK,
           "what gets all that it asks for goes on");
    ok(came_back && !rlf_memory_failed(), "and nothing is noted");
    RLF_VEC_FREE(&list);
    rlf_arena_free(lasting); /* with what was left in it */
}

static void
scratch(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_arena *a = rlf_arena_scratch(arena), *b = rlf_arena_scratch(arena);
    RLF_NEW_ARRAY(a, int, MUCH);
    RLF_NEW_ARRAY(b, int, MUCH);
    rlf_arena_free(a);
    rlf_arena_reset(arena);
    ok(rlf_arena_used(arena) == 0, "scratch goes before its arena, or with it");
    b = rlf_arena_scratch(arena);
    RLF_NEW_ARRAY(b, int, MUCH);
    rlf_arena_free(b);
    rlf_arena_free(arena);
}

int
main(void)
{
    blocks();
    kept();
    texts();
    deferred();
    arrays();
    guarded();
    scratch();
    return done();
}
