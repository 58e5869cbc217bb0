/* Choosing a token from a row of logits.
 *
 * Without filters: the chunk in which the cumulative sum passes
 * uniform * S is found from the chunks' sums, then the token within it. With
 * filters: tokens leave a heap in order (likeliest first, then smaller id)
 * until top_k or top_p ends it; what is kept is then exactly the tokens not
 * after the last one, and the cumulative sum runs over them by id. */
#include "kernels/cpu/head.h"

#define MAX_V ((int64_t)(SCRATCH_BYTES / sizeof(int32_t)))

/* The first of the most likely tokens. */
static int32_t
likeliest(const tile *t, int64_t r)
{
    const float *z = t->z + r * t->ld;
    const part *parts = t->parts + r * t->n_chunks;
    for (int64_t c = 0; c < t->n_chunks; c++)
        if ((double)parts[c].m == t->wholes[r].m)
            for (int64_t i = c * CHUNK; i < t->a.v; i++)
                if (z[i] == parts[c].m)
                    return (int32_t)i;
    return 0; /* no logit is a number */
}

static int32_t
draw(const tile *t, int64_t r, double uniform)
{
    const float *z = t->z + r * t->ld;
    const part *parts = t->parts + r * t->n_chunks;
    const whole *o = &t->wholes[r];
    double goal = uniform * o->s, sum = 0;
    int32_t last = 0;
    for (int64_t c = 0; c < t->n_chunks; c++) {
        double w = rlf_exp((double)parts[c].m - o->m);
        double next = rlf_fma((double)parts[c].s, w, sum);
        int64_t from = c * CHUNK, end = from + CHUNK;
        end = end < t->a.v ? end : t->a.v;
        bool here = next > goal || c == t->n_chunks - 1;
        for (int64_t i = from; here && i < end; i += VL) {
            vf p = vexp(load_part(z + i, end - i) - parts[c].m);
            for (int64_t j = 0; j < VL && i + j < end; j++) {
                double e = (double)p[j] * w;
                sum += e;
                if (e > 0)
                    last = (int32_t)(i + j);
                if (sum > goal && e > 0)
                    return last;
            }
        }
        if (next > goal) /* rounding: the chunk's last possible token */
            return last;
        sum = next;
    }
    return last;
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
last_kept(const rlf_sample_args *a, const tile *t, int64_t r, int32_t *heap)
{
    const float *z = t->z + r * t->ld;
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

static int32_t
draw_filtered(const rlf_sample_args *a, const tile *t, int64_t r,
              double uniform, char *scratch)
{
    const float *z = t->z + r * t->ld;
    float top = (float)t->wholes[r].m;
    bool cut = a->top_k > 0 || (a->top_p > 0 && a->top_p < 1);
    int32_t end = cut ? last_kept(a, t, r, (int32_t *)scratch) : 0;
    double sum = 0, goal = __builtin_inf();
    int32_t last = likeliest(t, r);
    for (int pass = 0; pass < 2; pass++) {
        sum = 0;
        for (int64_t i = 0; i < a->v; i++) {
            if (cut && before(z, end, (int32_t)i))
                continue;
            float e = exp_1(z[i] - top);
            if (e < a->min_p || e == 0)
                continue;
            sum += (double)e;
            last = (int32_t)i;
            if (sum > goal)
                return last;
        }
        goal = uniform * sum;
    }
    return last;
}

typedef struct sample_plan {
    const rlf_sample_args *a;
    const tile *t;
} sample_plan;

static void
sample_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const sample_plan *p = ctx;
    const rlf_sample_args *a = p->a;
    bool filters =
        a->top_k > 0 || (a->top_p > 0 && a->top_p < 1) || a->min_p > 0;
    for (int64_t r = first; r < last; r++) {
        int64_t row = p->t->first + r;
        int32_t token;
        if (a->greedy)
            token = likeliest(p->t, r);
        else if (filters)
            token = draw_filtered(a, p->t, r, a->uniform[row], scratch);
        else
            token = draw(p->t, r, a->uniform[row]);
        a->tokens[row] = token;
        a->logprob[row] = ISA(head_logprob_of)(p->t, r, token);
        if (a->entropy)
            a->entropy[row] = p->t->entropy[r];
    }
}

rlf_status
ISA(sample)(rlf_queue *queue, const rlf_sample_args *args, rlf_err *err)
{
    tile t;
    head_args a = {.m = args->m,
                   .v = args->v,
                   .d = args->d,
                   .x = args->x,
                   .ldx = args->ldx,
                   .packed = args->packed,
                   .temperature = args->temperature,
                   .temperatures = args->temperatures,
                   .greedy = args->greedy,
                   .with_entropy = args->entropy != NULL};
    if (args->v > MAX_V)
        return rlf_fail(err, RLF_USER,
                        "sampling from a vocabulary of %lld is not supported, "
                        "at most %lld",
                        (long long)args->v, (long long)MAX_V);
    RLF_TRY(ISA(head_open)(&a, args->work, args->work_bytes, &t, err));
    for (t.first = 0; t.first < a.m; t.first += t.rows) {
        t.n = a.m - t.first < t.rows ? a.m - t.first : t.rows;
        ISA(head_logits)(queue, &t);
        sample_plan p = {.a = args, .t = &t};
        rlf_cpu_share(queue, t.n, 4, (double)t.n * (double)a.v * 4, sample_rows,
                      &p);
    }
    return RLF_OK;
}
