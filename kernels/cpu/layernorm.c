/* LayerNorm (Ba, Kiros and Hinton 2016) and its gradient.
 *
 * Both sums of a row, of x and of (x - mean)^2, are 64 lanes; the second looks
 * at x - mean as it is rounded, which is what y is made of. */
#include "kernels/cpu/ops.h"

INLINE float
row_sum(const rlf_real *x, int64_t n)
{
    lanes s = lanes_set(0);
    for (int64_t i = 0, j = 0; i < n; i += VL, j = (j + 1) % NL)
        s.v[j] += rload_part(x + i, n - i);
    return lanes_sum(&s);
}

/* Of (x - mean)^2. */
INLINE float
row_spread(const rlf_real *x, float mean, int64_t n)
{
    lanes s = lanes_set(0);
    for (int64_t i = 0, j = 0; i < n; i += VL, j = (j + 1) % NL) {
        int64_t left = n - i;
        vf t = rload_part(x + i, left) - vset(mean);
        vf sum = vfma(t, t, s.v[j]);
        if (left < VL) { /* behind the row x is 0, and counts nothing */
            float old[VL], now[VL];
            vstore(old, s.v[j]);
            vstore(now, sum);
            memcpy(old, now, (size_t)left * sizeof *old);
            sum = vload(old);
        }
        s.v[j] = sum;
    }
    return lanes_sum(&s);
}

/* From column j on; without weights all are 1. */
INLINE vf
weights(const float *weight, int64_t j, int64_t n)
{
    return weight ? load_part(weight + j, n) : vset(1);
}

static void
layernorm_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_layernorm_args *a = ctx;
    for (int64_t m = first; m < last; m++) {
        int64_t row = m / a->groups, at = m % a->groups * a->d;
        const rlf_real *x = a->x + row * a->ldx + at;
        rlf_real *y = a->y + row * a->ldy + at;
        float mean = row_sum(x, a->d) / (float)a->d;
        float spread = row_spread(x, mean, a->d) / (float)a->d;
        float r = 1 / __builtin_sqrtf(spread + a->eps);
        for (int64_t j = 0; j < a->d; j += VL) {
            int64_t n = a->d - j;
            vf t = (rload_part(x + j, n) - vset(mean)) * vset(r);
            vf w = weights(a->weight, at + j, n);
            t = a->bias ? vfma(t, w, load_part(a->bias + at + j, n)) : t * w;
            rstore_part(y + j, t, n);
        }
        if (a->mean)
            a->mean[m] = mean;
        if (a->rstd)
            a->rstd[m] = r;
    }
}

rlf_status
ISA(layernorm)(rlf_queue *queue, const rlf_layernorm_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0, "layernorm");
    rlf_layernorm_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.ldy = or_dense(a.ldy, a.groups * a.d);
    int64_t rows = a.m * a.groups;
    rlf_cpu_share(queue, rows, 16, 24.0 * (double)rows * (double)a.d,
                  layernorm_rows, &a);
    return RLF_OK;
}

static void
layernorm_grad_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_layernorm_grad_args *a = ctx;
    int64_t d = a->d;
    for (int64_t m = first; m < last; m++) {
        int64_t row = m / a->groups, at = m % a->groups * d;
        const rlf_real *x = a->x + row * a->ldx + at;
        const rlf_real *dy = a->dy + row * a->lddy + at;
        rlf_real *dx = a->dx + row * a->lddx + at;
        vf mean = vset(a->mean[m]), r = vset(a->rstd[m]);
        lanes along = lanes_set(0), all = lanes_set(0);
        for (int64_t i = 0, j = 0; i < d; i += VL, j = (j + 1) % NL) {
            int64_t n = d - i;
            /* behind the row dy is 0 */
            vf g = rload_part(dy + i, n) * weights(a->weight, at + i, n);
            vf t = (rload_part(x + i, n) - mean) * r;
            all.v[j] += g;
            along.v[j] = vfma(g, t, along.v[j]);
        }
        vf coef = vset(-(lanes_sum(&along) / (float)d));
        vf shift = vset(lanes_sum(&all) / (float)d);
        for (int64_t i = 0; i < d; i += VL) {
            int64_t n = d - i;
            vf g = rload_part(dy + i, n) * weights(a->weight, at + i, n);
            vf t = (rload_part(x + i, n) - mean) * r;
            t = vfma(t, coef, g - shift);
            t = a->add ? vfma(r, t, rload_part(dx + i, n)) : t * r;
            rstore_part(dx + i, t, n);
        }
    }
}

/* Columns first..last-1 of the gradients of weight and bias, all of one group,
 * over rows in order. */
static void
group_columns(const rlf_layernorm_grad_args *a, int64_t group, int64_t first,
              int64_t last)
{
    for (int64_t m = 0; m < a->m; m++) {
        const rlf_real *x = a->x + m * a->ldx, *dy = a->dy + m * a->lddy;
        vf mean = vset(a->mean[m * a->groups + group]);
        vf r = vset(a->rstd[m * a->groups + group]);
        for (int64_t j = first; j < last; j += VL) {
            int64_t n = last - j;
            vf d = rload_part(dy + j, n);
            if (a->dweight) {
                vf t = (rload_part(x + j, n) - mean) * r;
                t = vfma(d, t, load_part(a->dweight + j, n));
                store_part(a->dweight + j, t, n);
            }
            if (a->dbias)
                store_part(a->dbias + j, load_part(a->dbias + j, n) + d, n);
        }
    }
}

static void
layernorm_grad_columns(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_layernorm_grad_args *a = ctx;
    for (int64_t at = first, end; at < last; at = end) {
        int64_t group = at / a->d;
        end = (group + 1) * a->d < last ? (group + 1) * a->d : last;
        group_columns(a, group, at, end);
    }
}

rlf_status
ISA(layernorm_grad)(rlf_queue *queue, const rlf_layernorm_grad_args *args,
                    rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0, "layernorm_grad");
    rlf_layernorm_grad_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    int64_t width = a.groups * a.d;
    a.ldx = or_dense(a.ldx, width);
    a.lddy = or_dense(a.lddy, width);
    a.lddx = or_dense(a.lddx, width);
    double work = (double)a.m * (double)width;
    /* first: dx may be dy */
    if (a.dweight || a.dbias)
        rlf_cpu_share(queue, width, 64, 6 * work, layernorm_grad_columns, &a);
    rlf_cpu_share(queue, a.m * a.groups, 16, 12 * work, layernorm_grad_rows,
                  &a);
    return RLF_OK;
}
