/* Training: gradients have the same bits whatever the threads, instruction set
 * and tokens of a micro-batch; AdamW with clipping against double precision;
 * gradients that are not finite; tied weights; a loss that goes down. On GPUs
 * too, emulated and real: in f32 with the CPU's bits, and in bf16. */
#include "nodes/model/form.h"
#include "nodes/model/gradient.h"
#include "nodes/model/optimizer.h"
#include "tests/unit/model_places.h"

enum { SEQS = 12, MOST = 140 };

typedef struct task {
    rlf_model_config config;
    uint32_t n; /* sequences */
    uint32_t ids[SEQS][2 * MOST];
    rlf_sequence seqs[SEQS];
    float weight[SEQS * MOST];
} task;

static void
make_task(task *k, uint64_t seed, bool tied)
{
    k->n = SEQS;
    k->config = (rlf_model_config){.layers = 2,
                                   .hidden = 72,
                                   .heads = 6,
                                   .kv_heads = 2,
                                   .head_dim = 16,
                                   .ffn = 100,
                                   .vocab = 77,
                                   .context = 256,
                                   .eps = 1e-5,
                                   .rope.theta = 10000,
                                   .tied = tied,
                                   .qkv_bias = true,
                                   .qk_norm = true,
                                   .bos = -1};
    for (uint32_t i = 0; i < SEQS; i++) {
        rlf_sequence *s = &k->seqs[i];
        *s = (rlf_sequence){.prompt = k->ids[i],
                            .n_prompt = 1 + test_random(&seed) % 70,
                            .n_response = 1 + test_random(&seed) % 70,
                            .temperature = i % 3 ? 1 : 0.5f};
        s->response = s->prompt + s->n_prompt;
        for (uint32_t t = 0; t < s->n_prompt + s->n_response; t++)
            k->ids[i][t] = test_random(&seed) % 77;
    }
    for (size_t i = 0; i < RLF_COUNT(k->weight); i++)
        k->weight[i] = test_float(&seed);
}

static rlf_model *
new_model(test_machine *t, const task *k)
{
    rlf_model *model;
    rlf_model_options options = {.head = RLF_HEAD_BOTH, .trained = true};
    MUST(t, rlf_model_new(t->queue, t->kernels, &k->config, &options, &t->err,
                          &model));
    randomize(t, model, 3);
    return model;
}

/* Gradients of a weighted sum of log-probabilities and values. */
static void
add_gradients(test_machine *t, rlf_model *model, const task *k, int tokens,
              bool recompute)
{
    rlf_pass *p;
    rlf_pass_options options = {
        .tokens = tokens, .train = true, .recompute = recompute};
    MUST(t, rlf_pass_new(model, &options, &t->err, &p));
    const float *weight = k->weight;
    for (uint32_t i = 0, fit; i < k->n; i += fit) {
        MUST(t, rlf_pass_fit(p, k->seqs + i, k->n - i, &t->err, &fit));
        MUST(t,
             rlf_pass_load(p, k->seqs + i, fit, i, RLF_ROWS_TOKENS, &t->err));
        MUST(t, rlf_transformer_forward(model, p, &t->err));
        MUST(t, rlf_pass_write(p, weight, p->n_rows, &t->err, p->d_logprob));
        MUST(t, rlf_pass_write(p, weight, p->n_rows, &t->err, p->d_scalar));
        MUST(t, rlf_head_loss(model, p, NULL, NULL, false, &t->err));
        MUST(t, rlf_head_scalar_back(model, p, true, &t->err));
        MUST(t, rlf_transformer_backward_chunk(model, p, 0, &t->err));
        weight += p->n_rows;
    }
    rlf_pass_free(p);
}

/* All gradients of the model, then those of a tied head; `n` numbers. */
static float *
gradients_of(test_machine *t, const rlf_model *model, size_t *n)
{
    size_t count = (size_t)model->table->count, more = 0;
    const rlf_model_config *c = &model->table->config;
    if (model->gradient.tied)
        more = (size_t)c->vocab * (size_t)c->hidden;
    *n = count + more;
    float *out = rlf_malloc(*n * sizeof *out);
    test_read(t, model->gradient.weights, count, out);
    if (more)
        test_read(t, model->gradient.tied, more, out + count);
    return out;
}

/* One way to add up gradients; to be freed. */
typedef struct way {
    int threads, tokens;
    const char *isa;
    bool recompute;
} way;

static float *
gradients_at(const test_place *at, const task *k, const way *how, size_t *n)
{
    test_machine t;
    test_machine_open_at(&t, at, how->threads);
    if (how->isa)
        t.kernels = rlf_kernels_cpu_isa(how->isa);
    float *out = NULL;
    if (t.kernels) {
        rlf_model *model = new_model(&t, k);
        add_gradients(&t, model, k, how->tokens, how->recompute);
        out = gradients_of(&t, model, n);
        rlf_model_free(model);
    }
    test_machine_close(&t);
    return out;
}

static void
test_bits(const test_place *cpu, bool tied)
{
    static task k;
    make_task(&k, 11, tied);
    if (quick())
        k.n = 9;
    static const way ways[] = {
        {1, 4000, NULL, false}, {2, 4000, NULL, false},
        {3, 4000, NULL, false}, {1, 140, NULL, false},
        {2, 333, NULL, true},   {1, 140, "portable", true},
        {2, 4000, "v3", false}, {2, 700, "v4", false},
    };
    size_t n;
    float *want = gradients_at(cpu, &k, &ways[0], &n);
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += fabs((double)want[j]);
    ok(sum > 1 && isfinite(sum), "there are gradients (%g)", sum);
    for (size_t i = 1; i < RLF_COUNT(ways); i++) {
        if (quick() && tied && i < 4)
            continue; /* whatever the threads: as without */
        char name[128];
        float *got = gradients_at(cpu, &k, &ways[i], &n);
        if (!got) {
            skip("no %s here", ways[i].isa);
            continue;
        }
        snprintf(name, sizeof name,
                 "the same gradients: %d threads, %d tokens, %s%s",
                 ways[i].threads, ways[i].tokens,
                 ways[i].isa ? ways[i].isa : "the best",
                 ways[i].recompute ? ", recomputed" : "");
        is_bits_f32(got, want, n, name);
        free(got);
    }
    free(want);
}

/* Runs of a response: its gradients are those that all of its tokens have where
 * the others weigh nothing. */
static void
test_runs(const test_place *cpu)
{
    static task k, whole;
    static rlf_token_run runs[SEQS][MOST];
    make_task(&k, 17, false);
    whole = k;
    uint64_t seed = 5;
    uint32_t n_all = 0, n_own = 0;
    for (uint32_t i = 0; i < SEQS; i++) {
        rlf_sequence *s = &k.seqs[i];
        uint32_t n = 0, at = test_random(&seed) % 4;
        whole.seqs[i].prompt = whole.ids[i];
        whole.seqs[i].response = whole.ids[i] + s->n_prompt;
        for (uint32_t t = 0; t < s->n_response; t++)
            whole.weight[n_all + t] = 0;
        while (at < s->n_response || !n) {
            if (at >= s->n_response)
                at = s->n_response - 1;
            rlf_token_run run = {at, at + 1 + test_random(&seed) % 5};
            if (run.to > s->n_response)
                run.to = s->n_response;
            for (uint32_t t = run.from; t < run.to; t++)
                whole.weight[n_all + t] = k.weight[n_own++];
            runs[i][n++] = run;
            at = run.to + 1 + test_random(&seed) % 9;
        }
        s->runs = runs[i];
        s->n_runs = n;
        n_all += s->n_response;
    }
    const way once = {1, 4000, NULL, false}, often = {2, 200, NULL, true};
    size_t n;
    float *want = gradients_at(cpu, &whole, &once, &n);
    float *got = gradients_at(cpu, &k, &once, &n);
    is_bits_f32(got, want, n,
                "runs have the gradients of a response whose other tokens "
                "weigh nothing");
    free(got);
    got = gradients_at(cpu, &k, &often, &n);
    is_bits_f32(got, want, n, "... in other micro-batches, recomputed");
    ok(n_own < n_all, "%u of %u tokens are in them", n_own, n_all);
    free(got);
    free(want);
}

/* |a - b| / |b| */
static double
distance(const float *a, const float *b, size_t n)
{
    double off = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        off += pow((double)a[i] - (double)b[i], 2);
        all += pow((double)b[i], 2);
    }
    return sqrt(off / all);
}

/* A GPU against the CPU: in f32 its bits, in other micro-batches. In bf16 those
 * may add in another order, but computing activations again changes nothing. */
static void
test_place_bits(const test_place *cpu, const test_place *at, bool tied)
{
    static task k;
    make_task(&k, 11, tied);
    k.n = at->slow ? 2 : SEQS;
    const way whole = {1, 4000, NULL, false},
              again = {1, is_exact(at) ? 140 : 4000, NULL, true};
    size_t n;
    float *want = gradients_at(cpu, &k, &whole, &n);
    float *a = gradients_at(at, &k, &whole, &n);
    float *b = gradients_at(at, &k, &again, &n);
    double off = distance(a, want, n);
    ok(is_exact(at) ? off == 0 : off < 0.03,
       "%s, %stied: gradients as on the CPU, off by %g", at->name,
       tied ? "" : "not ", off);
    is_bits_f32(b, is_exact(at) ? want : a, n, "... recomputed, their bits");
    free(a);
    free(b);
    free(want);
}

/* Gradients of random numbers, scaled down to `clip`; in double to g[n]. What
 * their norm was before. */
static double
random_gradients(test_machine *t, rlf_model *model, uint64_t *seed, double clip,
                 double *g)
{
    const rlf_table *table = model->table;
    double sum = 0;
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        float *x = rlf_malloc((size_t)slot->count * sizeof *x);
        for (int64_t j = 0; j < slot->count; j++) {
            x[j] = test_float(seed);
            g[slot->offset + j] = (double)x[j];
            sum += (double)x[j] * (double)x[j];
        }
        test_write(t, x, (size_t)slot->count,
                   model->gradient.weights + slot->offset);
        free(x);
    }
    double norm = sqrt(sum);
    for (int64_t i = 0; clip > 0 && norm > clip && i < table->count; i++)
        g[i] *= clip / norm;
    return norm;
}

/* That a tensor has in files. */
static int
dimensions(const rlf_slot *slot)
{
    return (int)rlf_form_tensor(slot).n_dims;
}

/* One step in double. */
static void
step_in_double(const rlf_table *table, const rlf_adamw *s, int step,
               const double *g, double *w, double *m1, double *m2)
{
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        double decay = dimensions(slot) > 1 ? s->decay : 0;
        for (int64_t j = slot->offset; j < slot->offset + slot->count; j++) {
            m1[j] = s->beta1 * m1[j] + (1 - s->beta1) * g[j];
            m2[j] = s->beta2 * m2[j] + (1 - s->beta2) * g[j] * g[j];
            w[j] -= s->lr * decay * w[j];
            w[j] -= s->lr * m1[j] / (1 - pow(s->beta1, step)) /
                    (sqrt(m2[j] / (1 - pow(s->beta2, step))) + s->eps);
        }
    }
}

static void
test_not_finite(test_machine *t, rlf_model *model, const rlf_adamw *s)
{
    size_t n = (size_t)model->table->count;
    float *before = test_copy(t, model->weights, n);
    float bad = INFINITY;
    double norm;
    const rlf_slot *down =
        rlf_table_find(model->table, "model.layers.1.mlp.down_proj.weight");
    test_write(t, &bad, 1, model->gradient.weights + down->offset + 5);
    is_int(rlf_optimizer_step(model, s, &t->err, &norm), RLF_USER,
           "a gradient that is not finite ends the run");
    ok(strstr(t->err.sentence, "model.layers.1.mlp.down_proj.weight"),
       "and is named: %s", t->err.sentence);
    float *after = test_copy(t, model->weights, n);
    is_bits_f32(after, before, n, "nothing was changed by it");
    free(before);
    free(after);
}

/* A few steps with random gradients against the formulas in double. */
static void
test_adamw(const test_place *at, double clip)
{
    static task k;
    make_task(&k, 12, false);
    test_machine t;
    test_machine_open_at(&t, at, 2);
    rlf_model *model = new_model(&t, &k);
    const rlf_table *table = model->table;
    size_t n = (size_t)table->count;
    double *w = rlf_calloc(n, sizeof *w), *m1 = rlf_calloc(n, sizeof *m1);
    double *m2 = rlf_calloc(n, sizeof *m2), *g = rlf_calloc(n, sizeof *g);
    double worst = 0, worst_norm = 0;
    float *weights = test_copy(&t, model->weights, n);
    for (size_t i = 0; i < n; i++)
        w[i] = (double)weights[i];
    free(weights);
    rlf_adamw s = {.lr = 3e-3,
                   .beta1 = 0.9,
                   .beta2 = 0.98,
                   .eps = 1e-8,
                   .decay = 0.1,
                   .clip = clip};
    uint64_t seed = 77;
    for (int step = 1; step <= 5; step++) {
        double norm, want = random_gradients(&t, model, &seed, clip, g);
        step_in_double(table, &s, step, g, w, m1, m2);
        MUST(&t, rlf_optimizer_step(model, &s, &t.err, &norm));
        worst_norm = fmax(worst_norm, fabs(norm / want - 1));
    }
    weights = test_copy(&t, model->weights, n);
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        for (int64_t j = slot->offset; j < slot->offset + slot->count; j++)
            worst = fmax(worst, fabs((double)weights[j] - w[j]));
    }
    ok(worst < 2e-6, "%s: AdamW, clip %g: 5 steps off by %g", at->name, clip,
       worst);
    ok(worst_norm < 1e-12, "the norm of the gradient off by %g", worst_norm);
    test_not_finite(&t, model, &s);
    free(weights);
    free(w);
    free(m1);
    free(m2);
    free(g);
    rlf_model_free(model);
    test_machine_close(&t);
}

/* Without a gradient a step is decay alone: which tensors of a family lose a
 * quarter by it, and which nothing. */
static void
test_decay(const test_place *at, const rlf_family *family)
{
    static task k;
    make_task(&k, 12, family->tied);
    test_family(&k.config, family);
    test_machine t;
    test_machine_open_at(&t, at, 2);
    rlf_model *model = new_model(&t, &k);
    const rlf_table *table = model->table;
    size_t n = (size_t)table->count;
    float *before = test_copy(&t, model->weights, n);
    for (int i = 0; i < table->n_slots; i++)
        for (int64_t j = 0; j < table->slots[i].count; j++)
            before[table->slots[i].offset + j] = (float)(1 + j % 5);
    test_write(&t, before, n, model->weights);
    const rlf_adamw s = {
        .lr = 0.25, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .decay = 1};
    double norm;
    MUST(&t, rlf_gradient_clear(model, &t.err));
    MUST(&t, rlf_optimizer_step(model, &s, &t.err, &norm));
    float *after = test_copy(&t, model->weights, n);
    const char *wrong = NULL;
    int matrices = 0, vectors = 0;
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        bool matrix = dimensions(slot) > 1;
        float keep = matrix ? 0.75f : 1;
        *(matrix ? &matrices : &vectors) += 1;
        for (int64_t j = slot->offset; j < slot->offset + slot->count; j++)
            if (after[j] != keep * before[j])
                wrong = slot->name;
    }
    ok(!wrong && matrices && vectors,
       "%s, %s: decay takes from %d matrices and from none of %d vectors%s%s",
       at->name, family->type, matrices, vectors, wrong ? ", but not so " : "",
       wrong ? wrong : "");
    free(before);
    free(after);
    rlf_model_free(model);
    test_machine_close(&t);
}

/* Learning a fixed text by heart. */
static void
test_learning(const test_place *at, bool tied)
{
    static task k;
    make_task(&k, 13, tied);
    test_machine t;
    test_machine_open_at(&t, at, 2);
    rlf_model *model = new_model(&t, &k);
    MUST(&t, rlf_weights_fill(model, &(rlf_weights_origin){.seed = 5}, &t.err));
    rlf_adamw s = RLF_ADAMW_DEFAULTS;
    s.lr = 5e-3;
    rlf_pass *p;
    rlf_pass_options options = {.tokens = 500, .train = true};
    MUST(&t, rlf_pass_new(model, &options, &t.err, &p));
    double first = 0, last = 0;
    int steps = at->slow ? 5 : 30;
    uint32_t n = at->slow ? 1 : 3;
    for (int step = 0; step < steps; step++) {
        float weight[500], logprob[500];
        MUST(&t, rlf_pass_load(p, k.seqs, n, 0, RLF_ROWS_TOKENS, &t.err));
        MUST(&t, rlf_transformer_forward(model, p, &t.err));
        for (int64_t i = 0; i < p->n_rows; i++)
            weight[i] = -1 / (float)p->n_rows;
        MUST(&t, rlf_pass_write(p, weight, p->n_rows, &t.err, p->d_logprob));
        MUST(&t, rlf_head_loss(model, p, NULL, NULL, false, &t.err));
        MUST(&t, rlf_pass_read(p, p->logprob, p->n_rows, &t.err, logprob));
        MUST(&t, rlf_transformer_backward_chunk(model, p, 0, &t.err));
        double norm;
        MUST(&t, rlf_optimizer_step(model, &s, &t.err, &norm));
        last = 0;
        for (int64_t i = 0; i < p->n_rows; i++)
            last -= (double)logprob[i] / (double)p->n_rows;
        if (step == 0)
            first = last;
    }
    ok(first > 4 && last < (at->slow ? 3.5 : 0.7),
       "%s, %s: loss from %.3f to %.3f in %d steps", at->name,
       tied ? "tied" : "untied", first, last, steps);
    rlf_pass_free(p);
    rlf_model_free(model);
    test_machine_close(&t);
}

int
main(void)
{
    test_place places[MOST_PLACES];
    int n = test_places(places);
    static const char *const families[] = {
#define FAMILY(name) #name,
#include "nodes/model/families/family.def"
#undef FAMILY
    };
    const size_t n_families = RLF_COUNT(families);
    for (int tied = 0; tied < 2; tied++) {
        if (wanted("cpu"))
            test_bits(&places[0], tied);
        for (int i = 1; i < n && !(quick() && tied); i++)
            test_place_bits(&places[0], &places[i], tied);
    }
    if (wanted("cpu"))
        test_runs(&places[0]);
    for (int i = 0; i < n; i++) {
        const test_place *at = &places[i];
        if (!wanted(at->name))
            continue;
        test_adamw(at, 1);
        for (uint64_t f = 0; f < n_families; f++)
            if (!at->slow || test_any_family(f)->places)
                test_decay(at, test_any_family(f));
        if (at->slow && (is_exact(at) || quick()))
            continue; /* the bits are the CPU's */
        test_adamw(at, 0);
        test_learning(at, false);
        if (!at->slow && !quick())
            test_learning(at, true);
    }
    return done();
}
