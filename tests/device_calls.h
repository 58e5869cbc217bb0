/* The calls of comm.h on host memory by way of those of device.h: buffers are
 * copied to the device of this thread's rank, the call is made there, and what
 * it gives is copied back. Buffers that are parts of each other stay so. With
 * the macros at the end, the cases of comm_cases.h are cases of device.h. */
#ifndef RLF_TESTS_DEVICE_CALLS_H
#define RLF_TESTS_DEVICE_CALLS_H

#include "engine/base/arena.h"
#include "engine/comm/device.h"
#include "engine/comm/mail.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local rlf_queue *here; /* of this thread's rank */

/* Some of the host's memory and its double on the device. */
typedef struct twin {
    char *host, *device;
    size_t bytes;
} twin;

static twin
twin_new(const void *host, size_t bytes)
{
    rlf_err err = RLF_ERR_NONE;
    twin t = {.host = (char *)(uintptr_t)host, .bytes = bytes};
    void *device;
    if (rlf_device_alloc(here->device, bytes + 1, &device, &err) < 0 ||
        rlf_queue_copy(here, device, host, bytes, RLF_COPY_TO_DEVICE, &err) < 0)
        abort();
    t.device = device;
    return t;
}

/* Returns the place on the device that belongs to a place of the host. */
static void *
twin_at(const twin *t, const void *host)
{
    return t->device + ((const char *)host - t->host);
}

/* `n` bytes from `host` on come back, and the twin ends. */
static rlf_status
twin_end(twin *t, void *host, size_t n, rlf_status status, rlf_err *err)
{
    if (status >= 0 && n)
        status = rlf_queue_copy(here, host, twin_at(t, host), n,
                                RLF_COPY_TO_HOST, err);
    rlf_status synced = rlf_queue_sync(here, err);
    rlf_device_release(here->device, t->device, t->bytes + 1);
    return status < 0 ? status : synced;
}

static bool
is_inside(const void *p, const void *in, size_t bytes)
{
    return (const char *)p >= (const char *)in &&
           (const char *)p < (const char *)in + bytes;
}

static rlf_status
call_all_gatherv(rlf_group *group, const void *data, const size_t *bytes,
                 void *out, rlf_err *err)
{
    size_t n = 0;
    for (int i = 0; i < rlf_group_size(group); i++)
        n += bytes[i];
    twin all = twin_new(out, n);
    twin own = twin_new(data, bytes[rlf_group_index(group)]);
    void *at =
        is_inside(data, out, n) ? twin_at(&all, data) : (void *)own.device;
    rlf_status status =
        rlf_device_all_gatherv(here, group, at, bytes, all.device, err);
    status = twin_end(&own, NULL, 0, status, err);
    return twin_end(&all, out, n, status, err);
}

static rlf_status
call_all_gather(rlf_group *group, const void *data, size_t bytes, void *out,
                rlf_err *err)
{
    size_t n = bytes * (size_t)rlf_group_size(group);
    twin all = twin_new(out, n), own = twin_new(data, bytes);
    void *at =
        is_inside(data, out, n) ? twin_at(&all, data) : (void *)own.device;
    rlf_status status =
        rlf_device_all_gather(here, group, at, bytes, all.device, err);
    status = twin_end(&own, NULL, 0, status, err);
    return twin_end(&all, out, n, status, err);
}

static rlf_status
call_all_reduce(rlf_group *group, const void *in, void *out, size_t n,
                rlf_comm_type type, rlf_comm_op op, rlf_err *err)
{
    size_t bytes = n * rlf_comm_type_size(type);
    twin from = twin_new(in, bytes), to = twin_new(out, bytes);
    rlf_status status =
        rlf_device_all_reduce(here, group, in == out ? to.device : from.device,
                              to.device, n, type, op, err);
    status = twin_end(&from, NULL, 0, status, err);
    return twin_end(&to, out, bytes, status, err);
}

static rlf_status
call_reduce_scatter(rlf_group *group, const void *in, void *out,
                    const size_t *counts, rlf_comm_type type, rlf_comm_op op,
                    rlf_err *err)
{
    size_t size = rlf_comm_type_size(type), n = 0;
    size_t own = counts[rlf_group_index(group)] * size;
    for (int i = 0; i < rlf_group_size(group); i++)
        n += counts[i] * size;
    twin from = twin_new(in, n), to = twin_new(out, own);
    bool inside = is_inside(out, in, n);
    rlf_status status = rlf_device_reduce_scatter(here, group, from.device,
                                                  inside ? twin_at(&from, out)
                                                         : (void *)to.device,
                                                  counts, type, op, err);
    status = twin_end(&to, out, inside ? 0 : own, status, err);
    return twin_end(&from, out, inside ? own : 0, status, err);
}

/* ---- messages ---- */

typedef struct call_batch {
    rlf_device_transfer *transfer;
    twin *twins; /* sends, then receives */
    int n_sends, n;
} call_batch;

static void
parts_twin(const rlf_part *parts, int n, rlf_part *out, twin *twins)
{
    for (int i = 0; i < n; i++) {
        twins[i] = twin_new(parts[i].data, parts[i].bytes);
        out[i] = (rlf_part){parts[i].peer, twins[i].device, parts[i].bytes};
    }
}

static rlf_status
call_end(call_batch *b, rlf_status status, rlf_err *err)
{
    for (int i = 0; i < b->n; i++)
        status = twin_end(&b->twins[i], b->twins[i].host,
                          i < b->n_sends ? 0 : b->twins[i].bytes, status, err);
    free(b->twins);
    free(b);
    return status;
}

static rlf_status
call_start(rlf_group *group, int tag, const rlf_part *sends, int n_sends,
           const rlf_part *receives, int n_receives, call_batch **out,
           rlf_err *err)
{
    size_t n = (size_t)(n_sends + n_receives);
    call_batch *b = rlf_calloc(1, sizeof *b);
    rlf_part *parts = rlf_calloc(n + 1, sizeof *parts);
    b->twins = rlf_calloc(n + 1, sizeof *b->twins);
    b->n_sends = n_sends;
    b->n = (int)n;
    parts_twin(sends, n_sends, parts, b->twins);
    parts_twin(receives, n_receives, parts + n_sends, b->twins + n_sends);
    rlf_status status =
        rlf_device_start(here, group, tag, parts, n_sends, parts + n_sends,
                         n_receives, &b->transfer, err);
    free(parts);
    *out = status < 0 ? NULL : b;
    return status < 0 ? call_end(b, status, err) : status;
}

static rlf_status
call_test(call_batch **batch, rlf_err *err)
{
    call_batch *b = *batch;
    rlf_status status = rlf_device_test(&b->transfer, err);
    if (status == RLF_AGAIN)
        return status;
    *batch = NULL;
    return call_end(b, status, err);
}

static rlf_status
call_wait(call_batch **batch, rlf_err *err)
{
    call_batch *b = *batch;
    *batch = NULL;
    return call_end(b, rlf_device_wait(&b->transfer, err), err);
}

static rlf_status
call_exchange(rlf_group *group, int tag, const rlf_part *sends, int n_sends,
              const rlf_part *receives, int n_receives, rlf_err *err)
{
    size_t n = (size_t)(n_sends + n_receives);
    call_batch *b = rlf_calloc(1, sizeof *b);
    rlf_part *parts = rlf_calloc(n + 1, sizeof *parts);
    b->twins = rlf_calloc(n + 1, sizeof *b->twins);
    b->n_sends = n_sends;
    b->n = (int)n;
    parts_twin(sends, n_sends, parts, b->twins);
    parts_twin(receives, n_receives, parts + n_sends, b->twins + n_sends);
    rlf_status status = rlf_device_exchange(here, group, tag, parts, n_sends,
                                            parts + n_sends, n_receives, err);
    free(parts);
    return call_end(b, status, err);
}

/* All memory from the first strip to the last, gaps too. */
static twin
strips_twin(const rlf_strided_message *m, rlf_strided_rows *list,
            rlf_strided_message *out)
{
    const char *low = NULL, *high = NULL;
    for (int i = 0; i < m->n; i++) {
        const char *p = m->list[i].data;
        low = !low || p < low ? p : low;
        p += m->list[i].stride * m->list[i].rows;
        high = !high || p > high ? p : high;
    }
    twin t = twin_new(low, (size_t)(high - low));
    for (int i = 0; i < m->n; i++) {
        list[i] = m->list[i];
        list[i].data = twin_at(&t, m->list[i].data);
    }
    *out = (rlf_strided_message){m->peer, list, m->n};
    return t;
}

/* One message each way, as comm_cases.h has it. */
static rlf_status
call_exchange_strips(rlf_group *group, int tag,
                     const rlf_strided_message *sends, int n_sends,
                     const rlf_strided_message *receives, int n_receives,
                     rlf_err *err)
{
    rlf_strided_rows lists[2][64];
    rlf_strided_message out, in;
    if (n_sends != 1 || n_receives != 1 || sends->n > 64 || receives->n > 64)
        abort();
    twin from = strips_twin(sends, lists[0], &out);
    twin to = strips_twin(receives, lists[1], &in);
    rlf_status status =
        rlf_device_exchange_strided(here, group, tag, &out, 1, &in, 1, err);
    status = twin_end(&from, NULL, 0, status, err);
    return twin_end(&to, to.host, to.bytes, status, err);
}

#define rlf_batch call_batch
#define rlf_group_start call_start
#define rlf_batch_test call_test
#define rlf_batch_wait call_wait
#define rlf_group_exchange call_exchange
#define rlf_group_exchange_strided call_exchange_strips
#define rlf_group_all_gather call_all_gather
#define rlf_group_all_gatherv call_all_gatherv
#define rlf_group_all_reduce call_all_reduce
#define rlf_group_reduce_scatter call_reduce_scatter

#endif
