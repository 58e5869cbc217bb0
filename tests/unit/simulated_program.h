/* A small PPO program, planned in many ways, for tests of simulated runs; and a
 * witness who sees every span of a rank. */
#ifndef TESTS_UNIT_SIMULATED_PROGRAM_H
#define TESTS_UNIT_SIMULATED_PROGRAM_H

#include "engine/api/session.h"
#include "engine/simulate/costs.h"
#include "tests/put.h"

enum {
    MOST_RANKS = 8,
    STEPS = 3,
    BATCH = 24,
    EACH = 2,
    MOST_NEW = 60,
    MOST_NODES = 64,
    SEATS = 7,
};

/* PPO: a batch is sampled, looked at by three models and a hook, and trained on
 * in two pieces. */
static const char *
program(rlf_arena *arena, int ahead, bool kl)
{
    const char *model = "llama(layers: 4, hidden: 32, heads: 4, ffn: 48, "
                        "context: 128)";
    return rlf_arena_printf(
        arena,
        "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: 20)\n"
        "model actor = lm(%s, tokenizer: \"%s/examples/models/arith\", "
        "optimizer: adamw(lr: 1e-4))\n"
        "model critic = copy(actor, head: scalar, optimizer: adamw(lr: 1e-4))\n"
        "model ref = copy(actor)\n"
        "hook judge = lua(\"full.lua\")\n"
        "flow f(batch: prompts[%d]) {\n"
        "    roll = actor.generate(batch, n: %d, max_new: %d%s)\n"
        "    score = judge(roll)\n"
        "    kl = roll.logprob - ref.logprob(roll)\n"
        "    v = critic.value(roll)\n"
        "    a = roll.at_last(score) - 0.1 * kl - v\n"
        "    for mini in roll.split(parts: 2%s) {\n"
        "        update actor minimize mean(-a * "
        "exp(actor.logprob(mini) - mini.logprob) over batch)\n"
        "        update critic minimize "
        "mean((critic.value(mini) - v - a) ^ 2 over batch)\n"
        "    }\n"
        "    report score = mean(score over batch)%s\n"
        "}\n",
        model, getenv("RLFLOW_SOURCE"), BATCH, EACH, MOST_NEW,
        ahead ? rlf_arena_printf(arena, ", ahead: %d", ahead) : "",
        kl ? ", epochs: 2" : "", kl ? ", kl = mean(kl over batch)" : "");
}

static const char table[] = "places 2\n"
                            "model actor micros 2 path 0 1\n"
                            "model critic micros 2 path 1 0\n"
                            "place 0: actor:F0 actor:F1 critic:F0 critic:B0\n"
                            "place 0: actor:B0 critic:F1 critic:B1 actor:B1\n"
                            "place 1: critic:F0 critic:F1 actor:F0 actor:B0\n"
                            "place 1: critic:B0 actor:F1 actor:B1 critic:B1\n";

typedef struct plan_case {
    const char *name;
    int ranks, ahead;
    const char *rows; /* rows of the place block; NULL: there are none */
} plan_case;

/* The files that the program reads. */
static void
put_files(rlf_arena *arena)
{
    make_root();
    rlf_buf rows = {0};
    for (int i = 0; i < BATCH; i++)
        rlf_buf_printf(&rows, "{\"q\": \"1 plus %d =\"}\n", i % 8);
    put(arena, "rows.jsonl", rows.p);
    rlf_buf_free(&rows);
    put(arena, "full.lua", "return function(s) return 1 end\n");
    put(arena, "fused.table", table);
}

typedef struct planned {
    rlf_session *session;
    rlf_plan *plan;
    rlf_sizes sizes;
    rlf_arena *arena;
} planned;

static planned
open_text(const plan_case *how, const char *text)
{
    planned p = {.arena = rlf_arena_new()};
    if (how->rows) {
        const char *flow = strstr(text, "flow f");
        text = rlf_arena_printf(p.arena, "%.*splace {\n %s\n}\n%s",
                                (int)(flow - text), text, how->rows, flow);
    }
    p.session = rlf_session_open(put(p.arena, "f.rlf", text));
    rlf_session_set(p.session, "--ranks",
                    rlf_arena_printf(p.arena, "%d", how->ranks));
    if (rlf_session_plan(p.session) != RLF_RESULT_OK)
        bail("%s: %s", how->name, rlf_session_message(p.session));
    p.plan = p.session->plan;
    p.sizes = rlf_sizes_make(p.plan->graph, &(rlf_sizes_options){0}, p.arena);
    return p;
}

static planned
open_plan(const plan_case *how)
{
    rlf_arena *arena = rlf_arena_new();
    planned p = open_text(how, program(arena, how->ahead, how->ranks == 2));
    rlf_arena_free(arena);
    return p;
}

static void
close_plan(planned *p)
{
    rlf_session_close(p->session);
    rlf_arena_free(p->arena);
}

static const rlf_policy streams = {.piece = 4, .parts = 8, .shown = 4};

/* Posts by kind and node. */
typedef struct counts {
    int of[RLF_DO_END + 1][MOST_NODES];
} counts;

typedef struct witness {
    double until[MOST_RANKS]; /* the rank's last span ends */
    double busy[MOST_RANKS], idle[MOST_RANKS];
    double spent[MOST_RANKS][RLF_SPENTS];
    double work, last; /* seconds of cores; when the last span of all ends */
    const char *wrong;
    counts commands;
    const rlf_plan *plan;
} witness;

static void
see(void *self, const rlf_span_spent *span)
{
    witness *w = self;
    if (span->from < w->until[span->rank])
        w->wrong = "a rank does two things at once";
    if (span->to < span->from || span->bubble < -1e-12 ||
        span->bubble > span->to - span->from + 1e-12)
        w->wrong = "a span of less than nothing";
    w->idle[span->rank] += span->from - w->until[span->rank];
    w->busy[span->rank] += span->to - span->from;
    w->spent[span->rank][span->kind] += span->to - span->from - span->bubble;
    w->spent[span->rank][RLF_SPENT_BUBBLE] += span->bubble;
    w->until[span->rank] = span->to;
    w->work += span->work;
    w->last = span->to > w->last ? span->to : w->last;
}

#endif
