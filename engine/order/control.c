/* The controller of many ranks: its life, what is posted next, what is made of
 * reports. See control.h. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

/* ---- life ---- */

/* The replicas of a layout: the ranks of each data-parallel part. */
static replica *
replicas_of(const rlf_layout *layout, rlf_arena *arena)
{
    int size = layout->tp * layout->pp;
    replica *list = RLF_NEW_ARRAY(arena, replica, layout->dp);
    int *ranks = RLF_NEW_ARRAY(arena, int, layout->n_ranks);
    for (int i = 0; i < layout->n_ranks; i++) {
        rlf_coordinates at = rlf_layout_at(layout, i);
        replica *r = &list[at.dp];
        ranks[at.dp * size + r->n++] = layout->ranks[i];
        r->ranks = ranks + at.dp * size;
        if (at.tp == 0 && at.pp == rlf_layout_last(layout))
            r->leader = layout->ranks[i];
    }
    return list;
}

rlf_control *
rlf_control_new(const rlf_plan *plan, rlf_policy policy)
{
    rlf_control *c = rlf_calloc(1, sizeof *c);
    c->plan = plan;
    c->shown = policy.shown;
    c->lasting = rlf_arena_new();
    c->scratch = rlf_arena_new();
    c->n_steps = (int)plan->graph->ahead + 1;
    c->step_arenas = RLF_NEW_ARRAY(c->lasting, rlf_arena *, c->n_steps);
    c->posted = RLF_NEW_ARRAY(c->lasting, rlf_arena *, c->n_steps);
    for (int i = 0; i < c->n_steps; i++) {
        c->step_arenas[i] = rlf_arena_new();
        c->posted[i] = rlf_arena_new();
    }
    c->arena = c->posted[0];
    c->sampling = -1;
    c->changes = 1;
    c->n_ranks = plan->ranks;
    c->n_words = (plan->ranks + BITS - 1) / BITS;
    rlf_control_find_snapshots(c, &policy);
    rlf_control_find_order(c);
    c->order = rlf_order_new(plan->graph, policy);
    c->replicas =
        RLF_NEW_ARRAY(c->lasting, replica *, plan->graph->nodes.count);
    c->tail = RLF_NEW_ARRAY(c->lasting, rlf_tail, plan->graph->nodes.count);
    c->reader =
        RLF_NEW_ARRAY(c->lasting, const rlf_node *, plan->graph->nodes.count);
    size_t n = plan->graph->resources.count;
    if (plan->copies)
        c->version = rlf_calloc(n, sizeof *c->version);
    for (size_t i = 0; plan->copies && i < n; i++)
        c->version[i] =
            rlf_calloc((size_t)plan->copies[i].n, sizeof **c->version);
    return c;
}

void
rlf_control_free(rlf_control *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->version && i < c->plan->graph->resources.count; i++)
        free(c->version[i]);
    free(c->version);
    rlf_order_free(c->order);
    RLF_VEC_FREE(&c->tracks);
    RLF_VEC_FREE(&c->commands);
    RLF_VEC_FREE(&c->actives);
    RLF_VEC_FREE(&c->joining);
    RLF_VEC_FREE(&c->ready);
    RLF_VEC_FREE(&c->latest);
    RLF_VEC_FREE(&c->deferred);
    for (int i = 0; i < c->n_steps; i++) {
        rlf_arena_free(c->step_arenas[i]);
        rlf_arena_free(c->posted[i]);
    }
    rlf_arena_free(c->scratch);
    rlf_arena_free(c->lasting);
    free(c);
}

/* Nothing is known of the instances of a step. */
static void
clear_lane(rlf_control *c, uint64_t step)
{
    size_t index = step % (uint64_t)c->n_steps;
    for (size_t i = index; i < c->tracks.count; i += (size_t)c->n_steps)
        c->tracks.data[i] = NULL;
    rlf_arena_reset(c->step_arenas[index]);
}

/* There is more to do before the next END. */
static void
go_on(rlf_control *c)
{
    c->ending = c->ended = false;
    c->end = SIZE_MAX;
}

int
rlf_control_begin(rlf_control *c)
{
    int fresh = rlf_order_begin(c->order);
    uint64_t last = ++c->step + c->plan->graph->ahead;
    c->arena = c->posted[c->step % (uint64_t)c->n_steps];
    rlf_arena_reset(c->arena);
    for (int i = 0; i < fresh; i++)
        clear_lane(c, last - (uint64_t)i);
    size_t left = c->commands.count - c->next; /* that came behind the END */
    if (left)
        memmove(c->commands.data, c->commands.data + c->next,
                left * sizeof *c->commands.data);
    c->commands.count = left;
    c->next = 0;
    go_on(c);
    c->pins_due = true;
    return fresh;
}

void
rlf_control_settle(rlf_control *c)
{
    uint64_t last = c->step + c->plan->graph->ahead;
    if (!c->ended || rlf_order_made_before(c->order, last + 1))
        return;
    rlf_order_settle(c->order);
    go_on(c);
}

void
rlf_control_restore(rlf_control *c, uint64_t step)
{
    rlf_order_restore(c->order, step);
    c->step = step;
    for (uint64_t s = step + 1; s <= step + c->plan->graph->ahead; s++) {
        int index = (int)(s % (uint64_t)c->n_steps);
        for (int i = 0; rlf_order_restored(c->plan->graph, i); i++) {
            track *t = rlf_control_track(c, i * c->n_steps + index);
            t->announced = t->everywhere = true;
        }
    }
}

const rlf_order *
rlf_control_order(const rlf_control *c)
{
    return c->order;
}

const rlf_plan *
rlf_control_plan(const rlf_control *c)
{
    return c->plan;
}

bool
rlf_control_ended(const rlf_control *c)
{
    return c->ended;
}

const rlf_node_place *
rlf_control_place(const rlf_control *c, const rlf_node *node)
{
    return &c->plan->place[node->id];
}

const replica *
rlf_control_replicas(rlf_control *c, const rlf_node *node)
{
    replica **list = &c->replicas[node->id];
    if (!*list)
        *list = replicas_of(&rlf_control_place(c, node)->layout, c->lasting);
    return *list;
}

rlf_arena *
rlf_control_arena(const rlf_control *c, int instance)
{
    return c->step_arenas[instance % c->n_steps];
}

track *
rlf_control_track(rlf_control *c, int instance)
{
    while (c->tracks.count <= (size_t)instance)
        RLF_PUSH(&c->tracks, NULL);
    track **t = &c->tracks.data[instance];
    if (!*t)
        *t = RLF_NEW(rlf_control_arena(c, instance), track);
    return *t;
}

const rlf_instance *
rlf_control_instance(const rlf_control *c, int instance)
{
    return rlf_order_instance(c->order, instance);
}

/* The number of inputs, with those of a LOOP instance that its region gave
 * before. */
static int
n_inputs(const rlf_control *c, const rlf_instance *in)
{
    int n = in->node->n_inputs;
    if (in->loop)
        n += c->plan->graph->regions.data[in->node->regions[0]].n_gives;
    return n;
}

int
rlf_control_input(const rlf_control *c, const rlf_instance *in, int *i)
{
    while (*i < n_inputs(c, in)) {
        int from = in->input[(*i)++].instance;
        if (from >= 0)
            return from;
    }
    return -1;
}

bool
rlf_control_aligned(const rlf_control *c, const rlf_node *node, int from)
{
    return node->rows >= 0 &&
           rlf_control_instance(c, from)->node->rows == node->rows;
}

void
rlf_control_set_rows(rlf_control *c, int instance, uint32_t n_rows,
                     const uint32_t *owner)
{
    track *t = rlf_control_track(c, instance);
    size_t n = n_rows ? n_rows : 1;
    t->opened = true;
    t->n_rows = n_rows;
    rlf_arena *arena = rlf_control_arena(c, instance);
    t->have = RLF_NEW_ARRAY(arena, word, n * (size_t)c->n_words);
    t->n_have = NULL;
    if (owner) {
        uint32_t *copy = RLF_NEW_ARRAY(arena, uint32_t, n);
        memcpy(copy, owner, n_rows * sizeof *copy);
        t->owner = copy;
    }
    rlf_order_opened(c->order, instance, n_rows, t->owner);
}

void
rlf_control_give(rlf_control *c, int instance, const uint32_t *rows, int64_t n,
                 int rank)
{
    track *t = rlf_control_track(c, instance);
    if (!t->n_have && n > 0)
        t->n_have =
            RLF_NEW_ARRAY(rlf_control_arena(c, instance), uint32_t, c->n_ranks);
    for (int64_t i = 0; i < n; i++) {
        word *have = rlf_control_ranks_with(c, t, rows[i]);
        if (has(have, rank))
            continue;
        put(have, rank);
        t->n_have[rank]++;
    }
}

/* ---- posting ---- */

/* Fills in what a rank needs to know of an instance. */
static void
describe(const rlf_control *c, int instance, rlf_rank_command *command)
{
    const rlf_instance *in = rlf_control_instance(c, instance);
    command->node = in->node->id;
    command->iteration = in->iteration;
    command->loop = in->loop;
    command->input = in->input;
    command->n_input = n_inputs(c, in);
}

/* The ranks of an open replica leave their generation for a command together,
 * so they must all get it, whether they take part or not. */
rlf_rank_command *
rlf_control_post(rlf_control *c, rlf_do kind, int instance)
{
    rlf_rank_command *command = RLF_NEW(c->arena, rlf_rank_command);
    command->kind = kind;
    command->n = c->n++;
    command->instance = instance;
    command->node = -1;
    if (instance >= 0)
        describe(c, instance, command);
    if (instance >= 0 && (kind == RLF_DO_OPEN || kind == RLF_DO_RUN)) {
        track *t = rlf_control_track(c, instance);
        command->everyone = !t->announced;
        t->announced = true;
    }
    command->everyone |= c->open_replicas > 0;
    RLF_PUSH(&c->commands, command);
    return command;
}

/* Is it a command of a call, or a hook? */
static bool
calls(const rlf_control *c, const active *a)
{
    return a->instance >= 0 &&
           rlf_control_works(rlf_control_instance(c, a->instance)->node);
}

active *
rlf_control_await(rlf_control *c, const rlf_rank_command *command)
{
    active a = {.n = command->n,
                .instance = command->instance,
                .shares = command->shares,
                .n_shares = command->n_shares};
    int n = command->kind == RLF_DO_RUN ? command->n_shares : c->n_ranks;
    a.reported = RLF_NEW_ARRAY(c->arena, bool, n);
    if (command->kind == RLF_DO_END)
        a.left = c->n_ranks;
    for (int i = 0; i < command->n_shares; i++)
        a.left += command->shares[i].reports;
    rlf_control_note_posted(c, &a);
    c->changes += calls(c, &a);
    RLF_PUSH(&c->actives, a);
    return &c->actives.data[c->actives.count - 1];
}

/* ---- what is done ---- */

void
rlf_control_tell_done(rlf_control *c, int instance, const rlf_rank_event *event)
{
    if (event)
        rlf_order_done(c->order, instance, event->count, event->branch,
                       event->leave);
    else
        rlf_order_done(c->order, instance, 0, -1, false);
}

void
rlf_control_note_rows(rlf_control *c, const active *a, const rlf_share *by,
                      const uint32_t *rows, uint32_t n)
{
    track *t = rlf_control_track(c, a->instance);
    for (int i = 0; i < a->n_shares; i++)
        if (a->shares[i].rows == by->rows && a->shares[i].has)
            rlf_control_give(c, a->instance, rows, n, a->shares[i].rank);
    t->n_done += n;
    if (n)
        rlf_order_rows(c->order, a->instance, rows, n);
}

void
rlf_control_done_together(rlf_control *c, const active *a,
                          const rlf_rank_event *event)
{
    track *t = rlf_control_track(c, a->instance);
    t->everywhere = a->n_shares == c->n_ranks;
    if (!t->everywhere) {
        RLF_ASSERT(rlf_control_instance(c, a->instance)->node->rows < 0 ||
                   !rlf_control_is_stored(c, a->instance));
        const uint32_t first = 0;
        t->have =
            RLF_NEW_ARRAY(rlf_control_arena(c, a->instance), word, c->n_words);
        for (int i = 0; i < a->n_shares; i++)
            rlf_control_give(c, a->instance, &first, 1, a->shares[i].rank);
    }
    rlf_control_tell_done(c, a->instance, event);
}

/* The first rows of what the flow and its ifs and everys name, to rank 0, where
 * samples are written from. */
static void
bring_shown(rlf_control *c)
{
    size_t n_steps = (size_t)c->n_steps;
    for (size_t i = c->step % n_steps; i < c->tracks.count; i += n_steps) {
        const track *t = c->tracks.data[i];
        if (!t || !t->opened || t->everywhere ||
            !rlf_graph_once(c->plan->graph,
                            rlf_control_instance(c, (int)i)->node->region))
            continue;
        uint32_t n = t->n_rows < c->shown ? t->n_rows : c->shown;
        rlf_control_bring(c, (int)i, -1, NULL, n,
                          &(rlf_parts){.count = 1,
                                       .first = (int[]){0, 1},
                                       .list = (int[]){0}});
    }
}

void
rlf_control_gather(rlf_control *c)
{
    const int first_rank = 0;
    size_t n_steps = (size_t)c->n_steps;
    c->end = SIZE_MAX;
    for (size_t i = 0; i < c->tracks.count; i++) {
        const track *t = c->tracks.data[i];
        if (i % n_steps == c->step % n_steps || !t || t->everywhere ||
            rlf_control_instance(c, (int)i)->node->region != 0)
            continue;
        rlf_control_bring_all(c, (int)i, -1, &first_rank, 1);
    }
}

/* Issues what was deferred, as far as that need not be longer, and what comes
 * last. */
static void
catch_up(rlf_control *c)
{
    size_t left = 0, n = c->deferred.count;
    for (size_t i = 0; i < n; i++) {
        rlf_decision decision = c->deferred.data[i];
        if (rlf_control_blocks_samplers(c, &decision))
            c->deferred.data[left++] = decision;
        else
            rlf_control_take(c, &decision);
    }
    c->deferred.count = left;
    while (rlf_control_run_next(c))
        ;
    if (c->next == c->commands.count)
        rlf_control_run_latest(c);
}

static void
end_step(rlf_control *c)
{
    rlf_control_bring_pins(c);
    bring_shown(c);
    rlf_control_await(c, rlf_control_post(c, RLF_DO_END, -1));
    c->end = c->commands.count;
    c->ending = true;
}

/* The order's next decision, or if it has none one that is ready. False: there
 * is nothing more to post before the next report. */
static bool
follow(rlf_control *c)
{
    rlf_decision decision = rlf_order_next(c->order);
    if (decision.kind == RLF_NEXT_LOOP || decision.kind == RLF_NEXT_RUN) {
        if (rlf_control_blocks_samplers(c, &decision))
            RLF_PUSH(&c->deferred, decision);
        else
            rlf_control_take(c, &decision);
        return true;
    }
    rlf_control_bring_next(c);
    if (rlf_control_run_next(c))
        return true;
    if (decision.kind != RLF_NEXT_END && !c->ready.count)
        rlf_control_go_joined(c);
    else if (decision.kind == RLF_NEXT_END &&
             !rlf_control_blocks_samplers(c, &decision))
        end_step(c);
    return false;
}

const rlf_rank_command *
rlf_control_next(rlf_control *c)
{
    bool more = !c->ending;
    rlf_control_migrate(c);
    while (c->next == c->commands.count && more)
        more = follow(c);
    if (c->next == c->commands.count)
        catch_up(c);
    return c->next < c->commands.count && c->next < c->end
               ? c->commands.data[c->next++]
               : NULL;
}

/* ---- reports ---- */

static const rlf_share *
share_of(const active *a, int rank)
{
    for (int i = 0; i < a->n_shares; i++)
        if (a->shares[i].rank == rank)
            return &a->shares[i];
    return NULL;
}

static active *
active_of(rlf_control *c, uint64_t n)
{
    for (size_t i = 0; i < c->actives.count; i++)
        if (c->actives.data[i].n == n)
            return &c->actives.data[i];
    return NULL;
}

static void
done(rlf_control *c, const rlf_rank_event *event)
{
    active *a = active_of(c, event->n);
    RLF_ASSERT(a && (a->instance < 0) == (event->kind == RLF_EVENT_ENDED));
    c->changes += calls(c, a);
    if (a->instance < 0) {
        a->reported[event->rank] = true;
    } else {
        const rlf_share *share = share_of(a, event->rank);
        a->reported[share - a->shares] = true;
        rlf_control_note_done(c, a, share);
    }
    active copy = *a;
    if (--a->left == 0)
        *a = c->actives.data[--c->actives.count];
    if (event->seconds > 0)
        rlf_control_followed(c, &copy, event);
    if (copy.instance < 0)
        c->ended = copy.left == 1;
    else if (!copy.told) /* else what follows it was posted behind it */
        rlf_control_done_together(c, &copy, event);
}

static void
opened(rlf_control *c, const rlf_rank_event *event)
{
    size_t i = 0;
    while (!c->tracks.data[i] || !c->tracks.data[i]->held ||
           c->tracks.data[i]->asked != event->n)
        i++;
    track *t = c->tracks.data[i];
    t->held = false;
    c->n_asked--;
    if (event->lengths) {
        rlf_arena *arena = rlf_control_arena(c, (int)i);
        t->tokens = RLF_NEW_ARRAY(arena, uint32_t, event->n_rows + 1);
        memcpy(t->tokens, event->lengths, event->n_rows * sizeof *t->tokens);
    }
    rlf_control_set_rows(c, (int)i, event->n_rows, event->owner);
    rlf_control_run_rows(c, (int)i);
}

/* Samples are complete; the generation is, with the last of them. */
static void
rows_sampled(rlf_control *c, const rlf_rank_event *event)
{
    active *a = active_of(c, event->n);
    RLF_ASSERT(a);
    int instance = a->instance;
    rlf_control_note_rows(c, a, share_of(a, event->rank), event->rows,
                          event->n_rows);
    rlf_control_sampled(c, instance, event);
    const track *t = rlf_control_track(c, instance);
    if (t->n_done < t->n_rows) {
        c->sampled = true;
        return;
    }
    *a = c->actives.data[--c->actives.count];
    c->sampling = -1;
    c->changes++;
    rlf_control_join_all(c);
    if (rlf_control_replicas(c, rlf_control_instance(c, instance)->node)->n > 1)
        c->open_replicas--;
    rlf_control_tell_done(c, instance, NULL);
}

void
rlf_control_tell(rlf_control *c, const rlf_rank_event *event)
{
    switch (event->kind) {
    case RLF_EVENT_OPENED:
        opened(c, event);
        break;
    case RLF_EVENT_ROWS:
        rows_sampled(c, event);
        break;
    case RLF_EVENT_DONE:
    case RLF_EVENT_ENDED:
        done(c, event);
        break;
    default:
        RLF_ASSERT(false); /* the controller has nothing to do with it */
    }
}

/* The first OPEN that is not answered; or -1: none is waited for. */
static int
first_asked(const rlf_control *c)
{
    int first = -1;
    for (size_t i = 0; i < c->tracks.count; i++) {
        const track *t = c->tracks.data[i];
        if (t && t->held &&
            (first < 0 || t->asked < c->tracks.data[first]->asked))
            first = (int)i;
    }
    return first;
}

bool
rlf_control_stands(const rlf_control *c)
{
    return !c->ended && c->next == c->commands.count && !c->actives.count &&
           !c->n_asked;
}

bool
rlf_control_waits(rlf_control *c, uint64_t *n, int *instance, int *rank)
{
    int asked = c->n_asked ? first_asked(c) : -1;
    if (asked >= 0) {
        *n = c->tracks.data[asked]->asked;
        *instance = asked;
        *rank = c->tracks.data[asked]->opener;
    }
    if (!c->actives.count)
        return asked >= 0;
    const active *a = &c->actives.data[0];
    for (size_t i = 1; i < c->actives.count; i++)
        if (c->actives.data[i].n < a->n)
            a = &c->actives.data[i];
    if (asked >= 0 && *n < a->n)
        return true;
    *n = a->n;
    *instance = a->instance;
    *rank = -1;
    int count = a->instance < 0 ? c->n_ranks : a->n_shares;
    if (a->instance >= 0 && a->instance == c->sampling)
        *rank = rlf_control_maker(c, a->instance)->leader;
    for (int i = 0; i < count && *rank < 0; i++)
        if (!a->reported[i] && (a->instance < 0 || a->shares[i].reports))
            *rank = a->instance < 0 ? i : a->shares[i].rank;
    return true;
}
