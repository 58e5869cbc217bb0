/* A word that threads wait on: spinning for a while where every thread has a
 * core, then asleep on a futex. Who is about to sleep says so first (`asleep`)
 * and looks again; who changes the value looks at `asleep` after, so that no
 * wake-up is lost. Within one process. */
#ifndef RLF_DEV_FUTEX_H
#define RLF_DEV_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

/* A word on a cache line of its own. All zero: ready for use. */
typedef struct rlf_futex {
    _Alignas(64) uint32_t value;
    uint32_t asleep; /* threads that sleep on it, or are about to */
} rlf_futex;

#define RLF_FOREVER UINT64_MAX

/* Waits until the value is not `old`, for at most `ns` nanoseconds; returns
 * whether it changed. What was written before the change is seen after. With
 * `spin` it spins for at most 50 us before it sleeps. */
bool rlf_futex_wait(rlf_futex *word, uint32_t old, bool spin, uint64_t ns);
/* Called after a change of the value (__ATOMIC_SEQ_CST): wakes who sleeps. */
void rlf_futex_wake(rlf_futex *word);

static inline uint32_t
rlf_futex_get(const rlf_futex *word)
{
    return __atomic_load_n(&word->value, __ATOMIC_ACQUIRE);
}

/* Change the value and wake. */
static inline void
rlf_futex_ring(rlf_futex *word)
{
    __atomic_fetch_add(&word->value, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&word->asleep, __ATOMIC_SEQ_CST))
        rlf_futex_wake(word);
}

/* Tells the core that this thread spins. */
static inline void
rlf_futex_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
