/* Counting mirrors computing: read it beside transformer.c. Everything is
 * linear in tokens, rows, pairs and calls, so a count takes their sums over all
 * micro-batches at once. */
#include "nodes/model/cost.h"

#include <math.h>

#include "engine/comm/comm.h"
#include "kernels/expr_dense.h"
#include "nodes/model/generate.h"
#include "nodes/model/optimizer.h"

/* Sums over the passes of a call. */
typedef struct sums {
    double calls;
    double tokens, rows;  /* m and r of transformer.c */
    double pairs, nearby; /* of query and key: all, and within the window */
    double context;       /* paged: keys that lie before, summed */
    bool paged;
    bool keeps; /* what backward passes need */
} sums;

typedef struct counter {
    const rlf_table *table;
    const rlf_model_config *config;
    double d, q, kv, qkv, ffn, vocab;
    double real; /* bytes of an activation, and of a packed weight */
    bool offload, packed_rows;
    rlf_counts *out;
} counter;

static counter
counter_of(const rlf_table *t, rlf_counts *out)
{
    return (counter){.table = t,
                     .config = &t->config,
                     .d = t->config.hidden,
                     .q = (double)rlf_table_q(t),
                     .kv = (double)rlf_table_kv(t),
                     .qkv = (double)rlf_table_qkv(t),
                     .ffn = (double)t->ffn,
                     .vocab = (double)t->vocab,
                     .real = (double)rlf_real_bytes(out->kernels),
                     .out = out};
}

/* Activations and packed weights read and written. */
static void
add(const counter *c, double flops, double read, double written)
{
    c->out->flops += flops;
    c->out->read += c->real * read;
    c->out->written += c->real * written;
}

/* The same of floats. */
static void
add_f32(const counter *c, double flops, double read, double written)
{
    c->out->flops += flops;
    c->out->read += 4 * read;
    c->out->written += 4 * written;
}

/* A sum of n floats over p ranks. */
static double
sum_bytes(double n, int p)
{
    return 4 * n * 2 * (p - 1) / p;
}

/* Of activations, over the ranks that hold the model in parts. */
static void
add_parts(const counter *c, double n)
{
    c->out->sent += sum_bytes(n, c->table->cut.ranks) * c->real / 4;
}

static void
add_float_parts(const counter *c, double n)
{
    c->out->sent += sum_bytes(n, c->table->cut.ranks);
}

/* ---- operations: kernels/op.def ---- */

/* m rows in `calls` products with one weight. */
static void
product(const counter *c, double calls, double m, double n, double k)
{
    add(c, 2 * m * n * k, m * k + calls * n * k, m * n);
}

static void
product_grad(const counter *c, double calls, double m, double n, double k)
{
    add(c, 2 * m * n * k, m * n + m * k, 0);
    add_f32(c, 0, calls * n * k, calls * n * k);
}

static void
bias_grad(const counter *c, double m, double n)
{
    add(c, m * n, m * n, 0);
}

static void
norm(const counter *c, double n)
{
    add(c, 4 * n, n, n);
}

static void
norm_grad(const counter *c, double n)
{
    add(c, 11 * n, 3 * n, n);
}

static void
rope(const counter *c, double n)
{
    add(c, 3 * n, n, n);
}

static void
gather(const counter *c, double n)
{
    add(c, 0, n, n);
}

static void
scatter(const counter *c, double n)
{
    add(c, n, n, n);
}

/* ---- passes ---- */

static double
pairs_of(const counter *c, const sums *s, int layer)
{
    return rlf_model_config_window(c->config, layer) ? s->nearby : s->pairs;
}

static void
attention(const counter *c, const sums *s, int layer)
{
    double flops = 4 * pairs_of(c, s, layer) * c->q, m = s->tokens;
    double both = m * (c->q + c->kv), kept = m * (c->q + 2 * c->kv);
    if (s->paged) {
        add(c, (c->config->qk_norm ? 7 : 3) * both, kept, kept); /* kv_write */
        add(c, flops, 2 * s->context * c->kv, 0);
    } else {
        if (c->config->qk_norm)
            norm(c, both);
        rope(c, both);
        add(c, flops, kept, m * c->q);
    }
}

static void
attention_part(const counter *c, const sums *s, int layer)
{
    double m = s->tokens;
    norm(c, m * c->d);
    product(c, s->calls, m, c->qkv, c->d);
    attention(c, s, layer);
}

static void
product_swiglu(const counter *c, const sums *s, double m)
{
    add(c, 4 * m * c->ffn * c->d + 8 * m * c->ffn,
        m * c->d + s->calls * 2 * c->ffn * c->d,
        (s->keeps ? 3 : 1) * m * c->ffn);
}

static void
mix_part(const counter *c, const sums *s, bool last)
{
    double r = last ? s->rows : s->tokens;
    if (last)
        gather(c, r * (c->d + c->q));
    product(c, s->calls, r, c->d, c->q);
    add_parts(c, r * c->d);
    norm(c, r * c->d);
    product_swiglu(c, s, r);
}

/* Does this rank hold the layer? */
static bool
held(const counter *c, int layer)
{
    return c->table->layers[layer].place >= 0;
}

/* Has this rank the last layer, and the heads? */
static bool
has_heads(const counter *c)
{
    return held(c, c->config->layers - 1);
}

/* The residual goes on from each chunk but that of the last part, its gradient
 * goes back from each but that of the first. */
static void
send_residual(const counter *c, const sums *s, bool back)
{
    int n = c->table->cut.chunks - (back ? held(c, 0) : has_heads(c));
    if (c->table->cut.stages > 1)
        c->out->sent += c->real * n * s->tokens * c->d;
}

/* An offloaded layer's matrices, once a pass. */
static void
bring(const counter *c, const sums *s)
{
    double n = c->d * (c->qkv + c->q + 3 * c->ffn) * s->calls;
    add_f32(c, 0, n, 0);
    add(c, 0, 0, n);
}

static void
forward(const counter *c, const sums *s)
{
    if (held(c, 0)) {
        double n = s->tokens * c->d; /* embed */
        add(c, 0, c->packed_rows ? n : 0, n);
        add_f32(c, 0, c->packed_rows ? 0 : n, 0);
        add_parts(c, s->tokens * c->d);
    }
    for (int i = 0; i < c->config->layers; i++) {
        bool last = i == c->config->layers - 1;
        if (!held(c, i))
            continue;
        if (c->offload && c->table->n_layers > 1)
            bring(c, s);
        attention_part(c, s, i);
        mix_part(c, s, last);
        product(c, s->calls, last ? s->rows : s->tokens, c->d, c->ffn);
        add_parts(c, (last ? s->rows : s->tokens) * c->d);
    }
    if (has_heads(c))
        norm(c, s->rows * c->d);
    send_residual(c, s, false);
}

static void
multiply_back(const counter *c, const sums *s, bool bias, double m, double n,
              double k)
{
    product_grad(c, s->calls, m, n, k);
    if (bias)
        bias_grad(c, m, n);
    product(c, s->calls, m, k, n);
}

static void
layer_back(const counter *c, const sums *s, int layer)
{
    const rlf_model_config *g = c->config;
    bool last = layer == g->layers - 1;
    double m = s->tokens, r = last ? s->rows : m;
    multiply_back(c, s, g->mlp_bias, r, c->d, c->ffn);
    add(c, 14 * r * c->ffn, 3 * r * c->ffn, 2 * r * c->ffn); /* swiglu_grad */
    multiply_back(c, s, g->mlp_bias, r, 2 * c->ffn, c->d);
    add_parts(c, r * c->d);
    norm_grad(c, r * c->d);
    multiply_back(c, s, g->o_bias, r, c->d, c->q);
    if (last)
        scatter(c, r * (c->q + c->d));
    add(c, 10 * pairs_of(c, s, layer) * c->q, m * (3 * c->q + 2 * c->kv),
        m * (c->q + 2 * c->kv));
    rope(c, m * (c->q + c->kv));
    if (g->qk_norm)
        norm_grad(c, m * (c->q + c->kv));
    multiply_back(c, s, g->qkv_bias, m, c->qkv, c->d);
    add_parts(c, m * c->d);
    norm_grad(c, m * c->d);
}

static void
backward(const counter *c, const sums *s, const rlf_reading_load *load)
{
    bool several = load->several || c->table->cut.stages > 1;
    if (has_heads(c))
        norm_grad(c, s->rows * c->d);
    for (int i = c->config->layers - 1; i >= 0; i--) {
        bool last = i == c->config->layers - 1;
        if (!held(c, i))
            continue;
        if (load->recompute && (!last || several)) {
            attention_part(c, s, i);
            mix_part(c, s, last);
        }
        layer_back(c, s, i);
    }
    double n = s->tokens * c->d; /* embed_grad */
    if (held(c, 0)) {
        add(c, n, n, 0);
        add_f32(c, 0, n, n);
    }
    send_residual(c, s, true);
}

/* ---- heads ---- */

static void
head_logprob(const counter *c, const sums *s)
{
    add(c, 2 * s->rows * c->vocab * c->d, s->calls * c->vocab * c->d, 0);
}

static void
head_loss(const counter *c, const sums *s)
{
    double w = s->calls * c->vocab * c->d;
    add(c, 6 * s->rows * c->vocab * c->d, 2 * w, 0);
    add_f32(c, 0, w, w);
    add_parts(c, s->rows * c->d);
}

static void
head_scalar_back(const counter *c, const sums *s)
{
    product_grad(c, s->calls, s->rows, 1, c->d);
    product(c, s->calls, s->rows, c->d, 1);
}

/* ---- sums ---- */

/* Pairs of query and key of the positions first..last-1, at most `window`
 * keys each (0: all). */
static double
pairs_between(double first, double last, double window)
{
    double n = last - first;
    double all = n * (first + 1 + last) / 2;
    if (window <= 0 || last <= window)
        return all;
    if (first >= window)
        return n * window;
    return pairs_between(first, window, 0) + (last - window) * window;
}

static void
add_sequence(const counter *c, const rlf_lengths *l, double n, bool last,
             sums *s)
{
    double length = (double)l->prompt + l->response;
    s->tokens += n * length;
    s->rows += n * (last ? 1 : l->response);
    s->pairs += n * pairs_between(0, length, 0);
    s->nearby += n * pairs_between(0, length, c->config->window);
}

/* As rlf_pass_fit cuts them. */
static sums
sum_reading(const counter *c, const rlf_reading_load *load)
{
    sums s = {0};
    uint64_t room = 0;
    for (size_t i = 0; i < load->n_lengths; i++) {
        const rlf_lengths *l = &load->lengths[i];
        uint64_t length = (uint64_t)l->prompt + l->response, n = l->n;
        add_sequence(c, l, (double)n, load->rows == RLF_ROWS_LAST, &s);
        if (!length || !n)
            continue;
        uint64_t fit = room / length < n ? room / length : n;
        room -= fit * length;
        n -= fit;
        uint64_t each = load->tokens / length ? load->tokens / length : 1;
        if (!n)
            continue;
        uint64_t calls = (n + each - 1) / each;
        uint64_t rest = n - (calls - 1) * each;
        s.calls += (double)calls;
        room = load->tokens > rest * length ? load->tokens - rest * length : 0;
    }
    return s;
}

static void
read_heads(const counter *c, const rlf_reading_load *load, const sums *s,
           bool logprob)
{
    if (load->scalar && has_heads(c))
        product(c, s->calls, s->rows, 1, c->d);
    if (load->logprob && logprob && has_heads(c))
        head_logprob(c, s);
}

void
rlf_cost_read(const rlf_table *table, const rlf_reading_load *load,
              rlf_counts *out)
{
    counter c = counter_of(table, out);
    sums s = sum_reading(&c, load);
    c.offload = load->offload;
    c.packed_rows = load->packed_rows;
    forward(&c, &s);
    read_heads(&c, load, &s, true);
}

void
rlf_cost_train(const rlf_table *table, const rlf_reading_load *load,
               rlf_reach reach, rlf_counts *out)
{
    counter c = counter_of(table, out);
    sums s = sum_reading(&c, load);
    s.keeps = true;
    if (reach == RLF_REACH_BATCH) { /* all live values first */
        forward(&c, &s);
        read_heads(&c, load, &s, true);
    }
    forward(&c, &s);
    if (reach != RLF_REACH_BATCH)
        read_heads(&c, load, &s, reach == RLF_REACH_SAMPLE);
    if (load->logprob && has_heads(&c))
        head_loss(&c, &s);
    if (load->scalar && has_heads(&c))
        head_scalar_back(&c, &s);
    backward(&c, &s, load);
}

void
rlf_cost_words(const rlf_expr *program, double rows, double v, rlf_counts *out)
{
    rlf_dense_work work = rlf_expr_dense_work(program, v);
    out->flops += rows * work.ops;
    out->read += rows * work.read;
    out->written += rows * work.written;
}

/* ---- weights ---- */

/* Elements of all matrices that are packed. */
static double
matrices(const counter *c)
{
    const rlf_table *t = c->table;
    double layer = c->qkv * c->d + c->d * c->q + 3 * c->ffn * c->d;
    double n = t->n_layers * layer;
    if (t->lm != RLF_NO_SLOT)
        n += c->vocab * c->d;
    if (t->score != RLF_NO_SLOT)
        n += c->d;
    return n;
}

/* Packing each matrix, for one or both forms. */
static void
pack(const counter *c, bool trained)
{
    double n = matrices(c);
    n *= trained && !c->out->kernels->one_pack ? 2 : 1;
    add_f32(c, 0, n, 0);
    add(c, 0, 0, n);
}

/* Weights, without the gaps between tensors. */
static double
weights(const rlf_table *t)
{
    int64_t n = 0;
    for (int i = 0; i < t->n_slots; i++)
        n += t->slots[i].count;
    return (double)n;
}

/* Additions of n floats onto others. */
static void
add_floats(const counter *c, double n)
{
    add_f32(c, 2 * n, 2 * n, n);
}

/* A block of gradients over the replicas; where they have slices each gets its
 * own, and hands round the new weights. */
static void
cost_replicas(const counter *c, const rlf_model *m)
{
    const rlf_slices *s = &m->slices;
    const rlf_gradient *g = &m->gradient;
    int n = m->replicas ? rlf_group_size(m->replicas) : 1;
    if (s->n == 1) {
        c->out->sent += sum_bytes((double)g->floats, n);
        return;
    }
    const rlf_table *t = c->table;
    double all = (double)t->count, own = (double)(s->last - s->first);
    double tied = 0, mine = 0;
    if (g->tied) {
        int64_t at, held = t->vocab * t->config.hidden;
        tied = (double)held;
        mine = (double)rlf_slices_overlap(s, s->own, t->embed, held, &at);
    }
    c->out->sent += 4 * (all - own + tied - mine) +
                    sum_bytes((double)g->floats - all - tied, n) +
                    (n - 1) * 4 * own;
}

/* The blocks of the norm to slices and stages, and the gradient of an embedding
 * on both ends of the pipeline to the other end. */
static void
cost_stages(const counter *c, const rlf_model *m)
{
    const rlf_slices *s = &m->slices;
    const rlf_table *t = c->table;
    double blocks = (double)rlf_slices_blocks(s, t, s->own);
    c->out->sent += 8 * blocks * (s->n * t->cut.stages - 1);
    if (t->ends == RLF_NO_SLOT)
        return;
    int64_t at;
    double shared = (double)rlf_slices_overlap(
        s, s->own, t->ends, t->vocab * t->config.hidden, &at);
    c->out->sent += 4 * shared;
    add_floats(c, shared);
}

/* What ranks that hold the model in parts have of one tensor, and the norm. */
static void
cost_joins(const counter *c)
{
    const rlf_table *t = c->table;
    int ranks = t->cut.ranks;
    if (ranks == 1)
        return;
    if (c->config->qk_norm)
        add_float_parts(c, 2.0 * t->n_layers * c->config->head_dim);
    add_float_parts(c, 2); /* an f64 */
    for (int i = 0; t->copies > 1 && i < t->n_slots; i++)
        if (t->slots[i].slice == RLF_SLICE_KV)
            c->out->sent += 4.0 * (t->copies - 1) * (double)t->slots[i].count;
}

/* Elements of the own slice of which this rank adds the squares. */
static double
squared(const rlf_model *m)
{
    const rlf_table *t = m->table;
    int64_t n = 0;
    for (int i = 0; i < t->n_slots; i++)
        for (int s = 0; s < t->shards.count; s++)
            n += rlf_slices_part(&m->slices, t, &t->slots[i], s, m->slices.own)
                     .count;
    return (double)n;
}

void
rlf_cost_optimizer(const rlf_model *m, rlf_counts *out)
{
    const rlf_table *t = m->table;
    const rlf_gradient *g = &m->gradient;
    const rlf_slices *s = &m->slices;
    counter c = counter_of(t, out);
    double n = (double)(s->last - s->first), w = squared(m);
    add_floats(&c, (double)(g->held - 1) * (double)g->floats);
    cost_replicas(&c, m);
    cost_stages(&c, m);
    if (g->tied) {
        int64_t at;
        add_floats(&c, (double)rlf_slices_overlap(s, s->own, t->embed,
                                                  t->vocab * t->config.hidden,
                                                  &at));
    }
    if (g->head_norms)
        add_floats(&c, (double)(t->norm_sums[0] + t->norm_sums[1]) *
                           t->config.head_dim * t->n_layers);
    cost_joins(&c);
    add_f32(&c, 2 * w, w, 0);                   /* sumsq */
    add_f32(&c, 16 * n, 4 * n, 3 * n);          /* adamw */
    add_f32(&c, 2 * weights(t), weights(t), 0); /* what it made is finite */
    if (rlf_optimizer_packs(m))
        add(&c, 0, 0, matrices(&c));
    else
        pack(&c, true);
}

void
rlf_cost_assign(const rlf_table *table, bool trained, int terms,
                rlf_counts *out)
{
    counter c = counter_of(table, out);
    double n = weights(table) * terms;
    add_f32(&c, 2 * n, 2 * n, n);
    add_f32(&c, 2 * weights(table), weights(table), 0); /* is it finite? */
    pack(&c, trained);
}

/* ---- generation ---- */

/* One sample of a prompt computes it, the others only its last token; then all
 * but the last token of each response. */
static sums
sum_sampling(const counter *c, const rlf_sampling_load *load)
{
    double p = load->prompt, r = load->response, window = c->config->window;
    double groups = (double)load->groups, samples = groups * load->each;
    double others = samples - groups;
    sums s = {.paged = true};
    s.tokens = groups * p + others + samples * (r - 1);
    s.rows = samples * r;
    s.pairs = groups * pairs_between(0, p, 0) +
              others * pairs_between(p - 1, p, 0) +
              samples * pairs_between(p, p + r - 1, 0);
    s.nearby = groups * pairs_between(0, p, window) +
               others * pairs_between(p - 1, p, window) +
               samples * pairs_between(p, p + r - 1, window);
    s.context = samples * p + samples * pairs_between(p, p + r - 1, 0);
    return s;
}

/* Passes: waves of as many as can be active, each as long as a response, one
 * more where samples wait for the prompt they share, and one for each pass that
 * the prompts of a wave fill. */
static double
sampling_calls(const rlf_sampling_load *load)
{
    uint64_t samples = load->groups * load->each;
    uint64_t active = load->active < load->tokens ? load->active : load->tokens;
    uint64_t waves = (samples + active - 1) / active;
    uint64_t groups = waves ? (load->groups + waves - 1) / waves : 0;
    uint64_t fill = (groups * load->prompt + load->tokens - 1) / load->tokens;
    bool waits = load->each > 1 && load->prompt > 1;
    return (double)(waves * (load->response + waits + (fill ? fill - 1 : 0)));
}

/* Parts in which a batch goes through a pipeline (generate.h). */
static double
waves_of(const rlf_table *t, const rlf_sampling_load *load)
{
    double n = (double)(load->groups * load->each);
    double waves = ceil((n < load->active ? n : load->active) / RLF_WAVE_LEAST);
    double most = t->cut.chunks == 1 ? t->cut.stages : 1;
    return waves < most ? waves : most;
}

void
rlf_cost_generate(const rlf_table *table, const rlf_sampling_load *load,
                  rlf_counts *out)
{
    counter c = counter_of(table, out);
    sums s = sum_sampling(&c, load);
    s.calls = sampling_calls(load) * waves_of(table, load);
    c.offload = load->offload;
    c.packed_rows = load->packed_rows;
    forward(&c, &s);
    if (has_heads(&c))
        head_logprob(&c, &s);                   /* sample: the same product */
    if (table->cut.stages > 1 && has_heads(&c)) /* tokens, logprobs */
        c.out->sent += 8 * s.rows * (table->cut.stages - 1);
}
