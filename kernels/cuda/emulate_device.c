/* See emulate_device.h. A device is one range of addresses, given out from its
 * beginning and opened as a whole. */
#define _GNU_SOURCE
#include "kernels/cuda/emulate_device.h"

#include "engine/base/arena.h"
#include "engine/base/vec.h"
#include "engine/dev/cores.h"
#include "kernels/cuda/emulate_steps.h"
#include "kernels/cuda/algorithms.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT ((size_t)256)
#define MEMORY ((size_t)512 << 20)
enum { DEVICES = 2, RUBBISH = 0xa5 };

typedef struct block {
    size_t at, bytes;
} block;

typedef struct emulated_device {
    rlf_device device; /* first */
    char *base;        /* MEMORY bytes of addresses */
    char *open_base;   /* the same memory, always open: for other ranks */
    size_t limit;
    RLF_VEC(block) blocks; /* in use, ascending */
    size_t end;            /* of the last */
    int open;              /* what is carried out */
    RLF_VEC(block) pinned; /* of the host: their addresses */
    struct emulated_queue *queues;
    rlf_queue *recording; /* or NULL */
    rlf_emulated_steps *recorded;
} emulated_device;

/* On its way to the host. */
typedef struct landing {
    void *to;
    char *bytes;
    size_t n;
} landing;

/* Nothing is carried out before somebody waits for it: its owner alone, or of a
 * lane, which copies and is no more, anybody. */
typedef struct emulated_queue {
    rlf_queue queue; /* first */
    rlf_emulated_steps *steps;
    uint64_t done;     /* steps before these */
    uint64_t happened; /* the same, once they are over: for other threads */
    pthread_t owner;
    bool lane;
    RLF_VEC(landing) landings;
    uint64_t landed; /* those before */
    RLF_VEC(rlf_recording *) recordings;
    struct emulated_queue *next;
} emulated_queue;

struct rlf_recording {
    emulated_queue *queue;
    rlf_emulated_steps *steps; /* NULL: ended */
};

struct rlf_event {
    emulated_queue *queue; /* NULL: never recorded */
    uint64_t steps;        /* of its, that came before the event */
    uint64_t landings;
    bool asked; /* since */
};

/* ---- memory ---- */

static void
protect(const emulated_device *d, bool can)
{
    size_t n = (d->end + 4095) / 4096 * 4096;
    if (n)
        mprotect(d->base, n, can ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void
enter(emulated_device *d)
{
    if (d->open++ == 0)
        protect(d, true);
}

static void
leave(emulated_device *d)
{
    if (--d->open == 0)
        protect(d, false);
}

static size_t
rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static rlf_status
not_recorded(bool records, const char *what, rlf_err *err)
{
    return records ? rlf_fail(err, RLF_BUG,
                              "a queue that records cannot have %s", what)
                   : RLF_OK;
}

static rlf_status
emulated_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    emulated_device *d = (emulated_device *)device;
    size_t have = rounded(bytes);
    *out = NULL;
    if (bytes == 0)
        return RLF_OK;
    RLF_TRY(not_recorded(d->recording, "memory taken meanwhile", err));
    if (have < bytes || have > MEMORY - d->end ||
        (d->limit && (have > d->limit || device->allocated > d->limit - have)))
        return rlf_fail(err, RLF_ENV,
                        "no memory for a block of %zu bytes on the emulated "
                        "GPU (%zu are in use)",
                        bytes, device->allocated);
    RLF_PUSH(&d->blocks, (block){d->end, have});
    *out = d->base + d->end;
    d->end += have;
    device->allocated += have;
    if (device->allocated > device->peak)
        device->peak = device->allocated;
    enter(d);
    memset(*out, RUBBISH, have);
    leave(d);
    return RLF_OK;
}

/* Addresses are used again once all behind them is free. */
static void
emulated_free(rlf_device *device, void *p, size_t bytes)
{
    emulated_device *d = (emulated_device *)device;
    if (!p)
        return;
    device->allocated -= rounded(bytes);
    for (size_t i = 0; i < d->blocks.count; i++)
        if (d->base + d->blocks.data[i].at == (char *)p)
            d->blocks.data[i].bytes = 0;
    while (d->blocks.count && !d->blocks.data[d->blocks.count - 1].bytes)
        d->end = d->blocks.data[--d->blocks.count].at;
}

static rlf_status
emulated_host_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    emulated_device *d = (emulated_device *)device;
    RLF_TRY(not_recorded(d->recording, "memory taken meanwhile", err));
    *out = bytes ? rlf_calloc(1, bytes) : NULL;
    if (bytes)
        RLF_PUSH(&d->pinned, (block){(size_t)*out, bytes});
    return RLF_OK;
}

static void
emulated_host_free(rlf_device *device, void *p, size_t bytes)
{
    emulated_device *d = (emulated_device *)device;
    (void)bytes;
    for (size_t i = 0; p && i < d->pinned.count; i++)
        if (d->pinned.data[i].at == (size_t)p)
            d->pinned.data[i] = d->pinned.data[--d->pinned.count];
    free(p);
}

static bool
is_pinned(const emulated_device *d, const void *p)
{
    for (size_t i = 0; i < d->pinned.count; i++)
        if ((size_t)p - d->pinned.data[i].at < d->pinned.data[i].bytes)
            return true;
    return false;
}

/* ---- queues ---- */

static bool
on_device(const emulated_device *d, const void *p, size_t bytes)
{
    const char *at = p;
    return at >= d->base && at + bytes <= d->base + d->end;
}

static rlf_status
check_copy(const emulated_device *d, const void *to, const void *from,
           size_t bytes, rlf_copy kind, rlf_err *err)
{
    bool to_it = kind == RLF_COPY_ON_DEVICE || kind == RLF_COPY_TO_DEVICE;
    bool from_it = kind == RLF_COPY_ON_DEVICE || kind == RLF_COPY_TO_HOST;
    if (to_it == on_device(d, to, bytes) &&
        from_it == on_device(d, from, bytes))
        return RLF_OK;
    return rlf_fail(err, RLF_BUG,
                    "a copy of kind %d is not between what it says", kind);
}

/* The first n that are on their way. */
static void
deliver(emulated_queue *q, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        landing *l = &q->landings.data[i];
        if (l->to)
            memcpy(l->to, l->bytes, l->n);
        free(l->bytes);
    }
    q->landed += n;
    q->landings.count -= n;
    if (q->landings.count)
        memmove(q->landings.data, q->landings.data + n,
                q->landings.count * sizeof *q->landings.data);
}

static void
deliver_before(void *queue, uint64_t landings)
{
    emulated_queue *q = queue;
    if (landings > q->landed)
        deliver(q, (size_t)(landings - q->landed));
}

/* For what lanes have; of any other queue only its owner sees that. */
static pthread_mutex_t lanes = PTHREAD_MUTEX_INITIALIZER;

static void
lock(const emulated_queue *q)
{
    if (q->lane)
        pthread_mutex_lock(&lanes);
}

static void
unlock(const emulated_queue *q)
{
    if (q->lane)
        pthread_mutex_unlock(&lanes);
}

/* The first `n` steps that the queue ever had are carried out. */
static void
catch_up(void *queue, uint64_t n)
{
    emulated_queue *q = queue;
    emulated_device *d = (emulated_device *)q->queue.device;
    lock(q);
    if (n > q->done) {
        size_t some = (size_t)(n - q->done);
        q->done = n;
        if (!q->lane)
            enter(d);
        rlf_emulated_carry_out(q->steps, some);
        if (!q->lane)
            leave(d);
        __atomic_store_n(&q->happened, n, __ATOMIC_RELEASE);
    }
    unlock(q);
}

static uint64_t
all_steps(const emulated_queue *q)
{
    lock(q);
    uint64_t n = q->done + rlf_emulated_steps_count(q->steps);
    unlock(q);
    return n;
}

/* The steps that work of the queue is put down in. */
static rlf_emulated_steps *
steps_of(const rlf_queue *queue)
{
    const emulated_device *d = (const emulated_device *)queue->device;
    return d->recording == queue ? d->recorded
                                 : ((const emulated_queue *)queue)->steps;
}

bool
rlf_emulated_records(const rlf_queue *queue)
{
    return ((const emulated_device *)queue->device)->recording == queue;
}

static rlf_status
emulated_copy(rlf_queue *queue, void *to, const void *from, size_t bytes,
              rlf_copy kind, rlf_err *err)
{
    emulated_queue *q = (emulated_queue *)queue;
    emulated_device *d = (emulated_device *)queue->device;
    if (bytes == 0)
        return RLF_OK;
    RLF_TRY(check_copy(d, to, from, bytes, kind, err));
    RLF_TRY(
        not_recorded(rlf_emulated_records(queue) && kind != RLF_COPY_ON_DEVICE,
                     "copies of the host's memory", err));
    if (kind == RLF_COPY_TO_HOST) {
        landing l = {to, rlf_malloc(bytes), bytes};
        RLF_PUSH(&q->landings, l);
        rlf_emulated_copy(q->steps, l.bytes, from, bytes, false);
        rlf_emulated_set(q->steps, to, RUBBISH, bytes);
        return RLF_OK;
    }
    if (kind == RLF_COPY_ON_HOST)
        rlf_emulated_call(q->steps, deliver_before, q,
                          q->landed + q->landings.count);
    rlf_emulated_copy(steps_of(queue), to, from, bytes,
                      kind == RLF_COPY_TO_DEVICE && !is_pinned(d, from));
    return RLF_OK;
}

static rlf_status
emulated_copy_rows(rlf_queue *queue, void *to, size_t to_stride,
                   const void *from, size_t from_stride, size_t bytes,
                   size_t rows, rlf_copy kind, rlf_err *err)
{
    for (size_t i = 0; i < rows; i++)
        RLF_TRY(emulated_copy(queue, (char *)to + i * to_stride,
                              (const char *)from + i * from_stride, bytes, kind,
                              err));
    return RLF_OK;
}

static rlf_status
emulated_set(rlf_queue *queue, void *to, int byte, size_t bytes, rlf_err *err)
{
    emulated_device *d = (emulated_device *)queue->device;
    if (bytes == 0)
        return RLF_OK;
    if (!on_device(d, to, bytes))
        return rlf_fail(err, RLF_BUG, "what is set is not on the device");
    rlf_emulated_set(steps_of(queue), to, byte, bytes);
    return RLF_OK;
}

static rlf_status
emulated_queue_new(rlf_device *device, rlf_queue **out, rlf_err *err)
{
    (void)err;
    emulated_device *d = (emulated_device *)device;
    emulated_queue *q = rlf_calloc(1, sizeof *q);
    q->queue.device = device;
    q->steps = rlf_emulated_steps_new(false);
    q->owner = pthread_self();
    q->next = d->queues;
    d->queues = q;
    *out = &q->queue;
    return RLF_OK;
}

static rlf_status
emulated_lane_new(rlf_device *device, rlf_queue **out, rlf_err *err)
{
    rlf_status status = emulated_queue_new(device, out, err);
    ((emulated_queue *)*out)->lane = true;
    return status;
}

/* Work that was not waited for is never carried out. Others may still want to
 * wait for it, so it stays as long as the device. */
static void
emulated_queue_free(rlf_queue *queue)
{
    emulated_queue *q = (emulated_queue *)queue;
    for (size_t i = 0; i < q->landings.count; i++)
        q->landings.data[i].to = NULL; /* which may be gone */
    deliver(q, q->landings.count);
    RLF_VEC_FREE(&q->landings);
    RLF_VEC_FREE(&q->recordings);
    rlf_emulated_steps_free(q->steps);
    q->steps = NULL;
    q->done = UINT64_MAX;
}

static rlf_status
emulated_queue_sync(rlf_queue *queue, rlf_err *err)
{
    emulated_queue *q = (emulated_queue *)queue;
    RLF_TRY(not_recorded(rlf_emulated_records(queue), "a wait", err));
    catch_up(q, all_steps(q));
    deliver(q, q->landings.count);
    return rlf_emulated_launched("an operation on the GPU", err);
}

static rlf_status
emulated_event_new(rlf_device *device, rlf_event **out, rlf_err *err)
{
    (void)device, (void)err;
    *out = rlf_calloc(1, sizeof **out);
    return RLF_OK;
}

static void
emulated_event_free(rlf_event *event)
{
    free(event);
}

static rlf_status
emulated_event_record(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    RLF_TRY(not_recorded(rlf_emulated_records(queue), "events", err));
    emulated_queue *q = (emulated_queue *)queue;
    *event = (rlf_event){.queue = q,
                         .steps = all_steps(q),
                         .landings = q->landed + q->landings.count};
    return RLF_OK;
}

static rlf_status
emulated_event_wait(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    RLF_TRY(not_recorded(rlf_emulated_records(queue), "events", err));
    if (!event->queue)
        return rlf_fail(err, RLF_BUG, "waits for an event never recorded");
    rlf_emulated_call(steps_of(queue), catch_up, event->queue, event->steps);
    return RLF_OK;
}

/* A caller is told once that it is not yet so, and one that does not own the
 * queue until its owner has carried it out. */
static rlf_status
emulated_event_done(rlf_event *event, rlf_err *err)
{
    (void)err;
    emulated_queue *q = event->queue;
    if (!q)
        return RLF_AGAIN;
    if (!q->lane && !pthread_equal(q->owner, pthread_self()))
        return __atomic_load_n(&q->happened, __ATOMIC_ACQUIRE) >= event->steps
                   ? RLF_OK
                   : RLF_AGAIN;
    lock(q);
    bool first = !event->asked && event->steps > q->done;
    event->asked |= first;
    unlock(q);
    if (first)
        return RLF_AGAIN;
    catch_up(q, event->steps);
    deliver_before(q, event->landings);
    return RLF_OK;
}

static bool
emulated_reaches(rlf_device *device, int number)
{
    (void)device, (void)number;
    return true;
}

/* The threads of both may be at work with their memory, and any may carry it
 * out, so this goes by where everybody always sees it. */
static rlf_status
emulated_copy_from(rlf_queue *queue, void *to, const rlf_device *other,
                   const void *from, size_t bytes, rlf_err *err)
{
    const emulated_device *d = (const emulated_device *)queue->device;
    const emulated_device *o = (const emulated_device *)other;
    if (bytes == 0)
        return RLF_OK;
    size_t at = (size_t)((const char *)from - o->base);
    if (!on_device(d, to, bytes) || at >= MEMORY || bytes > MEMORY - at)
        return rlf_fail(err, RLF_BUG, "a copy is not from device to device");
    pthread_mutex_lock(&lanes);
    rlf_emulated_copy(((emulated_queue *)queue)->steps,
                      d->open_base + ((char *)to - d->base), o->open_base + at,
                      bytes, false);
    pthread_mutex_unlock(&lanes);
    return RLF_OK;
}

static rlf_status
emulated_event_sync(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    RLF_TRY(not_recorded(rlf_emulated_records(queue), "a wait", err));
    if (event->queue != (emulated_queue *)queue)
        return rlf_fail(err, RLF_BUG, "waits for an event it never recorded");
    catch_up(event->queue, event->steps);
    deliver_before(event->queue, event->landings);
    return rlf_emulated_launched("an operation on the GPU", err);
}

static rlf_status
emulated_record(rlf_queue *queue, rlf_err *err)
{
    emulated_device *d = (emulated_device *)queue->device;
    RLF_TRY(not_recorded(d->recording, "a recording within one", err));
    d->recording = queue;
    d->recorded = rlf_emulated_steps_new(true);
    return RLF_OK;
}

static rlf_status
emulated_recorded(rlf_queue *queue, rlf_recording **out, rlf_err *err)
{
    emulated_device *d = (emulated_device *)queue->device;
    if (d->recording != queue)
        return rlf_fail(err, RLF_BUG, "the queue was not recording");
    d->recording = NULL;
    if (!out) {
        rlf_emulated_steps_free(d->recorded);
        return RLF_OK;
    }
    emulated_queue *q = (emulated_queue *)queue;
    *out = rlf_calloc(1, sizeof **out);
    **out = (rlf_recording){q, d->recorded};
    RLF_PUSH(&q->recordings, *out);
    return RLF_OK;
}

static rlf_status
emulated_replay(rlf_queue *queue, rlf_recording *recording, rlf_err *err)
{
    emulated_device *d = (emulated_device *)queue->device;
    RLF_TRY(not_recorded(d->recording, "a recording within one", err));
    if (!recording->steps)
        return rlf_fail(err, RLF_BUG, "what was recorded has been ended");
    emulated_queue *q = (emulated_queue *)queue;
    rlf_emulated_replay(q->steps, recording->steps);
    if (rlf_emulated_runs(recording->steps))
        catch_up(q, all_steps(q));
    return RLF_OK;
}

static void
emulated_recording_free(rlf_recording *recording)
{
    if (!recording)
        return;
    emulated_queue *q = recording->queue;
    size_t i = 0;
    while (q->recordings.data[i] != recording)
        i++;
    q->recordings.data[i] = q->recordings.data[--q->recordings.count];
    rlf_emulated_steps_free(recording->steps);
    free(recording);
}

static void
emulated_recordings_end(rlf_queue *queue)
{
    emulated_queue *q = (emulated_queue *)queue;
    rlf_err ignored = RLF_ERR_NONE;
    if (rlf_emulated_records(queue))
        emulated_recorded(queue, NULL, &ignored);
    for (size_t i = 0; i < q->recordings.count; i++) {
        rlf_emulated_steps_free(q->recordings.data[i]->steps);
        q->recordings.data[i]->steps = NULL;
    }
}

void
rlf_emulated_run(rlf_queue *queue, void (*run)(void *args),
                 void (*end)(void *args), const void *args, size_t bytes)
{
    emulated_queue *q = (emulated_queue *)queue;
    rlf_emulated_run_later(steps_of(queue), run, end, args, bytes);
    if (!rlf_emulated_records(queue))
        catch_up(q, all_steps(q));
}

static void
emulated_device_free(rlf_device *device)
{
    emulated_device *d = (emulated_device *)device;
    munmap(d->base, MEMORY);
    munmap(d->open_base, MEMORY);
    rlf_team_free(device->team);
    for (emulated_queue *next, *q = d->queues; q; q = next) {
        next = q->next;
        free(q);
    }
    RLF_VEC_FREE(&d->blocks);
    RLF_VEC_FREE(&d->pinned);
    free(d);
}

static const rlf_device_ops emulated_ops = {
    .name = "emulated",
    .doc = "a GPU that is not there",
    .alloc = emulated_alloc,
    .free = emulated_free,
    .host_alloc = emulated_host_alloc,
    .host_free = emulated_host_free,
    .copy = emulated_copy,
    .copy_rows = emulated_copy_rows,
    .set = emulated_set,
    .queue_new = emulated_queue_new,
    .queue_free = emulated_queue_free,
    .queue_sync = emulated_queue_sync,
    .event_new = emulated_event_new,
    .event_free = emulated_event_free,
    .event_record = emulated_event_record,
    .event_wait = emulated_event_wait,
    .event_done = emulated_event_done,
    .event_sync = emulated_event_sync,
    .reaches = emulated_reaches,
    .lane_new = emulated_lane_new,
    .copy_from = emulated_copy_from,
    .record = emulated_record,
    .recorded = emulated_recorded,
    .replay = emulated_replay,
    .recording_free = emulated_recording_free,
    .recordings_end = emulated_recordings_end,
    .device_free = emulated_device_free,
};

/* ---- operations: the emulated ones, put down ---- */

#define PUT_DOWN(op, type, table)                                     \
    static rlf_status put_down_##type##_##op(                         \
        rlf_queue *queue, const rlf_##op##_args *args, rlf_err *err)  \
    {                                                                 \
        rlf_emulated_steps *was = rlf_emulated_into(steps_of(queue)); \
        rlf_status status = table()->op(queue, args, err);            \
        rlf_emulated_into(was);                                       \
        return status;                                                \
    }
#define OP(op, doc, flops, bytes)           \
    PUT_DOWN(op, f32, rlf_kernels_emulated) \
    PUT_DOWN(op, bf16, rlf_kernels_emulated_bf16)
#include "kernels/op.def"
#undef OP

/* ---- the backend ---- */

static rlf_status
count(int *out, rlf_err *err)
{
    (void)err;
    *out = DEVICES;
    return RLF_OK;
}

static void
name_device(int index, uint8_t id[16])
{
    memset(id, 'e', 16);
    id[0] = (uint8_t)index;
}

/* RLFLOW_EMULATED_TAKEN: kilobytes that somebody else has. */
static rlf_status
memory(int index, rlf_device_memory *out, rlf_err *err)
{
    (void)err;
    const char *others = getenv("RLFLOW_EMULATED_TAKEN");
    size_t taken = others ? (size_t)atoi(others) << 10 : 0;
    *out = (rlf_device_memory){.left = taken < MEMORY ? MEMORY - taken : 1,
                               .all = MEMORY};
    name_device(index, out->id);
    return RLF_OK;
}

static void
map_memory(emulated_device *d)
{
    int file = memfd_create("emulated", MFD_CLOEXEC);
    RLF_ASSERT(file >= 0 && ftruncate(file, MEMORY) == 0);
    d->base =
        mmap(NULL, MEMORY, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    d->open_base = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, file, 0);
    RLF_ASSERT(d->base != MAP_FAILED && d->open_base != MAP_FAILED);
    close(file);
}

static rlf_status
open_device(const rlf_backend_options *o, rlf_device **out, rlf_err *err)
{
    int n = o->n_threads ? o->n_threads : rlf_cores_count();
    int n_run = o->n_run_threads > n ? o->n_run_threads : n;
    *out = NULL;
    if (o->index < 0 || o->index >= DEVICES)
        return rlf_fail(err, RLF_ENV, "there is no emulated GPU %d", o->index);
    emulated_device *d = rlf_calloc(1, sizeof *d);
    map_memory(d);
    rlf_emulated_memory(d->base, MEMORY);
    d->limit = o->memory_limit;
    d->device.number = o->index;
    name_device(o->index, d->device.id);
    d->device.ops = &emulated_ops;
    d->device.caps = (rlf_device_caps){.asynchronous = true,
                                       .records = true,
                                       .n_threads = 1,
                                       .alignment = ALIGNMENT};
    rlf_status status = rlf_team_new(n, n_run, &d->device.team, err);
    if (status < 0)
        emulated_device_free(&d->device);
    else
        *out = &d->device;
    return status;
}

#define SIZES(type, table)                                              \
    static size_t packed_bytes_##type(int64_t rows, int64_t cols,       \
                                      rlf_product_form form)            \
    {                                                                   \
        return table()->product_packed_bytes(rows, cols, form);         \
    }                                                                   \
    static size_t work_bytes_##type(int64_t rows, int64_t v, int64_t d, \
                                    const rlf_head_part *part)          \
    {                                                                   \
        return table()->head_work_bytes(rows, v, d, part);              \
    }
SIZES(f32, rlf_kernels_emulated)
SIZES(bf16, rlf_kernels_emulated_bf16)

static const rlf_kernels f32 = {
    .backend = "emulated",
    .isa = "f32",
    .real = RLF_CAST_F32,
    .one_pack = true,
    .product_packed_bytes = packed_bytes_f32,
    .head_tile = 8 << 20,
    .head_work_bytes = work_bytes_f32,
#define OP(op, doc, flops, bytes) .op = put_down_f32_##op,
#include "kernels/op.def"
#undef OP
};

static const rlf_kernels bf16 = {
    .backend = "emulated",
    .isa = "bf16",
    .real = RLF_CAST_BF16,
    .one_pack = true,
    .product_packed_bytes = packed_bytes_bf16,
    .head_tile = 8 << 20,
    .head_work_bytes = work_bytes_bf16,
#define OP(op, doc, flops, bytes) .op = put_down_bf16_##op,
#include "kernels/op.def"
#undef OP
};

static const rlf_kernels *
kernels(const char *isa, rlf_cast_type real)
{
    if (isa || real == RLF_CAST_F16)
        return NULL;
    return real == RLF_CAST_F32 ? &f32 : &bf16;
}

/* As on a GPU (algorithms.c), without cuBLASLt. */
static rlf_status
prepare(rlf_queue *queue, rlf_cast_type real, uint32_t *algorithms,
        rlf_buf *notes, rlf_err *err)
{
    bool by_groups = false;
    *algorithms = 0;
    if (real == RLF_CAST_F32)
        return RLF_OK;
    rlf_emulated_steps *was = rlf_emulated_into(steps_of(queue));
    rlf_status status = rlf_emulated_group_tiles(queue, &by_groups, err);
    rlf_emulated_into(was);
    if (by_groups)
        *algorithms |= RLF_BY_WARP_GROUPS;
    else if (status >= 0 && rlf_emulated_has_groups(queue))
        rlf_buf_puts(notes, rlf_cuda_groups_wrong);
    return status;
}

static void
choose(rlf_queue *queue, rlf_cast_type real, uint32_t algorithms, rlf_buf *out)
{
    bool by_groups = algorithms & RLF_BY_WARP_GROUPS;
    rlf_emulated_group_use(queue->device, by_groups);
    rlf_cuda_algorithms(real, by_groups ? 90 : 80, by_groups, 0, out);
}

const rlf_backend rlf_backend_emulated = {
    .name = "emulated",
    .doc = "GPUs that are not there, for tests",
    .count = count,
    .memory = memory,
    .open = open_device,
    .reals = {RLF_CAST_F32, RLF_CAST_BF16, RLF_CAST_TYPES},
    .kernels = kernels,
    .prepare = prepare,
    .choose = choose};
