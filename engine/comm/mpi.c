/* Ranks of other processes, over MPI: the one file that is compiled with it.
 *
 * MPI_Init and MPI_Finalize apart, no call here blocks: everything is started
 * and tested. MPI_THREAD_SERIALIZED: one lock a process around every call. Who
 * holds it looks at the abort word first, so after an abort nothing enters MPI
 * any more, and taking the lock once is enough to know that this process moves
 * no data. A message's MPI tag says which rank of the one process sends to
 * which rank of the other.
 *
 * MPI moves long messages only inside its calls. So that they go on while ranks
 * compute, a thread, the mover, looks in from time to time, as long as a batch
 * is under way that nobody has waited for. */
#include "engine/base/clock.h"
#include "engine/comm/internal.h"

#include <mpi.h>
#include <sched.h>
#include <signal.h>

/* The mover naps for so long. */
#define MOVER_NS 200000

/* MPI counts in int: longer messages go in pieces. */
#define PIECE ((size_t)1 << 30)

typedef struct mpi_world {
    pthread_mutex_t lock;
    bool ours; /* MPI was started here */
    int n;     /* pieces under way, of all ranks of the process */
    bool moving, ending;
    rlf_futex bell; /* of the mover */
    pthread_t mover;
} mpi_world;

/* The requests that one rank has under way, as parallel arrays [n]. */
typedef struct mpi_end {
    int n, room;
    MPI_Request *requests;
    rlf_request **owners;
    size_t *bytes; /* of the piece */
    int *done;
    MPI_Status *statuses;
} mpi_end;

static rlf_status
mpi_failed(int code, const char *doing, rlf_err *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    MPI_Error_string(code, text, &n);
    return rlf_fail(err, RLF_ENV, "MPI fails in %s: %s", doing, text);
}

/* ---- the mover ---- */

/* Something that a rank has under way, or MPI_REQUEST_NULL. */
static MPI_Request
any_request(const rlf_comm_world *world)
{
    for (int i = 0; i < world->local; i++) {
        const mpi_end *end = world->ends[i]->remote;
        if (end && end->n)
            return end->requests[0];
    }
    return MPI_REQUEST_NULL;
}

/* Is there anything under way? Then MPI has had a look at it; to find out how a
 * request stands changes nothing about it. */
static bool
move_on(rlf_comm_world *world)
{
    mpi_world *m = world->remote;
    pthread_mutex_lock(&m->lock);
    bool any = m->n && !rlf_world_aborted(world);
    MPI_Request request = any ? any_request(world) : MPI_REQUEST_NULL;
    int done;
    if (request != MPI_REQUEST_NULL)
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&m->lock);
    return any;
}

static void *
mover_main(void *arg)
{
    rlf_comm_world *world = arg;
    mpi_world *m = world->remote;
    while (!__atomic_load_n(&m->ending, __ATOMIC_ACQUIRE)) {
        uint32_t bell = rlf_futex_get(&m->bell);
        rlf_futex_wait(&m->bell, bell, false,
                       move_on(world) ? MOVER_NS : RLF_FOREVER);
    }
    return NULL;
}

/* There is something that may have nobody waiting for it. Without the thread it
 * only moves later. */
static void
mover_wake(rlf_comm_world *world)
{
    mpi_world *m = world->remote;
    sigset_t all, old;
    if (m->moving) {
        rlf_futex_ring(&m->bell);
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    m->moving = pthread_create(&m->mover, NULL, mover_main, world) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void
mover_end(mpi_world *m)
{
    __atomic_store_n(&m->ending, true, __ATOMIC_RELEASE);
    rlf_futex_ring(&m->bell);
    if (m->moving)
        pthread_join(m->mover, NULL);
}

/* ---- processes ---- */

static rlf_status
check_tags(const rlf_comm_world *world, rlf_err *err)
{
    int *most = NULL, found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    int64_t have = found ? *most : 32767, local = world->local;
    if (have >= RLF_TAGS * local * local)
        return RLF_OK;
    return rlf_fail(err, RLF_ENV,
                    "this MPI has %lld tags, too few for %d ranks a process; "
                    "use more processes with fewer ranks each",
                    (long long)have, world->local);
}

static rlf_status
mpi_open(rlf_comm_world *world, rlf_err *err)
{
    int started = 0, level = MPI_THREAD_SERIALIZED;
    MPI_Initialized(&started);
    if (started)
        MPI_Query_thread(&level);
    else if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) !=
             MPI_SUCCESS)
        return rlf_fail(err, RLF_ENV, "MPI does not start");
    mpi_world *m = rlf_calloc(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->ours = !started;
    world->remote = m;
    if (level < MPI_THREAD_SERIALIZED)
        return rlf_fail(err, RLF_ENV,
                        "this MPI was built without support for threads");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &world->caps.n_processes);
    MPI_Comm_rank(MPI_COMM_WORLD, &world->process);
    return check_tags(world, err);
}

/* The processes meet: requests[2 p] receives from process p, [2 p + 1] sends to
 * it. */
typedef struct meeting {
    rlf_comm_world *world;
    int n;
    MPI_Request *requests;
    int *done; /* which of them */
    MPI_Status *statuses;
} meeting;

/* RLF_ENV, naming the first process that has said nothing. */
static rlf_status
nobody_comes(meeting *m, double seconds, rlf_err *err)
{
    int missing = 0;
    while (missing < m->n - 1 && m->requests[2 * missing] == MPI_REQUEST_NULL)
        missing++;
    for (int i = 0; i < 2 * m->n; i++)
        if (m->requests[i] != MPI_REQUEST_NULL)
            MPI_Cancel(&m->requests[i]); /* its buffer goes */
    rlf_fail(err, RLF_ENV,
             "for %g s process %d, which has started, has not said where it is",
             seconds, missing);
    err->rank = missing * m->world->local;
    rlf_err_hint(err, "see whether it is stopped or its machine hangs; if it "
                      "is only slow, give more seconds by --patience");
    return RLF_ENV;
}

/* So many seconds after the last sign of another process the wait for the next
 * one leaves the core to others, so many nanoseconds at a time. */
#define AWAKE 0.02
#define NAP_NS 1000000

/* Until all requests are done; while none is for the world's `silence`,
 * somebody will not come. */
static rlf_status
await_all(meeting *m, rlf_err *err)
{
    double most = m->world->options.silence;
    uint64_t from = rlf_clock_now();
    for (;;) {
        int n_done;
        int code =
            MPI_Testsome(2 * m->n, m->requests, &n_done, m->done, m->statuses);
        if (code != MPI_SUCCESS)
            return mpi_failed(code, "meeting the others", err);
        if (n_done == MPI_UNDEFINED) /* none is left */
            return RLF_OK;
        if (n_done)
            from = rlf_clock_now();
        double gone = rlf_clock_since(from);
        if (most > 0 && gone > most)
            return nobody_comes(m, most, err);
        if (gone < AWAKE)
            sched_yield();
        else
            rlf_clock_sleep(NAP_NS);
    }
}

static rlf_status
mpi_share(rlf_comm_world *world, const void *mine, size_t bytes, void *all,
          rlf_err *err)
{
    int n = world->caps.n_processes, code = MPI_SUCCESS;
    size_t room = 2 * (size_t)n;
    meeting m = {.world = world,
                 .n = n,
                 .requests = rlf_calloc(room, sizeof *m.requests),
                 .done = rlf_calloc(room, sizeof *m.done),
                 .statuses = rlf_calloc(room, sizeof *m.statuses)};
    for (size_t i = 0; i < room; i++)
        m.requests[i] = MPI_REQUEST_NULL;
    for (int p = 0; p < n && code == MPI_SUCCESS; p++) {
        char *to = (char *)all + (size_t)p * bytes;
        if (p == world->process) {
            memcpy(to, mine, bytes);
            continue;
        }
        code = MPI_Irecv(to, (int)bytes, MPI_BYTE, p, 0, MPI_COMM_WORLD,
                         &m.requests[2 * p]);
        if (code == MPI_SUCCESS)
            code = MPI_Isend(mine, (int)bytes, MPI_BYTE, p, 0, MPI_COMM_WORLD,
                             &m.requests[2 * p + 1]);
    }
    rlf_status status = code == MPI_SUCCESS
                            ? await_all(&m, err)
                            : mpi_failed(code, "meeting the others", err);
    free(m.requests);
    free(m.done);
    free(m.statuses);
    return status;
}

static void
mpi_close(rlf_comm_world *world, bool good)
{
    mpi_world *m = world->remote;
    mover_end(m);
    if (good && m->ours)
        MPI_Finalize();
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void
mpi_kill(rlf_comm_world *world, int exit_status)
{
    (void)world;
    MPI_Abort(MPI_COMM_WORLD, exit_status);
}

static void
mpi_end_open(rlf_comm *comm)
{
    comm->remote = rlf_calloc(1, sizeof(mpi_end));
}

static void
mpi_end_close(rlf_comm *comm)
{
    mpi_end *end = comm->remote;
    free(end->requests);
    free(end->owners);
    free(end->bytes);
    free(end->done);
    free(end->statuses);
    free(end);
    comm->remote = NULL;
}

static rlf_status
enter(rlf_comm *comm)
{
    mpi_world *m = comm->world->remote;
    pthread_mutex_lock(&m->lock);
    if (!rlf_world_aborted(comm->world))
        return RLF_OK;
    pthread_mutex_unlock(&m->lock);
    return RLF_PEER;
}

static void
leave(rlf_comm *comm)
{
    mpi_world *m = comm->world->remote;
    pthread_mutex_unlock(&m->lock);
}

static void
end_grow(mpi_end *end)
{
    if (end->n < end->room)
        return;
    end->room = end->room ? 2 * end->room : 32;
    size_t n = (size_t)end->room;
    end->requests = rlf_realloc(end->requests, n * sizeof *end->requests);
    end->owners = rlf_realloc(end->owners, n * sizeof *end->owners);
    end->bytes = rlf_realloc(end->bytes, n * sizeof *end->bytes);
    end->done = rlf_realloc(end->done, n * sizeof *end->done);
    end->statuses = rlf_realloc(end->statuses, n * sizeof *end->statuses);
}

static int
mpi_tag(const rlf_comm_world *world, const rlf_comm *comm, const rlf_request *r)
{
    int me = comm->index, other = r->peer % world->local;
    int from = r->send ? me : other, to = r->send ? other : me;
    return (r->tag * world->local + from) * world->local + to;
}

static rlf_status
mpi_start(rlf_comm *comm, rlf_request *r, rlf_err *err)
{
    rlf_comm_world *world = comm->world;
    mpi_world *m = world->remote;
    mpi_end *end = comm->remote;
    int process = rlf_process_of(world, r->peer);
    int tag = mpi_tag(world, comm, r), code = MPI_SUCCESS;
    size_t at = 0;
    RLF_TRY(enter(comm));
    do {
        size_t n = r->bytes - at < PIECE ? r->bytes - at : PIECE;
        end_grow(end);
        MPI_Request *request = &end->requests[end->n];
        if (r->send)
            code = MPI_Isend(r->data + at, (int)n, MPI_BYTE, process, tag,
                             MPI_COMM_WORLD, request);
        else
            code = MPI_Irecv(r->data + at, (int)n, MPI_BYTE, process, tag,
                             MPI_COMM_WORLD, request);
        end->owners[end->n] = r;
        end->bytes[end->n] = n;
        end->n += code == MPI_SUCCESS;
        m->n += code == MPI_SUCCESS;
        r->n_pieces += code == MPI_SUCCESS;
        at += n;
    } while (at < r->bytes && code == MPI_SUCCESS);
    if (r->batch->kind == RLF_KIND_BATCH)
        mover_wake(world);
    leave(comm);
    if (code != MPI_SUCCESS)
        return mpi_failed(code, rlf_kind_names[r->batch->kind], err);
    return RLF_OK;
}

/* A piece has come or gone; it must have had the length that was agreed. */
static rlf_status
piece_done(rlf_comm *comm, int at, MPI_Status *status, rlf_err *err)
{
    mpi_end *end = comm->remote;
    rlf_request *r = end->owners[at];
    int count = 0;
    if (!r->send)
        MPI_Get_count(status, MPI_BYTE, &count);
    if (!r->send && (size_t)count != end->bytes[at])
        return rlf_fail(
            err, RLF_BUG,
            "rank %d sends %d bytes in %s where rank %d expects %zu", r->peer,
            count, rlf_kind_names[r->batch->kind], comm->rank, end->bytes[at]);
    end->owners[at] = NULL;
    if (--r->n_pieces == 0)
        rlf_request_finish(comm, r);
    return RLF_OK;
}

static rlf_status
test_all(rlf_comm *comm, rlf_err *err)
{
    mpi_end *end = comm->remote;
    int n_done = 0;
    int code =
        MPI_Testsome(end->n, end->requests, &n_done, end->done, end->statuses);
    if (code != MPI_SUCCESS) {
        int kind = MPI_SUCCESS;
        for (int i = 0; code == MPI_ERR_IN_STATUS && i < n_done; i++)
            if (end->statuses[i].MPI_ERROR != MPI_SUCCESS)
                kind = end->statuses[i].MPI_ERROR;
        return mpi_failed(kind != MPI_SUCCESS ? kind : code,
                          "a test of what "
                          "is under way",
                          err);
    }
    if (n_done == MPI_UNDEFINED || n_done == 0)
        return RLF_OK;
    for (int i = 0; i < n_done; i++)
        RLF_TRY(piece_done(comm, end->done[i], &end->statuses[i], err));
    int kept = 0;
    for (int i = 0; i < end->n; i++)
        if (end->owners[i]) {
            end->requests[kept] = end->requests[i];
            end->owners[kept] = end->owners[i];
            end->bytes[kept++] = end->bytes[i];
        }
    ((mpi_world *)comm->world->remote)->n -= end->n - kept;
    end->n = kept;
    return RLF_OK;
}

static rlf_status
mpi_progress(rlf_comm *comm, rlf_err *err)
{
    RLF_TRY(enter(comm));
    rlf_status status = test_all(comm, err);
    leave(comm);
    return status;
}

static void
mpi_stop(rlf_comm_world *world)
{
    mpi_world *m = world->remote;
    pthread_mutex_lock(&m->lock); /* nobody is inside */
    pthread_mutex_unlock(&m->lock);
}

static void
mpi_cancel(rlf_comm *comm)
{
    ((mpi_end *)comm->remote)->n = 0;
}

extern const rlf_comm_backend rlf_comm_mpi; /* a row of backend.def */
const rlf_comm_backend rlf_comm_mpi = {
    .name = "mpi",
    .doc = "ranks are threads of processes that MPI started",
    .open = mpi_open,
    .share = mpi_share,
    .close = mpi_close,
    .kill = mpi_kill,
    .end_open = mpi_end_open,
    .end_close = mpi_end_close,
    .start = mpi_start,
    .progress = mpi_progress,
    .stop = mpi_stop,
    .cancel = mpi_cancel,
};
