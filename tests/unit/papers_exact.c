/* Numbers of the papers that follow from their definitions, by rlflow's own
 * code: HybridFlow's volumes of resharding and its groups of ranks, what its
 * mapping goes through and how it judges, bubbles of 1F1B, the calls of PPO,
 * ReMax and GRPO, operations of an iteration. */
#include "engine/api/session.h"
#include "engine/plan/pipe.h"
#include "engine/search/hybridflow.h"
#include "tests/papers/hybridflow.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static bool
agree(double a, double b, double by)
{
    return fabs(a - b) <= by;
}

/* ---- HybridFlow: resharding ---- */

enum { WORLD = 128 };

static int in_order[WORLD];

/* Settings of its figure 14, gigabytes, from the formulas of its table 2: of
 * HybridFlow, of its variant that gathers the whole model in a replica, of
 * DeepSpeed-Chat, which gathers it from 128 ranks; and the peak. */
static void
test_volumes(void)
{
    static const struct {
        const char *name;
        double size;
        int p, t, tg;
        double hybrid, variant, chat, peak;
    } rows[] = {
        {"7B", 14, 1, 8, 2, 5.25, 12.25, 13.89, 7},
        {"13B", 26, 1, 8, 4, 3.25, 22.75, 25.80, 6.5},
        {"34B", 68, 4, 8, 8, 6.375, 65.875, 67.47, 8.5},
        {"70B", 140, 8, 8, 8, 15.3125, 137.8125, 138.91, 17.5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double peak, other;
        int p = rows[i].p, t = rows[i].t;
        double is =
            rows[i].size * hybridflow_volume(p, t, 1, rows[i].tg, &peak);
        ok(agree(is, rows[i].hybrid, 1e-9) &&
               agree(peak * rows[i].size, rows[i].peak, 1e-9),
           "%s, %d-%d to %d: %g GB a rank, peak %g", rows[i].name, p, t,
           rows[i].tg, is, peak * rows[i].size);
        is = rows[i].size * hybridflow_volume(p, t, 1, 1, &other);
        ok(agree(is, rows[i].variant, 1e-9), "the whole of it: %g GB", is);
        is = rows[i].size * hybridflow_volume(1, WORLD, 1, 1, &other);
        ok(agree(is, rows[i].chat, 0.006), "from 128 ranks: %.2f GB", is);
    }
    static const double parts[] = {0.875, 0.375, 0.125, 0};
    for (int k = 0; k < 4; k++) {
        double peak, is = hybridflow_volume(1, 8, 2, 1 << k, &peak);
        ok(agree(is, parts[k], 1e-12), "figure 15, 1-8-2 to %d: %g M", 1 << k,
           is);
    }
}

/* Figure 8: training 1-4-2, generation on two ranks a replica; its devices
 * count from 1. */
static void
test_groups(void)
{
    static const int tensor[8][2] = {{1, 3}, {2, 4}, {1, 3}, {2, 4},
                                     {5, 7}, {6, 8}, {5, 7}, {6, 8}};
    static const int micro[8][2] = {{1, 2}, {1, 2}, {3, 4}, {3, 4},
                                    {5, 6}, {5, 6}, {7, 8}, {7, 8}};
    rlf_layout train = {
        .ranks = in_order, .n_ranks = 8, .tp = 4, .pp = 1, .dp = 2};
    rlf_layout generate;
    rlf_err err = RLF_ERR_NONE;
    int bad = 0;
    if (rlf_layout_regroup(&train, 2, 1, &err, &generate) < 0)
        bail("%s", err.sentence);
    for (int r = 0; r < 8; r++) {
        int group[8], inside[8], m = 0;
        int n = rlf_layout_group(&generate, r, RLF_AXIS_TP, group);
        bad += n != 2 || group[0] + 1 != tensor[r][0] ||
               group[1] + 1 != tensor[r][1];
        n = rlf_layout_group(&generate, r, RLF_AXIS_DP, group);
        for (int i = 0; i < n; i++) /* of one replica of training */
            if (rlf_layout_find(&train, group[i]).dp ==
                rlf_layout_find(&train, r).dp)
                inside[m++] = group[i] + 1;
        bad += m != 2 || inside[0] != micro[r][0] || inside[1] != micro[r][1];
    }
    is_int(bad, 0, "figure 8: tensor-parallel and micro-data-parallel groups");
}

/* ---- HybridFlow: mapping ---- */

static double
no_move(void *arg, const rlf_problem_move *move)
{
    (void)arg, (void)move;
    return 0;
}

/* A call of each model, with a way to run it on every run of `unit` devices. */
static void
make_models(int models, int devices, int unit, rlf_arena *arena,
            rlf_problem *out)
{
    int n = devices / unit;
    double *memory = RLF_NEW_ARRAY(arena, double, devices);
    *out = (rlf_problem){.n_calls = models,
                         .devices = devices,
                         .memory = memory,
                         .move = no_move};
    out->calls = RLF_NEW_ARRAY(arena, rlf_problem_call, models);
    for (int i = 0; i < devices; i++)
        memory[i] = 1;
    for (int m = 0; m < models; m++) {
        rlf_problem_call *call = &out->calls[m];
        *call = (rlf_problem_call){.name = "call", .model = m};
        call->choices = RLF_NEW_ARRAY(arena, rlf_choice, n * (n + 1) / 2);
        for (int first = 0; first < n; first++)
            for (int count = 1; first + count <= n; count++)
                call->choices[call->n_choices++] =
                    (rlf_choice){.first = first * unit,
                                 .count = count * unit,
                                 .tp = 1,
                                 .pp = 1,
                                 .dp = count * unit,
                                 .seconds = 1};
    }
    rlf_err err = RLF_ERR_NONE;
    if (rlf_problem_close(out, arena, &err) < 0)
        bail("%s", err.sentence);
}

static rlf_mapped
map(int models, int devices, int unit)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_problem p;
    rlf_mapped counts;
    rlf_placing best = {.period = INFINITY};
    make_models(models, devices, unit, arena, &p);
    best.choice = RLF_NEW_ARRAY(arena, int, models);
    rlf_hybridflow_map(&p, rlf_estimator_new(&p, arena), arena, &best, &counts);
    rlf_arena_free(arena);
    return counts;
}

static void
test_mapping(void)
{
    is_int(map(3, 16, 1).partitions, 5, "three models: 5 partitions (ReMax)");
    is_int(map(5, 16, 1).partitions, 52,
           "five models: 52 partitions (Safe-RLHF)");
    rlf_mapped at = map(4, 128, 1);
    is_int(at.partitions, 15, "four models: 15 partitions (PPO)");
    is_int(at.of[4], 333375, "four sets on 128 devices: 333,375 allocations");
    is_int(at.of[3], 6 * 8001, "and of three sets C(127, 2), six times");
    is_int(map(4, 128, 8).of[4], 455, "on 16 machines: 455");
}

/* Checks HybridFlow's cost of two models with a generation, a reading and an
 * update each, of random seconds: calls on the same set add, of others the
 * longest counts, and stages add. */
static void
test_cost(void)
{
    double seconds[2][3] = {{3, 5, 7}, {2, 11, 4}};
    rlf_choice choices[6];
    rlf_problem_call calls[6];
    const rlf_problem p = {.calls = calls, .n_calls = 6, .n_models = 2};
    const int choice[6] = {0}, together[] = {0, 0}, apart[] = {0, 1};
    for (int i = 0; i < 6; i++) {
        choices[i] = (rlf_choice){.seconds = seconds[i % 2][i / 2]};
        calls[i] = (rlf_problem_call){.model = i % 2,
                                      .kind = (rlf_stage_kind)(i / 2),
                                      .choices = &choices[i]};
    }
    ok(rlf_hybridflow_cost(&p, together, choice) == 3 + 2 + 5 + 11 + 7 + 4,
       "d_cost: models of one set follow each other");
    ok(rlf_hybridflow_cost(&p, apart, choice) == 3 + 11 + 7,
       "d_cost: sets do not wait within a stage, stages follow each other");
    choices[4].seconds = 1;
    ok(rlf_hybridflow_cost(&p, apart, choice) == 3 + 11 + 4,
       "d_cost: the other set is then the longest of its stage");
}

/* ---- bubbles ---- */

/* Of 1F1B: (N - 1) / (N - 1 + M), with rounded figures of RLHFuse's cases. */
static void
test_bubbles(void)
{
    static const struct {
        int stages, micros;
        double is;
    } rows[] = {{8, 32, 0.179},  {8, 16, 0.304},  {8, 8, 0.467},
                {16, 64, 0.190}, {16, 32, 0.319}, {16, 16, 0.484}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlf_arena *arena = rlf_arena_new();
        rlf_pipe pipe;
        rlf_pipe_report report;
        int n = rows[i].stages, m = rows[i].micros;
        rlf_pipe_cost *cost = RLF_NEW_ARRAY(arena, rlf_pipe_cost, n);
        const rlf_pipe_cost *costs[] = {cost};
        for (int k = 0; k < n; k++)
            cost[k] = (rlf_pipe_cost){.forward = 1, .backward = 2};
        rlf_pipe_1f1b(n, m, arena, &pipe);
        rlf_pipe_time(&pipe, costs, arena, &report, NULL);
        double bubble = 1 - 3 * m / report.makespan;
        ok(agree(bubble, rows[i].is, 5e-4) &&
               agree(bubble, (n - 1.0) / (n - 1 + m), 1e-12),
           "1F1B, %d stages and %d micro-batches: a bubble of %.3f", n, m,
           bubble);
        rlf_arena_free(arena);
    }
}

/* ---- dataflow ---- */

/* Calls whose results a node reads, itself or through what is no call. */
static void
find_before(const rlf_graph *graph, const rlf_node *node, bool *call,
            bool *seen)
{
    for (int i = 0; i < node->n_inputs; i++) {
        int from = graph->values.data[node->inputs[i]].node;
        if (from < 0 || seen[from])
            continue;
        seen[from] = true;
        const rlf_node *before = &graph->nodes.data[from];
        if (rlf_place_can(before))
            call[from] = true;
        else
            find_before(graph, before, call, seen);
    }
}

static void
count_flow(const char *name, const char *body, int calls, int edges)
{
    char root[] = "/tmp/rlflow-papers-XXXXXX", path[64], rows[64];
    if (!mkdtemp(root))
        bail("cannot make a directory");
    snprintf(path, sizeof path, "%s/flow.rlf", root);
    snprintf(rows, sizeof rows, "%s/rows.jsonl", root);
    FILE *file = fopen(rows, "w");
    for (int i = 0; file && i < 8; i++)
        fputs("{\"q\": \"1 plus 2 =\"}\n", file);
    if (!file || fclose(file) != 0 || !(file = fopen(path, "w")))
        bail("cannot write %s", path);
    fprintf(file,
            "import \"std/advantage\"\n"
            "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\")\n"
            "model actor = lm(llama(layers: 2, hidden: 32, heads: 4, ffn: 48, "
            "context: 64), tokenizer: \"%s/examples/models/arith\", "
            "optimizer: adamw(lr: 1e-4))\n"
            "model critic = copy(actor, head: scalar, "
            "optimizer: adamw(lr: 1e-4))\n"
            "model judge = copy(actor, head: scalar)\n"
            "model ref = copy(actor)\n"
            "flow f(batch: prompts[8]) {\n%s}\n",
            getenv("RLFLOW_SOURCE"), body);
    fclose(file);
    rlf_session *s = rlf_session_open(path);
    if (rlf_session_check(s) != RLF_RESULT_OK)
        bail("%s: %s", name, rlf_session_message(s));
    const rlf_graph *graph = s->graph;
    int n_calls = 0, n_edges = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (!rlf_place_can(&graph->nodes.data[i]))
            continue;
        rlf_arena *arena = rlf_arena_new();
        bool *call = RLF_NEW_ARRAY(arena, bool, graph->nodes.count);
        bool *seen = RLF_NEW_ARRAY(arena, bool, graph->nodes.count);
        find_before(graph, &graph->nodes.data[i], call, seen);
        n_calls++;
        for (size_t k = 0; k < graph->nodes.count; k++)
            n_edges += call[k];
        rlf_arena_free(arena);
    }
    ok(n_calls == calls && n_edges == edges, "%s: %d calls and %d edges", name,
       n_calls, n_edges);
    rlf_session_close(s);
    unlink(path);
    unlink(rows);
    rmdir(root);
}

static void
test_flows(void)
{
    count_flow("PPO",
               "    roll = actor.generate(batch, max_new: 8)\n"
               "    r = roll.at_last(judge.score(roll))\n"
               "    kl = roll.logprob - ref.logprob(roll)\n"
               "    v = critic.value(roll)\n"
               "    a = r - 0.1 * kl - v\n"
               "    update actor minimize mean(-a * exp(actor.logprob(roll) - "
               "roll.logprob) over batch)\n"
               "    update critic minimize mean((critic.value(roll) - v - a) "
               "^ 2 over batch)\n",
               6, 11);
    count_flow("ReMax",
               "    roll = actor.generate(batch, max_new: 8)\n"
               "    best = actor.generate(batch, max_new: 8, greedy: true)\n"
               "    a = remax(roll.at_last(judge.score(roll)), "
               "judge.score(best))\n"
               "    update actor minimize mean(-a * exp(actor.logprob(roll) - "
               "roll.logprob) over batch)\n",
               5, 5);
    count_flow("GRPO",
               "    roll = actor.generate(batch, n: 2, max_new: 8)\n"
               "    r = roll.at_last(judge.score(roll))\n"
               "    kl = roll.logprob - ref.logprob(roll)\n"
               "    update actor minimize mean(-(r - 0.1 * kl) * "
               "exp(actor.logprob(roll) - roll.logprob) over batch)\n",
               4, 5);
}

int
main(void)
{
    for (int i = 0; i < WORLD; i++)
        in_order[i] = i;
    test_volumes();
    test_groups();
    test_mapping();
    test_cost();
    test_bubbles();
    test_flows();
    return done();
}
