/* Simulated runs of real programs, planned in many ways, against the laws of
 * time: the same twice; without costs what a rehearsal says; on one rank the
 * sum of its calls; twice as fast in half the time; every rank is busy or idle,
 * and never two things at once; every sample is made once, wherever. */
#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "engine/order/answer.h"
#include "engine/order/rehearse.h"
#include "engine/simulate/costs.h"
#include "engine/simulate/kinds.h"
#include "engine/sched/run.h"
#include "tests/put.h"
#include "tests/tap.h"

#include <unistd.h>

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

static const struct plan {
    const char *name;
    int ranks, ahead;
    const char *rows; /* of the place block; NULL: none */
} plans[] = {
    {"one rank", 1, 0, NULL},
    {"flatten", 4, 0, NULL},
    {"streaming to other ranks", 4, 0,
     "actor on 0..1 (lanes: 4)\n critic on 2..3 (lanes: 4)\n ref on 2..3"},
    {"tensor parallel", 4, 0,
     "actor on 0..3 (tp: 2, lanes: 4, shards: 2)\n"
     " critic on 0..3 (tp: 2, lanes: 4, shards: 2)\n ref on 0..3"},
    {"stages", 4, 0,
     "actor on 0..3 (lanes: 4)\n critic on 0..3 (pp: 4, lanes: 4)\n"
     " actor.update on 0..3 (pp: 2)\n actor.generate on 0..3 (pp: 2)\n"
     " ref on 0..3 (pp: 2)"},
    {"chunks", 2, 0,
     "actor on 0..1 (lanes: 4)\n critic on 0..1 (lanes: 4)\n"
     " actor.update on 0..1 (pp: 2, schedule: \"interleaved\", chunks: 2, "
     "tokens: 200)"},
    {"migration", 4, 0,
     "actor on 0..3 (lanes: 4)\n"
     " actor.generate on 0..3 (migrate: 24, seats: 6)"},
    {"migration of pairs", 6, 0,
     "actor on 0..1 (lanes: 4, shards: 2)\n critic on 2..3 (lanes: 4)\n"
     " ref on 4..5\n actor.generate on 0..5 (tp: 2, migrate: 30, seats: 8)"},
    {"a migration that is found", 8, 0, "actor.generate on 0..7 (seats: 8)"},
    {"reallocation", 4, 0,
     "actor on 0..3 (shards: 4, lanes: 4)\n critic on 0..3 (lanes: 4)\n"
     " actor.update on 0..3 (tp: 4)\n actor.generate on 0..3"},
    {"offload", 2, 0, "ref on 0..1 (offload: true)"},
    {"one pipeline of two models", 4, 0,
     "actor on 0..3 (lanes: 4)\n critic on 0..3 (lanes: 4)\n"
     " actor.update on 0..3 (pp: 2, tokens: 200, schedule: \"fused.table\")\n"
     " critic.update on 0..3 (pp: 2, tokens: 200, schedule: \"fused.table\")"},
    {"weights apart", 2, 0,
     "actor on 0..1 (lanes: 4)\n critic on 0..1 (lanes: 4)\n"
     " actor.update on 0..1 (pp: 2, tokens: 200, schedule: \"zb-h1\")"},
    {"ahead", 1, 1, NULL},
    {"ahead, apart", 4, 1,
     "actor on 2..3 (lanes: 4)\n actor.generate on 0..1\n"
     " critic on 2..3 (lanes: 4)\n ref on 2..3"},
    {"two ahead, apart", 4, 2,
     "actor on 2..3 (lanes: 4)\n actor.generate on 0..1\n"
     " critic on 2..3 (lanes: 4)\n ref on 2..3"},
};

/* ---- a program that is planned ---- */

typedef struct planned {
    rlf_session *session;
    rlf_plan *plan;
    rlf_sizes sizes;
    rlf_arena *arena;
} planned;

static planned
open_text(const struct plan *how, const char *text)
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
open_plan(const struct plan *how)
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

/* ---- what things take ---- */

typedef struct price {
    double scale;
    uint64_t asked;
    int cores;         /* that all ranks share; 0: each has its own */
    bool known;        /* a portion need not be asked for twice.. */
    uint64_t portions; /* ..and so often one was */
} price;

static double
take_portion(void *self, const rlf_portion *p)
{
    static const double each[] = {
        [RLF_PORTION_ROWS] = 1e-5,    [RLF_PORTION_BEFORE] = 1e-5,
        [RLF_PORTION_FORWARD] = 1e-5, [RLF_PORTION_BACKWARD] = 2e-5,
        [RLF_PORTION_WEIGHTS] = 1e-5, [RLF_PORTION_FINISH] = 0};
    price *of = self;
    double tokens = (double)p->rows * (p->prompt + p->response);
    of->portions++;
    double fixed = p->kind == RLF_PORTION_FINISH ? 3e-3 : 1e-4;
    return of->scale * (fixed + each[p->kind] * tokens * (1 + p->chunk));
}

static double
take_turn(void *self, const rlf_turn *turn)
{
    const price *of = self;
    return of->scale *
           (1e-3 + 1e-5 * (turn->rows + turn->prompts * turn->prompt) +
            1e-7 * turn->rows * turn->context);
}

static double
take_message(void *self, int from, int to, double bytes)
{
    const price *of = self;
    (void)from, (void)to;
    return of->scale * (1e-5 + bytes * 1e-9);
}

static double
take_stage(void *self, const rlf_portion *p, int to)
{
    const price *of = self;
    double tokens = (double)p->rows * (p->prompt + p->response);
    (void)to;
    return of->scale * (1e-5 + tokens * 1e-7);
}

static double
take_weights(void *self, const rlf_post *post)
{
    const price *of = self;
    return of->scale * (post->from ? 5e-3 : 1e-2);
}

static double
take_handover(void *self, const rlf_node *node, int rank, uint32_t samples,
              uint64_t tokens)
{
    const price *of = self;
    (void)node, (void)rank;
    return of->scale * (1e-4 * samples + 1e-6 * (double)tokens);
}

static rlf_durations
durations(price *of)
{
    return (rlf_durations){.self = of,
                           .portion = take_portion,
                           .turn = take_turn,
                           .message = take_message,
                           .stage = take_stage,
                           .weights = take_weights,
                           .handover = take_handover,
                           .post = of->scale * 2e-6,
                           .cores = of->cores,
                           .known = of->known};
}

/* ---- what is seen ---- */

/* Posts by kind and node. */
typedef struct counts {
    int of[RLF_POST_END + 1][MOST_NODES];
} counts;

typedef struct witness {
    double until[MOST_RANKS]; /* the rank's last span ends */
    double busy[MOST_RANKS], idle[MOST_RANKS];
    double spent[MOST_RANKS][RLF_SPENTS];
    double work, last; /* seconds of cores; when the last span of all ends */
    const char *wrong;
    counts posts;
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

static void
count_post(counts *c, const rlf_control *control, const rlf_post *post)
{
    const rlf_order *order = rlf_control_order(control);
    int node = 0;
    if (post->instance >= 0)
        node = rlf_order_instance(order, post->instance)->node->id;
    c->of[post->kind][node % MOST_NODES]++;
}

static void
posted(void *self, const rlf_post *post, const rlf_control *control)
{
    count_post(&((witness *)self)->posts, control, post);
}

static rlf_length_distribution lengths = {
    .kind = RLF_LENGTHS_LOGNORMAL, .mean = 20, .sigma = 0.8};

static const rlf_workload workload = {.responses = &lengths};

static rlf_simulated
simulate(const planned *p, price *of, uint32_t steps, bool drawn,
         rlf_policy policy, witness *w)
{
    rlf_durations d = of ? durations(of) : (rlf_durations){0};
    uint32_t seats[MOST_NODES];
    for (int i = 0; i < MOST_NODES; i++)
        seats[i] = of ? SEATS : 0;
    rlf_simulate_options options = {.plan = p->plan,
                                    .sizes = &p->sizes,
                                    .durations = &d,
                                    .workload = drawn ? &workload : NULL,
                                    .seed = 7,
                                    .policy = policy,
                                    .steps = steps,
                                    .seats = seats,
                                    .self = w,
                                    .see = w ? see : NULL,
                                    .posted = w ? posted : NULL};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_simulate(&options, p->arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
    return out;
}

/* ---- laws ---- */

static const rlf_policy streams = {.piece = 4, .parts = 8, .shown = 4};

static bool
close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b) + 1e-9);
}

static bool
same_twice(const rlf_simulated *a, const rlf_simulated *b)
{
    return rlf_digest_equal(a->digest, b->digest) &&
           !memcmp(a->ends, b->ends, sizeof *a->ends * a->steps) &&
           a->posts == b->posts && a->bytes == b->bytes;
}

static bool
twice_as_fast(const rlf_simulated *a, const rlf_simulated *b)
{
    for (uint32_t i = 0; i < a->steps; i++)
        if (a->ends[i] != 2 * b->ends[i])
            return false;
    return a->posts == b->posts && a->messages == b->messages;
}

static bool
conserves(const rlf_simulated *a, const witness *w)
{
    bool good = true;
    double end = a->ends[a->steps - 1];
    for (int r = 0; r < w->plan->ranks; r++) {
        double last = end > w->until[r] ? end - w->until[r] : 0;
        double beyond = w->until[r] > end ? w->until[r] - end : 0;
        good &= close_to(w->busy[r] + w->idle[r] + last, end + beyond);
        for (int k = 0; k < RLF_SPENTS; k++)
            good &= close_to(a->spent[r][k], w->spent[r][k]);
    }
    return good;
}

/* Reports that nobody has heard yet, but the first `heard`. */
typedef struct reports {
    RLF_VEC(rlf_report) list;
    size_t heard;
} reports;

static void
answer_post(const rlf_answers *a, const rlf_control *c, const rlf_post *post,
            rlf_arena *arena, reports *out)
{
    const rlf_instance *in =
        post->instance < 0
            ? NULL
            : rlf_order_instance(rlf_control_order(c), post->instance);
    rlf_report report;
    if (post->kind == RLF_POST_OPEN) {
        report = rlf_answer_open(a, post, in->node, arena);
        RLF_PUSH(&out->list, report);
    }
    for (int r = 0; r < a->plan->ranks && post->kind == RLF_POST_END; r++) {
        report = rlf_answer_done(a, post, NULL, r);
        RLF_PUSH(&out->list, report);
    }
    for (int i = 0; i < post->n_shares; i++) {
        const rlf_share *s = &post->shares[i];
        report = rlf_answer_done(a, post, in, s->rank);
        if (in->node->class->sampled && s->rows)
            report = (rlf_report){.kind = RLF_REPORT_ROWS,
                                  .rank = s->rank,
                                  .n = post->n,
                                  .rows = s->rows,
                                  .n_rows = s->n_rows};
        if (s->reports)
            RLF_PUSH(&out->list, report);
    }
}

/* Of samples before anything else. */
static void
hear(rlf_control *c, reports *all)
{
    size_t n = all->list.count, at = all->heard;
    while (at < n && all->list.data[at].kind == RLF_REPORT_DONE)
        at++;
    at = at == n ? all->heard : at;
    if (at == n)
        bail("ranks that answer stand still");
    const rlf_report report = all->list.data[at];
    memmove(all->list.data + all->heard + 1, all->list.data + all->heard,
            (at - all->heard) * sizeof report);
    all->heard++;
    rlf_control_tell(c, &report);
}

/* With ranks that have done everything when nothing more can be posted, the
 * posts of two steps. */
static void
count_answered(const planned *p, rlf_policy policy, counts *out)
{
    const rlf_answers answers = {.plan = p->plan, .sizes = &p->sizes};
    rlf_control *c = rlf_control_new(p->plan, policy);
    reports all = {0};
    for (int step = 0; step < 2; step++) {
        rlf_control_begin(c);
        while (!rlf_control_ended(c)) {
            const rlf_post *post = rlf_control_next(c);
            if (post->kind == RLF_POST_WAIT) {
                hear(c, &all);
                continue;
            }
            count_post(out, c, post);
            answer_post(&answers, c, post, p->arena, &all);
        }
    }
    RLF_VEC_FREE(&all.list);
    rlf_control_free(c);
}

/* A step without costs has the messages, bytes and moves of weights of the one
 * that is rehearsed, the second, and two have the posts that ranks get for
 * which nothing takes time. */
static bool
is_rehearsed(const planned *p)
{
    const rlf_policy policy = {.shown = 4};
    rlf_rehearsal want;
    witness w = {.plan = p->plan};
    counts posts = {0};
    rlf_rehearse(p->plan, &p->sizes, policy.shown, p->arena, &want);
    rlf_simulated one = simulate(p, NULL, 1, false, policy, NULL);
    rlf_simulated two = simulate(p, NULL, 2, false, policy, &w);
    count_answered(p, policy, &posts);
    uint64_t messages = 0, weights = 0;
    double bytes = 0;
    for (int i = 0; i < want.count; i++) {
        messages += (uint64_t)want.list[i].messages;
        bytes += want.list[i].bytes;
    }
    for (int i = 0; i < want.n_weights; i++)
        weights += (uint64_t)want.weights[i].times;
    double sent = two.bytes - one.bytes;
    bool good = two.weights - one.weights == weights && two.ends[1] == 0 &&
                isfinite(bytes) && close_to(sent, bytes);
    good &= two.messages - one.messages == messages &&
            !memcmp(&posts, &w.posts, sizeof posts);
    if (!good)
        note("%llu messages of %g bytes and %llu of weights, but %llu of %g "
             "and %llu",
             (unsigned long long)messages, bytes, (unsigned long long)weights,
             (unsigned long long)(two.messages - one.messages), sent,
             (unsigned long long)(two.weights - one.weights));
    return good;
}

/* ---- one rank ---- */

enum {
    TURN = 16,
    READ = 1,
    FORWARD = 2,
    BACKWARD = 4,
    FINISH = 8,
    HANDOVER = 3, /* of a sample that goes to another replica, on both sides */
};

static double
count_portion(void *self, const rlf_portion *p)
{
    static const int each[] = {[RLF_PORTION_ROWS] = READ,
                               [RLF_PORTION_FORWARD] = FORWARD,
                               [RLF_PORTION_BACKWARD] = BACKWARD,
                               [RLF_PORTION_WEIGHTS] = 0};
    rlf_role role = p->node->class->role;
    (void)self;
    if (p->kind == RLF_PORTION_FINISH)
        return FINISH;
    bool asked = role == RLF_ROLE_HOOK || role == RLF_ROLE_UPDATE ||
                 (role == RLF_ROLE_METHOD &&
                  p->node->class->receiver == RLF_RECEIVER_MODEL);
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

/* A step on one rank takes what its calls take together: turns until the
 * longest sample ends, a hook and two models on each sample, and two models
 * trained on each. */
static void
test_sum(void)
{
    planned p = open_plan(&plans[0]);
    const rlf_durations d = {.portion = count_portion, .turn = count_turn};
    rlf_simulate_options options = {.plan = p.plan,
                                    .sizes = &p.sizes,
                                    .durations = &d,
                                    .policy = streams,
                                    .steps = STEPS};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    double samples = BATCH * EACH, pieces = 2, models = 2;
    if (rlf_simulate(&options, p.arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
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
    const rlf_durations d = {.portion = count_portion, .turn = count_turn};
    rlf_simulate_options options = {.plan = p->plan,
                                    .sizes = &p->sizes,
                                    .durations = &d,
                                    .policy = streams,
                                    .number = number,
                                    .steps = STEPS};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_simulate(&options, p->arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
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
        &plans[0],
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
    static const struct plan apart = {
        "models apart", 4, 0,
        "actor on 0..1 (lanes: 2)\n critic on 2..3 (lanes: 2)\n"
        " ref on 0..1\n actor.generate on 0..3"};
    planned p = open_plan(&apart);
    const rlf_durations d = {.portion = count_portion, .turn = count_turn};
    rlf_simulate_options options = {
        .plan = p.plan, .sizes = &p.sizes, .durations = &d, .steps = STEPS};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    double samples = BATCH * EACH, pieces = 2;
    if (rlf_simulate(&options, p.arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
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
    static const struct plan two = {
        "two replicas", 2, 0,
        "actor on 0..1 (lanes: 4)\n critic on 0..1 (pp: 2, lanes: 4)\n"
        " ref on 0..1"};
    planned p = open_plan(&two);
    const rlf_durations d = {.portion = count_portion, .turn = count_turn};
    double end[2];
    for (int k = 0; k < 2; k++) {
        rlf_simulate_options options = {
            .plan = p.plan, .sizes = &p.sizes, .durations = &d, .steps = 1};
        options.policy = k ? streams : (rlf_policy){0};
        rlf_simulated out;
        rlf_err err = RLF_ERR_NONE;
        if (rlf_simulate(&options, p.arena, &err, &out) != RLF_OK)
            bail("%s", err.sentence);
        end[k] = out.ends[0];
    }
    near(end[1], end[0], 1e-9,
         "replicas that end at once: what follows is not cut");
    close_plan(&p);
}

/* Responses of a node that has no rows of its own, made of data of which nobody
 * knows how many there are: 16 on each rank. */
static void
test_unknown_rows(void)
{
    const struct plan two = {"unknown rows", 2, 0, NULL};
    rlf_arena *arena = rlf_arena_new();
    planned p = open_text(
        &two,
        rlf_arena_printf(
            arena,
            "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", answer: "
            "\"q\")\n"
            "data test = jsonl(\"rows.jsonl\", prompt: \"q\", answer: \"q\")\n"
            "model actor = lm(llama(layers: 1, hidden: 32, heads: 4, ffn: 48, "
            "context: 128), tokenizer: \"%s/examples/models/arith\", "
            "optimizer: adamw(lr: 1e-4))\n"
            "flow f(batch: prompts[%d]) {\n"
            "    page = respond(test.answer)\n"
            "    report a = mean(actor.logprob(page) over batch)\n"
            "    update actor minimize mean(-actor.logprob(page) over batch)\n"
            "}\n",
            getenv("RLFLOW_SOURCE"), BATCH));
    price one = {.scale = 1};
    witness w = {.plan = p.plan};
    simulate(&p, &one, 1, false, streams, &w);
    ok(!w.wrong && w.last > 0, "sets whose rows nobody knows");
    close_plan(&p);
    rlf_arena_free(arena);
}

/* Steps whose time is worked out by hand: 48 samples of 60 turns; 24 in each
 * piece that is trained on. */
static const struct by_hand {
    struct plan plan;
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
    const rlf_durations d = {.portion = count_portion, .turn = count_turn};
    uint32_t seats[MOST_NODES];
    for (int i = 0; i < MOST_NODES; i++)
        seats[i] = by->seats;
    witness w = {.plan = p.plan};
    rlf_simulate_options options = {.plan = p.plan,
                                    .sizes = &p.sizes,
                                    .durations = &d,
                                    .policy = streams,
                                    .seats = seats,
                                    .steps = WARM + STEPS,
                                    .self = &w,
                                    .see = see};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_simulate(&options, p.arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
    double end = out.ends[WARM + STEPS - 1], busy = 0;
    near((end - out.ends[WARM - 1]) / STEPS, by->step, 1e-9, by->name);
    for (int r = 0; r < p.plan->ranks; r++)
        busy += w.busy[r] - w.spent[r][RLF_SPENT_BUBBLE];
    if (!by->plan.ahead) /* of which the first steps differ */
        near(1 - busy / p.plan->ranks / end, by->idle, 1e-9,
             "... and so many ranks are idle");
    close_plan(&p);
}

/* Generations whose samples wait for pages, on one rank. */
static double
paged_step(const planned *p, uint64_t pages, uint32_t tokens, rlf_paged *seen)
{
    const rlf_durations d = {.portion = count_portion, .turn = count_turn};
    rlf_page_room room[MOST_NODES];
    for (int i = 0; i < MOST_NODES; i++)
        room[i] = (rlf_page_room){pages, 1, tokens};
    rlf_simulate_options options = {.plan = p->plan,
                                    .sizes = &p->sizes,
                                    .durations = &d,
                                    .policy = streams,
                                    .pages = room,
                                    .steps = STEPS};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_simulate(&options, p->arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
    *seen = (rlf_paged){0};
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
    planned p = open_plan(&plans[0]);
    rlf_paged seen;
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
    static const struct plan one = {"pages", 1, 0, NULL};
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
    rlf_paged seen;
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
    static const struct plan gathers = {
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
    rlf_simulate_options options = {.plan = p.plan,
                                    .sizes = &p.sizes,
                                    .durations = &d,
                                    .workload = &two,
                                    .seed = 1,
                                    .policy = streams,
                                    .steps = 1,
                                    .self = &w,
                                    .see = see};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_simulate(&options, p.arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
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
check_counted_sum(const struct plan *how)
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
    static const struct plan apart = {
        "weights apart", 1, 0,
        "actor.update on 0 (schedule: \"zb-h1\")\n"
        " critic.update on 0 (schedule: \"zb-h1\")"};
    double one = check_counted_sum(&plans[0]);
    near(check_counted_sum(&apart) / one, 1, 1e-3,
         "one rank: weights apart take as long");
}

/* Cores that are enough change nothing; one that all ranks share gives no more
 * than its time, and is as good as its own to a rank that is alone. */
static void
test_cores(const planned *p, const struct plan *how, const rlf_simulated *own)
{
    witness w = {.plan = p->plan};
    price many = {.scale = 1, .cores = MOST_RANKS},
          one = {.scale = 1, .cores = 1};
    rlf_simulated a = simulate(p, &many, STEPS, true, streams, NULL);
    rlf_simulated b = simulate(p, &one, STEPS, true, streams, &w);
    bool same = true;
    for (uint32_t i = 0; i < STEPS; i++)
        same &= close_to(a.ends[i], own->ends[i]);
    ok(same && a.posts == own->posts, "%s: a core for each", how->name);
    bool alone = how->ranks == 1;
    double end = b.ends[STEPS - 1];
    ok(w.work <= w.last * (1 + 1e-9) && w.work > 0 &&
           (alone ? close_to(end, own->ends[STEPS - 1])
                  : end > own->ends[STEPS - 1]),
       "%s: a core for all", how->name);
}

static void
test_plan(const struct plan *how, uint64_t *tokens)
{
    planned p = open_plan(how);
    witness w = {.plan = p.plan};
    price full = {.scale = 1}, half = {.scale = 0.5};
    price once = {.scale = 1, .known = true};
    rlf_simulated a = simulate(&p, &full, STEPS, true, streams, &w);
    rlf_simulated b = simulate(&p, &once, STEPS, true, streams, NULL);
    rlf_simulated c = simulate(&p, &half, STEPS, true, streams, NULL);
    ok(same_twice(&a, &b), "%s: the same twice", how->name);
    if (how->rows && strstr(how->rows, "critic on 0..3 (pp:"))
        ok(once.portions < full.portions,
           "%s: all ranks of a replica read in one pipeline", how->name);
    ok(twice_as_fast(&a, &c), "%s: twice as fast takes half", how->name);
    test_cores(&p, how, &a);
    ok(conserves(&a, &w) && !w.wrong, "%s: busy or idle, one at a time%s%s",
       how->name, w.wrong ? ": " : "", w.wrong ? w.wrong : "");
    uint64_t steps = STEPS + (uint64_t)how->ahead;
    /* what is made ahead for the last steps may be at work */
    ok(a.samples <= steps * BATCH * EACH && a.samples >= STEPS * BATCH * EACH,
       "%s: %llu samples in %d steps", how->name, (unsigned long long)a.samples,
       STEPS);
    if (!how->ahead) {
        *tokens = *tokens ? *tokens : a.tokens;
        ok(a.tokens == *tokens, "%s: the same samples wherever they are made",
           how->name);
    }
    if (how->rows && strstr(how->rows, "migrate:"))
        ok(a.moved > 0, "%s: samples go to other replicas", how->name);
    ok(is_rehearsed(&p), "%s: without costs as it is rehearsed", how->name);
    note("%s: %g s a step, %llu posts, %llu messages, %llu samples moved",
         how->name, a.ends[STEPS - 1] / STEPS, (unsigned long long)a.posts,
         (unsigned long long)a.messages, (unsigned long long)a.moved);
    close_plan(&p);
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    uint64_t tokens = 0;
    snprintf(root, sizeof root, "/tmp/rlflow-simulate-XXXXXX");
    if (!mkdtemp(root))
        bail("cannot make a directory");
    rlf_buf rows = {0};
    for (int i = 0; i < BATCH; i++)
        rlf_buf_printf(&rows, "{\"q\": \"1 plus %d =\"}\n", i % 8);
    put(arena, "rows.jsonl", rows.p);
    rlf_buf_free(&rows);
    put(arena, "full.lua", "return function(s) return 1 end\n");
    put(arena, "fused.table", table);
    for (size_t i = 0; i < RLF_COUNT(plans); i++)
        test_plan(&plans[i], &tokens);
    test_sum();
    test_kinds();
    test_apart();
    test_at_once();
    test_unknown_rows();
    for (size_t i = 0; i < RLF_COUNT(by_hand); i++)
        test_by_hand(&by_hand[i]);
    test_migration_by_hand();
    test_waves_of_pages();
    test_pages_by_hand();
    test_counted_sum();
    rlf_arena_free(arena);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    if (system(command) != 0)
        note("%s is left", root);
    return done();
}
