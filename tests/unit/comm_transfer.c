/* Messages of device memory that are started and awaited later, over devices
 * whose work is done when it is done (tests/later.h): from device to device,
 * through the host, and some of each in one world. Two neighbours that send to
 * each other before they receive; what the queue still has to do before a
 * message, and after it; and what ends a message that will not come. */
#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/comm/device.h"
#include "tests/later.h"
#include "tests/mistakes.h"
#include "tests/tap.h"

#include <stdatomic.h>

enum { MOST = 4, N = 20000, MS = 1000000 };

typedef struct rank_thread {
    rlf_comm *comm;
    rlf_queue *queue;
    rlf_group *all;
    int rank, size;
    int what; /* the number of the case */
    mistakes mistakes;
    void (*run)(struct rank_thread *s);
    int device;
    pthread_t thread;
    pthread_barrier_t *ends;
} rank_thread;

#define MUST(s, call)                                               \
    do {                                                            \
        rlf_err err = RLF_ERR_NONE;                                 \
        expect(s, (call) == RLF_OK, "%s: %s", #call, err.sentence); \
    } while (0)

static char *
block_new(rank_thread *s)
{
    void *block = NULL;
    MUST(s, rlf_device_alloc(s->queue->device, N, &block, &err));
    return block;
}

static void
block_free(rank_thread *s, void *block)
{
    MUST(s, rlf_queue_sync(s->queue, &err));
    rlf_device_release(s->queue->device, block, N);
}

static void
nap_now(later_queue *queue, void *args)
{
    (void)queue;
    rlf_clock_sleep(*(uint64_t *)args);
}

/* The queue is busy for so long. */
static void
nap(rank_thread *s, uint64_t ns)
{
    later_run(s->queue, nap_now, &ns, sizeof ns);
}

/* A queue is busy until the receiver has looked once and, if `starts_first`,
 * the message was started: no time has to be kept. */
static struct {
    atomic_bool starts_first, started, looked, given_up;
} gate;

static void
hold_now(later_queue *queue, void *args)
{
    (void)queue, (void)args;
    uint64_t begin = rlf_clock_now();
    while (!atomic_load(&gate.looked) ||
           (gate.starts_first && !atomic_load(&gate.started))) {
        if (rlf_clock_since(begin) > 60) {
            atomic_store(&gate.given_up, true);
            return;
        }
        rlf_clock_sleep(MS);
    }
}

static rlf_status
send_to(rank_thread *s, int tag, int peer, void *data, size_t bytes,
        rlf_device_transfer **out, rlf_err *err)
{
    rlf_part part = {peer, data, bytes};
    return rlf_device_start(s->queue, s->all, tag, &part, 1, NULL, 0, out, err);
}

static rlf_status
receive_from(rank_thread *s, int tag, int peer, void *data, size_t bytes,
             rlf_device_transfer **out, rlf_err *err)
{
    rlf_part part = {peer, data, bytes};
    return rlf_device_start(s->queue, s->all, tag, NULL, 0, &part, 1, out, err);
}

/* ---- worlds ---- */

static void *
rank_main(void *arg)
{
    rank_thread *s = arg;
    const char *why;
    rlf_device *device = later_device_new(s->device);
    MUST(s, rlf_queue_new(device, &s->queue, &err));
    const rlf_attach_options options = rlf_attach_best(device, &why);
    MUST(s, rlf_comm_attach(s->comm, s->queue, &options, &err));
    s->all = rlf_group_world(s->comm);
    pthread_barrier_wait(s->ends); /* nothing fails before all have met */
    s->run(s);
    rlf_comm_detach(s->comm);
    rlf_queue_free(s->queue);
    expect(s, device->allocated == 0, "%zu bytes are left", device->allocated);
    rlf_device_free(device);
    return NULL;
}

static double limit = 60;

/* `apart`: as later_apart; `shared`: all ranks have one device. */
static void
test_world(const char *name, int size, int apart, bool shared,
           void (*run)(rank_thread *s), int what)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    const rlf_comm_options options = {.n_ranks = size, .limit = limit};
    rank_thread threads[MOST] = {0};
    pthread_barrier_t ends;
    later_apart = apart;
    if (rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    pthread_barrier_init(&ends, NULL, (unsigned)size);
    for (int i = 0; i < size; i++) {
        threads[i] = (rank_thread){.comm = rlf_comm_of(world, i),
                                   .rank = i,
                                   .size = size,
                                   .what = what,
                                   .run = run,
                                   .device = shared ? 0 : i,
                                   .ends = &ends};
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    }
    int wrong = 0, first = -1;
    for (int i = 0; i < size; i++) {
        pthread_join(threads[i].thread, NULL);
        first = threads[i].mistakes.wrong && first < 0 ? i : first;
        wrong += threads[i].mistakes.wrong;
    }
    if (!ok(!wrong, "%s", name))
        note("%d wrong, the first in rank %d: %s", wrong, first,
             threads[first].mistakes.first);
    pthread_barrier_destroy(&ends);
    rlf_comm_world_free(world);
    later_apart = 1;
}

/* ---- messages ---- */

/* All bytes of a block, as they are once the queue has come here. */
static bool
has_all(rank_thread *s, const char *block, int byte)
{
    static _Thread_local unsigned char host[N];
    size_t n = 0;
    MUST(s, rlf_queue_copy(s->queue, host, block, N, RLF_COPY_TO_HOST, &err));
    MUST(s, rlf_queue_sync(s->queue, &err));
    while (n < N && host[n] == byte)
        n++;
    return n == N;
}

/* Every rank sends to both neighbours before it receives from them. The block
 * that is sent gets its bytes late; that which is received is written late by
 * work that was there before, and what was sent is overwritten at once. */
static void
run_ring(rank_thread *s)
{
    enum { ROUNDS = 12 };
    char *out[2] = {block_new(s), block_new(s)},
         *in[2] = {block_new(s), block_new(s)};
    for (int round = 0; round < ROUNDS; round++) {
        rlf_device_transfer *sent[2], *come[2];
        for (int k = 0; k < 2; k++) {
            int peer = (s->rank + (k ? 1 : s->size - 1)) % s->size;
            if ((round + s->rank) % 3 == 0)
                nap(s, MS);
            int byte = 10 * round + 2 * s->rank + k + 1;
            MUST(s, rlf_queue_set(s->queue, out[k], byte, N, &err));
            MUST(s, send_to(s, k, peer, out[k], N, &sent[k], &err));
        }
        for (int k = 0; k < 2; k++) {
            int peer = (s->rank + (k ? s->size - 1 : 1)) % s->size;
            MUST(s, rlf_queue_set(s->queue, in[k], 0, N, &err));
            MUST(s, receive_from(s, k, peer, in[k], N, &come[k], &err));
        }
        for (int k = round % 2, i = 0; i < 2; i++, k = !k) {
            int peer = (s->rank + (k ? s->size - 1 : 1)) % s->size;
            MUST(s, rlf_device_wait(&come[k], &err));
            expect(s, has_all(s, in[k], 10 * round + 2 * peer + k + 1),
                   "round %d, message %d", round, k);
            MUST(s, rlf_device_wait(&sent[k], &err));
            MUST(s, rlf_queue_set(s->queue, out[k], 255, N, &err));
        }
    }
    for (int k = 0; k < 2; k++) {
        block_free(s, out[k]);
        block_free(s, in[k]);
    }
}

/* Tests until it is done; what takes long is the queue of another rank. */
static void
run_slow(rank_thread *s)
{
    rlf_err mine = RLF_ERR_NONE;
    rlf_device_transfer *t;
    char *block = block_new(s);
    int tests = 0;
    if (s->rank == 0) {
        char none = 0;
        later_run(s->queue, hold_now, &none, sizeof none);
        MUST(s, rlf_queue_set(s->queue, block, 7, N, &err));
        MUST(s, send_to(s, 1, 1, block, N, &t, &err));
        atomic_store(&gate.started, true);
        MUST(s, rlf_device_wait(&t, &err));
    } else {
        MUST(s, receive_from(s, 1, 0, block, N, &t, &err));
        for (; rlf_device_test(&t, &mine) == RLF_AGAIN; tests++) {
            atomic_store(&gate.looked, true);
            sched_yield();
        }
        expect(s, tests > 0, "done before it was sent");
        expect(s, !gate.given_up, "starting waits for the queue");
        expect(s, has_all(s, block, 7), "the wrong bytes");
    }
    block_free(s, block);
}

/* The receiver has begun the copy and then does something else: who sent
 * finds its end by itself. */
static void
run_away(rank_thread *s)
{
    rlf_err mine = RLF_ERR_NONE;
    rlf_device_transfer *t;
    char *block = block_new(s);
    if (s->rank == 0) {
        MUST(s, rlf_queue_set(s->queue, block, 3, N, &err));
        MUST(s, rlf_queue_sync(s->queue, &err));
        MUST(s, send_to(s, 1, 1, block, N, &t, &err));
        pthread_barrier_wait(s->ends); /* it is there */
        pthread_barrier_wait(s->ends); /* the copy was begun */
        MUST(s, rlf_device_wait(&t, &err));
        pthread_barrier_wait(s->ends);
    } else {
        pthread_barrier_wait(s->ends);
        MUST(s, receive_from(s, 1, 0, block, N, &t, &err));
        rlf_status status = rlf_device_test(&t, &mine);
        pthread_barrier_wait(s->ends);
        pthread_barrier_wait(s->ends); /* the sender has gone on */
        if (status == RLF_AGAIN)
            MUST(s, rlf_device_wait(&t, &err));
        expect(s, has_all(s, block, 3), "the wrong bytes");
    }
    block_free(s, block);
}

/* ---- what will not come ---- */

enum { NO_RECEIVER, NO_SENDER, OTHER_SIZE, ABORTED, ABORTED_BUSY };

/* Starts the transfer that ranks 0 and 1 have under way when the run ends; rank
 * 2 starts none. */
static rlf_status
begin(rank_thread *s, char *block, rlf_device_transfer **t, rlf_err *err)
{
    size_t expected = s->what == OTHER_SIZE ? N - 8 : N;
    if (s->what == ABORTED_BUSY && s->rank < 2)
        nap(s, 80 * MS);
    if (s->rank == 0 && s->what != NO_SENDER && s->what != ABORTED)
        return send_to(s, 5, 1, block, N, t, err);
    if (s->rank == 1 && s->what != NO_RECEIVER)
        return receive_from(s, 5, 0, block, expected, t, err);
    return RLF_OK;
}

static const char *const says[] = {
    [NO_RECEIVER] = "in a batch for the receiver rank 1 (20000 bytes), longer",
    [NO_SENDER] = "in a batch for the sender rank 0 (20000 bytes), longer",
    [OTHER_SIZE] = ("rank 0 sends 20000 bytes in a batch where rank 1 expects "
                    "19992"),
    [ABORTED] = "the reward of sample 7 is no number",
    [ABORTED_BUSY] = "the reward of sample 7 is no number"};

static void
run_end(rank_thread *s)
{
    rlf_err mine = RLF_ERR_NONE, run = RLF_ERR_NONE, later = RLF_ERR_NONE;
    rlf_device_transfer *t = NULL;
    char *block = block_new(s);
    rlf_status status = begin(s, block, &t, &mine);
    bool waits = t != NULL;
    if (s->rank == 2 && s->what >= ABORTED) {
        rlf_clock_sleep(20 * MS);
        rlf_fail(&mine, RLF_USER, "the reward of sample 7 is no number");
        rlf_comm_abort(rlf_comm_world_of(s->comm), &mine);
    }
    if (waits)
        status = rlf_device_wait(&t, &mine);
    if (waits) /* the memory is this rank's own again */
        memset(later_real(block), 9, N);
    /* of sizes that differ the sender may not hear before it is over */
    if (waits && (s->what != OTHER_SIZE || s->rank == 1))
        expect(s, status < 0, "status %d", status);
    if (status < 0)
        expect(s, strstr(mine.sentence, says[s->what]) != NULL, "'%s'",
               mine.sentence);
    while (rlf_comm_check(rlf_comm_world_of(s->comm), &run) == RLF_OK)
        rlf_clock_sleep(MS);
    expect(s, strstr(run.sentence, says[s->what]) != NULL, "'%s'",
           run.sentence);
    expect(s, send_to(s, 5, 0, block, 8, &t, &later) == RLF_PEER,
           "a message after the end");
    block_free(s, block);
}

int
main(void)
{
    static const struct {
        const char *name;
        int apart;
        bool shared;
    } ways[] = {{"from device to device", 1, false},
                {"on one device", 1, true},
                {"some of each", 2, false},
                {"through the host", MOST, false}};
    for (size_t i = 0; i < RLF_COUNT(ways); i++) {
        char name[100];
        snprintf(name, sizeof name, "%s: neighbours send, then receive",
                 ways[i].name);
        test_world(name, 4, ways[i].apart, ways[i].shared, run_ring, 0);
        snprintf(name, sizeof name, "%s: a slow sender", ways[i].name);
        atomic_store(&gate.started, false);
        atomic_store(&gate.looked, false);
        atomic_store(&gate.starts_first, ways[i].apart == 1);
        test_world(name, 2, ways[i].apart, ways[i].shared, run_slow, 0);
    }
    test_world("a receiver that goes away", 2, 1, false, run_away, 0);
    static const char *const ends[] = {
        "a receiver that never comes", "a sender that never comes",
        "sizes that differ", "an abort", "an abort while queues are busy"};
    for (int what = NO_RECEIVER; what <= ABORTED_BUSY; what++)
        for (int apart = 1; apart <= MOST; apart += MOST - 1) {
            char name[100];
            limit = what <= NO_SENDER ? 1 : 60;
            snprintf(name, sizeof name, "%s: %s",
                     apart == 1 ? "from device to device" : "through the host",
                     ends[what]);
            test_world(name, 3, apart, false, run_end, what);
        }
    return done();
}
