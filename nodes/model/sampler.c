/* A step on the device: what was planned goes there in one copy, through the
 * transformer, and back come a token and its log-probability for each row. Who
 * is fed and what becomes of the tokens is generate.c's.
 *
 * Steps that only decode are recorded, if the device can, and replayed
 * (engine/dev/replay.h): a call per step instead of one per kernel. For that
 * the rows are filled up to one of few numbers, with rows that are nobody's:
 * they read one position, write none, and their tokens are dropped. No bit of
 * the others depends on them (kernels/kernels.h).
 *
 * In steps that run ahead, a token that the host does not know yet is told as
 * its row in the last step, whose outputs are still there. */
#include "nodes/model/generate.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "nodes/model/suballocate.h"
#include "nodes/model/generation.h"
#include "nodes/model/heads.h"
#include "nodes/model/offload.h"
#include "nodes/model/parallel.h"
#include "nodes/model/transformer.h"

/* Recorded steps are for contexts up to a multiple of this: a split of
 * kernels/cuda/attention_mma.cu; longer ones than the second are not. */
enum { CONTEXT_UNIT = 512, CONTEXT_MOST = 128 << 10 };

typedef struct size {
    int64_t tokens, rows, seqs, ld; /* ld: pages of a sequence at most */
} size;

/* The inputs that a step sends. */
typedef struct inputs {
    double *uniform;                     /* [rows] */
    int32_t *rows;                       /* [rows] */
    int32_t *tokens, *positions, *slots; /* [tokens] */
    int32_t *starts, *offsets;           /* [seqs], [seqs + 1] */
    int32_t *pages;                      /* [seqs, ld] */
} inputs;

static void
carve_inputs(inputs *in, const size *z, rlf_suballocator *c)
{
    in->uniform = rlf_suballocate(c, (size_t)z->rows * sizeof(double));
    in->rows = rlf_suballocate_ints(c, z->rows);
    in->tokens = rlf_suballocate_ints(c, z->tokens);
    in->positions = rlf_suballocate_ints(c, z->tokens);
    in->slots = rlf_suballocate_ints(c, z->tokens);
    in->starts = rlf_suballocate_ints(c, z->seqs);
    in->offsets = rlf_suballocate_ints(c, z->seqs + 1);
    in->pages = rlf_suballocate_ints(c, z->seqs * z->ld);
}

static size_t
input_bytes(const size *z)
{
    inputs ignored;
    rlf_suballocator c = {0};
    carve_inputs(&ignored, z, &c);
    return c.used;
}

static inputs
inputs_at(char *base, const size *z)
{
    inputs in;
    rlf_suballocator c = {.base = base};
    carve_inputs(&in, z, &c);
    return in;
}

/* ---- memory ---- */

static size
most(uint32_t tokens, uint32_t most_active, uint32_t pages)
{
    uint32_t n = most_active && most_active < tokens ? most_active : tokens;
    return (size){tokens, rlf_generation_rows(tokens, most_active), n, pages};
}

size_t
rlf_generation_array_bytes(uint32_t tokens, uint32_t most_active,
                           uint32_t pages)
{
    size z = most(tokens, most_active, pages);
    rlf_suballocator c = {.used = input_bytes(&z)};
    rlf_suballocate(&c, (size_t)z.rows * TOLD_BYTES);
    return c.used;
}

/* All that a stage does in a step is work of the queue: no layers that come
 * from the host, no sums over ranks by way of it. */
static bool
is_queued(const rlf_model *m)
{
    return m->queue->device->caps.asynchronous && !m->offload &&
           (!m->group || rlf_device_is_queued(m->group));
}

/* Addresses of all that a step reads and writes. */
static uint64_t
addresses(const rlf_generation *g)
{
    const rlf_model *m = g->model;
    const void *all[] = {m->weights,  m->embed,       m->vectors,
                         m->one_plus, m->lm.forward,  m->cosines[0],
                         m->sines[0], m->rows,        g->kv->block,
                         g->inputs,   g->pass->block, g->outputs};
    const int64_t strides[] = {g->kv->page_stride, g->kv->layer_stride};
    uint64_t hash = rlf_hash(RLF_HASH_INIT, all, sizeof all);
    hash = rlf_hash(hash, strides, sizeof strides);
    return rlf_hash(hash, m->packed,
                    (size_t)m->table->n_matrix * sizeof *m->packed);
}

/* Ranks that record together find no room together. */
static rlf_status
agree_on_room(rlf_generation *g, rlf_err *err)
{
    bool alike, room = rlf_replays_room(g->replays);
    if (!g->model->group)
        return RLF_OK;
    RLF_TRY(rlf_parallel_alike(g->model, room, err, &alike));
    rlf_replays_agree(g->replays, alike && room);
    return RLF_OK;
}

/* Recordings of steps with messages to other ranks are made and carried out on
 * all of them or on none: from equal keys, after an equal history. Who is not
 * like the others, because memory came to other places than theirs, makes all
 * begin anew. */
static rlf_status
open_replays(rlf_generation *g, rlf_err *err)
{
    const rlf_generation_options *o = &g->options;
    bool alike;
    if (!g->model->queue->device->caps.records || !is_queued(g->model))
        return RLF_OK;
    g->replays = o->replays ? o->replays : rlf_replays_new(g->model->queue);
    g->own_replays = !o->replays;
    g->place = rlf_replays_place(g->replays, addresses(g));
    RLF_TRY(rlf_parallel_alike(g->model, rlf_replays_history(g->replays), err,
                               &alike));
    if (!alike) {
        rlf_replays_forget(g->replays);
        g->place = rlf_replays_place(g->replays, addresses(g));
    }
    return agree_on_room(g, err);
}

static rlf_status
open_flight(const rlf_generation *g, flight *f, rlf_err *err)
{
    rlf_device *device = g->model->queue->device;
    RLF_TRY(device->ops->host_alloc(device, g->most_rows * TOLD_BYTES,
                                    (void **)&f->host_tokens, err));
    return g->ahead ? device->ops->event_new(device, &f->there, err) : RLF_OK;
}

static void
close_flight(const rlf_generation *g, flight *f)
{
    rlf_device *device = g->model->queue->device;
    rlf_err ignored = RLF_ERR_NONE;
    if (f->telling) /* of a step that was given up */
        rlf_batch_wait(&f->telling, &ignored);
    RLF_VEC_FREE(&f->fly);
    device->ops->host_free(device, f->host_tokens, g->most_rows * TOLD_BYTES);
    device->ops->event_free(f->there);
}

rlf_status
rlf_sampler_open(rlf_generation *g, rlf_err *err)
{
    const rlf_generation_options *o = &g->options;
    rlf_queue *queue = g->model->queue;
    uint32_t tokens = (uint32_t)g->pass->options.tokens;
    size z = most(tokens, g->most_active, g->ld_pages);
    size_t sent = input_bytes(&z);
    size_t need =
        rlf_generation_array_bytes(tokens, g->most_active, g->ld_pages);
    RLF_ASSERT(!o->arrays || need <= o->array_bytes);
    static const char what[] = "what is fed to the model";
    RLF_TRY(rlf_try_array(1, sent, what, err, &g->host_inputs));
    RLF_TRY(rlf_try_array(g->most_active, sizeof *g->next_pages, what, err,
                          &g->next_pages));
    RLF_TRY(rlf_try_array(g->most_active, sizeof *g->bounds, what, err,
                          &g->bounds));
    g->ahead = is_queued(g->model) && !g->model->stages;
    for (uint32_t i = 0; i < g->n_waves; i++) {
        RLF_TRY(open_flight(g, &g->waves[i].now, err));
        if (g->ahead)
            RLF_TRY(open_flight(g, &g->waves[i].before, err));
    }
    if (!o->arrays) {
        RLF_TRY(rlf_device_alloc(queue->device, need, &g->block, err));
        g->block_bytes = need;
    }
    g->inputs = o->arrays ? o->arrays : g->block;
    g->outputs = g->inputs + sent;
    return open_replays(g, err);
}

void
rlf_sampler_close(rlf_generation *g)
{
    rlf_err ignored = RLF_ERR_NONE;
    bool flies = false;
    for (uint32_t i = 0; i < g->n_waves; i++)
        flies |= g->waves[i].now.fly.count || g->waves[i].before.fly.count;
    if (flies && g->ahead) /* it was given up */
        rlf_queue_sync(g->model->queue, &ignored);
    for (uint32_t i = 0; i < g->n_waves; i++) {
        close_flight(g, &g->waves[i].now);
        close_flight(g, &g->waves[i].before);
    }
    if (g->own_replays)
        rlf_replays_free(g->replays);
    rlf_device_release(g->model->queue->device, g->block, g->block_bytes);
    free(g->host_inputs);
    free(g->next_pages);
    free(g->bounds);
}

/* ---- what is sent ---- */

/* The token at a position; one that the host does not know yet is a row of the
 * last step. */
static int32_t
token_at(const rlf_generation *g, const sequence *s, uint32_t position)
{
    const group *p = &g->groups.data[s->group];
    uint32_t length = length_of(g, s);
    if (position < p->n_prompt)
        return (int32_t)p->prompt[position];
    if (position < length)
        return (int32_t)s->ids[position - p->n_prompt];
    return s->n_guesses ? (int32_t)s->guess[position - length]
                        : -1 - (int32_t)s->place;
}

static bool
will_fly(const rlf_generation *g, const sequence *s)
{
    return s->cached + s->feed == reach_of(g, s) + s->n_guesses;
}

/* Measures the planned step; *longest: positions of a sequence. */
static size
measure(const rlf_generation *g, uint32_t *longest)
{
    size z = {.ld = 1};
    *longest = 0;
    for (size_t i = 0; i < g->active.count; i++) {
        const sequence *s = &g->sequences.data[g->active.data[i]];
        if (!s->feed)
            continue;
        z.seqs++;
        z.tokens += s->feed;
        z.rows += will_fly(g, s) ? 1 + s->n_guesses : 0;
        if (s->cached + s->feed > *longest)
            *longest = s->cached + s->feed;
    }
    z.ld = pages_for(g, *longest);
    return z;
}

/* Add one sequence; `at` counts what is there. */
static void
fill_sequence(rlf_generation *g, sequence *s, const inputs *in, size *at)
{
    uint32_t page = (uint32_t)g->kv->page_size;
    uint32_t n = pages_for(g, s->cached + s->feed);
    in->offsets[at->seqs] = (int32_t)at->tokens;
    in->starts[at->seqs] = (int32_t)s->cached;
    g->next_pages[at->seqs] = s->pages[s->cached / page];
    memcpy(in->pages + at->seqs * at->ld, s->pages, n * sizeof *s->pages);
    at->seqs++;
    for (uint32_t k = s->cached; k < s->cached + s->feed; k++) {
        in->tokens[at->tokens] = token_at(g, s, k);
        in->positions[at->tokens] = (int32_t)k;
        in->slots[at->tokens] =
            s->pages[k / page] * (int32_t)page + (int32_t)(k % page);
        at->tokens++;
    }
    if (!will_fly(g, s))
        return;
    RLF_PUSH(&g->waves[g->at].now.fly, s->row);
    s->place = (uint32_t)at->rows;
    rlf_random_key key = g->options.key;
    key.sample = s->identity;
    if (g->options.watch && g->options.watch->identity == s->identity) {
        g->watched_row = at->rows;
        g->watched_position = s->n + s->flying;
        g->watched_uniform = rlf_draw_uniform(&key, g->watched_position);
    }
    for (uint32_t i = 0; i <= s->n_guesses; i++, at->rows++) {
        uint32_t behind = s->n_guesses - i;
        in->rows[at->rows] = (int32_t)(at->tokens - 1 - behind);
        in->uniform[at->rows] =
            g->options.greedy ? 0
                              : rlf_draw_uniform(&key, s->n + s->flying + i);
    }
}

/* All that was planned, and then rows that are nobody's: the first position of
 * the first sequence once more. */
static void
fill(rlf_generation *g, const inputs *in, const size *z)
{
    size at = {.ld = z->ld};
    g->watched_row = -1;
    for (size_t i = 0; i < g->active.count; i++) {
        sequence *s = &g->sequences.data[g->active.data[i]];
        if (!s->feed)
            continue;
        bool flies = will_fly(g, s);
        fill_sequence(g, s, in, &at);
        s->flying += flies;
        g->counts.keys += s->feed * (s->cached + 0.5 * (1 + (double)s->feed));
        s->cached += s->feed;
        s->feed = 0;
    }
    g->counts.steps++;
    g->counts.fed += (uint64_t)at.tokens;
    for (; at.tokens < z->tokens; at.tokens++, at.seqs++, at.rows++) {
        in->offsets[at.seqs] = (int32_t)at.tokens;
        in->starts[at.seqs] = 0;
        in->pages[at.seqs * z->ld] = in->pages[0];
        g->next_pages[at.seqs] = in->pages[0];
        in->tokens[at.tokens] = in->tokens[0];
        in->positions[at.tokens] = 0;
        in->slots[at.tokens] = -1;
        in->rows[at.rows] = (int32_t)at.tokens;
        in->uniform[at.rows] = 0;
    }
    in->offsets[z->seqs] = (int32_t)z->tokens;
}

/* ---- what is done ---- */

/* A step whose inputs are on the device. */
typedef struct step {
    rlf_generation *g;
    size z;
    inputs in;
    rlf_paged paged;
    rlf_pass pass; /* with the step's arrays for its own */
    int chunk;     /* of the stage, at hand */
} step;

/* Are the logits of the row that is looked at wanted, and all on this rank? */
static bool
has_logits(const rlf_generation *g)
{
    return g->options.watch && g->watched_row >= 0 && !g->model->group &&
           !g->model->queue->device->caps.asynchronous;
}

/* Tokens of the rows, their log-probabilities behind them. */
static rlf_status
sample_rows(const step *s, const rlf_pass *p, rlf_err *err)
{
    const rlf_generation *g = s->g;
    const rlf_generation_options *o = &g->options;
    const rlf_model_config *c = &g->model->table->config;
    int32_t *tokens = (int32_t *)(void *)g->outputs;
    rlf_sample_args args = {.m = p->n_rows,
                            .v = c->vocab,
                            .d = c->hidden,
                            .part = rlf_parallel_head(g->model),
                            .x = p->hidden,
                            .packed = g->model->lm.forward,
                            .bf16 = g->model->lm.bf16,
                            .bias = rlf_head_bias(g->model),
                            .scale = (float)c->logits_scale,
                            .cap = (float)c->logits_cap,
                            .greedy = o->greedy,
                            .temperature = o->temperature,
                            .top_k = o->top_k,
                            .top_p = o->top_p,
                            .min_p = o->min_p,
                            .uniform = s->in.uniform,
                            .tokens = tokens,
                            .logprob = (float *)(tokens + p->n_rows),
                            .logits = has_logits(g) ? o->watch->logits : NULL,
                            .logits_row = g->watched_row,
                            .work = p->work,
                            .work_bytes = p->work_bytes};
    return p->kernels->sample(p->queue, &args, err);
}

static void
fill_pass(step *s, int32_t *offsets)
{
    s->pass = *s->g->pass;
    s->pass.m = s->z.tokens;
    s->pass.n_seqs = s->z.seqs;
    s->pass.n_rows = s->z.rows;
    s->pass.tokens = s->in.tokens;
    if (s->g->ahead)
        s->pass.sampled = (int32_t *)(void *)s->g->outputs;
    s->pass.positions = s->in.positions;
    s->pass.rows = s->in.rows;
    s->pass.offsets = offsets;
    s->pass.paged = &s->paged;
}

/* Between what comes from the stage before and what goes to the next. */
static rlf_status
put_chunk(void *ctx, rlf_err *err)
{
    step *s = ctx;
    const rlf_model *model = s->g->model;
    RLF_TRY(rlf_transformer_forward_chunk(model, &s->pass, s->chunk, err));
    if (!rlf_table_ends(model->table, s->chunk) || !s->z.rows)
        return RLF_OK;
    return sample_rows(s, &s->pass, err);
}

/* The smallest of 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, ... that is not less than
 * n: rows up to 16 take one tile of the tensor cores, and beyond at most a
 * third is nobody's. */
static int64_t
rounded_up(int64_t n)
{
    int64_t power = 1;
    while (power < n)
        power *= 2;
    int64_t less = power / 4 * 3;
    return power > 16 && less >= n ? less : power;
}

static int64_t
context_for(const rlf_generation *g, uint32_t longest)
{
    int64_t units = (longest + CONTEXT_UNIT - 1) / CONTEXT_UNIT;
    int64_t context = rounded_up(units) * CONTEXT_UNIT;
    return context < (int64_t)g->longest ? context : (int64_t)g->longest;
}

/* All that a recorded step is made of: sizes, options, addresses. Equal on all
 * ranks of a model. */
typedef struct step_key {
    size z;
    int64_t context, page_size, pass_tokens, place, chunk;
    float temperature, top_p, min_p;
    int32_t top_k;
    int64_t greedy;
} step_key;

static step_key
key_of(const step *s, int64_t context)
{
    const rlf_generation *g = s->g;
    const rlf_generation_options *o = &g->options;
    step_key key;
    memset(&key, 0, sizeof key);
    key.z = s->z;
    key.context = context;
    key.page_size = g->kv->page_size;
    key.pass_tokens = g->pass->options.tokens;
    key.place = g->place;
    key.chunk = s->chunk;
    key.temperature = o->temperature;
    key.top_p = o->top_p;
    key.min_p = o->min_p;
    key.top_k = o->top_k;
    key.greedy = o->greedy;
    return key;
}

/* By way of a recording: nothing but the memory of the inputs and the pages may
 * be read, and the host's starts are bounds. */
static rlf_status
replay_chunk(step *s, int64_t context, rlf_err *err)
{
    rlf_generation *g = s->g;
    step_key key = key_of(s, context);
    bool replayed;
    for (int64_t i = 0; i < s->z.seqs; i++)
        g->bounds[i] = (int32_t)context - 1;
    s->paged.starts = g->bounds;
    if (g->model->group) /* a recording would not see that the run has ended */
        RLF_TRY(rlf_device_check(g->model->queue, g->model->group, err));
    RLF_TRY(rlf_replays_do(g->replays, &key, sizeof key, put_chunk, s, err,
                           &replayed));
    g->counts.replayed += replayed;
    return RLF_OK;
}

/* context 0: not by way of recordings. */
static rlf_status
put_step(step *s, int64_t context, rlf_err *err)
{
    const rlf_model *model = s->g->model;
    rlf_pass *p = &s->pass;
    rlf_status status = RLF_OK;
    for (int i = 0; i < model->table->cut.chunks && status >= 0; i++) {
        s->chunk = i;
        status = rlf_transformer_receive(model, p, i, err);
        if (status >= 0)
            status =
                context ? replay_chunk(s, context, err) : put_chunk(s, err);
        if (status >= 0)
            status = rlf_transformer_hand_on(model, p, i, err);
    }
    s->g->pass->sending = p->sending;
    return status;
}

/* The draw that is looked at, once its token is on the host. */
static void
tell_watch(const rlf_generation *g, const int32_t *tokens, int64_t rows)
{
    const rlf_draw_watch *w = g->options.watch;
    int64_t row = g->watched_row;
    if (w && row >= 0 && !g->ahead)
        w->see(w->arg, g->watched_position, tokens[row],
               ((const float *)(const void *)(tokens + rows))[row],
               g->watched_uniform, has_logits(g) ? w->logits : NULL);
}

/* Tokens come back. Unless steps run ahead, the host waits for them, and the
 * other stages are told. */
static rlf_status
fetch(rlf_generation *g, const size *z, rlf_err *err)
{
    flight *f = &g->waves[g->at].now;
    rlf_queue *queue = g->model->queue;
    size_t bytes = (size_t)z->rows * TOLD_BYTES;
    f->n_tokens = (uint32_t)z->rows;
    if (g->model->table->lm == RLF_NO_SLOT || !z->rows)
        return RLF_OK;
    RLF_TRY(rlf_queue_copy(queue, f->host_tokens, g->outputs, bytes,
                           RLF_COPY_TO_HOST, err));
    if (f->there)
        return queue->device->ops->event_record(f->there, queue, err);
    RLF_TRY(rlf_queue_sync(queue, err));
    tell_watch(g, f->host_tokens, z->rows);
    return rlf_parallel_tell(g->model, f->host_tokens, bytes, err, &f->telling);
}

rlf_status
rlf_sampler_await(rlf_generation *g, flight *f, rlf_err *err)
{
    return f->there
               ? rlf_event_sync(f->there, g->model->queue, err)
               : rlf_parallel_hear(g->model, f->host_tokens,
                                   f->n_tokens * TOLD_BYTES, err, &f->telling);
}

/* The last step is the one before now. */
static void
turn_flights(rlf_generation *g)
{
    wave *w = &g->waves[g->at];
    flight last = w->now;
    RLF_ASSERT(w->before.fly.count == 0);
    w->now = w->before;
    w->before = last;
}

rlf_status
rlf_sampler_step(rlf_generation *g, rlf_err *err, bool *sent)
{
    uint32_t longest;
    size z = measure(g, &longest);
    *sent = z.seqs != 0;
    if (!z.seqs)
        return RLF_OK;
    if (g->ahead)
        turn_flights(g);
    bool replays = g->replays && z.tokens == z.seqs && z.rows == z.seqs &&
                   longest <= CONTEXT_MOST;
    int64_t context = 0;
    if (replays) {
        int64_t n = rounded_up(z.rows);
        context = context_for(g, longest);
        z.tokens = z.rows = z.seqs = n < g->most_active ? n : g->most_active;
        z.ld = pages_for(g, (uint32_t)context);
    }
    inputs host = inputs_at(g->host_inputs, &z);
    fill(g, &host, &z);
    RLF_TRY(rlf_queue_copy(g->model->queue, g->inputs, g->host_inputs,
                           input_bytes(&z), RLF_COPY_TO_DEVICE, err));
    step s = {.g = g, .z = z, .in = inputs_at(g->inputs, &z)};
    s.paged = (rlf_paged){.starts = host.starts,
                          .device_starts = s.in.starts,
                          .device_offsets = s.in.offsets,
                          .pages = s.in.pages,
                          .slots = s.in.slots,
                          .next = g->next_pages,
                          .ld_pages = z.ld,
                          .kv = g->kv->block,
                          .page_size = g->kv->page_size,
                          .page_stride = g->kv->page_stride,
                          .layer_stride = g->kv->layer_stride};
    fill_pass(&s, host.offsets);
    RLF_TRY(put_step(&s, context, err));
    return fetch(g, &z, err);
}
