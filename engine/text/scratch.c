/* Buffers of encoding: see scratch.h. */
#include "engine/text/scratch.h"

#include <stdatomic.h>

enum {
    COUNT = 16,         /* threads that find one */
    KEPT_MOST = 1 << 16 /* bytes of a text for which buffers are kept */
};

struct rlf_scratches {
    struct {
        atomic_flag taken;
        rlf_scratch scratch;
    } items[COUNT];
};

static void
free_scratch(rlf_scratch *scratch)
{
    rlf_pretokens_free(&scratch->words);
    rlf_word_model_work_free(&scratch->work);
}

static void
free_all(void *arg)
{
    rlf_scratches *all = arg;
    for (int i = 0; i < COUNT; i++)
        free_scratch(&all->items[i].scratch);
}

rlf_scratches *
rlf_scratches_new(rlf_arena *arena)
{
    rlf_scratches *all = RLF_NEW(arena, rlf_scratches);
    for (int i = 0; i < COUNT; i++)
        atomic_flag_clear(&all->items[i].taken);
    rlf_arena_defer(arena, free_all, all);
    return all;
}

rlf_scratch *
rlf_scratch_take(rlf_scratches *all, rlf_scratch *own)
{
    for (int i = 0; i < COUNT; i++)
        if (!atomic_flag_test_and_set(&all->items[i].taken))
            return &all->items[i].scratch;
    return own;
}

void
rlf_scratch_give(rlf_scratches *all, rlf_scratch *scratch)
{
    int i = 0;
    while (i < COUNT && scratch != &all->items[i].scratch)
        i++;
    if (i == COUNT || scratch->words.text.room > KEPT_MOST)
        free_scratch(scratch);
    if (i < COUNT)
        atomic_flag_clear(&all->items[i].taken);
}
