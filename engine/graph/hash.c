/* The identity of what a graph computes.
 *
 * Only what is trained counts: the digest follows from every node that changes
 * a resource (and the control around it) back to what its inputs are made of,
 * by structure. Spans, paths and names are not in it, and neither is anything
 * that only feeds metrics, even where it shares a program with what counts: so
 * a run can be resumed with more or fewer metrics. Where nothing is trained,
 * metrics and samples are all that there is, and count. */
#include "engine/base/digest.h"
#include "engine/graph/class.h"

#include <string.h>

typedef struct hasher {
    const rlf_graph *graph;
    rlf_digest *value; /* per value; {0}: not known yet */
    bool shape;        /* without numbers that reach no size */
} hasher;

static rlf_digest value_digest(hasher *h, int value);

static rlf_digest
add_text(rlf_digest digest, const char *text)
{
    return rlf_digest_add(digest, text ? text : "",
                          text ? strlen(text) + 1 : 1);
}

static rlf_digest
add_int(rlf_digest digest, int64_t x)
{
    return rlf_digest_add(digest, &x, sizeof x);
}

static rlf_digest
add_number(rlf_digest digest, double x)
{
    return rlf_digest_add(digest, &x, sizeof x);
}

static rlf_digest
add_digest(rlf_digest digest, rlf_digest x)
{
    return rlf_digest_add(digest, &x, sizeof x);
}

static bool
is_known(rlf_digest digest)
{
    return digest.high || digest.low;
}

/* An argument; `numbers`: with those in it; `values`: with what it is made of.
 */
static rlf_digest
add_arg(hasher *h, rlf_digest digest, const rlf_arg *arg, bool numbers,
        bool values)
{
    digest = add_int(digest, (int)arg->kind);
    digest = add_text(digest, arg->name);
    if (arg->kind == RLF_ARG_NUMBER && numbers)
        digest = add_number(digest, arg->number);
    if (arg->kind == RLF_ARG_RESOURCE)
        digest = add_int(digest, arg->resource);
    if (arg->kind == RLF_ARG_TEXT && !arg->path)
        digest = add_text(digest, arg->text);
    for (int i = 0; arg->kind == RLF_ARG_LIST && i < arg->n_list; i++)
        digest = add_arg(h, digest, &arg->list[i], numbers, values);
    if (arg->kind == RLF_ARG_VALUE && values)
        digest = add_digest(digest, value_digest(h, arg->value));
    return digest;
}

static const rlf_formal *
find_formal(const rlf_formal *formals, int n, const char *name)
{
    for (int i = 0; name && i < n; i++)
        if (strcmp(formals[i].name, name) == 0)
            return &formals[i];
    return NULL;
}

/* Does a number there count? Of a shape those do that are known when compiling:
 * how many rows, pieces and tokens there are. One that is read at each call, as
 * a temperature, reaches no size, and neither do those of some formals. */
static bool
is_counted(const hasher *h, const rlf_node *node, const rlf_arg *arg)
{
    const rlf_formal *f =
        find_formal(node->class->formals, node->class->n_formals, arg->name);
    return !h->shape || !f || (f->kind != RLF_FORMAL_NUMBER && !f->unsized);
}

/* The same of a declaration: limits of a hook and the first value of a state
 * reach no size. */
static bool
is_declared(const hasher *h, const rlf_resource *r, const rlf_arg *arg)
{
    const rlf_formal *f = NULL;
    for (int i = 0; i < r->class->n_constructors && !f; i++) {
        const rlf_constructor *c = &r->class->constructors[i];
        if (!c->within && strcmp(c->name, r->constructor) == 0)
            f = find_formal(c->formals, c->n_formals, arg->name);
    }
    bool sized = r->class->model || r->class->data;
    return !h->shape || (sized && !(f && f->unsized));
}

/* ---- arithmetic: one output of a program, by its operations ---- */

/* The digest of an operation, from a digest of each of the program's inputs. */
static rlf_digest
op_digest(const hasher *h, const rlf_expr *e, int op, const rlf_digest *inputs,
          rlf_digest *known)
{
    if (is_known(known[op]))
        return known[op];
    const rlf_expr_op *o = &e->ops.data[op];
    rlf_digest digest = add_text((rlf_digest){0}, rlf_expr_text(o->code));
    digest = add_int(digest, rlf_domains_get(e->domains, o->domain)->kind);
    digest = add_number(digest, h->shape ? 0 : o->constant);
    digest = o->code == RLF_EXPR_INPUT ? add_digest(digest, inputs[o->index])
                                       : add_int(digest, o->index);
    digest = add_int(digest, o->site);
    if (o->code == RLF_EXPR_CONST && o->text)
        digest = rlf_digest_add(digest, o->words.p, o->words.n);
    for (int k = 0; k < rlf_expr_arity(o->code); k++)
        if (o->arg[k] >= 0)
            digest =
                add_digest(digest, op_digest(h, e, o->arg[k], inputs, known));
    return known[op] = digest;
}

static rlf_digest
output_digest(hasher *h, const rlf_expr *e, int output,
              const rlf_digest *inputs)
{
    rlf_digest *known =
        RLF_NEW_ARRAY(h->graph->arena, rlf_digest, e->ops.count + 1);
    return op_digest(h, e, e->outputs.data[output].op, inputs, known);
}

static rlf_digest
expr_digest(hasher *h, const rlf_node *node, int port)
{
    rlf_digest *inputs =
        RLF_NEW_ARRAY(h->graph->arena, rlf_digest, node->n_inputs + 1);
    for (int i = 0; i < node->n_inputs; i++)
        inputs[i] = value_digest(h, node->inputs[i]);
    return output_digest(h, node->expr, port, inputs);
}

/* One result of values per word; live calls by class and set. */
static rlf_digest
words_digest(hasher *h, const rlf_node *node, const rlf_vocab_program *words,
             int port)
{
    size_t n = words->program->inputs.count;
    rlf_digest *inputs = RLF_NEW_ARRAY(h->graph->arena, rlf_digest, n + 1);
    for (size_t i = 0; i < n; i++) {
        int from = words->input[i] < 0 ? words->set_input : words->input[i];
        rlf_digest digest = add_int((rlf_digest){0}, words->input[i] < 0);
        inputs[i] = add_digest(digest, value_digest(h, node->inputs[from]));
    }
    return output_digest(h, words->program, port, inputs);
}

/* The loss of an update: its output alone, live calls by class and set. */
static rlf_digest
loss_digest(hasher *h, const rlf_node *node)
{
    const rlf_loss *loss = node->loss;
    size_t n = loss->program->inputs.count;
    rlf_digest *inputs = RLF_NEW_ARRAY(h->graph->arena, rlf_digest, n + 1);
    for (size_t i = 0; i < n; i++)
        if (loss->constant_input[i] >= 0)
            inputs[i] = value_digest(h, node->inputs[loss->constant_input[i]]);
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *call = &loss->calls[i];
        if (call->input < 0)
            continue;
        rlf_digest digest = add_text((rlf_digest){0}, call->class->name);
        digest =
            add_digest(digest, value_digest(h, node->inputs[call->set_input]));
        inputs[call->input] = digest;
    }
    for (int i = 0; i < loss->n_words; i++)
        for (size_t k = 0; k < loss->words[i].program->outputs.count; k++)
            inputs[loss->words[i].result[k]] =
                words_digest(h, node, &loss->words[i], (int)k);
    rlf_digest digest = output_digest(h, loss->program, loss->loss, inputs);
    if (h->shape && loss->shared) /* numerics, but other work */
        digest = add_text(digest, "shared");
    if (loss->taken < 0)
        return digest;
    return add_digest(digest,
                      output_digest(h, loss->program, loss->taken, inputs));
}

/* ---- nodes and values ---- */

static rlf_digest
node_digest(hasher *h, const rlf_node *node)
{
    rlf_digest digest = add_text((rlf_digest){0}, node->class->name);
    digest = add_int(digest, node->class->form);
    digest = add_int(digest, node->class->receiver);
    digest = add_int(digest, node->receiver);
    for (int i = 0; i < node->n_args; i++)
        digest = add_arg(h, digest, &node->args[i],
                         is_counted(h, node, &node->args[i]), true);
    if (node->loss)
        return add_digest(digest, loss_digest(h, node));
    for (int i = 0; i < node->n_inputs; i++)
        digest = add_digest(digest, value_digest(h, node->inputs[i]));
    return digest;
}

/* The digest of what a reading gives of one of its sets, which does not depend
 * on the others. */
static rlf_digest
reading_digest(hasher *h, const rlf_node *node, int port)
{
    rlf_node one = *node;
    rlf_arg set = node->args[0];
    set.value = node->inputs[port];
    one.args = &set;
    one.n_args = 1;
    one.inputs = &node->inputs[port];
    one.n_inputs = 1;
    return add_digest(add_int((rlf_digest){0}, 0), node_digest(h, &one));
}

/* The digest of a collect's output: its content and its rounds both
 * stand in what its block gives, and not in its own inputs. */
static rlf_digest
kept_digest(hasher *h, const rlf_node *node, int port)
{
    const rlf_region *body = &h->graph->regions.data[node->regions[0]];
    rlf_digest digest = add_digest((rlf_digest){0}, node_digest(h, node));
    digest = add_digest(digest, value_digest(h, body->gives[0]));
    return add_digest(digest, value_digest(h, body->gives[port + 1]));
}

/* The node whose region gives a value to each iteration. */
static const rlf_node *
giver(const rlf_graph *graph, int value)
{
    for (size_t r = 1; r < graph->regions.count; r++)
        for (int i = 0; i < graph->regions.data[r].n_args; i++)
            if (graph->regions.data[r].args[i] == value)
                return &graph->nodes.data[graph->regions.data[r].node];
    return NULL;
}

static rlf_digest
value_digest(hasher *h, int value)
{
    if (is_known(h->value[value]))
        return h->value[value];
    const rlf_value *v = &h->graph->values.data[value];
    const rlf_node *node =
        v->node >= 0 ? &h->graph->nodes.data[v->node] : giver(h->graph, value);
    bool kept = node && v->node >= 0 &&
                node->class->control_flow == RLF_CONTROL_FLOW_ROUNDS;
    /* what else is kept, perhaps for metrics only, moves the ports */
    rlf_digest digest = add_int((rlf_digest){0}, kept ? 0 : v->port);
    if (kept)
        digest = kept_digest(h, node, v->port);
    else if (node && node->class->live && node->n_outputs > 1)
        digest = reading_digest(h, node, v->port);
    else if (node && node->words)
        digest = words_digest(h, node, node->words, v->port);
    else if (node && node->expr)
        digest = expr_digest(h, node, v->port);
    else if (node)
        digest = add_digest(digest, node_digest(h, node));
    return h->value[value] = digest;
}

/* The condition that the rounds of a collect depend on. */
static int
given(const rlf_graph *graph, const rlf_node *node)
{
    return graph->regions.data[node->regions[0]].gives[0];
}

/* Does any node change a model or a state? Data move on in every run. */
static bool
is_trained(const rlf_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        for (int k = 0; k < node->n_writes; k++)
            if (!graph->resources.data[node->writes[k]].class->data)
                return true;
    }
    return false;
}

static rlf_digest
graph_digest(const rlf_graph *graph, bool shape)
{
    bool all = !shape && !is_trained(graph);
    hasher h = {.graph = graph,
                .value = RLF_NEW_ARRAY(graph->arena, rlf_digest,
                                       graph->values.count + 1),
                .shape = shape};
    rlf_digest digest = (rlf_digest){0};
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        digest = add_int(digest, (int)r->class->kind);
        digest = add_text(digest, r->name);
        digest = add_text(digest, r->constructor);
        for (int k = 0; k < r->n_args; k++)
            digest = add_arg(&h, digest, &r->args[k],
                             is_declared(&h, r, &r->args[k]), false);
        if (r->class->data)
            digest = add_int(digest, r->source);
        for (int k = 0; k < r->n_gives; k++)
            digest = add_text(digest, r->gives[k].level);
        for (size_t k = 0; r->condition && k < r->condition->inputs.count; k++)
            digest = add_text(digest, r->condition->inputs.data[k].name);
        if (r->condition)
            digest = rlf_expr_digest(r->condition, digest);
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        bool control = node->class->control_flow != RLF_CONTROL_FLOW_NONE;
        if (all || (!node->looking && (node->n_writes || control)))
            digest = add_digest(digest, node_digest(&h, node));
        if (node->class->control_flow ==
            RLF_CONTROL_FLOW_ROUNDS) /* how many rounds */
            digest = add_digest(digest, value_digest(&h, given(graph, node)));
    }
    return digest;
}

rlf_digest
rlf_graph_digest(const rlf_graph *graph)
{
    return graph_digest(graph, false);
}

rlf_digest
rlf_graph_shape(const rlf_graph *graph)
{
    return graph_digest(graph, true);
}

rlf_digest *
rlf_graph_value_digests(const rlf_graph *graph)
{
    hasher h = {.graph = graph,
                .value = RLF_NEW_ARRAY(graph->arena, rlf_digest,
                                       graph->values.count + 1)};
    for (size_t i = 0; i < graph->values.count; i++)
        value_digest(&h, (int)i);
    return h.value;
}
