/* Teams: every thread once, results visible, any size of region, spinning and
 * sleeping waits, the floating-point mode, signals. */
#include "engine/dev/cores.h"
#include "engine/dev/team.h"
#include "tests/tap.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { MAX = 8 };

typedef struct record {
    rlf_team *team;
    int64_t calls[MAX], sum[MAX];
    int n_threads[MAX];
    rlf_claim claim;
    float tiny, denormal[MAX];
    int blocked[MAX];
} record;

static void
mark(void *arg, int thread, int n_threads)
{
    record *r = arg;
    r->calls[thread]++;
    r->n_threads[thread] = n_threads;
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    r->blocked[thread] = sigismember(&set, SIGINT);
    r->denormal[thread] = r->tiny * 0.5f;
}

static void
claim(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    record *r = arg;
    int64_t first, last;
    while (rlf_claim_take(&r->claim, 7, &first, &last))
        for (int64_t i = first; i < last; i++)
            r->sum[thread] += i;
}

/* n_run_threads chooses the wait: 1000 are more than the cores. */
static void
test_size(int n, int n_run_threads)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_team *team = NULL;
    const char *how = n_run_threads > n ? "sleeping" : "as cores allow";
    if (!is_int(rlf_team_new(n, n_run_threads, &team, &err), RLF_OK, how))
        bail("%s", err.sentence);
    record r = {.team = team, .tiny = 0x1p-126f};
    bool once = true, mode = true;
    for (int i = 1; i <= 500; i++) {
        int some = 1 + i % n;
        record before = r;
        rlf_team_run_some(team, some, mark, &r);
        for (int t = 0; t < n; t++) {
            once &= r.calls[t] == before.calls[t] + (t < some);
            once &= t >= some || r.n_threads[t] == some;
            mode &= t >= some || r.denormal[t] == 0x1p-127f;
        }
    }
    ok(once, "%d threads, %s: each of a region runs once", n, how);
    ok(mode, "%d threads, %s: denormals are kept", n, how);
    bool quiet = true;
    for (int t = 1; t < n; t++)
        quiet &= r.blocked[t] == 1;
    ok(quiet && !r.blocked[0], "%d threads, %s: signals go elsewhere", n, how);
    r.claim = rlf_claim_of(10007);
    rlf_team_run(team, claim, &r);
    int64_t sum = 0;
    for (int t = 0; t < n; t++)
        sum += r.sum[t];
    is_int(sum, (int64_t)10007 * 10006 / 2, "claimed pieces cover all, once");
    /* let the workers fall asleep, then wake them */
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    int64_t calls = r.calls[n - 1];
    rlf_team_run(team, mark, &r);
    is_int(r.calls[n - 1], calls + 1, "sleepers wake");
    rlf_team_free(team);
}

int
main(void)
{
    static const int sizes[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) {
        test_size(sizes[i], sizes[i]);
        test_size(sizes[i], 1000);
    }
#if defined(__x86_64__)
    rlf_err err = RLF_ERR_NONE;
    rlf_team *team = NULL;
    rlf_team_new(2, 2, &team, &err);
    unsigned mode = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(mode | 0x8040); /* denormals flushed */
    record r = {.team = team, .tiny = 0x1p-126f};
    rlf_team_run(team, mark, &r);
    unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(mode);
    ok(r.denormal[0] == 0x1p-127f && r.denormal[1] == 0x1p-127f,
       "a caller that flushes denormals does not change a region");
    is_int(after & 0x8040, 0x8040, "the caller's mode is restored");
    rlf_team_free(team);
#else
    skip("the caller's rounding mode is only tested on x86-64");
#endif
    return done();
}
