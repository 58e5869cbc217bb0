/* Which rank computes what, and what has to be moved before: control.h. */
#include "engine/order/control.h"

#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/plan/edge.h"

/* A set of ranks: n_words words of bits. */
typedef uint64_t word;
enum { BITS = 64 };

/* The ranks of a layout that compute the same rows. */
typedef struct replica {
    const int *ranks; /* ascending */
    int n;
    int leader; /* reports; has the results in any case */
} replica;

/* What is known of an instance. */
typedef struct track {
    bool announced;  /* posted to every rank */
    bool opened;     /* its rows are known */
    bool everywhere; /* every rank has all of it, or will by its own order */
    uint32_t n_rows;
    const uint32_t *owner;
    word *have; /* [max(n_rows, 1)][n_words] */
    uint32_t n_done;
    bool held;      /* a RUN of all rows waits for them to be known */
    uint64_t asked; /* the OPEN that will tell */
} track;

/* A post that reports are awaited for. */
typedef struct active {
    uint64_t n;
    int instance;
    const rlf_share *shares;
    int n_shares;
    bool *reported; /* per share; of END per rank */
    int left;
    bool told; /* order counts on it already */
} active;

struct rlf_control {
    const rlf_plan *plan;
    uint32_t shown; /* of the policy */
    rlf_order *order;
    rlf_arena *arena; /* of one step */
    int n_ranks, n_words;
    rlf_arena *lasting;
    replica **replicas; /* per node: dp of them, or NULL until they are needed;
                           in `lasting` */
    RLF_VEC(track *) tracks;
    RLF_VEC(rlf_post *) posts; /* not yet given out, from `next` on */
    size_t next;
    RLF_VEC(active) actives;
    int open_replicas; /* generations at work whose replicas have more than
                          one rank */
    uint64_t n;
    uint64_t **version; /* per resource and hold; NULL: no holds */
    bool ending, ended;
};

/* ---- sets of ranks ---- */

static bool
has(const word *set, int rank)
{
    return set[rank / BITS] >> (rank % BITS) & 1;
}

static void
put(word *set, int rank)
{
    set[rank / BITS] |= (word)1 << (rank % BITS);
}

/* ---- life ---- */

/* Who computes together: the ranks of each data-parallel part. */
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
        if (at.tp == 0 && at.pp == layout->pp - 1)
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
    c->order = rlf_order_new(plan->graph, policy);
    c->arena = rlf_arena_new();
    c->lasting = rlf_arena_new();
    c->replicas =
        RLF_NEW_ARRAY(c->lasting, replica *, plan->graph->nodes.count);
    c->n_ranks = plan->ranks;
    c->n_words = (plan->ranks + BITS - 1) / BITS;
    size_t n = plan->graph->resources.count;
    if (plan->holds)
        c->version = rlf_calloc(n, sizeof *c->version);
    for (size_t i = 0; plan->holds && i < n; i++)
        c->version[i] =
            rlf_calloc((size_t)plan->holds[i].n, sizeof **c->version);
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
    RLF_VEC_FREE(&c->posts);
    RLF_VEC_FREE(&c->actives);
    rlf_arena_free(c->arena);
    rlf_arena_free(c->lasting);
    free(c);
}

void
rlf_control_begin(rlf_control *c)
{
    rlf_arena_reset(c->arena);
    rlf_order_begin(c->order);
    c->tracks.count = c->posts.count = c->actives.count = 0;
    c->next = 0;
    c->open_replicas = 0;
    c->ending = c->ended = false;
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

static const rlf_node_place *
place_of(const rlf_control *c, const rlf_node *node)
{
    return &c->plan->place[node->id];
}

static const replica *
replicas(rlf_control *c, const rlf_node *node)
{
    replica **list = &c->replicas[node->id];
    if (!*list)
        *list = replicas_of(&place_of(c, node)->layout, c->lasting);
    return *list;
}

static track *
track_of(rlf_control *c, int instance)
{
    while (c->tracks.count <= (size_t)instance)
        RLF_PUSH(&c->tracks, RLF_NEW(c->arena, track));
    return c->tracks.data[instance];
}

static const rlf_instance *
instance_of(const rlf_control *c, int instance)
{
    return rlf_order_instance(c->order, instance);
}

/* The instances that an instance reads, one after another from *i = 0 on; -1
 * at the end. Inputs of a collect's first round are not there yet. */
static int
next_input(const rlf_control *c, const rlf_instance *in, int *i)
{
    int n = in->node->n_inputs;
    if (in->loop)
        n += c->plan->graph->regions.data[in->node->regions[0]].n_gives;
    while (*i < n) {
        int from = in->input[(*i)++].instance;
        if (from >= 0)
            return from;
    }
    return -1;
}

/* Its rows are known now. */
static void
set_rows(rlf_control *c, int instance, uint32_t n_rows, const uint32_t *owner)
{
    track *t = track_of(c, instance);
    size_t n = n_rows ? n_rows : 1;
    t->opened = true;
    t->n_rows = n_rows;
    t->have = RLF_NEW_ARRAY(c->arena, word, n * (size_t)c->n_words);
    if (owner) {
        uint32_t *copy = RLF_NEW_ARRAY(c->arena, uint32_t, n);
        memcpy(copy, owner, n_rows * sizeof *copy);
        t->owner = copy;
    }
    rlf_order_tell(c->order, &(rlf_order_event){.kind = RLF_EVENT_OPENED,
                                                .instance = instance,
                                                .n_rows = n_rows,
                                                .owner = t->owner});
}

/* ---- posting ---- */

/* The ranks of an open replica leave their generation for a post together, so
 * they must all get it, whether they take part or not. */
static rlf_post *
add_post(rlf_control *c, rlf_post_kind kind, int instance)
{
    rlf_post *post = RLF_NEW(c->arena, rlf_post);
    *post = (rlf_post){.kind = kind, .n = c->n++, .instance = instance};
    if (instance >= 0 && kind != RLF_POST_EDGE && kind != RLF_POST_WEIGHTS) {
        track *t = track_of(c, instance);
        post->everyone = !t->announced;
        t->announced = true;
    }
    post->everyone |= c->open_replicas > 0;
    RLF_PUSH(&c->posts, post);
    return post;
}

static active *
await(rlf_control *c, const rlf_post *post)
{
    active a = {.n = post->n,
                .instance = post->instance,
                .shares = post->shares,
                .n_shares = post->n_shares};
    int n = post->kind == RLF_POST_RUN ? post->n_shares : c->n_ranks;
    a.reported = RLF_NEW_ARRAY(c->arena, bool, n);
    if (post->kind == RLF_POST_END)
        a.left = c->n_ranks;
    for (int i = 0; i < post->n_shares; i++)
        a.left += post->shares[i].reports;
    RLF_PUSH(&c->actives, a);
    return &c->actives.data[c->actives.count - 1];
}

/* ---- edges ---- */

/* Who has the rows of an instance: a part for every set of ranks that has some
 * of them. */
typedef struct holders {
    rlf_parts shown;
    const word **set; /* per part */
    int *part;        /* per row */
    int *slot;        /* hash table of parts, + 1; n_slots, a power of two */
    size_t n_slots;
} holders;

/* The part of a row that these ranks have. */
static int
part_of_set(const rlf_control *c, holders *h, const word *set)
{
    size_t bytes = sizeof(word) * (size_t)c->n_words;
    size_t i = rlf_hash_mix(rlf_hash(RLF_HASH_INIT, set, bytes));
    for (;; i++) {
        int *slot = &h->slot[i & (h->n_slots - 1)];
        if (!*slot) {
            h->set[h->shown.count] = set;
            *slot = ++h->shown.count;
        }
        if (memcmp(h->set[*slot - 1], set, bytes) == 0)
            return *slot - 1;
    }
}

static void
list_ranks(const rlf_control *c, holders *h)
{
    int parts = h->shown.count;
    int *first = RLF_NEW_ARRAY(c->arena, int, parts + 1);
    int *list = RLF_NEW_ARRAY(c->arena, int, parts * c->n_ranks + 1);
    for (int k = 0; k < parts; k++) {
        first[k + 1] = first[k];
        for (int r = 0; r < c->n_ranks; r++)
            if (has(h->set[k], r))
                list[first[k + 1]++] = r;
    }
    h->shown.first = first;
    h->shown.list = list;
}

static word *
ranks_with(const rlf_control *c, const track *t, uint32_t row)
{
    return t->have + (size_t)row * (size_t)c->n_words;
}

/* Row i of `rows`; NULL: row i. */
static uint32_t
nth(const uint32_t *rows, int64_t i)
{
    return rows ? rows[i] : (uint32_t)i;
}

static holders
holders_of(const rlf_control *c, const track *t, const uint32_t *rows,
           uint32_t n)
{
    holders h = {.n_slots = 2};
    while (h.n_slots < 2 * (size_t)n)
        h.n_slots *= 2;
    h.slot = RLF_NEW_ARRAY(c->arena, int, h.n_slots);
    h.set = RLF_NEW_ARRAY(c->arena, const word *, n + 1);
    h.part = RLF_NEW_ARRAY(c->arena, int, n + 1);
    for (uint32_t i = 0; i < n; i++)
        h.part[i] = part_of_set(c, &h, ranks_with(c, t, nth(rows, i)));
    list_ranks(c, &h);
    h.shown.part = h.part;
    return h;
}

/* See that the ranks of the i-th row's part of `need` have row nth(rows, i) of
 * instance `of`, for what `reader` does with it. */
static void
bring(rlf_control *c, int of, int reader, const uint32_t *rows, uint32_t n,
      const rlf_parts *need)
{
    const track *t = track_of(c, of);
    holders h = holders_of(c, t, rows, n);
    rlf_edge e;
    rlf_edge_between(&h.shown, need, n, NULL, NULL, c->arena, &e);
    if (!e.count)
        return;
    rlf_move *moves = RLF_NEW_ARRAY(c->arena, rlf_move, e.count);
    for (int i = 0; i < e.count; i++) {
        const rlf_transfer *x = &e.list[i];
        uint32_t *list = RLF_NEW_ARRAY(c->arena, uint32_t, x->n_rows);
        for (int64_t k = 0; k < x->n_rows; k++) {
            list[k] = nth(rows, x->rows[k]);
            put(ranks_with(c, t, list[k]), x->to);
        }
        bool whole = instance_of(c, of)->node->rows < 0;
        moves[i] = (rlf_move){.from = x->from,
                              .to = x->to,
                              .rows = whole ? NULL : list,
                              .n_rows = (uint32_t)x->n_rows};
    }
    rlf_post *post = add_post(c, RLF_POST_EDGE, of);
    post->reader = reader;
    post->moves = moves;
    post->n_moves = e.count;
}

/* The ranks `to` need all of instance `from`. */
static void
bring_all(rlf_control *c, int from, int reader, const int *to, int n_to)
{
    track *t = track_of(c, from);
    if (t->everywhere)
        return;
    bool rows = instance_of(c, from)->node->rows >= 0;
    uint32_t n = rows ? t->n_rows : 1;
    const int first[] = {0, n_to};
    bring(c, from, reader, NULL, n,
          &(rlf_parts){.count = 1, .first = first, .list = to});
    t->everywhere = n_to == c->n_ranks && (!rows || t->n_done == n);
}

/* Do the rows of `node` stand for rows of this input? */
static bool
aligned(const rlf_control *c, const rlf_node *node, int from)
{
    return node->rows >= 0 && instance_of(c, from)->node->rows == node->rows;
}

/* Everything that instance `of` reads, to these ranks. */
static void
bring_inputs(rlf_control *c, int of, const int *to, int n_to)
{
    const rlf_instance *in = instance_of(c, of);
    for (int i = 0, from; (from = next_input(c, in, &i)) >= 0;)
        bring_all(c, from, of, to, n_to);
}

/* ---- what is done ---- */

static void
tell_done(rlf_control *c, int instance, const rlf_report *report)
{
    rlf_order_event event = {
        .kind = RLF_EVENT_DONE, .instance = instance, .branch = -1};
    if (report) {
        event.count = report->count;
        event.branch = report->branch;
        event.leave = report->leave;
    }
    rlf_order_tell(c->order, &event);
}

/* Rows that a share's ranks have from now on. */
static void
note_rows(rlf_control *c, const active *a, const rlf_share *by,
          const uint32_t *rows, uint32_t n)
{
    track *t = track_of(c, a->instance);
    for (uint32_t k = 0; k < n; k++)
        for (int i = 0; i < a->n_shares; i++)
            if (a->shares[i].rows == by->rows)
                put(t->have + (size_t)rows[k] * (size_t)c->n_words,
                    a->shares[i].rank);
    t->n_done += n;
    if (n)
        rlf_order_tell(c->order, &(rlf_order_event){.kind = RLF_EVENT_ROWS,
                                                    .instance = a->instance,
                                                    .rows = rows,
                                                    .n_rows = n});
}

/* What is computed together is on every rank of the layout. */
static void
done_together(rlf_control *c, const active *a, const rlf_report *report)
{
    track *t = track_of(c, a->instance);
    t->everywhere = a->n_shares == c->n_ranks;
    if (!t->everywhere) {
        t->have = RLF_NEW_ARRAY(c->arena, word, c->n_words);
        for (int i = 0; i < a->n_shares; i++)
            put(t->have, a->shares[i].rank);
    }
    tell_done(c, a->instance, report);
}

/* ---- weights ---- */

/* What the instance is about to read is the newest. */
static void
bring_weights(rlf_control *c, int instance)
{
    const int *hold = place_of(c, instance_of(c, instance)->node)->hold;
    for (size_t i = 0; c->version && i < c->plan->graph->resources.count; i++) {
        uint64_t *version = c->version[i];
        if (hold[i] <= 0 || version[hold[i]] == version[0])
            continue;
        version[hold[i]] = version[0];
        rlf_post *post = add_post(c, RLF_POST_WEIGHTS, instance);
        post->model = (int)i;
        post->hold = hold[i];
    }
}

/* The instance that was posted changes what it writes. */
static void
note_writes(rlf_control *c, int instance)
{
    const rlf_node *node = instance_of(c, instance)->node;
    for (int i = 0; c->version && i < node->n_writes; i++)
        if (c->plan->holds[node->writes[i]].n)
            c->version[node->writes[i]][0]++;
}

/* ---- who computes ---- */

/* Does the run's course depend on what it reports? */
static bool
answers(const rlf_instance *in)
{
    switch (in->node->class->role) {
    case RLF_ROLE_FOR:
        return !in->loop;
    case RLF_ROLE_IF:
    case RLF_ROLE_EVERY:
    case RLF_ROLE_BREAK:
    case RLF_ROLE_COLLECT:
        return true;
    default:
        return false;
    }
}

/* All ranks of the layout, each everything. One report is enough: the others
 * do the same in their own time, before any later post. Unless it answers
 * something, what follows need not wait for it: it is posted behind it. */
static void
run_together(rlf_control *c, int instance, uint32_t iteration)
{
    const rlf_node *node = instance_of(c, instance)->node;
    const rlf_layout *l = &place_of(c, node)->layout;
    bring_inputs(c, instance, l->ranks, l->n_ranks);
    rlf_share *shares = RLF_NEW_ARRAY(c->arena, rlf_share, l->n_ranks);
    for (int i = 0; i < l->n_ranks; i++)
        shares[i] = (rlf_share){.rank = l->ranks[i], .reports = i == 0};
    rlf_post *post = add_post(c, RLF_POST_RUN, instance);
    post->iteration = iteration;
    post->shares = shares;
    post->n_shares = l->n_ranks;
    note_writes(c, instance);
    active *a = await(c, post);
    if (answers(instance_of(c, instance)))
        return;
    a->told = true;
    done_together(c, a, NULL);
}

static bool
replica_has(const rlf_control *c, const replica *r, const track *t,
            uint32_t row)
{
    const word *have = t->have + (size_t)row * (size_t)c->n_words;
    for (int i = 0; i < r->n; i++)
        if (!has(have, r->ranks[i]))
            return false;
    return true;
}

/* The replica that has most of the rows [first, last) of the inputs, or -1 if
 * none is better than another. */
static int
replica_nearest(rlf_control *c, const rlf_instance *in, const uint32_t *rows,
                uint32_t first, uint32_t last)
{
    const replica *r = replicas(c, in->node);
    int dp = place_of(c, in->node)->layout.dp, best = -1;
    uint32_t most = 0;
    for (int d = 0; d < dp; d++) {
        uint32_t count = 0;
        for (int i = 0, from; (from = next_input(c, in, &i)) >= 0;) {
            const track *t = track_of(c, from);
            if (t->everywhere || !aligned(c, in->node, from))
                continue;
            for (uint32_t k = first; k < last; k++)
                count += replica_has(c, &r[d], t, rows[k]);
        }
        if (count > most) {
            most = count;
            best = d;
        }
    }
    return best;
}

/* Rows that must stay together: those of one prompt. */
static bool
together(const rlf_node *node, const uint32_t *owner, uint32_t a, uint32_t b)
{
    return owner && owner[a] == owner[b] &&
           (node->class->sampled || node->grain == RLF_GRAIN_GROUP);
}

/* Which replica computes each of the rows: where they are already, else in
 * even runs. */
static int *
deal(rlf_control *c, const rlf_instance *in, const track *t,
     const uint32_t *rows, uint32_t n)
{
    int dp = place_of(c, in->node)->layout.dp;
    int *to = RLF_NEW_ARRAY(c->arena, int, n ? n : 1);
    for (uint32_t first = 0, last; first < n; first = last) {
        last = first + 1;
        while (last < n &&
               together(in->node, t->owner, rows[first], rows[last]))
            last++;
        int d = replica_nearest(c, in, rows, first, last);
        if (d < 0)
            d = (int)((uint64_t)first * (uint64_t)dp / n);
        for (uint32_t i = first; i < last; i++)
            to[i] = d;
    }
    return to;
}

/* What the replicas need of the inputs for the rows that they are dealt. */
static void
bring_rows(rlf_control *c, int instance, const uint32_t *rows, uint32_t n,
           const int *to)
{
    const rlf_instance *in = instance_of(c, instance);
    const rlf_layout *l = &place_of(c, in->node)->layout;
    const replica *r = replicas(c, in->node);
    int *first = RLF_NEW_ARRAY(c->arena, int, l->dp + 1);
    for (int d = 0; d < l->dp; d++)
        first[d + 1] = first[d] + r[d].n;
    const rlf_parts need = {
        .count = l->dp, .first = first, .list = r->ranks, .part = to};
    for (int i = 0, from; (from = next_input(c, in, &i)) >= 0;) {
        if (track_of(c, from)->everywhere)
            continue;
        if (aligned(c, in->node, from))
            bring(c, from, instance, rows, n, &need);
        else
            bring_all(c, from, instance, l->ranks, l->n_ranks);
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

static void
post_shares(rlf_control *c, int instance, const uint32_t *rows, uint32_t n,
            const int *to)
{
    const rlf_node *node = instance_of(c, instance)->node;
    const rlf_layout *l = &place_of(c, node)->layout;
    const replica *r = replicas(c, node);
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
                            .rows = sorted + end[d],
                            .n_rows = count};
    }
    rlf_post *post = add_post(c, RLF_POST_RUN, instance);
    post->shares = shares;
    post->n_shares = n_shares;
    active *a = await(c, post);
    if (node->class->sampled)
        return;
    a->told = true;
    active copy = *a;
    for (int i = 0; i < n_shares; i++)
        if (shares[i].reports)
            note_rows(c, &copy, &shares[i], shares[i].rows, shares[i].n_rows);
    if (n && track_of(c, instance)->n_done == track_of(c, instance)->n_rows)
        tell_done(c, instance, NULL);
}

/* `rows` NULL: all. The rows of the instance are known. */
static void
run_rows(rlf_control *c, int instance, const uint32_t *rows, uint32_t n)
{
    const rlf_instance *in = instance_of(c, instance);
    const track *t = track_of(c, instance);
    if (!rows) {
        uint32_t *all = RLF_NEW_ARRAY(c->arena, uint32_t, t->n_rows + 1);
        for (uint32_t i = 0; i < t->n_rows; i++)
            all[i] = i;
        rows = all;
        n = t->n_rows;
    }
    const int *to = deal(c, in, t, rows, n);
    bring_rows(c, instance, rows, n, to);
    post_shares(c, instance, rows, n, to);
    if (in->node->class->sampled && n && replicas(c, in->node)->n > 1)
        c->open_replicas++;
    if (!n) { /* nobody will report */
        c->actives.count--;
        tell_done(c, instance, NULL);
    }
}

/* An input that is made of the same rows tells how many there are. */
static bool
inherit_rows(rlf_control *c, int instance)
{
    const rlf_instance *in = instance_of(c, instance);
    for (int i = 0, from; (from = next_input(c, in, &i)) >= 0;) {
        const track *t = track_of(c, from);
        if (!t->opened || !aligned(c, in->node, from))
            continue;
        set_rows(c, instance, t->n_rows, t->owner);
        return true;
    }
    return false;
}

static void
run_split(rlf_control *c, const rlf_order_command *command)
{
    track *t = track_of(c, command->instance);
    uint32_t *rows = NULL;
    if (command->rows) {
        rows = RLF_NEW_ARRAY(c->arena, uint32_t, command->n_rows + 1);
        memcpy(rows, command->rows, command->n_rows * sizeof *rows);
    }
    if (t->opened || inherit_rows(c, command->instance)) {
        run_rows(c, command->instance, rows, command->n_rows);
        return;
    }
    RLF_ASSERT(!rows); /* pieces follow rows that are known */
    t->held = true;
    t->asked = add_post(c, RLF_POST_OPEN, command->instance)->n;
}

/* Does every rank have all that it reads? */
static bool
inputs_everywhere(rlf_control *c, int instance)
{
    const rlf_instance *in = instance_of(c, instance);
    for (int i = 0, from; (from = next_input(c, in, &i)) >= 0;)
        if (!track_of(c, from)->everywhere)
            return false;
    return true;
}

/* A cheap node is computed by everyone rather than sent to everyone. */
static void
run_near(rlf_control *c, const rlf_order_command *command)
{
    const track *t = track_of(c, command->instance);
    if (!t->announced && !command->rows &&
        inputs_everywhere(c, command->instance))
        run_together(c, command->instance, 0);
    else
        run_split(c, command);
}

/* The first rows of what the flow names, to rank 0, where samples are written
 * from. */
static void
bring_shown(rlf_control *c)
{
    for (size_t i = 0; i < c->tracks.count; i++) {
        const track *t = c->tracks.data[i];
        const rlf_node *node = instance_of(c, (int)i)->node;
        if (!t->opened || t->everywhere || node->region != 0)
            continue;
        uint32_t n = t->n_rows < c->shown ? t->n_rows : c->shown;
        bring(c, (int)i, -1, NULL, n,
              &(rlf_parts){
                  .count = 1, .first = (int[]){0, 1}, .list = (int[]){0}});
    }
}

static void
follow(rlf_control *c, const rlf_order_command *command)
{
    if (command->kind == RLF_DO_END) {
        bring_shown(c);
        await(c, add_post(c, RLF_POST_END, -1));
        c->ending = true;
    } else if (command->kind == RLF_DO_LOOP) {
        run_together(c, command->instance, command->iteration);
    } else if (command->kind == RLF_DO_RUN) {
        const rlf_node *node = instance_of(c, command->instance)->node;
        rlf_spread spread = place_of(c, node)->spread;
        bring_weights(c, command->instance); /* opening may look at them */
        if (spread == RLF_SPREAD_ROWS)
            run_split(c, command);
        else if (spread == RLF_SPREAD_NEAR)
            run_near(c, command);
        else
            run_together(c, command->instance, 0);
    }
}

const rlf_post *
rlf_control_next(rlf_control *c)
{
    static const rlf_post wait = {.kind = RLF_POST_WAIT, .instance = -1};
    if (c->next == c->posts.count && !c->ending) {
        rlf_order_command command = rlf_order_next(c->order);
        follow(c, &command);
    }
    return c->next < c->posts.count ? c->posts.data[c->next++] : &wait;
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

/* A rank's share of a generation is complete; its rows were reported. */
static void
done_sampling(rlf_control *c, const active *a)
{
    const track *t = track_of(c, a->instance);
    if (t->n_done != t->n_rows || a->left > 1)
        return;
    if (replicas(c, instance_of(c, a->instance)->node)->n > 1)
        c->open_replicas--;
    tell_done(c, a->instance, NULL);
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
done(rlf_control *c, const rlf_report *report)
{
    active *a = active_of(c, report->n);
    RLF_ASSERT(a);
    if (a->instance < 0)
        a->reported[report->rank] = true;
    else
        a->reported[share_of(a, report->rank) - a->shares] = true;
    active copy = *a;
    if (--a->left == 0)
        *a = c->actives.data[--c->actives.count];
    if (copy.instance < 0)
        c->ended = copy.left == 1;
    else if (copy.told)
        ; /* what follows it was posted behind it */
    else if (copy.shares->rows)
        done_sampling(c, &copy);
    else
        done_together(c, &copy, report);
}

static void
opened(rlf_control *c, const rlf_report *report)
{
    size_t i = 0;
    while (!c->tracks.data[i]->held || c->tracks.data[i]->asked != report->n)
        i++;
    c->tracks.data[i]->held = false;
    set_rows(c, (int)i, report->n_rows, report->owner);
    run_rows(c, (int)i, NULL, 0);
}

void
rlf_control_tell(rlf_control *c, const rlf_report *report)
{
    if (report->kind == RLF_REPORT_DONE) {
        done(c, report);
    } else if (report->kind == RLF_REPORT_ROWS) {
        const active *a = active_of(c, report->n);
        RLF_ASSERT(a);
        note_rows(c, a, share_of(a, report->rank), report->rows,
                  report->n_rows);
    } else {
        opened(c, report);
    }
}

bool
rlf_control_waits(const rlf_control *c, uint64_t *n, int *instance, int *rank)
{
    if (!c->actives.count)
        return false;
    const active *a = &c->actives.data[0];
    for (size_t i = 1; i < c->actives.count; i++)
        if (c->actives.data[i].n < a->n)
            a = &c->actives.data[i];
    *n = a->n;
    *instance = a->instance;
    *rank = -1;
    int count = a->instance < 0 ? c->n_ranks : a->n_shares;
    for (int i = 0; i < count && *rank < 0; i++)
        if (!a->reported[i] && (a->instance < 0 || a->shares[i].reports))
            *rank = a->instance < 0 ? i : a->shares[i].rank;
    return true;
}
