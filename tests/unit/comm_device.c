/* Communication of device memory, over a device that the host cannot look into
 * (tests/later.h): the cases of comm_cases.h by way of device.h, worlds of 1 to
 * 8, failures in every collective; and the host itself as the device. */
#include "tests/device_calls.h"

#include "tests/comm_cases.h"
#include "tests/later.h"

typedef void rank_fn(seat *s, void *arg);

typedef struct rank_thread {
    seat seat;
    int index;
    bool host;                   /* the device is the host */
    pthread_barrier_t *attached; /* by all */
    rank_fn *run;
    void *arg;
    pthread_t thread;
} rank_thread;

static rlf_device *
device_new(const rank_thread *t)
{
    rlf_device *device = later_device_new(t->index);
    rlf_err err = RLF_ERR_NONE;
    const rlf_cpu_options options = {.n_threads = 1};
    if (t->host) {
        rlf_device_free(device);
        rlf_device_cpu_new(&options, &device, &err);
    }
    rlf_queue_new(device, &here, &err);
    return device;
}

static void *
rank_main(void *arg)
{
    rank_thread *t = arg;
    seat *s = &t->seat;
    rlf_device *device = device_new(t);
    EXPECT_OK(s, rlf_comm_attach(s->comm, here, &err));
    pthread_barrier_wait(t->attached);
    const char *way = rlf_comm_way(s->comm)->name;
    expect(s, strcmp(way, t->host ? "direct" : "staged") == 0, "way %s", way);
    t->run(s, t->arg);
    rlf_comm_detach(s->comm);
    rlf_queue_free(here);
    expect(s, device->allocated == 0, "%zu bytes are left", device->allocated);
    rlf_device_free(device);
    return NULL;
}

/* `run` by every rank of a new world; wrong things in all, the first of them in
 * `first`. */
static int
run_world(int n, bool host, rank_fn *run, void *arg, char *first)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    rlf_comm_options options = {.n_ranks = n, .limit = 60};
    if (rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    rank_thread threads[WORLD_MOST] = {0};
    int wrong = 0;
    pthread_barrier_t attached;
    pthread_barrier_init(&attached, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        threads[i] = (rank_thread){
            .seat = {.comm = rlf_comm_of(world, i), .rank = i, .size = n},
            .index = i,
            .host = host,
            .attached = &attached,
            .run = run,
            .arg = arg};
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    }
    *first = 0;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i].thread, NULL);
        if (!wrong)
            memcpy(first, threads[i].seat.first, sizeof threads[i].seat.first);
        wrong += threads[i].seat.wrong;
    }
    pthread_barrier_destroy(&attached);
    rlf_comm_world_free(world);
    return wrong;
}

static void
run_case(seat *s, void *arg)
{
    ((const comm_case *)arg)->run(s);
}

static void
test_cases(int n, bool host)
{
    for (size_t i = 0; i < N_CASES; i++) {
        char first[256];
        if (comm_cases[i].run == case_mail)
            continue;
        int wrong = run_world(n, host, run_case, (void *)&comm_cases[i], first);
        if (!ok(!wrong, "%d ranks, %s: %s", n, host ? "direct" : "staged",
                comm_cases[i].name))
            note("%d wrong, the first: %s", wrong, first);
    }
}

typedef struct failure {
    int which, victim, at;
} failure;

static void
run_failure(seat *s, void *arg)
{
    const failure *f = arg;
    fail_in(s, f->which, f->victim, f->at);
}

static void
test_failures(int n)
{
    for (int which = 0; which < N_COLLECTIVES; which++)
        for (int at = 1; at <= 7; at += 3) {
            failure f = {which, (which + at) % n, at};
            char first[256];
            int wrong = run_world(n, false, run_failure, &f, first);
            if (!ok(!wrong, "%d ranks: collective %d fails at message %d", n,
                    which, at))
                note("%d wrong, the first: %s", wrong, first);
        }
}

/* Longer than the slots, with every length of a last round. */
static void
run_long(seat *s, void *arg)
{
    (void)arg;
    size_t slot = rlf_comm_way(s->comm)->host_bytes / 2;
    rlf_group *all = rlf_group_world(s->comm);
    for (size_t more = 0; more < 2; more++) {
        size_t n = 2 * slot / 4 + more;
        float *x = filled(RLF_COMM_F32, s->rank, n);
        EXPECT_OK(s, rlf_group_all_reduce(all, x, x, n, RLF_COMM_F32,
                                          RLF_COMM_SUM, &err));
        expect(s,
               is_tree(RLF_COMM_F32, RLF_COMM_SUM, everyone, s->size, x, 0, n),
               "a sum of %zu", n);
        free(x);
    }
    size_t rows = 3001, row = 3001, gap = 7;
    unsigned char *a = rlf_calloc(rows, row + gap), *b = rlf_calloc(rows, row);
    int next = (s->rank + 1) % s->size,
        before = (s->rank + s->size - 1) % s->size;
    rlf_strip from = {a, row, row + gap, rows}, to = {b, row * rows, 1, 1};
    rlf_strips out = {next, &from, 1}, in = {before, &to, 1};
    to.stride = to.bytes;
    walk_strips(&from, 1, 5, s->rank, true);
    EXPECT_OK(s, rlf_group_exchange_strips(all, 3, &out, 1, &in, 1, &err));
    expect(s, walk_strips(&to, 1, 5, before, false) == 0,
           "a long message in strips");
    free(a);
    free(b);
}

/* A device whose end does not know of it. */
static void
test_unattached(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    const rlf_comm_options options = {.n_ranks = 1};
    rlf_comm_world_new(&options, &world, &err);
    rlf_device *device = later_device_new(0);
    rlf_queue_new(device, &here, &err);
    rlf_comm *comm = rlf_comm_of(world, 0);
    ok(!rlf_comm_way(comm), "an end by itself knows no device");
    is_int(rlf_device_bcast(here, rlf_group_world(comm), 0, NULL, 0, &err),
           RLF_BUG, "device memory without a way is refused");
    rlf_queue_free(here);
    rlf_device_free(device);
    rlf_comm_world_free(world);
}

int
main(void)
{
    char first[256];
    int most = quick() ? 4 : WORLD_MOST;
    test_cases(3, true);
    for (int n = 1; n <= most; n++)
        test_cases(n, false);
    test_failures(2);
    test_failures(5);
    int wrong = run_world(3, false, run_long, NULL, first);
    if (!ok(!wrong, "calls longer than the staging"))
        note("%s", first);
    test_unattached();
    return done();
}
