/* Steps on average, of plans that are simulated: what stands in an `every N
 * steps` counts 1/N, what a call takes is told of a step that has it, and a
 * plan that is clearly behind another one is given up before all its steps are
 * simulated, near to what it would have come to. */
#include "engine/api/simulating/mean_step.h"
#include "engine/api/machines/planned_device.h"
#include "engine/order/answer.h"
#include "engine/plan/candidate.h"
#include "nodes/table.h"
#include "tests/put.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* In every third step another model makes samples, too, and reads them. */
static const char program[] =
    "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: 20)\n"
    "model actor = lm(llama(layers: 2, hidden: 32, heads: 2, ffn: 48,\n"
    "    context: 128), tokenizer: \"%s/examples/models/arith\",\n"
    "    optimizer: adamw(lr: 1e-4))\n"
    "model ref = copy(actor)\n"
    "flow f(batch: prompts[8]) {\n"
    "    roll = actor.generate(batch, max_new: 40)\n"
    "    update actor minimize mean(actor.logprob(roll) over batch)\n"
    "    every 3 steps {\n"
    "        report r = mean(ref.logprob(ref.generate(batch, max_new: 40))\n"
    "            over batch)\n"
    "    }\n"
    "    every 7 steps { checkpoint }\n"
    "}\n";
static const char cluster[] =
    "device d = cpu(f32: 1e9, memory: 1e10, bandwidth: 1e10, launch: 1e-6)\n"
    "machine m = node(d, count: 4, cores: 4, link: 1e9, start: 1e-6)\n"
    "cluster c = net(m, count: 1)\n";

enum { WARM = 1, STEPS = 5, SEED = 3 };

typedef struct world {
    rlf_arena *arena;
    rlf_session *session;
    rlf_outline *outline;
    rlf_speeds speeds;
    rlf_workload workload;
} world;

static void
open_world(world *w)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_buf rows = {0};
    rlf_arena *arena = w->arena = rlf_arena_new();
    rlf_length_distribution *lengths = RLF_NEW(arena, rlf_length_distribution);
    for (int i = 0; i < 8; i++)
        rlf_buf_printf(&rows, "{\"q\": \"1 plus %d =\"}\n", i);
    put(arena, "rows.jsonl", rows.p);
    rlf_buf_free(&rows);
    w->session = rlf_session_open(
        put(arena, "f.rlf",
            rlf_arena_printf(arena, program, getenv("RLFLOW_SOURCE"))));
    rlf_session_set(w->session, "--cluster", put(arena, "c.rlf", cluster));
    if (rlf_session_plan(w->session) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(w->session));
    w->speeds = rlf_planned_speeds(w->session);
    if (rlf_outline_open(w->session->graph,
                         rlf_planned_kernels(w->session, arena), &err,
                         &w->outline) < 0 ||
        rlf_lengths_parse("lognormal:20,0.8", &err, lengths) < 0)
        bail("%s", err.sentence);
    w->workload = (rlf_workload){.responses = lengths};
}

/* All calls on the first n ranks. */
static const rlf_plan *
plan_on(const world *w, int n)
{
    const rlf_plan *own = w->session->plan;
    const rlf_plan_options options = {.ranks = own->ranks,
                                      .backend = own->numerics.backend,
                                      .dtype = own->numerics.dtype};
    const rlf_graph *graph = w->session->graph;
    static const int ranks[] = {0, 1, 2, 3};
    rlf_place_row rows[2];
    rlf_plan *plan;
    rlf_err err = RLF_ERR_NONE;
    int models = 0;
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (!graph->resources.data[i].class->model)
            continue;
        rows[models] = rlf_place_row_new((int)i, NULL);
        rows[models].ranks = ranks;
        rows[models].n_ranks = rows[models].dp = n;
        models++;
    }
    if (rlf_plan_candidate(graph, rows, models, &options, w->arena, &err,
                           &plan) < 0)
        bail("%s", err.sentence);
    return plan;
}

/* All that is asked of a plan: the mean, and the account of steps with all
 * blocks and of each kind. */
static rlf_mean_step *
mean_of(const world *w, const rlf_plan *plan, const rlf_mean_step *best,
        rlf_trial *trial)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_mean_step *mean;
    const rlf_trial_options options = {.speeds = &w->speeds,
                                       .workload = &w->workload,
                                       .seed = SEED,
                                       .warm = WARM,
                                       .steps = STEPS};
    if (rlf_trial_open(w->session, w->outline, plan, w->arena, &err, trial) <
            0 ||
        rlf_mean_step_make(trial, &options, best, w->arena, &err, &mean) < 0 ||
        rlf_trial_run(trial, &options, &err) < 0)
        bail("%s", err.sentence);
    return mean;
}

static void
test_mean(const world *w, const rlf_mean_step *mean, const rlf_trial *trial)
{
    const rlf_graph *graph = w->session->graph;
    const rlf_step_kind *of = mean->kinds, *kinds = trial->kinds;
    ok(mean->n == 2 && of[0].number == 1 && of[1].number == 3,
       "a checkpoint makes no kind of step");
    ok(trial->n_kinds == 3 && of[0].seconds == kinds[0].seconds &&
           of[1].seconds == kinds[1].seconds &&
           of[1].seconds > 1.2 * of[0].seconds,
       "steps of each kind take as long as they do for 'simulate'");
    near(mean->step, of[0].seconds + (of[1].seconds - of[0].seconds) / 3, 1e-12,
         "the block of every third step counts a third");
    double spent = mean->spent[RLF_SPENT_GENERATE];
    ok(spent > 0 && spent < trial->account.all[RLF_SPENT_GENERATE],
       "so do its calls in what the step goes to");
    int same = 0, calls = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (!rlf_place_can(node))
            continue;
        double with = trial->account.calls[i];
        calls++;
        same += with > 0 && fabs(mean->calls[i] / with - 1) < 0.05;
    }
    ok(calls == 4 && same == calls,
       "a call's own seconds are those of a step that has it");
}

static void
test_behind(const world *w, const rlf_mean_step *best)
{
    rlf_trial trial;
    const rlf_plan *slow = plan_on(w, 1);
    const rlf_mean_step *all = mean_of(w, slow, NULL, &trial);
    rlf_trial_close(&trial);
    const rlf_mean_step *some = mean_of(w, slow, best, &trial);
    rlf_trial_close(&trial);
    ok(!all->behind && all->done == 2 && all->steps == STEPS,
       "alone it is simulated to the end");
    ok(some->behind && some->done == 1 && some->steps == 1,
       "clearly behind another one it is given up after %u step of %d kind",
       some->steps, some->done);
    ok(fabs(some->step / all->step - 1) < 0.2 && some->step > 1.5 * best->step,
       "... at %.4g s, where it comes to %.4g s and the other to %.4g s",
       some->step, all->step, best->step);
    const rlf_mean_step *again = mean_of(w, w->session->plan, best, &trial);
    rlf_trial_close(&trial);
    ok(!again->behind && again->step == best->step,
       "the best itself is not given up");
    const rlf_mean_step *first = mean_of(w, w->session->plan, all, &trial);
    rlf_trial_close(&trial);
    ok(!first->behind && first->step == best->step,
       "nor is what is better than the best so far");
}

int
main(void)
{
    world w = {0};
    rlf_trial trial;
    make_root();
    open_world(&w);
    const rlf_mean_step *mean = mean_of(&w, w.session->plan, NULL, &trial);
    test_mean(&w, mean, &trial);
    rlf_trial_close(&trial);
    test_behind(&w, mean);
    rlf_outline_close(w.outline);
    rlf_session_close(w.session);
    rlf_arena_free(w.arena);
    return done();
}
