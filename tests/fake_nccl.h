/* What nccl.h asks of NCCL, over the threads of one process and the devices of
 * later.h: messages match by pair and order, a group's go on all at once, in
 * the queue, and a call is under way for a few looks at its state. */
#ifndef RLF_TESTS_FAKE_NCCL_H
#define RLF_TESTS_FAKE_NCCL_H

#include "engine/comm/nccl.h"
#include "tests/later.h"

enum { FAKE_RANKS = 8, FAKE_OPS = 256, FAKE_LOOKS = 3, FAKE_ERROR = 6 };

typedef struct fake_comm fake_comm;

/* A message that waits for its receiver. */
typedef struct fake_send {
    struct fake_send *next;
    const void *data;
    size_t bytes;
    bool taken;
} fake_send;

/* All ranks of a communicator. */
typedef struct fake_world {
    struct fake_world *next;
    char id[RLF_NCCL_ID];
    pthread_mutex_t lock;
    pthread_cond_t bell;
    int n, n_open, n_gone;
    fake_send *sends[FAKE_RANKS][FAKE_RANKS]; /* from, to */
} fake_world;

struct fake_comm {
    fake_world *world;
    int rank;
    int looks; /* until it says that it is done */
    bool ended, broken;
};

typedef struct fake_op {
    bool send;
    fake_comm *comm;
    void *data;
    size_t bytes;
    int peer;
} fake_op;

/* A group in the queue. */
typedef struct fake_group {
    fake_op *ops;
    fake_send *sends; /* one an operation */
    int n;
} fake_group;

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static fake_world *fake_worlds;
static int fake_ids;
/* The next communicator of this thread fails at its n-th look; 0: none. */
static _Thread_local int fake_break;
static _Thread_local fake_op fake_ops[FAKE_OPS];
static _Thread_local int fake_n;
static _Thread_local rlf_queue *fake_queue;

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
    if (!later_is(data) || fake_n == FAKE_OPS)
        return 5; /* what NCCL says of wrong usage */
    fake_ops[fake_n++] = (fake_op){send, comm, later_real(data), bytes, peer};
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
fake_move(fake_group *g, fake_comm *comm)
{
    fake_world *w = comm->world;
    bool done = true;
    for (int i = 0; i < g->n; i++) {
        fake_op *op = &g->ops[i];
        if (op->send) {
            done &= g->sends[i].taken;
            continue;
        }
        fake_send **from = &w->sends[op->peer][comm->rank];
        if (op->data && *from) {
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

static void
fake_run(later_queue *queue, void *args)
{
    (void)queue;
    fake_group *g = args;
    fake_comm *comm = g->ops->comm;
    fake_world *w = comm->world;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < g->n; i++)
        if (g->ops[i].send) {
            g->sends[i] =
                (fake_send){.data = g->ops[i].data, .bytes = g->ops[i].bytes};
            fake_append(&w->sends[comm->rank][g->ops[i].peer], &g->sends[i]);
        }
    pthread_cond_broadcast(&w->bell);
    while (!comm->ended && !fake_move(g, comm))
        pthread_cond_wait(&w->bell, &w->lock);
    for (int i = 0; i < g->n; i++)
        if (g->ops[i].send)
            fake_remove(&w->sends[comm->rank][g->ops[i].peer], &g->sends[i]);
    pthread_mutex_unlock(&w->lock);
    free(g->ops);
    free(g->sends);
}

static int
fake_end(void)
{
    if (!fake_n)
        return RLF_NCCL_OK;
    fake_group g = {.ops = rlf_calloc((size_t)fake_n, sizeof *g.ops),
                    .sends = rlf_calloc((size_t)fake_n, sizeof *g.sends),
                    .n = fake_n};
    fake_comm *comm = fake_ops[0].comm;
    memcpy(g.ops, fake_ops, (size_t)fake_n * sizeof *g.ops);
    fake_n = 0;
    comm->looks = FAKE_LOOKS;
    later_run(fake_queue, fake_run, &g, sizeof g);
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
        comm->broken = true;
    if (comm->broken)
        return FAKE_ERROR;
    return !all || (comm->looks && comm->looks--) ? RLF_NCCL_BUSY : RLF_NCCL_OK;
}

static int
fake_finish(void *comm)
{
    (void)comm;
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
    pthread_mutex_lock(&comm->world->lock);
    comm->ended = true;
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
    return result == FAKE_ERROR ? "a cable was cut" : "something else";
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
