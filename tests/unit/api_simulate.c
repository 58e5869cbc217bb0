/* Simulated runs of real programs, planned in many ways, against the laws of
 * time: the same twice; without costs the counted traffic; twice as fast in
 * half the time; every rank is busy or idle, and never two things at once;
 * every sample is made once, wherever; equal ranks may change places.
 * api_simulate_hand.c has steps whose
 * time is worked out by hand. */
#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "engine/order/answer.h"
#include "engine/order/traffic.h"
#include "engine/simulate/simulate_state.h"
#include "tests/unit/simulated_program.h"

static const plan_case plans[] = {
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

/* ---- what things take ---- */

typedef struct price {
    double scale;
    uint64_t asked;
    int cores;         /* cores that all ranks share; 0: each has its own */
    bool known;        /* a portion need not be asked for twice.. */
    uint64_t portions; /* ..and so often one was */
    uint64_t trained;  /* portions of these that are of an update */
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
    of->trained += p->kind == RLF_PORTION_BACKWARD;
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
take_weights(void *self, const rlf_rank_command *command)
{
    const price *of = self;
    return of->scale * (command->from ? 5e-3 : 1e-2);
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

static void
count_post(counts *c, const rlf_control *control,
           const rlf_rank_command *command)
{
    const rlf_order *order = rlf_control_order(control);
    int node = 0;
    if (command->instance >= 0)
        node = rlf_order_instance(order, command->instance)->node->id;
    c->of[command->kind][node % MOST_NODES]++;
}

static void
posted(void *self, const rlf_rank_command *command, const rlf_control *control)
{
    count_post(&((witness *)self)->commands, control, command);
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
           a->commands == b->commands && a->bytes == b->bytes;
}

static bool
twice_as_fast(const rlf_simulated *a, const rlf_simulated *b)
{
    for (uint32_t i = 0; i < a->steps; i++)
        if (a->ends[i] != 2 * b->ends[i])
            return false;
    return a->commands == b->commands && a->messages == b->messages;
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
    RLF_VEC(rlf_rank_event) list;
    size_t heard;
} reports;

static void
answer_post(const rlf_answers *a, const rlf_control *c,
            const rlf_rank_command *command, rlf_arena *arena, reports *out)
{
    const rlf_instance *in =
        command->instance < 0
            ? NULL
            : rlf_order_instance(rlf_control_order(c), command->instance);
    rlf_rank_event event;
    if (command->kind == RLF_DO_OPEN) {
        event = rlf_answer_open(a, command, in->node, arena);
        RLF_PUSH(&out->list, event);
    }
    for (int r = 0; r < a->plan->ranks && command->kind == RLF_DO_END; r++) {
        event = rlf_answer_done(a, command, NULL, r);
        RLF_PUSH(&out->list, event);
    }
    for (int i = 0; i < command->n_shares; i++) {
        const rlf_share *s = &command->shares[i];
        event = rlf_answer_done(a, command, in, s->rank);
        if (in->node->class->work == RLF_WORK_GENERATE && s->rows)
            event = (rlf_rank_event){.kind = RLF_EVENT_ROWS,
                                     .rank = s->rank,
                                     .n = command->n,
                                     .rows = s->rows,
                                     .n_rows = s->n_rows};
        if (s->reports)
            RLF_PUSH(&out->list, event);
    }
}

/* Of samples before anything else. */
static void
hear(rlf_control *c, reports *all)
{
    size_t n = all->list.count, at = all->heard;
    while (at < n && (all->list.data[at].kind == RLF_EVENT_DONE ||
                      all->list.data[at].kind == RLF_EVENT_ENDED))
        at++;
    at = at == n ? all->heard : at;
    if (at == n)
        bail("ranks that answer stand still");
    const rlf_rank_event event = all->list.data[at];
    memmove(all->list.data + all->heard + 1, all->list.data + all->heard,
            (at - all->heard) * sizeof event);
    all->heard++;
    rlf_control_tell(c, &event);
}

/* With ranks that have done everything when nothing more can be posted, the
 * commands of two steps. */
static void
count_answered(const planned *p, rlf_policy policy, counts *out)
{
    const rlf_answers answers = {.plan = p->plan, .sizes = &p->sizes};
    rlf_control *c = rlf_control_new(p->plan, policy);
    reports all = {0};
    for (int step = 0; step < 2; step++) {
        rlf_control_begin(c);
        while (!rlf_control_ended(c)) {
            const rlf_rank_command *command = rlf_control_next(c);
            if (!command) {
                hear(c, &all);
                continue;
            }
            count_post(out, c, command);
            answer_post(&answers, c, command, p->arena, &all);
        }
    }
    RLF_VEC_FREE(&all.list);
    rlf_control_free(c);
}

/* Checks that the second of two simulated steps without costs has the messages,
 * bytes and moves of weights that rlf_traffic_count counts, and that both have
 * the commands that ranks get for which nothing takes time. */
static bool
has_traffic(const planned *p)
{
    const rlf_policy policy = {.shown = 4};
    rlf_traffic want;
    witness w = {.plan = p->plan};
    counts commands = {0};
    rlf_traffic_count(p->plan, &p->sizes, policy.shown, p->arena, &want);
    rlf_simulated one = simulate(p, NULL, 1, false, policy, NULL);
    rlf_simulated two = simulate(p, NULL, 2, false, policy, &w);
    count_answered(p, policy, &commands);
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
            !memcmp(&commands, &w.commands, sizeof commands);
    if (!good)
        note("%llu messages of %g bytes and %llu of weights, but %llu of %g "
             "and %llu",
             (unsigned long long)messages, bytes, (unsigned long long)weights,
             (unsigned long long)(two.messages - one.messages), sent,
             (unsigned long long)(two.weights - one.weights));
    return good;
}

/* Responses of a node that has no rows of its own, made of data of which nobody
 * knows how many there are: 16 on each rank. */
static void
test_unknown_rows(void)
{
    const plan_case two = {"unknown rows", 2, 0, NULL};
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

/* Cores that are enough change nothing; one that all ranks share gives no more
 * than its time, and is as good as its own to a rank that is alone. */
static void
test_cores(const planned *p, const plan_case *how, const rlf_simulated *own)
{
    witness w = {.plan = p->plan};
    price many = {.scale = 1, .cores = MOST_RANKS},
          one = {.scale = 1, .cores = 1};
    rlf_simulated a = simulate(p, &many, STEPS, true, streams, NULL);
    rlf_simulated b = simulate(p, &one, STEPS, true, streams, &w);
    bool same = true;
    for (uint32_t i = 0; i < STEPS; i++)
        same &= close_to(a.ends[i], own->ends[i]);
    ok(same && a.commands == own->commands, "%s: a core for each", how->name);
    bool alone = how->ranks == 1;
    double end = b.ends[STEPS - 1];
    ok(w.work <= w.last * (1 + 1e-9) && w.work > 0 &&
           (alone ? close_to(end, own->ends[STEPS - 1])
                  : end > own->ends[STEPS - 1]),
       "%s: a core for all", how->name);
}

static void
test_plan(const plan_case *how, uint64_t *tokens)
{
    planned p = open_plan(how);
    witness w = {.plan = p.plan};
    price full = {.scale = 1}, half = {.scale = 0.5};
    price once = {.scale = 1, .known = true};
    rlf_simulated a = simulate(&p, &full, STEPS, true, streams, &w);
    rlf_simulated b = simulate(&p, &once, STEPS, true, streams, NULL);
    rlf_simulated c = simulate(&p, &half, STEPS, true, streams, NULL);
    ok(same_twice(&a, &b), "%s: the same twice", how->name);
    price fixed = {.scale = 1, .known = true}, asked = {.scale = 1};
    rlf_simulated d = simulate(&p, &fixed, STEPS, false, streams, NULL);
    rlf_simulated e = simulate(&p, &asked, STEPS, false, streams, NULL);
    ok(same_twice(&d, &e) && fixed.trained * STEPS <= asked.trained,
       "%s: of fixed lengths updates are timed once: %llu portions, not %llu",
       how->name, (unsigned long long)fixed.trained,
       (unsigned long long)asked.trained);
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
    ok(has_traffic(&p), "%s: without costs the traffic that is counted",
       how->name);
    note("%s: %g s a step, %llu commands, %llu messages, %llu samples moved",
         how->name, a.ends[STEPS - 1] / STEPS, (unsigned long long)a.commands,
         (unsigned long long)a.messages, (unsigned long long)a.moved);
    close_plan(&p);
}

/* ---- other programs ---- */

#define PROMPTS \
    "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: 20)\n"
#define JUDGE "hook judge = lua(\"full.lua\")\n"

/* Behind the actor's declaration; the data has a prompt and two answers. */
static const struct {
    const char *name, *text;
} programs[] = {
    {"GRPO",
     "model ref = copy(actor)\n" PROMPTS JUDGE "flow f(batch: prompts[24]) {\n"
     "    roll = actor.generate(batch, n: 4, max_new: 60)\n"
     "    s = judge(roll)\n"
     "    adv = s - mean(s over group)\n"
     "    base = ref.logprob(roll)\n"
     "    update actor minimize mean((base - adv) * "
     "exp(actor.logprob(roll) - roll.logprob) over batch)\n"
     "    ref := 0.9 * ref + 0.1 * actor\n"
     "}\n"},
    {"SFT", "data rows = jsonl(\"rows.jsonl\", prompt: \"q\", answer: \"q\")\n"
            "flow f(batch: rows[24]) {\n"
            "    x = respond(batch.answer)\n"
            "    update actor minimize mean(-actor.logprob(x) over batch)\n"
            "}\n"},
    {"DPO",
     "model ref = copy(actor)\n"
     "data pairs = jsonl(\"rows.jsonl\", prompt: \"q\", chosen: \"q\", "
     "rejected: \"q\")\n"
     "flow f(batch: pairs[24]) {\n"
     "    good = respond(batch.chosen)\n"
     "    bad = respond(batch.rejected)\n"
     "    base = sum(ref.logprob(good) over tokens) - "
     "sum(ref.logprob(bad) over tokens)\n"
     "    update actor minimize mean(base - sum(actor.logprob(good) over "
     "tokens) + sum(actor.logprob(bad) over tokens) over batch)\n"
     "}\n"},
    {"two critics",
     "model first = copy(actor, head: scalar, optimizer: adamw(lr: 1e-4))\n"
     "model second = copy(actor, head: scalar, optimizer: adamw(lr: "
     "1e-4))\n" PROMPTS JUDGE "flow f(batch: prompts[24]) {\n"
     "    roll = actor.generate(batch, n: 2, max_new: 60)\n"
     "    v = first.value(roll)\n"
     "    w = second.value(roll)\n"
     "    a = roll.at_last(judge(roll)) - min(v, w)\n"
     "    for mini in roll.split(parts: 2) {\n"
     "        update actor minimize mean(-a * "
     "exp(actor.logprob(mini) - mini.logprob) over batch)\n"
     "        update first minimize mean((first.value(mini) - a) ^ 2 over "
     "batch)\n"
     "        update second minimize mean((second.value(mini) - a) ^ 2 over "
     "batch)\n"
     "    }\n"
     "}\n"},
};

/* The same laws; and of one rank a step is the sum of what it does. */
static void
test_laws(const char *name, const char *program, const plan_case *how)
{
    rlf_arena *text = rlf_arena_new();
    planned p = open_text(
        how, rlf_arena_printf(
                 text,
                 "model actor = lm(llama(layers: 4, hidden: 32, heads: 4, ffn: "
                 "48, context: 128), tokenizer: \"%s/examples/models/arith\", "
                 "optimizer: adamw(lr: 1e-4))\n%s",
                 getenv("RLFLOW_SOURCE"), program));
    witness w = {.plan = p.plan};
    price full = {.scale = 1}, again = {.scale = 1}, half = {.scale = 0.5};
    rlf_simulated a = simulate(&p, &full, STEPS, true, streams, &w);
    rlf_simulated b = simulate(&p, &again, STEPS, true, streams, NULL);
    rlf_simulated c = simulate(&p, &half, STEPS, true, streams, NULL);
    ok(same_twice(&a, &b), "%s, %s: the same twice", name, how->name);
    ok(twice_as_fast(&a, &c), "%s, %s: twice as fast takes half", name,
       how->name);
    ok(conserves(&a, &w) && !w.wrong && w.last > 0,
       "%s, %s: busy or idle, one at a time", name, how->name);
    ok(has_traffic(&p), "%s, %s: without costs the traffic that is counted",
       name, how->name);
    double posts = (double)a.commands * 2e-6; /* of the controller's time */
    if (how->ranks == 1)
        ok(close_to(w.busy[0] + posts, a.ends[STEPS - 1]),
           "%s: on one rank the sum of its calls, %g s and %g s of %g s", name,
           w.busy[0], posts, a.ends[STEPS - 1]);
    close_plan(&p);
    rlf_arena_free(text);
}

static void
test_programs(void)
{
    static const plan_case cases[] = {{"one rank", 1, 0, NULL},
                                      {"three ranks", 3, 0, NULL},
                                      {"four, of stages and parts", 4, 0,
                                       "actor.update on 0..3 (tp: 2, pp: 2)"}};
    for (size_t i = 0; i < RLF_COUNT(programs); i++)
        for (size_t k = 0; k < RLF_COUNT(cases); k++)
            test_laws(programs[i].name, programs[i].text, &cases[k]);
}

/* ---- ranks that change places ---- */

enum { PLACEMENTS = 24, PLACED = 6 };

/* Returns the placement rows of calls by where[i], which is 0 (ranks 0 and 1),
 * 1 (ranks 2 and 3) or 2 to 5 (one rank), all moved by `by` ranks of four. */
static const char *
rows_of(const int *where, int by, rlf_arena *arena)
{
    static const char *const names[PLACED] = {"actor (lanes: 4)",
                                              "other (lanes: 4)",
                                              "actor.generate",
                                              "other.generate",
                                              "judge",
                                              "rank"};
    rlf_buf text = {0};
    for (int i = 0; i < PLACED; i++) {
        int first = where[i] < 2 ? 2 * where[i] : where[i] - 2;
        int from = (first + by) % 4, name = (int)strcspn(names[i], " ");
        rlf_buf_printf(&text, " %.*s on %d..%d%s\n", name, names[i], from,
                       from + (where[i] < 2), names[i] + name);
    }
    const char *rows = rlf_arena_strdup(arena, text.p);
    rlf_buf_free(&text);
    return rows;
}

static double
take_steps(const char *text, const char *rows)
{
    const plan_case how = {"two actors", 4, 0, rows};
    planned p = open_text(&how, text);
    price one = {.scale = 1};
    rlf_simulated a = simulate(&p, &one, STEPS, true, streams, NULL);
    double end = a.ends[STEPS - 1];
    close_plan(&p);
    return end;
}

/* Two models that generate, each with another that reads its samples, somewhere
 * on four ranks: the same takes as long with the two halves of the ranks in
 * each other's place. Only what is shown of the samples goes to rank 0 in both.
 */
static void
test_places(void)
{
    rlf_arena *arena = rlf_arena_new();
    const char *text = rlf_arena_printf(
        arena,
        "model actor = lm(llama(layers: 4, hidden: 32, heads: 4, ffn: 48, "
        "context: 128), tokenizer: \"%s/examples/models/arith\", optimizer: "
        "adamw(lr: 1e-4))\n"
        "model other = copy(actor, optimizer: adamw(lr: 1e-4))\n"
        "model judge = copy(actor, head: scalar)\n"
        "model rank = copy(actor, head: scalar)\n" PROMPTS
        "flow f(batch: prompts[24]) {\n"
        "    ra = actor.generate(batch, n: 2, max_new: 60)\n"
        "    sa = judge.score(ra)\n"
        "    rb = other.generate(batch, n: 2, max_new: 60)\n"
        "    sb = rank.score(rb)\n"
        "    update actor minimize -mean(sa * actor.logprob(ra) over batch)\n"
        "    update other minimize -mean(sb * other.logprob(rb) over batch)\n"
        "}\n",
        getenv("RLFLOW_SOURCE"));
    const rlf_random_key key = {.seed = 21};
    double most = 0;
    for (uint32_t i = 0; i < PLACEMENTS; i++) {
        int where[PLACED];
        for (uint32_t k = 0; k < PLACED; k++)
            where[k] = (int)rlf_draw_below(&key, i * PLACED + k, 6);
        double a = take_steps(text, rows_of(where, 0, arena));
        double b = take_steps(text, rows_of(where, 2, arena));
        double off = fabs(a - b) / fmin(a, b);
        if (off > 0.01)
            note("%g s and %g s:\n%s", a, b, rows_of(where, 0, arena));
        most = fmax(most, off);
    }
    ok(most <= 0.01,
       "equal ranks change places: steps differ by %.2g %% at "
       "most",
       100 * most);
    rlf_arena_free(arena);
}

/* Rows of a reading are read in their order, so those of one prompt share it,
 * whoever is given them in whatever order. */
static void
test_sharing(void)
{
    enum { SHARE = 4, N = 12 };
    rlf_length list[N];
    static const uint32_t some[] = {9, 1, 4, 0, 8, 2};
    for (uint32_t i = 0; i < N; i++)
        list[i] = (rlf_length){100, 50, i / SHARE};
    const sequences q = {.known = true, .list = list, .n_list = N, .n = N};
    double all = rlf_sim_each(&q, NULL, N);
    double part = rlf_sim_each(&q, some, RLF_COUNT(some));
    ok(all > 3.999 && all < 4.001, "four samples of a prompt share it: %g",
       all);
    ok(part > 1.999 && part < 2.001, "of a part as many as there are: %g",
       part);
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    uint64_t tokens = 0;
    put_files(arena);
    for (size_t i = 0; i < RLF_COUNT(plans); i++)
        test_plan(&plans[i], &tokens);
    test_programs();
    test_places();
    test_unknown_rows();
    test_sharing();
    rlf_arena_free(arena);
    return done();
}
