/* Guesses from earlier responses: what a history finds is what a search of all
 * its tokens finds, it forgets the oldest, and generations that guess give the
 * same tokens, log-probabilities and ends as those that do not, whatever the
 * history holds: the very responses, responses that differ in some tokens, or
 * others; with little room, few tokens a step, several threads, and samples
 * that go over to another generation. Right guesses save steps, and a history
 * that is of no use takes few tokens. */
#include "tests/unit/model_samples.h"

/* ---- what is found ---- */

enum { LISTS = 40, LIST = 30, LETTERS = 4 };

typedef struct lists {
    uint32_t prompt[LISTS], n[LISTS], ids[LISTS][LIST];
    uint32_t count;
} lists;

static const uint32_t *
random_list(lists *all, uint64_t *seed)
{
    uint32_t k = all->count++, n = choose(seed, 0, LIST);
    all->prompt[k] = choose(seed, 1, 2);
    all->n[k] = n;
    for (uint32_t i = 0; i < n; i++)
        all->ids[k][i] = choose(seed, 0, LETTERS - 1);
    return all->ids[k];
}

/* Returns how many tokens before ids[at] are those before the end of the
 * response; begins stand before each. */
static uint32_t
alike(const uint32_t *ids, uint32_t at, const uint32_t *end, uint32_t n)
{
    uint32_t same = 0;
    for (; same < at + RLF_HISTORY_RUN && same < n + RLF_HISTORY_RUN; same++) {
        uint32_t a = same < at ? ids[at - 1 - same] : UINT32_MAX;
        uint32_t b = same < n ? end[n - 1 - same] : UINT32_MAX;
        if (a != b)
            break;
    }
    return same;
}

/* By a look at all places: the latest of those with most tokens alike. */
static uint32_t
guess_slowly(const lists *all, uint32_t prompt, const uint32_t *ids, uint32_t n,
             uint32_t most, uint32_t *out)
{
    uint32_t best = RLF_HISTORY_RUN - 1, count = 0, list = 0, first = 0;
    for (uint32_t k = 0; k < all->count; k++)
        for (uint32_t at = 0; all->prompt[k] == prompt && at < all->n[k];
             at++) {
            uint32_t same = alike(all->ids[k], at, ids, n);
            if (same < RLF_HISTORY_RUN || same < best)
                continue;
            best = same;
            list = k;
            first = at;
        }
    while (best >= RLF_HISTORY_RUN && count < most && first < all->n[list])
        out[count++] = all->ids[list][first++];
    return count;
}

static void
test_found(void)
{
    rlf_err err = RLF_ERR_NONE;
    uint64_t seed = 4;
    uint32_t differ = 0, some = 0;
    for (int trial = 0; trial < 20; trial++) {
        static lists all;
        rlf_history *h = rlf_history_new(LISTS * (LIST + RLF_HISTORY_RUN));
        all.count = 0;
        while (all.count < (uint32_t)LISTS / 4) {
            const uint32_t *ids = random_list(&all, &seed);
            uint32_t k = all.count - 1;
            if (rlf_history_add(h, all.prompt[k], ids, all.n[k], &err) < 0)
                bail("%s", err.sentence);
            uint32_t part[LIST], got[9], want[9], n = choose(&seed, 0, 12);
            for (uint32_t i = 0; i < n; i++)
                part[i] = choose(&seed, 0, LETTERS - 1);
            uint32_t prompt = choose(&seed, 1, 3), most = choose(&seed, 0, 9);
            uint32_t a = rlf_history_guess(h, prompt, part, n, most, got);
            uint32_t b = guess_slowly(&all, prompt, part, n, most, want);
            differ += a != b || memcmp(got, want, a * sizeof *got) != 0;
            some += a > 0;
        }
        rlf_history_free(h);
    }
    is_int(differ, 0, "what is found is what a search of all tokens finds");
    ok(some > 50, "... and that is something in many cases (%u)", some);
}

static void
test_forgets(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_history *h = rlf_history_new(100);
    uint32_t ids[99], out[4];
    for (uint32_t k = 0; k < 50; k++) {
        for (uint32_t i = 0; i < 20; i++)
            ids[i] = 20 * k + i;
        if (rlf_history_add(h, 7, ids, 20, &err) < 0)
            bail("%s", err.sentence);
        /* at least the last four responses are there */
        for (uint32_t back = 0; back < 4 && back <= k; back++) {
            for (uint32_t i = 0; i < 3; i++)
                ids[i] = 20 * (k - back) + i + 5;
            if (rlf_history_guess(h, 7, ids, 3, 4, out) != 4 ||
                out[0] != ids[2] + 1)
                bail("response %u of %u is forgotten", k - back, k);
        }
    }
    for (uint32_t i = 0; i < 3; i++)
        ids[i] = i + 5;
    is_int(rlf_history_guess(h, 7, ids, 3, 4, out), 0,
           "the oldest is forgotten");
    for (uint32_t i = 0; i < 99; i++)
        ids[i] = 5000 + i;
    if (rlf_history_add(h, 7, ids, 99, &err) < 0)
        bail("%s", err.sentence);
    is_int(rlf_history_guess(h, 7, ids, 3, 4, out), 0,
           "a response that is longer than what is remembered is left out");
    rlf_history_free(h);
}

/* ---- what is sampled ---- */

/* The responses, in which one of `wrong` tokens is another one; 0: none. */
static rlf_history *
history_of(const prompts *p, const response *r, uint32_t wrong, uint32_t vocab,
           uint64_t *seed)
{
    rlf_history *h = rlf_history_new(RLF_HISTORY_TOKENS);
    rlf_err err = RLF_ERR_NONE;
    for (uint32_t i = 0; i < p->n_groups * p->per_group; i++) {
        uint32_t of = i / p->per_group, ids[160];
        for (uint32_t t = 0; t < r[i].n; t++) {
            bool other = wrong && choose(seed, 1, wrong) == 1;
            ids[t] = other ? choose(seed, 0, vocab - 1) : r[i].ids[t];
        }
        uint32_t prompt = rlf_history_prompt(p->ids[of], p->length[of]);
        if (rlf_history_add(h, prompt, ids, r[i].n, &err) < 0)
            bail("%s", err.sentence);
    }
    return h;
}

static rlf_generation_options
random_options(uint64_t *seed, const uint32_t *eos)
{
    rlf_generation_options o = {.max_new = choose(seed, 1, 60),
                                .temperature =
                                    0.5f + 0.25f * (float)choose(seed, 0, 4),
                                .key = {.seed = *seed,
                                        .purpose = RLF_PURPOSE_SAMPLE,
                                        .site = 4,
                                        .step = 9},
                                .eos = eos,
                                .n_eos = 1};
    o.greedy = choose(seed, 0, 3) == 0;
    if (o.greedy)
        o.temperature = 1;
    if (choose(seed, 0, 2) == 0)
        o.top_p = 0.8f;
    if (choose(seed, 0, 2) == 0)
        o.top_k = 5;
    return o;
}

typedef struct total {
    uint64_t guessed, right, steps, plain;
} total;

/* One model and its prompts, under all settings and histories. */
static void
test_same(uint64_t seed, uint32_t samples, total all[3])
{
    static prompts p;
    static response want[MOST_SAMPLES], got[MOST_SAMPLES];
    static const uint32_t eos = 3, wrongs[] = {0, 4, 1};
    static const char *const holds[] = {
        "the very responses", "responses with wrong tokens", "other responses"};
    const setting settings[] = {{1, 16, 40, 33, 17, false},
                                {1, 16, 0, 77, 0, false},
                                {2, 64, 5, 211, 0, false}};
    rlf_model_config config = random_config(&seed);
    random_prompts(&p, samples, config.vocab, &seed);
    uint32_t n = p.n_groups * p.per_group;
    rlf_generation_options o = random_options(&seed, &eos);
    uint64_t weights = seed;
    for (size_t i = 0; i < RLF_COUNT(settings); i++) {
        const setting *s = &settings[i];
        o.history = NULL;
        uint64_t plain = sample(&config, weights, &p, &o, s, want).steps;
        for (size_t k = 0; k < RLF_COUNT(wrongs); k++) {
            o.history =
                history_of(&p, want, wrongs[k], (uint32_t)config.vocab, &seed);
            rlf_generation_counts c = sample(&config, weights, &p, &o, s, got);
            ok(responses_differ(want, got, n) == 0,
               "%u samples, %d spare pages, steps of %d, a history of %s: "
               "the same tokens, bits and ends",
               n, s->spare_pages, s->tokens, holds[k]);
            all[k].guessed += c.guessed;
            all[k].right += c.right;
            all[k].steps += c.steps;
            all[k].plain += plain;
            rlf_history_free(o.history);
        }
    }
}

/* Samples that go from generation to generation. */
static void
test_going(uint64_t seed)
{
    static prompts p;
    static response want[MOST_SAMPLES], got[MOST_SAMPLES];
    const setting plain = {1, 64, -1, 4096, 0, true};
    const setting s = {1, 16, 6, 77, 0, false};
    const rlf_handover_price prices[] = {{1, 0, SIZE_MAX}, {0, 1, SIZE_MAX}};
    rlf_model_config config = random_config(&seed);
    random_prompts(&p, 12, config.vocab, &seed);
    rlf_generation_options o = {
        .max_new = 60, .temperature = 1, .key = {.seed = seed}};
    sample(&config, 8, &p, &o, &plain, want);
    for (size_t i = 0; i < RLF_COUNT(prices); i++) {
        handovers count = {0};
        o.history = history_of(&p, want, 9, (uint32_t)config.vocab, &seed);
        sample_moving(&config, 8, &p, &o, &s, &prices[i], &seed, got, &count);
        ok(responses_differ(want, got, p.n_groups * p.per_group) == 0,
           "%llu samples went over: the same tokens and bits",
           (unsigned long long)count.samples);
        rlf_history_free(o.history);
    }
}

/* A sequence alone, whose history is its own response: as few steps as guesses
 * allow; and a history of others, which is of little use. */
static void
test_pays(void)
{
    static prompts p = {1, 1, 20, {20}, {{0}}};
    static response want[1], got[1];
    uint64_t seed = 21;
    rlf_model_config config = random_config(&seed);
    const setting s = {1, 64, -1, 256, 0, false};
    rlf_generation_options o = {.max_new = 150, .key = {.seed = 3}};
    uint64_t plain = sample(&config, 5, &p, &o, &s, want).steps;
    o.history = history_of(&p, want, 0, 0, &seed);
    rlf_generation_counts c = sample(&config, 5, &p, &o, &s, got);
    is_int(responses_differ(want, got, 1), 0,
           "alone: the same tokens and bits");
    ok(4 * c.steps < plain,
       "... in less than a fourth of the steps (%llu, %llu)",
       (unsigned long long)c.steps, (unsigned long long)plain);
    rlf_history_free(o.history);
    o.history = history_of(&p, want, 0, 0, &seed);

    /* others, of which each begins like one before, and goes on otherwise */
    uint64_t fed = 0, guessed = 0;
    for (uint32_t i = 0; i < 12; i++) {
        o.key.seed = 100 + i;
        c = sample(&config, 5, &p, &o, &s, got);
        fed += i < 6 ? 0 : c.fed;
        guessed += i < 6 ? 0 : c.guessed;
    }
    ok(guessed > 0 && 10 * guessed < fed,
       "guesses that are wrong become few (%llu of %llu tokens fed)",
       (unsigned long long)guessed, (unsigned long long)fed);
    rlf_history_free(o.history);
}

int
main(void)
{
    total all[3] = {0};
    test_places(places);
    on = places;
    test_found();
    test_forgets();
    static const uint32_t samples[] = {1, 2, 3, 7, 16, 33};
    for (uint32_t i = 0; i < (quick() ? 4 : RLF_COUNT(samples)); i++)
        test_same(500 + i, samples[i], all);
    for (uint32_t i = 0; i < 2; i++)
        test_going(600 + i);
    test_pays();
    ok(all[0].right > 0 && all[1].right > 0,
       "guesses were right (%llu of %llu, %llu of %llu)",
       (unsigned long long)all[0].right, (unsigned long long)all[0].guessed,
       (unsigned long long)all[1].right, (unsigned long long)all[1].guessed);
    ok(all[0].steps < all[0].plain, "... and saved steps (%llu of %llu)",
       (unsigned long long)all[0].steps, (unsigned long long)all[0].plain);
    return done();
}
