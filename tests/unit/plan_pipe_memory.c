/* These checks count the activations that stages keep under the tables of
 * schedules: the remembered number is the counted one, it is counted once, and
 * it is enough for more micro-batches. */
#include "engine/plan/pipe_memory.h"

#include <string.h>

#include "tests/tap.h"

static const struct {
    const char *name;
    int chunks;
    bool vee;
} schedules[] = {{"1f1b", 1, false},  {"gpipe", 1, false},
                 {"zb-h1", 1, false}, {"zb-h2", 1, false},
                 {"zb-v", 2, true},   {"interleaved", 2, false}};
enum { SCHEDULES = sizeof schedules / sizeof *schedules, PLACES = 6 };

static bool
same(const rlf_pipe_memory *a, const rlf_pipe_memory *b, int n)
{
    size_t bytes = sizeof *a->flights * (size_t)n;
    return memcmp(a->flights, b->flights, bytes) == 0 && !a->owed == !b->owed &&
           (!a->owed || memcmp(a->owed, b->owed, bytes) == 0);
}

static rlf_pipe_memory
ask(rlf_pipe_memories *known, int i, int pp, rlf_arena *arena)
{
    return rlf_pipe_memory_named(known, schedules[i].name, pp,
                                 schedules[i].chunks, schedules[i].vee, arena);
}

/* As often as it is asked, in any order, and after the caller changed its own.
 */
static void
test_remembered(rlf_pipe_memories *known, rlf_arena *arena)
{
    bool good = true;
    for (int again = 0; again < 3; again++)
        for (int i = 0; i < SCHEDULES; i++)
            for (int pp = 2; pp <= PLACES; pp++) {
                rlf_pipe_memory one = ask(known, i, pp, arena);
                rlf_pipe_memory other = ask(NULL, i, pp, arena);
                good &= same(&one, &other, pp * schedules[i].chunks);
                one.flights[0] = -1;
            }
    ok(good, "what is remembered is what is counted");
}

static void
test_once(rlf_pipe_memories *known, rlf_arena *memory, rlf_arena *arena)
{
    size_t before = rlf_arena_used(memory);
    for (int i = 0; i < SCHEDULES; i++)
        for (int pp = 2; pp <= PLACES; pp++)
            ask(known, i, pp, arena);
    is_int((int64_t)rlf_arena_used(memory), (int64_t)before,
           "nothing is counted again");
}

static bool
enough(const rlf_pipe_memory *kept, const rlf_pipe_memory *most, int n)
{
    bool good = true;
    for (int i = 0; i < n; i++)
        good &= kept->flights[i] >= most->flights[i] &&
                (!kept->owed || kept->owed[i] >= most->owed[i]);
    return good;
}

/* With more micro-batches than are gone through. */
static void
test_enough(rlf_arena *arena)
{
    for (int i = 0; i < SCHEDULES; i++) {
        int pp = PLACES, chunks = schedules[i].chunks;
        rlf_pipe_memory kept = ask(NULL, i, pp, arena);
        rlf_pipe_memory most =
            rlf_pipe_memory_new(pp, chunks, kept.owed, arena);
        rlf_err err = RLF_ERR_NONE;
        rlf_pipe pipe;
        if (strcmp(schedules[i].name, "gpipe") == 0)
            continue;
        rlf_pipe_named(schedules[i].name, pp, 9 * pp, chunks, arena, &err,
                       &pipe);
        rlf_pipe_memory_raise(&most, &pipe, 0, pp, schedules[i].vee);
        ok(enough(&kept, &most, pp * chunks), "%s keeps no more of more",
           schedules[i].name);
    }
}

int
main(void)
{
    rlf_arena *memory = rlf_arena_new(), *arena = rlf_arena_new();
    rlf_pipe_memories *known = rlf_pipe_memories_new(memory);
    test_remembered(known, arena);
    test_once(known, memory, arena);
    test_enough(arena);
    rlf_arena_free(arena);
    rlf_arena_free(memory);
    return done();
}
