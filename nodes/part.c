/* `x[s]` on sets: the part of x that belongs to the set s.
 *
 * The grammar says how by the domains of the new set (rlf_set_belonging in
 * grammar/set.c): it has the rows of s, or, where s names only prompts, samples
 * of its own. Columns have no node of their own: theirs is arithmetic. */
#include "engine/graph/class.h"

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    (void)err;
    const rlf_graph *graph = call->env->graph;
    const rlf_value *out = &graph->values.data[call->node->outputs[0]];
    call->out[0].rows =
        rlf_rows_belonging(call->env->pool, graph, &graph->sets.data[out->set],
                           call->in[0].rows, call->in[1].rows);
    return RLF_OK;
}

const rlf_node_class rlf_node_part = {
    .name = "part",
    .doc = "the part of a set that belongs to another",
    .form = RLF_FORM_SYNTAX,
    .gives = RLF_GIVES_SET,
    .level = RLF_LEVEL_SAMPLE,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};
