/* Cores and quotas from made-up control groups; the CPU device's memory,
 * queues and events. */
#define _GNU_SOURCE
#include "engine/dev/cores.h"
#include "engine/dev/dev.h"
#include "tests/put.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void
put_below(const char *path, const char *text)
{
    char at[sizeof root + 256];
    snprintf(at, sizeof at, "%s/%s", root, path);
    for (char *p = at + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(at, 0700);
        *p = '/';
    }
    FILE *file = fopen(at, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bail("cannot write %s", at);
}

static double
quota(const char *self)
{
    char at[sizeof root + 256];
    put_below("self", self);
    snprintf(at, sizeof at, "%s/self", root);
    return rlf_cores_quota(root, at);
}

static void
test_cores(void)
{
    make_root();
    put_below("a/b/cpu.max", "max 100000\n");
    put_below("a/cpu.max", "150000 100000\n");
    put_below("cpu.max", "400000 100000\n");
    put_below("cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
    put_below("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    put_below("cpu,cpuacct/y/cpu.cfs_quota_us", "-1\n");
    put_below("cpu,cpuacct/y/cpu.cfs_period_us", "100000\n");
    near(quota("0::/a/b\n"), 1.5, 0, "the least quota up to the root");
    near(quota("0::/\n"), 4, 0, "the root's own");
    near(quota("0::/gone/away\n"), 4, 0, "a group that cannot be seen");
    near(quota("3:cpu,cpuacct:/x\n1:memory:/a\n"), 0.5, 0, "version 1");
    near(quota("3:cpu,cpuacct:/y\n"), 0, 0, "version 1 without a quota");
    near(quota("2:cpuset:/x\n"), 0, 0, "another controller");
    near(rlf_cores_quota(root, "/nowhere"), 0, 0, "nothing to read");
    cpu_set_t set, one;
    sched_getaffinity(0, sizeof set, &set);
    ok(rlf_cores_count() >= 1 && rlf_cores_count() <= CPU_COUNT(&set),
       "no more cores than the affinity mask");
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    is_int(rlf_cores_count(), 1, "an affinity of one core");
    sched_setaffinity(0, sizeof set, &set);
}

static void
test_device(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    rlf_cpu_options options = {.n_threads = 2, .memory_limit = 16 << 20};
    if (rlf_device_cpu_new(&options, &device, &err) < 0 ||
        rlf_queue_new(device, &queue, &err) < 0)
        bail("%s", err.sentence);
    size_t start = device->allocated;
    void *a, *b, *none;
    is_int(rlf_device_alloc(device, 1000, &a, &err), RLF_OK, "a block");
    is_int((int64_t)((uintptr_t)a % 64), 0, "aligned to a cache line");
    is_int(rlf_device_alloc(device, 3 << 20, &b, &err), RLF_OK, "a large one");
    is_int((int64_t)((uintptr_t)b % (2 << 20)), 0, "aligned to a huge page");
    is_int(rlf_device_alloc(device, 0, &none, &err), RLF_OK, "nothing");
    ok(none == NULL, "nothing is NULL");
    is_int((int64_t)(device->allocated - start), 1024 + (3 << 20),
           "bytes in use");
    is_int(rlf_device_alloc(device, 12 << 20, &none, &err), RLF_ENV,
           "beyond the limit");
    ok(none == NULL && strstr(err.sentence, "12582912") && err.hint[0],
       "the message says how much");
    err = (rlf_err)RLF_ERR_NONE;
    is_int(rlf_device_alloc(device, SIZE_MAX - 5, &none, &err), RLF_ENV,
           "a size that would wrap around");
    err = (rlf_err)RLF_ERR_NONE;
    rlf_queue_set(queue, a, 7, 1000, &err);
    rlf_queue_copy(queue, b, a, 1000, RLF_COPY_ON_DEVICE, &err);
    ok(memcmp(a, b, 1000) == 0 && *(char *)b == 7, "set and copy");
    char in[6][5], out[6][4] = {{0}}, *row = &in[0][0];
    for (int i = 0; i < 30; i++)
        row[i] = (char)i;
    rlf_queue_copy_rows(queue, out, 4, in, 10, 3, 3, RLF_COPY_TO_HOST, &err);
    ok(out[0][2] == 2 && out[1][0] == 10 && out[2][2] == 22 && !out[0][3] &&
           !out[3][0],
       "rows with gaps");
    rlf_queue_copy_rows(queue, out, 4, in, 4, 4, 6, RLF_COPY_TO_HOST, &err);
    ok(memcmp(out, in, 24) == 0, "rows without");
    rlf_event *event;
    const rlf_device_ops *ops = device->ops;
    ops->event_new(device, &event, &err);
    is_int(ops->event_done(event, &err), RLF_AGAIN, "not recorded yet");
    is_int(ops->event_wait(event, queue, &err), RLF_BUG, "waits for nothing");
    err = (rlf_err)RLF_ERR_NONE;
    is_int(ops->event_record(event, queue, &err), RLF_OK, "recorded");
    is_int(ops->event_done(event, &err), RLF_OK, "done");
    is_int(rlf_queue_sync(queue, &err), RLF_OK, "sync");
    ops->event_free(event);
    size_t peak = device->peak;
    rlf_device_release(device, a, 1000);
    rlf_device_release(device, b, 3 << 20);
    is_int((int64_t)device->allocated, (int64_t)start, "all given back");
    ok(device->peak == peak && peak > start, "the peak stays");
    rlf_queue_free(queue);
    is_int((int64_t)device->allocated, 0, "a queue's scratch too");
    rlf_device_free(device);
}

/* A large block is touched by all threads of the team. */
static void
test_large(void)
{
    enum { BYTES = (32 << 20) + 12345 };
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    rlf_cpu_options options = {.n_threads = 4};
    void *block;
    if (rlf_device_cpu_new(&options, &device, &err) < 0 ||
        rlf_queue_new(device, &queue, &err) < 0 ||
        rlf_device_alloc(device, BYTES, &block, &err) < 0)
        bail("%s", err.sentence);
    struct rusage before, mine, all_before, all;
    getrusage(RUSAGE_THREAD, &before);
    getrusage(RUSAGE_SELF, &all_before);
    is_int(rlf_queue_set(queue, block, 9, BYTES, &err), RLF_OK, "set");
    getrusage(RUSAGE_THREAD, &mine);
    getrusage(RUSAGE_SELF, &all);
    long pages = all.ru_minflt - all_before.ru_minflt;
    long own = mine.ru_minflt - before.ru_minflt;
    ok(pages >= 16 && own <= pages / 2,
       "the caller touches at most half of the pages");
    note("%ld of %ld", own, pages);
    const char *p = block;
    ok(p[0] == 9 && memcmp(p, p + 1, BYTES - 1) == 0, "... and all are set");
    rlf_device_release(device, block, BYTES);
    rlf_queue_free(queue);
    rlf_device_free(device);
}

int
main(void)
{
    test_cores();
    test_device();
    test_large();
    return done();
}
