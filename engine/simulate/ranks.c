/* Ranks on a virtual clock, their commands and events: see ranks.h. */
#include "engine/simulate/ranks_state.h"

#include "engine/base/heap.h"

/* ---- life ---- */

rlf_ranks *
rlf_ranks_new(rlf_control *control, const rlf_ranks_options *options)
{
    rlf_ranks *r = rlf_calloc(1, sizeof *r);
    r->control = control;
    r->options = *options;
    r->plan = rlf_control_plan(control);
    r->n = r->plan->ranks;
    r->list = rlf_calloc((size_t)r->n, sizeof *r->list);
    r->n_steps = (int)r->plan->graph->ahead + 1;
    size_t n_steps = (size_t)r->n_steps;
    r->arenas = rlf_calloc(n_steps, sizeof *r->arenas);
    r->generations = rlf_calloc(n_steps, sizeof *r->generations);
    for (size_t i = 0; i < n_steps; i++)
        r->arenas[i] = rlf_arena_new();
    r->arena = r->arenas[0];
    return r;
}

/* The commands of the step of a step are over. */
static void
clear_step(rlf_ranks *r, size_t index)
{
    for (generation *g = r->generations[index]; g; g = g->older)
        rlf_ranks_free_generation(g);
    r->generations[index] = NULL;
    rlf_arena_reset(r->arenas[index]);
}

void
rlf_ranks_free(rlf_ranks *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n_steps; i++) {
        clear_step(r, (size_t)i);
        rlf_arena_free(r->arenas[i]);
    }
    for (int i = 0; i < r->n; i++) {
        RLF_VEC_FREE(&r->list[i].mail);
        RLF_VEC_FREE(&r->list[i].joint);
    }
    RLF_VEC_FREE(&r->events);
    RLF_VEC_FREE(&r->ends);
    free(r->arenas);
    free(r->generations);
    free(r->list);
    free(r);
}

double
rlf_ranks_now(const rlf_ranks *r)
{
    return r->free;
}

void
rlf_ranks_print(const rlf_ranks *r, rlf_buf *out)
{
    for (int i = 0; i < r->n; i++) {
        const rank_state *me = &r->list[i];
        const command_progress *at = me->now;
        size_t more = me->mail.count - me->next;
        if (!at && !more)
            continue;
        at = at ? at : me->mail.data[me->next].progress;
        rlf_buf_printf(out, "%srank %d %s", out->n ? "\n" : "", i,
                       !me->now         ? "has not begun"
                       : me->began >= 0 ? "is at work on"
                                        : "waits for others in");
        rlf_rank_command_print(at->command, out);
        if (more)
            rlf_buf_printf(out, ", of %zu more", more);
    }
}

/* ---- events ---- */

static bool
earlier(const event *a, const event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->kind == HEAR && a->n != b->n)
        return a->n < b->n;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->number < b->number;
}

RLF_HEAP(event, earlier)

/* Take away the first of n. */
static void
drop_first(event *list, size_t n)
{
    heap_sink(list, n - 1, list[n - 1]);
}

void
rlf_ranks_schedule(rlf_ranks *r, event e)
{
    e.number = r->number++;
    RLF_PUSH(&r->events, e);
    heap_rise(r->events.data, r->events.count - 1, e);
}

/* ---- cores ---- */

/* The part of a second that a rank at work gets. */
static double
rate(const rlf_ranks *r)
{
    double cores = r->options.cores;
    return cores > 0 && r->demand > cores ? cores / r->demand : 1;
}

double
rlf_ranks_served(const rlf_ranks *r, double at)
{
    return r->options.cores ? r->served + (at - r->now) * rate(r) : at;
}

void
rlf_ranks_schedule_end(rlf_ranks *r, event e)
{
    if (!r->options.cores) {
        rlf_ranks_schedule(r, e);
        return;
    }
    e.number = r->number++;
    RLF_PUSH(&r->ends, e);
    heap_rise(r->ends.data, r->ends.count - 1, e);
}

void
rlf_ranks_demand(rlf_ranks *r, double more)
{
    r->demand += more;
    if (r->demand < 1e-9)
        r->demand = 0;
}

/* The next of both heaps: what ends comes before what else is at that time. */
static bool
next_event(rlf_ranks *r, event *out)
{
    bool end = r->ends.count > 0;
    double at = 0;
    if (end) {
        double left = r->ends.data[0].at - r->served;
        at = r->now + (left > 0 ? left : 0) / rate(r);
        end = !r->events.count || at <= r->events.data[0].at;
    }
    if (!end && !r->events.count)
        return false;
    if (end) {
        *out = r->ends.data[0];
        drop_first(r->ends.data, r->ends.count--);
        r->served = out->at > r->served ? out->at : r->served;
        out->at = at;
        return true;
    }
    *out = r->events.data[0];
    drop_first(r->events.data, r->events.count--);
    r->served += (out->at - r->now) * rate(r);
    return true;
}

static void
look(rlf_ranks *r, int rank, double at)
{
    rlf_ranks_schedule(r, (event){.at = at, .kind = LOOK, .rank = rank});
}

void
rlf_ranks_report(rlf_ranks *r, rlf_rank_event said)
{
    const rlf_ranks_options *o = &r->options;
    double news = o->news ? o->news(o->self, said.rank) : 0;
    rlf_ranks_schedule(r, (event){.at = r->now + news,
                                  .kind = HEAR,
                                  .rank = said.rank,
                                  .n = said.n,
                                  .said = said});
}

void
rlf_ranks_see(const rlf_ranks *r, rlf_seen seen)
{
    if (r->options.see)
        r->options.see(r->options.self, &seen);
}

/* ---- who meets ---- */

static bool
same_work(const rlf_share *a, const rlf_share *b)
{
    return a->rows == b->rows;
}

/* The shares of a RUN that are carried out together: of rows each replica's,
 * of an update all. */
static void
group_shares(const rlf_ranks *r, command_progress *l)
{
    const rlf_rank_command *command = l->command;
    bool joint = r->plan->place[l->node->id].partition == RLF_PARTITION_JOINT &&
                 !command->joint;
    int n = 0, last = -1; /* a replica's shares follow one another */
    for (int i = 0; i < command->n_shares; i++) {
        const rlf_share *s = &command->shares[i];
        if (!s->rows && !joint)
            continue;
        if (last < 0 || !same_work(&command->shares[last], s))
            n++;
        last = i;
        l->group[s->rank] = n - 1;
        l->missing[n - 1]++;
    }
}

/* Does the rank wait for the other end of a move? A sender of an EDGE does not.
 */
static bool
waits_for(const command_progress *l, int rank, const rlf_move *m)
{
    return l->command->kind != RLF_DO_EDGE || m->to == rank;
}

static void
group_ranks(const rlf_ranks *r, command_progress *l)
{
    for (int i = 0; i < r->n; i++)
        l->group[i] = -1;
    if (l->command->kind == RLF_DO_RUN)
        group_shares(r, l);
    for (int i = 0; i < r->n; i++) {
        if (l->command->kind == RLF_DO_WEIGHTS && l->parts[i].works) {
            l->group[i] = 0;
            l->missing[0]++;
        }
        for (int k = 0; k < l->parts[i].n_moves; k++)
            l->missing[i] += waits_for(l, i, &l->parts[i].moves[k]);
    }
}

static command_progress *
new_progress(rlf_ranks *r, const rlf_rank_command *command)
{
    command_progress *l = RLF_NEW(r->arena, command_progress);
    l->command = command;
    if (command->instance >= 0)
        l->node =
            rlf_order_instance(rlf_control_order(r->control), command->instance)
                ->node;
    l->parts = RLF_NEW_ARRAY(r->arena, rlf_rank_part, r->n);
    l->came = RLF_NEW_ARRAY(r->arena, bool, r->n);
    l->group = RLF_NEW_ARRAY(r->arena, int, r->n);
    l->missing = RLF_NEW_ARRAY(r->arena, int, r->n);
    return l;
}

/* ---- the controller ---- */

/* Of all that is told to everyone, the first commands of instances: without
 * them a rank has no room for what it is sent later. */
static bool
is_for(const command_progress *l, int i)
{
    rlf_do kind = l->command->kind;
    return l->parts[i].works || (kind != RLF_DO_EDGE &&
                                 kind != RLF_DO_WEIGHTS && kind != RLF_DO_MOVE);
}

static void
deliver(rlf_ranks *r, const rlf_rank_command *command)
{
    const rlf_ranks_options *o = &r->options;
    command_progress *l = new_progress(r, command);
    bool *told = RLF_NEW_ARRAY(r->arena, bool, r->n);
    rlf_rank_parts_of(r->control, command, r->arena, l->parts, told);
    group_ranks(r, l);
    if (o->posted)
        o->posted(o->self, command, l->parts);
    for (int i = 0; i < r->n; i++) {
        rank_state *to = &r->list[i];
        if (!told[i] || (o->each_looks && !is_for(l, i)))
            continue;
        double at = r->free + (o->mail ? o->mail(o->self, i) : 0);
        if (at < to->heard)
            at = to->heard;
        mail m = {.progress = l, .at = to->heard = at};
        RLF_PUSH(&to->mail, m);
        rlf_ranks_shorten(r, i, at);
        look(r, i, at);
    }
}

/* Post until nothing is left to say. */
static void
post_all(rlf_ranks *r)
{
    const rlf_rank_command *command;
    while ((command = rlf_control_next(r->control))) {
        r->free += r->options.post;
        deliver(r, command);
    }
}

/* All reports that are there are heard before more is posted. */
static void
hear(rlf_ranks *r, const event *e)
{
    event more = *e;
    r->free = e->at > r->free ? e->at : r->free;
    do {
        rlf_control_tell(r->control, &more.said);
        if (rlf_control_ended(r->control))
            return;
    } while (r->events.count && r->events.data[0].kind == HEAR &&
             r->events.data[0].at == e->at && next_event(r, &more));
    post_all(r);
}

/* ---- a rank ---- */

command_progress *
rlf_ranks_next_mail(const rlf_ranks *r, int i)
{
    const rank_state *me = &r->list[i];
    if (me->next == me->mail.count || me->mail.data[me->next].at > r->now)
        return NULL;
    return me->mail.data[me->next].progress;
}

/* All who are waited for have come. */
static void
begin_work(rlf_ranks *r, int i)
{
    rank_state *me = &r->list[i];
    command_progress *l = me->now;
    double seconds = 0;
    rlf_rank_task task = {
        .rank = i, .command = l->command, .part = &l->parts[i]};
    bool samples = l->node && l->node->class->work == RLF_WORK_GENERATE &&
                   task.part->share && task.part->share->rows;
    if (l->command->kind == RLF_DO_MOVE)
        rlf_ranks_give(r, l, &task);
    if (!l->command->joint && task.part->share && me->joint.count) {
        const rlf_rank_command **joint =
            RLF_NEW_ARRAY(r->arena, const rlf_rank_command *, me->joint.count);
        for (size_t k = 0; k < me->joint.count; k++)
            joint[task.n_joint++] = me->joint.data[k]->command;
        task.joint = joint;
    }
    if (task.part->works && !samples && !l->command->joint)
        seconds = r->options.work(r->options.self, &task);
    me->began = r->now;
    me->part = seconds > 0 && r->options.part
                   ? r->options.part(r->options.self, i)
                   : seconds > 0;
    me->work = seconds * me->part;
    rlf_ranks_demand(r, me->part);
    rlf_ranks_schedule_end(r, (event){.at = rlf_ranks_served(r, r->now) +
                                            seconds,
                                      .kind = END_WORK,
                                      .rank = i});
}

/* The rank has come to an EDGE or MOVE: so many of its moves have their other
 * end there, and those who waited for it alone begin. */
static void
meet_ends(rlf_ranks *r, int i, command_progress *l)
{
    const rlf_rank_part *part = &l->parts[i];
    for (int k = 0; k < part->n_moves; k++) {
        const rlf_move *m = &part->moves[k];
        int other = m->from == i ? m->to : m->from;
        if (waits_for(l, other, m) && !--l->missing[other] && l->came[other])
            begin_work(r, other);
    }
    if (!l->missing[i])
        begin_work(r, i);
}

static void
come(rlf_ranks *r, int i)
{
    command_progress *l = r->list[i].now;
    int group = l->group[i];
    l->came[i] = true;
    rlf_ranks_see(r, (rlf_seen){.kind = RLF_SEEN_COME,
                                .rank = i,
                                .command = l->command,
                                .from = r->now});
    bool sampled = l->command->kind == RLF_DO_RUN &&
                   l->node->class->work == RLF_WORK_GENERATE;
    if (l->command->kind == RLF_DO_EDGE || l->command->kind == RLF_DO_MOVE) {
        meet_ends(r, i, l);
    } else if (group < 0 || sampled) {
        begin_work(r, i);
    } else if (!--l->missing[group]) {
        for (int k = 0; k < r->n; k++)
            if (l->group[k] == group)
                begin_work(r, k);
    }
}

void
rlf_ranks_take(rlf_ranks *r, int i)
{
    rank_state *me = &r->list[i];
    me->now = me->mail.data[me->next++].progress;
    me->began = -1;
    come(r, i);
}

static void
answer(rlf_ranks *r, int i, const rlf_rank_command *command, double seconds)
{
    rlf_rank_event said = r->options.answer(r->options.self, command, i);
    said.rank = i;
    said.n = command->n;
    said.seconds = seconds;
    rlf_ranks_report(r, said);
}

/* Ends what a rank has computed: its own, and what was to be carried out with
 * it. */
static void
finish_run(rlf_ranks *r, int i, command_progress *l)
{
    rank_state *me = &r->list[i];
    const rlf_share *share = l->parts[i].share;
    if (!share)
        return;
    if (l->command->joint) {
        RLF_PUSH(&me->joint, l);
        return;
    }
    if (l->node->class->work == RLF_WORK_GENERATE && share->rows) {
        rlf_ranks_open(r, i, l);
        return;
    }
    for (size_t k = 0; k < me->joint.count; k++) {
        const command_progress *first = me->joint.data[k];
        if (first->parts[i].share->reports)
            answer(r, i, first->command, 0);
    }
    me->joint.count = 0;
    if (share->reports)
        answer(r, i, l->command, share->rows ? r->now - me->began : 0);
}

static void
finish_work(rlf_ranks *r, int i)
{
    rank_state *me = &r->list[i];
    command_progress *l = me->now;
    rlf_do kind = l->command->kind;
    rlf_ranks_demand(r, -me->part);
    me->now = NULL;
    if (kind == RLF_DO_MOVE)
        rlf_ranks_take_over(r, i, l);
    rlf_ranks_see(r, (rlf_seen){.kind = RLF_SEEN_DONE,
                                .rank = i,
                                .command = l->command,
                                .from = me->began,
                                .to = r->now,
                                .work = me->work});
    if (kind == RLF_DO_RUN)
        finish_run(r, i, l);
    else if (kind == RLF_DO_END ||
             (kind == RLF_DO_OPEN && i == l->command->opener))
        answer(r, i, l->command, 0);
    look(r, i, r->now);
}

/* A rank that is free looks what is next. One that is alone carries out its own
 * commands, so it waits for the controller. */
static void
look_around(rlf_ranks *r, int i)
{
    const rank_state *me = &r->list[i];
    if (me->now || me->at_turn)
        return;
    if (r->n == 1 && r->free > r->now)
        look(r, i, r->free);
    else if (me->open)
        rlf_ranks_between(r, i);
    else if (rlf_ranks_next_mail(r, i))
        rlf_ranks_take(r, i);
}

/* Unless they ended before, for what had come meanwhile. */
static void
end_turns(rlf_ranks *r, const event *e)
{
    generation *g = r->list[e->rank].of;
    if (g && g->in_turns && g->version == e->version)
        rlf_ranks_end_turns(r, g);
}

/* ---- steps ---- */

int
rlf_ranks_begin(rlf_ranks *r)
{
    int fresh = rlf_control_begin(r->control);
    size_t index = ++r->step % (uint64_t)r->n_steps;
    for (int i = 0; i < r->n; i++) {
        rank_state *me = &r->list[i];
        RLF_ASSERT(me->next == me->mail.count && !me->now);
        me->mail.count = me->next = 0;
        if (me->of && me->of->step == index)
            me->of = NULL;
    }
    clear_step(r, index);
    r->arena = r->arenas[index];
    return fresh;
}

bool
rlf_ranks_run(rlf_ranks *r)
{
    event e;
    post_all(r);
    while (!rlf_control_ended(r->control)) {
        if (!next_event(r, &e))
            return false;
        r->now = e.at;
        switch (e.kind) {
        case END_WORK:
            finish_work(r, e.rank);
            break;
        case END_TURNS:
            end_turns(r, &e);
            break;
        case HEAR:
            hear(r, &e);
            break;
        case LOOK:
            look_around(r, e.rank);
            break;
        }
    }
    return true;
}
