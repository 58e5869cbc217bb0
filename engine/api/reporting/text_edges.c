/* Messages from rank to rank in a step of a plan, how long the stages of its
 * pipelines wait, and how much room its generations have: the lines of rlflow
 * plan -v, in comments. No data and no model is opened; for the sizes of
 * weights that are cut or move the configs of their models are read. */
#include "engine/api/reporting/texts.h"

#include "engine/api/searching/memory_advice.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "engine/plan/pipes.h"

#include <inttypes.h>
#include <math.h>

/* The user's names of the values that a node makes. */
static const char *
value_names(rlf_session *s, const rlf_node *node)
{
    const char *names = "";
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &s->graph->values.data[node->outputs[i]];
        names = rlf_arena_printf(s->arena, "%s%s%s", names, i ? "," : "",
                                 v->name ? v->name : "");
    }
    return names;
}

static void
put_bytes(double bytes, rlf_buf *out)
{
    if (isfinite(bytes))
        rlf_buf_printf(out, " %12.0f", bytes);
    else
        rlf_buf_printf(out, " %12s", "?");
}

static void
put_flow(rlf_session *s, const rlf_flow *flow, rlf_buf *out)
{
    const rlf_node *nodes = s->graph->nodes.data;
    const rlf_node *from = &nodes[flow->from];
    const char *to = "samples.jsonl", *need = "rank 0";
    if (flow->to >= 0) {
        to = rlf_text_node(s, &nodes[flow->to]);
        need = rlf_side_protocol(&flow->need);
    }
    const char *way = rlf_arena_printf(s->arena, "%s -> %s",
                                       rlf_side_protocol(&flow->have), need);
    rlf_buf_printf(out, "# %-16s %-18s %-18s %-26s %5d %6d %9" PRId64,
                   value_names(s, from), rlf_text_node(s, from), to, way,
                   flow->times, flow->rounds, flow->messages);
    put_bytes(flow->bytes, out);
    put_bytes(flow->sent, out);
    put_bytes(flow->received, out);
    rlf_buf_putc(out, '\n');
}

static void
put_flows(rlf_session *s, const rlf_traffic *traffic, rlf_buf *out)
{
    rlf_buf_printf(
        out,
        "# edges of a step at the caps; bytes of all ranks, and of the one "
        "that sends most and receives most\n"
        "# %-16s %-18s %-18s %-26s %5s %6s %9s %12s %12s %12s\n",
        "value", "from", "to", "protocol", "times", "rounds", "messages",
        "bytes", "sent", "received");
    for (int i = 0; i < traffic->count; i++)
        put_flow(s, &traffic->list[i], out);
}

/* ---- weights ---- */

/* "actor.generate on 0..3 (tp: 2, pp: 1, dp: 2)": where a copy lies. */
static const char *
copy_words(rlf_session *s, int model, int index)
{
    const rlf_weight_copy *copy = &s->plan->copies[model].list[index];
    const rlf_layout *l = &copy->mesh.layout;
    rlf_place_row row = rlf_place_row_new(model, index ? copy->call : NULL);
    row.ranks = l->ranks;
    row.n_ranks = l->n_ranks;
    row.tp = l->tp;
    row.pp = l->pp;
    row.dp = l->dp;
    rlf_buf text = {0};
    rlf_place_row_print(s->graph, &row, &text);
    const char *words = rlf_arena_strdup(s->arena, text.p);
    rlf_buf_free(&text);
    return words;
}

static rlf_status
put_weight_flow(rlf_session *s, const rlf_weight_flow *flow, rlf_err *err,
                rlf_buf *out)
{
    rlf_realloc_job job;
    rlf_realloc_plan moves;
    RLF_TRY(rlf_text_weights(s, flow, NULL, &job, &moves, err));
    rlf_realloc_total t;
    rlf_realloc_sum(&job, &moves, s->arena, &t);
    rlf_buf_printf(out,
                   "# %-44s %-46s %-12s %5d %7d %9" PRId64 " %12" PRId64
                   " %12" PRId64 " %12" PRId64 " %12" PRId64 " %12" PRId64 "\n",
                   copy_words(s, flow->model, 0),
                   copy_words(s, flow->model, flow->copy),
                   rlf_topologies_word(moves.topologies), flow->times,
                   moves.n_sends, t.messages, t.bytes, t.most.sent,
                   t.most.received, t.most.peak, t.most.redundant);
    return RLF_OK;
}

/* Each time of each is the same; a model that cannot be read is told of, for
 * a plan needs no model. */
static void
put_weights(rlf_session *s, const rlf_traffic *traffic, rlf_buf *out)
{
    rlf_buf_printf(
        out,
        "# weights that move in a step, each time; bytes of all ranks, and "
        "of the one with most\n"
        "# %-44s %-46s %-12s %5s %7s %9s %12s %12s %12s %12s %12s\n",
        "from", "to", "topology", "times", "pieces", "messages", "bytes",
        "sent", "received", "peak", "redundant");
    for (int i = 0; i < traffic->n_weights; i++) {
        const rlf_weight_flow *flow = &traffic->weights[i];
        rlf_err err = RLF_ERR_NONE;
        if (put_weight_flow(s, flow, &err, out) < 0)
            rlf_buf_printf(
                out, "# %-44s %-46s ? (%s)\n", copy_words(s, flow->model, 0),
                copy_words(s, flow->model, flow->copy), err.sentence);
    }
}

static void
put_edges(rlf_session *s, rlf_buf *out)
{
    rlf_sizes sizes =
        rlf_sizes_make(s->graph, &(rlf_sizes_options){0}, s->arena);
    rlf_traffic traffic;
    rlf_traffic_count(s->plan, &sizes, s->options.samples, s->arena, &traffic);
    if (!traffic.count && !traffic.n_weights)
        rlf_buf_printf(out, "# no edges: nothing goes from rank to rank\n");
    if (traffic.count)
        put_flows(s, &traffic, out);
    if (traffic.n_weights)
        put_weights(s, &traffic, out);
}

/* ---- pipelines ---- */

static const int micros_shown[] = {4, 16, 64};

/* Micro-batches that a stage keeps, the most of any; 0: all. */
static int
most_kept(const rlf_node_place *place)
{
    const rlf_layout *l = &place->layout;
    int most = 0;
    for (int stage = 0; stage < l->pp; stage++) {
        int kept = 0;
        for (int c = 0; c < l->chunks; c++)
            kept += place->flights[stage * l->chunks + c];
        most = kept > most ? kept : most;
    }
    return most;
}

static void
put_pipeline(rlf_session *s, const rlf_node *node, rlf_buf *out)
{
    const rlf_node_place *place = &s->plan->place[node->id];
    int n = place->pipe ? place->pipe->n_models : 1, kept = most_kept(place);
    const char *schedule =
        place->pipe ? rlf_pipes_name(place->table) : place->schedule;
    rlf_buf_printf(out, "# %-18s %-26s %6d %6d ", rlf_text_node(s, node),
                   schedule, place->layout.pp, place->layout.chunks);
    rlf_buf_printf(out, kept ? "%5d" : "  all", kept);
    for (size_t i = 0; i < RLF_COUNT(micros_shown); i++) {
        rlf_pipe pipe;
        rlf_pipe_report report;
        int *micros = RLF_NEW_ARRAY(s->arena, int, n);
        rlf_pipe_cost *cost = RLF_NEW_ARRAY(s->arena, rlf_pipe_cost, n);
        for (int m = 0; m < n; m++) {
            micros[m] = micros_shown[i];
        }
        rlf_pipes_table(place, micros, s->arena, &pipe);
        for (int m = 0; m < n; m++) {
            bool split = pipe.models[m].split;
            cost[m] = (rlf_pipe_cost){
                .forward = 1, .backward = split ? 1 : 2, .weights = split};
        }
        rlf_pipe_time(&pipe, rlf_pipe_even(&pipe, cost, s->arena), s->arena,
                      &report, NULL);
        rlf_buf_printf(out, " %7.1f %%", 100 * report.bubble);
    }
    rlf_buf_putc(out, '\n');
}

/* One line for each model that is trained in stages. */
static void
put_pipelines(rlf_session *s, rlf_buf *out)
{
    bool *shown = RLF_NEW_ARRAY(s->arena, bool, s->graph->resources.count);
    bool any = false;
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (node->class->work != RLF_WORK_TRAIN || shown[node->receiver] ||
            s->plan->place[i].layout.pp == 1)
            continue;
        if (!any) {
            rlf_buf_printf(
                out,
                "# pipelines: micro-batches that a stage keeps, and how "
                "much of the time it waits\n# with so many of them, if "
                "going back takes twice as long as going forward\n"
                "# %-18s %-26s %6s %6s %5s",
                "update", "schedule", "stages", "chunks", "kept");
            for (size_t k = 0; k < RLF_COUNT(micros_shown); k++)
                rlf_buf_printf(out, " %9d", micros_shown[k]);
            rlf_buf_putc(out, '\n');
        }
        shown[node->receiver] = any = true;
        put_pipeline(s, node, out);
    }
}

/* A line for each generation: how many samples have room for their keys and
 * values, if all are as long as they can be. */
static void
put_pages(rlf_session *s, rlf_buf *out)
{
    const rlf_page_room *pages;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_memory_plan_pages(s, s->arena, &err, &pages) < 0)
        return; /* check_room says why */
    rlf_sizes sizes =
        rlf_sizes_make(s->graph, &(rlf_sizes_options){0}, s->arena);
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        const rlf_page_room *room = &pages[i];
        if (node->class->work != RLF_WORK_GENERATE || !room->tokens ||
            !room->longest)
            continue;
        int set = s->graph->values.data[node->outputs[0]].set;
        double each = sizes.set[set].samples / s->plan->place[i].layout.dp;
        double fit = (double)(room->pages / room->longest);
        rlf_buf_printf(
            out,
            "# pages: %s has keys and values of %" PRIu64 " tokens on each "
            "replica, for %.0f samples that are as long as they can be",
            rlf_text_node(s, node), room->pages * room->tokens, fit);
        if (isfinite(each))
            rlf_buf_printf(out, "; it has %.0f", ceil(each));
        rlf_buf_putc(out, '\n');
    }
}

bool
rlf_text_edges(rlf_session *s, rlf_buf *out)
{
    if (!s->plan)
        return false;
    put_edges(s, out);
    put_pipelines(s, out);
    if (s->planning.cluster)
        put_pages(s, out);
    return true;
}
