/* One message of a batch: it starts, and it is done. */
#include "engine/comm/internal.h"

rlf_status
rlf_request_start(rlf_comm *comm, rlf_request *r, rlf_err *err)
{
    if (r->channel) {
        rlf_channel_start(comm, r);
        return RLF_OK;
    }
    if (r->strided && !(r->data = rlf_try_malloc(r->bytes + 1)))
        return rlf_fail_memory(err, r->bytes, "a message of rank %d",
                               comm->rank);
    if (r->strided && r->send)
        rlf_request_pack(r, r->data);
    comm->n_remote++;
    return comm->world->options.backend->start(comm, r, err);
}

void
rlf_request_finish(rlf_comm *comm, rlf_request *r)
{
    r->finished = true;
    if (r->data && r->strided && !r->send)
        rlf_request_unpack(r, r->data);
    r->batch->left--;
    r->batch->receiving -= !r->send;
    comm->n_moved++;
    rlf_comm_heartbeat(comm);
    if (!r->channel)
        comm->n_remote--;
}
