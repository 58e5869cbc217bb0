/* See plan_origin.h. */
#include "engine/api/plan_origin.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "grammar/origin.h"

#include <string.h>

/* The plan file among the sources; 0: there is none. */
static uint32_t
source_of(const rlf_session *s)
{
    for (size_t i = s->program.sources.list.count; s->options.plan && i > 0;
         i--) {
        const rlf_source *source = &s->program.sources.list.data[i - 1];
        if (source->beside && strcmp(source->path, s->options.plan) == 0)
            return (uint32_t)i;
    }
    return 0;
}

/* A call that no row places, or NULL. A strategy places all. */
static const rlf_node *
unplaced(const rlf_graph *graph)
{
    const rlf_placement *placement = graph->placement;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (placement->strategy == RLF_STRATEGY_NONE && rlf_place_can(node) &&
            !rlf_placement_find(placement, node->receiver, node->class))
            return node;
    }
    return NULL;
}

static rlf_status
check_program(rlf_session *s, const rlf_plan_origin *origin, rlf_err *err)
{
    char digest[RLF_DIGEST_TEXT], shape[RLF_DIGEST_TEXT];
    const rlf_graph *graph = s->graph;
    const rlf_node *node = unplaced(graph);
    rlf_digest_print(s->plan->program, digest);
    if (strcmp(rlf_digest_print(s->plan->shape, shape), origin->shape) == 0)
        return RLF_OK;
    if (node) {
        rlf_fail(err, RLF_USER,
                 "this is a plan of another program, '%s' (%.8s), which has "
                 "no '%s.%s'; the program is '%s' (%.8s)",
                 origin->file, origin->program,
                 graph->resources.data[node->receiver].name, node->class->name,
                 s->program.path, digest);
        rlf_err_hint(err,
                     "'rlflow plan' prints one of this program; without this "
                     "line the rows are taken for any program that has these "
                     "calls");
        rlf_err_place(err, origin->span, NULL);
        return RLF_USER;
    }
    rlf_diag *diag = rlf_diag_warning(
        &s->program.diags, "plan", origin->span,
        "this is a plan of another program, or of other parameters: of '%s' "
        "(%.8s), and the program is '%s' (%.8s)",
        origin->file, origin->program, s->program.path, digest);
    rlf_diag_hint(&s->program.diags, diag,
                  "its rows place all calls of this one, too, and are taken; "
                  "'rlflow plan' prints one of this program");
    return RLF_OK;
}

/* Ranks that have no call: how many, and the first of them. */
static int
count_idle(const rlf_session *s, int *first)
{
    const rlf_plan *plan = s->plan;
    bool *busy = RLF_NEW_ARRAY(s->arena, bool, plan->ranks);
    int idle = 0;
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_layout *l = &plan->place[i].layout;
        for (int k = 0;
             rlf_place_can(&s->graph->nodes.data[i]) && k < l->n_ranks; k++)
            busy[l->ranks[k]] = true;
    }
    for (int r = plan->ranks - 1; r >= 0; r--) {
        idle += !busy[r];
        *first = busy[r] ? *first : r;
    }
    return idle;
}

static void
check_ranks(rlf_session *s, const rlf_plan_origin *origin, uint32_t source)
{
    int ranks = s->plan->ranks, first = 0, idle = count_idle(s, &first);
    bool few = origin && origin->ranks < ranks;
    if (!idle || idle == ranks || (origin && !few))
        return;
    rlf_span at = origin ? origin->span : s->graph->placement->span;
    if (!origin && s->graph->placement->n_rows)
        at = s->graph->placement->rows[0].span;
    if (at.source != source)
        return;
    rlf_diag *diag = rlf_diag_warning(
        &s->program.diags, "plan", at,
        "%d of %d ranks %s no call in this plan%s", idle, ranks,
        idle == 1 ? "has" : "have",
        few ? rlf_arena_printf(s->arena, ", which is for %d", origin->ranks)
            : "");
    rlf_diag_hint(&s->program.diags, diag,
                  "rank %d is the first of them; 'rlflow plan --ranks %d' "
                  "prints a plan for all",
                  first, ranks);
}

rlf_status
rlf_plan_origin_check(rlf_session *s, rlf_err *err)
{
    rlf_plan_origin origin;
    uint32_t source = source_of(s);
    if (!source || !s->graph->placement)
        return RLF_OK;
    bool known = rlf_plan_origin_find(&s->program.sources, source, &origin);
    if (known)
        RLF_TRY(check_program(s, &origin, err));
    check_ranks(s, known ? &origin : NULL, source);
    return RLF_OK;
}
