/* Threads of ranks and the controller's mail: see rank_threads.h. */
#include "engine/sched/rank_threads.h"

#include "engine/base/clock.h"
#include "engine/graph/class.h"
#include "engine/sched/framing.h"

#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <time.h>

/* A rank says how many frames it took when it has taken so many. */
enum { CREDIT = RLF_FRAME_SLOTS / 4 };

/* After so many commands the controller looks into its mail, whether it waits
 * for something or not. */
enum { UNHEARD = RLF_FRAME_SLOTS / 8 };

typedef struct member {
    rlf_rank_threads *rank_threads;
    rlf_rank *rank;
    rlf_framing framing;
    rlf_buf saying;
    pthread_t thread;
    bool started;
    uint32_t in_step; /* the step that it has commands of; 0: between steps */
    rlf_status status;
    rlf_err err;
} member;

struct rlf_rank_threads {
    rlf_comm_world *world;
    rlf_framing framing; /* the controller's */
    rlf_buf writing;
    uint32_t *under_way;   /* per rank: frames that it has not taken yet */
    RLF_VEC(rlf_buf) kept; /* heard while waiting for room in a mailbox */
    size_t next_kept;
    uint32_t unheard; /* commands since the controller looked into its mail */
    member *members;
    int n_local, n_ranks;
    int threads, run_threads;
    double patience, step_patience; /* see rlf_rank_threads_options */
    pthread_mutex_t lock;
    pthread_cond_t one_ended;
    int n_running; /* threads; under the lock, as what follows */
    struct {       /* what threads of ranks that failed are still there for */
        pthread_cond_t wake;
        int n;                 /* of them, that wait to be told */
        const char *directory; /* not NULL: to be written into */
        uint32_t step;
        int left;  /* that have not done so */
        bool over; /* to end */
    } parked;
    locale_t locale; /* of the thread that opened them */
    bool controls;
};

/* ---- patience ---- */

/* Seconds: who wakes up so late was stopped meanwhile. */
#define STOPPED 1.0

/* Looking every now and then whether a counter stands still. Time in which this
 * process was itself stopped does not count. */
typedef struct watch {
    double look;  /* seconds from look to look */
    double still; /* that it has stood still */
    uint64_t counter, from;
} watch;

static watch
watch_begin(double patience, uint64_t counter)
{
    return (watch){
        .look = patience / 4, .counter = counter, .from = rlf_clock_now()};
}

static void
watch_again(watch *w, uint64_t counter)
{
    double gone = rlf_clock_since(w->from);
    w->from = rlf_clock_now();
    w->still += gone < w->look + STOPPED ? gone : w->look + STOPPED;
    if (counter != w->counter)
        w->still = 0;
    w->counter = counter;
}

/* ---- a rank's thread ---- */

static rlf_status
tell(void *sink, const rlf_rank_event *event, rlf_err *err)
{
    member *m = sink;
    rlf_buf_clear(&m->saying);
    RLF_TRY(rlf_rank_event_write(event, &m->saying, err));
    return rlf_framing_send(&m->framing, RLF_CONTROLLER, &m->saying, err);
}

/* Make room in the controller's books. */
static rlf_status
say_taken(member *m, rlf_err *err)
{
    if (m->framing.taken < CREDIT)
        return RLF_OK;
    rlf_rank_event event = {.kind = RLF_EVENT_TAKEN,
                            .rank = m->rank->rank,
                            .frames = m->framing.taken};
    m->framing.taken = 0;
    return tell(m, &event, err);
}

static rlf_status
take_command(member *m, double seconds, rlf_err *err, rlf_rank_command *out)
{
    const rlf_buf *message;
    rlf_status status = rlf_framing_hear(&m->framing, seconds, err, &message);
    if (status != RLF_OK)
        return status;
    RLF_TRY(rlf_rank_command_read(message->p, message->n, m->rank->plan,
                                  m->rank->env.pool, err, out));
    return say_taken(m, err);
}

/* The ranks of a replica leave their generation for a command together: the
 * first of them alone looks into its mailbox and tells the others which it
 * found. */
static rlf_status
agree(member *m, rlf_group *replica, rlf_err *err, rlf_rank_command *command)
{
    uint64_t next = 0; /* n of the command + 1; 0: go on */
    if (rlf_group_index(replica) == 0) {
        rlf_status status = take_command(m, 0, err, command);
        if (status < 0)
            return status;
        next = status == RLF_OK ? command->n + 1 : 0;
    }
    RLF_TRY(rlf_group_bcast(replica, 0, &next, sizeof next, err));
    if (!next)
        return RLF_AGAIN;
    if (rlf_group_index(replica) > 0) {
        RLF_TRY(take_command(m, -1, err, command));
        if (command->n + 1 != next)
            return rlf_fail(err, RLF_BUG,
                            "rank %d has command %" PRIu64
                            " where its replica has %" PRIu64,
                            m->rank->rank, command->n, next - 1);
    }
    return RLF_OK;
}

/* Seconds that the controller has more than a rank: it knows better who keeps
 * the run from going on, and its heartbeats come late to other processes. */
#define LATE 2.0

static rlf_status
controller_hangs(const member *m, double seconds, rlf_err *err)
{
    rlf_fail(err, RLF_ENV,
             "for %g s the controller did nothing: rank %d waits for its next "
             "command in step %u",
             seconds, m->rank->rank, m->in_step);
    rlf_err_hint(err, "process 0 lives; see what the thread does there that "
                      "takes the run's steps, or give more seconds by "
                      "--patience");
    rlf_comm_abort_controller(m->rank_threads->world, err);
    return RLF_ENV;
}

/* The next command, waiting for it. In a step the controller gives several
 * heartbeats within its patience, whatever it waits for. */
static rlf_status
await_command(member *m, rlf_err *err, rlf_rank_command *command)
{
    const rlf_comm_world *world = m->rank_threads->world;
    double patience = m->rank_threads->step_patience,
           most = 1.5 * patience + LATE;
    if (!m->in_step || patience <= 0)
        return take_command(m, -1, err, command);
    watch w = watch_begin(most, rlf_comm_world_controller_heartbeats(world));
    while (w.still < most) {
        rlf_status status = take_command(m, w.look, err, command);
        if (status != RLF_AGAIN)
            return status;
        watch_again(&w, rlf_comm_world_controller_heartbeats(world));
    }
    return controller_hangs(m, most, err);
}

/* The next command, or RLF_AGAIN: the open generation goes on. */
static rlf_status
next_command(member *m, rlf_err *err, rlf_rank_command *command)
{
    rlf_rank *rank = m->rank;
    if (rank->generation < 0)
        return await_command(m, err, command);
    const slot *s = &rank->slots.data[rank->generation];
    rlf_group *replica = rank->env.mesh[s->call.node->id].replica;
    return replica ? agree(m, replica, err, command)
                   : take_command(m, 0, err, command);
}

static rlf_status
say_ready(member *m, rlf_err *err)
{
    rlf_rank_event ready = {.kind = RLF_EVENT_READY,
                            .rank = m->rank->rank,
                            .plan = m->rank->plan->digest};
    rlf_needs needs;
    rlf_arena *arena = rlf_arena_new();
    rlf_rank_needs(m->rank, arena, &needs);
    ready.n_memory = (uint32_t)needs.memory.rows.count;
    ready.memory = needs.memory.rows.data;
    ready.limit = needs.limit;
    ready.work = needs.work;
    ready.runs = needs.runs;
    rlf_status status = tell(m, &ready, err);
    rlf_arena_free(arena);
    return status;
}

static rlf_status
work(member *m, rlf_err *err)
{
    rlf_rank *rank = m->rank;
    RLF_TRY(rlf_rank_open(rank, m->rank_threads->threads,
                          m->rank_threads->run_threads, err));
    RLF_TRY(say_ready(m, err));
    for (;;) {
        rlf_rank_command command;
        rlf_status status = next_command(m, err, &command);
        if (status < 0)
            return status;
        rlf_comm_heartbeat(rank->comm);
        if (status == RLF_AGAIN) {
            RLF_TRY(rlf_rank_turn(rank, err));
            continue;
        }
        if (command.kind == RLF_DO_STOP)
            return RLF_OK;
        if (command.kind == RLF_DO_BEGIN)
            m->in_step = command.step;
        if (command.kind == RLF_DO_END)
            m->in_step = 0;
        RLF_TRY(rlf_rank_execute(rank, &command, err));
    }
}

/* The run has failed, and the controller may want what this rank has. */
static void
park(member *m)
{
    rlf_rank_threads *rank_threads = m->rank_threads;
    pthread_mutex_lock(&rank_threads->lock);
    rank_threads->parked.n++;
    pthread_cond_signal(&rank_threads->one_ended);
    while (!rank_threads->parked.over && !rank_threads->parked.directory)
        pthread_cond_wait(&rank_threads->parked.wake, &rank_threads->lock);
    if (!rank_threads->parked.over) {
        pthread_mutex_unlock(&rank_threads->lock);
        rlf_err_clear(&m->err);
        m->status = rlf_rank_rescue(m->rank, rank_threads->parked.step,
                                    rank_threads->parked.directory, &m->err);
        pthread_mutex_lock(&rank_threads->lock);
        rank_threads->parked.left--;
        pthread_cond_signal(&rank_threads->one_ended);
    }
    while (!rank_threads->parked.over)
        pthread_cond_wait(&rank_threads->parked.wake, &rank_threads->lock);
    pthread_mutex_unlock(&rank_threads->lock);
}

static void *
thread_main(void *arg)
{
    member *m = arg;
    if (m->rank_threads->locale)
        uselocale(m->rank_threads->locale);
    m->status = work(m, &m->err);
    if (m->status < 0) {
        m->err.rank = m->rank->rank;
        rlf_comm_abort(m->rank_threads->world, &m->err);
        park(m);
    }
    rlf_rank_close(m->rank);
    pthread_mutex_lock(&m->rank_threads->lock);
    m->rank_threads->n_running--;
    pthread_cond_signal(&m->rank_threads->one_ended);
    pthread_mutex_unlock(&m->rank_threads->lock);
    return NULL;
}

static rlf_status
start(member *m, rlf_rank_threads *rank_threads, rlf_rank *rank, int index,
      rlf_err *err)
{
    m->rank_threads = rank_threads;
    m->rank = rank;
    rlf_err_clear(&m->err);
    rank->comm = rlf_comm_of(rank_threads->world, index);
    rank->tell = tell;
    rank->sink = m;
    rlf_framing_open(&m->framing, rank->comm);
    pthread_mutex_lock(&rank_threads->lock);
    m->started = pthread_create(&m->thread, NULL, thread_main, m) == 0;
    rank_threads->n_running += m->started;
    pthread_mutex_unlock(&rank_threads->lock);
    if (!m->started)
        return rlf_fail(err, RLF_ENV, "cannot start a thread for rank %d",
                        rank->rank);
    return RLF_OK;
}

/* ---- the controller ---- */

/* The next message, or RLF_AGAIN after `patience` seconds in which no rank
 * gives a heartbeat; 0: wait for ever, RLF_RANK_THREADS_NOT_AT_ALL: do not
 * wait. Meanwhile the controller gives heartbeats, which ranks that wait in a
 * step look for. */
static rlf_status
hear_patiently(rlf_rank_threads *rank_threads, double patience, rlf_err *err,
               const rlf_buf **message)
{
    rlf_comm_heartbeat(rank_threads->framing.comm);
    if (patience < 0)
        return rlf_framing_hear(&rank_threads->framing, 0, err, message);
    watch w = watch_begin(patience > 0 ? patience : rank_threads->step_patience,
                          rlf_comm_world_heartbeats(rank_threads->world));
    while (patience <= 0 || w.still < patience) {
        rlf_status status = rlf_framing_hear(
            &rank_threads->framing, w.look > 0 ? w.look : -1, err, message);
        if (status != RLF_AGAIN)
            return status;
        rlf_comm_heartbeat(rank_threads->framing.comm);
        watch_again(&w, rlf_comm_world_heartbeats(rank_threads->world));
    }
    return RLF_AGAIN;
}

static const rlf_plan *
plan_of(const rlf_rank_threads *rank_threads)
{
    return rank_threads->members[0].rank->plan;
}

/* The same, as an event. One that is about frames taken is handled. */
static rlf_status
hear_any(rlf_rank_threads *rank_threads, double patience, rlf_arena *arena,
         rlf_err *err, bool *about_frames, const rlf_buf **message,
         rlf_rank_event *out)
{
    rlf_status status = hear_patiently(rank_threads, patience, err, message);
    if (status != RLF_OK)
        return status;
    RLF_TRY(rlf_rank_event_read((*message)->p, (*message)->n,
                                plan_of(rank_threads), arena, err, out));
    *about_frames = out->kind == RLF_EVENT_TAKEN;
    if (!*about_frames)
        return RLF_OK;
    if (out->frames > rank_threads->under_way[out->rank])
        return rlf_fail(err, RLF_BUG, "rank %d has taken more than it was sent",
                        out->rank);
    rank_threads->under_way[out->rank] -= out->frames;
    return RLF_OK;
}

rlf_status
rlf_rank_threads_hear(rlf_rank_threads *rank_threads, double patience,
                      rlf_arena *arena, rlf_err *err, rlf_rank_event *out)
{
    if (rank_threads->next_kept < rank_threads->kept.count) {
        rlf_buf *kept = &rank_threads->kept.data[rank_threads->next_kept++];
        rlf_status status = rlf_rank_event_read(
            kept->p, kept->n, plan_of(rank_threads), arena, err, out);
        rlf_buf_free(kept);
        return status;
    }
    rank_threads->next_kept = rank_threads->kept.count = 0;
    bool about_frames;
    const rlf_buf *message;
    rlf_status status;
    do
        status = hear_any(rank_threads, patience, arena, err, &about_frames,
                          &message, out);
    while (status == RLF_OK && about_frames);
    return status;
}

/* Hear the next message and keep it for rlf_rank_threads_hear. */
static rlf_status
keep_next(rlf_rank_threads *rank_threads, double patience, rlf_arena *arena,
          rlf_err *err)
{
    bool about_frames;
    const rlf_buf *message;
    rlf_rank_event event;
    rlf_status status = hear_any(rank_threads, patience, arena, err,
                                 &about_frames, &message, &event);
    if (status != RLF_OK || about_frames)
        return status;
    rlf_buf copy = {0};
    RLF_TRY_ROOM(&rank_threads->kept, 1, "what ranks have told");
    if (!rlf_buf_try(&copy, message->n))
        return rlf_fail_memory(err, message->n, "what ranks have told");
    rlf_buf_add(&copy, message->p, message->n);
    RLF_PUSH(&rank_threads->kept, copy);
    return RLF_OK;
}

/* Empty the controller's own mailbox, so that it has room for what the ranks
 * say while the controller posts and posts; then go on until the rank's has
 * room for n frames: by the law of commands the rank goes on whatever it is
 * that waits here. */
static rlf_status
make_room(rlf_rank_threads *rank_threads, int rank, uint32_t n, rlf_err *err)
{
    if (n > RLF_FRAME_SLOTS)
        return rlf_fail(err, RLF_BUG, "a command of %u pieces is too long", n);
    rlf_arena *arena = rlf_arena_new();
    rlf_status status;
    do
        status =
            keep_next(rank_threads, RLF_RANK_THREADS_NOT_AT_ALL, arena, err);
    while (status == RLF_OK);
    while (rank_threads->under_way[rank] + n > RLF_FRAME_SLOTS && status >= 0)
        status = keep_next(rank_threads, 0, arena, err);
    rlf_arena_free(arena);
    return status < 0 ? status : RLF_OK;
}

rlf_status
rlf_rank_threads_tell(rlf_rank_threads *rank_threads, int rank,
                      const rlf_rank_command *command, rlf_err *err)
{
    rlf_comm_heartbeat(rank_threads->framing.comm);
    rlf_buf_clear(&rank_threads->writing);
    RLF_TRY(rlf_rank_command_write(command, &rank_threads->writing, err));
    uint32_t n = rlf_framing_count(rank_threads->writing.n);
    if (rank_threads->unheard++ == UNHEARD ||
        rank_threads->under_way[rank] + n > RLF_FRAME_SLOTS) {
        rank_threads->unheard = 0;
        RLF_TRY(make_room(rank_threads, rank, n, err));
    }
    rank_threads->under_way[rank] += n;
    return rlf_framing_send(&rank_threads->framing, rank,
                            &rank_threads->writing, err);
}

void
rlf_rank_threads_waits(const rlf_rank_threads *rank_threads, rlf_err *err)
{
    rlf_buf lines = {0};
    for (int r = 0; r < rank_threads->n_ranks; r++) {
        char text[256];
        rlf_comm_world_waits(rank_threads->world, r, text, sizeof text);
        if (*text)
            rlf_buf_printf(&lines, "%s%s", lines.n ? "\n" : "", text);
    }
    if (lines.n)
        rlf_err_detail(err, "%s", lines.p);
    rlf_buf_free(&lines);
}

/* No rank made progress while the run opens. */
static rlf_status
never_opens(const rlf_rank_threads *rank_threads, const bool *open,
            rlf_err *err)
{
    int rank = 0;
    while (rank + 1 < rank_threads->n_ranks && open[rank])
        rank++;
    rlf_fail(err, RLF_ENV,
             "for %g s no rank made progress: rank %d has not opened the "
             "program's models and data",
             rank_threads->patience, rank);
    err->rank = rank;
    const rlf_run_options *o = rank_threads->members[0].rank->options;
    rlf_mutex_lock(o->mutex);
    if (o->directory)
        rlf_flight_lost(o->directory, rank, true);
    rlf_mutex_unlock(o->mutex);
    rlf_rank_threads_waits(rank_threads, err);
    rlf_err_hint(err, "see what that rank is reading; if it is working, give "
                      "more seconds by --patience");
    return RLF_ENV;
}

static rlf_status
check_plan(const rlf_rank_event *event, rlf_digest plan, rlf_err *err)
{
    char is[RLF_DIGEST_TEXT], wanted[RLF_DIGEST_TEXT];
    if (rlf_digest_equal(event->plan, plan))
        return RLF_OK;
    rlf_fail(err, RLF_USER, "rank %d has another plan than rank 0: %s, not %s",
             event->rank, rlf_digest_print(event->plan, is),
             rlf_digest_print(plan, wanted));
    rlf_err_hint(err, "program, parameters, options and version of rlflow must "
                      "be the same for all ranks");
    return RLF_USER;
}

static rlf_needs
needs_of(const rlf_rank_event *ready, rlf_arena *arena)
{
    rlf_needs needs = {.memory.arena = arena,
                       .limit = ready->limit,
                       .work = ready->work,
                       .runs = ready->runs};
    for (uint32_t i = 0; i < ready->n_memory; i++)
        RLF_PUSH_IN(arena, &needs.memory.rows, ready->memory[i]);
    return needs;
}

/* Until every rank is open, with the same plan. */
static rlf_status
await_ready(rlf_rank_threads *rank_threads, rlf_digest plan,
            const rlf_rank_threads_options *options, rlf_err *err)
{
    bool *open = RLF_NEW_ARRAY(options->arena, bool, rank_threads->n_ranks);
    for (int i = 0; i < rank_threads->n_ranks; i++) {
        rlf_rank_event event;
        rlf_status status = rlf_rank_threads_hear(
            rank_threads, options->patience, options->arena, err, &event);
        if (status == RLF_AGAIN)
            return never_opens(rank_threads, open, err);
        RLF_TRY(status);
        RLF_TRY(check_plan(&event, plan, err));
        open[event.rank] = true;
        options->needs[event.rank] = needs_of(&event, options->arena);
    }
    return RLF_OK;
}

rlf_status
rlf_rank_threads_open(rlf_rank *ranks, const rlf_rank_threads_options *options,
                      rlf_err *err, rlf_rank_threads **out)
{
    rlf_comm_world *world = options->world;
    int n_local = rlf_comm_world_local(world);
    rlf_rank_threads *rank_threads = rlf_calloc(1, sizeof *rank_threads);
    rank_threads->world = world;
    rank_threads->n_local = n_local;
    rank_threads->patience = options->patience;
    rank_threads->step_patience = options->step_patience;
    pthread_mutex_init(&rank_threads->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&rank_threads->one_ended, &clock);
    pthread_cond_init(&rank_threads->parked.wake, NULL);
    pthread_condattr_destroy(&clock);
    rank_threads->n_ranks = rlf_comm_world_size(world);
    rank_threads->controls = rlf_comm_world_process(world) == 0;
    rank_threads->threads = options->threads;
    rank_threads->run_threads = options->threads * options->n_machine;
    rank_threads->locale = uselocale((locale_t)0);
    rank_threads->under_way = rlf_calloc((size_t)rank_threads->n_ranks,
                                         sizeof *rank_threads->under_way);
    rank_threads->members =
        rlf_calloc((size_t)n_local, sizeof *rank_threads->members);
    if (rank_threads->controls)
        rlf_framing_open(&rank_threads->framing, rlf_comm_controller(world));
    rlf_status status = RLF_OK;
    for (int i = 0; i < n_local && status >= 0; i++)
        status =
            start(&rank_threads->members[i], rank_threads, &ranks[i], i, err);
    if (status >= 0 && rank_threads->controls)
        status = await_ready(rank_threads, ranks[0].plan->digest, options, err);
    *out = rank_threads;
    if (status == RLF_PEER)
        status = rlf_rank_threads_cause(rank_threads, err);
    if (status < 0)
        rlf_comm_abort(world, err);
    return status;
}

rlf_status
rlf_rank_threads_cause(const rlf_rank_threads *rank_threads, rlf_err *err)
{
    rlf_err_clear(err);
    rlf_comm_check(rank_threads->world, err);
    err->status = rlf_comm_cause(rank_threads->world);
    return err->status;
}

/* Wait for a thread to end, for a while: an abort ends the wait of a rank, not
 * this one. */
static void
await_end(rlf_rank_threads *rank_threads)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 250000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&rank_threads->one_ended, &rank_threads->lock,
                           &until);
}

/* Seconds after an abort in which the threads of one of many processes end:
 * whoever waits for one that is stuck in a message to a process that stands
 * still is ended by the others before it has said why. So many seconds of
 * processor time, for on a busy machine a step at hand takes longer; three
 * times as many in all. */
#define ONE_OF_MANY 1.0

/* Until *n threads (of those that run, or wait to be told, under the lock) are
 * no more than `most`; false: one is stuck. */
static bool
await_threads(rlf_rank_threads *rank_threads, const int *n, const int *most)
{
    rlf_err ignored = RLF_ERR_NONE;
    bool many = rlf_comm_world_caps(rank_threads->world)->n_processes > 1;
    double patience = rank_threads->patience;
    if (many && !(patience > 0 && patience < ONE_OF_MANY))
        patience = ONE_OF_MANY;
    uint64_t aborted = 0; /* when that was seen */
    uint64_t worked = 0;  /* by this process until then */
    bool stuck = false;
    while (*n > *most && !stuck) {
        if (!aborted && rlf_comm_check(rank_threads->world, &ignored) < 0) {
            aborted = rlf_clock_now();
            worked = rlf_clock_process();
        }
        double gone = aborted ? rlf_clock_since(aborted) : 0;
        double busy = (double)(rlf_clock_process() - worked) * 1e-9;
        bool starved = many && busy < patience;
        stuck = aborted && patience > 0 && gone > (starved ? 3 : 1) * patience;
        if (!stuck)
            await_end(rank_threads);
    }
    return !stuck;
}

rlf_status
rlf_rank_threads_rescue(rlf_rank_threads *rank_threads, uint32_t step,
                        const char *directory, rlf_err *err)
{
    static const int none = 0;
    pthread_mutex_lock(&rank_threads->lock);
    bool all = await_threads(rank_threads, &rank_threads->n_running,
                             &rank_threads->parked.n);
    if (all) {
        rank_threads->parked.left = rank_threads->parked.n;
        rank_threads->parked.step = step;
        rank_threads->parked.directory = directory;
        pthread_cond_broadcast(&rank_threads->parked.wake);
        all = await_threads(rank_threads, &rank_threads->parked.left, &none);
    }
    pthread_mutex_unlock(&rank_threads->lock);
    if (!all) {
        rlf_fail(err, RLF_AGAIN, "a rank has not come to its end");
        return RLF_AGAIN;
    }
    for (int i = 0; i < rank_threads->n_local; i++) {
        const member *m = &rank_threads->members[i];
        if (m->status == RLF_OK)
            continue;
        *err = m->err;
        return m->status;
    }
    return RLF_OK;
}

/* Until the threads have ended; false: one is stuck. */
static bool
join(rlf_rank_threads *rank_threads)
{
    static const int none = 0;
    pthread_mutex_lock(&rank_threads->lock);
    rank_threads->parked.over = true;
    pthread_cond_broadcast(&rank_threads->parked.wake);
    bool stuck = !await_threads(rank_threads, &rank_threads->n_running, &none);
    pthread_mutex_unlock(&rank_threads->lock);
    for (int i = 0; i < rank_threads->n_local && !stuck; i++) {
        member *m = &rank_threads->members[i];
        if (m->started)
            pthread_join(m->thread, NULL);
        m->started = false;
    }
    return !stuck;
}

rlf_status
rlf_rank_threads_follow(rlf_rank_threads *rank_threads, rlf_err *err)
{
    rlf_err ignored = RLF_ERR_NONE;
    pthread_mutex_lock(&rank_threads->lock);
    while (rank_threads->n_running > rank_threads->parked.n &&
           rlf_comm_check(rank_threads->world, &ignored) >= 0)
        await_end(rank_threads);
    /* all, in order: what fails now is no matter of the run */
    bool ended = rank_threads->n_running == 0;
    pthread_mutex_unlock(&rank_threads->lock);
    return ended || rlf_comm_check(rank_threads->world, err) == RLF_OK
               ? RLF_OK
               : rlf_rank_threads_cause(rank_threads, err);
}

bool
rlf_rank_threads_close(rlf_rank_threads *rank_threads)
{
    if (!rank_threads)
        return true;
    rlf_err ignored = RLF_ERR_NONE;
    if (rank_threads->controls &&
        rlf_comm_check(rank_threads->world, &ignored) == RLF_OK) {
        rlf_rank_command stop = {
            .kind = RLF_DO_STOP, .instance = -1, .node = -1};
        for (int i = 0; i < rank_threads->n_ranks; i++)
            if (rlf_rank_threads_tell(rank_threads, i, &stop, &ignored) < 0)
                rlf_comm_abort(rank_threads->world, &ignored);
    }
    if (!join(rank_threads))
        return false;
    for (int i = 0; i < rank_threads->n_local; i++) {
        rlf_framing_close(&rank_threads->members[i].framing);
        rlf_buf_free(&rank_threads->members[i].saying);
    }
    if (rank_threads->controls)
        rlf_framing_close(&rank_threads->framing);
    while (rank_threads->next_kept < rank_threads->kept.count)
        rlf_buf_free(&rank_threads->kept.data[rank_threads->next_kept++]);
    RLF_VEC_FREE(&rank_threads->kept);
    rlf_buf_free(&rank_threads->writing);
    free(rank_threads->under_way);
    free(rank_threads->members);
    pthread_cond_destroy(&rank_threads->one_ended);
    pthread_cond_destroy(&rank_threads->parked.wake);
    pthread_mutex_destroy(&rank_threads->lock);
    free(rank_threads);
    return true;
}
