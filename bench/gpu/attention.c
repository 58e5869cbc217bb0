/* Attention on a GPU beside what the GPU can do, in one run.
 *
 *     bench/gpu/attention [1b | 7b | 8b | long | window | ragged | tiny]
 *
 * Packed causal sequences, forward and backward: flops (4 d and 10 d for every
 * query head, token and position that it sees) over the rate of cuBLASLt's
 * product of 8192 cubed. Decoding: bytes of keys and values over those that a
 * copy reads and writes. attention.py sets the same beside PyTorch's. */
#include "bench/gpu/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct form {
    const char *name;
    int64_t heads, kv_heads, d;
    int64_t n_seqs, length, window; /* packed */
    /* Sequences and keys of decoding; 0: no more. */
    int batches[5], contexts[4];
} form;

static const form forms[] = {
    {"1b", 32, 8, 64, 8, 2048, 0, {1, 16, 64, 256}, {512, 2048, 8192}},
    {"7b", 32, 32, 128, 8, 2048, 0, {1, 16, 64, 256}, {512, 2048}},
    {"8b", 32, 8, 128, 8, 2048, 0, {1, 16, 64, 256}, {512, 2048, 8192}},
    {"long", 32, 8, 128, 1, 16384, 0, {1}, {32768}},
    {"window", 32, 8, 128, 1, 16384, 1024, {1}, {32768}},
    {"ragged", 32, 8, 128, 64, 256, 0, {0}, {0}},
    {"tiny", 4, 2, 64, 2, 40, 0, {1, 4}, {64}},
};

enum { PAGE = 64 };

static const rlf_kernels *kernels;

static rlf_status
forward_call(rlf_queue *queue, const void *args, rlf_err *err)
{
    return kernels->attention(queue, args, err);
}

static rlf_status
backward_call(rlf_queue *queue, const void *args, rlf_err *err)
{
    return kernels->attention_grad(queue, args, err);
}

static rlf_status
paged_call(rlf_queue *queue, const void *args, rlf_err *err)
{
    return kernels->attention_paged(queue, args, err);
}

/* Returns the positions that all tokens see, of one query head. */
static double
seen(const form *f)
{
    double n = 0;
    for (int64_t t = 0; t < f->length; t++)
        n += (double)(f->window && t >= f->window ? f->window : t + 1);
    return n * (double)f->n_seqs;
}

static void
packed(rig *r, const form *f)
{
    int64_t n = f->n_seqs * f->length, q = f->heads * f->d;
    int64_t kv = f->kv_heads * f->d, row = q + 2 * kv;
    size_t size = rlf_real_bytes(kernels);
    char name[48];
    int32_t *offsets = malloc((size_t)(f->n_seqs + 1) * sizeof *offsets);
    for (int64_t s = 0; s <= f->n_seqs; s++)
        offsets[s] = (int32_t)(s * f->length);
    void *x = rig_reals(r, n * row), *d_o = rig_reals(r, n * q);
    void *dx = rig_take(r, (size_t)(n * row) * size);
    void *o = rig_take(r, (size_t)(n * q) * size);
    float *lse = rig_floats(r, n * f->heads);
    const void *k = rlf_real_at(kernels, x, q);
    const void *v = rlf_real_at(kernels, x, q + kv);
    const rlf_attention_args forward = {.n_seqs = f->n_seqs,
                                        .offsets = offsets,
                                        .heads = f->heads,
                                        .kv_heads = f->kv_heads,
                                        .d = f->d,
                                        .scale = 0.1F,
                                        .window = f->window,
                                        .q = x,
                                        .k = k,
                                        .v = v,
                                        .ldq = row,
                                        .ldk = row,
                                        .ldv = row,
                                        .o = o,
                                        .lse = lse};
    const rlf_attention_grad_args backward = {
        .n_seqs = f->n_seqs,
        .offsets = offsets,
        .heads = f->heads,
        .kv_heads = f->kv_heads,
        .d = f->d,
        .scale = 0.1F,
        .window = f->window,
        .q = x,
        .k = k,
        .v = v,
        .ldq = row,
        .ldk = row,
        .ldv = row,
        .o = o,
        .d_o = d_o,
        .lse = lse,
        .dq = dx,
        .dk = rlf_real_at(kernels, dx, q),
        .dv = rlf_real_at(kernels, dx, q + kv),
        .lddq = row,
        .lddk = row,
        .lddv = row};
    double due = 4 * (double)(f->heads * f->d) * seen(f) / r->limits.flops;
    snprintf(name, sizeof name, "%s forward", f->name);
    rig_row(name, rig_time(r, forward_call, &forward, sizeof forward, 1), due,
            "flops", 0);
    snprintf(name, sizeof name, "%s backward", f->name);
    rig_row(name, rig_time(r, backward_call, &backward, sizeof backward, 1),
            2.5 * due, "flops", 0);
    rig_clear(r);
    free(offsets);
}

/* Decodes a token each for `batch` sequences after `context` others. Lengths
 * lie on the device, as in the steps of a sampler: the call is recorded, and
 * what is measured is no copy of arrays from the host. */
static void
decode(rig *r, const form *f, int batch, int context)
{
    int64_t q = f->heads * f->d, each = (context + PAGE) / PAGE;
    int64_t page = rlf_kv_page_floats(PAGE, f->kv_heads, f->d);
    size_t size = rlf_real_bytes(kernels);
    char name[48];
    int32_t *offsets = malloc((size_t)(batch + 1) * sizeof *offsets);
    int32_t *starts = malloc((size_t)batch * sizeof *starts);
    int32_t *pages = malloc((size_t)(batch * each) * sizeof *pages);
    for (int s = 0; s <= batch; s++)
        offsets[s] = s;
    for (int s = 0; s < batch; s++)
        starts[s] = context - 1;
    /* pages of a sequence lie apart */
    for (int64_t i = 0; i < batch * each; i++)
        pages[i] = (int32_t)(i % each * batch + i / each);
    const rlf_attention_paged_args args = {
        .n_seqs = batch,
        .offsets = offsets,
        .starts = starts,
        .device_offsets =
            rig_send(r, offsets, (size_t)(batch + 1) * sizeof *offsets),
        .device_starts = rig_send(r, starts, (size_t)batch * sizeof *starts),
        .pages = rig_send(r, pages, (size_t)(batch * each) * sizeof *pages),
        .ld_pages = each,
        .heads = f->heads,
        .kv_heads = f->kv_heads,
        .d = f->d,
        .scale = 0.1F,
        .window = f->window,
        .q = rig_reals(r, batch * q),
        .kv = rig_reals(r, batch * each * page),
        .page_size = PAGE,
        .o = rig_take(r, (size_t)(batch * q) * size)};
    int64_t sees =
        f->window && f->window < context ? f->window : (int64_t)context;
    double bytes =
        2.0 * (double)(batch * sees * f->kv_heads * f->d) * (double)size;
    snprintf(name, sizeof name, "%s decode %d x %d", f->name, batch, context);
    rig_row(name, rig_time(r, paged_call, &args, sizeof args, 1),
            bytes / r->limits.bytes, "bytes", 0);
    rig_clear(r);
    free(offsets);
    free(starts);
    free(pages);
}

int
main(int argc, char **argv)
{
    rig r;
    rig_open(&r, argc, argv);
    kernels = r.kernels;
    rig_table();
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        const form *f = &forms[k];
        if (!rig_named(argc, argv, f->name))
            continue;
        packed(&r, f);
        for (int i = 0; i < 5 && f->batches[i]; i++)
            for (int j = 0; j < 4 && f->contexts[j]; j++)
                decode(&r, f, f->batches[i], f->contexts[j]);
    }
    rig_close(&r);
    return 0;
}
