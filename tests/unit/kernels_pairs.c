/* The law of sums of pairs of bf16 (kernels/cpu/pairs.h): the instruction, two
 * fused multiply-adds that flush denormals, and the scalar form are compared on
 * numbers of all kinds, bit for bit but for what a NaN is. */
#include "kernels/cpu/pairs.h"

#include <math.h>

#include "kernels/kernels.h"
#include "tests/tap.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LANES_OF_CALL = 16 };

typedef struct operands {
    float sum[LANES_OF_CALL];
    uint32_t x[LANES_OF_CALL], y[LANES_OF_CALL];
} operands;

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t
next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A number of bf16: any bits, or of a kind that meets the edges: zeros,
 * denormals, the smallest and the largest, infinities. */
static uint16_t
factor(unsigned kind, uint64_t r)
{
    static const uint16_t edges[] = {
        0x0000, 0x8000, 0x0001, 0x007f, 0x0080, 0x8080, 0x7f7f, 0xff7f,
        0x7f80, 0xff80, 0x3f80, 0x3f81, 0x0100, 0x1f80, 0x2000, 0x7fc0};
    switch (kind) {
    case 0:
        return (uint16_t)r;
    case 1:
        return edges[r % 16];
    case 2: /* products near the smallest normal number */
        return (uint16_t)((0x1f00 + r % 0x180) | (r >> 20 & 0x8000));
    default: /* of ordinary size */
        return (uint16_t)((0x3e00 + r % 0x200) | (r >> 20 & 0x8000));
    }
}

static float
start(unsigned kind, uint64_t r)
{
    switch (kind) {
    case 0:
        return rlf_f32_of_bits((uint32_t)r);
    case 1: /* about 2^-126, denormals among them */
        return rlf_f32_of_bits((uint32_t)(r % 0x01800000) |
                               (uint32_t)(r >> 32 & 0x80000000u));
    case 2:
        return rlf_f32_of_bits((uint32_t)(r >> 32 & 0x80000000u));
    default:
        return rlf_f32_of_bits((uint32_t)(0x3e000000u + r % 0x02000000u) |
                               (uint32_t)(r >> 32 & 0x80000000u));
    }
}

static void
draw(operands *o)
{
    for (int i = 0; i < LANES_OF_CALL; i++) {
        uint64_t k = next();
        unsigned of = k % 4, like = k >> 2 & 3;
        o->sum[i] = start(of, next());
        o->x[i] = pair_of(factor(like, next()), factor(like, next()));
        o->y[i] = pair_of(factor(like, next()), factor(k >> 4 & 3, next()));
    }
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) static void
by_instruction(const operands *o, float *out)
{
    __m512 sum = _mm512_loadu_ps(o->sum);
    __m512i x = _mm512_loadu_si512(o->x), y = _mm512_loadu_si512(o->y);
    _mm512_storeu_ps(out, _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y));
}

__attribute__((target("avx2,fma"), noinline)) static void
by_two(const operands *o, float *out)
{
    const __m256i upper = _mm256_set1_epi32((int32_t)0xffff0000u);
    for (int i = 0; i < LANES_OF_CALL; i += 8) {
        __m256 sum = _mm256_loadu_ps(o->sum + i);
        __m256i x = _mm256_loadu_si256((const __m256i *)(o->x + i));
        __m256i y = _mm256_loadu_si256((const __m256i *)(o->y + i));
        sum = _mm256_fmadd_ps((__m256)_mm256_and_si256(x, upper),
                              (__m256)_mm256_and_si256(y, upper), sum);
        sum = _mm256_fmadd_ps((__m256)_mm256_slli_epi32(x, 16),
                              (__m256)_mm256_slli_epi32(y, 16), sum);
        _mm256_storeu_ps(out + i, sum);
    }
}

static void
by_two_flushing(const operands *o, float *out)
{
    uint32_t mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u);
    by_two(o, out);
    _mm_setcsr(mode);
}

/* Other modes change nothing. */
static void
in_other_modes(const operands *o, float *out)
{
    uint32_t mode = _mm_getcsr();
    _mm_setcsr(mode | 0x6000u); /* toward zero */
    by_instruction(o, out);
    _mm_setcsr(mode);
}
#endif

typedef void form_fn(const operands *o, float *out);

/* Numbers of which the scalar form makes others; the first is noted. */
static int64_t
wrong(form_fn *form, int64_t calls)
{
    int64_t n = 0;
    for (int64_t c = 0; c < calls; c++) {
        operands o;
        float out[LANES_OF_CALL];
        draw(&o);
        form(&o, out);
        for (int i = 0; i < LANES_OF_CALL; i++) {
            float want = pair_dot_1(o.sum[i], o.x[i], o.y[i]);
            if (isnan(want) ? isnan(out[i])
                            : rlf_f32_bits(want) == rlf_f32_bits(out[i]))
                continue;
            if (n++ == 0)
                note("%08x + %08x . %08x is %08x, not %08x",
                     rlf_f32_bits(o.sum[i]), o.x[i], o.y[i],
                     rlf_f32_bits(out[i]), rlf_f32_bits(want));
        }
    }
    return n;
}

/* The scalar form against sums that are exact in double precision. */
static void
test_scalar(void)
{
    const float tiny = 0x1p-126f;
    ok(pair_fma_1(1, 2, 3) == 5, "1 2 + 3");
    ok(pair_fma_1(0x1p-130f, 0x1p100f, 0) == 0, "a denormal operand is 0");
    ok(pair_fma_1(1, 0, 0x1p-127f) == 0, "a denormal sum is 0");
    ok(signbit(pair_fma_1(-0x1p-64f, 0x1p-64f, -0.0f)),
       "a denormal result has its sign");
    /* 2^-126 - 2^-150 has 24 bits and is tiny; - 2^-151 is half way from it */
    ok(pair_fma_1(-0x1p-75f, 0x1p-75f, tiny) == 0, "the last tiny one");
    ok(pair_fma_1(-0x1p-75f, 0x1p-76f, tiny) == tiny, "the middle is not tiny");
    ok(pair_fma_1(-0x1p-75f, 0x1.02p-76f, tiny) == 0, "beyond it, tiny");
    ok(pair_dot_1(0, pair_of(0x3f80, 0x8000), pair_of(0x4000, 0)) == 2 &&
           signbit(pair_fma_1(-0.0f, 0, -0.0f)),
       "what counts as nothing changes no sum");
    /* 2^24 first: what is lost says which product came first */
    ok(pair_dot_1(0, pair_of(0x4b80, 0x3f80), pair_of(0x3f80, 0x3f80)) ==
               0x1p24f &&
           pair_dot_1(-0x1p24f, pair_of(0x4b80, 0x3f80),
                      pair_of(0x3f80, 0x3f80)) == 1,
       "the upper product comes first");
}

#if defined(__x86_64__)
/* A product of bf16 leaves the thread's mode as it was, by whatever way. */
static void
test_mode(const char *isa)
{
    const rlf_kernels *k = rlf_kernels_cpu_bf16(isa);
    if (!k) {
        skip("the mode after %s: this machine has no such instructions", isa);
        return;
    }
    enum { M = 20, N = 50, K = 33 };
    static float w[N * K], dw[N * K];
    static uint16_t x[M * K], c[M * N];
    static _Alignas(64) char packed[1 << 15];
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    const rlf_cpu_options one = {.n_threads = 1};
    if (rlf_device_cpu_new(&one, &device, &err) < 0 ||
        rlf_queue_new(device, &queue, &err) < 0)
        bail("%s", err.sentence);
    const rlf_product_pack_args pack = {
        .rows = N, .cols = K, .w = w, .packed = packed};
    const rlf_product_args product = {.m = M,
                                      .n = N,
                                      .k = K,
                                      .x = (void *)x,
                                      .packed = packed,
                                      .c = (void *)c};
    const rlf_product_grad_args grad = {
        .m = M, .n = N, .k = K, .dy = (void *)c, .x = (void *)x, .dw = dw};
    const uint32_t control = 0xffc0; /* beside flags of exceptions */
    uint32_t before = _mm_getcsr() & control;
    bool done = k->product_pack(queue, &pack, &err) >= 0 &&
                k->product(queue, &product, &err) >= 0 &&
                k->product_grad(queue, &grad, &err) >= 0;
    ok(done && (_mm_getcsr() & control) == before,
       "%s leaves the thread's mode", isa);
    rlf_queue_free(queue);
    rlf_device_free(device);
}
#endif

int
main(void)
{
    test_scalar();
#if defined(__x86_64__)
    test_mode("v4_bf16");
    test_mode("v4");
    test_mode("v3");
    const int64_t calls = quick() ? 1 << 14 : 1 << 18;
    if (rlf_kernels_machine_has("v3"))
        ok(wrong(by_two_flushing, calls) == 0,
           "two fused multiply-adds that flush: %lld sums",
           (long long)calls * LANES_OF_CALL);
    else
        skip("two fused multiply-adds: this machine has none");
    if (rlf_kernels_machine_has("v4_bf16")) {
        ok(wrong(by_instruction, calls) == 0, "the instruction: %lld sums",
           (long long)calls * LANES_OF_CALL);
        ok(wrong(in_other_modes, calls / 4) == 0,
           "the instruction under another rounding: %lld sums",
           (long long)calls / 4 * LANES_OF_CALL);
    } else {
        skip("the instruction: this machine has no AVX512_BF16");
    }
#else
    skip("the instruction: not of this machine");
#endif
    return done();
}
