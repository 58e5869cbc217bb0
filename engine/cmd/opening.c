/* See opening.h. */
#include "engine/cmd/opening.h"

#include "engine/base/clock.h"
#include "engine/cmd/inside.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

/* From look to look at what other processes were told; how long a launcher may
 * take to pass on what was said, and process 0 to remove what is there. */
#define LOOK_NS 100000000
#define PASSED_ON_NS 200000000u
#define LEFT_NS 1000000000u

/* One run opens in a process; a signal handler has nowhere else to put it. */
static struct {
    const volatile sig_atomic_t *signal;
    sem_t wake;
    pthread_t thread;
    bool runs;
    bool over; /* atomic */
} watch;

void
rlf_opening_wake(void)
{
    sem_post(&watch.wake);
}

void
rlf_opening_say(int number)
{
    char text[96];
    snprintf(text, sizeof text,
             "%s ends the run while it opens: nothing was begun\n",
             rlf_record_signal(number));
    if (isatty(STDERR_FILENO) && !rlf_cmd_diag_json())
        fputc('\n', stderr); /* below the live line */
    rlf_cmd_put_message(text);
}

/* Process 0 speaks; the others wait for what its end makes the launcher do. */
static void
end(const rlf_session *s, int number)
{
    const rlf_comm_world *world = s->opened.world;
    bool many = world && rlf_comm_world_caps(world)->n_processes > 1;
    if (many ? rlf_comm_world_process(world) == 0 : s->leads) {
        rlf_opening_say(number);
        rlf_clock_sleep(many ? PASSED_ON_NS : 0);
    } else if (many) {
        rlf_clock_sleep(LEFT_NS);
    }
    _exit(128 + number);
}

static void *
wait_for_signal(void *arg)
{
    rlf_session *s = arg;
    while (!__atomic_load_n(&watch.over, __ATOMIC_ACQUIRE)) {
        int number = *watch.signal == SIGUSR1 ? 0 : *watch.signal;
        number = rlf_opening_told(s, number);
        if (number && rlf_opening_interrupt(s, number))
            end(s, number);
        if (number)
            break; /* it has begun */
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        sem_timedwait(&watch.wake, &until);
    }
    return NULL;
}

rlf_status
rlf_opening_watch(rlf_session *s, const volatile sig_atomic_t *signal,
                  rlf_err *err)
{
    sigset_t all, before;
    watch.signal = signal;
    sem_init(&watch.wake, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&watch.thread, NULL, wait_for_signal, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    watch.runs = !failed;
    if (!failed)
        return RLF_OK;
    errno = failed;
    return rlf_fail_errno(err, "cannot start a thread that waits for signals");
}

void
rlf_opening_over(void)
{
    if (!watch.runs)
        return;
    __atomic_store_n(&watch.over, true, __ATOMIC_RELEASE);
    rlf_opening_wake();
    pthread_join(watch.thread, NULL);
    watch.runs = false;
}
