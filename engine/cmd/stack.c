/* A stack that is large enough, whatever `ulimit -s` says.
 *
 * The passes over programs recurse as deep as their limits allow
 * (grammar/sema.h), and files are read through buffers on the stack. Where the
 * shell gave less than the usual 8 MB, the command runs on a thread that has
 * them, and so does every thread that it starts. */
#define _GNU_SOURCE /* pthread_setattr_default_np */
#include "engine/cmd/cmd.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

enum { ENOUGH = 8 << 20 };

typedef struct job {
    int (*run)(void *);
    void *arg;
    int status;
} job;

static void *
run_job(void *arg)
{
    job *j = arg;
    j->status = j->run(j->arg);
    return NULL;
}

int
rlf_cmd_with_stack(int (*run)(void *), void *arg)
{
    struct rlimit limit;
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;
    job j = {.run = run, .arg = arg};
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= ENOUGH ||
        pthread_attr_init(&attr) != 0)
        return run(arg);
    pthread_attr_setstacksize(&attr, ENOUGH);
    bool made = pthread_setattr_default_np(&attr) == 0 &&
                pthread_create(&thread, NULL, run_job, &j) == 0;
    pthread_attr_destroy(&attr);
    if (!made)
        return run(arg);
    /* signals are the business of the thread that trains */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return j.status;
}
