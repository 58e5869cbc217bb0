/* One micro-batch on one chunk of the model, forward and backward.
 *
 * Each stage loads the same micro-batch. The last has the heads: there the
 * loss's program meets the live values, in the heads' tiles, after the forward
 * or in a pass before, as far as its derivatives look (update.c). */
#include "nodes/update.h"

#include <math.h>

#include "nodes/model/buffers.h"

static bool
ends(const rlf_update *u, const rlf_train_op *op)
{
    return rlf_table_ends(u->model->table, op->chunk);
}

/* Can the derivatives be had in the head's own tiles? */
static bool
in_tiles(const rlf_update *u, const rlf_update_group *g)
{
    return u->reach == RLF_REACH_POINT && (g->logprob || g->words);
}

/* ---- heads, forward ---- */

static rlf_status
read_scalars(rlf_update *u, const rlf_update_flight *f, rlf_err *err)
{
    rlf_pass *p = f->pass;
    if (!f->micro->group->scalar)
        return RLF_OK;
    RLF_TRY(rlf_head_scalars(u->model, p, err));
    return rlf_pass_read(p, p->scalar, p->n_rows, err, f->micro->scalar);
}

/* The models of the words' tile have this micro-batch at hand. */
static rlf_status
forward_words(rlf_update *u, const rlf_update_flight *f, rlf_err *err)
{
    const rlf_update_micro *m = f->micro;
    const rlf_update_group *g = m->group;
    if (!g->words || u->words_read_for == m)
        return RLF_OK;
    u->words_read_for = m;
    if (m->words)
        return rlf_vocab_recall(g->words, m->first, m->count, m->words, err);
    return rlf_vocab_forward(g->words, m->first, m->count, err);
}

rlf_status
rlf_update_read_ahead(rlf_update *u, rlf_err *err)
{
    for (size_t i = 0; u->model->stages && i < u->micros.count; i++) {
        rlf_update_micro *m = &u->micros.data[i];
        const rlf_update_group *g = m->group;
        if (!g->words)
            continue;
        RLF_TRY(rlf_vocab_forward(g->words, m->first, m->count, err));
        if (g->words->here)
            RLF_TRY(
                rlf_vocab_keep(g->words, u->call->env->pool, err, &m->words));
    }
    for (uint32_t k = 0; u->model->stages && k < u->n_groups; k++)
        if (u->groups[k].words)
            RLF_TRY(rlf_vocab_settle(u->groups[k].words, err));
    return RLF_OK;
}

/* Gives the tile the places of the results at this micro-batch's rows. */
static void
receive_words(const rlf_update_micro *m)
{
    m->group->words->result = m->result;
    m->group->words->nonfinite = m->nonfinite;
}

/* Computes reductions over words at all rows, before the heads' gradients. */
static rlf_status
read_words(rlf_update *u, const rlf_update_flight *f, rlf_err *err)
{
    rlf_vocab_tile *t = f->micro->group->words;
    int64_t rows = f->pass->n_rows;
    if (!t)
        return RLF_OK;
    receive_words(f->micro);
    for (int64_t i = 0; i < rows; i += t->rows) {
        int64_t n = rows - i < t->rows ? rows - i : t->rows;
        rlf_update_place_words(f->micro, i, n);
        RLF_TRY(rlf_vocab_load(t, i, n, NULL, u->model, f->pass, err));
        RLF_TRY(rlf_vocab_results(t, i, n, err));
    }
    RLF_TRY(rlf_queue_sync(f->pass->queue, err));
    rlf_update_put_words(u, f->micro, 0, rows);
    return RLF_OK;
}

/* Live values of all rows. */
static rlf_status
read_heads(rlf_update *u, const rlf_update_flight *f, rlf_err *err)
{
    rlf_pass *p = f->pass;
    RLF_TRY(read_scalars(u, f, err));
    if (f->micro->group->logprob) {
        RLF_TRY(rlf_head_logprobs(u->model, p, false, err));
        RLF_TRY(
            rlf_pass_read(p, p->logprob, p->n_rows, err, f->micro->logprob));
    }
    rlf_update_put_live(u, f->micro, 0, p->n_rows);
    return read_words(u, f, err);
}

rlf_status
rlf_update_forward(rlf_call *call, const rlf_train_op *op, rlf_err *err)
{
    rlf_update *u = rlf_update_of(call);
    rlf_update_flight *f = &u->flights[op->chunk][op->flight];
    const rlf_update_micro *m = f->micro = &u->micros.data[op->micro];
    const rlf_update_group *g = m->group;
    RLF_TRY(rlf_pass_load(f->pass, g->seqs + m->first, m->count, m->first,
                          g->last ? RLF_ROWS_LAST : RLF_ROWS_TOKENS, err));
    call->fed = (uint32_t)f->micro->read; /* measured times are of such */
    RLF_TRY(rlf_transformer_forward_chunk(u->model, f->pass, op->chunk, err));
    if (!ends(u, op))
        return RLF_OK;
    RLF_TRY(forward_words(u, f, err));
    if (u->reading)
        return read_heads(u, f, err);
    if (u->reach == RLF_REACH_BATCH)
        return rlf_update_get_gradient(u, f->micro, 0, f->pass->n_rows, err);
    if (in_tiles(u, g))
        return read_scalars(u, f, err);
    RLF_TRY(read_heads(u, f, err));
    RLF_TRY(rlf_update_run_program(u, f->micro, 0, f->pass->n_rows, err));
    return rlf_update_get_gradient(u, f->micro, 0, f->pass->n_rows, err);
}

/* ---- heads, backward ---- */

typedef struct tile {
    rlf_update *u;
    const rlf_update_flight *f;
} tile;

/* n numbers of the device to the host, after the next wait. */
static rlf_status
fetch(rlf_queue *queue, float *to, const float *from, int64_t n, rlf_err *err)
{
    return rlf_queue_copy(queue, to, from, (size_t)n * sizeof *to,
                          RLF_COPY_TO_HOST, err);
}

/* Fetches what a tile on the device was given and gave. */
static rlf_status
fetch_point(const rlf_update_flight *f, int64_t first, int64_t n,
            const float *logprob, const float *dlogprob, rlf_err *err)
{
    const rlf_update_micro *m = f->micro;
    rlf_queue *queue = f->pass->queue;
    RLF_TRY(fetch(queue, m->logprob + first, logprob, n, err));
    return fetch(queue, m->d_logprob + first, dlogprob, n, err);
}

/* A tile of the head: its log-probabilities in, derivatives out. */
static rlf_status
tile_loss(void *ctx, rlf_queue *queue, int64_t first, int64_t n,
          const float *logprob, const float *entropy, float *dlogprob,
          float *dentropy, rlf_err *err)
{
    (void)entropy, (void)dentropy, (void)queue;
    rlf_update *u = ((tile *)ctx)->u;
    const rlf_update_flight *f = ((tile *)ctx)->f;
    const rlf_update_micro *m = f->micro;
    if (m->group->point) {
        RLF_TRY(rlf_update_run_point(u, f, first, n, logprob, dlogprob, err));
        return fetch_point(f, first, n, logprob, dlogprob, err);
    }
    RLF_TRY(rlf_pass_read(f->pass, logprob, n, err, m->logprob + first));
    rlf_update_put_live(u, m, first, n);
    RLF_TRY(rlf_update_run_program(u, m, first, n, err));
    RLF_TRY(rlf_update_get_gradient(u, m, first, n, err));
    return rlf_pass_write(f->pass, m->d_logprob + first, n, err, dlogprob);
}

/* Goes by way of the host from what the loaded rows reduce to, to its
 * derivatives. */
static rlf_status
words_on_host(rlf_update *u, const rlf_update_flight *f, int64_t first,
              int64_t n, rlf_err *err)
{
    const rlf_update_micro *m = f->micro;
    RLF_TRY(rlf_vocab_results(m->group->words, first, n, err));
    RLF_TRY(rlf_queue_sync(f->pass->queue, err));
    rlf_update_put_live(u, m, first, n);
    rlf_update_put_words(u, m, first, n);
    RLF_TRY(rlf_update_run_program(u, m, first, n, err));
    return rlf_update_get_gradient(u, m, first, n, err);
}

/* The same with all words; what the derivatives are had from is there already
 * if the loss looks at more than the token. */
static rlf_status
tile_words(void *ctx, rlf_queue *queue, int64_t first, int64_t n,
           const float *logprob, float *words, float *dlogprob, rlf_err *err)
{
    rlf_update *u = ((tile *)ctx)->u;
    const rlf_update_flight *f = ((tile *)ctx)->f;
    const rlf_update_micro *m = f->micro;
    const rlf_update_group *g = m->group;
    rlf_vocab_tile *t = g->words;
    bool point = g->point, on_host = in_tiles(u, g) && !point;
    if (on_host)
        RLF_TRY(rlf_pass_read(f->pass, logprob, n, err, m->logprob + first));
    if (point) /* if nothing but words is live */
        RLF_TRY(rlf_queue_set(queue, dlogprob, 0, (size_t)n * sizeof *dlogprob,
                              err));
    for (int64_t i = 0; i < n; i += t->rows) {
        int64_t rows = n - i < t->rows ? n - i : t->rows, at = first + i;
        rlf_update_place_words(m, at, rows);
        RLF_TRY(rlf_vocab_load(t, at, rows, words + i * t->v, NULL, NULL, err));
        if (point) {
            RLF_TRY(rlf_vocab_results(t, at, rows, err));
            RLF_TRY(rlf_update_run_point(u, f, at, rows, logprob + i,
                                         dlogprob + i, err));
        } else {
            if (on_host)
                RLF_TRY(words_on_host(u, f, at, rows, err));
            rlf_update_get_words(u, m, at, rows);
        }
        RLF_TRY(rlf_vocab_slopes(t, at, rows, point, err));
    }
    return point ? fetch_point(f, first, n, logprob, dlogprob, err)
                 : rlf_pass_write(f->pass, m->d_logprob + first, n, err,
                                  dlogprob);
}

/* Goes from the loss to the gradient of the last hidden states. */
static rlf_status
heads_back(rlf_update *u, const rlf_update_flight *f, rlf_err *err)
{
    const rlf_update_group *g = f->micro->group;
    rlf_pass *p = f->pass;
    tile ctx = {u, f};
    if (g->words) {
        RLF_TRY(forward_words(u, f, err));
        receive_words(f->micro);
        RLF_TRY(rlf_head_words_loss(u->model, p, tile_words, &ctx,
                                    g->words->beside, err));
    } else if (in_tiles(u, g)) {
        RLF_TRY(rlf_head_loss(u->model, p, tile_loss, &ctx, false, err));
    } else if (g->logprob) {
        RLF_TRY(rlf_pass_write(p, f->micro->d_logprob, p->n_rows, err,
                               p->d_logprob));
        RLF_TRY(rlf_head_loss(u->model, p, NULL, NULL, false, err));
    }
    if (!g->scalar)
        return RLF_OK;
    RLF_TRY(rlf_pass_write(p, f->micro->d_scalar, p->n_rows, err, p->d_scalar));
    return rlf_head_scalar_back(u->model, p, g->logprob || g->words, err);
}

/* The gradient for the stage before leaves from where the residual came in,
 * unless weights are to read that. */
static rlf_status
hand_back(const rlf_update *u, const rlf_pass *p, int chunk, rlf_err *err)
{
    size_t bytes = (size_t)(p->m * u->model->table->config.hidden) *
                   rlf_real_bytes(p->kernels);
    return rlf_queue_copy(p->queue, rlf_pass_back(p, chunk), p->d_x, bytes,
                          RLF_COPY_ON_DEVICE, err);
}

rlf_status
rlf_update_end_lanes(rlf_update *u, int chunk, int parts, uint32_t lane,
                     rlf_err *err)
{
    static const int each[] = {RLF_GRADIENT_REST, RLF_GRADIENT_MATRICES};
    for (int i = 0; i < 2; i++)
        for (uint32_t *at = &u->lane[i][chunk]; parts & each[i] && *at < lane;
             ++*at)
            RLF_TRY(rlf_gradient_next(u->model, chunk, each[i], err));
    return RLF_OK;
}

/* Backward leaves weights for later, and what it recomputes for them: in the
 * order of micro-batches, so the places for that are taken in turn. */
static rlf_status
borrow(rlf_update *u, const rlf_train_op *op, rlf_pass *p, rlf_err *err)
{
    rlf_pass *owed;
    RLF_TRY(rlf_buffers_owed(u->model, op->chunk,
                             op->micro % u->model->owed[op->chunk], err,
                             &owed));
    rlf_pass_borrow(p, owed);
    return RLF_OK;
}

rlf_status
rlf_update_backward(rlf_call *call, const rlf_train_op *op, rlf_err *err)
{
    rlf_update *u = rlf_update_of(call);
    const rlf_update_flight *f = &u->flights[op->chunk][op->flight];
    const rlf_pass_options *o = &f->pass->options;
    call->fed = (uint32_t)f->micro->read; /* measured times are of such */
    RLF_TRY(rlf_update_end_lanes(
        u, op->chunk, o->split ? RLF_GRADIENT_REST : RLF_GRADIENT_ALL,
        f->micro->lane, err));
    if (o->split && o->recompute)
        RLF_TRY(borrow(u, op, f->pass, err));
    if (ends(u, op))
        RLF_TRY(heads_back(u, f, err));
    RLF_TRY(rlf_transformer_backward_chunk(u->model, f->pass, op->chunk, err));
    return rlf_table_begins(u->model->table, op->chunk)
               ? RLF_OK
               : hand_back(u, f->pass, op->chunk, err);
}

rlf_status
rlf_update_weights(rlf_call *call, const rlf_train_op *op, rlf_err *err)
{
    rlf_update *u = rlf_update_of(call);
    const rlf_update_flight *f = &u->flights[op->chunk][op->flight];
    const rlf_pass_options *o = &f->pass->options;
    call->fed = (uint32_t)f->micro->read; /* measured times are of such */
    RLF_TRY(rlf_update_end_lanes(u, op->chunk, RLF_GRADIENT_MATRICES,
                                 f->micro->lane, err));
    RLF_TRY(rlf_transformer_weights_chunk(u->model, f->pass, op->chunk, err));
    if (o->recompute)
        rlf_pass_borrow(f->pass, NULL);
    return RLF_OK;
}
