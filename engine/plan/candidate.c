/* See candidate.h. */
#include "engine/plan/candidate.h"

/* Checks what the grammar checks of place rows that are written. */
static rlf_status
check_row(const rlf_graph *graph, const rlf_place_row *rows, int index,
          rlf_err *err)
{
    const rlf_place_row *row = &rows[index];
    size_t n = graph->resources.count;
    if (row->model < 0 || (size_t)row->model >= n ||
        !graph->resources.data[row->model].class->model)
        return rlf_fail(err, RLF_USER, "a row places no model");
    const char *name = graph->resources.data[row->model].name;
    for (int i = 0; i < index; i++)
        if (rows[i].model == row->model && rows[i].call == row->call)
            return rlf_fail(err, RLF_USER, "two rows place '%s%s%s'", name,
                            row->call ? "." : "",
                            row->call ? row->call->name : "");
    for (int i = 0; i < row->n_ranks; i++)
        if (row->ranks[i] < 0 || (i && row->ranks[i] <= row->ranks[i - 1]))
            return rlf_fail(err, RLF_USER,
                            "the ranks of '%s' are not listed in order", name);
    const rlf_layout layout = {.ranks = row->ranks,
                               .n_ranks = row->n_ranks,
                               .tp = row->tp,
                               .pp = row->pp,
                               .dp = row->dp};
    return rlf_layout_check(&layout, err);
}

rlf_status
rlf_plan_candidate(const rlf_graph *graph, const rlf_place_row *rows,
                   int n_rows, const rlf_plan_options *options,
                   rlf_arena *arena, rlf_err *err, rlf_plan **out)
{
    for (int i = 0; i < n_rows; i++)
        RLF_TRY(check_row(graph, rows, i, err));
    rlf_placement *placement = RLF_NEW(arena, rlf_placement);
    rlf_place_row *own = RLF_NEW_ARRAY(arena, rlf_place_row, n_rows);
    rlf_graph *copy = RLF_NEW(arena, rlf_graph);
    for (int i = 0; i < n_rows; i++)
        own[i] = rows[i];
    *placement = (rlf_placement){.rows = own, .n_rows = n_rows};
    *copy = *graph;
    copy->placement = placement;
    copy->arena = arena;
    return rlf_plan_make(copy, options, arena, err, out);
}
