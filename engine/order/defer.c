/* Rows of a ready decision that wait, and those that are posted now.
 *
 * Rows that a generation completes become ready in pieces (ready.c). A message
 * of them keeps its receiver waiting until the sender has come, so a piece that
 * is posted too early stops ranks that sample, or that could do something else,
 * for others that are at work for seconds. Therefore
 *
 * - a row is posted when it lies where it is computed, or when none of its
 *   replica is at work and one of those who have it is not; a replica of which
 *   a part is at work gets nothing;
 * - a piece is posted as soon as half of its rows can go. What comes later
 *   joins those that stay; when the generation is over all that waits does;
 * - what stems from the generation at work goes to replicas of which no rank
 *   samples, if there are such: it waits until one of them is not at work;
 *   while there are none no model is read;
 * - what stems from no generation at work does not wait: other calls would be
 *   posted before it, and it would have to wait for these; but an update on
 *   sampling ranks that comes behind the generation in the program does, and so
 *   does one on ranks that are still to read what others wait for.
 *
 * The controller knows from commands and reports which ranks are at work. Each
 * of those reports, so nothing waits for ever. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

/* ---- what there is ---- */

/* None of the ranks is in the set. */
static bool
are_disjoint(const replica *r, const word *set)
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
    if (t->stems_of == c->sampling + 1)
        return t->stems;
    const rlf_instance *in = rlf_control_instance(c, instance);
    bool stems = false;
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;)
        stems = stems || stems_from_sampling(c, from);
    t->stems_of = c->sampling + 1;
    t->stems = stems;
    return stems;
}

/* Are its rows assigned to replicas? */
static bool
is_assigned(const rlf_control *c, const rlf_node *node)
{
    rlf_partition partition = rlf_control_place(c, node)->partition;
    return node->class->work != RLF_WORK_GENERATE &&
           (partition == RLF_PARTITION_ROWS || partition == RLF_PARTITION_NEAR);
}

bool
rlf_control_reads_sampling(rlf_control *c, int instance)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    return c->sampling >= 0 && is_assigned(c, node) &&
           stems_from_sampling(c, instance);
}

word *
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

/* Counts the replicas of which no rank samples, to which rows that stem from
 * the generation at work are assigned: all of them, and those not at work. */
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
        if (are_disjoint(&of[d], samplers)) {
            ++*open;
            *idle += are_disjoint(&of[d], busy);
        }
}

/* ---- rows ---- */

/* Replicas of an instance: how many of their ranks are at work. */
static int *
count_busy(rlf_control *c, const rlf_node *node, const word *busy)
{
    const replica *of = rlf_control_replicas(c, node);
    int dp = rlf_control_place(c, node)->layout.dp;
    int *n = RLF_NEW_ARRAY(c->arena, int, dp);
    for (int d = 0; d < dp; d++)
        for (int i = 0; i < of[d].n; i++)
            n[d] += has(busy, of[d].ranks[i]);
    return n;
}

static bool
has_row(const replica *r, const word *have)
{
    for (int i = 0; i < r->n; i++)
        if (!has(have, r->ranks[i]))
            return false;
    return true;
}

/* Does nobody wait for the row to come to a replica, of which `n_busy` ranks
 * are at work? */
static bool
can_go(rlf_control *c, const rlf_instance *in, uint32_t row, const replica *to,
       int n_busy, const word *busy)
{
    if (n_busy && n_busy < to->n)
        return false;
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;) {
        const track *t = rlf_control_track(c, from);
        if (!lies_by_row(t) || !rlf_control_aligned(c, in->node, from))
            continue;
        const word *have = rlf_control_ranks_with(c, t, row);
        if (!has_row(to, have) && (n_busy || is_within(c, have, busy)))
            return false;
    }
    return true;
}

/* Of a node of grain group: a row stays with those of its group that stay. */
static void
keep_groups(rlf_control *c, const rlf_decision *decision, bool *goes)
{
    const track *t = rlf_control_track(c, decision->instance);
    bool *stays = RLF_NEW_ARRAY(c->arena, bool, t->n_rows + 1);
    for (uint32_t k = 0; k < decision->n_rows; k++)
        stays[t->owner[decision->rows[k]]] |= !goes[k];
    for (uint32_t k = 0; k < decision->n_rows; k++)
        goes[k] &= !stays[t->owner[decision->rows[k]]];
}

/* Find the rows of a decision that can go, as things are. This is done often:
 * what it takes lasts until the next time. */
static void
find_going(rlf_control *c, ready *r)
{
    const rlf_decision *decision = &r->decision;
    if (r->room < decision->n_rows) {
        r->room = rlf_control_track(c, decision->instance)->n_rows;
        r->going = RLF_NEW_ARRAY(c->arena, uint32_t, r->room);
    }
    rlf_arena *posted = c->arena;
    rlf_arena_reset(c->scratch);
    c->arena = c->scratch;
    const rlf_instance *in = rlf_control_instance(c, decision->instance);
    const replica *of = rlf_control_replicas(c, in->node);
    const word *busy = rlf_control_at_work(c);
    const int *n_busy = count_busy(c, in->node, busy);
    const int *to = rlf_control_assign(c, decision->instance, decision->rows,
                                       decision->n_rows);
    bool *goes = RLF_NEW_ARRAY(c->arena, bool, decision->n_rows + 1);
    bool all = !rlf_control_reads_sampling(c, decision->instance);
    for (uint32_t k = 0; k < decision->n_rows; k++)
        goes[k] = all || can_go(c, in, decision->rows[k], &of[to[k]],
                                n_busy[to[k]], busy);
    if (in->node->grain == RLF_GRAIN_GROUP)
        keep_groups(c, decision, goes);
    r->n_going = 0;
    for (uint32_t k = 0; k < decision->n_rows; k++)
        if (goes[k])
            r->going[r->n_going++] = decision->rows[k];
    c->arena = posted;
}

/* Is it one of rows that come in pieces, and go where they are assigned to? */
static bool
is_piece(const rlf_control *c, const ready *r)
{
    return r->decision.rows && !r->prepared &&
           is_assigned(c, rlf_control_instance(c, r->decision.instance)->node);
}

/* Rows of a piece, if there are so many. */
static uint32_t
least_of(rlf_control *c, const ready *r)
{
    const track *t = rlf_control_track(c, r->decision.instance);
    uint32_t piece = rlf_order_piece(c->order, t->n_rows);
    return piece && piece < r->decision.n_rows ? piece : r->decision.n_rows;
}

/* Would a model be read in the place of sampling? That gains nothing where no
 * replica is free of it: who samples would stop for it, and be late with what
 * is about to be complete. */
static bool
is_in_the_way(rlf_control *c, int instance)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    return rlf_control_takes_time(node) &&
           rlf_control_reads_sampling(c, instance);
}

static bool
shares_rank(const rlf_control *c, const ready *r, const rlf_node *node)
{
    const rlf_layout *l = &rlf_control_place(c, node)->layout;
    for (int i = 0; i < l->n_ranks; i++)
        if (has(r->own, l->ranks[i]))
            return true;
    return false;
}

/* Does an instance need what the reading makes? */
static bool
needs(rlf_control *c, int instance, int reading)
{
    if (instance <= reading)
        return instance == reading;
    track *t = rlf_control_track(c, instance);
    if (t->needs_of == reading + 1)
        return t->needs;
    const rlf_instance *in = rlf_control_instance(c, instance);
    bool any = false;
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;)
        any = any || needs(c, from, reading);
    t->needs_of = reading + 1;
    t->needs = any;
    return any;
}

/* Is there an update behind it that needs the reading, on other ranks? */
static bool
others_wait(rlf_control *c, const ready *r, int reading)
{
    int next = r->decision.instance;
    while ((next = rlf_order_behind(c->order, next)) >= 0) {
        const rlf_node *node = rlf_control_instance(c, next)->node;
        if (node->class->work == RLF_WORK_TRAIN && !shares_rank(c, r, node) &&
            needs(c, next, reading))
            return true;
    }
    return false;
}

/* Is it an update that comes behind a reading in the program that its ranks do
 * as well, of which there is more to come, and for which an update on other
 * ranks waits? These would do nothing until both are done. */
static bool
is_behind_reading(rlf_control *c, const ready *r)
{
    int id = r->decision.instance, before = -1;
    if (rlf_control_instance(c, id)->node->class->work != RLF_WORK_TRAIN)
        return false;
    while ((before = rlf_order_pending(c->order, id, before)) >= 0) {
        const rlf_node *node = rlf_control_instance(c, before)->node;
        if (node->class->work == RLF_WORK_READ && shares_rank(c, r, node) &&
            others_wait(c, r, before))
            return true;
    }
    return false;
}

/* Is it an update that comes behind a generation in the program, on ranks that
 * sample, or will next? All of them would stand still for it, and with them
 * those who wait for the samples; of two generations of one step the second
 * would always wait for the training on the first. */
static bool
is_behind_generation(const rlf_control *c, const ready *r)
{
    int generation = rlf_order_generation(c->order);
    int instance = r->decision.instance;
    if (generation < 0 || instance < generation ||
        instance % c->n_steps != generation % c->n_steps ||
        rlf_control_instance(c, instance)->node->class->work != RLF_WORK_TRAIN)
        return false;
    return shares_rank(c, r, rlf_control_instance(c, generation)->node);
}

bool
rlf_control_is_deferred(rlf_control *c, ready *r)
{
    int open = 0, idle = 0;
    if (is_behind_generation(c, r) || is_behind_reading(c, r))
        return true;
    if (r->prepared)
        return false;
    count_open(c, r->decision.instance, &open, &idle);
    if (open ? !idle : is_in_the_way(c, r->decision.instance))
        return true;
    if (!is_piece(c, r))
        return false;
    if (r->looked != c->changes)
        find_going(c, r);
    r->looked = c->changes;
    return 2 * r->n_going < least_of(c, r);
}

bool
rlf_control_is_whole(rlf_control *c, ready *r)
{
    return !rlf_control_is_deferred(c, r) &&
           (!is_piece(c, r) || r->n_going == r->decision.n_rows);
}

bool
rlf_control_can_prepare(rlf_control *c, ready *r)
{
    int open, idle;
    count_open(c, r->decision.instance, &open, &idle);
    return !r->prepared && !open && rlf_control_is_whole(c, r);
}

/* ---- pieces ---- */

/* Of the rows so many as are their part if the others of its replicas had
 * theirs: they will be idle, or cease to sample, before it could do all. */
static uint32_t
part_for_idle(rlf_control *c, const ready *r, uint32_t n)
{
    const rlf_node *node = rlf_control_instance(c, r->decision.instance)->node;
    int open = 0, idle = 0, dp = rlf_control_place(c, node)->layout.dp;
    if (rlf_control_takes_time(node) && node->grain == RLF_GRAIN_SAMPLE)
        count_open(c, r->decision.instance, &open, &idle);
    uint64_t part =
        (2 * (uint64_t)n * (uint64_t)idle + (uint64_t)dp - 1) / (uint64_t)dp;
    return idle && part < n ? (uint32_t)part : n;
}

double
rlf_control_part(rlf_control *c, const ready *r)
{
    const rlf_decision *decision = &r->decision;
    const rlf_node *node = rlf_control_instance(c, decision->instance)->node;
    const track *t = rlf_control_track(c, decision->instance);
    int open = 0, idle = 0, dp = rlf_control_place(c, node)->layout.dp;
    if (!decision->rows || !t->n_rows)
        return 1;
    if (!is_piece(c, r))
        return (double)decision->n_rows / t->n_rows;
    count_open(c, decision->instance, &open, &idle);
    double part = (double)decision->n_rows / t->n_rows;
    return idle ? part * dp / idle : part;
}

bool
rlf_control_cut(rlf_control *c, ready *r, ready *left)
{
    if (!is_piece(c, r))
        return false;
    uint32_t n = part_for_idle(c, r, r->n_going), all = r->decision.n_rows;
    if (n == all)
        return false;
    uint32_t *rows = RLF_NEW_ARRAY(c->arena, uint32_t, all);
    *left = *r;
    left->rest = n == r->n_going;
    left->room = 0; /* what there was is that of the rows that go */
    left->decision.rows = rows;
    left->decision.n_rows = 0;
    for (uint32_t k = 0, i = 0; k < all; k++)
        if (i < n && r->decision.rows[k] == r->going[i])
            i++;
        else
            rows[left->decision.n_rows++] = r->decision.rows[k];
    r->decision.rows = r->going;
    r->decision.n_rows = n;
    c->changes++;
    return true;
}

/* Rows that two ascending lists have, which have none in common. */
static uint32_t *
merge(rlf_control *c, const rlf_decision *a, const rlf_decision *b)
{
    uint32_t n = a->n_rows + b->n_rows;
    uint32_t *rows = RLF_NEW_ARRAY(c->arena, uint32_t, n + 1);
    for (uint32_t i = 0, k = 0; i + k < n;) {
        bool first =
            k == b->n_rows || (i < a->n_rows && a->rows[i] < b->rows[k]);
        uint32_t *to = &rows[i + k];
        *to = first ? a->rows[i++] : b->rows[k++];
    }
    return rows;
}

/* A decision joins one of the same instance. */
static void
join(rlf_control *c, ready *r, const rlf_decision *decision)
{
    r->decision.rows = merge(c, &r->decision, decision);
    r->decision.n_rows += decision->n_rows;
    c->changes++;
}

bool
rlf_control_join(rlf_control *c, const rlf_decision *decision)
{
    for (size_t i = 0; i < c->ready.count && decision->rows; i++) {
        ready *r = &c->ready.data[i];
        if (r->decision.instance != decision->instance || !is_piece(c, r) ||
            (c->sampling >= 0 && !r->rest))
            continue;
        join(c, r, decision);
        return true;
    }
    return false;
}

void
rlf_control_join_all(rlf_control *c)
{
    size_t left = 0, n = c->ready.count;
    for (size_t i = 0; i < n; i++) {
        ready r = c->ready.data[i];
        c->ready.count = left;
        if (!is_piece(c, &r) || !rlf_control_join(c, &r.decision))
            c->ready.data[left++] = r;
    }
    c->ready.count = left;
}
