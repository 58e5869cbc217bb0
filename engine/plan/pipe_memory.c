/* See pipe_memory.h. */
#include "engine/plan/pipe_memory.h"

#include <string.h>

#include "engine/layout/layout.h"

typedef struct entry {
    struct entry *next;
    const char *schedule;
    int pp, chunks;
    bool vee;
    rlf_pipe_memory kept;
} entry;

struct rlf_pipe_memories {
    rlf_arena *arena;
    entry *first;
};

rlf_pipe_memories *
rlf_pipe_memories_new(rlf_arena *arena)
{
    rlf_pipe_memories *known = RLF_NEW(arena, rlf_pipe_memories);
    known->arena = arena;
    return known;
}

rlf_pipe_memory
rlf_pipe_memory_new(int pp, int chunks, bool split, rlf_arena *arena)
{
    int n = pp * chunks;
    return (rlf_pipe_memory){.flights = RLF_NEW_ARRAY(arena, int, n),
                             .owed =
                                 split ? RLF_NEW_ARRAY(arena, int, n) : NULL};
}

static void
raise_to(int *most, int n)
{
    *most = n > *most ? n : *most;
}

void
rlf_pipe_memory_raise(rlf_pipe_memory *kept, const rlf_pipe *pipe, int model,
                      int pp, bool vee)
{
    const rlf_pipe_model *m = &pipe->models[model];
    int chunks = m->stages / pp;
    for (int k = 0; k < m->stages; k++) {
        int place = m->path[k], chunk = k / pp;
        int at = rlf_part_stage(pp, vee, k) * chunks + chunk;
        raise_to(&kept->flights[at], rlf_pipe_held(pipe, model, place, chunk));
        if (kept->owed)
            raise_to(&kept->owed[at], rlf_pipe_owed(pipe, model, place, chunk));
    }
}

/* No more with more micro-batches than with a few, but for gpipe. */
static rlf_pipe_memory
count(const char *schedule, int pp, int chunks, bool vee, rlf_arena *arena)
{
    if (strcmp(schedule, "1f1b") == 0) { /* one for each stage from it on */
        rlf_pipe_memory kept = rlf_pipe_memory_new(pp, chunks, false, arena);
        for (int i = 0; i < pp; i++)
            kept.flights[i * chunks] = pp - i;
        return kept;
    }
    rlf_arena *scratch = rlf_arena_new();
    rlf_err ignored = RLF_ERR_NONE; /* the name is known */
    rlf_pipe pipe;
    rlf_pipe_named(schedule, pp, 1, chunks, scratch, &ignored, &pipe);
    rlf_pipe_memory kept =
        rlf_pipe_memory_new(pp, chunks, pipe.models[0].split, arena);
    bool all = strcmp(schedule, "gpipe") == 0;
    for (int micros = 1; micros <= 4 * pp && !all; micros++) {
        rlf_pipe_named(schedule, pp, micros, chunks, scratch, &ignored, &pipe);
        rlf_pipe_memory_raise(&kept, &pipe, 0, pp, vee);
    }
    rlf_arena_free(scratch);
    return kept;
}

static const rlf_pipe_memory *
remembered(rlf_pipe_memories *known, const char *schedule, int pp, int chunks,
           bool vee)
{
    for (const entry *e = known->first; e; e = e->next)
        if (e->pp == pp && e->chunks == chunks && e->vee == vee &&
            strcmp(e->schedule, schedule) == 0)
            return &e->kept;
    entry *e = RLF_NEW(known->arena, entry);
    *e = (entry){.next = known->first,
                 .schedule = rlf_arena_strdup(known->arena, schedule),
                 .pp = pp,
                 .chunks = chunks,
                 .vee = vee,
                 .kept = count(schedule, pp, chunks, vee, known->arena)};
    known->first = e;
    return &e->kept;
}

rlf_pipe_memory
rlf_pipe_memory_named(rlf_pipe_memories *known, const char *schedule, int pp,
                      int chunks, bool vee, rlf_arena *arena)
{
    if (!known)
        return count(schedule, pp, chunks, vee, arena);
    const rlf_pipe_memory *from = remembered(known, schedule, pp, chunks, vee);
    rlf_pipe_memory kept = rlf_pipe_memory_new(pp, chunks, from->owed, arena);
    size_t bytes = sizeof *kept.flights * (size_t)pp * (size_t)chunks;
    memcpy(kept.flights, from->flights, bytes);
    if (kept.owed)
        memcpy(kept.owed, from->owed, bytes);
    return kept;
}
