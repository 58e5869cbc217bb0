/* Expression nodes: spaces from inputs and from sets, whole runs and pieces. */
#include "tests/unit/nodes.h"

enum { PROMPTS = 4, EACH = 3, SAMPLES = PROMPTS * EACH };

typedef struct made {
    world *w;
    int batch, roll, tokens; /* domains */
    int set, score;          /* values */
    rlf_rows *rows;
    rlf_column column; /* the column score: 10, 11, 12, ... */
} made;

static made
make(void)
{
    made m = {.w = world_new(1)};
    world *w = m.w;
    m.batch = add_domain(w, RLF_DOMAIN_ROWS, "batch", -1);
    m.roll = add_domain(w, RLF_DOMAIN_ROWS, "roll", m.batch);
    m.tokens = add_domain(w, RLF_DOMAIN_TOKENS, "tokens of roll", m.roll);
    m.set = add_set_value(w, sampled_set("roll", m.batch, m.roll, m.tokens));
    m.score = add_column_value(w, RLF_VALUE_NUMBER, m.roll);
    rlf_rows *rows = m.rows = RLF_NEW(w->pool, rlf_rows);
    rows->set = &w->graph->sets.data[0];
    rows->prompts = rlf_space_rows(w->pool, w->graph, m.batch, PROMPTS);
    rows->samples = rlf_space_rows(w->pool, w->graph, m.roll, SAMPLES);
    rows->samples->up[0].to = rows->prompts;
    uint32_t lengths[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++) {
        ((uint32_t *)rows->samples->up[0].index)[i] = i / EACH;
        lengths[i] = i % 4 + 1;
    }
    rows->tokens = rlf_space_tokens(w->pool, w->graph, m.tokens, rows->samples,
                                    0, lengths);
    m.column = rlf_column_new(w->pool, rows->samples, false);
    for (uint32_t i = 0; i < SAMPLES; i++)
        m.column.number[i] = 10 + i;
    return m;
}

/* A node of the program, which has one input, the score, and one output. */
static rlf_call
expr_call(made *m, rlf_expr *program, int domain, bool with_set)
{
    world *w = m->w;
    int inputs[] = {m->score, m->set};
    int out = add_column_value(w, RLF_VALUE_NUMBER, domain);
    const rlf_node_class *class = rlf_classes_syntax(&rlf_node_classes, "expr");
    int id = add_node(w, class, -1,
                      (node_parts){IN_OF(inputs, with_set ? 2 : 1), OUT(out)});
    w->graph->nodes.data[id].expr = program;
    w->graph->nodes.data[id].rows = m->roll;
    rlf_content in[] = {{.column = m->column}, {.rows = m->rows}};
    return make_call(w, id, in);
}

static rlf_expr *
program_of(made *m, int *score)
{
    rlf_expr *e = rlf_expr_new(m->w->arena, &m->w->graph->domains);
    int input = rlf_expr_add_input(
        e, (rlf_expr_input){.name = "score", .domain = m->roll});
    *score = rlf_expr_input_op(e, input, (rlf_span){0});
    return e;
}

int
main(void)
{
    made m = make();
    int score;
    rlf_expr *e = program_of(&m, &score);
    rlf_expr_add_output(e, "last",
                        rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_AT_LAST,
                                                      .domain = m.tokens,
                                                      .arg = {score, -1, -1}}));
    rlf_call call = expr_call(&m, e, m.tokens, true);
    is_int(run_call(m.w, &call), RLF_OK, "at_last of a column on samples");
    ok(call.out[0].column.space == m.rows->tokens, "lives on the set's tokens");
    bool right = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        for (uint32_t t = 0; t <= i % 4; t++)
            right = right &&
                    call.out[0].column.number[m.rows->tokens->offset[i] + t] ==
                        (t == i % 4 ? 10.0 + i : 0);
    ok(right, "one on the last token of each sample");

    rlf_call pieces = expr_call(&m, e, m.tokens, true);
    pieces.node->class->open(&pieces, &m.w->err);
    static const uint32_t rows[][4] = {
        {2, 3, 9, 11}, {0, 1, 4, 5}, {6, 7, 8, 10}};
    for (int i = 0; i < 3; i++) {
        pieces.rows = rows[i];
        pieces.n_rows = 4;
        pieces.node->class->step(&pieces, &m.w->err);
    }
    is_bits(pieces.out[0].column.number, call.out[0].column.number,
            m.rows->tokens->extent, sizeof(double),
            "in pieces the same, bit for bit");

    call = expr_call(&m, e, m.tokens, false);
    is_int(run_call(m.w, &call), RLF_BUG,
           "without the set the tokens are nowhere");

    /* mean(score over group), then over all. */
    e = program_of(&m, &score);
    rlf_expr_add_output(e, "mean",
                        rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_MEAN,
                                                      .domain = m.batch,
                                                      .arg = {score, -1, -1}}));
    call = expr_call(&m, e, m.batch, false);
    is_int(run_call(m.w, &call), RLF_OK, "a mean over groups");
    ok(call.out[0].column.space == m.rows->prompts,
       "lives on the prompts above its input");
    right = true;
    for (uint32_t i = 0; i < PROMPTS; i++)
        right = right && call.out[0].column.number[i] == 11.0 + EACH * i;
    ok(right, "one for each");
    e = program_of(&m, &score);
    rlf_expr_add_output(e, "sum",
                        rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_SUM,
                                                      .domain = 0,
                                                      .arg = {score, -1, -1}}));
    call = expr_call(&m, e, 0, false);
    is_int(run_call(m.w, &call), RLF_OK, "a sum over the batch");
    near(call.out[0].column.number[0], 186, 0, "is a scalar");
    world_free(m.w);
    return done();
}
