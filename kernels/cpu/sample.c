/* Choosing a token from a row of logits.
 *
 * Without filters: the chunk in which the cumulative sum passes
 * uniform * S is found from the chunks' sums, then the token within it. With
 * filters: tokens leave a heap in order (likeliest first, then smaller id)
 * until top_k or top_p ends it; what is kept is then exactly the tokens not
 * after the last one, and the cumulative sum runs over them by id. */
#include "kernels/cpu/head.h"

#define MAX_V ((int64_t)(SCRATCH_BYTES / sizeof(int32_t)))

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

/* Does token a come before b? */
INLINE bool
before(const float *z, int32_t a, int32_t b)
{
    return z[a] > z[b] || (z[a] == z[b] && a < b);
}

static void
sift(const float *z, int32_t *heap, int64_t n, int64_t i)
{
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= n)
            return;
        if (child + 1 < n && before(z, heap[child + 1], heap[child]))
            child++;
        if (!before(z, heap[child], heap[i]))
            return;
        int32_t held = heap[i];
        heap[i] = heap[child];
        heap[child] = held;
        i = child;
    }
}

/* The last kept token in order of likelihood under top_k and top_p. */
static int32_t
last_kept(const rlf_sample_args *a, const tile *t, int64_t r, const float *z,
          int32_t *heap)
{
    float top = (float)t->wholes[r].m;
    double total = t->wholes[r].s;
    int64_t n = 0, k = a->top_k > 0 && a->top_k < a->v ? a->top_k : a->v;
    bool nucleus = a->top_p > 0 && a->top_p < 1;
    /* tokens below this share cannot be in the smallest set: all of them
     * together are less than what top_p leaves out */
    float least = 0;
    if (nucleus && k == a->v)
        least = (float)(0.5 * (1 - (double)a->top_p) * total / (double)a->v);
    for (int64_t i = 0; i < a->v; i++)
        if (least == 0 || exp_1(z[i] - top) >= least)
            heap[n++] = (int32_t)i;
    if (n == 0)
        return 0;
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift(z, heap, n, i);
    /* the k first leave the heap, likeliest first, to the array's end */
    int64_t size = n, taken = 0;
    double mass = 0, goal = (double)a->top_p * total;
    if (nucleus && k < a->v)
        goal = __builtin_inf();
    while (taken < k && size > 0) {
        int32_t token = heap[0];
        heap[0] = heap[--size];
        sift(z, heap, size, 0);
        heap[size] = token;
        taken++;
        mass += (double)exp_1(z[token] - top);
        if (nucleus && mass >= goal)
            break;
    }
    int64_t last = n - taken;
    if (nucleus && k < a->v) {
        goal = (double)a->top_p * mass;
        mass = 0;
        for (last = n; last > n - taken;) {
            mass += (double)exp_1(z[heap[--last]] - top);
            if (mass >= goal)
                break;
        }
    }
    return heap[last];
}

/* z: all logits of the row. */
static pick
draw_filtered(const rlf_sample_args *a, const tile *t, int64_t r,
              const float *z, double uniform, char *scratch)
{
    float top = (float)t->wholes[r].m;
    bool cut = a->top_k > 0 || (a->top_p > 0 && a->top_p < 1);
    int32_t end = cut ? last_kept(a, t, r, z, (int32_t *)scratch) : 0;
    double sum = 0, goal = __builtin_inf();
    int64_t last = 0;
    while (last < a->v - 1 && z[last] != top)
        last++;
    for (int pass = 0; pass < 2; pass++) {
        sum = 0;
        for (int64_t i = 0; i < a->v; i++) {
            if (cut && before(z, end, (int32_t)i))
                continue;
            float e = exp_1(z[i] - top);
            if (e < a->min_p || e == 0)
                continue;
            sum += (double)e;
            last = i;
            if (sum > goal)
                return (pick){(int32_t)last, z[last]};
        }
        goal = uniform * sum;
    }
    return (pick){(int32_t)last, z[last]};
}

typedef struct sample_plan {
    const rlf_sample_args *a;
    const tile *t;
} sample_plan;

static bool
has_filters(const rlf_sample_args *a)
{
    return !a->greedy &&
           (a->top_k > 0 || (a->top_p > 0 && a->top_p < 1) || a->min_p > 0);
}

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
        own[r] = a->greedy        ? likeliest(t, r)
                 : has_filters(a) ? draw_filtered(a, t, r, z, u, scratch)
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

/* What was picked, wherever; token 0 where no logit is a number. */
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

static rlf_status
sample_tile(rlf_queue *queue, const rlf_sample_args *args, tile *t,
            rlf_err *err)
{
    const rlf_head_part *p = &t->a.part;
    sample_plan plan = {.a = args, .t = t};
    RLF_TRY(ISA(head_logits)(queue, t, err));
    if (t->full)
        RLF_TRY(gather_rows(queue, t, err));
    rlf_cpu_share(queue, t->n, 4, (double)t->n * (double)t->a.v * 4, pick_rows,
                  &plan);
    if (t->places > 1 && !t->full)
        RLF_TRY(p->share(p->ctx, queue, t->picks, (size_t)t->n * sizeof(pick),
                         err));
    give(args, t);
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
                   .temperature = args->temperature,
                   .temperatures = args->temperatures,
                   .greedy = args->greedy,
                   .with_entropy = args->entropy != NULL,
                   .whole_rows = has_filters(args)};
    if (args->v > MAX_V)
        return rlf_fail(err, RLF_USER,
                        "sampling from a vocabulary of %lld is not supported, "
                        "at most %lld",
                        (long long)args->v, (long long)MAX_V);
    RLF_TRY(ISA(head_open)(&a, args->work, args->work_bytes, &t, err));
    for (t.first = 0; t.first < a.m; t.first += t.rows) {
        t.n = a.m - t.first < t.rows ? a.m - t.first : t.rows;
        RLF_TRY(sample_tile(queue, args, &t, err));
    }
    return RLF_OK;
}
