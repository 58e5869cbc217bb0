/* A device for tests whose memory the host cannot touch and whose work is done
 * later: a queue has a thread that carries out what it was given, in order.
 * Pointers to its memory are off by LATER_TAG, which no address has, so the
 * host falls over one that it follows. A kernel is a function given to
 * later_run(); it finds the memory by later_real(). */
#ifndef RLF_TESTS_LATER_H
#define RLF_TESTS_LATER_H

#include "engine/base/arena.h"
#include "engine/dev/dev.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LATER_TAG ((uintptr_t)1 << 60)
enum { LATER_ROOM = 160 };

typedef struct later_queue later_queue;
typedef void later_fn(later_queue *queue, void *args);

typedef struct later_work {
    struct later_work *next;
    later_fn *run;
    _Alignas(16) char args[LATER_ROOM];
} later_work;

struct later_queue {
    rlf_queue queue; /* first */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t bell;
    later_work *first, *last;
    uint64_t given, done;
    bool ends;
};

struct rlf_event {
    later_queue *queue;
    uint64_t number; /* the number of the work that it comes after */
};

static inline bool
later_is(const void *p)
{
    return (uintptr_t)p >= LATER_TAG;
}

static inline void *
later_real(const void *p)
{
    return (void *)((uintptr_t)p - (later_is(p) ? LATER_TAG : 0));
}

static void *
later_main(void *arg)
{
    later_queue *q = arg;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->first && !q->ends)
            pthread_cond_wait(&q->bell, &q->lock);
        later_work *w = q->first;
        if (!w)
            break;
        q->first = w->next;
        q->last = q->first ? q->last : NULL;
        pthread_mutex_unlock(&q->lock);
        w->run(q, w->args);
        free(w);
        pthread_mutex_lock(&q->lock);
        q->done++;
        pthread_cond_broadcast(&q->bell);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* A kernel, with a copy of its arguments. */
static inline void
later_run(rlf_queue *queue, later_fn *run, const void *args, size_t bytes)
{
    later_queue *q = (later_queue *)queue;
    later_work *w = rlf_calloc(1, sizeof *w);
    RLF_ASSERT(bytes <= LATER_ROOM);
    w->run = run;
    memcpy(w->args, args, bytes);
    pthread_mutex_lock(&q->lock);
    if (q->last)
        q->last->next = w;
    else
        q->first = w;
    q->last = w;
    q->given++;
    pthread_cond_broadcast(&q->bell);
    pthread_mutex_unlock(&q->lock);
}

/* ---- the table of dev.h ---- */

static rlf_status
later_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    (void)err;
    device->allocated += bytes;
    *out = bytes ? (char *)rlf_malloc(bytes) + LATER_TAG : NULL;
    return RLF_OK;
}

static void
later_free(rlf_device *device, void *p, size_t bytes)
{
    device->allocated -= p ? bytes : 0;
    free(later_real(p));
}

static rlf_status
later_host_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    (void)device, (void)err;
    *out = bytes ? rlf_malloc(bytes) : NULL;
    return RLF_OK;
}

static void
later_host_free(rlf_device *device, void *p, size_t bytes)
{
    (void)device, (void)bytes;
    free(p);
}

typedef struct later_copy {
    char *to;
    const char *from;
    size_t to_stride, from_stride, bytes, rows;
} later_copy;

static void
later_copy_now(later_queue *queue, void *args)
{
    (void)queue;
    const later_copy *c = args;
    for (size_t i = 0; i < c->rows; i++)
        memcpy(c->to + i * c->to_stride, c->from + i * c->from_stride,
               c->bytes);
}

static rlf_status
later_copy_rows(rlf_queue *queue, void *to, size_t to_stride, const void *from,
                size_t from_stride, size_t bytes, size_t rows, rlf_copy kind,
                rlf_err *err)
{
    bool to_device = kind == RLF_COPY_ON_DEVICE || kind == RLF_COPY_TO_DEVICE;
    bool from_device = kind == RLF_COPY_ON_DEVICE || kind == RLF_COPY_TO_HOST;
    if (!bytes || !rows)
        return RLF_OK;
    if (later_is(to) != to_device || later_is(from) != from_device)
        return rlf_fail(err, RLF_BUG, "a copy of kind %d the wrong way", kind);
    later_copy c = {
        later_real(to), later_real(from), to_stride, from_stride, bytes, rows};
    later_run(queue, later_copy_now, &c, sizeof c);
    return RLF_OK;
}

static rlf_status
later_copy_one(rlf_queue *queue, void *to, const void *from, size_t bytes,
               rlf_copy kind, rlf_err *err)
{
    return later_copy_rows(queue, to, bytes, from, bytes, bytes, 1, kind, err);
}

typedef struct later_fill {
    char *to;
    int byte;
    size_t bytes;
} later_fill;

static void
later_set_now(later_queue *queue, void *args)
{
    (void)queue;
    const later_fill *f = args;
    memset(f->to, f->byte, f->bytes);
}

static rlf_status
later_set(rlf_queue *queue, void *to, int byte, size_t bytes, rlf_err *err)
{
    (void)err;
    later_fill f = {later_real(to), byte, bytes};
    if (bytes)
        later_run(queue, later_set_now, &f, sizeof f);
    return RLF_OK;
}

static rlf_status
later_queue_new(rlf_device *device, rlf_queue **out, rlf_err *err)
{
    (void)err;
    later_queue *q = rlf_calloc(1, sizeof *q);
    q->queue.device = device;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->bell, NULL);
    pthread_create(&q->thread, NULL, later_main, q);
    *out = &q->queue;
    return RLF_OK;
}

static void
later_queue_free(rlf_queue *queue)
{
    later_queue *q = (later_queue *)queue;
    pthread_mutex_lock(&q->lock);
    q->ends = true;
    pthread_cond_broadcast(&q->bell);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->bell);
    free(q);
}

static bool
later_reached(later_queue *q, uint64_t number)
{
    pthread_mutex_lock(&q->lock);
    bool done = q->done >= number;
    pthread_mutex_unlock(&q->lock);
    return done;
}

/* All that was given so far; the watch looks on meanwhile. */
static rlf_status
later_sync(rlf_queue *queue, rlf_err *err)
{
    later_queue *q = (later_queue *)queue;
    bool first = true;
    for (; queue->watch && !later_reached(q, q->given); first = false)
        RLF_TRY(queue->watch(queue->watch_ctx, first, err));
    pthread_mutex_lock(&q->lock);
    while (q->done < q->given)
        pthread_cond_wait(&q->bell, &q->lock);
    pthread_mutex_unlock(&q->lock);
    return RLF_OK;
}

static rlf_status
later_event_new(rlf_device *device, rlf_event **out, rlf_err *err)
{
    (void)device, (void)err;
    *out = rlf_calloc(1, sizeof **out);
    return RLF_OK;
}

static void
later_event_free(rlf_event *event)
{
    free(event);
}

static rlf_status
later_event_record(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    (void)err;
    event->queue = (later_queue *)queue;
    event->number = event->queue->given;
    return RLF_OK;
}

static void
later_wait_now(later_queue *queue, void *args)
{
    const rlf_event *event = args;
    later_queue *other = event->queue;
    if (other == queue)
        return;
    pthread_mutex_lock(&other->lock);
    while (other->done < event->number)
        pthread_cond_wait(&other->bell, &other->lock);
    pthread_mutex_unlock(&other->lock);
}

static rlf_status
later_event_wait(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    (void)err;
    later_run(queue, later_wait_now, event, sizeof *event);
    return RLF_OK;
}

static rlf_status
later_event_done(rlf_event *event, rlf_err *err)
{
    (void)err;
    return !event->queue || later_reached(event->queue, event->number)
               ? RLF_OK
               : RLF_AGAIN;
}

/* A device reaches those whose number differs by a multiple of this. */
static int later_apart = 1;

static bool
later_reaches(rlf_device *device, int number)
{
    return (number - device->number) % later_apart == 0;
}

static rlf_status
later_copy_from(rlf_queue *queue, void *to, const rlf_device *other,
                const void *from, size_t bytes, rlf_err *err)
{
    if (!later_reaches(queue->device, other->number))
        return rlf_fail(err, RLF_BUG, "a copy from a device out of reach");
    return later_copy_one(queue, to, from, bytes, RLF_COPY_ON_DEVICE, err);
}

static rlf_status
later_event_sync(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    later_queue *q = (later_queue *)queue;
    RLF_ASSERT(event->queue == q);
    bool first = true;
    for (; queue->watch && !later_reached(q, event->number); first = false)
        RLF_TRY(queue->watch(queue->watch_ctx, first, err));
    pthread_mutex_lock(&q->lock);
    while (q->done < event->number)
        pthread_cond_wait(&q->bell, &q->lock);
    pthread_mutex_unlock(&q->lock);
    return RLF_OK;
}

static rlf_status
later_record(rlf_queue *queue, rlf_err *err)
{
    (void)queue;
    return rlf_fail(err, RLF_BUG, "it does not record");
}

static rlf_status
later_recorded(rlf_queue *queue, rlf_recording **out, rlf_err *err)
{
    (void)out;
    return later_record(queue, err);
}

static rlf_status
later_replay(rlf_queue *queue, rlf_recording *recording, rlf_err *err)
{
    (void)recording;
    return later_record(queue, err);
}

static void
later_recording_free(rlf_recording *recording)
{
    (void)recording;
}

static void
later_recordings_end(rlf_queue *queue)
{
    (void)queue;
}

static void
later_device_free(rlf_device *device)
{
    free(device);
}

static const rlf_device_ops later_ops = {
    .name = "later",
    .doc = "for tests: memory that the host cannot touch",
    .alloc = later_alloc,
    .free = later_free,
    .host_alloc = later_host_alloc,
    .host_free = later_host_free,
    .copy = later_copy_one,
    .copy_rows = later_copy_rows,
    .set = later_set,
    .queue_new = later_queue_new,
    .queue_free = later_queue_free,
    .queue_sync = later_sync,
    .event_new = later_event_new,
    .event_free = later_event_free,
    .event_record = later_event_record,
    .event_wait = later_event_wait,
    .event_done = later_event_done,
    .event_sync = later_event_sync,
    .reaches = later_reaches,
    .lane_new = later_queue_new,
    .copy_from = later_copy_from,
    .record = later_record,
    .recorded = later_recorded,
    .replay = later_replay,
    .recording_free = later_recording_free,
    .recordings_end = later_recordings_end,
    .device_free = later_device_free,
};

/* Device number `index` of this process. */
static inline rlf_device *
later_device_new(int index)
{
    rlf_device *device = rlf_calloc(1, sizeof *device);
    device->ops = &later_ops;
    device->caps = (rlf_device_caps){
        .asynchronous = true, .n_threads = 1, .alignment = 64};
    device->id[0] = 1;
    device->id[1] = (uint8_t)index;
    device->number = index;
    return device;
}

#endif
