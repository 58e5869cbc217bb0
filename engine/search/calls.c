/* Seconds of calls on a layout: see calls.h. */
#include "engine/search/call_work.h"

#include <math.h>

#include "engine/layout/lanes.h"
#include "engine/order/order.h"

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

/* ---- parts of a reading ---- */

/* Seconds of so many rows of a reading that are a part of all of them: those of
 * other lengths than others, or where all are alike each so manieth. */
static double
seconds_apart(const rlf_call_replica *r, double rows, double part)
{
    const rlf_call_work *w = &r->kind[0];
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
    rlf_call_work kinds[RLF_CALL_KINDS];
    rlf_call_replica some = {kinds, r->n_kinds, r->of};
    for (int k = 0; k < r->n_kinds; k++) {
        kinds[k] = r->kind[k];
        kinds[k].busy = &ignored[k];
        kinds[k].each = w->each > 0 ? each : 0;
    }
    rlf_call_pass(&some, RLF_PIECE_FORWARD, cut, rows, &one, NULL);
    return one.total;
}

/* Are the samples of a prompt read by one replica? They are where all replicas
 * have as many of them, or nearly. */
static bool
go_together(const rlf_call_work *w)
{
    double each = w->size->prompts / (double)w->layout->dp;
    return ceil(each) <= each + each / RLF_DEAL_SLACK;
}

/* Seconds that a reading takes again for each piece of its rows that is read by
 * itself: stages are filled, micro-batches copy weights, and prompts are read
 * again of which other samples were in another piece. Of a quarter of the rows,
 * as where there is so much to read that pieces wait for each other. */
static double
seconds_anew(const rlf_call_replica *r, double all, double rows)
{
    const rlf_call_work *w = &r->kind[0];
    double part = 1. / RLF_CALL_PIECES / (go_together(w) ? 1 : w->layout->dp);
    double one = seconds_apart(r, rows / RLF_CALL_PIECES, part);
    double more = RLF_CALL_PIECES * one - all;
    return fmin(fmax(0, more / (RLF_CALL_PIECES - 1)), all);
}

/* Seconds of a reading whose rows are not all read together. */
static void
note_parts(const rlf_call_replica *r, double all, double rows, double runs,
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

static void
call_once(const rlf_call_replica *r, rlf_call_cut cut, double rows,
          rlf_seconds *sum, rlf_call_times *times)
{
    const rlf_call_work *w = &r->kind[0];
    const rlf_node *node = w->node;
    if (node->class->work == RLF_WORK_GENERATE) {
        rlf_call_generate(r, cut, rows, sum, times);
    } else if (node->class->work != RLF_WORK_TRAIN) {
        rlf_call_pass(r, RLF_PIECE_FORWARD, cut, rows, sum, times);
    } else {
        if (node->loss && rlf_loss_reads_first(node->loss, w->layout->pp))
            rlf_call_pass(r, RLF_PIECE_BEFORE, cut, rows, sum, NULL);
        rlf_call_train(r, cut, rows, sum);
        rlf_call_finish(r, rows, sum);
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
    rlf_call_work kinds[RLF_CALL_KINDS];
    const rlf_call_replica all = {kinds, stages->n_kinds, stages->of};
    for (int k = 0; k < stages->n_kinds; k++) {
        links[k] =
            (rlf_rank_links){.layout = layout, .rank = stages->kinds[k].rank};
        kinds[k] = (rlf_call_work){.opened = &stages->kinds[k],
                                   .sizes = sizes,
                                   .size = &sizes->set[set],
                                   .expected = &expected[set],
                                   .each = reads_samples(node)
                                               ? fmax(1, expected[set].each) *
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
