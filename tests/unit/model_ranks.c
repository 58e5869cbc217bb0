/* Models held in parts, stages and copies by thread ranks (tensor, pipeline and
 * data parallelism) have the bits of one rank with the same numbers of shards
 * and lanes, over random small models: training's log-probabilities and values,
 * gradients, a step, sampled tokens with what is recorded of them, and the
 * files; also where ranks share key/value heads, and where replicas have slices
 * of the optimizer's state (ZeRO). */
#define _GNU_SOURCE /* mkdtemp */
#include <pthread.h>
#include <unistd.h>

#include "engine/comm/comm.h"
#include "engine/io/file.h"
#include "engine/layout/layout.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/block.h"
#include "nodes/model/generate.h"
#include "nodes/model/gradient.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/parallel.h"
#include "nodes/model/prefix.h"
#include "tests/unit/model.h"

enum { SEQS = 7, MOST = 24, NEW = 8, LANES = 4, RANKS = 8 };

typedef struct task {
    rlf_model_config config;
    int shards;
    uint32_t ids[SEQS][2 * MOST];
    rlf_sequence seqs[SEQS];
    float weight[SEQS * MOST];
    bool greedy;
    int32_t top_k;
    float top_p;
    const char *from; /* the weights, as files */
    const char *adapter; /* ... those of adapters, or NULL */
} task;

/* The layout in which the ranks of a run hold the model. */
typedef struct cut {
    int tp, dp, pp, chunks;
    bool sliced, recompute;
    bool split; /* backward leaves weights for later */
} cut;

/* The results that a rank has at the end. */
typedef struct result {
    const rlf_table *table;
    int64_t first, last; /* rows of the lanes that it took */
    int64_t from, to;    /* floats of the block that it steps */
    size_t optimizer;    /* bytes of its state */
    bool heads;          /* it has them */
    float logprob[SEQS * MOST], value[SEQS * MOST];
    double norm;
    float *gradient, *weights;
    uint32_t n[SEQS * 2], ids[SEQS * 2][NEW];
    float recorded[SEQS * 2][NEW];
} result;

typedef struct rank {
    const task *task;
    rlf_comm *comm;
    cut cut;
    int ranks;      /* tp fastest, then stages */
    const char *to; /* the directory in which the trained model is saved */
    result result;
    rlf_arena *arena;
} rank;

/* Each begins as the one before, which those of a lane share. */
static void
share(task *k)
{
    for (uint32_t i = 1; i < SEQS; i++) {
        uint32_t n = k->seqs[i].n_prompt, most = k->seqs[i - 1].n_prompt;
        memcpy(k->ids[i], k->ids[i - 1],
               (n < most ? n : most) * sizeof k->ids[0][0]);
    }
    rlf_sequences_share(k->seqs, SEQS, RLF_ROWS_TOKENS);
}

static void
make_task(task *k, int kv_heads, uint64_t seed)
{
    uint64_t kind = seed;
    int sizes[5];
    static const uint32_t most[] = {6, 9, 2, 90, 150},
                          least[] = {1, 2, 1, 30, 20};
    for (int i = 0; i < 5; i++)
        sizes[i] = (int)choose(&seed, least[i], most[i]);
    k->config = (rlf_model_config){.layers = sizes[0],
                                   .hidden = 8 * sizes[1],
                                   .heads = 8,
                                   .kv_heads = kv_heads,
                                   .head_dim = 8 * sizes[2],
                                   .ffn = sizes[3],
                                   .vocab = sizes[4],
                                   .context = 256,
                                   .eps = 1e-5,
                                   .rope.theta = 10000,
                                   .tied = kind & 1,
                                   .qkv_bias = kind >> 1 & 1,
                                   .o_bias = kind >> 2 & 1,
                                   .mlp_bias = ~kind >> 1 & 1,
                                   .qk_norm = (kind & 1) == 0 || kind & 4,
                                   .bos = -1};
    if (kind % 3 == 1)
        k->config.vocab = 3300;
    if (kind % 4 > 1)
        k->config.window = (int)choose(&seed, 3, 30);
    uint32_t vocab = (uint32_t)k->config.vocab;
    for (uint32_t i = 0; i < SEQS; i++) {
        rlf_sequence *s = &k->seqs[i];
        *s = (rlf_sequence){.prompt = k->ids[i],
                            .n_prompt = choose(&seed, 1, MOST),
                            .n_response = choose(&seed, 1, MOST),
                            .temperature = i % 3 ? 1 : 0.5f,
                            .drops = {.seed = 5, .sample = i}};
        s->response = s->prompt + s->n_prompt;
        for (uint32_t t = 0; t < s->n_prompt + s->n_response; t++)
            k->ids[i][t] = choose(&seed, 0, vocab - 1);
    }
    if (kind % 5 < 2)
        share(k);
    for (size_t i = 0; i < RLF_COUNT(k->weight); i++)
        k->weight[i] = test_float(&seed);
    k->greedy = choose(&seed, 0, 2) == 0;
    k->top_p = choose(&seed, 0, 1) ? 0.9f : 0;
    k->top_k = choose(&seed, 0, 1) ? 12 : 0;
}

static rlf_model *
new_model(test_machine *t, const task *k, const rlf_model_options *how,
          size_t *optimizer)
{
    rlf_model *model;
    rlf_model_options options = *how;
    options.head = RLF_HEAD_BOTH;
    options.trained = true;
    options.shards = k->shards;
    options.lanes = LANES;
    size_t before = t->device->allocated;
    MUST(t, rlf_model_new(t->queue, rlf_kernels_cpu(), &k->config, &options,
                          &t->err, &model));
    rlf_model_bytes b =
        rlf_model_count_bytes(model->table, model->kernels, &options);
    if (b.weights + b.packed + b.gradients + b.partial + b.optimizer +
            b.tables !=
        t->device->allocated - before)
        bail("the bytes counted are not those allocated");
    *optimizer = b.optimizer;
    return model;
}

/* The first sequence of a lane, and its first row. */
static uint32_t
lane_first(int lane)
{
    return (uint32_t)(SEQS * lane / LANES);
}

static int64_t
row_first(const task *k, int lane)
{
    int64_t row = 0;
    for (uint32_t i = 0; i < lane_first(lane); i++)
        row += k->seqs[i].n_response;
    return row;
}

/* The loss of a lane's rows, from `row` on, as the last stage has it. */
static void
run_heads(test_machine *t, rlf_model *model, rlf_pass *p, const task *k,
          int64_t row, result *r)
{
    const float *w = k->weight + row;
    MUST(t, rlf_head_scalars(model, p, &t->err));
    MUST(t, rlf_pass_read(p, p->scalar, p->n_rows, &t->err, r->value + row));
    MUST(t, rlf_pass_write(p, w, p->n_rows, &t->err, p->d_logprob));
    MUST(t, rlf_pass_write(p, w, p->n_rows, &t->err, p->d_entropy));
    MUST(t, rlf_pass_write(p, w, p->n_rows, &t->err, p->d_scalar));
    MUST(t, rlf_head_loss(model, p, NULL, NULL, true, &t->err));
    MUST(t, rlf_head_scalar_back(model, p, true, &t->err));
    MUST(t, rlf_pass_read(p, p->logprob, p->n_rows, &t->err, r->logprob + row));
}

/* Floats from or to the stage that has another part of the layers. */
static void
hand_on(test_machine *t, rlf_model *model, int part, bool out, float *x,
        int64_t n)
{
    int stage = part % model->table->cut.stages;
    if (out)
        test_send(t, model, stage, x, n);
    else
        MUST(t, rlf_parallel_receive(model, stage, x, n, &t->err));
}

/* Pass after pass: those of all lanes are under way before the first goes back,
 * so none may touch what another keeps. */
static void
run_chunk(test_machine *t, rlf_model *model, const task *k, int chunk, int lane,
          bool back, rlf_pass *p, result *r)
{
    const rlf_table *table = model->table;
    const int part = chunk * table->cut.stages + table->cut.stage;
    bool begins = rlf_table_begins(table, chunk),
         ends = rlf_table_ends(table, chunk);
    int64_t n = p->m * table->config.hidden;
    if (!back) {
        if (!begins)
            hand_on(t, model, part - 1, false, rlf_pass_input(p, chunk), n);
        MUST(t, rlf_transformer_forward_chunk(model, p, chunk, &t->err));
        if (!ends)
            hand_on(t, model, part + 1, true, rlf_pass_output(p, chunk), n);
        return;
    }
    if (ends)
        run_heads(t, model, p, k, row_first(k, lane), r);
    else
        hand_on(t, model, part + 1, false, p->d_x, n);
    MUST(t, rlf_transformer_backward_chunk(model, p, chunk, &t->err));
    if (!begins)
        hand_on(t, model, part - 1, true, p->d_x, n);
}

enum { CHUNKS = 3, FLIGHTS = 2 };

/* Passes of all lanes that are under way at once; if backward is split and
 * recomputes, what it does so into. */
typedef struct passes {
    rlf_pass *pass[CHUNKS][FLIGHTS], *owed[CHUNKS][FLIGHTS];
    int chunks, flights;
    bool split;
} passes;

static void
open_passes(test_machine *t, rlf_model *model, const cut *how, passes *out)
{
    const rlf_gradient *g = &model->gradient;
    bool several = model->stages || how->split;
    *out = (passes){.chunks = model->table->cut.chunks,
                    .flights = several && g->held % 2 == 0 ? 2 : 1,
                    .split = how->split};
    for (int c = 0; c < out->chunks; c++)
        for (int f = 0; f < out->flights; f++) {
            rlf_pass_options options = {.tokens = 1000,
                                        .train = true,
                                        .recompute = how->recompute,
                                        .chunk = c,
                                        .lent = c || f,
                                        .split = how->split};
            rlf_pass_options kept = {.tokens = 1000,
                                     .train = true,
                                     .chunk = c,
                                     .lent = true,
                                     .layers = true};
            MUST(t, rlf_pass_new(model, &options, &t->err, &out->pass[c][f]));
            if (c || f)
                rlf_pass_lend(out->pass[c][f], out->pass[0][0]);
            if (how->split && how->recompute)
                MUST(t, rlf_pass_new(model, &kept, &t->err, &out->owed[c][f]));
        }
}

static void
free_passes(passes *p)
{
    for (int c = p->chunks - 1; c >= 0; c--)
        for (int f = p->flights - 1; f >= 0; f--) {
            rlf_pass_free(p->owed[c][f]);
            rlf_pass_free(p->pass[c][f]);
        }
}

/* Computes the weights' gradients that backward has left, lane by lane, after
 * all lanes have gone back. */
static void
run_weights(test_machine *t, rlf_model *model, const passes *p)
{
    for (int f = 0; f < p->flights; f++)
        for (int c = 0; c < p->chunks; c++) {
            MUST(t, rlf_transformer_weights_chunk(model, p->pass[c][f], c,
                                                  &t->err));
            MUST(t,
                 rlf_gradient_next(model, c, RLF_GRADIENT_MATRICES, &t->err));
            if (p->owed[c][f])
                rlf_pass_borrow(p->pass[c][f], NULL);
        }
}

/* The gradient of this rank's lanes, and what the passes gave: forward two
 * lanes at a time where there are stages, then back. */
static void
add_gradients(test_machine *t, rlf_model *model, const task *k, const cut *how,
              result *r)
{
    passes p;
    const rlf_gradient *g = &model->gradient;
    open_passes(t, model, how, &p);
    r->first = row_first(k, g->first);
    r->last = row_first(k, g->first + g->held);
    for (int lane = g->first; lane < g->first + g->held; lane += p.flights) {
        for (int f = 0; f < p.flights; f++)
            for (int c = 0; c < p.chunks; c++) {
                uint32_t i = lane_first(lane + f),
                         n = lane_first(lane + f + 1) - i;
                MUST(t, rlf_pass_load(p.pass[c][f], k->seqs + i, n, i,
                                      RLF_ROWS_TOKENS, &t->err));
                run_chunk(t, model, k, c, lane + f, false, p.pass[c][f], r);
            }
        for (int f = 0; f < p.flights; f++) {
            for (int c = p.chunks - 1; c >= 0; c--) {
                if (p.owed[c][f])
                    rlf_pass_borrow(p.pass[c][f], p.owed[c][f]);
                run_chunk(t, model, k, c, lane + f, true, p.pass[c][f], r);
            }
            for (int c = 0; c < p.chunks; c++)
                MUST(t, rlf_gradient_next(model, c,
                                          p.split ? RLF_GRADIENT_REST
                                                  : RLF_GRADIENT_ALL,
                                          &t->err));
        }
        if (p.split)
            run_weights(t, model, &p);
    }
    free_passes(&p);
}

static void
train(test_machine *t, rlf_model *model, const task *k, const cut *how,
      result *r)
{
    const rlf_table *table = model->table;
    size_t bytes = (size_t)rlf_table_trained(table) * sizeof(float);
    rlf_adamw s = {
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .clip = 1};
    add_gradients(t, model, k, how, r);
    MUST(t, rlf_gradient_finish(model, &t->err));
    memcpy(r->gradient, model->gradient.weights, bytes);
    MUST(t, rlf_gradient_clear(model, &t->err));
    add_gradients(t, model, k, how, r);
    MUST(t, rlf_optimizer_step(model, &s, &t->err, &r->norm));
    memcpy(r->weights, rlf_block_place(model, table->trained), bytes);
}

static void
sample(test_machine *t, rlf_model *model, const task *k, result *r)
{
    rlf_pass *pass;
    rlf_kv *kv;
    rlf_pass_options options = {.tokens = 64};
    rlf_generation_options how = {.max_new = NEW,
                                  .greedy = k->greedy,
                                  .temperature = k->greedy ? 1 : 0.75f,
                                  .top_k = k->top_k,
                                  .top_p = k->top_p,
                                  .key = {.seed = 9, .site = 2}};
    rlf_generation *g;
    MUST(t, rlf_pass_new(model, &options, &t->err, &pass));
    MUST(t, rlf_kv_new(model, 16, 22, &t->err, &kv));
    MUST(t, rlf_generation_new(model, pass, kv, &how, &t->err, &g));
    for (uint32_t i = 0; i < SEQS; i++) {
        uint64_t identity[] = {2 * i, 2 * i + 1};
        uint32_t first;
        MUST(t, rlf_generation_add(g, k->seqs[i].prompt, k->seqs[i].n_prompt,
                                   identity, 2, &t->err, &first));
    }
    for (rlf_status status = RLF_AGAIN; status == RLF_AGAIN;) {
        const uint32_t *rows;
        uint32_t n;
        status = rlf_generation_step(g, &t->err, &rows, &n);
        MUST(t, status);
    }
    for (uint32_t i = 0; i < 2 * SEQS; i++) {
        rlf_response x = rlf_generation_response(g, i);
        r->n[i] = x.n;
        memcpy(r->ids[i], x.ids, x.n * sizeof *x.ids);
        memcpy(r->recorded[i], x.logprob, x.n * sizeof *x.logprob);
    }
    rlf_generation_free(g);
    rlf_kv_free(kv);
    rlf_pass_free(pass);
}

/* The group of the ranks that differ from this one only in `axes`. */
static rlf_group *
group_of(test_machine *t, rlf_comm *comm, const cut *c, int axes)
{
    static const int all[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    const rlf_layout layout = {.ranks = all,
                               .n_ranks = c->tp * c->pp * c->dp,
                               .tp = c->tp,
                               .pp = c->pp,
                               .dp = c->dp};
    int ranks[RANKS];
    int n = rlf_layout_group(&layout, rlf_comm_rank(comm), axes, ranks);
    rlf_group *group;
    MUST(t, rlf_group_new(comm, ranks, n, &group, &t->err));
    return group;
}

/* Load, train a step, sample, save. */
static void *
run_rank(void *arg)
{
    rank *a = arg;
    test_machine t = {.err = RLF_ERR_NONE};
    rlf_cpu_options options = {.n_threads = 1, .n_run_threads = a->ranks};
    MUST(&t, rlf_device_cpu_new(&options, &t.device, &t.err));
    MUST(&t, rlf_queue_new(t.device, &t.queue, &t.err));
    const cut *c = &a->cut;
    rlf_model_options how = {
        .group = group_of(&t, a->comm, c, RLF_AXIS_TP),
        .replicas = group_of(&t, a->comm, c, RLF_AXIS_DP),
        .stages = group_of(&t, a->comm, c, RLF_AXIS_PP),
        .peers = group_of(&t, a->comm, c, RLF_AXIS_PP | RLF_AXIS_DP),
        .chunks = c->chunks,
        .sliced = c->sliced};
    rlf_model *model = new_model(&t, a->task, &how, &a->result.optimizer);
    a->result.heads = model->table->cut.stage == c->pp - 1;
    a->result.from = model->slices.first;
    a->result.to = model->slices.last;
    const rlf_weights_origin origin = {.dir = a->task->from,
                                       .adapter = a->task->adapter};
    MUST(&t, rlf_weights_fill(model, &origin, &t.err));
    a->arena = rlf_arena_new();
    a->result.table = rlf_table_new(&a->task->config, RLF_HEAD_BOTH,
                                    &model->table->cut, a->arena);
    size_t n = (size_t)rlf_table_trained(model->table);
    a->result.gradient = rlf_malloc(n * sizeof(float));
    a->result.weights = rlf_malloc(n * sizeof(float));
    train(&t, model, a->task, c, &a->result);
    sample(&t, model, a->task, &a->result);
    const char *to = rlf_arena_printf(a->arena, "%s%d", a->to,
                                      rlf_group_index(how.replicas));
    MUST(&t, rlf_weights_save(model, to, &t.err));
    MUST(&t, rlf_weights_save_state(
                 model, rlf_arena_printf(a->arena, "%s/state", to), &t.err));
    rlf_model_free(model);
    rlf_group_free(how.group);
    rlf_group_free(how.replicas);
    rlf_group_free(how.stages);
    rlf_group_free(how.peers);
    test_machine_close(&t);
    return NULL;
}

/* Run the task on thread ranks. */
static void
run(const task *k, const cut *c, rank *out, const char *to)
{
    const int ranks = c->tp * c->pp * c->dp;
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world = NULL;
    rlf_comm_options options = {.n_ranks = ranks, .limit = 60};
    pthread_t thread[RANKS];
    if (rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    for (int i = 0; i < ranks; i++) {
        out[i] = (rank){.task = k,
                        .comm = rlf_comm_of(world, i),
                        .cut = *c,
                        .ranks = ranks,
                        .to = to};
        if (pthread_create(&thread[i], NULL, run_rank, &out[i]) != 0)
            bail("no thread");
    }
    for (int i = 0; i < ranks; i++)
        pthread_join(thread[i], NULL);
    rlf_comm_world_free(world);
}

static void
free_rank(rank *a)
{
    free(a->result.gradient);
    free(a->result.weights);
    rlf_arena_free(a->arena);
}

/* Elements from..to-1 of a rank's block that are not those of the whole, of
 * those that are trained. */
static int64_t
block_differs(const result *a, const result *whole, const float *x,
              const float *y, int64_t from, int64_t to)
{
    int64_t differ = 0;
    float *want = rlf_malloc((size_t)a->table->count * sizeof *want);
    for (int i = 0; i < a->table->n_slots; i++) {
        const rlf_slot *s = &a->table->slots[i];
        int64_t at = s->offset - a->table->trained;
        if (at < 0)
            continue;
        rlf_parallel_cut(
            s,
            y + (whole->table->slots[s->number].offset - whole->table->trained),
            want);
        for (int64_t j = 0; j < s->count; j++) {
            if (s->offset + j < from || s->offset + j >= to)
                continue;
            differ += memcmp(x + at + j, want + j, sizeof *want) != 0;
        }
    }
    free(want);
    return differ;
}

static bool
same_file(const char *a, const char *b, const char *name)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    rlf_buf x = {0}, y = {0};
    if (rlf_file_read(rlf_path_join(arena, a, name), SIZE_MAX, &err, &x) < 0 ||
        rlf_file_read(rlf_path_join(arena, b, name), SIZE_MAX, &err, &y) < 0)
        bail("%s", err.sentence);
    bool same = x.n == y.n && memcmp(x.p, y.p, x.n) == 0;
    rlf_buf_free(&x);
    rlf_buf_free(&y);
    rlf_arena_free(arena);
    return same;
}

static const char *
name_of(const cut *c, rlf_arena *arena)
{
    return rlf_arena_printf(
        arena, "of tp %d, dp %d%s, %d stages of %d chunks%s%s", c->tp, c->dp,
        c->sliced ? " sliced" : "", c->pp, c->chunks,
        c->recompute ? ", recomputed" : "", c->split ? ", weights apart" : "");
}

static void
compare(const rank *a, const rank *one)
{
    const result *r = &a->result, *w = &one->result;
    size_t bytes = (size_t)(r->last - r->first) * sizeof(float);
    const char *of = name_of(&a->cut, a->arena);
    if (r->heads) {
        ok(bytes &&
               !memcmp(r->logprob + r->first, w->logprob + r->first, bytes),
           "log-probabilities %s", of);
        ok(!memcmp(r->value + r->first, w->value + r->first, bytes),
           "values %s", of);
    }
    is_int(block_differs(r, w, r->gradient, w->gradient, r->from, r->to), 0,
           rlf_arena_printf(a->arena, "gradients %s", of));
    ok(r->norm == w->norm, "the norm %s: %.17g, %.17g", of, r->norm, w->norm);
    is_int(block_differs(r, w, r->weights, w->weights, 0, r->table->count), 0,
           rlf_arena_printf(a->arena, "a step %s", of));
    bool same = true;
    for (int i = 0; i < 2 * SEQS; i++)
        same &=
            r->n[i] == w->n[i] &&
            !memcmp(r->ids[i], w->ids[i], r->n[i] * sizeof(uint32_t)) &&
            !memcmp(r->recorded[i], w->recorded[i], r->n[i] * sizeof(float));
    ok(same, "samples %s", of);
}

/* Fresh weights as files, those of adapters apart. */
static void
make_weights(const task *k)
{
    test_machine t;
    size_t bytes;
    task base = *k;
    test_machine_open(&t, 1);
    base.config.lora.rank = 0;
    for (int i = 0; i < 1 + (k->adapter != NULL); i++) {
        rlf_model *model =
            new_model(&t, i ? k : &base, &(rlf_model_options){0}, &bytes);
        randomize(&t, model, 4);
        MUST(&t, rlf_weights_save(model, i ? k->adapter : k->from, &t.err));
        rlf_model_free(model);
    }
    test_machine_close(&t);
}

/* The slices of a part's replicas follow one another and are nearly alike; with
 * the state of the optimizer as much smaller. */
static void
compare_slices(const rank *many, const rank *whole)
{
    double most = 0;
    const int parts = many->cut.tp * many->cut.pp, dp = many->cut.dp;
    for (int t = 0; t < parts; t++) {
        int64_t end = many[t].result.table->trained;
        for (int d = 0; d < dp; d++) {
            const result *r = &many[d * parts + t].result;
            if (r->from != end)
                bail("slices have gaps");
            end = r->to;
            most = fmax(most, (double)(end - r->from) /
                                  (double)rlf_table_trained(r->table));
            /* two moments, each on a border, and the blocks of the norm */
            double floats = 8.0 * (double)(r->to - r->from);
            if ((double)r->optimizer < floats ||
                (double)r->optimizer > 1.01 * floats + 4096)
                bail("%zu bytes of state for %.0f", r->optimizer, floats);
        }
        is_int(end, many[t].result.table->count, "slices hold all");
    }
    /* cut at blocks of 4096, or at rows of them */
    double count = (double)rlf_table_trained(whole->result.table) / parts;
    ok(many->cut.pp > 1 || most < 1.0 / dp + 4 * 4096 / count + 0.02,
       "the largest has %.3f of 1/%d", most * dp, dp);
}

static void
test_layout(const task *k, const rank *one, const cut *c, const char *single,
            const char *parts)
{
    static rank many[RANKS];
    rlf_arena *arena = rlf_arena_new();
    const int ranks = c->tp * c->pp * c->dp;
    run(k, c, many, parts);
    if (c->sliced)
        compare_slices(many, one);
    for (int i = 0; i < ranks; i++) {
        compare(&many[i], one);
        free_rank(&many[i]);
    }
    single = rlf_arena_printf(arena, "%s0", single);
    for (int i = 0; i < (c->sliced ? 1 : c->dp); i++) {
        const char *to = rlf_arena_printf(arena, "%s%d", parts, i);
        ok(same_file(single, to,
                     k->adapter ? RLF_ADAPTER_TENSORS : "model.safetensors"),
           "the weights saved %s", name_of(c, arena));
        ok(same_file(single, to, "state"), "and the optimizer's state");
    }
    rlf_arena_free(arena);
}

/* Returns the features that a layout uses, a bit each. Two layouts with the
 * same bits run the same code with other numbers of ranks. */
static uint32_t
features_of(const cut *c, int kv_heads)
{
    const bool features[] = {c->tp > 1,    c->tp > kv_heads, c->dp > 1,
                             c->sliced,    c->pp > 1,        c->chunks > 1,
                             c->recompute, c->split};
    uint32_t bits = 0;
    for (uint32_t i = 0; i < RLF_COUNT(features); i++)
        bits |= (uint32_t)features[i] << i;
    return bits;
}

/* Has the layout two features that no one before had together? seen[i]: the
 * features that feature i was seen with, itself too. */
static bool
is_new(uint32_t *seen, uint32_t features)
{
    bool found = false;
    for (uint32_t i = 0; i < 32; i++) {
        if (!(features >> i & 1))
            continue;
        found |= (features & ~seen[i]) != 0;
        seen[i] |= features;
    }
    return found;
}

/* `family` NULL: Llama's, of the first seeds in half of the layouts, which are
 * the others of the next seed. Those of other families
 * have nothing of a layout but what its features do with their rows and names:
 * each pair of features once. Rank 0: without adapters; `dropout` of theirs. */
static void
test_adapted(const char *scratch, int kv_heads, int shards, uint64_t seed,
             const rlf_family *family, int rank_, double dropout)
{
    static task k;
    uint32_t seen[32] = {0};
    static rank one[1];
    static const cut whole = {1, 1, 1, 1, 0, 0, 0};
    /* tp, dp, pp, chunks; some with weights apart */
    static const cut layouts[] = {
        {2, 1, 1, 1, 0, 0, 0}, {4, 1, 1, 1, 0, 0, 0}, {1, 2, 1, 1, 0, 0, 1},
        {2, 2, 1, 1, 0, 0, 0}, {1, 4, 1, 1, 0, 0, 0}, {1, 2, 1, 1, 1, 0, 0},
        {2, 2, 1, 1, 1, 0, 1}, {1, 4, 1, 1, 1, 0, 0}, {1, 1, 2, 1, 0, 0, 0},
        {1, 1, 3, 1, 0, 0, 1}, {1, 1, 2, 2, 0, 1, 0}, {2, 1, 2, 1, 0, 1, 1},
        {1, 2, 2, 1, 0, 0, 0}, {1, 4, 2, 1, 1, 0, 0}, {2, 2, 2, 1, 1, 0, 0},
        {1, 1, 2, 3, 0, 0, 0}, {1, 1, 4, 1, 0, 0, 0}, {4, 1, 2, 1, 0, 0, 0},
        {1, 1, 1, 1, 0, 0, 1}, {1, 1, 1, 1, 0, 1, 1}, {1, 1, 2, 2, 0, 1, 1},
        {1, 1, 2, 2, 0, 0, 1}, {4, 1, 1, 1, 0, 0, 1}, {4, 1, 1, 1, 0, 1, 1},
        {4, 2, 1, 1, 1, 0, 0}, {8, 1, 1, 1, 0, 0, 0}};
    rlf_arena *arena = rlf_arena_new();
    make_task(&k, kv_heads, seed);
    if (family)
        test_family(&k.config, family);
    k.config.qk_norm |= family == &rlf_family_cohere && seed == 10;
    k.config.query_growth = family == &rlf_family_ministral3 ? 0.4 : 0;
    k.config.query_reach = 3;
    k.config.clip_qkv = family == &rlf_family_olmo ? 0.3 : 0;
    k.config.lora = (rlf_lora){.rank = rank_, .alpha = 3, .dropout = dropout};
    k.adapter = rank_ ? rlf_path_join(arena, scratch, "adapter") : NULL;
    k.shards = shards;
    /* config.json is not read back: only tensors matter here */
    k.config.json = "{}";
    k.from = rlf_path_join(arena, scratch, "from");
    const char *single = rlf_path_join(arena, scratch, "single");
    const char *parts = rlf_path_join(arena, scratch, "parts");
    make_weights(&k);
    run(&k, &whole, one, single);
    note("%s, %d shards, %d layers, hidden %d, kv heads %d, ffn %d, vocabulary "
         "%d%s%s%s%s%s%s%s, adapters of rank %d, dropout %g",
         family ? family->type : "llama", shards, k.config.layers,
         k.config.hidden, kv_heads, k.config.ffn, k.config.vocab,
         k.config.tied ? ", tied" : "", k.config.qk_norm ? ", norms" : "",
         k.config.qkv_bias ? ", qkv biases" : "",
         k.config.o_bias ? ", o bias" : "",
         k.config.mlp_bias ? ", mlp biases" : "",
         k.config.window ? ", window" : "", k.greedy ? ", greedy" : "", rank_,
         dropout);
    for (int most = 8; most >= 0; most--) /* those with many features first */
        for (size_t i = 0; i < RLF_COUNT(layouts); i++) {
            const cut *c = &layouts[i];
            uint32_t features = features_of(c, kv_heads);
            /* half of them each time, the others with the next kv_heads */
            bool now = (i + seed + seed / 4) % 2 == 0 &&
                       __builtin_popcount(features) == most;
            if (now && c->pp * c->chunks <= k.config.layers &&
                shards % c->tp == 0 &&
                (is_new(seen, features) || (!family && seed < 4)))
                test_layout(&k, one, c, single, parts);
        }
    free_rank(one);
    rlf_arena_free(arena);
}

static void
test_ranks(const char *scratch, int kv_heads, int shards, uint64_t seed,
           const rlf_family *family)
{
    test_adapted(scratch, kv_heads, shards, seed, family, 0, 0);
}

int
main(void)
{
    static const int kv_heads[] = {4, 1, 2, 8, 4, 1, 2, 8};
    static const int shards[] = {4, 8, 4, 4, 8, 4, 8, 8};
    char scratch[] = "/tmp/model_ranks.XXXXXX";
    rlf_err err = RLF_ERR_NONE;
    if (!mkdtemp(scratch))
        bail("no directory for files");
    int trials = quick() ? 3 : 8;
    for (int i = 0; i < trials; i++)
        test_ranks(scratch, kv_heads[i], shards[i], (uint64_t)i, NULL);
    test_ranks(scratch, 2, 4, 5, &rlf_family_granite);
    test_ranks(scratch, 4, 1, 6, &rlf_family_olmo2);
    test_ranks(scratch, 2, 8, 8, &rlf_family_olmo2);
    test_ranks(scratch, 2, 4, 7, &rlf_family_phi3);
    test_ranks(scratch, 8, 8, 4, &rlf_family_gpt2);
    test_ranks(scratch, 2, 4, 9, &rlf_family_gpt2);
    test_ranks(scratch, 2, 4, 10, &rlf_family_cohere);
    test_ranks(scratch, 8, 8, 11, &rlf_family_cohere);
    test_ranks(scratch, 2, 4, 3, &rlf_family_olmo);
    test_ranks(scratch, 2, 4, 3, &rlf_family_ministral3);
    test_ranks(scratch, 2, 4, 3, &rlf_family_phi);
    test_ranks(scratch, 2, 4, 6, &rlf_family_glm);
    test_ranks(scratch, 4, 4, 9, &rlf_family_glm4);
    test_ranks(scratch, 2, 8, 4, &rlf_family_olmo3);
    test_ranks(scratch, 4, 4, 9, &rlf_family_olmo3);
    test_ranks(scratch, 2, 4, 9, &rlf_family_seed_oss);
    test_ranks(scratch, 2, 4, 2, &rlf_family_ministral);
    test_ranks(scratch, 2, 4, 6, &rlf_family_smollm3);
    test_ranks(scratch, 2, 4, 7, &rlf_family_stablelm);
    test_ranks(scratch, 4, 4, 6, &rlf_family_stablelm);
    test_ranks(scratch, 2, 4, 6, &rlf_family_starcoder2);
    test_ranks(scratch, 8, 8, 5, &rlf_family_gpt_neox);
    test_ranks(scratch, 8, 4, 9, &rlf_family_gpt_neox);
    test_ranks(scratch, 2, 4, 5, &rlf_family_falcon);
    test_ranks(scratch, 4, 8, 9, &rlf_family_falcon);
    test_ranks(scratch, 2, 4, 5, &rlf_family_gemma2);
    test_ranks(scratch, 2, 8, 4, &rlf_family_gemma3);
    test_adapted(scratch, 2, 8, 4, &rlf_family_qwen3, 3, 0);
    test_adapted(scratch, 4, 4, 11, NULL, 8, 0.2);
    test_adapted(scratch, 8, 4, 10, &rlf_family_gpt_neox, 2, 0.4);
    test_adapted(scratch, 2, 4, 9, &rlf_family_cohere, 1, 0);
    if (rlf_dir_remove(scratch, &err) < 0)
        bail("%s", err.sentence);
    return done();
}
