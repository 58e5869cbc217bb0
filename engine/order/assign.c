/* Assignment of the rows of an instance to ranks.
 *
 * A cheap node is computed where its inputs are. The work of models and hooks
 * goes to the data-parallel parts so that each has the same number of tokens to
 * do, as far as lengths are known; within that a row stays where it is, for
 * moving it costs more than a part that has a few tokens more. Rows of a prompt
 * that a model reads go together where that is as even. Without lengths
 * rows count alike: where the inputs are, else in even runs. While some ranks
 * sample and others do not, all goes to those that do not. But what is made
 * ahead stays on the ranks that sample ahead: the others train. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

#include <stdlib.h>

/* Rows that stay together: those of one prompt, or a row. */
typedef struct unit {
    uint32_t first, last; /* of the rows that are assigned */
    uint64_t tokens;
    int to;
} unit;

/* The replicas of a node while rows are assigned to them. */
typedef struct assignment {
    int dp;
    uint64_t *load; /* tokens that each has to do */
    bool *open;     /* takes more; at least one does */
    const uint32_t *rows;
    unit *units;
    uint32_t n;
    const track **inputs; /* of the same rows, that lie somewhere */
    int n_inputs;
    /* If there are inputs: the set of ranks of each replica; the set of their
     * leaders; per rank the first replica that it leads, -1: none; per replica
     * the next one of its leader. */
    word *ranks, *leaders;
    int *led, *next;
    /* Rows of a unit that each replica has; those that have any. */
    uint32_t *there;
    int *near, n_near;
} assignment;

/* Counts a row of an input for each replica that has it. Of a replica that has
 * it, its leader does. */
static void
count_row(const rlf_control *c, assignment *d, const track *t, uint32_t row)
{
    size_t n_words = (size_t)c->n_words;
    const word *have = rlf_control_ranks_with(c, t, row);
    for (size_t w = 0; w < n_words; w++)
        for (word left = have[w] & d->leaders[w]; left; left &= left - 1) {
            int k = d->led[w * BITS + (size_t)__builtin_ctzll(left)];
            for (; k >= 0; k = d->next[k])
                if (is_within(c, d->ranks + (size_t)k * n_words, have) &&
                    !d->there[k]++)
                    d->near[d->n_near++] = k;
        }
}

/* Is a replica nearer than another one that has some of a unit, too? */
static bool
is_nearer(const assignment *d, int k, int other)
{
    if (d->there[k] != d->there[other])
        return d->there[k] > d->there[other];
    if (d->load[k] != d->load[other])
        return d->load[k] < d->load[other];
    return k < other;
}

/* The replica that has most of the unit, of several the one with the least to
 * do, or the first; or -1: none has anything of it. */
static int
nearest(const rlf_control *c, assignment *d, const unit *u)
{
    int best = -1;
    d->n_near = 0;
    for (int i = 0; i < d->n_inputs; i++)
        for (uint32_t k = u->first; k < u->last; k++)
            count_row(c, d, d->inputs[i], d->rows[k]);
    for (int i = 0; i < d->n_near; i++)
        if (best < 0 || is_nearer(d, d->near[i], best))
            best = d->near[i];
    for (int i = 0; i < d->n_near; i++)
        d->there[d->near[i]] = 0;
    return best;
}

/* ---- what is there to do ---- */

/* A row nobody knows the length of counts as one token. */
static uint64_t
tokens_of(const track *t, uint32_t row)
{
    return 1 + (t->tokens ? t->tokens[row] : 0);
}

static bool
are_siblings(const uint32_t *owner, uint32_t a, uint32_t b)
{
    return owner && owner[a] == owner[b];
}

/* Does it read samples with a model, that may share their prompts? */
static bool
shares_prompts(const rlf_node *node, const track *t)
{
    return node->class->work == RLF_WORK_READ && t->owner;
}

/* Who reads the rows of a prompt together computes it once. Takes off what rows
 * first .. last - 1, all of one prompt, are fewer tokens if one replica has all
 * of them; of a unit that has not, as much as it has of them. */
static void
share_prompt(const track *t, unit *u, const assignment *d, uint32_t first,
             uint32_t last)
{
    for (uint32_t k = u->first; k < u->last; k++) {
        uint32_t prompt = t->prompts[d->rows[k]];
        u->tokens -= prompt - prompt / (last - first);
    }
}

static void
add_unit(const track *t, assignment *d, uint32_t first, uint32_t last)
{
    unit *u = &d->units[d->n++];
    *u = (unit){.first = first, .last = last};
    for (uint32_t k = first; k < last; k++)
        u->tokens += tokens_of(t, d->rows[k]);
}

/* All that have a prompt in common are a unit, or with `apart` each of them. */
static void
list_units(rlf_control *c, int instance, uint32_t n, bool apart,
           assignment *out)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const track *t = rlf_control_track(c, instance);
    out->n = 0;
    for (uint32_t first = 0, last; first < n; first = last) {
        for (last = first + 1;
             last < n &&
             are_siblings(t->owner, out->rows[first], out->rows[last]);)
            last++;
        for (uint32_t k = first, end; k < last; k = end) {
            end = apart ? k + 1 : last;
            add_unit(t, out, k, end);
            if (shares_prompts(node, t) && t->prompts)
                share_prompt(t, &out->units[out->n - 1], out, first, last);
        }
    }
}

/* Adds the tokens of calls whose rows were assigned, and that are not posted.
 */
static void
add_prepared(rlf_control *c, uint64_t *tokens)
{
    for (size_t i = 0; i < c->ready.count; i++) {
        const ready *r = &c->ready.data[i];
        int instance = r->decision.instance;
        const rlf_node *node = rlf_control_instance(c, instance)->node;
        if (!r->works || !r->prepared || !r->to)
            continue;
        const track *t = rlf_control_track(c, instance);
        const replica *of = rlf_control_replicas(c, node);
        for (uint32_t k = 0; k < r->n_rows; k++)
            for (int j = 0; j < of[r->to[k]].n; j++)
                tokens[of[r->to[k]].ranks[j]] += tokens_of(t, r->rows[k]);
    }
}

/* Tokens of calls that each rank's replica was assigned and that nobody has
 * said to be done. */
static uint64_t *
under_way(rlf_control *c)
{
    uint64_t *tokens = RLF_NEW_ARRAY(c->arena, uint64_t, c->n_ranks);
    add_prepared(c, tokens);
    for (size_t i = 0; i < c->actives.count; i++) {
        const active *a = &c->actives.data[i];
        if (a->instance < 0 || a->instance == c->sampling ||
            !rlf_control_works(rlf_control_instance(c, a->instance)->node))
            continue;
        const track *t = rlf_control_track(c, a->instance);
        for (int k = 0; k < a->n_shares; k++) {
            const rlf_share *s = &a->shares[k];
            for (uint32_t j = 0; s->rows && j < s->n_rows && !a->reported[k];
                 j++)
                tokens[s->rank] += tokens_of(t, s->rows[j]);
        }
    }
    return tokens;
}

/* Leaves open the replicas all of whose ranks are in the set, or none of whose
 * are; if there are such. */
static void
leave_open(const rlf_control *c, const replica *r, const word *set, bool in,
           assignment *d)
{
    bool *open = RLF_NEW_ARRAY(c->arena, bool, d->dp);
    bool some = false;
    for (int k = 0; k < d->dp; k++) {
        open[k] = d->open[k];
        for (int i = 0; i < r[k].n; i++)
            open[k] &= has(set, r[k].ranks[i]) == in;
        some |= open[k];
    }
    if (some)
        d->open = open;
}

static void
list_replicas(const rlf_control *c, const replica *r, assignment *d)
{
    size_t n_words = (size_t)c->n_words;
    d->ranks = RLF_NEW_ARRAY(c->arena, word, (size_t)d->dp * n_words);
    d->leaders = RLF_NEW_ARRAY(c->arena, word, n_words);
    d->led = RLF_NEW_ARRAY(c->arena, int, c->n_ranks);
    d->next = RLF_NEW_ARRAY(c->arena, int, d->dp);
    d->there = RLF_NEW_ARRAY(c->arena, uint32_t, d->dp);
    d->near = RLF_NEW_ARRAY(c->arena, int, d->dp);
    for (int k = 0; k < c->n_ranks; k++)
        d->led[k] = -1;
    for (int k = 0; k < d->dp; k++) {
        for (int i = 0; i < r[k].n; i++)
            put(d->ranks + (size_t)k * n_words, r[k].ranks[i]);
        put(d->leaders, r[k].leader);
        d->next[k] = d->led[r[k].leader];
        d->led[r[k].leader] = k;
    }
}

static void
list_inputs(rlf_control *c, const rlf_instance *in, assignment *d)
{
    int n = 0;
    for (int i = 0; rlf_control_input(c, in, &i) >= 0;)
        n++;
    d->inputs = RLF_NEW_ARRAY(c->arena, const track *, n + 1);
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;) {
        const track *t = rlf_control_track(c, from);
        if (lies_by_row(t) && rlf_control_aligned(c, in->node, from))
            d->inputs[d->n_inputs++] = t;
    }
    if (d->n_inputs)
        list_replicas(c, rlf_control_replicas(c, in->node), d);
}

static assignment
begin(rlf_control *c, int instance)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const track *t = rlf_control_track(c, instance);
    const replica *r = rlf_control_replicas(c, node);
    int dp = rlf_control_place(c, node)->layout.dp;
    assignment d = {.dp = dp,
                    .load = RLF_NEW_ARRAY(c->arena, uint64_t, dp),
                    .open = RLF_NEW_ARRAY(c->arena, bool, dp)};
    const word *samples = rlf_control_next_samplers(c);
    /* Rows that are assigned at once and alone go by their lengths only. */
    const uint64_t *before = samples || t->assigned ? under_way(c) : NULL;
    for (int k = 0; k < dp; k++) {
        d.open[k] = true;
        if (before)
            d.load[k] = before[r[k].leader];
    }
    if (node->ahead)
        leave_open(c, r, c->makers, true, &d);
    if (samples)
        leave_open(c, r, samples, false, &d);
    if (rlf_control_reads_sampling(c, instance))
        leave_open(c, r, rlf_control_at_work(c), false, &d);
    return d;
}

/* ---- assignment ---- */

static int
least(const assignment *d, const uint64_t *load)
{
    int best = -1;
    for (int k = 0; k < d->dp; k++)
        if (d->open[k] && (best < 0 || load[k] < load[best]))
            best = k;
    return best;
}

static int
longest_first(const void *a, const void *b)
{
    const unit *x = a, *y = b;
    if (x->tokens != y->tokens)
        return x->tokens > y->tokens ? -1 : 1;
    return x->first < y->first ? -1 : 1;
}

static void
sort_units(assignment *d)
{
    qsort(d->units, d->n, sizeof *d->units, longest_first);
}

/* The load of the fullest replica when each unit, the longest first, goes
 * to the one with the least. */
static uint64_t
best_most(rlf_control *c, const assignment *d)
{
    uint64_t *load = RLF_NEW_ARRAY(c->arena, uint64_t, d->dp), most = 0;
    memcpy(load, d->load, sizeof *load * (size_t)d->dp);
    for (uint32_t i = 0; i < d->n; i++)
        load[least(d, load)] += d->units[i].tokens;
    for (int k = 0; k < d->dp; k++)
        if (d->open[k] && load[k] > most)
            most = load[k];
    return most;
}

/* Rows of a prompt are read together if the fullest replica has then hardly
 * more to do than if they could be parted for nothing. */
static void
join_siblings(rlf_control *c, int instance, uint32_t n, assignment *d)
{
    sort_units(d);
    uint64_t apart = best_most(c, d);
    list_units(c, instance, n, false, d);
    sort_units(d);
    bool even = best_most(c, d) <= apart + apart / RLF_DEAL_SLACK;
    list_units(c, instance, n, !even, d);
}

/* Assigns each unit to where it is while that has room below the limit; those
 * that find none go to who has the least. */
static void
assign_by_length(rlf_control *c, assignment *d)
{
    sort_units(d);
    uint64_t most = best_most(c, d);
    most += most / RLF_DEAL_SLACK;
    for (uint32_t i = 0; i < d->n; i++) {
        unit *u = &d->units[i];
        u->to = nearest(c, d, u);
        if (u->to >= 0 &&
            (!d->open[u->to] || d->load[u->to] + u->tokens > most))
            u->to = -1;
        if (u->to >= 0)
            d->load[u->to] += u->tokens;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        unit *u = &d->units[i];
        if (u->to >= 0)
            continue;
        u->to = least(d, d->load);
        d->load[u->to] += u->tokens;
    }
}

/* Assigns units to where they are, else in even runs of the n rows; but only to
 * replicas that are open. */
static void
assign_by_count(const rlf_control *c, assignment *d, uint32_t n)
{
    for (uint32_t i = 0; i < d->n; i++) {
        unit *u = &d->units[i];
        u->to = nearest(c, d, u);
        if (u->to < 0)
            u->to = (int)((uint64_t)u->first * (uint64_t)d->dp / n);
        if (!d->open[u->to])
            u->to = least(d, d->load);
        d->load[u->to] += u->tokens;
    }
}

int *
rlf_control_assign(rlf_control *c, int instance, const uint32_t *rows,
                   uint32_t n)
{
    const rlf_instance *in = rlf_control_instance(c, instance);
    const rlf_node *node = in->node;
    const track *t = rlf_control_track(c, instance);
    assignment d = begin(c, instance);
    d.rows = rows;
    d.units = RLF_NEW_ARRAY(c->arena, unit, n + 1);
    list_inputs(c, in, &d);
    list_units(c, instance, n,
               node->class->work != RLF_WORK_GENERATE &&
                   node->grain != RLF_GRAIN_GROUP,
               &d);
    bool cut = rlf_control_place(c, node)->partition == RLF_PARTITION_ROWS;
    if (cut && shares_prompts(node, t) && node->grain == RLF_GRAIN_SAMPLE)
        join_siblings(c, instance, n, &d);
    /* how long a response becomes is not known before */
    if (t->tokens && node->class->work != RLF_WORK_GENERATE && cut)
        assign_by_length(c, &d);
    else
        assign_by_count(c, &d, n);
    int *to = RLF_NEW_ARRAY(c->arena, int, n + 1);
    for (uint32_t i = 0; i < d.n; i++)
        for (uint32_t k = d.units[i].first; k < d.units[i].last; k++)
            to[k] = d.units[i].to;
    return to;
}
