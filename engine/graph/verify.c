/* The law of the graph: one function a rule. A graph that breaks one was made
 * wrong by the grammar, so every failure is RLF_BUG. */
#include "engine/graph/class.h"

static rlf_status
bug(const rlf_node *node, rlf_err *err, const char *what)
{
    rlf_fail(err, RLF_BUG, "graph: node %d (%s): %s", node->id,
             node->class->name, what);
    rlf_err_place(err, node->span, node->class->name);
    return RLF_BUG;
}

static bool
indices_fit(const int *list, int n, size_t count)
{
    for (int i = 0; i < n; i++)
        if (list[i] < 0 || (size_t)list[i] >= count)
            return false;
    return true;
}

static rlf_status
check_indices(const rlf_graph *graph, const rlf_node *node, rlf_err *err)
{
    size_t values = graph->values.count, resources = graph->resources.count;
    if (!indices_fit(node->inputs, node->n_inputs, values) ||
        !indices_fit(node->outputs, node->n_outputs, values))
        return bug(node, err, "a value does not exist");
    if (!indices_fit(node->reads, node->n_reads, resources) ||
        !indices_fit(node->writes, node->n_writes, resources) ||
        node->receiver >= (int)resources)
        return bug(node, err, "a resource does not exist");
    if (!indices_fit(node->regions, node->n_regions, graph->regions.count))
        return bug(node, err, "a region does not exist");
    return RLF_OK;
}

static rlf_status
check_outputs(const rlf_graph *graph, const rlf_node *node, rlf_err *err)
{
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &graph->values.data[node->outputs[i]];
        if (v->node != node->id || v->port != i)
            return bug(node, err, "an output belongs to another node");
        if (v->kind == RLF_VALUE_SET ? v->set < 0 : v->domain < 0)
            return bug(node, err, "an output has no set or domain");
    }
    return RLF_OK;
}

/* Region `outer` holds region `inner`, or is it. */
static bool
holds(const rlf_graph *graph, int outer, int inner)
{
    while (inner != outer) {
        int node = graph->regions.data[inner].node;
        if (node < 0)
            return false;
        inner = graph->nodes.data[node].region;
    }
    return true;
}

/* Checks that what a region gives back is made in it. */
static rlf_status
check_regions(const rlf_graph *graph, const rlf_node *node, rlf_err *err)
{
    for (int i = 0; i < node->n_regions; i++) {
        const rlf_region *r = &graph->regions.data[node->regions[i]];
        if (!indices_fit(r->gives, r->n_gives, graph->values.count))
            return bug(node, err, "its region gives what does not exist");
        for (int k = 0; k < r->n_gives; k++) {
            int from = graph->values.data[r->gives[k]].node;
            if (from >= 0 && graph->nodes.data[from].region != node->regions[i])
                return bug(node, err, "its region gives what it did not make");
        }
    }
    return RLF_OK;
}

/* Inputs are made earlier in the program, in a region around the node. */
static rlf_status
check_inputs(const rlf_graph *graph, const rlf_node *node, rlf_err *err)
{
    for (int i = 0; i < node->n_inputs; i++) {
        const rlf_value *v = &graph->values.data[node->inputs[i]];
        if (v->node < 0)
            continue;
        const rlf_node *from = &graph->nodes.data[v->node];
        if (from->id >= node->id)
            return bug(node, err, "an input is made after it");
        if (!holds(graph, from->region, node->region))
            return bug(node, err, "an input's block has ended");
    }
    return RLF_OK;
}

static rlf_status
check_args(const rlf_node *node, rlf_err *err)
{
    if (node->class->control_flow == RLF_CONTROL_FLOW_LOOP ||
        node->class->extra || node->class->gives == RLF_GIVES_OTHER)
        return RLF_OK;
    if (node->n_args < node->class->n_formals)
        return bug(node, err, "it lacks arguments of its class");
    for (int i = 0; i < node->class->n_formals; i++)
        if (node->class->formals[i].required &&
            node->args[i].kind == RLF_ARG_ABSENT)
            return bug(node, err, "a required argument is absent");
    return RLF_OK;
}

static rlf_status
check_program(const rlf_graph *graph, const rlf_node *node, rlf_err *err)
{
    const rlf_expr *e = node->expr;
    if (node->class->program != RLF_PROGRAM_EXPR)
        return RLF_OK;
    if (!e)
        return bug(node, err, "it has no program");
    /* further inputs only lend their spaces */
    if (e->inputs.count > (size_t)node->n_inputs ||
        e->outputs.count != (size_t)node->n_outputs)
        return bug(node, err, "its program has other inputs or outputs");
    for (size_t i = 0; i < e->inputs.count; i++)
        if (graph->values.data[node->inputs[i]].domain !=
            e->inputs.data[i].domain)
            return bug(node, err, "an input is on another domain");
    return rlf_expr_check(e, err);
}

static rlf_status
check_words(const rlf_graph *graph, const rlf_node *node,
            const rlf_vocab_program *words, rlf_err *err)
{
    if (words->set_input >= node->n_inputs ||
        graph->values.data[node->inputs[words->set_input]].kind !=
            RLF_VALUE_SET)
        return bug(node, err, "its words are of no set");
    for (size_t i = 0; i < words->program->inputs.count; i++)
        if (words->input[i] >= node->n_inputs)
            return bug(node, err, "an input of its words is none of its own");
    if (words->slope)
        RLF_TRY(rlf_expr_check(words->slope, err));
    return rlf_expr_check(words->program, err);
}

static rlf_status
check_loss(const rlf_graph *graph, const rlf_node *node, rlf_err *err)
{
    const rlf_loss *loss = node->loss;
    if (node->class->program != RLF_PROGRAM_LOSS)
        return RLF_OK;
    if (!loss || !loss->n_calls)
        return bug(node, err, "an update without a live call");
    for (int i = 0; i < loss->n_calls; i++)
        if (!loss->calls[i].class->live)
            return bug(node, err, "a call that cannot be live");
    if (loss->n_reports != node->n_outputs)
        return bug(node, err, "reports and outputs differ");
    for (int i = 0; i < loss->n_words; i++)
        RLF_TRY(check_words(graph, node, &loss->words[i], err));
    return rlf_expr_check(loss->program, err);
}

/* Checks that what is made ahead is made of nothing else, and as a whole. */
static rlf_status
check_ahead(const rlf_graph *graph, const rlf_node *node, rlf_err *err)
{
    int around = graph->regions.data[node->region].node;
    if (around >= 0 && graph->nodes.data[around].ahead != node->ahead)
        return bug(node, err, "of a region one part is ahead, another not");
    for (int i = 0; node->ahead && i < node->n_inputs; i++) {
        int from = graph->values.data[node->inputs[i]].node;
        if (from >= 0 && !graph->nodes.data[from].ahead)
            return bug(node, err, "it is ahead of what it is made of");
    }
    if (node->ahead && !graph->ahead)
        return bug(node, err, "it is ahead by nothing");
    return RLF_OK;
}

rlf_status
rlf_graph_verify(const rlf_graph *graph, rlf_err *err)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        RLF_TRY(check_indices(graph, node, err));
        RLF_TRY(check_outputs(graph, node, err));
        RLF_TRY(check_inputs(graph, node, err));
        RLF_TRY(check_regions(graph, node, err));
        RLF_TRY(check_args(node, err));
        RLF_TRY(check_program(graph, node, err));
        RLF_TRY(check_loss(graph, node, err));
        RLF_TRY(check_ahead(graph, node, err));
        if (node->words)
            RLF_TRY(check_words(graph, node, node->words, err));
    }
    return RLF_OK;
}
