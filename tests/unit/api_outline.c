/* Outlines (engine/mesh/outline.h): what they say of each rank is what a run on
 * as many ranks finds when it has opened everything, and, of how often ranks
 * meet and what they send, what such a run does. Pieces of a node's work
 * (engine/graph/class.h) add up to the whole and grow with rows and lengths. */
#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "engine/graph/place.h"
#include "engine/layout/lanes.h"
#include "engine/order/traffic.h"
#include "engine/plan/candidate.h"
#include "engine/plan/fit.h"
#include "engine/mesh/outline.h"
#include "nodes/table.h"
#include "tests/put.h"
#include "tests/tap.h"
#include "tests/unit/arith_tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 16, EACH = 2, NEW = 6, MOST_RANKS = 4 };

/* MODEL: what the actor is made from. LENGTH: of responses. WORDS: its loss has
 * a sum over words, with a second model's. SHARED: samples share prompts. */
static rlf_session *
open_program(rlf_arena *arena, const char *model, int length, bool words,
             bool shared, const char *place)
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
            "        update actor %sminimize mean(-a * "
            "exp(actor.logprob(mini) - mini.logprob)%s over batch)\n"
            "        update critic %sminimize "
            "mean((critic.value(mini) - v - a) ^ 2 over batch)\n"
            "    }\n"
            "    report score = mean(score over batch)\n"
            "}\n%s",
            arith_tokens("1 plus 2 ="), model, ROWS, EACH, length,
            shared ? "(shared: true) " : "",
            words ? " + 0.1 * sum(exp(actor.logprobs(mini)) * "
                    "(actor.logprobs(mini) - ref.logprobs(mini)) over vocab)"
                  : "",
            shared ? "(shared: true) " : "", place));
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
    {"one rank, shared", 1, true, true, "place { actor on 0 (tokens: 64) }\n"},
    {"tp 2, dp 2, shared", 4, false, true,
     "place { actor on 0..3 (tp: 2)\n critic on 0..3 (tp: 2)\n ref on 0..3 "
     "(tp: 2) }\n"},
    {"pp 2, shared", 2, false, true,
     "place { actor on 0..1 (pp: 2)\n critic on 0..1 (pp: 2)\n ref on 0..1 "
     "(pp: 2) }\n"},
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
    {"dp 2", 2, false, true, ""},
    {"dp 2, sliced", 2, false, true,
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
        const rlf_resource *r = &graph->resources.data[i];
        const rlf_caps *a = rlf_resource_caps(r, is->resource[i]);
        const rlf_caps *b = rlf_resource_caps(r, said->resource[i]);
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
    if (rlf_run_open(plan, &options, &err, &run) < 0)
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

/* Returns how often all ranks together have met others so far, and how many
 * bytes they have sent. */
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
 * and what goes along edges. Heads in parts hand round a few numbers of each
 * row, which are meetings but no bytes (nodes/model/cost.h); before each turn
 * of a generation but the first, in a pipeline one more, its ranks agree on a
 * few. */
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
    rlf_traffic traffic;
    rlf_traffic_count(plan, &sizes, 0, arena, &traffic);
    for (int i = 0; i < traffic.count; i++) {
        double messages = (double)traffic.list[i].messages;
        told.n += 2 * messages; /* sizes go before */
        told.bytes += traffic.list[i].bytes + 8 * messages;
    }
    if (rlf_run_step(run, &err) < 0)
        bail("%s", err.sentence);
    rlf_meets is = count_meets(plan, world);
    is.n -= before.n;
    is.bytes -= before.bytes;
    ok(fabs(is.n - told.n) <= plan->ranks, "%s: %.0f meetings, said %.0f", name,
       is.n, told.n);
    ok(is.bytes >= 0.999 * told.bytes &&
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
    bool shared = strstr(layouts[k].name, "shared") != NULL;
    rlf_err err = RLF_ERR_NONE;
    *c = (scene){.s = open_program(arena, model, length, layouts[k].words,
                                   shared, layouts[k].place),
                 .arena = rlf_arena_new()};
    if (rlf_plan_make(c->s->graph, &options, c->s->arena, &err, &c->plan) < 0 ||
        rlf_outline_open(c->s->graph, rlf_kernels_cpu(), &err, &c->outline) < 0)
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

/* ---- pieces ---- */

/* A node on a rank of an outline. */
typedef struct opened_node {
    const rlf_opened *o;
    const rlf_sizes *sizes;
    const rlf_node *node;
    rlf_layout layout;
    rlf_coordinates at;
} opened_node;

static bool
about(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static bool
adds_up(const rlf_cost *sum, const rlf_cost *whole)
{
    bool same =
        about(sum->flops, whole->flops) && about(sum->read, whole->read) &&
        about(sum->written, whole->written) && about(sum->calls, whole->calls);
    for (int i = 0; i < RLF_AXIS_SETS; i++)
        same = same && about(sum->meets[i].n, whole->meets[i].n) &&
               about(sum->meets[i].bytes, whole->meets[i].bytes);
    if (!same)
        note("flops %.0f of %.0f, read %.0f of %.0f, calls %.0f of %.0f, met "
             "%.0f of %.0f",
             sum->flops, whole->flops, sum->read, whole->read, sum->calls,
             whole->calls, rlf_cost_meets(sum).n, rlf_cost_meets(whole).n);
    return same;
}

static void
add_piece(const opened_node *t, const rlf_piece *piece, rlf_cost *sum)
{
    rlf_cost cost = rlf_opened_piece(t->o, t->sizes, t->node->id, piece);
    rlf_cost_add(sum, &cost, 1);
}

/* The turns of a batch that is one part and one wave: prompts, then each first
 * sample a turn ahead of the others of its prompt. */
static void
add_turns(const opened_node *t, const rlf_set_size *size, rlf_cost *sum)
{
    rlf_range own =
        rlf_layout_rows(&t->layout, t->o->rank, (int64_t)size->prompts);
    double firsts = (double)rlf_range_size(own), others = firsts * (EACH - 1);
    rlf_piece piece = {.kind = RLF_PIECE_TURN,
                       .prompts = (uint64_t)firsts,
                       .prompt = (uint32_t)size->prompt};
    add_piece(t, &piece, sum);
    piece.prompts = 0;
    for (int turn = 2; turn <= NEW + 1; turn++) {
        double ahead = turn <= NEW ? firsts : 0;
        double before = size->prompt + turn - 3;
        piece.rows = (uint64_t)(ahead + others);
        piece.context =
            (ahead * (before + 1) + others * before) / (double)piece.rows;
        add_piece(t, &piece, sum);
    }
}

static const rlf_caps *
caps_of(const opened_node *t, int resource)
{
    const rlf_resource *r = &t->o->plan->graph->resources.data[resource];
    return rlf_resource_caps(r, t->o->resource[resource]);
}

/* Samples of a prompt that an update takes together. */
static uint64_t
samples_together(const opened_node *t)
{
    return t->node->loss && t->node->loss->shared ? EACH : 1;
}

/* n samples, cut into micro-batches of as many as fit, each the given ways
 * through all chunks. */
static void
add_micros(const opened_node *t, uint64_t n, const rlf_set_size *size,
           uint32_t tokens, const rlf_piece_kind *kinds, int n_kinds,
           rlf_cost *sum)
{
    uint64_t together = samples_together(t);
    double own = size->response + 1; /* and the prompt's last token */
    double unit = size->prompt + size->response + own * (double)(together - 1);
    uint64_t each = tokens / (uint64_t)unit * together;
    for (uint64_t i = 0; i < n; i += each)
        for (int k = 0; k < n_kinds; k++)
            for (int c = 0; c < t->layout.chunks || c == 0; c++) {
                const rlf_piece piece = {.kind = kinds[k],
                                         .rows = i + each < n ? each : n - i,
                                         .prompt = (uint32_t)size->prompt,
                                         .response = (uint32_t)size->response,
                                         .chunk = c};
                add_piece(t, &piece, sum);
            }
}

static void
add_update(const opened_node *t, const rlf_set_size *size, rlf_cost *sum)
{
    static const rlf_piece_kind kinds[] = {RLF_PIECE_BEFORE, RLF_PIECE_FORWARD,
                                           RLF_PIECE_BACKWARD};
    const rlf_loss *loss = t->node->loss;
    uint32_t tokens = caps_of(t, t->node->receiver)->tokens[RLF_USE_UPDATE];
    for (int i = 0; i < loss->n_words; i++)
        for (size_t k = 0; k < loss->words[i].program->inputs.count; k++) {
            int model = loss->words[i].model[k];
            if (model < 0 || model == t->node->receiver)
                continue;
            uint32_t its = caps_of(t, model)->tokens[RLF_USE_READ];
            tokens = its < tokens ? its : tokens;
        }
    int lanes = t->o->plan->sums[t->node->receiver].lanes;
    rlf_range held = rlf_lanes_part(lanes, t->layout.dp, t->at.dp);
    uint64_t together = samples_together(t), own = 0;
    uint64_t all = (uint64_t)size->samples / together;
    for (int64_t l = held.first; l < held.last; l++) {
        uint64_t n =
            all / (uint64_t)lanes + ((uint64_t)l < all % (uint64_t)lanes);
        n *= together;
        add_micros(t, n, size, tokens, kinds, RLF_COUNT(kinds), sum);
        own += n;
    }
    const rlf_piece end = {.kind = RLF_PIECE_FINISH,
                           .rows = own,
                           .prompt = (uint32_t)size->prompt,
                           .response = (uint32_t)size->response};
    add_piece(t, &end, sum);
}

static bool
grows(const rlf_cost *more, const rlf_cost *less)
{
    return more->flops >= less->flops && more->read >= less->read &&
           more->written >= less->written && more->calls >= less->calls &&
           rlf_cost_meets(more).n >= rlf_cost_meets(less).n &&
           rlf_cost_meets(more).bytes >= rlf_cost_meets(less).bytes;
}

/* With a little more of one thing nothing is less. */
static bool
is_monotone(const opened_node *t)
{
    bool same = true;
    for (int kind = 0; kind <= RLF_PIECE_FINISH; kind++) {
        rlf_piece less = {.kind = (rlf_piece_kind)kind,
                          .rows = 3,
                          .prompts = 2,
                          .prompt = 7,
                          .response = 4,
                          .context = 9};
        for (int k = 0; k < 40; k++) {
            rlf_piece more = less;
            more.rows += k % 5 == 0;
            more.prompt += k % 5 == 1;
            more.response += k % 5 == 2;
            more.context += k % 5 == 3;
            more.prompts += k % 5 == 4;
            rlf_cost a = {0}, b = {0};
            add_piece(t, &less, &a);
            add_piece(t, &more, &b);
            same = same && grows(&b, &a);
            less = more;
        }
    }
    return same;
}

static const rlf_set_size *
set_of(const opened_node *t, int value)
{
    return &t->sizes->set[t->o->plan->graph->values.data[value].set];
}

/* Does the sum of the pieces of a node make the whole? */
static bool
check_node(const opened_node *t)
{
    static const rlf_piece_kind forward[] = {RLF_PIECE_FORWARD};
    const rlf_node *node = t->node;
    rlf_cost all = rlf_opened_cost(t->o, t->sizes, node->id), whole = {0};
    rlf_cost sum = {0}, rows = {0};
    rlf_cost_add(&whole, &all, 1 / t->sizes->runs[node->id]);
    if (node->loss) {
        add_update(t, set_of(t, node->inputs[node->loss->calls[0].set_input]),
                   &sum);
        return adds_up(&sum, &whole);
    }
    const rlf_set_size *size =
        set_of(t, node->class->work == RLF_WORK_GENERATE ? node->outputs[0]
                                                         : node->inputs[0]);
    double n =
        node->class->work == RLF_WORK_GENERATE ? size->prompts : size->samples;
    rlf_range own = rlf_layout_rows(&t->layout, t->o->rank, (int64_t)n);
    const rlf_piece piece = {.rows = (uint64_t)rlf_range_size(own),
                             .prompt = (uint32_t)size->prompt,
                             .response = (uint32_t)size->response};
    add_piece(t, &piece, &rows);
    if (!adds_up(&rows, &whole))
        return false;
    if (node->class->form != RLF_FORM_CALL ||
        (node->class->work == RLF_WORK_GENERATE && t->layout.pp > 1))
        return true;
    if (node->class->work == RLF_WORK_GENERATE)
        add_turns(t, size, &sum);
    else
        add_micros(t, piece.rows, size,
                   caps_of(t, node->receiver)->tokens[RLF_USE_READ], forward, 1,
                   &sum);
    return adds_up(&sum, &whole);
}

static void
check_pieces(const rlf_opened *said, const char *name, rlf_arena *arena)
{
    const rlf_plan *plan = said->plan;
    bool adds = true, monotone = true;
    int n = 0;
    for (int r = 0; r < plan->ranks; r++) {
        rlf_sizes sizes = rlf_opened_sizes(&said[r], arena);
        for (size_t i = 0; i < plan->graph->nodes.count; i++) {
            const rlf_node *node = &plan->graph->nodes.data[i];
            opened_node t = {.o = &said[r],
                             .sizes = &sizes,
                             .node = node,
                             .layout = plan->place[i].layout};
            t.at = rlf_layout_find(&t.layout, r);
            bool is =
                node->loss || node->class->form == RLF_FORM_HOOK ||
                (rlf_place_can(node) && node->class->level != RLF_LEVEL_VOCAB);
            if (!is || t.at.tp < 0)
                continue;
            n++;
            if (!check_node(&t)) {
                note("%s on rank %d", node->class->name, r);
                adds = false;
            }
            monotone = monotone && is_monotone(&t);
        }
    }
    ok(n > 4 && adds, "%s: pieces of %d nodes add up to the whole", name, n);
    ok(monotone, "%s: they grow with rows and lengths", name);
}

/* ---- models that are not there ---- */

static char *
read_text(rlf_arena *arena, const char *path)
{
    char text[8192];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    if (!n)
        bail("cannot read %s", path);
    return rlf_arena_strndup(arena, text, n);
}

/* A directory with a config.json alone is as good as the whole model. */
static void
test_config_alone(rlf_arena *arena)
{
    const char *whole = rlf_arena_printf(arena, "%s/examples/models/arith",
                                         getenv("RLFLOW_SOURCE"));
    const char *dir = rlf_arena_printf(arena, "%s/config", root);
    if (mkdir(dir, 0700) != 0)
        bail("no directory %s", dir);
    put(arena, "config/config.json",
        read_text(arena, rlf_arena_printf(arena, "%s/config.json", whole)));
    scene a, b;
    size_t k = RLF_COUNT(layouts) - 1;
    open_scene(&a, arena, rlf_arena_printf(arena, "\"%s\"", whole), NEW, k);
    open_scene(&b, arena, rlf_arena_printf(arena, "\"%s\"", dir), NEW, k);
    bool same = true;
    for (int r = 0; r < a.plan->ranks; r++)
        same = same_nodes(&a.rank[r], &b.rank[r], arena) && same;
    ok(same, "costs of a model of which only config.json is there");
    rlf_err err = RLF_ERR_NONE;
    ok(rlf_plan_fits(b.plan, &err) >= 0, "its plan is looked at: %s",
       err.sentence);
    close_scene(&a);
    close_scene(&b);
    unlink(rlf_arena_printf(arena, "%s/config.json", dir));
    rmdir(dir);
}

/* ---- candidates ---- */

static rlf_status
try_rows(const scene *c, const rlf_place_row *rows, int n, rlf_arena *arena,
         rlf_err *err, rlf_plan **out)
{
    const rlf_plan_options options = {.ranks = MOST_RANKS};
    rlf_err_clear(err);
    return rlf_plan_candidate(c->s->graph, rows, n, &options, arena, err, out);
}

/* A candidate with the rows of a program is the plan of that program, nothing
 * stays of it outside its arena, and rows that make no sense are refused. */
static void
test_candidates(rlf_arena *arena)
{
    scene c, plain;
    open_scene(&c, arena, fresh(arena), NEW, RLF_COUNT(layouts) - 1);
    open_scene(&plain, arena, fresh(arena), NEW, 0);
    const rlf_placement *placement = c.s->graph->placement;
    rlf_arena *own = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_plan *plan;
    size_t used = rlf_arena_used(plain.s->graph->arena);
    if (try_rows(&plain, placement->rows, placement->n_rows, own, &err, &plan) <
        0)
        bail("%s", err.sentence);
    ok(rlf_digest_equal(plan->digest, c.plan->digest),
       "the rows of a program make its plan");
    ok(!plain.s->graph->placement &&
           rlf_arena_used(plain.s->graph->arena) == used,
       "the graph is what it was");
    rlf_opened said;
    if (rlf_outline_rank(plain.outline, plan, 3, own, &err, &said) < 0)
        bail("%s", err.sentence);
    ok(same_nodes(&c.rank[3], &said, own),
       "and its costs, by an outline of the program without a placement");
    static const int back[] = {1, 0}, here[] = {0, 1};
    rlf_place_row rows[2] = {placement->rows[0], placement->rows[0]};
    ok(try_rows(&plain, rows, 2, own, &err, &plan) == RLF_USER &&
           strstr(err.sentence, "two rows"),
       "two rows of one call: %s", err.sentence);
    rows[0] = rlf_place_row_new(placement->rows[0].model, NULL);
    rows[0].n_ranks = rows[0].tp = 2;
    rows[0].ranks = back;
    ok(try_rows(&plain, rows, 1, own, &err, &plan) == RLF_USER,
       "ranks out of order: %s", err.sentence);
    rows[0].ranks = here;
    rows[0].dp = 2;
    ok(try_rows(&plain, rows, 1, own, &err, &plan) == RLF_USER,
       "not as many ranks: %s", err.sentence);
    rows[0].model = 0;
    ok(try_rows(&plain, rows, 1, own, &err, &plan) == RLF_USER, "no model: %s",
       err.sentence);
    rlf_arena_free(own);
    close_scene(&c);
    close_scene(&plain);
}

int
main(void)
{
    if (!getenv("RLFLOW_SOURCE"))
        skip_all("RLFLOW_SOURCE is not set");
    make_root();
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
        check_pieces(c.rank, layouts[k].name, c.arena);
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
    test_config_alone(arena);
    test_candidates(arena);
    rlf_arena_free(arena);
    return done();
}
