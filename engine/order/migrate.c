/* Generations at work: who makes which samples. Those that wait at a replica go
 * to one that has room; when few are left, they are gathered on the replicas
 * that have most of them, so that the others are free for what follows
 * (RLHFuse's inter-stage fusion; README.md, Long tails).
 *
 * Rows that a rank has completed and not yet reported are not known here: a row
 * may be complete where it was when its MOVE is carried out. Then it does not
 * go, and is reported by the replica that it left on paper. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

static uint32_t
room_of(const rlf_tail *tail)
{
    return tail->seats ? tail->seats : UINT32_MAX;
}

/* Samples that a replica is to have at work at most, now that they are
 * gathered: as many as keep a turn short and have room, if nothing says how
 * many. Those that are left are as long as the longest that is complete, or
 * soon will be. */
static uint32_t
seats_of(const track *t, const rlf_tail *tail)
{
    uint32_t room = room_of(tail), seats = t->seats;
    if (!seats)
        seats = rlf_tail_saturation(tail, t->prompt + t->longest);
    return seats && seats < room ? seats : room;
}

static void
find_threshold(rlf_control *c, const rlf_node *node, track *t)
{
    const rlf_node_place *place = rlf_control_place(c, node);
    const rlf_tail *tail = &c->tail[node->id];
    rlf_tail_gather is = {(uint32_t)place->migrate, (uint32_t)place->seats};
    double prompts = 0;
    for (uint32_t i = 0; i < t->n_rows && t->tokens; i++)
        prompts += t->tokens[i];
    t->prompt = t->n_rows ? prompts / t->n_rows : 0;
    if (place->migrate < 0)
        is = rlf_tail_find(
            tail,
            &(rlf_tail_begun){.n = t->n_rows,
                              .replicas = place->layout.dp,
                              .ranks = rlf_control_replicas(c, node)->n,
                              .room = room_of(tail),
                              .prompt = t->prompt,
                              .piece = rlf_order_piece(c->order, t->n_rows)});
    t->threshold = is.threshold;
    t->seats = is.seats;
}

/* The price of going over. Nobody measures what a byte takes, which is seldom
 * more than this: a gigabyte a second. */
static rlf_price
price(const rlf_control *c, const rlf_node *node, const rlf_tail *tail)
{
    static const rlf_price said[RLF_CARRIES] = {
        [RLF_CARRY_CHEAPER] = {.byte = 1e-9},
        [RLF_CARRY_PAGES] = {.token = 1},
        [RLF_CARRY_TOKENS] = {.byte = 1}};
    const rlf_node_place *place = rlf_control_place(c, node);
    rlf_price of = said[place->carry];
    double token;
    if (place->carry == RLF_CARRY_CHEAPER && rlf_tail_token(tail, &token))
        of.token = token;
    of.most = RLF_CAP_HANDOVER_BYTES / (uint64_t)place->layout.dp;
    return of;
}

void
rlf_control_sampling(rlf_control *c, int instance, const uint32_t *rows,
                     uint32_t n, const int *to)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    int dp = rlf_control_place(c, node)->layout.dp;
    track *t = rlf_control_track(c, instance);
    c->sampling = instance;
    if (rlf_control_replicas(c, node)->n > 1)
        c->open_replicas++;
    rlf_tail *tail = &c->tail[node->id];
    rlf_tail_begin(tail);
    c->sampled = false;
    find_threshold(c, node, t);
    rlf_arena *arena = rlf_control_arena(c, instance);
    t->maker = RLF_NEW_ARRAY(arena, int, t->n_rows);
    t->going = RLF_NEW_ARRAY(arena, int, t->n_rows);
    t->left = RLF_NEW_ARRAY(arena, uint32_t, dp);
    t->began = RLF_NEW_ARRAY(arena, bool, dp);
    for (uint32_t i = 0; i < n; i++) {
        t->maker[rows[i]] = to[i];
        t->left[to[i]]++;
        t->began[to[i]] = true;
    }
    uint32_t *tokens = RLF_NEW_ARRAY(arena, uint32_t, t->n_rows);
    if (t->tokens) /* of prompts; may be those of another instance */
        memcpy(tokens, t->tokens, t->n_rows * sizeof *tokens);
    t->prompts = t->tokens;
    t->tokens = tokens;
}

void
rlf_control_sampled(rlf_control *c, int instance, const rlf_rank_event *event)
{
    track *t = rlf_control_track(c, instance);
    for (uint32_t i = 0; i < event->n_rows; i++) {
        int *maker = &t->maker[event->rows[i]];
        c->changes += --t->left[*maker] == 0;
        *maker = -1;
        uint32_t length = event->lengths ? event->lengths[i] : 0;
        t->tokens[event->rows[i]] += length;
        t->longest = length > t->longest ? length : t->longest;
    }
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    rlf_tail_rows(&c->tail[node->id], event);
}

/* Ranks of the replicas of a reader of which some ranks generate, and of the
 * others. */
static void
count_readers(rlf_control *c, const rlf_node *reader, const rlf_node *generate,
              int *within, int *beside)
{
    word *set = RLF_NEW_ARRAY(c->arena, word, c->n_words);
    const replica *of = rlf_control_replicas(c, generate);
    for (int d = 0; d < rlf_control_place(c, generate)->layout.dp; d++)
        for (int i = 0; i < of[d].n; i++)
            put(set, of[d].ranks[i]);
    of = rlf_control_replicas(c, reader);
    *within = *beside = 0;
    for (int d = 0; d < rlf_control_place(c, reader)->layout.dp; d++) {
        bool samples = false;
        for (int i = 0; i < of[d].n; i++)
            samples |= has(set, of[d].ranks[i]);
        *(samples ? within : beside) += of[d].n;
    }
}

/* Calls of samples that were made ahead read them when they are all there. */
void
rlf_control_followed(rlf_control *c, const active *a,
                     const rlf_rank_event *event)
{
    const rlf_instance *in = rlf_control_instance(c, a->instance);
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;) {
        const rlf_node *node = rlf_control_instance(c, from)->node;
        if (node->class->work != RLF_WORK_GENERATE ||
            node->ahead != in->node->ahead ||
            !rlf_control_aligned(c, in->node, from))
            continue;
        int ranks = rlf_control_replicas(c, in->node)->n;
        const rlf_node **reader = &c->reader[node->id];
        if (!*reader || rlf_control_replicas(c, *reader)->n < ranks)
            *reader = in->node;
        int within, beside;
        count_readers(c, in->node, node, &within, &beside);
        rlf_tail_follow(&c->tail[node->id], event->seconds, ranks, within,
                        beside);
        return;
    }
}

const word *
rlf_control_samplers(rlf_control *c)
{
    word *set = RLF_NEW_ARRAY(c->arena, word, c->n_words);
    const rlf_node *node = rlf_control_instance(c, c->sampling)->node;
    const replica *r = rlf_control_replicas(c, node);
    const track *t = rlf_control_track(c, c->sampling);
    int dp = rlf_control_place(c, node)->layout.dp;
    for (int d = 0; d < dp; d++)
        for (int i = 0; t->left[d] && i < r[d].n; i++)
            put(set, r[d].ranks[i]);
    return set;
}

const replica *
rlf_control_maker(rlf_control *c, int instance)
{
    const track *t = rlf_control_track(c, instance);
    uint32_t i = 0;
    while (i < t->n_rows && t->maker[i] < 0)
        i++;
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    return i < t->n_rows ? &rlf_control_replicas(c, node)[t->maker[i]] : NULL;
}

/* ---- gathering ---- */

/* Per replica of a generation the replica that it lies in of the call that
 * reads samples on most ranks; itself where it is known of none, or lies in
 * several. `apart`: none of its ranks is one of that call. */
static int *
readers_of(rlf_control *c, const rlf_node *node, int dp, bool *apart)
{
    int *in = RLF_NEW_ARRAY(c->arena, int, dp);
    int *of = RLF_NEW_ARRAY(c->arena, int, c->n_ranks); /* less one */
    const rlf_node *reader = c->reader[node->id];
    const replica *mine = rlf_control_replicas(c, node);
    int n = reader ? rlf_control_place(c, reader)->layout.dp : 0;
    for (int k = 0; k < n; k++) {
        const replica *r = &rlf_control_replicas(c, reader)[k];
        for (int i = 0; i < r->n; i++)
            of[r->ranks[i]] = k + 1;
    }
    for (int d = 0; d < dp; d++) {
        int first = of[mine[d].ranks[0]];
        bool same = first > 0;
        apart[d] = n && !first;
        for (int i = 1; i < mine[d].n; i++) {
            same &= of[mine[d].ranks[i]] == first;
            apart[d] &= !of[mine[d].ranks[i]];
        }
        in[d] = same ? first - 1 : n + d;
    }
    return in;
}

/* The replicas that go on, n of those at work: first those that have no rank of
 * a call that reads samples, then all that share the ranks of one of its
 * replicas, so that as many others as can be can read; of these those that have
 * most left together, and of them those with the most. */
static bool *
staying(rlf_control *c, const rlf_node *node, const track *t, int dp, int n)
{
    bool *stay = RLF_NEW_ARRAY(c->arena, bool, dp);
    bool *apart = RLF_NEW_ARRAY(c->arena, bool, dp);
    const int *reader = readers_of(c, node, dp, apart);
    uint32_t *together = RLF_NEW_ARRAY(c->arena, uint32_t, c->n_ranks + dp);
    int begun = -1;
    for (int d = 0; d < dp; d++)
        together[reader[d]] += t->left[d];
    while (n-- > 0) {
        int best = -1;
        for (int d = 0; d < dp; d++) {
            if (stay[d] || !t->left[d])
                continue;
            if (best < 0) {
                best = d;
                continue;
            }
            bool mine = reader[d] == begun, its = reader[best] == begun;
            uint32_t all = together[reader[d]], most = together[reader[best]];
            if (apart[d] != apart[best] ? apart[d]
                : mine != its           ? mine
                : all != most
                    ? all > most
                    : reader[d] == reader[best] && t->left[d] > t->left[best])
                best = d;
        }
        stay[best] = true;
        begun = reader[best];
    }
    return stay;
}

/* The replica that each row goes to; at first -1, which keeps it. */
static int *
nowhere(track *t)
{
    return memset(t->going, 0xff, sizeof *t->going * t->n_rows);
}

/* The target of each row that goes, -1 for the others: samples of a prompt
 * together, to the one with the fewest. */
static int *
assign(track *t, int dp, const bool *stay)
{
    int *to = nowhere(t);
    int last = -1; /* the row before that goes */
    for (uint32_t i = 0; i < t->n_rows; i++) {
        int from = t->maker[i];
        if (from < 0 || stay[from])
            continue;
        if (last >= 0 && t->owner && t->owner[last] == t->owner[i] &&
            t->maker[last] == from) {
            to[i] = to[last];
        } else {
            for (int d = 0; d < dp; d++)
                if (stay[d] && (to[i] < 0 || t->left[d] < t->left[to[i]]))
                    to[i] = d;
        }
        t->left[to[i]]++;
        last = (int)i;
    }
    return to;
}

/* Sorts what goes: the rows of each pair of replicas behind one another, as far
 * as end[from * dp + to]; the number of pairs. */
static int
sort_moves(const rlf_control *c, const track *t, const int *to, int dp,
           uint32_t **end, uint32_t **rows)
{
    int pairs = 0;
    uint32_t *at = RLF_NEW_ARRAY(c->arena, uint32_t, dp * dp + 1);
    for (uint32_t i = 0; i < t->n_rows; i++)
        if (to[i] >= 0)
            pairs += at[t->maker[i] * dp + to[i] + 1]++ == 0;
    for (int k = 0; k < dp * dp; k++)
        at[k + 1] += at[k];
    *rows = RLF_NEW_ARRAY(c->arena, uint32_t, at[dp * dp]);
    for (uint32_t i = 0; i < t->n_rows; i++)
        if (to[i] >= 0)
            (*rows)[at[t->maker[i] * dp + to[i]]++] = i;
    *end = at;
    return pairs;
}

/* Row i goes on at replica to[i], which counts it already, or stays where it is
 * if that is -1. A move for each rank of each pair of replicas. */
static void
post_moves(rlf_control *c, int instance, const int *to)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const replica *r = rlf_control_replicas(c, node);
    track *t = rlf_control_track(c, instance);
    int dp = rlf_control_place(c, node)->layout.dp;
    uint32_t *end, *rows;
    int pairs = sort_moves(c, t, to, dp, &end, &rows);
    rlf_move *moves = RLF_NEW_ARRAY(c->arena, rlf_move, pairs * r->n);
    rlf_rank_command *command = rlf_control_post(c, RLF_DO_MOVE, instance);
    command->moves = moves;
    uint32_t first = 0;
    for (int k = 0; k < dp * dp; first = end[k++])
        for (int i = 0; i < r->n && end[k] > first; i++)
            moves[command->n_moves++] = (rlf_move){.from = r[k / dp].ranks[i],
                                                   .to = r[k % dp].ranks[i],
                                                   .rows = rows + first,
                                                   .n_rows = end[k] - first};
    for (uint32_t i = 0; i < t->n_rows; i++) {
        if (to[i] < 0)
            continue;
        t->left[t->maker[i]]--;
        t->maker[i] = to[i];
    }
    c->changes++;
    command->price = price(c, node, &c->tail[node->id]);
}

/* ---- feeding ---- */

/* With this part of its seats empty a replica can do with more. */
enum { EMPTY_SEATS = 4 };

/* The first of the rows up to `last` that are of one prompt with it. */
static uint32_t
first_of_prompt(const track *t, uint32_t last)
{
    uint32_t i = last;
    while (i > 0 && t->owner && t->owner[i - 1] == t->owner[last])
        i--;
    return i;
}

/* While samples wait for a seat at one replica and another has seats to spare,
 * that takes so many of them that both have the same: the last rows, for a
 * generation begins with the first, and those of a prompt together. One that
 * was given none at first has not begun, and would not report them. */
static void
feed(rlf_control *c, int instance, uint32_t seats)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    track *t = rlf_control_track(c, instance);
    int dp = rlf_control_place(c, node)->layout.dp, from = 0, by = -1;
    for (int d = 0; d < dp; d++) {
        from = t->left[d] > t->left[from] ? d : from;
        if (t->began[d] && (by < 0 || t->left[d] < t->left[by]))
            by = d;
    }
    uint32_t most = t->left[from], least = t->left[by], went = 0;
    uint32_t empty = (seats + EMPTY_SEATS - 1) / EMPTY_SEATS;
    if (most <= seats || least + empty > seats)
        return;
    uint32_t even = (most - least) / 2, waiting = most - seats;
    uint32_t go = even < waiting ? even : waiting;
    int *to = nowhere(t);
    for (uint32_t end = t->n_rows, first; end > 0; end = first) {
        uint32_t here = 0;
        first = first_of_prompt(t, end - 1);
        for (uint32_t i = first; i < end; i++)
            here += t->maker[i] == from;
        if (went + here > go)
            continue;
        went += here;
        for (uint32_t i = first; i < end; i++)
            if (t->maker[i] == from)
                to[i] = by;
    }
    if (!went)
        return;
    t->left[by] += went;
    post_moves(c, instance, to);
}

void
rlf_control_migrate(rlf_control *c)
{
    int instance = c->sampling;
    bool heard = c->sampled;
    c->sampled = false;
    if (instance < 0 || !heard)
        return;
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    int dp = rlf_control_place(c, node)->layout.dp, at_work = 0;
    track *t = rlf_control_track(c, instance);
    uint32_t rest = t->n_rows - t->n_done;
    const rlf_tail *tail = &c->tail[node->id];
    if (rest >= t->threshold && tail->seats &&
        rlf_control_place(c, node)->migrate != 0)
        feed(c, instance, tail->seats);
    if (rest >= t->threshold)
        return;
    uint32_t seats = seats_of(t, tail);
    uint32_t need = rest / seats + (rest % seats > 0);
    for (int d = 0; d < dp; d++)
        at_work += t->left[d] > 0;
    if (need < (uint32_t)at_work)
        post_moves(c, instance,
                   assign(t, dp, staying(c, node, t, dp, (int)need)));
}
