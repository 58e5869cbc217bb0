/* The identity of what a graph computes.
 *
 * Only what is trained counts: the hash follows from every node that changes a
 * resource (and the control around it) back to what its inputs are made of, by
 * structure. Spans, paths and names are not in it, and neither is anything that
 * only feeds metrics, even where it shares a program with what counts: so a run
 * can be resumed with more or fewer metrics. */
#include "engine/base/hash.h"
#include "engine/graph/class.h"

#include <string.h>

typedef struct hasher {
    const rlf_graph *graph;
    uint64_t *value; /* per value; 0: not known yet */
} hasher;

static uint64_t value_hash(hasher *h, int value);

static uint64_t
add_text(uint64_t hash, const char *text)
{
    return rlf_hash(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t
add_int(uint64_t hash, int64_t x)
{
    return rlf_hash(hash, &x, sizeof x);
}

static uint64_t
add_number(uint64_t hash, double x)
{
    return rlf_hash(hash, &x, sizeof x);
}

static uint64_t
add_args(hasher *h, uint64_t hash, const rlf_arg *args, int n)
{
    for (int i = 0; i < n; i++) {
        hash = add_int(hash, (int)args[i].kind);
        hash = add_text(hash, args[i].name);
        if (args[i].kind == RLF_ARG_NUMBER)
            hash = add_number(hash, args[i].number);
        if (args[i].kind == RLF_ARG_RESOURCE)
            hash = add_int(hash, args[i].resource);
        if (args[i].kind == RLF_ARG_LIST)
            hash = add_args(h, hash, args[i].list, args[i].n_list);
        if (args[i].kind == RLF_ARG_VALUE && h)
            hash = add_int(hash, (int64_t)value_hash(h, args[i].value));
    }
    return hash;
}

/* ---- arithmetic: one output of a program, by its operations ---- */

/* What a program's inputs are: a hash each. */
static uint64_t
op_hash(const rlf_expr *e, int op, const uint64_t *inputs, uint64_t *known)
{
    if (known[op])
        return known[op];
    const rlf_expr_op *o = &e->ops.data[op];
    uint64_t hash = add_text(RLF_HASH_INIT, rlf_expr_text(o->code));
    hash = add_int(hash, rlf_domains_get(e->domains, o->domain)->kind);
    hash = add_number(hash, o->constant);
    hash = add_int(hash, o->code == RLF_EXPR_INPUT ? (int64_t)inputs[o->index]
                                                   : o->index);
    hash = add_int(hash, o->site);
    if (o->code == RLF_EXPR_CONST && o->text)
        hash = rlf_hash(hash, o->words.p, o->words.n);
    for (int k = 0; k < rlf_expr_arity(o->code); k++)
        if (o->arg[k] >= 0)
            hash = add_int(hash, (int64_t)op_hash(e, o->arg[k], inputs, known));
    return known[op] = rlf_hash_mix(hash) | 1;
}

static uint64_t
output_hash(hasher *h, const rlf_expr *e, int output, const uint64_t *inputs)
{
    uint64_t *known =
        RLF_NEW_ARRAY(h->graph->arena, uint64_t, e->ops.count + 1);
    return op_hash(e, e->outputs.data[output].op, inputs, known);
}

static uint64_t
expr_hash(hasher *h, const rlf_node *node, int port)
{
    uint64_t *inputs =
        RLF_NEW_ARRAY(h->graph->arena, uint64_t, node->n_inputs + 1);
    for (int i = 0; i < node->n_inputs; i++)
        inputs[i] = value_hash(h, node->inputs[i]);
    return output_hash(h, node->expr, port, inputs);
}

/* One result of values per word; live calls by class and set. */
static uint64_t
words_hash(hasher *h, const rlf_node *node, const rlf_words *words, int port)
{
    size_t n = words->program->inputs.count;
    uint64_t *inputs = RLF_NEW_ARRAY(h->graph->arena, uint64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        int from = words->input[i] < 0 ? words->set_input : words->input[i];
        uint64_t hash = add_int(RLF_HASH_INIT, words->input[i] < 0);
        inputs[i] = add_int(hash, (int64_t)value_hash(h, node->inputs[from]));
    }
    return output_hash(h, words->program, port, inputs);
}

/* The loss of an update: its output alone, live calls by class and set. */
static uint64_t
loss_hash(hasher *h, const rlf_node *node)
{
    const rlf_loss *loss = node->loss;
    size_t n = loss->program->inputs.count;
    uint64_t *inputs = RLF_NEW_ARRAY(h->graph->arena, uint64_t, n + 1);
    for (size_t i = 0; i < n; i++)
        if (loss->constant_input[i] >= 0)
            inputs[i] = value_hash(h, node->inputs[loss->constant_input[i]]);
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *call = &loss->calls[i];
        if (call->input < 0)
            continue;
        uint64_t hash = add_text(RLF_HASH_INIT, call->class->name);
        hash = add_int(hash,
                       (int64_t)value_hash(h, node->inputs[call->set_input]));
        inputs[call->input] = rlf_hash_mix(hash);
    }
    for (int i = 0; i < loss->n_words; i++)
        for (size_t k = 0; k < loss->words[i].program->outputs.count; k++)
            inputs[loss->words[i].result[k]] =
                words_hash(h, node, &loss->words[i], (int)k);
    return output_hash(h, loss->program, loss->loss, inputs);
}

/* ---- nodes and values ---- */

static uint64_t
node_hash(hasher *h, const rlf_node *node)
{
    uint64_t hash = add_text(RLF_HASH_INIT, node->class->name);
    hash = add_int(hash, node->class->role);
    hash = add_int(hash, node->receiver);
    hash = add_args(h, hash, node->args, node->n_args);
    if (node->loss)
        return add_int(hash, (int64_t)loss_hash(h, node));
    for (int i = 0; i < node->n_inputs; i++)
        hash = add_int(hash, (int64_t)value_hash(h, node->inputs[i]));
    return hash;
}

/* What an output of a collect is made of, and which rounds there are: both
 * stand in what its block gives, and not in its own inputs. */
static uint64_t
kept_hash(hasher *h, const rlf_node *node, int port)
{
    const rlf_region *body = &h->graph->regions.data[node->regions[0]];
    uint64_t hash = add_int(RLF_HASH_INIT, (int64_t)node_hash(h, node));
    hash = add_int(hash, (int64_t)value_hash(h, body->gives[0]));
    return add_int(hash, (int64_t)value_hash(h, body->gives[port + 1]));
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

static uint64_t
value_hash(hasher *h, int value)
{
    if (h->value[value])
        return h->value[value];
    const rlf_value *v = &h->graph->values.data[value];
    const rlf_node *node =
        v->node >= 0 ? &h->graph->nodes.data[v->node] : giver(h->graph, value);
    bool kept = node && v->node >= 0 && node->class->role == RLF_ROLE_COLLECT;
    /* what else is kept, perhaps for metrics only, moves the ports */
    uint64_t hash = add_int(RLF_HASH_INIT, kept ? 0 : v->port);
    if (kept)
        hash = kept_hash(h, node, v->port);
    else if (node && node->words)
        hash = words_hash(h, node, node->words, v->port);
    else if (node && node->expr)
        hash = expr_hash(h, node, v->port);
    else if (node)
        hash = add_int(hash, (int64_t)node_hash(h, node));
    return h->value[value] = rlf_hash_mix(hash) | 1;
}

/* The condition that the rounds of a collect depend on. */
static int
given(const rlf_graph *graph, const rlf_node *node)
{
    return graph->regions.data[node->regions[0]].gives[0];
}

uint64_t
rlf_graph_hash(const rlf_graph *graph)
{
    hasher h = {.graph = graph,
                .value = RLF_NEW_ARRAY(graph->arena, uint64_t,
                                       graph->values.count + 1)};
    uint64_t hash = RLF_HASH_INIT;
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        hash = add_int(hash, (int)r->kind);
        hash = add_text(hash, r->name);
        hash = add_text(hash, r->constructor);
        hash = add_args(NULL, hash, r->args, r->n_args);
        if (r->kind == RLF_RESOURCE_DATA)
            hash = add_int(hash, r->source);
        for (size_t k = 0; r->condition && k < r->condition->inputs.count; k++)
            hash = add_text(hash, r->condition->inputs.data[k].name);
        if (r->condition)
            hash = rlf_expr_hash(r->condition, hash);
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        bool control = node->n_regions || node->class->role == RLF_ROLE_BREAK;
        if (!node->looking && (node->n_writes || control))
            hash = add_int(hash, (int64_t)node_hash(&h, node));
        if (node->class->role == RLF_ROLE_COLLECT) /* how many rounds */
            hash = add_int(hash, (int64_t)value_hash(&h, given(graph, node)));
    }
    return rlf_hash_mix(hash);
}

uint64_t *
rlf_graph_value_hashes(const rlf_graph *graph)
{
    hasher h = {.graph = graph,
                .value = RLF_NEW_ARRAY(graph->arena, uint64_t,
                                       graph->values.count + 1)};
    for (size_t i = 0; i < graph->values.count; i++)
        value_hash(&h, (int)i);
    return h.value;
}
