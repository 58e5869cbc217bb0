/* The sample that is looked at (engine/graph/sample_trace.h), as a rank has it:
 * an optimizer step of it alone, and at the end of the step the columns of all
 * nodes. */
#include "engine/graph/sample_trace.h"

#include "engine/graph/class.h"
#include "engine/sched/pipeline.h"
#include "engine/sched/rank.h"

#include <string.h>

/* ---- an update, of the sample alone ---- */

/* Every rank knows the samples of all sets, so all answer alike. */
static bool
reads_sample(const rlf_sample_trace *trace, const rlf_call *call)
{
    uint32_t row;
    for (int i = 0; i < call->node->n_inputs; i++) {
        const rlf_value *v = &trace->graph->values.data[call->node->inputs[i]];
        if (v->kind == RLF_VALUE_SET && call->in[i].rows &&
            rlf_sample_trace_row(trace, call->in[i].rows->samples, &row))
            return true;
    }
    return false;
}

rlf_status
rlf_rank_train_alone(rlf_rank *rank, rlf_call *const *calls, int n,
                     rlf_err *err)
{
    const rlf_sample_trace *trace = rlf_sample_trace_of(calls[0]->env);
    bool any = false;
    double ignored = 0;
    for (int i = 0; trace && i < n; i++)
        any |= reads_sample(trace, calls[i]);
    if (!any)
        return RLF_OK;
    for (int i = 0; i < n; i++)
        calls[i]->alone = true;
    RLF_TRY(rlf_pipeline_run(rank->plan, calls, n, &ignored, err));
    for (int i = 0; i < n; i++) {
        RLF_TRY(calls[i]->node->class->trainable->finish_alone(calls[i], err));
        calls[i]->alone = false;
    }
    return RLF_OK;
}

/* ---- columns ---- */

/* The rows that are the sample: one of each set that has it. */
typedef struct found_rows {
    RLF_VEC(rlf_traced_row) list;
} found_rows;

/* A response that no model has sampled: no other fact has its tokens. */
static void
add_response(rlf_sample_trace *trace, const rlf_call *call,
             const rlf_rows *rows, uint32_t row)
{
    const rlf_sample *sample = &rows->sample[row];
    const rlf_prompt *prompt = &rows->prompt[rlf_space_row(
        &trace->graph->domains, rows->samples, row, rows->prompts->domain)];
    rlf_buf fact = {0};
    rlf_sample_trace_begin(trace->graph, "response", call->node,
                           call->iteration, &fact);
    rlf_buf_puts(&fact, ",\"prompt\":");
    rlf_buf_json(&fact, prompt->text.p, prompt->text.n);
    rlf_buf_puts(&fact, ",\"response\":");
    rlf_buf_json(&fact, sample->text.p, sample->text.n);
    rlf_buf_puts(&fact, ",\"ids\":[");
    for (uint32_t t = 0; t < sample->n_ids && sample->ids; t++)
        rlf_buf_printf(&fact, "%s%u", t ? "," : "", sample->ids[t]);
    rlf_buf_puts(&fact, "]}");
    rlf_sample_trace_add(trace, &fact);
    rlf_buf_free(&fact);
}

/* Notes which numbers the samples of the step have. */
static void
note_numbers(rlf_sample_trace *trace, const rlf_space *samples)
{
    rlf_mutex_lock(&trace->mutex);
    for (uint32_t i = 0; i < samples->count; i++) {
        uint64_t n = samples->identity ? samples->identity[i] : i;
        trace->least = n < trace->least ? n : trace->least;
        trace->most = n > trace->most ? n : trace->most;
    }
    rlf_mutex_unlock(&trace->mutex);
}

static void
find_rows(const rlf_rank *rank, const slot *s, found_rows *found)
{
    rlf_traced_row at;
    rlf_sample_trace *trace = rank->env.sample_trace;
    const rlf_node *node = s->call.node;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &rank->graph->values.data[node->outputs[i]];
        const rlf_rows *of =
            v->kind == RLF_VALUE_SET ? s->call.out[i].rows : NULL;
        if (of && v->set == trace->set)
            note_numbers(trace, of->samples);
        if (!of || !rlf_sample_trace_row(trace, of->samples, &at.row))
            continue;
        at.samples = of->samples;
        if (of->set->kind == RLF_SET_WRITTEN && v->set == trace->set)
            add_response(trace, &s->call, of, at.row);
        RLF_PUSH(&found->list, at);
    }
}

static void
add_column(rlf_sample_trace *trace, const rlf_call *call, int i,
           const rlf_traced_row *at)
{
    const rlf_graph *graph = trace->graph;
    const rlf_value *v = &graph->values.data[call->node->outputs[i]];
    const rlf_column *column = &call->out[i].column;
    uint32_t row;
    rlf_buf fact = {0};
    char words[96];
    if (v->kind != RLF_VALUE_NUMBER || !column->number || !column->space ||
        (call->node->looking && !v->domain) ||
        !rlf_sample_trace_below(trace, at, column->space, &row))
        return;
    rlf_node_words(graph, call->node, words, sizeof words);
    const char *name = v->label ? v->label : v->name;
    rlf_sample_trace_begin(graph, "values", call->node, call->iteration, &fact);
    rlf_buf_puts(&fact, ",\"by\":");
    rlf_buf_json(&fact, words, strlen(words));
    rlf_buf_puts(&fact, ",\"name\":");
    rlf_buf_json(&fact, name, strlen(name));
    rlf_sample_trace_numbers(graph, column, row, &fact);
    rlf_buf_putc(&fact, '}');
    rlf_sample_trace_add(trace, &fact);
    rlf_buf_free(&fact);
}

/* How many of the columns, but for numbers that the step has once, can be
 * reached from the row. */
static int
reached(const rlf_sample_trace *trace, const rlf_traced_row *at,
        const int *values, const rlf_content *contents, int n)
{
    int count = 0;
    uint32_t row;
    for (int i = 0; i < n; i++) {
        const rlf_value *v = &trace->graph->values.data[values[i]];
        const rlf_space *space = v->kind == RLF_VALUE_SET || !contents
                                     ? NULL
                                     : contents[i].column.space;
        count += space && v->domain > 0 &&
                 rlf_sample_trace_below(trace, at, space, &row);
    }
    return count;
}

/* Tells of a node with the row from which most of its columns can be reached:
 * what rounds chose from and what they chose are different sets. */
static void
add_node(rlf_sample_trace *trace, const slot *s, const found_rows *found)
{
    const rlf_call *call = &s->call;
    const rlf_node *node = call->node;
    const rlf_traced_row *at = NULL;
    int most = -1;
    for (size_t i = 0; i < found->list.count; i++) {
        const rlf_traced_row *one = &found->list.data[i];
        int n = reached(trace, one, node->outputs, call->out, node->n_outputs) +
                reached(trace, one, node->inputs, call->in, node->n_inputs);
        if (n >= most) {
            most = n;
            at = one;
        }
    }
    if (at && node->class->trace)
        node->class->trace(call, trace, at);
    for (int k = 0; at && k < node->n_outputs; k++)
        add_column(trace, call, k, at);
}

void
rlf_rank_trace_sample(rlf_rank *rank)
{
    rlf_sample_trace *trace = rlf_sample_trace_of(&rank->env);
    found_rows found = {0};
    if (!trace)
        return;
    size_t n = (size_t)rank->n_steps;
    for (size_t i = rank->env.step % n; i < rank->slots.count; i += n)
        if (rank->slots.data[i].opened)
            find_rows(rank, &rank->slots.data[i], &found);
    for (size_t i = rank->env.step % n; i < rank->slots.count; i += n)
        if (rank->slots.data[i].opened)
            add_node(trace, &rank->slots.data[i], &found);
    RLF_VEC_FREE(&found.list);
}
