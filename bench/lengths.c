/* See lengths.h. */
#include "bench/lengths.h"

#include <math.h>

#include "engine/base/hash.h"
#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/text/tokenizer.h"

enum { SLOTS = 1 << 19 };

/* The sequences that draw each random number, in a hash table by its bits. */
typedef struct draw {
    double uniform; /* < 0: free */
    uint32_t length, position;
} draw;

static draw *draws; /* [SLOTS]; made before any run, then only read */
static const rlf_kernels *cpu;
static uint32_t end_token, other_token;

static draw *
find(double uniform)
{
    uint64_t bits;
    memcpy(&bits, &uniform, sizeof bits);
    size_t i = rlf_hash_mix(bits) % SLOTS;
    while (draws[i].uniform >= 0 && draws[i].uniform != uniform)
        i = (i + 1) % SLOTS;
    return &draws[i];
}

static uint32_t
length_of(const bench_lengths *l, uint64_t sample)
{
    rlf_random_key key = {.seed = 1234, .sample = sample};
    double u = rlf_draw_uniform(&key, 0), v = rlf_draw_uniform(&key, 1);
    double z = sqrt(-2 * log(1 - u)) * cos(2 * acos(-1) * v);
    double x = l->median * exp(l->sigma * z);
    return x < 1 ? 1 : x > l->most ? l->most : (uint32_t)x;
}

static void
list_draws(const bench_lengths *l)
{
    draws = rlf_calloc(SLOTS, sizeof *draws);
    for (int i = 0; i < SLOTS; i++)
        draws[i].uniform = -1;
    for (uint64_t sample = 0; sample < l->samples * l->steps; sample++) {
        rlf_random_key key = {.seed = l->seed,
                              .purpose = RLF_PURPOSE_SAMPLE,
                              .site = l->site,
                              .step = (uint32_t)(sample / l->samples) + 1,
                              .sample = sample};
        uint32_t length = length_of(l, sample);
        for (uint32_t t = 0; t < length; t++) {
            double uniform = rlf_draw_uniform(&key, t);
            *find(uniform) = (draw){uniform, length, t};
        }
    }
}

static rlf_status
sample(rlf_queue *queue, const rlf_sample_args *args, rlf_err *err)
{
    RLF_TRY(cpu->sample(queue, args, err));
    for (int64_t i = 0; i < args->m; i++) {
        const draw *d = find(args->uniform[i]);
        if (d->uniform < 0)
            return rlf_fail(err, RLF_BUG, "a random number of nobody");
        args->tokens[i] =
            (int32_t)(d->position + 1 == d->length ? end_token : other_token);
    }
    return RLF_OK;
}

rlf_status
bench_lengths_force(const bench_lengths *lengths, rlf_err *err,
                    rlf_kernels *out)
{
    rlf_tokenizer *tokenizer;
    RLF_TRY(rlf_tokenizer_open(lengths->words, err, &tokenizer));
    size_t n;
    end_token = rlf_tokenizer_eos(tokenizer, &n)[0];
    while (rlf_tokenizer_is_eos(tokenizer, other_token))
        other_token++;
    rlf_tokenizer_close(tokenizer);
    list_draws(lengths);
    cpu = rlf_kernels_cpu();
    *out = *cpu;
    out->sample = sample;
    return RLF_OK;
}

void
bench_lengths_free(void)
{
    free(draws);
}

const rlf_node *
bench_generate(const rlf_graph *graph)
{
    size_t i = 0;
    while (graph->nodes.data[i].class->work != RLF_WORK_GENERATE)
        i++;
    return &graph->nodes.data[i];
}
