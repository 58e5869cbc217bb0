/* Forward products by warp groups (wgmma): four warps multiply a tile of 64
 * rows with all its columns, straight from shared memory, while the next tiles
 * come. Compiled for sm_90a alone; elsewhere nothing here is called.
 *
 * A row's result is the same in tiles of all sizes, with one group and with
 * two; whether it has the bits of product_mma.cu too is not relied on:
 * a GPU makes all its forward products in one of the two ways. */
#include "kernels/cuda/product_wgmma.h"

#include <stdlib.h>

#include "kernels/cuda/wgmma.h"

extern "C" {
#include "engine/base/arena.h"
}

template <int BM, int BN, int STAGES, bool ONE>
struct by_groups : shape<BM, BN, BM / 16, 1, STAGES, false, false, ONE> {
    static constexpr int LAG = 1;

    static __device__ __forceinline__ void
    multiply(char *stage, int warp_row, int, float (&sum)[1][BN / 8][4])
    {
        const char *a = stage + warp_row / 64 * 64 * DEPTH * 2;
        const char *b = stage + by_groups::A_BYTES;
        wgmma_begin();
        RLF_UNROLL
        for (int k = 0; k < DEPTH; k += 16)
            wgmma<BN>(sum[0], a, b, k);
        wgmma_commit();
    }

    static __device__ __forceinline__ void keep_up(void)
    {
        wgmma_wait<LAG>();
    }

    static __device__ __forceinline__ void settle(float (&sum)[1][BN / 8][4])
    {
        wgmma_wait<0>();
        wgmma_settled(sum[0]);
    }

    static __device__ __forceinline__ void see(void)
    {
        wgmma_see_shared();
    }
};

/* Tiles of 64 rows for decoding, two or three blocks on a multiprocessor. For
 * many rows as large as registers allow, for a tile's sides go through the L2
 * cache and shared memory, neither of which keeps up with tiles of 128 x 128
 * (README.md). */
typedef by_groups<64, 64, 6, false> small;
typedef by_groups<64, 64, 4, false> third;
typedef by_groups<128, 128, 5, false> middle;
typedef by_groups<128, 192, 5, false> large;  /* a part and the sum before it */
typedef by_groups<128, 256, 4, true> largest; /* where k is one part */

/* Rounds of blocks, one a multiprocessor, times a tile's sides. */
template <class S>
static int64_t
cost(rlf_queue *queue, const matmul &p)
{
    int64_t busy = CUDA(multiprocessors)(queue);
    int64_t blocks = ((p.m + S::BM - 1) / S::BM) * ((p.n + S::BN - 1) / S::BN);
    return (blocks + busy - 1) / busy * (S::BM + S::BN);
}

rlf_status
CUDA(group_product)(rlf_queue *queue, const matmul &p, rlf_err *err)
{
    int64_t columns = (p.n + small::BN - 1) / small::BN;
    if (!p.a_whole || !p.b_whole)
        return launch<small, any_source>(queue, p, err);
    if (p.m <= 64 && columns > 2 * CUDA(multiprocessors)(queue))
        return launch<third>(queue, p, err);
    if (p.m <= 64)
        return launch<small>(queue, p, err);
    int64_t least = cost<middle>(queue, p);
    if (p.parts == 1 && cost<largest>(queue, p) <= least)
        return launch<largest>(queue, p, err);
    if (p.parts > 1 && cost<large>(queue, p) <= least)
        return launch<large>(queue, p, err);
    return launch<middle>(queue, p, err);
}

/* Of few rows: glu with the product. */
rlf_status
CUDA(group_gated)(rlf_queue *queue, const matmul &p, rlf_err *err)
{
    int64_t columns = (p.n + small::BN - 1) / small::BN;
    return columns > 2 * CUDA(multiprocessors)(queue)
               ? launch<third, gated_source>(queue, p, err)
               : launch<small, gated_source>(queue, p, err);
}

/* Logits are measured where they are whole: by the block that has all parts. */
rlf_status
CUDA(group_logits)(rlf_queue *queue, const matmul &p, rlf_err *err)
{
    if (p.m <= 64)
        return launch<small, fast_source, true>(queue, p, err);
    if (p.parts == 1)
        return launch<largest, fast_source, true>(queue, p, err);
    return launch<middle, fast_source, true>(queue, p, err);
}

/* ---- whether ----------------------------------------------------------- */

/* A product that whole tiles and parts of them take part in, by every size of
 * tile; with k in one part and in two, which blocks of their own add up or one
 * in turn; once more with all rows SHIFT places higher; and as gates and ups. */
static constexpr int M = 130, N = 200, K = 192, SHIFT = 5;

typedef rlf_status launch_fn(rlf_queue *, matmul, rlf_err *);

/* The first with as many parts is what the others are compared with. */
static constexpr struct {
    launch_fn *tiles;
    int parts;
    bool in_turn;
    int shift; /* rows */
} trials[] = {
    {launch<small>, 1, false, 0},   {launch<third>, 1, false, 0},
    {launch<middle>, 1, false, 0},  {launch<large>, 1, false, 0},
    {launch<largest>, 1, false, 0}, {launch<small>, 1, false, SHIFT},
    {launch<small>, 2, false, 0},   {launch<small>, 2, true, 0},
    {launch<third>, 2, false, 0},   {launch<middle>, 2, false, 0},
    {launch<middle>, 2, true, 0},   {launch<large>, 2, true, 0},
    {launch<small>, 2, true, SHIFT}};
static constexpr int TRIALS = sizeof trials / sizeof *trials, TWO_PARTS = 6;

typedef struct probe {
    uint16_t x[M][K], w[N][K];
    float y[TRIALS][M][N];
    uint16_t both[M][N], gated[3][M][N / 2];
} probe;

/* Of either sign, from 1/128 to 2: what a sum's low bits are depends on the
 * order in which numbers of unlike size are added, and on what is cut off. */
static void
make_probe(probe *p)
{
    uint32_t r = 2463534242u;
    uint16_t *to = &p->x[0][0];
    for (int i = 0; i < (M + N) * K; i++) {
        r ^= r << 13, r ^= r >> 17, r ^= r << 5;
        to[i] = (uint16_t)((r >> 9 & 0x807f) + ((127 - (r & 7)) << 7));
    }
}

/* Tells whether a product is near that in double precision, for what its terms
 * add up to. */
static bool
is_near(const probe *p, const float (&y)[M][N])
{
    bool near = true;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0, whole = 0;
            for (int k = 0; k < K; k++) {
                double term = (double)rlf_bf16_to_f32(p->x[m][k]) *
                              (double)rlf_bf16_to_f32(p->w[n][k]);
                sum += term;
                whole += fabs(term);
            }
            near = near && fabs((double)y[m][n] - sum) < 0x1p-16 * whole;
        }
    return near;
}

static bool
is_right(const probe *p)
{
    for (int i = 0; i < TRIALS; i++) {
        int first = i < TWO_PARTS ? 0 : TWO_PARTS, above = trials[i].shift;
        if (memcmp(p->y[first][above], p->y[i],
                   sizeof p->y[i] - sizeof p->y[i][0] * above) != 0)
            return false;
    }
    for (int i = 1; i < 3; i++)
        if (memcmp(p->gated[0], p->gated[i], sizeof p->gated[0]) != 0)
            return false;
    return is_near(p, p->y[0]) && is_near(p, p->y[TWO_PARTS]);
}

/* Columns as gates and ups, by two operations and at once, where they have
 * other places in their tiles. q: of all rows. */
static rlf_status
probe_gates(rlf_queue *queue, matmul q, probe *d, rlf_err *err)
{
    rlf_glu_args gate = {.m = M,
                              .d = N / 2,
                              .gate = (rlf_real *)d->both[0],
                              .up = (rlf_real *)d->both[0] + N / 2,
                              .ldx = N,
                              .y = (rlf_real *)d->gated[0][0]};
    q.out = RESULT_REAL;
    q.c = d->both;
    RLF_TRY(launch<small>(queue, q, err));
    RLF_TRY(TYPED(glu)(queue, &gate, err));
    q.ldc = N / 2;
    q.c = d->gated[1];
    RLF_TRY((launch<small, gated_source>(queue, q, err)));
    q.c = d->gated[2];
    return launch<third, gated_source>(queue, q, err);
}

/* On d, in memory of the device. */
static rlf_status
run_probe(rlf_queue *queue, probe *d, rlf_err *err)
{
    matmul q = {.m = M, .n = N, .k = K, .a = d->x[0], .b = d->w[0]};
    q.lda = q.ldb = K;
    q.a_whole = q.b_whole = true;
    q.ldc = N;
    q.out = RESULT_F32;
    for (int i = 0; i < TRIALS; i++) {
        matmul t = q;
        t.parts = trials[i].parts;
        t.part_tiles = (K / DEPTH + t.parts - 1) / t.parts;
        t.in_turn = trials[i].in_turn;
        t.m -= trials[i].shift;
        t.a = d->x[trials[i].shift];
        t.c = d->y[i];
        RLF_TRY(trials[i].tiles(queue, t, err));
    }
    q.parts = 1;
    q.part_tiles = K / DEPTH;
    return probe_gates(queue, q, d, err);
}

/* There and back. */
static rlf_status
send_probe(rlf_queue *queue, probe *p, probe *d, rlf_err *err)
{
    RLF_TRY(rlf_queue_copy(queue, d, p, sizeof *p, RLF_COPY_TO_DEVICE, err));
    RLF_TRY(run_probe(queue, d, err));
    return rlf_queue_copy(queue, p, d, sizeof *p, RLF_COPY_TO_HOST, err);
}

#ifdef RLF_CUDA_EMULATED

/* RLFLOW_EMULATED_GROUPS: devices have warp groups; "wrong:N", "fails:N": those
 * of device N multiply wrong, or the driver fails there. */
static bool
emulates(const rlf_queue *queue, const char *what)
{
    const char *set = getenv("RLFLOW_EMULATED_GROUPS");
    size_t n = strlen(what);
    return set && strncmp(set, what, n) == 0 &&
           (n == 0 || atoi(set + n) == queue->device->number);
}

bool
rlf_emulated_has_groups(rlf_queue *queue)
{
    return emulates(queue, "");
}

static rlf_status
disturb(const rlf_queue *queue, probe *p, rlf_err *err)
{
    if (emulates(queue, "wrong:"))
        p->y[TRIALS - 2][M - 1][N - 1] *= 1.0625f;
    return emulates(queue, "fails:")
               ? rlf_fail(err, RLF_ENV, "product: an illegal memory access")
               : RLF_OK;
}

#else

bool
rlf_cuda_has_groups(rlf_queue *queue)
{
    return rlf_cuda_capability(queue) == 90;
}

static rlf_status
disturb(const rlf_queue *, probe *, rlf_err *)
{
    return RLF_OK;
}

#endif

static rlf_status
try_groups(rlf_queue *queue, bool *right, rlf_err *err)
{
    void *d;
    RLF_TRY(rlf_device_alloc(queue->device, sizeof(probe), &d, err));
    probe *p = (probe *)rlf_calloc(1, sizeof *p);
    make_probe(p);
    rlf_status status = send_probe(queue, p, (probe *)d, err);
    rlf_err after = RLF_ERR_NONE; /* what was started ends, also after one */
    rlf_status end = rlf_queue_sync(queue, status < 0 ? &after : err);
    status = status < 0 ? status : end;
    if (status >= 0)
        status = disturb(queue, p, err);
    *right = status >= 0 && is_right(p);
    free(p);
    rlf_device_release(queue->device, d, sizeof(probe));
    return status;
}

enum { UNKNOWN, NO, YES };

void
CUDA(group_use)(rlf_device *device, bool use)
{
    device->choices = use ? YES : NO;
}

/* A GPU that has warp groups is tried once: where a result is wrong, or not the
 * same in tiles of all sizes, they are not used. An error is no answer. */
rlf_status
CUDA(group_tiles)(rlf_queue *queue, bool *out, rlf_err *err)
{
    bool right = false;
    if (queue->device->choices == UNKNOWN) {
        if (CUDA(has_groups)(queue))
            RLF_TRY(try_groups(queue, &right, err));
        CUDA(group_use)(queue->device, right);
    }
    *out = queue->device->choices == YES;
    return RLF_OK;
}
