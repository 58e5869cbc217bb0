/* Communication of device memory, over a device that the host cannot look into
 * (tests/later.h): the cases of comm_cases.h by way of device.h, worlds of 1 to
 * 8 ranks, failures in every collective, staged and over what stands for NCCL
 * (tests/fake_nccl.h); and the host itself as the device. */
#include "tests/message_fault.h" /* before names have other meanings */

#include "tests/device_calls.h"

#include "engine/comm/fold.cuh"
#include "engine/dev/cuda.h"
#include "tests/fake_nccl.h"
/* A message fails in either. */
#define FAIL_BESIDE(at) (fake_fault = (at))
#include "tests/comm_faults.h"

/* The last two on real GPUs: one that all ranks share, one each. */
typedef enum kind { DIRECT, STAGED, NCCL, SHARED_GPU, GPUS } kind;
static const char *const transport_names[] = {"direct", "staged", "nccl",
                                              "staged", "nccl"};
static double limit = 60; /* of waits */

typedef void rank_fn(member *s, void *arg);

typedef struct rank_thread {
    member member;
    int index;
    kind transport;
    pthread_barrier_t *attached; /* the barrier at which all have attached */
    rank_fn *run;
    void *arg;
    pthread_t thread;
} rank_thread;

static rlf_device *
device_new(const rank_thread *t)
{
    /* in a world without NCCL all share one */
    rlf_device *device = later_device_new(t->transport == NCCL ? t->index : 0);
    rlf_err err = RLF_ERR_NONE;
    const rlf_cpu_options options = {.n_threads = 1};
    const rlf_cuda_options gpu = {.index = t->transport == GPUS ? t->index : 0};
    if (t->transport == DIRECT || t->transport >= SHARED_GPU)
        rlf_device_free(device);
    if (t->transport == DIRECT)
        rlf_device_cpu_new(&options, &device, &err);
    if (t->transport >= SHARED_GPU &&
        rlf_device_cuda_new(&gpu, &device, &err) < 0)
        bail("%s", err.sentence);
    rlf_queue_new(device, &here, &err);
    return device;
}

typedef struct fold_work {
    void *out;
    const void *parts[WORLD_MOST];
    int n_parts;
    size_t n;
    rlf_comm_type type;
    rlf_comm_op op;
} fold_work;

static void
fold_now(later_queue *queue, void *args)
{
    (void)queue;
    const fold_work *w = args;
    rlf_comm_fold(w->out, w->parts, w->n_parts, w->n, w->type, w->op);
}

static rlf_status
fold(rlf_queue *queue, void *out, const void *const *parts, int n_parts,
     size_t n, rlf_comm_type type, rlf_comm_op op, rlf_err *err)
{
    (void)err;
    fold_work w = {.out = later_real(out),
                   .n_parts = n_parts,
                   .n = n,
                   .type = type,
                   .op = op};
    for (int i = 0; i < n_parts; i++)
        w.parts[i] = later_real(parts[i]);
    later_run(queue, fold_now, &w, sizeof w);
    return RLF_OK;
}

static const rlf_attach_options attach_options = {.nccl = &fake_nccl,
                                                  .fold = fold};

static void *
rank_main(void *arg)
{
    rank_thread *t = arg;
    member *s = &t->member;
    rlf_device *device = device_new(t);
    const char *why;
    const rlf_attach_options best = rlf_attach_best(device, &why);
    const rlf_attach_options *options =
        t->transport >= SHARED_GPU ? &best : &attach_options;
    rlf_device_transport will;
    EXPECT_OK(s,
              rlf_comm_estimate_transport(s->comm, here, options, &err, &will));
    EXPECT_OK(s, rlf_comm_attach(s->comm, here, options, &err));
    pthread_barrier_wait(t->attached);
    const rlf_device_transport *is = rlf_comm_device_transport(s->comm);
    const char *name = is->name;
    expect(s,
           !strcmp(will.name, name) && will.host_bytes == is->host_bytes &&
               will.device_bytes == is->device_bytes && !is->estimated,
           "foreseen: transport %s, %zu and %zu bytes, not %zu and %zu",
           will.name, will.host_bytes, will.device_bytes, is->host_bytes,
           is->device_bytes);
    size_t library = (size_t)(s->size - 1) * 32 * (4 << 20);
    expect(s,
           will.nccl_bytes == (will.estimated ? library : 0) &&
               will.estimated == !strcmp(name, "nccl"),
           "foreseen: %zu bytes of NCCL's", will.nccl_bytes);
    kind want = s->size == 1 && t->transport == NCCL ? STAGED : t->transport;
    expect(s, strcmp(name, transport_names[want]) == 0, "transport %s", name);
    t->run(s, t->arg);
    rlf_comm_detach(s->comm);
    rlf_queue_free(here);
    expect(s, device->allocated == 0, "%zu bytes are left", device->allocated);
    rlf_device_free(device);
    return NULL;
}

/* `run` by every rank of a new world; wrong things in all, the first of them in
 * `first`. */
static int
run_world(int n, kind transport, rank_fn *run, void *arg, char *first)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    rlf_comm_options options = {.n_ranks = n, .limit = limit};
    if (rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    rank_thread threads[WORLD_MOST] = {0};
    int wrong = 0;
    pthread_barrier_t attached;
    pthread_barrier_init(&attached, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        threads[i] = (rank_thread){
            .member = {.comm = rlf_comm_of(world, i), .rank = i, .size = n},
            .index = i,
            .transport = transport,
            .attached = &attached,
            .run = run,
            .arg = arg};
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    }
    *first = 0;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i].thread, NULL);
        if (!wrong)
            memcpy(first, threads[i].member.mistakes.first,
                   sizeof threads[i].member.mistakes.first);
        wrong += threads[i].member.mistakes.wrong;
    }
    fake_bury();
    pthread_barrier_destroy(&attached);
    rlf_comm_world_free(world);
    return wrong;
}

static void
run_case(member *s, void *arg)
{
    ((const comm_case *)arg)->run(s);
}

static void
test_cases(int n, kind transport)
{
    for (size_t i = 0; i < N_CASES; i++) {
        char first[256];
        if (comm_cases[i].run == case_mail)
            continue;
        int wrong =
            run_world(n, transport, run_case, (void *)&comm_cases[i], first);
        if (!ok(!wrong, "%d ranks, %s: %s", n, transport_names[transport],
                comm_cases[i].name))
            note("%d wrong, the first: %s", wrong, first);
    }
}

static void
test_failures(int n, kind transport)
{
    for (int which = 0; which < N_COLLECTIVES; which++)
        for (int at = 1; at <= 7; at += quick() ? 6 : 3) {
            failure f = {which, (which + at) % n, at};
            char first[256];
            int wrong = run_world(n, transport, run_failure, &f, first);
            if (!ok(!wrong, "%d ranks, %s: collective %d fails at message %d",
                    n, transport_names[transport], which, at))
                note("%d wrong, the first: %s", wrong, first);
        }
}

/* Longer than the slots, with every length of a last round. */
static void
run_long(member *s, void *arg)
{
    (void)arg;
    const rlf_device_transport *transport = rlf_comm_device_transport(s->comm);
    size_t slot = (transport->host_bytes + transport->device_bytes) / 2;
    rlf_group *all = rlf_group_world(s->comm);
    for (size_t more = 0; more < 2; more++) {
        size_t n = 2 * slot / 4 + more;
        float *x = filled(RLF_COMM_F32, s->rank, n);
        EXPECT_OK(s, rlf_group_all_reduce(all, x, x, n, RLF_COMM_F32,
                                          RLF_COMM_SUM, &err));
        expect(s,
               is_tree(RLF_COMM_F32, RLF_COMM_SUM, everyone, s->size, x, 0, n),
               "a sum of %zu", n);
        free(x);
    }
    size_t rows = 3001, row = 3001, gap = 7;
    unsigned char *a = rlf_calloc(rows, row + gap), *b = rlf_calloc(rows, row);
    int next = (s->rank + 1) % s->size,
        before = (s->rank + s->size - 1) % s->size;
    rlf_strided_rows from = {a, row, row + gap, rows},
                     to = {b, row * rows, 1, 1};
    rlf_strided_message out = {next, &from, 1}, in = {before, &to, 1};
    to.stride = to.bytes;
    walk_strips(&from, 1, 5, s->rank, true);
    EXPECT_OK(s, rlf_group_exchange_strided(all, 3, &out, 1, &in, 1, &err));
    expect(s, walk_strips(&to, 1, 5, before, false) == 0,
           "a long message in strips");
    free(a);
    free(b);
}

/* A device whose end does not know of it. */
static void
test_unattached(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    const rlf_comm_options options = {.n_ranks = 1};
    rlf_comm_world_new(&options, &world, &err);
    rlf_device *device = later_device_new(0);
    rlf_queue_new(device, &here, &err);
    rlf_comm *comm = rlf_comm_of(world, 0);
    ok(!rlf_comm_device_transport(comm), "an end by itself knows no device");
    is_int(
        rlf_device_all_gather(here, rlf_group_world(comm), NULL, 0, NULL, &err),
        RLF_BUG, "device memory without a transport is refused");
    rlf_queue_free(here);
    rlf_device_free(device);
    rlf_comm_world_free(world);
}

/* Runs the cases on real GPUs, if there are any: staged over one, NCCL over as
 * many as there are. */
static void
test_gpus(void)
{
    int n = 0;
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    for (; n < WORLD_MOST; n++) {
        const rlf_cuda_options options = {.index = n};
        if (rlf_device_cuda_new(&options, &device, &err) < 0)
            break;
        rlf_device_free(device);
    }
    if (!n) {
        skip("ranks on GPUs: %s", err.sentence);
        return;
    }
    test_cases(3, SHARED_GPU);
    if (n < 2)
        skip("NCCL itself needs two GPUs, this process sees %d", n);
    else
        test_cases(n, GPUS);
}

/* The three things that rank 1 may do while the others wait for it in a
 * collective. */
enum { ABORTS, BREAKS, SLEEPS };

static void
run_stuck(member *s, void *arg)
{
    int what = *(int *)arg;
    rlf_err err = RLF_ERR_NONE, mine = RLF_ERR_NONE;
    rlf_comm_world *world = rlf_comm_world_of(s->comm);
    static const char *const says[] = {
        "the reward of sample 7 is no number",
        "NCCL fails in all-reduce: a cable was cut", "longer than the limit"};
    uint64_t from = rlf_clock_now();
    if (s->rank == 1)
        rlf_clock_sleep(50000000);
    /* however long the others take to find it */
    while (s->rank == 1 && what == SLEEPS && rlf_clock_since(from) < 100 &&
           rlf_comm_check(world, &mine) == RLF_OK)
        rlf_clock_sleep(10000000);
    if (s->rank == 1 && what == ABORTS) {
        rlf_fail(&mine, RLF_USER, "the reward of sample 7 is no number");
        rlf_comm_abort(world, &mine);
    }
    fake_break = s->rank == 1 && what == BREAKS ? 2 : 0;
    rlf_status status = RLF_OK;
    float *x = rlf_calloc(100000, sizeof *x);
    for (int i = 0; i < 3 && status == RLF_OK; i++)
        status = rlf_group_all_reduce(rlf_group_world(s->comm), x, x, 100000,
                                      RLF_COMM_F32, RLF_COMM_SUM, &err);
    free(x);
    fake_break = 0;
    bool first = what == BREAKS ? s->rank == 1 : what == SLEEPS && s->rank != 1;
    expect(s, status == RLF_PEER || (status == RLF_ENV && first), "status %d",
           status);
    expect(s, strstr(err.sentence, says[what]) != NULL, "%s", err.sentence);
    err = (rlf_err)RLF_ERR_NONE;
    char own[4] = {0}, all[12];
    status = rlf_group_all_gather(rlf_group_world(s->comm), own, 4, all, &err);
    expect(s, status == RLF_PEER, "a later call: %d", status);
}

static void
test_stuck(void)
{
    static const char *const names[] = {"an abort", "an error of NCCL",
                                        "the limit"};
    char first[256];
    for (int what = ABORTS; what <= SLEEPS; what++) {
        limit = what == SLEEPS ? 0.2 : 60;
        int wrong = run_world(3, NCCL, run_stuck, &what, first);
        if (!ok(!wrong, "%s ends what waits in the queue", names[what]))
            note("%d wrong, the first: %s", wrong, first);
    }
    limit = 60;
}

/* The element of the GPU's kernel, as the kernel calls it. */
typedef void element_fn(void *out, const void *const *parts, int n, size_t i);
#define ELEMENT(op, name, type)                                         \
    static void op##_##name(void *out, const void *const *parts, int n, \
                            size_t i)                                   \
    {                                                                   \
        ((type *)out)[i] = (type)fold_##op##_##name(parts, n, i);       \
    }
#define COMM_TYPE(name, type, text) \
    ELEMENT(sum, name, type)        \
    ELEMENT(max, name, type)        \
    ELEMENT(min, name, type)
#include "engine/comm/type.def"
#undef COMM_TYPE
static element_fn *const elements[RLF_COMM_TYPES][RLF_COMM_OPS] = {
#define COMM_TYPE(name, type, text) {sum_##name, max_##name, min_##name},
#include "engine/comm/type.def"
#undef COMM_TYPE
};

/* For any number of parts, of which one has no number somewhere. */
static void
test_element(int type, const char *name)
{
    enum { MOST = 40, N = 50, NO_NUMBER = 7 };
    size_t size = rlf_comm_type_size((rlf_comm_type)type), wrong = 0;
    void *held[MOST];
    const void *parts[MOST];
    char want[8 * N], got[8 * N];
    for (int i = 0; i < MOST; i++)
        parts[i] = held[i] = filled(type, 3 * i + 1, N);
    if (type != RLF_COMM_I32 && type != RLF_COMM_I64)
        put(held[1], type, NO_NUMBER, (double)NAN);
    for (int n = 1; n <= MOST; n++)
        for (int op = 0; op < RLF_COMM_OPS; op++) {
            rlf_comm_fold(want, parts, n, N, (rlf_comm_type)type,
                          (rlf_comm_op)op);
            for (size_t i = 0; i < N; i++)
                elements[type][op](got, parts, n, i);
            wrong += memcmp(got, want, N * size) != 0;
        }
    ok(!wrong, "%s: an element on the GPU is added in the same tree", name);
    for (int i = 0; i < MOST; i++)
        free(held[i]);
}

int
main(void)
{
    char first[256];
    static const int worlds[] = {1, 2, 3, 8}; /* others: comm_thread */
#define COMM_TYPE(name, type, text) test_element(RLF_COMM_##name, text);
#include "engine/comm/type.def"
#undef COMM_TYPE
    test_cases(3, DIRECT);
    for (size_t i = 0; i < RLF_COUNT(worlds); i++)
        for (kind transport = STAGED; transport <= NCCL; transport++)
            if (!quick() || worlds[i] == 3)
                test_cases(worlds[i], transport);
    if (quick())
        test_cases(1, NCCL);
    for (kind transport = STAGED; transport <= NCCL; transport++) {
        test_failures(2, transport);
        if (!quick() && transport == NCCL)
            test_failures(5, transport);
        int wrong = run_world(3, transport, run_long, NULL, first);
        if (!ok(!wrong, "%s: calls longer than the staging",
                transport_names[transport]))
            note("%s", first);
    }
    test_stuck();
    test_unattached();
    test_gpus();
    return done();
}
