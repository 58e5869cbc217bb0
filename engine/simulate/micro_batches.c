/* Micro-batches of a simulated run: how long a pipeline takes with the times of
 * its stages. */
#include "engine/simulate/simulate_state.h"

#include "engine/layout/lanes.h"
#include "engine/plan/pipes.h"

#include <math.h>
#include <stdlib.h>

/* The tokens of a row, less those that it shares with the one before it. */
static double
tokens_of(const sequences *q, const bool *shares, int64_t row)
{
    rlf_length length = rlf_sim_length(q, (uint32_t)row);
    double tokens = (double)length.prompt + length.response;
    return tokens - (shares && shares[row] ? length.prompt - 1 : 0);
}

/* Cut rows as they come, as many as have no more than `room` tokens; what was
 * cut before stays as it is. Those that share a prompt (NULL: none does) stay
 * together. */
static void
cut(const sequences *q, const int64_t *rows, int64_t n, const bool *shares,
    double room, micros *m)
{
    double filled = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        rlf_length length = rlf_sim_length(q, (uint32_t)rows[i]);
        double tokens = tokens_of(q, shares, rows[i]), all = tokens;
        for (int64_t k = i + 1;
             shares && !shares[rows[i]] && k < n && shares[rows[k]]; k++)
            all += tokens_of(q, shares, rows[k]);
        if (filled + all > room && !(shares && shares[rows[i]])) {
            m->n++;
            filled = 0;
        }
        filled += tokens;
        m->rows++;
        m->prompt += length.prompt;
        m->response += length.response;
    }
}

static int
ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Rows in the order in which they are read, of several sets by turns. */
static int64_t *
sort_rows(const uint32_t *rows, uint32_t n, uint32_t sets, rlf_arena *arena)
{
    int64_t *sorted = RLF_NEW_ARRAY(arena, int64_t, (size_t)n * sets + 1);
    for (uint32_t i = 0; i < n * sets; i++)
        sorted[i] =
            (int64_t)(rows ? rows[i / sets] : i / sets) * sets + i % sets;
    if (rows)
        qsort(sorted, (size_t)n * sets, sizeof *sorted, ascending);
    return sorted;
}

double
rlf_sim_each(const sequences *q, const uint32_t *rows, uint32_t n)
{
    rlf_arena *scratch = rlf_arena_new();
    const int64_t *sorted = sort_rows(rows, n, 1, scratch);
    uint32_t prompts = 0, last = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = rlf_sim_length(q, (uint32_t)sorted[i]).group;
        prompts += !i || group != last;
        last = group;
    }
    rlf_arena_free(scratch);
    return prompts ? (double)n / prompts : 1;
}

/* Are two rows samples of one prompt? */
static bool
follows(const sequences *q, int64_t row, int64_t next)
{
    return rlf_sim_length(q, (uint32_t)row).group ==
           rlf_sim_length(q, (uint32_t)next).group;
}

/* Cuts rows that are read, in their order. In a micro-batch those of one prompt
 * that follow one another have its tokens once, and all are in one, if they fit
 * (rlf_prefix_fit). */
static void
cut_reading(const sequences *q, const int64_t *rows, int64_t n, double room,
            micros *m)
{
    int64_t begin = 0, prompt = 0;
    double filled = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        rlf_length at = rlf_sim_length(q, (uint32_t)rows[i]);
        double tokens = (double)at.prompt + at.response;
        bool again = i && follows(q, rows[i - 1], rows[i]);
        m->each += !again; /* the number of prompts, until it is evened out */
        prompt = again ? prompt : i;
        tokens = again && i > begin ? fmax(1, at.response) : tokens;
        if (filled + tokens > room) {
            m->n++;
            m->each += again && prompt <= begin;
            i = begin = prompt > begin ? prompt : i;
            at = rlf_sim_length(q, (uint32_t)rows[i]);
            tokens = (double)at.prompt + at.response;
            filled = 0;
        }
        filled += tokens;
    }
    for (int64_t i = 0; i < n; i++) {
        rlf_length at = rlf_sim_length(q, (uint32_t)rows[i]);
        m->rows++;
        m->prompt += at.prompt;
        m->response += at.response;
    }
}

/* Sums become means. */
static void
even_out(micros *m)
{
    if (!m->n)
        return;
    m->each = m->each > 0 ? m->rows / m->each : 0;
    m->prompt /= m->rows;
    m->response /= m->rows;
    m->rows /= m->n;
}

static double
room_of(const simulation *s, const rlf_node *node, rlf_use use)
{
    int tokens = s->plan->place[node->id].tokens;
    if (s->options->rooms && s->options->rooms[node->id])
        return s->options->rooms[node->id];
    if (!tokens && s->plan->caps && node->receiver >= 0)
        tokens = (int)s->plan->caps[node->receiver].tokens[use];
    return tokens ? tokens : RLF_CAP_TOKENS;
}

/* Per row: does it go through the model with the prompt of the one before it?
 * As rlf_sequences_share_prompts of nodes/model has it; those of several sets
 * that are of one row always do. */
static bool *
find_shared(const sequences *q, rlf_arena *scratch)
{
    bool *shares = RLF_NEW_ARRAY(scratch, bool, q->n + 1);
    double used = 0;
    for (uint32_t i = 0; i < q->n; i += q->sets) {
        rlf_length of = rlf_sim_length(q, i);
        double own = (double)of.response + 1, more = own * q->sets;
        shares[i] = i && of.group == rlf_sim_length(q, i - 1).group &&
                    of.prompt > 1 && used + more <= RLF_SHARED_TOKENS;
        used = shares[i] ? used + more : of.prompt - 1 + more;
        for (uint32_t k = 1; k < q->sets; k++)
            shares[i + k] = true;
    }
    return shares;
}

/* Rows that share a prompt go to one lane (nodes/lanes.c). */
static void
assign_lanes(const sequences *q, const bool *shares, int lanes,
             rlf_arena *scratch, int *lane)
{
    int64_t *length = RLF_NEW_ARRAY(scratch, int64_t, q->n + 1);
    int *of = RLF_NEW_ARRAY(scratch, int, q->n + 1);
    rlf_err err = RLF_ERR_NONE;
    int64_t units = 0, unit = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        units += !(shares && shares[i]);
        length[units - 1] += (int64_t)tokens_of(q, shares, i);
    }
    if (rlf_lanes_deal(length, units, lanes, &err, of) < 0)
        for (int64_t i = 0; i < units; i++)
            of[i] = (int)(i % lanes);
    for (uint32_t i = 0; i < q->n; i++) {
        unit += !(shares && shares[i]);
        lane[i] = of[unit - 1];
    }
}

/* The rows of the lanes that each replica adds up, lane by lane
 * (nodes/update.c). */
static void
assign(simulation *s, const rlf_node *node, const sequences *q, micros *out,
       rlf_arena *scratch)
{
    const rlf_layout *l = &s->plan->place[node->id].layout;
    int lanes = s->plan->sums ? s->plan->sums[node->receiver].lanes : 1;
    while (lanes < l->dp)
        lanes *= 2;
    int64_t *rows = RLF_NEW_ARRAY(scratch, int64_t, q->n + 1);
    int *lane = RLF_NEW_ARRAY(scratch, int, q->n + 1);
    const bool *shares = node->loss->shared ? find_shared(q, scratch) : NULL;
    assign_lanes(q, shares, lanes, scratch, lane);
    for (int d = 0; d < l->dp; d++) {
        rlf_range part = rlf_lanes_part(lanes, l->dp, d);
        for (int64_t k = part.first; k < part.last; k++) {
            int64_t n = rlf_lanes_rows(lane, q->n, (rlf_range){k, k + 1}, rows);
            cut(q, rows, n, shares, room_of(s, node, RLF_USE_UPDATE), &out[d]);
        }
        even_out(&out[d]);
    }
}

static double
portion(const simulation *s, rlf_portion p)
{
    const rlf_durations *d = s->options->durations;
    return d->portion ? d->portion(d->self, &p) : 0;
}

/* The rank of a replica whose stage is at a place of the pipeline. */
static int
rank_at(const rlf_node_place *place, int dp, int where)
{
    const rlf_layout *l = &place->layout;
    for (int i = 0; i < l->n_ranks; i++) {
        rlf_coordinates at = rlf_layout_at(l, i);
        if (at.dp == dp && !at.tp && rlf_pipes_place(place, at) == where)
            return l->ranks[i];
    }
    return -1;
}

/* The costs of a model's stages with these micro-batches, going forward so
 * and, in training, backward. */
static rlf_pipe_cost *
stage_costs(const simulation *s, const rlf_node *node,
            const rlf_pipe_model *model, int dp, const micros *m,
            rlf_portion_kind forward, bool trains, rlf_arena *arena)
{
    const rlf_durations *d = s->options->durations;
    const rlf_node_place *place = &s->plan->place[node->id];
    rlf_pipe_cost *cost = RLF_NEW_ARRAY(arena, rlf_pipe_cost, model->stages);
    int *rank = RLF_NEW_ARRAY(arena, int, model->stages);
    for (int k = 0; k < model->stages; k++)
        rank[k] = rank_at(place, dp, model->path[k]);
    for (int k = 0; k < model->stages && m->n; k++) {
        rlf_portion p = {.node = node,
                         .rank = rank[k],
                         .rows = m->rows,
                         .prompt = m->prompt,
                         .response = m->response,
                         .each = m->each,
                         .micros = m->n};
        for (int i = 0; i < k; i++)
            p.chunk += model->path[i] == model->path[k];
        p.kind = forward;
        cost[k].forward = portion(s, p);
        p.kind = RLF_PORTION_BACKWARD;
        cost[k].backward = trains ? portion(s, p) : 0;
        p.kind = RLF_PORTION_WEIGHTS;
        if (trains && model->split)
            cost[k].weights = portion(s, p);
        p.kind = forward;
        if (k + 1 < model->stages && rank[k] != rank[k + 1] && d->stage)
            cost[k].send = d->stage(d->self, &p, rank[k + 1]);
    }
    return cost;
}

/* ---- updates ---- */

/* Updates that are carried out together. */
typedef struct joint {
    const rlf_node **node;
    micros **micros; /* per node and replica */
    int n;
} joint;

/* The replicas of joint updates that are the models of a table in one run of
 * it: as many walk a table at once as replicas share a copy. */
typedef struct run {
    const rlf_pipe *pipe;
    int *member,
        *dp; /* per model: of the updates, and its replica; -1: nobody */
} run;

static int
turns_of(const rlf_node_place *place)
{
    int copies = place->pipe ? place->pipe_copies : 1;
    return place->layout.dp / (copies ? copies : 1);
}

static run
open_run(const simulation *s, const joint *p, int turn, rlf_arena *arena)
{
    const rlf_node_place *first = &s->plan->place[p->node[0]->id];
    int n = first->pipe ? first->pipe->n_models : 1;
    run r = {.member = RLF_NEW_ARRAY(arena, int, n),
             .dp = RLF_NEW_ARRAY(arena, int, n)};
    int *count = RLF_NEW_ARRAY(arena, int, n);
    rlf_pipe *pipe = RLF_NEW(arena, rlf_pipe);
    for (int m = 0; m < n; m++)
        r.member[m] = -1;
    for (int i = 0; i < p->n; i++) {
        const rlf_node_place *place = &s->plan->place[p->node[i]->id];
        int turns = turns_of(place), copies = place->layout.dp / turns;
        for (int c = 0; c < copies; c++) {
            int m = place->pipe ? place->pipe_model + c : 0;
            r.member[m] = i;
            r.dp[m] = c * turns + turn % turns;
            count[m] = p->micros[i][r.dp[m]].n;
        }
    }
    rlf_pipes_table(first, count, arena, pipe);
    r.pipe = pipe;
    return r;
}

/* Add what a table takes to the ranks of its places. */
static double
take_table(const simulation *s, const joint *p, const run *r,
           const rlf_pipe *pipe, bool before, rlf_arena *arena, double *busy)
{
    static const micros nothing;
    const rlf_pipe_cost **cost =
        RLF_NEW_ARRAY(arena, const rlf_pipe_cost *, pipe->n_models);
    rlf_pipe_report said;
    for (int m = 0; m < pipe->n_models; m++) {
        int i = r->member[m] < 0 ? 0 : r->member[m];
        cost[m] = stage_costs(
            s, p->node[i], &pipe->models[m], r->dp[m],
            r->member[m] < 0 ? &nothing : &p->micros[i][r->dp[m]],
            before ? RLF_PORTION_BEFORE : RLF_PORTION_FORWARD, !before, arena);
    }
    rlf_pipe_time(pipe, cost, arena, &said, NULL);
    for (int place = 0; place < pipe->places; place++)
        for (int k = 0; k < pipe->lists[place].count; k++) {
            rlf_pipe_op op = pipe->lists[place].ops[k];
            const rlf_pipe_model *model = &pipe->models[op.model];
            const rlf_pipe_cost *c =
                &cost[op.model][rlf_pipe_stage(model, place, op.chunk)];
            busy[place] += op.kind == RLF_PIPE_FORWARD    ? c->forward
                           : op.kind == RLF_PIPE_BACKWARD ? c->backward
                                                          : c->weights;
        }
    return said.makespan;
}

/* A table, and before it a pass of those that read first. */
static double
take_run(const simulation *s, const joint *p, const run *r, rlf_arena *arena,
         double *busy)
{
    double seconds = 0;
    for (int m = 0; m < r->pipe->n_models; m++) {
        const rlf_node *node = r->member[m] < 0 ? NULL : p->node[r->member[m]];
        if (!node || !node->loss ||
            !rlf_loss_reads_first(node->loss,
                                  s->plan->place[node->id].layout.pp))
            continue;
        rlf_pipe pass;
        rlf_pipe_reading(r->pipe, m, p->micros[r->member[m]][r->dp[m]].n, arena,
                         &pass);
        seconds += take_table(s, p, r, &pass, true, arena, busy);
    }
    return seconds + take_table(s, p, r, r->pipe, false, arena, busy);
}

/* All ranks end together, when the last has added and applied gradients. */
static void
finish_updates(const simulation *s, const joint *p, passes *out)
{
    double most = 0;
    const rlf_layout *l = &s->plan->place[p->node[0]->id].layout;
    for (int k = 0; k < l->n_ranks; k++) {
        double seconds = 0;
        for (int i = 0; i < p->n; i++) {
            const rlf_layout *own = &s->plan->place[p->node[i]->id].layout;
            int dp = rlf_layout_find(own, l->ranks[k]).dp;
            const micros *m = &p->micros[i][dp < 0 ? 0 : dp];
            seconds += portion(s, (rlf_portion){.kind = RLF_PORTION_FINISH,
                                                .node = p->node[i],
                                                .rank = l->ranks[k],
                                                .rows = m->rows * m->n,
                                                .prompt = m->prompt,
                                                .response = m->response});
        }
        out->busy[l->ranks[k]] += seconds;
        most = seconds > most ? seconds : most;
    }
    out->seconds += most;
}

/* Does the rank run the table's instance `turn`? Every model that it has a
 * replica of says so. */
static bool
runs(const simulation *s, const joint *p, int rank, int turn)
{
    bool does = true;
    for (int i = 0; i < p->n; i++) {
        const rlf_node_place *place = &s->plan->place[p->node[i]->id];
        int dp = rlf_layout_find(&place->layout, rank).dp;
        int turns = turns_of(place);
        does &= dp < 0 || dp % turns == turn % turns;
    }
    return does;
}

static void
take_updates(const simulation *s, const joint *p, passes *out,
             rlf_arena *scratch)
{
    const rlf_node_place *first = &s->plan->place[p->node[0]->id];
    const rlf_layout *l = &first->layout;
    double longest = 0;
    int turns = 1;
    for (int i = 0; i < p->n; i++) {
        int own = turns_of(&s->plan->place[p->node[i]->id]);
        turns = own > turns ? own : turns;
    }
    for (int turn = 0; turn < turns; turn++) {
        run r = open_run(s, p, turn, scratch);
        double *busy = RLF_NEW_ARRAY(scratch, double, r.pipe->places);
        double seconds = take_run(s, p, &r, scratch, busy);
        longest = seconds > longest ? seconds : longest;
        for (int i = 0; i < l->n_ranks; i++)
            if (runs(s, p, l->ranks[i], turn))
                out->busy[l->ranks[i]] +=
                    busy[rlf_pipes_place(first, rlf_layout_at(l, i))];
    }
    out->seconds += longest;
    finish_updates(s, p, out);
}

static bool
same_micros(const simulation *s, const joint *p, const updates *last)
{
    bool same = last->n == p->n;
    for (int i = 0; i < p->n && same; i++) {
        int dp = s->plan->place[p->node[i]->id].layout.dp;
        same = last->node[i] == p->node[i];
        for (int d = 0; d < dp && same; d++) {
            const micros *a = &p->micros[i][d], *b = &last->micros[i][d];
            same = a->n == b->n && a->rows == b->rows &&
                   a->prompt == b->prompt && a->response == b->response;
        }
    }
    return same;
}

static void
keep_updates(simulation *s, const joint *p, const passes *took, updates *out)
{
    size_t ranks = (size_t)s->plan->ranks;
    if (out->n < p->n) {
        out->node = RLF_NEW_ARRAY(s->arena, const rlf_node *, p->n);
        out->micros = RLF_NEW_ARRAY(s->arena, micros *, p->n);
    }
    if (!out->busy)
        out->busy = RLF_NEW_ARRAY(s->arena, double, ranks);
    for (int i = 0; i < p->n; i++) {
        size_t dp = (size_t)s->plan->place[p->node[i]->id].layout.dp;
        if (out->n < p->n || out->node[i] != p->node[i])
            out->micros[i] = RLF_NEW_ARRAY(s->arena, micros, dp);
        memcpy(out->micros[i], p->micros[i], dp * sizeof *out->micros[i]);
        out->node[i] = p->node[i];
    }
    memcpy(out->busy, took->busy, ranks * sizeof *out->busy);
    out->seconds = took->seconds;
    out->n = p->n;
}

static void
take_joint(const simulation *s, const joint *p, passes *out, rlf_arena *scratch)
{
    memset(out->busy, 0, sizeof *out->busy * (size_t)s->plan->ranks);
    out->seconds = 0;
    if (s->plan->place[p->node[0]->id].pipe || p->n == 1)
        take_updates(s, p, out, scratch);
    else /* they have tables of their own */
        for (int i = 0; i < p->n; i++)
            take_updates(s, &(joint){p->node + i, p->micros + i, 1}, out,
                         scratch);
}

/* Minibatches are often as many rows that are as long as those before. */
const passes *
rlf_sim_update(simulation *s, const rlf_rank_task *task)
{
    passes *out = &s->passes;
    if (out->n == task->command->n + 1)
        return out;
    rlf_arena *scratch = rlf_arena_scratch(s->arena);
    joint p = {.n = task->n_joint + 1};
    p.node = RLF_NEW_ARRAY(scratch, const rlf_node *, p.n);
    p.micros = RLF_NEW_ARRAY(scratch, micros *, p.n);
    out->n = task->command->n + 1;
    for (int i = 0; i < p.n; i++) {
        const rlf_rank_command *command =
            i < task->n_joint ? task->joint[i] : task->command;
        p.node[i] = rlf_sim_instance(s, command->instance)->node;
        const rlf_layout *l = &s->plan->place[p.node[i]->id].layout;
        p.micros[i] = RLF_NEW_ARRAY(scratch, micros, l->dp);
        sequences q = rlf_sim_read(s, command->instance);
        assign(s, p.node[i], &q, p.micros[i], scratch);
    }
    updates *last = &s->updates[p.node[p.n - 1]->id];
    if (s->options->durations->known && same_micros(s, &p, last)) {
        size_t ranks = (size_t)s->plan->ranks;
        memcpy(out->busy, last->busy, ranks * sizeof *out->busy);
        out->seconds = last->seconds;
    } else {
        take_joint(s, &p, out, scratch);
        keep_updates(s, &p, out, last);
    }
    rlf_arena_free(scratch);
    return out;
}

/* ---- reading ---- */

/* The micro-batches of a share, in the order of its rows as in a run. */
static micros
cut_share(simulation *s, const rlf_rank_task *task, const rlf_node *node)
{
    const rlf_share *share = task->part->share;
    sequences q = rlf_sim_read(s, task->command->instance);
    rlf_arena *scratch = rlf_arena_scratch(s->arena);
    const int64_t *rows =
        sort_rows(share->rows, share->n_rows, q.sets, scratch);
    micros m = {0};
    cut_reading(&q, rows, (int64_t)share->n_rows * q.sets,
                room_of(s, node, RLF_USE_READ), &m);
    even_out(&m);
    rlf_arena_free(scratch);
    return m;
}

/* The order in which a call reads (nodes/logprob.c): through all chunks that
 * its stages have. */
static void
reading_table(const rlf_layout *l, int n, rlf_arena *arena, rlf_pipe *out)
{
    rlf_pipe like;
    if (l->chunks <= 1) {
        rlf_pipe_forward(l->pp, n, arena, out);
        return;
    }
    if (l->vee)
        rlf_pipe_vee(l->pp, 1, arena, &like);
    else
        rlf_pipe_interleaved(l->pp, 1, l->chunks, arena, &like);
    rlf_pipe_reading(&like, 0, n, arena, out);
}

static void
read_through(simulation *s, const rlf_node *node, int dp, reading *r)
{
    const rlf_layout *l = &s->plan->place[node->id].layout;
    rlf_arena *scratch = rlf_arena_scratch(s->arena);
    rlf_pipe pipe;
    rlf_pipe_report said;
    reading_table(l, r->micros.n, scratch, &pipe);
    const rlf_pipe_cost *cost =
        stage_costs(s, node, pipe.models, dp, &r->micros, RLF_PORTION_FORWARD,
                    false, scratch);
    rlf_pipe_time(&pipe, &cost, scratch, &said, NULL);
    r->seconds = said.makespan;
    memset(r->busy, 0, sizeof *r->busy * (size_t)l->pp);
    for (int k = 0; k < pipe.models->stages; k++)
        r->busy[pipe.models->path[k]] += r->micros.n * cost[k].forward;
    rlf_arena_free(scratch);
}

/* The record of what a replica last read. */
static reading *
reading_of(simulation *s, const rlf_node *node, int dp)
{
    const rlf_layout *l = &s->plan->place[node->id].layout;
    reading **all = &s->readings[node->id];
    if (!*all)
        *all = RLF_NEW_ARRAY(s->arena, reading, l->dp);
    reading *r = &(*all)[dp];
    if (!r->busy)
        r->busy = RLF_NEW_ARRAY(s->arena, double, l->pp);
    return r;
}

/* All ranks of a replica read the same rows, and often as many as long ones as
 * before. */
double
rlf_sim_reading(simulation *s, const rlf_rank_task *task, double *busy)
{
    const rlf_node *node = rlf_sim_instance(s, task->command->instance)->node;
    const rlf_share *share = task->part->share;
    rlf_coordinates at =
        rlf_layout_find(&s->plan->place[node->id].layout, task->rank);
    reading *r = reading_of(s, node, at.dp);
    uint64_t n = task->command->n + 1;
    bool known = r->n && s->options->durations->known;
    if (!known || r->n != n || r->rows != share->rows) {
        micros m = cut_share(s, task, node), was = r->micros;
        known = known && m.n == was.n && m.rows == was.rows &&
                m.prompt == was.prompt && m.response == was.response &&
                m.each == was.each;
        r->micros = m;
        r->n = n;
        r->rows = share->rows;
        if (!known)
            read_through(s, node, at.dp, r);
    }
    *busy = r->busy[at.pp];
    return r->seconds;
}
