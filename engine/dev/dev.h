/* Devices: memory, queues and events.
 *
 * A device owns memory and makes queues; a queue runs work in order. On the
 * CPU (cpu.c) a queue is synchronous: when a call returns its work is done,
 * and events are trivial. A CUDA device puts streams behind the same table,
 * so callers keep the order contract of each member below and never assume
 * more. Tensor operations (kernels/kernels.h) take a queue as first argument.
 *
 * Nothing here is global: a rank makes its device and queues and hands them
 * on. All members of rlf_device_ops are set; what a device cannot do returns
 * a status. Where to start reading: cpu.c. */
#ifndef RLF_DEV_DEV_H
#define RLF_DEV_DEV_H

#include "engine/base/status.h"
#include "engine/dev/team.h"

typedef struct rlf_device rlf_device;
typedef struct rlf_queue rlf_queue;
typedef struct rlf_event rlf_event;
typedef struct rlf_recording rlf_recording;

typedef struct rlf_device_caps {
    bool host_memory;  /* the host may dereference device pointers, and
                          free() is a way to free them */
    bool asynchronous; /* calls return before their work is done */
    bool records;      /* queues can record */
    int n_threads;     /* threads of a queue's team (1 on a GPU) */
    size_t alignment;  /* bytes that every allocation is aligned to */
} rlf_device_caps;

/* Memory of a device that has its own: bytes that can be taken now, and in all;
 * which device it is of (rlf_device.id). */
typedef struct rlf_device_memory {
    uint64_t left, all;
    uint8_t id[16];
} rlf_device_memory;

/* Ordinary memory of the host may change as soon as a copy TO_DEVICE has
 * returned; what comes TO_HOST is there after the next queue_sync, and the
 * place for it has to stay until then. */
typedef enum rlf_copy {
    RLF_COPY_ON_DEVICE,
    RLF_COPY_TO_DEVICE,
    RLF_COPY_TO_HOST,
    RLF_COPY_ON_HOST, /* between large blocks of the host, in queue order too */
} rlf_copy;

typedef struct rlf_device_ops {
    const char *name, *doc;
    /* `bytes` of memory aligned to caps.alignment, contents undefined.
     * RLF_ENV when there is not enough. bytes 0 gives NULL. */
    rlf_status (*alloc)(rlf_device *device, size_t bytes, void **out,
                        rlf_err *err);
    /* `p` and `bytes` as given to and by alloc; p may be NULL. All work that
     * uses it must be done. */
    void (*free)(rlf_device *device, void *p, size_t bytes);
    /* Memory of the host, zeroed, that copies reach fastest: pinned for a GPU.
     * What is copied from it has to stay until that is done, and what is copied
     * to it is there once an event behind that has happened. RLF_ENV when there
     * is not enough. */
    rlf_status (*host_alloc)(rlf_device *device, size_t bytes, void **out,
                             rlf_err *err);
    void (*host_free)(rlf_device *device, void *p, size_t bytes); /* as free */
    /* In queue order. Ranges do not overlap. */
    rlf_status (*copy)(rlf_queue *queue, void *to, const void *from,
                       size_t bytes, rlf_copy kind, rlf_err *err);
    /* The same for `rows` rows of `bytes` bytes each, which begin `to_stride`
     * and `from_stride` bytes after one another (at least `bytes`). On the host
     * they lie in memory of host_alloc. */
    rlf_status (*copy_rows)(rlf_queue *queue, void *to, size_t to_stride,
                            const void *from, size_t from_stride, size_t bytes,
                            size_t rows, rlf_copy kind, rlf_err *err);
    /* Every byte becomes `byte`, in queue order. */
    rlf_status (*set)(rlf_queue *queue, void *to, int byte, size_t bytes,
                      rlf_err *err);
    rlf_status (*queue_new)(rlf_device *device, rlf_queue **out, rlf_err *err);
    void (*queue_free)(rlf_queue *queue);
    /* Returns when all work of the queue is done; reports its first error. */
    rlf_status (*queue_sync)(rlf_queue *queue, rlf_err *err);
    rlf_status (*event_new)(rlf_device *device, rlf_event **out, rlf_err *err);
    void (*event_free)(rlf_event *event);
    /* The event happens when the queue's work so far is done. */
    rlf_status (*event_record)(rlf_event *event, rlf_queue *queue,
                               rlf_err *err);
    /* Later work of `queue` starts after the event. The host goes on. */
    rlf_status (*event_wait)(rlf_event *event, rlf_queue *queue, rlf_err *err);
    /* RLF_OK: it happened; RLF_AGAIN: not yet. Any thread of the process may
     * ask, while nobody records it; for a thread that does not own the queue,
     * that says nothing of memory of the host, and the queue need not get on
     * for it: it does when its owner asks. What a lane has gets on whoever
     * asks. */
    rlf_status (*event_done)(rlf_event *event, rlf_err *err);
    /* Returns when an event that the queue was given has happened, whatever the
     * queue was given later; reports an error that is known then. */
    rlf_status (*event_sync)(rlf_event *event, rlf_queue *queue, rlf_err *err);
    /* Can queues of this device read the memory of device `number` of its kind
     * in this process, its own too? What that needs is switched on. */
    bool (*reaches)(rlf_device *device, int number);
    /* A queue beside those that compute, for copy_from and events alone: it
     * takes no memory. Ends by queue_free. */
    rlf_status (*lane_new)(rlf_device *device, rlf_queue **out, rlf_err *err);
    /* In queue order, from memory of `other`, which the queue's device reaches.
     */
    rlf_status (*copy_from)(rlf_queue *queue, void *to, const rlf_device *other,
                            const void *from, size_t bytes, rlf_err *err);
    /* If caps.records says so, else RLF_BUG: from now on operations, copies
     * on the device and sets of the queue are not carried out but recorded,
     * with their arguments as they are now. What needs the host or memory while
     * it records is RLF_BUG: other copies, waits, events, arrays that an
     * operation takes from the host, alloc. */
    rlf_status (*record)(rlf_queue *queue, rlf_err *err);
    /* The end of that, also after an error. `out` NULL: it is thrown away. */
    rlf_status (*recorded)(rlf_queue *queue, rlf_recording **out, rlf_err *err);
    /* All of it is carried out in queue order, on what its memory then has. */
    rlf_status (*replay)(rlf_queue *queue, rlf_recording *recording,
                         rlf_err *err);
    /* Before its queue is. What is under way of it goes on. NULL is fine. */
    void (*recording_free)(rlf_recording *recording);
    /* Nothing that the queue has recorded can be carried out any more
     * (RLF_BUG), nor does the driver keep it, once what is under way is done; a
     * recording under way ends. All are still to be freed. */
    void (*recordings_end)(rlf_queue *queue);
    void (*device_free)(rlf_device *device);
} rlf_device_ops;

struct rlf_device {
    const rlf_device_ops *ops;
    rlf_device_caps caps;
    uint8_t id[16]; /* of the hardware: which of all GPUs; 0: the host */
    int number; /* its number among those of its kind, as this process counts
                   them */
    rlf_team *team; /* the rank's threads of the host, for work that is no
                       operation: first weights, programs per word */
    size_t allocated, peak; /* bytes, now and at most */
    int choices;            /* the number of its kernels' choices
                               (kernels/cuda/algorithms.h); 0: there are none */
    bool recorded_enough;   /* its driver has no room left for recordings: more
                               can be made, but better not */
};

/* Called before (begin = true) and after each operation on a queue. */
typedef void rlf_queue_hook(void *ctx, const char *operation, bool begin);
/* Called again and again while the host waits for a queue whose work may itself
 * wait for others (`first`: a wait begins); an error ends the wait and becomes
 * that of queue_sync or event_sync. */
typedef rlf_status rlf_queue_watch(void *ctx, bool first, rlf_err *err);

struct rlf_queue {
    rlf_device *device;
    rlf_queue_watch *watch; /* or NULL */
    void *watch_ctx;
    rlf_queue_hook *hook; /* or NULL */
    void *hook_ctx;
};

/* The members of a CPU queue; kernels/cpu casts to it. */
typedef struct rlf_cpu_queue {
    rlf_queue queue; /* first */
    rlf_team *team;  /* the device's; one queue at a time uses it */
    int n_threads;
    char **scratch; /* [n_threads] blocks of scratch_bytes, 64-aligned */
    size_t scratch_bytes;
} rlf_cpu_queue;

typedef struct rlf_cpu_options {
    int n_threads;       /* 0: all cores this process may use */
    int n_run_threads;   /* threads of the whole run, for the wait rule;
                            0: n_threads */
    size_t memory_limit; /* bytes of alloc in all; 0: none */
} rlf_cpu_options;

/* A device on the host's cores with a team of threads of its own. */
rlf_status rlf_device_cpu_new(const rlf_cpu_options *options, rlf_device **out,
                              rlf_err *err);

/* The calls above by their short names. */
static inline rlf_status
rlf_device_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    return device->ops->alloc(device, bytes, out, err);
}

static inline void
rlf_device_release(rlf_device *device, void *p, size_t bytes)
{
    device->ops->free(device, p, bytes);
}

static inline void
rlf_device_free(rlf_device *device)
{
    if (device)
        device->ops->device_free(device);
}

static inline rlf_status
rlf_queue_new(rlf_device *device, rlf_queue **out, rlf_err *err)
{
    return device->ops->queue_new(device, out, err);
}

static inline void
rlf_queue_free(rlf_queue *queue)
{
    if (queue)
        queue->device->ops->queue_free(queue);
}

static inline rlf_status
rlf_queue_copy(rlf_queue *queue, void *to, const void *from, size_t bytes,
               rlf_copy kind, rlf_err *err)
{
    return queue->device->ops->copy(queue, to, from, bytes, kind, err);
}

static inline rlf_status
rlf_queue_copy_rows(rlf_queue *queue, void *to, size_t to_stride,
                    const void *from, size_t from_stride, size_t bytes,
                    size_t rows, rlf_copy kind, rlf_err *err)
{
    return queue->device->ops->copy_rows(queue, to, to_stride, from,
                                         from_stride, bytes, rows, kind, err);
}

static inline rlf_status
rlf_queue_set(rlf_queue *queue, void *to, int byte, size_t bytes, rlf_err *err)
{
    return queue->device->ops->set(queue, to, byte, bytes, err);
}

static inline rlf_status
rlf_queue_sync(rlf_queue *queue, rlf_err *err)
{
    return queue->device->ops->queue_sync(queue, err);
}

static inline rlf_status
rlf_event_sync(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    return queue->device->ops->event_sync(event, queue, err);
}

#endif
