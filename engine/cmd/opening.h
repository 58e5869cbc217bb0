/* Signals while a run opens: a thread waits for them, for a signal handler may
 * not remove what was made. */
#ifndef RLF_CMD_OPENING_H
#define RLF_CMD_OPENING_H

#include "engine/api/session.h"

#include <signal.h>

/* Start the thread. A signal (*signal, other than SIGUSR1) that comes before
 * the run has begun, here or in another process, ends this one with status 128
 * plus its number, with nothing left of what was made. */
rlf_status rlf_opening_watch(rlf_session *session,
                             const volatile sig_atomic_t *signal, rlf_err *err);
/* By a signal handler, which has set *signal. */
void rlf_opening_wake(void);
/* It has begun, or failed to. Does not return where a signal came first. */
void rlf_opening_over(void);
/* Say that nothing was begun. */
void rlf_opening_say(int signal);

#endif
