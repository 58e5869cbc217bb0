/* The choice of the decision that is posted next, among those that are ready.
 *
 * A rank carries out its commands in order, so a command keeps all who meet in
 * it waiting for the last of them. When ranks are free is counted in calls, for
 * there is no clock: a call of a model on all its rows takes one, everything
 * else nothing; who meets in a command goes on from the same moment; a report
 * says that the moment at which its command ends has come. Of all that is
 * ready:
 *
 * - what keeps nobody waiting and is quickly done is posted at once;
 * - else what can begin first comes first; what is quick has a start of half a
 *   call, since it would have to wait for the whole of it;
 * - before a call is posted, all others that can begin before half of it is
 *   over get what they read: those who have it may take part in the call; and
 *   so do calls that wait for nobody by that, updates that only wait for others
 *   that use their model, and calls elsewhere that read samples (forward.c);
 * - weights come behind that, since those who give and get them may be long in
 *   them;
 * - a piece of rows waits while someone would stand still for it (defer.c);
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
    rlf_work_kind work = node->class->work;
    return work != RLF_WORK_NONE && work != RLF_WORK_WEIGHTS;
}

/* Is it one that may come last, if its outputs may? Nothing waits for it
 * through a resource, and it is soon done. */
static bool
may_be_last(const rlf_node *node)
{
    bool quick =
        node->class->reports || node->class->program == RLF_PROGRAM_EXPR;
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

/* Ranks that sample can do something else between two turns; hooks are as quick
 * as one likes. */
bool
rlf_control_takes_time(const rlf_node *node)
{
    rlf_work_kind work = node->class->work;
    return work == RLF_WORK_READ || work == RLF_WORK_TRAIN;
}

/* The part that so many rows of an instance are of a call on all of them. */
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

/* Has those who compute the same go on together. */
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
    if (rlf_control_takes_time(node))
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

/* A sender waits for nobody, and all moves of a receiver begin at once. */
void
rlf_control_note_moves(rlf_control *c, const rlf_rank_command *command)
{
    double *at = RLF_NEW_ARRAY(c->arena, double, command->n_moves);
    for (int i = 0; i < command->n_moves; i++)
        at[i] = fmax(free_at(c, command->moves[i].from),
                     free_at(c, command->moves[i].to));
    for (int i = 0; i < command->n_moves; i++)
        be_free(c, command->moves[i].to, at[i]);
}

void
rlf_control_note_weights(rlf_control *c, const rlf_rank_command *command)
{
    const rlf_weight_copy *copies = c->plan->copies[command->model].list;
    const rlf_layout *sides[] = {&copies[command->from].mesh.layout,
                                 &copies[command->copy].mesh.layout};
    double at = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sides[k]->n_ranks; i++)
            at = fmax(at, free_at(c, sides[k]->ranks[i]));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sides[k]->n_ranks; i++)
            be_free(c, sides[k]->ranks[i], at);
}

int
rlf_control_soonest(rlf_control *c, const rlf_layout *layout)
{
    const word *busy = rlf_control_at_work(c);
    int best = layout->ranks[0];
    for (int i = 1; i < layout->n_ranks; i++) {
        int rank = layout->ranks[i];
        bool works = has(busy, rank), is_busy = has(busy, best);
        if (works != is_busy ? !works : free_at(c, rank) < free_at(c, best))
            best = rank;
    }
    return best;
}

/* Returns the moment at which all ranks of a set are free; of an empty set 0.
 */
static double
last_free(const rlf_control *c, const word *set)
{
    double at = 0;
    for (int r = 0; r < c->n_ranks; r++)
        if (has(set, r))
            at = fmax(at, free_at(c, r));
    return at;
}

/* Returns the moment at which the first rank of a set is free; of an empty set
 * INFINITY. */
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

/* Adds the ranks that may have to send what the instance reads. */
static void
add_senders(rlf_control *c, int instance, const rlf_layout *l, word *set)
{
    const rlf_instance *in = rlf_control_instance(c, instance);
    bool cut = rlf_control_place(c, in->node)->partition == RLF_PARTITION_ROWS;
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

/* Returns the moment at which a decision can begin: replicas that are assigned
 * rows do not wait for each other. */
static double
begins(rlf_control *c, const ready *r)
{
    const rlf_node *node = rlf_control_instance(c, r->decision.instance)->node;
    bool cut = rlf_control_place(c, node)->partition == RLF_PARTITION_ROWS;
    double own = cut && r->works ? first_free(c, r->own) : last_free(c, r->own);
    return r->prepared ? own : fmax(own, last_free(c, r->senders));
}

static double
takes(rlf_control *c, const ready *r)
{
    return r->works ? rlf_control_part(c, r) : 0;
}

static ready
ready_of(rlf_control *c, const rlf_decision *decision)
{
    const rlf_node *node = rlf_control_instance(c, decision->instance)->node;
    const rlf_layout *l = &rlf_control_place(c, node)->layout;
    ready r = {.decision = *decision,
               .works = rlf_control_works(node),
               .own = RLF_NEW_ARRAY(c->arena, word, c->n_words),
               .senders = RLF_NEW_ARRAY(c->arena, word, c->n_words)};
    for (int i = 0; i < l->n_ranks; i++)
        put(r.own, l->ranks[i]);
    add_senders(c, decision->instance, l, r.senders);
    return r;
}

static bool
overlap(const rlf_control *c, const word *a, const word *b)
{
    for (int k = 0; k < c->n_words; k++)
        if (a[k] & b[k])
            return true;
    return false;
}

static bool
keeps_waiting(rlf_control *c, const ready *r)
{
    double first = fmin(first_free(c, r->own), first_free(c, r->senders));
    return begins(c, r) > first;
}

/* ---- taking turns ---- */

/* Copies a decision, whose rows are good until the next one is asked for. */
static rlf_decision
copy_of(rlf_control *c, const rlf_decision *decision)
{
    rlf_decision copy = *decision;
    if (copy.rows) {
        uint32_t *rows = RLF_NEW_ARRAY(c->arena, uint32_t, copy.n_rows + 1);
        copy.rows = memcpy(rows, copy.rows, copy.n_rows * sizeof *rows);
    }
    return copy;
}

void
rlf_control_take(rlf_control *c, const rlf_decision *decision)
{
    rlf_decision copy = copy_of(c, decision);
    if (c->n_ranks == 1) { /* nobody waits for anybody */
        rlf_control_run(c, &(ready){.decision = copy});
        return;
    }
    if (copy.rows && rlf_control_knows_rows(c, copy.instance) &&
        rlf_control_join(c, &copy))
        return;
    ready r = ready_of(c, &copy);
    int node = rlf_control_instance(c, decision->instance)->node->id;
    if (c->last[node] && (c->latest.count || keeps_waiting(c, &r)))
        RLF_PUSH(&c->latest, r);
    else if (r.works || keeps_waiting(c, &r) || !rlf_control_is_whole(c, &r))
        RLF_PUSH(&c->ready, r);
    else
        rlf_control_run(c, &r);
}

static bool
trains(const rlf_control *c, const ready *r)
{
    return rlf_control_instance(c, r->decision.instance)->node->class->work ==
           RLF_WORK_TRAIN;
}

/* An update that has all that it reads may wait for others that use its model,
 * as for what is made ahead with its weights, while those who have what it
 * reads go to work for long. So it is sent before; but ranks that sample do not
 * stand still for those who are at work. */
typedef struct supply {
    bool now;  /* none of those who get it samples, or nobody is at work */
    double at; /* the moment at which all can have come */
    ready r;
} supply;

/* The next update behind `after` (like rlf_order_held) that can be supplied. */
static int
next_supply(rlf_control *c, int after, supply *out)
{
    int i = after;
    while ((i = rlf_order_held(c->order, i)) >= 0 &&
           (rlf_control_instance(c, i)->node->class->work != RLF_WORK_TRAIN ||
            rlf_control_track(c, i)->supplied))
        ;
    if (i < 0)
        return i;
    const rlf_decision decision = {.kind = RLF_NEXT_RUN, .instance = i};
    const word *samples = rlf_control_next_samplers(c);
    ready *r = &out->r;
    *r = ready_of(c, &decision);
    out->at = fmax(last_free(c, r->own), last_free(c, r->senders));
    out->now = !samples || !overlap(c, r->own, samples);
    if (!out->now) {
        const word *busy = rlf_control_at_work(c);
        out->now = !overlap(c, r->own, busy) && !overlap(c, r->senders, busy);
    }
    return i;
}

/* All updates that can begin before `half` get what they read. */
static void
supply_updates(rlf_control *c, double half)
{
    supply s;
    for (int i = -1; (i = next_supply(c, i, &s)) >= 0;)
        if (s.now && s.at <= half)
            rlf_control_supply(c, i);
}

/* Is it an update on ranks that have to send what another one reads before half
 * of it is over, but not now? */
static bool
comes_behind_supply(rlf_control *c, const ready *update)
{
    supply s;
    if (!trains(c, update) || !rlf_control_next_samplers(c))
        return false;
    double half = begins(c, update) + takes(c, update) / 2;
    for (int i = -1; (i = next_supply(c, i, &s)) >= 0;)
        if (!s.now && s.at <= half && overlap(c, update->own, s.r.senders) &&
            !overlap(c, update->own, s.r.own))
            return true;
    return false;
}

/* n: there is none. Of what can begin at the same time an update comes last:
 * others wait for what else there is. */
static size_t
choose(rlf_control *c)
{
    size_t best = c->ready.count;
    double least = INFINITY;
    for (size_t i = 0; i < c->ready.count; i++) {
        ready *r = &c->ready.data[i];
        double at = begins(c, r) + takes(c, r) / 2;
        bool first =
            at < least || (at == least && best < c->ready.count &&
                           trains(c, &c->ready.data[best]) && !trains(c, r));
        if (first && !rlf_control_is_deferred(c, r) &&
            !comes_behind_supply(c, r)) {
            best = i;
            least = at;
        }
    }
    return best;
}

/* Is nobody at work who has the weights that an instance reads, or their newest
 * version? */
static bool
have_come(rlf_control *c, int instance, const word *busy)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const int *copy = rlf_control_place(c, node)->copy;
    for (size_t i = 0; c->version && i < c->plan->graph->resources.count; i++) {
        int sides[] = {0, copy[i]};
        for (int k = 0; k < 2 && copy[i] > 0; k++) {
            const rlf_layout *l =
                &c->plan->copies[i].list[sides[k]].mesh.layout;
            for (int j = 0; j < l->n_ranks; j++)
                if (has(busy, l->ranks[j]))
                    return false;
        }
    }
    return true;
}

/* Once some are at work, the others would wait for them with weights in their
 * hands. */
static void
bring_weights(rlf_control *c)
{
    const word *busy = rlf_control_at_work(c);
    rlf_control_bring_pins(c);
    for (size_t i = 0; i < c->ready.count; i++) {
        int instance = c->ready.data[i].decision.instance;
        if (have_come(c, instance, busy))
            rlf_control_bring_weights(c, instance);
    }
}

/* Are there newer weights than those of the copy that an instance reads? */
static bool
are_older(rlf_control *c, int instance)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const int *copy = rlf_control_place(c, node)->copy;
    for (size_t i = 0; c->version && i < c->plan->graph->resources.count; i++)
        if (copy[i] > 0 && c->version[i][copy[i]] != c->version[i][0])
            return true;
    return false;
}

/* One generation is at work at a time. Weights of the next one are there when
 * its turn comes, where no rank has to leave its work for them. */
void
rlf_control_bring_next(rlf_control *c)
{
    int next = rlf_order_next_generation(c->order);
    int generation = rlf_order_generation(c->order);
    if (next < 0 || generation < 0 || !are_older(c, next))
        return;
    const rlf_node *node = rlf_control_instance(c, generation)->node;
    const rlf_layout *l = &rlf_control_place(c, node)->layout;
    word *busy = rlf_control_at_work(c);
    for (int i = 0; i < l->n_ranks; i++)
        put(busy, l->ranks[i]);
    if (have_come(c, next, busy))
        rlf_control_bring_weights(c, next);
}

/* A decision of those that are ready, or a piece of it, is one no longer. */
static ready
take_out(rlf_control *c, size_t i)
{
    ready r = c->ready.data[i], left;
    if (rlf_control_cut(c, &r, &left)) {
        c->ready.data[i] = left;
        return r;
    }
    c->ready.count--;
    memmove(c->ready.data + i, c->ready.data + i + 1,
            (c->ready.count - i) * sizeof r);
    return r;
}

/* Is it a call of one replica that gets what it reads from ranks that are free
 * no later than it is? Its rows are computed there whatever else comes. */
static bool
can_be_sent(rlf_control *c, const ready *r)
{
    const rlf_node *node = rlf_control_instance(c, r->decision.instance)->node;
    return rlf_control_place(c, node)->layout.dp == 1 &&
           last_free(c, r->senders) <= last_free(c, r->own);
}

/* All calls that can begin before half of it is over get what they read, and
 * others that nobody waits for by that. */
static void
prepare(rlf_control *c, double half)
{
    for (size_t i = 0; i < c->ready.count; i++) {
        ready *r = &c->ready.data[i];
        if (r->works && (begins(c, r) <= half || can_be_sent(c, r)) &&
            rlf_control_can_prepare(c, r))
            rlf_control_prepare(c, r);
    }
}

bool
rlf_control_run_next(rlf_control *c)
{
    size_t best = choose(c);
    if (best == c->ready.count)
        return false;
    const ready *next = &c->ready.data[best];
    if (next->works) {
        double half = begins(c, next) + takes(c, next) / 2;
        prepare(c, half);
        supply_updates(c, half);
        rlf_control_forward(c, next);
    }
    bring_weights(c);
    ready r = take_out(c, best);
    rlf_control_run(c, &r);
    return true;
}

void
rlf_control_run_latest(rlf_control *c)
{
    size_t i = 0;
    while (i < c->latest.count && !c->ready.count) {
        ready *r = &c->latest.data[i];
        if (!rlf_order_issued(c->order) && keeps_waiting(c, r))
            break;
        if (rlf_control_blocks_samplers(c, &r->decision) ||
            !rlf_control_is_whole(c, r))
            break;
        rlf_control_run(c, r);
        i++;
    }
    c->latest.count -= i;
    if (i)
        memmove(c->latest.data, c->latest.data + i,
                c->latest.count * sizeof *c->latest.data);
}
