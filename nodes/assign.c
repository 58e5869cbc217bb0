/* m := 0.99 * m + 0.01 * other: a model becomes a weighted sum of models. */
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "nodes/model_declare.h"
#include "nodes/sequences.h"

#include <math.h>

static double
factor(const rlf_call *call, const rlf_arg *arg)
{
    if (arg->kind == RLF_ARG_VALUE)
        return call->in[arg->input].column.number[0];
    return arg->number;
}

static int
model_of(const rlf_node *node, int term)
{
    return node->args[term].list[1].resource;
}

/* The first term of the same model. */
static int
first_of(const rlf_node *node, int term)
{
    int i = 0;
    while (model_of(node, i) != model_of(node, term))
        i++;
    return i;
}

/* The factor of the model of that term, at the expression that made the first
 * of its parts that is not finite. */
static rlf_status
fail_factor(const rlf_call *call, int term, double exact, rlf_err *err)
{
    const rlf_node *node = call->node;
    const rlf_graph *graph = call->env->graph;
    char number[32] = "not a number";
    if (isinf(exact))
        snprintf(number, sizeof number, "%s",
                 exact < 0 ? "minus infinity" : "infinite");
    else if (!isnan(exact))
        snprintf(number, sizeof number, "%g", exact);
    rlf_fail(err, RLF_USER,
             "the factor of '%s' is %s: weights are f32, and this would make "
             "them infinite or not a number",
             graph->resources.data[model_of(node, term)].name, number);
    rlf_err_hint(err, "single precision goes up to 3.4e38: clamp the factor, "
                      "or what it is divided by");
    for (int i = 0; i < node->n_args; i++) {
        const rlf_arg *arg = &node->args[i].list[0];
        if (first_of(node, i) != term || arg->kind != RLF_ARG_VALUE ||
            isfinite((float)factor(call, arg)))
            continue;
        int value = node->inputs[arg->input];
        if (call->env->nonfinite && call->env->nonfinite[value].span.source)
            rlf_nonfinite_blame(&call->env->nonfinite[value], node->class->name,
                                err);
        else
            rlf_err_place(err, arg->span, node->class->name);
        return RLF_USER;
    }
    return RLF_USER;
}

/* Terms of one model are one: their factors are added first, in double. */
static rlf_status
step(rlf_call *call, rlf_err *err)
{
    const rlf_node *node = call->node;
    rlf_arena *pool = call->env->pool;
    double *exact = RLF_NEW_ARRAY(pool, double, node->n_args);
    float *factors = RLF_NEW_ARRAY(pool, float, node->n_args);
    const rlf_model **models =
        RLF_NEW_ARRAY(pool, const rlf_model *, node->n_args);
    int n = 0;
    for (int i = 0; i < node->n_args; i++)
        exact[first_of(node, i)] += factor(call, &node->args[i].list[0]);
    for (int i = 0; i < node->n_args; i++) {
        if (first_of(node, i) != i)
            continue;
        factors[n] = (float)exact[i];
        if (!isfinite(factors[n]))
            return fail_factor(call, i, exact[i], err);
        models[n++] = rlf_model_of(call, model_of(node, i));
    }
    return rlf_model_assign(rlf_model_of(call, node->receiver), factors, models,
                            n, err);
}

static const rlf_shape *
find_shape(const rlf_shapes *shapes, const char *name)
{
    for (int i = 0; i < shapes->count; i++)
        if (strcmp(shapes->list[i].name, name) == 0)
            return &shapes->list[i];
    return NULL;
}

/* Every tensor of a model is made of those of the others that have its name. */
static void
check_term(const rlf_node *node, const rlf_resource *to,
           const rlf_resource *from, const rlf_shapes *mine,
           const rlf_shapes *its, rlf_diags *diags)
{
    for (int i = 0; i < mine->count; i++) {
        const rlf_shape *x = &mine->list[i];
        const rlf_shape *y = find_shape(its, x->name);
        if (y && y->rows == x->rows && y->cols == x->cols)
            continue;
        rlf_diag *diag =
            y ? rlf_diag_error(diags, "model", node->span,
                               "'%s' has a %s of %lld x %lld and '%s' one of "
                               "%lld x %lld: their weights cannot be summed",
                               to->name, x->name, (long long)x->rows,
                               (long long)x->cols, from->name,
                               (long long)y->rows, (long long)y->cols)
              : rlf_diag_error(diags, "model", node->span,
                               "'%s' has a %s, which '%s' has not: their "
                               "weights cannot be summed",
                               to->name, x->name, from->name);
        rlf_diag_hint(diags, diag,
                      "both must be of one shape and have the same head");
        return;
    }
}

/* The sum of two products of adapters is no product of sums. */
static bool
refuses_adapters(const rlf_graph *graph, const rlf_node *node,
                 const rlf_resource *model, rlf_diags *diags)
{
    if (!rlf_declared_adapted(graph, model))
        return false;
    rlf_diag_error(diags, "model", node->span,
                   "'%s' has adapters: weighted sums of such models are not "
                   "supported",
                   model->name);
    return true;
}

/* Models whose files cannot be read are told of where they are opened. */
static void
infer(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_resource *all = graph->resources.data;
    const rlf_resource *to = &all[node->receiver];
    if (refuses_adapters(graph, node, to, diags))
        return;
    if (rlf_declared_base(to)) {
        rlf_diag *diag =
            rlf_diag_error(diags, "model", node->span,
                           "'%s' is the base of '%s', which nothing changes",
                           to->name, all[to->source].name);
        rlf_diag_hint(diags, diag, "declare model %s = copy(%s)", to->name,
                      all[to->source].name);
        return;
    }
    for (int i = 0; i < node->n_args; i++)
        if (refuses_adapters(graph, node, &all[node->args[i].list[1].resource],
                             diags))
            return;
    rlf_arena *arena = rlf_arena_new();
    rlf_err ignored = RLF_ERR_NONE;
    rlf_shapes mine, its;
    bool known = rlf_declared_shapes(graph, to, arena, &ignored, &mine) >= 0;
    size_t errors = diags->errors;
    for (int i = 0; known && i < node->n_args; i++) {
        const rlf_resource *from = &all[node->args[i].list[1].resource];
        if (from == to || diags->errors > errors ||
            rlf_declared_shapes(graph, from, arena, &ignored, &its) < 0)
            continue;
        check_term(node, to, from, &mine, &its, diags);
    }
    rlf_err_clear(&ignored);
    rlf_arena_free(arena);
}

/* As many sums as there are other models, and one for the model alone. */
static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    int others = 0;
    for (int i = 0; i < node->n_args; i++)
        others += model_of(node, i) != node->receiver && first_of(node, i) == i;
    rlf_counts counts = {.kernels = model->kernels};
    rlf_cost_assign(model->table, model->trained, others ? others : 1, &counts);
    *out = counts.cost;
}

const rlf_node_class rlf_node_assign = {
    .name = ":=",
    .doc = "set a model's weights to a weighted sum of models",
    .form = RLF_FORM_SYNTAX,
    .partition = RLF_PARTITION_JOINT,
    .work = RLF_WORK_WEIGHTS,
    .writes = true,
    .receiver = RLF_RECEIVER_MODEL,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .infer = infer,
    .cost = cost,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_STATELESS,
};
