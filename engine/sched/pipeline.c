/* See pipeline.h.
 *
 * A micro-batch is in *flight* on a chunk from its forward to its backward (or,
 * where that is split, to its weights), and has that flight's memory: what
 * comes in and goes out has ports of its own there. So a receive is started
 * long before its operation: for a forward as soon as the list has come to it
 * and a flight is free, for a backward at its forward. Sends go on while the
 * place computes. None of this can stop for ever in a table that is valid: a
 * forward's output is written anew only after its backward, so after it was
 * received; what goes back leaves from the flight's memory, and the
 * place that gets it has waited for it since its own forward. */
#include "engine/sched/pipeline.h"

#include "engine/base/clock.h"
#include "engine/base/trace.h"
#include "engine/comm/device.h"
#include "engine/plan/pipes.h"
#include "engine/sched/measure.h"

/* A channel is a tag of messages. */
_Static_assert(RLF_PIPE_CHANNELS <= RLF_TAG_LAST + 1, "tags for all channels");

typedef struct flight {
    bool taken;
    int micro;
    /* By direction (forward, backward); NULL: not under way. */
    rlf_device_transfer *arrives[2], *leaves[2];
} flight;

/* One node and its model. */
typedef struct part {
    rlf_call *call;
    const rlf_trainable *class;
    rlf_training training;
    rlf_group *stages; /* NULL: one */
    flight **flights;  /* [chunk][training.flights] */
    int *turn;         /* [chunk] where to look for a free one */
    bool split;        /* backward leaves weights for later */
} part;

typedef struct pipeline {
    const rlf_env *env;
    part *parts; /* by model of the table; without a call: not in the run */
    int n, place;
    const rlf_node *now; /* whose operation runs */
    /* The table at hand, as this place has it. */
    int count;
    const rlf_pipe_op *list;
    const rlf_pipe_link *links;
    rlf_train_op *ops; /* with their flights, once they have them */
    bool reading;      /* nothing goes back */
    int next;          /* operations before have their flights */
    double *taken;     /* seconds that were measured of operations */
} pipeline;

static part *
part_of(const pipeline *l, int index)
{
    return &l->parts[l->list[index].model];
}

static flight *
flight_of(const pipeline *l, int index)
{
    const rlf_train_op *op = &l->ops[index];
    return &part_of(l, index)->flights[op->chunk][op->flight];
}

/* ---- messages ---- */

/* Between a port of an operation and a stage of its model. */
static rlf_status
start(const part *p, const rlf_train_op *op, bool send, rlf_pipe_peer peer,
      rlf_err *err, rlf_device_transfer **out)
{
    if (peer.stage < 0)
        return RLF_OK;
    rlf_train_ports ports = p->class->ports(p->call, op);
    const rlf_layout *layout = &rlf_call_mesh(p->call)->layout;
    rlf_part message = {.peer =
                            rlf_part_stage(layout->pp, layout->vee, peer.stage),
                        .data = send ? ports.leaves : ports.arrives,
                        .bytes = ports.bytes};
    return rlf_device_start(p->call->env->queue, p->stages, peer.channel,
                            &message, send, &message, !send, out, err);
}

static rlf_status
wait_for(rlf_device_transfer **transfer, rlf_err *err)
{
    return *transfer ? rlf_device_wait(transfer, err) : RLF_OK;
}

/* RLF_AGAIN if it is still under way. */
static rlf_status
look_at(rlf_device_transfer **transfer, rlf_err *err)
{
    return *transfer ? rlf_device_test(transfer, err) : RLF_OK;
}

/* ---- flights ---- */

/* A free one, by turns, with nothing under way if there is such; -1: none. */
static int
free_flight(const part *p, int chunk)
{
    int n = p->training.flights[chunk], found = -1;
    for (int k = 0; k < n; k++) {
        int i = (p->turn[chunk] + k) % n;
        const flight *f = &p->flights[chunk][i];
        if (f->taken)
            continue;
        if (!f->leaves[0] && !f->leaves[1])
            return i;
        found = found < 0 ? i : found;
    }
    return found;
}

/* A forward gets a flight, and its input begins to come in. RLF_AGAIN: not yet,
 * unless it must. */
static rlf_status
take_flight(pipeline *l, int index, bool must, rlf_err *err)
{
    part *p = part_of(l, index);
    rlf_train_op *op = &l->ops[index];
    int i = free_flight(p, op->chunk);
    if (i < 0)
        return must
                   ? rlf_fail(err, RLF_BUG,
                              "a pipeline keeps more than its %d micro-batches",
                              p->training.flights[op->chunk])
                   : RLF_AGAIN;
    flight *f = &p->flights[op->chunk][i];
    rlf_status status =
        must ? wait_for(&f->leaves[true], err) : look_at(&f->leaves[true], err);
    if (status != RLF_OK)
        return status;
    f->taken = true;
    f->micro = op->micro;
    op->flight = i;
    p->turn[op->chunk] = (i + 1) % p->training.flights[op->chunk];
    return start(p, op, false, l->links[index].in, err, &f->arrives[false]);
}

/* Flights for all forwards that can have one, at least up to operation `now`.
 */
static rlf_status
look_ahead(pipeline *l, int now, rlf_err *err)
{
    for (; l->next < l->count; l->next++) {
        if (l->list[l->next].kind != RLF_PIPE_FORWARD)
            continue;
        rlf_status status = take_flight(l, l->next, l->next <= now, err);
        if (status == RLF_AGAIN)
            break;
        RLF_TRY(status);
    }
    return RLF_OK;
}

/* The flight that the forward of the micro-batch took. */
static rlf_status
find_flight(const pipeline *l, int index, rlf_err *err)
{
    const part *p = part_of(l, index);
    rlf_train_op *op = &l->ops[index];
    for (int i = 0; i < p->training.flights[op->chunk]; i++) {
        const flight *f = &p->flights[op->chunk][i];
        if (!f->taken || f->micro != op->micro)
            continue;
        op->flight = i;
        return RLF_OK;
    }
    return rlf_fail(err, RLF_BUG, "micro-batch %d goes back before forward",
                    op->micro);
}

/* ---- operations ---- */

/* Starts sending the result of an operation, while the next one runs. */
static rlf_status
send_on(pipeline *l, int index, rlf_err *err)
{
    const rlf_train_op *op = &l->ops[index];
    flight *f = flight_of(l, index);
    if (l->links[index].out.stage < 0)
        return RLF_OK;
    RLF_TRY(start(part_of(l, index), op, true, l->links[index].out, err,
                  &f->leaves[op->backward]));
    rlf_status status = look_at(&f->leaves[op->backward], err);
    return status == RLF_AGAIN ? RLF_OK : status;
}

/* An operation by itself, without what it waits for. */
static rlf_status
compute(const pipeline *l, int index, rlf_err *err)
{
    static const rlf_measured_kind kinds[] = {
        [RLF_PIPE_FORWARD] = RLF_MEASURED_FORWARD,
        [RLF_PIPE_BACKWARD] = RLF_MEASURED_BACKWARD,
        [RLF_PIPE_WEIGHTS] = RLF_MEASURED_WEIGHTS};
    const part *p = part_of(l, index);
    const rlf_train_op *op = &l->ops[index];
    const rlf_pipe_kind kind = l->list[index].kind;
    uint64_t from = rlf_measure_clock(l->env);
    RLF_TRY((kind == RLF_PIPE_BACKWARD  ? p->class->backward
             : kind == RLF_PIPE_WEIGHTS ? p->class->weights
                                        : p->class->forward)(p->call, op, err));
    *l->taken += rlf_measure_see(l->env,
                                 (rlf_measured){.kind = kinds[kind],
                                                .node = p->call->node,
                                                .model = -1,
                                                .x = p->call->fed},
                                 from);
    return RLF_OK;
}

static rlf_status
run_forward(pipeline *l, int index, rlf_err *err)
{
    const part *p = part_of(l, index);
    const rlf_train_op *op = &l->ops[index];
    flight *f = flight_of(l, index);
    RLF_TRY(wait_for(&f->arrives[false], err));
    RLF_TRY(wait_for(&f->leaves[false], err)); /* of the micro-batch before */
    RLF_TRY(compute(l, index, err));
    RLF_TRY(send_on(l, index, err));
    f->taken = !l->reading;
    rlf_train_op back = *op;
    back.backward = true;
    return l->reading ? RLF_OK
                      : start(p, &back, false, l->links[index].back, err,
                              &f->arrives[true]);
}

static rlf_status
run_backward(pipeline *l, int index, rlf_err *err)
{
    const part *p = part_of(l, index);
    RLF_TRY(find_flight(l, index, err));
    flight *f = flight_of(l, index);
    RLF_TRY(wait_for(&f->arrives[true], err));
    if (p->split) /* what it made is written over */
        RLF_TRY(wait_for(&f->leaves[false], err));
    RLF_TRY(compute(l, index, err));
    f->taken = p->split;
    return send_on(l, index, err);
}

static rlf_status
run_weights(pipeline *l, int index, rlf_err *err)
{
    RLF_TRY(find_flight(l, index, err));
    RLF_TRY(compute(l, index, err));
    flight_of(l, index)->taken = false;
    return RLF_OK;
}

static rlf_status
run_op(pipeline *l, int index, rlf_err *err)
{
    switch (l->list[index].kind) {
    case RLF_PIPE_BACKWARD:
        return run_backward(l, index, err);
    case RLF_PIPE_WEIGHTS:
        return run_weights(l, index, err);
    default:
        return run_forward(l, index, err);
    }
}

static void
trace(const pipeline *l, int index, uint64_t from)
{
    if (!l->env->trace)
        return;
    const rlf_train_op *op = &l->ops[index];
    const char *model = l->env->graph->resources.data[l->now->receiver].name;
    static const char *const words[] = {"forward", "backward", "weights"};
    rlf_trace_detailed(l->env->trace, words[l->list[index].kind], model, from,
                       rlf_clock_now(),
                       &(rlf_trace_details){.count = (uint32_t)op->micro,
                                            .step = l->env->step});
}

/* All sends are done. */
static rlf_status
drain(pipeline *l, rlf_err *err)
{
    for (int i = 0; i < l->n; i++)
        for (int c = 0; c < l->parts[i].training.chunks; c++)
            for (int k = 0; k < l->parts[i].training.flights[c]; k++)
                for (int b = 0; b < 2; b++)
                    RLF_TRY(
                        wait_for(&l->parts[i].flights[c][k].leaves[b], err));
    return RLF_OK;
}

static bool
same_op(rlf_pipe_op a, rlf_pipe_op b)
{
    return a.model == b.model && a.micro == b.micro && a.chunk == b.chunk &&
           a.kind == b.kind;
}

/* Links of this place's operations, as they are in a table of all micro-batches
 * that there can be: so ranks that send to each other for one model take the
 * same channels, whatever replicas of another they have. */
static rlf_pipe_link *
links_of(const pipeline *l, const rlf_pipe *whole, int *channels)
{
    const rlf_pipe_op *all = whole->lists[l->place].ops;
    rlf_pipe_link *from =
        rlf_pipe_links(whole, l->place, l->env->pool, channels);
    rlf_pipe_link *links = RLF_NEW_ARRAY(l->env->pool, rlf_pipe_link, l->count);
    for (int i = 0, k = 0; i < l->count; i++, k++) {
        while (!same_op(all[k], l->list[i]))
            k++;
        links[i] = from[k];
    }
    return links;
}

/* Tables of one run: they are as long as its micro-batches are many. */
typedef struct tables {
    pipeline *l;
    const rlf_node_place *place;
    const int *micros, *most;    /* per model */
    rlf_pipe table, whole;       /* the table, and one that has all of it */
    rlf_pipe reading;            /* of the model that reads, to be walked */
    int reader;                  /* that model */
    const rlf_pipe *walked, *of; /* that is walked, and what it is of */
} tables;

static const char tables_words[] = "the tables of a pipeline";

static void
make_tables(void *p)
{
    tables *t = p;
    rlf_arena *pool = t->l->env->pool;
    rlf_pipes_table(t->place, t->micros, pool, &t->table);
    rlf_pipes_table(t->place, t->place->pipe ? t->most : t->micros, pool,
                    &t->whole);
}

static void
make_reading(void *p)
{
    tables *t = p;
    rlf_pipe_reading(&t->table, t->reader, t->micros[t->reader],
                     t->l->env->pool, &t->reading);
}

/* This place's list of a table. */
static void
make_list(void *p)
{
    const tables *t = p;
    pipeline *l = t->l;
    int channels;
    l->next = 0;
    l->count = t->walked->lists[l->place].count;
    l->list = t->walked->lists[l->place].ops;
    l->links = links_of(l, t->of, &channels);
    l->ops = RLF_NEW_ARRAY(l->env->pool, rlf_train_op, l->count);
    RLF_ASSERT(channels <= RLF_PIPE_CHANNELS);
    for (int i = 0; i < l->count; i++)
        l->ops[i] =
            (rlf_train_op){.micro = l->list[i].micro,
                           .chunk = l->list[i].chunk,
                           .backward = l->list[i].kind == RLF_PIPE_BACKWARD};
}

/* Walk this place's list of a table, which `whole` has all of. */
static rlf_status
walk(tables *t, const rlf_pipe *table, const rlf_pipe *whole, bool reading,
     rlf_err *err)
{
    pipeline *l = t->l;
    l->reading = reading;
    t->walked = table;
    t->of = whole;
    RLF_TRY(rlf_memory_guard(make_list, t, tables_words, err));
    for (int i = 0; i < l->count; i++) {
        l->now = part_of(l, i)->call->node;
        RLF_TRY(look_ahead(l, i, err));
        uint64_t from = l->env->trace ? rlf_clock_now() : 0;
        RLF_TRY(run_op(l, i, err));
        trace(l, i, from);
        rlf_comm_heartbeat(l->env->comm);
    }
    return drain(l, err);
}

/* ---- the whole ---- */

/* After an error no buffer may be given back before its message has stopped: so
 * the run ends here. */
static rlf_status
give_up(pipeline *l, rlf_status status, rlf_err *err)
{
    if (!l->env->comm)
        return status;
    rlf_err_place(err, l->now->span, l->now->class->name);
    if (status != RLF_PEER)
        rlf_comm_abort(rlf_comm_world_of(l->env->comm), err);
    for (int i = 0; i < l->n; i++)
        for (int c = 0; l->parts[i].flights && c < l->parts[i].training.chunks;
             c++)
            for (int k = 0; k < l->parts[i].training.flights[c]; k++)
                for (int b = 0; b < 2; b++) {
                    flight *f = &l->parts[i].flights[c][k];
                    rlf_err ignored = RLF_ERR_NONE;
                    wait_for(&f->arrives[b], &ignored);
                    wait_for(&f->leaves[b], &ignored);
                }
    return status;
}

static rlf_status
open_part(pipeline *l, rlf_call *call, part *p, rlf_err *err)
{
    rlf_arena *pool = l->env->pool;
    l->now = call->node;
    *p = (part){.call = call,
                .class = call->node->class->trainable,
                .stages = rlf_call_mesh(call)->pp};
    RLF_TRY(p->class->begin(call, err, &p->training));
    const rlf_training *t = &p->training;
    flight **flights = RLF_NEW_ARRAY(pool, flight *, t->chunks);
    for (int c = 0; c < t->chunks; c++)
        flights[c] = RLF_NEW_ARRAY(pool, flight, t->flights[c]);
    p->flights = flights;
    p->turn = RLF_NEW_ARRAY(pool, int, t->chunks);
    return RLF_OK;
}

static rlf_status
run(pipeline *l, const rlf_plan *plan, rlf_call *const *calls, int n,
    rlf_err *err)
{
    rlf_arena *pool = l->env->pool;
    const rlf_node_place *place = &plan->place[calls[0]->node->id];
    int *micros = RLF_NEW_ARRAY(pool, int, l->n),
        *most = RLF_NEW_ARRAY(pool, int, l->n);
    tables t = {.l = l, .place = place, .micros = micros, .most = most};
    for (int i = 0; i < n; i++) {
        const rlf_node_place *own = &plan->place[calls[i]->node->id];
        int model = rlf_pipes_model(own, rlf_call_mesh(calls[i])->at);
        RLF_TRY(open_part(l, calls[i], &l->parts[model], err));
        micros[model] = l->parts[model].training.micros;
        for (int k = 0; own->pipe && k < own->pipe_copies; k++)
            most[own->pipe_model + k] = l->parts[model].training.most;
    }
    RLF_TRY(rlf_memory_guard(make_tables, &t, tables_words, err));
    for (int i = 0; i < l->n; i++) {
        part *p = &l->parts[i];
        p->split = t.table.models[i].split;
        if (!p->training.reads)
            continue;
        t.reader = i;
        RLF_TRY(rlf_memory_guard(make_reading, &t, tables_words, err));
        RLF_TRY(walk(&t, &t.reading, &t.reading, true, err));
        l->now = p->call->node;
        RLF_TRY(p->class->gather(p->call, err));
    }
    return walk(&t, &t.table, &t.whole, false, err);
}

rlf_status
rlf_pipeline_run(const rlf_plan *plan, rlf_call *const *calls, int n,
                 double *taken, rlf_err *err)
{
    const rlf_node_place *place = &plan->place[calls[0]->node->id];
    pipeline l = {.env = calls[0]->env,
                  .taken = taken,
                  .n = place->pipe ? place->pipe->n_models : 1};
    l.parts = RLF_NEW_ARRAY(l.env->pool, part, l.n);
    l.place = rlf_pipes_place(place, rlf_call_mesh(calls[0])->at);
    rlf_status status = run(&l, plan, calls, n, err);
    return status < 0 ? give_up(&l, status, err) : status;
}
