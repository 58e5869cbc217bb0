/* Seconds of moves of weights: see moves.h. */
#include "engine/search/moves_state.h"

#include <math.h>
#include <string.h>

#include "engine/plan/weight_copies.h"

/* ---- models ---- */

static bool
same_tensor(const rlf_shape *a, const rlf_shape *b)
{
    return a->split == b->split && a->rows == b->rows && a->cols == b->cols &&
           a->unit == b->unit && a->still == b->still && a->floats == b->floats;
}

static bool
same_shapes(const rlf_shapes *a, const rlf_shapes *b)
{
    bool same = a->count == b->count && a->layers == b->layers;
    for (int i = 0; i < a->count && same; i++)
        same = a->list[i].layer == b->list[i].layer &&
               same_tensor(&a->list[i], &b->list[i]);
    return same;
}

/* The tensors of a layer that are sent, as those of `times` layers. */
static rlf_shapes
repeat(const rlf_shapes *all, int layer, int times, rlf_arena *arena)
{
    rlf_shape *list = RLF_NEW_ARRAY(arena, rlf_shape, all->count * times + 1);
    int n = 0;
    for (int k = 0; k < times; k++)
        for (int i = 0; i < all->count; i++) {
            if (all->list[i].layer != layer || all->list[i].still)
                continue;
            list[n] = all->list[i];
            list[n++].layer = k;
        }
    return (rlf_shapes){.list = list, .count = n, .layers = times};
}

static tensors
tensors_of(rlf_moves *m, const rlf_shapes *all, int layer)
{
    rlf_arena *arena = m->arena;
    tensors t = {.layers[1] = repeat(all, layer, 1, arena),
                 .end = layer < 0,
                 .number = m->tensors ? m->tensors->number + 1 : 1};
    t.n = t.layers[1].count;
    if (layer >= 0) {
        t.layers[FEW] = repeat(all, layer, FEW, arena);
        t.layers[ROUTED] = repeat(all, layer, ROUTED, arena);
    }
    return t;
}

static bool
same_tensors(const rlf_shapes *a, const rlf_shapes *b)
{
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++)
        same = same_tensor(&a->list[i], &b->list[i]);
    return same;
}

/* The tensors of a layer, made if there are none like them. */
static const tensors *
find_tensors(rlf_moves *m, const rlf_shapes *shapes, int layer)
{
    const rlf_shapes one = repeat(shapes, layer, 1, m->scratch);
    for (tensors *t = m->tensors; t; t = t->next)
        if (t->end == (layer < 0) && same_tensors(&t->layers[1], &one))
            return t;
    tensors *t = RLF_NEW(m->arena, tensors);
    *t = tensors_of(m, shapes, layer);
    t->next = m->tensors;
    m->tensors = t;
    return t;
}

static void
make_model(rlf_moves *m, const rlf_shapes *shapes, int element, model *out)
{
    rlf_shapes *kept = RLF_NEW(m->arena, rlf_shapes);
    rlf_shape *list = RLF_NEW_ARRAY(m->arena, rlf_shape, shapes->count + 1);
    if (shapes->count)
        memcpy(list, shapes->list, sizeof *list * (size_t)shapes->count);
    *kept = (rlf_shapes){list, shapes->count, shapes->layers};
    *out = (model){.shapes = kept, .element = element};
    out->layer = RLF_NEW_ARRAY(m->arena, const tensors *, shapes->layers + 1);
    for (int l = 0; l < shapes->layers; l++)
        out->layer[l] = find_tensors(m, shapes, l);
    out->ends[FIRST] = find_tensors(m, shapes, RLF_LAYER_FIRST);
    out->ends[LAST] = find_tensors(m, shapes, RLF_LAYER_LAST);
    out->ends[BOTH] = find_tensors(m, shapes, RLF_LAYER_ENDS);
    rlf_arena_reset(m->scratch);
}

const rlf_links *
rlf_moves_links(const rlf_moves *m)
{
    return &m->links;
}

int
rlf_moves_model(rlf_moves *m, const rlf_shapes *shapes, int element)
{
    for (int i = 0; i < m->n_models; i++)
        if (m->models[i].element == element &&
            same_shapes(m->models[i].shapes, shapes))
            return i;
    model *list = RLF_NEW_ARRAY(m->arena, model, m->n_models + 1);
    if (m->n_models)
        memcpy(list, m->models, sizeof *list * (size_t)m->n_models);
    m->models = list;
    make_model(m, shapes, element, &list[m->n_models]);
    return m->n_models++;
}

/* ---- a move ---- */

/* Does the rank need more than it has? */
static bool
lacks(const parts *p, const span *s)
{
    int a = p->old - 1, b = p->new - 1;
    if (b < 0 || a < 0)
        return b >= 0;
    return a * s->new_parts > b * s->old_parts ||
           (b + 1) * s->old_parts > (a + 1) * s->new_parts;
}

/* Marks the ranks of both sides. False: groups are on several machines. */
static bool
mark(rlf_moves *m, span *s)
{
    bool whole = true;
    s->low = m->speeds->cluster->machines;
    s->high = -1;
    for (int side = 0; side < 2; side++) {
        const int *list = side ? s->to : s->from;
        int n = side ? s->n_to : s->n_from;
        int each = side ? s->new_parts : s->old_parts;
        for (int i = 0; i < n; i += each) {
            int machine = m->machine_of[list[i]];
            int last = m->machine_of[list[i + each - 1]];
            s->low = machine < s->low ? machine : s->low;
            s->high = last > s->high ? last : s->high;
            whole &= machine == last;
            for (int k = 0; k < each; k++) {
                parts *p = &m->parts[list[i + k]];
                machine_state *on = &m->machines[m->machine_of[list[i + k]]];
                *(side ? &p->new : &p->old) = (uint16_t)(k + 1);
                *(side ? &on->receivers : &on->holders) += 1;
            }
        }
    }
    return whole;
}

/* Counts machines with all that their ranks need of, and those without; of many
 * the one where most has to come stands for its kind. False: nothing is sent.
 */
static bool
look_at_machines(rlf_moves *m, span *s)
{
    bool whole = mark(m, s), any = false;
    int most[2] = {-1, -1};
    for (int i = 0; i < s->n_to; i++)
        if (lacks(&m->parts[s->to[i]], s)) {
            m->machines[m->machine_of[s->to[i]]].lack++;
            any = true;
        }
    for (int k = s->low; k <= s->high; k++) {
        const machine_state *on = &m->machines[k];
        bool holds = on->holders > 0;
        if (!on->holders && !on->receivers)
            continue;
        *(holds ? &s->sources : &s->heads) += 1;
        if (on->lack > most[holds]) {
            most[holds] = on->lack;
            *(holds ? &s->source : &s->head) = k;
        }
    }
    s->cut = whole && s->sources + s->heads > 2;
    return any;
}

static void
unmark(rlf_moves *m, const span *s)
{
    for (int i = 0; i < s->n_from; i++)
        m->parts[s->from[i]] = (parts){0};
    for (int i = 0; i < s->n_to; i++)
        m->parts[s->to[i]] = (parts){0};
    for (int k = s->low; k <= s->high; k++)
        m->machines[k].holders = m->machines[k].receivers =
            m->machines[k].lack = 0;
}

/* Is the rank on a machine that was routed? */
static bool
is_seen(const rlf_moves *m, const span *s, int rank)
{
    return !s->cut || m->machine_of[rank] == s->source;
}

/* The time at which the links of all machines of a stretch that begins at
 * `start` are through. */
static double
use_links(rlf_moves *m, const span *s, const stretch *x, int layers,
          double start)
{
    double end = 0;
    for (int k = s->low; k <= s->high; k++) {
        machine_state *on = &m->machines[k];
        double link = rlf_moves_part(m, k)->link;
        bool holds = on->holders > 0;
        if (!on->holders && !on->receivers)
            continue;
        if (x->leaves[!holds] > 0)
            on->left =
                fmax(on->left, start) + layers * x->leaves[!holds] / link;
        if (x->enters[!holds] > 0)
            on->entered =
                fmax(on->entered, start) + layers * x->enters[!holds] / link;
        end = fmax(end, fmax(on->left, on->entered));
    }
    return end;
}

/* When each rank is through with the layers that were routed, as they were: on
 * all machines, or (`cut`) on the one that stands for the others. 0: it has no
 * part. */
static void
find_ends(rlf_moves *m, const span *s, const stretch *x)
{
    int low = s->cut ? s->source : s->low, high = s->cut ? s->source : s->high;
    int n = 0;
    for (int k = low; k <= high; k++) {
        rlf_range on = rlf_moves_ranks(m, k);
        for (int64_t r = on.first; r < on.last; r++)
            if (m->parts[r].old || m->parts[r].new)
                m->end[r] = x->through[n++];
    }
}

/* When a rank lets the others begin: who has less to do in a layer than they
 * may come later. */
static double
begin_of(const rlf_moves *m, const stretch *x, int routed, int rank)
{
    double slack = routed * x->each - m->end[rank];
    double at = fmax(m->in[rank], m->machines[m->machine_of[rank]].at);
    return m->end[rank] > 0 ? at - fmax(slack, 0) : 0;
}

/* A stretch in which all ranks that take part were routed. A rank goes on to
 * the next layers as soon as it is through with these; where all goes at once
 * it sends and receives at the same time. */
static double
run_ranks(rlf_moves *m, const span *s, const stretch *x, int layers)
{
    int routed = s->tensors->end ? 1 : ROUTED;
    double more = (layers - routed) * x->each, start = 0;
    const int *each[] = {s->from, s->to};
    const int n[] = {s->n_from, s->n_to};
    double *at[] = {s->by_layer ? m->in : m->out, m->in};
    find_ends(m, s, x);
    for (int side = 0; side < 2 && s->by_layer; side++)
        for (int i = 0; i < n[side]; i++)
            if (is_seen(m, s, each[side][i]))
                start = fmax(start, begin_of(m, x, routed, each[side][i]));
    double links = use_links(m, s, x, layers, start);
    double last = fmax(start + x->routed + more, links);
    double late = fmax(links - (start + x->routed + more), 0);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < n[side]; i++) {
            int rank = each[side][i];
            if (!is_seen(m, s, rank) || m->end[rank] <= 0)
                continue;
            machine_state *on = &m->machines[m->machine_of[rank]];
            double took = m->end[rank] + more;
            if (s->by_layer)
                at[side][rank] = start + took + late;
            else if (side == 0 || lacks(&m->parts[rank], s))
                at[side][rank] += took;
            last = fmax(last, at[side][rank]);
            on->latest = fmax(on->latest, at[side][rank]);
        }
    return last;
}

/* A stretch of a chain of machines, which are through with the next as soon as
 * the first of them are. */
static double
run_machines(rlf_moves *m, const span *s, const stretch *x, int layers)
{
    int routed = s->tensors->end ? 1 : ROUTED;
    double more = (layers - routed) * x->each, start = 0;
    for (int k = s->low; k <= s->high && s->by_layer; k++)
        if (m->machines[k].holders || m->machines[k].receivers)
            start = fmax(start, fmax(m->machines[k].at, m->machines[k].latest));
    double links = use_links(m, s, x, layers, start);
    double last = fmax(start + x->routed + more, links);
    double on = fmax(start + layers * x->each, links);
    for (int k = s->low; k <= s->high; k++) {
        machine_state *to = &m->machines[k];
        if (!to->holders && !to->receivers)
            continue;
        to->at = s->by_layer ? on : to->at + layers * x->each;
        last = fmax(last, to->at);
    }
    return last;
}

/* The move at hand. */
typedef struct walk {
    const rlf_moves_ask *ask;
    const model *model;
    bool same;
    double end;
} walk;

static void
go(rlf_moves *m, walk *w, const tensors *t, span s, int layers)
{
    if (!t->n)
        return;
    s.tensors = t;
    s.by_layer = w->ask->by_layer;
    s.element = s.by_layer ? w->model->element : (int)sizeof(float);
    s.old_parts = w->ask->from.tp;
    s.new_parts = w->ask->to.tp;
    s.same = w->same;
    bool apart =
        t == w->model->ends[BOTH] && w->ask->from.pp * w->ask->to.pp > 1;
    s.alike = apart ? 1 : !t->end ? ALIKE : ALIKE * ROUTED;
    if (look_at_machines(m, &s)) {
        const stretch x = rlf_moves_route(m, &s);
        double end = s.cut && s.heads ? run_machines(m, &s, &x, layers)
                                      : run_ranks(m, &s, &x, layers);
        w->end = fmax(w->end, end);
    }
    unmark(m, &s);
}

/* The ranks of a stage of each side. */
static span
stages(const rlf_moves *m, const walk *w, int old, int new)
{
    const rlf_layout *from = &w->ask->from, *to = &w->ask->to;
    int n_from = from->tp * from->dp, n_to = to->tp * to->dp;
    return (span){.from = m->list[0] + old * n_from,
                  .n_from = n_from,
                  .to = m->list[1] + new *n_to,
                  .n_to = n_to};
}

/* The ranks of the first stage and of the last one, into `out`. Returns how
 * many. */
static int
both_ends(const rlf_layout *layout, const int *list, int *out)
{
    int each = layout->tp * layout->dp, last = rlf_layout_last(layout);
    memcpy(out, list, sizeof *out * (size_t)each);
    if (!last)
        return each;
    memcpy(out + each, list + last * each, sizeof *out * (size_t)each);
    return 2 * each;
}

/* The first layer behind `layer` that another stage holds. */
static int
end_of_stage(const rlf_layout *layout, int layers, int layer)
{
    int n = layout->pp * (layout->chunks ? layout->chunks : 1);
    int owner = rlf_range_owner(layers, n, layer);
    return (int)rlf_range_part(layers, n, owner).last;
}

static void
go_through(rlf_moves *m, walk *w)
{
    const rlf_layout *from = &w->ask->from, *to = &w->ask->to;
    int layers = w->model->shapes->layers, next;
    for (int l = 0; l < layers; l = next) {
        int a = end_of_stage(from, layers, l), b = end_of_stage(to, layers, l);
        const tensors *t = w->model->layer[l];
        next = a < b ? a : b;
        for (int k = l + 1; k < next; k++)
            next = w->model->layer[k] == t ? next : k;
        go(m, w, t,
           stages(m, w, rlf_layout_stage(from, layers, l),
                  rlf_layout_stage(to, layers, l)),
           next - l);
    }
    span both = {.from = m->ends[0], .to = m->ends[1]};
    both.n_from = both_ends(from, m->list[0], m->ends[0]);
    both.n_to = both_ends(to, m->list[1], m->ends[1]);
    go(m, w, w->model->ends[BOTH], both, 1);
    go(m, w, w->model->ends[LAST],
       stages(m, w, rlf_layout_last(from), rlf_layout_last(to)), 1);
    go(m, w, w->model->ends[FIRST], stages(m, w, 0, 0), 1);
}

/* The ranks of a layout by stage, replica and part; when they and their
 * machines are free. */
static void
lay(rlf_moves *m, const rlf_layout *l, int side)
{
    int *list = m->list[side], n = 0;
    for (int s = 0; s < l->pp; s++)
        for (int d = 0; d < l->dp; d++)
            for (int t = 0; t < l->tp; t++) {
                int place =
                    l->n_order ? rlf_layout_place(l, (rlf_coordinates){t, s, d})
                               : (d * l->pp + s) * l->tp + t;
                int rank = l->ranks[place];
                list[n++] = rank;
                m->in[rank] = m->out[rank] = 0;
                if (!side)
                    m->replica[rank] = d;
                machine_state *on = &m->machines[m->machine_of[rank]];
                on->left = on->entered = on->at = on->latest = 0;
            }
}

/* The first machines stand for all, if all are alike. */
static uint64_t
key_of(const rlf_moves *m, const rlf_moves_ask *ask)
{
    const rlf_layout *from = &ask->from, *to = &ask->to;
    const rlf_cluster *c = m->speeds->cluster;
    int first = from->ranks[0], other = to->ranks[0];
    int count = c->parts[0].machine->count;
    int shift = first < other ? first : other;
    shift = c->n_parts == 1 ? shift / count * count : 0;
    const uint64_t numbers[] = {
        (uint64_t)ask->model << 1 | ask->by_layer,
        (uint64_t)(first - shift) << 32 | (uint64_t)(other - shift),
        (uint64_t)from->n_ranks << 32 | (uint64_t)to->n_ranks,
        (uint64_t)from->tp << 32 | (uint64_t)to->tp,
        (uint64_t)from->pp << 32 | (uint64_t)to->pp,
        (uint64_t)from->chunks << 32 | (uint64_t)to->chunks,
        (uint64_t)from->vee << 2 | (uint64_t)to->vee << 1 | (to->n_order > 0),
    };
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        key = rlf_moves_mix(key, numbers[i]);
    return key | 1;
}

double
rlf_moves_seconds(rlf_moves *m, const rlf_moves_ask *ask)
{
    const rlf_layout *from = &ask->from, *to = &ask->to;
    uint64_t key = key_of(m, ask);
    const double *known = rlf_moves_known(&m->pairs, key);
    if (known)
        return *known;
    walk w = {.ask = ask, .model = &m->models[ask->model]};
    w.same = from->ranks[0] == to->ranks[0] && from->n_ranks == to->n_ranks;
    lay(m, from, 0);
    lay(m, to, 1);
    go_through(m, &w);
    rlf_moves_keep(&m->pairs, key, &w.end, m->arena);
    return w.end;
}

rlf_moves *
rlf_moves_new(const rlf_speeds *speeds, const rlf_links *links,
              rlf_arena *arena)
{
    const rlf_cluster *c = speeds->cluster;
    rlf_moves *m = RLF_NEW(arena, rlf_moves);
    int *machine_of = RLF_NEW_ARRAY(arena, int, c->ranks);
    *m = (rlf_moves){.speeds = speeds,
                     .links = links ? *links : rlf_links_of(c, arena),
                     .arena = arena,
                     .scratch = rlf_arena_scratch(arena),
                     .pairs = {.size = sizeof(double)},
                     .stretches = {.size = sizeof(stretch)},
                     .machine_of = machine_of,
                     .parts = RLF_NEW_ARRAY(arena, parts, c->ranks),
                     .replica = RLF_NEW_ARRAY(arena, int, c->ranks),
                     .canon = RLF_NEW_ARRAY(arena, int, c->ranks),
                     .copied = RLF_NEW_ARRAY(arena, int, c->ranks),
                     .out = RLF_NEW_ARRAY(arena, double, c->ranks),
                     .in = RLF_NEW_ARRAY(arena, double, c->ranks),
                     .end = RLF_NEW_ARRAY(arena, double, c->ranks),
                     .machines =
                         RLF_NEW_ARRAY(arena, machine_state, c->machines)};
    for (int i = 0; i < 2; i++) {
        m->list[i] = RLF_NEW_ARRAY(arena, int, c->ranks);
        m->ends[i] = RLF_NEW_ARRAY(arena, int, 2 * c->ranks);
    }
    for (int r = 0; r < c->ranks; r++)
        machine_of[r] = rlf_cluster_machine(c, r);
    return m;
}
