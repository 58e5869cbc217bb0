/* See mutex.h. */
#include "engine/base/mutex.h"

void
rlf_mutex_lock(rlf_mutex *mutex)
{
    if (mutex)
        pthread_mutex_lock(mutex);
}

void
rlf_mutex_unlock(rlf_mutex *mutex)
{
    if (mutex)
        pthread_mutex_unlock(mutex);
}
