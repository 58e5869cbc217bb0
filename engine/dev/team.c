/* The team of threads: a word per worker to wait on, one counter to join.
 *
 * Each worker waits for its own `go` word to change, so a region on some of
 * the threads does not wake the others (futex.h says how it waits). */
#define _GNU_SOURCE
#include "engine/dev/team.h"
#include "engine/base/arena.h"
#include "engine/dev/cores.h"
#include "engine/dev/futex.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

typedef struct worker {
    rlf_futex go;
    rlf_team *team;
    int index;
    bool started;
    pthread_t thread;
} worker;

struct rlf_team {
    rlf_futex pending; /* workers of the region not done yet */
    int n, n_region;
    bool spin, stop;
    rlf_team_fn *fn;
    void *arg;
    worker *workers; /* [n], the first unused */
};

/* Control word of floating point: round to nearest, denormals kept. */
static uint64_t
float_mode_get(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu;
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
#else
    return 0;
#endif
}

static void
float_mode_set(uint64_t mode)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((unsigned)mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(mode));
#else
    (void)mode;
#endif
}

static uint64_t
float_mode_standard(void)
{
#if defined(__x86_64__)
    return 0x1f80;
#else
    return 0;
#endif
}

static void *
worker_main(void *arg)
{
    worker *w = arg;
    rlf_team *team = w->team;
    float_mode_set(float_mode_standard());
    for (uint32_t seen = 0;; seen++) {
        rlf_futex_wait(&w->go, seen, team->spin, RLF_FOREVER);
        if (team->stop)
            return NULL;
        team->fn(team->arg, w->index, team->n_region);
        if (__atomic_sub_fetch(&team->pending.value, 1, __ATOMIC_SEQ_CST) == 0)
            rlf_futex_wake(&team->pending);
    }
}

rlf_status
rlf_team_new(int n_threads, int n_run_threads, rlf_team **out, rlf_err *err)
{
    RLF_ASSERT(n_threads >= 1);
    rlf_team *team = aligned_alloc(64, sizeof *team);
    worker *workers = aligned_alloc(64, sizeof *workers * (size_t)n_threads);
    if (!team || !workers) {
        free(team);
        free(workers);
        return rlf_fail_memory(err, sizeof *workers * (size_t)n_threads,
                               "a team of %d threads", n_threads);
    }
    *team = (rlf_team){.n = n_threads,
                       .workers = workers,
                       .spin = n_run_threads <= rlf_cores_count()};
    for (int i = 0; i < n_threads; i++)
        workers[i] = (worker){.team = team, .index = i};
    /* signals are the business of the program's own threads */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = 0;
    for (int i = 1; i < n_threads && !failed; i++) {
        worker *w = &workers[i];
        failed = pthread_create(&w->thread, NULL, worker_main, w);
        w->started = !failed;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed) {
        rlf_team_free(team);
        errno = failed;
        rlf_status status =
            rlf_fail_errno(err, "cannot start a team of %d threads", n_threads);
        rlf_err_hint(err, "use fewer threads or raise the limit of processes");
        return status;
    }
    *out = team;
    return RLF_OK;
}

void
rlf_team_free(rlf_team *team)
{
    if (!team)
        return;
    team->stop = true;
    for (int i = 1; i < team->n; i++) {
        worker *w = &team->workers[i];
        if (!w->started)
            continue;
        rlf_futex_ring(&w->go);
        pthread_join(w->thread, NULL);
    }
    free(team->workers);
    free(team);
}

int
rlf_team_size(const rlf_team *team)
{
    return team->n;
}

void
rlf_team_run(rlf_team *team, rlf_team_fn *fn, void *arg)
{
    rlf_team_run_some(team, team->n, fn, arg);
}

void
rlf_team_run_some(rlf_team *team, int n, rlf_team_fn *fn, void *arg)
{
    RLF_ASSERT(n >= 1 && n <= team->n);
    uint64_t mode = float_mode_get(), standard = float_mode_standard();
    if (mode != standard)
        float_mode_set(standard);
    team->fn = fn;
    team->arg = arg;
    team->n_region = n;
    __atomic_store_n(&team->pending.value, (uint32_t)n - 1, __ATOMIC_RELAXED);
    for (int i = 1; i < n; i++) {
        rlf_futex_ring(&team->workers[i].go);
    }
    fn(arg, 0, n);
    uint32_t left;
    while ((left = __atomic_load_n(&team->pending.value, __ATOMIC_ACQUIRE)))
        rlf_futex_wait(&team->pending, left, team->spin, RLF_FOREVER);
    if (mode != standard)
        float_mode_set(mode);
}
