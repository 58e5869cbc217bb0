/* What messages between thread ranks of this machine take, by the clock: two
 * ranks send to and fro, add numbers, and answer commands. See profile.h. */
#include "engine/api/profile.h"

#include "engine/base/vec.h"
#include "engine/comm/mail.h"
#include "engine/search/fit.h"

#include <pthread.h>

enum {
    RANKS = 2,
    TAG = 1,
    LEAST = 1 << 10, /* bytes */
    MOST_BYTES = 64 << 20,
    ROUNDS = 5,
    COMMANDS = 400,
};

typedef struct seat {
    rlf_comm *comm;
    int rank;
    char *data;
    RLF_VEC(rlf_profile_sample) messages, sums; /* of rank 0 */
    rlf_err err;
    rlf_status status;
    pthread_t thread;
} seat;

/* As often as it takes to be seen. */
static int
calls_of(size_t bytes)
{
    size_t n = ((size_t)1 << 22) / bytes;
    return n < 1 ? 1 : n > 200 ? 200 : (int)n;
}

/* Seconds of a message one way, or of a sum; the middle of some rounds. */
static rlf_status
time_one(seat *s, size_t bytes, bool sums, rlf_err *err, double *out)
{
    rlf_group *all = rlf_group_world(s->comm);
    double took[ROUNDS];
    int calls = calls_of(bytes);
    const rlf_part part = {1 - s->rank, s->data, bytes};
    for (int round = 0; round < ROUNDS; round++) {
        RLF_TRY(rlf_group_barrier(all, err));
        uint64_t from = rlf_clock_now();
        for (int i = 0; i < calls; i++) {
            if (sums) {
                RLF_TRY(rlf_group_all_reduce(all, s->data, s->data,
                                             bytes / sizeof(float),
                                             RLF_COMM_F32, RLF_COMM_SUM, err));
                continue;
            }
            for (int way = 0; way < 2; way++) {
                bool sends = way == s->rank;
                RLF_TRY(rlf_group_exchange(all, TAG, &part, sends, &part,
                                           !sends, err));
            }
        }
        took[round] = rlf_clock_since(from) / calls / (sums ? 1 : 2);
    }
    for (int i = 1; i < ROUNDS; i++)
        for (int k = i; k > 0 && took[k] < took[k - 1]; k--) {
            double t = took[k];
            took[k] = took[k - 1];
            took[k - 1] = t;
        }
    *out = took[ROUNDS / 2];
    return RLF_OK;
}

/* The rank's side of commands: an answer to each. */
static rlf_status
serve(const seat *s, rlf_err *err)
{
    char room[512];
    rlf_mail mail;
    for (int i = 0; i < COMMANDS; i++) {
        RLF_TRY(rlf_mail_wait(s->comm, -1, room, &mail, err));
        RLF_TRY(rlf_mail_post(s->comm, RLF_CONTROLLER, room, mail.bytes, err));
    }
    return RLF_OK;
}

static rlf_status
work(seat *s, rlf_err *err)
{
    RLF_TRY(serve(s, err));
    s->data = rlf_try_calloc(MOST_BYTES, 1);
    if (!s->data)
        return rlf_fail_memory(err, MOST_BYTES, "a message to be measured");
    for (size_t bytes = LEAST; bytes <= MOST_BYTES; bytes *= 4) {
        double message, sum;
        RLF_TRY(time_one(s, bytes, false, err, &message));
        RLF_TRY(time_one(s, bytes, true, err, &sum));
        rlf_profile_sample m = {(double)bytes, 0, message};
        /* of two ranks each sends as many bytes as are added */
        rlf_profile_sample a = {(double)bytes, 0, sum};
        RLF_PUSH(&s->messages, m);
        RLF_PUSH(&s->sums, a);
    }
    return RLF_OK;
}

static void *
rank_main(void *arg)
{
    seat *s = arg;
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
        for (int r = 0; r < RANKS; r++) {
            RLF_TRY(rlf_mail_post(controller, r, command, sizeof command, err));
            RLF_TRY(rlf_mail_wait(controller, -1, room, &mail, err));
        }
    *out = rlf_clock_since(from) / COMMANDS / RANKS;
    return RLF_OK;
}

static rlf_line
line_of(rlf_line_kind kind, const rlf_profile_sample *samples, int n)
{
    rlf_profile_line line;
    rlf_profile_fit(samples, n, &line);
    return (rlf_line){.kind = kind,
                      .fixed = line.fixed,
                      .each = line.each,
                      .least = line.least,
                      .most = line.most,
                      .spread = line.spread};
}

rlf_status
rlf_profile_links(rlf_arena *arena, rlf_err *err, rlf_profile *out)
{
    const rlf_comm_options options = {
        .n_ranks = RANKS, .limit = 120, .mail_slots = 64};
    seat seats[RANKS] = {{0}};
    rlf_comm_world *world;
    RLF_TRY(rlf_comm_world_new(&options, &world, err));
    for (int i = 0; i < RANKS; i++) {
        seats[i] = (seat){
            .comm = rlf_comm_of(world, i), .rank = i, .err = RLF_ERR_NONE};
        pthread_create(&seats[i].thread, NULL, rank_main, &seats[i]);
    }
    rlf_status status = dispatch(rlf_comm_controller(world), err, &out->post);
    for (int i = 0; i < RANKS; i++) {
        pthread_join(seats[i].thread, NULL);
        if (seats[i].status < 0 && status >= 0) {
            *err = seats[i].err;
            status = seats[i].status;
        }
    }
    out->links = RLF_NEW_ARRAY(arena, rlf_line, 2);
    if (status >= 0) {
        int n = (int)seats[0].sums.count;
        out->links[out->n_links++] =
            line_of(RLF_LINE_MESSAGE, seats[0].messages.data, n);
        out->links[out->n_links++] =
            line_of(RLF_LINE_COLLECTIVE, seats[0].sums.data, n);
    }
    for (int i = 0; i < RANKS; i++) {
        RLF_VEC_FREE(&seats[i].messages);
        RLF_VEC_FREE(&seats[i].sums);
    }
    rlf_comm_world_free(world);
    return status;
}
