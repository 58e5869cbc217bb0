/* A gate: one thread at a time is inside. Who makes files that another thread
 * may have to remove enters it first; a thread that ends the process goes in
 * and stays, so that no more are made. */
#ifndef RLF_BASE_GATE_H
#define RLF_BASE_GATE_H

#include <pthread.h>

typedef pthread_mutex_t rlf_gate;

/* NULL is fine: then there is nobody to be kept out. */
void rlf_gate_enter(rlf_gate *gate);
void rlf_gate_leave(rlf_gate *gate);

#endif
