/* Training: gradients have the same bits whatever the threads, instruction set
 * and tokens of a micro-batch; AdamW with clipping against double precision;
 * gradients that are not finite; tied weights; a loss that goes down. */
#include "nodes/model/optimizer.h"
#include "tests/unit/model.h"

enum { SEQS = 23, MOST = 140 };

typedef struct task {
    rlf_model_config config;
    uint32_t ids[SEQS][2 * MOST];
    rlf_sequence seqs[SEQS];
    float weight[SEQS * MOST];
} task;

static void
make_task(task *k, uint64_t seed, bool tied)
{
    k->config = (rlf_model_config){.layers = 2,
                                   .hidden = 72,
                                   .heads = 6,
                                   .kv_heads = 2,
                                   .head_dim = 16,
                                   .ffn = 100,
                                   .vocab = 77,
                                   .context = 256,
                                   .eps = 1e-5,
                                   .rope_theta = 10000,
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
new_model(test_machine *t, const task *k, const rlf_kernels *kernels)
{
    rlf_model *model;
    rlf_model_options options = {.head = RLF_HEAD_BOTH, .trained = true};
    MUST(t, rlf_model_new(t->queue, kernels, &k->config, &options, &t->err,
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
    for (uint32_t i = 0, fit; i < SEQS; i += fit) {
        MUST(t, rlf_pass_fit(p, k->seqs + i, SEQS - i, &t->err, &fit));
        MUST(t,
             rlf_pass_load(p, k->seqs + i, fit, i, RLF_ROWS_TOKENS, &t->err));
        MUST(t, rlf_transformer_forward(model, p, &t->err));
        MUST(t, rlf_pass_write(p, weight, p->n_rows, &t->err, p->d_logprob));
        MUST(t, rlf_pass_write(p, weight, p->n_rows, &t->err, p->d_scalar));
        MUST(t, rlf_head_loss(model, p, NULL, NULL, false, &t->err));
        MUST(t, rlf_head_scalar_back(model, p, true, &t->err));
        MUST(t, rlf_transformer_backward(model, p, &t->err));
        weight += p->n_rows;
    }
    rlf_pass_free(p);
}

static void
test_bits(bool tied)
{
    static task k;
    make_task(&k, 11, tied);
    const struct {
        int threads, tokens;
        const char *isa;
        bool recompute;
    } runs[] = {
        {1, 4000, NULL, false}, {2, 4000, NULL, false},
        {3, 4000, NULL, false}, {1, 140, NULL, false},
        {2, 333, NULL, true},   {1, 140, "portable", true},
        {2, 4000, "v3", false}, {2, 700, "v4", false},
    };
    float *want = NULL;
    for (size_t i = 0; i < RLF_COUNT(runs); i++) {
        const rlf_kernels *kernels =
            runs[i].isa ? rlf_kernels_cpu_isa(runs[i].isa) : rlf_kernels_cpu();
        if (!kernels) {
            skip("no %s here", runs[i].isa);
            continue;
        }
        test_machine t;
        test_machine_open(&t, runs[i].threads);
        rlf_model *model = new_model(&t, &k, kernels);
        add_gradients(&t, model, &k, runs[i].tokens, runs[i].recompute);
        size_t n = (size_t)model->table->count;
        size_t more = tied ? 77 * 72 : 0;
        if (!want) {
            want = rlf_malloc((n + more) * sizeof *want);
            memcpy(want, model->gradient.weights, n * sizeof *want);
            if (more)
                memcpy(want + n, model->gradient.tied, more * sizeof *want);
            double sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += fabs((double)want[j]);
            ok(sum > 1 && isfinite(sum), "there are gradients (%g)", sum);
        } else {
            char name[128];
            snprintf(name, sizeof name,
                     "the same gradients: %d threads, %d tokens, %s%s",
                     runs[i].threads, runs[i].tokens, kernels->isa,
                     runs[i].recompute ? ", recomputed" : "");
            is_bits_f32(model->gradient.weights, want, n, name);
            if (more)
                is_bits_f32(model->gradient.tied, want + n, more,
                            "and the head's");
        }
        rlf_model_free(model);
        test_machine_close(&t);
    }
    free(want);
}

/* A few steps with random gradients against the formulas in double. */
static void
test_adamw(double clip)
{
    static task k;
    make_task(&k, 12, false);
    test_machine t;
    test_machine_open(&t, 2);
    rlf_model *model = new_model(&t, &k, rlf_kernels_cpu());
    const rlf_table *table = model->table;
    size_t n = (size_t)table->count;
    double *w = rlf_calloc(n, sizeof *w), *m1 = rlf_calloc(n, sizeof *m1);
    double *m2 = rlf_calloc(n, sizeof *m2), worst = 0, worst_norm = 0;
    for (size_t i = 0; i < n; i++)
        w[i] = (double)model->weights[i];
    rlf_adamw s = {.lr = 3e-3,
                   .beta1 = 0.9,
                   .beta2 = 0.98,
                   .eps = 1e-8,
                   .decay = 0.1,
                   .clip = clip};
    uint64_t seed = 77;
    for (int step = 1; step <= 5; step++) {
        double sum = 0, norm;
        for (int i = 0; i < table->n_slots; i++)
            for (int64_t j = 0; j < table->slots[i].count; j++) {
                float g = test_float(&seed);
                model->gradient.weights[table->slots[i].offset + j] = g;
                sum += (double)g * (double)g;
            }
        double scale = clip > 0 && sqrt(sum) > clip ? clip / sqrt(sum) : 1;
        for (int i = 0; i < table->n_slots; i++) {
            const rlf_slot *slot = &table->slots[i];
            double decay = slot->cols ? s.decay : 0;
            for (int64_t j = slot->offset; j < slot->offset + slot->count;
                 j++) {
                double g = scale * (double)model->gradient.weights[j];
                m1[j] = s.beta1 * m1[j] + (1 - s.beta1) * g;
                m2[j] = s.beta2 * m2[j] + (1 - s.beta2) * g * g;
                w[j] -= s.lr * decay * w[j];
                w[j] -= s.lr * m1[j] / (1 - pow(s.beta1, step)) /
                        (sqrt(m2[j] / (1 - pow(s.beta2, step))) + s.eps);
            }
        }
        MUST(&t, rlf_optimizer_step(model, &s, &t.err, &norm));
        worst_norm = fmax(worst_norm, fabs(norm / sqrt(sum) - 1));
    }
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        for (int64_t j = slot->offset; j < slot->offset + slot->count; j++)
            worst = fmax(worst, fabs((double)model->weights[j] - w[j]));
    }
    ok(worst < 2e-6, "AdamW, clip %g: 5 steps off by %g", clip, worst);
    ok(worst_norm < 1e-12, "the norm of the gradient off by %g", worst_norm);

    float *before = rlf_malloc(n * sizeof *before);
    memcpy(before, model->weights, n * sizeof *before);
    model->gradient.weights[table->layers[1].down + 5] = INFINITY;
    double norm;
    is_int(rlf_optimizer_step(model, &s, &t.err, &norm), RLF_USER,
           "a gradient that is not finite ends the run");
    ok(strstr(t.err.sentence, "model.layers.1.mlp.down_proj.weight"),
       "and is named: %s", t.err.sentence);
    is_bits_f32(model->weights, before, n, "nothing was changed by it");
    free(before);
    free(w);
    free(m1);
    free(m2);
    rlf_model_free(model);
    test_machine_close(&t);
}

/* Learning a fixed text by heart. */
static void
test_learning(bool tied)
{
    static task k;
    make_task(&k, 13, tied);
    test_machine t;
    test_machine_open(&t, 2);
    rlf_model *model = new_model(&t, &k, rlf_kernels_cpu());
    MUST(&t, rlf_weights_init(model, 5, &t.err));
    rlf_adamw s = RLF_ADAMW_DEFAULTS;
    s.lr = 5e-3;
    rlf_pass *p;
    rlf_pass_options options = {.tokens = 500, .train = true};
    MUST(&t, rlf_pass_new(model, &options, &t.err, &p));
    double first = 0, last = 0;
    for (int step = 0; step < 30; step++) {
        float weight[500], logprob[500];
        MUST(&t, rlf_pass_load(p, k.seqs, 3, 0, RLF_ROWS_TOKENS, &t.err));
        MUST(&t, rlf_transformer_forward(model, p, &t.err));
        for (int64_t i = 0; i < p->n_rows; i++)
            weight[i] = -1 / (float)p->n_rows;
        MUST(&t, rlf_pass_write(p, weight, p->n_rows, &t.err, p->d_logprob));
        MUST(&t, rlf_head_loss(model, p, NULL, NULL, false, &t.err));
        MUST(&t, rlf_pass_read(p, p->logprob, p->n_rows, &t.err, logprob));
        MUST(&t, rlf_transformer_backward(model, p, &t.err));
        double norm;
        MUST(&t, rlf_optimizer_step(model, &s, &t.err, &norm));
        last = 0;
        for (int64_t i = 0; i < p->n_rows; i++)
            last -= (double)logprob[i] / (double)p->n_rows;
        if (step == 0)
            first = last;
    }
    ok(first > 4 && last < 0.7, "%s: loss from %.3f to %.3f in 30 steps",
       tied ? "tied" : "untied", first, last);
    rlf_pass_free(p);
    rlf_model_free(model);
    test_machine_close(&t);
}

int
main(void)
{
    test_bits(false);
    test_bits(true);
    test_adamw(0);
    test_adamw(1);
    test_learning(false);
    test_learning(true);
    return done();
}
