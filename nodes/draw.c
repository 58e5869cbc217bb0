/* Rows of a data set: a flow's draw (`flow f(batch: prompts[64])`), or all of
 * them where its name stands outside the head (evaluation).
 *
 * A drawn row's identity is the number of its draw in the run, so that random
 * keys depend on neither time nor place; that of an evaluated row is its number
 * in the data, also where an evaluation gets them in pieces. In a collect the
 * count is a value that each round gives; what the argument holds besides is
 * the most that it can be. */
#include "nodes/data.h"
#include "nodes/rows.h"

#include <string.h>

static const rlf_formal formals[] = {
    {.name = "count",
     .kind = RLF_FORMAL_INT,
     .least = 1,
     .most = 1e9,
     .doc = "how many rows a step draws"},
    {.name = "weight",
     .kind = RLF_FORMAL_COLUMN,
     .labelled = true,
     .doc = "one per row of the data: each next row is drawn in proportion to "
            "it"},
};

/* Infers what is known without a model; the rest when the data is there (init).
 */
static void
infer(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_arg *count = rlf_node_arg(node, "count");
    if (count->kind == RLF_ARG_ABSENT || graph->evaluation.rows)
        return;
    bool weighted = rlf_node_arg(node, "weight")->kind != RLF_ARG_ABSENT;
    rlf_err err = RLF_ERR_NONE;
    rlf_data *data = NULL;
    /* A file that cannot be read is told of when the run opens it. */
    if (rlf_data_peek(graph, &graph->resources.data[node->receiver],
                      (uint64_t)count->number, &err, &data) >= 0 &&
        rlf_data_can_draw(data, count->number, weighted, &err) < 0) {
        rlf_diag *diag =
            rlf_diag_error(diags, "data", count->span, "%s", err.sentence);
        rlf_diag_hint(diags, diag, "%s", err.hint);
    }
    rlf_data_free(data);
}

/* The column of the data that a value is; NULL: it is none. */
static const rlf_record_column *
column_of(const rlf_env *env, const rlf_node *draw, int value)
{
    const rlf_graph *graph = env->graph;
    const rlf_data *data = env->resource[draw->receiver];
    int by = graph->values.data[value].node;
    const rlf_node *node = by < 0 ? NULL : &graph->nodes.data[by];
    if (!node || node->class->form != RLF_FORM_FIELD || !node->n_inputs)
        return NULL; /* `step` has no input */
    const rlf_value *of = &graph->values.data[node->inputs[0]];
    if (strcmp(node->class->name, "prompt") == 0)
        return of->kind == RLF_VALUE_SET &&
                       graph->sets.data[of->set].data == draw->receiver
                   ? data->prompt
                   : NULL;
    if (node->receiver != draw->receiver)
        return NULL;
    return rlf_records_column(&data->records, rlf_node_arg(node, "name")->text);
}

/* The weights of the rows as far as numbers and the data tell them: *known is
 * false if something else does, such as a state. */
static rlf_status
known_weights(const rlf_env *env, const rlf_node *draw, rlf_arena *arena,
              rlf_err *err, double *out, bool *known)
{
    const rlf_graph *graph = env->graph;
    const rlf_data *data = env->resource[draw->receiver];
    const rlf_arg *arg = rlf_node_arg(draw, "weight");
    const rlf_record_column *column = NULL;
    if (arg->kind == RLF_ARG_VALUE)
        column = column_of(env, draw, arg->value);
    for (size_t i = 0; i < data->records.count; i++)
        out[i] = column && column->numbers ? column->numbers[i] : arg->number;
    *known = arg->kind != RLF_ARG_VALUE || (column && column->numbers);
    if (*known)
        return RLF_OK;
    int by = graph->values.data[arg->value].node, op = -1;
    const rlf_node *node = by < 0 ? NULL : &graph->nodes.data[by];
    if (!node || !node->expr)
        return RLF_OK;
    for (int i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] == arg->value)
            op = node->expr->outputs.data[i].op;
    size_t n = node->expr->inputs.count;
    const rlf_record_column **columns =
        RLF_NEW_ARRAY(arena, const rlf_record_column *, n);
    for (size_t i = 0; i < n; i++)
        columns[i] = column_of(env, draw, node->inputs[i]);
    return op < 0 ? RLF_OK
                  : rlf_data_values(data, node->expr, op, columns, arena, err,
                                    out, known);
}

/* In a collect only the first draw must have all its rows, however few. */
static rlf_status
check_known_weights(const rlf_env *env, const rlf_node *draw, rlf_err *err)
{
    const rlf_data *data = env->resource[draw->receiver];
    const rlf_arg *count = rlf_node_arg(draw, "count"),
                  *weight = rlf_node_arg(draw, "weight");
    uint32_t n = count->kind == RLF_ARG_NUMBER ? (uint32_t)count->number : 1;
    rlf_arena *arena = rlf_arena_new();
    double *weights;
    rlf_status status =
        rlf_arena_try(arena, sizeof *weights * data->records.count,
                      "the weights of rows", err, &weights);
    bool known = false;
    if (status >= 0)
        status = known_weights(env, draw, arena, err, weights, &known);
    if (status >= 0 && known)
        status = rlf_data_check_weights(data, weights, NULL, n, err);
    rlf_arena_free(arena);
    if (status < 0)
        rlf_err_place(err, weight->span.source ? weight->span : draw->span,
                      "draw");
    return status;
}

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **state)
{
    *state = NULL;
    const rlf_arg *count = rlf_node_arg(node, "count");
    if (count->kind == RLF_ARG_ABSENT || env->graph->evaluation.rows)
        return RLF_OK;
    bool weighted = rlf_node_arg(node, "weight")->kind != RLF_ARG_ABSENT;
    rlf_status status = rlf_data_can_draw(env->resource[node->receiver],
                                          count->number, weighted, err);
    if (status < 0) {
        rlf_err_place(err, count->span.source ? count->span : node->span,
                      "draw");
        return status;
    }
    return weighted ? check_known_weights(env, node, err) : RLF_OK;
}

/* A weight for each row of the data, from the column that was given. */
static const double *
weights(const rlf_call *call, const rlf_data *data)
{
    const rlf_arg *arg = rlf_node_arg(call->node, "weight");
    uint32_t rows = (uint32_t)data->records.count;
    double *out = RLF_NEW_ARRAY(call->env->pool, double, rows);
    const rlf_domains *domains = &call->env->graph->domains;
    for (uint32_t i = 0; i < rows; i++) {
        const rlf_column *c =
            arg->kind == RLF_ARG_VALUE ? &call->in[arg->input].column : NULL;
        if (!c)
            out[i] = arg->number;
        else if (c->space->domain == 0)
            out[i] = c->number[0];
        else
            out[i] = c->number[rlf_space_row(domains, data->space, i,
                                             c->space->domain)];
    }
    return out;
}

/* Rows in proportion to the weights. A later round of a collect gets fewer
 * where no more are above 0; a first draw that cannot have them all fails. */
static rlf_status
draw_weighted(const rlf_call *call, rlf_data *data, uint32_t *n, rlf_err *err,
              uint32_t *row, uint64_t *first)
{
    const rlf_node *node = call->node;
    const double *weight = weights(call, data);
    uint32_t step = call->env->step;
    uint32_t left = rlf_data_left(data, node->site, step, weight);
    if (left < *n && rlf_data_cursor(data, node->site, 0)->n_taken)
        *n = left;
    if (!*n)
        return RLF_OK;
    return rlf_data_draw_weighted(data, call->env->seed, node->site, step, *n,
                                  weight, err, row, first);
}

/* Of an evaluation: the rows of this step, in their order. */
static void
choose_next(const rlf_call *call, const rlf_data *data, uint32_t *n,
            uint32_t *row, uint64_t *first)
{
    uint64_t all = data->records.count,
             limit = call->env->graph->evaluation.limit;
    if (limit && all > limit)
        all = limit;
    *first = (uint64_t)(call->env->step - 1) * *n;
    *n = *first >= all ? 0 : all - *first < *n ? (uint32_t)(all - *first) : *n;
    for (uint32_t i = 0; i < *n; i++)
        row[i] = (uint32_t)*first + i;
}

/* Chooses the rows of a draw, and how many; *first: the number of the first in
 * the run. */
static rlf_status
choose(const rlf_call *call, rlf_data *data, uint32_t *n, rlf_err *err,
       uint32_t *row, uint64_t *first)
{
    const rlf_node *node = call->node;
    *first = 0;
    if (call->env->graph->evaluation.rows) {
        choose_next(call, data, n, row, first);
        return RLF_OK;
    }
    if (rlf_node_arg(node, "count")->kind == RLF_ARG_ABSENT) {
        for (uint32_t i = 0; i < *n; i++)
            row[i] = i;
        return RLF_OK;
    }
    if (rlf_node_arg(node, "weight")->kind != RLF_ARG_ABSENT)
        return draw_weighted(call, data, n, err, row, first);
    *first = rlf_data_draw(data, call->env->seed, node->site, call->env->step,
                           *n, row);
    return RLF_OK;
}

/* All rows of the data. */
static rlf_status
take_all(rlf_data *data, rlf_err *err, rlf_space **out)
{
    uint32_t n = data->space->count;
    uint64_t *identity;
    *out = data->space;
    if (data->space->identity)
        return RLF_OK;
    RLF_TRY(rlf_arena_try(data->arena, (n + 1) * sizeof *identity,
                          "the numbers of the rows of data", err, &identity));
    for (uint32_t i = 0; i < n; i++)
        identity[i] = i;
    data->space->identity = identity;
    return RLF_OK;
}

/* The rows' space, right below that of all rows of the data. */
static rlf_space *
make_space(const rlf_call *call, const rlf_data *data, const rlf_set *set,
           const uint32_t *row, uint32_t n, uint64_t first)
{
    const rlf_graph *graph = call->env->graph;
    rlf_space *space = rlf_space_rows(call->env->pool, graph, set->prompts, n);
    for (uint32_t i = 0; i < n; i++)
        ((uint64_t *)space->identity)[i] = first + i;
    const rlf_domain *d = rlf_domains_get(&graph->domains, set->prompts);
    for (int k = 0; k < d->n_up; k++)
        if (d->up[k] == data->space->domain)
            space->up[k] = (rlf_space_up){data->space, row};
    return space;
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    const rlf_graph *graph = call->env->graph;
    rlf_arena *pool = call->env->pool;
    const rlf_node *node = call->node;
    rlf_data *data = call->env->resource[node->receiver];
    const rlf_value *value = &graph->values.data[node->outputs[0]];
    const rlf_set *set = &graph->sets.data[value->set];
    const rlf_arg *count = rlf_node_arg(node, "count");
    bool all = count->kind == RLF_ARG_ABSENT;
    double many = (double)data->records.count;
    if (!all)
        RLF_TRY(rlf_call_number(call, "count", err, &many));
    uint32_t n = (uint32_t)many;

    uint32_t *row;
    RLF_TRY(rlf_rows_room(pool, set->name, n, 0, err));
    if (!all && !graph->evaluation.rows) /* rows in order need no cursor */
        RLF_TRY(rlf_data_room(data, call->env->seed, node->site, n, err));
    row = RLF_NEW_ARRAY(pool, uint32_t, n);
    uint64_t first;
    RLF_TRY(choose(call, data, &n, err, row, &first));
    rlf_prompt *prompt = rlf_rows_new_prompts(pool, n);
    for (uint32_t i = 0; i < n; i++)
        RLF_TRY(rlf_data_prompt(data, row[i], pool, err, &prompt[i]));
    rlf_space *space;
    if (data->space->domain == set->prompts)
        RLF_TRY(take_all(data, err, &space));
    else
        space = make_space(call, data, set, row, n, first);
    rlf_rows *rows = RLF_NEW(pool, rlf_rows);
    *rows = (rlf_rows){.set = set,
                       .prompts = space,
                       .samples = space,
                       .prompt = prompt,
                       .data_row = row,
                       .temperature = 1};
    call->out[0].rows = rows;
    return RLF_OK;
}

const rlf_node_class rlf_node_draw = {
    .name = "draw",
    .doc = "rows of a data set: some each step, or all of them",
    .form = RLF_FORM_SYNTAX,
    .writes = true,
    .draws = true,
    .receiver = RLF_RECEIVER_DATA,
    .formals = formals,
    .n_formals = 2,
    .gives = RLF_GIVES_SET,
    .level = RLF_LEVEL_PROMPT,
    .granularity = RLF_GRAIN_BATCH,
    .infer = infer,
    .cost = rlf_class_no_cost,
    .init = init,
    .fini = rlf_class_no_fini,
    .open = rlf_class_no_open,
    .step = step,
};
