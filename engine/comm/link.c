/* The control channel between processes: TCP, a star around process 0.
 *
 * Each process has one thread that sleeps in poll() and handles what arrives:
 * mail is put into its box or passed on, an abort sets the abort word, and an
 * end that closes without a good-bye means that its process died. Sending never
 * blocks: what a socket does not take is kept, and the reader sends it on.
 *
 * After an abort each process says to process 0 when it moves no data any more,
 * and process 0 says to all when none does: then buffers may be freed, also
 * those that another process was reading. */
#define _GNU_SOURCE
#include "engine/comm/link.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

typedef enum frame_kind {
    FRAME_MAIL = 1,
    FRAME_ABORT,
    FRAME_STOPPED, /* to process 0: this one has; from it: all have */
    FRAME_BYE,
    FRAME_HEARTBEAT /* a sign of life; to process 0 also how far the sender's
                  ranks are, from it how far the controller is */
} frame_kind;

#define STOP_NS 5000000000u
#define HEARTBEAT_NS 1000000000u

/* The contents of a FRAME_HEARTBEAT, behind its head; `from` says which rank it
 * is about. */
typedef struct heartbeat {
    uint32_t all;  /* of all ranks of the process, or of the controller */
    int32_t noted; /* what the process was told, 0: nothing */
    char waits[RLF_WAIT];
} heartbeat;

typedef struct frame {
    uint32_t kind;
    int32_t to, from;
    uint32_t bytes; /* that follow */
} frame;

/* -- sending ------------------------------------------------------------ */

/* Writes as much of `out` as the socket takes now; the lock is held. */
static void
flush(rlf_connection *l)
{
    size_t at = 0;
    while (l->fd >= 0 && at < l->out.n) {
        ssize_t n = send(l->fd, l->out.p + at, l->out.n - at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            at = l->out.n; /* the other end is gone: the reader sees it too */
        if (n < 0)
            break;
        at += (size_t)n;
    }
    if (at) {
        memmove(l->out.p, l->out.p + at, l->out.n - at);
        l->out.n -= at;
    }
}

static void
ring(rlf_connections *links)
{
    uint64_t one = 1;
    /* a counter that is full is readable, which is all that is wanted */
    if (write(links->bell, &one, sizeof one) < 0)
        return;
}

static void
send_frame(rlf_connections *links, rlf_connection *l, frame f,
           const void *bytes)
{
    pthread_mutex_lock(&l->lock);
    rlf_buf_add(&l->out, &f, sizeof f);
    if (f.bytes)
        rlf_buf_add(&l->out, bytes, f.bytes);
    flush(l);
    bool left = l->out.n > 0;
    pthread_mutex_unlock(&l->lock);
    if (left)
        ring(links);
}

void
rlf_connections_mail(rlf_connections *links, int to, int from,
                     const void *message, size_t bytes)
{
    const rlf_comm_world *world = links->world;
    int process = to == RLF_CONTROLLER ? 0 : rlf_process_of(world, to);
    rlf_connection *l = &links->links[0]; /* process 0 passes it on */
    for (int i = 0; i < links->n; i++)
        if (links->links[i].process == process)
            l = &links->links[i];
    frame f = {FRAME_MAIL, to, from, (uint32_t)bytes};
    send_frame(links, l, f, message);
}

void
rlf_connections_abort(rlf_connections *links, const rlf_err *cause, int lost,
                      bool gone)
{
    frame f = {
        .kind = FRAME_ABORT, .to = gone, .from = lost, .bytes = sizeof *cause};
    for (int i = 0; i < links->n; i++)
        send_frame(links, &links->links[i], f, cause);
    ring(links);
}

/* -- stopping after an abort --------------------------------------------- */

/* The reader's turn: stop here, then tell, or count who has. */
static void
stop_data(rlf_connections *links)
{
    rlf_comm_world *world = links->world;
    frame f = {.kind = FRAME_STOPPED};
    if (!rlf_world_aborted(world) || rlf_futex_get(&links->stopped))
        return;
    if (!links->stopped_here) {
        world->options.backend->stop(world);
        links->stopped_here = true;
        if (world->process != 0)
            send_frame(links, &links->links[0], f, NULL);
    }
    for (int i = 0; i < links->n; i++)
        if (!links->links[i].stopped)
            return;
    for (int i = 0; i < links->n && world->process == 0; i++)
        send_frame(links, &links->links[i], f, NULL);
    rlf_futex_ring(&links->stopped);
}

void
rlf_connections_wait_stopped(rlf_connections *links)
{
    rlf_futex_wait(&links->stopped, 0, false, STOP_NS);
}

/* -- heartbeats ---------------------------------------------------------- */

/* So often processes give a sign of life: about once a second, several times
 * within the silence that ends the run. */
static uint64_t
heartbeat_ns(const rlf_connections *links)
{
    double most = links->world->options.silence * 1e9 / 4;
    return most > 0 && most < (double)HEARTBEAT_NS ? (uint64_t)most
                                                   : HEARTBEAT_NS;
}

/* Sends process 0 how far the ranks of this process are, and what they wait
 * for. */
static void
tell_process_0(rlf_connections *links)
{
    rlf_comm_world *world = links->world;
    heartbeat b = {.noted = __atomic_load_n(&world->noted, __ATOMIC_RELAXED)};
    for (int i = 0; i < world->local; i++)
        b.all += __atomic_load_n(&world->ends[i]->heartbeat, __ATOMIC_RELAXED);
    for (int i = 0; i < world->local; i++) {
        frame f = {.kind = FRAME_HEARTBEAT,
                   .from = world->ends[i]->rank,
                   .bytes = sizeof b};
        rlf_comm_waits(world->ends[i], b.waits, sizeof b.waits);
        send_frame(links, &links->links[0], f, &b);
    }
}

void
rlf_connections_tell(rlf_connections *links)
{
    const rlf_comm_world *world = links->world;
    heartbeat b = {
        .all = __atomic_load_n(&world->controller->heartbeat, __ATOMIC_RELAXED),
        .noted = __atomic_load_n(&world->noted, __ATOMIC_RELAXED)};
    frame f = {
        .kind = FRAME_HEARTBEAT, .from = RLF_CONTROLLER, .bytes = sizeof b};
    for (int i = 0; i < links->n; i++)
        send_frame(links, &links->links[i], f, &b);
}

/* The reader's turn. */
static void
send_heartbeats(rlf_connections *links)
{
    uint64_t now = rlf_clock_now();
    if (now - links->told < heartbeat_ns(links))
        return;
    links->told = now;
    if (links->world->process > 0)
        tell_process_0(links);
    else
        rlf_connections_tell(links);
}

static void
handle_heartbeat(rlf_connections *links, rlf_connection *l, const frame *f,
                 const void *bytes)
{
    int index = f->from - l->process * links->world->local;
    heartbeat b;
    memcpy(&b, bytes, sizeof b);
    rlf_comm_world *world = links->world;
    if (b.noted)
        __atomic_store_n(&world->told, b.noted, __ATOMIC_RELAXED);
    if (b.noted && world->process == 0 &&
        __atomic_load_n(&world->relays, __ATOMIC_RELAXED))
        rlf_comm_world_note(world, b.noted);
    if (f->from == RLF_CONTROLLER)
        __atomic_store_n(&l->controller, b.all, __ATOMIC_RELAXED);
    if (index < 0 || index >= links->world->local)
        return;
    b.waits[RLF_WAIT - 1] = 0;
    pthread_mutex_lock(&l->lock);
    l->heartbeats = b.all;
    memcpy(l->waits[index], b.waits, RLF_WAIT);
    pthread_mutex_unlock(&l->lock);
}

uint64_t
rlf_connections_heartbeats(rlf_connections *links)
{
    uint64_t sum = 0;
    for (int i = 0; i < links->n; i++) {
        pthread_mutex_lock(&links->links[i].lock);
        sum += links->links[i].heartbeats;
        pthread_mutex_unlock(&links->links[i].lock);
    }
    return sum;
}

uint32_t
rlf_connections_controller_heartbeats(rlf_connections *links)
{
    return __atomic_load_n(&links->links[0].controller, __ATOMIC_RELAXED);
}

void
rlf_connections_waits(rlf_connections *links, int rank, char *text, size_t room)
{
    int local = links->world->local;
    *text = 0;
    for (int i = 0; i < links->n; i++) {
        rlf_connection *l = &links->links[i];
        if (l->process != rank / local)
            continue;
        pthread_mutex_lock(&l->lock);
        snprintf(text, room, "%s", l->waits[rank % local]);
        pthread_mutex_unlock(&l->lock);
    }
}

/* -- receiving ---------------------------------------------------------- */

static void
bad_frame(rlf_connections *links, const rlf_connection *l)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_fail(&err, RLF_BUG, "process %d sends what is no message of rlflow",
             l->process);
    rlf_comm_abort(links->world, &err);
}

static void
handle_mail(rlf_connections *links, const rlf_connection *l, const frame *f,
            const void *bytes)
{
    rlf_comm_world *world = links->world;
    if (f->to < RLF_CONTROLLER || f->to >= world->size ||
        f->bytes > world->options.mail_bytes) {
        bad_frame(links, l);
        return;
    }
    int process = f->to == RLF_CONTROLLER ? 0 : rlf_process_of(world, f->to);
    if (process != world->process) {
        rlf_connections_mail(links, f->to, f->from, bytes, f->bytes);
        return;
    }
    rlf_err err = RLF_ERR_NONE;
    if (rlf_mail_deliver(world, f->to, f->from, bytes, f->bytes, &err) < 0)
        rlf_comm_abort(world, &err);
}

static void
handle(rlf_connections *links, rlf_connection *l, const frame *f,
       const void *bytes)
{
    rlf_err err = RLF_ERR_NONE;
    switch (f->kind) {
    case FRAME_MAIL:
        handle_mail(links, l, f, bytes);
        break;
    case FRAME_ABORT:
        memcpy(&err, bytes, sizeof err);
        rlf_world_lose(links->world, f->from, f->to, &err);
        break;
    case FRAME_STOPPED:
        l->stopped = true;
        break;
    case FRAME_BYE:
        l->bye = true;
        break;
    case FRAME_HEARTBEAT:
        handle_heartbeat(links, l, f, bytes);
        break;
    }
}

static bool
frame_fits(const rlf_connections *links, const frame *f)
{
    size_t most = links->world->options.mail_bytes;
    return (f->kind == FRAME_MAIL && f->bytes <= most) ||
           (f->kind == FRAME_ABORT && f->bytes == sizeof(rlf_err)) ||
           (f->kind == FRAME_HEARTBEAT && f->bytes == sizeof(heartbeat)) ||
           ((f->kind == FRAME_STOPPED || f->kind == FRAME_BYE) &&
            f->bytes == 0);
}

/* All whole frames of `in`; false when it holds something else. */
static bool
handle_frames(rlf_connections *links, rlf_connection *l)
{
    size_t at = 0;
    frame f;
    while (l->in.n - at >= sizeof f) {
        memcpy(&f, l->in.p + at, sizeof f);
        if (!frame_fits(links, &f))
            return false;
        if (l->in.n - at < sizeof f + f.bytes)
            break;
        handle(links, l, &f, l->in.p + at + sizeof f);
        at += sizeof f + f.bytes;
    }
    if (at) {
        memmove(l->in.p, l->in.p + at, l->in.n - at);
        l->in.n -= at;
    }
    return true;
}

/* Of the process at the other end no more will come, since it is gone or does
 * not move: `how` says it. */
static void
lose(rlf_connections *links, rlf_connection *l, bool gone, const char *how)
{
    rlf_comm_world *world = links->world;
    const rlf_comm_options *o = &world->options;
    if (rlf_world_aborted(world))
        return;
    if (o->lost)
        o->lost(o->sink, world, l->process);
    int first = l->process * world->local;
    rlf_err err = RLF_ERR_NONE;
    if (world->local == 1)
        rlf_fail(&err, RLF_PEER, "process %d (rank %d) %s", l->process, first,
                 how);
    else
        rlf_fail(&err, RLF_PEER, "process %d (ranks %d to %d) %s", l->process,
                 first, first + world->local - 1, how);
    err.rank = first;
    rlf_world_lose(world, l->process, gone, &err);
}

/* The other end closed. */
static void
link_lost(rlf_connections *links, rlf_connection *l)
{
    pthread_mutex_lock(&l->lock);
    close(l->fd);
    l->fd = -1;
    l->stopped = true;
    pthread_mutex_unlock(&l->lock);
    if (!l->bye && !__atomic_load_n(&links->leaving, __ATOMIC_ACQUIRE))
        lose(links, l, true, "is gone: it died or was killed");
}

uint32_t
rlf_connections_pauses(rlf_connections *links)
{
    return __atomic_load_n(&links->pauses, __ATOMIC_RELAXED);
}

double
rlf_connections_silence(rlf_connections *links, int process)
{
    for (int i = 0; i < links->n; i++)
        if (links->links[i].process == process)
            return (double)__atomic_load_n(&links->links[i].silent,
                                           __ATOMIC_RELAXED) /
                   1e9;
    return 0;
}

/* A process that is stopped does not close its connections. Process 0 takes
 * more time than the others, since its controller knows better which rank keeps
 * the run from going on. Time in which this process was itself stopped does not
 * count. */
static void
watch(rlf_connections *links)
{
    const rlf_comm_world *world = links->world;
    double limit = world->options.silence;
    if (world->process == 0)
        limit = 1.5 * limit + 1;
    uint64_t now = rlf_clock_now(), gone = now - links->watched;
    links->watched = now;
    if (gone > 2 * heartbeat_ns(links)) {
        gone = 2 * heartbeat_ns(links);
        __atomic_fetch_add(&links->pauses, 1, __ATOMIC_RELAXED);
    }
    for (int i = 0; i < links->n && world->options.silence > 0; i++) {
        rlf_connection *l = &links->links[i];
        uint64_t silent =
            __atomic_add_fetch(&l->silent, gone, __ATOMIC_RELAXED);
        if (l->fd < 0 || l->bye || (double)silent < limit * 1e9 ||
            __atomic_load_n(&links->leaving, __ATOMIC_ACQUIRE))
            continue;
        char how[96];
        snprintf(how, sizeof how,
                 "does not respond for %g s: it was stopped, or its "
                 "machine hangs",
                 limit);
        l->stopped = true;
        lose(links, l, false, how);
    }
}

static void
link_read(rlf_connections *links, rlf_connection *l)
{
    char bytes[16384];
    for (;;) {
        ssize_t n = recv(l->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            link_lost(links, l);
            return;
        }
        __atomic_store_n(&l->silent, 0, __ATOMIC_RELAXED);
        rlf_buf_add(&l->in, bytes, (size_t)n);
        if (!handle_frames(links, l)) {
            bad_frame(links, l);
            link_lost(links, l);
            return;
        }
    }
}

/* Is there anything left to wait for? */
static bool
all_left(rlf_connections *links)
{
    uint32_t leaving = __atomic_load_n(&links->leaving, __ATOMIC_ACQUIRE);
    bool open = false;
    for (int i = 0; i < links->n; i++) {
        rlf_connection *l = &links->links[i];
        pthread_mutex_lock(&l->lock);
        open |= l->fd >= 0 && (!l->bye || l->out.n);
        pthread_mutex_unlock(&l->lock);
    }
    return leaving == 2 || (leaving == 1 && !open);
}

static void *
reader_main(void *arg)
{
    rlf_connections *links = arg;
    struct pollfd *wait = rlf_calloc((size_t)links->n + 1, sizeof *wait);
    links->watched = rlf_clock_now();
    while (!all_left(links)) {
        wait[0] = (struct pollfd){.fd = links->bell, .events = POLLIN};
        for (int i = 0; i < links->n; i++) {
            rlf_connection *l = &links->links[i];
            pthread_mutex_lock(&l->lock);
            short events = (short)(POLLIN | (l->out.n ? POLLOUT : 0));
            pthread_mutex_unlock(&l->lock);
            wait[i + 1] = (struct pollfd){.fd = l->fd, .events = events};
        }
        int ms = (int)(heartbeat_ns(links) / 1000000) + 1;
        if (poll(wait, (nfds_t)links->n + 1, ms) < 0)
            continue;
        send_heartbeats(links);
        uint64_t count;
        if (wait[0].revents &&
            read(links->bell, &count, sizeof count) != sizeof count)
            continue;
        for (int i = 0; i < links->n; i++) {
            rlf_connection *l = &links->links[i];
            if (wait[i + 1].revents & POLLOUT) {
                pthread_mutex_lock(&l->lock);
                flush(l);
                pthread_mutex_unlock(&l->lock);
            }
            if (wait[i + 1].revents & (POLLIN | POLLHUP | POLLERR))
                link_read(links, l);
        }
        watch(links);
        stop_data(links);
    }
    free(wait);
    return NULL;
}

/* -- opening and closing ------------------------------------------------ */

rlf_status
rlf_connections_open(rlf_comm_world *world, rlf_err *err)
{
    rlf_connections *links = world->links = rlf_calloc(1, sizeof *links);
    links->world = world;
    links->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (links->bell < 0)
        return rlf_fail_errno(err, "cannot make an eventfd");
    rlf_status status = rlf_connections_meet(links, err);
    for (int i = 0; i < links->n; i++) {
        pthread_mutex_init(&links->links[i].lock, NULL);
        links->links[i].waits =
            rlf_calloc((size_t)world->local, sizeof *links->links[i].waits);
    }
    RLF_TRY(status);
    /* signals are the business of the program's own threads */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&links->reader, NULL, reader_main, links);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed) {
        errno = failed;
        return rlf_fail_errno(err, "cannot start the thread of the control "
                                   "channel");
    }
    links->started = true;
    return RLF_OK;
}

void
rlf_connections_close(rlf_comm_world *world, bool good)
{
    rlf_connections *links = world->links;
    if (!links)
        return;
    if (good)
        for (int i = 0; i < links->n; i++)
            send_frame(links, &links->links[i], (frame){.kind = FRAME_BYE},
                       NULL);
    if (links->started && rlf_world_aborted(world))
        rlf_connections_wait_stopped(links);
    __atomic_store_n(&links->leaving, good ? 1 : 2, __ATOMIC_RELEASE);
    if (links->started) {
        ring(links);
        pthread_join(links->reader, NULL);
    }
    for (int i = 0; i < links->n; i++) {
        rlf_connection *l = &links->links[i];
        if (l->fd >= 0)
            close(l->fd);
        rlf_buf_free(&l->out);
        rlf_buf_free(&l->in);
        free(l->waits);
        pthread_mutex_destroy(&l->lock);
    }
    if (links->bell >= 0)
        close(links->bell);
    free(links->links);
    free(links);
    world->links = NULL;
}
