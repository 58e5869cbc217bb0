/* Classes with roles of their own (roles.h) are compiled, planned, run and
 * simulated, though no file of grammar/ or engine/ knows of them: a program
 * that calls them computes what one with a hook, `:=` and `break` does. */
#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "engine/simulate/simulate.h"
#include "nodes/table.h"
#include "tests/put.h"
#include "tests/unit/roles.h"

enum { BATCH = 6, EACH = 2, STEPS = 2, RANKS = 2, MOST = 64 };

static const char ours[] = "    score = roll.digits()\n"
                           "    by = actor.shrink(0.5)\n"
                           "    end = last(step, 2)\n";
static const char theirs[] = "    score = digits(roll)\n"
                             "    actor := 0.5 * actor\n"
                             "    by = 0.5\n"
                             "    end = step\n"
                             "    break if step >= 2\n";

static const char *
flow(rlf_arena *arena, const char *body)
{
    return rlf_arena_printf(
        arena,
        "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", a: \"a\", "
        "max_prompt: 20)\n"
        "model actor = lm(llama(layers: 2, hidden: 32, heads: 4, ffn: 48, "
        "context: 64), tokenizer: \"%s/examples/models/arith\")\n"
        "hook digits = lua(\"digits.lua\")\n"
        "flow f(batch: prompts[%d]) {\n"
        "%s}\n",
        getenv("RLFLOW_SOURCE"), BATCH, body);
}

static const char *
program(rlf_arena *arena, const char *what)
{
    return flow(
        arena,
        rlf_arena_printf(
            arena,
            "    roll = actor.generate(batch, n: %d, max_new: 24)\n"
            "%s"
            "    lp = mean(actor.logprob(roll) over tokens)\n"
            "    report score = mean(score over batch), by = by, end = end,\n"
            "        lp = mean(lp over batch)\n",
            EACH, what));
}

/* All of nodes/, and ours. */
static const rlf_classes *
classes(rlf_arena *arena)
{
    int n = rlf_node_classes.n_nodes;
    const rlf_node_class **list =
        RLF_NEW_ARRAY(arena, const rlf_node_class *, n + 4);
    const rlf_resource_class **resources =
        RLF_NEW_ARRAY(arena, const rlf_resource_class *, RLF_RESOURCE_KINDS);
    rlf_node_class *echo = RLF_NEW(arena, rlf_node_class);
    rlf_resource_class *hook = RLF_NEW(arena, rlf_resource_class);
    memcpy(list, rlf_node_classes.node, sizeof *list * (size_t)n);
    list[n++] = &role_digits;
    list[n++] = &role_shrink;
    list[n++] = &role_last;
    *echo = role_echo(&rlf_node_classes);
    list[n++] = echo;
    memcpy(resources, rlf_node_classes.resource,
           sizeof *resources * RLF_RESOURCE_KINDS);
    *hook = role_hook(&rlf_node_classes);
    resources[RLF_RESOURCE_HOOK] = hook;
    rlf_classes *table = RLF_NEW(arena, rlf_classes);
    *table = rlf_node_classes;
    table->node = list;
    table->n_nodes = n;
    table->resource = resources;
    return table;
}

static rlf_session *
open_session(rlf_arena *arena, const char *text, int ranks)
{
    rlf_session *s = rlf_session_open(put(arena, "f.rlf", text));
    rlf_session_set(s, "--ranks", rlf_arena_printf(arena, "%d", ranks));
    s->program.classes = classes(arena);
    return s;
}

/* ---- run ---- */

static const char *const metrics[] = {"score", "by", "end", "lp"};

typedef struct outcome {
    uint64_t steps;
    double value[STEPS][RLF_COUNT(metrics)];
} outcome;

static outcome
run(rlf_arena *arena, const char *what, int ranks)
{
    rlf_session *s = open_session(arena, program(arena, what), ranks);
    outcome r = {0};
    rlf_result told;
    while ((told = rlf_session_step(s)) == RLF_RESULT_OK && r.steps < STEPS) {
        for (size_t i = 0; i < RLF_COUNT(metrics); i++)
            r.value[r.steps][i] = rlf_session_metric(s, metrics[i]);
        r.steps++;
    }
    if (told != RLF_RESULT_END)
        note("%s", rlf_session_message(s));
    r.steps += told != RLF_RESULT_END;
    rlf_session_close(s);
    return r;
}

static void
test_run(rlf_arena *arena)
{
    outcome one = run(arena, theirs, 1);
    is_int((int64_t)one.steps, STEPS, "break ends the run after step 2");
    ok(one.value[0][0] > 0 && one.value[1][3] != one.value[0][3],
       "the samples have digits, and the model changes");
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        role_looked = 0;
        outcome is = run(arena, ours, ranks);
        ok(is.steps == STEPS, "%d: last() ends the run too", ranks);
        ok(memcmp(&is, &one, sizeof is) == 0,
           "%d: all metrics have the bits of the program without them", ranks);
        ok(role_looked == STEPS * BATCH * EACH,
           "%d: every sample was looked at once", ranks);
    }
}

/* ---- plan, and simulated time ---- */

static const rlf_node *
node_of(const rlf_graph *graph, const rlf_node_class *class)
{
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.data[i].class == class)
            return &graph->nodes.data[i];
    bail("no node of class %s", class->name);
}

/* A millisecond for each row, and for what has none. */
static double
take(void *self, const rlf_portion *portion)
{
    (void)self;
    return 1e-3 * (portion->rows > 0 ? portion->rows : 1);
}

typedef struct seen {
    double looked[RANKS]; /* seconds in digits(), as in hooks */
    double shrunk[RANKS]; /* in shrink() */
} seen;

static void
see(void *self, const rlf_span_spent *span)
{
    seen *to = self;
    if (span->node && span->node->class == &role_digits &&
        span->kind == RLF_SPENT_HOOK)
        to->looked[span->rank] += span->to - span->from;
    if (span->node && span->node->class == &role_shrink)
        to->shrunk[span->rank] += span->to - span->from;
}

static void
test_plan(rlf_arena *arena)
{
    rlf_session *s = open_session(arena, program(arena, ours), RANKS);
    if (rlf_session_plan(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    const rlf_graph *graph = s->graph;
    const rlf_node *digits = node_of(graph, &role_digits);
    const rlf_node *shrink = node_of(graph, &role_shrink);
    const rlf_node *last = node_of(graph, &role_last);
    is_int(s->plan->place[digits->id].partition, RLF_PARTITION_ROWS,
           "the rows of digits() are assigned to the ranks");
    ok(s->plan->place[shrink->id].partition == RLF_PARTITION_JOINT &&
           s->plan->place[shrink->id].layout.n_ranks == RANKS &&
           shrink->n_writes == 1 && !shrink->looking,
       "shrink() writes the model on all ranks that have it");
    ok(s->plan->place[last->id].partition == RLF_PARTITION_WHOLE &&
           !last->looking,
       "last() is everywhere, though only a metric has its value");
    rlf_sizes sizes = rlf_sizes_make(graph, &(rlf_sizes_options){0}, arena);
    rlf_durations durations = {.portion = take};
    seen to = {0};
    rlf_simulate_options options = {.plan = s->plan,
                                    .sizes = &sizes,
                                    .durations = &durations,
                                    .steps = 1,
                                    .self = &to,
                                    .see = see};
    rlf_simulated out;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_simulate(&options, arena, &err, &out) != RLF_OK)
        bail("%s", err.sentence);
    near(to.looked[0] + to.looked[1], 1e-3 * BATCH * EACH, 1e-9,
         "simulated ranks look at each sample once");
    ok(to.looked[0] > 0 && to.looked[1] > 0, "both of them");
    ok(to.shrunk[0] > 0 && to.shrunk[0] == to.shrunk[1],
       "both change the model");
    rlf_session_close(s);
}

/* ---- texts whose lengths are known before a run ---- */

static const char *
timed(rlf_arena *arena, const char *call)
{
    const char *text =
        flow(arena,
             rlf_arena_printf(
                 arena,
                 "    given = %s(batch.a, max_response: 9)\n"
                 "    lp = mean(actor.logprob(given) over tokens)\n"
                 "    report lp = mean(lp over batch), n = count(digits(given)"
                 " over batch)\n",
                 call));
    rlf_session *s = open_session(arena, text, 1);
    rlf_session_set(s, "--cluster", "a100x8:1");
    const rlf_simulation *simulated = rlf_session_simulate(s);
    if (!simulated)
        bail("%s", rlf_session_message(s));
    const char *said =
        rlf_arena_strdup(arena, rlf_session_text(s, RLF_TEXT_SIMULATION));
    rlf_session_close(s);
    return said;
}

static void
test_texts(rlf_arena *arena)
{
    const char *respond = timed(arena, "respond");
    const char *echo = timed(arena, "echo");
    ok(strstr(respond, "rows of 'prompts', as 'actor' writes them"),
       "responses are as long as the data's texts");
    is_str(echo, respond, "and so are those of a class of another name");
}

/* ---- checkpoints ---- */

static rlf_session *
open_saving(rlf_arena *arena, const char *text)
{
    rlf_session *s = open_session(arena, text, 1);
    rlf_session_set(s, "--out", in_root(arena, "run"));
    rlf_session_set(s, "--save-every", "1");
    return s;
}

/* `text` with every `was` in it written `is`, which is as long. */
static const char *
replace(rlf_arena *arena, const char *text, const char *was, const char *is)
{
    char *copy = rlf_arena_strdup(arena, text);
    for (char *at = copy; (at = strstr(at, was)); at += strlen(is))
        memcpy(at, is, strlen(is));
    return copy;
}

static void
test_saved(rlf_arena *arena)
{
    const char *text = program(arena, theirs);
    rlf_session *s = open_saving(arena, text);
    role_looked = 7;
    if (rlf_session_step(s) != RLF_RESULT_OK || rlf_session_close(s))
        bail("%s", rlf_session_message(s));
    s = open_saving(arena, text);
    rlf_session_set(s, "--resume", "1");
    if (rlf_session_ready(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    ok(role_restored == 7, "what a hook has in a checkpoint is there again");
    rlf_session_close(s);
    text = replace(arena, text, "hook digits", "hook figure");
    s = open_saving(arena,
                    replace(arena, text, "digits(roll)", "figure(roll)"));
    rlf_session_set(s, "--resume", "1");
    rlf_session_set(s, "--accept", "program");
    ok(rlf_session_ready(s) != RLF_RESULT_OK &&
           strstr(rlf_session_message(s),
                  "has nothing of 'figure', which is a hook that counts"),
       "and one of which it has nothing is refused: %s",
       rlf_session_message(s));
    rlf_session_close(s);
}

/* ---- refused ---- */

static void
refused(rlf_arena *arena, const char *body, const char *sentence)
{
    rlf_session *s = open_session(arena, flow(arena, body), 1);
    rlf_result result = rlf_session_check(s);
    const char *message = rlf_session_message(s);
    ok(result == RLF_RESULT_PROGRAM && strstr(message, sentence), "%s",
       message);
    rlf_session_close(s);
}

static void
test_refused(rlf_arena *arena)
{
    refused(arena, "    report by = actor.shrink(2)\n",
            "the factor of 'shrink' is 2, and must be from 0 to 1");
    refused(arena,
            "    collect batch(rounds: 2) {\n"
            "        roll = actor.generate(batch, max_new: 4)\n"
            "        by = actor.shrink(0.5)\n"
            "        keep roll.length > 1\n"
            "    }\n"
            "    report n = count(roll.length over batch)\n",
            "a collect holds no 'shrink': it changes more than its result");
    rlf_session *s = open_session(arena, program(arena, ours), 1);
    rlf_classes table = *s->program.classes;
    const rlf_node_class *list[MOST];
    rlf_node_class broken = role_shrink;
    memcpy(list, table.node, sizeof *list * (size_t)table.n_nodes);
    broken.writes = false;
    list[table.n_nodes - 2] = &broken;
    table.node = list;
    s->program.classes = &table;
    rlf_result result = rlf_session_check(s);
    const char *message = rlf_session_message(s);
    ok(result == RLF_RESULT_FAILED &&
           strstr(message, "changes weights and does not write its model"),
       "%s", message);
    rlf_session_close(s);
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    make_root();
    rlf_buf rows = {0};
    for (int i = 0; i < 4 * BATCH; i++)
        rlf_buf_printf(&rows, "{\"q\": \"%d plus %d =\", \"a\": \"%d\"}\n",
                       i % 8, i / 8, i % 8 + i / 8);
    put(arena, "rows.jsonl", rows.p);
    rlf_buf_free(&rows);
    put(arena, "digits.lua",
        "return function(s)\n"
        "    local _, n = s.response:gsub('[0-9]', '')\n"
        "    return n\n"
        "end\n");
    test_run(arena);
    test_plan(arena);
    test_texts(arena);
    test_saved(arena);
    test_refused(arena);
    rlf_arena_free(arena);
    return done();
}
