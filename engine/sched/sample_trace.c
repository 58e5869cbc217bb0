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
typedef struct rows {
    RLF_VEC(rlf_traced_row) list;
} rows;

static void
find_rows(const rlf_rank *rank, const slot *s, rows *found)
{
    rlf_traced_row at;
    const rlf_sample_trace *trace = rank->env.sample_trace;
    const rlf_node *node = s->call.node;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &rank->graph->values.data[node->outputs[i]];
        const rlf_rows *of =
            v->kind == RLF_VALUE_SET ? s->call.out[i].rows : NULL;
        if (!of || !rlf_sample_trace_row(trace, of->samples, &at.row))
            continue;
        at.samples = of->samples;
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

/* Tells of a node with the first row from which its columns can be reached. */
static void
add_node(rlf_sample_trace *trace, const slot *s, const rows *found)
{
    const rlf_call *call = &s->call;
    for (size_t i = 0; i < found->list.count; i++) {
        size_t before = trace->facts.n;
        const rlf_traced_row *at = &found->list.data[i];
        if (call->node->class->trace)
            call->node->class->trace(call, trace, at);
        for (int k = 0; k < call->node->n_outputs; k++)
            add_column(trace, call, k, at);
        if (trace->facts.n > before)
            return;
    }
}

void
rlf_rank_trace_sample(rlf_rank *rank)
{
    rlf_sample_trace *trace = rlf_sample_trace_of(&rank->env);
    rows found = {0};
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
