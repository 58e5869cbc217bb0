/* A program in words, statement by statement: what each makes, how large that
 * is, what works on it where, and how much of the step's operations that
 * takes. */
#include "engine/api/reporting/texts.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "grammar/parse.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Parts of a step's operations that are told. */
#define LEAST 1e-3

typedef struct explainer {
    rlf_session *session;
    const rlf_graph *graph;
    rlf_opened opened;
    rlf_sizes sizes;
    double operations;         /* of all nodes on rank 0 */
    bool *used;                /* per value: a node reads it */
    const rlf_ast_block *flow; /* the text; NULL: it has no flow */
} explainer;

/* The text about a statement of a region, with that about its body. */
typedef struct told {
    rlf_place at;
    rlf_span span;
    bool inside; /* an update: it is indented */
    rlf_buf text;
} told;

typedef struct region_told {
    RLF_VEC(told) list;
} region_told;

/* ---- numbers and levels ---- */

static void
put_count(double n, rlf_buf *out)
{
    if (isfinite(n))
        rlf_buf_printf(out, n < 1e7 ? "%.0f" : "%.3g", n);
    else
        rlf_buf_puts(out, "an unknown number of");
}

static void
put_rows(double n, const char *of, rlf_buf *out)
{
    put_count(n, out);
    rlf_buf_printf(out, " %s%s", of, n == 1 ? "" : "s");
}

/* "a number for each of the 256 rows of roll" */
static void
put_level(const explainer *x, const rlf_value *v, rlf_buf *out)
{
    const rlf_domain *d = rlf_domains_get(&x->graph->domains, v->domain);
    const char *what = v->kind == RLF_VALUE_TEXT ? "text" : "number";
    double n = x->sizes.values[v->domain];
    switch (d->kind) {
    case RLF_DOMAIN_SCALAR:
        rlf_buf_printf(out, "one %s", what);
        break;
    case RLF_DOMAIN_ROWS:
        rlf_buf_printf(out, "a %s for each of ", what);
        put_rows(n, "row", out);
        rlf_buf_printf(out, " of %s", d->name);
        break;
    case RLF_DOMAIN_TOKENS:
        rlf_buf_printf(out, "a %s for each of the %s, ", what, d->name);
        put_count(n, out);
        rlf_buf_puts(out, " at most");
        break;
    case RLF_DOMAIN_VOCAB:
        rlf_buf_printf(out,
                       "a %s for each word of the vocabulary, for %s; it has "
                       "no storage",
                       what, d->name);
        break;
    }
}

/* Of a part that a condition chooses the most that it can be. */
static void
put_set(const explainer *x, const rlf_value *v, rlf_buf *out)
{
    const rlf_set *set = &x->graph->sets.data[v->set];
    const rlf_set_size *size = &x->sizes.set[v->set];
    if (set->kind == RLF_SET_DATA || set->tokens < 0) {
        rlf_buf_puts(out, "a set of ");
        put_rows(size->prompts, "prompt", out);
        return;
    }
    rlf_buf_puts(out, "a set of ");
    if (set->origin >= 0 && v->node >= 0)
        rlf_buf_puts(out, "at most ");
    put_rows(size->samples, "sample", out);
    if (size->samples > size->prompts) {
        rlf_buf_puts(out, " to ");
        put_rows(size->prompts, "prompt", out);
    }
    rlf_buf_puts(out, ", each at most ");
    put_rows(size->response, "token", out);
    if (set->origin >= 0)
        rlf_buf_printf(out, ", of %s", x->graph->sets.data[set->origin].name);
}

/* ---- statements ---- */

/* The place in the flow at which a node is asked for: that of the call, if it
 * stands in a function. */
static rlf_span
place_in_flow(const explainer *x, rlf_span span)
{
    const rlf_source_use *use;
    while ((use = rlf_sources_used(x->graph->sources, span)))
        span = use->at;
    return span;
}

static void
put_indent(int depth, rlf_buf *out)
{
    rlf_buf_printf(out, "%*s", 6 + 4 * depth, "");
}

static bool
covers(rlf_span span, rlf_span inner)
{
    return span.source == inner.source && span.first <= inner.first &&
           inner.last <= span.last;
}

/* The innermost statement of a block that a place of the flow is in; NULL: it
 * is in none. */
static const rlf_ast_stmt *
statement_at(const rlf_ast_block *block, rlf_span span)
{
    for (size_t i = 0; block && i < block->stmts.count; i++) {
        const rlf_ast_stmt *one = block->stmts.data[i], *inner;
        if (!covers(one->span, span))
            continue;
        if ((inner = statement_at(one->body, span)) ||
            (inner = statement_at(one->other, span)))
            return inner;
        return one;
    }
    return NULL;
}

static told *
told_at(region_told *region, rlf_place at)
{
    for (size_t i = 0; i < region->list.count; i++) {
        told *one = &region->list.data[i];
        if (one->at.line == at.line && strcmp(one->at.path, at.path) == 0)
            return one;
    }
    return NULL;
}

/* The text of the statement that has a span; nodes of a statement share it. */
static rlf_buf *
statement_of(const explainer *x, rlf_span span, region_told *region)
{
    span = place_in_flow(x, span);
    const rlf_ast_stmt *stmt = statement_at(x->flow, span);
    if (stmt)
        span = stmt->span;
    rlf_place at = rlf_sources_place(x->graph->sources, span);
    told *there = told_at(region, at);
    if (there)
        return &there->text;
    told one = {.at = at, .span = span};
    RLF_PUSH(&region->list, one);
    return &region->list.data[region->list.count - 1].text;
}

/* The lines of a text, each so much further to the right. */
static void
put_indented(const rlf_buf *text, int by, rlf_buf *out)
{
    for (size_t at = 0; at < text->n;) {
        const char *end = memchr(text->p + at, '\n', text->n - at);
        size_t n = end ? (size_t)(end - (text->p + at)) + 1 : text->n - at;
        rlf_buf_printf(out, "%*s", by, "");
        rlf_buf_add(out, text->p + at, n);
        at += n;
    }
}

/* Statements in the order of their lines: a node may come before another whose
 * statement stands above its own. */
static void
put_statements(const explainer *x, region_told *region, int depth, rlf_buf *out)
{
    for (size_t i = 1; i < region->list.count; i++) {
        told one = region->list.data[i];
        size_t k = i;
        for (; k && region->list.data[k - 1].at.line > one.at.line; k--)
            region->list.data[k] = region->list.data[k - 1];
        region->list.data[k] = one;
    }
    for (size_t i = 0; i < region->list.count; i++) {
        told *one = &region->list.data[i];
        int by = one->inside ? 4 : 0;
        rlf_buf_printf(out, "\n%4u  %*s%s\n", one->at.line, 4 * depth + by, "",
                       rlf_sources_statement(x->graph->sources, one->span,
                                             x->session->arena));
        put_indented(&one->text, by, out);
        rlf_buf_free(&one->text);
    }
    RLF_VEC_FREE(&region->list);
}

/* ---- what a node does ---- */

static const char *
receiver(const explainer *x, const rlf_node *node)
{
    return node->receiver < 0 ? ""
                              : x->graph->resources.data[node->receiver].name;
}

/* The name of the set that a node reads first, or "". */
static const char *
read_set(const explainer *x, const rlf_node *node)
{
    for (int i = 0; i < node->n_inputs; i++) {
        const rlf_value *v = &x->graph->values.data[node->inputs[i]];
        if (v->kind == RLF_VALUE_SET)
            return v->name ? v->name : "";
    }
    return "";
}

/* "a, b and c": the sets that a node has a model read, each once; of an update
 * those of all its passes. */
static void
put_read_sets(const explainer *x, const rlf_node *node, rlf_buf *out)
{
    const rlf_loss *loss = node->loss;
    int n = loss ? loss->n_calls : node->n_inputs, count = 0;
    int *sets = RLF_NEW_ARRAY(x->session->arena, int, n + 1);
    for (int i = 0; i < n; i++) {
        int value = node->inputs[loss ? loss->calls[i].set_input : i], k = 0;
        while (k < count && sets[k] != value)
            k++;
        if (k == count && x->graph->values.data[value].kind == RLF_VALUE_SET)
            sets[count++] = value;
    }
    for (int i = 0; i < count; i++) {
        const char *name = x->graph->values.data[sets[i]].name;
        rlf_buf_printf(out, "%s%s",
                       i == 0           ? ""
                       : i == count - 1 ? " and "
                                        : ", ",
                       name ? name : "");
    }
}

static void
put_verb(const explainer *x, const rlf_node *node, rlf_buf *out)
{
    const rlf_node_class *class = node->class;
    const char *on = receiver(x, node), *set = read_set(x, node);
    bool hook = class->receiver == RLF_RECEIVER_HOOK;
    if (class->draws)
        rlf_buf_printf(out, "rows of %s are drawn", on);
    else if (class->work == RLF_WORK_GENERATE)
        rlf_buf_printf(out, "%s samples responses to %s", on, set);
    else if (class->work == RLF_WORK_READ) {
        rlf_buf_printf(out, "%s reads ", on);
        put_read_sets(x, node, out);
    } else if (class->work == RLF_WORK_TRAIN) {
        rlf_buf_printf(out, "%s is trained on ", on);
        put_read_sets(x, node, out);
        rlf_buf_puts(out, ", one step of its optimizer");
    } else if (class->work == RLF_WORK_WEIGHTS)
        rlf_buf_printf(out, "the weights of %s are set", on);
    else if (hook)
        rlf_buf_printf(out, "the function %s is called", on);
    else if (class->receiver == RLF_RECEIVER_STATE)
        rlf_buf_printf(out, "the state %s is %s", on,
                       class->writes ? "set" : "read");
    else if (class->program == RLF_PROGRAM_EXPR)
        rlf_buf_puts(out, "arithmetic");
    else
        rlf_buf_puts(out, class->doc);
}

static const char *
when(const rlf_node *node)
{
    if (!node->n_inputs)
        return "";
    return node->rows < 0 ? ", once all rows are there"
           : node->grain == RLF_GRAIN_SAMPLE
               ? ", each row as soon as it is there"
               : ", each group as soon as all of it is there";
}

static void
put_where(const explainer *x, const rlf_node *node, rlf_buf *out)
{
    const rlf_node_place *place = &x->session->plan->place[node->id];
    const rlf_layout *l = &place->layout;
    if (x->session->plan->ranks == 1)
        return;
    if (place->partition == RLF_PARTITION_WHOLE) {
        rlf_buf_puts(out, ", on every rank");
    } else if (place->partition == RLF_PARTITION_NEAR) {
        rlf_buf_puts(out, ", where its rows are");
    } else {
        rlf_buf_printf(out, ", on %s", l->n_ranks == 1 ? "rank" : "ranks");
        for (int i = 0; i < l->n_ranks; i++)
            if (i == 0 || i == l->n_ranks - 1 || l->n_ranks <= 4)
                rlf_buf_printf(out, "%s%d", i ? ", " : " ", l->ranks[i]);
            else if (i == 1)
                rlf_buf_puts(out, ", ...");
        rlf_buf_printf(out, " (tp %d, pp %d, dp %d)", l->tp, l->pp, l->dp);
    }
}

/* The operations of rank 0, as a part of all of its step. */
static void
put_work(const explainer *x, const rlf_node *node, rlf_buf *out)
{
    rlf_cost cost = rlf_opened_cost(&x->opened, &x->sizes, node->id);
    if (!(cost.flops > LEAST * x->operations))
        return;
    rlf_buf_puts(out, ": ");
    rlf_buf_percent(out, cost.flops / x->operations);
    rlf_buf_puts(out, " of the step's operations");
    if (x->sizes.runs[node->id] > 1)
        rlf_buf_printf(out, ", in %.0f runs", x->sizes.runs[node->id]);
}

static void
put_value(const explainer *x, const rlf_value *v, int depth, rlf_buf *out)
{
    put_indent(depth, out);
    rlf_buf_printf(out, "%s: ", v->name);
    if (v->kind == RLF_VALUE_SET)
        put_set(x, v, out);
    else
        put_level(x, v, out);
    rlf_buf_putc(out, '\n');
}

/* Does the program name the value, or use it? */
static bool
is_told(const explainer *x, int value)
{
    const rlf_value *v = &x->graph->values.data[value];
    return v->name && strcmp(v->name, "it") != 0 &&
           (x->used[value] || v->port == 0);
}

/* What a node of arithmetic makes may be of several statements. */
static void
put_values(const explainer *x, const rlf_node *node, int depth,
           region_told *region)
{
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &x->graph->values.data[node->outputs[i]];
        bool own = node->class->program == RLF_PROGRAM_EXPR && v->span.source;
        if (is_told(x, node->outputs[i]))
            put_value(x, v, depth,
                      statement_of(x, own ? v->span : node->span, region));
    }
}

static void
put_loop(const explainer *x, const rlf_node *node, int depth, rlf_buf *out)
{
    const rlf_region *body = &x->graph->regions.data[node->regions[0]];
    double runs = body->n_nodes ? x->sizes.runs[body->nodes[0]] : 0;
    put_indent(depth, out);
    rlf_buf_puts(out, "the body runs ");
    switch (node->class->control_flow) {
    case RLF_CONTROL_FLOW_LOOP:
        rlf_buf_printf(out, "%.0f times in a step", runs);
        break;
    case RLF_CONTROL_FLOW_ROUNDS:
        rlf_buf_printf(out, "in rounds, at most %.0f, until enough is kept",
                       runs);
        break;
    default:
        rlf_buf_puts(out, node->class->period ? "in some steps alone"
                                              : "where the condition holds");
    }
    if (node->looking)
        rlf_buf_puts(out, "; it only looks, and changes no bit of what is "
                          "trained");
    rlf_buf_putc(out, '\n');
    for (int i = 0; i < body->n_args; i++) {
        const rlf_value *v = &x->graph->values.data[body->args[i]];
        if (v->kind == RLF_VALUE_SET)
            put_value(x, v, depth, out);
    }
}

/* A field of a set, the step's number, and what is made of numbers alone that
 * have no name, such as a learning rate, are in the statement to be seen. */
static bool
is_plain(const explainer *x, const rlf_node *node)
{
    bool plain = node->class->program == RLF_PROGRAM_EXPR;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &x->graph->values.data[node->outputs[i]];
        plain &= v->domain == 0 && !is_told(x, node->outputs[i]);
    }
    return plain || node->class->view || node->class->form == RLF_FORM_FIELD;
}

static void
put_reports(const rlf_node *node, int depth, rlf_buf *out)
{
    put_indent(depth, out);
    rlf_buf_puts(out, "metrics:");
    for (int i = 0; i < node->n_args; i++)
        rlf_buf_printf(out, "%s %s", i ? "," : "", node->args[i].name);
    rlf_buf_putc(out, '\n');
}

static void
put_node(const explainer *x, const rlf_node *node, int depth,
         region_told *region)
{
    if (is_plain(x, node))
        return;
    put_values(x, node, depth, region);
    rlf_buf *out = statement_of(x, node->span, region);
    const rlf_ast_stmt *stmt =
        statement_at(x->flow, place_in_flow(x, node->span));
    if (node->class->reports) {
        /* those of an update are told where they stand in it */
        if (!stmt || stmt->kind != RLF_AST_UPDATE)
            put_reports(node, depth, out);
    } else if (node->n_regions) {
        put_loop(x, node, depth, out);
    } else {
        put_indent(depth, out);
        put_verb(x, node, out);
        rlf_buf_puts(out, when(node));
        put_where(x, node, out);
        put_work(x, node, out);
        rlf_buf_putc(out, '\n');
    }
}

/* ---- statements that have no node of their own ---- */

/* An operation that computes the value of an expression of the flow. */
typedef struct made_by {
    const rlf_node *node; /* NULL: there is none */
    int domain; /* of the graph; -1: not known, or of the vocabulary */
} made_by;

static bool
same_place(rlf_span a, rlf_span b)
{
    return a.source == b.source && a.first == b.first && a.last == b.last;
}

/* Is that where the operation of an expression stands: all of it, its sign or
 * name, or from there to what it reduces over? */
static bool
stands_for(rlf_span at, const rlf_ast_expr *e)
{
    if (same_place(at, e->span) || same_place(at, e->at))
        return true;
    if (e->kind != RLF_AST_CALL || !e->args || !e->args->count ||
        !e->args->data[0].over.text)
        return false;
    return same_place(at, rlf_span_join(e->at, e->args->data[0].over.span));
}

/* Looks through the first n operations of a program: what an expression is
 * comes after what it is made of. */
static void
find_operation(const explainer *x, const rlf_node *node,
               const rlf_expr *program, size_t n, const rlf_ast_expr *e,
               made_by *out)
{
    for (size_t i = 0; i < n; i++) {
        const rlf_expr_op *op = &program->ops.data[i];
        rlf_span at = place_in_flow(x, op->span);
        bool whole = stands_for(at, e);
        if (op->code == RLF_EXPR_DOWN || op->code == RLF_EXPR_CONST)
            continue; /* of whoever reads it */
        if (!whole && (out->node || !covers(e->span, at)))
            continue;
        bool here = whole && program->domains == &x->graph->domains;
        *out = (made_by){.node = node, .domain = here ? op->domain : -1};
    }
}

/* Operations of a loss's program without those of its derivatives. */
static size_t
forward_operations(const rlf_loss *loss)
{
    size_t n = (size_t)loss->program->outputs.data[loss->loss].op + 1;
    for (int i = 0; i < loss->n_reports; i++) {
        size_t op = (size_t)loss->program->outputs.data[loss->report[i]].op + 1;
        n = op > n ? op : n;
    }
    return n;
}

static made_by
maker_of(const explainer *x, const rlf_ast_expr *e)
{
    made_by out = {0};
    for (size_t i = 0; i < x->graph->nodes.count; i++) {
        const rlf_node *node = &x->graph->nodes.data[i];
        const rlf_loss *loss = node->loss;
        if (node->expr)
            find_operation(x, node, node->expr, node->expr->ops.count, e, &out);
        if (node->words)
            find_operation(x, node, node->words->program,
                           node->words->program->ops.count, e, &out);
        if (loss)
            find_operation(x, node, loss->program, forward_operations(loss), e,
                           &out);
    }
    return out;
}

static bool
has_value(const rlf_buf *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text->p; p && (p = strstr(p, name)); p += n)
        if (p > text->p && p[-1] == ' ' && p[n] == ':')
            return true;
    return false;
}

/* What a name is given that no node has as its own value; `seen` says that
 * nodes have told what they do there. */
static void
put_let(const explainer *x, const rlf_ast_stmt *stmt, bool seen, bool inside,
        int depth, rlf_buf *out)
{
    made_by by = maker_of(x, stmt->value);
    if (seen && (!by.node || by.domain < 0 || has_value(out, stmt->name.text)))
        return;
    put_indent(depth, out);
    if (by.node && by.domain >= 0) {
        rlf_buf_printf(out, "%s: ", stmt->name.text);
        put_level(x, &(rlf_value){.domain = by.domain}, out);
        rlf_buf_putc(out, '\n');
        put_indent(depth, out);
    }
    if (inside || (by.node && by.node->loss))
        rlf_buf_puts(out, "part of the update's loss or metrics\n");
    else if (by.node)
        rlf_buf_printf(out, "arithmetic, together with that of line %u\n",
                       rlf_sources_place(x->graph->sources,
                                         place_in_flow(x, by.node->span))
                           .line);
    else
        rlf_buf_puts(out, "no work of its own\n");
}

static void
put_unseen(const explainer *x, const rlf_ast_stmt *stmt, bool seen, bool inside,
           int depth, rlf_buf *out)
{
    switch (stmt->kind) {
    case RLF_AST_LET:
        put_let(x, stmt, seen, inside, depth, out);
        break;
    case RLF_AST_MINIMIZE:
        put_indent(depth, out);
        rlf_buf_puts(out, "the loss, or a term of it: one number, whose "
                          "gradient the optimizer is given\n");
        break;
    case RLF_AST_REPORT:
        if (seen)
            break;
        put_indent(depth, out);
        rlf_buf_puts(out, "metrics:");
        for (size_t i = 0; i < stmt->binds->count; i++)
            rlf_buf_printf(out, "%s %s", i ? "," : "",
                           stmt->binds->data[i].name.text);
        rlf_buf_putc(out, '\n');
        break;
    default:
        break;
    }
}

/* Tell what the nodes of a region have not told of its statements. Those of an
 * update are in its region. */
static void
put_rest(const explainer *x, const rlf_ast_block *block, bool inside, int depth,
         region_told *region)
{
    for (size_t i = 0; block && i < block->stmts.count; i++) {
        const rlf_ast_stmt *stmt = block->stmts.data[i];
        bool leaf = stmt->kind == RLF_AST_LET ||
                    stmt->kind == RLF_AST_MINIMIZE ||
                    stmt->kind == RLF_AST_REPORT;
        rlf_place at = rlf_sources_place(x->graph->sources, stmt->span);
        bool seen = told_at(region, at) != NULL;
        if (leaf && !block->brief)
            put_unseen(x, stmt, seen, inside, depth,
                       statement_of(x, stmt->span, region));
        told *one = told_at(region, at);
        if (one && inside && !block->brief)
            one->inside = true;
        if (stmt->kind == RLF_AST_UPDATE || inside) {
            put_rest(x, stmt->body, true, depth, region);
            put_rest(x, stmt->other, true, depth, region);
        }
    }
}

/* The text of a region of a node: a block of its statement. */
static const rlf_ast_block *
body_of(const explainer *x, const rlf_node *node, int nth)
{
    rlf_span span = place_in_flow(x, node->span);
    const rlf_ast_stmt *stmt = statement_at(x->flow, span);
    return !stmt ? NULL : nth ? stmt->other : stmt->body;
}

static void
put_region(const explainer *x, int region, const rlf_ast_block *block,
           int depth, rlf_buf *out)
{
    const rlf_region *r = &x->graph->regions.data[region];
    region_told list = {0};
    for (int i = 0; i < r->n_nodes; i++) {
        const rlf_node *node = &x->graph->nodes.data[r->nodes[i]];
        put_node(x, node, depth, &list);
        for (int k = 0; k < node->n_regions; k++) {
            rlf_buf *body = statement_of(x, node->span, &list);
            if (k)
                rlf_buf_printf(body, "\n      %*selse\n", 4 * depth, "");
            put_region(x, node->regions[k], body_of(x, node, k), depth + 1,
                       body);
        }
    }
    put_rest(x, block, false, depth, &list);
    put_statements(x, &list, depth, out);
}

/* The flow as it is written. It was compiled, so all was told of it. */
static const rlf_ast_block *
flow_of(const explainer *x)
{
    const rlf_region *r = &x->graph->regions.data[0];
    if (!r->n_nodes)
        return NULL;
    rlf_sources *sources = &x->session->program.sources;
    rlf_diags again = {.arena = x->session->arena, .sources = sources};
    rlf_span span = place_in_flow(x, x->graph->nodes.data[r->nodes[0]].span);
    const rlf_ast_program *program =
        rlf_parse(sources, span.source, x->session->arena, &again);
    for (size_t i = 0; i < program->decls.count; i++)
        if (program->decls.data[i]->kind == RLF_AST_FLOW)
            return program->decls.data[i]->body;
    return NULL;
}

/* ---- what lasts ---- */

static void
put_resources(const explainer *x, rlf_buf *out)
{
    for (size_t i = 0; i < x->graph->resources.count; i++) {
        const rlf_resource *r = &x->graph->resources.data[i];
        rlf_buf_printf(out, "%s %s: %s", r->class->name, r->name,
                       r->constructor ? r->constructor : "");
        if (r->source >= 0)
            rlf_buf_printf(out, " of %s",
                           x->graph->resources.data[r->source].name);
        if (r->class->model)
            rlf_buf_puts(out, r->trained ? ", trained"
                                         : ", never changed by an update");
        rlf_buf_putc(out, '\n');
    }
}

bool
rlf_text_explain(rlf_session *s, rlf_buf *out)
{
    if (!rlf_text_is_dry(s))
        return false;
    const rlf_graph *g = s->graph;
    explainer x = {.session = s, .graph = g, .opened = rlf_run_opened(s->run)};
    x.sizes = rlf_opened_sizes(&x.opened, s->arena);
    x.used = RLF_NEW_ARRAY(s->arena, bool, g->values.count + 1);
    for (size_t i = 0; i < g->nodes.count; i++) {
        const rlf_node *node = &g->nodes.data[i];
        x.operations += rlf_opened_cost(&x.opened, &x.sizes, (int)i).flops;
        for (int k = 0; k < node->n_inputs; k++)
            x.used[node->inputs[k]] = true;
    }
    put_resources(&x, out);
    x.flow = flow_of(&x);
    put_region(&x, 0, x.flow, 0, out);
    return true;
}
