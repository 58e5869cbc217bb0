/* Between the rows of a micro-batch and the columns of the loss's program: live
 * values in, derivatives out, and what is said when one is not finite. Columns
 * are of the whole set; a row finds its place in them by its sample and token,
 * so micro-batches fill them in any order. */
#include "nodes/update.h"

#include "nodes/nonfinite.h"

#include <math.h>
#include <stdlib.h>

/* ---- between rows of the pass and columns ---- */

/* A row of the micro-batch at hand: which sequence and token it is. Rows are
 * visited in order, so it steps from one to the next. */
typedef struct cursor {
    uint32_t seq;   /* of the group */
    uint32_t token; /* of its own ones */
} cursor;

static cursor
cursor_at(const rlf_update_micro *m, int64_t index)
{
    const rlf_update_group *g = m->group;
    cursor c = {m->first, 0};
    if (g->last) {
        c.seq += (uint32_t)index;
        return c;
    }
    while (index >= rlf_sequence_own(&g->seqs[c.seq]))
        index -= rlf_sequence_own(&g->seqs[c.seq++]);
    c.token = (uint32_t)index;
    return c;
}

static void
cursor_next(const rlf_update_group *g, cursor *c)
{
    if (g->last || ++c->token == rlf_sequence_own(&g->seqs[c->seq])) {
        c->seq++;
        c->token = 0;
    }
}

static uint64_t
cursor_place(const rlf_update_group *g, cursor c)
{
    uint32_t row = rlf_update_row_of(g, c.seq);
    return g->last ? row
                   : rlf_sequences_place(rlf_update_set_of(g, c.seq)->rows, row,
                                         c.token);
}

/* "sample 2 of 'roll'" */
static const char *
name_of(const rlf_update *u, const rlf_update_group *g, cursor c)
{
    return rlf_rows_name(u->call->env, rlf_update_set_of(g, c.seq)->rows,
                         rlf_update_row_of(g, c.seq), u->call->env->pool);
}

/* Put what the heads gave for rows first..first+n-1 into the live columns. */
void
rlf_update_put_live(rlf_update *u, const rlf_update_micro *m, int64_t first,
                    int64_t n)
{
    const rlf_update_group *g = m->group;
    const rlf_loss *loss = u->call->node->loss;
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        const rlf_update_set *set = rlf_update_serves(g, live);
        if (live->input < 0 || !set)
            continue;
        bool logprob = rlf_read_kind_of(live->class) == RLF_READ_LOGPROB;
        const float *from = logprob ? m->logprob : m->scalar;
        double *to = u->inputs[live->input].number;
        cursor c = cursor_at(m, first);
        for (int64_t k = first; k < first + n; k++, cursor_next(g, &c))
            if (rlf_update_set_of(g, c.seq) == set)
                to[cursor_place(g, c)] = (double)from[k];
    }
}

/* Is the operation one of those that the loss is computed by? Others are of
 * derivatives, which nobody has written. */
static bool
is_of_loss(const rlf_update *u, int op)
{
    const rlf_expr *program = u->points->program;
    int n = program->outputs.data[u->call->node->loss->loss].op + 1;
    bool *of_loss = rlf_calloc((size_t)n, sizeof *of_loss);
    of_loss[n - 1] = true;
    for (int i = n - 1; i >= 0; i--)
        for (int k = 0; of_loss[i] && k < 3; k++)
            if (program->ops.data[i].arg[k] >= 0)
                of_loss[program->ops.data[i].arg[k]] = true;
    bool is = op < n && of_loss[op];
    free(of_loss);
    return is;
}

/* Blames an input of the update that is not finite: it was made before. */
static void
blame_input(const rlf_update *u, int op, const rlf_nonfinite_place *at,
            rlf_err *err)
{
    const rlf_node *node = u->call->node;
    const rlf_expr_op *o = &u->points->program->ops.data[op];
    int from = node->loss->constant_input[o->index];
    const rlf_nonfinite_place *made =
        from >= 0 && u->call->env->nonfinite
            ? &u->call->env->nonfinite[node->inputs[from]]
            : NULL;
    if (made && made->span.source) {
        rlf_nonfinite_blame(made, node->class->name, err);
        return;
    }
    rlf_err_place(err, o->span, node->class->name);
    if (from < 0 || !err) /* the model gave it */
        return;
    err->hint[0] = 0;
    rlf_err_hint(err,
                 "a value that is %s went into the update, from another rank: "
                 "on one rank it is said where it was made",
                 isnan(at->value) ? "not a number" : "infinite");
}

/* Place the error where the value at `at` of an output was made that is not
 * finite: in the loss, or before it. The hint of a derivative stays where its
 * own operations make it so. */
static void
place_nonfinite(const rlf_update *u, int output, uint64_t at, rlf_err *err)
{
    const rlf_expr *program = u->points->program;
    const rlf_node *node = u->call->node;
    const rlf_operations_piece all = {0};
    const char *name = node->class->name;
    rlf_nonfinite_place nonfinite;
    if (at != UINT64_MAX && isfinite(u->outputs[output].number[at]))
        return; /* in single precision only */
    int op =
        rlf_nonfinite_find(program, &u->bind, program->outputs.data[output].op,
                           at, &all, &nonfinite);
    if (op < 0) {
        rlf_call_place_nonfinite(u->call, err);
    } else if (nonfinite.code == RLF_EXPR_INPUT) {
        blame_input(u, op, &nonfinite, err);
    } else if (is_of_loss(u, op) || rlf_expr_nan_hint(nonfinite.code)) {
        rlf_nonfinite_blame(&nonfinite, name, err);
    } else {
        rlf_err_place(err, nonfinite.span, name);
    }
}

/* The same of a derivative by log-probabilities of words: in the loss, by what
 * is reduced over them, or in what is reduced besides them. */
static void
place_words(const rlf_update *u, const rlf_update_group *g, cursor c,
            rlf_err *err)
{
    const rlf_vocab_program *w = g->words->plan->words;
    const rlf_call *call = u->call;
    uint64_t at = cursor_place(g, c);
    for (size_t i = 0; i < w->program->outputs.count; i++)
        if (!isfinite(u->outputs[w->derivative[i]].number[at])) {
            place_nonfinite(u, w->derivative[i], at, err);
            return;
        }
    for (size_t i = 0; i < w->program->inputs.count && call->env->nonfinite;
         i++) {
        if (w->model[i] >= 0 || w->input[i] < 0)
            continue;
        const rlf_nonfinite_place *nonfinite =
            &call->env->nonfinite[call->node->inputs[w->input[i]]];
        const rlf_column *column = &call->in[w->input[i]].column;
        if (nonfinite->span.source && column->number &&
            rlf_column_nonfinite(column, NULL, 0) != UINT64_MAX) {
            rlf_nonfinite_blame(nonfinite, call->node->class->name, err);
            return;
        }
    }
}

/* The ways in which a derivative comes not to be finite in single precision. */
static void
hint_derivative(double value, double derivative, rlf_err *err)
{
    if (isnan(derivative))
        rlf_err_hint(err,
                     "the value there is %g: a derivative is a product of "
                     "those of each operation, and 0 times infinity is not a "
                     "number: keep what is under a root or a log, or divided "
                     "by, away from 0, as in sqrt(x + 1e-8)",
                     value);
    else if (isfinite(derivative))
        rlf_err_hint(err, "models are trained in single precision, whose "
                          "numbers go up to 3.4e38: look for a factor of the "
                          "loss, or a reward, that is as large");
    else
        rlf_err_hint(
            err,
            "the model's value there is %g; what it is multiplied by "
            "is infinite, or beyond single precision, whose numbers go "
            "up to 3.4e38: look for a division by 0, a log of 0, or a "
            "reward that is as large, and keep what is divided by, or "
            "under a log, away from 0, as in x / (y + 1e-8); else "
            "clamp what is exponentiated",
            value);
}

/* If not only the derivative but what goes into the loss is not finite there:
 * say that, of the expression that made it. */
static bool
fail_value(const rlf_update *u, const rlf_update_group *g,
           const rlf_space *space, cursor c, rlf_err *err)
{
    const rlf_expr *program = u->points->program;
    const rlf_call *call = u->call;
    rlf_nonfinite_place nonfinite;
    double value;
    int op = rlf_nonfinite_find_below(
        program, &u->bind, program->outputs.data[call->node->loss->loss].op,
        space, cursor_place(g, c), &value, &nonfinite);
    if (op < 0 || nonfinite.code == RLF_EXPR_INPUT)
        return false;
    rlf_fail(err, RLF_USER, "the loss of model '%s' is %s for token %u of %s",
             u->object->name, isnan(value) ? "not a number" : "infinite",
             c.token + 1, name_of(u, g, c));
    rlf_nonfinite_blame(&nonfinite, call->node->class->name, err);
    return true;
}

/* `live`: what the derivative is by; NULL: by log-probabilities of words. */
static rlf_status
fail_row(const rlf_update *u, const rlf_update_group *g,
         const rlf_live_call *live, cursor c, double value, double derivative,
         rlf_err *err)
{
    const char *name = live ? live->class->name : "logprobs";
    int by = live        ? live->gradient
             : !g->words ? -1
                         : g->words->plan->words->derivative[0];
    if (by >= 0 && fail_value(u, g, u->outputs[by].space, c, err))
        return RLF_USER;
    const char *shown =
        isnan(derivative) ? "not a number"
        : isinf(derivative)
            ? derivative > 0 ? "infinite" : "minus infinity"
            : rlf_arena_printf(u->call->env->pool, "%g", derivative);
    rlf_fail(err, RLF_USER,
             "the loss's derivative by %s.%s is %s for token %u of %s",
             u->object->name, name, shown, c.token + 1, name_of(u, g, c));
    hint_derivative(value, derivative, err);
    if (live && live->gradient >= 0)
        place_nonfinite(u, live->gradient, cursor_place(g, c), err);
    else if (!live && g->words)
        place_words(u, g, c, err);
    return RLF_USER;
}

/* The first row with a value that is not finite; their number if there is
 * none. */
static uint32_t
first_nonfinite(const rlf_column *column)
{
    const rlf_space *space = column->space;
    for (uint32_t row = 0; row < space->count; row++) {
        const double *x = column->number + row;
        uint32_t n = 1;
        if (space->offset) {
            x = column->number + space->offset[row];
            n = space->length[row];
        }
        for (uint32_t t = 0; t < n; t++)
            if (!isfinite(x[t]))
                return row;
    }
    return space->count;
}

/* The loss is not finite: which live value is the first that is not, or, if all
 * are, what else it may be. */
rlf_status
rlf_update_fail_loss(const rlf_update *u, double loss, rlf_err *err)
{
    const rlf_loss *l = u->call->node->loss;
    rlf_fail(err, RLF_USER, "the loss of model '%s' is %s", u->object->name,
             isnan(loss) ? "not a number" : "infinite");
    place_nonfinite(u, l->loss, UINT64_MAX, err);
    if (err && err->hint[0])
        return RLF_USER;
    for (int i = 0; i < l->n_calls; i++) {
        const rlf_live_call *live = &l->calls[i];
        if (live->input < 0)
            continue;
        const rlf_rows *rows = u->call->in[live->set_input].rows;
        uint32_t row = first_nonfinite(&u->inputs[live->input]);
        if (row == rows->samples->count)
            continue;
        rlf_err_hint(
            err, "%s.%s of %s is the first value that is not finite",
            u->object->name, live->class->name,
            rlf_rows_name(u->call->env, rows, row, u->call->env->pool));
        return RLF_USER;
    }
    rlf_err_hint(err, "what the model gives is finite: look for a division by "
                      "0, a log of 0 or an exp of something large, and clamp");
    return RLF_USER;
}

/* The derivatives of the loss by rows first..first+n-1, from the columns. */
rlf_status
rlf_update_get_gradient(rlf_update *u, const rlf_update_micro *m, int64_t first,
                        int64_t n, rlf_err *err)
{
    const rlf_update_group *g = m->group;
    const rlf_loss *loss = u->call->node->loss;
    memset(m->d_logprob + first, 0, (size_t)n * sizeof *m->d_logprob);
    memset(m->d_scalar + first, 0, (size_t)n * sizeof *m->d_scalar);
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        const rlf_update_set *set = rlf_update_serves(g, live);
        if (live->input < 0 || !set)
            continue;
        bool logprob = rlf_read_kind_of(live->class) == RLF_READ_LOGPROB;
        float *to = logprob ? m->d_logprob : m->d_scalar;
        const double *from = u->outputs[live->gradient].number;
        cursor c = cursor_at(m, first);
        for (int64_t k = first; k < first + n; k++, cursor_next(g, &c)) {
            uint64_t at = cursor_place(g, c);
            if (rlf_update_set_of(g, c.seq) != set)
                continue;
            to[k] += (float)from[at];
            if (!isfinite(to[k]))
                return fail_row(u, g, live, c,
                                u->inputs[live->input].number[at], from[at],
                                err);
        }
    }
    rlf_update_keep_alone(u, m, first, n, m->d_logprob + first);
    rlf_update_keep_alone(u, m, first, n, m->d_scalar + first);
    return RLF_OK;
}

/* The samples of rows first..first+n-1, a row of several sets once; how many.
 * Of one set its tokens may be a part of a sample. */
static uint32_t
find_parts(const rlf_update_micro *m, int64_t first, int64_t n, rlf_arena *pool,
           rlf_expr_part **out)
{
    const rlf_update_group *g = m->group;
    cursor c = cursor_at(m, first), end = cursor_at(m, first + n - 1);
    uint32_t from = c.seq, count = end.seq - c.seq + 1;
    if (g->n_sets > 1) { /* they are taken as a whole */
        RLF_ASSERT(first == 0 && n == m->rows && m->count % g->n_sets == 0);
        from = m->first;
        count = m->count / g->n_sets;
    }
    rlf_expr_part *parts = *out = RLF_NEW_ARRAY(pool, rlf_expr_part, count);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (rlf_expr_part){rlf_update_row_of(g, from + i * g->n_sets),
                                   0, UINT32_MAX};
    if (g->last || g->n_sets > 1)
        return count;
    parts[0].first = c.token;
    if (end.token + 1 < rlf_sequence_own(&g->seqs[end.seq]))
        parts[count - 1].last = end.token + 1;
    return count;
}

/* Run the program for the rows first..first+n-1 of the micro-batch. */
rlf_status
rlf_update_run_program(rlf_update *u, const rlf_update_micro *m, int64_t first,
                       int64_t n, rlf_err *err)
{
    rlf_expr_part *parts;
    if (!n)
        return RLF_OK;
    uint32_t count = find_parts(m, first, n, u->call->env->pool, &parts);
    return rlf_expr_part_run(u->frame, m->group->sets[0].rows->samples->domain,
                             parts, count, err);
}

/* ---- values over vocab ---- */

/* The columns of the tile for rows first..first+n-1 of the micro-batch. */
void
rlf_update_place_words(const rlf_update_micro *m, int64_t first, int64_t n)
{
    const rlf_update_group *g = m->group;
    cursor c = cursor_at(m, first);
    for (int64_t k = 0; k < n; k++, cursor_next(g, &c))
        rlf_vocab_place(g->words, k, rlf_update_row_of(g, c.seq), c.token);
}

/* Puts what the tile reduced to into the live columns. */
void
rlf_update_put_words(rlf_update *u, const rlf_update_micro *m, int64_t first,
                     int64_t n)
{
    const rlf_update_group *g = m->group;
    const rlf_vocab_program *w = g->words->plan->words;
    for (size_t i = 0; i < w->program->outputs.count; i++) {
        cursor c = cursor_at(m, first);
        double *to = u->inputs[w->result[i]].number;
        for (int64_t k = first; k < first + n; k++, cursor_next(g, &c))
            to[cursor_place(g, c)] = m->result[i][k];
    }
}

/* The loss's derivatives by what was reduced, from columns. */
void
rlf_update_get_words(rlf_update *u, const rlf_update_micro *m, int64_t first,
                     int64_t n)
{
    const rlf_update_group *g = m->group;
    const rlf_vocab_program *w = g->words->plan->words;
    for (size_t i = 0; i < w->program->outputs.count; i++) {
        cursor c = cursor_at(m, first);
        const double *from = u->outputs[w->derivative[i]].number;
        for (int64_t k = 0; k < n; k++, cursor_next(g, &c))
            g->words->derivative[i][k] = from[cursor_place(g, c)];
    }
    rlf_update_keep_words(u, m, first, n);
}

/* ---- on the device ---- */

/* The rows' values in a column. */
static void
gather_rows(const rlf_update_micro *m, int64_t first, int64_t n,
            const rlf_column *column, double *to)
{
    cursor c = cursor_at(m, first);
    for (int64_t k = 0; k < n; k++, cursor_next(m->group, &c))
        to[k] = column->number[cursor_place(m->group, c)];
}

rlf_status
rlf_update_run_point(rlf_update *u, const rlf_update_flight *f, int64_t first,
                     int64_t n, const float *logprob, float *dlogprob,
                     rlf_err *err)
{
    const rlf_update_micro *m = f->micro;
    const rlf_update_point *p = m->group->point;
    const rlf_vocab_tile *t = m->group->words;
    rlf_arena *pool = u->call->env->pool;
    uint32_t n_out = p->program->n_outputs, made = 0;
    rlf_dense_column *in = RLF_NEW_ARRAY(pool, rlf_dense_column, p->n_sources);
    rlf_dense_column *out = RLF_NEW_ARRAY(pool, rlf_dense_column, n_out);
    for (int i = 0; i < p->n_sources; i++) {
        int index = p->sources[i].index;
        switch (p->sources[i].kind) {
        case RLF_SOURCE_LOGPROB:
            in[i] = (rlf_dense_column){(void *)(uintptr_t)logprob, true};
            break;
        case RLF_SOURCE_WORDS:
            in[i].data = rlf_vocab_result_at(t, (uint32_t)index);
            break;
        default:
            gather_rows(m, first, n,
                        p->sources[i].kind == RLF_SOURCE_INPUT
                            ? &u->inputs[index]
                            : &u->outputs[index],
                        u->known[i]);
            in[i].data = u->known[i];
        }
    }
    if (p->call >= 0)
        out[made++] = (rlf_dense_column){dlogprob, true};
    for (uint32_t i = 0; made < n_out; i++)
        out[made++].data = rlf_vocab_derivative_at(t, i);
    rlf_expr_dense_args args = {
        .m = n, .program = p->program, .inputs = in, .outputs = out};
    RLF_TRY(f->pass->kernels->expr_dense(f->pass->queue, &args, err));
    return rlf_update_keep_point(u, f, first, n, p->call >= 0 ? dlogprob : NULL,
                                 err);
}

/* Puts what was computed on the device for a micro-batch into the columns;
 * fails for what is not finite. */
static rlf_status
settle_micro(rlf_update *u, const rlf_update_micro *m, rlf_err *err)
{
    const rlf_update_group *g = m->group;
    if (g->point)
        rlf_update_put_live(u, m, 0, m->rows);
    if (g->point && g->words)
        rlf_update_put_words(u, m, 0, m->rows);
    for (int64_t k = 0; g->point && g->logprob && k < m->rows; k++)
        if (!isfinite(m->d_logprob[k]))
            return fail_row(u, g, &u->call->node->loss->calls[g->point->call],
                            cursor_at(m, k), (double)m->logprob[k],
                            (double)m->d_logprob[k], err);
    for (int64_t k = 0; g->words && k < m->rows; k++)
        if (m->nonfinite[k].word >= 0)
            return fail_row(u, g, NULL, cursor_at(m, k),
                            (double)m->nonfinite[k].was,
                            (double)m->nonfinite[k].is, err);
    return RLF_OK;
}

rlf_status
rlf_update_settle(rlf_update *u, rlf_err *err)
{
    int last = u->model->table->cut.chunks - 1;
    if (!rlf_table_ends(u->model->table, last))
        return RLF_OK;
    RLF_TRY(rlf_queue_sync(u->model->queue, err));
    for (size_t i = 0; i < u->micros.count; i++)
        RLF_TRY(settle_micro(u, &u->micros.data[i], err));
    return RLF_OK;
}
