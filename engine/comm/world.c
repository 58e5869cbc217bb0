/* Worlds: making and ending them, the ends of their ranks, the abort word. */
#include "engine/base/clock.h"
#include "engine/comm/internal.h"
#include "engine/dev/cores.h"

#include <stdlib.h>
#include <unistd.h>

#define MAIL_SLOTS 64
#define MAIL_BYTES 512

/* Variables that launchers set: this process's number, and that of all. Those
 * of the last one, Slurm alone, say that processes were started, but offer none
 * a way to the others; MPI says what to do then. */
static const struct {
    const char *transport, *process, *size;
} launchers[] = {
#define COMM_LAUNCHER(name, process, size) {#name, process, size},
#include "engine/comm/backend.def"
    {"mpi", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};
enum { ALONE = RLF_COUNT(launchers) - 1 };

static int
number_in(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

/* The row of this process's launcher, or -1. A batch job has numbers of Slurm
 * too; a step of several tasks is what counts. */
static int
find_launcher(void)
{
    for (int i = 0; i < ALONE; i++)
        if (getenv(launchers[i].process))
            return i;
    return getenv(launchers[ALONE].process) &&
                   number_in(launchers[ALONE].size) > 1
               ? ALONE
               : -1;
}

const char *
rlf_comm_launcher(void)
{
    if (find_launcher() < 0)
        return NULL;
    return getenv("SLURM_STEP_ID") ? "srun" : "mpiexec";
}

const char *
rlf_comm_launcher_transport(void)
{
    int i = find_launcher();
    return i < 0 ? NULL : launchers[i].transport;
}

int
rlf_comm_launcher_process(void)
{
    int i = find_launcher();
    return i < 0 ? 0 : number_in(launchers[i].process);
}

int
rlf_comm_launcher_size(void)
{
    int i = find_launcher(), n = i < 0 ? 0 : number_in(launchers[i].size);
    return n > 1 ? n : 1;
}

/* Before MPI starts, which may end a process that cannot find the others. */
static rlf_status
check_way(rlf_err *err)
{
    if (find_launcher() != ALONE)
        return RLF_OK;
    rlf_fail(err, RLF_USAGE,
             "srun started %d processes and gave them no way to find each "
             "other",
             rlf_comm_launcher_size());
    rlf_err_hint(err, "start them with srun --mpi=pmi2 (MPICH) or srun "
                      "--mpi=pmix (Open MPI), or with mpiexec");
    return RLF_USAGE;
}

/* Each process for itself: the launcher belongs to another MPI. */
static rlf_status
check_launcher(const rlf_comm_world *world, rlf_err *err)
{
    int size = rlf_comm_launcher_size();
    if (size < 2 || world->caps.n_processes > 1)
        return RLF_OK;
    if (!world->options.backend) {
        rlf_fail(err, RLF_USAGE,
                 "the launcher started %d processes, and this rlflow was built "
                 "without MPI",
                 size);
        rlf_err_hint(err, "install an MPI (libmpich-dev and mpich, or "
                          "libopenmpi-dev and openmpi-bin), configure and "
                          "build again; on one machine --ranks %d needs none",
                     size);
        return RLF_USAGE;
    }
    rlf_fail(err, RLF_USAGE,
             "the launcher started %d processes that do not know of each "
             "other: it belongs to another MPI than this program",
             size);
    rlf_err_hint(err, "use the launcher of the MPI that configure found "
                      "(mpiexec.openmpi or mpiexec.mpich)");
    return RLF_USAGE;
}

static rlf_status
end_new(rlf_comm_world *world, int rank, int index, rlf_err *err,
        rlf_comm **out)
{
    rlf_comm *comm = *out = rlf_malloc_aligned(sizeof *comm);
    memset(comm, 0, sizeof *comm);
    comm->world = world;
    comm->rank = rank;
    comm->index = index;
    comm->spin = world->caps.spins;
    return rlf_mailbox_open(&comm->mailbox, world->options.mail_slots,
                            world->options.mail_bytes, err);
}

static void
end_free(rlf_comm *comm)
{
    if (!comm)
        return;
    rlf_comm_batches_free(comm);
    rlf_group_free(comm->all);
    rlf_mailbox_close(&comm->mailbox);
    free(comm->staging);
    free(comm);
}

/* The number of threads of the run on this machine decides how they wait. */
static void
choose_wait(rlf_comm_world *world)
{
    int n = world->options.n_run_threads;
    for (int p = 0;
         p < world->caps.n_processes && !world->options.n_run_threads; p++)
        if (world->machine[p] == world->machine[world->process])
            n += world->local;
    int cores = world->n_cores;
    world->caps.n_cores = cores;
    world->caps.spins = n <= cores;
    for (int i = 0; i < world->local; i++)
        world->ends[i]->spin = n <= cores;
    if (world->controller)
        world->controller->spin = n + 1 <= cores;
}

static rlf_status
ends_new(rlf_comm_world *world, rlf_err *err)
{
    world->ends = rlf_calloc((size_t)world->local, sizeof(rlf_comm *));
    int *ranks = rlf_calloc((size_t)world->size, sizeof *ranks);
    for (int i = 0; i < world->size; i++)
        ranks[i] = i;
    rlf_status status = RLF_OK;
    for (int i = 0; i < world->local && status == RLF_OK; i++) {
        int rank = world->process * world->local + i;
        status = end_new(world, rank, i, err, &world->ends[i]);
        if (status < 0) { /* the backend does not know it */
            end_free(world->ends[i]);
            world->ends[i] = NULL;
            break;
        }
        if (world->options.backend)
            world->options.backend->end_open(world->ends[i]);
        status = rlf_group_new(world->ends[i], ranks, world->size,
                               &world->ends[i]->all, err);
    }
    if (status >= 0 && world->process == 0)
        status =
            end_new(world, RLF_CONTROLLER, -1, err, &world->controller);
    free(ranks);
    return status;
}

/* Ranks of each process. */
static rlf_status
share_out(rlf_comm_world *world, rlf_err *err)
{
    int all = world->options.n_all, n = world->caps.n_processes;
    if (all % n != 0) {
        rlf_fail(err, RLF_USAGE,
                 "%d ranks cannot be shared out evenly over %d processes", all,
                 n);
        rlf_err_hint(err,
                     "give a multiple of %d, or start another number of "
                     "processes",
                     n);
        return RLF_USAGE;
    }
    world->local = all ? all / n : world->options.n_ranks;
    RLF_ASSERT(world->local >= 1);
    return rlf_channels_new(world, err);
}

/* The other processes: how many, which is this one, a line to them. */
static rlf_status
meet(rlf_comm_world *world, rlf_err *err)
{
    const rlf_comm_backend *backend = world->options.backend;
    RLF_TRY(check_way(err));
    if (backend) {
        RLF_TRY(backend->open(world, err));
        world->caps.name = backend->name;
        world->caps.doc = backend->doc;
    }
    RLF_TRY(check_launcher(world, err));
    RLF_TRY(share_out(world, err));
    world->size = world->local * world->caps.n_processes;
    world->machine = rlf_calloc((size_t)world->caps.n_processes, sizeof(int));
    RLF_TRY(ends_new(world, err));
    if (backend)
        RLF_TRY(rlf_connections_open(world, err));
    choose_wait(world);
    return RLF_OK;
}

static void
world_end(rlf_comm_world *world, bool good)
{
    const rlf_comm_backend *backend = world->options.backend;
    rlf_connections_close(world, good);
    for (int i = 0; world->ends && i < world->local; i++)
        if (backend && world->ends[i])
            backend->end_close(world->ends[i]);
    if (backend && world->remote)
        backend->close(world, good);
    for (int i = 0; world->ends && i < world->local; i++)
        end_free(world->ends[i]);
    end_free(world->controller);
    rlf_channels_free(world);
    pthread_mutex_destroy(&world->lock);
    free(world->ends);
    free(world->machine);
    free(world);
}

rlf_status
rlf_comm_world_new(const rlf_comm_options *options, rlf_comm_world **out,
                   rlf_err *err)
{
    rlf_comm_world *world = rlf_calloc(1, sizeof *world);
    world->options = *options;
    if (!world->options.mail_slots)
        world->options.mail_slots = MAIL_SLOTS;
    if (!world->options.mail_bytes)
        world->options.mail_bytes = MAIL_BYTES;
    world->n_cores = rlf_cores_count();
    world->lost = -1;
    world->caps = (rlf_comm_caps){.name = "thread",
                                  .doc = "ranks are threads of one process",
                                  .n_processes = 1,
                                  .n_machines = 1,
                                  .eager_bytes = EAGER_BYTES};
    pthread_mutex_init(&world->lock, NULL);
    *out = world;
    rlf_status status = meet(world, err);
    if (status < 0) {
        world_end(world, false);
        *out = NULL;
    }
    return status;
}

/* Nobody leaves before all have come. */
static void
part(rlf_comm_world *world)
{
    int n = world->caps.n_processes;
    int *ranks = rlf_calloc((size_t)n, sizeof *ranks);
    for (int i = 0; i < n; i++)
        ranks[i] = i * world->local;
    rlf_err error = RLF_ERR_NONE;
    rlf_group *group;
    if (rlf_group_new(world->ends[0], ranks, n, &group, &error) == RLF_OK)
        rlf_group_barrier(group, &error);
    rlf_group_free(group);
    free(ranks);
}

void
rlf_comm_world_free(rlf_comm_world *world)
{
    if (!world)
        return;
    if (world->options.backend && !rlf_world_aborted(world))
        part(world);
    world_end(world, !rlf_world_aborted(world));
}

void
rlf_comm_world_kill(rlf_comm_world *world, int exit_status)
{
    /* The launcher ends what is left of a run whose process died: the sooner
     * the others have ended by themselves, the less it waits for them. */
    if (world->gone)
        _exit(exit_status);
    if (world->options.backend)
        world->options.backend->kill(world, exit_status);
}

int
rlf_comm_world_size(const rlf_comm_world *world)
{
    return world->size;
}

int
rlf_comm_world_local(const rlf_comm_world *world)
{
    return world->local;
}

int
rlf_comm_world_process(const rlf_comm_world *world)
{
    return world->process;
}

int
rlf_comm_world_machine(const rlf_comm_world *world, int rank)
{
    return world->machine[rlf_process_of(world, rank)];
}

const rlf_comm_caps *
rlf_comm_world_caps(const rlf_comm_world *world)
{
    return &world->caps;
}

rlf_comm *
rlf_comm_of(rlf_comm_world *world, int index)
{
    return world->ends[index];
}

rlf_comm *
rlf_comm_controller(rlf_comm_world *world)
{
    return world->controller;
}

rlf_comm_world *
rlf_comm_world_of(const rlf_comm *comm)
{
    return comm->world;
}

int
rlf_comm_rank(const rlf_comm *comm)
{
    return comm->rank;
}

int
rlf_comm_size(const rlf_comm *comm)
{
    return comm->world->size;
}

uint64_t
rlf_comm_sent(const rlf_comm *comm)
{
    return comm->n_sent;
}

uint64_t
rlf_comm_met(const rlf_comm *comm)
{
    return comm->n_met;
}

uint64_t
rlf_comm_waited(const rlf_comm *comm)
{
    return comm->waited;
}

void
rlf_comm_label(rlf_comm *comm, const char *node)
{
    __atomic_store_n(&comm->label, node, __ATOMIC_RELAXED);
}

void
rlf_comm_heartbeat(rlf_comm *comm)
{
    if (comm)
        __atomic_fetch_add(&comm->heartbeat, 1, __ATOMIC_RELAXED);
}

uint64_t
rlf_comm_world_heartbeats(const rlf_comm_world *world)
{
    uint64_t sum = world->links ? rlf_connections_heartbeats(world->links) : 0;
    for (int i = 0; i < world->local; i++)
        sum += __atomic_load_n(&world->ends[i]->heartbeat, __ATOMIC_RELAXED);
    return sum;
}

uint32_t
rlf_comm_world_controller_heartbeats(const rlf_comm_world *world)
{
    return world->controller
               ? __atomic_load_n(&world->controller->heartbeat,
                                 __ATOMIC_RELAXED)
               : rlf_connections_controller_heartbeats(world->links);
}

void
rlf_comm_world_waits(const rlf_comm_world *world, int rank, char *text,
                     size_t room)
{
    if (rlf_process_of(world, rank) == world->process)
        rlf_comm_waits(world->ends[rank % world->local], text, room);
    else
        rlf_connections_waits(world->links, rank, text, room);
}

void
rlf_comm_world_note(rlf_comm_world *world, int number)
{
    __atomic_store_n(&world->noted, number, __ATOMIC_RELAXED);
}

void
rlf_comm_world_tell(rlf_comm_world *world, int number)
{
    rlf_comm_world_note(world, number);
    if (world->links)
        rlf_connections_tell(world->links);
}

void
rlf_comm_world_relay(rlf_comm_world *world, bool on)
{
    __atomic_store_n(&world->relays, on, __ATOMIC_RELAXED);
}

int
rlf_comm_world_told(const rlf_comm_world *world)
{
    return __atomic_load_n(&world->told, __ATOMIC_RELAXED);
}

uint32_t
rlf_comm_world_pauses(const rlf_comm_world *world)
{
    return world->links ? rlf_connections_pauses(world->links) : 0;
}

double
rlf_comm_world_silence(const rlf_comm_world *world, int rank)
{
    int process = rlf_process_of(world, rank);
    return process == world->process
               ? 0
               : rlf_connections_silence(world->links, process);
}

/* True: this is the first error. */
static bool
end_run(rlf_comm_world *world, const rlf_err *cause, int lost, bool gone)
{
    pthread_mutex_lock(&world->lock);
    bool first = !rlf_world_aborted(world);
    if (first) {
        world->first_error = *cause;
        world->lost = lost;
        world->gone = gone;
        __atomic_store_n(&world->aborted, 1, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&world->lock);
    if (!first)
        return false;
    for (int i = 0; i < world->local; i++)
        rlf_futex_ring(&world->ends[i]->bell);
    if (world->controller)
        rlf_futex_ring(&world->controller->bell);
    if (world->links)
        rlf_connections_abort(world->links, cause, lost, gone);
    return true;
}

rlf_status
rlf_comm_abort(rlf_comm_world *world, const rlf_err *cause)
{
    end_run(world, cause, -1, false);
    return RLF_PEER;
}

rlf_status
rlf_comm_abort_controller(rlf_comm_world *world, const rlf_err *cause)
{
    const rlf_comm_options *o = &world->options;
    if (end_run(world, cause, 0, false) && o->lost)
        o->lost(o->sink, world, 0);
    return RLF_PEER;
}

void
rlf_world_lose(rlf_comm_world *world, int process, bool gone,
               const rlf_err *cause)
{
    end_run(world, cause, process, gone);
}

void
rlf_comm_world_limit(rlf_comm_world *world, double seconds)
{
    world->options.limit = seconds;
}

int
rlf_comm_lost(const rlf_comm_world *world)
{
    return rlf_world_aborted(world) ? world->lost : -1;
}

bool
rlf_comm_gone(const rlf_comm_world *world)
{
    return rlf_world_aborted(world) && world->gone;
}

rlf_status
rlf_comm_cause(const rlf_comm_world *world)
{
    return rlf_world_aborted(world) ? world->first_error.status : RLF_OK;
}

rlf_status
rlf_comm_check(const rlf_comm_world *world, rlf_err *err)
{
    if (!rlf_world_aborted(world))
        return RLF_OK;
    if (err->status >= 0) {
        *err = world->first_error;
        err->status = RLF_PEER;
    }
    return RLF_PEER;
}
