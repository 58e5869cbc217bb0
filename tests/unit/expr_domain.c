/* Domains: where columns meet, in the graphs that programs make. */
#include "engine/expr/domain.h"
#include "engine/expr/space.h"
#include "tests/tap.h"

static rlf_domains ds;

static int
rows(const char *name, int owner, int up)
{
    rlf_domain d = {
        .kind = RLF_DOMAIN_ROWS, .name = name, .owner = owner, .up = {up}};
    d.n_up = up > 0;
    return rlf_domains_add(&ds, d);
}

static int
tokens(const char *name, int owner, int up)
{
    rlf_domain d = {
        .kind = RLF_DOMAIN_TOKENS, .name = name, .owner = owner, .up = {up}};
    d.n_up = up > 0;
    return rlf_domains_add(&ds, d);
}

static void
meets(int a, int b, int want, const char *why)
{
    is_int(rlf_domain_meet(&ds, a, b), want, why);
    is_int(rlf_domain_meet(&ds, b, a), want, "and the other way round");
}

/* batch -> roll (n: 8) -> mini, a piece with its own prompts. */
static void
pieces(void)
{
    int batch = rows("batch", -1, 0);
    int roll = rows("roll", batch, 0), roll_tokens = tokens("t", roll, 0);
    int part = rows("part", -1, batch), mini = rows("mini", part, roll);
    int mini_tokens = tokens("t", mini, roll_tokens);
    int good = rows("good", batch, roll); /* where per sample */
    int good_tokens = tokens("t", good, roll_tokens);

    meets(0, 0, 0, "scalars");
    meets(0, roll_tokens, roll_tokens, "a scalar goes down to everything");
    meets(batch, roll, roll, "a prompt goes down to its samples");
    meets(batch, roll_tokens, roll_tokens, "and to their tokens");
    meets(roll, mini, mini, "a set to its pieces");
    meets(roll_tokens, mini_tokens, mini_tokens, "token by token");
    meets(roll_tokens, mini, mini_tokens, "the finer level of the smaller set");
    meets(roll, mini_tokens, mini_tokens, "the same the other way");
    meets(batch, part, part, "prompts to their piece");
    meets(part, roll, mini, "prompts of a piece and samples of the whole");
    meets(part, roll_tokens, mini_tokens, "and tokens of the whole");
    meets(roll, good, good, "where keeps samples");
    meets(batch, good, good, "the prompts stay");
    meets(mini, good, -1, "a piece and another part do not meet");
    meets(mini_tokens, good_tokens, -1, "nor do their tokens");
    ok(!rlf_domain_reaches(&ds, mini, roll), "nothing goes up");
    is_int(rlf_domain_rows(&ds, mini_tokens), mini, "rows of tokens");
    is_int(rlf_domain_rows(&ds, 0), 0, "rows of the scalar");

    int path[8];
    is_int(rlf_domain_path(&ds, roll, roll, 8, path), 0, "no path to itself");
    is_int(rlf_domain_path(&ds, 0, mini, 8, path), 1, "scalars are near");
    is_int(path[0], 0, "one step up");
    int n = rlf_domain_path(&ds, batch, mini_tokens, 8, path);
    ok(n >= 2 && path[n - 1] == batch, "a path ends where it leads");
    for (int i = 0; i + 1 < n; i++)
        ok(rlf_domain_reaches(&ds, path[i + 1], path[i]), "each step is up");
}

/* Two rollouts of one batch without n: rows are shared, tokens are not. */
static void
two_rollouts(void)
{
    int batch = rows("batch", -1, 0);
    int roll = tokens("tokens of roll", batch, 0);
    int greedy = tokens("tokens of greedy", batch, 0);
    meets(batch, roll, roll, "a sample is the prompt's row");
    meets(roll, greedy, -1, "tokens of two rollouts do not meet");
    int many = rows("many", batch, 0), many_tokens = tokens("t", many, 0);
    meets(batch, many_tokens, many_tokens,
          "a score of the greedy rollout meets tokens of the sampled one");
    meets(greedy, many, -1, "its tokens do not");
    meets(greedy, many_tokens, -1, "on no level");
    int other = rows("other", -1, 0);
    meets(many, other, -1, "two data sets do not meet");
}

/* One model poses, another solves; answers given to asked questions. */
static void
generated_from_generated(void)
{
    int batch = rows("batch", -1, 0);
    int q = rows("q", batch, 0), q_tokens = tokens("tokens of q", q, 0);
    int a = rows("a", q, 0), a_tokens = tokens("tokens of a", a, 0);
    int said = tokens("tokens of respond", q, 0);
    meets(batch, a_tokens, a_tokens, "through two generations");
    meets(q, a, a, "a problem and its solutions");
    meets(q_tokens, a, -1, "tokens of a problem stay there");
    meets(q_tokens, said, -1, "a response is another text");
    meets(q, said, said, "of the same row");
    /* where per prompt: the prompts and, of them, the samples */
    int kept = rows("kept", -1, batch), kept_q = rows("kept q", kept, q);
    meets(kept, q, kept_q, "prompts kept, and problems of all");
    meets(kept, a, -1, "solutions were not restricted");
}

static void
spaces(void)
{
    int batch = rows("batch", -1, 0), roll = rows("roll", batch, 0);
    int t = tokens("t", roll, 0), mini = rows("mini", batch, roll);
    int mt = tokens("mt", mini, t);
    uint32_t group[] = {0, 0, 1, 3}, of_roll[] = {1, 3}, of_batch[] = {0, 3};
    rlf_space b = {.domain = batch, .count = 4};
    rlf_space r = {.domain = roll, .count = 4, .up = {{&b, group}}};
    rlf_space rt = {.domain = t, .count = 4, .up = {{&r, NULL}}};
    rlf_space m = {
        .domain = mini, .count = 2, .up = {{&r, of_roll}, {&b, of_batch}}};
    rlf_space mr = {.domain = mt, .count = 2, .up = {{&rt, NULL}, {&m, NULL}}};
    is_int(rlf_space_row(&ds, &mr, 1, t), 3, "tokens of a piece in the whole");
    is_int(rlf_space_row(&ds, &mr, 1, batch), 3, "their prompt");
    is_int(rlf_space_row(&ds, &m, 0, roll), 1, "a row in the whole");
    is_int(rlf_space_row(&ds, &rt, 2, batch), 1, "tokens to prompts");
    is_int(rlf_space_row(&ds, &r, 2, 0), 0, "the scalar has one row");
    is_int(rlf_space_row(&ds, &r, 2, roll), 2, "a row itself");
    ok(rlf_space_above(&ds, &mr, batch) == &b, "the space of the prompts");
    ok(rlf_space_above(&ds, &mr, t) == &rt, "and of the whole's tokens");
    ok(rlf_space_above(&ds, &mr, mt) == &mr, "and itself");
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    void (*const cases[])(void) = {pieces, two_rollouts,
                                   generated_from_generated, spaces};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlf_domains_init(&ds, arena);
        cases[i]();
    }
    rlf_arena_free(arena);
    return done();
}
