/* A pass does what its calls do (rates.h), a head what its kernel does. All of
 * it is linear in tokens, rows, pairs and passes, so a count takes their sums
 * over all micro-batches at once. What is done with weights stands in
 * cost_weights.c. */
#include "nodes/model/cost.h"

#include <math.h>

#include "kernels/expr_dense.h"
#include "nodes/model/counter.h"
#include "nodes/model/generate.h"
#include "nodes/model/prefix.h"

/* Sums over the passes of a call. */
typedef struct sums {
    double passes;
    double tokens, rows;
    double pairs, nearby; /* of query and key: all, and within the window */
    double context;       /* paged: keys that lie before, summed */
    bool paged, trains;
} sums;

typedef rlf_counter counter;

/* Counts sums of n activations, over the ranks that hold the model in parts. */
static void
sum_parts(const counter *c, double n)
{
    rlf_counter_sum(c, RLF_AXIS_TP, c->table->cut.ranks, c->passes,
                    c->real * n);
}

/* ---- operations of heads: kernels/op.def ---- */

/* m rows in all passes, with one weight. */
static void
product(const counter *c, double m, double n, double k)
{
    rlf_counter_start(c, 1);
    rlf_counter_add(c, 2 * m * n * k, m * k + c->passes * n * k, m * n);
}

static void
product_grad(const counter *c, double m, double n, double k)
{
    rlf_counter_start(c, 1);
    rlf_counter_add(c, 2 * m * n * k, m * n + m * k, 0);
    rlf_counter_add_f32(c, 0, c->passes * n * k, c->passes * n * k);
}

/* ---- chunks of the layers: what their calls do ---- */

static void
run(const counter *c, const sums *s, const rlf_rates *r)
{
    const double n[] = {s->passes, s->tokens, s->rows,
                        s->pairs,  s->nearby, s->context};
    const rlf_table *t = c->table;
    double summed = 0, joined = 0;
    for (int i = 0; i < RLF_N_BASES; i++) {
        double packed = c->packed_rows ? r->embedded[i] : 0;
        double floats = r->embedded[i] - packed;
        bool weights = i == RLF_PER_PASS; /* products read no others so */
        rlf_counter_add(c, r->flops[i] * n[i],
                        ((weights ? 0 : r->read[i]) + packed) * n[i],
                        r->written[i] * n[i]);
        rlf_counter_read_packed(c, weights ? r->read[i] * n[i] : 0);
        rlf_counter_add_f32(c, 0, (r->read_f32[i] + floats) * n[i],
                            r->written_f32[i] * n[i]);
        summed += (c->real * r->summed[i] + 4 * r->summed_f32[i]) * n[i];
        joined += r->joined[i] * n[i];
    }
    rlf_counter_start(c, r->calls);
    rlf_counter_sum(c, RLF_AXIS_TP, t->cut.ranks, c->passes * r->sums, summed);
    rlf_counter_sum(c, RLF_AXIS_TP, t->copies, c->passes * r->joins,
                    c->real * joined);
}

/* The residual comes into each chunk but the first part of the model, and goes
 * on from each but the last; its gradient the other way round. */
static void
pass_on(const counter *c, const sums *s, bool comes, bool goes)
{
    double bytes = c->real * s->tokens * c->d;
    if (c->table->cut.stages > 1)
        rlf_counter_meet(c, RLF_AXIS_PP, comes ? c->passes : 0,
                         goes ? bytes : 0);
}

/* An offloaded layer's matrices, once a pass. */
static void
bring(const counter *c, const rlf_layer *l)
{
    double n = 0;
    for (int i = l->first; i < l->last; i++)
        n += c->passes *
             (double)(c->table->matrix[i].rows * c->table->matrix[i].cols);
    rlf_counter_start(c, l->last - l->first);
    rlf_counter_add_f32(c, 0, n, 0);
    rlf_counter_add(c, 0, 0, n);
    c->out->cost.brought += 4 * n;
}

static void
forward(const counter *c, const sums *s, int chunk)
{
    const rlf_table *t = c->table;
    run(c, s, s->paged ? &c->rates[chunk].paged : &c->rates[chunk].forward);
    for (int i = t->chunk[chunk].first; i < t->chunk[chunk].last; i++)
        if (c->offload && t->n_layers > 1)
            bring(c, &t->layers[i]);
    pass_on(c, s, !rlf_table_begins(t, chunk), !rlf_table_ends(t, chunk));
}

static void
backward(const counter *c, const sums *s, const rlf_reading_load *load,
         int chunk)
{
    const rlf_table *t = c->table;
    if (load->several || load->split || t->cut.stages > 1)
        run(c, s, &c->rates[chunk].again);
    run(c, s, &c->rates[chunk].backward);
    pass_on(c, s, !rlf_table_ends(t, chunk), !rlf_table_begins(t, chunk));
}

/* ---- heads ---- */

/* A head in parts meets for each tile of rows: `times` in a tile. */
static void
share_tiles(const counter *c, const sums *s, double times)
{
    double rows = s->passes > 0 ? s->rows / s->passes : 0;
    if (c->table->cut.ranks > 1)
        rlf_counter_meet(c, RLF_AXIS_TP,
                         times * s->passes * ceil(rows / (double)c->tile), 0);
}

static void
head_logprob(const counter *c, const sums *s, double shares)
{
    rlf_counter_start(c, 1);
    rlf_counter_add(c, 2 * s->rows * c->vocab * c->d, 0, 0);
    rlf_counter_read_packed(c, c->passes * c->vocab * c->d);
    share_tiles(c, s, shares);
}

static void
head_loss(const counter *c, const sums *s)
{
    double w = c->passes * c->vocab * c->d;
    bool trained = !rlf_table_adapted(c->table);
    rlf_counter_start(c, 1);
    rlf_counter_add(c, (trained ? 6 : 4) * s->rows * c->vocab * c->d, 0, 0);
    rlf_counter_read_packed(c, 2 * w);
    rlf_counter_add_f32(c, 0, trained ? w : 0, trained ? w : 0);
    share_tiles(c, s, 1);
    sum_parts(c, s->rows * c->d);
}

static void
head_scalar_back(const counter *c, const sums *s)
{
    if (c->real < 4) {
        rlf_counter_start(c, 1); /* cast */
        rlf_counter_add_f32(c, 0, s->rows, 0);
        rlf_counter_add(c, 0, 0, s->rows);
    }
    product_grad(c, s->rows, 1, c->d);
    product(c, s->rows, c->d, 1);
}

static void
read_heads(const counter *c, const rlf_reading_load *load, const sums *s,
           bool logprob)
{
    if (load->scalar)
        product(c, s->rows, 1, c->d);
    if (load->logprob && logprob)
        head_logprob(c, s, 1);
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

/* n of them, without the first `shared` tokens. */
static void
add_sequences(const counter *c, const rlf_lengths *l, double n, double shared,
              bool last, sums *s)
{
    double length = (double)l->prompt + l->response;
    s->tokens += n * (length - shared);
    s->rows += n * (last ? 1 : l->response);
    s->pairs += n * pairs_between(shared, length, 0);
    s->nearby += n * pairs_between(shared, length, c->config->window);
}

/* Tokens of a prompt that samples share: all before the first of which
 * something is wanted. */
static uint64_t
shared_of(const rlf_lengths *l, const rlf_reading_load *load)
{
    bool all = load->rows == RLF_ROWS_LAST && l->response;
    return load->each > 1 && l->prompt ? l->prompt - !all : 0;
}

/* As rlf_prefix_fit cuts them; what is counted by chunks is one micro-batch: of
 * rows as long as they are on average it may have more tokens than any has. */
static sums
sum_reading(const counter *c, const rlf_reading_load *load)
{
    sums s = {0};
    uint64_t room = 0;
    bool last = load->rows == RLF_ROWS_LAST, shares = load->each > 1;
    bool one = load->one_chunk;
    for (size_t i = 0; i < load->n_lengths; i++) {
        const rlf_lengths *l = &load->lengths[i];
        const rlf_prefix_load prefix = {.n = l->n,
                                        .each = shares ? load->each : 1,
                                        .length =
                                            (uint64_t)l->prompt + l->response,
                                        .shared = shared_of(l, load)};
        rlf_prefix_cut cut =
            rlf_prefix_cut_of(&prefix, one ? UINT64_MAX : load->tokens, &room);
        if (!prefix.length)
            cut.whole = l->n;
        add_sequences(c, l, (double)cut.whole, 0, last, &s);
        add_sequences(c, l, (double)(l->n - cut.whole), (double)prefix.shared,
                      last, &s);
        s.passes += (double)cut.passes;
    }
    return s;
}

/* A counter with what a reading says of all its passes. */
static counter
counter_for(const rlf_table *table, const rlf_reading_load *load, const sums *s,
            rlf_counts *out)
{
    counter c = rlf_counter_of(table, out);
    c.passes = s->passes;
    c.offload = load->offload;
    c.packed_rows = load->packed_rows;
    c.tile = rlf_pass_tile_rows(out->kernels, table, (int)load->tokens);
    c.rates = rlf_table_rates(table, s->trains, s->trains && load->recompute,
                              s->trains && load->split);
    return c;
}

/* ---- readings and updates ---- */

/* Is a chunk meant, and is it the one that ends the model? */
static bool
is_meant(const rlf_reading_load *load, int chunk)
{
    return !load->one_chunk || load->chunk == chunk;
}

void
rlf_cost_read(const rlf_table *table, const rlf_reading_load *load,
              rlf_counts *out)
{
    counter c = rlf_counter_of(table, out);
    sums s = sum_reading(&c, load);
    c = counter_for(table, load, &s, out);
    for (int i = 0; i < table->cut.chunks; i++) {
        if (!is_meant(load, i))
            continue;
        forward(&c, &s, i);
        if (rlf_table_ends(table, i))
            read_heads(&c, load, &s, true);
    }
}

/* The loss's program at the rows of each tile, on the device. */
static void
point_losses(const counter *c, const sums *s)
{
    c->out->cost.calls +=
        s->passes * ceil(s->rows / s->passes / (double)c->tile);
}

static void
train_forward(const counter *c, const sums *s, const rlf_reading_load *load,
              rlf_reach reach, int chunk)
{
    forward(c, s, chunk);
    if (rlf_table_ends(c->table, chunk) && reach != RLF_REACH_BATCH)
        read_heads(c, load, s, reach == RLF_REACH_SAMPLE);
}

static void
train_backward(const counter *c, const sums *s, const rlf_reading_load *load,
               int chunk)
{
    bool ends = rlf_table_ends(c->table, chunk);
    if (load->logprob && ends)
        head_loss(c, s);
    if (load->point && ends && s->passes > 0)
        point_losses(c, s);
    if (load->scalar && ends)
        head_scalar_back(c, s);
    backward(c, s, load, chunk);
}

void
rlf_cost_train(const rlf_table *table, const rlf_reading_load *load,
               rlf_reach reach, rlf_update_passes passes, rlf_counts *out)
{
    counter c = rlf_counter_of(table, out);
    sums s = sum_reading(&c, load);
    s.trains = true;
    c = counter_for(table, load, &s, out);
    for (int i = 0; i < table->cut.chunks; i++) {
        if (!is_meant(load, i))
            continue;
        if ((passes & RLF_UPDATE_BEFORE) && reach == RLF_REACH_BATCH) {
            forward(&c, &s, i); /* all live values first */
            if (rlf_table_ends(table, i))
                read_heads(&c, load, &s, true);
        }
        if (passes & RLF_UPDATE_FORWARD)
            train_forward(&c, &s, load, reach, i);
        if (passes & RLF_UPDATE_BACKWARD)
            train_backward(&c, &s, load, i);
        if (passes & RLF_UPDATE_WEIGHTS)
            run(&c, &s, &c.rates[i].weights);
    }
}

void
rlf_cost_words(const rlf_expr *program, double rows, double v, double tiles,
               rlf_counts *out)
{
    rlf_dense_work work = rlf_expr_dense_work(program, v);
    out->cost.calls += tiles;
    out->cost.flops += rows * work.ops;
    out->cost.read += rows * work.read;
    out->cost.written += rows * work.written;
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

/* All chunks of a rank, and the head: s->passes of them. */
static void
generate(const rlf_table *table, const sums *s, uint32_t tokens, bool offload,
         bool packed_rows, rlf_counts *out)
{
    const rlf_reading_load load = {
        .tokens = tokens, .offload = offload, .packed_rows = packed_rows};
    counter c = counter_for(table, &load, s, out);
    int stages = table->cut.stages;
    for (int i = 0; i < table->cut.chunks; i++)
        forward(&c, s, i);
    bool heads = rlf_table_ends(table, table->cut.chunks - 1);
    if (heads && s->rows > 0)
        head_logprob(&c, s, 2); /* sample: the same product, and a choice */
    if (stages > 1) /* tokens, logprobs: the last stage tells the others */
        rlf_counter_meet(&c, RLF_AXIS_PP, heads ? 0 : c.passes,
                         heads ? 8 * s->rows * (stages - 1) : 0);
}

double
rlf_cost_generate(const rlf_table *table, const rlf_sampling_load *load,
                  rlf_counts *out)
{
    counter c = rlf_counter_of(table, out);
    sums s = sum_sampling(&c, load);
    double turns = sampling_calls(load);
    s.passes = turns * waves_of(table, load);
    generate(table, &s, load->tokens, load->offload, load->packed_rows, out);
    return turns;
}

void
rlf_cost_turn(const rlf_table *table, const rlf_turn_load *load,
              rlf_counts *out)
{
    counter c = rlf_counter_of(table, out);
    double window = c.config->window, before = load->context;
    double prompts = (double)load->prompts, p = load->prompt;
    double rows = (double)load->rows;
    sums s = {.passes = 1, .paged = true};
    s.tokens = prompts * p + rows;
    s.rows = prompts + rows;
    s.pairs = prompts * pairs_between(0, p, 0) + rows * (before + 1);
    s.nearby = prompts * pairs_between(0, p, window) +
               rows * pairs_between(before, before + 1, window);
    s.context = prompts * p + rows * (before + 1);
    generate(table, &s, load->tokens, load->offload, load->packed_rows, out);
}
