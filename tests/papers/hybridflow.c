/* See hybridflow.h. */
#include "tests/papers/hybridflow.h"

papers_family *
hybridflow_open(papers_size size, const papers_speeds *speeds, rlf_arena *arena)
{
    return papers_open(size, (papers_lengths){1024, 1024, 1024}, speeds, arena);
}

hybridflow_placed
hybridflow_place(papers_family *family, int devices)
{
    rlf_arena *arena = rlf_arena_new();
    papers_problem *p = RLF_NEW(arena, papers_problem);
    rlf_placing at;
    int n = devices, h = n / 2;
    papers_problem_make(family, family, n, PAPERS_PARTS, arena, p);
    hybridflow_placed out = {
        .colocate = papers_place(p, (int[4]){0, 0, 0, 0}, (int[4]){n, n, n, n},
                                 arena, &at),
        .split = papers_place(p, (int[4]){0, h, 0, h}, (int[4]){h, h, h, h},
                              arena, &at),
        .standalone =
            papers_place(p, (int[4]){0, h, h + n / 4, h + n / 4 + n / 8},
                         (int[4]){h, n / 4, n / 8, n / 8}, arena, &at)};
    rlf_arena_free(arena);
    return out;
}
