/* Simulated steps of real programs whose time is worked out by hand: on one
 * rank the sum of the calls; kinds of steps; models apart; samples that wait
 * for pages; samples that migrate; seconds from counts. */
#include "engine/base/vec.h"
#include "engine/sched/run.h"
#include "engine/simulate/step_kinds.h"
#include "tests/unit/simulated_program.h"

static const plan_case one_rank = {"one rank", 1, 0, NULL};

enum {
    TURN = 16,
    READ = 1,
    FORWARD = 2,
    BACKWARD = 4,
    FINISH = 8,
    HANDOVER = 3, /* seconds in which both sides hand over a sample that goes to
                     another replica */
};

static double
count_portion(void *self, const rlf_portion *p)
{
    static const int each[] = {[RLF_PORTION_ROWS] = READ,
                               [RLF_PORTION_FORWARD] = FORWARD,
                               [RLF_PORTION_BACKWARD] = BACKWARD,
                               [RLF_PORTION_WEIGHTS] = 0};
    rlf_work_kind work = p->node->class->work;
    (void)self;
    if (p->kind == RLF_PORTION_FINISH)
        return FINISH;
    bool asked = work != RLF_WORK_NONE && work != RLF_WORK_WEIGHTS;
    return asked ? each[p->kind] * (double)p->rows : 0;
}

static double
count_turn(void *self, const rlf_turn *turn)
{
    (void)self, (void)turn;
    return TURN;
}

static double
count_handover(void *self, const rlf_node *node, int rank, uint32_t samples,
               uint64_t tokens)
{
    (void)self, (void)node, (void)rank, (void)tokens;
    return (double)HANDOVER * samples;
}

/* Simulates a plan by these options; without durations calls and turns take the
 * seconds of this file. */
static rlf_simulated
simulate(const planned *p, rlf_simulate_options options)
{
    static const rlf_durations counted = {.portion = count_portion,
                                          .turn = count_turn};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    options.plan = p->plan;
    if (!options.sizes)
        options.sizes = &p->sizes;
    if (!options.durations)
        options.durations = &counted;
    if (rlf_simulate(&options, p->arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
    return out;
}

/* A step on one rank takes what its calls take together: turns until the
 * longest sample ends, a hook and two models on each sample, and two models
 * trained on each. */
static void
test_sum(void)
{
    planned p = open_plan(&one_rank);
    double samples = BATCH * EACH, pieces = 2, models = 2;
    rlf_simulated out =
        simulate(&p, (rlf_simulate_options){.policy = streams, .steps = STEPS});
    near(out.ends[STEPS - 1] / STEPS,
         TURN * MOST_NEW + 3 * READ * samples +
             models * (samples * (FORWARD + BACKWARD) + pieces * FINISH),
         1e-9, "one rank: the sum of its calls");
    close_plan(&p);
}

/* Seconds of a step with the blocks that a step of this number has. */
static double
step_of(const planned *p, uint64_t number)
{
    rlf_simulated out =
        simulate(p, (rlf_simulate_options){
                        .policy = streams, .number = number, .steps = STEPS});
    return out.ends[STEPS - 1] / STEPS;
}

/* Behind a step, all samples are read in every second one, in every fourth, in
 * every third of the second ones, and in each by a block that no step is
 * without. Of three `if` one has its block in no late step, one has the other
 * block with two readings, and of one nobody knows, which counts as taken.
 * Late, twelve steps of a run have 12 * (1 + 2 + 1) + 6 + 3 + 2 such readings.
 */
static void
test_kinds(void)
{
    static const uint64_t numbers[] = {1, 2, 4, 6};
    static const int readings[] = {4, 5, 6, 6};
    enum { KINDS = RLF_COUNT(numbers), CYCLE = 12 };
    rlf_arena *arena = rlf_arena_new();
    const char *text = program(arena, 0, false);
    planned p = open_text(
        &one_rank,
        rlf_arena_printf(
            arena,
            "%.*s"
            "    every 1 steps { report w = mean(critic.value(roll) over "
            "batch) }\n"
            "    every 2 steps {\n"
            "        report x = mean(actor.logprob(roll) over batch)\n"
            "        every 3 steps { report y = mean(critic.value(roll) over "
            "batch) }\n"
            "    }\n"
            "    every 4 steps { report z = mean(actor.logprob(roll) over "
            "batch) }\n"
            "    if step == 1 or not (step > 3) { report p = "
            "mean(actor.logprob(roll) over batch) }\n"
            "    if step < 9 and 1 <= step { report q = "
            "mean(critic.value(roll) over batch) } else {\n"
            "        report r = mean(critic.value(roll) over batch)\n"
            "        report s = mean(actor.logprob(roll) over batch)\n"
            "    }\n"
            "    if step < mean(score over batch) { report t = "
            "mean(critic.value(roll) over batch) }\n"
            "}\n",
            (int)(strrchr(text, '}') - text), text));
    double samples = BATCH * EACH, read = READ * samples;
    double plain = TURN * MOST_NEW + 3 * read +
                   2 * (samples * (FORWARD + BACKWARD) + 2 * FINISH);
    rlf_step_kind *kinds;
    int n = rlf_step_kinds(p.plan->graph, arena, &kinds);
    ok(n == KINDS, "steps of %d kinds", n);
    for (int i = 0; i < n && n == KINDS; i++) {
        ok(kinds[i].number == numbers[i], "... one from step %d on",
           (int)numbers[i]);
        kinds[i].seconds = step_of(&p, kinds[i].number);
        near(kinds[i].seconds, plain + readings[i] * read, 1e-9,
             "... takes what its blocks do");
    }
    double mean = rlf_step_kinds_mean(kinds, n), sum = 0;
    near(mean, plain + read * (12 * 4 + 6 + 3 + 2) / CYCLE, 1e-9,
         "... on average each block its part");
    for (uint64_t number = 1; number <= CYCLE; number++)
        sum += step_of(&p, number);
    near(mean, sum / CYCLE, 1e-9, "... as the steps of a run together");
    near(step_of(&p, 0), plain + 7 * read, 1e-9,
         "a step without a number has all blocks");
    close_plan(&p);
    rlf_arena_free(arena);
}

/* Two models on ranks of their own train side by side, though one has samples
 * that the other reads, and what is reported of either is on all ranks. */
static void
test_apart(void)
{
    static const plan_case apart = {
        "models apart", 4, 0,
        "actor on 0..1 (lanes: 2)\n critic on 2..3 (lanes: 2)\n"
        " ref on 0..1\n actor.generate on 0..3"};
    planned p = open_plan(&apart);
    double samples = BATCH * EACH, pieces = 2;
    rlf_simulated out = simulate(&p, (rlf_simulate_options){.steps = STEPS});
    near(out.ends[STEPS - 1] / STEPS,
         TURN * MOST_NEW + READ * samples / 4 + READ * samples / 2 +
             samples / 2 * (FORWARD + BACKWARD) + pieces * FINISH,
         1e-9, "models apart: as long as one of them takes");
    close_plan(&p);
}

/* Replicas that end at one moment are heard together: what follows their
 * samples is not cut into pieces, of which some would wait for others. */
static void
test_at_once(void)
{
    static const plan_case two = {
        "two replicas", 2, 0,
        "actor on 0..1 (lanes: 4)\n critic on 0..1 (pp: 2, lanes: 4)\n"
        " ref on 0..1"};
    planned p = open_plan(&two);
    double end[2];
    for (int k = 0; k < 2; k++) {
        rlf_simulated out = simulate(
            &p, (rlf_simulate_options){
                    .steps = 1, .policy = k ? streams : (rlf_policy){0}});
        end[k] = out.ends[0];
    }
    near(end[1], end[0], 1e-9,
         "replicas that end at once: what follows is not cut");
    close_plan(&p);
}

/* Steps whose time is worked out by hand: 48 samples of 60 turns; 24 in each
 * piece that is trained on. */
static const struct by_hand {
    plan_case plan;
    uint32_t seats;
    double step, idle; /* part of all ranks' time */
    const char *name;
} by_hand[] = {
    /* Four waves of six samples a replica; what follows three of them, 6 rows
     * of three calls on each of the other ranks, is done beside the next wave.
     * That of the last one comes behind, but the hook is on all ranks then,
     * with 3 rows each. Then the models train side by side. */
    {{"streams", 4, 0,
      "actor on 0..1 (lanes: 2)\n critic on 2..3 (lanes: 2)\n ref on 2..3"},
     6,
     4 * TURN *MOST_NEW + 15 + 2 * (12 * (FORWARD + BACKWARD) + FINISH),
     (2 * 12. + 2 * (4 * TURN * MOST_NEW - 3 * 18)) /
         (4 * (4 * TURN * MOST_NEW + 15 +
               2 * (12 * (FORWARD + BACKWARD) + FINISH))),
     "what streams behind samples costs its last piece"},
    /* Samples of the next step are made meanwhile, which takes longer: 24 rows
     * of three calls and two models to train, on each of two ranks. */
    {{"ahead", 4, 1,
      "actor on 2..3 (lanes: 2)\n actor.generate on 0..1\n"
      " critic on 2..3 (lanes: 2)\n ref on 2..3"},
     0,
     TURN *MOST_NEW,
     0.5 - (24 * 3 + 4 * (12 * (FORWARD + BACKWARD) + FINISH)) /
               (2. * TURN * MOST_NEW),
     "with one step ahead the longer half of a step is all of it"},
    /* Two micro-batches of six rows a replica and model: 12 times the forward
     * pass of one, by the table below, of which either place is idle for none;
     * then both models' ends. Before, 12 rows of three calls on each rank. */
    {{"fused", 4, 0,
      "actor on 0..3 (lanes: 4)\n critic on 0..3 (lanes: 4)\n"
      " actor.update on 0..3 (pp: 2, tokens: 480, schedule: \"fused.table\")\n"
      " critic.update on 0..3 (pp: 2, tokens: 480, schedule: "
      "\"fused.table\")"},
     0,
     TURN *MOST_NEW + 12 * 3 + 2 * (12 * 6 * FORWARD + 2 * FINISH),
     0,
     "a fused table takes what its critical path does"},
};

static void
test_by_hand(const struct by_hand *by)
{
    enum { WARM = 2 };
    planned p = open_plan(&by->plan);
    uint32_t seats[MOST_NODES];
    for (int i = 0; i < MOST_NODES; i++)
        seats[i] = by->seats;
    witness w = {.plan = p.plan};
    rlf_simulated out =
        simulate(&p, (rlf_simulate_options){.policy = streams,
                                            .seats = seats,
                                            .steps = WARM + STEPS,
                                            .self = &w,
                                            .see = see});
    double end = out.ends[WARM + STEPS - 1], busy = 0;
    near((end - out.ends[WARM - 1]) / STEPS, by->step, 1e-9, by->name);
    for (int r = 0; r < p.plan->ranks; r++)
        busy += w.busy[r] - w.spent[r][RLF_SPENT_BUBBLE];
    if (!by->plan.ahead) /* of which the first steps differ */
        near(1 - busy / p.plan->ranks / end, by->idle, 1e-9,
             "... and so many ranks are idle");
    close_plan(&p);
}

/* Checks that a model whose update has several chunks a stage is read in the
 * same stages through all of its chunks: 48 rows each, beside 24 rows of
 * another model on each rank. The only other difference is the time of a chunk:
 * here each takes as long, however many layers it has. */
static void
test_chunks(void)
{
    static const struct {
        const char *words;
        int chunks;
    } cases[] = {{"", 1},
                 {", schedule: \"zb-h1\"", 1},
                 {", schedule: \"interleaved\", chunks: 2", 2},
                 {", schedule: \"zb-v\"", 2}};
    for (size_t k = 0; k < RLF_COUNT(cases); k++) {
        char rows[256];
        snprintf(rows, sizeof rows,
                 "actor on 0..1 (lanes: 4)\n critic on 0..1 (pp: 2, lanes: 4)\n"
                 " critic.update on 0..1 (pp: 2%s)\n ref on 0..1",
                 cases[k].words);
        const plan_case of = {"chunks that are read", 2, 0, rows};
        planned p = open_plan(&of);
        witness w = {.plan = p.plan};
        double samples = BATCH * EACH;
        simulate(
            &p, (rlf_simulate_options){.steps = STEPS, .self = &w, .see = see});
        for (int r = 0; r < 2; r++)
            near(w.spent[r][RLF_SPENT_READ] / STEPS,
                 READ * samples / 2 + FORWARD * samples * cases[k].chunks, 1e-9,
                 "a reading goes through all chunks of a stage");
        close_plan(&p);
    }
}

/* Generations whose samples wait for pages, on one rank. */
static double
paged_step(const planned *p, uint64_t pages, uint32_t tokens,
           rlf_page_waits *seen)
{
    rlf_page_room room[MOST_NODES];
    for (int i = 0; i < MOST_NODES; i++)
        room[i] = (rlf_page_room){pages, 1, tokens};
    rlf_simulated out =
        simulate(p, (rlf_simulate_options){
                        .policy = streams, .pages = room, .steps = STEPS});
    *seen = (rlf_page_waits){0};
    for (size_t i = 0; i < p->plan->graph->nodes.count; i++)
        if (out.paged[i].waiting)
            *seen = out.paged[i];
    return out.ends[STEPS - 1] / STEPS;
}

/* 48 samples of 20 and 60 tokens, each in one page: half of them at once take
 * two waves, a third three, and one fewer than all two as well. */
static void
test_waves_of_pages(void)
{
    enum { ALL = BATCH * EACH };
    static const struct {
        uint64_t pages;
        int waves;
        double at_once; /* while others wait */
    } cases[] = {{ALL, 1, 0},
                 {ALL + 100, 1, 0},
                 {ALL / 2, 2, ALL / 2},
                 {ALL / 3, 3, ALL / 3},
                 {ALL - 1, 2, ALL - 1}};
    planned p = open_plan(&one_rank);
    rlf_page_waits seen;
    double free = paged_step(&p, 1, 0, &seen);
    for (size_t k = 0; k < RLF_COUNT(cases); k++) {
        double step = paged_step(&p, cases[k].pages, 128, &seen);
        near(step - free, (cases[k].waves - 1) * TURN * MOST_NEW, 1e-9,
             "samples wait for pages in waves");
        near(seen.turns ? seen.rows / seen.turns : 0, cases[k].at_once, 1e-9,
             "... so many are made at once");
    }
    close_plan(&p);
}

/* Two samples of one prompt of 20 tokens share its first page of 16: with 7
 * pages both are made for 45 turns, until the 65th token of each would need a
 * fifth page. The second waits for the first, then it makes its last 15. */
static void
test_pages_by_hand(void)
{
    static const plan_case one = {"pages", 1, 0, NULL};
    rlf_arena *arena = rlf_arena_new();
    planned p = open_text(
        &one, rlf_arena_printf(
                  arena,
                  "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", "
                  "max_prompt: 20)\n"
                  "model actor = lm(llama(layers: 1, hidden: 32, heads: 4, "
                  "ffn: 48, context: 128), tokenizer: "
                  "\"%s/examples/models/arith\")\n"
                  "flow f(batch: prompts[1]) {\n"
                  "    roll = actor.generate(batch, n: 2, max_new: %d)\n"
                  "    report l = mean(roll.logprob over batch)\n"
                  "}\n",
                  getenv("RLFLOW_SOURCE"), MOST_NEW));
    rlf_page_waits seen;
    double free = paged_step(&p, 1, 0, &seen);
    near(paged_step(&p, 7, 16, &seen) - free, TURN * 15, 1e-9,
         "the last sample gives up its pages, and is computed again");
    near(seen.turns, STEPS * 15, 1e-9, "... so many turns it waits");
    near(paged_step(&p, 9, 16, &seen) - free, 0, 1e-9,
         "... with pages for both it does not");
    close_plan(&p);
    rlf_arena_free(arena);
}

/* Of each replica's 12 samples so many have 60 tokens with this seed, and the
 * others 20: 1, 2, 3 and 2. Behind 20 turns 8 are left, fewer than 12, for
 * which two replicas have seats: ranks 1 and 2 go on with four each. One sample
 * goes from rank 0 to 2, two from 3 to 1. Ranks 0 and 3 do meanwhile what
 * follows the 40 that are complete: 20 rows of the hook each, both models on
 * rank 3 alone. For the last 8 the hook is on all ranks, the models are on
 * ranks 2 and 3, which then train them: two pieces of 12 rows each. */
static void
test_migration_by_hand(void)
{
    enum {
        SHORT = 20,
        WHOLE = 60,
        LEFT = 8,
        TRAIN = 2 * 2 * (12 * (FORWARD + BACKWARD) + FINISH),
        LAST = 2 * READ + 2 * 4 * READ + TRAIN, /* behind the last sample */
        STEP = WHOLE * TURN + 2 * HANDOVER + LAST,
    };
    static const double busy[] = {
        SHORT * TURN + HANDOVER + 20 * READ + 2 * READ,
        WHOLE * TURN + 2 * HANDOVER + 2 * READ,
        WHOLE * TURN + HANDOVER + LAST,
        SHORT * TURN + 2 * HANDOVER + (20 + 2 * 40) * READ + LAST,
    };
    static const plan_case gathers = {
        "gathered", 4, 0,
        "actor on 2..3 (lanes: 2)\n critic on 2..3 (lanes: 2)\n"
        " ref on 2..3\n actor.generate on 0..3 (migrate: 12, seats: 4)"};
    uint32_t list[] = {SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, WHOLE};
    planned p = open_plan(&gathers);
    const rlf_length_distribution drawn =
        rlf_lengths_of_list(list, RLF_COUNT(list), p.arena);
    const rlf_workload two = {.responses = &drawn};
    const rlf_durations d = {.portion = count_portion,
                             .turn = count_turn,
                             .handover = count_handover};
    witness w = {.plan = p.plan};
    rlf_simulated out = simulate(&p, (rlf_simulate_options){.durations = &d,
                                                            .workload = &two,
                                                            .seed = 1,
                                                            .policy = streams,
                                                            .steps = 1,
                                                            .self = &w,
                                                            .see = see});
    near((double)out.tokens,
         (BATCH * EACH - LEFT) * SHORT + (double)LEFT * WHOLE, 0,
         "samples that migrate have their lengths");
    near((double)out.moved, 3, 0, "... so many go to other replicas");
    near(out.ends[0], STEP, 0, "... the step takes as long as by hand");
    for (int r = 0; r < p.plan->ranks; r++)
        near(w.busy[r], busy[r], 0, "... and each rank is at work as long");
    close_plan(&p);
}

/* The same with seconds from counts: those of all that a step computes at the
 * caps, counted node by node, and not in pieces. */
static double
check_counted_sum(const plan_case *how)
{
    planned p = open_plan(how);
    rlf_err err = RLF_ERR_NONE;
    rlf_cluster *cluster;
    rlf_costs *costs;
    rlf_simulated out;
    double want = 0;
    if (rlf_session_ready(p.session) != RLF_RESULT_OK ||
        rlf_cluster_preset("a100x8", 1, p.arena, &err, &cluster) < 0)
        bail("%s %s", rlf_session_message(p.session), err.sentence);
    rlf_opened opened = rlf_run_opened(p.session->run);
    rlf_sizes sizes = rlf_opened_sizes(&opened, p.arena);
    rlf_speeds speeds = rlf_speeds_of(cluster, false);
    for (size_t i = 0; i < p.plan->graph->nodes.count; i++) {
        rlf_cost cost = rlf_opened_cost(&opened, &sizes, (int)i);
        rlf_seconds seconds;
        cost.host = 0; /* of pieces not counted */
        rlf_seconds_of(&speeds, &cost, &p.plan->place[i].layout, 0, 0,
                       &seconds);
        want += seconds.total;
    }
    const rlf_costs_options counted = {
        .ranks = &opened, .sizes = &sizes, .speeds = &speeds, .real = 4};
    if (rlf_costs_new(&counted, p.arena, &err, &costs) < 0)
        bail("%s", err.sentence);
    rlf_durations d = rlf_costs_durations(costs);
    d.post = 0;
    rlf_simulate_options options = {.plan = p.plan,
                                    .sizes = &sizes,
                                    .durations = &d,
                                    .seats = rlf_costs_seats(costs),
                                    .policy = streams,
                                    .steps = 1};
    if (rlf_simulate(&options, p.arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
    ok(fabs(out.ends[0] / want - 1) < 0.05, "%s: as its nodes are counted",
       how->name);
    double end = out.ends[0]; /* in the arena of the plan */
    note("%g s, counted %g s", end, want);
    close_plan(&p);
    return end;
}

/* Weights apart from backward take as long as in it. */
static void
test_counted_sum(void)
{
    static const plan_case apart = {
        "weights apart", 1, 0,
        "actor.update on 0 (schedule: \"zb-h1\")\n"
        " critic.update on 0 (schedule: \"zb-h1\")"};
    double one = check_counted_sum(&one_rank);
    near(check_counted_sum(&apart) / one, 1, 1e-3,
         "one rank: weights apart take as long");
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    put_files(arena);
    test_sum();
    test_kinds();
    test_apart();
    test_at_once();
    for (size_t i = 0; i < RLF_COUNT(by_hand); i++)
        test_by_hand(&by_hand[i]);
    test_chunks();
    test_migration_by_hand();
    test_waves_of_pages();
    test_pages_by_hand();
    test_counted_sum();
    rlf_arena_free(arena);
    return done();
}
