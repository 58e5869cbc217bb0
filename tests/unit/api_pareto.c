/* A program on a cluster as a problem of the search, against plans of it:
 * random placements are plans that can be made, on devices of one kind a call,
 * and take no more memory than the estimate counts, but for what weights go
 * through between layouts, which is much for models as small as these; where
 * all calls of a model have one layout, as much. Of ranks that are alike one
 * tells the memory of all. Lanes and shards are what the rows say, whatever is
 * placed where. */
#include "engine/api/machines/planned_device.h"
#include "engine/api/simulating/trial.h"
#include "engine/plan/rank_classes.h"
#include "engine/plan/candidate.h"
#include "engine/plan/fit.h"
#include "engine/search/estimate.h"
#include "engine/search/pareto.h"
#include "engine/search/placed.h"
#include "nodes/table.h"
#include "tests/put.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char program[] =
    "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: 20)\n"
    "model actor = lm(llama(layers: 6, hidden: 64, heads: 4, ffn: 96,\n"
    "    context: 128), tokenizer: \"%s/examples/models/arith\",\n"
    "    optimizer: adamw(lr: 1e-4))\n"
    "model critic = copy(actor, head: scalar, optimizer: adamw(lr: 1e-4))\n"
    "model ref = copy(actor)\n"
    "flow f(batch: prompts[24]) {\n"
    "    roll = actor.generate(batch, n: 2, max_new: 60)\n"
    "    kl = roll.logprob - ref.logprob(roll)\n"
    "    v = critic.value(roll)\n"
    "    a = roll.at_last(1.0) - 0.1 * kl - v\n"
    "    for mini in roll.split(parts: 2) {\n"
    "        update actor minimize mean(-a *\n"
    "            exp(actor.logprob(mini) - mini.logprob) over batch)\n"
    "        update critic minimize\n"
    "            mean((critic.value(mini) - v - a) ^ 2 over batch)\n"
    "    }\n"
    "    report score = mean(kl over batch)\n"
    "}\n";

#define GPU                                                      \
    "gpu(bf16: 3e14, f32: 2e13, memory: 8e10, bandwidth: 2e12, " \
    "launch: 6e-6)"
#define SLOW                                                     \
    "gpu(bf16: 1e14, f32: 1e13, memory: 2e10, bandwidth: 1e12, " \
    "launch: 6e-6)"
#define BOX                                                       \
    "count: 4, link: 3e11, start: 8e-6, host: 1e12, copy: 2e10, " \
    "cores: 8"

static const struct {
    const char *name, *text;
} clusters[] = {
    {"boxes", "device a = " GPU "\nmachine m = node(a, " BOX ")\n"
              "cluster c = net(m, count: 2, link: 2.5e10, start: 2e-5)\n"},
    {"mixed", "device a = " GPU "\ndevice b = " SLOW "\n"
              "machine m = node(a, " BOX ")\nmachine s = node(b, " BOX ")\n"
              "cluster c = net(m, s, link: 2.5e10, start: 2e-5)\n"},
    {"cores", "device d = cpu(f32: 1e11, memory: 1e10, bandwidth: 1e10, "
              "launch: 1e-6)\n"
              "machine m = node(d, count: 4, cores: 4, link: 1e10, "
              "start: 1e-6)\n"
              "cluster c = net(m, count: 1)\n"},
};

typedef struct world {
    rlf_arena *arena;
    rlf_session *session;
    rlf_outline *outline;
    rlf_speeds speeds;
    rlf_plan_options options;
    rlf_pareto pareto;
    const char *name;
} world;

/* `ref` has two shards, and what reads its weights where its own are runs in no
 * more parts: the update, which has its words, and the readers of the average,
 * which is summed where it is read. */
static const char bound[] =
    "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: 20)\n"
    "model actor = lm(llama(layers: 2, hidden: 64, heads: 4, ffn: 96,\n"
    "    context: 128), tokenizer: \"%s/examples/models/arith\",\n"
    "    optimizer: adamw(lr: 1e-4))\n"
    "model ref = copy(actor)\n"
    "model average = copy(actor)\n"
    "flow f(batch: prompts[24]) {\n"
    "    roll = actor.generate(batch, max_new: 60)\n"
    "    report far = mean(average.logprob(roll) over batch)\n"
    "    every 4 steps { report r = mean(ref.logprob(roll) over batch) }\n"
    "    update actor minimize mean(sum(-exp(ref.logprobs(roll)) *\n"
    "        actor.logprobs(roll) over vocab) over batch)\n"
    "    average := 0.9 * average + 0.1 * ref\n"
    "}\n"
    "place { ref on 0 (shards: 2) }\n";

static world *
open_world(const char *name, const char *cluster, const char *text)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    world *w = RLF_NEW(arena, world);
    *w = (world){.arena = arena, .name = name};
    const char *path = put(
        arena, "f.rlf", rlf_arena_printf(arena, text, getenv("RLFLOW_SOURCE")));
    w->session = rlf_session_open(path);
    rlf_session_set(w->session, "--cluster", put(arena, "c.rlf", cluster));
    if (rlf_session_plan(w->session) != RLF_RESULT_OK)
        bail("%s: %s", name, rlf_session_message(w->session));
    w->speeds = rlf_planned_speeds(w->session);
    const rlf_plan *plan = w->session->plan;
    w->options = (rlf_plan_options){.ranks = plan->ranks,
                                    .backend = plan->numerics.backend,
                                    .dtype = plan->numerics.dtype};
    if (rlf_outline_open(w->session->graph,
                         rlf_planned_kernels(w->session, arena), &err,
                         &w->outline) < 0)
        bail("%s: %s", name, err.sentence);
    const rlf_pareto_options options = {.graph = w->session->graph,
                                        .outline = w->outline,
                                        .speeds = &w->speeds,
                                        .plan = &w->options};
    if (rlf_pareto_make(&options, arena, &err, &w->pareto) < 0)
        bail("%s: %s", name, err.sentence);
    return w;
}

static void
close_world(world *w)
{
    rlf_outline_close(w->outline);
    rlf_session_close(w->session);
    rlf_arena_free(w->arena);
}

/* A device's bytes for models. */
static double
model_bytes(const world *w, const rlf_plan *plan, int rank, rlf_arena *arena)
{
    const rlf_graph *graph = plan->graph;
    rlf_err err = RLF_ERR_NONE;
    rlf_opened opened;
    rlf_memory memory = {.arena = arena};
    double bytes = 0;
    bool gpu = rlf_cluster_part_of(w->session->planning.cluster, rank)
                   ->machine->device->gpu;
    if (rlf_outline_rank(w->outline, plan, rank, arena, &err, &opened) < 0)
        bail("%s: rank %d: %s", w->name, rank, err.sentence);
    for (size_t i = 0; i < graph->resources.count; i++)
        if (graph->resources.data[i].class->model)
            rlf_node_classes.resource[RLF_RESOURCE_MODEL]->memory(
                graph, &graph->resources.data[i], opened.resource[i], &memory);
    for (size_t i = 0; i < memory.rows.count; i++)
        bytes += (double)memory.rows.data[i].device +
                 (gpu ? 0 : (double)memory.rows.data[i].host);
    return bytes;
}

/* The outcome of making a placement of the problem into a plan. */
typedef struct seen {
    bool made, one_kind, same_sums, same_digests;
    double over;  /* the largest part by which a rank takes more than counted */
    double under; /* or the fullest rank less */
    bool alike;   /* those of each kind have the fullest among them */
} seen;

static bool
sums_as_said(const world *w, const rlf_plan *plan)
{
    bool same = true;
    for (size_t i = 0; i < plan->graph->resources.count; i++) {
        const rlf_resource *r = &plan->graph->resources.data[i];
        const rlf_sums *fixed = &w->pareto.sums[i];
        if (r->class->model)
            same &= plan->sums[i].shards == fixed->shards &&
                    (!r->trained || plan->sums[i].lanes == fixed->lanes);
    }
    return same;
}

/* Bytes of the rank that needs most. */
static double
most_used(const rlf_problem *p, const rlf_placed *l)
{
    double most = 0;
    for (int i = 0; i < p->n_calls; i++)
        if (rlf_placed_begins(l, i))
            most = fmax(most, rlf_placed_used(p, l, l->at[i]->first));
    return most;
}

/* The same rows again, with what the plan of the session knows of the graph. */
static bool
same_digests(const world *w, const rlf_place_row *rows, int n,
             const rlf_plan *plan, rlf_arena *arena)
{
    rlf_plan_options options = w->options;
    rlf_plan *again;
    rlf_err err = RLF_ERR_NONE;
    options.same = w->session->plan;
    return rlf_plan_candidate(w->session->graph, rows, n, &options, arena, &err,
                              &again) >= 0 &&
           memcmp(&again->program, &plan->program, sizeof plan->program) == 0 &&
           memcmp(&again->shape, &plan->shape, sizeof plan->shape) == 0 &&
           memcmp(&again->digest, &plan->digest, sizeof plan->digest) == 0;
}

static seen
look(const world *w, const int *choice)
{
    const rlf_problem *p = &w->pareto.problem;
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    seen s = {.one_kind = true};
    rlf_plan *plan;
    int n;
    rlf_place_row *rows = rlf_pareto_rows(&w->pareto, choice, arena, &n);
    s.made = rlf_plan_candidate(w->session->graph, rows, n, &w->options, arena,
                                &err, &plan) >= 0 &&
             rlf_plan_fits(plan, &err) >= 0;
    if (!s.made) {
        note("%s", err.sentence);
        rlf_arena_free(arena);
        return s;
    }
    for (int c = 0; c < p->n_calls; c++) {
        const rlf_choice *at = &p->calls[c].choices[choice[c]];
        const int ends[] = {at->first, at->first + at->count - 1};
        const rlf_cluster *cluster = w->session->planning.cluster;
        s.one_kind &= rlf_cluster_part_of(cluster, ends[0])->machine->device ==
                      rlf_cluster_part_of(cluster, ends[1])->machine->device;
    }
    s.same_sums = sums_as_said(w, plan);
    s.same_digests = same_digests(w, rows, n, plan, arena);
    rlf_placed placed;
    rlf_placed_lay(p, choice, &placed);
    double counted = most_used(p, &placed);
    double most = 0, most_alike = 0;
    for (int r = 0; r < plan->ranks; r++)
        most = fmax(most, model_bytes(w, plan, r, arena));
    const int *kinds;
    int n_kinds =
        rlf_rank_classes(plan, rlf_outline_layers(w->outline), arena, &kinds);
    for (int i = 0; i < n_kinds; i++)
        most_alike = fmax(most_alike, model_bytes(w, plan, kinds[i], arena));
    s.alike = most_alike >= most && most_alike <= most;
    s.over = fmax(0, most / counted - 1);
    s.under = fmax(0, 1 - most / counted);
    rlf_arena_free(arena);
    return s;
}

static void
test_random(world *w, bool counted)
{
    const rlf_problem *p = &w->pareto.problem;
    int choice[RLF_SEARCH_CALLS], made = 0, kinds = 0, sums = 0, alike = 0;
    int n = quick() ? 40 : 200, digests = 0;
    double over = 0, under = 0;
    uint64_t seed = 11;
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < p->n_calls; c++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            choice[c] = (int)((seed >> 33) % (unsigned)p->calls[c].n_choices);
        }
        const seen s = look(w, choice);
        made += s.made;
        kinds += s.one_kind;
        sums += s.same_sums;
        digests += s.same_digests;
        alike += s.alike;
        over = fmax(over, s.over);
        under = fmax(under, s.under);
    }
    ok(made == n, "%s: random placements are plans", w->name);
    ok(kinds == n, "%s: ... on devices of one kind a call", w->name);
    ok(sums == n, "%s: ... with the shards and lanes fixed before", w->name);
    ok(digests == n, "%s: ... and the digests that each has alone", w->name);
    ok(alike == n, "%s: ranks that are alike tell the memory", w->name);
    if (!counted)
        return;
    ok(over < 0.1, "%s: no rank takes much more than is counted: %.2g %%",
       w->name, 100 * over);
    note("%s: the fullest rank takes up to %.0f %% less than is counted",
         w->name, 100 * under);
}

/* The largest tp of all choices of a call. */
static int
most_tp(const world *w, const char *call)
{
    const rlf_problem *p = &w->pareto.problem;
    int most = 0;
    for (int c = 0; c < p->n_calls; c++)
        for (int k = 0;
             !strcmp(p->calls[c].name, call) && k < p->calls[c].n_choices; k++)
            if (p->calls[c].choices[k].tp > most)
                most = p->calls[c].choices[k].tp;
    return most;
}

/* The least seconds of all choices of a call. */
static double
least_seconds(const world *w, const char *call)
{
    const rlf_problem *p = &w->pareto.problem;
    double least = INFINITY;
    for (int c = 0; c < p->n_calls; c++)
        for (int k = 0;
             !strcmp(p->calls[c].name, call) && k < p->calls[c].n_choices; k++)
            least = fmin(least, p->calls[c].choices[k].seconds);
    return least;
}

static void
test_bound(world *w)
{
    const char *const read[] = {"actor.update", "average.logprob"};
    for (int i = 0; i < 2; i++) {
        int most = most_tp(w, read[i]);
        ok(most == 2, "%s has no tp above two shards: %d", read[i], most);
    }
    ok(most_tp(w, "actor.generate") == 4, "which binds no other call");
    double each = least_seconds(w, "average.logprob");
    double fourth = least_seconds(w, "ref.logprob");
    ok(each > 0 && fabs(4 * fourth / each - 1) < 1e-9,
       "a call in every fourth step counts a fourth");
    test_random(w, false); /* weights that are lent are not counted */
}

/* Every call on one layout of its model, on all ranks of a kind. */
static void
test_alike(world *w)
{
    const rlf_problem *p = &w->pareto.problem;
    int tried = 0, good = 0;
    for (int k = 0; k < p->calls[0].n_choices; k++) {
        const rlf_choice *as = &p->calls[0].choices[k];
        int choice[RLF_SEARCH_CALLS], found = 0;
        for (int c = 0; c < p->n_calls; c++)
            for (int i = 0; i < p->calls[c].n_choices + p->calls[c].n_others;
                 i++) {
                const rlf_choice *at = &p->calls[c].choices[i];
                if (at->first == as->first && at->count == as->count &&
                    at->tp == as->tp && at->pp == as->pp && !at->variant) {
                    choice[c] = i;
                    found++;
                }
            }
        if (found < p->n_calls)
            continue;
        const seen s = look(w, choice);
        tried++;
        double stages =
            as->pp > 1 ? 0.25 : 0.05; /* the most of each is summed */
        good += s.made && s.over < 0.01 && s.under < stages;
        if (s.under >= stages)
            note("%s: %d ranks, tp %d, pp %d: %.0f %% less", w->name, as->count,
                 as->tp, as->pp, 100 * s.under);
    }
    ok(tried > 0 && good == tried,
       "%s: of %d placements on one layout all take what is counted", w->name,
       tried);
}

typedef struct stops {
    int looks, done, all;
    bool ordered;
} stops;

static bool
stop(void *arg, int done, int all)
{
    stops *s = arg;
    s->ordered &= done >= s->done && done < all && (!s->all || all == s->all);
    s->looks++;
    s->done = done;
    s->all = all;
    return true;
}

/* Checks that a caller who stops the measuring of layouts gets the first meshes
 * of all calls. */
static void
test_stopped(const world *w)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    stops told = {.ordered = true};
    rlf_pareto_options options = w->pareto.options;
    rlf_pareto pareto;
    options.stop = stop;
    options.arg = &told;
    bool made = rlf_pareto_make(&options, arena, &err, &pareto) >= 0,
         one = made;
    for (int c = 0; made && c < pareto.problem.n_calls; c++) {
        const rlf_problem_call *call = &pareto.problem.calls[c];
        const rlf_problem_call *all = &w->pareto.problem.calls[c];
        one &= call->n_choices > 0 && call->n_choices < all->n_choices;
        for (int k = 1; k < call->n_choices; k++)
            one &= call->choices[k].count == call->choices[0].count;
    }
    ok(one, "%s: a stop leaves one size of mesh for each call", w->name);
    ok(told.ordered && told.done > 0, "%s: ... and is told how far it is: %d",
       w->name, told.looks);
    rlf_arena_free(arena);
}

/* Are two choices the same, but for seconds that differ by less than a
 * thousandth? A reading of a model that is not trained takes some nanoseconds
 * less. */
static bool
same_choice(const rlf_choice *a, const rlf_choice *b)
{
    return a->first == b->first && a->count == b->count && a->tp == b->tp &&
           a->pp == b->pp && a->dp == b->dp && a->variant == b->variant &&
           a->kept <= b->kept && a->kept >= b->kept && a->own <= b->own &&
           a->own >= b->own && fabs(a->seconds / b->seconds - 1) < 1e-3;
}

/* With other lanes updates alone are measured again, beside a problem that has
 * what else there is: the choices are those that are found without it. */
static void
test_lanes(const world *w)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    size_t models = w->session->graph->resources.count;
    rlf_sums *sums = RLF_NEW_ARRAY(arena, rlf_sums, models);
    rlf_plan_options plan = w->options;
    rlf_pareto_options options = w->pareto.options;
    rlf_pareto alone, beside;
    int same = 0, all = 0, moved = 0;
    memcpy(sums, w->pareto.sums, models * sizeof *sums);
    for (int c = 0; c < w->pareto.problem.n_calls; c++)
        if (w->pareto.problem.calls[c].kind == RLF_STAGE_UPDATE)
            sums[w->pareto.calls[c].model].lanes *= 2;
    plan.sums = sums;
    options.plan = &plan;
    bool made = rlf_pareto_make(&options, arena, &err, &alone) >= 0;
    options.like = &w->pareto;
    made &= rlf_pareto_make(&options, arena, &err, &beside) >= 0;
    for (int c = 0; made && c < alone.problem.n_calls; c++) {
        const rlf_problem_call *a = &alone.problem.calls[c];
        const rlf_problem_call *b = &beside.problem.calls[c];
        const rlf_problem_call *was = &w->pareto.problem.calls[c];
        all += a->n_choices + a->n_others;
        moved += a->n_choices != was->n_choices;
        for (int k = 0;
             a->n_choices == b->n_choices && a->n_others == b->n_others &&
             k < a->n_choices + a->n_others;
             k++)
            same += same_choice(&a->choices[k], &b->choices[k]);
    }
    ok(same > 0 && same == all,
       "%s: with other lanes %d of %d choices are "
       "those that are measured alone",
       w->name, same, all);
    ok(moved > 0, "%s: ... and some calls have others", w->name);
    rlf_arena_free(arena);
}

/* Of many ranks few kinds: of tp, stages and replicas the first, one between
 * and the last. */
static void
test_kinds(void)
{
    static const char text[] =
        "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: 20)\n"
        "model actor = lm(llama(layers: 8, hidden: 64, heads: 4, ffn: 96,\n"
        "    context: 128), tokenizer: \"%s/examples/models/arith\")\n"
        "flow f(batch: prompts[24]) {\n"
        "    roll = actor.generate(batch, n: 2, max_new: 60)\n"
        "    report length = mean(roll.length over batch)\n"
        "}\n"
        "place {\n"
        "    actor on 0..63 (tp: 4, pp: 4)\n"
        "}\n";
    rlf_err err = RLF_ERR_NONE;
    world w = {.arena = rlf_arena_new(), .name = "kinds"};
    const char *path =
        put(w.arena, "kinds.rlf",
            rlf_arena_printf(w.arena, text, getenv("RLFLOW_SOURCE")));
    w.session = rlf_session_open(path);
    rlf_session_set(w.session, "--cluster", "a100x8:8");
    if (rlf_session_plan(w.session) != RLF_RESULT_OK ||
        rlf_outline_open(w.session->graph,
                         rlf_planned_kernels(w.session, w.arena), &err,
                         &w.outline) < 0)
        bail("kinds: %s", rlf_session_message(w.session));
    const rlf_plan *plan = w.session->plan;
    const int *kinds;
    double most = 0, most_alike = 0;
    int n =
        rlf_rank_classes(plan, rlf_outline_layers(w.outline), w.arena, &kinds);
    for (int r = 0; r < plan->ranks; r++)
        most = fmax(most, model_bytes(&w, plan, r, w.arena));
    for (int i = 0; i < n; i++)
        most_alike = fmax(most_alike, model_bytes(&w, plan, kinds[i], w.arena));
    ok(n == 27 && most_alike == most,
       "64 ranks in tp 4, pp 4, dp 4 are of 27 kinds: %d", n);
    rlf_outline_close(w.outline);
    rlf_session_close(w.session);
    rlf_arena_free(w.arena);
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    make_root();
    rlf_buf rows = {0};
    for (int i = 0; i < 24; i++)
        rlf_buf_printf(&rows, "{\"q\": \"1 plus %d =\"}\n", i % 8);
    put(arena, "rows.jsonl", rows.p);
    rlf_buf_free(&rows);
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        world *w = open_world(clusters[i].name, clusters[i].text, program);
        test_random(w, true);
        test_alike(w);
        test_stopped(w);
        test_lanes(w);
        close_world(w);
    }
    world *w = open_world("bound", clusters[2].text, bound);
    test_bound(w);
    close_world(w);
    test_kinds();
    rlf_arena_free(arena);
    return done();
}
