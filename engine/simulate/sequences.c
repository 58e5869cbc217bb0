/* Finds how long the rows of a simulated run are: drawn where they are
 * generated, from then on those of what a node reads. */
#include "engine/simulate/simulate_state.h"

#include <math.h>

static const sequences none = {.known = true};

uint64_t
rlf_sim_step(const simulation *s, int instance)
{
    uint64_t n_steps = (uint64_t)s->n_steps, step = s->step;
    while (step % n_steps != (uint64_t)instance % n_steps)
        step++;
    return step;
}

static uint32_t
tokens_of(double x, uint32_t unknown)
{
    return isfinite(x) && x >= 1 && x < UINT32_MAX ? (uint32_t)x : unknown;
}

/* The site of the node that makes a set: keys of its rows. */
static uint32_t
site_of(const rlf_graph *graph, int set)
{
    const rlf_node *node = rlf_graph_maker(graph, set);
    return node ? node->site : 0;
}

static uint32_t
draw(const rlf_length_distribution *d, const rlf_random_key *key, uint32_t most)
{
    return d ? rlf_lengths_draw(d, key, most) : most + !most;
}

/* The rows of a set that an instance makes, and of which prompt each is. */
static rlf_rank_event
rows_of(const simulation *s, const rlf_node *node, int set, rlf_arena *arena)
{
    const rlf_set_size *size = &s->options->sizes->set[set];
    if (node->class->work == RLF_WORK_GENERATE)
        return rlf_answer_open(&s->answers, &(rlf_rank_command){.n = 0}, node,
                               arena);
    uint32_t n = rlf_answer_count(&s->answers, size->samples);
    uint64_t prompts = rlf_answer_count(&s->answers, size->prompts);
    uint32_t *owner = RLF_NEW_ARRAY(arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        owner[i] = (uint32_t)(i * prompts / n);
    return (rlf_rank_event){.n_rows = n, .owner = owner};
}

static bool
are_even(const rlf_length *list, uint32_t n)
{
    bool even = n > 0;
    for (uint32_t i = 1; i < n; i++)
        even &= list[i].prompt == list[0].prompt &&
                list[i].response == list[0].response;
    return even;
}

/* Of a set with responses that a node makes: lengths are functions of step, of
 * the call or the prompts' set, and of the row there. */
static sequences
draw_lengths(simulation *s, int instance, int index)
{
    const rlf_node *node = rlf_sim_instance(s, instance)->node;
    const rlf_workload *w = s->options->workload;
    rlf_arena *arena = s->step_arenas[instance % s->n_steps];
    rlf_rank_event rows = rows_of(s, node, index, arena);
    rlf_length *list = RLF_NEW_ARRAY(arena, rlf_length, rows.n_rows + 1);
    const rlf_set_size *size = &s->options->sizes->set[index];
    const rlf_length_distribution *prompts =
        rlf_workload_prompts(w, s->graph, index);
    const rlf_length_distribution *responses =
        rlf_workload_responses(w, s->graph, index);
    const rlf_workload_most most =
        rlf_workload_bound(w, s->graph, s->options->sizes, index);
    uint32_t longest = tokens_of(most.prompt, 1);
    uint32_t whole = tokens_of(size->sequence, UINT32_MAX);
    rlf_random_key key = {.seed = s->options->seed,
                          .site = node->site,
                          .step = (uint32_t)rlf_sim_step(s, instance)};
    rlf_random_key of_prompt = key;
    of_prompt.site = site_of(s->graph, rlf_workload_root(s->graph, index));
    for (uint32_t i = 0; i < rows.n_rows; i++) {
        key.sample = i;
        const uint32_t group = rows.owner ? rows.owner[i] : i;
        of_prompt.sample = group;
        uint32_t prompt = draw(prompts, &of_prompt, longest);
        uint32_t rest = prompt < whole ? whole - prompt : 1;
        uint32_t response = draw(responses, &key, tokens_of(most.response, 0));
        list[i] = (rlf_length){.prompt = prompt,
                               .response = response < rest ? response : rest,
                               .group = group};
    }
    return (sequences){.known = true,
                       .even = are_even(list, rows.n_rows),
                       .list = list,
                       .n_list = rows.n_rows,
                       .n = rows.n_rows};
}

/* The set with responses that a node makes anew, or that it collects; or -1. */
static int
made_by(const simulation *s, const rlf_node *node)
{
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &s->graph->values.data[node->outputs[i]];
        const rlf_set *set =
            v->kind == RLF_VALUE_SET ? &s->graph->sets.data[v->set] : NULL;
        if (set && set->tokens >= 0 && set->origin < 0)
            return v->set;
    }
    return -1;
}

/* Rows of what an instance makes: of its own domain, or of its set. */
static uint32_t
rows_made(const simulation *s, const rlf_node *node, uint32_t unknown)
{
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &s->graph->values.data[node->outputs[i]];
        if (v->kind == RLF_VALUE_SET)
            return tokens_of(s->options->sizes->set[v->set].samples, unknown);
    }
    if (node->rows >= 0)
        return tokens_of(s->options->sizes->values[node->rows], unknown);
    return unknown;
}

/* Of the first input that has lengths, one of the same rows before others. */
static sequences
inherit(simulation *s, int instance)
{
    const rlf_instance *in = rlf_sim_instance(s, instance);
    sequences best = none;
    bool aligned = false;
    for (int i = 0; i < in->node->n_inputs && !aligned; i++) {
        int from = in->input[i].instance;
        if (from < 0)
            continue;
        sequences q = rlf_sim_sequences(s, from);
        aligned = in->node->rows >= 0 &&
                  rlf_sim_instance(s, from)->node->rows == in->node->rows;
        if (q.list && (aligned || !best.list))
            best = q;
        aligned &= q.list != NULL;
    }
    return best;
}

/* The record of what is known of an instance. */
static sequences *
slot(simulation *s, int instance)
{
    while (s->sequences.count <= (size_t)instance)
        RLF_PUSH(&s->sequences, (sequences){0});
    return &s->sequences.data[instance];
}

sequences
rlf_sim_sequences(simulation *s, int instance)
{
    if (slot(s, instance)->known)
        return *slot(s, instance);
    const rlf_node *node = rlf_sim_instance(s, instance)->node;
    sequences q;
    int made = made_by(s, node);
    if (made >= 0) {
        q = draw_lengths(s, instance, made);
    } else {
        q = inherit(s, instance);
        q.n = rows_made(s, node, q.n);
        q.known = true;
    }
    return *slot(s, instance) = q;
}

/* Notes the piece of its set that an iteration of a for has. */
static void
note_piece(simulation *s, const rlf_rank_command *command,
           const rlf_instance *in)
{
    const rlf_region *body = &s->graph->regions.data[in->node->regions[0]];
    sequences q = rlf_sim_sequences(s, in->input[0].instance);
    if (!body->n_args || !q.list)
        return;
    const rlf_value *piece = &s->graph->values.data[body->args[0]];
    uint32_t n = q.n;
    if (piece->kind == RLF_VALUE_SET)
        n = tokens_of(s->options->sizes->set[piece->set].samples, q.n);
    uint32_t pieces = (q.n + n - 1) / n, at = command->turn % pieces * n;
    q.first += at;
    q.n = at + n > q.n ? q.n - at : n;
    *slot(s, command->instance) = q;
}

void
rlf_sim_note(simulation *s, const rlf_rank_command *command)
{
    if (command->kind != RLF_DO_RUN)
        return;
    const rlf_instance *in = rlf_sim_instance(s, command->instance);
    if (in->loop && in->node->class->control_flow == RLF_CONTROL_FLOW_LOOP)
        note_piece(s, command, in);
}

sequences
rlf_sim_read(simulation *s, int instance)
{
    const rlf_instance *in = rlf_sim_instance(s, instance);
    const rlf_loss *loss = in->node->loss;
    int from = loss && loss->n_calls
                   ? in->input[loss->calls[0].set_input].instance
                   : instance;
    sequences q = rlf_sim_sequences(s, from < 0 ? instance : from);
    q.sets = (uint32_t)rlf_node_sets(in->node);
    q.n *= q.sets;
    return q;
}
