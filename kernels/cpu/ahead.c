/* See ahead.h. The medians of both ways are compared: a trial in which another
 * process had the core, or the cache had the weights, says nothing. */
#include "kernels/cpu/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"

/* To ask for weights takes instructions, so it has to be worth them. */
#define GAIN 0.97

bool
rlf_ahead_way(const rlf_ahead *ahead)
{
    return __atomic_load_n(&ahead->decided, __ATOMIC_ACQUIRE) == 2;
}

bool
rlf_ahead_ask(rlf_ahead *ahead, bool *trial)
{
    uint32_t decided = __atomic_load_n(&ahead->decided, __ATOMIC_ACQUIRE);
    *trial = decided == 0;
    if (decided)
        return decided == 2;
    /* as by chance, so that no part of a head goes one way alone */
    uint32_t i = __atomic_fetch_add(&ahead->asked, 1, __ATOMIC_RELAXED);
    i = (i ^ i >> 16) * 0x85ebca6bU;
    i = (i ^ i >> 13) * 0xc2b2ae35U;
    return ((i ^ i >> 16) & 1) != 0;
}

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
median(const double took[RLF_AHEAD_TRIALS])
{
    double sorted[RLF_AHEAD_TRIALS];
    memcpy(sorted, took, sizeof sorted);
    qsort(sorted, RLF_AHEAD_TRIALS, sizeof *sorted, by_size);
    return sorted[RLF_AHEAD_TRIALS / 2];
}

void
rlf_ahead_tell(rlf_ahead *ahead, bool way, double seconds)
{
    uint32_t i = __atomic_fetch_add(&ahead->begun[way], 1, __ATOMIC_RELAXED);
    if (i >= RLF_AHEAD_TRIALS)
        return;
    ahead->took[way][i] = seconds;
    __atomic_fetch_add(&ahead->told[way], 1, __ATOMIC_SEQ_CST);
    for (int k = 0; k < 2; k++)
        if (__atomic_load_n(&ahead->told[k], __ATOMIC_SEQ_CST) !=
            RLF_AHEAD_TRIALS)
            return;
    bool with = median(ahead->took[1]) < GAIN * median(ahead->took[0]);
    __atomic_store_n(&ahead->decided, with ? 2 : 1, __ATOMIC_RELEASE);
}

/* Parts that read as much are trials until it is decided: those of a head,
 * which are alike and, but in a small model, come from memory. */
#define TRIAL_BYTES (512 << 10)

bool
rlf_ahead_begin(rlf_ahead_choices *choices, int64_t rows, int64_t tile,
                double bytes, rlf_ahead_part *part)
{
    *part = (rlf_ahead_part){.way = true, .bytes = bytes};
    if (rows > 2 * tile)
        return true;
    rlf_ahead *choice = &choices->of[rows <= 2 ? 0 : rows <= tile ? 1 : 2];
    bool trial = false;
    part->way = bytes < TRIAL_BYTES ? rlf_ahead_way(choice)
                                    : rlf_ahead_ask(choice, &trial);
    part->choice = trial ? choice : NULL;
    part->from = trial ? rlf_clock_now() : 0;
    return part->way;
}

void
rlf_ahead_end(const rlf_ahead_part *part)
{
    if (part->choice)
        rlf_ahead_tell(part->choice, part->way,
                       rlf_clock_since(part->from) / part->bytes);
}
