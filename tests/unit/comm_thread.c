/* Thread ranks: the table of cases over worlds of 1 to 8, abort in every
 * collective, the limit of a wait, mailboxes that are full. */
#include "engine/comm/internal.h"
#include "tests/comm_faults.h"

#include <pthread.h>

typedef void rank_fn(member *s, void *arg);

typedef struct rank_thread {
    member member;
    rank_fn *run;
    void *arg;
    pthread_t thread;
} rank_thread;

static void *
rank_main(void *arg)
{
    rank_thread *t = arg;
    t->run(&t->member, t->arg);
    return NULL;
}

/* `run` by every rank of a new world, and `controller` (may be NULL) beside;
 * wrong things in all, the first of them in `first`. */
static int
run_world(rlf_comm_options options, rank_fn *run, void *arg,
          void *(*controller)(void *), char *first)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    if (rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    rank_thread threads[WORLD_MOST + 1] = {0};
    int n = options.n_ranks, wrong = 0;
    member *beside = &threads[n].member;
    *beside =
        (member){.comm = rlf_comm_controller(world), .rank = -1, .size = n};
    if (controller)
        pthread_create(&threads[n].thread, NULL, controller, beside);
    for (int i = 0; i < n; i++) {
        threads[i].member =
            (member){.comm = rlf_comm_of(world, i), .rank = i, .size = n};
        threads[i].run = run;
        threads[i].arg = arg;
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    }
    *first = 0;
    for (int i = 0; i < n + (controller != NULL); i++) {
        pthread_join(threads[i].thread, NULL);
        if (!wrong)
            memcpy(first, threads[i].member.mistakes.first,
                   sizeof threads[i].member.mistakes.first);
        wrong += threads[i].member.mistakes.wrong;
    }
    rlf_comm_world_free(world);
    return wrong;
}

static void
run_case(member *s, void *arg)
{
    ((const comm_case *)arg)->run(s);
}

static void
test_cases(int n)
{
    for (size_t i = 0; i < N_CASES; i++) {
        char first[256];
        bool mail = comm_cases[i].run == case_mail;
        rlf_comm_options options = {
            .n_ranks = n, .limit = 60, .mail_slots = MAILS * n};
        int wrong = run_world(options, run_case, (void *)&comm_cases[i],
                              mail ? controller_main : NULL, first);
        if (!ok(!wrong, "%d ranks: %s", n, comm_cases[i].name))
            note("%d wrong, the first: %s", wrong, first);
    }
}

static void
test_failures(int n)
{
    for (int which = 0; which < N_COLLECTIVES; which++)
        for (int at = 1; at <= 7; at += 3) {
            failure f = {which, (which + at) % n, at};
            char first[256];
            rlf_comm_options options = {.n_ranks = n, .limit = 60};
            int wrong = run_world(options, run_failure, &f, NULL, first);
            if (!ok(!wrong, "%d ranks: %s fails at message %d", n,
                    which ? "a collective" : "a batch", at))
                note("collective %d, %d wrong, the first: %s", which, wrong,
                     first);
        }
}

/* Rank 0 comes late: as soon as nobody waits for it any more or, if it gives
 * heartbeats meanwhile (`arg`), by half more than the limit of LATE seconds. */
enum { LATE = 2 };

static void
run_late(member *s, void *arg)
{
    bool heartbeats = *(bool *)arg;
    rlf_err err = RLF_ERR_NONE;
    float x = 1;
    uint64_t begin = rlf_clock_now();
    uint64_t most = (heartbeats ? LATE * 3 / 2 : 100) * 1000000000ull;
    rlf_comm_label(s->comm, "update actor");
    while (s->rank == 0 && rlf_clock_now() - begin < most &&
           !rlf_world_aborted(s->comm->world)) {
        rlf_clock_sleep(10000000);
        if (heartbeats)
            rlf_comm_heartbeat(s->comm);
    }
    rlf_status status = rlf_group_all_reduce(
        rlf_group_world(s->comm), &x, &x, 1, RLF_COMM_F32, RLF_COMM_SUM, &err);
    if (heartbeats) {
        uint64_t waited = rlf_comm_waited(s->comm);
        expect(s, status == RLF_OK, "%s", err.sentence);
        expect(s, s->rank ? waited > most / 2 : waited < most / 2,
               "it has waited %g s", (double)waited * 1e-9);
        return;
    }
    /* one of those that waited was the first to lose patience */
    expect(s, status == RLF_PEER || (s->rank && status == RLF_ENV), "%d",
           status);
    expect(s, strstr(err.sentence, "in all-reduce of update actor for") != NULL,
           "%s", err.sentence);
    expect(s, strstr(err.sentence, "sender rank 0 (4 bytes)") != NULL, "%s",
           err.sentence);
    expect(s, strcmp(err.node, "update actor") == 0 && err.rank > 0, "%s %d",
           err.node, err.rank);
}

static void
test_limit(void)
{
    char first[256];
    bool heartbeats = false;
    rlf_comm_options options = {.n_ranks = 3, .limit = 0.2};
    int wrong = run_world(options, run_late, &heartbeats, NULL, first);
    if (!ok(!wrong, "a wait has a limit and says who waits for whom"))
        note("%s", first);
    heartbeats = true;
    options.limit = LATE;
    wrong = run_world(options, run_late, &heartbeats, NULL, first);
    if (!ok(!wrong, "a rank that gives heartbeats is waited for"))
        note("%s", first);
}

/* Rank 1 gives up while the others sleep in a wait, or in their mailbox. */
static void
run_abort(member *s, void *arg)
{
    (void)arg;
    rlf_err err = RLF_ERR_NONE;
    char room[512], byte = 0;
    rlf_mail mail;
    rlf_status status;
    if (s->rank == 1) {
        rlf_clock_sleep(50000000);
        rlf_err mine = RLF_ERR_NONE;
        rlf_fail(&mine, RLF_USER, "the reward of sample 7 is no number");
        mine.rank = 1;
        rlf_comm_abort(rlf_comm_world_of(s->comm), &mine);
        status = rlf_comm_check(rlf_comm_world_of(s->comm), &err);
    } else if (s->rank == 2) {
        status = rlf_mail_wait(s->comm, -1, room, &mail, &err);
    } else {
        rlf_part part = {1, &byte, 1};
        status = rlf_group_exchange(rlf_group_world(s->comm), 0, NULL, 0, &part,
                                    1, &err);
        expect(s, strstr(err.detail, "sender rank 1 (1 bytes)") != NULL,
               "detail: %s", err.detail);
    }
    expect(s, status == RLF_PEER, "status %d", status);
    expect(s, strcmp(err.sentence, "the reward of sample 7 is no number") == 0,
           "%s", err.sentence);
    err = (rlf_err)RLF_ERR_NONE;
    expect(s, rlf_group_barrier(rlf_group_world(s->comm), &err) == RLF_PEER,
           "a later call");
    err = (rlf_err)RLF_ERR_NONE;
    expect(s, rlf_mail_post(s->comm, 0, room, 1, &err) == RLF_PEER,
           "later mail");
}

/* Both sides must mean the same message. */
static void
run_sizes(member *s, void *arg)
{
    (void)arg;
    char bytes[5000] = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_part part = {1 - s->rank, bytes, s->rank ? 5000 : 4000};
    rlf_status status = s->rank
                            ? rlf_group_exchange(rlf_group_world(s->comm), 0,
                                                 &part, 1, NULL, 0, &err)
                            : rlf_group_exchange(rlf_group_world(s->comm), 0,
                                                 NULL, 0, &part, 1, &err);
    expect(s,
           s->rank ? status == RLF_PEER || status == RLF_OK : status == RLF_BUG,
           "status %d", status);
    if (status < 0)
        expect(s,
               strcmp(err.sentence, "rank 1 sends 5000 bytes in a batch where "
                                    "rank 0 expects 4000") == 0,
               "%s", err.sentence);
}

/* The tree itself, for any number of parts, also in the place of one. */
static void
test_fold(void)
{
    enum { MOST = 40, N = 600 };
    int who[MOST];
    for (int type = 0; type < RLF_COMM_TYPES; type++) {
        bool good = true;
        for (int n_parts = 1; n_parts <= MOST; n_parts++) {
            const void *parts[MOST];
            for (int i = 0; i < n_parts; i++) {
                who[i] = 3 * i + 1;
                parts[i] = filled(type, who[i], N);
            }
            void *out = (void *)parts[n_parts * 2 / 3];
            rlf_comm_fold(out, parts, n_parts, N, (rlf_comm_type)type,
                          RLF_COMM_SUM);
            good &= is_tree(type, RLF_COMM_SUM, who, n_parts, out, 0, N);
            for (int i = 0; i < n_parts; i++)
                free((void *)parts[i]);
        }
        ok(good, "1 to %d parts of type %d are added in the tree", MOST, type);
    }
}

static void
test_mail_limits(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    rlf_comm_options options = {.n_ranks = 2, .mail_slots = 3, .mail_bytes = 8};
    rlf_comm_world_new(&options, &world, &err);
    rlf_comm *a = rlf_comm_of(world, 0), *b = rlf_comm_of(world, 1);
    char room[8];
    rlf_mail mail;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3; i++)
            rlf_mail_post(a, 1, &i, sizeof i, &err);
        is_int(err.status, RLF_OK, "as many messages as a box holds");
        is_int(rlf_mail_post(a, 1, "x", 1, &err), RLF_BUG, "one more");
        is_str(err.sentence, "the mailbox of rank 1 is full: 3 messages",
               "is named");
        err = (rlf_err)RLF_ERR_NONE;
        for (int i = 0; i < 3; i++) {
            int got = -1;
            rlf_mail_poll(b, room, &mail, &err);
            memcpy(&got, room, sizeof got);
            is_int(got, i, "in order");
        }
    }
    bool good = true;
    for (int i = 0, heard = 0; i < 40; i++) { /* two are sent, one is taken */
        int got = -1;
        rlf_mail_post(a, RLF_CONTROLLER, &i, sizeof i, &err);
        good &= err.status == RLF_OK;
        if (i % 2)
            continue;
        rlf_mail_poll(rlf_comm_controller(world), room, &mail, &err);
        memcpy(&got, room, sizeof got);
        good &= got == heard++;
    }
    ok(good, "the controller's box grows and keeps the order");
    is_int(rlf_mail_post(a, RLF_CONTROLLER, "123456789", 9, &err), RLF_BUG,
           "a message that is too long");
    is_str(err.sentence, "a message of 9 bytes is longer than 8", "is named");
    rlf_comm_world_free(world);
}

/* Processes that a launcher started, in a build without a transport between
 * processes: none of them begins alone. */
static void
test_no_transport(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world = NULL;
    rlf_comm_options options = {.n_ranks = 1};
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "3", 1);
    is_int(rlf_comm_world_new(&options, &world, &err), RLF_USAGE,
           "three processes without a transport");
    is_str(err.sentence,
           "the launcher started 3 processes, and this rlflow was built "
           "without MPI",
           "... are refused");
    ok(strstr(err.hint, "libmpich-dev") && strstr(err.hint, "--ranks 3"),
       "... with what would give one, and what needs none");
    setenv("PMI_SIZE", "1", 1);
    err = (rlf_err)RLF_ERR_NONE;
    is_int(rlf_comm_world_new(&options, &world, &err), RLF_OK,
           "one process needs none");
    rlf_comm_world_free(world);
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
}

int
main(void)
{
    char first[256];
    int wrong, most = quick() ? 4 : WORLD_MOST;
    for (int n = 1; n <= most; n++)
        test_cases(n);
    test_fold();
    test_failures(2);
    test_failures(5);
    test_limit();
    rlf_comm_options options = {.n_ranks = 4};
    wrong = run_world(options, run_abort, NULL, NULL, first);
    if (!ok(!wrong, "an abort reaches all waits, with its sentence"))
        note("%s", first);
    options.n_ranks = 2;
    wrong = run_world(options, run_sizes, NULL, NULL, first);
    if (!ok(!wrong, "sizes that differ are named"))
        note("%s", first);
    test_mail_limits();
    test_no_transport();
    return done();
}
