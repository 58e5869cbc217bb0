/* Counts of work (nodes/model/cost.h) against what the kernels are really asked
 * to do: random models and ragged batches are run by a table of kernels that
 * adds up each operation's own formula. Equal, to the last operation; also
 * of thread ranks that hold a model in parts, stages and copies, each by
 * itself, with the bytes that it sends. */
#include <pthread.h>

#include "engine/comm/comm.h"
#include "engine/layout/layout.h"
#include "nodes/model/cost.h"
#include "nodes/model/prefix.h"

#include "nodes/model/generate.h"
#include "nodes/model/gradient.h"
#include "nodes/model/offload.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/parallel.h"
#include "nodes/model/weights.h"
#include "tests/unit/counting.h"
#include "tests/unit/model.h"

enum { MODELS = 8, LISTS = 5, MOST = 40 };

static rlf_model_config
random_config(uint64_t *seed)
{
    uint32_t kv = choose(seed, 1, 2), per = choose(seed, 1, 3);
    rlf_model_config c = {.layers = (int)choose(seed, 1, 3),
                          .heads = (int)(kv * per),
                          .kv_heads = (int)kv,
                          .head_dim = 8 * (int)choose(seed, 1, 3),
                          .hidden = 8 * (int)choose(seed, 1, 9),
                          .ffn = (int)choose(seed, 5, 90),
                          .vocab = (int)choose(seed, 7, 150),
                          .context = 128,
                          .eps = 1e-5,
                          .rope.theta = 10000,
                          .bos = -1};
    c.tied = choose(seed, 0, 1);
    c.qkv_bias = choose(seed, 0, 1);
    c.o_bias = choose(seed, 0, 1);
    c.mlp_bias = choose(seed, 0, 1);
    c.qk_norm = choose(seed, 0, 1);
    if (choose(seed, 0, 1)) {
        c.window = (int)choose(seed, 3, 60);
        test_windows(&c, (int)choose(seed, 0, 2));
    }
    const rlf_family *family = test_any_family(*seed >> 33);
    if (*seed >> 20 & 1)
        test_family(&c, family);
    if ((*seed >> 22) % 3 == 0)
        test_lora(&c, (int)(*seed >> 24 & 7) + 1, true);
    if (*seed >> 27 & 1)
        c.lora.dropout = 0.1;
    return c;
}

/* Sequences of a few random lengths, each several times. */
typedef struct batch {
    rlf_lengths lengths[LISTS];
    size_t n_lengths;
    uint64_t each; /* samples of a prompt, which share it */
    rlf_sequence seqs[LISTS * MOST];
    uint32_t n;
} batch;

/* Prompts one behind another, which begin otherwise, have tokens of their own.
 */
static const uint32_t *
prompt_of(const uint32_t *ids, uint64_t i)
{
    return ids + i % 2;
}

static void
random_batch(batch *b, const uint32_t *ids, uint64_t *seed)
{
    b->n_lengths = choose(seed, 1, LISTS);
    b->n = 0;
    b->each = choose(seed, 0, 1) ? choose(seed, 2, 5) : 0;
    uint64_t prompts = 0;
    for (size_t i = 0; i < b->n_lengths; i++) {
        rlf_lengths *l = &b->lengths[i];
        *l = (rlf_lengths){.n = choose(seed, 1, 9),
                           .prompt = choose(seed, 1, 60),
                           .response = choose(seed, 1, 60)};
        for (uint64_t k = 0; k < l->n; k++) {
            prompts += !b->each || k % b->each == 0;
            b->seqs[b->n++] = (rlf_sequence){.prompt = prompt_of(ids, prompts),
                                             .n_prompt = l->prompt,
                                             .response = prompt_of(ids, b->n),
                                             .n_response = l->response};
        }
    }
}

/* The rank of this thread. */
static _Thread_local rlf_comm *comm;
static _Thread_local const char *label = "";
static _Thread_local uint64_t sent_before, met_before;

static void
begin(rlf_counts *said)
{
    *said = (rlf_counts){.kernels = rlf_kernels_cpu()};
    counting = (counted){0};
    sent_before = comm ? rlf_comm_sent(comm) : 0;
    met_before = comm ? rlf_comm_met(comm) : 0;
}

/* Does an estimate agree with a count? It is equal, but for bytes in a test
 * that counts `nearly`: there it is an upper bound, at most twice the count. */
static bool
agrees(double said, double real, bool nearly)
{
    return nearly ? said >= real && said <= 2 * real : said == real;
}

/* Ranks, which are threads, print one after another. */
static pthread_mutex_t one_by_one = PTHREAD_MUTEX_INITIALIZER;

/* `shares`: a head in parts hands round a few numbers of each row besides.
 * `nearly`: there are fewer passes than is said, half as many at least. */
static void
compare(const rlf_counts *said, bool shares, bool nearly, const char *what)
{
    const rlf_cost *c = &said->cost;
    double bytes = c->read + c->written;
    rlf_meets meets = rlf_cost_meets(c);
    double sent = comm ? (double)(rlf_comm_sent(comm) - sent_before) : 0;
    double met = comm ? (double)(rlf_comm_met(comm) - met_before) : 0;
    pthread_mutex_lock(&one_by_one);
    if (!ok(c->flops == counting.flops &&
                agrees(bytes, counting.bytes, nearly) &&
                agrees(c->calls, (double)counting.calls, nearly),
            "%s%s", what, label))
        note("said %.0f flops %.0f bytes %.0f calls, counted %.0f, %.0f and "
             "%.0f",
             c->flops, bytes, c->calls, counting.flops, counting.bytes,
             (double)counting.calls);
    if (comm && !ok(shares ? meets.bytes < sent : meets.bytes == sent,
                    "bytes sent: %s%s", what, label))
        note("said %.0f, counted %.0f", meets.bytes, sent);
    if (comm && !ok(agrees(meets.n, met, nearly), "meetings: %s%s", what, label))
        note("said %.0f, counted %.0f", meets.n, met);
    pthread_mutex_unlock(&one_by_one);
}

static bool
has_heads(const rlf_model *model)
{
    return rlf_table_ends(model->table, 0);
}

/* Of stages the first and the last of two. */
static void
run_forward(test_machine *t, rlf_model *model, rlf_pass *pass)
{
    int64_t n = pass->m * model->table->config.hidden;
    if (!rlf_table_begins(model->table, 0))
        MUST(t, rlf_parallel_receive(model, 0, rlf_pass_input(pass, 0), n,
                                     &t->err));
    MUST(t, rlf_transformer_forward_chunk(model, pass, 0, &t->err));
    if (!has_heads(model))
        test_send(t, model, 1, rlf_pass_output(pass, 0), n);
}

/* Heads and backward. */
static void
run_back(test_machine *t, rlf_model *model, rlf_pass *pass,
         const rlf_reading_load *load)
{
    int64_t n = pass->m * model->table->config.hidden;
    bool heads = has_heads(model);
    if (load->logprob && heads)
        MUST(t, rlf_head_loss(model, pass, NULL, NULL, false, &t->err));
    if (load->scalar && heads)
        MUST(t, rlf_head_scalar_back(model, pass, load->logprob, &t->err));
    if (!heads)
        MUST(t, rlf_parallel_receive(model, 1, pass->d_x, n, &t->err));
    MUST(t, rlf_transformer_backward_chunk(model, pass, 0, &t->err));
    if (!rlf_table_begins(model->table, 0))
        test_send(t, model, 0, pass->d_x, n);
}

static void
same(const rlf_counts *said, bool shares, const char *what)
{
    compare(said, shares, false, what);
}

/* Computes the weights' gradients that a split backward has left, and adds
 * their counts to *apart. */
static void
run_weights(test_machine *t, rlf_model *model, rlf_pass *pass, counted *apart)
{
    counted before = counting;
    MUST(t, rlf_transformer_weights_chunk(model, pass, 0, &t->err));
    apart->flops += counting.flops - before.flops;
    apart->bytes += counting.bytes - before.bytes;
    apart->calls += counting.calls - before.calls;
}

/* Forward, heads and backward of a batch as update does it; *apart: of it, what
 * weights took. */
static void
run_passes(test_machine *t, rlf_model *model, rlf_pass *pass, const batch *b,
           const rlf_reading_load *load, bool train, counted *apart)
{
    rlf_pass *owed = NULL;
    rlf_pass_options kept = {.tokens = (int)load->tokens,
                             .train = true,
                             .lent = true,
                             .layers = true};
    *apart = (counted){0};
    if (load->split && load->recompute && train)
        MUST(t, rlf_pass_new(model, &kept, &t->err, &owed));
    for (uint32_t i = 0; i < b->n;) {
        uint32_t fit;
        MUST(t,
             rlf_prefix_fit(pass, b->seqs + i, b->n - i, false, &t->err, &fit));
        MUST(t, rlf_pass_load(pass, b->seqs + i, fit, i, load->rows, &t->err));
        run_forward(t, model, pass);
        if (load->scalar && has_heads(model))
            MUST(t, rlf_head_scalars(model, pass, &t->err));
        if (load->logprob && !train && has_heads(model))
            MUST(t, rlf_head_logprobs(model, pass, false, &t->err));
        if (owed)
            rlf_pass_borrow(pass, owed);
        if (train)
            run_back(t, model, pass, load);
        if (train && load->split)
            run_weights(t, model, pass, apart);
        if (owed)
            rlf_pass_borrow(pass, NULL);
        i += fit;
    }
    rlf_pass_free(owed);
}

static void
check_passes(test_machine *t, rlf_model *model, const uint32_t *ids,
             uint64_t *seed)
{
    batch b;
    random_batch(&b, ids, seed);
    rlf_pass_options options = {.tokens = (int)choose(seed, 120, 900),
                                .recompute = choose(seed, 0, 1)};
    rlf_pass *pass, *reader;
    MUST(t, rlf_pass_new(model, &options, &t->err, &reader));
    options.train = true;
    options.split = choose(seed, 0, 1);
    MUST(t, rlf_pass_new(model, &options, &t->err, &pass));
    counted apart;
    rlf_reading_load load = {.lengths = b.lengths,
                             .n_lengths = b.n_lengths,
                             .tokens = (uint32_t)options.tokens,
                             .recompute = options.recompute,
                             .split = options.split,
                             .rows = choose(seed, 0, 2) ? RLF_ROWS_TOKENS
                                                        : RLF_ROWS_LAST};
    load.each = b.each;
    if (b.each)
        rlf_sequences_share(b.seqs, b.n, load.rows);
    load.logprob = load.rows == RLF_ROWS_TOKENS && choose(seed, 0, 3) != 0;
    load.scalar = !load.logprob || choose(seed, 0, 1);
    size_t n = (size_t)options.tokens * sizeof(float);
    if (has_heads(model)) {
        memset(pass->d_logprob, 0, n);
        memset(pass->d_scalar, 0, n);
    }

    bool shares = load.logprob && model->group && has_heads(model);
    rlf_counts said;
    begin(&said);
    rlf_cost_read(model->table, &load, &said);
    run_passes(t, model, reader, &b, &load, false, &apart);
    same(&said, shares, "reading");
    rlf_pass_free(reader);

    begin(&said);
    rlf_cost_train(model->table, &load, RLF_REACH_POINT, RLF_UPDATE_ALL, &said);
    run_passes(t, model, pass, &b, &load, true, &apart);
    same(&said, shares, "training");
    rlf_counts weights = {.kernels = rlf_kernels_cpu()};
    rlf_cost_train(model->table, &load, RLF_REACH_POINT, RLF_UPDATE_WEIGHTS,
                   &weights);
    pthread_mutex_lock(&one_by_one);
    ok(weights.cost.flops == apart.flops &&
           weights.cost.read + weights.cost.written == apart.bytes &&
           weights.cost.calls == (double)apart.calls &&
           rlf_cost_meets(&weights.cost).n == 0 &&
           options.split == (apart.flops > 0),
       "weights apart from backward%s", label);
    pthread_mutex_unlock(&one_by_one);

    begin(&said);
    rlf_cost_optimizer(model, &said);
    rlf_adamw adamw = {.lr = 1e-4, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    double norm;
    for (int lane = 0; lane < model->gradient.held; lane++)
        MUST(t, rlf_gradient_next(model, 0, RLF_GRADIENT_ALL, &t->err));
    MUST(t, rlf_optimizer_step(model, &adamw, &t->err, &norm));
    same(&said, false, "the optimizer");
    rlf_pass_free(pass);
}

static void
check_assign(test_machine *t, rlf_model *model, const rlf_model *other)
{
    const rlf_model *from[] = {model, other, other};
    const float factor[] = {0.5f, 0.25f, 0.25f};
    rlf_counts said;
    if (rlf_table_adapted(model->table))
        return; /* the sum of two adapters is none */
    begin(&said);
    rlf_cost_assign(model->table, true, 2, &said);
    MUST(t, rlf_model_assign(model, factor, from, 3, &t->err));
    same(&said, false, "a weighted sum of itself and two others");
}

static void
check_sampling(test_machine *t, const rlf_model *model, const uint32_t *ids,
               uint64_t *seed)
{
    rlf_sampling_load load = {.groups = choose(seed, 1, 6),
                              .each = choose(seed, 1, 5),
                              .prompt = choose(seed, 1, 60),
                              .response =
                                  choose(seed, 0, 2) ? choose(seed, 1, 60) : 1,
                              .tokens = 512,
                              .active = 64,
                              .offload = model->offload};
    rlf_pass_options options = {.tokens = (int)load.tokens};
    rlf_generation_options o = {.max_new = load.response,
                                .most_active = load.active};
    rlf_pass *pass;
    rlf_kv *kv;
    rlf_generation *g;
    MUST(t, rlf_pass_new(model, &options, &t->err, &pass));
    MUST(t, rlf_kv_new(model, 16, 30 * 8, &t->err, &kv));
    MUST(t, rlf_generation_new(model, pass, kv, &o, &t->err, &g));
    uint64_t identity[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint32_t first, n_rows;
    const uint32_t *rows;
    for (uint64_t i = 0; i < load.groups; i++)
        MUST(t, rlf_generation_add(g, ids, load.prompt, identity, load.each,
                                   &t->err, &first));
    rlf_counts said;
    begin(&said);
    rlf_cost_generate(model->table, &load, &said);
    rlf_status status = RLF_AGAIN;
    while (status == RLF_AGAIN)
        MUST(t, status = rlf_generation_step(g, &t->err, &rows, &n_rows));
    compare(&said, model->group && has_heads(model), model->stages != NULL,
            "sampling");
    rlf_generation_free(g);
    rlf_kv_free(kv);
    rlf_pass_free(pass);
}

/* ---- thread ranks ---- */

typedef struct part {
    rlf_comm_world *world;
    const rlf_kernels *kernels;
    rlf_model_config config;
    int index, tp, pp, dp;
    bool sliced;
    uint64_t seed;
} part;

static rlf_group *
group_of(test_machine *t, const part *a, int axes)
{
    static const int all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const rlf_layout layout = {.ranks = all,
                               .n_ranks = a->tp * a->pp * a->dp,
                               .tp = a->tp,
                               .pp = a->pp,
                               .dp = a->dp};
    int ranks[8];
    int n = rlf_layout_group(&layout, a->index, axes, ranks);
    rlf_group *group;
    MUST(t, rlf_group_new(comm, ranks, n, &group, &t->err));
    return group;
}

/* All ranks make the same calls; each has its lanes of the gradient. */
static void *
run_part(void *arg)
{
    const part *a = arg;
    test_machine t;
    test_machine_open(&t, 1);
    char text[64];
    uint32_t ids[64];
    uint64_t seed = a->seed;
    for (int i = 0; i < 64; i++)
        ids[i] = (uint32_t)(i * i) % 7;
    comm = rlf_comm_of(a->world, a->index);
    snprintf(text, sizeof text, " (tp %d, pp %d, dp %d%s: rank %d)", a->tp,
             a->pp, a->dp, a->sliced ? ", sliced" : "", a->index);
    label = text;
    rlf_model_options options = {.head = RLF_HEAD_BOTH,
                                 .trained = true,
                                 .shards = 2 * a->tp,
                                 .lanes = 2 * a->dp,
                                 .group = group_of(&t, a, RLF_AXIS_TP),
                                 .replicas = group_of(&t, a, RLF_AXIS_DP),
                                 .stages = group_of(&t, a, RLF_AXIS_PP),
                                 .peers =
                                     group_of(&t, a, RLF_AXIS_PP | RLF_AXIS_DP),
                                 .sliced = a->sliced};
    rlf_model *model, *other;
    MUST(&t, rlf_model_new(t.queue, a->kernels, &a->config, &options, &t.err,
                           &model));
    MUST(&t, rlf_model_new(t.queue, a->kernels, &a->config, &options, &t.err,
                           &other));
    MUST(&t, rlf_weights_fill(model, &(rlf_weights_origin){.seed = 3}, &t.err));
    MUST(&t, rlf_weights_fill(other, &(rlf_weights_origin){.seed = 4}, &t.err));
    check_passes(&t, model, ids, &seed);
    check_passes(&t, model, ids, &seed);
    check_assign(&t, model, other);
    check_sampling(&t, model, ids, &seed);
    rlf_model_free(other);
    options.trained = options.sliced = false;
    options.offload = true;
    MUST(&t, rlf_model_new(t.queue, a->kernels, &a->config, &options, &t.err,
                           &other));
    MUST(&t, rlf_weights_fill(other, &(rlf_weights_origin){.seed = 4}, &t.err));
    for (int i = 0; i < a->config.layers; i++)
        if (other->table->n_layers == 1 && other->table->layers[i].place == 0)
            MUST(&t, rlf_offload_bring(other, i, &t.err)); /* and it stays */
    check_sampling(&t, other, ids, &seed);
    rlf_model_free(model);
    rlf_model_free(other);
    rlf_group_free(options.group);
    rlf_group_free(options.replicas);
    rlf_group_free(options.stages);
    rlf_group_free(options.peers);
    test_machine_close(&t);
    return NULL;
}

static void
check_ranks(const rlf_kernels *kernels, uint64_t *seed)
{
    static const struct {
        int tp, pp, dp;
        bool sliced;
    } layouts[] = {{2, 1, 1, 0}, {1, 1, 2, 0}, {1, 1, 2, 1}, {2, 1, 2, 0},
                   {2, 1, 2, 1}, {1, 2, 1, 0}, {1, 2, 1, 0}, {2, 2, 1, 0},
                   {1, 2, 2, 1}, {2, 2, 2, 0}};
    for (size_t k = 0; k < RLF_COUNT(layouts); k++) {
        /* a quick pass has pairs of the axes, each sliced once */
        if (quick() && k != 4 && k != 7 && k != 8)
            continue;
        int n = layouts[k].tp * layouts[k].pp * layouts[k].dp;
        part parts[8];
        pthread_t thread[8];
        rlf_err err = RLF_ERR_NONE;
        rlf_comm_options options = {.n_ranks = n, .limit = 60};
        rlf_comm_world *world;
        rlf_model_config config = random_config(seed);
        config.heads *= 4;
        config.layers += layouts[k].pp - 1;
        if (layouts[k].pp > 1 && layouts[k].tp == 1)
            config.tied = k % 2; /* both */
        if (rlf_comm_world_new(&options, &world, &err) < 0)
            bail("%s", err.sentence);
        for (int i = 0; i < n; i++) {
            parts[i] = (part){.world = world,
                              .kernels = kernels,
                              .config = config,
                              .index = i,
                              .tp = layouts[k].tp,
                              .pp = layouts[k].pp,
                              .dp = layouts[k].dp,
                              .sliced = layouts[k].sliced,
                              .seed = *seed};
            if (pthread_create(&thread[i], NULL, run_part, &parts[i]) != 0)
                bail("no thread");
        }
        for (int i = 0; i < n; i++)
            pthread_join(thread[i], NULL);
        rlf_comm_world_free(world);
    }
}

/* exp(x) (x - y) c at each word, and its sum at each row. */
static rlf_expr *
words_program(rlf_arena *arena)
{
    static const rlf_span nowhere;
    rlf_domains *domains = RLF_NEW(arena, rlf_domains);
    rlf_domains_init(domains, arena);
    rlf_domains_add(domains,
                    (rlf_domain){.kind = RLF_DOMAIN_ROWS, .owner = -1});
    rlf_domains_add(domains,
                    (rlf_domain){.kind = RLF_DOMAIN_TOKENS, .owner = 1});
    rlf_expr *e = rlf_expr_new(arena, domains);
    int in[3];
    for (int i = 0; i < 3; i++)
        in[i] = rlf_expr_input_op(
            e, rlf_expr_add_input(e, (rlf_expr_input){.domain = i < 2 ? 2 : 1}),
            nowhere);
    int far = rlf_expr_pointwise(e, RLF_EXPR_SUB, in[0], in[1], -1, nowhere);
    int p = rlf_expr_pointwise(e, RLF_EXPR_EXP, in[0], -1, -1, nowhere);
    int at = rlf_expr_pointwise(e, RLF_EXPR_MUL, p, far, -1, nowhere);
    at = rlf_expr_pointwise(e, RLF_EXPR_MUL, at, in[2], -1, nowhere);
    int sum = rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_SUM,
                                            .domain = 1,
                                            .arg = {at, -1, -1},
                                            .over = 1});
    int root = rlf_expr_pointwise(e, RLF_EXPR_SQRT, sum, -1, -1, nowhere);
    rlf_expr_add_output(e, "at", at);
    rlf_expr_add_output(e, "root", root);
    return e;
}

/* By count and by hand: 5 operations a word and 1 a row; of a word 2 numbers
 * read and 1 written, of a row 1 and 1. */
static void
test_words(const rlf_kernels *kernels)
{
    enum { ROWS = 5, V = 37 };
    test_machine t;
    test_machine_open(&t, 1);
    rlf_arena *arena = rlf_arena_new();
    const rlf_expr *program = words_program(arena);
    const rlf_expr_dense *dense;
    MUST(&t, rlf_expr_dense_new(program, arena, &t.err, &dense));
    float words[3][ROWS * V] = {{0}};
    double rows[2][ROWS] = {{0}};
    const rlf_dense_column in[] = {
        {.data = words[0]}, {.data = words[1]}, {.data = rows[0]}};
    const rlf_dense_column out[] = {{.data = words[2]}, {.data = rows[1]}};
    rlf_counts said;
    begin(&said);
    rlf_cost_words(program, ROWS, V, 2, &said);
    for (int64_t m = 2; m <= 3; m++) {
        rlf_expr_dense_args args = {
            .m = m, .v = V, .program = dense, .inputs = in, .outputs = out};
        MUST(&t, kernels->expr_dense(t.queue, &args, &t.err));
    }
    same(&said, false, "a program over words");
    is_int((int)said.cost.flops, ROWS * (5 * V + 1), "operations by hand");
    is_int((int)said.cost.read, ROWS * (2 * 4 * V + 8), "bytes read by hand");
    is_int((int)said.cost.written, ROWS * (4 * V + 8), "bytes written by hand");
    rlf_arena_free(arena);
    test_machine_close(&t);
}

/* Of bf16 an embedding is read in two bytes a number where it is read as it is
 * packed, in four where it is the master's. */
static void
test_packed_rows(void)
{
    enum { N = 3, LENGTH = 9 };
    uint64_t seed = 5;
    rlf_kernels half = *rlf_kernels_cpu();
    const rlf_model_config config = random_config(&seed);
    const rlf_lengths lengths = {N, 4, LENGTH - 4};
    rlf_reading_load load = {.lengths = &lengths,
                             .n_lengths = 1,
                             .tokens = 64,
                             .rows = RLF_ROWS_TOKENS,
                             .logprob = true};
    rlf_arena *arena = rlf_arena_new();
    const rlf_table *t = rlf_table_new(&config, RLF_HEAD_LM, NULL, arena);
    half.real = RLF_CAST_BF16;
    rlf_counts master = {.kernels = &half}, packed = {.kernels = &half};
    rlf_cost_read(t, &load, &master);
    load.packed_rows = true;
    rlf_cost_read(t, &load, &packed);
    is_int((int64_t)(master.cost.read - packed.cost.read), 2 * N * LENGTH * config.hidden,
           "an embedding in bf16 is half of one in f32");
    int64_t n = config.vocab * config.hidden;
    for (int i = 0; i < t->n_matrix; i++)
        n += t->matrix[i].rows * t->matrix[i].cols;
    rlf_counts f32 = {.kernels = rlf_kernels_cpu()}, narrow = f32;
    narrow.narrow = 1;
    load.packed_rows = false;
    rlf_cost_read(t, &load, &f32);
    rlf_cost_read(t, &load, &narrow);
    is_int((int64_t)(f32.cost.read - narrow.cost.read), 2 * n,
           "packed weights of bf16 are read in two bytes, on the CPU too");
    rlf_arena_free(arena);
}

int
main(void)
{
    test_packed_rows();
    test_machine t;
    test_machine_open(&t, 1);
    rlf_kernels kernels = counting_kernels(rlf_kernels_cpu());
    test_words(&kernels);
    uint64_t seed = 20;
    uint32_t ids[64];
    for (int i = 0; i < 64; i++)
        ids[i] = (uint32_t)(i * i) % 7;
    int models = quick() ? 1 : MODELS, worlds = quick() ? 1 : 3;
    for (int i = 0; i < models; i++) {
        rlf_model_config config = random_config(&seed);
        rlf_model_options options = {.head = RLF_HEAD_BOTH, .trained = true};
        rlf_model *model, *other;
        MUST(&t, rlf_model_new(t.queue, &kernels, &config, &options, &t.err,
                               &model));
        MUST(&t, rlf_model_new(t.queue, &kernels, &config, &options, &t.err,
                               &other));
        randomize(&t, model, seed);
        randomize(&t, other, seed + 1);
        check_passes(&t, model, ids, &seed);
        check_passes(&t, model, ids, &seed);
        check_assign(&t, model, other);
        check_sampling(&t, model, ids, &seed);
        check_sampling(&t, model, ids, &seed);
        rlf_model_free(model);
        rlf_model_free(other);
    }
    test_machine_close(&t);
    for (int i = 0; i < worlds; i++)
        check_ranks(&kernels, &seed);
    return done();
}
