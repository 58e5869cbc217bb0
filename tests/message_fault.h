/* A message of a rank that fails, whatever begins it. The linker puts this in
 * the place of the library's rlf_request_start (--wrap in
 * engine/comm/local.mk), which knows of no faults. */
#ifndef RLF_TESTS_MESSAGE_FAULT_H
#define RLF_TESTS_MESSAGE_FAULT_H

#include "engine/comm/internal.h"

static struct {
    rlf_comm *comm; /* atomic */
    int64_t n;
} message_fault;

/* The n-th message (1: the next) that this rank of the process starts fails; of
 * one rank at a time. NULL: none. */
static void
fail_message(rlf_comm *comm, int64_t n)
{
    message_fault.n = n;
    __atomic_store_n(&message_fault.comm, comm, __ATOMIC_RELEASE);
}

rlf_status __real_rlf_request_start(rlf_comm *comm, rlf_request *request,
                                    rlf_err *err);
rlf_status __wrap_rlf_request_start(rlf_comm *comm, rlf_request *request,
                                    rlf_err *err);

rlf_status
__wrap_rlf_request_start(rlf_comm *comm, rlf_request *request, rlf_err *err)
{
    bool mine = __atomic_load_n(&message_fault.comm, __ATOMIC_ACQUIRE) == comm;
    if (mine && message_fault.n && --message_fault.n == 0)
        return rlf_fail(err, RLF_ENV, "rank %d fails in %s, as a test wants it",
                        rlf_comm_rank(comm),
                        rlf_kind_names[request->batch->kind]);
    return __real_rlf_request_start(comm, request, err);
}

#endif
