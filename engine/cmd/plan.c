/* rlflow plan: where everything runs, as a place block that can be pasted or
 * given to --plan; with --verbose also what goes from rank to rank. All else
 * that is printed stands in comments. Opens no data and no model. */
#include "engine/cmd/cmd.h"

#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "engine/order/rehearse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a node makes, by the user's names. */
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
put_bytes(double bytes)
{
    if (isfinite(bytes))
        printf(" %12.0f", bytes);
    else
        printf(" %12s", "?");
}

static void
put_flow(rlf_session *s, const rlf_flow *flow)
{
    const rlf_node *nodes = s->graph->nodes.data;
    const rlf_node *from = &nodes[flow->from];
    const char *to = "samples.jsonl", *need = "rank 0";
    if (flow->to >= 0) {
        to = rlf_cmd_node_name(s, &nodes[flow->to]);
        need = rlf_side_protocol(&flow->need);
    }
    const char *way = rlf_arena_printf(s->arena, "%s -> %s",
                                       rlf_side_protocol(&flow->have), need);
    printf("# %-16s %-18s %-18s %-26s %5d %9" PRId64, value_names(s, from),
           rlf_cmd_node_name(s, from), to, way, flow->times, flow->messages);
    put_bytes(flow->bytes);
    put_bytes(flow->sent);
    put_bytes(flow->received);
    putchar('\n');
}

static void
put_edges(rlf_session *s)
{
    rlf_sizes sizes =
        rlf_sizes_make(s->graph, &(rlf_sizes_options){0}, s->arena);
    rlf_rehearsal edges;
    rlf_rehearse(s->plan, &sizes, s->options.samples, s->arena, &edges);
    if (!edges.count) {
        printf("# no edges: nothing goes from rank to rank\n");
        return;
    }
    printf("# edges of a step at the caps; bytes of all ranks, and of the one "
           "that sends most and receives most\n"
           "# %-16s %-18s %-18s %-26s %5s %9s %12s %12s %12s\n",
           "value", "from", "to", "protocol", "times", "messages", "bytes",
           "sent", "received");
    for (int i = 0; i < edges.count; i++)
        put_flow(s, &edges.list[i]);
}

int
rlf_cmd_plan(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result = rlf_session_plan(s);
    if (result == RLF_RESULT_OK && s->leads) {
        rlf_cmd_put_plan(s);
        if (line->options[RLF_OPTION_VERBOSE].given)
            put_edges(s);
    }
    return rlf_cmd_end(s, result);
}
