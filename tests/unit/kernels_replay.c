/* These checks replay what a queue has recorded: it is carried out when it is
 * replayed and not before, on the memory's contents of that moment; work that
 * cannot be recorded is refused, and the queue goes on. They run on emulated
 * GPUs, and on a real one if there is one. */
#include "config.h"
#include "engine/base/str.h"
#include "engine/dev/replay.h"
#include "kernels/backend.h"
#include "tests/tap.h"
#ifdef RLF_HAVE_EMULATED
#include "kernels/cuda/emulate_device.h"
#endif

#include <string.h>

enum { N = 8 };

typedef struct env {
    rlf_device *device;
    rlf_queue *queue;
    const rlf_device_ops *ops;
    const rlf_kernels *kernels;
    float *x, *y, *z;
    int calls; /* calls of double_x() */
    rlf_err err;
} env;

#define MUST(e, call)                                                 \
    do {                                                              \
        if ((call) < 0)                                               \
            bail("%s:%d: %s", __FILE__, __LINE__, (e)->err.sentence); \
    } while (0)

static void
put(env *e, float first)
{
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = first + (float)i;
    MUST(e, rlf_queue_copy(e->queue, e->x, x, sizeof x, RLF_COPY_TO_DEVICE,
                           &e->err));
}

/* Is z twice what put() was given, from `first` on? */
static bool
has(env *e, float first)
{
    float z[N];
    bool right = true;
    MUST(e, rlf_queue_copy(e->queue, z, e->z, sizeof z, RLF_COPY_TO_HOST,
                           &e->err));
    MUST(e, rlf_queue_sync(e->queue, &e->err));
    for (int i = 0; i < N; i++)
        right &= z[i] == 2 * (first + (float)i);
    return right;
}

/* An operation, a set and a copy. */
static rlf_status
double_x(void *ctx, rlf_err *err)
{
    env *e = ctx;
    rlf_axpby_args args = {.n = N, .a = 2, .b = 1, .x = e->x, .y = e->y};
    e->calls++;
    RLF_TRY(rlf_queue_set(e->queue, e->y, 0, N * sizeof(float), err));
    RLF_TRY(e->kernels->axpby(e->queue, &args, err));
    return rlf_queue_copy(e->queue, e->z, e->y, N * sizeof(float),
                          RLF_COPY_ON_DEVICE, err);
}

/* Lengths in host memory. */
static rlf_status
attend(env *e)
{
    const int32_t offsets[] = {0, 1};
    rlf_attention_args args = {.n_seqs = 1,
                               .offsets = offsets,
                               .heads = 1,
                               .kv_heads = 1,
                               .d = N,
                               .scale = 1,
                               .q = e->x,
                               .k = e->x,
                               .v = e->x,
                               .o = e->y};
    return e->kernels->attention(e->queue, &args, &e->err);
}

static void
refused(env *e, rlf_status status, const char *what)
{
    ok(status == RLF_BUG && strstr(e->err.sentence, "records cannot have"),
       "%s: refused", what);
    e->err = (rlf_err)RLF_ERR_NONE;
}

/* While it records. */
static void
test_refusals(env *e)
{
    float host[N] = {0};
    void *p;
    rlf_event *event;
    const rlf_device_ops *ops = e->ops;
    size_t bytes = sizeof host;
    MUST(e, ops->event_new(e->device, &event, &e->err));
    MUST(e, ops->record(e->queue, &e->err));
    refused(e, ops->record(e->queue, &e->err), "a recording within it");
    refused(e, ops->alloc(e->device, 1, &p, &e->err), "memory of the device");
    refused(e, ops->host_alloc(e->device, 1, &p, &e->err), "of the host");
    refused(e,
            ops->copy(e->queue, e->x, host, bytes, RLF_COPY_TO_DEVICE, &e->err),
            "a copy from the host");
    refused(e,
            ops->copy(e->queue, host, e->x, bytes, RLF_COPY_TO_HOST, &e->err),
            "a copy to the host");
    refused(e, ops->queue_sync(e->queue, &e->err), "a wait");
    refused(e, ops->event_record(event, e->queue, &e->err), "an event");
    refused(e, attend(e), "lengths in host memory");
    MUST(e, double_x(e, &e->err));
    rlf_recording *recording;
    is_int(ops->recorded(e->queue, &recording, &e->err), RLF_OK,
           "what was not refused is recorded");
    put(e, 50);
    MUST(e, ops->replay(e->queue, recording, &e->err));
    ok(has(e, 50), "... and can be replayed");
    ops->recording_free(recording);
    ops->event_free(event);
}

static void
test_recording(env *e)
{
    rlf_recording *recording;
    put(e, 1);
    MUST(e, double_x(e, &e->err));
    put(e, 2);
    MUST(e, e->ops->record(e->queue, &e->err));
    MUST(e, double_x(e, &e->err));
    MUST(e, e->ops->recorded(e->queue, &recording, &e->err));
    ok(has(e, 1), "what is recorded is not carried out");
    MUST(e, e->ops->replay(e->queue, recording, &e->err));
    ok(has(e, 2), "... but when it is replayed");
    put(e, 3);
    MUST(e, e->ops->replay(e->queue, recording, &e->err));
    ok(has(e, 3), "... and again, on other numbers");
    e->ops->recording_free(recording);
    put(e, 4);
    MUST(e, e->ops->record(e->queue, &e->err));
    MUST(e, double_x(e, &e->err));
    MUST(e, e->ops->recorded(e->queue, NULL, &e->err));
    ok(has(e, 3), "thrown away");
    is_int(e->ops->recorded(e->queue, &recording, &e->err), RLF_BUG,
           "the end of nothing");
    e->err = (rlf_err)RLF_ERR_NONE;
}

/* Refuses to be recorded. */
static rlf_status
wait_too(void *ctx, rlf_err *err)
{
    env *e = ctx;
    RLF_TRY(double_x(ctx, err));
    return rlf_queue_sync(e->queue, err);
}

/* Fails at its second call, as a driver does that refuses to record it. */
static rlf_status
not_recorded(void *ctx, rlf_err *err)
{
    env *e = ctx;
    RLF_TRY(double_x(ctx, err));
    return e->calls == 2 ? rlf_fail(err, RLF_ENV, "no such recording") : RLF_OK;
}

static rlf_status
broken(void *ctx, rlf_err *err)
{
    env *e = ctx;
    return e->calls++ ? rlf_fail(err, RLF_ENV, "broken") : RLF_OK;
}

static bool
twice(env *e, rlf_replays *r, int key, float first, rlf_replay_fn *work)
{
    bool replayed;
    put(e, first);
    MUST(e, rlf_replays_do(r, &key, sizeof key, work, e, &e->err, &replayed));
    if (!has(e, first))
        bail("key %d does not do its work", key);
    return replayed;
}

static void
test_replays(env *e)
{
    rlf_replays *r = rlf_replays_new(e->queue);
    bool replayed;
    e->calls = 0;
    ok(!twice(e, r, 1, 1, double_x), "a new key is carried out");
    ok(twice(e, r, 1, 2, double_x) && e->calls == 2, "then recorded");
    ok(twice(e, r, 1, 3, double_x) && e->calls == 2, "and replayed");
    ok(!twice(e, r, 2, 4, wait_too), "another key");
    int key = 2;
    put(e, 5);
    refused(
        e, rlf_replays_do(r, &key, sizeof key, wait_too, e, &e->err, &replayed),
        "work that waits");
    ok(has(e, 4), "... and nothing of it is carried out");
    e->calls = 0;
    ok(twice(e, r, 1, 6, double_x) && e->calls == 0, "the others go on");
    for (key = 10; key < 10 + RLF_REPLAYS_MOST; key++)
        twice(e, r, key, 7, double_x);
    ok(!twice(e, r, 1, 8, double_x), "the one not used for longest is gone");
    ok(twice(e, r, 10 + RLF_REPLAYS_MOST - 1, 9, double_x), "the last is not");
    rlf_replays_free(r);
    rlf_replays_free(NULL);
}

static void
hear(void *to, rlf_log_level level, const char *line)
{
    (void)level;
    rlf_buf_printf(to, "%s", line);
}

static void
test_forgiving(env *e)
{
    rlf_replays *r = rlf_replays_new(e->queue);
    rlf_buf told = {0};
    rlf_log log;
    rlf_log_init(&log, hear, &told, 0);
    ok(twice(e, r, 1, 1, double_x) || twice(e, r, 1, 2, double_x),
       "something is recorded");
    e->calls = 0;
    ok(!twice(e, r, 2, 3, not_recorded) && !twice(e, r, 2, 4, not_recorded) &&
           e->calls == 3,
       "what cannot be recorded is carried out");
    ok(!twice(e, r, 2, 5, not_recorded) && e->calls == 4,
       "... from then on kernel by kernel");
    ok(twice(e, r, 1, 6, double_x), "... what was recorded goes on");
    ok(!twice(e, r, 3, 7, double_x) && !twice(e, r, 3, 8, double_x),
       "... nothing else is");
    rlf_replays_note(r, &log);
    size_t once = told.n;
    rlf_replays_note(r, &log);
    ok(told.p && strstr(told.p, "no such recording") && told.n == once,
       "... and it is said, once: %s", told.p ? told.p : "");
    rlf_replays_free(r);
    rlf_buf_free(&told);
    r = rlf_replays_new(e->queue);
    bool replayed;
    int key = 1;
    e->calls = 0;
    rlf_replays_do(r, &key, sizeof key, broken, e, &e->err, &replayed);
    ok(rlf_replays_do(r, &key, sizeof key, broken, e, &e->err, &replayed) ==
               RLF_ENV &&
           strcmp(e->err.sentence, "broken") == 0 && e->calls == 3,
       "work that fails also as ever: its own error");
    e->err = (rlf_err)RLF_ERR_NONE;
    rlf_replays_free(r);
}

static void
open_env(env *e, const rlf_backend *b)
{
    const rlf_backend_options options = {.n_threads = 1};
    const size_t bytes = N * sizeof(float);
    *e = (env){.err = RLF_ERR_NONE};
    MUST(e, b->open(&options, &e->device, &e->err));
    e->ops = e->device->ops;
    e->kernels = b->kernels(NULL, RLF_CAST_F32);
    MUST(e, rlf_queue_new(e->device, &e->queue, &e->err));
    MUST(e, rlf_device_alloc(e->device, bytes, (void **)&e->x, &e->err));
    MUST(e, rlf_device_alloc(e->device, bytes, (void **)&e->y, &e->err));
    MUST(e, rlf_device_alloc(e->device, bytes, (void **)&e->z, &e->err));
}

static void
close_env(env *e)
{
    const size_t bytes = N * sizeof(float);
    rlf_device_release(e->device, e->z, bytes);
    rlf_device_release(e->device, e->y, bytes);
    rlf_device_release(e->device, e->x, bytes);
    rlf_queue_free(e->queue);
    rlf_device_free(e->device);
}

static void
test_device(const rlf_backend *b)
{
    env e;
    open_env(&e, b);
    note("on %s", b->name);
    ok(e.device->caps.records, "it records");
    test_recording(&e);
    test_refusals(&e);
    test_replays(&e);
    test_forgiving(&e);
    close_env(&e);
}

#ifdef RLF_HAVE_EMULATED
/* y has x twice, by work of another queue: what do its first numbers say? */
static float
doubled_beside(env *e, rlf_queue *beside)
{
    float y[N];
    rlf_axpby_args args = {.n = N, .a = 2, .x = e->x, .y = e->y};
    MUST(e, e->kernels->axpby(beside, &args, &e->err));
    MUST(e,
         rlf_queue_copy(beside, y, e->y, sizeof y, RLF_COPY_TO_HOST, &e->err));
    MUST(e, rlf_queue_sync(beside, &e->err));
    return y[0];
}

/* An emulated GPU does nothing before somebody waits for it, so what a GPU may
 * do when nobody does is what comes out. */
static void
test_late(void)
{
    env e;
    float *pinned;
    rlf_queue *beside;
    rlf_event *event;
    open_env(&e, &rlf_backend_emulated);
    MUST(&e, rlf_queue_new(e.device, &beside, &e.err));
    MUST(&e, e.ops->event_new(e.device, &event, &e.err));
    MUST(&e, e.ops->host_alloc(e.device, N * sizeof(float), (void **)&pinned,
                               &e.err));
    put(&e, 1);
    MUST(&e, rlf_queue_sync(e.queue, &e.err));
    put(&e, 10);
    ok(doubled_beside(&e, beside) == 2, "without a wait: what was there");
    MUST(&e, e.ops->event_record(event, e.queue, &e.err));
    is_int(e.ops->event_done(event, &e.err), RLF_AGAIN, "an event to come");
    MUST(&e, e.ops->event_wait(event, beside, &e.err));
    put(&e, 20);
    ok(doubled_beside(&e, beside) == 20, "behind it: what came before it");
    pinned[0] = 5;
    MUST(&e, rlf_queue_copy(e.queue, e.x, pinned, N * sizeof(float),
                            RLF_COPY_TO_DEVICE, &e.err));
    pinned[0] = 6;
    MUST(&e, rlf_queue_sync(e.queue, &e.err));
    ok(doubled_beside(&e, beside) == 12,
       "pinned memory that changes before a wait");
    e.ops->host_free(e.device, pinned, N * sizeof(float));
    e.ops->event_free(event);
    rlf_queue_free(beside);
    close_env(&e);
}
#endif

static void
test_cpu(void)
{
    env e;
    rlf_recording *none = NULL;
    open_env(&e, rlf_backends[0]);
    ok(!e.device->caps.records, "the CPU does not record");
    is_int(e.ops->record(e.queue, &e.err), RLF_BUG, "... and says so");
    is_int(e.ops->recorded(e.queue, NULL, &e.err), RLF_BUG, "... at its end");
    is_int(e.ops->replay(e.queue, none, &e.err), RLF_BUG, "... and replaying");
    e.ops->recording_free(none);
    close_env(&e);
}

int
main(void)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_backend *cuda = rlf_backend_find(rlf_backends, "cuda");
    int n;
    test_cpu();
#ifdef RLF_HAVE_EMULATED
#ifdef __x86_64__
    if (!rlf_kernels_machine_has("v3"))
        skip("emulated: this machine has no fma");
    else
#endif
    {
        test_device(&rlf_backend_emulated);
        test_late();
    }
#else
    skip("emulated: no C++ compiler");
#endif
    if (cuda->count(&n, &err) < 0)
        skip("cuda: %s", err.sentence);
    else
        test_device(cuda);
    return done();
}
