/* An update as the sample sees it that is looked at (engine/graph/
 * sample_trace.h): the loss's operations at it, the derivatives by its live
 * values, and the norm of the part of the gradient that comes through them.
 *
 * That part is had by a walk through the whole schedule in which the
 * derivatives by all other samples are 0, before the update itself. The loss is
 * not computed of the sample alone: what others decide, as the mean that an
 * advantage is measured from or the number of tokens that a mean is over, is as
 * it is. So the parts of all samples add up to the gradient. */
#include "nodes/update.h"

#include "engine/graph/sample_trace.h"
#include "nodes/traced.h"

#include <string.h>

/* Is sequence k of the group the sample, in whichever of its sets? */
static bool
is_sample(const rlf_update *u, const rlf_update_group *g, uint32_t k)
{
    const rlf_sample_trace *trace = rlf_sample_trace_of(u->call->env);
    const rlf_rows *rows = rlf_update_set_of(g, k)->rows;
    uint32_t row;
    return trace->sets[rows->set - trace->graph->sets.data] &&
           rlf_sample_trace_row(trace, rows->samples, &row) &&
           row == rlf_update_row_of(g, k);
}

/* Rows of the micro-batch, from..to-1. */
typedef struct range {
    int64_t from, to;
} range;

/* The rows of sequence *k of those among first..first+n-1, counted from first,
 * that are of no sample that is looked at; *at is the first row of the
 * sequence. False: there is no further sequence. */
static bool
next_other(const rlf_update *u, const rlf_update_micro *m, int64_t first,
           int64_t n, uint32_t *k, int64_t *at, range *out)
{
    const rlf_update_group *g = m->group;
    for (; *k < m->first + m->count; ++*k) {
        int64_t from = *at - first;
        int64_t to = from + (g->last ? 1 : rlf_sequence_own(&g->seqs[*k]));
        *at = to + first;
        out->from = from < 0 ? 0 : from;
        out->to = to > n ? n : to;
        if (out->from >= out->to || is_sample(u, g, *k))
            continue;
        ++*k;
        return true;
    }
    return false;
}

void
rlf_update_keep_alone(const rlf_update *u, const rlf_update_micro *m,
                      int64_t first, int64_t n, float *derivatives)
{
    range r;
    int64_t at = 0;
    if (!u->call->alone)
        return;
    for (uint32_t k = m->first; next_other(u, m, first, n, &k, &at, &r);)
        memset(derivatives + r.from, 0,
               (size_t)(r.to - r.from) * sizeof *derivatives);
}

void
rlf_update_keep_words(const rlf_update *u, const rlf_update_micro *m,
                      int64_t first, int64_t n)
{
    const rlf_vocab_tile *t = m->group->words;
    range r;
    int64_t at = 0;
    if (!u->call->alone)
        return;
    for (uint32_t k = m->first; next_other(u, m, first, n, &k, &at, &r);)
        for (size_t i = 0; i < t->plan->words->program->outputs.count; i++)
            memset(t->derivative[i] + r.from, 0,
                   (size_t)(r.to - r.from) * sizeof *t->derivative[i]);
}

rlf_status
rlf_update_keep_point(const rlf_update *u, const rlf_update_flight *f,
                      int64_t first, int64_t n, float *dlogprob, rlf_err *err)
{
    const rlf_update_micro *m = f->micro;
    const rlf_vocab_tile *t = m->group->words;
    rlf_queue *queue = f->pass->queue;
    size_t words = t ? t->plan->words->program->outputs.count : 0;
    range r;
    int64_t at = 0;
    if (!u->call->alone)
        return RLF_OK;
    for (uint32_t k = m->first; next_other(u, m, first, n, &k, &at, &r);) {
        size_t rows = (size_t)(r.to - r.from);
        if (dlogprob)
            RLF_TRY(rlf_queue_set(queue, dlogprob + r.from, 0,
                                  rows * sizeof *dlogprob, err));
        for (uint32_t i = 0; i < words; i++)
            RLF_TRY(rlf_queue_set(queue,
                                  rlf_vocab_derivative_at(t, i) + r.from, 0,
                                  rows * sizeof(double), err));
    }
    return RLF_OK;
}

rlf_status
rlf_update_finish_alone(rlf_call *call, rlf_err *err)
{
    rlf_update *u = rlf_update_of(call);
    double *norm = rlf_update_alone(call);
    *norm = 0;
    RLF_TRY(rlf_update_settle(u, err));
    if (!u->any)
        return RLF_OK;
    RLF_TRY(rlf_update_end_all_lanes(u, err));
    RLF_TRY(rlf_gradient_finish(u->model, err));
    RLF_TRY(rlf_optimizer_norm(u->model, err, norm));
    return rlf_gradient_clear(u->model, err);
}

/* ---- the fact ---- */

/* The sample as a row of one of the update's sets. */
static bool
find_sample(const rlf_update *u, const rlf_sample_trace *trace,
            rlf_traced_row *at, uint32_t *samples)
{
    for (uint32_t k = 0; k < u->n_groups; k++)
        for (uint32_t i = 0; i < u->groups[k].n_sets; i++) {
            at->samples = u->groups[k].sets[i].rows->samples;
            *samples = at->samples->count;
            if (rlf_sample_trace_row(trace, at->samples, &at->row))
                return true;
        }
    return false;
}

/* Per operation: is the loss computed by it? Others are of derivatives, which
 * nobody has written. */
static bool *
operations_of_loss(const rlf_loss *loss, rlf_arena *arena)
{
    const rlf_expr *program = loss->program;
    bool *of = RLF_NEW_ARRAY(arena, bool, program->ops.count + 1);
    of[program->outputs.data[loss->loss].op] = true;
    for (size_t i = program->ops.count; i-- > 0;)
        for (int k = 0; of[i] && k < 3; k++)
            if (program->ops.data[i].arg[k] >= 0)
                of[program->ops.data[i].arg[k]] = true;
    return of;
}

static void
add_numbers(const rlf_sample_trace *trace, const rlf_traced_row *at,
            const rlf_column *column, rlf_buf *fact)
{
    uint32_t row;
    if (column->number &&
        rlf_sample_trace_below(trace, at, column->space, &row))
        rlf_sample_trace_numbers(trace->graph, column, row, fact);
}

/* A value that the model gives of the sample, column `given`, and output
 * `derivative` of the loss's program. */
static void
add_value(const rlf_update *u, const rlf_sample_trace *trace,
          const rlf_traced_row *at, const rlf_operations *all,
          const char *name, int given, int derivative, const char *between,
          rlf_buf *fact)
{
    const rlf_loss *loss = u->call->node->loss;
    rlf_buf_printf(fact, "%s{\"name\":", between);
    rlf_buf_json(fact, name, strlen(name));
    for (size_t i = 0; i < loss->program->ops.count; i++) {
        const rlf_expr_op *o = &loss->program->ops.data[i];
        if (o->code == RLF_EXPR_INPUT && o->index == given) {
            rlf_sample_trace_place(trace->graph, o->span, fact);
            break;
        }
    }
    rlf_buf_puts(fact, ",\"given\":{\"of\":\"model\"");
    add_numbers(trace, at, &u->inputs[given], fact);
    rlf_buf_puts(fact, "},\"derivative\":{\"of\":\"loss\"");
    add_numbers(trace, at,
                &all->values[loss->program->outputs.data[derivative].op], fact);
    rlf_buf_puts(fact, "}}");
}

static bool
is_at(const rlf_update *u, const rlf_sample_trace *trace,
      const rlf_traced_row *at, int input)
{
    uint32_t row;
    return rlf_sample_trace_below(trace, at, u->inputs[input].space, &row);
}

/* What the model gives of the sample, also what the loss makes of all words of
 * the vocabulary, and the loss's derivatives by that. */
static void
add_live(const rlf_update *u, const rlf_sample_trace *trace,
         const rlf_traced_row *at, const rlf_operations *all, rlf_buf *fact)
{
    const rlf_loss *loss = u->call->node->loss;
    int n = 0;
    rlf_buf_puts(fact, ",\"live\":[");
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        if (live->input >= 0 && live->gradient >= 0 &&
            is_at(u, trace, at, live->input))
            add_value(u, trace, at, all, live->class->name, live->input,
                      live->gradient, n++ ? "," : "", fact);
    }
    for (int k = 0; k < loss->n_words; k++) {
        const rlf_vocab_program *w = &loss->words[k];
        for (size_t i = 0; i < w->program->outputs.count; i++)
            if (w->derivative && is_at(u, trace, at, w->result[i]))
                add_value(u, trace, at, all,
                          loss->program->inputs.data[w->result[i]].name,
                          w->result[i], w->derivative[i], n++ ? "," : "", fact);
    }
    rlf_buf_putc(fact, ']');
}

static void
put_member(rlf_buf *fact, const char *name, double value)
{
    rlf_buf_printf(fact, ",\"%s\":", name);
    rlf_buf_number(fact, value);
}

void
rlf_update_tell(const rlf_update *u, double loss, double norm,
                const rlf_adamw *settings)
{
    rlf_sample_trace *trace = rlf_sample_trace_of(u->call->env);
    const rlf_loss *program = u->call->node->loss;
    rlf_traced_row at;
    rlf_operations all;
    uint32_t samples;
    rlf_buf fact = {0};
    if (!trace || !find_sample(u, trace, &at, &samples))
        return;
    rlf_arena *arena = rlf_arena_new();
    rlf_sample_trace_begin(trace->graph, "update", u->call->node,
                           u->call->iteration, &fact);
    rlf_buf_puts(&fact, ",\"model\":");
    rlf_buf_json(&fact, u->object->name, strlen(u->object->name));
    rlf_buf_printf(&fact, ",\"samples\":%u", samples);
    put_member(&fact, "loss", loss);
    put_member(&fact, "gradient", *rlf_update_alone(u->call));
    put_member(&fact, "gradient_of_all", norm);
    put_member(&fact, "clip", settings->clip);
    put_member(&fact, "lr", settings->lr);
    if (rlf_traced_open(program->program, &u->bind, arena, &all)) {
        add_live(u, trace, &at, &all, &fact);
        rlf_traced_terms(trace, &at, &all, operations_of_loss(program, arena),
                         true, &fact);
    }
    rlf_buf_putc(&fact, '}');
    rlf_operations_close(&all);
    rlf_sample_trace_add(trace, &fact);
    rlf_buf_free(&fact);
    rlf_arena_free(arena);
}
