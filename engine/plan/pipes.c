/* See pipes.h. */
#include "engine/plan/pipes.h"

#include "engine/io/file.h"

#include <stdlib.h>
#include <string.h>

/* A table's text is shorter than that. */
#define MOST_BYTES ((size_t)64 << 20)

/* The words of one update's place row about its pipeline, for messages. */
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
    return node->class->work == RLF_WORK_TRAIN;
}

/* The error is at the place row. */
static rlf_status
at_row(const said *s, rlf_status status, rlf_err *err)
{
    if (status < 0)
        rlf_err_place(err, s->row ? s->row->span : s->node->span, NULL);
    return status;
}

/* ---- what each stage keeps ---- */

static void
put_kept(rlf_node_place *p, rlf_pipe_memory kept)
{
    p->flights = kept.flights;
    p->owed = kept.owed;
}

/* ---- tables from rows and files ---- */

const char *
rlf_pipes_name(const char *table)
{
    return rlf_place_is_table(table) ? "in the row" : table;
}

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

typedef struct counting {
    const rlf_pipe *pipe;
    rlf_arena *scratch;
    int channels;
} counting;

static void
count_channels(void *p)
{
    counting *c = p;
    rlf_pipe_links(c->pipe, 0, c->scratch, &c->channels);
}

/* Refuses tables with more channels than a run has tags for messages. */
static rlf_status
check_channels(const said *s, rlf_err *err)
{
    counting c = {.pipe = s->place->pipe, .scratch = rlf_arena_new()};
    rlf_status status =
        rlf_memory_guard(count_channels, &c, "a pipeline's table", err);
    rlf_arena_free(c.scratch);
    RLF_TRY(status);
    int channels = c.channels;
    if (channels <= RLF_PIPE_CHANNELS)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "the table %s mixes its micro-batches so much that messages need "
             "%d channels; there are %d",
             rlf_pipes_name(s->place->table), channels, RLF_PIPE_CHANNELS);
    rlf_err_hint(err, "let a place take what comes from another more nearly in "
                      "the order in which it is sent");
    return RLF_USER;
}

static rlf_status
read_table(const said *s, rlf_arena *arena, rlf_err *err)
{
    s->place->pipe = known(s);
    if (s->place->pipe)
        return RLF_OK;
    rlf_buf text = {0};
    rlf_pipe *pipe = RLF_NEW(arena, rlf_pipe);
    const char *table = s->place->table;
    bool own = rlf_place_is_table(table);
    rlf_status status =
        own ? RLF_OK : rlf_file_read(table, MOST_BYTES, err, &text);
    if (status >= 0)
        status = rlf_pipe_read(own      ? table
                               : text.p ? text.p
                                        : "",
                               rlf_pipes_name(table), arena, err, pipe);
    rlf_buf_free(&text);
    RLF_TRY(status);
    s->place->pipe = pipe;
    RLF_TRY(rlf_pipe_check(pipe, NULL, NULL, err));
    return check_channels(s, err);
}

/* The model of that name, or -1. */
static int
model_named(const rlf_pipe *pipe, const char *name)
{
    for (int i = 0; i < pipe->n_models; i++)
        if (strcmp(pipe->models[i].name, name) == 0)
            return i;
    return -1;
}

/* Finds the models of the table that the update's are: the only one, that of
 * its name, or its copies NAME.1, NAME.2, ... one behind the other. */
static rlf_status
find_model(const said *s, rlf_arena *arena, rlf_err *err)
{
    const rlf_pipe *pipe = s->place->pipe;
    int first = pipe->n_models == 1 ? 0 : model_named(pipe, s->model), n = 1;
    if (first < 0)
        for (first =
                 model_named(pipe, rlf_arena_printf(arena, "%s.1", s->model));
             first >= 0 &&
             model_named(pipe, rlf_arena_printf(arena, "%s.%d", s->model,
                                                n + 1)) == first + n;)
            n++;
    if (first < 0)
        return rlf_fail(
            err, RLF_USER, "the table %s has %d models, and none is named '%s'",
            rlf_pipes_name(s->place->table), pipe->n_models, s->model);
    for (int i = first; i < first + n; i++)
        if (pipe->models[i].forward_only)
            return rlf_fail(err, RLF_USER,
                            "the table %s only goes forward with '%s', which "
                            "is trained",
                            rlf_pipes_name(s->place->table), s->model);
    for (int i = first; i < first + n; i++)
        if (pipe->models[i].split != pipe->models[first].split)
            return rlf_fail(err, RLF_USER,
                            "the table %s splits the backward of some copies "
                            "of '%s', and not of others",
                            rlf_pipes_name(s->place->table), s->model);
    s->place->pipe_model = first;
    s->place->pipe_copies = n;
    return RLF_OK;
}

/* True: the second chunk begins where the first one ends. */
static bool
turns_back(const rlf_pipe_model *m, int pp)
{
    return pp > 1 && m->stages == 2 * pp && m->path[pp] == m->path[pp - 1];
}

/* Stage k of a copy has to be at the place of stage k % pp, of a V at that of
 * the stage across, and no two at one. */
static bool
goes_round(const rlf_pipe_model *m, int pp, int chunks, bool vee, bool *seen)
{
    bool good = m->stages == pp * chunks;
    for (int k = 0; k < m->stages && good; k++) {
        good = m->path[k] == m->path[rlf_part_stage(pp, vee, k)] &&
               (k >= pp || !seen[m->path[k]]);
        seen[m->path[k]] = true;
    }
    return good;
}

/* The copies together have all places. */
static rlf_status
check_path(const said *s, rlf_arena *arena, rlf_err *err)
{
    const rlf_node_place *place = s->place;
    const rlf_pipe *pipe = place->pipe;
    int pp = place->layout.pp, n = place->pipe_copies;
    if (pipe->places != n * pp) {
        rlf_fail(err, RLF_USER,
                 "the table %s has %d places, but '%s' has %d stages (pp:)%s",
                 rlf_pipes_name(place->table), pipe->places, s->model, pp,
                 n > 1 ? rlf_arena_printf(arena, " in each of %d copies", n)
                       : "");
        if (n == 1 && pipe->n_models > 1 && pipe->places % pp == 0)
            rlf_err_hint(err,
                         "a model of fewer stages has copies in the table, "
                         "'%s.1' to '%s.%d', on places of their own",
                         s->model, s->model, pipe->places / pp);
        return RLF_USER;
    }
    if (place->layout.dp % n) {
        rlf_fail(err, RLF_USER,
                 "the table %s has %d copies of '%s', which do not divide its "
                 "%d replicas (dp:)",
                 rlf_pipes_name(place->table), n, s->model, place->layout.dp);
        return RLF_USER;
    }
    const rlf_pipe_model *first = &pipe->models[place->pipe_model];
    bool *seen = RLF_NEW_ARRAY(arena, bool, pipe->places);
    for (int i = place->pipe_model; i < place->pipe_model + n; i++)
        if (!goes_round(&pipe->models[i], pp, first->stages / pp,
                        turns_back(first, pp), seen))
            return rlf_fail(err, RLF_USER,
                            "in the table %s the path of '%s' does not go "
                            "round all of its %d places in one order, as often "
                            "as it has chunks, nor once and back",
                            rlf_pipes_name(place->table), pipe->models[i].name,
                            pp);
    return RLF_OK;
}

static rlf_status
take_file(const said *s, rlf_arena *arena, rlf_err *err)
{
    RLF_TRY(read_table(s, arena, err));
    RLF_TRY(find_model(s, arena, err));
    RLF_TRY(check_path(s, arena, err));
    const rlf_pipe *pipe = s->place->pipe;
    int first = s->place->pipe_model, n = s->place->pipe_copies;
    int pp = s->place->layout.pp, stages = pipe->models[first].stages,
        chunks = stages / pp;
    s->place->chunks = chunks;
    s->place->vee = turns_back(&pipe->models[first], pp);
    rlf_pipe_memory kept =
        rlf_pipe_memory_new(pp, chunks, pipe->models[first].split, arena);
    for (int i = 0; i < n; i++)
        rlf_pipe_memory_raise(&kept, pipe, first + i, pp, s->place->vee);
    put_kept(s->place, kept);
    return RLF_OK;
}

/* The largest tp of those that share the table. */
static int
widest(const rlf_plan *plan, const rlf_pipe *pipe)
{
    int most = 1;
    for (size_t i = 0; i < plan->graph->nodes.count; i++)
        if (plan->place[i].pipe == pipe && plan->place[i].layout.tp > most)
            most = plan->place[i].layout.tp;
    return most;
}

/* The ranks so that the coordinate pp is the stage of the model. The ranks of
 * a place are those that the widest of the table's models has there: neighbours
 * as far as its tp goes. */
static rlf_status
turn_ranks(const said *s, rlf_arena *arena, rlf_err *err)
{
    rlf_node_place *place = s->place;
    rlf_layout *l = &place->layout;
    int tp = widest(s->plan, place->pipe), places = place->pipe->places;
    int each = l->dp / place->pipe_copies; /* replicas at a place */
    if (each * l->tp % tp) {
        rlf_fail(err, RLF_USER,
                 "'%s' has %d ranks at each place of the table %s, and another "
                 "model of it has tp: %d",
                 s->model, each * l->tp, rlf_pipes_name(place->table), tp);
        rlf_err_hint(err, "tp: may differ where all have the same ranks");
        return RLF_USER;
    }
    int *ranks = RLF_NEW_ARRAY(arena, int, l->n_ranks);
    for (int i = 0; i < l->n_ranks; i++) {
        rlf_coordinates at = rlf_layout_at(l, i);
        int j = at.dp % each * l->tp + at.tp, p = rlf_pipes_place(place, at);
        ranks[i] = place->ranks[(j / tp * places + p) * tp + j % tp];
    }
    l->ranks = ranks;
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

static rlf_status
take_named(const said *s, rlf_pipe_memories *known, rlf_arena *arena,
           rlf_err *err)
{
    rlf_node_place *p = s->place;
    if (p->chunks > 1 && p->layout.pp == 1)
        return rlf_fail(err, RLF_USER,
                        "chunks of '%s' are of a pipeline, but it has one "
                        "stage (pp:)",
                        s->model);
    put_kept(p, rlf_pipe_memory_named(known, p->schedule, p->layout.pp,
                                      p->chunks, p->vee, arena));
    return RLF_OK;
}

/* ---- several models in one pipeline ---- */

static bool
same_ranks(const rlf_node_place *a, const rlf_node_place *b)
{
    bool same = a->layout.n_ranks == b->layout.n_ranks;
    for (int i = 0; i < a->layout.n_ranks && same; i++)
        same = a->ranks[i] == b->ranks[i];
    return same;
}

/* Finds the updates of the region behind this one that are of other models of
 * the same table, one of each: they are trained in one pipeline with it. */
static rlf_status
find_fused(const said *s, rlf_arena *arena, rlf_err *err)
{
    const rlf_graph *graph = s->plan->graph;
    bool *taken = RLF_NEW_ARRAY(arena, bool, s->place->pipe->n_models);
    int fused = 1;
    taken[s->place->pipe_model] = true;
    for (size_t i = (size_t)s->node->id + 1; i < graph->nodes.count; i++) {
        const rlf_node *other = &graph->nodes.data[i];
        rlf_node_place *place = &s->plan->place[i];
        if (place->pipe != s->place->pipe || place->lead ||
            taken[place->pipe_model] || other->region != s->node->region)
            continue;
        if (!same_ranks(s->place, place))
            return rlf_fail(err, RLF_USER,
                            "'%s' and '%s' share the table %s, but not their "
                            "ranks",
                            s->model,
                            graph->resources.data[other->receiver].name,
                            rlf_pipes_name(s->place->table));
        taken[place->pipe_model] = true;
        place->lead = s->node;
        fused++;
    }
    for (size_t i = (size_t)s->node->id; fused > 1 && i < graph->nodes.count;
         i++) {
        rlf_node_place *place = &s->plan->place[i];
        if ((int)i == s->node->id)
            place->lead = s->node;
        if (place->lead == s->node)
            place->fused = fused;
    }
    return RLF_OK;
}

/* ---- all ---- */

rlf_status
rlf_pipes_make(rlf_plan *plan, rlf_pipe_memories *known, rlf_arena *arena,
               rlf_err *err)
{
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        if (!is_update(node))
            continue;
        said s = said_of(plan, node);
        RLF_TRY(at_row(&s,
                       s.place->table ? take_file(&s, arena, err)
                                      : take_named(&s, known, arena, err),
                       err));
        s.place->layout.chunks = s.place->chunks;
        s.place->layout.vee = s.place->vee;
    }
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        if (!plan->place[i].pipe)
            continue;
        said s = said_of(plan, &plan->graph->nodes.data[i]);
        RLF_TRY(at_row(&s, turn_ranks(&s, arena, err), err));
    }
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        if (!plan->place[i].pipe || plan->place[i].lead)
            continue;
        said s = said_of(plan, &plan->graph->nodes.data[i]);
        RLF_TRY(at_row(&s, find_fused(&s, arena, err), err));
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
rlf_pipes_model(const rlf_node_place *place, rlf_coordinates at)
{
    return place->pipe ? place->pipe_model +
                             at.dp / (place->layout.dp / place->pipe_copies)
                       : 0;
}

int
rlf_pipes_place(const rlf_node_place *place, rlf_coordinates at)
{
    return place->pipe
               ? place->pipe->models[rlf_pipes_model(place, at)].path[at.pp]
               : at.pp;
}
