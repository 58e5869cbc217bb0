/* See gate.h. */
#include "engine/base/gate.h"

void
rlf_gate_enter(rlf_gate *gate)
{
    if (gate)
        pthread_mutex_lock(gate);
}

void
rlf_gate_leave(rlf_gate *gate)
{
    if (gate)
        pthread_mutex_unlock(gate);
}
