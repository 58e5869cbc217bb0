/* One step: carrying out the controller's commands on this rank.
 *
 * With one rank the controller runs inline: a command is a call, and what it
 * did is told at once. */
#include "engine/base/clock.h"
#include "engine/base/trace.h"
#include "engine/graph/class.h"
#include "engine/sched/state.h"

#include <stdio.h>

const rlf_space *
rlf_content_rows(const rlf_graph *graph, const rlf_value *value,
                 const rlf_content *content, int domain)
{
    if (value->kind == RLF_VALUE_SET) {
        const rlf_rows *rows = content->rows;
        if (!rows)
            return NULL;
        if (rows->samples->domain == domain)
            return rows->samples;
        return rows->prompts->domain == domain ? rows->prompts : NULL;
    }
    const rlf_space *space = content->column.space;
    if (!space || !rlf_domain_reaches(&graph->domains, domain, space->domain))
        return NULL;
    return rlf_space_above(&graph->domains, space, domain);
}

static const rlf_node *
node_of(const rlf_run *run, int instance)
{
    return rlf_order_instance(run->order, instance)->node;
}

/* The slot of an instance, its call prepared with the contents of its inputs
 * and room for its outputs. */
static slot *
slot_of(rlf_run *run, int instance)
{
    while (run->slots.count < (size_t)rlf_order_count(run->order))
        RLF_PUSH(&run->slots, (slot){0});
    slot *s = &run->slots.data[instance];
    if (s->call.node)
        return s;
    const rlf_instance *in = rlf_order_instance(run->order, instance);
    const rlf_node *node = in->node;
    int n_in = node->n_inputs, n_out = node->n_outputs;
    if (in->loop) {
        const rlf_region *body = &run->graph->regions.data[node->regions[0]];
        n_in += body->n_gives;
        n_out += body->n_args;
    }
    s->call = (rlf_call){
        .env = &run->env,
        .node = node,
        .iteration = in->iteration,
        .state = run->node_state[node->id],
        .in = RLF_NEW_ARRAY(run->env.pool, rlf_content, n_in),
        .out = RLF_NEW_ARRAY(run->env.pool, rlf_content, n_out),
        .branch = -1,
        .inputs_done = true,
    };
    for (int i = 0; i < n_in; i++) {
        struct rlf_origin from = in->input[i];
        if (from.instance >= 0)
            s->call.in[i] = run->slots.data[from.instance].call.out[from.port];
    }
    return s;
}

/* The rows space that the pieces of a node are made of. */
static const rlf_space *
piece_space(const rlf_run *run, const slot *s)
{
    const rlf_node *node = s->call.node;
    const rlf_space *space = NULL;
    for (int i = 0; i < node->n_outputs && !space; i++)
        space = rlf_content_rows(run->graph,
                                 &run->graph->values.data[node->outputs[i]],
                                 &s->call.out[i], node->rows);
    for (int i = 0; i < node->n_inputs && !space; i++)
        space = rlf_content_rows(run->graph,
                                 &run->graph->values.data[node->inputs[i]],
                                 &s->call.in[i], node->rows);
    return space;
}

/* Where each row's prompt is, if the rows belong to prompts. */
static const uint32_t *
owners(const rlf_graph *graph, const rlf_space *space)
{
    const rlf_domain *d = rlf_domains_get(&graph->domains, space->domain);
    for (int i = 0; i < d->n_up; i++)
        if (d->up[i] == d->owner)
            return space->up[i].index;
    return NULL;
}

static rlf_status
open_slot(rlf_run *run, int instance, slot *s, rlf_err *err)
{
    RLF_TRY(s->call.node->class->open(&s->call, err));
    s->opened = true;
    rlf_order_event event = {.kind = RLF_EVENT_OPENED, .instance = instance};
    if (s->call.node->rows >= 0) {
        const rlf_space *space = piece_space(run, s);
        if (!space)
            return rlf_fail(err, RLF_BUG, "node %d (%s) has no rows",
                            s->call.node->id, s->call.node->class->name);
        s->n_rows = event.n_rows = space->count;
        event.owner = owners(run->graph, space);
    }
    rlf_order_tell(run->order, &event);
    return RLF_OK;
}

static void
tell_done(rlf_run *run, int instance, slot *s)
{
    const rlf_call *call = &s->call;
    if (call->raised & RLF_RAISE_CHECKPOINT)
        run->wants_checkpoint = true;
    rlf_order_tell(run->order,
                   &(rlf_order_event){
                       .kind = RLF_EVENT_DONE,
                       .instance = instance,
                       .count = call->count,
                       .branch = call->branch,
                       .leave = (call->raised & RLF_RAISE_BREAK) != 0,
                   });
}

static void
tell_rows(rlf_run *run, int instance, slot *s, const uint32_t *rows, uint32_t n)
{
    s->n_done += n;
    rlf_order_tell(run->order, &(rlf_order_event){.kind = RLF_EVENT_ROWS,
                                                  .instance = instance,
                                                  .rows = rows,
                                                  .n_rows = n});
}

/* A trained node: its micro-batches in order, forward and backward in turn. */
static rlf_status
train(rlf_call *call, rlf_err *err)
{
    const rlf_trainable *t = call->node->class->trainable;
    uint32_t n = 0;
    RLF_TRY(t->begin(call, err, &n));
    for (uint32_t i = 0; i < n; i++) {
        RLF_TRY(t->forward(call, i, err));
        RLF_TRY(t->backward(call, i, err));
    }
    return t->finish(call, err);
}

static rlf_status
run_piece(rlf_run *run, const rlf_order_command *command, rlf_err *err)
{
    slot *s = slot_of(run, command->instance);
    const rlf_node_class *class = s->call.node->class;
    if (!s->opened)
        RLF_TRY(open_slot(run, command->instance, s, err));
    if (class->sampled) /* it works in turns from now on */
        return RLF_OK;
    s->call.rows = command->rows;
    s->call.n_rows = command->n_rows;
    if (class->trainable != &rlf_trainable_none)
        RLF_TRY(train(&s->call, err));
    else
        RLF_TRY(class->step(&s->call, err));
    if (command->rows)
        tell_rows(run, command->instance, s, command->rows, command->n_rows);
    if (!command->rows || s->n_done == s->n_rows)
        tell_done(run, command->instance, s);
    return RLF_OK;
}

/* What one iteration of a for is given, or a round of a collect. */
static rlf_status
run_loop(rlf_run *run, const rlf_order_command *command, rlf_err *err)
{
    slot *s = slot_of(run, command->instance);
    s->call.branch = (int)command->iteration;
    RLF_TRY(s->call.node->class->step(&s->call, err));
    s->opened = true;
    tell_done(run, command->instance, s);
    return RLF_OK;
}

/* One turn of the open generation. */
static rlf_status
run_turn(rlf_run *run, const rlf_order_command *command, rlf_err *err)
{
    slot *s = slot_of(run, command->instance);
    s->call.rows = NULL;
    s->call.n_rows = 0;
    rlf_status status = s->call.node->class->step(&s->call, err);
    if (status < 0)
        return status;
    if (s->call.n_rows)
        tell_rows(run, command->instance, s, s->call.rows, s->call.n_rows);
    if (status == RLF_OK)
        tell_done(run, command->instance, s);
    return RLF_OK;
}

static void
note(rlf_run *run, const rlf_order_command *command)
{
    if (!run->flight)
        return;
    const rlf_node *node = node_of(run, command->instance);
    char name[96] = "", place[160] = "";
    if (node->receiver >= 0)
        snprintf(name, sizeof name, "%s.%s",
                 run->graph->resources.data[node->receiver].name,
                 node->class->name);
    else
        snprintf(name, sizeof name, "%s", node->class->name);
    if (node->span.source) {
        rlf_place at = rlf_sources_place(run->graph->sources, node->span);
        snprintf(place, sizeof place, "%s:%u", at.path, at.line);
    }
    rlf_flight_note(run->flight, run->env.step, command->n, name, place,
                    command->n_rows);
}

static rlf_status
carry_out(rlf_run *run, const rlf_order_command *command, rlf_err *err)
{
    const rlf_node *node = node_of(run, command->instance);
    if (command->kind != RLF_DO_TURN)
        note(run, command);
    uint64_t from = run->env.trace ? rlf_clock_now() : 0;
    rlf_status status =
        command->kind == RLF_DO_RUN    ? run_piece(run, command, err)
        : command->kind == RLF_DO_LOOP ? run_loop(run, command, err)
                                       : run_turn(run, command, err);
    if (status < 0)
        rlf_err_place(err, node->span, node->class->name);
    if (run->env.trace)
        rlf_trace_span(run->env.trace, "step", node->class->name, from,
                       rlf_clock_now(), command->n_rows);
    return status;
}

static rlf_status
run_commands(rlf_run *run, rlf_err *err)
{
    for (;;) {
        rlf_order_command command = rlf_order_next(run->order);
        if (command.kind == RLF_DO_END)
            return RLF_OK;
        if (command.kind == RLF_DO_WAIT)
            return rlf_fail(err, RLF_BUG,
                            "step %u: nothing can run and the step is not "
                            "complete",
                            run->env.step);
        RLF_TRY(carry_out(run, &command, err));
    }
}

rlf_status
rlf_run_step(rlf_run *run, rlf_err *err)
{
    if (run->failed || run->ended)
        return rlf_fail(err, RLF_BUG, "a run that has ended takes no step");
    rlf_arena_reset(run->env.pool);
    run->slots.count = 0;
    rlf_metrics_begin(&run->metrics);
    run->env.step = run->step + 1;
    run->wants_checkpoint = false;
    rlf_order_begin(run->order);
    rlf_status status = run_commands(run, err);
    if (status < 0) {
        run->failed = true;
        return status;
    }
    run->step++;
    run->ended = rlf_order_left(run->order);
    return RLF_OK;
}
