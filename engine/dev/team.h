/* A rank's own team of threads.
 *
 * The thread that made the team is its thread 0 and takes part in every
 * region; the others wait in between. A wait spins (at most 50 us) only when
 * every thread of the run has a core of its own, else it sleeps on a futex at
 * once. Every thread computes with the same rounding and denormal mode. A team
 * belongs to one caller at a time; regions do not nest. */
#ifndef RLF_DEV_TEAM_H
#define RLF_DEV_TEAM_H

#include "engine/base/status.h"

typedef struct rlf_team rlf_team;

typedef void rlf_team_fn(void *arg, int thread, int n_threads);

/* n_threads >= 1. n_run_threads: threads of all ranks of the run on this
 * machine (>= n_threads), compared with rlf_cores_count() to choose how to
 * wait. RLF_ENV when a thread cannot be started. */
rlf_status rlf_team_new(int n_threads, int n_run_threads, rlf_team **out,
                        rlf_err *err);
void rlf_team_free(rlf_team *team);
int rlf_team_size(const rlf_team *team);

/* fn(arg, thread, n_threads) once in every thread; returns when all are done.
 * What the caller wrote before is seen by all, what they wrote is seen after.
 * Costs about 1 us while the team spins. */
void rlf_team_run(rlf_team *team, rlf_team_fn *fn, void *arg);
/* The same on the first `n` threads only (1 <= n <= size); n = 1 is a call. */
void rlf_team_run_some(rlf_team *team, int n, rlf_team_fn *fn, void *arg);

/* Work claimed piece by piece, in any order by any thread. */
typedef struct rlf_claim {
    int64_t next, end;
} rlf_claim;

static inline rlf_claim
rlf_claim_of(int64_t n)
{
    return (rlf_claim){0, n};
}

/* The next `grain` items [*first, *last); false when none are left. */
static inline bool
rlf_claim_take(rlf_claim *claim, int64_t grain, int64_t *first, int64_t *last)
{
    int64_t at = __atomic_fetch_add(&claim->next, grain, __ATOMIC_RELAXED);
    if (at >= claim->end)
        return false;
    *first = at;
    *last = at + grain < claim->end ? at + grain : claim->end;
    return true;
}

#endif
