/* A weight edge carried out by thread ranks, over random models, layouts, ranks
 * and topologies: what arrives is what files would have given, and each rank
 * sends the bytes that the plan says, no more and no less. What a rank holds by
 * engine/layout and by the model's own table must agree for that. On devices
 * where a packed matrix is the matrix, models by layer get theirs in place, of
 * bf16 in two bytes a number, rounded in a stage that is far too small. */
#include <pthread.h>

#include "engine/comm/device.h"
#include "engine/plan/realloc.h"
#include "nodes/model/block.h"
#include "nodes/model/move.h"
#include "tests/unit/model_places.h"

enum { RANKS = 8, TRIALS = 60, SLOW_TRIALS = 10, STAGE = 1000 };

typedef struct task {
    const test_place *at;
    const rlf_kernels *kernels;
    rlf_model_config config;
    rlf_model_options options;
    rlf_layout from, to;
    int from_ranks[RANKS], to_ranks[RANKS];
    rlf_shapes shapes;
    rlf_weight_edge edge;
} task;

typedef struct rank {
    const task *task;
    rlf_comm *comm;
    int rank;
    rlf_moved moved;
    int64_t differ, count;
} rank;

/* tp of 1, 2, 4 or 8, stages of one or two chunks if there are layers for them,
 * on neighbours that start anywhere. */
static rlf_layout
any_layout(uint64_t *seed, int layers, int *ranks)
{
    int tp = 1 << choose(seed, 0, 3), most = RANKS / tp;
    int stages =
        (int)choose(seed, 1, (uint32_t)(most < layers ? most : layers));
    int dp = (int)choose(seed, 1, (uint32_t)(most / stages)),
        n = tp * stages * dp;
    int chunks = 2 * stages <= layers ? (int)choose(seed, 1, 2) : 1;
    int first = (int)choose(seed, 0, (uint32_t)(RANKS - n));
    for (int i = 0; i < n; i++)
        ranks[i] = first + i;
    return (rlf_layout){.ranks = ranks,
                        .n_ranks = n,
                        .tp = tp,
                        .pp = stages,
                        .dp = dp,
                        .chunks = chunks};
}

static void
make_task(task *k, uint64_t seed, rlf_arena *arena, rlf_realloc_job *job,
          rlf_realloc_plan *plan)
{
    rlf_err err = RLF_ERR_NONE;
    uint32_t kind = choose(&seed, 0, 15);
    k->config = (rlf_model_config){.layers = (int)choose(&seed, 1, 5),
                                   .hidden = 8 * (int)choose(&seed, 1, 6),
                                   .heads = 8,
                                   .kv_heads = 1 << choose(&seed, 0, 3),
                                   .head_dim = 8,
                                   .ffn = (int)choose(&seed, 8, 60),
                                   .vocab = (int)choose(&seed, 8, 90),
                                   .context = 32,
                                   .eps = 1e-5,
                                   .rope.theta = 10000,
                                   .tied = kind & 1,
                                   .qkv_bias = kind >> 1 & 1,
                                   .qk_norm = kind >> 2 & 1,
                                   .mlp_bias = kind >> 3 & 1,
                                   .bos = -1};
    if (choose(&seed, 0, 3) == 0)
        test_lora(&k->config, 3, true);
    k->options = (rlf_model_options){.head = RLF_HEAD_BOTH,
                                     .shards = 1 << choose(&seed, 0, 3)};
    k->from = any_layout(&seed, k->config.layers, k->from_ranks);
    k->to = any_layout(&seed, k->config.layers, k->to_ranks);
    if (choose(&seed, 0, 2) == 0 &&
        rlf_layout_regroup(&k->from, 1 << choose(&seed, 0, 2), 1, &err,
                           &k->to) < 0)
        k->to = k->from;
    const rlf_model *outline;
    if (rlf_model_outline(NULL, &k->config, &k->options, arena, &err,
                          &outline) < 0)
        bail("%s", err.sentence);
    k->shapes = rlf_move_shapes(outline->table, arena);
    *job = (rlf_realloc_job){.shapes = &k->shapes,
                             .from = &k->from,
                             .to = &k->to,
                             .by_layer = choose(&seed, 0, 1) || k->at->slow,
                             .inside = {1e-6, 1e10, choose(&seed, 0, 1)},
                             .across = {1e-5, 1e9, false},
                             .topology = (rlf_topology)choose(&seed, 0, 3)};
    job->vector = sizeof(float);
    job->element = job->by_layer && k->kernels->one_pack
                       ? (int)rlf_real_bytes(k->kernels)
                       : (int)sizeof(float);
    if (rlf_realloc_make(job, arena, &err, plan) < 0)
        bail("%s", err.sentence);
    k->edge = (rlf_weight_edge){.sends = plan->sends,
                                .copies = plan->copies,
                                .n_sends = plan->n_sends,
                                .n_copies = plan->n_copies,
                                .by_layer = job->by_layer,
                                .rounds = plan->rounds};
}

typedef enum form { WHOLE, BARE, BY_LAYER, FIXED } form;

/* This rank's part under a layout; NULL: none. */
static rlf_model *
part_of(test_machine *t, const rank *a, const rlf_layout *layout, form how,
        rlf_group **groups)
{
    int ranks[RANKS];
    rlf_model_options options = a->task->options;
    rlf_model *model;
    int n = rlf_layout_group(layout, a->rank, RLF_AXIS_TP, ranks);
    groups[0] = groups[1] = NULL;
    if (!n)
        return NULL;
    MUST(t, rlf_group_new(a->comm, ranks, n, &groups[0], &t->err));
    n = rlf_layout_group(layout, a->rank, RLF_AXIS_PP, ranks);
    MUST(t, rlf_group_new(a->comm, ranks, n, &groups[1], &t->err));
    if (options.shards % layout->tp)
        options.shards = 0; /* one for each rank */
    options.group = groups[0];
    options.stages = groups[1];
    options.chunks = layout->chunks;
    options.bare = how == BARE;
    options.by_layer = how == BY_LAYER || how == FIXED;
    options.fixed = how == FIXED;
    options.serves = how == WHOLE;
    options.stage = STAGE;
    MUST(t, rlf_model_new(t->queue, t->kernels, &a->task->config, &options,
                          &t->err, &model));
    return model;
}

static int64_t
count_bytes(const void *x, const void *y, int64_t n)
{
    const char *a = x, *b = y;
    int64_t differ = 0;
    for (int64_t i = 0; i < n; i++)
        differ += a[i] != b[i];
    return differ;
}

/* Bytes that differ in a block of the device. */
static int64_t
compare_blocks(test_machine *t, const rlf_model *m, const rlf_model *want)
{
    size_t n = want->block_bytes;
    char *a = rlf_malloc(n), *b = rlf_malloc(n);
    int64_t differ = m->block_bytes != n;
    if (!differ) {
        MUST(t, rlf_queue_copy(t->queue, a, m->block, n, RLF_COPY_TO_HOST,
                               &t->err));
        MUST(t, rlf_queue_copy(t->queue, b, want->block, n, RLF_COPY_TO_HOST,
                               &t->err));
        MUST(t, rlf_queue_sync(t->queue, &t->err));
        differ = count_bytes(a, b, (int64_t)n);
    }
    free(a);
    free(b);
    return differ;
}

/* Bytes that differ in what a model by layer keeps: embedding, vectors, and
 * what is packed, which is the end of the block. */
static int64_t
compare_kept(const rlf_model *m, const rlf_model *want)
{
    const rlf_table *t = m->table;
    const char *a = m->packed[0].forward, *b = want->packed[0].forward;
    int64_t n = (char *)m->block + m->block_bytes - a;
    int64_t differ = n != (char *)want->block + want->block_bytes - b;
    if (m->embed) /* the CPU packs otherwise, so it is f32 */
        differ += count_bytes(m->embed, want->weights + t->embed,
                              t->vocab * t->config.hidden * 4);
    differ += count_bytes(m->vectors, want->weights + t->matrices,
                          (t->count - t->matrices) * 4);
    return differ + count_bytes(a, b, n);
}

/* The adapters of a model become others than those that files give. */
static void
spoil(test_machine *t, rlf_model *m)
{
    const rlf_table *table = m->table;
    const rlf_fill_args args = {.n = rlf_table_trained(table),
                                .a = 3,
                                .y = rlf_block_place(m, table->trained)};
    MUST(t, m->kernels->fill(t->queue, &args, &t->err));
}

/* Bytes that differ in what an edge brings of a model with adapters: these, and
 * what is packed of them. */
static int64_t
compare_adapters(test_machine *t, const rlf_model *m, const rlf_model *want)
{
    const rlf_table *table = m->table;
    size_t n = (size_t)rlf_table_trained(table);
    float *a = test_copy(t, rlf_block_place(m, table->trained), n);
    float *b = test_copy(t, rlf_block_place(want, table->trained), n);
    int64_t differ = 0;
    for (int i = table->n_base; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        int64_t at = slot->offset - table->trained;
        differ += count_bytes(a + at, b + at, 4 * slot->count);
    }
    for (int i = table->base_matrices;
         m->packed[i].forward && i < table->n_matrix; i++) {
        const rlf_matrix *w = &table->matrix[i];
        size_t bytes = m->kernels->product_packed_bytes(w->rows, w->cols,
                                                        RLF_PRODUCT_FORWARD);
        float *x = test_copy(t, m->packed[i].forward, bytes / 4);
        float *y = test_copy(t, want->packed[i].forward, bytes / 4);
        differ += count_bytes(x, y, (int64_t)(bytes / 4 * 4));
        free(x);
        free(y);
    }
    free(a);
    free(b);
    return differ;
}

static void *
run_rank(void *arg)
{
    rank *a = arg;
    const task *k = a->task;
    rlf_group *groups[6];
    test_machine t;
    bool in_place = k->kernels->one_pack;
    test_machine_open_at(&t, k->at, 1);
    if (!t.device->caps.host_memory)
        MUST(&t, rlf_comm_attach(a->comm, t.queue, &(rlf_attach_options){0},
                                 &t.err));
    rlf_model *from = part_of(&t, a, &k->from, WHOLE, groups);
    rlf_model *to = part_of(&t, a, &k->to,
                            k->edge.by_layer && (in_place || a->rank % 3)
                                ? BY_LAYER
                                : (form)(a->rank & 1),
                            groups + 2);
    rlf_model *want =
        part_of(&t, a, &k->to, in_place ? FIXED : WHOLE, groups + 4);
    if (from)
        MUST(&t,
             rlf_weights_fill(from, &(rlf_weights_origin){.seed = 7}, &t.err));
    bool adapted = k->config.lora.rank > 0;
    if (to && adapted) {
        if (!to->bare)
            MUST(&t, rlf_weights_fill(to, &(rlf_weights_origin){.seed = 7},
                                      &t.err)); /* its base */
        spoil(&t, to);
    }
    uint64_t before = to ? to->version : 0;
    MUST(&t, rlf_move_weights(from, to, &k->edge, rlf_group_world(a->comm),
                              &t.err, &a->moved));
    if (want) {
        MUST(&t,
             rlf_weights_fill(want, &(rlf_weights_origin){.seed = 7}, &t.err));
        a->count = want->table->count;
        if (adapted)
            a->differ += compare_adapters(&t, to, want);
        else if (in_place)
            a->differ += compare_blocks(&t, to, want);
        else if (to->landing)
            a->differ += compare_kept(to, want);
        else
            a->differ += count_bytes(to->weights, want->weights, 4 * a->count);
        a->differ += to->version != before + 1;
    }
    rlf_model_free(from);
    rlf_model_free(to);
    rlf_model_free(want);
    for (int i = 0; i < 6; i++)
        rlf_group_free(groups[i]);
    rlf_comm_detach(a->comm);
    test_machine_close(&t);
    return NULL;
}

static void
run(const test_place *at, uint64_t seed)
{
    task k = {.at = at, .kernels = at->backend->kernels(NULL, at->real)};
    rlf_realloc_job job;
    rlf_realloc_plan plan;
    rank ranks[RANKS] = {{0}};
    pthread_t thread[RANKS];
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world = NULL;
    rlf_comm_options options = {.n_ranks = RANKS, .limit = 60};
    rlf_arena *arena = rlf_arena_new();
    make_task(&k, seed, arena, &job, &plan);
    if (rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (rank){.task = &k, .comm = rlf_comm_of(world, i), .rank = i};
        if (pthread_create(&thread[i], NULL, run_rank, &ranks[i]) != 0)
            bail("no thread");
    }
    int64_t differ = 0, count = 0, bytes = 0, sent = 0, messages = 0;
    for (int i = 0; i < RANKS; i++) {
        rlf_realloc_load load;
        pthread_join(thread[i], NULL);
        rlf_realloc_measure(&job, &plan, i, &load);
        differ += ranks[i].differ;
        count += ranks[i].count;
        bytes += load.sent;
        sent += llabs((long long)ranks[i].moved.bytes - load.sent);
        messages += (int64_t)ranks[i].moved.messages;
    }
    rlf_realloc_total total;
    rlf_realloc_sum(&job, &plan, arena, &total);
    bool rounded = job.element != sizeof(float); /* in more messages */
    bool as_said =
        bytes == total.bytes &&
        (messages == total.messages || (rounded && messages > total.messages));
    if (!ok(count && !differ && !sent && as_said,
            "%s, trial %d: %lld floats, %lld bytes sent in %lld messages",
            at->name, (int)seed, (long long)count, (long long)bytes,
            (long long)messages))
        note("%lld bytes differ, %lld bytes off; tp %d, pp %d of %d ranks to "
             "tp %d, pp %d of %d",
             (long long)differ, (long long)sent, k.from.tp, k.from.pp,
             k.from.n_ranks, k.to.tp, k.to.pp, k.to.n_ranks);
    rlf_comm_world_free(world);
    rlf_arena_free(arena);
}

int
main(void)
{
    test_place places[MOST_PLACES];
    int n = test_places(places);
    for (int p = 0; p < n; p++)
        for (uint64_t i = 0; i < (places[p].slow ? SLOW_TRIALS : TRIALS); i++)
            run(&places[p], i);
    return done();
}
