/* `collect batch (rounds: r) { ... keep c }`: fresh draws until enough prompts
 * were kept, in draw order.
 *
 * A round's results stay as they are until the last one is over; then what was
 * kept is put together (engine/graph/gather.c), once. Nothing is drawn here:
 * the draw in the block draws as many rows as each round is told, and no row
 * twice in a step, so that there are at most as many rounds as there are rows.
 * Metrics: NAME.accepted, the share of the drawn prompts that the condition
 * held for, and NAME.rounds. */
#include "nodes/data.h"

#include "engine/base/vec.h"

#include <math.h>
#include <stdlib.h>

static const rlf_formal formals[] = {
    {.name = "rounds",
     .kind = RLF_FORMAL_INT,
     .required = true,
     .labelled = true,
     .least = 1,
     .most = 1e6,
     .doc = "after so many draws it goes on with what there is"},
    {.name = "draw",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .least = 1,
     .most = 1e9,
     .doc = "prompts drawn in a round; else as many as are still wanted"},
};

/* The values of a round and what is kept of them; in the step's pool. */
typedef struct collect_round {
    const rlf_content *sources; /* per output of the collect */
    uint32_t *kept;             /* prompts, ascending */
    uint32_t n_kept;
} collect_round;

typedef struct state {
    RLF_VEC(collect_round) rounds; /* of this step */
    uint32_t drawn;        /* prompts, in all rounds */
    uint32_t accepted;     /* of these: the condition held */
    uint32_t kept;         /* of these: not more than were wanted */
    uint32_t asked;        /* of the round that is on */
    bool empty;            /* the data gave fewer than were asked for */
} state;

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **out)
{
    (void)env, (void)node, (void)err;
    *out = rlf_calloc(1, sizeof(state));
    return RLF_OK;
}

static void
fini(void *object)
{
    state *s = object;
    if (!s)
        return;
    RLF_VEC_FREE(&s->rounds);
    free(s);
}

static uint32_t
wanted(const rlf_node *node)
{
    return (uint32_t)rlf_args_find(node->args, node->n_args, "count")->number;
}

/* The place where value number i of the region was made, if it is not finite;
 * NULL: nobody knows. */
static rlf_nonfinite_place *
odd_given(const rlf_call *call, int i)
{
    const rlf_region *region =
        &call->env->graph->regions.data[call->node->regions[0]];
    return call->env->nonfinite ? &call->env->nonfinite[region->gives[i]]
                                : NULL;
}

/* Nobody can say whether it is to be kept. */
static rlf_status
fail_condition(const rlf_call *call, const rlf_rows *rows, uint32_t prompt,
               rlf_err *err)
{
    const rlf_data *data = call->env->resource[call->node->receiver];
    rlf_fail(err, RLF_USER, "the condition of keep is not a number for %s",
             rlf_data_place(data, rows->data_row[prompt], call->env->pool));
    rlf_err_hint(err, "%s", RLF_EXPR_NAN_HINT);
    const rlf_nonfinite_place *nonfinite = odd_given(call, 0);
    if (nonfinite && nonfinite->span.source)
        rlf_nonfinite_blame(nonfinite, call->node->class->name, err);
    return RLF_USER;
}

/* The round that is over: of the prompts for which the condition holds the
 * first that are still wanted. */
static rlf_status
take_round(const rlf_call *call, state *s, rlf_err *err)
{
    const rlf_graph *graph = call->env->graph;
    const rlf_content *gives = call->in + call->node->n_inputs;
    const rlf_column *condition = &gives[0].column;
    const rlf_space *prompts = gives[1].rows->prompts;
    collect_round r = {.sources = gives + 1};
    r.kept = RLF_NEW_ARRAY(call->env->pool, uint32_t, prompts->count);
    for (uint32_t i = 0; i < prompts->count; i++) {
        uint32_t row = rlf_space_row(&graph->domains, prompts, i,
                                     condition->space->domain);
        if (isnan(condition->number[row]))
            return fail_condition(call, gives[1].rows, i, err);
        if (condition->number[row] == 0)
            continue;
        s->accepted++;
        if (s->kept == wanted(call->node))
            continue;
        r.kept[r.n_kept++] = i;
        s->kept++;
    }
    s->drawn += prompts->count;
    s->empty = prompts->count < s->asked;
    RLF_PUSH(&s->rounds, r);
    return RLF_OK;
}

/* Returns how many rows the next round draws; 0: there is none. */
static uint32_t
next_draw(const rlf_call *call, const state *s)
{
    const rlf_node *node = call->node;
    const rlf_data *data = call->env->resource[node->receiver];
    const rlf_arg *draw = rlf_node_arg(node, "draw");
    uint32_t missing = wanted(node) - s->kept;
    if (!missing || s->empty ||
        (double)s->rounds.count == rlf_node_arg(node, "rounds")->number)
        return 0;
    if (draw->given)
        missing = (uint32_t)draw->number;
    uint32_t left = (uint32_t)data->records.count - s->drawn;
    return missing < left ? missing : left;
}

/* Output number i: what all rounds have for it. */
static rlf_status
put_output(rlf_call *call, const state *s, rlf_round_gather *g, int i,
           rlf_err *err)
{
    const rlf_graph *graph = call->env->graph;
    rlf_arena *pool = call->env->pool;
    const rlf_value *value = &graph->values.data[call->node->outputs[i]];
    size_t n = s->rounds.count;
    if (value->kind == RLF_VALUE_SET) {
        rlf_rows **rows = RLF_NEW_ARRAY(pool, rlf_rows *, n);
        for (size_t r = 0; r < n; r++)
            rows[r] = s->rounds.data[r].sources[i].rows;
        return rlf_round_gather_rows(g, &graph->sets.data[value->set], rows,
                                     err, &call->out[i].rows);
    }
    rlf_column *columns = RLF_NEW_ARRAY(pool, rlf_column, n);
    for (size_t r = 0; r < n; r++)
        columns[r] = s->rounds.data[r].sources[i].column;
    if (call->env->nonfinite)
        call->env->nonfinite[call->node->outputs[i]] = *odd_given(call, i + 1);
    return rlf_round_gather_column(g, value->domain, columns, err,
                                   &call->out[i].column);
}

static rlf_status
put_outputs(rlf_call *call, const state *s, rlf_err *err)
{
    rlf_arena *pool = call->env->pool;
    uint32_t n = (uint32_t)s->rounds.count;
    const rlf_space **prompts = RLF_NEW_ARRAY(pool, const rlf_space *, n);
    uint32_t **kept = RLF_NEW_ARRAY(pool, uint32_t *, n);
    uint32_t *n_kept = RLF_NEW_ARRAY(pool, uint32_t, n);
    for (uint32_t r = 0; r < n; r++) {
        prompts[r] = s->rounds.data[r].sources[0].rows->prompts;
        kept[r] = s->rounds.data[r].kept;
        n_kept[r] = s->rounds.data[r].n_kept;
    }
    rlf_round_gather *g =
        rlf_round_gather_new(pool, call->env->graph, n, prompts, kept, n_kept);
    for (int i = 0; i < call->node->n_outputs; i++)
        RLF_TRY(put_output(call, s, g, i, err));
    return RLF_OK;
}

static void
report(const rlf_call *call, const state *s)
{
    const rlf_env *env = call->env;
    const char *name = call->out[0].rows->set->name;
    if (!env->report)
        return;
    env->report(env->sink, rlf_arena_printf(env->pool, "%s.accepted", name),
                (double)s->accepted / s->drawn);
    env->report(env->sink, rlf_arena_printf(env->pool, "%s.rounds", name),
                (double)s->rounds.count);
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    state *s = call->state;
    int turn = call->branch;
    call->branch = -1;
    if (turn < 0) {
        s->rounds.count = 0;
        s->drawn = s->accepted = s->kept = 0;
        s->empty = false;
        return RLF_OK;
    }
    if (turn > 0)
        RLF_TRY(take_round(call, s, err));
    uint32_t n = next_draw(call, s);
    if (!n) {
        RLF_TRY(put_outputs(call, s, err));
        report(call, s);
        return RLF_OK;
    }
    rlf_space *scalar = rlf_space_rows(call->env->pool, call->env->graph, 0, 1);
    rlf_column count = rlf_column_new(call->env->pool, scalar, false);
    count.number[0] = s->asked = n;
    call->out[call->node->n_outputs].column = count;
    call->branch = 0;
    return RLF_OK;
}

const rlf_node_class rlf_node_collect = {
    .name = "collect",
    .doc = "runs its block on fresh draws until it has kept a batch",
    .form = RLF_FORM_SYNTAX,
    .control_flow = RLF_CONTROL_FLOW_ROUNDS,
    .draws = true,
    .formals = formals,
    .n_formals = RLF_COUNT(formals),
    .gives = RLF_GIVES_OTHER,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = rlf_class_no_cost,
    .init = init,
    .fini = fini,
    .open = rlf_class_no_open,
    .step = step,
};
