/* `update m { ... }`: one optimizer step on the sum of its minimize's.
 *
 * Live calls on the same set are read in one pass. The loss's program
 * (engine/expr, differentiated by the grammar) gives for each live value the
 * derivative of the loss. How far those derivatives look decides what is done:
 *
 *   POINT    at the same token: within the head's own tile, in one pass
 *   SAMPLE   within the sample: after the forward pass of the micro-batch
 *   BATCH    across samples: all live values first, in a pass of their own
 *
 * Whichever it is, gradients add sample by sample in the order of the set
 * within a lane (engine/layout/lanes.h), and lanes in a tree, so micro-batches
 * change no bit. With data parallelism each rank does so for its own lanes, and
 * all get the live values of all. */
#include <math.h>
#include <stdlib.h>

#include "engine/base/vec.h"
#include "kernels/expr.h"
#include "nodes/lanes.h"
#include "nodes/model/gradient.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/transformer.h"
#include "nodes/model/work.h"
#include "nodes/words.h"

/* Named as those of the constructor adamw (model.c), which hold the bounds. */
static const rlf_formal formals[] = {
    {.name = "lr", .kind = RLF_FORMAL_NUMBER, .doc = "learning rate"},
    {.name = "beta1",
     .kind = RLF_FORMAL_NUMBER,
     .fallback = 0.9,
     .doc = "decay of the first moment"},
    {.name = "beta2",
     .kind = RLF_FORMAL_NUMBER,
     .fallback = 0.999,
     .doc = "decay of the second moment"},
    {.name = "eps",
     .kind = RLF_FORMAL_NUMBER,
     .fallback = 1e-8,
     .doc = "added to the root of the second moment"},
    {.name = "decay", .kind = RLF_FORMAL_NUMBER, .doc = "of matrices"},
    {.name = "clip", .kind = RLF_FORMAL_NUMBER, .doc = "of the norm"},
};

/* Live calls that one pass serves: on the same set, with the same rows. */
typedef struct group {
    int set_input; /* of the node */
    bool last;     /* scores, after the last token; else per token */
    bool logprob, scalar;
    rlf_words_tile *words; /* or NULL */
    rlf_rows *rows;
    rlf_lanes lanes;
    /* This rank's samples: */
    rlf_sequence *seqs;  /* by lane, then in the order of the set */
    const uint32_t *row; /* [n] the sample of the set that each is */
    uint32_t n;
} group;

typedef struct micro {
    uint32_t lane;                /* of those held here */
    uint32_t group, first, count; /* sequences of the group */
} micro;

/* One execution, in the step's pool. */
typedef struct update {
    rlf_model_object *object;
    rlf_model *model;
    rlf_pass *pass;
    group *groups;
    uint32_t n_groups;
    bool any; /* sequences, here or on another rank */
    RLF_VEC(micro) micros;
    uint32_t lane; /* whose gradients are being added */
    rlf_reach reach;
    rlf_column *inputs, *outputs; /* of the program */
    rlf_expr_bind bind;
    rlf_expr_frame *frame;
    float *logprob, *scalar;     /* [rows] of the pass, on the host */
    float *d_logprob, *d_scalar; /* [rows] */
    const micro *now;            /* the micro-batch at hand */
    rlf_call *call;
} update;

/* What lasts for the run. */
typedef struct state {
    rlf_arena *arena;
    const rlf_expr_plan *plan;
    rlf_words_plan *words; /* one for each of the loss's */
    update *update;
} state;

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
    (void)env;
    state *s = rlf_calloc(1, sizeof *s);
    s->arena = rlf_arena_new();
    s->words = RLF_NEW_ARRAY(s->arena, rlf_words_plan, node->loss->n_words);
    rlf_status status =
        rlf_expr_plan_new(node->loss->program, s->arena, err, &s->plan);
    for (int i = 0; i < node->loss->n_words && status >= 0; i++)
        status = rlf_words_plan_new(&node->loss->words[i], s->arena, err,
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
    const rlf_graph *graph = call->env->graph;
    const rlf_space **spaces = rlf_call_spaces(call);
    for (int i = 0; i < call->node->n_outputs; i++) {
        const rlf_value *value = &graph->values.data[call->node->outputs[i]];
        if (!spaces[value->domain])
            return rlf_fail(err, RLF_BUG, "a report of an update has no place");
        call->out[i].column =
            rlf_column_new(call->env->pool, spaces[value->domain], false);
    }
    return RLF_OK;
}

/* ---- begin ---- */

static bool
in_group(const update *u, const group *g, const rlf_live_call *live)
{
    return g->set_input == live->set_input &&
           g->last == (rlf_reading_of(live->class) == RLF_READ_SCORE) &&
           u->call->in[live->set_input].rows == g->rows;
}

/* The sequences of a group: all samples are read, for their lengths decide
 * whose they are. */
static rlf_status
take_samples(update *u, group *g, rlf_reading reading, rlf_err *err)
{
    rlf_sequence *all;
    uint32_t n = g->rows->samples->count;
    RLF_TRY(rlf_sequences_read(u->call->env, g->rows, u->object, reading, NULL,
                               n, err, &all));
    rlf_lanes_take(u->model, all, n, u->call->env->pool, &g->lanes);
    g->row = g->lanes.rows[g->lanes.self];
    g->n = g->lanes.n_rows[g->lanes.self];
    g->seqs = RLF_NEW_ARRAY(u->call->env->pool, rlf_sequence, g->n + 1);
    for (uint32_t i = 0; i < g->n; i++)
        g->seqs[i] = all[g->row[i]];
    u->any |= n > 0;
    return RLF_OK;
}

static rlf_status
make_groups(update *u, rlf_err *err)
{
    const rlf_loss *loss = u->call->node->loss;
    u->groups = RLF_NEW_ARRAY(u->call->env->pool, group, loss->n_calls);
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        rlf_reading reading = rlf_reading_of(live->class);
        group *g = u->groups;
        while (g < u->groups + u->n_groups && !in_group(u, g, live))
            g++;
        if (g == u->groups + u->n_groups) {
            u->n_groups++;
            g->set_input = live->set_input;
            g->last = reading == RLF_READ_SCORE;
            g->rows = u->call->in[live->set_input].rows;
            RLF_TRY(take_samples(u, g, reading, err));
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

/* What is reduced over vocab at the tokens of each group. */
static rlf_status
open_words(update *u, rlf_err *err)
{
    state *s = u->call->state;
    for (int i = 0; i < u->call->node->loss->n_words; i++) {
        rlf_words_plan *plan = &s->words[i];
        for (uint32_t k = 0; k < u->n_groups; k++) {
            group *g = &u->groups[k];
            if (!g->last && g->set_input == plan->words->set_input)
                RLF_TRY(rlf_words_tile_open(plan, u->call, err, &g->words));
        }
    }
    return RLF_OK;
}

static rlf_status
cut_micros(update *u, rlf_err *err)
{
    uint32_t lanes = (uint32_t)u->model->gradient.held;
    for (uint32_t j = 0; j < lanes * u->n_groups; j++) {
        uint32_t lane = j / u->n_groups, k = j % u->n_groups;
        const group *g = &u->groups[k];
        uint32_t end = g->lanes.first[lane + 1];
        for (uint32_t i = g->lanes.first[lane]; i < end;) {
            uint32_t fit;
            RLF_TRY(rlf_pass_fit(u->pass, g->seqs + i, end - i, err, &fit));
            if (g->words)
                RLF_TRY(
                    rlf_words_fit(g->words, g->seqs + i, end - i, err, &fit));
            RLF_PUSH_IN(u->call->env->pool, &u->micros,
                        (micro){lane, k, i, fit});
            i += fit;
        }
    }
    return RLF_OK;
}

/* Columns of the program: constants are the node's inputs; live values and
 * results get storage here, reports in the node's outputs. */
static void
make_columns(update *u)
{
    const rlf_call *call = u->call;
    const rlf_loss *loss = call->node->loss;
    const rlf_expr *p = loss->program;
    rlf_arena *pool = call->env->pool;
    const rlf_space **spaces = rlf_call_spaces(call);
    u->inputs = RLF_NEW_ARRAY(pool, rlf_column, p->inputs.count);
    u->outputs = RLF_NEW_ARRAY(pool, rlf_column, p->outputs.count);
    for (size_t i = 0; i < p->inputs.count; i++) {
        int from = loss->constant_input[i];
        u->inputs[i] =
            from >= 0
                ? call->in[from].column
                : rlf_column_new(pool, spaces[p->inputs.data[i].domain], false);
    }
    for (int i = 0; i < loss->n_reports; i++)
        u->outputs[loss->report[i]] = call->out[i].column;
    for (size_t i = 0; i < p->outputs.count; i++)
        if (!u->outputs[i].space)
            u->outputs[i] = rlf_column_new(
                pool, spaces[p->ops.data[p->outputs.data[i].op].domain], false);
    u->bind = (rlf_expr_bind){.inputs = u->inputs,
                              .outputs = u->outputs,
                              .spaces = spaces,
                              .seed = call->env->seed,
                              .step = call->env->step,
                              .iteration = call->iteration};
}

/* ---- between rows of the pass and columns ---- */

/* A row of the micro-batch at hand: which sequence and token it is. Rows are
 * visited in order, so it steps from one to the next. */
typedef struct cursor {
    uint32_t seq;   /* of the group */
    uint32_t token; /* of its response */
} cursor;

static cursor
cursor_at(const update *u, int64_t index)
{
    const group *g = &u->groups[u->now->group];
    cursor c = {u->now->first, 0};
    if (g->last) {
        c.seq += (uint32_t)index;
        return c;
    }
    while (index >= g->seqs[c.seq].n_response)
        index -= g->seqs[c.seq++].n_response;
    c.token = (uint32_t)index;
    return c;
}

static void
cursor_next(const group *g, cursor *c)
{
    if (g->last || ++c->token == g->seqs[c->seq].n_response) {
        c->seq++;
        c->token = 0;
    }
}

static uint64_t
cursor_place(const group *g, cursor c)
{
    uint32_t row = g->row[c.seq];
    return g->last ? row : rlf_sequences_place(g->rows, row, c.token);
}

/* Put what the heads gave for rows first..first+n-1 into the live columns. */
static void
put_live(update *u, int64_t first, int64_t n)
{
    const group *g = &u->groups[u->now->group];
    const rlf_loss *loss = u->call->node->loss;
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        if (live->input < 0 || !in_group(u, g, live))
            continue;
        bool logprob = rlf_reading_of(live->class) == RLF_READ_LOGPROB;
        const float *from = logprob ? u->logprob : u->scalar;
        double *to = u->inputs[live->input].number;
        cursor c = cursor_at(u, first);
        for (int64_t k = first; k < first + n; k++, cursor_next(g, &c))
            to[cursor_place(g, c)] = (double)from[k];
    }
}

/* `name`: of what the derivative is by. */
static rlf_status
fail_row(const update *u, const char *name, cursor c, double value,
         double derivative, rlf_err *err)
{
    const group *g = &u->groups[u->now->group];
    rlf_fail(err, RLF_USER,
             "the loss's derivative by %s.%s is %g for token %u of %s",
             u->object->name, name, derivative, c.token + 1,
             rlf_rows_name(u->call->env, g->rows, g->row[c.seq],
                           u->call->env->pool));
    rlf_err_hint(err,
                 "the value there is %g: clamp what is divided by or "
                 "exponentiated",
                 value);
    return RLF_USER;
}

/* The first row with a value that is not finite; their number if there is
 * none. */
static uint32_t
first_odd(const rlf_column *column)
{
    const rlf_space *space = column->space;
    for (uint32_t row = 0; row < space->count; row++) {
        const double *x = column->number + row;
        uint32_t n = 1;
        if (space->offset) {
            x = column->number + space->offset[row];
            n = space->length[row];
        }
        for (uint32_t t = 0; t < n; t++)
            if (!isfinite(x[t]))
                return row;
    }
    return space->count;
}

/* The loss is not finite: which live value is the first that is not, or, if all
 * are, what else it may be. */
static rlf_status
fail_loss(const update *u, double loss, rlf_err *err)
{
    const rlf_loss *l = u->call->node->loss;
    rlf_fail(err, RLF_USER, "the loss of model '%s' is %s", u->object->name,
             isnan(loss) ? "not a number" : "infinite");
    for (int i = 0; i < l->n_calls; i++) {
        const rlf_live_call *live = &l->calls[i];
        if (live->input < 0)
            continue;
        const rlf_rows *rows = u->call->in[live->set_input].rows;
        uint32_t row = first_odd(&u->inputs[live->input]);
        if (row == rows->samples->count)
            continue;
        rlf_err_hint(
            err, "%s.%s of %s is the first value that is not finite",
            u->object->name, live->class->name,
            rlf_rows_name(u->call->env, rows, row, u->call->env->pool));
        return RLF_USER;
    }
    rlf_err_hint(err, "what the model gives is finite: look for a division by "
                      "0, a log of 0 or an exp of something large, and clamp");
    return RLF_USER;
}

/* The derivatives of the loss by rows first..first+n-1, from the columns. */
static rlf_status
get_gradient(update *u, int64_t first, int64_t n, rlf_err *err)
{
    const group *g = &u->groups[u->now->group];
    const rlf_loss *loss = u->call->node->loss;
    memset(u->d_logprob + first, 0, (size_t)n * sizeof *u->d_logprob);
    memset(u->d_scalar + first, 0, (size_t)n * sizeof *u->d_scalar);
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        if (live->input < 0 || !in_group(u, g, live))
            continue;
        bool logprob = rlf_reading_of(live->class) == RLF_READ_LOGPROB;
        float *to = logprob ? u->d_logprob : u->d_scalar;
        const double *from = u->outputs[live->gradient].number;
        cursor c = cursor_at(u, first);
        for (int64_t k = first; k < first + n; k++, cursor_next(g, &c)) {
            uint64_t at = cursor_place(g, c);
            to[k] += (float)from[at];
            if (!isfinite(to[k]))
                return fail_row(u, live->class->name, c,
                                u->inputs[live->input].number[at], from[at],
                                err);
        }
    }
    return RLF_OK;
}

/* Run the program for the rows first..first+n-1 of the micro-batch. */
static rlf_status
run_program(update *u, int64_t first, int64_t n, rlf_err *err)
{
    const group *g = &u->groups[u->now->group];
    if (!n)
        return RLF_OK;
    cursor c = cursor_at(u, first), end = cursor_at(u, first + n - 1);
    uint32_t count = end.seq - c.seq + 1;
    rlf_expr_part *parts =
        RLF_NEW_ARRAY(u->call->env->pool, rlf_expr_part, count);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (rlf_expr_part){g->row[c.seq + i], 0, UINT32_MAX};
    if (!g->last) {
        parts[0].first = c.token;
        parts[count - 1].last = end.token + 1;
    }
    return rlf_expr_part_run(u->frame, g->rows->samples->domain, parts, count,
                             err);
}

/* ---- values over vocab ---- */

/* The columns of the tile for rows first..first+n-1 of the micro-batch. */
static void
place_words(const update *u, int64_t first, int64_t n)
{
    const group *g = &u->groups[u->now->group];
    cursor c = cursor_at(u, first);
    for (int64_t k = 0; k < n; k++, cursor_next(g, &c)) {
        rlf_words_place(g->words, k, g->row[c.seq], c.token);
        g->words->place[k] = cursor_place(g, c);
    }
}

/* Compute what the tile reduces to, into the live columns. */
static rlf_status
put_words(update *u, int64_t n, rlf_err *err)
{
    const rlf_words_tile *t = u->groups[u->now->group].words;
    const rlf_words *w = t->plan->words;
    RLF_TRY(rlf_words_results(t, n, err));
    for (size_t i = 0; i < w->program->outputs.count; i++)
        for (int64_t k = 0; k < n; k++)
            u->inputs[w->result[i]].number[t->place[k]] = t->result[i][k];
    return RLF_OK;
}

/* From the loss's derivatives, in columns, to those by all words of the tile's
 * rows, [n, v]. */
static rlf_status
get_words(update *u, int64_t first, int64_t n, float *words, rlf_err *err)
{
    const rlf_words_tile *t = u->groups[u->now->group].words;
    const rlf_words *w = t->plan->words;
    for (size_t i = 0; i < w->program->outputs.count; i++)
        for (int64_t k = 0; k < n; k++)
            t->derivative[i][k] =
                u->outputs[w->derivative[i]].number[t->place[k]];
    RLF_TRY(rlf_words_slopes(t, n, err));
    for (int64_t k = 0; k < n * t->v; k++) {
        words[k] = (float)t->slope[k];
        if (!isfinite(words[k]))
            return fail_row(u, "logprobs", cursor_at(u, first + k / t->v),
                            t->input[0][k], t->slope[k], err);
    }
    return RLF_OK;
}

/* Of all rows of the micro-batch, before the heads' gradients. */
static rlf_status
read_words(update *u, rlf_err *err)
{
    rlf_words_tile *t = u->groups[u->now->group].words;
    for (int64_t i = 0; t && i < u->pass->n_rows; i += t->rows) {
        int64_t left = u->pass->n_rows - i, n = left < t->rows ? left : t->rows;
        place_words(u, i, n);
        RLF_TRY(rlf_words_load(t, i, n, NULL, u->model, u->pass, err));
        RLF_TRY(put_words(u, n, err));
    }
    return RLF_OK;
}

/* ---- micro-batches ---- */

static rlf_status
read_scalars(update *u, rlf_err *err)
{
    rlf_pass *p = u->pass;
    if (!u->groups[u->now->group].scalar)
        return RLF_OK;
    RLF_TRY(rlf_head_scalars(u->model, p, err));
    return rlf_pass_read(p, p->scalar, p->n_rows, err, u->scalar);
}

static rlf_status
run_trunk(update *u, const micro *m, rlf_err *err)
{
    const group *g = &u->groups[m->group];
    u->now = m;
    RLF_TRY(rlf_pass_load(u->pass, g->seqs + m->first, m->count, m->first,
                          g->last ? RLF_ROWS_LAST : RLF_ROWS_TOKENS, err));
    if (g->words)
        RLF_TRY(rlf_words_forward(g->words, g->seqs + m->first, m->count,
                                  m->first, err));
    return rlf_transformer_forward(u->model, u->pass, err);
}

/* Live values of the micro-batch at hand, all of its rows. */
static rlf_status
read_heads(update *u, rlf_err *err)
{
    rlf_pass *p = u->pass;
    RLF_TRY(read_scalars(u, err));
    if (u->groups[u->now->group].logprob) {
        RLF_TRY(rlf_head_logprobs(u->model, p, false, err));
        RLF_TRY(rlf_pass_read(p, p->logprob, p->n_rows, err, u->logprob));
    }
    put_live(u, 0, p->n_rows);
    return read_words(u, err);
}

/* Can the derivatives be had in the head's own tiles? */
static bool
in_tiles(const update *u)
{
    const group *g = &u->groups[u->now->group];
    return u->reach == RLF_REACH_POINT && (g->logprob || g->words);
}

/* The live values of all samples, on every rank. */
static rlf_status
share_live(update *u, rlf_err *err)
{
    const rlf_loss *loss = u->call->node->loss;
    double **columns =
        RLF_NEW_ARRAY(u->call->env->pool, double *, loss->n_calls);
    for (uint32_t k = 0; k < u->n_groups; k++) {
        const group *g = &u->groups[k];
        int n = 0;
        for (int i = 0; i < loss->n_calls; i++)
            if (loss->calls[i].input >= 0 && in_group(u, g, &loss->calls[i]))
                columns[n++] = u->inputs[loss->calls[i].input].number;
        RLF_TRY(rlf_lanes_share(&g->lanes, g->rows, g->last, columns, n,
                                u->call->env->pool, err));
    }
    return RLF_OK;
}

/* All live values, before any gradient. */
static rlf_status
read_all(update *u, rlf_err *err)
{
    for (size_t i = 0; i < u->micros.count; i++) {
        RLF_TRY(run_trunk(u, &u->micros.data[i], err));
        RLF_TRY(read_heads(u, err));
    }
    RLF_TRY(share_live(u, err));
    return rlf_expr_rest(u->frame, err);
}

/* How far the derivatives look, given the passes that the update takes. */
static rlf_reach
reach_of(const rlf_loss *loss, uint32_t groups)
{
    /* a sample may have parts in two sets */
    return groups > 1 && loss->reach == RLF_REACH_SAMPLE ? RLF_REACH_BATCH
                                                         : loss->reach;
}

static rlf_status
begin(rlf_call *call, rlf_err *err, uint32_t *n_micro)
{
    state *s = call->state;
    rlf_arena *pool = call->env->pool;
    update *u = s->update = RLF_NEW(pool, update);
    *u = (update){.call = call, .reach = call->node->loss->reach};
    u->object = rlf_model_at(call->env, call->node->receiver);
    u->model = rlf_model_of(call, call->node->receiver);
    RLF_TRY(make_groups(u, err));
    RLF_TRY(open_words(u, err));
    RLF_TRY(rlf_work_pass(u->model, RLF_USE_UPDATE, err, &u->pass));
    RLF_TRY(cut_micros(u, err));
    make_columns(u);
    size_t n = (size_t)u->pass->options.tokens;
    u->logprob = RLF_NEW_ARRAY(pool, float, n);
    u->scalar = RLF_NEW_ARRAY(pool, float, n);
    u->d_logprob = RLF_NEW_ARRAY(pool, float, n);
    u->d_scalar = RLF_NEW_ARRAY(pool, float, n);
    RLF_TRY(rlf_expr_begin(s->plan, call->env->queue, &u->bind, pool, err,
                           &u->frame));
    u->reach = reach_of(call->node->loss, u->n_groups);
    if (u->reach == RLF_REACH_BATCH)
        RLF_TRY(read_all(u, err));
    *n_micro = (uint32_t)u->micros.count;
    return RLF_OK;
}

static rlf_status
forward(rlf_call *call, uint32_t index, rlf_err *err)
{
    update *u = ((state *)call->state)->update;
    RLF_TRY(run_trunk(u, &u->micros.data[index], err));
    if (u->reach == RLF_REACH_BATCH)
        return get_gradient(u, 0, u->pass->n_rows, err);
    if (in_tiles(u))
        return read_scalars(u, err);
    RLF_TRY(read_heads(u, err));
    RLF_TRY(run_program(u, 0, u->pass->n_rows, err));
    return get_gradient(u, 0, u->pass->n_rows, err);
}

/* A tile of the head: its log-probabilities in, derivatives out. */
static rlf_status
tile_loss(void *ctx, rlf_queue *queue, int64_t first, int64_t n,
          const float *logprob, const float *entropy, float *dlogprob,
          float *dentropy, rlf_err *err)
{
    (void)entropy, (void)dentropy, (void)queue;
    update *u = ctx;
    RLF_TRY(rlf_pass_read(u->pass, logprob, n, err, u->logprob + first));
    put_live(u, first, n);
    RLF_TRY(run_program(u, first, n, err));
    RLF_TRY(get_gradient(u, first, n, err));
    return rlf_pass_write(u->pass, u->d_logprob + first, n, err, dlogprob);
}

/* The same with all words; what the derivatives are had from is there already
 * if the loss looks at more than the token. */
static rlf_status
tile_words(void *ctx, rlf_queue *queue, int64_t first, int64_t n,
           const float *logprob, float *words, float *dlogprob, rlf_err *err)
{
    (void)queue;
    update *u = ctx;
    rlf_words_tile *t = u->groups[u->now->group].words;
    if (in_tiles(u))
        RLF_TRY(rlf_pass_read(u->pass, logprob, n, err, u->logprob + first));
    for (int64_t i = 0; i < n; i += t->rows) {
        int64_t rows = n - i < t->rows ? n - i : t->rows, at = first + i;
        float *own = words + i * t->v;
        place_words(u, at, rows);
        RLF_TRY(rlf_words_load(t, at, rows, own, NULL, NULL, err));
        if (in_tiles(u)) {
            put_live(u, at, rows);
            RLF_TRY(put_words(u, rows, err));
            RLF_TRY(run_program(u, at, rows, err));
            RLF_TRY(get_gradient(u, at, rows, err));
        }
        RLF_TRY(get_words(u, at, rows, own, err));
    }
    return rlf_pass_write(u->pass, u->d_logprob + first, n, err, dlogprob);
}

/* End lanes up to this one. */
static rlf_status
end_lanes(update *u, uint32_t lane, rlf_err *err)
{
    for (; u->lane < lane; u->lane++)
        RLF_TRY(rlf_gradient_next(u->model, err));
    return RLF_OK;
}

static rlf_status
backward(rlf_call *call, uint32_t index, rlf_err *err)
{
    update *u = ((state *)call->state)->update;
    RLF_TRY(end_lanes(u, u->micros.data[index].lane, err));
    const group *g = &u->groups[u->now->group];
    rlf_pass *p = u->pass;
    if (g->words) {
        RLF_TRY(rlf_head_words_loss(u->model, p, tile_words, u, err));
    } else if (in_tiles(u)) {
        RLF_TRY(rlf_head_loss(u->model, p, tile_loss, u, false, err));
    } else if (g->logprob) {
        RLF_TRY(rlf_pass_write(p, u->d_logprob, p->n_rows, err, p->d_logprob));
        RLF_TRY(rlf_head_loss(u->model, p, NULL, NULL, false, err));
    }
    if (g->scalar) {
        RLF_TRY(rlf_pass_write(p, u->d_scalar, p->n_rows, err, p->d_scalar));
        RLF_TRY(rlf_head_scalar_back(u->model, p, g->logprob || g->words, err));
    }
    return rlf_transformer_backward(u->model, p, err);
}

static rlf_status
finish(rlf_call *call, rlf_err *err)
{
    update *u = ((state *)call->state)->update;
    const rlf_env *env = call->env;
    if (u->reach != RLF_REACH_BATCH) {
        RLF_TRY(share_live(u, err));
        RLF_TRY(rlf_expr_rest(u->frame, err));
    }
    double loss = u->outputs[call->node->loss->loss].number[0], norm = 0;
    if (!isfinite(loss))
        return fail_loss(u, loss, err);
    if (!u->any)
        return RLF_OK;
    rlf_adamw settings = {.lr = rlf_call_number(call, "lr"),
                          .beta1 = rlf_call_number(call, "beta1"),
                          .beta2 = rlf_call_number(call, "beta2"),
                          .eps = rlf_call_number(call, "eps"),
                          .decay = rlf_call_number(call, "decay"),
                          .clip = rlf_call_number(call, "clip")};
    RLF_TRY(end_lanes(u, (uint32_t)u->model->gradient.held, err));
    RLF_TRY(rlf_optimizer_step(u->model, &settings, err, &norm));
    if (env->report)
        env->report(env->sink,
                    rlf_arena_printf(env->pool, "%s.gradient", u->object->name),
                    norm);
    return RLF_OK;
}

static const rlf_trainable trainable = {begin, forward, backward, finish};

/* Of the live calls that one pass serves: those on input `set` that read after
 * the last token, or those that read per token. */
static void
cost_group(const rlf_load *load, const rlf_node *node, int set, bool last,
           rlf_reach reach, rlf_cost *out)
{
    int columns = 0;
    const rlf_model *model = rlf_load_model(load, node);
    rlf_lengths all = rlf_sequences_lengths(load, node->inputs[set]);
    rlf_lengths lane = all;
    rlf_reading_load reading = {.lengths = &lane,
                                .n_lengths = 1,
                                .tokens = model->caps.tokens[RLF_USE_UPDATE],
                                .rows = last ? RLF_ROWS_LAST : RLF_ROWS_TOKENS,
                                .recompute = model->caps.recompute};
    for (int i = 0; i < node->loss->n_calls; i++) {
        const rlf_live_call *live = &node->loss->calls[i];
        rlf_reading kind = rlf_reading_of(live->class);
        if (live->set_input != set || (kind == RLF_READ_SCORE) != last)
            continue;
        columns += live->input >= 0;
        bool lm = kind == RLF_READ_LOGPROB || kind == RLF_READ_WORDS;
        reading.logprob |= lm;
        reading.scalar |= !lm;
    }
    if (!reading.logprob && !reading.scalar)
        return;
    const rlf_gradient *g = &model->gradient;
    rlf_counts counts = {0};
    uint64_t own = 0;
    for (int l = g->first; l < g->first + g->held; l++) {
        /* samples of one length go round */
        uint64_t lanes = (uint64_t)g->lanes;
        lane.n = all.n / lanes + ((uint64_t)l < all.n % lanes);
        own += lane.n;
        rlf_cost_train(model->table, &reading, reach, &counts);
    }
    double values = (double)own * (last ? 1 : all.response) * columns;
    counts.sent += 4 * values * (load->layout->dp - 1);
    rlf_cost_add(out, &counts);
    out->host += rlf_sequences_bytes(&all);
}

/* Columns of the program that are no columns of the graph. */
static double
column_bytes(const rlf_load *load, const rlf_loss *loss)
{
    const rlf_expr *p = loss->program;
    const double *values = load->sizes->values;
    double n = 0;
    for (size_t i = 0; i < p->inputs.count; i++)
        if (loss->constant_input[i] < 0)
            n += values[p->inputs.data[i].domain];
    for (size_t i = 0; i < p->outputs.count; i++)
        n += values[p->ops.data[p->outputs.data[i].op].domain];
    return 8 * n;
}

static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    uint32_t groups = 0;
    bool *seen = rlf_calloc((size_t)node->n_inputs, 2 * sizeof *seen);
    for (int i = 0; i < node->loss->n_calls; i++) {
        const rlf_live_call *live = &node->loss->calls[i];
        bool last = rlf_reading_of(live->class) == RLF_READ_SCORE;
        bool *here = &seen[2 * live->set_input + last];
        groups += !*here;
        *here = true;
    }
    *out =
        (rlf_cost){.host = column_bytes(load, node->loss) +
                           16.0 * (double)model->caps.tokens[RLF_USE_UPDATE]};
    rlf_reach reach = reach_of(node->loss, groups);
    for (int i = 0; i < 2 * node->n_inputs; i++)
        if (seen[i])
            cost_group(load, node, i / 2, i % 2, reach, out);
    free(seen);
    rlf_counts counts = {0};
    for (int i = 0; i < node->loss->n_words; i++) {
        const rlf_words *words = &node->loss->words[i];
        out->host += rlf_words_tile_bytes(load, node, words);
        rlf_words_cost(load, node, words, &counts);
    }
    rlf_cost_optimizer(model, &counts);
    rlf_cost_add(out, &counts);
}

const rlf_node_class rlf_node_update = {
    .name = "update",
    .doc = "one optimizer step of a model",
    .role = RLF_ROLE_UPDATE,
    .receiver = RLF_RECEIVER_MODEL,
    .formals = formals,
    .n_formals = RLF_COUNT(formals),
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = cost,
    .init = init,
    .fini = fini,
    .open = open,
    .step = rlf_class_unsupported,
    .trainable = &trainable,
    .handover = &rlf_handover_none,
};
