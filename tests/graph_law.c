/* The law of the graph (engine/graph/verify.c): the graph of a program that
 * compiles keeps it; damaged in one place, it is refused by the name of the
 * node and the rule. */
#include "tests/put.h"

#include "engine/base/vec.h"
#include "grammar/compile.h"
#include "nodes/table.h"

static const char program[] =
    "import \"std/loss\"\n"
    "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", answer: \"a\")\n"
    "model actor = lm(\"m\", optimizer: adamw(lr: 1e-5))\n"
    "hook judge = lua(\"j.lua\")\n"
    "flow f(batch: prompts[8]) {\n"
    "    collect batch (rounds: 2) {\n"
    "        roll = actor.generate(batch, n: 4, max_new: 8)\n"
    "        right = judge(roll)\n"
    "        keep std(right over group) > 0\n"
    "    }\n"
    "    h = entropy(actor.logprobs(roll))\n"
    "    for mini in roll.split(parts: 2) {\n"
    "        update actor {\n"
    "            q = actor.logprobs(mini)\n"
    "            report live = mean(entropy(q) over batch)\n"
    "            minimize mean(entropy(q) * h * right +\n"
    "                          actor.logprob(mini) over batch)\n"
    "        }\n"
    "    }\n"
    "}\n";

/* In `arena`; NULL, and said, if it does not compile. */
static rlf_graph *
compile(rlf_arena *arena, rlf_sources *sources, const char *path)
{
    rlf_diags diags = {.arena = arena, .sources = sources};
    rlf_err err = RLF_ERR_NONE;
    rlf_graph *graph = NULL;
    const rlf_compile_options options = {.path = path,
                                         .stdlib = getenv("RLFLOW_STDLIB"),
                                         .classes = &rlf_node_classes};
    *sources = (rlf_sources){.arena = arena};
    if (rlf_compile(&options, arena, sources, &diags, &err, &graph) >= 0)
        return graph;
    rlf_buf text = {0};
    rlf_diags_print(&diags, &text);
    bail("the program does not compile: %s%s", text.n ? text.p : "",
         err.sentence);
}

/* ---- what is done to a node ---- */

static rlf_value *
output(rlf_graph *g, const rlf_node *n)
{
    return &g->values.data[n->outputs[0]];
}

static bool
is_in_flow(const rlf_graph *g, const rlf_node *n)
{
    return g->regions.data[n->region].node < 0;
}

static bool
is_number(const rlf_graph *g, const rlf_node *n)
{
    return n->n_outputs &&
           g->values.data[n->outputs[0]].kind == RLF_VALUE_NUMBER;
}

static rlf_region *
body(const rlf_graph *g, const rlf_node *n)
{
    rlf_region *r = n->n_regions ? &g->regions.data[n->regions[0]] : NULL;
    return r && r->n_gives ? r : NULL;
}

/* The words of a node or of a loss. */
static rlf_vocab_program *
words(const rlf_node *n)
{
    return n->loss && n->loss->n_words ? n->loss->words
                                       : (rlf_vocab_program *)n->words;
}

/* An input of `n` that is no set; -1: all are. */
static int
column(const rlf_graph *g, const rlf_node *n)
{
    for (int i = 0; i < n->n_inputs; i++)
        if (g->values.data[n->inputs[i]].kind != RLF_VALUE_SET)
            return i;
    return -1;
}

/* Returns a value that a node before `n` made in a body of the flow; -1: there
 * is none. */
static int
ended(const rlf_graph *g, const rlf_node *n)
{
    for (int i = 0; i < n->id; i++)
        if (g->nodes.data[i].n_outputs && !is_in_flow(g, &g->nodes.data[i]))
            return g->nodes.data[i].outputs[0];
    return -1;
}

/* An operation takes what comes after it. */
static void
tangle(const rlf_expr *e)
{
    e->ops.data[e->ops.count - 1].arg[0] = (int)e->ops.count;
}

static void
all_ahead(rlf_graph *g)
{
    for (size_t i = 0; i < g->nodes.count; i++)
        g->nodes.data[i].ahead = true;
}

extern const rlf_node_class rlf_node_generate;
#define LOSS ((rlf_loss *)n->loss)

/* Defines a damage: a function that does `does` to node n of graph g if `can`
 * holds of it. */
#define DAMAGE(name, can, does)                 \
    static bool name(rlf_graph *g, rlf_node *n) \
    {                                           \
        (void)g, (void)n;                       \
        if (!(can))                             \
            return false;                       \
        does;                                   \
        return true;                            \
    }
// clang-format off
DAMAGE(input_below, n->n_inputs, n->inputs[0] = -1)
DAMAGE(input_above, n->n_inputs, n->inputs[0] = (int)g->values.count)
DAMAGE(output_above, n->n_outputs, n->outputs[0] = (int)g->values.count)
DAMAGE(reads_none, n->n_reads, n->reads[0] = (int)g->resources.count)
DAMAGE(writes_none, n->n_writes, n->writes[0] = -1)
DAMAGE(on_none, true, n->receiver = (int)g->resources.count)
DAMAGE(no_region, n->n_regions, n->regions[0] = (int)g->regions.count)
DAMAGE(output_of_other, n->n_outputs, output(g, n)->node++)
DAMAGE(output_elsewhere, n->n_outputs, output(g, n)->port++)
DAMAGE(no_set, n->n_outputs && output(g, n)->kind == RLF_VALUE_SET,
       output(g, n)->set = -1)
DAMAGE(no_domain, is_number(g, n), output(g, n)->domain = -1)
DAMAGE(made_of_itself, n->n_inputs && n->n_outputs,
       n->inputs[0] = n->outputs[0])
DAMAGE(made_of_what_ended, is_in_flow(g, n) && n->n_inputs && ended(g, n) >= 0,
       n->inputs[0] = ended(g, n))
DAMAGE(gives_none, body(g, n), body(g, n)->gives[0] = (int)g->values.count)
DAMAGE(gives_of_others, body(g, n), body(g, n)->gives[0] = n->outputs[0])
DAMAGE(few_args, n->class == &rlf_node_generate, n->n_args--)
DAMAGE(absent_arg, n->class == &rlf_node_generate,
       n->args[0].kind = RLF_ARG_ABSENT)
DAMAGE(no_program, n->expr, n->expr = NULL)
DAMAGE(few_inputs, n->expr && n->expr->inputs.count, n->n_inputs = 0)
DAMAGE(few_outputs, n->expr, n->n_outputs = 0)
DAMAGE(other_domain, n->expr && n->expr->inputs.count,
       n->expr->inputs.data[0].domain++)
DAMAGE(words_beyond, words(n), words(n)->set_input = n->n_inputs)
DAMAGE(words_of_column, words(n) && column(g, n) >= 0,
       words(n)->set_input = column(g, n))
DAMAGE(words_input, words(n), words(n)->input[0] = n->n_inputs)
DAMAGE(no_loss, n->loss, n->loss = NULL)
DAMAGE(no_calls, n->loss, LOSS->n_calls = 0)
DAMAGE(dead_call, n->loss, LOSS->calls[0].class = &rlf_node_generate)
DAMAGE(more_reports, n->loss, LOSS->n_reports++)
DAMAGE(ahead_in_region, !is_in_flow(g, n), n->ahead = true)
DAMAGE(ahead_of_inputs, is_in_flow(g, n) && n->n_inputs, n->ahead = true)
DAMAGE(ahead_by_nothing, true, all_ahead(g))
DAMAGE(program_tangled, n->expr, tangle(n->expr))
DAMAGE(loss_tangled, n->loss, tangle(n->loss->program))
DAMAGE(words_tangled, n->words, tangle(n->words->program))
DAMAGE(slope_tangled, words(n) && words(n)->slope, tangle(words(n)->slope))
// clang-format on

static const struct {
    const char *name;
    bool (*damage)(rlf_graph *g, rlf_node *n);
    const char *rule;
} damages[] = {
    {"an input below all values", input_below, "a value does not exist"},
    {"an input above them", input_above, "a value does not exist"},
    {"an output above them", output_above, "a value does not exist"},
    {"reading no resource", reads_none, "a resource does not exist"},
    {"writing no resource", writes_none, "a resource does not exist"},
    {"a receiver that is none", on_none, "a resource does not exist"},
    {"a body that is none", no_region, "a region does not exist"},
    {"the output of another", output_of_other,
     "an output belongs to another node"},
    {"an output of another place", output_elsewhere,
     "an output belongs to another node"},
    {"an output of no set", no_set, "an output has no set or domain"},
    {"an output on no domain", no_domain, "an output has no set or domain"},
    {"a node made of itself", made_of_itself, "an input is made after it"},
    {"a node made of what a body kept", made_of_what_ended,
     "an input's block has ended"},
    {"a body that gives nothing", gives_none,
     "its region gives what does not exist"},
    {"a body that gives what others made", gives_of_others,
     "its region gives what it did not make"},
    {"too few arguments", few_args, "it lacks arguments of its class"},
    {"a required argument left out", absent_arg,
     "a required argument is absent"},
    {"no program", no_program, "it has no program"},
    {"a program of more inputs", few_inputs,
     "its program has other inputs or outputs"},
    {"a program of more outputs", few_outputs,
     "its program has other inputs or outputs"},
    {"a program on other rows", other_domain, "an input is on another domain"},
    {"words of no input", words_beyond, "its words are of no set"},
    {"words of a column", words_of_column, "its words are of no set"},
    {"words made of no input", words_input,
     "an input of its words is none of its own"},
    {"an update without a loss", no_loss, "an update without a live call"},
    {"a loss without calls", no_calls, "an update without a live call"},
    {"a loss by what cannot learn", dead_call, "a call that cannot be live"},
    {"a report without an output", more_reports, "reports and outputs differ"},
    {"a part of a body ahead", ahead_in_region,
     "of a region one part is ahead, another not"},
    {"ahead of its inputs", ahead_of_inputs,
     "it is ahead of what it is made of"},
    {"all ahead, by no step", ahead_by_nothing, "it is ahead by nothing"},
    {"a program in no order", program_tangled, NULL},
    {"a loss in no order", loss_tangled, NULL},
    {"words in no order", words_tangled, NULL},
    {"a slope in no order", slope_tangled, NULL},
};

static void
test_damage(const char *path, size_t k)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources;
    rlf_err err = RLF_ERR_NONE;
    rlf_graph *graph = compile(arena, &sources, path);
    rlf_node *node = NULL;
    for (size_t i = 0; i < graph->nodes.count && !node; i++)
        if (damages[k].damage(graph, &graph->nodes.data[i]))
            node = &graph->nodes.data[i];
    if (!node)
        bail("%s: no node has the like", damages[k].name);
    /* programs have a law of their own, which says where they break it */
    const char *rule = rlf_arena_printf(arena, "graph: node %d (%s): %s",
                                        node->id, node->class->name,
                                        damages[k].rule ? damages[k].rule : "");
    rlf_status status = rlf_graph_verify(graph, &err);
    if (!ok(status == RLF_BUG &&
                (!damages[k].rule || !strcmp(err.sentence, rule)),
            "%s: %s", damages[k].name, err.sentence))
        note("status %d, want: %s", status, rule);
    rlf_arena_free(arena);
}

int
main(void)
{
    if (!getenv("RLFLOW_STDLIB"))
        skip_all("RLFLOW_STDLIB is not set");
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources;
    rlf_err err = RLF_ERR_NONE;
    make_root();
    rlf_buf rows = {0};
    for (int i = 0; i < 8; i++)
        rlf_buf_puts(&rows, "{\"q\": \"1+1\", \"a\": \"2\"}\n");
    put(arena, "rows.jsonl", rows.p);
    rlf_buf_free(&rows);
    const char *path = put(arena, "program.rlf", program);
    rlf_graph *graph = compile(arena, &sources, path);
    is_int(rlf_graph_verify(graph, &err), RLF_OK,
           "what compiles keeps the law");
    for (size_t k = 0; k < RLF_COUNT(damages); k++)
        test_damage(path, k);
    rlf_arena_free(arena);
    return done();
}
