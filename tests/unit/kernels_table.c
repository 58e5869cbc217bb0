/* The table itself: complete, described, and what wrong calls are told. */
#include "engine/base/vec.h"
#include "kernels/cpu/run.h"
#include "kernels/cuda/algorithms.h"
#include "kernels/kernels.h"
#include "tests/tap.h"

typedef struct calls {
    int begun, ended;
    char last[32];
} calls;

static void
hook(void *ctx, const char *operation, bool begin)
{
    calls *c = ctx;
    c->begun += begin;
    c->ended += !begin;
    snprintf(c->last, sizeof c->last, "%s", operation);
}

static void
test_instance(const char *isa)
{
    const rlf_kernels *k = rlf_kernels_cpu_isa(isa);
    if (!k) {
        skip("this machine has no %s", isa);
        return;
    }
    is_str(k->isa, isa, "its name");
    is_str(k->backend, "cpu", "its backend");
    bool whole = k->product_packed_bytes && k->head_work_bytes;
#define OP(name, doc, flops, bytes) whole &= k->name != NULL;
#include "kernels/op.def"
#undef OP
    ok(whole, "%s has every operation", isa);
}

/* Checks the text that names the algorithms of products on GPUs, which decide
 * bits and are an input of a run. */
static void
test_algorithms(void)
{
    static const struct {
        rlf_cast_type real;
        int capability;
        bool groups;
        size_t version;
        const char *text;
    } cases[] = {
        {RLF_CAST_BF16, 90, true, 120803,
         "compute capability 9.0, forward by warp groups, gradients by "
         "cuBLASLt 120803"},
        {RLF_CAST_BF16, 89, false, 0,
         "compute capability 8.9, forward by warps, gradients by warps"},
        {RLF_CAST_BF16, 120, false, 130000,
         "compute capability 12.0, forward by warps, gradients by cuBLASLt "
         "130000"},
        {RLF_CAST_F32, 90, true, 120803, ""},
    };
    for (size_t i = 0; i < RLF_COUNT(cases); i++) {
        rlf_buf text = {0};
        rlf_cuda_algorithms(cases[i].real, cases[i].capability, cases[i].groups,
                            cases[i].version, &text);
        is_str(text.p ? text.p : "", cases[i].text,
               "the algorithms of products");
        rlf_buf_free(&text);
    }
}

static void
test_calls(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    rlf_cpu_options options = {.n_threads = 2};
    if (rlf_device_cpu_new(&options, &device, &err) < 0 ||
        rlf_queue_new(device, &queue, &err) < 0)
        bail("%s", err.sentence);
    const rlf_kernels *k = rlf_kernels_cpu();
    calls c = {0};
    queue->hook = hook;
    queue->hook_ctx = &c;
    float y[8];
    is_int(k->fill(queue, &(rlf_fill_args){.n = 8, .a = 3, .y = y}, &err),
           RLF_OK, "a call");
    ok(y[7] == 3 && c.begun == 1 && c.ended == 1, "the hook saw it");
    is_str(c.last, "fill", "by its name");
    is_int(k->fill(queue, &(rlf_fill_args){.n = -1, .y = y}, &err), RLF_BUG,
           "a negative size");
    ok(strstr(err.sentence, "fill") != NULL, "%s", err.sentence);
    is_int(c.ended, 2, "the hook also sees a call that fails");
    /* nothing at all is fine, and touches nothing */
    err = (rlf_err)RLF_ERR_NONE;
    is_int(k->product(queue, &(rlf_product_args){.n = 3, .k = 2}, &err), RLF_OK,
           "a product of no rows");
    is_int(k->attention(queue,
                        &(rlf_attention_args){
                            .heads = 1, .kv_heads = 1, .d = 8, .scale = 1},
                        &err),
           RLF_OK, "attention of no sequences");
    is_int(k->attention(queue,
                        &(rlf_attention_args){
                            .heads = 3, .kv_heads = 2, .d = 8, .scale = 1},
                        &err),
           RLF_USER, "heads that do not divide");
    err = (rlf_err)RLF_ERR_NONE;
    is_int(k->attention_grad(
               queue,
               &(rlf_attention_grad_args){.heads = 1, .kv_heads = 1, .d = 12},
               &err),
           RLF_USER, "a head width that is no multiple of 8");
    err = (rlf_err)RLF_ERR_NONE;
    char work[16];
    is_int(k->sample(queue,
                     &(rlf_sample_args){.m = 1,
                                        .v = 10,
                                        .d = 8,
                                        .work = work,
                                        .work_bytes = sizeof work},
                     &err),
           RLF_BUG, "too little work");
    err = (rlf_err)RLF_ERR_NONE;
    is_int(k->cast(queue,
                   &(rlf_cast_args){
                       .n = 1, .from = RLF_CAST_F16, .to = RLF_CAST_BF16},
                   &err),
           RLF_BUG, "a cast between two halves");
    rlf_queue_free(queue);
    rlf_device_free(device);
}

/* Name, doc and formulas of each operation. */
static const char *const ops[RLF_N_OPS][4] = {
#define OP(name, doc, flops, bytes) {#name, doc, flops, bytes},
#include "kernels/op.def"
#undef OP
};

/* Blocks of rows, of as many for each thread: 9 blocks of 2048 rows on two
 * threads were 1170 rows for one of them. */
static void
test_blocks(void)
{
    is_int(rlf_cpu_blocks(9, 228, 1, 2), 10, "as many for both threads");
    is_int(rlf_cpu_blocks(9, 228, 2, 2), 9, "two groups are enough for that");
    is_int(rlf_cpu_blocks(5, 228, 6, 4), 6, "six groups on four threads");
    is_int(rlf_cpu_blocks(9, 9, 1, 2), 9, "no more than there are tiles");
    is_int(rlf_cpu_blocks(33, 900, 1, 2), 33, "many are even anyway");
    is_int(rlf_cpu_blocks(3, 200, 1, 1), 3, "one thread");
    bool even = true;
    for (int threads = 1; threads <= 16; threads++)
        for (int64_t groups = 1; groups <= 20; groups++)
            for (int64_t blocks = 1; blocks <= 20; blocks++) {
                int64_t n = rlf_cpu_blocks(blocks, 1000, groups, threads);
                even &= n >= blocks && (n * groups % threads == 0 ||
                                        n * groups >= 16 * threads);
            }
    ok(even, "any number of blocks and groups");
}

int
main(void)
{
    bool described = true;
    for (int i = 0; i < RLF_N_OPS; i++) {
        for (int k = 0; k < 4; k++)
            described &= ops[i][k][0] != 0;
        for (int j = 0; j < i; j++)
            described &= strcmp(ops[i][0], ops[j][0]) != 0;
    }
    ok(described, "every operation has a name of its own, doc and formulas");
    test_instance("portable");
    test_instance("v3");
    test_instance("v4");
    ok(rlf_kernels_cpu_isa("v9") == NULL, "an unknown instruction set");
    ok(rlf_kernels_cpu_isa(rlf_kernels_cpu()->isa) == rlf_kernels_cpu(),
       "the chosen instance is one of them");
    test_algorithms();
    test_blocks();
    test_calls();
    return done();
}
