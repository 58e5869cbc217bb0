/* Weight edges: see realloc.h and the README.
 *
 * A tensor is cut where either layout cuts it. Each piece has its holders and
 * its receivers; pieces with the same of both are a flow, and how a flow
 * spreads is decided as a whole. Then piece by piece: which rank sends, through
 * whom. */
#include "engine/plan/realloc.h"

#include "engine/base/map.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Pieces that the same ranks hold and the same ranks need. */
typedef struct flow {
    int *holders, *receivers;
    int n_holders, n_receivers;
    int64_t bytes, pieces;
} flow;

typedef struct piece {
    flow *flow;
    int tensor;
    int64_t number, bytes; /* its number in the flow */
    rlf_box box;
} piece;

/* Somebody who has the piece: from the start (after -1) or by a send. */
typedef struct spot {
    int rank, after, round;
    bool staggered; /* pieces of the flow come here one round apart */
} spot;

typedef struct maker {
    const rlf_realloc_job *job;
    rlf_arena *arena, *scratch;
    rlf_realloc_plan *out;
    int world, machines;              /* largest rank and machine, plus one */
    int *members, n_members;          /* ranks of either layout, ascending */
    const int *replica;               /* as of the job; NULL: not same ranks */
    rlf_coordinates *old_at, *new_at; /* by rank */
    rlf_box *old_box, *new_box;       /* likewise, of the tensor at hand */
    RLF_VEC(piece) pieces;
    rlf_map flows;
    RLF_VEC(rlf_send) sends, copies;
    int64_t *load;     /* bytes sent, by rank */
    int64_t *crossing; /* bytes sent to other machines, by machine */
    int rounds;
    unsigned topologies;
    /* Of the piece at hand, by machine: who sends it from there, -1 if nobody
     * holds it; who receives it first, -1 if nobody has to. */
    int *sender, *head;
    /* Scratch: who it goes to on a machine, and on the others; where those
     * have it from. */
    int *to, *others;
    spot *spots, *far;
    rlf_buf key; /* of a flow */
} maker;

static int
machine_of(const maker *m, int rank)
{
    return m->job->machine ? m->job->machine[rank] : 0;
}

static rlf_box
old_box(const maker *m, int tensor, int rank)
{
    return rlf_layout_box_at(m->job->from, m->job->shapes, tensor,
                             m->old_at[rank]);
}

static rlf_box
new_box(const maker *m, int tensor, int rank)
{
    return rlf_layout_box_at(m->job->to, m->job->shapes, tensor,
                             m->new_at[rank]);
}

/* Pieces and flows */

static bool
inside(rlf_box part, rlf_box whole)
{
    return rlf_box_count(rlf_box_meet(part, whole)) == rlf_box_count(part);
}

/* Holders and receivers of a box, into room for `world` each. */
static flow
ends_of(const maker *m, rlf_box box, int *holders, int *receivers)
{
    flow f = {.holders = holders, .receivers = receivers};
    for (int i = 0; i < m->n_members; i++) {
        int rank = m->members[i];
        if (inside(box, m->old_box[rank]))
            f.holders[f.n_holders++] = rank;
        else if (inside(box, m->new_box[rank]))
            f.receivers[f.n_receivers++] = rank;
    }
    return f;
}

/* Appends numbers to a key, each as digits of which none is NUL. */
static void
put_numbers(rlf_buf *key, const int *list, int n)
{
    enum { BASE = 255 };
    for (int i = 0; i < n; i++) {
        int x = list[i];
        const unsigned char digits[] = {
            (unsigned char)(1 + x % BASE),
            (unsigned char)(1 + x / BASE % BASE),
            (unsigned char)(1 + x / BASE / BASE % BASE),
        };
        rlf_buf_add(key, digits, sizeof digits);
    }
}

/* The flow with these ends, made if it is the first of its kind. */
static flow *
find_flow(maker *m, const flow *ends)
{
    rlf_buf *key = &m->key;
    rlf_buf_clear(key);
    put_numbers(key, &ends->n_holders, 1);
    put_numbers(key, ends->holders, ends->n_holders);
    put_numbers(key, ends->receivers, ends->n_receivers);
    flow *f = rlf_map_get(&m->flows, key->p);
    if (!f) {
        f = RLF_NEW(m->arena, flow);
        *f = *ends;
        f->holders = RLF_NEW_ARRAY(m->arena, int, f->n_holders);
        f->receivers = RLF_NEW_ARRAY(m->arena, int, f->n_receivers);
        memcpy(f->holders, ends->holders, sizeof(int) * (size_t)f->n_holders);
        memcpy(f->receivers, ends->receivers,
               sizeof(int) * (size_t)f->n_receivers);
        rlf_map_put(&m->flows, key->p, f);
    }
    return f;
}

static void
add_piece(maker *m, int tensor, rlf_box box, int *holders, int *receivers)
{
    flow ends = ends_of(m, box, holders, receivers);
    if (!ends.n_receivers)
        return;
    flow *f = find_flow(m, &ends);
    int64_t bytes = rlf_box_count(box) * rlf_realloc_element(m->job, tensor);
    RLF_PUSH(&m->pieces, (piece){f, tensor, f->pieces, bytes, box});
    f->bytes += bytes;
    f->pieces++;
}

static int
ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Appends the places where the layout cuts the tensor to cuts. Returns their
 * number. */
static int
add_cuts(const rlf_layout *layout, const rlf_shapes *shapes, int tensor,
         int64_t *cuts)
{
    int n = 0;
    bool cols = shapes->list[tensor].split == RLF_SPLIT_COLS;
    for (int p = 0; p < layout->pp; p++)
        for (int t = 0; t < layout->tp; t++) {
            rlf_box box = rlf_layout_box_at(layout, shapes, tensor,
                                            (rlf_coordinates){t, p, 0});
            rlf_range r = cols ? box.cols : box.rows;
            if (!rlf_box_count(box))
                continue;
            cuts[n++] = r.first;
            cuts[n++] = r.last;
        }
    return n;
}

static void
find_boxes(maker *m, int tensor)
{
    for (int i = 0; i < m->n_members; i++) {
        int rank = m->members[i];
        m->old_box[rank] = old_box(m, tensor, rank);
        m->new_box[rank] = new_box(m, tensor, rank);
    }
}

/* All pieces of a tensor: between neighbouring cuts. */
static void
cut_tensor(maker *m, int tensor, int64_t *cuts, int *holders, int *receivers)
{
    const rlf_shape *t = &m->job->shapes->list[tensor];
    int n = add_cuts(m->job->from, m->job->shapes, tensor, cuts);
    n += add_cuts(m->job->to, m->job->shapes, tensor, cuts + n);
    qsort(cuts, (size_t)n, sizeof *cuts, ascending);
    find_boxes(m, tensor);
    for (int i = 1; i < n; i++) {
        rlf_range part = {cuts[i - 1], cuts[i]};
        rlf_box box = {{0, t->rows}, {0, t->cols}};
        if (t->split == RLF_SPLIT_COLS)
            box.cols = part;
        else
            box.rows = part;
        if (rlf_box_count(box))
            add_piece(m, tensor, box, holders, receivers);
    }
}

static void
cut_all(maker *m)
{
    const rlf_layout *from = m->job->from, *to = m->job->to;
    int cuts = 2 * (from->tp * from->pp + to->tp * to->pp);
    int64_t *room = RLF_NEW_ARRAY(m->scratch, int64_t, cuts);
    int *ranks = RLF_NEW_ARRAY(m->scratch, int, 2 * m->world);
    for (int i = 0; i < m->job->shapes->count; i++)
        if (!m->job->shapes->list[i].still)
            cut_tensor(m, i, room, ranks, ranks + m->world);
}

/* Topology */

static int
log2_floor(int n)
{
    int log = 0;
    while (n >>= 1)
        log++;
    return log;
}

double
rlf_multicast_time(rlf_topology topology, rlf_wire link, int senders,
                   int receivers, int64_t bytes, int64_t pieces)
{
    /* Messages one after another, and how often the bytes pass the busiest
     * port if one rank sends. */
    double messages = receivers, passes = receivers;
    if (topology == RLF_TOPOLOGY_DIRECT && link.shared)
        messages = passes = 1;
    if (topology == RLF_TOPOLOGY_TREE)
        messages = passes = log2_floor(receivers) + 1;
    if (topology == RLF_TOPOLOGY_RING) {
        messages = (double)(receivers + pieces - 1);
        passes = messages / (double)pieces;
    }
    passes /= senders;
    return messages * link.start +
           (passes > 1 ? passes : 1) * (double)bytes / link.rate;
}

static rlf_topology
fastest(const maker *m, const flow *f, rlf_wire link, int senders,
        int receivers)
{
    rlf_topology best = RLF_TOPOLOGY_DIRECT;
    if (receivers == 1)
        return best;
    if (m->job->topology != RLF_TOPOLOGY_AUTO)
        return m->job->topology;
    int64_t times = m->job->alike > 1 ? m->job->alike : 1;
    for (rlf_topology t = RLF_TOPOLOGY_TREE; t <= RLF_TOPOLOGY_RING; t++)
        if (rlf_multicast_time(t, link, senders, receivers, times * f->bytes,
                               times * f->pieces) <
            rlf_multicast_time(best, link, senders, receivers, times * f->bytes,
                               times * f->pieces))
            best = t;
    return best;
}

static rlf_topology
choose_topology(maker *m, const flow *f, rlf_wire link, int senders,
                int receivers)
{
    rlf_topology t = fastest(m, f, link, senders, receivers);
    if (receivers > 1)
        m->topologies |= 1u << t;
    return t;
}

/* Sends */

static spot
send(maker *m, const piece *p, spot from, int to, int round)
{
    int tensor = p->tensor;
    rlf_box box = p->box;
    rlf_box source = from.after < 0 ? old_box(m, tensor, from.rank)
                                    : new_box(m, tensor, from.rank);
    rlf_send s = {.from = from.rank,
                  .to = to,
                  .tensor = tensor,
                  .box = box,
                  .source = rlf_box_within(source, box),
                  .target = rlf_box_within(new_box(m, tensor, to), box),
                  .after = from.after,
                  .round = round};
    RLF_PUSH(&m->sends, s);
    m->load[from.rank] += p->bytes;
    if (machine_of(m, from.rank) != machine_of(m, to))
        m->crossing[machine_of(m, from.rank)] += p->bytes;
    m->rounds = round >= m->rounds ? round + 1 : m->rounds;
    return (spot){to, (int)m->sends.count - 1, round, from.staggered};
}

/* From `root` to n ranks; where they then have it from, into spots[1..n];
 * spots[0] becomes the root. */
static void
spread(maker *m, const piece *p, rlf_topology topology, spot root,
       const int *to, int n, spot *spots)
{
    bool ring = topology == RLF_TOPOLOGY_RING;
    int base = root.after < 0 ? 0 : root.round + 1;
    if (ring && !root.staggered) {
        base += (int)p->number;
        root.staggered = true;
    }
    spots[0] = root;
    for (int i = 1; i <= n; i++) {
        int level = log2_floor(i);
        bool tree = topology == RLF_TOPOLOGY_TREE;
        int parent = tree ? i - (1 << level) : ring ? i - 1 : 0;
        int round = base + (tree ? level : ring ? i - 1 : 0);
        spots[i] = send(m, p, spots[parent], to[i - 1], round);
    }
}

static int
least_loaded(const maker *m, const int *ranks, int n, int machine)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (machine_of(m, ranks[i]) == machine &&
            (best < 0 || m->load[ranks[i]] < m->load[best]))
            best = ranks[i];
    return best;
}

static int
count_on(const maker *m, const int *ranks, int n, int machine)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += machine_of(m, ranks[i]) == machine;
    return count;
}

/* On the same ranks every holder sends and receives alike: each receiver takes
 * the piece from its own replica of the old layout (an all-gather inside every
 * micro-dp group). False if its machine has none there. */
static bool
take_from_replica(maker *m, const piece *p, int rank)
{
    const flow *f = p->flow;
    int best = -1;
    for (int i = 0; i < f->n_holders; i++) {
        int h = f->holders[i];
        if (m->replica[h] == m->replica[rank] &&
            machine_of(m, h) == machine_of(m, rank) &&
            (best < 0 || m->load[h] < m->load[best]))
            best = h;
    }
    if (best >= 0)
        send(m, p, (spot){best, -1, -1, false}, rank, 0);
    return best >= 0;
}

/* Sends from somebody on a machine to the receivers there. */
static void
serve_machine(maker *m, const piece *p, spot root, int machine)
{
    const flow *f = p->flow;
    int *to = m->to, n = 0,
        senders = count_on(m, f->holders, f->n_holders, machine);
    for (int i = 0; i < f->n_receivers; i++) {
        int rank = f->receivers[i];
        if (machine_of(m, rank) != machine || rank == root.rank)
            continue;
        if (!m->replica || !take_from_replica(m, p, rank))
            to[n++] = rank;
    }
    if (n)
        spread(m, p,
               choose_topology(m, f, m->job->inside, senders ? senders : 1, n),
               root, to, n, m->spots);
}

/* The machine whose ranks hold the piece and that has sent least to others. */
static int
choose_machine(const maker *m)
{
    int best = -1;
    for (int i = 0; i < m->machines; i++)
        if (m->sender[i] >= 0 &&
            (best < 0 || m->crossing[i] < m->crossing[best]))
            best = i;
    return best;
}

/* Takes at most n of the heads from the list. */
static int
take_heads(maker *m, int n, int *out)
{
    int taken = 0;
    for (int i = 0; i < m->machines && taken < n; i++)
        if (m->head[i] >= 0) {
            out[taken++] = m->head[i];
            m->head[i] = -1;
        }
    return taken;
}

/* Machines that need the piece and do not hold it get it once, at their head;
 * those that hold it share the work. */
static void
serve_others(maker *m, const piece *p)
{
    const flow *f = p->flow;
    int *to = m->others, left = 0, sources = 0;
    for (int i = 0; i < m->machines; i++) {
        left += m->head[i] >= 0;
        sources += m->sender[i] >= 0;
    }
    for (int share = (left + sources - 1) / sources; left;) {
        int n = take_heads(m, share, to), machine = choose_machine(m);
        int senders = count_on(m, f->holders, f->n_holders, machine);
        spread(m, p, choose_topology(m, f, m->job->across, senders, n),
               (spot){m->sender[machine], -1, -1, false}, to, n, m->far);
        for (int i = 1; i <= n; i++)
            serve_machine(m, p, m->far[i], machine_of(m, to[i - 1]));
        left -= n;
    }
}

/* One rank of every machine that holds the piece sends it from there; where
 * nobody holds it, the receiver that has sent least gets it first. */
static void
route(maker *m, const piece *p)
{
    const flow *f = p->flow;
    for (int i = 0; i < m->machines; i++) {
        m->sender[i] = least_loaded(m, f->holders, f->n_holders, i);
        m->head[i] = m->sender[i] < 0
                         ? least_loaded(m, f->receivers, f->n_receivers, i)
                         : -1;
    }
    for (int i = 0; i < m->machines; i++)
        if (m->sender[i] >= 0)
            serve_machine(m, p, (spot){m->sender[i], -1, -1, false}, i);
    serve_others(m, p);
}

/* Copies what a rank keeps from its old slice to its new one. */
static void
copy_all(maker *m)
{
    for (int i = 0; i < m->job->shapes->count; i++)
        for (int k = 0; k < m->n_members && !m->job->shapes->list[i].still;
             k++) {
            int rank = m->members[k];
            rlf_box old = old_box(m, i, rank), new = new_box(m, i, rank);
            rlf_box box = rlf_box_meet(old, new);
            if (rlf_box_count(box))
                RLF_PUSH(&m->copies,
                         (rlf_send){.from = rank,
                                    .to = rank,
                                    .tensor = i,
                                    .box = box,
                                    .source = rlf_box_within(old, box),
                                    .target = rlf_box_within(new, box),
                                    .after = -1});
        }
}

/* All */

static int
largest(const rlf_layout *layout, const int *value)
{
    int most = 0;
    for (int i = 0; i < layout->n_ranks; i++) {
        int rank = layout->ranks[i], v = value ? value[rank] : rank;
        most = v > most ? v : most;
    }
    return most;
}

static int
max(int a, int b)
{
    return a > b ? a : b;
}

static bool
same_ranks(const maker *m)
{
    for (int i = 0; i < m->n_members; i++) {
        int rank = m->members[i];
        if ((m->old_at[rank].tp < 0) != (m->new_at[rank].tp < 0))
            return false;
    }
    return true;
}

/* The ranks of both layouts, where they are on them. */
static void
find_members(maker *m)
{
    const rlf_layout *each[] = {m->job->from, m->job->to};
    rlf_coordinates *at[] = {m->old_at, m->new_at};
    bool *is = RLF_NEW_ARRAY(m->scratch, bool, m->world);
    m->members = RLF_NEW_ARRAY(m->scratch, int, m->world);
    for (int rank = 0; rank < m->world; rank++)
        m->old_at[rank] = m->new_at[rank] = (rlf_coordinates){-1, -1, -1};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < each[k]->n_ranks; i++) {
            at[k][each[k]->ranks[i]] = rlf_layout_at(each[k], i);
            is[each[k]->ranks[i]] = true;
        }
    for (int rank = 0; rank < m->world; rank++)
        if (is[rank])
            m->members[m->n_members++] = rank;
}

/* On the same ranks each has a replica of the old layout; of layouts that are
 * parts of others the job says it. */
static void
find_replicas(maker *m)
{
    const rlf_realloc_job *job = m->job;
    if (job->part) {
        m->replica = job->replica;
        return;
    }
    if (!same_ranks(m))
        return;
    int *replica = RLF_NEW_ARRAY(m->scratch, int, m->world);
    for (int i = 0; i < m->n_members; i++)
        replica[m->members[i]] = m->old_at[m->members[i]].dp;
    m->replica = replica;
}

static void
prepare(maker *m)
{
    const rlf_realloc_job *job = m->job;
    m->world = max(largest(job->from, NULL), largest(job->to, NULL)) + 1;
    m->machines = job->machine ? max(largest(job->from, job->machine),
                                     largest(job->to, job->machine)) +
                                     1
                               : 1;
    m->old_at = RLF_NEW_ARRAY(m->arena, rlf_coordinates, m->world);
    m->new_at = RLF_NEW_ARRAY(m->arena, rlf_coordinates, m->world);
    m->load = RLF_NEW_ARRAY(m->arena, int64_t, m->world);
    m->sender = RLF_NEW_ARRAY(m->arena, int, m->machines);
    m->head = RLF_NEW_ARRAY(m->arena, int, m->machines);
    m->crossing = RLF_NEW_ARRAY(m->arena, int64_t, m->machines);
    m->to = RLF_NEW_ARRAY(m->scratch, int, m->world);
    m->spots = RLF_NEW_ARRAY(m->scratch, spot, m->world + 1);
    m->others = RLF_NEW_ARRAY(m->scratch, int, m->machines);
    m->far = RLF_NEW_ARRAY(m->scratch, spot, m->machines + 1);
    m->old_box = RLF_NEW_ARRAY(m->scratch, rlf_box, m->world);
    m->new_box = RLF_NEW_ARRAY(m->scratch, rlf_box, m->world);
    find_members(m);
    find_replicas(m);
}

/* Rounds layer after layer, in each as they were. */
static void
order_by_layer(maker *m)
{
    const rlf_shapes *shapes = m->job->shapes;
    int groups = rlf_layer_turns(shapes), n = 0;
    rlf_range *rounds = RLF_NEW_ARRAY(m->arena, rlf_range, groups);
    int *first = RLF_NEW_ARRAY(m->arena, int, groups);
    for (size_t i = 0; i < m->sends.count; i++) {
        const rlf_send *s = &m->sends.data[i];
        rlf_range *r = &rounds[rlf_layer_turn(shapes, s->tensor)];
        if (!r->last || s->round < r->first)
            r->first = s->round;
        if (s->round >= r->last)
            r->last = s->round + 1;
    }
    for (int i = 0; i < groups; i++) {
        first[i] = n;
        n += (int)rlf_range_size(rounds[i]);
    }
    for (size_t i = 0; i < m->sends.count; i++) {
        rlf_send *s = &m->sends.data[i];
        int turn = rlf_layer_turn(shapes, s->tensor);
        s->round += first[turn] - (int)rounds[turn].first;
    }
    m->rounds = n;
}

static rlf_send *
keep(rlf_arena *arena, const rlf_send *sends, size_t n)
{
    rlf_send *out = RLF_NEW_ARRAY(arena, rlf_send, n);
    if (n)
        memcpy(out, sends, sizeof *out * n);
    return out;
}

static void
make(void *p)
{
    maker *m = p;
    prepare(m);
    cut_all(m);
    for (size_t i = 0; i < m->pieces.count; i++)
        route(m, &m->pieces.data[i]);
    copy_all(m);
    if (m->job->by_layer)
        order_by_layer(m);
    *m->out = (rlf_realloc_plan){
        .sends = keep(m->arena, m->sends.data, m->sends.count),
        .n_sends = (int)m->sends.count,
        .rounds = m->rounds,
        .copies = keep(m->arena, m->copies.data, m->copies.count),
        .n_copies = (int)m->copies.count,
        .topologies = m->topologies ? m->topologies : 1u << RLF_TOPOLOGY_DIRECT,
    };
}

rlf_status
rlf_realloc_make(const rlf_realloc_job *job, rlf_arena *arena, rlf_err *err,
                 rlf_realloc_plan *out)
{
    RLF_TRY(rlf_layout_check_shapes(job->from, job->shapes, err));
    RLF_TRY(rlf_layout_check_shapes(job->to, job->shapes, err));
    maker m = {.job = job,
               .arena = arena,
               .scratch = rlf_arena_new(),
               .flows = {.arena = arena},
               .out = out};
    rlf_status status =
        rlf_memory_guard(make, &m, "the transfers of weights", err);
    rlf_arena_free(m.scratch);
    rlf_buf_free(&m.key);
    RLF_VEC_FREE(&m.pieces);
    RLF_VEC_FREE(&m.sends);
    RLF_VEC_FREE(&m.copies);
    return status;
}

const char *
rlf_topologies_word(unsigned topologies)
{
    static const char *const words[] = {
        "",     "direct",       "tree",       "direct, tree",
        "ring", "direct, ring", "tree, ring", "direct, tree, ring"};
    return words[topologies >> RLF_TOPOLOGY_DIRECT & 7];
}

/* Measures a rank's slices of the old layout and of the new one. */
static void
measure_slices(const rlf_realloc_job *job, int rank, rlf_realloc_load *out)
{
    for (int i = 0; i < job->shapes->count; i++) {
        if (job->shapes->list[i].still)
            continue;
        rlf_box old = rlf_layout_box(job->from, job->shapes, i, rank);
        rlf_box new = rlf_layout_box(job->to, job->shapes, i, rank);
        int64_t outside =
            rlf_box_count(old) - rlf_box_count(rlf_box_meet(old, new));
        int64_t element = rlf_realloc_element(job, i);
        out->redundant += outside * element;
        out->peak += (rlf_box_count(new) + outside) * element;
    }
}

static int
by_message(const void *a, const void *b)
{
    const rlf_send *x = a, *y = b;
    int d = x->round - y->round;
    d = d ? d : x->from - y->from;
    return d ? d : x->to - y->to;
}

/* Messages that n sends, which are sorted for that, travel in. */
static int64_t
count_messages(rlf_send *list, int n)
{
    int64_t count = 0;
    qsort(list, (size_t)n, sizeof *list, by_message);
    for (int i = 0; i < n; i++)
        count += i == 0 || by_message(&list[i - 1], &list[i]) != 0;
    return count;
}

void
rlf_realloc_measure(const rlf_realloc_job *job, const rlf_realloc_plan *plan,
                    int rank, rlf_realloc_load *out)
{
    rlf_send *coming = rlf_calloc((size_t)plan->n_sends + 1, sizeof *coming);
    int n = 0;
    *out = (rlf_realloc_load){0};
    for (int i = 0; i < plan->n_sends; i++) {
        const rlf_send *s = &plan->sends[i];
        int64_t bytes =
            rlf_box_count(s->box) * rlf_realloc_element(job, s->tensor);
        out->sent += s->from == rank ? bytes : 0;
        out->received += s->to == rank ? bytes : 0;
        if (s->to == rank)
            coming[n++] = *s;
    }
    out->messages = count_messages(coming, n);
    free(coming);
    measure_slices(job, rank, out);
}

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void
rlf_realloc_sum(const rlf_realloc_job *job, const rlf_realloc_plan *plan,
                rlf_arena *arena, rlf_realloc_total *out)
{
    int world = max(largest(job->from, NULL), largest(job->to, NULL)) + 1;
    rlf_realloc_load *of = RLF_NEW_ARRAY(arena, rlf_realloc_load, world);
    rlf_send *list = keep(arena, plan->sends, (size_t)plan->n_sends);
    *out = (rlf_realloc_total){.messages =
                                   count_messages(list, plan->n_sends)};
    for (int i = 0; i < plan->n_sends; i++) {
        const rlf_send *s = &plan->sends[i];
        int64_t bytes =
            rlf_box_count(s->box) * rlf_realloc_element(job, s->tensor);
        of[s->from].sent += bytes;
        of[s->to].received += bytes;
        out->bytes += bytes;
    }
    for (int rank = 0; rank < world; rank++) {
        rlf_realloc_load *most = &out->most;
        measure_slices(job, rank, &of[rank]);
        most->sent = larger(most->sent, of[rank].sent);
        most->received = larger(most->received, of[rank].received);
        most->peak = larger(most->peak, of[rank].peak);
        most->redundant = larger(most->redundant, of[rank].redundant);
    }
}
