/* Generations of ranks on a virtual clock: turns, and samples that go to other
 * replicas. See ranks.h. */
#include "engine/order/tail.h"
#include "engine/simulate/ranks_state.h"

/* Turns whose time is found from the first and the last of them. */
enum { MOST_TURNS = 256 };

/* Samples and bytes that go with the moves that have these rows, each between
 * two ranks with the same part. */
struct migration {
    const uint32_t *rows;
    RLF_VEC(sample) samples;
    uint32_t n;  /* samples that go */
    bool leaves; /* something to make where they were */
    bool taken;
    migration *next;
};

/* ---- who makes what ---- */

static bool
has_samples(const generation *g)
{
    return g->active.count || g->next < g->waiting.count;
}

static generation *
new_generation(rlf_ranks *r, command_progress *l, const rlf_share *of)
{
    generation *g = RLF_NEW(r->arena, generation);
    const rlf_rank_command *command = l->command;
    g->progress = l;
    g->step = r->step % (uint64_t)r->n_steps;
    g->older = r->generations[g->step];
    r->generations[g->step] = g;
    g->ranks = RLF_NEW_ARRAY(r->arena, int, command->n_shares);
    for (int i = 0; i < command->n_shares; i++)
        if (command->shares[i].rows == of->rows)
            g->ranks[g->n_ranks++] = command->shares[i].rank;
    for (uint32_t k = 0; k < of->n_rows; k++) {
        rlf_length length =
            r->options.length(r->options.self, command, of->rows[k]);
        sample s = {.row = of->rows[k], .length = length};
        RLF_PUSH(&g->waiting, s);
    }
    if (r->options.pages)
        g->room = r->options.pages(r->options.self, l->node);
    RLF_PUSH(&g->said, NULL); /* the first turn is a part of the RUN */
    return g;
}

void
rlf_ranks_free_generation(generation *g)
{
    RLF_VEC_FREE(&g->active);
    RLF_VEC_FREE(&g->waiting);
    RLF_VEC_FREE(&g->said);
}

void
rlf_ranks_open(rlf_ranks *r, int i, command_progress *l)
{
    rank_state *me = &r->list[i];
    const rlf_share *share = l->parts[i].share;
    RLF_ASSERT(!me->open);
    if (!l->opened)
        l->opened = RLF_NEW_ARRAY(r->arena, generation *, r->n);
    generation **g = &l->opened[l->group[i]];
    if (!*g)
        *g = new_generation(r, l, share);
    me->of = *g;
    me->open = true;
    me->read = 0;
}

/* ---- turns ---- */

/* Is there a seat for the next that waits, and are there pages for it? There
 * are for one alone. `pages` are those of the samples at work. */
static bool
is_let_in(generation *g, uint32_t seats, uint64_t *pages)
{
    if (g->next == g->waiting.count || (seats && g->active.count >= seats))
        return false;
    if (!g->room.tokens)
        return true;
    *pages += rlf_ranks_pages_more(g, &g->waiting.data[g->next]);
    g->paged = g->active.count && *pages > g->room.pages;
    return !g->paged;
}

/* Tokens that are fed as the sample begins, behind the last at work: its
 * prompt, unless that one has it; and what it had when it lost its pages. */
static uint32_t
fed_first(const generation *g, const sample *s, bool same)
{
    if (!s->again)
        return same ? 0 : s->length.prompt;
    size_t n = g->active.count;
    bool has = n && g->active.data[n - 1].length.group == s->length.group;
    return s->context - (has ? s->length.prompt - 1 : 0);
}

/* Samples that wait take seats, those of one prompt behind one another. */
static void
admit(rlf_ranks *r, generation *g, rlf_turn *turn)
{
    const rlf_ranks_options *o = &r->options;
    uint32_t seats = o->seats ? o->seats(o->self, g->progress->node) : 0;
    double prompts = 0;
    bool same = false;
    uint32_t group = 0;
    g->fresh = 0;
    g->paged = false;
    rlf_ranks_preempt(g);
    uint64_t pages = g->room.tokens ? rlf_ranks_pages(g, 0) : 0;
    while (is_let_in(g, seats, &pages)) {
        sample s = g->waiting.data[g->next++];
        if (!s.made || s.again) {
            uint32_t fed = fed_first(g, &s, same && s.length.group == group);
            turn->prompts += fed > 0;
            prompts += fed;
            same = true;
            group = s.length.group;
            g->fresh++;
        }
        if (!s.context)
            s.context = s.length.prompt;
        RLF_PUSH(&g->active, s);
    }
    turn->prompt = turn->prompts ? prompts / turn->prompts : 0;
    g->fed = (uint32_t)prompts;
}

static double
seconds_of(const generation *g, uint32_t turns)
{
    double n = turns;
    return n * g->first + g->slope * n * (n - 1) / 2;
}

/* The turns that end at that time or later, no more than there are. */
static uint32_t
turns_until(const rlf_ranks *r, const generation *g, double at)
{
    at = rlf_ranks_served(r, at);
    uint32_t least = 1, most = g->turns;
    while (least < most) {
        uint32_t middle = least + (most - least) / 2;
        if (g->start + seconds_of(g, middle) >= at)
            most = middle;
        else
            least = middle + 1;
    }
    return least;
}

static void
await_turns(rlf_ranks *r, generation *g)
{
    g->version = r->number;
    rlf_ranks_schedule_end(r, (event){.at = g->start + seconds_of(g, g->turns),
                                      .kind = END_TURNS,
                                      .rank = g->ranks[0],
                                      .version = g->version});
}

/* All members are there. */
static void
begin_turns(rlf_ranks *r, generation *g)
{
    const rlf_ranks_options *o = &r->options;
    rlf_turn turn = {
        .node = g->progress->node, .ranks = g->ranks, .n_ranks = g->n_ranks};
    const rank_state *leader = &r->list[g->ranks[0]];
    uint32_t turns = MOST_TURNS;
    double context = 0;
    admit(r, g, &turn);
    turn.rows = (uint32_t)g->active.count - g->fresh;
    for (size_t i = 0; i < g->active.count; i++) {
        sample *s = &g->active.data[i];
        uint32_t left = s->length.response - s->made;
        turns = left < turns ? left : turns;
        context += s->made && !s->again ? s->context : 0;
        s->again = false;
    }
    turn.context = turn.rows ? context / turn.rows : 0;
    g->fed += turn.rows;
    g->keys = context + turn.rows +
              turn.prompts * turn.prompt * (turn.prompt + 1) / 2;
    g->prompts = turn.prompts;
    g->turns = g->fresh ? 1 : rlf_ranks_paged_turns(g, turns);
    g->in_turns = true;
    g->come = 0;
    rlf_ranks_demand(r, g->n_ranks);
    g->began = r->now;
    g->start = rlf_ranks_served(r, r->now);
    g->first = o->turn(o->self, &turn);
    g->slope = 0;
    if (g->turns > 1) {
        double more = g->turns - 1;
        turn.context += more;
        g->slope = (o->turn(o->self, &turn) - g->first) / more;
    }
    if (leader->next < leader->mail.count)
        g->turns = turns_until(r, g, leader->mail.data[leader->next].at);
    await_turns(r, g);
}

void
rlf_ranks_shorten(rlf_ranks *r, int i, double at)
{
    generation *g = r->list[i].of;
    if (!g || !g->in_turns || g->ranks[0] != i)
        return;
    uint32_t turns = turns_until(r, g, at);
    if (turns == g->turns)
        return;
    g->turns = turns;
    await_turns(r, g);
}

static void
await_members(rlf_ranks *r, int i)
{
    generation *g = r->list[i].of;
    r->list[i].at_turn = true;
    if (++g->come == g->n_ranks)
        begin_turns(r, g);
}

void
rlf_ranks_between(rlf_ranks *r, int i)
{
    rank_state *me = &r->list[i];
    generation *g = me->of;
    if (r->options.each_looks && g->n_ranks > 1 && me->read) {
        if (rlf_ranks_next_mail(r, i))
            rlf_ranks_take(r, i);
        else
            await_members(r, i);
        return;
    }
    if (g->ranks[0] == i && me->read == g->said.count) {
        RLF_PUSH(&g->said, rlf_ranks_next_mail(r, i));
        for (int k = 1; k < g->n_ranks; k++)
            rlf_ranks_schedule(
                r, (event){.at = r->now, .kind = LOOK, .rank = g->ranks[k]});
    }
    if (me->read == g->said.count)
        return;
    command_progress *say = g->said.data[me->read];
    if (say) {
        if (rlf_ranks_next_mail(r, i) != say)
            return; /* on its way */
        me->read++;
        rlf_ranks_take(r, i);
        return;
    }
    me->read++;
    await_members(r, i);
}

/* ---- what turns make ---- */

static void
see_turns(const rlf_ranks *r, const generation *g)
{
    for (int k = 0; k < g->n_ranks; k++)
        rlf_ranks_see(
            r, (rlf_seen){.kind = RLF_SEEN_TURNS,
                          .rank = g->ranks[k],
                          .command = g->progress->command,
                          .from = g->began,
                          .to = r->now,
                          .work = rlf_ranks_served(r, r->now) - g->start,
                          .turns = g->turns,
                          .row = (uint32_t)g->active.count,
                          .waiting = (uint32_t)(g->waiting.count - g->next),
                          .paged = g->paged});
}

/* Every sample at work has so many tokens more; those that are complete leave,
 * into a report. */
static rlf_rank_event
take_tokens(rlf_ranks *r, generation *g)
{
    uint32_t n = (uint32_t)g->active.count, left = 0, made = 0;
    uint32_t *rows = RLF_NEW_ARRAY(r->arena, uint32_t, n);
    uint32_t *lengths = RLF_NEW_ARRAY(r->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        sample s = g->active.data[i];
        s.made += g->turns;
        s.context += g->turns;
        if (s.made < s.length.response) {
            g->active.data[left++] = s;
            continue;
        }
        rows[made] = s.row;
        lengths[made++] = s.made;
        for (int k = 0; k < g->n_ranks; k++)
            rlf_ranks_see(r, (rlf_seen){.kind = RLF_SEEN_MADE,
                                        .rank = g->ranks[k],
                                        .command = g->progress->command,
                                        .from = r->now,
                                        .row = s.row});
    }
    g->active.count = left;
    return (rlf_rank_event){.kind = RLF_EVENT_ROWS,
                            .n = g->progress->command->n,
                            .rows = rows,
                            .n_rows = made,
                            .lengths = r->options.lengths ? lengths : NULL};
}

/* As a run says it: as if all were of the longest. */
static uint32_t
seats_of(const rlf_ranks *r, const generation *g)
{
    const rlf_ranks_options *o = &r->options;
    uint32_t seats = o->seats ? o->seats(o->self, g->progress->node) : 0;
    uint64_t fit = g->room.tokens ? g->room.pages / g->room.longest : seats;
    return seats && fit < seats ? (uint32_t)fit : seats;
}

static void
report_rows(rlf_ranks *r, generation *g, rlf_rank_event said)
{
    said.turns = g->seen;
    said.decodes = g->decodes;
    said.seats = seats_of(r, g);
    g->seen = g->decodes = (rlf_turns){0};
    for (int k = 0; k < g->n_ranks; k++)
        if (g->progress->parts[g->ranks[k]].share->reports)
            said.rank = g->ranks[k];
    rlf_ranks_report(r, said);
}

/* Notes what a rank reports of these turns: in each every sample has one key
 * more than in the one before. */
static void
note_turns(const rlf_ranks *r, generation *g)
{
    double all = seconds_of(g, g->turns), t = r->now - g->began;
    for (uint32_t i = 0; i < g->turns; i++) {
        double part =
            all > 0 ? (g->first + i * g->slope) / all : 1.0 / g->turns;
        rlf_tail_turn_add(g->prompts ? &g->seen : &g->decodes, g->fed,
                          g->keys + (double)i * g->fed, t * part);
    }
}

void
rlf_ranks_end_turns(rlf_ranks *r, generation *g)
{
    g->in_turns = false;
    rlf_ranks_demand(r, -g->n_ranks);
    note_turns(r, g);
    see_turns(r, g);
    rlf_rank_event said = take_tokens(r, g);
    if (said.n_rows)
        report_rows(r, g, said);
    for (int k = 0; k < g->n_ranks; k++) {
        rank_state *member = &r->list[g->ranks[k]];
        member->at_turn = false;
        member->open = has_samples(g);
        rlf_ranks_schedule(
            r, (event){.at = r->now, .kind = LOOK, .rank = g->ranks[k]});
    }
}

/* ---- to other replicas ---- */

static bool
is_among(const rlf_move *m, uint32_t row)
{
    uint32_t least = 0, most = m->n_rows;
    while (least < most) {
        uint32_t middle = least + (most - least) / 2;
        if (m->rows[middle] < row)
            least = middle + 1;
        else
            most = middle;
    }
    return least < m->n_rows && m->rows[least] == row;
}

/* Take the samples of these rows out of a list, from its entry `first` on. */
static size_t
pack(migration *p, sample *list, size_t first, size_t n, const rlf_move *m)
{
    size_t left = first;
    for (size_t i = first; i < n; i++) {
        if (is_among(m, list[i].row))
            RLF_PUSH(&p->samples, list[i]);
        else
            list[left++] = list[i];
    }
    return left;
}

static migration *
pack_move(rlf_ranks *r, command_progress *l, const rlf_move *m)
{
    generation *g = r->list[m->from].of;
    migration *p = RLF_NEW(r->arena, migration);
    *p = (migration){.rows = m->rows, .next = l->migrations};
    l->migrations = p;
    if (!g || g->progress->command->instance != l->command->instance)
        return p; /* all that it had is complete */
    g->active.count = pack(p, g->active.data, 0, g->active.count, m);
    g->waiting.count = pack(p, g->waiting.data, g->next, g->waiting.count, m);
    p->n = (uint32_t)p->samples.count;
    for (uint32_t i = 0; i < p->n; i++)
        rlf_ranks_see(r, (rlf_seen){.kind = RLF_SEEN_GIVEN,
                                    .rank = m->from,
                                    .command = l->command,
                                    .from = r->now,
                                    .row = p->samples.data[i].row});
    return p;
}

static migration *
find_migration(const command_progress *l, const rlf_move *m)
{
    migration *p = l->migrations;
    while (p && p->rows != m->rows)
        p = p->next;
    return p;
}

/* The rank that begins first packs all that leaves that replica, for all its
 * ranks and of those that it goes to. */
static migration *
migration_of(rlf_ranks *r, command_progress *l, const rlf_move *m)
{
    if (!find_migration(l, m)) {
        const generation *g = r->list[m->from].of;
        const rlf_rank_part *from = &l->parts[m->from];
        for (int k = 0; k < from->n_moves; k++)
            if (from->moves[k].from == m->from)
                pack_move(r, l, &from->moves[k]);
        for (int k = 0; k < from->n_moves; k++)
            if (from->moves[k].from == m->from)
                find_migration(l, &from->moves[k])->leaves =
                    g && has_samples(g);
    }
    return find_migration(l, m);
}

void
rlf_ranks_give(rlf_ranks *r, command_progress *l, rlf_rank_task *task)
{
    for (int k = 0; k < task->part->n_moves; k++) {
        const migration *p = migration_of(r, l, &task->part->moves[k]);
        task->samples += (uint32_t)p->samples.count;
        for (size_t i = 0; i < p->samples.count; i++)
            task->tokens += p->samples.data[i].context;
    }
}

static void
unpack(rlf_ranks *r, int i, const command_progress *l, migration *p)
{
    generation *g = r->list[i].of;
    RLF_ASSERT(!p->n || g->progress->command->instance == l->command->instance);
    for (uint32_t k = 0; k < p->n && !p->taken; k++) {
        rlf_ranks_see(r, (rlf_seen){.kind = RLF_SEEN_TAKEN,
                                    .rank = i,
                                    .command = l->command,
                                    .from = r->now,
                                    .row = p->samples.data[k].row});
        RLF_PUSH(&g->waiting, p->samples.data[k]);
    }
    p->taken = true;
    RLF_VEC_FREE(&p->samples);
}

void
rlf_ranks_take_over(rlf_ranks *r, int i, command_progress *l)
{
    const rlf_rank_part *part = &l->parts[i];
    rank_state *me = &r->list[i];
    for (int k = 0; k < part->n_moves; k++) {
        const rlf_move *m = &part->moves[k];
        migration *p = migration_of(r, l, m);
        if (m->from == i) {
            me->open = me->open && p->leaves;
        } else {
            unpack(r, i, l, p);
            me->open |= p->n > 0;
        }
    }
}
