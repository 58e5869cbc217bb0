/* Samples that share the beginning of their prompt (nodes/model/prefix.h): what
 * a pass gives of them has the bits that it has of each with a prompt of its
 * own, over all families, groups of 1 to 16 and any micro-batches; gradients
 * have the same bits whatever the micro-batches, threads and instruction set,
 * and are those without sharing up to rounding. On GPUs too, emulated and real.
 */
#include "nodes/model/gradient.h"
#include "nodes/model/prefix.h"
#include "tests/unit/model_places.h"

enum { MOST = 40, LONGEST = 90 };

typedef struct task {
    rlf_model_config config;
    uint32_t n; /* sequences */
    uint32_t prompts[MOST][LONGEST], responses[MOST][LONGEST];
    rlf_sequence seqs[MOST];
    float weight[MOST * LONGEST];
} task;

static rlf_model_config
config_of(uint64_t i)
{
    rlf_model_config c = {.layers = 2,
                          .hidden = 32,
                          .heads = 4,
                          .kv_heads = i & 1 ? 1 : 2,
                          .head_dim = 16,
                          .ffn = 40,
                          .vocab = 61,
                          .context = 256,
                          .eps = 1e-5,
                          .rope.theta = 10000,
                          .tied = i >> 1 & 1,
                          .qkv_bias = i >> 2 & 1,
                          .bos = -1};
    if (i % 3 == 1)
        c.window = 11;
    return c;
}

/* `n` samples of a prompt, `prompt` tokens of which the last may be all that a
 * sample has beside its response. */
static void
add_group(task *k, uint32_t n, uint32_t prompt, uint64_t *seed)
{
    uint32_t first = k->n;
    for (uint32_t t = 0; t < prompt; t++)
        k->prompts[first][t] = choose(seed, 0, 60);
    for (uint32_t i = 0; i < n; i++, k->n++) {
        k->seqs[k->n] = (rlf_sequence){.prompt = k->prompts[first],
                                       .n_prompt = prompt,
                                       .response = k->responses[k->n],
                                       .n_response = choose(seed, 1, 12),
                                       .temperature = k->n % 3 ? 1 : 0.5f,
                                       .drops = {.seed = 5, .sample = k->n}};
        for (uint32_t t = 0; t < LONGEST; t++)
            k->responses[k->n][t] = choose(seed, 0, 60);
    }
}

/* Samples of several prompts, of which some begin alike. */
static void
make_task(task *k, uint64_t seed, uint32_t samples)
{
    uint32_t first = k->n = 0;
    add_group(k, 1, choose(&seed, 1, 9), &seed);
    add_group(k, samples, choose(&seed, 2, 80), &seed);
    first = k->n;
    add_group(k, samples > 4 ? 2 : samples, choose(&seed, 60, 70), &seed);
    memcpy(k->prompts[first], k->prompts[1], 20 * sizeof **k->prompts);
    add_group(k, 3, 1, &seed);
    add_group(k, 2, 64, &seed);
    for (size_t i = 0; i < RLF_COUNT(k->weight); i++)
        k->weight[i] = test_float(&seed);
}

static rlf_model *
new_model(test_machine *t, const task *k, bool trained)
{
    rlf_model *model;
    rlf_model_options options = {.head = RLF_HEAD_BOTH, .trained = trained};
    MUST(t, rlf_model_new(t->queue, t->kernels, &k->config, &options, &t->err,
                          &model));
    randomize(t, model, 3);
    return model;
}

/* What a model says of all rows: log-probabilities, then values. Returns the
 * tokens that were computed. */
static int64_t
read_rows(test_machine *t, rlf_model *model, const task *k, int tokens,
          rlf_rows_kind rows, float *out)
{
    rlf_pass *p;
    rlf_pass_options options = {.tokens = tokens};
    int64_t computed = 0;
    MUST(t, rlf_pass_new(model, &options, &t->err, &p));
    for (uint32_t i = 0, fit; i < k->n; i += fit) {
        MUST(t, rlf_pass_fit(p, k->seqs + i, k->n - i, &t->err, &fit));
        MUST(t, rlf_pass_load(p, k->seqs + i, fit, i, rows, &t->err));
        MUST(t, rlf_transformer_forward(model, p, &t->err));
        if (rows == RLF_ROWS_TOKENS) {
            MUST(t, rlf_head_logprobs(model, p, false, &t->err));
            MUST(t, rlf_pass_read(p, p->logprob, p->n_rows, &t->err, out));
            out += p->n_rows;
        }
        MUST(t, rlf_head_scalars(model, p, &t->err));
        MUST(t, rlf_pass_read(p, p->scalar, p->n_rows, &t->err, out));
        out += p->n_rows;
        computed += p->m;
    }
    rlf_pass_free(p);
    return computed;
}

/* Sequence by sequence, so that nothing is shared. */
static int64_t
read_alone(test_machine *t, rlf_model *model, const task *k, rlf_rows_kind rows,
           float *out)
{
    static task one;
    int64_t computed = 0;
    one.n = 1;
    for (uint32_t i = 0; i < k->n; i++) {
        one.seqs[0] = k->seqs[i];
        computed += read_rows(t, model, &one, 400, rows, out);
        out += rows == RLF_ROWS_LAST ? 1 : 2 * k->seqs[i].n_response;
    }
    return computed;
}

/* In passes of several sequences results come pass by pass: rows of each by
 * itself. */
static bool
reads_alike(test_machine *t, rlf_model *model, task *k, uint64_t *seed,
            rlf_rows_kind rows, int64_t *saved)
{
    static float want[2 * MOST * LONGEST], got[2 * MOST * LONGEST];
    int tokens = (int)choose(seed, 110, 700);
    rlf_pass_options options = {.tokens = tokens};
    rlf_pass *p;
    bool alike = true;
    const float *x = want, *y = got;
    int64_t all = read_alone(t, model, k, rows, want);
    rlf_sequences_share(k->seqs, k->n, rows);
    *saved = all - read_rows(t, model, k, tokens, rows, got);
    MUST(t, rlf_pass_new(model, &options, &t->err, &p));
    for (uint32_t i = 0, fit; i < k->n; i += fit) {
        size_t n = 0, at = 0;
        MUST(t, rlf_pass_fit(p, k->seqs + i, k->n - i, &t->err, &fit));
        for (uint32_t j = i; j < i + fit; j++)
            n += rows == RLF_ROWS_LAST ? 1 : k->seqs[j].n_response;
        for (uint32_t j = i; j < i + fit; j++) {
            size_t own = rows == RLF_ROWS_LAST ? 1 : k->seqs[j].n_response;
            alike &= memcmp(x, y + at, own * sizeof *x) == 0;
            if (rows == RLF_ROWS_TOKENS) {
                x += own;
                alike &= memcmp(x, y + n + at, own * sizeof *x) == 0;
            }
            x += own;
            at += own;
        }
        y += rows == RLF_ROWS_TOKENS ? 2 * n : n;
    }
    rlf_pass_free(p);
    return alike;
}

static void
test_reading(const test_place *at, const rlf_family *family, uint64_t i)
{
    static task k;
    test_machine t;
    uint64_t seed = i + 7;
    int64_t by_token, by_sample;
    k.config = config_of(i);
    if (family)
        test_family(&k.config, family);
    make_task(&k, i + 1, (uint32_t)(i % 16) + 1);
    test_machine_open_at(&t, at, 2);
    rlf_model *model = new_model(&t, &k, false);
    bool tokens = reads_alike(&t, model, &k, &seed, RLF_ROWS_TOKENS, &by_token);
    bool last = reads_alike(&t, model, &k, &seed, RLF_ROWS_LAST, &by_sample);
    ok(tokens && last && by_token > 0 && by_sample > 0,
       "%s, %s, %d samples: logprobs, values and scores have the bits of each "
       "sample alone",
       at->name, family ? family->type : "llama", (int)(i % 16) + 1);
    if (!tokens || !last)
        note("by token %d, by sample %d, %d and %d tokens less", tokens, last,
             (int)by_token, (int)by_sample);
    rlf_model_free(model);
    test_machine_close(&t);
}

/* ---- gradients ---- */

/* One way to add up gradients. */
typedef struct way {
    int threads, tokens;
    const char *isa;
    bool recompute;
} way;

static void
add_gradients(test_machine *t, rlf_model *model, const task *k, const way *how)
{
    rlf_pass *p;
    rlf_pass_options options = {
        .tokens = how->tokens, .train = true, .recompute = how->recompute};
    const float *weight = k->weight;
    MUST(t, rlf_pass_new(model, &options, &t->err, &p));
    for (uint32_t i = 0, fit; i < k->n; i += fit) {
        MUST(t, rlf_prefix_fit(p, k->seqs + i, k->n - i, true, &t->err, &fit));
        MUST(t,
             rlf_pass_load(p, k->seqs + i, fit, i, RLF_ROWS_TOKENS, &t->err));
        MUST(t, rlf_transformer_forward(model, p, &t->err));
        MUST(t, rlf_pass_write(p, weight, p->n_rows, &t->err, p->d_logprob));
        MUST(t, rlf_pass_write(p, weight, p->n_rows, &t->err, p->d_scalar));
        MUST(t, rlf_head_loss(model, p, NULL, NULL, false, &t->err));
        MUST(t, rlf_head_scalar_back(model, p, true, &t->err));
        MUST(t, rlf_transformer_backward_chunk(model, p, 0, &t->err));
        weight += p->n_rows;
    }
    rlf_pass_free(p);
}

/* To be freed; NULL: there is no such instruction set. */
static float *
gradients_at(const test_place *at, const task *k, const way *how, size_t *n)
{
    test_machine t;
    float *out = NULL;
    test_machine_open_at(&t, at, how->threads);
    if (how->isa)
        t.kernels = rlf_kernels_cpu_isa(how->isa);
    if (t.kernels) {
        rlf_model *model = new_model(&t, k, true);
        add_gradients(&t, model, k, how);
        *n = (size_t)rlf_table_trained(model->table);
        out = test_copy(&t, model->gradient.weights, *n);
        rlf_model_free(model);
    }
    test_machine_close(&t);
    return out;
}

static double
distance(const float *a, const float *b, size_t n)
{
    double off = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        off += pow((double)a[i] - (double)b[i], 2);
        all += pow((double)b[i], 2);
    }
    return sqrt(off / all);
}

/* Prompts are shared within groups alone: which others are beside them in a
 * micro-batch changes nothing. */
static void
share_groups(task *k)
{
    uint32_t prompt[MOST] = {0};
    for (uint32_t i = 1; i < k->n; i++)
        prompt[i] =
            prompt[i - 1] + (k->seqs[i].prompt != k->seqs[i - 1].prompt);
    rlf_sequences_share_prompts(k->seqs, k->n, 1, prompt, RLF_ROWS_TOKENS);
}

static void
test_gradients(const test_place *cpu, const rlf_family *family, uint64_t i)
{
    static task k, alone;
    static const way ways[] = {
        {1, 4000, NULL, false}, {3, 4000, NULL, false},
        {2, 300, NULL, true},   {1, 420, "portable", false},
        {2, 300, "v3", true},
    };
    size_t n, differ = 0, tried = 0;
    const char *name = family ? family->type : "llama";
    k.config = config_of(i);
    if (family)
        test_family(&k.config, family);
    if (i % 5 == 4)
        k.config.lora = (rlf_lora){.rank = 3, .alpha = 4, .dropout = 0.2};
    make_task(&k, i + 1, (uint32_t)(i % 16) + 1);
    alone = k;
    share_groups(&k);
    float *want = gradients_at(cpu, &k, &ways[0], &n);
    for (size_t j = 1; j < RLF_COUNT(ways); j++) {
        float *got = gradients_at(cpu, &k, &ways[j], &n);
        differ += got && memcmp(got, want, n * sizeof *got) != 0;
        tried += got != NULL;
        free(got);
    }
    ok(!differ && tried >= 3,
       "%s, %d samples: gradients whatever the micro-batch and threads", name,
       (int)(i % 16) + 1);
    float *apart = gradients_at(cpu, &alone, &ways[0], &n);
    double off = distance(want, apart, n);
    if (k.config.lora.dropout == 0)
        ok(off < 3e-6 && off > 0, "%s: as without sharing, off by %g", name,
           off);
    free(want);
    free(apart);
}

/* A GPU against the CPU. */
static void
test_place_gradients(const test_place *cpu, const test_place *at, uint64_t i)
{
    static task k;
    const way whole = {1, 4000, NULL, false}, again = {1, 300, NULL, true};
    size_t n;
    k.config = config_of(i);
    k.config.layers = 1;
    make_task(&k, 3, 2);
    share_groups(&k);
    float *want = gradients_at(cpu, &k, &whole, &n);
    float *a = gradients_at(at, &k, &whole, &n);
    double off = distance(a, want, n);
    ok(is_exact(at) ? off == 0 : off < 0.03,
       "%s: gradients as on the CPU, off by %g", at->name, off);
    free(a);
    if (is_exact(at)) {
        a = gradients_at(at, &k, &again, &n);
        is_bits_f32(a, want, n, "... in micro-batches, recomputed");
        free(a);
    }
    free(want);
}

/* ---- the rule ---- */

static void
test_refused(const test_place *cpu)
{
    static task k;
    test_machine t;
    rlf_pass *p;
    rlf_pass_options options = {.tokens = 150, .train = true};
    uint64_t seed = 5;
    uint32_t fit;
    k.config = config_of(0);
    k.n = 0;
    add_group(&k, 2, 30, &seed);
    add_group(&k, 16, 60, &seed);
    share_groups(&k);
    test_machine_open_at(&t, cpu, 1);
    rlf_model *model = new_model(&t, &k, true);
    MUST(&t, rlf_pass_new(model, &options, &t.err, &p));
    MUST(&t, rlf_prefix_fit(p, k.seqs, k.n, true, &t.err, &fit));
    is_int(fit, 2, "a group that does not fit beside others waits");
    rlf_status status =
        rlf_prefix_fit(p, k.seqs + 2, k.n - 2, true, &t.err, &fit);
    ok(status == RLF_USER &&
           strstr(t.err.sentence, "the 16 samples of a prompt"),
       "one that does not fit at all is refused: %s", t.err.sentence);
    rlf_pass_free(p);
    rlf_model_free(model);
    test_machine_close(&t);
}

/* As many samples of a prompt share it as have RLF_SHARED_TOKENS together,
 * whatever the tokens of other prompts are. */
static void
test_parts(void)
{
    enum { N = 13, P = 1000 };
    static uint32_t tokens[8000];
    static const uint32_t response[N] = {900, 900,  900,  900, 900, 900, 900,
                                         10,  3096, 3097, 5,   900, 2190};
    static const uint32_t prompt[N] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2};
    static const uint32_t want[N] = {0,     P - 1, P - 1, 0, P - 1, P - 1, 0,
                                     P - 1, 0,     0,     0, 0,     P - 1};
    rlf_sequence seqs[N];
    uint32_t differ = 0;
    for (uint32_t i = 0; i < N; i++)
        seqs[i] = (rlf_sequence){.prompt = tokens,
                                 .n_prompt = P,
                                 .response = tokens,
                                 .n_response = response[i]};
    rlf_sequences_share_prompts(seqs, N, 1, prompt, RLF_ROWS_TOKENS);
    for (uint32_t i = 0; i < N; i++)
        differ += seqs[i].shared != want[i];
    ok(!differ, "samples of a prompt share it up to so many tokens");
    for (uint32_t i = 0; i < N && differ; i++)
        note("%u: %u, not %u", i, seqs[i].shared, want[i]);
}

/* Two sets by turns: the two of a row stay together whatever they have, be it
 * that they share nothing; rows of a prompt as above. */
static void
test_turns(void)
{
    enum { N = 14, P = 1000 };
    static uint32_t tokens[8000];
    static const uint32_t response[N / 2] = {900, 900, 3000, 5, 10, 10, 10};
    static const uint32_t row[N / 2] = {0, 0, 1, 1, 2, 2, 3};
    static const bool whole[N / 2] = {true, true,  true, true,
                                      true, false, true};
    rlf_sequence seqs[N];
    uint32_t differ = 0, prompt[N];
    for (uint32_t i = 0; i < N; i++) {
        seqs[i] = (rlf_sequence){.prompt = tokens,
                                 .n_prompt = i < N - 2 ? P : 1,
                                 .response = tokens,
                                 .n_response = response[i / 2]};
        prompt[i] = row[i / 2];
    }
    rlf_sequences_share_prompts(seqs, N, 2, prompt, RLF_ROWS_TOKENS);
    for (uint32_t i = 0; i < N; i++) {
        bool follows = i % 2 || !whole[i / 2];
        differ += seqs[i].follows != follows ||
                  seqs[i].shared != (follows && i < N - 2 ? P - 1 : 0);
    }
    ok(!differ, "the samples of a row of two sets stay together");
    for (uint32_t i = 0; i < N && differ; i++)
        note("%u: %u, follows %d", i, seqs[i].shared, seqs[i].follows);
}

/* The number of passes and of whole sequences, found in one go, are those of a
 * walk from sequence to sequence. */
static void
test_counts(void)
{
    uint64_t seed = 3;
    int differ = 0;
    for (int i = 0; i < 20000; i++) {
        rlf_prefix_load l = {.n = choose(&seed, 1, i % 7 ? 40 : 4000),
                             .each = choose(&seed, 1, 17),
                             .length = choose(&seed, 1, 60)};
        l.shared = choose(&seed, 0, (uint32_t)l.length - 1);
        uint64_t tokens = choose(&seed, (uint32_t)l.length, 700);
        uint64_t room = choose(&seed, 0, 200), left = room;
        rlf_prefix_cut want = {0};
        for (uint64_t k = 0; k < l.n;) { /* prompt by prompt */
            uint64_t n = l.n - k < l.each ? l.n - k : l.each;
            uint64_t all = l.length + (n - 1) * (l.length - l.shared);
            want.passes += all > left;
            left = all > left ? tokens : left;
            want.whole++;
            for (uint64_t m = 0; m < n; m++) { /* sample by sample */
                uint64_t more = m ? l.length - l.shared : l.length;
                if (more > left) {
                    want.passes++;
                    want.whole++;
                    left = tokens;
                    more = l.length;
                }
                left -= more;
            }
            k += n;
        }
        rlf_prefix_cut got = rlf_prefix_cut_of(&l, tokens, &room);
        differ += got.passes != want.passes || got.whole != want.whole ||
                  room != left;
    }
    is_int(differ, 0, "passes of 20000 loads, counted in one go");
}

int
main(void)
{
    test_place places[MOST_PLACES];
    int n_places = test_places(places), families = test_families();
    test_counts();
    test_parts();
    test_turns();
    test_refused(&places[0]);
    for (int i = 0; i < (families > 16 ? families : 16); i++)
        test_reading(&places[0], test_any_family((uint64_t)i), (uint64_t)i);
    for (int i = 0; i < 16; i += quick() ? 3 : 1)
        test_gradients(&places[0], test_any_family((uint64_t)i), (uint64_t)i);
    for (int i = 1; i < n_places; i++) {
        test_reading(&places[i], NULL, 1);
        test_place_gradients(&places[0], &places[i], 1);
    }
    return done();
}
