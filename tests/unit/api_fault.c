/* An error on any rank, at every task and at every message of a step: all ranks
 * return from the step with the first error's sentence, nothing hangs, and what
 * the session held is given back. Given `message|task RANK N` it is one such
 * run whose ranks are those of its launcher: mpi.tap starts it so. */
#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "tests/tap.h"

enum { MOST = 10000 };

/* The runs; of those that have many messages every few only. */
static const struct setup {
    const char *program, *ranks, *plan; /* NULL: as it comes */
    int n_ranks, every;
} setups[] = {
    {"tiny.rlf", "3", NULL, 3, 1},
    {"pipe.rlf", "4", "pipe.place", 4, 67},
    {"tail.rlf", "3", "migrate.place", 3, 5},
};

static const struct {
    const char *name, *sentence;
} kinds[] = {
    {"message", "rank %d fails in"},
    {"task", "rank %d fails, as a test wants it"},
};

static void
set_fault(rlf_session *s, int kind, int rank, int n)
{
    int local = rlf_comm_world_local(s->world);
    if (rank / local != rlf_comm_world_process(s->world))
        return;
    if (kind == 0)
        rlf_comm_fault(rlf_comm_of(s->world, rank % local), n);
    else
        rlf_run_fault(s->run, rank, (uint64_t)n);
}

/* `ranks` NULL: as the launcher started them. */
static rlf_session *
open_session(const struct setup *setup, const char *ranks)
{
    const char *source = getenv("RLFLOW_SOURCE");
    if (!source)
        skip_all("RLFLOW_SOURCE is not set");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/e2e/%s", source, setup->program);
    rlf_session *s = rlf_session_open(path);
    rlf_session_set(s, "--steps", "1");
    if (ranks)
        rlf_session_set(s, "--ranks", ranks);
    if (setup->plan) {
        snprintf(path, sizeof path, "%s/tests/e2e/%s", source, setup->plan);
        rlf_session_set(s, "--plan", path);
    }
    if (rlf_session_ready(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    return s;
}

/* One run with a fault; false: it was done before it came to that. */
static bool
fails(const struct setup *setup, int kind, int rank, int n, bool *right)
{
    rlf_session *s = open_session(setup, setup->ranks);
    set_fault(s, kind, rank, n);
    rlf_result result;
    while ((result = rlf_session_step(s)) == RLF_RESULT_OK)
        continue;
    char sentence[64];
    snprintf(sentence, sizeof sentence, kinds[kind].sentence, rank);
    bool failed = result != RLF_RESULT_END;
    *right = !failed || (result == RLF_RESULT_FAILED &&
                         strstr(rlf_session_message(s), sentence));
    if (!*right)
        note("%s %d of rank %d: %s", kinds[kind].name, n, rank,
             rlf_session_message(s));
    rlf_session_close(s);
    return failed;
}

static void
test_all(const struct setup *setup, int kind, int rank)
{
    int n = 1, wrong = 0;
    int every = kind == 0 ? setup->every : (setup->every + 15) / 16;
    every *= quick() ? 17 : 1;
    bool right;
    for (; n < MOST && fails(setup, kind, rank, n, &right); n += every)
        wrong += !right;
    ok(n > 20 && n < MOST && !wrong && right,
       "%s, rank %d: a fault at %s %s of a step, up to %d", setup->program,
       rank, every == 1 ? "each" : "many a", kinds[kind].name, n);
}

static int
one(char **argv)
{
    rlf_session *s = open_session(&setups[0], NULL);
    set_fault(s, strcmp(argv[1], "task") == 0, atoi(argv[2]), atoi(argv[3]));
    rlf_result result;
    while ((result = rlf_session_step(s)) == RLF_RESULT_OK)
        continue;
    if (s->leads)
        printf("%s\n", rlf_session_message(s));
    fflush(stdout);
    rlf_session_close(s);
    return -(int)result;
}

int
main(int argc, char **argv)
{
    if (argc == 4)
        return one(argv);
    for (size_t i = 0; i < RLF_COUNT(setups); i++)
        for (int rank = 0; rank < setups[i].n_ranks; rank++)
            for (int kind = 0; kind < 2; kind++)
                test_all(&setups[i], kind, rank);
    return done();
}
