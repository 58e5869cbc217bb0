/* Expression programs in pieces: by rows, by micro-batches and by ranges of
 * tokens they give the bits of one whole run, and leave alone what they were
 * not asked for. */
#include "tests/unit/kernels_expr.h"

static int
live_input(rlf_expr *e, int domain)
{
    rlf_expr_input in = {.name = "x", .domain = domain, .live = true};
    return rlf_expr_input_op(e, rlf_expr_add_input(e, in), nowhere);
}

static int
point(rlf_expr *e, rlf_expr_code code, int a, int b)
{
    return rlf_expr_pointwise(e, code, a, b, -1, nowhere);
}

/* Places where two columns have other bits. */
static int
differing(const world *w, int domain, const double *a, const double *b)
{
    int n = 0;
    for (uint32_t r = 0; r < n_rows(w, domain); r++)
        for (uint32_t t = 0; t < n_tokens(w, domain, r); t++) {
            uint64_t at = place_of(w, domain, r, t);
            n += memcmp(&a[at], &b[at], sizeof *a) != 0;
        }
    return n;
}

static const rlf_expr_plan *
plan_of(world *w, const rlf_expr *e)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_expr_plan *plan = NULL;
    if (rlf_expr_plan_new(e, w->arena, &err, &plan) != RLF_OK)
        bail("%s", err.sentence);
    return plan;
}

/* ---- streaming: rows of samples or whole groups ---- */

/* (score - mean over group) / (std over group + eps), on the tokens. */
static rlf_expr *
group_program(world *w)
{
    rlf_expr *e = program(w);
    int score = input(e, ROLL), kl = input(e, TOKENS);
    int mean = op(e, RLF_EXPR_MEAN, BATCH, score, -1, 0);
    int std = op(e, RLF_EXPR_STD, BATCH, score, -1, 0);
    int eps = rlf_expr_constant(e, 1e-6, nowhere);
    int adv = point(e, RLF_EXPR_DIV, point(e, RLF_EXPR_SUB, score, mean),
                    point(e, RLF_EXPR_ADD, std, eps));
    int sum = op(e, RLF_EXPR_CUMSUM, TOKENS, kl, -1, 0);
    rlf_expr_add_output(e, "adv", adv);
    rlf_expr_add_output(e, "both", point(e, RLF_EXPR_ADD, adv, sum));
    rlf_expr_add_output(e, "mean", mean);
    rlf_expr_add_output(e, "rank",
                        op(e, RLF_EXPR_RANK, ROLL, score, -1, BATCH));
    rlf_expr_add_output(e, "tokens", op(e, RLF_EXPR_MOST, BATCH, kl, -1, 0));
    rlf_expr_add_output(e, "all", op(e, RLF_EXPR_MEAN, 0, score, -1, 0));
    return e;
}

static void
by_groups(world *w)
{
    rlf_expr *e = group_program(w);
    const rlf_expr_plan *plan = plan_of(w, e);
    rlf_column in[2] = {column(w, ROLL, 0, 3), column(w, TOKENS, -1, 1)};
    rlf_column *want = run_all(w, e, in), *got = outputs_new(w, e);
    rlf_expr_bind bind = {
        .inputs = in, .outputs = got, .spaces = w->by_domain, .seed = 5};
    const uint32_t *group = w->space[ROLL].up[0].index;
    rlf_err err = RLF_ERR_NONE;
    /* groups 3 and 0 together, then 1, then the rest */
    static const unsigned pieces[] = {1u << 3 | 1u << 0, 1u << 1,
                                      1u << 4 | 1u << 2};
    for (size_t p = 0; p < RLF_COUNT(pieces); p++) {
        uint32_t rows[64], n = 0;
        for (uint32_t r = 0; r < n_rows(w, ROLL); r++)
            if (pieces[p] >> group[r] & 1)
                rows[n++] = r;
        if (rlf_expr_run_rows(plan, NULL, &bind, ROLL, rows, n, &err) != RLF_OK)
            bail("%s", err.sentence);
        if (p == 0) {
            ok(got[0].number[rows[0]] == want[0].number[rows[0]] &&
                   got[0].number[3] == -77777,
               "other rows are left alone");
            is_bits(&got[2].number[1], &(double){-77777}, 1, sizeof(double),
                    "and other prompts");
        }
    }
    for (int i = 0; i < 5; i++)
        is_int(differing(w, e->ops.data[e->outputs.data[i].op].domain,
                         got[i].number, want[i].number),
               0, e->outputs.data[i].name);
    ok(got[5].number[0] == -77777, "scalars are not computed");
}

/* ---- micro-batches ---- */

enum { POINTWISE, SEQUENCE, SQUARED, PAIRS, LOSSES };

/* Losses of reach POINT, SAMPLE, BATCH, and over pairs of texts. Inputs: live
 * logprobs, old ones, advantages (or the same of the other text). */
static rlf_expr *
loss_program(world *w, int which, int tokens)
{
    rlf_expr *e = program(w);
    int rows = rows_of(tokens);
    int logp = live_input(e, tokens), old = input(e, tokens);
    int score = input(e, rows), loss;
    int away = point(e, RLF_EXPR_SUB, logp, old);
    if (which == PAIRS) {
        int other = live_input(e, REJECTED);
        int margin =
            point(e, RLF_EXPR_SUB, op(e, RLF_EXPR_SUM, rows, away, -1, 0),
                  op(e, RLF_EXPR_SUM, rows, other, -1, 0));
        loss = point(e, RLF_EXPR_LOG_SIGMOID,
                     point(e, RLF_EXPR_MUL, margin, score), -1);
    } else {
        /* whitened in the program: a constant that needs all rows */
        int mean = op(e, RLF_EXPR_MEAN, 0, score, -1, 0);
        int std = op(e, RLF_EXPR_STD, 0, score, -1, 0);
        int adv =
            point(e, RLF_EXPR_DIV, point(e, RLF_EXPR_SUB, score, mean), std);
        if (which == SEQUENCE)
            away = point(e, RLF_EXPR_ADD, away,
                         op(e, RLF_EXPR_MEAN, rows, away, -1, 0));
        int ratio = point(e, RLF_EXPR_EXP, away, -1);
        int low = rlf_expr_constant(e, 0.8, nowhere);
        int high = rlf_expr_constant(e, 1.2, nowhere);
        int clipped =
            rlf_expr_pointwise(e, RLF_EXPR_CLAMP, ratio, low, high, nowhere);
        loss = point(e, RLF_EXPR_MIN, point(e, RLF_EXPR_MUL, ratio, adv),
                     point(e, RLF_EXPR_MUL, clipped, adv));
    }
    rlf_expr_add_output(e, "per token", loss);
    loss = op(e, RLF_EXPR_MEAN, 0, loss, -1, 0);
    if (which == SQUARED)
        loss = point(e, RLF_EXPR_MUL, loss, loss);
    rlf_expr_add_output(e, "loss", loss);
    return e;
}

typedef struct split {
    const char *name;
    rlf_expr_part parts[64];
    uint32_t n;
} split;

static rlf_expr_frame *
begin(world *w, const rlf_expr_plan *plan, const rlf_expr_bind *bind)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_expr_frame *frame = NULL;
    if (rlf_expr_begin(plan, NULL, bind, w->arena, &err, &frame) != RLF_OK)
        bail("%s", err.sentence);
    return frame;
}

static void
part(rlf_expr_frame *f, int domain, const rlf_expr_part *parts, uint32_t n)
{
    rlf_err err = RLF_ERR_NONE;
    if (rlf_expr_part_run(f, domain, parts, n, &err) != RLF_OK)
        bail("%s", err.sentence);
}

static void
micro_batches(world *w, int which, int tokens, rlf_reach reach)
{
    static const char *const names[] = {"pointwise", "sequence", "squared",
                                        "pairs"};
    int rows = rows_of(tokens);
    rlf_expr *e = loss_program(w, which, tokens);
    rlf_derivative *d = rlf_expr_derive(e, 1, w->arena);
    is_int((int)d->reach, (int)reach, names[which]);
    rlf_column in[4] = {column(w, tokens, -1, 1), column(w, tokens, -1, 1),
                        column(w, rows, -1, 2), column(w, REJECTED, -1, 1)};
    rlf_column *want = run_all(w, d->expr, in);
    rlf_column *got = outputs_new(w, d->expr);
    /* live values come piece by piece: nothing is there before */
    rlf_column now[4] = {in[0], in[1], in[2], in[3]};
    for (int k = 0; k < 4; k += 3) {
        now[k] = column(w, k ? REJECTED : tokens, 0, 0);
        for (uint64_t i = 0; i < extent_of(w, k ? REJECTED : tokens); i++)
            now[k].number[i] = NAN;
    }
    rlf_expr_bind bind = {
        .inputs = now, .outputs = got, .spaces = w->by_domain, .seed = 5};
    rlf_expr_frame *f = begin(w, plan_of(w, d->expr), &bind);
    int g = d->output_of_input[0];
    ok(got[g].number[place_of(w, tokens, 0, 0)] == -77777,
       "begin computes no gradient of live values");
    for (uint32_t r = n_rows(w, rows); r-- > 0;) {
        uint32_t n = n_tokens(w, tokens, r), cut = n / 3;
        for (int k = 0; k < (which == PAIRS ? 4 : 1); k += 3) {
            int domain = k ? REJECTED : tokens;
            for (uint32_t t = 0; t < n_tokens(w, domain, r); t++) {
                uint64_t at = place_of(w, domain, r, t);
                now[k].number[at] = in[k].number[at];
            }
        }
        const rlf_expr_part pieces[] = {{r, 0, cut}, {r, cut, n}};
        const rlf_expr_part whole = {r, 0, UINT32_MAX};
        if (reach == RLF_REACH_POINT)
            part(f, rows, pieces, 2);
        else if (reach == RLF_REACH_SAMPLE)
            part(f, rows, &whole, 1);
    }
    if (reach == RLF_REACH_BATCH) {
        ok(got[1].number[0] == -77777, "no loss before the rest");
    } else {
        is_int(differing(w, tokens, got[g].number, want[g].number), 0,
               "the gradient's bits");
        if (which == PAIRS)
            is_int(differing(w, REJECTED, got[d->output_of_input[3]].number,
                             want[d->output_of_input[3]].number),
                   0, "and the other text's");
    }
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_expr_rest(f, &err), RLF_OK, "the rest");
    is_bits(got[1].number, want[1].number, 1, sizeof(double), "the loss");
    is_int(differing(w, tokens, got[g].number, want[g].number), 0,
           "the gradient again");
}

/* Derivatives of random losses: whatever reaches no farther than a sample has
 * the same bits sample by sample. */
static void
random_micro_batches(world *w, int n)
{
    int compared = 0, wrong = 0;
    for (int i = 0; i < n; i++) {
        rlf_expr *e = program(w);
        rlf_column in[DOMAINS];
        for (int d = 0; d < DOMAINS; d++) {
            in[d] = column(w, d, -1.5, 1.5);
            if (d == TOKENS || d == CHOSEN)
                live_input(e, d);
            else
                input(e, d);
        }
        for (int k = 0; k < 15; k++)
            random_op(w, e);
        int y = (int)e->ops.count - 1;
        if (e->ops.data[y].domain)
            y = op(e, RLF_EXPR_MEAN, 0, y, -1, 0);
        rlf_expr_add_output(e, "loss", y);
        rlf_derivative *d = rlf_expr_derive(e, 0, w->arena);
        for (int live = TOKENS; live <= CHOSEN; live += CHOSEN - TOKENS) {
            int g = d->output_of_input[live];
            if (!rlf_expr_is_live(e, 0) ||
                rlf_expr_reach(d->expr, g) == RLF_REACH_BATCH)
                continue;
            rlf_column *want = run_all(w, d->expr, in);
            rlf_column *got = outputs_new(w, d->expr);
            rlf_expr_bind bind = {.inputs = in,
                                  .outputs = got,
                                  .spaces = w->by_domain,
                                  .seed = 5};
            rlf_expr_frame *f = begin(w, plan_of(w, d->expr), &bind);
            for (uint32_t r = 0; r < n_rows(w, live); r++)
                part(f, rows_of(live), &(rlf_expr_part){r, 0, UINT32_MAX}, 1);
            wrong += differing(w, live, got[g].number, want[g].number) != 0;
            compared++;
        }
    }
    note("%d gradients compared", compared);
    ok(compared > n / 4, "enough gradients of short reach");
    is_int(wrong, 0, "random gradients sample by sample");
}

int
main(void)
{
    world w;
    const uint32_t sizes[] = {3, 1, 0, 2, 4};
    world_make(&w, sizes, 5, 0x15, 400);
    micro_batches(&w, POINTWISE, TOKENS, RLF_REACH_POINT);
    micro_batches(&w, POINTWISE, MINI_TOKENS, RLF_REACH_POINT);
    micro_batches(&w, SEQUENCE, TOKENS, RLF_REACH_SAMPLE);
    micro_batches(&w, SQUARED, TOKENS, RLF_REACH_BATCH);
    micro_batches(&w, PAIRS, CHOSEN, RLF_REACH_SAMPLE);
    random_micro_batches(&w, 150);
    rlf_arena_free(w.arena);

    const uint32_t full[] = {3, 1, 2, 2, 4};
    world_make(&w, full, 5, 0x15, 7);
    by_groups(&w);
    rlf_arena_free(w.arena);
    return done();
}
