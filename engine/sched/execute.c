/* Execution of commands: calls of node classes on this rank, and what the
 * controller is told of them. */
#include "engine/base/clock.h"
#include "engine/base/trace.h"
#include "engine/dev/memory.h"
#include "engine/graph/class.h"
#include "engine/order/tail.h"
#include "engine/sched/measure.h"
#include "engine/sched/pipeline.h"
#include "engine/sched/rank.h"

#include <stdio.h>

/* The rows of `content` that the pieces of domain `domain` are made of, or
 * NULL. */
static const rlf_space *
content_rows(const rlf_graph *graph, const rlf_value *value,
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
node_of(const rlf_rank *rank, const rlf_rank_command *command)
{
    return &rank->graph->nodes.data[command->node];
}

/* ---- slots ---- */

rlf_status
rlf_rank_slots(rlf_rank *rank, size_t n, rlf_err *err)
{
    if (n > rank->slots.count)
        RLF_TRY_ROOM(&rank->slots, n - rank->slots.count, "calls of a step");
    while (rank->slots.count < n)
        RLF_PUSH(&rank->slots, (slot){0});
    return RLF_OK;
}

/* The slot of an instance, its call prepared with the contents of its inputs
 * and room for its outputs. */
static rlf_status
slot_of(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err,
        slot **out)
{
    RLF_TRY(rlf_rank_slots(rank, (size_t)command->instance + 1, err));
    slot *s = *out = &rank->slots.data[command->instance];
    if (s->call.node)
        return RLF_OK;
    const rlf_node *node = node_of(rank, command);
    int n_out = node->n_outputs;
    if (command->loop)
        n_out += rank->graph->regions.data[node->regions[0]].n_args;
    rlf_env *env = &rlf_rank_step(rank, command->instance)->env;
    rlf_arena *pool = env->pool;
    s->call = (rlf_call){
        .env = env,
        .node = node,
        .iteration = command->iteration,
        .state = rank->node_state[node->id],
        .in = RLF_NEW_ARRAY(pool, rlf_content, command->n_input),
        .out = RLF_NEW_ARRAY(pool, rlf_content, n_out),
        .branch = -1,
        .inputs_done = true,
    };
    for (int i = 0; i < command->n_input; i++) {
        rlf_origin from = command->input[i];
        if (from.instance >= 0)
            s->call.in[i] = rank->slots.data[from.instance].call.out[from.port];
    }
    return RLF_OK;
}

/* The rows space that the pieces of a node are made of. */
static const rlf_space *
piece_space(const rlf_rank *rank, const slot *s)
{
    const rlf_node *node = s->call.node;
    const rlf_value *values = rank->graph->values.data;
    const rlf_space *space = NULL;
    for (int i = 0; i < node->n_outputs && !space; i++)
        space = content_rows(rank->graph, &values[node->outputs[i]],
                             &s->call.out[i], node->rows);
    for (int i = 0; i < node->n_inputs && !space; i++)
        space = content_rows(rank->graph, &values[node->inputs[i]],
                             &s->call.in[i], node->rows);
    return space;
}

static rlf_status
open_slot(rlf_rank *rank, slot *s, rlf_err *err)
{
    if (s->opened)
        return RLF_OK;
    const rlf_node *node = s->call.node;
    RLF_TRY(node->class->open(&s->call, err));
    s->opened = true;
    if (node->rows < 0)
        return RLF_OK;
    s->space = piece_space(rank, s);
    if (!s->space)
        return rlf_fail(err, RLF_BUG, "node %d (%s) has no rows", node->id,
                        node->class->name);
    return RLF_OK;
}

/* ---- reports ---- */

/* Sends `event` to the controller, as of this rank. By address, because an
 * event is some hundred bytes and most commands end with one. */
static rlf_status
tell(rlf_rank *rank, rlf_rank_event *event, rlf_err *err)
{
    event->rank = rank->rank;
    return rank->tell(rank->sink, event, err);
}

static rlf_status
tell_done(rlf_rank *rank, uint64_t n, const rlf_call *call, double seconds,
          rlf_err *err)
{
    bool leave = (call->raised & RLF_RAISE_BREAK) != 0;
    return tell(rank,
                &(rlf_rank_event){.kind = RLF_EVENT_DONE,
                                  .n = n,
                                  .seconds = seconds,
                                  .count = call->count,
                                  .branch = call->branch,
                                  .leave = leave},
                err);
}

/* The prompt of each row, if the rows belong to prompts. */
static const uint32_t *
owners(const rlf_graph *graph, const rlf_space *space)
{
    const rlf_domain *d = rlf_domains_get(&graph->domains, space->domain);
    for (int i = 0; i < d->n_up; i++)
        if (d->up[i] == d->owner)
            return space->up[i].index;
    return NULL;
}

/* Bytes that count as a token, of a text that was not made into tokens yet. */
enum { BYTES_A_TOKEN = 4 };

static uint32_t
tokens_of(const uint32_t *ids, uint32_t n_ids, rlf_str text)
{
    return ids ? n_ids : (uint32_t)(text.n / BYTES_A_TOKEN);
}

/* Of each row the tokens of its sequence, prompt and what there is of a
 * response, so that rows can be assigned by length; NULL: it stands for none.
 */
static rlf_status
lengths_of(const rlf_rank *rank, const slot *s, rlf_err *err,
           const uint32_t **told)
{
    const rlf_node *node = s->call.node;
    const rlf_value *values = rank->graph->values.data;
    const rlf_rows *of = NULL;
    for (int i = 0; i < node->n_outputs + node->n_inputs && !of; i++) {
        bool out = i < node->n_outputs;
        int k = out ? i : i - node->n_outputs;
        const rlf_value *v = &values[out ? node->outputs[k] : node->inputs[k]];
        const rlf_content *in = out ? s->call.out : s->call.in;
        if (v->kind == RLF_VALUE_SET && in[k].rows &&
            in[k].rows->samples == s->space)
            of = in[k].rows;
    }
    *told = NULL;
    if (!of)
        return RLF_OK;
    uint32_t *lengths;
    RLF_TRY(rlf_arena_try(rank->env.pool,
                          (s->space->count + 1) * sizeof *lengths,
                          "lengths of sequences", err, &lengths));
    for (uint32_t i = 0; i < s->space->count; i++) {
        uint32_t p = i;
        if (of->prompts != of->samples)
            p = rlf_space_row(&rank->graph->domains, of->samples, i,
                              of->prompts->domain);
        const rlf_prompt *prompt = &of->prompt[p];
        lengths[i] = tokens_of(prompt->ids, prompt->n_ids, prompt->text);
        if (of->sample)
            lengths[i] +=
                tokens_of(of->sample[i].ids, rlf_sample_length(&of->sample[i]),
                          of->sample[i].text);
    }
    *told = lengths;
    return RLF_OK;
}

static rlf_status
execute_open(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    slot *s;
    const uint32_t *lengths;
    RLF_TRY(slot_of(rank, command, err, &s));
    RLF_TRY(open_slot(rank, s, err));
    if (rank->rank != command->opener)
        return RLF_OK;
    RLF_TRY(lengths_of(rank, s, err, &lengths));
    return tell(rank,
                &(rlf_rank_event){.kind = RLF_EVENT_OPENED,
                                  .n = command->n,
                                  .n_rows = s->space->count,
                                  .lengths = lengths,
                                  .owner = owners(rank->graph, s->space)},
                err);
}

/* ---- computing ---- */

/* A trained instance, with those that wait to be carried out with it. */
static rlf_status
train(rlf_rank *rank, int instance, rlf_err *err)
{
    RLF_PUSH(&rank->joint, instance);
    int n = (int)rank->joint.count;
    slot **slots = RLF_NEW_ARRAY(rank->env.pool, slot *, n);
    rlf_call **calls = RLF_NEW_ARRAY(rank->env.pool, rlf_call *, n);
    for (int i = 0; i < n; i++) {
        slots[i] = &rank->slots.data[rank->joint.data[i]];
        calls[i] = &slots[i]->call;
    }
    rank->joint.count = 0;
    RLF_TRY(rlf_rank_train_alone(rank, calls, n, err));
    RLF_TRY(rlf_pipeline_run(rank->plan, calls, n, &rank->taken, err));
    for (int i = 0; i < n; i++) {
        const rlf_node *node = calls[i]->node;
        rank->recording = slots[i]->reports;
        rank->now->metrics.node = node->id;
        RLF_TRY(node->class->trainable->finish(calls[i], err));
        slots[i]->opened = true;
        if (slots[i]->reports)
            RLF_TRY(tell_done(rank, slots[i]->n, calls[i], 0, err));
    }
    return RLF_OK;
}

/* Tells the measures how long the samples are that the call has finished. */
static void
measure_samples(const rlf_rank *rank, const rlf_call *call)
{
    const rlf_measure *to = rank->env.measure;
    const rlf_rows *rows = call->out[0].rows;
    for (uint32_t i = 0; to && i < call->n_rows; i++) {
        uint32_t row = call->rows[i], p = row;
        if (rows->prompts != rows->samples)
            p = rlf_space_row(&rank->graph->domains, rows->samples, row,
                              rows->prompts->domain);
        to->see(to->self, &(rlf_measured){.kind = RLF_MEASURED_SAMPLE,
                                          .rank = rank->rank,
                                          .node = call->node,
                                          .model = -1,
                                          .x = rows->sample[row].n_ids,
                                          .y = rows->prompt[p].n_ids});
    }
}

/* Tell which samples the call has finished, and how long that took. */
static rlf_status
tell_rows(rlf_rank *rank, const slot *s, rlf_err *err)
{
    const rlf_call *call = &s->call;
    const rlf_rows *rows = call->out[0].rows;
    uint32_t *lengths;
    RLF_TRY(rlf_arena_try(rank->env.pool, (call->n_rows + 1) * sizeof *lengths,
                          "lengths of samples", err, &lengths));
    for (uint32_t i = 0; i < call->n_rows; i++) {
        lengths[i] = rows->sample[call->rows[i]].n_ids;
        rank->now->tokens += lengths[i];
    }
    rlf_rank_event event = {.kind = RLF_EVENT_ROWS,
                            .n = s->n,
                            .rows = call->rows,
                            .n_rows = call->n_rows,
                            .lengths = lengths,
                            .turns = rank->turns,
                            .decodes = rank->decodes,
                            .seats = call->seats};
    rank->turns = rank->decodes = (rlf_turns){0};
    measure_samples(rank, call);
    return tell(rank, &event, err);
}

/* One quantum of the generation in this slot. */
static rlf_status
sample(rlf_rank *rank, slot *s, rlf_err *err)
{
    rlf_call *call = &s->call;
    uint64_t from = rlf_clock_now(), measured = rlf_measure_clock(&rank->env);
    rlf_status status = call->node->class->step(call, err);
    if (status < 0)
        return status;
    double x = call->fed, t = rlf_clock_since(from);
    rank->taken += rlf_measure_see(&rank->env,
                                   (rlf_measured){.kind = RLF_MEASURED_TURN,
                                                  .node = call->node,
                                                  .model = -1,
                                                  .x = x,
                                                  .y = call->keys},
                                   measured);
    rlf_tail_turn_add(call->prefilled ? &rank->turns : &rank->decodes, x,
                      call->keys, t);
    if (s->reports && call->n_rows)
        RLF_TRY(tell_rows(rank, s, err));
    if (status == RLF_OK)
        rank->generation = -1;
    return RLF_OK;
}

/* Returns the one of RLF_TIMES that a class counts to; RLF_TIMES: none. */
static int
time_of(const rlf_node_class *class)
{
    return class->work == RLF_WORK_GENERATE ? RLF_TIME_GENERATE
           : class->work == RLF_WORK_TRAIN  ? RLF_TIME_TRAIN
           : class->work == RLF_WORK_HOST   ? RLF_TIME_LUA
           : class->work == RLF_WORK_READ   ? RLF_TIME_READ
                                            : RLF_TIMES;
}

/* Two clocks of a rank's thread: that of the wall, and nanoseconds in which it
 * has waited for others. */
typedef struct clocks {
    uint64_t now, waited;
} clocks;

static uint64_t
waited(const rlf_rank *rank)
{
    return rank->comm ? rlf_comm_waited(rank->comm) : 0;
}

static clocks
clocks_now(const rlf_rank *rank)
{
    return (clocks){rlf_clock_now(), waited(rank)};
}

/* Adds the seconds since then to those of the node, and without the waiting to
 * the rank's own. */
static void
add_time(rlf_rank *rank, const rlf_node *node, bool moves, clocks from)
{
    int which = time_of(node->class);
    double seconds = rlf_clock_since(from.now);
    double own = seconds - (double)(waited(rank) - from.waited) * 1e-9;
    if (moves) {
        rank->own[RLF_OWN_MOVE] += own;
        return;
    }
    if (rank->calls)
        rank->calls[node->id] += seconds;
    if (which == RLF_TIMES)
        return;
    rank->seconds[which] += seconds;
    rank->own[which] += own;
}

static bool
is_move(rlf_do kind)
{
    return kind == RLF_DO_EDGE || kind == RLF_DO_MOVE || kind == RLF_DO_WEIGHTS;
}

/* Does anyone want to know how long the command takes? The clock is not read
 * for nodes that take next to nothing, unless all are asked for. */
static bool
is_timed(const rlf_rank *rank, const rlf_rank_command *command)
{
    return is_move(command->kind) ||
           ((command->kind == RLF_DO_OPEN || command->kind == RLF_DO_RUN) &&
            (rank->calls ||
             time_of(node_of(rank, command)->class) < RLF_TIMES));
}

/* Notes what is done now, for other threads that ask. */
static void
set_doing(rlf_rank *rank, int doing)
{
    __atomic_store_n(&rank->doing, doing, __ATOMIC_RELAXED);
}

const char *
rlf_rank_node_name(const rlf_rank *rank, const rlf_node *node)
{
    const char *const *names = rank->options->node_names;
    return names ? names[node->id] : node->class->name;
}

/* A span of a node, which ends now. */
static void
trace(const rlf_rank *rank, const rlf_node *node, const char *kind,
      uint64_t from, rlf_trace_details details)
{
    const char *const *lines = rank->options->node_lines;
    details.line = lines ? lines[node->id] : NULL;
    details.step = rank->now->env.step;
    rlf_trace_detailed(rank->env.trace, kind, rlf_rank_node_name(rank, node),
                       from, rlf_clock_now(), &details);
}

rlf_status
rlf_rank_turn(rlf_rank *rank, rlf_err *err)
{
    slot *s = &rank->slots.data[rank->generation];
    const rlf_node *node = s->call.node;
    rank->now = rlf_rank_step(rank, rank->generation);
    set_doing(rank, node->id);
    clocks from = clocks_now(rank);
    s->call.rows = NULL;
    s->call.n_rows = 0;
    rlf_status status = sample(rank, s, err);
    add_time(rank, node, false, from);
    if (status < 0)
        rlf_err_place(err, node->span, node->class->name);
    if (rank->env.trace)
        trace(rank, node, rlf_do_words[RLF_DO_RUN], from.now,
              (rlf_trace_details){.count = s->call.n_rows});
    return status;
}

/* The share of a RUN that this rank computes, or NULL. */
static const rlf_share *
share_of(const rlf_rank_command *command)
{
    return command->n_shares ? command->shares : NULL;
}

static uint32_t
rows_of(const rlf_rank_command *command)
{
    const rlf_share *share = share_of(command);
    return share ? share->n_rows : 0;
}

static rlf_status
execute_run(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    slot *s;
    RLF_TRY(slot_of(rank, command, err, &s));
    rlf_call *call = &s->call;
    const rlf_node_class *class = call->node->class;
    const rlf_share *share = share_of(command);
    if (!command->loop)
        RLF_TRY(open_slot(rank, s, err));
    if (!share)
        return RLF_OK;
    rank->recording = s->reports = share->reports;
    s->n = command->n;
    call->rows = share->rows;
    call->n_rows = share->n_rows;
    if (class->work == RLF_WORK_GENERATE) {
        rank->generation = command->instance;
        return sample(rank, s, err);
    }
    if (command->joint) {
        RLF_PUSH(&rank->joint, command->instance);
        return RLF_OK;
    }
    if (command->loop)
        call->branch = (int)command->turn;
    if (class->trainable)
        return train(rank, command->instance, err);
    uint64_t from = call->rows ? rlf_clock_now() : 0;
    RLF_TRY(class->step(call, err));
    double seconds = call->rows ? rlf_clock_since(from) : 0;
    s->opened = true;
    if (call->raised & RLF_RAISE_CHECKPOINT)
        rank->wants_checkpoint = true;
    if (!share->reports)
        return RLF_OK;
    return tell_done(rank, command->n, call, seconds, err);
}

static rlf_status
execute_edge(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    return rlf_rank_exchange(rank, &rank->slots.data[command->instance],
                             command, err);
}

static rlf_status
execute_move(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    return rlf_rank_hand_over(rank, &rank->slots.data[command->instance],
                              command, err);
}

/* ---- steps, checkpoints ---- */

void
rlf_rank_begin_step(rlf_rank *rank, uint32_t step, uint32_t since)
{
    size_t n = (size_t)rank->n_steps, at = step % n;
    rank_step *s = &rank->steps[at];
    rlf_arena_reset(s->env.pool);
    s->env.step = step;
    s->env.weights_step = since;
    s->tokens = 0;
    rlf_metrics_begin(&s->metrics);
    for (size_t i = at; i < rank->slots.count; i += n)
        rank->slots.data[i] = (slot){0};
}

static rlf_status
execute_begin(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    (void)err;
    rlf_rank_mark(rank, command->step);
    rlf_arena_reset(rank->env.pool);
    rank->wants_checkpoint = false;
    rank->env.step = command->step;
    memset(rank->seconds, 0, sizeof rank->seconds);
    memset(rank->own, 0, sizeof rank->own);
    const clocks now = clocks_now(rank);
    rank->began = now.now;
    rank->waited = now.waited;
    if (rank->calls)
        memset(rank->calls, 0, rank->graph->nodes.count * sizeof *rank->calls);
    uint32_t last = command->step + rank->graph->ahead;
    for (uint32_t i = 0; i < command->fresh; i++)
        rlf_rank_begin_step(rank, last - i, command->step);
    return RLF_OK;
}

/* Reports and generated tokens of this rank, of one step under way or of all
 * (-1): it is told, so it begins anew. */
static void
tell_step(rlf_rank *rank, int step, rlf_rank_event *out)
{
    rlf_arena *pool = rank->env.pool;
    rlf_step_totals *totals =
        RLF_NEW_ARRAY(pool, rlf_step_totals, rank->n_steps);
    for (int i = 0; i < rank->n_steps; i++) {
        rank_step *s = &rank->steps[i];
        if (step >= 0 && i != step)
            continue;
        size_t n = s->metrics.count;
        rlf_metric *metrics = RLF_NEW_ARRAY(pool, rlf_metric, n + 1);
        if (n)
            memcpy(metrics, s->metrics.data, n * sizeof *metrics);
        totals[i] = (rlf_step_totals){
            .tokens = s->tokens, .n_metrics = (uint32_t)n, .metrics = metrics};
        rlf_metrics_begin(&s->metrics);
        s->tokens = 0;
    }
    out->steps = totals;
    out->n_steps = (uint32_t)rank->n_steps;
}

/* The first rank of a process tells of that. */
static bool
tells_of_process(const rlf_rank *rank)
{
    return !rank->comm ||
           rank->rank % rlf_comm_world_local(rlf_comm_world_of(rank->comm)) ==
               0;
}

/* The rank's own time and memory in the step that ends now. */
static void
tell_own(rlf_rank *rank, rlf_rank_event *out)
{
    double known = 0;
    rank->own[RLF_OWN_WAIT] = (double)(waited(rank) - rank->waited) * 1e-9;
    for (int i = 0; i < RLF_OWN_REST; i++)
        known += rank->own[i];
    double rest = rlf_clock_since(rank->began) - known;
    rank->own[RLF_OWN_REST] = rest > 0 ? rest : 0;
    out->own = rank->own;
    out->n_own = RLF_OWN_TIMES;
    out->device_peak = rank->device->peak;
    out->pools = rlf_rank_pool_bytes(rank);
    if (tells_of_process(rank))
        out->process_peak = rlf_host_memory_peak();
}

static rlf_status
execute_end(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    rlf_rank_event event = {.kind = RLF_EVENT_ENDED,
                            .n = command->n,
                            .spent = rank->seconds,
                            .n_spent = RLF_TIMES,
                            .calls = rank->calls};
    if (rank->calls)
        event.n_calls = (uint32_t)rank->graph->nodes.count;
    RLF_TRY(rlf_rank_keep_sent(rank, 0, err));
    tell_own(rank, &event);
    rlf_rank_trace_sample(rank);
    tell_step(rank, (int)(rank->env.step % (uint32_t)rank->n_steps), &event);
    return tell(rank, &event, err);
}

static rlf_status
tell_saved(rlf_rank *rank, rlf_err *err)
{
    rlf_rank_event event = {.kind = RLF_EVENT_SAVED};
    tell_step(rank, -1, &event);
    return tell(rank, &event, err);
}

/* Rank 0 saves what is the same on every rank. */
static rlf_status
execute_save(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    for (size_t i = 0; i < rank->graph->resources.count; i++) {
        const rlf_resource *r = &rank->graph->resources.data[i];
        if (r->class->model || rank->rank == 0)
            RLF_TRY(r->class->save(&rank->env, r, rank->env.resource[i],
                                   command->directory, err));
    }
    return tell_saved(rank, err);
}

static rlf_status
execute_restore(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    for (size_t i = 0; i < rank->graph->resources.count; i++) {
        const rlf_resource *r = &rank->graph->resources.data[i];
        RLF_TRY(r->class->restore(&rank->env, r, rank->env.resource[i],
                                  command->directory, err));
    }
    RLF_TRY(rlf_rank_restore_ahead(rank, command, err));
    return tell_saved(rank, err);
}

static rlf_status
execute_gather(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    const rlf_resource *r = &rank->graph->resources.data[command->model];
    RLF_TRY(r->class->model->gather(&rank->env, r,
                                    rank->env.resource[command->model],
                                    rank->options->gathered, err));
    return tell_saved(rank, err);
}

static rlf_status
execute_weights(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    return rlf_rank_move(rank, command, err);
}

/* The thread that has carried it out ends. */
static rlf_status
execute_stop(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    (void)rank, (void)command, (void)err;
    return RLF_OK;
}

void
rlf_node_words(const rlf_graph *graph, const rlf_node *node, char *text,
               size_t room)
{
    const rlf_resource *r =
        node->receiver >= 0 ? &graph->resources.data[node->receiver] : NULL;
    const char *of = r ? r->name : NULL;
    if (r && r->class->hook)
        snprintf(text, room, "hook %s", of);
    else
        snprintf(text, room, "%s%s%s", of ? of : "", of ? "." : "",
                 node->class->name);
}

/* The flight record: what is done now. */
static void
note(rlf_rank *rank, const rlf_rank_command *command)
{
    const char *doing = rlf_do_doing[command->kind];
    if (!rank->flight || (command->instance < 0 && !*doing))
        return;
    if (command->instance < 0) {
        rlf_flight_note(rank->flight, rank->env.step, command->n, doing, "", 0);
        return;
    }
    const rlf_node *node = node_of(rank, command);
    char name[96] = "", place[160] = "";
    rlf_node_words(rank->graph, node, name, sizeof name);
    if (node->span.source) {
        rlf_place at = rlf_sources_place(rank->graph->sources, node->span);
        snprintf(place, sizeof place, "%s:%u", at.path, at.line);
    }
    if (*doing)
        snprintf(name + strlen(name), sizeof name - strlen(name), ", %s",
                 doing);
    rlf_flight_note(rank->flight, rank->env.step, command->n, name, place,
                    rows_of(command));
}

/* Measures a command, but for the pieces that were measured by themselves. */
static void
measure(rlf_rank *rank, const rlf_rank_command *command, uint64_t from)
{
    static const rlf_measured_kind kinds[] = {
        [RLF_DO_BEGIN] = RLF_MEASURED_STEP,   [RLF_DO_END] = RLF_MEASURED_STEP,
        [RLF_DO_OPEN] = RLF_MEASURED_OPEN,    [RLF_DO_RUN] = RLF_MEASURED_ROWS,
        [RLF_DO_EDGE] = RLF_MEASURED_EDGE,    [RLF_DO_MOVE] = RLF_MEASURED_EDGE,
        [RLF_DO_WEIGHTS] = RLF_MEASURED_MODEL};
    if (!rank->env.measure || command->kind > RLF_DO_END)
        return;
    rlf_measured piece = {.kind = kinds[command->kind], .model = -1};
    const rlf_node *node = NULL;
    if (piece.kind == RLF_MEASURED_MODEL) {
        piece.model = command->model;
        piece.x = (double)rank->exchanged;
    } else if (piece.kind != RLF_MEASURED_STEP) {
        piece.node = node = node_of(rank, command);
        piece.x = rows_of(command);
    }
    if (piece.kind == RLF_MEASURED_EDGE) {
        piece.x = (double)rank->exchanged;
        piece.y = command->n_moves;
    }
    if (node && piece.kind == RLF_MEASURED_ROWS) {
        const rlf_call *call = &rank->slots.data[command->instance].call;
        bool trains = node->class->trainable;
        if (command->joint)
            return; /* with the next one */
        piece.kind =
            node->class->work == RLF_WORK_GENERATE || !share_of(command)
                ? RLF_MEASURED_OPEN
            : trains ? RLF_MEASURED_FINISH
                     : piece.kind;
        if (piece.kind == RLF_MEASURED_ROWS &&
            time_of(node->class) == RLF_TIME_READ)
            piece.x = call->fed;
    }
    uint64_t taken = (uint64_t)(rank->taken * 1e9);
    rank->taken += rlf_measure_see(&rank->env, piece, from + taken);
}

/* Bytes or rows of a command, and the samples that these are. */
static rlf_trace_details
details_of(const rlf_rank *rank, const rlf_rank_command *command)
{
    const rlf_share *share = share_of(command);
    rlf_trace_details out = {.count = command->n_moves ? rank->received
                                                       : rows_of(command)};
    const slot *s =
        command->instance >= 0 && (size_t)command->instance < rank->slots.count
            ? &rank->slots.data[command->instance]
            : NULL;
    if (!s || !s->space || !s->space->identity || !share || !share->rows ||
        !share->n_rows || share->rows[share->n_rows - 1] >= s->space->count)
        return out;
    out.samples = true;
    out.first = s->space->identity[share->rows[0]];
    out.last = s->space->identity[share->rows[share->n_rows - 1]];
    return out;
}

rlf_status
rlf_rank_execute(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    static rlf_status (*const execute[])(rlf_rank *, const rlf_rank_command *,
                                         rlf_err *) = {
#define COMMAND(NAME, word, who, doing, doc) [RLF_DO_##NAME] = execute_##word,
#include "engine/order/protocol.def"
    };
    note(rank, command);
    set_doing(rank, rlf_doing_of(command->kind));
    uint64_t measured = rlf_measure_clock(&rank->env);
    rank->taken = 0;
    if (command->node < 0) {
        RLF_TRY(execute[command->kind](rank, command, err));
        measure(rank, command, measured);
        return rlf_memory_check(err);
    }
    const rlf_node *node = node_of(rank, command);
    set_doing(rank, node->id);
    if (command->instance >= 0) /* weights may come before who reads them */
        rank->now = rlf_rank_step(rank, command->instance);
    rank->now->metrics.node = node->id;
    if (rank->comm)
        rlf_comm_label(rank->comm, node->class->name);
    bool timed = is_timed(rank, command);
    clocks from = timed || rank->env.trace ? clocks_now(rank) : (clocks){0};
    rlf_status status = execute[command->kind](rank, command, err);
    if (status >= 0)
        measure(rank, command, measured);
    if (timed)
        add_time(rank, node, is_move(command->kind), from);
    if (status >= 0)
        status = rlf_memory_check(err);
    if (status < 0)
        rlf_err_place(err, node->span, node->class->name);
    if (rank->env.trace && command->kind != RLF_DO_WEIGHTS)
        trace(rank, node, rlf_do_words[command->kind], from.now,
              details_of(rank, command));
    return status;
}
