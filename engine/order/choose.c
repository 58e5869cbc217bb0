/* Which of the commands that are ready is posted next.
 *
 * A rank carries out its posts in order, so a post keeps all who meet in it
 * waiting for the last of them. When ranks are free is counted in calls, for
 * there is no clock: a call of a model on all its rows takes one, everything
 * else nothing; who meets in a post goes on from the same moment; a report says
 * that the moment at which its post ends has come. Of all that is ready:
 *
 * - what keeps nobody waiting and is quickly done is posted at once;
 * - else what can begin first comes first; what is quick has a start of half a
 *   call, since it would have to wait for the whole of it;
 * - before a call is posted, all others that can begin before half of it is
 *   over get what they read: those who have it may take part in the call;
 * - what is made of samples while others of them are still made goes to ranks
 *   that neither sample nor are at work, or waits for such;
 * - what only reports need comes when nothing else is left.
 *
 * None of this changes what is computed, and any order is free of deadlock. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

#include <math.h>

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
    c->until = RLF_NEW_ARRAY(c->lasting, double, c->n_ranks);
}

/* ---- when ranks are free ---- */

/* Who samples can do something else between two turns; hooks are as quick as
 * one likes. */
static bool
takes_time(const rlf_node *node)
{
    return rlf_control_works(node) && !node->class->sampled &&
           node->class->role != RLF_ROLE_HOOK;
}

/* Of a call on all rows, so many of an instance's. */
static double
part_of(rlf_control *c, int instance, uint32_t rows)
{
    const track *t = rlf_control_track(c, instance);
    return t->n_rows > rows ? (double)rows / t->n_rows : 1;
}

static double
free_at(const rlf_control *c, int rank)
{
    return c->until[rank] > c->now ? c->until[rank] : c->now;
}

static void
be_free(rlf_control *c, int rank, double at)
{
    c->until[rank] = at > c->until[rank] ? at : c->until[rank];
}

/* Those who compute the same go on together. */
static void
meet_shares(rlf_control *c, const active *a, double takes)
{
    for (int first = 0, end; first < a->n_shares; first = end) {
        double at = 0;
        for (end = first;
             end < a->n_shares && a->shares[end].rows == a->shares[first].rows;
             end++)
            at = fmax(at, free_at(c, a->shares[end].rank));
        for (int i = first; i < end; i++)
            be_free(c, a->shares[i].rank,
                    at + takes * (a->shares[i].rows ? a->shares[i].n_rows : 1));
    }
}

void
rlf_control_note_posted(rlf_control *c, active *a)
{
    if (a->instance < 0)
        return;
    const rlf_node *node = rlf_control_instance(c, a->instance)->node;
    int dp = rlf_control_place(c, node)->layout.dp;
    bool rows = a->n_shares && a->shares[0].rows;
    if (takes_time(node))
        meet_shares(c, a, rows ? dp * part_of(c, a->instance, 1) : 1);
    a->until = RLF_NEW_ARRAY(c->arena, double, a->n_shares);
    for (int i = 0; i < a->n_shares; i++)
        a->until[i] = c->until[a->shares[i].rank];
}

void
rlf_control_note_done(rlf_control *c, const active *a, const rlf_share *by)
{
    c->now = fmax(c->now, a->until[by - a->shares]);
}

/* All moves of a post begin at once. */
void
rlf_control_note_moves(rlf_control *c, const rlf_post *post)
{
    double *at = RLF_NEW_ARRAY(c->arena, double, post->n_moves);
    for (int i = 0; i < post->n_moves; i++)
        at[i] = fmax(free_at(c, post->moves[i].from),
                     free_at(c, post->moves[i].to));
    for (int i = 0; i < post->n_moves; i++) {
        be_free(c, post->moves[i].from, at[i]);
        be_free(c, post->moves[i].to, at[i]);
    }
}

void
rlf_control_note_weights(rlf_control *c, const rlf_post *post)
{
    const rlf_hold *holds = c->plan->holds[post->model].list;
    const rlf_layout *sides[] = {&holds[post->from].mesh.layout,
                                 &holds[post->hold].mesh.layout};
    double at = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sides[k]->n_ranks; i++)
            at = fmax(at, free_at(c, sides[k]->ranks[i]));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sides[k]->n_ranks; i++)
            be_free(c, sides[k]->ranks[i], at);
}

/* When all ranks of a set are free, and when the first is; of an empty one at
 * once, and never. */
static double
last_free(const rlf_control *c, const word *set)
{
    double at = 0;
    for (int r = 0; r < c->n_ranks; r++)
        if (has(set, r))
            at = fmax(at, free_at(c, r));
    return at;
}

static double
first_free(const rlf_control *c, const word *set)
{
    double at = INFINITY;
    for (int r = 0; r < c->n_ranks; r++)
        if (has(set, r))
            at = fmin(at, free_at(c, r));
    return at;
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

/* When a command can begin: replicas that are dealt rows do not wait for each
 * other. */
static double
begins(rlf_control *c, const ready *r)
{
    const rlf_node *node = rlf_control_instance(c, r->command.instance)->node;
    bool cut = rlf_control_place(c, node)->spread == RLF_SPREAD_ROWS;
    double own = cut && r->works ? first_free(c, r->own) : last_free(c, r->own);
    return r->prepared ? own : fmax(own, last_free(c, r->senders));
}

static double
takes(rlf_control *c, const ready *r)
{
    if (!r->works)
        return 0;
    return r->command.rows ? part_of(c, r->command.instance, r->command.n_rows)
                           : 1;
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
    double first = fmin(first_free(c, r->own), first_free(c, r->senders));
    return begins(c, r) > first;
}

/* None of the ranks is in the set. */
static bool
are_apart(const replica *r, const word *set)
{
    for (int i = 0; i < r->n; i++)
        if (has(set, r->ranks[i]))
            return false;
    return true;
}

/* Does it read what the generation at work makes, or what is made of that? */
static bool
stems_from_sampling(rlf_control *c, int instance)
{
    track *t = rlf_control_track(c, instance);
    if (instance == c->sampling)
        return true;
    if (t->looked == c->sampling + 1)
        return t->stems;
    const rlf_instance *in = rlf_control_instance(c, instance);
    bool stems = false;
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;)
        stems = stems || stems_from_sampling(c, from);
    t->looked = c->sampling + 1;
    t->stems = stems;
    return stems;
}

bool
rlf_control_reads_sampling(rlf_control *c, int instance)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    rlf_spread spread = rlf_control_place(c, node)->spread;
    return c->sampling >= 0 && !node->class->sampled &&
           (spread == RLF_SPREAD_ROWS || spread == RLF_SPREAD_NEAR) &&
           stems_from_sampling(c, instance);
}

const word *
rlf_control_at_work(rlf_control *c)
{
    word *set = RLF_NEW_ARRAY(c->arena, word, c->n_words);
    for (size_t i = 0; i < c->actives.count; i++) {
        const active *a = &c->actives.data[i];
        if (a->instance < 0 || a->instance == c->sampling ||
            !rlf_control_works(rlf_control_instance(c, a->instance)->node))
            continue;
        for (int first = 0, end; first < a->n_shares; first = end) {
            bool awaited = false;
            for (end = first; end < a->n_shares &&
                              a->shares[end].rows == a->shares[first].rows;
                 end++)
                awaited |= a->shares[end].reports && !a->reported[end];
            for (int k = first; awaited && k < end; k++)
                put(set, a->shares[k].rank);
        }
    }
    return set;
}

/* ---- taking turns ---- */

/* What stems from the generation at work is dealt to replicas of which no rank
 * samples, if there are such: how many, and how many of them are not at work.
 */
static void
count_open(rlf_control *c, int instance, int *open, int *idle)
{
    *open = *idle = 0;
    if (!rlf_control_reads_sampling(c, instance))
        return;
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const replica *of = rlf_control_replicas(c, node);
    const word *samplers = rlf_control_samplers(c);
    const word *busy = rlf_control_at_work(c);
    for (int d = 0; d < rlf_control_place(c, node)->layout.dp; d++)
        if (are_apart(&of[d], samplers)) {
            ++*open;
            *idle += are_apart(&of[d], busy);
        }
}

/* Those who sample would stand still, with the rows in their hands, until who
 * is to have them is not at work. */
static bool
is_held(rlf_control *c, const ready *r)
{
    int open = 0, idle = 0;
    if (!r->prepared)
        count_open(c, r->command.instance, &open, &idle);
    return open && !idle;
}

/* Of the rows so many as are their part if the others of its replicas had
 * theirs: they will be idle, or cease to sample, before it could do all. */
static uint32_t
part_for_idle(rlf_control *c, const ready *r)
{
    uint32_t n = r->command.n_rows;
    const rlf_node *node = rlf_control_instance(c, r->command.instance)->node;
    int open = 0, idle = 0, dp = rlf_control_place(c, node)->layout.dp;
    if (r->command.rows && !r->prepared && takes_time(node) &&
        node->grain == RLF_GRAIN_SAMPLE)
        count_open(c, r->command.instance, &open, &idle);
    uint64_t part =
        (2 * (uint64_t)n * (uint64_t)idle + (uint64_t)dp - 1) / (uint64_t)dp;
    return idle && part < n ? (uint32_t)part : n;
}

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
    else if (r.works || keeps_waiting(c, &r) || is_held(c, &r))
        RLF_PUSH(&c->ready, r);
    else
        rlf_control_run(c, &r);
}

/* n: there is none. */
static size_t
choose(rlf_control *c)
{
    size_t best = c->ready.count;
    double least = INFINITY;
    for (size_t i = 0; i < c->ready.count; i++) {
        const ready *r = &c->ready.data[i];
        double at = begins(c, r) + takes(c, r) / 2;
        if (at < least && !is_held(c, r)) {
            best = i;
            least = at;
        }
    }
    return best;
}

/* All calls that can begin before half of it is over get what they read. */
static void
prepare(rlf_control *c, double half)
{
    for (size_t i = 0; i < c->ready.count; i++) {
        ready *r = &c->ready.data[i];
        int open, idle;
        count_open(c, r->command.instance, &open, &idle);
        if (r->works && !r->prepared && !open && begins(c, r) <= half)
            rlf_control_prepare(c, r);
    }
}

bool
rlf_control_run_next(rlf_control *c)
{
    size_t best = choose(c);
    if (best == c->ready.count)
        return false;
    ready r = c->ready.data[best];
    if (r.works)
        prepare(c, begins(c, &r) + takes(c, &r) / 2);
    r = c->ready.data[best];
    rlf_order_command *left = &c->ready.data[best].command;
    uint32_t part = part_for_idle(c, &r);
    if (part < r.command.n_rows) {
        r.command.n_rows = part;
        left->rows += part;
        left->n_rows -= part;
    } else {
        c->ready.count--;
        memmove(c->ready.data + best, c->ready.data + best + 1,
                (c->ready.count - best) * sizeof r);
    }
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
        if (rlf_control_holds_up(c, &r->command) || is_held(c, r))
            break;
        rlf_control_run(c, r);
        i++;
    }
    c->latest.count -= i;
    if (i)
        memmove(c->latest.data, c->latest.data + i,
                c->latest.count * sizeof *c->latest.data);
}
