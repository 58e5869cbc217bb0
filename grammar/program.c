/* Expression programs of terms: fused by granularity, and losses. */
#include "grammar/lower.h"

#include <stdlib.h>

/* A program in the making. */
typedef struct maker {
    rlf_lower *l;
    rlf_expr *expr;
    rlf_numbers op; /* by term: its operation here */
    struct {
        int *data;
        size_t count, room;
    } leaves; /* per input: its term */
} maker;

static maker
maker_new(rlf_lower *l)
{
    rlf_sema *s = l->s;
    maker m = {.l = l};
    m.expr = rlf_expr_new(s->arena, &s->graph->domains);
    m.op.arena = s->arena;
    return m;
}

static int
add_leaf(maker *m, int term)
{
    const rlf_term *t = &m->l->s->terms.data[term];
    rlf_expr_input in = {.name = t->name ? t->name : "it",
                         .domain = t->domain,
                         .text = t->text,
                         .live = t->touches};
    int input = rlf_expr_add_input(m->expr, in);
    RLF_PUSH_IN(m->l->s->arena, &m->leaves, term);
    return rlf_expr_input_op(m->expr, input, t->span);
}

/* Is the term an input here, being computed elsewhere? */
static bool
is_leaf(const rlf_term *t)
{
    return t->kind == RLF_TERM_OUT || t->kind == RLF_TERM_LIVE ||
           t->value_index >= 0;
}

static int build(maker *m, int term);

static int
build_op(maker *m, int term, const rlf_term *t)
{
    int arg[3] = {-1, -1, -1};
    for (int k = 0; k < 3; k++) {
        if (t->arg[k] >= 0)
            arg[k] = build(m, t->arg[k]);
    }
    if (t->code == RLF_EXPR_DOWN)
        return rlf_expr_down(m->expr, arg[0], t->domain);
    if (rlf_expr_is_pointwise(t->code) || t->code == RLF_EXPR_TEXT_EQ) {
        int op = rlf_expr_pointwise(m->expr, t->code, arg[0], arg[1], arg[2],
                                    t->span);
        return rlf_expr_down(m->expr, op, t->domain);
    }
    rlf_expr_op op = {.code = t->code,
                      .domain = t->domain,
                      .arg = {arg[0], arg[1], arg[2]},
                      .over = t->over,
                      .text = t->text,
                      .span = t->span};
    if (t->code == RLF_EXPR_UNIFORM)
        op.site = m->l->term_site[term];
    /* Scans and what takes rows: arguments on their domains. */
    if (t->code == RLF_EXPR_DISCOUNT || t->code == RLF_EXPR_NEXT ||
        t->code == RLF_EXPR_PREV || t->code == RLF_EXPR_CUMSUM) {
        for (int k = 0; k < 2; k++) {
            if (arg[k] >= 0)
                op.arg[k] = rlf_expr_down(m->expr, arg[k], t->domain);
        }
    }
    return rlf_expr_add(m->expr, op);
}

static int
build(maker *m, int term)
{
    int op = rlf_numbers_get(&m->op, term, -1);
    if (op >= 0)
        return op;
    const rlf_term *t = &m->l->s->terms.data[term];
    if (t->kind == RLF_TERM_CONST && t->text)
        op = rlf_expr_words(m->expr, rlf_str_of(t->words), t->span);
    else if (t->kind == RLF_TERM_CONST)
        op = rlf_expr_constant(m->expr, t->value, t->span);
    else
        op = is_leaf(t) || rlf_vocab_is_result(m->l->s, term)
                 ? add_leaf(m, term)
                 : build_op(m, term, t);
    rlf_numbers_put(&m->op, term, op);
    return op;
}

/* ---- spaces that a program needs ---- */

static void
enter(const rlf_domains *domains, int domain, bool *there)
{
    if (domain <= 0 || there[domain])
        return;
    there[domain] = true;
    const rlf_domain *d = rlf_domains_get(domains, domain);
    for (int i = 0; i < d->n_up; i++)
        enter(domains, d->up[i], there);
}

static void
enter_set(const rlf_sema *s, int set, bool *there)
{
    const rlf_set *d = &s->graph->sets.data[set];
    enter(&s->graph->domains, d->prompts, there);
    enter(&s->graph->domains, d->samples, there);
    enter(&s->graph->domains, d->tokens, there);
}

/* A set that is made already and has the domain. */
int
rlf_lower_set_with(const rlf_sema *s, int domain)
{
    for (size_t i = 0; i < s->graph->sets.count; i++) {
        const rlf_set *d = &s->graph->sets.data[i];
        bool has =
            d->prompts == domain || d->samples == domain || d->tokens == domain;
        if (has && s->makers.data[i].value_index >= 0)
            return (int)i;
    }
    return -1;
}

typedef RLF_VEC(int) ints;

/* Add to `inputs` the sets whose spaces the program computes on though no
 * input of it lies there. */
static void
add_spaces(const rlf_sema *s, const rlf_expr *expr, bool *there, ints *inputs)
{
    for (size_t i = 0; i < expr->ops.count; i++) {
        int domain = expr->ops.data[i].domain;
        if (domain <= 0 || there[domain])
            continue;
        int set = rlf_lower_set_with(s, domain);
        RLF_ASSERT(set >= 0);
        RLF_PUSH_IN(s->arena, inputs, s->makers.data[set].value_index);
        enter_set(s, set, there);
    }
}

/* ---- granularity ---- */

typedef struct grain {
    rlf_granularity grain;
    int rows;
} grain;

/* The finest of two row domains, if one goes down to the other; else -1. */
static int
finer(const rlf_domains *domains, int a, int b)
{
    if (a == 0 || rlf_domain_reaches(domains, a, b))
        return b;
    if (b == 0 || rlf_domain_reaches(domains, b, a))
        return a;
    return -1;
}

/* The domain that an operation takes together: the rows below a group, 0 for
 * the batch, -1 for single samples. */
static int
takes_together(const rlf_expr *expr, const rlf_expr_op *op)
{
    const rlf_domains *domains = expr->domains;
    int rows = rlf_domain_rows(domains, op->domain);
    if (op->code == RLF_EXPR_RANK || op->code == RLF_EXPR_ROTATE) {
        int over = rlf_domain_rows(domains, op->over);
        return over == rows ? -1 : over == 0 ? 0 : rows;
    }
    for (int k = 0; k < rlf_expr_arity(op->code); k++) {
        int from = rlf_domain_rows(domains, expr->ops.data[op->arg[k]].domain);
        if (from == rows || op->code == RLF_EXPR_DOWN)
            continue;
        bool group = rows != 0 && rlf_domains_get(domains, from)->owner == rows;
        return group ? from : 0;
    }
    return -1;
}

/* The rows that a program needs before it can run on a piece. Pieces are made
 * of the finest rows in it; whole groups of those, if it reduces over groups.
 */
static grain
grain_of(const rlf_expr *expr, int output_domain)
{
    const rlf_domains *domains = expr->domains;
    const grain batch = {RLF_GRAIN_BATCH, -1};
    int rows = rlf_domain_rows(domains, output_domain), group = -1;
    if (output_domain == 0)
        return batch;
    for (size_t i = 0; i < expr->ops.count; i++) {
        const rlf_expr_op *op = &expr->ops.data[i];
        rows = finer(domains, rows, rlf_domain_rows(domains, op->domain));
        int together = takes_together(expr, op);
        if (rows < 0 || together == 0 ||
            (together > 0 && group > 0 && together != group))
            return batch;
        if (together > 0)
            group = together;
    }
    if (group < 0)
        return (grain){RLF_GRAIN_SAMPLE, rows};
    return group == rows ? (grain){RLF_GRAIN_GROUP, rows} : batch;
}

/* ---- fusing ---- */

typedef struct bucket {
    grain grain;
    int words; /* the tokens at which these are reduced over vocab; or -1 */
    ints terms;
} bucket;

typedef RLF_VEC(bucket) buckets;

enum { UNKNOWN = -2 };

/* The last bucket that holds something the term is made of; -1 none. `in` is
 * the bucket of each term that has one, `latest` what was answered. */
static int
latest_part(const rlf_lower *l, const rlf_numbers *in, rlf_numbers *latest,
            int term)
{
    const rlf_term *t = &l->s->terms.data[term];
    int most = rlf_numbers_get(latest, term, UNKNOWN);
    if (most != UNKNOWN)
        return most;
    most = -1;
    bool op = t->kind == RLF_TERM_OP && t->value_index < 0;
    for (int k = 0; k < 3 && op; k++) {
        if (t->arg[k] < 0)
            continue;
        int mine = rlf_numbers_get(in, t->arg[k], -1);
        if (mine < 0)
            mine = latest_part(l, in, latest, t->arg[k]);
        if (mine > most)
            most = mine;
    }
    rlf_numbers_put(latest, term, most);
    return most;
}

static grain
grain_of_term(rlf_lower *l, int term)
{
    if (rlf_vocab_is_result(l->s, term))
        return (grain){RLF_GRAIN_SAMPLE,
                       rlf_domain_rows(&l->s->graph->domains,
                                       l->s->terms.data[term].domain)};
    maker m = maker_new(l);
    build(&m, term);
    return grain_of(m.expr, l->s->terms.data[term].domain);
}

static void
emit(rlf_lower *l, int part, const bucket *b, bool looking)
{
    rlf_sema *s = l->s;
    maker m = maker_new(l);
    rlf_node node = {
        .class = rlf_classes_syntax(s->classes, "expr"),
        .region = s->parts.data[part].index,
        .grain = b->grain.grain,
        .rows = b->grain.rows,
        .receiver = -1,
        .looking = looking,
        .ahead = l->ahead,
        .span = s->terms.data[b->terms.data[0]].span,
    };
    node.outputs = RLF_NEW_ARRAY(s->arena, int, b->terms.count);
    for (size_t i = 0; i < b->terms.count; i++) {
        int term = b->terms.data[i];
        const rlf_term *t = &s->terms.data[term];
        int op = build(&m, term);
        rlf_expr_add_output(m.expr, t->name ? t->name : "it", op);
    }
    for (size_t i = 0; i < b->terms.count; i++) {
        rlf_term *t = &s->terms.data[b->terms.data[i]];
        t->value_index = rlf_graph_add_value(
            s->graph,
            (rlf_value){.kind = t->text ? RLF_VALUE_TEXT : RLF_VALUE_NUMBER,
                        .domain = t->domain,
                        .set = -1,
                        .node = -1,
                        .name = t->name ? t->name : "it",
                        .label = t->label,
                        .span = t->span});
        node.outputs[node.n_outputs++] = t->value_index;
    }
    bool *there = RLF_NEW_ARRAY(s->arena, bool, s->graph->domains.list.count);
    ints inputs = {0};
    for (size_t i = 0; i < m.leaves.count; i++) {
        const rlf_term *t = &s->terms.data[m.leaves.data[i]];
        RLF_PUSH_IN(s->arena, &inputs, t->value_index);
        enter(&s->graph->domains, t->domain, there);
    }
    node.expr = rlf_expr_prune(m.expr, s->arena);
    add_spaces(s, node.expr, there, &inputs);
    node.inputs = inputs.data;
    node.n_inputs = (int)inputs.count;
    node.site = RLF_SITE_PROGRAM + l->programs++;
    rlf_graph_add_node(s->graph, node);
}

static int
by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

void
rlf_lower_programs(rlf_lower *l, int part, const int *terms, size_t n,
                   bool looking)
{
    rlf_sema *s = l->s;
    if (!n)
        return;
    int *order = RLF_NEW_ARRAY(s->arena, int, n);
    memcpy(order, terms, sizeof *order * n);
    qsort(order, n, sizeof *order, by_number);
    rlf_numbers in = {.arena = s->arena}, latest = {.arena = s->arena};
    buckets list = {0};
    for (size_t i = 0; i < n; i++) {
        grain g = grain_of_term(l, order[i]);
        int from = latest_part(l, &in, &latest, order[i]),
            at = from < 0 ? 0 : from;
        int words = rlf_vocab_is_result(s, order[i])
                        ? s->terms.data[order[i]].domain
                        : -1;
        while ((size_t)at < list.count &&
               (list.data[at].words != words ||
                list.data[at].grain.grain != g.grain ||
                list.data[at].grain.rows != g.rows))
            at++;
        if ((size_t)at == list.count) {
            bucket fresh = {.grain = g, .words = words};
            RLF_PUSH_IN(s->arena, &list, fresh);
        }
        rlf_numbers_put(&in, order[i], at);
        RLF_PUSH_IN(s->arena, &list.data[at].terms, order[i]);
    }
    for (size_t i = 0; i < list.count; i++) {
        const bucket *b = &list.data[i];
        if (b->words < 0)
            emit(l, part, b, looking);
        else
            rlf_vocab_emit(l, part, b->terms.data, b->terms.count, looking);
    }
}

const rlf_expr *
rlf_lower_one(rlf_sema *s, int term)
{
    rlf_lower l = {
        .s = s, .term_site = RLF_NEW_ARRAY(s->arena, uint32_t, s->terms.count)};
    maker m = maker_new(&l);
    rlf_expr_add_output(m.expr, "it", build(&m, term));
    return rlf_expr_prune(m.expr, s->arena);
}

/* ---- losses ---- */

/* The node's inputs: those of the item, then the constants of the loss and the
 * sets that it needs for their spaces. */
static void
loss_inputs(rlf_lower *l, const maker *m, const rlf_update_statement *u,
            rlf_node *node, rlf_loss *loss)
{
    rlf_sema *s = l->s;
    bool *there = RLF_NEW_ARRAY(s->arena, bool, s->graph->domains.list.count);
    ints inputs = {0};
    for (int i = 0; i < node->n_inputs; i++)
        RLF_PUSH_IN(s->arena, &inputs, node->inputs[i]);
    loss->constant_input = RLF_NEW_ARRAY(s->arena, int, m->leaves.count);
    for (size_t i = 0; i < m->leaves.count; i++) {
        const rlf_term *t = &s->terms.data[m->leaves.data[i]];
        enter(&s->graph->domains, t->domain, there);
        loss->constant_input[i] = -1;
        if (t->touches)
            continue;
        loss->constant_input[i] = (int)inputs.count;
        RLF_PUSH_IN(s->arena, &inputs, t->value_index);
    }
    for (size_t i = 0; i < u->calls.count; i++)
        enter_set(s, u->calls.data[i].set, there);
    add_spaces(s, loss->program, there, &inputs);
    node->inputs = inputs.data;
    node->n_inputs = (int)inputs.count;
}

static int
input_of(const rlf_node *node, int value)
{
    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == value)
            return i;
    }
    return -1;
}

void
rlf_lower_loss(rlf_lower *l, const rlf_item *item, rlf_node *node)
{
    rlf_sema *s = l->s;
    const rlf_update_statement *u = &s->updates.data[item->update];
    maker m = maker_new(l);
    rlf_loss *loss = RLF_NEW(s->arena, rlf_loss);
    int op = build(&m, u->loss);
    loss->loss = rlf_expr_add_output(m.expr, "loss", op);
    loss->taken = -1;
    if (u->taken >= 0) {
        op = build(&m, u->taken);
        loss->taken = rlf_expr_add_output(m.expr, "taken", op);
    }
    loss->n_reports = (int)u->reports.count;
    loss->report = RLF_NEW_ARRAY(s->arena, int, u->reports.count);
    for (size_t i = 0; i < u->reports.count; i++) {
        const rlf_update_report *r = &u->reports.data[i];
        op = build(&m, r->term);
        loss->report[i] =
            rlf_expr_add_output(m.expr, r->name ? r->name : "reports", op);
    }
    rlf_derivative *d = rlf_expr_derive(m.expr, loss->loss, s->arena);
    loss->program = d->expr;
    loss_inputs(l, &m, u, node, loss);
    loss->calls = RLF_NEW_ARRAY(s->arena, rlf_live_call, u->calls.count);
    RLF_VEC(rlf_vocab_leaf) words = {0};
    for (size_t i = 0; i < m.leaves.count; i++) {
        const rlf_term *t = &s->terms.data[m.leaves.data[i]];
        if (t->touches && t->kind != RLF_TERM_LIVE)
            RLF_PUSH_IN(s->arena, &words,
                        (rlf_vocab_leaf){.term = m.leaves.data[i],
                                         .input = (int)i,
                                         .guarded = d->guarded[i]});
        if (t->kind != RLF_TERM_LIVE)
            continue;
        const rlf_update_call *call = &u->calls.data[t->port];
        loss->calls[loss->n_calls++] = (rlf_live_call){
            .class = call->class,
            .set_input = input_of(node, s->makers.data[call->set].value_index),
            .input = (int)i,
            .gradient = d->output_of_input[i],
        };
    }
    if (words.count)
        rlf_vocab_loss(l, u, words.data, words.count, node, loss);
    for (int i = 0; i < loss->n_words; i++)
        for (size_t k = 0; k < loss->words[i].program->outputs.count; k++)
            loss->words[i].derivative[k] =
                d->output_of_input[loss->words[i].result[k]];
    loss->shared = u->shared != NULL;
    rlf_loss_find_passes(s->graph, node->inputs, loss);
    loss->reach = rlf_loss_reach(loss);
    node->loss = loss;
}
