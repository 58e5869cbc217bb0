/* RMSNorm and rotary embedding. */
#include "kernels/cpu/heads.h"

static void
rmsnorm_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_rmsnorm_args *a = ctx;
    int64_t d = a->d;
    for (int64_t i = first; i < last; i++) {
        int64_t row = i / a->groups, group = i % a->groups;
        const rlf_real *x = a->x + row * a->ldx + group * d;
        rlf_real *y = a->y + row * a->ldy + group * d;
        float r = a->sums ? norm_by(x, a->weight, a->sums[i] / (float)a->whole,
                                    a->eps, d, y)
                          : norm(x, a->weight, a->eps, d, y);
        if (a->rstd)
            a->rstd[i] = r;
    }
}

rlf_status
ISA(rmsnorm)(rlf_queue *queue, const rlf_rmsnorm_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0 && args->groups >= 0, "rmsnorm");
    rlf_rmsnorm_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.ldy = or_dense(a.ldy, a.groups * a.d);
    int64_t rows = a.m * a.groups;
    rlf_cpu_share(queue, rows, 16, 20.0 * (double)rows * (double)a.d,
                  rmsnorm_rows, &a);
    return RLF_OK;
}

typedef struct norm_sums {
    rlf_norm_sums_args a;
    int64_t end[RLF_MOST_SHARDS];
} norm_sums;

static void
norm_sums_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const norm_sums *c = ctx;
    const rlf_norm_sums_args *a = &c->a;
    float part[RLF_MOST_SHARDS];
    int n = a->shards.count;
    for (int64_t i = first; i < last; i++) {
        const rlf_real *x = a->x + i * a->ldx, *dy = a->dy + i * a->lddy;
        for (int64_t s = 0, at = 0; s < n; at = c->end[s++])
            part[s] =
                row_dot(x + at, dy + at, a->weight ? a->weight + at : NULL,
                        c->end[s] - at);
        for (int step = 1; step < n; step *= 2)
            for (int s = 0; s + step < n; s += 2 * step)
                part[s] += part[s + step];
        a->sums[i] = part[0];
    }
}

rlf_status
ISA(norm_sums)(rlf_queue *queue, const rlf_norm_sums_args *args, rlf_err *err)
{
    norm_sums c = {.a = *args};
    rlf_norm_sums_args *a = &c.a;
    a->shards = rlf_shards_of(a->shards);
    NEED(a->m >= 0 && a->d > 0 && a->shards.count <= RLF_MOST_SHARDS &&
             rlf_norm_sums_ends(a, c.end),
         "norm_sums");
    a->ldx = or_dense(a->ldx, a->d);
    a->lddy = a->dy ? or_dense(a->lddy, a->d) : a->ldx;
    a->weight = a->dy ? a->weight : NULL;
    a->dy = a->dy ? a->dy : a->x;
    rlf_cpu_share(queue, a->m, 16, 8.0 * (double)a->m * (double)a->d,
                  norm_sums_rows, &c);
    return RLF_OK;
}

static void
rmsnorm_grad_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_rmsnorm_grad_args *a = ctx;
    int64_t d = a->d;
    for (int64_t i = first; i < last; i++) {
        int64_t row = i / a->groups, group = i % a->groups;
        const rlf_real *x = a->x + row * a->ldx + group * d;
        const rlf_real *dy = a->dy + row * a->lddy + group * d;
        rlf_real *dx = a->dx + row * a->lddx + group * d;
        float r = a->rstd[i];
        float mean = a->sums ? a->sums[i] / (float)a->whole
                             : row_dot(x, dy, a->weight, d) / (float)d;
        float coef = -(r * r * mean);
        for (int64_t j = 0; j < d; j += VL) {
            int64_t n = d - j;
            vf g = rload_part(dy + j, n) * load_part(a->weight + j, n);
            vf t = vfma(rload_part(x + j, n), vset(coef), g);
            if (a->add)
                t = vfma(vset(r), t, rload_part(dx + j, n));
            else
                t *= vset(r);
            rstore_part(dx + j, t, n);
        }
    }
}

/* Columns first..last-1 of the weight's gradient, over rows in order. */
static void
rmsnorm_grad_columns(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_rmsnorm_grad_args *a = ctx;
    int64_t each = a->groups / a->shards; /* groups of a sum */
    for (int64_t i = 0; i < a->m * a->groups; i++) {
        int64_t row = i / a->groups, group = i % a->groups;
        const rlf_real *x = a->x + row * a->ldx + group * a->d;
        const rlf_real *dy = a->dy + row * a->lddy + group * a->d;
        float *sum = a->dweight + group / each * a->d;
        vf r = vset(a->rstd[i]);
        int64_t j = first;
        for (; j + VL <= last; j += VL)
            vstore(sum + j,
                   vfma(rload(dy + j), rload(x + j) * r, vload(sum + j)));
        if (j < last) {
            int64_t n = last - j;
            vf old = vload_n(sum + j, n);
            vf t = rload_n(x + j, n) * r;
            vstore_n(sum + j, vfma(rload_n(dy + j, n), t, old), n);
        }
    }
}

rlf_status
ISA(rmsnorm_grad)(rlf_queue *queue, const rlf_rmsnorm_grad_args *args,
                  rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0 && args->groups >= 0, "rmsnorm_grad");
    rlf_rmsnorm_grad_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.shards = a.shards ? a.shards : 1;
    NEED(a.shards > 0 && a.groups % a.shards == 0, "rmsnorm_grad");
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.lddy = or_dense(a.lddy, a.groups * a.d);
    a.lddx = or_dense(a.lddx, a.groups * a.d);
    int64_t rows = a.m * a.groups;
    double work = (double)rows * (double)a.d;
    /* first: dx may be dy */
    if (a.dweight)
        rlf_cpu_share(queue, a.d, 64, 4 * work, rmsnorm_grad_columns, &a);
    rlf_cpu_share(queue, rows, 16, 8 * work, rmsnorm_grad_rows, &a);
    return RLF_OK;
}

/* ---- rotary embedding -------------------------------------------------- */

static void
rope_table_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_rope_table_args *a = ctx;
    for (int64_t p = first; p < last; p++)
        for (int64_t i = 0; i < a->half; i++) {
            float angle = (float)(a->first + p) * a->inv_freq[i];
            double s, c;
            rlf_sincos((double)angle, &s, &c);
            a->cos[p * a->half + i] = (float)c * a->scale;
            a->sin[p * a->half + i] = (float)s * a->scale;
        }
}

rlf_status
ISA(rope_table)(rlf_queue *queue, const rlf_rope_table_args *args, rlf_err *err)
{
    NEED(args->n >= 0 && args->half >= 0, "rope_table");
    rlf_rope_table_args a = *args;
    a.scale = a.scale == 0 ? 1 : a.scale;
    rlf_cpu_share(queue, a.n, 64, 60.0 * (double)a.n * (double)a.half,
                  rope_table_rows, &a);
    return RLF_OK;
}

static void
rope_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_rope_args *a = ctx;
    rotation r = {a->cos, a->sin, a->half, a->back};
    int64_t rest = a->d - 2 * a->half;
    for (int64_t m = first; m < last; m++)
        for (int64_t h = 0; h < a->heads; h++) {
            const rlf_real *x = a->x + m * a->ldx + h * a->d;
            rlf_real *y = a->y + m * a->ldy + h * a->d;
            for (int64_t i = 0; i < a->d; i += VL)
                __builtin_prefetch(x + 4 * a->ldx + i, 1);
            rotate(&r, a->positions[m], x, y);
            if (rest && y != x)
                memcpy(y + 2 * a->half, x + 2 * a->half,
                       (size_t)rest * sizeof *y);
        }
}

rlf_status
ISA(rope)(rlf_queue *queue, const rlf_rope_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->heads >= 0 && 2 * args->half <= args->d, "rope");
    RLF_TRY(check_positions(args->positions, args->m, args->n_positions, err));
    rlf_rope_args a = *args;
    a.ldx = or_dense(a.ldx, a.heads * a.d);
    a.ldy = or_dense(a.ldy, a.heads * a.d);
    rlf_cpu_share(queue, a.m, 8, 4.0 * (double)a.m * (double)(a.heads * a.d),
                  rope_rows, &a);
    return RLF_OK;
}
