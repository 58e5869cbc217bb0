/* Stretches of moves of weights, routed as a plan routes them: see moves.h. */
#include "engine/search/moves_state.h"

#include <math.h>
#include <string.h>

#include "engine/timing/transfers.h"

enum { CHAIN = 4 }; /* machines that are looked at of a chain */

/* ---- tables ---- */

static uint64_t *
find_slot(const table *t, uint64_t key)
{
    size_t at = (size_t)(key ^ key >> 32) & (t->room - 1);
    while (t->key[at] && t->key[at] != key)
        at = (at + 1) & (t->room - 1);
    return &t->key[at];
}

static void *
value_of(const table *t, const uint64_t *slot)
{
    return t->value + (size_t)(slot - t->key) * t->size;
}

static void
grow(table *t, rlf_arena *arena)
{
    enum { LEAST = 256 };
    table old = *t;
    t->room = old.room ? 2 * old.room : LEAST;
    t->key = RLF_NEW_ARRAY(arena, uint64_t, t->room);
    t->value = RLF_NEW_ARRAY(arena, char, t->room * t->size);
    for (size_t i = 0; i < old.room; i++) {
        if (!old.key[i])
            continue;
        uint64_t *slot = find_slot(t, old.key[i]);
        *slot = old.key[i];
        memcpy(value_of(t, slot), old.value + i * t->size, t->size);
    }
}

void *
rlf_moves_known(const table *t, uint64_t key)
{
    uint64_t *slot = t->room ? find_slot(t, key) : NULL;
    return slot && *slot ? value_of(t, slot) : NULL;
}

void
rlf_moves_keep(table *t, uint64_t key, const void *value, rlf_arena *arena)
{
    if (2 * t->n >= t->room)
        grow(t, arena);
    uint64_t *slot = find_slot(t, key);
    t->n += !*slot;
    *slot = key;
    memcpy(value_of(t, slot), value, t->size);
}

uint64_t
rlf_moves_mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* ---- a stretch, routed ---- */

/* Ranks in the place of others, as they are routed. */
typedef struct ranks_in {
    int *from, *to, n_from, n_to;
    int *used; /* per part of the cluster: machines */
    int world;
} ranks_in;

const rlf_cluster_part *
rlf_moves_part(const rlf_moves *m, int machine)
{
    const rlf_cluster *c = m->speeds->cluster;
    int i = c->n_parts - 1;
    while (machine < c->parts[i].first_machine)
        i--;
    return &c->parts[i];
}

rlf_range
rlf_moves_ranks(const rlf_moves *m, int machine)
{
    const rlf_cluster_part *part = rlf_moves_part(m, machine);
    int count = part->machine->count;
    int first = part->first_rank + (machine - part->first_machine) * count;
    return (rlf_range){first, first + count};
}

/* Gives the ranks of a machine that take part the first ones of a machine of
 * its kind. */
static void
stand_in(rlf_moves *m, int machine, ranks_in *in)
{
    const rlf_cluster_part *part = rlf_moves_part(m, machine);
    int *used = &in->used[part - m->speeds->cluster->parts];
    int next = part->first_rank + (*used)++ * part->machine->count;
    rlf_range on = rlf_moves_ranks(m, machine);
    for (int64_t r = on.first; r < on.last; r++) {
        if (!m->parts[r].old && !m->parts[r].new)
            continue;
        m->copied[next] = m->replica[r];
        m->canon[r] = next++;
    }
    in->world = next > in->world ? next : in->world;
}

/* Adds those that stand for the ranks of a machine, or (-1) of all. */
static void
add_ranks(const rlf_moves *m, const span *s, int machine, ranks_in *in)
{
    for (int i = 0; i < s->n_from; i++)
        if (machine < 0 || m->machine_of[s->from[i]] == machine)
            in->from[in->n_from++] = m->canon[s->from[i]];
    for (int i = 0; i < s->n_to; i++)
        if (machine < 0 || m->machine_of[s->to[i]] == machine)
            in->to[in->n_to++] = m->canon[s->to[i]];
}

static ranks_in
find_ranks(rlf_moves *m, const span *s, int heads)
{
    const rlf_cluster *c = m->speeds->cluster;
    int from = s->n_from, to = s->n_to * (s->cut ? heads + 1 : 1);
    ranks_in in = {.from = RLF_NEW_ARRAY(m->scratch, int, from),
                   .to = RLF_NEW_ARRAY(m->scratch, int, to),
                   .used = RLF_NEW_ARRAY(m->scratch, int, c->n_parts)};
    if (s->cut) {
        stand_in(m, s->source, &in);
        add_ranks(m, s, s->source, &in);
        for (int i = 0; i < heads; i++) {
            stand_in(m, s->head, &in);
            add_ranks(m, s, s->head, &in);
        }
        return in;
    }
    for (int k = s->low; k <= s->high; k++)
        if (m->machines[k].holders || m->machines[k].receivers)
            stand_in(m, k, &in);
    add_ranks(m, s, -1, &in);
    return in;
}

/* Bytes of a layer through the links of machines that hold it (0), and of the
 * others (1). */
static void
count_bytes(rlf_moves *m, const rlf_realloc_job *job,
            const rlf_realloc_plan *plan, int layers, stretch *out)
{
    int machines = m->speeds->cluster->machines;
    double *leaves = RLF_NEW_ARRAY(m->scratch, double, machines);
    double *enters = RLF_NEW_ARRAY(m->scratch, double, machines);
    bool *holds = RLF_NEW_ARRAY(m->scratch, bool, machines);
    for (int i = 0; i < job->from->n_ranks; i++)
        holds[m->machine_of[job->from->ranks[i]]] = true;
    for (int i = 0; i < plan->n_sends; i++) {
        const rlf_send *s = &plan->sends[i];
        int a = m->machine_of[s->from], b = m->machine_of[s->to];
        double bytes = (double)(rlf_box_count(s->box) *
                                rlf_realloc_element(job, s->tensor)) /
                       layers;
        leaves[a] += a == b ? 0 : bytes;
        enters[b] += a == b ? 0 : bytes;
    }
    for (int i = 0; i < machines; i++) {
        double *l = &out->leaves[!holds[i]], *e = &out->enters[!holds[i]];
        *l = fmax(*l, leaves[i]);
        *e = fmax(*e, enters[i]);
    }
}

/* The transfers of the first layers of a plan. */
static rlf_realloc_plan
first_of(const rlf_realloc_plan *plan, int n)
{
    rlf_realloc_plan part = *plan;
    part.n_sends = part.rounds = 0;
    while (part.n_sends < plan->n_sends &&
           plan->sends[part.n_sends].tensor < n) {
        int round = plan->sends[part.n_sends++].round;
        part.rounds = round >= part.rounds ? round + 1 : part.rounds;
    }
    return part;
}

/* The time at which each of the ranks is through, by machine. */
static const double *
keep_ends(rlf_moves *m, const span *s, const double *ends)
{
    double *kept = RLF_NEW_ARRAY(m->arena, double, s->n_from + s->n_to);
    int n = 0;
    int low = s->cut ? s->source : s->low, high = s->cut ? s->source : s->high;
    for (int k = low; k <= high; k++) {
        rlf_range on = rlf_moves_ranks(m, k);
        for (int64_t r = on.first; r < on.last; r++)
            if (m->parts[r].old || m->parts[r].new)
                kept[n++] = ends[m->canon[r]];
    }
    return kept;
}

static stretch
route(rlf_moves *m, const span *s, int heads)
{
    ranks_in in = find_ranks(m, s, heads);
    const tensors *t = s->tensors;
    int layers = t->layers[ROUTED].count ? ROUTED : 1;
    const rlf_layout from = {.ranks = in.from,
                             .n_ranks = in.n_from,
                             .tp = s->old_parts,
                             .pp = 1,
                             .dp = in.n_from / s->old_parts};
    const rlf_layout to = {.ranks = in.to,
                           .n_ranks = in.n_to,
                           .tp = s->new_parts,
                           .pp = 1,
                           .dp = in.n_to / s->new_parts};
    rlf_realloc_job job = {.shapes = &t->layers[layers],
                           .from = &from,
                           .to = &to,
                           .machine = m->machine_of,
                           .element = s->element,
                           .vector = sizeof(float),
                           .inside = m->links.inside,
                           .across = m->links.across,
                           .by_layer = s->by_layer,
                           .alike = s->alike,
                           .part = true,
                           .replica = s->same ? m->copied : NULL};
    rlf_err err = RLF_ERR_NONE;
    rlf_realloc_plan plan, few;
    stretch out = {0};
    if (rlf_realloc_make(&job, m->scratch, &err, &plan) < 0)
        return out;
    double *ends = RLF_NEW_ARRAY(m->scratch, double, in.world);
    out.routed = rlf_transfers_seconds(m->speeds, &job, &plan, in.world,
                                       m->scratch, ends);
    count_bytes(m, &job, &plan, layers, &out);
    if (!s->cut || !s->heads)
        out.through = keep_ends(m, s, ends);
    out.each = out.routed;
    if (layers == 1)
        return out;
    job.shapes = &t->layers[FEW];
    job.alike *= ROUTED / FEW;
    few = first_of(&plan, FEW * t->n);
    if (!s->by_layer && rlf_realloc_make(&job, m->scratch, &err, &few) < 0)
        return out;
    double first = rlf_transfers_seconds(m->speeds, &job, &few, in.world,
                                         m->scratch, NULL);
    out.each = (out.routed - first) / (ROUTED - FEW);
    return out;
}

static uint64_t
hash_machine(const rlf_moves *m, const span *s, int machine, uint64_t hash)
{
    bool same = s->same;
    rlf_range on = rlf_moves_ranks(m, machine);
    int replica = -1;
    hash = ~rlf_moves_mix(hash, (uint64_t)(rlf_moves_part(m, machine) -
                                           m->speeds->cluster->parts));
    for (int64_t r = on.first; r < on.last; r++) {
        const parts *p = &m->parts[r];
        if (!p->old && !p->new)
            continue;
        if (same && replica < 0)
            replica = m->replica[r];
        uint64_t by = same ? (uint64_t)(uint32_t)(m->replica[r] - replica) : 0;
        hash = rlf_moves_mix(hash, by << 32 | (uint64_t)p->old << 16 | p->new);
    }
    return hash;
}

/* As it was routed before, or else now. */
static stretch
find_stretch(rlf_moves *m, const span *s, int heads)
{
    /* The first number is not mixed yet: it must not have bits in common with
     * the second. */
    uint64_t key = rlf_moves_mix(
        (uint64_t)s->tensors->number << 32,
        (uint64_t)s->alike << 20 | (uint64_t)s->element << 9 |
            (uint64_t)s->cut << 8 | (uint64_t)s->by_layer << 1 | s->same);
    key = rlf_moves_mix(key,
                        (uint64_t)s->old_parts << 32 | (uint64_t)s->new_parts);
    if (s->cut) {
        key =
            rlf_moves_mix(hash_machine(m, s, s->source, key), (uint64_t)heads);
        if (heads)
            key = hash_machine(m, s, s->head, key);
    } else {
        for (int k = s->low; k <= s->high; k++)
            if (m->machines[k].holders || m->machines[k].receivers)
                key = hash_machine(m, s, k, key);
    }
    key |= 1;
    const stretch *known = rlf_moves_known(&m->stretches, key);
    if (known)
        return *known;
    stretch out = route(m, s, heads);
    rlf_arena_reset(m->scratch);
    rlf_moves_keep(&m->stretches, key, &out, m->arena);
    return out;
}

/* Of a chain of machines each more takes as much longer as the last one. Where
 * one sends to all, or in a tree, its link is what all wait for. */
stretch
rlf_moves_route(rlf_moves *m, const span *s)
{
    int heads =
        s->cut && s->heads ? (s->heads + s->sources - 1) / s->sources : 0;
    if (heads <= CHAIN)
        return find_stretch(m, s, heads);
    stretch out = find_stretch(m, s, CHAIN);
    double copies = out.enters[1] > 0 ? out.leaves[0] / out.enters[1] : 1;
    if (copies < 2) {
        double more = out.routed - find_stretch(m, s, CHAIN - 1).routed;
        out.routed += (heads - CHAIN) * fmax(more, 0);
        return out;
    }
    double times = copies < CHAIN ? (floor(log2(heads)) + 1) / copies
                                  : (double)heads / CHAIN;
    out.routed *= times;
    out.each *= times;
    out.leaves[0] *= times;
    return out;
}
