/* Calls on models: generate, logprob, value, score and update, in a graph made
 * by hand. What is sampled is what logprob says, bit for bit, whole or in
 * pieces; an update does what the formulas say for losses that look at one
 * token, at one sample and across samples, with the same bits for any size of
 * micro-batches. */
#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "kernels/expr.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/transformer.h"
#include "nodes/sequences.h"
#include "tests/unit/nodes.h"

enum { PROMPTS = 9, EACH = 3, SAMPLES = PROMPTS * EACH, NEW = 12 };

extern const rlf_node_class rlf_node_generate, rlf_node_update;

/* A world with a model, a batch of prompts, and what it answered. */
typedef struct made {
    world *w;
    rlf_device *device;
    rlf_model_object *object;
    int model, batch, roll, tokens; /* resource; domains */
    int batch_set, roll_set;        /* values */
    rlf_rows *prompts, *rows;
    uint32_t told, turns; /* samples, steps of the generation */
    bool complete;        /* each had its tokens when it was told */
} made;

static int
add_model(world *w, const char *name)
{
    static rlf_arg shape[] = {
        {.kind = RLF_ARG_NUMBER, .name = "layers", .number = 2},
        {.kind = RLF_ARG_NUMBER, .name = "hidden", .number = 32},
        {.kind = RLF_ARG_NUMBER, .name = "heads", .number = 4},
        {.kind = RLF_ARG_NUMBER, .name = "kv_heads", .number = 2},
        {.kind = RLF_ARG_NUMBER, .name = "ffn", .number = 40},
        {.kind = RLF_ARG_NUMBER, .name = "context", .number = 64},
    };
    const char *root = getenv("RLFLOW_SOURCE");
    const rlf_arg args[] = {
        {.kind = RLF_ARG_LIST,
         .name = "from",
         .text = "llama",
         .list = shape,
         .n_list = RLF_COUNT(shape),
         .given = true},
        text_arg("head", "both"),
        text_arg("tokenizer",
                 rlf_arena_printf(w->arena, "%s/examples/models/arith",
                                  root ? root : ".")),
    };
    int index = add_resource(
        w,
        (rlf_resource){.class = rlf_node_classes.resource[RLF_RESOURCE_MODEL],
                       .name = name,
                       .constructor = "lm",
                       .source = -1,
                       .trained = true},
        args, RLF_COUNT(args));
    if (index < 0)
        bail("%s", w->err.sentence);
    return index;
}

/* Random prompts of 1 to 20 tokens. */
static rlf_rows *
make_prompts(made *m)
{
    world *w = m->w;
    rlf_rows *rows = RLF_NEW(w->arena, rlf_rows);
    rows->set = &w->graph->sets.data[w->graph->values.data[m->batch_set].set];
    rows->prompts = rows->samples =
        rlf_space_rows(w->arena, w->graph, m->batch, PROMPTS);
    rows->prompt = RLF_NEW_ARRAY(w->arena, rlf_prompt, PROMPTS);
    rows->reader = &m->object->reader;
    rows->temperature = 1;
    rlf_random_key key = {.seed = 8};
    for (uint32_t i = 0; i < PROMPTS; i++) {
        uint32_t n = 1 + (i * 7) % 20;
        uint32_t *ids = RLF_NEW_ARRAY(w->arena, uint32_t, n);
        for (uint32_t k = 0; k < n; k++)
            ids[k] = (uint32_t)rlf_draw_below(&key, i * 100 + k, 40);
        rows->prompt[i].ids = ids;
        rows->prompt[i].n_ids = n;
        ((uint64_t *)rows->prompts->identity)[i] = 500 + i;
    }
    return rows;
}

/* A set of all the responses, generated turn by turn. */
static void
generate(made *m)
{
    world *w = m->w;
    static const char *const names[] = {
        "set",   "n",    "max_new", "temperature", "top_p", "top_k",
        "min_p", "stop", "greedy",  "tool",        "turns", "ahead"};
    rlf_arg args[RLF_COUNT(names)];
    for (size_t i = 0; i < RLF_COUNT(names); i++)
        args[i] = (rlf_arg){.kind = RLF_ARG_ABSENT, .name = names[i]};
    args[0] = value_arg("set", m->batch_set, 0);
    args[1] = number_arg("n", EACH);
    args[2] = number_arg("max_new", NEW);
    args[3] = number_arg("temperature", 0.75);
    args[8] = number_arg("greedy", 0);
    int id =
        add_node(w, &rlf_node_generate, m->model,
                 (node_parts){ARGS_OF(args, RLF_COUNT(args)), IN(m->batch_set),
                              OUT(m->roll_set), .site = 3});
    rlf_content in = {.rows = m->prompts};
    rlf_call call = make_call(w, id, &in);
    if (call.node->class->open(&call, &w->err) < 0)
        bail("%s", w->err.sentence);
    uint32_t told = 0, turns = 0;
    bool complete = true;
    for (rlf_status status = RLF_AGAIN; status == RLF_AGAIN; turns++) {
        status = call.node->class->step(&call, &w->err);
        if (status < 0)
            bail("%s", w->err.sentence);
        told += call.n_rows;
        for (uint32_t i = 0; i < call.n_rows; i++)
            complete &= call.out[0].rows->sample[call.rows[i]].n_ids > 0;
    }
    m->rows = call.out[0].rows;
    m->told = told;
    m->turns = turns;
    m->complete = complete;
}

static made
make(int tokens_of_pass)
{
    made m = {.w = world_new(21)};
    world *w = m.w;
    rlf_cpu_options options = {.n_threads = 2};
    rlf_queue *queue;
    if (rlf_device_cpu_new(&options, &m.device, &w->err) < 0 ||
        rlf_queue_new(m.device, &queue, &w->err) < 0)
        bail("%s", w->err.sentence);
    w->env.queue = queue;
    w->env.kernels = rlf_kernels_cpu();
    const rlf_caps caps = {.longest = (uint32_t)tokens_of_pass,
                           .tokens[RLF_USE_UPDATE] = (uint32_t)tokens_of_pass};
    w->env.caps = &caps;
    m.model = add_model(w, "actor");
    w->env.caps = NULL;
    m.object = w->resource[m.model];
    m.batch = add_domain(w, RLF_DOMAIN_ROWS, "batch", -1);
    m.roll = add_domain(w, RLF_DOMAIN_ROWS, "roll", m.batch);
    m.tokens = add_domain(w, RLF_DOMAIN_TOKENS, "tokens of roll", m.roll);
    m.batch_set = add_set_value(w, (rlf_set){.kind = RLF_SET_DATA,
                                             .name = "batch",
                                             .prompts = m.batch,
                                             .samples = m.batch,
                                             .tokens = -1,
                                             .origin = -1,
                                             .from = -1,
                                             .data = -1,
                                             .model = -1});
    rlf_set roll = sampled_set("roll", m.batch, m.roll, m.tokens);
    roll.from = 0;
    roll.model = m.model;
    m.roll_set = add_set_value(w, roll);
    m.prompts = make_prompts(&m);
    generate(&m);
    return m;
}

static void
unmake(made *m)
{
    rlf_queue *queue = m->w->env.queue;
    world_free(m->w);
    rlf_queue_free(queue);
    rlf_device_free(m->device);
}

/* A column of the set by logprob, value or score; in pieces if asked. */
static rlf_column
read_column(made *m, const rlf_node_class *class, bool pieces)
{
    world *w = m->w;
    bool score = class == &rlf_node_score;
    int out =
        add_column_value(w, RLF_VALUE_NUMBER, score ? m->roll : m->tokens);
    rlf_arg arg = value_arg("set", m->roll_set, 0);
    int id =
        add_node(w, class, m->model,
                 (node_parts){ARGS(arg), IN(m->roll_set), OUT(out), .site = 9});
    rlf_content in = {.rows = m->rows};
    rlf_call call = make_call(w, id, &in);
    if (class->open(&call, &w->err) < 0)
        bail("%s", w->err.sentence);
    static const uint32_t parts[3][SAMPLES] = {
        {5},
        {0, 1, 2, 3, 4, 6, 7, 8, 9, 26},
        {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}};
    static const uint32_t counts[3] = {1, 10, 16};
    for (int i = 0; i < (pieces ? 3 : 1); i++) {
        if (pieces) {
            call.rows = parts[i];
            call.n_rows = counts[i];
        }
        if (class->step(&call, &w->err) < 0)
            bail("%s", w->err.sentence);
    }
    return call.out[0].column;
}

/* Do two columns on the set's tokens agree bit for bit? */
static bool
same_tokens(const made *m, const double *a, const double *b)
{
    bool same = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        for (uint32_t t = 0; t < m->rows->tokens->length[i]; t++) {
            uint64_t at = rlf_sequences_place(m->rows, i, t);
            same &= a[at] == b[at];
        }
    return same;
}

static void
test_reading(void)
{
    made m = make(0);
    is_int(m.told, SAMPLES, "every sample is told once");
    ok(m.complete, "with its tokens");
    ok(m.turns <= NEW + 2, "%u turns for %d tokens", m.turns, NEW);
    ok(m.rows->samples->identity[4] == 501 * EACH + 1,
       "a sample is known by its prompt and its place");
    ok(rlf_space_row(&m.w->graph->domains, m.rows->samples, 7, m.batch) == 2,
       "and belongs to its prompt");
    ok(m.rows->temperature == 0.75f, "the set knows its temperature");
    rlf_column whole = read_column(&m, &rlf_node_logprob, false);
    ok(same_tokens(&m, whole.number, m.rows->logprob),
       "logprob is what was recorded, bit for bit");
    rlf_column pieces = read_column(&m, &rlf_node_logprob, true);
    ok(same_tokens(&m, whole.number, pieces.number), "also in pieces");
    rlf_model *model = m.object->model;
    float *score = model->weights + model->table->score;
    for (int i = 0; i < 32; i++)
        score[i] = 0.1f * (float)(i % 5 - 2);
    if (rlf_model_changed(model, &m.w->err) < 0)
        bail("%s", m.w->err.sentence);
    rlf_column value = read_column(&m, &rlf_node_value, true);
    ok(same_tokens(&m, value.number,
                   read_column(&m, &rlf_node_value, false).number),
       "values, whole and in pieces");
    rlf_column scored = read_column(&m, &rlf_node_score, false);
    bool apart = false;
    for (uint32_t i = 0; i < SAMPLES; i++)
        apart |= scored.number[i] != value.number[m.rows->tokens->offset[i]];
    ok(apart, "a score is not the first value");
    unmake(&m);
}

/* ---- updates ---- */

typedef enum kind {
    POINT,  /* mean of -adv exp(lp - old) + (v - adv)^2 */
    SAMPLE, /* mean over samples of -log_sigmoid(sum of lp) */
    BATCH,  /* (mean of lp)^2 */
    SCORES, /* POINT, and - mean of log_sigmoid(score) */
    KINDS
} kind;

static const char *const kind_names[] = {"point", "sample", "batch", "scores"};

static int
add_op(rlf_expr *e, rlf_expr_code code, int domain, int a)
{
    return rlf_expr_add(
        e, (rlf_expr_op){.code = code, .domain = domain, .arg = {a, -1, -1}});
}

static int
add_live(rlf_expr *e, const char *name, int domain, bool live)
{
    int input = rlf_expr_add_input(
        e, (rlf_expr_input){.name = name, .domain = domain, .live = live});
    return rlf_expr_input_op(e, input, (rlf_span){0});
}

/* The loss; inputs: 0 lp, 1 v, 2 score (live), 3 old, 4 adv. */
static rlf_loss *
make_loss(made *m, kind k)
{
    world *w = m->w;
    const rlf_span no = {0};
    rlf_expr *e = rlf_expr_new(w->arena, &w->graph->domains);
    int lp = add_live(e, "lp", m->tokens, true);
    int v = add_live(e, "v", m->tokens, true);
    int score = add_live(e, "score", m->roll, true);
    int old = add_live(e, "old", m->tokens, false);
    int adv = add_live(e, "adv", m->roll, false);
    int loss = -1;
    int mean = add_op(e, RLF_EXPR_MEAN, 0, lp);
    if (k == POINT || k == SCORES) {
        int d = rlf_expr_pointwise(e, RLF_EXPR_SUB, lp, old, -1, no);
        int x = rlf_expr_pointwise(e, RLF_EXPR_EXP, d, -1, -1, no);
        x = rlf_expr_pointwise(e, RLF_EXPR_MUL, x, adv, -1, no);
        d = rlf_expr_pointwise(e, RLF_EXPR_SUB, v, adv, -1, no);
        d = rlf_expr_pointwise(e, RLF_EXPR_MUL, d, d, -1, no);
        x = rlf_expr_pointwise(e, RLF_EXPR_SUB, d, x, -1, no);
        loss = add_op(e, RLF_EXPR_MEAN, 0, x);
    } else if (k == SAMPLE) {
        int x = add_op(e, RLF_EXPR_SUM, m->roll, lp);
        x = rlf_expr_pointwise(e, RLF_EXPR_LOG_SIGMOID, x, -1, -1, no);
        x = add_op(e, RLF_EXPR_MEAN, 0, x);
        loss = rlf_expr_pointwise(e, RLF_EXPR_NEG, x, -1, -1, no);
    } else {
        loss = rlf_expr_pointwise(e, RLF_EXPR_MUL, mean, mean, -1, no);
    }
    if (k == SCORES) {
        int x = rlf_expr_pointwise(e, RLF_EXPR_LOG_SIGMOID, score, -1, -1, no);
        x = add_op(e, RLF_EXPR_MEAN, 0, x);
        loss = rlf_expr_pointwise(e, RLF_EXPR_SUB, loss, x, -1, no);
    }
    rlf_expr_add_output(e, "loss", loss);
    rlf_expr_add_output(e, "mean", mean);
    rlf_derivative *d = rlf_expr_derive(e, 0, w->arena);
    rlf_loss *out = RLF_NEW(w->arena, rlf_loss);
    out->taken = -1;
    static const int constants[] = {-1, -1, -1, 1, 2};
    const rlf_node_class *const classes[] = {&rlf_node_logprob, &rlf_node_value,
                                             &rlf_node_score};
    const bool live[KINDS][3] = {
        {true, true, false}, {true}, {true}, {true, true, true}};
    out->program = d->expr;
    out->constant_input = RLF_NEW_ARRAY(w->arena, int, 5);
    memcpy(out->constant_input, constants, sizeof constants);
    out->calls = RLF_NEW_ARRAY(w->arena, rlf_live_call, 3);
    for (int i = 0; i < 3; i++)
        if (live[k][i])
            out->calls[out->n_calls++] =
                (rlf_live_call){.class = classes[i],
                                .input = i,
                                .gradient = d->output_of_input[i],
                                .pass = i == 2 && out->n_calls};
    out->report = RLF_NEW_ARRAY(w->arena, int, 1);
    out->report[0] = 1;
    out->n_reports = 1;
    out->reach = rlf_loss_reach(out);
    return out;
}

static double
advantage(uint32_t sample)
{
    return (double)(sample % 5) - 1.8;
}

/* One stage: micro-batches one after the other, all read before if need be. */
static rlf_status
train(rlf_call *call, uint32_t *micros, rlf_err *err)
{
    const rlf_trainable *t = rlf_node_update.trainable;
    rlf_training training;
    RLF_TRY(t->begin(call, err, &training));
    *micros = (uint32_t)training.micros;
    for (int pass = !training.reads; pass < 2; pass++) {
        for (int i = 0; i < training.micros; i++) {
            rlf_train_op op = {.micro = i};
            RLF_TRY(t->forward(call, &op, err));
            op.backward = true;
            if (pass == 1)
                RLF_TRY(t->backward(call, &op, err));
        }
        if (pass == 0)
            RLF_TRY(t->gather(call, err));
    }
    return t->finish(call, err);
}

/* Carry out the update of the loss `k`; `poison`: a sample whose advantage is
 * infinite, -1: none. *micros: how many micro-batches there were. */
static rlf_status
update_once(const made *from, kind k, int poison, uint32_t *micros,
            double *mean)
{
    made m = *from;
    world *w = m.w;
    rlf_column adv = rlf_column_new(w->pool, m.rows->samples, false);
    rlf_column old = rlf_column_new(w->pool, m.rows->tokens, false);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        adv.number[i] = (int)i == poison ? INFINITY : advantage(i);
        for (uint32_t t = 0; t < m.rows->tokens->length[i]; t++) {
            uint64_t at = rlf_sequences_place(m.rows, i, t);
            old.number[at] = m.rows->logprob[at] - 0.1;
        }
    }
    const int inputs[] = {m.roll_set,
                          add_column_value(w, RLF_VALUE_NUMBER, m.tokens),
                          add_column_value(w, RLF_VALUE_NUMBER, m.roll)};
    const rlf_content in[] = {
        {.rows = m.rows}, {.column = old}, {.column = adv}};
    int report = add_column_value(w, RLF_VALUE_NUMBER, 0);
    const rlf_arg args[] = {
        number_arg("lr", 1e-2),    number_arg("beta1", 0.9),
        number_arg("beta2", 0.98), number_arg("eps", 1e-8),
        number_arg("decay", 0),    number_arg("clip", 0),
    };
    int id = add_node(w, &rlf_node_update, m.model,
                      (node_parts){ARGS_OF(args, RLF_COUNT(args)),
                                   IN_OF(inputs, 3), OUT(report), .site = 5});
    w->graph->nodes.data[id].loss = make_loss(&m, k);
    rlf_call call = make_call(w, id, in);
    *micros = 0;
    rlf_status status = rlf_node_update.open(&call, &w->err);
    if (status >= 0)
        status = train(&call, micros, &w->err);
    *mean = call.out[0].column.number[0];
    return status;
}

/* Weights after one update; the mean it reports. Owned by the caller. */
static float *
run_update(kind k, int tokens_of_pass, size_t *n, double *mean, double *norm)
{
    made m = make(tokens_of_pass);
    uint32_t micros;
    if (update_once(&m, k, -1, &micros, mean) < 0)
        bail("%s", m.w->err.sentence);
    if (tokens_of_pass)
        ok(micros > 5, "%s: %u micro-batches", kind_names[k], micros);
    *n = (size_t)m.object->model->table->count;
    for (int i = 0; i < m.w->n_reported; i++)
        if (strstr(m.w->reported[i].name, ".gradient"))
            *norm = m.w->reported[i].sum;
    float *out = malloc(*n * sizeof *out);
    memcpy(out, m.object->model->weights, *n * sizeof *out);
    unmake(&m);
    return out;
}

/* The same step by formulas written here: derivatives by hand, one pass per
 * kind of rows. */
static float *
by_hand(kind k, double *mean, double *norm)
{
    made m = make(0);
    world *w = m.w;
    rlf_model *model = m.object->model;
    rlf_sequence seqs[SAMPLES];
    rlf_pass *p;
    rlf_pass_options options = {.tokens = 2048, .train = true};
    if (rlf_pass_new(model, &options, &w->err, &p) < 0)
        bail("%s", w->err.sentence);
    double sum = 0, sums[SAMPLES] = {0};
    uint32_t total = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const rlf_prompt *prompt = &m.prompts->prompt[i / EACH];
        seqs[i] = (rlf_sequence){.prompt = prompt->ids,
                                 .n_prompt = prompt->n_ids,
                                 .response = m.rows->sample[i].ids,
                                 .n_response = m.rows->sample[i].n_ids,
                                 .temperature = 0.75f};
        for (uint32_t t = 0; t < seqs[i].n_response; t++)
            sums[i] += m.rows->logprob[m.rows->tokens->offset[i] + t];
        sum += sums[i];
        total += seqs[i].n_response;
    }
    *mean = sum / total;
    uint32_t row = 0;
    rlf_err *err = &w->err;
    rlf_pass_load(p, seqs, SAMPLES, 0, RLF_ROWS_TOKENS, err);
    for (uint32_t i = 0; i < SAMPLES; i++)
        for (uint32_t t = 0; t < seqs[i].n_response; t++, row++) {
            double a = advantage(i), d = 0;
            if (k == POINT || k == SCORES)
                d = -a * exp(0.1) / total;
            if (k == SAMPLE)
                d = -1 / (1 + exp(sums[i])) / SAMPLES;
            if (k == BATCH)
                d = 2 * *mean / total;
            p->d_logprob[row] = (float)d;
            /* the scalar head starts at 0 */
            p->d_scalar[row] = (float)(-2 * a / total);
        }
    rlf_transformer_forward(model, p, err);
    rlf_head_loss(model, p, NULL, NULL, false, err);
    if (k == POINT || k == SCORES)
        rlf_head_scalar_back(model, p, true, err);
    rlf_transformer_backward_chunk(model, p, 0, err);
    if (k == SCORES) {
        rlf_pass_load(p, seqs, SAMPLES, 0, RLF_ROWS_LAST, err);
        for (uint32_t i = 0; i < SAMPLES; i++)
            p->d_scalar[i] = -0.5f / SAMPLES;
        rlf_transformer_forward(model, p, err);
        rlf_head_scalar_back(model, p, false, err);
        rlf_transformer_backward_chunk(model, p, 0, err);
    }
    rlf_adamw settings = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8};
    if (rlf_optimizer_step(model, &settings, err, norm) < 0)
        bail("%s", w->err.sentence);
    size_t n = (size_t)model->table->count;
    float *out = malloc(n * sizeof *out);
    memcpy(out, model->weights, n * sizeof *out);
    rlf_pass_free(p);
    unmake(&m);
    return out;
}

static void
test_update(kind k)
{
    size_t n;
    double mean, mean_small, want_mean, norm, norm_small, want_norm;
    float *whole = run_update(k, 0, &n, &mean, &norm);
    float *small = run_update(k, 64, &n, &mean_small, &norm_small);
    float *want = by_hand(k, &want_mean, &want_norm);
    char name[64];
    snprintf(name, sizeof name, "%s: small micro-batches", kind_names[k]);
    is_bits_f32(small, whole, n, name);
    ok(mean_small == mean && norm_small == norm, "%s: and reports",
       kind_names[k]);
    snprintf(name, sizeof name, "%s: the mean reported", kind_names[k]);
    near(mean, want_mean, 1e-12, name);
    ok(fabs(norm / want_norm - 1) < 1e-6, "%s: norm %g, by hand %g",
       kind_names[k], norm, want_norm);
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)whole[i] - (double)want[i]));
    /* one step of Adam is lr times the gradient's sign: tiny gradients may
     * differ in it */
    size_t far = 0;
    for (size_t i = 0; i < n; i++)
        far += fabs((double)whole[i] - (double)want[i]) > 1e-4;
    ok(far * 1000 <= n, "%s: weights as by hand (%zu of %zu off, worst %g)",
       kind_names[k], far, n, worst);
    free(whole);
    free(small);
    free(want);
}

/* A derivative that is not finite ends the run, names the sample, and leaves
 * the weights alone. */
static void
test_not_finite(void)
{
    made m = make(64);
    uint64_t version = m.object->model->version;
    uint32_t micros;
    double mean;
    is_int(update_once(&m, POINT, 13, &micros, &mean), RLF_USER,
           "a loss that is not finite");
    ok(strstr(m.w->err.sentence, "sample 2 of prompt number 505 of 'roll'"),
       "names the sample: %s", m.w->err.sentence);
    ok(m.object->model->version == version, "and changes no weight");
    unmake(&m);
}

int
main(void)
{
    test_reading();
    test_not_finite();
    for (kind k = 0; k < KINDS; k++)
        test_update(k);
    return done();
}
