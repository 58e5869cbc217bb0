/* A run that is told to end, by the program that uses the library or by another
 * process of the run (rlf_session_stop): while it opens, in a step, and in a
 * call of a Lua function that might never return. See rlflow.h.
 *
 * While it opens a thread waits for that, since the thread that opens may be in
 * anything, and what was made has to be removed (rundir/rollback.c). A step is
 * finished first, unless a call in it is given up. Of several processes 0
 * decides; the others have it hear of what they are told, through the world. */
#include "engine/api/session.h"
#include "engine/api/rundir/rundir.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

/* From look to look at what other processes were told; how long process 0 may
 * take to remove what is there. */
#define LOOK_NS 100000000
#define LEFT_NS 1000000000u

static int
own_number(const rlf_session *s)
{
    return __atomic_load_n(&s->stop.number, __ATOMIC_ACQUIRE);
}

static int
others_number(const rlf_session *s)
{
    return s->world && __atomic_load_n(&s->stop.joined, __ATOMIC_ACQUIRE)
               ? rlf_comm_world_told(s->world)
               : 0;
}

/* Nanoseconds; never 0. */
static int64_t
time_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec + 1;
}

/* Maybe in a signal handler. */
void
rlf_session_stop(rlf_session *s, int number)
{
    int before = s ? own_number(s) : 0;
    if (number < 1 || number >= NSIG) /* the number of no signal */
        number = SIGTERM;
    if (!s || (before && before != SIGUSR1))
        return;
    __atomic_store_n(&s->stop.since, time_now(), __ATOMIC_RELAXED);
    __atomic_store_n(&s->stop.number, number, __ATOMIC_RELEASE);
    rlf_comm_world *hears = __atomic_load_n(&s->stop.hears, __ATOMIC_ACQUIRE);
    if (hears)
        rlf_comm_world_note(hears, number);
    if (__atomic_load_n(&s->stop.watched, __ATOMIC_ACQUIRE))
        sem_post(&s->stop.wake);
}

int
rlf_session_stopped(const rlf_session *s)
{
    return s ? s->stop.signal : 0;
}

/* ---- while it opens ---- */

rlf_result
rlf_session_leave(rlf_session *s, rlf_leave_function *function, void *arg)
{
    if (!s)
        return rlf_session_status(s);
    s->stop.leave = function;
    s->stop.arg = arg;
    return rlf_session_status(s);
}

void
rlf_stop_print(int number, rlf_buf *out)
{
    rlf_buf_printf(out, "%s ends the run while it opens: nothing was begun\n",
                   rlf_record_signal(number));
}

/* The line as a message. */
static void
print_message(const rlf_session *s, int number, rlf_buf *out)
{
    rlf_buf line = {0};
    rlf_stop_print(number, &line);
    if (s->options.json) {
        rlf_buf_puts(out, "{\"severity\": \"note\", \"code\": \"run\", "
                          "\"text\": ");
        rlf_buf_json(out, line.p, line.n - 1);
        rlf_buf_puts(out, "}\n");
    } else {
        rlf_buf_add(out, line.p, line.n);
    }
    rlf_buf_free(&line);
}

/* Process 0 speaks; the others wait for what its end makes the launcher do. */
static void
leave(const rlf_session *s, int number)
{
    const rlf_comm_world *world = s->opening.world;
    bool many = world && rlf_comm_world_caps(world)->n_processes > 1;
    rlf_buf text = {0};
    if (many ? rlf_comm_world_process(world) == 0 : s->leads)
        print_message(s, number, &text);
    else if (many)
        rlf_clock_sleep(LEFT_NS);
    s->stop.leave(s->stop.arg, number, text.p ? text.p : "");
}

/* Leaves the run if it was told to end. True: it was, but it has begun. */
static bool
look_for_end(rlf_session *s, int own)
{
    int number = rlf_opening_told(s, own);
    if (number && rlf_opening_interrupt(s, number))
        leave(s, number);
    return number;
}

static void *
wait_for_end(void *arg)
{
    rlf_session *s = arg;
    while (__atomic_load_n(&s->stop.watched, __ATOMIC_ACQUIRE)) {
        if (look_for_end(s, own_number(s) == SIGUSR1 ? 0 : own_number(s)))
            return NULL;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        sem_timedwait(&s->stop.wake, &until);
    }
    /* Process 0 was heard of only with its end, which has failed all here. */
    if (rlf_opening_refused(s->opening.world))
        look_for_end(s, 0);
    return NULL;
}

rlf_status
rlf_stop_watch(rlf_session *s, rlf_err *err)
{
    sigset_t all, before;
    if (!s->stop.leave)
        return RLF_OK;
    sem_init(&s->stop.wake, 0, 0);
    __atomic_store_n(&s->stop.watched, true, __ATOMIC_RELEASE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&s->stop.thread, NULL, wait_for_end, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return RLF_OK;
    __atomic_store_n(&s->stop.watched, false, __ATOMIC_RELEASE);
    errno = failed;
    return rlf_fail_errno(err, "cannot start a thread that waits for signals");
}

void
rlf_stop_unwatch(rlf_session *s)
{
    if (!s->stop.watched)
        return;
    __atomic_store_n(&s->stop.watched, false, __ATOMIC_RELEASE);
    sem_post(&s->stop.wake);
    pthread_join(s->stop.thread, NULL);
}

/* Ends, for that, a run that has taken no step. */
static bool
end_before_step(rlf_session *s, int number)
{
    if (!s->leads || !number || number == SIGUSR1)
        return false;
    s->stop.before_step = true;
    s->stop.ended_by = s->stop.signal = number;
    if (s->world)
        rlf_comm_world_tell(s->world, number);
    rlf_opening_forget(s);
    return true;
}

bool
rlf_stop_opened(rlf_session *s)
{
    if (end_before_step(s, own_number(s)))
        return true;
    __atomic_store_n(&s->stop.joined, true, __ATOMIC_RELEASE);
    if (!s->leads)
        rlf_stop_relay(s, true);
    return false;
}

/* ---- in steps ---- */

void
rlf_stop_relay(rlf_session *s, bool on)
{
    rlf_comm_world *world = s->world;
    if (!world)
        return;
    __atomic_store_n(&s->stop.hears, on ? world : NULL, __ATOMIC_RELEASE);
    if (s->leads)
        rlf_comm_world_relay(world, on);
    if (on && own_number(s)) /* it may have come before */
        rlf_comm_world_note(world, own_number(s));
}

rlf_status
rlf_stop_asked(void *arg, double seconds)
{
    rlf_session *s = arg;
    int64_t now = time_now(), none = 0;
    bool own = own_number(s) != 0;
    if (!own && !others_number(s))
        return RLF_OK;
    if (!own)
        __atomic_compare_exchange_n(&s->stop.heard, &none, now, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    int64_t since = __atomic_load_n(own ? &s->stop.since : &s->stop.heard,
                                    __ATOMIC_RELAXED);
    double grace = (double)s->options.grace;
    bool over = seconds >= grace && 1e-9 * (double)(now - since) >= grace;
    return over ? RLF_STOPPED : RLF_AGAIN;
}

bool
rlf_stop_told(const rlf_session *s)
{
    return s->stop.signal || own_number(s);
}

bool
rlf_stop_before_step(rlf_session *s)
{
    int number = own_number(s) ? own_number(s) : others_number(s);
    return !s->steps.taken.steps && end_before_step(s, number);
}

bool
rlf_stop_due(rlf_session *s)
{
    int number = own_number(s) ? own_number(s) : others_number(s);
    if (!number || !s->steps.taken.steps)
        return false;
    s->stop.signal = number;
    if (s->world)
        rlf_comm_world_tell(s->world, number);
    return true;
}

/* The first of all errors is that a call was given up. */
void
rlf_stop_cut(rlf_session *s)
{
    bool cut = s->err.status == RLF_STOPPED ||
               (s->world && rlf_comm_cause(s->world) == RLF_STOPPED);
    if (!cut)
        return;
    int number = own_number(s) ? own_number(s) : others_number(s);
    s->stop.ended_by = s->stop.signal = number ? number : SIGTERM;
    s->stop.in_call = true;
}

void
rlf_stop_forget(rlf_session *s)
{
    __atomic_store_n(&s->stop.hears, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&s->stop.joined, false, __ATOMIC_RELEASE);
}

void
rlf_stop_followed(rlf_session *s)
{
    s->stop.signal = others_number(s);
    rlf_stop_forget(s);
    rlf_stop_unwatch(s);
}

/* ---- the thread that takes a step hangs ---- */

void
rlf_stop_hangs(rlf_session *s)
{
    rlf_err err = RLF_ERR_NONE, ignored = RLF_ERR_NONE;
    rlf_buf text = {0};
    if (!s->stop.leave)
        return;
    rlf_comm_check(s->world, &err);
    rlf_record_fail(s, &err, &ignored);
    (s->options.json ? rlf_err_print_json
                     : rlf_err_print)(&err, &s->program.sources, &text);
    s->stop.leave(s->stop.arg, 0, text.p);
}
