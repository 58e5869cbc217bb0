/* Words to wait on: see futex.h. */
#define _GNU_SOURCE
#include "engine/dev/futex.h"
#include "engine/base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 50000

static bool
spin_change(const rlf_futex *word, uint32_t old, uint64_t ns)
{
    uint64_t begin = rlf_clock_now();
    do {
        for (int i = 0; i < 32; i++) {
            if (rlf_futex_get(word) != old)
                return true;
            rlf_futex_relax();
        }
    } while (rlf_clock_now() - begin < ns);
    return false;
}

bool
rlf_futex_wait(rlf_futex *word, uint32_t old, bool spin, uint64_t ns)
{
    if (rlf_futex_get(word) != old)
        return true;
    if (spin && spin_change(word, old, ns < SPIN_NS ? ns : SPIN_NS))
        return true;
    uint64_t begin = ns == RLF_FOREVER ? 0 : rlf_clock_now();
    __atomic_fetch_add(&word->asleep, 1, __ATOMIC_SEQ_CST);
    bool changed;
    while (
        !(changed = __atomic_load_n(&word->value, __ATOMIC_SEQ_CST) != old)) {
        struct timespec left, *until = NULL;
        if (ns != RLF_FOREVER) {
            uint64_t gone = rlf_clock_now() - begin;
            if (gone >= ns)
                break;
            left.tv_sec = (time_t)((ns - gone) / 1000000000);
            left.tv_nsec = (long)((ns - gone) % 1000000000);
            until = &left;
        }
        syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, old, until, NULL,
                0);
    }
    __atomic_fetch_sub(&word->asleep, 1, __ATOMIC_RELAXED);
    return changed;
}

void
rlf_futex_wake(rlf_futex *word)
{
    if (__atomic_load_n(&word->asleep, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
                NULL, 0);
}
