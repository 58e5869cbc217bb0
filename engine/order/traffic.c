/* Simulating a step to count its traffic: see traffic.h. */
#include "engine/order/traffic.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/order/answer.h"

#include <math.h>

/* A flow and what each rank has of it. */
typedef struct load {
    rlf_flow flow;
    double *sent, *received; /* per rank */
} load;

typedef struct counter {
    const rlf_plan *plan;
    const rlf_graph *graph;
    rlf_answers answers;
    rlf_arena *arena;
    rlf_control *control;
    RLF_VEC(load) loads;
    int **moved;            /* per resource and copy: how often */
    RLF_VEC(bool) together; /* per instance: its ranks computed all of it */
    RLF_VEC(rlf_rank_event) events; /* that nobody has heard yet, */
    size_t heard;                /* but so many */
} counter;

static const rlf_node *
node_of(const counter *p, int instance)
{
    return rlf_order_instance(rlf_control_order(p->control), instance)->node;
}

/* ---- flows ---- */

static rlf_side
side_of(const counter *p, const rlf_node *node, bool whole)
{
    const rlf_node_place *place = &p->plan->place[node->id];
    bool rows = place->partition == RLF_PARTITION_ROWS;
    return (rlf_side){.layout = &place->layout,
                      .assignment = whole  ? RLF_ASSIGN_ALL
                                    : rows ? RLF_ASSIGN_DP
                                           : RLF_ASSIGN_LIST};
}

static load *
load_of(counter *p, const rlf_rank_command *command)
{
    static const int first_rank = 0;
    static const rlf_layout shown = {
        .ranks = &first_rank, .n_ranks = 1, .tp = 1, .pp = 1, .dp = 1};
    const rlf_node *from = node_of(p, command->instance);
    const rlf_node *to =
        command->reader < 0 ? NULL : node_of(p, command->reader);
    for (size_t i = 0; i < p->loads.count; i++) {
        const rlf_flow *f = &p->loads.data[i].flow;
        if (f->from == from->id && f->to == (to ? to->id : -1))
            return &p->loads.data[i];
    }
    bool alike = to && from->rows >= 0 && to->rows == from->rows;
    load new = {
        .flow = {.from = from->id,
                 .to = to ? to->id : -1,
                 .have = side_of(p, from, p->together.data[command->instance]),
                 .need = to ? side_of(p, to, !alike)
                            : (rlf_side){.layout = &shown}},
        .sent = RLF_NEW_ARRAY(p->arena, double, p->plan->ranks),
        .received = RLF_NEW_ARRAY(p->arena, double, p->plan->ranks)};
    RLF_PUSH(&p->loads, new);
    return &p->loads.data[p->loads.count - 1];
}

static void
take_edge(counter *p, const rlf_rank_command *command)
{
    load *l = load_of(p, command);
    double each =
        rlf_answer_bytes(&p->answers, node_of(p, command->instance), -1);
    /* a size of a simulated step says nothing about a real one */
    const rlf_node *node = node_of(p, command->instance);
    if (node->rows >= 0 && !isfinite(p->answers.sizes->values[node->rows]))
        each = INFINITY;
    l->flow.times += command->round == 0;
    if (command->round >= l->flow.rounds)
        l->flow.rounds = command->round + 1;
    l->flow.messages += command->n_moves;
    for (int i = 0; i < command->n_moves; i++) {
        const rlf_move *m = &command->moves[i];
        double bytes = each * m->n_rows;
        l->flow.bytes += bytes;
        l->sent[m->from] += bytes;
        l->received[m->to] += bytes;
    }
}

/* ---- answers ---- */

static void
answer_open(counter *p, const rlf_rank_command *command)
{
    RLF_PUSH(&p->events,
             rlf_answer_open(&p->answers, command,
                             node_of(p, command->instance), p->arena));
}

static void
answer_share(counter *p, const rlf_rank_command *command,
             const rlf_share *share)
{
    const rlf_instance *in =
        rlf_order_instance(rlf_control_order(p->control), command->instance);
    rlf_rank_event event = {.kind = RLF_EVENT_ROWS,
                            .rank = share->rank,
                            .n = command->n,
                            .rows = share->rows,
                            .n_rows = share->n_rows};
    if (in->node->class->work != RLF_WORK_GENERATE || !share->rows)
        event = rlf_answer_done(&p->answers, command, in, share->rank);
    RLF_PUSH(&p->events, event);
}

static void
answer_end(counter *p, const rlf_rank_command *command)
{
    for (int r = 0; r < p->plan->ranks; r++)
        RLF_PUSH(&p->events, rlf_answer_done(&p->answers, command, NULL, r));
}

static void
take_run(counter *p, const rlf_rank_command *command)
{
    while (p->together.count <= (size_t)command->instance)
        RLF_PUSH(&p->together, false);
    p->together.data[command->instance] =
        command->n_shares > 0 && !command->shares[0].rows;
    for (int i = 0; i < command->n_shares; i++)
        if (command->shares[i].reports)
            answer_share(p, command, &command->shares[i]);
}

static bool
comes_late(const rlf_rank_event *event)
{
    return event->kind == RLF_EVENT_DONE || event->kind == RLF_EVENT_ENDED;
}

/* As in a run, an event is heard when nothing more can be posted. Those of
 * samples come first: whoever makes them has the least to do besides. */
static void
hear(counter *p)
{
    size_t at = p->heard;
    while (at < p->events.count && comes_late(&p->events.data[at]))
        at++;
    if (at == p->events.count)
        at = p->heard;
    RLF_ASSERT(at < p->events.count);
    const rlf_rank_event event = p->events.data[at];
    memmove(p->events.data + p->heard + 1, p->events.data + p->heard,
            (at - p->heard) * sizeof event);
    p->heard++;
    rlf_control_tell(p->control, &event);
}

/* A whole step. */
static void
run_step(counter *p)
{
    p->loads.count = 0; /* what was made ahead stays `together` */
    for (size_t i = 0; i < p->graph->resources.count; i++)
        p->moved[i] = RLF_NEW_ARRAY(p->arena, int, p->plan->copies[i].n);
    rlf_control_begin(p->control);
    while (!rlf_control_ended(p->control)) {
        const rlf_rank_command *command = rlf_control_next(p->control);
        if (!command)
            hear(p);
        else if (command->kind == RLF_DO_OPEN)
            answer_open(p, command);
        else if (command->kind == RLF_DO_RUN)
            take_run(p, command);
        else if (command->kind == RLF_DO_EDGE)
            take_edge(p, command);
        else if (command->kind == RLF_DO_WEIGHTS && !command->from)
            p->moved[command->model][command->copy]++;
        else if (command->kind == RLF_DO_END)
            answer_end(p, command);
    }
}

static void
list_weights(const counter *p, rlf_traffic *out)
{
    const rlf_weight_copies *copies = p->plan->copies;
    int n = 0;
    for (size_t i = 0; i < p->graph->resources.count; i++)
        n += copies[i].n;
    out->weights = RLF_NEW_ARRAY(p->arena, rlf_weight_flow, n);
    out->n_weights = 0;
    for (int i = 0; i < (int)p->graph->resources.count; i++)
        for (int k = 0; k < copies[i].n; k++)
            if (p->moved[i][k])
                out->weights[out->n_weights++] =
                    (rlf_weight_flow){i, k, p->moved[i][k]};
}

static double
most(const double *list, int n)
{
    double x = 0;
    for (int i = 0; i < n; i++)
        x = list[i] > x ? list[i] : x;
    return x;
}

void
rlf_traffic_count(const rlf_plan *plan, const rlf_sizes *sizes, uint32_t shown,
                  rlf_arena *arena, rlf_traffic *out)
{
    counter p = {.plan = plan,
                 .graph = plan->graph,
                 .answers = {.plan = plan, .sizes = sizes},
                 .arena = arena,
                 .control =
                     rlf_control_new(plan, (rlf_policy){.shown = shown})};
    p.moved = RLF_NEW_ARRAY(arena, int *, plan->graph->resources.count);
    run_step(&p);
    run_step(&p);
    list_weights(&p, out);
    out->count = (int)p.loads.count;
    out->list = RLF_NEW_ARRAY(arena, rlf_flow, p.loads.count);
    out->sent = RLF_NEW_ARRAY(arena, double, plan->ranks);
    for (int i = 0; i < out->count; i++) {
        out->list[i] = p.loads.data[i].flow;
        out->list[i].sent = most(p.loads.data[i].sent, plan->ranks);
        out->list[i].received = most(p.loads.data[i].received, plan->ranks);
        for (int r = 0; r < plan->ranks; r++)
            if (isfinite(p.loads.data[i].sent[r]))
                out->sent[r] += p.loads.data[i].sent[r];
    }
    rlf_control_free(p.control);
    RLF_VEC_FREE(&p.loads);
    RLF_VEC_FREE(&p.together);
    RLF_VEC_FREE(&p.events);
}
