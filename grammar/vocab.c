/* Reductions over vocab: programs of values per word.
 *
 * Such values are never stored, so all that is made of them at a token is
 * computed at once, with the heads that give them: a program whose rows are
 * tokens and whose tokens are words (rlf_vocab_program). It begins at logprobs
 * and at columns, and ends at reductions over vocab; what lies between them and
 * looks at this token only is part of it. The derivative of a loss goes through
 * the reductions as through any live value, and from there on by a program of
 * the same kind. */
#include "grammar/lower.h"

enum { AT = 1, WORDS = 2 }; /* the domains of these programs */

static bool
is_words(const rlf_sema *s, int term)
{
    return rlf_level_of(s, s->terms.data[term].domain) == RLF_LEVEL_VOCAB;
}

bool
rlf_vocab_is_result(const rlf_sema *s, int term)
{
    const rlf_term *t = &s->terms.data[term];
    return t->kind == RLF_TERM_OP && !is_words(s, term) && t->arg[0] >= 0 &&
           is_words(s, t->arg[0]);
}

/* Does the term look at its own token only? */
static bool
is_local(const rlf_sema *s, int term)
{
    const rlf_term *t = &s->terms.data[term];
    return t->kind == RLF_TERM_OP && t->code != RLF_EXPR_UNIFORM &&
           (rlf_expr_is_pointwise(t->code) || t->code == RLF_EXPR_DOWN) &&
           rlf_level_of(s, t->domain) == RLF_LEVEL_TOKEN;
}

static bool holds_words(rlf_sema *s, int term);

static bool
holds(rlf_sema *s, int term)
{
    const rlf_term *t = &s->terms.data[term];
    if (is_words(s, term))
        return true;
    if (t->named && !t->touches)
        return false; /* a column of its own */
    if (rlf_vocab_is_result(s, term))
        return true;
    for (int k = 0; k < 3 && is_local(s, term); k++)
        if (t->arg[k] >= 0 && holds_words(s, t->arg[k]))
            return true;
    return false;
}

/* Is the term computed along with a reduction over vocab that it is part of: a
 * value per word, or made, token by token, of what was reduced? Worked out once
 * a term: it is asked for from all that is made of it. */
static bool
holds_words(rlf_sema *s, int term)
{
    rlf_term *t = &s->terms.data[term];
    if (!t->holds)
        t->holds = holds(s, term) ? 1 : -1;
    return t->holds > 0;
}

/* Columns, and calls of logprobs: where a program begins. */
static bool
is_leaf(rlf_sema *s, int term)
{
    const rlf_term *t = &s->terms.data[term];
    return t->kind == RLF_TERM_OUT || t->kind == RLF_TERM_LIVE ||
           (t->kind == RLF_TERM_OP && !holds_words(s, term));
}

static void
visit(rlf_sema *s, int term, rlf_numbers *seen, rlf_vocab_leaf_fn *fn,
      void *ctx)
{
    const rlf_term t = s->terms.data[term];
    if (rlf_numbers_get(seen, term, 0))
        return;
    rlf_numbers_put(seen, term, 1);
    if (is_leaf(s, term)) {
        fn(ctx, term);
        return;
    }
    for (int k = 0; k < 3; k++)
        if (t.arg[k] >= 0)
            visit(s, t.arg[k], seen, fn, ctx);
}

void
rlf_vocab_leaves(rlf_sema *s, int result, rlf_vocab_leaf_fn *fn, void *ctx)
{
    rlf_numbers seen = {.arena = s->arena};
    rlf_numbers_put(&seen, result, 1);
    visit(s, s->terms.data[result].arg[0], &seen, fn, ctx);
}

/* ---- the program ---- */

typedef struct source {
    int term;  /* the leaf; a term of the first call if it is a model's */
    int model; /* or -1 */
    bool live;
} source;

typedef struct maker {
    rlf_sema *s;
    rlf_expr *expr;
    rlf_numbers op; /* by term */
    struct {
        source *data;
        size_t count, room;
    } sources; /* per input */
} maker;

static maker
maker_new(rlf_sema *s)
{
    rlf_domains *domains = RLF_NEW(s->arena, rlf_domains);
    rlf_domains_init(domains, s->arena);
    rlf_domains_add(
        domains,
        (rlf_domain){.kind = RLF_DOMAIN_ROWS, .name = "tokens", .owner = -1});
    rlf_domains_add(domains, (rlf_domain){.kind = RLF_DOMAIN_TOKENS,
                                          .name = "words",
                                          .owner = AT,
                                          .up = {AT},
                                          .n_up = 1});
    maker m = {.s = s, .expr = rlf_expr_new(s->arena, domains)};
    m.op.arena = s->arena;
    return m;
}

/* Whose log-probabilities a value per word is; *live: of the model that is
 * updated. */
static int
model_of(const rlf_sema *s, const rlf_term *t, bool *live)
{
    *live = t->kind == RLF_TERM_LIVE;
    return *live ? s->updates.data[t->update].model
                 : s->items.data[t->item].receiver;
}

static int
add_source(maker *m, int term)
{
    const rlf_sema *s = m->s;
    const rlf_term *t = &s->terms.data[term];
    source from = {.term = term, .model = -1};
    if (is_words(s, term))
        from.model = model_of(s, t, &from.live);
    if (t->text)
        rlf_diag_error(s->diags, "unsupported", t->span,
                       "there are no texts for each word of the vocabulary");
    for (size_t i = 0; i < m->sources.count && from.model >= 0; i++) {
        const source *have = &m->sources.data[i];
        if (have->model == from.model && have->live == from.live)
            return rlf_expr_input_op(m->expr, (int)i, t->span);
    }
    RLF_PUSH_IN(s->arena, &m->sources, from);
    int input = rlf_expr_add_input(
        m->expr, (rlf_expr_input){.name = t->name ? t->name : "it",
                                  .domain = from.model >= 0 ? WORDS : AT,
                                  .live = from.live});
    return rlf_expr_input_op(m->expr, input, t->span);
}

static int build(maker *m, int term);

static int
build_op(maker *m, int term)
{
    rlf_sema *s = m->s;
    const rlf_term t = s->terms.data[term];
    int arg[3] = {-1, -1, -1};
    for (int k = 0; k < 3; k++)
        if (t.arg[k] >= 0)
            arg[k] = build(m, t.arg[k]);
    int domain = is_words(s, term) ? WORDS : AT;
    if (t.code == RLF_EXPR_DOWN)
        return rlf_expr_down(m->expr, arg[0], domain);
    if (rlf_expr_is_pointwise(t.code) || t.code == RLF_EXPR_TEXT_EQ) {
        int op =
            rlf_expr_pointwise(m->expr, t.code, arg[0], arg[1], arg[2], t.span);
        return rlf_expr_down(m->expr, op, domain);
    }
    if (t.code == RLF_EXPR_UNIFORM)
        rlf_diag_error(s->diags, "unsupported", t.span,
                       "there are no random numbers for each word of the "
                       "vocabulary");
    return rlf_expr_add(m->expr, (rlf_expr_op){.code = t.code,
                                               .domain = domain,
                                               .arg = {arg[0], arg[1], arg[2]},
                                               .over = AT,
                                               .text = t.text,
                                               .span = t.span});
}

static int
build(maker *m, int term)
{
    int op = rlf_numbers_get(&m->op, term, -1);
    if (op >= 0)
        return op;
    const rlf_term t = m->s->terms.data[term];
    if (t.kind == RLF_TERM_CONST && t.text)
        op = rlf_expr_words(m->expr, rlf_str_of(t.words), t.span);
    else if (t.kind == RLF_TERM_CONST)
        op = rlf_expr_constant(m->expr, t.value, t.span);
    else
        op = is_leaf(m->s, term) ? add_source(m, term) : build_op(m, term);
    rlf_numbers_put(&m->op, term, op);
    return op;
}

/* The reductions' program. */
static maker
make_program(rlf_sema *s, const int *terms, size_t n)
{
    maker m = maker_new(s);
    for (size_t i = 0; i < n; i++) {
        const rlf_term *t = &s->terms.data[terms[i]];
        int op = build_op(&m, terms[i]);
        rlf_numbers_put(&m.op, terms[i], op);
        rlf_expr_add_output(m.expr, t->name ? t->name : "over vocab", op);
    }
    return m;
}

/* ---- nodes ---- */

typedef RLF_VEC(int) ints;

/* Finds the program's inputs among the node's, which are appended to; the
 * models that the node reads besides its own. */
static void
resolve(const maker *m, ints *inputs, ints *reads, rlf_vocab_program *words)
{
    const rlf_sema *s = m->s;
    words->model = RLF_NEW_ARRAY(s->arena, int, m->sources.count);
    words->input = RLF_NEW_ARRAY(s->arena, int, m->sources.count);
    for (size_t i = 0; i < m->sources.count; i++) {
        const source *from = &m->sources.data[i];
        words->model[i] = from->model;
        words->input[i] = -1;
        if (from->live)
            continue;
        words->input[i] = (int)inputs->count;
        RLF_PUSH_IN(s->arena, inputs, s->terms.data[from->term].value_index);
        if (from->model >= 0)
            RLF_PUSH_IN(s->arena, reads, from->model);
    }
}

/* Programs print their own order of inputs; no pruning, which keeps them. */
void
rlf_vocab_emit(rlf_lower *l, int part, const int *terms, size_t n, bool looking)
{
    rlf_sema *s = l->s;
    maker m = make_program(s, terms, n);
    int domain = s->terms.data[terms[0]].domain;
    int set = rlf_lower_set_with(s, domain);
    rlf_vocab_program *words = RLF_NEW(s->arena, rlf_vocab_program);
    words->program = m.expr;
    ints inputs = {0}, reads = {0};
    RLF_PUSH_IN(s->arena, &inputs, s->makers.data[set].value_index);
    resolve(&m, &inputs, &reads, words);
    rlf_node node = {
        .class = rlf_classes_syntax(s->classes, "words"),
        .region = s->parts.data[part].index,
        .grain = RLF_GRAIN_SAMPLE,
        .rows = rlf_domain_rows(&s->graph->domains, domain),
        .receiver = reads.data[0],
        .inputs = inputs.data,
        .n_inputs = (int)inputs.count,
        .outputs = RLF_NEW_ARRAY(s->arena, int, n),
        .reads = reads.data,
        .n_reads = (int)reads.count,
        .words = words,
        .looking = looking,
        .ahead = l->ahead,
        .site = RLF_SITE_PROGRAM + l->programs++,
        .span = s->terms.data[terms[0]].span,
    };
    for (size_t i = 0; i < n; i++) {
        rlf_term *t = &s->terms.data[terms[i]];
        t->value_index = rlf_graph_add_value(
            s->graph, (rlf_value){.kind = RLF_VALUE_NUMBER,
                                  .domain = t->domain,
                                  .set = -1,
                                  .node = -1,
                                  .name = t->name ? t->name : "over vocab",
                                  .label = t->label,
                                  .span = t->span});
        node.outputs[node.n_outputs++] = t->value_index;
    }
    rlf_graph_add_node(s->graph, node);
}

/* ---- losses ---- */

/* The derivative by the live model's log-probabilities of sum(slope * result)
 * over results: what the loss gives for them, the slopes being its derivatives
 * by the results. `guarded`, per result: a slope of 0 may be that of a side not
 * taken, whose words count for nothing, even if they are infinite. */
static const rlf_expr *
make_slope(const maker *m, const int *guarded)
{
    const rlf_expr *program = m->expr;
    rlf_arena *arena = m->s->arena;
    rlf_expr *e = rlf_expr_new(arena, program->domains);
    size_t n = program->outputs.count;
    for (size_t i = 0; i < program->inputs.count; i++)
        rlf_expr_add_input(e, program->inputs.data[i]);
    for (size_t i = 0; i < program->ops.count; i++)
        RLF_PUSH_IN(arena, &e->ops, program->ops.data[i]);
    int sum = rlf_expr_constant(e, 0, (rlf_span){0});
    for (size_t i = 0; i < n; i++) {
        const char *name = program->outputs.data[i].name;
        int input = rlf_expr_add_input(
            e, (rlf_expr_input){.name = rlf_arena_printf(arena, "d %s", name),
                                .domain = AT});
        int slope = rlf_expr_input_op(e, input, (rlf_span){0});
        int op =
            rlf_expr_pointwise(e, RLF_EXPR_MUL, slope,
                               program->outputs.data[i].op, -1, (rlf_span){0});
        if (guarded[i])
            op = rlf_expr_pointwise(e, RLF_EXPR_SELECT, slope, op,
                                    rlf_expr_constant(e, 0, (rlf_span){0}),
                                    (rlf_span){0});
        sum = rlf_expr_pointwise(e, RLF_EXPR_ADD, sum, op, -1, (rlf_span){0});
    }
    rlf_expr_op all = {.code = RLF_EXPR_SUM, .arg = {sum, -1, -1}};
    int loss = rlf_expr_add_output(e, "loss", rlf_expr_add(e, all));
    rlf_derivative *d = rlf_expr_derive(e, loss, arena);
    for (size_t i = 0; i < m->sources.count; i++) {
        if (!m->sources.data[i].live)
            continue;
        d->expr->outputs.data[0] = d->expr->outputs.data[d->output_of_input[i]];
        d->expr->outputs.count = 1;
        return d->expr;
    }
    return NULL;
}

static int
input_of(const ints *inputs, int value)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (inputs->data[i] == value)
            return (int)i;
    return -1;
}

/* Those at the tokens of one set. */
static void
loss_words(const rlf_lower *l, const rlf_update_statement *u,
           const rlf_vocab_leaf *leaves, size_t n, int domain, ints *inputs,
           ints *reads, rlf_loss *loss)
{
    rlf_sema *s = l->s;
    ints terms = {0}, results = {0}, guarded = {0};
    for (size_t i = 0; i < n; i++) {
        if (s->terms.data[leaves[i].term].domain != domain)
            continue;
        RLF_PUSH_IN(s->arena, &terms, leaves[i].term);
        RLF_PUSH_IN(s->arena, &results, leaves[i].input);
        RLF_PUSH_IN(s->arena, &guarded, leaves[i].guarded);
    }
    maker m = make_program(s, terms.data, terms.count);
    rlf_vocab_program *words = &loss->words[loss->n_words++];
    words->program = m.expr;
    resolve(&m, inputs, reads, words);
    words->slope = make_slope(&m, guarded.data);
    words->result = results.data;
    words->derivative = RLF_NEW_ARRAY(s->arena, int, results.count);
    for (size_t i = 0; i < m.sources.count; i++) {
        const source *from = &m.sources.data[i];
        if (!from->live)
            continue;
        const rlf_update_call *call =
            &u->calls.data[s->terms.data[from->term].port];
        words->set_input =
            input_of(inputs, s->makers.data[call->set].value_index);
        loss->calls[loss->n_calls++] =
            (rlf_live_call){.class = call->class,
                            .set_input = words->set_input,
                            .input = -1,
                            .gradient = -1};
    }
}

void
rlf_vocab_loss(rlf_lower *l, const rlf_update_statement *u,
               const rlf_vocab_leaf *leaves, size_t n, rlf_node *node,
               rlf_loss *loss)
{
    rlf_sema *s = l->s;
    ints inputs = {0}, reads = {0};
    for (int i = 0; i < node->n_inputs; i++)
        RLF_PUSH_IN(s->arena, &inputs, node->inputs[i]);
    for (int i = 0; i < node->n_reads; i++)
        RLF_PUSH_IN(s->arena, &reads, node->reads[i]);
    loss->words = RLF_NEW_ARRAY(s->arena, rlf_vocab_program, n);
    for (size_t i = 0; i < n; i++) {
        int domain = s->terms.data[leaves[i].term].domain;
        bool done = false;
        for (size_t k = 0; k < i; k++)
            done |= s->terms.data[leaves[k].term].domain == domain;
        if (!done)
            loss_words(l, u, leaves, n, domain, &inputs, &reads, loss);
    }
    node->inputs = inputs.data;
    node->n_inputs = (int)inputs.count;
    node->reads = reads.data;
    node->n_reads = (int)reads.count;
}
