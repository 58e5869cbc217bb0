/* Messages before an instance can run: rows of its inputs from rank to rank,
 * and weights. */
#include "engine/base/hash.h"
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

/* ---- edges ---- */

/* The holders of an instance's rows: a part for every set of ranks that has
 * some of them. */
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

/* Row i of `rows`; NULL: row i. */
static uint32_t
nth(const uint32_t *rows, int64_t i)
{
    return rows ? rows[i] : (uint32_t)i;
}

/* Ranks that had better not send a row: those at work, but for those that it
 * goes to, which need not be sent what they have. Found once for each part. */
typedef struct senders {
    const word *busy;
    const word *sampling;  /* of the others, those who had better not either;
                              NULL: none */
    const rlf_parts *need; /* NULL: nobody is spared */
    const word **of;       /* per part of `need`; NULL: not found yet */
} senders;

static const word *
spared(const rlf_control *c, senders *s, int64_t i)
{
    if (!s->need)
        return s->busy;
    int part = s->need->part ? s->need->part[i] : 0;
    if (s->of[part])
        return s->of[part];
    word *set = RLF_NEW_ARRAY(c->arena, word, c->n_words);
    memcpy(set, s->busy, sizeof *set * (size_t)c->n_words);
    for (int k = s->need->first[part]; k < s->need->first[part + 1]; k++)
        take(set, s->need->list[k]);
    return s->of[part] = set;
}

/* Ranks without those of a set (NULL: none is), unless they are all. */
static const word *
without(const rlf_control *c, const word *ranks, const word *set)
{
    word *left = RLF_NEW_ARRAY(c->arena, word, c->n_words), some = 0;
    for (int k = 0; k < c->n_words && set; k++)
        some |= left[k] = ranks[k] & ~set[k];
    return some ? left : ranks;
}

/* Those who have a row and had better send it: whoever is at work would keep
 * the others waiting, and who samples would wait for them. */
static const word *
senders_of(const rlf_control *c, const track *t, uint32_t row, const word *busy,
           const word *sampling)
{
    const word *have = rlf_control_ranks_with(c, t, row);
    const word *left = without(c, have, busy);
    return left == have ? without(c, have, sampling) : left;
}

static holders
holders_of(const rlf_control *c, const track *t, const uint32_t *rows,
           uint32_t n, senders *from)
{
    holders h = {.n_slots = 2};
    while (h.n_slots < 2 * (size_t)n)
        h.n_slots *= 2;
    h.slot = RLF_NEW_ARRAY(c->arena, int, h.n_slots);
    h.set = RLF_NEW_ARRAY(c->arena, const word *, n + 1);
    h.part = RLF_NEW_ARRAY(c->arena, int, n + 1);
    for (uint32_t i = 0; i < n; i++)
        h.part[i] = part_of_set(
            c, &h,
            senders_of(c, t, nth(rows, i), spared(c, from, i), from->sampling));
    list_ranks(c, &h);
    h.shown.part = h.part;
    return h;
}

bool
rlf_control_is_stored(const rlf_control *c, int instance)
{
    return rlf_control_instance(c, instance)->node->class->level !=
           RLF_LEVEL_VOCAB;
}

/* Row i of the edge is row rows[i] (NULL: i) of instance `of`. */
static void
post_edge(rlf_control *c, int of, int reader, int round, const uint32_t *rows,
          const rlf_edge *e)
{
    bool whole = rlf_control_instance(c, of)->node->rows < 0;
    rlf_move *moves = RLF_NEW_ARRAY(c->arena, rlf_move, e->count);
    for (int i = 0; i < e->count; i++) {
        const rlf_transfer *x = &e->list[i];
        uint32_t *list = RLF_NEW_ARRAY(c->arena, uint32_t, x->n_rows);
        for (int64_t k = 0; k < x->n_rows; k++)
            list[k] = nth(rows, x->rows[k]);
        rlf_control_give(c, of, list, x->n_rows, x->to);
        moves[i] = (rlf_move){.from = x->from,
                              .to = x->to,
                              .rows = whole ? NULL : list,
                              .n_rows = (uint32_t)x->n_rows};
    }
    rlf_rank_command *command = rlf_control_post(c, RLF_DO_EDGE, of);
    command->reader = reader;
    command->round = round;
    command->moves = moves;
    command->n_moves = e->count;
    rlf_control_note_moves(c, command);
}

void
rlf_control_bring(rlf_control *c, int of, int reader, const uint32_t *rows,
                  uint32_t n, const rlf_parts *need)
{
    if (!rlf_control_is_stored(c, of))
        return;
    senders from = {.busy = rlf_control_at_work(c),
                    .need = need,
                    .of = RLF_NEW_ARRAY(c->arena, const word *, need->count)};
    holders h = holders_of(c, rlf_control_track(c, of), rows, n, &from);
    rlf_edge e;
    rlf_edge_between(&h.shown, need, n, NULL, NULL, c->arena, &e);
    if (e.count)
        post_edge(c, of, reader, 0, rows, &e);
}

static const word *
all_but(const rlf_control *c, const int *ranks, int n, rlf_arena *arena)
{
    word *set = RLF_NEW_ARRAY(arena, word, c->n_words);
    memset(set, 0xff, sizeof *set * (size_t)c->n_words);
    for (int i = 0; i < n; i++)
        take(set, ranks[i]);
    return set;
}

/* Those who get all take part in what follows, and wait for each other anyway:
 * what one of them has is sent by nobody else, who might have to wait for them;
 * and nobody who samples sends what somebody else has. */
void
rlf_control_bring_all(rlf_control *c, int from, int reader, const int *to,
                      int n_to)
{
    track *t = rlf_control_track(c, from);
    if (t->everywhere)
        return;
    bool rows = rlf_control_instance(c, from)->node->rows >= 0;
    uint32_t n = rows ? t->n_rows : 1;
    t->everywhere = n_to == c->n_ranks && (!rows || t->n_done == n);
    if (!rlf_control_is_stored(c, from))
        return;
    rlf_arena *scratch = rlf_arena_new();
    senders own = {.busy = all_but(c, to, n_to, scratch),
                   .sampling = rlf_control_next_samplers(c)};
    holders h = holders_of(c, t, NULL, n, &own);
    rlf_edge *rounds;
    int n_rounds = rlf_edge_all_gather(&h.shown, to, n_to, n, scratch, &rounds);
    for (int i = 0; i < n_rounds; i++)
        post_edge(c, from, reader, i, NULL, &rounds[i]);
    rlf_arena_free(scratch);
}

void
rlf_control_bring_inputs(rlf_control *c, int of, const int *to, int n_to)
{
    const rlf_instance *in = rlf_control_instance(c, of);
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;)
        rlf_control_bring_all(c, from, of, to, n_to);
}

/* ---- weights ---- */

void
rlf_control_bring_copy(rlf_control *c, int model, int copy, int node,
                       int instance)
{
    uint64_t *version = c->version[model];
    if (version[copy] == version[0])
        return;
    version[copy] = version[0];
    rlf_rank_command *command = rlf_control_post(c, RLF_DO_WEIGHTS, instance);
    command->model = model;
    command->copy = copy;
    command->node = node;
    rlf_control_note_weights(c, command);
}

void
rlf_control_bring_weights(rlf_control *c, int instance)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const int *copy = rlf_control_place(c, node)->copy;
    for (size_t i = 0; c->version && i < c->plan->graph->resources.count; i++) {
        if (copy[i] > 0)
            rlf_control_bring_pins(c);
        if (copy[i] > 0 && node->ahead && c->separate[i])
            rlf_control_take_waiting(c, (int)i);
        else if (copy[i] > 0)
            rlf_control_bring_copy(c, (int)i, copy[i], node->id, instance);
    }
}

void
rlf_control_note_writes(rlf_control *c, int instance)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    for (int i = 0; c->version && i < node->n_writes; i++)
        if (c->plan->copies[node->writes[i]].n)
            c->version[node->writes[i]][0]++;
}
