/* Arithmetic: a fused expression program over the columns of a step.
 *
 * The grammar made the program (engine/expr), kernels/expr.h runs it, whole or
 * on the rows of a piece. Here its columns and spaces are put together. */
#include "kernels/expr.h"

#include "engine/graph/class.h"
#include "nodes/nonfinite.h"
#include "nodes/sequences.h"
#include "nodes/traced.h"

#include <stdlib.h>

/* The state of the node, which lasts for the run. */
typedef struct rlf_expr_node {
    rlf_arena *arena;
    const rlf_expr_plan *plan;
} state;

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **out)
{
    (void)env;
    state *s = rlf_class_arena_state(sizeof *s);
    rlf_status status = rlf_expr_plan_new(node->expr, s->arena, err, &s->plan);
    if (status < 0)
        rlf_class_arena_fini(s);
    else
        *out = s;
    return status;
}

/* Enter `space` and all spaces above it by their domains. */
static void
enter(const rlf_graph *graph, const rlf_space *space, const rlf_space **spaces)
{
    if (!space || spaces[space->domain])
        return;
    spaces[space->domain] = space;
    const rlf_domain *d = rlf_domains_get(&graph->domains, space->domain);
    for (int i = 0; i < d->n_up; i++)
        enter(graph, space->up[i].to, spaces);
}

const rlf_space **
rlf_call_spaces(const rlf_call *call)
{
    const rlf_graph *graph = call->env->graph;
    size_t n = graph->domains.list.count;
    const rlf_space **spaces =
        RLF_NEW_ARRAY(call->env->pool, const rlf_space *, n);
    for (int i = 0; i < call->node->n_inputs; i++) {
        const rlf_value *value = &graph->values.data[call->node->inputs[i]];
        if (value->kind == RLF_VALUE_SET) {
            enter(graph, call->in[i].rows->tokens, spaces);
            enter(graph, call->in[i].rows->samples, spaces);
            enter(graph, call->in[i].rows->prompts, spaces);
        } else {
            enter(graph, call->in[i].column.space, spaces);
        }
    }
    if (!spaces[0])
        spaces[0] = rlf_space_rows(call->env->pool, graph, 0, 1);
    return spaces;
}

rlf_status
rlf_call_open_columns(rlf_call *call, const char *what, rlf_err *err)
{
    const rlf_graph *graph = call->env->graph;
    const rlf_space **spaces = rlf_call_spaces(call);
    for (int i = 0; i < call->node->n_outputs; i++) {
        const rlf_value *value = &graph->values.data[call->node->outputs[i]];
        if (!spaces[value->domain])
            return rlf_fail(
                err, RLF_BUG, "no input of '%s' lies on '%s'",
                call->node->class->name,
                rlf_domains_get(&graph->domains, value->domain)->name);
        RLF_TRY(rlf_column_try(call->env->pool, spaces[value->domain],
                               value->kind == RLF_VALUE_TEXT, what, err,
                               &call->out[i].column));
    }
    return RLF_OK;
}

static rlf_status
open(rlf_call *call, rlf_err *err)
{
    return rlf_call_open_columns(call, "the values of an expression", err);
}

static rlf_expr_bind
bind_columns(const rlf_call *call)
{
    const rlf_node *node = call->node;
    const rlf_env *env = call->env;
    size_t n_in = node->expr->inputs.count, n_out = node->expr->outputs.count;
    rlf_column *inputs = RLF_NEW_ARRAY(env->pool, rlf_column, n_in);
    rlf_column *outputs = RLF_NEW_ARRAY(env->pool, rlf_column, n_out);
    for (size_t i = 0; i < n_in; i++)
        inputs[i] = call->in[i].column;
    for (size_t i = 0; i < n_out; i++)
        outputs[i] = call->out[i].column;
    return (rlf_expr_bind){.inputs = inputs,
                           .outputs = outputs,
                           .spaces = rlf_call_spaces(call),
                           .seed = env->seed,
                           .step = rlf_env_step(env),
                           .iteration = call->iteration};
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    const state *s = call->state;
    const rlf_node *node = call->node;
    const rlf_env *env = call->env;
    rlf_expr_bind bind = bind_columns(call);
    rlf_status status =
        call->rows ? rlf_expr_run_rows(s->plan, env->queue, &bind, node->rows,
                                       call->rows, call->n_rows, err)
                   : rlf_expr_run(s->plan, env->queue, &bind, err);
    if (status == RLF_USER)
        rlf_nonfinite_place_choice(call, &bind, err);
    RLF_TRY(status);
    rlf_nonfinite_note(call, &bind);
    return RLF_OK;
}

/* The operations that lead to what the program gives at the sample, if it gives
 * anything there. */
static void
trace(const rlf_call *call, rlf_sample_trace *trace, const rlf_traced_row *at)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_expr_bind bind = bind_columns(call);
    rlf_operations all;
    rlf_buf fact = {0};
    if (rlf_traced_open(call->node->expr, &bind, arena, &all)) {
        rlf_sample_trace_begin(trace->graph, "arithmetic", call->node,
                               call->iteration, &fact);
        if (rlf_traced_terms(trace, at, &all, NULL, !call->node->looking,
                             &fact)) {
            rlf_buf_putc(&fact, '}');
            rlf_sample_trace_add(trace, &fact);
        }
    }
    rlf_operations_close(&all);
    rlf_buf_free(&fact);
    rlf_arena_free(arena);
}

/* Values on a domain, of a piece as many as its rows have. */
static double
values_on(const rlf_load *load, const rlf_node *node, int domain)
{
    const rlf_piece *piece = load->piece;
    const rlf_domains *domains = &load->graph->domains;
    double all = load->sizes->values[domain];
    if (!piece || !domain)
        return all;
    if (rlf_domains_get(domains, domain)->kind == RLF_DOMAIN_TOKENS)
        return (double)piece->rows * piece->response;
    double rows = node->rows < 0 ? 0 : load->sizes->values[node->rows];
    return rows > 0 ? all * (double)piece->rows / rows : all;
}

/* An operation a value, and each column once; programs run on the host. */
static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_expr *p = node->expr;
    *out = (rlf_cost){0};
    if (!rlf_load_has(load, RLF_PIECE_ROWS))
        return;
    out->calls = (double)p->ops.count;
    for (size_t i = 0; i < p->ops.count; i++)
        out->flops += values_on(load, node, p->ops.data[i].domain);
    for (size_t i = 0; i < p->inputs.count; i++)
        out->read += 8 * values_on(load, node, p->inputs.data[i].domain);
    for (size_t i = 0; i < p->outputs.count; i++)
        out->written +=
            8 * values_on(load, node,
                          p->ops.data[p->outputs.data[i].op].domain);
}

const rlf_node_class rlf_node_expr = {
    .name = "expr",
    .doc = "arithmetic on columns, fused into one pass",
    .form = RLF_FORM_SYNTAX,
    .partition = RLF_PARTITION_NEAR,
    .program = RLF_PROGRAM_EXPR,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_SAMPLE,
    .infer = rlf_class_no_infer,
    .cost = cost,
    .init = init,
    .fini = rlf_class_arena_fini,
    .open = open,
    .step = step,
    .trace = trace,
};
