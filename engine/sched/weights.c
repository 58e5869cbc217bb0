/* Weight edges: what a plan's copies mean for this rank, and how the weights of
 * a model get from its first copy to another. */
#include "engine/base/clock.h"
#include "engine/base/trace.h"
#include "engine/graph/class.h"
#include "engine/plan/weight_copies.h"
#include "engine/sched/rank.h"

/* Host bytes that this rank packs and unpacks in the largest round: what goes
 * to other processes. */
static rlf_status
most_passing(const rlf_rank *rank, const rlf_realloc_job *job,
             const rlf_realloc_plan *edge, rlf_err *err, uint64_t *most)
{
    int local = rlf_comm_world_local(rlf_comm_world_of(rank->comm));
    uint64_t *bytes;
    RLF_TRY(rlf_try_array((size_t)edge->rounds + 1, sizeof *bytes,
                          "the rounds of weights", err, &bytes));
    for (int i = 0; i < edge->n_sends; i++) {
        const rlf_send *s = &edge->sends[i];
        if ((s->from == rank->rank || s->to == rank->rank) &&
            s->from / local != s->to / local)
            bytes[s->round] += (uint64_t)(rlf_box_count(s->box) *
                                          rlf_realloc_element(job, s->tensor));
    }
    for (int i = 0; i < edge->rounds; i++)
        *most = bytes[i] > *most ? bytes[i] : *most;
    free(bytes);
    return RLF_OK;
}

/* Makes the edge that takes weights from one copy to another. */
static rlf_status
make_edge(rlf_rank *rank, size_t model, int from, int to,
          const rlf_shapes *shapes, const int *machine, rlf_err *err,
          rlf_weight_edge *out)
{
    const rlf_kernels *k = rank->env.kernels;
    const rlf_realloc_job job = rlf_weight_copies_job(
        rank->plan, (int)model, from, to, shapes, machine,
        k->one_pack ? rlf_real_bytes(k) : sizeof(float));
    rlf_realloc_plan plan;
    RLF_TRY(rlf_realloc_make(&job, rank->arena, err, &plan));
    RLF_TRY(most_passing(rank, &job, &plan, err, &rank->passing[model]));
    *out = (rlf_weight_edge){.from = from,
                             .to = to,
                             .sends = plan.sends,
                             .copies = plan.copies,
                             .n_sends = plan.n_sends,
                             .n_copies = plan.n_copies,
                             .by_layer = job.by_layer,
                             .rounds = plan.rounds};
    return RLF_OK;
}

static rlf_status
open_model_edges(rlf_rank *rank, size_t model, const int *machine, rlf_err *err)
{
    const rlf_weight_copies *copies = &rank->env.copies[model];
    const rlf_resource *r = &rank->graph->resources.data[model];
    rlf_shapes shapes;
    RLF_TRY(r->class->model->shapes(rank->graph, r, rank->env.resource[model],
                                    rank->arena, err, &shapes));
    rank->edges[model] = RLF_NEW_ARRAY(rank->arena, rlf_weight_edge, copies->n);
    rank->later[model] = RLF_NEW_ARRAY(rank->arena, rlf_weight_edge, copies->n);
    for (int k = 1; k < copies->n; k++) {
        rlf_weight_edge *edge = &rank->edges[model][k];
        RLF_TRY(make_edge(rank, model, 0, k, &shapes, machine, err, edge));
        int of = copies->list[k].later_of;
        if (of) /* on the ranks that it is on: copies */
            RLF_TRY(make_edge(rank, model, k, of, &shapes, machine, err,
                              &rank->later[model][k]));
    }
    return RLF_OK;
}

rlf_status
rlf_rank_open_edges(rlf_rank *rank, rlf_err *err)
{
    size_t n = rank->graph->resources.count;
    rank->edges = RLF_NEW_ARRAY(rank->arena, rlf_weight_edge *, n);
    rank->later = RLF_NEW_ARRAY(rank->arena, rlf_weight_edge *, n);
    rank->passing = RLF_NEW_ARRAY(rank->arena, uint64_t, n);
    if (!rank->comm)
        return RLF_OK;
    int *machine = RLF_NEW_ARRAY(rank->arena, int, rank->plan->ranks);
    for (int i = 0; i < rank->plan->ranks; i++)
        machine[i] = rlf_comm_world_machine(rlf_comm_world_of(rank->comm), i);
    for (size_t i = 0; i < n; i++) {
        rlf_status status = rank->env.copies[i].n > 1
                                ? open_model_edges(rank, i, machine, err)
                                : RLF_OK;
        if (status < 0) {
            const rlf_resource *r = &rank->graph->resources.data[i];
            rlf_err_place(err, r->span, r->name);
            return status;
        }
    }
    return RLF_OK;
}

/* Arrows in the trace, one a message: the first piece of each. */
static rlf_status
trace_move(const rlf_rank *rank, const rlf_rank_command *command,
           const rlf_weight_edge *edge, bool sends, rlf_err *err)
{
    uint64_t now = rlf_clock_now(), n = (uint64_t)rank->plan->ranks;
    const char *name = rank->graph->resources.data[command->model].name;
    bool *seen;
    RLF_TRY(rlf_try_array((size_t)edge->rounds * n + 1, sizeof *seen,
                          "a trace of weights", err, &seen));
    for (int i = 0; i < edge->n_sends; i++) {
        const rlf_send *s = &edge->sends[i];
        uint64_t peer = (uint64_t)(sends ? s->to : s->from);
        bool *met = &seen[(uint64_t)s->round * n + peer];
        if ((sends ? s->from : s->to) != rank->rank || *met)
            continue;
        *met = true;
        uint64_t id = command->n * (uint64_t)edge->rounds + (uint64_t)s->round;
        id = (id * n + (uint64_t)s->from) * n + (uint64_t)s->to;
        if (sends)
            rlf_trace_send(rank->env.trace, name, id, now);
        else
            rlf_trace_receive(rank->env.trace, name, id, now);
    }
    free(seen);
    return RLF_OK;
}

rlf_status
rlf_rank_move(rlf_rank *rank, const rlf_rank_command *command, rlf_err *err)
{
    const rlf_resource *r = &rank->graph->resources.data[command->model];
    const rlf_weight_edge *edge =
        command->from ? &rank->later[command->model][command->from]
                      : &rank->edges[command->model][command->copy];
    uint64_t from = rank->env.trace ? rlf_clock_now() : 0;
    rlf_moved moved = {0};
    if (rank->env.trace)
        RLF_TRY(trace_move(rank, command, edge, true, err));
    RLF_TRY(r->class->model->move(&rank->env, r,
                                  rank->env.resource[command->model], edge,
                                  rlf_group_world(rank->comm), err, &moved));
    rank->exchanged = moved.bytes;
    if (rank->env.trace) {
        RLF_TRY(trace_move(rank, command, edge, false, err));
        rlf_trace_span(rank->env.trace, rlf_do_words[command->kind], r->name,
                       from, rlf_clock_now(), moved.bytes);
    }
    return RLF_OK;
}
