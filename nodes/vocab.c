/* Tiles, and the node that computes what is reduced over vocab outside of
 * updates. */
#include "nodes/vocab.h"

#include <math.h>

#include "engine/comm/comm.h"
#include "nodes/model/buffers.h"

enum {
    TILE_MOST = 1024, /* rows of a tile */
    ROW_COPIES = 16,  /* on the CPU: threads that have a row in f64 */
};

/* ---- plans ---- */

rlf_status
rlf_vocab_plan_new(const rlf_vocab_program *words, rlf_arena *arena,
                   rlf_err *err, rlf_vocab_plan *out)
{
    *out = (rlf_vocab_plan){.arena = arena, .words = words};
    RLF_TRY(rlf_expr_dense_new(words->program, arena, err, &out->value));
    if (words->slope)
        RLF_TRY(rlf_expr_dense_new(words->slope, arena, err, &out->slope));
    return RLF_OK;
}

/* ---- sizes ---- */

static const rlf_model *
outline_of(const rlf_load *load, int resource)
{
    return ((const rlf_model_object *)load->resource[resource])->outline;
}

double
rlf_vocab_tile_bytes(const rlf_load *load, const rlf_node *node,
                     const rlf_vocab_program *words)
{
    const rlf_model *model = outline_of(load, node->receiver);
    double v = model->table->config.vocab, columns = 0, copies = 1;
    double out = (double)words->program->outputs.count;
    for (size_t i = 0; i < words->program->inputs.count; i++) {
        columns += words->model[i] < 0;
        copies += words->model[i] >= 0;
    }
    double bytes = 8 * (TILE_MOST * (columns + out) + ROW_COPIES * copies * v);
    if (!words->slope) /* of a micro-batch */
        bytes += 8 * (out + 1) * model->caps.tokens[RLF_USE_READ];
    return bytes / load->sizes->runs[node->id];
}

double
rlf_vocab_kept_bytes(const rlf_load *load, const rlf_node *node,
                     const rlf_vocab_program *words)
{
    rlf_lengths lengths =
        rlf_sequences_lengths(load, node->inputs[words->set_input]);
    double rows = (double)lengths.n * lengths.response, bytes = 0;
    for (size_t i = 0; i < words->program->inputs.count; i++)
        if (words->model[i] >= 0 && words->input[i] >= 0)
            bytes += rows * sizeof(float) *
                     outline_of(load, words->model[i])->table->config.hidden;
    return load->layout->pp > 1 ? bytes : 0;
}

/* Bytes on the device beside a row's words. */
static size_t
bytes_beside(const rlf_vocab_program *w)
{
    size_t columns = (w->slope ? 2 : 1) * w->program->outputs.count;
    return columns * sizeof(double) + sizeof(rlf_nonfinite);
}

uint32_t
rlf_vocab_tokens(const rlf_load *load, const rlf_vocab_program *words,
                 uint32_t tokens)
{
    for (size_t i = 0; i < words->program->inputs.count; i++) {
        if (words->model[i] < 0 || words->input[i] < 0)
            continue;
        uint32_t its =
            outline_of(load, words->model[i])->caps.tokens[RLF_USE_READ];
        tokens = its < tokens ? its : tokens;
    }
    return tokens;
}

/* The tiles of a model at the caps of its use, for all micro-batches. */
static double
count_tiles(const rlf_model *model, const rlf_vocab_program *words, rlf_use use,
            const rlf_reading_load *reading)
{
    const rlf_lengths *l = reading->lengths;
    uint64_t length = (uint64_t)l->prompt + l->response;
    uint64_t together = reading->each > 1 ? reading->each : 1;
    uint64_t unit = length + (together - 1) * ((uint64_t)l->response + 1);
    uint64_t each = unit && reading->tokens > unit ? reading->tokens / unit : 1;
    each *= together;
    int64_t rows =
        rlf_head_words_fit(model->table,
                           rlf_pass_tile_rows(model->kernels, model->table,
                                              (int)model->caps.tokens[use]),
                           bytes_beside(words));
    rows = rows < TILE_MOST ? rows : TILE_MOST;
    double micros = ceil((double)l->n / (double)each);
    double most = (double)(each < l->n ? each : l->n) * l->response;
    return micros * ceil(most / (double)rows);
}

/* Adds the cost of the models that are read, and of the words of all. */
static void
cost_models(const rlf_load *load, const rlf_vocab_program *words,
            rlf_reading_load *reading, double tiles, rlf_counts *out)
{
    double rows = (double)reading->lengths->n * reading->lengths->response;
    int others = load->layout->tp - 1;
    for (size_t i = 0; i < words->program->inputs.count; i++) {
        if (words->model[i] < 0)
            continue;
        const rlf_model *model = rlf_load_part(load, words->model[i]);
        const rlf_table *t = model->table;
        rlf_meets *tp = &out->cost.meets[RLF_AXIS_TP];
        if (t->lm != RLF_NO_SLOT) { /* the words held, to the others */
            tp->n += tiles * others;
            tp->bytes += rows * (double)t->vocab * sizeof(float) * others;
        }
        if (words->input[i] < 0)
            continue;
        reading->offload = model->offload;
        reading->packed_rows = model->rows != NULL;
        out->kernels = model->kernels;
        out->narrow = model->narrow;
        rlf_cost_read(t, reading, out);
    }
}

void
rlf_vocab_cost(const rlf_load *load, const rlf_node *node,
               const rlf_vocab_program *words, const rlf_lengths *own,
               rlf_counts *out)
{
    const rlf_piece *piece = load->piece;
    const rlf_model *model = rlf_load_model(load, node);
    const rlf_table *table = model->table;
    rlf_use use = words->slope ? RLF_USE_UPDATE : RLF_USE_READ;
    rlf_reading_load reading = {
        .lengths = own,
        .n_lengths = 1,
        .tokens = rlf_vocab_tokens(load, words, model->caps.tokens[use]),
        .rows = RLF_ROWS_TOKENS,
        .each = rlf_sequences_together(
            load, node, (rlf_read_sets){&node->inputs[words->set_input], 1}),
        .logprob = true};
    if (piece && reading.each > 1) /* one micro-batch, as in sum_reading */
        reading.tokens = INT32_MAX;
    double tiles = count_tiles(model, words, use, &reading);
    int last = table->cut.chunks - 1, chunk = piece ? piece->chunk : last;
    rlf_piece_kind forward = RLF_PIECE_ROWS, reads = RLF_PIECE_ROWS;
    if (words->slope) {
        forward = RLF_PIECE_FORWARD;
        reads = load->layout->pp > 1 ? RLF_PIECE_BEFORE : forward;
    }
    if (rlf_load_has(load, reads) &&
        (reads == RLF_PIECE_BEFORE ? !piece || chunk == 0 : chunk == last))
        cost_models(load, words, &reading, tiles, out);
    if (!rlf_table_ends(table, chunk))
        return;
    double rows = (double)own->n * own->response, v = table->config.vocab;
    if (rlf_load_has(load, forward))
        rlf_cost_words(words->program, rows, v, tiles, out);
    if (words->slope && rlf_load_has(load, RLF_PIECE_BACKWARD))
        rlf_cost_words(words->slope, rows, v, tiles, out);
}

/* ---- tiles ---- */

static rlf_status
check_model(const rlf_vocab_tile *t, int resource, rlf_err *err)
{
    const rlf_model_object *object = rlf_model_at(t->call->env, resource);
    if (object->config->vocab == t->v)
        return RLF_OK;
    const rlf_model_object *first =
        rlf_model_at(t->call->env, t->call->node->receiver);
    return rlf_fail(err, RLF_USER,
                    "model '%s' has %d words at each token and model '%s' has "
                    "%d: their distributions cannot be compared",
                    first->name, first->config->vocab, object->name,
                    object->config->vocab);
}

/* Is this rank on the last stage? */
static bool
has_heads(const rlf_call *call)
{
    const rlf_mesh *mesh = rlf_call_mesh(call);
    return mesh->at.pp == rlf_layout_last(&mesh->layout);
}

static double *
numbers(const rlf_vocab_tile *t, int64_t n)
{
    return rlf_arena_alloc_aligned(t->plan->arena, (size_t)n * sizeof(double),
                                   64);
}

/* As many rows as every model has room for. */
static void
find_rows(rlf_vocab_tile *t, rlf_pass *live)
{
    size_t each = bytes_beside(t->plan->words);
    size_t n = t->plan->words->program->inputs.count;
    t->room = live;
    t->rows = TILE_MOST;
    for (size_t i = 0; i <= n; i++) {
        rlf_pass *p = i < n ? t->pass[i] : live;
        if (!p)
            continue;
        int64_t rows = rlf_head_words_rows(p, each);
        t->rows = rows < t->rows ? rows : t->rows;
        t->room = t->room ? t->room : p;
    }
    t->most = t->room->options.tokens;
    t->beside = ((size_t)t->rows * each + 63) / 64 * 64;
}

static void
make_arrays(rlf_vocab_tile *t)
{
    const rlf_vocab_program *w = t->plan->words;
    rlf_arena *arena = t->plan->arena;
    size_t n_in = w->program->inputs.count, n_out = w->program->outputs.count;
    t->inputs = RLF_NEW_ARRAY(arena, rlf_dense_column, n_in + n_out);
    t->column = RLF_NEW_ARRAY(arena, double *, n_in);
    t->derivative = RLF_NEW_ARRAY(arena, double *, n_out);
    for (size_t i = 0; i < n_in; i++)
        if (w->model[i] < 0)
            t->inputs[i].data = t->column[i] = numbers(t, t->rows);
    for (size_t i = 0; i < n_out; i++)
        t->derivative[i] = numbers(t, t->rows);
}

/* The models' passes. */
static rlf_status
open_passes(rlf_vocab_tile *t, rlf_err *err)
{
    const rlf_vocab_program *w = t->plan->words;
    for (size_t i = 0; i < w->program->inputs.count; i++) {
        if (w->model[i] < 0)
            continue;
        RLF_TRY(check_model(t, w->model[i], err));
        if (w->input[i] < 0)
            continue;
        t->model[i] = rlf_model_of(t->call, w->model[i]);
        RLF_TRY(rlf_buffers_pass(t->model[i], RLF_USE_READ, err, &t->pass[i]));
    }
    return RLF_OK;
}

rlf_status
rlf_vocab_tile_open(rlf_vocab_plan *plan, const rlf_call *call, rlf_pass *live,
                    rlf_err *err, rlf_vocab_tile **out)
{
    const rlf_vocab_program *w = plan->words;
    size_t n = w->program->inputs.count;
    rlf_vocab_tile *t = plan->tile;
    if (!t) {
        t = plan->tile = RLF_NEW(plan->arena, rlf_vocab_tile);
        t->plan = plan;
        t->v = rlf_model_at(call->env, call->node->receiver)->config->vocab;
        t->here = has_heads(call);
        t->model = RLF_NEW_ARRAY(plan->arena, rlf_model *, n);
        t->pass = RLF_NEW_ARRAY(plan->arena, rlf_pass *, n);
        t->seqs = RLF_NEW_ARRAY(plan->arena, const rlf_sequence *, n);
    }
    t->call = call;
    t->set = call->in[w->set_input].rows;
    RLF_TRY(open_passes(t, err));
    if (t->here)
        find_rows(t, live);
    if (t->here && !t->inputs)
        make_arrays(t);
    *out = t;
    return RLF_OK;
}

rlf_status
rlf_vocab_take(rlf_vocab_tile *t, const rlf_sequence *seqs,
               const uint32_t *which, uint32_t n, rlf_err *err)
{
    const rlf_env *env = t->call->env;
    const rlf_vocab_program *w = t->plan->words;
    const rlf_model_object *own = rlf_model_at(env, t->call->node->receiver);
    for (size_t i = 0; i < w->program->inputs.count; i++) {
        t->seqs[i] = seqs;
        if (!t->pass[i])
            continue;
        const rlf_model_object *model = rlf_model_at(env, w->model[i]);
        rlf_sequence *read;
        if (rlf_digest_equal(model->reader.writes, own->reader.writes))
            continue;
        RLF_TRY(rlf_sequences_read(env, t->set, model, RLF_READ_WORDS, which, n,
                                   err, &read));
        t->seqs[i] = read;
    }
    return RLF_OK;
}

rlf_status
rlf_vocab_fit(const rlf_vocab_tile *t, uint32_t first, uint32_t n, rlf_err *err,
              uint32_t *fit)
{
    for (size_t i = 0; i < t->plan->words->program->inputs.count; i++) {
        uint32_t mine;
        if (!t->pass[i])
            continue;
        RLF_TRY(rlf_pass_fit(t->pass[i], t->seqs[i] + first, n, err, &mine));
        *fit = mine < *fit ? mine : *fit;
    }
    return RLF_OK;
}

rlf_status
rlf_vocab_forward(const rlf_vocab_tile *t, uint32_t first, uint32_t n,
                  rlf_err *err)
{
    for (size_t i = 0; i < t->plan->words->program->inputs.count; i++) {
        if (!t->pass[i])
            continue;
        RLF_TRY(rlf_pass_load(t->pass[i], t->seqs[i] + first, n, first,
                              RLF_ROWS_TOKENS, err));
        RLF_TRY(rlf_transformer_forward(t->model[i], t->pass[i], err));
    }
    return RLF_OK;
}

rlf_status
rlf_vocab_settle(const rlf_vocab_tile *t, rlf_err *err)
{
    for (size_t i = 0; i < t->plan->words->program->inputs.count; i++)
        if (t->pass[i])
            RLF_TRY(rlf_transformer_settle(t->pass[i], err));
    return RLF_OK;
}

/* The bytes of the rows' last hidden states. */
static size_t
hidden_bytes(const rlf_pass *p)
{
    return (size_t)(p->n_rows * p->table->config.hidden) *
           rlf_real_bytes(p->kernels);
}

rlf_status
rlf_vocab_keep(const rlf_vocab_tile *t, rlf_arena *pool, rlf_err *err,
               void ***out)
{
    size_t n = t->plan->words->program->inputs.count;
    void **kept = *out = RLF_NEW_ARRAY(pool, void *, n);
    for (size_t i = 0; i < n; i++) {
        const rlf_pass *p = t->pass[i];
        if (!p)
            continue;
        kept[i] = rlf_arena_alloc_aligned(pool, hidden_bytes(p) + 1, 64);
        RLF_TRY(rlf_queue_copy(p->queue, kept[i], p->hidden, hidden_bytes(p),
                               RLF_COPY_TO_HOST, err));
        RLF_TRY(rlf_queue_sync(p->queue, err));
    }
    return RLF_OK;
}

rlf_status
rlf_vocab_recall(const rlf_vocab_tile *t, uint32_t first, uint32_t n,
                 void *const *kept, rlf_err *err)
{
    for (size_t i = 0; i < t->plan->words->program->inputs.count; i++) {
        rlf_pass *p = t->pass[i];
        if (!p)
            continue;
        RLF_TRY(rlf_pass_load(p, t->seqs[i] + first, n, first, RLF_ROWS_TOKENS,
                              err));
        RLF_TRY(rlf_queue_copy(p->queue, p->hidden, kept[i], hidden_bytes(p),
                               RLF_COPY_TO_DEVICE, err));
    }
    return RLF_OK;
}

void
rlf_vocab_place(const rlf_vocab_tile *t, int64_t k, uint32_t row,
                uint32_t token)
{
    const rlf_vocab_program *w = t->plan->words;
    const rlf_domains *domains = &t->call->env->graph->domains;
    for (size_t i = 0; i < w->program->inputs.count; i++) {
        if (w->model[i] >= 0)
            continue;
        const rlf_column *c = &t->call->in[w->input[i]].column;
        uint64_t at = 0;
        if (c->space && c->space->domain) {
            uint32_t there =
                rlf_space_row(domains, t->set->tokens, row, c->space->domain);
            at = c->space->offset ? c->space->offset[there] + token : there;
        }
        t->column[i][k] = c->number[at];
    }
}

rlf_status
rlf_vocab_load(rlf_vocab_tile *t, int64_t first, int64_t n, float *own,
               const rlf_model *model, rlf_pass *pass, rlf_err *err)
{
    const rlf_vocab_program *w = t->plan->words;
    for (size_t i = 0; i < w->program->inputs.count; i++) {
        if (w->model[i] < 0)
            continue;
        float *words = own;
        if (t->pass[i])
            RLF_TRY(rlf_head_words(t->model[i], t->pass[i], first, n, t->beside,
                                   err, &words));
        else if (!own)
            RLF_TRY(
                rlf_head_words(model, pass, first, n, t->beside, err, &words));
        t->inputs[i].data = words;
    }
    return RLF_OK;
}

/* ---- running programs ---- */

double *
rlf_vocab_result_at(const rlf_vocab_tile *t, uint32_t i)
{
    return (double *)rlf_head_beside(t->room, t->beside) + i * t->rows;
}

double *
rlf_vocab_derivative_at(const rlf_vocab_tile *t, uint32_t i)
{
    return rlf_vocab_result_at(t, t->plan->value->n_outputs + i);
}

static rlf_nonfinite *
odd_at(const rlf_vocab_tile *t)
{
    return (rlf_nonfinite *)rlf_vocab_derivative_at(t,
                                                    t->plan->value->n_outputs);
}

rlf_status
rlf_vocab_results(const rlf_vocab_tile *t, int64_t first, int64_t n,
                  rlf_err *err)
{
    const rlf_pass *p = t->room;
    uint32_t n_out = t->plan->value->n_outputs;
    rlf_dense_column *out =
        RLF_NEW_ARRAY(t->call->env->pool, rlf_dense_column, n_out);
    for (uint32_t i = 0; i < n_out; i++)
        out[i].data = rlf_vocab_result_at(t, i);
    rlf_expr_dense_args args = {.m = n,
                                .v = t->v,
                                .program = t->plan->value,
                                .inputs = t->inputs,
                                .outputs = out};
    RLF_TRY(p->kernels->expr_dense(p->queue, &args, err));
    for (uint32_t i = 0; i < n_out; i++)
        RLF_TRY(rlf_queue_copy(p->queue, t->result[i] + first, out[i].data,
                               (size_t)n * sizeof(double), RLF_COPY_TO_HOST,
                               err));
    return RLF_OK;
}

/* The live model's words. */
static rlf_dense_column
live_words(const rlf_vocab_tile *t)
{
    const rlf_vocab_program *w = t->plan->words;
    size_t i = 0;
    while (w->model[i] < 0 || w->input[i] >= 0)
        i++;
    return t->inputs[i];
}

rlf_status
rlf_vocab_slopes(const rlf_vocab_tile *t, int64_t first, int64_t n, bool there,
                 rlf_err *err)
{
    const rlf_pass *p = t->room;
    const rlf_expr *program = t->plan->words->program;
    rlf_dense_column out = live_words(t);
    for (uint32_t i = 0; i < program->outputs.count; i++)
        t->inputs[program->inputs.count + i].data =
            there ? rlf_vocab_derivative_at(t, i) : t->derivative[i];
    rlf_expr_dense_args args = {.m = n,
                                .v = t->v,
                                .program = t->plan->slope,
                                .inputs = t->inputs,
                                .outputs = &out,
                                .nonfinite = odd_at(t)};
    RLF_TRY(p->kernels->expr_dense(p->queue, &args, err));
    return rlf_queue_copy(p->queue, t->nonfinite + first, args.nonfinite,
                          (size_t)n * sizeof *t->nonfinite, RLF_COPY_TO_HOST,
                          err);
}

/* ---- the node ---- */

typedef struct state {
    rlf_arena *arena;
    rlf_vocab_plan plan;
    double **result; /* per output, of the rows of a micro-batch */
    uint64_t *place; /* where they are in columns */
} state;

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **out)
{
    (void)env;
    state *s = rlf_class_arena_state(sizeof *s);
    rlf_status status =
        rlf_vocab_plan_new(node->words, s->arena, err, &s->plan);
    if (status < 0)
        rlf_class_arena_fini(s);
    else
        *out = s;
    return status;
}

static rlf_status
open(rlf_call *call, rlf_err *err)
{
    const rlf_rows *rows = call->in[call->node->words->set_input].rows;
    for (int i = 0; i < call->node->n_outputs; i++)
        RLF_TRY(rlf_column_try(call->env->pool, rows->tokens, false,
                               "what is reduced over the vocabulary", err,
                               &call->out[i].column));
    return RLF_OK;
}

/* The tile's n rows, from row `first` of the passes on. */
static rlf_status
run_tile(rlf_vocab_tile *t, int64_t first, int64_t n, rlf_err *err)
{
    if (!n)
        return RLF_OK;
    RLF_TRY(rlf_vocab_load(t, first, n, NULL, NULL, NULL, err));
    return rlf_vocab_results(t, first, n, err);
}

/* One micro-batch: `fit` sequences from number `at` of the piece on. */
static rlf_status
run_micro(rlf_call *call, rlf_vocab_tile *t, const rlf_sequence *seqs,
          uint32_t at, uint32_t fit, rlf_err *err)
{
    state *s = call->state;
    int64_t first = 0, n = 0;
    RLF_TRY(rlf_vocab_forward(t, at, fit, err));
    if (!t->here)
        return RLF_OK;
    for (uint32_t i = at; i < at + fit; i++) {
        uint32_t row = call->rows ? call->rows[i] : i;
        uint32_t own = rlf_sequence_own(&seqs[i]);
        for (uint32_t k = 0; k < own; k++) {
            if (n - first == t->rows) {
                RLF_TRY(run_tile(t, first, n - first, err));
                first = n;
            }
            rlf_vocab_place(t, n - first, row, k);
            s->place[n++] = rlf_sequences_place(t->set, row, k);
        }
    }
    RLF_TRY(run_tile(t, first, n - first, err));
    RLF_TRY(rlf_queue_sync(t->room->queue, err));
    for (int i = 0; i < call->node->n_outputs; i++)
        for (int64_t k = 0; k < n; k++)
            call->out[i].column.number[s->place[k]] = s->result[i][k];
    return RLF_OK;
}

/* Room for what a micro-batch gives. */
static void
make_results(state *s, rlf_vocab_tile *t)
{
    size_t n = s->plan.words->program->outputs.count;
    if (t->here && !s->result) {
        s->result = RLF_NEW_ARRAY(s->arena, double *, n);
        for (size_t i = 0; i < n; i++)
            s->result[i] = numbers(t, t->most);
        s->place = RLF_NEW_ARRAY(s->arena, uint64_t, t->most);
    }
    t->result = s->result;
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    state *s = call->state;
    const rlf_vocab_program *w = s->plan.words;
    rlf_rows *rows = call->in[w->set_input].rows;
    uint32_t n = call->rows ? call->n_rows : rows->samples->count;
    rlf_vocab_tile *tile;
    rlf_sequence *seqs;
    RLF_TRY(rlf_vocab_tile_open(&s->plan, call, NULL, err, &tile));
    make_results(s, tile);
    RLF_TRY(rlf_sequences_read(call->env, rows,
                               rlf_model_at(call->env, call->node->receiver),
                               RLF_READ_WORDS, call->rows, n, err, &seqs));
    RLF_TRY(rlf_vocab_take(tile, seqs, call->rows, n, err));
    for (uint32_t i = 0; i < n;) {
        uint32_t fit = n - i;
        RLF_TRY(rlf_vocab_fit(tile, i, n - i, err, &fit));
        RLF_TRY(run_micro(call, tile, seqs, i, fit, err));
        rlf_comm_heartbeat(call->env->comm);
        i += fit;
    }
    return rlf_vocab_settle(tile, err);
}

static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    rlf_counts counts = {0};
    const rlf_read_sets set = {&node->inputs[node->words->set_input], 1};
    rlf_lengths own = rlf_load_own(load, set);
    rlf_vocab_cost(load, node, node->words, &own, &counts);
    *out = counts.cost;
    if (load->piece)
        return;
    rlf_lengths lengths =
        rlf_sequences_lengths(load, node->inputs[node->words->set_input]);
    out->host = rlf_sequences_bytes(&lengths) +
                rlf_vocab_tile_bytes(load, node, node->words);
}

const rlf_node_class rlf_node_over_vocab = {
    .name = "words",
    .doc = "what is reduced over the vocabulary, at each token",
    .form = RLF_FORM_SYNTAX,
    .partition = RLF_PARTITION_ROWS,
    .work = RLF_WORK_READ,
    .program = RLF_PROGRAM_VOCAB,
    .receiver = RLF_RECEIVER_MODEL,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_SAMPLE,
    .infer = rlf_class_no_infer,
    .cost = cost,
    .init = init,
    .fini = rlf_class_arena_fini,
    .open = open,
    .step = step,
};
