/* `for a in s.split(...), b in t.split(...) { }`: pieces of sets.
 *
 * Groups stay whole. In each epoch the prompts (those that have samples) are
 * shuffled anew and cut into pieces; within a piece they stand in the set's own
 * order, so that what is summed in sample order does not depend on the cut.
 * Sets of equal size that are split side by side are cut alike. */
#include "nodes/rows.h"
#include "nodes/update.h"

#include "engine/base/philox.h"
#include "engine/graph/class.h"

#include <stdlib.h>

static const rlf_formal formals[] = {
    {.name = "parts",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .least = 1,
     .most = 1e9,
     .doc = "how many pieces, of prompts as even as can be"},
    {.name = "size",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .least = 1,
     .most = 1e9,
     .doc = "prompts in a piece; the last may have fewer"},
    {.name = "epochs",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .fallback = 1,
     .least = 1,
     .most = 1e6,
     .doc = "how often, each time shuffled anew"},
};
enum { PARTS, SIZE, EPOCHS, N_FORMALS };

/* The arguments of one of the sets. */
static const rlf_arg *
args_of(const rlf_node *node, int set)
{
    return &node->args[set * N_FORMALS];
}

static int
n_sets(const rlf_node *node)
{
    return node->n_args / N_FORMALS;
}

/* Returns how many rows a step draws as these prompts, or a collect keeps at
 * most; 0: the run decides. */
static double
drawn(const rlf_graph *graph, int prompts)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (!node->class->draws || !node->n_outputs)
            continue;
        int set = graph->values.data[node->outputs[0]].set;
        if (set < 0)
            continue;
        const rlf_arg *count = rlf_args_find(node->args, node->n_args, "count");
        if (graph->sets.data[set].prompts == prompts)
            return count && count->kind == RLF_ARG_NUMBER ? count->number : 0;
    }
    return 0;
}

/* Does the block, or one in it, leave a loop? */
static bool
leaves(const rlf_graph *graph, int region)
{
    const rlf_region *body = &graph->regions.data[region];
    bool found = false;
    for (int i = 0; i < body->n_nodes && !found; i++) {
        const rlf_node *node = &graph->nodes.data[body->nodes[i]];
        found = node->class->control_flow == RLF_CONTROL_FLOW_LEAVE;
        for (int k = 0; k < node->n_regions && !found; k++)
            found = leaves(graph, node->regions[k]);
    }
    return found;
}

/* A loop that goes through one piece, once; a block that is left in its middle
 * may be what it is for, and where a parameter decides it is a choice. */
static void
warn_whole(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_arg *a = args_of(node, 0);
    if (!a[PARTS].literal || a[PARTS].number > 1 || a[EPOCHS].number > 1 ||
        (a[EPOCHS].given && !a[EPOCHS].literal) ||
        leaves(graph, node->regions[0]))
        return;
    const char *name =
        graph->sets.data[graph->values.data[node->inputs[0]].set].name;
    rlf_diag *diag =
        rlf_diag_warning(diags, "argument", a[PARTS].span,
                         "this loop has one piece, all of '%s'", name);
    rlf_diag_hint(diags, diag,
                  "leave the loop out, or give it more parts: or epochs:");
}

/* Pieces that would have more prompts than there are. */
static void
warn_size(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_arg *size = &args_of(node, 0)[SIZE];
    const rlf_set *set =
        &graph->sets.data[graph->values.data[node->inputs[0]].set];
    double n = drawn(graph, set->prompts);
    if (!size->given || n <= 0 || size->number <= n)
        return;
    rlf_diag *diag =
        rlf_diag_warning(diags, "argument", size->span,
                         "'%s' has %.0f prompt%s: this is one piece, all of it",
                         set->name, n, n > 1 ? "s" : "");
    rlf_diag_hint(diags, diag, "'size:' counts the prompts of a piece");
}

/* Pieces that have no prompt. */
static void
warn_empty(const rlf_graph *graph, const rlf_node *node, int i,
           rlf_diags *diags)
{
    const rlf_arg *parts = &args_of(node, i)[PARTS];
    int set = graph->values.data[node->inputs[i]].set;
    double n = drawn(graph, graph->sets.data[set].prompts);
    if (!parts->given || n <= 0 || parts->number <= n)
        return;
    rlf_diag *diag = rlf_diag_warning(
        diags, "argument", parts->span,
        "%.0f of these %.0f pieces %s empty: '%s' has %.0f prompt%s",
        parts->number - n, parts->number, parts->number - n > 1 ? "are" : "is",
        graph->sets.data[set].name, n, n > 1 ? "s" : "");
    rlf_diag_hint(diags, diag, "the samples of a prompt stay together");
}

/* Exactly one of parts and size; side by side only parts, equally many. */
static void
infer(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    for (int i = 0; i < n_sets(node); i++) {
        const rlf_arg *a = args_of(node, i), *first = args_of(node, 0);
        rlf_span at = a[SIZE].given ? a[SIZE].span : node->span;
        if (a[PARTS].given == a[SIZE].given)
            rlf_diag_error(diags, "argument", at,
                           "split takes either 'parts:' or 'size:'");
        else if (n_sets(node) > 1 && !a[PARTS].given)
            rlf_diag_error(diags, "argument", at,
                           "sets that are walked side by side are split by "
                           "'parts:', not by 'size:'");
        else if (a[PARTS].number != first[PARTS].number ||
                 a[EPOCHS].number != first[EPOCHS].number)
            rlf_diag_error(diags, "argument", a[PARTS].span,
                           "sets that are walked side by side have equally "
                           "many pieces");
        else
            warn_empty(graph, node, i, diags);
    }
    warn_whole(graph, node, diags);
    warn_size(graph, node, diags);
}

/* Prompts that have samples, into out; returns how many. */
static uint32_t
list_prompts(const rlf_graph *graph, const rlf_rows *rows, uint32_t *out,
             uint32_t *samples_of)
{
    for (uint32_t i = 0; i < rows->samples->count; i++)
        samples_of[rlf_rows_prompt_of(graph, rows, i)]++;
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows->prompts->count; i++)
        if (samples_of[i])
            out[n++] = i;
    return n;
}

static uint32_t
n_pieces(const rlf_arg *args, uint32_t prompts)
{
    if (args[PARTS].given)
        return (uint32_t)args[PARTS].number;
    uint32_t size = (uint32_t)args[SIZE].number;
    return prompts / size + (prompts % size != 0);
}

/* The updates of a block that runs for no piece had no samples, and none of them
 * is there to say so. */
static void
report_empty(const rlf_env *env, int region)
{
    const rlf_graph *graph = env->graph;
    const rlf_region *body = &graph->regions.data[region];
    for (int i = 0; i < body->n_nodes && env->report; i++) {
        const rlf_node *node = &graph->nodes.data[body->nodes[i]];
        if (node->class->work == RLF_WORK_TRAIN)
            env->report(env->sink,
                        rlf_update_metric(graph, node, "empty", env->pool), 1);
        else if (node->class->control_flow == RLF_CONTROL_FLOW_LOOP)
            report_empty(env, node->regions[0]);
    }
}

static rlf_status
open(rlf_call *call, rlf_err *err)
{
    const rlf_graph *graph = call->env->graph;
    const rlf_rows *rows = call->in[0].rows;
    uint32_t n = rows->prompts->count;
    RLF_TRY(rlf_rows_room(call->env->pool, rows->set->name, n, 0, err));
    uint32_t *prompts = RLF_NEW_ARRAY(call->env->pool, uint32_t, n);
    uint32_t *samples_of = RLF_NEW_ARRAY(call->env->pool, uint32_t, n);
    n = list_prompts(graph, rows, prompts, samples_of);
    const rlf_arg *args = args_of(call->node, 0);
    call->count = n_pieces(args, n) * (uint32_t)args[EPOCHS].number;
    if (!call->count)
        report_empty(call->env, call->node->regions[0]);
    return RLF_OK;
}

static int
by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The beginning of piece `i` of `pieces` among n prompts. */
static uint32_t
piece_start(const rlf_arg *args, uint32_t n, uint32_t pieces, uint32_t i)
{
    if (args[PARTS].given) {
        uint32_t longer = n % pieces;
        return i * (n / pieces) + (i < longer ? i : longer);
    }
    uint64_t start = (uint64_t)i * (uint32_t)args[SIZE].number;
    return start < n ? (uint32_t)start : n;
}

/* The piece of set number `which` in this iteration. */
static rlf_status
cut(const rlf_call *call, int which, rlf_err *err, rlf_rows **out)
{
    const rlf_graph *graph = call->env->graph;
    rlf_arena *pool = call->env->pool;
    const rlf_rows *rows = call->in[which].rows;
    const rlf_arg *args = args_of(call->node, which);
    const rlf_region *body = &graph->regions.data[call->node->regions[0]];
    const rlf_value *value = &graph->values.data[body->args[which]];

    uint32_t room = rows->prompts->count;
    RLF_TRY(rlf_rows_room(pool, rows->set->name,
                          (uint64_t)room + rows->samples->count,
                          rows->tokens ? rows->tokens->extent : 0, err));
    uint32_t *prompts = RLF_NEW_ARRAY(pool, uint32_t, room);
    uint32_t *samples_of = RLF_NEW_ARRAY(pool, uint32_t, room);
    uint32_t n = list_prompts(graph, rows, prompts, samples_of);
    uint32_t pieces = n_pieces(args, n);
    uint32_t epoch = (uint32_t)call->branch / pieces;
    uint32_t piece = (uint32_t)call->branch % pieces;

    rlf_random_key key = {.seed = call->env->seed,
                          .purpose = RLF_PURPOSE_SPLIT,
                          .site = call->node->site,
                          .step = call->env->step,
                          .sample = call->iteration + epoch};
    uint32_t *order = RLF_NEW_ARRAY(pool, uint32_t, n);
    rlf_draw_shuffle(&key, n, order);
    uint32_t from = piece_start(args, n, pieces, piece);
    uint32_t to = piece_start(args, n, pieces, piece + 1);
    uint32_t *mine = RLF_NEW_ARRAY(pool, uint32_t, to - from);
    bool *taken = RLF_NEW_ARRAY(pool, bool, room);
    for (uint32_t i = from; i < to; i++) {
        mine[i - from] = prompts[order[i]];
        taken[prompts[order[i]]] = true;
    }
    qsort(mine, to - from, sizeof *mine, by_number);

    uint32_t *samples = RLF_NEW_ARRAY(pool, uint32_t, rows->samples->count);
    uint32_t n_samples = 0;
    for (uint32_t i = 0; i < rows->samples->count; i++)
        if (taken[rlf_rows_prompt_of(graph, rows, i)])
            samples[n_samples++] = i;
    *out = rlf_rows_part(pool, graph, &graph->sets.data[value->set], rows, mine,
                         to - from, samples, n_samples);
    return RLF_OK;
}

/* Before the first iteration there is nothing to cut yet. */
static rlf_status
step(rlf_call *call, rlf_err *err)
{
    if (call->branch < 0)
        return RLF_OK;
    for (int i = 0; i < n_sets(call->node); i++)
        RLF_TRY(cut(call, i, err, &call->out[i].rows));
    return RLF_OK;
}

/* All pieces, and for each of them the lists that it is cut with. */
static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_graph *graph = load->graph;
    const rlf_region *body = &graph->regions.data[node->regions[0]];
    *out = (rlf_cost){0};
    for (int i = 0; i < n_sets(node); i++) {
        const rlf_value *value = &graph->values.data[body->args[i]];
        const rlf_value *from = &graph->values.data[node->inputs[i]];
        const rlf_set_size *whole = &load->sizes->set[from->set];
        double pieces = whole->prompts / load->sizes->set[value->set].prompts *
                        args_of(node, i)[EPOCHS].number;
        out->host += pieces * (rlf_sizes_bytes(graph, load->sizes, value) +
                               13 * whole->prompts + 4 * whole->samples);
    }
}

const rlf_node_class rlf_node_for = {
    .name = "split",
    .doc = "runs its block on pieces of sets, groups whole",
    .form = RLF_FORM_SYNTAX,
    .control_flow = RLF_CONTROL_FLOW_LOOP,
    .formals = formals,
    .n_formals = N_FORMALS,
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .infer = infer,
    .cost = cost,
    .open = open,
    .step = step,
    RLF_CLASS_STATELESS,
};
