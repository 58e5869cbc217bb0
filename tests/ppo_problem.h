/* PPO on A100 machines as a problem of the search: four Llama 2 models, six
 * calls, by a roofline.
 *
 * Settings of a known size to measure the search with; what a program's calls
 * really take is the cost model's matter. Included by one test and one
 * benchmark. */
#ifndef RLF_TESTS_PPO_PROBLEM_H
#define RLF_TESTS_PPO_PROBLEM_H

#include <math.h>

#include "engine/search/problem.h"

/* Llama 2, by its billions of parameters. */
typedef struct ppo_model {
    int size;               /* 10^9 parameters */
    int layers, hidden, kv; /* kv: width of keys and values */
} ppo_model;

static const ppo_model ppo_models[] = {
    {7, 32, 4096, 4096},
    {13, 40, 5120, 5120},
    {34, 48, 8192, 1024},
    {70, 80, 8192, 1024},
};

enum { PPO_MACHINE = 8, PPO_CALLS = 6 };

/* A100: peak and reachable part, bytes a second, seconds a layer. */
static const double ppo_flops = 312e12 * 0.55, ppo_bandwidth = 2.04e12 * 0.8;
static const double ppo_inside = 250e9, ppo_across = 20e9;
static const double ppo_layer = 6e-5, ppo_meet = 2e-5, ppo_memory = 80e9;

typedef struct ppo_problem {
    rlf_problem problem;
    rlf_problem_call calls[PPO_CALLS];
    const ppo_model *models[4]; /* actor, reference, reward, critic */
    double batch, prompt, response;
    double *memory;
} ppo_problem;

static double
ppo_parameters(const ppo_model *m)
{
    return 1e9 * m->size;
}

/* Seconds of collectives of tensor parallelism for that many tokens of a stage:
 * two all-reduces a layer and pass. */
static double
ppo_meets(const ppo_model *m, const rlf_choice *c, double tokens, double passes)
{
    if (c->tp == 1)
        return 0;
    double bytes = 2 * tokens * m->hidden * 2 * (c->tp - 1) / c->tp;
    return passes * 2 * m->layers / c->pp * (ppo_meet + bytes / ppo_inside);
}

/* All tokens once through the model, in 2 pp micro-batches if there is a
 * pipeline. `work`: 1 forward, 3 with backward. */
static double
ppo_pass(const ppo_problem *p, const ppo_model *m, const rlf_choice *c,
         double work)
{
    double micros = c->pp > 1 ? 2 * c->pp : 1;
    double tokens = p->batch * (p->prompt + p->response) / c->dp / micros;
    double flops = 2 * ppo_parameters(m) * tokens / c->pp / c->tp;
    flops += 4 * tokens * (p->prompt + p->response) / 2 * m->hidden *
             m->layers / c->pp / c->tp;
    double stage = work * flops / ppo_flops + ppo_meets(m, c, tokens, work) +
                   work * ppo_layer * m->layers / c->pp;
    double send = c->pp > 1 ? tokens * m->hidden * 2 / ppo_across : 0;
    return (stage + send) * (micros + c->pp - 1);
}

/* Bytes of keys and values of one sample on a rank. */
static double
ppo_sample(const ppo_problem *p, const ppo_model *m, const rlf_choice *c)
{
    return 4 * (p->prompt + p->response) * m->kv * m->layers / c->tp / c->pp;
}

/* Samples that a replica generates at once: all, or as many as half of the
 * memory beside the weights has room for; half, a quarter of these by the
 * variant. */
static double
ppo_seats(const ppo_problem *p, const ppo_model *m, const rlf_choice *c)
{
    double room = (ppo_memory - 2 * ppo_parameters(m) / c->tp / c->pp) / 2;
    double most = fmin(p->batch / c->dp, floor(room / ppo_sample(p, m, c)));
    return fmax(1, floor(most / (1 << c->variant)));
}

/* Prefill, then a turn for each token of the responses, as often as the seats
 * are filled; a pipeline takes the samples in pp parts. */
static double
ppo_generate(const ppo_problem *p, const ppo_model *m, const rlf_choice *c)
{
    double all = p->batch / c->dp, rows = ppo_seats(p, m, c);
    double weights = 2 * ppo_parameters(m) / c->tp / c->pp;
    double stage =
        (weights + rows / c->pp * ppo_sample(p, m, c) * 0.75) / ppo_bandwidth +
        2 * ppo_parameters(m) * rows / c->pp / c->pp / c->tp / ppo_flops +
        ppo_meets(m, c, rows / c->pp, 1) + ppo_layer * m->layers / c->pp;
    double prefill =
        2 * ppo_parameters(m) * all * p->prompt / c->pp / c->tp / ppo_flops;
    return prefill + ceil(all / rows) * p->response * stage * c->pp;
}

/* Gradients over data parallelism, then Adam. */
static double
ppo_optimizer(const ppo_model *m, const rlf_choice *c)
{
    double shard = ppo_parameters(m) / c->tp / c->pp;
    double link = c->count > PPO_MACHINE ? ppo_across : ppo_inside;
    return 2 * (c->dp - 1.0) / c->dp * 2 * shard / link +
           20 * shard / c->dp / ppo_bandwidth;
}

static void
ppo_fill(const ppo_problem *p, const rlf_problem_call *call, rlf_choice *c)
{
    const ppo_model *m = p->models[call->model];
    double shard = ppo_parameters(m) / c->tp / c->pp;
    double rows = p->batch / c->dp;
    c->kept = 2 * shard;
    c->work = 1e9;
    if (call->kind == RLF_STAGE_GENERATE) {
        c->seconds = ppo_generate(p, m, c);
        c->work += ppo_seats(p, m, c) * ppo_sample(p, m, c);
    } else if (call->kind == RLF_STAGE_READ) {
        c->seconds = ppo_pass(p, m, c, 1);
    } else {
        c->seconds = ppo_pass(p, m, c, 4) + ppo_optimizer(m, c);
        c->own = 4 * shard + 12 * shard / c->dp;
        c->work += fmin(rows, 4.0 * c->pp) * (p->prompt + p->response) *
                   m->hidden * 2 * m->layers / c->pp / c->tp;
    }
}

/* Each rank of `to` gets its shard once, over links that its machine's ranks
 * share, unless it has it. */
static double
ppo_move(void *arg, const rlf_problem_move *move)
{
    const ppo_problem *p = arg;
    const rlf_choice *from = move->from, *to = move->to;
    int model = p->calls[move->source].model;
    double shard = 2 * ppo_parameters(p->models[model]) / to->tp / to->pp;
    bool covers = from->first <= to->first &&
                  from->first + from->count >= to->first + to->count;
    if (covers && from->count <= PPO_MACHINE)
        return 0.01 + shard / ppo_inside;
    return 0.02 + shard / ppo_across;
}

static void
ppo_add(ppo_problem *p, rlf_problem_call *call, int first, int n)
{
    for (int t = 1; t <= PPO_MACHINE && t <= n; t *= 2)
        for (int d = 1; t * d <= n; d++) {
            int pp = n / t / d;
            bool fits = pp * t * d == n && pp <= 16 &&
                        (t * d <= PPO_MACHINE ? PPO_MACHINE % (t * d) == 0
                                              : t * d % PPO_MACHINE == 0) &&
                        p->batch >= 2.0 * d * pp;
            rlf_choice c = {
                .first = first, .count = n, .tp = t, .pp = pp, .dp = d};
            if (!fits)
                continue;
            if (2 * ppo_parameters(p->models[call->model]) / t / pp >
                ppo_memory / 2)
                continue;
            int variants = call->kind == RLF_STAGE_GENERATE ? 4 : 1;
            for (c.variant = 0; c.variant < variants; c.variant++) {
                c.work = c.own = 0;
                ppo_fill(p, call, &c);
                if (c.kept + c.own + c.work <= ppo_memory)
                    call->choices[call->n_choices++] = c;
            }
        }
}

/* Meshes: runs of whole machines; in the first two, aligned powers of two. The
 * choices of a mesh that others beat are left out where `pareto`. */
static void
ppo_choices(ppo_problem *p, rlf_problem_call *call, bool pareto,
            rlf_arena *arena)
{
    int machines = p->problem.devices / PPO_MACHINE;
    call->choices = RLF_NEW_ARRAY(arena, rlf_choice,
                                  64 * (28 + machines * (machines + 1) / 2));
    for (int n = 1; n < PPO_MACHINE; n *= 2)
        for (int at = 0; at < 2 * PPO_MACHINE && at < p->problem.devices;
             at += n) {
            int from = call->n_choices;
            ppo_add(p, call, at, n);
            if (pareto)
                call->n_choices =
                    from + rlf_choices_front(call->choices + from,
                                             call->n_choices - from);
        }
    for (int n = 1; n <= machines; n++)
        for (int at = 0; at + n <= machines; at++) {
            int from = call->n_choices;
            ppo_add(p, call, at * PPO_MACHINE, n * PPO_MACHINE);
            if (pareto)
                call->n_choices =
                    from + rlf_choices_front(call->choices + from,
                                             call->n_choices - from);
        }
}

/* PPO of four models of the same size (an index of ppo_models) on that many
 * devices. */
static rlf_status
ppo_make(ppo_problem *p, int size, int devices, double batch, bool pareto,
         rlf_arena *arena, rlf_err *err)
{
    static const int roll[] = {0}, scored[] = {0, 1, 2, 3};
    static const rlf_problem_call calls[PPO_CALLS] = {
        {.name = "actor.generate", .kind = RLF_STAGE_GENERATE},
        {.name = "reference.logprob",
         .model = 1,
         .kind = RLF_STAGE_READ,
         .needs = roll,
         .n_needs = 1},
        {.name = "reward.score",
         .model = 2,
         .kind = RLF_STAGE_READ,
         .needs = roll,
         .n_needs = 1},
        {.name = "critic.value",
         .model = 3,
         .kind = RLF_STAGE_READ,
         .needs = roll,
         .n_needs = 1},
        {.name = "actor.update",
         .kind = RLF_STAGE_UPDATE,
         .needs = scored,
         .n_needs = 4},
        {.name = "critic.update",
         .model = 3,
         .kind = RLF_STAGE_UPDATE,
         .needs = scored,
         .n_needs = 4},
    };
    *p = (ppo_problem){.batch = batch, .prompt = 1024, .response = 1024};
    p->problem =
        (rlf_problem){.calls = p->calls,
                      .n_calls = PPO_CALLS,
                      .devices = devices,
                      .machine = devices <= 2 * PPO_MACHINE ? PPO_MACHINE : 0,
                      .move = ppo_move,
                      .arg = p};
    p->memory = RLF_NEW_ARRAY(arena, double, devices);
    for (int i = 0; i < devices; i++)
        p->memory[i] = ppo_memory;
    p->problem.memory = p->memory;
    for (int m = 0; m < 4; m++)
        p->models[m] = &ppo_models[size];
    for (int i = 0; i < PPO_CALLS; i++) {
        p->calls[i] = calls[i];
        ppo_choices(p, &p->calls[i], pareto, arena);
    }
    return rlf_problem_close(&p->problem, arena, err);
}

#endif
