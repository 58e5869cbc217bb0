/* Sets: their fields, where, and the pieces of for ... split. */
#include "tests/unit/nodes.h"

enum { PROMPTS = 7, EACH = 3, SAMPLES = PROMPTS * EACH };

/* A set of EACH samples a prompt; sample i has i % 5 + 1 tokens, its log-
 * probabilities are -(100 i + t). */
typedef struct made {
    world *w;
    int batch, roll, tokens; /* domains */
    int set;                 /* value */
    const rlf_set *info;
    rlf_rows *rows;
} made;

static const rlf_set *
set_of(const world *w, int value)
{
    return &w->graph->sets.data[w->graph->values.data[value].set];
}

static rlf_rows *
fill(world *w, int value)
{
    const rlf_set *set = set_of(w, value);
    rlf_space *prompts =
        rlf_space_rows(w->pool, w->graph, set->prompts, PROMPTS);
    rlf_space *samples =
        rlf_space_rows(w->pool, w->graph, set->samples, SAMPLES);
    uint32_t lengths[SAMPLES];
    samples->up[0].to = prompts;
    rlf_rows *rows = RLF_NEW(w->pool, rlf_rows);
    rows->prompt = RLF_NEW_ARRAY(w->pool, rlf_prompt, PROMPTS);
    rows->sample = RLF_NEW_ARRAY(w->pool, rlf_sample, SAMPLES);
    uint32_t *ids = RLF_NEW_ARRAY(w->pool, uint32_t, 8);
    for (uint32_t i = 0; i < PROMPTS; i++) {
        ((uint64_t *)prompts->identity)[i] = 50 + i;
        rows->prompt[i].text =
            rlf_str_of(rlf_arena_printf(w->pool, "prompt %u", i));
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        /* Samples of a prompt do not stand side by side. */
        ((uint32_t *)samples->up[0].index)[i] = i % PROMPTS;
        ((uint64_t *)samples->identity)[i] = 1000 + i;
        lengths[i] = i % 5 + 1;
        rows->sample[i] = (rlf_sample){
            .text = rlf_str_of(rlf_arena_printf(w->pool, "response %u", i)),
            .ids = ids,
            .n_ids = lengths[i],
            .finished = i % 2 == 0};
    }
    rows->set = set;
    rows->prompts = prompts;
    rows->samples = samples;
    rows->tokens =
        rlf_space_tokens(w->pool, w->graph, set->tokens, samples, 0, lengths);
    rows->logprob = RLF_NEW_ARRAY(w->pool, double, rows->tokens->extent);
    for (uint32_t i = 0; i < SAMPLES; i++)
        for (uint32_t t = 0; t < lengths[i]; t++)
            rows->logprob[rows->tokens->offset[i] + t] = -(100.0 * i + t);
    rows->temperature = 0.5f;
    return rows;
}

static made
make(uint64_t seed)
{
    made m = {.w = world_new(seed)};
    m.batch = add_domain(m.w, RLF_DOMAIN_ROWS, "batch", -1);
    m.roll = add_domain(m.w, RLF_DOMAIN_ROWS, "roll", m.batch);
    m.tokens = add_domain(m.w, RLF_DOMAIN_TOKENS, "tokens of roll", m.roll);
    m.set = add_set_value(m.w, sampled_set("roll", m.batch, m.roll, m.tokens));
    m.info = set_of(m.w, m.set);
    m.rows = fill(m.w, m.set);
    return m;
}

static const rlf_node_class *
find(rlf_form form, rlf_receiver receiver, const char *name)
{
    const rlf_node_class *class =
        rlf_classes_find(&rlf_node_classes, form, receiver, name);
    if (!class)
        bail("no class %s", name ? name : "of this role");
    return class;
}

/* The column that field `name` of the set gives. */
static rlf_column
field(made *m, const char *name, rlf_value_kind kind, int domain)
{
    int out = add_column_value(m->w, kind, domain);
    int node = add_node(m->w, find(RLF_FORM_FIELD, RLF_RECEIVER_SET, name), -1,
                        (node_parts){IN(m->set), OUT(out)});
    rlf_content in = {.rows = m->rows};
    rlf_call call = make_call(m->w, node, &in);
    is_int(run_call(m->w, &call), RLF_OK, name);
    return call.out[0].column;
}

static void
test_fields(void)
{
    made m = make(1);
    rlf_column c = field(&m, "length", RLF_VALUE_NUMBER, m.roll);
    bool right = c.space == m.rows->samples;
    for (uint32_t i = 0; i < SAMPLES; i++)
        right = right && c.number[i] == i % 5 + 1;
    ok(right, "lengths of the samples");
    c = field(&m, "finished", RLF_VALUE_NUMBER, m.roll);
    right = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        right = right && c.number[i] == (i % 2 == 0);
    ok(right, "0 for what was cut off");
    c = field(&m, "prompt", RLF_VALUE_TEXT, m.batch);
    ok(c.space == m.rows->prompts && rlf_str_eq(c.text[3], RLF_STR("prompt 3")),
       "texts of the prompts");
    c = field(&m, "text", RLF_VALUE_TEXT, m.roll);
    ok(rlf_str_eq(c.text[20], RLF_STR("response 20")), "texts of the samples");
    c = field(&m, "logprob", RLF_VALUE_NUMBER, m.tokens);
    ok(c.space == m.rows->tokens && c.number[c.space->offset[4] + 2] == -402,
       "logprobs of the tokens");
    world_free(m.w);
}

/* ---- where ---- */

/* Run where(condition), the condition on `domain`, 1 where keep[i]. */
static const rlf_rows *
run_where(made *m, int domain, const rlf_space *space, const bool *keep,
          bool prompts)
{
    world *w = m->w;
    int batch = m->batch, roll, tokens;
    if (prompts)
        batch =
            add_domain_under(w, RLF_DOMAIN_ROWS, "some prompts", -1, m->batch);
    roll = add_domain_under(w, RLF_DOMAIN_ROWS, "some", batch, m->roll);
    tokens = add_domain_under(w, RLF_DOMAIN_TOKENS, "tokens of some", roll,
                              m->tokens);
    rlf_set set = sampled_set("some", batch, roll, tokens);
    set.origin = w->graph->values.data[m->set].set;
    int out = add_set_value(w, set);
    m->info = set_of(w, m->set); /* the table may have moved */
    m->rows->set = m->info;
    int condition = add_column_value(w, RLF_VALUE_NUMBER, domain);
    rlf_arg arg = value_arg("condition", condition, 1);
    int inputs[] = {m->set, condition};
    int node = add_node(w, find(RLF_FORM_CALL, RLF_RECEIVER_SET, "where"), -1,
                        (node_parts){ARGS(arg), IN_OF(inputs, 2), OUT(out)});
    rlf_column c = rlf_column_new(w->pool, space, false);
    for (uint32_t i = 0; i < space->count; i++)
        c.number[i] = keep[i];
    rlf_content in[] = {{.rows = m->rows}, {.column = c}};
    rlf_call call = make_call(w, node, in);
    is_int(run_call(w, &call), RLF_OK, "where runs");
    return call.out[0].rows;
}

/* Each row of the part is the row of the whole that its map names. */
static bool
belongs(const made *m, const rlf_rows *part)
{
    const rlf_domains *domains = &m->w->graph->domains;
    const rlf_rows *whole = m->rows;
    bool right = part->temperature == whole->temperature;
    for (uint32_t i = 0; i < part->samples->count; i++) {
        uint32_t at = rlf_space_row(domains, part->samples, i, m->roll);
        uint32_t p = rlf_space_row(domains, part->samples, i, m->batch);
        uint32_t own =
            rlf_space_row(domains, part->samples, i, part->prompts->domain);
        right = right && p == at % PROMPTS &&
                part->samples->identity[i] == 1000 + at &&
                part->prompts->identity[own] == 50 + p &&
                part->prompt[own].text.p == whole->prompt[p].text.p &&
                part->sample[i].text.p == whole->sample[at].text.p &&
                part->tokens->length[i] == at % 5 + 1;
        for (uint32_t t = 0; right && t < part->tokens->length[i]; t++)
            right =
                part->logprob[part->tokens->offset[i] + t] == -(100.0 * at + t);
    }
    return right;
}

static void
test_where(void)
{
    made m = make(1);
    bool keep[SAMPLES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < SAMPLES; i++)
        n += keep[i] = i % PROMPTS != 2 && i % 4 != 1;
    const rlf_rows *part = run_where(&m, m.roll, m.rows->samples, keep, false);
    is_int(part->samples->count, n, "the samples where the condition holds");
    ok(part->prompts == m.rows->prompts, "the prompts stay");
    ok(belongs(&m, part), "rows, texts, tokens and maps are theirs");
    world_free(m.w);

    m = make(1);
    bool kept[PROMPTS] = {true, false, true, true, false, false, true};
    part = run_where(&m, m.batch, m.rows->prompts, kept, true);
    is_int(part->prompts->count, 4, "the prompts where the condition holds");
    is_int(part->samples->count, 4 * EACH, "with all their samples");
    ok(belongs(&m, part), "rows, texts, tokens and maps are theirs");
    world_free(m.w);

    m = make(1);
    memset(keep, 0, sizeof keep);
    part = run_where(&m, m.roll, m.rows->samples, keep, false);
    is_int(part->samples->count, 0, "where nothing holds nothing is left");
    world_free(m.w);
}

/* ---- for ---- */

typedef struct walk {
    made m;
    rlf_call call;
} walk;

/* `for a in roll.split(...)`, or two of the same side by side. */
static walk
split(uint64_t seed, uint32_t step, int sets, rlf_arg parts, rlf_arg size,
      int epochs)
{
    walk k = {.m = make(seed)};
    world *w = k.m.w;
    w->env.step = step;
    int pieces[2], inputs[2];
    rlf_arg args[6];
    for (int i = 0; i < sets; i++) {
        int batch =
            add_domain_under(w, RLF_DOMAIN_ROWS, "mini prompts", -1, k.m.batch);
        int roll =
            add_domain_under(w, RLF_DOMAIN_ROWS, "mini", batch, k.m.roll);
        int tokens = add_domain_under(w, RLF_DOMAIN_TOKENS, "tokens of mini",
                                      roll, k.m.tokens);
        pieces[i] = add_set_value(w, sampled_set("mini", batch, roll, tokens));
        inputs[i] = k.m.set;
        args[3 * i] = parts;
        args[3 * i + 1] = size;
        args[3 * i + 2] = number_arg("epochs", epochs);
    }
    k.m.info = set_of(w, k.m.set);
    k.m.rows->set = k.m.info;
    int node = add_node(
        w, find(RLF_FORM_SYNTAX, RLF_RECEIVER_NONE, "split"), -1,
        (node_parts){ARGS_OF(args, 3 * sets), IN_OF(inputs, sets), .site = 4});
    int body = rlf_graph_add_region(w->graph, node);
    rlf_region *region = &w->graph->regions.data[body];
    region->args = RLF_NEW_ARRAY(w->arena, int, sets);
    memcpy(region->args, pieces, sizeof *pieces * (size_t)sets);
    region->n_args = sets;
    rlf_node *n = &w->graph->nodes.data[node];
    n->regions = RLF_NEW_ARRAY(w->arena, int, 1);
    n->regions[0] = body;
    n->n_regions = 1;
    rlf_content in[] = {{.rows = k.m.rows}, {.rows = k.m.rows}};
    k.call = make_call(w, node, in);
    is_int(run_call(w, &k.call), RLF_OK, "a loop opens");
    return k;
}

static const rlf_rows *
piece(walk *k, int i, int which)
{
    k->call.branch = i;
    if (k->call.node->class->step(&k->call, &k->m.w->err) < 0)
        bail("a piece failed: %s", k->m.w->err.sentence);
    return k->call.out[which].rows;
}

static const rlf_arg none = {.kind = RLF_ARG_ABSENT};

/* The pieces of each epoch hold every sample once, groups whole. */
static void
test_partition(rlf_arg parts, rlf_arg size, uint32_t pieces,
               const uint32_t *sizes, const char *name)
{
    walk k = split(3, 1, 1, parts, size, 2);
    is_int(k.call.count, 2 * pieces, name);
    uint32_t order[2][PROMPTS], at[2] = {0, 0};
    bool right = true, whole = true, ascending = true;
    for (uint32_t e = 0; e < 2; e++) {
        uint32_t seen[SAMPLES] = {0};
        for (uint32_t p = 0; p < pieces; p++) {
            const rlf_rows *mini = piece(&k, (int)(e * pieces + p), 0);
            right = right && mini->prompts->count == sizes[p] &&
                    belongs(&k.m, mini);
            whole = whole && mini->samples->count == EACH * sizes[p];
            uint32_t last = 0;
            for (uint32_t i = 0; i < mini->samples->count; i++) {
                uint32_t row = rlf_space_row(&k.m.w->graph->domains,
                                             mini->samples, i, k.m.roll);
                ascending = ascending && (i == 0 || row > last);
                last = row;
                seen[row]++;
            }
            for (uint32_t i = 0; i < mini->prompts->count; i++)
                order[e][at[e]++] = (uint32_t)(mini->prompts->identity[i] - 50);
        }
        for (uint32_t i = 0; i < SAMPLES; i++)
            right = right && seen[i] == 1;
    }
    ok(right, "each epoch has every sample once, in pieces of the size due");
    ok(whole, "groups stay whole");
    ok(ascending, "samples stand in the set's order");
    ok(pieces == 1 || memcmp(order[0], order[1], sizeof order[0]) != 0,
       "the second epoch is cut otherwise");
    world_free(k.m.w);
}

/* Identities of all pieces, one after another. */
static void
identities(walk *k, int which, uint64_t *out)
{
    for (uint32_t i = 0, n = 0; i < k->call.count; i++) {
        const rlf_rows *mini = piece(k, (int)i, which);
        for (uint32_t s = 0; s < mini->samples->count; s++)
            out[n++] = mini->samples->identity[s];
    }
}

static void
test_keys(void)
{
    uint64_t a[SAMPLES], b[SAMPLES], c[SAMPLES];
    walk k = split(3, 1, 2, number_arg("parts", 3), none, 1);
    identities(&k, 0, a);
    identities(&k, 1, b);
    is_bits(b, a, SAMPLES, sizeof *a, "sets side by side are cut alike");
    world_free(k.m.w);
    k = split(3, 1, 1, number_arg("parts", 3), none, 1);
    identities(&k, 0, b);
    is_bits(b, a, SAMPLES, sizeof *a, "the same seed, the same pieces");
    world_free(k.m.w);
    k = split(3, 2, 1, number_arg("parts", 3), none, 1);
    identities(&k, 0, c);
    ok(memcmp(a, c, sizeof a) != 0, "another step, other pieces");
    world_free(k.m.w);
    k = split(4, 1, 1, number_arg("parts", 3), none, 1);
    identities(&k, 0, c);
    ok(memcmp(a, c, sizeof a) != 0, "another seed, other pieces");
    k.call.iteration = 17;
    identities(&k, 0, b);
    ok(memcmp(b, c, sizeof b) != 0, "within a loop each turn has its own");
    world_free(k.m.w);
}

/* Prompts that where() left without samples are passed over. */
static void
test_empty_prompts(void)
{
    walk k = split(3, 1, 1, none, number_arg("size", 2), 1);
    /* Take samples of all but prompts 1 and 4 away. */
    rlf_rows *rows = k.m.rows;
    rlf_space *samples = rows->samples;
    uint32_t n = 0;
    for (uint32_t i = 0; i < SAMPLES; i++)
        if (i % PROMPTS == 1 || i % PROMPTS == 4)
            ((uint32_t *)samples->up[0].index)[n++] = i % PROMPTS;
    samples->count = n;
    k.call.node->class->open(&k.call, &k.m.w->err);
    is_int(k.call.count, 1, "two prompts with samples make one piece of two");
    const rlf_rows *mini = piece(&k, 0, 0);
    is_int(mini->prompts->count, 2, "which has these two");
    ok(mini->prompts->identity[0] == 51 && mini->prompts->identity[1] == 54,
       "and no other");
    world_free(k.m.w);
}

static void
test_infer(void)
{
    const struct {
        rlf_arg parts, size;
        int sets;
        size_t errors;
    } cases[] = {
        {number_arg("parts", 2), none, 1, 0},
        {none, number_arg("size", 2), 1, 0},
        {none, none, 1, 1},
        {number_arg("parts", 2), number_arg("size", 2), 1, 1},
        {none, number_arg("size", 2), 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        walk k = {.m = make(1)};
        world *w = k.m.w;
        rlf_arg args[6];
        int inputs[2] = {k.m.set, k.m.set};
        for (int s = 0; s < cases[i].sets; s++) {
            args[3 * s] = cases[i].parts;
            args[3 * s + 1] = cases[i].size;
            args[3 * s + 2] = number_arg("epochs", 1);
        }
        const rlf_node_class *class =
            find(RLF_FORM_SYNTAX, RLF_RECEIVER_NONE, "split");
        int node = add_node(w, class, -1,
                            (node_parts){ARGS_OF(args, 3 * cases[i].sets),
                                         IN_OF(inputs, cases[i].sets)});
        rlf_diags diags = {.arena = w->arena, .sources = &w->sources};
        class->infer(w->graph, &w->graph->nodes.data[node], &diags);
        is_int((int64_t)diags.errors, (int64_t)cases[i].errors,
               "parts: or size:, side by side only parts:");
        world_free(w);
    }
}

int
main(void)
{
    test_fields();
    test_where();
    test_partition(number_arg("parts", 3), none, 3, (const uint32_t[]){3, 2, 2},
                   "three parts");
    test_partition(number_arg("parts", 1), none, 1, (const uint32_t[]){7},
                   "one part");
    test_partition(number_arg("parts", 9), none, 9,
                   (const uint32_t[]){1, 1, 1, 1, 1, 1, 1, 0, 0},
                   "more parts than prompts");
    test_partition(none, number_arg("size", 3), 3, (const uint32_t[]){3, 3, 1},
                   "pieces of three prompts");
    test_partition(none, number_arg("size", 7), 1, (const uint32_t[]){7},
                   "pieces of all prompts");
    test_keys();
    test_empty_prompts();
    test_infer();
    return done();
}
