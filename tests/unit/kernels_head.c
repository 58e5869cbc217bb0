/* The language-model head and sampling: see kernels_case.h. */
#include "tests/unit/kernels_case.h"

#define N(a) ((int64_t)(sizeof(a) / sizeof *(a)))

/* rows, vocabulary, width: rows in one, two and three tasks of a team and tiles
 * of a GPU, the vocabulary in a chunk, just more than one, and in three */
static const int64_t shapes[][3] = {
    {1, 1, 8},    {5, 2, 3},    {130, 43, 40},
    {9, 768, 16}, {70, 769, 8}, {19, 1541, 20},
};

typedef struct problem {
    int64_t m, v, d, ldx;
    rlf_head_part part;
    float scale, cap;
    float *x, *w, *temperatures;
    int32_t *targets;
    void *packed, *back, *work;
    size_t work_bytes;
} problem;

/* The form of logits: in how many shards the vocabulary is, if it has as many
 * tokens; a scale and a soft cap, or 0. */
typedef struct form {
    int shards;
    float scale, cap;
} form;

static problem
make(env *e, const int64_t *shape, form f)
{
    problem p = {.m = shape[0],
                 .v = shape[1],
                 .d = shape[2],
                 .scale = f.scale,
                 .cap = f.cap};
    int shards = f.shards;
    p.part.shards.of = shards <= p.v ? shards : 1;
    p.ldx = p.d + 1;
    p.x = values(e, p.m * p.ldx, 1);
    p.w = values(e, p.v * p.d, 2);
    p.targets = indices(e, p.m, p.v);
    p.temperatures = blank(e, p.m);
    for (int64_t i = 0; i < p.m; i++)
        p.temperatures[i] = (float)(0.5 + uniform(e));
    if (p.m > 4)
        p.targets[3] = -1;
    size_t bytes = e->k->product_packed_bytes(p.v, p.d, RLF_PRODUCT_BACKWARD);
    p.back = take(e, (int64_t)bytes, 1);
    CALL(e, product_pack, .rows = p.v, .cols = p.d, .w = p.w,
         .form = RLF_PRODUCT_BACKWARD, .packed = p.back);
    int of = p.part.shards.of;
    char *at = p.packed = take(e, (p.v + 48 * of) * p.d, 4);
    for (int i = 0; i < of; i++) {
        int64_t from = p.v * i / of, n = p.v * (i + 1) / of - from;
        CALL(e, product_pack, .rows = n, .cols = p.d, .w = p.w + from * p.d,
             .packed = at);
        at += e->k->product_packed_bytes(n, p.d, RLF_PRODUCT_FORWARD);
    }
    p.work_bytes = e->k->head_work_bytes(p.m, p.v, p.d, &p.part);
    p.work = take(e, (int64_t)p.work_bytes, 1);
    return p;
}

static void
logprob(env *e, const problem *p, int64_t first, int64_t n, size_t work_bytes,
        float *lp, float *entropy)
{
    CALL(e, head_logprob, .m = n, .v = p->v, .d = p->d, .part = p->part,
         .x = p->x + first * p->ldx, .ldx = p->ldx, .packed = p->packed,
         .scale = p->scale, .cap = p->cap,
         .temperatures = p->temperatures + first, .targets = p->targets + first,
         .logprob = lp + first, .entropy = entropy ? entropy + first : NULL,
         .work = p->work, .work_bytes = work_bytes);
}

/* Logits of row r into z[v]. */
static void
row_logits(const problem *p, const double *x, const double *w, int64_t r,
           double *z)
{
    for (int64_t j = 0; j < p->v; j++) {
        z[j] = 0;
        for (int64_t i = 0; i < p->d; i++)
            z[j] += x[r * p->ldx + i] * w[j * p->d + i];
    }
}

/* Products z[v] of a row into log-probabilities lp[v], may be z; the entropy.
 */
static double
row_logprobs(const problem *p, const double *z, double temperature, double *lp)
{
    double top = -1e300, sum = 0, entropy = 0, cap = (double)p->cap;
    int64_t v = p->v;
    for (int64_t j = 0; j < v; j++) {
        double y = z[j] * (p->scale != 0 ? (double)p->scale : 1);
        lp[j] = (cap != 0 ? cap * tanh(y / cap) : y) / temperature;
        top = lp[j] > top ? lp[j] : top;
    }
    for (int64_t j = 0; j < v; j++)
        sum += exp(lp[j] - top);
    double all = top + log(sum);
    for (int64_t j = 0; j < v; j++) {
        lp[j] -= all;
        entropy -= exp(lp[j]) * lp[j];
    }
    return entropy;
}

static double
row_double(const problem *p, const double *x, const double *w, int64_t r,
           double temperature, double *lp)
{
    row_logits(p, x, w, r, lp);
    return row_logprobs(p, lp, temperature, lp);
}

/* From one of m rows that goes alone to the next: tensor cores compute 16, and
 * an emulation takes as long for one as for a tile. */
static int64_t
alone_stride(const env *e, int64_t m)
{
    return e->slow ? m : e->bf16 ? 13 : 1;
}

static void
check_logprob(env *e, form f)
{
    for (int64_t s = 0; s < N(shapes); s++) {
        problem p = make(e, shapes[s], f);
        float *lp = blank(e, p.m), *h = blank(e, p.m), *lp2 = blank(e, p.m);
        logprob(e, &p, 0, p.m, p.work_bytes, lp, h);
        out_f32(e, lp, p.m);
        out_f32(e, h, p.m);
        if (e->check) {
            double *x = as_doubles(e, p.x, p.m * p.ldx);
            double *w = as_doubles(e, p.w, p.v * p.d);
            double *want = take(e, p.v, sizeof *want);
            for (int64_t r = 0; r < p.m; r += row_stride()) {
                double hr =
                    row_double(&p, x, w, r, (double)p.temperatures[r], want);
                double l = p.targets[r] < 0 ? 0 : want[p.targets[r]];
                like(e, lp + r, &l, 1, 1e-6, "logprob");
                like(e, h + r, &hr, 1, 3e-6, "entropy");
            }
            /* small tiles, no entropy; then rows one by one */
            size_t least = e->k->head_work_bytes(16, p.v, p.d, &p.part);
            logprob(e, &p, 0, p.m, least, lp2, NULL);
            same(e, lp2, lp, p.m, 4, "in small tiles");
            for (int64_t r = 0; r < p.m; r += alone_stride(e, p.m)) {
                logprob(e, &p, r, 1, least, lp2, h);
                same(e, lp2 + r, lp + r, 1, 4, "a row alone");
            }
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

/* loss = sum of a_r lp + b_r lp^2 / 2 + c_r entropy; with words instead of the
 * entropy the mean over j of s_j (log p_j)^2 / 2, s_j = j mod 5 - 2 */
typedef struct loss {
    const float *a, *b, *c;
    bool words;
    int64_t v;
} loss;

static rlf_status
loss_words(void *ctx, rlf_queue *queue, int64_t first, int64_t n,
           const float *lp, float *words, float *dlp, rlf_err *err)
{
    const loss *l = ctx;
    if (queue)
        RLF_TRY(rlf_queue_sync(queue, err));
    for (int64_t i = 0; i < n; i++) {
        dlp[i] = l->a[first + i] + l->b[first + i] * lp[i];
        float *w = words + i * l->v;
        for (int64_t j = 0; j < l->v; j++)
            w[j] = (float)((double)l->c[first + i] * (double)(j % 5 - 2) *
                           (double)w[j] / (double)l->v);
    }
    return RLF_OK;
}

static rlf_status
loss_tile(void *ctx, rlf_queue *queue, int64_t first, int64_t n,
          const float *lp, const float *entropy, float *dlp, float *dentropy,
          rlf_err *err)
{
    (void)entropy;
    const loss *l = ctx;
    if (queue)
        RLF_TRY(rlf_queue_sync(queue, err));
    for (int64_t i = 0; i < n; i++) {
        dlp[i] = l->a[first + i] + l->b[first + i] * lp[i];
        if (dentropy)
            dentropy[i] = l->c[first + i];
    }
    return RLF_OK;
}

/* The loss of row r, whose logits are z[v]; lp[v] is room. */
static double
row_loss(const problem *p, const loss *l, int64_t r, const double *z,
         double *lp)
{
    double h = row_logprobs(p, z, (double)p->temperatures[r], lp);
    double at = p->targets[r] < 0 ? 0 : lp[p->targets[r]];
    if (l->words)
        h = 0;
    for (int64_t j = 0; l->words && j < p->v; j++)
        h += (double)(j % 5 - 2) * lp[j] * lp[j] / 2 / (double)p->v;
    return (double)l->a[r] * at + (double)l->b[r] * at * at / 2 +
           (double)l->c[r] * h;
}

/* Returns by how much the loss of row r is larger with z[j] + h than with z[j]
 * - h. */
static double
row_differs(const problem *p, const loss *l, int64_t r, double *z, int64_t j,
            double h, double *lp)
{
    double held = z[j];
    z[j] = held + h;
    double up = row_loss(p, l, r, z, lp);
    z[j] = held - h;
    double down = row_loss(p, l, r, z, lp);
    z[j] = held;
    return up - down;
}

static rlf_head_loss_args
loss_args(const problem *p, loss *l, float *dx, float *dw)
{
    return (rlf_head_loss_args){.forward = {.m = p->m,
                                            .v = p->v,
                                            .d = p->d,
                                            .part = p->part,
                                            .x = p->x,
                                            .ldx = p->ldx,
                                            .packed = p->packed,
                                            .scale = p->scale,
                                            .cap = p->cap,
                                            .temperatures = p->temperatures,
                                            .targets = p->targets,
                                            .work = p->work,
                                            .work_bytes = p->work_bytes},
                                .packed_back = p->back,
                                .loss = loss_tile,
                                .loss_ctx = l,
                                .with_entropy = true,
                                .dx = dx,
                                .dw = dw};
}

/* By finite differences: an element of x moves the logits of its row, one of w
 * a logit of every row. */
static void
check_slopes(env *e, const problem *p, const loss *l, const float *dx,
             const float *dw, const float *dw0)
{
    uint64_t random = e->random;
    double *x = as_doubles(e, p->x, p->m * p->ldx);
    double *w = as_doubles(e, p->w, p->v * p->d);
    double *lp = take(e, p->v, sizeof *lp), *z2 = take(e, p->v, sizeof *z2);
    double *z = take(e, p->m * p->v, sizeof *z);
    for (int64_t r = 0; r < p->m; r++)
        row_logits(p, x, w, r, z + r * p->v);
    for (int try = 0; try < 2 * n_slopes(8); try++) {
        bool by_x = try % 2;
        int64_t n = by_x ? p->m * p->d : p->v * p->d;
        int64_t at = (int64_t)(uniform(e) * (double)n), i = at % p->d;
        double h = 1e-4, differs = 0;
        if (by_x) {
            int64_t r = at / p->d;
            for (int way = 1; way >= -1; way -= 2) {
                for (int64_t j = 0; j < p->v; j++)
                    z2[j] = z[r * p->v + j] + way * h * w[j * p->d + i];
                differs += way * row_loss(p, l, r, z2, lp);
            }
        }
        for (int64_t r = 0; r < p->m && !by_x; r++)
            differs += row_differs(p, l, r, z + r * p->v, at / p->d,
                                   h * x[r * p->ldx + i], lp);
        double slope = differs / (2 * h) + (by_x ? 0 : (double)dw0[at]);
        float got = by_x ? dx[at] : dw[at];
        like(e, &got, &slope, 1, e->bf16 ? 4 * BF16_TOLERANCE : 1e-5,
             by_x ? "dx" : "dw");
    }
    e->random = random;
}

/* Rows of words: as in double precision; at the target its logprob. */
static void
check_rows(env *e, const problem *p, const float *lp, const float *words)
{
    double *x = as_doubles(e, p->x, p->m * p->ldx);
    double *w = as_doubles(e, p->w, p->v * p->d);
    double *want = take(e, p->v, sizeof *want);
    float *at = blank(e, p->m);
    for (int64_t r = 0; r < p->m; r++) {
        int32_t t = p->targets[r];
        at[r] = t < 0 ? 0 : words[r * p->v + t];
        if (r % row_stride())
            continue;
        row_double(p, x, w, r, (double)p->temperatures[r], want);
        like(e, words + r * p->v, want, p->v, 5e-6, "words");
    }
    same(e, at, lp, p->m, 4, "a word's logprob is the target's");
}

/* Losses on whole distributions: the words that the callback sees, and its
 * derivatives; the tile's size changes no bit. */
static void
check_words(env *e, form f)
{
    for (int64_t s = 0; s < N(shapes); s++) {
        problem p = make(e, shapes[s], f);
        loss l = {.a = values(e, p.m, 1),
                  .b = values(e, p.m, 1),
                  .c = values(e, p.m, 1),
                  .words = true,
                  .v = p.v};
        float *dx = blank(e, p.m * p.d), *dx2 = blank(e, p.m * p.d);
        float *dw = values(e, p.v * p.d, 1), *lp = blank(e, p.m);
        float *dw0 = copy_of(e, dw, p.v * p.d);
        float *dw2 = copy_of(e, dw, p.v * p.d);
        float *words = blank(e, p.m * p.v);
        CALL(e, head_logprob, .m = p.m, .v = p.v, .d = p.d, .part = p.part,
             .x = p.x, .ldx = p.ldx, .packed = p.packed, .scale = p.scale,
             .cap = p.cap, .temperatures = p.temperatures, .targets = p.targets,
             .logprob = lp, .words = words, .work = p.work,
             .work_bytes = p.work_bytes);
        out_f32(e, words, p.m * p.v);
        rlf_head_loss_args a = loss_args(&p, &l, dx, dw);
        a.forward.work_bytes *= 2;
        a.forward.work = take(e, (int64_t)a.forward.work_bytes, 1);
        a.loss = NULL;
        a.with_entropy = false;
        a.words_loss = loss_words;
        must(e, e->k->head_loss(e->queue, &a, &e->err));
        out_f32(e, dx, p.m * p.d);
        out_f32(e, dw, p.v * p.d);
        if (e->check) {
            check_rows(e, &p, lp, words);
            check_slopes(e, &p, &l, dx, dw, dw0);
            a.dx = dx2;
            a.dw = dw2;
            a.forward.work_bytes = e->k->head_work_bytes(32, p.v, p.d, &p.part);
            must(e, e->k->head_loss(e->queue, &a, &e->err));
            agree(e, dx2, dx, p.m * p.d, true, "dx of words in small tiles");
            agree(e, dw2, dw, p.v * p.d, false, "dw of words in small tiles");
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

static void
check_loss(env *e, form f)
{
    for (int64_t s = 0; s < N(shapes); s++) {
        problem p = make(e, shapes[s], f);
        loss l = {.a = values(e, p.m, 1),
                  .b = values(e, p.m, 1),
                  .c = values(e, p.m, 1)};
        float *dx = blank(e, p.m * p.d), *dx2 = blank(e, p.m * p.d);
        float *dw = values(e, p.v * p.d, 1), *lp = blank(e, p.m);
        float *dw0 = copy_of(e, dw, p.v * p.d);
        float *dw2 = copy_of(e, dw, p.v * p.d), *lp2 = blank(e, p.m);
        rlf_head_loss_args a = loss_args(&p, &l, dx, dw);
        a.forward.logprob = lp;
        must(e, e->k->head_loss(e->queue, &a, &e->err));
        out_f32(e, lp, p.m);
        out_f32(e, dx, p.m * p.d);
        out_f32(e, dw, p.v * p.d);
        if (e->check) {
            check_slopes(e, &p, &l, dx, dw, dw0);
            logprob(e, &p, 0, p.m, p.work_bytes, lp2, NULL);
            same(e, lp2, lp, p.m, 4, "the loss's logprob");
            /* small tiles with derivatives given ready-made */
            float *given = blank(e, p.m);
            loss_tile(&l, NULL, 0, p.m, lp, NULL, given, NULL, NULL);
            a.loss = NULL;
            a.dlogprob = given;
            a.dentropy = l.c;
            a.dx = dx2;
            a.dw = dw2;
            a.forward.work_bytes = e->k->head_work_bytes(16, p.v, p.d, &p.part);
            must(e, e->k->head_loss(e->queue, &a, &e->err));
            agree(e, dx2, dx, p.m * p.d, true, "dx in small tiles");
            agree(e, dw2, dw, p.v * p.d, false, "dw in small tiles");
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

/* Of two tokens the likelier, then the smaller, comes first. */
static const double *order_by;

static int
by_order(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    if (order_by[i] != order_by[j])
        return order_by[i] > order_by[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* The rule of kernels.h, plainly: sort, cut, add by id. Returns the token or
 * -1 when the uniform number is too near a border to say. */
static int64_t
choose(const double *lp, int64_t v, const rlf_sample_args *a, double u)
{
    static int order[4096];
    static bool kept[4096];
    for (int64_t i = 0; i < v; i++)
        order[i] = (int)i;
    order_by = lp;
    qsort(order, (size_t)v, sizeof *order, by_order);
    if (a->greedy)
        return lp[order[0]] - (v > 1 ? lp[order[1]] : -1e9) > 1e-5 ? order[0]
                                                                   : -1;
    int64_t n = a->top_k > 0 && a->top_k < v ? a->top_k : v;
    double total = 0, mass = 0;
    if (n < v && lp[order[n - 1]] - lp[order[n]] < 1e-5)
        return -1;
    for (int64_t i = 0; i < n; i++)
        total += exp(lp[order[i]]);
    if (a->top_p > 0 && a->top_p < 1) {
        int64_t cut = 0;
        while (cut < n && mass < (double)a->top_p * total)
            mass += exp(lp[order[cut++]]);
        double past = mass - (double)a->top_p * total;
        if (past < 1e-5 || exp(lp[order[cut - 1]]) - past < 1e-5 ||
            (cut < n && lp[order[cut - 1]] - lp[order[cut]] < 1e-5))
            return -1;
        n = cut;
    }
    memset(kept, 0, sizeof kept);
    mass = 0;
    for (int64_t i = 0; i < n; i++) {
        double share = exp(lp[order[i]] - lp[order[0]]);
        if (fabs(share - (double)a->min_p) < 1e-5)
            return -1;
        if (share < (double)a->min_p)
            break;
        kept[order[i]] = true;
        mass += exp(lp[order[i]]);
    }
    double sum = 0;
    for (int64_t i = 0; i < v; i++) {
        if (!kept[i])
            continue;
        sum += exp(lp[i]);
        if (fabs(sum - u * mass) < 1e-5 * mass && sum < mass * (1 - 1e-9))
            return -1;
        if (sum > u * mass)
            return i;
    }
    return order[0];
}

/* Log-probabilities of the rows that are looked at: [m, v]. */
static double *
all_rows(env *e, const problem *p)
{
    double *x = as_doubles(e, p->x, p->m * p->ldx);
    double *w = as_doubles(e, p->w, p->v * p->d);
    double *lp = take(e, p->m * p->v, sizeof *lp);
    for (int64_t r = 0; r < p->m; r += row_stride())
        row_double(p, x, w, r, (double)p->temperatures[r], lp + r * p->v);
    return lp;
}

static void
check_sample(env *e, form of)
{
    static const struct {
        bool greedy;
        int32_t k;
        float p, min;
    } filters[] = {
        {false, 0, 0, 0},   {true, 0, 0, 0},     {false, 5, 0, 0},
        {false, 0, .7f, 0}, {false, 0, 0, .05f}, {false, 50, .9f, .01f},
    };
    for (int64_t s = 0; s < N(shapes); s++) {
        problem p = make(e, shapes[s], of);
        double *u = take(e, p.m, sizeof *u);
        for (int64_t i = 0; i < p.m; i++)
            u[i] = uniform(e);
        u[0] = 0;
        double *want = e->check ? all_rows(e, &p) : NULL;
        for (int64_t f = 0; f < N(filters); f++) {
            /* filters by themselves: without shards, scale and cap alone */
            if (f >= 2 && f <= 4 && (of.shards > 1 || of.scale != 0))
                continue;
            int32_t *tokens = take(e, p.m, 4), *tokens2 = take(e, p.m, 4);
            float *lp = blank(e, p.m), *lp2 = blank(e, p.m);
            rlf_sample_args a = {.m = p.m,
                                 .v = p.v,
                                 .d = p.d,
                                 .part = p.part,
                                 .x = p.x,
                                 .ldx = p.ldx,
                                 .packed = p.packed,
                                 .scale = p.scale,
                                 .cap = p.cap,
                                 .greedy = filters[f].greedy,
                                 .temperatures = p.temperatures,
                                 .top_k = filters[f].k,
                                 .top_p = filters[f].p,
                                 .min_p = filters[f].min,
                                 .uniform = u,
                                 .tokens = tokens,
                                 .logprob = lp,
                                 .work = p.work,
                                 .work_bytes = p.work_bytes};
            must(e, e->k->sample(e->queue, &a, &e->err));
            out(e, tokens, p.m, 4);
            out_f32(e, lp, p.m);
            if (!e->check)
                continue;
            /* the recorded logprob is the trainer's */
            memcpy(p.targets, tokens, (size_t)p.m * 4);
            problem q = p;
            float *ones = blank(e, p.m);
            for (int64_t i = 0; i < p.m; i++)
                ones[i] = 1;
            if (a.greedy)
                q.temperatures = ones;
            if (!bits_suffice(e)) {
                logprob(e, &q, 0, p.m, p.work_bytes, lp2, NULL);
                same(e, lp2, lp, p.m, 4, "the trainer's logprob");
            }
            for (int64_t r = 0; r < p.m; r += row_stride()) {
                int64_t token = choose(want + r * p.v, p.v, &a, u[r]);
                if (token >= 0 && token != tokens[r] && !e->why[0])
                    snprintf(e->why, sizeof e->why,
                             "row %lld, filter %lld: token %d, not %lld",
                             (long long)r, (long long)f, tokens[r],
                             (long long)token);
            }
            rlf_sample_args one = a;
            for (int64_t r = 0; r < p.m; r += alone_stride(e, p.m)) {
                one.m = 1;
                one.x = p.x + r * p.ldx;
                one.temperatures = p.temperatures + r;
                one.uniform = u + r;
                one.tokens = tokens2 + r;
                one.logprob = lp2 + r;
                must(e, e->k->sample(e->queue, &one, &e->err));
                same(e, tokens2 + r, tokens + r, 1, 4, "a row alone");
                same(e, lp2 + r, lp + r, 1, 4, "a row's logprob alone");
            }
        }
        while (e->n_held > 0)
            free(e->held[--e->n_held]);
    }
}

/* Equal logits: the smaller id wins, everywhere. */
static void
test_sample_ties(env *e)
{
    float *w = blank(e, 100 * 8), *x = blank(e, 8), *lp = blank(e, 1);
    double *u = take(e, 1, sizeof *u);
    int32_t *token = take(e, 1, sizeof *token);
    memset(w, 0, 100 * 8 * sizeof *w);
    memset(x, 0, 8 * sizeof *x);
    x[0] = 1;
    *u = 0.999;
    w[70 * 8] = w[30 * 8] = w[90 * 8] = 3;
    size_t bytes = e->k->product_packed_bytes(100, 8, RLF_PRODUCT_FORWARD);
    size_t work_bytes = e->k->head_work_bytes(16, 100, 8, NULL);
    void *packed = take(e, (int64_t)bytes, 1);
    void *work = take(e, (int64_t)work_bytes, 1);
    CALL(e, product_pack, .rows = 100, .cols = 8, .w = w, .packed = packed);
    for (int i = 0; i < 4; i++) {
        int32_t want[] = {30, 70, 30, 70};
        CALL(e, sample, .m = 1, .v = 100, .d = 8, .x = x, .packed = packed,
             .greedy = i == 0,
             .top_k = i == 1   ? 2
                      : i == 2 ? 1
                               : 0,
             .top_p = i == 3 ? 0.25f : 0, .uniform = u, .tokens = token,
             .logprob = lp, .work = work, .work_bytes = work_bytes);
        if (*token != want[i])
            snprintf(e->why, sizeof e->why, "tie %d: token %d", i, *token);
        e->hash = rlf_hash(e->hash, lp, 4);
    }
}

#define CASE(name, check, ...)         \
    static void name(env *e)           \
    {                                  \
        check(e, (form){__VA_ARGS__}); \
    }
CASE(test_head_logprob, check_logprob, 1, 0, 0)
CASE(test_head_loss, check_loss, 1, 0, 0)
CASE(test_sample, check_sample, 1, 0, 0)
CASE(test_head_words, check_words, 1, 0, 0)
CASE(test_head_words_shards, check_words, 8, 0, 0)
CASE(test_head_logprob_shards, check_logprob, 4, 0, 0)
CASE(test_head_logprob_61_shards, check_logprob, 61, 0, 0)
CASE(test_head_loss_shards, check_loss, 8, 0, 0)
CASE(test_sample_shards, check_sample, 4, 0, 0)
CASE(test_head_logprob_scaled, check_logprob, 1, 0.3f, 0)
CASE(test_head_loss_scaled, check_loss, 1, 0.3f, 0)
CASE(test_head_words_scaled, check_words, 1, 0.3f, 0)
CASE(test_sample_scaled, check_sample, 1, 0.3f, 0)
CASE(test_head_logprob_capped, check_logprob, 4, 1.5f, 3)
CASE(test_head_loss_capped, check_loss, 8, 1.5f, 3)
CASE(test_head_words_capped, check_words, 1, 0, 5)
CASE(test_sample_capped, check_sample, 4, 1.5f, 3)

static const op_case cases[] = {
    {"head_logprob_shards", test_head_logprob_shards},
    {"head_logprob_61_shards", test_head_logprob_61_shards},
    {"head_loss_shards", test_head_loss_shards},
    {"sample_shards", test_sample_shards},
    {"head_logprob", test_head_logprob},
    {"head_loss", test_head_loss},
    {"sample", test_sample},
    {"head_words", test_head_words},
    {"head_words_shards", test_head_words_shards},
    {"head_logprob_scaled", test_head_logprob_scaled},
    {"head_loss_scaled", test_head_loss_scaled},
    {"head_words_scaled", test_head_words_scaled},
    {"sample_scaled", test_sample_scaled},
    {"head_logprob_capped", test_head_logprob_capped},
    {"head_loss_capped", test_head_loss_capped},
    {"head_words_capped", test_head_words_capped},
    {"sample_capped", test_sample_capped},
    {"sample_ties", test_sample_ties},
};

int
main(int argc, char **argv)
{
    return run_cases(cases, N(cases), argc > 1 ? argv[1] : NULL);
}
