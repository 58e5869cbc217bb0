/* The host as a device: memory aligned to cache lines (and to huge pages when
 * large), synchronous queues, trivial events. The operations that run on its
 * queues are in kernels/cpu. */
#define _GNU_SOURCE
#include "engine/base/arena.h"
#include "engine/dev/cores.h"
#include "engine/dev/dev.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64
#define HUGE ((size_t)2 << 20)
/* Scratch of one thread: what the largest tile of an operation needs
 * (kernels/cpu/ops.h asserts it). */
#define SCRATCH ((size_t)1 << 20)

typedef struct cpu_device {
    rlf_device device; /* first */
    size_t limit;
} cpu_device;

struct rlf_event {
    bool recorded;
};

static rlf_status
cpu_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    cpu_device *cpu = (cpu_device *)device;
    *out = NULL;
    if (bytes == 0)
        return RLF_OK;
    size_t align = bytes >= HUGE ? HUGE : ALIGNMENT;
    size_t have = bytes > SIZE_MAX - align
                      ? 0
                      : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    bool fits =
        have && (!cpu->limit || (have <= cpu->limit &&
                                 device->allocated <= cpu->limit - have));
    void *p = NULL;
    if (!fits || posix_memalign(&p, align, have) != 0) {
        rlf_status status =
            rlf_fail(err, fits ? RLF_MEMORY : RLF_ENV,
                     "no memory for a block of %zu bytes (%zu are in use)",
                     bytes, device->allocated);
        rlf_err_hint(err, "lower the caps of the run (see rlflow check)");
        return status;
    }
    if (align == HUGE)
        madvise(p, have, MADV_HUGEPAGE); /* only a hint */
    device->allocated += have;
    if (device->allocated > device->peak)
        device->peak = device->allocated;
    *out = p;
    return RLF_OK;
}

static void
cpu_free(rlf_device *device, void *p, size_t bytes)
{
    if (!p)
        return;
    device->allocated -= (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    free(p);
}

static rlf_status
cpu_host_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    (void)device;
    *out = bytes ? calloc(1, bytes) : NULL;
    if (bytes && !*out)
        return rlf_fail_memory(err, bytes, "a block of the host");
    return RLF_OK;
}

static void
cpu_host_free(rlf_device *device, void *p, size_t bytes)
{
    (void)device, (void)bytes;
    free(p);
}

static rlf_status
cpu_copy(rlf_queue *queue, void *to, const void *from, size_t bytes,
         rlf_copy kind, rlf_err *err)
{
    (void)queue, (void)kind, (void)err;
    if (bytes)
        memcpy(to, from, bytes);
    return RLF_OK;
}

static rlf_status
cpu_copy_rows(rlf_queue *queue, void *to, size_t to_stride, const void *from,
              size_t from_stride, size_t bytes, size_t rows, rlf_copy kind,
              rlf_err *err)
{
    (void)queue, (void)kind, (void)err;
    if (to_stride == bytes && from_stride == bytes) {
        bytes *= rows;
        rows = bytes != 0;
    }
    for (size_t i = 0; i < rows && bytes; i++)
        memcpy((char *)to + i * to_stride, (const char *)from + i * from_stride,
               bytes);
    return RLF_OK;
}

/* A large block is set by all threads, each an equal part: the first touch of a
 * page takes many times as long as writing it, and a hundred times as long on a
 * virtual machine whose host has yet to find the page. */
#define SHARED_BYTES (4 * HUGE)

typedef struct setting {
    char *to;
    int byte;
    size_t bytes;
} setting;

static void
set_part(void *arg, int thread, int n_threads)
{
    const setting *s = arg;
    size_t each = s->bytes / (size_t)n_threads / HUGE * HUGE;
    size_t first = each * (size_t)thread;
    size_t n = thread == n_threads - 1 ? s->bytes - first : each;
    memset(s->to + first, s->byte, n);
}

static rlf_status
cpu_set(rlf_queue *queue, void *to, int byte, size_t bytes, rlf_err *err)
{
    (void)err;
    setting s = {to, byte, bytes};
    if (bytes >= SHARED_BYTES)
        rlf_team_run(queue->device->team, set_part, &s);
    else if (bytes)
        memset(to, byte, bytes);
    return RLF_OK;
}

static void
cpu_queue_free(rlf_queue *queue)
{
    rlf_cpu_queue *q = (rlf_cpu_queue *)queue;
    for (int i = 0; i < q->n_threads; i++)
        queue->device->ops->free(queue->device, q->scratch[i],
                                 q->scratch_bytes);
    free(q->scratch);
    free(q);
}

static rlf_status
cpu_queue_new(rlf_device *device, rlf_queue **out, rlf_err *err)
{
    int n = rlf_team_size(device->team);
    rlf_cpu_queue *q = rlf_calloc(1, sizeof *q);
    q->queue.device = device;
    q->team = device->team;
    q->scratch_bytes = SCRATCH;
    q->scratch = rlf_calloc((size_t)n, sizeof(char *));
    for (; q->n_threads < n; q->n_threads++) {
        void *block;
        rlf_status status = cpu_alloc(device, SCRATCH, &block, err);
        if (status < 0) {
            cpu_queue_free(&q->queue);
            return status;
        }
        q->scratch[q->n_threads] = block;
    }
    *out = &q->queue;
    return RLF_OK;
}

static rlf_status
cpu_queue_sync(rlf_queue *queue, rlf_err *err)
{
    (void)queue, (void)err;
    return RLF_OK;
}

static rlf_status
cpu_event_new(rlf_device *device, rlf_event **out, rlf_err *err)
{
    (void)device, (void)err;
    *out = rlf_calloc(1, sizeof **out);
    return RLF_OK;
}

static void
cpu_event_free(rlf_event *event)
{
    free(event);
}

static rlf_status
cpu_event_record(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    (void)queue, (void)err;
    event->recorded = true;
    return RLF_OK;
}

static rlf_status
cpu_event_wait(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    (void)queue;
    if (!event->recorded)
        return rlf_fail(err, RLF_BUG, "waits for an event never recorded");
    return RLF_OK;
}

static rlf_status
cpu_event_done(rlf_event *event, rlf_err *err)
{
    (void)err;
    return event->recorded ? RLF_OK : RLF_AGAIN;
}

/* Its memory is the host's: nobody needs more than a copy. */
static bool
cpu_reaches(rlf_device *device, int number)
{
    (void)device, (void)number;
    return false;
}

static rlf_status
cpu_copy_from(rlf_queue *queue, void *to, const rlf_device *other,
              const void *from, size_t bytes, rlf_err *err)
{
    (void)other;
    return cpu_copy(queue, to, from, bytes, RLF_COPY_ON_DEVICE, err);
}

static rlf_status
cpu_event_sync(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    return cpu_event_wait(event, queue, err);
}

static rlf_status
no_recording(rlf_err *err)
{
    return rlf_fail(err, RLF_BUG, "a queue of the CPU does not record");
}

static rlf_status
cpu_record(rlf_queue *queue, rlf_err *err)
{
    (void)queue;
    return no_recording(err);
}

static rlf_status
cpu_recorded(rlf_queue *queue, rlf_recording **out, rlf_err *err)
{
    (void)queue, (void)out;
    return no_recording(err);
}

static rlf_status
cpu_replay(rlf_queue *queue, rlf_recording *recording, rlf_err *err)
{
    (void)queue, (void)recording;
    return no_recording(err);
}

static void
cpu_recording_free(rlf_recording *recording)
{
    (void)recording;
}

static void
cpu_recordings_end(rlf_queue *queue)
{
    (void)queue;
}

static void
cpu_device_free(rlf_device *device)
{
    rlf_team_free(device->team);
    free(device);
}

static const rlf_device_ops cpu_ops = {
    .name = "cpu",
    .doc = "the cores of this machine",
    .alloc = cpu_alloc,
    .free = cpu_free,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .copy = cpu_copy,
    .copy_rows = cpu_copy_rows,
    .set = cpu_set,
    .queue_new = cpu_queue_new,
    .queue_free = cpu_queue_free,
    .queue_sync = cpu_queue_sync,
    .event_new = cpu_event_new,
    .event_free = cpu_event_free,
    .event_record = cpu_event_record,
    .event_wait = cpu_event_wait,
    .event_done = cpu_event_done,
    .event_sync = cpu_event_sync,
    .reaches = cpu_reaches,
    .lane_new = cpu_queue_new,
    .copy_from = cpu_copy_from,
    .record = cpu_record,
    .recorded = cpu_recorded,
    .replay = cpu_replay,
    .recording_free = cpu_recording_free,
    .recordings_end = cpu_recordings_end,
    .device_free = cpu_device_free,
};

rlf_status
rlf_device_cpu_new(const rlf_cpu_options *options, rlf_device **out,
                   rlf_err *err)
{
    int n = options->n_threads ? options->n_threads : rlf_cores_count();
    int n_run = options->n_run_threads > n ? options->n_run_threads : n;
    cpu_device *cpu = rlf_calloc(1, sizeof *cpu);
    rlf_status status = rlf_team_new(n, n_run, &cpu->device.team, err);
    if (status < 0) {
        free(cpu);
        return status;
    }
    cpu->limit = options->memory_limit;
    cpu->device.ops = &cpu_ops;
    cpu->device.caps = (rlf_device_caps){
        .host_memory = true, .n_threads = n, .alignment = ALIGNMENT};
    *out = &cpu->device;
    return RLF_OK;
}
