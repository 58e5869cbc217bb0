/* carve_pass() is the list of all memory; what lies in the layers' and values'
 * is compile.c's. */
#include "nodes/model/pass.h"

#include <stdlib.h>
#include <string.h>

#include "engine/comm/device.h"
#include "nodes/model/suballocate.h"

int64_t
rlf_pass_tile_rows(const rlf_kernels *k, const rlf_table *t, int tokens)
{
    int ranks = t->cut.ranks; /* which all have the same tiles */
    int64_t rows = k->head_tile / ((t->config.vocab + ranks - 1) / ranks);
    if (rows > tokens)
        rows = tokens;
    if (rows > 2048)
        rows = 2048;
    return rows < 64 ? 64 : (rows + 15) / 16 * 16;
}

/* Do its layers keep what they compute? */
static bool
keeps(const rlf_pass_options *o)
{
    return o->layers || (o->train && !o->recompute);
}

/* Does it draw what dropout keeps? */
static bool
drops(const rlf_table *t, const rlf_pass_options *o)
{
    return o->train && t->program->drops;
}

/* Does this rank have the last layer? */
static bool
has_last(const rlf_table *t)
{
    return rlf_table_ends(t, t->cut.chunks - 1);
}

static size_t
larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Memory that layers which keep nothing share, and that gradients on their way
 * lie in: as large as any chunk of the stage needs it. */
static void
carve_shared(rlf_pass *p, rlf_suballocator *c)
{
    const rlf_table *t = p->table;
    rlf_pass_options o = p->options;
    size_t layer = 0, scratch = 0;
    rlf_arena *arena = rlf_arena_new();
    for (o.chunk = 0; o.chunk < (o.train ? t->cut.chunks : 1); o.chunk++) {
        const rlf_code *code = o.chunk == p->options.chunk
                                   ? p->code
                                   : rlf_measure_pass(t, p->kernels, &o, arena);
        for (int i = 0; i < t->config.layers; i++)
            layer = larger(layer, code->layer[i]);
        scratch = larger(scratch, code->scratch);
    }
    rlf_arena_free(arena);
    if (!keeps(&p->options))
        p->shared = rlf_suballocate(c, layer);
    p->scratch = rlf_suballocate(c, scratch);
}

static void
carve_scratch(rlf_pass *p, rlf_suballocator *c)
{
    const rlf_kernels *k = p->kernels;
    const rlf_table *t = p->table;
    const rlf_pass_options *o = &p->options;
    int64_t d = t->config.hidden;
    carve_shared(p, c);
    if (o->train && has_last(t))
        p->d_hidden = rlf_suballocate_reals(c, k, o->tokens * d);
    rlf_head_part part = {.shards = t->shards};
    p->work_rows = rlf_pass_tile_rows(k, t, o->tokens);
    if (t->lm != RLF_NO_SLOT)
        p->work_bytes = p->kernels->head_work_bytes(p->work_rows,
                                                    t->config.vocab, d, &part);
    p->work = rlf_suballocate(c, p->work_bytes);
}

/* The layers' own memory, or that which they share. */
static void
carve_layers(rlf_pass *p, rlf_suballocator *c)
{
    for (int i = 0; i < p->table->config.layers; i++)
        p->layers[i] = keeps(&p->options)
                           ? rlf_suballocate(c, p->code->layer[i])
                           : p->shared;
}

static void
carve_heads(rlf_pass *p, rlf_suballocator *c)
{
    const rlf_kernels *k = p->kernels;
    int64_t m = p->options.tokens;
    p->hidden = rlf_suballocate_reals(c, k, m * p->table->config.hidden);
    p->rstd = rlf_suballocate_floats(c, m);
    p->logprob = rlf_suballocate_floats(c, m);
    p->entropy = rlf_suballocate_floats(c, m);
    p->scalar = rlf_suballocate_floats(c, m);
    if (!p->options.train)
        return;
    p->d_logprob = rlf_suballocate_floats(c, m);
    p->d_entropy = rlf_suballocate_floats(c, m);
    p->d_scalar = rlf_suballocate_floats(c, m);
    p->d_scalar_real = p->kernels->real == RLF_CAST_F32
                           ? p->d_scalar
                           : rlf_suballocate_reals(c, k, m);
}

static void
carve_pass(rlf_pass *p, rlf_suballocator *c)
{
    const rlf_kernels *k = p->kernels;
    const rlf_table *t = p->table;
    const rlf_pass_options *o = &p->options;
    int64_t m = o->tokens;
    if (o->layers) {
        carve_layers(p, c);
        return;
    }
    p->tokens = rlf_suballocate_ints(c, m);
    p->positions = rlf_suballocate_ints(c, m);
    p->rows = rlf_suballocate_ints(c, m);
    p->targets = rlf_suballocate_ints(c, m);
    p->temperatures = rlf_suballocate_floats(c, m);
    if (drops(t, o))
        p->keys = rlf_suballocate(c, (size_t)m * sizeof *p->keys);
    if (!o->lent)
        carve_scratch(p, c);
    carve_layers(p, c);
    p->values = rlf_suballocate(c, p->code->values);
    if (o->train ? rlf_table_ends(t, o->chunk) : has_last(t))
        carve_heads(p, c);
    if (o->train)
        p->d_x = rlf_suballocate_reals(c, k, m * t->config.hidden);
    if (o->train ? p->code->keeps_input : t->cut.stages > 1)
        p->outbox = rlf_suballocate_reals(c, k, m * t->config.hidden);
}

/* Bytes that were counted of a table, under all that they depend on. */
typedef struct rlf_pass_bytes {
    struct rlf_pass_bytes *next;
    const rlf_kernels *kernels;
    rlf_pass_options options;
    size_t bytes;
} counted;

static bool
is_of(const counted *e, const rlf_kernels *k, const rlf_pass_options *o)
{
    const rlf_pass_options *of = &e->options;
    return e->kernels == k && of->tokens == o->tokens &&
           of->train == o->train && of->recompute == o->recompute &&
           of->chunk == o->chunk && of->lent == o->lent &&
           of->split == o->split && of->layers == o->layers;
}

static size_t
count_bytes(const counted *e, const rlf_table *table)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_pass p = {.options = e->options,
                  .table = table,
                  .kernels = e->kernels,
                  .code =
                      rlf_measure_pass(table, e->kernels, &e->options, arena),
                  .layers = RLF_NEW_ARRAY(arena, char *, table->config.layers)};
    rlf_suballocator c = {0};
    carve_pass(&p, &c);
    rlf_arena_free(arena);
    return c.used;
}

size_t
rlf_pass_count_bytes(const rlf_table *table, const rlf_kernels *kernels,
                     const rlf_pass_options *options)
{
    for (const counted *e = *table->counted; e; e = e->next)
        if (is_of(e, kernels, options))
            return e->bytes;
    counted *e = RLF_NEW(table->arena, counted);
    *e = (counted){*table->counted, kernels, *options, 0};
    e->bytes = count_bytes(e, table);
    *table->counted = e;
    return e->bytes;
}

static void
compile(void *pass)
{
    rlf_pass *p = pass;
    p->code = rlf_compile_pass(p->table, p->kernels, &p->options, p->arena);
    p->layers = RLF_NEW_ARRAY(p->arena, char *, p->table->config.layers);
}

static rlf_status
open_pass(rlf_pass *p, rlf_err *err)
{
    static const char what[] = "a pass through the model";
    size_t n = (size_t)p->options.tokens;
    RLF_TRY(rlf_memory_guard(compile, p, what, err));
    if (p->options.layers)
        n = 0; /* no micro-batch of its own */
    RLF_TRY(
        rlf_try_array(4 * n, sizeof *p->host_ints, what, err, &p->host_ints));
    RLF_TRY(
        rlf_try_array(n, sizeof *p->host_floats, what, err, &p->host_floats));
    RLF_TRY(rlf_try_array(n + 1, sizeof *p->offsets, what, err, &p->offsets));
    RLF_TRY(rlf_try_array(n, sizeof *p->starts, what, err, &p->starts));
    RLF_TRY(rlf_try_array(n, sizeof *p->parents, what, err, &p->parents));
    if (drops(p->table, &p->options))
        RLF_TRY(
            rlf_try_array(n, sizeof *p->host_keys, what, err, &p->host_keys));
    rlf_suballocator c = {0};
    carve_pass(p, &c);
    RLF_TRY(rlf_device_alloc(p->queue->device, c.used, &p->block, err));
    p->block_bytes = c.used;
    c = (rlf_suballocator){.base = p->block};
    carve_pass(p, &c);
    return RLF_OK;
}

rlf_status
rlf_pass_new(const rlf_model *model, const rlf_pass_options *options,
             rlf_err *err, rlf_pass **out)
{
    const rlf_table *t = model->table;
    RLF_ASSERT(options->tokens > 0);
    rlf_pass *p = rlf_calloc(1, sizeof *p);
    *p = (rlf_pass){.options = *options,
                    .arena = rlf_arena_new(),
                    .table = t,
                    .queue = model->queue,
                    .kernels = model->kernels};
    rlf_status status = open_pass(p, err);
    if (status < 0) {
        rlf_pass_free(p);
        return status;
    }
    *out = p;
    return RLF_OK;
}

void
rlf_pass_free(rlf_pass *p)
{
    if (!p)
        return;
    rlf_err ignored = RLF_ERR_NONE;
    if (p->sending) /* of a call that was given up */
        rlf_device_wait(&p->sending, &ignored);
    (void)rlf_queue_sync(p->queue, &ignored);
    rlf_device_release(p->queue->device, p->block, p->block_bytes);
    rlf_arena_free(p->arena);
    free(p->host_ints);
    free(p->host_floats);
    free(p->host_keys);
    free(p->offsets);
    free(p->starts);
    free(p->parents);
    free(p);
}

void
rlf_pass_lend(rlf_pass *p, const rlf_pass *from)
{
    RLF_ASSERT(p->options.lent && !from->options.lent);
    p->shared = from->shared;
    p->scratch = from->scratch;
    p->d_hidden = from->d_hidden;
    p->work = from->work;
    p->work_bytes = from->work_bytes;
    p->work_rows = from->work_rows;
    for (int i = 0; i < p->table->config.layers && !keeps(&p->options); i++)
        p->layers[i] = p->shared;
}

void
rlf_pass_borrow(rlf_pass *p, const rlf_pass *from)
{
    RLF_ASSERT(p->options.split && !keeps(&p->options));
    for (int i = 0; i < p->table->config.layers; i++)
        p->layers[i] = from ? from->layers[i] : p->shared;
}

/* A value of the block that residuals lie in. */
static rlf_real *
value_at(const rlf_pass *p, rlf_address place)
{
    RLF_ASSERT(rlf_address_block(place) == RLF_AT_VALUES);
    return p->values + (place - rlf_address_at(RLF_AT_VALUES, 0));
}

rlf_real *
rlf_pass_input(const rlf_pass *p, int chunk)
{
    return value_at(p, p->code->input[chunk]);
}

rlf_real *
rlf_pass_back(const rlf_pass *p, int chunk)
{
    return p->outbox ? p->outbox : rlf_pass_input(p, chunk);
}

rlf_real *
rlf_pass_output(const rlf_pass *p, int chunk)
{
    return value_at(p, p->code->output[chunk]);
}

rlf_status
rlf_pass_fit(const rlf_pass *p, const rlf_sequence *seqs, uint32_t n,
             rlf_err *err, uint32_t *fit)
{
    uint64_t used = 0, room = (uint64_t)p->options.tokens;
    *fit = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t length = (uint64_t)seqs[i].n_prompt + seqs[i].n_response;
        if (length > (uint64_t)p->table->config.context)
            return rlf_fail(err, RLF_USER,
                            "a sequence of %llu tokens is longer than the "
                            "model's context of %d",
                            (unsigned long long)length,
                            p->table->config.context);
        if (length > room)
            return rlf_fail(err, RLF_USER,
                            "a sequence of %llu tokens does not fit into a "
                            "micro-batch of %d",
                            (unsigned long long)length, p->options.tokens);
        length -= i ? seqs[i].shared : 0;
        if (used + length > room)
            break;
        used += length;
        *fit = i + 1;
    }
    return RLF_OK;
}

/* One token of the micro-batch. */
static rlf_status
add_token(rlf_pass *p, uint32_t id, int32_t position, uint32_t sample,
          rlf_err *err)
{
    if (id >= (uint32_t)p->table->config.vocab)
        return rlf_fail(err, RLF_USER,
                        "sample %u of those that are read together has token "
                        "%u, but the model knows only %d",
                        sample + 1, id, p->table->config.vocab);
    p->host_ints[p->m] = (int32_t)id;
    p->host_ints[p->options.tokens + p->m++] = position;
    return RLF_OK;
}

static void
add_row(rlf_pass *p, int64_t token, int32_t target, float temperature)
{
    int64_t t = p->options.tokens;
    p->host_ints[2 * t + p->n_rows] = (int32_t)token;
    p->host_ints[3 * t + p->n_rows] = target;
    p->host_floats[p->n_rows] = temperature > 0 ? temperature : 1;
    p->one_temperature &= p->host_floats[p->n_rows] == p->host_floats[0];
    p->n_rows++;
}

/* The tokens of the sequence whose own tokens begin at row `first`, with token
 * `start`. */
static void
draw_keys(rlf_pass *p, const rlf_sequence *s, int64_t first, int64_t start)
{
    for (int64_t i = first; p->keys && i < p->m; i++)
        p->host_keys[i] = rlf_draw(&s->drops, (uint64_t)(start + i - first));
}

/* What sequence i shares is that of the one before or, as far as that itself
 * shares it, of its parent. */
static void
set_parent(rlf_pass *p, uint32_t i, uint32_t shared)
{
    int32_t of = shared ? (int32_t)i - 1 : -1;
    while (of >= 0 && p->starts[of] >= (int32_t)shared)
        of = p->parents[of];
    p->starts[i] = (int32_t)shared;
    p->parents[i] = of;
    p->shares |= shared > 0;
}

/* Is response token k the model's own? *run: the first one that does not end
 * before it. */
static bool
is_own(const rlf_sequence *s, uint32_t k, uint32_t *run)
{
    while (*run < s->n_runs && s->runs[*run].to <= k)
        ++*run;
    return !s->runs || (*run < s->n_runs && s->runs[*run].from <= k);
}

static rlf_status
send_ints(rlf_pass *p, int32_t *to, int which, int64_t n, rlf_err *err)
{
    return rlf_queue_copy(p->queue, to,
                          p->host_ints + (int64_t)which * p->options.tokens,
                          (size_t)n * sizeof(int32_t), RLF_COPY_TO_DEVICE, err);
}

/* Send the host's index arrays (m, n_seqs, n_rows are set) to the device. */
static rlf_status
send(rlf_pass *p, rlf_err *err)
{
    RLF_TRY(send_ints(p, p->tokens, 0, p->m, err));
    RLF_TRY(send_ints(p, p->positions, 1, p->m, err));
    RLF_TRY(send_ints(p, p->rows, 2, p->n_rows, err));
    RLF_TRY(send_ints(p, p->targets, 3, p->n_rows, err));
    if (p->keys)
        RLF_TRY(rlf_queue_copy(p->queue, p->keys, p->host_keys,
                               (size_t)p->m * sizeof *p->keys,
                               RLF_COPY_TO_DEVICE, err));
    return rlf_queue_copy(p->queue, p->temperatures, p->host_floats,
                          (size_t)p->n_rows * sizeof(float), RLF_COPY_TO_DEVICE,
                          err);
}

/* The sequence's tokens behind the first `start`, and its rows. */
static rlf_status
add_sequence(rlf_pass *p, const rlf_sequence *s, uint32_t start,
             uint32_t sample, rlf_rows_kind rows, rlf_err *err)
{
    for (uint32_t k = start; k < s->n_prompt; k++)
        RLF_TRY(add_token(p, s->prompt[k], (int32_t)k, sample, err));
    uint32_t k = start > s->n_prompt ? start - s->n_prompt : 0;
    for (uint32_t run = 0; k < s->n_response; k++) {
        if (rows == RLF_ROWS_TOKENS && is_own(s, k, &run))
            add_row(p, p->m - 1, (int32_t)s->response[k], s->temperature);
        RLF_TRY(add_token(p, s->response[k], (int32_t)(s->n_prompt + k), sample,
                          err));
    }
    if (rows == RLF_ROWS_LAST)
        add_row(p, p->m - 1, -1, 1);
    return RLF_OK;
}

rlf_status
rlf_pass_load(rlf_pass *p, const rlf_sequence *seqs, uint32_t n, uint32_t first,
              rlf_rows_kind rows, rlf_err *err)
{
    p->m = p->n_rows = 0;
    p->n_seqs = n;
    p->one_temperature = true;
    p->paged = NULL;
    p->shares = false;
    for (uint32_t i = 0; i < n; i++) {
        const rlf_sequence *s = &seqs[i];
        if (s->n_prompt + s->n_response == 0 ||
            (rows == RLF_ROWS_TOKENS && s->n_prompt == 0)) {
            rlf_fail(err, RLF_USER,
                     "the prompt of sample %u of those that are read together "
                     "has no token",
                     first + i + 1);
            rlf_err_hint(err, "the first token of a response needs one before "
                              "it: begin prompts with a start token");
            return RLF_USER;
        }
        uint32_t start = i ? s->shared : 0;
        p->offsets[i] = (int32_t)p->m;
        set_parent(p, i, start);
        RLF_TRY(add_sequence(p, s, start, first + i, rows, err));
        draw_keys(p, s, p->offsets[i], start);
    }
    p->offsets[n] = (int32_t)p->m;
    return send(p, err);
}

rlf_status
rlf_pass_read(const rlf_pass *p, const float *from, int64_t n, rlf_err *err,
              float *to)
{
    RLF_TRY(rlf_queue_copy(p->queue, to, from, (size_t)n * sizeof(float),
                           RLF_COPY_TO_HOST, err));
    return rlf_queue_sync(p->queue, err);
}

rlf_status
rlf_pass_write(const rlf_pass *p, const float *from, int64_t n, rlf_err *err,
               float *to)
{
    return rlf_queue_copy(p->queue, to, from, (size_t)n * sizeof(float),
                          RLF_COPY_TO_DEVICE, err);
}
