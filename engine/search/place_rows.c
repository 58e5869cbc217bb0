/* Placements of a program's problem as place rows, and plans as placements: see
 * pareto.h. */
#include "engine/search/pareto.h"

#include <string.h>

#include "engine/search/measure.h"
#include "engine/search/fixed_rows.h"

/* The choice that places a call as the plan does, also one that others beat, or
 * -1. */
static int
find_layout(const rlf_pareto *f, int c, const rlf_node_place *place)
{
    const rlf_layout *layout = &place->layout;
    const rlf_problem_call *call = &f->problem.calls[c];
    for (int i = 1; i < layout->n_ranks; i++)
        if (layout->ranks[i] != layout->ranks[i - 1] + 1)
            return -1;
    for (int k = 0; k < call->n_choices + call->n_others; k++) {
        const rlf_choice *at = &call->choices[k];
        rlf_place_row row = rlf_place_row_new(call->model, f->calls[c].class);
        rlf_measure_words(f, call->model, f->calls[c].class, at->variant, &row);
        rlf_fixed_rows_words(rlf_fixed_rows_call(f, c), f->calls[c].class,
                             &row);
        const char *schedule = row.schedule ? row.schedule : "1f1b";
        bool words = call->kind != RLF_STAGE_UPDATE ||
                     (place->recompute == (row.recompute > 0) &&
                      place->zero == (row.zero > 0) &&
                      !strcmp(place->schedule, schedule));
        if (rlf_pareto_rank(f, at->first) == layout->ranks[0] &&
            at->count == layout->n_ranks && at->tp == layout->tp &&
            at->pp == layout->pp && at->dp == layout->dp && words &&
            place->tokens == (row.tokens > 0 ? row.tokens : 0) &&
            !(at->variant & RLF_VARIANT_OFFLOAD))
            return k;
    }
    return -1;
}

bool
rlf_pareto_find(const rlf_pareto *f, const rlf_plan *plan, int *choice)
{
    for (int c = 0; c < f->problem.n_calls; c++)
        choice[c] = -1;
    for (size_t i = 0; i < f->options.graph->nodes.count; i++) {
        int c = rlf_pareto_call_of(f, &f->options.graph->nodes.data[i]);
        if (c >= 0)
            choice[c] = find_layout(f, c, &plan->place[i]);
    }
    for (int c = 0; c < f->problem.n_calls; c++)
        if (choice[c] < 0)
            return false;
    return true;
}

static void
put_on(const rlf_pareto *f, rlf_place_row *row, const rlf_choice *at,
       rlf_arena *arena)
{
    int *ranks = RLF_NEW_ARRAY(arena, int, at->count);
    for (int i = 0; i < at->count; i++)
        ranks[i] = rlf_pareto_rank(f, at->first + i);
    rlf_place_row_cut(row, at, ranks);
}

/* Puts a place row for each model with what is said of all of it. */
static int
put_models(const rlf_pareto *f, const int *choice, rlf_arena *arena,
           rlf_place_row *rows)
{
    bool *done = RLF_NEW_ARRAY(arena, bool, f->problem.n_models);
    int n = 0;
    for (int c = 0; c < f->problem.n_calls; c++) {
        const rlf_problem_call *call = &f->problem.calls[c];
        const rlf_choice *at = &call->choices[choice[c]];
        if (done[call->model])
            continue;
        done[call->model] = true;
        rlf_place_row *row = &rows[n++];
        *row = rlf_place_row_new(call->model, NULL);
        put_on(f, row, at, arena);
        row->shards = f->sums[call->model].shards;
        if (f->options.graph->resources.data[call->model].trained)
            row->lanes = f->sums[call->model].lanes;
        row->offload = rlf_measure_offload(f, call->model, at->variant);
    }
    return n;
}

rlf_place_row *
rlf_pareto_rows(const rlf_pareto *f, const int *choice, rlf_arena *arena,
                int *n)
{
    int idle;
    const rlf_place_row *kept = rlf_fixed_rows_idle(f, arena, &idle);
    int most = f->problem.n_calls + f->problem.n_models + idle;
    rlf_place_row *rows = RLF_NEW_ARRAY(arena, rlf_place_row, most);
    *n = put_models(f, choice, arena, rows);
    for (int i = 0; i < idle; i++)
        rows[(*n)++] = kept[i];
    for (int c = 0; c < f->problem.n_calls; c++) {
        const rlf_choice *at = &f->problem.calls[c].choices[choice[c]];
        rlf_place_row *row = &rows[(*n)++];
        *row = rlf_place_row_new(f->calls[c].model, f->calls[c].class);
        put_on(f, row, at, arena);
        rlf_measure_words(f, f->calls[c].model, f->calls[c].class, at->variant,
                          row);
        rlf_fixed_rows_words(rlf_fixed_rows_call(f, c), f->calls[c].class, row);
    }
    return rows;
}
