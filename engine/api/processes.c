/* The processes of one run: how they meet, find out that they are about to do
 * the same, and part.
 *
 * Process 0 leads: it has the controller, writes what the run leaves behind and
 * speaks. The others follow in silence, unless one of them alone knows what is
 * wrong. With one process and one rank there is nothing of all this. */
#include "engine/api/session.h"
#include "engine/api/rundir/rundir.h"

#include "config.h"
#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/sched/framing.h"
#include "engine/sched/flight.h"
#include "engine/sched/retention.h"
#include "nodes/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Called by a thread of the world: into the records that the ranks of the
 * process left. */
static void
process_lost(void *sink, const rlf_comm_world *world, int process)
{
    rlf_session *s = sink;
    int local = rlf_comm_world_local(world);
    bool opening = __atomic_load_n(&s->opening.ranks, __ATOMIC_ACQUIRE);
    if (rlf_opening_refused(world))
        return; /* it went as it was told to */
    rlf_mutex_lock(&s->opening.mutex);
    for (int i = 0; i < local && s->options.directory; i++)
        rlf_flight_lost(s->options.directory, process * local + i, opening);
    rlf_mutex_unlock(&s->opening.mutex);
    if (rlf_comm_world_caps(world)->n_processes == 1)
        rlf_stop_hangs(s); /* else the next process speaks */
}

/* Seconds: on a busy machine a process may be silent for a while. */
#define LEAST 2.0

rlf_status
rlf_processes_world(rlf_session *s, rlf_err *err)
{
    bool launched = rlf_comm_launcher() != NULL;
    int ranks = s->options.ranks, threads = s->options.threads;
    double patience = s->options.patience;
    double least = patience > 0 && patience < LEAST ? LEAST : patience;
    if (!launched && ranks <= 1)
        return RLF_OK;
    const rlf_comm_options options = {
        .backend = rlf_comm_backend_launched(),
        .n_ranks = 1,
        .n_all = ranks,
        .first_port = s->options.first_port,
        .last_port = s->options.last_port,
        .n_run_threads = !launched && threads > ranks ? threads : 0,
        .mail_slots = RLF_FRAME_SLOTS,
        .mail_bytes = RLF_FRAME_BYTES,
        /* until they agree: processes start, and read what the run begins
         * with, at their own speeds */
        .limit = least * RLF_PATIENCE_FILES,
        .silence = least,
        .lost = process_lost,
        .sink = s};
    rlf_status status = rlf_comm_world_new(&options, &s->world, err);
    int process = rlf_comm_launcher_process();
    int each = ranks > 0 ? ranks / rlf_comm_launcher_size() : 1;
    if (status < 0 && err->rank == 0) /* it does not move, so the next speaks */
        s->leads = process == 1;
    else if (status < 0 && err->rank == process * each)
        s->leads = true; /* it cannot reach process 0, which does not know */
    RLF_TRY(status);
    s->leads = rlf_comm_world_process(s->world) == 0;
    rlf_mutex_lock(&s->opening.mutex);
    s->opening.world = s->world;
    rlf_mutex_unlock(&s->opening.mutex);
    return RLF_OK;
}

/* ---- agreeing ---- */

/* A group of the first rank of every process. */
static rlf_status
processes_of(const rlf_session *s, rlf_group **out, rlf_err *err)
{
    int n = rlf_comm_world_caps(s->world)->n_processes;
    int local = rlf_comm_world_local(s->world);
    int *ranks = rlf_arena_alloc(s->arena, (size_t)n * sizeof *ranks);
    for (int i = 0; i < n; i++)
        ranks[i] = i * local;
    return rlf_group_new(rlf_comm_of(s->world, 0), ranks, n, out, err);
}

/* The texts of the group's members one after the other, in *all (to be freed),
 * with the bytes of each. */
static rlf_status
gather_texts(const rlf_session *s, rlf_group *group, const rlf_buf *mine,
             rlf_err *err, const size_t **sizes, char **all)
{
    size_t n = (size_t)rlf_group_size(group), total = 0;
    uint64_t own = mine->n + 1;
    uint64_t *each = RLF_NEW_ARRAY(s->arena, uint64_t, n);
    size_t *bytes = RLF_NEW_ARRAY(s->arena, size_t, n);
    *all = NULL;
    RLF_TRY(rlf_group_all_gather(group, &own, sizeof own, each, err));
    for (size_t i = 0; i < n; i++)
        total += bytes[i] = each[i];
    *all = rlf_malloc(total + 1);
    *sizes = bytes;
    return rlf_group_all_gatherv(group, mine->p, bytes, *all, err);
}

static rlf_status
exchange_fingerprints(rlf_session *s, rlf_group *group, rlf_err *err)
{
    rlf_buf mine = {0};
    const size_t *bytes;
    char *all;
    rlf_fingerprint_write(s, &mine);
    size_t n = (size_t)rlf_group_size(group);
    rlf_status status = gather_texts(s, group, &mine, err, &bytes, &all);
    const char *other = all;
    for (size_t i = 0; i < n && status >= 0; i++) {
        status = rlf_fingerprint_compare(all, other,
                                         rlf_group_rank(group, (int)i), err);
        other += bytes[i];
    }
    free(all);
    rlf_buf_free(&mine);
    return status;
}

/* The first process that failed tells why; the others fail with it. */
static rlf_status
exchange_status(rlf_session *s, rlf_group *group, rlf_status status,
                rlf_err *err)
{
    int n = rlf_group_size(group), first = -1;
    int32_t mine = status;
    int32_t *all = RLF_NEW_ARRAY(s->arena, int32_t, n);
    rlf_err ignored = RLF_ERR_NONE;
    rlf_err *meeting = status < 0 ? &ignored : err;
    rlf_status met =
        rlf_group_all_gather(group, &mine, sizeof mine, all, meeting);
    if (met < 0)
        return status < 0 ? status : met;
    for (int i = n - 1; i >= 0; i--)
        if (all[i] < 0)
            first = i;
    if (first < 0)
        return RLF_OK;
    s->leads = first == rlf_group_index(group);
    if (s->leads && first > 0)
        err->rank = rlf_group_rank(group, first);
    if (status >= 0)
        rlf_fail(err, all[first], "rank %d cannot begin",
                 rlf_group_rank(group, first));
    return all[first];
}

static rlf_status
agree(rlf_session *s, rlf_status status, rlf_err *err)
{
    rlf_group *group;
    RLF_TRY(processes_of(s, &group, err));
    rlf_status all = exchange_status(s, group, status, err);
    if (all >= 0)
        all = exchange_fingerprints(s, group, err);
    rlf_group_free(group);
    return all;
}

rlf_status
rlf_processes_agree(rlf_session *s, rlf_status status, rlf_err *err)
{
    if (s->world && rlf_comm_world_caps(s->world)->n_processes > 1)
        status = agree(s, status, err);
    if (s->world)
        rlf_comm_world_limit(s->world, 0);
    return status;
}

static rlf_status
share(const rlf_session *s, rlf_group *group, const char **text, rlf_err *err)
{
    uint64_t n = s->leads && *text ? strlen(*text) + 1 : 0;
    RLF_TRY(rlf_group_bcast(group, 0, &n, sizeof n, err));
    if (!n)
        return RLF_OK;
    char *copy = rlf_arena_alloc(s->arena, n);
    if (s->leads)
        memcpy(copy, *text, n);
    *text = copy;
    return rlf_group_bcast(group, 0, copy, n, err);
}

rlf_status
rlf_processes_share(rlf_session *s, const char **text, rlf_err *err)
{
    if (!s->world)
        return RLF_OK;
    rlf_group *group;
    RLF_TRY(processes_of(s, &group, err));
    rlf_status status = share(s, group, text, err);
    rlf_group_free(group);
    return status;
}

static rlf_status
list(const rlf_session *s, rlf_group *group, const rlf_buf *mine, rlf_err *err,
     const char **out)
{
    const size_t *bytes;
    char *all;
    rlf_status status = gather_texts(s, group, mine, err, &bytes, &all);
    size_t n = (size_t)rlf_group_size(group), at = 0;
    for (size_t i = 0; status >= 0 && i + 1 < n; i++) {
        at += bytes[i];
        all[at - 1] = ',';
    }
    if (status >= 0)
        *out = rlf_arena_strdup(s->arena, all);
    free(all);
    return status;
}

rlf_status
rlf_processes_list(rlf_session *s, const rlf_buf *mine, rlf_err *err,
                   const char **out)
{
    *out = rlf_arena_strdup(s->arena, mine->p);
    if (!s->world)
        return RLF_OK;
    rlf_group *group;
    RLF_TRY(processes_of(s, &group, err));
    rlf_status status = list(s, group, mine, err, out);
    rlf_group_free(group);
    return status;
}

/* ---- leaving ---- */

/* The leading process ends all, once it has said why; if it does not in so
 * many seconds, each ends by itself. */
enum { PATIENCE = 4, LOOK = 50000000 }; /* seconds, nanoseconds */

/* A launcher may lose what a process says right before it ends all (MPICH's
 * does, in some 3 of 100 jobs): whoever has spoken gives it the time to pass
 * that on. */
#define PASSED_ON_NS 200000000u
#define LOOK_TAKEN_NS 5000000u

/* Until the launcher has taken what was written to it, PATIENCE seconds at
 * most: on a busy machine it may not have come to that. What is no pipe, socket
 * or terminal cannot be asked, and need not. */
static void
await_taken(int file)
{
    struct stat it;
    int left = 0;
    uint64_t from = rlf_clock_now();
    if (fstat(file, &it) != 0 || S_ISREG(it.st_mode))
        return;
    unsigned long ask = S_ISFIFO(it.st_mode) ? FIONREAD : TIOCOUTQ;
    while (ioctl(file, ask, &left) == 0 && left > 0 &&
           rlf_clock_since(from) < PATIENCE)
        rlf_clock_sleep(LOOK_TAKEN_NS);
}

/* Process 1 may be lost as well, or may itself be in a call that does not come
 * back. So the others wait for it to end all, and the first one that is still
 * there then speaks; one after the other, so that it is one. */
void
rlf_processes_succeed(rlf_session *s)
{
    if (!s->world || rlf_comm_lost(s->world) != 0)
        return;
    int process = rlf_comm_world_process(s->world);
    s->leads = process == 1;
    if (process < 2 || rlf_comm_gone(s->world))
        return; /* of a process that is gone, the launcher ends all */
    enum { SLOTS = 16, SLOT_MS = 250 };
    long ms = (process - 2) % SLOTS * SLOT_MS;
    const struct timespec turn = {.tv_sec = PATIENCE + ms / 1000,
                                  .tv_nsec = ms % 1000 * 1000000};
    /* a signal is the end that the one who has spoken makes of all */
    s->leads = nanosleep(&turn, NULL) == 0;
}

/* Process 0 ends all, once it has said why; before that it may save the step
 * before, which takes as long as files do. */
static void
await_end(const rlf_session *s)
{
    const struct timespec pause = {.tv_sec = PATIENCE},
                          look = {.tv_nsec = LOOK};
    const char *writing = s->options.directory
                              ? rlf_path_join(s->arena, s->options.directory,
                                              RLF_CHECKPOINT_WRITING)
                              : NULL;
    uint64_t from = rlf_clock_now();
    double most = s->options.patience * RLF_PATIENCE_FILES;
    /* a signal is the end that process 0 makes of all */
    bool told = nanosleep(&pause, NULL) != 0;
    while (!told && writing && rlf_dir_exists(writing) &&
           rlf_comm_lost(s->world) < 0 &&
           !(most > 0 && rlf_clock_since(from) > most))
        told = nanosleep(&look, NULL) != 0;
}

/* Ends all processes of a run that failed: the one that leads has said why. */
static void
end_all(rlf_session *s)
{
    rlf_status status = s->err.status < 0 ? s->err.status : RLF_USER;
    if (s->leads) {
        await_taken(STDOUT_FILENO);
        await_taken(STDERR_FILENO);
        rlf_clock_sleep(PASSED_ON_NS);
    } else if (!rlf_comm_gone(s->world))
        await_end(s);
    bool cut = s->stop.ended_by && rlf_comm_cause(s->world) == RLF_STOPPED;
    rlf_result result = rlf_session_result(status);
    result = result < RLF_RESULT_FAILED ? RLF_RESULT_FAILED : result;
    rlf_comm_world_kill(s->world, cut ? 128 + s->stop.ended_by : -(int)result);
}

/* Another process is lost while all leave a run that is over here. One that was
 * told to end may have been told twice, and all that matters is saved; else the
 * process that leads says it. Its launcher ends those that still wait. */
static rlf_status
lost_leaving(rlf_session *s, const rlf_err *lost, rlf_err *err)
{
    if (rlf_stop_told(s))
        return RLF_OK;
    rlf_processes_succeed(s);
    if (s->leads && err->status >= 0) {
        *err = *lost;
        if (s->directory.complete)
            rlf_err_hint(err, "the run was done, and all of it is saved");
    }
    return lost->status;
}

rlf_status
rlf_processes_leave(rlf_session *s, bool closed, rlf_err *err)
{
    if (!s->world)
        return RLF_OK;
    rlf_err lost = RLF_ERR_NONE;
    rlf_status status = RLF_OK;
    rlf_comm_check(s->world, &lost);
    bool many = rlf_comm_world_caps(s->world)->n_processes > 1;
    if (many && rlf_session_failed(s))
        end_all(s);
    else if (many && lost.status < 0)
        status = lost_leaving(s, &lost, err);
    rlf_stop_forget(s);
    if (closed)
        rlf_comm_world_free(s->world);
    s->world = NULL;
    return status;
}
