/* Weights from one layout to another on thread ranks, against what copying as
 * many bytes takes: memcpy by as many threads as ranks that get something, at
 * most one a core, in turn with it.
 *
 *     bench/realloc [MB [ROUNDS]]      weights of the whole model (default 128)
 *
 * What is copied within a rank counts; packing the new weights for products,
 * which a run does behind it, does not. */
#include "engine/base/clock.h"
#include "engine/comm/comm.h"
#include "engine/dev/cores.h"
#include "engine/plan/realloc.h"
#include "nodes/model/move.h"

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
} bench;

static const bench benches[] = {
    {"one rank to another", 2, {0, 1, 1}, {1, 1, 1}},
    {"tp 2 to tp 1, dp 2", 2, {0, 2, 2}, {0, 2, 1}},
    {"tp 1, dp 2 to tp 2", 2, {0, 2, 1}, {0, 2, 2}},
    {"tp 4 to tp 2, dp 2", 4, {0, 4, 4}, {0, 4, 2}},
    {"tp 4 to tp 1, dp 4", 4, {0, 4, 4}, {0, 4, 1}},
    {"tp 2 to tp 2, dp 3 (overlap)", 6, {0, 2, 2}, {0, 6, 2}},
    {"tp 2, dp 2 to tp 4 apart", 8, {0, 4, 2}, {4, 4, 4}},
    {"tp 1 to dp 4 apart", 5, {0, 1, 1}, {1, 4, 1}},
};

typedef struct task {
    rlf_model_config config;
    rlf_layout from, to;
    rlf_shapes shapes;
    rlf_weight_edge edge;
    int rounds;
    double bytes; /* that are written, by all ranks */
    int writers;  /* ranks */
} task;

typedef struct seat {
    const task *task;
    rlf_comm *comm;
    int rank;
    double best; /* seconds */
    rlf_moved moved;
    pthread_t thread;
} seat;

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
part_of(const seat *s, const rlf_layout *layout, rlf_queue *queue,
        rlf_group **group)
{
    int ranks[MOST];
    rlf_err err = RLF_ERR_NONE;
    rlf_model_options options = {
        .head = RLF_HEAD_LM, .shards = 4, .bare = true};
    rlf_model *model;
    int n = rlf_layout_group(layout, s->rank, RLF_AXIS_TP, ranks);
    *group = NULL;
    if (!n)
        return NULL;
    must(rlf_group_new(s->comm, ranks, n, group, &err), &err);
    options.group = *group;
    must(rlf_model_new(queue, rlf_kernels_cpu(), &s->task->config, &options,
                       &err, &model),
         &err);
    return model;
}

static void *
rank_main(void *arg)
{
    seat *s = arg;
    const task *k = s->task;
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    rlf_group *groups[2], *world = rlf_group_world(s->comm);
    must(rlf_device_cpu_new(&(rlf_cpu_options){.n_threads = 1}, &device, &err),
         &err);
    must(rlf_queue_new(device, &queue, &err), &err);
    rlf_model *from = part_of(s, &k->from, queue, &groups[0]);
    rlf_model *to = part_of(s, &k->to, queue, &groups[1]);
    for (int i = 0; i < k->rounds; i++) {
        must(rlf_group_barrier(world, &err), &err);
        uint64_t begin = rlf_clock_now();
        must(rlf_move_weights(from, to, &k->edge, world, &err, &s->moved),
             &err);
        must(rlf_group_barrier(world, &err), &err);
        double each = rlf_clock_since(begin);
        s->best = i == 0 || each < s->best ? each : s->best;
    }
    rlf_model_free(from);
    rlf_model_free(to);
    for (int i = 0; i < 2; i++)
        rlf_group_free(groups[i]);
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

/* What has to be written: what comes, and what a rank copies. */
static void
count_bytes(task *k, int n_ranks)
{
    double by[MOST] = {0};
    for (int i = 0; i < k->edge.n_sends; i++)
        by[k->edge.sends[i].to] += (double)rlf_box_count(k->edge.sends[i].box);
    for (int i = 0; i < k->edge.n_copies; i++)
        by[k->edge.copies[i].to] +=
            (double)rlf_box_count(k->edge.copies[i].box);
    for (int i = 0; i < n_ranks; i++) {
        k->bytes += by[i] * (double)sizeof(float);
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
    const rlf_realloc_job job = {.shapes = &k->shapes,
                                 .from = &k->from,
                                 .to = &k->to,
                                 .element = sizeof(float),
                                 .inside = {1e-6, 1e10, true},
                                 .across = {2e-5, 1e9, false}};
    must(rlf_realloc_make(&job, arena, &err, &plan), &err);
    k->edge = (rlf_weight_edge){.sends = plan.sends,
                                .copies = plan.copies,
                                .n_sends = plan.n_sends,
                                .n_copies = plan.n_copies,
                                .rounds = plan.rounds};
    count_bytes(k, b->n_ranks);
}

static double
move_seconds(const task *k, int n_ranks, rlf_moved *moved)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    const rlf_comm_options options = {.n_ranks = n_ranks, .limit = 120};
    seat seats[MOST];
    double slowest = 0;
    must(rlf_comm_world_new(&options, &world, &err), &err);
    for (int i = 0; i < n_ranks; i++) {
        seats[i] = (seat){.task = k, .comm = rlf_comm_of(world, i), .rank = i};
        pthread_create(&seats[i].thread, NULL, rank_main, &seats[i]);
    }
    for (int i = 0; i < n_ranks; i++) {
        pthread_join(seats[i].thread, NULL);
        slowest = seats[i].best > slowest ? seats[i].best : slowest;
        moved->messages += seats[i].moved.messages;
    }
    rlf_comm_world_free(world);
    return slowest;
}

static void
measure(const bench *b, int megabytes, int rounds)
{
    int ranks[MOST], cores = rlf_cores_count();
    for (int i = 0; i < MOST; i++)
        ranks[i] = i;
    /* 12 hidden^2 weights a layer of this form; 8 layers and the vocabulary */
    int hidden = 64;
    while (4.0 * hidden * hidden * (8 * 12 + 8) < 1e6 * megabytes)
        hidden += 64;
    task k = {.rounds = rounds,
              .config = {.layers = 8,
                         .hidden = hidden,
                         .heads = 8,
                         .kv_heads = 8,
                         .head_dim = hidden / 8,
                         .ffn = hidden / 3 * 8,
                         .vocab = 8 * hidden,
                         .context = 64,
                         .eps = 1e-5,
                         .rope_theta = 10000,
                         .tied = true,
                         .bos = -1}};
    rlf_arena *arena = rlf_arena_new();
    rlf_moved moved = {0};
    prepare(&k, b, ranks, arena);
    int n = k.writers < cores ? k.writers : cores;
    double bound = copy_seconds(k.bytes, n, rounds), took = 0;
    for (int i = 0; i < TURNS; i++) {
        double moving = move_seconds(&k, b->n_ranks, &moved);
        double copying = copy_seconds(k.bytes, n, rounds);
        took = i == 0 || moving < took ? moving : took;
        bound = copying < bound ? copying : bound;
    }
    printf("%-30s %9.1f %9d %9.2f %9.2f %9.2f\n", b->name, 1e-6 * k.bytes,
           (int)moved.messages / rounds / TURNS, 1e3 * took, 1e3 * bound,
           bound / took);
    fflush(stdout);
    rlf_arena_free(arena);
}

int
main(int argc, char **argv)
{
    int megabytes = argc > 1 ? atoi(argv[1]) : 128;
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    printf("cores: %d; wanted: 0.70 of copying\n%-30s %9s %9s %9s %9s %9s\n",
           rlf_cores_count(), "", "MB", "messages", "ms", "copy ms", "ratio");
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        measure(&benches[i], megabytes, rounds);
    return 0;
}
