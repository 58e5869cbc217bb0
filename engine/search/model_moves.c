/* Moves of models' weights: see model_moves.h. */
#include "engine/search/model_moves.h"

#include "engine/plan/weight_copies.h"
#include "engine/search/fixed_rows.h"
#include "engine/search/measure.h"
#include "engine/search/shards.h"

#include <string.h>

/* The chunks of an update's stages, as a plan has them of the words of its
 * place row.
 */
static void
put_chunks(const rlf_pareto *f, int call, const rlf_choice *at, rlf_layout *out)
{
    const rlf_node_class *class = f->calls[call].class;
    const rlf_place_row *fixed = rlf_fixed_rows_call(f, call);
    rlf_place_row row = rlf_place_row_new(f->calls[call].model, class);
    if (f->problem.calls[call].kind != RLF_STAGE_UPDATE || at->pp == 1)
        return;
    rlf_measure_words(f, f->calls[call].model, class, at->variant, &row);
    if (rlf_fixed_rows_allow_cut(fixed, at->tp, at->pp, at->dp))
        rlf_fixed_rows_words(fixed, class, &row);
    out->vee = row.schedule && strcmp(row.schedule, "zb-v") == 0;
    bool round = row.schedule && strcmp(row.schedule, "interleaved") == 0;
    out->chunks = row.chunks > 0 ? row.chunks : round || out->vee ? 2 : 1;
}

static rlf_layout
layout_of(const rlf_pareto *f, const rlf_choice *at)
{
    return (rlf_layout){.ranks = f->ranks + at->first,
                        .n_ranks = at->count,
                        .tp = at->tp,
                        .pp = at->pp,
                        .dp = at->dp,
                        .chunks = 1};
}

/* A copy that calls read gets its tensors layer by layer, and so it does not in
 * host memory; a term of a sum comes at once, and so do weights that wait for a
 * later step. */
static double
move(void *arg, const rlf_problem_move *asked)
{
    const rlf_pareto *f = arg;
    int model = f->calls[asked->source].model;
    rlf_moves_ask ask = {.model = f->shapes[model],
                         .by_layer = !asked->at_once &&
                                     rlf_measure_offload(f, model, 0) != 1,
                         .from = layout_of(f, asked->from),
                         .to = layout_of(f, asked->to)};
    put_chunks(f, asked->source, asked->from, &ask.from);
    if (!asked->at_once)
        rlf_weight_copies_regroup(&ask.from, &ask.to);
    return rlf_moves_seconds(f->moves, &ask);
}

static int
chunks_of(const rlf_layout *l)
{
    return l->chunks > 1 ? l->chunks : 1;
}

/* Seconds of the messages of a choice on a layout, which it was measured with in
 * so many chunks. */
static double
messages_on(const rlf_pareto *f, const rlf_choice_messages *m, int chunks,
            const rlf_layout *l)
{
    double times = (double)chunks_of(l) / chunks;
    return rlf_seconds_stages(f->options.speeds, l, times * m->n,
                              times * m->bytes);
}

/* Regrouped, stages lie where their parts were trained, which may be on several
 * machines where neighbours in the mesh are on one; and each has as many chunks
 * as are trained. */
static double
longer(void *arg, const rlf_problem_move *asked)
{
    const rlf_pareto *f = arg;
    rlf_choice measured = *asked->to;
    rlf_layout from = layout_of(f, asked->from);
    rlf_layout to = layout_of(f, asked->to), near = to;
    put_chunks(f, asked->source, asked->from, &from);
    rlf_weight_copies_regroup(&from, &to);
    measured.variant = 0; /* words of its own are none of schedules */
    put_chunks(f, asked->source, &measured, &near);
    if (!to.n_order && chunks_of(&to) == chunks_of(&near))
        return 0;
    const rlf_choice_messages *m = &measured.messages;
    int chunks = chunks_of(&near);
    return messages_on(f, m, chunks, &to) - messages_on(f, m, chunks, &near) -
           m->spare;
}

rlf_status
rlf_model_moves_set(rlf_pareto *f, rlf_arena *arena, rlf_err *err)
{
    const rlf_graph *graph = f->options.graph;
    const rlf_speeds *speeds = f->options.speeds;
    int element = f->options.real > 0 ? f->options.real : (int)sizeof(float);
    f->moves = f->options.moves;
    if (!f->moves)
        f->moves = rlf_moves_new(speeds, f->options.plan->links, arena);
    int *ranks = RLF_NEW_ARRAY(arena, int, f->problem.devices);
    for (int i = 0; i < f->problem.devices; i++)
        ranks[i] = i;
    f->ranks = ranks;
    f->shapes = RLF_NEW_ARRAY(arena, int, graph->resources.count);
    for (int i = 0; i < (int)graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        rlf_arena *scratch;
        rlf_shapes shapes;
        if (!rlf_shards_called(f, i))
            continue;
        scratch = rlf_arena_new();
        rlf_status status =
            r->class->model->shapes(graph, r, NULL, scratch, err, &shapes);
        if (status >= 0)
            f->shapes[i] = rlf_moves_model(f->moves, &shapes, element);
        rlf_arena_free(scratch);
        RLF_TRY(status);
    }
    f->problem.move = move;
    f->problem.longer = longer;
    f->problem.arg = f;
    return RLF_OK;
}
