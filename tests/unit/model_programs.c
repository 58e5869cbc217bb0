/* Random programs of rows, which no family has: sums that pass their gradient
 * on to both sides, values that several rows read, norms of anything, products
 * onto anything, adapters beside any product, which are trained with it or
 * alone, with dropout or without. The gradient of each weight is
 * compared with differences of the loss, and its bits with those of passes that
 * recompute, that leave weights for later, and that do both: rules of places
 * (nodes/model/compile.h) that let one value write over another which somebody
 * still reads are found by chance, not by families. */
#include "nodes/model/block.h"
#include "nodes/model/gradient.h"
#include "tests/unit/model.h"
#include "tests/unit/model_lora.h"

enum { PROGRAMS = 300, TOKENS = 15, MOST = 24 };

#define CLOSE 0.05 /* a gradient and differences */

/* Of the program at hand: a family's function has no other argument. */
static uint64_t program_seed, draws;
static int names, shards; /* layer norms of q and k have none */

static uint32_t
pick(uint64_t *seed, uint32_t n)
{
    return test_random(seed) % n;
}

static const char *
next_name(rlf_program *r)
{
    return rlf_arena_printf(r->arena, "p%d", names++);
}

/* Values of a layer as wide as the residual, and whether a row reads them. */
typedef struct pool {
    rlf_var value[MOST];
    bool read[MOST];
    int n;
} pool;

static rlf_var
take(pool *p, uint64_t *seed)
{
    uint32_t i = pick(seed, (uint32_t)p->n);
    p->read[i] = true;
    return p->value[i];
}

static void
put(pool *p, rlf_var x)
{
    p->value[p->n++] = x;
}

/* y, a product of x, with an adapter or none. */
static rlf_var
random_adapter(rlf_program *r, rlf_var y, rlf_var x, uint64_t *seed)
{
    return pick(seed, 3) ? y : lora_adapt(r, y, x, next_name(r));
}

static rlf_var
random_norm(rlf_program *r, rlf_var x, uint64_t *seed)
{
    uint32_t kind = pick(seed, 3);
    return kind == 0 ? rlf_norm(r, x, next_name(r))
                     : rlf_layer_norm(r, x, next_name(r), kind == 1);
}

/* A product of x, alone or onto a value. */
static void
close_product(rlf_program *r, pool *p, rlf_var x, uint64_t *seed)
{
    bool bias = pick(seed, 2);
    rlf_var y = pick(seed, 2)
                    ? rlf_linear(r, x, next_name(r), bias)
                    : rlf_linear_onto(r, take(p, seed), x, next_name(r), bias);
    put(p, random_adapter(r, y, x, seed));
}

static void
add_attention(rlf_program *r, pool *p, uint64_t *seed)
{
    const char *q = next_name(r), *k = next_name(r), *v = next_name(r);
    rlf_var x = take(p, seed);
    rlf_heads h = rlf_linear_heads(r, x, q, k, v, pick(seed, 2));
    h.q = random_adapter(r, h.q, x, seed);
    h.k = random_adapter(r, h.k, x, seed);
    h.v = random_adapter(r, h.v, x, seed);
    uint32_t norms = pick(seed, 3);
    if (norms == 1) {
        h.q = shards > 1 ? rlf_norm(r, h.q, next_name(r))
                         : random_norm(r, h.q, seed);
        h.k = shards > 1 ? rlf_norm(r, h.k, next_name(r))
                         : random_norm(r, h.k, seed);
    } else if (norms == 2) {
        q = next_name(r), k = next_name(r);
        h = rlf_head_norms(r, h, q, k);
    }
    double cap = pick(seed, 2) ? 0.7 : 0;
    uint32_t turns = pick(seed, 4);
    h = turns > 1 ? rlf_rotate(r, h) : turns ? rlf_rotate_local(r, h) : h;
    close_product(r, p, rlf_attend(r, h, 0, 0.4, cap), seed);
}

static rlf_act
random_act(uint64_t *seed)
{
    static const rlf_act acts[] = {RLF_ACT_SILU, RLF_ACT_GELU_TANH,
                                   RLF_ACT_GELU};
    return acts[pick(seed, RLF_COUNT(acts))];
}

static void
add_rows(rlf_program *r, pool *p, uint64_t *seed)
{
    rlf_var x = take(p, seed);
    switch (pick(seed, 6)) {
    case 0:
        put(p, random_norm(r, x, seed));
        break;
    case 1:
        put(p, rlf_linear(r, x, next_name(r), false));
        break;
    case 2: {
        const char *gate = next_name(r), *up = next_name(r);
        rlf_gates g = rlf_linear_gates(r, x, gate, up, pick(seed, 2));
        rlf_act act = random_act(seed);
        g.gate = random_adapter(r, g.gate, x, seed);
        g.up = random_adapter(r, g.up, x, seed);
        close_product(r, p, rlf_glu(r, g, act), seed);
        break;
    }
    case 3:
        put(p, rlf_add(r, x, take(p, seed), pick(seed, 2) ? 1 : 0.5));
        break;
    case 4: {
        rlf_act act = random_act(seed);
        x = rlf_linear_to(r, x, RLF_WIDTH_FFN, next_name(r), pick(seed, 2));
        close_product(r, p, rlf_activate(r, x, act), seed);
        break;
    }
    default:
        put(p, rlf_scale(r, x, 0.75));
    }
}

static rlf_var
random_layer(rlf_program *r, rlf_var x)
{
    uint64_t *seed = &draws;
    pool p = {{x}, {false}, 1};
    uint32_t before = pick(seed, 4), after = pick(seed, 4);
    for (uint32_t i = 0; i < before; i++)
        add_rows(r, &p, seed);
    add_attention(r, &p, seed);
    for (uint32_t i = 0; i < after; i++)
        add_rows(r, &p, seed);
    /* what nobody reads has no gradient: all that is left is added up */
    rlf_var sum = take(&p, seed);
    for (int i = 0; i < p.n; i++)
        if (!p.read[i])
            sum = rlf_add(r, p.value[i], sum, 0.5);
    return rlf_scale(r, sum, 0.9);
}

static void
random_program(rlf_program *r)
{
    draws = program_seed;
    names = 0;
    r->one_plus = pick(&draws, 2);
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    if (pick(&draws, 2))
        x = rlf_scale_rounded(r, x, 1.3);
    if (pick(&draws, 2))
        x = rlf_add(r, x, rlf_embed_places(r, "places"), 1);
    r->hidden = random_norm(r, rlf_layers(r, x, random_layer), &draws);
}

static const rlf_family family = {
    .type = "random", .architecture = "Random", .rows = random_program};

/* ---- losses and gradients ---- */

typedef struct trial {
    test_machine *t;
    rlf_model *model;
    float weight[TOKENS]; /* the weight of each row's log-probability */
} trial;

/* Forward, in a pass of its own; `train` as one of an update. */
static double
loss_in(const trial *k, bool train)
{
    test_machine *t = k->t;
    rlf_pass *p;
    rlf_pass_options options = {.tokens = TOKENS, .train = train};
    float logprob[TOKENS];
    double sum = 0;
    MUST(t, rlf_model_changed(k->model, &t->err));
    MUST(t, rlf_pass_new(k->model, &options, &t->err, &p));
    test_load(t, p);
    MUST(t, rlf_transformer_forward(k->model, p, &t->err));
    MUST(t, rlf_head_logprobs(k->model, p, false, &t->err));
    MUST(t, rlf_pass_read(p, p->logprob, p->n_rows, &t->err, logprob));
    for (int64_t i = 0; i < p->n_rows; i++)
        sum += (double)k->weight[i] * logprob[i];
    rlf_pass_free(p);
    return sum;
}

static double
loss_of(const trial *k)
{
    return loss_in(k, k->model->table->program->drops);
}

/* The gradient of that, to be freed. */
static float *
gradient_of(const trial *k, rlf_pass_options options)
{
    test_machine *t = k->t;
    rlf_pass *p, *owed = NULL;
    rlf_pass_options kept = {
        .tokens = TOKENS, .train = true, .lent = true, .layers = true};
    MUST(t, rlf_gradient_clear(k->model, &t->err));
    MUST(t, rlf_pass_new(k->model, &options, &t->err, &p));
    if (options.split && options.recompute) {
        MUST(t, rlf_pass_new(k->model, &kept, &t->err, &owed));
        rlf_pass_borrow(p, owed);
    }
    test_load(t, p);
    MUST(t, rlf_transformer_forward(k->model, p, &t->err));
    MUST(t, rlf_pass_write(p, k->weight, p->n_rows, &t->err, p->d_logprob));
    MUST(t, rlf_head_loss(k->model, p, NULL, NULL, false, &t->err));
    MUST(t, rlf_transformer_backward_chunk(k->model, p, 0, &t->err));
    if (options.split)
        MUST(t, rlf_transformer_weights_chunk(k->model, p, 0, &t->err));
    MUST(t, rlf_gradient_next(k->model, 0, RLF_GRADIENT_ALL, &t->err));
    MUST(t, rlf_gradient_finish(k->model, &t->err));
    rlf_pass_free(p);
    rlf_pass_free(owed);
    return test_copy(t, k->model->gradient.weights,
                     (size_t)rlf_table_trained(k->model->table));
}

/* The difference of the loss to both sides of its weights, over the step. */
static double
slope(const trial *k, const rlf_slot *slot, const float *way, double step)
{
    float *w = rlf_block_place(k->model, slot->offset);
    float *old = rlf_malloc((size_t)slot->count * sizeof *old);
    double loss[2];
    memcpy(old, w, (size_t)slot->count * sizeof *old);
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < slot->count; i++)
            w[i] = old[i] + (float)(side ? -step : step) * way[i];
        loss[side] = loss_of(k);
    }
    memcpy(w, old, (size_t)slot->count * sizeof *old);
    free(old);
    return (loss[0] - loss[1]) / (2 * step);
}

/* Returns the error of a tensor's gradient along a random direction, against
 * differences, relative to the largest value that it could have there. A loss
 * that bends much needs a smaller step, which rounding makes noisier. */
static double
slot_off(const trial *k, const rlf_slot *slot, const float *gradient,
         uint64_t *seed)
{
    static const double steps[] = {5e-4, 1e-4};
    const float *g = gradient + (slot->offset - k->model->table->trained);
    float *way = rlf_malloc((size_t)slot->count * sizeof *way);
    double said = 0, size = 0, off = INFINITY;
    for (int64_t i = 0; i < slot->count; i++) {
        way[i] = test_random(seed) % 2 ? 1 : -1;
        said += (double)way[i] * g[i];
        size += (double)g[i] * g[i];
    }
    for (size_t i = 0; i < RLF_COUNT(steps) && !(off < CLOSE); i++)
        off = fmin(off, fabs(slope(k, slot, way, steps[i]) - said) /
                            (0.1 + sqrt(size)));
    free(way);
    return off;
}

/* Whatever a pass does about memory, its gradients have the same bits. */
static bool
same_bits(const trial *k, const float *gradient)
{
    const rlf_table *table = k->model->table;
    bool same = true;
    for (int i = 1; i < 4; i++) {
        rlf_pass_options options = {.tokens = TOKENS,
                                    .train = true,
                                    .recompute = i & 1,
                                    .split = i & 2};
        float *again = gradient_of(k, options);
        if (memcmp(again, gradient,
                   (size_t)rlf_table_trained(table) * sizeof *again) != 0) {
            for (int j = 0; j < table->n_slots; j++) {
                const rlf_slot *slot = &table->slots[j];
                int64_t at = slot->offset - table->trained;
                if (at >= 0 && memcmp(again + at, gradient + at,
                                      (size_t)slot->count * sizeof *again) != 0)
                    note("%s%s: other bits of %s", i & 1 ? "recomputed" : "",
                         i & 2 ? " split" : "", slot->name);
            }
            same = false;
        }
        free(again);
    }
    return same;
}

/* Adapters beside some products, which may be none of a layer, or beside all.
 * Names of products are as next_name makes them. */
static rlf_lora
random_lora(uint64_t seed)
{
    static const char *const names_of[] = {"p1", "p3",  "p4",  "p7",
                                           "p8", "p12", "p17", "p21"};
    int first = (int)(seed / 4 % RLF_COUNT(names_of));
    return (rlf_lora){.rank = 1 + (int)(seed / 5 % 4),
                      .alpha = 2,
                      .stable = seed / 7 % 2,
                      .dropout = seed % 8 ? 0 : 0.25,
                      .targets = names_of + first,
                      .n_targets =
                          seed / 4 % 3 ? (int)RLF_COUNT(names_of) - first : 0};
}

/* Passes that do not train read as if nothing were ever dropped: the bits of a
 * model with these weights, that began with `seed`, and without dropout. */
static void
test_reading(const trial *k, uint64_t seed)
{
    test_machine *t = k->t;
    const rlf_table *table = k->model->table;
    rlf_model_config config = table->config;
    trial other = *k;
    rlf_model_options options = {
        .head = RLF_HEAD_LM, .trained = true, .shards = shards};
    config.lora.dropout = 0;
    MUST(t, rlf_model_new(t->queue, t->kernels, &config, &options, &t->err,
                          &other.model));
    RLF_ASSERT(other.model->table->count == table->count);
    MUST(t, rlf_weights_fill(other.model, &(rlf_weights_origin){.seed = seed},
                             &t->err));
    memcpy(rlf_block_place(other.model, table->trained),
           rlf_block_place(k->model, table->trained),
           (size_t)rlf_table_trained(table) * sizeof(float));
    double want = loss_in(&other, false), loss = loss_in(k, false);
    ok(!other.model->table->program->drops &&
           !memcmp(&loss, &want, sizeof want),
       "... which passes that only read know nothing of");
    rlf_model_free(other.model);
}

static void
test_program(test_machine *t, uint64_t seed)
{
    trial k = {.t = t};
    rlf_model_config config = {.family = &family,
                               .layers = 1 + (int)(seed % 3),
                               .hidden = 16,
                               .heads = 2,
                               .kv_heads = 1,
                               .head_dim = 8,
                               .ffn = 12,
                               .vocab = 13,
                               .context = 64,
                               .eps = 1e-3,
                               .rope.theta = 100,
                               .local_rope.theta = 10,
                               .bos = -1};
    if (seed % 4 == 0)
        config.lora = random_lora(seed);
    if (seed % 5 == 0)
        config.lora.dropout = 0.25;
    program_seed = seed * 7919 + 1;
    shards = 1 + (int)(seed / 3 % 2);
    rlf_model_options options = {
        .head = RLF_HEAD_LM, .trained = true, .shards = shards};
    MUST(t, rlf_model_new(t->queue, t->kernels, &config, &options, &t->err,
                          &k.model));
    uint64_t first = seed;
    MUST(t, rlf_weights_fill(k.model, &(rlf_weights_origin){.seed = first},
                             &t->err));
    for (size_t i = 0; i < RLF_COUNT(k.weight); i++)
        k.weight[i] = test_float(&seed);
    const rlf_table *table = k.model->table;
    float *trained = rlf_block_place(k.model, table->trained);
    for (int64_t i = 0; i < rlf_table_trained(table); i++)
        trained[i] += 0.2F * test_float(&seed);
    (void)loss_of(&k);
    float *gradient =
        gradient_of(&k, (rlf_pass_options){.tokens = TOKENS, .train = true});
    ok(same_bits(&k, gradient), "program %llu: the same bits in all passes",
       (unsigned long long)(program_seed / 7919));
    double worst = 0;
    const char *where = "";
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        if (!rlf_slot_trains(table, slot))
            continue;
        double off = slot_off(&k, slot, gradient, &seed);
        if (!(off <= worst)) {
            worst = off;
            where = slot->name;
        }
    }
    if (!ok(worst < CLOSE, "... and gradients as differences of the loss are"))
        note("%s is off by %g", where, worst);
    free(gradient);
    if (table->program->drops)
        test_reading(&k, first);
    rlf_model_free(k.model);
}

int
main(void)
{
    test_machine t;
    test_machine_open(&t, 1);
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        test_program(&t, seed);
    test_machine_close(&t);
    return done();
}
