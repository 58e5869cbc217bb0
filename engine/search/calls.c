/* Seconds and memory of calls on a layout: see calls.h. */
#include "engine/search/calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/layout/lanes.h"
#include "engine/order/order.h"
#include "engine/search/messages.h"
#include "engine/timing/measured.h"

/* ---- rows ---- */

/* The set that a call runs its model on; of several that it reads by turns
 * (rlf_node_sets) the first: all count as that. */
static int
set_of(const rlf_opened *o, const rlf_node *node)
{
    int value = node->class->work == RLF_WORK_GENERATE ? node->outputs[0]
                : node->loss && node->loss->n_calls
                    ? node->inputs[node->loss->calls[0].set_input]
                    : node->inputs[0];
    return o->plan->graph->values.data[value].set;
}

/* Lanes of an update's replica, and of how many; of the last, which has the
 * most, where the rank is in none. */
static void
lanes_of(const rlf_opened *o, const rlf_node *node, double *held, double *all)
{
    const rlf_layout *layout = &o->plan->place[node->id].layout;
    int dp = layout->dp, own = rlf_layout_find(layout, o->rank).dp;
    int lanes = o->plan->sums ? o->plan->sums[node->receiver].lanes : 0;
    *held = 1;
    *all = dp;
    if (node->class->work != RLF_WORK_TRAIN || lanes < dp)
        return;
    *held = (double)rlf_range_size(
        rlf_lanes_part(lanes, dp, own < 0 ? dp - 1 : own));
    *all = lanes;
}

static bool
reads_samples(const rlf_node *node)
{
    return node->class->work == RLF_WORK_READ && !node->words;
}

/* Rows of a micro-batch that share a prompt, whose tokens it has once: where
 * samples are read those of the prompt. Those that are trained on share it if
 * the update says so. */
static double
together(const rlf_node *node, const rlf_expected_set *set)
{
    int sets = rlf_node_sets(node);
    if (node->loss && node->loss->shared)
        return rlf_caps_shared(set->prompt, set->response, set->each * sets,
                               sets);
    return reads_samples(node) ? set->each * sets : 1;
}

/* Of the opened rank's replica: samples that share a prompt are in one lane. */
static double
rows_of(const rlf_opened *o, const rlf_sizes *sizes,
        const rlf_expected_set *expected, const rlf_node *node)
{
    double held, all, each = 1;
    int set = set_of(o, node);
    lanes_of(o, node, &held, &all);
    if (node->loss && node->loss->shared)
        each = together(node, &expected[set]);
    return ceil(sizes->set[set].samples * rlf_node_sets(node) / each * held /
                all) *
           each;
}

static rlf_use
use_of(const rlf_node *node)
{
    return node->class->work == RLF_WORK_GENERATE ? RLF_USE_GENERATE
           : node->class->work == RLF_WORK_TRAIN  ? RLF_USE_UPDATE
                                                  : RLF_USE_READ;
}

/* Updates are cut lane by lane. */
rlf_call_cut
rlf_call_cut_of(const rlf_opened *o, const rlf_sizes *sizes,
                const rlf_expected_set *expected, const rlf_node *node)
{
    const rlf_resource *r = &o->plan->graph->resources.data[node->receiver];
    const rlf_caps *caps = rlf_resource_caps(r, o->resource[node->receiver]);
    const rlf_expected_set *set = &expected[set_of(o, node)];
    rlf_use use = use_of(node);
    double rows = rows_of(o, sizes, expected, node), parts, all;
    lanes_of(o, node, &parts, &all);
    double micros = rlf_expected_micros(set, rows / parts, caps->tokens[use],
                                        together(node, set));
    return (rlf_call_cut){.micros = parts * micros,
                          .seats =
                              (int)fmin(rows, caps->rows[RLF_USE_GENERATE])};
}

void
rlf_call_sampling(const rlf_opened *o, const rlf_sizes *sizes,
                  const rlf_expected_set *expected, const rlf_node *node,
                  double tokens, rlf_sampling *out, rlf_sampling_pages *pages)
{
    int set = set_of(o, node);
    const rlf_set_size *size = &sizes->set[set];
    const rlf_expected_set *each = &expected[set];
    const rlf_call_cut cut = rlf_call_cut_of(o, sizes, expected, node);
    *out = (rlf_sampling){.lengths = each->responses,
                          .most = each->responses ? each->most : each->response,
                          .rows = rows_of(o, sizes, expected, node),
                          .seats = fmax(1, cut.seats),
                          .replicas = o->plan->place[node->id].layout.dp,
                          .group = size->samples / fmax(1, size->prompts)};
    *pages = (rlf_sampling_pages){
        .pages = INFINITY, .tokens = tokens, .prompt = each->prompt};
}

/* ---- pieces ---- */

/* The question, and the sum so far. */
typedef struct work {
    const rlf_opened *opened;
    const rlf_sizes *sizes;
    const rlf_set_size *size;         /* of the set that the call runs on */
    const rlf_expected_set *expected; /* its rows */
    const rlf_node *node;
    const rlf_layout *layout;
    const rlf_speeds *speeds;
    rlf_rank_links *links; /* of the opened rank: of one stage */
    double part;  /* of the times of a piece in which its rank is at work */
    double parts; /* of a reading: micro-batches of a replica */
    double each;  /* likewise: rows that share a prompt; 0: it is none */
    rlf_seconds *sum;
    double *busy;          /* of it: at work */
    rlf_call_times *times; /* a generation's; NULL: not asked */
} work;

static uint32_t
whole(double x)
{
    return x < 1 ? 1 : (uint32_t)(x + 0.5);
}

static void
add_cost(const work *w, const rlf_cost *cost, double tokens, double times)
{
    rlf_seconds seconds;
    rlf_seconds_over(w->speeds, cost, w->links, tokens, &seconds);
    double *term = seconds.term;
    bool computes = term[RLF_SECONDS_COMPUTE] >= term[RLF_SECONDS_MEMORY];
    term[computes ? RLF_SECONDS_MEMORY : RLF_SECONDS_COMPUTE] = 0;
    rlf_seconds_add(w->sum, &seconds, times);
    *w->busy += w->part * times * seconds.total;
}

/* Does the line of an update's end have the piece in it? Runs measure there
 * what other models read before the first micro-batch (rlf_loss_reads_first).
 */
static bool
in_finish(const work *w, const rlf_piece *piece)
{
    return piece->kind == RLF_PIECE_BEFORE &&
           w->node->loss->reach != RLF_REACH_BATCH;
}

/* The piece as runs measure it (engine/graph/measure.h). */
static rlf_measured_piece
measured_as(const work *w, const rlf_piece *piece)
{
    double rows = (double)piece->rows, prompts = (double)piece->prompts;
    double p = piece->prompt;
    bool trains = w->node->class->work == RLF_WORK_TRAIN;
    rlf_measured_piece out = {
        .kind = trains ? RLF_MEASURED_FORWARD : RLF_MEASURED_ROWS,
        .node = w->node,
        .rank = w->opened->rank,
        .x = rows * (w->expected->prompt + w->expected->response),
        .chunk = !trains && piece->kind == RLF_PIECE_FORWARD,
        .parts = trains ? 1 : w->parts};
    if (piece->kind == RLF_PIECE_TURN) {
        out.kind = RLF_MEASURED_TURN;
        out.x = rows + prompts * p;
        out.y = prompts * p * (p + 1) / 2 + rows * (piece->context + 1);
    } else if (piece->kind == RLF_PIECE_BACKWARD) {
        out.kind = RLF_MEASURED_BACKWARD;
    } else if (piece->kind == RLF_PIECE_WEIGHTS) {
        out.kind = RLF_MEASURED_WEIGHTS;
    } else if (piece->kind == RLF_PIECE_FINISH || in_finish(w, piece)) {
        out.kind = RLF_MEASURED_FINISH;
        out.x = rows;
    }
    return out;
}

/* By the line of the profile; false: there is none. A micro-batch is of one pass
 * of an update's losses, as in a run. */
static bool
add_measured(const work *w, const rlf_piece *piece, double times)
{
    rlf_measured_said said;
    rlf_seconds seconds = {0};
    const rlf_measured_piece of = measured_as(w, piece);
    if (!rlf_measured_seconds(w->speeds, w->opened->plan, &of, &said))
        return false;
    seconds.total = in_finish(w, piece) ? 0 : said.seconds;
    seconds.term[RLF_SECONDS_MEASURED] = seconds.total;
    rlf_seconds_add(w->sum, &seconds, times);
    *w->busy += w->part * times * seconds.total;
    return true;
}

static void
note_messages(rlf_call_times *times, double n, double bytes)
{
    times->messages.n += n;
    times->messages.bytes += bytes;
}

/* Adds a piece so many times, and messages between stages that are waited for.
 */
static void
add(const work *w, const rlf_piece *piece, double tokens, double times,
    double waits)
{
    rlf_cost cost = rlf_opened_piece(w->opened, w->sizes, w->node->id, piece);
    rlf_cost message = {0};
    work waiting = *w;
    waiting.part = 0;
    message.meets[RLF_AXIS_PP] = cost.meets[RLF_AXIS_PP];
    if (w->times)
        note_messages(w->times, message.meets[RLF_AXIS_PP].n * waits,
                      message.meets[RLF_AXIS_PP].bytes * waits);
    cost.meets[RLF_AXIS_PP] = (rlf_meets){0};
    if (add_measured(w, piece, times)) /* all but what an offload copies */
        cost = (rlf_cost){.brought = cost.brought};
    add_cost(w, &cost, tokens, times);
    add_cost(&waiting, &message, 0, waits);
}

/* A piece that has so many rows on average: some have one more than others. */
static void
add_alike(const work *w, rlf_piece piece, double rows, double fed, double times,
          double waits)
{
    double more = rows - floor(rows);
    piece.rows = (uint64_t)rows;
    if (more < 1 && (piece.rows || piece.prompts))
        add(w, &piece, (double)piece.rows * fed, times * (1 - more),
            waits * (1 - more));
    piece.rows++;
    if (more > 0)
        add(w, &piece, (double)piece.rows * fed, times * more, waits * more);
}

/* Of a reading some share a prompt with more than others. */
static void
add_rows(const work *w, rlf_piece piece, double rows, double fed, double times,
         double waits)
{
    rlf_sharing of = rlf_sharing_of(w->each);
    if (!(w->each > 0)) {
        add_alike(w, piece, rows, fed, times, waits);
        return;
    }
    for (int k = 0; k < 2; k++) {
        piece.each = of.each[k];
        if (of.part[k] > 0)
            add_alike(w, piece, rows, fed, times * of.part[k],
                      waits * of.part[k]);
    }
}

/* ---- generations ---- */

/* The first turn: of a group one sample reads the prompt, the others its last
 * token. All stages get their first part before any its second. */
static void
begin(const work *w, double rows, double times)
{
    double pp = w->layout->pp, each = ceil(rows / pp);
    double groups = ceil(each * w->size->prompts / fmax(1, w->size->samples));
    rlf_piece first = {.kind = RLF_PIECE_TURN,
                       .prompts = (uint64_t)groups,
                       .rows = (uint64_t)(each - groups),
                       .prompt = whole(w->expected->prompt),
                       .context = w->expected->prompt};
    work filling = *w;
    filling.part = pp / (2 * pp - 1);
    times *= 2 * pp - 1;
    add(&filling, &first, groups * w->expected->prompt, times, times);
}

/* From the seconds after which a part of the samples is complete to those of
 * the next such moment, at which `to` is. What is left at last is complete when
 * all is over: many may be as long as can be. */
static void
note_complete(const work *w, double *seconds, double *part, double to)
{
    for (int k = 0; w->times && k < RLF_CHOICE_PARTS; k++) {
        double at = (k + 1.0) / RLF_CHOICE_PARTS, passed = w->sum->total;
        if (at <= *part || at > to)
            continue;
        if (to < 1)
            passed =
                *seconds + (passed - *seconds) * (at - *part) / (to - *part);
        w->times->complete[k] = passed;
    }
    *seconds = w->sum->total;
    *part = to;
}

/* Waves of turns, where all responses are alike. */
static void
generate_waves(const work *w, rlf_call_cut cut, double rows)
{
    double pp = w->layout->pp, waves = ceil(rows / fmax(1, cut.seats));
    double each = ceil(rows / waves / pp);
    rlf_piece turn = {.kind = RLF_PIECE_TURN,
                      .rows = (uint64_t)each,
                      .context =
                          w->expected->prompt + w->expected->response / 2};
    double turns = waves * (w->expected->response - 1) * pp;
    begin(w, rows / waves, waves);
    add(w, &turn, each, turns, turns);
    for (int k = 0; w->times && k < RLF_CHOICE_PARTS; k++)
        w->times->complete[k] =
            w->sum->total / waves * ceil(waves * (k + 1) / RLF_CHOICE_PARTS);
}

/* Adds samples that begin later, which read their prompts beside the turns of
 * others. */
static void
begin_more(const work *w, const rlf_sampling_part *part, double context)
{
    double at_once = part->burst > 0 ? part->burst : part->fresh;
    double pp = w->layout->pp, many = fmax(1, at_once / pp);
    double times = part->turns * part->fresh / many, rows = part->rows / pp;
    rlf_piece turn = {.kind = RLF_PIECE_TURN,
                      .prompts = (uint64_t)many,
                      .prompt = whole(w->expected->prompt),
                      .context = context};
    double fed = (double)turn.prompts * turn.prompt;
    times *= many / (double)turn.prompts;
    turn.rows = (uint64_t)fmax(0, rows - (double)turn.prompts);
    add(w, &turn, fed + (double)turn.rows, times, times);
    turn.rows += turn.prompts;
    turn.prompts = 0;
    add(w, &turn, (double)turn.rows, -times, -times);
}

/* Replicas on which samples may be gathered, and from when on each of them has
 * a seat for all that are left of so many. */
static void
begin_gathers(const work *w, double samples, double seats)
{
    rlf_call_times *t = w->times;
    int on = w->layout->dp / 2;
    for (; on > 0 && t->n_gathers < RLF_GATHERS; on /= 2) {
        double most = fmin(seats * on / samples, 1);
        int least = (int)ceil(RLF_CHOICE_PARTS * (1 - most));
        t->gather[t->n_gathers].on = on;
        t->gather[t->n_gathers++].least = least > 1 ? least : 1;
    }
}

/* Seconds in which samples are made, from a part of them that is complete to
 * another, as above. */
static void
add_to_parts(double *parts, double from, double to, double seconds)
{
    for (int k = 0; k < RLF_CHOICE_PARTS; k++) {
        double end = (k + 1.0) / RLF_CHOICE_PARTS;
        double begin = fmax((double)k / RLF_CHOICE_PARTS, from);
        bool last = to >= 1 && (end > from || k == RLF_CHOICE_PARTS - 1);
        if (last || (end > from && begin < to))
            parts[k] += last ? seconds
                             : seconds * (fmin(end, to) - begin) / (to - from);
        if (last)
            return;
    }
}

/* The same turns, where fewer replicas have all samples that are at work. */
static void
note_gathered(const work *w, const rlf_sampling_part *p, rlf_piece turn,
              double turns, double part)
{
    for (int i = 0; w->times && i < w->times->n_gathers; i++) {
        double many = (double)w->layout->dp / w->times->gather[i].on;
        double rows = fmax(1, many * p->rows / w->layout->pp), ignored = 0;
        rlf_seconds seconds = {0};
        work one = *w;
        one.sum = &seconds;
        one.busy = &ignored;
        one.times = NULL;
        add_rows(&one, turn, rows, 1, turns, turns);
        add_to_parts(w->times->gather[i].seconds, part, p->complete,
                     seconds.total);
    }
}

/* The first turn of `first` samples, and these. */
static void
generate_parts(const work *w, double first, const rlf_sampling_part *parts,
               int n)
{
    double pp = w->layout->pp;
    begin(w, first, 1);
    double seconds = w->sum->total, part = 0;
    for (int i = 0; i < n; i++) {
        const rlf_sampling_part *p = &parts[i];
        const rlf_piece turn = {.kind = RLF_PIECE_TURN,
                                .context = w->expected->prompt + p->made};
        double turns = (i ? p->turns : fmax(0, p->turns - 1)) * pp;
        add_rows(w, turn, fmax(1, p->rows / pp), 1, turns, turns);
        if (p->fresh > 0)
            begin_more(w, p, turn.context);
        note_gathered(w, p, turn, turns, part);
        note_complete(w, &seconds, &part, p->complete);
    }
}

static void
generate(const work *w, rlf_call_cut cut, double rows)
{
    rlf_sampling_part parts[RLF_SAMPLING_PARTS];
    if (w->times && w->expected->responses)
        begin_gathers(w, rows * w->layout->dp, fmax(1, cut.seats));
    if (cut.paged) {
        generate_parts(w, cut.paged->first, cut.paged->part, cut.paged->n);
        return;
    }
    if (!w->expected->responses) {
        generate_waves(w, cut, rows);
        return;
    }
    const rlf_sampling sampling = {.lengths = w->expected->responses,
                                   .most = w->expected->most,
                                   .rows = rows,
                                   .seats = fmax(1, cut.seats),
                                   .replicas = w->layout->dp,
                                   .group = w->size->samples /
                                            fmax(1, w->size->prompts)};
    int n = rlf_sampling_parts(&sampling, parts);
    generate_parts(w, fmin(rows, sampling.seats), parts, n);
}

/* ---- micro-batches ---- */

static int
groups_of(const rlf_node *node)
{
    int n = node->loss ? rlf_loss_passes(node->loss) : 0;
    return n ? n : 1;
}

static int
chunks_of(const rlf_layout *l)
{
    return l->chunks > 1 ? l->chunks : 1;
}

/* `times` micro-batches through a chunk. */
static void
go_through(const work *w, rlf_piece_kind kind, int chunk, double each,
           double times)
{
    rlf_piece piece = {.kind = kind,
                       .chunk = chunk,
                       .prompt = whole(w->expected->prompt),
                       .response = whole(w->expected->response)};
    for (piece.group = 0; piece.group < groups_of(w->node); piece.group++)
        add_rows(w, piece, each, w->expected->prompt + w->expected->response,
                 times, 0);
}

/* Bytes that the stage sends of a micro-batch. */
static double
bytes_sent(const work *w, rlf_piece_kind kind, int chunk, double each)
{
    rlf_piece piece = {.kind = kind,
                       .chunk = chunk,
                       .rows = whole(each),
                       .prompt = whole(w->expected->prompt),
                       .response = whole(w->expected->response)};
    double bytes = 0;
    for (piece.group = 0; piece.group < groups_of(w->node); piece.group++)
        bytes += rlf_opened_piece(w->opened, w->sizes, w->node->id, &piece)
                     .meets[RLF_AXIS_PP]
                     .bytes;
    return bytes;
}

/* Micro-batches that have a row. */
static double
micros_of(rlf_call_cut cut, double rows)
{
    return fmin(fmax(1, cut.micros), fmax(1, rows));
}

/* ---- stages ---- */

/* The work of a replica's stages, by kinds that are alike. */
typedef struct replica {
    work *kind;
    int n_kinds;
    const int *of; /* per stage; NULL: all are alike */
} replica;

static const work *
stage_of(const replica *r, int stage)
{
    return &r->kind[r->of ? r->of[stage] : 0];
}

/* What a stage of each kind takes for the same, and the index of the slowest.
 */
static int
slowest(const rlf_seconds *each, int n)
{
    int most = 0;
    for (int k = 1; k < n; k++)
        most = each[k].total > each[most].total ? k : most;
    return most;
}

/* One direction of all micro-batches: the last comes to the slowest stage when
 * that is done with all before, and the first when it has gone through the
 * stages before it. What a stage sends is on its way while it computes: only
 * the first of them waits. */
static void
pass(const replica *r, rlf_piece_kind kind, rlf_call_cut cut, double rows,
     rlf_seconds *sum, rlf_call_times *times)
{
    const work *w = &r->kind[0];
    const rlf_layout *l = w->layout;
    int chunks = chunks_of(l);
    double micros = micros_of(cut, rows), passes = l->vee ? 1 : chunks;
    rlf_seconds each[RLF_CALL_KINDS] = {0};
    rlf_messages messages;
    for (int k = 0; k < r->n_kinds; k++) {
        double busy = 0;
        work one = r->kind[k];
        one.sum = &each[k];
        one.busy = &busy;
        one.parts = micros;
        for (int chunk = 0; chunk < chunks; chunk++)
            go_through(&one, kind, chunk, rows / micros, 1);
        *r->kind[k].busy += micros * busy;
    }
    int most = slowest(each, r->n_kinds);
    rlf_seconds_add(sum, &each[most], micros - 1 / passes);
    for (int stage = 0; stage < l->pp; stage++)
        rlf_seconds_add(sum, &each[r->of ? r->of[stage] : 0], 1 / passes);
    if (l->pp == 1)
        return;
    double bytes = bytes_sent(stage_of(r, 0), kind, 0, rows / micros);
    rlf_messages_make(w->speeds, l, w->opened->rank, bytes, &messages);
    rlf_messages_add(&messages, messages.sum, sum);
    if (times)
        note_messages(times, messages.n, messages.n * bytes);
}

static const rlf_piece_kind trained[] = {RLF_PIECE_FORWARD, RLF_PIECE_BACKWARD,
                                         RLF_PIECE_WEIGHTS};

/* A micro-batch of an update. */
typedef struct training {
    rlf_pipe_cost *cost; /* by stage, a chunk of all places after the other */
    rlf_seconds once[RLF_CALL_KINDS]; /* of all chunks of a place together */
    double micros;
    rlf_messages messages;
} training;

/* A chunk of a stage. */
static rlf_pipe_cost
look_at_chunk(const work *w, int chunk, double each, bool split,
              rlf_seconds *once)
{
    rlf_pipe_cost cost = {0};
    double *to[] = {&cost.forward, &cost.backward, &cost.weights};
    for (int k = 0; k < (split ? 3 : 2); k++) {
        rlf_seconds seconds = {0};
        double ignored = 0;
        work one = *w;
        one.sum = &seconds;
        one.busy = &ignored;
        go_through(&one, trained[k], chunk, each, 1);
        *to[k] = seconds.total;
        rlf_seconds_add(once, &seconds, 1);
    }
    return cost;
}

static void
look_at_micro(const replica *r, double micros, double each, training *t)
{
    const work *w = &r->kind[0];
    const rlf_layout *l = w->layout;
    int chunks = chunks_of(l), pp = l->pp;
    bool split = l->vee || w->opened->plan->place[w->node->id].owed;
    *t = (training){.micros = micros};
    t->cost = rlf_calloc((size_t)(chunks * pp), sizeof *t->cost);
    for (int k = 0; k < r->n_kinds; k++)
        for (int chunk = 0; chunk < chunks; chunk++) {
            rlf_pipe_cost cost =
                look_at_chunk(&r->kind[k], chunk, each, split, &t->once[k]);
            for (int stage = 0; stage < pp; stage++) {
                int place = l->vee && chunk % 2 ? pp - 1 - stage : stage;
                if (!r->of || r->of[place] == k)
                    t->cost[chunk * pp + stage] = cost;
            }
        }
    if (pp == 1)
        return;
    double bytes = bytes_sent(stage_of(r, 0), RLF_PIECE_FORWARD, 0, each);
    if (!(bytes > 0)) /* the last stage sends gradients alone */
        bytes = bytes_sent(w, RLF_PIECE_BACKWARD, chunks - 1, each);
    rlf_messages_make(w->speeds, l, w->opened->rank, bytes, &t->messages);
}

/* Seconds by the table of the schedule, of a number of micro-batches that need
 * not be whole. */
static double
time_of_table(const work *w, rlf_call_cut cut, const training *t,
              const double *send)
{
    rlf_arena *scratch = cut.pipelines ? NULL : rlf_arena_new();
    rlf_pipelines *known =
        cut.pipelines ? cut.pipelines : rlf_pipelines_new(scratch);
    rlf_pipeline of = {.schedule = w->opened->plan->place[w->node->id].schedule,
                       .pp = w->layout->pp,
                       .chunks = chunks_of(w->layout),
                       .micros = (int)floor(t->micros)};
    double more = t->micros - of.micros;
    double takes = (1 - more) * rlf_pipelines_time(known, &of, t->cost, send);
    of.micros++;
    if (more > 0)
        takes += more * rlf_pipelines_time(known, &of, t->cost, send);
    rlf_arena_free(scratch);
    return takes;
}

/* With one forward, one backward in turn, or by a table of the program: what a
 * split backward leaves is done while others would be waited for, of each
 * micro-batch, less one for each stage. All micro-batches go through the
 * slowest stage, and one through the others. */
static double
time_of_turns(const work *w, const training *t)
{
    int chunks = chunks_of(w->layout), pp = w->layout->pp;
    double takes = 0, most = 0, micros = t->micros;
    for (int stage = 0; stage < pp; stage++) {
        double turn = 0, weights = 0;
        for (int chunk = 0; chunk < chunks; chunk++) {
            int at = w->layout->vee && chunk % 2 ? pp - 1 - stage : stage;
            const rlf_pipe_cost *c = &t->cost[chunk * pp + at];
            turn += c->forward + c->backward;
            weights += c->weights;
        }
        double all = (micros - 1.0 / chunks) * turn +
                     (micros - fmin(pp - 1, micros)) * weights;
        takes += turn / chunks;
        most = fmax(most, all);
    }
    return takes + most;
}

/* Messages that take a smaller part of a micro-batch than this are waited for
 * only once each way. */
#define FEW 0.002

/* An update: the work of all micro-batches, and as much of the same as the
 * stages wait for each other; then what they wait for messages. */
static void
train(const replica *r, rlf_call_cut cut, double rows, rlf_seconds *sum)
{
    const work *w = &r->kind[0];
    const rlf_node_place *place = &w->opened->plan->place[w->node->id];
    training t;
    double micros = micros_of(cut, rows);
    look_at_micro(r, micros, rows / micros, &t);
    bool named = w->layout->pp > 1 && !place->pipe;
    bool turns = !named || strcmp(place->schedule, "1f1b") == 0;
    double takes =
        turns ? time_of_turns(w, &t) : time_of_table(w, cut, &t, NULL);
    const rlf_seconds *once = &t.once[slowest(t.once, r->n_kinds)];
    if (once->total > 0)
        rlf_seconds_add(sum, once, takes / once->total);
    for (int k = 0; k < r->n_kinds; k++)
        *r->kind[k].busy += micros * t.once[k].total;
    if (t.messages.n) {
        double waits = 2 * t.messages.sum;
        if (named && t.messages.most > FEW * once->total)
            waits = time_of_table(w, cut, &t, t.messages.send) - takes;
        rlf_messages_add(&t.messages, fmax(0, waits), sum);
    }
    free(t.cost);
}

/* Seconds of so many rows of a reading that are a part of all of them: those of
 * other lengths than others, or where all are alike each so manieth. */
static double
seconds_apart(const replica *r, double rows, double part)
{
    const work *w = &r->kind[0];
    const rlf_resource *model =
        &w->opened->plan->graph->resources.data[w->node->receiver];
    const rlf_caps *caps =
        rlf_resource_caps(model, w->opened->resource[w->node->receiver]);
    double all = together(w->node, w->expected);
    double each = w->expected->responses ? rlf_sharing_in(all, part)
                                         : fmax(1, all * part);
    double ignored[RLF_CALL_KINDS] = {0};
    rlf_seconds one = {0};
    rlf_call_cut cut = {
        .micros = rlf_expected_micros(w->expected, rows,
                                      caps->tokens[RLF_USE_READ], each)};
    work kinds[RLF_CALL_KINDS];
    replica some = {kinds, r->n_kinds, r->of};
    for (int k = 0; k < r->n_kinds; k++) {
        kinds[k] = r->kind[k];
        kinds[k].busy = &ignored[k];
        kinds[k].each = w->each > 0 ? each : 0;
    }
    pass(&some, RLF_PIECE_FORWARD, cut, rows, &one, NULL);
    return one.total;
}

/* Are the samples of a prompt read by one replica? They are where all replicas
 * have as many of them, or nearly. */
static bool
go_together(const work *w)
{
    double each = w->size->prompts / (double)w->layout->dp;
    return ceil(each) <= each + each / RLF_DEAL_SLACK;
}

/* Seconds that a reading takes again for each piece of its rows that is read by
 * itself: stages are filled, micro-batches copy weights, and prompts are read
 * again of which other samples were in another piece. Of a quarter of the rows,
 * as where there is so much to read that pieces wait for each other. */
static double
seconds_anew(const replica *r, double all, double rows)
{
    const work *w = &r->kind[0];
    double part = 1. / RLF_CALL_PIECES / (go_together(w) ? 1 : w->layout->dp);
    double one = seconds_apart(r, rows / RLF_CALL_PIECES, part);
    double more = RLF_CALL_PIECES * one - all;
    return fmin(fmax(0, more / (RLF_CALL_PIECES - 1)), all);
}

/* Seconds of a reading whose rows are not all read together. */
static void
note_parts(const replica *r, double all, double rows, double runs,
           rlf_call_times *times)
{
    int dp = r->kind[0].layout->dp;
    bool parts = r->kind[0].each > 1 && !go_together(&r->kind[0]);
    times->anew = runs * seconds_anew(r, all, rows);
    for (int k = 0; k < RLF_SCATTERS && 1 << k < dp && parts; k++)
        times->scattered[k] =
            runs * fmax(0, seconds_apart(r, rows, (1 << k) / (double)dp) - all);
}

/* ---- calls ---- */

/* As if all stages were like the slowest. */
static void
generate_all(const replica *r, rlf_call_cut cut, double rows, rlf_seconds *sum,
             rlf_call_times *times)
{
    rlf_choice_messages most = {0};
    double took = 0; /* by the stage that sends so many */
    for (int k = 0; k < r->n_kinds; k++) {
        rlf_seconds seconds = {0};
        rlf_call_times own = {0};
        work one = r->kind[k];
        one.sum = &seconds;
        one.times = times ? &own : NULL;
        generate(&one, cut, rows);
        if (own.messages.bytes > most.bytes) {
            most = own.messages;
            took = seconds.total;
        }
        if (seconds.total <= sum->total)
            continue;
        *sum = seconds;
        if (times)
            *times = own;
    }
    most.spare = sum->total - took;
    if (times)
        times->messages = most;
}

/* The end of an update, for which all ranks wait. */
static void
finish(const replica *r, double rows, rlf_seconds *sum)
{
    const work *w = &r->kind[0];
    rlf_seconds each[RLF_CALL_KINDS] = {0};
    const rlf_piece last = {.kind = RLF_PIECE_FINISH,
                            .rows = (uint64_t)rows,
                            .prompt = whole(w->expected->prompt),
                            .response = whole(w->expected->response)};
    for (int k = 0; k < r->n_kinds; k++) {
        work one = r->kind[k];
        one.sum = &each[k];
        add(&one, &last, 0, 1, 1);
    }
    rlf_seconds_add(sum, &each[slowest(each, r->n_kinds)], 1);
}

static void
call_once(const replica *r, rlf_call_cut cut, double rows, rlf_seconds *sum,
          rlf_call_times *times)
{
    const work *w = &r->kind[0];
    const rlf_node *node = w->node;
    if (node->class->work == RLF_WORK_GENERATE) {
        generate_all(r, cut, rows, sum, times);
    } else if (node->class->work != RLF_WORK_TRAIN) {
        pass(r, RLF_PIECE_FORWARD, cut, rows, sum, times);
    } else {
        if (node->loss && rlf_loss_reads_first(node->loss, w->layout->pp))
            pass(r, RLF_PIECE_BEFORE, cut, rows, sum, NULL);
        train(r, cut, rows, sum);
        finish(r, rows, sum);
    }
}

void
rlf_call_seconds(const rlf_call_stages *stages, const rlf_sizes *sizes,
                 const rlf_expected_set *expected, const rlf_node *node,
                 rlf_call_cut cut, const rlf_speeds *speeds, rlf_seconds *out,
                 rlf_call_times *times)
{
    const rlf_opened *first = &stages->kinds[0];
    const rlf_layout *layout = &first->plan->place[node->id].layout;
    double rows = rows_of(first, sizes, expected, node),
           runs = sizes->runs[node->id];
    double busy[RLF_CALL_KINDS] = {0}, most = 0;
    int set = set_of(first, node);
    rlf_seconds once = {0};
    rlf_rank_links links[RLF_CALL_KINDS];
    work kinds[RLF_CALL_KINDS];
    const replica all = {kinds, stages->n_kinds, stages->of};
    for (int k = 0; k < stages->n_kinds; k++) {
        links[k] =
            (rlf_rank_links){.layout = layout, .rank = stages->kinds[k].rank};
        kinds[k] =
            (work){.opened = &stages->kinds[k],
                   .sizes = sizes,
                   .size = &sizes->set[set],
                   .expected = &expected[set],
                   .each = reads_samples(node) ? fmax(1, expected[set].each) *
                                                     rlf_node_sets(node)
                                               : 0,
                   .node = node,
                   .layout = layout,
                   .speeds = speeds,
                   .links = &links[k],
                   .part = 1,
                   .busy = &busy[k]};
    }
    *out = once;
    if (times)
        *times = (rlf_call_times){0};
    call_once(&all, cut, rows, &once, times);
    rlf_seconds_add(out, &once, runs);
    if (!times)
        return;
    for (int k = 0; k < stages->n_kinds; k++)
        most = fmax(most, busy[k]);
    times->busy = most * runs;
    times->messages.n *= runs;
    times->messages.bytes *= runs;
    times->messages.spare *= runs;
    if (use_of(node) == RLF_USE_READ)
        note_parts(&all, once.total, rows, runs, times);
    bool known = node->class->work == RLF_WORK_GENERATE && runs == 1;
    for (int k = 0; k < RLF_CHOICE_PARTS; k++)
        times->complete[k] = known ? times->complete[k] / once.total : 1;
    times->n_gathers = known ? times->n_gathers : 0;
}
