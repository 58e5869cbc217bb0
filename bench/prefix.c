/* Samples that share their prompt, beside the same samples each with its own.
 *
 *     bench/prefix [rounds]
 *
 * A model of 4 layers, 512 wide, on one thread by its own clock: the layers of
 * a reading, and a forward and backward pass through them, with and without
 * sharing in turn, the best of the rounds; beside the times the tokens that are
 * computed and the operations that are counted (nodes/model/cost.h). */
#include "bench/measure.h"
#include "nodes/model/cost.h"
#include "nodes/model/prefix.h"
#include "nodes/model/transformer.h"
#include "nodes/model/weights.h"

#include <string.h>

enum { MOST = 8, LONGEST = 1536, GROUPS = 2 };

static const rlf_model_config config = {.layers = 4,
                                        .hidden = 512,
                                        .heads = 8,
                                        .kv_heads = 4,
                                        .head_dim = 64,
                                        .ffn = 1376,
                                        .vocab = 512,
                                        .context = LONGEST,
                                        .eps = 1e-5,
                                        .rope.theta = 10000,
                                        .bos = -1};

/* Samples of GROUPS prompts. */
typedef struct samples {
    uint32_t ids[GROUPS * MOST][LONGEST];
    rlf_sequence seqs[GROUPS * MOST];
    uint32_t n;
} samples;

static void
make_samples(samples *s, uint32_t prompt, uint32_t response, uint32_t each)
{
    s->n = GROUPS * each;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t group = i / each;
        for (uint32_t t = 0; t < prompt + response; t++)
            s->ids[i][t] =
                (t < prompt ? 31 * (t + 1) * (group + 3) : 17 * (t + i)) % 512;
        s->seqs[i] = (rlf_sequence){.prompt = s->ids[i],
                                    .n_prompt = prompt,
                                    .response = s->ids[i] + prompt,
                                    .n_response = response,
                                    .temperature = 1};
    }
}

/* Seconds of a pass; *tokens: computed. */
static double
run(rlf_model *model, rlf_pass *pass, const samples *s, int64_t *tokens)
{
    rlf_err err = RLF_ERR_NONE;
    double from = now();
    check(rlf_pass_load(pass, s->seqs, s->n, 0, RLF_ROWS_TOKENS, &err), &err);
    check(rlf_transformer_forward(model, pass, &err), &err);
    if (pass->options.train) {
        size_t hidden = (size_t)(pass->n_rows * config.hidden);
        memset(pass->d_hidden, 0, hidden * sizeof(float));
        check(rlf_transformer_backward_chunk(model, pass, 0, &err), &err);
    }
    *tokens = pass->m;
    return now() - from;
}

static double
operations(const rlf_model *model, const samples *s, uint64_t each, bool train)
{
    const rlf_lengths lengths = {.n = s->n,
                                 .prompt = s->seqs[0].n_prompt,
                                 .response = s->seqs[0].n_response};
    const rlf_reading_load load = {
        .lengths = &lengths, .n_lengths = 1, .tokens = 1 << 20, .each = each};
    rlf_counts counts = {.kernels = model->kernels};
    if (train)
        rlf_cost_train(model->table, &load, RLF_REACH_POINT, RLF_UPDATE_ALL,
                       &counts);
    else
        rlf_cost_read(model->table, &load, &counts);
    return counts.cost.flops;
}

static void
compare(rlf_model *model, uint32_t prompt, uint32_t response, uint32_t each,
        bool train, int rounds)
{
    static samples apart, shared;
    rlf_err err = RLF_ERR_NONE;
    rlf_pass *pass;
    const rlf_pass_options options = {
        .tokens = (int)(GROUPS * each * (prompt + response)), .train = train};
    double best[2] = {1e30, 1e30};
    int64_t tokens[2];
    make_samples(&apart, prompt, response, each);
    make_samples(&shared, prompt, response, each);
    rlf_sequences_share(shared.seqs, shared.n, RLF_ROWS_TOKENS);
    check(rlf_pass_new(model, &options, &err, &pass), &err);
    for (int i = 0; i < 2 * rounds; i++) {
        double t = run(model, pass, i % 2 ? &shared : &apart, &tokens[i % 2]);
        best[i % 2] = t < best[i % 2] ? t : best[i % 2];
    }
    rlf_pass_free(pass);
    printf("%6u %8u %7u  %-16s %8.3f %8.3f   %4.2f %6.2f %10.2f\n", prompt,
           response, each, train ? "forward, back" : "reading", best[0],
           best[1], best[1] / best[0], (double)tokens[1] / (double)tokens[0],
           operations(model, &shared, each, train) /
               operations(model, &apart, 1, train));
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    static const uint32_t sizes[][3] = {
        {64, 64, 4}, {256, 128, 8}, {512, 1024, 8}};
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    rlf_model *model;
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    clock_used = CLOCK_THREAD_CPUTIME_ID;
    check(rlf_device_cpu_new(&(rlf_cpu_options){.n_threads = 1}, &device, &err),
          &err);
    check(rlf_queue_new(device, &queue, &err), &err);
    const rlf_model_options options = {.head = RLF_HEAD_LM, .trained = true};
    check(rlf_model_new(queue, rlf_kernels_cpu(), &config, &options, &err,
                        &model),
          &err);
    check(rlf_weights_fill(model, &(rlf_weights_origin){.seed = 3}, &err),
          &err);
    printf("prompt response samples                      apart   shared   time "
           "tokens operations\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int train = 0; train < 2; train++)
            compare(model, sizes[i][0], sizes[i][1], sizes[i][2], train,
                    rounds);
    rlf_model_free(model);
    rlf_queue_free(queue);
    rlf_device_free(device);
    return 0;
}
