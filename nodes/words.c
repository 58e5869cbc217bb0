/* Tiles, and the node that computes what is reduced over vocab outside of
 * updates. */
#include "nodes/words.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "nodes/model/work.h"

enum {
    AT = 1, /* the domains of the programs */
    WORDS = 2,
    TILE_CELLS = 1 << 20, /* of a tile, if rows are not longer */
    TILE_LEAST = 16,      /* rows, for the sake of the heads' products */
    TILE_MOST = 1024,
    PIECE_CELLS = 1 << 13, /* of what a thread takes at a time */
};

/* ---- plans ---- */

rlf_status
rlf_words_plan_new(const rlf_words *words, rlf_arena *arena, rlf_err *err,
                   rlf_words_plan *out)
{
    *out = (rlf_words_plan){.arena = arena, .words = words};
    RLF_TRY(rlf_expr_plan_new(words->program, arena, err, &out->value));
    if (words->slope)
        RLF_TRY(rlf_expr_plan_new(words->slope, arena, err, &out->slope));
    return RLF_OK;
}

/* ---- sizes ---- */

static int64_t
tile_rows(int64_t v)
{
    int64_t rows = TILE_CELLS / v;
    return rows < TILE_LEAST ? TILE_LEAST : rows > TILE_MOST ? TILE_MOST : rows;
}

static const rlf_model *
outline_of(const rlf_load *load, int resource)
{
    return ((const rlf_model_object *)load->resource[resource])->outline;
}

double
rlf_words_tile_bytes(const rlf_load *load, const rlf_node *node,
                     const rlf_words *words)
{
    int64_t v = outline_of(load, node->receiver)->table->config.vocab;
    int64_t cells = (words->slope ? v : 0), floats = v;
    for (size_t i = 0; i < words->program->inputs.count; i++)
        cells += words->model[i] >= 0 ? v : 1;
    cells += 2 * (int64_t)words->program->outputs.count + 3;
    return (double)tile_rows(v) * (double)(8 * cells + 4 * floats) /
           load->sizes->runs[node->id];
}

double
rlf_words_kept_bytes(const rlf_load *load, const rlf_node *node,
                     const rlf_words *words)
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

void
rlf_words_cost(const rlf_load *load, const rlf_node *node,
               const rlf_words *words, rlf_counts *out)
{
    rlf_lengths lengths =
        rlf_sequences_lengths(load, node->inputs[words->set_input]);
    lengths.n = rlf_load_rows(load, lengths.n);
    double rows = (double)lengths.n * lengths.response;
    for (size_t i = 0; i < words->program->inputs.count; i++) {
        if (words->model[i] < 0)
            continue;
        const rlf_model *model = rlf_load_part(load, words->model[i]);
        const rlf_table *t = model->table;
        if (t->lm != RLF_NO_SLOT) /* the words held, to the others */
            out->sent += rows * (double)t->vocab * sizeof(float) *
                         (load->layout->tp - 1);
        if (words->input[i] < 0)
            continue;
        rlf_reading_load reading = {.lengths = &lengths,
                                    .n_lengths = 1,
                                    .tokens = model->caps.tokens[RLF_USE_READ],
                                    .rows = RLF_ROWS_TOKENS,
                                    .logprob = true,
                                    .offload = model->offload};
        out->kernels = model->kernels;
        rlf_cost_read(model->table, &reading, out);
    }
}

/* ---- tiles ---- */

static rlf_status
check_model(const rlf_words_tile *t, int resource, rlf_err *err)
{
    const rlf_model_object *object = rlf_model_at(t->call->env, resource);
    if (object->config->vocab == t->v)
        return RLF_OK;
    const rlf_model_object *first =
        rlf_model_at(t->call->env, t->call->node->receiver);
    return rlf_fail(err, RLF_USER,
                    "model '%s' has %d words at each token and model '%s' has "
                    "%d: their distributions do not meet",
                    first->name, first->config->vocab, object->name,
                    object->config->vocab);
}

/* Is this rank on the last stage? */
static bool
has_heads(const rlf_call *call)
{
    const rlf_mesh *mesh = rlf_call_mesh(call);
    return mesh->at.pp == mesh->layout.pp - 1;
}

static double *
numbers(const rlf_words_tile *t, int64_t n)
{
    return rlf_arena_alloc_aligned(t->plan->arena, (size_t)n * sizeof(double),
                                   64);
}

static void
make_arrays(rlf_words_tile *t)
{
    const rlf_words *w = t->plan->words;
    rlf_arena *arena = t->plan->arena;
    size_t n_in = w->program->inputs.count, n_out = w->program->outputs.count;
    t->model = RLF_NEW_ARRAY(arena, rlf_model *, n_in);
    t->pass = RLF_NEW_ARRAY(arena, rlf_pass *, n_in);
    t->input = RLF_NEW_ARRAY(arena, double *, n_in);
    t->result = RLF_NEW_ARRAY(arena, double *, n_out);
    t->derivative = RLF_NEW_ARRAY(arena, double *, n_out);
    for (size_t i = 0; i < n_in; i++)
        t->input[i] = numbers(t, w->model[i] < 0 ? t->rows : t->rows * t->v);
    for (size_t i = 0; i < n_out; i++) {
        t->result[i] = numbers(t, t->rows);
        t->derivative[i] = numbers(t, t->rows);
    }
    if (w->slope)
        t->slope = numbers(t, t->rows * t->v);
    t->words = rlf_arena_alloc_aligned(
        arena, (size_t)(t->rows * t->v) * sizeof(float), 64);
    t->place = RLF_NEW_ARRAY(arena, uint64_t, t->rows);
    t->offset = RLF_NEW_ARRAY(arena, uint64_t, t->rows);
    t->length = RLF_NEW_ARRAY(arena, uint32_t, t->rows);
    for (int64_t i = 0; i < t->rows; i++) {
        t->offset[i] = (uint64_t)(i * t->v);
        t->length[i] = (uint32_t)t->v;
    }
}

rlf_status
rlf_words_tile_open(rlf_words_plan *plan, const rlf_call *call, rlf_err *err,
                    rlf_words_tile **out)
{
    const rlf_words *w = plan->words;
    rlf_words_tile *t = plan->tile;
    if (!t) {
        t = plan->tile = RLF_NEW(plan->arena, rlf_words_tile);
        t->plan = plan;
        t->v = rlf_model_at(call->env, call->node->receiver)->config->vocab;
        t->here = has_heads(call);
        t->rows = t->here ? tile_rows(t->v) : 0;
        make_arrays(t);
    }
    t->call = call;
    t->set = call->in[w->set_input].rows;
    for (size_t i = 0; i < w->program->inputs.count; i++) {
        if (w->model[i] < 0)
            continue;
        RLF_TRY(check_model(t, w->model[i], err));
        if (w->input[i] < 0)
            continue;
        t->model[i] = rlf_model_of(call, w->model[i]);
        RLF_TRY(rlf_work_pass(t->model[i], RLF_USE_READ, err, &t->pass[i]));
    }
    *out = t;
    return RLF_OK;
}

rlf_status
rlf_words_fit(const rlf_words_tile *t, const rlf_sequence *seqs, uint32_t n,
              rlf_err *err, uint32_t *fit)
{
    for (size_t i = 0; i < t->plan->words->program->inputs.count; i++) {
        uint32_t mine;
        if (!t->pass[i])
            continue;
        RLF_TRY(rlf_pass_fit(t->pass[i], seqs, n, err, &mine));
        *fit = mine < *fit ? mine : *fit;
    }
    return RLF_OK;
}

rlf_status
rlf_words_forward(const rlf_words_tile *t, const rlf_sequence *seqs, uint32_t n,
                  uint32_t first, rlf_err *err)
{
    for (size_t i = 0; i < t->plan->words->program->inputs.count; i++) {
        if (!t->pass[i])
            continue;
        RLF_TRY(
            rlf_pass_load(t->pass[i], seqs, n, first, RLF_ROWS_TOKENS, err));
        RLF_TRY(rlf_transformer_forward(t->model[i], t->pass[i], err));
    }
    return RLF_OK;
}

rlf_status
rlf_words_settle(const rlf_words_tile *t, rlf_err *err)
{
    for (size_t i = 0; i < t->plan->words->program->inputs.count; i++)
        if (t->pass[i])
            RLF_TRY(rlf_transformer_settle(t->pass[i], err));
    return RLF_OK;
}

/* Of the rows' last hidden states. */
static size_t
hidden_bytes(const rlf_pass *p)
{
    return (size_t)(p->n_rows * p->table->config.hidden) *
           rlf_real_bytes(p->kernels);
}

rlf_status
rlf_words_keep(const rlf_words_tile *t, rlf_arena *pool, rlf_err *err,
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
rlf_words_recall(const rlf_words_tile *t, const rlf_sequence *seqs, uint32_t n,
                 uint32_t first, void *const *kept, rlf_err *err)
{
    for (size_t i = 0; i < t->plan->words->program->inputs.count; i++) {
        rlf_pass *p = t->pass[i];
        if (!p)
            continue;
        RLF_TRY(rlf_pass_load(p, seqs, n, first, RLF_ROWS_TOKENS, err));
        RLF_TRY(rlf_queue_copy(p->queue, p->hidden, kept[i], hidden_bytes(p),
                               RLF_COPY_TO_DEVICE, err));
    }
    return RLF_OK;
}

void
rlf_words_place(const rlf_words_tile *t, int64_t k, uint32_t row,
                uint32_t token)
{
    const rlf_words *w = t->plan->words;
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
        t->input[i][k] = c->number[at];
    }
}

/* Words where the host can read them. */
static rlf_status
bring(const rlf_words_tile *t, const float *own, int64_t n, rlf_err *err,
      const float **out)
{
    rlf_queue *queue = t->call->env->queue;
    *out = own;
    if (queue->device->caps.host_memory)
        return RLF_OK;
    *out = t->words;
    RLF_TRY(rlf_queue_copy(queue, t->words, own,
                           (size_t)(n * t->v) * sizeof *own, RLF_COPY_TO_HOST,
                           err));
    return rlf_queue_sync(queue, err);
}

rlf_status
rlf_words_load(rlf_words_tile *t, int64_t first, int64_t n, const float *own,
               const rlf_model *model, rlf_pass *pass, rlf_err *err)
{
    const rlf_words *w = t->plan->words;
    for (size_t i = 0; i < w->program->inputs.count; i++) {
        if (w->model[i] < 0)
            continue;
        const float *from = t->words;
        if (t->pass[i])
            RLF_TRY(rlf_head_words(t->model[i], t->pass[i], first, n, err,
                                   t->words));
        else if (own)
            RLF_TRY(bring(t, own, n, err, &from));
        else
            RLF_TRY(rlf_head_words(model, pass, first, n, err, t->words));
        for (int64_t k = 0; k < n * t->v; k++)
            t->input[i][k] = (double)from[k];
    }
    return RLF_OK;
}

/* ---- running programs ---- */

typedef struct job {
    const rlf_words_tile *tile;
    const rlf_expr_plan *plan;
    rlf_claim claim;
    int64_t piece;
    bool slope;
    rlf_err *err; /* per thread */
} job;

/* Rows first..last-1. */
static rlf_status
run_rows(const job *j, int64_t first, int64_t last, rlf_arena *arena,
         rlf_err *err)
{
    const rlf_words_tile *t = j->tile;
    const rlf_words *w = t->plan->words;
    size_t n_in = w->program->inputs.count, n_out = w->program->outputs.count;
    rlf_space at = {.domain = AT, .count = (uint32_t)(last - first)};
    rlf_space words = {.domain = WORDS,
                       .count = at.count,
                       .up = {{.to = &at}},
                       .offset = t->offset,
                       .length = t->length,
                       .extent = (uint64_t)((last - first) * t->v)};
    const rlf_space *spaces[] = {NULL, &at, &words};
    rlf_column *in = RLF_NEW_ARRAY(arena, rlf_column, n_in + n_out);
    rlf_column *out = RLF_NEW_ARRAY(arena, rlf_column, n_out);
    for (size_t i = 0; i < n_in; i++)
        in[i] = w->model[i] < 0
                    ? (rlf_column){&at, t->input[i] + first, NULL}
                    : (rlf_column){&words, t->input[i] + first * t->v, NULL};
    for (size_t i = 0; i < n_out; i++) {
        in[n_in + i] = (rlf_column){&at, t->derivative[i] + first, NULL};
        out[i] = (rlf_column){&at, t->result[i] + first, NULL};
    }
    if (j->slope)
        out[0] = (rlf_column){&words, t->slope + first * t->v, NULL};
    rlf_expr_bind bind = {.inputs = in, .outputs = out, .spaces = spaces};
    return rlf_expr_run(j->plan, NULL, &bind, err);
}

static void
run_pieces(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    job *j = arg;
    rlf_arena *arena = rlf_arena_new();
    int64_t first, last;
    while (!j->err[thread].status &&
           rlf_claim_take(&j->claim, j->piece, &first, &last))
        run_rows(j, first, last, arena, &j->err[thread]);
    rlf_arena_free(arena);
}

static rlf_status
run(const rlf_words_tile *t, bool slope, int64_t n, rlf_err *err)
{
    rlf_team *team = t->call->env->queue->device->team;
    int threads = rlf_team_size(team);
    int64_t piece = PIECE_CELLS / t->v > 0 ? PIECE_CELLS / t->v : 1;
    int64_t pieces = (n + piece - 1) / piece;
    job j = {.tile = t,
             .plan = slope ? t->plan->slope : t->plan->value,
             .claim = rlf_claim_of(n),
             .piece = piece,
             .slope = slope,
             .err = rlf_calloc((size_t)threads, sizeof(rlf_err))};
    for (int i = 0; i < threads; i++)
        j.err[i] = (rlf_err)RLF_ERR_NONE;
    rlf_team_run_some(team, pieces < threads ? (int)pieces : threads,
                      run_pieces, &j);
    rlf_status status = RLF_OK;
    for (int i = 0; i < threads && status >= 0; i++)
        if (j.err[i].status) {
            *err = j.err[i];
            status = j.err[i].status;
        }
    free(j.err);
    return status;
}

rlf_status
rlf_words_results(const rlf_words_tile *t, int64_t n, rlf_err *err)
{
    return run(t, false, n, err);
}

rlf_status
rlf_words_slopes(const rlf_words_tile *t, int64_t n, rlf_err *err)
{
    return run(t, true, n, err);
}

/* ---- the node ---- */

typedef struct state {
    rlf_arena *arena;
    rlf_words_plan plan;
} state;

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **out)
{
    (void)env;
    state *s = rlf_class_arena_state(sizeof *s);
    rlf_status status =
        rlf_words_plan_new(node->words, s->arena, err, &s->plan);
    if (status < 0)
        rlf_class_arena_fini(s);
    else
        *out = s;
    return status;
}

static rlf_status
open(rlf_call *call, rlf_err *err)
{
    (void)err;
    const rlf_rows *rows = call->in[call->node->words->set_input].rows;
    for (int i = 0; i < call->node->n_outputs; i++)
        call->out[i].column =
            rlf_column_new(call->env->pool, rows->tokens, false);
    return RLF_OK;
}

/* The tile's n rows, from row `first` of the passes on. */
static rlf_status
run_tile(const rlf_call *call, rlf_words_tile *t, int64_t first, int64_t n,
         rlf_err *err)
{
    if (!n)
        return RLF_OK;
    RLF_TRY(rlf_words_load(t, first, n, NULL, NULL, NULL, err));
    RLF_TRY(rlf_words_results(t, n, err));
    for (int i = 0; i < call->node->n_outputs; i++)
        for (int64_t k = 0; k < n; k++)
            call->out[i].column.number[t->place[k]] = t->result[i][k];
    return RLF_OK;
}

/* One micro-batch: `fit` sequences from number `at` of the piece on. */
static rlf_status
run_micro(rlf_call *call, rlf_words_tile *t, const rlf_sequence *seqs,
          uint32_t at, uint32_t fit, rlf_err *err)
{
    int64_t first = 0, n = 0;
    RLF_TRY(rlf_words_forward(t, seqs + at, fit, at, err));
    if (!t->here)
        return RLF_OK;
    for (uint32_t i = at; i < at + fit; i++) {
        uint32_t row = call->rows ? call->rows[i] : i;
        for (uint32_t k = 0; k < seqs[i].n_response; k++) {
            if (n == t->rows) {
                RLF_TRY(run_tile(call, t, first, n, err));
                first += n;
                n = 0;
            }
            rlf_words_place(t, n, row, k);
            t->place[n++] = rlf_sequences_place(t->set, row, k);
        }
    }
    return run_tile(call, t, first, n, err);
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    state *s = call->state;
    const rlf_words *w = s->plan.words;
    rlf_rows *rows = call->in[w->set_input].rows;
    uint32_t n = call->rows ? call->n_rows : rows->samples->count;
    rlf_words_tile *tile;
    rlf_sequence *seqs;
    RLF_TRY(rlf_words_tile_open(&s->plan, call, err, &tile));
    RLF_TRY(rlf_sequences_read(call->env, rows,
                               rlf_model_at(call->env, call->node->receiver),
                               RLF_READ_WORDS, call->rows, n, err, &seqs));
    for (uint32_t i = 0; i < n;) {
        uint32_t fit = n - i;
        RLF_TRY(rlf_words_fit(tile, seqs + i, n - i, err, &fit));
        RLF_TRY(run_micro(call, tile, seqs, i, fit, err));
        rlf_comm_beat(call->env->comm);
        i += fit;
    }
    return rlf_words_settle(tile, err);
}

static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    rlf_counts counts = {0};
    rlf_words_cost(load, node, node->words, &counts);
    rlf_lengths lengths =
        rlf_sequences_lengths(load, node->inputs[node->words->set_input]);
    *out = (rlf_cost){.host = rlf_sequences_bytes(&lengths) +
                              rlf_words_tile_bytes(load, node, node->words)};
    rlf_cost_add(out, &counts);
}

const rlf_node_class rlf_node_over_vocab = {
    .name = "words",
    .doc = "what is reduced over the vocabulary, at each token",
    .role = RLF_ROLE_WORDS,
    .receiver = RLF_RECEIVER_MODEL,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_SAMPLE,
    .infer = rlf_class_no_infer,
    .cost = cost,
    .init = init,
    .fini = rlf_class_arena_fini,
    .open = open,
    .step = step,
    .trainable = &rlf_trainable_none,
    .handover = &rlf_handover_none,
};
