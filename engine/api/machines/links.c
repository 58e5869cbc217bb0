/* Messages between thread ranks of this machine, measured by the clock: two
 * ranks send to and fro and answer commands, two and more add numbers; and
 * copies from the host to a device that has memory of its own. See profile.h.
 */
#include "engine/api/machines/profile.h"

#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/comm/mail.h"
#include "engine/timing/fit.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    PAIR = 2,
    TAG = 1,
    LEAST = 1 << 10, /* bytes; each size is four times the one before */
    SIZES = 9,
    MOST_BYTES = LEAST << 2 * (SIZES - 1),
    ALL_BYTES = 1 << 30, /* of all ranks together */
    ROUNDS = 5,
    COMMANDS = 400,
};

/* Sizes of messages and the seconds that they took. */
typedef struct sizes {
    double bytes[SIZES], seconds[SIZES];
    int n;
} sizes;

/* The time that the ranks of a world may take for one size; rank 0 keeps it. */
typedef struct pace {
    double share;     /* seconds */
    atomic_int calls; /* of the next round; 0: there is none */
} pace;

/* A rank of the world whose links are measured, on a thread of its own. */
typedef struct rank_thread {
    rlf_comm *comm;
    int rank, ranks;
    bool lines; /* messages and sums are measured */
    pace *pace;
    char *data;
    sizes messages, sums;
    rlf_err err;
    rlf_status status;
    pthread_t thread;
} rank_thread;

static void
add(sizes *s, size_t bytes, double seconds)
{
    s->bytes[s->n] = (double)bytes;
    s->seconds[s->n++] = fmax(seconds, 1e-9);
}

static rlf_status
put_line(rlf_line_kind kind, int ranks, const sizes *s, rlf_err *err,
         rlf_profile *out)
{
    rlf_line *line = &out->links[out->n_links];
    *line = (rlf_line){.kind = kind, .ranks = ranks};
    RLF_TRY(rlf_fit_line(s->bytes, s->seconds, s->n, err, line));
    out->n_links++;
    return RLF_OK;
}

/* As often as it takes to be seen. */
static int
calls_of(size_t bytes)
{
    size_t n = ((size_t)1 << 22) / bytes;
    return n < 1 ? 1 : n > 200 ? 200 : (int)n;
}

/* ---- ranks ---- */

static rlf_status
send_round(rank_thread *s, int calls, size_t bytes, rlf_err *err)
{
    rlf_group *all = rlf_group_world(s->comm);
    const rlf_part part = {1 - s->rank, s->data, bytes};
    for (int i = 0; i < 2 * calls; i++) {
        bool sends = i % 2 == s->rank;
        RLF_TRY(rlf_group_exchange(all, TAG, &part, sends, &part, !sends, err));
    }
    return RLF_OK;
}

static rlf_status
sum_round(rank_thread *s, int calls, size_t bytes, rlf_err *err)
{
    for (int i = 0; i < calls; i++)
        RLF_TRY(rlf_group_all_reduce(rlf_group_world(s->comm), s->data, s->data,
                                     bytes / sizeof(float), RLF_COMM_F32,
                                     RLF_COMM_SUM, err));
    return RLF_OK;
}

/* Calls of the next round: one at first, then as many as the share has time
 * for. Others read it behind a barrier, and each round's calls need all of
 * them, so that none reads the next. */
static void
set_pace(const rank_thread *s, int round, size_t bytes, double took,
         double each)
{
    int most = calls_of(bytes);
    double fits = s->pace->share / ROUNDS / each;
    bool over = round == ROUNDS || (round && took >= s->pace->share);
    atomic_store(&s->pace->calls, over           ? 0
                                  : !round       ? 1
                                  : fits >= most ? most
                                  : fits < 1     ? 1
                                                 : (int)fits);
}

/* Seconds of a message one way, or of a sum: the least of some rounds, as other
 * programs of the machine only make them longer. */
static rlf_status
time_one(rank_thread *s, size_t bytes, bool sums, rlf_err *err, double *out)
{
    rlf_group *all = rlf_group_world(s->comm);
    uint64_t begun = rlf_clock_now();
    *out = INFINITY;
    for (int round = 0;; round++) {
        if (s->rank == 0)
            set_pace(s, round, bytes, rlf_clock_since(begun), *out);
        RLF_TRY(rlf_group_barrier(all, err));
        int calls = atomic_load(&s->pace->calls);
        if (!calls) /* all have read it when the next size sets it */
            return rlf_group_barrier(all, err);
        uint64_t from = rlf_clock_now();
        RLF_TRY(sums ? sum_round(s, calls, bytes, err)
                     : send_round(s, calls, bytes, err));
        *out = fmin(*out, rlf_clock_since(from) / calls / (sums ? 1 : 2));
    }
}

/* The rank's side of commands: an answer to each. */
static rlf_status
serve(const rank_thread *s, rlf_err *err)
{
    char room[512];
    rlf_mail mail;
    for (int i = 0; i < COMMANDS; i++) {
        RLF_TRY(rlf_mail_wait(s->comm, -1, room, &mail, err));
        RLF_TRY(rlf_mail_post(s->comm, RLF_CONTROLLER, room, mail.bytes, err));
    }
    return RLF_OK;
}

/* Of an all-reduce each rank sends 2 (p - 1) / p of what is added. */
static rlf_status
work(rank_thread *s, rlf_err *err)
{
    double parts = 2.0 * (s->ranks - 1) / s->ranks;
    size_t most = (size_t)ALL_BYTES / (size_t)s->ranks;
    most = most < LEAST ? LEAST : most < MOST_BYTES ? most : MOST_BYTES;
    if (s->ranks == PAIR)
        RLF_TRY(serve(s, err));
    if (!s->lines)
        return RLF_OK;
    s->data = rlf_try_calloc(most, 1);
    if (!s->data)
        return rlf_fail_memory(err, most, "a message to be measured");
    for (size_t bytes = LEAST; bytes <= most; bytes *= 4) {
        double message, sum;
        if (s->ranks == PAIR) {
            RLF_TRY(time_one(s, bytes, false, err, &message));
            add(&s->messages, bytes, message);
        }
        RLF_TRY(time_one(s, bytes, true, err, &sum));
        add(&s->sums, (size_t)(parts * (double)bytes), sum);
    }
    return RLF_OK;
}

static void *
rank_main(void *arg)
{
    rank_thread *s = arg;
    s->status = work(s, &s->err);
    if (s->status < 0)
        rlf_comm_abort(rlf_comm_world_of(s->comm), &s->err);
    free(s->data);
    return NULL;
}

/* Seconds of a command to a rank and its answer, one rank after the other. */
static rlf_status
dispatch(rlf_comm *controller, rlf_err *err, double *out)
{
    char command[64] = "run", room[512];
    rlf_mail mail;
    uint64_t from = rlf_clock_now();
    for (int i = 0; i < COMMANDS; i++)
        for (int r = 0; r < PAIR; r++) {
            RLF_TRY(rlf_mail_post(controller, r, command, sizeof command, err));
            RLF_TRY(rlf_mail_wait(controller, -1, room, &mail, err));
        }
    *out = rlf_clock_since(from) / COMMANDS / PAIR;
    return RLF_OK;
}

/* So many ranks; two of them measure messages and commands, too. Unless `lines`
 * it is for the commands alone. `*least`: of one sum of each size. */
static rlf_status
measure_ranks(int ranks, bool lines, double seconds, rlf_err *err,
              double *least, rlf_profile *out)
{
    pace limit = {.share = seconds / SIZES / (ranks == PAIR ? 2 : 1)};
    const rlf_comm_options options = {
        .n_ranks = ranks, .limit = 120, .mail_slots = 64};
    rank_thread *threads = rlf_calloc((size_t)ranks, sizeof *threads);
    rlf_comm_world *world = NULL;
    rlf_status status = rlf_comm_world_new(&options, &world, err);
    for (int i = 0; i < ranks && status >= 0; i++) {
        threads[i] = (rank_thread){.comm = rlf_comm_of(world, i),
                                   .rank = i,
                                   .ranks = ranks,
                                   .lines = lines,
                                   .pace = &limit,
                                   .err = RLF_ERR_NONE};
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    }
    bool began = status >= 0;
    if (began && ranks == PAIR)
        status = dispatch(rlf_comm_controller(world), err, &out->post);
    for (int i = 0; i < ranks && began; i++) {
        pthread_join(threads[i].thread, NULL);
        if (threads[i].status < 0 && status >= 0) {
            *err = threads[i].err;
            status = threads[i].status;
        }
    }
    if (status >= 0 && lines && ranks == PAIR)
        status =
            put_line(RLF_LINE_MESSAGE, ranks, &threads[0].messages, err, out);
    if (status >= 0 && lines)
        status =
            put_line(RLF_LINE_COLLECTIVE, ranks, &threads[0].sums, err, out);
    *least = 0;
    for (int i = 0; i < threads[0].sums.n; i++)
        *least += threads[0].sums.seconds[i];
    free(threads);
    rlf_comm_world_free(world);
    return status;
}

/* ---- copies ---- */

static rlf_status
copy_sizes(rlf_queue *queue, void *to, const void *from, rlf_err *err,
           sizes *out)
{
    for (size_t bytes = LEAST; bytes <= MOST_BYTES; bytes *= 4) {
        double least = INFINITY;
        int calls = calls_of(bytes);
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t begin = rlf_clock_now();
            for (int i = 0; i < calls; i++)
                RLF_TRY(rlf_queue_copy(queue, to, from, bytes,
                                       RLF_COPY_TO_DEVICE, err));
            RLF_TRY(rlf_queue_sync(queue, err));
            least = fmin(least, rlf_clock_since(begin) / calls);
        }
        add(out, bytes, least);
    }
    return RLF_OK;
}

/* From memory of the host as offloaded weights have it. */
static rlf_status
measure_copies(rlf_device *device, rlf_err *err, rlf_profile *out)
{
    rlf_queue *queue = NULL;
    void *to = NULL, *from = NULL;
    sizes copies = {0};
    rlf_status status = rlf_queue_new(device, &queue, err);
    if (status >= 0)
        status = rlf_device_alloc(device, MOST_BYTES, &to, err);
    if (status >= 0)
        status = device->ops->host_alloc(device, MOST_BYTES, &from, err);
    if (status >= 0)
        status = copy_sizes(queue, to, from, err, &copies);
    if (status >= 0)
        status = put_line(RLF_LINE_COPY, 1, &copies, err, out);
    rlf_queue_free(queue);
    if (from)
        device->ops->host_free(device, from, MOST_BYTES);
    rlf_device_release(device, to, MOST_BYTES);
    return status;
}

static rlf_status
measure_device(const rlf_backend *backend, rlf_err *err, bool *own,
               rlf_profile *out)
{
    const rlf_backend_options options = {.n_threads = 1};
    rlf_device *device;
    RLF_TRY(backend->open(&options, &device, err));
    *own = !device->caps.host_memory;
    rlf_status status = *own ? measure_copies(device, err, out) : RLF_OK;
    rlf_device_free(device);
    return status;
}

/* ---- all ---- */

/* If ranks share cores, twice as many take turns about four times as long
 * for a sum, and barriers around it take as much again. */
#define NEXT 8

rlf_status
rlf_profile_links(int ranks, double seconds, const rlf_backend *backend,
                  rlf_arena *arena, rlf_err *err, int *reached,
                  rlf_profile *out)
{
    enum { MOST_LINKS = 40 };
    out->links = RLF_NEW_ARRAY(arena, rlf_line, MOST_LINKS);
    bool own = false;
    double least = 0;
    uint64_t begun = rlf_clock_now();
    *reached = PAIR;
    if (backend)
        RLF_TRY(measure_device(backend, err, &own, out));
    for (int n = PAIR; n == PAIR || (n <= ranks && !own); n *= 2) {
        double rest = seconds - rlf_clock_since(begun);
        int worlds = 1;
        for (int m = n; m <= ranks / 2; m *= 2)
            worlds++;
        if (n > PAIR && NEXT * least > rest)
            return RLF_OK;
        RLF_TRY(measure_ranks(n, !own, rest / worlds, err, &least, out));
        *reached = n;
    }
    if (own)
        *reached = ranks;
    return RLF_OK;
}
