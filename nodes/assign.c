/* m := 0.99 * m + 0.01 * other: a model becomes a weighted sum of models. */
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "nodes/sequences.h"

#include <math.h>

static double
factor(const rlf_call *call, const rlf_arg *arg)
{
    if (arg->kind == RLF_ARG_VALUE)
        return call->in[arg->input].column.number[0];
    return arg->number;
}

static rlf_status
fail_factor(const rlf_call *call, const rlf_arg *model, double exact,
            rlf_err *err)
{
    const char *name = call->env->graph->resources.data[model->resource].name;
    return rlf_fail(err, RLF_USER,
                    "the factor of '%s' is %g: weights are f32, and this would "
                    "make them infinite or not a number",
                    name, exact);
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    const rlf_node *node = call->node;
    float *factors = RLF_NEW_ARRAY(call->env->pool, float, node->n_args);
    const rlf_model **models =
        RLF_NEW_ARRAY(call->env->pool, const rlf_model *, node->n_args);
    for (int i = 0; i < node->n_args; i++) {
        const rlf_arg *term = &node->args[i];
        double exact = factor(call, &term->list[0]);
        factors[i] = (float)exact;
        if (!isfinite(factors[i]))
            return fail_factor(call, &term->list[1], exact, err);
        models[i] = rlf_model_of(call, term->list[1].resource);
    }
    return rlf_model_assign(rlf_model_of(call, node->receiver), factors, models,
                            node->n_args, err);
}

/* As many sums as there are other models, and one for the model alone. */
static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    int others = 0;
    for (int i = 0; i < node->n_args; i++)
        others += node->args[i].list[1].resource != node->receiver;
    rlf_counts counts = {.kernels = model->kernels};
    rlf_cost_assign(model->table, model->trained, others ? others : 1, &counts);
    *out = (rlf_cost){0};
    rlf_cost_add(out, &counts);
}

const rlf_node_class rlf_node_assign = {
    .name = ":=",
    .doc = "set a model's weights to a weighted sum of models",
    .role = RLF_ROLE_ASSIGN,
    .receiver = RLF_RECEIVER_MODEL,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = cost,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_STATELESS,
};
