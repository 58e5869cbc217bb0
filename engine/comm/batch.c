/* Batches: starting them, moving them on, waiting, giving up. The one waiting
 * loop of the folder is wait_for(): all that waits comes through it. */
#include "engine/base/clock.h"
#include "engine/comm/internal.h"

#include <sched.h>
#include <stdio.h>

/* A rank that polls another process yields for so long, then naps between. */
#define YIELD_NS 2000000
#define NAP_NS 50000
#define SPIN_NS 50000

const char *const rlf_kind_names[RLF_KINDS] = {
    [RLF_KIND_BATCH] = "a batch",
    [RLF_KIND_BARRIER] = "barrier",
    [RLF_KIND_BCAST] = "bcast",
    [RLF_KIND_ALL_GATHER] = "all-gather",
    [RLF_KIND_ALL_REDUCE] = "all-reduce",
    [RLF_KIND_REDUCE_SCATTER] = "reduce-scatter",
};

static rlf_batch *
batch_take(rlf_comm *comm, size_t n)
{
    rlf_batch *b = comm->spare;
    if (b)
        comm->spare = b->next;
    else
        b = rlf_calloc(1, sizeof *b);
    if (b->room < n) {
        free(b->requests);
        b->requests = rlf_malloc(n * sizeof *b->requests);
        b->room = n;
    }
    b->comm = comm;
    b->n = b->left = n;
    b->receiving = 0;
    b->cancelled = false;
    b->next = NULL;
    b->before = comm->last;
    if (comm->last)
        comm->last->next = b;
    else
        comm->first = b;
    comm->last = b;
    return b;
}

static void
batch_release(rlf_batch *b)
{
    rlf_comm *comm = b->comm;
    for (size_t i = 0; i < b->n; i++)
        if (b->requests[i].strided)
            free(b->requests[i].data);
    if (b->before)
        b->before->next = b->next;
    else
        comm->first = b->next;
    if (b->next)
        b->next->before = b->before;
    else
        comm->last = b->before;
    b->next = comm->spare;
    comm->spare = b;
}

static void
batch_cancel(rlf_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        rlf_request *r = &b->requests[i];
        if (r->channel && !r->finished)
            rlf_channel_cancel(r);
        else if (r->borrow)
            rlf_channel_return(b->comm, r);
    }
    b->cancelled = true;
}

void
rlf_comm_cancel(rlf_comm *comm)
{
    for (rlf_batch *b = comm->first; b; b = b->next)
        if (!b->cancelled)
            batch_cancel(b);
    if (!comm->n_remote)
        return;
    rlf_connections_wait_stopped(comm->world->links);
    comm->world->options.backend->cancel(comm);
    comm->n_remote = 0;
}

void
rlf_comm_batches_free(rlf_comm *comm)
{
    while (comm->first)
        batch_release(comm->first);
    while (comm->spare) {
        rlf_batch *b = comm->spare;
        comm->spare = b->next;
        free(b->requests);
        free(b);
    }
}

rlf_status
rlf_comm_give_up(rlf_comm *comm, rlf_err *err)
{
    if (err->status == RLF_OK || err->status == RLF_PEER) {
        rlf_comm_check(comm->world, err);
        char text[256];
        rlf_comm_waits(comm, text, sizeof text);
        if (*text)
            rlf_err_detail(err, "%s", text);
    } else {
        rlf_err_place(err, (rlf_span){0},
                      __atomic_load_n(&comm->label, __ATOMIC_RELAXED));
        if (err->rank < 0)
            err->rank = comm->rank;
        rlf_comm_abort(comm->world, err);
    }
    rlf_comm_cancel(comm);
    return err->status;
}

rlf_status
rlf_comm_progress(rlf_comm *comm, rlf_err *err)
{
    if (comm->n_remote)
        RLF_TRY(comm->world->options.backend->progress(comm, err));
    comm->polls = false;
    for (rlf_batch *b = comm->first; b; b = b->next) {
        if (!b->left || b->cancelled)
            continue;
        for (size_t i = 0; i < b->n; i++) {
            rlf_request *r = &b->requests[i];
            if (r->finished || !r->channel)
                continue;
            bool done;
            RLF_TRY(rlf_channel_move(comm, r, &done, err));
            if (done)
                rlf_request_finish(comm, r);
        }
    }
    return RLF_OK;
}

/* To or from a member of the group; where its bytes are is for others to say.
 */
static rlf_request
request_new(rlf_group *group, rlf_batch *b, int tag, bool send, int member,
            size_t bytes)
{
    RLF_ASSERT(member >= 0 && member < group->n);
    const rlf_comm_world *world = group->comm->world;
    int peer = group->ranks[member], me = group->comm->rank;
    rlf_channel *channel = NULL;
    group->comm->n_sent += send && peer != me ? bytes : 0;
    group->comm->n_met += !send && peer != me && b->kind == RLF_KIND_BATCH;
    if (rlf_process_of(world, peer) == world->process) {
        int from = (send ? me : peer) % world->local;
        int to = (send ? peer : me) % world->local;
        channel = rlf_channel_at(world, from, to);
    }
    return (rlf_request){.channel = channel,
                         .bytes = bytes,
                         .peer = peer,
                         .tag = tag,
                         .send = send,
                         .batch = b};
}

/* Requests of one side into b->requests[at...]. */
static void
requests_fill(rlf_group *group, rlf_batch *b, size_t at, int tag, bool send,
              const rlf_part *parts, int n)
{
    for (int i = 0; i < n; i++) {
        rlf_request *r = &b->requests[at + (size_t)i];
        *r = request_new(group, b, tag, send, parts[i].peer, parts[i].bytes);
        r->data = parts[i].data;
    }
    if (!send)
        b->receiving += (size_t)n;
}

static void
requests_fill_strided(rlf_group *group, rlf_batch *b, size_t at, int tag,
                      bool send, const rlf_strided_message *parts, int n)
{
    for (int i = 0; i < n; i++) {
        const rlf_strided_message *p = &parts[i];
        rlf_request *r = &b->requests[at + (size_t)i];
        size_t bytes = 0;
        for (int k = 0; k < p->n; k++)
            bytes += p->list[k].bytes * p->list[k].rows;
        *r = request_new(group, b, tag, send, p->peer, bytes);
        r->strided = p->list;
        r->n_strided = p->n;
    }
    if (!send)
        b->receiving += (size_t)n;
}

static rlf_status
batch_start(rlf_batch *b, rlf_batch **out, rlf_err *err)
{
    rlf_comm *comm = b->comm;
    for (size_t i = 0; i < b->n; i++) {
        rlf_status status = rlf_request_start(comm, &b->requests[i], err);
        if (status < 0) {
            /* those not started are not to be cancelled */
            b->n = i;
            status = rlf_comm_give_up(comm, err);
            b->n = i + 1;
            batch_release(b);
            return status;
        }
    }
    *out = b;
    return RLF_OK;
}

/* Receives come first: a small send then goes straight into its place. */
static rlf_status
batch_begin(rlf_group *group, rlf_comm_kind kind, int tag,
            const rlf_part *sends, int n_sends, const rlf_part *receives,
            int n_receives, bool borrow, rlf_batch **out, rlf_err *err)
{
    rlf_comm *comm = group->comm;
    *out = NULL;
    if (rlf_world_aborted(comm->world))
        return rlf_comm_give_up(comm, err);
    rlf_batch *b = batch_take(comm, (size_t)n_sends + (size_t)n_receives);
    b->kind = kind;
    if (kind != RLF_KIND_BATCH)
        tag = RLF_TAG_LAST + (int)kind;
    requests_fill(group, b, 0, tag, false, receives, n_receives);
    requests_fill(group, b, (size_t)n_receives, tag, true, sends, n_sends);
    for (int i = 0; borrow && i < n_receives; i++)
        b->requests[i].borrow = true;
    return batch_start(b, out, err);
}

rlf_status
rlf_batch_begin(rlf_group *group, rlf_comm_kind kind, int tag,
                const rlf_part *sends, int n_sends, const rlf_part *receives,
                int n_receives, rlf_batch **out, rlf_err *err)
{
    return batch_begin(group, kind, tag, sends, n_sends, receives, n_receives,
                       false, out, err);
}

rlf_status
rlf_batch_begin_messages(rlf_group *group, int tag,
                         const rlf_comm_message *messages, int n,
                         rlf_batch **out, rlf_err *err)
{
    rlf_comm *comm = group->comm;
    *out = NULL;
    RLF_ASSERT(tag >= 0 && tag <= RLF_TAG_LAST);
    if (rlf_world_aborted(comm->world))
        return rlf_comm_give_up(comm, err);
    rlf_batch *b = batch_take(comm, (size_t)n);
    b->kind = RLF_KIND_BATCH;
    for (int i = 0; i < n; i++) {
        const rlf_comm_message *m = &messages[i];
        rlf_request *r = &b->requests[i];
        *r = request_new(group, b, tag + (m->peered ? RLF_TAG_PEERED : 0),
                         m->send, m->part.peer, m->part.bytes);
        r->data = m->part.data;
        r->peered = m->peered;
        b->receiving += !m->send;
    }
    return batch_start(b, out, err);
}

rlf_status
rlf_group_start(rlf_group *group, int tag, const rlf_part *sends, int n_sends,
                const rlf_part *receives, int n_receives, rlf_batch **out,
                rlf_err *err)
{
    RLF_ASSERT(tag >= 0 && tag <= RLF_TAG_LAST);
    return rlf_batch_begin(group, RLF_KIND_BATCH, tag, sends, n_sends, receives,
                           n_receives, out, err);
}

/* -- waiting ------------------------------------------------------------ */

static void
pause_once(rlf_comm *comm, uint32_t bell, uint64_t gone, uint64_t ns)
{
    if (!comm->n_remote && !comm->polls) {
        rlf_futex_wait(&comm->bell, bell, comm->spin, ns);
        return;
    }
    if (gone >= YIELD_NS)
        rlf_futex_wait(&comm->bell, bell, false, ns < NAP_NS ? ns : NAP_NS);
    else if (comm->spin && gone < SPIN_NS)
        rlf_futex_relax();
    else
        sched_yield();
}

void
rlf_comm_pause(rlf_comm *comm, uint32_t bell, uint64_t idle, uint64_t ns)
{
    uint64_t from = rlf_clock_now();
    pause_once(comm, bell, from - idle, ns);
    comm->waited += rlf_clock_now() - from;
}

/* The first request that keeps a batch from being done; NULL: none. */
static const rlf_request *
open_request(const rlf_batch *b)
{
    for (size_t i = 0; b && i < b->n; i++)
        if (!b->requests[i].finished)
            return &b->requests[i];
    return NULL;
}

/* Tell other threads what this one waits for, from now on. */
static void
waiting_set(rlf_comm *comm, const rlf_batch *b)
{
    rlf_wait_state *w = &comm->waiting;
    const rlf_request *r = open_request(b);
    if (r) {
        __atomic_store_n(&w->send, r->send, __ATOMIC_RELAXED);
        __atomic_store_n(&w->kind, (int)b->kind, __ATOMIC_RELAXED);
        __atomic_store_n(&w->peer, r->peer, __ATOMIC_RELAXED);
        __atomic_store_n(&w->bytes, (uint64_t)r->bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&w->since, rlf_clock_now(), __ATOMIC_RELAXED);
    }
    __atomic_store_n(&w->on, r != NULL, __ATOMIC_RELEASE);
}

void
rlf_comm_waits(const rlf_comm *comm, char *text, size_t room)
{
    const rlf_wait_state *w = &comm->waiting;
    *text = 0;
    if (!__atomic_load_n(&w->on, __ATOMIC_ACQUIRE))
        return;
    bool send = __atomic_load_n(&w->send, __ATOMIC_RELAXED);
    uint64_t since = __atomic_load_n(&w->since, __ATOMIC_RELAXED);
    const char *label = __atomic_load_n(&comm->label, __ATOMIC_RELAXED);
    snprintf(text, room,
             "rank %d has waited %.1f s in %s%s%s for %s rank %d (%llu bytes)",
             comm->rank, rlf_clock_since(since),
             rlf_kind_names[__atomic_load_n(&w->kind, __ATOMIC_RELAXED)],
             label ? " of " : "", label ? label : "",
             send ? "the receiver" : "the sender",
             __atomic_load_n(&w->peer, __ATOMIC_RELAXED),
             (unsigned long long)__atomic_load_n(&w->bytes, __ATOMIC_RELAXED));
}

/* The sum of the heartbeats of the peers in this process that keep us waiting.
 */
static uint32_t
peers_heartbeats(const rlf_comm *comm, const rlf_batch *b)
{
    const rlf_comm_world *world = comm->world;
    uint32_t sum = 0;
    for (size_t i = 0; i < b->n; i++) {
        const rlf_request *r = &b->requests[i];
        if (!r->finished && r->channel)
            sum +=
                __atomic_load_n(&world->ends[r->peer % world->local]->heartbeat,
                                __ATOMIC_RELAXED);
    }
    return sum;
}

static rlf_status
too_long(rlf_comm *comm, rlf_err *err)
{
    char text[256];
    rlf_comm_waits(comm, text, sizeof text);
    rlf_fail(err, RLF_ENV, "%s, longer than the limit of %g s", text,
             comm->world->options.limit);
    rlf_err_hint(err, "see what that rank was doing; if it was working, raise "
                      "the limit");
    return rlf_comm_give_up(comm, err);
}

/* Nothing is done yet: one pause, or the end of patience. */
typedef struct patience {
    uint64_t idle, moved; /* since when; n_moved then */
    uint32_t heartbeats;
    bool over; /* the limit was over; what had come meanwhile is looked at */
} patience;

static rlf_status
be_patient(rlf_comm *comm, const rlf_batch *b, uint32_t bell, patience *p,
           rlf_err *err)
{
    uint64_t now = rlf_clock_now();
    if (!p->idle || p->moved != comm->n_moved) {
        *p = (patience){now, comm->n_moved, peers_heartbeats(comm, b), false};
        waiting_set(comm, b);
    }
    uint64_t limit = (uint64_t)(comm->world->options.limit * 1e9);
    uint64_t left = RLF_FOREVER;
    if (limit) {
        uint64_t gone = now - p->idle;
        uint32_t heartbeats =
            gone < limit ? p->heartbeats : peers_heartbeats(comm, b);
        if (heartbeats != p->heartbeats) {
            p->idle = now;
            p->heartbeats = heartbeats;
            p->over = false;
            gone = 0;
        }
        if (gone >= limit && p->over)
            return too_long(comm, err);
        /* It may have been this rank that did not run. */
        p->over = gone >= limit;
        if (p->over)
            return RLF_OK;
        left = limit - gone;
    }
    rlf_comm_pause(comm, bell, p->idle, left);
    return RLF_OK;
}

/* Until as many requests are over as *open counts. */
static rlf_status
wait_for(rlf_comm *comm, rlf_batch *b, const size_t *open, rlf_err *err)
{
    patience p = {0};
    for (;;) {
        uint32_t bell = rlf_futex_get(&comm->bell);
        if (rlf_world_aborted(comm->world))
            return rlf_comm_give_up(comm, err);
        if (rlf_comm_progress(comm, err) < 0)
            return rlf_comm_give_up(comm, err);
        if (!*open)
            return RLF_OK;
        RLF_TRY(be_patient(comm, b, bell, &p, err));
    }
}

rlf_status
rlf_batch_wait(rlf_batch **batch, rlf_err *err)
{
    rlf_batch *b = *batch;
    *batch = NULL;
    rlf_status status = wait_for(b->comm, b, &b->left, err);
    waiting_set(b->comm, NULL);
    batch_release(b);
    return status;
}

rlf_status
rlf_batch_borrow(rlf_group *group, rlf_comm_kind kind, const rlf_part *sends,
                 int n_sends, rlf_part *receives, int n_receives,
                 rlf_batch **out, rlf_err *err)
{
    rlf_batch *b;
    RLF_ASSERT(group->one_process);
    RLF_TRY(batch_begin(group, kind, 0, sends, n_sends, receives, n_receives,
                        true, &b, err));
    *out = b;
    rlf_status status = wait_for(b->comm, b, &b->receiving, err);
    waiting_set(b->comm, NULL);
    if (status < 0) {
        batch_release(b);
        return status;
    }
    for (int i = 0; i < n_receives; i++)
        receives[i].data = b->requests[i].data;
    return RLF_OK;
}

rlf_status
rlf_batch_return(rlf_batch **batch, rlf_err *err)
{
    rlf_batch *b = *batch;
    for (size_t i = 0; i < b->n; i++)
        if (b->requests[i].borrow)
            rlf_channel_return(b->comm, &b->requests[i]);
    return rlf_batch_wait(batch, err);
}

rlf_status
rlf_batch_test(rlf_batch **batch, rlf_err *err)
{
    rlf_batch *b = *batch;
    rlf_comm *comm = b->comm;
    rlf_status status = RLF_PEER;
    if (!rlf_world_aborted(comm->world))
        status = rlf_comm_progress(comm, err);
    if (status == RLF_OK && b->left)
        return RLF_AGAIN;
    if (status < 0)
        status = rlf_comm_give_up(comm, err);
    *batch = NULL;
    batch_release(b);
    return status;
}

rlf_status
rlf_batch_run(rlf_group *group, rlf_comm_kind kind, const rlf_part *sends,
              int n_sends, const rlf_part *receives, int n_receives,
              rlf_err *err)
{
    rlf_batch *batch;
    RLF_TRY(rlf_batch_begin(group, kind, 0, sends, n_sends, receives,
                            n_receives, &batch, err));
    return rlf_batch_wait(&batch, err);
}

rlf_status
rlf_group_exchange(rlf_group *group, int tag, const rlf_part *sends,
                   int n_sends, const rlf_part *receives, int n_receives,
                   rlf_err *err)
{
    rlf_batch *batch;
    RLF_TRY(rlf_group_start(group, tag, sends, n_sends, receives, n_receives,
                            &batch, err));
    return rlf_batch_wait(&batch, err);
}

rlf_status
rlf_group_exchange_strided(rlf_group *group, int tag,
                           const rlf_strided_message *sends, int n_sends,
                           const rlf_strided_message *receives, int n_receives,
                           rlf_err *err)
{
    rlf_comm *comm = group->comm;
    RLF_ASSERT(tag >= 0 && tag <= RLF_TAG_LAST);
    if (rlf_world_aborted(comm->world))
        return rlf_comm_give_up(comm, err);
    rlf_batch *b = batch_take(comm, (size_t)n_sends + (size_t)n_receives);
    b->kind = RLF_KIND_BATCH;
    requests_fill_strided(group, b, 0, tag, false, receives, n_receives);
    requests_fill_strided(group, b, (size_t)n_receives, tag, true, sends,
                          n_sends);
    RLF_TRY(batch_start(b, &b, err));
    return rlf_batch_wait(&b, err);
}
