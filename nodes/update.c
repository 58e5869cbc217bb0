/* `update m { ... }`: one optimizer step on the sum of its minimize's.
 *
 * Live calls on the same set are read in one pass, and those on sets of the
 * same rows where samples share their prompt (rlf_loss_find_passes). The loss's
 * program (engine/expr, differentiated by the grammar) gives for each live
 * value the derivative of the loss. How far those derivatives look decides what
 * is done:
 *
 *   POINT    at the same token: within the head's own tile, in one pass
 *   SAMPLE   within the sample: after the forward pass of the micro-batch
 *   BATCH    across samples: all live values first, in a pass of their own
 *
 * Whichever it is, gradients add sample by sample in the order of the set
 * within a lane (engine/layout/lanes.h), and lanes in a tree, so neither
 * micro-batches nor a pipeline's schedule change a bit: on each chunk of the
 * model micro-batches go backward in their order. With data parallelism each
 * rank does so for its own lanes; with stages the last has the heads. All get
 * the live values of all, and compute loss and reports alike. */
#include "nodes/update.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/hash.h"
#include "engine/comm/comm.h"
#include "nodes/model_declare.h"
#include "nodes/model/gradient.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/buffers.h"
#include "nodes/model/prefix.h"
#include "nodes/rows.h"

/* Named as those of the constructor adamw (model.c), which hold the bounds. */
/* The state of the node, which lasts for the run. */
typedef struct state {
    rlf_arena *arena;
    rlf_update_points points;
    const rlf_expr_plan *plan;
    rlf_vocab_plan *words;               /* one for each of the loss's */
    const char *loss, *gradient, *empty; /* what the metrics are called */
    rlf_update *update;
    double alone; /* see rlf_update_alone */
} state;

const char *
rlf_update_metric(const rlf_graph *graph, const rlf_node *node,
                  const char *what, rlf_arena *arena)
{
    const char *model = graph->resources.data[node->receiver].name;
    int number = 1;
    for (int i = 0; i < node->id; i++) {
        const rlf_node *other = &graph->nodes.data[i];
        number += other->class->work == RLF_WORK_TRAIN &&
                  other->receiver == node->receiver;
    }
    return number > 1
               ? rlf_arena_printf(arena, "%s.%s.%d", model, what, number)
               : rlf_arena_printf(arena, "%s.%s", model, what);
}

static void
fini(void *object)
{
    state *s = object;
    if (!s)
        return;
    rlf_arena_free(s->arena);
    free(s);
}

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **out)
{
    state *s = rlf_calloc(1, sizeof *s);
    s->arena = rlf_arena_new();
    s->loss = rlf_update_metric(env->graph, node, "loss", s->arena);
    s->gradient = rlf_update_metric(env->graph, node, "gradient", s->arena);
    s->empty = rlf_update_metric(env->graph, node, "empty", s->arena);
    s->words = RLF_NEW_ARRAY(s->arena, rlf_vocab_plan, node->loss->n_words);
    rlf_status status =
        rlf_update_points_new(node->loss, s->arena, err, &s->points);
    if (status >= 0)
        status = rlf_expr_plan_new(s->points.program, s->arena, err, &s->plan);
    for (int i = 0; i < node->loss->n_words && status >= 0; i++)
        status = rlf_vocab_plan_new(&node->loss->words[i], s->arena, err,
                                    &s->words[i]);
    if (status < 0) {
        fini(s);
        s = NULL;
    }
    *out = s;
    return status;
}

/* Room for what `report` asks for. */
static rlf_status
open(rlf_call *call, rlf_err *err)
{
    return rlf_call_open_columns(call, "what an update reports", err);
}

rlf_update *
rlf_update_of(const rlf_call *call)
{
    return ((state *)call->state)->update;
}

double *
rlf_update_alone(const rlf_call *call)
{
    return &((state *)call->state)->alone;
}

/* ---- begin ---- */

const rlf_update_set *
rlf_update_serves(const rlf_update_group *g, const rlf_live_call *live)
{
    for (uint32_t k = 0; k < g->n_sets && rlf_live_together(g->live, live); k++)
        if (g->sets[k].input == live->set_input)
            return &g->sets[k];
    return NULL;
}

/* Of the calls that the loss depends on, the first that is on this set. Those
 * of reports do not count: metrics change no bit. */
static uint64_t
number_of_set(const rlf_loss *loss, int set_input)
{
    uint64_t n = 0;
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        bool reported = live->input >= 0 && live->gradient < 0;
        if (live->set_input == set_input && !reported)
            break;
        n += !reported;
    }
    return n;
}

/* By what is drawn what dropout keeps: the update, its iteration, the set and
 * the sample, wherever and with whatever others that is computed. */
static void
set_drops(const rlf_update *u, rlf_update_group *g)
{
    const rlf_call *call = u->call;
    const rlf_loss *loss = call->node->loss;
    rlf_random_key key = {.purpose = RLF_PURPOSE_DROPOUT,
                          .site = call->node->site,
                          .step = call->env->step};
    for (uint32_t i = 0; i < g->n; i++) {
        const rlf_update_set *set = rlf_update_set_of(g, i);
        const uint64_t *identity = set->rows->samples->identity;
        uint32_t row = rlf_update_row_of(g, i);
        key.seed =
            call->env->seed ^
            rlf_hash_mix(call->iteration + number_of_set(loss, set->input));
        key.sample = identity ? identity[row] : row;
        g->seqs[i].drops = key;
    }
}

/* Has samples of a prompt go through the model with it once. */
static rlf_status
share_prompts(const rlf_update *u, const rlf_update_group *g, rlf_sequence *all,
              uint32_t n, rlf_err *err)
{
    const rlf_env *env = u->call->env;
    uint32_t *prompt;
    RLF_TRY(rlf_arena_try(env->pool, sizeof *prompt * ((size_t)n + 1),
                          "the prompts of samples", err, &prompt));
    for (uint32_t i = 0; i < n; i++)
        prompt[i] = rlf_rows_prompt_of(env->graph, g->sets[i % g->n_sets].rows,
                                       i / g->n_sets);
    rlf_sequences_share_prompts(all, n, g->n_sets, prompt,
                                g->last ? RLF_ROWS_LAST : RLF_ROWS_TOKENS);
    return RLF_OK;
}

/* The sequences of all samples of the group's sets, by turns; *n: how many. */
static rlf_status
read_samples(const rlf_update *u, const rlf_update_group *g,
             rlf_read_kind reading, uint32_t *n, rlf_err *err,
             rlf_sequence **out)
{
    const rlf_env *env = u->call->env;
    uint32_t each = g->sets[0].rows->samples->count, of = g->n_sets;
    rlf_sequence *all = NULL, *own;
    if (of > 1)
        RLF_TRY(rlf_arena_try(env->pool, sizeof *all * ((size_t)each * of + 1),
                              "the samples of an update", err, &all));
    for (uint32_t k = 0; k < of; k++) {
        RLF_ASSERT(g->sets[k].rows->samples->count == each);
        RLF_TRY(rlf_sequences_read(env, g->sets[k].rows, u->object, reading,
                                   NULL, each, err, &own));
        for (uint32_t i = 0; i < each && all; i++)
            all[i * of + k] = own[i];
    }
    *n = each * of;
    *out = all ? all : own;
    return RLF_OK;
}

/* The sequences of a group: all samples are read, for their lengths decide
 * whose they are. */
static rlf_status
take_samples(rlf_update *u, rlf_update_group *g, rlf_err *err)
{
    rlf_sequence *all;
    uint32_t n;
    RLF_TRY(
        read_samples(u, g, rlf_read_kind_of(g->live->class), &n, err, &all));
    if (u->call->node->loss->shared)
        RLF_TRY(share_prompts(u, g, all, n, err));
    RLF_TRY(rlf_update_lanes_take(u->model, all, n, u->call->env->pool, err,
                                  &g->lanes));
    g->row = g->lanes.rows[g->lanes.self];
    g->n = g->lanes.n_rows[g->lanes.self];
    RLF_TRY(rlf_arena_try(u->call->env->pool,
                          sizeof *g->seqs * ((size_t)g->n + 1),
                          "the samples of an update", err, &g->seqs));
    for (uint32_t i = 0; i < g->n; i++)
        g->seqs[i] = all[g->row[i]];
    set_drops(u, g);
    u->any |= n > 0;
    return RLF_OK;
}

/* The sets of a pass, in the order of their calls. */
static void
take_sets(const rlf_update *u, int pass, rlf_update_group *g)
{
    rlf_arena *pool = u->call->env->pool;
    const rlf_loss *loss = u->call->node->loss;
    int *inputs = RLF_NEW_ARRAY(pool, int, loss->n_calls);
    g->n_sets = (uint32_t)rlf_loss_sets(loss, pass, inputs);
    g->sets = RLF_NEW_ARRAY(pool, rlf_update_set, g->n_sets);
    for (uint32_t k = 0; k < g->n_sets; k++)
        g->sets[k] = (rlf_update_set){.input = inputs[k],
                                      .rows = u->call->in[inputs[k]].rows,
                                      .index = k,
                                      .of = g->n_sets};
}

static rlf_status
make_groups(rlf_update *u, rlf_err *err)
{
    const rlf_loss *loss = u->call->node->loss;
    u->groups =
        RLF_NEW_ARRAY(u->call->env->pool, rlf_update_group, loss->n_calls);
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        rlf_read_kind reading = rlf_read_kind_of(live->class);
        rlf_update_group *g = &u->groups[live->pass];
        if ((uint32_t)live->pass == u->n_groups) {
            u->n_groups++;
            g->live = live;
            g->last = reading == RLF_READ_SCORE;
            take_sets(u, live->pass, g);
            RLF_TRY(take_samples(u, g, err));
        }
        bool lm = reading == RLF_READ_LOGPROB || reading == RLF_READ_WORDS;
        g->logprob |= reading == RLF_READ_LOGPROB;
        g->scalar |= !lm;
        int head = lm ? RLF_HEAD_LM : RLF_HEAD_SCALAR;
        if (!((int)u->model->table->head & head))
            return rlf_fail(err, RLF_USER,
                            "model '%s' has no head for %s: see head: of its "
                            "declaration",
                            u->object->name, live->class->name);
    }
    return RLF_OK;
}

/* Opens what is reduced over vocab at the tokens of each group. */
static rlf_status
open_words(rlf_update *u, rlf_err *err)
{
    state *s = u->call->state;
    int last = u->model->table->cut.chunks - 1;
    rlf_pass *live =
        rlf_table_ends(u->model->table, last) ? u->flights[last][0].pass : NULL;
    for (int i = 0; i < u->call->node->loss->n_words; i++) {
        rlf_vocab_plan *plan = &s->words[i];
        for (uint32_t k = 0; k < u->n_groups; k++) {
            rlf_update_group *g = &u->groups[k];
            if (g->last || g->sets[0].input != plan->words->set_input)
                continue;
            RLF_TRY(rlf_vocab_tile_open(plan, u->call, live, err, &g->words));
            RLF_TRY(rlf_vocab_take(g->words, g->seqs, g->row, g->n, err));
        }
    }
    return RLF_OK;
}

/* Finds the pass that has each flight's activations. */
static rlf_status
open_flights(rlf_update *u, rlf_err *err)
{
    rlf_arena *pool = u->call->env->pool;
    const rlf_model *m = u->model;
    int chunks = m->table->cut.chunks;
    for (int i = 0; i < 2; i++)
        u->lane[i] = RLF_NEW_ARRAY(pool, uint32_t, chunks);
    u->flights = RLF_NEW_ARRAY(pool, rlf_update_flight *, chunks);
    for (int c = 0; c < chunks; c++) {
        int n = m->flights[c];
        u->flights[c] = RLF_NEW_ARRAY(pool, rlf_update_flight, n);
        for (int i = 0; i < n; i++) {
            rlf_update_flight *f = &u->flights[c][i];
            RLF_TRY(rlf_buffers_flight(u->model, c, i, err, &f->pass));
        }
    }
    return RLF_OK;
}

/* Makes room on the host for the results of the heads, on ranks that have them.
 */
static rlf_status
make_room(const rlf_update *u, rlf_update_micro *m, rlf_err *err)
{
    const rlf_update_group *g = m->group;
    rlf_arena *pool = u->call->env->pool;
    int last = u->model->table->cut.chunks - 1;
    if (!rlf_table_ends(u->model->table, last))
        return RLF_OK;
    for (uint32_t k = m->first; k < m->first + m->count; k++)
        m->rows += g->last ? 1 : rlf_sequence_own(&g->seqs[k]);
    size_t n = g->words ? g->words->plan->words->program->outputs.count : 0;
    RLF_TRY(rlf_arena_room(pool,
                           (size_t)m->rows *
                                   (4 * sizeof(float) + sizeof(rlf_nonfinite) +
                                    n * sizeof(double)) +
                               (n + 8) * 64,
                           "what the heads give of a micro-batch", err));
    m->logprob = RLF_NEW_ARRAY(pool, float, m->rows);
    m->scalar = RLF_NEW_ARRAY(pool, float, m->rows);
    m->d_logprob = RLF_NEW_ARRAY(pool, float, m->rows);
    m->d_scalar = RLF_NEW_ARRAY(pool, float, m->rows);
    if (!g->words)
        return RLF_OK;
    m->nonfinite = RLF_NEW_ARRAY(pool, rlf_nonfinite, m->rows);
    m->result = RLF_NEW_ARRAY(pool, double *, n);
    for (size_t i = 0; i < n; i++)
        m->result[i] = RLF_NEW_ARRAY(pool, double, m->rows);
    return RLF_OK;
}

/* Sets whose tiles compute the loss's derivatives on the device. */
static void
find_points(rlf_update *u)
{
    rlf_arena *pool = u->call->env->pool;
    int most = 0;
    for (uint32_t k = 0; k < u->n_groups; k++) {
        rlf_update_group *g = &u->groups[k];
        if (u->reach != RLF_REACH_POINT || g->last || g->scalar)
            continue;
        g->point = rlf_update_point_of(u->points, g->sets[0].input);
        if (g->point && g->point->n_sources > most)
            most = g->point->n_sources;
    }
    size_t rows = (size_t)u->flights[0][0].pass->options.tokens;
    u->known = RLF_NEW_ARRAY(pool, double *, most);
    for (int i = 0; i < most; i++)
        u->known[i] = RLF_NEW_ARRAY(pool, double, rows);
}

/* Finds how many of the n samples from `first` on go into one micro-batch: as
 * many as fit, with none that the next one follows. */
static rlf_status
fit_micro(const rlf_update *u, const rlf_update_group *g, uint32_t first,
          uint32_t n, rlf_err *err, uint32_t *fit)
{
    const rlf_pass *pass = u->flights[0][0].pass;
    const rlf_sequence *seqs = g->seqs + first;
    rlf_status status = rlf_prefix_fit(pass, seqs, n, true, err, fit);
    if (status >= 0 && g->words)
        status = rlf_vocab_fit(g->words, first, n, err, fit);
    while (status >= 0 && *fit > 0 && *fit < n && seqs[*fit].follows)
        --*fit;
    if (status >= 0 && !*fit)
        status = rlf_fail(err, RLF_USER,
                          "the samples of a prompt that share it do not fit "
                          "into a micro-batch of the models that read them");
    if (status == RLF_USER && u->call->node->loss->shared)
        rlf_err_hint(err, "raise tokens: of the models' place rows, or leave "
                          "shared: true out");
    return status;
}

/* Lane by lane, group by group. */
static rlf_status
cut_micros(rlf_update *u, rlf_err *err)
{
    uint32_t lanes = (uint32_t)u->model->gradient.held;
    for (uint32_t j = 0; j < lanes * u->n_groups; j++) {
        uint32_t lane = j / u->n_groups, fit;
        const rlf_update_group *g = &u->groups[j % u->n_groups];
        uint32_t end = g->lanes.first[lane + 1];
        for (uint32_t i = g->lanes.first[lane]; i < end; i += fit) {
            RLF_TRY(fit_micro(u, g, i, end - i, err, &fit));
            rlf_update_micro m = {
                .lane = lane, .group = g, .first = i, .count = fit};
            for (uint32_t k = i; k < i + fit; k++) {
                m.read += g->seqs[k].n_prompt + g->seqs[k].n_response;
                m.tokens += g->seqs[k].n_prompt + g->seqs[k].n_response -
                            g->seqs[k].shared;
            }
            RLF_TRY(make_room(u, &m, err));
            RLF_PUSH_IN(u->call->env->pool, &u->micros, m);
        }
    }
    return RLF_OK;
}

/* Columns of the program: constants are the node's inputs; live values and
 * results get storage here, reports in the node's outputs. */
static rlf_status
make_columns(rlf_update *u, rlf_err *err)
{
    static const char what[] = "the values of an update";
    const rlf_call *call = u->call;
    const rlf_loss *loss = call->node->loss;
    const rlf_expr *p = u->points->program;
    rlf_arena *pool = call->env->pool;
    const rlf_space **spaces = rlf_call_spaces(call);
    u->inputs = RLF_NEW_ARRAY(pool, rlf_column, p->inputs.count);
    u->outputs = RLF_NEW_ARRAY(pool, rlf_column, p->outputs.count);
    for (size_t i = 0; i < p->inputs.count; i++) {
        int from = loss->constant_input[i];
        if (from >= 0)
            u->inputs[i] = call->in[from].column;
        else
            RLF_TRY(rlf_column_try(pool, spaces[p->inputs.data[i].domain],
                                   false, what, err, &u->inputs[i]));
    }
    for (int i = 0; i < loss->n_reports; i++)
        u->outputs[loss->report[i]] = call->out[i].column;
    for (size_t i = 0; i < p->outputs.count; i++)
        if (!u->outputs[i].space)
            RLF_TRY(rlf_column_try(
                pool, spaces[p->ops.data[p->outputs.data[i].op].domain], false,
                what, err, &u->outputs[i]));
    u->bind = (rlf_expr_bind){.inputs = u->inputs,
                              .outputs = u->outputs,
                              .spaces = spaces,
                              .seed = call->env->seed,
                              .step = call->env->step,
                              .iteration = call->iteration};
    return RLF_OK;
}

static rlf_status
begin(rlf_call *call, rlf_err *err, rlf_training *out)
{
    state *s = call->state;
    rlf_arena *pool = call->env->pool;
    rlf_update *u = s->update = RLF_NEW(pool, rlf_update);
    *u = (rlf_update){.call = call, .points = &s->points};
    u->object = rlf_model_at(call->env, call->node->receiver);
    u->model = rlf_model_of(call, call->node->receiver);
    RLF_TRY(rlf_model_reclaim(u->model, err));
    RLF_TRY(make_groups(u, err));
    u->reach = call->node->loss->reach;
    RLF_TRY(open_flights(u, err));
    RLF_TRY(open_words(u, err));
    find_points(u);
    RLF_TRY(cut_micros(u, err));
    RLF_TRY(rlf_update_read_ahead(u, err));
    RLF_TRY(make_columns(u, err));
    RLF_TRY(rlf_expr_begin(s->plan, call->env->queue, &u->bind, pool, err,
                           &u->frame));
    u->reading = u->reach == RLF_REACH_BATCH;
    int most = 0; /* a sample each */
    for (uint32_t k = 0; k < u->n_groups; k++)
        most += (int)(u->groups[k].n_sets *
                      u->groups[k].sets[0].rows->samples->count);
    *out = (rlf_training){.micros = (int)u->micros.count,
                          .most = most,
                          .reads = u->reading,
                          .chunks = u->model->table->cut.chunks,
                          .flights = u->model->flights};
    return RLF_OK;
}

static rlf_train_ports
ports(rlf_call *call, const rlf_train_op *op)
{
    const rlf_update *u = rlf_update_of(call);
    const rlf_pass *p = u->flights[op->chunk][op->flight].pass;
    const rlf_table *t = u->model->table;
    bool begins = rlf_table_begins(t, op->chunk),
         ends = rlf_table_ends(t, op->chunk);
    rlf_real *in = begins ? NULL : rlf_pass_input(p, op->chunk);
    rlf_train_ports out = {.bytes = u->micros.data[op->micro].tokens *
                                    (uint64_t)t->config.hidden *
                                    rlf_real_bytes(p->kernels)};
    out.arrives = !op->backward ? in : ends ? NULL : p->d_x;
    out.leaves = op->backward ? (begins ? NULL : rlf_pass_back(p, op->chunk))
                 : ends       ? NULL
                              : rlf_pass_output(p, op->chunk);
    return out;
}

/* ---- end ---- */

/* The columns of a set's live values that a group's pass gives; how many. */
static int
live_columns(const rlf_update *u, const rlf_update_group *g,
             const rlf_update_set *set, double **columns)
{
    const rlf_loss *loss = u->call->node->loss;
    int n = 0;
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        if (live->input >= 0 && rlf_update_serves(g, live) == set)
            columns[n++] = u->inputs[live->input].number;
    }
    const rlf_vocab_program *w = g->words ? g->words->plan->words : NULL;
    for (size_t i = 0; w && i < w->program->outputs.count; i++)
        columns[n++] = u->inputs[w->result[i]].number;
    return n;
}

/* The live values of all samples to every rank: the last stages tell each
 * other theirs, and then the stages before. */
static rlf_status
share_set(const rlf_update *u, const rlf_update_group *g,
          const rlf_update_set *set, rlf_err *err)
{
    rlf_arena *pool = u->call->env->pool;
    const rlf_model *m = u->model;
    const rlf_space *space = g->last ? set->rows->samples : set->rows->tokens;
    double **columns = RLF_NEW_ARRAY(
        pool, double *, u->call->node->loss->program->inputs.count);
    int n = live_columns(u, g, set, columns), last = rlf_table_last(m->table);
    if (m->table->cut.stage == last)
        RLF_TRY(rlf_update_lanes_share(&g->lanes, set, g->last, columns, n,
                                       pool, err));
    for (int i = 0; i < n && m->stages; i++)
        RLF_TRY(rlf_group_bcast(
            m->stages, last, columns[i],
            (g->last ? space->count : space->extent) * sizeof(double), err));
    return RLF_OK;
}

static rlf_status
share_live(const rlf_update *u, rlf_err *err)
{
    for (uint32_t k = 0; k < u->n_groups; k++)
        for (uint32_t i = 0; i < u->groups[k].n_sets; i++)
            RLF_TRY(share_set(u, &u->groups[k], &u->groups[k].sets[i], err));
    return RLF_OK;
}

/* The loss looks across samples, and all were read. */
static rlf_status
gather(rlf_call *call, rlf_err *err)
{
    rlf_update *u = rlf_update_of(call);
    u->reading = false;
    RLF_TRY(share_live(u, err));
    return rlf_expr_rest(u->frame, err);
}

static rlf_status
read_settings(const rlf_call *call, rlf_err *err, rlf_adamw *out)
{
    RLF_TRY(rlf_call_number(call, "lr", err, &out->lr));
    RLF_TRY(rlf_call_number(call, "beta1", err, &out->beta1));
    RLF_TRY(rlf_call_number(call, "beta2", err, &out->beta2));
    RLF_TRY(rlf_call_number(call, "eps", err, &out->eps));
    RLF_TRY(rlf_call_number(call, "decay", err, &out->decay));
    return rlf_call_number(call, "clip", err, &out->clip);
}

/* Is anything minimized, of any sample? What is not a number says so too, and
 * makes the loss one that ends the run. */
static bool
minimizes(const rlf_update *u)
{
    int taken = u->call->node->loss->taken;
    return u->any && (taken < 0 || u->outputs[taken].number[0] != 0);
}

rlf_status
rlf_update_end_all_lanes(rlf_update *u, rlf_err *err)
{
    for (int c = 0; c < u->model->table->cut.chunks; c++)
        RLF_TRY(rlf_update_end_lanes(u, c, RLF_GRADIENT_ALL,
                                     (uint32_t)u->model->gradient.held, err));
    return RLF_OK;
}

/* An update that minimizes nothing changes nothing, neither by decay nor by
 * momentum; the gradient, which is 0, is let go of as after a step. */
static rlf_status
skip(rlf_update *u, rlf_err *err)
{
    const rlf_env *env = u->call->env;
    const state *s = u->call->state;
    if (env->report)
        env->report(env->sink, s->empty, 1);
    if (!u->any)
        return RLF_OK;
    RLF_TRY(rlf_update_end_all_lanes(u, err));
    RLF_TRY(rlf_gradient_finish(u->model, err));
    return rlf_gradient_clear(u->model, err);
}

static rlf_status
finish(rlf_call *call, rlf_err *err)
{
    rlf_update *u = rlf_update_of(call);
    const rlf_env *env = call->env;
    RLF_TRY(rlf_update_settle(u, err));
    if (u->reach != RLF_REACH_BATCH) {
        RLF_TRY(share_live(u, err));
        RLF_TRY(rlf_expr_rest(u->frame, err));
    }
    const state *s = call->state;
    if (!minimizes(u))
        return skip(u, err);
    double loss = u->outputs[call->node->loss->loss].number[0], norm = 0;
    if (!isfinite(loss))
        return rlf_update_fail_loss(u, loss, err);
    rlf_adamw settings;
    RLF_TRY(read_settings(call, err, &settings));
    RLF_TRY(rlf_update_end_all_lanes(u, err));
    RLF_TRY(rlf_optimizer_step(u->model, &settings, err, &norm));
    if (env->report) {
        env->report(env->sink, s->loss, loss);
        env->report(env->sink, s->gradient, norm);
    }
    rlf_update_tell(u, loss, norm, &settings);
    return RLF_OK;
}

static const rlf_trainable trainable = {.begin = begin,
                                        .ports = ports,
                                        .forward = rlf_update_forward,
                                        .backward = rlf_update_backward,
                                        .weights = rlf_update_weights,
                                        .gather = gather,
                                        .finish = finish,
                                        .finish_alone =
                                            rlf_update_finish_alone};

static const rlf_formal options[] = {
    {.name = "shared",
     .kind = RLF_FORMAL_FLAG,
     .labelled = true,
     .doc = "samples of a prompt go through the model with it once"},
};

const rlf_node_class rlf_node_update = {
    .name = "update",
    .doc = "one optimizer step of a model",
    .form = RLF_FORM_SYNTAX,
    .partition = RLF_PARTITION_JOINT,
    .work = RLF_WORK_TRAIN,
    .program = RLF_PROGRAM_LOSS,
    .writes = true,
    .receiver = RLF_RECEIVER_MODEL,
    .formals = rlf_adamw_formals,
    .n_formals = RLF_ADAMW_FORMALS,
    .options = options,
    .n_options = RLF_COUNT(options),
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = rlf_update_cost,
    .init = init,
    .fini = fini,
    .open = open,
    .step = rlf_class_unsupported,
    .trainable = &trainable,
};
