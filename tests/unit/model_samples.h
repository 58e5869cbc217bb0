/* Samples of random models to random prompts, for tests of generations: what
 * such a test opens, feeds and compares. */
#ifndef RLF_TESTS_UNIT_MODEL_SAMPLES_H
#define RLF_TESTS_UNIT_MODEL_SAMPLES_H

#include "nodes/model/handover.h"
#include "tests/unit/model_places.h"

#define MOST_SAMPLES 100
#define MOST_PROMPT 520

/* Lengths around the borders of pages and blocks. */
static const uint32_t borders[] = {1,  2,  15, 16,  17,  31,  32, 33,
                                   63, 64, 65, 127, 128, 129, 5,  40};

typedef struct prompts {
    uint32_t n_groups, per_group, longest;
    uint32_t length[MOST_SAMPLES];
    uint32_t ids[MOST_SAMPLES][MOST_PROMPT];
} prompts;

typedef struct response {
    uint32_t n, ids[160];
    float logprob[160];
    bool finished;
} response;

typedef struct setting {
    int threads, page_size;
    int spare_pages; /* beyond one sequence; < 0: no limit */
    int tokens;      /* tokens of a step */
    uint32_t most_active;
    bool fresh; /* every sample its own group: nothing is shared */
} setting;

/* The places that compute everything except the reference, which is the
 * CPU's. */
static test_place places[MOST_PLACES];
static const test_place *on;

__attribute__((unused)) static bool
on_cpu(void)
{
    return on->backend == places->backend;
}

/* Of sampler and trainer, in as many partial sums as the model can have. */
__attribute__((unused)) static rlf_model_options
model_options(const rlf_model_config *config, uint64_t seed, bool train)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_cut cut = {.shards = 1 << seed % 3};
    while (rlf_table_check_cut(config, &cut, &err) < 0)
        cut.shards /= 2;
    return (rlf_model_options){
        .head = RLF_HEAD_LM, .trained = train, .shards = cut.shards};
}

/* Returns max_new, or a smaller number on a slow place, so that a generation
 * has few steps there. */
__attribute__((unused)) static uint32_t
few(uint32_t max_new)
{
    return on->slow && max_new > 9 ? 9 : max_new;
}

/* Whose models are drawn; NULL: any, or Llama's. And the rank of adapters. */
static const rlf_family *family;
static int lora;

__attribute__((unused)) static rlf_model_config
random_config(uint64_t *seed)
{
    uint32_t kv = choose(seed, 1, 2), per = choose(seed, 1, 3);
    int dim = 8 * (int)choose(seed, 1, 3);
    rlf_model_config c = {.layers = (int)choose(seed, 1, 3),
                          .heads = (int)(kv * per),
                          .kv_heads = (int)kv,
                          .head_dim = dim,
                          .hidden = 8 * (int)choose(seed, 1, 9),
                          .ffn = (int)choose(seed, 5, 90),
                          .vocab = (int)choose(seed, 7, 150),
                          .context = 256,
                          .eps = 1e-5,
                          .rope.theta = 10000,
                          .bos = -1};
    c.tied = choose(seed, 0, 1);
    c.qkv_bias = choose(seed, 0, 1);
    c.o_bias = choose(seed, 0, 3) == 0;
    c.mlp_bias = choose(seed, 0, 3) == 0;
    c.qk_norm = choose(seed, 0, 1);
    if (choose(seed, 0, 3) == 0)
        c.window = (int)choose(seed, 3, 90);
    if (family || *seed >> 20 & 1)
        test_family(&c, family ? family : test_any_family(*seed >> 33));
    test_lora(&c, lora, true);
    return c;
}

__attribute__((unused)) static void
random_prompts(prompts *p, uint32_t n, int vocab, uint64_t *seed)
{
    p->per_group = choose(seed, 1, n < 8 ? n : 8);
    p->n_groups = n / p->per_group;
    p->longest = 0;
    for (uint32_t i = 0; i < p->n_groups; i++) {
        p->length[i] = choose(seed, 0, 1)
                           ? borders[choose(seed, 0, RLF_COUNT(borders) - 1)]
                           : choose(seed, 1, 130);
        if (on->slow && p->length[i] > 34)
            p->length[i] %= 34;
        if (p->length[i] > p->longest)
            p->longest = p->length[i];
        for (uint32_t k = 0; k < p->length[i]; k++)
            p->ids[i][k] = choose(seed, 0, (uint32_t)vocab - 1);
    }
}

/* A generation with all that it needs. */
typedef struct place {
    test_machine t;
    rlf_model *model;
    rlf_pass *pass;
    rlf_kv *kv;
    rlf_generation *g;
    uint32_t called[16 * MOST_SAMPLES]; /* per row: which sample it is */
    uint32_t n;
    bool open;
} place;

__attribute__((unused)) static void
place_open(place *at, const rlf_model_config *config, uint64_t weights,
           const prompts *p, const rlf_generation_options *options,
           const setting *s)
{
    test_machine *t = &at->t;
    test_machine_open_at(t, on, s->threads);
    rlf_model_options how = model_options(config, weights, false);
    MUST(t, rlf_model_new(t->queue, t->kernels, config, &how, &t->err,
                          &at->model));
    randomize(t, at->model, weights);
    rlf_pass_options pass_options = {.tokens = s->tokens};
    MUST(t, rlf_pass_new(at->model, &pass_options, &t->err, &at->pass));
    int longest = (int)(p->longest + options->max_new);
    int one = (longest + s->page_size - 1) / s->page_size;
    MUST(t,
         rlf_kv_new(at->model, s->page_size,
                    s->spare_pages < 0 ? one * (int)(p->n_groups * p->per_group)
                                       : one + s->spare_pages,
                    &t->err, &at->kv));
    MUST(t, rlf_queue_set(t->queue, at->kv->block, 0xff, at->kv->block_bytes,
                          &t->err)); /* NaN */
    rlf_generation_options o = *options;
    o.most_active = s->most_active;
    MUST(t,
         rlf_generation_new(at->model, at->pass, at->kv, &o, &t->err, &at->g));
    at->n = 0;
    at->open = true;
}

__attribute__((unused)) static rlf_generation_counts
place_close(place *at)
{
    rlf_generation_counts counts = {0};
    if (at->g)
        counts = rlf_generation_count(at->g);
    rlf_generation_free(at->g);
    if (at->kv->n_free != at->kv->n_pages)
        bail("%d pages were not given back", at->kv->n_pages - at->kv->n_free);
    rlf_kv_free(at->kv);
    rlf_pass_free(at->pass);
    rlf_model_free(at->model);
    test_machine_close(&at->t);
    return counts;
}

/* All samples of the i-th prompt. */
__attribute__((unused)) static void
place_add(place *at, const prompts *p, uint32_t i, const setting *s)
{
    uint64_t identity[8];
    for (uint32_t k = 0; k < p->per_group; k++)
        identity[k] = ((uint64_t)i << 32) + k;
    uint32_t each = s->fresh ? 1 : p->per_group, first;
    for (uint32_t k = 0; k < p->per_group; k += each)
        MUST(&at->t,
             rlf_generation_add(at->g, p->ids[i], p->length[i], identity + k,
                                each, &at->t.err, &first));
    for (uint32_t k = 0; k < p->per_group; k++)
        at->called[at->n++] = i * p->per_group + k;
}

/* One step; how many samples it completed. */
__attribute__((unused)) static uint32_t
place_step(place *at, response *out)
{
    const uint32_t *rows;
    uint32_t n;
    rlf_status status = rlf_generation_step(at->g, &at->t.err, &rows, &n);
    MUST(&at->t, status);
    at->open = status == RLF_AGAIN;
    for (uint32_t i = 0; i < n; i++) {
        rlf_response r = rlf_generation_response(at->g, rows[i]);
        response *to = &out[at->called[rows[i]]];
        *to = (response){.n = r.n, .finished = r.finished};
        memcpy(to->ids, r.ids, r.n * sizeof *r.ids);
        memcpy(to->logprob, r.logprob, r.n * sizeof *r.logprob);
    }
    return n;
}

__attribute__((unused)) static rlf_generation_counts
sample(const rlf_model_config *config, uint64_t weights, const prompts *p,
       const rlf_generation_options *options, const setting *s, response *out)
{
    static place at;
    place_open(&at, config, weights, p, options, s);
    for (uint32_t i = 0; i < p->n_groups; i++)
        place_add(&at, p, i, s);
    uint32_t done = 0;
    while (at.open)
        done += place_step(&at, out);
    if (done != p->n_groups * p->per_group)
        bail("%u of %u samples were reported", done,
             p->n_groups * p->per_group);
    return place_close(&at);
}

__attribute__((unused)) static uint32_t
responses_differ(const response *a, const response *b, uint32_t n)
{
    uint32_t differ = 0;
    for (uint32_t i = 0; i < n; i++)
        differ += a[i].n != b[i].n || a[i].finished != b[i].finished ||
                  memcmp(a[i].ids, b[i].ids, a[i].n * sizeof *a[i].ids) != 0 ||
                  memcmp(a[i].logprob, b[i].logprob,
                         a[i].n * sizeof *a[i].logprob) != 0;
    return differ;
}

/* ---- going over ---- */

enum { PLACES = 3 };

typedef struct handovers {
    uint64_t samples, bytes, prefilled, preempted;
} handovers;

/* Some of the samples of `from`, complete ones among them, go to `to`. */
__attribute__((unused)) static void
hand_over(place *from, place *to, const rlf_handover_price *price,
          uint64_t *seed, rlf_arena *arena, handovers *count)
{
    uint32_t rows[16 * MOST_SAMPLES], called[16 * MOST_SAMPLES], n = 0;
    uint32_t all = choose(seed, 0, 1);
    for (uint32_t i = 0; i < from->n; i++) {
        if (!all && choose(seed, 0, 1))
            continue;
        rows[n] = i;
        called[n++] = from->called[i];
    }
    rlf_buf packed = {0};
    rlf_status status = rlf_generation_give(from->g, rows, called, n, price,
                                            &packed, &from->t.err);
    MUST(&from->t, status);
    from->open = status == RLF_AGAIN;
    uint32_t first, came;
    const uint32_t *label;
    MUST(&to->t, rlf_generation_take(to->g, packed.p, packed.n, arena,
                                     &to->t.err, &first, &label, &came));
    if (first != to->n)
        bail("rows of a generation are not counted on");
    for (uint32_t i = 0; i < came; i++)
        to->called[to->n++] = label[i];
    to->open |= came > 0;
    count->samples += came;
    count->bytes += packed.n;
    rlf_buf_free(&packed);
}

/* The same samples in several generations, which take turns and hand samples
 * over to one another now and then. */
__attribute__((unused)) static void
sample_moving(const rlf_model_config *config, uint64_t weights,
              const prompts *p, const rlf_generation_options *options,
              const setting *s, const rlf_handover_price *price, uint64_t *seed,
              response *out, handovers *count)
{
    static place at[PLACES];
    rlf_arena *arena = rlf_arena_new();
    for (int i = 0; i < PLACES; i++)
        place_open(&at[i], config, weights, p, options, s);
    for (uint32_t i = 0; i < p->n_groups; i++)
        place_add(&at[choose(seed, 0, PLACES - 1)], p, i, s);
    uint32_t done = 0, n = p->n_groups * p->per_group;
    for (int turns = 0, moves = 0; done < n; turns++) {
        uint32_t i = choose(seed, 0, PLACES - 1);
        done += place_step(&at[i], out);
        if (moves >= 10 || choose(seed, 0, 5))
            continue;
        uint32_t to = (i + choose(seed, 1, PLACES - 1)) % PLACES;
        hand_over(&at[i], &at[to], price, seed, arena, count);
        moves++;
    }
    for (int i = 0; i < PLACES; i++) {
        if (at[i].open && place_step(&at[i], out) + (uint32_t)at[i].open)
            bail("a generation goes on when all is complete");
        rlf_generation_counts c = place_close(&at[i]);
        count->prefilled += c.prefilled;
        count->preempted += c.preempted;
    }
    rlf_arena_free(arena);
}

#endif
