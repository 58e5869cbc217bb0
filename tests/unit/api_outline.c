/* Outlines (engine/plan/outline.h): what they say of each rank is what a run on
 * as many ranks finds when it has opened everything, and, of how often ranks
 * meet and what they send, what such a run does. Pieces of a node's work
 * (engine/graph/class.h) add up to the whole and grow with rows and lengths. */
#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "engine/text/tokenizer.h"
#include "engine/layout/lanes.h"
#include "engine/order/rehearse.h"
#include "engine/plan/candidate.h"
#include "engine/plan/outline.h"
#include "nodes/table.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 16, EACH = 2, NEW = 6, MOST_RANKS = 4 };

static char root[64];

static const char *
put(rlf_arena *arena, const char *name, const char *text)
{
    const char *path = rlf_arena_printf(arena, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bail("cannot write %s", path);
    return path;
}

/* So many tokens has each prompt, with what begins a text. */
static int
prompt_length(void)
{
    static const char text[] = "1 plus 2 =";
    char path[512];
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *tokenizer;
    rlf_ids ids = {0};
    snprintf(path, sizeof path, "%s/examples/models/arith",
             getenv("RLFLOW_SOURCE"));
    if (rlf_tokenizer_open(path, &err, &tokenizer) < 0 ||
        rlf_tokenizer_encode(tokenizer, text, strlen(text), RLF_ENCODE_SPECIAL,
                             &err, &ids) < 0)
        bail("%s", err.sentence);
    int n = (int)ids.count;
    RLF_VEC_FREE(&ids);
    rlf_tokenizer_close(tokenizer);
    return n;
}

/* MODEL: what the actor is made from. LENGTH: of responses. WORDS: its loss has
 * a sum over words, with a second model's. */
static rlf_session *
open_program(rlf_arena *arena, const char *model, int length, bool words,
             const char *place)
{
    const char *path = put(
        arena, "program.rlf",
        rlf_arena_printf(
            arena,
            "data prompts = jsonl(\"rows.jsonl\", prompt: \"question\", "
            "answer: \"answer\", max_prompt: %d)\n"
            "model actor = lm(%s, optimizer: adamw(lr: 1e-4))\n"
            "model critic = copy(actor, head: scalar, "
            "optimizer: adamw(lr: 1e-4))\n"
            "model ref = copy(actor)\n"
            "hook judge = lua(\"judge.lua\")\n"
            "flow full(batch: prompts[%d]) {\n"
            "    roll = actor.generate(batch, n: %d, max_new: %d)\n"
            "    score = judge(roll)\n"
            "    kl = roll.logprob - ref.logprob(roll)\n"
            "    v = critic.value(roll)\n"
            "    a = roll.at_last(score) - 0.1 * kl - v\n"
            "    for mini in roll.split(parts: 2) {\n"
            "        update actor minimize mean(-a * "
            "exp(actor.logprob(mini) - mini.logprob)%s over batch)\n"
            "        update critic minimize "
            "mean((critic.value(mini) - v - a) ^ 2 over batch)\n"
            "    }\n"
            "    report score = mean(score over batch)\n"
            "}\n%s",
            prompt_length(), model, ROWS, EACH, length,
            words ? " + 0.1 * sum(exp(actor.logprobs(mini)) * "
                    "(actor.logprobs(mini) - ref.logprobs(mini)) over vocab)"
                  : "",
            place));
    rlf_session *s = rlf_session_open(path);
    if (rlf_session_check(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    return s;
}

static const char *
fresh(rlf_arena *arena)
{
    return rlf_arena_printf(
        arena,
        "llama(layers: 4, hidden: 32, heads: 4, kv_heads: 2, ffn: 48, "
        "context: 96), tokenizer: \"%s/examples/models/arith\"",
        getenv("RLFLOW_SOURCE"));
}

static const struct {
    const char *name;
    int ranks;
    bool words, one_mesh;
    const char *place;
} layouts[] = {
    {"one rank", 1, false, true, ""},
    {"one rank, words", 1, true, true, "place { actor on 0 (tokens: 64) }\n"},
    {"tp 2", 2, false, true,
     "place { actor on 0..1 (tp: 2)\n critic on 0..1 (tp: 2)\n ref on 0..1 "
     "(tp: 2) }\n"},
    {"tp 2, words", 2, true, true,
     "place { actor on 0..1 (tp: 2)\n critic on 0..1 (tp: 2)\n ref on 0..1 "
     "(tp: 2) }\n"},
    {"pp 2", 2, false, true,
     "place { actor on 0..1 (pp: 2)\n critic on 0..1 (pp: 2)\n ref on 0..1 "
     "(pp: 2) }\n"},
    {"pp 2, words", 2, true, true,
     "place { actor on 0..1 (pp: 2)\n critic on 0..1 (pp: 2)\n ref on 0..1 "
     "(pp: 2) }\n"},
    {"dp 2", 2, false, false, ""},
    {"dp 2, sliced", 2, false, false,
     "place { actor.update on 0..1 (zero: 1)\n critic.update on 0..1 (zero: 1) "
     "}\n"},
    {"tp 2, dp 2, recomputed", 4, false, false,
     "place { actor on 0..3 (tp: 2)\n critic on 0..3 (tp: 2)\n ref on 0..3 "
     "(tp: 2)\n actor.update on 0..3 (tp: 2, recompute: true) }\n"},
    {"interleaved", 2, false, false,
     "place { actor.update on 0..1 (pp: 2, schedule: \"interleaved\", chunks: "
     "2)\n actor.generate on 0..1 (tp: 2)\n critic on 0\n ref on 1 (offload: "
     "true) }\n"},
    {"apart", 4, false, false,
     "place { actor.update on 0..1 (pp: 2)\n actor.generate on 2..3\n critic "
     "on 0..1\n ref on 2..3 (tp: 2) }\n"},
};

/* ---- outlines against runs ---- */

static bool
is_of_rank(const rlf_memory_row *row)
{
    return strcmp(row->owner, "kernels") == 0 ||
           strcmp(row->owner, "ranks") == 0 ||
           strcmp(row->purpose, "weights between ranks") == 0;
}

/* Rows of memory, those of a rank's own apart. */
static bool
same_memory(const rlf_memory *is, const rlf_memory *said)
{
    size_t k = 0;
    for (size_t i = 0; i < is->rows.count; i++) {
        const rlf_memory_row *x = &is->rows.data[i];
        if (is_of_rank(x))
            continue;
        const rlf_memory_row *y =
            k < said->rows.count ? &said->rows.data[k++] : NULL;
        if (y && strcmp(x->owner, y->owner) == 0 &&
            strcmp(x->purpose, y->purpose) == 0 && x->device == y->device &&
            x->host == y->host)
            continue;
        note("'%s' %s: %llu and %llu bytes; said '%s' %s: %llu and %llu",
             x->owner, x->purpose, (unsigned long long)x->device,
             (unsigned long long)x->host, y ? y->owner : "",
             y ? y->purpose : "", y ? (unsigned long long)y->device : 0,
             y ? (unsigned long long)y->host : 0);
        return false;
    }
    return k == said->rows.count;
}

static bool
same_cost(const rlf_cost *a, const rlf_cost *b)
{
    bool same = a->flops == b->flops && a->read == b->read &&
                a->written == b->written && a->calls == b->calls &&
                a->host == b->host;
    for (int i = 0; i < RLF_AXIS_SETS; i++)
        same = same && a->meets[i].n == b->meets[i].n &&
               a->meets[i].bytes == b->meets[i].bytes;
    return same;
}

/* Of the rank whose resources are at hand: caps, sizes, every node. */
static bool
same_nodes(const rlf_opened *is, const rlf_opened *said, rlf_arena *arena)
{
    const rlf_graph *graph = is->plan->graph;
    rlf_sizes sizes = rlf_opened_sizes(is, arena);
    rlf_sizes its = rlf_opened_sizes(said, arena);
    bool same = true;
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource_class *class =
            is->classes->resource[graph->resources.data[i].kind];
        const rlf_caps *a = class->caps(is->resource[i]);
        const rlf_caps *b = class->caps(said->resource[i]);
        same = same && (!a ? !b : memcmp(a, b, sizeof *a) == 0);
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        rlf_cost a = rlf_opened_cost(is, &sizes, (int)i);
        rlf_cost b = rlf_opened_cost(said, &its, (int)i);
        same = same && same_cost(&a, &b);
    }
    return same;
}

static rlf_cost
work_of(const rlf_opened *o, rlf_arena *arena)
{
    rlf_cost work = {0};
    rlf_sizes sizes = rlf_opened_sizes(o, arena);
    for (size_t i = 0; i < o->plan->graph->nodes.count; i++) {
        rlf_cost cost = rlf_opened_cost(o, &sizes, (int)i);
        rlf_cost_add(&work, &cost, 1);
    }
    return work;
}

static rlf_run *
open_run(const rlf_plan *plan, rlf_comm_world *world, bool dry)
{
    const rlf_run_options options = {
        .threads = plan->ranks, .world = world, .dry = dry};
    rlf_err err = RLF_ERR_NONE;
    rlf_run *run;
    if (rlf_run_open(plan, &rlf_node_classes, &options, &err, &run) < 0)
        bail("%s", err.sentence);
    return run;
}

static rlf_comm_world *
open_world(int ranks)
{
    const rlf_comm_options options = {
        .n_ranks = ranks, .limit = 60, .mail_bytes = 1 << 16};
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    if (rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    return world;
}

static void
check_outlines(const rlf_plan *plan, const rlf_opened *said, const char *name,
               rlf_arena *arena)
{
    rlf_comm_world *world = plan->ranks > 1 ? open_world(plan->ranks) : NULL;
    rlf_run *run = open_run(plan, world, true);
    bool memory = true, work = true;
    for (int r = 0; r < plan->ranks; r++) {
        const rlf_needs *needs = rlf_run_needs(run, r);
        rlf_memory its = {.arena = arena};
        rlf_opened_memory(&said[r], &its);
        memory = same_memory(&needs->memory, &its) && memory;
        rlf_cost cost = work_of(&said[r], arena);
        work = work && same_cost(&needs->work, &cost);
    }
    ok(memory, "%s: memory of every rank", name);
    ok(work, "%s: work of every rank", name);
    rlf_opened is = rlf_run_opened(run);
    ok(same_nodes(&is, &said[0], arena), "%s: caps, and every node of rank 0",
       name);
    rlf_run_close(run);
    rlf_comm_world_free(world);
}

/* ---- meetings of a run ---- */

/* What all ranks have met others and sent so far. */
static rlf_meets
count_meets(const rlf_plan *plan, rlf_comm_world *world)
{
    rlf_meets meets = {0};
    for (int r = 0; r < plan->ranks; r++) {
        meets.n += (double)rlf_comm_met(rlf_comm_of(world, r));
        meets.bytes += (double)rlf_comm_sent(rlf_comm_of(world, r));
    }
    return meets;
}

/* A step of equally long sequences on one mesh: what ranks do with each other,
 * and what goes along edges. Heads in parts hand round a few numbers of each row,
 * which are meetings but no bytes (nodes/model/cost.h); before each turn of a
 * generation but the first, in a pipeline one more, its ranks agree on a few. */
static void
check_meetings(const rlf_plan *plan, const rlf_opened *said, const char *name,
               bool in_parts, rlf_arena *arena)
{
    rlf_comm_world *world = open_world(plan->ranks);
    rlf_run *run = open_run(plan, world, false);
    rlf_err err = RLF_ERR_NONE;
    rlf_meets told = {0}, before = count_meets(plan, world);
    for (int r = 0; r < plan->ranks; r++) {
        rlf_cost work = work_of(&said[r], arena);
        rlf_meets meets = rlf_cost_meets(&work);
        told.n += meets.n;
        told.bytes += meets.bytes;
    }
    rlf_sizes sizes = rlf_opened_sizes(&said[0], arena);
    rlf_rehearsal edges;
    rlf_rehearse(plan, &sizes, 0, arena, &edges);
    for (int i = 0; i < edges.count; i++) {
        double messages = (double)edges.list[i].messages;
        told.n += 2 * messages; /* sizes go before */
        told.bytes += edges.list[i].bytes + 8 * messages;
    }
    if (rlf_run_step(run, &err) < 0)
        bail("%s", err.sentence);
    rlf_meets is = count_meets(plan, world);
    is.n -= before.n;
    is.bytes -= before.bytes;
    ok(fabs(is.n - told.n) <= plan->ranks, "%s: %.0f meetings, said %.0f", name,
       is.n, told.n);
    ok(is.bytes >= told.bytes &&
           is.bytes <= told.bytes * (in_parts ? 1.2 : 1) + 32 * plan->ranks,
       "%s: %.0f bytes are sent, said %.0f", name, is.bytes, told.bytes);
    rlf_run_close(run);
    rlf_comm_world_free(world);
}

/* ---- programs ---- */

/* A program in one layout, and what its ranks would open. */
typedef struct scene {
    rlf_session *s;
    rlf_plan *plan;
    rlf_outline *outline;
    rlf_arena *arena;
    rlf_opened rank[MOST_RANKS];
} scene;

static void
open_scene(scene *c, rlf_arena *arena, const char *model, int length, size_t k)
{
    const rlf_plan_options options = {.ranks = layouts[k].ranks};
    rlf_err err = RLF_ERR_NONE;
    *c = (scene){.s = open_program(arena, model, length, layouts[k].words,
                                   layouts[k].place),
                 .arena = rlf_arena_new()};
    if (rlf_plan_make(c->s->graph, &options, c->s->arena, &err, &c->plan) < 0 ||
        rlf_outline_open(c->s->graph, &rlf_node_classes, rlf_kernels_cpu(),
                         &err, &c->outline) < 0)
        bail("%s", err.sentence);
    for (int r = 0; r < c->plan->ranks; r++)
        if (rlf_outline_rank(c->outline, c->plan, r, c->arena, &err,
                             &c->rank[r]) < 0)
            bail("%s", err.sentence);
}

static void
close_scene(scene *c)
{
    rlf_arena_free(c->arena);
    rlf_outline_close(c->outline);
    rlf_session_close(c->s);
}

int
main(void)
{
    if (!getenv("RLFLOW_SOURCE"))
        skip_all("RLFLOW_SOURCE is not set");
    snprintf(root, sizeof root, "/tmp/rlf_api_outline_XXXXXX");
    if (!mkdtemp(root))
        bail("no temporary folder");
    rlf_arena *arena = rlf_arena_new();
    rlf_buf rows = {0};
    for (int i = 0; i < 2 * ROWS; i++)
        rlf_buf_printf(&rows,
                       "{\"question\": \"%d plus %d =\", \"answer\": "
                       "\"%d\"}\n",
                       i % 8, i / 8, i % 8 + i / 8);
    put(arena, "rows.jsonl", rows.p);
    rlf_buf_free(&rows);
    put(arena, "judge.lua",
        "return function(sample) return sample.length end\n");
    for (size_t k = 0; k < RLF_COUNT(layouts); k++) {
        scene c;
        open_scene(&c, arena, fresh(arena), NEW, k);
        check_outlines(c.plan, c.rank, layouts[k].name, c.arena);
        close_scene(&c);
        if (!layouts[k].one_mesh || layouts[k].ranks == 1)
            continue;
        open_scene(&c, arena, fresh(arena), 1, k);
        check_meetings(c.plan, c.rank, layouts[k].name,
                       c.plan->place[0].layout.tp >= 0 &&
                           strstr(layouts[k].name, "tp") != NULL,
                       c.arena);
        close_scene(&c);
    }
    static const char *const files[] = {"rows.jsonl", "judge.lua",
                                        "program.rlf"};
    for (size_t i = 0; i < RLF_COUNT(files); i++)
        unlink(rlf_arena_printf(arena, "%s/%s", root, files[i]));
    rmdir(root);
    rlf_arena_free(arena);
    return done();
}
