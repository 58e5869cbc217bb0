/* Shares of ranks in an instance: the rows that each computes, and the inputs
 * that it needs for them. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

/* Does the control flow depend on what it reports? */
static bool
answers(const rlf_instance *in)
{
    rlf_control_flow flow = in->node->class->control_flow;
    return flow == RLF_CONTROL_FLOW_LOOP ? !in->loop
                                         : flow != RLF_CONTROL_FLOW_NONE;
}

/* All ranks of the layout, each everything. One report is enough: the others
 * do the same in their own time, before any later command. Unless it answers
 * something, what follows need not wait for it: it is posted behind it. */
static rlf_rank_command *
post_together(rlf_control *c, int instance, uint32_t turn)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const rlf_layout *l = &rlf_control_place(c, node)->layout;
    rlf_share *shares = RLF_NEW_ARRAY(c->arena, rlf_share, l->n_ranks);
    for (int i = 0; i < l->n_ranks; i++)
        shares[i] =
            (rlf_share){.rank = l->ranks[i], .reports = i == 0, .has = true};
    rlf_rank_command *command = rlf_control_post(c, RLF_DO_RUN, instance);
    command->turn = turn;
    command->shares = shares;
    command->n_shares = l->n_ranks;
    rlf_control_note_writes(c, instance);
    active *a = rlf_control_await(c, command);
    if (!answers(rlf_control_instance(c, instance))) {
        a->told = true;
        rlf_control_done_together(c, a, NULL);
    }
    return command;
}

static void
bring_together(rlf_control *c, int instance)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const rlf_layout *l = &rlf_control_place(c, node)->layout;
    rlf_control_bring_inputs(c, instance, l->ranks, l->n_ranks);
}

/* Nothing comes between their commands: all have what they read. */
bool
rlf_control_go_joined(rlf_control *c)
{
    size_t n = c->joining.count;
    for (size_t i = 0; i < n; i++)
        post_together(c, c->joining.data[i], 0)->joint = i + 1 < n;
    c->joining.count = 0;
    return n > 0;
}

/* An update that shares a pipeline: it waits until the others of it are
 * ready in the same iteration too, or nothing else is. */
static void
run_joined(rlf_control *c, int instance)
{
    const rlf_instance *in = rlf_control_instance(c, instance);
    const rlf_node_place *place = rlf_control_place(c, in->node);
    const rlf_instance *first =
        c->joining.count ? rlf_control_instance(c, c->joining.data[0]) : NULL;
    if (first && (rlf_control_place(c, first->node)->lead != place->lead ||
                  first->iteration != in->iteration))
        rlf_control_go_joined(c);
    RLF_PUSH(&c->joining, instance);
    if ((int)c->joining.count == place->fused)
        rlf_control_go_joined(c);
}

void
rlf_control_bring_rows(rlf_control *c, int from, int instance,
                       const uint32_t *rows, uint32_t n, const int *to)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    int dp = rlf_control_place(c, node)->layout.dp;
    const replica *r = rlf_control_replicas(c, node);
    int *first = RLF_NEW_ARRAY(c->arena, int, dp + 1);
    for (int d = 0; d < dp; d++)
        first[d + 1] = first[d] + r[d].n;
    const rlf_parts need = {
        .count = dp, .first = first, .list = r->ranks, .part = to};
    rlf_control_bring(c, from, instance, rows, n, &need);
}

/* Brings the replicas the inputs of the rows that they are assigned. */
static void
bring_rows(rlf_control *c, int instance, const uint32_t *rows, uint32_t n,
           const int *to)
{
    const rlf_instance *in = rlf_control_instance(c, instance);
    const rlf_layout *l = &rlf_control_place(c, in->node)->layout;
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;) {
        if (rlf_control_track(c, from)->everywhere)
            continue;
        if (rlf_control_aligned(c, in->node, from))
            rlf_control_bring_rows(c, from, instance, rows, n, to);
        else
            rlf_control_bring_all(c, from, instance, l->ranks, l->n_ranks);
    }
}

/* The rows of each of `dp` parts, one part behind another; their ends, of one
 * part at end[d + 1]. */
static const uint32_t *
sort_rows(rlf_control *c, int dp, const uint32_t *rows, uint32_t n,
          const int *to, uint32_t **end)
{
    uint32_t *sorted = RLF_NEW_ARRAY(c->arena, uint32_t, n + 1);
    uint32_t *at = RLF_NEW_ARRAY(c->arena, uint32_t, dp + 2);
    for (uint32_t k = 0; k < n; k++)
        at[to[k] + 2]++;
    for (int d = 2; d < dp + 2; d++)
        at[d] += at[d - 1];
    for (uint32_t k = 0; k < n; k++)
        sorted[at[to[k] + 1]++] = rows[k];
    *end = at;
    return sorted;
}

/* Results of a model are where its last layer is; samples are told to
 * all stages, which need them to go on. */
static bool
has_result(const rlf_node *node, const rlf_layout *l, int rank)
{
    return node->class->work == RLF_WORK_GENERATE ||
           rlf_layout_find(l, rank).pp == rlf_layout_last(l);
}

static void
post_shares(rlf_control *c, int instance, const uint32_t *rows, uint32_t n,
            const int *to)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const rlf_layout *l = &rlf_control_place(c, node)->layout;
    const replica *r = rlf_control_replicas(c, node);
    rlf_share *shares = RLF_NEW_ARRAY(c->arena, rlf_share, l->n_ranks);
    int n_shares = 0;
    uint32_t *end;
    const uint32_t *sorted = sort_rows(c, l->dp, rows, n, to, &end);
    for (int d = 0; d < l->dp; d++) {
        uint32_t count = end[d + 1] - end[d];
        for (int i = 0; i < r[d].n && count; i++)
            shares[n_shares++] =
                (rlf_share){.rank = r[d].ranks[i],
                            .reports = r[d].ranks[i] == r[d].leader,
                            .has = has_result(node, l, r[d].ranks[i]),
                            .rows = sorted + end[d],
                            .n_rows = count};
    }
    rlf_rank_command *command = rlf_control_post(c, RLF_DO_RUN, instance);
    command->shares = shares;
    command->n_shares = n_shares;
    active *a = rlf_control_await(c, command);
    if (node->class->work == RLF_WORK_GENERATE)
        return;
    a->told = true;
    active copy = *a;
    for (int i = 0; i < n_shares; i++)
        if (shares[i].reports)
            rlf_control_note_rows(c, &copy, &shares[i], shares[i].rows,
                                  shares[i].n_rows);
    if (n && rlf_control_track(c, instance)->n_done ==
                 rlf_control_track(c, instance)->n_rows)
        rlf_control_tell_done(c, instance, NULL);
}

/* Whatever the rows of an instance are assigned by: a row that went to no
 * replica would never be computed, and the run stand still. */
static void
check_deal(rlf_control *c, int instance, const uint32_t *rows, uint32_t n,
           const int *to)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const uint32_t *owner = rlf_control_track(c, instance)->owner;
    int dp = rlf_control_place(c, node)->layout.dp;
    for (uint32_t k = 0; k < n; k++)
        RLF_ASSERT(to[k] >= 0 && to[k] < dp);
    for (uint32_t k = 1; k < n && owner && node->grain == RLF_GRAIN_GROUP; k++)
        RLF_ASSERT(owner[rows[k]] != owner[rows[k - 1]] || to[k] == to[k - 1]);
}

/* Decides who computes which of the decision's rows, and what they need for it.
 */
static void
prepare_rows(rlf_control *c, ready *r)
{
    int instance = r->decision.instance;
    track *t = rlf_control_track(c, instance);
    r->rows = r->decision.rows;
    r->n_rows = r->decision.n_rows;
    if (!r->rows) {
        uint32_t *all = RLF_NEW_ARRAY(c->arena, uint32_t, t->n_rows + 1);
        for (uint32_t i = 0; i < t->n_rows; i++)
            all[i] = i;
        r->rows = all;
        r->n_rows = t->n_rows;
    }
    r->to = rlf_control_assign(c, instance, r->rows, r->n_rows);
    check_deal(c, instance, r->rows, r->n_rows, r->to);
    t->assigned = true;
    bring_rows(c, instance, r->rows, r->n_rows, r->to);
    r->prepared = true;
}

static void
post_rows(rlf_control *c, const ready *r)
{
    int instance = r->decision.instance;
    const rlf_instance *in = rlf_control_instance(c, instance);
    post_shares(c, instance, r->rows, r->n_rows, r->to);
    if (in->node->class->work == RLF_WORK_GENERATE && r->n_rows)
        rlf_control_sampling(c, instance, r->rows, r->n_rows, r->to);
    if (!r->n_rows) { /* nobody will report */
        c->actives.count--;
        rlf_control_tell_done(c, instance, NULL);
    }
}

void
rlf_control_run_rows(rlf_control *c, int instance)
{
    ready r = {.decision = {.kind = RLF_NEXT_RUN, .instance = instance}};
    prepare_rows(c, &r);
    post_rows(c, &r);
}

/* An input that is made of the same rows tells how many there are, and one of
 * them how long they are. */
static bool
inherit_rows(rlf_control *c, int instance)
{
    const rlf_instance *in = rlf_control_instance(c, instance);
    track *t = rlf_control_track(c, instance);
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;) {
        const track *of = rlf_control_track(c, from);
        if (!of->opened || !rlf_control_aligned(c, in->node, from))
            continue;
        if (!t->opened)
            rlf_control_set_rows(c, instance, of->n_rows, of->owner);
        if (!t->tokens) {
            t->tokens = of->tokens;
            t->prompts = of->prompts;
        }
    }
    return t->opened;
}

bool
rlf_control_knows_rows(rlf_control *c, int instance)
{
    return rlf_control_track(c, instance)->opened || inherit_rows(c, instance);
}

static void
run_split(rlf_control *c, const ready *r)
{
    int instance = r->decision.instance;
    track *t = rlf_control_track(c, instance);
    ready now = *r;
    if (r->prepared || rlf_control_knows_rows(c, instance)) {
        if (!r->prepared)
            prepare_rows(c, &now);
        post_rows(c, &now);
        return;
    }
    RLF_ASSERT(!r->decision.rows); /* pieces follow rows that are known */
    t->held = true;
    c->n_asked++;
    rlf_rank_command *command = rlf_control_post(c, RLF_DO_OPEN, instance);
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    command->opener =
        rlf_control_soonest(c, &rlf_control_place(c, node)->layout);
    t->asked = command->n;
    t->opener = command->opener;
}

/* Does every rank have all that it reads? */
static bool
inputs_everywhere(rlf_control *c, int instance)
{
    const rlf_instance *in = rlf_control_instance(c, instance);
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;)
        if (!rlf_control_track(c, from)->everywhere)
            return false;
    return true;
}

/* A cheap node is computed by everyone rather than sent to everyone. */
static void
run_near(rlf_control *c, const ready *r)
{
    int instance = r->decision.instance;
    if (!rlf_control_track(c, instance)->announced && !r->decision.rows &&
        inputs_everywhere(c, instance))
        post_together(c, instance, 0);
    else
        run_split(c, r);
}

void
rlf_control_prepare(rlf_control *c, ready *r)
{
    int instance = r->decision.instance;
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    rlf_partition partition = rlf_control_place(c, node)->partition;
    if (partition == RLF_PARTITION_NEAR)
        return;
    if (partition == RLF_PARTITION_ROWS) {
        if (rlf_control_knows_rows(c, instance))
            prepare_rows(c, r);
        return;
    }
    bring_together(c, instance);
    r->prepared = true;
}

void
rlf_control_supply(rlf_control *c, int instance)
{
    track *t = rlf_control_track(c, instance);
    if (!t->supplied)
        bring_together(c, instance);
    t->supplied = true;
}

/* Does it change what there are copies of? */
static bool
writes_copied(const rlf_control *c, const rlf_node *node)
{
    bool any = false;
    for (int i = 0; c->version && i < node->n_writes; i++)
        any |= c->plan->copies[node->writes[i]].n > 0;
    return any;
}

void
rlf_control_run(rlf_control *c, const ready *r)
{
    int instance = r->decision.instance;
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    rlf_partition partition = rlf_control_place(c, node)->partition;
    ready now = *r;
    if (r->decision.kind == RLF_NEXT_LOOP) {
        bring_together(c, instance);
        post_together(c, instance, r->decision.turn);
        return;
    }
    if (writes_copied(c, node))
        rlf_control_bring_pins(c);
    rlf_control_bring_weights(c, instance); /* opening may look */
    if (!now.prepared)
        rlf_control_prepare(c, &now);
    if (partition == RLF_PARTITION_ROWS)
        run_split(c, &now);
    else if (partition == RLF_PARTITION_NEAR)
        run_near(c, &now);
    else if (rlf_control_place(c, node)->lead)
        run_joined(c, instance);
    else
        post_together(c, instance, 0);
}
