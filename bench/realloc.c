/* Weights from one layout to another on thread ranks, against what copying as
 * many bytes takes: memcpy by as many threads as ranks that get something, at
 * most one a core, in turn with it.
 *
 *     bench/realloc [MB [ROUNDS [DEVICE]]]
 *
 * MB: weights of the whole model (default 128). What is copied within a rank
 * counts. Weights that come layer by layer are packed for products as they
 * come, which is a second copy: there the time is of both, and so are the
 * bytes; else packing comes behind it and does not count. DEVICE cuda: all
 * ranks have the first GPU, and the yardstick is one copy there; what goes from
 * rank to rank is staged in host memory, so the rows without messages are the
 * ones that a GPU is to be judged by. */
#include "engine/base/clock.h"
#include "config.h"
#include "engine/comm/comm.h"
#include "engine/comm/device.h"
#include "engine/dev/cores.h"
#include "engine/plan/realloc.h"
#include "kernels/backend.h"
#include "nodes/model/move.h"
#ifdef RLF_HAVE_EMULATED
#include "kernels/cuda/emulate_device.h"
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, TURNS = 4 };

typedef struct cut {
    int first, n, tp;
} cut;

typedef struct bench {
    const char *name;
    int n_ranks;
    cut from, to;
    bool by_layer;
} bench;

static const bench benches[] = {
    {"one rank to another", 2, {0, 1, 1}, {1, 1, 1}, false},
    {"tp 2 to tp 1, dp 2", 2, {0, 2, 2}, {0, 2, 1}, false},
    {"tp 1, dp 2 to tp 2", 2, {0, 2, 1}, {0, 2, 2}, false},
    {"tp 4 to tp 2, dp 2", 4, {0, 4, 4}, {0, 4, 2}, false},
    {"tp 4 to tp 1, dp 4", 4, {0, 4, 4}, {0, 4, 1}, false},
    {"tp 2 to tp 2, dp 3 (overlap)", 6, {0, 2, 2}, {0, 6, 2}, false},
    {"tp 2, dp 2 to tp 4 apart", 8, {0, 4, 2}, {4, 4, 4}, false},
    {"tp 1 to dp 4 apart", 5, {0, 1, 1}, {1, 4, 1}, false},
    {"by layer: one rank to another", 2, {0, 1, 1}, {1, 1, 1}, true},
    {"by layer: tp 2 to tp 1, dp 2", 2, {0, 2, 2}, {0, 2, 1}, true},
    {"by layer: tp 1, dp 2 to tp 2", 2, {0, 2, 1}, {0, 2, 2}, true},
    {"by layer: tp 4 to tp 1, dp 4", 4, {0, 4, 4}, {0, 4, 1}, true},
};

typedef struct task {
    const rlf_backend *backend;
    const rlf_kernels *kernels;
    rlf_model_config config;
    rlf_layout from, to;
    rlf_shapes shapes;
    rlf_weight_edge edge;
    int rounds;
    double bytes; /* bytes that all ranks write */
    int writers;  /* ranks */
} task;

typedef struct rank_thread {
    const task *task;
    rlf_comm *comm;
    int rank;
    double best; /* seconds */
    rlf_moved moved;
    pthread_t thread;
} rank_thread;

static void
must(rlf_status status, const rlf_err *err)
{
    if (status < 0) {
        fprintf(stderr, "bench/realloc: %s\n", err->sentence);
        exit(1);
    }
}

/* ---- copying ---- */

typedef struct copier {
    char *from, *to;
    size_t bytes;
    pthread_t thread;
} copier;

static void *
copy_main(void *arg)
{
    copier *c = arg;
    memcpy(c->to, c->from, c->bytes);
    return NULL;
}

static void
open_device(const rlf_backend *backend, rlf_device **device, rlf_queue **queue)
{
    rlf_err err = RLF_ERR_NONE;
    must(backend->open(&(rlf_backend_options){.n_threads = 1}, device, &err),
         &err);
    must(rlf_queue_new(*device, queue, &err), &err);
}

/* Seconds of a copy of `bytes` in the memory of the device. */
static double
device_seconds(const rlf_backend *backend, double bytes, int rounds)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    void *from, *to;
    size_t n = (size_t)bytes;
    double best = 0;
    open_device(backend, &device, &queue);
    must(rlf_device_alloc(device, n, &from, &err), &err);
    must(rlf_device_alloc(device, n, &to, &err), &err);
    must(rlf_queue_set(queue, from, 1, n, &err), &err);
    for (int round = 0; round <= rounds; round++) {
        must(rlf_queue_sync(queue, &err), &err);
        uint64_t begin = rlf_clock_now();
        must(rlf_queue_copy(queue, to, from, n, RLF_COPY_ON_DEVICE, &err),
             &err);
        must(rlf_queue_sync(queue, &err), &err);
        double each = rlf_clock_since(begin);
        best = round <= 1 || each < best ? each : best; /* 0 warms up */
    }
    rlf_device_release(device, from, n);
    rlf_device_release(device, to, n);
    rlf_queue_free(queue);
    rlf_device_free(device);
    return best;
}

/* Seconds in which n threads copy `bytes` together, the best of some. */
static double
copy_seconds(double bytes, int n, int rounds)
{
    copier copiers[MOST];
    double best = 0;
    for (int i = 0; i < n; i++) {
        copier *c = &copiers[i];
        *c = (copier){.bytes = (size_t)(bytes / n)};
        c->from = rlf_malloc(c->bytes);
        c->to = rlf_malloc(c->bytes);
        memset(c->from, 1, c->bytes);
        memset(c->to, 1, c->bytes);
    }
    for (int round = 0; round < rounds; round++) {
        uint64_t begin = rlf_clock_now();
        for (int i = 0; i < n; i++)
            pthread_create(&copiers[i].thread, NULL, copy_main, &copiers[i]);
        for (int i = 0; i < n; i++)
            pthread_join(copiers[i].thread, NULL);
        double each = rlf_clock_since(begin);
        best = round == 0 || each < best ? each : best;
    }
    for (int i = 0; i < n; i++) {
        free(copiers[i].from);
        free(copiers[i].to);
    }
    return best;
}

/* ---- moving ---- */

static rlf_model *
part_of(const rank_thread *s, const rlf_layout *layout, bool serves,
        bool by_layer, rlf_queue *queue, rlf_group **group)
{
    int ranks[MOST];
    rlf_err err = RLF_ERR_NONE;
    rlf_model_options options = {.head = RLF_HEAD_LM,
                                 .shards = 4,
                                 .bare = !by_layer,
                                 .by_layer = by_layer,
                                 .serves = serves,
                                 .stage = RLF_MOVE_STAGE};
    rlf_model *model;
    int n = rlf_layout_group(layout, s->rank, RLF_AXIS_TP, ranks);
    *group = NULL;
    if (!n)
        return NULL;
    must(rlf_group_new(s->comm, ranks, n, group, &err), &err);
    options.group = *group;
    must(rlf_model_new(queue, s->task->kernels, &s->task->config, &options,
                       &err, &model),
         &err);
    return model;
}

static void *
rank_main(void *arg)
{
    rank_thread *s = arg;
    const task *k = s->task;
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    rlf_group *groups[2], *world = rlf_group_world(s->comm);
    open_device(k->backend, &device, &queue);
    if (!device->caps.host_memory)
        must(rlf_comm_attach(s->comm, queue, &(rlf_attach_options){0}, &err),
             &err);
    rlf_model *from =
        part_of(s, &k->from, k->edge.by_layer, false, queue, &groups[0]);
    rlf_model *to =
        part_of(s, &k->to, false, k->edge.by_layer, queue, &groups[1]);
    for (int i = 0; i < k->rounds; i++) {
        must(rlf_group_barrier(world, &err), &err);
        uint64_t begin = rlf_clock_now();
        must(rlf_move_weights(from, to, &k->edge, world, &err, &s->moved),
             &err);
        must(rlf_queue_sync(queue, &err), &err);
        must(rlf_group_barrier(world, &err), &err);
        double each = rlf_clock_since(begin);
        s->best = i == 0 || each < s->best ? each : s->best;
    }
    rlf_model_free(from);
    rlf_model_free(to);
    for (int i = 0; i < 2; i++)
        rlf_group_free(groups[i]);
    rlf_comm_detach(s->comm);
    rlf_queue_free(queue);
    rlf_device_free(device);
    return NULL;
}

static rlf_layout
layout_of(cut c, const int *ranks)
{
    return (rlf_layout){.ranks = ranks + c.first,
                        .n_ranks = c.n,
                        .tp = c.tp,
                        .pp = 1,
                        .dp = c.n / c.tp};
}

/* Counts the bytes that ranks have to write: those that come, and those that a
 * rank copies; twice where they land before they are packed. */
static void
count_bytes(task *k, int n_ranks)
{
    double by[MOST] = {0}, each = sizeof(float);
    if (k->edge.by_layer)
        each = k->kernels->one_pack ? (double)rlf_real_bytes(k->kernels)
                                    : 2 * each;
    for (int i = 0; i < k->edge.n_sends; i++)
        by[k->edge.sends[i].to] += (double)rlf_box_count(k->edge.sends[i].box);
    for (int i = 0; i < k->edge.n_copies; i++)
        by[k->edge.copies[i].to] +=
            (double)rlf_box_count(k->edge.copies[i].box);
    for (int i = 0; i < n_ranks; i++) {
        k->bytes += by[i] * each;
        k->writers += by[i] > 0;
    }
}

static void
prepare(task *k, const bench *b, const int *ranks, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_model_options options = {.head = RLF_HEAD_LM, .shards = 4};
    const rlf_model *outline;
    rlf_realloc_plan plan;
    k->from = layout_of(b->from, ranks);
    k->to = layout_of(b->to, ranks);
    if (b->from.first == b->to.first && b->from.n == b->to.n &&
        b->from.tp % b->to.tp == 0)
        must(rlf_layout_regroup(&k->from, b->to.tp, 1, &err, &k->to), &err);
    must(rlf_model_outline(NULL, &k->config, &options, arena, &err, &outline),
         &err);
    k->shapes = rlf_move_shapes(outline->table, arena);
    const rlf_realloc_job job = {
        .shapes = &k->shapes,
        .from = &k->from,
        .to = &k->to,
        .element =
            b->by_layer ? (int)rlf_real_bytes(k->kernels) : (int)sizeof(float),
        .vector = sizeof(float),
        .inside = {1e-6, 1e10, true},
        .across = {2e-5, 1e9, false},
        .by_layer = b->by_layer};
    must(rlf_realloc_make(&job, arena, &err, &plan), &err);
    k->edge = (rlf_weight_edge){.sends = plan.sends,
                                .copies = plan.copies,
                                .n_sends = plan.n_sends,
                                .n_copies = plan.n_copies,
                                .rounds = plan.rounds,
                                .by_layer = b->by_layer};
    count_bytes(k, b->n_ranks);
}

static double
move_seconds(const task *k, int n_ranks, rlf_moved *moved)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    const rlf_comm_options options = {.n_ranks = n_ranks, .limit = 120};
    rank_thread threads[MOST];
    double slowest = 0;
    must(rlf_comm_world_new(&options, &world, &err), &err);
    for (int i = 0; i < n_ranks; i++) {
        threads[i] =
            (rank_thread){.task = k, .comm = rlf_comm_of(world, i), .rank = i};
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    }
    for (int i = 0; i < n_ranks; i++) {
        pthread_join(threads[i].thread, NULL);
        slowest = threads[i].best > slowest ? threads[i].best : slowest;
        moved->messages += threads[i].moved.messages;
    }
    rlf_comm_world_free(world);
    return slowest;
}

/* Seconds of copying as many bytes as the task has to write. */
static double
bound_seconds(const task *k)
{
    int cores = rlf_cores_count();
    return k->kernels == rlf_kernels_cpu()
               ? copy_seconds(k->bytes, k->writers < cores ? k->writers : cores,
                              k->rounds)
               : device_seconds(k->backend, k->bytes, k->rounds);
}

static void
measure(const bench *b, const rlf_backend *backend, int megabytes, int rounds)
{
    int ranks[MOST];
    for (int i = 0; i < MOST; i++)
        ranks[i] = i;
    /* 12 hidden^2 weights a layer of this form; 8 layers and the vocabulary */
    int hidden = 64;
    while (4.0 * hidden * hidden * (8 * 12 + 8) < 1e6 * megabytes)
        hidden += 64;
    task k = {.backend = backend,
              .kernels = backend->kernels(NULL, backend->reals[0]),
              .rounds = rounds,
              .config = {.layers = 8,
                         .hidden = hidden,
                         .heads = 8,
                         .kv_heads = 8,
                         .head_dim = hidden / 8,
                         .ffn = hidden / 3 * 8,
                         .vocab = 8 * hidden,
                         .context = 64,
                         .eps = 1e-5,
                         .rope.theta = 10000,
                         .tied = true,
                         .bos = -1}};
    rlf_arena *arena = rlf_arena_new();
    rlf_moved moved = {0};
    prepare(&k, b, ranks, arena);
    double bound = bound_seconds(&k), took = 0;
    for (int i = 0; i < TURNS; i++) {
        double moving = move_seconds(&k, b->n_ranks, &moved);
        double copying = bound_seconds(&k);
        took = i == 0 || moving < took ? moving : took;
        bound = copying < bound ? copying : bound;
    }
    printf("| %-30s | %9.1f | %8d | %9.2f | %9.2f | %5.2f |\n", b->name,
           1e-6 * k.bytes, (int)moved.messages / rounds / TURNS, 1e3 * took,
           1e3 * bound, bound / took);
    fflush(stdout);
    rlf_arena_free(arena);
}

static const rlf_backend *
backend_of(const char *name)
{
    const rlf_backend *found = rlf_backend_find(rlf_backends, name);
#ifdef RLF_HAVE_EMULATED
    if (strcmp(name, rlf_backend_emulated.name) == 0)
        found = &rlf_backend_emulated;
#endif
    if (!found) {
        fprintf(stderr, "bench/realloc: there is no device '%s'\n", name);
        exit(2);
    }
    rlf_err err = RLF_ERR_NONE;
    int n;
    if (found->count(&n, &err) < 0) {
        fprintf(stderr, "bench/realloc: %s\n", err.sentence);
        exit(3);
    }
    return found;
}

int
main(int argc, char **argv)
{
    int megabytes = argc > 1 ? atoi(argv[1]) : 128;
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    const rlf_backend *backend = backend_of(argc > 3 ? argv[3] : "cpu");
    bool host = strcmp(backend->name, "cpu") == 0;
    printf("cores: %d; wanted: %.2f of copying, but by layer\n\n"
           "| | MB | messages | ms | copy ms | ratio |\n|%s\n",
           rlf_cores_count(), host ? 0.7 : 0.8, "---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        measure(&benches[i], backend, megabytes, rounds);
    return 0;
}
