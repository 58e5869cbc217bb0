/* The table of cases over MPI, and what happens when a process fails. Run by
 * comm_mpi.tap under mpiexec; alone it is a world of one process.
 *
 *     comm_mpi cases RANKS             each of comm_cases, RANKS a process
 *     comm_mpi fail RANKS WHICH AT DIR a collective fails at message AT
 *     comm_mpi cut RANKS DIR           the control connection of process 1 ends
 *     comm_mpi late RANKS DIR          rank 0 comes later than the limit
 *     comm_mpi away RANKS DIR          a long message of a rank that computes
 *     comm_mpi kill RANKS              process 1 is killed
 *
 * `fail`, `cut`, `late` and `away` leave in DIR/PROCESS the sentence of each
 * rank's error, and end with status 3. */
#include "engine/comm/link.h"
#include "tests/comm_faults.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

extern const rlf_comm_backend rlf_comm_mpi;

/* MPI libraries do not free everything; in builds with AddressSanitizer that
 * is not looked for. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
    return "detect_leaks=0";
}

typedef struct options {
    int ranks, which, at;
    const char *dir;
} options;

typedef struct rank_thread {
    member member;
    const options *options;
    void (*run)(struct rank_thread *t);
    char sentence[1100];
    pthread_t thread;
} rank_thread;

/* Rank 0 prints what all ranks found in a case. */
static void
report(rank_thread *t, const char *name)
{
    member *s = &t->member;
    mistakes all[WORLD_MOST];
    rlf_err err = RLF_ERR_NONE;
    if (rlf_group_all_gather(rlf_group_world(s->comm), &s->mistakes,
                             sizeof *all, all, &err) != RLF_OK)
        bail("%s: %s", name, err.sentence);
    int n_processes =
        rlf_comm_world_caps(rlf_comm_world_of(s->comm))->n_processes;
    int wrong = 0;
    const char *first = "";
    for (int i = 0; i < s->size; i++) {
        if (all[i].wrong && !wrong)
            first = all[i].first;
        wrong += all[i].wrong;
    }
    if (s->rank == 0 && !ok(!wrong, "%d processes of %d ranks: %s", n_processes,
                            t->options->ranks, name))
        note("%d wrong, the first: %s", wrong, first);
}

static void
run_cases(rank_thread *t)
{
    member *s = &t->member;
    member controller = {.rank = -1, .size = s->size};
    for (size_t i = 0; i < N_CASES; i++) {
        pthread_t beside;
        bool mail = comm_cases[i].run == case_mail && s->rank == 0;
        s->mistakes.wrong = 0;
        if (mail) {
            controller.comm = rlf_comm_controller(rlf_comm_world_of(s->comm));
            pthread_create(&beside, NULL, controller_main, &controller);
        }
        comm_cases[i].run(s);
        if (mail) {
            pthread_join(beside, NULL);
            expect(s, !controller.mistakes.wrong, "controller: %s",
                   controller.mistakes.first);
        }
        report(t, comm_cases[i].name);
    }
}

static void
run_fail(rank_thread *t)
{
    member *s = &t->member;
    int victim = (t->options->which + t->options->at) % s->size;
    rlf_comm_world *world = rlf_comm_world_of(s->comm);
    fail_in(s, t->options->which, victim, t->options->at);
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_check(world, &err);
    snprintf(t->sentence, sizeof t->sentence, "%s%s%s", err.sentence,
             s->mistakes.wrong ? "; wrong: " : "", s->mistakes.first);
}

static void
run_cut(rank_thread *t)
{
    member *s = &t->member;
    rlf_comm_world *world = rlf_comm_world_of(s->comm);
    if (rlf_comm_world_process(world) == 1 && s->rank % t->options->ranks == 0)
        shutdown(world->links->links[0].fd, SHUT_RDWR);
    rlf_err err = RLF_ERR_NONE;
    uint64_t begin = rlf_clock_now();
    while (rlf_group_barrier(rlf_group_world(s->comm), &err) == RLF_OK)
        if (rlf_clock_since(begin) > 100)
            break;
    snprintf(t->sentence, sizeof t->sentence, "%s", err.sentence);
}

static void
run_late(rank_thread *t)
{
    member *s = &t->member;
    rlf_err err = RLF_ERR_NONE;
    float x = 1;
    if (s->rank == 0)
        rlf_clock_sleep(5000000000);
    rlf_group_all_reduce(rlf_group_world(s->comm), &x, &x, 1, RLF_COMM_F32,
                         RLF_COMM_SUM, &err);
    snprintf(t->sentence, sizeof t->sentence, "%s", err.sentence);
}

/* Whoever is away hears of the other by a file, not by a call here. */
static bool
come(const options *o, int turn, bool write)
{
    char path[512];
    snprintf(path, sizeof path, "%s/come.%d", o->dir, turn);
    FILE *file = write ? fopen(path, "w") : NULL;
    for (int tries = 0; !write && tries < 6000; tries++) {
        if (access(path, F_OK) == 0)
            return true;
        rlf_clock_sleep(10000000);
    }
    return file && fclose(file) == 0;
}

/* A long message between the first ranks of processes 0 and 1: first its
 * sender is away, then its receiver, until the other one has done with it. */
static void
run_away(rank_thread *t)
{
    enum { BYTES = 16 << 20 };
    member *s = &t->member;
    int other = t->options->ranks, me = s->rank;
    if (me != 0 && me != other)
        return;
    char *data = rlf_calloc(BYTES, 1);
    bool good = true;
    for (int turn = 0; turn < 2; turn++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_batch *batch;
        rlf_part part = {.peer = me ? 0 : other, .data = data, .bytes = BYTES};
        bool away = (me == 0) == (turn == 0);
        good &= rlf_group_start(rlf_group_world(s->comm), 0, &part, me == 0,
                                &part, me != 0, &batch, &err) == RLF_OK;
        good &= !away || come(t->options, turn, false);
        good &= rlf_batch_wait(&batch, &err) == RLF_OK;
        good &= away || come(t->options, turn, true);
    }
    free(data);
    snprintf(t->sentence, sizeof t->sentence, "%s",
             good ? "both moved" : "nothing moved");
}

static void
run_kill(rank_thread *t)
{
    member *s = &t->member;
    rlf_err err = RLF_ERR_NONE;
    uint64_t begin = rlf_clock_now();
    while (rlf_group_barrier(rlf_group_world(s->comm), &err) == RLF_OK) {
        if (s->rank == t->options->ranks && rlf_clock_since(begin) > 0.1)
            raise(SIGKILL);
        if (rlf_clock_since(begin) > 100)
            bail("still there after 100 seconds");
    }
}

static void *
rank_main(void *arg)
{
    rank_thread *t = arg;
    t->run(t);
    return NULL;
}

static char *
file_of(const char *dir, int process, char path[512])
{
    snprintf(path, 512, "%s/%d", dir, process);
    return path;
}

/* Write DIR/PROCESS, wait for those of all others, and kill the job. */
static void
leave_word(rlf_comm_world *world, const options *o, const rank_thread *threads)
{
    char path[512], unfinished[600];
    int me = rlf_comm_world_process(world);
    snprintf(unfinished, sizeof unfinished, "%s.new",
             file_of(o->dir, me, path));
    FILE *file = fopen(unfinished, "w");
    for (int i = 0; file && i < o->ranks; i++)
        fprintf(file, "%d: %s\n", threads[i].member.rank, threads[i].sentence);
    if (!file || fclose(file) != 0 || rename(unfinished, path) != 0)
        bail("cannot write %s", path);
    int n = rlf_comm_world_caps(world)->n_processes, there = 0;
    for (int tries = 0; there < n && tries < 6000; tries++) {
        there = 0;
        for (int p = 0; p < n; p++)
            there += access(file_of(o->dir, p, path), F_OK) == 0;
        rlf_clock_sleep(10000000);
    }
    rlf_comm_world_kill(world, 3);
}

static int stopped;

/* That process has started MPI and goes no further. */
static rlf_status
share_never(rlf_comm_world *world, const void *mine, size_t bytes, void *all,
            rlf_err *err)
{
    if (world->process == stopped)
        raise(SIGSTOP);
    return rlf_comm_mpi.share(world, mine, bytes, all, err);
}

int
main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "cases";
    options o = {.ranks = argc > 2 ? atoi(argv[2]) : 2};
    void (*run)(rank_thread * t) = run_cases;
    if (strcmp(mode, "fail") == 0 && argc == 6) {
        o.which = atoi(argv[3]);
        o.at = atoi(argv[4]);
        run = run_fail;
    } else if (strcmp(mode, "cut") == 0) {
        run = run_cut;
    } else if (strcmp(mode, "late") == 0) {
        run = run_late;
    } else if (strcmp(mode, "away") == 0) {
        run = run_away;
    } else if (strcmp(mode, "kill") == 0) {
        run = run_kill;
    }
    o.dir = argv[argc - 1];
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    rlf_comm_options comm = {.backend = &rlf_comm_mpi,
                             .n_ranks = o.ranks,
                             .limit = run == run_late ? 0.3 : 60,
                             .mail_slots = MAILS * WORLD_MOST};
    rlf_comm_backend stops = rlf_comm_mpi;
    stops.share = share_never;
    if (strcmp(mode, "stop") == 0 && argc == 4) {
        stopped = atoi(argv[3]);
        comm.backend = &stops;
        comm.silence = 5;
    }
    if (rlf_comm_world_new(&comm, &world, &err) < 0)
        bail("%s (%s)", err.sentence, err.hint);
    rank_thread threads[WORLD_MOST] = {0};
    for (int i = 0; i < o.ranks; i++) {
        rlf_comm *end = rlf_comm_of(world, i);
        threads[i] = (rank_thread){.member = {.comm = end,
                                              .rank = rlf_comm_rank(end),
                                              .size = rlf_comm_size(end)},
                                   .options = &o,
                                   .run = run};
    }
    for (int i = 0; i < o.ranks; i++)
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    for (int i = 0; i < o.ranks; i++)
        pthread_join(threads[i].thread, NULL);
    if (run != run_cases)
        leave_word(world, &o, threads);
    bool first = rlf_comm_world_process(world) == 0;
    rlf_comm_world_free(world);
    return first ? done() : 0;
}
