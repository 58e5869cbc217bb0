/* An error on any rank, at every task and at every message of a step, of a
 * checkpoint that is written or read: all ranks return with the first error's
 * sentence, nothing hangs, and what the session held is given back. And a
 * controller that hangs, which its ranks find out. Given `message|task RANK N`,
 * or `controller 0 0`, it is one such run whose ranks are those of its
 * launcher: mpi.tap starts it so. Given `move RANK N DIRECTORY`, one in which
 * the process of that rank kills itself, and given `part RANK N DIRECTORY` one
 * in which it does so when the run is over, to which it is told by the signal
 * N, or by its steps if N is 0: mpi_end.tap does. */
#define _GNU_SOURCE /* mkdtemp */
#include "engine/api/session.h"
#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/sched/framing.h"
#include "engine/sched/rank.h"
#include "tests/message_fault.h"
#include "tests/tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 10000 };

enum phase { STEP, STEP_AND_SAVE, RESTORE, KILLED };

/* The runs; of some every few messages and tasks only, for they have many, each
 * rank from another on. `least`: so many tasks or messages there are more
 * than. */
static const struct setup {
    const char *name, *program, *ranks, *plan; /* NULL: as it comes */
    int n_ranks, every[2], least;              /* every: message, task */
    enum phase phase;
    const char *steps;
} setups[] = {
    {.name = "a step",
     .program = "tiny.rlf",
     .ranks = "3",
     .n_ranks = 3,
     .every = {13, 3},
     .least = 20,
     .phase = STEP,
     .steps = "1"},
    {.name = "pipelines",
     .program = "pipe.rlf",
     .ranks = "4",
     .plan = "pipe.place",
     .n_ranks = 4,
     .every = {401, 29},
     .least = 20,
     .phase = STEP,
     .steps = "1"},
    {.name = "migration",
     .program = "tail.rlf",
     .ranks = "3",
     .plan = "migrate.place",
     .n_ranks = 3,
     .every = {83, 29},
     .least = 20,
     .phase = STEP,
     .steps = "1"},
    {.name = "many layouts, saved",
     .program = "tiny.rlf",
     .ranks = "4",
     .plan = "fault.place",
     .n_ranks = 4,
     .every = {167, 29},
     .least = 20,
     .phase = STEP_AND_SAVE,
     .steps = "1"},
    {.name = "a checkpoint is read",
     .program = "tiny.rlf",
     .ranks = "4",
     .plan = "fault.place",
     .n_ranks = 4,
     .every = {1, 1},
     .least = 1,
     .phase = RESTORE,
     .steps = "1"},
    {.name = "two steps ahead, saved",
     .program = "ahead.rlf",
     .ranks = "3",
     .plan = "ahead.place",
     .n_ranks = 3,
     .every = {2411, 83},
     .least = 20,
     .phase = STEP_AND_SAVE,
     .steps = "3"},
};

/* The ones whose ranks' process is killed, in more steps than it comes to, and
 * behind them. */
static const struct setup killed = {.name = "killed",
                                    .program = "tail.rlf",
                                    .plan = "migrate.place",
                                    .n_ranks = 3,
                                    .every = {1, 1},
                                    .phase = KILLED,
                                    .steps = "4000"};
static const struct setup parted = {.name = "parted",
                                    .program = "tiny.rlf",
                                    .n_ranks = 2,
                                    .every = {1, 1},
                                    .phase = KILLED,
                                    .steps = "1"};

/* A directory of this test. */
static char directory[512] = "/tmp/rlflow-fault-XXXXXX";

static void
remove_in_directory(const char *name)
{
    char path[sizeof directory + 32];
    rlf_err ignored = RLF_ERR_NONE;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    rlf_dir_remove(path, &ignored);
}

/* As for a new run; a checkpoint that is to be read stays. */
static void
clear_directory(void)
{
    remove_in_directory("metrics.jsonl");
    remove_in_directory("samples.jsonl");
    remove_in_directory("ranks.jsonl");
    remove_in_directory("checkpoints");
}

/* The checkpoint that is read again and again: aside while a session opens,
 * for which it would be another run's, and back. */
static void
move_checkpoints(bool aside)
{
    char in[sizeof directory + 32], out[sizeof directory + 32];
    rlf_err err = RLF_ERR_NONE;
    snprintf(in, sizeof in, "%s/checkpoints", directory);
    snprintf(out, sizeof out, "%s/aside", directory);
    if (!aside)
        remove_in_directory("checkpoints");
    if (rlf_path_rename(aside ? in : out, aside ? out : in, &err) < 0)
        bail("%s", err.sentence);
}

/* ---- faults ---- */

/* The linker puts what follows in the place of functions that parts of the
 * library call in others (--wrap, in engine/api/local.mk), so that the library
 * knows of no faults: the n-th task of a rank fails, the process of a rank
 * kills itself in its n-th MOVE, once what goes is packed, or when the run is
 * closed, and the thread that takes steps never hears anything again. */
static struct {
    int rank;
    uint64_t task, move; /* 0: none; 1: the next */
    pthread_t controller;
    bool hangs;
    rlf_comm_world
        *part; /* the process of the rank is killed as it leaves it */
} fault;
static _Thread_local bool moves; /* of the rank, and has packed what goes */

rlf_status __real_rlf_rank_execute(rlf_rank *rank,
                                   const rlf_rank_command *command,
                                   rlf_err *err);
rlf_status __wrap_rlf_rank_execute(rlf_rank *rank,
                                   const rlf_rank_command *command,
                                   rlf_err *err);
rlf_status __real_rlf_group_exchange(rlf_group *group, int tag,
                                     const rlf_part *sends, int n_sends,
                                     const rlf_part *receives, int n_receives,
                                     rlf_err *err);
rlf_status __wrap_rlf_group_exchange(rlf_group *group, int tag,
                                     const rlf_part *sends, int n_sends,
                                     const rlf_part *receives, int n_receives,
                                     rlf_err *err);
rlf_status __real_rlf_framing_hear(rlf_framing *framing, double seconds,
                                   rlf_err *err, const rlf_buf **message);
rlf_status __wrap_rlf_framing_hear(rlf_framing *framing, double seconds,
                                   rlf_err *err, const rlf_buf **message);

bool __real_rlf_run_close(rlf_run *run);
bool __wrap_rlf_run_close(rlf_run *run);

rlf_status
__wrap_rlf_rank_execute(rlf_rank *rank, const rlf_rank_command *command,
                        rlf_err *err)
{
    bool mine = rank->rank == fault.rank;
    if (mine && fault.task && --fault.task == 0)
        return rlf_fail(err, RLF_ENV, "rank %d fails, as a test wants it",
                        rank->rank);
    moves = mine && command->kind == RLF_DO_MOVE;
    return __real_rlf_rank_execute(rank, command, err);
}

rlf_status
__wrap_rlf_group_exchange(rlf_group *group, int tag, const rlf_part *sends,
                          int n_sends, const rlf_part *receives, int n_receives,
                          rlf_err *err)
{
    if (moves && fault.move && --fault.move == 0)
        raise(SIGKILL);
    moves = false;
    return __real_rlf_group_exchange(group, tag, sends, n_sends, receives,
                                     n_receives, err);
}

rlf_status
__wrap_rlf_framing_hear(rlf_framing *framing, double seconds, rlf_err *err,
                        const rlf_buf **message)
{
    while (fault.hangs && pthread_equal(pthread_self(), fault.controller))
        rlf_clock_sleep(UINT32_MAX);
    return __real_rlf_framing_hear(framing, seconds, err, message);
}

/* When the run is over in both processes the one is killed, and the other goes
 * on when it has found out. */
bool
__wrap_rlf_run_close(rlf_run *run)
{
    bool closed = __real_rlf_run_close(run);
    char over[sizeof directory + 8];
    if (!fault.part)
        return closed;
    uint64_t from = rlf_clock_now();
    bool dies = rlf_comm_world_process(fault.part) == fault.rank;
    snprintf(over, sizeof over, "%s.over", directory);
    if (!dies)
        mkdir(over, 0755);
    while ((dies ? access(over, F_OK) != 0 : rlf_comm_lost(fault.part) < 0) &&
           rlf_clock_since(from) < 60)
        rlf_clock_sleep(1000000);
    if (dies)
        raise(SIGKILL);
    return closed;
}

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
    fault.rank = rank;
    if (kind == 0)
        fail_message(rlf_comm_of(s->world, rank % local), n);
    else
        fault.task = (uint64_t)n;
}

/* `ranks` NULL: as the launcher started them. `patience`: nothing but a
 * controller that hangs waits for its end. */
static rlf_session *
open_session(const struct setup *setup, const char *ranks, const char *patience)
{
    const char *source = getenv("RLFLOW_SOURCE");
    if (!source)
        skip_all("RLFLOW_SOURCE is not set");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/e2e/%s", source, setup->program);
    rlf_session *s = rlf_session_open(path);
    rlf_session_set(s, "--steps", setup->steps);
    rlf_session_set(s, "--patience", patience);
    if (ranks)
        rlf_session_set(s, "--ranks", ranks);
    if (setup->plan) {
        snprintf(path, sizeof path, "%s/tests/e2e/%s", source, setup->plan);
        rlf_session_set(s, "--plan", path);
    }
    if (setup->phase == RESTORE)
        move_checkpoints(true);
    if (setup->phase != STEP) {
        clear_directory();
        rlf_session_set(s, "--out", directory);
    }
    rlf_result result = rlf_session_ready(s);
    if (result != RLF_RESULT_OK && !ranks) { /* another process was ready */
        if (s->leads)
            printf("%s\n", rlf_session_message(s));
        exit(-(int)result);
    }
    if (result != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    if (setup->phase == RESTORE)
        move_checkpoints(false);
    return s;
}

static rlf_result
carry_on(rlf_session *s, enum phase phase)
{
    rlf_result result = RLF_RESULT_OK;
    rlf_resumed found;
    if (phase == RESTORE) {
        rlf_status status = rlf_run_resume(s->run, &s->err, &found);
        return status < 0 ? rlf_session_result(status) : RLF_RESULT_END;
    }
    while (result == RLF_RESULT_OK)
        result = rlf_session_step(s);
    return result;
}

/* One run with a fault; false: it was done before it came to that. */
static bool
fails(const struct setup *setup, int kind, int rank, int n, bool *right)
{
    rlf_session *s = open_session(setup, setup->ranks, "60");
    set_fault(s, kind, rank, n);
    rlf_result result = carry_on(s, setup->phase);
    char sentence[64];
    snprintf(sentence, sizeof sentence, kinds[kind].sentence, rank);
    bool failed = result != RLF_RESULT_END;
    *right = !failed || (result == RLF_RESULT_FAILED &&
                         strstr(rlf_session_message(s), sentence));
    if (!*right)
        note("%s %d of rank %d: %s", kinds[kind].name, n, rank,
             rlf_session_message(s));
    rlf_session_close(s);
    fail_message(NULL, 0); /* whatever was not come to */
    fault.task = 0;
    return failed;
}

static void
test_all(const struct setup *setup, int kind, int rank)
{
    int every = setup->every[kind], wrong = 0;
    /* of the ranks that do the same each shows some, together all */
    if (rank > 0 && setup->n_ranks > 1 && setup->phase == STEP && every == 1)
        every = setup->n_ranks - 1;
    int n = 1 + rank % every;
    if (quick())
        every = every * 37 < MOST / 8 ? every * 37 : MOST / 8;
    bool right = true;
    for (; n < MOST && fails(setup, kind, rank, n, &right); n += every)
        wrong += !right;
    ok(n > setup->least && n < MOST && !wrong && right,
       "%s, rank %d: a fault at %s %s, up to %d", setup->name, rank,
       every == 1 ? "each" : "many a", kinds[kind].name, n);
}

/* ---- the controller hangs ---- */

static void
say_and_end(void *arg, int number, const char *message)
{
    (void)arg;
    (void)number;
    fputs(message, stdout);
    fflush(stdout);
    _exit(3);
}

static void
hang(rlf_session *s)
{
    rlf_session_leave(s, say_and_end, NULL);
    fault.controller = pthread_self();
    fault.hangs = s->leads;
}

/* In a process of its own, since nothing ends that thread. */
static void
test_controller(void)
{
    int out[2], status = 0;
    char said[256] = "";
    fflush(stdout);
    pid_t child = pipe(out) == 0 ? fork() : -1;
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        alarm(300);
        rlf_session *s = open_session(&setups[0], "3", "1");
        hang(s);
        rlf_session_step(s);
        _exit(0);
    }
    close(out[1]);
    ssize_t n = read(out[0], said, sizeof said - 1);
    waitpid(child, &status, 0);
    ok(n > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 3 &&
           strstr(said, "the controller did nothing: rank"),
       "a controller that hangs is found by its ranks: %.60s", said);
}

/* A process that ends by SIGKILL in the middle of a MOVE. */
static int
kill_one(char **argv)
{
    snprintf(directory, sizeof directory, "%s", argv[4]);
    rlf_session *s = open_session(&killed, NULL, "60");
    int rank = atoi(argv[2]);
    fault.rank = rank;
    fault.move =
        rlf_comm_world_process(s->world) == rank ? (uint64_t)atoi(argv[3]) : 0;
    rlf_result result = carry_on(s, KILLED);
    rlf_session_close(s);
    return -(int)result;
}

/* A process that ends by SIGKILL when the run is over; the exit status of the
 * others is that of the command. */
static int
part(char **argv)
{
    snprintf(directory, sizeof directory, "%s", argv[4]);
    int number = atoi(argv[3]);
    rlf_session *s = open_session(&parted, NULL, "60");
    fault.rank = atoi(argv[2]);
    fault.part = s->world;
    if (number)
        rlf_session_stop(s, number);
    rlf_result result = carry_on(s, KILLED);
    /* one that was told before its first step takes none */
    bool told = number && rlf_comm_world_process(s->world) == 0;
    if (result != (told ? RLF_RESULT_STOPPED : RLF_RESULT_END))
        printf("in the run: %s\n", rlf_session_message(s));
    number = rlf_session_stopped(s);
    result = rlf_session_finish(s);
    if (result < 0)
        printf("%s\n", rlf_session_message(s));
    fflush(stdout);
    rlf_session_close(s);
    return number ? 128 + number : -(int)result;
}

static int
one(char **argv)
{
    bool hangs = strcmp(argv[1], "controller") == 0;
    rlf_session *s = open_session(&setups[0], NULL, hangs ? "1" : "60");
    if (hangs)
        hang(s);
    else
        set_fault(s, strcmp(argv[1], "task") == 0, atoi(argv[2]),
                  atoi(argv[3]));
    rlf_result result = carry_on(s, STEP);
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
    if (argc == 5)
        return (strcmp(argv[1], "part") == 0 ? part : kill_one)(argv);
    test_controller();
    if (!mkdtemp(directory))
        bail("no directory for the test");
    for (size_t i = 0; i < RLF_COUNT(setups); i++)
        /* a quick pass has the ends of the first, and the last of others */
        for (int rank = quick() && i ? setups[i].n_ranks - 1 : 0;
             rank < setups[i].n_ranks;
             rank += quick() ? setups[i].n_ranks - 1 : 1)
            for (int kind = 0; kind < 2; kind++)
                if (setups[i].phase != RESTORE || kind == 1)
                    test_all(&setups[i], kind, rank);
    rlf_err ignored = RLF_ERR_NONE;
    rlf_dir_remove(directory, &ignored);
    return done();
}
