/* Which of the commands that are ready is posted next.
 *
 * A rank carries out its posts in order, so a post keeps all who meet in it
 * waiting for the one of them with the most to do before it. What a rank has to
 * do is counted in calls of models and hooks that were posted to it and are not
 * done: there is no clock. A command begins after the busiest of those who take
 * part in it, or send what it reads. Of all that is ready:
 *
 * - what keeps nobody waiting and is quickly done is posted at once;
 * - else what can begin first comes first, and quick things before calls;
 * - before a call is posted, all other calls that can begin as early get what
 *   they read: it may lie on ranks that are then at work for long;
 * - what only reports need comes when nothing else is left.
 *
 * None of this changes what is computed, and any order is free of deadlock. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

/* ---- what nodes are ---- */

bool
rlf_control_works(const rlf_node *node)
{
    switch (node->class->role) {
    case RLF_ROLE_HOOK:
    case RLF_ROLE_WORDS:
    case RLF_ROLE_UPDATE:
        return true;
    case RLF_ROLE_METHOD:
        return node->class->receiver == RLF_RECEIVER_MODEL;
    default:
        return false;
    }
}

/* Is it one that may come last, if its outputs may? Nothing waits for it
 * through a resource, and it is soon done. */
static bool
may_be_last(const rlf_node *node)
{
    bool quick = node->class->role == RLF_ROLE_REPORT ||
                 node->class->role == RLF_ROLE_EXPR;
    return quick && !node->ahead && !node->n_reads && !node->n_writes &&
           !node->n_regions;
}

static void
keep_inputs(const rlf_graph *graph, const rlf_node *node, bool *last)
{
    for (int i = 0; i < node->n_inputs && !last[node->id]; i++) {
        int made_by = graph->values.data[node->inputs[i]].node;
        if (made_by >= 0)
            last[made_by] = false;
    }
}

/* Nodes that only reports need, and these: from the last one back, for a node
 * comes behind what makes its inputs. What a region gives is needed. */
static const bool *
find_last(const rlf_graph *graph, rlf_arena *arena)
{
    size_t n = graph->nodes.count;
    bool *last = RLF_NEW_ARRAY(arena, bool, n);
    for (size_t i = 0; i < n; i++)
        last[i] = may_be_last(&graph->nodes.data[i]);
    for (size_t r = 0; r < graph->regions.count; r++)
        for (int i = 0; i < graph->regions.data[r].n_gives; i++) {
            int value = graph->regions.data[r].gives[i];
            int made_by = graph->values.data[value].node;
            if (made_by >= 0)
                last[made_by] = false;
        }
    for (size_t i = n; i-- > 0;)
        keep_inputs(graph, &graph->nodes.data[i], last);
    return last;
}

void
rlf_control_find_order(rlf_control *c)
{
    c->last = find_last(c->plan->graph, c->lasting);
    c->before = RLF_NEW_ARRAY(c->lasting, uint32_t, c->n_ranks);
}

/* ---- what there is to do before ---- */

/* Adds to (by 1) or takes from (-1) what ranks of a post have to do. */
static void
add_work(rlf_control *c, const active *a, int rank, const uint32_t *rows,
         int by)
{
    const rlf_node *node = rlf_control_instance(c, a->instance)->node;
    if (!rlf_control_works(node) || node->class->sampled)
        return; /* who samples can do something else between two turns */
    for (int i = 0; i < a->n_shares; i++)
        if (rank < 0 || a->shares[i].rows == rows)
            c->before[a->shares[i].rank] += (uint32_t)by;
}

void
rlf_control_note_posted(rlf_control *c, const active *a)
{
    if (a->instance >= 0)
        add_work(c, a, -1, NULL, 1);
}

void
rlf_control_note_done(rlf_control *c, const active *a, const rlf_share *by)
{
    add_work(c, a, by->rank, by->rows, -1);
}

static uint32_t
busiest(const rlf_control *c, const word *set)
{
    uint32_t most = 0;
    for (int r = 0; r < c->n_ranks; r++)
        if (has(set, r) && c->before[r] > most)
            most = c->before[r];
    return most;
}

static uint32_t
idlest(const rlf_control *c, const word *set)
{
    uint32_t least = UINT32_MAX;
    for (int r = 0; r < c->n_ranks; r++)
        if (has(set, r) && c->before[r] < least)
            least = c->before[r];
    return least;
}

/* ---- who takes part ---- */

/* Do the ranks of a layout have all of an instance: each of them, or if `cut`,
 * one part each? As far as counts of rows tell. */
static bool
is_there(rlf_control *c, const track *t, int instance, const rlf_layout *l,
         bool cut)
{
    bool by_row = rlf_control_instance(c, instance)->node->rows >= 0;
    uint64_t n = by_row ? t->n_rows : 1, all = 0;
    for (int i = 0; i < l->n_ranks; i++) {
        uint32_t here = t->n_have ? t->n_have[l->ranks[i]] : 0;
        if (here < n && !cut)
            return false;
        all += here;
    }
    return all >= n * (uint64_t)(l->tp * l->pp);
}

/* Those who may have to send what the instance reads. */
static void
add_senders(rlf_control *c, int instance, const rlf_layout *l, word *set)
{
    const rlf_instance *in = rlf_control_instance(c, instance);
    bool cut = rlf_control_place(c, in->node)->spread == RLF_SPREAD_ROWS;
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;) {
        const track *t = rlf_control_track(c, from);
        bool aligned = cut && rlf_control_aligned(c, in->node, from);
        if (t->everywhere || is_there(c, t, from, l, aligned))
            continue;
        for (int r = 0; r < c->n_ranks && t->n_have; r++)
            if (t->n_have[r])
                put(set, r);
    }
}

/* Calls before it that a command has to wait for, since so many are before the
 * busiest of those who meet in it. Replicas that are dealt rows do not wait for
 * each other. */
static uint32_t
waits_for(rlf_control *c, const ready *r)
{
    const rlf_node *node = rlf_control_instance(c, r->command.instance)->node;
    bool cut = rlf_control_place(c, node)->spread == RLF_SPREAD_ROWS;
    uint32_t own = cut && r->works ? idlest(c, r->own) : busiest(c, r->own);
    uint32_t others = r->prepared ? 0 : busiest(c, r->senders);
    return own > others ? own : others;
}

static ready
ready_of(rlf_control *c, const rlf_order_command *command)
{
    const rlf_node *node = rlf_control_instance(c, command->instance)->node;
    const rlf_layout *l = &rlf_control_place(c, node)->layout;
    ready r = {.command = *command,
               .works = rlf_control_works(node),
               .own = RLF_NEW_ARRAY(c->arena, word, c->n_words),
               .senders = RLF_NEW_ARRAY(c->arena, word, c->n_words)};
    for (int i = 0; i < l->n_ranks; i++)
        put(r.own, l->ranks[i]);
    add_senders(c, command->instance, l, r.senders);
    return r;
}

static bool
keeps_waiting(rlf_control *c, const ready *r)
{
    uint32_t least = idlest(c, r->own), others = idlest(c, r->senders);
    return waits_for(c, r) > (least < others ? least : others);
}

/* ---- taking turns ---- */

/* Its rows are good until the next command is asked for. */
static rlf_order_command
copy_of(rlf_control *c, const rlf_order_command *command)
{
    rlf_order_command copy = *command;
    if (copy.rows) {
        uint32_t *rows = RLF_NEW_ARRAY(c->arena, uint32_t, copy.n_rows + 1);
        copy.rows = memcpy(rows, copy.rows, copy.n_rows * sizeof *rows);
    }
    return copy;
}

void
rlf_control_take(rlf_control *c, const rlf_order_command *command)
{
    rlf_order_command copy = copy_of(c, command);
    if (c->n_ranks == 1) { /* nobody waits for anybody */
        rlf_control_run(c, &(ready){.command = copy});
        return;
    }
    ready r = ready_of(c, &copy);
    int node = rlf_control_instance(c, command->instance)->node->id;
    if (c->last[node] && (c->latest.count || keeps_waiting(c, &r)))
        RLF_PUSH(&c->latest, r);
    else if (r.works || keeps_waiting(c, &r))
        RLF_PUSH(&c->ready, r);
    else
        rlf_control_run(c, &r);
}

static size_t
choose(rlf_control *c)
{
    size_t best = 0;
    uint32_t least = UINT32_MAX;
    bool works = true;
    for (size_t i = 0; i < c->ready.count; i++) {
        const ready *r = &c->ready.data[i];
        uint32_t waits = waits_for(c, r);
        if (waits < least || (waits == least && works && !r->works)) {
            best = i;
            least = waits;
            works = r->works;
        }
    }
    return best;
}

/* All calls that can begin as early get what they read. */
static void
prepare(rlf_control *c, uint32_t waits)
{
    for (size_t i = 0; i < c->ready.count; i++) {
        ready *r = &c->ready.data[i];
        if (r->works && !r->prepared && waits_for(c, r) <= waits)
            rlf_control_prepare(c, r);
    }
}

bool
rlf_control_run_next(rlf_control *c)
{
    if (!c->ready.count)
        return false;
    size_t best = choose(c);
    if (c->ready.data[best].works)
        prepare(c, waits_for(c, &c->ready.data[best]));
    ready r = c->ready.data[best];
    c->ready.count--;
    memmove(c->ready.data + best, c->ready.data + best + 1,
            (c->ready.count - best) * sizeof r);
    rlf_control_run(c, &r);
    return true;
}

void
rlf_control_run_latest(rlf_control *c)
{
    size_t i = 0;
    while (i < c->latest.count) {
        const ready *r = &c->latest.data[i];
        if (!rlf_order_issued(c->order) && keeps_waiting(c, r))
            break;
        if (rlf_control_holds_up(c, &r->command))
            break;
        rlf_control_run(c, r);
        i++;
    }
    c->latest.count -= i;
    memmove(c->latest.data, c->latest.data + i,
            c->latest.count * sizeof *c->latest.data);
}
