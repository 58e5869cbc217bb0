/* Products of bf16 on tensor cores (kernels/cuda/product_mma.cu, and by warp
 * groups product_wgmma.cu): against double precision on the same rounded
 * numbers, and a row's bits against those of the same row in other company, in
 * every size of tile and with k in one part and in several, summed by one block
 * or by blocks of their own. The head by warp groups, which measure logits
 * themselves. */
#include "engine/base/half.h"
#include "engine/base/vec.h"
#include "kernels/cuda/algorithms.h"
#include "tests/unit/kernels_case.h"

/* m rows; n, k of the layer; ldx. */
typedef struct size {
    int64_t m, n, k, ldx;
    const char *what;
} size;

static const size sizes[] = {
    {1, 64, 64, 64, "one row"},
    {1, 8, 8, 8, "a small layer"},
    {5, 33, 20, 23, "odd sizes"},
    {16, 64, 1088, 1088, "two parts of k, small tiles"},
    {70, 100, 130, 136, "middle tiles"},
    {300, 256, 1024, 1024, "large tiles, parts side by side"},
    {390, 384, 1024, 1024, "large tiles, parts in turn"},
    {390, 300, 200, 208, "the largest tiles"},
    {17, 1, 64, 64, "one output"},
};

typedef struct job {
    env e;
    size s;
    rlf_product_form form;
    bool f32; /* c */
    uint16_t *x, *dy;
    float *w, *bias, *start;
    float *exact; /* w rounded, [n, k] */
    void *packed;
} job;

static float
rounded(float x)
{
    return rlf_bf16_to_f32(rlf_f32_to_bf16(x));
}

static uint16_t *
halves(env *e, int64_t n)
{
    uint16_t *x = take(e, n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = rlf_f32_to_bf16((float)(uniform(e) - 0.5));
    return x;
}

static size_t
c_bytes(const job *j)
{
    return j->f32 ? 4 : 2;
}

static float
c_at(const job *j, const void *c, int64_t i)
{
    return j->f32 ? ((const float *)c)[i]
                  : rlf_bf16_to_f32(((const uint16_t *)c)[i]);
}

static void *
start_of(job *j)
{
    int64_t n = j->s.m * j->s.n;
    void *c = take(&j->e, n, c_bytes(j));
    for (int64_t i = 0; i < n; i++)
        if (j->f32)
            ((float *)c)[i] = j->start[i];
        else
            ((uint16_t *)c)[i] = rlf_f32_to_bf16(j->start[i]);
    return c;
}

static void
wait(job *j)
{
    must(&j->e, rlf_queue_sync(j->e.queue, &j->e.err));
}

/* Rows first..first+m-1 of c. */
static void
multiply(job *j, void *c, int64_t first, int64_t m)
{
    const size *s = &j->s;
    CALL(&j->e, product, .m = m, .n = s->n, .k = s->k,
         .x = j->x + first * s->ldx, .ldx = s->ldx, .packed = j->packed,
         .form = j->form, .bias = j->bias, .add = true, .c_f32 = j->f32,
         .c = (char *)c + (size_t)(first * s->n) * c_bytes(j));
    wait(j);
}

static void
make(job *j)
{
    const size *s = &j->s;
    bool back = j->form == RLF_PRODUCT_BACKWARD;
    int64_t rows = back ? s->k : s->n, cols = back ? s->n : s->k;
    j->x = halves(&j->e, s->m * s->ldx);
    j->w = values(&j->e, rows * cols, 0.5);
    j->exact = take(&j->e, rows * cols, sizeof *j->exact);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = 0; k < s->k; k++)
            j->exact[i * s->k + k] =
                rounded(j->w[back ? k * s->n + i : i * s->k + k]);
    j->bias = values(&j->e, s->n, 1);
    j->start = values(&j->e, s->m * s->n, 1);
    for (int64_t i = 0; i < s->m * s->n; i++)
        j->start[i] = rounded(j->start[i]);
    j->packed = take(
        &j->e,
        (int64_t)j->e.k->product_packed_bytes(rows, cols, RLF_PRODUCT_FORWARD),
        1);
    CALL(&j->e, product_pack, .rows = rows, .cols = cols, .w = j->w,
         .packed = j->packed);
    wait(j);
}

/* From one row that is looked at to the next: of many a third, which are of all
 * places in a tile. */
static int64_t
oracle_stride(int64_t rows)
{
    return rows > 100 && row_stride() < 3 ? 3 : row_stride();
}

/* Returns the largest error of a product, in units of the error that rounding
 * may make. */
static double
worst_of(const job *j, const void *c)
{
    const size *s = &j->s;
    double worst = 0;
    for (int64_t r = 0; r < s->m; r += oracle_stride(s->m))
        for (int64_t i = 0; i < s->n; i++) {
            double want = (double)j->start[r * s->n + i] + (double)j->bias[i];
            double whole = fabs(want);
            for (int64_t k = 0; k < s->k; k++) {
                double step = (double)rlf_bf16_to_f32(j->x[r * s->ldx + k]) *
                              (double)j->exact[i * s->k + k];
                want += step;
                whole += fabs(step);
            }
            double off = fabs((double)c_at(j, c, r * s->n + i) - want);
            double may = 1e-5 * whole + (j->f32 ? 0 : fabs(want) / 250);
            worst = fmax(worst, off / may);
        }
    return worst;
}

/* Rows alone and in groups of 20 have the bits that they have among all. */
static bool
same_alone(job *j, const void *all)
{
    size_t row = (size_t)j->s.n * c_bytes(j);
    int64_t step = j->s.m > 100 ? 97 : 3;
    bool same = true;
    for (int64_t r = 0; r < j->s.m; r += step)
        for (int64_t m = 1; m <= 20 && r + m <= j->s.m; m += 19) {
            void *c = start_of(j);
            multiply(j, c, r, m);
            same = same && memcmp((char *)c + (size_t)r * row,
                                  (const char *)all + (size_t)r * row,
                                  (size_t)m * row) == 0;
        }
    return same;
}

static void
try_product(job *j, const char *on)
{
    static const char *const forms[] = {"forward", "backward"};
    make(j);
    void *c = start_of(j);
    multiply(j, c, 0, j->s.m);
    double worst = worst_of(j, c);
    ok(worst <= 1 && !j->e.why[0], "%s: %s, %s%s: right (%.2f)", on, j->s.what,
       forms[j->form], j->f32 ? ", f32" : "", worst);
    if (j->form == RLF_PRODUCT_FORWARD)
        ok(same_alone(j, c), "%s: %s%s: a row's bits are its own", on,
           j->s.what, j->f32 ? ", f32" : "");
}

/* GLU with a product whose c nobody asks for has the bits of the two by
 * themselves; s.n are gates and ups. */
static void
try_gated(job *j, const char *on)
{
    const size *s = &j->s;
    int64_t d = s->n / 2, m = s->m, ld = d + s->m % 3;
    make(j);
    uint16_t *c = take(&j->e, m * s->n, 2), *y = take(&j->e, m * ld, 2);
    uint16_t *z = take(&j->e, m * ld, 2), *one = take(&j->e, d, 2);
    float *bias = s->k % 3 ? j->bias : NULL;
    CALL(&j->e, product, .m = m, .n = s->n, .k = s->k, .x = j->x, .ldx = s->ldx,
         .packed = j->packed, .bias = bias, .c = c);
    CALL(&j->e, glu, .m = m, .d = d, .gate = c, .up = c + d, .ldx = s->n,
         .y = y, .ldy = ld);
    CALL(&j->e, product_glu, .m = m, .d = d, .k = s->k, .x = j->x,
         .ldx = s->ldx, .packed = j->packed, .bias = bias, .y = z, .ldy = ld);
    wait(j);
    out(&j->e, z, m * ld, 2);
    same(&j->e, z, y, m * ld, 2, "all rows");
    for (int64_t r = 0; r < m; r += s->n > 1000 ? 19 : 7) {
        CALL(&j->e, product_glu, .m = 1, .d = d, .k = s->k,
             .x = j->x + r * s->ldx, .ldx = s->ldx, .packed = j->packed,
             .bias = bias, .y = one);
        wait(j);
        same(&j->e, one, y + r * ld, d, 2, "a row alone");
    }
    ok(!j->e.why[0], "%s: %s: glu with its product", on, s->what);
}

/* dw += dy^T x. */
static void
try_gradient(job *j, const char *on)
{
    const size *s = &j->s;
    double worst = 0;
    j->x = halves(&j->e, s->m * s->ldx);
    j->dy = halves(&j->e, s->m * s->n);
    float *dw = values(&j->e, s->n * s->k, 1);
    float *was = copy_of(&j->e, dw, s->n * s->k);
    CALL(&j->e, product_grad, .m = s->m, .n = s->n, .k = s->k, .dy = j->dy,
         .x = j->x, .ldx = s->ldx, .dw = dw);
    wait(j);
    for (int64_t i = 0; i < s->n; i += oracle_stride(s->n))
        for (int64_t k = 0; k < s->k; k++) {
            double want = (double)was[i * s->k + k], whole = fabs(want);
            for (int64_t m = 0; m < s->m; m++) {
                double step = (double)rlf_bf16_to_f32(j->dy[m * s->n + i]) *
                              (double)rlf_bf16_to_f32(j->x[m * s->ldx + k]);
                want += step;
                whole += fabs(step);
            }
            double off = fabs((double)dw[i * s->k + k] - want);
            worst = fmax(worst, off / (1e-5 * whole));
        }
    ok(worst <= 1 && !j->e.why[0], "%s: %s, gradient: right (%.2f)", on,
       s->what, worst);
}

static void
end(job *j)
{
    if (j->e.why[0])
        note("%s", j->e.why);
    for (int i = 0; i < j->e.n_held; i++) {
        pin(&j->e, j->e.held[i], 0);
        free(j->e.held[i]);
    }
}

static job
begin(const size *s, const rlf_kernels *k, rlf_queue *queue)
{
    return (job){
        .e = {.k = k, .queue = queue, .err = RLF_ERR_NONE, .random = 12345},
        .s = *s};
}

TAP_FUNCTION void
try_forward(const char *on, const rlf_kernels *k, rlf_queue *queue)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int f32 = 0; f32 < 2; f32++) {
            job j = begin(&sizes[i], k, queue);
            j.f32 = f32;
            try_product(&j, on);
            end(&j);
        }
}

TAP_FUNCTION void
try_gates(const char *on, const rlf_kernels *k, rlf_queue *queue)
{
    static const size gates[] = {
        {1, 64, 64, 64, "one row"},
        {5, 2, 8, 8, "one gate"},
        {9, 130, 96, 104, "a last gate and up alone in their tile"},
        {16, 192, 1088, 1088, "two parts of k"},
        {33, 320, 1024, 1024, "parts side by side"},
        {64, 600, 72, 72, "as many rows as ever"},
        {20, 16960, 40, 40, "many columns"},
    };
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        job j = begin(&gates[i], k, queue);
        try_gated(&j, on);
        end(&j);
    }
}

TAP_FUNCTION void
try_backward(const char *on, const rlf_kernels *k, rlf_queue *queue)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        job j = begin(&sizes[i], k, queue);
        j.form = RLF_PRODUCT_BACKWARD;
        try_product(&j, on);
        end(&j);
        j = begin(&sizes[i], k, queue);
        try_gradient(&j, on);
        end(&j);
    }
}

#ifdef RLF_HAVE_EMULATED

/* ---- the head ---------------------------------------------------------- *
 *
 * Warp groups measure logits before they leave the registers, and do not keep
 * them where nobody asks for more; the other way reads them back. Emulated,
 * both have the same bits. */

enum { HEAD_M = 90, HEAD_V = 1000, HEAD_D = 72, HEAD_SHARDS = 3 };

typedef struct head {
    env e;
    uint16_t *x;
    void *packed, *work;
    size_t work_bytes;
    float *temperatures, *dlp, *dh;
    int32_t *targets;
} head;

static head
make_head(const rlf_kernels *k, rlf_queue *queue)
{
    head h = {
        .e = {.k = k, .queue = queue, .err = RLF_ERR_NONE, .random = 54321}};
    env *e = &h.e;
    const rlf_head_part part = {.shards = {.of = HEAD_SHARDS}};
    char *at = h.packed = take(e, HEAD_V * HEAD_D, 2);
    h.x = halves(e, HEAD_M * HEAD_D);
    h.temperatures = values(e, HEAD_M, 0.5);
    h.dlp = values(e, HEAD_M, 1);
    h.dh = values(e, HEAD_M, 1);
    h.targets = indices(e, HEAD_M, HEAD_V);
    h.targets[3] = -1;
    for (int i = 0; i < HEAD_M; i++)
        h.temperatures[i] = i % 5 ? h.temperatures[i] + 1 : i % 2 ? 0 : 1;
    for (int i = 0; i < HEAD_SHARDS; i++) {
        int64_t n = HEAD_V * (i + 1) / HEAD_SHARDS - HEAD_V * i / HEAD_SHARDS;
        CALL(e, product_pack, .rows = n, .cols = HEAD_D,
             .w = values(e, n * HEAD_D, 1), .packed = at);
        at += k->product_packed_bytes(n, HEAD_D, RLF_PRODUCT_FORWARD);
    }
    h.work_bytes = k->head_work_bytes(HEAD_M, HEAD_V, HEAD_D, &part);
    h.work = take(e, (int64_t)h.work_bytes, 1);
    return h;
}

/* Log-probabilities, entropies of m rows from `first` on; words NULL: logits
 * need not be kept. */
static void
ask_head(head *h, int64_t first, int64_t m, float *lp, float *entropy,
         float *words)
{
    CALL(&h->e, head_logprob, .m = m, .v = HEAD_V, .d = HEAD_D,
         .part = {.shards = {.of = HEAD_SHARDS}},
         .x = (const void *)(h->x + first * HEAD_D), .packed = h->packed,
         .temperatures = h->temperatures + first, .targets = h->targets + first,
         .logprob = lp, .entropy = entropy, .words = words, .work = h->work,
         .work_bytes = h->work_bytes);
    must(&h->e, rlf_queue_sync(h->e.queue, &h->e.err));
}

typedef struct answer {
    float lp[HEAD_M], entropy[HEAD_M], dw[HEAD_V * HEAD_D];
    uint16_t dx[HEAD_M * HEAD_D];
} answer;

static void
ask_slopes(head *h, answer *a)
{
    memset(a, 0, sizeof *a);
    must(&h->e, h->e.k->head_loss(
                    h->e.queue,
                    &(rlf_head_loss_args){
                        .forward = {.m = HEAD_M,
                                    .v = HEAD_V,
                                    .d = HEAD_D,
                                    .part = {.shards = {.of = HEAD_SHARDS}},
                                    .x = (const void *)h->x,
                                    .packed = h->packed,
                                    .temperatures = h->temperatures,
                                    .targets = h->targets,
                                    .logprob = a->lp,
                                    .entropy = a->entropy,
                                    .work = h->work,
                                    .work_bytes = h->work_bytes},
                        .packed_back = h->packed,
                        .dlogprob = h->dlp,
                        .dentropy = h->dh,
                        .dx = (void *)a->dx,
                        .dw = a->dw},
                    &h->e.err));
    must(&h->e, rlf_queue_sync(h->e.queue, &h->e.err));
}

TAP_FUNCTION void
try_head(const rlf_kernels *k, rlf_queue *queue)
{
    head h = make_head(k, queue);
    answer *by_warps = take(&h.e, 1, sizeof *by_warps);
    answer *by_groups = take(&h.e, 1, sizeof *by_groups);
    float lp[HEAD_M], entropy[HEAD_M];
    float *words = blank(&h.e, HEAD_M * HEAD_V);
    size_t bytes = sizeof lp;
    rlf_emulated_group_use(queue->device, false);
    ask_slopes(&h, by_warps);
    rlf_emulated_group_use(queue->device, true);
    ask_slopes(&h, by_groups);
    ok(memcmp(by_warps, by_groups, sizeof *by_warps) == 0 && !h.e.why[0],
       "the head: measured in registers and from memory alike %s", h.e.why);
    ask_head(&h, 0, HEAD_M, lp, entropy, words);
    bool same = memcmp(lp, by_warps->lp, bytes) == 0 &&
                memcmp(entropy, by_warps->entropy, bytes) == 0;
    for (int r = 0; r < HEAD_M; r++)
        same = same &&
               (h.targets[r] < 0 || words[r * HEAD_V + h.targets[r]] == lp[r]);
    ok(same, "the head: with all words");
    memset(h.work, 0xff, h.work_bytes);
    ask_head(&h, 0, HEAD_M, lp, entropy, NULL);
    same = memcmp(lp, by_warps->lp, bytes) == 0 &&
           memcmp(entropy, by_warps->entropy, bytes) == 0;
    ok(same, "the head: logits that are not kept");
    for (int r = 0; r < HEAD_M; r += 23) {
        int m = r % 2 ? 20 : 1;
        ask_head(&h, r, m, lp + r, entropy + r, NULL);
    }
    same = memcmp(lp, by_warps->lp, bytes) == 0 &&
           memcmp(entropy, by_warps->entropy, bytes) == 0 && !h.e.why[0];
    ok(same, "the head: a row's measures are its own %s", h.e.why);
    end(&(job){.e = h.e});
}

/* The trial that decides whether warp groups are used: see algorithms.h. */
TAP_FUNCTION void
try_trial(rlf_queue *queue)
{
    static const struct {
        const char *has, *what;
        rlf_status status;
        bool used;
    } trials[] = {
        {NULL, "a GPU without warp groups", RLF_OK, false},
        {"fails:0", "a trial that fails is an error", RLF_ENV, false},
        {"wrong:0", "a wrong number is found", RLF_OK, false},
        {"1", "warp groups that are right are used", RLF_OK, true},
    };
    for (size_t i = 0; i < RLF_COUNT(trials); i++) {
        rlf_err err = RLF_ERR_NONE;
        bool used = false;
        unsetenv("RLFLOW_EMULATED_GROUPS");
        if (trials[i].has)
            setenv("RLFLOW_EMULATED_GROUPS", trials[i].has, 1);
        queue->device->choices = 0;
        rlf_status status = rlf_emulated_group_tiles(queue, &used, &err);
        ok(status == trials[i].status && used == trials[i].used &&
               (status >= 0 || strstr(err.sentence, "illegal memory access")),
           "%s %s", trials[i].what, err.sentence);
    }
    unsetenv("RLFLOW_EMULATED_GROUPS");
    bool used;
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_emulated_group_tiles(queue, &used, &err), RLF_OK,
           "the answer is kept");
    ok(used, "... with the device");
}

#endif

int
main(void)
{
    backend emulated = emulated_backend(true), gpu = gpu_backend(true);
#ifdef RLF_HAVE_EMULATED
    if (wanted("emulated") && emulated.kernels) {
        rlf_queue *queue = queue_of(1);
        try_trial(queue);
        rlf_emulated_group_use(queue->device, false);
        try_forward("by warps", rlf_kernels_emulated_bf16(), queue);
        try_backward("by warps", rlf_kernels_emulated_bf16(), queue);
        try_gates("by warps", rlf_kernels_emulated_bf16(), queue);
        rlf_emulated_group_use(queue->device, true);
        try_forward("by groups", rlf_kernels_emulated_bf16(), queue);
        try_gates("by groups", rlf_kernels_emulated_bf16(), queue);
        try_head(rlf_kernels_emulated_bf16(), queue);
        queue_end(queue);
    }
#endif
    if (wanted("emulated") && !emulated.kernels)
        skip("%s", emulated.missing);
#ifdef RLF_HAVE_CUDA
    if (wanted("cuda") && gpu.kernels) {
        rlf_queue *queue = gpu_queue();
        try_forward("cuda", rlf_kernels_cuda_bf16(), queue);
        try_backward("cuda", rlf_kernels_cuda_bf16(), queue);
        try_gates("cuda", rlf_kernels_cuda_bf16(), queue);
        rlf_cuda_group_use(queue->device, false);
        try_forward("cuda, by warps", rlf_kernels_cuda_bf16(), queue);
        try_gates("cuda, by warps", rlf_kernels_cuda_bf16(), queue);
        queue_end(queue);
    }
#endif
    if (wanted("cuda") && !gpu.kernels)
        skip("%s", gpu.missing);
    return done();
}
