/* See pipes.h. */
#include "engine/plan/pipes.h"

#include "engine/io/file.h"

#include <stdlib.h>
#include <string.h>

/* A table's text is shorter than that. */
#define MOST_BYTES ((size_t)64 << 20)

/* What one update's row says of its pipeline, for messages. */
typedef struct said {
    rlf_plan *plan;
    const rlf_node *node;
    rlf_node_place *place;
    const rlf_place_row *row; /* NULL: nothing */
    const char *model;        /* its name */
} said;

static said
said_of(rlf_plan *plan, const rlf_node *node)
{
    return (said){.plan = plan,
                  .node = node,
                  .place = &plan->place[node->id],
                  .row = rlf_placement_find(plan->graph->placement,
                                            node->receiver, node->class),
                  .model = plan->graph->resources.data[node->receiver].name};
}

static bool
is_update(const rlf_node *node)
{
    return node->class->role == RLF_ROLE_UPDATE;
}

/* The error is at the row. */
static rlf_status
at_row(const said *s, rlf_status status, rlf_err *err)
{
    if (status < 0)
        rlf_err_place(err, s->row ? s->row->span : s->node->span, NULL);
    return status;
}

/* ---- tables from files ---- */

/* The same file, read before. */
static const rlf_pipe *
known(const said *s)
{
    for (int i = 0; i < s->node->id; i++) {
        const rlf_node_place *p = &s->plan->place[i];
        if (p->pipe && p->table && strcmp(p->table, s->place->table) == 0)
            return p->pipe;
    }
    return NULL;
}

static rlf_status
read_table(const said *s, rlf_arena *arena, rlf_err *err)
{
    s->place->pipe = known(s);
    if (s->place->pipe)
        return RLF_OK;
    rlf_buf text = {0};
    rlf_pipe *pipe = RLF_NEW(arena, rlf_pipe);
    rlf_status status = rlf_file_read(s->place->table, MOST_BYTES, err, &text);
    if (status >= 0)
        status = rlf_pipe_read(text.p ? text.p : "", s->place->table, arena,
                               err, pipe);
    rlf_buf_free(&text);
    RLF_TRY(status);
    s->place->pipe = pipe;
    return rlf_pipe_check(pipe, NULL, NULL, err);
}

/* Which model of the table the update's is: the only one, or that of its name.
 */
static rlf_status
find_model(const said *s, rlf_err *err)
{
    const rlf_pipe *pipe = s->place->pipe;
    int found = pipe->n_models == 1 ? 0 : -1;
    for (int i = 0; i < pipe->n_models; i++)
        if (strcmp(pipe->models[i].name, s->model) == 0)
            found = i;
    if (found < 0)
        return rlf_fail(err, RLF_USER,
                        "the table %s has %d models, and none is named '%s'",
                        s->place->table, pipe->n_models, s->model);
    if (pipe->models[found].forward_only)
        return rlf_fail(err, RLF_USER,
                        "the table %s only goes forward with '%s', which is "
                        "trained",
                        s->place->table, s->model);
    s->place->pipe_model = found;
    return RLF_OK;
}

/* Stage k of the model's has to be at the place of stage k % pp, and every
 * place has one of those. */
static rlf_status
check_path(const said *s, rlf_err *err)
{
    const rlf_pipe *pipe = s->place->pipe;
    const rlf_pipe_model *m = &pipe->models[s->place->pipe_model];
    int pp = s->place->layout.pp;
    if (pipe->places != pp)
        return rlf_fail(err, RLF_USER,
                        "the table %s has %d places, but '%s' has %d stages "
                        "(pp:)",
                        s->place->table, pipe->places, s->model, pp);
    bool good = m->stages % pp == 0;
    for (int k = 0; k < m->stages && good; k++) {
        good = m->path[k] == m->path[k % pp];
        for (int i = 0; i < k && k < pp; i++)
            good &= m->path[i] != m->path[k];
    }
    if (!good)
        return rlf_fail(err, RLF_USER,
                        "in the table %s the path of '%s' does not go round "
                        "all of its %d places in one order, as often as it has "
                        "chunks",
                        s->place->table, s->model, pp);
    return RLF_OK;
}

/* The ranks so that the coordinate pp is the stage of the model. */
static void
turn_ranks(const said *s, rlf_arena *arena)
{
    rlf_layout *l = &s->place->layout;
    const int *path = s->place->pipe->models[s->place->pipe_model].path;
    int *ranks = RLF_NEW_ARRAY(arena, int, l->n_ranks);
    for (int i = 0; i < l->n_ranks; i++) {
        rlf_coordinates to = rlf_layout_at(l, i), from = to;
        from.pp = path[to.pp];
        ranks[i] = l->ranks[rlf_layout_place(l, from)];
    }
    l->ranks = ranks;
}

static rlf_status
take_file(const said *s, rlf_arena *arena, rlf_err *err)
{
    RLF_TRY(read_table(s, arena, err));
    RLF_TRY(find_model(s, err));
    RLF_TRY(check_path(s, err));
    turn_ranks(s, arena);
    const rlf_pipe *pipe = s->place->pipe;
    const rlf_pipe_model *m = &pipe->models[s->place->pipe_model];
    int pp = s->place->layout.pp, chunks = m->stages / pp;
    s->place->chunks = chunks;
    s->place->flights = RLF_NEW_ARRAY(arena, int, m->stages);
    for (int k = 0; k < m->stages; k++)
        s->place->flights[k % pp * chunks + k / pp] =
            rlf_pipe_held(pipe, s->place->pipe_model, m->path[k], k / pp);
    return RLF_OK;
}

/* ---- tables by name ---- */

static void
make_named(const rlf_node_place *place, int micros, rlf_arena *arena,
           rlf_pipe *out)
{
    rlf_err ignored = RLF_ERR_NONE; /* the grammar knows the names */
    rlf_pipe_named(place->schedule, place->layout.pp, micros, place->chunks,
                   arena, &ignored, out);
}

/* What each stage keeps: no more with more micro-batches than with a few, but
 * for gpipe, which keeps all. */
static rlf_status
take_named(const said *s, rlf_arena *arena, rlf_err *err)
{
    rlf_node_place *p = s->place;
    int pp = p->layout.pp, chunks = p->chunks;
    if (chunks > 1 && pp == 1)
        return rlf_fail(err, RLF_USER,
                        "chunks of '%s' are of a pipeline, but it has one "
                        "stage (pp:)",
                        s->model);
    p->flights = RLF_NEW_ARRAY(arena, int, pp *chunks);
    if (strcmp(p->schedule, "gpipe") == 0)
        return RLF_OK;
    rlf_arena *scratch = rlf_arena_new();
    for (int micros = 1; micros <= 4 * pp; micros++) {
        rlf_pipe pipe;
        make_named(p, micros, scratch, &pipe);
        for (int k = 0; k < pp * chunks; k++) {
            int held = rlf_pipe_held(&pipe, 0, k / chunks, k % chunks);
            p->flights[k] = held > p->flights[k] ? held : p->flights[k];
        }
    }
    rlf_arena_free(scratch);
    return RLF_OK;
}

/* ---- all ---- */

/* ---- two models in one pipeline ---- */

static bool
same_split(const rlf_node_place *a, const rlf_node_place *b)
{
    const rlf_layout *x = &a->layout, *y = &b->layout;
    bool same = x->tp == y->tp && x->pp == y->pp && x->dp == y->dp;
    for (int i = 0; i < x->n_ranks && same; i++)
        same = a->ranks[i] == b->ranks[i];
    return same;
}

/* The next update of the region that is of another model of the same table and
 * has no partner yet. */
static rlf_status
pair(const said *s, rlf_err *err)
{
    const rlf_graph *graph = s->plan->graph;
    for (size_t i = (size_t)s->node->id + 1; i < graph->nodes.count; i++) {
        const rlf_node *other = &graph->nodes.data[i];
        rlf_node_place *place = &s->plan->place[i];
        if (place->pipe != s->place->pipe || place->partner ||
            place->pipe_model == s->place->pipe_model ||
            other->region != s->node->region)
            continue;
        if (!same_split(s->place, place))
            return rlf_fail(err, RLF_USER,
                            "'%s' and '%s' share the table %s, but not their "
                            "ranks, tp:, pp: and dp:",
                            s->model,
                            graph->resources.data[other->receiver].name,
                            s->place->table);
        s->place->partner = other;
        place->partner = s->node;
        return RLF_OK;
    }
    return RLF_OK;
}

rlf_status
rlf_pipes_make(rlf_plan *plan, rlf_arena *arena, rlf_err *err)
{
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        if (!is_update(node))
            continue;
        said s = said_of(plan, node);
        RLF_TRY(at_row(&s,
                       s.place->table ? take_file(&s, arena, err)
                                      : take_named(&s, arena, err),
                       err));
        s.place->layout.chunks = s.place->chunks;
    }
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        if (!plan->place[i].pipe || plan->place[i].partner)
            continue;
        said s = said_of(plan, &plan->graph->nodes.data[i]);
        RLF_TRY(at_row(&s, pair(&s, err), err));
    }
    return RLF_OK;
}

void
rlf_pipes_table(const rlf_node_place *place, const int *micros,
                rlf_arena *arena, rlf_pipe *out)
{
    if (place->pipe)
        rlf_pipe_serve(place->pipe, micros, arena, out);
    else
        make_named(place, micros[0], arena, out);
}

int
rlf_pipes_place(const rlf_node_place *place, int stage)
{
    return place->pipe ? place->pipe->models[place->pipe_model].path[stage]
                       : stage;
}
