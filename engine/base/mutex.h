/* A mutex that may be absent. A thread that makes files which another thread
 * may have to remove takes it first; a thread that ends the process takes it
 * and keeps it, so that no more are made. */
#ifndef RLF_BASE_MUTEX_H
#define RLF_BASE_MUTEX_H

#include <pthread.h>

typedef pthread_mutex_t rlf_mutex;

/* NULL: there is no other thread, and nothing is done. */
void rlf_mutex_lock(rlf_mutex *mutex);
void rlf_mutex_unlock(rlf_mutex *mutex);

#endif
