/* Communication of device memory: the calls of comm.h for what lies on a
 * rank's device, in the order of its queue.
 *
 * An end is told once, before its rank works, which queue its rank has
 * (rlf_comm_attach); the best *transport* for all ranks is found then:
 *
 *   direct   the device's memory is the host's: comm.h's calls themselves
 *   staged   through pinned memory of the host, in chunks (staged.c)
 *   nccl     from GPU to GPU, where every rank has one alone (nccl.c)
 *
 * Messages that are started and awaited later go from device to device by
 * themselves between ranks of one process whose devices reach each other
 * (peer.c), else through the host (transfer.c), whatever the transport.
 *
 * All give the same bits. `queue` is the attached one; where device memory is
 * the host's, no end need be attached. A call here waits for nothing that the
 * transport does not need: what it moves is there for later work of the queue,
 * and the host knows of it after rlf_queue_sync(). Groups, sizes, the order of
 * calls and what an error means are as in comm.h. A message is started
 * (rlf_device_start) on both sides, or exchanged on both, in one piece or in
 * strided rows on both. Of those that are exchanged the order alone matches,
 * not the tag. */
#ifndef RLF_COMM_DEVICE_H
#define RLF_COMM_DEVICE_H

#include "engine/comm/comm.h"
#include "engine/dev/dev.h"

typedef struct rlf_device_transfer rlf_device_transfer;

/* A transport of device memory, as it is on one rank. */
typedef struct rlf_device_transport {
    const char *name, *doc;
    /* The queue or thread that started messages go to, in words. */
    const char *started;
    /* Of this rank, set apart by rlf_comm_attach(). Messages that are started
     * and go through the host take more of it, as they come. */
    size_t host_bytes, device_bytes;
    size_t nccl_bytes; /* bytes of the device that NCCL took for itself */
    bool estimated; /* NCCL has taken nothing yet, and its bytes are an estimate
                     */
} rlf_device_transport;

/* Adds on the device: out[i] = rlf_comm_fold() of the parts, which the host
 * lists, in queue order. */
typedef rlf_status rlf_fold_fn(rlf_queue *queue, void *out,
                               const void *const *parts, int n_parts, size_t n,
                               rlf_comm_type type, rlf_comm_op op,
                               rlf_err *err);

typedef struct rlf_attach_options {
    const struct rlf_nccl *nccl; /* nccl.h; NULL: without */
    rlf_fold_fn *fold;           /* the kernel that adds for it */
    /* Bytes of the device that are taken, by whomever; NULL: not known. */
    size_t (*taken)(rlf_device *device);
} rlf_attach_options;

/* The options that this build and this machine have for a device; NCCL is
 * looked for where the device is a GPU. *why: without it, why so, else NULL. */
rlf_attach_options rlf_attach_best(const rlf_device *device, const char **why);
/* Finds the transport that rlf_comm_attach() will find, without taking
 * anything: called by every rank of the world together. */
rlf_status rlf_comm_estimate_transport(rlf_comm *comm, rlf_queue *queue,
                                       const rlf_attach_options *options,
                                       rlf_err *err, rlf_device_transport *out);
/* Once by every rank of the world together; the queue must outlive it. */
rlf_status rlf_comm_attach(rlf_comm *comm, rlf_queue *queue,
                           const rlf_attach_options *options, rlf_err *err);
/* Called before the queue ends; nothing is under way any more, unless the run
 * was aborted. Not attached is fine. */
void rlf_comm_detach(rlf_comm *comm);
/* NULL: not attached. */
const rlf_device_transport *rlf_comm_device_transport(const rlf_comm *comm);
/* Are exchanges and collectives nothing but work of the queue, which the host
 * does not wait for, and which can be recorded (dev.h)? Recorded on one rank
 * they are to be recorded on all that they are with, and carried out on all of
 * them from those recordings. */
bool rlf_device_is_queued(const rlf_group *group);
/* Can calls still be made, and what was recorded of them be carried out? */
rlf_status rlf_device_check(rlf_queue *queue, const rlf_group *group,
                            rlf_err *err);
/* Host bytes that the staged transport takes in a world of n ranks. */
size_t rlf_device_staging(int n);

/* -- messages ------------------------------------------------------------ */

/* Start all, after the queue's work so far; *out is to be given to
 * rlf_device_wait() in any case but an error. The arrays may go; what is sent
 * stays until it is done. What is received is there for work that the queue is
 * given after the test or the wait that found it done; the place for it is
 * nobody else's in between. A message from device to device moves on in the
 * calls of both its ranks, and needs nothing of the queue meanwhile. */
rlf_status rlf_device_start(rlf_queue *queue, rlf_group *group, int tag,
                            const rlf_part *sends, int n_sends,
                            const rlf_part *receives, int n_receives,
                            rlf_device_transfer **out, rlf_err *err);
/* These two do as rlf_batch_test() and rlf_batch_wait(). */
rlf_status rlf_device_test(rlf_device_transfer **transfer, rlf_err *err);
rlf_status rlf_device_wait(rlf_device_transfer **transfer, rlf_err *err);

rlf_status rlf_device_exchange(rlf_queue *queue, rlf_group *group, int tag,
                               const rlf_part *sends, int n_sends,
                               const rlf_part *receives, int n_receives,
                               rlf_err *err);
rlf_status rlf_device_exchange_strided(rlf_queue *queue, rlf_group *group,
                                       int tag,
                                       const rlf_strided_message *sends,
                                       int n_sends,
                                       const rlf_strided_message *receives,
                                       int n_receives, rlf_err *err);

/* -- collectives --------------------------------------------------------- */

rlf_status rlf_device_all_gather(rlf_queue *queue, rlf_group *group,
                                 const void *data, size_t bytes, void *out,
                                 rlf_err *err);
rlf_status rlf_device_all_gatherv(rlf_queue *queue, rlf_group *group,
                                  const void *data, const size_t *bytes,
                                  void *out, rlf_err *err);
rlf_status rlf_device_all_reduce(rlf_queue *queue, rlf_group *group,
                                 const void *in, void *out, size_t n,
                                 rlf_comm_type type, rlf_comm_op op,
                                 rlf_err *err);
rlf_status rlf_device_reduce_scatter(rlf_queue *queue, rlf_group *group,
                                     const void *in, void *out,
                                     const size_t *counts, rlf_comm_type type,
                                     rlf_comm_op op, rlf_err *err);

#endif
