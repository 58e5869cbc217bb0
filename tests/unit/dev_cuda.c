/* These checks run engine/dev/cuda*.c over a runtime that fails where a case
 * says so, as a real one would: each error of a GPU that cannot be used is one
 * of the environment, names the operation that failed, and tells the user how
 * to mend it. */
#include "config.h"
#include "tests/tap.h"

#ifndef RLF_HAVE_CUDA

int
main(void)
{
    skip_all("built without CUDA");
}

#else

#define cudaGetDeviceCount fake_count
#define cudaGetDeviceProperties fake_properties
#define cudaSetDevice fake_choose
#define cudaFree fake_free
#define cudaMalloc fake_malloc
#define cudaMallocHost fake_pin
#define cudaFreeHost fake_unpin
#define cudaMemcpyAsync fake_copy
#define cudaMemGetInfo fake_left
#define cudaGetLastError fake_last
#define cudaStreamSynchronize fake_wait
#define cudaStreamQuery fake_query
#define cudaEventQuery fake_event_query
#define cudaEventRecord fake_event_record
#define cudaEventSynchronize fake_event_wait
#define cudaStreamBeginCapture fake_begin
#define cudaStreamEndCapture fake_end
#define cudaGraphInstantiateWithFlags fake_make
#define cudaGraphUpload fake_upload
#define cudaGraphLaunch fake_launch
#define cudaGraphDestroy fake_drop
#define cudaGraphExecDestroy fake_undo
#define cudaFuncGetAttributes fake_kernel
#define cudaFuncSetAttribute fake_allow
#include "engine/dev/cuda.c"
#include "engine/dev/cuda_open.c"
#include "engine/dev/cuda_peer.c"
#include "engine/dev/cuda_queue.c"
#include "engine/dev/cuda_record.c"

#include "engine/dev/replay.h"

#include <stdio.h>

/* The calls that can fail. */
typedef enum call {
    NONE,
    COUNT,
    START,
    MALLOC,
    LAUNCH,
    WAIT,
    MAKE,
    ALLOW
} call;

static struct {
    call fails;
    cudaError_t error;
    int count, major, minor;
    size_t left;
    int busy;         /* queries until the GPU is done */
    cudaError_t last; /* the last status of a query */
    /* Recordings: what the driver takes for one, and did so far; how many were
     * launched. */
    size_t each, taken;
    int launched;
    /* Dynamic shared memory: what kernels were allowed, and how often. */
    int allowed, asked;
    int pins, unpins; /* calls for pinned memory */
    int waits;        /* waits for a queue */
    int event_waits;  /* waits for an event */
    int copies;
    size_t copied; /* their bytes */
    void (*on_copy)(void *to, const void *from, size_t bytes);
} gpu;

/* The bytes of shared memory that a block has, and those that each kernel has
 * without asking. */
enum { SHARED = 227 << 10, OWN = 1 << 10 };

static cudaError_t
result(call which)
{
    return gpu.fails == which ? gpu.error : cudaSuccess;
}

cudaError_t
fake_count(int *out)
{
    *out = gpu.count;
    return result(COUNT);
}

cudaError_t
fake_properties(struct cudaDeviceProp *out, int index)
{
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "Test %d", index);
    out->major = gpu.major;
    out->minor = gpu.minor;
    out->sharedMemPerBlockOptin = SHARED;
    return cudaSuccess;
}

cudaError_t
fake_choose(int index)
{
    return index < gpu.count ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t
fake_free(void *p)
{
    return p ? cudaSuccess : result(START);
}

cudaError_t
fake_malloc(void **out, size_t bytes)
{
    static char memory[256];
    *out = bytes <= sizeof memory ? memory : NULL;
    return result(MALLOC);
}

cudaError_t
fake_pin(void **out, size_t bytes)
{
    gpu.pins++;
    *out = malloc(bytes);
    memset(*out, 0xff, bytes);
    return cudaSuccess;
}

cudaError_t
fake_unpin(void *p)
{
    gpu.unpins += p != NULL;
    free(p);
    return cudaSuccess;
}

cudaError_t
fake_left(size_t *left, size_t *all)
{
    *left = gpu.left - gpu.taken;
    *all = (size_t)80 << 30;
    return cudaSuccess;
}

cudaError_t
fake_last(void)
{
    cudaError_t last = gpu.last;
    gpu.last = cudaSuccess;
    return last ? last : result(LAUNCH);
}

cudaError_t
fake_query(cudaStream_t stream)
{
    (void)stream;
    return gpu.busy-- > 0 ? gpu.last = cudaErrorNotReady : cudaSuccess;
}

cudaError_t
fake_event_query(cudaEvent_t event)
{
    (void)event;
    return fake_query(NULL);
}

cudaError_t
fake_event_record(cudaEvent_t event, cudaStream_t stream)
{
    (void)event, (void)stream;
    return cudaSuccess;
}

cudaError_t
fake_event_wait(cudaEvent_t event)
{
    (void)event;
    gpu.event_waits++;
    return cudaSuccess;
}

cudaError_t
fake_wait(cudaStream_t stream)
{
    (void)stream;
    gpu.waits++;
    return gpu.last = result(WAIT);
}

cudaError_t
fake_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
          cudaStream_t stream)
{
    (void)kind, (void)stream;
    gpu.copies++;
    gpu.copied += bytes;
    if (gpu.on_copy)
        gpu.on_copy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t
fake_begin(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)stream, (void)mode;
    return cudaSuccess;
}

cudaError_t
fake_end(cudaStream_t stream, cudaGraph_t *out)
{
    (void)stream;
    *out = NULL;
    return cudaSuccess;
}

cudaError_t
fake_make(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)graph, (void)flags;
    *out = result(MAKE) == cudaSuccess ? (cudaGraphExec_t)&gpu : NULL;
    return result(MAKE);
}

/* Only now is the memory taken. */
cudaError_t
fake_upload(cudaGraphExec_t graph, cudaStream_t stream)
{
    (void)graph, (void)stream;
    gpu.taken += gpu.each;
    return cudaSuccess;
}

cudaError_t
fake_launch(cudaGraphExec_t graph, cudaStream_t stream)
{
    (void)graph, (void)stream;
    gpu.launched++;
    return cudaSuccess;
}

cudaError_t
fake_drop(cudaGraph_t graph)
{
    (void)graph;
    return cudaSuccess;
}

cudaError_t
fake_undo(cudaGraphExec_t graph)
{
    (void)graph;
    gpu.taken -= gpu.each;
    return cudaSuccess;
}

cudaError_t
fake_kernel(struct cudaFuncAttributes *out, const void *kernel)
{
    (void)kernel;
    *out = (struct cudaFuncAttributes){.sharedSizeBytes = OWN};
    return cudaSuccess;
}

cudaError_t
fake_allow(const void *kernel, enum cudaFuncAttribute which, int bytes)
{
    (void)kernel;
    gpu.asked += which == cudaFuncAttributeMaxDynamicSharedMemorySize;
    gpu.allowed = bytes;
    return bytes <= SHARED - OWN ? result(ALLOW) : cudaErrorInvalidValue;
}

enum { ALIKE = 0, NEWER = 1 };

/* clang-format off */
static const struct {
    const char *what;
    call fails;
    cudaError_t error;
    int count, index;
    int capability; /* ALIKE: what kernels are for, and so on */
    const char *sentence, *hint;
} cases[] = {
    {"no driver", COUNT, cudaErrorInsufficientDriver, 0, 0, ALIKE,
     "no GPU can be used", "a driver for CUDA"},
    {"no GPU", COUNT, cudaErrorNoDevice, 0, 0, ALIKE,
     "no GPU can be used", "CUDA_VISIBLE_DEVICES"},
    {"a count of none", NONE, cudaSuccess, 0, 0, ALIKE,
     "no GPU can be used: no CUDA-capable device", "CUDA_VISIBLE_DEVICES"},
    {"a driver of two versions", COUNT, cudaErrorSystemDriverMismatch, 0, 0, ALIKE,
     "no GPU can be used", "restart the machine"},
    {"a driver too old for the GPU", START, cudaErrorCompatNotSupportedOnDevice, 1, 0, ALIKE,
     "starting a GPU", "install the driver"},
    {"a GPU that there is not", NONE, cudaSuccess, 2, 2, ALIKE,
     "there is no GPU 2: this process sees 2", "CUDA_VISIBLE_DEVICES"},
    {"too old a GPU", NONE, cudaSuccess, 1, 0, 75,
     "GPU 0 (Test 0) has compute capability 7.5; 8.0 is the oldest", ""},
    {"a GPU that it was not built for", NONE, cudaSuccess, 1, 0, 250,
     "GPU 0 (Test 0) has compute capability 25.0, but this rlflow has kernels for " RLF_CUDA_ARCHS,
     "CUDA_ARCHS=sm_250"},
    {"a GPU of the same family", NONE, cudaSuccess, 1, 0, NEWER, NULL, NULL},
    {"a GPU that another process has", START, cudaErrorDevicesUnavailable, 1, 0, ALIKE,
     "starting a GPU", "another process has this GPU for itself"},
    {"no memory for a context", START, cudaErrorMemoryAllocation, 1, 0, ALIKE,
     "starting a GPU: out of memory", "nvidia-smi"},
    {"defective memory", START, cudaErrorECCUncorrectable, 1, 0, ALIKE,
     "starting a GPU", "defective"},
};
/* clang-format on */

static void
is_refused(rlf_status status, const rlf_err *err, const char *what,
           const char *sentence, const char *hint)
{
    if (!ok(status == RLF_ENV && strstr(err->sentence, sentence) &&
                strstr(err->hint, hint),
            "%s: the environment's, with what to do", what))
        note("%d: %s (%s)", status, err->sentence, err->hint);
}

static void
set_capability(int capability)
{
    if (capability <= NEWER)
        capability += atoi(RLF_CUDA_ARCHS + sizeof "sm_" - 1);
    gpu.major = capability / 10;
    gpu.minor = capability % 10;
}

static void
test_opening(size_t i)
{
    rlf_device_memory memory;
    rlf_err err = RLF_ERR_NONE;
    gpu.fails = cases[i].fails;
    gpu.error = cases[i].error;
    gpu.count = cases[i].count;
    set_capability(cases[i].capability);
    rlf_status status = rlf_device_cuda_memory(cases[i].index, &memory, &err);
    if (cases[i].sentence)
        is_refused(status, &err, cases[i].what, cases[i].sentence,
                   cases[i].hint);
    else
        ok(status == RLF_OK, "%s", cases[i].what);
}

static rlf_status
look_on(void *ctx, bool first, rlf_err *err)
{
    (void)err;
    *(int *)ctx += first ? 100 : 1;
    return RLF_OK;
}

/* The runtime keeps "not ready" as its last error, which is none of ours. */
static void
test_waiting(rlf_device *device)
{
    int looks = 0;
    struct rlf_event event = {NULL};
    rlf_err err = RLF_ERR_NONE;
    rlf_cuda_queue q = {.queue.device = device};
    q.queue.watch = look_on;
    q.queue.watch_ctx = &looks;
    gpu.fails = NONE;
    gpu.busy = 3;
    ok(settle(&q, &err) == RLF_OK && looks == 102,
       "a wait looks on as long as the GPU is busy");
    ok(rlf_cuda_launched("embed", &err) == RLF_OK,
       "... which the next launch is not blamed for");
    gpu.busy = 1;
    ok(cuda_event_done(&event, &err) == RLF_AGAIN &&
           rlf_cuda_launched("embed", &err) == RLF_OK &&
           cuda_event_done(&event, &err) == RLF_OK,
       "nor for an event that was not there yet");
}

/* A kernel is allowed all that there is, once on each GPU. */
static void
test_shared(rlf_device *device, rlf_device *other)
{
    static const char first, second, third;
    rlf_err err = RLF_ERR_NONE;
    rlf_cuda_queue q = {.queue.device = device}, next = q;
    gpu.fails = NONE;
    gpu.asked = 0;
    ok(rlf_cuda_allow_shared(&q.queue, &first, 44 << 10, &err) == RLF_OK &&
           gpu.asked == 0,
       "what every kernel has need not be asked for");
    ok(rlf_cuda_allow_shared(&q.queue, &first, 100 << 10, &err) == RLF_OK &&
           gpu.asked == 1 && gpu.allowed == SHARED - OWN,
       "a kernel that needs more is allowed all that there is");
    ok(rlf_cuda_allow_shared(&next.queue, &first, SHARED - OWN, &err) ==
               RLF_OK &&
           rlf_cuda_allow_shared(&q.queue, &first, 60 << 10, &err) == RLF_OK &&
           gpu.asked == 1,
       "... once, for every queue and any size");
    ok(rlf_cuda_allow_shared(&q.queue, &second, 60 << 10, &err) == RLF_OK &&
           gpu.asked == 2,
       "so is another kernel");
    next.queue.device = other;
    ok(rlf_cuda_allow_shared(&next.queue, &first, 60 << 10, &err) == RLF_OK &&
           gpu.asked == 3,
       "and the same one on another GPU");
    is_refused(rlf_cuda_allow_shared(&q.queue, &first, SHARED, &err), &err,
               "more than a block has",
               "needs 232448 bytes of shared memory; this GPU has 231424", "");
    rlf_err_clear(&err);
    gpu.fails = ALLOW;
    gpu.error = cudaErrorInvalidDeviceFunction;
    is_refused(rlf_cuda_allow_shared(&q.queue, &third, 60 << 10, &err), &err,
               "an error while asking", "asking for shared memory", "");
    rlf_err_clear(&err);
    gpu.fails = NONE;
    ok(rlf_cuda_allow_shared(&q.queue, &third, 60 << 10, &err) == RLF_OK &&
           gpu.asked == 5,
       "... which is asked again");
}

/* Small blocks are kept for who asks next: the driver is not asked, which may
 * wait for a message of another rank that waits for this one. */
static void
test_pinned(rlf_device *device)
{
    enum { SMALL_BLOCK = 100, OTHER = 3000, LARGE = 8 << 20 };
    char *first, *second, *third, *large;
    rlf_err err = RLF_ERR_NONE;
    gpu.fails = NONE;
    gpu.pins = gpu.unpins = 0;
    if (cuda_host_alloc(device, SMALL_BLOCK, (void **)&first, &err) < 0 ||
        cuda_host_alloc(device, SMALL_BLOCK, (void **)&second, &err) < 0)
        bail("%s", err.sentence);
    ok(first != second && gpu.pins == 2, "each has a block of its own");
    memset(first, 1, SMALL_BLOCK);
    cuda_host_free(device, first, SMALL_BLOCK);
    ok(gpu.unpins == 0 && !rlf_cuda_is_pinned(device, first) &&
           rlf_cuda_is_pinned(device, second),
       "a small one that is given back is nobody's, but is kept");
    if (cuda_host_alloc(device, OTHER, (void **)&third, &err) < 0)
        bail("%s", err.sentence);
    ok(third == first && gpu.pins == 2 && !third[0] && !third[OTHER - 1],
       "... for who asks next, zeroed");
    if (cuda_host_alloc(device, LARGE, (void **)&large, &err) < 0)
        bail("%s", err.sentence);
    cuda_host_free(device, large, LARGE);
    is_int(gpu.unpins, 1, "a large one is not kept");
    cuda_host_free(device, second, SMALL_BLOCK);
}

enum { ALL = RLF_CUDA_PIECES * RLF_CUDA_PIECE };
static char pieces[ALL];
static int in_pinned; /* copies */

static void
copy_now(void *to, const void *from, size_t bytes)
{
    in_pinned += (size_t)((const char *)from - pieces) < ALL;
    memcpy(to, from, bytes);
}

/* Checks that the caller may change ordinary memory at once after a copy from
 * it, and that the host goes on: a large copy goes through pinned pieces, of
 * which the oldest is waited for once all are in use. */
static void
test_large_copies(rlf_device *device)
{
    enum { LARGE = 5 << 20 };
    static char staged[1 << 20], memory[LARGE], there[LARGE];
    void *pinned;
    rlf_err err = RLF_ERR_NONE;
    rlf_cuda_queue q = {
        .queue.device = device, .staged_host = staged, .pieces.memory = pieces};
    gpu.fails = NONE;
    gpu.waits = gpu.event_waits = gpu.copies = 0;
    if (cuda_host_alloc(device, LARGE, &pinned, &err) < 0 ||
        rlf_cuda_copy(&q.queue, there, pinned, LARGE, RLF_COPY_TO_DEVICE,
                      &err) < 0 ||
        rlf_cuda_copy(&q.queue, there, memory, sizeof staged,
                      RLF_COPY_TO_DEVICE, &err) < 0)
        bail("%s", err.sentence);
    ok(gpu.copies == 2 && gpu.waits == 0,
       "copies from pinned memory, and small ones, go on");
    gpu.on_copy = copy_now;
    for (int i = 0; i < LARGE; i++)
        memory[i] = (char)((unsigned)i * 2654435761u >> 24);
    size_t before = gpu.copied;
    rlf_status status =
        rlf_cuda_copy(&q.queue, there, memory, LARGE, RLF_COPY_TO_DEVICE, &err);
    ok(status == RLF_OK && !gpu.waits && !gpu.event_waits,
       "so does a large one from ordinary memory");
    ok(gpu.copied - before == LARGE && !memcmp(there, memory, LARGE) &&
           in_pinned == LARGE / RLF_CUDA_PIECE + 1,
       "... which is copied in pinned pieces");
    for (int i = 0; i < 10; i++)
        if (rlf_cuda_copy(&q.queue, there, memory, LARGE, RLF_COPY_TO_DEVICE,
                          &err) < 0)
            bail("%s", err.sentence);
    ok(!gpu.waits && gpu.event_waits == 33 - RLF_CUDA_PIECES,
       "a piece is used again when its copy is done: %d waits",
       gpu.event_waits);
    gpu.on_copy = NULL;
    cuda_host_free(device, pinned, LARGE);
}

/* A device that was opened, and fails later. */
static void
test_later(void)
{
    rlf_cuda_options options = {.n_threads = 1, .memory_limit = 1 << 20};
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device, *other;
    rlf_device_memory memory;
    void *p;
    gpu.fails = NONE;
    gpu.count = 1;
    set_capability(ALIKE);
    gpu.left = (size_t)20 << 30;
    if (rlf_device_cuda_memory(0, &memory, &err) < 0 ||
        rlf_device_cuda_new(&options, &device, &err) < 0 ||
        rlf_device_cuda_new(&options, &other, &err) < 0)
        bail("%s", err.sentence);
    ok(memory.left < gpu.left && memory.left > gpu.left - ((size_t)1 << 30) &&
           memory.all == (size_t)80 << 30,
       "what is free, but for the driver's own");
    is_refused(rlf_device_alloc(device, 2 << 20, &p, &err), &err,
               "more than it may take",
               "no memory for a block of 2097152 bytes", "rlflow check");
    rlf_err_clear(&err);
    gpu.fails = MALLOC;
    gpu.error = cudaErrorMemoryAllocation;
    is_refused(rlf_device_alloc(device, 1 << 19, &p, &err), &err,
               "memory that somebody else took",
               "21474836480 of 85899345920 are free", "rlflow check");
    is_int((int64_t)device->allocated, 0, "... and nothing counts as taken");
    rlf_err_clear(&err);
    gpu.fails = LAUNCH;
    gpu.error = cudaErrorNoKernelImageForDevice;
    is_refused(rlf_cuda_launched("embed", &err), &err, "no kernel for the GPU",
               "embed: no kernel image is available", "CUDA_ARCHS");
    rlf_err_clear(&err);
    rlf_cuda_queue q = {.queue.device = device};
    gpu.fails = WAIT;
    gpu.error = cudaErrorECCUncorrectable;
    is_refused(settle(&q, &err), &err, "an error while waiting",
               "waiting for the GPU", "defective");
    rlf_err_clear(&err);
    ok(rlf_cuda_launched("embed", &err) == RLF_OK,
       "... which the next launch is not blamed for");
    test_waiting(device);
    test_shared(device, other);
    test_pinned(device);
    test_large_copies(device);
    rlf_device_free(device);
    rlf_device_free(other);
    is_int(gpu.unpins, gpu.pins, "with the device its pinned memory ends");
}

static rlf_status
count_calls(void *ctx, rlf_err *err)
{
    (void)err;
    ++*(int *)ctx;
    return RLF_OK;
}

/* A key comes; was it carried out from a recording? */
static bool
comes(rlf_replays *r, int key, int *calls)
{
    rlf_err err = RLF_ERR_NONE;
    bool replayed;
    if (rlf_replays_do(r, &key, sizeof key, count_calls, calls, &err,
                       &replayed) < 0)
        bail("%s", err.sentence);
    return replayed;
}

static void
hear(void *arg, rlf_log_level level, const char *line)
{
    const char *said = level == RLF_LOG_WARN ? "no room for more recordings"
                                             : "here: recording operations: ";
    *(int *)arg += strstr(line, said) != NULL;
}

/* The driver's memory for recordings: half of what is left to it. */
static void
test_room(void)
{
    enum { EACH = 60 << 20, FIT = 4 }; /* of 256 MB */
    rlf_cuda_device cuda = {.device.caps.records = true};
    static const rlf_device_ops ops = {.record = rlf_cuda_record,
                                       .recorded = rlf_cuda_recorded,
                                       .replay = rlf_cuda_replay,
                                       .recording_free =
                                           rlf_cuda_recording_free};
    cuda.device.ops = &ops;
    rlf_cuda_queue q = {.queue.device = &cuda.device};
    rlf_replays *r = rlf_replays_new(&q.queue);
    rlf_err err = RLF_ERR_NONE;
    rlf_log log;
    int calls = 0, told = 0, recorded = 0;
    gpu.fails = NONE;
    gpu.left = (size_t)20 << 30;
    gpu.each = EACH;
    rlf_log_init(&log, hear, &told, 0);
    if (rlf_log_set(&log, "warn", &err) < 0)
        bail("%s", err.sentence);
    for (int key = 0; key < FIT; key++)
        recorded += !comes(r, key, &calls) && comes(r, key, &calls);
    ok(recorded == FIT && gpu.taken == (size_t)FIT * EACH,
       "what the driver takes for recordings is counted");
    rlf_replays_note(r, &log);
    is_int(told, 0, "and as long as there is room nothing is said");
    calls = 0;
    ok(!comes(r, FIT, &calls) && !comes(r, FIT, &calls) && calls == 2 &&
           gpu.taken == (size_t)FIT * EACH,
       "where one more has no room, its work is carried out as ever");
    ok(comes(r, 0, &calls) && calls == 2, "those there are stay in use");
    rlf_replays_note(r, &log);
    rlf_replays_note(r, &log);
    is_int(told, 1, "which is said once");
    rlf_replays_agree(r, true);
    ok(comes(r, FIT, &calls), "ranks that must do alike may record it");
    rlf_replays_forget(r);
    ok(gpu.taken == 0 && rlf_replays_room(r), "what is dropped makes room");
    gpu.fails = MAKE;
    gpu.error = cudaErrorMemoryAllocation;
    calls = 0;
    ok(!comes(r, 0, &calls) && !comes(r, 0, &calls) && calls == 3,
       "no memory for a recording: the work is carried out as ever");
    gpu.fails = NONE;
    ok(!comes(r, 0, &calls) && calls == 4, "... and not tried again");
    rlf_replays_note(r, &log);
    is_int(told, 2, "... which is said");
    rlf_replays_free(r);
}

int
main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_opening(i);
    test_later();
    test_room();
    return done();
}

#endif
