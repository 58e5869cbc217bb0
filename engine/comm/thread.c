/* Ranks that are threads of one process: messages without a copy between.
 *
 * Each ordered pair of ranks has a channel: the sends and the receives that
 * have no partner yet, in order. Who comes second finds its partner there.
 * Small sends are copied at once, into the receive if it waits already, else
 * into a cell. A large send stays where it is and the receiver copies straight
 * from buffer to buffer, so the receivers of a collective all copy at the same
 * time; or it borrows the buffer and the send is over when it has been
 * returned. A request changes its state under the channel's lock; the copy
 * itself runs without it, and a sender that gives up waits for a copy that has
 * begun. Of device memory (peer.c) the receiver begins a copy that goes on by
 * itself; whichever side sees first that it is done ends both.
 */
#include "engine/comm/internal.h"
#include "engine/dev/copy.h"

#include <sched.h>

typedef struct cell {
    rlf_request request; /* first: stands for the send */
    struct cell *next;   /* all of a channel, or its free ones */
    char bytes[EAGER_BYTES];
} cell;

typedef struct list {
    rlf_request *first, *last;
} list;

struct rlf_channel {
    _Alignas(64) pthread_mutex_t lock;
    list sends, receives; /* without a partner, in order */
    cell *free;
    int n_cells; /* in use */
};

static void
list_append(list *l, rlf_request *r)
{
    r->next = NULL;
    if (l->last)
        l->last->next = r;
    else
        l->first = r;
    l->last = r;
}

/* Take `r`, whose predecessor is `before` (NULL: none), out. */
static void
list_unlink(list *l, rlf_request *before, rlf_request *r)
{
    if (before)
        before->next = r->next;
    else
        l->first = r->next;
    if (l->last == r)
        l->last = before;
}

/* Take out the first of that tag; NULL: there is none. */
static rlf_request *
list_take(list *l, int tag)
{
    rlf_request *before = NULL;
    for (rlf_request *r = l->first; r; before = r, r = r->next)
        if (r->tag == tag) {
            list_unlink(l, before, r);
            return r;
        }
    return NULL;
}

static void
list_remove(list *l, rlf_request *wanted)
{
    rlf_request *before = NULL;
    for (rlf_request *r = l->first; r; before = r, r = r->next)
        if (r == wanted) {
            list_unlink(l, before, r);
            return;
        }
}

static uint32_t
state_get(const rlf_request *r)
{
    return __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
}

static void
state_set(rlf_request *r, rlf_request_state state)
{
    __atomic_store_n(&r->state, state, __ATOMIC_RELEASE);
}

static rlf_comm *
peer_end(const rlf_comm *comm, const rlf_request *r)
{
    return comm->world->ends[r->peer % comm->world->local];
}

rlf_status
rlf_channels_new(rlf_comm_world *world, rlf_err *err)
{
    size_t n = (size_t)world->local * (size_t)world->local;
    rlf_channel *channels = rlf_try_malloc_aligned(n * sizeof *channels);
    if (!channels)
        return rlf_fail_memory(err, n * sizeof *channels,
                               "the channels between %d ranks", world->local);
    memset(channels, 0, n * sizeof *channels);
    for (size_t i = 0; i < n; i++)
        pthread_mutex_init(&channels[i].lock, NULL);
    world->channels = channels;
    return RLF_OK;
}

rlf_channel *
rlf_channel_at(const rlf_comm_world *world, int from, int to)
{
    return &world->channels[from * world->local + to];
}

static void
cells_free(cell *c)
{
    while (c) {
        cell *next = c->next;
        free(c);
        c = next;
    }
}

void
rlf_channels_free(rlf_comm_world *world)
{
    for (int i = 0; world->channels && i < world->local * world->local; i++) {
        rlf_channel *channel = &world->channels[i];
        cells_free(channel->free);
        for (rlf_request *r = channel->sends.first; r;) {
            rlf_request *next = r->next;
            if (r->cell)
                free(r);
            r = next;
        }
        pthread_mutex_destroy(&channel->lock);
    }
    free(world->channels);
}

static void
copy(const rlf_request *to, const rlf_request *from)
{
    if (to->strided || from->strided || from->bytes >= RLF_COPY_PAST_BYTES)
        rlf_request_copy(to, from);
    else if (from->bytes)
        memcpy(to->data, from->data, from->bytes);
}

static void
pair(rlf_request *a, rlf_request *b)
{
    a->other = b;
    b->other = a;
    state_set(a, RLF_REQUEST_MATCHED);
    state_set(b, RLF_REQUEST_MATCHED);
}

/* A small send without a waiting receive: a copy of it stands for it. False
 * when there are too many. */
static bool
send_cell(rlf_channel *channel, rlf_request *send)
{
    if (channel->n_cells == EAGER_CELLS)
        return false;
    cell *c = channel->free;
    if (c)
        channel->free = c->next;
    else
        c = rlf_malloc(sizeof *c);
    channel->n_cells++;
    c->request = *send;
    c->request.cell = true;
    c->request.data = c->bytes;
    c->request.strided = NULL;
    if (send->strided)
        rlf_request_pack(send, c->bytes);
    else if (send->bytes)
        memcpy(c->bytes, send->data, send->bytes);
    state_set(&c->request, RLF_REQUEST_POSTED);
    list_append(&channel->sends, &c->request);
    return true;
}

static void
cell_release(rlf_channel *channel, rlf_request *r)
{
    cell *c = (cell *)r;
    c->next = channel->free;
    channel->free = c;
    channel->n_cells--;
}

static void
start_send(rlf_comm *comm, rlf_request *send)
{
    rlf_channel *channel = send->channel;
    pthread_mutex_lock(&channel->lock);
    rlf_request *receive = list_take(&channel->receives, send->tag);
    bool small = send->bytes <= EAGER_BYTES && !send->peered;
    if (receive && small && receive->bytes == send->bytes) {
        copy(receive, send);
        state_set(send, RLF_REQUEST_DONE);
        state_set(receive, RLF_REQUEST_DONE);
    } else if (receive) {
        pair(send, receive);
    } else if (small && send_cell(channel, send)) {
        state_set(send, RLF_REQUEST_DONE);
    } else {
        state_set(send, RLF_REQUEST_POSTED);
        list_append(&channel->sends, send);
    }
    pthread_mutex_unlock(&channel->lock);
    if (receive)
        rlf_futex_ring(&peer_end(comm, send)->bell);
}

static void
start_receive(rlf_request *receive)
{
    rlf_channel *channel = receive->channel;
    pthread_mutex_lock(&channel->lock);
    rlf_request *send = list_take(&channel->sends, receive->tag);
    if (send) {
        pair(send, receive);
    } else {
        state_set(receive, RLF_REQUEST_POSTED);
        list_append(&channel->receives, receive);
    }
    pthread_mutex_unlock(&channel->lock);
}

void
rlf_channel_start(rlf_comm *comm, rlf_request *request)
{
    if (request->send)
        start_send(comm, request);
    else
        start_receive(request);
}

static rlf_status
sizes_differ(const rlf_comm *comm, const rlf_request *receive, size_t sent,
             rlf_err *err)
{
    return rlf_fail(err, RLF_BUG,
                    "rank %d sends %zu bytes in %s where rank %d expects %zu",
                    receive->peer, sent, rlf_kind_names[receive->batch->kind],
                    comm->rank, receive->bytes);
}

/* The channel is locked. */
static void
end_both(rlf_request *request)
{
    state_set(request->other, RLF_REQUEST_DONE); /* and it may be gone */
    state_set(request, RLF_REQUEST_DONE);
}

/* The receiver begins the copy. RLF_AGAIN: it is not over. Locked. */
static rlf_status
begin_peered(const rlf_comm *comm, rlf_request *request, rlf_err *err)
{
    rlf_request *send = request->other;
    if (request->send || !send) /* its sender gave up */
        return RLF_AGAIN;
    if (send->bytes != request->bytes)
        return sizes_differ(comm, request, send->bytes, err);
    rlf_status status = rlf_peered_begin(request, send, err);
    if (status == RLF_OK) {
        state_set(send, RLF_REQUEST_MOVING);
        state_set(request, RLF_REQUEST_MOVING);
        rlf_futex_ring(&peer_end(comm, request)->bell);
    }
    return status < 0 ? status : RLF_AGAIN;
}

/* One of device memory. A sender looks at its own queue until that has come to
 * the message: there are queues that get on only when their rank asks. */
static rlf_status
move_peered(rlf_comm *comm, rlf_request *request, bool *done, rlf_err *err)
{
    rlf_channel *channel = request->channel;
    rlf_status status = RLF_AGAIN;
    if (request->send && state_get(request) <= RLF_REQUEST_MATCHED) {
        rlf_status ready = rlf_peered_ready(request, err);
        comm->polls |= ready == RLF_AGAIN;
        if (ready < 0)
            return ready;
    }
    pthread_mutex_lock(&channel->lock);
    uint32_t state = state_get(request);
    if (state == RLF_REQUEST_MATCHED)
        status = begin_peered(comm, request, err);
    else if (state == RLF_REQUEST_MOVING)
        status = rlf_peered_done(request->send ? request->other : request, err);
    if (status != RLF_AGAIN) {
        end_both(request);
        rlf_futex_ring(&peer_end(comm, request)->bell);
    }
    state = state_get(request);
    pthread_mutex_unlock(&channel->lock);
    *done = state == RLF_REQUEST_DONE;
    comm->polls |= state == RLF_REQUEST_MOVING ||
                   (state == RLF_REQUEST_MATCHED && !request->send);
    return status < 0 ? status : RLF_OK;
}

rlf_status
rlf_channel_move(rlf_comm *comm, rlf_request *request, bool *done, rlf_err *err)
{
    uint32_t state = state_get(request);
    *done = state == RLF_REQUEST_DONE;
    if (!*done && request->peered)
        return move_peered(comm, request, done, err);
    if (request->send || state != RLF_REQUEST_MATCHED)
        return RLF_OK;
    rlf_channel *channel = request->channel;
    pthread_mutex_lock(&channel->lock);
    rlf_request *send = request->other;
    if (send) {
        state_set(send, RLF_REQUEST_COPYING);
        state_set(request, RLF_REQUEST_COPYING);
    }
    pthread_mutex_unlock(&channel->lock);
    if (!send) /* its sender gave up: the abort word says why */
        return RLF_OK;
    size_t sent = send->bytes;
    if (request->borrow && sent == request->bytes) {
        request->data = send->data; /* `other` is whom it is from */
        state_set(request, RLF_REQUEST_DONE);
        *done = true;
        return RLF_OK;
    }
    request->borrow = false;
    if (sent == request->bytes)
        copy(request, send);
    state_set(request, RLF_REQUEST_DONE);
    if (send->cell) {
        pthread_mutex_lock(&channel->lock);
        cell_release(channel, send);
        pthread_mutex_unlock(&channel->lock);
    } else {
        rlf_futex *bell = &peer_end(comm, request)->bell;
        state_set(send, RLF_REQUEST_DONE); /* and it may be gone */
        rlf_futex_ring(bell);
    }
    *done = true;
    if (sent != request->bytes)
        return sizes_differ(comm, request, sent, err);
    return RLF_OK;
}

void
rlf_channel_return(rlf_comm *comm, rlf_request *receive)
{
    rlf_futex *bell = &peer_end(comm, receive)->bell;
    receive->borrow = false;
    state_set(receive->other, RLF_REQUEST_DONE); /* and it may be gone */
    rlf_futex_ring(bell);
}

/* The copy that a device was given, if it is done. */
static void
await_peered(rlf_request *request)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_channel *channel = request->channel;
    pthread_mutex_lock(&channel->lock);
    if (state_get(request) == RLF_REQUEST_MOVING &&
        rlf_peered_done(request->send ? request->other : request, &ignored) !=
            RLF_AGAIN)
        end_both(request);
    pthread_mutex_unlock(&channel->lock);
}

void
rlf_channel_cancel(rlf_request *request)
{
    rlf_channel *channel = request->channel;
    pthread_mutex_lock(&channel->lock);
    switch (state_get(request)) {
    case RLF_REQUEST_POSTED:
        list_remove(request->send ? &channel->sends : &channel->receives,
                    request);
        state_set(request, RLF_REQUEST_DONE);
        break;
    case RLF_REQUEST_MATCHED:
        if (!request->other) /* it gave up before */
            ;
        else if (request->other->cell)
            cell_release(channel, request->other);
        else
            request->other->other = NULL;
        state_set(request, RLF_REQUEST_DONE);
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&channel->lock);
    /* a receiver in the middle of its copy ends it, and so does a device */
    for (; state_get(request) != RLF_REQUEST_DONE; sched_yield())
        if (request->peered)
            await_peered(request);
}
