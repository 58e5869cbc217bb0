/* Shards and lanes on one rank: for every number of both the loss and the
 * gradient are those of one shard and one lane to rounding, and have bits of
 * their own that neither micro-batches nor threads change; the gradient's norm
 * against double precision; numbers that do not fit are refused. On GPUs,
 * emulated and real, in f32 the CPU's bits, and in bf16 near them. Tables that
 * outlines share are those that are made alone. */
#include "engine/comm/fold.cuh"
#include "engine/layout/lanes.h"
#include "kernels/shards.h"
#include "nodes/model/gradient.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/tables.h"
#include "tests/unit/model_places.h"

enum { SEQS = 19, MOST = 90 };

typedef struct task {
    rlf_model_config config;
    uint32_t n; /* sequences */
    uint32_t ids[SEQS][2 * MOST];
    rlf_sequence seqs[SEQS];
    float weight[SEQS][MOST];
} task;

static void
make_task(task *k, uint64_t seed, bool tied)
{
    k->config = (rlf_model_config){.layers = 2,
                                   .hidden = 72,
                                   .heads = 8,
                                   .kv_heads = tied ? 8 : 2,
                                   .head_dim = 16,
                                   .ffn = 101,
                                   .vocab = tied ? 77 : 1601,
                                   .context = 256,
                                   .eps = 1e-5,
                                   .rope.theta = 10000,
                                   .tied = tied,
                                   .qkv_bias = true,
                                   .o_bias = true,
                                   .mlp_bias = true,
                                   .qk_norm = true,
                                   .bos = -1};
    k->n = SEQS;
    for (uint32_t i = 0; i < SEQS; i++) {
        rlf_sequence *s = &k->seqs[i];
        *s = (rlf_sequence){.prompt = k->ids[i],
                            .n_prompt = 1 + test_random(&seed) % 60,
                            .n_response = 1 + test_random(&seed) % 60,
                            .temperature = i % 3 ? 1 : 0.5f};
        s->response = s->prompt + s->n_prompt;
        for (uint32_t t = 0; t < s->n_prompt + s->n_response; t++)
            k->ids[i][t] = test_random(&seed) % 77;
        for (uint32_t t = 0; t < MOST; t++)
            k->weight[i][t] = test_float(&seed);
    }
}

static rlf_model *
new_model(test_machine *t, const task *k, int shards, int lanes)
{
    rlf_model *model;
    rlf_model_options options = {.head = RLF_HEAD_BOTH,
                                 .trained = true,
                                 .shards = shards,
                                 .lanes = lanes};
    MUST(t, rlf_model_new(t->queue, t->kernels, &k->config, &options, &t->err,
                          &model));
    randomize(t, model, 3);
    return model;
}

/* One pass over these sequences; their part of the loss. */
static double
add_pass(test_machine *t, rlf_model *model, rlf_pass *p, const task *k,
         const int64_t *rows, uint32_t n)
{
    rlf_sequence seqs[SEQS];
    float weight[SEQS * MOST], logprob[SEQS * MOST];
    uint32_t n_rows = 0;
    double loss = 0;
    for (uint32_t i = 0; i < n; i++) {
        seqs[i] = k->seqs[rows[i]];
        memcpy(weight + n_rows, k->weight[rows[i]],
               seqs[i].n_response * sizeof *weight);
        n_rows += seqs[i].n_response;
    }
    MUST(t, rlf_pass_load(p, seqs, n, 0, RLF_ROWS_TOKENS, &t->err));
    MUST(t, rlf_transformer_forward(model, p, &t->err));
    MUST(t, rlf_pass_write(p, weight, n_rows, &t->err, p->d_logprob));
    MUST(t, rlf_pass_write(p, weight, n_rows, &t->err, p->d_scalar));
    MUST(t, rlf_pass_write(p, weight, n_rows, &t->err, p->d_entropy));
    MUST(t, rlf_head_loss(model, p, NULL, NULL, true, &t->err));
    MUST(t, rlf_head_scalar_back(model, p, true, &t->err));
    MUST(t, rlf_transformer_backward_chunk(model, p, 0, &t->err));
    MUST(t, rlf_pass_read(p, p->logprob, n_rows, &t->err, logprob));
    for (uint32_t i = 0; i < n_rows; i++)
        loss += (double)weight[i] * (double)logprob[i];
    return loss;
}

/* The gradient of all samples, lane by lane. */
static double
add_gradients(test_machine *t, rlf_model *model, const task *k, int tokens,
              bool recompute)
{
    rlf_pass *p;
    rlf_pass_options options = {
        .tokens = tokens, .train = true, .recompute = recompute};
    MUST(t, rlf_pass_new(model, &options, &t->err, &p));
    int64_t lengths[SEQS], rows[SEQS];
    int lane[SEQS], lanes = model->gradient.lanes;
    for (uint32_t i = 0; i < k->n; i++)
        lengths[i] = k->seqs[i].n_prompt + k->seqs[i].n_response;
    MUST(t, rlf_lanes_deal(lengths, k->n, lanes, &t->err, lane));
    double loss = 0;
    for (int l = 0; l < lanes; l++) {
        int64_t n = rlf_lanes_rows(lane, k->n, (rlf_range){l, l + 1}, rows);
        for (int64_t i = 0, end; i < n; i = end) {
            int64_t used = 0;
            for (end = i; end < n && used + lengths[rows[end]] <= tokens; end++)
                used += lengths[rows[end]];
            loss += add_pass(t, model, p, k, rows + i, (uint32_t)(end - i));
        }
        MUST(t, rlf_gradient_next(model, 0, RLF_GRADIENT_ALL, &t->err));
    }
    MUST(t, rlf_gradient_finish(model, &t->err));
    rlf_pass_free(p);
    return loss;
}

typedef struct result {
    double loss, norm;
    size_t n;
    float *gradient, *weights; /* after one step */
} result;

typedef struct how {
    int shards, lanes, threads, tokens;
    bool recompute;
} how;

static result
one_step(const test_place *at, const task *k, how of)
{
    test_machine t;
    test_machine_open_at(&t, at, of.threads);
    rlf_model *model = new_model(&t, k, of.shards, of.lanes);
    result r = {.n = (size_t)model->table->count};
    r.loss = add_gradients(&t, model, k, of.tokens, of.recompute);
    r.gradient = test_copy(&t, model->gradient.weights, r.n);
    rlf_adamw s = {
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .clip = 1};
    MUST(&t, rlf_optimizer_step(model, &s, &t.err, &r.norm));
    r.weights = test_copy(&t, model->weights, r.n);
    size_t floats = (size_t)model->gradient.floats;
    float *cleared = test_copy(&t, model->gradient.blocks[0], floats);
    for (size_t i = 0; i < floats; i++)
        if (cleared[i] != 0)
            bail("a gradient was not cleared");
    free(cleared);
    rlf_model_free(model);
    test_machine_close(&t);
    return r;
}

static void
free_result(result *r)
{
    free(r->gradient);
    free(r->weights);
}

/* The norm of the difference over that of the whole, worst tensor. */
static double
worst_tensor(const task *k, const result *a, const result *b)
{
    rlf_arena *arena = rlf_arena_new();
    const rlf_table *t = rlf_table_new(&k->config, RLF_HEAD_BOTH, NULL, arena);
    double worst = 0;
    for (int i = 0; i < t->n_slots; i++) {
        double off = 0, all = 0;
        const rlf_slot *s = &t->slots[i];
        for (int64_t j = s->offset; j < s->offset + s->count; j++) {
            double x = (double)a->gradient[j], y = (double)b->gradient[j];
            off += (x - y) * (x - y);
            all += y * y;
        }
        worst = fmax(worst, sqrt(off / all));
    }
    rlf_arena_free(arena);
    return worst;
}

static void
test_numbers(const test_place *at, bool tied)
{
    static task k;
    make_task(&k, 21, tied);
    result one = one_step(
        at, &k, (how){.shards = 1, .lanes = 1, .threads = 2, .tokens = 4000});
    int step = quick() ? 4 : 2;
    for (int shards = 1; shards <= 8; shards *= step)
        for (int lanes = 1; lanes <= 4; lanes *= step) {
            if (quick() && tied && shards * lanes < 16)
                continue;
            char name[128];
            result r = one_step(at, &k,
                                (how){.shards = shards,
                                      .lanes = lanes,
                                      .threads = 2,
                                      .tokens = 4000});
            double grad = worst_tensor(&k, &r, &one);
            double loss = fabs(r.loss / one.loss - 1);
            ok(grad < 1e-5 && loss < 1e-5,
               "%d shards, %d lanes: gradient off by %.1e, loss by %.1e",
               shards, lanes, grad, loss);
            ok(fabs(r.norm / one.norm - 1) < 1e-6, "and its norm");
            if (shards * lanes > 1)
                ok(memcmp(r.gradient, one.gradient, r.n * sizeof(float)) != 0,
                   "with other bits");
            result small = one_step(at, &k,
                                    (how){.shards = shards,
                                          .lanes = lanes,
                                          .threads = 1,
                                          .tokens = 150,
                                          .recompute = true});
            snprintf(name, sizeof name,
                     "%d shards, %d lanes: small micro-batches, one thread",
                     shards, lanes);
            is_bits_f32(small.gradient, r.gradient, r.n, name);
            is_bits_f32(small.weights, r.weights, r.n, "after a step");
            free_result(&small);
            free_result(&r);
        }
    free_result(&one);
}

/* A step on a GPU beside one on the CPU. */
static void
test_place_step(const test_place *cpu, const test_place *at)
{
    static task k;
    make_task(&k, 21, false);
    k.n = at->slow ? 3 : SEQS;
    result a = one_step(
        cpu, &k, (how){.shards = 4, .lanes = 2, .threads = 2, .tokens = 4000});
    result b = one_step(at, &k,
                        (how){.shards = 4,
                              .lanes = 2,
                              .threads = 1,
                              .tokens = at->slow ? 120 : 4000,
                              .recompute = true});
    if (is_exact(at)) {
        is_bits_f32(b.gradient, a.gradient, a.n,
                    "4 shards, 2 lanes on a GPU: the CPU's gradients");
        is_bits_f32(b.weights, a.weights, a.n, "... and weights after a step");
        ok(b.loss == a.loss && b.norm == a.norm, "... loss and norm");
    }
    double grad = worst_tensor(&k, &b, &a), loss = fabs(b.loss / a.loss - 1);
    ok(grad < 0.1 && loss < 0.01,
       "%s, 4 shards, 2 lanes: gradient off by %.1e, loss by %.1e", at->name,
       grad, loss);
    free_result(&a);
    free_result(&b);
}

/* Norms of random gradients, whatever the cut. */
static void
test_norm(void)
{
    static task k;
    make_task(&k, 22, false);
    test_machine t;
    test_machine_open(&t, 2);
    for (int shards = 1; shards <= 8; shards *= 2) {
        rlf_model *model = new_model(&t, &k, shards, 1);
        uint64_t seed = 5;
        double sum = 0, norm;
        for (int i = 0; i < model->table->n_slots; i++)
            for (int64_t j = 0; j < model->table->slots[i].count; j++) {
                float g = test_float(&seed);
                model->gradient.weights[model->table->slots[i].offset + j] = g;
                sum += (double)g * (double)g;
            }
        rlf_adamw s = RLF_ADAMW_DEFAULTS;
        MUST(&t, rlf_optimizer_step(model, &s, &t.err, &norm));
        ok(fabs(norm / sqrt(sum) - 1) < 1e-12, "%d shards: the norm", shards);
        rlf_model_free(model);
    }
    test_machine_close(&t);
}

static void
refuses(const rlf_model_config *config, rlf_model_options options,
        const char *sentence, const char *hint)
{
    test_machine t;
    test_machine_open(&t, 1);
    rlf_model *model = NULL;
    options.head = RLF_HEAD_LM;
    options.trained = true;
    is_int(rlf_model_new(t.queue, rlf_kernels_cpu(), config, &options, &t.err,
                         &model),
           RLF_USER, sentence);
    is_str(t.err.sentence, sentence, "says so");
    if (hint)
        is_str(t.err.hint, hint, "and what is possible");
    rlf_model_free(model);
    test_machine_close(&t);
}

static void
test_refusals(void)
{
    static task k;
    make_task(&k, 23, false);
    rlf_model_config c = k.config;
    refuses(&c, (rlf_model_options){.shards = 3},
            "shards is 3; it must be a power of two up to 64", NULL);
    refuses(&c, (rlf_model_options){.shards = 128},
            "shards is 128; it must be a power of two up to 64", NULL);
    refuses(&c, (rlf_model_options){.lanes = 6},
            "lanes is 6; it must be a power of two up to 128", NULL);
    refuses(&c, (rlf_model_options){.shards = 16},
            "shards 16 does not divide the 8 attention heads",
            "shards can be 1, 2, 4, 8");
    c.heads = 12;
    c.kv_heads = 3;
    refuses(&c, (rlf_model_options){.shards = 2},
            "shards 2 neither divides the 3 key/value heads nor is a multiple "
            "of them",
            "shards can be 1");
    c.kv_heads = 12;
    c.vocab = 3;
    refuses(&c, (rlf_model_options){.shards = 4},
            "shards 4 is more than the model's vocabulary of 3",
            "shards can be 1, 2");
    c = k.config;
    c.heads = 6;
    c.kv_heads = 3;
    for (int tp = 2; tp <= 3; tp++) {
        const rlf_cut cut = {.ranks = tp};
        rlf_err err = RLF_ERR_NONE;
        ok(rlf_table_check_cut(&c, &cut, &err) == RLF_USER,
           "tp %d of 6 heads and 3 key/value heads is refused", tp);
        is_str(err.hint, "tp can be 1", "with what shards can be, too");
        rlf_err_clear(&err);
    }
    for (int shards = 1; shards <= 2; shards++) {
        rlf_cut cut = {.shards = shards, .ranks = 4};
        rlf_err err = RLF_ERR_NONE;
        char name[64];
        snprintf(name, sizeof name, "tp 4 does not divide shards %d", shards);
        c = k.config;
        is_int(rlf_table_check_cut(&c, &cut, &err), RLF_USER, name);
        is_str(err.sentence, name, "says so");
        rlf_err_clear(&err);
    }
}

static bool
same_slot(const rlf_slot *a, const rlf_slot *b)
{
    return !strcmp(a->name, b->name) && a->kind == b->kind &&
           a->rows == b->rows && a->cols == b->cols && a->first == b->first &&
           a->offset == b->offset && a->number == b->number;
}

static bool
same_table(const rlf_table *a, const rlf_table *b)
{
    bool same = a->n_slots == b->n_slots && a->count == b->count &&
                a->matrices == b->matrices && a->n_layers == b->n_layers &&
                a->whole->n_slots == b->whole->n_slots && a->lm == b->lm &&
                a->score == b->score && a->ends == b->ends &&
                rlf_table_cut_alike(&a->cut, &b->cut) &&
                a->shards.of == b->shards.of;
    for (int i = 0; same && i < a->n_slots; i++)
        same = same_slot(&a->slots[i], &b->slots[i]);
    for (int i = 0; same && i < a->whole->n_slots; i++)
        same = a->own[i] == b->own[i] &&
               same_slot(&a->whole->slots[i], &b->whole->slots[i]);
    return same;
}

/* Tables that are made once are those that are made each time: any cut, in any
 * order. */
static void
test_shared(bool tied)
{
    static task k;
    make_task(&k, 29, tied);
    k.config.layers = 7;
    rlf_arena *arena = rlf_arena_new();
    rlf_tables *tables = rlf_tables_new(&k.config, arena);
    uint64_t seed = 5;
    bool same = true, once = true;
    for (int i = 0; i < 600; i++) {
        int ranks = 1 << test_random(&seed) % 3;
        rlf_cut cut = {.shards = (int)(test_random(&seed) % 3) * ranks,
                       .ranks = ranks,
                       .stages = (int)(test_random(&seed) % 4),
                       .chunks = (int)(test_random(&seed) % 3)};
        rlf_model_head head =
            test_random(&seed) % 2 ? RLF_HEAD_LM : RLF_HEAD_SCALAR;
        cut.rank = (int)(test_random(&seed) % (unsigned)cut.ranks);
        if (cut.stages)
            cut.stage = (int)(test_random(&seed) % (unsigned)cut.stages);
        const rlf_table *a =
            rlf_tables_get(tables, &k.config, head, &cut, arena);
        once &= a == rlf_tables_get(tables, &k.config, head, &cut, arena);
        same &= same_table(a, rlf_table_new(&k.config, head, &cut, arena));
    }
    ok(once, "a table that is shared is made once");
    ok(same, "and is the one that is made alone");
    rlf_arena_free(arena);
}

static rlf_pass_options
random_pass(uint64_t *seed, const rlf_table *t)
{
    rlf_pass_options o = {.tokens = 1 + (int)(test_random(seed) % 3) * 40,
                          .train = test_random(seed) % 2};
    if (o.train) {
        o.recompute = test_random(seed) % 2;
        o.split = test_random(seed) % 2;
        o.chunk = (int)(test_random(seed) % (unsigned)t->cut.chunks);
    }
    o.lent = test_random(seed) % 2;
    o.layers = o.recompute && o.split && test_random(seed) % 2;
    return o;
}

/* Bytes of passes that are remembered are those that are counted each time:
 * under any options, in any order. */
static void
test_remembered(const test_place *places, int n_places)
{
    static task k;
    make_task(&k, 29, false);
    k.config.layers = 5;
    rlf_arena *arena = rlf_arena_new();
    const rlf_cut cut = {.stages = 2, .stage = 1, .chunks = 2};
    const rlf_table *t = rlf_table_new(&k.config, RLF_HEAD_LM, &cut, arena);
    uint64_t seed = 11;
    int differ = 0;
    for (int i = 0; i < 600; i++) {
        rlf_pass_options o = random_pass(&seed, t);
        const test_place *at = &places[test_random(&seed) % (unsigned)n_places];
        const rlf_kernels *with = at->backend->kernels(NULL, at->real);
        const rlf_table *alone =
            rlf_table_new(&k.config, RLF_HEAD_LM, &cut, arena);
        differ += rlf_pass_count_bytes(t, with, &o) !=
                  rlf_pass_count_bytes(alone, with, &o);
    }
    is_int(differ, 0, "bytes of passes are those that are counted anew");
    rlf_arena_free(arena);
}

/* A decode step is recorded, and a recording can have no array from the host:
 * so whatever ranks may share a model, the places of what they add are not one.
 */
static void
test_recorded(void)
{
    ok(RLF_MOST_SHARDS <= FOLD_WITH_LAUNCH,
       "the places of %d parts travel with the launch that adds them",
       RLF_MOST_SHARDS);
}

int
main(void)
{
    test_place places[MOST_PLACES];
    int n = test_places(places);
    if (wanted("cpu")) {
        test_numbers(&places[0], false);
        test_numbers(&places[0], true);
    }
    for (int i = 1; i < n; i++)
        test_place_step(&places[0], &places[i]);
    test_recorded();
    test_norm();
    test_refusals();
    test_shared(false);
    test_shared(true);
    test_remembered(places, n);
    return done();
}
