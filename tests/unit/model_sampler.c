/* The sampler and the trainer are the same model: the log-probabilities that
 * ragged continuous batching records are those of packed training passes, bit
 * for bit, over random models and batches; and neither tokens nor bits depend
 * on page sizes, budgets (preemption, prefilling again), sharing of prompts,
 * tokens in a step, threads, or what lies in the unused parts of pages; nor on
 * samples going over from one generation to another, with their pages or
 * without. On GPUs too, emulated and real, in f32 with the tokens and bits of
 * the CPU, and in bf16. */
#include "engine/dev/replay.h"
#include "nodes/model/prefix.h"
#include "tests/unit/model_samples.h"

/* Samples whose recorded log-probabilities differ from training passes. */
static uint32_t
trainer_differs(const rlf_model_config *config, uint64_t weights,
                const prompts *p, const response *r, float temperature,
                int threads, bool train, uint64_t *seed)
{
    test_machine t;
    test_machine_open_at(&t, on, threads);
    rlf_model_options how = model_options(config, weights, train);
    rlf_model *model = NULL;
    MUST(&t, rlf_model_new(t.queue, t.kernels, config, &how, &t.err, &model));
    randomize(&t, model, weights);
    rlf_pass *pass = NULL;
    int least = config->context > 256 ? config->context : 300;
    rlf_pass_options options = {.tokens = least + (int)choose(seed, 0, 2000),
                                .train = train,
                                .recompute = choose(seed, 0, 1)};
    MUST(&t, rlf_pass_new(model, &options, &t.err, &pass));
    uint32_t n = p->n_groups * p->per_group, differ = 0;
    rlf_sequence *seqs = rlf_calloc(n, sizeof *seqs);
    for (uint32_t i = 0; i < n; i++)
        seqs[i] = (rlf_sequence){.prompt = p->ids[i / p->per_group],
                                 .n_prompt = p->length[i / p->per_group],
                                 .response = r[i].ids,
                                 .n_response = r[i].n,
                                 .temperature = temperature};
    float *logprob = rlf_calloc((size_t)options.tokens, sizeof *logprob);
    if (choose(seed, 0, 1)) /* samples share their prompt */
        rlf_sequences_share(seqs, n, RLF_ROWS_TOKENS);
    for (uint32_t i = 0; i < n;) {
        uint32_t fit;
        MUST(&t, rlf_pass_fit(pass, seqs + i, n - i, &t.err, &fit));
        MUST(&t,
             rlf_pass_load(pass, seqs + i, fit, i, RLF_ROWS_TOKENS, &t.err));
        MUST(&t, rlf_transformer_forward(model, pass, &t.err));
        if (train)
            MUST(&t, rlf_head_loss(model, pass, NULL, NULL, false, &t.err));
        else
            MUST(&t, rlf_head_logprobs(model, pass, false, &t.err));
        MUST(&t,
             rlf_pass_read(pass, pass->logprob, pass->n_rows, &t.err, logprob));
        const float *at = logprob;
        for (uint32_t end = i + fit; i < end; i++) {
            differ += memcmp(at, r[i].logprob, r[i].n * sizeof *at) != 0;
            at += r[i].n;
        }
    }
    free(logprob);
    free(seqs);
    rlf_pass_free(pass);
    rlf_model_free(model);
    test_machine_close(&t);
    return differ;
}

/* In f32 the samples are those of the CPU; rows that are nobody's do not count.
 */
static void
is_cpus(const rlf_model_config *config, uint64_t weights, const prompts *p,
        const rlf_generation_options *o, const setting *s, const response *got,
        const rlf_generation_counts *counts)
{
    static response want[MOST_SAMPLES];
    const test_place *at = on;
    if (at == places || !is_exact(at))
        return;
    on = places;
    rlf_generation_counts c = sample(config, weights, p, o, s, want);
    on = at;
    ok(counts->steps == c.steps || counts->steps == c.steps + 1,
       "the CPU's steps, or one more to be dropped (%llu, %llu)",
       (unsigned long long)counts->steps, (unsigned long long)c.steps);
    is_int((int64_t)(counts->fed - counts->dropped), (int64_t)c.fed,
           "... and tokens in them");
    is_int(responses_differ(want, got, p->n_groups * p->per_group), 0,
           "the CPU's tokens and bits");
}

static void
add_counts(rlf_generation_counts *all, const rlf_generation_counts *c)
{
    all->preempted += c->preempted;
    all->shared += c->shared;
    all->tokens += c->tokens;
    all->replayed += c->replayed;
    all->steps += c->steps;
    all->ahead += c->ahead;
    all->dropped += c->dropped;
}

static void
test_trial(uint64_t seed, uint32_t samples, rlf_generation_counts *all)
{
    static prompts p;
    static response want[MOST_SAMPLES], got[MOST_SAMPLES];
    rlf_model_config config = random_config(&seed);
    random_prompts(&p, samples, config.vocab, &seed);
    uint32_t n = p.n_groups * p.per_group;
    uint32_t eos = 3;
    rlf_generation_options o = {.max_new = choose(&seed, 1, 90),
                                .temperature =
                                    0.5f + 0.25f * (float)choose(&seed, 0, 4),
                                .key = {.seed = seed,
                                        .purpose = RLF_PURPOSE_SAMPLE,
                                        .site = 4,
                                        .step = 9},
                                .eos = &eos,
                                .n_eos = 1};
    o.greedy = choose(&seed, 0, 3) == 0;
    if (o.greedy)
        o.temperature = 1;
    if (choose(&seed, 0, 2) == 0)
        o.top_p = 0.8f;
    if (choose(&seed, 0, 2) == 0)
        o.top_k = 5;
    o.max_new = few(o.max_new);
    uint64_t weights = seed;
    note("%s, %d shards", config.family ? config.family->type : "llama",
         model_options(&config, weights, false).shards);
    setting plain = {1, 64, -1, 4096, 0, true};
    rlf_generation_counts counts =
        sample(&config, weights, &p, &o, &plain, want);
    is_cpus(&config, weights, &p, &o, &plain, want, &counts);
    add_counts(all, &counts);
    const setting settings[] = {
        {1, 16, 40, 33, 17, false},
        {1, 16, 0, 77, 0, false}, /* hardly more than one sequence fits */
        {2, 64, 5, 211, 0, false},
        {2, 16, -1, 4096, 0, false},
    };
    /* a family has nothing of its own in what is left out */
    bool few_ways = on->slow || family;
    for (size_t i = 0; i < (few_ways ? 2 : RLF_COUNT(settings)); i++) {
        const setting *s = &settings[i];
        rlf_generation_counts c = sample(&config, weights, &p, &o, s, got);
        add_counts(all, &c);
        ok(responses_differ(want, got, n) == 0,
           "%u samples, %d threads, pages of %d, %d spare, steps of %d: the "
           "same tokens and bits",
           n, s->threads, s->page_size, s->spare_pages, s->tokens);
    }
    for (int i = 0; i < (few_ways ? 2 : 4); i++)
        is_int(trainer_differs(&config, weights, &p, want, o.temperature,
                               1 + i / 2, i % 2, &seed),
               0,
               i % 2 ? "the trainer's bits while it trains"
                     : "the trainer's bits without gradients");
}

/* Samples that go from generation to generation, with their pages, as tokens,
 * or as is cheaper. */
static void
test_moving(uint64_t seed, uint32_t samples, handovers all[2])
{
    static prompts p;
    static response want[MOST_SAMPLES], got[MOST_SAMPLES];
    rlf_model_config config = random_config(&seed);
    random_prompts(&p, samples, config.vocab, &seed);
    uint32_t n = p.n_groups * p.per_group, eos = 3;
    rlf_generation_options o = {.max_new = choose(&seed, 8, 90),
                                .temperature = 1,
                                .key = {.seed = seed,
                                        .purpose = RLF_PURPOSE_SAMPLE,
                                        .site = 4,
                                        .step = 9},
                                .eos = &eos,
                                .n_eos = 1};
    o.max_new = few(o.max_new);
    uint64_t weights = seed;
    setting plain = {1, 64, -1, 4096, 0, true};
    sample(&config, weights, &p, &o, &plain, want);
    const setting settings[] = {
        {1, 16, 0, 77, 0, false}, /* what comes finds no room */
        {1, 16, -1, 4096, 0, false},
        {1, 64, -1, 4096, 0, false},
        {2, 16, 20, 211, 5, false},
    };
    static const rlf_handover_price prices[] = {
        {1, 0, SIZE_MAX}, {0, 1, SIZE_MAX}, {1, 4e-4, 200000}};
    static const char *const how[] = {"pages", "tokens", "what is cheaper"};
    size_t n_prices = on->slow ? 2 : RLF_COUNT(prices);
    size_t n_settings = on->slow ? 1 : RLF_COUNT(settings);
    for (size_t i = 0; i < n_settings * n_prices; i++) {
        const setting *s = &settings[i / n_prices];
        size_t k = i % n_prices;
        handovers count = {0};
        sample_moving(&config, weights, &p, &o, s, &prices[k], &seed, got,
                      &count);
        ok(responses_differ(want, got, n) == 0,
           "%u samples, pages of %d, %d spare: %llu went over by %s, %llu "
           "bytes",
           n, s->page_size, s->spare_pages, (unsigned long long)count.samples,
           how[k], (unsigned long long)count.bytes);
        if (k < 2) {
            all[k].samples += count.samples;
            all[k].bytes += count.bytes;
            all[k].prefilled += count.prefilled;
            all[k].preempted += count.preempted;
        }
    }
}

/* Responses of one token are over in the step that computes their prompt; the
 * other samples share it nevertheless. */
static void
test_single(void)
{
    static response want[24], got[24];
    static prompts p = {
        .n_groups = 3, .per_group = 8, .longest = 40, .length = {1, 17, 40}};
    uint64_t seed = 77;
    rlf_model_config config = random_config(&seed);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < p.length[i]; k++)
            p.ids[i][k] = choose(&seed, 0, (uint32_t)config.vocab - 1);
    rlf_generation_options o = {
        .max_new = 1,
        .key = {.seed = 5, .purpose = RLF_PURPOSE_SAMPLE, .site = 1}};
    setting plain = {1, 64, -1, 4096, 0, true};
    sample(&config, seed, &p, &o, &plain, want);
    const setting settings[] = {
        {1, 16, -1, 4096, 0, false}, /* all at once */
        {2, 16, -1, 20, 2, false},
        {1, 16, 1, 4096, 0, false}, /* no room to keep a prompt for long */
    };
    for (size_t i = 0; i < RLF_COUNT(settings); i++) {
        rlf_generation_counts c =
            sample(&config, seed, &p, &o, &settings[i], got);
        is_int(responses_differ(want, got, 24), 0,
               "responses of one token: the same tokens and bits");
        if (settings[i].spare_pages < 0)
            is_int((int64_t)c.shared, 7 * (0 + 16 + 39),
                   "... and each prompt is computed once");
        if (i == 0)
            is_int((int64_t)c.steps, 2, "... in two steps");
    }
}

/* Responses that end by themselves soon, which only the host sees: a step that
 * was sent before that makes a token too many, which nobody gets; while others
 * are let in, share prompts, and have to give up their pages. */
static void
test_ends(void)
{
    static response want[24], got[24];
    static prompts p = {
        .n_groups = 3, .per_group = 8, .longest = 33, .length = {1, 17, 33}};
    uint64_t seed = 5;
    rlf_model_config config = random_config(&seed);
    config.vocab = 9;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < p.length[i]; k++)
            p.ids[i][k] = choose(&seed, 0, 8);
    const uint32_t eos[] = {3, 5};
    const rlf_generation_options o = {
        .max_new = 7, .key = {.seed = 5}, .eos = eos, .n_eos = RLF_COUNT(eos)};
    setting plain = {1, 64, -1, 4096, 0, true};
    rlf_generation_counts c = sample(&config, seed, &p, &o, &plain, want);
    is_cpus(&config, seed, &p, &o, &plain, want, &c);
    ok(on_cpu() ? c.dropped == 0 : c.dropped > 5,
       "tokens made after the end of a response are dropped (%llu of %llu)",
       (unsigned long long)c.dropped, (unsigned long long)c.tokens);
    const setting settings[] = {{1, 16, 0, 77, 5, false},
                                {1, 16, 6, 4096, 0, false}};
    for (size_t i = 0; i < RLF_COUNT(settings); i++) {
        c = sample(&config, seed, &p, &o, &settings[i], got);
        is_int(responses_differ(want, got, 24), 0,
               "soon at an end: the same tokens and bits");
        ok(on_cpu() || (c.dropped && c.ahead),
           "... with tokens dropped (%llu) of steps sent early (%llu of %llu)",
           (unsigned long long)c.dropped, (unsigned long long)c.ahead,
           (unsigned long long)c.steps);
    }
}

/* Across the end of a split of attention, where recorded steps change. */
static void
test_long(void)
{
    static prompts p = {1, 1, 507, {507}, {{0}}};
    static response got[1];
    uint64_t seed = 77;
    rlf_model_config config = {.layers = 1,
                               .heads = 1,
                               .kv_heads = 1,
                               .head_dim = 8,
                               .hidden = 8,
                               .ffn = 8,
                               .vocab = 20,
                               .context = 600,
                               .eps = 1e-5,
                               .rope.theta = 10000,
                               .bos = -1};
    for (uint32_t i = 0; i < p.n_groups; i++)
        for (uint32_t k = 0; k < p.length[i]; k++)
            p.ids[i][k] = choose(&seed, 0, 19);
    const rlf_generation_options o = {.max_new = 12, .key = {.seed = 5}};
    const setting s = {1, 64, -1, 1024, 0, false};
    rlf_generation_counts c = sample(&config, 3, &p, &o, &s, got);
    is_cpus(&config, 3, &p, &o, &s, got, &c);
    is_int(trainer_differs(&config, 3, &p, got, 1, 1, false, &seed), 0,
           "over 512 positions: the trainer's bits");
    ok(on_cpu() || c.replayed > 5, "... from recordings (%llu of %llu)",
       (unsigned long long)c.replayed, (unsigned long long)c.steps);
}

/* Generations one after another with the same recordings, in turn over two
 * pools of pages: what was recorded with other pages is not used. */
static void
test_recordings(void)
{
    static prompts p = {1, 3, 20, {20}, {{0}}};
    static response want[3], got[3];
    static place at;
    uint64_t seed = 9;
    rlf_model_config config = random_config(&seed);
    for (uint32_t k = 0; k < p.length[0]; k++)
        p.ids[0][k] = choose(&seed, 0, (uint32_t)config.vocab - 1);
    rlf_generation_options o = {.max_new = 7};
    const setting s = {1, 16, -1, 64, 4, false};
    place_open(&at, &config, 3, &p, &o, &s);
    test_machine *t = &at.t;
    rlf_kv *pools[] = {at.kv, NULL};
    MUST(t, rlf_kv_new(at.model, 16, at.kv->n_pages, &t->err, &pools[1]));
    size_t bytes = rlf_generation_array_bytes(64, 4, 16);
    rlf_generation_options with = {.most_active = 4,
                                   .array_bytes = bytes,
                                   .replays = rlf_replays_new(t->queue)};
    MUST(t, rlf_device_alloc(t->device, bytes, &with.arrays, &t->err));
    uint64_t replayed[4], differ = 0;
    for (uint32_t i = 0; i < 4; i++) {
        o.key.seed = i;
        sample(&config, 3, &p, &o, &s, want);
        rlf_generation_free(at.g);
        at.kv = pools[i % 2];
        for (int k = 0; k < 2; k++) /* NaN */
            MUST(t, rlf_queue_set(t->queue, pools[k]->block, 0xff,
                                  pools[k]->block_bytes, &t->err));
        with.max_new = o.max_new;
        with.key = o.key;
        MUST(t, rlf_generation_new(at.model, at.pass, at.kv, &with, &t->err,
                                   &at.g));
        at.n = 0;
        at.open = true;
        place_add(&at, &p, 0, &s);
        while (at.open)
            place_step(&at, got);
        differ += responses_differ(want, got, 3);
        replayed[i] = rlf_generation_count(at.g).replayed;
    }
    is_int((int64_t)differ, 0, "recordings of several generations");
    ok(replayed[0] && replayed[0] == replayed[1], "... each pool has its own");
    ok(replayed[2] > replayed[0] && replayed[3] == replayed[2],
       "... that the next generation goes on with (%llu, %llu)",
       (unsigned long long)replayed[0], (unsigned long long)replayed[2]);
    rlf_kv_free(pools[at.kv == pools[0]]);
    rlf_generation_free(at.g);
    at.g = NULL;
    rlf_replays_free(with.replays);
    rlf_device_release(t->device, with.arrays, bytes);
    place_close(&at);
}

/* All of it at one place: few samples where it is slow. */
static void
test_place_all(void)
{
    static const uint32_t samples[] = {1, 2, 3, 7, 16, 33, 64, 100};
    uint32_t trials = quick() ? 6 : RLF_COUNT(samples);
    uint32_t moves = on->slow ? 1 : quick() ? 2 : 3;
    rlf_generation_counts all = {0};
    for (uint32_t i = on->slow ? 3 : 0; i < (on->slow ? 5 : trials); i++)
        test_trial(1000 + i, samples[i], &all);
    for (uint32_t i = 0; i == 0 || test_any_family(i) != test_any_family(0);
         i++) {
        /* where it is slow each of two places takes half of them */
        if (on->slow && i % 2 != (uint32_t)(on - places) % 2)
            continue;
        family = test_any_family(i);
        test_trial(3000 + i, 2, &all);
    }
    lora = 3;
    family = &rlf_family_qwen3;
    test_trial(3100, 2, &all);
    family = &rlf_family_gpt2;
    test_trial(3101, 2, &all);
    family = NULL;
    lora = 0;
    if (!on->slow)
        test_single();
    test_ends();
    test_long();
    if (!on_cpu())
        test_recordings();
    ok(all.preempted > 0, "some samples were preempted (%llu)",
       (unsigned long long)all.preempted);
    ok(all.shared > 0, "some prompts were shared (%llu of %llu tokens)",
       (unsigned long long)all.shared, (unsigned long long)all.tokens);
    ok(on_cpu() ? all.replayed == 0 : all.replayed > 40,
       "steps from recordings where a device records (%llu)",
       (unsigned long long)all.replayed);
    ok(on_cpu() ? all.ahead == 0 : 2 * all.ahead > all.steps,
       "steps sent before the last one's tokens are read, where a device works "
       "by itself (%llu of %llu)",
       (unsigned long long)all.ahead, (unsigned long long)all.steps);

    handovers moved[2] = {0}; /* by pages, by tokens */
    for (uint32_t i = 0; i < moves; i++)
        test_moving(2000 + i, on->slow ? 10 : samples[5 - i], moved);
    uint64_t many = on->slow ? 10 : 100;
    ok(moved[0].samples > many && moved[1].samples > many,
       "many samples went over (%llu, %llu)",
       (unsigned long long)moved[0].samples,
       (unsigned long long)moved[1].samples);
    ok(moved[0].bytes > 4 * moved[1].bytes, "pages are more bytes than tokens");
    ok(moved[0].prefilled < moved[1].prefilled,
       "tokens are computed again where pages are not (%llu, %llu)",
       (unsigned long long)moved[0].prefilled,
       (unsigned long long)moved[1].prefilled);
    ok(moved[0].preempted > 0, "who takes samples preempts them when short");
}

int
main(void)
{
    int n = test_places(places);
    for (on = places; on < places + n; on++) {
        if (!wanted(on->name))
            continue;
        note("on %s", on->name);
        test_place_all();
    }
    return done();
}
