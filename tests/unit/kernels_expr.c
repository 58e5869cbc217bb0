/* Expression programs forwards: every operation, and random programs, against
 * the reference of kernels_expr.h. */
#include "tests/unit/kernels_expr.h"

/* Tolerances: sums are in the same order, functions differ by some ulp. */
static void
check(world *w, rlf_expr *e, const rlf_column *in, int result, const char *name)
{
    rlf_expr_add_output(e, "y", result);
    near(against_reference(w, e, in, 0), 0, 1e-12, name);
}

static void
pointwise_ops(world *w)
{
    static const int domains[] = {TOKENS, ROLL, 0};
    for (int code = 0; code < RLF_EXPR_CODES; code++) {
        if (!rlf_expr_is_pointwise((rlf_expr_code)code))
            continue;
        for (size_t d = 0; d < 3; d++) {
            rlf_expr *e = program(w);
            double low = code == RLF_EXPR_POW || code == RLF_EXPR_LOG ||
                                 code == RLF_EXPR_SQRT
                             ? 0.01
                             : -3;
            rlf_column in[3];
            int arg[3];
            for (int k = 0; k < 3; k++) {
                in[k] = column(w, domains[d], low, 3);
                arg[k] = input(e, domains[d]);
            }
            int y = rlf_expr_pointwise(e, (rlf_expr_code)code, arg[0], arg[1],
                                       arg[2], nowhere);
            check(w, e, in, y, rlf_expr_text((rlf_expr_code)code));
        }
    }
}

static void
reductions(world *w)
{
    static const struct {
        int from, to; /* some have nothing below them */
    } ways[] = {{TOKENS, ROLL},   {TOKENS, BATCH},     {TOKENS, 0},
                {ROLL, BATCH},    {ROLL, 0},           {MINI, ROLL},
                {MINI_TOKENS, 0}, {MINI_TOKENS, PART}, {CHOSEN, BATCH},
                {MINI_TOKENS, ROLL}};
    static const rlf_expr_code codes[] = {
        RLF_EXPR_SUM,   RLF_EXPR_MEAN, RLF_EXPR_STD,  RLF_EXPR_VAR,
        RLF_EXPR_LEAST, RLF_EXPR_MOST, RLF_EXPR_COUNT};
    for (size_t i = 0; i < RLF_COUNT(ways); i++)
        for (size_t c = 0; c < RLF_COUNT(codes); c++) {
            rlf_expr *e = program(w);
            rlf_column in = column(w, ways[i].from, -2, 5);
            int y = op(e, codes[c], ways[i].to, input(e, ways[i].from), -1, 0);
            check(w, e, &in, y, rlf_expr_text(codes[c]));
        }
}

static void
scans_and_groups(world *w)
{
    static const rlf_expr_code scans[] = {RLF_EXPR_DISCOUNT, RLF_EXPR_COMPOUND,
                                          RLF_EXPR_CUMSUM, RLF_EXPR_NEXT,
                                          RLF_EXPR_PREV};
    for (size_t i = 0; i < RLF_COUNT(scans); i++) {
        rlf_expr *e = program(w);
        rlf_column in[2] = {column(w, TOKENS, -2, 2), column(w, TOKENS, 0, 1)};
        int a = input(e, TOKENS), b = input(e, TOKENS);
        check(w, e, in, op(e, scans[i], TOKENS, a, b, 0),
              rlf_expr_text(scans[i]));
    }
    static const rlf_expr_code codes[] = {RLF_EXPR_RANK, RLF_EXPR_ROTATE,
                                          RLF_EXPR_UNROTATE};
    static const int ways[][2] = {{ROLL, BATCH},   {ROLL, 0},  {TOKENS, ROLL},
                                  {TOKENS, BATCH}, {BATCH, 0}, {MINI, ROLL}};
    for (size_t i = 0; i < RLF_COUNT(codes); i++)
        for (size_t k = 0; k < RLF_COUNT(ways); k++) {
            rlf_expr *e = program(w);
            rlf_column in = column(w, ways[k][0], 0, 4);
            /* whole numbers: ties */
            int x = rlf_expr_pointwise(e, RLF_EXPR_FLOOR, input(e, ways[k][0]),
                                       -1, -1, nowhere);
            check(w, e, &in, op(e, codes[i], ways[k][0], x, -1, ways[k][1]),
                  rlf_expr_text(codes[i]));
        }
    rlf_expr *e = program(w);
    rlf_column in = column(w, ROLL, -2, 2);
    check(w, e, &in, op(e, RLF_EXPR_AT_LAST, TOKENS, input(e, ROLL), -1, 0),
          "at_last");
}

static void
downs(world *w)
{
    static const int ways[][2] = {
        {0, ROLL},       {0, TOKENS},           {BATCH, ROLL},
        {BATCH, TOKENS}, {ROLL, TOKENS},        {BATCH, MINI_TOKENS},
        {ROLL, MINI},    {TOKENS, MINI_TOKENS}, {PART, MINI_TOKENS}};
    for (size_t k = 0; k < RLF_COUNT(ways); k++) {
        rlf_expr *e = program(w);
        rlf_column in = column(w, ways[k][0], -2, 2);
        check(w, e, &in, rlf_expr_down(e, input(e, ways[k][0]), ways[k][1]),
              "down");
        e = program(w);
        int x = rlf_expr_pointwise(e, RLF_EXPR_EXP, input(e, ways[k][0]), -1,
                                   -1, nowhere);
        check(w, e, &in, rlf_expr_down(e, x, ways[k][1]), "down of exp");
    }
}

/* ---- random programs ---- */

static void
random_programs(world *w, int n)
{
    double worst = 0;
    size_t ops = 0, outputs = 0;
    for (int i = 0; i < n; i++) {
        rlf_expr *e = program(w);
        rlf_column in[DOMAINS];
        for (int d = 0; d < DOMAINS; d++) {
            in[d] = column(w, d, -1.5, 1.5);
            input(e, d);
        }
        for (int k = 0; k < 30; k++)
            random_op(w, e);
        for (int k = 0; k < 6; k++)
            rlf_expr_add_output(e, "y",
                                (int)between(w, 0, (double)e->ops.count));
        rlf_err err = RLF_ERR_NONE;
        if (rlf_expr_check(e, &err) != RLF_OK)
            bail("%s", err.sentence);
        for (int k = 0; k < 6; k++) {
            double d = against_reference(w, e, in, k);
            if (d > worst) {
                worst = d;
                rlf_buf text = {0};
                rlf_expr_print(e, &text);
                if (d > 1e-9)
                    note("program %d output %d differs by %g:\n%s", i, k, d,
                         text.p);
                rlf_buf_free(&text);
            }
            outputs++;
        }
        ops += e->ops.count;
    }
    note("%d programs, %zu operations, %zu outputs", n, ops, outputs);
    near(worst, 0, 1e-9, "random programs equal the reference");
}

/* ---- texts, random numbers, errors ---- */

static void
texts(world *w)
{
    rlf_expr *e = program(w);
    rlf_expr_input in[2] = {{.name = "answer", .domain = BATCH, .text = true},
                            {.name = "text", .domain = ROLL, .text = true}};
    int a = rlf_expr_input_op(e, rlf_expr_add_input(e, in[0]), nowhere);
    int b = rlf_expr_input_op(e, rlf_expr_add_input(e, in[1]), nowhere);
    int same = rlf_expr_pointwise(e, RLF_EXPR_TEXT_EQ, a, b, -1, nowhere);
    int turned = rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_ROTATE,
                                               .domain = ROLL,
                                               .arg = {b, -1, -1},
                                               .over = BATCH,
                                               .text = true});
    int either =
        rlf_expr_pointwise(e, RLF_EXPR_SELECT, same, turned, a, nowhere);
    int two = rlf_expr_words(e, rlf_str_of("two"), nowhere);
    int is_two = rlf_expr_pointwise(e, RLF_EXPR_TEXT_EQ, two, b, -1, nowhere);
    rlf_expr_add_output(e, "same", same);
    rlf_expr_add_output(e, "either", either);
    rlf_expr_add_output(e, "is_two", is_two);
    uint32_t n = n_rows(w, ROLL);
    rlf_str answers[16], responses[64];
    static const char *const words[] = {"one", "two", "", "three"};
    for (uint32_t i = 0; i < n_rows(w, BATCH); i++)
        answers[i] = rlf_str_of(words[i % 4]);
    for (uint32_t i = 0; i < n; i++)
        responses[i] = rlf_str_of(words[i % 3]);
    rlf_column columns[2] = {{&w->space[BATCH], NULL, answers},
                             {&w->space[ROLL], NULL, responses}};
    rlf_column *out = run_all(w, e, columns);
    const uint32_t *group = w->space[ROLL].up[0].index;
    bool good = true, good_text = true, good_constant = true;
    for (uint32_t i = 0; i < n; i++) {
        bool want = rlf_str_eq(responses[i], answers[group[i]]);
        uint32_t next = i + 1 < n && group[i + 1] == group[i] ? i + 1 : i;
        while (next == i && next > 0 && group[next - 1] == group[i] &&
               !(i + 1 < n && group[i + 1] == group[i])) {
            next--;
            while (next > 0 && group[next - 1] == group[i])
                next--;
            break;
        }
        good = good && out[0].number[i] == want;
        good_text =
            good_text && rlf_str_eq(out[1].text[i],
                                    want ? responses[next] : answers[group[i]]);
    }
    for (uint32_t i = 0; i < n; i++)
        good_constant = good_constant && out[2].number[i] == (i % 3 == 1);
    ok(good, "texts compare across levels");
    ok(good_constant, "and with one text");
    ok(good_text, "texts rotate and are selected");
}

static void
random_numbers(world *w)
{
    rlf_expr *e = program(w);
    int x = input(e, TOKENS), s = input(e, ROLL);
    int u[4];
    u[0] = rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_UNIFORM,
                                         .domain = TOKENS,
                                         .arg = {x, -1, -1},
                                         .site = 3});
    u[1] = rlf_expr_add(e, e->ops.data[u[0]]);
    u[2] = rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_UNIFORM,
                                         .domain = ROLL,
                                         .arg = {s, -1, -1},
                                         .site = 4});
    for (int k = 0; k < 3; k++)
        rlf_expr_add_output(e, "u", u[k]);
    ok(u[0] != u[1], "two uniforms are two operations");
    rlf_column in[2] = {column(w, TOKENS, 0, 1), column(w, ROLL, 0, 1)};
    rlf_column *out = run_all(w, e, in);
    rlf_random_key key = {.seed = 5, .purpose = RLF_PURPOSE_UNIFORM, .site = 3};
    bool good = true;
    for (uint32_t r = 0; r < n_rows(w, ROLL); r++) {
        key.sample = w->space[ROLL].identity[r];
        key.site = 3;
        for (uint32_t t = 0; t < n_tokens(w, TOKENS, r); t++)
            good = good && out[0].number[place_of(w, TOKENS, r, t)] ==
                               rlf_draw_uniform(&key, t);
        key.site = 4;
        good = good && out[2].number[r] == rlf_draw_uniform(&key, 0);
    }
    ok(good, "uniform is keyed by site, identity and token");
}

static void
errors(world *w)
{
    rlf_expr *e = program(w);
    rlf_span span = {1, 20, 30, 0};
    int y = rlf_expr_add(e, (rlf_expr_op){.code = RLF_EXPR_MOST,
                                          .domain = BATCH,
                                          .arg = {input(e, ROLL), -1, -1},
                                          .span = span});
    rlf_expr_add_output(e, "y", y);
    rlf_column in = column(w, ROLL, 0, 1);
    rlf_column *out = outputs_new(w, e);
    rlf_expr_bind bind = {.inputs = &in, .outputs = out};
    rlf_err err = RLF_ERR_NONE;
    const rlf_expr_plan *plan;
    ok(rlf_expr_plan_new(e, w->arena, &err, &plan) == RLF_OK, "a plan");
    is_int(rlf_expr_run(plan, NULL, &bind, &err), RLF_OK,
           "the most of an empty group is no error");
    ok(isnan(out[0].number[2]) && isfinite(out[0].number[0]),
       "it is not a number");

    rlf_domains with = {0};
    rlf_domains_init(&with, w->arena);
    int rows = rlf_domains_add(
        &with, (rlf_domain){.kind = RLF_DOMAIN_ROWS, .owner = -1});
    int tokens = rlf_domains_add(
        &with, (rlf_domain){.kind = RLF_DOMAIN_TOKENS, .owner = rows});
    int words = rlf_domains_add(
        &with, (rlf_domain){.kind = RLF_DOMAIN_VOCAB, .owner = tokens});
    e = rlf_expr_new(w->arena, &with);
    rlf_expr_add_output(e, "y",
                        op(e, RLF_EXPR_SUM, tokens, input(e, words), -1, 0));
    rlf_err_clear(&err);
    is_int(rlf_expr_plan_new(e, w->arena, &err, &plan), RLF_USER,
           "a vocabulary is refused");
}

int
main(void)
{
    world w;
    const uint32_t sizes[] = {3, 1, 0, 2, 4};
    world_make(&w, sizes, 5, 1u << 0 | 1u << 2 | 1u << 4, 9);
    pointwise_ops(&w);
    reductions(&w);
    scans_and_groups(&w);
    downs(&w);
    random_programs(&w, quick() ? 25 : 300);
    texts(&w);
    random_numbers(&w);
    errors(&w);
    rlf_arena_free(w.arena);

    note("rows longer than a block, more rows than a block of rows");
    uint32_t many[70];
    for (int i = 0; i < 70; i++)
        many[i] = 1 + (uint32_t)i % 3;
    world_make(&w, many, 70, 0x15, 700);
    reductions(&w);
    scans_and_groups(&w);
    downs(&w);
    random_programs(&w, quick() ? 1 : 6);
    rlf_arena_free(w.arena);
    return done();
}
