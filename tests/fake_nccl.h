/* The functions of NCCL that nccl.h asks for, over the threads of one process
 * and the devices of later.h: messages match by pair and order, a group's go on
 * all at once, in the queue, and a call is under way for a few looks at its
 * state.
 *
 * Over emulated GPUs too (FAKE_EMULATED), where a queue records: what is
 * recorded on one side has to be recorded on the other, as the same one between
 * the two, and a communicator does not end while a recording has it. */
#ifndef RLF_TESTS_FAKE_NCCL_H
#define RLF_TESTS_FAKE_NCCL_H

#include "engine/comm/nccl.h"
#include "tests/later.h"
#ifdef FAKE_EMULATED
#include "kernels/cuda/emulate_device.h"
#endif

#include <stdio.h>

enum {
    FAKE_RANKS = 8,
    FAKE_OPS = 256,
    FAKE_LOOKS = 3,
    FAKE_WRONG = 5, /* the status of NCCL for wrong usage */
    FAKE_ERROR = 6
};

typedef struct fake_comm fake_comm;

/* A message that waits for its receiver. */
typedef struct fake_send {
    struct fake_send *next;
    const void *data;
    size_t bytes;
    uint32_t recorded; /* the number among those between the two that are
                          recorded; 0: it is not */
    bool taken;
} fake_send;

/* All ranks of a communicator. */
typedef struct fake_world {
    struct fake_world *next;
    char id[RLF_NCCL_ID];
    pthread_mutex_t lock;
    pthread_cond_t bell;
    int n, n_open, n_gone;
    bool aborted;                             /* one of them has aborted it */
    fake_send *sends[FAKE_RANKS][FAKE_RANKS]; /* from, to */
} fake_world;

struct fake_comm {
    fake_world *world;
    int rank;
    int looks; /* until it says that it is done */
    bool ended;
    int broken;                       /* its error */
    uint32_t recorded[2][FAKE_RANKS]; /* receives from, sends to */
    int held;                         /* groups in recordings that there are */
};

typedef struct fake_op {
    bool send;
    fake_comm *comm;
    void *data;
    size_t bytes;
    int peer;
    uint32_t recorded; /* the number, as that of a send */
} fake_op;

/* A group in the queue. */
typedef struct fake_group {
    int n;
    fake_op ops[];
} fake_group;

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static fake_world *fake_worlds;
static int fake_ids;
/* The next communicator of this thread fails at its n-th look; 0: none. */
static _Thread_local int fake_break;
/* The n-th message of this thread fails; 0: none. */
static _Thread_local int fake_fault;
static _Thread_local fake_op fake_ops[FAKE_OPS];
static _Thread_local int fake_n;
static _Thread_local rlf_queue *fake_queue;
/* Communicators that were to end while a recording had them. */
static int fake_ended_held;

static bool
fake_records(const rlf_queue *queue)
{
#ifdef FAKE_EMULATED
    return rlf_emulated_records(queue);
#else
    (void)queue;
    return false;
#endif
}

static int
fake_id(void *id)
{
    pthread_mutex_lock(&fake_lock);
    memset(id, 0, RLF_NCCL_ID);
    snprintf(id, RLF_NCCL_ID, "world %d", ++fake_ids);
    pthread_mutex_unlock(&fake_lock);
    return RLF_NCCL_OK;
}

static int
fake_open(void **out, int n, const void *id, int rank)
{
    pthread_mutex_lock(&fake_lock);
    fake_world *w = fake_worlds;
    while (w && memcmp(w->id, id, RLF_NCCL_ID) != 0)
        w = w->next;
    if (!w) {
        w = rlf_calloc(1, sizeof *w);
        memcpy(w->id, id, RLF_NCCL_ID);
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->bell, NULL);
        w->n = n;
        w->next = fake_worlds;
        fake_worlds = w;
    }
    pthread_mutex_lock(&w->lock);
    w->n_open++;
    pthread_mutex_unlock(&w->lock);
    pthread_mutex_unlock(&fake_lock);
    fake_comm *comm = rlf_calloc(1, sizeof *comm);
    *comm = (fake_comm){.world = w, .rank = rank, .looks = FAKE_LOOKS};
    *out = comm;
    return RLF_NCCL_BUSY;
}

static int
fake_begin(void)
{
    fake_n = 0;
    return RLF_NCCL_OK;
}

static int
fake_add(bool send, void *comm, void *data, size_t bytes, int peer,
         rlf_queue *queue)
{
    fake_comm *c = comm;
    bool later = queue->device->ops == &later_ops;
    if ((later && !later_is(data)) || fake_n == FAKE_OPS)
        return FAKE_WRONG;
    if (fake_fault && --fake_fault == 0)
        return FAKE_ERROR;
    fake_ops[fake_n++] = (fake_op){
        .send = send,
        .comm = comm,
        .data = later ? later_real(data) : data,
        .bytes = bytes,
        .peer = peer,
        .recorded = fake_records(queue) ? ++c->recorded[send][peer] : 0};
    fake_queue = queue;
    return RLF_NCCL_OK;
}

static int
fake_send_to(void *comm, const void *data, size_t bytes, int peer,
             rlf_queue *queue)
{
    return fake_add(true, comm, (void *)(uintptr_t)data, bytes, peer, queue);
}

static int
fake_receive(void *comm, void *data, size_t bytes, int peer, rlf_queue *queue)
{
    return fake_add(false, comm, data, bytes, peer, queue);
}

static void
fake_append(fake_send **list, fake_send *send)
{
    while (*list)
        list = &(*list)->next;
    *list = send;
}

static void
fake_remove(fake_send **list, const fake_send *send)
{
    while (*list && *list != send)
        list = &(*list)->next;
    if (*list)
        *list = send->next;
}

/* Takes what has come; whether all of the group is done. Locked. */
static bool
fake_move(fake_op *ops, const fake_send *sends, int n)
{
    fake_comm *comm = ops->comm;
    fake_world *w = comm->world;
    bool done = true;
    for (int i = 0; i < n; i++) {
        fake_op *op = &ops[i];
        if (op->send) {
            done &= sends[i].taken;
            continue;
        }
        fake_send **from = &w->sends[op->peer][comm->rank];
        if (op->data && *from) {
            if ((*from)->recorded != op->recorded)
                comm->broken = FAKE_WRONG;
            /* a receiver that expects less reads no more than there is */
            memcpy(op->data, (*from)->data,
                   op->bytes < (*from)->bytes ? op->bytes : (*from)->bytes);
            (*from)->taken = true;
            *from = (*from)->next;
            op->data = NULL;
            pthread_cond_broadcast(&w->bell);
        }
        done &= !op->data;
    }
    return done;
}

static bool
fake_is_over(const fake_comm *comm, bool emulated)
{
    /* an emulated queue is its rank's own thread, which nobody else can end */
    return comm->ended || (emulated && comm->world->aborted);
}

/* A recorded group comes here again and again. */
static void
fake_run_group(const fake_group *g, bool emulated)
{
    fake_op ops[FAKE_OPS];
    fake_send sends[FAKE_OPS];
    fake_comm *comm = g->ops->comm;
    fake_world *w = comm->world;
    memcpy(ops, g->ops, (size_t)g->n * sizeof *ops);
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < g->n; i++)
        if (ops[i].send) {
            sends[i] = (fake_send){.data = ops[i].data,
                                   .bytes = ops[i].bytes,
                                   .recorded = ops[i].recorded};
            fake_append(&w->sends[comm->rank][ops[i].peer], &sends[i]);
        }
    pthread_cond_broadcast(&w->bell);
    while (!fake_is_over(comm, emulated) && !fake_move(ops, sends, g->n))
        pthread_cond_wait(&w->bell, &w->lock);
    for (int i = 0; i < g->n; i++)
        if (ops[i].send)
            fake_remove(&w->sends[comm->rank][ops[i].peer], &sends[i]);
    pthread_mutex_unlock(&w->lock);
}

static void
fake_run_later(later_queue *queue, void *args)
{
    (void)queue;
    fake_group *g = *(fake_group **)args;
    fake_run_group(g, false);
    free(g);
}

#ifdef FAKE_EMULATED
static void
fake_run_emulated(void *args)
{
    fake_run_group(args, true);
}

/* It will not run again. */
static void
fake_end_emulated(void *args)
{
    fake_group *g = args;
    g->ops->comm->held -= g->ops->recorded != 0;
}
#endif

static int
fake_end(void)
{
    if (!fake_n)
        return RLF_NCCL_OK;
    size_t bytes = (size_t)fake_n * sizeof(fake_op);
    fake_group *g = rlf_malloc(sizeof *g + bytes);
    fake_comm *comm = fake_ops[0].comm;
    g->n = fake_n;
    memcpy(g->ops, fake_ops, bytes);
    fake_n = 0;
    comm->looks = FAKE_LOOKS;
    comm->held += g->ops->recorded != 0;
    if (fake_queue->device->ops == &later_ops) {
        later_run(fake_queue, fake_run_later, &g, sizeof g);
        return RLF_NCCL_BUSY;
    }
#ifdef FAKE_EMULATED
    rlf_emulated_run(fake_queue, fake_run_emulated, fake_end_emulated, g,
                     sizeof *g + bytes);
#endif
    free(g);
    return RLF_NCCL_BUSY;
}

static int
fake_state(void *arg)
{
    fake_comm *comm = arg;
    fake_world *w = comm->world;
    pthread_mutex_lock(&w->lock);
    bool all = w->n_open == w->n;
    pthread_mutex_unlock(&w->lock);
    if (fake_break && --fake_break == 0)
        comm->broken = FAKE_ERROR;
    if (comm->broken)
        return comm->broken;
    return !all || (comm->looks && comm->looks--) ? RLF_NCCL_BUSY : RLF_NCCL_OK;
}

/* The real one would wait for them, with all of the process. */
static void
fake_look_at_recordings(const fake_comm *comm)
{
    pthread_mutex_lock(&fake_lock);
    fake_ended_held += comm->held != 0;
    pthread_mutex_unlock(&fake_lock);
}

static int
fake_finish(void *comm)
{
    fake_look_at_recordings(comm);
    return RLF_NCCL_OK;
}

static void
fake_world_leave(fake_world *w)
{
    pthread_mutex_lock(&fake_lock);
    bool last = ++w->n_gone == w->n_open;
    if (last) {
        fake_world **at = &fake_worlds;
        while (*at != w)
            at = &(*at)->next;
        *at = w->next;
        pthread_mutex_destroy(&w->lock);
        pthread_cond_destroy(&w->bell);
        free(w);
    }
    pthread_mutex_unlock(&fake_lock);
}

static int
fake_close(void *arg)
{
    fake_comm *comm = arg;
    fake_world_leave(comm->world);
    free(comm);
    return RLF_NCCL_OK;
}

/* The queue may be in the middle of a group, so the communicator stays; a test
 * that aborts has few of them. */
static fake_comm *fake_dead[64];
static int fake_n_dead;

static int
fake_abort(void *arg)
{
    fake_comm *comm = arg;
    fake_look_at_recordings(comm);
    pthread_mutex_lock(&comm->world->lock);
    comm->ended = true;
    comm->world->aborted = true;
    pthread_cond_broadcast(&comm->world->bell);
    pthread_mutex_unlock(&comm->world->lock);
    pthread_mutex_lock(&fake_lock);
    fake_dead[fake_n_dead++] = comm;
    pthread_mutex_unlock(&fake_lock);
    return RLF_NCCL_OK;
}

/* After all ranks have ended. */
static void
fake_bury(void)
{
    while (fake_n_dead)
        fake_close(fake_dead[--fake_n_dead]);
}

static const char *
fake_text(int result)
{
    return result == FAKE_ERROR ? "a cable was cut"
           : result == FAKE_WRONG
               ? "a message was recorded on one of its sides alone"
               : "something else";
}

static const rlf_nccl fake_nccl = {.id = fake_id,
                                   .open = fake_open,
                                   .begin = fake_begin,
                                   .end = fake_end,
                                   .send = fake_send_to,
                                   .receive = fake_receive,
                                   .state = fake_state,
                                   .finish = fake_finish,
                                   .close = fake_close,
                                   .abort = fake_abort,
                                   .text = fake_text};

#endif
