/* Choosing a token from a row of logits.
 *
 * Without filters: the chunk in which the cumulative sum passes
 * uniform * S is found from the chunks' sums, then the token within it. With
 * filters (kernels/sample.h): where top_k and top_p end is found by counting
 * words and weights in bins, ever narrower; then a sum runs over what is kept,
 * by id. Blocks of words too far from the top are passed over. */
#include "kernels/cpu/head.h"
#include "kernels/sample.h"

/* The first of the most likely tokens, if it is held here. */
static pick
likeliest(const tile *t, int64_t r)
{
    const float *z = t->z + r * t->ld;
    const part *parts = t->parts + r * t->n_chunks;
    double top = t->wholes[r].m;
    int64_t s = 0, n = t->places * t->n_slices;
    while (s < n && ISA(head_slice)(t, r, s)->m != top)
        s++;
    s -= t->place * t->n_slices;
    if (s < 0 || s >= t->n_slices)
        return (pick){-1, 0}; /* elsewhere, or no logit is a number */
    for (int64_t c = t->slices[s].chunk; c < t->n_chunks; c++)
        if ((double)parts[c].m == top)
            for (int64_t i = t->chunks[c].from; i < t->held; i++)
                if (z[i] == parts[c].m)
                    return (pick){(int32_t)(t->token + i), z[i]};
    return (pick){-1, 0};
}

/* The slice in which the cumulative sum passes goal; *sum: that before it.
 * Rounding may let the goal lie beyond the last one. */
static int64_t
draw_slice(const tile *t, int64_t r, double goal, double *sum)
{
    int64_t found = 0;
    double before = *sum = 0;
    for (int64_t s = 0; s < t->places * t->n_slices; s++) {
        const measured *x = ISA(head_slice)(t, r, s);
        double w = rlf_exp(x->m - t->wholes[r].m);
        if (x->s * w > 0) {
            found = s;
            *sum = before;
        }
        before = rlf_fma(x->s, w, before);
        if (before > goal)
            break;
    }
    return found;
}

/* The token in which it does, if it is held here. */
static pick
draw(const tile *t, int64_t r, double uniform)
{
    const float *z = t->z + r * t->ld;
    const part *parts = t->parts + r * t->n_chunks;
    const whole *o = &t->wholes[r];
    double goal = uniform * o->s, sum;
    int64_t s = draw_slice(t, r, goal, &sum) - t->place * t->n_slices;
    if (s < 0 || s >= t->n_slices)
        return (pick){-1, 0};
    const slice *l = &t->slices[s];
    int64_t found = l->from;
    for (int64_t c = l->chunk; c < l->chunk + l->n_chunks; c++) {
        double w = rlf_exp((double)parts[c].m - o->m);
        double next = rlf_fma((double)parts[c].s, w, sum);
        const chunk *k = &t->chunks[c];
        int64_t end = k->from + k->n;
        bool here = next > goal || c == l->chunk + l->n_chunks - 1;
        for (int64_t i = k->from; here && i < end; i += VL) {
            vf p = vexp(load_part(z + i, end - i) - parts[c].m);
            for (int64_t j = 0; j < VL && i + j < end; j++) {
                double e = (double)p[j] * w;
                sum += e;
                if (e > 0)
                    found = i + j;
                if (sum > goal && e > 0)
                    return (pick){(int32_t)(t->token + found), z[found]};
            }
        }
        if (next > goal) /* rounding: the chunk's last possible token */
            break;
        sum = next;
    }
    return (pick){(int32_t)(t->token + found), z[found]};
}

/* A row under filters. */
typedef struct row {
    const float *z;
    int64_t v;
    float top;
} row;

/* Distances of the VL words from i on; SAMPLE_REACH behind the last. */
INLINE vf
distances(const row *w, int64_t i)
{
    vf d = w->top - load_part(w->z + i, w->v - i);
    for (int64_t j = w->v - i; j < VL; j++)
        d[j] = SAMPLE_REACH;
    return d;
}

/* The first block of LANES words, from the one of word i on, that has a word
 * at d or nearer; the last block is looked at in any case. */
INLINE int64_t
near_block(const row *w, int64_t i, float d)
{
    const float none = -__builtin_inff();
    for (; i + LANES < w->v; i += LANES) {
        lanes most;
        for (int j = 0; j < NL; j++)
            most.v[j] = vmax(vload(w->z + i + j * VL), vset(none));
        if (!(w->top - lanes_max(&most) > d))
            break;
    }
    return i;
}

/* for (the words of all blocks that have one at d or nearer) */
#define EACH_NEAR(i, w, d)                              \
    for (int64_t b_ = near_block(w, 0, d); b_ < (w)->v; \
         b_ = near_block(w, b_ + LANES, d))             \
        for (int64_t i = b_; i < b_ + LANES && i < (w)->v; i += VL)

/* All words in coarse bins; those out of reach in one behind. */
static void
count_all(const row *w, sample_bins *b)
{
    memset(b, 0, sizeof *b);
    EACH_NEAR(i, w, SAMPLE_REACH)
    {
        vf d = distances(w, i);
        vi near = (vi)(d >= 0) & (vi)(d < SAMPLE_REACH);
        vi bin = __builtin_convertvector(
            vselect(near, d * SAMPLE_FINE, vset(SAMPLE_COARSE)), vi);
        vf e = vselect(near, vexp(-d), vset(0));
        for (int j = 0; j < VL; j++) {
            b->mass[bin[j]] += sample_weight(e[j]);
            b->count[bin[j]]++;
        }
    }
    b->count[SAMPLE_COARSE] = 0;
}

/* Those that a search is among, by the next digit. */
static void
count_digit(const row *w, const sample_search *s, sample_bins *b)
{
    float first = rlf_f32_of_bits(s->low), last = rlf_f32_of_bits(s->end - 1);
    memset(b, 0, sizeof *b);
    EACH_NEAR(i, w, last)
    {
        vf d = distances(w, i);
        uint32_t here = vbits((vi)(d >= first) & (vi)(d <= last));
        if (!here)
            continue;
        vf e = vexp(-d);
        for (; here; here &= here - 1) {
            int j = __builtin_ctz(here);
            uint32_t bin = (rlf_f32_bits(d[j]) - s->low) >> s->shift;
            b->mass[bin] += sample_weight(e[j]);
            b->count[bin]++;
        }
    }
}

/* The place where the sum of the bins reaches goal. */
static sample_place
find(const sample_bins *b, uint64_t goal, bool by_count)
{
    sample_place p = {0};
    for (;; p.bin++) {
        p.own_mass = b->mass[p.bin];
        p.own_count = b->count[p.bin];
        if ((by_count ? p.count + p.own_count : p.mass + p.own_mass) >= goal)
            return p;
        p.mass += p.own_mass;
        p.count += p.own_count;
    }
}

/* The id of the n-th word at d. */
static int64_t
nth_at(const row *w, float d, uint32_t n)
{
    EACH_NEAR(i, w, d)
    {
        uint32_t here = vbits((vi)(distances(w, i) == d));
        for (; here; here &= here - 1)
            if (--n == 0)
                return i + __builtin_ctz(here);
    }
    return w->v;
}

/* The first words in order with `goal` words or mass; *mass: that of them. */
static sample_cut
cut_at(const row *w, const sample_bins *all, sample_bins *digits, uint64_t goal,
       bool by_count, uint64_t *mass)
{
    sample_search s = {.goal = goal, .by_count = by_count};
    sample_begin(&s, find(all, goal, by_count));
    do
        count_digit(w, &s, digits);
    while (sample_narrow(&s, find(digits, sample_left(&s), by_count)));
    uint32_t taken = sample_taken(&s);
    sample_cut cut = {.d = rlf_f32_of_bits(s.low), .last = w->v};
    if (taken < s.at.own_count)
        cut.last = nth_at(w, cut.d, taken);
    *mass = sample_mass(&s, taken);
    return cut;
}

/* The cut by top_k and top_p. bins: two. */
static sample_cut
cut_row(const rlf_sample_args *a, const row *w, sample_bins *bins)
{
    sample_cut cut = {.d = SAMPLE_REACH};
    uint64_t count = 0, mass = 0, k = a->top_k > 0 ? (uint64_t)a->top_k : 0;
    if (!k && !sample_cuts_mass(a))
        return cut;
    count_all(w, bins);
    for (int i = 0; i < SAMPLE_COARSE; i++) {
        count += bins->count[i];
        mass += bins->mass[i];
    }
    if (k && k < count)
        cut = cut_at(w, bins, bins + 1, k, true, &mass);
    if (sample_cuts_mass(a) && mass > 0)
        cut = cut_at(w, bins, bins + 1, sample_nucleus(a->top_p, mass), false,
                     &mass);
    return cut;
}

/* The word at which the sum of what is kept reaches goal, or -1; *sum: that
 * sum. */
static int64_t
draw_kept(const row *w, sample_cut cut, float min_p, uint64_t goal,
          uint64_t *sum)
{
    *sum = 0;
    EACH_NEAR(i, w, cut.d)
    {
        vf d = distances(w, i), e = vexp(-d);
        vi keep = (vi)(d < cut.d), at = (vi)(d == cut.d);
        for (int j = 0; i + VL - 1 > cut.last && j < VL; j++)
            at[j] &= -(i + j <= cut.last);
        keep = (keep | at) & (vi)(d >= 0) & (vi)(e >= min_p);
        e = vselect(keep, e, vset(0));
        uint64_t before = *sum;
        for (int j = 0; j < VL; j++)
            *sum += sample_weight(e[j]);
        if (*sum < goal)
            continue;
        *sum = before;
        for (int j = 0; j < VL; j++)
            if ((*sum += sample_weight(e[j])) >= goal)
                return i + j;
    }
    return -1;
}

/* z: all logits of the row. */
static pick
draw_filtered(const rlf_sample_args *a, const row *w, double uniform,
              char *scratch)
{
    sample_cut cut = cut_row(a, w, (sample_bins *)scratch);
    uint64_t sum;
    draw_kept(w, cut, a->min_p, UINT64_MAX, &sum);
    int64_t id = 0; /* where no logit is a number */
    if (sum > 0)
        id = draw_kept(w, cut, a->min_p, sample_goal(uniform, sum), &sum);
    return (pick){(int32_t)id, w->z[id]};
}

typedef struct sample_plan {
    const rlf_sample_args *a;
    const tile *t;
} sample_plan;

static void
pick_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const sample_plan *p = ctx;
    const rlf_sample_args *a = p->a;
    const tile *t = p->t;
    pick *own = t->picks + t->place * t->n;
    for (int64_t r = first; r < last; r++) {
        double u = a->greedy ? 0 : a->uniform[t->first + r];
        const float *z = t->full ? t->full + r * a->v : t->z + r * t->ld;
        row w = {.z = z, .v = a->v, .top = (float)t->wholes[r].m};
        own[r] = a->greedy               ? likeliest(t, r)
                 : sample_has_filters(a) ? draw_filtered(a, &w, u, scratch)
                                         : draw(t, r, u);
    }
}

/* All logits of each row, which the places hold in parts. */
static rlf_status
gather_rows(rlf_queue *queue, const tile *t, rlf_err *err)
{
    const rlf_head_part *p = &t->a.part;
    int64_t v = t->a.v;
    memcpy(t->gathered + t->place * t->n * t->ld, t->z,
           (size_t)(t->n * t->ld) * 4);
    RLF_TRY(
        p->share(p->ctx, queue, t->gathered, (size_t)(t->n * t->ld) * 4, err));
    for (int64_t i = 0; i < t->places; i++) {
        int first = (int)(i * t->n_slices), of = p->shards.of;
        int64_t from = rlf_shard_first(v, of, first);
        int64_t to = rlf_shard_first(v, of, first + (int)t->n_slices);
        for (int64_t r = 0; r < t->n; r++)
            memcpy(t->full + r * v + from, t->gathered + (i * t->n + r) * t->ld,
                   (size_t)(to - from) * 4);
    }
    return RLF_OK;
}

/* Gives what was picked, wherever; token 0 where no logit is a number. */
static void
give(const rlf_sample_args *a, const tile *t)
{
    for (int64_t r = 0; r < t->n; r++) {
        pick found = {0, 0};
        int64_t place = t->full ? t->place : 0;
        for (; place < (t->full ? t->place + 1 : t->places); place++)
            if (t->picks[place * t->n + r].token >= 0)
                found = t->picks[place * t->n + r];
        a->tokens[t->first + r] = found.token;
        a->logprob[t->first + r] = ISA(head_logprob_of)(t, r, found.z);
        if (a->entropy)
            a->entropy[t->first + r] = t->entropy[r];
    }
}

/* The logits of the row that is asked for. */
static void
give_logits(const rlf_sample_args *a, const tile *t)
{
    int64_t r = a->logits_row - t->first;
    if (a->logits && r >= 0 && r < t->n)
        memcpy(a->logits + t->token, t->z + r * t->ld,
               (size_t)t->held * sizeof *t->z);
}

static rlf_status
sample_tile(rlf_queue *queue, const rlf_sample_args *args, tile *t,
            rlf_err *err)
{
    const rlf_head_part *p = &t->a.part;
    sample_plan plan = {.a = args, .t = t};
    RLF_TRY(ISA(head_logits)(queue, t, err));
    if (t->full)
        RLF_TRY(gather_rows(queue, t, err));
    bool filters = sample_has_filters(args);
    rlf_cpu_share(queue, t->n, filters ? 1 : 4,
                  (double)t->n * (double)t->a.v * (filters ? 16 : 4), pick_rows,
                  &plan);
    if (t->places > 1 && !t->full)
        RLF_TRY(p->share(p->ctx, queue, t->picks, (size_t)t->n * sizeof(pick),
                         err));
    give(args, t);
    give_logits(args, t);
    return RLF_OK;
}

rlf_status
ISA(sample)(rlf_queue *queue, const rlf_sample_args *args, rlf_err *err)
{
    tile t;
    head_args a = {.m = args->m,
                   .v = args->v,
                   .d = args->d,
                   .part = args->part,
                   .x = args->x,
                   .ldx = args->ldx,
                   .packed = args->packed,
                   .bf16 = args->bf16,
                   .bias = args->bias,
                   .scale = args->scale,
                   .cap = args->cap,
                   .temperature = args->temperature,
                   .temperatures = args->temperatures,
                   .greedy = args->greedy,
                   .with_entropy = args->entropy != NULL,
                   .whole_rows = sample_has_filters(args)};
    RLF_TRY(sample_check(args, err));
    RLF_TRY(ISA(head_open)(&a, args->work, args->work_bytes, &t, err));
    for (t.first = 0; t.first < a.m; t.first += t.rows) {
        t.n = a.m - t.first < t.rows ? a.m - t.first : t.rows;
        RLF_TRY(sample_tile(queue, args, &t, err));
    }
    return RLF_OK;
}
